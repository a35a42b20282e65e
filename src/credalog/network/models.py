"""Whether a product of tables is a model of a network, in whole numbers and fractions.

Input: what a network means, and tables P(block | parents). Output: `Model`: what it gives to a question, and
by how much it misses what the network says. The verifier of certificates stands on it, so it needs no arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import chain, starmap
from math import prod
from typing import Any, NamedTuple

from credalog.network.formulas import TRUE, Formula
from credalog.network.markov import Graph, Variables
from credalog.network.meaning import Event, Meaning
from credalog.network.sentences import Query, Sentence
from credalog.network.tables import Column, summed_out

__all__ = ["Model"]

ZERO = Fraction(0)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"it is not so that {what}")


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
            _require(len(set(over)) == len(over) > len(parents) and is_next, "each variable has one table")
            _require(all(type(p) is int and p >= 0 for p in (*entries, whole)), "no probability is negative")
            states = (tuple(world.values()) for world in meaning.worlds(over, {}))
            table, row = dict(zip(states, entries, strict=True)), prod(meaning.sizes[x] for x in block)
            sums = {sum(entries[start : start + row]) for start in range(0, len(entries), row)}
            _require(whole > 0 and sums == {whole}, "each row adds up to one")
            for place, x in enumerate(block):
                self.arrows[x] = frozenset((*parents, *block[:place]))
                self.factors[x] = Factor(over, table, whole, len(block) == 1)
        _require(self.arrows.keys() == set(range(len(meaning.sizes))), "every variable has a table")

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

    def value(self, asked: Query) -> Fraction:
        """Return the probability that is asked for."""
        joint = self.joint(asked.given, self.meaning.numbers(asked.scope))
        mass = sum((p for _, p in joint), start=ZERO)
        _require(mass > 0, "the condition has a positive probability")
        return sum((p for event, p in joint if self.meaning.holds(asked.claim, event)), start=ZERO) / mass

    def residual(self, asked: Query) -> Fraction:
        """Return the largest violation of a sentence or an independence, relative to its condition."""
        sentences = self.meaning.network.sentences
        scopes = [self.meaning.numbers(over) for over in (asked.scope, *(s.scope for s in sentences))]
        conditions = self.meaning.left_open(self.arrows, scopes)
        _require(conditions is not None, "the distribution can be told to be a model")
        return max(chain((ZERO,), map(self._excess, sentences), starmap(self._dependence, conditions or ())))

    def _excess(self, s: Sentence) -> Fraction:
        """Return how far a sentence is missed; what holds in each row of one table holds."""
        claimed, given = self.meaning.numbers(s.claim_scope), self.meaning.numbers(s.given_scope)
        factor = self.factors[min(claimed, default=0)]
        if len(claimed) == 1 and factor.is_single and given.issubset(factor.over[:-1]):
            rows: dict[Column, Fraction] = {}
            for states, p in factor.table.items():
                event = dict(zip(factor.over, states, strict=True))
                if self.meaning.holds(s.given, event):
                    rows[states[:-1]] = rows.get(states[:-1], ZERO) + self.meaning.weight(s, event) * p
            if all(s.lower * factor.whole <= value <= s.upper * factor.whole for value in rows.values()):
                return ZERO
        joint = self.joint(s.given, self.meaning.numbers(s.scope))
        mass = sum((p for _, p in joint), start=ZERO)
        value = sum((p * self.meaning.weight(s, event) for event, p in joint), start=ZERO)
        return max(s.lower - value / mass, value / mass - s.upper) if mass else ZERO

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
