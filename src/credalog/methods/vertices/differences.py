"""A bound on a posterior's score that remembers how little a message differs from cell to cell.

Input: an interval for every entry of the relevant tables, an order of elimination and a trial value t.
Output: what G = P(event, evidence) - t P(evidence) does not pass.

Where each context of a block chooses its own distribution, evidence that says nothing of the query seems to
say much: it is made likely for one of its values and unlikely for the other. Here a message is bounded in
every cell, and so is the difference of each two cells that differ in one variable. A distribution that both
cells share is chosen once for both. Where each has its own, what these distributions differ by is multiplied
by differences one step below, so that influence dies away with the distance (proof 36).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np

from credalog.methods.vertices.greedy import DRIFT, VANISHING
from credalog.methods.vertices.interval_slopes import Boxes, Ends, Layout, Step
from credalog.numbers.budget import Budget, OutOfTime
from credalog.tables.cones import Array
from credalog.tables.elimination import Potential, combined
from credalog.tables.interval_sets import greatest_sum
from credalog.trusted.rounding import relative_error

__all__ = ["Differences"]

OTHER = -1
"""Stands for the second value of the variable in which two cells differ."""

SHARE = relative_error(256.0)
"""More than the share of all magnitudes that the roundings of one step amount to, per value."""

ROUNDS = 6
"""How many trial values are tried at most."""

Scope: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Message:
    """The least and the greatest value of each cell, and of what two cells differ by.

    `apart[y]` has the axes of the scope and one for the other value of y: how much the cell at the one value
    is above the cell at the other, at least. Without an entry cells that differ in y alone are equal.
    """

    scope: Scope
    low: Array
    high: Array
    apart: Mapping[int, Array]

    @property
    def size(self) -> Array:
        """Return the greatest magnitude of each cell."""
        return _magnitude((self.low, self.high))

    def cells(self, axes: Scope, *, other: int | None = None) -> Ends:
        """Return the cells with the axes of a larger scope, or those at the other value of a variable."""
        scope = self.scope if other is None else _renamed(self.scope, other)
        return _stretched(scope, self.low, axes), _stretched(scope, self.high, axes)

    def differences(self, y: int, axes: Scope) -> Ends | None:
        """Return the least and the greatest of what cells differ by; None where they are equal."""
        if y not in self.apart:
            return None
        least = _stretched((*self.scope, OTHER), self.apart[y], axes)
        return least, -_stretched((*_renamed(self.scope, y), y), self.apart[y], axes)

    def widened(self, scope: Scope) -> _Message:
        """Return it with the axes of a larger scope, of length one where it lacks one."""
        own, pairs = (*self.scope, OTHER), (*scope, OTHER)
        apart = {y: _stretched(own, values, pairs) for y, values in self.apart.items()}
        return _Message(scope, *self.cells(scope), apart)

    def closer(self) -> _Message:
        """Narrow each cell by its neighbours and what it differs from them by."""
        low, high, pairs = self.low, self.high, (*self.scope, OTHER)
        for y in self.apart:
            found = self.differences(y, pairs)
            assert found is not None
            least, most = _Message(self.scope, low, high, {}).cells(pairs, other=y)
            bottom, top = least + found[0], most + found[1]
            low = np.maximum(low, (bottom - SHARE * np.abs(bottom)).max(axis=-1))
            high = np.minimum(high, (top + SHARE * np.abs(top)).min(axis=-1))
        return _Message(self.scope, low, high, self.apart)


def _constant(scope: Scope) -> _Message:
    ones = np.ones([1] * len(scope))
    return _Message(scope, ones, ones, {})


class Differences:
    """The tables of a question in an order of elimination."""

    def __init__(self, layout: Layout, boxes: Boxes, event: Array) -> None:
        self._layout, self._boxes, self._event = layout, boxes, event
        self._plain: dict[int, _Message] = {}

    def proved(self, value: float, bound: float, *, gap: float, budget: Budget) -> float:
        """Return what the posterior does not pass, if that is below a known bound.

        `value` is attained: nothing closer to it than `gap` is asked for.
        """
        bottom = trial = value + gap
        with suppress(OutOfTime):
            for _ in range(ROUNDS):
                if trial >= bound:
                    break
                if self.greatest(trial, budget) > 0.0:
                    bottom = trial
                else:
                    bound = trial
                trial = (bottom + bound) / 2.0
        return bound

    def greatest(self, trial: float, budget: Budget) -> float:
        """Return what G does not pass for any model."""
        asking, signed = set[int](), self._score(trial)
        for step in self._layout.steps:
            budget.require_time()
            x = step.variable
            plain = [self._message(m) for m in step.entering if m not in asking]
            if x == self._layout.target or not asking.isdisjoint(step.entering):
                asking.add(x)
                signed = self._summed(step, signed, plain)
            elif x not in self._plain:
                # What does not involve the query depends on no trial.
                self._plain[x] = self._summed(step, _constant(()), plain)
        return float(signed.high)

    def _message(self, x: int) -> _Message:
        """Return a message that does not involve the query; that of an observed variable is its table."""
        if x not in self._plain:
            scope, state = self._layout.parents[x], self._layout.observed[x]
            low, high = (ends[..., state] for ends in self._boxes[x])
            self._plain[x] = _Message(scope, low, high, {y: _directly(scope, low, high, y) for y in scope})
        return self._plain[x]

    def _score(self, trial: float) -> _Message:
        """Return what the values of the query's variable score."""
        x, score = self._layout.target, self._event - trial
        low, high = np.nextafter(score, -2.0), np.nextafter(score, 2.0)
        return _Message((x,), low, high, {x: _directly((x,), low, high, x)})

    def _summed(self, step: Step, weight: _Message, plain: Sequence[_Message]) -> _Message:
        """Multiply what enters a step, of which only the weight may be negative, and sum its variable out."""
        scope, x = step.scope, step.variable
        met = reduce(_product, (m.widened(scope) for m in plain), _constant(scope))
        weight = weight.widened(scope)
        own = (*self._layout.parents[x], x)
        return _Sum(scope, own, self._boxes[x], weight, met, _product(weight, met)).message()


def _stretched(scope: Scope, values: Array, axes: Scope) -> Array:
    return combined([Potential(scope, values)], axes)


def _renamed(scope: Scope, y: int) -> Scope:
    return tuple(OTHER if v == y else v for v in scope)


def _magnitude(ends: Ends) -> Array:
    return np.maximum(np.abs(ends[0]), np.abs(ends[1]))


def _directly(scope: Scope, low: Array, high: Array, y: int) -> Array:
    """Bound what cells differ by from the cells alone."""
    pairs = (*scope, OTHER)
    found = _stretched(scope, low, pairs) - _stretched(_renamed(scope, y), high, pairs)
    return _paired(scope, found - SHARE * np.abs(found), y)


def _paired(scope: Scope, values: Array, y: int) -> Array:
    """Give both axes of a variable its length; a cell does not differ from itself."""
    size = max(values.shape[scope.index(y)], values.shape[-1])
    same = _stretched((y, OTHER), np.eye(size, dtype=np.bool_), (*scope, OTHER))
    return np.where(same, 0.0, values)


def _least_product(one: Ends, other: Ends) -> Array:
    """Return the least products of intervals of any sign."""
    return np.asarray(reduce(np.minimum, (a * b for a in one for b in other)))


def _least_sum(table: Ends, values: Array) -> Array:
    """Return what a sum over the last axis is at least, for any distributions of a table."""
    low, high = table
    size, magnitude = high.shape[-1], np.abs(values)
    drift = (np.minimum(DRIFT * size, high - low) * magnitude).sum(axis=-1)
    slack = SHARE * size * (high * magnitude).sum(axis=-1) + drift + VANISHING
    return np.asarray(-greatest_sum(low, high, -values) - slack)


def _product(one: _Message, other: _Message) -> _Message:
    """Multiply by a message that is never negative."""
    (low, high), (least, most) = (one.low, one.high), (other.low, other.high)
    slack = SHARE * one.size * most + VANISHING
    bottom = np.where(low >= 0.0, np.maximum(low * least - slack, 0.0), low * most - slack)
    top = np.where(high >= 0.0, high * most, high * least) + slack
    whole = _Message(one.scope, bottom, top, {})
    apart = {y: _product_apart(one, other, whole, y) for y in {**one.apart, **other.apart}}
    return _Message(one.scope, bottom, top, apart)


def _product_apart(one: _Message, other: _Message, whole: _Message, y: int) -> Array:
    """Bound what the cells of a product differ by: first one factor changes, then the other."""
    scope, pairs = one.scope, (*one.scope, OTHER)
    ones, others = ((m.cells(pairs), m.cells(pairs, other=y)) for m in (one, other))
    found = whole.cells(pairs)[0] - whole.cells(pairs, other=y)[1]
    first, second = (m.differences(y, pairs) for m in (one, other))
    for before, after in ((0, 1), (1, 0)):
        change = np.zeros(1)
        if first is not None:
            change = change + _least_product(first, others[before])
        if second is not None:
            change = change + _least_product(second, ones[after])
        found = np.maximum(found, change)
    size = _sizes(ones, others)
    return _paired(scope, found - SHARE * size - VANISHING, y)


def _sizes(ones: Iterable[Ends], others: Iterable[Ends]) -> Array:
    """Return more than all that is added up where two cells of one message meet two of another."""
    one, other = (reduce(np.maximum, map(_magnitude, cells)) for cells in (ones, others))
    return np.asarray(8.0 * one * other)


@dataclass(frozen=True, slots=True)
class _Sum:
    """The sum of weight times what meets it over the last variable of a scope."""

    scope: Scope
    own: Scope
    """The axes of the variable's table: its parents, then itself."""
    box: Ends
    weight: _Message
    met: _Message
    whole: _Message
    """The product of both."""

    def message(self) -> _Message:
        """Return the message that the sum is."""
        rest = self.scope[:-1]
        low, high = self._cells()
        apart = dict[int, Array]()
        for y in rest:
            found = self._apart(y)
            if found is not None:
                apart[y] = _paired(rest, np.maximum(found, _directly(rest, low, high, y)), y)
        return _Message(rest, low, high, apart).closer()

    def _table(self, axes: Scope, *, other: int | None = None) -> Ends:
        """Return the table of the variable, or that at the other value of a parent."""
        own = self.own if other is None else _renamed(self.own, other)
        return _stretched(own, self.box[0], axes), _stretched(own, self.box[1], axes)

    def _cells(self) -> Ends:
        """Bound all cells: what is met is taken as it is, or as one value and what others differ by from it.

        The sum of the weights alone is known more closely than that of their products.
        """
        table, weight = self._table(self.scope), self.weight
        low, high = _least_sum(table, self.whole.low), -_least_sum(table, -self.whole.high)
        least, most = _least_sum(table, weight.low), -_least_sum(table, -weight.high)
        for changes, (bottom, top) in _from_one(self.met):
            first = np.where(least >= 0.0, least * bottom, least * top)
            second = _least_sum(table, _least_product((weight.low, weight.high), changes))
            low = np.maximum(low, first + second - SHARE * (np.abs(first) + np.abs(second)))
            first = np.where(most >= 0.0, most * top, most * bottom)
            second = -_least_sum(table, _least_product((-weight.high, -weight.low), changes))
            high = np.minimum(high, first + second + SHARE * (np.abs(first) + np.abs(second)))
        is_plain = (weight.low >= 0.0).all()
        return (np.maximum(low, 0.0) if is_plain else low), high

    def _apart(self, y: int) -> Array | None:
        """Bound what two cells differ by; None where they are equal."""
        *rest, x = self.scope
        axes = (*rest, OTHER, x)
        differ, here = self.whole.differences(y, axes), self._table(axes)
        if y not in self.own:
            return None if differ is None else _least_sum(here, differ[0])
        there = self._table(axes, other=y)
        slack = SHARE * (here[1] + there[1])
        shift = here[0] - there[1] - slack, here[1] - there[0] + slack
        ways = []
        # Either distribution may meet what the cells differ by; the shift meets the cell that is left.
        for table, cell in ((here, _renamed((*rest,), y)), (there, (*rest,))):
            moved = self._moved((*cell, x), axes, shift)
            total = moved if differ is None else moved + _least_sum(table, differ[0])
            ways.append(total - SHARE * np.abs(total))
        return np.maximum(*ways)

    def _moved(self, scope: Scope, axes: Scope, shift: Ends) -> Array:
        """Bound what it makes that a distribution shifts: shifts add up to nothing, so differences count."""
        found = []
        for changes, _ in _from_one(self.whole):
            ends = _stretched(scope, changes[0], axes), _stretched(scope, changes[1], axes)
            slack = SHARE * ends[0].shape[-1] * _magnitude(shift) * _magnitude(ends)
            found.append((_least_product(shift, ends) - slack).sum(axis=-1) - VANISHING)
        return np.asarray(reduce(np.maximum, found))


def _from_one(message: _Message) -> Iterator[tuple[Ends, Ends]]:
    """Yield, for each value of the last variable, what the others differ by from it, and its cells."""
    x = message.scope[-1]
    if x not in message.apart:
        nothing = np.zeros([1] * len(message.scope))
        yield (nothing, nothing), (message.low[..., 0], message.high[..., 0])
        return
    table = message.apart[x]
    for value in range(table.shape[-1]):
        changes = table[..., value], -np.take(table, value, axis=-2)
        yield changes, (message.low[..., value], message.high[..., value])
