"""A root on which all else is conditioned: each of its values is a case by itself.

Input: a network. Output: `Cases`, a smaller network for each value of the
root, and the way back: the ends of the cases mix in proportion to the root's probabilities (docs/proofs.md,
proof 23).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

import numpy as np

from credalog.methods.answer import Answer, Options
from credalog.methods.progress import bounds_alone
from credalog.network.formulas import And, Formula, Is, Not, Variable, conjunction, literals_of, scope
from credalog.network.graph import DependencyGraph
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import VACUOUS, End, Endpoint, Interval, Warrant
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted.rounding import relative_error, round_down, round_up

__all__ = ["Cases", "Mixture", "cases_of"]

MOST_STATES = 1 << 12
"""Models of cases are mixed in tables up to this size."""

Range = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Cases:
    """The networks of a root being false and true, and the range of the probability that it is true."""

    root: Variable
    networks: tuple[Network, Network]
    chance: Range

    def keeps(self, before: DependencyGraph, after: Iterable[DependencyGraph]) -> bool:
        """Tell whether all variables of all cases keep their parents, but for the root."""
        return all(
            set(before.parents(v)) == {self.root, *graph.parents(v)}
            for graph in after
            for v in graph.variables
        )

    def suit(self, asked: Query) -> bool:
        """Tell whether a query may be asked in each case: it has no condition, and is not of the root."""
        return not asked.is_conditional and self.root not in asked.scope

    def mixed(self, found: Sequence[Interval], claim: Formula) -> Interval:
        """Return the interval of the whole, given those of the cases."""
        return Interval(*(self._end([interval[end] for interval in found], end, claim) for end in End))

    def _end(self, found: Sequence[Endpoint], end: End, claim: Formula) -> Endpoint:
        """Mix two ends: linear in the root's probability, the farthest value is at an end of its range."""
        no, yes = found
        bound = end.opposite.tightest(_bound(chance, no.bound, yes.bound, end) for chance in self.chance)
        warrant = max((e.warrant for e in found), key=list(Warrant).index)
        models = [m for chance in self.chance if (m := self._model(chance, no.model, yes.model)) is not None]
        if not models:
            return Endpoint(min(max(bound, 0.0), 1.0), None, warrant)
        farthest = min(models, key=lambda model: end.sign * model.probability(claim))
        return Endpoint(min(max(bound, 0.0), 1.0), farthest.probability(claim), warrant, farthest)

    def _model(
        self, chance: Fraction, no: Distribution | None, yes: Distribution | None
    ) -> Distribution | None:
        """Mix models of the cases; None where one is missing, or where they are not of the same variables."""
        if no is None or yes is None:
            return None
        over, others = (tuple(sorted(_variables(m), key=lambda v: v.name)) for m in (no, yes))
        if over != others or prod(len(v.values) for v in over) > MOST_STATES:
            return None
        laws = Factor((self.root,), (), np.array([1.0 - float(chance), float(chance)]))
        table = np.stack([no.marginal(over), yes.marginal(over)])
        return Distribution((laws, Factor(over, (self.root,), table)))


def _variables(model: Distribution) -> Iterator[Variable]:
    return (v for factor in model.factors for v in factor.block)


def _bound(chance: Fraction, no: float, yes: float, end: End) -> float:
    """Mix two bounds, rounded outwards."""
    value = float(1 - chance) * no + float(chance) * yes
    error = relative_error(4)
    return round_down(value * (1.0 - error)) if end is End.LOWER else round_up(value * (1.0 + error))


def cases_of(network: Network, graph: DependencyGraph) -> Cases | None:
    """Tell a network's cases; None where no root bears on all else, or sentences join what it parts."""
    if network.independences or network.contrasts or not graph.is_cyclic:
        return None
    root = _root(network, graph)
    if root is None:
        return None
    chance = _chance(network, root)
    parted: tuple[list[Sentence], list[Sentence]] = ([], [])
    for sentence in network.sentences:
        if sentence.scope == (root,):
            continue
        case = _case(sentence, root)
        if case is None:
            return None
        parted[case[0]].append(case[1])
    others = tuple(v for v in network.variables if v != root)
    no, yes = (Network(others, tuple(found)) for found in parted)
    return None if chance is None else Cases(root, (no, yes), chance)


def _root(network: Network, graph: DependencyGraph) -> Variable | None:
    """Return the proposition without parents that is a parent of all others, if there is one."""
    for v in network.variables:
        if v.is_proposition and not graph.parents(v):
            return v if all(v in graph.parents(x) for x in network.variables if x != v) else None
    return None


def _chance(network: Network, root: Variable) -> Range | None:
    """Return the range that the sentences about a root leave it; None where it may be certain."""
    low, high = Fraction(0), Fraction(1)
    for sentence in network.sentences:
        if sentence.scope != (root,):
            continue
        if not sentence.draws or sentence.across is not None:
            return None
        match sentence.claims:
            case ((weight, Is(_, value)),) if weight == 1 and sentence.given_scope == ():
                bounds = sentence.lower, sentence.upper
                is_positive = value == root.values[1]
            case ((weight, Not(Is(_, value))),) if weight == 1 and sentence.given_scope == ():
                bounds = sentence.lower, sentence.upper
                is_positive = value == root.values[0]
            case _:
                return None
        least, most = bounds if is_positive else (1 - bounds[1], 1 - bounds[0])
        low, high = max(low, least), min(high, most)
    return (low, high) if 0 < low <= high < 1 else None


def _case(sentence: Sentence, root: Variable) -> tuple[int, Sentence] | None:
    """Return the case that a sentence is about, and what it says there; None where it is about several."""
    world, is_plain = literals_of(sentence.given), sentence.draws and sentence.across is None
    if world is None or root not in world or root in sentence.claim_scope or not is_plain:
        return None
    parts = sentence.given.operands if isinstance(sentence.given, And) else (sentence.given,)
    given = conjunction(part for part in parts if scope(part) != (root,))
    return root.values.index(world[root]), replace(sentence, given=given)


# ---- the mixture of the answers ---------------------------------------------------------------------------
# A query asked in each case of a root, and the mixture of the answers.
# Input: the cases, and a way to ask in each. Output: an `Answer` about the whole.

FIRST_SHARE, CLOSER = 0.95, 0.9
"""The share of the time for a first look at cases, and how much closer than needed the second one is.

A second look begins anew: where the first one was not done, that would find less.
"""


class Mixture:
    """One query, asked in each case of a root: roughly first, then as closely as the mixture needs.

    `ask` answers it in a case, and `accepts` tells whether a mixed model is one of the whole.
    """

    def __init__(
        self,
        found: Cases,
        asked: Query,
        options: Options,
        budget: Budget,
        *,
        ask: Callable[[int, Options], Answer],
        accepts: Callable[[Distribution], bool],
    ) -> None:
        self.found = found
        self.asked = asked
        self.options = options
        self.budget = budget
        self.ask = ask
        self.accepts = accepts
        self.tried: dict[str, None] = {"cases": None}
        self.interval = VACUOUS
        self.is_interrupted = False
        telling = options.telling(asked)
        self.tellings = [telling.through(self._told), telling.through(self._told)]

    def _told(self, _: Interval) -> Interval:
        """Return what follows from all that was told of both cases; models are mixed at the end alone."""
        return self.found.mixed([bounds_alone(one.interval) for one in self.tellings], self.asked.claim)

    def answer(self) -> Answer:
        """Ask until the mixed interval is closed or the time is up."""
        tolerance = self.options.tolerance
        self._ask(tolerance, FIRST_SHARE)
        if not (self._is_closed(tolerance) or self.is_interrupted or self.budget.is_spent):
            # What the first look found stays, should the second one have no time to mix.
            with suppress(OutOfTime):
                self._ask(CLOSER * self._allowed(tolerance), 1.0)
        status, seconds = self.interval.status(tolerance), self.budget.elapsed
        tried = tuple(self.tried)
        return Answer(self.asked, self.interval, status, "factorized", seconds, self.is_interrupted, tried)

    def _ask(self, tolerance: float, share: float) -> None:
        """Ask in both cases within a share of the time left, in the likelier one last, and mix."""
        until, found = Budget.of(share * self.budget.remaining), dict[int, Interval]()
        weights = [float(1 - self.found.chance[0]), float(self.found.chance[1])]
        first, last = sorted((0, 1), key=lambda case: weights[case])
        found[first] = self._in_case(first, tolerance, until.remaining / 2.0)
        left = tolerance - weights[first] * max(found[first].lower.gap, found[first].upper.gap)
        closely = min(max(left, tolerance / 4.0) / weights[last], 1.0)
        if self.is_interrupted:
            return
        found[last] = self._in_case(last, closely, until.remaining)
        mixed = self.found.mixed((found[0], found[1]), self.asked.claim)
        self.interval = self.interval.joined(self._checked(mixed))
        self.options.telling(self.asked).tell_both(self.interval, stage="cases")

    def _in_case(self, case: int, tolerance: float, seconds: float) -> Interval:
        """Ask in one case."""
        options = replace(self.options, tolerance=tolerance, timeout=seconds, report=self.tellings[case])
        answer = self.ask(case, options)
        self.tried.update(dict.fromkeys(answer.tried))
        self.is_interrupted = self.is_interrupted or answer.interrupted
        return answer.interval

    def _checked(self, mixed: Interval) -> Interval:
        """Keep the mixed models that are models of the whole."""
        ends = (mixed.lower, mixed.upper)
        return Interval(*(e if self._is_model(e) else replace(e, witnessed=None, model=None) for e in ends))

    def _is_model(self, end: Endpoint) -> bool:
        return end.model is None or self.accepts(end.model)

    def _is_closed(self, tolerance: float) -> bool:
        """Tell whether both ends are as close as was asked for."""
        ends = (self.interval.lower, self.interval.upper)
        return all(
            e.witnessed is not None and e.gap <= self.options.gap(tolerance, e.witnessed) for e in ends
        )

    def _allowed(self, tolerance: float) -> float:
        """Return the gap that may be left at both ends."""
        ends = (self.interval.lower, self.interval.upper)
        values = (e.bound if e.witnessed is None else e.witnessed for e in ends)
        return min(self.options.gap(tolerance, value) for value in values)
