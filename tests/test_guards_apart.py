"""Guards tried in the one function that each stands in, on numbers and networks worked out by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf, nextafter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import credalog
from credalog.learning import intervals
from credalog.methods.intervals import factors, frechet, slices, windows
from credalog.methods.intervals.windows import box_rows
from credalog.methods.reduction import LARGEST, Affine, Odds, rounded, scale_of
from credalog.methods.vertices.interval_slopes import Layout, at_nodes, upward
from credalog.network.expressions import Linear, Quotient, Summand
from credalog.network.formulas import Is, Variable
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network
from credalog.network.structure import Structure
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program import products
from credalog.program.dinkelbach import greatest_quotient
from credalog.program.program import Box, Outcome
from credalog.tables import credal
from credalog.tables.cones import extreme_rays
from credalog.tables.credal import credal_network, credal_part

# --- Formulas of bounded probabilities -------------------------------------------------------------------

Exact = tuple[Fraction, Fraction]


def require_around(found: frechet.Range, truth: Exact) -> None:
    assert Fraction(found[0]) <= truth[0] and truth[1] <= Fraction(found[1])


def ranges_of(rng: np.random.Generator) -> tuple[frechet.Range, frechet.Range]:
    """Draw two ranges of probabilities, with as many digits as floats have."""
    # Thirds: what is drawn is a multiple of 2**-53, and sums of such are exact.
    (a, b), (c, d) = (np.sort(rng.random((2, 2)), axis=1) * [[1.0], [1.0 / 3.0]]).tolist()
    return (a, b), (c, d)


def test_bounds_of_formulas_are_rounded_outwards() -> None:
    """The inequalities of Fréchet in fractions, and the product of independent events."""
    rng, zero, one = np.random.default_rng(1), Fraction(0), Fraction(1)
    for _ in range(400):
        first, second = ranges_of(rng)
        (a, b), (c, d) = (tuple(map(Fraction, ends)) for ends in (first, second))
        require_around(frechet.complement(first), (1 - b, 1 - a))
        require_around(frechet.both(first, second), (max(zero, a + c - 1), min(b, d)))
        require_around(frechet.independent(first, second), (a * c, b * d))
        parity = max(zero, a - d, c - b), min(one, b + d, 2 - a - c)
        require_around(frechet.parity(first, second), parity)
        require_around(frechet.share(first, second), (a / (a + d), b / (b + c)))


def test_the_parity_of_two_likely_events_is_rounded_outwards() -> None:
    """No more is odd than fails of either; what is left beside a third has more digits than a float."""
    rng = np.random.default_rng(3)
    for one, other in (rng.random((200, 2)) / 10.0).tolist():
        first, second = (0.3 + one, 1.0), (0.9 + other, 1.0)
        truth = 2 - Fraction(first[0]) - Fraction(second[0])
        assert Fraction(frechet.parity(first, second)[1]) >= truth


@pytest.mark.parametrize("value", [2**53 + 1, 2**53 + 3, 10**17 + 1, -(2**53) - 1, -(2**53) - 3])
def test_a_whole_number_with_more_digits_than_a_float_is_rounded_outwards(value: int) -> None:
    assert Fraction(factors.down(Fraction(value))) < value < Fraction(factors.up(Fraction(value)))


def test_a_whole_number_stays_what_it_is() -> None:
    assert [way(Fraction(v)) for v in (-3, 0, 1) for way in (factors.down, factors.up)] == [
        -3,
        -3,
        0,
        0,
        1,
        1,
    ]


def test_bounds_on_a_variable_are_rows_that_no_distribution_within_them_misses() -> None:
    """P(second value) at either end satisfies each row in fractions: a row is rounded to the safe side."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        low, high = np.sort(rng.random(2)) / 3.0
        rows = box_rows(np.array([2]), np.zeros(1, dtype=np.bool_), np.array([low]), np.array([high]))
        for end in (Fraction(low), Fraction(high)):
            for row in rows.toarray():
                assert Fraction(row[0]) * (1 - end) + Fraction(row[1]) * end <= 0


def test_bounds_on_one_variable_hold_in_contexts_of_those_it_is_independent_of_alone() -> None:
    """The first is bounded in each context of the second where both are in a product, and of no third."""
    size, low, high = np.array([2, 2, 2]), np.full(3, 0.25), np.full(3, 0.75)
    together = box_rows(size, np.array([True, True, False]), low, high)
    apart = box_rows(size, np.zeros(3, dtype=np.bool_), low, high)
    assert together.shape[0] == 2 * 2 + 2 * 2 + 2 and apart.shape[0] == 3 * 2
    # The third copies the parity of the first two, which are independent: all bounds hold.
    worlds = [Fraction(1, 4) if c == (a ^ b) else Fraction(0) for a, b, c in product((0, 1), repeat=3)]
    for row in together.toarray():
        assert sum((Fraction(g) * p for g, p in zip(row, worlds, strict=True)), Fraction(0)) <= 0


# --- Sums and quotients ----------------------------------------------------------------------------------


def test_the_value_at_a_probability_is_rounded_outwards() -> None:
    rng, ways = np.random.default_rng(3), (Affine(Fraction(-1, 3), Fraction(5, 7)), Odds(Fraction(2, 3)))
    for probability in rng.random(200).tolist():
        p = Fraction(probability)
        affine, odds = ways[0].least + (ways[0].greatest - ways[0].least) * p, Fraction(2, 3) * p / (1 - p)
        for way, truth in ((ways[0], affine), (ways[1], odds)):
            down, up = way.value(probability, down=True), way.value(probability, down=False)
            assert Fraction(down) <= truth <= Fraction(up)
            assert up <= nextafter(down, inf)


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_too_large_for_a_float_is_infinite_on_the_outer_side_alone(sign: int) -> None:
    huge = sign * LARGEST * 10
    down, up = rounded(huge, down=True), rounded(huge, down=False)
    assert (down, up) == ((float(LARGEST), inf) if sign > 0 else (-inf, -float(LARGEST)))


def test_a_quotient_is_not_negative_only_where_neither_side_is() -> None:
    a, b = Is(Variable("a")), Is(Variable("b"))
    plus, minus = (Linear((Summand(Fraction(weight), claim),)) for weight, claim in ((1, a), (-1, b)))
    assert scale_of(Quotient(plus, plus)).least == 0.0
    assert scale_of(Quotient(plus, minus)).least == scale_of(Quotient(minus, plus)).least == -inf


def test_side_by_side_each_trial_moves_until_it_rests() -> None:
    """The first rests at once, the second does not: what it has by then bounds nothing."""
    goals = np.array([0.2, 0.9])

    def at(trial: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return goals, trial < goals

    found, rests = greatest_quotient(at, np.array([0.2, 0.0]))
    assert found.tolist() == [0.2, 0.9] and rests.all()
    _, rests = greatest_quotient(lambda t: (t, np.array([False, True])), np.zeros(2), rounds=3)
    assert rests.tolist() == [True, False]


# --- Which networks are credal networks ------------------------------------------------------------------


def ground(text: str) -> Network:
    return credalog.parse(text).ground()


LOCAL = "0.2 <= P(a) <= 0.4\nP(b | a) = 0.5\nP(b | !a) = 0.1\n"
UNUSUAL = {
    "declared": LOCAL + "P(c) = 0.5\nindependent a, c\n",
    "cyclic": "P(b | a) = 0.5\nP(a | b) = 0.5\n",
    "not local": LOCAL + "P(b) <= 0.3\n",
    "contradictory": LOCAL + "P(b | a) = 0.7\n",
}


def test_local_sentences_on_an_acyclic_graph_are_a_credal_network() -> None:
    network = ground(LOCAL)
    assert credal_network(network, dependency_graph(network)) is not None


@pytest.mark.parametrize("kind", UNUSUAL)
def test_no_other_network_is_a_credal_network(kind: str) -> None:
    network = ground(UNUSUAL[kind])
    assert credal_network(network, dependency_graph(network)) is None
    part = credal_part(network, dependency_graph(network))
    if kind == "not local":
        assert part is not None and len(part[1]) == 1
    else:
        assert part is None


def test_a_comparison_across_conditions_is_no_part_of_a_credal_network() -> None:
    network = ground(LOCAL + "P(b | a) >= P(b | !a)\n")
    assert network.contrasts and credal_part(network, dependency_graph(network)) is None


def test_both_ends_of_a_probability_are_rounded_outwards() -> None:
    for share in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 7), Fraction(7, 10), Fraction(1, 10)):
        least, most = credal._outwards(share, share)
        assert Fraction(least) < share < Fraction(most)
    assert credal._outwards(Fraction(0), Fraction(1)) == (0.0, 1.0)
    nearly = Fraction(10**40 - 1, 10**40)
    assert credal._outwards(nearly, nearly)[0] < 1.0 == credal._outwards(nearly, nearly)[1]
    hardly = 1 - nearly
    assert credal._outwards(hardly, hardly)[1] > hardly


# --- Non-descendants -------------------------------------------------------------------------------------

CHAIN = Structure(((), (0,), (1,), (2,)), (2, 2, 2, 2), ((0,), (1,), (2,), (3,)))


def test_a_condition_names_no_descendant_however_far_down() -> None:
    assert CHAIN.ndnp(1, (0, 1, 2, 3)) == ()
    assert CHAIN.ndnp(3, (0, 1, 2, 3)) == (0, 1)
    assert CHAIN.ndnp(0, (3,)) == ()
    assert CHAIN.not_ndnp(0) == frozenset({0, 1, 2, 3})


def test_what_lies_below_a_parent_alone_is_no_descendant() -> None:
    """In the cycle 0, 1 and with the child 2 of 0: from 1 the way to 2 leads through its parent 0."""
    cyclic = Structure(((1,), (0,), (0,)), (2, 2, 2), ((0, 1), (2,)))
    assert cyclic.ndnp(1, (0, 1, 2)) == (2,)
    assert cyclic.core == frozenset({0, 1})


def test_a_scope_is_closed_where_each_member_has_all_the_rest_as_parents() -> None:
    """The ring 0, 1, 2 with one arrow each: only 0 has both others as parents."""
    structure = Structure(((1, 2), (0,), (1,)), (2, 2, 2), ((0, 1, 2),))
    assert structure.is_closed((0, 1), (0, 1, 2))
    assert not structure.is_closed((0, 1, 2), (0, 1, 2))


# --- Rays, and nodes of a search -------------------------------------------------------------------------

OFF = 4e-12
"""So far a ray may be from all mixtures of others and yet look flat."""


@pytest.mark.parametrize(("tolerance", "kept"), [(1e-13, [0, 1, 2]), (1e-10, [0, 2])])
def test_a_ray_goes_only_where_a_mixture_of_others_is_as_near_as_is_asked_in_every_coordinate(
    tolerance: float, kept: list[int]
) -> None:
    """The last two coordinates agree on the first ray and the third: no mixture has them as the second."""
    rays = np.array([[1.0, 0.2, 0.2], [0.6, 0.6, 0.6 * (1.0 + OFF)], [0.2, 1.0, 1.0]])
    assert extreme_rays(rays, tolerance=tolerance, budget=Budget.of()).tolist() == kept


def test_rays_that_are_all_extreme_all_stay() -> None:
    for size in (2, 3, 4):
        assert extreme_rays(np.eye(size), tolerance=1e-11, budget=Budget.of()).tolist() == [*range(size)]


def test_what_was_computed_for_some_nodes_is_theirs() -> None:
    table = np.array([1.0, 2.0, 3.0])
    found = at_nodes({0: (table, -table)}, np.array([2, 0]))[0]
    assert [ends.tolist() for ends in found] == [[3.0, 1.0], [-3.0, -1.0]]
    shared = np.array([7.0])
    assert at_nodes({0: (shared, shared)}, np.array([2, 0]))[0][0].tolist() == [7.0]


def test_the_scores_of_a_search_are_rounded_outwards() -> None:
    layout, point, event = Layout.of(0, {0: ()}, {}, (2,), [0]), np.array([[0.5, 0.5]]), np.array([0.0, 1.0])
    for trial in (np.random.default_rng(4).random(100) / 6.0).tolist():
        low, high = upward(layout, {0: (point, point)}, event, trial, Budget.of()).score
        assert Fraction(float(low[0])) <= -Fraction(trial) <= Fraction(float(high[0]))
        assert Fraction(float(low[1])) <= 1 - Fraction(trial) <= Fraction(float(high[1]))


# --- Products of bounds ----------------------------------------------------------------------------------


def test_a_ratio_may_be_a_rounding_beyond_the_bound_it_was_fixed_at() -> None:
    box, both = Box(np.array([0.0, 0.3]), np.array([0.7, 1.0])), np.array([0, 1])
    _, below = products._distances(box, both, 1)
    _, above = products._distances(box, both, -1)
    assert (-below).tolist() == [0.0, nextafter(0.3, 0.0)]
    assert above.tolist() == [nextafter(0.7, 1.0), 1.0]


def test_rows_come_in_the_order_of_their_numbers() -> None:
    """Two pairs of ratios, each in cells of its own; rows of all kinds, asked for in any order."""
    cells = [sp.csr_array(np.eye(2, 8, k=2 * place)) for place in range(4)]
    pairs = products.Products(np.array([0, 1]), np.array([1, 2]), *cells)
    box = Box(np.array([0.1, 0.2, 0.3]), np.array([0.6, 0.7, 0.8]))
    numbers = np.array([5, 0, 7, 2, 1])
    single = [pairs.rows(box, np.array([number])).toarray()[0] for number in numbers]
    assert (pairs.rows(box, numbers).toarray() == np.array(single)).all()


# --- Factors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0.1 <= P(x | a) <= 0.3\n0.2 <= P(x | !a) <= 0.7\n", factors.Kind.FAMILY),
        ("0.1 <= P(x | a and b) <= 0.3\n0.2 <= P(!x | a and !b) <= 0.7\n", factors.Kind.FAMILY),
        # Conditions that overlap, ends that contradict each other, and two heads.
        ("0.1 <= P(x | a and b) <= 0.3\n0.2 <= P(x | a or b) <= 0.7\n", factors.Kind.TABLE),
        ("P(x | a) <= 0.3\nP(x | a) >= 0.7\n", factors.Kind.TABLE),
        ("0.1 <= P(x | a) <= 0.3\n0.2 <= P(a | x) <= 0.7\n", factors.Kind.TABLE),
    ],
)
def test_a_family_has_one_head_and_conditions_apart(text: str, kind: factors.Kind) -> None:
    (factor,) = factors.factor_graph(ground(text)).factors
    assert factor.kind is kind


def test_what_is_said_of_the_first_value_is_turned_round() -> None:
    (sentence,) = ground("0.1 <= P(!x | a) <= 0.3\n").sentences
    reading = factors.read(sentence)
    assert reading is not None
    assert Fraction(reading.lower) <= Fraction(7, 10) and Fraction(reading.upper) >= Fraction(9, 10)
    assert (reading.lower, reading.upper) == (pytest.approx(0.7), pytest.approx(0.9))


def test_rows_of_a_sentence_are_rounded_down() -> None:
    for low, high in np.sort(np.random.default_rng(5).random((50, 2)), axis=1).round(6).tolist():
        network = ground(f"{low} <= P(x | a) <= {high}\n")
        found = factors.sentence_rows(network.sentences, tuple(network.variables))
        (sentence,) = network.sentences
        events = list(product((0, 1), repeat=2))
        place = {v.name: i for i, v in enumerate(network.variables)}
        for row, bound, sign in zip(found, (sentence.upper, sentence.lower), (1, -1), strict=True):
            truth = [e[place["a"]] * sign * (e[place["x"]] - bound) for e in events]
            assert all(Fraction(c) <= t for c, t in zip(row.tolist(), truth, strict=True))
            assert row.tolist() == pytest.approx([float(t) for t in truth])


@pytest.mark.parametrize(("condition", "is_separate"), [("!a and b", True), ("!a or !b", False)])
def test_conditions_are_separate_where_each_is_one_configuration(condition: str, is_separate: bool) -> None:
    """A wider condition says nothing of each of its configurations by itself."""
    network = ground(f"0.1 <= P(x | a and b) <= 0.3\n0.2 <= P(x | {condition}) <= 0.7\n")
    (factor,) = factors.factor_graph(network).factors
    assert (factor.kind, factor.separate) == (factors.Kind.FAMILY, is_separate)


def test_a_sentence_holds_in_every_context_only_where_it_names_all_parents() -> None:
    """P(x | a) is a mean over b, and another context may make b likelier."""
    text = "0.1 <= P(x | a and b) <= 0.3\n0.2 <= P(x | a) <= 0.7\n0.2 <= P(x | a or b) <= 0.7\nP(a) >= 0.5\n"
    network = ground(text)
    dependencies = dependency_graph(network)
    found = windows.local_sentences(factors.factor_graph(network), dependencies)
    named = {network.variables[x].name: [str(s.given) for s in said] for x, said in found.items()}
    assert named == {"x": ["a and b"], "a": ["true"]}


def test_the_error_of_a_quantile_is_left_room_for() -> None:
    low, high = intervals._outwards(0.25, 0.75)
    assert low <= Fraction(1, 4) - intervals.SLACK and high >= Fraction(3, 4) + intervals.SLACK


@pytest.mark.parametrize("end", End)
@pytest.mark.parametrize(
    ("spent", "outcome"), [(True, Outcome.OPTIMAL), (False, Outcome.STOPPED), (False, Outcome.INFEASIBLE)]
)
def test_a_window_without_a_proof_bounds_nothing(end: End, spent: bool, outcome: Outcome) -> None:
    """The time is up before or meanwhile, or the solver says that there is nothing and cannot prove it."""
    claim = SimpleNamespace(outcome=outcome, multipliers=np.zeros(0))
    solve = lambda *_, **__: (claim, None)  # noqa: E731
    program: Any = SimpleNamespace(
        _budget=SimpleNamespace(is_spent=spent, for_solver=1.0),
        _relaxation=SimpleNamespace(minimize=solve, maximize=solve),
        _checker=SimpleNamespace(proves_empty=lambda *_: False),
        _box=None,
        _basis=None,
    )
    found = windows.LinearProgram._end(program, SimpleNamespace(denominator=np.ones(1)), end)  # type: ignore[arg-type]
    assert found == (-inf if end is End.LOWER else inf)


def test_parts_that_are_joined_depend_on_all_that_either_does() -> None:
    """The first two are tied, and so are the first and the third: the last two alone are apart."""
    part: Any = SimpleNamespace(
        _groups=lambda operands, _: operands,
        _numbers=lambda name: {name},
        _formula=lambda _: (0.5, 0.5),
        _independent=lambda one, other: 1 not in one | other,
    )
    assert slices._Slice._conjunction(part, (1, 2, 3)) == (0.0, 0.5)  # type: ignore[arg-type]
