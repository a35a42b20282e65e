"""Search without vertices: what the slopes decide is fixed, and only what they leave open is split.

Input: a credal network, a query about one variable given literals, and a model that comes close to an end.
Output: a bound that holds for every model, as close to what is attained as the time allows, and a better
model where one is met.

To prove P(event | evidence) <= t is to prove that G = P(event, evidence) - t P(evidence) is never positive.
G is linear in each block, so where its slope in one value of a block is never smaller than in another, some
maximum of G gives the first all it may have, or the second no more than it must: intervals shrink, then
slopes are narrower, and so on. What is left is bounded twice, by the relaxation in which contexts choose
apart and by the mean value theorem: G at one model, plus what each block may still gain (proof 25). Where
neither suffices, cells are compared (`differences`), then all is linear but for an error (`first_order`); and
where no bound does, the block that may gain most and whose contexts differ most is split: one of its
values is at an end of its interval, or it is the only one that is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import inf, prod
from typing import NamedTuple

import numpy as np

from credalog.methods.vertices.ascent import Climber
from credalog.methods.vertices.differences import Differences
from credalog.methods.vertices.first_order import coefficients, greatest
from credalog.methods.vertices.greedy import DRIFT
from credalog.methods.vertices.interval_slopes import (
    Boxes,
    Ends,
    Layout,
    Nodes,
    Slopes,
    Upward,
    at_nodes,
    slopes,
    slopes_on_the_way,
    upward,
)
from credalog.methods.vertices.weighing import Pace
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.tolerances import absolute_gap, allowed_gap
from credalog.tables.cones import Array
from credalog.tables.interval_sets import filled
from credalog.trusted.rounding import relative_error

__all__ = ["MOST_COMPARED", "Closing"]

MOST_COMPARED = 1 << 22
"""A network in which more pairs of values are compared in all contexts together is not searched."""

CLOSE = 0.95
"""The share of the tolerance to which a search is driven; the rest is for roundings."""

STAGES = ((32.0, allowed_gap), (8.0, allowed_gap), (1.0, absolute_gap), (1.0, allowed_gap))
"""How many times the tolerance lie between the values proved one after the other and what is attained; the
tolerance of a rare event is finer, and it is proved within the usual one before that."""

ROUNDS = 10
"""How often intervals are narrowed at one node at most."""

LEAST_CHANGE = 0.02
"""Narrowing goes on while so great a share of all intervals together goes."""

WORTH_TRYING = 2.0
"""A model is not tried where its blocks may gain so many times what the last one lacked."""

STAYING = 2.0
"""A block stays at the model where it may gain less than so many times what it loses otherwise."""

NEARLY = 0.25
"""Blocks move one after the other where so great a share of what they may gain would be little enough."""

PROMISING = 0.05
"""Closer bounds are tried again at the next split where one was so small a share of the first;"""

WAITING = 8
"""where it was not, after so many splits."""

MOST_COEFFICIENTS = 1 << 25
"""Where one step of an elimination would have more, no bound to the first order is tried."""

NARROW = 1e-10
"""An interval that is not wider is not split."""

BATCH = 96
"""How many nodes are bounded at once at most."""

BATCH_CELLS = 1 << 21
"""How many pairs of values are compared at once at most, over all nodes."""

MOST_VERTICES = 32
"""A block with more vertices is not split into these, but at the middle of one interval."""

MOST_VALUES = 7
"""The vertices of blocks with more values are not looked for."""

SUMMING = relative_error(1 << 24)
"""More than the rounding of a sum over all blocks."""


class Closing:
    """A search that may be taken up again: the posterior of the climber's event is at most `bound`."""

    def __init__(
        self, climber: Climber, layout: Layout, start: Mapping[int, Array], bound: float, tolerance: float
    ) -> None:
        self.bound = bound
        self._tolerance, self._stages = tolerance, list(STAGES)
        self._search = _Search(climber, layout, start)
        self._gap: float | None = None

    @property
    def tables(self) -> Mapping[int, Array]:
        """Return the best model that was met."""
        return self._search.tables

    def compare(self, budget: Budget) -> None:
        """Prove what the differences of cells prove without any split."""
        with suppress(OutOfTime):
            self._search.begin(budget)
            value = self._search.value
            if value >= 0.0:
                gap = CLOSE * allowed_gap(self._tolerance, value)
                self.bound = self._search.whole().proved(value, self.bound, gap=gap, budget=budget)

    def run(self, budget: Budget, report: Callable[[float, int], None]) -> None:
        """Prove bounds closer and closer, while the time lasts.

        Of each the bound is reported, and how many nodes it took.
        """
        try:
            self._search.begin(budget)
            while self._stages:
                self._prove(budget, report)
                del self._stages[0]
        except OutOfTime:
            return
        except _Undecided:
            self._stages.clear()

    def _prove(self, budget: Budget, report: Callable[[float, int], None]) -> None:
        """Prove a bound as far from what is attained as the next stage says, if there is none closer."""
        search = self._search
        if self._gap is None:
            # A better model that is met moves the goal: what was proved of a smaller value holds for it.
            times, tolerance_at = self._stages[0]
            gap = times * CLOSE * tolerance_at(self._tolerance, max(search.value, 0.0))
            if search.value < 0.0 or search.value + gap >= self.bound:
                return
            self._gap = gap
            search.set_goal(gap)
        self.bound = min(self.bound, search.run(budget))
        self._gap = None
        report(self.bound, search.explored)


class _Undecided(Exception):
    """Nothing is left to choose but roundings, which this search does not see through."""


class _Node(NamedTuple):
    """Intervals of all entries of all tables, side by side, and how often they were narrowed."""

    low: Array
    high: Array
    rounds: int = 0
    waits: int = 0
    """After how many splits closer bounds are worth their price."""


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the tables of all families lie in a row of all their entries."""

    slices: Mapping[int, slice]
    shapes: Mapping[int, tuple[int, ...]]

    @classmethod
    def of(cls, boxes: Boxes) -> _Places:
        """Lay tables side by side."""
        shapes = {x: low.shape for x, (low, _) in boxes.items()}
        slices, first = dict[int, slice](), 0
        for x, shape in shapes.items():
            slices[x] = slice(first, first := first + prod(shape))
        return cls(slices, shapes)

    def tables(self, rows: Array) -> dict[int, Array]:
        """Return the tables of some rows, as views."""
        return {x: rows[:, mine].reshape(-1, *self.shapes[x]) for x, mine in self.slices.items()}

    def boxes(self, low: Array, high: Array) -> Boxes:
        """Return the intervals of some rows."""
        least, most = self.tables(low), self.tables(high)
        return {x: (least[x], most[x]) for x in self.shapes}

    def rows(self, tables: Mapping[int, Array]) -> Array:
        """Lay tables of some nodes side by side."""
        return np.concatenate([tables[x].reshape(len(tables[x]), -1) for x in self.shapes], axis=1)


class _Split(NamedTuple):
    """The value of a block whose interval is split."""

    family: int
    place: tuple[int, ...]
    """Parents' states, then the value."""


@dataclass(frozen=True, slots=True)
class _Narrowed:
    """Narrower intervals of some nodes, a model in each, and what its blocks may gain, each and together."""

    boxes: Boxes
    model: Mapping[int, Array]
    gains: Mapping[int, Array]
    gain: Array
    stays: Mapping[int, Array]
    """Marks the blocks that may gain less from the model than they lose where contexts choose apart."""
    cost: Array
    """What these may gain together."""
    change: Array
    """The share of all intervals together that is gone."""


class _Search:
    """Prove that no model passes a trial value; `value` is what the best one met attains."""

    def __init__(self, climber: Climber, layout: Layout, tables: Mapping[int, Array]) -> None:
        self._climber, self._layout, self._budget = climber, layout, Budget.of()
        self.tables, self.value = tables, -1.0
        self._lacking = inf
        self.explored, self._pace = 0, Pace()
        self._has_first_order = coefficients(layout) <= MOST_COEFFICIENTS
        credal, observed = climber.credal, climber.asked.observed
        start = {x: credal.ranges(x, observed) for x in layout.parents}
        self._places = _Places.of(start)
        low, high = (np.concatenate([box[end].reshape(-1) for box in start.values()]) for end in (0, 1))
        self._root = _Node(low, high)
        self._gap, self._trial = 0.0, 1.0
        self._waiting = list[_Node]()

    def begin(self, budget: Budget) -> None:
        """Evaluate the model to begin with, unless that was done."""
        if self.value < 0.0:
            self.value = self._climber.posterior(self.tables, budget)

    def whole(self) -> Differences:
        """Return what cells differ by where nothing is split."""
        return self._differences(self._places.boxes(self._root.low[None], self._root.high[None]))

    def _differences(self, boxes: Boxes) -> Differences:
        single = {x: (low[0], high[0]) for x, (low, high) in boxes.items()}
        return Differences(self._layout, single, self._climber.event)

    def set_goal(self, gap: float) -> None:
        """Begin to prove a value so much above the best one that is met."""
        self.explored, self._gap = 0, gap
        self._begin_again()

    def _begin_again(self) -> None:
        self._trial, self._waiting = self.value + self._gap, [self._root]

    def run(self, budget: Budget) -> float:
        """Return the value that is proved; what is left when the time is up waits for the next run."""
        self._budget = budget
        at_once = max(1, min(BATCH, BATCH_CELLS // self._layout.cells))
        while self._waiting and self._trial < 1.0:
            budget.require_time()
            nodes = self._waiting[-at_once:]
            self._waiting[-at_once:] = self._explored(nodes, self._trial)
            self.explored += sum(node.rounds == 0 for node in nodes)
            if self._is_outdone:
                # What was narrowed for one trial value says nothing of another.
                self._begin_again()
        return min(self._trial, 1.0)

    @property
    def _is_outdone(self) -> bool:
        """Tell whether a model was met for which another value is to be tried.

        One that is better by less than a rounding is none: where nodes are dropped, the search begins again.
        """
        return self.value + self._gap > self._trial

    def _explored(self, nodes: list[_Node], trial: float) -> list[_Node]:
        """Bound nodes; return those that may pass the trial value narrower, or what they were split into."""
        boxes = self._places.boxes(np.array([n.low for n in nodes]), np.array([n.high for n in nodes]))
        passed = upward(self._layout, boxes, self._climber.event, trial, self._budget)
        (open_,) = np.nonzero(~(passed.total(self._layout)[1] <= 0.0))
        if not len(open_):
            return []
        boxes, passed = at_nodes(boxes, open_), passed.at(open_)
        compiles = self._pace.compiles(self._layout.cells * len(open_), self._budget)
        found = slopes(self._layout, boxes, passed, self._budget, compiles=compiles)
        narrowed = _narrowed(boxes, found)
        low, high = (self._places.rows({x: b[end] for x, b in narrowed.boxes.items()}) for end in (0, 1))
        kept = list[_Node]()
        left, splits = self._left(narrowed, passed, trial), _chosen(narrowed, found)
        for i in left if not self._is_outdone else ():
            parent = nodes[open_[i]]
            node = _Node(low[i], high[i], parent.rounds + 1, parent.waits)
            if narrowed.change[i] >= LEAST_CHANGE and node.rounds < ROUNDS:
                kept.append(node)
            elif (waits := self._closely(narrowed, passed, np.array([i]), trial, parent.waits)) is not None:
                kept += self._halves(node._replace(waits=waits), splits[i])
        return kept

    def _closely(self, found: _Narrowed, passed: Upward, node: Nodes, trial: float, waits: int) -> int | None:
        """Bound a node more closely (proofs 34, 36); return when to try that again, None if it is closed."""
        if waits:
            return waits - 1
        boxes, before = at_nodes(found.boxes, node), passed.at(node)
        most = self._differences(boxes).greatest(trial, self._budget)
        if most > 0.0 and self._has_first_order:
            most = min(most, greatest(self._layout, boxes, before, self._budget))
        if most <= 0.0:
            return None
        return 0 if most <= PROMISING * float(before.total(self._layout)[1][0]) else WAITING

    def _left(self, found: _Narrowed, passed: Upward, trial: float) -> Nodes:
        """Return the nodes that no mean value closes.

        That takes a model at which G is not positive, nor with all that its blocks may gain; or that the
        relaxation in which some blocks stay at the model is not positive with what these may gain, all at
        once or one family after the other (proof 33). The tables of a model are known up to what a knapsack
        is off by.
        """
        is_left = np.ones(len(found.cost), dtype=np.bool_)
        (tried,) = np.nonzero(found.cost < WORTH_TRYING * self._lacking)
        if not len(tried):
            return np.flatnonzero(is_left)
        most = self._passed(found, tried, trial).total(self._layout)[1]
        best = int(most.argmax())
        if most[best] > 0.0:
            self._meet({x: table[tried[best]] for x, table in found.model.items()})
        self._lacking = float(np.maximum(-most, 0.0).max()) or inf
        is_left[tried] = ~(most + found.gain[tried] * (1.0 + SUMMING) <= 0.0)
        tried = tried[is_left[tried] & (most + found.cost[tried] < 0.0)]
        if len(tried):
            staying = self._passed(found, tried, trial, found.stays)
            most = staying.total(self._layout)[1]
            is_left[tried] = ~(most + found.cost[tried] * (1.0 + SUMMING) <= 0.0)
            (near,) = np.nonzero(is_left[tried] & (most + NEARLY * found.cost[tried] < 0.0))
            if len(near):
                cost = self._cost_on_the_way(found, tried[near], passed, staying.at(near))
                is_left[tried[near]] = ~(most[near] + cost * (1.0 + SUMMING) <= 0.0)
        return np.flatnonzero(is_left)

    def _cost_on_the_way(self, found: _Narrowed, nodes: Nodes, passed: Upward, staying: Upward) -> Array:
        """Add up what the blocks that stay may gain where their families move one after the other."""
        tables, boxes = self._tables(found, nodes, found.stays), at_nodes(found.boxes, nodes)
        compiles, before = self._pace.is_compiled, passed.at(nodes)
        advantage = slopes_on_the_way(self._layout, tables, staying, before, self._budget, compiles=compiles)
        gains = {x: _gains(found.model[x][nodes], boxes[x], advantage[x]).sum(axis=-1) for x in boxes}
        return _sums({x: np.where(found.stays[x][nodes], gains[x], 0.0) for x in boxes})

    def _passed(
        self, found: _Narrowed, nodes: Nodes, trial: float, stays: Mapping[int, Array] | None = None
    ) -> Upward:
        """Sum out where the blocks that stay are at the model; all of them, unless told otherwise."""
        tables = self._tables(found, nodes, stays)
        return upward(self._layout, tables, self._climber.event, trial, self._budget)

    def _tables(self, found: _Narrowed, nodes: Nodes, stays: Mapping[int, Array] | None) -> Boxes:
        tables = {x: _around(found.model[x], found.boxes[x]) for x in found.model}
        if stays is not None:
            tables = {x: _where(stays[x], tables[x], found.boxes[x]) for x in tables}
        return at_nodes(tables, nodes)

    def _meet(self, model: Mapping[int, Array]) -> None:
        """Keep a model if it attains more than the best so far."""
        tables = {x: self._climber.completed(x, self.tables[x], model[x]) for x in model}
        value = self._climber.posterior(tables, self._budget)
        if value > self.value:
            self.tables, self.value = tables, value

    def _halves(self, node: _Node, split: _Split | None) -> Iterator[_Node]:
        """Yield the parts of a node in which one value of a block is at an end, or is not."""
        if split is None:
            raise _Undecided
        shape, mine = self._places.shapes[split.family], self._places.slices[split.family]
        first = mine.start + int(np.ravel_multi_index((*split.place[:-1], 0), shape))
        block = slice(first, first + shape[-1])
        state = self._layout.observed.get(split.family)
        for least, most in _parts(node.low[block], node.high[block], split.place[-1], state):
            low, high = node.low.copy(), node.high.copy()
            low[block], high[block] = least, most
            yield _Node(low, high, waits=node.waits)


def _around(theta: Array, box: Ends) -> Ends:
    off = DRIFT * theta.shape[-1]
    return np.maximum(box[0], theta - off), np.minimum(box[1], theta + off)


def _where(blocks: Array, some: Ends, others: Ends) -> Ends:
    """Return some intervals where blocks are marked, and others elsewhere."""
    low, high = (np.where(blocks[..., None], a, b) for a, b in zip(some, others, strict=True))
    return low, high


def _narrowed(boxes: Boxes, found: Slopes) -> _Narrowed:
    """Narrow all intervals, choose a model inside, and add up what it may still gain in each block."""
    advantage = found.advantage
    liking = {x: (least - np.swapaxes(least, -1, -2)).sum(axis=-1) for x, least in advantage.items()}
    narrower = {x: _decided(*boxes[x], advantage[x], liking[x]) for x in boxes}
    model = {x: filled(*narrower[x], liking[x]) for x in boxes}
    gains = {x: _gains(model[x], narrower[x], advantage[x]) for x in boxes}
    before, after = (_sums({x: high - low for x, (low, high) in b.items()}) for b in (boxes, narrower))
    change = np.divide(before - after, before, out=np.zeros_like(before), where=before > 0.0)
    by_block = {x: gain.sum(axis=-1) for x, gain in gains.items()}
    stays = {x: by_block[x] < STAYING * np.maximum(found.loss[x], 0.0) for x in boxes}
    cost = _sums({x: np.where(stays[x], by_block[x], 0.0) for x in boxes})
    return _Narrowed(narrower, model, gains, _sums(gains), stays, cost, change)


def _sums(tables: Mapping[int, Array]) -> Array:
    """Add up, at each node, the entries of all tables."""
    return np.asarray(sum(table.reshape(len(table), -1).sum(axis=1) for table in tables.values()))


def _chosen(narrowed: _Narrowed, found: Slopes) -> list[_Split | None]:
    """Choose at each node the block that may gain most and whose contexts differ most, the two added up.

    Of its values it is the one that may give most; None where nothing is left to choose.
    """
    families, worth = list(narrowed.gains), list[Array]()
    is_open = {x: high - low > NARROW for x, (low, high) in narrowed.boxes.items()}
    for x in families:
        may = np.where(is_open[x].sum(axis=-1) > 1, narrowed.gains[x].sum(axis=-1), 0.0)
        both = np.where(may > 0.0, may + np.maximum(found.loss[x], 0.0), 0.0)
        worth.append(both.reshape(len(both), -1))
    best = np.array([part.max(axis=1) for part in worth])
    splits = list[_Split | None]()
    for node in range(len(narrowed.gain)):
        number = int(best[:, node].argmax())
        x, place = families[number], int(worth[number][node].argmax())
        block = np.unravel_index(place, narrowed.gains[x].shape[1:-1])
        giving = np.where(is_open[x][node], narrowed.gains[x][node], -1.0)[block]
        split = _Split(x, (*(int(i) for i in block), int(giving.argmax())))
        splits.append(split if best[number, node] > 0.0 else None)
    return splits


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


def _parts(least: Array, most: Array, value: int, state: int | None) -> Iterator[Ends]:
    """Yield parts of a block in one of which some maximum of G is.

    G is linear in the block, so that it is greatest at a vertex; of an observed variable only the probability
    of its state counts, so that this is at an end. What has too many vertices is halved.
    """
    off = DRIFT * len(least) * (1.0 + float(most.sum()))
    whole = _reachable(least, most, off)
    if whole is None:
        return
    low, high = whole
    vertices = None if state is not None else _vertices(low, high, off)
    if vertices is not None:
        for vertex in vertices:
            yield np.clip(vertex - 4.0 * off, low, high), np.clip(vertex + 4.0 * off, low, high)
        return
    middle = float(low[value] + high[value]) / 2.0
    cuts = [(low[value], middle), (middle, high[value])]
    if state is not None:
        value = state
        # What can be reached is less than the ends by `off`, and roundings, at most.
        cuts = [(high[value] - 2.0 * off, high[value]), (low[value], low[value] + 2.0 * off)]
    for bottom, top in cuts:
        new_low, new_high = low.copy(), high.copy()
        new_low[value], new_high[value] = max(bottom, low[value]), min(top, high[value])
        reached = _reachable(new_low, new_high, off)
        if reached is not None:
            yield reached


def _vertices(low: Array, high: Array, off: float) -> list[Array] | None:
    """Return points within twice `off` of all vertices of a block; None where there are too many.

    All values but one are at an end, and that one is what they leave.
    """
    size = len(low)
    if size > MOST_VALUES:
        return None
    found = list[Array]()
    for last in range(size):
        others = [i for i in range(size) if i != last]
        for ends in product(*((low[i], high[i]) if low[i] < high[i] else (low[i],) for i in others)):
            point = np.empty(size)
            point[others], point[last] = ends, 1.0 - sum(ends)
            is_inside = low[last] - off / 2.0 <= point[last] <= high[last] + off / 2.0
            if is_inside and all(np.abs(point - other).max() > 1.5 * off for other in found):
                found.append(point)
    return found if len(found) <= MOST_VERTICES else None


def _reachable(least: Array, most: Array, off: float) -> Ends | None:
    """Narrow intervals to what adds up to one; None where nothing does."""
    low = np.maximum(least, 1.0 - (most.sum() - most) - off)
    high = np.minimum(most, 1.0 - (least.sum() - least) + off)
    return (low, high) if (low <= high).all() else None
