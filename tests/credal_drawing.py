"""Random credal networks as plain numbers beside the sentences that say the same, and brute force on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from credalog.network.formulas import Formula, Is, Variable, conjunction, disjunction
from credalog.network.polytopes import facets
from credalog.network.sentences import Network, Query, Sentence


@dataclass(frozen=True)
class Drawn:
    """A random credal network, kept as plain numbers beside the sentences that say the same."""

    network: Network
    parents: tuple[tuple[int, ...], ...]
    corners: tuple[dict[tuple[int, ...], list[tuple[Fraction, ...]]], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(x.values) for x in self.network.variables)

    @property
    def joints(self) -> int:
        return prod(len(points) for table in self.corners for points in table.values())


def draw_polytree(rng: np.random.Generator, *, count: int, zeros: float = 0.0) -> Drawn:
    """Draw a polytree: each new variable is tied by one arc, of random direction, to an earlier one."""
    parents: list[list[int]] = [[] for _ in range(count)]
    for x in range(1, count):
        other = int(rng.integers(x))
        child, parent = (x, other) if rng.random() < 0.5 or len(parents[other]) == 2 else (other, x)
        parents[child].append(parent)
    return draw_tables(rng, parents, zeros)


def draw_loopy(rng: np.random.Generator, *, count: int, zeros: float = 0.0) -> Drawn:
    """Draw a network in which each variable has up to two of the earlier ones as parents."""
    parents = [
        rng.choice(x, size=min(x, int(rng.integers(1, 3))), replace=False).tolist() if x else []
        for x in range(count)
    ]
    return draw_tables(rng, parents, zeros)


def draw_tables(rng: np.random.Generator, parents: list[list[int]], zeros: float) -> Drawn:
    """Draw numbers of values, credal sets of one or two vertices, and the sentences that say them."""
    count = len(parents)
    sizes = [int(rng.integers(2, 4)) for _ in range(count)]
    variables = tuple(Variable(f"X{x}", tuple(f"s{k}" for k in range(n))) for x, n in enumerate(sizes))
    tables, sentences = [], []
    for x in range(count):
        parents[x].sort()
        table = {}
        for states in product(*(range(sizes[p]) for p in parents[x])):
            table[states] = draw_corners(rng, sizes[x], zeros)
            condition = conjunction(
                variables[p].is_(f"s{s}") for p, s in zip(parents[x], states, strict=True)
            )
            sentences += said(variables[x], table[states], condition)
        tables.append(table)
    return Drawn(Network(variables, tuple(sentences)), tuple(map(tuple, parents)), tuple(tables))


def draw_corners(rng: np.random.Generator, size: int, zeros: float) -> list[tuple[Fraction, ...]]:
    corners = []
    for _ in range(int(rng.integers(1, 3))):
        weights = rng.integers(1, 20, size=size) * (rng.random(size) >= zeros)
        weights[rng.integers(size)] += 1
        corners.append(tuple(Fraction(int(w), int(weights.sum())) for w in weights))
    return sorted(set(corners))


def said(x: Variable, corners: list[tuple[Fraction, ...]], condition: Formula) -> list[Sentence]:
    rows = facets(corners)
    if not rows:
        return [Sentence.of(x.is_("s0"), 0, 1, given=condition)]
    claims = [
        tuple((c, x.is_(v)) for c, v in zip(row.coefficients, x.values, strict=True) if c) for row in rows
    ]
    return [Sentence(c, condition, r.lower, r.upper) for c, r in zip(claims, rows, strict=True)]


def brute_force(drawn: Drawn, target: int, event: set[int], observed: dict[int, int]) -> tuple[float, float]:
    """Return the extremes of the posterior of an event of one variable, given states of others."""
    return extremes(
        drawn,
        claim=lambda world: world[target] in event,
        given=lambda world: all(world[x] == s for x, s in observed.items()),
    )


def extremes(
    drawn: Drawn, *, claim: Callable[[tuple[int, ...]], bool], given: Callable[[tuple[int, ...]], bool]
) -> tuple[float, float]:
    """Evaluate P(claim | given) for every choice of vertices on the full joint distribution."""
    keys = [(x, states) for x, table in enumerate(drawn.corners) for states in table]
    worlds = [world for world in product(*(range(n) for n in drawn.sizes)) if given(world)]
    values = []
    for chosen in product(*(drawn.corners[x][states] for x, states in keys)):
        theta = {key: [float(p) for p in corner] for key, corner in zip(keys, chosen, strict=True)}
        masses = [
            prod(theta[x, tuple(world[p] for p in drawn.parents[x])][world[x]] for x in range(len(world)))
            for world in worlds
        ]
        if sum(masses) > 0:
            inside = sum(mass for mass, world in zip(masses, worlds, strict=True) if claim(world))
            values.append(inside / sum(masses))
    return (min(values), max(values)) if values else (np.nan, np.nan)


def query_of(drawn: Drawn, target: int, event: set[int], observed: dict[int, int]) -> Query:
    x = drawn.network.variables
    claim = disjunction(x[target].is_(f"s{s}") for s in sorted(event))
    return Query(claim, conjunction(x[o].is_(f"s{s}") for o, s in observed.items()))


def _interval(rng: np.random.Generator, point: bool) -> tuple[Fraction, Fraction]:
    low, high = sorted(Fraction(int(n), 20) for n in rng.integers(0, 21, size=2))
    return (low, low) if point else (low, high)


def draw_intervals(rng: np.random.Generator, count: int, imprecise: int) -> Network:
    """Draw a two-valued network of which a few blocks are intervals and all others points."""
    x = [Variable(f"x{i}") for i in range(count)]
    blocks = [
        (i, parents, states)
        for i in range(count)
        for parents in [sorted(int(p) for p in rng.permutation(i)[: rng.integers(min(i, 1), min(i, 3) + 1)])]
        for states in np.ndindex(*(2,) * len(parents))
    ]
    chosen = {int(b) for b in rng.permutation(len(blocks))[:imprecise]}
    sentences = [
        Sentence.of(
            Is(x[i]),
            *_interval(rng, b not in chosen),
            given=conjunction(
                Is(x[p]) if state else ~Is(x[p]) for p, state in zip(parents, states, strict=True)
            ),
        )
        for b, (i, parents, states) in enumerate(blocks)
    ]
    return Network(tuple(x), tuple(sentences))
