"""Ask networks of ties: chains, trees, rings, ladders, grids, fact-checking graphs, the paper's Example 1.

Input: nothing; every network is drawn around hidden probabilities, so that it has a model. Output:
`benchmarks/results/ties.md`: questions inside a scope, across scopes, all marginals, and Example 1 with many
people, each under a limit with the clock beside it. Run from the project root: python benchmarks/ties.py
"""

from __future__ import annotations

import platform
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter

from pages import command, finish, options_of

from credalog import LCN, parse
from credalog.methods.answer import Answer
from credalog.numbers.interval import Status

TOLERANCE = 1e-3
PEOPLE = (4, 6, 8, 12, 20)

Pairs = Sequence[tuple[int, int]]

SMOKERS = """
domain Person = {%s}
predicate Fr(Person, Person) symmetric
predicate Sm(Person), Ca(Person)
forall x, y, z in Person distinct: 0.5 <= P(Fr(x,z) | Fr(x,y) & Fr(y,z)) <= 1
forall x, y in Person distinct: 0 <= P(Sm(x) xor Sm(y) | Fr(x,y)) <= 0.2
forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
forall x in Person: 0 <= P(Ca(x) | !Sm(x)) <= 0.01
"""

HEAD = """# Ties: claims about several atoms

Command: `{command}`.
{machine}, Python {python}, on a machine shared with other work; seconds are wall clock, a file's reading not
counted. Networks are drawn around hidden probabilities. EXACT at {tolerance:g}, and every bound is checked.

## Inside a scope

Each atom has an interval, each tie bounds P(s xor t); a fact-checking graph bounds P(claim | context) and
P(claim and claim). Limit {limit:g} s for each question.

| network | atoms | question | interval | status | seconds |
|---|---:|---|---|---|---:|
"""

ALL = """
## All marginals

| network | atoms | EXACT | seconds |
|---|---:|---:|---:|
"""

ACROSS = """
## Across scopes

Nothing is said of these atoms together, so the Markov condition matters: s0 is an end of the chain, a leaf
of the tree. Limit {limit:g} s.

| network | atoms | question | interval | gap | status | seconds |
|---|---:|---|---|---:|---|---:|
"""

EXAMPLE = """
## Example 1 of the paper, with more people

Limit 5 s for each question.

| people | atoms | question | interval | status | seconds |
|---:|---:|---|---|---|---:|
"""


@dataclass(frozen=True, slots=True)
class Ties:
    """A family of tie networks: which atoms are tied, by their number."""

    name: str
    pairs: Callable[[int], Pairs]

    def network(self, atoms: int, seed: int = 0) -> LCN:
        """Draw bounds around hidden probabilities, which a coupling of greatest agreement attains."""
        rng = Random(f"{self.name} {atoms} {seed}")
        hidden = [rng.uniform(0.2, 0.5) for _ in range(atoms)]
        lines = [
            f"{p - rng.uniform(0.01, 0.1):.3f} <= P(s{i}) <= {p + rng.uniform(0.01, 0.3):.3f}"
            for i, p in enumerate(hidden)
        ]
        lines += [
            f"P(s{i} xor s{j}) <= {abs(hidden[i] - hidden[j]) + rng.uniform(0.02, 0.2):.3f}"
            for i, j in self.pairs(atoms)
        ]
        return parse("\n".join(lines))


def _chain(n: int) -> Pairs:
    return [(i, i + 1) for i in range(n - 1)]


def _tree(n: int) -> Pairs:
    """Return the arcs of a binary tree that is numbered from its leaves: s0 is one of them."""
    return [(n - 1 - i, n - 1 - (i - 1) // 2) for i in range(1, n)]


def _ring(n: int) -> Pairs:
    return [(i, (i + 1) % n) for i in range(n)]


def _grid(rows: int) -> Callable[[int], Pairs]:
    def pairs(n: int) -> Pairs:
        along = [(i, i + rows) for i in range(n - rows)]
        return along + [(i, i + 1) for i in range(n - 1) if i % rows != rows - 1]

    return pairs


FAMILIES = (
    Ties("chain", _chain),
    Ties("tree", _tree),
    Ties("ring", _ring),
    Ties("ladder", _grid(2)),
    Ties("grid 3 x k", _grid(3)),
)


def facts(atoms: int, seed: int = 0) -> LCN:
    """Draw claims and the contexts they were found in: entailment, contradiction, and claims that agree.

    Every bound holds where all atoms are independent and fair.
    """
    rng = Random(f"facts {atoms} {seed}")
    claims = [f"claim{i}" for i in range((atoms + 1) // 2)]
    contexts = [f"context{i}" for i in range(atoms - len(claims))]
    lines = [f"{rng.uniform(0.3, 0.5):.3f} <= P({c}) <= {rng.uniform(0.5, 0.9):.3f}" for c in contexts]
    for i, claim in enumerate(claims):
        lines.append(f"{rng.uniform(0.1, 0.5):.3f} <= P({claim}) <= {rng.uniform(0.5, 0.9):.3f}")
        context = contexts[i % len(contexts)]
        lines.append(f"{rng.uniform(0.1, 0.5):.3f} <= P({claim} | {context}) <= {rng.uniform(0.6, 1):.3f}")
        if i:
            other = claims[i - rng.randint(1, min(i, 3))]
            kind = rng.choice([f"P(!({claim} and {other}))", f"P({claim} iff {other})"])
            lines.append(f"{rng.uniform(0.1, 0.5):.3f} <= {kind} <= 1")
    return parse("\n".join(lines))


def smokers(people: int) -> LCN:
    """Return Example 1 of the paper for many people."""
    return parse(SMOKERS % ", ".join(f"p{i}" for i in range(people)))


def _asked(model: LCN, question: str, limit: float) -> tuple[Answer, float]:
    began = perf_counter()
    answer = model.query(question, timeout=limit, tolerance=TOLERANCE)
    return answer, perf_counter() - began


def _inside(options: Namespace) -> Iterator[str]:
    for family in FAMILIES:
        for atoms in options.atoms:
            model = family.network(atoms)
            i, j = family.pairs(atoms)[atoms // 3]
            for question in (f"P(s{i})", f"P(s{i} and s{j})", f"P(s{j} | s{i})"):
                answer, seconds = _asked(model, question, options.limit)
                yield _row(
                    family.name, atoms, question, answer.interval, answer.status.name, f"{seconds:.2f}"
                )
    for atoms in options.atoms:
        model = facts(atoms)
        for question in ("P(claim0)", "P(claim0 and context0)", "P(claim1 | context1)"):
            answer, seconds = _asked(model, question, options.limit)
            yield _row("facts", atoms, question, answer.interval, answer.status.name, f"{seconds:.2f}")


def _all_marginals(options: Namespace) -> Iterator[str]:
    sizes = [(family, n) for family in FAMILIES for n in options.atoms]
    sizes += [(family, n) for family in FAMILIES[:2] for n in options.large]
    for family, atoms in sizes:
        model = family.network(atoms)
        model.ground()
        began = perf_counter()
        answers = model.marginals(timeout=options.limit, tolerance=TOLERANCE)
        exact = sum(answer.status is Status.EXACT for answer in answers)
        yield _row(family.name, atoms, f"{exact} of {len(answers)}", f"{perf_counter() - began:.2f}")


def _across(options: Namespace) -> Iterator[str]:
    for family in FAMILIES[:3]:
        pairs = family.pairs(100)
        near = next(j for i, j in pairs if i == 0)
        second = next(b if a == near else a for a, b in pairs if near in (a, b) and 0 not in (a, b))
        model = family.network(100)
        for question in (f"P(s0 and s{second})", "P(s0 and s9)"):
            answer, seconds = _asked(model, question, options.limit)
            gap = max(answer.interval.lower.gap, answer.interval.upper.gap)
            status = answer.status.name
            yield _row(family.name, 100, question, answer.interval, f"{gap:.2g}", status, f"{seconds:.2f}")


def _example(options: Namespace) -> Iterator[str]:
    for people in options.people:
        model = smokers(people)
        atoms = len(model.ground().variables)
        for question in ("P(Ca(p0))", "P(Ca(p0) or Ca(p1))", "P(Sm(p0) | Fr(p0,p1) & Sm(p1))"):
            answer, seconds = _asked(model, question, 5.0)
            yield _row(people, atoms, question, answer.interval, answer.status.name, f"{seconds:.2f}")


def _row(*cells: object) -> str:
    line = "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |\n"
    print(line, end="", flush=True)
    return line


def main() -> None:
    """Run all parts, print the page, and write it if asked for."""
    parser = options_of(__doc__)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each question")
    parser.add_argument("--atoms", type=int, nargs="*", default=[10, 30, 100, 300, 1000])
    parser.add_argument("--large", type=int, nargs="*", default=[3000, 10000], help="chains and trees")
    parser.add_argument("--people", type=int, nargs="*", default=list(PEOPLE))
    options = parser.parse_args()
    fill = {"limit": options.limit, "tolerance": TOLERANCE, "command": command()}
    fill |= {"machine": platform.machine(), "python": platform.python_version()}
    text = HEAD.format(**fill) + "".join(_inside(options))
    text += EXAMPLE + "".join(_example(options))
    text += ACROSS.format(**fill) + "".join(_across(options))
    text += ALL + "".join(_all_marginals(options))
    finish("ties", text, parser, options)


if __name__ == "__main__":
    main()
