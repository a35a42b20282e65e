"""Time to spend: one deadline, shares of what is left of it, and a way to call the work off.

Input: a number of seconds. Output: `Budget`, which every loop asks whether it may go on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from threading import Event
from time import monotonic

__all__ = ["Budget", "OutOfTime"]

SHORTEST = 0.05
"""The least number of seconds that a solver is given: what it does not finish, its caller sees in time."""


class OutOfTime(Exception):
    """The budget was spent before a computation that cannot stop half-way was done."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A deadline on the monotonic clock, when the work began, and whether somebody has called it off."""

    deadline: float
    start: float = field(default_factory=monotonic)
    stopped: Event = field(default_factory=Event, compare=False, repr=False)

    @classmethod
    def of(cls, seconds: float = inf) -> Budget:
        """Return a budget that begins now."""
        now = monotonic()
        return cls(now + seconds, now)

    @property
    def elapsed(self) -> float:
        """Return the seconds since the work began."""
        return monotonic() - self.start

    @property
    def remaining(self) -> float:
        """Return the seconds that are left."""
        return 0.0 if self.stopped.is_set() else max(0.0, self.deadline - monotonic())

    @property
    def is_spent(self) -> bool:
        """Tell whether to stop."""
        return self.stopped.is_set() or monotonic() >= self.deadline

    @property
    def for_solver(self) -> float:
        """Return the seconds for one call of a solver, which needs a moment to say anything."""
        return max(self.remaining, SHORTEST)

    def share(self, part: float, *, least: float = 0.0) -> Budget:
        """Return a part of what is left, but no less than some seconds while these are left."""
        return self.at_most(max(part * self.remaining, least))

    def at_most(self, seconds: float) -> Budget:
        """Return what is left, but no more than some seconds."""
        return replace(self, deadline=min(self.deadline, monotonic() + seconds))

    def require_time(self) -> None:
        """Leave a computation that has no partial result where the time is up."""
        if self.is_spent:
            raise OutOfTime

    def stop(self) -> None:
        """Call the work off: this budget and all its shares are spent."""
        self.stopped.set()
