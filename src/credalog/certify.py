"""The trusted kernel: turn a solver's multipliers into a bound that does not depend on the solver.

Enters: a program, a box, an objective, and any multipliers whatever. Leaves: a number that no point of
the program passes. Nothing here trusts a solver, and nothing here is larger than one reading.

Weak duality. Let x >= 0 satisfy R @ x >= 0 (inequalities and box rows), E @ x == 0 and d @ x == 1. For
any y >= 0, any z and any t, with the reduced costs r = c - R'y - E'z - t d,

    c @ x  =  t + y @ (R @ x) + z @ (E @ x) + r @ x  >=  t + r @ x.

The columns of table T add up to at most its mass bound M_T, so r @ x >= sum over tables of M_T times the
smallest negative r_j in it, or 0. Every sum is computed in floating point with a bound on its rounding error,
the coefficients' own rounding included (each is a rational rounded once or twice), and rounded outwards.

With c = 0 a positive bound is a contradiction: the program has no point (Farkas).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from credalog.numerics import round_down
from credalog.program import Box, Floats, Objective, Program

__all__ = ["lower_bound", "proves_empty", "upper_bound"]

UNIT = 2.0**-53


def lower_bound(program: Program, objective: Objective, box: Box, multipliers: Floats) -> float:
    """Prove a lower bound on the objective's ratio over the box."""
    return _dual_bound(program, objective, box, objective.numerator, multipliers)


def upper_bound(program: Program, objective: Objective, box: Box, multipliers: Floats) -> float:
    """Prove an upper bound on the objective's ratio over the box."""
    return -_dual_bound(program, objective, box, -objective.numerator, multipliers)


def proves_empty(program: Program, objective: Objective, box: Box, ray: Floats) -> bool:
    """Check that no point of the box can have denominator 1."""
    if ray[-1] <= 0.0:
        return False
    nothing = np.zeros(program.columns)
    return _dual_bound(program, objective, box, nothing, ray / ray[-1]) > 0.0


def _dual_bound(program: Program, objective: Objective, box: Box, cost: Floats, multipliers: Floats) -> float:
    rows = _rows(program, box)
    weights, shift = multipliers[:-1].copy(), float(multipliers[-1])
    free = program.equalities.shape[0]
    signed = len(weights) - free
    weights[:signed] = np.maximum(weights[:signed], 0.0)
    reduced = cost - rows.T @ weights - shift * objective.denominator
    size = np.abs(cost) + abs(rows).T @ np.abs(weights) + abs(shift) * objective.denominator
    terms = np.diff(rows.tocsc().indptr) + 8
    # (terms) * UNIT bounds the relative error of a sum of products; 2 covers the coefficients' rounding.
    safe = reduced - 2.0 * terms * UNIT * size
    loss = 0.0
    for (start, stop), mass in zip(program.tables, objective.mass_bounds, strict=True):
        least = float(safe[start:stop].min())
        if least < 0.0:
            loss = round_down(loss + round_down(least * mass))
    return round_down(shift + loss)


def _rows(program: Program, box: Box) -> sp.csr_array:
    """Stack inequalities, lower and upper box rows, and equalities, in a claim's order."""
    ratios = program.ratios
    at_least = ratios.numerator - sp.diags_array(box.lower[ratios.of]) @ ratios.denominator
    at_most = sp.diags_array(box.upper[ratios.of]) @ ratios.denominator - ratios.numerator
    stacked = sp.vstack([program.inequalities, at_least, at_most, program.equalities], format="csr")
    return sp.csr_array(stacked)
