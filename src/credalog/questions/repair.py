"""The cheapest repair: which bounds must give way, by how much, before a network has a model.

Input: sentences with prices, under the dependency graph of the network they come from. Output: `Cheapest`: a
distribution whose admission costs little, and a proved bound below which no repair can cost.

A repair chooses a distribution with all the network's independences and pays for each sentence the distance
of its probability from its bounds. It leaves every condition possible that no fact excludes: a conflict about
P(q | r) is not settled by P(r) = 0. Going downhill (sequential linear programming) finds a cheap one. Its
price in turn limits how far each single sentence can give way in any cheaper repair, which bounds the
conditional probabilities, and branch and bound on these proves the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from math import ceil, inf
from typing import TypeVar

import numpy as np

from credalog.errors import InconsistentNetwork, ProblemTooLarge
from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.proofs import Prover
from credalog.methods.cliques.search import halves
from credalog.methods.cliques.witness import distribution_at, ratio_values, tables_of
from credalog.network.formulas import TRUE, Formula, scope
from credalog.network.graph import Markov
from credalog.network.problem import Problem, problem_of, relevant_part
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program.branch import BranchAndBound, Explored
from credalog.program.program import Box, Floats, Outcome
from credalog.program.solvers.highs import Linearization
from credalog.questions.models import encode_tables, stands_for_model
from credalog.questions.repair_program import POSSIBLE, Priced, Widening, widenings_of
from credalog.tables.distribution import Distribution
from credalog.theory import span

GRAIN = Fraction(1, 10_000)
"""Bounds are widened in steps of this size: people can write them, and models have room."""

NOISE = 1e-7
"""A widening below this is a rounding error."""

STEPS = 30
"""How many linear programs a descent may solve."""

LEAST_GAIN = 1e-9
"""A step that saves less than this is not taken."""

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
    low, high = span(sentence.claims)
    lower = max(min(low, sentence.lower), sentence.lower - by[0])
    return replace(sentence, lower=lower, upper=min(max(high, sentence.upper), sentence.upper + by[1]))


def widened_for(distribution: Distribution, sentence: Sentence) -> Sentence:
    """Widen a sentence, in whole steps, until it admits a distribution."""
    low, high = widenings_of(distribution, sentence)
    return widened(sentence, (_whole_steps(low), _whole_steps(high)))


def _whole_steps(widening: float) -> Fraction:
    return Fraction(0) if widening <= NOISE else ceil(Fraction(widening) / GRAIN) * GRAIN


def conditions_of(network: Network, sentences: Iterable[Sentence], budget: Budget) -> tuple[Formula, ...]:
    """Return the conditions of some sentences that no fact excludes: a sentence without condition, at 0 or 1.

    Where the facts contradict each other, nothing can be said to be possible.
    """
    facts = (s for s in network.sentences if s.given == TRUE and not s.is_linear)
    certain = replace(network, sentences=tuple(s for s in facts if s.lower >= 1 or s.upper <= 0))
    engine = Engine(replace(certain, independences=()), Markov.NONE)
    conditions = dict.fromkeys(s.given for s in sentences if s.given != TRUE)
    try:
        answers = [(g, engine.query(Query(g), Options(timeout=budget.for_solver))) for g in conditions]
    except InconsistentNetwork:
        return ()
    return tuple(given for given, answer in answers if answer.upper > 0.5)


def conditions_said(sentences: Iterable[Sentence], possible: Iterable[Formula]) -> tuple[Formula, ...]:
    """Return conditions as they were written: those of a sentence across conditions one by one."""
    written = {s.given: s.across[0].conditions for s in sentences if s.across is not None}
    said = (given for one in possible for given in written.get(one, (one,)))
    return tuple(given for given in dict.fromkeys(said) if given != TRUE)


def cheapest(
    engine: Engine,
    priced: Sequence[Priced],
    kept: Sequence[Sentence],
    conditions: Sequence[Formula],
    *,
    tolerance: float,
    budget: Budget,
) -> Cheapest:
    """Find the cheapest widening of some sentences beside others that are kept, all conditions possible."""
    search = _RepairSearch(engine, priced, kept, conditions, tolerance, budget)
    try:
        return search.run()
    except ProblemTooLarge:
        return Cheapest(search.best, search.price, 0.0)


class _RepairSearch:
    """The search for one cheapest repair; `best` is the cheapest that was checked so far."""

    def __init__(
        self,
        engine: Engine,
        priced: Sequence[Priced],
        kept: Sequence[Sentence],
        conditions: Sequence[Formula],
        tolerance: float,
        budget: Budget,
    ) -> None:
        self.engine = engine
        self.priced = priced
        self.kept = kept
        self.conditions = conditions
        self.tolerance = tolerance
        self.budget = budget
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

    def _round(self, price: float, work: Callable[[_PricedProgram], float]) -> float:
        # A little more than the price, so that a repair at exactly this price is not cut off.
        most = price * (1.0 + 1e-9) + 1e-12
        problem = self._problem(most)
        numbers = {v: i for i, v in enumerate(problem.variables)}
        shown = [*(one.sentence.scope for one in self.priced), *map(scope, self.conditions)]
        scopes = [[numbers[v] for v in variables] for variables in shown]
        encoding = encode_tables(problem, scopes, budget=self.budget)
        return work(_PricedProgram(Widening(encoding, self.priced, self.conditions, most), most, self.budget))

    def _problem(self, most: float) -> Problem:
        """Return, in numbers, the network whose sentences give way as far as a price pays for it."""
        loose = [] if most == inf else [_affordable(one, most) for one in self.priced]
        whole = replace(self.engine.network, sentences=(*self.kept, *loose))
        everything = problem_of(whole, self.engine.graph, self.engine.markov)
        index = {v: i for i, v in enumerate(everything.variables)}
        asked = {index[v] for s in (*self.kept, *(one.sentence for one in self.priced)) for v in s.scope}
        return relevant_part(everything, asked)[0]

    def _descend_from(self, program: _PricedProgram) -> float:
        """Bound a program; go downhill from where its relaxation ends, and would end at other prices."""
        bound, point = program.relax(program.box)
        rng = np.random.default_rng(0)
        for _ in range(STARTS):
            if point is not None:
                self._descend(program, point)
            if self.price <= bound + self.tolerance or self.budget.is_spent:
                break
            point = program.repriced(rng)
        return bound

    def _descend(self, program: _PricedProgram, point: Floats) -> None:
        def step(here: tuple[float, Floats], radius: float) -> tuple[float, Floats] | None:
            found = program.step(here[1], radius)
            return None if found is None else self._offer(program, found)

        start = self._offer(program, point)
        path = descend(
            start,
            step=step,
            merit=lambda here: here[0],
            steps=STEPS,
            budget=self.budget,
            least_gain=LEAST_GAIN,
        )
        for _ in path:
            pass

    def _offer(self, program: _PricedProgram, point: Floats) -> tuple[float, Floats]:
        """Read a distribution off a point; return its price, with what conditions lack, and its own point."""
        distribution, point = program.distribution(point)
        price = program.widening.cost(distribution)
        lacking = sum(max(0.0, POSSIBLE - distribution.probability(given)) for given in self.conditions)
        if price < self.price and lacking <= LEAST_GAIN and self._is_admitted(distribution):
            self.best, self.price = distribution, price
        return price + Linearization.PRICE * lacking, point

    def _is_admitted(self, distribution: Distribution) -> bool:
        """Check that the sentences, once widened, and all independences hold."""
        loose = [widened_for(distribution, one.sentence) for one in self.priced]
        return stands_for_model(distribution, self.engine, [*self.kept, *loose])

    def _prove(self, program: _PricedProgram) -> float:
        """Cut the range of ratios until no leaf leaves room for a cheaper repair."""
        tree, numbers = BranchAndBound(program.box), count()

        def explore(known: float, box: Box) -> Explored[Box]:
            bound, point = program.relax(box)
            bound = max(known, bound)
            if point is None:
                return Explored(closed=bound)
            # Every point may be a cheap repair itself; to go downhill from each of them would not pay.
            (self._offer if next(numbers) % DESCENTS else self._descend)(program, point)
            boxes = halves(program.encoding, box, point)
            return Explored(tuple((bound, child) for child in boxes), inf if boxes else bound)

        is_over, enough = (lambda: self.budget.is_spent), (lambda: self.price - self.tolerance)
        tree.run(explore, until=is_over, enough=enough)
        return min(tree.bound, self.price)


def _affordable(one: Priced, budget: float) -> Sentence:
    most = Fraction(budget / one.weight)
    return widened(one.sentence, (most, most))


class _PricedProgram:
    """A program of widenings, ready to be relaxed and linearized."""

    def __init__(self, widening: Widening, most: float, budget: Budget) -> None:
        self.widening = widening
        self.encoding = widening.encoding
        self.budget = budget
        self.objective = widening.objective(most)
        self._prover = Prover(self.encoding.program, self.objective, End.LOWER, budget)
        self._has_inner_conditions = bool(self.encoding.problem.declared) or any(
            len(clique.block) > 1 for clique in self.encoding.factorization.cliques
        )
        self._linearization = Linearization(
            self.encoding.program, elastic_contexts=self._has_inner_conditions
        )
        self.box = self._narrowed(self.encoding.program.ratios.box)

    def _narrowed(self, box: Box) -> Box:
        """Bound the probability of every condition by the relaxation."""
        for ratio, probability in self.widening.conditions:
            low, high = (self._prover.range_end(probability, box, end) for end in End)
            box = box.restrict(ratio, low, max(low, high))
        return box

    def relax(self, box: Box) -> tuple[float, Floats | None]:
        """Return a proved bound on the price within a box, and the relaxed point if there is one."""
        claim, _ = self._prover.relax(box, None)
        bound = self._prover.bound(claim, box, 0.0)
        return bound, claim.point if claim.outcome is Outcome.OPTIMAL else None

    def repriced(self, rng: np.random.Generator) -> Floats | None:
        """Return where the relaxation would end if prices were up to ten times higher or lower."""
        prices = self.objective.numerator * 10.0 ** rng.uniform(-1.0, 1.0, self.encoding.program.columns)
        objective = replace(self.objective, numerator=prices)
        claim, _ = self._prover.relaxation.minimize(objective, self.box, timeout=self.budget.for_solver)
        return claim.point if claim.outcome is Outcome.OPTIMAL else None

    def step(self, point: Floats, radius: float) -> Floats | None:
        """Return the cheapest point of the program linearized here."""
        ratios, cost = ratio_values(self.encoding, point), self.objective.numerator
        seconds = self.budget.for_solver
        return self._linearization.step(cost, self.objective, point, ratios, radius=radius, timeout=seconds)

    def distribution(self, point: Floats) -> tuple[Distribution, Floats]:
        """Return the distribution nearest to a point, and the point it is at."""
        if self._has_inner_conditions:
            held = self.step(point, 0.0)
            point = point if held is None else held
        distribution = distribution_at(self.encoding, point)
        return distribution, self.widening.complete(tables_of(self.encoding, distribution), distribution)


# ---- trust-region descent ---------------------------------------------------------------------------------
# Trust-region descent by sequential linear programming, for whoever can solve a linearized program.
# Input: a start, a step that stays within a radius, and a merit to be lowered. Output: the points met on
# the way, each better than the one before.

P = TypeVar("P")

FIRST_RADIUS = 0.5
"""How far the first step may go; no ratio ever moves by more than one."""

SHRINKAGE = 0.2
"""What is left of the radius after a step that did not help; one that did doubles it."""

SMALLEST_RADIUS = 1e-7
"""A descent whose steps have become smaller than this has converged."""


def descend(
    start: P,
    *,
    step: Callable[[P, float], P | None],
    merit: Callable[[P], float],
    steps: int,
    budget: Budget,
    least_gain: float = 1e-12,
) -> Iterator[P]:
    """Yield the start and every better point, until steps, radius or time are used up."""
    here, radius = start, FIRST_RADIUS
    yield here
    for _ in range(steps):
        if radius < SMALLEST_RADIUS or budget.is_spent:
            return
        there = step(here, radius)
        if there is not None and merit(here) - merit(there) > least_gain:
            here, radius = there, min(1.0, 2.0 * radius)
            yield here
        else:
            radius *= SHRINKAGE
