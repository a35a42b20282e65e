"""Guards of bounds that are rounded, capped or left out: each test fails when its guard is taken away."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import credalog
from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.proofs import Prover
from credalog.methods.compiled import Compiled
from credalog.methods.intervals.factors import down, up
from credalog.methods.points.potentials import _shifted
from credalog.network.formulas import TRUE
from credalog.network.graph import Markov
from credalog.network.problem import relevant_part
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.numbers.printed import decimal
from credalog.program.program import Claim, Objective, Outcome
from credalog.questions.assignments import Assignments
from credalog.questions.map import _BestFirst, _Node

TENTHS = [Fraction(n, 10) for n in range(1, 10)]
UNRELATED = """P(c) <= 0.8
P(a | c) = 0.9
P(a | !c) = 0.1
P(b | c) = 0.9
P(b | !c) = 0.1
independent a, b
"""
"""The covariance of a and b is 0.64 P(c) P(!c): independent are they where c is impossible."""


@pytest.mark.parametrize("stated", TENTHS)
def test_a_stated_bound_encloses_the_fraction_that_was_written(stated: Fraction) -> None:
    """The floats next to 1/10 and to 3/10 are on different sides of them."""
    assert Fraction(down(stated)) <= stated <= Fraction(up(stated))


@pytest.mark.parametrize("value", [0.1234561, 0.1234566, 0.9999991])
def test_a_written_bound_still_holds(value: float) -> None:
    low, high = decimal(value, down=True), decimal(value, down=False)
    assert Fraction(low) < Fraction(value) < Fraction(high)


def test_zero_times_a_power_of_two_is_zero() -> None:
    assert _shifted(0.0, 2000) == 0.0


def test_a_bound_proved_in_fractions_is_rounded_outwards() -> None:
    """The float next to 1/10 is more than what is proved."""
    proved = Fraction(1, 10)
    prover: Any = SimpleNamespace(
        end=End.LOWER,
        objective=Objective(np.ones(1), np.ones(1), np.ones(1)),
        is_mass_bounded=False,
        _checker=SimpleNamespace(bound=lambda *_: 0.0),
        _exactly=lambda *_: proved,
    )
    claim = Claim(Outcome.OPTIMAL, 0.5, np.zeros(1), np.zeros(1))
    box: Any = None
    assert Fraction(Prover._checked(prover, claim, box)) <= proved


@pytest.mark.parametrize("least", [0.3, 0.49, 0.7, 0.9])
def test_the_mass_where_a_denominator_is_one_is_not_less_than_its_reciprocal(least: float) -> None:
    one = sp.csr_array(np.ones((1, 1)))
    ratios = SimpleNamespace(of=np.zeros(1, dtype=int), numerator=one, denominator=one)
    program = SimpleNamespace(ratios=ratios, mass=np.ones(1), tables=(0,))
    prover: Any = SimpleNamespace(program=program, range_end=lambda *_: least)
    box: Any = None
    found = Prover._ratio_objective(prover, 0, box)
    assert found is not None
    assert Fraction(float(found.mass_bounds[0])) * Fraction(least) >= 1


def test_what_may_be_more_probable_is_not_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between 0.2 and 0.3, and no more than what its place in the search allows."""
    network = credalog.parse("0.2 <= P(a) <= 0.8").ground()
    assignments = Assignments(Engine(network), [0], TRUE, Budget.of(), is_consistent=True)
    search = _BestFirst(assignments, Options(), Budget.of(), alpha=1.0, top=1)
    monkeypatch.setattr(search, "_score", lambda *_: (0.2, 0.3))
    search._judge(-1.0, _Node((1,)))
    assert (search.candidates[1,].low, search.candidates[1,].high) == (0.2, 0.3)
    search._judge(-0.25, _Node((1,)))
    assert (search.candidates[1,].low, search.candidates[1,].high) == (0.2, 0.25)


@pytest.mark.parametrize("name", ["a", "b"])
def test_what_is_declared_of_a_variable_bears_on_it(name: str) -> None:
    lcn = credalog.parse(UNRELATED)
    problem = Engine(lcn.ground()).problem
    names = [v.name for v in problem.variables]
    kept = relevant_part(problem, [names.index(name)])[1]
    assert {names[x] for x in kept} == {"a", "b", "c"}
    assert lcn.query(f"P({name})", timeout=5.0).upper == pytest.approx(0.1, abs=1e-3)


def test_no_product_of_tables_is_assumed_where_nothing_is_independent() -> None:
    network = credalog.parse("P(a) = 0.5\nP(b | a) = 0.9\nP(b | !a) = 0.1\nP(b) <= 0.6\n").ground()
    assert Compiled(network, Markov.LOCAL).credal_part is not None
    assert Compiled(network, Markov.NONE).credal_part is None


@pytest.mark.parametrize(
    ("question", "truth"),
    [("P(a)", (0.5, 1.0)), ("P(c)", (0.25, 1.0)), ("P(d)", (0.0, 0.5)), ("P(e)", (0.0, 0.5))],
)
def test_only_what_has_probability_one_or_zero_is_a_certainty_of_all_worlds(
    question: str, truth: tuple[float, float]
) -> None:
    """Where b is, with 1/2, so is a, and d is not; c is there in half of these worlds or more."""
    lcn = credalog.parse("P(b) = 0.5\nP(a | b) = 1\nP(d | b) = 0\nP(c | b) >= 0.5\nP(e) <= 0.5\n")
    answer = lcn.query(question, method="nilsson", markov="none", timeout=5.0)
    assert (answer.lower, answer.upper) == pytest.approx(truth, abs=1e-6)


@pytest.mark.parametrize(
    "said", ["evidence S(tom)", "independent F(tom), S(tom)", "independent S(tom), F(tom)"]
)
def test_what_is_observed_or_declared_alone_is_a_variable_too(said: str) -> None:
    """Nothing is said of S(tom), which may therefore have any probability, whatever F(tom) is."""
    theory = f"""domain D = {{tom, ann}}
predicate F(D)
predicate S(D)
forall x in D: P(F(x)) = 0.5
{said}
"""
    lcn = credalog.parse(theory)
    assert {v.name for v in lcn.ground().variables} == {"F(tom)", "F(ann)", "S(tom)"}
    assert lcn.query("P(F(tom) | S(tom))", timeout=5.0).upper == pytest.approx(0.5, abs=1e-6)
