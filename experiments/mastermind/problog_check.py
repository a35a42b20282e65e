"""The real ProbLog on a board, beside the closed form.

Input: a puzzle. Output: the program as text, and the largest difference between ProbLog's posterior of any
code and the Bayesian one at the midpoint.

The program is the game as a player would write it: a code is drawn, lies happen by chance, an honest round
shows the feedback that fits, a lie shows the feedback seen with probability one over the number of possible
lies.
"""

from __future__ import annotations

import numpy as np

from experiments.mastermind.board import Board, parts_of, read_board
from experiments.mastermind.game import CODES, LYING, Puzzle, achievable, show

__all__ = ["largest_difference", "problog_program"]


def largest_difference(puzzle: Puzzle) -> float:
    """Run ProbLog and compare the posterior of every code with the closed form."""
    from problog import get_evaluatable
    from problog.program import PrologString

    board = read_board(puzzle)
    answers = get_evaluatable().create_from(PrologString(problog_program(puzzle, board))).evaluate()
    found = {str(term): value for term, value in answers.items()}
    posterior = np.exp(board.log_posterior(np.full(board.rounds, sum(LYING) / 2)))
    differences = [
        abs(found[f"code({name})"] - len(codes) * posterior[board.group_of[codes[0]]])
        for name, codes in parts_of(puzzle, board).items()
    ]
    return float(max(differences))


def problog_program(puzzle: Puzzle, board: Board) -> str:
    """Write a board as a ProbLog program that asks for the posterior of every part of the codes."""
    parts = parts_of(puzzle, board)
    prior = "; ".join(f"{len(codes)}/{len(CODES)}::code({name})" for name, codes in parts.items())
    lines = [f"{prior}."]
    for i, guess in enumerate(puzzle.guesses):
        fits = [name for name, codes in parts.items() if not board.lies[board.group_of[codes[0]], i]]
        lines += _round(i, guess, fits)
    lines += [f"query(code({name}))." for name in parts]
    return "\n".join([*lines, ""])


def _round(i: int, guess: int, fits: list[str]) -> list[str]:
    """Write one round: when its feedback is honest, when it is a lie, and that it was seen."""
    lies = achievable(guess).size - 2
    return [
        f"% round {i + 1}",
        *(f"fits({i}) :- code({name})." for name in fits),
        f"{sum(LYING) / 2}::lie({i}).",
        f"1/{lies}::drawn({i}).",
        f"1/{lies + 1}::drawn_if_guessed({i}).",
        f"shown({i}) :- fits({i}), \\+lie({i}).",
        f"shown({i}) :- \\+fits({i}), \\+code(c{show(guess)}), lie({i}), drawn({i}).",
        f"shown({i}) :- code(c{show(guess)}), lie({i}), drawn_if_guessed({i}).",
        f"evidence(shown({i})).",
    ]
