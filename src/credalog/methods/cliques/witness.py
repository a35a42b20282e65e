"""Witnesses: distributions that attain a value and have been checked.

Input: a point of a linear relaxation. Output: a `Distribution` in which every independence of the
factorization holds by construction, moved by sequential linear programming towards satisfying every
statement and improving the objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from credalog.errors import MissingLibrary
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.factorization import Clique
from credalog.methods.cliques.reading import Reader, aligned, observed_part
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.numbers.tolerances import FEASIBILITY
from credalog.program.program import Floats, Objective
from credalog.program.solvers.highs import Linearization
from credalog.program.solvers.ipopt import improve
from credalog.tables.distribution import Distribution

__all__ = ["LARGEST_SCOPE", "STEPS", "Candidate", "WitnessSearch", "ratio_values"]

STEPS = 25
"""How many linear programs a thorough search for one witness may solve."""

STEP_SECONDS = 3.0
"""No step is worth more; and while a solver runs, Ctrl-C is not heard."""

TRACE = 1e-7
"""A share of the mass that may as well be nothing."""

LARGEST_SCOPE = 1 << 13
"""Tables larger than this are not read off a distribution found elsewhere."""

SMALLEST_RADIUS = 1e-7
"""A search whose steps have become smaller than this has converged."""


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
        """Take so many steps from a point, as long as they help."""
        sign = self.end.sign
        here = self._candidate(point)
        best, radius = None, 0.5
        for step in range(1, steps + 1):
            if here is None:
                return best
            if here.is_feasible and (best is None or sign * here.value < sign * best.value):
                best = here
            if radius < SMALLEST_RADIUS or step == steps or self.budget.is_spent:
                return best
            there = self._step(here, radius)
            gain = 0.0 if there is None else _merit(here, sign) - _merit(there, sign)
            if there is not None and gain > 1e-12:
                here, radius = there, min(1.0, 2.0 * radius)
                if gain < 1e-10 and here.is_feasible:
                    radius = 0.0
            else:
                radius *= 0.2
        return best

    def without_traces(self, found: Candidate) -> Candidate | None:
        """Clear away the traces of mass that a solver's tolerances leave in a candidate.

        A sentence whose condition has a trace of probability may be far from true under it.
        """
        most = np.where(found.point > TRACE * found.point[0], np.inf, 0.0)
        return self._candidate(found.point, most)

    def _step(self, here: Candidate, radius: float) -> Candidate | None:
        found = self._linear(here.point, radius)
        return None if found is None else self._candidate(found)

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


def _merit(candidate: Candidate, sign: float) -> float:
    return sign * candidate.value + Linearization.PRICE * candidate.shortfall


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
