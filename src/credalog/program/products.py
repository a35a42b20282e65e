"""Products of bounds: rows that two ratios demand together, beyond what each demands alone.

Input: pairs of ratios whose events are independent in a context, and a box. Output: the rows that a point of
the relaxation violates, written with the bounds of any box (reformulation-linearization, Sherali and Adams,
1990; docs/proofs.md, proof 22).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.program.program import Box, Floats, Program

__all__ = ["SIGNS", "Products", "with_contexts", "with_rows"]

OUTWARDS = 4e-15
"""By which share a coefficient is moved up: more than all roundings behind it, and than those of printing."""

VIOLATED = 1e-9
"""Rows violated by less are left alone."""


@dataclass(frozen=True, slots=True)
class Products:
    """Pairs of ratios; in each the mass of a context falls into four cells.

    With a = ratio[first] and b = ratio[second], a context of mass m has a b m in `both`, a (1 - b) m in
    `one`, (1 - a) b m in `other`, and the rest in `neither`.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    both: sp.csr_array
    one: sp.csr_array
    other: sp.csr_array
    neither: sp.csr_array

    def violated(self, box: Box, point: Floats, most: int) -> NDArray[np.intp]:
        """Return the numbers of the rows that a point violates most.

        A row says that a product of two distances to bounds is not negative. Its number is that of the pair,
        plus the number of all pairs for each way of choosing the bounds before.
        """
        masses = tuple(cells @ point for cells in (self.both, self.one, self.other, self.neither))
        missed = np.concatenate([self._violations(box, masses, signs) for signs in SIGNS])
        worst = np.argsort(-missed, kind="stable")[:most]
        return worst[missed[worst] > VIOLATED]

    def rows(self, box: Box, numbers: NDArray[np.intp]) -> sp.csr_array:
        """Return rows by their numbers, written with the bounds of a box; they hold in all of it."""
        kind, place = np.divmod(numbers, len(self.first))
        found = [self._rows(box, signs, place[kind == k]) for k, signs in enumerate(SIGNS)]
        order = np.argsort(np.concatenate([np.flatnonzero(kind == k) for k in range(len(SIGNS))]))
        return sp.csr_array(sp.csr_array(sp.vstack(found, format="csr"))[order])

    def _violations(self, box: Box, masses: tuple[Floats, ...], signs: tuple[int, int]) -> Floats:
        missed = np.zeros(len(self.first))
        for coefficient, mass in zip(self._coefficients(box, signs, slice(None)), masses, strict=True):
            missed -= coefficient * mass
        return missed

    def _rows(self, box: Box, signs: tuple[int, int], place: NDArray[np.intp]) -> sp.csr_array:
        cells = (self.both[place], self.one[place], self.other[place], self.neither[place])
        scaled = (
            sp.diags_array(c) @ part
            for c, part in zip(self._coefficients(box, signs, place), cells, strict=True)
        )
        return sp.csr_array(sum(scaled, sp.csr_array(cells[0].shape)))

    def _coefficients(
        self, box: Box, signs: tuple[int, int], place: NDArray[np.intp] | slice
    ) -> tuple[Floats, ...]:
        """Return what a unit of mass adds in each cell, rounded up: no mass is negative, so that is safe."""
        inside, outside = _distances(box, self.first[place], signs[0])
        within, without = _distances(box, self.second[place], signs[1])
        exact = (inside * within, inside * without, outside * within, outside * without)
        return tuple(c + OUTWARDS * np.abs(c) for c in exact)


SIGNS: tuple[tuple[int, int], ...] = ((1, 1), (1, -1), (-1, 1), (-1, -1))
"""Whether the distance to the lower bound (1) or to the upper bound (-1) is taken, of either ratio."""


def _distances(box: Box, ratio: NDArray[np.intp], sign: int) -> tuple[Floats, Floats]:
    """Return the distance from a bound at 1 and at 0, as events that happen and that do not.

    A ratio that a search fixes at an end of its range may be a rounding away from it.
    """
    if sign > 0:
        bound = np.maximum(np.nextafter(box.lower[ratio], -np.inf), 0.0)
    else:
        bound = np.minimum(np.nextafter(box.upper[ratio], np.inf), 1.0)
    return sign * (1.0 - bound), -sign * bound


def with_rows(program: Program, rows: sp.csr_array) -> Program:
    """Return a program with more inequalities, which all its points satisfy anyway."""
    return replace(
        program,
        inequalities=sp.csr_array(sp.vstack([program.inequalities, rows], format="csr")),
        inequality_origin=(*program.inequality_origin, *[-1] * rows.shape[0]),
    )


def with_contexts(program: Program, contexts: NDArray[np.intp]) -> Program:
    """Return a program in which ratios have only some of their contexts; all its points stay."""
    ratios = program.ratios
    fewer = replace(
        ratios,
        of=ratios.of[contexts],
        numerator=sp.csr_array(ratios.numerator[contexts]),
        denominator=sp.csr_array(ratios.denominator[contexts]),
    )
    return replace(program, ratios=fewer)
