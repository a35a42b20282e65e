"""Linear programs whose columns arrive one after the other, and programs over zeros and ones, by HiGHS.

Enters: rows, columns, costs. Leaves: claims: a linear program's optimum with its multipliers, a 0/1
program's best point with the solver's bound. Nothing here knows what a column stands for.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.program import Floats
from credalog.solvers.highs import linear_model, quiet_highs

__all__ = ["BinaryClaim", "BinaryProgram", "ColumnClaim", "ColumnProgram"]


@dataclass(frozen=True, slots=True)
class ColumnClaim:
    """The claimed optimum of a linear program: value, column weights, row multipliers."""

    value: float
    weights: Floats
    multipliers: Floats


class ColumnProgram:
    """Minimize cost @ x over x >= 0 with lower <= rows @ x <= upper; columns may be added at any time."""

    def __init__(self, lower: Floats, upper: Floats) -> None:
        self._highs = quiet_highs()
        # Rows stay and columns come, so that the last basis stays primal feasible.
        self._highs.setOptionValue("presolve", "off")
        self._highs.setOptionValue("simplex_strategy", int(highspy.simplex_constants.kSimplexStrategyPrimal))
        # By default a coefficient below 1e-9 counts as zero, and with it a tiny probability.
        self._highs.setOptionValue("small_matrix_value", 1e-12)
        nothing = np.zeros(len(lower), dtype=np.int32)
        self._highs.addRows(len(lower), lower, upper, 0, nothing, nothing[:0], np.zeros(0))

    def add(self, columns: Floats, costs: Floats, *, most: float = highspy.kHighsInf) -> None:
        """Add columns, given as the columns of a matrix, each of them at most `most`."""
        matrix = sp.csc_array(columns)
        count = matrix.shape[1]
        self._highs.addCols(
            count, costs, np.zeros(count), np.full(count, most),
            matrix.nnz, matrix.indptr[:-1], matrix.indices, matrix.data,
        )  # fmt: skip

    def close(self, columns: NDArray[np.int32]) -> None:
        """Fix some columns at zero."""
        nothing = np.zeros(len(columns))
        self._highs.changeColsBounds(len(columns), columns, nothing, nothing)

    def set_costs(self, costs: Floats) -> None:
        """Replace the costs of all columns."""
        self._highs.changeColsCost(len(costs), np.arange(len(costs), dtype=np.int32), costs)

    def solve(self, timeout: float) -> ColumnClaim | None:
        """Solve; return None where the program has no optimum or the time runs out."""
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + max(timeout, 0.0))
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        value = self._highs.getInfo().objective_function_value
        return ColumnClaim(value, np.array(solution.col_value), np.array(solution.row_dual))


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
        places = np.arange(len(gains), dtype=np.int32)
        self._highs.changeColsCost(len(gains), places, -gains)
        self._highs.setOptionValue("mip_abs_gap", gap)
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + max(timeout, 0.0))
        self._highs.clearSolver()
        self._highs.run()
        info = self._highs.getInfo()
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        point = np.array(self._highs.getSolution().col_value) if found else None
        return BinaryClaim(point, -float(info.mip_dual_bound))
