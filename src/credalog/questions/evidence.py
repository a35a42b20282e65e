"""The least and the greatest probability of evidence, where an assignment of its ancestors names thetas.

Input: a credal network in numbers, evidence, and an assignment y of some of its ancestors A. Output: the ends
of P(y | e), proved and attained, and bounds that hold for every completion of y.

The thetas that y names are at their greatest where P(y | e) is, and at their least where it is least. So the
upper end is the product of the greatest thetas over the least P(e), all other thetas being free, and the
lower end the product of the least over the greatest P(e) (docs/proofs.md, proof 29). P(e) is summed out
children first, each theta by the vertex that suits each context; where contexts of one theta disagree, its
vertices are shared out between two leaves of a branch and bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import inf, prod
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.methods.cliques.search import Limits
from credalog.network.polytopes import LocalPolytope, Vertex, single_value_bounds, vacuous, vertices
from credalog.network.problem import Problem
from credalog.numbers.budget import require_time
from credalog.numbers.interval import End, Endpoint
from credalog.program.branch import BranchAndBound, Explored
from credalog.questions.products import ROUNDING, Floats
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted.rounding import enclosed, outward_product

__all__ = ["Evidence", "Found"]

MOST_VERTICES = 16
"""Local polytopes with more vertices are left to others."""

MOST_ROWS = 1 << 12
"""So are families with more configurations,"""

MOST_MEMBERS = 200
"""and larger parts: the error of so many steps is less than `ROUNDING`;"""

WIDEST = 1 << 16
"""and parts in which so wide a table would be summed out."""

SMALLEST = 1e-280
"""Below this, sums of products may have lost digits."""

Indices: TypeAlias = NDArray[np.intp]
Allowed: TypeAlias = Mapping[int, Indices]
"""For each variable the numbers of the vertices that each theta may have, the first repeated as needed."""


class Found(NamedTuple):
    """One end of P(y | e), and the tables of a model that attains it with what they give the evidence."""

    endpoint: Endpoint
    tables: Mapping[int, Floats]
    mass: float


class _Row(NamedTuple):
    """A theta on which contexts disagree, and how much is lost where they must agree."""

    regret: float
    variable: int
    configuration: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Pass:
    """P(e) as summed out: a bound, the vertices that most contexts of each theta chose, the worst theta."""

    value: float
    chosen: Allowed
    worst: _Row | None


@dataclass(frozen=True)
class Evidence:
    """The ancestors A of evidence, parents last, with all vertices of their thetas.

    What is observed with all its parents puts one factor into P(y, e) and P(e), and is left out of both.
    """

    problem: Problem
    observed: Mapping[int, int]
    members: tuple[int, ...]
    everything: tuple[int, ...]
    thetas: Mapping[int, Floats]
    """By configuration, vertex and state; missing vertices repeat the first."""
    extremes: Mapping[End, Mapping[int, NDArray[np.bool_]]]
    """By configuration, state and vertex: whether the vertex gives the state its least or greatest value."""

    @classmethod
    def of(cls, problem: Problem, observed: Mapping[int, int], members: frozenset[int]) -> Evidence | None:
        """Collect the vertices; None where there are too many, or not every local polytope is a box."""
        if len(members) > MOST_MEMBERS:
            return None
        order = tuple(x for c in reversed(problem.structure.components) for x in c if x in members)
        thetas: dict[int, Floats] = {}
        extremes: dict[End, dict[int, NDArray[np.bool_]]] = {end: {} for end in End}
        for x in order:
            rows = _vertices(problem, x)
            if rows is None:
                return None
            states = problem.structure.sizes[x]
            sizes = [problem.structure.sizes[p] for p in problem.structure.parents[x]]
            thetas[x] = np.array(rows, dtype=float).reshape(*sizes, -1, states)
            for end, extreme in ((End.LOWER, min), (End.UPPER, max)):
                at_end = np.array([_at_extreme(row, states, extreme) for row in rows])
                extremes[end][x] = at_end.reshape(*sizes, states, -1)
        parents = problem.structure.parents
        inner = tuple(x for x in order if not observed.keys() >= {x, *parents[x]})
        found = cls(problem, observed, inner, order, thetas, extremes)
        return found if found.widest() <= WIDEST else None

    def widest(self) -> int:
        """Return the states of the widest table on the way."""
        messages: list[set[int]] = []
        most = 1
        for x in self.members:
            touching = [m for m in messages if x in m]
            scope = set().union(self._free(self.problem.structure.parents[x]), *touching, {x})
            most = max(most, prod(self.problem.structure.sizes[y] for y in scope))
            messages = [m for m in messages if x not in m] + [scope - {x}]
        return most

    def _free(self, variables: Sequence[int]) -> tuple[int, ...]:
        return tuple(y for y in variables if y not in self.observed)

    # ---- what may be asked ----------------------------------------------------------------------------

    def least(self, assigned: Mapping[int, int]) -> float:
        """Bound P(e) from below where the thetas that an assignment names are at their greatest."""
        value = self._pass(self._allowed(assigned, End.UPPER), End.LOWER).value
        value *= prod(float(self._common(x).max()) for x in self.everything if x not in self.members)
        return value if value > SMALLEST else 0.0

    def _common(self, x: int) -> Floats:
        """Return what each vertex gives an observation whose parents are observed, too."""
        row = tuple(self.observed[p] for p in self.problem.structure.parents[x])
        values: Floats = self.thetas[x][row][:, self.observed[x]]
        return values

    def end(self, assigned: Mapping[int, int], limits: Limits, *, end: End) -> Found:
        """Find one end of P(y | e) for an assignment of all of A."""
        return _Search(self, assigned, limits, end).run()

    def choice(self, assigned: Mapping[int, int], end: End) -> Mapping[int, Floats]:
        """Choose thetas, those that are named at one end, that make as much of the end as one pass tells."""
        return self.tables(self._pass(self._allowed(assigned, end), end.opposite).chosen)

    def model(self, tables: Mapping[int, Floats]) -> Distribution:
        """Write tables as a distribution, parents first."""
        variables, parents = self.problem.variables, self.problem.structure.parents
        return Distribution(
            tuple(
                Factor((variables[x],), tuple(variables[p] for p in parents[x]), tables[x])
                for x in reversed(self.everything)
            )
        )

    # ---- summing out ----------------------------------------------------------------------------------

    def _allowed(self, assigned: Mapping[int, int], end: End) -> dict[int, Indices]:
        """Allow each theta that is named the vertices at one end of its value, and all others all."""
        world = {**self.observed, **assigned}
        allowed: dict[int, Indices] = {}
        for x in self.members:
            shape = self.thetas[x].shape[:-1]
            allowed[x] = np.broadcast_to(np.arange(shape[-1]), shape).copy()
            parents = self.problem.structure.parents[x]
            if x in world and all(p in world for p in parents):
                row = tuple(world[p] for p in parents)
                allowed[x][row] = _padded(np.flatnonzero(self.extremes[end][x][(*row, world[x])]), shape[-1])
        return allowed

    def named(self, assigned: Mapping[int, int], end: End, rounded: End | None = None) -> float:
        """Multiply the greatest or the least values of the thetas that an assignment of A names."""
        world = {**self.observed, **assigned}
        parents = self.problem.structure.parents
        named = (self.thetas[x][tuple(world[p] for p in parents[x])][:, world[x]] for x in self.members)
        return outward_product(
            (float(v.max() if end is End.UPPER else v.min()) for v in named), rounded or end
        )

    def _pass(self, allowed: Allowed, end: End) -> _Pass:
        """Sum P(e) out, children first; each context of a theta has the vertex that suits it."""
        messages: list[tuple[tuple[int, ...], Floats]] = []
        value, chosen, worst = 1.0, dict[int, Indices](), None
        for x in self.members:
            require_time()
            bucket = [m for m in messages if x in m[0]]
            messages = [m for m in messages if x not in m[0]]
            scope, by_vertex = self._by_vertex(x, allowed[x], bucket)
            best = by_vertex.min(axis=-1) if end is End.LOWER else by_vertex.max(axis=-1)
            messages.append((scope, best))
            chosen[x], row = self._agreed(x, allowed[x], scope, by_vertex, best)
            worst = row if worst is None or (row is not None and row.regret > worst.regret) else worst
        for _, message in messages:
            value *= float(message)
        return _Pass(value, chosen, worst)

    def _by_vertex(
        self, x: int, allowed: Indices, bucket: Sequence[tuple[tuple[int, ...], Floats]]
    ) -> tuple[tuple[int, ...], Floats]:
        """Sum one variable out for each vertex of its theta: the last axis."""
        parents = self.problem.structure.parents[x]
        theta = np.take_along_axis(self.thetas[x], allowed[..., None], axis=-2)
        theta = theta[tuple(self.observed.get(p, slice(None)) for p in parents)]
        free = self._free(parents)
        scope = tuple(dict.fromkeys((*free, *(y for own, _ in bucket for y in own if y != x))))
        if x in self.observed:
            return scope, _aligned(theta[..., self.observed[x]], (*free, -1), (*scope, -1))
        product_: Floats = _aligned(theta, (*free, -1, x), (*scope, -1, x))
        for own, message in bucket:
            product_ = product_ * _aligned(message, own, (*scope, -1, x))
        return scope, product_.sum(axis=-1)

    def _agreed(
        self, x: int, allowed: Indices, scope: tuple[int, ...], by_vertex: Floats, best: Floats
    ) -> tuple[Indices, _Row | None]:
        """Choose one vertex for each theta, and return the theta that loses the most by it."""
        free = self._free(self.problem.structure.parents[x])
        others = tuple(i for i, y in enumerate(scope) if y not in free)
        totals = by_vertex.sum(axis=others)
        regrets = np.abs(totals - np.expand_dims(best.sum(axis=others), -1))
        kept = [scope[i] for i in range(len(scope)) if i not in others]
        order = [kept.index(p) for p in free]
        regrets = regrets.transpose(*order, len(order))
        places = regrets.argmin(axis=-1)
        chosen = allowed.copy()
        here = tuple(self.observed.get(p, slice(None)) for p in self.problem.structure.parents[x])
        part = chosen[here]
        part[...] = np.take_along_axis(part, places[..., None], axis=-1)
        least = regrets.min(axis=-1)
        regret = float(least.max())
        if regret <= 0.0:
            return chosen, None
        at = iter(np.unravel_index(int(least.argmax()), least.shape))
        row = tuple(
            self.observed[p] if p in self.observed else int(next(at))
            for p in self.problem.structure.parents[x]
        )
        return chosen, _Row(regret, x, row)

    def tables(self, chosen: Allowed) -> dict[int, Floats]:
        """Return the thetas that were chosen; what is left out of P(e) is as probable as it can be."""
        found = {}
        for x in self.everything:
            places = chosen.get(x)
            if places is None:
                places = np.full(self.thetas[x].shape[:-1], self._common(x).argmax())
            found[x] = np.take_along_axis(self.thetas[x], places[..., :1, None], axis=-2)[..., 0, :]
        return found


class _Search:
    """Branch and bound on P(e): the least of it for an upper end of P(y | e), the greatest for a lower."""

    def __init__(self, evidence: Evidence, assigned: Mapping[int, int], limits: Limits, end: End) -> None:
        self.evidence = evidence
        self.limits = limits
        self.end = end
        self.named = evidence.named(assigned, end)
        self.is_sharp = self.named > SMALLEST or self.named == 0.0 == evidence.named(assigned, end, End.UPPER)
        self.sign = 1.0 if end is End.UPPER else -1.0
        self.best: tuple[float, Mapping[int, Floats]] | None = None
        self.tree = BranchAndBound[Allowed](evidence._allowed(assigned, end), -inf)

    def run(self) -> Found:
        """Search until bound and model meet, or until it is decided or the time is up."""
        self.tree.run(self._explore, until=self._is_over, enough=lambda: inf)
        tables = {} if self.best is None else self.best[1]
        mass = 0.0 if self.best is None else abs(self.best[0])
        return Found(self._endpoint(), tables, mass)

    def _is_over(self) -> bool:
        found = self._endpoint()
        if found.gap <= self.limits.tolerance or self.limits.budget.is_spent:
            return True
        return self.limits.decided is not None and self.limits.decided(found.bound, found.witnessed)

    def _explore(self, bound: float, allowed: Allowed) -> Explored[Allowed]:
        evidence = self.evidence
        found = evidence._pass(allowed, self.end.opposite)
        fixed = evidence._pass(found.chosen, self.end.opposite).value
        if self.best is None or self.sign * fixed < self.best[0]:
            self.best = self.sign * fixed, evidence.tables(found.chosen)
        value = max(bound, self.sign * found.value)
        if found.worst is None:
            return Explored(closed=value)
        return Explored(tuple((value, half) for half in _halves(allowed, found.worst)))

    def _endpoint(self) -> Endpoint:
        """Divide what is named by what bounds P(e), rounding outwards, and by what a model gives it."""
        bound = self.end.trivial
        if self.end is End.UPPER and self.tree.bound > SMALLEST:
            bound = self.named / self.tree.bound
        if self.end is End.LOWER and self.named > SMALLEST and self.tree.bound > -inf:
            bound = self.named / abs(self.tree.bound)
        proved = enclosed(min(bound, 1.0), error=2.0 * ROUNDING * bound, end=self.end)
        if self.best is None or abs(self.best[0]) <= SMALLEST or not self.is_sharp:
            return proved
        value = self.named / abs(self.best[0])
        return replace(proved, witnessed=min(1.0, value * (1.0 + self.sign * -2.0 * ROUNDING)))


def _halves(allowed: Allowed, row: _Row) -> Iterator[Allowed]:
    """Share out the vertices of one theta."""
    places = allowed[row.variable][row.configuration]
    several = np.unique(places)
    middle = len(several) // 2
    for part in (several[:middle], several[middle:]):
        table = allowed[row.variable].copy()
        table[row.configuration] = _padded(part, len(places))
        yield {**allowed, row.variable: table}


def _padded(places: Indices, size: int) -> Indices:
    return np.concatenate([places, np.full(size - len(places), places[0], dtype=np.intp)])


def _aligned(table: Floats, scope: Sequence[int], wanted: Sequence[int]) -> Floats:
    """Give a table the axes wanted, of length one where it has none."""
    order = sorted(range(len(scope)), key=lambda i: wanted.index(scope[i]))
    moved = table.transpose(order)
    lengths = iter(moved.shape)
    own = set(scope)
    return moved.reshape([next(lengths) if y in own else 1 for y in wanted])


def _vertices(problem: Problem, x: int) -> list[tuple[Vertex, ...]] | None:
    """Return the vertices of every theta of a variable, as many of each; None where they are too many."""
    sizes = [problem.structure.sizes[p] for p in problem.structure.parents[x]]
    if prod(sizes) > MOST_ROWS:
        return None
    found: list[tuple[Vertex, ...]] = []
    for configuration in product(*map(range, sizes)):
        require_time()
        polytope = problem.polytopes[x].get(configuration) or vacuous(problem.structure.sizes[x])
        if not _is_box(polytope):
            return None
        found.append(vertices(polytope))
        if any(0 < value < SMALLEST for vertex in found[-1] for value in vertex):
            return None
    most = max(map(len, found))
    if most > MOST_VERTICES:
        return None
    return [(*row, *[row[0]] * (most - len(row))) for row in found]


def _at_extreme(
    row: Sequence[Vertex], states: int, extreme: Callable[[Iterable[Fraction]], Fraction]
) -> list[list[bool]]:
    """Tell for each state which vertices give it the extreme value."""
    ends = [extreme(vertex[state] for vertex in row) for state in range(states)]
    return [[vertex[state] == ends[state] for vertex in row] for state in range(states)]


def _is_box(polytope: LocalPolytope) -> bool:
    return polytope.size == 2 or single_value_bounds(polytope) is not None
