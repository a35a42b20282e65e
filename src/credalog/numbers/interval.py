"""Numbers with their warranty: endpoints and intervals.

Enters: plain floats from solvers and checkers. Leaves: `Interval`, whose two `Endpoint`s say what is
proved, what is attained, and on whose word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from math import inf
from typing import Any

from credalog.numbers.decimals import plain
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

    def with_certain_ends(self) -> Interval:
        """Return the interval with 0 as a lower and 1 as an upper bound proved, which need nobody's word."""
        lower, upper = self.lower, self.upper
        if lower.warrant is Warrant.CLAIMED and lower.bound <= 0.0:
            lower = replace(lower, warrant=Warrant.CHECKED)
        if upper.warrant is Warrant.CLAIMED and upper.bound >= 1.0:
            upper = replace(upper, warrant=Warrant.CHECKED)
        return Interval(lower, upper)

    def __str__(self) -> str:
        return f"[{plain(self.lower.bound, down=True)}, {plain(self.upper.bound, down=False)}]"

    def to_dict(self) -> dict[str, Any]:
        """Return both ends, what attains them, and on whose word they stand."""
        return {
            "lower": self.lower.bound,
            "upper": self.upper.bound,
            "lower_witnessed": self.lower.witnessed,
            "upper_witnessed": self.upper.witnessed,
            "lower_warrant": self.lower.warrant.name,
            "upper_warrant": self.upper.warrant.name,
        }

    def _repr_html_(self) -> str:
        from credalog.show.html import Bar, as_html

        return as_html([Bar("", self)])


VACUOUS = Interval(Endpoint(0.0, None, Warrant.CHECKED), Endpoint(1.0, None, Warrant.CHECKED))
"""What is known of a probability before any work: it lies between 0 and 1."""
