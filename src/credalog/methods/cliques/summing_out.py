"""Known tables below all else, summed out before the search.

Input: a network in numbers and a posterior query. Output: an equivalent, smaller pair, and the way back for
its witnesses.

A set D of variables that are parents of D alone, each with one number for every theta and nothing else said
of it, enters P(claim, evidence) through the likelihood of its parents outside, and that is known. One
variable with these likelihoods, scaled so that the greatest is one, stands for each connected part of D
(docs/proofs.md, proof 31). The codes of a puzzle, what follows from them and what was shown become
one observation of the lies: where tables of all of them had to agree, one over the lies is left. All
arithmetic is in fractions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np

from credalog.methods.answer import Answer
from credalog.network.formulas import (
    Formula,
    Is,
    Not,
    Or,
    Variable,
    canonical,
    conjunction,
    literals_of,
    scope,
    truth_table,
)
from credalog.network.graph import DependencyGraph
from credalog.network.polytopes import Vertex, ranges
from credalog.network.problem import Problem
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.interval import Interval
from credalog.tables.distribution import Distribution, Factor

__all__ = ["Summed", "sum_out"]

CONFIGURATIONS = 1 << 10
"""A part whose parents have more configurations is left alone."""

MEMBERS = 64
"""A part of more variables is left alone."""

LIVE = 1 << 14
"""So many states at once may be in sight while a part is summed out."""

YES, NO, OTHER = "yes", "no", "other"
"""What stands for a part with the claim says: evidence and claim, evidence without it, no evidence."""

States: TypeAlias = tuple[int, ...]
Law: TypeAlias = Mapping[States, Vertex]
"""The one theta(x | configuration) of each configuration."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A connected part of D, parents first, with its laws; `outside` are its parents that are not in D."""

    members: tuple[int, ...]
    outside: tuple[int, ...]
    laws: Mapping[int, Law]


@dataclass(frozen=True, slots=True)
class Summed:
    """A network and a query in which one variable stands for each part, and the tables of the parts."""

    network: Network
    query: Query
    parts: Mapping[Variable, tuple[Factor, ...]]
    outside: Mapping[Variable, frozenset[Variable]]

    def keeps(self, before: DependencyGraph, after: DependencyGraph) -> bool:
        """Tell whether all variables keep their parents, and the new ones have those assumed.

        A condition that is also a claim is one node of the graph: a sentence that is dropped may take an
        arrow along, and one that is added may inherit some.
        """
        kept = (v for v in after.variables if v not in self.parts)
        assumed = all(set(after.parents(sign)) == self.outside[sign] for sign in self.parts)
        return assumed and all(set(before.parents(v)) == set(after.parents(v)) for v in kept)

    def restored(self, answer: Answer, asked: Query) -> Answer:
        """Return an answer to this query as the answer to the one asked first."""
        ends = (answer.interval.lower, answer.interval.upper)
        lower, upper = (replace(end, model=self._restored(end.model)) for end in ends)
        return replace(answer, query=asked, interval=Interval(lower, upper))

    def _restored(self, model: Distribution | None) -> Distribution | None:
        if model is None:
            return None
        kept = (f for f in model.factors if self.parts.keys().isdisjoint(f.block))
        return Distribution((*kept, *(f for factors in self.parts.values() for f in factors)))


def sum_out(network: Network, problem: Problem, asked: Query) -> Summed | None:
    """Sum out the parts of D that the query is about; None where there is none of several variables."""
    literals = literals_of(asked.given)
    if not literals:
        return None
    number = {v: x for x, v in enumerate(problem.variables)}
    observed = {number[v]: v.values.index(value) for v, value in literals.items()}
    claimed = {number[v] for v in scope(asked.claim)}
    signs = [
        sign
        for part in _parts(problem, _known(network, problem))
        if _is_asked(part, claimed, observed)
        and (sign := _Sign.of(problem, part, asked.claim, claimed, observed)) is not None
    ]
    return _summed(network, problem, asked, signs) if signs else None


def _is_asked(part: _Part, claimed: set[int], observed: Mapping[int, int]) -> bool:
    """Tell whether a part of several variables bears on the query, and the claim is in it or is not."""
    members = set(part.members)
    is_whole = claimed <= members or claimed.isdisjoint(members)
    bears = not members.isdisjoint(claimed | observed.keys())
    return len(members) > 1 and bool(part.outside) and is_whole and bears


# ---- which variables have known tables ----------------------------------------------------------------


def _known(network: Network, problem: Problem) -> dict[int, Law]:
    """Return D with its laws: all that have one, are parents of D alone, and are in nothing else said."""
    structure, number = problem.structure, {v: x for x, v in enumerate(problem.variables)}
    said = {x for s in problem.all_statements for x in s.scope}
    said |= {x for c in problem.declared for x in (*c.left, *c.right, *c.given)}
    said |= {number[v] for contrast in network.contrasts for v in contrast.scope}
    laws: dict[int, Law] = {}
    for component in reversed(structure.components):
        for x in component:
            is_last = all(child in laws for child in structure.children[x])
            if is_last and x not in said and x not in structure.core and (law := _law(problem, x)):
                laws[x] = law
    return laws


def _law(problem: Problem, x: int) -> Law | None:
    """Return the one theta(x | configuration) of each configuration; None where some is not one point."""
    structure, polytopes = problem.structure, problem.polytopes[x]
    sizes = [structure.sizes[p] for p in structure.parents[x]]
    if prod(sizes) > len(polytopes):
        return None
    law: dict[States, Vertex] = {}
    for configuration in product(*map(range, sizes)):
        polytope = polytopes.get(configuration)
        found = () if polytope is None else ranges(polytope)
        if not found or any(low != high for low, high in found):
            return None
        law[configuration] = tuple(low for low, _ in found)
    return law


def _parts(problem: Problem, laws: Mapping[int, Law]) -> Iterator[_Part]:
    """Yield the connected parts of D: two variables hang together where one is the parent of the other."""
    parents = problem.structure.parents
    order = [x for component in problem.structure.components for x in component if x in laws]
    part_of = {x: {x} for x in order}
    for x in order:
        for p in parents[x]:
            if p in laws and part_of[p] is not part_of[x]:
                joined = part_of[p] | part_of[x]
                part_of.update(dict.fromkeys(joined, joined))
    for members in {id(part): part for part in part_of.values()}.values():
        inside = tuple(x for x in order if x in members)
        outside = dict.fromkeys(p for x in inside for p in parents[x] if p not in members)
        yield _Part(inside, tuple(outside), {x: laws[x] for x in inside})


# ---- what stands for a part ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sign:
    """What stands for a part: the likelihood of the evidence, with the claim and without it.

    Where the claim is elsewhere there is one likelihood for each configuration.
    """

    part: _Part
    variable: Variable
    likelihoods: Mapping[States, tuple[Fraction, ...]]

    @classmethod
    def of(
        cls, problem: Problem, part: _Part, claim: Formula, claimed: set[int], observed: Mapping[int, int]
    ) -> _Sign | None:
        """Sum a part out; None where that is too large, or the evidence in it impossible."""
        if prod(problem.structure.sizes[p] for p in part.outside) > CONFIGURATIONS:
            return None
        if len(part.members) > MEMBERS:
            return None
        kept = tuple(sorted(claimed)) if claimed <= set(part.members) else ()
        weights = _weights(problem, part, kept, observed)
        if weights is None:
            return None
        found = _sorted_by_claim(problem, weights, kept, claim, len(part.outside))
        greatest = max(map(sum, found.values()), default=Fraction(0))
        if not greatest:
            return None
        scaled = {key: tuple(v / greatest for v in values) for key, values in found.items()}
        names = ", ".join(problem.variables[x].name for x in part.members)
        values = (OTHER, NO, YES) if kept else ()
        return cls(part, Variable(f"<{names}, summed out>", *([values] if values else [])), scaled)

    @property
    def seen(self) -> Formula:
        """Return what stands for the evidence."""
        if len(self.variable.values) == 2:
            return Is(self.variable)
        return Or((Is(self.variable, YES), Is(self.variable, NO)))

    def sentences(self, problem: Problem, claimed: frozenset[Formula]) -> Iterator[Sentence]:
        """Yield its table; a condition shares no node with a claim, whose parents it would inherit."""
        outside = [problem.variables[p] for p in self.part.outside]
        for states in product(*(range(len(v.values)) for v in outside)):
            atoms = (Is(v, v.values[state]) for v, state in zip(outside, states, strict=True))
            given = conjunction(atoms)
            while canonical(given) in claimed and not isinstance(given, Is):
                given = Not(Not(given))
            for atom, chance in self._chances(states):
                yield Sentence.of(atom, chance, chance, given=given)

    def _chances(self, states: States) -> Iterator[tuple[Is, Fraction]]:
        found = self.likelihoods.get(states)
        if len(self.variable.values) == 2:
            yield Is(self.variable), found[0] if found else Fraction(0)
            return
        yes, no = found or (Fraction(0), Fraction(0))
        yield from ((Is(self.variable, v), p) for v, p in ((YES, yes), (NO, no), (OTHER, 1 - yes - no)))


def _weights(
    problem: Problem, part: _Part, kept: States, observed: Mapping[int, int]
) -> dict[States, Fraction] | None:
    """Sum out all but the parents outside and what is kept, in this order; None where too much is in sight.

    A variable comes into sight with its first child, or its own law, and goes after its last child.
    Configurations that never come into sight have likelihood zero.
    """
    parents = problem.structure.parents
    weights: dict[States, Fraction] = {(): Fraction(1)}
    live: States = ()
    final = {*part.outside, *kept}
    order = _order(part, parents, final)
    for place, x in enumerate(order):
        later = final.union(*(parents[y] for y in order[place + 1 :]))
        seen = (*live, *(p for p in parents[x] if p not in live))
        weights = _with_parents(weights, [problem.structure.sizes[p] for p in seen[len(live) :]])
        live = tuple(y for y in (*seen, x) if y in later)
        weights = _with_one(weights, seen, live, x, parents[x], part.laws[x], observed.get(x))
        if len(weights) > LIVE:
            return None
    places = [live.index(y) for y in (*part.outside, *kept)]
    return {tuple(states[i] for i in places): weight for states, weight in weights.items()}


def _order(part: _Part, parents: Sequence[Sequence[int]], final: set[int]) -> list[int]:
    """Take up next, of those whose parents in the part were taken up, what leaves the fewest in sight."""
    left, done = dict.fromkeys(part.members), list[int]()

    def in_sight(x: int) -> int:
        later = final.union(*(parents[y] for y in left if y != x))
        return len({y for z in (*done, x) for y in (z, *parents[z])} & later)

    while left:
        ready = [x for x in left if left.keys().isdisjoint(parents[x])]
        done.append(min(ready, key=in_sight))
        del left[done[-1]]
    return done


def _with_parents(weights: Mapping[States, Fraction], sizes: Sequence[int]) -> dict[States, Fraction]:
    """Bring variables into sight."""
    return {(*s, *more): w for s, w in weights.items() for more in product(*map(range, sizes))}


def _with_one(
    weights: Mapping[States, Fraction],
    seen: States,
    stays: States,
    x: int,
    parents: Sequence[int],
    law: Law,
    observed: int | None,
) -> dict[States, Fraction]:
    """Multiply by the law of one more variable, and sum over what does not stay."""
    above = [seen.index(p) for p in parents]
    order = [(*seen, x).index(y) for y in stays]
    found: dict[States, Fraction] = {}
    for states, weight in weights.items():
        for state, chance in enumerate(law[tuple(states[i] for i in above)]):
            if chance and observed in (None, state):
                key = tuple((*states, state)[i] for i in order)
                found[key] = found.get(key, Fraction(0)) + weight * chance
    return found


def _sorted_by_claim(
    problem: Problem, weights: Mapping[States, Fraction], kept: States, claim: Formula, outside: int
) -> dict[States, tuple[Fraction, ...]]:
    """Add up, in each configuration outside, what satisfies the claim and what does not."""
    truth = truth_table(claim, [problem.variables[x] for x in kept]) if kept else None
    found: dict[States, list[Fraction]] = {}
    for states, weight in weights.items():
        sums = found.setdefault(states[:outside], [Fraction(0)] * (1 if truth is None else 2))
        sums[0 if truth is None or truth[states[outside:]] else 1] += weight
    return {key: tuple(sums) for key, sums in found.items()}


# ---- the smaller network ------------------------------------------------------------------------------


def _summed(network: Network, problem: Problem, asked: Query, signs: Sequence[_Sign]) -> Summed:
    """Put the signs in the place of their parts."""
    variables = problem.variables
    gone = {variables[x] for sign in signs for x in sign.part.members}
    claimed = frozenset(canonical(claim) for s in network.sentences for _, claim in s.claims)
    added = [sentence for sign in signs for sentence in sign.sentences(problem, claimed)]
    smaller = Network(
        (*(v for v in network.variables if v not in gone), *(sign.variable for sign in signs)),
        (*(s for s in network.sentences if gone.isdisjoint(s.scope)), *added),
        network.independences,
        network.contrasts,
    )
    with_claim = [sign.variable for sign in signs if len(sign.variable.values) > 2]
    claim = Is(with_claim[0], YES) if with_claim else asked.claim
    literals = literals_of(asked.given) or {}
    left = (Is(v, value) for v, value in literals.items() if v not in gone)
    query = replace(asked, claim=claim, given=conjunction((*left, *(sign.seen for sign in signs))))
    parts = {sign.variable: tuple(_factors(problem, sign.part)) for sign in signs}
    outside = {sign.variable: frozenset(variables[p] for p in sign.part.outside) for sign in signs}
    return Summed(smaller, query, parts, outside)


def _factors(problem: Problem, part: _Part) -> Iterator[Factor]:
    """Write the laws of a part as tables, parents first."""
    variables, structure = problem.variables, problem.structure
    for x in part.members:
        parents = structure.parents[x]
        table = np.empty(tuple(structure.sizes[y] for y in (*parents, x)))
        for configuration, theta in part.laws[x].items():
            table[configuration] = [float(value) for value in theta]
        yield Factor((variables[x],), tuple(variables[p] for p in parents), table)
