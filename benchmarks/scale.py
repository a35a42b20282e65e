"""Many questions: the speed of a loop and of batches, with one worker and with two, and what a batch adds.

Input: a network of the public .lcn benchmarks, where it is at hand, and small random networks. Output:
`benchmarks/results/scale`. Run from the project root: python benchmarks/scale.py --write
"""

from __future__ import annotations

import json
import os
import platform
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from pages import add_data, command, finish, options_of, require

import credalog
from credalog.batches.answering import Settings, meaning
from credalog.batches.asking import Batch
from credalog.batches.catalogue import Catalogue, Folder, OneModel
from credalog.batches.cluster import Cluster, local_client
from credalog.batches.items import Item, items_of
from credalog.batches.pools import Pool, Processes

NETWORK = "benchmarks/dag_large_fr/dag_fr_tw3_n100_1.lcn"
FORMS = (
    "P({x} | {y})",
    "P({x} | !{y})",
    "P({x} and {y})",
    "P({x} and !{y})",
    "P({x} or {y})",
    "P(!{x} | {y})",
)
WARMING = 40
"""So many questions are asked before the clock starts, by every pool."""

HEADER = """# Many questions

Command: `{command}`. {machine}, Python {python}; one thread for each worker.
Seconds are those of a clock: on a machine that does other work, too, two workers have less than twice the
processor.

## {pairs:,} questions about pairs of {network}

They are {texts:,} texts, asked again from the first on, with {meanings:,} meanings: P(!x | y) is one minus
P(x | y), and P(x and y) is P(y and x). A worker answers each meaning once while it remembers it. A loop over
`model.query` in this process answers whatever it is asked, here {loop:,} of them; a batch is asked {once:,}
as well, each of a meaning of its own. `times` is by how much a row is faster than that loop; {before}

| | questions per second | times | seconds each | added per question | workers one can feed | efficiency |
|---|---:|---:|---:|---:|---:|---:|
"""

MEASURED = "after the stroke, than the loop of {name}, which takes {older:.4f} s for each."
NOT_MEASURED = "that of another version was not measured (`--before FOLDER`)."

OLDER = """
import json, sys, time
import credalog
given = json.load(sys.stdin)
model = credalog.load(given["path"])
for asked in given["questions"][:given["warming"]]:
    model.query(asked)
began = time.perf_counter()
for asked in given["questions"]:
    model.query(asked)
print((time.perf_counter() - began) / len(given["questions"]))
"""
"""A loop over questions, by whatever version of the library is on the path."""

SMALL = """
## One question of each of {count:,} networks of 7 to 12 atoms

{start:.1f} s until the first answer, {rest:.1f} s for all others, {rate:.0f} networks per second by one
process: the start is {share:.1f} % of it.
"""


@dataclass(frozen=True, slots=True)
class Timed:
    """How long a batch took, from the first answer on.

    `worked` is what the questions themselves took, `beside` what workers did between them, and `sharing` the
    processor's time of the process that shares them out, a scheduler of Dask included.
    """

    count: int
    start: float
    seconds: float
    worked: float
    beside: float
    sharing: float

    @property
    def rate(self) -> float:
        return self.count / self.seconds

    @property
    def added(self) -> float:
        """Return what a question costs beside the work on it."""
        return (self.beside + self.sharing) / self.count

    @property
    def most_workers(self) -> float:
        """Return how many workers the process that shares out can keep busy."""
        return self.worked / self.sharing


def pairs(names: list[str], seed: int = 1) -> Iterator[str]:
    """Yield questions about pairs, form by form in a random order of pairs, none twice."""
    luck, seen = random.Random(seed), set[str]()
    while len(seen) < len(FORMS) * len(names) * (len(names) - 1):
        x, y = luck.sample(names, 2)
        asked = luck.choice(FORMS).format(x=x, y=y)
        if asked not in seen:
            seen.add(asked)
            yield asked


def small_network(seed: int) -> str:
    """Write a random network of 7 to 12 atoms, each with up to two parents."""
    luck, lines = random.Random(seed), list[str]()
    for number in range(luck.randint(7, 12)):
        parents = luck.sample(range(number), min(number, luck.randint(0, 2)))
        for states in range(2 ** len(parents)):
            literals = (f"{'' if states >> i & 1 else '!'}x{p}" for i, p in enumerate(parents))
            given = " | " + " and ".join(literals) if parents else ""
            low = luck.uniform(0.05, 0.7)
            lines.append(f"{low:.3f} <= P(x{number}{given}) <= {low + luck.uniform(0.02, 0.2):.3f}")
    return "\n".join(lines)


def timed(catalogue: Catalogue, items: list[Item], pool: Pool, *, began: float) -> Timed:
    """Ask all questions; the clock starts with the first answer."""
    batch, worked, count, first, before = Batch.of(catalogue, items, Settings()), 0.0, 0, began, 0.0
    for outcome in batch.outcomes(pool):
        if not count:
            first, before = perf_counter(), process_time()
        worked += outcome.seconds
        count += 1
    beside, sharing = batch.speed.worked - worked, process_time() - before
    return Timed(count, first - began, perf_counter() - first, worked, beside, sharing)


def warmed(catalogue: Catalogue, questions: list[str], pool: Pool) -> Timed:
    """Measure a pool whose workers have read the model and all they import; that is not measured."""
    timed(catalogue, list(items_of(questions[:WARMING])), pool, began=perf_counter())
    return timed(catalogue, list(items_of(questions[WARMING:])), pool, began=perf_counter())


def loop(model: credalog.LCN, questions: list[str]) -> float:
    """Return the seconds of one question after the other."""
    for asked in questions[:WARMING]:
        model.query(asked)
    began = perf_counter()
    for asked in questions:
        model.query(asked)
    return (perf_counter() - began) / len(questions)


def loop_before(folder: Path, path: Path, questions: list[str]) -> float:
    """Return the seconds of one question after the other by another version, whose sources are at hand."""
    given = {"path": str(path.resolve()), "questions": questions, "warming": WARMING}
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    script = [sys.executable, "-c", OLDER]
    done = subprocess.run(
        script, input=json.dumps(given), env=environment, capture_output=True, check=True, text=True
    )
    return float(done.stdout)


def with_meanings_of_their_own(model: credalog.LCN, questions: list[str]) -> list[str]:
    """Return the first question of each meaning."""
    found: dict[object, str] = {}
    for asked in questions:
        named = meaning(model.posed(asked))
        found.setdefault(asked if named is None else named[0], asked)
    return list(found.values())


def rows(
    model: credalog.LCN, questions: list[str], once: list[str], *, each: float, older: float | None
) -> Iterator[str]:
    """Yield the lines of the table of pairs, beside loops that took so many seconds for each."""
    yield f"| a loop over `model.query` | {1 / each:.0f} | 1.0 | {each:.4f} | | | |"
    catalogue = OneModel(model)
    found: dict[tuple[str, int], Timed] = {}
    with closing(Processes(1, *catalogue.shared)) as pool:
        found["each meaning once, --jobs", 1] = warmed(catalogue, once, pool)
    for workers in (1, 2):
        with closing(Processes(workers, *catalogue.shared)) as pool:
            found["--jobs", workers] = warmed(catalogue, questions, pool)
    for workers in (1, 2):
        with local_client(workers) as client, closing(Cluster(client, *catalogue.shared)) as pool:
            found["--cluster local:", workers] = warmed(catalogue, questions, pool)
    for (name, workers), one in found.items():
        efficiency = "" if workers == 1 else f"{100 * one.rate / (workers * found[name, 1].rate):.0f} %"
        label = f"`{name}{'' if name.endswith(':') else ' '}{workers}`"
        times = " / ".join(f"{one.rate * seconds:.1f}" for seconds in (each, older) if seconds)
        cells = f"{one.rate:.0f} | {times} | {one.worked / one.count:.4f} | {1e3 * one.added:.2f} ms"
        cells += f" | {one.most_workers:.0f} | {efficiency}"
        yield f"| {label} | {cells} |"


def networks(count: int) -> str:
    """Measure one question of each of many networks, files of a folder."""
    with TemporaryDirectory() as folder:
        for seed in range(count):
            (Path(folder) / f"n{seed:05}.lcn").write_text(small_network(seed), encoding="utf-8")
        began = perf_counter()
        with closing(Processes(1)) as pool:
            one = timed(Folder(folder), [Item(1, "P(x6 | x2)")], pool, began=began)
    share = 100.0 * one.start / (one.start + one.seconds)
    return SMALL.format(count=count, start=one.start, rest=one.seconds, rate=one.rate, share=share)


def main() -> None:
    parser = options_of(__doc__)
    add_data(parser, "lcn")
    parser.add_argument("--questions", type=int, default=100_000, help="questions about pairs")
    parser.add_argument("--loop", type=int, default=1_000, help="how many of them a loop asks, too")
    parser.add_argument("--once", type=int, default=4_000, help="of how many each meaning is asked once, too")
    parser.add_argument(
        "--before", type=Path, help="a checkout of another version, whose loop is measured, too"
    )
    parser.add_argument("--networks", type=int, default=10_000, help="small networks")
    options = parser.parse_args()
    path = require(options.data) / NETWORK
    model = credalog.load(path)
    # There are some 59,000 pairs of six forms; beyond that they are asked again.
    distinct = list(pairs([v.name for v in model.variables]))
    questions = list(islice((q for _ in iter(int, 1) for q in distinct), options.questions))
    once = with_meanings_of_their_own(model, distinct[: options.once])
    sample = questions[: options.loop]
    each = loop(model, sample)
    older = loop_before(options.before, path, sample) if options.before else None
    header = HEADER.format(
        texts=min(len(distinct), options.questions),
        meanings=len(with_meanings_of_their_own(model, distinct[: options.questions])),
        once=len(once),
        before=NOT_MEASURED if older is None else MEASURED.format(name=options.before.name, older=older),
        command=command(),
        machine=platform.machine(),
        python=platform.python_version(),
        pairs=options.questions,
        loop=options.loop,
        network=path.stem,
    )
    table = "\n".join(rows(model, questions, once, each=each, older=older))
    finish("scale", f"{header}{table}\n{networks(options.networks)}", parser, options)


if __name__ == "__main__":
    main()
