"""Search without vertices: what the slopes decide is fixed, and only what they leave open is split.

Input: a credal network, a query about one variable given literals, and a model that comes close to an end.
Output: a bound that holds for every model, as close to what is attained as the time allows, and a better
model where one is met.

To prove P(event | evidence) <= t is to prove that G = P(event, evidence) - t P(evidence) is never positive.
G is linear in each block, so where its slope in one value of a block is never smaller than in another, some
maximum of G gives the first all it may have, or the second no more than it must: intervals shrink, then
slopes are narrower, and so on. What is left is bounded twice, by the relaxation in which contexts choose
apart and by the mean value theorem: G at one model, plus what each block may still gain (proof 25). Where
neither bound suffices, an interval is split in two. Nodes are taken from a stack, many at a time; all of
them are narrowed by one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credalog.methods.vertices.ascent import Climber
from credalog.methods.vertices.disagreement import losses
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

AT_ONCE = 128
"""How many nodes are narrowed by one pass at most."""

MOST_CELLS = 1 << 16
"""How many pairs of values one pass over several nodes compares at most."""

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


class _Node(NamedTuple):
    """The intervals of all families side by side, and how often they have been narrowed since a split."""

    low: Array
    high: Array
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the intervals of each family lie, side by side, and where blocks begin."""

    shapes: Mapping[int, tuple[int, ...]]
    slices: Mapping[int, slice]
    firsts: NDArray[np.intp]
    """The first value of each block, family by family."""
    lengths: NDArray[np.intp]
    """The number of values of each block."""

    @classmethod
    def of(cls, boxes: Mapping[int, Ends]) -> _Places:
        shapes = {x: low.shape for x, (low, _) in boxes.items()}
        stops = list(accumulate((prod(shape) for shape in shapes.values()), initial=0))
        slices = {x: slice(*ends) for x, ends in zip(shapes, pairwise(stops), strict=True)}
        lengths = np.concatenate([np.full(prod(shape[:-1]), shape[-1]) for shape in shapes.values()])
        return cls(shapes, slices, np.cumsum(lengths) - lengths, lengths)

    def boxes(self, low: Array, high: Array) -> Boxes:
        """Give nodes back the axes of their families."""
        return {x: (self._shaped(low, x), self._shaped(high, x)) for x in self.shapes}

    def _shaped(self, values: Array, x: int) -> Array:
        return values[:, self.slices[x]].reshape(len(values), *self.shapes[x])

    def flat(self, tables: Mapping[int, Array]) -> Array:
        """Put the tables of nodes side by side."""
        return np.concatenate([tables[x].reshape(len(tables[x]), -1) for x in self.shapes], axis=1)


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """For each node narrower intervals, a model inside, and what its values may gain, all side by side."""

    low: Array
    high: Array
    model: Array
    gains: Array
    total: Array
    """What all blocks of a node may gain together."""
    change: Array
    """The share of all intervals together that is gone."""


class _Search:
    """Prove that no model passes a trial value; `value` is what the best one met attains."""

    def __init__(self, climber: Climber, layout: Layout, tables: Mapping[int, Array], budget: Budget) -> None:
        self._climber, self._layout, self._budget = climber, layout, budget
        self._root = {x: climber.credal.ranges(x, climber.asked.observed) for x in layout.parents}
        self._places = _Places.of(self._root)
        self._at_once = max(1, min(AT_ONCE, MOST_CELLS // max(layout.cells, 1)))
        self.tables, self.value = tables, -1.0
        self._lacking = inf
        self.explored = 0

    def run(self, gap: float) -> float:
        """Return the value that is proved, so much above the best one that is met on the way."""
        trial = self.value + gap
        self.explored = 0
        low, high = (
            self._places.flat({x: box[end][None] for x, box in self._root.items()}) for end in (0, 1)
        )
        waiting = [_Node(low[0], high[0])]
        while waiting:
            taken = waiting[-self._at_once :]
            del waiting[-self._at_once :]
            self.explored += sum(node.rounds == 0 for node in taken)
            waiting += self._explored(taken, trial)
            trial = max(trial, self.value + gap)
            if trial >= 1.0:
                return 1.0
        return trial

    def _explored(self, nodes: Sequence[_Node], trial: float) -> Iterator[_Node]:
        """Yield what is left of nodes in which the trial value may be passed: narrower ones, or halves."""
        low, high = np.stack([node.low for node in nodes]), np.stack([node.high for node in nodes])
        rounds = np.array([node.rounds for node in nodes])
        boxes = self._places.boxes(low, high)
        passed = upward(self._layout, boxes, self._climber.event, trial, self._budget)
        open_ = np.flatnonzero(~(passed.total(self._layout)[1] <= 0.0))
        if not len(open_):
            return
        found = self._narrowed(low, high, advantages(self._layout, boxes, passed, self._budget))
        hopeful = open_[found.total[open_] < WORTH_TRYING * self._lacking]
        still = np.setdiff1d(open_, self._closed(found, hopeful, trial))
        narrows = (found.change >= LEAST_CHANGE) & (rounds + 1 < ROUNDS)
        for i in still[narrows[still]]:
            yield _Node(found.low[i], found.high[i], int(rounds[i]) + 1)
        if not narrows[still].all():
            lost = self._places.flat(losses(self._layout, boxes, passed))
            for i in still[~narrows[still]]:
                yield from self._halves(found, int(i), lost[i])

    def _narrowed(self, low: Array, high: Array, advantage: Mapping[int, Array]) -> _Narrowed:
        """Narrow all intervals, choose models inside, and bound what they may still gain in each block."""
        boxes, narrower, model, gains = self._places.boxes(low, high), {}, {}, {}
        for x, least in advantage.items():
            liking = (least - np.swapaxes(least, -1, -2)).sum(axis=-1)
            narrower[x] = _decided(*boxes[x], least, liking)
            model[x] = filled(*narrower[x], liking)
            gains[x] = _gains(model[x], narrower[x], least)
        new_low, new_high = (
            self._places.flat({x: ends[side] for x, ends in narrower.items()}) for side in (0, 1)
        )
        before, after = (high - low).sum(axis=1), (new_high - new_low).sum(axis=1)
        change = np.divide(before - after, before, out=np.zeros_like(before), where=before > 0.0)
        flat = self._places.flat(gains)
        return _Narrowed(new_low, new_high, self._places.flat(model), flat, flat.sum(axis=1), change)

    def _closed(self, found: _Narrowed, nodes: NDArray[np.intp], trial: float) -> NDArray[np.intp]:
        """Return the nodes where G is not positive at one model, nor with all that its blocks may gain.

        The tables of the model are known up to what a knapsack is off by.
        """
        if not len(nodes):
            return nodes
        places, model = self._places, found.model[nodes]
        off = DRIFT * places.lengths.repeat(places.lengths)
        around = places.boxes(
            np.maximum(found.low[nodes], model - off), np.minimum(found.high[nodes], model + off)
        )
        _, most = upward(self._layout, around, self._climber.event, trial, self._budget).total(self._layout)
        best = int(most.argmax())
        if most[best] > 0.0:
            self._meet(model[best])
        self._lacking = max(-float(most[best]), 0.0) or inf
        return nodes[most + found.total[nodes] * (1.0 + SUMMING) <= 0.0]

    def _meet(self, model: Array) -> None:
        """Keep a model if it attains more than the best so far."""
        theta = self._places.boxes(model[None], model[None])
        tables = {x: self._climber.completed(x, self.tables[x], theta[x][0][0]) for x in theta}
        value = self._climber.posterior(tables, self._budget)
        if value > self.value:
            self.tables, self.value = tables, value

    def _halves(self, found: _Narrowed, node: int, lost: Array) -> Iterator[_Node]:
        """Split a node at the block that may gain most and whose contexts lose most if they agree.

        Of its values it is the one that may give most.
        """
        low, high, gains = found.low[node], found.high[node], found.gains[node]
        is_open = high - low > NARROW
        places = self._places
        may_split = np.logical_or.reduceat(is_open, places.firsts)
        of_block = np.where(may_split, np.add.reduceat(gains, places.firsts) + lost, 0.0)
        block = int(of_block.argmax())
        if of_block[block] <= 0.0:
            raise _Undecided
        first = places.firsts[block]
        place = slice(first, first + places.lengths[block])
        value = int(np.where(is_open, gains, -1.0)[place].argmax())
        for least, most in _split(low[place], high[place], value):
            new_low, new_high = low.copy(), high.copy()
            new_low[place], new_high[place] = least, most
            yield _Node(new_low, new_high)


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


def _split(least: Array, most: Array, value: int) -> Iterator[Ends]:
    """Split the interval of one value: in the middle, or, of two values, at its ends, where a maximum is."""
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
            yield reached


def _reachable(least: Array, most: Array, off: float) -> Ends | None:
    """Narrow intervals to what adds up to one; None where nothing does."""
    low = np.maximum(least, 1.0 - (most.sum() - most) - off)
    high = np.minimum(most, 1.0 - (least.sum() - least) + off)
    return (low, high) if (low <= high).all() else None
