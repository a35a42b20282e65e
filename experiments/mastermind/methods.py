"""The rows of the paper's Table 1: eleven ways of guessing the code.

Input: a puzzle and the knowledge about it. Output: an `Outcome`, the score of every method on it.

A method names a set of tied codes; it scores the chance that one of them, drawn at random, is a MAP code
under the true lying probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.mastermind.board import Board, Knowledge, Probabilities, read_board
from experiments.mastermind.bounds import Decision, maximax, maximin
from experiments.mastermind.entropy import most_entropic
from experiments.mastermind.game import LYING, Puzzle
from experiments.mastermind.nilsson import nilsson_bounds

__all__ = ["PAPER", "Outcome", "best", "evaluate"]

PAPER: dict[str, tuple[float, float] | str] = {
    "Bayesian_midpoint": (65.7, 2.2),
    "Credal_maximax": (60.3, 2.3),
    "Credal_maximin": (64.4, 2.2),
    "ProbLog_midpoint": (65.7, 2.2),
    "cProbLog_midpoint": (65.3, 2.1),
    "MLN_midpoint": (65.3, 2.1),
    "Nilsson_maximax": "intractable",
    "Nilsson_maximin": "0",
    "LCN_maximax": (69.2, 1.8),
    "LCN_maximin": (71.1, 1.9),
    "LCN_maxent": (72.5, 1.7),
}
"""Accuracy in percent, mean and standard deviation over ten seeds, as printed."""

TIE = 1e-9
"""Log posteriors closer than this are equal but for rounding."""

Groups = NDArray[np.bool_]
"""A set of groups of codes."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened on one puzzle: each method's score, and what was proved on the way."""

    scores: tuple[float, ...]
    single_map: bool
    certified: tuple[bool, bool]
    gap: float
    entropy_gap: float
    nilsson_vacuous: bool


def evaluate(puzzle: Puzzle, knowledge: Knowledge) -> Outcome:
    """Let every method guess, and score the guesses against the exact MAP codes."""
    board = read_board(puzzle)
    truth = best(board.log_posterior(np.array(puzzle.lying)))
    optimist, pessimist = maximax(board, knowledge), maximin(board, knowledge)
    calm = most_entropic(knowledge)
    nilsson = nilsson_bounds(board, knowledge)
    chosen = _choices(board, knowledge)
    chosen["Nilsson_maximax"] = best(np.log(nilsson.upper))
    chosen["Nilsson_maximin"] = np.ones(board.groups, dtype=np.bool_)  # every lower bound is 0: all codes tie
    chosen["LCN_maximax"], chosen["LCN_maximin"] = _only(board, optimist), _only(board, pessimist)
    chosen["LCN_maxent"] = best(board.log_posterior(calm.lying))
    return Outcome(
        scores=tuple(_score(board, chosen[name], truth) for name in PAPER),
        single_map=int(board.size[truth].sum()) == 1,
        certified=(optimist.certified, pessimist.certified),
        gap=max(optimist.gap, pessimist.gap),
        entropy_gap=calm.gap,
        nilsson_vacuous=nilsson.vacuous,
    )


def best(log_posterior: Probabilities) -> Groups:
    """Return the groups that tie for the largest value."""
    return np.asarray(log_posterior >= log_posterior.max() - TIE)


def _only(board: Board, decision: Decision) -> Groups:
    return np.asarray(np.arange(board.groups) == decision.group)


def _score(board: Board, tied: Groups, truth: Groups) -> float:
    return float(board.size[tied & truth].sum() / board.size[tied].sum())


def _choices(board: Board, knowledge: Knowledge) -> dict[str, Groups]:
    """Return the guesses of the methods that have a closed form."""
    low, high = LYING
    midpoint = np.full(board.rounds, (low + high) / 2)
    bayesian = best(board.log_posterior(midpoint))
    # A code's posterior rises with P(l_i) exactly where the code implies a lie in round i.
    upper = board.own_log_posterior(np.where(board.lies, high, low))
    lower = board.own_log_posterior(np.where(board.lies, low, high))
    return {
        "Bayesian_midpoint": bayesian,
        "Credal_maximax": best(upper),
        "Credal_maximin": best(lower),
        # Without the formulas, which ProbLog cannot state, it is the Bayesian network.
        "ProbLog_midpoint": bayesian,
        "cProbLog_midpoint": best(_soft_constraints(board, knowledge, midpoint)),
        "MLN_midpoint": best(_weighted_formulas(board, knowledge, midpoint)),
    }


def _soft_constraints(board: Board, knowledge: Knowledge, lying: Probabilities) -> Probabilities:
    """Score codes as cProbLog does: a formula is a factor, its midpoint or one minus it."""
    prior = np.where(board.lies, lying, 1 - lying).prod(axis=1)
    factor = np.where(knowledge.truth(board.lies), knowledge.midpoint, 1 - knowledge.midpoint)
    return np.asarray(np.log(prior * factor.prod(axis=1)) + board.log_weight)


def _weighted_formulas(board: Board, knowledge: Knowledge, lying: Probabilities) -> Probabilities:
    """Score codes as a Markov logic network does: each true formula adds its weight log(p / (1 - p))."""
    of_lies = board.lies @ np.log(lying / (1 - lying))
    of_formulas = knowledge.truth(board.lies) @ np.log(knowledge.midpoint / (1 - knowledge.midpoint))
    return np.asarray(of_lies + of_formulas + board.log_weight)
