"""Best explanations on published and random networks: whether and how soon the best is proved.

Input: the public .lcn benchmarks, where they are at hand, and random credal trees. Output:
`benchmarks/results/map.md`. Run from the project root: python benchmarks/map.py
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
from pages import add_data, command, finish, options_of, require

from credalog import load
from credalog.errors import CredalogError
from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.network.formulas import Formula, Is, Not, Variable, conjunction
from credalog.network.sentences import Network, Sentence
from credalog.questions.map import BestAssignments, Criterion, best_assignments

PUBLISHED = (
    *(
        f"{kind}_small_fr/{name}_n{n}_1"
        for kind, name in (("polytree", "polytree_fr"), ("dag", "dag_fr_tw3"), ("ktree", "ktree_fr_k3"))
        for n in (5, 8, 10)
    ),
    "real/cancer",
    "real/asia_consistent",
    "real/credit_consistent",
    "polytree_large_fr/polytree_fr_n20_1",
    "polytree_large_fr/polytree_fr_n30_1",
    "polytree_large_fr/polytree_fr_n50_1",
    "dag_large_fr/dag_fr_tw3_n20_1",
    "dag_large_fr/dag_fr_tw3_n30_1",
    "chain/chain_n10_1",
)

LARGE = (
    "polytree_large_fr/polytree_fr_n100_1",
    "dag_large_fr/dag_fr_tw3_n40_1",
    "dag_large_fr/dag_fr_tw3_n50_1",
    "dag_large_fr/dag_fr_tw3_n100_1",
    "ktree_large_fr/ktree_fr_k3_n50_2",
    "ktree_large_fr/ktree_fr_k3_n100_1",
)
"""Of these only full MAPs are asked."""


@dataclass(frozen=True, slots=True)
class Task:
    """A network, what is observed, and how many variables are assigned (None: all others)."""

    name: str
    network: Network
    observed: int
    chosen: int | None

    def run(self, criterion: Criterion, seconds: float) -> BestAssignments:
        """Observe the first variables of a fixed shuffle to be true, and explain the next."""
        variables = self.network.variables
        shuffled = [variables[i] for i in np.random.default_rng(0).permutation(len(variables))]
        given = conjunction(Is(v, v.values[-1]) for v in shuffled[: self.observed])
        end = None if self.chosen is None else self.observed + self.chosen
        chosen = shuffled[self.observed : end]
        options = Options(timeout=seconds)
        return best_assignments(Engine(self.network), chosen, given, options, criterion=criterion)

    @property
    def kind(self) -> str:
        """Say what is asked."""
        what = "all" if self.chosen is None else str(self.chosen)
        return f"{what} given {self.observed}" if self.observed else what


def random_tree(rng: np.random.Generator, size: int, width: float = 0.2) -> Network:
    """Draw a credal polytree: one or two parents each, every table complete, intervals of one width."""
    variables = tuple(Variable(f"x{i}") for i in range(size))
    sentences: list[Sentence] = []
    roots = 1
    for i, child in enumerate(variables):
        parents: list[Variable] = [variables[int(rng.integers(max(0, i - 6), i))]] if i else []
        if i % 5 == 4:
            # A fresh root of its own keeps the graph a polytree.
            root = Variable(f"r{roots}")
            roots += 1
            sentences += _table(rng, root, [], width)
            parents.append(root)
        sentences += _table(rng, child, parents, width)
    mentioned = dict.fromkeys(v for s in sentences for v in s.scope)
    return Network(tuple(mentioned), tuple(sentences))


def _table(
    rng: np.random.Generator, child: Variable, parents: list[Variable], width: float
) -> Iterator[Sentence]:
    for values in product((False, True), repeat=len(parents)):
        literals = (Is(p) if value else Not(Is(p)) for p, value in zip(parents, values, strict=True))
        given: Formula = conjunction(literals)
        lower = Fraction(int(rng.integers(2, int(98 - 100 * width))), 100)
        yield Sentence.of(Is(child), lower, lower + Fraction(str(width)), given=given)


def tasks(folder: Path) -> Iterator[Task]:
    """Yield every task of the benchmark."""
    for name in PUBLISHED:
        path = folder / f"{name}.lcn"
        network = load(path).ground()
        half = len(network.variables) // 2
        for observed, chosen in ((0, None), (2, None), (0, min(half, 10)), (2, min(half, 10))):
            yield Task(path.stem, network, observed, chosen)
    for name in LARGE:
        path = folder / f"{name}.lcn"
        network = load(path).ground()
        for observed in (0, 2):
            yield Task(path.stem, network, observed, None)
    for size in (8, 15, 20, 25, 33):
        network = random_tree(np.random.default_rng(size), size)
        name = f"random polytree of {len(network.variables)}"
        for observed, chosen in ((0, None), (3, None), (3, 8)):
            yield Task(name, network, observed, chosen)


def _row(task: Task, criterion: Criterion, seconds: float) -> str:
    cells = [task.name, str(len(task.network.variables)), task.kind, criterion.value]
    try:
        found = task.run(criterion, seconds)
    except CredalogError as error:
        return f"| {' | '.join([*cells, '', error.message, '', '', ''])} |"
    score = "" if found.best is None else f"{found.best.score_lower:.6g}"
    verdict = "proved" if found.is_proved else f"gap {found.gap:.2g}"
    tied = f"{len(found.ties(1e-4))}{'' if found.is_complete else '+'}"
    return f"| {' | '.join([*cells, score, verdict, tied, str(found.nodes), f'{found.seconds:.2f}'])} |"


HEADER = """# Best explanations

Command: `{command}`, at most {seconds:g} s for each task. One process, one thread, {machine}, Python
{python}. The cores were shared with other work, so times are upper bounds. "all given 2" is a full MAP with
two variables observed to be true (the first of a fixed shuffle), "4" a marginal MAP of four variables.
*tied*: assignments within 1e-4 of the best, relative; a plus says that more than are listed may tie.
*nodes*: partial assignments taken up. A gap says by how much another assignment might still be better when
the time ran out.

Many of the published random networks leave most conditional probabilities open. There every assignment has
lower probability zero, so that maximin has nothing to choose by; the random polytrees have complete tables.

| network | variables | assigned | criterion | best score | verdict | tied | nodes | seconds |
|---|---:|---|---|---:|---|---:|---:|---:|
"""


def main() -> None:
    parser = options_of(__doc__)
    add_data(parser, "lcn/benchmarks")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit for each task")
    parser.add_argument("--only", default="", help="only networks whose name contains this")
    arguments = parser.parse_args()
    rows = []
    for task in tasks(require(arguments.data)):
        if arguments.only in task.name:
            for criterion in (Criterion.MAXIMAX, Criterion.MAXIMIN):
                rows.append(_row(task, criterion, arguments.seconds))
                print(rows[-1], flush=True)
    header = HEADER.format(
        command=command(),
        seconds=arguments.seconds,
        machine=platform.machine(),
        python=platform.python_version(),
    )
    finish("map", header + "\n".join(rows) + "\n", parser, arguments)


if __name__ == "__main__":
    main()
