"""Tables of non-negative floats that know how far they are off.

Input: tables of probabilities, each rounded once. Output: products, sums and quotients of them, as
`Rounded`; and the quotient of two numbers with a bound on its error.

The error. Nothing is ever subtracted, so a computed entry t stems from an exact number s by n roundings,
each a factor within 1 +- 2**-53, and s is no further than `lost` from the truth: what underflow took, almost
always nothing. Tables are scaled by powers of two, which rounds nothing, so that no entry exceeds one. With a
and b lost of two tables, |s s' - T T'| <= |s - T| T' + s |s' - T'| <= a (1.01 + b) + 1.01 b, as the
roundings of a whole pass are far below a hundredth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import frexp, inf, ldexp, prod

import numpy as np
from numpy.typing import NDArray

from credalog.tables.elimination import Potential, combined, restricted
from credalog.trusted.rounding import relative_error

__all__ = ["VANISHING", "Floats", "Rounded", "product", "quotient", "rounded", "stacked"]

Floats = NDArray[np.float64]

SMALLEST = 1e-300
"""Above this a product is rounded, and nothing else: numbers lose digits below 2.3e-308 only."""

VANISHING = 1e-307
"""More than what one underflow takes away."""

FAINT = -64
"""A table whose greatest entry is above two to this power is not scaled: that would be one more pass."""

FAINTEST = -4000
"""Numbers divided by two to more than this are nothing to a float all the same."""


@dataclass(frozen=True, slots=True)
class Rounded:
    """A table, divided by 2**exponent: no entry exceeds one, and no positive one is below `least`."""

    scope: tuple[int, ...]
    values: Floats
    exponent: int = 0
    roundings: int = 1
    lost: float = 0.0
    least: float = 0.0

    @property
    def is_zero(self) -> bool:
        """Tell whether all entries are zero, not only too small for a float."""
        return self.lost == 0.0 and not self.values.any()

    def summed(self, kept: Sequence[int]) -> Rounded:
        """Sum out all variables but some, whose order the result has.

        One axis after the other: n roundings each, where all at once might take their product.
        """
        axes = [axis for axis, x in enumerate(self.scope) if x not in kept]
        left = [x for x in self.scope if x in kept]
        values = self.values
        for axis in reversed(axes):
            values = values.sum(axis=axis)
        sizes = [self.values.shape[axis] for axis in axes]
        summed = replace(
            self,
            scope=tuple(kept),
            values=np.asarray(values).transpose([left.index(x) for x in kept]),
            roundings=self.roundings + sum(sizes),
            lost=1.01 * prod(sizes) * self.lost,
        )
        return _scaled(summed) if axes else summed

    def within(self, event: Floats) -> Rounded:
        """Return the sum of the cells of an event, of a table over one variable."""
        return replace(self, values=np.where(event, self.values, 0.0)).summed(())

    def over(self, divisor: Rounded) -> Rounded:
        """Divide by a table of the same scope that has lost nothing; zero divided by zero is zero."""
        stretched = combined([Potential(divisor.scope, divisor.values)], self.scope)
        values = np.divide(self.values, stretched, out=np.zeros_like(self.values), where=stretched > 0.0)
        return _scaled(
            replace(
                self,
                values=values,
                exponent=self.exponent - divisor.exponent,
                roundings=self.roundings + divisor.roundings + 1,
            )
        )


def rounded(table: Potential[int], observed: dict[int, int]) -> Rounded:
    """Take up a table whose entries have been rounded once, its observed variables fixed."""
    scope, values = restricted(table, observed)
    return _scaled(Rounded(scope, np.asarray(values), least=_least(values)))


def _least(values: Floats) -> float:
    return float(np.min(values, where=values > 0.0, initial=inf))


def _shifted(value: float, shift: int) -> float:
    """Multiply by a power of two; infinity where that is too large for a float."""
    return inf if value > 0.0 and frexp(value)[1] + shift > 1023 else ldexp(value, shift)


def _scaled(table: Rounded) -> Rounded:
    """Divide by the power of two that brings the greatest entry near one."""
    shift = frexp(float(table.values.max(initial=0.0)))[1]
    if FAINT <= shift <= 0:
        return table
    least = _shifted(table.least, -shift)
    if least < SMALLEST:
        least = _shifted(_least(table.values), -shift)
    vanishing = shift > 0 and least < SMALLEST
    return replace(
        table,
        values=np.ldexp(table.values, -shift),
        exponent=table.exponent + shift,
        lost=_shifted(table.lost, -shift) + (VANISHING if vanishing else 0.0),
        least=least,
    )


def product(tables: Iterable[Rounded]) -> Rounded:
    """Multiply tables, small ones first, so that the large table is touched as little as can be."""
    ordered = sorted(tables, key=lambda table: table.values.size)
    return reduce(_times, ordered) if ordered else Rounded((), np.ones(()), roundings=0, least=1.0)


def _times(left: Rounded, right: Rounded) -> Rounded:
    scope = tuple(dict.fromkeys((*right.scope, *left.scope)))
    pair = (Potential(right.scope, right.values), Potential(left.scope, left.values))
    least = left.least * right.least
    if least < SMALLEST:
        least = _least(left.values) * _least(right.values)
    a, b = left.lost, right.lost
    return _scaled(
        Rounded(
            scope,
            np.asarray(combined(pair, scope)),
            left.exponent + right.exponent,
            left.roundings + right.roundings + 1,
            1.01 * (a + b) + (a * b if a and b else 0.0) + (VANISHING if least < SMALLEST else 0.0),
            least,
        )
    )


def stacked(tables: Sequence[Rounded], x: int) -> Rounded:
    """Lay tables of one scope side by side, one for each value of a further variable, on one scale."""
    exponent = max((table.exponent for table in tables if not table.is_zero), default=0)
    shifts = [max(table.exponent - exponent, FAINTEST) for table in tables]
    least = min(_shifted(table.least, shift) for table, shift in zip(tables, shifts, strict=True))
    lost = max(_shifted(table.lost, shift) for table, shift in zip(tables, shifts, strict=True))
    return Rounded(
        (x, *tables[0].scope),
        np.stack([np.ldexp(table.values, shift) for table, shift in zip(tables, shifts, strict=True)]),
        exponent,
        max(table.roundings for table in tables),
        lost + (VANISHING if least < SMALLEST else 0.0),
        least,
    )


def quotient(part: Rounded, whole: Rounded) -> tuple[float, float]:
    """Return one number divided by another that it is part of, and how far that is off.

    With g and h lost of them, |T / T' - s / s'| <= (g + h s / s') / T', and T' >= s' - h.
    """
    shift = part.exponent - whole.exponent
    inside, total = float(np.ldexp(part.values, max(shift, FAINTEST))), float(whole.values)
    vanished = VANISHING if 0.0 < inside < SMALLEST or (inside == 0.0 < part.values) else 0.0
    gone = _shifted(part.lost, max(shift, FAINTEST)) + whole.lost + vanished
    if gone > 0.25 * total or total == 0.0:
        return 0.0, inf
    value = min(inside / total, 1.0)
    return value, relative_error(part.roundings + whole.roundings + 2) * value + 2.0 * gone / total
