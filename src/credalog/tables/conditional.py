"""A distribution written down: one conditional table per variable, and the sentences that say the same.

Input: a `Distribution`. Output: `Factor`s of single variables, and a network of point sentences, a Bayesian
network, of which the distribution is the only model. A block of several variables is taken apart by the chain
rule: each of its variables is given the block's parents and the variables before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from credalog.network.formulas import Formula, Is, conjunction
from credalog.network.sentences import Network, Query, Sentence
from credalog.tables.distribution import Distribution, Factor, Floats

__all__ = ["as_tables", "chances", "conditional_tables", "point_network"]

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


def as_tables(distribution: Distribution) -> list[dict[str, Any]]:
    """Return the conditional tables as lists and names."""
    return [
        {
            "variable": table.block[0].name,
            "values": list(table.block[0].values),
            "parents": [parent.name for parent in table.parents],
            "table": table.table.tolist(),
        }
        for table in conditional_tables(distribution)
    ]


def chances(distribution: Distribution) -> Iterator[tuple[Query, float]]:
    """Yield P(x = value | configuration of the parents) for every variable; of a proposition, P(x) only."""
    for factor in conditional_tables(distribution):
        (x,) = factor.block
        for configuration in np.ndindex(factor.table.shape[:-1]):
            given = _configuration(factor, configuration)
            for value, chance in zip(x.values, factor.table[configuration], strict=True):
                if value != "false" or not x.is_proposition:
                    yield Query(Is(x, value), given), float(chance)


def _configuration(factor: Factor, states: tuple[int, ...]) -> Formula:
    """Return what the parents are in one row of a table."""
    return conjunction(Is(p, p.values[state]) for p, state in zip(factor.parents, states, strict=True))


def point_network(distribution: Distribution) -> Network:
    """Return the Bayesian network whose only model is a distribution, up to the decimals written."""
    tables = conditional_tables(distribution)
    variables = tuple(table.block[0] for table in tables)
    return Network(variables, tuple(s for table in tables for s in _sentences(table)))


def _sentences(factor: Factor) -> Iterator[Sentence]:
    """Yield a sentence for every value but the first, whose probability follows."""
    (x,) = factor.block
    for configuration in np.ndindex(factor.table.shape[:-1]):
        given = _configuration(factor, configuration)
        for value, chance in list(zip(x.values, factor.table[configuration], strict=True))[1:]:
            # Rounded down, so that the values of one row never add up to more than one.
            exact = Fraction(floor(float(chance) * DENOMINATOR), DENOMINATOR)
            yield Sentence.of(Is(x, value), exact, exact, given=given)
