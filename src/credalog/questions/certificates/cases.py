"""Cases of a proof by summing out: the search over vertices, until no case passes the bound.

Input: what is summed out together with a question (`Root`), an order, an event and a trial value. Output: the
nodes of a certificate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from credalog.errors import ProblemTooLarge
from credalog.methods.vertices.elimination import Bools, Clusters, Plan, plan
from credalog.methods.vertices.mini_buckets import contributions, forward
from credalog.numbers.budget import Budget
from credalog.tables.cones import Array
from credalog.tables.credal import Question, Table

if TYPE_CHECKING:
    from credalog.questions.certificates.sums import Root

__all__ = ["nodes_of"]

MOST_NODES = 4_000
"""A proof with more cases than this is given up."""

BATCH = 32
"""How many cases are looked at together."""


class _Split(NamedTuple):
    """A law, by its variable and the states of its parents, and the vertices that each half keeps."""

    variable: int
    states: list[int]
    first: int
    halves: Sequence[Any]


def nodes_of(root: Root, order: Sequence[int], event: Array, trial: float, budget: Budget) -> list[Any]:
    """Share the vertices of laws between cases until P(event | evidence) passes the trial value in none."""
    cases = _Cases(root, order)
    nodes: list[Any] = [None]
    waiting = [(0, cases.layout.start)]
    while waiting:
        taken, waiting = waiting[-BATCH:], waiting[:-BATCH]
        found = cases.splits(np.array([row for _, row in taken]), event, trial, budget)
        for (n, row), split in zip(taken, found, strict=True):
            children = [] if split is None else [len(nodes), len(nodes) + 1]
            nodes[n] = _node(split, children)
            nodes += [None for _ in children]
            waiting += zip(children, _halves(row, split.halves if split else ()), strict=True)
        if len(nodes) > MOST_NODES:
            raise ProblemTooLarge(f"a proof by more than {MOST_NODES} cases")
    return nodes


def _node(split: _Split | None, children: Sequence[int]) -> list[Any]:
    if split is None:
        return ["sum"]
    return ["split", split.variable, split.states, len(split.halves[0]), *children]


def _halves(row: Bools, halves: Sequence[Any]) -> list[Bools]:
    """Return the rows of both halves."""
    found = []
    for half in halves:
        child = row.copy()
        child[np.concatenate(halves)] = False
        child[half] = True
        found.append(child)
    return found


class _Cases:
    """The root as a plan of elimination; what messages it receives is a hidden choice, which goes last."""

    def __init__(self, root: Root, order: Sequence[int]) -> None:
        tables, sizes = {x: root.tree.tables[x] for x in root.members}, list(root.tree.sizes)
        observed, hidden = dict(root.tree.observed), list[int]()
        for arc in root.arcs:
            hidden.append(len(sizes))
            observed |= _add_hidden(tables, sizes, root, arc)
        unknown = [x for x in order if x not in observed]
        met = _clusters({x: table.parents for x, table in tables.items()}, observed, [*unknown, *hidden])
        self.layout: Plan = plan(tables, Question(root.target, (), observed), sizes, met)
        self.places = [place for family in self.layout.families for place in _places(family)]
        self.is_law = np.array([x in root.members for x, _ in self.places])

    def splits(self, rows: Bools, event: Array, trial: float, budget: Budget) -> list[_Split | None]:
        """Tell of each case how to split it; None where no choice passes the trial value."""
        passage = forward(self.layout, rows, event, np.full(len(rows), trial), budget)
        score = (1 - trial) * passage.inside - trial * passage.outside
        losses = contributions(self.layout, rows, passage).losses
        counts = np.add.reduceat(rows, self.layout.firsts, axis=1, dtype=np.intp)
        blocks = np.where((counts > 1) & self.is_law, losses, -np.inf).argmax(axis=1)
        return [
            self._split(row, int(block)) if passes else None
            for row, block, passes in zip(rows, blocks, score > 0, strict=True)
        ]

    def _split(self, row: Bools, block: int) -> _Split:
        first = int(self.layout.firsts[block])
        allowed = first + np.flatnonzero(row[first : first + int(self.layout.lengths[block])])
        if len(allowed) < 2:
            raise ProblemTooLarge("a case that cannot be split")
        return _Split(*self.places[block], first, np.array_split(allowed, 2))


def _add_hidden(
    tables: dict[int, Table], sizes: list[int], root: Root, arc: tuple[int, int]
) -> dict[int, int]:
    """Replace what lies beyond an arc by a choice among its messages; return what is observed of it."""
    source, towards = arc
    vectors, hidden = root.tree.message(source, towards).vectors, len(sizes)
    tables[hidden] = Table(hidden, (), np.eye(len(vectors)), ())
    sizes += [len(vectors), 2]
    if source in root.tree.tables[towards].parents:
        laws = (vectors / vectors.sum(axis=1, keepdims=True))[:, None]
        tables[source] = Table(source, (hidden,), laws, ())
        return {}
    shown = np.stack([1 - vectors, vectors], axis=-1)[:, :, None, :]
    tables[hidden + 1] = Table(hidden + 1, (hidden, towards), shown, ())
    return {hidden + 1: 1}


def _places(family: Any) -> list[tuple[int, list[int]]]:
    """Return of each block of a family its variable and the states of its parents, in their own order."""
    places = []
    for states in np.ndindex(*family.shape[:-1]):
        own = dict(zip(family.order, map(int, states), strict=True))
        places.append((family.table.child, [own[place] for place in range(len(own))]))
    return places


def _clusters(
    parents: Mapping[int, Sequence[int]], observed: Mapping[int, int], order: Sequence[int]
) -> Clusters:
    """Return what each variable meets when it goes, in a given order."""
    scopes = [set(parents[x]) for x in parents if x in observed]
    found: Clusters = {}
    for x in order:
        meets = set(parents[x]).union(*(s for s in scopes if x in s)) - {x}
        scopes = [s for s in scopes if x not in s] + [meets]
        found[x] = meets
    return found
