"""Which ratios of an encoding may be multiplied with each other.

Input: an encoding. Output: `Products`. Two variables neither of which is a parent or a descendant of the
other are independent given the rest of a clique, so that bounds on one hold in proportion to those on the
other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.methods.cliques.encoding import Encoding, RatioKey
from credalog.methods.cliques.proofs import Prover
from credalog.network.structure import Reading
from credalog.program.products import Products
from credalog.program.program import Box, Claim, Floats, Outcome
from credalog.program.solvers.highs import Basis, Layout, binding_rows, rebased

__all__ = ["LeafRows", "Sharpened", "Sharpening", "products_of"]

LARGEST = 1 << 14
"""Where there are more pairs of states in context than this, no more are listed."""

Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two variables of a clique, and all else in it of which both are independent or which are parents."""

    clique: int
    x: int
    y: int
    context: tuple[int, ...]


def products_of(encoding: Encoding) -> Products | None:
    """Return the pairs of ratios that are independent in a clique; None where there are none."""
    number = {key: n for n, key in enumerate(encoding.keys) if _is_bounded(encoding, n)}
    first, second = list[Numbers](), list[Numbers]()
    cells: tuple[list[Numbers], ...] = ([], [], [], [])
    sizes = encoding.problem.structure.sizes
    left = LARGEST
    for pair in _pairs(encoding):
        left -= prod(sizes[z] for z in (*pair.context, pair.x, pair.y)) // 4
        if left < 0:
            break
        for a, b, columns in _states(encoding, number, pair):
            first.append(a)
            second.append(b)
            for found, cell in zip(cells, columns, strict=True):
                found.append(cell)
    if not first:
        return None
    width = encoding.program.columns
    matrices = (_matrix(found, width) for found in cells)
    return Products(np.concatenate(first), np.concatenate(second), *matrices)


def _is_bounded(encoding: Encoding, ratio: int) -> bool:
    """Tell whether a product with this ratio says more than the other ratio's own bounds."""
    ratios = encoding.program.ratios
    return bool(ratios.lower[ratio] > 0.0 or ratios.upper[ratio] < 1.0)


def _pairs(encoding: Encoding) -> Iterator[_Pair]:
    """Yield the pairs of variables that are independent given all else that a clique shows of both."""
    structure = encoding.problem.structure
    if encoding.factorization.reading is Reading.FREE:
        return
    for number, clique in enumerate(encoding.factorization.cliques):
        if clique.fixed:
            # A table that holds P(scope, evidence) has other frequencies.
            continue
        families = {x: structure.parents[x] for x in clique.scope}
        known = {x: set(structure.ndnp(x, clique.scope)) for x in clique.scope}
        for x, y in combinations(clique.scope, 2):
            both = {*families[x], *known[x]} & {*families[y], *known[y]}
            needed = {*families[x], *families[y]}
            is_independent = y in known[x] and x in known[y] and needed <= both & set(clique.scope)
            if is_independent:
                yield _Pair(number, x, y, tuple(z for z in clique.scope if z in both))


def _states(
    encoding: Encoding, number: dict[RatioKey, int], pair: _Pair
) -> Iterator[tuple[Numbers, Numbers, tuple[Numbers, ...]]]:
    """Yield, for each pair of values, the two ratios in every context and the columns of the four cells."""
    sizes = encoding.problem.structure.sizes
    columns = encoding.arranged(pair.clique, pair.context, (pair.x,), (pair.y,))
    contexts = list(product(*(range(sizes[z]) for z in pair.context)))
    for s, t in product(_values(sizes[pair.x]), _values(sizes[pair.y])):
        a = _ratios(encoding, number, pair.x, s, pair.context, contexts)
        b = _ratios(encoding, number, pair.y, t, pair.context, contexts)
        kept = np.flatnonzero((a >= 0) & (b >= 0))
        if not len(kept):
            continue
        others_s, others_t = np.arange(sizes[pair.x]) != s, np.arange(sizes[pair.y]) != t
        chosen = columns[kept]
        cells = (
            chosen[:, [s]][:, :, [t]],
            chosen[:, [s]][:, :, others_t],
            chosen[:, others_s][:, :, [t]],
            chosen[:, others_s][:, :, others_t],
        )
        yield a[kept], b[kept], tuple(cell.reshape(len(kept), -1) for cell in cells)


def _values(size: int) -> range:
    """Return the values that have a ratio: of a two-valued variable one says all."""
    return range(1, 2) if size == 2 else range(size)


def _ratios(
    encoding: Encoding,
    number: dict[RatioKey, int],
    x: int,
    state: int,
    over: tuple[int, ...],
    contexts: list[tuple[int, ...]],
) -> Numbers:
    """Return the ratio of x = state in every context; -1 where it has none, or none that is bounded."""
    parents = encoding.problem.structure.parents[x]
    place = [over.index(p) for p in parents]
    keys = (RatioKey((x,), parents, (state,), tuple(context[p] for p in place)) for context in contexts)
    return np.array([number.get(key, -1) for key in keys], dtype=np.intp)


def _matrix(cells: list[Numbers], width: int) -> sp.csr_array:
    """Return the sums over columns as rows of a matrix."""
    lengths = np.concatenate([np.full(len(cell), cell.shape[1], np.intp) for cell in cells])
    columns = np.concatenate([cell.ravel() for cell in cells])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return sp.csr_array((np.ones(len(columns)), columns, starts), shape=(len(lengths), width))


# ---- the program of one leaf ------------------------------------------------------------------------------
# The program of one leaf: products of its own bounds, and those contexts of ratios that bear on it.
# Input: a box, and a basis and a point of an earlier relaxation. Output: the relaxation solved with the
# rows that bind there, those that the point violates, and the contexts of the ratios that may be cut next.
# All other box rows are left out, which is safe: every row holds for every model in the box
# (docs/proofs.md, proof 22). Of the thousands of box rows of a core a few hundred bind.

NEAREST = 600
"""So many contexts are kept beside those that bind: the ones that a point is closest to violating."""


class LeafRows(NamedTuple):
    """Which products of bounds, and which contexts, a leaf's program has, by their numbers."""

    products: Numbers
    contexts: Numbers


@dataclass(frozen=True, slots=True)
class Sharpened:
    """A leaf's own prover, what it found, and the rows it did so with."""

    prover: Prover
    claim: Claim
    basis: Basis
    rows: LeafRows


@dataclass(frozen=True, slots=True)
class Sharpening:
    """Solve leaves of one search, each with rows of its own."""

    prover: Prover
    products: Products

    @property
    def all_rows(self) -> LeafRows:
        """Return the rows of the program itself: every context, and no products."""
        return LeafRows(np.zeros(0, dtype=np.intp), np.arange(len(self.prover.program.ratios.of)))

    def sharpen(
        self, box: Box, basis: Basis, point: Floats, rows: LeafRows, needed: Iterable[int], most: int
    ) -> Sharpened:
        """Solve a leaf with what binds, what a point violates, and all contexts of the ratios needed."""
        binding = binding_rows(basis, self._layout(rows))
        products = _joined(rows.products[binding[0]], self.products.violated(box, point, most))
        ratios = np.fromiter(needed, dtype=np.intp)
        cut = np.flatnonzero(np.isin(self.prover.program.ratios.of, ratios))
        contexts = np.unique(np.concatenate([rows.contexts[binding[1]], self._nearest(box, point), cut]))
        found = LeafRows(products, contexts)
        prover = self.prover_of(box, found)
        claim, own = prover.relax(box, rebased(basis, self._layout(rows), self._layout(found)))
        return Sharpened(prover, claim, own if claim.outcome is Outcome.OPTIMAL else None, found)

    def prover_of(self, box: Box, rows: LeafRows) -> Prover:
        """Return the prover of a box with some products of its bounds and some contexts."""
        return self.prover.with_rows(self.products.rows(box, rows.products), rows.contexts)

    def _layout(self, rows: LeafRows) -> Layout:
        program = self.prover.program
        return Layout(program.inequalities.shape[0], rows.products, rows.contexts)

    def _nearest(self, box: Box, point: Floats) -> Numbers:
        """Return the contexts whose box rows a point violates most, or is closest to violating."""
        ratios = self.prover.program.ratios
        part, whole = ratios.numerator @ point, ratios.denominator @ point
        slack = np.minimum(part - box.lower[ratios.of] * whole, box.upper[ratios.of] * whole - part)
        return np.argsort(slack, kind="stable")[:NEAREST]


def _joined(kept: Numbers, fresh: Numbers) -> Numbers:
    """Return numbers in their order, each once."""
    return np.concatenate([kept, fresh[~np.isin(fresh, kept)]])
