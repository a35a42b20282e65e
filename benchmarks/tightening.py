"""Does sound propagation help exact inference? Exact answers with and without its bounds, side by side.

    python benchmarks/tightening.py

Input: random networks with loops and extra marginal sentences, from fixed seeds. Output:
`benchmarks/results/tightening.md`. The bounds of sound propagation are implied, so that adding them as
sentences changes no model; the dependency graph is kept. Both sides use the same engine, one after the other
on the same query.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from time import perf_counter

import numpy as np
from pages import command, finish, options_of

from credalog.errors import InconsistentNetwork
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.methods.intervals import propagate
from credalog.network.formulas import Is, Variable, conjunction
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.interval import Status

TIMEOUT = 15.0
TOLERANCE = 1e-3

HEAD = """# Sound propagation as a helper of exact inference

Command: `{command}`. {machine}, Python {python}.

Random networks of two or three parents each, an interval for every configuration, and a marginal
sentence on every third variable. `with` adds to the program what sound propagation of the given window
proves of every variable; `without` does not. Seconds are for all queries together, propagation apart; a query
is closed where its gap is at most {tolerance:g} within {timeout:.0f} s.
`without` may weigh statements by multipliers (docs/proofs.md, proof 27), which `with`, whose sentences are
more than its graph's, may not: since then the two columns no longer differ by propagation alone.

| atoms | query | queries | window | propagation s | seconds without | with | ratio | closed without | with \
| mean gap without | with |
|---|---|---|---|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Side:
    """What one side made of all queries of a kind."""

    seconds: float
    closed: int
    gaps: float

    def __add__(self, other: Side) -> Side:
        return Side(self.seconds + other.seconds, self.closed + other.closed, self.gaps + other.gaps)


NOTHING = Side(0.0, 0, 0.0)


def draw(atoms: int, seed: int) -> Network:
    """Draw a network with loops and marginal sentences that one of its models satisfies."""
    rng = np.random.default_rng([atoms, seed])
    x = [Is(Variable(f"x{i}")) for i in range(atoms)]
    sentences = []
    for i in range(atoms):
        count = min(i, int(rng.integers(2, 4)))
        parents = sorted(rng.choice(range(max(0, i - 6), i), size=count, replace=False).tolist()) if i else []
        for states in np.ndindex(*(2,) * count):
            given = conjunction(x[p] if s else ~x[p] for p, s in zip(parents, states, strict=True))
            low = Fraction(int(rng.integers(0, 800)), 1000)
            sentences.append(Sentence.of(x[i], low, low + Fraction(1, 5), given=given))
    network = Network(tuple(atom.variable for atom in x), tuple(sentences))
    bounds = propagate(network, variant="sound", window=1)
    for i in range(2, atoms, 3):
        low, high = (Fraction(end).limit_denominator(1000) for end in bounds.interval(x[i].variable))
        middle = (low + high) / 2
        sentences.append(Sentence.of(x[i], middle - (high - low) / 8, middle + (high - low) / 8))
    return replace(network, sentences=tuple(sentences))


def queries(network: Network, observed: int, seed: int) -> Iterator[Query]:
    """Draw three queries, each with so many observations."""
    rng = np.random.default_rng([len(network.variables), observed, seed])
    for _ in range(3):
        target, *seen = rng.permutation(len(network.variables))[: observed + 1].tolist()
        given = conjunction(Is(network.variables[i]) for i in seen)
        yield Query(Is(network.variables[target]), given)


def tightened(network: Network, window: int) -> tuple[Network, float]:
    """Add what sound propagation proves of every variable, as sentences."""
    start = perf_counter()
    found = propagate(network, variant="sound", window=window)
    seconds = perf_counter() - start
    implied = [
        Sentence.of(Is(v), *(Fraction(end) for end in found.interval(v)), label="implied")
        for v in network.variables
    ]
    return replace(network, sentences=(*network.sentences, *implied)), seconds


def measure(engine: Engine, asked: Query) -> Side:
    """Ask one query and measure the answer."""
    start = perf_counter()
    answer = engine.query(asked, Options(TOLERANCE, TIMEOUT))
    return Side(perf_counter() - start, int(answer.status is Status.EXACT), gap(answer))


def gap(answer: Answer) -> float:
    """Return the wider of the two gaps between bound and witness."""
    low, high = answer.lower_witnessed, answer.upper_witnessed
    return max(
        (low if low is not None else 1.0) - answer.lower, answer.upper - (high if high is not None else 0.0)
    )


def compare(atoms: int, observed: int, window: int, networks: int) -> str:
    """Put both sides to the same queries and write a row."""
    plain, helped, spent, count = NOTHING, NOTHING, 0.0, 0
    for seed in range(networks):
        network = draw(atoms, seed)
        try:
            more, seconds = tightened(network, window)
            engines = Engine(network, frame=network), Engine(more, frame=network)
            for asked in queries(network, observed, seed):
                without, with_ = (measure(engine, asked) for engine in engines)
                plain, helped, count = plain + without, helped + with_, count + 1
            spent += seconds
        except InconsistentNetwork:
            continue
    query = "marginal" if not observed else f"given {observed}"
    return (
        f"| {atoms} | {query} | {count} | {window} | {spent:.2f} | {plain.seconds:.2f} |"
        f" {helped.seconds:.2f} | {helped.seconds / plain.seconds:.2f} | {plain.closed} | {helped.closed} |"
        f" {plain.gaps / count:.1e} | {helped.gaps / count:.1e} |"
    )


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--networks", type=int, default=2, metavar="N", help="networks for each row")
    arguments = parser.parse_args()
    head = HEAD.format(
        command=command(),
        machine=platform.machine(),
        python=platform.python_version(),
        tolerance=TOLERANCE,
        timeout=TIMEOUT,
    )
    rows = []
    for atoms, observed, window in [(a, o, w) for a in (8, 12, 16) for o in (0, 2) for w in (0, 1)]:
        rows.append(compare(atoms, observed, window, arguments.networks))
        print(rows[-1], flush=True)
    finish("tightening", head + "\n".join(rows) + "\n", parser, arguments)


if __name__ == "__main__":
    main()
