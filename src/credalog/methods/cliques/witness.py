"""Witnesses: distributions that attain a value and have been checked.

Input: a point of a linear relaxation. Output: a `Distribution` in which every independence of the
factorization holds by construction, moved by sequential linear programming towards satisfying every statement
and improving the objective.

`Reader` reads P(block | parents) off the tables of any point, each distribution pulled into its local
polytope, and multiplies them out again to the tables of every clique. All that does not depend on the point
is worked out once: a search reads thousands of points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, prod
from typing import TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.errors import MissingLibrary
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.factorization import Clique
from credalog.network.polytopes import LocalPolytope, interval_centre, ranges, single_value_bounds, vertices
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.numbers.tolerances import FEASIBILITY
from credalog.program.descent import Radii, descent
from credalog.program.program import Floats, Objective
from credalog.program.solvers.highs import Linearization
from credalog.program.solvers.ipopt import improve
from credalog.tables.distribution import Distribution, Factor

__all__ = [
    "Candidate",
    "LARGEST_SCOPE",
    "Reader",
    "STEPS",
    "WitnessSearch",
    "aligned",
    "observed_part",
    "ratio_values",
]

Places = NDArray[np.intp]
T = TypeVar("T", bound=np.generic)

NOTHING = 1e-300
"""A configuration with less mass than this says nothing about its distribution."""

HALVINGS = 60
"""How often the search for the shift that makes clipped probabilities add up to one halves its range."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A table P(block | parents): where its entries begin, and the numbers of its variables."""

    variables: tuple[int, ...]
    parents: tuple[int, ...]
    start: int
    shape: tuple[int, ...]

    @property
    def stop(self) -> int:
        return self.start + prod(self.shape)


@dataclass(frozen=True, slots=True)
class _Step:
    """How a clique's table is multiplied out: each column's entry, and its place in the sums of each part."""

    columns: Places
    entries: Places
    parts: tuple[tuple[Places, Places], ...]


@dataclass(slots=True)
class _Triples:
    """A sparse matrix under construction."""

    rows: list[Places] = field(default_factory=list)
    columns: list[Places] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)

    def add(self, rows: Places, columns: Places, value: float) -> None:
        """Add one value in places that are given as arrays that broadcast."""
        row, column = np.broadcast_arrays(rows, columns)
        self.rows.append(row.ravel())
        self.columns.append(column.ravel())
        self.values.append(np.full(row.size, value))

    def matrix(self, shape: tuple[int, int]) -> sp.csr_array:
        """Return the matrix; values in one place add up."""
        if not self.rows:
            return sp.csr_array(shape)
        found = tuple(map(np.concatenate, (self.rows, self.columns)))
        return sp.csr_array((np.concatenate(self.values), found), shape=shape)


class Reader:
    """Read distributions off points of one encoding; `theta` are the entries of all its tables in a row."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self._owners: dict[tuple[int, ...], list[int]] = {}
        for number, clique in enumerate(encoding.factorization.cliques[:-1]):
            self._owners.setdefault(clique.block, []).append(number)
        self._blocks = self._laid_out()
        size = self._blocks[-1].stop if self._blocks else 0
        self._lows, self._highs, self._usual = np.zeros(size), np.ones(size), np.zeros(size)
        self._cornered: list[tuple[slice, Floats]] = []
        self._rows = self._numbered_rows()
        self._counts = self._counting(size)
        self._steps: tuple[_Step, ...] = ()

    def _laid_out(self) -> list[_Block]:
        """Give the entries of all tables numbers, parents first: children are eliminated before them."""
        blocks: list[_Block] = []
        sizes, start = self.encoding.problem.structure.sizes, 0
        cliques = self.encoding.factorization.cliques
        for variables in dict.fromkeys(clique.block for clique in reversed(cliques[:-1])):
            parents = self._parents(variables)
            shape = tuple(sizes[x] for x in (*parents, *variables))
            blocks.append(_Block(variables, parents, start, shape))
            start += prod(shape)
        return blocks

    def _parents(self, block: tuple[int, ...]) -> tuple[int, ...]:
        clique = self.encoding.factorization.cliques[self._owners[block][0]]
        if clique.is_free:
            return clique.rest[0] if clique.own_condition is None else clique.own_condition.given
        found = {p for x in block for p in self.encoding.problem.structure.parents[x]}
        return tuple(sorted(found - set(block)))

    # ---- what is known of each row --------------------------------------------------------------------

    def _numbered_rows(self) -> dict[int, Places]:
        """Return the places of all distributions, those of one length together, and note their bounds."""
        found: dict[int, list[Places]] = {}
        for block in self._blocks:
            places = np.arange(block.start, block.stop, dtype=np.intp)
            rows = places.reshape(prod(block.shape[: len(block.parents)]), -1)
            self._usual[places] = 1.0 / rows.shape[1]
            found.setdefault(rows.shape[1], []).append(rows)
            if block.parents == self.encoding.problem.structure.parents[block.variables[0]]:
                self._note_bounds(block, rows)
        return {length: np.concatenate(rows) for length, rows in found.items()}

    def _note_bounds(self, block: _Block, rows: Places) -> None:
        polytopes = self.encoding.problem.polytopes[block.variables[0]] if len(block.variables) == 1 else {}
        numbers = np.arange(len(rows)).reshape(block.shape[: len(block.parents)])
        for configuration, polytope in polytopes.items():
            row = rows[numbers[configuration]]
            self._note_polytope(slice(int(row[0]), int(row[-1]) + 1), polytope)

    def _note_polytope(self, row: slice, polytope: LocalPolytope) -> None:
        if polytope.size == 2 or single_value_bounds(polytope) is not None:
            lower, upper = zip(*ranges(polytope), strict=True)
            self._lows[row], self._highs[row] = lower, upper
            self._usual[row] = interval_centre(lower, upper)
            return
        corners = np.array([[float(c) for c in vertex] for vertex in vertices(polytope)])
        self._usual[row] = corners.mean(axis=0)
        self._cornered.append((row, corners))

    # ---- from a point to distributions ----------------------------------------------------------------

    def _counting(self, size: int) -> sp.csr_array:
        """Return the matrix that adds up the mass of each entry over the cliques that show it."""
        triples = _Triples()
        for block in self._blocks:
            places = np.arange(block.start, block.stop, dtype=np.intp)
            rows = places.reshape(prod(block.shape[: len(block.parents)]), -1)
            for number in self._informative(block.variables):
                self._count(number, block, rows, triples)
        return triples.matrix((size, self.encoding.program.columns))

    def _informative(self, block: tuple[int, ...]) -> list[int]:
        """Leave out tables that show one of many values, where others show all of them."""
        cliques, owners = self.encoding.factorization.cliques, self._owners[block]
        whole = [n for n in owners if cliques[n].fixed.isdisjoint(block)]
        two_valued = self.encoding.problem.structure.sizes[block[0]] == 2
        return whole if whole and not two_valued else owners

    def _count(self, number: int, block: _Block, rows: Places, triples: _Triples) -> None:
        """Add the mass that one clique gives to each state of its block under each parent configuration."""
        encoding, clique = self.encoding, self.encoding.factorization.cliques[number]
        shown = rows[encoding.state_numbers(block.parents, clique)]
        if clique.fixed.isdisjoint(block.variables):
            columns = encoding.arranged(number, block.parents, block.variables)
            triples.add(shown[:, :, None], columns, 1.0)
            return
        state = encoding.evidence[block.variables[0]]
        part = encoding.arranged(number, block.parents)
        whole = encoding.arranged(encoding.lean(number), block.parents)
        triples.add(shown[:, [state]], part, 1.0)
        # What was not observed is shared out evenly among the other states.
        others = np.delete(shown, state, axis=1)[:, :, None]
        triples.add(others, whole[:, None, :], 1.0 / others.shape[1])
        triples.add(others, part[:, None, :], -1.0 / others.shape[1])

    def theta(self, point: Floats) -> Floats:
        """Read the entries of all tables off a point, each distribution pulled into its local polytope."""
        counts = np.maximum(self._counts @ point, 0.0)
        theta = self._usual.copy()
        for length, rows in self._rows.items():
            found = counts[rows]
            total = found.sum(axis=1, keepdims=True)
            shares = np.where(total > NOTHING, found / np.where(total > NOTHING, total, 1.0), theta[rows])
            theta[rows] = self._clipped(length, rows, shares)
        for row, corners in self._cornered:
            if counts[row].sum() > NOTHING:
                theta[row] = _pulled(counts[row] / counts[row].sum(), corners)
            else:
                theta[row] = corners.mean(axis=0)
        return theta

    def _clipped(self, length: int, rows: Places, shares: Floats) -> Floats:
        """Return the nearest distributions within bounds: shifted by a constant and clipped."""
        lows, highs = self._lows[rows], self._highs[rows]
        if length == 2:
            first = np.clip(shares[:, :1], lows[:, :1], highs[:, :1])
            return np.concatenate([first, 1.0 - first], axis=1)
        below, above = np.full((len(rows), 1), -1.0), np.full((len(rows), 1), 1.0)
        for _ in range(HALVINGS):
            shift = (below + above) / 2.0
            is_short = np.clip(shares + shift, lows, highs).sum(axis=1, keepdims=True) < 1.0
            below, above = np.where(is_short, shift, below), np.where(is_short, above, shift)
        found: Floats = np.clip(shares + above, lows, highs)
        # What the last digits leave goes to the value with most room on that side.
        left = 1.0 - found.sum(axis=1)
        room = np.where(left[:, None] > 0.0, highs - found, found - lows)
        found[np.arange(len(found)), np.argmax(room, axis=1)] += left
        # What is within its bounds stays as it is: rare states would drown in a shift of the last digits.
        is_inside = ((lows <= shares) & (shares <= highs)).all(axis=1, keepdims=True)
        return np.where(is_inside, shares, found)

    def distribution(self, theta: Floats) -> Distribution:
        """Return the product of all tables, given their entries."""
        variables = self.encoding.problem.variables
        return Distribution(
            tuple(
                Factor(
                    tuple(variables[x] for x in block.variables),
                    tuple(variables[p] for p in block.parents),
                    theta[block.start : block.stop].reshape(block.shape),
                )
                for block in self._blocks
            )
        )

    # ---- from distributions to a point ----------------------------------------------------------------

    def tables(self, theta: Floats) -> Floats:
        """Multiply out the table of every clique, the total mass being one."""
        self._steps = self._steps or tuple(self._multiplications())
        point = np.zeros(self.encoding.program.columns)
        point[0] = 1.0
        for step in self._steps:
            table = theta[step.entries]
            for columns, places in step.parts:
                table *= point[columns].sum(axis=1)[places]
            point[step.columns] = table
        return point

    def _multiplications(self) -> list[_Step]:
        """Work out how each clique's table is multiplied out, those that others lean on first."""
        of = {block.variables: block for block in self._blocks}
        cliques = self.encoding.factorization.cliques
        return [self._step(n, cliques[n], of[cliques[n].block]) for n in reversed(range(len(cliques) - 1))]

    def _step(self, number: int, clique: Clique, block: _Block) -> _Step:
        encoding, sizes = self.encoding, self.encoding.problem.structure.sizes
        columns = encoding.columns[number]
        numbers: Places = np.arange(block.start, block.stop, dtype=np.intp).reshape(block.shape)
        entries = aligned(numbers, (*block.parents, *block.variables), clique, encoding.evidence)
        parts = []
        for part in clique.rest:
            theirs = encoding.arranged(encoding.leans_on(number, part), part)
            shape = [sizes[x] if x in part else 1 for x in clique.shown]
            places = np.arange(len(theirs), dtype=np.intp).reshape(shape)
            parts.append((theirs, np.broadcast_to(places, columns.shape).ravel()))
        return _Step(columns.ravel(), np.broadcast_to(entries, columns.shape).ravel(), tuple(parts))


def _pulled(theta: Floats, corners: Floats) -> Floats:
    """Return a distribution near by that is a mixture of the corners."""
    from scipy.optimize import nnls

    weights, _ = nnls(np.vstack([corners.T, np.full(len(corners), 10.0)]), np.append(theta, 10.0))
    pulled: Floats = weights @ corners / weights.sum()
    return pulled


def observed_part(
    over: tuple[int, ...], clique: Clique, evidence: Mapping[int, int]
) -> tuple[int | slice, ...]:
    """Return the part of a table in which the variables that a clique observes have their states."""
    return tuple(evidence[x] if x in clique.fixed else slice(None) for x in over)


def aligned(
    table: NDArray[T], over: tuple[int, ...], clique: Clique, evidence: Mapping[int, int]
) -> NDArray[T]:
    """Bring a table over some variables of a clique into the shape of the clique's own."""
    kept = [x for x in over if x not in clique.fixed]
    order = sorted(range(len(kept)), key=lambda axis: clique.shown.index(kept[axis]))
    picked = table[observed_part(over, clique, evidence)].transpose(order)
    sizes = iter(picked.shape)
    return picked.reshape([next(sizes) if x in over else 1 for x in clique.shown])


STEPS = 25
"""How many linear programs a thorough search for one witness may solve."""

STEP_SECONDS = 3.0
"""No step is worth more; and while a solver runs, Ctrl-C is not heard."""

TRACE = 1e-7
"""A share of the mass that may as well be nothing."""

LARGEST_SCOPE = 1 << 13
"""Tables larger than this are not read off a distribution found elsewhere."""

RADII = Radii(0.5, smallest=1e-7)
"""How far ratios move; a search whose steps are smaller has converged."""

LEAST_GAIN, SMALL_GAIN = 1e-12, 1e-10
"""A step that gains less is not taken; one that gains less is the last."""


@dataclass(frozen=True)
class Candidate:
    """A distribution of the factorization, its tables as a point, its value and what it violates.

    `violation` is the worst of any row or ratio, `shortfall` the sum over all of them. The distribution is
    made when somebody looks: of the many candidates of a walk, few are offered.
    """

    reader: Reader
    theta: Floats
    point: Floats
    value: float
    violation: float
    shortfall: float

    @cached_property
    def distribution(self) -> Distribution:
        """Return the product of all tables: one and the same whenever it is asked for."""
        return self.reader.distribution(self.theta)

    @property
    def is_feasible(self) -> bool:
        """Tell whether all statements hold."""
        return self.violation <= FEASIBILITY


class WitnessSearch:
    """Turn points of the relaxation of one encoding into distributions, and improve them."""

    def __init__(self, encoding: Encoding, objective: Objective, end: End, budget: Budget) -> None:
        self.encoding = encoding
        self.objective = objective
        self.end = end
        self.budget = budget
        cliques = encoding.factorization.cliques
        self._has_inner_conditions = bool(encoding.problem.declared) or any(
            len(c.block) > 1 or (c.is_free and not c.conditions_hold_by_construction) for c in cliques
        )
        self._linearization = Linearization(encoding.program, elastic_contexts=self._has_inner_conditions)

    @cached_property
    def _reader(self) -> Reader:
        # A slice, which lacks variables, has bounds alone: nothing is read off its points.
        return Reader(self.encoding)

    def from_afar(self, center: Floats) -> Candidate | None:
        """Let an interior-point method walk from the middle of the relaxation, then polish what it finds.

        Inside a core the linear steps often end in a corner from which no step helps.
        """
        if not self._has_inner_conditions:
            return self.from_point(center, steps=STEPS)
        seconds = self.budget.share(0.2, least=0.5).for_solver
        try:
            found = improve(self.encoding.program, self.objective, center, end=self.end, timeout=seconds)
        except MissingLibrary:
            found = None
        return self.from_point(center if found is None else found, steps=STEPS)

    def from_model(self, distribution: Distribution, *, steps: int = STEPS) -> Candidate | None:
        """Search from a distribution that was found elsewhere."""
        point = marginals_of(self.encoding, distribution)
        mass = 0.0 if point is None else float(self.objective.denominator @ point)
        if point is None or mass <= 0.0:
            return None
        return self.from_point(point / mass, steps=steps)

    def from_point(self, point: Floats, *, steps: int) -> Candidate | None:
        """Search from a point of the relaxation; return the best feasible candidate met.

        Steps that begin at the basis of the last are cheap; now and then such a walk finds nothing, where one
        of steps that begin anew does.
        """
        self._linearization.begin(warm=True)
        found = self._walked(point, steps)
        if found is None and steps > 1 and not self.budget.is_spent:
            self._linearization.begin(warm=False)
            found = self._walked(point, steps)
        return found

    def _walked(self, point: Floats, steps: int) -> Candidate | None:
        """Look at so many candidates from a point on, as long as that helps."""
        first = self._candidate(point)
        if first is None:
            return None
        best, last = None, inf
        for here in descent(first, self._step, self._merit, steps=steps - 1, radii=RADII, gain=LEAST_GAIN):
            if here.is_feasible and (best is None or self.end.is_farther(here.value, best.value)):
                best = here
            gain, last = last - self._merit(here), self._merit(here)
            if self.budget.is_spent or (here.is_feasible and 0.0 < gain < SMALL_GAIN):
                break
        return best

    def _merit(self, candidate: Candidate) -> float:
        return self.end.sign * candidate.value + Linearization.PRICE * candidate.shortfall

    def without_traces(self, found: Candidate) -> Candidate | None:
        """Clear away the traces of mass that a solver's tolerances leave in a candidate.

        A sentence whose condition has a trace of probability may be far from true under it.
        """
        most = np.where(found.point > TRACE * found.point[0], np.inf, 0.0)
        return self._candidate(found.point, most)

    def _step(self, here: Candidate, radius: float) -> Candidate:
        """Return the candidate a step away; where there is none, a shorter step may find one."""
        found = self._linear(here.point, radius)
        return here if found is None else self._candidate(found) or here

    def _linear(self, point: Floats, radius: float, most: Floats | None = None) -> Floats | None:
        """Solve the program linearized at a point, within a radius of it."""
        cost = self.end.sign * self.objective.numerator
        ratios = ratio_values(self.encoding, point)
        seconds = self.budget.at_most(STEP_SECONDS).for_solver
        step = self._linearization.step
        return step(cost, self.objective, point, ratios, radius=radius, timeout=seconds, most=most)

    def _candidate(self, point: Floats, most: Floats | None = None) -> Candidate | None:
        """Read a distribution off a point.

        Inside a block of several variables the conditions do not hold by construction. With the ratios
        held fast they are linear: the nearest point that satisfies them is a linear program away.
        """
        if self._has_inner_conditions:
            held = self._linear(point, 0.0, most)
            point = point if held is None else held
        theta = self._reader.theta(point)
        tables = self._reader.tables(theta)
        mass = float(self.objective.denominator @ tables)
        if mass <= 0.0:
            return None
        value = float(self.objective.numerator @ tables) / mass
        missed = _missed(self.encoding, tables)
        worst, shortfall = float(missed.max(initial=0.0)), float(missed.sum())
        return Candidate(self._reader, theta, tables / mass, value, worst, shortfall)


def _missed(encoding: Encoding, tables: Floats) -> Floats:
    """Return by how much tables of total mass one miss each row and each ratio."""
    program, ratios = encoding.program, encoding.program.ratios
    part, whole = ratios.numerator @ tables, ratios.denominator @ tables
    values = ratios.averages(part, whole)
    apart = part - values[ratios.of] * whole
    outside = np.maximum(ratios.lower - values, values - ratios.upper)
    short = -(program.inequalities @ tables)
    return np.concatenate(
        [np.maximum(short, 0.0), np.abs(program.equalities @ tables), np.abs(apart), np.maximum(outside, 0.0)]
    )


def ratio_values(encoding: Encoding, point: Floats) -> Floats:
    """Return each ratio on average over its contexts, inside its bounds where it has no mass."""
    return encoding.program.ratios.values(point)


def distribution_at(encoding: Encoding, point: Floats) -> Distribution:
    """Read P(block | parents) off the tables of a point, each pulled into its local polytope."""
    reader = Reader(encoding)
    return reader.distribution(reader.theta(point))


def tables_of(encoding: Encoding, distribution: Distribution) -> Floats:
    """Compute the table of every clique from a distribution, the total mass being one."""
    point = np.zeros(encoding.program.columns)
    point[0] = 1.0
    number_of = {v: i for i, v in enumerate(encoding.problem.variables)}
    factor_of = {tuple(number_of[v] for v in f.block): f for f in distribution.factors}
    for number in reversed(range(len(encoding.factorization.cliques) - 1)):
        clique = encoding.factorization.cliques[number]
        factor = factor_of[clique.block]
        table = _rest_table(encoding, point, number, clique)
        parents = [number_of[v] for v in factor.parents]
        own = aligned(factor.table, (*parents, *clique.block), clique, encoding.evidence)
        point[encoding.columns[number]] = table * own
    return point


def marginals_of(encoding: Encoding, distribution: Distribution) -> Floats | None:
    """Read the table of every clique off a distribution over the same variables, however it is factorized.

    None where evidence makes a clique's scope too large to be seen in full.
    """
    cliques, variables = encoding.factorization.cliques, encoding.problem.variables
    scopes = [tuple(variables[x] for x in clique.scope) for clique in cliques]
    if max(prod(len(v.values) for v in scope) for scope in scopes) > LARGEST_SCOPE:
        return None
    point = np.zeros(encoding.program.columns)
    tables = distribution.marginals(scopes)
    for clique, columns, table in zip(cliques, encoding.columns, tables, strict=True):
        point[columns] = table[observed_part(clique.scope, clique, encoding.evidence)]
    return point


def _rest_table(encoding: Encoding, point: Floats, number: int, clique: Clique) -> Floats:
    """Multiply the tables of the parts that a clique leaves, each read off the clique it leans on."""
    table: Floats = np.ones((1,) * len(clique.shown))
    for part in clique.rest:
        sums = point[encoding.arranged(encoding.leans_on(number, part), part)].sum(axis=1)
        shape = [encoding.problem.structure.sizes[x] if x in part else 1 for x in clique.shown]
        table = table * sums.reshape(shape)
    return table
