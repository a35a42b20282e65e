"""The second pair of eyes on every witness: whether a distribution is a model.

Input: a distribution, a network and its dependency graph. Output: the largest violation of any sentence or
independence. Nothing here knows how the distribution was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, prod

import numpy as np

from credalog.network.formulas import truth_table
from credalog.network.graph import DependencyGraph
from credalog.network.sentences import Independence, Network, Sentence
from credalog.tables.distribution import Distribution, Factor, Floats

__all__ = ["violation"]

LENIENCE = 1e-3
"""What a violation relative to its condition is multiplied by: a thousand times more may pass there."""

LAST_DIGITS = 1e-12
"""A violation no larger than this in every parent configuration is rounding, whatever each one weighs."""


def violation(distribution: Distribution, network: Network, graph: DependencyGraph | None) -> float:
    """Return how far a distribution is from being a model: the largest violation of anything.

    Both are measured on joint probabilities, and more leniently relative to the condition. Without a graph
    only the declared independences count (Nilsson's logic). A variable in a block of its own satisfies its
    local condition by construction; for one in a larger block the condition is checked among block and
    parents, which implies it in full (ARCHITECTURE.md).
    """
    factors = {f.block: f for f in distribution.factors}
    local = [_local_excess(s, factors.get(s.claim_scope)) for s in network.sentences]
    far = [s for s, excess in zip(network.sentences, local, strict=True) if excess > LAST_DIGITS]
    tables = distribution.marginals([s.scope for s in far])
    worst = [excess for excess in local if excess <= LAST_DIGITS]
    worst += [_excess(s, table) for s, table in zip(far, tables, strict=True)]
    stated = list(network.independences)
    if graph is not None:
        stated.extend(_local_conditions(distribution, graph))
    return max([0.0, *worst, *(_dependence(distribution, i) for i in stated)])


def _graded(excess: float, mass: float) -> float:
    """Measure an excess on joint probabilities; relative to its condition, a thousand times more may pass."""
    return max(excess, LENIENCE * excess / mass) if mass > 0.0 else excess


def _excess(sentence: Sentence, joint: Floats) -> float:
    """Measure the violation of a sentence on the joint table of its variables."""
    over = sentence.scope
    given = truth_table(sentence.given, over)
    mass = float(joint[given].sum())
    value = sum(
        float(weight) * float(joint[given & truth_table(claim, over)].sum())
        for weight, claim in sentence.claims
    )
    low, high = float(sentence.lower), float(sentence.upper)
    below = _graded(max(low * mass - value, 0.0), mass * _scale(low))
    return max(below, _graded(max(value - high * mass, 0.0), mass * _scale(high)))


def _scale(bound: float) -> float:
    """Return how far a bound is from certainty: P(x) <= 1e-9 is to be kept on its own scale."""
    return min(bound, 1.0 - bound) if 0.0 < bound < 1.0 else 1.0


def _local_excess(sentence: Sentence, factor: Factor | None) -> float:
    """Bound the violation of a sentence about x by the worst under any one parent configuration.

    Infinity where the condition is not about the parents: then nothing is known.
    """
    if factor is None or not set(sentence.given_scope) <= set(factor.parents):
        return inf
    value = sum(
        float(weight) * (factor.table * truth_table(claim, factor.block)).sum(axis=-1)
        for weight, claim in sentence.claims
    )
    rows = np.asarray(value)[truth_table(sentence.given, factor.parents)]
    excess = np.maximum(float(sentence.lower) - rows, rows - float(sentence.upper))
    return float(excess.max(initial=0.0))


def _local_conditions(distribution: Distribution, graph: DependencyGraph) -> Iterator[Independence]:
    for factor in distribution.factors:
        if len(factor.block) == 1 and set(factor.parents) == set(graph.parents(factor.block[0])):
            continue
        near = (*factor.parents, *factor.block)
        for x in factor.block:
            ndnp = set(graph.ndnp(x))
            right = tuple(y for y in near if y in ndnp)
            if right:
                yield Independence((x,), right, graph.parents(x))


def _dependence(distribution: Distribution, independence: Independence) -> float:
    """Return the largest distance of P(left, right, given) from what independence demands.

    It is graded by both contexts: what is rare on one side may still be all that a query is about.
    """
    left, right, given = independence.left, independence.right, independence.given
    joint = distribution.marginal((*given, *left, *right))
    sizes = [prod(len(x.values) for x in group) for group in (given, left, right)]
    table = joint.reshape(sizes)
    mass = table.sum(axis=(1, 2), keepdims=True)
    rights, lefts = table.sum(axis=1, keepdims=True), table.sum(axis=2, keepdims=True)
    # P(l | g) P(r, g), the quotient first: products of rare probabilities would vanish.
    shares = np.divide(lefts, mass, out=np.zeros_like(lefts), where=mass > 0.0)
    gap = np.abs(table - shares * rights)
    context = np.minimum(lefts, rights)
    graded = np.divide(gap, context, out=np.zeros_like(gap), where=context > 0.0)
    return float(max(gap.max(), LENIENCE * graded.max()))
