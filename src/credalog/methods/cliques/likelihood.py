"""Observations that only weigh their parents, gathered into one.

Input: a network and a posterior query. Output: an equivalent, smaller pair, and the way back for its
witnesses.

Let x be observed, a parent of nothing, and let every P(x | configuration of its parents) be a given number.
Then x enters each posterior only through the likelihood of its parents, P(x as observed | parents). Several
such x with the same parents enter through the product of their likelihoods, and a posterior does not
change when that is scaled: one observed proposition, as likely as the product divided by its greatest
value, stands for all of them. Fifteen features of a transaction become one, and the probability of the
evidence, which may have been 1e-20, is ordinary again. The arithmetic is that of fractions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from credalog.methods.answer import Answer
from credalog.network.formulas import Is, Not, Variable, World, conjunction, literals_of, scope, truth_table
from credalog.network.graph import DependencyGraph
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.interval import Interval
from credalog.tables.distribution import Distribution, Factor

__all__ = ["Folded", "fold"]

CONFIGURATIONS = 1 << 8
"""Observations with more configurations of parents are left alone."""

Family = tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class _Leaf:
    """An observed variable, its parents, and P(x as observed | configuration) in the order of `product`."""

    variable: Variable
    observed: str
    parents: Family
    likelihood: tuple[Fraction, ...]

    def factor(self) -> Factor:
        """Return P(x | parents) as a table."""
        seen = np.array([float(value) for value in self.likelihood])
        columns = [seen if value == self.observed else 1.0 - seen for value in self.variable.values]
        shape = tuple(len(v.values) for v in self.parents)
        return Factor((self.variable,), self.parents, np.stack(columns, axis=-1).reshape(*shape, 2))


@dataclass(frozen=True, slots=True)
class Folded:
    """A network and a query in which gathered observations are one, and which ones were gathered."""

    network: Network
    query: Query
    gathered: tuple[Variable, ...]
    leaves: tuple[_Leaf, ...]

    def keeps(self, before: DependencyGraph, after: DependencyGraph) -> bool:
        """Tell whether the gathered variables had the parents assumed, and all others keep theirs.

        A condition that is also the claim of another sentence is one node of the graph: then what leads to
        the claim is a parent too, and a sentence that is dropped may take an arrow along.
        """
        assumed = all(set(before.parents(leaf.variable)) == set(leaf.parents) for leaf in self.leaves)
        gone = {leaf.variable for leaf in self.leaves}
        kept = (v for v in before.variables if v not in gone)
        return assumed and all(set(before.parents(v)) == set(after.parents(v)) for v in kept)

    def restored(self, answer: Answer, asked: Query) -> Answer:
        """Return an answer to this query as the answer to the one asked first."""
        lower, upper = (
            replace(e, model=self._restored(e.model)) for e in (answer.interval.lower, answer.interval.upper)
        )
        return replace(answer, query=asked, interval=Interval(lower, upper))

    def _restored(self, witness: Distribution | None) -> Distribution | None:
        if witness is None:
            return None
        kept = tuple(f for f in witness.factors if not set(f.block) & set(self.gathered))
        return Distribution(kept + tuple(leaf.factor() for leaf in self.leaves))


def fold(network: Network, asked: Query) -> Folded | None:
    """Gather what can be gathered; None where no two observations share their parents."""
    literals = literals_of(asked.given)
    if not literals:
        return None
    families: dict[Family, list[_Leaf]] = {}
    for leaf in _leaves(network, asked, literals):
        families.setdefault(leaf.parents, []).append(leaf)
    several = {parents: found for parents, found in families.items() if len(found) > 1}
    return _folded(network, asked, literals, several) if several else None


def _folded(
    network: Network, asked: Query, literals: World, families: dict[Family, list[_Leaf]]
) -> Folded | None:
    """Put one proposition in the place of every family of observations."""
    leaves = tuple(leaf for found in families.values() for leaf in found)
    gone = {leaf.variable for leaf in leaves}
    signs = [Is(_new_name(network, found)) for found in families.values()]
    products = [_product(found) for found in families.values()]
    if any(likelihood is None for likelihood in products):
        return None
    added = [
        sentence
        for sign, parents, likelihood in zip(signs, families, products, strict=True)
        for sentence in _sentences(sign, parents, likelihood or ())
    ]
    variables = (*(v for v in network.variables if v not in gone), *(sign.variable for sign in signs))
    sentences = (*(s for s in network.sentences if not gone & set(s.scope)), *added)
    given = conjunction((*(Is(v, value) for v, value in literals.items() if v not in gone), *signs))
    gathered = tuple(sign.variable for sign in signs)
    return Folded(
        Network(variables, sentences, network.independences), replace(asked, given=given), gathered, leaves
    )


def _new_name(network: Network, leaves: Sequence[_Leaf]) -> Variable:
    """Name the proposition after what it gathers; no such name can be written in the language."""
    return Variable(f"<{', '.join(leaf.variable.name for leaf in leaves)} as observed>")


def _product(leaves: Sequence[_Leaf]) -> tuple[Fraction, ...] | None:
    """Multiply likelihoods and scale the greatest to 1; None where the observations are impossible."""
    together = [prod(values) for values in zip(*(leaf.likelihood for leaf in leaves), strict=True)]
    greatest = max(together)
    return tuple(Fraction(value) / greatest for value in together) if greatest else None


def _sentences(sign: Is, parents: Family, likelihood: Sequence[Fraction]) -> Iterator[Sentence]:
    for values, p in zip(product(*(v.values for v in parents)), likelihood, strict=True):
        given = conjunction(Is(v, value) for v, value in zip(parents, values, strict=True))
        yield Sentence.of(sign, p, p, given=given)


def _leaves(network: Network, asked: Query, literals: World) -> Iterator[_Leaf]:
    """Yield the observed variables that only weigh their parents."""
    about: dict[Variable, list[Sentence]] = {v: [] for v in literals if len(v.values) == 2}
    for sentence in network.sentences:
        for variable in sentence.scope:
            if variable in about:
                about[variable].append(sentence)
    declared = {v for i in network.independences for v in (*i.left, *i.right, *i.given)}
    elsewhere = declared | set(scope(asked.claim))
    for variable, sentences in about.items():
        if sentences and variable not in elsewhere:
            leaf = _leaf(variable, literals[variable], sentences)
            if leaf is not None:
                yield leaf


def _leaf(variable: Variable, observed: str, sentences: Sequence[Sentence]) -> _Leaf | None:
    """Read P(variable = observed | parents) from all sentences about it; None where it is not all there."""
    parents = tuple(sorted(scope(*(s.given for s in sentences)), key=lambda v: v.name))
    if variable in parents or prod(len(v.values) for v in parents) > CONFIGURATIONS:
        return None
    shape = tuple(len(v.values) for v in parents)
    known: dict[int, Fraction] = {}
    for sentence in sentences:
        p = _stated(sentence, variable, observed)
        places = np.flatnonzero(truth_table(sentence.given, parents))
        # Over several configurations a number other than 0 and 1 is an average, and fixes none of them.
        if p is None or (len(places) != 1 and p not in (0, 1)):
            return None
        if any(known.setdefault(int(place), p) != p for place in places):
            return None
    count = prod(shape)
    if len(known) != count:
        return None
    return _Leaf(variable, observed, parents, tuple(known[place] for place in range(count)))


def _stated(sentence: Sentence, variable: Variable, observed: str) -> Fraction | None:
    """Return P(variable = observed | given) if the sentence states it as a number."""
    if sentence.is_linear or sentence.lower != sentence.upper:
        return None
    match sentence.claim:
        case Is(claimed, value) if claimed == variable:
            positive = value == observed
        case Not(Is(claimed, value)) if claimed == variable:
            positive = value != observed
        case _:
            return None
    return sentence.lower if positive else 1 - sentence.lower
