"""A query asked in each case of a root, and the mixture of the answers.

Input: the cases, and a way to ask in each. Output: an `Answer` about the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from credalog.methods.answer import Answer, Options
from credalog.methods.cliques.cases import Cases
from credalog.methods.progress import bounds_alone
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import VACUOUS, Endpoint, Interval
from credalog.tables.distribution import Distribution

__all__ = ["Mixture"]

FIRST_SHARE, CLOSER = 0.95, 0.9
"""The share of the time for a first look at cases, and how much closer than needed the second one is.

A second look begins anew: where the first one was not done, that would find less.
"""


class Mixture:
    """One query, asked in each case of a root: roughly first, then as closely as the mixture needs.

    `ask` answers it in a case, and `accepts` tells whether a mixed model is one of the whole.
    """

    def __init__(
        self,
        found: Cases,
        asked: Query,
        options: Options,
        budget: Budget,
        *,
        ask: Callable[[int, Options], Answer],
        accepts: Callable[[Distribution], bool],
    ) -> None:
        self.found = found
        self.asked = asked
        self.options = options
        self.budget = budget
        self.ask = ask
        self.accepts = accepts
        self.tried: dict[str, None] = {"cases": None}
        self.interval = VACUOUS
        self.is_interrupted = False
        telling = options.telling(asked)
        self.tellings = [telling.through(self._told), telling.through(self._told)]

    def _told(self, _: Interval) -> Interval:
        """Return what follows from all that was told of both cases; models are mixed at the end alone."""
        return self.found.mixed([bounds_alone(one.interval) for one in self.tellings], self.asked.claim)

    def answer(self) -> Answer:
        """Ask until the mixed interval is closed or the time is up."""
        tolerance = self.options.tolerance
        self._ask(tolerance, FIRST_SHARE)
        if not (self._is_closed(tolerance) or self.is_interrupted or self.budget.is_spent):
            # What the first look found stays, should the second one have no time to mix.
            with suppress(OutOfTime):
                self._ask(CLOSER * self._allowed(tolerance), 1.0)
        status, seconds = self.interval.status(tolerance), self.budget.elapsed
        tried = tuple(self.tried)
        return Answer(self.asked, self.interval, status, "factorized", seconds, self.is_interrupted, tried)

    def _ask(self, tolerance: float, share: float) -> None:
        """Ask in both cases within a share of the time left, in the likelier one last, and mix."""
        until, found = Budget.of(share * self.budget.remaining), dict[int, Interval]()
        weights = [float(1 - self.found.chance[0]), float(self.found.chance[1])]
        first, last = sorted((0, 1), key=lambda case: weights[case])
        found[first] = self._in_case(first, tolerance, until.remaining / 2.0)
        left = tolerance - weights[first] * max(found[first].lower.gap, found[first].upper.gap)
        closely = min(max(left, tolerance / 4.0) / weights[last], 1.0)
        if self.is_interrupted:
            return
        found[last] = self._in_case(last, closely, until.remaining)
        mixed = self.found.mixed((found[0], found[1]), self.asked.claim)
        self.interval = self.interval.joined(self._checked(mixed))
        self.options.telling(self.asked).tell_both(self.interval, stage="cases")

    def _in_case(self, case: int, tolerance: float, seconds: float) -> Interval:
        """Ask in one case."""
        options = replace(self.options, tolerance=tolerance, timeout=seconds, report=self.tellings[case])
        answer = self.ask(case, options)
        self.tried.update(dict.fromkeys(answer.tried))
        self.is_interrupted = self.is_interrupted or answer.interrupted
        return answer.interval

    def _checked(self, mixed: Interval) -> Interval:
        """Keep the mixed models that are models of the whole."""
        ends = (mixed.lower, mixed.upper)
        return Interval(*(e if self._is_model(e) else replace(e, witnessed=None, model=None) for e in ends))

    def _is_model(self, end: Endpoint) -> bool:
        return end.model is None or self.accepts(end.model)

    def _is_closed(self, tolerance: float) -> bool:
        """Tell whether both ends are as close as was asked for."""
        ends = (self.interval.lower, self.interval.upper)
        return all(
            e.witnessed is not None and e.gap <= self.options.gap(tolerance, e.witnessed) for e in ends
        )

    def _allowed(self, tolerance: float) -> float:
        """Return the gap that may be left at both ends."""
        ends = (self.interval.lower, self.interval.upper)
        values = (e.bound if e.witnessed is None else e.witnessed for e in ends)
        return min(self.options.gap(tolerance, value) for value in values)
