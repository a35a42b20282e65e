"""Models of a sparse form: a table P(x | some parents) per variable, all independences by construction.

Input: a network and a directed acyclic graph on its variables in which its Markov condition holds. Output:
`SparseModels`: any such model, or one with a good value of a query, by the linear relaxation and sequential
linear programs of the factorized program; in parts, where parts share no variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np

from credalog.errors import ProblemTooLarge
from credalog.methods.cliques.fragment import Fragment
from credalog.methods.cliques.models.arcs import Arcs
from credalog.methods.cliques.witness import STEPS, Candidate, WitnessSearch, conditional_within
from credalog.network.formulas import TRUE
from credalog.network.graph import DependencyGraph, Markov
from credalog.network.problem import Problem, problem_of, restrict, separate_parts
from credalog.network.sentences import Network, Query
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program.program import Outcome
from credalog.program.solvers.highs import Relaxation
from credalog.tables.distribution import Distribution, Factor

__all__ = ["SparseModels"]


@dataclass(frozen=True)
class SparseModels:
    """The models of a network that factorize over some arcs, numbered like its variables, parents first."""

    network: Network
    arcs: Arcs
    _any: dict[frozenset[int], tuple[Factor, ...] | None] = field(default_factory=dict, compare=False)

    @cached_property
    def problem(self) -> Problem:
        """Return the network in numbers, with the arcs for its dependency graph."""
        return problem_of(self.network, _as_graph(self.network, self.arcs), Markov.LOCAL)

    def best(self, asked: Query, *, end: End, budget: Budget) -> Iterator[Distribution]:
        """Yield models, the later ones with better values of the query as far as this form knows."""
        number = {v: i for i, v in enumerate(self.network.variables)}
        shown = frozenset(number[v] for v in asked.scope)
        parts = separate_parts(self.problem, range(len(number)), sorted(shown))
        silent = [self._any_of(part, budget) for part in parts if not part & shown]
        if any(factors is None for factors in silent):
            return
        rest = tuple(f for factors in silent for f in factors or ())
        asking = [part for part in parts if part & shown]
        if not asking:
            yield self._arranged(rest)
        for part in asking:
            for factors in self._solved(part, asked, end=end, budget=budget):
                yield self._arranged((*rest, *factors))

    def _any_of(self, part: frozenset[int], budget: Budget) -> tuple[Factor, ...] | None:
        if part not in self._any:
            found = self._solved(part, Query(TRUE), end=End.LOWER, budget=budget)
            self._any[part] = next(found, None)
        return self._any[part]

    def _solved(
        self, part: frozenset[int], asked: Query, *, end: End, budget: Budget
    ) -> Iterator[tuple[Factor, ...]]:
        """Yield the factors of models of one part: from the relaxation's point, or from its middle."""
        kept = tuple(sorted(part))
        problem = restrict(self.problem, kept)
        try:
            encoding, objective = Fragment(problem, kept).encode(asked, Reading.LITERAL)
        except ProblemTooLarge:
            return
        relaxation, box = Relaxation(encoding.program), encoding.program.ratios.box
        solve = relaxation.minimize if end is End.LOWER else relaxation.maximize
        claim, _ = solve(objective, box, timeout=budget.for_solver)
        if claim.outcome is Outcome.INFEASIBLE:
            return
        walk = WitnessSearch(encoding, objective, end, budget)
        if claim.outcome is Outcome.OPTIMAL:
            found = walk.from_point(claim.point, steps=STEPS)
            yield from self._completed(problem, walk, found)
            if found is not None:
                return
        center = relaxation.center(objective, box, budget.for_solver)
        if center is not None and not budget.is_spent:
            yield from self._completed(problem, walk, walk.from_afar(center))

    def _completed(
        self, problem: Problem, walk: WitnessSearch, found: Candidate | None
    ) -> Iterator[tuple[Factor, ...]]:
        """Yield a candidate with tables for the variables that it does not show; then without its traces."""
        clean = None if found is None else walk.without_traces(found)
        for candidate in (found, clean):
            if candidate is not None and candidate.is_feasible:
                factors = candidate.distribution.factors
                shown = {v for factor in factors for v in factor.block}
                others = (i for i, v in enumerate(problem.variables) if v not in shown)
                yield (*factors, *(_within_polytopes(problem, i) for i in others))

    def _arranged(self, factors: Sequence[Factor]) -> Distribution:
        """Bring factors into an order in which parents come first."""
        variables = self.network.variables
        place = {variables[x]: i for i, x in enumerate(self.arcs)}
        return Distribution(tuple(sorted(factors, key=lambda f: place[f.block[0]])))


def _as_graph(network: Network, arcs: Mapping[int, Sequence[int]]) -> DependencyGraph:
    """Return the arcs as a dependency graph."""
    children: list[list[int]] = [[] for _ in network.variables]
    for x, parents in arcs.items():
        for p in parents:
            children[p].append(x)
    return DependencyGraph(
        variables=network.variables,
        formulas=(),
        edges=tuple((p, x) for x in sorted(arcs) for p in arcs[x]),
        parent_indices=tuple(tuple(sorted(arcs[x])) for x in range(len(network.variables))),
        child_indices=tuple(tuple(sorted(own)) for own in children),
        _index={v: i for i, v in enumerate(network.variables)},
    )


def _within_polytopes(problem: Problem, x: int) -> Factor:
    """Choose a table in the middle of the local polytopes of a variable."""
    structure = problem.structure
    parents, polytopes = structure.parents[x], problem.polytopes[x]
    shape = tuple(structure.sizes[p] for p in parents)
    nothing = np.zeros(structure.sizes[x])
    rows = [conditional_within(nothing, polytopes.get(z)) for z in product(*map(range, shape))]
    table = np.array(rows).reshape(*shape, structure.sizes[x])
    return Factor((problem.variables[x],), tuple(problem.variables[p] for p in parents), table)
