"""Credal networks: LCNs in which every sentence restricts one theta(x | parent configuration).

Enters: a `Network`, its dependency graph and a `Query`. Leaves: `CredalNetwork`, with the vertices of every
local credal set; `Question`, the query as numbers; the tables of vertices as arrays; and the probability
that one choice of vertices gives to the query, by plain variable elimination.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.errors import ProblemTooLarge
from credalog.network.formulas import (
    And,
    Formula,
    Is,
    Variable,
    World,
    conjunction,
    literals_of,
    scope,
    truth_table,
)
from credalog.network.graph import DependencyGraph, strong_components
from credalog.network.polytopes import (
    Configuration,
    LocalAssessment,
    LocalPolytope,
    Row,
    Vertex,
    local_polytopes,
    vacuous,
    vertices,
)
from credalog.network.relevance import ancestors, relevance
from credalog.network.sentences import Network, Query
from credalog.numbers.interval import Interval
from credalog.tables.cones import Array
from credalog.tables.distribution import Distribution
from credalog.tables.distribution import Factor as ConditionalTable

__all__ = [
    "Choice",
    "Extremes",
    "CredalNetwork",
    "Question",
    "Table",
    "ask",
    "central_tables",
    "chosen_tables",
    "credal_network",
    "distribution",
    "eliminate",
    "question",
]

MAX_CELLS = 1 << 22
"""The largest table of numbers that is built for one family or one step of elimination."""


class Choice(NamedTuple):
    """The choice of one vertex for theta(variable | configuration of its parents)."""

    variable: int
    configuration: Configuration
    vertex: int


@dataclass(frozen=True, slots=True)
class Extremes:
    """An interval and, for each end, the vertices that attain its witnessed value, if any do."""

    interval: Interval
    lower: tuple[Choice, ...] | None
    upper: tuple[Choice, ...] | None


@dataclass(frozen=True, slots=True)
class Question:
    """The query P(variable in event | observed), by numbers."""

    target: int
    event: tuple[bool, ...]
    observed: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Table:
    """The vertices of one family: axes are its unobserved parents, then vertices, then values of the child.

    Where a credal set has fewer vertices than the axis is long, its first one is repeated.
    """

    child: int
    parents: tuple[int, ...]
    vertices: Array
    full: tuple[int | None, ...]
    """For each parent of the network its observed state, None where it is not observed."""

    def configuration(self, states: Sequence[int]) -> Configuration:
        """Complete the states of the unobserved parents with the observed ones."""
        rest = iter(states)
        return tuple(int(next(rest)) if state is None else state for state in self.full)

    def choices(self, picks: NDArray[np.intp]) -> list[Choice]:
        """Name the vertices picked in every configuration of the unobserved parents."""
        shape = self.vertices.shape[:-2]
        numbers = picks.reshape(-1)
        return [
            Choice(self.child, self.configuration(states), int(number))
            for states, number in zip(np.ndindex(*shape), numbers, strict=True)
        ]


_CERTAIN = {
    truth: LocalPolytope(2, (Row((Fraction(0), Fraction(1)), Fraction(truth), Fraction(truth)),))
    for truth in (False, True)
}


@dataclass(frozen=True)
class CredalNetwork:
    """A network whose sentences are all local, on an acyclic graph, with no empty credal set.

    The last `indicators` variables are not the user's: each stands for a formula.
    """

    network: Network
    parents: tuple[tuple[int, ...], ...]
    assessment: LocalAssessment
    indicators: int = 0

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of values of each variable."""
        return tuple(len(variable.values) for variable in self.network.variables)

    def vertices(self, x: int, configuration: Configuration) -> tuple[Vertex, ...]:
        """Return the vertices of one local credal set."""
        polytope = self.assessment.polytopes[x].get(configuration)
        return vertices(vacuous(self.sizes[x]) if polytope is None else polytope)

    def with_indicator(self, formula: Formula) -> CredalNetwork:
        """Add a two-valued variable that is true exactly where the formula is."""
        mentioned = scope(formula)
        index = {variable: i for i, variable in enumerate(self.network.variables)}
        polytopes = {
            tuple(int(state) for state in states): _CERTAIN[bool(holds)]
            for states, holds in np.ndenumerate(truth_table(formula, mentioned))
        }
        variables = (*self.network.variables, Variable(f"indicator {len(self.sizes)}"))
        return CredalNetwork(
            Network(variables, self.network.sentences),
            (*self.parents, tuple(index[x] for x in mentioned)),
            LocalAssessment((*self.assessment.polytopes, polytopes), self.assessment.places, ()),
            self.indicators + 1,
        )

    def table(self, x: int, observed: Mapping[int, int]) -> Table:
        """Lay out the vertices of a family, its observed parents fixed."""
        full = tuple(observed.get(p) for p in self.parents[x])
        free = tuple(p for p in self.parents[x] if p not in observed)
        shape = tuple(self.sizes[p] for p in free)
        if prod(shape) * self.sizes[x] > MAX_CELLS:
            raise ProblemTooLarge(f"{self.network.variables[x]} has too many parent configurations")
        table = Table(x, free, np.empty(0), full)
        lists = [self.vertices(x, table.configuration(states)) for states in np.ndindex(*shape)]
        longest = max(map(len, lists))
        padded = [[*found, *[found[0]] * (longest - len(found))] for found in lists]
        values = np.array(padded, dtype=np.float64).reshape(*shape, longest, self.sizes[x])
        return Table(x, free, values, full)


def credal_network(network: Network, graph: DependencyGraph) -> CredalNetwork | None:
    """Read a network as a credal network; None where it says anything that is not local."""
    if network.independences or graph.is_cyclic:
        return None
    assessment = local_polytopes(network, graph)
    if assessment.rest or any(p.is_empty for found in assessment.polytopes for p in found.values()):
        return None
    return CredalNetwork(network, graph.parent_indices, assessment)


def question(network: Network, query: Query) -> Question | None:
    """Put a query about an event of one variable given literals in numbers; None for any other."""
    asked, literals = scope(query.claim), literals_of(query.given)
    if len(asked) != 1 or literals is None:
        return None
    index = {variable: i for i, variable in enumerate(network.variables)}
    observed = {index[x]: x.values.index(value) for x, value in literals.items()}
    event = tuple(bool(b) for b in truth_table(query.claim, asked))
    return Question(index[asked[0]], event, observed)


def ask(credal: CredalNetwork, query: Query) -> tuple[CredalNetwork, Question] | None:
    """Put any query in numbers; None where its claim mentions no variable or a formula is too wide.

    A formula of several variables becomes a variable of its own, a child of those with probabilities 0 and 1:
    the network returned has these in addition.
    """
    world, formulas = _evidence(query.given)
    asked = scope(query.claim)
    if not asked or any(prod(len(x.values) for x in scope(f)) > MAX_CELLS for f in (*formulas, query.claim)):
        return None
    indicators = {}
    for formula in formulas if len(asked) == 1 else (*formulas, query.claim):
        indicators[formula] = len(credal.sizes)
        credal = credal.with_indicator(formula)
    literals = conjunction(x.is_(value) for x, value in world.items())
    claim = query.claim if len(asked) == 1 else Is(credal.network.variables[-1])
    simple = question(credal.network, Query(claim, literals))
    assert simple is not None, "one variable given literals"
    observed = {**simple.observed, **{indicators[formula]: 1 for formula in formulas}}
    return credal, Question(simple.target, simple.event, observed)


def _evidence(given: Formula) -> tuple[World, list[Formula]]:
    """Split a condition into literals and other conjuncts; what contradicts a literal is one of these."""
    world: World = {}
    formulas = []
    for part in given.operands if isinstance(given, And) else (given,):
        literals = literals_of(part)
        if literals is None or any(world.get(x, value) != value for x, value in literals.items()):
            formulas.append(part)
        else:
            world.update(literals)
    return world, formulas


def distribution(credal: CredalNetwork, asked: Question, choices: Iterable[Choice]) -> Distribution:
    """Return the model that a choice of vertices selects, over all ancestors of the query and the evidence.

    Variables that do not take part get the mean of their vertices, which leaves the evidence possible.
    """
    chosen = {(choice.variable, choice.configuration): choice.vertex for choice in choices}
    families = set(relevance(credal.parents, [asked.target], asked.observed).families)
    known = len(credal.network.variables) - credal.indicators
    wanted = ancestors(credal.parents, [asked.target, *asked.observed])
    order = (x for component in strong_components(credal.parents) for x in component)
    return Distribution(
        tuple(_chosen_factor(credal, x, chosen, x in families) for x in order if x in wanted and x < known)
    )


def _chosen_factor(
    credal: CredalNetwork, x: int, chosen: Mapping[tuple[int, Configuration], int], takes_part: bool
) -> ConditionalTable:
    variables = credal.network.variables
    shape = [credal.sizes[p] for p in credal.parents[x]]
    table = np.empty((*shape, credal.sizes[x]))
    for configuration in np.ndindex(*shape):
        corners = np.array(credal.vertices(x, configuration), dtype=np.float64)
        vertex = chosen.get((x, configuration), 0 if takes_part else None)
        table[configuration] = corners.mean(axis=0) if vertex is None else corners[vertex]
    parents = tuple(variables[p] for p in credal.parents[x])
    return ConditionalTable((variables[x],), parents, table)


Factor: TypeAlias = tuple[tuple[int, ...], Array]


def chosen_tables(tables: Iterable[Table], choices: Iterable[Choice]) -> list[Factor]:
    """Return the conditional tables that a choice of vertices selects; the first vertex where none is."""
    chosen = {(choice.variable, choice.configuration): choice.vertex for choice in choices}
    factors = []
    for table in tables:
        shape = table.vertices.shape[:-2]
        picks = [chosen.get((table.child, table.configuration(s)), 0) for s in np.ndindex(*shape)]
        index = np.array(picks).reshape(*shape, 1, 1)
        theta = np.take_along_axis(table.vertices, index, axis=-2)[..., 0, :]
        factors.append(((*table.parents, table.child), theta))
    return factors


def central_tables(tables: Iterable[Table]) -> list[Factor]:
    """Return the mean of the vertices of every credal set: it gives zero only to what always has zero."""
    return [((*table.parents, table.child), table.vertices.mean(axis=-2)) for table in tables]


def eliminate(factors: Sequence[Factor], observed: Mapping[int, int], *, keep: int | None = None) -> Array:
    """Sum all variables but one out of a product of tables; the result is scaled to at most one."""
    rest = [_restrict(factor, observed) for factor in factors]
    while True:
        neighbours = _neighbours(rest)
        open_ = [x for x in neighbours if x != keep]
        if not open_:
            break
        x = min(open_, key=lambda x: (prod(neighbours[x].values()), x))
        touching = [factor for factor in rest if x in factor[0]]
        rest = [factor for factor in rest if x not in factor[0]]
        rest.append(_sum_out(touching, x, neighbours[x]))
    return reduce(np.multiply, [values for _, values in rest])


def _restrict(factor: Factor, observed: Mapping[int, int]) -> Factor:
    members, values = factor
    index = tuple(observed.get(x, slice(None)) for x in members)
    return tuple(x for x in members if x not in observed), values[index]


def _neighbours(factors: Sequence[Factor]) -> dict[int, dict[int, int]]:
    """Return for each variable the sizes of all variables that share a factor with it."""
    found: dict[int, dict[int, int]] = {}
    for members, values in factors:
        sizes = dict(zip(members, values.shape, strict=True))
        for x in members:
            found.setdefault(x, {}).update(sizes)
    return found


def _sum_out(factors: Sequence[Factor], x: int, sizes: Mapping[int, int]) -> Factor:
    if prod(sizes.values()) > MAX_CELLS:
        raise ProblemTooLarge(f"elimination needs a table of {prod(sizes.values())} numbers")
    letters = {member: i for i, member in enumerate(sizes)}
    kept = tuple(member for member in sizes if member != x)
    operands: list[object] = []
    for members, values in factors:
        operands += [values, [letters[member] for member in members]]
    summed = np.asarray(np.einsum(*operands, [letters[member] for member in kept]))  # type: ignore[call-overload]
    # Only quotients are asked for, so every step may be scaled to stay clear of underflow.
    return kept, summed / (summed.max() or 1.0)
