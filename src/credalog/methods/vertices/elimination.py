"""The order in which the variables of a credal network are summed out, children first, laid out in arrays.

Input: the tables of vertices of the relevant families. Output: `Plan`: a leaf for every observed family, a
step for every other, and how the axes of the messages between them fit together.

Axes are sorted by the time of elimination, the first to go last: so the variable of a step is the last axis
of everything that meets there, and messages fit by stretching alone.

A block is one family with one parent configuration; a slot is one vertex of one block. Blocks and slots are
numbered through all families, so that what a search still allows is one row of booleans.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.errors import ProblemTooLarge
from credalog.tables.cones import Array
from credalog.tables.credal import Choice, Question, Table
from credalog.tables.elimination import MAX_CELLS

__all__ = ["Bools", "Clusters", "Entry", "Family", "Leaf", "Plan", "Step", "clusters", "plan"]

Bools: TypeAlias = NDArray[np.bool_]
Clusters: TypeAlias = dict[int, set[int]]
"""Variables in the order in which they go, each with what it meets when it goes."""


@dataclass(frozen=True, slots=True)
class Family:
    """A family with its parents in the order of the plan, and its place among the slots."""

    table: Table
    order: tuple[int, ...]
    """The axes of the table's parents, in the order of the plan."""
    vertices: Array
    """Axes: parents, vertices, values of the child."""
    start: int
    """The first slot."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the axes of the slots: parents, then vertices."""
        return self.vertices.shape[:-1]

    @property
    def slots(self) -> slice:
        """Return the places of this family's slots."""
        return slice(self.start, self.start + prod(self.shape))

    def choices(self, chosen: Bools) -> list[Choice]:
        """Name the vertices of this family in a row of slots with one vertex left in each block."""
        picks = chosen[self.slots].reshape(self.shape).argmax(axis=-1)
        return self.table.choices(np.transpose(picks, np.argsort(self.order)))


@dataclass(frozen=True, slots=True)
class Leaf:
    """The family of an observed variable: each block is one cell of its message."""

    family: Family
    values: Array
    """The probability of the observed value at each slot."""
    message: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A message that enters a step: how its cells are stretched, and which axes it lacks."""

    message: int
    cells: tuple[int, ...]
    stretched: tuple[int, ...]
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """The sum over one variable: a cluster of cells times the values of the variable.

    `theta` has the axes of the cluster, vertices and values, with length one along the context: the axes
    that are no parents of the variable.
    """

    variable: int
    family: Family
    cells: tuple[int, ...]
    theta: Array
    context: tuple[int, ...]
    entries: tuple[Entry, ...]
    message: int
    asks: bool
    """Whether the query is involved: its own step, and every later one that its message reaches."""

    @property
    def allowed_shape(self) -> tuple[int, ...]:
        """Return the shape in which a row of this family's slots meets the cluster."""
        return self.theta.shape[:-1]


@dataclass(frozen=True, slots=True)
class Plan:
    """Leaves and steps in order of elimination, and the slots of all blocks."""

    target: int
    leaves: tuple[Leaf, ...]
    steps: tuple[Step, ...]
    firsts: NDArray[np.intp]
    """The first slot of each block."""
    lengths: NDArray[np.intp]
    """The number of slots of each block."""
    start: Bools
    """All different vertices of every block, in one row."""

    @property
    def families(self) -> list[Family]:
        """Return all families, in the order of their slots."""
        return [leaf.family for leaf in self.leaves] + [step.family for step in self.steps]

    @property
    def terms(self) -> int:
        """Return how many roundings one value of a message may have undergone, from first to last."""
        sizes: list[int] = [step.theta.shape[-1] for step in self.steps]
        return sum(sizes) + sum(2 * len(step.entries) + 6 for step in self.steps) + len(self.leaves)

    @property
    def cells(self) -> int:
        """Return how many numbers one pass over all steps computes for one node of a search."""
        return sum(prod(step.cells) * prod(step.theta.shape[-2:]) for step in self.steps)

    def choices(self, chosen: Bools) -> list[Choice]:
        """Name the vertices of a row of slots with one vertex left in each block."""
        return [choice for family in self.families for choice in family.choices(chosen)]


def plan(
    tables: Mapping[int, Table], asked: Question, sizes: Sequence[int], order: Clusters | None = None
) -> Plan:
    """Lay out the elimination of all unobserved variables of the relevant families."""
    found = order or clusters({x: table.parents for x, table in tables.items()}, asked.observed, sizes)
    rank = {x: -position for position, x in enumerate(found)}
    builder = _Builder(asked, sizes, rank)
    for x, table in tables.items():
        if x in asked.observed:
            builder.add_leaf(table)
    for x, cluster in found.items():
        builder.add_step(tables[x], cluster)
    return builder.plan()


def clusters(
    parents: Mapping[int, Sequence[int]],
    observed: Container[int],
    sizes: Sequence[int],
    others: Iterable[set[int]] = (),
) -> Clusters:
    """Choose an order of elimination, children first; return what each variable meets when it goes.

    `others` are scopes of what takes part beside the tables.
    `tables.elimination` would choose smaller tables, but not an order in which each is that of a family.
    """
    left = {x for x in parents if x not in observed}
    scopes = [set(parents[x]) for x in parents if x in observed] + list(others)
    found: dict[int, set[int]] = {}
    while left:
        ready = left - {p for x in left for p in parents[x]}
        meets = {x: set(parents[x]).union(*(s for s in scopes if x in s)) - {x} for x in ready}
        x = min(meets, key=lambda x: (*_cost(meets[x], parents[x], sizes), -x))
        scopes = [scope for scope in scopes if x not in scope] + [meets[x]]
        found[x] = meets[x]
        left.remove(x)
    return found


def _cost(meets: set[int], parents: Sequence[int], sizes: Sequence[int]) -> tuple[int, int]:
    """Count the contexts, in which the relaxation is loose, then the cells."""
    return prod(sizes[y] for y in meets.difference(parents)), prod(sizes[y] for y in meets)


class _Builder:
    """Number slots and messages while families are laid out."""

    def __init__(self, asked: Question, sizes: Sequence[int], rank: Mapping[int, int]) -> None:
        self._asked, self._sizes, self._rank = asked, sizes, rank
        self._leaves: list[Leaf] = []
        self._steps: list[Step] = []
        self._scopes: dict[int, tuple[int, ...]] = {}
        self._asking: set[int] = set()
        self._slots = 0

    def _sorted(self, variables: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(variables, key=self._rank.__getitem__))

    def _family(self, table: Table) -> Family:
        order = tuple(table.parents.index(p) for p in self._sorted(table.parents))
        vertices = np.transpose(table.vertices, (*order, len(order), len(order) + 1))
        family = Family(table, order, vertices, self._slots)
        self._slots = family.slots.stop
        return family

    def _message(self, scope: tuple[int, ...]) -> int:
        number = len(self._leaves) + len(self._steps)
        self._scopes[number] = scope
        return number

    def add_leaf(self, table: Table) -> None:
        """Lay out the family of an observed variable."""
        family = self._family(table)
        message = self._message(self._sorted(table.parents))
        values = family.vertices[..., self._asked.observed[table.child]]
        self._leaves.append(Leaf(family, values, message))

    def add_step(self, table: Table, cluster: Iterable[int]) -> None:
        """Lay out the sum over an unobserved variable."""
        scope = self._sorted(cluster)
        cells = tuple(self._sizes[y] for y in scope)
        family = self._family(table)
        if prod(cells) * prod(family.vertices.shape[-2:]) > MAX_CELLS:
            raise ProblemTooLarge(f"summing out a variable needs {prod(cells)} cells")
        entries = tuple(self._entry(m, (*scope, table.child)) for m in self._entering(table.child))
        context = tuple(axis for axis, y in enumerate(scope) if y not in table.parents)
        along = tuple(1 if axis in context else n for axis, n in enumerate(cells))
        theta = family.vertices.reshape(*along, *family.vertices.shape[-2:])
        message = self._message(scope)
        asks = table.child == self._asked.target or any(entry.message in self._asking for entry in entries)
        if asks:
            self._asking.add(message)
        self._steps.append(Step(table.child, family, cells, theta, context, entries, message, asks))

    def _entering(self, x: int) -> list[int]:
        """List the messages still under way that mention a variable."""
        return [message for message, scope in self._scopes.items() if x in scope]

    def _entry(self, message: int, scope: tuple[int, ...]) -> Entry:
        own = self._scopes.pop(message)
        return Entry(
            message=message,
            cells=tuple(self._sizes[y] for y in own),
            stretched=tuple(self._sizes[y] if y in own else 1 for y in scope),
            missing=tuple(axis + 1 for axis, y in enumerate(scope) if y not in own),
        )

    def plan(self) -> Plan:
        """Finish: number the blocks and find repeated vertices."""
        families = [leaf.family for leaf in self._leaves] + [step.family for step in self._steps]
        counts = [np.full(prod(family.shape[:-1]), family.shape[-1]) for family in families]
        lengths = np.concatenate(counts).astype(np.intp)
        start = np.concatenate([_different(family.vertices) for family in families])
        firsts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
        return Plan(self._asked.target, tuple(self._leaves), tuple(self._steps), firsts, lengths, start)


def _different(vertices: Array) -> Bools:
    """Mark the first of equal vertices in each block."""
    blocks = vertices.reshape(-1, *vertices.shape[-2:])
    marked = np.zeros(blocks.shape[:2], dtype=np.bool_)
    for block, mine in zip(blocks, marked, strict=True):
        mine[np.unique(block, axis=0, return_index=True)[1]] = True
    return marked.reshape(-1)
