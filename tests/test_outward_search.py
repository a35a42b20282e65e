"""The steps of a search without vertices, in fractions and without any tolerance."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from credalog import parse
from credalog.methods.vertices import boxes, greedy, messages, weighing
from credalog.methods.vertices.ascent import Climber
from credalog.methods.vertices.interval_slopes import Layout
from credalog.methods.vertices.messages import Messages
from credalog.network.formulas import Is
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget
from credalog.tables.cones import Array
from credalog.tables.credal import Table, ask, credal_network
from credalog.tables.interval_sets import filled, interval_vertices
from credalog.trusted.rounding import relative_error

AMPLE = Budget.of()


def exact(values: Array) -> list[Fraction]:
    return [Fraction(value) for value in values.tolist()]


def drawn_box(rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw intervals of three values, of which the third is rare: it has what the others leave."""
    first = float(rng.random()) / 3.0
    second = 1.0 - first - 1e-9 * float(rng.random())
    return np.array([first, second, 0.0]), np.array([1.0, 1.0, 1e-6])


def score_of(slopes: list[Fraction], theta: tuple[Fraction, ...]) -> Fraction:
    return sum((s * p for s, p in zip(slopes, theta, strict=True)), Fraction(0))


def all_vertices(low: Array, high: Array) -> tuple[tuple[Fraction, ...], ...]:
    found = interval_vertices(exact(low), exact(high), most=1000)
    assert found
    return found


def is_within(theta: tuple[Fraction, ...], ends: tuple[Array, Array]) -> bool:
    low, high = map(exact, ends)
    return all(a <= p <= b for a, p, b in zip(low, theta, high, strict=True))


def test_a_model_lies_in_the_intervals_around_what_is_computed_of_it() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        box, slopes = drawn_box(rng), rng.permutation(3).astype(np.float64)
        best = max(all_vertices(*box), key=lambda v: score_of(exact(slopes), v))
        assert is_within(best, boxes._around(filled(*box, slopes), box))


def advantage(slopes: Array) -> Array:
    """Return by how much more the score grows with one value than with another: whole numbers."""
    return slopes[:, None] - slopes[None, :]


def test_intervals_are_narrowed_around_a_best_distribution() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        box, slopes = drawn_box(rng), rng.permutation(3).astype(np.float64)
        least = advantage(slopes)
        found = boxes._decided(*box, least, (least - least.T).sum(axis=-1))
        best = max(all_vertices(*box), key=lambda v: score_of(exact(slopes), v))
        assert is_within(best, found)


def test_values_that_are_as_good_as_each_other_do_not_both_have_all() -> None:
    low, high = np.zeros(2), np.ones(2)
    least = np.zeros((2, 2))
    found = boxes._decided(low, high, least, least.sum(axis=-1))
    assert sum(exact(found[0])) <= 1 <= sum(exact(found[1]))


def test_a_value_that_may_be_worse_by_a_little_is_not_given_all() -> None:
    """The first may be worth a thousandth more than the second, or a hair less: then the second has all."""
    low, high, least = np.zeros(2), np.ones(2), np.array([[0.0, -1e-8], [-1e-3, 0.0]])
    found = boxes._decided(low, high, least, (least - least.T).sum(axis=-1))
    assert is_within((Fraction(0), Fraction(1)), found)


def test_no_block_gains_more_than_is_said() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        box, slopes = drawn_box(rng), rng.permutation(3).astype(np.float64)
        there = filled(*box, rng.permutation(3).astype(np.float64))
        found = sum(exact(boxes._gains(there, box, advantage(slopes))))
        reached = [score_of(exact(slopes), vertex) for vertex in all_vertices(*box)]
        near = boxes._around(there, box)
        here = min(score_of(exact(slopes), v) for v in all_vertices(*box) if is_within(v, near))
        assert max(reached) - here <= found


@pytest.mark.parametrize("values", [3, 5, 7])
def test_some_part_of_a_block_holds_each_vertex_however_many_there_are(values: int) -> None:
    low, high = np.zeros(values), np.full(values, 0.3 if values > 3 else 0.7)
    parts = list(boxes._parts(low, high, 0, None))
    for vertex in all_vertices(low, high):
        assert any(is_within(vertex, part) for part in parts)


def test_a_bound_is_what_was_proved_and_not_what_is_attained() -> None:
    """From a poor model: the truth lies between what it attains and what is proved."""
    lcn = parse("0.2 <= P(x) <= 0.6\nP(e | x) = 0.5\nP(e | !x) = 0.5")
    network = lcn.ground()
    credal = credal_network(network, dependency_graph(network))
    assert credal is not None
    put = ask(credal, Query(Is(lcn.variable("x")), Is(lcn.variable("e"))))
    assert put is not None
    relevant = put[0].relevant(put[1])
    layout = Layout.of(put[1].target, relevant.parents, put[1].observed, put[0].sizes, [put[1].target])
    poor = {x: np.array([0.5, 0.5]) if x == put[1].target else np.full((2, 2), 0.5) for x in relevant.parents}
    search = boxes.Closing(Climber.of(*put), layout, poor, 1.0, 0.3)
    search.run(AMPLE, lambda *_: None)
    assert Fraction(search.bound) >= Fraction("0.6")


# --- Sums of slopes by loops -----------------------------------------------------------------------------


@pytest.mark.parametrize("is_closer", [False, True])
@pytest.mark.parametrize("width", [0.0, 1e-6, 1.0])
def test_sums_of_slopes_by_loops_are_rounded_outwards(width: float, is_closer: bool) -> None:
    """Two nodes, each with slopes and factors of its own; the sum of the slopes is bounded."""
    rng, count = np.random.default_rng(4), 6
    places = np.arange(count, dtype=np.intp)
    loops = getattr(weighing.weigh, "py_func", weighing.weigh)
    for _ in range(60):
        ends = np.sort(rng.normal(size=(2, 2, count)), axis=0)
        factors = np.sort(rng.normal(size=(2, 2, count, 1)), axis=0)
        least, low = ends[0], factors[0]
        most, high = least + width * (ends[1] - least), low + width * (factors[1] - low)
        slopes = least + (most - least) * rng.random(least.shape)
        total = slopes.sum(axis=1, keepdims=True)
        off = relative_error(8 * count) * np.abs(slopes).sum(axis=1, keepdims=True)
        terms = weighing.Terms(least, most, low, high, places, np.zeros(count, dtype=np.intp))
        found = np.empty((2, 1, 1)), np.empty((2, 1, 1))
        # The sum may be known from one side only: at which end it counts depends on the sign of a centre.
        below, above = rng.permutation([0.0, 1.0])
        sums = total - off - below, total + off + above
        loops(terms, sums, relative_error(64 + count), is_closer, found)
        for node, sides in product(range(2), ("low", "high")):
            chosen = low if sides == "low" else high
            truth = sum(
                (s * f for s, f in zip(exact(slopes[node]), exact(chosen[node, :, 0]), strict=True)),
                Fraction(0),
            )
            assert Fraction(float(found[0][node, 0, 0])) <= truth <= Fraction(float(found[1][node, 0, 0]))


# --- Messages --------------------------------------------------------------------------------------------


def test_a_message_below_the_query_is_rounded_outwards() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        low, high = drawn_box(rng)
        values = np.array([0.0, 0.0, float(rng.random())])
        met = greedy._Range((0,), values, values)
        found = greedy._sum_range(greedy._Family((0,), low, high), [met])
        reached = [score_of(exact(values), vertex) for vertex in all_vertices(low, high)]
        assert Fraction(float(found.least)) <= min(reached) and max(reached) <= Fraction(float(found.most))
        theta = rng.integers(1, 1 << 52) / float(1 << 52)
        point, weights = np.array([theta, 1.0 - theta]), rng.random(2)
        plain = greedy._sum_range(greedy._Family((0,), point, point), [greedy._Range((0,), weights, weights)])
        truth = score_of(exact(weights), tuple(exact(point)))
        assert Fraction(float(plain.least)) <= truth <= Fraction(float(plain.most))


def test_a_message_without_a_variable_holds_what_any_of_its_values_may_be() -> None:
    found = greedy._Range((3, 4), np.array([[0.1, 0.4]]), np.array([[0.2, 0.6]])).without(4)
    assert (found.least.tolist(), found.most.tolist()) == ([0.1], [0.6])


def off_by(error: float, *vectors: list[float]) -> Messages:
    return Messages(np.array(vectors), error, lambda _: ([], []))


TABLE = Table(2, (0, 1), np.full((2, 2, 1, 2), 0.5), (None, None))
FIRST, SECOND = 1e-3, 1e-5


@pytest.mark.parametrize(("one", "other"), [(FIRST, 0.0), (0.0, FIRST), (FIRST, SECOND)])
def test_the_errors_of_all_that_enters_a_message_are_part_of_its_own(one: float, other: float) -> None:
    mine, yours = off_by(one, [0.5, 1.0]), off_by(other, [1.0, 0.25])
    sent = (
        messages.multiplied([mine, yours], 2, AMPLE),
        messages.multiplied([mine, off_by(other, [1.0, 1.0])], 2, AMPLE),
        messages.to_parent(TABLE, 0, [mine], yours, AMPLE),
        messages.from_above(TABLE, [mine, yours], AMPLE),
    )
    for found in sent:
        assert one + other <= found.error < one + other + 1e-9


def test_what_may_underflow_in_a_message_has_no_error_that_could_be_told() -> None:
    faint = off_by(0.0, [1.0, 1e-200])
    rare = Table(2, (0, 1), np.array([[[[1.0, 0.0]]] * 2] * 2), (None, None))
    rare.vertices[..., 1] = 1e-200
    assert messages.to_parent(rare, 0, [faint], faint, AMPLE).error == np.inf
    assert messages.from_above(rare, [faint, faint], AMPLE).error == np.inf


def test_a_parent_that_hardly_ever_has_a_value_counts_all_the_same() -> None:
    """P(child) under the rare value may be 0 or 1: the message differs by as much as the value weighs."""
    corners = np.array([[[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]])
    found = messages.from_above(Table(1, (0,), corners, (None,)), [off_by(0.0, [1.0, 1e-7])], AMPLE)
    shares = found.vectors[:, 0] / found.vectors.sum(axis=1)
    assert shares.max() - shares.min() == pytest.approx(1e-7, rel=1e-3)
