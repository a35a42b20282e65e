"""Linear programs whose columns arrive one after the other, and programs over zeros and ones, by HiGHS.

Input: rows, columns, costs. Output: claims: a linear program's optimum with its multipliers, a 0/1
program's best point with the solver's bound. Nothing here knows what a column stands for.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.program.program import Floats
from credalog.program.solvers.highs import linear_model, quiet_highs, run_for
from credalog.program.solvers.interruption import settle

__all__ = ["BinaryClaim", "BinaryProgram", "ColumnClaim", "ColumnProgram"]


@dataclass(frozen=True, slots=True)
class ColumnClaim:
    """The claimed optimum of a linear program: value, column weights, row multipliers."""

    value: float
    weights: Floats
    multipliers: Floats


class ColumnProgram:
    """Minimize cost @ x over x >= 0 with rows @ x >= 0, or == 0, and a last row @ x == 1; columns may come.

    It is solved through its dual, in which a column is a row: maximize the last multiplier, with
    columns.T @ multipliers <= costs. Columns are few where rows are many, and the dual simplex method goes
    on from where it was. Bounds on the multipliers, other than those of their sign, allow the rows to be
    missed at that price. Prices on the multipliers themselves are for whoever likes them small.
    """

    def __init__(self, lowest: Floats, highest: Floats, prices: Floats | None = None) -> None:
        self._highs = quiet_highs()
        self._highs.setOptionValue("presolve", "off")
        # By default a coefficient below 1e-9 counts as zero, and with it a tiny probability.
        self._highs.setOptionValue("small_matrix_value", 1e-12)
        self._lowest, self._highest = np.append(lowest, -np.inf), np.append(highest, np.inf)
        count = len(self._lowest)
        last = np.append(np.zeros(count - 1) if prices is None else prices, -1.0)
        nothing = np.zeros(count, dtype=np.int32)
        self._highs.addCols(count, last, self._lowest, self._highest, 0, nothing, nothing[:0], np.zeros(0))

    def add(self, columns: Floats, costs: Floats) -> None:
        """Add columns, given as the columns of a matrix."""
        settle(self._highs)
        matrix = sp.csr_array(columns.T)
        count = matrix.shape[0]
        start, free = matrix.indptr[:-1], np.full(count, -np.inf)
        self._highs.addRows(count, free, costs, matrix.nnz, start, matrix.indices, matrix.data)

    def solve(self, timeout: float) -> ColumnClaim | None:
        """Solve; return None where the program has no optimum or the time runs out."""
        settle(self._highs)
        run_for(self._highs, timeout)
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        multipliers = np.clip(np.array(solution.col_value), self._lowest, self._highest)
        weights = np.maximum(-np.array(solution.row_dual), 0.0)
        return ColumnClaim(float(multipliers[-1]), weights, multipliers)


@dataclass(frozen=True, slots=True)
class BinaryClaim:
    """The best point found of a 0/1 program, None if there is none, and the claimed bound on all points."""

    point: Floats | None
    bound: float


class BinaryProgram:
    """Maximize over columns between 0 and 1, some of them integer, with lower <= rows @ x <= upper."""

    def __init__(self, rows: sp.csr_array, bounds: tuple[Floats, Floats], integer: NDArray[np.bool_]) -> None:
        self._highs = quiet_highs()
        count = len(integer)
        lp = linear_model(np.zeros(count), (np.zeros(count), np.ones(count)), rows, bounds)
        lp.integrality_ = [
            highspy.HighsVarType.kInteger if whole else highspy.HighsVarType.kContinuous for whole in integer
        ]
        self._highs.passModel(lp)
        self._highs.setOptionValue("mip_rel_gap", 0.0)

    def maximize(self, gains: Floats, *, gap: float, timeout: float) -> BinaryClaim:
        """Maximize gains @ x until the bound is within the gap of the best point, or the time runs out."""
        settle(self._highs)
        places = np.arange(len(gains), dtype=np.int32)
        self._highs.changeColsCost(len(gains), places, -gains)
        self._highs.setOptionValue("mip_abs_gap", gap)
        self._highs.clearSolver()
        run_for(self._highs, timeout)
        info = self._highs.getInfo()
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        point = np.array(self._highs.getSolution().col_value) if found else None
        return BinaryClaim(point, -float(info.mip_dual_bound))
