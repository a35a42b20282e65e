"""From the tables of a point to conditional distributions, and back, many times for one encoding.

Input: an encoding. Output: `Reader`, which reads P(block | parents) off the tables of any point, each
distribution pulled into its local polytope, and multiplies them out again to the tables of every clique. All
that does not depend on the point is worked out once: a search reads thousands of points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.factorization import Clique
from credalog.network.polytopes import LocalPolytope, ranges, single_value_bounds, vertices
from credalog.program.program import Floats
from credalog.tables.distribution import Distribution, Factor
from credalog.tables.interval_sets import interval_centre

__all__ = ["Reader", "aligned", "observed_part"]

Places = NDArray[np.intp]
T = TypeVar("T", bound=np.generic)

NOTHING = 1e-300
"""A configuration with less mass than this says nothing about its distribution."""

HALVINGS = 60
"""How often the search for the shift that makes clipped probabilities add up to one halves its range."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A table P(block | parents): where its entries begin, and the numbers of its variables."""

    variables: tuple[int, ...]
    parents: tuple[int, ...]
    start: int
    shape: tuple[int, ...]

    @property
    def stop(self) -> int:
        return self.start + prod(self.shape)


@dataclass(frozen=True, slots=True)
class _Step:
    """How a clique's table is multiplied out: each column's entry, and its place in the sums of each part."""

    columns: Places
    entries: Places
    parts: tuple[tuple[Places, Places], ...]


@dataclass(slots=True)
class _Triples:
    """A sparse matrix under construction."""

    rows: list[Places] = field(default_factory=list)
    columns: list[Places] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)

    def add(self, rows: Places, columns: Places, value: float) -> None:
        """Add one value in places that are given as arrays that broadcast."""
        row, column = np.broadcast_arrays(rows, columns)
        self.rows.append(row.ravel())
        self.columns.append(column.ravel())
        self.values.append(np.full(row.size, value))

    def matrix(self, shape: tuple[int, int]) -> sp.csr_array:
        """Return the matrix; values in one place add up."""
        if not self.rows:
            return sp.csr_array(shape)
        found = tuple(map(np.concatenate, (self.rows, self.columns)))
        return sp.csr_array((np.concatenate(self.values), found), shape=shape)


class Reader:
    """Read distributions off points of one encoding; `theta` are the entries of all its tables in a row."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self._owners: dict[tuple[int, ...], list[int]] = {}
        for number, clique in enumerate(encoding.factorization.cliques[:-1]):
            self._owners.setdefault(clique.block, []).append(number)
        self._blocks = self._laid_out()
        size = self._blocks[-1].stop if self._blocks else 0
        self._lows, self._highs, self._usual = np.zeros(size), np.ones(size), np.zeros(size)
        self._cornered: list[tuple[slice, Floats]] = []
        self._rows = self._numbered_rows()
        self._counts = self._counting(size)
        self._steps: tuple[_Step, ...] = ()

    def _laid_out(self) -> list[_Block]:
        """Give the entries of all tables numbers, parents first: children are eliminated before them."""
        blocks: list[_Block] = []
        sizes, start = self.encoding.problem.structure.sizes, 0
        cliques = self.encoding.factorization.cliques
        for variables in dict.fromkeys(clique.block for clique in reversed(cliques[:-1])):
            parents = self._parents(variables)
            shape = tuple(sizes[x] for x in (*parents, *variables))
            blocks.append(_Block(variables, parents, start, shape))
            start += prod(shape)
        return blocks

    def _parents(self, block: tuple[int, ...]) -> tuple[int, ...]:
        clique = self.encoding.factorization.cliques[self._owners[block][0]]
        if clique.is_free:
            return clique.rest[0] if clique.own_condition is None else clique.own_condition.given
        found = {p for x in block for p in self.encoding.problem.structure.parents[x]}
        return tuple(sorted(found - set(block)))

    # ---- what is known of each row --------------------------------------------------------------------

    def _numbered_rows(self) -> dict[int, Places]:
        """Return the places of all distributions, those of one length together, and note their bounds."""
        found: dict[int, list[Places]] = {}
        for block in self._blocks:
            places = np.arange(block.start, block.stop, dtype=np.intp)
            rows = places.reshape(prod(block.shape[: len(block.parents)]), -1)
            self._usual[places] = 1.0 / rows.shape[1]
            found.setdefault(rows.shape[1], []).append(rows)
            if block.parents == self.encoding.problem.structure.parents[block.variables[0]]:
                self._note_bounds(block, rows)
        return {length: np.concatenate(rows) for length, rows in found.items()}

    def _note_bounds(self, block: _Block, rows: Places) -> None:
        polytopes = self.encoding.problem.polytopes[block.variables[0]] if len(block.variables) == 1 else {}
        numbers = np.arange(len(rows)).reshape(block.shape[: len(block.parents)])
        for configuration, polytope in polytopes.items():
            row = rows[numbers[configuration]]
            self._note_polytope(slice(int(row[0]), int(row[-1]) + 1), polytope)

    def _note_polytope(self, row: slice, polytope: LocalPolytope) -> None:
        if polytope.size == 2 or single_value_bounds(polytope) is not None:
            lower, upper = zip(*ranges(polytope), strict=True)
            self._lows[row], self._highs[row] = lower, upper
            self._usual[row] = interval_centre(lower, upper)
            return
        corners = np.array([[float(c) for c in vertex] for vertex in vertices(polytope)])
        self._usual[row] = corners.mean(axis=0)
        self._cornered.append((row, corners))

    # ---- from a point to distributions ----------------------------------------------------------------

    def _counting(self, size: int) -> sp.csr_array:
        """Return the matrix that adds up the mass of each entry over the cliques that show it."""
        triples = _Triples()
        for block in self._blocks:
            places = np.arange(block.start, block.stop, dtype=np.intp)
            rows = places.reshape(prod(block.shape[: len(block.parents)]), -1)
            for number in self._informative(block.variables):
                self._count(number, block, rows, triples)
        return triples.matrix((size, self.encoding.program.columns))

    def _informative(self, block: tuple[int, ...]) -> list[int]:
        """Leave out tables that show one of many values, where others show all of them."""
        cliques, owners = self.encoding.factorization.cliques, self._owners[block]
        whole = [n for n in owners if cliques[n].fixed.isdisjoint(block)]
        two_valued = self.encoding.problem.structure.sizes[block[0]] == 2
        return whole if whole and not two_valued else owners

    def _count(self, number: int, block: _Block, rows: Places, triples: _Triples) -> None:
        """Add the mass that one clique gives to each state of its block under each parent configuration."""
        encoding, clique = self.encoding, self.encoding.factorization.cliques[number]
        shown = rows[encoding.state_numbers(block.parents, clique)]
        if clique.fixed.isdisjoint(block.variables):
            columns = encoding.arranged(number, block.parents, block.variables)
            triples.add(shown[:, :, None], columns, 1.0)
            return
        state = encoding.evidence[block.variables[0]]
        part = encoding.arranged(number, block.parents)
        whole = encoding.arranged(encoding.lean(number), block.parents)
        triples.add(shown[:, [state]], part, 1.0)
        # What was not observed is shared out evenly among the other states.
        others = np.delete(shown, state, axis=1)[:, :, None]
        triples.add(others, whole[:, None, :], 1.0 / others.shape[1])
        triples.add(others, part[:, None, :], -1.0 / others.shape[1])

    def theta(self, point: Floats) -> Floats:
        """Read the entries of all tables off a point, each distribution pulled into its local polytope."""
        counts = np.maximum(self._counts @ point, 0.0)
        theta = self._usual.copy()
        for length, rows in self._rows.items():
            found = counts[rows]
            total = found.sum(axis=1, keepdims=True)
            shares = np.where(total > NOTHING, found / np.where(total > NOTHING, total, 1.0), theta[rows])
            theta[rows] = self._clipped(length, rows, shares)
        for row, corners in self._cornered:
            if counts[row].sum() > NOTHING:
                theta[row] = _pulled(counts[row] / counts[row].sum(), corners)
            else:
                theta[row] = corners.mean(axis=0)
        return theta

    def _clipped(self, length: int, rows: Places, shares: Floats) -> Floats:
        """Return the nearest distributions within bounds: shifted by a constant and clipped."""
        lows, highs = self._lows[rows], self._highs[rows]
        if length == 2:
            first = np.clip(shares[:, :1], lows[:, :1], highs[:, :1])
            return np.concatenate([first, 1.0 - first], axis=1)
        below, above = np.full((len(rows), 1), -1.0), np.full((len(rows), 1), 1.0)
        for _ in range(HALVINGS):
            shift = (below + above) / 2.0
            is_short = np.clip(shares + shift, lows, highs).sum(axis=1, keepdims=True) < 1.0
            below, above = np.where(is_short, shift, below), np.where(is_short, above, shift)
        found: Floats = np.clip(shares + above, lows, highs)
        # What the last digits leave goes to the value with most room on that side.
        left = 1.0 - found.sum(axis=1)
        room = np.where(left[:, None] > 0.0, highs - found, found - lows)
        found[np.arange(len(found)), np.argmax(room, axis=1)] += left
        # What is within its bounds stays as it is: rare states would drown in a shift of the last digits.
        is_inside = ((lows <= shares) & (shares <= highs)).all(axis=1, keepdims=True)
        return np.where(is_inside, shares, found)

    def distribution(self, theta: Floats) -> Distribution:
        """Return the product of all tables, given their entries."""
        variables = self.encoding.problem.variables
        return Distribution(
            tuple(
                Factor(
                    tuple(variables[x] for x in block.variables),
                    tuple(variables[p] for p in block.parents),
                    theta[block.start : block.stop].reshape(block.shape),
                )
                for block in self._blocks
            )
        )

    # ---- from distributions to a point ----------------------------------------------------------------

    def tables(self, theta: Floats) -> Floats:
        """Multiply out the table of every clique, the total mass being one."""
        self._steps = self._steps or tuple(self._multiplications())
        point = np.zeros(self.encoding.program.columns)
        point[0] = 1.0
        for step in self._steps:
            table = theta[step.entries]
            for columns, places in step.parts:
                table *= point[columns].sum(axis=1)[places]
            point[step.columns] = table
        return point

    def _multiplications(self) -> list[_Step]:
        """Work out how each clique's table is multiplied out, those that others lean on first."""
        of = {block.variables: block for block in self._blocks}
        cliques = self.encoding.factorization.cliques
        return [self._step(n, cliques[n], of[cliques[n].block]) for n in reversed(range(len(cliques) - 1))]

    def _step(self, number: int, clique: Clique, block: _Block) -> _Step:
        encoding, sizes = self.encoding, self.encoding.problem.structure.sizes
        columns = encoding.columns[number]
        numbers: Places = np.arange(block.start, block.stop, dtype=np.intp).reshape(block.shape)
        entries = aligned(numbers, (*block.parents, *block.variables), clique, encoding.evidence)
        parts = []
        for part in clique.rest:
            theirs = encoding.arranged(encoding.leans_on(number, part), part)
            shape = [sizes[x] if x in part else 1 for x in clique.shown]
            places = np.arange(len(theirs), dtype=np.intp).reshape(shape)
            parts.append((theirs, np.broadcast_to(places, columns.shape).ravel()))
        return _Step(columns.ravel(), np.broadcast_to(entries, columns.shape).ravel(), tuple(parts))


def _pulled(theta: Floats, corners: Floats) -> Floats:
    """Return a distribution near by that is a mixture of the corners."""
    from scipy.optimize import nnls

    weights, _ = nnls(np.vstack([corners.T, np.full(len(corners), 10.0)]), np.append(theta, 10.0))
    pulled: Floats = weights @ corners / weights.sum()
    return pulled


def observed_part(
    over: tuple[int, ...], clique: Clique, evidence: Mapping[int, int]
) -> tuple[int | slice, ...]:
    """Return the part of a table in which the variables that a clique observes have their states."""
    return tuple(evidence[x] if x in clique.fixed else slice(None) for x in over)


def aligned(
    table: NDArray[T], over: tuple[int, ...], clique: Clique, evidence: Mapping[int, int]
) -> NDArray[T]:
    """Bring a table over some variables of a clique into the shape of the clique's own."""
    kept = [x for x in over if x not in clique.fixed]
    order = sorted(range(len(kept)), key=lambda axis: clique.shown.index(kept[axis]))
    picked = table[observed_part(over, clique, evidence)].transpose(order)
    sizes = iter(picked.shape)
    return picked.reshape([next(sizes) if x in over else 1 for x in clique.shown])
