"""What bounds on some probabilities say of a formula made of them, rounded outwards.

Input: the ranges of the probabilities of events. Output: the range of their conjunction, of their parity, or
of the share that one has in two. Fréchet's inequalities (1935) hold whatever the events have to do with each
other; the product holds where they are independent.
"""

from __future__ import annotations

from typing import TypeAlias

from credalog.trusted.rounding import round_down, round_up

__all__ = ["Range", "both", "complement", "independent", "parity", "share"]

Range: TypeAlias = tuple[float, float]


def complement(event: Range) -> Range:
    """Bound the probability that an event does not happen."""
    return max(0.0, round_down(1.0 - event[1])), min(1.0, round_up(1.0 - event[0]))


def both(one: Range, other: Range) -> Range:
    """Bound P(a and b): at least P(a) + P(b) - 1, at most either."""
    least = round_down(round_down(one[0] + other[0]) - 1.0)
    return max(0.0, least), min(one[1], other[1])


def independent(one: Range, other: Range) -> Range:
    """Bound P(a and b) of independent events."""
    return max(0.0, round_down(one[0] * other[0])), min(1.0, round_up(one[1] * other[1]))


def parity(one: Range, other: Range) -> Range:
    """Bound P(a xor b): at least the distance of P(a) and P(b), at most their sum and that of the rest."""
    least = max(round_down(one[0] - other[1]), round_down(other[0] - one[1]))
    rest = round_up(round_up(1.0 - one[0]) + round_up(1.0 - other[0]))
    return max(0.0, least), min(1.0, round_up(one[1] + other[1]), rest)


def share(part: Range, rest: Range) -> Range:
    """Bound P(a) / (P(a) + P(b)) of disjoint events, where that is defined."""
    return _least_share(part[0], rest[1]), complement((_least_share(rest[0], part[1]), 1.0))[1]


def _least_share(part: float, rest: float) -> float:
    """Return the share of a part that is at least so large, beside a rest that is at most so large."""
    if rest == 0.0:
        return 1.0
    return max(0.0, round_down(part / round_up(part + rest)))
