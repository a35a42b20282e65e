"""A bound on a posterior's score that remembers how little a message differs from cell to cell.

Input: an interval for every entry of the relevant tables, an order of elimination and a trial value t. Output:
what G = P(event, evidence) - t P(evidence) does not pass.

Where each context of a block chooses its own distribution, evidence that says nothing of the query seems to
say much: it is made likely in one context, unlikely in the other. Here a message is bounded in every cell,
and so is the difference of each two cells that differ in one variable. A distribution that both cells share
is chosen once for both; where they have one each, what these distributions differ by is multiplied by the
differences one step below, so that influence dies away with the distance (proof 36).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np

from credalog.methods.vertices.greedy import DRIFT, VANISHING
from credalog.methods.vertices.interval_slopes import Ends, Layout, Step
from credalog.numbers.budget import Budget
from credalog.tables.cones import Array
from credalog.tables.elimination import Potential, combined
from credalog.tables.interval_sets import greatest_sum
from credalog.trusted.rounding import relative_error

__all__ = ["Differences"]

OTHER = -1
"""Stands for the second value of a variable in which two cells differ."""

SHARE = relative_error(256.0)
"""More than what the roundings of one step take from a number of magnitude one, per value."""

Scope: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Message:
    """The least and the greatest value of each cell, and how much two cells differ by.

    `apart[y]` has the axes of the scope and one for the other value of y: the least of what the cell at the
    one value is above the cell at the other. A message that is not known to differ in y has no entry.
    """

    scope: Scope
    low: Array
    high: Array
    apart: Mapping[int, Array]

    def cells(self, axes: Scope) -> Ends:
        """Return the cells with the axes of a larger scope."""
        return _stretched(self.scope, self.low, axes), _stretched(self.scope, self.high, axes)

    def other_cells(self, y: int, axes: Scope) -> Ends:
        """Return the cells at the other value of a variable."""
        scope = _renamed(self.scope, y)
        return _stretched(scope, self.low, axes), _stretched(scope, self.high, axes)

    def differences(self, y: int, axes: Scope) -> Ends | None:
        """Return the least and the greatest of what cells differ by; None where they do not."""
        if y not in self.apart:
            return None
        least = _stretched((*self.scope, OTHER), self.apart[y], axes)
        swapped = tuple(OTHER if v == y else v for v in self.scope)
        return least, -_stretched((*swapped, y), self.apart[y], axes)


class Differences:
    """The tables of a question in an order of elimination."""

    def __init__(self, layout: Layout, boxes: Mapping[int, Ends], event: Array) -> None:
        self._layout, self._boxes, self._event = layout, boxes, event
        self._plain: dict[int, _Message] = {}

    def greatest(self, trial: float, budget: Budget) -> float:
        """Return what G does not pass for any model."""
        signed: _Message | None = None
        asking: set[int] = set()
        for step in self._layout.steps:
            budget.require_time()
            x = step.variable
            plain = [self._message(m) for m in step.entering if m not in asking]
            if x == self._layout.target:
                signed = self._score(trial)
            elif asking.isdisjoint(step.entering):
                if x not in self._plain:
                    self._plain[x] = self._summed(step, plain)
                continue
            assert signed is not None
            asking.add(x)
            signed = self._weighed(step, signed, plain)
        assert signed is not None
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

    def _summed(self, step: Step, entering: Iterable[_Message]) -> _Message:
        """Multiply what enters a step, the one that may be negative first, and sum its variable out."""
        size = self._layout.sizes[step.variable]
        ones = np.ones([1] * len(step.scope))
        first, *rest = [*entering, _Message(step.scope, ones, ones, {})]
        met = reduce(_product, (_widened(m, step.scope) for m in rest), _widened(first, step.scope))
        return _Sum(self._layout, step, self._boxes[step.variable], met, size).message()


    def _weighed(self, step: Step, signed: _Message, plain: Iterable[_Message]) -> _Message:
        found = self._summed(step, [signed, *plain])
        size = self._layout.sizes[step.variable]
        ones = np.ones([1] * len(step.scope))
        met = reduce(_product, (_widened(m, step.scope) for m in plain), _Message(step.scope, ones, ones, {}))
        one = _Sum(self._layout, step, self._boxes[step.variable], met, size)
        a = _widened(signed, step.scope)
        table = one._table(step.scope)
        s_high = -_least_sum(table, -a.high)
        s_low = _least_sum(table, a.low)
        x = step.variable
        top, bottom = found.high, found.low
        ends = [(np.zeros(1), np.zeros(1), met.low[..., 0], met.high[..., 0])] if x not in met.apart else one._from_one(x)
        for least, most, at_low, at_high in ends:
            first = np.where(s_high >= 0, s_high * at_high, s_high * at_low)
            second = -_least_product((-a.high, -a.low), (least, most))
            top = np.minimum(top, first - _least_sum(table, -second))
            first = np.where(s_low >= 0, s_low * at_low, s_low * at_high)
            second = _least_product((a.low, a.high), (least, most))
            bottom = np.maximum(bottom, first + _least_sum(table, second))
        return _closer(_Message(found.scope, bottom, top, found.apart))


def _stretched(scope: Scope, values: Array, axes: Scope) -> Array:
    return combined([Potential(scope, values)], axes)


def _renamed(scope: Scope, y: int) -> Scope:
    return tuple(OTHER if v == y else v for v in scope)


def _directly(scope: Scope, low: Array, high: Array, y: int) -> Array:
    """Bound what cells differ by from the cells alone; a cell does not differ from itself."""
    axes = (*scope, OTHER)
    found = _stretched(scope, low, axes) - _stretched(_renamed(scope, y), high, axes)
    return _without_diagonal(scope, found - SHARE * np.abs(found), y)


def _without_diagonal(scope: Scope, values: Array, y: int) -> Array:
    size = values.shape[-1]
    same = _stretched((y, OTHER), np.eye(size, dtype=np.bool_), (*scope, OTHER))
    return np.where(same, 0.0, values)


def _widened(message: _Message, scope: Scope) -> _Message:
    """Give a message the axes of a larger scope, of length one where it lacks one."""
    low, high = message.cells(scope)
    own = (*message.scope, OTHER)
    apart = {y: _stretched(own, values, (*scope, OTHER)) for y, values in message.apart.items()}
    return _Message(scope, low, high, apart)


def _least_product(one: Ends, other: Ends) -> Array:
    """Return the least product of two intervals of any sign."""
    return reduce(np.minimum, (a * b for a in one for b in other))


def _product(one: _Message, other: _Message) -> _Message:
    """Multiply by a message that is never negative."""
    (low, high), (least, most) = (one.low, one.high), (other.low, other.high)
    bottom = np.where(low >= 0.0, low * least, low * most)
    top = np.where(high >= 0.0, high * most, high * least)
    slack = SHARE * np.maximum(np.abs(bottom), np.abs(top)) + VANISHING
    bottom, top = bottom - slack, top + slack
    if (low >= 0.0).all():
        bottom = np.maximum(bottom, 0.0)
    whole = _Message(one.scope, bottom, top, {})
    apart = {y: _product_apart(one, other, whole, y) for y in {**one.apart, **other.apart}}
    return _Message(one.scope, bottom, top, apart)


def _product_apart(one: _Message, other: _Message, whole: _Message, y: int) -> Array:
    """Bound what the cells of a product differ by: in one factor after the other, in either order."""
    axes = (*one.scope, OTHER)
    here, there = ([m.cells(axes), m.other_cells(y, axes)] for m in (one, other))
    first, second = (m.differences(y, axes) for m in (one, other))
    found = whole.cells(axes)[0] - whole.other_cells(y, axes)[1]
    for i in (0, 1):
        change = np.zeros(1)
        if first is not None:
            change = change + _least_product(first, there[i])
        if second is not None:
            change = change + _least_product(second, here[1 - i])
        found = np.maximum(found, change)
    size = np.maximum(np.abs(whole.low), np.abs(whole.high))
    scope = one.scope
    slack = _stretched(scope, size, axes) + _stretched(_renamed(scope, y), size, axes)
    found = found - SHARE * (slack + _magnitudes(here, there)) - VANISHING
    return _without_diagonal(scope, np.broadcast_to(found, _square(found, scope, y)), y)


def _magnitudes(here: Iterable[Ends], there: Iterable[Ends]) -> Array:
    """Return more than any product of a cell of one message and one of another."""
    one, other = (
        reduce(np.maximum, (np.abs(end) for ends in pair for end in ends)) for pair in (here, there)
    )
    return 4.0 * one * other


def _square(values: Array, scope: Scope, y: int) -> tuple[int, ...]:
    """Return a shape in which both axes of a variable have its length."""
    size = max(values.shape[scope.index(y)], values.shape[-1])
    return tuple(size if i in (scope.index(y), len(scope)) else n for i, n in enumerate(values.shape))


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum over the last variable of a scope."""

    layout: Layout
    step: Step
    box: Ends
    met: _Message
    size: int

    def message(self) -> _Message:
        """Return the message that the sum is."""
        scope, axes = self.step.scope[:-1], self.step.scope
        low, high = self._table(axes)
        bottom, top = self._cells(low, high)
        apart = dict[int, Array]()
        whole = _Message(scope, bottom, top, {})
        for y in scope:
            found = self._apart(y)
            if found is None:
                continue
            pairs = (*scope, OTHER)
            directly = whole.cells(pairs)[0] - whole.other_cells(y, pairs)[1]
            found = np.maximum(found, directly - SHARE * np.abs(directly))
            apart[y] = _without_diagonal(scope, np.broadcast_to(found, _square(found, scope, y)), y)
        return _closer(_Message(scope, bottom, top, apart))

    def _table(self, axes: Scope, other: int | None = None) -> Ends:
        """Return the table of the step's variable, or that at the other value of a parent."""
        own = (*self.layout.parents[self.step.variable], self.step.variable)
        own = own if other is None else _renamed(own, other)
        return _stretched(own, self.box[0], axes), _stretched(own, self.box[1], axes)

    def _cells(self, low: Array, high: Array) -> Ends:
        """Bound all cells: what the best distribution makes of them, or one value and what others differ by."""
        met, x = self.met, self.step.variable
        bottom, top = _least_sum((low, high), met.low), -_least_sum((low, high), -met.high)
        for least, most, at_low, at_high in self._from_one(x):
            bottom = np.maximum(bottom, at_low + _least_sum((low, high), least))
            top = np.minimum(top, at_high - _least_sum((low, high), -most))
        slack = 2.0 * SHARE * np.maximum(np.abs(bottom), np.abs(top)) + VANISHING
        bottom = bottom - slack
        if (met.low >= 0.0).all():
            bottom = np.maximum(bottom, 0.0)
        return bottom, top + slack

    def _from_one(self, x: int) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Yield for each value of the step's variable what the others differ by from it, and its cells."""
        met = self.met
        if x not in met.apart:
            return
        table = met.apart[x]
        for value in range(self.size):
            least, most = table[..., value], -np.take(table, value, axis=-2)
            yield least, most, met.low[..., value], met.high[..., value]

    def _apart(self, y: int) -> Array | None:
        """Bound what two cells differ by; None where they do not."""
        *context, x = self.step.scope
        axes = (*context, OTHER, x)
        differ = self.met.differences(y, axes)
        here = self._table(axes)
        if y not in self.layout.parents[x]:
            return None if differ is None else _least_sum(here, differ[0])
        there = self._table(axes, y)
        shift = here[0] - there[1], here[1] - there[0]
        found = None
        for table, is_other in ((here, True), (there, False)):
            moved = self._moved(y, shift, is_other=is_other)
            total = moved if differ is None else moved + _least_sum(table, differ[0])
            total = total - SHARE * np.abs(total)
            found = total if found is None else np.maximum(found, total)
        return found

    def _moved(self, y: int, shift: Ends, *, is_other: bool) -> Array:
        """Bound what it makes that two blocks have different distributions, by what values differ by."""
        *context, x = self.step.scope
        axes = (*context, OTHER, x)
        scope = tuple(context) if not is_other else _renamed(tuple(context), y)
        found: Array | None = None
        for least, most, _, _ in self._from_one(x):
            ends = _stretched((*scope, x), least, axes), _stretched((*scope, x), most, axes)
            products = _least_product(shift, ends)
            size = np.maximum(np.abs(shift[0]), np.abs(shift[1])) * np.maximum(np.abs(ends[0]), np.abs(ends[1]))
            total = (products - SHARE * self.size * size).sum(axis=-1) - VANISHING
            found = total if found is None else np.maximum(found, total)
        return np.zeros(1) if found is None else found


def _least_sum(table: Ends, values: Array) -> Array:
    """Return what a sum over the last axis is at least, for any distribution of a table."""
    low, high = table
    size = max(low.shape[-1], values.shape[-1])
    magnitude = np.abs(values)
    drift = (np.minimum(DRIFT * size, high - low) * magnitude).sum(axis=-1)
    slack = SHARE * size * (high * magnitude).sum(axis=-1) + drift + VANISHING
    return -greatest_sum(low, high, -values) - slack


def _closer(message: _Message) -> _Message:
    """Narrow cells by their neighbours and what they differ by."""
    low, high, scope = message.low, message.high, message.scope
    for y, least in message.apart.items():
        axes = (*scope, OTHER)
        other_low, other_high = _Message(scope, low, high, {}).other_cells(y, axes)
        most = message.differences(y, axes)
        assert most is not None
        bottom, top = (other_low + least), (other_high + most[1])
        bottom, top = bottom - SHARE * np.abs(bottom), top + SHARE * np.abs(top)
        low, high = np.maximum(low, bottom.max(axis=-1)), np.minimum(high, top.min(axis=-1))
    return _Message(scope, low, high, message.apart)
