"""Directed acyclic graphs in which a network's Markov condition holds, whatever the tables.

Input: a dependency graph, the variables to arrange, how many members of its own component a variable may
keep as parents. Output: `sparse_parents`: for each variable, parents first, some of the parents it has in
the dependency graph.

Outside components of several variables any choice will do. Inside, call x and y tied if each is a parent of
the other. Let c keep parents that are tied to it, pairwise parents of each other, and outside parents that
the kept ties have as well. Then x is separated from all but its descendants by parents(x): a trail to a
child outside the component goes down to descendants; one to a tied child c is blocked at c, or, where c has
other parents, at these, which are parents of x. In small components further arcs are tried one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from math import prod
from types import MappingProxyType
from typing import assert_never

from credalog.network.formulas import (
    FALSE,
    TRUE,
    And,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Or,
    Truth,
    Variable,
    Xor,
    conjunction,
    disjunction,
)
from credalog.network.graph import DependencyGraph
from credalog.network.sentences import Independence, Network, Sentence
from credalog.network.structure import d_connected
from credalog.numbers.budget import require_time

__all__ = ["Arcs", "formula_in", "network_in", "sparse_parents"]

CONFIGURATIONS = 1 << 12
"""Parents are kept while they have no more configurations than this."""

SMALL = 24
"""In components up to this size arcs are tried one by one."""

Arcs = dict[int, tuple[int, ...]]


def sparse_parents(
    graph: DependencyGraph,
    over: Iterable[int],
    first: Iterable[int],
    *,
    width: int,
    worth: Mapping[frozenset[int], float] = MappingProxyType({}),
) -> Arcs:
    """Choose the parents of some variables among themselves; those to come first open their components.

    Of two ties in the way of each other, the one that is worth more is kept.
    """
    inside, opening = frozenset(over), tuple(first)
    arcs: Arcs = {}
    for component in graph.components():
        members = [x for x in component if x in inside]
        if len(component) > 1:
            arranging = _Component(graph, inside, members, width, worth)
            arranging.arrange([x for x in opening if x in component], arcs)
        elif members:
            arcs[members[0]] = _fitting(graph, (p for p in graph.parent_indices[members[0]] if p in inside))
    return arcs


def _fitting(graph: DependencyGraph, parents: Iterable[int], kept: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Keep parents while their configurations are few."""
    for p in parents:
        if _configurations(graph, (*kept, p)) <= CONFIGURATIONS:
            kept = (*kept, p)
    return kept


def _configurations(graph: DependencyGraph, parents: Iterable[int]) -> int:
    return prod(len(graph.variables[p].values) for p in parents)


@dataclass(frozen=True)
class _Component:
    """The members of one component that are to be arranged."""

    graph: DependencyGraph
    inside: frozenset[int]
    members: Sequence[int]
    width: int
    worth: Mapping[frozenset[int], float]

    @cached_property
    def _known(self) -> dict[int, frozenset[int]]:
        return {x: frozenset(self.graph.parent_indices[x]) for x in self.members}

    def arrange(self, opening: Sequence[int], arcs: Arcs) -> None:
        """Give each member parents among the members before it, and outside."""
        known, own, before = self._known, frozenset(self.members), dict[int, int]()
        for x in self._order(opening):
            require_time()
            kept: tuple[int, ...] = ()
            for y in self._ties(x, before):
                if len(kept) < self.width and all(z in known[y] and y in known[z] for z in kept):
                    kept = (*kept, y)
            outside = (
                p
                for p in self.graph.parent_indices[x]
                if p in self.inside and p not in own and all(p in known[y] for y in kept)
            )
            arcs[x] = _fitting(self.graph, outside, kept)
            before[x] = len(before)
        if len(self.members) <= SMALL and self.width:
            self._extend(arcs)

    def _ties(self, x: int, before: Mapping[int, int]) -> list[int]:
        """Return the ties to members before: of great worth, then those that share much, then the latest."""
        known = self._known
        ties = [y for y in known[x] if y in before and x in known[y]]
        return sorted(ties, key=lambda y: (-self._worth(x, y), -len(known[x] & known[y]), -before[y]))

    def _worth(self, x: int, y: int) -> float:
        return self.worth.get(frozenset((x, y)), 0.0)

    def _order(self, opening: Sequence[int]) -> Iterator[int]:
        """Yield members: next comes the one with the tie of most worth, or most neighbours, before it."""
        near: dict[int, set[int]] = {x: set() for x in self.members}
        for x in self.members:
            for y in self._known[x] & near.keys():
                near[x].add(y)
                near[y].add(x)
        rank = dict.fromkeys(self.members, (0.0, 0))
        waiting = [((0.0, 0), i, x) for i, x in enumerate((*opening, *self.members))]
        # Of equals the one that has waited longest is next: paths in the forest stay short.
        while waiting:
            before, _, x = heappop(waiting)
            if rank.get(x) != before:
                continue
            del rank[x]
            yield x
            for y in near[x] & rank.keys():
                worth, count = rank[y]
                rank[y] = min(worth, -self._worth(x, y)), count - 1
                heappush(waiting, (rank[y], -len(rank), y))

    def _extend(self, arcs: Arcs) -> None:
        """Add parents, one by one, that leave every member separated from what it must be independent of."""
        order = {x: i for i, x in enumerate(arcs)}
        own = frozenset(self.members)
        for x in sorted(self.members, key=order.__getitem__):
            for p in self.graph.parent_indices[x]:
                longer = (*arcs[x], p)
                is_early = p in own and order[p] < order[x] and len(own.intersection(longer)) <= self.width
                if p in arcs[x] or not (is_early or (p in self.inside and p not in own)):
                    continue
                if _configurations(self.graph, longer) <= CONFIGURATIONS:
                    shorter, arcs[x] = arcs[x], longer
                    if not _conforms(self.graph, self.members, arcs):
                        arcs[x] = shorter


def _conforms(graph: DependencyGraph, members: Iterable[int], arcs: Arcs) -> bool:
    """Tell whether arcs separate each member from its ndnp by the parents it has in the dependency graph."""
    children: dict[int, list[int]] = {}
    for y, parents in arcs.items():
        for p in parents:
            children.setdefault(p, []).append(y)
    for x in members:
        require_time()
        reached = d_connected(arcs, children, x, graph.parent_indices[x]) - {x}
        if not reached <= graph.descendant_indices(x):
            return False
    return True


# ---- fixing -----------------------------------------------------------------------------------------------
# A network in which the values of some variables are known.
# Input: a network and a partial world. Output: what it says of the other variables, or None where it
# excludes that world.


def network_in(network: Network, world: Mapping[Variable, str]) -> Network | None:
    """Return a network with some variables replaced by their values; None where a sentence is violated."""
    sentences: list[Sentence] = []
    for sentence in network.sentences:
        if world.keys().isdisjoint(sentence.scope):
            sentences.append(sentence)
            continue
        rest = _sentence_in(sentence, world)
        if rest is None:
            return None
        sentences.extend(rest)
    variables = tuple(v for v in network.variables if v not in world)
    declared = (_independence_in(i, world) for i in network.independences)
    return Network(variables, tuple(sentences), tuple(i for i in declared if i.left and i.right))


def _sentence_in(sentence: Sentence, world: Mapping[Variable, str]) -> list[Sentence] | None:
    """Return what is left of a sentence: itself with fewer variables, nothing, or None if it is violated."""
    given = formula_in(sentence.given, world)
    if given == FALSE:
        return []
    claims = [(weight, formula_in(claim, world)) for weight, claim in sentence.claims]
    known = sum((weight for weight, claim in claims if claim == TRUE), start=Fraction(0))
    open_ = tuple((weight, claim) for weight, claim in claims if not isinstance(claim, Truth))
    lower, upper = sentence.lower - known, sentence.upper - known
    if open_:
        return [replace(sentence, claims=open_, given=given, lower=lower, upper=upper)]
    if lower <= 0 <= upper:
        return []
    impossible = Sentence.of(given, Fraction(0), Fraction(0))
    return None if given == TRUE else [replace(impossible, label=sentence.label, source=sentence.source)]


def _independence_in(independence: Independence, world: Mapping[Variable, str]) -> Independence:
    left, right, given = (
        tuple(v for v in side if v not in world)
        for side in (independence.left, independence.right, independence.given)
    )
    return Independence(left, right, given)


def formula_in(formula: Formula, world: Mapping[Variable, str]) -> Formula:
    """Replace variables of a formula by their values, and simplify."""
    match formula:
        case Truth():
            return formula
        case Is(variable, value):
            return Truth(world[variable] == value) if variable in world else formula
        case Not(operand):
            return _negated(formula_in(operand, world))
        case And(operands):
            parts = [formula_in(o, world) for o in operands]
            return FALSE if FALSE in parts else conjunction(parts)
        case Or(operands):
            parts = [formula_in(o, world) for o in operands]
            return TRUE if TRUE in parts else disjunction(parts)
        case Xor(operands):
            return _parity(formula_in(o, world) for o in operands)
        case Implies(premise, conclusion):
            return formula_in(Or((Not(premise), conclusion)), world)
        case Iff(left, right):
            return _negated(_parity((formula_in(left, world), formula_in(right, world))))
        case _:
            assert_never(formula)


def _negated(formula: Formula) -> Formula:
    match formula:
        case Truth(value):
            return Truth(not value)
        case Not(operand):
            return operand
        case _:
            return Not(formula)


def _parity(parts: Iterable[Formula]) -> Formula:
    odd, open_ = False, []
    for part in parts:
        if isinstance(part, Truth):
            odd ^= part.value
        else:
            open_.append(part)
    rest: Formula = FALSE if not open_ else open_[0] if len(open_) == 1 else Xor(tuple(open_))
    return _negated(rest) if odd else rest
