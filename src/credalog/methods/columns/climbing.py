"""Climbing: from given worlds to worlds of locally greatest worth, one variable at a time.

Input: events in tables, a worth for each, worlds to start from. Output: better worlds, best first. Nothing
is proved; it spares the 0/1 solver most of its work.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from credalog.methods.columns.events import Events, Worlds
from credalog.methods.columns.tables import Tables
from credalog.numbers.jit import compiled
from credalog.program.program import Floats

__all__ = ["Landscape"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Landscape:
    """The tables of some events, and where each variable enters them.

    Occurrence k of variable v, k from `first[v]` to `first[v + 1]`, says that it enters table `table[k]` with
    stride `stride[k]`.
    """

    tables: Tables
    first: Integers
    table: Integers
    stride: Integers

    @classmethod
    def of(cls, events: Events) -> Landscape:
        """Find out where each variable enters the tables of some events."""
        tables = Tables.of(events)
        found = sorted(
            (v, g, prod(tables.shape(g)[axis + 1 :]))
            for g, over in enumerate(tables.scopes)
            for axis, v in enumerate(over)
        )
        variable, table, stride = np.array(found, dtype=np.int64).reshape(-1, 3).T
        first = np.searchsorted(variable, np.arange(len(events.variables) + 1))
        return cls(tables, first, table.copy(), stride.copy())

    def climb(self, worth: Floats, worlds: Worlds) -> Worlds:
        """Improve each world until no change of a single variable helps; return them, best first."""
        entries = self.tables.worth(worth, penalty=1.0 + float(np.abs(worth).sum()))
        sizes = np.array(self.tables.events.sizes)
        found = worlds.copy()
        values = np.empty(len(found))
        starts = self.tables.starts[:-1]
        _climb(entries, found, values, sizes, starts, self.first, self.table, self.stride)
        _, distinct = np.unique(found, axis=0, return_index=True)
        return found[distinct[np.argsort(-values[distinct], kind="stable")]]


@compiled
def _climb(
    entries: Floats,
    worlds: Worlds,
    values: Floats,
    sizes: Integers,
    starts: Integers,
    first: Integers,
    table: Integers,
    stride: Integers,
) -> None:
    """Climb from every world, in place; where[g] is the entry of table g that the world selects."""
    for w in range(len(worlds)):
        where = starts.copy()
        for v in range(len(sizes)):
            for k in range(first[v], first[v + 1]):
                where[table[k]] += stride[k] * worlds[w, v]
        improved = True
        while improved:
            improved = False
            for v in range(len(sizes)):
                gain, move = _best_move(entries, where, worlds[w, v], sizes[v], v, first, table, stride)
                if gain > MINUTE:
                    improved = True
                    worlds[w, v] += move
                    for k in range(first[v], first[v + 1]):
                        where[table[k]] += stride[k] * move
        values[w] = entries[where].sum()


MINUTE = 1e-12
"""A gain that is no more than rounding."""


@compiled
def _best_move(
    entries: Floats,
    where: Integers,
    value: int,
    size: int,
    v: int,
    first: Integers,
    table: Integers,
    stride: Integers,
) -> tuple[float, int]:
    """Return the best change of one variable's value, and what it gains."""
    best, best_move = 0.0, 0
    for other in range(size):
        gain = 0.0
        for k in range(first[v], first[v + 1]):
            here = where[table[k]]
            gain += entries[here + stride[k] * (other - value)] - entries[here]
        if gain > best:
            best, best_move = gain, other - value
    return best, best_move
