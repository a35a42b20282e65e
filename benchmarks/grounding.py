"""Measure reading and grounding: seconds and peak memory, from text to a ground network.

    python benchmarks/grounding.py            # all sizes, then the results page
    python benchmarks/grounding.py --small    # the smaller sizes, nothing written

Input: theories written as text, and data. Output: `benchmarks/results/grounding.md`. Every size runs in a
process of its own, so that its peak memory is its own. Times are of the processor, so that other work on the
machine counts little.
"""

from __future__ import annotations

import json
import platform
import random
import resource
import subprocess
import sys
from collections.abc import Callable
from time import process_time

from pages import command, finish, options_of

from credalog.grounding.network import ground
from credalog.network.graph import dependency_graph
from credalog.text.data import extended
from credalog.text.parse import read
from credalog.theory import Theory


def propositional(atoms: int) -> Theory:
    """Read a file without first-order logic, with three sentences for each atom."""
    rng = random.Random(atoms)
    lines = []
    for i in range(atoms):
        low, high = rng.randrange(100, 400), rng.randrange(500, 1000)
        before, earlier = max(i - 1, 0), max(i - 7, 0)
        other, third = rng.randrange(atoms), rng.randrange(atoms)
        lines.append(f"a{i}: 0.{low} <= P(x{i} | (x{before} and !x{earlier})) <= 0.{high} ; True")
        lines.append(f"b{i}: 0.{low} <= P(x{i}) <= 0.9")
        lines.append(f"c{i}: 0.{low} <= P(!x{i} | x{other} or x{third}) <= 0.9")
    return read("\n".join(lines))


def smokers(people: int) -> Theory:
    """Read Example 1 of the paper for many people; each triple of them has six instances, three sentences."""
    text = """
    domain Person
    predicate Fr(Person, Person) symmetric
    predicate Sm(Person), Ca(Person)
    friends: forall x, y, z in Person distinct: 0.5 <= P(Fr(x,z) | Fr(x,y) & Fr(y,z)) <= 1
    alike:   forall x, y in Person distinct:    0 <= P(Sm(x) xor Sm(y) | Fr(x,y)) <= 0.2
    smoke:   forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
    clean:   forall x in Person: 0 <= P(Ca(x) | !Sm(x)) <= 0.01
    """
    return extended(read(text), {"Person": range(people)})


def links(facts: int) -> Theory:
    """Read a rule that follows the facts of a relation on a large domain, and its data."""
    rng = random.Random(facts)
    people = facts // 5
    met = [(rng.randrange(people), rng.randrange(people)) for _ in range(facts)]
    text = """
    domain Person
    predicate Ill(Person)
    relation Met(Person, Person)
    ill:    forall x in Person: 0.01 <= P(Ill(x)) <= 0.05
    caught: forall x, y in Person, Met(x, y), x != y: P(Ill(y) | Ill(x)) >= 0.1
    """
    return extended(read(text), {"Person": range(people), "Met": met})


CASES: dict[str, tuple[Callable[[int], Theory], tuple[int, ...], str]] = {
    "propositional": (propositional, (1_000, 10_000, 100_000), "three lines for each of n atoms"),
    "smokers": (smokers, (20, 60, 128), "Example 1 of the paper with n people"),
    "links": (links, (1_000, 10_000, 1_000_000), "a rule guarded by n given facts on n/5 elements"),
}


def measured(case: str, size: int) -> dict[str, float]:
    """Read and ground one theory in this process."""
    start = process_time()
    theory = CASES[case][0](size)
    read_at = process_time()
    network = ground(theory, limit=10_000_000)
    ground_at = process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    dependency_graph(network)
    return {
        "variables": len(network.variables),
        "sentences": len(network.sentences),
        "read": read_at - start,
        "ground": ground_at - read_at,
        "graph": process_time() - ground_at,
        "grounded gigabytes": peak,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def in_its_own_process(case: str, size: int) -> dict[str, float]:
    """Measure one text in a process of its own."""
    words = [sys.executable, __file__, "--case", case, str(size)]
    found: dict[str, float] = json.loads(
        subprocess.run(words, check=True, capture_output=True, text=True).stdout
    )
    return found


def rows(*, small: bool) -> list[str]:
    """Return the table, a row for each case and size."""
    lines = [
        "| theory | n | variables | sentences | read s | ground s | graph s | peak GB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case, (_, sizes, _) in CASES.items():
        for size in sizes[: 2 if small else None]:
            found = in_its_own_process(case, size)
            counts = f"{size:,} | {found['variables']:,} | {found['sentences']:,}"
            seconds = " | ".join(f"{found[phase]:.1f}" for phase in ("read", "ground", "graph"))
            lines.append(f"| {case} | {counts} | {seconds} | {found['gigabytes']:.2f} |")
            print(lines[-1], flush=True)
    return lines


def page(table: list[str]) -> str:
    """Return the results page."""
    return "\n".join(
        [
            "# Reading and grounding, measured",
            "",
            f"Written by `{command()}` on {platform.machine()}, Python"
            f" {platform.python_version()}. Seconds are of the processor; `read` includes writing the text or"
            " the data down, `graph` is the dependency graph with the parents of every variable.",
            "",
            *(f"- `{case}`: {about}." for case, (_, _, about) in CASES.items()),
            "",
            *table,
            "",
        ]
    )


def main() -> None:
    """Measure all cases, or one."""
    parser = options_of(__doc__)
    parser.add_argument("--small", action="store_true", help="smaller sizes only")
    parser.add_argument("--case", nargs=2, metavar=("CASE", "SIZE"), help="measure one theory, as JSON")
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(measured(arguments.case[0], int(arguments.case[1]))))
        return
    table = rows(small=arguments.small)
    finish("grounding", page(table), parser, arguments)


if __name__ == "__main__":
    main()
