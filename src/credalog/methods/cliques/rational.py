"""Rational multipliers near a solver's, for where no rounding can be absorbed.

Input: a program, a box and a solver's multipliers. Output: a bound that `ExactChecker` proved, or None.

At an optimum the reduced costs of many columns are zero, and where models without the evidence exist some
must be: to the last digit, or nothing is proved. So the multipliers that are not zero are made the solution
of the equations "this reduced cost is zero", in rational arithmetic. Nothing here is trusted: what comes out
is worth what the checker makes of it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from credalog.numbers.budget import Budget
from credalog.program.program import Box, Floats, Objective, Program
from credalog.trusted.certify import ExactChecker

__all__ = ["exact_bound", "exact_multipliers"]

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
