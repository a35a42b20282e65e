"""Sums and quotients of probabilities as one probability of a slightly larger network.

Input: a network, and a `Linear` or `Quotient` question. Output: `Reduced`: a network with a few more
variables, a probability of it, and the exact way back to the quantity asked for.

A *lottery* is a child of what a sum weighs: it is true with the probability that the sum, brought to the
range from 0 to 1, has in its world. A *copy* is a root, independent of all else, whose probability is said to
be that of a claim under a condition: with it a sum across conditions is a sum under one. A fair *coin* makes
a quotient a posterior. Every model extends to the new variables and every model of the larger network, the
new ones forgotten, is a model (docs/proofs.md, proof 20).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import ceil, floor, inf, prod

import numpy as np

from credalog.errors import ProblemTooLarge
from credalog.methods.answer import Answer
from credalog.network.expressions import (
    WIDE,
    Claims,
    Combined,
    Linear,
    Part,
    Question,
    Quotient,
    Summand,
    values_of,
)
from credalog.network.formulas import (
    TRUE,
    And,
    Formula,
    Is,
    Not,
    Or,
    Variable,
    canonical,
    conjunction,
    scope,
)
from credalog.network.graph import Markov
from credalog.network.sentences import Contrast, Independence, Network, Query, Sentence
from credalog.numbers.interval import End, Endpoint, Interval
from credalog.numbers.tolerances import FEASIBILITY, PROBABILITY, Scale
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted.check import violation

__all__ = ["Plain", "Reduced", "plain", "reduced", "rounded", "scale_of", "without"]

MOST_STATES = 1 << 14
"""A model whose tables are intertwined with new variables is multiplied out up to this size."""

DECIMALS = 6
"""Bounds of a copy are stated with so many decimals, rounded outwards: proofs stay in small numbers."""

LARGEST = Fraction(10**300)
"""A larger number is as good as infinite."""

_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Reduced:
    """A probability in the place of a sum or a quotient: the value is that of `way` at the probability."""

    network: Network
    query: Query
    way: Affine | Odds
    added: frozenset[Variable]

    def without_added(self, model: Distribution) -> Distribution | None:
        """Return a model of the larger network as one of the network itself; None where that is too large."""
        return without(model, self.added)


def without(model: Distribution, added: frozenset[Variable]) -> Distribution | None:
    """Forget some variables of a distribution; None where what is left is too large to multiply out."""
    kept = [f for f in model.factors if added.isdisjoint(f.block)]
    gone = {v for f in model.factors for v in f.block} - {v for f in kept for v in f.block}
    if gone <= added and all(added.isdisjoint(f.parents) for f in kept):
        return Distribution(tuple(kept))
    block = tuple(v for f in model.factors for v in f.block if v not in added)
    if prod(len(v.values) for v in block) > MOST_STATES:
        return None
    return Distribution((Factor(block, (), model.marginal(block)),))


@dataclass(frozen=True, slots=True)
class Affine:
    """The value least + (greatest - least) * p."""

    least: Fraction
    greatest: Fraction

    def value(self, probability: float, *, down: bool) -> float:
        """Return the value at a probability, rounded outwards."""
        exact = self.least + (self.greatest - self.least) * Fraction(probability)
        return rounded(exact, down=down)

    def threshold(self, value: Fraction) -> Fraction:
        """Return the probability at a value."""
        return (value - self.least) / (self.greatest - self.least)


@dataclass(frozen=True, slots=True)
class Odds:
    """The value factor * p / (1 - p) - shift."""

    factor: Fraction
    shift: Fraction = _ZERO

    def value(self, probability: float, *, down: bool) -> float:
        """Return the value at a probability, rounded outwards."""
        exact = Fraction(probability)
        return inf if exact >= 1 else rounded(self.factor * exact / (1 - exact) - self.shift, down=down)

    def threshold(self, value: Fraction) -> Fraction:
        """Return the probability at a value; what no quotient can be is below 0."""
        shifted = value + self.shift
        return shifted / (self.factor + shifted) if shifted > 0 else min(shifted, _ZERO)


def rounded(exact: Fraction, *, down: bool) -> float:
    """Return the nearest float on the outer side of a fraction."""
    if abs(exact) > LARGEST:
        return float(LARGEST if down else inf) if exact > 0 else float(-inf if down else -LARGEST)
    near = float(exact)
    if down and Fraction(near) > exact:
        return float(np.nextafter(near, -inf))
    if not down and Fraction(near) < exact:
        return float(np.nextafter(near, inf))
    return near


def scale_of(asked: Question) -> Scale:
    """Return the numbers between which a quantity lies in every distribution, and its unit."""
    if isinstance(asked, Query):
        return PROBABILITY
    if isinstance(asked, Linear):
        low, high = asked.span
        return Scale(rounded(low, down=True), rounded(high, down=False), asked.unit)
    positive = asked.over.span[0] >= 0 and asked.under.span[0] >= 0
    return Scale(0.0 if positive else -inf, inf, 1.0)


def reduced(
    network: Network,
    asked: Combined,
    markov: Markov,
    *,
    possible: Iterable[Formula] = (),
    ranges: Mapping[Part, tuple[float, float]] | None = None,
) -> Reduced | None:
    """Return the probability that stands for a sum or a quotient; None for a quotient that has none.

    `possible` are conditions known to have positive probability in every model; `ranges` are bounds proved of
    what sums say under single conditions.
    """
    growth = _Growth(network, asked.scope, asked.conditions, markov, frozenset(possible), ranges or {})
    return growth.linear(asked) if isinstance(asked, Linear) else growth.quotient(asked)


@dataclass(frozen=True, slots=True)
class Plain:
    """A network whose sentences all have one condition, and the variables that were added to make it so."""

    network: Network
    added: frozenset[Variable]

    def restored(self, answer: Answer, contrasts: Network) -> Answer:
        """Return an answer whose models lack the added variables and satisfy the contrasts."""
        ends = (self._restored(answer.interval[end], contrasts) for end in End)
        return replace(answer, interval=Interval(*ends, scale=answer.interval.scale))

    def _restored(self, end: Endpoint, contrasts: Network) -> Endpoint:
        if end.model is None:
            return end
        model = without(end.model, self.added)
        if model is None:
            return replace(end, model=None)
        said = contrasts.about(v for factor in model.factors for v in factor.block)
        holds = violation(model, said, None) <= FEASIBILITY
        return replace(end, model=model) if holds else replace(end, model=None, witnessed=None)


def plain(network: Network, markov: Markov, *, draws: bool = True) -> Plain:
    """Return a network with the same models that compares under single conditions only.

    Where a comparison draws no arrows it is a bound and no more.
    """
    contrasts = network.contrasts if draws else ()
    arrows = tuple(sentence for contrast in contrasts for sentence in contrast.arrows())
    grown = replace(network, sentences=(*network.sentences, *arrows), contrasts=())
    for contrast in network.contrasts:
        growth = _Growth(grown, contrast.scope, contrast.conditions, markov, frozenset(), {})
        growth.contrast(contrast)
        grown = growth.grown()
    added = frozenset(grown.variables) - frozenset(network.variables)
    return Plain(grown, added)


def _copies_in(network: Network) -> Iterator[tuple[tuple[Formula, Formula], Is]]:
    """Yield the copies that stand for sentences across conditions."""
    for sentence in network.sentences:
        match sentence.claims:
            case ((_, event), (weight, Is(variable) as copy)) if variable.name.startswith("<copy"):
                if weight == -1 and sentence.lower == sentence.upper == 0:
                    yield (canonical(event), canonical(sentence.given)), copy


def _shift(asked: Quotient) -> Fraction:
    """Return how many times the divisor is to be added so that what is subtracted of its terms is gone."""
    under = {(t.claim, t.given): t.weight for t in asked.under.terms if t.weight > 0}
    taken = ((t, under.get((t.claim, t.given))) for t in asked.over.terms if t.weight < 0)
    return max((-t.weight / weight for t, weight in taken if weight is not None), default=_ZERO)


@dataclass(slots=True)
class _Growth:
    """The variables added so far, what is said of them, and the condition under which all is asked."""

    network: Network
    scope: tuple[Variable, ...]
    asked_under: tuple[Formula, ...]
    markov: Markov
    possible: frozenset[Formula]
    ranges: Mapping[Part, tuple[float, float]]
    variables: list[Variable] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)
    independences: list[Independence] = field(default_factory=list)
    conditions: list[Formula] = field(default_factory=list)
    copies: dict[Part, tuple[Claims, Fraction]] = field(default_factory=dict)
    roots: list[Variable] = field(default_factory=list)
    claimed: frozenset[Formula] = frozenset()
    """The formulas that sentences claim."""
    known: dict[tuple[Formula, Formula], Is] = field(default_factory=dict)
    """The copies that the network has already, by claim and condition."""

    def __post_init__(self) -> None:
        if self.markov is not Markov.NONE:
            self.known = dict(_copies_in(self.network))
        self.claimed = frozenset(canonical(claim) for s in self.network.sentences for _, claim in s.claims)

    def linear(self, asked: Linear) -> Reduced:
        """Weigh a sum by one lottery."""
        claims, constant = self._under_one_condition(asked, self._base(asked))
        event, least, greatest = self._lottery(claims, constant)
        return self._reduced(Query(event, self._given), Affine(least, greatest))

    def quotient(self, asked: Quotient) -> Reduced | None:
        """Weigh both sums by lotteries, and toss a coin which of them is looked at."""
        base, shift = self._base(asked.under if asked.under.terms else asked.over), _shift(asked)
        sides = (asked.over.plus(asked.under, shift), asked.under)
        sums = [self._under_one_condition(side, base) for side in sides]
        over, under = (self._lottery(*side, least=_ZERO) for side in sums)
        if min(over[1], under[1]) < 0 or not (over[2] > 0 and under[2] > 0):
            return None
        coin = self._independent_root("coin", self.variables)
        self.sentences.append(Sentence.of(coin, Fraction(1, 2), Fraction(1, 2)))
        seen = Or((And((coin, over[0])), And((Not(coin), under[0]))))
        return self._reduced(Query(coin, conjunction((self._given, seen))), Odds(over[2] / under[2], shift))

    def contrast(self, said: Contrast) -> None:
        """State under one condition what is said across several.

        Where a bound leaves room for equality, a copy of what stands under an impossible condition can be
        chosen to satisfy it, so that its condition need not be copied too.
        """
        terms = tuple(Summand(term.weight, term.claim, term.given) for term in said.terms)
        asked = Linear(terms)
        if len(terms) == 2 and terms[0].weight == -terms[1].weight and said.lower <= 0 <= said.upper:
            self.possible = frozenset(said.conditions)
        claims, constant = self._under_one_condition(asked, self._base(asked))
        known = {part.given for part in asked.parts()[0]} | set(self.conditions)
        for given in said.conditions:
            if given not in known:
                self._require(given)
        lower, upper = said.lower - constant, said.upper - constant
        stated = Sentence(claims, self._given, lower, upper, False, said.label, said.source, draws=False)
        self.sentences.append(replace(stated, across=(said, constant)))

    def _base(self, asked: Linear) -> Formula:
        """Return the condition under which all is asked: none, where a term has none, or one not copied yet.

        Without a condition nothing is scaled, and the relaxation was found to be tighter.
        """
        parts, _ = asked.parts()
        fresh = [part.given for part in parts if self._known_copy(part) is None]
        base = TRUE if TRUE in asked.conditions else next(iter((*fresh, *asked.conditions)), TRUE)
        self.conditions.append(base)
        return base

    def _known_copy(self, part: Part) -> tuple[Claims, Fraction] | None:
        """Return a variable that has the probability of a single claim, or of its denial, already."""
        if len(part.claims) != 1:
            return None
        ((weight, claim),), given = part.claims, canonical(part.given)
        if (copy := self.known.get((canonical(claim), given))) is not None:
            return ((weight, copy),), _ZERO
        if (copy := self.known.get((canonical(Not(claim)), given))) is not None:
            return ((-weight, copy),), weight
        return None

    @property
    def _given(self) -> Formula:
        return conjunction(dict.fromkeys(self.conditions))

    def _reduced(self, query: Query, way: Affine | Odds) -> Reduced:
        return Reduced(self.grown(), query, way, frozenset(self.variables))

    def grown(self) -> Network:
        """Return the network with all that was added."""
        known = self.network
        return Network(
            (*known.variables, *self.variables),
            (*known.sentences, *self.sentences),
            (*known.independences, *self.independences),
        )

    # ---- across conditions ----------------------------------------------------------------------------

    def _under_one_condition(self, asked: Linear, base: Formula) -> tuple[Claims, Fraction]:
        """Return a sum as one under the base, with copies of what stands under other conditions."""
        parts, constant = asked.parts()
        claims: list[tuple[Fraction, Formula]] = []
        for part in parts:
            mine, more = (part.claims, _ZERO) if part.given == base else self._copied(part)
            claims += mine
            constant += more
        return tuple(claims), constant

    def _copied(self, part: Part) -> tuple[Claims, Fraction]:
        if part not in self.copies:
            self.copies[part] = self._copy(part)
        return self.copies[part]

    def _copy(self, part: Part) -> tuple[Claims, Fraction]:
        """Add a root with the probability of a claim under its condition; one more for the condition itself.

        The second has the condition's probability and is asked to be true: so only models count in which the
        condition is possible.
        """
        self._require(part.given)
        if (known := self._known_copy(part)) is not None:
            return known
        event, least, greatest = self._lottery(part.claims, _ZERO, part.given)
        copy = self._independent_root("copy")
        self._equate(event, copy, part.given)
        self._bound(copy, part, least, greatest)
        return ((greatest - least, copy),), least

    def _require(self, given: Formula) -> None:
        """Ask for models only in which a condition is possible: a copy of it is to be true."""
        if given != TRUE and given not in self.possible:
            condition = self._independent_root("condition")
            self._equate(given, condition, TRUE)
            self.conditions.append(condition)

    def _equate(self, event: Formula, copy: Is, given: Formula) -> None:
        claims = ((_ONE, event), (-_ONE, copy))
        self.sentences.append(Sentence(claims, given, _ZERO, _ZERO, tau=False, draws=False))

    def _bound(self, copy: Is, part: Part, least: Fraction, greatest: Fraction) -> None:
        """State what is known of a copied part."""
        if part not in self.ranges:
            return
        low, high = ((Fraction(end) - least) / (greatest - least) for end in self.ranges[part])
        unit = 10**DECIMALS
        low, high = Fraction(floor(low * unit), unit), Fraction(ceil(high * unit), unit)
        self.sentences.append(Sentence.of(copy, max(_ZERO, low), min(_ONE, high)))

    def _independent_root(self, name: str, others: Iterable[Variable] = ()) -> Is:
        """Add a root; where nothing is independent unless it is said, say it of all that is asked."""
        copies = [*self.roots, *others]
        root = self._root(name)
        self.roots.append(root.variable)
        if self.markov is Markov.NONE:
            block = tuple(dict.fromkeys((*self.scope, *copies)))
            self.independences.append(Independence((root.variable,), block))
        return root

    def _root(self, name: str, values: Sequence[str] | None = None) -> Is:
        """Add a variable; no such name can be written."""
        named = f"<{name} {len(self.network.variables) + len(self.variables)}>"
        variable = Variable(named) if values is None else Variable(named, tuple(values))
        self.variables.append(variable)
        return Is(variable, variable.values[-1])

    # ---- lotteries ------------------------------------------------------------------------------------

    def _lottery(
        self, claims: Claims, constant: Fraction, given: Formula = TRUE, *, least: Fraction | None = None
    ) -> tuple[Formula, Fraction, Fraction]:
        """Return an event whose probability is a sum brought to the range from its least to its greatest."""
        if len(claims) == 1 and (least is None or claims[0][0] + constant == max(claims[0][0], _ZERO)):
            ((weight, claim),) = claims
            low, high = sorted((constant, constant + weight))
            return (claim if weight > 0 else Not(claim)), low, high
        over = list(scope(*(claim for _, claim in claims)))
        if self.markov is Markov.NONE:
            # A lottery is independent of nothing there: its chance is stated in every world of the question.
            over = list(dict.fromkeys((*over, *scope(given, *self.asked_under, *self.conditions))))
        if prod(len(v.values) for v in over) > WIDE:
            return self._selected(claims, constant, least)
        return self._tabled(claims, constant, over, least)

    def _tabled(
        self, claims: Claims, constant: Fraction, over: Sequence[Variable], least: Fraction | None
    ) -> tuple[Formula, Fraction, Fraction]:
        """State the chance of a lottery in every world of a sum."""
        worlds = list(product(*(v.values for v in over)))
        values = [constant + value for value in values_of(claims, over)]
        low, high = min(values), max(values)
        low = low if least is None else min(low, least)
        if low == high:
            return TRUE, low - 1, high
        event = self._root("lottery")
        for world, value in zip(worlds, values, strict=True):
            chance = (value - low) / (high - low)
            self.sentences.append(Sentence.of(event, chance, chance, given=self._unused(over, world)))
        return event, low, high

    def _unused(self, over: Sequence[Variable], world: Sequence[str]) -> Formula:
        """Return a condition that holds in one world, and whose node in the graph no sentence has.

        A node that is also the claim of a sentence would lead what that depends on to the lottery.
        """
        condition = conjunction(Is(v, value) for v, value in zip(over, world, strict=True))
        if isinstance(condition, Is):
            return condition
        while canonical(condition) in self.claimed:
            condition = Not(Not(condition))
        return condition

    def _selected(
        self, claims: Claims, constant: Fraction, least: Fraction | None
    ) -> tuple[Formula, Fraction, Fraction]:
        """Draw one claim with a chance in proportion to its weight, and look whether it is true."""
        if self.markov is Markov.NONE:
            raise ProblemTooLarge("a sum over too many worlds at once")
        low = constant + sum((weight for weight, _ in claims if weight < 0), _ZERO)
        if least is not None and low > least:
            claims, low = (*claims, (low - least, TRUE)), least
        total = sum((abs(weight) for weight, _ in claims), _ZERO)
        first = self._root("selector", [str(i) for i in range(len(claims))]).variable
        events: list[Formula] = []
        for (weight, claim), value in zip(claims, first.values, strict=True):
            chance = abs(weight) / total
            self.sentences.append(Sentence.of(Is(first, value), chance, chance))
            events.append(And((Is(first, value), claim if weight > 0 else Not(claim))))
        return Or(tuple(events)), low, low + total
