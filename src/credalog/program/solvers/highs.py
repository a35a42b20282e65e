"""Linear relaxations by HiGHS.

Input: a program, a box on its ratios, an objective. Output: a `Claim` about the linear relaxation, in
which numerator[c] == ratio * denominator[c] is replaced by lower * denominator <= numerator <= upper *
denominator in every context c. That relaxation is exact where a ratio's range is a point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import highspy
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program.program import Box, Claim, Floats, Objective, Outcome, Program
from credalog.program.solvers.interruption import Interruption, attended, settle

__all__ = [
    "Basis",
    "Layout",
    "Linearization",
    "PackedBasis",
    "Relaxation",
    "binding_rows",
    "elastic_step",
    "linear_model",
    "packed",
    "quiet_highs",
    "rebased",
    "run_for",
    "unpacked",
]

RAY_SECONDS = 0.5
"""How long a second run, that only fetches the proof of infeasibility, may take even when the time is up."""

MOST_CHANGED, MOST_COEFFICIENTS = 20, 0.01
"""If more ratios, or a larger share of all nonzeros, get other coefficients, the model is written anew."""

TOLERANCE = 1e-9
"""How far a row or a reduced cost may be violated."""

DUAL_SIMPLEX, PRIMAL_SIMPLEX = 1, 4
"""HiGHS's numbers for its two simplex methods; the first is its default."""

SMALLEST = 1e-150
"""Columns with a smaller bound are scaled by this: the reciprocal of some floats is none."""

INTERIOR = 1 << 13
"""With more columns, and no basis to start from, interior points are quicker than the simplex method."""

LONG = 500
"""A program with fewer columns is solved before anybody could interrupt it."""

_CONCLUSIVE = (
    highspy.HighsModelStatus.kOptimal,
    highspy.HighsModelStatus.kInfeasible,
    highspy.HighsModelStatus.kTimeLimit,
)
"""How a run may end without being worth repeating."""

Basis = Any
"""HiGHS's own record of a basis, handed back to warm-start a neighbouring box."""


class _Rows(NamedTuple):
    """A matrix by rows. Plain arrays: in small programs, a sparse matrix costs more to make than to solve."""

    data: Floats
    indices: NDArray[np.int32]
    indptr: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Scaling:
    """Factors that bring columns of very different size to a common one; all one if nothing asks for it."""

    columns: Floats
    rows: Floats

    @classmethod
    def of(cls, matrix: _Rows, bounds: Floats) -> _Scaling:
        """Scale each column by its bound, then each row to a greatest entry of one."""
        columns = np.where(np.isfinite(bounds) & (bounds > 0.0), np.maximum(bounds, SMALLEST), 1.0)
        sizes = np.append(np.abs(matrix.data) * columns[matrix.indices], 0.0)
        # The last entry is there for empty rows at the end; what an empty row finds is another's.
        largest = np.maximum.reduceat(sizes, matrix.indptr[:-1])
        largest[(np.diff(matrix.indptr) == 0) | (largest < SMALLEST * SMALLEST)] = 1.0
        return cls(columns, 1.0 / largest)

    def applied(self, matrix: _Rows) -> _Rows:
        """Return the scaled matrix."""
        by_row = np.repeat(self.rows, np.diff(matrix.indptr))
        return matrix._replace(data=matrix.data * self.columns[matrix.indices] * by_row)


FREE, LEAST, EQUAL = 0, 1, 2
"""What a row may be: free, at least 0, or equal to 0; and its bounds, by these numbers."""
_LOWER, _UPPER = np.array([-np.inf, 0.0, 0.0]), np.array([np.inf, np.inf, 0.0])


class _Kinds(NamedTuple):
    """What the lower and the upper rows of each ratio are."""

    low: NDArray[np.int8]
    high: NDArray[np.int8]


@dataclass(slots=True)
class _Loaded:
    """What the solver's model holds: a question, the ratios' bounds in its coefficients, what rows are."""

    end: End
    objective: Objective
    scaling: _Scaling
    box: Box
    kinds: _Kinds

    def serves(self, end: End, objective: Objective) -> bool:
        """Tell whether another box of the same question is a few changes away."""
        return self.end is end and self.objective is objective


class Layout(NamedTuple):
    """How rows of a model follow each other: stated ones, products, contexts' lower and upper rows, the rest.

    Products and contexts are named by numbers, by which those of two models are compared.
    """

    stated: int
    products: NDArray[np.intp]
    contexts: NDArray[np.intp]

    @property
    def ends(self) -> tuple[int, int, int, int]:
        """Return where each kind of row ends."""
        first = self.stated + len(self.products)
        return self.stated, first, first + len(self.contexts), first + 2 * len(self.contexts)


class PackedBasis(NamedTuple):
    """A basis that can be sent to another process: the states of columns and of rows, one byte each."""

    columns: bytes
    rows: bytes


def packed(basis: Basis) -> PackedBasis | None:
    """Return a basis as bytes."""
    if basis is None:
        return None
    return PackedBasis(*(bytes(map(int, states)) for states in (basis.col_status, basis.row_status)))


def unpacked(packed: PackedBasis | None) -> Basis:
    """Return the basis that was packed."""
    if packed is None:
        return None
    found = highspy.HighsBasis()
    found.valid, found.alien = True, False
    found.col_status, found.row_status = ([_STATUS[state] for state in states] for states in packed)
    return found


_STATUS = {int(status): status for status in highspy.HighsBasisStatus.__members__.values()}


def binding_rows(basis: Basis, layout: Layout) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which products, and which contexts, have rows that are not basic, by their places."""
    basic = highspy.HighsBasisStatus.kBasic
    binds = np.array([status != basic for status in basis.row_status], dtype=np.bool_)
    stated, first, middle, last = layout.ends
    return np.flatnonzero(binds[stated:first]), np.flatnonzero(binds[first:middle] | binds[middle:last])


def rebased(basis: Basis, old: Layout, new: Layout) -> Basis:
    """Return a basis for a model with other products and contexts: rows that are new are basic.

    Those left out must be basic, too: what binds is kept.
    """
    status, basic = list(basis.row_status), highspy.HighsBasisStatus.kBasic
    stated, first, middle, last = old.ends
    products = dict(zip(old.products.tolist(), status[stated:first], strict=True))
    low = dict(zip(old.contexts.tolist(), status[first:middle], strict=True))
    high = dict(zip(old.contexts.tolist(), status[middle:last], strict=True))
    found = highspy.HighsBasis()
    found.valid, found.alien = True, False
    found.col_status = basis.col_status
    found.row_status = [
        *status[:stated],
        *(products.get(number, basic) for number in new.products.tolist()),
        *(low.get(number, basic) for number in new.contexts.tolist()),
        *(high.get(number, basic) for number in new.contexts.tolist()),
        *status[last:],
    ]
    return found


class Relaxation:
    """The linear relaxation of one program, kept ready for many boxes and objectives.

    The solver's model is changed in place from box to box. A ratio that is fixed at an end of its range makes
    its row an equality: no coefficient changes, and the basis of a wider box stays dual feasible.
    """

    def __init__(self, program: Program, *, tolerance: float = TOLERANCE) -> None:
        self.program = program
        ratios = program.ratios
        # One complex matrix aligns the nonzeros of numerators (real) and denominators (imaginary).
        contexts = sp.csr_array(ratios.numerator + 1j * ratios.denominator)
        self._part, self._whole = contexts.data.real, contexts.data.imag
        self._column_of = contexts.indices
        self._row_of = np.repeat(np.arange(len(ratios.of)), np.diff(contexts.indptr))
        self._context_of = ratios.of[self._row_of]
        # The nonzeros of each ratio stand together in `places`; there is an empty ratio at the end.
        self._places = np.argsort(self._context_of, kind="stable")
        count = len(ratios.lower)
        self._starts = np.searchsorted(self._context_of[self._places], np.arange(count + 2))
        shape = sp.csr_array((self._whole, contexts.indices, contexts.indptr), shape=contexts.shape)
        self._matrix = sp.csr_array(
            sp.vstack([program.inequalities, shape, shape, program.equalities], format="csr")
        )
        self._first = program.inequalities.nnz
        self._unscaled = _Scaling(np.ones(program.columns), np.ones(self._matrix.shape[0] + 1))
        self._highs = quiet_highs(tolerance)
        self._loaded: _Loaded | None = None
        self._read: tuple[Basis, list[Any], list[Any]] | None = None
        self._options: dict[str, str] = {}

    def minimize(
        self, objective: Objective, box: Box, *, basis: Basis = None, timeout: float = float("inf")
    ) -> tuple[Claim, Basis]:
        """Minimize the ratio over the relaxed box."""
        return self._solve(End.LOWER, objective, box, basis, timeout)

    def maximize(
        self, objective: Objective, box: Box, *, basis: Basis = None, timeout: float = float("inf")
    ) -> tuple[Claim, Basis]:
        """Maximize the ratio over the relaxed box."""
        claim, found = self._solve(End.UPPER, objective, box, basis, timeout)
        return Claim(claim.outcome, -claim.value, claim.point, claim.multipliers), found

    def center(self, objective: Objective, box: Box, timeout: float) -> Floats | None:
        """Return a point well inside the relaxed box: where an interior-point method ends without a goal."""
        highs = quiet_highs()
        highs.setOptionValue("solver", "ipm")
        highs.setOptionValue("run_crossover", "off")
        model, scaling, _ = self._model(np.zeros(self.program.columns), objective, box)
        highs.passModel(model)
        run_for(highs, timeout)
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        found: Floats = np.maximum(np.array(highs.getSolution().col_value), 0.0) * scaling.columns
        return found

    def _solve(
        self, end: End, objective: Objective, box: Box, basis: Basis, timeout: float
    ) -> tuple[Claim, Basis]:
        highs = self._highs
        settle(highs)
        loaded = self._load(end, objective, box)
        is_large = basis is None and self.program.columns > INTERIOR
        self._set("solver", "ipm" if is_large else "simplex")
        self._set("presolve", "choose" if basis is None else "off")
        if basis is not None:
            highs.setBasis(self._swapped(basis, loaded, box))
        budget = Budget.of(timeout)
        run_for(highs, budget.remaining)
        if highs.getModelStatus() not in _CONCLUSIVE:
            self._run_primal(budget)
        if highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
            return self._infeasible(loaded, box, budget), None
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return _nothing(self.program.columns, highs.getNumRow()), None
        solution = highs.getSolution()
        claim = Claim(
            Outcome.OPTIMAL,
            highs.getObjectiveValue(),
            np.array(solution.col_value) * loaded.scaling.columns,
            self._multipliers(np.array(solution.row_dual) * loaded.scaling.rows, box),
        )
        return claim, highs.getBasis()

    def _set(self, option: str, value: str) -> None:
        """Set an option of the solver, unless it is set."""
        if self._options.get(option) != value:
            self._highs.setOptionValue(option, value)
            self._options[option] = value

    def _multipliers(self, duals: Floats, box: Box) -> Floats:
        """Return the multipliers of a box's rows, given those of the model's.

        In a fixed ratio's equality a multiplier may have either sign; a negative one belongs to the same row
        turned around, which is the ratio's other row.
        """
        first, contexts = self.program.inequalities.shape[0], len(self.program.ratios.of)
        low, high = slice(first, first + contexts), slice(first + contexts, first + 2 * contexts)
        fixed = (box.lower == box.upper)[self.program.ratios.of]
        turned = np.minimum(duals[low], 0.0) + np.minimum(duals[high], 0.0)
        turned[~fixed] = 0.0
        duals[low] -= turned
        duals[high] -= turned
        return duals

    def _swapped(self, basis: Basis, loaded: _Loaded, box: Box) -> Basis:
        """Let a basis of a wider box have the equalities of fixed ratios active instead of their other rows.

        Where a ratio was at one end and is now fixed at the other, that is all that has to change.
        """
        of, first = self.program.ratios.of, self.program.inequalities.shape[0]
        fixed = np.flatnonzero((box.lower == box.upper)[of])
        if not len(fixed):
            return basis
        at_low = (box.lower == loaded.box.lower)[of[fixed]]
        low, high = first + fixed, first + len(of) + fixed
        (columns, rows), basic = self._statuses(basis), highspy.HighsBasisStatus.kBasic
        pairs = zip(np.where(at_low, low, high).tolist(), np.where(at_low, high, low).tolist(), strict=True)
        wrong = [(equal, other) for equal, other in pairs if rows[equal] == basic and rows[other] != basic]
        if not wrong:
            return basis
        rows = list(rows)
        for equal, other in wrong:
            rows[equal], rows[other] = highspy.HighsBasisStatus.kLower, basic
        swapped = highspy.HighsBasis()
        swapped.valid, swapped.alien = True, False
        swapped.col_status, swapped.row_status = columns, rows
        return swapped

    def _statuses(self, basis: Basis) -> tuple[list[Any], list[Any]]:
        """Return a basis by columns and rows; reading is slow, and all parts of one leaf start from one."""
        if self._read is None or self._read[0] is not basis:
            self._read = basis, basis.col_status, basis.row_status
        return self._read[1], self._read[2]

    # ---- the solver's model ---------------------------------------------------------------------------

    def _load(self, end: End, objective: Objective, box: Box) -> _Loaded:
        """Bring the solver's model to a box: by a few changes where that will do."""
        loaded = self._loaded
        if loaded is not None and loaded.serves(end, objective) and self._recoefficient(loaded, box):
            self._rebound(loaded, box)
            return loaded
        model, scaling, kinds = self._model(end.sign * objective.numerator, objective, box)
        self._highs.passModel(model)
        self._loaded = _Loaded(end, objective, scaling, Box(box.lower.copy(), box.upper.copy()), kinds)
        return self._loaded

    def _recoefficient(self, loaded: _Loaded, box: Box) -> bool:
        """Change the coefficients of the ratios whose bounds are new numbers, unless these are many."""
        fixed = box.lower == box.upper
        is_low = (box.lower == loaded.box.lower) | (~fixed & (box.lower <= 0.0))
        is_high = (box.upper == loaded.box.upper) | (~fixed & (box.upper >= 1.0))
        at_end = fixed & ((box.lower == loaded.box.lower) | (box.upper == loaded.box.upper))
        stale = np.flatnonzero(~at_end & ~(is_low & is_high))
        if not len(stale):
            return True
        if len(stale) > MOST_CHANGED:
            return False
        places = np.concatenate([self._places[self._starts[r] : self._starts[r + 1]] for r in (*stale, -2)])
        if len(places) > MOST_COEFFICIENTS * self._matrix.nnz:
            return False
        loaded.box.lower[stale], loaded.box.upper[stale] = box.lower[stale], box.upper[stale]
        self._change(loaded, places)
        return True

    def _change(self, loaded: _Loaded, places: NDArray[np.intp]) -> None:
        """Write the coefficients of some nonzeros of the contexts into both of their rows."""
        ratio, columns = self._context_of[places], self._column_of[places]
        part, whole = self._part[places], self._whole[places]
        first, contexts = self.program.inequalities.shape[0], len(self.program.ratios.of)
        for rows, values in (
            (first + self._row_of[places], part - loaded.box.lower[ratio] * whole),
            (first + contexts + self._row_of[places], loaded.box.upper[ratio] * whole - part),
        ):
            scaled = values * loaded.scaling.columns[columns] * loaded.scaling.rows[rows]
            for row, column, value in zip(rows.tolist(), columns.tolist(), scaled.tolist(), strict=True):
                self._highs.changeCoeff(row, column, value)

    def _rebound(self, loaded: _Loaded, box: Box) -> None:
        """Change the bounds of those rows of the model that differ."""
        kinds, before, of = _kinds(box, loaded.box), loaded.kinds, self.program.ratios.of
        contexts = np.flatnonzero(((kinds.low != before.low) | (kinds.high != before.high))[of])
        first, ratios = self.program.inequalities.shape[0], of[contexts]
        rows = np.concatenate([first + contexts, first + len(of) + contexts]).astype(np.int32)
        kind = np.concatenate([kinds.low[ratios], kinds.high[ratios]])
        self._highs.changeRowsBounds(len(rows), rows, _LOWER[kind], _UPPER[kind])
        loaded.kinds = kinds

    def _run_primal(self, budget: Budget) -> None:
        """Start anew with the primal simplex method: on narrow boxes the dual one may end with no verdict."""
        highs = self._highs
        highs.clearSolver()
        self._set("solver", "simplex")
        self._set("presolve", "off")
        highs.setOptionValue("simplex_strategy", PRIMAL_SIMPLEX)
        run_for(highs, budget.for_solver)
        highs.setOptionValue("simplex_strategy", DUAL_SIMPLEX)

    def _infeasible(self, loaded: _Loaded, box: Box, budget: Budget) -> Claim:
        """Fetch the Farkas ray, which presolve does not leave behind."""
        highs = self._highs
        _, exists = highs.getDualRayExist()
        if not exists:
            highs.clearSolver()
            self._set("solver", "simplex")
            self._set("presolve", "off")
            # A proof is worth a little more than what is left.
            proving = Budget.of(max(budget.remaining, RAY_SECONDS))
            run_for(highs, proving.remaining)
            if highs.getModelStatus() not in _CONCLUSIVE:
                self._run_primal(proving)
        _, exists, ray = highs.getDualRay()
        if not exists:
            return _nothing(self.program.columns, highs.getNumRow())
        multipliers = self._multipliers(np.array(ray) * loaded.scaling.rows, box)
        return Claim(Outcome.INFEASIBLE, np.inf, np.zeros(0), multipliers)

    def _model(
        self, cost: Floats, objective: Objective, box: Box
    ) -> tuple[highspy.HighsLp, _Scaling, _Kinds]:
        matrix, kinds = self._rows(objective, box), _kinds(box, box)
        rows = self._row_bounds(kinds)
        columns = np.zeros(self.program.columns), np.full(self.program.columns, np.inf)
        if objective.column_bounds is None:
            return linear_model(cost, columns, matrix, rows), self._unscaled, kinds
        scaling = _Scaling.of(matrix, objective.column_bounds)
        scaled = rows[0] * scaling.rows, rows[1] * scaling.rows
        model = linear_model(cost * scaling.columns, columns, scaling.applied(matrix), scaled)
        return model, scaling, kinds

    def _rows(self, objective: Objective, box: Box) -> _Rows:
        """Fill in the box rows, whose nonzeros are always in the same places, and add the normalization."""
        norm = np.flatnonzero(objective.denominator)
        data = np.concatenate([self._matrix.data, objective.denominator[norm]])
        middle, last = self._first + len(self._part), self._first + 2 * len(self._part)
        data[self._first : middle] = self._part - box.lower[self._context_of] * self._whole
        data[middle:last] = box.upper[self._context_of] * self._whole - self._part
        indices = np.concatenate([self._matrix.indices, norm])
        return _Rows(data, indices, np.append(self._matrix.indptr, len(data)))

    def _row_bounds(self, kinds: _Kinds) -> tuple[Floats, Floats]:
        """Bound the rows, given what the two rows of each ratio's contexts are."""
        of, equal = self.program.ratios.of, self.program.equalities.shape[0]
        stated = np.full(self.program.inequalities.shape[0], LEAST, dtype=np.int8)
        rest = np.full(equal + 1, EQUAL, dtype=np.int8)
        kind = np.concatenate([stated, kinds.low[of], kinds.high[of], rest])
        lower, upper = _LOWER[kind], _UPPER[kind]
        lower[-1] = upper[-1] = 1.0
        return lower, upper


def _kinds(box: Box, written: Box) -> _Kinds:
    """Say what the rows of each ratio are in a box, if other bounds may be written in the coefficients.

    A fixed ratio has the one of its rows as an equality in which its value is written.
    """
    fixed = box.lower == box.upper
    at_low = fixed & (box.lower == written.lower)
    at_high = fixed & ~at_low
    # A box row at 0 or 1 follows from x >= 0: left free, it costs the simplex method nothing.
    low = (np.where(fixed, written.lower, box.lower) > 0.0).astype(np.int8)
    high = (np.where(fixed, written.upper, box.upper) < 1.0).astype(np.int8)
    low[at_low] = EQUAL
    high[at_high] = EQUAL
    return _Kinds(low, high)


def run_for(highs: highspy.Highs, seconds: float) -> None:
    """Run a solver for so long at most, or until Ctrl-C; its own clock goes on from run to run."""
    highs.setOptionValue("time_limit", highs.getRunTime() + float(min(seconds, 1e7)))
    if highs.getNumCol() < LONG:
        highs.run()
        return
    attended(highs, _run_watching)


def _run_watching(highs: highspy.Highs, interruption: Interruption) -> None:
    """Run a solver that looks for Ctrl-C where it can: not in presolve, nor in a factorization."""

    def look(event: Any) -> None:
        if interruption.is_asked:
            event.interrupt()

    moments = highs.cbSimplexInterrupt, highs.cbIpmInterrupt, highs.cbMipInterrupt
    for moment in moments:
        moment.subscribe(look)
    try:
        highs.run()
    finally:
        for moment in moments:
            moment.unsubscribe(look)


def quiet_highs(tolerance: float = TOLERANCE) -> highspy.Highs:
    """Return a silent solver with tight tolerances that drops no small coefficient."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("primal_feasibility_tolerance", tolerance)
    highs.setOptionValue("dual_feasibility_tolerance", tolerance)
    highs.setOptionValue("small_matrix_value", 1e-12)
    return highs


def linear_model(
    cost: Floats, columns: tuple[Floats, Floats], matrix: sp.csr_array | _Rows, rows: tuple[Floats, Floats]
) -> highspy.HighsLp:
    """Hand a linear program to HiGHS: minimize the cost with bounds on columns and rows."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(cost), len(matrix.indptr) - 1
    lp.col_cost_ = cost
    lp.col_lower_, lp.col_upper_ = columns
    lp.row_lower_, lp.row_upper_ = rows
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = matrix.indptr
    lp.a_matrix_.index_ = matrix.indices
    lp.a_matrix_.value_ = matrix.data
    return lp


def _nothing(columns: int, rows: int) -> Claim:
    return Claim(Outcome.STOPPED, np.nan, np.zeros(columns), np.zeros(rows))


@dataclass(frozen=True, slots=True)
class _Frame:
    """The rows of a linearized program, and which of its nonzeros are the contexts' and the ratios' own."""

    matrix: sp.csr_array
    contexts: NDArray[np.intp]
    turns: NDArray[np.intp]
    part: Floats
    whole: Floats
    ratio: NDArray[np.intp]


class Linearization:
    """A program linearized around a point: the step of sequential linear programming.

    With ratio values theta0 and the denominators den0 at the point, numerator == theta * denominator is
    replaced by numerator - theta0 * denominator == den0 * (theta - theta0). Rows that have an origin, the
    statements, may be missed at a price, so that a step always exists; and so may the contexts if asked.
    """

    PRICE = 100.0

    def __init__(self, program: Program, *, elastic_contexts: bool) -> None:
        self.program = program
        self._highs = quiet_highs()
        stated = np.flatnonzero(np.array(program.inequality_origin, dtype=int) >= 0)
        equal = np.flatnonzero(np.array(program.equality_origin, dtype=int) >= 0)
        contexts = len(program.ratios.of)
        missed = np.arange(contexts) if elastic_contexts else np.arange(0)
        self._give = _unit_columns(program.inequalities.shape[0], stated)
        self._swing = _unit_columns(program.equalities.shape[0], equal)
        self._sway = _unit_columns(contexts, missed)
        self._basis: Basis = None
        self._is_warm = True
        self._slack = len(stated) + 2 * len(equal) + 2 * len(missed)

    def step(
        self,
        cost: Floats,
        objective: Objective,
        point: Floats,
        ratios: Floats,
        *,
        radius: float,
        timeout: float,
        most: Floats | None = None,
    ) -> Floats | None:
        """Return the best point of the linearized program in which no ratio moves more than the radius.

        `most` bounds the columns from above.
        """
        box = self.program.ratios
        least = np.maximum(np.minimum(box.lower - ratios, 0.0), -radius)
        greatest = np.minimum(np.maximum(box.upper - ratios, 0.0), radius)
        free = np.full(self.program.columns, np.inf) if most is None else most
        columns = (
            np.concatenate([np.zeros(self.program.columns), least, np.zeros(self._slack)]),
            np.concatenate([free, greatest, np.full(self._slack, np.inf)]),
        )
        price = np.concatenate([cost, np.zeros(len(ratios)), np.full(self._slack, self.PRICE)])
        matrix, rows = self._rows(objective, point, ratios)
        settle(self._highs)
        self._highs.passModel(linear_model(price, columns, matrix, rows))
        self._highs.setOptionValue("presolve", "choose" if self._basis is None else "off")
        if self._basis is not None:
            self._highs.setBasis(self._basis)
        run_for(self._highs, timeout)
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        # The next step is solved near this one.
        self._basis = self._highs.getBasis() if self._is_warm else None
        found: Floats = np.array(self._highs.getSolution().col_value)[: self.program.columns]
        return found

    def begin(self, *, warm: bool) -> None:
        """Forget the last step, whose basis leads a new walk astray; keep the next ones if asked."""
        self._basis, self._is_warm = None, warm

    def _rows(
        self, objective: Objective, point: Floats, ratios: Floats
    ) -> tuple[_Rows, tuple[Floats, Floats]]:
        """Fill in the coefficients of the contexts, which alone differ from step to step, and the norm."""
        frame, of = self._frame, self.program.ratios.of
        norm = np.flatnonzero(objective.denominator)
        data = np.concatenate([frame.matrix.data, objective.denominator[norm]])
        data[frame.contexts] = frame.part - ratios[frame.ratio] * frame.whole
        data[frame.turns] = -(self.program.ratios.denominator @ point)
        indices = np.concatenate([frame.matrix.indices, norm])
        inequalities, equalities = self.program.inequalities.shape[0], self.program.equalities.shape[0]
        lower = np.concatenate([np.zeros(inequalities + equalities + len(of)), [1.0]])
        upper = np.concatenate([np.full(inequalities, np.inf), np.zeros(equalities + len(of)), [1.0]])
        return _Rows(data, indices, np.append(frame.matrix.indptr, len(data))), (lower, upper)

    @cached_property
    def _frame(self) -> _Frame:
        """Lay out the matrix of all steps, without the norm, which is its last row."""
        ratios, program = self.program.ratios, self.program
        # One complex matrix aligns the nonzeros of numerators (real) and denominators (imaginary).
        both = sp.csr_array(ratios.numerator + 1j * ratios.denominator)
        count, rows = len(both.data), len(ratios.of)
        numbers = np.arange(1.0, count + rows + 1.0)
        contexts = sp.csr_array((numbers[:count], both.indices, both.indptr), shape=both.shape)
        turns = sp.csr_array((numbers[count:], (np.arange(rows), ratios.of)), shape=(rows, len(ratios.lower)))
        matrix = self._blocks(contexts, turns)
        # Numbers of nonzeros tell where these came to be; nothing else stands in the contexts' rows there.
        start = matrix.indptr[program.inequalities.shape[0] + program.equalities.shape[0]]
        narrow = matrix.indices[start:] < program.columns + len(ratios.lower)
        places = start + np.flatnonzero(narrow)
        places = places[np.argsort(matrix.data[places], kind="stable")]
        ratio = np.repeat(ratios.of, np.diff(both.indptr))
        return _Frame(matrix, places[:count], places[count:], both.data.real, both.data.imag, ratio)

    def _blocks(self, contexts: sp.csr_array, turns: sp.csr_array) -> sp.csr_array:
        program = self.program
        blocks = [
            [program.inequalities, None, self._give, None, None, None, None],
            [program.equalities, None, None, self._swing, -self._swing, None, None],
            [contexts, turns, None, None, None, self._sway, -self._sway],
        ]
        return sp.csr_array(sp.block_array(blocks, format="csr"))


def elastic_step(
    cost: Floats,
    slopes: Floats | sp.csr_array,
    limits: tuple[Floats, Floats],
    bounds: tuple[Floats, Floats],
    *,
    price: float | Floats,
    timeout: float,
) -> Floats | None:
    """Return the step within bounds of least cost; limits on the slopes' rows may be missed at a price."""
    rows, columns = slopes.shape
    short, over = (np.flatnonzero(np.isfinite(side)) for side in limits)
    slack = [_unit_columns(rows, short), -_unit_columns(rows, over)]
    matrix = sp.csr_array(sp.hstack([sp.csr_array(slopes), *slack], format="csr"))
    prices = np.broadcast_to(price, rows)[np.append(short, over)]
    ranges = np.append(bounds[0], np.zeros(len(prices))), np.append(bounds[1], np.full(len(prices), np.inf))
    highs = quiet_highs()
    highs.passModel(linear_model(np.append(cost, prices), ranges, matrix, limits))
    run_for(highs, timeout)
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    step: Floats = np.array(highs.getSolution().col_value)[:columns]
    return step


def _unit_columns(rows: int, chosen: NDArray[np.intp]) -> sp.csr_array:
    ones = np.ones(len(chosen))
    return sp.csr_array((ones, (chosen, np.arange(len(chosen)))), shape=(rows, len(chosen)))
