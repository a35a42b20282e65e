"""A board as a Logical Credal Network in text, answered by the general engine.

Enters: a puzzle with few rounds. Leaves: the `.lcn` text that a person would write, and the engine's
posterior interval of a code beside that of the fast path.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.mastermind.board import Board, Knowledge, parts_of, read_board
from experiments.mastermind.bounds import posterior_interval
from experiments.mastermind.game import CODES, FEEDBACKS, LYING, Puzzle, achievable, show

__all__ = ["Agreement", "compare", "lcn_text"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """One posterior, by the fast path and by the engine."""

    code: str
    fast: tuple[float, float]
    engine: tuple[float, float]
    status: str
    seconds: float


def compare(puzzle: Puzzle, knowledge: Knowledge, *, timeout: float) -> Agreement:
    """Ask the engine for the posterior of the most probable part of the codes."""
    import credalog

    board = read_board(puzzle)
    parts = parts_of(puzzle, board)
    middle = board.log_posterior(np.full(board.rounds, sum(LYING) / 2))
    part = max(parts, key=lambda name: middle[board.group_of[parts[name][0]]])
    group, size = int(board.group_of[parts[part][0]]), len(parts[part])
    lower, upper = posterior_interval(board, knowledge, group)
    network = credalog.parse(lcn_text(puzzle, knowledge))
    seen = " & ".join(f"seen{i + 1}" for i in range(board.rounds))
    answer = network.query(f"P(Code = {part} | {seen})", timeout=timeout)
    return Agreement(
        part, (size * lower, size * upper), (answer.lower, answer.upper), answer.status.name, answer.seconds
    )


def lcn_text(puzzle: Puzzle, knowledge: Knowledge) -> str:
    """Write a board as a Logical Credal Network."""
    board = read_board(puzzle)
    parts = parts_of(puzzle, board)
    return "\n".join(
        [
            "# A Mastermind board whose code-maker may lie. Codes that no round tells apart form one value:",
            *(f"#   {name} = {_members(codes)}" for name, codes in parts.items()),
            f"variable Code in {{{', '.join(parts)}}}",
            *(f"P(Code = {name}) = {len(codes)}/{len(CODES)}" for name, codes in parts.items()),
            "",
            *(f"{LYING[0]} <= P(lie{i + 1}) <= {LYING[1]}" for i in range(board.rounds)),
            *_knowledge(knowledge),
            *(line for i in range(board.rounds) for line in _round(puzzle, board, i)),
            "",
        ]
    )


def _members(codes: list[int]) -> str:
    few = ", ".join(show(code) for code in codes[:6])
    return few if len(codes) <= 6 else f"{few}, ... ({len(codes)} codes)"


def _knowledge(knowledge: Knowledge) -> list[str]:
    words = np.where(knowledge.is_or, "or", "and")
    bounds = zip(knowledge.lower, words, knowledge.upper, strict=True)
    return [
        f"{lower:.3f} <= P(lie{i + 1} {word} lie{i + 2}) <= {upper:.3f} ; tau=False"
        for i, (lower, word, upper) in enumerate(bounds)
    ]


def _round(puzzle: Puzzle, board: Board, i: int) -> list[str]:
    """Write one round: the feedback seen is the honest one, or a lie drawn from the possible ones."""
    guess, n = puzzle.guesses[i], i + 1
    black, white = FEEDBACKS[puzzle.shown[i]]
    lies = achievable(guess).size - 2
    names = [k for k, codes in parts_of(puzzle, board).items() if not board.lies[board.group_of[codes[0]], i]]
    fits = "(" + " or ".join(f"Code = {name}" for name in names) + ")"
    own = f"Code = c{show(guess)}"
    return [
        "",
        f"# Round {n}: guess {show(guess)}, answer {black} black, {white} white; {lies} lies are possible.",
        f"P(seen{n} | {fits} & !lie{n}) = 1",
        f"P(seen{n} | {fits} & lie{n}) = 0",
        f"P(seen{n} | !{fits} & !lie{n}) = 0",
        f"P(seen{n} | !{fits} & !({own}) & lie{n}) = 1/{lies}",
        f"P(seen{n} | {own} & lie{n}) = 1/{lies + 1}",
    ]
