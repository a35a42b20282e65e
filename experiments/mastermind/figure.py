"""A picture of one board: the rounds, and the posterior intervals of the leading codes.

Input: a puzzle and its knowledge. Output: a PNG file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from experiments.mastermind.board import Board, Knowledge, read_board
from experiments.mastermind.bounds import posterior_interval
from experiments.mastermind.entropy import most_entropic
from experiments.mastermind.game import CODES, FEEDBACKS, LYING, Puzzle, show

__all__ = ["draw"]

COLOURS = ("#c0392b", "#e6a817", "#27873f", "#2c6fbb", "#7d3c98", "#17a2a2")
LEADING = 8


def draw(puzzle: Puzzle, knowledge: Knowledge, path: Path) -> None:
    """Draw the board on the left, the intervals on the right."""
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 2.3))
    _draw_rounds(left, puzzle)
    _draw_intervals(right, puzzle, knowledge)
    figure.savefig(path, dpi=130)


def _draw_rounds(axes: Axes, puzzle: Puzzle) -> None:
    for i, (guess, shown) in enumerate(zip(puzzle.guesses, puzzle.shown, strict=True)):
        y = puzzle.rounds - i
        axes.text(-0.4, y, str(i + 1), ha="center", va="center", color="#666666")
        for peg, colour in enumerate(CODES[guess]):
            axes.add_patch(Circle((0.6 + peg, y), 0.36, facecolor=COLOURS[colour], edgecolor="black", lw=0.8))
        for place, face in enumerate(_pegs(*FEEDBACKS[shown])):
            centre = (5.1 + 0.42 * (place % 2), y + 0.2 - 0.4 * (place // 2))
            axes.add_patch(Circle(centre, 0.15, facecolor=face, edgecolor="black", lw=0.8))
    axes.set(
        xlim=(-0.8, 6), ylim=(0.2, puzzle.rounds + 0.8), aspect="equal", title="answers, some of them lies"
    )
    axes.axis("off")


def _pegs(black: int, white: int) -> list[str]:
    return ["black"] * black + ["white"] * white


def _draw_intervals(axes: Axes, puzzle: Puzzle, knowledge: Knowledge) -> None:
    board = read_board(puzzle)
    true = np.exp(board.log_posterior(np.array(puzzle.lying)))
    calm = np.exp(board.log_posterior(most_entropic(knowledge).lying))
    leading = np.argsort(-true)[:LEADING]
    for y, g in zip(range(LEADING, 0, -1), leading, strict=False):
        axes.plot(_credal_interval(board, int(g)), (y + 0.13,) * 2, **_CREDAL)
        axes.plot(posterior_interval(board, knowledge, int(g)), (y - 0.13,) * 2, **_LCN)
        axes.plot(calm[g], y - 0.13, "|", color="white", ms=9, mew=2)
        axes.plot(true[g], y, "k.", ms=8)
    for label, style in _LEGEND.items():
        axes.plot([], [], label=label, **style)
    axes.set_yticks(range(LEADING, 0, -1)[: len(leading)], [_label(board, puzzle, int(g)) for g in leading])
    axes.set(xlabel="posterior probability of one code", title="what is known of the leading codes")
    axes.set_xlim(left=0)
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower right", frameon=False)


_CREDAL: dict[str, Any] = {"color": "#b8b8b8", "lw": 6, "solid_capstyle": "butt"}
_LCN: dict[str, Any] = {"color": "#2c6fbb", "lw": 6, "solid_capstyle": "butt"}
_LEGEND: dict[str, dict[str, Any]] = {
    "credal network: P(l_i) in [0.3, 0.7] only": _CREDAL,
    "LCN: with the sentences about lies (certified)": _LCN,
    "posterior under the true P(l_i)": {"color": "black", "marker": ".", "ls": ""},
    "greatest entropy": {"color": "#888888", "marker": "|", "ls": "", "ms": 9, "mew": 2},
}


def _credal_interval(board: Board, group: int) -> tuple[float, float]:
    lies, (low, high) = board.lies[group], LYING
    least = board.log_posterior(np.where(lies, low, high))[group]
    most = board.log_posterior(np.where(lies, high, low))[group]
    return float(np.exp(least)), float(np.exp(most))


def _label(board: Board, puzzle: Puzzle, group: int) -> str:
    first = int(np.flatnonzero(board.group_of == group)[0])
    more = board.size[group] - 1
    hidden = " (hidden)" if board.group_of[puzzle.hidden] == group else ""
    return show(first) + (f" and {more} more" if more else "") + hidden
