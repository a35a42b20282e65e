"""The experiment: many puzzles per seed, all methods on each, in parallel.

Input: seeds, attempts per seed, a number of processes. Output: `SeedResult`s, reproducible from the seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from rich.progress import Progress

from experiments.mastermind.board import Knowledge, knowledge_about
from experiments.mastermind.game import Puzzle, attempt
from experiments.mastermind.methods import PAPER, Outcome, evaluate

__all__ = ["SeedResult", "puzzles", "run"]

CHUNK = 25
"""Puzzles a process takes at a time."""


@dataclass(frozen=True, slots=True)
class SeedResult:
    """All outcomes of one seed, and the mean number of rounds."""

    seed: int
    outcomes: tuple[Outcome, ...]
    rounds: float

    @property
    def accuracy(self) -> dict[str, float]:
        """Return every method's accuracy in percent."""
        mean = np.mean([outcome.scores for outcome in self.outcomes], axis=0)
        return {name: 100 * float(value) for name, value in zip(PAPER, mean, strict=True)}


def puzzles(seed: int, attempts: int) -> Iterator[tuple[Puzzle, Knowledge]]:
    """Generate the puzzles of one seed; about 73 % of the attempts survive."""
    rng = np.random.default_rng(seed)
    for _ in range(attempts):
        puzzle = attempt(rng)
        if puzzle is not None:
            yield puzzle, knowledge_about(puzzle, rng)


def run(seeds: range, attempts: int, jobs: int) -> list[SeedResult]:
    """Evaluate all methods on the puzzles of all seeds, with a progress bar."""
    results = []
    with Parallel(n_jobs=jobs, return_as="generator") as pool, Progress() as progress:
        for seed in seeds:
            items = list(puzzles(seed, attempts))
            task = progress.add_task(f"seed {seed}", total=len(items))
            outcomes: list[Outcome] = []
            for done in pool(delayed(_evaluate)(chunk) for chunk in _chunks(items)):
                outcomes += done
                progress.update(task, completed=len(outcomes))
            rounds = float(np.mean([puzzle.rounds for puzzle, _ in items]))
            results.append(SeedResult(seed, tuple(outcomes), rounds))
    return results


def _evaluate(chunk: list[tuple[Puzzle, Knowledge]]) -> list[Outcome]:
    return [evaluate(puzzle, knowledge) for puzzle, knowledge in chunk]


def _chunks(items: list[tuple[Puzzle, Knowledge]]) -> Iterator[list[tuple[Puzzle, Knowledge]]]:
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]
