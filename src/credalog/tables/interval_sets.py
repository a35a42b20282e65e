"""Credal sets given by an interval for each value: {theta : lower <= theta <= upper, sum theta = 1}.

Input: a local polytope. Output: its intervals, if each row bounds one value alone; whether it is empty; a point inside; its
vertices, in closed form: all values but one are at an end of their interval (de Campos, Huete and Moral, 1994).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, islice
from math import lcm
from typing import NamedTuple

from credalog.network.polytopes import LocalPolytope, Row, Vertex

__all__ = ["IntervalSet"]


@dataclass(frozen=True, slots=True)
class IntervalSet:
    """Bounds on the probability of each value."""

    lower: Vertex
    upper: Vertex

    @classmethod
    def of(cls, polytope: LocalPolytope) -> IntervalSet | None:
        """Read the intervals off a polytope; None where a row bounds several values together."""
        lower, upper = [Fraction(0)] * polytope.size, [Fraction(1)] * polytope.size
        for row in polytope.rows:
            found = _one_value(row)
            if found is None:
                return None
            value, ends = found
            lower[value], upper[value] = max(lower[value], min(ends)), min(upper[value], max(ends))
        return cls(tuple(lower), tuple(upper))

    @property
    def is_empty(self) -> bool:
        """Tell whether no distribution obeys the bounds."""
        crossed = any(l > u for l, u in zip(self.lower, self.upper, strict=True))
        return crossed or not sum(self.lower) <= 1 <= sum(self.upper)

    @property
    def centre(self) -> Vertex:
        """Return the distribution equally far between all bounds: zero only where no other is possible."""
        spread = sum(self.upper) - sum(self.lower)
        share = (1 - sum(self.lower)) / spread if spread else Fraction(0)
        return tuple(l + share * (u - l) for l, u in zip(self.lower, self.upper, strict=True))

    def vertices(self, most: int) -> tuple[Vertex, ...] | None:
        """Enumerate the extreme points in lexicographic order; None where there are more than `most`."""
        scale = lcm(*(end.denominator for end in (*self.lower, *self.upper)))
        lower, upper = (tuple(int(end * scale) for end in ends) for ends in (self.lower, self.upper))
        found = list(islice(_vertices(_Whole(lower, upper, _tails(lower, upper)), (), scale), most + 1))
        return (
            None if len(found) > most else tuple(tuple(Fraction(v, scale) for v in p) for p in sorted(found))
        )


class _Whole(NamedTuple):
    """The bounds times their common denominator, and the range of the sum of all values but the first i."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    tails: tuple[tuple[int, int], ...]


def _one_value(row: Row) -> tuple[int, tuple[Fraction, Fraction]] | None:
    """Read a row whose coefficients are all alike but one as the two ends of that value's interval."""
    alike = sorted(row.coefficients)[len(row.coefficients) // 2]
    others = [value for value, c in enumerate(row.coefficients) if c != alike]
    if len(others) != 1:
        return None
    slope = row.coefficients[others[0]] - alike
    return others[0], ((row.lower - alike) / slope, (row.upper - alike) / slope)


def _tails(lower: tuple[int, ...], upper: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    least, most = (list(accumulate(reversed(ends), initial=0)) for ends in (lower, upper))
    return tuple(zip(reversed(least), reversed(most), strict=True))


def _vertices(bounds: _Whole, head: tuple[int, ...], left: int, inner: int = -1) -> Iterator[tuple[int, ...]]:
    """Extend the first values of a vertex, of which at most one, `inner`, is to be found from the sum.

    That value stands at its lower end meanwhile; `left` is what the sum still lacks.
    """
    least, most = bounds.tails[len(head)]
    room = bounds.upper[inner] - bounds.lower[inner] if inner >= 0 else 0
    if not (least <= left and left - room <= most):
        return
    if len(head) == len(bounds.lower):
        if inner < 0:
            yield head
        elif 0 < left < room:
            yield (*head[:inner], head[inner] + left, *head[inner + 1 :])
        return
    low, high = bounds.lower[len(head)], bounds.upper[len(head)]
    yield from _vertices(bounds, (*head, low), left - low, inner)
    if low < high:
        yield from _vertices(bounds, (*head, high), left - high, inner)
        if inner < 0:
            yield from _vertices(bounds, (*head, low), left - low, len(head))
