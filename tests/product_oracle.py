"""Models that can be made up: product distributions, in exact rationals, however rare anything is.

Input: a network, a query, and a product of marginals that satisfies every sentence. Output: two values of the
query that such products attain, as far apart as a coordinate search finds. All variables being independent, a
product has every independence that a network can state; so whatever an answer says must allow both values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from credalog.network.formulas import Formula, Variable
from credalog.network.sentences import Network, Query
from oracle import holds, worlds

__all__ = ["Marginals", "Product", "extreme_products"]

Marginals: TypeAlias = Mapping[Variable, tuple[Fraction, ...]]

GRID = 10**18
"""Steps are cut to this many parts, so that fractions stay short; a shorter step is feasible too."""

SWEEPS = 2


@dataclass(frozen=True, slots=True)
class Product:
    """A distribution under which all variables are independent."""

    marginals: Marginals

    def probability(self, network: Network, formula: Formula) -> Fraction:
        """Return the probability of a formula."""
        return sum((self._mass(world) for world in worlds(network) if holds(formula, world)), Fraction(0))

    def excesses(self, network: Network) -> list[Fraction]:
        """Return, for both bounds of every sentence, by how much they are kept: none may be negative."""
        found = []
        for sentence in network.sentences:
            given = self.probability(network, sentence.given)
            claimed = sum(
                (
                    weight * self.probability(network, claim & sentence.given)
                    for weight, claim in sentence.claims
                ),
                Fraction(0),
            )
            found += [claimed - sentence.lower * given, sentence.upper * given - claimed]
        return found

    def value(self, network: Network, query: Query) -> Fraction | None:
        """Return P(claim | given), or None where the condition has probability zero."""
        given = self.probability(network, query.given)
        return self.probability(network, query.claim & query.given) / given if given else None

    def towards(self, variable: Variable, state: int, step: Fraction) -> Product:
        """Move one marginal towards a point mass."""
        moved = [(1 - step) * p + (step if k == state else 0) for k, p in enumerate(self.marginals[variable])]
        return Product({**self.marginals, variable: tuple(moved)})

    def _mass(self, world: Mapping[Variable, str]) -> Fraction:
        mass = Fraction(1)
        for variable, marginal in self.marginals.items():
            mass *= marginal[variable.values.index(world[variable])]
        return mass


def extreme_products(network: Network, query: Query, start: Marginals) -> tuple[Fraction, Fraction] | None:
    """Return a low and a high value that products attain; None where the start gives the evidence none."""
    product = Product(start)
    if min(product.excesses(network), default=0) < 0:
        raise ValueError("the product to start from is no model")
    if product.value(network, query) is None:
        return None
    low, high = (_climbed(network, query, product, sign) for sign in (-1, 1))
    return low, high


def _climbed(network: Network, query: Query, product: Product, sign: int) -> Fraction:
    """Move one marginal after the other as far as the sentences allow, where that is better.

    Every sentence is linear in one marginal and the query a quotient of two linear functions, hence monotone
    along a step: the whole of the longest step is the best of it.
    """
    best = product.value(network, query)
    assert best is not None
    for _ in range(SWEEPS):
        for variable in network.variables:
            for state in range(len(variable.values)):
                moved = product.towards(variable, state, _longest(network, product, variable, state))
                value = moved.value(network, query)
                if value is not None and sign * value > sign * best:
                    product, best = moved, value
    return best


def _longest(network: Network, product: Product, variable: Variable, state: int) -> Fraction:
    """Return how far a marginal may move towards a point mass before a sentence is violated."""
    here = product.excesses(network)
    there = product.towards(variable, state, Fraction(1)).excesses(network)
    steps = [a / (a - b) for a, b in zip(here, there, strict=True) if b < 0]
    return _cut(min([Fraction(1), *steps]))


def _cut(step: Fraction) -> Fraction:
    return step if step.denominator <= GRID else Fraction(int(step * GRID), GRID)
