"""The trusted kernel: turn a solver's multipliers into a bound that does not depend on the solver.

Enters: a program, a box, an objective, and any multipliers whatever. Leaves: a number that no point of
the program passes. Nothing here trusts a solver, and nothing here is larger than one reading.

Weak duality. Let x >= 0 satisfy R @ x >= 0 (inequalities and box rows), E @ x == 0 and d @ x == 1. For
any y >= 0, any z and any t, with the reduced costs r = c - R'y - E'z - t d,

    c @ x  =  t + y @ (R @ x) + z @ (E @ x) + r @ x  >=  t + r @ x.

The columns of table T add up to at most its mass bound M_T, so r @ x >= sum over tables of M_T times the
smallest negative r_j in it, or 0; or, with bounds U_j on its columns, the sum of its negative r_j U_j,
whichever is better. Every sum is computed in floating point with a bound on its rounding error,
the coefficients' own rounding included (each is a rational rounded once or twice), and rounded outwards.

With c = 0 a positive bound is a contradiction: the program has no point (Farkas).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from credalog.numerics import round_down
from credalog.program import Box, Floats, Objective, Program

__all__ = ["Checker"]

UNIT = 2.0**-53


class Checker:
    """Check multipliers against one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._inequalities = sp.csr_array(program.inequalities.T)
        self._equalities = sp.csr_array(program.equalities.T)
        self._numerator = sp.csr_array(program.ratios.numerator.T)
        self._denominator = sp.csr_array(program.ratios.denominator.T)
        parts = (self._inequalities, self._equalities, self._numerator, self._denominator)
        self._sizes = tuple(abs(part) for part in parts)
        # Twice the ratios' terms, which stand in a lower and an upper row; a few more for the rest.
        self._terms = 8.0 + 2.0 * sum(np.diff(part.indptr) for part in parts)

    def lower_bound(self, objective: Objective, box: Box, multipliers: Floats) -> float:
        """Prove a lower bound on the objective's ratio over the box."""
        return self._bound(objective, box, objective.numerator, multipliers)

    def upper_bound(self, objective: Objective, box: Box, multipliers: Floats) -> float:
        """Prove an upper bound on the objective's ratio over the box."""
        return -self._bound(objective, box, -objective.numerator, multipliers)

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
        weights = (stated, equal, low - high, upper * high - lower * low)
        reduced = cost - shift * objective.denominator
        reduced -= self._inequalities @ stated + self._equalities @ equal
        reduced -= self._numerator @ weights[2] + self._denominator @ weights[3]
        size = np.abs(cost) + abs(shift) * objective.denominator
        sizes = (stated, np.abs(equal), low + high, upper * high + lower * low)
        for matrix, weight in zip(self._sizes, sizes, strict=True):
            size += matrix @ weight
        # terms * UNIT bounds the relative error of a sum of products; 4 covers the coefficients' rounding.
        safe = reduced - 4.0 * self._terms * UNIT * size
        if not np.isfinite(safe).all():
            # Multipliers that overflow, or are no numbers, prove nothing.
            return -np.inf
        loss = 0.0
        for (start, stop), mass in zip(self._program.tables, objective.mass_bounds, strict=True):
            negative = np.minimum(safe[start:stop], 0.0)
            least = float(negative.min())
            if least < 0.0:
                worst = round_down(least * mass)
                if objective.column_bounds is not None:
                    single = float(negative @ objective.column_bounds[start:stop])
                    worst = max(worst, single * (1.0 + (stop - start + 2) * UNIT))
                loss = round_down(loss + worst)
        return round_down(shift + loss)

    def _split(self, multipliers: Floats) -> tuple[Floats, Floats, Floats, Floats, float]:
        """Take a claim's multipliers apart; those of inequalities count only where they are positive."""
        contexts = len(self._program.ratios.of)
        ends = np.cumsum([self._program.inequalities.shape[0], contexts, contexts])
        stated, low, high, rest = np.split(multipliers, ends)
        stated, low, high = (np.maximum(part, 0.0) for part in (stated, low, high))
        return stated, low, high, rest[:-1], float(rest[-1])
