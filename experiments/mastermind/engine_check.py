"""A board as a Logical Credal Network in text, answered by the general engine.

Input: a puzzle with few rounds. Output: the `.lcn` text that a person would write, and the engine's
posterior interval of a code beside that of the fast path.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.mastermind.board import Board, Knowledge, parts_of, read_board
from experiments.mastermind.bounds import posterior_interval
from experiments.mastermind.game import CODES, FEEDBACKS, LYING, Puzzle, achievable, show

__all__ = ["Agreement", "compare", "compare_lies", "lcn_text", "lies_text", "opening"]

SLACK = 1e-4
"""What the engine's tolerance and the fast path's may add up to."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """One posterior on the first rounds of a board, by the fast path and by the engine."""

    rounds: int
    codes: str
    fast: tuple[float, float]
    engine: tuple[float, float]
    witnessed: tuple[float | None, float | None]
    status: str
    seconds: float

    @property
    def holds(self) -> bool:
        """Tell whether the engine's bounds enclose the fast path's interval, and its witnesses lie inside."""
        lower, upper = self.fast
        enclosed = self.engine[0] <= lower + SLACK and upper - SLACK <= self.engine[1]
        return enclosed and all(w is None or lower - SLACK <= w <= upper + SLACK for w in self.witnessed)


def opening(puzzle: Puzzle, knowledge: Knowledge, rounds: int) -> tuple[Puzzle, Knowledge]:
    """Return the first rounds of a board, and what is known about them."""
    first = Puzzle(puzzle.hidden, puzzle.guesses[:rounds], puzzle.shown[:rounds], puzzle.lying[:rounds])
    sentences = slice(rounds - 1)
    known = Knowledge(knowledge.is_or[sentences], knowledge.lower[sentences], knowledge.upper[sentences])
    return first, known


def compare(puzzle: Puzzle, knowledge: Knowledge, *, timeout: float) -> Agreement:
    """Ask the engine for the posterior of the codes that are most probable at the midpoint."""
    board = read_board(puzzle)
    parts = parts_of(puzzle, board)
    middle = board.log_posterior(np.full(board.rounds, sum(LYING) / 2))
    part = max(parts, key=lambda name: middle[board.group_of[parts[name][0]]] + np.log(len(parts[name])))
    interval = posterior_interval(board, knowledge, int(board.group_of[parts[part][0]]))
    seen = " & ".join(f"seen{i + 1}" for i in range(board.rounds))
    asked = f"P(Code = {part} | {seen})"
    return _ask(lcn_text(puzzle, knowledge), asked, f"{part}, {len(parts[part])} codes", interval,
                size=len(parts[part]), rounds=board.rounds, timeout=timeout)  # fmt: skip


def compare_lies(puzzle: Puzzle, knowledge: Knowledge, *, timeout: float) -> Agreement:
    """Ask the engine for the posterior of the most likely vector of lies, in the network without a code."""
    board = read_board(puzzle)
    weights = _weights(board)
    lies = max(weights, key=lambda vector: weights[vector])
    group = int(np.flatnonzero((board.lies == np.array(lies)).all(axis=1))[0])
    interval = posterior_interval(board, knowledge, group)
    asked = f"P({_conjunction(lies)} | board)"
    return _ask(lies_text(puzzle, knowledge), asked, "those with the likeliest lies", interval,
                size=weights[lies] / float(np.exp(board.log_weight[group])), rounds=board.rounds,
                timeout=timeout)  # fmt: skip


def _ask(
    text: str,
    asked: str,
    codes: str,
    interval: tuple[float, float],
    *,
    size: float,
    rounds: int,
    timeout: float,
) -> Agreement:
    """Answer a question from text; `size` codes share the fast path's posterior of one."""
    import credalog

    answer = credalog.parse(text).query(asked, timeout=timeout)
    return Agreement(
        rounds=rounds,
        codes=codes,
        fast=(size * interval[0], size * interval[1]),
        engine=(answer.lower, answer.upper),
        witnessed=(answer.lower_witnessed, answer.upper_witnessed),
        status=answer.status.name,
        seconds=answer.seconds,
    )


def lies_text(puzzle: Puzzle, knowledge: Knowledge) -> str:
    """Write a board as a network of the lies alone, which says how likely the board is given the lies.

    That is the total weight of the codes that imply these lies; only the proportions matter.
    """
    board = read_board(puzzle)
    weights = _weights(board)
    greatest = max(weights.values())
    others = " or ".join(f"({_conjunction(vector)})" for vector in weights)
    return "\n".join(
        [
            "# A Mastermind board whose code-maker may lie, as seen from the lies alone. Given the lies, the",
            "# board is as likely as the codes that imply them, up to a constant.",
            *(f"{LYING[0]} <= P(lie{i + 1}) <= {LYING[1]}" for i in range(board.rounds)),
            *_knowledge(knowledge),
            "",
            *(f"P(board | {_conjunction(v)}) = {weight / greatest:.12g}" for v, weight in weights.items()),
            f"P(board | !({others})) = 0",
            "",
        ]
    )


def _weights(board: Board) -> dict[tuple[bool, ...], float]:
    """Return for each vector of lies the total weight of its codes."""
    weights: dict[tuple[bool, ...], float] = {}
    for lies, size, log_weight in zip(board.lies, board.size, board.log_weight, strict=True):
        vector = tuple(bool(lie) for lie in lies)
        weights[vector] = weights.get(vector, 0.0) + float(size * np.exp(log_weight))
    return weights


def _conjunction(lies: tuple[bool, ...]) -> str:
    return " & ".join(("" if lie else "!") + f"lie{i + 1}" for i, lie in enumerate(lies))


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
    """Write one round: the feedback seen is the honest one, or a lie drawn from the possible ones.

    `P(seen1 | Code is one of many & lie1) = 1/11` would only fix an average over those codes. The variable
    Answer1, which the code determines, is what the feedback depends on.
    """
    guess, n = puzzle.guesses[i], i + 1
    black, white = FEEDBACKS[puzzle.shown[i]]
    lies = achievable(guess).size - 2
    names = [k for k, codes in parts_of(puzzle, board).items() if not board.lies[board.group_of[codes[0]], i]]
    fits = " or ".join(f"Code = {name}" for name in names)
    own = f"Code = c{show(guess)}"
    return [
        "",
        f"# Round {n}: guess {show(guess)}, answer {black} black, {white} white; {lies} lies are possible.",
        f"variable Answer{n} in {{honest, wrong, wrong_and_guessed}}",
        f"P(Answer{n} = honest | {fits}) = 1",
        f"P(Answer{n} = wrong_and_guessed | {own}) = 1",
        f"P(Answer{n} = wrong | !({fits} or {own})) = 1",
        f"P(seen{n} | Answer{n} = honest & !lie{n}) = 1",
        f"P(seen{n} | Answer{n} = honest & lie{n}) = 0",
        f"P(seen{n} | !(Answer{n} = honest) & !lie{n}) = 0",
        f"P(seen{n} | Answer{n} = wrong & lie{n}) = 1/{lies}",
        f"P(seen{n} | Answer{n} = wrong_and_guessed & lie{n}) = 1/{lies + 1}",
    ]
