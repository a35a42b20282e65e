"""Nilsson's logic on a board: why its bounds say nothing.

Input: a board and the knowledge. Output: every group's upper posterior under Nilsson's logic, where lies may
depend on each other in any way; its lower posterior is 0.

The posterior of code c is weight(c) P(l = l(c)) over the sum of weight(h) P(l = l(h)) over all codes h. Codes
with the same lies share their probability whatever it is, so that the posterior of c is at most

    share(c) = weight(c) / sum of the weights of the codes with the same lies.

Suppose some distribution gives no mass to any code's lies and satisfies every sentence with slack. Moving
a little mass to l(c) keeps every sentence, and makes c's posterior equal to share(c); moving it to another
code's lies makes it 0. Then all bounds are vacuous, and one linear program per board finds the distribution.
Where it does not exist, a linear program per group gives the bound (Charnes-Cooper: linear-fractional
objectives stay linear).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from experiments.mastermind.board import Board, Knowledge, Probabilities
from experiments.mastermind.game import LYING

__all__ = ["NilssonBounds", "nilsson_bounds", "upper_by_linear_program"]

SAMPLE = 256
"""Vectors of lies tried first; a few dozen suffice on almost every board."""

SLACK = 1e-6
"""The slack a distribution must have, far above the linear solver's tolerance."""


@dataclass(frozen=True, slots=True, eq=False)
class NilssonBounds:
    """The upper posterior of each group's codes, and whether a slack distribution proves them all vacuous."""

    upper: Probabilities
    vacuous: bool


def nilsson_bounds(board: Board, knowledge: Knowledge) -> NilssonBounds:
    """Bound every code's posterior under Nilsson's logic."""
    if _has_slack_distribution(board, knowledge):
        return NilssonBounds(_shares(board), vacuous=True)
    upper = [upper_by_linear_program(board, knowledge, g) for g in range(board.groups)]
    return NilssonBounds(np.array(upper), vacuous=False)


def _shares(board: Board) -> Probabilities:
    """Return the part of each code's weight among the codes with the same lies."""
    weight = np.exp(board.log_weight)
    same = (board.lies[:, None, :] == board.lies[None, :, :]).all(axis=2)
    return np.asarray(weight / (same @ (weight * board.size)))


def _has_slack_distribution(board: Board, knowledge: Knowledge) -> bool:
    """Look for a distribution that avoids all codes' lies and satisfies each sentence with slack."""
    free = _vectors_of_no_code(board)
    sample = free[np.linspace(0, len(free) - 1, min(SAMPLE, len(free))).astype(int)] if len(free) else free
    return _slack(sample, knowledge) > SLACK or (len(free) > SAMPLE and _slack(free, knowledge) > SLACK)


def _vectors_of_no_code(board: Board) -> NDArray[np.bool_]:
    vectors = _all_vectors(board.rounds)
    taken = board.lies @ (1 << np.arange(board.rounds))
    return np.delete(vectors, np.unique(taken), axis=0)


def _all_vectors(rounds: int) -> NDArray[np.bool_]:
    return np.asarray((np.arange(2**rounds)[:, None] >> np.arange(rounds)) & 1 == 1)


def _sentences(vectors: NDArray[np.bool_], knowledge: Knowledge) -> tuple[NDArray[np.float64], ...]:
    """Return the sentences as lower <= rows @ distribution <= upper."""
    rows = np.hstack([vectors, knowledge.truth(vectors)]).T.astype(float)
    rounds = vectors.shape[1]
    lower = np.concatenate([np.full(rounds, LYING[0]), knowledge.lower])
    upper = np.concatenate([np.full(rounds, LYING[1]), knowledge.upper])
    return rows, lower, upper


def _slack(vectors: NDArray[np.bool_], knowledge: Knowledge) -> float:
    """Return the greatest slack of a distribution on these vectors in its tightest sentence.

    The linear program only proposes a distribution: its slack is recomputed.
    """
    if not len(vectors):
        return -1.0
    rows, lower, upper = _sentences(vectors, knowledge)
    one = np.ones((len(rows), 1))
    found = linprog(
        np.append(np.zeros(len(vectors)), -1.0),
        A_ub=np.vstack([np.hstack([-rows, one]), np.hstack([rows, one])]),
        b_ub=np.concatenate([-lower, upper]),
        A_eq=np.append(np.ones(len(vectors)), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * len(vectors) + [(None, None)],
    )
    mass = np.maximum(np.asarray(found.x)[:-1], 0)
    distribution = mass / mass.sum()
    value = rows @ distribution
    return float(np.minimum(value - lower, upper - value).min())


def upper_by_linear_program(board: Board, knowledge: Knowledge, group: int) -> float:
    """Maximise one code's posterior over all joint distributions of the lies, scaled to P(board) = 1."""
    vectors = _all_vectors(board.rounds)
    rows, lower, upper = _sentences(vectors, knowledge)
    place = board.lies @ (1 << np.arange(board.rounds))
    # Scaling all weights alike changes no posterior and keeps the program well-conditioned.
    weight = np.exp(board.log_weight - board.log_weight.max())
    likelihood = np.bincount(place, weight * board.size, minlength=len(vectors))
    objective = np.zeros(len(vectors))
    objective[place[group]] = -weight[group]
    found = linprog(
        objective,
        A_ub=np.vstack([lower[:, None] - rows, rows - upper[:, None]]),
        b_ub=np.zeros(2 * len(rows)),
        A_eq=likelihood[None, :],
        b_eq=[1.0],
    )
    return -float(np.asarray(found.fun))
