"""Sums of products in rational arithmetic, for probabilities that are too small for floats.

Input: tables of fractions. Output: the sum of their product over all worlds, as a fraction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from credalog.numbers.budget import Budget
from credalog.tables.elimination import Potential, combined, elimination_steps

__all__ = ["total"]

MAX_CELLS = 1 << 14
"""The largest table of fractions that is built."""


def total(tables: Iterable[Potential[int]], sizes: Sequence[int], budget: Budget) -> Fraction:
    """Eliminate all variables."""
    left = dict(enumerate(tables))
    scopes = [table.scope for table in left.values()]
    steps = elimination_steps(scopes, dict(enumerate(sizes)), most=MAX_CELLS)
    for number, step in enumerate(steps, start=len(left)):
        budget.require_time()
        product = combined([left.pop(i) for i in step.entering], step.scope)
        left[number] = Potential(step.rest, np.asarray(product.sum(axis=step.scope.index(step.variable))))
    result = Fraction(1)
    for table in left.values():
        result *= table.values.item()
    return result
