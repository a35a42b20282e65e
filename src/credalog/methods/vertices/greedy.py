"""Bounds on a posterior without any vertex, for networks that are too wide or have too many to search.

Input: a credal network and a query about one variable given literals. Output: for each end a bound that holds
for every model.

The relaxation is that of `mini_buckets`: variables are summed out children first, and each context of a block
chooses apart. But the best theta of {l <= theta <= u, sum theta = 1} is found greedily, values of greatest
weight first (a continuous knapsack; Dantzig, 1957).

What would be too wide is split (Dechter and Rish, 2003): of messages that do not fit only the least and the
greatest value over the variable that goes are kept. Where between them the truth is may differ from cell to
cell, so that they are no common factor of cells whose scores have either sign. Therefore P(event, evidence)
and P(complement, evidence) are then bounded each for itself, where nothing is negative.

The error. Messages that do not involve the query are kept as bounds, moved outwards at every step. Of the one
that does, inside and outside of the event are sums of non-negative terms; `size` bounds their sum for any
theta, `error` what all roundings so far have taken from the best score. What a knapsack gives to a value is
the difference of numbers near one: it is off by `DRIFT`, which is no share of a small theta, but not by
more than the value's room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np

from credalog.methods.vertices.elimination import Clusters, clusters
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import VACUOUS, End, Endpoint, Interval
from credalog.tables.cones import Array
from credalog.tables.credal import CredalNetwork, Question
from credalog.tables.elimination import Potential, combined
from credalog.tables.interval_sets import filled, greatest_sum
from credalog.trusted.rounding import enclosed, relative_error

__all__ = ["Choices", "bounded"]

MAX_CELLS = 1 << 21
"""The most cells of a product of messages that is never split."""

SPLITS = (1 << 14, 1 << 17, 1 << 20, 1 << 22)
"""The most cells of a product where what is wider is split: ever more, while there is time."""

GROWTH = 8
"""How many times longer the next width is expected to take."""

LARGEST_CELLS, PASSES = 1 << 23, 16
"""Products of so many cells are not split, either, if there is time: it takes about so many passes more."""

ROUNDS = 12
"""How many trial values are tried for one end at most."""

VANISHING = 1e-290
"""More than what underflow takes from a number beside the greatest one, which is near one."""

ERROR = relative_error(8.0)
"""More than the rounding of a quotient, and of one minus it."""

ROUNDING = relative_error(64.0)
"""What the roundings of one step amount to at most, per value of its variable."""

DRIFT = relative_error(8.0)
"""How far what a knapsack gives to one value may be off, per value."""


ALL, BOTH = -1, -2
"""Stand for the axes along which arrays of the same scope lie side by side: two of a kind, and two ends."""

TOGETHER_CELLS = 1 << 12
"""Up to so many cells both ends are bounded together: what is done takes longer to say than to do."""

Choices: TypeAlias = dict[int, Array]
"""For some variables a distribution in each configuration of their unobserved parents."""


@dataclass(frozen=True, slots=True)
class _Family:
    """The least and the greatest probabilities of a variable's values: axes are its parents, then itself."""

    scope: tuple[int, ...]
    least: Array
    most: Array


@dataclass(frozen=True, slots=True)
class _Range:
    """A message that does not involve the query: the least and the greatest value of each cell."""

    scope: tuple[int, ...]
    least: Array
    most: Array

    def without(self, x: int) -> _Range:
        """Forget a variable: what holds for all its values."""
        axis = self.scope.index(x)
        rest = self.scope[:axis] + self.scope[axis + 1 :]
        return _Range(rest, self.least.min(axis=axis), self.most.max(axis=axis))


@dataclass(frozen=True, slots=True)
class _Meeting:
    """A family at which the query is involved, and what meets there; the same for all events and trials."""

    family: _Family
    messages: tuple[_Range, ...]
    scope: tuple[int, ...]
    """All variables that meet, the family's own last."""
    size: Array
    """What inside and outside together do not pass for any theta, once the family's variable is gone."""
    error: Array
    """What all roundings so far have taken from the best score."""
    scale: float
    """The power of two by which all of this is multiplied."""


class _Entering(NamedTuple):
    """The size and the error of what enters a meeting."""

    scope: tuple[int, ...]
    size: Array
    error: Array


@dataclass(frozen=True, slots=True)
class _Pair:
    """The message that involves the query: inside and outside of the event."""

    scope: tuple[int, ...]
    masses: Array
    """Inside and outside, along the first axis; the second is for the ends that are sought."""


def bounded(
    credal: CredalNetwork,
    asked: Question,
    *,
    budget: Budget,
    order: Clusters | None = None,
    chosen: dict[End, Choices] | None = None,
) -> tuple[Endpoint, Endpoint]:
    """Bound the posterior of an event; what is not found in time is trivial.

    `chosen` learns which distributions each end chose last: a model near to them may attain it.
    """
    best, chosen = VACUOUS, {} if chosen is None else chosen
    event = np.array(asked.event, dtype=np.float64)
    with suppress(OutOfTime):
        network = _Network.of(credal, asked, budget, order)
        fits, seconds = network.widest <= MAX_CELLS, 0.0
        for cells, before in zip(SPLITS[:1] if fits else SPLITS, (SPLITS[0], *SPLITS), strict=False):
            if network.widest > before and GROWTH * seconds <= budget.remaining:
                start = budget.elapsed
                best = best.joined(network.sides(event, budget, cells))
                seconds = budget.elapsed - start
        if fits or (network.widest <= LARGEST_CELLS and PASSES * seconds <= budget.remaining):
            for end, endpoint in network.unsplit(event, budget, chosen):
                best = best.learning(endpoint, end)
    return best.lower, best.upper


@dataclass(frozen=True, slots=True)
class _Network:
    """The relevant families in order of elimination, and the messages of those that are observed."""

    target: int
    families: tuple[_Family, ...]
    leaves: tuple[_Range, ...]
    sizes: Sequence[int]
    widest: int
    """The largest product of messages, if none is split."""
    met: list[_Meeting] = field(default_factory=list)
    """What `_meetings` found."""

    @classmethod
    def of(
        cls, credal: CredalNetwork, asked: Question, budget: Budget, order: Clusters | None = None
    ) -> _Network:
        """Lay out what bears on a query."""
        relevant = credal.relevant(asked)
        order = order or clusters(relevant.parents, asked.observed, credal.sizes)
        leaves = []
        for x in relevant.families:
            budget.require_time()
            if x in asked.observed:
                least, most = credal.ranges(x, asked.observed)
                state = asked.observed[x]
                leaves.append(_Range(relevant.parents[x], least[..., state], most[..., state]))
        families = (_Family((*relevant.parents[x], x), *credal.ranges(x, asked.observed)) for x in order)
        sizes = credal.sizes
        widest = max(prod(sizes[y] for y in cluster) * sizes[x] for x, cluster in order.items())
        return cls(asked.target, tuple(families), tuple(leaves), sizes, widest)

    def unsplit(
        self, event: Array, budget: Budget, chosen: dict[End, Choices]
    ) -> Iterator[tuple[End, Endpoint]]:
        """Bound the posterior of an event, both sides in one product; small ones for both ends together."""
        events = {End.UPPER: event, End.LOWER: 1.0 - event}
        together = [[*events]] if self.widest <= TOGETHER_CELLS else [[end] for end in events]
        for number, ends in enumerate(together, start=1):
            part = budget.share(number / len(together))
            learned = [chosen.setdefault(end, {}) for end in ends]
            found = self.greatest(np.stack([events[end] for end in ends]), part, learned)
            for end, greatest in zip(ends, found, strict=True):
                # The least of an event is one minus the greatest of its complement.
                value = greatest if end is End.UPPER else 1.0 - greatest
                yield end, enclosed(value, error=ERROR, end=end)

    def greatest(self, events: Array, budget: Budget, chosen: Sequence[Choices]) -> list[float]:
        """Return what the posteriors of some events do not pass: where a trial comes to rest, or one."""
        found, trials, open_ = [1.0] * len(events), np.zeros(len(events)), list(range(len(events)))
        for _ in range(ROUNDS):
            pair = self._pass(events[open_], trials[open_], budget, [chosen[i] for i in open_])
            left = []
            for place, i in enumerate(open_):
                rests, trials[i] = self._next(pair, place, float(trials[i]))
                if rests:
                    found[i] = float(trials[i])
                elif trials[i] < 1.0:
                    left.append(i)
            open_ = left
            if not open_:
                break
        return found

    def _next(self, pair: _Pair, place: int, trial: float) -> tuple[bool, float]:
        """Tell whether a trial comes to rest, and return it; or else the next one."""
        inside, total = float(pair.masses[0, place]), float(pair.masses[:, place].sum())
        error = float(self.met[-1].error) * (1.0 + ROUNDING * len(self.families)) + ROUNDING * total
        if inside - trial * total + error <= 0.0:
            return True, trial
        # A little beyond the quotient found, so that the next pass comes to rest.
        return False, max(trial, inside / total if total > 0.0 else 1.0) + 4.0 * error / max(total, error)

    def _pass(self, events: Array, trials: Array, budget: Budget, chosen: Sequence[Choices]) -> _Pair:
        """Sum out all variables, for one trial value of each event."""
        pair = _Pair((self.target,), np.stack([events, 1.0 - events]))
        for meeting in self._meetings(budget):
            budget.require_time()
            pair, theta = _sum_pair(meeting, pair, trials)
            own = meeting.family.scope
            for one, its in zip(theta, chosen, strict=True):
                its[own[-1]] = _for_all_contexts(one, len(own) - 1)
        return pair

    def _meetings(self, budget: Budget) -> list[_Meeting]:
        """Return the families at which the query is involved, with the other messages into each of them.

        These depend on no event and on no trial: they are found once.
        """
        if self.met:
            return self.met
        size = self.sizes[self.target]
        waiting, last = list(self.leaves), _Entering((self.target,), np.ones(size), np.zeros(size))
        met = list[_Meeting]()
        for family in self.families:
            budget.require_time()
            x = family.scope[-1]
            near = [message for message in waiting if x in message.scope]
            waiting = [message for message in waiting if x not in message.scope]
            if x in last.scope:
                met.append(_meeting(family, near, last))
                last = _Entering(met[-1].scope[:-1], met[-1].size, met[-1].error)
            else:
                waiting.append(_sum_range(family, near))
        self.met.extend(met)
        return self.met

    def sides(self, event: Array, budget: Budget, cells: int) -> Interval:
        """Bound the posterior of an event by the two sides of it, each for itself, split to so many cells."""
        inside, outside = self._mass(event, budget, cells), self._mass(1.0 - event, budget, cells)
        # What is greatest is never zero: see VANISHING.
        least, most = inside[0] / (inside[0] + outside[1]), inside[1] / (inside[1] + outside[0])
        lower, upper = (enclosed(v, error=ERROR, end=end) for end, v in zip(End, (least, most), strict=True))
        return Interval(lower, upper)

    def _mass(self, event: Array, budget: Budget, cells: int) -> tuple[float, float]:
        """Bound P(event, evidence) from below and above."""
        waiting = [_Range((self.target,), event, event), *self.leaves]
        for family in self.families:
            budget.require_time()
            x = family.scope[-1]
            near = [message for message in waiting if x in message.scope]
            fits, rest = self._split(near, set(family.scope), cells)
            waiting = [message for message in waiting if x not in message.scope]
            waiting += [_sum_range(family, fits), *(message.without(x) for message in rest)]
        error = ROUNDING * len(waiting)
        least, most = (prod(float(getattr(m, end)) for m in waiting) for end in ("least", "most"))
        return least * (1.0 - error), most * (1.0 + error) + VANISHING

    def _split(
        self, messages: Iterable[_Range], scope: set[int], cells: int
    ) -> tuple[list[_Range], list[_Range]]:
        """Sort messages into those that fit into one product, large ones first, and the others."""
        fits: list[_Range] = []
        rest: list[_Range] = []
        for message in sorted(messages, key=lambda m: -m.most.size):
            together = scope.union(message.scope)
            if together == scope or self._cells(together) <= cells:
                scope = together
                fits.append(message)
            else:
                rest.append(message)
        return fits, rest

    def _cells(self, scope: Iterable[int]) -> int:
        return prod(self.sizes[y] for y in scope)


def _joint_scope(family: _Family, others: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Return all variables that meet, the family's own last."""
    *parents, x = family.scope
    return (*dict.fromkeys(y for scope in (parents, *others) for y in scope if y != x), x)


def _sum_range(family: _Family, messages: Sequence[_Range]) -> _Range:
    """Sum a variable out of messages that do not involve the query."""
    scope = _joint_scope(family, [message.scope for message in messages])
    least = combined([Potential(m.scope, m.least) for m in messages], scope)
    most = combined([Potential(m.scope, m.most) for m in messages], scope)
    low, high = (combined([Potential(family.scope, a)], scope) for a in (family.least, family.most))
    lower, upper = -greatest_sum(low, high, -least), greatest_sum(low, high, most)
    slack = ROUNDING * family.least.shape[-1] * upper + _drift(low, high, most) + VANISHING
    return _Range(scope[:-1], np.maximum(lower - slack, 0.0), upper + slack)


def _drift(low: Array, high: Array, weights: Array) -> Array:
    """Bound what the errors of a knapsack amount to, where values weigh no more than these."""
    return np.asarray((np.minimum(DRIFT * low.shape[-1], high - low) * weights).sum(axis=-1))


def _for_all_contexts(theta: Array, parents: int) -> Array:
    """Return one distribution for each parent configuration: the mean of those chosen in its contexts."""
    contexts = tuple(range(parents, theta.ndim - 1))
    return theta.mean(axis=contexts) if contexts else theta


def _meeting(family: _Family, messages: Sequence[_Range], last: _Entering) -> _Meeting:
    """Bound what is summed where the query is involved, whatever theta is chosen."""
    scope = _joint_scope(family, [last.scope, *(message.scope for message in messages)])
    bounds = [combined([Potential(last.scope, values)], scope) for values in (last.size, last.error)]
    for message in messages:
        most = combined([Potential(message.scope, message.most)], scope)
        bounds = [values * most for values in bounds]
    low, top = (combined([Potential(family.scope, a)], scope) for a in (family.least, family.most))
    size, error = (greatest_sum(low, top, values) for values in bounds)
    error = error + _drift(low, top, bounds[0] + bounds[1])
    error += ROUNDING * low.shape[-1] * (size + error) + VANISHING
    scale = float(np.ldexp(1.0, -np.frexp(size.max())[1]))
    return _Meeting(family, tuple(messages), scope, scale * size, scale * error, scale)


def _sum_pair(meeting: _Meeting, pair: _Pair, trials: Array) -> tuple[_Pair, Array]:
    """Sum a variable out where the query is involved; return the distributions chosen, too.

    A cell with a positive score wants the greatest values of the other messages, any other the least.
    """
    family, scope = meeting.family, meeting.scope
    masses = combined([Potential((ALL, BOTH, *pair.scope), pair.masses)], (ALL, BOTH, *scope))
    trial = trials.reshape(-1, *[1] * len(scope))
    high = (1.0 - trial) * masses[0] >= trial * masses[1]
    for message in meeting.messages:
        least, most = (combined([Potential(message.scope, a)], scope) for a in (message.least, message.most))
        masses = masses * np.where(high, most, least)
    low, top = (combined([Potential(family.scope, a)], scope) for a in (family.least, family.most))
    theta = filled(low, top, (1.0 - trial) * masses[0] - trial * masses[1])
    return _Pair(scope[:-1], meeting.scale * (theta * masses).sum(axis=-1)), theta
