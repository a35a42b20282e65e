"""How numbers and results are written for people.

Input: a number; or a result that prints in words. Output: decimals, rounded outwards; or the same words, with
its type.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache
from math import ceil, floor, isinf

__all__ = ["DIGITS", "Printed", "decimal", "plain"]


class Printed:
    """Show what a result says rather than what it is made of."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"


# ---- numbers ----------------------------------------------------------------------------------------------
# Bounds written for people.
# Input: a number. Output: its decimals, rounded outwards, so that what is written still holds.

DIGITS = 6
"""How many decimals of a probability people are shown; JSON carries all of them."""

NOISE = 1e-8
"""A bound this near to a shown decimal is shown as that decimal; any other is rounded outwards."""

RARE = 1e-4
"""Below this a number is written with a power of ten: its first decimals would all be 0."""


REMEMBERED = 10_000
"""So many numbers are remembered as they were written: in a long table many are alike."""


@lru_cache(maxsize=REMEMBERED)
def decimal(value: float, *, down: bool, digits: int = DIGITS) -> str:
    """Write a bound so that what is written still holds: a lower one rounded down, an upper one up."""
    if isinf(value):
        return "inf" if value > 0.0 else "-inf"
    if 0.0 < value < RARE:
        return _scientific(value, ROUND_FLOOR if down else ROUND_CEILING)
    scaled = value * 10**digits
    near = round(scaled)
    outwards = floor(scaled) if down else ceil(scaled)
    return f"{(near if abs(scaled - near) <= NOISE * 10**digits else outwards) / 10**digits:.{digits}f}"


def plain(value: float, *, down: bool) -> str:
    """Write a bound as short as it is: 0.3 rather than 0.300000."""
    written = decimal(value, down=down)
    return written if "e" in written else written.rstrip("0").rstrip(".")


def _scientific(value: float, rounding: str) -> str:
    exact = Decimal(value)
    unit = Decimal(1).scaleb(exact.adjusted() - 3)
    return f"{exact.quantize(unit, rounding=rounding):.3e}"
