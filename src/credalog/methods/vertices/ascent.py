"""A model with a great posterior, found without vertices.

Input: a credal network and a query about one variable given literals. Output: conditional tables inside the
intervals of all values, and the posterior that they attain, in floats: a witness to be checked.

P(event, evidence) - t P(evidence) is linear in the table of each family, and its slopes in all of them come
from one elimination and its way back (`Product`; Darwiche, 2003). At the posterior t of the model so far,
each block moves to the best distribution for its slopes, a continuous knapsack (Dinkelbach, 1967). One family
that moves alone never makes things worse; as many move together as gain from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from credalog.errors import ProblemTooLarge
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End
from credalog.tables.cones import Array
from credalog.tables.credal import CredalNetwork, Question
from credalog.tables.interval_sets import filled
from credalog.tables.slopes import Product

__all__ = ["Climber", "climb"]

MAX_CELLS = 1 << 23
"""The largest table on the way."""

STARTS = 4
"""From how many models the climb begins: the centre, then distributions drawn at random."""

MORE_STARTS = 0.25
"""The share of the time for all starts but the first."""

STEPS = 60
"""How often tables are moved at most from one start."""

GAIN = 1e-10
"""A move that gains less is the last."""

FEWER = 4
"""Where many families that move together gain nothing, so many times fewer are tried."""


NEAR = 1e-9
"""A model whose posterior is so near to what is proved need not be improved."""


def climb(
    climber: Climber, *, budget: Budget, most: float = 1.0, near: Mapping[int, Array] | None = None
) -> Mapping[int, Array] | None:
    """Return the tables of all relevant families; None where nothing is attained in time.

    No model passes `most`: where one comes near it, no other start is tried. The first start is what `near`
    says of some variables, and the centre for all others.
    """
    best: tuple[float, Mapping[int, Array] | None] = (-1.0, None)
    with suppress(OutOfTime, ProblemTooLarge):
        for number, tables in enumerate(_starts(climber, near or {})):
            if number == 1 + bool(near):
                budget = budget.share(MORE_STARTS)
            found = climber.run(tables, budget, most=most)
            best = max(best, found, key=lambda reached: reached[0])
            if best[0] >= most - NEAR or budget.is_spent:
                break
    return best[1]


def _starts(climber: Climber, near: Mapping[int, Array]) -> Iterator[dict[int, Array]]:
    """Yield tables near to some, then at the centre of their intervals, then at vertices drawn at random."""
    centre = climber.centre
    if near:
        yield {**centre, **{x: climber.completed(x, centre[x], theta) for x, theta in near.items()}}
    yield dict(centre)
    luck = np.random.default_rng(0)
    for _ in range(STARTS - 1):
        ranges = {x: climber.credal.ranges(x, {}) for x in climber.families}
        yield {x: filled(*ends, luck.random(ends[0].shape)) for x, ends in ranges.items()}


def _centre(least: Array, most: Array) -> Array:
    """Return the distributions equally far between all bounds."""
    room = most - least
    spread = room.sum(axis=-1, keepdims=True)
    free = 1.0 - least.sum(axis=-1, keepdims=True)
    return np.asarray(least + np.divide(free, spread, out=np.zeros_like(free), where=spread > 0.0) * room)


Index: TypeAlias = tuple[int | slice, ...]


@dataclass(frozen=True, slots=True)
class Climber:
    """A question, and the order in which all variables are summed out of its tables."""

    credal: CredalNetwork
    asked: Question
    event: Array
    families: tuple[int, ...]
    product: Product
    shown: Mapping[int, Index]
    """Where each table agrees with all that is observed."""
    parts: Mapping[int, Index]
    """Where each table agrees with the observed parents."""
    centre: Mapping[int, Array]
    """Tables in the middle of all intervals."""

    @classmethod
    def of(cls, credal: CredalNetwork, asked: Question) -> Climber:
        """Plan the elimination, in which the query's own variable is kept."""
        relevant, event = credal.relevant(asked), np.array(asked.event, dtype=np.float64)
        scopes = [
            tuple(y for y in (*credal.parents[x], x) if y not in asked.observed) for x in relevant.families
        ]
        product = Product.of(scopes, credal.sizes, keep=(asked.target,), most=MAX_CELLS)
        shown, parts = dict[int, Index](), dict[int, Index]()
        for x in relevant.families:
            parts[x] = tuple(asked.observed.get(p, slice(None)) for p in credal.parents[x])
            shown[x] = (*parts[x], asked.observed.get(x, slice(None)))
        centre = {x: _centre(*credal.ranges(x, {})) for x in relevant.families}
        return cls(credal, asked, event, relevant.families, product, shown, parts, centre)

    def towards(self, end: End) -> Climber:
        """Return the one that seeks an end: the greatest probability of the event, or of its opposite."""
        return self if end is End.UPPER else replace(self, event=1.0 - self.event)

    def run(
        self, tables: dict[int, Array], budget: Budget, *, most: float = 1.0
    ) -> tuple[float, Mapping[int, Array] | None]:
        """Move tables while that gains something; return what is attained, -1 where the evidence is not."""
        value = self.posterior(tables, budget)
        with suppress(OutOfTime):
            for _ in range(STEPS if value < most - NEAR else 0):
                before = value
                tables, value = self._moved(tables, value, budget)
                if value <= before + GAIN or value >= most - NEAR:
                    break
        return value, None if value < 0.0 else tables

    def posterior(self, tables: Mapping[int, Array], budget: Budget) -> float:
        """Return the posterior of the event; -1 where the evidence has no probability."""
        left, _ = self.product.left(self._shown(tables), budget)
        total = float(left.sum())
        return float((left * self.event).sum()) / total if total > 0.0 else -1.0

    def _shown(self, tables: Mapping[int, Array]) -> list[Array]:
        """Return all tables at what is observed."""
        return [tables[x][self.shown[x]] for x in self.families]

    def _moved(
        self, tables: dict[int, Array], value: float, budget: Budget
    ) -> tuple[dict[int, Array], float]:
        """Move the families that gain most, as many as gain together."""
        slopes = self.product.slopes(self._shown(tables), self.event - max(value, 0.0), budget)
        better, gains = {}, {}
        for x, slope in zip(self.families, slopes, strict=True):
            better[x], gains[x] = self._best(x, tables[x], slope)
        movers = sorted((x for x in gains if gains[x] > 0.0), key=lambda x: -gains[x])
        while movers:
            trial = {**tables, **{x: better[x] for x in movers}}
            reached = self.posterior(trial, budget)
            if reached > value + GAIN:
                return trial, reached
            movers = movers[: len(movers) // FEWER or int(len(movers) > 1)]
        return tables, value

    def _best(self, x: int, table: Array, slope: Array) -> tuple[Array, float]:
        """Return the best table of one family for its slopes, and what it gains."""
        least, most = self.credal.ranges(x, self.asked.observed)
        state = self.asked.observed.get(x)
        if state is not None:
            slope = slope[..., None] * (np.arange(self.credal.sizes[x]) == state)
        theta = filled(least, most, slope)
        gain = float(((theta - self._part(x, table)) * slope).sum())
        return self.completed(x, table, theta), gain

    def completed(self, x: int, table: Array, theta: Array) -> Array:
        """Return a table with other distributions in the configurations that agree with what is observed."""
        new = table.copy()
        self._part(x, new)[...] = theta
        return new

    def _part(self, x: int, table: Array) -> Array:
        """Return the part of a table that agrees with the observed parents."""
        return table[self.parts[x]]
