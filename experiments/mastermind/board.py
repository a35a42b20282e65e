"""What a player sees: a board as groups of indistinguishable codes, and the knowledge about lies.

Input: a `Puzzle`. Output: a `Board`, on which every method works, and `Knowledge`, the paper's
sentences about consecutive lies.

Given a code, the board fixes which rounds were lies. With n_i(code) possible lies in round i,

    P(board | code, p) = product over rounds of  p_i / n_i(code)  for a lie,  1 - p_i  otherwise.

Codes with the same lies and the same weight (product of 1 / n_i over lies) have the same posterior under
every p: about 90 groups stand for 1296 codes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.mastermind.game import CODES, FEEDBACK, Puzzle, achievable, show

__all__ = ["Board", "Knowledge", "Probabilities", "knowledge_about", "parts_of", "read_board"]

Probabilities = NDArray[np.float64]
"""One probability per round: P(l_1), ..., P(l_K)."""


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """Groups of codes: their lies, the log weight of one member, their size; and each code's group."""

    lies: NDArray[np.bool_]
    log_weight: Probabilities
    size: NDArray[np.int64]
    group_of: NDArray[np.int64]

    @property
    def groups(self) -> int:
        """Return the number of groups."""
        return len(self.size)

    @property
    def rounds(self) -> int:
        """Return K."""
        return int(self.lies.shape[1])

    def log_posterior(self, lying: Probabilities) -> Probabilities:
        """Return for each group the log posterior of one of its codes, if P(l_i) = lying[i]."""
        score = self._log_odds(lying) @ self.lies.T + self.log_weight
        return np.asarray(score - np.logaddexp.reduce(score + np.log(self.size)))

    def own_log_posterior(self, lying: Probabilities) -> Probabilities:
        """Return for each group g the log posterior of one of its codes, if P(l_i) = lying[g, i]."""
        score = self._log_odds(lying) @ self.lies.T + self.log_weight
        return np.asarray(np.diagonal(score) - np.logaddexp.reduce(score + np.log(self.size), axis=1))

    @staticmethod
    def _log_odds(lying: Probabilities) -> Probabilities:
        # The factor product of (1 - p_i) is the same for every code and cancels.
        return np.asarray(np.log(lying) - np.log1p(-lying))


def read_board(puzzle: Puzzle) -> Board:
    """Group the codes by the lies they imply and by their weight."""
    guesses = np.array(puzzle.guesses)
    lies = (FEEDBACK[guesses] != np.array(puzzle.shown)[:, None]).T
    # A lie is neither the truth nor (4,0); where the code is the guess these two are one.
    possible = np.array([achievable(g).size - 2 for g in guesses])
    guessed = np.arange(len(CODES))[:, None] == guesses
    log_weight = -(lies * np.log(possible + guessed)).sum(axis=1)
    key = np.column_stack([lies, np.round(log_weight, 9)])
    _, first, group_of, size = np.unique(
        key, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    return Board(lies[first], log_weight[first], size, group_of)


def parts_of(puzzle: Puzzle, board: Board) -> dict[str, list[int]]:
    """Part the codes so that all rounds treat a part alike: each guessed code alone, the others by group."""
    parts: dict[str, list[int]] = {}
    for code in range(len(CODES)):
        name = f"c{show(code)}" if code in puzzle.guesses else f"g{board.group_of[code]}"
        parts.setdefault(name, []).append(code)
    return parts


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """The sentences lower[i] <= P(l_i and/or l_{i+1}) <= upper[i]."""

    is_or: NDArray[np.bool_]
    lower: Probabilities
    upper: Probabilities

    @property
    def midpoint(self) -> Probabilities:
        """Return the middle of every interval."""
        return np.asarray((self.lower + self.upper) / 2)

    def probability(self, lying: Probabilities) -> Probabilities:
        """Return the probability of each formula when the lies are independent."""
        both = lying[:-1] * lying[1:]
        return np.where(self.is_or, lying[:-1] + lying[1:] - both, both)

    def violation(self, lying: Probabilities) -> float:
        """Return by how much the worst sentence is violated; at most 0 where all hold."""
        value = self.probability(lying)
        return float(np.maximum(self.lower - value, value - self.upper).max())

    def rounded(self, digits: int) -> Knowledge:
        """Round the bounds outwards to a number of decimals, as a person would state them."""
        unit = 10.0**digits
        lower, upper = np.floor(self.lower * unit) / unit, np.ceil(self.upper * unit) / unit
        return Knowledge(self.is_or, lower, upper)

    def truth(self, lies: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Evaluate every formula on rows of lies."""
        one, other = lies[:, :-1], lies[:, 1:]
        return np.where(self.is_or, one | other, one & other)


def knowledge_about(puzzle: Puzzle, rng: np.random.Generator) -> Knowledge:
    """Draw correct bounds for AND, OR, AND, ... of consecutive lies, as in the paper's appendix.

    The lower bound is uniform between the formula's smallest probability and its true one, the upper
    bound between its true one and its largest.
    """
    lying = np.array(puzzle.lying)
    is_or = np.arange(puzzle.rounds - 1) % 2 == 1
    blank = Knowledge(is_or, np.zeros(is_or.size), np.ones(is_or.size))
    true = blank.probability(lying)
    least, most = np.where(is_or, 0.51, 0.09), np.where(is_or, 0.91, 0.49)
    return Knowledge(is_or, rng.uniform(least, true), rng.uniform(true, most))
