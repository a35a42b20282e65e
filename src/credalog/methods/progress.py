"""What is known of a question while it is worked on.

Input: bounds, values and counts from whatever method is at work. Output: `Progress` reports in which nothing
ever gets worse: of either end the best bound proved and the best value attained so far. A search on something
else, a case or a slice, tells of this question what follows from it (`Telling.through`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Endpoint, Interval, vacuous
from credalog.numbers.tolerances import PROBABILITY, Scale

__all__ = ["Progress", "Report", "Telling", "bounds_alone", "values_alone"]


@dataclass(frozen=True, slots=True)
class Progress:
    """A glance at work under way: what is proved so far, what is attained, since when, and by which work.

    `task` names the end it is about, or something else than an end: the best explanation, say. `leaves` are
    those of all search trees that were explored so far, and `stage` is what is at work.
    """

    task: str
    bound: float
    witnessed: float | None
    seconds: float
    leaves: int = 0
    stage: str = ""
    question: str = ""

    @property
    def end(self) -> End | None:
        """Return the end it is about, if it is about one."""
        return ENDS.get(self.task)

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--progress` writes with `--json`."""
        return {
            "question": self.question,
            "end": self.task,
            "bound": self.bound,
            "witnessed": self.witnessed,
            "leaves": self.leaves,
            "stage": self.stage,
            "seconds": self.seconds,
        }


ENDS = {end.value: end for end in End}

Report: TypeAlias = Callable[[Progress], None]
"""Who is told of work under way; one that raises KeyboardInterrupt ends it, with what was found."""


class Telling:
    """Tell somebody, or nobody, of one question; `interval` is all that was told so far."""

    def __init__(self, report: Report | None, question: object = "", scale: Scale = PROBABILITY) -> None:
        self._report = report
        self._question = question
        self._budget = Budget.of()
        self.interval = vacuous(scale)
        self.leaves = 0
        self.stage = ""

    @classmethod
    def of(cls, report: Report | None, question: object = "", scale: Scale = PROBABILITY) -> Telling:
        """Return who tells of a question: whoever is doing so already, or somebody new."""
        return report if isinstance(report, Telling) else cls(report, question, scale)

    def __call__(self, progress: Progress) -> None:
        """Pass on a report, made of all leaves so far, with what is known better."""
        if (end := progress.end) is None:
            self._pass_on(progress)
        else:
            found = replace(self.interval[end], bound=progress.bound, witnessed=progress.witnessed)
            self.tell(end, found, explored=max(progress.leaves - self.leaves, 0), stage=progress.stage)

    def tell(self, end: End, found: Endpoint, *, explored: int = 0, stage: str = "") -> None:
        """Tell what was found of an end, after exploring so many leaves more than were told of."""
        self.interval = self.interval.learning(replace(found, model=None), end)
        self._say(end, explored, stage)

    def tell_both(self, found: Interval, *, explored: int = 0, stage: str = "") -> None:
        """Tell what was found of both ends together."""
        for end, more in zip(End, (explored, 0), strict=True):
            self.tell(end, found[end], explored=more, stage=stage)

    def close(self, found: Interval, stage: str) -> bool:
        """Tell the answer, as the last word on the question; return whether its hearer wants to go on."""
        self.interval = found
        try:
            for end in End:
                self._say(end, 0, stage)
        except KeyboardInterrupt:
            return False
        return True

    def through(
        self, meaning: Callable[[Interval], Interval], question: object = "", scale: Scale = PROBABILITY
    ) -> Telling:
        """Return who tells of another question, whose interval means something for this one."""
        counted = 0

        def pass_on(progress: Progress) -> None:
            nonlocal counted
            assert progress.end is not None
            explored, counted = progress.leaves - counted, progress.leaves
            found = meaning(other.interval)[progress.end]
            self.tell(progress.end, found, explored=explored, stage=progress.stage)

        other = Telling(pass_on, question, scale)
        return other

    def _say(self, end: End, explored: int, stage: str) -> None:
        self.leaves += explored
        self.stage = stage or self.stage
        if self._report is not None:
            one, seconds = self.interval[end], self._budget.elapsed
            self._pass_on(Progress(end.value, one.bound, one.witnessed, seconds, self.leaves, self.stage))

    def _pass_on(self, progress: Progress) -> None:
        if self._report is not None:
            self._report(replace(progress, question=progress.question or str(self._question)))


def bounds_alone(interval: Interval) -> Interval:
    """Return what is proved of an interval, without what attains it."""
    ends = (replace(interval[end], witnessed=None, model=None) for end in End)
    return Interval(*ends, scale=interval.scale)


def values_alone(interval: Interval) -> Interval:
    """Return what attains an interval, without what is proved of it."""
    nothing = vacuous(interval.scale)
    ends = (
        replace(nothing[end], witnessed=interval[end].witnessed, model=interval[end].model) for end in End
    )
    return Interval(*ends, scale=interval.scale)
