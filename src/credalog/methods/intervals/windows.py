"""Windows: local programs that see the neighbourhood of a factor, for tighter sound messages.

Input: a factor graph, its dependency graph and a radius. Output: the factor graph with one more factor per
window, a table over several factors' variables that obeys all their sentences and the independences that
fit inside it.

Inside a window W the Markov condition is used through linear rows that every model satisfies. Let x have
all its parents in W and let R be variables of W that are neither parents nor descendants of x. Then P(x |
z, r) = P(x | z) for values z of the parents and r of R, so bounds l <= P(x | z) <= u hold in every context:
l·p(z, r) <= p(x, z, r) <= u·p(z, r). What comes earlier in an order of the components, parents first, is no
descendant (docs/proofs.md, proof 11).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from credalog.methods.intervals.factors import (
    Encoded,
    Factor,
    FactorGraph,
    Floats,
    Indices,
    Kind,
    assemble,
    sentence_rows,
)
from credalog.network.graph import DependencyGraph
from credalog.trusted.rounding import all_rounded_down

__all__ = ["Surroundings", "widen"]


def widen(graph: FactorGraph, dependencies: DependencyGraph, radius: int, *, implied: bool) -> FactorGraph:
    """Add the window of every factor; a window inside an earlier one is left out."""
    surroundings = Surroundings.of(graph, dependencies, 32 * 2**radius, implied=implied)
    seen: dict[int, list[set[int]]] = {}
    windows = []
    for factor in graph.factors:
        scope = surroundings.grow(set(factor.scope), radius)
        known = any(set(scope) <= other for other in seen.get(scope[0], ()))
        if len(scope) > len(factor.scope) and not known:
            windows.append(surroundings.encode(scope))
            for v in scope:
                seen.setdefault(v, []).append(set(scope))
    return assemble(graph.network, [*graph.encoded(), *windows])


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a window is built from."""

    graph: FactorGraph
    dependencies: DependencyGraph
    most_worlds: int
    touching: tuple[tuple[int, ...], ...]
    """The factors of each variable."""
    order: Indices
    """The position of each variable's component, parents first."""
    assessed: dict[int, int]
    """The factor that bounds P(x | z) for all parents of x, by x."""

    @classmethod
    def of(
        cls, graph: FactorGraph, dependencies: DependencyGraph, most_worlds: int, *, implied: bool
    ) -> Surroundings:
        """Collect what windows are built from; `implied` says whether the Markov condition may be used."""
        a = graph.arrays
        starts = a.variable_start
        touching = tuple(
            tuple(a.edge_factor[a.variable_edge[starts[v] : starts[v + 1]]].tolist())
            for v in range(len(a.size))
        )
        order = np.empty(len(a.size), dtype=np.int64)
        for number, members in enumerate(dependencies.components()):
            order[list(members)] = number
        assessed = {
            factor.scope[-1]: f
            for f, factor in enumerate(graph.factors)
            if implied
            and factor.separate
            and set(factor.scope[:-1]) == set(dependencies.parent_indices[factor.scope[-1]])
        }
        return cls(graph, dependencies, most_worlds, touching, order, assessed)

    def grow(self, scope: set[int], radius: int) -> tuple[int, ...]:
        """Grow a set of variables through neighbouring factors, by those that complete most factors first."""
        for _ in range(radius):
            reach = {w for v in scope for f in self.touching[v] for w in self.graph.factors[f].scope} - scope
            fits = [w for w in reach if self.worlds((*scope, w)) <= self.most_worlds]
            if not fits:
                break
            while fits:
                best = min(fits, key=lambda w: (-self._completed(scope, w), self.order[w], w))
                scope = scope | {best}
                fits = [w for w in fits if w != best and self.worlds((*scope, w)) <= self.most_worlds]
        return tuple(sorted(scope))

    def _completed(self, scope: set[int], extra: int) -> int:
        """Count the factors that would come to lie inside the window."""
        return sum(scope.issuperset(set(self.graph.factors[f].scope) - {extra}) for f in self.touching[extra])

    def worlds(self, scope: Collection[int]) -> int:
        """Count the worlds of a set of variables."""
        return prod(int(self.graph.arrays.size[v]) for v in scope)

    def encode(self, scope: tuple[int, ...]) -> Encoded:
        """Write the sentences and the in-context bounds of a window as rows over its worlds."""
        near = sorted({f for v in scope for f in self.touching[v]})
        inside = [f for f in near if set(self.graph.factors[f].scope) <= set(scope)]
        sentences = tuple(sorted(i for f in inside for i in self.graph.factors[f].sentences))
        network = self.graph.network
        variables = tuple(network.variables[v] for v in scope)
        rows = [sentence_rows([network.sentences[i] for i in sentences], variables)]
        shape = tuple(len(v.values) for v in variables)
        values = np.indices(shape).reshape(len(shape), -1)
        rows += [row for x in scope if x in self.assessed for row in self._in_context(x, scope, values)]
        return Encoded(Factor(scope, sentences, Kind.TABLE), np.concatenate(rows))

    def _in_context(self, x: int, scope: tuple[int, ...], values: Indices) -> Iterator[Floats]:
        """Yield l·p(z, r) - p(x, z, r) <= 0 and p(x, z, r) - u·p(z, r) <= 0 for all z and r."""
        *parents, _ = self.graph.factors[self.assessed[x]].scope
        rest = [w for w in scope if self.order[w] < self.order[x] and w not in parents]
        if not set(parents) <= set(scope) or not rest:
            return
        place = {v: i for i, v in enumerate(scope)}
        below, above = self.graph.coefficients(self.assessed[x])
        true = values[place[x]] == 1
        z = _number(values[[place[v] for v in parents]], [2] * len(parents))
        sizes = [int(self.graph.arrays.size[v]) for v in rest]
        context = z * prod(sizes) + _number(values[[place[v] for v in rest]], sizes)
        for number in range(2 ** len(parents) * prod(sizes)):
            here = context == number
            lower, upper = below[number // prod(sizes)], above[number // prod(sizes)]
            if lower > 0.0:
                yield all_rounded_down(np.where(here, lower - true, 0.0))[None]
            if upper < 1.0:
                yield all_rounded_down(np.where(here, true - upper, 0.0))[None]


def _number(values: Indices, sizes: list[int]) -> Indices:
    """Return the numbers of the joint values of several variables, the last fastest."""
    number = np.zeros(values.shape[1], dtype=np.int64)
    for row, size in zip(values, sizes, strict=True):
        number = number * size + row
    return number
