"""Models in which tied variables copy each other.

Input: a network whose variables are all tied to each other, directly or not, and a query across its ties.
Output: `copying_models`: distributions in which each variable of the query has a neighbour that always has
its value. Given the neighbour such a variable is known, so that its own condition never binds, and the query
may be asked like one inside a scope (docs/proofs.md, proof 15).

    for distribution in copying_models(network, graph, asked, end=End.LOWER, budget=budget): ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice, product
from typing import assert_never

import numpy as np

from credalog.errors import ProblemTooLarge
from credalog.methods.cliques.fragment import Fragment
from credalog.methods.cliques.witness import distribution_at
from credalog.methods.compiled import Compiled
from credalog.network.formulas import And, Formula, Iff, Implies, Is, Not, Or, Truth, Variable, Xor
from credalog.network.graph import DependencyGraph, Markov
from credalog.network.sentences import Network, Query
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End
from credalog.program.program import Outcome
from credalog.program.solvers.highs import Relaxation
from credalog.tables.distribution import Distribution, Factor

__all__ = ["copying_models"]

Copies = Mapping[Variable, Variable]
"""For each variable that copies, the one that it copies."""

PAIRINGS = 24
"""How many choices of neighbours are tried."""


def copying_models(
    network: Network, graph: DependencyGraph, asked: Query, *, end: End, budget: Budget
) -> Iterator[Distribution]:
    """Yield the distributions with the farthest value of a query, one for each choice of neighbours."""
    if network.independences:
        return
    for copies in islice(_pairings(network, graph, asked), PAIRINGS):
        try:
            found = _farthest(_merged(network, copies), _query(asked, copies), end, budget)
        except (ProblemTooLarge, OutOfTime):
            return
        if found is not None:
            yield Distribution((*found.factors, *(_copy(x, y) for x, y in copies.items())))


def _pairings(network: Network, graph: DependencyGraph, asked: Query) -> Iterator[Copies]:
    """Pair each variable of the query that is not tied to all the others with one tied to it, none twice."""
    inside, wanted = frozenset(network.variables), frozenset(asked.scope)
    spread = [x for x in asked.scope if not wanted <= {x, *graph.parents(x)}]
    choices = [[y for y in graph.parents(x) if y in inside and _may_copy(graph, x, y)] for x in spread]
    for chosen in product(*choices):
        if spread and len({*spread, *chosen}) == 2 * len(spread) and wanted.isdisjoint(chosen):
            yield dict(zip(chosen, spread, strict=True))


def _may_copy(graph: DependencyGraph, x: Variable, y: Variable) -> bool:
    return len(x.values) == len(y.values) and x in graph.parents(y)


def _merged(network: Network, copies: Copies) -> Network:
    """Say of each variable what is said of its copy."""
    kept = tuple(v for v in network.variables if v not in copies)
    sentences = (
        replace(
            s,
            claims=tuple((weight, _renamed(claim, copies)) for weight, claim in s.claims),
            given=_renamed(s.given, copies),
        )
        for s in network.sentences
    )
    return Network(kept, tuple(sentences))


def _query(asked: Query, copies: Copies) -> Query:
    return Query(_renamed(asked.claim, copies), _renamed(asked.given, copies))


def _renamed(formula: Formula, copies: Copies) -> Formula:
    match formula:
        case Truth():
            return formula
        case Is(variable, value):
            other = copies.get(variable)
            return formula if other is None else Is(other, other.values[variable.values.index(value)])
        case Not(operand):
            return Not(_renamed(operand, copies))
        case And(operands) | Or(operands) | Xor(operands):
            return type(formula)(tuple(_renamed(o, copies) for o in operands))
        case Implies(premise, conclusion):
            return Implies(_renamed(premise, copies), _renamed(conclusion, copies))
        case Iff(left, right):
            return Iff(_renamed(left, copies), _renamed(right, copies))
        case _:
            assert_never(formula)


def _farthest(network: Network, asked: Query, end: End, budget: Budget) -> Distribution | None:
    """Solve the linear program without any independence."""
    budget.require_time()
    problem = Compiled(network, Markov.NONE).problem
    fragment = Fragment(problem, tuple(range(len(network.variables))))
    encoding, objective = fragment.encode(asked, Reading.FREE, budget)
    relaxation = Relaxation(encoding.program)
    solve = relaxation.minimize if end is End.LOWER else relaxation.maximize
    claim, _ = solve(objective, encoding.program.ratios.box, timeout=budget.for_solver)
    return distribution_at(encoding, claim.point) if claim.outcome is Outcome.OPTIMAL else None


def _copy(x: Variable, other: Variable) -> Factor:
    return Factor((x,), (other,), np.eye(len(x.values)))
