"""What an interval is of: between which numbers it can lie at all, and how close is close enough.

Input: the limits of a quantity. Output: `Scale`, which a probability, a sum of probabilities and a quotient
each have their own of.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, inf, isinf

from credalog.numbers.tolerances import allowed_gap

__all__ = ["PROBABILITY", "Scale"]


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
