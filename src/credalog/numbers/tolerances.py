"""When a bound and an attained value are close enough, and how far a model may be from its constraints.

Input: a tolerance asked for, and a value. Output: the gap that may be left there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["FEASIBILITY", "TOLERANCE", "Gap", "absolute_gap", "allowed_gap"]

Gap: TypeAlias = Callable[[float, float], float]
"""Whoever gives the gap that may be left at a value, from the tolerance."""

TOLERANCE = 1e-4
"""The largest gap between bound and witness at which an answer is called EXACT, unless told otherwise."""

RELATIVE = 10.0
"""Of a probability p the gap may be no more than this many tolerances times p, or times 1 - p."""

FEASIBILITY = 1e-9
"""How far a re-checked witness may be from satisfying a constraint on probabilities."""


def allowed_gap(tolerance: float, value: float) -> float:
    """Return the gap that counts as closed at a value: absolute, or relative where the event is rare.

    With the default tolerance that is 0.0001 between 0.1 and 0.9, and three significant digits of p or of
    1 - p beyond; never finer than a witness is checked.
    """
    rarity = max(0.0, min(value, 1.0 - value))
    return min(tolerance, max(RELATIVE * tolerance * rarity, FEASIBILITY))


def absolute_gap(tolerance: float, value: float) -> float:
    """Return the tolerance itself, for whoever has made it relative already."""
    return tolerance
