"""A distribution written down: one conditional table per variable, and the sentences that say the same.

Enters: a `Distribution`. Leaves: `Factor`s of single variables, and a network of point sentences, a Bayesian
network, of which the distribution is the only model. A block of several variables is taken apart by the chain
rule: each of its variables is given the block's parents and the variables before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import floor

import numpy as np

from credalog.distribution import Distribution, Factor
from credalog.logic import Is, conjunction
from credalog.model import Network, Sentence
from credalog.program import Floats

__all__ = ["conditional_tables", "point_network"]

DENOMINATOR = 10**12
"""Probabilities are written with twelve decimals."""


def conditional_tables(distribution: Distribution) -> tuple[Factor, ...]:
    """Return P(x | parents) for every variable, parents first."""
    return tuple(table for factor in distribution.factors for table in _chain(factor))


def _chain(factor: Factor) -> Iterator[Factor]:
    before = len(factor.parents)
    for i, x in enumerate(factor.block):
        later = tuple(range(before + i + 1, factor.table.ndim))
        yield Factor((x,), factor.parents + factor.block[:i], _normalized(factor.table.sum(axis=later)))


def _normalized(table: Floats) -> Floats:
    """Divide by the sums along the last axis; where nothing is known, all values are alike."""
    sums = table.sum(axis=-1, keepdims=True)
    alike = np.full_like(table, 1.0 / table.shape[-1])
    divided: Floats = np.divide(table, sums, out=alike, where=sums > 0.0)
    return divided


def point_network(distribution: Distribution) -> Network:
    """Return the Bayesian network whose only model is a distribution, up to the decimals written."""
    tables = conditional_tables(distribution)
    variables = tuple(table.block[0] for table in tables)
    return Network(variables, tuple(s for table in tables for s in _sentences(table)))


def _sentences(factor: Factor) -> Iterator[Sentence]:
    """Yield a sentence for every value but the first, whose probability follows."""
    (x,) = factor.block
    for configuration in np.ndindex(factor.table.shape[:-1]):
        states = zip(factor.parents, configuration, strict=True)
        given = conjunction(Is(parent, parent.values[state]) for parent, state in states)
        for value, chance in list(zip(x.values, factor.table[configuration], strict=True))[1:]:
            # Rounded down, so that the values of one row never add up to more than one.
            exact = Fraction(floor(float(chance) * DENOMINATOR), DENOMINATOR)
            yield Sentence.of(Is(x, value), exact, exact, given=given)
