"""Golden networks: every method that applies gives the answer written in the file.

A file of `conformance/` is a network; comments in it say what is to be expected, and why:

    # expect [markov CONDITION] P(claim | given) = [lower, upper]     (or one number for both)
    # expect [markov CONDITION] impossible P(claim | given)
    # expect [markov CONDITION] inconsistent

The numbers come from the paper or from arithmetic on paper, never from our own output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

import credalog
from credalog import LCN, ImpossibleEvidence, InconsistentNetwork, Markov, Status
from credalog.methods.vertices import sets
from credalog.numbers.tolerances import TOLERANCE

FOLDER = Path(__file__).parent / "conformance"
FILES = sorted(FOLDER.glob("*.lcn"))
ROUNDING = 1e-9

EXPECT = re.compile(
    r"# expect (?:markov (?P<markov>\w+) )?"
    r"(?:(?P<wrong>inconsistent|impossible) ?(?P<asked>P\(.*\))?|(?P<query>P\(.*\)) = (?P<value>.*))"
)

METHODS = {
    Markov.LOCAL: ("auto", "factorized", "joint", "sets"),
    Markov.GLOBAL: ("auto", "factorized", "joint"),
    Markov.NONE: ("auto", "factorized", "joint", "nilsson"),
}


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a file says of one query: its interval, or the error it ends in."""

    markov: Markov
    query: str
    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(1)
    error: type[Exception] | None = None

    def __str__(self) -> str:
        return f"{self.query} {self.markov.value}".replace(" ", "-")


def expectations(path: Path) -> Iterator[Expectation]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# expect"):
            yield expectation(line)


def expectation(line: str) -> Expectation:
    found = EXPECT.fullmatch(line)
    assert found, f"not an expectation: {line}"
    markov = Markov(found["markov"] or "local")
    if found["wrong"] == "impossible":
        return Expectation(markov, found["asked"], error=ImpossibleEvidence)
    if found["wrong"] == "inconsistent":
        return Expectation(markov, "", error=InconsistentNetwork)
    ends = found["value"].strip("[]").split(",")
    return Expectation(markov, found["query"], Fraction(ends[0].strip()), Fraction(ends[-1].strip()))


def cases() -> Iterator[object]:
    for path in FILES:
        lcn = credalog.load(path)
        for expected in expectations(path):
            for method in METHODS[expected.markov]:
                if applies(method, lcn, expected):
                    yield pytest.param(path, expected, method, id=f"{path.stem}-{expected}-{method}")


def applies(method: str, lcn: LCN, expected: Expectation) -> bool:
    """Tell whether a method has anything to say: some know fewer networks than the language does."""
    network = lcn.ground()
    if method == "nilsson":
        return not network.independences
    if method == "sets":
        known = expected.error is not InconsistentNetwork
        return known and sets.applies(network, lcn.question(expected.query), lcn.graph)
    return True


@pytest.mark.parametrize(("path", "expected", "method"), list(cases()))
def test_every_method_gives_the_golden_answer(path: Path, expected: Expectation, method: str) -> None:
    lcn = credalog.load(path)
    if expected.error is InconsistentNetwork:
        _is_inconsistent(lcn, expected.markov, method)
        return
    if expected.error is not None:
        with pytest.raises(expected.error):
            lcn.query(expected.query, method=method, markov=expected.markov)
        return
    answer = lcn.query(expected.query, method=method, markov=expected.markov)
    lower, upper = float(expected.lower), float(expected.upper)
    assert answer.status is Status.EXACT
    assert lower - TOLERANCE <= answer.lower <= lower + ROUNDING
    assert upper - ROUNDING <= answer.upper <= upper + TOLERANCE
    assert answer.lower_witnessed is not None and answer.upper_witnessed is not None
    assert lower - ROUNDING <= answer.lower_witnessed <= lower + TOLERANCE
    assert upper - TOLERANCE <= answer.upper_witnessed <= upper + ROUNDING


def _is_inconsistent(lcn: LCN, markov: Markov, method: str) -> None:
    """Demand that every marginal be refused, of variables far from the contradiction too."""
    for variable in lcn.variables:
        with pytest.raises(InconsistentNetwork):
            lcn.query(f"P({variable.name})", method=method, markov=markov)


def test_every_golden_network_expects_something() -> None:
    assert len(FILES) >= 20
    assert all(any(expectations(path)) for path in FILES)
