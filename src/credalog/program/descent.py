"""Descent in a trust region: steps within a radius that grows while they help, and shrinks where they do not.

Input: a start, the best step within a radius, usually that of a linear program, and the merit of a place,
less being better. Output: the places where the descent stands, step by step. Whoever walks leaves the loop
when that is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Radii", "descent"]

P = TypeVar("P")

GROWTH, SHRINKAGE = 2.0, 0.25
"""How the radius changes with a step that helps, and with one that does not."""


@dataclass(frozen=True, slots=True)
class Radii:
    """The radius of the first step, the smallest and the largest one that is tried."""

    first: float
    smallest: float
    largest: float = 1.0


def descent(
    start: P,
    step: Callable[[P, float], P | None],
    merit: Callable[[P], float],
    *,
    steps: int,
    radii: Radii,
    gain: float,
) -> Iterator[P]:
    """Yield the start, and after each step that was tried the place that is stood on.

    A place is left for one whose merit is less by more than `gain`. The descent ends where there is no step.
    """
    here, worth, radius = start, merit(start), radii.first
    yield here
    for _ in range(steps):
        there = step(here, radius) if radius >= radii.smallest else None
        if there is None:
            return
        if worth - (ahead := merit(there)) > gain:
            here, worth, radius = there, ahead, min(radii.largest, GROWTH * radius)
        else:
            radius *= SHRINKAGE
        yield here
