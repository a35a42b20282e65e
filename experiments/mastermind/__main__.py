"""Reproduce the paper's Table 1: `python -m experiments.mastermind --seeds 10 --jobs 2`."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments.mastermind.board import Knowledge, read_board
from experiments.mastermind.engine_check import (
    Agreement,
    compare,
    compare_lies,
    lcn_text,
    lies_text,
    opening,
)
from experiments.mastermind.game import Puzzle
from experiments.mastermind.methods import PAPER, evaluate
from experiments.mastermind.problog_check import largest_difference
from experiments.mastermind.report import Checks, page, rows
from experiments.mastermind.study import SeedResult, puzzles, run

QUICK_ATTEMPTS = 100
PROBLOG_GROUPS = 60
"""ProbLog is asked about boards with at most so many groups of codes: a second each."""


def main(arguments: list[str] | None = None) -> int:
    """Run the experiment and print the table; with --write also the results page."""
    options = _parser().parse_args(arguments)
    start = time.perf_counter()
    seeds = range(1 if options.quick else options.seeds)
    attempts = QUICK_ATTEMPTS if options.quick else options.attempts
    results = run(seeds, attempts, options.jobs)
    seconds = time.perf_counter() - start
    console = Console()
    console.print(_table(results))
    problog = tuple(largest_difference(puzzle) for puzzle in _small_boards(2 if options.quick else 12))
    console.print(f"ProbLog is within {max(problog):.0e} of the closed form on {len(problog)} boards.")
    if options.write:
        checks = Checks(problog, _ask_engine(options.out, options.timeout), options.jobs, seconds)
        (options.out / "RESULTS.md").write_text(page(results, checks, _command()), encoding="utf-8")
        _draw(options.out / "board.png")
        console.print(f"Results page, figure and puzzle.lcn written to {options.out}.")
    console.print(f"{time.perf_counter() - start:.0f} s")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments.mastermind", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds, counted from 0")
    parser.add_argument("--attempts", type=int, default=1000, help="attempts per seed; about 73 %% survive")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for the general engine")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="where the page is written")
    parser.add_argument("--quick", action="store_true", help="one seed of 100 attempts")
    parser.add_argument("--write", action="store_true", help="write the results page, figure and examples")
    return parser


def _command() -> str:
    return shlex.join(["python", "-m", "experiments.mastermind", *sys.argv[1:]])


def _table(results: list[SeedResult]) -> Table:
    table = Table("Method", "Paper", "Here", "Distance", title="Accuracy on Mastermind puzzles, percent")
    for row in rows(results):
        table.add_row(*row.printed)
    return table


def _small_boards(count: int) -> list[Puzzle]:
    """Return the first boards of seed 0 that ProbLog answers quickly."""
    small = (puzzle for puzzle, _ in puzzles(0, 1000) if read_board(puzzle).groups <= PROBLOG_GROUPS)
    return [puzzle for puzzle, _ in zip(small, range(count), strict=False)]


def _shortest() -> tuple[Puzzle, Knowledge]:
    """Return the smallest board of seed 0, its knowledge rounded as a person would write it."""
    puzzle, knowledge = min(
        puzzles(0, 300), key=lambda item: (item[0].rounds, len(set(read_board(item[0]).group_of)))
    )
    return puzzle, knowledge.rounded(3)


def _ask_engine(out: Path, timeout: float) -> list[Agreement]:
    """Write the smallest board as text, and ask the engine about its first rounds and about all of them."""
    puzzle, knowledge = _shortest()
    (out / "puzzle.lcn").write_text(lcn_text(puzzle, knowledge), encoding="utf-8")
    (out / "puzzle_lies.lcn").write_text(lies_text(puzzle, knowledge), encoding="utf-8")
    openings = [opening(puzzle, knowledge, rounds) for rounds in (2, 3, puzzle.rounds)]
    whole = compare_lies(puzzle, knowledge, timeout=timeout)
    return [*(compare(*part, timeout=timeout) for part in openings), whole]


def _draw(path: Path) -> None:
    """Draw the first board of seed 0 that the knowledge decides: midpoints err, all LCN rows are right."""
    from experiments.mastermind.figure import draw

    names = list(PAPER)
    for puzzle, knowledge in puzzles(0, 1000):
        score = dict(zip(names, evaluate(puzzle, knowledge).scores, strict=True))
        if score["Bayesian_midpoint"] == 0 and all(score[n] == 1 for n in names if n.startswith("LCN")):
            draw(puzzle, knowledge, path)
            return


if __name__ == "__main__":
    raise SystemExit(main())
