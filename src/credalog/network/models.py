"""Whether a product of tables is a model of a network, in whole numbers and fractions.

Input: what a network means, and tables P(block | parents). Output: `Model`: what it gives to a question, and
by how much it misses what the network says. The verifier of certificates stands on it, so it needs no arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain, starmap
from math import prod
from typing import Any, NamedTuple

from credalog.errors import require
from credalog.network.expressions import Claims, Linear, Part, Question, Quotient
from credalog.network.formulas import TRUE, Formula, conjunction, literals_of, scope
from credalog.network.markov import Graph, Variables
from credalog.network.meaning import Event, Meaning
from credalog.network.sentences import Contrast, Query, Sentence
from credalog.network.tables import Column, summed_out

__all__ = ["Model"]

ZERO = Fraction(0)


class Factor(NamedTuple):
    """The table P(block | parents), parents first, in whole numbers; each row adds up to `whole`."""

    over: tuple[int, ...]
    table: dict[Column, int]
    whole: int
    is_single: bool


class Model:
    """A distribution as a product of tables."""

    def __init__(self, meaning: Meaning, factors: Any) -> None:
        self.meaning = meaning
        self.arrows: dict[int, Variables] = {}
        self.factors: dict[int, Factor] = {}
        for block, parents, whole, entries in factors:
            over = (*parents, *block)
            is_next = set(parents) <= self.arrows.keys() and self.arrows.keys().isdisjoint(block)
            require(len(set(over)) == len(over) > len(parents) and is_next, "each variable has one table")
            require(all(type(p) is int and p >= 0 for p in (*entries, whole)), "no probability is negative")
            states = (tuple(world.values()) for world in meaning.worlds(over, {}))
            table, row = dict(zip(states, entries, strict=True)), prod(meaning.sizes[x] for x in block)
            sums = {sum(entries[start : start + row]) for start in range(0, len(entries), row)}
            require(whole > 0 and sums == {whole}, "each row adds up to one")
            for place, x in enumerate(block):
                self.arrows[x] = frozenset((*parents, *block[:place]))
                self.factors[x] = Factor(over, table, whole, len(block) == 1)
        require(self.arrows.keys() == set(range(len(meaning.sizes))), "every variable has a table")

    def joint(self, given: Formula, over: Iterable[int]) -> list[tuple[Event, Fraction]]:
        """Return the states of some variables in which a formula holds, with their probabilities."""
        shown, known = tuple(sorted(over)), self.meaning.only_state(given) or {}
        above = Graph.directed(self.arrows).ancestors(shown)
        factors = {f.over: f for f in (self.factors[x] for x in above)}.values()
        hidden = {x for f in factors for x in f.over}
        axes = {x: (known[x],) if x in known else range(self.meaning.sizes[x]) for x in hidden}
        parts = summed_out([(f.over, f.table) for f in factors], hidden.difference(shown), axes)
        scale = prod(f.whole for f in factors)
        events = (e for e in self.meaning.worlds(shown, known) if self.meaning.holds(given, e))
        return [(e, Fraction(prod(t[tuple(e[x] for x in own)] for own, t in parts), scale)) for e in events]

    def value(self, asked: Question) -> Fraction:
        """Return the probability, the sum or the quotient that is asked for."""
        if isinstance(asked, Quotient):
            under = self.value(asked.under)
            require(under != 0, "the divisor is not zero")
            return self.value(asked.over) / under
        if isinstance(asked, Linear):
            parts, constant = asked.parts()
            require(all(self._under(c, ()) is not None for c in asked.conditions), "conditions are possible")
            return sum(map(self.value_of, parts), start=constant)
        return self.value_of(asked)

    def value_of(self, asked: Query | Part) -> Fraction:
        """Return what is said under one condition; a state of many variables is not looked for among all."""
        both = conjunction((asked.claim, asked.given)) if isinstance(asked, Query) else TRUE
        if literals_of(both):
            part, whole = (self._probability(f) for f in (both, asked.given))
            value = part / whole if whole else None
        else:
            value = self._under(asked.given, asked.claims)
        require(value is not None, "the condition has a positive probability")
        return value or ZERO

    def _probability(self, formula: Formula) -> Fraction:
        joint = self.joint(formula, self.meaning.numbers(scope(formula)))
        return sum((p for _, p in joint), start=ZERO)

    def _under(self, given: Formula, claims: Claims) -> Fraction | None:
        """Return a sum under a condition; None where that has no probability."""
        part = Part(given, claims)
        joint = self.joint(given, self.meaning.numbers(part.scope))
        mass = sum((p for _, p in joint), start=ZERO)
        value = sum((p * self.meaning.weight(part, event) for event, p in joint), start=ZERO)
        return value / mass if mass else None

    def residual(self, asked: Question) -> Fraction:
        """Return the largest violation of a sentence or an independence, relative to its condition."""
        network, terms = self.meaning.network, (asked,) if isinstance(asked, Query) else asked.terms
        by_rows = [self._holds_by_rows(s) for s in network.sentences]
        asked_of = [self.meaning.numbers(one.scope) for one in (*terms, *network.contrasts)]
        spared, demanded = self._spared(asked_of, by_rows)
        conditions = self.meaning.left_open(self.arrows, demanded, spared)
        require(conditions is not None, "the distribution can be told to be a model")
        others = (s for s, holds in zip(network.sentences, by_rows, strict=True) if not holds)
        missed = chain(map(self._excess, others), map(self._contrast, network.contrasts))
        return max(chain((ZERO,), missed, starmap(self._dependence, conditions or ())))

    def _spared(
        self, asked_of: Sequence[Variables], by_rows: Sequence[bool]
    ) -> tuple[Variables, Sequence[Variables]]:
        """Return variables of which nothing is asked or said but what holds in each row of their own tables.

        They follow whatever else there is; also returned are the scopes of all that is demanded of that.
        """
        meaning = self.meaning
        said = [(meaning.numbers(s.claim_scope), meaning.numbers(s.scope)) for s in meaning.network.sentences]
        tied = frozenset(x for component in meaning.components for x in component)
        sides = (side for independence in meaning.declared for side in independence)
        spared = frozenset(self.arrows).difference(tied, *asked_of, *sides) if tied else frozenset()
        while True:
            demanded = [
                scope
                for (claimed, scope), holds in zip(said, by_rows, strict=True)
                if not (holds and claimed <= spared)
            ]
            fewer = spared.difference(*demanded)
            if fewer == spared:
                return spared, [*asked_of, *demanded]
            spared = fewer

    def _contrast(self, said: Contrast) -> Fraction:
        """Return how far a sentence across conditions is missed; it says nothing where one is impossible."""
        values = [self._under(term.given, ((term.weight, term.claim),)) for term in said.terms]
        if None in values:
            return ZERO
        value = sum((v for v in values if v is not None), start=ZERO)
        return max(said.lower - value, value - said.upper)

    def _holds_by_rows(self, s: Sentence) -> bool:
        """Tell whether a sentence about one variable holds in each row of its table, hence in all."""
        claimed, given = self.meaning.numbers(s.claim_scope), self.meaning.numbers(s.given_scope)
        factor = self.factors[min(claimed, default=0)]
        if len(claimed) != 1 or not factor.is_single or not given.issubset(factor.over[:-1]):
            return False
        weights = [
            self.meaning.weight(s, {x: state}) for x in claimed for state in range(self.meaning.sizes[x])
        ]
        rows, known = dict[Column, Fraction](), self.meaning.only_state(s.given)
        places = [(factor.over.index(y), state) for y, state in (known or {}).items()]
        for states, p in factor.table.items():
            event = dict(zip(factor.over, states, strict=True)) if known is None else {}
            holds = (
                self.meaning.holds(s.given, event)
                if known is None
                else all(states[n] == v for n, v in places)
            )
            if holds:
                rows[states[:-1]] = rows.get(states[:-1], ZERO) + weights[states[-1]] * p
        return all(s.lower * factor.whole <= value <= s.upper * factor.whole for value in rows.values())

    def _excess(self, s: Sentence) -> Fraction:
        """Return how far a sentence is missed."""
        value = self._under(s.given, s.claims)
        return max(s.lower - value, value - s.upper) if value is not None else ZERO

    def _dependence(self, left: Variables, right: Variables, given: Variables) -> Fraction:
        """Return the largest |P(l | r, g) - P(l | g)| or |P(r | l, g) - P(r | g)|."""
        joint, scopes = self.joint(TRUE, left | right | given), (given, left | given, right | given)
        sums: dict[Event | Any, Fraction] = {}
        for part, p in ((part, p) for event, p in joint for part in _parts(event, scopes)):
            sums[part] = sums.get(part, ZERO) + p
        found = ((p, *(sums[part] for part in _parts(event, scopes))) for event, p in joint)
        return max(abs(p * g - lg * rg) / (g * min(lg, rg)) for p, g, lg, rg in found if lg and rg)


def _parts(event: Event, scopes: Iterable[Variables]) -> list[Any]:
    return [(scope, tuple(event[x] for x in sorted(scope))) for scope in scopes]
