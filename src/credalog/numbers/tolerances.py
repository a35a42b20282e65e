"""When a bound and an attained value are close enough, and how far a model may be from its constraints.

Input: a tolerance asked for, and a value. Output: the gap that may be left there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import copysign, inf, isinf
from typing import TypeAlias

__all__ = ["FEASIBILITY", "PROBABILITY", "TOLERANCE", "Gap", "Scale", "absolute_gap", "allowed_gap"]

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


# ---- what an interval is of -------------------------------------------------------------------------------
# What an interval is of: between which numbers it can lie at all, and how close is close enough.
# Input: the limits of a quantity. Output: `Scale`, which a probability, a sum of probabilities and a
# quotient each have their own of.

TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Scale:
    """The numbers that no model passes, whatever is said, and the unit of the tolerance.

    Without a unit it is a probability, whose tolerance is finer where the event is rare. With one, a gap may
    be as many tolerances wide; a quotient has no limit, and its gap is relative beyond one unit.
    """

    least: float = 0.0
    greatest: float = 1.0
    unit: float | None = None

    def allowed_gap(self, tolerance: float, value: float) -> float:
        """Return the gap that counts as closed at a value."""
        if self.unit is None:
            return allowed_gap(tolerance, value)
        return tolerance * (max(self.unit, abs(value)) if self.greatest == inf else self.unit)

    def position(self, value: float) -> float:
        """Return where a value is drawn on a bar from 0 to 1; what has no limit is squeezed."""
        if self.greatest < inf:
            return (value - self.least) / max(self.greatest - self.least, TINY)
        squeezed = copysign(1.0, value) if isinf(value) else value / (1.0 + abs(value))
        return squeezed if self.least >= 0.0 else (1.0 + squeezed) / 2.0

    def __str__(self) -> str:
        return f"{self.least:g} … {self.greatest:g}"


PROBABILITY = Scale()
