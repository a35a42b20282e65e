"""A model with a great posterior, found without vertices, one family after the other.

Input: a credal network and a query about one variable given literals. Output: conditional tables inside the
intervals of all values, and the posterior that they attain, in floats: a witness to be checked.

With all other families fixed, P(event, evidence) and P(evidence) are linear in the blocks of one family, so
that a step of Dinkelbach's iteration is a continuous knapsack in each block, and no step makes things worse.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from credalog.errors import ProblemTooLarge
from credalog.network.relevance import Relevance, relevance
from credalog.numbers.budget import Budget, OutOfTime
from credalog.tables.cones import Array
from credalog.tables.credal import CredalNetwork, Question
from credalog.tables.elimination import Potential, eliminate, restricted
from credalog.tables.interval_sets import filled

__all__ = ["climb"]

MAX_CELLS = 1 << 23
"""The largest table on the way to what a family weighs."""

SWEEPS = 6
"""How often all families are gone through at most."""

GAIN = 1e-9
"""A sweep that gains less is the last."""


def climb(
    credal: CredalNetwork, asked: Question, event: Array, *, budget: Budget
) -> Mapping[int, Array] | None:
    """Return the tables of all relevant families; None where nothing is attained in time."""
    relevant = relevance(credal.parents, [asked.target], asked.observed)
    climber = _Climber(credal, asked, event, relevant, {})
    for x in relevant.families:
        climber.tables[x] = _centre(*credal.ranges(x, {}))
    reached = -1.0
    with suppress(OutOfTime, ProblemTooLarge):
        for _ in range(SWEEPS):
            before = reached
            for x in relevant.families:
                reached = climber.improve(x, max(reached, 0.0), budget)
            if reached <= before + GAIN:
                break
    return None if reached < 0.0 else climber.tables


def _centre(least: Array, most: Array) -> Array:
    """Return the distributions equally far between all bounds."""
    room = most - least
    spread = room.sum(axis=-1, keepdims=True)
    free = 1.0 - least.sum(axis=-1, keepdims=True)
    return np.asarray(least + np.divide(free, spread, out=np.zeros_like(free), where=spread > 0.0) * room)


@dataclass(frozen=True, slots=True)
class _Climber:
    """The tables so far, which are changed in place."""

    credal: CredalNetwork
    asked: Question
    event: Array
    relevant: Relevance
    tables: dict[int, Array]

    def improve(self, x: int, trial: float, budget: Budget) -> float:
        """Make one family the best it can be for passing a trial value; return what is attained."""
        inside, total = self._weights(x, budget)
        least, most = self.credal.ranges(x, self.asked.observed)
        state = self.asked.observed.get(x)
        if state is not None:
            shown = np.arange(self.credal.sizes[x]) == state
            inside, total = inside[..., None] * shown, total[..., None] * shown
        theta = filled(least, most, inside - trial * total)
        scope = (*self.credal.parents[x], x)
        own = {p: self.asked.observed[p] for p in self.credal.parents[x] if p in self.asked.observed}
        restricted(Potential(scope, self.tables[x]), own).values[...] = theta
        mass = float((theta * total).sum())
        return float((theta * inside).sum()) / mass if mass > 0.0 else -1.0

    def _weights(self, x: int, budget: Budget) -> tuple[Array, Array]:
        """Return how P(event, evidence) and P(evidence) depend on the table of one family."""
        observed = self.asked.observed
        others = [
            restricted(Potential((*self.credal.parents[y], y), self.tables[y]), observed)
            for y in self.relevant.families
            if y != x
        ]
        free = (*self.relevant.parents[x], *(() if x in observed else (x,)))
        target = self.asked.target
        keep = free if target in free else (*free, target)
        ones = Potential(keep, np.ones([self.credal.sizes[y] for y in keep]))
        joint, _ = eliminate([ones, *others], keep, most=MAX_CELLS, budget=budget)
        joint = np.broadcast_to(joint, ones.values.shape)
        shape = [len(self.event) if y == target else 1 for y in keep]
        inside = joint * self.event.reshape(shape)
        if target in free:
            return np.asarray(inside), np.asarray(joint)
        return np.asarray(inside.sum(axis=-1)), np.asarray(joint.sum(axis=-1))
