"""Local search by IPOPT, the paper's own solver.

Input: a program, an objective or the groups of an entropy, a point to start from. Output: a point that may
be better, or None. A local solver proves nothing: not that its point is the best, and not, when it finds
none, that there is none. What is returned is a candidate for a witness and must be checked like any other.

The library is optional: `pip install 'credalog[ipopt]'` brings IPOPT along (Linux on x86-64 only).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.errors import MissingLibrary
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program.program import Box, Floats, Objective, Program
from credalog.program.solvers.interruption import apart, deferred

__all__ = ["LARGEST", "Functions", "climb", "improve", "spread"]

_Settings: TypeAlias = dict[str, int | float | str]

ACCEPTED = 1e-6
"""The largest violation of a row at which a point is worth handing out for repair."""

SLACK = 1e-10
"""How far a context may be from its ratio: a tenth of what a witness may miss, as IPOPT uses it in full."""

INTERIOR = 1e-3
"""How far inside its bounds the start is moved: an interior-point method cannot leave a corner."""


def improve(
    program: Program,
    objective: Objective,
    start: Floats,
    *,
    end: End,
    box: Box | None = None,
    timeout: float = 10.0,
    iterations: int = 500,
) -> Floats | None:
    """Climb from a point to a local optimum of the ratio; return it, scaled to denominator 1, or None."""
    nonlinear = _Nonlinear(program, objective, end)
    bounds = program.ratios.box if box is None else box
    found = nonlinear.solve(start, bounds, timeout, iterations)
    point: Floats = np.maximum(0.0, found[: program.columns])
    mass = float(objective.denominator @ point)
    usable = np.isfinite(found).all() and mass > 0.0 and nonlinear.violation(found) <= ACCEPTED
    return point / mass if usable else None


PER_SECOND = 4_000
"""IPOPT stops between two steps only. Of a larger program for each second, one step may take longer."""

LONG = 500
"""A smaller program takes a step before anybody could interrupt it."""


def spread(
    program: Program,
    groups: Sequence[NDArray[np.intp]],
    start: Floats,
    *,
    timeout: float = 10.0,
    iterations: int = 500,
) -> Floats | None:
    """Climb from a point to a local maximum of entropy at total mass 1; return it, or None.

    Each group holds columns of equal length along its last axis; the entropy is the sum, over all rows of
    all groups, of -x log(x / the row's sum). Where IPOPT is missing, small programs are left to scipy.
    """
    nonlinear, box = _Entropic(program, groups), program.ratios.box
    if nonlinear.size > PER_SECOND * timeout:
        return None
    try:
        found = nonlinear.solve(start, box, timeout, iterations)
    except MissingLibrary:
        if nonlinear.size > LARGEST:
            raise
        begun, bounds = nonlinear.start(start, box), nonlinear.column_bounds(box)
        found = climb(nonlinear, begun, bounds, timeout=timeout, iterations=iterations)
    usable = np.isfinite(found).all() and nonlinear.violation(found) <= ACCEPTED
    return np.maximum(0.0, found[: program.columns]) if usable else None


class _Nonlinear:
    """A program as IPOPT wants it: functions of one vector, the columns and then the ratios.

    Its rows are the inequalities, the equalities, the normalization, and one per context.
    """

    def __init__(self, program: Program, objective: Objective, end: End) -> None:
        self.program, self.objective = program, objective
        ratios = program.ratios
        self.size = program.columns + len(ratios.lower)
        self.cost = np.zeros(self.size)
        self.cost[: program.columns] = -objective.numerator if end is End.UPPER else objective.numerator
        rows = [program.inequalities, program.equalities, sp.csr_array(objective.denominator[None, :])]
        self.matrix = sp.csr_array(sp.vstack(rows))
        self.linear = self.matrix.tocoo()
        self.part, self.whole = ratios.numerator.tocoo(), ratios.denominator.tocoo()
        self.count = self.linear.shape[0] + len(ratios.of)

    def solve(self, start: Floats, box: Box, timeout: float, iterations: int) -> Floats:
        """Run IPOPT from a point, and return the vector at which it stopped; Ctrl-C stops it too.

        IPOPT keeps Python's lock through a step, so that no thread could leave it: a long run has a process
        of its own. Where that fails, there is no such vector.
        """
        if self.size < LONG or not hasattr(os, "fork"):
            return self._solve(start, box, timeout, iterations)
        _library()
        found = np.frombuffer(
            apart(lambda: self._solve(start, box, timeout, iterations).tobytes(), timeout), dtype=np.float64
        )
        return found if len(found) == self.size else np.full(self.size, np.nan)

    def _solve(self, start: Floats, box: Box, timeout: float, iterations: int) -> Floats:
        budget = Budget.of(timeout)
        with deferred() as interruption:
            # IPOPT's own limit counts the processor's time, of which a busy machine gives little.
            problem = self._problem(
                box,
                lambda *_: not (budget.is_spent or interruption.is_asked),
                _options(timeout, iterations),
            )
            found: Floats = problem.solve(self.start(start, box))[0]
        return found

    def _problem(self, box: Box, goes_on: Callable[..., bool], options: _Settings) -> Any:
        """Hand functions and bounds to IPOPT."""
        return _library()(
            self.size,
            *self.column_bounds(box),
            self.count,
            *self.row_bounds(),
            self.jacobian_pattern(),
            self.hessian_pattern(),
            self.value,
            self.gradient,
            self.rows,
            self.jacobian,
            self.hessian,
            goes_on,
            ipopt_options=options,
        )

    def column_bounds(self, box: Box) -> tuple[Floats, Floats]:
        """Return the least and greatest value of every entry of the vector."""
        columns = self.program.columns
        lower = np.concatenate([np.zeros(columns), box.lower])
        return lower, np.concatenate([np.full(columns, np.inf), box.upper])

    def row_bounds(self) -> tuple[Floats, Floats]:
        """Return the least and greatest value of every row."""
        lower, upper = np.zeros(self.count), np.zeros(self.count)
        upper[: self.program.inequalities.shape[0]] = np.inf
        last = self.linear.shape[0]
        lower[last - 1] = upper[last - 1] = 1.0
        # IPOPT refuses a program with more equations than unknowns, consistent or not.
        lower[last:], upper[last:] = -SLACK, SLACK
        return lower, upper

    def start(self, point: Floats, box: Box) -> Floats:
        """Complete a point by its ratios, and move it off the walls."""
        ratios = self.program.ratios
        part = np.bincount(ratios.of, ratios.numerator @ point, len(ratios.lower))
        whole = np.bincount(ratios.of, ratios.denominator @ point, len(ratios.lower))
        middle = (box.lower + box.upper) / 2.0
        values = np.divide(part, whole, out=middle, where=whole > 0.0)
        margin = INTERIOR * (box.upper - box.lower)
        inside = np.clip(values, box.lower + margin, box.upper - margin)
        mass = float(self.objective.denominator @ point)
        return np.concatenate([point / mass if mass > 0.0 else point, inside]) + 0.0

    def violation(self, x: Floats) -> float:
        """Return by how much a vector misses a row."""
        rows = np.empty(self.count)
        self.rows(x, rows)
        inequalities = self.program.inequalities.shape[0]
        rows[:inequalities] = np.minimum(rows[:inequalities], 0.0)
        rows[self.linear.shape[0] - 1] -= 1.0
        return float(np.abs(rows).max(initial=0.0))

    def value(self, x: Floats) -> float:
        """Return the objective."""
        return float(self.cost @ x)

    def gradient(self, _x: Floats, out: Floats) -> None:
        """Write the gradient of the objective."""
        out[:] = self.cost

    def rows(self, x: Floats, out: Floats) -> None:
        """Write the value of every row; a context's is part - ratio * whole."""
        columns, ratios = self.program.columns, self.program.ratios
        point, values = x[:columns], x[columns:]
        out[: self.linear.shape[0]] = self.matrix @ point
        whole = ratios.denominator @ point
        out[self.linear.shape[0] :] = ratios.numerator @ point - values[ratios.of] * whole

    def jacobian_pattern(self) -> tuple[list[int], list[int]]:
        """Name the entries that `jacobian` writes, in its order."""
        first, contexts = self.linear.shape[0], np.arange(len(self.program.ratios.of))
        rows = (self.linear.row, first + self.part.row, first + self.whole.row, first + contexts)
        ratios = self.program.columns + self.program.ratios.of
        columns = (self.linear.col, self.part.col, self.whole.col, ratios)
        return np.concatenate(rows).tolist(), np.concatenate(columns).tolist()

    def jacobian(self, x: Floats, out: Floats) -> None:
        """Write the derivatives of every row."""
        columns, of = self.program.columns, self.program.ratios.of
        by_whole = -x[columns:][of[self.whole.row]] * self.whole.data
        by_ratio = -(self.program.ratios.denominator @ x[:columns])
        out[:] = np.concatenate([self.linear.data, self.part.data, by_whole, by_ratio])

    def hessian_pattern(self) -> tuple[list[int], list[int]]:
        """Name the entries that `hessian` writes: a ratio with each column of a whole."""
        ratios = self.program.columns + self.program.ratios.of[self.whole.row]
        return ratios.tolist(), self.whole.col.tolist()

    def hessian(self, _x: Floats, multipliers: Floats, _weight: float, out: Floats) -> None:
        """Write the second derivatives of the Lagrangian; entries of one place add up."""
        contexts = multipliers[self.linear.shape[0] :]
        out[:] = -contexts[self.whole.row] * self.whole.data


class _Entropic(_Nonlinear):
    """A program whose goal is the greatest entropy; the Hessian of a row is diag(1 / x) - 1 / sum.

    The sum of a group's only row is the total mass, a constant, which keeps the Hessian of a large table
    diagonal.
    """

    FLOOR = 1e-300

    def __init__(self, program: Program, groups: Sequence[NDArray[np.intp]]) -> None:
        mass = program.mass
        super().__init__(program, Objective(np.zeros(program.columns), mass, np.zeros(0)), End.UPPER)
        self.groups = groups
        self.corners = [_triangle(group) for group in groups]

    def start(self, point: Floats, box: Box) -> Floats:
        """Move the point off zero as well, where the entropy has no derivative."""
        begun = super().start(point, box)
        columns = self.program.columns
        begun[:columns] = np.maximum(begun[:columns], 1e-6)
        return begun

    def value(self, x: Floats) -> float:
        """Return minus the entropy."""
        return sum(float((x[group] * self._logarithms(x, group)).sum()) for group in self.groups)

    def gradient(self, x: Floats, out: Floats) -> None:
        """Write the gradient: log(x / sum), and one more where the sum is a constant."""
        out[:] = 0.0
        for group in self.groups:
            out[group] = self._logarithms(x, group) + (len(group) == 1)

    def _logarithms(self, x: Floats, group: NDArray[np.intp]) -> Floats:
        table = np.maximum(x[group], self.FLOOR)
        sums = table.sum(axis=1, keepdims=True) if len(group) > 1 else 1.0
        return np.asarray(np.log(table / sums))

    def hessian_pattern(self) -> tuple[list[int], list[int]]:
        """Name the entries that `hessian` writes: the contexts' first, then a triangle per row."""
        rows, columns = super().hessian_pattern()
        for group, (i, j) in zip(self.groups, self.corners, strict=True):
            # IPOPT wants one triangle, whichever: of each pair the larger column comes first.
            rows += np.maximum(group[:, i], group[:, j]).ravel().tolist()
            columns += np.minimum(group[:, i], group[:, j]).ravel().tolist()
        return rows, columns

    def hessian(self, x: Floats, multipliers: Floats, weight: float, out: Floats) -> None:
        """Write the second derivatives of the Lagrangian."""
        contexts = self.whole.nnz
        super().hessian(x, multipliers, weight, out[:contexts])
        blocks = []
        for group, (i, j) in zip(self.groups, self.corners, strict=True):
            table = np.maximum(x[group], self.FLOOR)
            common = -1.0 / table.sum(axis=1, keepdims=True) if len(group) > 1 else np.zeros((1, 1))
            entries = np.repeat(common, len(i), axis=1)
            entries[:, i == j] += 1.0 / table
            blocks.append(weight * entries.ravel())
        out[contexts:] = np.concatenate([*blocks, np.zeros(0)])


def _triangle(group: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which pairs of a row's columns have a second derivative."""
    diagonal = np.arange(group.shape[1])
    return np.tril_indices(group.shape[1]) if len(group) > 1 else (diagonal, diagonal)


def _options(timeout: float, iterations: int) -> _Settings:
    return {
        "print_level": 0,
        "sb": "yes",
        "tol": 1e-10,
        "constr_viol_tol": 1e-11,
        "max_iter": iterations,
        "max_cpu_time": max(timeout, 1e-3),
        "bound_relax_factor": 0.0,
    }


def _library() -> Any:
    """Return IPOPT's problem class."""
    try:
        from ipyopt import Problem
    except ImportError as error:
        raise MissingLibrary.of("IPOPT", "ipopt") from error
    return Problem


# ---- where IPOPT is not installed -------------------------------------------------------------------------
# Local search by scipy's sequential quadratic programming (SLSQP), where IPOPT is not installed.
# Input: a nonlinear program as functions of one vector, and where to start. Output: the vector at which the
# search stopped. It proves nothing, and its dense matrices are for small programs only.

LARGEST = 400
"""The most unknowns: a step takes time cubic in them, and cannot be stopped."""


class Functions(Protocol):
    """A nonlinear program; functions write to `out`, and the pattern names the entries of the Jacobian."""

    count: int

    def value(self, x: Floats) -> float:
        """Return what is to be least."""

    def gradient(self, x: Floats, out: Floats) -> None:
        """Write the derivatives of the value."""

    def rows(self, x: Floats, out: Floats) -> None:
        """Write the value of every row."""

    def row_bounds(self) -> tuple[Floats, Floats]:
        """Return the least and greatest value of every row."""

    def jacobian(self, x: Floats, out: Floats) -> None:
        """Write the derivatives of every row."""

    def jacobian_pattern(self) -> tuple[list[int], list[int]]:
        """Name the entries that `jacobian` writes, in its order."""


def climb(
    functions: Functions, start: Floats, bounds: tuple[Floats, Floats], *, timeout: float, iterations: int
) -> Floats:
    """Search from a vector within bounds until it is near a stationary point, or time or iterations end."""
    # Small commands end before this is imported.
    from scipy.optimize import minimize

    deadline, last = monotonic() + timeout, start
    rows = _Rows(functions, len(start))

    def value(x: Floats) -> float:
        nonlocal last
        if monotonic() >= deadline:
            raise TimeoutError
        last = x.copy()
        return functions.value(x)

    try:
        return np.asarray(
            minimize(
                value,
                start,
                method="SLSQP",
                jac=rows.gradient,
                bounds=list(zip(*bounds, strict=True)),
                constraints=rows.constraints(),
                options={"maxiter": iterations, "ftol": 1e-15},
            ).x
        )
    except TimeoutError:
        return last


class _Rows:
    """The rows as scipy wants them: those that equal a number, and those above zero."""

    def __init__(self, functions: Functions, size: int) -> None:
        self.functions = functions
        self.shape = (functions.count, size)
        self.pattern = functions.jacobian_pattern()
        self.lower, self.upper = functions.row_bounds()

    def constraints(self) -> list[Any]:
        """Return equations and inequalities; a row within a narrow range is two inequalities."""
        is_fixed = self.lower == self.upper
        kinds = (
            ("eq", is_fixed, 1.0, self.lower),
            ("ineq", ~is_fixed & np.isfinite(self.lower), 1.0, self.lower),
            ("ineq", ~is_fixed & np.isfinite(self.upper), -1.0, self.upper),
        )
        return [
            {
                "type": kind,
                "fun": lambda x, which=which, sign=sign, end=end: (sign * (self.values(x) - end))[which],
                "jac": lambda x, which=which, sign=sign: sign * self.jacobian(x)[which],
            }
            for kind, which, sign, end in kinds
            if which.any()
        ]

    def values(self, x: Floats) -> Floats:
        """Return the value of every row."""
        out = np.empty(self.shape[0])
        self.functions.rows(x, out)
        return out

    def gradient(self, x: Floats) -> Floats:
        """Return the derivatives of the value."""
        out = np.empty(self.shape[1])
        self.functions.gradient(x, out)
        return out

    def jacobian(self, x: Floats) -> Floats:
        """Return the derivatives of every row."""
        out = np.empty(len(self.pattern[0]))
        self.functions.jacobian(x, out)
        return sp.coo_array((out, self.pattern), shape=self.shape).toarray()
