"""Slices: what some variables around a query say about it, however large or wide the network is.

Input: a `Problem` and the variables of a query. Output: `Factorization`s of growing slices, the reading
`SLICED`. A slice keeps the families and sentences among some variables, and inside each of its cliques the
condition of every variable whose parents the clique shows. Each model, seen on these variables, satisfies all
of that, so what the slice proves holds for every model (docs/proofs.md, proof 13).

Cliques come from elimination by mini-buckets (Dechter and Rish, 2003): the tables that show a variable are
gathered in groups no larger than a limit, each group is a clique of its own, and those of one variable agree
on what they share.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod

from credalog.errors import ProblemTooLarge
from credalog.methods.cliques.factorization import (
    Agreement,
    Cheapest,
    Clique,
    Demand,
    Demands,
    Factorization,
    Separator,
)
from credalog.network.problem import Problem
from credalog.network.structure import Condition, Indices, Reading
from credalog.numbers.budget import require_time

__all__ = ["RUNGS", "Rung", "Slices"]

INFORMATIVE = 1 << 5
"""In larger cliques only the conditions of variables whose own probabilities are bounded are stated."""


@dataclass(frozen=True, slots=True)
class Rung:
    """How many variables a slice may have, and how many states a clique."""

    variables: int
    states: int


RUNGS = (Rung(12, 1 << 7), Rung(32, 1 << 8), Rung(96, 1 << 9), Rung(256, 1 << 10), Rung(1024, 1 << 11))
"""The slices that are tried one after the other, while time is left."""


@dataclass(frozen=True)
class Slices:
    """The slices around one query."""

    problem: Problem
    query: Indices

    def factorization(self, rung: Rung) -> Factorization:
        """Return the cliques of the slice of one rung; too large where the query alone is."""
        sizes = self.problem.structure.sizes
        if prod(sizes[x] for x in self.query) > rung.states:
            raise ProblemTooLarge(f"the query is about {len(self.query)} variables at once")
        return _Buckets(self.problem, rung.states).run(self._window(rung), self.query)

    def is_whole(self, rung: Rung) -> bool:
        """Tell whether a rung holds all variables: then the next one has no more."""
        return rung.variables >= len(self.problem.variables)

    @cached_property
    def _scopes(self) -> tuple[frozenset[int], ...]:
        """Return the sets of variables that something is said about: families, sentences, declarations."""
        problem = self.problem
        found = [frozenset((x, *parents)) for x, parents in enumerate(problem.structure.parents)]
        found += [frozenset(s.scope) for s in problem.all_statements]
        found += [frozenset((*c.left, *c.right, *c.given)) for c in problem.declared]
        return tuple(dict.fromkeys(found))

    @cached_property
    def _about(self) -> dict[int, list[frozenset[int]]]:
        """Return the scopes that each variable is in, small ones first."""
        found: dict[int, list[frozenset[int]]] = {}
        for scope in sorted(self._scopes, key=len):
            require_time()
            for x in scope:
                found.setdefault(x, []).append(scope)
        return found

    def _window(self, rung: Rung) -> list[frozenset[int]]:
        """Gather scopes outwards from the query, while they fit; then all that lie among their variables."""
        sizes = self.problem.structure.sizes
        if not self.query:
            # Whether there is a model is asked of all variables alike.
            return [s for s in self._scopes if prod(sizes[x] for x in s) <= rung.states]
        inside, frontier = set(self.query), deque(self.query)
        while frontier:
            require_time()
            for scope in self._about.get(frontier.popleft(), ()):
                fits = prod(sizes[x] for x in scope) <= rung.states
                if fits and len(inside | scope) <= rung.variables:
                    frontier.extend(sorted(scope - inside))
                    inside |= scope
        near = dict.fromkeys(scope for x in sorted(inside) for scope in self._about.get(x, ()))
        fitting = [s for s in near if s <= inside and prod(sizes[x] for x in s) <= rung.states]
        return [self._neighbourhood(rung), *fitting]

    def _neighbourhood(self, rung: Rung) -> frozenset[int]:
        """Gather parents outwards from the query into one scope, so that its conditions fit there."""
        structure = self.problem.structure
        inside, frontier = set(self.query), deque(self.query)
        while frontier:
            parents = structure.parents[frontier.popleft()]
            if prod(structure.sizes[x] for x in inside.union(parents)) <= rung.states:
                frontier.extend(x for x in parents if x not in inside)
                inside.update(parents)
        return frozenset(inside)


class _Buckets:
    """An elimination by mini-buckets under way."""

    def __init__(self, problem: Problem, limit: int) -> None:
        self.problem = problem
        self.structure = problem.structure
        self.limit = limit
        self.reading = Reading.FREE if problem.reading is Reading.FREE else Reading.SLICED
        self.demands = Demands()
        self.cliques: list[Clique] = []
        self.separators: list[Separator] = []
        self.near: dict[int, frozenset[int]] = {}

    def run(self, scopes: Iterable[frozenset[int]], query: Indices) -> Factorization:
        """Eliminate one variable after the other, that with the smallest tables first."""
        for scope in (frozenset(query), *scopes):
            self.demands.add(Demand(scope))
        left = Cheapest(tuple(self.demands.showing), self._cost)
        while left:
            first = len(self.cliques)
            self._eliminate(left.take())
            left.changed({y for clique in self.cliques[first:] for y in clique.scope})
        self._add(Clique((), frozenset(), (), (), ()), self.demands.total)
        cliques, separators = tuple(self.cliques), tuple(self.separators)
        blocks = tuple(clique.block for clique in reversed(cliques[:-1]))
        return Factorization(
            cliques, separators, blocks, self.reading, tuple(sorted(query)), frozenset(), False, is_slice=True
        )

    def _states(self, scope: Iterable[int]) -> int:
        return prod(self.structure.sizes[x] for x in scope)

    def _cost(self, x: int) -> tuple[int, int]:
        return self._states(frozenset().union(*(d.scope for d in self.demands.of((x,))))), x

    def _eliminate(self, x: int) -> None:
        """Build the cliques of one variable."""
        require_time()
        tables = self.demands.of((x,))
        for table in tables:
            self.demands.remove(table)
        numbers = [self._build(x, group) for group in self._groups(tables)]
        for first, second in pairwise(numbers):
            shared = set(self.cliques[first].scope) & set(self.cliques[second].scope)
            self.separators.append(Separator(first, second, tuple(sorted(shared))))

    def _groups(self, tables: Sequence[Demand]) -> list[list[Demand]]:
        """Pack tables into groups no larger than the limit, those that share most together."""
        groups: list[tuple[frozenset[int], list[Demand]]] = []
        for table in sorted(tables, key=lambda t: (-len(t.scope), sorted(t.scope))):
            require_time()
            fitting = (g for g in groups if self._states(g[0] | table.scope) <= self.limit)
            home = max(fitting, key=lambda g: len(g[0] & table.scope), default=None)
            if home is None:
                groups.append((table.scope, [table]))
            else:
                groups[groups.index(home)] = (home[0] | table.scope, [*home[1], table])
        return [found for _, found in groups]

    def _build(self, x: int, group: Sequence[Demand]) -> int:
        scope = frozenset[int]().union(*(t.scope for t in group))
        rest = tuple(sorted(scope - {x}))
        conditions = tuple(self._fitting(scope))
        clique = Clique(tuple(sorted(scope)), frozenset(), (x,), (rest,), conditions, is_free=True)
        askers = [asker for t in group for asker in t.askers]
        number = self._add(clique, Demand(scope, askers=askers))
        self.demands.add(Demand(frozenset(rest), askers=[(number, rest, Agreement.EQUAL)]))
        return number

    def _add(self, clique: Clique, table: Demand) -> int:
        number = len(self.cliques)
        self.cliques.append(clique)
        self.separators += [Separator(a, number, scope, agreement) for a, scope, agreement in table.askers]
        return number

    def _fitting(self, scope: frozenset[int]) -> Iterator[Condition]:
        """State the conditions of the variables whose parents a scope shows; a mirror image once."""
        if self.reading is Reading.FREE:
            return
        stated = set[tuple[frozenset[int], Indices]]()
        few = self._states(scope) <= INFORMATIVE
        for x in sorted(scope):
            given = self.structure.parents[x]
            if not scope.issuperset(given) or not (few or self.problem.polytopes[x]):
                continue
            right = tuple(sorted(scope - self._descending(x)))
            key = frozenset((x, *right)), given
            if right and not (len(right) == 1 and key in stated):
                stated.add(key)
                yield Condition((x,), right, given)

    def _descending(self, x: int) -> frozenset[int]:
        """Return a variable with its descendants and parents: all that its condition does not name."""
        if x not in self.near:
            self.near[x] = self.structure.not_ndnp(x)
        return self.near[x]
