"""Outward rounding: floats moved to the safe side.

Input: a computed float. Output: a float that is certainly no greater, or no smaller.
"""

from __future__ import annotations

from math import inf, nextafter

__all__ = ["round_down", "round_up"]


def round_down(value: float) -> float:
    """Return the next smaller float: a lower bound that survives one rounding."""
    return nextafter(value, -inf)


def round_up(value: float) -> float:
    """Return the next larger float: an upper bound that survives one rounding."""
    return nextafter(value, inf)
