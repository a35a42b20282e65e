"""The trusted kernel: turn a solver's multipliers into a bound that does not depend on the solver.

Input: a program, a box, an objective, and any multipliers whatever. Output: a number that no point of
the program passes. Nothing here trusts a solver, and nothing here is larger than one reading.

Weak duality. Let x >= 0 satisfy R @ x >= 0 (inequalities and box rows), E @ x == 0 and d @ x == 1. For
any y >= 0, any z and any t, with the reduced costs r = c - R'y - E'z - t d,

    c @ x  =  t + y @ (R @ x) + z @ (E @ x) + r @ x  >=  t + r @ x.

The columns of table T add up to at most its mass bound M_T, so r @ x >= sum over tables of M_T times the
smallest negative r_j in it, or 0; or, with bounds U_j on its columns, the sum of its negative r_j U_j,
whichever is better. Every sum is computed in floating point with a bound on its rounding error,
the coefficients' own rounding included (each is a rational rounded once or twice), and rounded outwards.

With c = 0 a positive bound is a contradiction: the program has no point (Farkas).

Where nothing bounds the mass, only r >= 0 will do, to the last digit. `ExactChecker` asks for that, in
rational arithmetic and on coefficients that were never rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import fsum

import numpy as np
import scipy.sparse as sp

from credalog.numbers.interval import End, Warrant
from credalog.program.program import Box, Floats, Objective, Program
from credalog.trusted.rounding import UNIT, round_down

__all__ = ["Checker", "ExactChecker", "priced_bound"]


def priced_bound(shift: float, worth: float, *, error: float, mass: float) -> float:
    """Prove a lower bound on a linear program from its pricing problem.

    As above, with one table: cost @ x >= shift + r @ x, where no r_j is below -worth - error, and the total
    mass of x is at least 1 and at most `mass`.
    """
    least = round_down(-worth - error)
    return round_down(shift + round_down(least if least >= 0.0 else least * mass))


class Checker:
    """Check multipliers against one program."""

    warrant = Warrant.CHECKED
    """On whose word the bounds of a checker stand."""

    def __init__(self, program: Program) -> None:
        self._program = program
        ratios = program.ratios
        rows = (program.inequalities, program.equalities, ratios.numerator, ratios.denominator)
        columns = sp.csr_array(sp.vstack(rows, format="csr").T)
        # Plain arrays: of small programs, a product with a sparse matrix costs more in calls than in sums.
        self._numbers, self._sizes, self._rows = columns.data, np.abs(columns.data), columns.indices
        terms = np.diff(columns.indptr)
        self._filled = np.flatnonzero(terms)
        self._firsts = columns.indptr[self._filled]
        # Twice the ratios' terms, which stand in a lower and an upper row; a few more for the rest.
        self._terms = 8.0 + 2.0 * terms
        self._ends = np.cumsum([program.inequalities.shape[0], len(ratios.of), len(ratios.of)]).tolist()
        starts, stops = np.array(program.tables).T
        self._order = np.argsort(starts)
        self._starts, self._lengths = starts[self._order], (stops - starts)[self._order]
        if self._starts[0] != 0 or (np.cumsum(self._lengths) != stops[self._order]).any():
            raise ValueError("every column belongs to one table")

    def bound(self, objective: Objective, box: Box, multipliers: Floats, end: End) -> float:
        """Prove a bound on one end of the objective's ratio over the box."""
        return end.sign * self._bound(objective, box, end.sign * objective.numerator, multipliers)

    def lower_bound(self, objective: Objective, box: Box, multipliers: Floats) -> float:
        """Prove a lower bound on the objective's ratio over the box."""
        return self.bound(objective, box, multipliers, End.LOWER)

    def upper_bound(self, objective: Objective, box: Box, multipliers: Floats) -> float:
        """Prove an upper bound on the objective's ratio over the box."""
        return self.bound(objective, box, multipliers, End.UPPER)

    def proves_empty(self, objective: Objective, box: Box, ray: Floats) -> bool:
        """Check that no point of the box can have denominator 1."""
        # A multiplier this small beside the others would drown in their rounding, or overflow below.
        if not ray[-1] > UNIT * np.abs(ray).max():
            return False
        nothing = np.zeros(self._program.columns)
        return self._bound(objective, box, nothing, ray / ray[-1]) > 0.0

    def _bound(self, objective: Objective, box: Box, cost: Floats, multipliers: Floats) -> float:
        stated, low, high, equal, shift = self._split(multipliers)
        lower, upper = box.lower[self._program.ratios.of], box.upper[self._program.ratios.of]
        weights = np.concatenate([stated, equal, low - high, upper * high - lower * low])
        sizes = np.concatenate([stated, np.abs(equal), low + high, upper * high + lower * low])
        reduced = cost - shift * objective.denominator
        size = np.abs(cost) + abs(shift) * objective.denominator
        # Multipliers that overflow are seen below. Columns that are in no row have nothing to add up.
        with np.errstate(over="ignore", invalid="ignore"):
            reduced[self._filled] -= np.add.reduceat(self._numbers * weights[self._rows], self._firsts)
            size[self._filled] += np.add.reduceat(self._sizes * sizes[self._rows], self._firsts)
        # terms * UNIT bounds the relative error of a sum of products; 4 covers the coefficients' rounding.
        safe = reduced - 4.0 * self._terms * UNIT * size
        if not np.isfinite(safe).all():
            # Multipliers that overflow, or are no numbers, prove nothing.
            return -np.inf
        return round_down(shift + self._loss(np.minimum(safe, 0.0), objective))

    def _loss(self, negative: Floats, objective: Objective) -> float:
        """Bound negative @ x from below, table by table."""
        least = np.minimum.reduceat(negative, self._starts)
        masses = objective.mass_bounds[self._order]
        # Where nothing is lost, an infinite mass does not matter.
        products = np.multiply(least, masses, out=np.zeros(len(least)), where=least < 0.0)
        losses = np.nextafter(products, -np.inf)
        if objective.column_bounds is not None:
            singly = np.add.reduceat(negative * objective.column_bounds, self._starts)
            losses = np.maximum(losses, singly * (1.0 + (self._lengths + 2) * UNIT))
        return round_down(fsum(losses))

    def _split(self, multipliers: Floats) -> tuple[Floats, Floats, Floats, Floats, float]:
        """Take a claim's multipliers apart; those of inequalities count only where they are positive."""
        first, second, third = self._ends
        stated, low, high = multipliers[:first], multipliers[first:second], multipliers[second:third]
        rest = multipliers[third:]
        stated, low, high = (np.maximum(part, 0.0) for part in (stated, low, high))
        return stated, low, high, rest[:-1], float(rest[-1])


class ExactChecker:
    """Check rational multipliers against a program whose coefficients are known exactly."""

    def __init__(self, program: Program) -> None:
        if program.ratios.exact is None:
            raise ValueError("the coefficients of the program have been rounded")
        self._program, self._exact = program, program.ratios.exact
        counts = program.inequalities.shape[0], len(program.ratios.of)
        self.unequal = counts[0] + 2 * counts[1]
        self._ends = counts[0], counts[0] + counts[1], self.unequal

    def bound(
        self,
        objective: Objective,
        box: Box,
        cost: Floats,
        multipliers: Mapping[int, Fraction],
        shift: Fraction,
    ) -> Fraction | None:
        """Prove a lower bound on cost @ x where denominator @ x is 1; None where the multipliers prove none.

        The multipliers are given by the numbers of their rows; `shift` is that of the normalization.
        """
        if any(weight < 0 for row, weight in multipliers.items() if row < self.unequal):
            return None
        whole = [Fraction(float(d)) for d in objective.denominator]
        reduced = [Fraction(float(c)) - shift * d for c, d in zip(cost, whole, strict=True)]
        for row, weight in multipliers.items():
            for column, coefficient in self.row(row, box):
                reduced[column] -= weight * coefficient
        # A smaller shift makes up for what is negative, but only on columns that the normalization counts.
        missed = [(-r, d) for r, d in zip(reduced, whole, strict=True) if r < 0]
        if any(d <= 0 for _, d in missed):
            return None
        return shift - max((r / d for r, d in missed), default=Fraction(0))

    def row(self, number: int, box: Box) -> list[tuple[int, Fraction]]:
        """Return a row: inequalities first, then the box's lower rows, its upper rows, and the equalities."""
        first, second, third = self._ends
        if number < first:
            return self._rationals(self._program.inequalities, number)
        if number >= third:
            return self._rationals(self._program.equalities, number - third)
        is_lower, ratios = number < second, self._program.ratios
        context = number - (first if is_lower else second)
        ratio = int(ratios.of[context])
        end = self._end(ratio, float((box.lower if is_lower else box.upper)[ratio]))
        sign = 1 if is_lower else -1
        part = [(j, sign * a) for j, a in self._rationals(ratios.numerator, context)]
        return part + [(j, -sign * end * a) for j, a in self._rationals(ratios.denominator, context)]

    def _end(self, ratio: int, value: float) -> Fraction:
        """Return an end of a ratio's range: the program's own as it was before rounding, or a cut."""
        lower, upper = self._exact[ratio]
        if value == self._program.ratios.lower[ratio]:
            return lower
        return upper if value == self._program.ratios.upper[ratio] else Fraction(value)

    def _rationals(self, matrix: sp.csr_array, row: int) -> list[tuple[int, Fraction]]:
        """Return a row's coefficients as they were: as the program knows them, or as they print."""
        start, stop = matrix.indptr[row], matrix.indptr[row + 1]
        entries = zip(matrix.indices[start:stop].tolist(), matrix.data[start:stop].tolist(), strict=True)
        known = self._program.rationals
        return [(column, known[v] if v in known else Fraction(repr(v))) for column, v in entries]
