"""Bounds where the evidence may be impossible: proved to the last digit, or only claimed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credalog import Status, Warrant
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine, query
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.proofs import exact_bound
from credalog.methods.cliques.search import Ending, Limits, search
from credalog.methods.cliques.witness import marginals_of
from credalog.network.formulas import Formula, propositions
from credalog.network.sentences import Network, Query, Sentence
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program.program import Objective
from credalog.program.solvers.highs import Relaxation
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted.certify import ExactChecker

A, B, C = propositions("a b c")
VARIABLES = (A.variable, B.variable, C.variable)
says = Sentence.of

VANISHING = Network(
    VARIABLES,
    (
        says(A, 0, 0.7),
        says(B, 0.3, 0.4, given=A),
        says(B, 0.1, 0.9, given=~A),
        says(C, 0.2, 0.6, given=B),
        says(C, 0.1, 0.3, given=~B),
    ),
)
"""A chain in which a, and with it the evidence a, may be impossible."""


def ask(network: Network, claim: Formula, condition: Formula) -> Answer:
    return query(network, Query(claim, condition), Options(method="factorized", tolerance=1e-6))


def encoded(network: Network, asked: Query) -> tuple[Encoding, Objective]:
    return Engine(network).part(asked).encode(asked, Reading.LITERAL)


@pytest.mark.parametrize(
    ("claim", "condition", "lower", "upper"),
    [
        # P(c | a) = P(c | b) P(b | a) + P(c | !b) P(!b | a): 0.3 * 0.2 + 0.7 * 0.1 and 0.4 * 0.6 + 0.6 * 0.3.
        pytest.param(C, A, 0.13, 0.42, id="downwards"),
        pytest.param(B, A, 0.3, 0.4, id="one step"),
        # P(b | a, c) = 1 / (1 + P(c | !b) P(!b | a) / (P(c | b) P(b | a))).
        pytest.param(B, A & C, 0.06 / (0.06 + 0.21), 0.24 / (0.24 + 0.06), id="two observations"),
    ],
)
def test_bounds_are_checked_though_the_evidence_may_vanish(
    claim: Formula, condition: Formula, lower: float, upper: float
) -> None:
    answer = ask(VANISHING, claim, condition)
    assert answer.status is Status.EXACT
    assert answer.interval.lower.warrant is Warrant.CHECKED
    assert answer.interval.upper.warrant is Warrant.CHECKED
    assert answer.lower == pytest.approx(lower, abs=1e-6)
    assert answer.upper == pytest.approx(upper, abs=1e-6)
    assert answer.lower <= lower
    assert answer.upper >= upper


def model(chances: list[Fraction]) -> Distribution:
    """Return the chain with P(a), P(b | !a), P(b | a), P(c | !b), P(c | b)."""
    tables = [np.array([[1.0 - float(p), float(p)] for p in row]) for row in (chances[1:3], chances[3:])]
    return Distribution(
        (
            Factor(VARIABLES[:1], (), np.array([1.0 - float(chances[0]), float(chances[0])])),
            Factor(VARIABLES[1:2], VARIABLES[:1], tables[0]),
            Factor(VARIABLES[2:], VARIABLES[1:2], tables[1]),
        )
    )


RANGES = [(1, 70), (10, 90), (30, 40), (10, 30), (20, 60)]
MODELS = st.tuples(*(st.integers(low, high) for low, high in RANGES)).map(
    lambda found: [Fraction(n, 100) for n in found]
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(data=st.data(), chances=MODELS, end=st.sampled_from(End))
def test_no_rational_multipliers_prove_a_bound_that_a_model_passes(
    data: st.DataObject, chances: list[Fraction], end: End
) -> None:
    encoding, objective = encoded(VANISHING, Query(C, A))
    program = encoding.program
    checker = ExactChecker(program)
    rows = checker.unequal + program.equalities.shape[0]
    weights = st.integers(-3, 3).map(lambda n: Fraction(n, 2))
    drawn = data.draw(st.dictionaries(st.integers(0, rows - 1), weights, max_size=12))
    allowed = {row: abs(w) if row < checker.unequal else w for row, w in drawn.items()}
    cost = -objective.numerator if end is End.UPPER else objective.numerator
    bound = checker.bound(objective, program.ratios.box, cost, allowed, data.draw(weights))
    point = marginals_of(encoding, model(chances))
    assert point is not None
    value = float(cost @ point) / float(objective.denominator @ point)
    assert bound is None or float(bound) <= value + 1e-12


def test_a_negative_weight_on_an_inequality_proves_nothing() -> None:
    encoding, objective = encoded(VANISHING, Query(C, A))
    checker = ExactChecker(encoding.program)
    box, weights = encoding.program.ratios.box, {0: Fraction(-1)}
    assert checker.bound(objective, box, objective.numerator, weights, Fraction(-9)) is None


def test_what_the_solver_leaves_is_made_exact() -> None:
    """The least P(c | a) of the chain's relaxation is 0.13, and the proof knows it as a fraction."""
    encoding, objective = encoded(VANISHING, Query(C, A))
    program = encoding.program
    claim, _ = Relaxation(program).minimize(objective, program.ratios.box)
    cost, until = objective.numerator, Budget.of(10.0)
    bound = exact_bound(program, objective, program.ratios.box, cost, claim.multipliers, budget=until)
    assert bound == Fraction(13, 100)


def test_coefficients_that_one_float_stands_for_are_not_taken_for_exact() -> None:
    near = Fraction(1, 3) + Fraction(1, 10**30)
    twice = Network(VARIABLES, (says(A | B, Fraction(1, 3), 1, tau=False), says(A & B, near, 1, tau=False)))
    once = Network(VARIABLES, (says(A | B, Fraction(1, 3), 1, tau=False), says(A & B, 0.25, 1, tau=False)))
    # 1 - 1e-20 has the float of the ones that no sentence says.
    tiny = Network(VARIABLES, (says(A | B, Fraction(1, 10**20), 1, tau=False), says(A, 0, 0.5)))
    # So has its negative: that of a row which says that P(a or b) is at least 1 - 1e-20.
    sure = Network(VARIABLES, (says(A | B, 1 - Fraction(1, 10**20), 1, tau=False), says(A, 0, 0.5)))
    programs = [encoded(network, Query(A))[0].program for network in (twice, tiny, sure, once)]
    assert [program.ratios.exact is None for program in programs] == [True, True, True, False]
    with pytest.raises(ValueError, match="rounded"):
        ExactChecker(programs[0])


def test_a_third_is_proved_as_a_third() -> None:
    """P(b | a) >= 1/7 by P(a and b | a) >= 1/7, where P(a) may vanish: the proof is about the fraction."""
    network = Network(VARIABLES, (says(A & B, Fraction(1, 7), 1, given=A, tau=False), says(A, 0, 0.5)))
    encoding, objective = encoded(network, Query(B, A))
    program = encoding.program
    claim, _ = Relaxation(program).minimize(objective, program.ratios.box)
    cost, until = objective.numerator, Budget.of(10.0)
    bound = exact_bound(program, objective, program.ratios.box, cost, claim.multipliers, budget=until)
    assert bound == Fraction(1, 7)


def test_evidence_that_no_model_allows_is_refuted_exactly() -> None:
    """Models exist, all with P(a) = 0: the two sentences on b given a exclude each other."""
    network = Network(
        VARIABLES, (says(A, 0, 0.5), says(B, 0.1, 0.2, given=A), says(B & C, 0.5, 0.6, given=A, tau=False))
    )
    limits = Limits(1e-6, Budget.of(10.0))
    finding = search(*encoded(network, Query(C, A)), limits, end=End.UPPER)
    assert finding.ending is Ending.EMPTY
    assert finding.warrant is Warrant.CHECKED
