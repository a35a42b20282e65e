"""A better order of elimination, found by trying.

Input: the intervals of all families that bear on a query, and an order in which children go first. Output: an
order of the same kind in which the relaxation of `greedy` and `mini_buckets` loses less.

Each context of a block chooses its own theta there, so the bound depends on which contexts the order makes;
how much each costs is not seen before it is tried. A variable is moved to another place between its children
and its parents, and the move is kept unless it widens the bound (local search). A message depends on what has
entered it alone, so that a move recomputes only what lies above it. Nothing here is a proof: whatever order
comes out, its bound is proved by whoever uses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from math import frexp, log, prod
from random import Random

import numpy as np

from credalog.methods.vertices.elimination import Clusters, clusters
from credalog.numbers.budget import Budget, OutOfTime
from credalog.tables.cones import Array
from credalog.tables.elimination import Potential, combined
from credalog.tables.interval_sets import greatest_sum

__all__ = ["Interior", "better_order", "end_scores"]

MOST_CELLS = 1 << 18
"""Orders whose messages have more cells in all are compared by that number alone, unless told otherwise."""

PATIENCE = 400
"""After so many moves without a gain the search ends."""

KEPT_COSTS = 1 << 12
"""Of so many orders the costs are kept."""

KEPT_CELLS = 1 << 24
"""How many cells of messages are remembered."""


@dataclass(frozen=True, slots=True)
class Interior:
    """What bears on a query: intervals of all families, what is observed, and what each end is scored by.

    `ranges` has the axes parents, child; `scores` are the query's variable's values at the ends' trials.
    """

    parents: Mapping[int, tuple[int, ...]]
    ranges: Mapping[int, tuple[Array, Array]]
    observed: Mapping[int, int]
    sizes: Sequence[int]
    target: int
    scores: tuple[Array, ...]


def end_scores(event: Array, near: tuple[float, float]) -> tuple[Array, Array]:
    """Return what the query's values score where its lower and its upper end are about `near`."""
    return near[0] - event, event - near[1]


def better_order(interior: Interior, *, most: int = MOST_CELLS, seed: int = 0, budget: Budget) -> Clusters:
    """Move variables to other places while the time lasts and the bound narrows, or there are fewer cells."""
    start = clusters(interior.parents, interior.observed, interior.sizes)
    search = _Search(interior, list(start), most, seed)
    with suppress(OutOfTime):
        search.run(budget)
    return {step.variable: set(step.scope[:-1]) for step in _steps(interior, search.order)}


@dataclass(frozen=True, slots=True)
class _Step:
    """A variable that goes, all that it meets, and the numbers of the messages that enter."""

    variable: int
    scope: tuple[int, ...]
    entering: tuple[int, ...]


def _steps(interior: Interior, order: Sequence[int]) -> Iterator[_Step]:
    """Yield the steps of an order; messages are named by their variables."""
    parents = interior.parents
    waiting = {x: frozenset(parents[x]) for x in parents if x in interior.observed}
    for x in order:
        entering = tuple(m for m, scope in waiting.items() if x in scope)
        met = frozenset(parents[x]).union(*(waiting.pop(m) for m in entering)) - {x}
        waiting[x] = met
        yield _Step(x, (*sorted(met), x), entering)


@dataclass(frozen=True, slots=True)
class _Message:
    """The least and greatest values of a message, or what it scores at either end; divided by 2**exponent."""

    scope: tuple[int, ...]
    tables: tuple[Array, ...]
    asks: bool
    exponent: int

    def stretched(self, scope: tuple[int, ...]) -> tuple[Array, ...]:
        return tuple(combined([Potential(self.scope, table)], scope) for table in self.tables)


class _Search:
    """The best order so far, and the messages of all that were tried."""

    def __init__(self, interior: Interior, order: list[int], most: int, seed: int) -> None:
        self.interior, self.order, self._most = interior, order, most
        self._luck = Random(seed)
        self._messages: dict[tuple[int, frozenset[int]], _Message] = {}
        self._cells = 0
        self._costs: dict[tuple[int, ...], tuple[float, float]] = {}
        hidden = [x for x in interior.parents if x not in interior.observed]
        self._children: dict[int, list[int]] = {x: [] for x in interior.parents}
        for x in hidden:
            for p in interior.parents[x]:
                self._children[p].append(x)

    def run(self, budget: Budget) -> None:
        """Move variables until no move has gained anything for a while; what is too large is not given up."""
        best, idle = self._cost(self.order, budget), 0
        while (idle < PATIENCE or best[0] > 0.0) and not budget.is_spent:
            order = self._moved()
            cost = self._known_cost(tuple(order), budget)
            idle = 0 if cost < best else idle + 1
            # What costs the same is kept too: plateaus are wide.
            if cost <= best:
                self.order, best = order, cost

    def _moved(self) -> list[int]:
        """Move one to four variables, each between its children and its parents."""
        order = list(self.order)
        for _ in range(self._luck.choice((1, 1, 2, 4))):
            x = order.pop(self._luck.randrange(len(order)))
            place = {y: i for i, y in enumerate(order)}
            first = max((place[y] + 1 for y in self._children[x]), default=0)
            last = min((place[y] for y in self.interior.parents[x]), default=len(order))
            order.insert(self._luck.randint(first, last), x)
        return order

    def _known_cost(self, order: tuple[int, ...], budget: Budget) -> tuple[float, float]:
        """Return the cost of an order, or remember it: few variables have few orders."""
        if order not in self._costs:
            if len(self._costs) >= KEPT_COSTS:
                self._costs.clear()
            self._costs[order] = self._cost(order, budget)
        return self._costs[order]

    def _cost(self, order: Sequence[int], budget: Budget) -> tuple[float, float]:
        """Return by how much an order is too large, and what its relaxation scores."""
        steps = list(_steps(self.interior, order))
        cells = sum(prod(self.interior.sizes[y] for y in step.scope) for step in steps)
        if cells > self._most:
            return log(cells), 0.0
        if self._cells > KEPT_CELLS:
            # Messages are known by what entered them, so that all go at once.
            self._messages.clear()
            self._cells = 0
        found = {x: self._leaf(x) for x in self.interior.parents if x in self.interior.observed}
        for step in steps:
            budget.require_time()
            entering = [found.pop(m) for m in step.entering]
            found[step.variable] = self._remembered(step, entering)
        (last,) = found.values()
        score = sum(float(table) for table in last.tables)
        return 0.0, float(np.ldexp(score, last.exponent))

    def _leaf(self, x: int) -> _Message:
        """Return the message of an observed variable."""
        if (x, frozenset()) not in self._messages:
            state = self.interior.observed[x]
            tables = tuple(ends[..., state] for ends in self.interior.ranges[x])
            self._messages[x, frozenset()] = _Message(self.interior.parents[x], tables, False, 0)
        return self._messages[x, frozenset()]

    def _remembered(self, step: _Step, entering: Sequence[_Message]) -> _Message:
        """Return the message of a step: it is known by the messages that enter it."""
        key = step.variable, frozenset(map(id, entering))
        if key not in self._messages:
            self._messages[key] = self._sum(step, entering)
            self._cells += self._messages[key].tables[0].size
        return self._messages[key]

    def _sum(self, step: _Step, entering: Sequence[_Message]) -> _Message:
        """Sum a variable out: each context chooses what its end likes best."""
        family = (*self.interior.parents[step.variable], step.variable)
        low, high = (
            combined([Potential(family, ends)], step.scope) for ends in self.interior.ranges[step.variable]
        )
        plain = [message.stretched(step.scope) for message in entering if not message.asks]
        least, most = (reduce(np.multiply, (m[end] for m in plain), np.ones(1)) for end in (0, 1))
        scores = next((m.stretched(step.scope) for m in entering if m.asks), None)
        if step.variable == self.interior.target:
            scores = self.interior.scores
        if scores is None:
            signs = ((-1.0, -least), (1.0, most))
            tables = tuple(sign * greatest_sum(low, high, weights) for sign, weights in signs)
        else:
            wanted = (score * np.where(score >= 0.0, most, least) for score in scores)
            tables = tuple(greatest_sum(low, high, score) for score in wanted)
        exponent = sum(message.exponent for message in entering)
        return _scaled(_Message(step.scope[:-1], tables, scores is not None, exponent))


def _scaled(message: _Message) -> _Message:
    """Divide by the power of two that brings the greatest entry near one."""
    shift = frexp(max(float(np.abs(table).max()) for table in message.tables))[1]
    tables = tuple(np.ldexp(table, -shift) for table in message.tables)
    return replace(message, tables=tables, exponent=message.exponent + shift)
