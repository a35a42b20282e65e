"""Bounds on a posterior without any vertex, for networks that are too wide or have too many to search.

Input: a credal network and a query about one variable given literals. Output: for each end a bound that holds
for every model.

The relaxation is that of `mini_buckets`: variables are summed out children first, and each context of a block
chooses apart. But the best theta of {l <= theta <= u, sum theta = 1} is found greedily, values of greatest
weight first (a continuous knapsack; Dantzig, 1957), and what would be too wide is split: a message that does
not fit is replaced by its least and greatest value over the variable that goes (Dechter and Rish, 2003).

The error. Messages that do not involve the query are kept as bounds, moved outwards at every step. Of the one
that does, inside and outside of the event are sums of non-negative terms; `size` bounds their sum for any
theta, so that all roundings together are a share of the size that comes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from credalog.methods.vertices.elimination import clusters
from credalog.network.relevance import relevance
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End, Endpoint
from credalog.tables.cones import Array
from credalog.tables.credal import CredalNetwork, Question
from credalog.tables.elimination import Potential, combined
from credalog.trusted.rounding import enclosed, relative_error

__all__ = ["bounded"]

MAX_CELLS = 1 << 18
"""No product of messages has more cells than this."""

ROUNDS = 12
"""How many trial values are tried for one end at most."""

VANISHING = 1e-290
"""More than what underflow takes from a number beside the greatest one, which is near one."""

ROUNDING = relative_error(64.0)
"""What the roundings of one step amount to at most, per value of its variable."""


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
class _Pair:
    """The message that involves the query: inside and outside of the event, and a bound on their size."""

    scope: tuple[int, ...]
    inside: Array
    outside: Array
    size: Array

    def without(self, x: int, trial: float) -> _Pair:
        """Forget a variable: keep the value that is best for passing the trial."""
        axis = self.scope.index(x)
        score = (1.0 - trial) * self.inside - trial * self.outside
        best = np.expand_dims(score.argmax(axis=axis), axis)
        inside, outside = (
            np.take_along_axis(a, best, axis).squeeze(axis) for a in (self.inside, self.outside)
        )
        return _Pair(self.scope[:axis] + self.scope[axis + 1 :], inside, outside, self.size.max(axis=axis))


def bounded(credal: CredalNetwork, asked: Question, *, budget: Budget) -> tuple[Endpoint, Endpoint]:
    """Bound the posterior of an event; what is not found in time is trivial."""
    event = np.array(asked.event, dtype=np.float64)
    try:
        network = _Network.of(credal, asked, budget)
        upper = network.greatest(event, budget.share(0.5))
        lower = 1.0 - network.greatest(1.0 - event, budget)
    except OutOfTime:
        return Endpoint.trivial(End.LOWER), Endpoint.trivial(End.UPPER)
    error = relative_error(2.0)
    return enclosed(lower, error=error, end=End.LOWER), enclosed(upper, error=error, end=End.UPPER)


@dataclass(frozen=True, slots=True)
class _Network:
    """The relevant families in order of elimination, and the messages of those that are observed."""

    target: int
    families: tuple[_Family, ...]
    leaves: tuple[_Range, ...]
    sizes: Sequence[int]

    @classmethod
    def of(cls, credal: CredalNetwork, asked: Question, budget: Budget) -> _Network:
        """Lay out what bears on a query."""
        relevant = relevance(credal.parents, [asked.target], asked.observed)
        order = clusters(relevant.parents, asked.observed, credal.sizes)
        leaves = []
        for x in relevant.families:
            budget.require_time()
            if x in asked.observed:
                least, most = credal.ranges(x, asked.observed)
                state = asked.observed[x]
                leaves.append(_Range(relevant.parents[x], least[..., state], most[..., state]))
        families = (_Family((*relevant.parents[x], x), *credal.ranges(x, asked.observed)) for x in order)
        return cls(asked.target, tuple(families), tuple(leaves), credal.sizes)

    def greatest(self, event: Array, budget: Budget) -> float:
        """Return what the posterior of an event does not pass: where a trial comes to rest, or one."""
        trial = 0.0
        for _ in range(ROUNDS):
            pair = self._pass(event, trial, budget)
            inside, total, size = (float(a) for a in (pair.inside, pair.inside + pair.outside, pair.size))
            error = ROUNDING * len(self.families) * max(self.sizes) * size + VANISHING
            if inside - trial * total + error <= 0.0:
                return trial
            # A little beyond the quotient found, so that the next pass comes to rest.
            trial = max(trial, inside / total if total > 0.0 else 1.0) + 4.0 * error / max(total, error)
            if trial >= 1.0:
                break
        return 1.0

    def _pass(self, event: Array, trial: float, budget: Budget) -> _Pair:
        """Sum out all variables for one trial value."""
        waiting = list(self.leaves)
        pair = _Pair((self.target,), event, 1.0 - event, np.ones(len(event)))
        for family in self.families:
            budget.require_time()
            x = family.scope[-1]
            near = [message for message in waiting if x in message.scope]
            waiting = [message for message in waiting if x not in message.scope]
            asks = x in pair.scope
            if asks:
                pair = self._fitting(pair, family, trial)
            fits, rest = self._split(near, {*family.scope, *(pair.scope if asks else ())})
            waiting += [message.without(x) for message in rest]
            if asks:
                pair = _sum_pair(family, fits, pair, trial)
            else:
                waiting.append(_sum_range(family, fits))
        return pair

    def _fitting(self, pair: _Pair, family: _Family, trial: float) -> _Pair:
        """Forget variables of the pair, those with most values first, until it fits beside a family."""
        for y in sorted(pair.scope, key=lambda y: -self.sizes[y]):
            if self._cells({*pair.scope, *family.scope}) > MAX_CELLS and y not in family.scope:
                pair = pair.without(y, trial)
        return pair

    def _split(self, messages: Iterable[_Range], scope: set[int]) -> tuple[list[_Range], list[_Range]]:
        """Sort messages into those that fit into one product, large ones first, and the others."""
        fits: list[_Range] = []
        rest: list[_Range] = []
        for message in sorted(messages, key=lambda m: -m.most.size):
            together = scope.union(message.scope)
            if together == scope or self._cells(together) <= MAX_CELLS:
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
    low, room, free = _knapsack(family, scope)
    lower, upper = (
        _filled(low, room, free, weight, weight * sign) for weight, sign in ((least, -1.0), (most, 1.0))
    )
    scale = np.ldexp(1.0, -int(np.frexp(upper.max(initial=0.0))[1]))
    slack = ROUNDING * family.least.shape[-1]
    upper = (1.0 + slack) * scale * upper + VANISHING
    return _Range(scope[:-1], np.maximum(scale * lower - slack * upper, 0.0), upper)


def _sum_pair(family: _Family, messages: Sequence[_Range], pair: _Pair, trial: float) -> _Pair:
    """Sum a variable out where the query is involved.

    A cell with a positive score wants the greatest values of the other messages, any other the least.
    """
    scope = _joint_scope(family, [pair.scope, *(message.scope for message in messages)])
    inside, outside, size = (
        combined([Potential(pair.scope, a)], scope) for a in (pair.inside, pair.outside, pair.size)
    )
    high = (1.0 - trial) * inside >= trial * outside
    for message in messages:
        least, most = (combined([Potential(message.scope, a)], scope) for a in (message.least, message.most))
        wanted = np.where(high, most, least)
        inside, outside, size = inside * wanted, outside * wanted, size * most
    low, room, free = _knapsack(family, scope)
    score = (1.0 - trial) * inside - trial * outside
    inside, outside = (_filled(low, room, free, weight, score) for weight in (inside, outside))
    size = _filled(low, room, free, size, size)
    scale = np.ldexp(1.0, -int(np.frexp(size.max(initial=0.0))[1]))
    return _Pair(scope[:-1], scale * inside, scale * outside, scale * size)


def _knapsack(family: _Family, scope: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Return what each value has at least, how much more it may have, and how much there is to give."""
    least, most = (combined([Potential(family.scope, a)], scope) for a in (family.least, family.most))
    return least, most - least, np.maximum(1.0 - least.sum(axis=-1, keepdims=True), 0.0)


def _filled(low: Array, room: Array, free: Array, weight: Array, score: Array) -> Array:
    """Give what is free to the values of greatest score; return the sum of theta times weight."""
    order = np.argsort(-score, axis=-1)
    shape = np.broadcast_shapes(order.shape, room.shape)
    sorted_room = np.take_along_axis(np.broadcast_to(room, shape), np.broadcast_to(order, shape), axis=-1)
    before = np.cumsum(sorted_room, axis=-1) - sorted_room
    given = np.clip(free - before, 0.0, sorted_room)
    sorted_weight = np.take_along_axis(np.broadcast_to(weight, shape), np.broadcast_to(order, shape), axis=-1)
    return np.asarray((low * weight).sum(axis=-1) + (given * sorted_weight).sum(axis=-1))
