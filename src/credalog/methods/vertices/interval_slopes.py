"""How a posterior's score depends on each conditional probability: bounds on all slopes at once.

Input: for many nodes of a search at once an interval for every entry of the relevant tables, and a trial
value t. Output: bounds on G = P(event, evidence) - t P(evidence), and for each block (a family in one
configuration of its parents) and each two of its values a lower bound on how much more G grows with the one
than with the other.

Variables are summed out children first, and every message is an interval: `upward`. The weight of a message
in G is an interval too, found on the way back (`_Weights`; Darwiche, 2003, with intervals for numbers). All
are moved outwards at every step by what roundings may amount to: a share of the sum of all magnitudes, what a
knapsack may be off by (see `greedy`), and more than underflow can take.

All arrays carry the nodes of the search on their first axis: most steps are so small that a hundred nodes
take little longer than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.methods.vertices.greedy import DRIFT, VANISHING
from credalog.methods.vertices.weighing import Terms, cells, weigh
from credalog.numbers.budget import Budget
from credalog.tables.cones import Array
from credalog.tables.elimination import Potential, combined
from credalog.tables.interval_sets import greatest_sum
from credalog.trusted.rounding import relative_error

__all__ = [
    "NODES",
    "Boxes",
    "Ends",
    "Layout",
    "Nodes",
    "Slopes",
    "Upward",
    "at_nodes",
    "slopes",
    "slopes_on_the_way",
    "upward",
]

Ends: TypeAlias = tuple[Array, Array]
"""The least and the greatest values of a table."""

Boxes: TypeAlias = Mapping[int, Ends]
"""For each family the least and the greatest probabilities: axes are nodes, its parents, then itself."""

NODES = -1
"""Stands for the axis of the nodes in a scope."""

Nodes: TypeAlias = NDArray[np.intp]
"""The numbers of some nodes."""

OPERATIONS = 64
"""More roundings than one number undergoes in one step, sums apart."""


@dataclass(frozen=True, slots=True)
class Step:
    """A variable that goes, what it meets, itself last, and the messages that enter, by their variables."""

    variable: int
    scope: tuple[int, ...]
    entering: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The steps of an elimination, children first, and the scope of every message."""

    target: int
    parents: Mapping[int, tuple[int, ...]]
    observed: Mapping[int, int]
    sizes: Sequence[int]
    steps: tuple[Step, ...]
    scopes: Mapping[int, tuple[int, ...]]
    sums: Mapping[int, tuple[tuple[int, ...], ...]]
    """Of each message which axes are kept where slopes are summed over the others."""

    @classmethod
    def of(
        cls,
        target: int,
        parents: Mapping[int, tuple[int, ...]],
        observed: Mapping[int, int],
        sizes: Sequence[int],
        order: Iterable[int],
    ) -> Layout:
        """Lay out an order of elimination."""
        waiting = {x: tuple(parents[x]) for x in parents if x in observed}
        scopes, steps = dict(waiting), []
        for x in order:
            entering = tuple(m for m, scope in waiting.items() if x in scope)
            met = dict.fromkeys([*parents[x], *(y for m in entering for y in waiting.pop(m) if y != x)])
            steps.append(Step(x, (*met, x), entering))
            waiting[x] = scopes[x] = tuple(met)
        sums = _sums(parents, observed, steps, scopes)
        return cls(target, parents, observed, sizes, tuple(steps), scopes, sums)

    @property
    def cells(self) -> int:
        """Return how many pairs of values are compared in all contexts together."""
        return sum(prod(self.shape(step)) * self.sizes[step.variable] for step in self.steps)

    def shape(self, step: Step) -> tuple[int, ...]:
        """Return the axes of all that meets at a step."""
        return tuple(self.sizes[y] for y in step.scope)

    def context(self, step: Step) -> tuple[int, ...]:
        """Return the axes of a step, the first being the nodes, that are not those of its family."""
        own = self.family(step.variable)
        return tuple(i for i, y in enumerate(step.scope, start=1) if y not in own)

    def by_parents(self, step: Step, values: Array) -> Array:
        """Put what is left of a step without its context into the order of the family's parents."""
        parents = self.parents[step.variable]
        kept = [y for y in step.scope if y in parents]
        rest = range(len(kept) + 1, values.ndim)
        return values.transpose((0, *(kept.index(p) + 1 for p in parents), *rest))

    def family(self, x: int) -> tuple[int, ...]:
        """Return the axes of a table."""
        return (NODES, *self.parents[x], x)


def _sums(
    parents: Mapping[int, tuple[int, ...]],
    observed: Mapping[int, int],
    steps: Iterable[Step],
    scopes: Mapping[int, tuple[int, ...]],
) -> dict[int, tuple[tuple[int, ...], ...]]:
    """Find which sums over a message's slopes are of use: those that the messages entering before it want."""
    sums: dict[int, tuple[tuple[int, ...], ...]] = {x: (scopes[x],) for x in scopes if x in observed}
    for step in steps:
        mine = scopes[step.variable]
        wanted = [mine, parents[step.variable], *(kept for m in step.entering for kept in sums[m])]
        found = dict.fromkeys(tuple(y for y in mine if y in kept) for kept in wanted)
        sums[step.variable] = tuple(sorted(found, key=len, reverse=True))
    return sums


@dataclass(frozen=True, slots=True)
class Upward:
    """All messages, what each variable meets as it goes, and which messages involve the query."""

    messages: Mapping[int, Ends]
    products: Mapping[int, Ends]
    asking: frozenset[int]
    score: Ends
    """The event minus the trial value, on the axis of the query's variable."""

    def total(self, layout: Layout) -> Ends:
        """Return bounds on G at each node."""
        return self.messages[layout.steps[-1].variable]

    def at(self, nodes: Nodes) -> Upward:
        """Return what was computed for some of the nodes."""
        return replace(self, messages=at_nodes(self.messages, nodes), products=at_nodes(self.products, nodes))


def at_nodes(ends: Mapping[int, Ends], nodes: Nodes) -> dict[int, Ends]:
    """Return the tables of some of the nodes; one that all nodes share stays."""
    return {x: (low[nodes], high[nodes]) if len(low) > 1 else (low, high) for x, (low, high) in ends.items()}


def upward(layout: Layout, boxes: Boxes, event: Array, trial: float, budget: Budget) -> Upward:
    """Sum out all variables."""
    score = (np.nextafter(event - trial, -2.0), np.nextafter(event - trial, 2.0))
    messages: dict[int, Ends] = {}
    for x, state in layout.observed.items():
        if x in layout.parents:
            messages[x] = boxes[x][0][..., state], boxes[x][1][..., state]
    products: dict[int, Ends] = {}
    asking: set[int] = set()
    for step in layout.steps:
        budget.require_time()
        x = step.variable
        plain = [_stretched(layout, m, messages, step.scope) for m in step.entering if m not in asking]
        met = reduce(_times_plain, plain, (np.ones([1] * (len(step.scope) + 1)),) * 2)
        signed = next((m for m in step.entering if m in asking), None)
        if signed is not None or x == layout.target:
            factor = score if signed is None else _stretched(layout, signed, messages, step.scope)
            met = _times_plain(factor, met)
            asking.add(x)
        products[x] = met
        messages[x] = _summed(layout, step, boxes[x], met, is_signed=x in asking)
    return Upward(messages, products, frozenset(asking), score)


def _stretched(layout: Layout, m: int, messages: Mapping[int, Ends], scope: tuple[int, ...]) -> Ends:
    own, all_ = (NODES, *layout.scopes[m]), (NODES, *scope)
    low, high = (combined([Potential(own, ends)], all_) for ends in messages[m])
    return low, high


def _times_plain(left: Ends, right: Ends) -> Ends:
    """Multiply intervals; those on the right are not negative."""
    (low, high), (least, most) = left, right
    return np.where(low >= 0.0, low * least, low * most), np.where(high >= 0.0, high * most, high * least)


def _times(left: Ends, right: Ends) -> Ends:
    """Multiply intervals of any sign."""
    products = [a * b for a in left for b in right]
    return reduce(np.minimum, products), reduce(np.maximum, products)


def _magnitude(ends: Ends) -> Array:
    return np.maximum(np.abs(ends[0]), np.abs(ends[1]))


def _box(layout: Layout, x: int, box: Ends, scope: tuple[int, ...]) -> Ends:
    low, high = (combined([Potential(layout.family(x), ends)], (NODES, *scope)) for ends in box)
    return low, high


def _summed(layout: Layout, step: Step, box: Ends, met: Ends, *, is_signed: bool) -> Ends:
    """Sum a variable out: in each context the least and the greatest that some distribution makes of it."""
    low, high = _box(layout, step.variable, box, step.scope)
    size, magnitude = high.shape[-1], _magnitude(met)
    drift = (np.minimum(DRIFT * size, high - low) * magnitude).sum(axis=-1)
    share = relative_error(OPERATIONS * size + 2 * len(step.entering))
    slack = share * (high * magnitude).sum(axis=-1) + drift + VANISHING
    least, most = -greatest_sum(low, high, -met[0]) - slack, greatest_sum(low, high, met[1]) + slack
    return (least if is_signed else np.maximum(least, 0.0)), most


@dataclass(frozen=True, slots=True)
class Slopes:
    """How G depends on every block.

    `advantage` bounds from below how much more G grows with one value than with another: its last two axes
    are the values compared; a value beside itself has no advantage. `loss` is about what the bound on G would
    lose if all contexts of a block chose the same distribution: where to split, nothing more.
    """

    advantage: Mapping[int, Array]
    loss: Mapping[int, Array]


def slopes(layout: Layout, boxes: Boxes, passed: Upward, budget: Budget, *, compiles: bool = False) -> Slopes:
    """Find how G depends on every block, at every node."""
    weights = _Weights(layout, boxes, passed, budget, compiles=compiles)
    advantage, loss = dict[int, Array](), dict[int, Array]()
    for x in layout.parents:
        budget.require_time()
        if x in layout.observed:
            advantage[x] = _of_observed(weights.of(x), boxes[x][0].shape[-1], layout.observed[x])
            loss[x] = _lost_by_observed(weights.of(x), passed.messages[x])
    for step in layout.steps:
        budget.require_time()
        x = step.variable
        advantage[x] = _compared(layout, step, weights, passed)
        loss[x] = _lost(layout, step, boxes[x], weights.of(x), passed)
    return Slopes(advantage, loss)


def slopes_on_the_way(
    layout: Layout,
    boxes: Boxes,
    passed: Upward,
    before: Upward,
    budget: Budget,
    *,
    compiles: bool = False,
) -> dict[int, Array]:
    """Compare values where the families that go before theirs are as in `before`, others as in `passed`.

    Before a family go those whose messages reach it, and those of messages that enter a step ahead of its own
    (proof 33). `boxes` are the tables of `passed`.
    """
    weights = _Weights(layout, boxes, passed, budget, before, compiles=compiles)
    found = {x: _compared(layout, step, weights, before) for step in layout.steps for x in [step.variable]}
    for x, state in layout.observed.items():
        if x in layout.parents:
            found[x] = _of_observed(weights.of(x), boxes[x][0].shape[-1], state)
    return found


def _of_observed(weight: Ends, size: int, state: int) -> Array:
    """Compare the values of an observed variable: only one of them counts at all."""
    found = np.zeros((*weight[0].shape, size, size))
    found[..., state, :] = weight[0][..., None]
    found[..., :, state] = -weight[1][..., None]
    found[..., state, state] = 0.0
    return found


def _lost_by_observed(weight: Ends, message: Ends) -> Array:
    """Return what is lost where the probability of what is observed may not be both least and greatest."""
    least, most = np.minimum(weight[0], 0.0), np.maximum(weight[1], 0.0)
    apart = most * message[1] + least * message[0]
    return np.asarray(apart - np.maximum(*((most + least) * end for end in message)))


def _compared(layout: Layout, step: Step, weights: _Weights, passed: Upward) -> Array:
    """Compare the values of a variable in all contexts, and add these up."""
    x, size = step.variable, layout.sizes[step.variable]
    low, high = (np.broadcast_to(ends, (*ends.shape[:-1], size)) for ends in passed.products[x])
    error = relative_error(OPERATIONS + 2 * len(step.entering))
    kept = (*layout.parents[x], x)
    found = np.zeros((*(len(weights.of(x)[0]), *(layout.sizes[y] for y in kept)), size))
    for a, b in combinations(range(size), 2):
        (least, most), (less, more) = ((low[..., i, None], high[..., i, None]) for i in (a, b))
        slack = error * (_magnitude((least, most)) + _magnitude((less, more))) + VANISHING
        behind, ahead = weights.weighed(step, kept, _Factor(least - more - slack, most - less + slack, error))
        found[..., a, b], found[..., b, a] = behind[..., 0], -ahead[..., 0]
    return found


def _lost(layout: Layout, step: Step, box: Ends, weight: Ends, passed: Upward) -> Array:
    """Return what the contexts of each block gain by choosing apart, for the greatest weights."""
    least, most = np.minimum(weight[0], 0.0), np.maximum(weight[1], 0.0)
    shape, context = (len(least), *layout.shape(step)), layout.context(step)
    message, met = passed.messages[step.variable], passed.products[step.variable]
    apart = layout.by_parents(step, (most * message[1] + least * message[0]).sum(axis=context))
    score = np.broadcast_to(most[..., None] * met[1] + least[..., None] * met[0], shape)
    return np.asarray(apart - greatest_sum(*box, layout.by_parents(step, score.sum(axis=context))))


@dataclass(frozen=True, slots=True)
class _Factor:
    """What slopes are multiplied by, and the share of its magnitude that roundings may amount to."""

    low: Array
    high: Array
    error: float

    @property
    def ends(self) -> Ends:
        """Return both ends."""
        return self.low, self.high


class _Weights:
    """The slope of G in every message, and sums of these over some of its axes, from the last to the first.

    A slope is a sum over contexts of numbers of either sign that nearly cancel: interval by interval that is
    wide. But their sum is known closely, so that of what they are multiplied by only the distance from a
    centre counts (proof 33).
    """

    def __init__(
        self,
        layout: Layout,
        boxes: Boxes,
        passed: Upward,
        budget: Budget,
        before: Upward | None = None,
        *,
        compiles: bool,
    ) -> None:
        self._layout, self._boxes, self._passed, self._compiles = layout, boxes, passed, compiles
        self._before = before or passed
        last = layout.steps[-1].variable
        ones = np.ones(len(passed.messages[last][0]))
        self._sums: dict[int, dict[tuple[int, ...], Ends]] = {last: {(): (ones, ones)}}
        for step in reversed(layout.steps):
            budget.require_time()
            for m in step.entering:
                self._sums[m] = self._back(step, m)

    def of(self, x: int) -> Ends:
        """Return the slope of G in the message of a variable."""
        return self._sums[x][self._layout.scopes[x]]

    def _back(self, step: Step, m: int) -> dict[tuple[int, ...], Ends]:
        """Find the slopes of a message that enters a step, and their sums."""
        layout, x = self._layout, step.variable
        met, box = self._others(step, m), _box(layout, x, self._boxes[x], step.scope)
        error = relative_error(OPERATIONS * layout.sizes[x] + 2 * len(step.entering))
        whole = _Factor(*_times_plain(met, box), error)
        first, *rest = layout.sums[m]
        found = {first: self.weighed(step, first, whole)}
        mixed = whole if all(x in kept for kept in rest) else _mixed(box, met, error)
        for kept in rest:
            around = self._around_centre(step, kept, whole if x in kept else mixed)
            wider = min((k for k in found if set(kept) <= set(k)), key=len)
            found[kept] = _common(around, _summed_over(found[wider], wider, kept))
        if m in self._passed.asking:
            return {kept: (np.maximum(low, 0.0), high) for kept, (low, high) in found.items()}
        return found

    def _others(self, step: Step, m: int) -> Ends:
        """Multiply all that meets a message at a step but the step's own table."""
        passed = self._passed
        met = {o: self._stretched(step, o, m) for o in step.entering if o != m}
        plain = [ends for o, ends in met.items() if o not in passed.asking]
        product = reduce(_times_plain, plain, (np.ones([1] * (len(step.scope) + 1)),) * 2)
        if m in passed.asking or step.variable not in passed.asking:
            return product
        # What brings the query into a step.
        signed = next((ends for o, ends in met.items() if o in passed.asking), passed.score)
        return _times_plain(signed, product)

    def _stretched(self, step: Step, other: int, m: int) -> Ends:
        """Return a message that enters a step beside another, as it is before that one or after it."""
        is_ahead = step.entering.index(other) < step.entering.index(m)
        messages = (self._before if is_ahead else self._passed).messages
        return _stretched(self._layout, other, messages, step.scope)

    def weighed(self, step: Step, kept: tuple[int, ...], factor: _Factor) -> Ends:
        """Sum slopes times a factor over all axes of a step's message that are not kept, and order the rest.

        The last axis of the factor stays where the step's variable is kept, and has length one otherwise.
        """
        gone = _gone(step, kept)
        if gone and self._compiles:
            return self._by_loops(step, kept, factor, is_closer=True)
        least, most = (ends[..., None] for ends in self.of(step.variable))
        product = _times((least, most), factor.ends)
        error = factor.error + relative_error(OPERATIONS + prod(least.shape[i] for i in gone))
        found = _ordered(step, kept, _added(product, gone, error, _magnitude(product)))
        return _common(found, self._around_centre(step, kept, factor)) if gone else found

    def _around_centre(self, step: Step, kept: tuple[int, ...], factor: _Factor) -> Ends:
        """Sum slopes times what a factor is away from a centre, and add the centre times their sum."""
        if self._compiles:
            return self._by_loops(step, kept, factor, is_closer=False)
        least, most = (ends[..., None] for ends in self.of(step.variable))
        gone = _gone(step, kept)
        centre = _centre(most - least, (factor.low + factor.high) / 2.0, gone)
        whole = np.expand_dims(centre, gone)
        apart = _times((least, most), (factor.low - whole, factor.high - whole))
        magnitude = _magnitude((least, most)) * (_magnitude(factor.ends) + np.abs(whole))
        error = factor.error + relative_error(OPERATIONS + prod(least.shape[i] for i in gone))
        low, high = _added(apart, gone, error, magnitude)
        total = self._sums[step.variable][tuple(y for y in step.scope[:-1] if y in kept)]
        more = _times((total[0][..., None], total[1][..., None]), (centre, centre))
        slack = error * (_magnitude(more) + _magnitude((low, high))) + VANISHING
        return _ordered(step, kept, (low + more[0] - slack, high + more[1] + slack))

    def _by_loops(self, step: Step, kept: tuple[int, ...], factor: _Factor, *, is_closer: bool) -> Ends:
        """Sum around a centre, and also term by term if that may be closer, by compiled loops."""
        axes, slopes_of = step.scope[:-1], self._sums[step.variable]
        least, most = slopes_of[axes]
        nodes, shape = len(least), least.shape[1:]
        own = tuple(n if y in kept else 1 for y, n in zip(axes, shape, strict=True))
        slots = cells(factor.low.shape[1:-1], shape), cells(own, shape)
        low, high = (_flat(ends, factor.low.shape[-1]) for ends in factor.ends)
        terms = Terms(_flat(least)[..., 0], _flat(most)[..., 0], low, high, *slots)
        bottom, top = (_flat(ends)[..., 0] for ends in slopes_of[tuple(y for y in axes if y in kept)])
        error = factor.error + relative_error(OPERATIONS + prod(shape) // prod(own))
        found = np.empty((2, nodes, prod(own), low.shape[-1]))
        weigh(terms, (bottom, top), error, is_closer, (found[0], found[1]))
        sizes = (nodes, *(n for y, n in zip(axes, shape, strict=True) if y in kept), low.shape[-1])
        return _ordered(step, kept, (found[0].reshape(sizes), found[1].reshape(sizes)))


def _flat(values: Array, last: int = 1) -> Array:
    """Lay a table's cells side by side: axes are nodes, cells, and what is last."""
    return np.ascontiguousarray(values).reshape(len(values), -1, last)


def _gone(step: Step, kept: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes of a step's message that are not kept; the first is that of the nodes."""
    return tuple(i for i, y in enumerate(step.scope[:-1], start=1) if y not in kept)


def _ordered(step: Step, kept: tuple[int, ...], ends: Ends) -> Ends:
    """Put the axes that are left of a step into an order; the last one goes if it is not kept."""
    if step.variable not in kept:
        ends = ends[0][..., 0], ends[1][..., 0]
    here = [y for y in step.scope if y in kept]
    order = (0, *(here.index(y) + 1 for y in kept))
    return ends[0].transpose(order), ends[1].transpose(order)


def _summed_over(ends: Ends, scope: tuple[int, ...], kept: tuple[int, ...]) -> Ends:
    """Sum over the axes of a scope that are not kept."""
    gone = tuple(i for i, y in enumerate(scope, start=1) if y not in kept)
    terms = prod(ends[0].shape[i] for i in gone)
    return _added(ends, gone, relative_error(OPERATIONS + terms), _magnitude(ends))


def _mixed(box: Ends, met: Ends, error: float) -> _Factor:
    """Sum a step's variable out of what meets a message: the least and the greatest in each context."""
    (low, high), magnitude = box, _magnitude(met)
    drift = (np.minimum(DRIFT * high.shape[-1], high - low) * magnitude).sum(axis=-1)
    slack = error * (high * magnitude).sum(axis=-1) + drift + VANISHING
    least, most = -greatest_sum(low, high, -met[0]) - slack, greatest_sum(low, high, met[1]) + slack
    return _Factor(least[..., None], most[..., None], error)


def _added(terms: Ends, gone: tuple[int, ...], error: float, magnitude: Array) -> Ends:
    """Add intervals up over some axes, and move the sums outwards."""
    slack = error * magnitude.sum(axis=gone) + VANISHING
    return terms[0].sum(axis=gone) - slack, terms[1].sum(axis=gone) + slack


def _centre(weights: Array, values: Array, gone: tuple[int, ...]) -> Array:
    """Return the mean of values over some axes."""
    found, total = (weights * values).sum(axis=gone), weights.sum(axis=gone)
    return np.asarray(np.divide(found, total, out=np.zeros_like(found), where=total > 0.0))


def _common(one: Ends, other: Ends) -> Ends:
    """Return what two intervals share that hold the same number."""
    return np.maximum(one[0], other[0]), np.minimum(one[1], other[1])
