"""A root on which all else is conditioned: each of its values is a case by itself.

Input: a network. Output: `Cases`, a smaller network for each value of the
root, and the way back: the ends of the cases mix in proportion to the root's probabilities (docs/proofs.md,
proof 23).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

import numpy as np

from credalog.network.formulas import And, Formula, Is, Not, Variable, conjunction, literals_of, scope
from credalog.network.graph import DependencyGraph
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.interval import End, Endpoint, Interval, Warrant
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted.rounding import relative_error, round_down, round_up

__all__ = ["Cases", "cases_of"]

MOST_STATES = 1 << 12
"""Models of cases are mixed in tables up to this size."""

Range = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Cases:
    """The networks of a root being false and true, and the range of the probability that it is true."""

    root: Variable
    networks: tuple[Network, Network]
    chance: Range

    def keeps(self, before: DependencyGraph, after: Iterable[DependencyGraph]) -> bool:
        """Tell whether all variables of all cases keep their parents, but for the root."""
        return all(
            set(before.parents(v)) == {self.root, *graph.parents(v)}
            for graph in after
            for v in graph.variables
        )

    def suit(self, asked: Query) -> bool:
        """Tell whether a query may be asked in each case: it has no condition, and is not of the root."""
        return not asked.is_conditional and self.root not in asked.scope

    def mixed(self, found: Sequence[Interval], claim: Formula) -> Interval:
        """Return the interval of the whole, given those of the cases."""
        return Interval(*(self._end([interval[end] for interval in found], end, claim) for end in End))

    def _end(self, found: Sequence[Endpoint], end: End, claim: Formula) -> Endpoint:
        """Mix two ends: linear in the root's probability, the farthest value is at an end of its range."""
        no, yes = found
        bound = end.opposite.tightest(_bound(chance, no.bound, yes.bound, end) for chance in self.chance)
        warrant = max((e.warrant for e in found), key=list(Warrant).index)
        models = [m for chance in self.chance if (m := self._model(chance, no.model, yes.model)) is not None]
        if not models:
            return Endpoint(min(max(bound, 0.0), 1.0), None, warrant)
        farthest = min(models, key=lambda model: end.sign * model.probability(claim))
        return Endpoint(min(max(bound, 0.0), 1.0), farthest.probability(claim), warrant, farthest)

    def _model(
        self, chance: Fraction, no: Distribution | None, yes: Distribution | None
    ) -> Distribution | None:
        """Mix models of the cases; None where one is missing, or where they are not of the same variables."""
        if no is None or yes is None:
            return None
        over, others = (tuple(sorted(_variables(m), key=lambda v: v.name)) for m in (no, yes))
        if over != others or prod(len(v.values) for v in over) > MOST_STATES:
            return None
        laws = Factor((self.root,), (), np.array([1.0 - float(chance), float(chance)]))
        table = np.stack([no.marginal(over), yes.marginal(over)])
        return Distribution((laws, Factor(over, (self.root,), table)))


def _variables(model: Distribution) -> Iterator[Variable]:
    return (v for factor in model.factors for v in factor.block)


def _bound(chance: Fraction, no: float, yes: float, end: End) -> float:
    """Mix two bounds, rounded outwards."""
    value = float(1 - chance) * no + float(chance) * yes
    error = relative_error(4)
    return round_down(value * (1.0 - error)) if end is End.LOWER else round_up(value * (1.0 + error))


def cases_of(network: Network, graph: DependencyGraph) -> Cases | None:
    """Tell a network's cases; None where no root bears on all else, or sentences join what it parts."""
    if network.independences or network.contrasts or not graph.is_cyclic:
        return None
    root = _root(network, graph)
    if root is None:
        return None
    chance = _chance(network, root)
    parted: tuple[list[Sentence], list[Sentence]] = ([], [])
    for sentence in network.sentences:
        if sentence.scope == (root,):
            continue
        case = _case(sentence, root)
        if case is None:
            return None
        parted[case[0]].append(case[1])
    others = tuple(v for v in network.variables if v != root)
    no, yes = (Network(others, tuple(found)) for found in parted)
    return None if chance is None else Cases(root, (no, yes), chance)


def _root(network: Network, graph: DependencyGraph) -> Variable | None:
    """Return the proposition without parents that is a parent of all others, if there is one."""
    for v in network.variables:
        if v.is_proposition and not graph.parents(v):
            return v if all(v in graph.parents(x) for x in network.variables if x != v) else None
    return None


def _chance(network: Network, root: Variable) -> Range | None:
    """Return the range that the sentences about a root leave it; None where it may be certain."""
    low, high = Fraction(0), Fraction(1)
    for sentence in network.sentences:
        if sentence.scope != (root,):
            continue
        if not sentence.draws or sentence.across is not None:
            return None
        match sentence.claims:
            case ((weight, Is(_, value)),) if weight == 1 and sentence.given_scope == ():
                bounds = sentence.lower, sentence.upper
                is_positive = value == root.values[1]
            case ((weight, Not(Is(_, value))),) if weight == 1 and sentence.given_scope == ():
                bounds = sentence.lower, sentence.upper
                is_positive = value == root.values[0]
            case _:
                return None
        least, most = bounds if is_positive else (1 - bounds[1], 1 - bounds[0])
        low, high = max(low, least), min(high, most)
    return (low, high) if 0 < low <= high < 1 else None


def _case(sentence: Sentence, root: Variable) -> tuple[int, Sentence] | None:
    """Return the case that a sentence is about, and what it says there; None where it is about several."""
    world, is_plain = literals_of(sentence.given), sentence.draws and sentence.across is None
    if world is None or root not in world or root in sentence.claim_scope or not is_plain:
        return None
    parts = sentence.given.operands if isinstance(sentence.given, And) else (sentence.given,)
    given = conjunction(part for part in parts if scope(part) != (root,))
    return root.values.index(world[root]), replace(sentence, given=given)
