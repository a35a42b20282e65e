"""The normal form of a linear sentence.

Input: weighted claims and the bounds on their sum, as written. Output: claims without repetition, and
both bounds; a single claim has weight 1, the paper's form. Text and Python build sentences through here.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Generic, NamedTuple, TypeVar

from credalog.theory import Misstatement

Claim = TypeVar("Claim", bound=Hashable)

_ZERO, _ONE = Fraction(0), Fraction(1)


class NormalForm(NamedTuple, Generic[Claim]):
    """The statement lower <= sum of weight * P(claim) <= upper."""

    claims: tuple[tuple[Fraction, Claim], ...]
    lower: Fraction
    upper: Fraction


def normal_form(
    terms: tuple[tuple[Fraction, Claim], ...], lower: Fraction | None, upper: Fraction | None
) -> NormalForm[Claim]:
    """Add up equal claims, and take the widest possible for a bound that is missing."""
    claims = _added(terms)
    if len(claims) == 1:
        return _of_one_claim(claims[0], lower, upper)
    least = sum((min(weight, _ZERO) for weight, _ in claims), _ZERO)
    greatest = sum((max(weight, _ZERO) for weight, _ in claims), _ZERO)
    low = least if lower is None else lower
    high = greatest if upper is None else upper
    if low > greatest or high < least:
        raise Misstatement(
            f"the sum lies between {_shown(least)} and {_shown(greatest)}, whatever the distribution",
            advice="Correct the bounds.",
        )
    if low > high:
        raise _crossed(low, high)
    return NormalForm(claims, low, high)


def _added(terms: tuple[tuple[Fraction, Claim], ...]) -> tuple[tuple[Fraction, Claim], ...]:
    if len(terms) == 1 and terms[0][0]:
        return terms
    weights: dict[Claim, Fraction] = {}
    for weight, claim in terms:
        weights[claim] = weights.get(claim, _ZERO) + weight
    claims = tuple((weight, claim) for claim, weight in weights.items() if weight)
    if not claims:
        raise Misstatement("the probabilities cancel, so the sentence says nothing")
    return claims


def _of_one_claim(
    weighted: tuple[Fraction, Claim], lower: Fraction | None, upper: Fraction | None
) -> NormalForm[Claim]:
    weight, claim = weighted
    if weight is not _ONE and weight != 1:
        lower, upper = (None if bound is None else bound / weight for bound in (lower, upper))
        if weight < 0:
            lower, upper = upper, lower
    low = _ZERO if lower is None else lower
    high = _ONE if upper is None else upper
    if wrong := next((bound for bound in (low, high) if not 0 <= bound <= 1), None):
        raise _no_probability(wrong)
    if low > high:
        raise _crossed(low, high)
    return NormalForm(((_ONE, claim),), low, high)


def _shown(number: Fraction) -> str:
    """Write a number shortly, however large it is."""
    if abs(number) < 10**15:
        return f"{float(number):g}"
    return f"{'-' if number < 0 else ''}1e+{len(str(abs(int(number)))) - 1}"


def _no_probability(bound: Fraction) -> Misstatement:
    advice = "A probability lies between 0 and 1."
    if 1 < bound <= 100:
        advice += f" For per cent, write {_shown(bound)}%."
    return Misstatement(f"{_shown(bound)} is not a probability", lexeme=f"{_shown(bound)}", advice=advice)


def _crossed(lower: Fraction, upper: Fraction) -> Misstatement:
    return Misstatement(
        f"the lower bound {_shown(lower)} exceeds the upper bound {_shown(upper)}",
        lexeme=f"{_shown(lower)}",
        advice="Exchange the two bounds, or correct one of them.",
    )
