"""The program of one leaf: products of its own bounds, and those contexts of ratios that bear on it.

Input: a box, and a basis and a point of an earlier relaxation. Output: the relaxation solved with the rows
that bind there, those that the point violates, and the contexts of the ratios that may be cut next. All other
box rows are left out, which is safe: every row holds for every model in the box (docs/proofs.md, proof 22).
Of the thousands of box rows of a core a few hundred bind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credalog.methods.cliques.proofs import Prover
from credalog.program.products import Products
from credalog.program.program import Box, Claim, Floats, Outcome
from credalog.program.solvers.highs import Basis, Layout, binding_rows, rebased

__all__ = ["LeafRows", "Sharpened", "Sharpening"]

NEAREST = 600
"""So many contexts are kept beside those that bind: the ones that a point is closest to violating."""

Numbers = NDArray[np.intp]


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
