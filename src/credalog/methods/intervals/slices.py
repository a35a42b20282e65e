"""Sound bounds on any query, in a network of any size.

Input: a network, its dependency graph and a query P(q | e). Output: an interval that holds for every model.

Around the query a *slice* is cut out of the network: some variables, the sentences about them alone, and the
independences among them that the whole network implies. Every model satisfies these, so what follows from a
slice holds. Intervals are propagated through it; then the formula is bounded by a linear program over the
worlds of a window around its variables, in which the intervals are rows. A formula with more variables than
fit into a window is taken apart, and bounded by its parts. Slices and windows grow as long as there is time
and something to gain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from time import monotonic
from typing import assert_never

import numpy as np
import scipy.sparse as sp

from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork
from credalog.methods.answer import Answer
from credalog.methods.intervals.conditioning import requisite
from credalog.methods.intervals.factors import Floats, factor_graph
from credalog.methods.intervals.frechet import Range, both, complement, independent, parity, share
from credalog.methods.intervals.propagation import propagate, slice_intervals
from credalog.methods.intervals.result import Variant, of_value
from credalog.methods.intervals.separation import Ancestry, mark_declared
from credalog.methods.intervals.windows import LinearProgram, Surroundings, box_rows, local_sentences
from credalog.methods.progress import Telling
from credalog.network.formulas import (
    TRUE,
    And,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Or,
    Truth,
    Variable,
    Xor,
    canonical,
    conjunction,
    literals_of,
    scope,
    truth_table,
)
from credalog.network.graph import DependencyGraph, Markov, dependency_graph
from credalog.network.sentences import Network, Query
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import VACUOUS, End, Interval, Status
from credalog.trusted.rounding import enclosed, round_down, round_up

__all__ = ["Slices", "bounds", "sound_answer"]

SIZES = ((16, 64), (64, 256), (256, 1024), (1024, 2048))
"""How many variables a slice has, and how many worlds a window: each costs some ten times the one before."""

GAIN = 1e-6
"""By how much a larger slice has to narrow an interval for a still larger one to be tried."""

FIRST = 0.1
"""The seconds that the first slice is given in any case: an answer of [0, 1] helps nobody."""

GROUP = 64
"""How many worlds the parts of a wide formula may have that are bounded together."""


def bounds(
    network: Network,
    asked: Query,
    *,
    markov: Markov = Markov.LOCAL,
    budget: Budget | None = None,
    graph: DependencyGraph | None = None,
) -> Interval:
    """Bound a query over all models, whatever the size of the network, in the time there is.

    `graph` is the dependency graph whose independences count, by default the network's own. A contradiction
    that is found on the way is raised, with proof: the network has no model, or none that gives the condition
    any probability.
    """
    slices = Slices(network, dependency_graph(network) if graph is None else graph, markov)
    return slices.bounds(asked, Budget.of() if budget is None else budget)


def sound_answer(slices: Slices, asked: Query, budget: Budget, telling: Telling | None = None) -> Answer:
    """Answer a query by slices; of one variable given observed values, by the whole network too."""
    interval = slices.bounds(asked, budget.share(0.5), telling)
    event, observed = literals_of(asked.claim), literals_of(asked.given)
    is_large = len(slices.network.variables) > SIZES[-1][0]
    if event is not None and len(event) == 1 and observed is not None and (observed or is_large):
        ((variable, value),) = event.items()
        with suppress(OutOfTime):
            found = propagate(
                slices.network,
                variant=Variant.SOUND,
                evidence=asked.given,
                asked=(variable,),
                markov=slices.markov,
                timeout=budget.remaining,
                dependencies=slices.dependencies,
            )
            interval = interval.joined(found.answer(variable.is_(value), asked).interval)
    if interval.is_empty:
        raise _contradiction(asked)
    return Answer(asked, interval, Status.BOUNDED, Variant.SOUND.value, budget.elapsed)


@dataclass(frozen=True)
class Slices:
    """A network made ready for sound bounds on many queries."""

    network: Network
    dependencies: DependencyGraph
    markov: Markov = Markov.LOCAL

    def bounds(self, asked: Query, budget: Budget, telling: Telling | None = None) -> Interval:
        """Bound a query in slices that grow, as long as there is time and something to gain."""
        query, found = self._requisite(asked), VACUOUS
        first = replace(budget, deadline=max(budget.deadline, monotonic() + FIRST))
        for variables, worlds in SIZES:
            part = self._slice(query, variables, worlds, first if found is VACUOUS else budget)
            before, found = found, found.joined(_interval(part.range(query)))
            if found.is_empty:
                raise _contradiction(asked)
            if telling is not None:
                telling.tell_both(found, stage=f"windows in {variables} variables")
            # What a first slice does not know, a second may; and a query taken apart may fit into a window.
            stands = before is not VACUOUS and part.holds(query) and _gain(before, found) < GAIN
            if budget.is_spent or part.is_whole or stands:
                break
        return found

    def _requisite(self, asked: Query) -> Query:
        """Forget observations that others make irrelevant."""
        observed = literals_of(asked.given) if self._implied else None
        if not observed:
            return asked
        numbers = {self.dependencies.index(v): v for v in observed}
        claimed = [self.dependencies.index(v) for v in scope(asked.claim)]
        kept = requisite(self.dependencies, self._cyclic, claimed, numbers)
        if kept is None:
            return asked
        return Query(asked.claim, conjunction(numbers[i].is_(observed[numbers[i]]) for i in sorted(kept)))

    def _slice(self, asked: Query, variables: int, worlds: int, budget: Budget) -> _Slice:
        """Cut out the variables nearest to a query, and bound each of them."""
        kept = self._near(asked.scope, variables)
        near = sorted({i for v in kept for i in self._touching[v]})
        said = [i for i in near if kept.issuperset(self._scopes[i])]
        sentences = tuple(self.network.sentences[i] for i in said)
        part = Network(self.network.variables, sentences, self.network.independences)
        graph = factor_graph(part, silent=True, budget=budget)
        graph = mark_declared(self._ancestry.mark(graph) if self._implied else graph)
        lower, upper = slice_intervals(graph, self.dependencies, budget)
        local = local_sentences(graph, self.dependencies) if self._implied else {}
        around = Surroundings(graph, self.dependencies, worlds, self._ancestry.component, local)
        is_whole = len(said) == len(near) and around.worlds(kept) <= worlds
        return _Slice(around, lower, upper, self._ancestry if self._implied else None, is_whole, budget)

    def _near(self, start: Iterable[Variable], count: int) -> set[int]:
        """Return the variables nearest to some, through sentences, and these themselves."""
        frontier = [self.dependencies.index(v) for v in start]
        found = set(frontier)
        # The list grows while it is walked: a breadth-first search.
        for v in frontier:
            for i in self._touching[v]:
                fresh = [w for w in self._scopes[i] if w not in found]
                if fresh and len(found) + len(fresh) <= count:
                    found.update(fresh)
                    frontier.extend(fresh)
        return found

    @property
    def _implied(self) -> bool:
        return self.markov is not Markov.NONE

    @cached_property
    def _ancestry(self) -> Ancestry:
        return Ancestry(self.dependencies)

    @cached_property
    def _cyclic(self) -> set[int]:
        return set(np.flatnonzero(self._ancestry.cyclic).tolist())

    @cached_property
    def _scopes(self) -> list[tuple[int, ...]]:
        """Return the variables of each sentence, by number."""
        index = self.dependencies.index
        return [tuple(index(v) for v in sentence.scope) for sentence in self.network.sentences]

    @cached_property
    def _touching(self) -> list[list[int]]:
        """Return the sentences about each variable."""
        touching: list[list[int]] = [[] for _ in self.network.variables]
        for i, over in enumerate(self._scopes):
            for v in over:
                touching[v].append(i)
        return touching


@dataclass(frozen=True)
class _Slice:
    """A part of a network, with bounds on its variables."""

    around: Surroundings
    lower: Floats
    upper: Floats
    ancestry: Ancestry | None
    is_whole: bool
    budget: Budget

    def holds(self, asked: Query) -> bool:
        """Tell whether a query fits into a window with all between its variables, or into none at all."""
        _, largest = SIZES[-1]
        numbers = set(self._numbers(asked.claim, asked.given))
        worlds = self.around.worlds(self.around.connect(numbers, largest))
        return not self.around.most_worlds < worlds <= largest

    def range(self, asked: Query) -> Range:
        """Bound a query by one window where it fits, and by its parts where it does not."""
        if self._affords(self.around.most_worlds, asked.claim, asked.given):
            return self._in_window(asked.claim, asked.given)
        if not asked.is_conditional:
            return self._formula(asked.claim)
        held = self._formula(conjunction((asked.claim, asked.given)))
        found = share(held, self._formula(conjunction((Not(asked.claim), asked.given))))
        return _meet(found, self._stated(asked.claim, asked.given))

    @cached_property
    def _said(self) -> dict[tuple[Formula, Formula], Range]:
        """Return the bounds of the sentences by claim and condition."""
        said: dict[tuple[Formula, Formula], Range] = {}
        for sentence in self.around.graph.network.sentences:
            if not sentence.is_linear:
                key = canonical(sentence.claim), canonical(sentence.given)
                ends = round_down(float(sentence.lower)), round_up(float(sentence.upper))
                said[key] = _meet(said.get(key, (0.0, 1.0)), ends)
        return said

    def _stated(self, claim: Formula, given: Formula = TRUE) -> Range:
        """Return what a sentence says of just this probability."""
        return self._said.get((canonical(claim), canonical(given)), (0.0, 1.0))

    def _affords(self, worlds: int, *formulas: Formula) -> bool:
        """Tell whether there is time for a window, and whether formulas fit into it."""
        return not self.budget.is_spent and self._fits(worlds, *formulas)

    def _fits(self, worlds: int, *formulas: Formula) -> bool:
        return self.around.worlds(self._numbers(*formulas)) <= worlds

    def _numbers(self, *formulas: Formula) -> list[int]:
        return [self.around.dependencies.index(v) for v in scope(*formulas)]

    def _in_window(self, claim: Formula, given: Formula = TRUE) -> Range:
        """Bound P(claim | given) by a linear program over the worlds around it."""
        numbers = self.around.connect(set(self._numbers(claim, given)), self.around.most_worlds)
        over = self.around.grow(numbers, len(self.around.graph.network.variables))
        variables = tuple(self.around.graph.network.variables[v] for v in over)
        event, condition = (truth_table(formula, variables).ravel() for formula in (claim, given))
        try:
            return LinearProgram(self._rows(over), self.budget).range(event, condition)
        except InconsistentNetwork:
            names = ", ".join(v.name for v in variables)
            raise InconsistentNetwork(
                f"No distribution satisfies the network: what is known of {names} contradicts itself."
            ) from None

    def _rows(self, over: tuple[int, ...]) -> sp.csr_array:
        """Write what is known of a window: its sentences, and the interval of each variable."""
        a = self.around.graph.arrays
        slots = [slot for v in over for slot in range(a.variable_slot[v], a.variable_slot[v + 1])]
        chosen = [] if self.ancestry is None else self.ancestry.independent(over)
        product = np.array([v in chosen for v in over], dtype=np.bool_)
        box = box_rows(a.size[list(over)], product, self.lower[slots], self.upper[slots])
        return sp.csr_array(sp.vstack([self.around.rows(over), box], format="csr"))

    def _formula(self, formula: Formula) -> Range:
        """Bound a formula by a window if it is small, and else by its parts and what is said of it."""
        if self._affords(GROUP, formula):
            return self._in_window(formula)
        return _meet(self._by_parts(formula), self._stated(formula))

    def _by_parts(self, formula: Formula) -> Range:
        match formula:
            case Truth(value):
                return float(value), float(value)
            case Is():
                return self._atom(formula)
            case Not(operand):
                return complement(self._formula(operand))
            case And(operands):
                return self._conjunction(operands)
            case Or(operands):
                return complement(self._conjunction(tuple(map(Not, operands))))
            case Implies(premise, conclusion):
                return complement(self._conjunction((premise, Not(conclusion))))
            case Xor(operands):
                return reduce(parity, (self._formula(part) for part in self._groups(operands, Xor)))
            case Iff(left, right):
                return complement(parity(self._formula(left), self._formula(right)))
            case _:
                assert_never(formula)

    def _atom(self, atom: Is) -> Range:
        """Return what propagation knows of one value of a variable."""
        slot = int(self.around.graph.arrays.variable_slot[self.around.dependencies.index(atom.variable)])
        return of_value(
            self.lower[slot:], self.upper[slot:], atom.variable, atom.variable.values.index(atom.value)
        )

    def _conjunction(self, operands: tuple[Formula, ...]) -> Range:
        """Bound a conjunction: parts that have no ancestor in common are independent."""
        blocks: list[tuple[set[int], Range]] = []
        for part in self._groups(operands, conjunction):
            over, event = set(self._numbers(part)), self._formula(part)
            apart = [block for block in blocks if self._independent(over, block[0])]
            for block in blocks:
                if block not in apart:
                    over, event = over | block[0], both(event, block[1])
            blocks = [*apart, (over, event)]
        return reduce(independent, (event for _, event in blocks))

    def _independent(self, one: set[int], other: set[int]) -> bool:
        return self.ancestry is not None and self.ancestry.disjoint(one, other)

    def _groups(
        self, operands: tuple[Formula, ...], joined: Callable[[tuple[Formula, ...]], Formula]
    ) -> Iterator[Formula]:
        """Join operands, one after the other, as long as a window for them all can be afforded."""
        group: tuple[Formula, ...] = ()
        for operand in operands:
            if group and not self._affords(GROUP, *group, operand):
                yield group[0] if len(group) == 1 else joined(group)
                group = ()
            group = (*group, operand)
        yield group[0] if len(group) == 1 else joined(group)


def _interval(found: Range) -> Interval:
    """Return a range as proved: its ends were rounded outwards where they arose."""
    return Interval(
        enclosed(found[0], error=0.0, end=End.LOWER), enclosed(found[1], error=0.0, end=End.UPPER)
    )


def _meet(one: Range, other: Range) -> Range:
    """Return what two ranges of the same probability say together."""
    return max(one[0], other[0]), min(one[1], other[1])


def _gain(before: Interval, after: Interval) -> float:
    """Return by how much the ends have moved."""
    return max(after.lower.bound - before.lower.bound, before.upper.bound - after.upper.bound)


def _contradiction(asked: Query) -> CredalogError:
    if asked.is_conditional:
        return ImpossibleEvidence(
            f"No model gives {asked.given} any probability: the bounds on {asked} cross."
        )
    return InconsistentNetwork(f"No distribution satisfies the network: the bounds on {asked} cross.")
