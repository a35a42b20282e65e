"""Questions that weigh several probabilities: differences, expectations and quotients.

Input: ground formulas and exact weights. Output: `Linear`, a weighted sum of probabilities, each under a
condition of its own; `Quotient`, one such sum divided by another; and what both are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import TypeAlias

from credalog.errors import LanguageError
from credalog.network.formulas import TRUE, And, Formula, Is, Truth, Variable, conjunction, scope, truth_table
from credalog.network.sentences import Query

__all__ = [
    "WIDE",
    "Claims",
    "Combined",
    "Linear",
    "Mean",
    "Part",
    "Question",
    "Quotient",
    "Summand",
    "mean_of",
    "observing",
    "simplified",
    "values_of",
]

Claims: TypeAlias = tuple[tuple[Fraction, Formula], ...]
"""Weighted formulas."""

WIDE = 1 << 10
"""Over more worlds than this a sum is not looked at world by world."""

_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Mean:
    """The expected value of a variable whose values are integers."""

    variable: Variable

    def claims(self) -> Claims:
        """Return the sum of value times probability that it stands for."""
        return tuple((Fraction(int(value)), Is(self.variable, value)) for value in self.variable.values)


def mean_of(variable: Variable) -> Mean:
    """Return the expected value of a variable, if it has one."""
    if variable.is_proposition:
        raise LanguageError(
            f"{variable.name} is true or false and has no expected value",
            advice=f"Ask for its probability: P({variable.name}).",
        )
    for value in variable.values:
        if not value.removeprefix("-").isdecimal():
            raise LanguageError(
                f"{value}, a value of {variable.name}, is no integer",
                advice=f"E(...) needs integers, as in `variable {variable.name} in 1..6`.",
            )
    return Mean(variable)


@dataclass(frozen=True, slots=True)
class Summand:
    """One weighted probability, or expected value, under a condition."""

    weight: Fraction
    claim: Formula | Mean
    given: Formula = TRUE

    @property
    def claims(self) -> Claims:
        """Return the weighted formulas that the term stands for."""
        inside = self.claim.claims() if isinstance(self.claim, Mean) else ((_ONE, self.claim),)
        return tuple((self.weight * weight, formula) for weight, formula in inside)

    @property
    def scope(self) -> tuple[Variable, ...]:
        """Return the variables of claim and condition."""
        return scope(*(formula for _, formula in self.claims), self.given)


def values_of(claims: Claims, over: Sequence[Variable]) -> list[Fraction]:
    """Return the value of a weighted sum of formulas in each world."""
    values = [_ZERO] * prod(len(v.values) for v in over)
    for weight, claim in claims:
        for number in truth_table(claim, over).ravel().nonzero()[0]:
            values[number] += weight
    return values


@dataclass(frozen=True, slots=True)
class Part:
    """What a sum says under one of its conditions."""

    given: Formula
    claims: Claims

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        """Return the least and the greatest value that no distribution passes."""
        over = scope(*(formula for _, formula in self.claims))
        if prod(len(v.values) for v in over) > WIDE:
            weights = [weight for weight, _ in self.claims]
            return sum((w for w in weights if w < 0), _ZERO), sum((w for w in weights if w > 0), _ZERO)
        values = values_of(self.claims, over)
        return min(values), max(values)

    @property
    def scope(self) -> tuple[Variable, ...]:
        """Return the variables of claims and condition."""
        return scope(*(formula for _, formula in self.claims), self.given)

    @property
    def is_conditional(self) -> bool:
        """Tell whether there is a condition."""
        return self.given != TRUE


class _Several:
    """Refuse what only a single probability has."""

    __slots__ = ()

    @property
    def claim(self) -> Formula:
        """Refuse to name one claim."""
        raise self._not_one()

    @property
    def given(self) -> Formula:
        """Refuse to name one condition."""
        raise self._not_one()

    def _not_one(self) -> LanguageError:
        return LanguageError(
            f"{self} is not one probability", advice="Its `terms` have a claim and a condition each."
        )


@dataclass(frozen=True, slots=True, repr=False)
class Linear(_Several):
    """The question for a weighted sum of probabilities and a constant."""

    terms: tuple[Summand, ...]
    constant: Fraction = _ZERO

    def parts(self) -> tuple[tuple[Part, ...], Fraction]:
        """Return the sum by condition, like claims joined, and the constant with all that is certain."""
        weights: dict[Formula, dict[Formula, Fraction]] = {}
        constant = self.constant
        for term in self.terms:
            for weight, claim in term.claims:
                if isinstance(claim, Truth):
                    constant += weight if claim.value else 0
                else:
                    here = weights.setdefault(term.given, {})
                    here[claim] = here.get(claim, _ZERO) + weight
        sums = (
            (given, tuple((w, claim) for claim, w in here.items() if w)) for given, here in weights.items()
        )
        return tuple(Part(given, claims) for given, claims in sums if claims), constant

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        """Return the least and the greatest value that no distribution passes."""
        parts, constant = self.parts()
        spans = [part.span for part in parts]
        return constant + sum(low for low, _ in spans), constant + sum(high for _, high in spans)

    @property
    def unit(self) -> float:
        """Return the largest weight, but at least one: the tolerance of the sum is so many times greater."""
        parts, _ = self.parts()
        return float(max([_ONE, *(abs(weight) for part in parts for weight, _ in part.claims)]))

    @property
    def scope(self) -> tuple[Variable, ...]:
        """Return the variables of all terms."""
        return tuple(dict.fromkeys(v for term in self.terms for v in term.scope))

    @property
    def conditions(self) -> tuple[Formula, ...]:
        """Return the different conditions."""
        return tuple(dict.fromkeys(term.given for term in self.terms))

    def observing(self, observed: Formula) -> Linear:
        """Return the same sum, every condition joined with what was observed."""
        terms = (replace(term, given=_joined(term.given, observed)) for term in self.terms)
        return replace(self, terms=tuple(terms))

    def plus(self, other: Linear, times: Fraction = _ONE) -> Linear:
        """Return this sum plus a multiple of another."""
        more = tuple(replace(term, weight=times * term.weight) for term in other.terms)
        return Linear(self.terms + more, self.constant + times * other.constant)

    def __str__(self) -> str:
        from credalog.text.unparse import unparse_linear

        return unparse_linear(self)

    __repr__ = __str__


@dataclass(frozen=True, slots=True, repr=False)
class Quotient(_Several):
    """The question for one sum divided by another."""

    over: Linear
    under: Linear

    @property
    def scope(self) -> tuple[Variable, ...]:
        """Return the variables of both sums."""
        return tuple(dict.fromkeys((*self.over.scope, *self.under.scope)))

    @property
    def terms(self) -> tuple[Summand, ...]:
        """Return the terms of both sums."""
        return (*self.over.terms, *self.under.terms)

    @property
    def conditions(self) -> tuple[Formula, ...]:
        """Return the different conditions."""
        return tuple(dict.fromkeys(term.given for term in self.terms))

    def observing(self, observed: Formula) -> Quotient:
        """Return the same quotient, every condition joined with what was observed."""
        return Quotient(self.over.observing(observed), self.under.observing(observed))

    def __str__(self) -> str:
        from credalog.text.unparse import unparse_quotient

        return unparse_quotient(self)

    __repr__ = __str__


Combined: TypeAlias = Linear | Quotient
Question: TypeAlias = Query | Linear | Quotient
"""What can be asked for: a probability, a sum of probabilities, or a quotient of sums."""


def observing(asked: Question, observed: Formula) -> Question:
    """Return a question, every condition of it joined with what was observed."""
    if isinstance(asked, Query):
        return replace(asked, given=_joined(asked.given, observed))
    return asked.observing(observed)


def simplified(asked: Combined) -> Question:
    """Return a probability that is asked for by itself as such."""
    if isinstance(asked, Linear) and len(asked.terms) == 1 and not asked.constant:
        (term,) = asked.terms
        if term.weight == 1 and not isinstance(term.claim, Mean):
            return Query(term.claim, term.given)
    return asked


def _joined(given: Formula, observed: Formula) -> Formula:
    both = conjunction((given, observed))
    return conjunction(dict.fromkeys(both.operands)) if isinstance(both, And) else both
