"""Let one process and two explore the same search trees, and kill one of them in the middle.

Input: nothing; networks are drawn from fixed seeds. Output: a table on the terminal and, with --write,
`benchmarks/results/shared_search.md`. Run from the project root:

    python benchmarks/shared_search.py --write
"""

from __future__ import annotations

import os
import platform
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Timer
from time import monotonic

import growth
import posterior
import tightening
from pages import command, finish, options_of

from credalog.methods.answer import Answer, Options, Progress
from credalog.methods.automatic import Engine
from credalog.network.sentences import Network, Query
from credalog.program.workers import Workers, of_processes

HEAD = """# One search tree, several processes

Command: `{command}`. {machine}, Python {python}, {cores} processors, shared with other work. Seconds by the
clock, at most {timeout:g} for a query, which ends early where it is EXACT at {tolerance:g}; leaves of all
processes together. The `factorized` method in all cases. `killed`: one of the two processes is ended by
`kill -9` after {kill:g} s. Every bound is proved by the process that asks. The last column is the distance of
bound and attained value, the greater of both ends.

| question | processes | seconds | leaves | leaves/s | lower | upper | gap |
|---|---:|---:|---:|---:|---:|---:|---:|
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of one network."""

    name: str
    network: Network
    query: Query


def questions() -> Iterator[Asked]:
    """Yield a ladder, a network with sentences on marginals and loops, and a loopy one of width 4."""
    ladder = growth.ladder(200)
    yield Asked("ladder of 200 with sentences on marginals", ladder, growth.posterior(ladder))
    tight = tightening.draw(12, 0)
    yield Asked("12 atoms given 2, with marginals", tight, next(iter(tightening.queries(tight, 2, 0))))
    loopy = posterior.draw(50, 4, 5, 0)
    yield Asked("50 atoms of width 4, 5 observed", loopy.network, loopy.query)


def killed(workers: Workers, after: float) -> Timer:
    """Kill one process after a while."""

    def kill() -> None:
        for pid in list(getattr(workers._executor, "_processes", {})):
            os.kill(pid, signal.SIGKILL)
            return

    timer = Timer(after, kill)
    timer.daemon = True
    timer.start()
    return timer


def run(asked: Asked, name: str, workers: Workers | None, options: Options) -> str:
    """Ask once, and return a row of the table."""
    heard: list[Progress] = []
    began = monotonic()
    limited = Options(options.tolerance, options.timeout, "factorized", report=heard.append, workers=workers)
    answer = Engine(asked.network).query(asked.query, limited)
    return row(asked, name, answer, monotonic() - began, heard[-1].leaves)


def row(asked: Asked, name: str, answer: Answer, seconds: float, leaves: int) -> str:
    gap = max(answer.interval.lower.gap, answer.interval.upper.gap)
    return (
        f"| {asked.name} | {name} | {seconds:.1f} | {leaves} | {leaves / seconds:.1f}"
        f" | {answer.lower:.5f} | {answer.upper:.5f} | {gap:.4f} |"
    )


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds for one query")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="the gap that counts as exact")
    parser.add_argument("--kill", type=float, default=6.0, help="when one process is killed")
    chosen = parser.parse_args()
    options, rows = Options(chosen.tolerance, chosen.timeout), list[str]()
    for asked in questions():
        rows.append(run(asked, "1", None, options))
        rows.append(run(asked, "2", of_processes(2), options))
        workers = of_processes(2)
        timer = killed(workers, chosen.kill)
        rows.append(run(asked, "2, killed", workers, options))
        timer.cancel()
    head = HEAD.format(
        command=command(),
        machine=platform.machine(),
        python=platform.python_version(),
        cores=os.cpu_count(),
        timeout=chosen.timeout,
        tolerance=chosen.tolerance,
        kill=chosen.kill,
    )
    finish("shared_search", head + "\n".join([*rows, ""]), parser, chosen)


if __name__ == "__main__":
    main()
