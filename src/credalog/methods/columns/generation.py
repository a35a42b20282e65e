"""Column generation: a linear program over all worlds that never writes most of them down.

Enters: a system of rows over events. Leaves: for a cost on events, the least value over all models: a bound
that is proved, and a model that attains it.

Nilsson's program has one column x_w >= 0 per world. With phi_j(w) the truth of event j, row k is the sum of
G_kj phi_j(w) x_w over j and w, at least 0 or equal to 0; and the mass of the worlds where the condition d
holds is 1. (All rows but this one are homogeneous, so a posterior is as linear as a marginal: Charnes and
Cooper 1962.) For multipliers y of the rows, not negative where those are inequalities, and t of the mass,

    cost @ x  >=  t + sum over w of r(w) x_w,    r(w) = sum over j of (cost_j - (y G)_j - t d_j) phi_j(w).

With T the total mass, which is 1 for a marginal and at most 1 / P(d) for a posterior, the sum is at least T
times the least r(w) where that is negative. To find the least r(w) is the pricing problem; its bound proves
the answer, whatever the linear solver did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import inf, lcm
from time import monotonic

import numpy as np

from credalog.methods.columns.elimination import Elimination
from credalog.methods.columns.events import Pricer, Worlds
from credalog.methods.columns.integer import IntegerProgram
from credalog.methods.columns.system import System
from credalog.network.formulas import TRUE
from credalog.numbers.interval import Warrant
from credalog.numbers.tolerances import FEASIBILITY
from credalog.program.program import Floats
from credalog.program.solvers.columns import ColumnClaim, ColumnProgram
from credalog.trusted.rounding import round_down

__all__ = ["Generation", "Least", "Model"]

PRECISION = 1e-9
"""A world whose reduced cost is no lower than minus this does not enter."""

SNAP = 10**6
"""Multipliers are tried as fractions with denominators up to this, for a proof in whole numbers."""

LOOSE = 1e-7
"""A bound that loses more than this to rounding is worth a second try."""

EXACTLY = 1e-14
"""A row that is missed by no more than this is missed by rounding alone."""

UNIT = 2.0**-53

RANDOM_WORLDS = 16
"""Worlds to begin with, beside the one where every variable has its first value."""


@dataclass(frozen=True, slots=True)
class Model:
    """A distribution on a few worlds: the probability of every event, and the worst violation of a row."""

    probability: Floats
    violation: float


@dataclass(frozen=True, slots=True)
class Least:
    """The least value of a cost: a bound, on whose word it stands, and the best model found."""

    bound: float
    warrant: Warrant
    model: Model | None


class Generation:
    """One system and the worlds found so far, shared by all its questions."""

    def __init__(self, system: System, deadline: float) -> None:
        self.system = system
        self.deadline = deadline
        self.pricer: Pricer = Elimination.of(system.events) or IntegerProgram(system.events)
        self._truth = np.zeros((len(system.events.formulas), 0))
        self._seen: set[bytes] = set()
        self._fresh(self._first_worlds())

    def _first_worlds(self) -> Worlds:
        sizes = self.system.events.sizes
        drawn = np.random.default_rng(0).integers(0, sizes, size=(RANDOM_WORLDS, len(sizes)))
        return np.concatenate([np.zeros((1, len(sizes)), dtype=np.int64), drawn])

    def _fresh(self, worlds: Worlds) -> Floats:
        """Remember worlds; return the truth of the events in those that differ from all before."""
        truth = self.system.events.truth(self.system.events.admit(worlds)).T
        new = []
        for column in truth:
            if column.tobytes() not in self._seen:
                self._seen.add(column.tobytes())
                new.append(column)
        added = np.array(new, dtype=np.float64).reshape(len(new), truth.shape[1]).T
        self._truth = np.concatenate([self._truth, added], axis=1)
        return added

    @property
    def worlds(self) -> int:
        """Return how many different worlds were met."""
        return int(self._truth.shape[1])

    @property
    def remaining(self) -> float:
        """Return the seconds left."""
        return self.deadline - monotonic()

    @contextmanager
    def half_of_the_time(self) -> Iterator[None]:
        """Leave half of the remaining time to what comes after."""
        deadline = self.deadline
        self.deadline -= self.remaining / 2.0
        yield
        self.deadline = deadline

    # ---- is there a model? ----------------------------------------------------------------------------

    def feasible(self) -> bool | None:
        """Tell whether some distribution satisfies every row; None where the time runs out first.

        Every row may be missed at the price of the amount; a model is found where nothing is missed, and
        none exists where the least total price is proved positive.
        """
        nothing = np.zeros(len(self.system.events.formulas))
        if not self._truth.shape[1]:
            priced = self.pricer.best(nothing, enough=-1.0, timeout=self.remaining)
            if not self._fresh(priced.worlds).shape[1]:
                return False if priced.bound == -inf else None
        master = _Master(self.system, self.system.indicator(TRUE), price=1.0)
        done = self._descend(master, nothing, 1.0, _is_settled)
        if done.bound > 0.0:
            return False
        return True if done.model is not None and done.model.violation <= FEASIBILITY else None

    # ---- the least value of a cost --------------------------------------------------------------------

    def minimize(
        self,
        cost: Floats,
        condition: Floats,
        *,
        mass: float = 1.0,
        enough: Callable[[Least], bool] = lambda _: False,
    ) -> Least:
        """Minimize a cost over all models whose condition has mass 1, or until enough is known."""
        return self._descend(_Master(self.system, condition), cost, mass, enough)

    def _descend(self, master: _Master, cost: Floats, mass: float, enough: Callable[[Least], bool]) -> Least:
        """Alternate between the linear program on the worlds known and the search for a better world."""
        master.add(self._truth, cost)
        best = Least(-inf, Warrant.CHECKED, None)
        while (claim := master.solve(self.remaining)) is not None:
            model = self._model(claim)
            best = Least(best.bound, best.warrant, model)
            if enough(best):
                return best
            priced = self.pricer.best(-master.reduced(cost, claim), enough=PRECISION, timeout=self.remaining)
            best = self._better(best, master, cost, claim, priced.bound, mass)
            if claim.value - best.bound <= PRECISION or enough(best) or self.remaining <= 0.0:
                return best
            fresh = self._fresh(priced.worlds)
            if not fresh.shape[1]:
                return best
            master.add(fresh, cost)
        return best

    def _model(self, claim: ColumnClaim) -> Model:
        """Normalize what the linear program found, and see how well it satisfies the rows."""
        probability = self._truth @ (claim.weights / claim.weights.sum())
        value = self.system.matrix @ probability
        missed = np.where(self.system.is_equality, np.abs(value), -value)
        return Model(probability, float(max(missed.max(initial=0.0), 0.0)))

    def _better(
        self, best: Least, master: _Master, cost: Floats, claim: ColumnClaim, worth: float, mass: float
    ) -> Least:
        """Improve the bound by what pricing proved."""
        shift = float(claim.multipliers[-1])
        least = round_down(-worth - master.rounding(cost, claim))
        bound = round_down(shift + round_down(least if least >= 0.0 else least * mass))
        if bound > best.bound:
            best = Least(bound, self.pricer.warrant, best.model)
        if least > -PRECISION and shift - best.bound > LOOSE:
            return self._without_slack(best, master, cost, claim)
        return best

    def _without_slack(self, best: Least, master: _Master, cost: Floats, claim: ColumnClaim) -> Least:
        """Bound a posterior whose condition may have probability near 0, so that no slack is tolerable.

        Multipliers near the claimed ones are tried as simple fractions and checked in whole numbers;
        where that fails, the bound is the solver's word.
        """
        proved = master.prove(cost, claim, self.pricer)
        if proved is not None and proved > best.bound:
            return Least(proved, Warrant.CHECKED, best.model)
        return Least(float(claim.multipliers[-1]) - PRECISION, Warrant.CLAIMED, best.model)


def _is_settled(found: Least) -> bool:
    """Tell whether a model was found, or was proved not to exist."""
    return found.bound > 0.0 or (found.model is not None and found.model.violation <= EXACTLY)


class _Master:
    """The linear program on the worlds known, for one condition; with a price, rows may be missed at it."""

    def __init__(self, system: System, condition: Floats, *, price: float = inf) -> None:
        self._system = system
        self._condition = condition
        lowest = np.where(system.is_equality, -price, 0.0)
        self._program = ColumnProgram(lowest, np.full(len(system.rows), price))

    def add(self, truth: Floats, cost: Floats) -> None:
        """Add worlds, given by the truth of the events in them."""
        columns = np.vstack([self._system.matrix @ truth, self._condition @ truth])
        self._program.add(columns, cost @ truth)

    def solve(self, timeout: float) -> ColumnClaim | None:
        """Solve the program on the worlds known."""
        return self._program.solve(timeout)

    def reduced(self, cost: Floats, claim: ColumnClaim) -> Floats:
        """Return what each event adds to the reduced cost of a world."""
        y, t = claim.multipliers[:-1], claim.multipliers[-1]
        return np.asarray(cost - self._system.matrix.T @ y - t * self._condition)

    def rounding(self, cost: Floats, claim: ColumnClaim) -> float:
        """Bound the rounding error in the reduced cost of any world."""
        y, t = np.abs(claim.multipliers[:-1]), abs(claim.multipliers[-1])
        size = np.abs(cost) + abs(self._system.matrix).T @ y + t * self._condition
        terms = len(y) + 8
        return float(4 * terms * UNIT * size.sum())

    def prove(self, cost: Floats, claim: ColumnClaim, pricer: Pricer) -> float | None:
        """Check in whole numbers that no world's reduced cost is negative; return the bound it proves."""
        if not isinstance(pricer, Elimination):
            return None
        y = [Fraction(float(value)).limit_denominator(SNAP) for value in claim.multipliers]
        worth = [
            y[-1] * Fraction(int(d)) - Fraction(int(c)) for c, d in zip(cost, self._condition, strict=True)
        ]
        for multiplier, row in zip(y, self._system.rows, strict=False):
            for event, factor in row.factors:
                worth[event] += multiplier * factor
        scale = lcm(*(value.denominator for value in worth))
        greatest = pricer.greatest([int(value * scale) for value in worth])
        return round_down(float(y[-1])) if greatest <= 0 else None
