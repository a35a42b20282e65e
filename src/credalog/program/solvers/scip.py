"""Global search by SCIP.

Input: a program, an objective, a box on the ratios. Output: a `GlobalClaim`: a bound that SCIP says nothing
passes, and its best point. Both are a solver's word in floating point; whoever wants more must check them.

A ratio becomes a variable of its own, and a context the bilinear row part == ratio * whole, where part and
whole are variables tied to the columns by linear rows: products then have one term, and contexts with the
same whole share it. A ratio of which some optimum uses only the two ends becomes a choice between them.

The library is optional: without it, importing this module says which extra brings it along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from credalog.errors import MissingLibrary
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program.program import Box, Floats, Objective, Outcome, Program
from credalog.program.solvers.interruption import Interruption, held_back

try:
    import pyscipopt
    from pyscipopt.scip import PY_SCIP_EVENTTYPE
except ImportError as missing:
    raise MissingLibrary.of("SCIP", "scip") from missing

__all__ = ["GlobalClaim", "solve"]

SCALE = 100.0
"""The normalization SCIP sees in place of one: rows are homogeneous, its tolerances are not."""

FEASIBILITY = 1e-7
"""How far SCIP lets a row at that scale be from satisfied; below it, its LP solver protests on stderr."""

MARGIN = 1e-7
"""How far a bound is moved outwards: many times what that tolerance was seen to do to it."""

LARGEST = 1e6
"""A mass bound beyond which SCIP searches better without one."""

PAUSE = 0.1
"""Seconds between two reports."""

Report: TypeAlias = Callable[[float, float | None], None]
"""Who is told, now and then, the bound and the value reached so far."""


@dataclass(frozen=True, slots=True)
class GlobalClaim:
    """What SCIP says: a bound on the objective's ratio, and the best point with its value.

    `value`, `point` and `ratios` are None where no point was found. An infeasible program has the bound
    of an empty set: +inf below, -inf above. `interrupted` tells a stop by Ctrl-C from one by a limit.
    """

    outcome: Outcome
    bound: float
    value: float | None = None
    point: Floats | None = None
    ratios: Floats | None = None
    interrupted: bool = False


def solve(
    program: Program,
    objective: Objective,
    *,
    end: End,
    box: Box | None = None,
    timeout: float = inf,
    tolerance: float = 1e-6,
    start: Floats | None = None,
    report: Report | None = None,
) -> GlobalClaim:
    """Search the box for the least (or greatest) ratio, until bound and point are within the tolerance.

    `start` is a point known to be feasible. Ctrl-C ends the search, not the process.
    """
    if not objective.denominator.any():
        return GlobalClaim(Outcome.INFEASIBLE, -inf if end is End.UPPER else inf)
    search = _Search(program, objective, program.ratios.box if box is None else box)
    if start is not None:
        search.suggest(start)
    return search.run(end, timeout, tolerance, report)


class _Search:
    """One SCIP model of a program, cut by the normalization of an objective."""

    def __init__(self, program: Program, objective: Objective, box: Box) -> None:
        self.program, self.objective = program, objective
        self.model = _quiet_model()
        bounds = _column_bounds(program, objective)
        self.columns: list[pyscipopt.Variable] = [self.model.addVar(lb=0.0, ub=most) for most in bounds]
        self.sums: dict[tuple[bytes, bytes], pyscipopt.Variable] = {}
        self.ratios = [self._ratio(r, box) for r in range(len(box.lower))]
        self._add_linear_rows()
        self._add_contexts()

    def suggest(self, point: Floats) -> None:
        """Tell SCIP a point from which to start; it keeps the point only if it finds it feasible."""
        ratios = _ratios_at(self.program, point)
        solution = self.model.createPartialSol()
        for variables, values in ((self.columns, SCALE * point), (self.ratios, ratios)):
            for variable, value in zip(variables, values, strict=True):
                self.model.setSolVal(solution, variable, float(value))
        self.model.addSol(solution)

    def run(self, end: End, timeout: float, tolerance: float, report: Report | None) -> GlobalClaim:
        """Optimize and read the result."""
        model, outward = self.model, 1.0 if end is End.UPPER else -1.0
        model.setObjective(
            self._weighted(self.objective.numerator), "maximize" if end is End.UPPER else "minimize"
        )
        model.setParam("limits/absgap", SCALE * tolerance)
        model.setParam("limits/time", min(timeout, 1e9))
        with _watched(model, report, outward):
            survived = _optimize(model)
        return self._claim(outward) if survived else GlobalClaim(Outcome.STOPPED, outward * inf)

    def _claim(self, outward: float) -> GlobalClaim:
        model = self.model
        if model.getStatus() == "infeasible":
            return GlobalClaim(Outcome.INFEASIBLE, -outward * inf)
        closed = model.getStatus() in ("optimal", "gaplimit")
        outcome = Outcome.OPTIMAL if closed else Outcome.STOPPED
        bound, interrupted = _bound(model, outward), model.getStatus() == "userinterrupt"
        if not model.getNSols():
            return GlobalClaim(outcome, bound, interrupted=interrupted)
        point = np.maximum(0.0, self._values(self.columns)) / SCALE
        value = float(self.objective.numerator @ point / (self.objective.denominator @ point))
        return GlobalClaim(outcome, bound, value, point, self._values(self.ratios), interrupted)

    def _values(self, variables: list[pyscipopt.Variable]) -> Floats:
        return np.array([self.model.getVal(variable) for variable in variables], dtype=float)

    def _ratio(self, number: int, box: Box) -> pyscipopt.Variable:
        """Make one ratio a variable: continuous, or a choice between its ends where that loses nothing."""
        own = self.program.ratios
        lower, upper = float(box.lower[number]), float(box.upper[number])
        ratio = self.model.addVar(lb=lower, ub=upper)
        # A box that was cut inside the range may hold no end at all, and then proves nothing about ends.
        whole = (lower, upper) == (own.lower[number], own.upper[number])
        if own.at_vertex[number] and whole and lower < upper:
            self.model.addCons(ratio == lower + (upper - lower) * self.model.addVar(vtype="B"))
        return ratio

    def _add_linear_rows(self) -> None:
        for matrix, lower, upper in (
            (self.program.inequalities, 0.0, None),
            (self.program.equalities, 0.0, 0.0),
            (sp.csr_array(self.objective.denominator[None, :]), SCALE, SCALE),
        ):
            for row in np.flatnonzero(np.diff(matrix.indptr)):
                self.model.addCons(pyscipopt.ExprCons(self._row(matrix, int(row)), lower, upper))

    def _add_contexts(self) -> None:
        ratios = self.program.ratios
        for context, number in enumerate(ratios.of):
            part, whole = self._sum(ratios.numerator, context), self._sum(ratios.denominator, context)
            self.model.addCons(part == self.ratios[number] * whole)

    def _sum(self, matrix: sp.csr_array, row: int) -> pyscipopt.Variable:
        """Return one variable that equals a row, the same for equal rows."""
        entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
        indices, data = matrix.indices[entries], matrix.data[entries]
        if len(indices) == 1 and data[0] == 1.0:
            return self.columns[int(indices[0])]
        key = (indices.tobytes(), data.tobytes())
        if key not in self.sums:
            self.sums[key] = self.model.addVar(lb=0.0)
            self.model.addCons(self.sums[key] == self._row(matrix, row))
        return self.sums[key]

    def _row(self, matrix: sp.csr_array, row: int) -> pyscipopt.Expr:
        entries = slice(matrix.indptr[row], matrix.indptr[row + 1])
        pairs = zip(matrix.data[entries], matrix.indices[entries], strict=True)
        total: pyscipopt.Expr = pyscipopt.quicksum(float(a) * self.columns[j] for a, j in pairs)
        return total

    def _weighted(self, weights: Floats) -> pyscipopt.Expr:
        return self._row(sp.csr_array(weights[None, :]), 0)


class _Watch(pyscipopt.Eventhdlr):
    """Lets Python look in whenever SCIP solved an LP: to report, and to stop when asked to."""

    def __init__(self, report: Report | None, outward: float, interruption: Interruption) -> None:
        self.report, self.outward = report, outward
        self.interruption = interruption
        self.pause = Budget.of(PAUSE)

    def eventinit(self) -> None:
        """Ask to be called after every LP."""
        self.model.catchEvent(PY_SCIP_EVENTTYPE.LPSOLVED, self)

    def eventexec(self, event: object) -> None:
        """Report at most every PAUSE, and pass a Ctrl-C on."""
        if self.interruption.is_asked:
            self.model.interruptSolve()
        if self.report is not None and self.pause.is_spent:
            self.pause = Budget.of(PAUSE)
            value = self.model.getPrimalbound() / SCALE if self.model.getNSols() else None
            try:
                self.report(_bound(self.model, self.outward), value)
            except KeyboardInterrupt:
                # Nothing may be raised through SCIP.
                self.interruption.is_asked = True
                self.model.interruptSolve()


@contextmanager
def _watched(model: pyscipopt.Model, report: Report | None, outward: float) -> Iterator[None]:
    """Look in now and then, and turn Ctrl-C into a stop of the search."""
    with held_back() as interruption:
        watch = _Watch(report, outward, interruption)
        model.includeEventhdlr(watch, "watch", "reports and Ctrl-C")
        yield


def _optimize(model: pyscipopt.Model) -> bool:
    """Run the search; return False where SCIP gave up in the middle of it."""
    try:
        model.optimize()
    except Exception as error:
        # SCIP raises nothing more special.
        if "error in LP solver" not in str(error):
            raise
        return False
    return True


def _quiet_model() -> pyscipopt.Model:
    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("numerics/feastol", FEASIBILITY)
    # SCIP's own handler of Ctrl-C writes to stdout, where our answers go.
    model.setParam("misc/catchctrlc", False)
    return model


def _bound(model: pyscipopt.Model, outward: float) -> float:
    """Return the bound reached so far, moved outwards."""
    bound = float(model.getDualbound())
    return outward * inf if model.isInfinity(abs(bound)) else bound / SCALE + outward * MARGIN


def _column_bounds(program: Program, objective: Objective) -> list[float | None]:
    """Bound each column by what its table can hold and, where the normalization counts it, by its share."""
    most = np.full(program.columns, inf)
    for (start, stop), mass in zip(program.tables, objective.mass_bounds, strict=True):
        most[start:stop] = mass if mass <= LARGEST else inf
    if objective.column_bounds is not None:
        most = np.minimum(most, objective.column_bounds)
    counted = objective.denominator > 0.0
    most[counted] = np.minimum(most[counted], 1.0 / objective.denominator[counted])
    return [SCALE * float(bound) if bound < inf else None for bound in most]


def _ratios_at(program: Program, point: Floats) -> Floats:
    """Read each ratio off the context of the greatest denominator."""
    ratios = program.ratios
    part, whole = ratios.numerator @ point, ratios.denominator @ point
    found, weight = ratios.lower.copy(), np.zeros(len(ratios.lower))
    for context, number in enumerate(ratios.of):
        if whole[context] > weight[number]:
            found[number], weight[number] = part[context] / whole[context], whole[context]
    return np.clip(found, ratios.lower, ratios.upper)
