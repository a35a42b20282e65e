"""Pricing by integer programming, for formulas too entangled for elimination.

Input: events, and a worth for each. Output: worlds of great worth, found by climbing where possible, and the
0/1 solver's bound where climbing finds nothing.
"""

from __future__ import annotations

from math import inf

import numpy as np

from credalog.methods.columns.climbing import Landscape
from credalog.methods.columns.events import WIDEST, Events, Priced, Worlds
from credalog.methods.truth_rows import TruthRows
from credalog.numbers.budget import Budget
from credalog.program.program import Floats

__all__ = ["IntegerProgram"]

STARTS = 32
"""Random worlds to climb from; as many of the last worlds found are tried again."""

COLUMNS = 16
"""Worlds handed back at a time."""


class IntegerProgram:
    """Find the world of greatest worth by climbing, and by a 0/1 program where that finds nothing."""

    proves = False

    def __init__(self, events: Events) -> None:
        self._events = events
        self._landscape = Landscape.of(events) if events.widest <= WIDEST else None
        self._rows = TruthRows(events.variables)
        self._truths = [self._rows.truth(formula) for formula in events.formulas]
        for formula in events.certain:
            self._rows.demand(formula)
        self._program = self._rows.program()
        self._rng = np.random.default_rng(0)
        self._recent = self._random_worlds()

    def best(self, worth: Floats, *, enough: float, budget: Budget) -> Priced:
        """Return worlds worth more than `enough` if climbing finds some, else the solver's best and bound."""
        if self._landscape is not None:
            self._recent = self._landscape.climb(worth, np.concatenate([self._recent, self._random_worlds()]))
            self._recent = self._recent[:STARTS]
            good = self._events.admit(self._recent)
            good = good[worth @ self._events.truth(good) > enough]
            if len(good):
                return Priced(good[:COLUMNS], inf)
        return self._solve(worth, enough, budget)

    def _random_worlds(self) -> Worlds:
        return self._rng.integers(0, self._events.sizes, size=(STARTS, len(self._events.variables)))

    def _solve(self, worth: Floats, enough: float, budget: Budget) -> Priced:
        terms = [truth.times(value) for value, truth in zip(worth, self._truths, strict=True)]
        gains, constant = self._rows.gains(terms), sum(term.constant for term in terms)
        claim = self._program.maximize(gains, gap=enough, timeout=budget.for_solver)
        worlds = self._recent[:0] if claim.point is None else self._rows.world(claim.point)[None, :]
        return Priced(worlds, claim.bound + constant)
