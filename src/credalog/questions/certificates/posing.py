"""Questions as the verifier proves them: under one condition, and from 0 to 1.

Input: a probability, a sum or a quotient, and a bound. Output: `Posed`: what is to be proved of which
network, and the way back to the bound of the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from credalog.methods.automatic import Engine
from credalog.network.expressions import Linear, Part, Question, Quotient, Summand, simplified
from credalog.network.formulas import TRUE
from credalog.network.meaning import Asked, Meaning
from credalog.network.sentences import Query
from credalog.numbers.interval import End

__all__ = ["Posed", "parts_across", "poses"]

GIVEN_AWAY = (Fraction(1, 10**9), Fraction(1, 10**6))
"""By how much a bound of a quotient may be missed, relative to it if it is large."""


@dataclass(frozen=True, slots=True)
class Posed:
    """A question between 0 and 1 and its bound; a proof of it is one of `claimed`, or of what it is worth."""

    meaning: Meaning
    engine: Engine
    asked: Asked
    bound: float | Fraction
    marks: Mapping[str, Any]
    original: Asked
    """The question in its own units."""
    least: Fraction = Fraction(0)
    span: Fraction = Fraction(1)
    claimed: Fraction | None = None

    def worth(self, proved: Fraction) -> Fraction:
        """Return the bound of the question that is proved with one from 0 to 1."""
        return self.least + self.span * proved if self.claimed is None else self.claimed

    def body(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """Return a proof in the units of the question: only leaves have any."""
        nodes = [self._in_units(node) for node in line["nodes"]]
        return {**self.marks, **line, "nodes": nodes}

    def _in_units(self, node: Any) -> Any:
        match node:
            case ["leaf", weight, *rest]:
                return ["leaf", str(Fraction(weight) / self.span), *rest]
        return node


def poses(
    engine: Engine, meaning: Meaning, asked: Question, end: End, bound: float | Fraction
) -> Iterator[Posed]:
    """Yield the ways in which a bound may be proved."""
    if isinstance(asked, Query):
        yield Posed(meaning, engine, asked, bound, {}, asked)
        return
    is_across = len(asked.conditions) > 1
    for less in GIVEN_AWAY if isinstance(asked, Quotient) and isinstance(bound, float) else (Fraction(0),):
        large = max(Fraction(1), abs(Fraction(bound)))
        claimed = Fraction(bound) - Fraction(end.sign) * less * large
        for is_strict in (False, True) if is_across else (False,):
            found, part, at = meaning.posed(asked, claimed, is_strict=is_strict)
            own = engine if found is meaning else Engine(found.network, found.markov, found.frame)
            marks = {"strict": True} if is_strict else {}
            is_open = isinstance(asked, Linear) and isinstance(bound, float)
            yield _scaled(Posed(found, own, part, at, marks, part, claimed=None if is_open else claimed))


def _scaled(one: Posed) -> Posed:
    """Bring a sum to the range from 0 to 1; a bound in floats stays one."""
    assert isinstance(one.asked, Part), "a sum is posed under one condition"
    least, greatest = one.asked.span
    span = greatest - least or Fraction(1)
    claims = (*((weight / span, claim) for weight, claim in one.asked.claims), (-least / span, TRUE))
    bound = (Fraction(one.bound) - least) / span
    asked = Part(one.asked.given, claims)
    at = float(bound) if one.claimed is None else bound
    return replace(one, asked=asked, bound=at, least=least, span=span)


def parts_across(asked: Question) -> list[Question]:
    """Return the sums whose bounds help to prove one of a question across conditions."""
    if isinstance(asked, Query) or len(asked.conditions) < 2:
        return []
    sums = (asked,) if isinstance(asked, Linear) else (asked.over, asked.under)
    parts = (part for one in sums for part in one.parts()[0])
    return list(dict.fromkeys(simplified(_alone(part)) for part in parts))


def _alone(part: Part) -> Linear:
    """Return a part as a question, a single claim without its weight."""
    if len(part.claims) == 1:
        return Linear((Summand(Fraction(1), part.claims[0][1], part.given),))
    return Linear(tuple(Summand(weight, claim, part.given) for weight, claim in part.claims))
