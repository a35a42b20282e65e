"""Bound every marginal of every published LCN and write the results page.

Input: the directory of public LCN files (`examples/`, `benchmarks/`). Output: a table on the terminal and,
with --write, `benchmarks/results/published.md`. Run from the project root:

    python benchmarks/published.py --write
"""

from __future__ import annotations

import platform
import resource
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path
from time import monotonic

from pages import add_data, command, finish, options_of, require

import credalog
from credalog.errors import InconsistentNetwork
from credalog.methods.answer import Answer, Options, marginal_atoms
from credalog.methods.automatic import Engine
from credalog.network.graph import Markov
from credalog.network.sentences import Query
from credalog.numbers.interval import Warrant
from credalog.numbers.tolerances import absolute_gap

TOLERANCE = 1e-3
SMALL_CORE = 12

PUBLISHED_SECONDS = {
    "dag_fr_tw3_n50_1": 23.0,
    "dag_fr_tw3_n100_1": 80.0,
    "ktree_fr_k3_n50_2": 6.9,
    "ktree_fr_k3_n100_1": 23.0,
    "polytree_fr_n100_1": 69.0,
    "benchmark_scaling_directions_n24_2": 1258.0,
    "supreme_court_judicial_power_source_variants_n10_2": 358.0,
}
"""The best published times for all marginals of one network: other hardware, a local solver, no proof."""

LARGE_CORES = ("chain_n50_1", "benchmark_scaling_directions_n24_2")


@dataclass(frozen=True, slots=True)
class Result:
    """All marginals of one network: how many ends are exact, how they are warranted, what they took."""

    name: str
    folder: str
    markov: Markov
    atoms: int
    core: int
    is_cyclic: bool
    consistent: bool
    exact: int
    checked: int
    ends: int
    largest_gap: float
    unwitnessed: float
    seconds: float

    @property
    def share(self) -> str:
        return "inconsistent" if not self.consistent else f"{self.exact} of {self.ends}"

    @property
    def gap(self) -> str:
        """Say what is left open: the gap to a witness, or the width of an interval that has none."""
        if not self.consistent:
            return "proved"
        if self.unwitnessed > 0.0:
            return f"no witness; width {self.unwitnessed:.3f}"
        return "none" if self.exact == self.ends else f"{self.largest_gap:.3f}"


def run(path: Path, *, markov: Markov, timeout: float) -> Result:
    """Bound all marginals of one file; reading and compiling count."""
    start = monotonic()
    lcn = credalog.load(path)
    engine = Engine(lcn.ground(), markov)
    options = Options(tolerance=TOLERANCE, timeout=timeout, markov=markov, gap=absolute_gap)
    try:
        answers = [
            engine.query(Query(atom, lcn.evidence), options) for atom in marginal_atoms(engine.network)
        ]
    except InconsistentNetwork:
        answers = None
    return _result(path, engine, answers, monotonic() - start)


def _result(path: Path, engine: Engine, answers: list[Answer] | None, seconds: float) -> Result:
    ends = [end for a in answers or () for end in (a.interval.lower, a.interval.upper)]
    gaps = [end.gap for end in ends]
    without = [a for a in answers or () if None in (a.lower_witnessed, a.upper_witnessed)]
    return Result(
        name=path.stem,
        folder=path.parent.name,
        markov=engine.markov,
        atoms=len(engine.network.variables),
        core=len(engine.problem.structure.core),
        is_cyclic=engine.graph.is_cyclic,
        consistent=answers is not None,
        exact=sum(gap <= TOLERANCE for gap in gaps),
        checked=sum(end.warrant is Warrant.CHECKED for end in ends),
        ends=len(ends),
        largest_gap=max(gaps, default=0.0),
        unwitnessed=max((a.upper - a.lower for a in without), default=0.0),
        seconds=seconds,
    )


# ---- the page -----------------------------------------------------------------------------------------

ROW = "| {folder} | {name} | {atoms} | {core} | {share} | {gap} | {seconds:.1f} s |"


def row(result: Result) -> str:
    return ROW.format(
        folder=result.folder,
        name=result.name,
        atoms=result.atoms,
        core=result.core or "acyclic",
        share=result.share,
        gap=result.gap,
        seconds=result.seconds,
    )


def totals(results: Sequence[Result]) -> list[str]:
    groups = {
        "acyclic": [r for r in results if not r.is_cyclic],
        f"cyclic, core of at most {SMALL_CORE}": [r for r in results if r.is_cyclic and r.core <= SMALL_CORE],
        f"core larger than {SMALL_CORE}": [r for r in results if r.core > SMALL_CORE],
    }
    lines = [
        "| networks | files | inconsistent | ends EXACT at 1e-3 | share | CHECKED | all together |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [_total(name, found) for name, found in groups.items() if found]
    small = [r for r in results if not r.is_cyclic or r.core <= SMALL_CORE]
    return [*lines, _total("**the first two**", small)]


def _total(name: str, found: Iterable[Result]) -> str:
    found = list(found)
    exact, checked, ends = (sum(getattr(r, field) for r in found) for field in ("exact", "checked", "ends"))
    # Rounded down: only all of them are 100 %.
    share = f"{floor(1000 * exact / ends) / 10:.1f} %" if ends else ""
    wrong = sum(not r.consistent for r in found)
    seconds = sum(r.seconds for r in found)
    return f"| {name} | {len(found)} | {wrong} | {exact} of {ends} | {share} | {checked} | {seconds:.0f} s |"


def comparison(results: Sequence[Result]) -> list[str]:
    lines = ["| network | atoms | theirs | ours | ends EXACT |", "|---|---:|---:|---:|---:|"]
    for r in results:
        if r.name in PUBLISHED_SECONDS:
            theirs = PUBLISHED_SECONDS[r.name]
            lines.append(f"| {r.name} | {r.atoms} | {theirs:g} s | {r.seconds:.1f} s | {r.share} |")
    return lines


HEAD = """# Published networks: all marginals

Command: `{command}`. One process, one thread, {machine}, Python {python}; at
most {timeout:g} s for a marginal; peak memory {memory:.0f} MB; wall-clock seconds, reading and compiling
included. An end of an interval is EXACT when a checked model attains it within 1e-3, near 0 and 1 as well,
where an answer must be closer to be called EXACT; a search of a core ends there. The bound holds in any case.
CHECKED counts the ends whose bound our own kernel proved.
"""

AGAINST = """
## Against other times

Theirs are the best we know of for all marginals of a network of the same kind and size, on other hardware,
by a local solver without proof; we can give no reference for them, so they are an order of magnitude at best.
Ours are whole runs. The other answer for the Supreme Court file was vacuous.
"""

LARGE = """
## Large cores

The first table is the paper's local condition, by the sandwich: valid bounds from outside, models from
inside, the core itself never formed. The second is the same networks under `--markov global`.

`chain_n50_1` has no model under any condition, which is proved from two sentences: s1 says
P(x37 and !x31) >= 0.634033, s49 says P(x31) >= 0.419579, and the two events exclude each other.
"""

COLUMNS = [
    "| folder | network | atoms | core | ends EXACT | largest gap | time |",
    "|---|---|---:|---:|---:|---:|---:|",
]


def page(local: Sequence[Result], other: Sequence[Result], timeout: float) -> str:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    head = HEAD.format(
        command=command(),
        machine=platform.machine(),
        python=platform.python_version(),
        timeout=timeout,
        memory=memory,
    )
    large = [r for r in local if r.name in LARGE_CORES]
    lines: list[str] = [
        head,
        *totals(local),
        AGAINST,
        *comparison(local),
        LARGE,
        *COLUMNS,
        *map(row, large),
        "",
    ]
    lines += [*COLUMNS, *map(row, other), "", "## Every file", "", *COLUMNS, *map(row, local), ""]
    return "\n".join(lines)


def main() -> None:
    parser = options_of(__doc__)
    add_data(parser, "lcn")
    parser.add_argument("--only", default="", help="take only the files whose name contains this")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for one marginal")
    options = parser.parse_args()
    files = [p for p in sorted(require(options.data).rglob("*.lcn")) if options.only in p.stem]
    if not files:
        raise SystemExit(f"no .lcn files in {options.data}; benchmarks/README.md says where they come from")
    local = measured(files, Markov.LOCAL, options.timeout)
    other = measured([p for p in files if p.stem in LARGE_CORES], Markov.GLOBAL, options.timeout)
    text = page(local, other, options.timeout)
    finish("published", text, parser, options)


def measured(files: Iterable[Path], markov: Markov, timeout: float) -> list[Result]:
    results = []
    for path in files:
        results.append(run(path, markov=markov, timeout=timeout))
        print(row(results[-1]), flush=True)
    return results


if __name__ == "__main__":
    main()
