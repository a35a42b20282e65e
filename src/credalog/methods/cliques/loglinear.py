"""Models of tied variables: witnesses whose log-odds are linear in their parameters.

Input: the part of a network that bears on a query, the sentences about it, the query. Output: a
`Distribution` that satisfies all of them and gives the query a value that no small step improves; or None.

A term is a set of variables, each at one of its values, in which every variable of a component K has all the
others among its parents. Let P(K | parents(K)) be proportional to exp of the sum of the parameters of those
terms that are true. Then x is independent of all else given its parents, which is what the chain-graph
reading demands (docs/proofs.md, proof 8), and the log-odds of x given a configuration of its parents are a
sum of parameters. Where sentences bound these, models are the solutions of linear inequalities; other
sentences are linearized, step by step. Variables outside such components have all terms with their parents:
any P(x | parents) without zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from math import exp, inf, log, prod

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.network.formulas import Variable, truth_table
from credalog.network.problem import Problem
from credalog.network.sentences import Query, Sentence
from credalog.network.structure import Structure
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program.descent import Radii, descent
from credalog.program.program import Floats
from credalog.program.solvers.highs import elastic_step
from credalog.tables.distribution import Distribution, Factor

__all__ = ["LogLinear", "family_of"]

WORLDS = 1 << 12
"""More worlds than this are not enumerated."""

TERMS = 1 << 9
"""Families with more terms than this are not searched."""

STARTS = 4
"""From how many parameters a search for a witness starts."""

STEPS = 60
"""How many linear programs the search for one witness may solve."""

PRICE = 10.0
"""What a shortfall of one, in log-odds, costs against the value of the query."""

CENTRAL, MARGIN = 0.5, 1e-8
"""How far inside its bounds, in log-odds, a sentence is kept where it leaves room: at first, and at last."""

LARGEST = 40.0
"""No parameter grows beyond this: exp(-40) is nothing to any tolerance."""

RAREST = 1e-250
"""Events that are rarer, beside the likeliest world, are summed up one by one."""

RADII = Radii(1.0, smallest=1e-5, largest=8.0)
"""How far parameters move; a search whose steps are smaller has converged."""

SMALLEST_GAIN = 1e-10
"""A step that gains less has converged."""

Worlds = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _Block:
    """P(members | parents) as a log-linear table: a row per state of both, a column per term."""

    members: tuple[int, ...]
    parents: tuple[int, ...]
    shape: tuple[int, ...]
    inner: int
    terms: Floats

    def logarithms(self, parameters: Floats) -> Floats:
        """Return log P(members | parents), row by row."""
        scores = (self.terms @ parameters).reshape(-1, self.inner)
        greatest = scores.max(axis=1, keepdims=True)
        sums = np.log(np.exp(scores - greatest).sum(axis=1, keepdims=True))
        return np.asarray((scores - greatest - sums).ravel())

    def slopes(self, logarithms: Floats) -> Floats:
        """Return the derivatives of the logarithms: each term less its mean given the parents."""
        chances = np.exp(logarithms).reshape(-1, self.inner, 1)
        terms = self.terms.reshape(-1, self.inner, self.terms.shape[1])
        return np.asarray((terms - (chances * terms).sum(axis=1, keepdims=True)).reshape(self.terms.shape))


@dataclass(frozen=True, slots=True)
class _Limit:
    """A sentence as bounds on a smooth function: log-odds, or the value of a linear sentence."""

    inside: Worlds
    outside: Worlds
    weights: Floats | None
    lower: float
    upper: float

    def at(self, here: _Point) -> tuple[float, Floats]:
        """Return the function and its derivatives."""
        if self.weights is not None:
            return here.mean(self.inside, self.weights)
        chance, slopes = here.log_probability(self.inside)
        against, others = here.log_probability(self.outside)
        return chance - against, slopes - others


@dataclass(frozen=True, slots=True)
class _Point:
    """The log-probability of every world and its derivatives by the parameters."""

    logarithms: Floats
    slopes: Floats

    def log_probability(self, event: Worlds) -> tuple[float, Floats]:
        """Return log P(event) and its derivatives."""
        greatest = self.logarithms[event].max()
        shares = np.exp(self.logarithms[event] - greatest)
        total = float(shares.sum())
        return float(greatest) + log(total), shares @ self.slopes[event] / total

    def mean(self, event: Worlds, weights: Floats) -> tuple[float, Floats]:
        """Return the mean of weights over an event and its derivatives."""
        shares = np.exp(self.logarithms[event] - self.logarithms[event].max())
        shares /= shares.sum()
        mean = float(shares @ weights)
        return mean, (shares * (weights - mean)) @ self.slopes[event]


class _Limits:
    """All limits together: where no event is too rare, their log-odds are a few products of matrices."""

    def __init__(self, limits: Sequence[_Limit], worlds: int) -> None:
        self.single = tuple(limits)
        self.is_odds = np.array([limit.weights is None for limit in limits], dtype=np.bool_)
        odds = [limit for limit in limits if limit.weights is None]
        self._inside = _members([limit.inside for limit in odds], worlds)
        self._outside = _members([limit.outside for limit in odds], worlds)

    def at(self, here: _Point) -> tuple[Floats, Floats]:
        """Return the functions and their derivatives."""
        shares = np.exp(here.logarithms - here.logarithms.max())
        sums = self._inside @ shares, self._outside @ shares
        if min(part.min(initial=1.0) for part in sums) < RAREST:
            return _stacked([limit.at(here) for limit in self.single], here)
        weighted = shares[:, None] * here.slopes
        slopes = [
            members @ weighted / part[:, None]
            for members, part in zip((self._inside, self._outside), sums, strict=True)
        ]
        found = np.zeros(len(self.single)), np.zeros((len(self.single), here.slopes.shape[1]))
        found[0][self.is_odds] = np.log(sums[0]) - np.log(sums[1])
        found[1][self.is_odds] = slopes[0] - slopes[1]
        for number in np.flatnonzero(~self.is_odds):
            found[0][number], found[1][number] = self.single[number].at(here)
        return found


def _members(events: Sequence[Worlds], worlds: int) -> sp.csr_array:
    """Return which worlds belong to each event."""
    columns = np.concatenate([np.zeros(0, dtype=np.intp), *events])
    starts = np.cumsum([0, *map(len, events)])
    return sp.csr_array((np.ones(len(columns)), columns, starts), shape=(len(events), worlds))


def _stacked(found: Sequence[tuple[float, Floats]], here: _Point) -> tuple[Floats, Floats]:
    values = np.array([value for value, _ in found])
    return values, np.array([slopes for _, slopes in found]).reshape(len(found), here.slopes.shape[1])


@dataclass(frozen=True, slots=True)
class _Place:
    """Parameters, the goal there, and what the sentences ask for: values, derivatives, how much is missed."""

    parameters: Floats
    value: float
    cost: Floats
    values: Floats
    slopes: Floats
    shortfall: float


@dataclass(frozen=True)
class LogLinear:
    """The log-linear distributions of a part whose cyclic components are made of ties."""

    problem: Problem
    sentences: tuple[Sentence, ...]
    blocks: tuple[_Block, ...]
    found: list[Floats] = field(default_factory=list)

    def witness(self, asked: Query, budget: Budget, *, end: End) -> Distribution | None:
        """Walk to a distribution that satisfies the sentences, then on to a better value of the query."""
        limits = self._limits
        worlds = truth_table(asked.given, self.problem.variables).ravel()
        claimed = worlds & truth_table(asked.claim, self.problem.variables).ravel()
        if limits is None or not claimed.any():
            return None
        goal = _Goal(np.flatnonzero(claimed), np.flatnonzero(worlds), end.sign)
        best: tuple[float, Floats] | None = None
        for start in self._feasible(budget):
            there = _Walk(self, limits, goal, budget).run(start)
            kept = _Walk(self, limits, None, budget).arrive(there)
            found = start if kept is None else kept
            value = goal.at(self.at(found))[0]
            best = (value, found) if best is None or value < best[0] else best
            if budget.is_spent:
                break
        return None if best is None else self.distribution(best[1])

    def _feasible(self, budget: Budget) -> Iterator[Floats]:
        """Yield several parameters that satisfy the sentences: the walk from one alone may end nearby."""
        yield from self.found
        rng, count = np.random.default_rng(0), sum(block.terms.shape[1] for block in self.blocks)
        starts = [np.zeros(count), *rng.normal(size=(STARTS - 1, count))]
        for start in starts[len(self.found) :]:
            walked = self._satisfied(start, budget)
            if walked is None:
                return
            self.found.append(walked)
            yield walked

    def _satisfied(self, start: Floats, budget: Budget) -> Floats | None:
        """Walk to parameters that satisfy the sentences, well inside if possible."""
        for margin in (CENTRAL, MARGIN):
            walked = _Walk(self, self._limits or (), None, budget, margin=margin).arrive(start)
            if walked is not None:
                return walked
        return None

    @cached_property
    def _limits(self) -> tuple[_Limit, ...] | None:
        """Return the sentences as limits; None where one of them demands a zero."""
        found = [limit for s in self.sentences for limit in _limits(s, self.problem.variables)]
        impossible = any(limit.lower == inf or limit.upper == -inf for limit in found)
        return None if impossible else tuple(found)

    @cached_property
    def _rows(self) -> tuple[Worlds, ...]:
        """Return for each block which row of its table each world is in."""
        sizes = self.problem.structure.sizes
        axes = np.indices(sizes).reshape(len(sizes), -1)
        return tuple(
            np.asarray(np.ravel_multi_index(tuple(axes[[*b.parents, *b.members]]), b.shape))
            for b in self.blocks
        )

    def at(self, parameters: Floats) -> _Point:
        """Evaluate all worlds."""
        tables = [b.logarithms(own) for b, own in zip(self.blocks, self._split(parameters), strict=True)]
        logarithms = sum(table[rows] for table, rows in zip(tables, self._rows, strict=True))
        slopes = [
            b.slopes(table)[rows] for b, table, rows in zip(self.blocks, tables, self._rows, strict=True)
        ]
        return _Point(np.asarray(logarithms), np.hstack(slopes))

    def distribution(self, parameters: Floats) -> Distribution:
        """Write the distribution down as conditional tables."""
        variables = self.problem.variables
        return Distribution(
            tuple(
                Factor(
                    tuple(variables[x] for x in b.members),
                    tuple(variables[p] for p in b.parents),
                    np.exp(b.logarithms(own)).reshape(b.shape),
                )
                for b, own in zip(self.blocks, self._split(parameters), strict=True)
            )
        )

    @property
    def worlds(self) -> int:
        """Return how many worlds there are."""
        return prod(self.problem.structure.sizes)

    def _split(self, parameters: Floats) -> list[Floats]:
        ends = np.cumsum([block.terms.shape[1] for block in self.blocks])
        return np.split(parameters, ends[:-1])


def family_of(problem: Problem, sentences: Sequence[Sentence]) -> LogLinear | None:
    """Return the log-linear distributions of a part; None where they do not suit it."""
    structure = problem.structure
    suits = not problem.declared and prod(structure.sizes) <= WORLDS and _is_tied(structure)
    if not suits or sum(_count(structure, component) for component in structure.components) > TERMS:
        return None
    blocks = tuple(_block(structure, component) for component in structure.components)
    return LogLinear(problem, tuple(sentences), blocks)


def _is_tied(structure: Structure) -> bool:
    """Tell whether some component has several variables, and in all such each arrow has its reverse."""
    several = [set(component) for component in structure.components if len(component) > 1]
    return bool(several) and all(
        x in structure.parents[y]
        for found in several
        for x in found
        for y in structure.parents[x]
        if y in found
    )


def _count(structure: Structure, component: tuple[int, ...]) -> int:
    """Count the terms of a component, or more than any allowed number of them."""
    if max(len(structure.parents[x]) for x in component) > TERMS.bit_length():
        return TERMS + 1
    return sum(prod(structure.sizes[x] - 1 for x in family) for family in _families(structure, component))


def _families(structure: Structure, component: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the sets of variables in which each member of a component has the others among its parents."""
    members = set(component)
    seen = set[tuple[int, ...]]()
    for x in component:
        for size in range(len(structure.parents[x]) + 1):
            for others in combinations(structure.parents[x], size):
                family = tuple(sorted((x, *others)))
                if family in seen:
                    continue
                seen.add(family)
                if all(set(family) <= {y, *structure.parents[y]} for y in family if y in members):
                    yield family


def _block(structure: Structure, component: tuple[int, ...]) -> _Block:
    parents = tuple(sorted({p for x in component for p in structure.parents[x]} - set(component)))
    over = (*parents, *component)
    shape = tuple(structure.sizes[x] for x in over)
    states = dict(zip(over, np.indices(shape).reshape(len(shape), -1), strict=True))
    columns = [
        np.logical_and.reduce([states[x] == value for x, value in zip(family, values, strict=True)])
        for family in _families(structure, component)
        for values in product(*(range(1, structure.sizes[x]) for x in family))
    ]
    inner = prod(structure.sizes[x] for x in component)
    # Variables of a single value have no terms.
    terms = np.array(columns, dtype=np.float64).reshape(len(columns), prod(shape))
    return _Block(component, parents, shape, inner, np.ascontiguousarray(terms.T))


def _limits(sentence: Sentence, over: tuple[Variable, ...]) -> Iterator[_Limit]:
    """Yield a sentence as bounds: on log-odds, in which a local one is linear, if it has one claim."""
    given = truth_table(sentence.given, over).ravel()
    low, high = float(sentence.lower), float(sentence.upper)
    if sentence.is_linear:
        weights = sum(float(w) * truth_table(claim, over).ravel() for w, claim in sentence.claims)
        if given.any():
            yield _Limit(np.flatnonzero(given), np.zeros(0, np.intp), np.asarray(weights)[given], low, high)
        return
    claimed = truth_table(sentence.claim, over).ravel()
    inside, outside = np.flatnonzero(given & claimed), np.flatnonzero(given & ~claimed)
    if len(inside) and len(outside):
        yield _Limit(inside, outside, None, _log_odds(low), _log_odds(high))
    elif high < 1.0 if len(inside) else len(outside) and low > 0.0:
        # Logic alone contradicts the sentence unless its condition is impossible, which nothing here is.
        yield _Limit(inside, outside, None, inf, inf)


def _log_odds(chance: float) -> float:
    if 0.0 < chance < 1.0:
        return log(chance) - log(1.0 - chance)
    return inf if chance >= 1.0 else -inf


@dataclass(frozen=True, slots=True)
class _Goal:
    """P(claim | given), less being better once it is multiplied by the sign."""

    claimed: Worlds
    given: Worlds
    sign: float

    def at(self, here: _Point) -> tuple[float, Floats]:
        """Return the value and its derivatives."""
        part, slopes = here.log_probability(self.claimed)
        whole, others = here.log_probability(self.given)
        value = self.sign * exp(part - whole)
        return value, value * (slopes - others)


class _Walk:
    """Sequential linear programming on the parameters, towards the limits and then the goal."""

    def __init__(
        self,
        family: LogLinear,
        limits: tuple[_Limit, ...],
        goal: _Goal | None,
        budget: Budget,
        *,
        margin: float = MARGIN,
    ) -> None:
        self.family = family
        self.limits = _Limits(limits, family.worlds)
        self.goal = goal
        self.budget = budget
        lower = np.array([limit.lower for limit in limits])
        upper = np.array([limit.upper for limit in limits])
        # Where both bounds are infinite there is all the room in the world; where they agree, none.
        room = np.minimum(margin, np.where(np.isfinite(upper - lower), upper - lower, inf) / 4.0)
        self.lower, self.upper = lower + room, upper - room

    def arrive(self, start: Floats) -> Floats | None:
        """Walk until no step helps; return where that is, if all limits are kept there."""
        there = self.run(start)
        return there if self._look(there).shortfall <= MARGIN / 2.0 else None

    def run(self, start: Floats) -> Floats:
        """Walk until no step helps."""
        for here in descent(
            self._look(start), self._step, _merit, steps=STEPS, radii=RADII, gain=SMALLEST_GAIN
        ):
            if self.budget.is_spent or (self.goal is None and here.shortfall <= MARGIN / 4.0):
                break
        return here.parameters

    def _look(self, parameters: Floats) -> _Place:
        """Return the goal's value and derivatives, and the limits'."""
        here = self.family.at(parameters)
        value, cost = (0.0, np.zeros(len(parameters))) if self.goal is None else self.goal.at(here)
        values, slopes = self.limits.at(here)
        missed = np.maximum(self.lower - values, 0.0) + np.maximum(values - self.upper, 0.0)
        return _Place(parameters, value, cost, values, slopes, float(missed.sum()))

    def _step(self, here: _Place, radius: float) -> _Place | None:
        at = here.parameters
        bounds = np.maximum(-radius, -LARGEST - at), np.minimum(radius, LARGEST - at)
        limits = self.lower - here.values, self.upper - here.values
        seconds = self.budget.for_solver
        step = elastic_step(here.cost, here.slopes, limits, bounds, price=PRICE, timeout=seconds)
        return None if step is None else self._look(at + step)


def _merit(place: _Place) -> float:
    return place.value + PRICE * place.shortfall
