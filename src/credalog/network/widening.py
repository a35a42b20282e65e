"""Networks with every probability made an interval, to see how robust they are.

Input: a network, its parents, and by how much its probabilities may be off. Output: the same sentences with
wider bounds. What is impossible or certain stays so, unless asked otherwise.

A distribution of several values is usually given by all but one of them, and the last follows. Once the
others are intervals it no longer does, so it is given an interval of its own. In a weighted sum every
probability may be off, so that the sum is off by as much times the weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import TypeVar

from credalog.errors import CredalogError, Option
from credalog.network.families import Family, families_of
from credalog.network.formulas import conjunction
from credalog.network.polytopes import LocalPolytope, Parents, local_polytopes, ranges
from credalog.network.sentences import Contrast, Network, Number, Sentence, exact

__all__ = ["Imprecision", "widened"]

_ZERO, _ONE = Fraction(0), Fraction(1)

_Stated = TypeVar("_Stated", Sentence, Contrast)


@dataclass(frozen=True, slots=True)
class Imprecision:
    """How far probabilities may be off: by so much, or by a share of them that somebody else may choose.

    With a share e, P becomes (1 - e) P + e Q for any distribution Q (epsilon-contamination; Berger, 1985).
    """

    by: Fraction = _ZERO
    share: Fraction = _ZERO
    zeros: bool = False

    @classmethod
    def of(
        cls, *, by: Number | None = None, contaminate: Number | None = None, zeros: bool = False
    ) -> Imprecision:
        """Read numbers as they were typed; exactly one of the two is given."""
        given = [number for number in (by, contaminate) if number is not None]
        if len(given) != 1:
            raise CredalogError(
                "two ways of widening are given" if given else "by how much is not said",
                advice="Give {} or {}.",
                remedies=(Option("by", "0.02"), Option("contaminate", "0.05")),
            )
        (amount,) = map(exact, given)
        if not 0 < amount <= 1:
            raise CredalogError(
                f"{given[0]} is not above 0 and at most 1", advice="Give a number such as 0.02."
            )
        return cls(amount, _ZERO, zeros) if contaminate is None else cls(_ZERO, amount, zeros)

    def bounds(
        self, lower: Fraction, upper: Fraction, weights: Sequence[Fraction] = (_ONE,)
    ) -> tuple[Fraction, Fraction]:
        """Widen bounds on a weighted sum of probabilities that are off; those that say it all may stay."""
        least, most = sum((w for w in weights if w < 0), _ZERO), sum((w for w in weights if w > 0), _ZERO)
        if not self.zeros and (lower == most or upper == least):
            return lower, upper
        by = self.by * (most - least)
        low = (1 - self.share) * lower + self.share * least - by
        high = (1 - self.share) * upper + self.share * most + by
        return max(low, least) if lower >= least else low, min(high, most) if upper <= most else high

    def family(self, family: Family) -> Family:
        """Widen the bounds on every value; of two values the second follows from the first."""
        rows = zip(family.lower, family.upper, family.scale, strict=True)
        lower, upper, scale = zip(*(self._row(*row) for row in rows), strict=True)
        told = family.size if family.size > 2 else family.told
        return replace(family, lower=lower, upper=upper, scale=scale, told=told)

    def _row(
        self, lower: Sequence[int], upper: Sequence[int], scale: int
    ) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Widen a row of a family, as `bounds` widens the bounds on a probability, in whole numbers."""
        unit = lcm(self.by.denominator, self.share.denominator)
        by, share = int(self.by * unit) * scale, int(self.share * unit)
        low, high = list[int](), list[int]()
        for least, most in zip(lower, upper, strict=True):
            stays = not self.zeros and (least == scale or most == 0)
            low.append(least * unit if stays else max((unit - share) * least - by, 0))
            high.append(
                most * unit if stays else min((unit - share) * most + share * scale + by, scale * unit)
            )
        return tuple(low), tuple(high), scale * unit


def widened(network: Network, parents: Parents, imprecision: Imprecision) -> Network:
    """Widen the bounds of every sentence, and bound the values that followed from the others."""
    if (tabled := families_of(network)) is not None:
        return replace(network, sentences=tabled.revised(map(imprecision.family, tabled.families)))
    said = (_widened(s, [weight for weight, _ in s.claims], imprecision) for s in network.sentences)
    across = (_widened(c, [term.weight for term in c.terms], imprecision) for c in network.contrasts)
    implied = _implied(network, parents, imprecision)
    return replace(network, sentences=(*said, *implied), contrasts=tuple(across))


def _widened(stated: _Stated, weights: Sequence[Fraction], imprecision: Imprecision) -> _Stated:
    lower, upper = imprecision.bounds(stated.lower, stated.upper, weights)
    return replace(stated, lower=lower, upper=upper)


def _implied(network: Network, parents: Parents, imprecision: Imprecision) -> Iterator[Sentence]:
    """Yield a sentence for every value of which only the other values tell."""
    found = local_polytopes(network, parents).polytopes
    for x, by_parents in enumerate(found):
        above = [network.variables[p] for p in parents.parent_indices[x]]
        for configuration, polytope in by_parents.items():
            given = conjunction(p.is_(p.values[s]) for p, s in zip(above, configuration, strict=True))
            for state, (lower, upper) in _untold(polytope):
                bounds = imprecision.bounds(lower, upper)
                variable = network.variables[x]
                yield Sentence.of(variable.is_(variable.values[state]), *bounds, given=given)


def _untold(polytope: LocalPolytope) -> Iterator[tuple[int, tuple[Fraction, Fraction]]]:
    """Yield the values that no row names alone, with their ranges, where there are more than two values."""
    told = {row.coefficients.index(1) for row in polytope.rows if sorted(row.coefficients)[-2:] == [0, 1]}
    if polytope.size > 2 and told:
        yield from ((k, range_) for k, range_ in enumerate(ranges(polytope)) if k not in told)
