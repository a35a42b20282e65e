"""Column generation: a linear program over all worlds that never writes most of them down.

Input: a system of rows over events. Output: for a cost on events, the least value over all models: a bound
that is proved, and a model that attains it.

Nilsson's program has one column x_w >= 0 per world. With phi_j(w) the truth of event j, row k is the sum of
G_kj phi_j(w) x_w over j and w, at least 0 or equal to 0; and the mass of the worlds where the condition d
holds is 1. (All rows but this one are homogeneous, so a posterior is as linear as a marginal: Charnes and
Cooper 1962.) For multipliers y of the rows, not negative where those are inequalities, and t of the mass,

    cost @ x  >=  t + sum over w of r(w) x_w,    r(w) = sum over j of (cost_j - (y G)_j - t d_j) phi_j(w).

To find the least r(w) is the pricing problem; its bound proves the answer (`trusted.certify.priced_bound`),
whatever the linear solver did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, lcm

import numpy as np

from credalog.methods.columns.events import Pricer, System, Worlds
from credalog.methods.columns.pricing import Elimination, IntegerProgram
from credalog.network.formulas import TRUE
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.tolerances import FEASIBILITY
from credalog.program.program import Floats
from credalog.program.solvers.columns import ColumnClaim, ColumnProgram
from credalog.tables.mixture import Mixture
from credalog.trusted.certify import priced_bound
from credalog.trusted.rounding import relative_error, round_down

__all__ = ["Generation", "Least", "Model"]

PRECISION = 1e-9
"""A world whose reduced cost is no lower than minus this does not enter."""

SNAP = 10**6
"""Multipliers are tried as fractions with denominators up to this, for a proof in whole numbers."""

LOOSE = 1e-7
"""A bound that loses more than this to rounding is worth a second try."""

EXACTLY = 1e-14
"""A row that is missed by no more than this is missed by rounding alone."""

RANDOM_WORLDS = 16
"""Worlds to begin with, beside the one where every variable has its first value."""


@dataclass(frozen=True, slots=True)
class Model:
    """A distribution on some worlds: their weights, the events' probabilities, the worst violation."""

    weights: Floats
    probability: Floats
    violation: float


@dataclass(frozen=True, slots=True)
class Least:
    """The least value of a cost: a bound, whether it is proved or only claimed, and the best model found."""

    bound: float
    proved: bool
    model: Model | None


class Generation:
    """One system and the worlds found so far, shared by all its questions."""

    def __init__(self, system: System, budget: Budget) -> None:
        self.system = system
        self.budget = budget
        self.pricer: Pricer = Elimination.of(system.events) or IntegerProgram(system.events)
        self._truth = np.zeros((len(system.events.formulas), 0))
        self._worlds = np.zeros((0, len(system.events.variables)), dtype=np.int64)
        self._known: set[bytes] = set()
        self._fresh(self._first_worlds())

    def _first_worlds(self) -> Worlds:
        sizes = self.system.events.sizes
        drawn = np.random.default_rng(0).integers(0, sizes, size=(RANDOM_WORLDS, len(sizes)))
        return np.concatenate([np.zeros((1, len(sizes)), dtype=np.int64), drawn])

    def _fresh(self, worlds: Worlds) -> Floats:
        """Remember worlds; return the truth of the events in those that differ from all before."""
        admitted = self.system.events.admit(worlds)
        truth = self.system.events.truth(admitted)
        new = []
        for number, column in enumerate(truth.T):
            if column.tobytes() not in self._known:
                self._known.add(column.tobytes())
                new.append(number)
        added = truth[:, new].astype(np.float64)
        self._truth = np.concatenate([self._truth, added], axis=1)
        self._worlds = np.concatenate([self._worlds, admitted[new]])
        return added

    @property
    def worlds(self) -> int:
        """Return how many different worlds were met."""
        return len(self._worlds)

    def mixture(self, model: Model) -> Mixture:
        """Return a model as a distribution."""
        (used,) = np.nonzero(model.weights)
        return Mixture((), self.system.events.variables, self._worlds[used], model.weights[used])

    def feasible(self) -> bool | None:
        """Tell whether some distribution satisfies every row; None where the time runs out first.

        Every row may be missed at the price of the amount; a model is found where nothing is missed, and
        none exists where the least total price is positive, as the pricer proves or claims.
        """
        nothing = np.zeros(len(self.system.events.formulas))
        if not self.worlds:
            try:
                priced = self.pricer.best(nothing, enough=-1.0, budget=self.budget)
            except OutOfTime:
                return None
            if not self._fresh(priced.worlds).shape[1]:
                return False if priced.bound == -inf else None
        master = _Master(self.system, self.system.indicator(TRUE), price=1.0)
        done = self._descend(master, nothing, 1.0, _is_settled, self.budget)
        if done.bound > 0.0:
            return False
        return True if done.model is not None and done.model.violation <= FEASIBILITY else None

    def minimize(
        self,
        cost: Floats,
        condition: Floats,
        *,
        mass: float = 1.0,
        enough: Callable[[Least], bool] = lambda _: False,
        share: float = 1.0,
    ) -> Least:
        """Minimize a cost over all models whose condition has mass 1, or until enough is known."""
        budget = self.budget.share(share)
        return self._descend(_Master(self.system, condition), cost, mass, enough, budget)

    def excludes(self, event: Floats) -> bool:
        """Tell whether it is proved, in whole numbers, that every model gives an event probability zero."""
        master = _Master(self.system, self.system.indicator(TRUE))
        master.add(self._truth, -event)
        claim = master.solve(self.budget)
        try:
            proved = None if claim is None else master.prove(-event, claim, self.pricer, self.budget)
        except OutOfTime:
            return False
        return proved is not None and proved >= 0

    def _descend(
        self,
        master: _Master,
        cost: Floats,
        mass: float,
        enough: Callable[[Least], bool],
        budget: Budget,
    ) -> Least:
        """Alternate between the linear program on the worlds known and the search for a better world."""
        master.add(self._truth, cost)
        best = Least(-inf, True, None)
        while not budget.is_spent and (claim := master.solve(budget)) is not None:
            best = replace(best, model=self._model(claim))
            if enough(best):
                return best
            try:
                priced = self.pricer.best(-master.reduced(cost, claim), enough=PRECISION, budget=budget)
                best = self._better(best, master, cost, claim, priced.bound, mass, budget)
            except OutOfTime:
                return best
            fresh = self._fresh(priced.worlds)
            if claim.value - best.bound <= PRECISION or enough(best) or not fresh.shape[1]:
                return best
            master.add(fresh, cost)
        return best

    def _model(self, claim: ColumnClaim) -> Model:
        """Normalize what the linear program found, and see how well it satisfies the rows."""
        weights = claim.weights / claim.weights.sum()
        probability = self._truth @ weights
        return Model(weights, probability, self.system.violation(probability))

    def _better(
        self,
        best: Least,
        master: _Master,
        cost: Floats,
        claim: ColumnClaim,
        worth: float,
        mass: float,
        budget: Budget,
    ) -> Least:
        """Improve the bound by what pricing proved."""
        shift, error = float(claim.multipliers[-1]), master.rounding(cost, claim)
        bound = priced_bound(shift, worth, error=error, mass=mass)
        if bound > best.bound:
            best = Least(bound, self.pricer.proves, best.model)
        if -worth - error > -PRECISION and shift - best.bound > LOOSE:
            # The condition may have a probability near 0, so that no slack is tolerable, nor a bare word.
            proved = master.prove(cost, claim, self.pricer, budget)
            if proved is not None and proved > best.bound:
                return Least(round_down(float(proved)), True, best.model)
        return best


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

    def solve(self, budget: Budget) -> ColumnClaim | None:
        """Solve the program on the worlds known."""
        return self._program.solve(budget.for_solver)

    def reduced(self, cost: Floats, claim: ColumnClaim) -> Floats:
        """Return what each event adds to the reduced cost of a world."""
        y, t = claim.multipliers[:-1], claim.multipliers[-1]
        return np.asarray(cost - self._system.matrix.T @ y - t * self._condition)

    def rounding(self, cost: Floats, claim: ColumnClaim) -> float:
        """Bound the rounding error in the reduced cost of any world."""
        y, t = np.abs(claim.multipliers[:-1]), abs(claim.multipliers[-1])
        size = np.abs(cost) + abs(self._system.matrix).T @ y + t * self._condition
        return relative_error(4 * (len(y) + 8)) * float(size.sum())

    def prove(self, cost: Floats, claim: ColumnClaim, pricer: Pricer, budget: Budget) -> Fraction | None:
        """Check in whole numbers that no world's reduced cost is negative; return the bound it proves.

        The multipliers tried are simple fractions near the claimed ones.
        """
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
        greatest = pricer.greatest([int(value * scale) for value in worth], budget)
        return y[-1] if greatest <= 0 else None
