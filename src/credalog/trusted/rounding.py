"""Outward rounding: floats moved to the safe side, and how far sums of products may be off.

Input: a computed float and what was added up to get it. Output: a float that is certainly no greater, or no
smaller, and the end of an interval that it proves. All error terms of the program come from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import inf, isfinite, nextafter

import numpy as np
from numpy.typing import NDArray

from credalog.numbers.interval import End, Endpoint, Warrant

__all__ = [
    "NORMAL",
    "UNIT",
    "above",
    "all_rounded_down",
    "below",
    "enclosed",
    "outward",
    "outward_product",
    "outward_products",
    "relative_error",
    "round_down",
    "round_up",
]

UNIT = 2.0**-53
"""The relative error of one rounding,"""

NORMAL = 1e-290
"""of results of at least this size; smaller ones may lose all their digits."""


def round_down(value: float) -> float:
    """Return the next smaller float: a lower bound that survives one rounding."""
    return nextafter(value, -inf)


def round_up(value: float) -> float:
    """Return the next larger float: an upper bound that survives one rounding."""
    return nextafter(value, inf)


def below(value: Fraction) -> float:
    """Return the greatest float that is not above a rational."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else nextafter(nearest, -inf)


def above(value: Fraction) -> float:
    """Return the least float that is not below a rational."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else nextafter(nearest, inf)


def all_rounded_down(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the next smaller float of each entry; zeros stay, which no rounding has made."""
    return np.where(values == 0.0, 0.0, np.nextafter(values, -inf))


def relative_error(operations: float) -> float:
    """Bound the relative error of so many roundings in a row, of terms that all have one sign."""
    return 1.01 * operations * UNIT


def outward_product(factors: Iterable[float], end: End) -> float:
    """Multiply nonnegative numbers; a result below `NORMAL` moves to the safe side, and zero is a true zero.

    The relative errors of its roundings are left to the caller.
    """
    value = 1.0
    for factor in factors:
        if factor == 0.0:
            return 0.0
        value *= factor
        if value < NORMAL:
            value = NORMAL if end is End.UPPER else 0.0
    return value


def outward_products(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multiply nonnegative tables entry by entry as `outward_product` does for an upper end."""
    values: NDArray[np.float64] = a * b
    is_small = values < NORMAL
    if is_small.any():
        values = np.where(is_small & (a > 0.0) & (b > 0.0), NORMAL, values)
    return values


def outward(value: float, error: float, end: End) -> float:
    """Move a computed end of an interval outwards by a bound on its error; what has none stays."""
    if error == 0.0:
        return value
    return round_down(value - error) if end is End.LOWER else round_up(value + error)


def enclosed(value: float, *, error: float, end: End) -> Endpoint:
    """Turn a computed end and a bound on its error into a proved one.

    For methods whose own argument says that exact arithmetic would give the end: `error` covers every
    rounding.
    """
    if not (isfinite(value) and isfinite(error)):
        return Endpoint.trivial(end)
    bound = outward(value, error, end)
    return Endpoint(min(max(bound, 0.0), 1.0), None, Warrant.CHECKED)
