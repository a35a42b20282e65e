"""Search without vertices: what the slopes decide is fixed, and only what they leave open is split.

Input: a credal network, a query about one variable given literals, and a model that comes close to an end.
Output: a bound that holds for every model, as close to what is attained as the time allows, and a better
model where one is met.

To prove P(event | evidence) <= t is to prove that G = P(event, evidence) - t P(evidence) is never positive.
G is linear in each block, so where its slope in one value of a block is never smaller than in another, some
maximum of G gives the first all it may have, or the second no more than it must: intervals shrink, then
slopes are narrower, and so on. What is left is bounded twice, by the relaxation in which contexts choose
apart and by the mean value theorem: G at one model, plus what each block may still gain (proof 25). Where
neither bound suffices, the interval with most to gain is split in two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from credalog.methods.vertices.ascent import Climber
from credalog.methods.vertices.greedy import DRIFT
from credalog.methods.vertices.interval_slopes import Boxes, Ends, Layout, advantages, upward
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.tolerances import allowed_gap
from credalog.tables.cones import Array
from credalog.tables.interval_sets import filled
from credalog.trusted.rounding import relative_error

__all__ = ["MOST_COMPARED", "Closed", "closed"]

MOST_COMPARED = 1 << 22
"""A network in which more pairs of values are compared in all contexts together is not searched."""

CLOSE = 0.95
"""The share of the tolerance to which a search is driven; the rest is for roundings."""

STAGES = (32.0, 8.0, 1.0)
"""How many times the tolerance lie between the values proved one after the other and what is attained."""

ROUNDS = 10
"""How often intervals are narrowed at one node at most."""

LEAST_CHANGE = 0.02
"""Narrowing goes on while so great a share of all intervals together goes."""

WORTH_TRYING = 2.0
"""A model is not tried where its blocks may gain so many times what the last one lacked."""

NARROW = 1e-10
"""An interval that is not wider is not split."""

SUMMING = relative_error(1 << 24)
"""More than the rounding of a sum over all blocks."""


@dataclass(frozen=True, slots=True)
class Closed:
    """What was proved and what is attained: the posterior of the event is at most `bound`."""

    bound: float
    tables: Mapping[int, Array]


def closed(
    climber: Climber,
    layout: Layout,
    start: Mapping[int, Array],
    bound: float,
    *,
    tolerance: float,
    budget: Budget,
    report: Callable[[float, int], None],
) -> Closed:
    """Prove bounds on the posterior of the climber's event, closer and closer, while the time lasts.

    Of each the bound is reported, and how many nodes it took.
    """
    search = _Search(climber, layout, start, budget)
    try:
        search.value = climber.posterior(start, budget)
        for far in STAGES:
            # A better model that is met moves the goal: what was proved of a smaller value holds for it.
            gap = far * CLOSE * allowed_gap(tolerance, max(search.value, 0.0))
            if search.value >= 0.0 and search.value + gap < bound:
                bound = min(bound, search.run(gap))
                report(bound, search.explored)
    except (OutOfTime, _Undecided):
        pass
    return Closed(bound, search.tables)


class _Undecided(Exception):
    """Nothing is left to choose but roundings, which this search does not see through."""


class _Split(NamedTuple):
    """The value of a block whose interval is split."""

    family: int
    place: tuple[int, ...]
    """Parents' states, then the value."""


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """Narrower intervals, a model inside, what all its blocks may gain, and where that is most."""

    boxes: Boxes
    model: Mapping[int, Array]
    gain: float
    split: _Split | None
    change: float


class _Search:
    """Prove that no model passes a trial value; `value` is what the best one met attains."""

    def __init__(self, climber: Climber, layout: Layout, tables: Mapping[int, Array], budget: Budget) -> None:
        self._climber, self._layout, self._budget = climber, layout, budget
        self.tables, self.value = tables, -1.0
        self._lacking = inf
        self.explored = 0

    def run(self, gap: float) -> float:
        """Return the value that is proved, so much above the best one that is met on the way."""
        trial = self.value + gap
        credal, observed = self._climber.credal, self._climber.asked.observed
        self.explored = 0
        waiting: list[Boxes] = [{x: credal.ranges(x, observed) for x in self._layout.parents}]
        while waiting:
            self.explored += 1
            waiting += self._explored(waiting.pop(), trial)
            trial = max(trial, self.value + gap)
            if trial >= 1.0:
                return 1.0
        return trial

    def _explored(self, boxes: Boxes, trial: float) -> Iterator[Boxes]:
        """Yield the halves of a node in which the trial value may be passed."""
        for _ in range(ROUNDS):
            self._budget.require_time()
            passed = upward(self._layout, boxes, self._climber.event, trial, self._budget)
            if passed.total(self._layout)[1] <= 0.0:
                return
            found = _narrowed(boxes, advantages(self._layout, boxes, passed, self._budget))
            boxes = found.boxes
            if found.gain < WORTH_TRYING * self._lacking and self._is_closed(found, trial):
                return
            if found.change < LEAST_CHANGE:
                break
        if found.split is None:
            raise _Undecided
        yield from _halves(boxes, found.split)

    def _is_closed(self, found: _Narrowed, trial: float) -> bool:
        """Tell whether G is not positive at one model, nor with all that its blocks may gain.

        The tables of the model are known up to what a knapsack is off by.
        """
        around = {x: _around(found.model[x], found.boxes[x]) for x in found.model}
        passed = upward(self._layout, around, self._climber.event, trial, self._budget)
        _, most = passed.total(self._layout)
        if most > 0.0:
            self._meet(found.model)
        self._lacking = max(-most, 0.0) or inf
        return most + found.gain * (1.0 + SUMMING) <= 0.0

    def _meet(self, model: Mapping[int, Array]) -> None:
        """Keep a model if it attains more than the best so far."""
        tables = {x: self._climber.completed(x, self.tables[x], model[x]) for x in model}
        value = self._climber.posterior(tables, self._budget)
        if value > self.value:
            self.tables, self.value = tables, value


def _around(theta: Array, box: Ends) -> Ends:
    off = DRIFT * theta.shape[-1]
    return np.maximum(box[0], theta - off), np.minimum(box[1], theta + off)


def _narrowed(boxes: Boxes, advantage: Mapping[int, Array]) -> _Narrowed:
    """Narrow all intervals, choose a model inside, and add up what it may still gain in each block."""
    liking = {x: (least - np.swapaxes(least, -1, -2)).sum(axis=-1) for x, least in advantage.items()}
    narrower = {x: _decided(*boxes[x], advantage[x], liking[x]) for x in boxes}
    model = {x: filled(*narrower[x], liking[x]) for x in boxes}
    gains = {x: _gains(model[x], narrower[x], advantage[x]) for x in boxes}
    before, after = (sum(float((high - low).sum()) for low, high in b.values()) for b in (boxes, narrower))
    change = (before - after) / before if before > 0.0 else 0.0
    total = sum(float(gain.sum()) for gain in gains.values())
    return _Narrowed(narrower, model, total, _most_gained(gains, narrower), change)


def _most_gained(gains: Mapping[int, Array], boxes: Boxes) -> _Split | None:
    """Choose the block that may gain most, and of its values the one that may give most."""
    best, split = 0.0, None
    for x, gain in gains.items():
        is_open = boxes[x][1] - boxes[x][0] > NARROW
        of_block = np.where(is_open.any(axis=-1), gain.sum(axis=-1), 0.0)
        if of_block.max() > best:
            best = float(of_block.max())
            block = tuple(int(i) for i in np.unravel_index(int(of_block.argmax()), of_block.shape))
            split = _Split(x, (*block, int(np.where(is_open, gain, -1.0)[block].argmax())))
    return split


def _decided(low: Array, high: Array, least: Array, liking: Array) -> Ends:
    """Narrow the intervals of blocks in which some values are never worse than others.

    Only comparisons in the order of `liking` count: they cannot run in a circle.
    """
    rank = np.argsort(np.argsort(-liking, axis=-1), axis=-1)
    beats = (least >= 0.0) & (rank[..., :, None] < rank[..., None, :])
    others = np.where(beats, low[..., None, :], high[..., None, :]).sum(axis=-1) - high
    ahead = np.where(np.swapaxes(beats, -1, -2), high[..., None, :], low[..., None, :]).sum(axis=-1) - low
    off = DRIFT * low.shape[-1] * (1.0 + high.sum(axis=-1, keepdims=True))
    return np.clip(1.0 - others - off, low, high), np.clip(1.0 - ahead + off, low, high)


def _gains(theta: Array, box: Ends, least: Array) -> Array:
    """Bound what G may gain where each value gives away what it may, to whom that helps most.

    The sum over the values bounds what a block may gain; so does what values may take from others.
    """
    greatest = np.maximum(-np.swapaxes(least, -1, -2), 0.0)
    off = 2.0 * DRIFT * theta.shape[-1]
    giving = (np.maximum(theta - box[0], 0.0) + off) * greatest.max(axis=-2)
    taking = (np.maximum(box[1] - theta, 0.0) + off) * greatest.max(axis=-1)
    total, other = giving.sum(axis=-1, keepdims=True), taking.sum(axis=-1, keepdims=True)
    share = np.divide(other, total, out=np.ones_like(total), where=total > other)
    return np.asarray(giving * share * (1.0 + SUMMING))


def _halves(boxes: Boxes, split: _Split) -> Iterator[Boxes]:
    """Split the interval of one value: in the middle, or, of two values, at its ends, where a maximum is."""
    low, high = boxes[split.family]
    *block, value = split.place
    row = tuple(block)
    least, most = low[row], high[row]
    off = DRIFT * len(least) * (1.0 + float(most.sum()))
    if len(least) == 2:
        first = max(least[value], 1.0 - most[1 - value]) + off, min(most[value], 1.0 - least[1 - value]) - off
    else:
        first = ((least[value] + most[value]) / 2.0,) * 2
    for end, cut in enumerate(first):
        new_least, new_most = least.copy(), most.copy()
        if end == 0:
            new_most[value] = max(min(new_most[value], cut), new_least[value])
        else:
            new_least[value] = min(max(new_least[value], cut), new_most[value])
        reached = _reachable(new_least, new_most, off)
        if reached is not None:
            new_low, new_high = low.copy(), high.copy()
            new_low[row], new_high[row] = reached
            yield {**boxes, split.family: (new_low, new_high)}


def _reachable(least: Array, most: Array, off: float) -> Ends | None:
    """Narrow intervals to what adds up to one; None where nothing does."""
    low = np.maximum(least, 1.0 - (most.sum() - most) - off)
    high = np.minimum(most, 1.0 - (least.sum() - least) + off)
    return (low, high) if (low <= high).all() else None
