"""The sum of a product of tables over all variables but some, and slopes of weighted sums of what is left.

Input: the scopes of tables, then the tables. Output: the table that is left, over the variables that are
kept; or, for weights of its entries, the derivatives of their weighted sum in every entry of every table, all
of them for about twice the price of the sum (Darwiche, "A differential approach to inference in Bayesian
networks", 2003).

Variables are summed out one after the other. On the way back the slope of a table is the slope of the message
that it entered times all else that entered, summed over what the table lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import frexp
from typing import NamedTuple

import numpy as np

from credalog.numbers.budget import Budget
from credalog.tables.cones import Array
from credalog.tables.elimination import MAX_CELLS, Potential, Step, combined, planned

__all__ = ["Product"]

REMEMBERED_CELLS = 1 << 14
"""Tables of so many cells in all are compared with those before: that takes less than to multiply them."""

WAYS_KEPT = 1 << 14
"""So many ways in which axes fit together are remembered: many questions are about the same tables."""


@dataclass(frozen=True, slots=True)
class Product:
    """The order in which variables are summed out of tables over some scopes; `kept` are not."""

    scopes: tuple[tuple[int, ...], ...]
    steps: tuple[Step[int], ...]
    kept: tuple[int, ...]
    ends: tuple[int, ...]
    """The numbers of the tables that enter no step."""
    last: list[_Passed] = field(default_factory=list, compare=False, repr=False)
    """What was passed on last: tables that move one after the other leave most messages as they were."""

    @classmethod
    def of(
        cls,
        scopes: Sequence[tuple[int, ...]],
        sizes: Sequence[int],
        *,
        keep: tuple[int, ...] = (),
        most: int = MAX_CELLS,
    ) -> Product:
        """Plan an elimination; no table on the way may be larger than `most`."""
        steps = tuple(planned(scopes, dict(enumerate(sizes)), keep=keep, most=most))
        entered = {i for step in steps for i in step.entering}
        ends = (i for i in range(len(scopes) + len(steps)) if i not in entered)
        return cls(tuple(scopes), steps, keep, tuple(ends))

    def left(self, tables: Sequence[Array], budget: Budget) -> tuple[Array, int]:
        """Return the table over what is kept, divided by 2**n, and n."""
        messages, exponents = self._messages(tables, budget)
        return combined([messages[i] for i in self.ends], self.kept), sum(exponents)

    def slopes(self, tables: Sequence[Array], weights: Array, budget: Budget) -> list[Array]:
        """Return the derivatives of the weighted sum in all tables, all divided by one power of two."""
        left, exponents = self._messages(tables, budget)
        found = {i: _scaled(self._last(left, i, weights)) for i in self.ends}
        for number in range(len(self.steps) - 1, -1, -1):
            budget.require_time()
            step, (slope, power) = self.steps[number], found.pop(len(self.scopes) + number)
            back = combined([Potential(step.rest, slope)], step.scope)
            for i in step.entering:
                others = [left[j] for j in step.entering if j != i]
                onto, shift = _scaled(_onto(left[i], [Potential(step.scope, back), *others], step.scope))
                found[i] = onto, power + shift - exponents[number]
        greatest = max((power for slope, power in found.values() if slope.any()), default=0)
        return [np.ldexp(found[i][0], found[i][1] - greatest) for i in range(len(tables))]

    def _last(self, left: Sequence[Potential[int]], i: int, weights: Array) -> Array:
        """Return the slope of one of the tables that make up what is left."""
        others = [left[j] for j in self.ends if j != i]
        return _onto(left[i], [Potential(self.kept, weights), *others], self.kept)

    def _messages(self, tables: Sequence[Array], budget: Budget) -> tuple[list[Potential[int]], list[int]]:
        """Return all tables with the messages behind them, each divided by a power of two, and these."""
        contents = _contents(tables)
        before = self.last.pop() if self.last else _Passed((), [], [])
        same = {i for i, (a, b) in enumerate(zip(contents, before.contents, strict=False)) if a == b}
        left = [Potential(scope, table) for scope, table in zip(self.scopes, tables, strict=True)]
        exponents = list[int]()
        for number, step in enumerate(self.steps):
            budget.require_time()
            if same.issuperset(step.entering):
                same.add(len(left))
                values, exponent = before.messages[number], before.exponents[number]
            else:
                product = combined([left[i] for i in step.entering], step.scope)
                values, exponent = _scaled(np.add.reduce(product, axis=step.axis))
            exponents.append(exponent)
            left.append(Potential(step.rest, values))
        if contents:
            self.last[:] = [_Passed(contents, [values for _, values in left[len(tables) :]], exponents)]
        return left, exponents


class _Passed(NamedTuple):
    """The contents of some tables, and the messages that they sent, with their powers of two."""

    contents: tuple[bytes, ...]
    messages: list[Array]
    exponents: list[int]


def _contents(tables: Sequence[Array]) -> tuple[bytes, ...]:
    """Return the numbers in some tables, to be compared with others; nothing of large ones."""
    is_small = sum(table.size for table in tables) <= REMEMBERED_CELLS
    return tuple([table.tobytes() for table in tables]) if is_small else ()


def _scaled(values: Array) -> tuple[Array, int]:
    """Divide a table by the power of two that brings its greatest entry near one; return that power too."""
    exponent = frexp(float(np.maximum.reduce(np.abs(values), axis=None, initial=0.0)))[1]
    return np.ldexp(values, -exponent) if exponent else values, exponent


def _onto(table: Potential[int], factors: Sequence[Potential[int]], scope: tuple[int, ...]) -> Array:
    """Multiply factors and sum out what a table lacks, in the order of its own axes."""
    missing, order = _way_back(table.scope, scope)
    product = combined(factors, scope)
    summed = (np.add.reduce(product, axis=missing) if missing else product).transpose(order)
    # Along the variable that goes nothing else may depend on its value.
    shape = table.values.shape
    return summed if summed.shape == shape else np.broadcast_to(summed, shape)


@lru_cache(maxsize=WAYS_KEPT)
def _way_back(own: tuple[int, ...], scope: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of a scope that a table lacks, and the order of the others in it."""
    kept = [x for x in scope if x in own]
    missing = tuple(axis for axis, x in enumerate(scope) if x not in own)
    return missing, tuple(kept.index(x) for x in own)
