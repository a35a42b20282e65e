"""The cheapest repair: which bounds must give way, by how much, before a network has a model.

Enters: sentences with prices, under the dependency graph of the network they come from. Leaves: `Cheapest`: a
distribution whose admission costs little, and a proved bound below which no repair can cost.

A repair chooses a distribution with all the network's independences and pays for each sentence the distance
of its probability from its bounds. Going downhill (sequential linear programming) finds a cheap one. Its
price in turn limits how far each single sentence can give way in any cheaper repair, which bounds the
conditional probabilities, and branch and bound on these proves the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count
from math import ceil, inf
from time import monotonic
from typing import TypeAlias

import numpy as np

from credalog.methods.automatic import Engine
from credalog.methods.cliques.cutting import halves
from credalog.methods.cliques.witness import distribution_at, ratio_values, tables_of
from credalog.network.problem import Problem, problem_of, relevant_part
from credalog.network.sentences import Sentence
from credalog.program.program import Box, Floats, Outcome
from credalog.program.solvers.highs import Linearization, Relaxation
from credalog.questions.models import encode_tables, is_model
from credalog.questions.widening import Priced, Widening, span_of, widenings_of
from credalog.tables.distribution import Distribution
from credalog.trusted.certify import Checker

_Work: TypeAlias = "Callable[[_Leaf], float]"

__all__ = ["Cheapest", "GRAIN", "cheapest", "widened", "widened_for"]

GRAIN = Fraction(1, 10_000)
"""Bounds are widened in steps of this size: people can write them, and models have room."""

NOISE = 1e-7
"""A widening below this is a rounding error."""

STEPS = 30
"""How many linear programs a descent may solve."""

SMALLEST_RADIUS = 1e-6
"""A descent whose steps have become smaller than this has converged."""

STARTS = 4
"""From how many points a descent begins at most, each time the program is rebuilt."""

DESCENTS = 8
"""Branch and bound goes downhill from every so many leaves."""

ROUNDS = 4
"""How often the program is rebuilt at most with the bounds that a cheaper repair implies."""

WORTHWHILE = 0.9
"""The program is rebuilt where the price fell below this share of what it was built for."""


@dataclass(frozen=True, slots=True)
class Cheapest:
    """A distribution, the price of admitting it, and the bound that no repair's price is below.

    Without a distribution no repair was found; a bound of infinity proves that there is none.
    """

    distribution: Distribution | None
    price: float
    bound: float


def widened(sentence: Sentence, by: tuple[Fraction, Fraction]) -> Sentence:
    """Return a sentence with its bounds moved outwards, as far as they make sense."""
    low, high = span_of(sentence)
    lower = max(min(low, sentence.lower), sentence.lower - by[0])
    return replace(sentence, lower=lower, upper=min(max(high, sentence.upper), sentence.upper + by[1]))


def widened_for(distribution: Distribution, sentence: Sentence) -> Sentence:
    """Widen a sentence, in whole steps, until it admits a distribution."""
    low, high = widenings_of(distribution, sentence)
    return widened(sentence, (_whole_steps(low), _whole_steps(high)))


def _whole_steps(widening: float) -> Fraction:
    return Fraction(0) if widening <= NOISE else ceil(Fraction(widening) / GRAIN) * GRAIN


def cheapest(
    engine: Engine, priced: Sequence[Priced], kept: Sequence[Sentence], *, tolerance: float, deadline: float
) -> Cheapest:
    """Find the cheapest widening of some sentences beside others that are kept as they are."""
    return _Repair(engine, priced, kept, tolerance, deadline).run()


class _Repair:
    """The search for one cheapest repair; `best` is the cheapest that was checked so far."""

    def __init__(
        self,
        engine: Engine,
        priced: Sequence[Priced],
        kept: Sequence[Sentence],
        tolerance: float,
        deadline: float,
    ) -> None:
        self.engine = engine
        self.priced = priced
        self.kept = kept
        self.tolerance = tolerance
        self.deadline = deadline
        self.best: Distribution | None = None
        self.price = inf

    def run(self) -> Cheapest:
        """Descend and rebuild while that pays, then prove what is left."""
        for _ in range(ROUNDS):
            built_for = self.price
            bound = self._round(built_for, self._descend_from)
            if bound == inf or not self.price < WORTHWHILE * built_for:
                break
        if bound < self.price - self.tolerance:
            bound = max(bound, self._round(self.price, self._prove))
        return Cheapest(self.best, self.price, min(bound, self.price) if self.best is not None else bound)

    def _round(self, budget: float, work: _Work) -> float:
        # A little more than the budget, so that a repair at exactly this price is not cut off.
        budget = budget * (1.0 + 1e-9) + 1e-12
        problem = self._problem(budget)
        numbers = {v: i for i, v in enumerate(problem.variables)}
        scopes = [[numbers[v] for v in one.sentence.scope] for one in self.priced]
        widening = Widening(encode_tables(problem, scopes), self.priced, budget)
        return work(_Leaf(widening, budget))

    def _problem(self, budget: float) -> Problem:
        """Return, in numbers, the network whose sentences give way as far as the budget pays for it."""
        loose = [] if budget == inf else [_affordable(one, budget) for one in self.priced]
        whole = replace(self.engine.network, sentences=(*self.kept, *loose))
        everything = problem_of(whole, self.engine.graph, self.engine.markov)
        index = {v: i for i, v in enumerate(everything.variables)}
        asked = {index[v] for s in self._sentences for v in s.scope}
        return relevant_part(everything, asked)[0]

    @property
    def _sentences(self) -> list[Sentence]:
        return [*self.kept, *(one.sentence for one in self.priced)]

    def _descend_from(self, leaf: _Leaf) -> float:
        """Bound a leaf; go downhill from where its relaxation ends, and would end at other prices."""
        bound, point = leaf.relax(leaf.box, self.deadline)
        rng = np.random.default_rng(0)
        for _ in range(STARTS):
            if point is not None:
                self._descend(leaf, point)
            if self.price <= bound + self.tolerance or monotonic() > self.deadline:
                break
            point = leaf.elsewhere(rng, self.deadline)
        return bound

    def _descend(self, leaf: _Leaf, point: Floats) -> None:
        here = self._offer(leaf, point)
        radius = 0.5
        for _ in range(STEPS):
            if radius < SMALLEST_RADIUS or monotonic() > self.deadline:
                return
            found = leaf.step(here[1], radius, self.deadline)
            there = (inf, point) if found is None else self._offer(leaf, found)
            if there[0] < here[0] - 1e-9:
                here, radius = there, min(1.0, 2.0 * radius)
            else:
                radius *= 0.25

    def _offer(self, leaf: _Leaf, point: Floats) -> tuple[float, Floats]:
        """Read a distribution off a point; return its price and its own point."""
        distribution, point = leaf.distribution(point, self.deadline)
        price = leaf.widening.cost(distribution)
        if price < self.price and self._is_admitted(distribution):
            self.best, self.price = distribution, price
        return price, point

    def _is_admitted(self, distribution: Distribution) -> bool:
        """Check that the sentences, once widened, and all independences hold."""
        loose = [widened_for(distribution, one.sentence) for one in self.priced]
        return is_model(distribution, self.engine, [*self.kept, *loose])

    def _prove(self, leaf: _Leaf) -> float:
        """Cut the range of ratios until no leaf leaves room for a cheaper repair."""
        numbers = count()
        open_leaves: list[tuple[float, int, Box]] = [(-inf, next(numbers), leaf.box)]
        closed = inf
        while open_leaves and open_leaves[0][0] < self.price - self.tolerance:
            if monotonic() > self.deadline:
                break
            known, number, box = heappop(open_leaves)
            bound, point = leaf.relax(box, self.deadline)
            bound = max(known, bound)
            if point is None:
                closed = min(closed, bound)
                continue
            # Every point may be a cheap repair itself; to go downhill from each of them would not pay.
            (self._offer if number % DESCENTS else self._descend)(leaf, point)
            cut = halves(leaf.encoding, box, point)
            if not cut:
                closed = min(closed, bound)
            for child in cut:
                heappush(open_leaves, (bound, next(numbers), child))
        return min(closed, *(known for known, _, _ in open_leaves), self.price)


def _affordable(one: Priced, budget: float) -> Sentence:
    most = Fraction(budget / one.weight)
    return widened(one.sentence, (most, most))


class _Leaf:
    """A program of widenings, ready to be relaxed and linearized."""

    def __init__(self, widening: Widening, budget: float) -> None:
        self.widening = widening
        self.encoding = widening.encoding
        self.objective = widening.objective(budget)
        self._relaxation = Relaxation(self.encoding.program)
        self._checker = Checker(self.encoding.program)
        cliques = self.encoding.factorization.cliques
        self._has_inner_conditions = bool(self.encoding.problem.declared) or any(
            len(clique.block) > 1 for clique in cliques
        )
        self._linearization = Linearization(
            self.encoding.program, elastic_contexts=self._has_inner_conditions
        )
        self.box = self._narrowed(self.encoding.program.ratios.box)

    def _narrowed(self, box: Box) -> Box:
        """Bound the probability of every condition by the relaxation."""
        for ratio, probability in self.widening.conditions:
            low, high = 0.0, 1.0
            claim, _ = self._relaxation.minimize(probability, box)
            if claim.outcome is Outcome.OPTIMAL:
                low = max(low, self._checker.lower_bound(probability, box, claim.multipliers))
            claim, _ = self._relaxation.maximize(probability, box)
            if claim.outcome is Outcome.OPTIMAL:
                high = min(high, self._checker.upper_bound(probability, box, claim.multipliers))
            box = box.restrict(ratio, low, max(low, high))
        return box

    def relax(self, box: Box, deadline: float) -> tuple[float, Floats | None]:
        """Return a proved bound on the price within a box, and the relaxed point if there is one."""
        remaining = max(deadline - monotonic(), 0.1)
        claim, _ = self._relaxation.minimize(self.objective, box, timeout=remaining)
        match claim.outcome:
            case Outcome.INFEASIBLE:
                empty = self._checker.proves_empty(self.objective, box, claim.multipliers)
                return (inf if empty else 0.0), None
            case Outcome.STOPPED:
                return 0.0, None
            case Outcome.OPTIMAL:
                bound = self._checker.lower_bound(self.objective, box, claim.multipliers)
                return max(0.0, bound), claim.point

    def elsewhere(self, rng: np.random.Generator, deadline: float) -> Floats | None:
        """Return where the relaxation would end if prices were up to ten times higher or lower."""
        prices = self.objective.numerator * 10.0 ** rng.uniform(-1.0, 1.0, self.encoding.program.columns)
        objective = replace(self.objective, numerator=prices)
        remaining = max(deadline - monotonic(), 0.1)
        claim, _ = self._relaxation.minimize(objective, self.box, timeout=remaining)
        return claim.point if claim.outcome is Outcome.OPTIMAL else None

    def step(self, point: Floats, radius: float, deadline: float) -> Floats | None:
        """Return the cheapest point of the program linearized here."""
        ratios = ratio_values(self.encoding, point)
        remaining = max(deadline - monotonic(), 0.1)
        step = self._linearization.step
        cost = self.objective.numerator
        return step(cost, self.objective, point, ratios, radius=radius, timeout=remaining)

    def distribution(self, point: Floats, deadline: float) -> tuple[Distribution, Floats]:
        """Return the distribution nearest to a point, and the point it is at."""
        if self._has_inner_conditions:
            held = self.step(point, 0.0, deadline)
            point = point if held is None else held
        distribution = distribution_at(self.encoding, point)
        return distribution, self.widening.complete(tables_of(self.encoding, distribution), distribution)
