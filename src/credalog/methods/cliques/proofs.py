"""What is proved of a box of ratios: its linear relaxation, solved by HiGHS and checked by the trusted base.

Input: an encoding's program, an objective, a box. Output: a solver's claim, and the bound that `certify`
proves from its multipliers. Values are multiplied by the end's sign, so that less is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Warrant
from credalog.program.products import with_contexts, with_rows
from credalog.program.program import Box, Claim, Floats, Objective, Outcome, Program
from credalog.program.solvers.highs import Basis, Relaxation
from credalog.trusted.certify import Checker, ExactChecker
from credalog.trusted.rounding import round_down, round_up

__all__ = ["Prover", "exact_bound", "exact_multipliers"]

EXACT_SECONDS, EXACT_SHARE = 0.5, 0.25
"""How long, and which share of the time, may go into proofs in rational arithmetic."""

NEAR = 1e-8
"""A bound that is no further from the solver's value is not proved once more in fractions."""

SMALLEST_MASS = 1e-6
"""A ratio whose denominator may be smaller than this is not narrowed."""


@dataclass(slots=True)
class _Record:
    """The seconds that went into rational arithmetic."""

    seconds_exact: float = 0.0


class Prover:
    """Bound one end of one objective on boxes.

    Provers of the same search with other rows share one record of the time that fractions took.
    """

    def __init__(
        self,
        program: Program,
        objective: Objective,
        end: End,
        budget: Budget,
        record: _Record | None = None,
    ) -> None:
        self.program = program
        self.objective = objective
        self.end = end
        self.budget = budget
        self._checker = Checker(program)
        self._record = record or _Record()

    @property
    def rows(self) -> int:
        """Return how many multipliers a claim about a box has: one for each row, and for the norm."""
        program = self.program
        stated = program.inequalities.shape[0] + program.equalities.shape[0]
        return int(stated + 2 * len(program.ratios.of) + 1)

    @cached_property
    def relaxation(self) -> Relaxation:
        """Return the linear relaxation; whoever only checks the claims of others needs none."""
        return Relaxation(self.program)

    @property
    def warrant(self) -> Warrant:
        """Return on whose word all bounds stand: a solver's own is not taken."""
        return self._checker.warrant

    def with_rows(self, rows: sp.csr_array, contexts: NDArray[np.intp]) -> Prover:
        """Return a prover with more rows, which hold anyway, and of the contexts only some.

        What it proves is recorded with what this one does.
        """
        program = with_rows(with_contexts(self.program, contexts), rows)
        return Prover(program, self.objective, self.end, self.budget, self._record)

    def relax(self, box: Box, basis: Basis) -> tuple[Claim, Basis]:
        """Solve the linear relaxation of a box."""
        solve = self.relaxation.minimize if self.end is End.LOWER else self.relaxation.maximize
        return solve(self.objective, box, basis=basis, timeout=self.budget.for_solver)

    def bound(self, claim: Claim, box: Box, known: float) -> float:
        """Return what is proved of a box: infinity if it is empty, never less than was known before."""
        if claim.outcome is Outcome.INFEASIBLE:
            return self._bound_of_empty(claim, box, known)
        return known if claim.outcome is Outcome.STOPPED else max(known, self._checked(claim, box))

    @property
    def is_mass_bounded(self) -> bool:
        """Tell whether the checker proves bounds by itself: the mass is bounded where the evidence has 1."""
        return bool(np.isfinite(self.objective.mass_bounds[0]))

    def _bound_of_empty(self, claim: Claim, box: Box, known: float) -> float:
        if self._checker.proves_empty(self.objective, box, claim.multipliers):
            return inf
        if self.is_mass_bounded or not self._is_exactly_empty(claim, box):
            # That a box is empty is proved, or not said.
            return known
        return inf

    def _checked(self, claim: Claim, box: Box) -> float:
        """Return the bound our checker proves, in floats or, where the mass has no bound, in fractions.

        What the solver itself claims is worth nothing there: models in which the evidence is rare need more
        mass than its point shows, and its tolerances drown them, however harmless each number looks.
        """
        sign = self.end.sign
        proved = sign * self._checker.bound(self.objective, box, claim.multipliers, self.end)
        if proved >= sign * claim.value - NEAR:
            return proved
        exact = self._exactly(sign * self.objective.numerator, box, claim.multipliers)
        return proved if exact is None else max(proved, round_down(float(exact)))

    def _is_exactly_empty(self, claim: Claim, box: Box) -> bool:
        """Tell whether rational multipliers prove that a box has no point."""
        ray = claim.multipliers
        if not ray[-1] > 0.0:
            return False
        nothing = np.zeros(self.program.columns)
        exact = self._exactly(nothing, box, ray / ray[-1], shift=Fraction(1))
        return exact is not None and exact > 0

    def _exactly(
        self, cost: Floats, box: Box, multipliers: Floats, shift: Fraction | None = None
    ) -> Fraction | None:
        """Prove a bound in rational arithmetic, if there is time for it."""
        if self.program.ratios.exact is None:
            return None
        began = self.budget.elapsed
        allowed = self.budget.at_most(EXACT_SECONDS + EXACT_SHARE * began - self._record.seconds_exact)
        found = exact_bound(self.program, self.objective, box, cost, multipliers, budget=allowed, shift=shift)
        self._record.seconds_exact += self.budget.elapsed - began
        return found

    def narrowed(self, box: Box, budget: Budget) -> Box:
        """Narrow the ratios that nothing bounds yet, each by the relaxation itself.

        What is proved of a ratio holds in every model, so it may be used for the next one.
        """
        for ratio in np.flatnonzero((box.lower <= 0.0) & (box.upper >= 1.0)):
            if budget.is_spent:
                break
            objective = self._ratio_objective(int(ratio), box)
            if objective is not None:
                low, high = (self.range_end(objective, box, end) for end in End)
                box = box.restrict(int(ratio), low, max(low, high))
        return box

    def _ratio_objective(self, ratio: int, box: Box) -> Objective | None:
        """Return a ratio as an objective, if its denominator is provably not too small."""
        ratios = self.program.ratios
        chosen = (ratios.of == ratio).astype(float)
        part, whole = ratios.numerator.T @ chosen, ratios.denominator.T @ chosen
        tables = np.ones(len(self.program.tables))
        least = self.range_end(Objective(whole, self.program.mass, tables), box, End.LOWER)
        return None if least < SMALLEST_MASS else Objective(part, whole, tables * round_up(1.0 / least))

    def range_end(self, objective: Objective, box: Box, end: End) -> float:
        """Bound one end of another objective by its relaxation: trivially where that says nothing."""
        solve = self.relaxation.minimize if end is End.LOWER else self.relaxation.maximize
        claim, _ = solve(objective, box, timeout=self.budget.for_solver)
        if claim.outcome is not Outcome.OPTIMAL:
            return end.trivial
        return end.tightest((end.trivial, self._checker.bound(objective, box, claim.multipliers, end)))


# ---- rational multipliers ---------------------------------------------------------------------------------
# Rational multipliers near a solver's, for where no rounding can be absorbed.
# Input: a program, a box and a solver's multipliers. Output: a bound that `ExactChecker` proved, or None.
#
# At an optimum the reduced costs of many columns are zero, and where models without the evidence exist some
# must be: to the last digit, or nothing is proved. So the multipliers that are not zero are made the
# solution of the equations "this reduced cost is zero", in rational arithmetic. Nothing here is trusted:
# what comes out is worth what the checker makes of it.

NOTHING = 1e-9
"""A multiplier below this share of the largest is zero."""

TIGHT = 1e-8
"""A reduced cost below this, at the scale of the multipliers, is zero."""

LARGEST = 150
"""Systems with more unknowns than this are not solved."""

SIMPLE = 10**6
"""The largest denominator of a multiplier that the equations leave free."""

Row = dict[int, Fraction]

SHIFT = -1
"""The number of the normalization among the unknowns; RIGHT is that of the right-hand side."""

RIGHT = -2


def exact_bound(
    program: Program,
    objective: Objective,
    box: Box,
    cost: Floats,
    multipliers: Floats,
    *,
    budget: Budget,
    shift: Fraction | None = None,
) -> Fraction | None:
    """Prove a lower bound on cost @ x from rational multipliers near the given ones.

    `shift` fixes the multiplier of the normalization, as a proof of emptiness needs it.
    """
    found = exact_multipliers(program, objective, box, cost, multipliers, budget=budget, shift=shift)
    return None if found is None else ExactChecker(program).bound(objective, box, cost, *found)


def exact_multipliers(
    program: Program,
    objective: Objective,
    box: Box,
    cost: Floats,
    multipliers: Floats,
    *,
    budget: Budget,
    shift: Fraction | None = None,
) -> tuple[Row, Fraction] | None:
    """Return rational multipliers near the given ones, by row, and that of the normalization."""
    checker = ExactChecker(program)
    nearby = _support(checker, multipliers)
    if len(nearby) > LARGEST:
        return None
    rows = {number: checker.row(number, box) for number in nearby}
    equations = _equations(rows, nearby, objective, cost, float(multipliers[-1]))
    if shift is not None:
        equations.append({SHIFT: Fraction(1), RIGHT: shift})
    solved = _solved(equations, {**nearby, SHIFT: float(multipliers[-1])}, budget)
    if solved is None:
        return None
    found = {number: weight for number, weight in solved.items() if number != SHIFT}
    return found, solved[SHIFT]


def _support(checker: ExactChecker, multipliers: Floats) -> dict[int, float]:
    """Return the multipliers that are not zero by the numbers of their rows."""
    weights = multipliers[:-1].copy()
    weights[: checker.unequal] = np.maximum(weights[: checker.unequal], 0.0)
    least = NOTHING * max(float(np.abs(weights).max(initial=0.0)), 1.0)
    return {int(row): float(weights[row]) for row in np.flatnonzero(np.abs(weights) > least)}


def _equations(
    rows: dict[int, list[tuple[int, Fraction]]],
    nearby: dict[int, float],
    objective: Objective,
    cost: Floats,
    shift: float,
) -> list[Row]:
    """Return for each column whose reduced cost is nearly zero the equation that says it is."""
    reduced = cost - shift * objective.denominator
    by_column: dict[int, Row] = {}
    for number, row in rows.items():
        for column, coefficient in row:
            reduced[column] -= nearby[number] * float(coefficient)
            own = by_column.setdefault(column, {})
            own[number] = own.get(number, Fraction(0)) + coefficient
    near = TIGHT * max(1.0, *map(abs, nearby.values())) if nearby else TIGHT
    equations = []
    for column in np.flatnonzero(np.abs(reduced) <= near).tolist():
        terms = {**by_column.get(column, {}), SHIFT: Fraction(float(objective.denominator[column]))}
        equation = {unknown: c for unknown, c in terms.items() if c}
        equations.append({**equation, RIGHT: Fraction(float(cost[column]))})
    return equations


def _solved(equations: list[Row], nearby: dict[int, float], budget: Budget) -> Row | None:
    """Solve by elimination, rounding what stays free; None where there is no solution, or no time."""
    pivots: list[tuple[int, Row]] = []
    for equation in sorted(equations, key=len):
        if budget.is_spent:
            return None
        row = equation
        for unknown, pivot in pivots:
            row = _without(row, unknown, pivot)
        unknowns = [unknown for unknown in row if unknown != RIGHT]
        if unknowns:
            chosen = max(unknowns, key=lambda unknown: abs(nearby[unknown]))
            scale = row[chosen]
            pivots.append((chosen, {unknown: c / scale for unknown, c in row.items()}))
        elif row.get(RIGHT):
            return None
    solved = {
        unknown: Fraction(value).limit_denominator(SIMPLE)
        for unknown, value in nearby.items()
        if unknown not in {chosen for chosen, _ in pivots}
    }
    for unknown, pivot in reversed(pivots):
        others = (c * solved[other] for other, c in pivot.items() if other not in (unknown, RIGHT))
        solved[unknown] = pivot.get(RIGHT, Fraction(0)) - sum(others)
    return solved


def _without(row: Row, unknown: int, pivot: Row) -> Row:
    """Subtract the multiple of a pivot row that removes its unknown."""
    factor = row.get(unknown)
    if not factor:
        return row
    changed = dict(row)
    for other, coefficient in pivot.items():
        value = changed.get(other, Fraction(0)) - factor * coefficient
        if value:
            changed[other] = value
        else:
            changed.pop(other, None)
    return changed
