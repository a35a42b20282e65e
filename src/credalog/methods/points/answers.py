"""Queries whose relevant part is a Bayesian network: every theta that bears on them is one point.

Input: a credal network and a query, or all marginals given some evidence. Output: `Answer`s whose two ends
are the same number but for roundings; None where some theta that matters is no point.

The model. Each theta(x | configuration) is the only point of its credal set, rounded once, so the product of
these tables satisfies every sentence to the last digit: there is nothing to search and nothing to check. The
families that only scale P(evidence) may be imprecise; they are at the centres of their credal sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalog.errors import ProblemTooLarge, impossible_evidence
from credalog.methods.answer import Answer, Options
from credalog.methods.points.beliefs import Beliefs, Model, beliefs
from credalog.methods.points.potentials import VANISHING, Rounded, quotient
from credalog.methods.points.rational import total
from credalog.network.formulas import (
    Formula,
    Is,
    Not,
    Or,
    Variable,
    conjunction,
    literals_of,
    scope,
    truth_table,
)
from credalog.network.sentences import Query
from credalog.network.structure import ancestors, relevance
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End, Interval
from credalog.tables.credal import CredalNetwork
from credalog.tables.distribution import Distribution, Factor, observations
from credalog.tables.elimination import MAX_CELLS, Potential, restricted
from credalog.trusted.rounding import UNIT, enclosed

__all__ = ["marginals", "query"]

METHOD = "points"


def query(credal: CredalNetwork, asked: Query, options: Options) -> Answer | None:
    """Return P(claim | given); None where what bears on it is no point or too small, or the time is up."""
    budget = Budget.of(options.timeout)
    try:
        points = _Points(credal, asked.given, budget)
        estimate = points.probability(asked.claim)
        if estimate is not None and estimate.error == inf:
            estimate = points.exactly(asked.claim)
    except (OutOfTime, ProblemTooLarge):
        return None
    if estimate is None:
        return None
    return points.answer(asked, estimate, options)


MANY = 100
"""Of more variables those with few ancestors come first, whose tables are small: time may be short."""


def marginals(
    credal: CredalNetwork, atoms: Iterable[Is], given: Formula, options: Options
) -> dict[Is, Answer] | None:
    """Return P(atom | given) for many atoms, in one pass; None where that needs more than points.

    Where there is no time for all, those of variables with few ancestors are returned.
    """
    asked = tuple(atoms)
    budget = Budget.of(options.timeout * len(asked))
    known: list[_Estimate] = []
    reached: Sequence[Is] = ()
    points = None
    with suppress(OutOfTime, ProblemTooLarge):
        points = _Points(credal, given, budget)
        for part in _easiest_first(credal, asked):
            estimates = points.atoms(part)
            if estimates is None or any(estimate.error == inf for estimate in estimates):
                return None
            known, reached = estimates, part
    if points is None or not reached:
        return None
    share = budget.elapsed / len(reached)
    pairs = zip(reached, known, strict=True)
    answers = {atom: points.answer(Query(atom, given), found, options) for atom, found in pairs}
    return {atom: replace(answer, seconds=share) for atom, answer in answers.items()}


def _easiest_first(credal: CredalNetwork, asked: Sequence[Is]) -> Iterator[Sequence[Is]]:
    """Yield the atoms about the half of many variables that has the fewest ancestors, and then all."""
    variables = [credal.number[x] for x in dict.fromkeys(atom.variable for atom in asked)]
    if len(variables) > MANY:
        count = {x: len(ancestors(credal.parents, [x])) for x in variables}
        easiest = set(sorted(variables, key=count.__getitem__)[: len(variables) // 2])
        yield [atom for atom in asked if credal.number[atom.variable] in easiest]
    yield asked


@dataclass(frozen=True, slots=True)
class _Estimate:
    """A computed probability, and how far it may be from the true one."""

    value: float
    error: float

    @property
    def complement(self) -> _Estimate:
        return _Estimate(1.0 - self.value, self.error + UNIT)


_CERTAIN = {True: _Estimate(1.0, 0.0), False: _Estimate(0.0, 0.0)}


class _Points:
    """The tables of a network under some evidence; a formula observed is a table of zeros and ones."""

    def __init__(self, credal: CredalNetwork, given: Formula, budget: Budget) -> None:
        self.credal, self.budget = credal, budget
        self.number = credal.number
        world, formulas = observations(given)
        self.observed = self._numbered(world)
        self.formulas = [self._truth(formula) for formula in formulas]
        self.factors: dict[int, Factor] = {}

    def probability(self, claim: Formula) -> _Estimate | None:
        """Return the probability of any claim that mentions a variable."""
        targets = [self.number[x] for x in scope(claim)]
        model = self._model(targets)
        if model is None or not targets:
            return None
        free = [x for x in targets if x not in self.observed]
        if len(free) > 1:
            together, either = literals_of(claim), _none_of(claim)
            if together is not None:
                return self._all(together, model)
            if either is not None:
                return self._all(either, model).complement
        truth = restricted(self._truth(claim), self.observed)
        if truth.values.all() or not truth.values.any():
            self._run(model, ())
            return _CERTAIN[bool(truth.values.all())]
        if len(free) == 1:
            return self._within(self._run(model, free).of[free[0]], truth.values)
        return self._indicated(truth, model)

    def atoms(self, claims: Iterable[Is]) -> list[_Estimate] | None:
        """Return the probabilities of many atoms."""
        asked = [(self.number[claim.variable], claim.variable.values.index(claim.value)) for claim in claims]
        model = self._model([x for x, _ in asked])
        if model is None:
            return None
        found = self._run(model, dict.fromkeys(x for x, _ in asked)).of
        return [
            _CERTAIN[self.observed[x] == state]
            if x in self.observed
            else self._within(found[x], np.arange(self.credal.sizes[x]) == state)
            for x, state in asked
        ]

    def exactly(self, claim: Formula) -> _Estimate | None:
        """Return the probability of a claim in rational arithmetic; None where an interval bears on it."""
        event = self._truth(claim)
        wanted = ancestors(self.credal.parents, [*event.scope, *self._conditions])
        found = [self.credal.exact_table(x) for x in sorted(wanted)]
        tables = [table for table in found if table is not None]
        if len(tables) < len(found):
            return None
        # Zeros and ones as whole numbers: a float would make floats of the fractions.
        *truths, last = (
            Potential(t.scope, t.values.astype(int).astype(object)) for t in (*self.formulas, event)
        )
        given = [restricted(table, self.observed) for table in (*tables, *truths)]
        whole = total(given, self.credal.sizes, self.budget)
        part = total([*given, restricted(last, self.observed)], self.credal.sizes, self.budget)
        if not whole:
            raise impossible_evidence()
        return _Estimate(float(part / whole), float(part / whole) * UNIT + VANISHING if part else 0.0)

    def answer(self, asked: Query, found: _Estimate, options: Options) -> Answer:
        """Turn an estimate into an answer, with the network itself as the model that attains it."""
        witness = self._witness(scope(asked.claim))
        proved = (enclosed(found.value, error=found.error, end=end) for end in End)
        interval = Interval(*(replace(end, witnessed=found.value, model=witness) for end in proved))
        return Answer(asked, interval, interval.status(options.tolerance), METHOD, self.budget.elapsed)

    # ---- tables ---------------------------------------------------------------------------------------

    def _numbered(self, world: Mapping[Variable, str]) -> dict[int, int]:
        return {self.number[x]: x.values.index(value) for x, value in world.items()}

    def _truth(self, formula: Formula) -> Potential[int]:
        mentioned = scope(formula)
        if prod(len(x.values) for x in mentioned) > MAX_CELLS:
            raise ProblemTooLarge("a formula mentions too many variables")
        table = truth_table(formula, mentioned).astype(np.float64)
        return Potential(tuple(self.number[x] for x in mentioned), table)

    def _model(self, targets: Iterable[int]) -> Model | None:
        """Return the tables of all ancestors of query and evidence, if those that matter are points."""
        count = len(self.credal.sizes)
        parents = (*self.credal.parents, *(formula.scope for formula in self.formulas))
        known = (*self.observed, *range(count, len(parents)))
        relevant = relevance(parents, targets, known)
        if any(x < count and self.credal.points[x] is None for x in relevant.families):
            return None
        families = [x for x in (*relevant.families, *relevant.separated) if x < count]
        return Model([*map(self._family, families), *self.formulas], self.credal.sizes)

    def _family(self, x: int) -> Potential[int]:
        table = self.credal.points[x]
        if table is None:
            return self.credal.central_table(x, {})
        return Potential((*self.credal.parents[x], x), table)

    # ---- probabilities --------------------------------------------------------------------------------

    def _run(self, model: Model, asked: Iterable[int], more: Mapping[int, int] = {}) -> Beliefs:
        """Pass over the tables, given the evidence, which must be possible, and more than that."""
        found = beliefs(model, asked, observed={**self.observed, **more}, budget=self.budget)
        if not more and found.mass.is_zero:
            raise impossible_evidence()
        return found

    def _within(self, belief: Rounded, event: NDArray[Any]) -> _Estimate:
        return _Estimate(*quotient(belief.within(event), belief.summed(())))

    def _all(self, literals: Mapping[Variable, str], model: Model) -> _Estimate:
        """Return the probability that several variables have these values, as a quotient of two masses."""
        values = self._numbered(literals)
        if any(self.observed.get(x, state) != state for x, state in values.items()):
            self._run(model, ())
            return _CERTAIN[False]
        whole = self._run(model, ()).mass
        return _Estimate(*quotient(self._run(model, (), values).mass, whole))

    def _indicated(self, truth: Potential[int], model: Model) -> _Estimate:
        """Return the probability of a formula, as that of a variable which is true exactly where it is."""
        new = len(model.sizes)
        table = Potential((*truth.scope, new), np.stack([1.0 - truth.values, truth.values], axis=-1))
        extended = Model([*model.tables, table], (*model.sizes, 2))
        return self._within(self._run(extended, [new]).of[new], np.array([False, True]))

    # ---- the model ------------------------------------------------------------------------------------

    def _witness(self, asked: Iterable[Variable]) -> Distribution:
        """Return the tables of all ancestors of query and evidence, parents first."""
        wanted = ancestors(self.credal.parents, [*(self.number[x] for x in asked), *self._conditions])
        return Distribution(tuple(self._factor(x) for x in self.credal.order if x in wanted))

    @property
    def _conditions(self) -> Iterator[int]:
        """Yield the variables that the evidence mentions."""
        yield from self.observed
        for formula in self.formulas:
            yield from formula.scope

    def _factor(self, x: int) -> Factor:
        if x not in self.factors:
            variables = self.credal.network.variables
            parents = tuple(variables[p] for p in self.credal.parents[x])
            self.factors[x] = Factor((variables[x],), parents, self._family(x).values)
        return self.factors[x]


def _none_of(claim: Formula) -> Mapping[Variable, str] | None:
    """Read the negation of a disjunction as a partial world; None for any other formula."""
    if not isinstance(claim, Or):
        return None
    return literals_of(conjunction(p.operand if isinstance(p, Not) else ~p for p in claim.operands))
