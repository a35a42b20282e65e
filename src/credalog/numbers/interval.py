"""Numbers with their warranty: endpoints and intervals.

Input: plain floats from solvers and checkers. Output: `Interval`, whose two `Endpoint`s say what is proved,
what is attained, and on whose word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf
from typing import Any

from credalog.numbers.printed import Printed, plain
from credalog.numbers.tolerances import PROBABILITY, TOLERANCE, Scale

__all__ = ["VACUOUS", "End", "Endpoint", "Interval", "Status", "Warrant", "vacuous"]


class Warrant(Enum):
    """Say on whose word a bound stands."""

    CHECKED = "proved by our own checker, rounding outwards"
    CLAIMED = "a solver's word, in floating point"
    HEURISTIC = "no guarantee"

    @classmethod
    def weakest(cls, warrants: Iterable[Warrant]) -> Warrant:
        """Return on whose word a bound stands that rests on several; on none it needs nobody's."""
        order = list(cls)
        return max(warrants, key=order.index, default=cls.CHECKED)


class Status(Enum):
    """Say how an answer ended."""

    EXACT = "both ends are attained within the tolerance"
    BOUNDED = "the interval holds for every model, but may be wider than the truth"
    APPROXIMATE = "a heuristic method's estimate, neither a bound nor attained"
    UNDECIDED = "the limits were reached before anything could be said"


class End(Enum):
    """Say which end of an interval is meant."""

    LOWER = "lower"
    UPPER = "upper"

    @property
    def sign(self) -> float:
        """Return the factor that turns the search for this end into a minimization."""
        return 1.0 if self is End.LOWER else -1.0

    @property
    def trivial(self) -> float:
        """Return what bounds any probability at this end."""
        return self.limit(PROBABILITY)

    def limit(self, scale: Scale) -> float:
        """Return what bounds any quantity of a scale at this end."""
        return scale.least if self is End.LOWER else scale.greatest

    @property
    def opposite(self) -> End:
        """Return the other end."""
        return End.UPPER if self is End.LOWER else End.LOWER

    def is_tighter(self, bound: float, other: float) -> bool:
        """Tell whether one bound says more than another."""
        return bound > other if self is End.LOWER else bound < other

    def tightest(self, bounds: Iterable[float]) -> float:
        """Return the bound that says most."""
        return max(bounds) if self is End.LOWER else min(bounds)

    def is_farther(self, value: float, other: float) -> bool:
        """Tell whether one attained value lies nearer to this end of the truth than another."""
        return value < other if self is End.LOWER else value > other


@dataclass(frozen=True, slots=True, repr=False)
class Endpoint(Printed):
    """One end of an interval: the bound nothing passes, and the value some model attains.

    `witnessed` is None where no model was found yet; `model` is the model that attains it, where it is kept.
    """

    bound: float
    witnessed: float | None
    warrant: Warrant
    model: Any = field(default=None, compare=False, repr=False)

    @classmethod
    def trivial(cls, end: End, scale: Scale = PROBABILITY) -> Endpoint:
        """Return what is known of a quantity before any work."""
        return cls(end.limit(scale), None, Warrant.CHECKED)

    @property
    def is_checked(self) -> bool:
        """Tell whether the bound is proved by our own checker."""
        return self.warrant is Warrant.CHECKED

    @property
    def gap(self) -> float:
        """Return how far the bound may be from the truth."""
        if self.bound == self.witnessed:
            # Both may be infinite.
            return 0.0
        return inf if self.witnessed is None else abs(self.bound - self.witnessed)

    def __str__(self) -> str:
        attained = "not attained yet" if self.witnessed is None else f"attained {self.witnessed:.9g}"
        return f"{self.bound:.9g} ({self.warrant.name.lower()}, {attained})"

    def to_dict(self) -> dict[str, Any]:
        """Return the bound, the attained value and the warrant."""
        return {"bound": self.bound, "witnessed": self.witnessed, "warrant": self.warrant.name}

    def is_closed(self, tolerance: float, scale: Scale = PROBABILITY) -> bool:
        """Tell whether bound and witness meet within the tolerance, relative for a rare event."""
        return self.witnessed is not None and self.gap <= scale.allowed_gap(tolerance, self.witnessed)

    def joined(self, other: Endpoint, end: End) -> Endpoint:
        """Return the tighter bound with its warrant, and the value attained farther out with its model."""
        bounding = self
        if end.is_tighter(other.bound, self.bound):
            bounding = other
        elif other.bound == self.bound:
            bounding = min(self, other, key=lambda endpoint: list(Warrant).index(endpoint.warrant))
        attaining = self
        if other.witnessed is not None and (
            self.witnessed is None or end.is_farther(other.witnessed, self.witnessed)
        ):
            attaining = other
        return Endpoint(bounding.bound, attaining.witnessed, bounding.warrant, attaining.model)

    def as_end(self, end: End, scale: Scale = PROBABILITY) -> Endpoint:
        """Return the endpoint with its value on the inner side of its bound, and no claim of the obvious.

        A model satisfies its sentences up to the last digits, so it may pass a proved bound by as much.
        That a probability is at least 0 and at most 1 needs nobody's word.
        """
        found = self
        if self.witnessed is not None and end.is_farther(self.witnessed, self.bound):
            found = replace(found, witnessed=self.bound)
        if self.warrant is Warrant.CLAIMED and not end.is_tighter(self.bound, end.limit(scale)):
            found = replace(found, warrant=Warrant.CHECKED)
        return found

    def short_of(self, other: Endpoint, end: End) -> Endpoint:
        """Return the endpoint with its value on the inner side of the other end's bound."""
        if self.witnessed is None or not end.is_farther(other.bound, self.witnessed):
            return self
        return replace(self, witnessed=other.bound)


@dataclass(frozen=True, slots=True, repr=False)
class Interval(Printed):
    """The lower and the upper end of a quantity; no attained value is outside the bounds."""

    lower: Endpoint
    upper: Endpoint
    scale: Scale = field(default=PROBABILITY, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", self.lower.as_end(End.LOWER, self.scale))
        object.__setattr__(self, "upper", self.upper.as_end(End.UPPER, self.scale))
        if not self.is_empty:
            # What attains one end may pass the other by the last digits, too, where the interval is a point.
            lower, upper = (
                self.lower.short_of(self.upper, End.LOWER),
                self.upper.short_of(self.lower, End.UPPER),
            )
            object.__setattr__(self, "lower", lower)
            object.__setattr__(self, "upper", upper)

    def __getitem__(self, end: End) -> Endpoint:
        return self.lower if end is End.LOWER else self.upper

    def __iter__(self) -> Iterator[float]:
        """Yield both bounds, as in `low, high = answer.interval`."""
        yield from (self.lower.bound, self.upper.bound)

    def __contains__(self, number: float) -> bool:
        """Tell whether a number lies between the bounds, both included."""
        return self.lower.bound <= number <= self.upper.bound

    @property
    def is_empty(self) -> bool:
        """Tell whether the bounds have crossed: where both are proved, there is no model."""
        return self.lower.bound > self.upper.bound

    def status(self, tolerance: float = TOLERANCE) -> Status:
        """Judge the interval against the tolerance asked for."""
        if Warrant.HEURISTIC in (self.lower.warrant, self.upper.warrant):
            return Status.APPROXIMATE
        closed = all(self[end].is_closed(tolerance, self.scale) for end in End)
        return Status.EXACT if closed else Status.BOUNDED

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
            **(
                {}
                if self.scale == PROBABILITY
                else {"least": self.scale.least, "greatest": self.scale.greatest}
            ),
        }

    def _repr_html_(self) -> str:
        from credalog.show.html import Bar, as_html

        return as_html([Bar("", self)])

    def joined(self, other: Interval) -> Interval:
        """Return what two intervals say together, end by end."""
        ends = (self[end].joined(other[end], end) for end in End)
        return Interval(*ends, scale=self.scale)

    def learning(self, endpoint: Endpoint, end: End) -> Interval:
        """Return the interval with what was found of one end joined in."""
        found = self[end].joined(endpoint, end)
        return replace(self, lower=found) if end is End.LOWER else replace(self, upper=found)


def vacuous(scale: Scale) -> Interval:
    """Return what is known of a quantity before any work."""
    return Interval(*(Endpoint.trivial(end, scale) for end in End), scale=scale)


VACUOUS = Interval(Endpoint.trivial(End.LOWER), Endpoint.trivial(End.UPPER))
"""What is known of a probability before any work: it lies between 0 and 1."""
