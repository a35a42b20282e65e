"""Dinkelbach's iteration (1967): the greatest quotient of two functions, the second of them positive.

Input: for a trial value t, the quotient at a point that maximizes numerator - t * denominator, and whether
that maximum is positive. Output: a trial value at which it is not: no quotient is greater, up to what the
caller allows for rounding. Several problems may be solved side by side, one entry each.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from credalog.program.program import Floats

__all__ = ["greatest_quotient"]

ROUNDS = 60
"""How often trial values are moved at most; a handful of times suffices."""


def greatest_quotient(
    at: Callable[[Floats], tuple[Floats, NDArray[np.bool_]]],
    start: Floats,
    *,
    advance: float = 0.0,
    rounds: int = ROUNDS,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Move trial values to the quotients found, and a little beyond, until none is passed.

    Return them, and which of them came to rest: the others bound nothing.
    """
    trial, moving = start, np.ones(start.shape, dtype=np.bool_)
    for _ in range(rounds):
        quotient, moving = at(trial)
        if not moving.any():
            break
        trial = np.where(moving, np.maximum(trial, quotient) + advance, trial)
    return trial, ~moving
