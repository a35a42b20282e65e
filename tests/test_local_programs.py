"""The compiled programs of sound propagation, one by one: held against enumeration in rationals, untouched by
what a whole run would forgive. A bound may be loose by its gap; it is never inside, by not even a digit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import inf, nextafter, prod

import numpy as np
import pytest

from credalog.methods.intervals import kernels
from credalog.methods.intervals.kernels import Table
from vertex_oracle import _vertices as vertices

SIZES = [(2,), (2, 2), (3, 2), (2, 3, 2)]


def fractions(values: Sequence[float] | np.ndarray) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


# --- Bounds by multipliers ---------------------------------------------------------------------------


def cancelling(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Fraction]:
    """Return two rows of one world and multipliers of them that leave little but rounding, and what it is."""
    a, b = rng.random(2) + 0.1
    rows, weights = np.array([[a], [-b]]), 1e6 * np.array([rng.random() / a, 0.0])
    weights[1] = weights[0] * a / b
    products = (w * g for w, g in zip(fractions(weights), fractions(rows[:, 0]), strict=True))
    return rows, weights, sum(products, Fraction(0))


@pytest.mark.slow
def test_what_cancels_is_no_proof_of_emptiness() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        rows, weights, _ = cancelling(rng)
        assert not kernels.proves_empty(rows, 2, weights)
        assert kernels.proves_empty(rows, 1, weights)
        assert not kernels.proves_empty(-rows, 1, weights)


def test_a_combination_that_is_positive_on_every_world_proves_emptiness() -> None:
    rows = np.array([[0.6, -0.4], [-0.4, 0.6], [-9.0, -9.0]])
    assert kernels.proves_empty(rows, 2, np.ones(3))
    assert not kernels.proves_empty(rows, 3, np.ones(3))
    assert not kernels.proves_empty(rows, 2, np.array([1.0, 0.5, 0.0]))
    assert not kernels.proves_empty(rows, 2, np.array([np.nan, 1.0, 0.0]))
    assert not kernels.proves_empty(-rows, 2, -np.ones(3))


def test_products_too_small_for_a_float_prove_nothing() -> None:
    """The least float is 4.9e-324: 3e-324 is rounded up to it, and 2.4e-324 down to nothing, twice."""
    rows, ray = np.array([[3e-162], [-2.4e-162], [-2.4e-162]]), np.full(3, 1e-162)
    assert not kernels.proves_empty(rows, 3, ray)
    assert Fraction(kernels.dual_bound(-rows[:1], 1, np.zeros(1), ray)) >= Fraction(3e-162) * Fraction(1e-162)


def test_terms_that_each_vanish_beside_the_first_count_together() -> None:
    """1 + 400 / 2^54 is 1 in floating point, added up term by term."""
    tiny = np.full((400, 1), -(2.0**-54))
    assert Fraction(kernels.dual_bound(tiny, 400, np.ones(1), np.ones(400))) >= 1 + Fraction(400, 2**54)
    # 1 - 400 / 2^54 - (1 - 300 / 2^54) is negative.
    rows = np.vstack([[[1.0]], tiny, [[300 * 2.0**-54 - 1.0]]])
    assert not kernels.proves_empty(rows, 402, np.ones(402))


def test_what_cancels_in_a_bound_leaves_its_error() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        rows, weights, total = cancelling(rng)
        bound = kernels.dual_bound(rows, 2, np.zeros(1), weights)
        assert -total <= Fraction(bound) <= -total + Fraction(1e-8)


def test_a_bound_counts_the_rows_it_is_told_and_no_negative_multiplier() -> None:
    rows, costs = np.array([[1.0, -1.0], [3.0, 3.0]]), np.array([1.0, 0.25])
    # By hand: max(1 - 0.5, 0.25 + 0.5).
    assert kernels.dual_bound(rows, 1, costs, np.array([0.5, 9.0])) == pytest.approx(0.75, abs=1e-12)
    assert kernels.dual_bound(rows, 2, costs, np.array([0.5, -9.0])) == pytest.approx(0.75, abs=1e-12)


def test_multipliers_that_overflow_bound_nothing() -> None:
    with np.errstate(all="ignore"):
        assert kernels.dual_bound(np.full((1, 2), 1e200), 1, np.zeros(2), np.full(1, 1e200)) == inf
        assert kernels.dual_bound(np.zeros((1, 2)), 1, np.array([0.0, inf]), np.zeros(1)) == inf


# --- Rows of a table ---------------------------------------------------------------------------------


def random_table(rng: np.random.Generator, sizes: tuple[int, ...], *, fixed: int = 0) -> Table:
    independent = rng.random(len(sizes)) < 0.7
    return kernels.table(np.array(sizes), independent, rng.normal(size=(fixed, prod(sizes))))


def slots(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the variable and the value that each slot is about."""
    for i, size in enumerate(sizes):
        yield from ((i, value) for value in ((1,) if size == 2 else range(size)))


def random_box(rng: np.random.Generator, sizes: Sequence[int]) -> np.ndarray:
    """Return bounds around a random distribution of each variable; some say nothing."""
    ends: list[tuple[float, float]] = []
    for size in sizes:
        point = rng.dirichlet(np.ones(size))
        ends += [(point[value] * rng.random(), point[value] + rng.random()) for _, value in slots([size])]
    box: np.ndarray = np.clip(np.array(ends).T, 0.0, 1.0)
    box[0, rng.random(box.shape[1]) < 0.3] = 0.0
    box[1, rng.random(box.shape[1]) < 0.3] = 1.0
    return box


def expected_rows(t: Table, box: np.ndarray) -> Iterator[tuple[float, ...]]:
    sizes = t.size.tolist()
    worlds = list(product(*map(range, sizes)))
    yield from (tuple(row) for row in t.fixed.tolist())
    for (i, value), lower, upper in zip(slots(sizes), *box.tolist(), strict=True):
        others = [j for j in range(len(sizes)) if t.product[i] and t.product[j] and j != i]
        for context in product(*(range(sizes[j]) for j in others)):
            inside = [tuple(w[j] for j in others) == context for w in worlds]
            holds = [float(w[i] == value) for w in worlds]
            if upper < 1.0:
                yield tuple((h - upper) * here for h, here in zip(holds, inside, strict=True))
            if lower > 0.0:
                yield tuple((lower - h) * here for h, here in zip(holds, inside, strict=True))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("seed", range(5))
def test_the_box_is_stated_in_every_context_of_the_independent_variables(
    sizes: tuple[int, ...], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    t, box = random_table(rng, sizes, fixed=seed % 3), random_box(rng, sizes)
    written = np.empty((kernels._most_rows(t), prod(sizes)))
    rows = written[: kernels._rows(t, box[0], box[1], written)]
    assert sorted(map(tuple, rows.tolist())) == sorted(expected_rows(t, box))


# --- The greatest value over a box -------------------------------------------------------------------


def marginals(sizes: Sequence[int], box: np.ndarray) -> list[list[tuple[Fraction, ...]]]:
    """Return the vertices of the distributions of each variable that lie in a box."""
    found, place = [], 0
    for size in sizes:
        count = 1 if size == 2 else size
        low, high = (fractions(side[place : place + count]) for side in box)
        if size == 2:
            low, high = [1 - high[0], low[0]], [1 - low[0], high[0]]
        found.append(vertices(low, high))
        place += count
    return found


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (2, 2, 2)])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_greatest_value_of_independent_variables_is_at_a_corner(
    sizes: tuple[int, ...], free: bool, seed: int
) -> None:
    """With a last variable that may depend on the others in any way, whose best value counts."""
    rng = np.random.default_rng(seed)
    box, shape = random_box(rng, sizes), (*sizes, *([2] if free else []))
    costs = rng.random(shape).round(2)
    best = costs.max(axis=-1) if free else costs
    exact = max(
        sum(
            Fraction(float(best[world])) * prod(p[value] for p, value in zip(corner, world, strict=True))
            for world in np.ndindex(*sizes)
        )
        for corner in product(*marginals(sizes, box))
    )
    whole = np.column_stack([box, [0.0, 1.0]]) if free else box
    independent = np.array([True] * len(sizes) + [False] * free)
    t = kernels.table(np.array(shape), independent, np.empty((0, costs.size)))
    bound, is_possible = kernels.greatest(t, np.ascontiguousarray(whole), costs.ravel(), 400, 1e-7)
    assert is_possible
    assert exact <= Fraction(bound) <= exact + Fraction(1e-6)
    loose, _ = kernels.greatest(t, np.ascontiguousarray(whole), costs.ravel(), 1, 1e-7)
    assert bound - 1e-12 <= loose <= 1.0 + 1e-9


def test_boxes_that_hold_no_distribution_are_proved_empty() -> None:
    """A fixed row says that both or neither hold, which independent marginals of 0.5 and 0.9 exclude."""
    differ = np.array([[0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    t = kernels.table(np.array([2, 2]), np.array([True, True]), differ[:1])
    assert kernels.greatest(t, np.array([[0.5, 0.9], [0.5, 0.9]]), differ[1], 9, 1e-6) == (-inf, False)
    t = kernels.table(np.array([2, 2]), np.array([False, False]), differ[:1])
    assert not kernels.greatest(t, np.array([[0.5, 0.6], [0.55, 0.9]]), differ[1], 9, 1e-6)[1]
    assert kernels.greatest(t, np.array([[0.5, 0.6], [0.6, 0.9]]), differ[1], 9, 1e-6)[1]


# --- Families ----------------------------------------------------------------------------------------


def at(table: Sequence[Fraction], chances: Sequence[Fraction]) -> Fraction:
    """Return P(x) for a table of P(x | configuration), the first parent slowest, and independent parents."""
    total = Fraction(0)
    for entry, world in zip(table, product((0, 1), repeat=len(chances)), strict=True):
        total += entry * prod(p if holds else 1 - p for p, holds in zip(chances, world, strict=True))
    return total


@pytest.mark.parametrize("parents", [1, 2, 3])
def test_a_message_to_a_parent_keeps_the_truth_to_the_last_digit(parents: int) -> None:
    """All but one parent are known, and P(x) up to the last digit: so is the parent, and hardly less."""
    rng = np.random.default_rng(parents)
    for _ in range(200):
        table, chances = rng.random(2**parents).round(3), rng.random(parents).round(3)
        parent = int(rng.integers(parents))
        truth = at(fractions(table), fractions(chances))
        head = nextafter(float(truth), 0.0), nextafter(float(truth), 1.0)
        lower, upper = chances.copy(), chances.copy()
        lower[parent], upper[parent] = 0.0, 1.0
        left, right, is_possible = kernels.family_to_parent(table, table, lower, upper, parent, head)
        assert is_possible
        assert Fraction(left) <= Fraction(chances[parent]) <= Fraction(right)
        ends = [[p if i != parent else Fraction(k) for i, p in enumerate(fractions(chances))] for k in (0, 1)]
        slope = abs(at(fractions(table), ends[1]) - at(fractions(table), ends[0]))
        assert (right - left) * float(slope) <= 1e-12


def possible(
    tables: np.ndarray, box: np.ndarray, parent: int, head: tuple[float, float], p: Fraction
) -> bool:
    """Tell whether P(parent) = p allows some P(x) in the interval of the head."""
    corners = [fractions(side) for side in box.T]
    corners[parent] = [p]
    every = list(product(*corners))
    least = min(at(fractions(tables[0]), corner) for corner in every)
    most = max(at(fractions(tables[1]), corner) for corner in every)
    return least <= Fraction(head[1]) and most >= Fraction(head[0])


@pytest.mark.slow
@pytest.mark.parametrize("parents", [1, 2, 3])
def test_a_message_to_a_parent_spans_what_is_possible_and_ends_there(parents: int) -> None:
    rng = np.random.default_rng(10 + parents)
    verdicts = set()
    for _ in range(90 // parents):
        tables = np.sort(rng.random((2, 2**parents)).round(2), axis=0)
        tables[1] = np.minimum(tables[1], tables[0] + 0.1)
        box, parent = np.sort(rng.random((2, parents)).round(2), axis=0), int(rng.integers(parents))
        low = rng.random()
        head = (low, min(low + 0.1, 1.0))
        left, right, is_possible = kernels.family_to_parent(
            tables[0], tables[1], box[0], box[1], parent, head
        )
        first, last = fractions(box[:, parent])
        grid = [first + (last - first) * Fraction(k, 12) for k in range(13)]
        allowed = [p for p in grid if possible(tables, box, parent, head, p)]
        assert is_possible or not allowed
        assert all(left <= p <= right for p in allowed)
        verdicts.add(is_possible)
        if is_possible:
            hair = Fraction(1e-9)
            assert left == 0.0 or not possible(tables, box, parent, head, Fraction(left) - hair)
            assert right == 1.0 or not possible(tables, box, parent, head, Fraction(right) + hair)
            inner = max(Fraction(left), first), min(Fraction(right), last)
            assert any(possible(tables, box, parent, head, p) for p in (*inner, *grid))
        else:
            assert not allowed
    assert verdicts == {True, False}


def test_the_range_over_corners_begins_at_the_first_corner() -> None:
    """Without parents there is one world; with one, the ends are those of the two entries."""
    none = np.empty(0)
    assert kernels.corner_range(np.array([0.25]), np.array([0.5]), none, none) == (0.25, 0.5)
    below, above, half = np.array([0.25, 0.75]), np.array([0.5, 1.0]), np.array([0.5])
    assert kernels.corner_range(below, above, half, half) == (0.5, 0.75)
    assert kernels.corner_range(below, above, np.zeros(1), np.ones(1)) == (0.25, 1.0)


def test_what_parents_say_of_their_child_is_rounded_outwards_inside_the_unit_interval() -> None:
    below, above, half = np.array([0.25, 0.75]), np.array([0.5, 1.0]), np.array([0.5])
    least, most = kernels.family_to_head(below, above, half, half)
    assert 0.5 - 1e-12 < least < 0.5 and 0.75 < most < 0.75 + 1e-12
    assert kernels.family_to_head(np.zeros(2), np.ones(2), half, half) == (0.0, 1.0)


def test_a_box_that_is_a_point_is_not_cut() -> None:
    table = kernels.table(np.array([2]), np.array([True]), np.empty((0, 2)))
    boxes = np.full((2, 2, 1), 0.5)
    assert not kernels._split(table, boxes, 0, 1, np.array([0.5]))
    boxes[0, 1, 0] = 1.0
    assert kernels._split(table, boxes, 0, 1, np.array([0.5]))


@pytest.mark.parametrize("parents", range(7))
def test_the_slack_covers_every_rounding_of_a_sum_over_configurations(parents: int) -> None:
    """Each weight has 2 k roundings and each term one more; w terms, of sum at most 1, are added up."""
    worlds = 2**parents
    assert Fraction(kernels._slack(worlds, parents)) >= Fraction(2 * parents + worlds + 1, 2**53)


def test_a_line_is_above_a_level_only_beyond_where_it_crosses_it() -> None:
    rng = np.random.default_rng(5)
    for level, start, end in rng.random((300, 3)):
        left, right = kernels._above(level, start, end)
        crossing = (Fraction(level) - Fraction(start)) / (Fraction(end) - Fraction(start))
        if not 0 <= crossing <= 1:
            continue
        if end > start:
            assert right >= 1.0 and crossing <= Fraction(left) <= crossing + Fraction(1e-14)
        else:
            assert left <= 0.0 and crossing - Fraction(1e-14) <= Fraction(right) <= crossing


def test_a_parent_that_is_known_is_no_contradiction() -> None:
    below, above, half = np.array([0.25, 0.75]), np.array([0.5, 1.0]), np.array([0.5])
    assert kernels.family_to_parent(below, above, half, half, 0, (0.0, 1.0)) == (0.0, 1.0, True)
    assert not kernels.family_to_parent(below, above, half, half, 0, (0.0, 0.1))[2]


def test_of_two_excluded_intervals_below_a_parent_the_higher_one_ends_its_range() -> None:
    """0.95 - 0.4 p > 0.94 where p < 1/40, and 0.95 + 0.05 p < 0.93 where p < -2/5."""
    below, above = np.array([0.95, 0.55]), np.array([0.95, 1.0])
    found = kernels.family_to_parent(below, above, np.array([0.1]), np.array([1.0]), 0, (0.93, 0.94))
    assert found == (pytest.approx(1 / 40), 1.0, True)


@pytest.mark.parametrize("chances", [[0.9, 0.9], [0.8, 0.9], [0.9, 0.8]])
def test_a_parent_of_probability_zero_or_one_is_no_way_out(chances: list[float]) -> None:
    """P(x) is at least 0.8 whatever its parent is."""
    law = np.array(chances)
    assert not kernels.family_to_parent(law, law, np.array([0.0]), np.array([1.0]), 0, (0.0, 0.5))[2]


@pytest.mark.parametrize("is_upper", [False, True])
def test_a_parent_that_hardly_bears_on_its_child_is_not_excluded_by_roundings(is_upper: bool) -> None:
    """The slope is 1e-9, by which every rounding of P(x) is divided."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        table, chances = 0.3 + 1e-9 * rng.random(8) + 0.1 * np.repeat(rng.random(4), 2), rng.random(3)
        truth = at(fractions(table), fractions(chances))
        near = nextafter(float(truth), 1.0 if is_upper else 0.0)
        edge = float(truth) if (Fraction(float(truth)) >= truth) == is_upper else near
        lower, upper = chances.copy(), chances.copy()
        lower[2], upper[2] = 0.0, 1.0
        head = (0.0, edge) if is_upper else (edge, 1.0)
        left, right, is_possible = kernels.family_to_parent(table, table, lower, upper, 2, head)
        assert is_possible and left <= chances[2] <= right


def test_rows_too_small_for_a_pivot_are_no_proof_of_emptiness() -> None:
    """5 p - 4 (1 - p) <= 0, a hundred billion times smaller: p is at most 4/9."""
    bound, is_possible = kernels.maximize(
        1e-11 * np.array([[5.0, -4.0]]), 1, np.array([1.0, 0.0]), np.zeros(2)
    )
    assert is_possible and bound >= 4 / 9


@pytest.mark.parametrize("most_nodes", [2, 3, 5])
def test_the_bound_of_many_small_boxes_is_that_of_the_best(most_nodes: int) -> None:
    """P(a xor b) of independent a and b in [0.2, 0.8] is 0.8 * 0.8 + 0.2 * 0.2 at most; no gap ends it."""
    t = kernels.table(np.array([2, 2]), np.array([True, True]), np.empty((0, 4)))
    box, differ = np.array([[0.2, 0.2], [0.8, 0.8]]), np.array([0.0, 1.0, 1.0, 0.0])
    bound, is_possible = kernels.greatest(t, box, differ, most_nodes, -1.0)
    assert is_possible and Fraction(68, 100) <= Fraction(bound) <= Fraction(8, 10)


def test_what_is_bounded_counts_in_the_error_of_its_bound_whatever_its_sign() -> None:
    """c - y g is nothing but the rounding of y g, where c is minus that."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        y, g = 0.1 + rng.random(2)
        c = -(y * g)
        bound = kernels.dual_bound(np.array([[-g]]), 1, np.array([c]), np.array([y]))
        assert Fraction(bound) >= Fraction(c) + Fraction(y) * Fraction(g)
