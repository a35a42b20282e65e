"""How a posterior's score depends on each conditional probability: bounds on all slopes at once.

Input: an interval for every entry of the relevant tables, and a trial value t. Output: bounds on
G = P(event, evidence) - t P(evidence), and for each block (a family in one configuration of its parents) and
each two of its values a lower bound on how much more G grows with the one than with the other.

Variables are summed out children first, and every message is an interval: `upward`. The weight of a message
in G is an interval too, found on the way back (`_Weights`; Darwiche, 2003, with intervals for numbers). All
are moved outwards at every step by what roundings may amount to: a share of the sum of all magnitudes, what a
knapsack may be off by (see `greedy`), and more than underflow can take.
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
from credalog.tables.elimination import Potential, combined
from credalog.tables.interval_sets import greatest_sum
from credalog.trusted.rounding import relative_error

__all__ = ["Boxes", "Ends", "Layout", "Upward", "advantages", "upward"]

Ends: TypeAlias = tuple[Array, Array]
"""The least and the greatest values of a table."""

Boxes: TypeAlias = Mapping[int, Ends]
"""For each family the least and the greatest probabilities: axes are its parents, then itself."""

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
        return cls(target, parents, observed, sizes, tuple(steps), scopes)

    @property
    def cells(self) -> int:
        """Return how many pairs of values are compared in all contexts together."""
        return sum(prod(self.shape(step)) * self.sizes[step.variable] for step in self.steps)

    def shape(self, step: Step) -> tuple[int, ...]:
        """Return the axes of all that meets at a step."""
        return tuple(self.sizes[y] for y in step.scope)

    def family(self, x: int) -> tuple[int, ...]:
        """Return the axes of a table."""
        return (*self.parents[x], x)


@dataclass(frozen=True, slots=True)
class Upward:
    """All messages, what each variable meets as it goes, and which messages involve the query."""

    messages: Mapping[int, Ends]
    products: Mapping[int, Ends]
    asking: frozenset[int]
    score: Ends
    """The event minus the trial value, on the axis of the query's variable."""

    def total(self, layout: Layout) -> tuple[float, float]:
        """Return bounds on G."""
        least, most = self.messages[layout.steps[-1].variable]
        return float(least), float(most)


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
        met = reduce(_times_plain, plain, (np.ones([1] * len(step.scope)),) * 2)
        signed = next((m for m in step.entering if m in asking), None)
        if signed is not None or x == layout.target:
            factor = score if signed is None else _stretched(layout, signed, messages, step.scope)
            met = _times_plain(factor, met)
            asking.add(x)
        products[x] = met
        messages[x] = _summed(layout, step, boxes[x], met, is_signed=x in asking)
    return Upward(messages, products, frozenset(asking), score)


def _stretched(layout: Layout, m: int, messages: Mapping[int, Ends], scope: tuple[int, ...]) -> Ends:
    low, high = (combined([Potential(layout.scopes[m], ends)], scope) for ends in messages[m])
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
    low, high = (combined([Potential(layout.family(x), ends)], scope) for ends in box)
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


def advantages(layout: Layout, boxes: Boxes, passed: Upward, budget: Budget) -> dict[int, Array]:
    """Bound from below how much more G grows with one value than with another, for every block.

    The last two axes are the values compared; a value beside itself has no advantage.
    """
    weights = _Weights(layout, boxes, passed, budget).found
    found = {}
    for x in layout.parents:
        budget.require_time()
        if x in layout.observed:
            found[x] = _of_observed(weights[x], boxes[x][0].shape[-1], layout.observed[x])
    for step in layout.steps:
        budget.require_time()
        found[step.variable] = _compared(layout, step, weights[step.variable], passed)
    return found


def _of_observed(weight: Ends, size: int, state: int) -> Array:
    """Compare the values of an observed variable: only one of them counts at all."""
    found = np.zeros((*weight[0].shape, size, size))
    found[..., state, :] = weight[0][..., None]
    found[..., :, state] = -weight[1][..., None]
    found[..., state, state] = 0.0
    return found


def _compared(layout: Layout, step: Step, weight: Ends, passed: Upward) -> Array:
    """Compare the values of a variable in all contexts, and add these up."""
    x, scope = step.variable, step.scope
    low, high = (np.broadcast_to(ends, layout.shape(step)) for ends in passed.products[x])
    difference = low[..., :, None] - high[..., None, :]
    least, most = (ends[..., None, None] for ends in weight)
    if x in passed.asking:
        worst = np.where(difference >= 0.0, least * difference, most * difference)
    else:
        other = high[..., :, None] - low[..., None, :]
        worst = _times((least, most), (difference, other))[0]
    context = tuple(i for i, y in enumerate(scope[:-1]) if y not in layout.parents[x])
    terms = prod(layout.sizes[scope[i]] for i in context)
    magnitude = (_magnitude(weight)[..., None] * _magnitude((low, high))).sum(axis=context)
    both = magnitude[..., :, None] + magnitude[..., None, :]
    slack = relative_error(OPERATIONS + terms) * both + VANISHING
    kept = [y for i, y in enumerate(scope[:-1]) if i not in context]
    order = [kept.index(p) for p in layout.parents[x]]
    found = np.transpose(worst.sum(axis=context) - slack, (*order, len(order), len(order) + 1))
    values = np.arange(found.shape[-1])
    found[..., values, values] = 0.0
    return found


class _Weights:
    """The slope of G in every message, from the last to the first."""

    def __init__(self, layout: Layout, boxes: Boxes, passed: Upward, budget: Budget) -> None:
        self._layout, self._boxes, self._passed = layout, boxes, passed
        self.found: dict[int, Ends] = {layout.steps[-1].variable: (np.ones(()), np.ones(()))}
        for step in reversed(layout.steps):
            budget.require_time()
            self._back(step)

    def _back(self, step: Step) -> None:
        """Find the weights of the messages that enter a step."""
        layout, passed, x = self._layout, self._passed, step.variable
        least, most = self.found[x]
        inner = _times_plain((least[..., None], most[..., None]), _box(layout, x, self._boxes[x], step.scope))
        for m in step.entering:
            product = inner
            for other in step.entering:
                if other != m and other not in passed.asking:
                    product = _times_plain(product, _stretched(layout, other, passed.messages, step.scope))
            if m not in passed.asking and x in passed.asking:
                product = _times(product, self._signed(step))
            self.found[m] = self._gathered(step, m, product)

    def _signed(self, step: Step) -> Ends:
        """Return what brings the query into a step."""
        passed = self._passed
        signed = next((m for m in step.entering if m in passed.asking), None)
        if signed is None:
            return passed.score
        return _stretched(self._layout, signed, passed.messages, step.scope)

    def _gathered(self, step: Step, m: int, product: Ends) -> Ends:
        """Sum over what a message does not mention, and give it back its own axes."""
        layout, scope = self._layout, self._layout.scopes[m]
        missing = tuple(i for i, y in enumerate(step.scope) if y not in scope)
        kept = [y for y in step.scope if y in scope]
        order = [kept.index(y) for y in scope]
        low, high, magnitude = (
            np.broadcast_to(ends, layout.shape(step)).sum(axis=missing).transpose(order)
            for ends in (*product, _magnitude(product))
        )
        terms = prod(layout.sizes[step.scope[i]] for i in missing)
        slack = relative_error(OPERATIONS + 2 * len(step.entering) + terms) * magnitude + VANISHING
        low = low - slack
        return (np.maximum(low, 0.0) if m in self._passed.asking else low), high + slack
