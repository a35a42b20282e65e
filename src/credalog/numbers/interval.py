"""Numbers with their warranty: endpoints and intervals.

Enters: plain floats from solvers and checkers. Leaves: `Interval`, whose two `Endpoint`s say what is
proved, what is attained, and on whose word.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf

from credalog.numbers.tolerances import TOLERANCE

__all__ = ["Endpoint", "Interval", "Status", "VACUOUS", "Warrant"]


class Warrant(Enum):
    """Say on whose word a bound stands."""

    CHECKED = "proved by our own checker, rounding outwards"
    CLAIMED = "a solver's word, in floating point"
    HEURISTIC = "no guarantee"


class Status(Enum):
    """Say how an answer ended."""

    EXACT = "both ends are attained within the tolerance"
    BOUNDED = "the interval holds for every model, but may be wider than the truth"
    APPROXIMATE = "a heuristic method's estimate, neither a bound nor attained"
    UNDECIDED = "the limits were reached before anything could be said"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One end of an interval: the bound nothing passes, and the value some model attains.

    `witnessed` is None where no model was found yet.
    """

    bound: float
    witnessed: float | None
    warrant: Warrant

    @property
    def gap(self) -> float:
        """Return how far the bound may be from the truth."""
        return inf if self.witnessed is None else abs(self.bound - self.witnessed)


@dataclass(frozen=True, slots=True)
class Interval:
    """The lower and the upper end of a probability."""

    lower: Endpoint
    upper: Endpoint

    def status(self, tolerance: float = TOLERANCE) -> Status:
        """Judge the interval against the tolerance asked for."""
        if Warrant.HEURISTIC in (self.lower.warrant, self.upper.warrant):
            return Status.APPROXIMATE
        closed = max(self.lower.gap, self.upper.gap) <= tolerance
        return Status.EXACT if closed else Status.BOUNDED


VACUOUS = Interval(Endpoint(0.0, None, Warrant.CHECKED), Endpoint(1.0, None, Warrant.CHECKED))
"""What is known of a probability before any work: it lies between 0 and 1."""
