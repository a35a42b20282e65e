"""An optimization problem over nonnegative columns, and what a solver claims about it.

Input: matrices. Output: `Program` and `Claim`. This module knows no logic: a column is a number, not a
probability of anything.

Every row is homogeneous, so a program describes a cone. An `Objective` cuts it with a normalization and
thus asks for the range of a ratio: a marginal where the denominator is the total mass, a posterior where
it is the mass of the evidence (Charnes and Cooper, 1962). No floor under the denominator is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = [
    "Box",
    "Claim",
    "Floats",
    "Interior",
    "Objective",
    "Outcome",
    "Program",
    "Ratios",
    "Surroundings",
    "without_sums",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interior:
    """How many ratios of a table lie strictly inside their ranges in some optimum (docs/proofs.md, proof 16).

    `table[r]` is the table of ratio r, and `row[r]` the distribution in it that r is a part of; -1 where
    nothing is known. A distribution of which k > 0 ratios lie inside uses k of its table's `most`; k - 1
    where it `sums` to one over several ratios.
    """

    table: NDArray[np.intp]
    row: NDArray[np.intp]
    sums: NDArray[np.bool_]
    most: NDArray[np.intp]

    def admits(self, inside: frozenset[int], ratio: int) -> bool:
        """Tell whether one more ratio may lie inside, given those that do."""
        table = self.table[ratio]
        if table < 0:
            return True
        members = [r for r in (*inside, ratio) if self.table[r] == table]
        counts = Counter(int(self.row[r]) for r in members)
        summing = {int(self.row[r]) for r in members if self.sums[r]}
        used = sum(count - (row in summing) for row, count in counts.items())
        return bool(used <= self.most[table])


@dataclass(frozen=True, slots=True)
class Ratios:
    """Unknown ratios, each the same in several contexts.

    Context c says: numerator[c] @ x == ratio[of[c]] * (denominator[c] @ x). This is the only nonlinear
    constraint a program has; an independence is its most common source. `lower` and `upper` are proved
    bounds on each ratio, and `at_vertex` marks those of which some optimum uses only the two ends; `interior`
    says more. `exact` are the same bounds before they were rounded; they are given only where every
    coefficient of the program is known as it was, too, so that nothing at all is lost to rounding.
    """

    lower: Floats
    upper: Floats
    at_vertex: NDArray[np.bool_]
    of: NDArray[np.intp]
    numerator: sp.csr_array
    denominator: sp.csr_array
    exact: tuple[tuple[Fraction, Fraction], ...] | None = None
    interior: Interior | None = None

    @property
    def box(self) -> Box:
        """Return the bounds the program itself puts on its ratios."""
        return Box(self.lower, self.upper)

    def values(self, point: Floats) -> Floats:
        """Return each ratio on average over its contexts, inside its bounds where it has no mass."""
        return self.averages(self.numerator @ point, self.denominator @ point)

    def averages(self, parts: Floats, wholes: Floats) -> Floats:
        """Return the same from the numerators and denominators of all contexts."""
        count = len(self.lower)
        part, whole = np.bincount(self.of, parts, count), np.bincount(self.of, wholes, count)
        middle = (self.lower + self.upper) / 2.0
        return np.divide(part, whole, out=middle, where=whole > 1e-300)


@dataclass(frozen=True, slots=True)
class Box:
    """A part of the search space: bounds on every ratio."""

    lower: Floats
    upper: Floats

    def split(self, ratio: int, at: float) -> tuple[Box, Box]:
        """Cut one ratio's range in two."""
        return self.restrict(ratio, self.lower[ratio], at), self.restrict(ratio, at, self.upper[ratio])

    def restrict(self, ratio: int, lower: float, upper: float) -> Box:
        """Return the box with other bounds on one ratio."""
        lowers, uppers = self.lower.copy(), self.upper.copy()
        lowers[ratio], uppers[ratio] = lower, upper
        return Box(lowers, uppers)


SMALLEST_NUMBER = 3e-5
"""The product of two smaller numbers is within the tolerances of a solver: its bare word is worth nothing."""


@dataclass(frozen=True)
class Program:
    """The cone of all x >= 0 with inequalities @ x >= 0, equalities @ x == 0, and the ratios.

    `tables` divide the columns into ranges, none of which holds more than the whole mass: the first one.
    The origins tell whoever built the program where a row comes from; -1 is the structure itself. A
    coefficient is the decimal number that its float prints as, unless `rationals` has another for it: 1/3.
    """

    columns: int
    tables: tuple[tuple[int, int], ...]
    inequalities: sp.csr_array
    equalities: sp.csr_array
    ratios: Ratios
    inequality_origin: tuple[int, ...]
    equality_origin: tuple[int, ...]
    rationals: Mapping[float, Fraction] = field(default_factory=dict)

    @cached_property
    def is_ill_scaled(self) -> bool:
        """Tell whether some number, or one minus a ratio, is so small that a solver's tolerances drown it."""
        ratios = self.ratios
        ends = (ratios.lower, ratios.upper, 1.0 - ratios.lower, 1.0 - ratios.upper)
        numbers = (self.inequalities.data, self.equalities.data, *ends)
        sizes = np.abs(np.concatenate(numbers))
        return bool(((sizes > 0.0) & (sizes < SMALLEST_NUMBER)).any())

    @property
    def mass(self) -> Floats:
        """Return the row that adds up the total mass."""
        start, stop = self.tables[0]
        row = np.zeros(self.columns)
        row[start:stop] = 1.0
        return row


@dataclass(frozen=True, slots=True)
class Objective:
    """The ratio (numerator @ x) / (denominator @ x).

    `mass_bounds` are proved bounds on what each table can hold where the denominator is 1; infinity where
    nothing is proved. `column_bounds`, if given, are the same for single columns; a solver may use them to
    scale a program whose columns differ by many orders of magnitude.
    """

    numerator: Floats
    denominator: Floats
    mass_bounds: Floats
    column_bounds: Floats | None = None


class Outcome(Enum):
    """Say how a solver ended."""

    OPTIMAL = "an optimum is claimed"
    INFEASIBLE = "no point exists, it is claimed"
    STOPPED = "a limit was reached first"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a linear solver says: a point, and multipliers from which anyone can check a bound.

    The multipliers belong to inequalities, lower box rows, upper box rows, equalities, normalization, in
    this order. Where the program is infeasible they are a Farkas ray.
    """

    outcome: Outcome
    value: float
    point: Floats
    multipliers: Floats


# ---- rows that boxes imply --------------------------------------------------------------------------------
# Rows of a program that its boxes imply.
# Input: a program. Output: the same program without rows that are sums of box rows. In a core a sentence
# about one variable given its parents is stated by itself, and as the bounds of a ratio in every context.
# The first is the sum of the second over the contexts: it says nothing more, and doubles the work of a
# solver.

ALIKE = 1e-12
"""Rows that differ by less at a random point are taken to be the same. To leave one out too many is safe."""


def without_sums(program: Program) -> Program:
    """Leave out the statements that are a ratio's bounds, summed over its contexts in one table."""
    probe = np.random.default_rng(0).random(program.columns)
    sums = _sums(program, probe)
    unequal = _kept(program.inequalities, program.inequality_origin, sums, probe)
    equal = _kept(program.equalities, program.equality_origin, sums, probe)
    return replace(
        program,
        inequalities=sp.csr_array(program.inequalities[unequal]),
        inequality_origin=tuple(program.inequality_origin[row] for row in unequal),
        equalities=sp.csr_array(program.equalities[equal]),
        equality_origin=tuple(program.equality_origin[row] for row in equal),
    )


def _sums(program: Program, probe: Floats) -> Floats:
    """Evaluate, for each ratio and table, the sums of its lower and of its upper box rows; in order."""
    ratios = program.ratios
    if not len(ratios.of):
        return np.zeros(0)
    starts = np.array([start for start, _ in program.tables])
    contexts = sp.csr_array(ratios.denominator)
    table = np.searchsorted(np.sort(starts), _first_columns(contexts), side="right")
    # A ratio may be stated in coarser and in finer contexts: those of one size add up to the whole.
    size = np.diff(contexts.indptr)
    _, group = np.unique(np.stack([ratios.of, table, size]), axis=1, return_inverse=True)
    part, whole = ratios.numerator @ probe, ratios.denominator @ probe
    low = np.bincount(group.ravel(), part - ratios.lower[ratios.of] * whole)
    high = np.bincount(group.ravel(), ratios.upper[ratios.of] * whole - part)
    return np.sort(np.concatenate([low, high]))


def _first_columns(rows: sp.csr_array) -> NDArray[np.intp]:
    """Return the first column that each row stores, 0 where there is none.

    scipy's argmax visits the rows one by one in Python: seconds where a program has a hundred thousand.
    """
    columns = np.append(rows.indices, 0)[rows.indptr[:-1]]
    found: NDArray[np.intp] = np.where(np.diff(rows.indptr) > 0, columns, 0)
    return found


def _kept(rows: sp.csr_array, origin: tuple[int, ...], sums: Floats, probe: Floats) -> NDArray[np.intp]:
    """Return the rows that have no origin, or are none of the sums."""
    values = rows @ probe
    if not len(sums) or not len(values):
        return np.arange(len(values))
    above = np.minimum(np.searchsorted(sums, values), len(sums) - 1)
    nearest = np.minimum(np.abs(sums[above] - values), np.abs(sums[np.maximum(above - 1, 0)] - values))
    return np.flatnonzero((np.array(origin, dtype=int) < 0) | (nearest > ALIKE))


# ---- the part around open ratios --------------------------------------------------------------------------
# The part of a program around its open ratios.
# Input: a program and an objective. Output: smaller programs, of ever more tables, whose bounds hold for
# all.
#
# Only a ratio with several contexts is relaxed. Tables that show none are the same in every leaf of a
# search, and those far from the others and from the objective hardly bear on it. Rows that reach beyond the
# tables that are kept are dropped: every point of the whole program satisfies the rest, so a bound on that
# is a bound.

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
