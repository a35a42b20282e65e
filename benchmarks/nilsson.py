"""Measure Nilsson's logic by column generation, against the program over all worlds and far beyond it.

Input: random instances of probabilistic satisfiability. Output: `benchmarks/results/nilsson.md`.

Three families. *Clauses with planted bounds*: the probability of a random 3-clause under a hidden
distribution, widened; consistent by construction. *Normal form* (Finger and De Bona, "Probabilistic
satisfiability: logic-based algorithms and phase transition", 2011): random 3-clauses that are certain, and a
probability drawn uniformly for a fifth of the atoms; with more clauses per atom, consistency is lost in a
phase transition. *Chains*: the paper's sentences about consecutive lies, of any length.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from time import perf_counter

import numpy as np
from pages import command, finish, options_of
from scipy.optimize import linprog

from credalog.methods import columns as nilsson
from credalog.methods.answer import Answer, Options
from credalog.methods.columns.events import system_of
from credalog.methods.columns.generation import Generation
from credalog.network.formulas import Formula, Is, disjunction, proposition, truth_table
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.budget import Budget

Rng = np.random.Generator


# --- Instances ----------------------------------------------------------------------------------------------


def atoms_of(count: int) -> list[Is]:
    return [proposition(f"x{i}") for i in range(count)]


def clause(rng: Rng, atoms: list[Is]) -> tuple[Formula, np.ndarray, np.ndarray]:
    """Draw three atoms and their signs."""
    chosen, signs = rng.choice(len(atoms), 3, replace=False), rng.random(3) < 0.5
    literals = [atoms[i] if sign else ~atoms[i] for i, sign in zip(chosen, signs, strict=True)]
    return disjunction(literals), chosen, signs


def planted(n: int, m: int, seed: int, width: float = 0.02) -> Network:
    """Draw clauses, and bounds around their probability under a hidden distribution on 20 worlds."""
    rng, atoms = np.random.default_rng(seed), atoms_of(n)
    worlds, weights = rng.random((20, n)) < 0.5, rng.dirichlet(np.ones(20))
    sentences = []
    for _ in range(m):
        formula, chosen, signs = clause(rng, atoms)
        p = float(weights @ (worlds[:, chosen] == signs).any(axis=1))
        lower, upper = int(1000 * max(p - width, 0.0)), int(1000 * min(p + width, 0.999)) + 1
        sentences.append(Sentence.of(formula, Fraction(lower, 1000), Fraction(upper, 1000)))
    return Network(tuple(atom.variable for atom in atoms), tuple(sentences))


def normal_form(n: int, m: int, seed: int) -> Network:
    """Draw certain clauses, and a probability for every fifth atom."""
    rng, atoms = np.random.default_rng(seed), atoms_of(n)
    certain = [Sentence.of(clause(rng, atoms)[0], 1, 1) for _ in range(m)]
    known = [Fraction(int(p), 1000) for p in rng.integers(0, 1001, n // 5)]
    weighed = [Sentence.of(atom, p, p) for atom, p in zip(atoms, known, strict=False)]
    return Network(tuple(atom.variable for atom in atoms), (*certain, *weighed))


def chain(n: int, seed: int, width: float = 0.02) -> Network:
    """Write the paper's sentences about consecutive lies, with bounds around independent lies."""
    rng, atoms = np.random.default_rng(seed), atoms_of(n)
    p = rng.uniform(0.3, 0.7, n)
    sentences = [Sentence.of(atom, "0.3", "0.7") for atom in atoms]
    for i in range(n - 1):
        both = p[i] * p[i + 1]
        formula = atoms[i] | atoms[i + 1] if i % 2 else atoms[i] & atoms[i + 1]
        value = p[i] + p[i + 1] - both if i % 2 else both
        sentences.append(Sentence.of(formula, f"{max(value - width, 0):.3f}", f"{min(value + width, 1):.3f}"))
    return Network(tuple(atom.variable for atom in atoms), tuple(sentences))


# --- The program over all worlds ----------------------------------------------------------------------------


def over_all_worlds(network: Network, claim: Formula) -> tuple[float, float]:
    """Solve the linear program with one column per world."""
    rows, limits = [], []
    for sentence in network.sentences:
        truth = truth_table(sentence.claim, network.variables).ravel().astype(float)
        rows += [truth, -truth]
        limits += [float(sentence.upper), -float(sentence.lower)]
    goal = truth_table(claim, network.variables).ravel().astype(float)
    sure = np.ones((1, len(goal)))
    found = [
        linprog(sign * goal, A_ub=np.array(rows), b_ub=limits, A_eq=sure, b_eq=[1.0]) for sign in (1, -1)
    ]
    least, most = (one.fun for one in found)
    assert least is not None and most is not None
    return float(least), -float(most)


# --- Measurements -------------------------------------------------------------------------------------------


def ask(network: Network, timeout: float) -> Answer:
    """Ask for the probability that the middle atom is true and the one after the next is not."""
    return nilsson.query(network, Query(middle(network)), Options(timeout=timeout))


def middle(network: Network) -> Formula:
    i = len(network.variables) // 2
    return Is(network.variables[i]) & ~Is(network.variables[i + 2])


def warrants(answer: Answer) -> str:
    ends = (answer.interval.lower, answer.interval.upper)
    return "/".join(dict.fromkeys(end.warrant.name.lower() for end in ends))


def against_reference(sizes: tuple[int, ...]) -> Iterator[str]:
    for n in sizes:
        for family, network in (("chain", chain(n, n)), ("clauses", planted(n, 2 * n, n))):
            start = perf_counter()
            lower, upper = over_all_worlds(network, middle(network))
            reference = perf_counter() - start
            answer = ask(network, 60.0)
            off = max(abs(answer.lower - lower), abs(answer.upper - upper))
            yield (
                f"| {family} | {n} | {reference:.2f} | {answer.seconds:.2f} "
                f"| {off:.0e} | {answer.status.name}, {warrants(answer)} |"
            )


def growth(sizes: tuple[int, ...]) -> Iterator[str]:
    for n in sizes:
        answer = ask(chain(n, n), 300.0)
        yield (
            f"| {n} | {2 * n - 1} | [{answer.lower:.4f}, {answer.upper:.4f}] "
            f"| {answer.status.name}, {warrants(answer)} | {answer.seconds:.2f} |"
        )


@dataclass(frozen=True, slots=True)
class Decided:
    """One consistency question: the verdict, the seconds and the worlds it took."""

    verdict: bool | None
    seconds: float
    worlds: int


def decide(network: Network, timeout: float) -> Decided:
    start = perf_counter()
    generation = Generation(system_of(network), Budget.of(timeout))
    verdict = generation.feasible()
    return Decided(verdict, perf_counter() - start, generation.worlds)


def transition(
    sizes: tuple[int, ...], ratios: tuple[float, ...], count: int, timeout: float
) -> Iterator[str]:
    for n in sizes:
        for ratio in ratios:
            found = [decide(normal_form(n, int(ratio * n), seed), timeout) for seed in range(count)]
            yes, no = (sum(f.verdict is verdict for f in found) for verdict in (True, False))
            yield (
                f"| {n} | {ratio} | {yes} | {no} | {count - yes - no} "
                f"| {median(f.seconds for f in found):.1f} | {max(f.seconds for f in found):.1f} |"
            )


def clauses(sizes: tuple[int, ...], timeout: float) -> Iterator[str]:
    for n in sizes:
        for ratio in (1, 2, 4):
            network = planted(n, ratio * n, n)
            found = decide(network, timeout)
            verdict = {True: "consistent", False: "INCONSISTENT", None: "not decided"}[found.verdict]
            yield f"| {n} | {ratio * n} | {verdict} | {found.worlds} | {found.seconds:.1f} |"


def main() -> None:
    """Measure everything and write the page."""
    parser = options_of(__doc__)
    parser.add_argument("--small", action="store_true", help="small instances only")
    options = parser.parse_args()
    start = perf_counter()
    parts = {
        "reference": against_reference((6, 8) if options.small else (6, 8, 10, 12, 14)),
        "growth": growth((10, 20) if options.small else (10, 20, 50, 100, 200)),
        "transition": transition(
            (20,) if options.small else (50, 100),
            (2.0,) if options.small else (1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5),
            3,
            30.0,
        ),
        "clauses": clauses((20,) if options.small else (100, 200, 300), 60.0),
    }
    tables = {}
    for name, lines in parts.items():
        tables[name] = "\n".join(_shown(lines))
    spent = perf_counter() - start
    text = TEXT.format(command=command(), seconds=spent, machine=platform.machine(), **tables)
    finish("nilsson", text, parser, options)


def _shown(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        print(line, flush=True)
        yield line


TEXT = """\
# Nilsson's logic by column generation

Written by `{command}` ({seconds:.0f} s, one process, {machine}). Times are seconds.

## Against the linear program over all worlds

Bounds on the probability of a conjunction. "Off" is the largest difference between the two answers.

| family | atoms | all worlds | columns | off | answer |
|---|---|---|---|---|---|
{reference}

## Chains: pricing by dynamic programming, every bound proved by our own checker

| atoms | sentences | bounds of a conjunction | answer | seconds |
|---|---|---|---|---|
{growth}

## Probabilistic satisfiability around the phase transition

Normal form: certain random 3-clauses, and a probability for a fifth of the atoms; three instances of each
kind, 30 s each. The pricing problem is a 0/1 program with all the clauses: satisfiability itself is hard near
four clauses per atom.

| atoms | clauses per atom | consistent | inconsistent | not decided | median | slowest |
|---|---|---|---|---|---|---|
{transition}

## Hundreds of clauses with bounds

Random 3-clauses with bounds of width 0.04 around a hidden distribution, consistent by construction; to find
a model, within 60 s.

| atoms | sentences | verdict | worlds generated | seconds |
|---|---|---|---|---|
{clauses}
"""


if __name__ == "__main__":
    main()
