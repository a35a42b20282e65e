"""Credal networks with unique assessments: every vertex of the strong extension, in exact rationals.

Input: a network whose sentences each bound one value of one variable in one configuration of its parents.
Output: the exact interval of a query, however small the probability of its evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import TypeAlias

from credalog.network.formulas import Is, Not, Variable
from credalog.network.sentences import Network, Query, Sentence
from oracle import Verdict, event, holds, mentioned, ordered, parents, worlds


@dataclass(frozen=True, slots=True)
class ExactInterval:
    """The verdict and the two ends as exact rationals."""

    verdict: Verdict
    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(1)


def strong_extension(network: Network, query: Query, *, most: int = 5000) -> ExactInterval:
    """Try every vertex of the strong extension of a credal network with unique assessments.

    P(claim | given) is linear-fractional in each local distribution, and a combination that gives the
    evidence no mass gives the claim none, so the ends are attained at combinations of local vertices.
    """
    families = list(_families(network))
    if prod(len(choices) for _, choices in families) > most:
        raise ValueError("too many vertices to try them all")
    given, claimed = event(network, query.given), event(network, query.claim)
    ratios = []
    for chosen in product(*(choices for _, choices in families)):
        joint = _product([cells for cells, _ in families], chosen)
        mass = sum((p for p, g in zip(joint, given, strict=True) if g), Fraction(0))
        if mass > 0:
            hit = sum((p for p, g, c in zip(joint, given, claimed, strict=True) if g and c), Fraction(0))
            ratios.append(hit / mass)
    if not ratios:
        return ExactInterval(Verdict.IMPOSSIBLE)
    return ExactInterval(Verdict.ANSWERED, min(ratios), max(ratios))


Vertex: TypeAlias = tuple[Fraction, ...]


def _families(network: Network) -> Iterator[tuple[list[int | None], list[Vertex]]]:
    """Yield, per variable and parent configuration, the value it has in each world, and its vertices."""
    every = worlds(network)
    for x in network.variables:
        above = ordered(network, parents(network, x))
        for values in product(*(v.values for v in above)):
            configuration = dict(zip(above, values, strict=True))
            applies = [all(w[v] == c for v, c in configuration.items()) for w in every]
            cells = [x.values.index(w[x]) if a else None for w, a in zip(every, applies, strict=True)]
            yield cells, _vertices(*_box(network, x, configuration))


def _product(cells: Sequence[Sequence[int | None]], chosen: Sequence[Vertex]) -> list[Fraction]:
    joint = [Fraction(1)] * len(cells[0])
    for cell, vertex in zip(cells, chosen, strict=True):
        joint = [p if k is None else p * vertex[k] for p, k in zip(joint, cell, strict=True)]
    return joint


def _box(
    network: Network, x: Variable, configuration: dict[Variable, str]
) -> tuple[list[Fraction], list[Fraction]]:
    """Return the bounds that sentences put on each value of x in one parent configuration."""
    lower, upper = [Fraction(0)] * len(x.values), [Fraction(1)] * len(x.values)
    for sentence in network.sentences:
        if not (sentence.is_atomic and sentence.claim_scope == (x,)):
            continue
        if mentioned(sentence.given) != set(configuration):
            raise ValueError(f"not a unique assessment: {sentence}")
        if holds(sentence.given, configuration):
            _narrow(sentence, x, lower, upper)
    return lower, upper


def _narrow(sentence: Sentence, x: Variable, lower: list[Fraction], upper: list[Fraction]) -> None:
    low, high, claim = sentence.lower, sentence.upper, sentence.claim
    if isinstance(claim, Not):
        low, high, claim = 1 - high, 1 - low, claim.operand
    assert isinstance(claim, Is)
    k = x.values.index(claim.value)
    lower[k], upper[k] = max(lower[k], low), min(upper[k], high)


def _vertices(lower: Sequence[Fraction], upper: Sequence[Fraction]) -> list[Vertex]:
    """List the vertices of the distributions between two bounds: all values but one sit at an end."""
    found = set()
    for free in range(len(lower)):
        others = [k for k in range(len(lower)) if k != free]
        for ends in product(*((lower[k], upper[k]) for k in others)):
            rest = 1 - sum(ends, Fraction(0))
            if lower[free] <= rest <= upper[free]:
                found.add((*ends[:free], rest, *ends[free:]))
    if not found:
        raise ValueError("a local polytope is empty")
    return sorted(found)
