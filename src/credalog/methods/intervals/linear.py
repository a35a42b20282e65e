"""Linear programs over the worlds of a few variables: solved by HiGHS, proved by the trusted base.

Input: rows G p <= 0 that the distribution of every model satisfies. Output: proved bounds on the probability
of an event, given another or not. That there is no such distribution, or none with P(e) > 0, is an error,
raised with proof.

A probability given e is a ratio, and the program a cone that is cut at P(e) = 1 (Charnes and Cooper, 1962):
its mass is then 1 / P(e), and the proof needs a lower bound on P(e). Where there is none, the distribution
p(· | e) is bounded by itself: a row whose coefficients outside e are not negative holds for it as well.
"""

from __future__ import annotations

from math import inf

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.errors import InconsistentNetwork, impossible_evidence
from credalog.methods.intervals.factors import Floats
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program.program import Objective, Outcome, Program, Ratios
from credalog.program.solvers.highs import Basis, Relaxation
from credalog.trusted.certify import Checker
from credalog.trusted.rounding import round_up

__all__ = ["Event", "LinearProgram"]

Event = NDArray[np.bool_]


class LinearProgram:
    """The distributions p with G p <= 0, ready for one objective after another."""

    def __init__(self, rows: sp.csr_array, budget: Budget) -> None:
        self._rows, self._budget = rows, budget
        self._worlds = rows.shape[1]
        program = _program(rows)
        self._box = program.ratios.box
        self._relaxation, self._checker = Relaxation(program), Checker(program)
        self._basis: Basis = None

    def greatest(self, worth: Floats) -> float:
        """Bound the greatest value of worth @ p."""
        return self._end(Objective(worth, np.ones(self._worlds), np.ones(1)), End.UPPER)

    def range(self, event: Event, given: Event | None = None) -> tuple[float, float]:
        """Bound the probability of an event; where a condition is given, over the p that make it possible."""
        if given is None or given.all():
            return self._range(event, np.ones(self._worlds, dtype=np.bool_), 1.0)
        least = -self.greatest(-given.astype(np.float64))
        mass = round_up(1.0 / least) if least > 0.0 else inf
        low, high = self._range(event & given, given, mass)
        if least > 0.0:
            return low, high
        try:
            inner = LinearProgram(self._within(given), self._budget).range(event[given])
        except InconsistentNetwork:
            raise impossible_evidence() from None
        return max(low, inner[0]), min(high, inner[1])

    def _range(self, event: Event, given: Event, mass: float) -> tuple[float, float]:
        objective = Objective(event.astype(np.float64), given.astype(np.float64), np.array([mass]))
        low, high = (self._end(objective, end) for end in End)
        return max(low, 0.0), min(high, 1.0)

    def _within(self, given: Event) -> sp.csr_array:
        """Return the rows that hold of p(· | given) alone, over the worlds of the condition."""
        outside = self._rows[:, ~given]
        kept = outside.minimum(0.0).sum(axis=1) >= 0.0
        return sp.csr_array(self._rows[kept][:, given])

    def _end(self, objective: Objective, end: End) -> float:
        """Prove one end; infinity where nothing is proved, or the time is up."""
        if self._budget.is_spent:
            return -end.sign * inf
        solve = self._relaxation.minimize if end is End.LOWER else self._relaxation.maximize
        claim, self._basis = solve(objective, self._box, basis=self._basis, timeout=self._budget.for_solver)
        if claim.outcome is Outcome.INFEASIBLE:
            if self._checker.proves_empty(objective, self._box, claim.multipliers):
                raise impossible_evidence() if (objective.denominator == 0.0).any() else _inconsistent()
            return -end.sign * inf
        if claim.outcome is Outcome.STOPPED:
            return -end.sign * inf
        return self._checker.bound(objective, self._box, claim.multipliers, end)


def _inconsistent() -> InconsistentNetwork:
    return InconsistentNetwork("No distribution satisfies the network: bounds near each other contradict.")


def _program(rows: sp.csr_array) -> Program:
    """Write G p <= 0 as a program of one table."""
    count, worlds = rows.shape
    nothing = np.zeros(0)
    no_rows = sp.csr_array((0, worlds))
    ratios = Ratios(nothing, nothing, nothing.astype(bool), nothing.astype(np.intp), no_rows, no_rows)
    return Program(worlds, ((0, worlds),), -rows, no_rows, ratios, (-1,) * count, ())
