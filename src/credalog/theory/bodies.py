"""What a rule states: bounds on weighted probabilities, rows, tables, comparisons across conditions.

Input: claims, conditions and numbers. Output: a `Body`; `normal_form` gives text and Python the same one.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import TypeAlias, TypeVar

from credalog.network.sentences import Source
from credalog.theory.declarations import Amount
from credalog.theory.patterns import YES, Pattern, Term
from credalog.theory.words import Misstatement

_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Assessment:
    """The body `lower <= sum of weight * P(claim | given) <= upper` of a rule."""

    claims: tuple[tuple[Fraction, Pattern], ...]
    given: Pattern
    lower: Fraction
    upper: Fraction


@dataclass(frozen=True, slots=True)
class Spread:
    """From where to where a number lies; one that `is_about` a middle is cut off at what is possible."""

    lower: Amount
    upper: Amount
    is_about: bool = False


class Gap(Enum):
    """What may stand for a number: what the others leave, or what data are to tell."""

    REST = "rest"
    WANTED = "?"


Entry: TypeAlias = Spread | Gap
Entries: TypeAlias = tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    """The body of a rule whose numbers depend on constants or tables; a bound may be missing.

    Across conditions, `givens` has one for each claim.
    """

    claims: tuple[tuple[Amount, Pattern], ...]
    given: Pattern
    lower: Amount | None
    upper: Amount | None
    is_about: bool = False
    givens: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """The body `P(variable | given) = (...)` of a rule: an entry for each value, in their order."""

    claim: Term
    given: Pattern
    entries: Entries


@dataclass(frozen=True, slots=True)
class FamilyTable:
    """The body of a rule that tells a variable's distribution for each configuration of its parents.

    A line has the parents' values and an entry for each value of the variable, or one that is wanted for all.
    `otherwise` is said of the configurations without a line; `rows` tells where lines were read.
    """

    claim: Term
    parents: tuple[Term, ...]
    lines: tuple[tuple[tuple[str, ...], Entries], ...]
    otherwise: Entries = ()
    rows: tuple[Source, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected value of a random term whose values are integers."""

    term: Term


@dataclass(frozen=True, slots=True)
class Weighed:
    """One weighted probability, or expected value, under a condition of its own."""

    weight: Fraction
    claim: Pattern | Expected
    given: Pattern = YES


@dataclass(frozen=True, slots=True)
class Sum:
    """Weighted probabilities, each under its condition, and a constant."""

    terms: tuple[Weighed, ...]
    constant: Fraction = _ZERO


@dataclass(frozen=True, slots=True)
class ContrastAssessment:
    """The body of a rule that compares across conditions: `lower <= sum <= upper`."""

    terms: tuple[Weighed, ...]
    lower: Fraction
    upper: Fraction


Body: TypeAlias = Assessment | ContrastAssessment | Computed | Row | FamilyTable


Claim = TypeVar("Claim", bound=Hashable)
Claims: TypeAlias = tuple[tuple[Fraction, Claim], ...]
"""Weighted claims, patterns in a theory and formulas in Python."""


def span(claims: Claims[Claim]) -> tuple[Fraction, Fraction]:
    """Return the least and the greatest value that a sum of weighted probabilities can have."""
    weights = [weight for weight, _ in claims]
    return sum((w for w in weights if w < 0), _ZERO), sum((w for w in weights if w > 0), _ZERO)


def normal_form(
    terms: Claims[Claim], lower: Fraction | None, upper: Fraction | None, *, is_about: bool = False
) -> tuple[Claims[Claim], Fraction, Fraction]:
    """Return claims without repetition, a single one with weight 1, and both bounds on their sum.

    A bound that is missing is the widest possible; one that is give or take may lie beyond it. Text and
    Python build sentences through here.
    """
    claims = terms if len(terms) == 1 and terms[0][0] else _added(terms)
    if len(claims) > 1:
        least, greatest = span(claims)
    else:
        ((weight, claim),) = claims
        if weight is not _ONE and weight != 1:
            bounds = (None if bound is None else bound / weight for bound in (lower, upper))
            lower, upper = bounds if weight > 0 else reversed(tuple(bounds))
        claims, least, greatest = ((_ONE, claim),), _ZERO, _ONE
    low = least if lower is None else lower
    high = greatest if upper is None else upper
    if is_about and low <= greatest and high >= least:
        low, high = max(low, least), min(high, greatest)
    if len(claims) == 1 and (wrong := next((bound for bound in (low, high) if not 0 <= bound <= 1), None)):
        advice = "A probability lies between 0 and 1." + _as_per_cent(wrong)
        raise Misstatement(f"{_shown(wrong)} is not a probability", lexeme=_shown(wrong), advice=advice)
    if low > greatest or high < least:
        raise Misstatement(
            f"the sum lies between {_shown(least)} and {_shown(greatest)}, whatever the distribution",
            advice="Correct the bounds.",
        )
    if low > high:
        raise Misstatement(
            f"the lower bound {_shown(low)} exceeds the upper bound {_shown(high)}",
            lexeme=_shown(low),
            advice="Exchange the two bounds, or correct one of them.",
        )
    return claims, low, high


def settled_body(
    claims: Claims[Pattern],
    givens: tuple[Pattern, ...],
    lower: Fraction | None,
    upper: Fraction | None,
    *,
    is_about: bool = False,
) -> Assessment | ContrastAssessment:
    """Return the body of a rule with known numbers, under one condition or across several."""
    if len(givens) == 1 or len(set(givens)) == 1:
        terms, low, high = normal_form(claims, lower, upper, is_about=is_about)
        return Assessment(terms, givens[0], low, high)
    across = tuple((weight, (claim, own)) for (weight, claim), own in zip(claims, givens, strict=True))
    weighed, low, high = normal_form(across, lower, upper, is_about=is_about)
    return ContrastAssessment(tuple(Weighed(weight, *one) for weight, one in weighed), low, high)


def _added(terms: Claims[Claim]) -> Claims[Claim]:
    weights: dict[Claim, Fraction] = {}
    for weight, claim in terms:
        weights[claim] = weights.get(claim, _ZERO) + weight
    claims = tuple((weight, claim) for claim, weight in weights.items() if weight)
    if not claims:
        raise Misstatement(
            "the probabilities cancel, so the sentence says nothing",
            advice="Take it out, or compare two different probabilities.",
        )
    return claims


def _as_per_cent(number: Fraction) -> str:
    """Say how to write what was probably meant as per cent; 1.5 may as well have been 150%."""
    shown = _shown(number)
    return f' For per cent, write {shown}%, in Python "{shown}%".' if 2 <= number <= 100 else ""


def _shown(number: Fraction) -> str:
    """Write a number shortly, however large it is."""
    if abs(number) < 10**15:
        return f"{float(number):g}"
    return f"{'-' if number < 0 else ''}1e+{len(str(abs(int(number)))) - 1}"
