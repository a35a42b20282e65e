"""Messages in a tree of families: what passes along an arc, computed from everything beyond it.

Enters: the tables of families and what is observed. Leaves: for an arc, the set of messages that may pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TypeAlias

import numpy as np

from credalog.methods.vertices.messages import (
    Messages,
    OutOfTimeError,
    constant,
    from_above,
    multiplied,
    to_parent,
)
from credalog.tables.credal import Table

__all__ = ["Arc", "Tree"]

Arc: TypeAlias = tuple[int, int]
"""A source and the neighbour that it speaks to."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Families joined by their arcs; beyond an arc that is asked for, the arcs must form no cycle."""

    tables: Mapping[int, Table]
    children: Mapping[int, tuple[int, ...]]
    sizes: Sequence[int]
    observed: Mapping[int, int]
    deadline: float

    @classmethod
    def of(
        cls, tables: Mapping[int, Table], sizes: Sequence[int], observed: Mapping[int, int], deadline: float
    ) -> Tree:
        """Join families by their arcs."""
        children: dict[int, list[int]] = {x: [] for x in tables}
        for x, table in tables.items():
            for parent in table.parents:
                children[parent].append(x)
        return cls(tables, {x: tuple(found) for x, found in children.items()}, sizes, observed, deadline)

    def neighbours(self, x: int) -> tuple[int, ...]:
        """Return parents and children."""
        return self.tables[x].parents + self.children[x]

    def message(self, source: int, towards: int) -> Messages:
        """Compute the set that passes along one arc, from everything beyond it."""
        heard: dict[Arc, Messages] = {}
        for arc in self.schedule(source, towards):
            if monotonic() > self.deadline:
                raise OutOfTimeError
            upwards = arc[1] in self.tables[arc[0]].parents
            heard[arc] = self._to_parent(*arc, heard) if upwards else self._to_child(*arc, heard)
        return heard[source, towards]

    def schedule(self, source: int, towards: int) -> list[Arc]:
        """Return the arcs (from, to) beyond one, ordered so that each variable hears before it speaks."""
        order = [(source, towards)]
        for x, next_ in order:
            order.extend((y, x) for y in self.neighbours(x) if y != next_)
        return order[::-1]

    def _to_parent(self, source: int, parent: int, heard: Mapping[Arc, Messages]) -> Messages:
        table = self.tables[source]
        others = [heard[p, source] for p in table.parents if p != parent]
        below = multiplied(self.below(source, heard), self.sizes[source])
        return to_parent(table, parent, others, below)

    def _to_child(self, source: int, child: int, heard: Mapping[Arc, Messages]) -> Messages:
        table = self.tables[source]
        above = from_above(table, [heard[p, source] for p in table.parents], deadline=self.deadline)
        return multiplied([above, *self.below(source, heard, but=child)], self.sizes[source])

    def below(self, x: int, heard: Mapping[Arc, Messages], but: int | None = None) -> list[Messages]:
        """Return what a variable hears from its own side: its observation, or its children."""
        if x in self.observed:
            return [constant(np.eye(self.sizes[x])[self.observed[x]])]
        return [heard[child, x] for child in self.children[x] if child != but]
