"""Time to spend: one deadline, shares of what is left of it, and a way to call the work off.

Input: a number of seconds. Output: `Budget`, which every loop asks whether it may go on. What many questions
share is set up by whoever comes first: its loops ask the budget of the question under way, `require_time`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from math import inf
from threading import Event
from time import monotonic

__all__ = ["Budget", "OutOfTime", "require_time", "spending", "uncollected"]

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


_UNDER_WAY: ContextVar[Budget | None] = ContextVar("under_way", default=None)


@contextmanager
def spending(budget: Budget) -> Iterator[None]:
    """Let what is called from here, and is handed no budget, ask this one; never around a `yield`."""
    token = _UNDER_WAY.set(budget)
    try:
        yield
    finally:
        _UNDER_WAY.reset(token)


def require_time() -> None:
    """Leave a computation without a partial result where the time of the question under way is up."""
    budget = _UNDER_WAY.get()
    if budget is not None:
        budget.require_time()


# ---- a pause of the garbage collector ---------------------------------------------------------------------


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the search for garbage cycles.

    Theories and networks are made of millions of immutable values without cycles. Searching them again
    and again while they are built finds nothing, and takes a third of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
