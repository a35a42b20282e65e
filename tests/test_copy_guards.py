"""What stands under another condition is copied: when a copy is independent, bounded, or need not be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import credalog
from credalog.errors import ProblemTooLarge
from credalog.methods import reduction
from credalog.methods.reduction import reduced, without
from credalog.network import copies
from credalog.network.copies import under_one_condition
from credalog.network.expressions import Linear, Part, Quotient, Summand
from credalog.network.formulas import TRUE, Formula, Is, Variable, propositions
from credalog.network.graph import Markov
from credalog.network.sentences import Contrast, Network, Sentence
from credalog.tables.distribution import Distribution, Factor

A, B, C = propositions("a b c")
ONE = Fraction(1)
NETWORK = Network((A.variable, B.variable, C.variable), (Sentence.of(A, "0.2", "0.7"),))


def summed(*terms: tuple[int, Formula, Formula]) -> Linear:
    return Linear(tuple(Summand(Fraction(weight), claim, given) for weight, claim, given in terms))


ACROSS = summed((1, A, B), (-1, A, C))


def contrast(text: str) -> Contrast:
    (found,) = credalog.parse(text).ground().contrasts
    return found


@pytest.mark.parametrize(
    ("text", "allows"),
    [
        ("P(a | b) >= P(a | c)", True),
        ("P(a | b) >= P(a | c) + 0.1", False),
        ("P(a | b) >= 2 * P(a | c)", False),
    ],
)
def test_only_two_probabilities_that_may_be_equal_need_no_possible_condition(text: str, allows: bool) -> None:
    assert copies._allows_equality(contrast(text)) == allows


def test_a_multiple_is_one_of_all_claims_alike() -> None:
    claims = ((ONE, A), (2 * ONE, B))
    assert copies._multiple(claims, ((2 * ONE, A), (4 * ONE, B))) == Fraction(1, 2)
    assert copies._multiple(claims, ((ONE, A), (ONE, B))) is None
    assert copies._multiple(claims, ((ONE, A), (2 * ONE, C))) is None


def range_of(*proved: Sentence) -> tuple[Fraction, Fraction]:
    """Return what is said of a copy of P(a | b), where something was proved."""
    copying = copies._Copying(NETWORK, (A.variable, B.variable), Markov.LOCAL, proved)
    return copying._range(Part(B, ((ONE, A),)))


def test_what_is_proved_under_one_condition_is_said_of_its_own_copy_alone() -> None:
    assert range_of(Sentence.of(A, "0.3", "0.6", given=C)) == (0, 1)
    assert range_of(Sentence.of(A, "0.3", "0.6", given=B)) == (Fraction("0.3"), Fraction("0.6"))
    contradictory = Sentence.of(A, "0.3", "0.4", given=B), Sentence.of(A, "0.5", "0.6", given=B)
    assert range_of(*contradictory) == (0, 1)


@pytest.mark.parametrize("markov", [Markov.NONE, Markov.LOCAL])
def test_a_copy_is_said_to_be_independent_where_nothing_else_says_so(markov: Markov) -> None:
    """With two copies the second is independent of the first as well."""
    asked = summed((1, A, B), (-1, A, C))
    grown, _ = under_one_condition(NETWORK, asked, markov, is_strict=True)
    added = grown.variables[len(NETWORK.variables) :]
    declared = {one.left[0]: set(one.right) for one in grown.independences}
    if markov is Markov.LOCAL:
        assert not declared
        return
    for place, copy in enumerate(added):
        assert declared[copy] >= {*asked.scope, *added[:place]}


@pytest.mark.parametrize("asked", [ACROSS, Quotient(summed((1, A, TRUE)), summed((1, B, TRUE)))])
def test_what_is_added_for_a_sum_or_a_quotient_is_independent_of_all_that_is_asked(
    asked: Linear | Quotient,
) -> None:
    found = reduced(NETWORK, asked, Markov.NONE)
    assert found is not None and found.network.independences
    before = set[Variable]()
    for one in found.network.independences:
        assert set(one.right) >= {*asked.scope, *before}
        before.update(one.left)
    local = reduced(NETWORK, asked, Markov.LOCAL)
    assert local is not None and not local.network.independences


def test_a_wide_sum_is_not_drawn_where_a_draw_is_independent_of_nothing() -> None:
    atoms = propositions(" ".join(f"x{i}" for i in range(12)))
    network = Network(tuple(atom.variable for atom in atoms), ())
    asked = summed(*((1, atom, TRUE) for atom in atoms))
    assert reduced(network, asked, Markov.LOCAL) is not None
    with pytest.raises(ProblemTooLarge):
        reduced(network, asked, Markov.NONE)


def test_as_much_of_a_divisor_is_added_as_the_greatest_term_that_is_subtracted_needs() -> None:
    over, under = summed((-1, A, TRUE), (-3, B, TRUE)), summed((1, A, TRUE), (1, B, TRUE))
    assert reduction._shift(Quotient(over, under)) == 3


def test_the_bounds_of_a_copy_are_rounded_outwards() -> None:
    """Six decimals are stated: the lower end is cut off, the upper one is raised."""
    ends = (-0.87654321, -0.12345678)
    (part,) = (one for one in ACROSS.parts()[0] if one.given == C)
    assert part.claims == ((-ONE, A),)
    found = reduced(NETWORK, ACROSS, Markov.LOCAL, ranges={part: ends})
    assert found is not None
    # The copy has the probability of -P(a | c), brought from -1 to 0 to what is from 0 to 1.
    low, high = (Fraction(end) + 1 for end in ends)
    added = {v for v in found.network.variables if v not in NETWORK.variables}
    (said,) = (s for s in found.network.sentences if not s.is_linear and added.issuperset(s.scope))
    assert low - Fraction(2, 10**6) <= said.lower <= low and high <= said.upper


def test_a_model_without_an_added_parent_is_multiplied_out() -> None:
    """a copies a coin that was added: without it, a is a coin itself."""
    coin, even = Variable("coin"), np.array([0.5, 0.5])
    model = Distribution((Factor((coin,), (), even), Factor((A.variable,), (coin,), np.eye(2))))
    found = without(model, frozenset({coin}))
    assert found is not None
    assert {v for factor in found.factors for v in (*factor.block, *factor.parents)} == {A.variable}
    assert found.probability(Is(A.variable)) == 0.5


def test_a_comparison_across_conditions_bounds_what_is_asked_of_one() -> None:
    # P(c | a) is at most 1, so that P(c | b) is at most 0.7.
    lcn = credalog.parse("0.1 <= P(a) <= 0.4\n0.2 <= P(b) <= 0.9\nP(c | a) - P(c | b) >= 0.3")
    assert lcn.query("P(c | b)").upper == pytest.approx(0.7, abs=1e-3)
