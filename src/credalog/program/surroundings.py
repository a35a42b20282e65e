"""The part of a program around its open ratios.

Input: a program and an objective. Output: smaller programs, of ever more tables, whose bounds hold for all.

Only a ratio with several contexts is relaxed. Tables that show none are the same in every leaf of a search,
and those far from the others and from the objective hardly bear on it. Rows that reach beyond the tables that
are kept are dropped: every point of the whole program satisfies the rest, so a bound on that is a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.program.program import Box, Floats, Objective, Program

__all__ = ["Surroundings"]

HOPS = (2, 4, 8, 16, 32)
"""How far from the open ratios tables are kept, in programs of growing size."""

WORTH = 0.6
"""A part is worth while only if it has no more than this share of the columns."""


class Surroundings:
    """The tables of a program by their distance from its open ratios and its objective."""

    def __init__(self, program: Program, objective: Objective, box: Box) -> None:
        self.program = program
        self.objective = objective
        self._table_of = np.zeros(program.columns, dtype=np.intp)
        for number, (start, stop) in enumerate(program.tables):
            self._table_of[start:stop] = number
        self._distance = self._distances(box)

    def parts(self) -> Iterator[tuple[Program, Objective]]:
        """Yield the parts of growing size that are worth while."""
        for hops in HOPS:
            kept = self._distance <= hops
            kept[0] = True
            columns = kept[self._table_of]
            if columns.sum() > WORTH * self.program.columns:
                return
            yield self._part(kept, columns)

    def _distances(self, box: Box) -> Floats:
        """Count the steps from table to table, through rows, from what is open or asked for."""
        ratios = self.program.ratios
        contexts = np.bincount(ratios.of, minlength=len(ratios.lower))
        is_open = (contexts > 1) & (box.upper > box.lower)
        shown = abs(ratios.numerator) + abs(ratios.denominator)
        start = np.zeros(len(self.program.tables), dtype=np.bool_)
        start[self._table_of[shown[np.flatnonzero(is_open[ratios.of])].indices]] = True
        asked = np.flatnonzero(self.objective.numerator), np.flatnonzero(self.objective.denominator)
        start[self._table_of[np.concatenate(asked)]] = True
        # All is next to the total mass, which is a table of its own.
        start[0] = False
        rows = sp.vstack([abs(self.program.inequalities), abs(self.program.equalities), shown], format="csr")
        return _steps(self._tables_in(sp.csr_array(rows)), start)

    def _tables_in(self, rows: sp.csr_array) -> sp.csr_array:
        """Return which tables each row shows; the total mass is left out."""
        ones = np.ones(self.program.columns)
        ones[0] = 0.0
        shape = self.program.columns, len(self.program.tables)
        place = np.arange(self.program.columns), self._table_of
        return sp.csr_array(rows @ sp.csr_array((ones, place), shape=shape))

    def _part(self, tables: NDArray[np.bool_], columns: NDArray[np.bool_]) -> tuple[Program, Objective]:
        """Keep some tables, and the rows about nothing else."""
        program, ratios = self.program, self.program.ratios
        unequal, equal = (_inside(rows, columns) for rows in (program.inequalities, program.equalities))
        shown = _inside(sp.csr_array(abs(ratios.numerator) + abs(ratios.denominator)), columns)
        kept = np.flatnonzero(columns)
        fewer = replace(
            ratios,
            of=ratios.of[shown],
            numerator=sp.csr_array(ratios.numerator[shown][:, kept]),
            denominator=sp.csr_array(ratios.denominator[shown][:, kept]),
        )
        bounds = self.objective.column_bounds
        part = Program(
            len(kept),
            _renumbered(program.tables, tables, columns),
            sp.csr_array(program.inequalities[unequal][:, kept]),
            sp.csr_array(program.equalities[equal][:, kept]),
            fewer,
            tuple(program.inequality_origin[row] for row in unequal),
            tuple(program.equality_origin[row] for row in equal),
            program.rationals,
        )
        asked = Objective(
            self.objective.numerator[kept],
            self.objective.denominator[kept],
            self.objective.mass_bounds[tables],
            None if bounds is None else bounds[kept],
        )
        return part, asked


def _steps(tables_in: sp.csr_array, start: NDArray[np.bool_]) -> Floats:
    """Return how many rows lie between each table and the nearest of those to start from."""
    distance = np.where(start, 0.0, np.inf)
    reached, hops = start, 0
    while True:
        hops += 1
        rows = (tables_in @ reached.astype(float)) > 0.0
        wider = (tables_in.T @ rows.astype(float)) > 0.0
        fresh = wider & ~np.isfinite(distance)
        if not fresh.any():
            return distance
        distance[fresh] = hops
        reached = wider


def _inside(rows: sp.csr_array, columns: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the rows all of whose nonzeros are in some columns."""
    outside = sp.csr_array(abs(rows)) @ (~columns).astype(float)
    return np.flatnonzero(outside == 0.0)


def _renumbered(
    tables: tuple[tuple[int, int], ...], kept: NDArray[np.bool_], columns: NDArray[np.bool_]
) -> tuple[tuple[int, int], ...]:
    before = np.concatenate([[0], np.cumsum(columns)])
    return tuple(
        (int(before[start]), int(before[stop]))
        for (start, stop), keep in zip(tables, kept, strict=True)
        if keep
    )
