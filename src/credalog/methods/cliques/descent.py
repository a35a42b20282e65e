"""Trust-region descent by sequential linear programming, for whoever can solve a linearized program.

Input: a start, a step that stays within a radius, and a merit to be lowered. Output: the points met on the
way, each better than the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from credalog.numbers.budget import Budget

__all__ = ["descend"]

P = TypeVar("P")

FIRST_RADIUS = 0.5
"""How far the first step may go; no ratio ever moves by more than one."""

SHRINKAGE = 0.2
"""What is left of the radius after a step that did not help; one that did doubles it."""

SMALLEST_RADIUS = 1e-7
"""A descent whose steps have become smaller than this has converged."""


def descend(
    start: P,
    *,
    step: Callable[[P, float], P | None],
    merit: Callable[[P], float],
    steps: int,
    budget: Budget,
    least_gain: float = 1e-12,
) -> Iterator[P]:
    """Yield the start and every better point, until steps, radius or time are used up."""
    here, radius = start, FIRST_RADIUS
    yield here
    for _ in range(steps):
        if radius < SMALLEST_RADIUS or budget.is_spent:
            return
        there = step(here, radius)
        if there is not None and merit(here) - merit(there) > least_gain:
            here, radius = there, min(1.0, 2.0 * radius)
            yield here
        else:
            radius *= SHRINKAGE
