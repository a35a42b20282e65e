"""Without numba, SCIP and IPOPT the engine answers Example 1; what needs them names the extra."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SMOKERS = str(Path(__file__).parent.parent / "examples" / "smokers.lcn")

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numba", "llvmlite", "pyscipopt", "ipyopt"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
from credalog.cli import main
"""

ONE = f"{BLOCKED}\nsys.exit(main(sys.argv[1:]))"

SEVERAL = f"""{BLOCKED}
import io, json
from contextlib import redirect_stderr, redirect_stdout

def told(words):
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main(words)
    return code, out.getvalue(), err.getvalue()

print(json.dumps([told(words) for words in json.loads(sys.argv[1])]))
"""

WITHOUT_EXTRAS = ("-c", ONE)
WITH_EXTRAS = ("-m", "credalog")


def run(*words: str, program: tuple[str, str] = WITHOUT_EXTRAS) -> CompletedProcess[str]:
    command = [sys.executable, "-W", "error", *program, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def intervals(done: CompletedProcess[str]) -> dict[str, tuple[float, float]]:
    assert done.returncode == 0, done.stderr
    return {answer["query"]: (answer["lower"], answer["upper"]) for answer in json.loads(done.stdout)}


def together(*commands: tuple[str, ...]) -> list[CompletedProcess[str]]:
    """Run commands one after the other in one process without extras."""
    done = run(json.dumps(commands), program=("-c", SEVERAL))
    assert done.returncode == 0, done.stderr
    return [
        CompletedProcess(words, *told) for words, told in zip(commands, json.loads(done.stdout), strict=True)
    ]


METHODS = "auto", "sound", "bp"

QUESTIONS = {
    ("check", SMOKERS): "consistent     yes",
    ("query", SMOKERS, "P(Ca(Tim) or Ca(Tom))"): "0.078400",
    ("decide", SMOKERS, "P(Ca(Tim)) <= 0.05"): "certainly",
    ("explain", SMOKERS, "P(Ca(Tim))"): "smoke[Tim]",
    ("map", SMOKERS, "--variables", "Ca(Tim)"): "not Ca(Tim)",
    ("marginals", SMOKERS, "--markov", "none"): "0.040000",
    # x and y are independent and fair: two bits, 1.386294 nats.
    ("maxent", str(Path(SMOKERS).with_name("parity.lcn")), "--timeout", "60"): "entropy is 1.386294 nats",
}


def test_the_first_command_of_a_process_needs_no_extra() -> None:
    """P(Ca(x)) is at most 0.04 P(Sm(x)) + 0.01 (1 - P(Sm(x))); nothing else is bounded, and all may be 0."""
    has_the_marginals(run("marginals", SMOKERS, "--json"))


def test_marginals_of_example_1_need_no_extra() -> None:
    for done in together(*(("marginals", SMOKERS, "--method", method, "--json") for method in METHODS)):
        has_the_marginals(done)


def has_the_marginals(done: CompletedProcess[str]) -> None:
    found = intervals(done)
    assert len(found) == 9
    for person in ("Tim", "Tom", "Tam"):
        assert found[f"P(Ca({person}))"] == pytest.approx((0.0, 0.04), abs=1e-6)
        assert found[f"P(Sm({person}))"] == pytest.approx((0.0, 1.0), abs=1e-6)


def test_every_question_about_example_1_is_answered_without_extras() -> None:
    for done, says in zip(together(*QUESTIONS), QUESTIONS.values(), strict=True):
        assert done.returncode == 0, done.stderr
        assert says in done.stdout


@pytest.mark.parametrize("method", ["sound", "bp"])
def test_propagation_gives_the_same_intervals_without_numba(method: str, tmp_path: Path) -> None:
    """Here with a program per factor: two claims about formulas, and a variable of three values."""
    text = """
    variable C in {r, g, b}
    0.2 <= P(C = r) <= 0.3
    0.1 <= P(C = g) <= 0.4
    0.3 <= P(a) <= 0.6
    0.2 <= P(b) <= 0.7
    0.4 <= P(a or b) <= 0.5
    0.2 <= P(d xor a) <= 0.3
    0.5 <= P(d | C = r) <= 0.6
    0.1 <= P(d | C = g) <= 0.2
    """
    file = tmp_path / "programs.lcn"
    file.write_text(text, encoding="utf-8")
    words = ("marginals", str(file), "--method", method, "--json")
    slow, fast = (intervals(run(*words, program=p)) for p in (WITHOUT_EXTRAS, WITH_EXTRAS))
    assert list(slow) == list(fast)
    assert np.array(list(slow.values())) == pytest.approx(np.array(list(fast.values())), abs=1e-12)


def test_a_method_that_is_not_installed_names_its_extra() -> None:
    extras = "scip", "ipopt"
    for extra, done in zip(
        extras, together(*(("query", SMOKERS, "P(Ca(Tim))", "--method", e) for e in extras)), strict=True
    ):
        assert done.returncode == 2
        assert f"pip install 'credalog[{extra}]'" in done.stderr
