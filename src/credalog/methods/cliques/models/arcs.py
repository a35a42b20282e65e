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
from math import prod

from credalog.network.graph import DependencyGraph
from credalog.network.relevance import d_connected

__all__ = ["Arcs", "sparse_parents"]

CONFIGURATIONS = 1 << 8
"""Parents are kept while they have no more configurations than this."""

SMALL = 24
"""In components up to this size arcs are tried one by one."""

Arcs = dict[int, tuple[int, ...]]


def sparse_parents(graph: DependencyGraph, over: Iterable[int], first: Iterable[int], *, width: int) -> Arcs:
    """Choose the parents of some variables among themselves; those to come first open their components."""
    inside, opening = frozenset(over), tuple(first)
    arcs: Arcs = {}
    for component in graph.components():
        members = [x for x in component if x in inside]
        if len(component) > 1:
            _arrange(graph, members, [x for x in opening if x in component], arcs, inside=inside, width=width)
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


def _arrange(
    graph: DependencyGraph,
    members: Sequence[int],
    opening: Sequence[int],
    arcs: Arcs,
    *,
    inside: frozenset[int],
    width: int,
) -> None:
    """Give each member of a component parents among the members before it, and outside."""
    known = {x: frozenset(graph.parent_indices[x]) for x in members}
    own, before = frozenset(members), dict[int, int]()
    for x in _order(known, members, opening):
        ties = [y for y in known[x] & before.keys() if x in known[y]]
        # Members that share much are kept first: they are in one claim. Then the latest: they are near.
        ties.sort(key=lambda y: (-len(known[x] & known[y]), -before[y]))
        kept: tuple[int, ...] = ()
        for y in ties:
            if len(kept) < width and all(z in known[y] and y in known[z] for z in kept):
                kept = (*kept, y)
        outside = (
            p for p in graph.parent_indices[x] if p in inside - own and all(p in known[y] for y in kept)
        )
        arcs[x] = _fitting(graph, outside, kept)
        before[x] = len(before)
    if len(members) <= SMALL and width:
        _extend(graph, members, arcs, inside=inside, width=width)


def _order(
    known: Mapping[int, frozenset[int]], members: Sequence[int], opening: Sequence[int]
) -> Iterator[int]:
    """Yield members by maximum cardinality search: next comes the one with most neighbours before it."""
    place = {x: i for i, x in enumerate((*opening, *members))}
    weight = dict.fromkeys(members, 0)
    waiting = {x: (-int(x in opening), place[x]) for x in members}
    children: dict[int, list[int]] = {x: [] for x in members}
    for x in members:
        for p in known[x]:
            if p in children:
                children[p].append(x)
    buckets: list[dict[int, None]] = [dict.fromkeys(sorted(members, key=waiting.__getitem__))]
    while weight:
        while not buckets[-1]:
            buckets.pop()
        x = next(iter(buckets[-1]))
        del buckets[-1][x], weight[x]
        yield x
        for y in (*children[x], *known[x]):
            if y in weight:
                del buckets[weight[y]][y]
                weight[y] += 1
                if weight[y] == len(buckets):
                    buckets.append({})
                buckets[weight[y]][y] = None


def _extend(
    graph: DependencyGraph, members: Sequence[int], arcs: Arcs, *, inside: frozenset[int], width: int
) -> None:
    """Add parents, one by one, that leave every member separated from what it must be independent of."""
    order = {x: i for i, x in enumerate(arcs)}
    own = frozenset(members)
    for x in sorted(members, key=order.__getitem__):
        for p in graph.parent_indices[x]:
            is_early = p in own and order[p] < order[x] and len(own & {*arcs[x], p}) <= width
            if p in arcs[x] or not (is_early or p in inside - own):
                continue
            if _configurations(graph, (*arcs[x], p)) > CONFIGURATIONS:
                continue
            shorter, arcs[x] = arcs[x], (*arcs[x], p)
            if not _conforms(graph, members, arcs):
                arcs[x] = shorter


def _conforms(graph: DependencyGraph, members: Iterable[int], arcs: Arcs) -> bool:
    """Tell whether arcs separate each member from its ndnp by the parents it has in the dependency graph."""
    children: dict[int, list[int]] = {}
    for y, parents in arcs.items():
        for p in parents:
            children.setdefault(p, []).append(y)
    for x in members:
        reached = d_connected(arcs, children, x, graph.parent_indices[x]) - {x}
        if not reached <= graph.descendant_indices(x):
            return False
    return True
