"""Sentences written in Python as they are on paper.

Input: formulas. Output: sentences and queries. `P(a & b, given=c) >= 0.3` and `P(a) + 2 * P(b) <= 0.7`
are sentences; `P(a, given=b)` alone is a question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Never, TypeAlias

from credalog.errors import LanguageError
from credalog.network.formulas import TRUE, Formula
from credalog.network.sentences import Query, Sentence, exact
from credalog.text.linear import normal_form

__all__ = ["Expression", "P", "Stated"]

Number: TypeAlias = Fraction | float | str

_ZERO, _ONE = Fraction(0), Fraction(1)


def P(claim: Formula, given: Formula = TRUE) -> Expression:  # noqa: N802 -- the paper's letter
    """Return the probability of a claim, as an expression to compare or to ask for."""
    return Expression(((_ONE, claim),), given)


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """Weighted probabilities under one condition, plus a constant.

    Compared with a number or with another expression, it becomes a sentence.
    """

    terms: tuple[tuple[Fraction, Formula], ...]
    given: Formula = TRUE
    constant: Fraction = _ZERO

    def between(self, lower: Number, upper: Number) -> Stated:
        """State that the expression lies between two bounds."""
        return _stated(self, exact(lower), exact(upper))

    def __ge__(self, other: Expression | Number) -> Stated:
        return _stated(self - other, _ZERO, None)

    def __le__(self, other: Expression | Number) -> Stated:
        return _stated(self - other, None, _ZERO)

    def __eq__(self, other: Expression | Number) -> Stated:  # type: ignore[override]
        return _stated(self - other, _ZERO, _ZERO)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Expression | Number) -> Expression:
        if not isinstance(other, Expression):
            return replace(self, constant=self.constant + exact(other))
        if self.terms and other.terms and self.given != other.given:
            raise LanguageError(
                "the probabilities of one sentence have different conditions",
                advice="All terms need the same condition: P(a, given=c) >= 2 * P(b, given=c).",
            )
        given = self.given if self.terms else other.given
        return Expression(self.terms + other.terms, given, self.constant + other.constant)

    def __mul__(self, factor: Number) -> Expression:
        scale = exact(factor)
        terms = tuple((weight * scale, claim) for weight, claim in self.terms)
        return Expression(terms, self.given, self.constant * scale)

    def __neg__(self) -> Expression:
        return self * -1

    def __sub__(self, other: Expression | Number) -> Expression:
        return self + (-other if isinstance(other, Expression) else -exact(other))

    def __rsub__(self, other: Number) -> Expression:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def query(self) -> Query:
        """Return the question that a single probability asks."""
        if len(self.terms) != 1 or self.terms[0][0] != 1 or self.constant:
            raise LanguageError("only a single probability P(...) can be asked for")
        return Query(self.terms[0][1], self.given)


@dataclass(frozen=True, slots=True)
class Stated:
    """A sentence as it was stated in Python."""

    sentence: Sentence

    def named(self, label: str) -> Stated:
        """Return the same with a label."""
        return Stated(replace(self.sentence, label=label))

    def without_dependence(self) -> Stated:
        """Return the same with tau False: it does not tie the atoms of its claim to each other."""
        return Stated(replace(self.sentence, tau=False))

    def __bool__(self) -> Never:
        # Python reads l <= P(a) <= u as (l <= P(a)) and (P(a) <= u), and would keep the second only.
        raise LanguageError(
            "a sentence is neither true nor false", advice="Write P(a).between(l, u) for two bounds at once."
        )


def _stated(expression: Expression, lower: Fraction | None, upper: Fraction | None) -> Stated:
    low = None if lower is None else lower - expression.constant
    high = None if upper is None else upper - expression.constant
    claims, least, greatest = normal_form(expression.terms, low, high)
    return Stated(Sentence(claims, expression.given, least, greatest))
