"""One probability on one program: a glance by its linear relaxation, or an end by search, checked.

Input: an engine, a part of its network, its encoding and an objective. Output: bounds that hold for every
model, and witnesses that the independent checker has accepted.

Where components of several variables share ancestors, several readings take turns, as in `exact`: the inner
one attains, the outer one bounds, and the literal core is formed only on a gap that is left. Where that is
large, tables that follow the ties are tried last; a reading whose tables are too large is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

import numpy as np

from credalog.errors import ProblemTooLarge
from credalog.methods.automatic import Engine
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.ends import CORE_LIMIT
from credalog.methods.cliques.proofs import exact_bound
from credalog.methods.cliques.search import Ending, Finding, Limits, Witness, search
from credalog.methods.cliques.witness import WitnessSearch
from credalog.network.formulas import Formula, Variable
from credalog.network.problem import Problem
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Endpoint
from credalog.program.program import Claim, Objective, Outcome, Program
from credalog.program.solvers.highs import Basis, Relaxation
from credalog.tables.distribution import Distribution
from credalog.trusted.certify import Checker
from credalog.trusted.rounding import round_up

NEAR = 1e-7
"""How near a solver's value must be to a threshold that it may prove in rational arithmetic."""


def readings_of(problem: Problem) -> tuple[Reading, ...]:
    """Return the readings in which a problem is searched, one after the other."""
    structure = problem.structure
    small = prod(structure.sizes[x] for x in structure.core) <= CORE_LIMIT
    if problem.reading is Reading.GLOBAL and structure.core and small:
        return (Reading.GLOBAL, Reading.CHAIN)
    if problem.reading is not Reading.LITERAL or not structure.core:
        return (problem.reading,)
    if small and tuple(sorted(structure.core)) in structure.components:
        return (Reading.LITERAL,)
    sandwich = (Reading.CHAIN, Reading.OUTER)
    return (*sandwich, Reading.LITERAL) if small else (*sandwich, Reading.TIED)


def bounding_reading(problem: Problem) -> Reading:
    """Return the cheapest reading whose bounds hold for every model."""
    readings = readings_of(problem)
    if problem.reading is Reading.GLOBAL:
        return Reading.GLOBAL
    return Reading.TIED if Reading.TIED in readings else readings[:2][-1]


def search_in_turn(
    readings: Sequence[Reading],
    program_of: Callable[[Reading], Bounding],
    limits: Limits,
    *,
    end: End,
    known: Witness | None = None,
) -> Finding:
    """Search one reading after the other until the end is found; each knows what was attained before it."""
    best: Finding | None = None
    for turn, reading in enumerate(readings, 1):
        if best is not None and limits.budget.is_spent:
            break
        try:
            program = program_of(reading)
        except ProblemTooLarge:
            continue
        share = _share(limits, len(readings) - turn)
        # What bounds the models of a narrower reading does not bound all of them: nobody is told of it.
        share = share if program.is_outer else replace(share, report=None)
        finding = program.search(share, end=end, known=known)
        if not program.is_outer and finding.ending is Ending.INTERRUPTED:
            return finding.without_bound(end)
        if not program.is_outer:
            known = None if finding.ending is Ending.EMPTY else finding.witness
            continue
        best = finding if best is None else finding.joined(best, end)
        known = best.witness
        if finding.ending in (Ending.CLOSED, Ending.EMPTY, Ending.INTERRUPTED):
            break
    return best or Finding(end.trivial, known, Ending.STOPPED, Checker.warrant, 0, None)


def _share(limits: Limits, later: int) -> Limits:
    """Leave three quarters of the time to those that come later."""
    return limits if later == 0 else replace(limits, budget=limits.budget.share(0.25))


class Solver:
    """The linear relaxation of one program, and who checks it; each solution starts from the one before."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._relaxation = Relaxation(program)
        self._checker = Checker(program)
        self._basis: Basis = None

    def bound(self, objective: Objective, budget: Budget, *, end: End) -> tuple[Endpoint, Claim]:
        """Bound an objective by one linear program, as our own checker proves it."""
        solve = self._relaxation.maximize if end is End.UPPER else self._relaxation.minimize
        box = self._program.ratios.box
        claim, self._basis = solve(objective, box, basis=self._basis, timeout=budget.for_solver)
        if claim.outcome is not Outcome.OPTIMAL:
            return Endpoint.trivial(end), claim
        proved = self._checker.bound(objective, box, claim.multipliers, end)
        return Endpoint(min(1.0, max(0.0, proved)), None, Checker.warrant), claim

    def exact_bound(self, objective: Objective, claim: Claim, budget: Budget, *, end: End) -> Fraction | None:
        """Prove what a claim says in rational arithmetic; None where that fails."""
        program = self._program
        if program.ratios.exact is None:
            return None
        cost = end.sign * objective.numerator
        found = exact_bound(program, objective, program.ratios.box, cost, claim.multipliers, budget=budget)
        return None if found is None else int(end.sign) * found


@dataclass(frozen=True, slots=True)
class Bounding:
    """A probability as the objective of one program; `asked` are the variables that it is about."""

    engine: Engine
    asked: tuple[Variable, ...]
    problem: Problem
    encoding: Encoding
    objective: Objective
    solver: Solver

    @property
    def is_outer(self) -> bool:
        """Tell whether every model is a point of the program, so that its bounds hold for all of them."""
        reading = self.encoding.factorization.reading
        return reading is not Reading.CHAIN or self.problem.reading is Reading.GLOBAL

    def with_mass_bounded(self, given: Formula, budget: Budget) -> Bounding:
        """Bound the mass by 1 over the least probability of the evidence, where that can be proved."""
        if np.isfinite(self.objective.mass_bounds[0]):
            return self
        least, _ = self.solver.bound(self.encoding.unconditional(given), budget, end=End.LOWER)
        if least.bound <= 0.0:
            return self
        bounds = np.minimum(self.objective.mass_bounds, round_up(1.0 / least.bound))
        return replace(self, objective=replace(self.objective, mass_bounds=bounds))

    def relaxed(self, budget: Budget, *, end: End) -> Endpoint:
        """Bound the probability by one linear program, as our own checker proves it."""
        return self.solver.bound(self.objective, budget, end=end)[0]

    def exactly(self, near: Fraction, budget: Budget, *, end: End) -> Fraction | None:
        """Bound the probability in rational arithmetic, where the relaxation ends near a value."""
        _, claim = self.solver.bound(self.objective, budget, end=end)
        if claim.outcome is not Outcome.OPTIMAL or abs(claim.value - near) > NEAR:
            return None
        return self.solver.exact_bound(self.objective, claim, budget, end=end)

    def glance(self, budget: Budget, *, end: End) -> tuple[Endpoint, Witness | None]:
        """Bound the probability by one linear program, whose point may be a witness as it stands.

        A program that does not hold every model proves nothing.
        """
        proved, claim = self.solver.bound(self.objective, budget, end=end)
        bound = proved if self.is_outer else Endpoint.trivial(end)
        if claim.outcome is not Outcome.OPTIMAL:
            return bound, None
        witnesses = WitnessSearch(self.encoding, self.objective, end, budget)
        found = witnesses.from_point(claim.point, steps=1)
        if found is None or not self._is_model(found.distribution):
            return bound, None
        return bound, Witness(found.distribution, found.value)

    def search(self, limits: Limits, *, end: End, known: Witness | None = None) -> Finding:
        """Search one end; a new witness counts only if it is a model in the eyes of the checker."""
        finding = search(self.encoding, self.objective, limits, end=end, known=known)
        if finding.ending is not Ending.EMPTY:
            finding = replace(finding, bound=min(1.0, max(0.0, finding.bound)))
        if finding.witness is None or finding.witness is known:
            return finding
        is_model = self._is_model(finding.witness.distribution)
        return finding if is_model else replace(finding, witness=known)

    def _is_model(self, distribution: Distribution) -> bool:
        said = self.engine.network.about(self.problem.variables)
        return self.engine.cliques.admits(distribution, said, self.asked)
