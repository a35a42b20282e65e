"""Bounds on the score of a posterior, in fractions and without any tolerance: none is inside by a last digit.

The networks are so small that the greatest score is a sum over a few worlds at a few vertices. Steps of the
bounds are tried by themselves as well: where each leaves room for its own roundings, and for those of others
as it happens, one that does not is not seen at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from credalog.methods.vertices import differences, first_order
from credalog.methods.vertices.differences import Differences, _Message
from credalog.methods.vertices.interval_slopes import Boxes, Ends, Layout, upward
from credalog.numbers.budget import Budget
from credalog.tables.cones import Array
from credalog.tables.interval_sets import interval_vertices

AMPLE = Budget.of()
TINY = 1e-200
"""The product of two such numbers is none that a float can be."""


def exact(values: Array) -> np.ndarray:
    """Return floats as the fractions they are."""
    found = np.empty(values.shape, dtype=object)
    for place in np.ndindex(*values.shape):
        found[place] = Fraction(float(values[place]))
    return found


def alone(boxes: Boxes) -> Boxes:
    """Give tables an axis for the single node they are of."""
    return {x: (low[None], high[None]) for x, (low, high) in boxes.items()}


def apart(layout: Layout, boxes: Boxes, event: Array, trial: float) -> float:
    """Bound the score where contexts choose apart."""
    return float(upward(layout, alone(boxes), event, trial, AMPLE).total(layout)[1][0])


def by_differences(layout: Layout, boxes: Boxes, event: Array, trial: float) -> float:
    """Bound the score by what cells differ by."""
    return Differences(layout, boxes, event).greatest(trial, AMPLE)


def to_first_order(layout: Layout, boxes: Boxes, event: Array, trial: float) -> float:
    """Bound the score by what is linear in all tables, and an error."""
    passed = upward(layout, alone(boxes), event, trial, AMPLE)
    return first_order.greatest(layout, alone(boxes), passed, AMPLE)


Bound = Callable[[Layout, Boxes, Array, float], float]
every_bound = pytest.mark.parametrize("bound", [apart, by_differences, to_first_order])


def signs(count: int, values: int) -> Layout:
    """Lay out a root, which is asked for, and observed children of it, each of two values."""
    parents: dict[int, tuple[int, ...]] = {0: (), **dict.fromkeys(range(1, count + 1), (0,))}
    observed = dict.fromkeys(range(1, count + 1), 1)
    return Layout.of(0, parents, observed, (values, *[2] * count), [0])


def vertices(low: Array, high: Array) -> Iterator[np.ndarray]:
    """Yield the vertices of all blocks of a table together, in fractions."""
    blocks = list(np.ndindex(*low.shape[:-1]))
    choices = [interval_vertices([*exact(low[b])], [*exact(high[b])], most=99) or () for b in blocks]
    for chosen in product(*choices):
        table = np.empty(low.shape, dtype=object)
        for block, vertex in zip(blocks, chosen, strict=True):
            table[block] = vertex
        yield table


def greatest_score(boxes: Boxes, event: Array, trial: float) -> Fraction:
    """Return the greatest P(event, signs) - trial P(signs) at any vertex."""
    return max(
        sum(
            (
                p * prod(table[value, 1] for table in others) * (Fraction(float(e)) - Fraction(trial))
                for value, (p, e) in enumerate(zip(root, event, strict=True))
            ),
            Fraction(0),
        )
        for root, *others in product(*(list(vertices(*boxes[x])) for x in sorted(boxes)))
    )


def fine(rng: np.random.Generator, blocks: int) -> Array:
    """Draw distributions over two values that add up to one to the last digit."""
    first = rng.integers(1, 1 << 52, blocks) / float(1 << 52)
    return np.stack([1.0 - first, first], axis=-1)


@every_bound
def test_no_table_of_numbers_scores_more_than_its_bound(bound: Bound) -> None:
    """Nothing is left to choose: what is computed and what is true differ by roundings alone."""
    rng, event = np.random.default_rng(1), np.array([0.0, 1.0])
    layout = signs(2, 2)
    for _ in range(200):
        tables = {0: fine(rng, 1)[0], 1: fine(rng, 2), 2: fine(rng, 2)}
        boxes = {x: (table, table) for x, table in tables.items()}
        trial = float(rng.random())
        assert greatest_score(boxes, event, trial) <= Fraction(bound(layout, boxes, event, trial))


@every_bound
@pytest.mark.parametrize("count", [1, 2, 3])
def test_no_vertex_scores_more_than_its_bound_where_messages_vary_together(bound: Bound, count: int) -> None:
    """The product of what two wide tables vary by is no small part of the score."""
    rng, event = np.random.default_rng(2), np.array([0.0, 1.0])
    layout = signs(count, 2)
    for _ in range(30 if count < 3 else 3):
        boxes = {}
        for x in range(count + 1):
            low, high = np.sort(rng.random((2, 1 if x == 0 else 2)), axis=0)
            boxes[x] = np.stack([1.0 - high, low], axis=-1), np.stack([1.0 - low, high], axis=-1)
        boxes[0] = boxes[0][0][0], boxes[0][1][0]
        for trial in (0.0, float(rng.random()) / 10.0, float(rng.random())):
            assert greatest_score(boxes, event, trial) <= Fraction(bound(layout, boxes, event, trial))


@every_bound
def test_what_a_rare_value_may_have_is_not_lost_among_the_roundings_of_the_others(bound: Bound) -> None:
    """It may have what two others leave, the difference of numbers near one; and it alone counts."""
    rng, event = np.random.default_rng(3), np.array([0.0, 0.0, 1.0])
    layout, seen = signs(1, 3), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for _ in range(100):
        first = float(rng.random()) / 3.0
        second = 1.0 - first - 1e-9 * float(rng.random())
        low, high = np.array([first, second, 0.0]), np.array([1.0, 1.0, 1e-6])
        boxes = {0: (low, high), 1: (seen, seen)}
        left = 1 - Fraction(first) - Fraction(second)
        assert greatest_score(boxes, event, 0.0) == left
        assert left <= Fraction(bound(layout, boxes, event, 0.0))


# --- The steps of `differences` --------------------------------------------------------------------------


def told(values: Array) -> _Message:
    """Return a message of one variable whose cells are known, and how they differ."""
    return _Message((0,), values, values, {0: values[:, None] - values[None, :]})


def coarse(rng: np.random.Generator, count: int, scale: float = 1.0) -> Array:
    """Draw numbers of thirty binary digits: what they differ by is a float, too."""
    return scale * (rng.integers(1, 1 << 30, count) / float(1 << 30))


def differences_of(cells: np.ndarray) -> np.ndarray:
    return np.asarray(cells[:, None] - cells[None, :])


def test_what_cells_differ_by_is_rounded_down() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        cells = rng.random(4) * 10.0 ** rng.integers(-3, 3, 4)
        found = differences._directly((0,), cells, cells, 0)
        assert (exact(found) <= differences_of(exact(cells))).all()


@pytest.mark.parametrize("scale", [1.0, TINY])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_products_of_messages_are_rounded_outwards(sign: float, scale: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        one, other = sign * coarse(rng, 3, scale), coarse(rng, 3, scale)
        found, truth = differences._product(told(one), told(other)), exact(one) * exact(other)
        assert (exact(found.low) <= truth).all() and (truth <= exact(found.high)).all()
        assert (exact(found.apart[0]) <= differences_of(truth)).all()


def test_the_least_sum_over_a_variable_is_rounded_down() -> None:
    rng = np.random.default_rng(6)
    for _ in range(200):
        theta, values = fine(rng, 1)[0], rng.normal(size=2)
        found = differences._least_sum((theta, theta), values)
        assert Fraction(float(found)) <= sum(exact(theta) * exact(values))


def test_the_least_sum_is_rounded_down_where_a_share_of_it_is_nothing_to_a_float() -> None:
    """Three fifths of the least number there is are rounded up to the whole of it."""
    theta, least = np.array([0.6, 0.4]), float(np.nextafter(0.0, 1.0))
    found = differences._least_sum((theta, theta), np.array([least, 0.0]))
    assert Fraction(float(found)) <= Fraction(0.6) * Fraction(least)


def test_a_cell_is_narrowed_by_a_neighbour_up_to_roundings() -> None:
    """The second cell is known, and how far the first is from it: nothing else is."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        known, off = float(rng.random()), float(rng.normal())
        between = np.array([[0.0, off], [-off, 0.0]])
        message = _Message((0,), np.array([-9.0, known]), np.array([9.0, known]), {0: between})
        found, truth = message.closer(), Fraction(known) + Fraction(off)
        assert Fraction(float(found.low[0])) <= truth <= Fraction(float(found.high[0]))


def test_the_score_of_a_value_is_rounded_outwards() -> None:
    rng, event = np.random.default_rng(8), np.array([0.0, 1.0])
    for trial in rng.random(100) / 2.0:
        found = Differences(signs(1, 2), {}, event)._score(float(trial))
        truth = exact(event) - Fraction(float(trial))
        assert (exact(found.low) <= truth).all() and (truth <= exact(found.high)).all()


@pytest.mark.parametrize("scale", [1.0, TINY])
def test_what_it_makes_that_a_distribution_shifts_is_rounded_down(scale: float) -> None:
    """Shifts that add up to nothing meet differences of cells: the first may as well have none."""
    rng, nowhere = np.random.default_rng(9), (np.zeros(0), np.zeros(0))
    for _ in range(200):
        cells, shift = coarse(rng, 2, scale), float(rng.random()) * scale
        message, moved = told(cells), np.array([-shift, shift])
        found = differences._Sum((0,), (0,), nowhere, message, message, message)
        least = found._moved((0,), (0,), (moved, moved))
        assert Fraction(float(least)) <= sum(exact(moved) * exact(cells))


def test_a_trial_counts_as_proved_only_where_no_table_passes_it_at_all() -> None:
    """P(x | e) is at most 5/7; a trial that is too small by a millionth of that is not proved."""
    low, high = np.array([0.4, 0.4]), np.array([0.6, 0.6])
    signed = np.array([[0.5, 0.3], [0.5, 0.3]]), np.array([[0.7, 0.5], [0.7, 0.5]])
    boxes, event = {0: (low, high), 1: signed}, np.array([0.0, 1.0])
    truth, bounds = 5.0 / 7.0, Differences(signs(1, 2), boxes, event)
    for short in (1e-4, 1e-6, 1e-8):
        found = bounds.proved(truth - short, 1.0, gap=short / 2.0, budget=AMPLE)
        assert Fraction(found) >= greatest_quotient(boxes)


def greatest_quotient(boxes: Boxes) -> Fraction:
    """Return the greatest P(x | e) at any vertex."""
    found = list[Fraction]()
    for root, sign in product(vertices(*boxes[0]), vertices(*boxes[1])):
        inside, outside = root[1] * sign[1, 1], root[0] * sign[0, 1]
        found.append(inside / (inside + outside))
    return max(found)


# --- The steps of `first_order` --------------------------------------------------------------------------


def form(scope: tuple[int, ...], centre: Array) -> first_order._Form:
    """Return a message that depends on nothing, known to the last digit."""
    return first_order._constant(scope, centre)


def passing(box: Ends) -> tuple[first_order._Pass, first_order._Family]:
    """Return a pass over one family."""
    layout, family = signs(0, 2), first_order._Family.of((0,), box)
    passed = upward(layout, alone({0: box}), np.array([0.0, 1.0]), 0.5, AMPLE)
    return first_order._Pass(layout, {0: family}, passed), family


POINT = np.array([0.25, 0.75])


def test_the_rounding_of_a_product_is_part_of_its_error() -> None:
    rng, (way, _) = np.random.default_rng(10), passing((POINT, POINT))
    for scale in (1.0, TINY):
        one, other = rng.normal(size=(2, 100)) * scale
        found = way._times(form((0,), one), form((0,), other))
        off = abs(exact(found.centre) - exact(one) * exact(other))
        assert (off <= exact(found.error)).all()


def test_the_errors_of_two_factors_are_part_of_that_of_their_product() -> None:
    """Each factor may be off by all that it depends on and by its error: so may their product."""
    rng, (way, _) = np.random.default_rng(11), passing((POINT, POINT))
    for _ in range(200):
        centre, linear, error = rng.normal(size=2), rng.random(2), rng.random(2)
        first, second = (
            first_order._Form((), centre[i], linear[i], error[i], linear[i, None], (i,), np.ones(1))
            for i in (0, 1)
        )
        found = way._times(first, second)
        for near, far in product((-1, 1), repeat=2):
            for miss, fail in product((-1, 1), repeat=2):
                one = Fraction(centre[0]) + near * Fraction(linear[0]) + miss * Fraction(error[0])
                other = Fraction(centre[1]) + far * Fraction(linear[1]) + fail * Fraction(error[1])
                along = exact(found.part)
                told = Fraction(float(found.centre)) + near * along[0] + far * along[1]
                assert abs(one * other - told) <= Fraction(float(found.error))


def test_the_rounding_of_a_sum_is_part_of_its_error() -> None:
    rng = np.random.default_rng(12)
    for _ in range(200):
        theta, met = fine(rng, 1)[0], rng.normal(size=2)
        way, family = passing((theta, theta))
        found = way._summed(family, form((0,), met))
        off = abs(Fraction(float(found.centre)) - sum(exact(theta) * exact(met)))
        assert off <= Fraction(float(found.error))


def test_an_error_below_is_weighed_with_the_greatest_distribution() -> None:
    """What meets the first value is known up to one: a distribution may give it more than it must."""
    low, high = np.array([0.2, 0.4]), np.array([0.6, 0.8])
    way, family = passing((low, high))
    met = replace(form((0,), np.zeros(2)), error=np.array([1.0, 0.0]))
    assert Fraction(float(way._summed(family, met).error)) >= Fraction(0.6)


def test_an_interval_in_the_place_of_a_form_holds_both_its_ends() -> None:
    rng, (way, _) = np.random.default_rng(13), passing((POINT, POINT))
    for _ in range(200):
        low, high = np.sort(rng.normal(size=2))
        way._passed.messages[0] = np.array([low]), np.array([high])  # type: ignore[index]
        loose = replace(form((), np.zeros(())), error=np.full((), 99.0))
        found = way._closer(loose, 0)
        centre, error = Fraction(float(found.centre)), Fraction(float(found.error))
        assert centre - error <= Fraction(low) and Fraction(high) <= centre + error


def test_an_interval_that_takes_the_place_of_a_form_is_not_as_narrow_as_its_error() -> None:
    """What is all linear has no error, but its distances are forgotten with it."""
    way, _ = passing((POINT, POINT))
    way._passed.messages[0] = np.array([0.25]), np.array([0.5])  # type: ignore[index]
    linear = first_order._Form(
        (), np.zeros(()), np.full((), 1e9), np.zeros(()), np.full(1, 1e9), (0,), np.ones(1)
    )
    found = way._closer(linear, 0)
    assert found.linear == 0.0 and not found.part.any()
    assert float(found.centre - found.error) <= 0.25 and float(found.centre + found.error) >= 0.5


def test_what_three_values_gain_is_rounded_up() -> None:
    """Their middle is much larger than the distances from it, and so is its rounding."""
    rng = np.random.default_rng(17)
    for _ in range(200):
        first, second, width = float(rng.random()) / 3.0, float(rng.random()) / 3.0, 1e-8
        low = np.array([first, second, 1.0 - first - second - width])
        box = low, low + width
        family = first_order._Family.of((0,), box)
        way = passing((POINT, POINT))[0]
        way._families = {0: family}
        part = rng.normal(size=len(family.radii))
        linear = np.asarray(np.abs(part) @ family.radii)
        found = first_order._Form((), np.zeros(()), linear, np.zeros(()), part, (0,), family.radii)
        weights, middle = exact(family.signs @ part), exact(family.middle)
        gains = [((vertex - middle) * weights).sum() for vertex in vertices(*box)]
        assert Fraction(way._most(found)) >= max(gains)


def test_the_greatest_value_of_a_form_is_rounded_up() -> None:
    rng, (way, _) = np.random.default_rng(14), passing((POINT, POINT))
    for _ in range(200):
        centre, error = float(rng.normal()), float(rng.random())
        found = replace(form((), np.full((), centre)), error=np.full((), error))
        assert Fraction(way._most(found)) >= Fraction(centre) + Fraction(error)


def test_the_tables_of_a_family_hold_every_distribution_and_no_distance_is_too_short() -> None:
    rng = np.random.default_rng(15)
    for _ in range(100):
        first = float(rng.random()) / 3.0
        second = 1.0 - first - 1e-9 * float(rng.random())
        box = np.array([first, second, 0.0]), np.array([1.0, 1.0, 1e-6])
        family = first_order._Family.of((0,), box)
        middle, radius = exact(family.middle), exact(family.radius)
        for vertex in vertices(*box):
            assert (exact(family.box[0]) <= vertex).all() and (vertex <= exact(family.box[1])).all()
            assert (abs(vertex - middle) <= radius).all()
        assert abs(1 - sum(middle)) <= Fraction(float(family.missing))


def test_the_score_of_a_value_is_known_up_to_its_error() -> None:
    layout, event = signs(0, 2), np.array([0.0, 1.0])
    box = {0: (POINT[None], POINT[None])}
    for trial in (np.random.default_rng(16).random(100) / 2.0).tolist():
        passed = upward(layout, box, event, trial, AMPLE)
        family = first_order._Family.of((0,), (POINT, POINT))
        found = first_order._Pass(layout, {0: family}, passed)._met(layout.steps[0])
        truth = exact(event) - Fraction(trial)
        assert (abs(truth - exact(found.centre)) <= exact(found.error)).all()
        # What is computed lies at one end of an interval: without it, it is no number that holds.
        assert (found.error > 0.0).all()
