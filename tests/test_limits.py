"""Limits of time: every loop asks the budget, and what was found by then is the answer.

No clock is read here: budgets are spent after so many questions, and the alarm is rung by hand.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from credalog import LCN, Status, parse
from credalog.cli import clock as clocks
from credalog.cli.clock import Clock
from credalog.methods.answer import Answer, marginal_atoms
from credalog.methods.automatic import Engine
from credalog.methods.compiled import Compiled
from credalog.methods.intervals import bounds
from credalog.network.graph import dependency_graph
from credalog.network.problem import problem_of
from credalog.network.sentences import Query
from credalog.numbers import budget as budgets
from credalog.numbers.budget import Budget, OutOfTime, require_time, spending
from credalog.numbers.interval import VACUOUS

CHAIN = "".join(f"0.3 <= P(x{i} | x{i + 1}) <= 0.6\n0.2 <= P(x{i} or x{i + 1}) <= 0.9\n" for i in range(30))
TREE = "0.2 <= P(x0) <= 0.4\n" + "".join(
    f"0.{i % 5 + 1} <= P(x{i} | x{(i - 1) // 2}) <= 0.{i % 5 + 4}\n"
    f"0.1 <= P(x{i} | !x{(i - 1) // 2}) <= 0.{i % 3 + 2}\n"
    for i in range(1, 30)
)


@dataclass(frozen=True, slots=True)
class Counted(Budget):
    """A budget that is spent after so many looks at it."""

    looks: Iterator[int] = field(default_factory=itertools.count)
    most: int = 0

    @property
    def is_spent(self) -> bool:
        return next(self.looks) >= self.most


def counted(most: int) -> Counted:
    return Counted(Budget.of().deadline, looks=itertools.count(), most=most)


@contextmanager
def a_clock_that_runs_out(monkeypatch: pytest.MonkeyPatch, after: int) -> Iterator[list[int]]:
    """Let time stand still, and be over at the so-many-th look at the clock."""
    looks = [0]

    def monotonic() -> float:
        looks[0] += 1
        return 0.0 if looks[0] <= after else 1e9

    with monkeypatch.context() as patched:
        patched.setattr(budgets, "monotonic", monotonic)
        yield looks


@pytest.mark.parametrize("most", [0, 1, 7, 40])
def test_setting_up_stops_where_the_time_is_up(most: int):
    network = parse(CHAIN).ground()
    graph = dependency_graph(network)
    for work in (
        lambda: dependency_graph(network),
        lambda: problem_of(network, graph, Compiled(network).markov),
    ):
        budget = counted(most)
        with pytest.raises(OutOfTime), spending(budget):
            work()
        assert next(budget.looks) == most + 1, "nothing is done after the time was seen to be up"


def test_without_a_question_under_way_there_is_any_time():
    require_time()
    with spending(counted(0)), pytest.raises(OutOfTime):
        require_time()
    require_time()


QUESTIONS: dict[str, Callable[[LCN], Any]] = {
    "query": lambda lcn: lcn.query("P(x3)", timeout=1.0),
    "posterior": lambda lcn: lcn.query("P(x3 | x5)", timeout=1.0),
    "marginals": lambda lcn: lcn.marginals_at_once(timeout=1.0),
    "decide": lambda lcn: lcn.decide("P(x3) >= 0.5", timeout=1.0),
    "diagnose": lambda lcn: lcn.diagnose(timeout=1.0),
    "map": lambda lcn: lcn.map(timeout=1.0),
    "map of two": lambda lcn: lcn.map(["x1", "x2"], timeout=1.0),
    "explain": lambda lcn: lcn.explain("P(x3)", timeout=1.0),
    "rank": lambda lcn: lcn.rank("P(x3)", timeout=1.0),
    "measure": lambda lcn: lcn.measure("P(x3)", "P(x4)", within=0.01, timeout=1.0),
    "repairs": lambda lcn: lcn.repairs(timeout=1.0),
    "maxent": lambda lcn: lcn.maxent(timeout=1.0),
    "sound": lambda lcn: lcn.query("P(x3)", method="sound", timeout=1.0),
    "a sum": lambda lcn: lcn.query("P(x3) - P(x4)", timeout=1.0),
}


@pytest.mark.parametrize("after", [2, 20, 200])
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("text", [CHAIN, TREE], ids=["ties", "credal"])
def test_no_question_fails_where_the_time_is_up_in_its_midst(
    monkeypatch: pytest.MonkeyPatch, text: str, question: str, after: int
):
    lcn = parse(text)
    lcn.ground()
    with a_clock_that_runs_out(monkeypatch, after) as looks:
        QUESTIONS[question](lcn)
    assert looks[0] < after + 100_000, "a loop goes on without looking at the clock"


@pytest.mark.parametrize("after", [5, 50, 500])
@pytest.mark.parametrize("text", [CHAIN, TREE], ids=["ties", "credal"])
def test_what_the_time_was_too_short_for_is_bounded_all_the_same(
    monkeypatch: pytest.MonkeyPatch, text: str, after: int
):
    exact = parse(text).query("P(x3)", timeout=20.0, tolerance=1e-2)
    with a_clock_that_runs_out(monkeypatch, after):
        hasty = parse(text).query("P(x3)", timeout=1.0)
    attained = [value for value in (exact.lower_witnessed, exact.upper_witnessed) if value is not None]
    assert all(hasty.lower <= value <= hasty.upper for value in attained)
    assert hasty.status is not Status.EXACT or hasty.interval.status() is Status.EXACT


@pytest.mark.parametrize("nothing_found", ["out of time", "vacuous"])
def test_an_answer_of_nothing_is_not_given_where_propagation_knows_more(
    monkeypatch: pytest.MonkeyPatch, nothing_found: str
):
    lcn = parse(CHAIN)
    query = Query(marginal_atoms(lcn.ground())[0])
    known = bounds(lcn.ground(), query)
    assert (known.lower.bound, known.upper.bound) != (0.0, 1.0)
    engine = Engine(lcn.ground())
    assert engine.graph, "it is there before the time is up"

    def nothing(*_: object) -> Answer:
        if nothing_found == "out of time":
            raise OutOfTime
        return Answer(query, VACUOUS, Status.BOUNDED, "auto", 1.0)

    monkeypatch.setattr(Engine, "_asked", nothing)
    monkeypatch.setattr("credalog.methods.intervals.bounds", lambda *_, **__: known)
    found = engine.query(query)
    assert (found.lower, found.upper) == (known.lower.bound, known.upper.bound)
    assert found.status is Status.BOUNDED


# ---- the alarm of a command -------------------------------------------------------------------------------


@pytest.fixture
def ringing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return what makes the alarm of a command ring when some function is called."""

    def ring_in(module: str, name: str) -> None:
        rung = list[Clock]()
        limit = Clock.limit

        def remembered(self: Clock, seconds: float | None) -> None:
            limit(self, seconds)
            rung.append(self)

        def ring(*_: object, **__: object) -> None:
            rung[-1]._ring()
            raise KeyboardInterrupt

        monkeypatch.setattr(Clock, "limit", remembered)
        # Only the flag of the alarm is wanted here, not a signal to the process that tests.
        monkeypatch.setattr(clocks, "interrupt_main", lambda: None)
        monkeypatch.setattr(f"{module}.{name}", ring)

    return ring_in


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("query", "F", "P(x3)", "P(x4)"), 0),
        (("marginals", "F"), 0),
        (("run", "F"), 0),
        (("decide", "F", "P(x3) >= 0.5"), 0),
        (("check", "F"), 5),
        (("map", "F"), 0),
        (("explain", "F", "P(x3)"), 0),
        (("measure", "F", "P(x3)"), 0),
        (("repair", "F"), 5),
        (("maxent", "F"), 0),
    ],
)
def test_the_alarm_ends_a_command_with_what_is_known(ask, ringing, tmp_path: Path, words, code: int):
    path = tmp_path / "chain.lcn"
    path.write_text(f"{CHAIN}query P(x3)\n")
    ringing("credalog.network.problem", "problem_of")
    arguments = [str(path) if word == "F" else word for word in words]
    found, out, err = ask(*arguments, "--timeout", "100", "--json")
    assert found == code, err
    assert "Traceback" not in err
    assert "INTERRUPTED" not in out
    shown = json.loads(out)
    if words[0] in ("query", "marginals", "run"):
        assert {one["status"] for one in shown} <= {"UNDECIDED", "BOUNDED"}
        assert len(shown) == {"query": 2, "marginals": 31, "run": 1}[words[0]]


def test_the_alarm_while_a_file_is_read_is_said(ask, ringing, tmp_path: Path):
    path = tmp_path / "chain.lcn"
    path.write_text(CHAIN)
    ringing("credalog.grounding.network.Grounder", "check")
    code, out, err = ask("query", str(path), "P(x3)", "--timeout", "100")
    assert (code, out) == (5, "")
    assert "query was not done within 100 s" in err


def test_a_clock_without_a_limit_never_rings():
    clock = Clock()
    clock.limit(None)
    assert clock.left == float("inf")
    clock._ring()
    assert not clock.is_over


def test_only_the_alarm_lets_a_command_go_on():
    clock = Clock()
    with pytest.raises(KeyboardInterrupt), clock.giving_up():
        raise KeyboardInterrupt
    clock.is_over = True
    with clock.giving_up():
        raise KeyboardInterrupt
