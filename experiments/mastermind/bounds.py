"""Certified bounds of posteriors under the Logical Credal Network of a board.

Input: a board, the knowledge, a direction. Output: a `Decision`: the codes with the largest upper
(maximax) or lower (maximin) posterior, a proof status, and the bounds of the chosen code.

For a code c let y_i be the odds that round i is *not* what c says: (1-p_i)/p_i where c implies a lie,
p_i/(1-p_i) elsewhere. Then one over the posterior of c is

    R_c(y) = sum over codes h of  weight(h)/weight(c) * product of y_i over rounds where h and c differ,

a polynomial with positive coefficients: increasing in every y_i. Hence on a box of p its extremes lie at
two known corners, the knowledge (a chain of products p_i p_{i+1} or (1-p_i)(1-p_{i+1})) shrinks a box exactly
to its projections in two passes, and wanting R better than the best known shrinks it further in closed
form. Branching on these boxes converges in tens to thousands of nodes, a few microseconds each.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from experiments.mastermind.board import Board, Knowledge, Probabilities
from experiments.mastermind.game import LYING
from experiments.mastermind.search import corner, extreme, fit_to_knowledge

__all__ = ["Decision", "maximax", "maximin", "posterior_interval"]

TOLERANCES = (0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
"""Relative gaps at which R is enclosed, one after the other, until the decision is clear."""

NODES = 300_000
"""Boxes a single enclosure may open before it is given up."""

ROUNDING = 1e-12
"""Relative widening of a computed R: above the rounding of its sum."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The chosen group, whether the choice is proved, and an enclosure of the chosen bound.

    `lower <= bound <= upper` for the chosen code's posterior bound; `gap` is by how much an unproved choice
    may fall short of the best one, in posterior probability.
    """

    group: int
    certified: bool
    lower: float
    upper: float
    gap: float


def maximax(board: Board, knowledge: Knowledge) -> Decision:
    """Choose the codes whose upper posterior is largest."""
    return _Contest(board, knowledge, direction=-1).decide()


def maximin(board: Board, knowledge: Knowledge) -> Decision:
    """Choose the codes whose lower posterior is largest."""
    return _Contest(board, knowledge, direction=+1).decide()


def posterior_interval(
    board: Board, knowledge: Knowledge, group: int, tolerance: float = 1e-5
) -> tuple[float, float]:
    """Bound the posterior of one of a group's codes from both sides, nearly tightly.

    Every model's posterior lies inside; the relative tolerance says how much wider the interval may be.
    """
    contest = _Contest(board, knowledge, direction=-1)
    most, _, _ = contest.enclose(group, -1, cutoff=np.inf, tolerance=tolerance)
    least, _, _ = contest.enclose(group, +1, cutoff=0.0, tolerance=tolerance)
    return 1 / least, 1 / most


@dataclass(slots=True, eq=False)
class _Contest:
    """Enclosures low <= R <= high of the extreme R of every group, narrowed until one wins.

    Direction -1 means the minimum of R (the upper posterior), +1 its maximum (the lower posterior). The
    winner has the smallest R either way.
    """

    board: Board
    knowledge: Knowledge
    direction: int
    box: tuple[Probabilities, Probabilities] = field(init=False)
    low: Probabilities = field(init=False)
    high: Probabilities = field(init=False)
    level: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        rounds = self.board.rounds
        self.box = np.full(rounds, LYING[0]), np.full(rounds, LYING[1])
        if not fit_to_knowledge(*self.box, self.chain):
            raise ValueError("the knowledge contradicts itself: no P(l_i) in [0.3, 0.7] satisfies it")
        self.low, self.high = self._at_corner(-1), self._at_corner(+1)
        self.level = np.zeros(self.board.groups, dtype=np.int64)

    @property
    def chain(self) -> tuple[NDArray[np.bool_], Probabilities, Probabilities]:
        """Return the knowledge as the search wants it."""
        return self.knowledge.is_or, self.knowledge.lower, self.knowledge.upper

    def _at_corner(self, direction: int) -> Probabilities:
        """Bound R of every group by its value at a corner of the box."""
        corners = np.array([corner(*self.box, lies, direction) for lies in self.board.lies])
        return np.exp(-self.board.own_log_posterior(corners)) * (1 + direction * ROUNDING)

    def decide(self) -> Decision:
        """Narrow the enclosure of the most promising group until the choice is proved or effort ends."""
        while True:
            best = int(np.argmin(self.high))
            rivals = np.flatnonzero(self.low < self.high[best])
            proved = not np.any(rivals != best)
            unfinished = rivals[self.level[rivals] < len(TOLERANCES)]
            if proved or not unfinished.size:
                return self._decision(best, certified=proved)
            self._narrow(int(unfinished[np.argmin(self.low[unfinished])]))

    def _decision(self, best: int, *, certified: bool) -> Decision:
        rival = np.delete(self.low, best).min()
        gap = 0.0 if certified else 1 / rival - 1 / self.high[best]
        return Decision(best, certified, lower=1 / self.high[best], upper=1 / self.low[best], gap=gap)

    def _narrow(self, group: int) -> None:
        """Enclose the extreme R of one group at its next tolerance; the model found serves every group."""
        tolerance = TOLERANCES[self.level[group]]
        rivals = np.delete(self.high if self.direction < 0 else self.low, group)
        bound, model, complete = self.enclose(group, self.direction, cutoff=rivals.min(), tolerance=tolerance)
        self._witness(model)
        self.level[group] = self.level[group] + 1 if complete else len(TOLERANCES)
        if self.direction < 0:
            self.low[group] = max(self.low[group], bound)
        else:
            self.high[group] = min(self.high[group], bound)

    def enclose(
        self, group: int, direction: int, *, cutoff: float, tolerance: float
    ) -> tuple[float, Probabilities, bool]:
        """Run the search for one group; see `extreme` for the answer."""
        lies, weight = self.board.lies, self.board.log_weight
        ratio = self.board.size * np.exp(weight - weight[group])
        differs = lies != lies[group]
        found: tuple[float, Probabilities, bool] = extreme(
            differs, ratio, lies[group], self.box, self.chain, direction, cutoff, tolerance, NODES
        )
        return found

    def _witness(self, model: Probabilities) -> None:
        """Use a model of the network: it attains an R for each group."""
        attained = np.exp(-self.board.log_posterior(model))
        if self.direction < 0:
            np.minimum(self.high, attained, out=self.high)
        else:
            np.maximum(self.low, attained, out=self.low)
