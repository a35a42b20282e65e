"""The alarm of a command: it ends what is under way at any line, once, and nothing is lost or broken by it.

The moment is a line of Python, counted from the beginning of the command: no clock is read here.
"""

from __future__ import annotations

import enum
import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from math import inf
from pathlib import Path
from random import Random
from time import sleep
from types import FrameType
from typing import Any, NoReturn
from weakref import ref

import pytest

import credalog
from credalog import Status
from credalog.cli import app
from credalog.cli import clock as clocks
from credalog.cli.clock import Clock, never_lost
from credalog.grounding.network import Grounder
from credalog.grounding.representatives import named_in
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.methods.lifted.answering import Lifted
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.numbers.interval import VACUOUS
from credalog.numbers.jit import interpreted
from credalog.questions import lifted as lifted_questions
from credalog.questions.decide import INTERRUPTED, Decision, Relation, Verdict
from credalog.questions.explain import finished
from credalog.text.parse import read_file

FACTS = """domain Person = 1..30
predicate Ill(Person), Cough(Person)
relation Met(Person, Person) = {{{met}}}
forall x in Person: 0.01 <= P(Ill(x)) <= 0.05
forall x, y in Person, Met(x, y), x != y: P(Ill(y) | Ill(x)) >= 0.04
forall x in Person: 0.5 <= P(Cough(x) | Ill(x)) <= 0.6
query P(Cough(1) or Cough(2))
"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with the facts of a sparse relation."""
    rng, path = Random(3), tmp_path_factory.mktemp("facts") / "facts.lcn"
    met = sorted({(rng.randint(1, 30), rng.randint(1, 30)) for _ in range(60)})
    path.write_text(FACTS.format(met=", ".join(f"({x}, {y})" for x, y in met)))
    return path


class Ringing:
    """Ring the alarm of a command at the so-many-th line of Python after it was set, whosever line it is."""

    def __init__(self, line: float) -> None:
        self.line, self.lines = line, 0
        self.clock: Clock | None = None

    def __call__(self, _frame: FrameType, event: str, _argument: object) -> Ringing:
        if self.clock is not None and event == "line":
            self.lines += 1
            if self.lines >= self.line and not clocks._is_importing():
                self.line = inf
                self.clock.is_over = True
                raise KeyboardInterrupt
        return self


@contextmanager
def ringing(line: float) -> Iterator[Ringing]:
    """Let the alarm of the next command ring at a line, and not by the clock."""
    found = Ringing(line)

    def limited(self: Clock, seconds: float | None) -> None:
        self.seconds = seconds
        found.clock = self

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Clock, "limit", limited)
        before = sys.gettrace()
        sys.settrace(found)
        try:
            yield found
        finally:
            sys.settrace(before)


COMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("check", "F"),
    "query": ("query", "F", "P(Cough(1) or Cough(2))"),
    "certificate": ("query", "F", "P(Cough(1))", "--certificate", "OUT"),
    "marginals": ("marginals", "F"),
    "decide": ("decide", "F", "P(Cough(1)) >= 0.5"),
    "map": ("map", "F", "--variables", "Ill(1)", "Ill(2)"),
    "explain": ("explain", "F", "P(Cough(1))", "--most", "1"),
    "measure": ("measure", "F", "P(Cough(1))", "--most", "1"),
    "repair": ("repair", "F"),
    "maxent": ("maxent", "F"),
}
LONG = 300_000
"""So many lines the commands above take at least; reading the facts takes the first third."""


@pytest.mark.parametrize("command", COMMANDS)
def test_whatever_line_the_alarm_meets_the_command_ends_with_what_is_known(
    ask, facts: Path, tmp_path: Path, command: str
):
    words = [str(facts) if word == "F" else word for word in COMMANDS[command]]
    words = [str(tmp_path / "proof") if word == "OUT" else word for word in words]
    rng = Random(command)
    for line in sorted(int(LONG ** rng.uniform(0.5, 1.0)) for _ in range(3)):
        with ringing(line) as rung:
            code, out, err = ask(*words, "--timeout", "10", "--json")
        assert rung.line == inf, "it rang"
        assert code in (0, 5), err
        assert "Traceback" not in err
        assert "INTERRUPTED" not in out
        json.loads(out)


# ---- what would lose it, or break something ---------------------------------------------------------------


class Kept:
    """Something to which a weak reference leads."""


def test_an_interrupt_that_comes_while_python_tidies_up_is_raised_once_more():
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    kept = Kept()
    watched = ref(kept, interrupt)
    with pytest.raises(KeyboardInterrupt), never_lost():
        # Printed and forgotten, Python would say; it comes again a moment later.
        del kept
        assert watched() is None
        for _ in range(10_000):
            sleep(0.001)


def test_what_is_lost_beside_interrupts_is_told_as_ever(monkeypatch: pytest.MonkeyPatch):
    told = list[type[BaseException]]()
    monkeypatch.setattr(sys, "unraisablehook", lambda met: told.append(met.exc_type))

    def fail(_: object) -> None:
        raise ValueError

    kept = Kept()
    watched = ref(kept, fail)
    with never_lost():
        del kept
    assert watched() is None
    assert told == [ValueError]


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is filled where the main thread is interrupted."""
    found = list[str]()
    monkeypatch.setattr(clocks, "interrupt_main", lambda: found.append("rung"))
    return found


def test_the_alarm_waits_for_an_import_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rung: list[str]
):
    clock = Clock(began=0.0)
    monkeypatch.setattr(clocks, "monotonic", lambda: 1.0)
    clock.limit(1.0)
    (tmp_path / "imported_under_an_alarm.py").write_text("import builtins\nbuiltins.ring()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("builtins.ring", clock._ring, raising=False)
    importlib.import_module("imported_under_an_alarm")
    assert (rung, clock.is_over) == ([], False)
    monkeypatch.setattr(clocks, "monotonic", lambda: 3.0)
    importlib.reload(sys.modules["imported_under_an_alarm"])
    clock.silence()
    assert (rung, clock.is_over) == (["rung"], True)


def limited_clock(monkeypatch: pytest.MonkeyPatch) -> tuple[Clock, list[float]]:
    """Return a clock two seconds into a limit of twenty, and for when its alarm is set, time after time."""
    set_for = list[float]()
    monkeypatch.setattr(clocks, "monotonic", lambda: 2.0)
    monkeypatch.setattr(Clock, "_ring_after", lambda _, seconds: set_for.append(seconds))
    clock = Clock(began=0.0)
    clock.limit(20.0)
    return clock, set_for


def test_time_reserved_for_proofs_does_not_bring_the_alarm_forward(monkeypatch: pytest.MonkeyPatch):
    clock, set_for = limited_clock(monkeypatch)
    clock.reserved = 10.0
    with clock.silenced():
        pass
    assert set_for[0] == set_for[1] > 18.0


def test_time_for_writing_answers_down_brings_the_alarm_forward(monkeypatch: pytest.MonkeyPatch):
    clock, set_for = limited_clock(monkeypatch)
    before = clock.left
    clock.keep_for_telling(3.0)
    assert (before - clock.left, set_for[0] - set_for[1]) == (pytest.approx(3.0), pytest.approx(3.0))
    clock.keep_for_telling(12.0)
    assert set_for[0] - set_for[2] == pytest.approx(10.0)
    with pytest.raises(KeyboardInterrupt):
        clock.keep_for_telling(100.0)
    assert clock.is_over, "there is no time even to write the answers down"


def test_what_was_written_too_late_is_the_end_of_a_command(monkeypatch: pytest.MonkeyPatch, rung: list[str]):
    now = [0.0]
    monkeypatch.setattr(clocks, "monotonic", lambda: now[0])
    clock = Clock(began=0.0)
    clock.limit(1.0)
    with clock.silenced():
        now[0] = 5.0
    assert clock.is_over
    assert clock._timer is None
    assert rung == []


def ring_in(monkeypatch: pytest.MonkeyPatch, called: str) -> None:
    """Let the alarm of the next command ring where something is called, and never by the clock."""
    clock_of = list[Clock]()

    def late(*_: object, **__: object) -> NoReturn:
        clock_of[0].is_over = True
        raise KeyboardInterrupt

    monkeypatch.setattr(Clock, "limit", lambda self, seconds: clock_of.append(self))
    monkeypatch.setattr(called, late)


@pytest.mark.parametrize("command", ["check", "query"])
def test_no_proof_is_begun_after_the_alarm(ask, facts: Path, tmp_path: Path, monkeypatch, command: str):
    ring_in(monkeypatch, "credalog.network.problem.problem_of")
    monkeypatch.setattr("credalog.lcn.LCN.certificate", lambda *_, **__: pytest.fail("a proof is begun"))
    asked = ["P(Cough(1))"] if command == "query" else []
    words = [command, str(facts), *asked, "--certificate", str(tmp_path / "proof"), "--timeout", "9"]
    code, _, err = ask(*words)
    assert code in (0, 5)
    assert "was not written: the time was up" in err


def test_a_walk_over_all_facts_ends_where_the_time_is_up(facts: Path):
    theory = read_file(facts)
    assert named_in(theory)
    budget = Budget.of()
    budget.stop()
    with pytest.raises(OutOfTime), spending(budget):
        named_in(theory)


def test_no_question_is_begun_after_the_alarm_and_each_has_its_line(ask, facts: Path, monkeypatch):
    ring_in(monkeypatch, "credalog.lcn.LCN.marginals_at_once")
    for begun in ("query", "propagate"):
        monkeypatch.setattr(f"credalog.lcn.LCN.{begun}", lambda *_, **__: pytest.fail("it is begun"))
    code, out, err = ask("marginals", str(facts), "--timeout", "9", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert len(found) == 60
    assert {(one["lower"], one["upper"], one["status"]) for one in found} == {(0.0, 1.0, "UNDECIDED")}


# ---- Ctrl-C in questions to a theory that is not grounded whole -------------------------------------------


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the user stop the first search, of which the engine makes an interrupted answer; count them all."""
    begun = list[str]()

    def query(_: Engine, asked: Query, *__: object, **___: object) -> Answer:
        begun.append(str(asked))
        return Answer(asked, VACUOUS, Status.BOUNDED, "auto", 0.0, True)

    def decide(*_: object, asked: Query, threshold: Fraction, relation: Any, **__: object) -> Decision:
        begun.append(str(asked))
        return Decision(asked, relation, threshold, Verdict.UNDECIDED, VACUOUS, INTERRUPTED, 0.0)

    monkeypatch.setattr(Engine, "query", query)
    monkeypatch.setattr("credalog.questions.decide.decide", decide)
    return begun


@pytest.fixture
def around(facts: Path) -> tuple[Lifted, Query]:
    """Return the facts as a theory, and a question."""
    lcn = credalog.load(facts)
    asked = lcn.question("P(Cough(1) or Cough(2))")
    assert isinstance(asked, Query)
    return Lifted(Grounder(read_file(facts))), asked


def never() -> NoReturn:
    pytest.fail("the whole network is asked")


def test_ctrl_c_in_a_slice_is_the_end_of_the_question(around: tuple[Lifted, Query], stopped: list[str]):
    assert lifted_questions.query(*around, Options(timeout=9.0), never).interrupted
    assert len(stopped) == 1


def test_ctrl_c_in_a_slice_is_the_end_of_a_decision(around: tuple[Lifted, Query], stopped: list[str]):
    found = lifted_questions.decide(
        *around, Fraction(1, 2), Options(timeout=9.0), relation=Relation.AT_LEAST, whole=never
    )
    assert (found.verdict, found.stage) == (Verdict.UNDECIDED, INTERRUPTED)
    assert len(stopped) == 1


def test_ctrl_c_in_a_slice_is_the_end_of_an_explanation(around: tuple[Lifted, Query], stopped: list[str]):
    found = lifted_questions.explain(*around, Options(timeout=9.0))
    assert found.is_interrupted
    assert found.answer.interrupted
    assert len(stopped) == 1


def test_ctrl_c_between_sentences_keeps_what_was_explained(
    around: tuple[Lifted, Query], monkeypatch: pytest.MonkeyPatch
):
    answer = Answer(around[1], VACUOUS, Status.BOUNDED, "lifted", 0.0, tried=("a slice of 8 atoms",))
    begun = list[bool]()

    def without(*_: object) -> Answer:
        begun.append(len(begun) == 2)
        return finished(replace(answer, interrupted=begun[-1]))

    monkeypatch.setattr(Lifted, "query", lambda *_: answer)
    monkeypatch.setattr(lifted_questions, "_without", without)
    found = lifted_questions.explain(*around, Options(timeout=9.0))
    assert found.is_interrupted
    assert len(found.influences) == 2
    assert begun == [False, False, True], "nothing is begun after Ctrl-C"
    assert found.untried


def test_an_interrupt_in_the_middle_of_an_import_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    class Interrupted:
        def __set_name__(self, owner: type, name: str) -> NoReturn:
            raise KeyboardInterrupt

    def importing(_: object) -> NoReturn:
        type("Defined", (), {"member": Interrupted()})
        raise AssertionError("the class is not defined")

    monkeypatch.setattr(app, "_carried_out", importing)
    assert app.main(["check", "-"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_interpreted_kernels_ask_no_enumeration_that_could_forget_an_interrupt():
    asked = set[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        caller = frame.f_back
        if event == "call" and frame.f_code.co_filename == enum.__file__ and caller is not None:
            asked.add(caller.f_code.co_name)

    lcn = credalog.parse(
        "0.2 <= P(a) <= 0.3\n0.4 <= P(a or b) <= 0.5\nP(c | a and b) >= 0.6\nP(d | a) <= 0.3"
    )
    with interpreted():
        sys.setprofile(note)
        try:
            lcn.query("P(c)", method="sound")
        finally:
            sys.setprofile(None)
    assert not asked & {"_mark", "program_messages"}
