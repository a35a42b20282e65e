"""Ask Bayesian networks of the public repository, as they are and with every probability an interval.

Input: the .bif files of a folder. Output: `benchmarks/results/real.md`: all marginals of each network beside
pyAgrum's LazyPropagation in the same process; then random questions about the same networks widened, each
under a limit: how many end in time, how many are exact, how many bounds say something, and whether the point
network, which is one of the models, lies within them. Where an answer is only bounded, `--method sound` is
asked the same under the same limit: nobody should have to.
Run from the project root: python benchmarks/real.py
"""

from __future__ import annotations

import platform
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from pages import add_data, command, finish, options_of, require

from credalog import LCN, load
from credalog.errors import CredalogError
from credalog.network.formulas import Is, Variable, conjunction
from credalog.network.sentences import Query
from credalog.numbers.interval import Interval, Status
from credalog.tables.distribution import Distribution

TOLERANCE = 1e-3
ROUNDING = 1e-9
"""Two bounds so close to each other count as equal."""

WIDTHS = ("0.01", "0.02", "0.05")
MOST_OBSERVED = 4
HEAVY = 10_000_000
"""pyAgrum is not asked where a clique of its own junction tree has more cells: it takes all memory."""

HEAD = """# Bayesian networks as they are, and with every probability an interval

Command: `{command}`.
{machine}, Python {python}, on a machine shared with other work.

## All marginals

One pass over a junction tree, rounded outwards. `read` is the file, `answer` everything after it; the
ratio compares `answer` with pyAgrum's LazyPropagation on the same file in the same process, its reading not
counted. `width` is the widest of all intervals. pyAgrum is left out where it cannot read the file, or where
its tables do not fit into memory.

| network | variables | marginals | read | answer | EXACT | width | pyAgrum | ratio |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
"""

WIDENED = """
## Widened

Every probability p becomes [p - w, p + w]; what is impossible or certain stays so. {questions} random
questions, up to {most} variables observed at values that occur together, limit {limit:g} s by the clock.
`in time`: within 1.1 times the limit and a second. `within`: models attain both bounds within
{tolerance:g}. EXACT: the same, and closer at rare ends, where a part of the event's own probability is
asked for. `telling`: bounds other than [0, 1]. `hold`: the point network's own answer lies within the bounds.
`sound`: of the answers that are only bounded, how many have no end that `--method sound` bounds better
within the same limit (by more than {rounding:g}). `gap`: the widest of all.

| network | w | questions | in time | within | EXACT | telling | hold | sound | median | slowest | gap |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""


def marginals_row(path: Path) -> str:
    """Find all marginals of a network, and let pyAgrum find them too."""
    start = perf_counter()
    lcn = load(path)
    read = perf_counter() - start
    start = perf_counter()
    found = lcn.marginals(timeout=600)
    seconds = perf_counter() - start
    width = max(answer.upper - answer.lower for answer in found)
    exact = sum(answer.status is Status.EXACT for answer in found)
    theirs = by_agrum(path)
    ratio = "" if theirs is None else f"{seconds / theirs:.0f}"
    shown = "" if theirs is None else f"{theirs:.3f} s"
    return (
        f"| {path.stem} | {len(lcn.variables)} | {len(found)} | {read:.2f} s | {seconds:.2f} s "
        f"| {exact} | {width:.0e} | {shown} | {ratio} |"
    )


def by_agrum(path: Path) -> float | None:
    """Return the seconds of pyAgrum's LazyPropagation; None where it cannot be asked."""
    try:
        import pyagrum

        network = pyagrum.loadBN(str(path))
    except Exception:  # noqa: BLE001 - whatever it says of the file, there is nothing to compare with
        return None
    start = perf_counter()
    engine: Any = pyagrum.LazyPropagation(network)  # type: ignore[no-untyped-call]
    tree = engine.joinTree()
    sizes = (prod(network.variable(x).domainSize() for x in tree.clique(c)) for c in tree.nodes())
    if max(sizes) > HEAVY:
        return None
    engine.makeInference()
    for x in network.nodes():
        engine.posterior(x)
    return perf_counter() - start


@dataclass(frozen=True, slots=True)
class Subject:
    """A network as it is, its only model, and the network widened."""

    name: str
    width: str
    points: LCN
    model: Distribution
    widened: LCN

    @classmethod
    def of(cls, path: Path, width: str) -> Subject:
        """Read a network and widen it."""
        lcn = load(path)
        model = lcn.diagnose(timeout=600).model
        assert model is not None, "a Bayesian network has a model"
        return cls(path.stem, width, lcn, model, lcn.widen(by=width))

    def draw(self, rng: np.random.Generator) -> Query:
        """Draw a value of a variable, and observed ones from a world that the network allows."""
        world = self._world(rng)
        order = rng.permutation(len(self.points.variables))
        count = int(rng.integers(0, min(MOST_OBSERVED, len(order) - 1) + 1))
        target, *observed = (self.points.variables[i] for i in order[: count + 1])
        value = target.values[int(rng.integers(len(target.values)))]
        return Query(Is(target, value), conjunction(Is(x, world[x]) for x in observed))

    def _world(self, rng: np.random.Generator) -> dict[Variable, str]:
        world: dict[Variable, str] = {}
        for factor in self.model.factors:
            (x,) = factor.block
            row = factor.table[tuple(p.values.index(world[p]) for p in factor.parents)]
            world[x] = x.values[int(rng.choice(len(row), p=row / row.sum()))]
        return world

    def ask(self, query: Query, limit: float) -> Result:
        """Answer one question within a limit, and compare with the point network."""
        point = self.points.query(query, timeout=600)
        beside = None
        start = monotonic()
        try:
            answer = self.widened.query(query, timeout=limit, tolerance=TOLERANCE)
        except CredalogError as error:
            status, gap, telling, holds = type(error).__name__, np.inf, False, False
        else:
            status, gap = answer.status.name, max(answer.interval.lower.gap, answer.interval.upper.gap)
            telling = answer.lower > 0.0 or answer.upper < 1.0
            holds = answer.lower <= point.upper and point.lower <= answer.upper
        seconds = monotonic() - start
        if status == Status.BOUNDED.name:
            beside = Beside(
                answer.interval, self.widened.query(query, method="sound", timeout=limit).interval
            )
        late = seconds > 1.1 * limit + 1.0
        return Result(self, str(query), status, seconds, gap, telling, holds, not late, beside)


@dataclass(frozen=True, slots=True)
class Beside:
    """Our own bounds beside those of sound propagation."""

    ours: Interval
    sound: Interval

    @property
    def is_as_good(self) -> bool:
        """Tell whether sound propagation bounds neither end better."""
        lower = self.ours.lower.bound >= self.sound.lower.bound - ROUNDING
        return lower and self.ours.upper.bound <= self.sound.upper.bound + ROUNDING

    def __str__(self) -> str:
        return f"{self.ours}, sound {self.sound}{'' if self.is_as_good else ' BETTER'}"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one question about one widened network."""

    subject: Subject
    query: str
    status: str
    seconds: float
    gap: float
    telling: bool
    holds: bool
    in_time: bool
    beside: Beside | None = None
    """The comparison with sound propagation, where the answer is only bounded."""

    def __str__(self) -> str:
        late = "" if self.in_time else " LATE"
        wrong = "" if self.holds else " WRONG"
        return (
            f"{self.subject.name} {self.subject.width} {self.query}: {self.status}, gap {self.gap:.0e}, "
            f"{self.seconds:.1f} s{late}{wrong}{'' if self.beside is None else f'; {self.beside}'}"
        )


def row(name: str, width: str, results: Sequence[Result]) -> str:
    """Sum up the questions of one network, or of all."""
    seconds = [result.seconds for result in results]
    exact = sum(result.status == Status.EXACT.name for result in results)
    within = sum(result.gap <= TOLERANCE for result in results)
    counts = [sum(getattr(r, what) for r in results) for what in ("in_time", "telling", "holds")]
    compared = [result.beside.is_as_good for result in results if result.beside is not None]
    sound = f"{sum(compared)} of {len(compared)}" if compared else ""
    return (
        f"| {name} | {width} | {len(results)} | {counts[0]} | {within} | {exact} | {counts[1]} | {counts[2]} "
        f"| {sound} | {np.median(seconds):.2f} s | {max(seconds):.1f} s | {max(r.gap for r in results):.0e} |"
    )


def questions(paths: Sequence[Path], options: Namespace) -> Iterator[Result]:
    """Ask as many questions as wanted, shared out evenly among networks and widths."""
    cases = [(path, width) for width in WIDTHS for path in paths]
    for number, (path, width) in enumerate(cases):
        rng = np.random.default_rng([options.seed, number])
        subject = Subject.of(path, width)
        for _ in range(
            options.questions * (number + 1) // len(cases) - options.questions * number // len(cases)
        ):
            yield subject.ask(subject.draw(rng), options.limit)


def table(results: Sequence[Result]) -> list[str]:
    """Return a row for each network and width, and one for all."""
    keys = dict.fromkeys((r.subject.name, r.subject.width) for r in results)
    rows = [
        row(*key, [r for r in results if (r.subject.name, r.subject.width) == key]) for key in sorted(keys)
    ]
    return [*rows, row("all", "", results)]


def worse(results: Sequence[Result]) -> list[str]:
    """Name the answers that sound propagation bounds better."""
    found = [result for result in results if result.beside is not None and not result.beside.is_as_good]
    return ["", "Bounded better by `--method sound`:", "", *(f"- {one}" for one in found)] if found else []


def told(results: Iterator[Result]) -> Iterator[Result]:
    """Print results as they come."""
    for result in results:
        print(result, flush=True)
        yield result


def main() -> None:
    parser = options_of(__doc__)
    add_data(parser, "bif")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for one question")
    parser.add_argument("--questions", type=int, default=300, help="how many questions in all")
    parser.add_argument("--seed", type=int, default=0, help="which questions are drawn")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="only these networks")
    parser.add_argument("--part", choices=("points", "widened"), help="only one half of the page")
    options = parser.parse_args()
    paths = sorted(require(options.data).glob("*.bif"), key=lambda path: path.stat().st_size)
    paths = [path for path in paths if not options.only or path.stem in options.only]
    text = HEAD.format(command=command(), machine=platform.machine(), python=platform.python_version())
    if options.part != "widened":
        # The first question of a process imports what all need.
        load(paths[0]).marginals()
        for path in paths:
            print(line := marginals_row(path), flush=True)
            text += f"{line}\n"
    if options.part != "points":
        results = list(told(questions(paths, options)))
        head = WIDENED.format(
            questions=options.questions,
            most=MOST_OBSERVED,
            limit=options.limit,
            tolerance=TOLERANCE,
            rounding=ROUNDING,
        )
        text += "\n".join([head.rstrip("\n"), *table(results), *worse(results), ""])
    finish("real", text, parser, options)


if __name__ == "__main__":
    main()
