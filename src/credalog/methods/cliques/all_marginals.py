"""All marginals of tied variables together.

Input: a compiled network and bounds on each of its marginals. Output: the intervals that could be closed at
once. One program on the cliques that follow the ties shows every single variable, so its points are models,
or stand for some (docs/proofs.md, proof 9). A linear program that moves all open marginals outwards together
often attains many of the bounds; what it attains is checked once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from credalog.errors import ProblemTooLarge
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.engine import Cliques
from credalog.methods.cliques.fragment import Fragment
from credalog.methods.cliques.witness import distribution_at
from credalog.network.formulas import TRUE, Is
from credalog.network.problem import restrict, separate_parts
from credalog.network.sentences import Query
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End, Endpoint, Interval
from credalog.program.program import Floats, Objective, Outcome
from credalog.program.solvers.highs import Relaxation
from credalog.tables.distribution import Distribution

__all__ = ["Marginals", "closed_together"]

Marginals = Mapping[Is, Interval]

ROUNDS = 4
"""How many linear programs are tried at each end."""

FEWEST = 8
"""Smaller parts are asked one variable at a time."""


def closed_together(cliques: Cliques, bounds: Marginals, tolerance: float, budget: Budget) -> Marginals:
    """Return those intervals that models attain at both ends, within a tolerance."""
    problem = cliques.compiled.problem
    found: dict[Is, Interval] = {}
    for part in separate_parts(problem, range(len(problem.variables))):
        if len(part) >= FEWEST and not problem.structure.core.isdisjoint(part):
            kept = tuple(sorted(part))
            fragment = Fragment(restrict(problem, kept), kept)
            known = {atom: i for atom, i in bounds.items() if cliques.compiled.number[atom.variable] in part}
            found |= _closed_in(cliques, fragment, known, tolerance, budget)
    return found


def _closed_in(
    cliques: Cliques, fragment: Fragment, bounds: Marginals, tolerance: float, budget: Budget
) -> Marginals:
    try:
        everything = range(len(fragment.problem.variables))
        found = fragment.factorize(Query(TRUE), Reading.TIED, shown=everything)
        encoding, _ = fragment.encode_cliques(Query(TRUE), *found, budget)
    except (ProblemTooLarge, OutOfTime):
        return {}
    if not encoding.factorization.is_closed or fragment.problem.declared:
        return {}
    moved = _Together(cliques, fragment, encoding, tolerance, budget)
    for end in End:
        bounds = moved.outwards(bounds, end)
    return {atom: i for atom, i in bounds.items() if all(i[end].is_closed(tolerance) for end in End)}


@dataclass(frozen=True)
class _Together:
    """One program, and the marginals that are read off its points."""

    cliques: Cliques
    fragment: Fragment
    encoding: Encoding
    tolerance: float
    budget: Budget

    def outwards(self, bounds: Marginals, end: End) -> Marginals:
        """Move all marginals that are open at an end towards it, with other weights each time."""
        relaxation, rng = Relaxation(self.encoding.program), np.random.default_rng(0)
        for turn in range(ROUNDS):
            left = [atom for atom, i in bounds.items() if not i[end].is_closed(self.tolerance)]
            if not left or self.budget.is_spent:
                break
            weights = np.ones(len(left)) if turn == 0 else rng.random(len(left))
            model = self._model(relaxation, self._sum(left, weights), end)
            if model is not None:
                bounds = self._learned(bounds, model)
        return bounds

    def _sum(self, atoms: Iterable[Is], weights: Floats) -> Objective:
        """Return the weighted sum of the probabilities of some atoms."""
        program = self.encoding.program
        total = np.zeros(program.columns)
        numbers = {v: i for i, v in enumerate(self.fragment.problem.variables)}
        for atom, weight in zip(atoms, weights, strict=True):
            x = numbers[atom.variable]
            clique = self.encoding.factorization.smallest_covering((x,))
            columns = self.encoding.arranged(clique, (x,))
            total[columns[atom.variable.values.index(atom.value)]] += weight
        return Objective(total, program.mass, np.ones(len(self.encoding.columns)))

    def _model(self, relaxation: Relaxation, objective: Objective, end: End) -> Distribution | None:
        solve = relaxation.minimize if end is End.LOWER else relaxation.maximize
        claim, _ = solve(objective, self.encoding.program.ratios.box, timeout=self.budget.for_solver)
        if claim.outcome is not Outcome.OPTIMAL:
            return None
        found = distribution_at(self.encoding, claim.point)
        if not self.cliques.admits(found, self.cliques.said_of(self.fragment)):
            return None
        self.cliques.learn_of_model(self.fragment.kept)
        return found

    def _learned(self, bounds: Marginals, model: Distribution) -> Marginals:
        """Join what a model attains into all intervals."""
        variables = tuple(dict.fromkeys(atom.variable for atom in bounds))
        tables = dict(zip(variables, model.marginals([(v,) for v in variables]), strict=True))
        values = {atom: tables[atom.variable][atom.variable.values.index(atom.value)] for atom in bounds}
        return {atom: _attaining(i, float(values[atom]), model) for atom, i in bounds.items()}


def _attaining(interval: Interval, value: float, model: Distribution) -> Interval:
    for end in End:
        interval = interval.learning(Endpoint(end.trivial, value, interval[end].warrant, model), end)
    return interval
