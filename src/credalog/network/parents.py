"""The parents of every variable of a large network, as arrays.

Input: a network in columns. Output: `Parents`, rows of numbers in one array; the same numbers that the
dependency graph of the network has.

The graph's formulas are nodes of their own. A parent is reached through them alone, so that the parents are
the product of two relations: which formulas lead to a variable, and which variables lead to a formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, connected_components

from credalog.network.columns import Lazy, columns_of
from credalog.network.formulas import TRUE, Formula, Is, Not, Variable, scope
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network
from credalog.network.shapes import Matrix, Shape, formula_key, same_rows, shapes

__all__ = ["Parents", "parents_in", "parents_of", "parents_on_arrays"]

Indices: TypeAlias = NDArray[np.int64]

LONGEST_CHAIN = 50
"""So many formulas may stand one behind the other between two variables; beyond it the graph is searched."""


class _Rows(Lazy[tuple[int, ...]]):
    def __init__(self, start: Indices, flat: Indices) -> None:
        super().__init__(len(start) - 1)
        self._start, self._flat = start, flat

    def item(self, i: int) -> tuple[int, ...]:
        return tuple(self._flat[self._start[i] : self._start[i + 1]].tolist())


@dataclass(frozen=True, slots=True, eq=False)
class Parents:
    """The parents of each variable, ascending: where those of each begin, and all of them in one row."""

    start: Indices
    flat: Indices

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[int, ...]]) -> Parents:
        """Write rows of parents into one."""
        start = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=start[1:])
        return cls(start, np.array([y for row in rows for y in row], dtype=np.int64))

    @classmethod
    def none(cls, count: int) -> Parents:
        """Return variables without parents."""
        return cls(np.zeros(count + 1, dtype=np.int64), np.empty(0, dtype=np.int64))

    @property
    def count(self) -> int:
        """Return how many variables there are."""
        return len(self.start) - 1

    @property
    def rows(self) -> Lazy[tuple[int, ...]]:
        """Return the parents of each variable as tuples."""
        return _Rows(self.start, self.flat)

    @property
    def parent_indices(self) -> Lazy[tuple[int, ...]]:
        """Return the same, by the name that it has in the dependency graph."""
        return self.rows

    @property
    def children(self) -> Indices:
        """Return the child of each entry."""
        return np.repeat(np.arange(self.count), np.diff(self.start))

    @property
    def reversed(self) -> Parents:
        """Return the children of each variable in the place of its parents."""
        turned = sp.csc_array(self._matrix)
        turned.sort_indices()
        return Parents(turned.indptr.astype(np.int64), turned.indices.astype(np.int64))

    @property
    def _matrix(self) -> sp.csr_array:
        ones = np.ones(len(self.flat), dtype=np.bool_)
        return sp.csr_array((ones, self.flat, self.start), shape=(self.count, self.count))

    def components(self) -> tuple[int, NDArray[np.int32]]:
        """Return how many strongly connected components there are, and which one each variable is in."""
        count, labels = connected_components(self._matrix, directed=True, connection="strong")
        return int(count), labels

    def ancestors(self, of: Indices) -> NDArray[np.bool_]:
        """Tell of each variable whether it is one of some, or an ancestor of theirs."""
        # They are the parents of one more variable, from which everything is searched at once.
        flat = np.concatenate([self.flat, of])
        start = np.append(self.start, len(flat))
        ones = np.ones(len(flat), dtype=np.bool_)
        whole = sp.csr_array((ones, flat, start), shape=(self.count + 1, self.count + 1))
        found = np.zeros(self.count + 1, dtype=np.bool_)
        found[breadth_first_order(whole, self.count, directed=True, return_predecessors=False)] = True
        return found[:-1]


def parents_of(network: Network) -> Parents:
    """Return the parents of every variable."""
    found = parents_on_arrays(network)
    return Parents.of_rows(dependency_graph(network).parent_indices) if found is None else found


def parents_on_arrays(network: Network) -> Parents | None:
    """Return the parents of every variable of a large network; None where arrays do not tell."""
    columns = columns_of(network)
    said = None if columns is None else shapes(columns)
    return None if said is None else parents_in(said, len(network.variables))


def parents_in(said: list[Shape], count: int) -> Parents | None:
    """Return the parents that sentences give to so many variables; None where arrays do not tell."""
    if all(len(shape.template.claims) == 1 and shape.template.draws for shape in said):
        return _Stamps(count, said).parents()
    return None


class _Stamps:
    """The edges of all stamps; formulas are numbered after the variables."""

    def __init__(self, count: int, said: list[Shape]) -> None:
        self.count = count
        self._keys: dict[str, list[Matrix]] = {}
        self._nodes: list[tuple[str, int] | Indices] = []
        for shape in said:
            claim, given = shape.template.claim, shape.template.given
            # A negated literal's bounds are the atom's, so its node as a claim is the atom's too.
            atom = claim.operand if isinstance(claim, Not) and isinstance(claim.operand, Is) else claim
            self._nodes += [self._node(shape, atom), self._node(shape, given)]
        self._number_formulas()
        edges = [edge for i, shape in enumerate(said) for edge in self._edges(shape, *self._ends(i))]
        none = np.empty(0, dtype=np.int64)
        self.source = np.concatenate([none, *(source for source, _ in edges)])
        self.target = np.concatenate([none, *(target for _, target in edges)])

    def _node(self, shape: Shape, formula: Formula) -> tuple[str, int] | Indices:
        """Return the numbers of a variable's nodes, or the place at which a formula's keys are kept."""
        match formula:
            case Is(variable):
                return _columns(shape)[variable].astype(np.int64)
            case _:
                name, rows = formula_key(formula, _columns(shape), len(shape.where))
                self._keys.setdefault(name, []).append(rows)
                return name, len(self._keys[name]) - 1

    def _number_formulas(self) -> None:
        self.formulas = 0
        self._numbers: dict[str, list[Indices]] = {}
        for name, matrices in self._keys.items():
            numbers = same_rows(matrices)
            self._numbers[name] = [own + self.count + self.formulas for own in numbers]
            self.formulas += 1 + max((int(own.max(initial=-1)) for own in numbers), default=-1)

    def _ends(self, i: int) -> tuple[Indices, Indices]:
        """Return the claim and the condition of a shape's sentences, as nodes."""
        claim, given = (
            self._numbers[node[0]][node[1]] if isinstance(node, tuple) else node
            for node in self._nodes[2 * i : 2 * i + 2]
        )
        return claim, given

    def _edges(self, shape: Shape, claim: Indices, given: Indices) -> Iterator[tuple[Indices, Indices]]:
        template, columns = shape.template, _columns(shape)
        if template.given != TRUE:
            yield given, claim
            if not isinstance(template.given, Is):
                yield from ((columns[x].astype(np.int64), given) for x in scope(template.given))
        elif not template.tau:
            return
        if not template.is_atomic:
            for x in template.claim_scope:
                yield claim, columns[x].astype(np.int64)
                if template.tau:
                    yield columns[x].astype(np.int64), claim

    def parents(self) -> Parents | None:
        """Return the variables from which each is reached through formulas alone; None if that takes long."""
        n, m = self.count, self.formulas
        from_formula, to_formula = self.source >= n, self.target >= n
        into = self._relation(to_formula & ~from_formula, (m, n), n, 0)
        inside = self._relation(to_formula & from_formula, (m, m), n, n)
        reached = into
        for _ in range(LONGEST_CHAIN):
            wider = (into + inside @ reached).astype(np.bool_) if inside.nnz else into
            if wider.nnz == reached.nnz:
                break
            reached = wider
        else:
            return None
        found = self._relation(~to_formula & ~from_formula, (n, n), 0, 0)
        if m:
            found = found + self._relation(~to_formula & from_formula, (n, m), 0, n) @ reached
        return _without_loops(sp.coo_array(found), n)

    def _relation(
        self, kept: NDArray[np.bool_], shape: tuple[int, int], row: int, column: int
    ) -> sp.csr_array:
        """Return edges as a matrix of targets by sources, numbered from these on."""
        rows = (self.target[kept] - row).astype(np.int32)
        columns = (self.source[kept] - column).astype(np.int32)
        found = sp.csr_array((np.ones(len(rows), dtype=np.bool_), (rows, columns)), shape=shape)
        found.sum_duplicates()
        return found


def _columns(shape: Shape) -> dict[Variable, NDArray[np.int32]]:
    return dict(zip(shape.template.scope, shape.columns.T, strict=True))


def _without_loops(found: sp.coo_array, count: int) -> Parents:
    """Write a relation as rows, ascending; a variable is none of its own parents."""
    rows, columns = found.coords
    kept = rows != columns
    ordered = sp.csr_array((found.data[kept], (rows[kept], columns[kept])), shape=(count, count))
    ordered.sum_duplicates()
    ordered.sort_indices()
    return Parents(ordered.indptr.astype(np.int64), ordered.indices.astype(np.int64))
