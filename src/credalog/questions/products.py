"""The largest value that a product of tables takes over some variables, summed over the others.

Input: nonnegative tables over numbered variables. Output: `Products`, which bounds from above, for any
partial assignment, the maximum over some variables of the sum over all others.

Eliminating a maximized variable before a summed one only makes the result larger, and so does splitting a
product that is too wide and maximizing its parts apart (mini-buckets: Dechter and Rish, 2003). Hence every
order gives an upper bound; where nothing is summed and nothing is split it is the maximum itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.numbers.interval import End
from credalog.tables.elimination import Potential, combined, elimination_steps, restricted
from credalog.trusted.rounding import outward_product, outward_products

__all__ = ["ROUNDING", "Products", "Table"]

Floats: TypeAlias = NDArray[np.float64]
Table: TypeAlias = tuple[tuple[int, ...], Floats]

WIDEST = 1 << 16
"""No table larger than this is built; a wider product is split."""

ROUNDING = 1e-12
"""The relative error of a product of tables: far more than all roundings on the way, underflow apart."""


@dataclass(frozen=True)
class Products:
    """A product of tables, of which the variables in `maximized` are chosen and all others summed."""

    tables: tuple[Table, ...]
    maximized: frozenset[int]

    def bound(self, assigned: Mapping[int, int]) -> float:
        """Bound the best completion of a partial assignment from above, rounding outwards."""
        rest = [restricted(Potential(*table), assigned) for table in self.tables]
        for x in self._order:
            if x not in assigned:
                rest = self._eliminate(rest, x)
        return outward_product((float(values) for _, values in rest), End.UPPER) * (1.0 + ROUNDING)

    def value(self, assigned: Mapping[int, int], end: End) -> float:
        """Multiply the entries of a complete assignment; what is too small for a float moves to the end."""
        entries = (float(restricted(Potential(*table), assigned)[1]) for table in self.tables)
        return outward_product(entries, end)

    @cached_property
    def _order(self) -> tuple[int, ...]:
        """Return all variables, summed ones first while that is cheap, in order of the table they need."""
        sizes = {x: n for scope, values in self.tables for x, n in zip(scope, values.shape, strict=True)}

        def priority(x: int, states: int) -> tuple[bool, int, int]:
            return x in self.maximized or states > WIDEST, states, x

        scopes = [scope for scope, _ in self.tables]
        steps = elimination_steps(scopes, sizes, most=prod(sizes.values()), priority=priority)
        return tuple(step.variable for step in steps)

    def _eliminate(self, tables: list[Potential[int]], x: int) -> list[Potential[int]]:
        touching = [table for table in tables if x in table[0]]
        kept = [table for table in tables if x not in table[0]]
        for i, bucket in enumerate(_buckets(touching)):
            scope = tuple(dict.fromkeys(y for own, _ in bucket for y in own))
            values = combined(bucket, scope, outward_products)
            axis = scope.index(x)
            # In a split product one part alone may be summed: the others are at most their maximum.
            chosen = x in self.maximized or i > 0
            reduced = values.max(axis=axis) if chosen else values.sum(axis=axis)
            kept.append(Potential(scope[:axis] + scope[axis + 1 :], reduced))
        return kept


def _buckets(tables: list[Potential[int]]) -> list[list[Potential[int]]]:
    """Share tables out so that no bucket's product is too wide, largest tables first."""
    buckets: list[list[Potential[int]]] = []
    for table in sorted(tables, key=lambda t: -t[1].size):
        home = next((b for b in buckets if _states([*b, table]) <= WIDEST), None)
        if home is None:
            buckets.append([table])
        else:
            home.append(table)
    return buckets


def _states(tables: Iterable[Potential[int]]) -> int:
    sizes = {x: n for scope, values in tables for x, n in zip(scope, values.shape, strict=True)}
    return prod(sizes.values())
