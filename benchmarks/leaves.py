"""Measure what a leaf of the search on cliques costs, and which share of the time the linear solver has.

Input: nothing; networks are drawn from fixed seeds. Output: a table on the terminal and, with --write,
`benchmarks/results/leaves.md`. Run from the project root, with a checkout of another version beside it:

    python benchmarks/leaves.py --before ../older --write
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import growth
import highspy
import posterior
import tightening
from pages import ROOT, command, finish, options_of

from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.proofs import Prover
from credalog.methods.cliques.search import Search
from credalog.network.sentences import Network, Query

HEAD = """# What a leaf costs

Command: `{command}`. One thread, {machine}, Python {python}.

Each question is put to the search on cliques alone (`--method factorized`) for {seconds:g} s, to be answered
at {tolerance:g}: most are not, and are searched all the time. A leaf is a box of ratios whose linear program
is solved and whose bound is proved by the trusted base. The time is that of the searches, walks to witnesses
included; the solver's share is the part of it inside `Highs.run`. `before` is another version, run in turn
with this one{before}.

| question | leaves per second before | now | times | solver's share before | now | gap before | now |
|---|---:|---:|---:|---:|---:|---:|---:|
"""

TOLERANCE = 1e-6
"""So close that most questions are not answered in time: all of it is searching."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds inside searches, those of them inside the solver, leaves, and the wider gap left."""

    seconds: float
    solver: float
    leaves: int
    gap: float

    @property
    def rate(self) -> float:
        return self.leaves / self.seconds

    @property
    def share(self) -> float:
        return self.solver / self.seconds


def drawn(atoms: int, seed: int, number: int) -> tuple[Network, Query]:
    """Return a question of `tightening`: loops, sentences on marginals, two observations."""
    network = tightening.draw(atoms, seed)
    return network, list(tightening.queries(network, 2, seed))[number]


def ladder(atoms: int) -> tuple[Network, Query]:
    """Return the posterior of a ladder with sentences on marginals."""
    network = growth.ladder(atoms)
    return network, growth.posterior(network)


def loopy(atoms: int, width: int, seed: int) -> tuple[Network, Query]:
    """Return a posterior of a loopy credal network."""
    found = posterior.draw(atoms, width, 5, seed)
    return found.network, found.query


QUESTIONS: Mapping[str, Callable[[], tuple[Network, Query]]] = {
    "12 atoms given 2, first": lambda: drawn(12, 0, 0),
    "12 atoms given 2, second": lambda: drawn(12, 1, 0),
    "16 atoms given 2": lambda: drawn(16, 0, 0),
    "ladder of 20": lambda: ladder(20),
    "ladder of 100": lambda: ladder(100),
    "30 loopy atoms of width 4": lambda: loopy(30, 4, 1),
}


class Clock:
    """Count calls of a function, and the seconds inside of it; a call inside another is not counted twice."""

    def __init__(self, owner: Any, name: str) -> None:
        self.calls, self.seconds, self._depth = 0, 0.0, 0
        self._function = getattr(owner, name)
        clock = self

        def counted(*arguments: Any, **options: Any) -> Any:
            return clock.call(*arguments, **options)

        setattr(owner, name, counted)

    def call(self, *arguments: Any, **options: Any) -> Any:
        self.calls += 1
        self._depth += 1
        began = perf_counter()
        try:
            return self._function(*arguments, **options)
        finally:
            self._depth -= 1
            if not self._depth:
                self.seconds += perf_counter() - began


def measure(name: str, seconds: float) -> Measured:
    """Ask one question in this process."""
    network, asked = QUESTIONS[name]()
    engine = Engine(network)
    searching, solving = Clock(Search, "run"), Clock(highspy.Highs, "run")
    bounding = Clock(Prover, "bound")
    answer = engine.query(asked, Options(TOLERANCE, seconds, "factorized"))
    return Measured(searching.seconds, solving.seconds, bounding.calls, tightening.gap(answer))


def measured_in(folder: Path, name: str, seconds: float) -> Measured:
    """Ask one question in a process of its own, with the sources of a version."""
    paths = [str(folder / "src"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    line = [sys.executable, __file__, "--question", name, "--seconds", str(seconds)]
    done = subprocess.run(line, env=environment, capture_output=True, check=True, text=True)
    return Measured(**json.loads(done.stdout))


def row(name: str, now: Measured, before: Measured | None) -> str:
    """Return a row of the table."""
    if before is None:
        return f"| {name} | | {now.rate:.0f} | | | {now.share:.0%} | | {now.gap:.1e} |"
    return (
        f"| {name} | {before.rate:.0f} | {now.rate:.0f} | {now.rate / before.rate:.2f}"
        f" | {before.share:.0%} | {now.share:.0%} | {before.gap:.1e} | {now.gap:.1e} |"
    )


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--before", type=Path, help="a checkout of another version, measured in turn")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each question (default %(default)s)")
    parser.add_argument("--question", choices=list(QUESTIONS), help="measure one question, as JSON")
    options = parser.parse_args()
    if options.question is not None:
        print(json.dumps(asdict(measure(options.question, options.seconds))))
        return
    rows = []
    for name in QUESTIONS:
        before = measured_in(options.before, name, options.seconds) if options.before else None
        rows.append(row(name, measured_in(ROOT, name, options.seconds), before))
        print(rows[-1], flush=True)
    older = f" (`{options.before.name}`)" if options.before else ", if a checkout of it is given (`--before`)"
    head = HEAD.format(
        command=command(),
        machine=platform.machine(),
        python=platform.python_version(),
        seconds=options.seconds,
        tolerance=TOLERANCE,
        before=older,
    )
    finish("leaves", head + "\n".join(rows) + "\n", parser, options)


if __name__ == "__main__":
    main()
