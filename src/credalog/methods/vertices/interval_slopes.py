"""How a posterior's score depends on each conditional probability: bounds on all slopes at once.

Input: for some nodes of a search an interval for every entry of the relevant tables, and a trial value t.
Output: for each node bounds on G = P(event, evidence) - t P(evidence), and for each block (a family in one
configuration of its parents) and each two of its values a lower bound on how much more G grows with the one
than with the other.

Variables are summed out children first, and every message is an interval: `upward`. The weight of a message
in G is an interval too, found on the way back (`_Weights`; Darwiche, 2003, with intervals for numbers). All
are moved outwards at every step by what roundings may amount to: a share of the sum of all magnitudes, what a
knapsack may be off by (see `greedy`), and more than underflow can take.

All arrays carry the nodes on their first axis: a step costs little more for a hundred of them than for one.
The other axes are sorted by the time of elimination, the first to go last: messages fit by stretching.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import TypeAlias

import numpy as np

from credalog.methods.vertices.greedy import DRIFT, VANISHING
from credalog.numbers.budget import Budget
from credalog.tables.cones import Array
from credalog.tables.interval_sets import greatest_sum
from credalog.trusted.rounding import relative_error

__all__ = ["Boxes", "Ends", "Layout", "Upward", "advantages", "upward"]

Ends: TypeAlias = tuple[Array, Array]
"""The least and the greatest values of a table; the first axis runs over nodes of a search."""

Boxes: TypeAlias = Mapping[int, Ends]
"""For each family the least and the greatest probabilities: axes are nodes, its parents, then itself."""

OPERATIONS = 64
"""More roundings than one number undergoes in one step, sums apart."""


@dataclass(frozen=True, slots=True)
class Step:
    """A variable that goes, what it meets, itself last, and the messages that enter, by their variables."""

    variable: int
    scope: tuple[int, ...]
    entering: tuple[int, ...]
    shape: tuple[int, ...]
    """The axes of all that meets."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The steps of an elimination, children first, and the scope of every message."""

    target: int
    parents: Mapping[int, tuple[int, ...]]
    observed: Mapping[int, int]
    sizes: Sequence[int]
    steps: tuple[Step, ...]
    scopes: Mapping[int, tuple[int, ...]]
    stretched: Mapping[int, tuple[int, ...]]
    """The axes of each message where it enters, length one where it lacks one."""
    axes: Mapping[int, tuple[int, ...]]
    """The places of the parents of each family, in the order of elimination."""
    along: Mapping[int, tuple[int, ...]]
    """The axes of each unobserved family in its step, length one along the context."""

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
        going = tuple(order)
        rank = {x: -position for position, x in enumerate(going)}
        axes = {x: tuple(sorted(range(len(of)), key=lambda i: rank[of[i]])) for x, of in parents.items()}
        waiting = {x: tuple(parents[x][i] for i in axes[x]) for x in parents if x in observed}
        scopes, stretched, steps = dict(waiting), dict[int, tuple[int, ...]](), list[Step]()
        for x in going:
            entering = tuple(m for m, scope in waiting.items() if x in scope)
            met = {*parents[x], *(y for m in entering for y in waiting.pop(m))} - {x}
            scope = (*sorted(met, key=rank.__getitem__), x)
            steps.append(Step(x, scope, entering, tuple(sizes[y] for y in scope)))
            for m in entering:
                stretched[m] = tuple(sizes[y] if y in scopes[m] else 1 for y in scope)
            waiting[x] = scopes[x] = scope[:-1]
        along = {
            s.variable: tuple(sizes[y] if y in (*parents[s.variable], s.variable) else 1 for y in s.scope)
            for s in steps
        }
        return cls(target, parents, observed, sizes, tuple(steps), scopes, stretched, axes, along)

    @property
    def cells(self) -> int:
        """Return how many pairs of values are compared in all contexts together."""
        return sum(prod(step.shape) * self.sizes[step.variable] for step in self.steps)

    def context(self, step: Step) -> tuple[int, ...]:
        """Return the axes of a step that are no parents of its variable."""
        own = self.parents[step.variable]
        return tuple(1 + i for i, y in enumerate(step.scope[:-1]) if y not in own)

    def missing(self, step: Step, m: int) -> tuple[int, ...]:
        """Return the axes of a step that a message does not have."""
        return tuple(1 + i for i, y in enumerate(step.scope) if y not in self.scopes[m])

    def entering(self, m: int, messages: Mapping[int, Ends]) -> Ends:
        """Give a message the axes of the step that it enters."""
        low, high = (ends.reshape(len(ends), *self.stretched[m]) for ends in messages[m])
        return low, high

    def leaf(self, x: int, box: Ends) -> Ends:
        """Return the message of an observed variable."""
        order = (0, *(1 + i for i in self.axes[x]))
        low, high = (np.transpose(ends[..., self.observed[x]], order) for ends in box)
        return low, high

    def box(self, x: int, box: Ends) -> Ends:
        """Give the intervals of a family the axes of its step."""
        order = (0, *(1 + i for i in self.axes[x]), 1 + len(self.axes[x]))
        low, high = (np.transpose(ends, order).reshape(len(ends), *self.along[x]) for ends in box)
        return low, high

    def own_order(self, x: int, values: Array) -> Array:
        """Give what is known of the blocks of a family the order of its parents; more axes may follow."""
        parents = len(self.axes[x])
        back = (1 + int(i) for i in np.argsort(self.axes[x]))
        return np.transpose(values, (0, *back, *range(1 + parents, values.ndim)))


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


def upward(layout: Layout, boxes: Boxes, event: Array, trial: float, budget: Budget) -> Upward:
    """Sum out all variables."""
    score = (np.nextafter(event - trial, -2.0), np.nextafter(event - trial, 2.0))
    messages = {x: layout.leaf(x, boxes[x]) for x in layout.parents if x in layout.observed}
    products: dict[int, Ends] = {}
    asking: set[int] = set()
    for step in layout.steps:
        budget.require_time()
        x = step.variable
        plain = [layout.entering(m, messages) for m in step.entering if m not in asking]
        met = reduce(_times_plain, plain, (np.ones([1] * (1 + len(step.scope))),) * 2)
        signed = next((m for m in step.entering if m in asking), None)
        if signed is not None or x == layout.target:
            factor = score if signed is None else layout.entering(signed, messages)
            met = _times_plain(factor, met)
            asking.add(x)
        products[x] = met
        messages[x] = _summed(layout, step, boxes[x], met, is_signed=x in asking)
    return Upward(messages, products, frozenset(asking), score)


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


def _summed(layout: Layout, step: Step, box: Ends, met: Ends, *, is_signed: bool) -> Ends:
    """Sum a variable out: in each context the least and the greatest that some distribution makes of it."""
    low, high = layout.box(step.variable, box)
    size, magnitude = high.shape[-1], _magnitude(met)
    drift = (np.minimum(DRIFT * size, high - low) * magnitude).sum(axis=-1)
    share = relative_error(OPERATIONS * size + 2 * len(step.entering))
    slack = share * (high * magnitude).sum(axis=-1) + drift + VANISHING
    least, most = -greatest_sum(low, high, -met[0]) - slack, greatest_sum(low, high, met[1]) + slack
    return (least if is_signed else np.maximum(least, 0.0)), most


def advantages(layout: Layout, boxes: Boxes, passed: Upward, budget: Budget) -> dict[int, Array]:
    """Bound from below how much more G grows with one value than with another, for every block.

    The axes are nodes, parents, and the two values compared; a value beside itself has no advantage.
    """
    weights = _Weights(layout, boxes, passed, budget).found
    found = {}
    for x in layout.parents:
        budget.require_time()
        if x in layout.observed:
            found[x] = _of_observed(layout, x, weights[x], boxes[x][0].shape[-1])
    for step in layout.steps:
        budget.require_time()
        found[step.variable] = _compared(layout, step, weights[step.variable], passed)
    return found


def _of_observed(layout: Layout, x: int, weight: Ends, size: int) -> Array:
    """Compare the values of an observed variable: only one of them counts at all."""
    state = layout.observed[x]
    least, most = (layout.own_order(x, ends) for ends in weight)
    found = np.zeros((*least.shape, size, size))
    found[..., state, :] = least[..., None]
    found[..., :, state] = -most[..., None]
    found[..., state, state] = 0.0
    return found


def _compared(layout: Layout, step: Step, weight: Ends, passed: Upward) -> Array:
    """Compare the values of a variable in all contexts, and add these up."""
    x, context = step.variable, layout.context(step)
    nodes = max(len(ends) for ends in (*passed.products[x], *weight))
    low, high = (np.broadcast_to(ends, (nodes, *step.shape)) for ends in passed.products[x])
    difference = low[..., :, None] - high[..., None, :]
    least, most = (ends[..., None, None] for ends in weight)
    if x in passed.asking:
        worst = np.where(difference >= 0.0, least * difference, most * difference)
    else:
        other = high[..., :, None] - low[..., None, :]
        worst = _times((least, most), (difference, other))[0]
    terms = prod(step.shape[i - 1] for i in context)
    magnitude = (_magnitude(weight)[..., None] * _magnitude((low, high))).sum(axis=context)
    both = magnitude[..., :, None] + magnitude[..., None, :]
    slack = relative_error(OPERATIONS + terms) * both + VANISHING
    found = layout.own_order(x, worst.sum(axis=context) - slack)
    values = np.arange(found.shape[-1])
    found[..., values, values] = 0.0
    return found


class _Weights:
    """The slope of G in every message, from the last to the first."""

    def __init__(self, layout: Layout, boxes: Boxes, passed: Upward, budget: Budget) -> None:
        self._layout, self._boxes, self._passed = layout, boxes, passed
        self.found: dict[int, Ends] = {layout.steps[-1].variable: (np.ones(1), np.ones(1))}
        for step in reversed(layout.steps):
            budget.require_time()
            self._back(step)

    def _back(self, step: Step) -> None:
        """Find the weights of the messages that enter a step."""
        layout, passed, x = self._layout, self._passed, step.variable
        least, most = self.found[x]
        inner = _times_plain((least[..., None], most[..., None]), layout.box(x, self._boxes[x]))
        for m in step.entering:
            product = inner
            for other in step.entering:
                if other != m and other not in passed.asking:
                    product = _times_plain(product, layout.entering(other, passed.messages))
            if m not in passed.asking and x in passed.asking:
                product = _times(product, self._signed(step))
            self.found[m] = self._gathered(step, m, product)

    def _signed(self, step: Step) -> Ends:
        """Return what brings the query into a step."""
        passed = self._passed
        signed = next((m for m in step.entering if m in passed.asking), None)
        if signed is None:
            return passed.score
        return self._layout.entering(signed, passed.messages)

    def _gathered(self, step: Step, m: int, product: Ends) -> Ends:
        """Sum over what a message does not mention."""
        missing = self._layout.missing(step, m)
        low, high, magnitude = (
            np.broadcast_to(ends, (len(ends), *step.shape)).sum(axis=missing)
            for ends in (*product, _magnitude(product))
        )
        terms = prod(step.shape[i - 1] for i in missing)
        slack = relative_error(OPERATIONS + 2 * len(step.entering) + terms) * magnitude + VANISHING
        low = low - slack
        return (np.maximum(low, 0.0) if m in self._passed.asking else low), high + slack
