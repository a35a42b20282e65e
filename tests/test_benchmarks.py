"""Benchmarks say what is missing, run on a part of their data, and write a page only when asked to."""

from __future__ import annotations

import argparse
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))

import limits  # noqa: E402 -- benchmarks are scripts, and no package
from limit_networks import Case  # noqa: E402
from limit_runs import Run  # noqa: E402

SCRIPTS = sorted(
    path
    for path in BENCHMARKS.glob("*.py")
    if path.name not in {"pages.py", "attack.py", "limit_networks.py", "limit_runs.py"}
)


def run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / name), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "name", ["crepo.py", "decide.py", "map.py", "propagation.py", "published.py", "scale.py"]
)
def test_a_benchmark_without_its_data_says_what_to_pass(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # What is said does not depend on the process, which would import everything anew.
    monkeypatch.setattr(sys, "argv", [name, "--data", str(tmp_path / "nowhere")])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(BENCHMARKS / name), run_name="__main__")
    assert "--data FOLDER" in str(ended.value.code) + capsys.readouterr().err
    assert ended.value.code not in (0, None)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_results_pages_are_written_by_one_function_only_when_asked(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "finish(" in text
    assert not re.search(r'\.md"|RESULTS', text)


def test_one_row_in_sixty_of_crepo_is_a_run_that_says_so(shared_data: Path) -> None:
    page = BENCHMARKS / "results" / "crepo.md"
    before = page.read_bytes()
    done = run("crepo.py", "--every", "60", "--data", str(shared_data / "crepo"))
    assert done.returncode == 0, done.stderr
    assert "Not the usual run: every 60" in done.stdout
    assert page.read_bytes() == before


# ---- the page of time limits, on runs that nobody made ----------------------------------------------------


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., limits.Table]:
    """Return what makes a table of two networks and three commands, whose runs take no time."""

    def timed(words: Sequence[str], limit: float, _folder: Path, *, by_processor: bool) -> Run:
        seconds = 9.0 if words[0] == "map" else 0.5 if words[0] == "check" else limit
        return Run(seconds, seconds, 0, "", "", 1.1 * limit + 1.0, by_processor)

    monkeypatch.setattr(limits, "timed", timed)
    monkeypatch.setattr(limits, "interrupted", lambda *_, **__: None)

    def made(*, minutes: float = 9.0, resume: bool = False) -> limits.Table:
        options = argparse.Namespace(
            limits=[1.0, 5.0, 20.0],
            interrupts=1,
            jobs=2,
            minutes=minutes,
            whole=False,
            processor=False,
            show=False,
            journal=tmp_path / "journal",
        )
        networks = [Case(name, "", "P(a)", ("a",)) for name in ("one", "two")]
        rows = [
            limits.Row(1_001 * number + place, case, name, tmp_path / "case.lcn")
            for number, case in enumerate(networks)
            for place, name in enumerate(("query", "map", "check"))
        ]
        made = limits.Table(rows, options, tmp_path)
        if resume:
            made.resume()
        return made

    return made


def test_the_page_of_limits_says_what_was_run_and_what_was_not(table) -> None:
    found = table()
    found.fill()
    page = found.text()
    assert "| one | query | 1.0 | 5.0 | 20.0 | - |" in page
    assert "| one | map | **9.0 (9.0)** | o | o | - |" in page
    assert "| one | check | 0.5 | o | o | - |" in page
    # 1,001 leaves a rest of two when divided by three: its row of the second network is the next.
    assert "| two | map | **9.0 (9.0)** | **9.0 (9.0)** | 9.0 | - |" in page
    assert (
        "All that was planned was run. Of 10 runs 7 are as they should be, 3 are late, 0 are wrong." in page
    )
    assert "- two, map, 5 s:" in page


def test_what_was_not_run_is_no_success(table) -> None:
    found = table(minutes=0.0)
    found.fill()
    page = found.text()
    assert "**Not all was run.** Of 0 runs" in page
    assert "| one | query | ? | ? | ? | ? |" in page


def test_a_run_that_was_ended_goes_on_from_its_journal(table, tmp_path: Path) -> None:
    whole = table()
    whole.fill()
    journal = tmp_path / "journal"
    lines = journal.read_text().splitlines()
    # A run that is killed may have written half of a line.
    journal.write_text("\n".join([*lines[:4], lines[4][:20]]) + "\n")
    again = table(resume=True)
    assert sum(len(row.cells) for row in again.rows) == 4
    assert "**Not all was run.**" in again.text()
    again.fill()
    assert again.text() == whole.text()


@pytest.mark.parametrize(
    ("code", "error", "trouble"),
    [
        (0, "", ""),
        (5, "error: query was not done within 1 s", ""),
        (2, "error: a picture of 8,000 nodes could not be read", ""),
        (2, "error: there is no atom", "refused"),
        (1, "", "refused"),
        (130, "error: interrupted", "refused"),
        (0, "Exception ignored in: x\nTraceback (most recent call last):\n", "traceback"),
        (None, "", "ended by force"),
    ],
)
def test_a_run_that_is_in_time_may_still_be_wrong(code: int | None, error: str, trouble: str) -> None:
    run = Run(1.0, 1.0, code, "", error, 2.1)
    assert run.trouble == trouble
    assert run.is_kept == (not trouble)
    assert not Run(3.0, 1.0, code, "", error, 2.1).is_kept, "the clock counts"
    assert Run(3.0, 1.0, code, "", error, 2.1, is_by_processor=True).is_kept == (not trouble)
