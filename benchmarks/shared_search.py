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
from concurrent.futures import wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Timer
from time import monotonic, process_time, sleep

import growth
import posterior
from pages import command, finish, options_of

from credalog.methods.answer import Answer, Options, Progress
from credalog.methods.automatic import Engine
from credalog.network.sentences import Network, Query
from credalog.program.workers import Workers, import_all, of_processes

HEAD = """# One search tree, several processes

Command: `{command}`. {machine}, Python {python}, {cores} processors. Each question is asked until it is EXACT
at its tolerance, for {timeout:g} s at most, by the `factorized` method. `busy` are seconds of the processor:
of the process that asks, which works alone first and then proves what the others found, and of each of the
others. `killed`: one of the two is ended by `kill -9` after {kill:g} s; what it was busy with is lost. The
processes are started before the clock. The speed-up by busy seconds is what one process takes, divided by
what the one that asks and the busiest of the others take together: as if all that the first does had to be
waited for. It does not depend on what else the machine does; the speed-up by the clock does.

| question | processes | seconds | busy | leaves | lower | upper | status | by clock | by busy seconds |
|---|---:|---:|---|---:|---:|---:|---|---:|---:|
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of one network, and how closely it is to be answered."""

    name: str
    network: Network
    query: Query
    tolerance: float


@dataclass(frozen=True, slots=True)
class Run:
    """What a question took: seconds by the clock, of this process, and of each of the others."""

    answer: Answer
    seconds: float
    own: float
    others: tuple[float, ...]
    leaves: int

    @property
    def longest(self) -> float:
        """Return the busy seconds of which none can be spent while others are."""
        return self.own + max(self.others, default=0.0)


def questions() -> Iterator[Asked]:
    """Yield loopy networks of width 4, and a ladder with sentences on marginals."""
    wide = posterior.draw(50, 4, 5, 0)
    yield Asked("50 atoms of width 4, 5 observed, 0.0005", wide.network, wide.query, 5e-4)
    small = posterior.draw(30, 4, 5, 1)
    yield Asked("30 atoms of width 4, 5 observed, 0.0001", small.network, small.query, 1e-4)
    ladder = growth.ladder(500)
    yield Asked("ladder of 500, marginals too, 0.0001", ladder, growth.posterior(ladder), 1e-4)


def started(count: int) -> tuple[Workers, list[int]]:
    """Return processes that have imported all they need, and their numbers."""
    workers = of_processes(count)
    wait([workers.submit(sleep, 1.0) for _ in range(count)])
    wait([workers.submit(import_all) for _ in range(count)])
    return workers, list(getattr(workers._executor, "_processes", {}))


def busy(number: int) -> float:
    """Return the seconds that a process has been busy; 0 where it is gone, or the system does not say."""
    try:
        words = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / float(os.sysconf("SC_CLK_TCK"))


def killed(number: int, after: float) -> Timer:
    """Kill a process after a while."""
    timer = Timer(after, os.kill, (number, signal.SIGKILL))
    timer.daemon = True
    timer.start()
    return timer


def run(asked: Asked, timeout: float, *, count: int = 1, kill: float | None = None) -> Run:
    """Ask once."""
    heard: list[Progress] = []
    workers, numbers = started(count) if count > 1 else (None, [])
    before, began, own = [busy(n) for n in numbers], monotonic(), process_time()
    timer = killed(numbers[0], kill) if kill is not None else None
    options = Options(asked.tolerance, timeout, "factorized", report=heard.append, workers=workers)
    answer = Engine(asked.network).query(asked.query, options)
    seconds, own = monotonic() - began, process_time() - own
    if timer is not None:
        timer.cancel()
    others = tuple(max(busy(n) - b, 0.0) for n, b in zip(numbers, before, strict=True))
    return Run(answer, seconds, own, others if kill is None else (), heard[-1].leaves)


def row(asked: Asked, name: str, found: Run, alone: Run) -> str:
    """Return a row of the table."""
    answer, is_whole = found.answer, bool(found.others)
    by_clock = f"{alone.seconds / found.seconds:.2f}" if found is not alone else ""
    by_busy = f"{alone.own / found.longest:.2f}" if is_whole else ""
    spent = " + ".join(f"{part:.1f}" for part in (found.own, *found.others))
    return (
        f"| {asked.name} | {name} | {found.seconds:.1f} | {spent} | {found.leaves}"
        f" | {answer.lower:.5f} | {answer.upper:.5f} | {answer.status.name} | {by_clock} | {by_busy} |"
    )


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one query")
    parser.add_argument("--kill", type=float, default=3.0, help="when one process is killed")
    parser.add_argument("--questions", type=int, default=3, help="how many of the questions")
    chosen = parser.parse_args()
    rows = list[str]()
    for asked in islice(questions(), chosen.questions):
        alone = run(asked, chosen.timeout)
        rows.append(row(asked, "1", alone, alone))
        rows.append(row(asked, "2", run(asked, chosen.timeout, count=2), alone))
        rows.append(row(asked, "2, killed", run(asked, chosen.timeout, count=2, kill=chosen.kill), alone))
    head = HEAD.format(
        command=command(),
        machine=platform.machine(),
        python=platform.python_version(),
        cores=os.cpu_count(),
        timeout=chosen.timeout,
        kill=chosen.kill,
    )
    finish("shared_search", head + "\n".join([*rows, ""]), parser, chosen)


if __name__ == "__main__":
    main()
