"""Reproduce the paper's Table 2: `python -m experiments.fraud --data FOLDER`."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.fraud.bayes import Reals
from experiments.fraud.cross_check import Case, Comparison, case_of, compare, lcn_text
from experiments.fraud.methods import Evidence
from experiments.fraud.report import NOTES, Scores, page, rows
from experiments.fraud.study import READINGS, Draw, Problem, draw_tasks, evidence_of, prepare, scores
from experiments.fraud.synthetic import generate
from experiments.fraud.transactions import INPUTS, load

PATTERNS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1))
"""The cross-checked transactions: one for each of these antecedents."""


def main(arguments: list[str] | None = None) -> int:
    """Run the experiment and print the table; with --write also the results page, from the real data."""
    options = _parser().parse_args(arguments)
    console, start = Console(), time.perf_counter()
    real = (options.data / f"{INPUTS}.zip").exists()
    missing = f"There are no contest files in {options.data}: pass --data FOLDER."
    if options.write and not real:
        raise SystemExit(f"{missing} The page is written from the real data only.")
    problem = prepare(load(options.data) if real else generate(np.random.default_rng(options.seed)))
    if not real:
        console.print(missing, "Here: synthetic data, not comparable with the paper.")
    rng = np.random.default_rng(options.seed)
    draws = [draw_tasks(problem, rng) for _ in range(1 if options.quick else options.draws)]
    table = {reading: _score(problem, draws, reading, options.jobs) for reading in READINGS}
    console.print(_table(table["C1"]))
    console.print(NOTES if real else "The paper's column is not meant for these data.", markup=False)
    if options.write:
        cases = cases_of(problem, draws[0])
        (options.out / "transaction.lcn").write_text(lcn_text(cases[1]), encoding="utf-8")
        compared = [compare(case, timeout=options.timeout) for case in track(cases, "cross-checks")]
        _write(options.out, table, draws, compared, time.perf_counter() - start)
        console.print(f"Results page, figure and transaction.lcn written to {options.out}.")
    console.print(f"{time.perf_counter() - start:.0f} s")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments.fraud", description=__doc__)
    default = Path(__file__).parents[3] / "shared" / "data" / "ucsd-fico"
    said = "the folder with the contest's zip files (default %(default)s)"
    parser.add_argument("--data", type=Path, default=default, help=said)
    parser.add_argument("--draws", type=int, default=60, help="draws of ten tasks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for each cross-checked query")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="where the page is written")
    parser.add_argument("--quick", action="store_true", help="one draw of ten tasks")
    parser.add_argument("--write", action="store_true", help="write the results page, figure and example")
    return parser


def _score(problem: Problem, draws: list[Draw], reading: str, jobs: int) -> Scores:
    """Score all methods on all draws under one reading, with a progress bar."""
    pool = Parallel(n_jobs=jobs, return_as="generator")
    found = pool(delayed(scores)(problem, draw, reading) for draw in draws)
    results: list[dict[str, Reals]] = list(track(found, f"reading {reading}", total=len(draws)))
    return {name: [result[name] for result in results] for name in results[0]}


def _table(table: Scores) -> Table:
    shown = Table(
        "Method",
        "Paper",
        "Ten tasks",
        "Distance",
        "All draws",
        "Distance",
        title="F1 scores, fraud detection",
    )
    for row in rows(table):
        shown.add_row(*row.printed)
    return shown


def cases_of(problem: Problem, draw: Draw) -> list[Case]:
    """Pick from the first task one test transaction for each pattern of antecedents."""
    task = draw.tasks[0]
    evidence, bayes = evidence_of(problem, draw, task)
    places, cases = np.flatnonzero(task.test), []
    for pattern in PATTERNS:
        i = int(np.flatnonzero((evidence.holds == np.array(pattern, dtype=bool)).all(axis=1))[0])
        one = slice(i, i + 1)
        alone = Evidence(
            evidence.log_ratio[one], evidence.holds[one], evidence.prior, evidence.lower, evidence.upper
        )
        cases.append(case_of(problem.transactions, int(places[i]), bayes, alone))
    return cases


def _write(
    out: Path, table: dict[str, Scores], draws: list[Draw], compared: list[Comparison], seconds: float
) -> None:
    from experiments.fraud.figure import draw

    command = shlex.join(["python", "-m", "experiments.fraud", *sys.argv[1:]])
    (out / "RESULTS.md").write_text(page(table, draws, compared, (command, seconds)), encoding="utf-8")
    draw(rows(table["C1"]), out / "scores.png")


if __name__ == "__main__":
    raise SystemExit(main())
