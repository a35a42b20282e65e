"""The largest value that a product of tables takes over some variables, summed over the others.

Enters: nonnegative tables over numbered variables. Leaves: `Products`, which bounds
max over assigned variables of the sum over all others, from above, for any partial assignment.

Eliminating a maximized variable before a summed one only makes the result larger, and so does splitting a
product that is too wide and maximizing its parts apart (mini-buckets: Dechter and Rish, 2003). Hence every
order gives an upper bound; where nothing is summed and nothing is split it is the maximum itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROUNDING", "Products", "Table"]

Floats: TypeAlias = NDArray[np.float64]
Table: TypeAlias = tuple[tuple[int, ...], Floats]

WIDEST = 1 << 16
"""No table larger than this is built; a wider product is split."""

ROUNDING = 1e-12
"""The relative error of a product of tables: far more than all roundings on the way."""


@dataclass(frozen=True)
class Products:
    """A product of tables, of which the variables in `maximized` are chosen and all others summed."""

    tables: tuple[Table, ...]
    maximized: frozenset[int]

    def bound(self, assigned: Mapping[int, int]) -> float:
        """Bound the best completion of a partial assignment from above, rounding outwards."""
        rest = [_restricted(table, assigned) for table in self.tables]
        for x in self._order:
            if x not in assigned:
                rest = self._eliminate(rest, x)
        return prod(float(values) for _, values in rest) * (1.0 + ROUNDING)

    def value(self, assigned: Mapping[int, int]) -> float:
        """Multiply the entries of a complete assignment."""
        return prod(float(_restricted(table, assigned)[1]) for table in self.tables)

    @cached_property
    def _order(self) -> tuple[int, ...]:
        """Return all variables, summed ones first while that is cheap, in order of the table they need."""
        scopes = [frozenset(scope) for scope, _ in self.tables]
        sizes = {x: n for scope, values in self.tables for x, n in zip(scope, values.shape, strict=True)}
        order: list[int] = []
        while waiting := sorted(sizes.keys() - set(order)):
            needed = {x: frozenset[int]().union(*(s for s in scopes if x in s)) for x in waiting}
            cost = {x: prod(sizes[y] for y in needed[x]) for x in waiting}
            summed = [x for x in waiting if x not in self.maximized and cost[x] <= WIDEST]
            best = min(summed or waiting, key=lambda x: (cost[x], x))
            scopes = [s for s in scopes if best not in s] + [needed[best] - {best}]
            order.append(best)
        return tuple(order)

    def _eliminate(self, tables: list[Table], x: int) -> list[Table]:
        touching = [table for table in tables if x in table[0]]
        kept = [table for table in tables if x not in table[0]]
        for i, bucket in enumerate(_buckets(touching)):
            scope, values = _multiplied(bucket)
            axis = scope.index(x)
            # In a split product one part alone may be summed: the others are at most their maximum.
            chosen = x in self.maximized or i > 0
            reduced = values.max(axis=axis) if chosen else values.sum(axis=axis)
            kept.append((scope[:axis] + scope[axis + 1 :], reduced))
        return kept


def _restricted(table: Table, assigned: Mapping[int, int]) -> Table:
    scope, values = table
    index = tuple(assigned.get(x, slice(None)) for x in scope)
    return tuple(x for x in scope if x not in assigned), values[index]


def _buckets(tables: list[Table]) -> list[list[Table]]:
    """Share tables out so that no bucket's product is too wide, largest tables first."""
    buckets: list[list[Table]] = []
    for table in sorted(tables, key=lambda t: -t[1].size):
        home = next((b for b in buckets if _states([*b, table]) <= WIDEST), None)
        if home is None:
            buckets.append([table])
        else:
            home.append(table)
    return buckets


def _states(tables: Iterable[Table]) -> int:
    sizes = {x: n for scope, values in tables for x, n in zip(scope, values.shape, strict=True)}
    return prod(sizes.values())


def _multiplied(tables: Sequence[Table]) -> Table:
    scope = tuple(dict.fromkeys(x for found, _ in tables for x in found))
    result: Floats = np.ones((1,) * len(scope))
    for found, values in tables:
        order = sorted(range(len(found)), key=lambda i: scope.index(found[i]))
        sizes = dict(zip(found, values.shape, strict=True))
        result = result * values.transpose(order).reshape([sizes.get(x, 1) for x in scope])
    return scope, result
