"""Events as tables: what each joint value of a few variables is worth.

Input: events with narrow scopes. Output: `Tables`: for a worth of each event, one table per scope, all of
them laid out in one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.methods.columns.events import Events
from credalog.network.formulas import truth_table
from credalog.program.program import Floats

__all__ = ["Tables"]


@dataclass(frozen=True)
class Tables:
    """The scopes of some events, each with the numbers of its events; the certain ones come last.

    Table g has an entry for each joint value of `scopes[g]`, in the order of numpy, from `starts[g]` on.
    """

    events: Events
    scopes: tuple[tuple[int, ...], ...]
    members: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, events: Events) -> Tables:
        """Gather the events by scope."""
        members: dict[tuple[int, ...], list[int]] = {}
        for j, over in enumerate(events.scopes):
            members.setdefault(over, []).append(j)
        return cls(events, tuple(members), tuple(tuple(found) for found in members.values()))

    def shape(self, table: int) -> tuple[int, ...]:
        """Return the shape of a table."""
        return tuple(self.events.sizes[v] for v in self.scopes[table])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Return where each table starts, and where the last one ends."""
        lengths = [prod(self.shape(g)) for g in range(len(self.scopes))]
        return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])

    @cached_property
    def _truth(self) -> sp.csr_array:
        """Return which event (column) is true at which entry (row)."""
        found = [(j, self._places(g, j)) for g, members in enumerate(self.members) for j in members]
        valued = [(j, places) for j, places in found if j < len(self.events.formulas)]
        rows = np.concatenate([places for _, places in valued])
        columns = np.repeat([j for j, _ in valued], [len(places) for _, places in valued])
        shape = int(self.starts[-1]), len(self.events.formulas)
        return sp.csr_array(sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape))

    @cached_property
    def _excluded(self) -> NDArray[np.bool_]:
        """Tell at which entries something fails that is certain."""
        excluded = np.zeros(int(self.starts[-1]), dtype=np.bool_)
        for g, members in enumerate(self.members):
            for j in members:
                if j >= len(self.events.formulas):
                    excluded[self._places(g, j)] = True
        return excluded

    def _places(self, table: int, event: int) -> NDArray[np.int64]:
        """Return the entries where an event is true; where a certain one is false."""
        variables = [self.events.variables[v] for v in self.scopes[table]]
        every = (*self.events.formulas, *self.events.certain)
        certain = event >= len(self.events.formulas)
        return np.asarray(
            np.flatnonzero(truth_table(every[event], variables) != certain) + self.starts[table]
        )

    def worth(self, worth: Floats, penalty: float) -> Floats:
        """Return the worth of every entry, less the penalty where it is excluded."""
        value = self._truth @ worth
        return np.where(self._excluded, value - penalty, value)

    def exact_worth(self, worth: Sequence[int], penalty: int) -> NDArray[np.object_]:
        """Return the same in whole numbers."""
        value = np.where(self._excluded, -penalty, 0).astype(object)
        by_event = sp.csc_array(self._truth)
        for j, amount in enumerate(worth):
            value[by_event.indices[by_event.indptr[j] : by_event.indptr[j + 1]]] += amount
        return value

    def split(self, entries: NDArray[Any]) -> list[NDArray[Any]]:
        """Return each table in its own shape."""
        parts = zip(self.starts, self.starts[1:], strict=False)
        return [entries[start:stop].reshape(self.shape(g)) for g, (start, stop) in enumerate(parts)]
