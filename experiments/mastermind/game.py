"""Mastermind with a code-maker who lies: codes, feedback, Knuth's strategy, puzzles.

Input: a random generator. Output: a `Puzzle`, the board of the paper's Algorithm 1 together with the
lying probabilities that nobody but the ground truth may see.

A code is an index into `CODES`; a feedback is an index into `FEEDBACKS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

__all__ = ["CODES", "FEEDBACK", "FEEDBACKS", "LYING", "Puzzle", "achievable", "attempt", "show"]

COLOURS, PEGS, RUNS = 6, 4, 3
LYING = (0.3, 0.7)
"""The interval of every P(l_i): drawn from it uniformly, and all that a player knows of it."""

CODES: NDArray[np.int64] = np.array(list(product(range(COLOURS), repeat=PEGS)))
"""All 1296 codes, in lexicographic order."""

FEEDBACKS = tuple(
    (black, white)
    for black in range(PEGS + 1)
    for white in range(PEGS + 1 - black)
    if (black, white) != (PEGS - 1, 1)
)
"""The 14 possible answers: pegs right in colour and place, pegs right in colour only."""

_SOLVED = FEEDBACKS.index((PEGS, 0))


def _feedback_table() -> NDArray[np.uint8]:
    black = (CODES[:, None, :] == CODES[None, :, :]).sum(axis=2)
    counts = (CODES[:, :, None] == np.arange(COLOURS)).sum(axis=1)
    common = np.minimum(counts[:, None, :], counts[None, :, :]).sum(axis=2)
    index = np.zeros((PEGS + 1, PEGS + 1), dtype=np.uint8)
    for i, pair in enumerate(FEEDBACKS):
        index[pair] = i
    return np.asarray(index[black, common - black])


FEEDBACK = _feedback_table()
"""`FEEDBACK[guess, code]` is the honest answer."""


def achievable(guess: int) -> NDArray[np.uint8]:
    """Return the feedbacks that some code gives to the guess."""
    return np.unique(FEEDBACK[guess])


def show(code: int) -> str:
    """Write a code with colours counted from 1, as Knuth does: 1122."""
    return "".join(str(colour + 1) for colour in CODES[code])


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A board: guesses and shown feedback of all rounds of three runs, and the true P(l_i)."""

    hidden: int
    guesses: tuple[int, ...]
    shown: tuple[int, ...]
    lying: tuple[float, ...]

    @property
    def rounds(self) -> int:
        """Return K, the number of rounds on the board."""
        return len(self.guesses)


def attempt(rng: np.random.Generator) -> Puzzle | None:
    """Generate one puzzle by Algorithm 1; return None where a run guesses the hidden code."""
    hidden = int(rng.integers(len(CODES)))
    rounds: list[tuple[int, int, float]] = []
    for _ in range(RUNS):
        run = _play(hidden, rng)
        if run is None:
            return None
        rounds.extend(run)
    guesses, shown, lying = zip(*rounds, strict=True)
    return Puzzle(hidden, guesses, shown, lying)


def _play(hidden: int, rng: np.random.Generator) -> list[tuple[int, int, float]] | None:
    """Play one run of Knuth's strategy until a contradiction; return None on success.

    The strategy is fixed up to names, so that colours and places are renamed at random for each run:
    three runs that all open with 1122 would say much the same thing three times.
    """
    rename = _renaming(rng)
    history: tuple[tuple[int, int], ...] = ()
    rounds = []
    while (canonical := _knuth(history)) is not None:
        guess = int(rename[canonical])
        if guess == hidden:
            return None
        probability = float(rng.uniform(*LYING))
        shown = _answer(guess, hidden, probability, rng)
        rounds.append((guess, shown, probability))
        history += ((canonical, shown),)
    return rounds


def _answer(guess: int, hidden: int, probability: float, rng: np.random.Generator) -> int:
    """Answer a guess: with the probability given by a lie, drawn uniformly from the possible lies."""
    truth = int(FEEDBACK[guess, hidden])
    if rng.random() >= probability:
        return truth
    lies = [f for f in achievable(guess) if f not in (truth, _SOLVED)]
    return int(rng.choice(lies))


def _renaming(rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random symmetry of the game as a permutation of the codes."""
    colours, places = rng.permutation(COLOURS), rng.permutation(PEGS)
    renamed = colours[CODES][:, places]
    index: NDArray[np.int64] = renamed @ COLOURS ** np.arange(PEGS - 1, -1, -1)
    return index


@cache
def _knuth(history: tuple[tuple[int, int], ...]) -> int | None:
    """Return the guess that leaves the fewest codes in the worst case; None on a contradiction.

    Ties go to a guess that may still be the code, then to the smallest number (Knuth 1976).
    """
    possible = _possible(history)
    if not possible.size:
        return None
    if possible.size == len(CODES):
        return int(np.flatnonzero((CODES == (0, 0, 1, 1)).all(axis=1))[0])
    worst = np.zeros(len(CODES), dtype=np.int64)
    for feedback in range(len(FEEDBACKS)):
        np.maximum(worst, (FEEDBACK[:, possible] == feedback).sum(axis=1), out=worst)
    best = np.flatnonzero(worst == worst.min())
    members = np.intersect1d(best, possible)
    return int((members if members.size else best)[0])


def _possible(history: tuple[tuple[int, int], ...]) -> NDArray[np.intp]:
    """Return the codes that fit every answer so far."""
    fits = np.ones(len(CODES), dtype=bool)
    for guess, shown in history:
        fits &= FEEDBACK[guess] == shown
    return np.flatnonzero(fits)
