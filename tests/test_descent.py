"""The descent in a trust region: held to what its radii must be, step by step, on functions of one number."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from credalog.program.descent import Radii, descent


def downhill(asked: list[float]) -> Callable[[float, float], float]:
    """Step as far towards zero as the radius allows, and note the radius."""

    def step(here: float, radius: float) -> float:
        asked.append(radius)
        return here - radius

    return step


def test_the_radius_doubles_with_steps_that_help_up_to_the_largest() -> None:
    asked: list[float] = []
    step = downhill(asked)
    places = list(descent(100.0, step, abs, steps=5, radii=Radii(1.0, 0.1, largest=4.0), gain=0.0))
    assert asked == [1.0, 2.0, 4.0, 4.0, 4.0]
    assert places == [100.0, 99.0, 97.0, 93.0, 89.0, 85.0]


def test_a_step_that_does_not_help_is_not_taken_and_the_next_is_a_quarter_as_long() -> None:
    asked: list[float] = []
    step = downhill(asked)
    places = list(descent(0.25, step, abs, steps=9, radii=Radii(1.0, 0.2), gain=0.0))
    # By 1 to -0.75 is worse, by 0.25 to 0 is better; from there nothing is, until radii end below 0.2.
    assert asked == [1.0, 0.25, 0.5]
    assert places == [0.25, 0.25, 0.0, 0.0]


@pytest.mark.parametrize("gain", [0.0, 0.5])
def test_a_place_is_left_for_one_that_is_better_by_more_than_the_least_gain(gain: float) -> None:
    def step(here: float, radius: float) -> float:
        return here - 0.25

    places = list(descent(3.0, step, float, steps=3, radii=Radii(1.0, 0.01), gain=gain))
    assert len(set(places)) == (1 if gain else 4)


def test_a_descent_ends_where_there_is_no_step() -> None:
    def step(here: int, radius: float) -> int | None:
        return None if here == 1 else here - 1

    assert list(descent(3, step, float, steps=9, radii=Radii(1.0, 0.5), gain=0.0)) == [3, 2, 1]


def test_merits_never_rise_on_a_function_with_many_valleys() -> None:
    def merit(place: float) -> float:
        return (place - 3.0) ** 2 + 2.0 * abs(place % 1.0 - 0.5)

    def step(here: float, radius: float) -> float:
        return here + radius * (1.0 if merit(here + 1e-6) < merit(here) else -1.0)

    places = list(descent(0.2, step, merit, steps=40, radii=Radii(1.0, 1e-6), gain=1e-9))
    assert all(merit(after) <= merit(before) for before, after in pairwise(places))
    assert merit(places[-1]) < merit(places[0])
