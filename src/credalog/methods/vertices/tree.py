"""Messages in a tree of families: what passes along an arc, computed from everything beyond it.

Input: the tables of families and what is observed. Output: for an arc, the set of messages that may pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from credalog.methods.vertices.messages import (
    Messages,
    constant,
    from_above,
    multiplied,
    to_parent,
)
from credalog.numbers.budget import Budget
from credalog.tables.credal import Table

__all__ = ["Arc", "Tree"]

Arc: TypeAlias = tuple[int, int]
"""A source and the neighbour that its message goes to."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Families joined by their arcs; beyond an arc that is asked for, the arcs must form no cycle."""

    tables: Mapping[int, Table]
    children: Mapping[int, tuple[int, ...]]
    sizes: Sequence[int]
    observed: Mapping[int, int]
    budget: Budget

    @classmethod
    def of(
        cls, tables: Mapping[int, Table], sizes: Sequence[int], observed: Mapping[int, int], budget: Budget
    ) -> Tree:
        """Join families by their arcs."""
        children: dict[int, list[int]] = {x: [] for x in tables}
        for x, table in tables.items():
            for parent in table.parents:
                children[parent].append(x)
        return cls(tables, {x: tuple(found) for x, found in children.items()}, sizes, observed, budget)

    def neighbours(self, x: int) -> tuple[int, ...]:
        """Return parents and children."""
        return self.tables[x].parents + self.children[x]

    def message(self, source: int, towards: int) -> Messages:
        """Compute the set that passes along one arc, from everything beyond it."""
        return self.messages(source, towards)[source, towards]

    def messages(self, source: int, towards: int) -> dict[Arc, Messages]:
        """Compute the sets that pass along one arc and all arcs beyond it."""
        messages: dict[Arc, Messages] = {}
        for arc in self.schedule(source, towards):
            self.budget.require_time()
            upwards = arc[1] in self.tables[arc[0]].parents
            messages[arc] = self._to_parent(*arc, messages) if upwards else self._to_child(*arc, messages)
        return messages

    def schedule(self, source: int, towards: int) -> list[Arc]:
        """Return the arcs (from, to) beyond one, each after all that its message depends on."""
        order = [(source, towards)]
        for x, next_ in order:
            order.extend((y, x) for y in self.neighbours(x) if y != next_)
        return order[::-1]

    def _to_parent(self, source: int, parent: int, messages: Mapping[Arc, Messages]) -> Messages:
        table = self.tables[source]
        others = [messages[p, source] for p in table.parents if p != parent]
        below = multiplied(self.below(source, messages), self.sizes[source], self.budget)
        return to_parent(table, parent, others, below, self.budget)

    def _to_child(self, source: int, child: int, messages: Mapping[Arc, Messages]) -> Messages:
        table = self.tables[source]
        above = from_above(table, [messages[p, source] for p in table.parents], self.budget)
        return multiplied([above, *self.below(source, messages, but=child)], self.sizes[source], self.budget)

    def below(self, x: int, messages: Mapping[Arc, Messages], but: int | None = None) -> list[Messages]:
        """Return the messages from below a variable: its observation, or those of its children."""
        if x in self.observed:
            return [constant(np.eye(self.sizes[x])[self.observed[x]])]
        return [messages[child, x] for child in self.children[x] if child != but]
