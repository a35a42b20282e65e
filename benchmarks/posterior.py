"""Ask posteriors of random binary networks with loops, by vertex branching and by the factorized program.

Input: nothing; networks are drawn from fixed seeds. Output: `benchmarks/results/posterior.md`. Run from the
project root: python benchmarks/posterior.py
"""

from __future__ import annotations

import platform
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from time import process_time

import numpy as np
from pages import command, finish, options_of

from credalog.errors import CredalogError
from credalog.methods import automatic as exact
from credalog.methods.answer import Options
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.ends import Ends, Models
from credalog.methods.vertices import sets
from credalog.network.formulas import Is, Variable, conjunction
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, Query, Sentence
from credalog.network.structure import relevance
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End, Status
from credalog.program.program import Objective
from credalog.tables.credal import ask, credal_network

TOLERANCE = 1e-3
WIDEST = Fraction(3, 10)

HEAD = """# Posteriors of random binary networks with loops

Command: `{command}`.
Networks: each variable takes up to `width` parents inside one clique of a random `width`-tree, and an
interval at most {widest} wide for each parent configuration; the query's variable and the observed ones are
drawn at random. {machine}, Python {python}, one thread; peak memory {memory:.0f} MB. Limit {timeout:.0f} s
by the clock per query, on a machine shared with other work; CPU seconds; EXACT at {tolerance:g}.
`families`: how many conditional tables matter, on average. All bounds hold whatever the time limit;
`widest gap` is the largest distance of a bound from its witness.

## Vertex branching and set propagation (`--method sets`)
"""

HARDER = """
## Harder

Wider networks with more observed, the same limit.
"""

SIDE = """
## Side by side with the factorized program (`--method factorized`), and with SCIP on that program

The same queries, the first of each row above, the harder ones last, under the same limit. SCIP (wheel {scip})
is given the factorized program, half of the time for each end; its bound and its point are taken at its word,
ours are checked.
"""

NAMES = ("branching", "program", "SCIP")
SHARES = ((0.5, End.LOWER), (1.0, End.UPPER))


@dataclass(frozen=True, slots=True)
class Case:
    """One random query."""

    atoms: int
    width: int
    observed: int
    seed: int
    network: Network
    query: Query

    @property
    def families(self) -> int:
        """Return how many conditional tables matter."""
        credal = credal_network(self.network, dependency_graph(self.network))
        put = ask(credal, self.query) if credal is not None else None
        if put is None:
            raise SystemExit("the benchmark drew a network that is not a credal network")
        return len(relevance(put[0].parents, [put[1].target], put[1].observed).families)


@dataclass(frozen=True, slots=True)
class Result:
    """What one method made of one case."""

    case: Case
    status: str
    gap: float
    seconds: float


def draw(atoms: int, width: int, observed: int, seed: int) -> Case:
    """Draw a network of bounded width, and a query about it."""
    rng = np.random.default_rng([atoms, width, observed, seed])
    x = [Is(Variable(f"x{i}")) for i in range(atoms)]
    sentences: list[Sentence] = []
    for i, clique in enumerate(cliques(rng, atoms, width)):
        count = int(rng.integers(1, len(clique) + 1)) if clique else 0
        parents = sorted(rng.choice(clique, size=count, replace=False).tolist()) if count else []
        for states in np.ndindex(*(2,) * count):
            given = conjunction(x[p] if s else ~x[p] for p, s in zip(parents, states, strict=True))
            sentences.append(Sentence.of(x[i], *interval(rng), given=given))
    target, *others = rng.permutation(atoms)[: observed + 1].tolist()
    network = Network(tuple(atom.variable for atom in x), tuple(sentences))
    return Case(atoms, width, observed, seed, network, Query(x[target], conjunction(x[o] for o in others)))


def cliques(rng: np.random.Generator, atoms: int, width: int) -> Iterator[list[int]]:
    """Yield for each variable an earlier clique of a random tree of that width, from which parents come."""
    known: list[list[int]] = []
    for i in range(atoms):
        clique = known[int(rng.integers(len(known)))] if known else list(range(i))
        if i == width:
            known = [[y for y in range(width + 1) if y != gone] for gone in range(width + 1)]
        elif i > width:
            known += [[*(y for y in clique if y != gone), i] for gone in clique]
        yield clique


def interval(rng: np.random.Generator) -> tuple[Fraction, Fraction]:
    """Draw an interval of percentages."""
    lower, upper = sorted(Fraction(int(n), 100) for n in rng.integers(1, 100, size=2))
    return lower, min(upper, lower + WIDEST)


def by_sets(case: Case, timeout: float) -> Result:
    """Answer by set propagation or vertex branching."""
    start = process_time()
    answer = sets.query(case.network, case.query, Options(tolerance=TOLERANCE, timeout=timeout))
    gap = max(answer.interval.lower.gap, answer.interval.upper.gap)
    return Result(case, answer.status.name, gap, process_time() - start)


def by_program(case: Case, timeout: float) -> Result:
    """Answer by the factorized program, whatever comes of it."""
    start = process_time()
    try:
        options = Options(tolerance=TOLERANCE, timeout=timeout, method="factorized")
        answer = exact.Engine(case.network).query(case.query, options)
    except CredalogError as error:
        return Result(case, type(error).__name__, np.inf, process_time() - start)
    gap = max(answer.interval.lower.gap, answer.interval.upper.gap)
    return Result(case, answer.status.name, gap, process_time() - start)


def by_scip(case: Case, timeout: float) -> Result:
    """Hand the same factorized program to SCIP, half of the time for each end; its word is taken for all."""
    start, budget = process_time(), Budget.of(timeout)
    engine, options = exact.Engine(case.network), Options(tolerance=TOLERANCE, timeout=timeout)
    try:
        fragment = engine.cliques.fragment(case.query)
        ends = Ends(engine.cliques, case.query, options, budget, fragment, Models())
        encoding, objective = ends._encoded(fragment.problem.reading, jointly=False)
        gaps = [scip_gap(encoding, objective, budget.share(share), end) for share, end in SHARES]
    except (CredalogError, OutOfTime) as error:
        return Result(case, type(error).__name__, np.inf, process_time() - start)
    status = Status.EXACT if max(gaps) <= TOLERANCE else Status.BOUNDED
    return Result(case, status.name, max(gaps), process_time() - start)


def scip_gap(encoding: Encoding, objective: Objective, budget: Budget, end: End) -> float:
    """Return how far SCIP's bound is from the value of its point."""
    from credalog.program.solvers import scip

    program, seconds = encoding.program, budget.for_solver
    claim = scip.solve(program, objective, end=end, timeout=seconds, tolerance=TOLERANCE)
    return np.inf if claim.value is None else abs(claim.bound - claim.value)


def table(results: list[Result]) -> list[str]:
    lines = [
        "| atoms | width | observed | families | EXACT | median | slowest | widest gap |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    keys = dict.fromkeys((r.case.atoms, r.case.width, r.case.observed) for r in results)
    for key in keys:
        rows = [r for r in results if (r.case.atoms, r.case.width, r.case.observed) == key]
        seconds = [r.seconds for r in rows]
        families = np.mean([r.case.families for r in rows])
        lines.append(
            f"| {' | '.join(map(str, key))} | {families:.0f} "
            f"| {sum(r.status == Status.EXACT.name for r in rows)} of {len(rows)} "
            f"| {np.median(seconds):.2f} s | {max(seconds):.1f} s | {max(r.gap for r in rows):.0e} |"
        )
    done = sum(r.status == Status.EXACT.name for r in results)
    return [
        *lines,
        "",
        f"EXACT: {done} of {len(results)}, in {sum(r.seconds for r in results):.0f} s together.",
    ]


def side_by_side(*columns: list[Result]) -> list[str]:
    """Show what several ways made of the same queries."""
    lines = [
        "| atoms | width | observed | branching | gap | time | program | gap | time | SCIP | gap | time |",
        "|---:|---:|---:|---|---:|---:|---|---:|---:|---|---:|---:|",
    ]
    for row in zip(*columns, strict=True):
        case = row[0].case
        found = " | ".join(f"{r.status} | {r.gap:.0e} | {r.seconds:.1f} s" for r in row)
        lines.append(f"| {case.atoms} | {case.width} | {case.observed} | {found} |")
    exact_counts = [sum(r.status == Status.EXACT.name for r in column) for column in columns]
    counts = ", ".join(f"{name} {n}" for name, n in zip(NAMES, exact_counts, strict=True))
    return [*lines, "", f"EXACT of {len(columns[0])}: {counts}."]


def drawn(repetitions: int) -> tuple[list[Case], list[Case]]:
    """Draw the networks of the first table and of the harder ones."""
    cases = [
        draw(atoms, width, observed, seed)
        for atoms in (20, 50, 100)
        for width in (2, 3, 4)
        for observed in (1, 3, 5)
        for seed in range(repetitions)
    ]
    harder = [
        draw(atoms, width, observed, seed)
        for atoms in (100, 200)
        for width in (5, 6)
        for observed in (5, 10)
        for seed in range(repetitions // 2 or 1)
    ]
    return cases, harder


def compared(ours: list[Result], timeout: float) -> list[str]:
    """Put the first query of each row to the factorized program and to SCIP."""
    first = [r for r in ours if r.case.seed == 0]
    others = ([way(r.case, timeout) for r in first] for way in (by_program, by_scip))
    return [SIDE.format(scip=version("pyscipopt")), *side_by_side(first, *others)]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for one query")
    parser.add_argument("--repetitions", type=int, default=4, help="networks for each row")
    options = parser.parse_args()
    ours, wide = ([by_sets(case, options.timeout) for case in cases] for cases in drawn(options.repetitions))
    tables = [*table(ours), HARDER, *table(wide), *compared([*ours, *wide], options.timeout)]
    head = HEAD.format(
        command=command(),
        widest=float(WIDEST),
        machine=platform.machine(),
        python=platform.python_version(),
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        timeout=options.timeout,
        tolerance=TOLERANCE,
    )
    finish("posterior", "\n".join([head, *tables, ""]), parser, options)


if __name__ == "__main__":
    main()
