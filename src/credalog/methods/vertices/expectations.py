"""Expectations of sums of local functions over a credal network, bounded for many nodes of a search at once.

Input: functions of a few variables each, and for every node which vertices of each block are still allowed.
Output: a number that no choice of these vertices passes, and what each vertex would contribute.

The expectation of f = sum of weight * S under the product of all theta(x | parents) is found by summing out
variables, children first: what mentions x is added up, and its mean under theta(x | parents) is a function
of the parents and of what else was mentioned, the context. One theta serves all contexts; here each context
chooses its own vertex. Once every block has one vertex left, nothing is relaxed. All numbers on the way are
means of f, so that no error is greater than a share of the greatest |f| (docs/proofs.md, proof 27).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credalog.errors import ProblemTooLarge
from credalog.methods.vertices.elimination import Bools, clusters
from credalog.methods.vertices.sweeps import Program, Swept
from credalog.numbers.budget import Budget
from credalog.tables.cones import Array
from credalog.tables.elimination import Potential
from credalog.trusted.rounding import relative_error

__all__ = ["Function", "Passage", "Slots", "Sums"]

MOST_CELLS = 1 << 17
"""What one pass computes for one node at most."""

Function = Potential[int]
"""A table over some variables."""


@dataclass(frozen=True, slots=True)
class Slots:
    """The vertices of all blocks, numbered family by family, and where each block begins."""

    vertices: Mapping[int, Array]
    """Axes: all parents, vertices, values; where a block has fewer vertices, its first is repeated."""
    places: Mapping[int, NDArray[np.intp]]
    firsts: NDArray[np.intp]
    lengths: NDArray[np.intp]
    family_firsts: NDArray[np.intp]
    """The first block of each family."""

    @classmethod
    def of(cls, vertices: Mapping[int, Array]) -> Slots:
        """Give numbers to the vertices of all families."""
        places, lengths, family_firsts, start, blocks = {}, list[int](), list[int](), 0, 0
        for x, mine in vertices.items():
            shape = mine.shape[:-1]
            places[x] = start + np.arange(prod(shape)).reshape(shape)
            family_firsts.append(blocks)
            lengths += [shape[-1]] * prod(shape[:-1])
            start, blocks = start + prod(shape), blocks + prod(shape[:-1])
        counts = np.array(lengths, dtype=np.intp)
        firsts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.intp)
        return cls(vertices, places, firsts, counts, np.array(family_firsts, dtype=np.intp))

    @property
    def start(self) -> Bools:
        """Mark all vertices, of those that are repeated the first."""
        found = []
        for mine in self.vertices.values():
            is_new = (mine != mine[..., :1, :]).any(axis=-1)
            is_new[..., 0] = True
            found.append(is_new.reshape(-1))
        return np.concatenate(found)

    def tables(self, row: Bools) -> dict[int, Array]:
        """Return the tables of a row with one vertex in each block."""
        found = {}
        for x, mine in self.vertices.items():
            picks = row[self.places[x]].argmax(axis=-1)
            found[x] = np.take_along_axis(mine, picks[..., None, None], axis=-2)[..., 0, :]
        return found

    def by_family(self, values: Array) -> dict[int, Array]:
        """Return numbers of all blocks, by family, on the axes of its parents."""
        ends = np.append(self.family_firsts, len(self.firsts))
        return {
            x: values[ends[i] : ends[i + 1]].reshape(mine.shape[:-2])
            for i, (x, mine) in enumerate(self.vertices.items())
        }

    def best_in_block(self, values: Array) -> Bools:
        """Mark in every block the first slot of greatest value, row by row."""
        best = np.maximum.reduceat(values, self.firsts, axis=1).repeat(self.lengths, axis=1)
        marked = values == best
        before = marked.cumsum(axis=1) - marked
        return np.asarray(marked & (before == before[:, self.firsts].repeat(self.lengths, axis=1)))


class _Entry(NamedTuple):
    """A function that enters a step: its number, how it is stretched, and which axes it lacks."""

    function: int
    cells: tuple[int, ...]
    stretched: tuple[int, ...]
    missing: tuple[int, ...]


class _Step(NamedTuple):
    """The mean over one variable: a cluster of cells, its theta and the slots of these."""

    cells: tuple[int, ...]
    theta: Array
    """Axes of the cluster, one where there is a context; then vertices and values."""
    slots: NDArray[np.intp]
    context: tuple[int, ...]
    entries: tuple[_Entry, ...]
    message: int


class _Passed(NamedTuple):
    """What one step computed: the mean by vertex, which vertex each cell chose, and its mean."""

    by_vertex: list[Array]
    picks: NDArray[np.intp]
    best: Array


class Passage(NamedTuple):
    """What each step computed, and the end."""

    steps: tuple[_Passed, ...]
    total: Array

    def at(self, chosen: Bools) -> Passage:
        """Keep some of the nodes."""
        steps = (
            _Passed([_of(v, chosen) for v in s.by_vertex], s.picks[..., chosen], s.best[..., chosen])
            for s in self.steps
        )
        return Passage(tuple(steps), self.total[chosen])


def _of(values: Array, chosen: Bools) -> Array:
    """Return the part of an array that belongs to some nodes; what is the same for all has a single one."""
    return values if values.shape[-1] == 1 else values[..., chosen]


class Sums:
    """The expectation of a weighted sum of functions, laid out over numbered vertices.

    A weight is a number, or one for each node.
    """

    def __init__(
        self,
        slots: Slots,
        parents: Mapping[int, Sequence[int]],
        sizes: Sequence[int],
        functions: Sequence[Function],
        weights: Sequence[float] | Array,
        order: Sequence[int] | None = None,
    ) -> None:
        self.slots = slots
        order = order or list(clusters(parents, (), sizes, [set(f.scope) for f in functions]))
        self.order = tuple(x for x in order if x in parents)
        rank = {x: -place for place, x in enumerate(self.order)}
        laid = [_arranged(f, rank) for f in functions]
        self._values = [
            np.multiply.outer(f.values, np.atleast_1d(weight))
            for f, weight in zip(laid, weights, strict=True)
        ]
        scopes = {number: f.scope for number, f in enumerate(laid)}
        self._steps: list[_Step] = []
        for x in self.order:
            self._add_step(x, tuple(parents[x]), scopes, rank, sizes)
        self._ends = tuple(scopes)
        self.cells = sum(prod(s.cells) * prod(s.theta.shape[-2:]) for s in self._steps)
        if self.cells > MOST_CELLS:
            raise ProblemTooLarge(f"one pass over the network needs {self.cells} numbers")
        operations = sum(4 * s.theta.shape[-1] + 2 * len(s.entries) + 8 for s in self._steps)
        size = sum(float(np.abs(values).max(initial=0.0)) for values in self._values)
        self.rounding = relative_error(4 * operations) * size
        """More than all roundings of one pass take: no mean is greater than the size of what it is of."""

    def _add_step(
        self,
        x: int,
        parents: tuple[int, ...],
        scopes: dict[int, tuple[int, ...]],
        rank: Mapping[int, int],
        sizes: Sequence[int],
    ) -> None:
        entering = {number: scopes.pop(number) for number in [n for n, s in scopes.items() if x in s]}
        met = set(parents).union(*entering.values()) - {x}
        scope = tuple(sorted(met, key=rank.__getitem__))
        cells = tuple(sizes[y] for y in scope)
        order = [parents.index(p) for p in sorted(parents, key=rank.__getitem__)]
        vertices = np.transpose(self.slots.vertices[x], (*order, len(order), len(order) + 1))
        places = np.transpose(self.slots.places[x], (*order, len(order)))
        along = [n if y in parents else 1 for y, n in zip(scope, cells, strict=True)]
        context = tuple(axis for axis, y in enumerate(scope) if y not in parents)
        entries = tuple(_entry(n, own, (*scope, x), sizes) for n, own in entering.items())
        message = len(self._values) + len(self._steps)
        theta = vertices.reshape(*along, *vertices.shape[-2:])
        self._steps.append(_Step(cells, theta, places.reshape(*along, -1), context, entries, message))
        scopes[message] = scope

    def passage(self, rows: Bools, budget: Budget) -> Passage:
        """Sum out all variables; each cell takes the best vertex that is allowed."""
        values, passed, allowed = dict(enumerate(self._values)), list[_Passed](), _nodes_last(rows)
        for step in self._steps:
            budget.require_time()
            met = sum(values.pop(e.function).reshape(*e.stretched, -1) for e in step.entries)
            passed.append(_step_passed(step, allowed, np.asarray(met)))
            values[step.message] = passed[-1].best
        total = sum(np.broadcast_to(values[n].reshape(-1), len(rows)) for n in self._ends)
        return Passage(tuple(passed), np.asarray(total))

    def contributions(self, rows: Bools, passage: Passage) -> tuple[Array, Array]:
        """Return what each slot adds if all contexts take it, and what blocks lose if they must agree."""
        nodes = len(rows)
        totals, relaxed = np.zeros((rows.shape[1], nodes)), np.zeros((rows.shape[1], nodes))
        weights: dict[int, Array] = {n: np.ones(nodes) for n in self._ends}
        for step, passed in zip(reversed(self._steps), reversed(passage.steps), strict=True):
            weight = weights.pop(step.message).reshape(*step.cells, nodes)
            for v, by_vertex in enumerate(passed.by_vertex):
                slots = step.slots[..., v].reshape(-1)
                totals[slots] = (weight * by_vertex).sum(axis=step.context).reshape(-1, nodes)
            gained = (weight * passed.best).sum(axis=step.context).reshape(-1, nodes)
            relaxed[step.slots[..., 0].reshape(-1)] = gained
            inner = _chosen_theta(step, passed.picks) * np.expand_dims(weight, -2)
            for entry in step.entries:
                weights[entry.function] = inner.sum(axis=entry.missing).reshape(*entry.cells, nodes)
        firsts = self.slots.firsts
        single = np.maximum.reduceat(np.where(_nodes_last(rows), totals, -np.inf), firsts, axis=0)
        return totals.T, (relaxed[firsts] - single).T

    def swept(self, rows: Bools, budget: Budget, *, above: float = -inf, compiles: bool = False) -> Swept:
        """Bound all nodes, and tell of those above a number what slots add and what blocks lose."""
        if compiles:
            budget.require_time()
            return self._program.sweep(rows, above)
        passage = self.passage(rows, budget)
        is_open = passage.total > above
        found = Swept(passage.total, np.zeros(rows.shape), np.zeros((len(rows), len(self.slots.firsts))))
        if is_open.any():
            totals, losses = self.contributions(rows[is_open], passage.at(is_open))
            found.totals[is_open], found.losses[is_open] = totals, losses
        return found

    def searched(self, start: Bools, budget: Budget) -> Bools | None:
        """Return a choice of allowed vertices with a positive sum, None where there is none: compiled."""
        return self._program.search(start, self.rounding, budget)

    @cached_property
    def _program(self) -> Program:
        """Lay all steps out flat; for weights that are the same for all nodes."""
        sizes = [*(values.size for values in self._values), *(prod(s.cells) for s in self._steps)]
        begins = np.concatenate([[0], np.cumsum(sizes)])
        laid = [_laid_flat(step, begins) for step in self._steps]
        shapes = [(prod(s.cells), *s.theta.shape[-2:], len(s.entries)) for s in self._steps]
        return Program(
            np.concatenate([values.reshape(-1) for values in self._values]),
            np.array(shapes, dtype=np.intp).reshape(-1, 4),
            np.concatenate([reads for reads, _, _ in laid]),
            np.concatenate([theta for _, theta, _ in laid]),
            np.concatenate([slots for _, _, slots in laid]),
            begins[list(self._ends)],
            self.slots.firsts,
            self.slots.lengths,
        )


def _laid_flat(step: _Step, begins: NDArray[np.intp]) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
    """Return what a step reads, its theta and its slots, for all cells."""
    vertices, values = step.theta.shape[-2:]
    reads = [
        begins[e.function]
        + np.broadcast_to(np.arange(prod(e.cells)).reshape(e.stretched), (*step.cells, values)).reshape(-1)
        for e in step.entries
    ]
    theta = np.broadcast_to(step.theta, (*step.cells, vertices, values)).reshape(-1)
    slots = np.broadcast_to(step.slots, (*step.cells, vertices)).reshape(-1)
    return np.concatenate([np.empty(0, dtype=np.intp), *reads]), theta, slots


def _nodes_last(rows: Bools) -> Bools:
    """Turn rows into columns: every loop over cells is then one over all nodes, side by side in memory."""
    return np.ascontiguousarray(rows.T)


def _step_passed(step: _Step, allowed: Bools, met: Array) -> _Passed:
    """Take the mean over one variable, for each vertex, and choose; loops over few vertices and values."""
    full = np.broadcast_to(met, (*step.cells, step.theta.shape[-1], met.shape[-1]))
    by_vertex, best = list[Array](), np.full((*step.cells, allowed.shape[1]), -np.inf)
    picks = np.zeros(best.shape, dtype=np.intp)
    for v in range(step.theta.shape[-2]):
        theta = step.theta[..., v, :, None]
        mean = theta[..., 0, :] * full[..., 0, :]
        for k in range(1, theta.shape[-2]):
            mean = mean + theta[..., k, :] * full[..., k, :]
        by_vertex.append(mean)
        is_better = allowed[step.slots[..., v]] & (mean > best)
        best = np.where(is_better, mean, best)
        picks[is_better] = v
    return _Passed(by_vertex, picks, best)


def _chosen_theta(step: _Step, picks: NDArray[np.intp]) -> Array:
    """Return the vertex that each cell chose: axes of the cells, values, nodes."""
    shape = (*picks.shape[:-1], step.theta.shape[-1], picks.shape[-1])
    theta = np.broadcast_to(step.theta[..., 0, :, None], shape)
    for v in range(1, step.theta.shape[-2]):
        theta = np.where(np.expand_dims(picks == v, -2), step.theta[..., v, :, None], theta)
    return theta


def _arranged(function: Function, rank: Mapping[int, int]) -> Function:
    """Sort the axes of a function by the time at which they go, the first to go last."""
    scope = tuple(sorted(function.scope, key=rank.__getitem__))
    return Function(scope, np.transpose(function.values, [function.scope.index(y) for y in scope]))


def _entry(number: int, own: Sequence[int], scope: Sequence[int], sizes: Sequence[int]) -> _Entry:
    return _Entry(
        number,
        tuple(sizes[y] for y in own),
        tuple(sizes[y] if y in own else 1 for y in scope),
        tuple(axis for axis, y in enumerate(scope) if y not in own),
    )
