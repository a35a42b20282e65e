"""What a solver says is not what is proved: boxes, columns and certainties, each with a solver that errs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest

import credalog
from credalog.grounding.network import key_of, settled
from credalog.methods import automatic, columns
from credalog.methods.answer import Options
from credalog.methods.cliques.proofs import Prover
from credalog.methods.columns import generation
from credalog.methods.columns.events import Events, system_of
from credalog.methods.columns.pricing import Elimination
from credalog.network.formulas import TRUE, Is, Variable, propositions
from credalog.network.sentences import Query, Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Warrant
from credalog.program.program import Claim, Objective, Outcome, Program
from credalog.program.solvers.columns import ColumnClaim
from credalog.program.solvers.highs import Relaxation

AMPLE = Budget.of()
A, B, C = propositions("a b c")

# --- Boxes -----------------------------------------------------------------------------------------------


def encoded(text: str, query: str) -> tuple[Program, Objective]:
    lcn = credalog.parse(text)
    engine, asked = automatic.Engine(lcn.ground()), lcn.question(query)
    part = engine.part(asked)
    encoding, objective = part.encode(asked, part.problem.reading)
    return encoding.program, objective


OPEN = "0.3 <= P(a) <= 0.6\nP(b | a) <= 0.9\nP(b | !a) <= 0.9\nP(b) <= 0.8\n"


def test_a_box_is_empty_only_where_that_is_proved() -> None:
    """A solver calls it empty and proves nothing: what was known before stays."""
    program, objective = encoded(OPEN, "P(b)")
    prover, box = Prover(program, objective, End.LOWER, AMPLE), program.ratios.box
    for ray in (0.0, 1.0, -1.0):
        multipliers = np.zeros(prover.rows)
        multipliers[-1] = ray
        wrong = Claim(Outcome.INFEASIBLE, inf, np.zeros(0), multipliers)
        assert prover.bound(wrong, box, 0.125) == 0.125
        unbounded = replace(objective, mass_bounds=np.full(len(objective.mass_bounds), inf))
        assert Prover(program, unbounded, End.LOWER, AMPLE).bound(wrong, box, 0.125) == 0.125


@pytest.mark.parametrize("end", End)
def test_the_range_of_a_ratio_is_proved_and_not_believed(end: End, monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver claims one half, with multipliers that prove nothing."""
    program, objective = encoded(OPEN, "P(b)")
    prover = Prover(program, objective, End.LOWER, AMPLE)

    def claiming(*_: object, **__: object) -> tuple[Claim, None]:
        return Claim(Outcome.OPTIMAL, 0.5, np.zeros(program.columns), np.zeros(prover.rows)), None

    monkeypatch.setattr(Relaxation, "minimize", claiming)
    monkeypatch.setattr(Relaxation, "maximize", claiming)
    assert prover.range_end(objective, program.ratios.box, end) == end.trivial


def test_a_ratio_has_as_much_mass_as_its_condition_may_need() -> None:
    """Of P(b | a) the condition has a probability from 0.3 on, of P(b | not a) from 0.4 on."""
    program, objective = encoded(OPEN, "P(b)")
    prover, found = Prover(program, objective, End.LOWER, AMPLE), []
    for ratio in range(len(program.ratios.lower)):
        one = prover._ratio_objective(ratio, program.ratios.box)
        if one is not None:
            found.append(Fraction(float(one.mass_bounds[0])))
    for least in (Fraction("0.3"), Fraction("0.4")):
        assert any(1 / least <= mass <= 1 / least + Fraction(1, 100) for mass in found)


# --- Columns ---------------------------------------------------------------------------------------------


def test_the_worth_of_the_best_world_is_rounded_up() -> None:
    """Worths of either sign that nearly cancel, added up in fractions over all worlds."""
    rng = np.random.default_rng(1)
    variables = tuple(Variable(name) for name in "abcd")
    atoms = [Is(v) for v in variables]
    formulas = (*atoms, *(a & b for a in atoms for b in atoms if a is not b), TRUE)
    events = Events(variables, formulas)
    pricer = Elimination.of(events)
    assert pricer is not None
    worlds = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=np.int64)
    truth = events.truth(worlds)
    for _ in range(100):
        worth = rng.normal(size=len(formulas))
        exact = [
            sum((Fraction(w) for w, holds in zip(worth, t, strict=True) if holds), Fraction(0))
            for t in truth.T
        ]
        assert Fraction(pricer.best(worth, enough=0.0, budget=AMPLE).bound) >= max(exact)


def test_the_roundings_of_a_reduced_cost_are_bounded() -> None:
    lcn = credalog.parse("P(a) = 1/3\nP(b | a) = 1/7\n0.1 <= P(a or b) <= 0.7\n")
    system = system_of(lcn.ground(), TRUE)
    master, rng = generation._Master(system, system.indicator(TRUE)), np.random.default_rng(2)
    cost = rng.normal(size=len(system.events.formulas))
    for _ in range(100):
        claim = ColumnClaim(0.0, np.zeros(0), rng.normal(size=len(system.rows) + 1))
        y = [Fraction(float(m)) for m in claim.multipliers]
        exact = [Fraction(float(c)) for c in cost]
        for multiplier, row in zip(y, system.rows, strict=False):
            for event, factor in row.factors:
                exact[event] -= multiplier * factor
        for event, holds in enumerate(system.indicator(TRUE)):
            exact[event] -= y[-1] * Fraction(int(holds))
        found = [Fraction(float(value)) for value in master.reduced(cost, claim)]
        off = sum((abs(one - other) for one, other in zip(found, exact, strict=True)), Fraction(0))
        assert off <= Fraction(master.rounding(cost, claim))


def test_an_equality_is_missed_on_either_side() -> None:
    system = system_of(credalog.parse("P(a) = 0.5\n").ground(), Is(Variable("a")))
    sure = system.indicator(TRUE)
    for probability in (0.1, 0.9):
        assert system.violation(sure + probability * system.indicator(Is(Variable("a")))) > 0.3


@pytest.mark.slow  # compiled where numba is installed
def test_what_a_pricer_only_claims_is_not_called_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """P(a and b) is at least 0.6 + 0.7 - 1; the 0/1 solver's word for it is no proof."""
    monkeypatch.setattr(Elimination, "of", lambda _: None)
    lcn = credalog.parse("P(a) = 0.6\nP(b) = 0.7\n")
    found = columns.query(lcn.ground(), Query(Is(lcn.variable("a")) & Is(lcn.variable("b"))), Options())
    assert found.interval.lower.bound == pytest.approx(0.3, abs=1e-6)
    assert found.interval.lower.warrant is found.interval.upper.warrant is Warrant.CLAIMED


# --- Constants in sentences ------------------------------------------------------------------------------


def test_a_negative_weight_turns_bounds_around() -> None:
    """0.6 <= 1 - P(a) / 2 <= 0.9: P(a) is between 0.2 and 0.8."""
    said = Sentence(((Fraction(-1, 2), A), (Fraction(1), TRUE)), TRUE, Fraction("0.6"), Fraction("0.9"))
    assert settled(said) == Sentence.of(A, "0.2", "0.8")


@pytest.mark.parametrize(("lower", "upper"), [("0", "0.5"), ("2.5", "3")])
def test_where_no_number_is_within_bounds_the_condition_is_impossible(lower: str, upper: str) -> None:
    """1 + P(a | b) is neither below one nor above two."""
    said = Sentence(((Fraction(1), A), (Fraction(1), TRUE)), B, Fraction(lower), Fraction(upper))
    found = settled(said)
    assert found is not None
    assert (found.claims, found.given, found.lower, found.upper) == (((1, B),), TRUE, 0, 0)


def test_sentences_under_different_conditions_say_different_things() -> None:
    keys = {key_of(Sentence.of(A, "0.2", "0.8", given=given)) for given in (B, C, TRUE)}
    assert len(keys) == 3
    assert key_of(Sentence.of(A, "0.2", "0.8")) != key_of(Sentence.of(A, "0.2", "0.7"))
