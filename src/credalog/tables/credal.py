"""Credal networks: LCNs in which every sentence restricts one theta(x | parent configuration).

Input: a `Network`, its dependency graph and a `Query`. Output: `CredalNetwork`, with the vertices of every
local credal set; `Question`, the query as numbers; the tables of vertices as arrays; and the model that one
choice of vertices selects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import comb, nextafter, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credalog.errors import ProblemTooLarge
from credalog.network.families import Family
from credalog.network.formulas import (
    Formula,
    Is,
    Variable,
    conjunction,
    literals_of,
    scope,
    truth_table,
)
from credalog.network.graph import DependencyGraph, strong_components
from credalog.network.polytopes import (
    Configuration,
    FamilyPolytopes,
    LocalPolytope,
    Row,
    Vertex,
    has_empty,
    interval_centre,
    local_polytopes,
    ranges,
    single_value_bounds,
    vacuous,
    vertices,
)
from credalog.network.sentences import Network, Query, Sentence
from credalog.network.structure import Relevance, ancestors, relevance
from credalog.numbers.budget import require_time
from credalog.numbers.interval import Endpoint
from credalog.tables.cones import Array
from credalog.tables.distribution import Distribution, Factor, observations
from credalog.tables.elimination import MAX_CELLS, Potential
from credalog.tables.interval_sets import interval_vertices

__all__ = [
    "Choice",
    "Extreme",
    "CredalNetwork",
    "FamilyTable",
    "Question",
    "Table",
    "ask",
    "credal_network",
    "credal_part",
    "distribution",
    "question",
]

MAX_VERTICES = 1 << 13
"""The most vertices of one local credal set that are enumerated."""

FEW_CONFIGURATIONS = 1 << 8
"""Up to so many parent configurations the centres of all credal sets of a family are kept."""

TINY = Fraction(1, 10**300)
"""A smaller probability is not rounded to a float with a small relative error."""


class Choice(NamedTuple):
    """The choice of one vertex for theta(variable | configuration of its parents)."""

    variable: int
    configuration: Configuration
    vertex: int


@dataclass(frozen=True, slots=True)
class Extreme:
    """A proved end of an interval, and the vertices that come closest to it, if any give the evidence.

    Where there are no vertices, whole tables may come close to it instead.
    """

    endpoint: Endpoint
    choices: tuple[Choice, ...] | None
    tables: Mapping[int, Array] | None = None


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

    def configurations(self, sizes: Sequence[int]) -> list[Configuration]:
        """List all configurations that agree with the observed parents."""
        return [self.configuration(states) for states in np.ndindex(*(sizes[p] for p in self.parents))]

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
    graph: DependencyGraph
    parents: tuple[tuple[int, ...], ...]
    polytopes: tuple[Mapping[Configuration, LocalPolytope], ...]
    indicators: int = 0
    base: CredalNetwork | None = field(default=None, compare=False, repr=False)
    """The network without the last indicator: what is known of its families is found out once for all."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of values of each variable."""
        return tuple(len(variable.values) for variable in self.network.variables)

    @cached_property
    def number(self) -> dict[Variable, int]:
        """Return the number of each variable."""
        return {variable: i for i, variable in enumerate(self.network.variables)}

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Return all variables, parents first."""
        return tuple(x for component in strong_components(self.parents) for x in component)

    @cached_property
    def points(self) -> tuple[Array | None, ...]:
        """Return the table P(x | parents) of each variable whose credal sets are points; None for others."""
        return tuple(self._point_table(x) for x in range(len(self.sizes)))

    def _point_table(self, x: int) -> Array | None:
        """Round the only table of a family; None where there are several, or floats are too coarse for it."""
        require_time()
        found = self.polytopes[x]
        if isinstance(found, FamilyPolytopes):
            return FamilyTable(found.family).point()
        exact = self.exact_table(x)
        if exact is None or any(0 < value < TINY for value in exact.values.flat):
            return None
        return exact.values.astype(np.float64)

    def exact_table(self, x: int) -> Potential[int] | None:
        """Return the only table of a family, in fractions; None where there are several."""
        require_time()
        shape = [self.sizes[p] for p in self.parents[x]]
        if len(self.polytopes[x]) < prod(shape):
            return None
        table = np.empty((*shape, self.sizes[x]), dtype=object)
        for configuration, polytope in self.polytopes[x].items():
            point = [low for low, high in ranges(polytope) if low == high]
            if len(point) < self.sizes[x]:
                return None
            table[configuration] = point
        return Potential((*self.parents[x], x), table)

    def relevant(self, asked: Question) -> Relevance:
        """Return the families that bear on a question; many steps of an answer look at them."""
        key = asked.target, frozenset(asked.observed)
        found = self._relevant.get(key)
        if found is None:
            found = relevance(self.parents, [asked.target], asked.observed)
            self._relevant.clear()
            self._relevant[key] = found
        return found

    @cached_property
    def _relevant(self) -> dict[tuple[int, frozenset[int]], Relevance]:
        return {}

    def _polytope(self, x: int, configuration: Configuration) -> LocalPolytope:
        return self.polytopes[x].get(configuration) or vacuous(self.sizes[x])

    def vertices(self, x: int, configuration: Configuration) -> tuple[Vertex, ...]:
        """Return the vertices of one local credal set."""
        found = _vertices(self._polytope(x, configuration))
        if found is None:
            raise ProblemTooLarge(f"{self.network.variables[x]} has a credal set with too many vertices")
        return found

    def centre(self, x: int, configuration: Configuration) -> Array:
        """Return a distribution inside one local credal set: it gives zero only to what always has zero."""
        bounds = single_value_bounds(self._polytope(x, configuration))
        if bounds is None:
            return np.asarray(np.array(self.vertices(x, configuration), dtype=np.float64).mean(axis=0))
        return np.array(interval_centre(*bounds), dtype=np.float64)

    def central_model(self) -> Distribution:
        """Return the model in which every distribution is at the centre of its credal set."""
        return Distribution(tuple(_chosen_factor(self, x, {}, False) for x in self.order))

    def with_indicator(self, formula: Formula) -> CredalNetwork:
        """Add a two-valued variable that is true exactly where the formula is."""
        mentioned = scope(formula)
        truth = truth_table(formula, mentioned)
        polytopes = {states: _CERTAIN[bool(holds)] for states, holds in np.ndenumerate(truth)}
        variables = (*self.network.variables, Variable(f"indicator {len(self.sizes)}"))
        extended = CredalNetwork(
            Network(variables, self.network.sentences),
            self.graph,
            (*self.parents, tuple(self.number[x] for x in mentioned)),
            (*self.polytopes, polytopes),
            self.indicators + 1,
            self,
        )
        holds = truth.astype(np.float64)
        # What is known of all others need not be found out once more.
        vars(extended)["points"] = (*self.points, np.stack([1.0 - holds, holds], axis=-1))
        vars(extended)["number"] = {**self.number, variables[-1]: len(self.sizes)}
        vars(extended)["order"] = (*self.order, len(self.sizes))
        return extended

    def table(self, x: int, observed: Mapping[int, int]) -> Table:
        """Lay out the vertices of a family, its observed parents fixed."""
        empty = self._without_vertices(x, observed)
        lists = []
        for configuration in empty.configurations(self.sizes):
            require_time()
            lists.append(self.vertices(x, configuration))
        longest = max(map(len, lists))
        if len(lists) * longest * self.sizes[x] > MAX_CELLS:
            raise ProblemTooLarge(f"{self.network.variables[x]} has too many vertices")
        padded = [[*found, *[found[0]] * (longest - len(found))] for found in lists]
        shape = [self.sizes[p] for p in empty.parents]
        return replace(
            empty, vertices=np.array(padded, dtype=np.float64).reshape(*shape, longest, self.sizes[x])
        )

    def ranges(self, x: int, observed: Mapping[int, int]) -> tuple[Array, Array]:
        """Return the least and greatest probabilities of a family, its observed parents fixed, as floats.

        Each is moved outwards: the true ones lie between.
        """
        if self.base is not None and x < len(self.base.sizes):
            return self.base.ranges(x, observed)
        if x not in self._ranges:
            self._ranges[x] = self._all_ranges(x)
        fixed = (observed.get(p) for p in self.parents[x])
        index: Any = tuple(slice(None) if state is None else state for state in fixed)
        least, most = (np.asarray(ends[index]) for ends in self._ranges[x])
        return least, most

    def _all_ranges(self, x: int) -> tuple[Array, Array]:
        found = self.polytopes[x]
        if isinstance(found, FamilyPolytopes):
            return FamilyTable(found.family).ranges()
        shape = [self.sizes[p] for p in self.parents[x]]
        least, most = np.zeros((*shape, self.sizes[x])), np.ones((*shape, self.sizes[x]))
        for configuration, polytope in found.items():
            for value, (low, high) in enumerate(ranges(polytope)):
                least[*configuration, value], most[*configuration, value] = _outwards(low, high)
        return least, most

    @cached_property
    def _ranges(self) -> dict[int, tuple[Array, Array]]:
        return {}

    def said_of(self, variables: tuple[Variable, ...]) -> Network:
        """Return what is said of some variables alone; of the same ones, both ends are checked."""
        if self.base is not None:
            return self.base.said_of(variables)
        if variables not in self._said:
            self._said.clear()
            self._said[variables] = self.network.about(variables)
        return self._said[variables]

    @cached_property
    def _said(self) -> dict[tuple[Variable, ...], Network]:
        return {}

    def central_table(self, x: int, observed: Mapping[int, int]) -> Potential[int]:
        """Return a distribution inside each credal set of a family, its observed parents fixed."""
        empty = self._without_vertices(x, observed)
        shape = [self.sizes[p] for p in empty.parents]
        is_tabled = isinstance(self.polytopes[x], FamilyPolytopes)
        if is_tabled or prod(self.sizes[p] for p in self.parents[x]) <= FEW_CONFIGURATIONS:
            index: Any = tuple(slice(None) if state is None else state for state in empty.full)
            return Potential((*empty.parents, x), self._whole_centre(x)[index])
        rows = [self.centre(x, configuration) for configuration in empty.configurations(self.sizes)]
        return Potential((*empty.parents, x), np.array(rows).reshape(*shape, self.sizes[x]))

    def _whole_centre(self, x: int) -> Array:
        """Return the centres of all credal sets of a family, found once."""
        if self.base is not None and x < len(self.base.sizes):
            return self.base._whole_centre(x)
        if x not in self._centres:
            self._centres[x] = self._all_centres(x)
            self._centres[x].setflags(write=False)
        return self._centres[x]

    def _all_centres(self, x: int) -> Array:
        found = self.polytopes[x]
        if isinstance(found, FamilyPolytopes):
            return FamilyTable(found.family).centre()
        shape = [self.sizes[p] for p in self.parents[x]]
        rows = [self.centre(x, configuration) for configuration in np.ndindex(*shape)]
        return np.array(rows).reshape(*shape, self.sizes[x])

    @cached_property
    def _centres(self) -> dict[int, Array]:
        return {}

    def _without_vertices(self, x: int, observed: Mapping[int, int]) -> Table:
        free = tuple(p for p in self.parents[x] if p not in observed)
        if prod(self.sizes[p] for p in free) * self.sizes[x] > MAX_CELLS:
            raise ProblemTooLarge(f"{self.network.variables[x]} has too many parent configurations")
        return Table(x, free, np.empty(0), tuple(observed.get(p) for p in self.parents[x]))


class FamilyTable:
    """The bounds of a whole family in exact numbers, its parents in the order of their numbers."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.lower, self.upper = self._arranged(family.lower), self._arranged(family.upper)
        self.scale = self._arranged(family.scale)

    def _arranged(self, rows: Sequence[Any]) -> NDArray[np.object_]:
        table = np.array(rows, dtype=object).reshape(*self.family.sizes, -1)
        return table.transpose(*self.family.order, table.ndim - 1)

    def point(self) -> Array | None:
        """Return the only table, rounded once; None where there are several, or floats are too coarse."""
        if not self.family.is_point:
            return None
        table = _quotients(self.upper, self.scale)
        is_tiny = (table < float(TINY)) & (self.upper > 0).astype(bool)
        return None if is_tiny.any() else table

    def ranges(self) -> tuple[Array, Array]:
        """Return the least and the greatest probabilities that bounds on the others leave, moved outwards."""
        most_others = self.upper.sum(axis=-1, keepdims=True) - self.upper
        least_others = self.lower.sum(axis=-1, keepdims=True) - self.lower
        least = np.maximum(self.lower, self.scale - most_others)
        most = np.minimum(self.upper, self.scale - least_others)
        return self._moved(least, 0.0), self._moved(most, 1.0)

    def _moved(self, ends: NDArray[np.object_], towards: float) -> Array:
        """Round towards a certainty; certainty stays."""
        rounded = _quotients(ends, self.scale)
        is_certain = ((ends == 0) | (ends == self.scale)).astype(bool)
        return np.where(is_certain, rounded, np.nextafter(rounded, towards))

    def centre(self) -> Array:
        """Return the distributions equally far between all bounds, as `interval_centre` has them."""
        width = self.upper - self.lower
        whole = width.sum(axis=-1, keepdims=True)
        free = self.scale - self.lower.sum(axis=-1, keepdims=True)
        # Where the bounds leave nothing open both are zero.
        whole = np.where((whole == 0).astype(bool), 1, whole)
        return _quotients(self.lower * whole + free * width, self.scale * whole)


def _quotients(over: NDArray[np.object_], under: NDArray[np.object_]) -> Array:
    """Divide whole numbers, each quotient rounded once."""
    return np.ascontiguousarray((over / under).astype(np.float64))


def _outwards(low: Fraction, high: Fraction) -> tuple[float, float]:
    """Round the ends of an interval outwards; certainty stays, and what is rounded to it does not."""
    least = float(low) if low in (0, 1) else nextafter(float(low), 0.0)
    most = float(high) if high in (0, 1) else nextafter(float(high), 1.0)
    return least, most


@lru_cache(maxsize=65536)
def _vertices(polytope: LocalPolytope) -> tuple[Vertex, ...] | None:
    """Enumerate the vertices of a credal set; None where they are, or may be, too many."""
    bounds = single_value_bounds(polytope)
    if bounds is not None:
        return interval_vertices(*bounds, most=MAX_VERTICES)
    dimensions, rows = polytope.size - 1, polytope.size + 2 * len(polytope.rows)
    # McMullen's upper bound theorem.
    most = sum(comb(rows - 1 - d, rows - dimensions) for d in (dimensions // 2, (dimensions - 1) // 2))
    return None if most > MAX_VERTICES else vertices(polytope)


def credal_network(network: Network, graph: DependencyGraph) -> CredalNetwork | None:
    """Read a network as a credal network; None where it says anything that is not local."""
    if network.independences or graph.is_cyclic:
        return None
    assessment = local_polytopes(network, graph)
    if assessment.rest or any(map(has_empty, assessment.polytopes)):
        return None
    return CredalNetwork(network, graph, tuple(graph.parent_indices), assessment.polytopes)


def credal_part(
    network: Network, graph: DependencyGraph
) -> tuple[CredalNetwork, tuple[Sentence, ...]] | None:
    """Return what a network says of single tables, and the sentences that say anything else.

    None where its models are no products of tables: on a cyclic graph, or beside declared independences;
    where sentences compare across conditions; and where a configuration of parents is excluded.
    """
    if network.independences or network.contrasts or graph.is_cyclic:
        return None
    assessment = local_polytopes(network, graph)
    if any(map(has_empty, assessment.polytopes)):
        return None
    rest = tuple(network.sentences[i] for i in assessment.rest)
    return CredalNetwork(network, graph, tuple(graph.parent_indices), assessment.polytopes), rest


def question(number: Mapping[Variable, int], query: Query) -> Question | None:
    """Put a query about an event of one variable given literals in numbers; None for any other."""
    asked, literals = scope(query.claim), literals_of(query.given)
    if len(asked) != 1 or literals is None:
        return None
    observed = {number[x]: x.values.index(value) for x, value in literals.items()}
    event = tuple(bool(b) for b in truth_table(query.claim, asked))
    return Question(number[asked[0]], event, observed)


def ask(credal: CredalNetwork, query: Query) -> tuple[CredalNetwork, Question] | None:
    """Put any query in numbers; None where its claim mentions no variable or a formula is too wide.

    A formula of several variables becomes a variable of its own, a child of those with probabilities 0 and 1:
    the network returned has these in addition.
    """
    world, formulas = observations(query.given)
    asked = scope(query.claim)
    if not asked or any(prod(len(x.values) for x in scope(f)) > MAX_CELLS for f in (*formulas, query.claim)):
        return None
    indicators = {}
    for formula in formulas if len(asked) == 1 else (*formulas, query.claim):
        indicators[formula] = len(credal.sizes)
        credal = credal.with_indicator(formula)
    literals = conjunction(x.is_(value) for x, value in world.items())
    claim = query.claim if len(asked) == 1 else Is(credal.network.variables[-1])
    simple = question(credal.number, Query(claim, literals))
    assert simple is not None, "one variable given literals"
    observed = {**simple.observed, **{indicators[formula]: 1 for formula in formulas}}
    return credal, Question(simple.target, simple.event, observed)


def distribution(
    credal: CredalNetwork, asked: Question, choices: Iterable[Choice], tables: Mapping[int, Array] = {}
) -> Distribution:
    """Return the model that a choice of vertices, or of tables, selects, over all ancestors that matter.

    Variables that take no part are at the centre of their credal sets, which leaves the evidence possible.
    """
    chosen = {(choice.variable, choice.configuration): choice.vertex for choice in choices}
    families = set(credal.relevant(asked).families)
    known = len(credal.network.variables) - credal.indicators
    wanted = ancestors(credal.parents, [asked.target, *asked.observed])
    order = (x for x in credal.order if x in wanted and x < known)
    return Distribution(
        tuple(
            _factor(credal, x, tables[x]) if x in tables else _chosen_factor(credal, x, chosen, x in families)
            for x in order
        )
    )


def _factor(credal: CredalNetwork, x: int, table: Array) -> Factor:
    variables = credal.network.variables
    return Factor((variables[x],), tuple(variables[p] for p in credal.parents[x]), table)


def _chosen_factor(
    credal: CredalNetwork, x: int, chosen: Mapping[tuple[int, Configuration], int], takes_part: bool
) -> Factor:
    point = credal.points[x]
    if point is not None:
        return _factor(credal, x, point)
    shape = [credal.sizes[p] for p in credal.parents[x]]
    table = np.empty((*shape, credal.sizes[x]))
    for configuration in np.ndindex(*shape):
        vertex = chosen.get((x, configuration), 0) if takes_part else None
        table[configuration] = (
            credal.centre(x, configuration) if vertex is None else credal.vertices(x, configuration)[vertex]
        )
    return _factor(credal, x, table)
