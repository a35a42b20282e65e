"""Pricing by dynamic programming: exact, wherever the formulas leave narrow tables.

Input: events, and a worth for each. Output: the world of greatest worth, and a bound that allows for every
rounding error. Variables are eliminated one after the other, each at its best value given those that are
left; where the formulas form a chain, no table has more than two variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalog.errors import ProblemTooLarge
from credalog.methods.columns.events import WIDEST, Events, Priced, Worlds
from credalog.methods.columns.tables import Tables
from credalog.numbers.budget import Budget
from credalog.program.program import Floats
from credalog.tables.elimination import Potential, Step, combined, elimination_steps
from credalog.trusted.rounding import relative_error

__all__ = ["Elimination"]


@dataclass(frozen=True)
class Elimination:
    """Maximize by eliminating the variables one after the other, each at its best value."""

    tables: Tables
    steps: tuple[Step[int], ...]
    proves: bool = True

    @classmethod
    def of(cls, events: Events) -> Elimination | None:
        """Plan an elimination; None where some table would grow too large."""
        if events.widest > WIDEST:
            return None
        tables, sizes = Tables.of(events), dict(enumerate(events.sizes))
        try:
            steps = elimination_steps(tables.scopes, sizes, most=WIDEST)
        except ProblemTooLarge:
            return None
        return cls(tables, tuple(steps))

    def best(self, worth: Floats, *, enough: float, budget: Budget) -> Priced:
        """Return the best world; the bound allows for the rounding of every sum."""
        value, sums = self._sweep(self.tables.worth(worth, inf), budget)
        error = relative_error(len(worth) + 2 * len(self.tables.events.sizes) + 8) * float(
            np.abs(worth).sum()
        )
        return Priced(self._trace(sums)[: 1 if value > -inf else 0], float(value) + error)

    def greatest(self, worth: Sequence[int], budget: Budget) -> int:
        """Return the greatest worth of a world in whole numbers, exactly."""
        # No world that is not excluded is worth as little as one that is.
        penalty = 1 + 2 * sum(abs(value) for value in worth)
        value, _ = self._sweep(self.tables.exact_worth(worth, penalty), budget)
        return int(value)

    def _sweep(self, entries: NDArray[Any], budget: Budget) -> tuple[Any, list[NDArray[Any]]]:
        """Eliminate all variables; return the greatest worth, and the sums from which to trace a world."""
        pairs = zip(self.tables.scopes, self.tables.split(entries), strict=True)
        left = dict(enumerate(Potential(scope, values) for scope, values in pairs))
        sums = []
        for number, step in enumerate(self.steps, start=len(left)):
            budget.require_time()
            total = combined([left.pop(i) for i in step.entering], step.scope, np.add)
            sums.append(total)
            left[number] = Potential(step.rest, np.asarray(total.max(axis=step.scope.index(step.variable))))
        return sum(potential.values.item() for potential in left.values()), sums

    def _trace(self, sums: list[Floats]) -> Worlds:
        """Walk back from the last variable, each taking its best value given those already chosen."""
        world = np.zeros(len(self.tables.events.sizes), dtype=np.int64)
        for step, total in zip(reversed(self.steps), reversed(sums), strict=True):
            index = tuple(slice(None) if v == step.variable else world[v] for v in step.scope)
            world[step.variable] = int(total[index].argmax())
        return world[None, :]
