"""Many questions: the speed of a loop and of batches, with one worker and with two, and what a batch adds.

Input: a network of the public .lcn benchmarks, where it is at hand, and small random networks. Output:
`benchmarks/results/scale`. Run from the project root: python benchmarks/scale.py --write
"""

from __future__ import annotations

import platform
import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from pages import add_data, command, finish, options_of, require

import credalog
from credalog.batches.answering import Settings
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

{loop:,} of them were asked by a loop over `model.query` as well, in this process.

| | questions per second | seconds each | added per question | workers one can feed | efficiency |
|---|---:|---:|---:|---:|---:|
"""

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
    """Measure a pool whose workers have read the model and all they import."""
    timed(catalogue, list(items_of(questions[:WARMING])), pool, began=perf_counter())
    return timed(catalogue, list(items_of(questions)), pool, began=perf_counter())


def loop(model: credalog.LCN, questions: list[str]) -> float:
    """Return the seconds of one question after the other."""
    for asked in questions[:WARMING]:
        model.query(asked)
    began = perf_counter()
    for asked in questions:
        model.query(asked)
    return (perf_counter() - began) / len(questions)


def rows(model: credalog.LCN, questions: list[str], looped: int) -> Iterator[str]:
    """Yield the lines of the table of pairs."""
    each = loop(model, questions[:looped])
    yield f"| a loop over `model.query` | {1 / each:.0f} | {each:.4f} | | | |"
    catalogue = OneModel(model)
    found: dict[tuple[str, int], Timed] = {}
    for workers in (1, 2):
        with closing(Processes(workers, *catalogue.shared)) as pool:
            found["--jobs", workers] = warmed(catalogue, questions, pool)
    for workers in (1, 2):
        with local_client(workers) as client, closing(Cluster(client, *catalogue.shared)) as pool:
            found["--cluster local:", workers] = warmed(catalogue, questions, pool)
    for (name, workers), one in found.items():
        efficiency = "" if workers == 1 else f"{100 * one.rate / (workers * found[name, 1].rate):.0f} %"
        label = f"`{name}{'' if name.endswith(':') else ' '}{workers}`"
        cells = f"{one.rate:.0f} | {one.worked / one.count:.4f} | {1e3 * one.added:.2f} ms"
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
    parser.add_argument("--networks", type=int, default=10_000, help="small networks")
    options = parser.parse_args()
    path = require(options.data) / NETWORK
    model = credalog.load(path)
    # There are some 59,000 pairs of six forms; beyond that they are asked again.
    distinct = list(pairs([v.name for v in model.variables]))
    questions = list(islice((q for _ in iter(int, 1) for q in distinct), options.questions))
    header = HEADER.format(
        command=command(),
        machine=platform.machine(),
        python=platform.python_version(),
        pairs=options.questions,
        loop=options.loop,
        network=path.stem,
    )
    table = "\n".join(rows(model, questions, options.loop))
    finish("scale", f"{header}{table}\n{networks(options.networks)}", parser, options)


if __name__ == "__main__":
    main()
