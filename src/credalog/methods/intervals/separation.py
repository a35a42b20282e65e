"""Which neighbours of a factor are mutually independent in every model, as the Markov condition implies.

Input: a factor graph and the dependency graph. Output: the same factor graph with the independent
neighbours of each factor marked.

Let An(w) be w with all its ancestors. If An(w1), ..., An(wk) are pairwise disjoint and all but at most one of
them are acyclic, then w1, ..., wk are mutually independent (docs/proofs.md, proof 10). Two cyclic blocks need
not be: without positivity the local condition does not imply it.

Disjointness is established in one of two ways. A search upwards from both, given up after a number of steps;
or a bridge: if a and b are parents of x, x is an ancestor of neither, and the edge a - x is a bridge of
the undirected graph, then a common ancestor would close a cycle through that edge.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.methods.intervals.factors import FAMILY, Arrays, FactorGraph, Indices, Kind
from credalog.network.graph import DependencyGraph
from credalog.network.parents import Parents
from credalog.numbers.jit import compiled

__all__ = ["Ancestry", "mark_declared", "mark_independent", "mark_parents"]

MOST_ANCESTORS = 1000
"""How many ancestors of each variable a search visits before it gives up."""

Flags = NDArray[np.bool_]


def mark_independent(graph: FactorGraph, dependencies: DependencyGraph | Parents) -> FactorGraph:
    """Mark, in every factor, a set of neighbours that are mutually independent in every model."""
    rows = _rows(dependencies)
    start, parents = rows.start, rows.flat
    cyclic, component = _cyclic_ancestry(rows)
    bridge = _bridges(start, parents)
    product = graph.arrays.product.copy()
    visited = np.full(len(cyclic), -1)
    _mark(graph.arrays, start, parents, cyclic, component, bridge, visited, product)
    return replace(graph, arrays=graph.arrays._replace(product=product))


class Ancestry:
    """The ancestors of variables as sets, for the few factors around a query."""

    def __init__(self, dependencies: DependencyGraph) -> None:
        self._parents = dependencies.parent_indices
        self.cyclic, self.component = _cyclic_ancestry(_rows(dependencies))
        self._known: dict[int, frozenset[int] | None] = {}

    def of(self, v: int) -> frozenset[int] | None:
        """Return a variable with its ancestors; None where they are too many."""
        if v not in self._known:
            found, frontier = {v}, [v]
            while frontier and len(found) <= MOST_ANCESTORS:
                fresh = set(self._parents[frontier.pop()]) - found
                found |= fresh
                frontier.extend(fresh)
            self._known[v] = None if frontier else frozenset(found)
        return self._known[v]

    def disjoint(self, left: Iterable[int], right: Iterable[int]) -> bool:
        """Tell whether two sets of variables have no common ancestor, and not both a cycle among theirs."""
        one, other = tuple(left), tuple(right)
        if any(self.cyclic[v] for v in one) and any(self.cyclic[v] for v in other):
            return False
        ancestors = [self.of(v) for v in (*one, *other)]
        if any(found is None for found in ancestors):
            return False
        known = [found for found in ancestors if found is not None]
        return frozenset().union(*known[: len(one)]).isdisjoint(frozenset().union(*known[len(one) :]))

    def independent(self, candidates: Iterable[int]) -> list[int]:
        """Choose variables that are mutually independent, in order."""
        chosen: list[int] = []
        for v in candidates:
            if all(self.disjoint((v,), (w,)) for w in chosen):
                chosen.append(v)
        return chosen

    def mark(self, graph: FactorGraph) -> FactorGraph:
        """Mark, in every factor, a set of neighbours that are mutually independent in every model."""
        product = graph.arrays.product.copy()
        for f, factor in enumerate(graph.factors):
            # The local program of a family speaks of its parents alone.
            candidates = factor.scope[:-1] if factor.kind is Kind.FAMILY else factor.scope
            chosen = set(self.independent(candidates))
            product[graph.edges(f)] = [v in chosen for v in factor.scope]
        return replace(graph, arrays=graph.arrays._replace(product=product))


def mark_declared(graph: FactorGraph) -> FactorGraph:
    """Mark a pair that is declared independent in every factor that has no other independence to use.

    Only a pair: of three variables that are pairwise independent, two may determine the third.
    """
    pairs = [
        {graph.index[a], graph.index[b]}
        for declared in graph.network.independences
        if not declared.given
        for a in declared.left
        for b in declared.right
    ]
    if not pairs:
        return graph
    product = graph.arrays.product.copy()
    for f, factor in enumerate(graph.factors):
        # Of a family only the parents are candidates: its local program speaks of them alone.
        candidates = set(factor.scope[:-1] if factor.kind is Kind.FAMILY else factor.scope)
        pair = next((pair for pair in pairs if pair <= candidates), None)
        if pair is not None and product[graph.edges(f)].sum() < 2:
            product[graph.edges(f)] = [v in pair for v in factor.scope]
    return replace(graph, arrays=graph.arrays._replace(product=product))


def mark_parents(graph: FactorGraph) -> FactorGraph:
    """Mark the parents in every table that speaks of one variable given others, as a polytree has them."""
    product = graph.arrays.product.copy()
    for f in np.flatnonzero(graph.arrays.kind == Kind.TABLE).tolist():
        factor = graph.factors[f]
        sentences = [graph.network.sentences[i] for i in factor.sentences]
        heads = {v for s in sentences for v in s.claim_scope}
        if len(heads) == 1 and not any(heads & set(s.given_scope) for s in sentences):
            product[graph.edges(f)] = [graph.network.variables[v] not in heads for v in factor.scope]
    return replace(graph, arrays=graph.arrays._replace(product=product))


def _rows(dependencies: DependencyGraph | Parents) -> Parents:
    if isinstance(dependencies, Parents):
        return dependencies
    return Parents.of_rows(dependencies.parent_indices)


def _cyclic_ancestry(rows: Parents) -> tuple[Flags, Indices]:
    """Flag the variables with a cycle among themselves and their ancestors; number the components."""
    # Small commands end before this is imported.
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    count = len(rows.start) - 1
    edges = (np.ones(len(rows.flat), dtype=np.int8), rows.flat, rows.start)
    above = sp.csr_array(edges, shape=(count, count))
    _, component = connected_components(above, directed=True, connection="strong")
    tied = np.bincount(component, minlength=1)[component] > 1
    # One more node stands above all that lie on cycles: what is below it has a cycle among its ancestors.
    seeds = np.flatnonzero(tied)
    if not len(seeds):
        return tied, component.astype(np.int64)
    child = np.repeat(np.arange(count), np.diff(rows.start))
    source = np.concatenate([rows.flat, np.full(len(seeds), count)])
    target = np.concatenate([child, seeds])
    ones = np.ones(len(source), dtype=np.int8)
    below = sp.csr_array((ones, (source, target)), shape=(count + 1, count + 1))
    reached = breadth_first_order(below, count, return_predecessors=False)
    cyclic = np.zeros(count + 1, dtype=np.bool_)
    cyclic[reached] = True
    return cyclic[:-1], component.astype(np.int64)


def _bridges(start: Indices, parents: Indices) -> Flags:
    """Flag the entries of the parent lists whose undirected edge is a bridge."""
    n = len(start) - 1
    children = np.repeat(np.arange(n), np.diff(start))
    keys = np.minimum(children, parents) * n + np.maximum(children, parents)
    unique, edge = np.unique(keys, return_inverse=True)
    ends = np.concatenate([unique // n, unique % n]) if n else np.empty(0, dtype=np.int64)
    other = np.concatenate([unique % n, unique // n]) if n else np.empty(0, dtype=np.int64)
    order = np.argsort(ends, kind="stable")
    first = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=n), out=first[1:])
    is_bridge = np.ones(len(unique), dtype=np.bool_)
    _clear_cycles(first, other[order], np.tile(np.arange(len(unique)), 2)[order], is_bridge)
    return np.asarray(is_bridge[edge])


@compiled
def _clear_cycles(first: Indices, neighbour: Indices, edge: Indices, is_bridge: Flags) -> None:
    """Clear the flag of every undirected edge that lies on a cycle (depth-first search with low points)."""
    n = len(first) - 1
    found = np.full(n, -1)
    low = np.empty(n, dtype=np.int64)
    cursor = first[:-1].copy()
    path = np.empty(n + 1, dtype=np.int64)
    entered = np.full(n, -1)
    clock = 0
    for root in range(n):
        depth = 0
        if found[root] < 0:
            path[0], depth = root, 1
            found[root] = low[root] = clock
            clock += 1
        while depth:
            x = path[depth - 1]
            if cursor[x] < first[x + 1]:
                y, e = neighbour[cursor[x]], edge[cursor[x]]
                cursor[x] += 1
                if found[y] < 0:
                    found[y] = low[y] = clock
                    clock += 1
                    entered[y] = e
                    path[depth] = y
                    depth += 1
                elif e != entered[x]:
                    low[x] = min(low[x], found[y])
                    is_bridge[e] = False
            else:
                depth -= 1
                if depth:
                    above = path[depth - 1]
                    low[above] = min(low[above], low[x])
                    if low[x] <= found[above]:
                        is_bridge[entered[x]] = False


@compiled
def _disjoint_ancestry(start: Indices, parents: Indices, a: int, b: int, visited: Indices) -> bool:
    """Prove by a bounded search that a and b share no ancestor, themselves counted; False if it gave up.

    The search climbs from both in turn, since common ancestors are usually near. `visited` holds -1
    everywhere, before and after.
    """
    seen = np.empty((2, MOST_ANCESTORS), dtype=np.int64)
    seen[0, 0], seen[1, 0] = a, b
    visited[a], visited[b] = 0, 1
    count, cursor = np.ones(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    disjoint = a != b
    while disjoint and (cursor < count).any():
        for side in range(2):
            if cursor[side] < count[side]:
                x = seen[side, cursor[side]]
                cursor[side] += 1
                for y in parents[start[x] : start[x + 1]]:
                    if visited[y] < 0 and count[side] < MOST_ANCESTORS:
                        visited[y] = side
                        seen[side, count[side]] = y
                        count[side] += 1
                    elif visited[y] != side:
                        disjoint = False
    visited[seen[0, : count[0]]] = -1
    visited[seen[1, : count[1]]] = -1
    return disjoint


@compiled
def _is_bridge(start: Indices, parents: Indices, bridge: Flags, a: int, x: int) -> bool:
    """Tell whether a is a parent of x by an edge that is a bridge."""
    for k in range(start[x], start[x + 1]):
        if parents[k] == a:
            return bool(bridge[k])
    return False


@compiled
def _mark(
    arrays: Arrays,
    start: Indices,
    parents: Indices,
    cyclic: Flags,
    component: Indices,
    bridge: Flags,
    visited: Indices,
    product: Flags,
) -> None:
    """Collect independent neighbours greedily, factor by factor; the head of a family is not a candidate."""
    for f in range(len(arrays.kind)):
        first, last = arrays.edge_start[f], arrays.edge_start[f + 1]
        head = -1
        if arrays.kind[f] == FAMILY:
            last -= 1
            head = arrays.edge_variable[last]
        for e in range(first, last):
            a = arrays.edge_variable[e]
            joins = True
            for d in range(first, e):
                b = arrays.edge_variable[d]
                if joins and product[d]:
                    bridged = (
                        head >= 0
                        and component[a] != component[head] != component[b]
                        and (
                            _is_bridge(start, parents, bridge, a, head)
                            or _is_bridge(start, parents, bridge, b, head)
                        )
                    )
                    joins = not (cyclic[a] and cyclic[b]) and (
                        bridged or _disjoint_ancestry(start, parents, a, b, visited)
                    )
            product[e] = joins
