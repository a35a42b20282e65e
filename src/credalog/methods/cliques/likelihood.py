"""Observations that only weigh their parents, gathered into one.

Input: a network and a posterior query. Output: an equivalent, smaller pair, and the way back for its
witnesses.

Let x be observed, a parent of nothing, and let all that is said of it be an interval, or a number, for each
P(x | configuration of its parents). Then x enters each posterior only through the likelihood of its parents,
P(x as observed | parents). Several such x with the same parents enter through the product of their
likelihoods. Each is chosen freely in each configuration, so the products fill an interval again, and a
posterior does not change when all of them are scaled: one observed proposition, as likely as the product
divided by its greatest value, stands for all of them. Forty features of a transaction become one, and the
probability of the evidence, which may have been 1e-20, is ordinary again. All arithmetic is in fractions.

A posterior is monotone in each likelihood, so that its extremes are at ends of all their ranges, at a corner
(docs/proofs.md, proof 7). Where the ranges span so many orders of magnitude that solvers lose the small ones,
each corner is asked by itself, with its own greatest likelihood scaled to one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import inf, log, prod

import numpy as np

from credalog.methods.answer import Answer
from credalog.network.formulas import Is, Not, Variable, World, conjunction, literals_of, scope, truth_table
from credalog.network.graph import DependencyGraph
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.interval import End, Endpoint, Interval, Warrant
from credalog.tables.distribution import Distribution, Factor

__all__ = ["Corner", "Folded", "fold", "spanned"]

CONFIGURATIONS = 1 << 8
"""Observations with more configurations of parents are left alone."""

CORNERS = 1 << 4
"""With more corners than this, none is asked by itself."""

HALVINGS = 60
"""How often the search for likelihoods with a given product halves its range."""

Family = tuple[Variable, ...]
Range = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class _Leaf:
    """An observed variable, its parents, and the range of P(x as observed | configuration) for each.

    Configurations are in the order of `product`.
    """

    variable: Variable
    observed: str
    parents: Family
    likelihood: tuple[Range, ...]

    def factor(self, shares: Sequence[float]) -> Factor:
        """Return P(x | parents) as a table, in each configuration so far up in its range."""
        seen = np.array([_within(one, share) for one, share in zip(self.likelihood, shares, strict=True)])
        columns = [seen if value == self.observed else 1.0 - seen for value in self.variable.values]
        shape = tuple(len(v.values) for v in self.parents)
        return Factor((self.variable,), self.parents, np.stack(columns, axis=-1).reshape(*shape, 2))


@dataclass(frozen=True, slots=True)
class Folded:
    """A network and a query in which gathered observations are one, and which ones each gathers."""

    network: Network
    query: Query
    gathered: Mapping[Variable, Sequence[_Leaf]]

    @property
    def leaves(self) -> tuple[_Leaf, ...]:
        """Return all that was gathered."""
        return tuple(leaf for found in self.gathered.values() for leaf in found)

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

    def corners(self) -> Iterator[Corner]:
        """Yield the corners of all likelihoods; none where they are too many."""
        ranges = [(sign, _product(leaves) or ()) for sign, leaves in self.gathered.items()]
        choices = [sorted({*one}) for _, found in ranges for one in found]
        if prod(map(len, choices)) > CORNERS:
            return
        for chosen in product(*choices):
            left = iter(chosen)
            values = {sign: tuple(next(left) for _ in found) for sign, found in ranges}
            if all(map(any, values.values())):
                yield Corner(self, values)

    def _restored(self, witness: Distribution | None) -> Distribution | None:
        if witness is None:
            return None
        kept = [f for f in witness.factors if f.block[0] not in self.gathered]
        for sign, leaves in self.gathered.items():
            (stands_for,) = (f for f in witness.factors if f.block == (sign,))
            kept += _apart(stands_for, leaves)
        return Distribution(tuple(kept))


@dataclass(frozen=True, slots=True)
class Corner:
    """Gathered observations, each as likely in each configuration of its parents as one end of its range."""

    folded: Folded
    values: Mapping[Variable, tuple[Fraction, ...]]

    @property
    def network(self) -> Network:
        """Return the network in which the greatest likelihood of each observation is one."""
        whole = self.folded.network
        kept = tuple(s for s in whole.sentences if self.values.keys().isdisjoint(s.scope))
        added = (
            sentence
            for sign, values in self.values.items()
            for sentence in _sentences(
                Is(sign), self._parents(sign), [(v / max(values), v / max(values)) for v in values]
            )
        )
        return replace(whole, sentences=(*kept, *added))

    def restored(self, found: Interval) -> Interval:
        """Return an interval with its models on the scale of the gathered observations."""
        lower, upper = (replace(e, model=self._restored(e.model)) for e in (found.lower, found.upper))
        return Interval(lower, upper)

    def _parents(self, sign: Variable) -> Family:
        return self.folded.gathered[sign][0].parents

    def _restored(self, model: Distribution | None) -> Distribution | None:
        if model is None:
            return None
        return Distribution(tuple(self._scaled(factor) for factor in model.factors))

    def _scaled(self, factor: Factor) -> Factor:
        """Replace the law of what stands for observations."""
        sign = factor.block[0]
        if sign not in self.values:
            return factor
        parents = self._parents(sign)
        seen = np.array([float(value) for value in self.values[sign]])
        shape = tuple(len(v.values) for v in parents)
        return Factor((sign,), parents, np.stack([1.0 - seen, seen], axis=-1).reshape(*shape, 2))


def spanned(found: Sequence[Interval]) -> Interval:
    """Return the interval that the intervals of all corners span."""
    return Interval(*(_outermost([interval[end] for interval in found], end) for end in End))


def _outermost(endpoints: Sequence[Endpoint], end: End) -> Endpoint:
    """Return the loosest bound, on the weakest word of all, and the value that is farthest out."""
    bound = end.opposite.tightest(endpoint.bound for endpoint in endpoints)
    warrant = max((e.warrant for e in endpoints), key=list(Warrant).index)
    attaining = max(endpoints, key=lambda e: -inf if e.witnessed is None else -end.sign * e.witnessed)
    return Endpoint(bound, attaining.witnessed, warrant, attaining.model)


def _apart(factor: Factor, leaves: Sequence[_Leaf]) -> Iterator[Factor]:
    """Find tables of the leaves whose product, scaled, is that of the proposition that stands for them."""
    order = [factor.parents.index(v) for v in leaves[0].parents]
    seen = factor.table.transpose(*order, len(order)).reshape(-1, 2)[:, 1]
    greatest = _logarithm(_greatest(leaves))
    shares = [
        _share([leaf.likelihood[c] for leaf in leaves], wanted=_logarithm(float(value)) + greatest)
        for c, value in enumerate(seen)
    ]
    return (leaf.factor(shares) for leaf in leaves)


def _logarithm(value: float | Fraction) -> float:
    """Return a logarithm, of fractions too that are too small for floats."""
    if not value:
        return -inf
    exact = Fraction(value)
    return log(exact.numerator) - log(exact.denominator)


def _share(ranges: Sequence[Range], wanted: float) -> float:
    """Find how far up in all ranges at once the product of values has the logarithm wanted."""
    low, high = 0.0, 1.0
    if all(lower == upper for lower, upper in ranges):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        is_below = sum(_logarithm(_within(one, middle)) for one in ranges) < wanted
        low, high = (middle, high) if is_below else (low, middle)
    return high


def _within(one: Range, share: float) -> float:
    lower, upper = float(one[0]), float(one[1])
    return min(lower + share * (upper - lower), upper)


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
    gone = {leaf.variable for found in families.values() for leaf in found}
    signs = [Is(_new_name(found)) for found in families.values()]
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
    gathered = dict(zip((sign.variable for sign in signs), families.values(), strict=True))
    return Folded(Network(variables, sentences, network.independences), replace(asked, given=given), gathered)


def _new_name(leaves: Sequence[_Leaf]) -> Variable:
    """Name the proposition after what it gathers; no such name can be written in the language."""
    return Variable(f"<{', '.join(leaf.variable.name for leaf in leaves)} as observed>")


def _product(leaves: Sequence[_Leaf]) -> tuple[Range, ...] | None:
    """Multiply likelihoods and scale the greatest to 1; None where the observations are impossible."""
    greatest = _greatest(leaves)
    if not greatest:
        return None
    found = (_multiplied(ranges) for ranges in zip(*(leaf.likelihood for leaf in leaves), strict=True))
    return tuple((lower / greatest, upper / greatest) for lower, upper in found)


def _greatest(leaves: Sequence[_Leaf]) -> Fraction:
    return max(_multiplied(ranges)[1] for ranges in zip(*(leaf.likelihood for leaf in leaves), strict=True))


def _multiplied(ranges: Sequence[Range]) -> Range:
    return prod((r[0] for r in ranges), start=Fraction(1)), prod((r[1] for r in ranges), start=Fraction(1))


def _sentences(sign: Is, parents: Family, likelihood: Sequence[Range]) -> Iterator[Sentence]:
    for values, (lower, upper) in zip(product(*(v.values for v in parents)), likelihood, strict=True):
        given = conjunction(Is(v, value) for v, value in zip(parents, values, strict=True))
        yield Sentence.of(sign, lower, upper, given=given)


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
    known = [(Fraction(0), Fraction(1))] * prod(len(v.values) for v in parents)
    for sentence in sentences:
        stated = _stated(sentence, variable, observed)
        places = np.flatnonzero(truth_table(sentence.given, parents))
        # Over several configurations a number other than 0 and 1 is an average, and fixes none of them.
        if stated is None or (len(places) != 1 and stated[0] != 1 and stated[1] != 0):
            return None
        for place in places:
            lower, upper = known[place]
            known[place] = max(lower, stated[0]), min(upper, stated[1])
    if any(lower > upper for lower, upper in known):
        return None
    return _Leaf(variable, observed, parents, tuple(known))


def _stated(sentence: Sentence, variable: Variable, observed: str) -> Range | None:
    """Return the range of P(variable = observed | given) that a sentence states."""
    if sentence.is_linear:
        return None
    match sentence.claim:
        case Is(claimed, value) if claimed == variable:
            positive = value == observed
        case Not(Is(claimed, value)) if claimed == variable:
            positive = value != observed
        case _:
            return None
    lower, upper = sentence.lower, sentence.upper
    return (lower, upper) if positive else (1 - upper, 1 - lower)
