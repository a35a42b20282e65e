"""The truth of formulas on all worlds of a scope at once.

Input: a formula and the axis of each variable. Output: one boolean array. Apart from `formulas` because
whoever only reads formulas needs no arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from credalog.network.formulas import And, Formula, Iff, Implies, Is, Not, Or, Truth, Variable, Xor

__all__ = ["Grid"]


@dataclass(frozen=True, slots=True)
class Grid:
    """All worlds of a scope: the axis of each of its variables, and the values of other variables."""

    axis: Mapping[Variable, int]
    known: Mapping[Variable, str]

    def evaluate(self, formula: Formula) -> NDArray[np.bool_]:
        """Return the truth of a formula, along the axes of its variables alone."""
        match formula:
            case Truth(value):
                return np.full((1,) * len(self.axis), value)
            case Is(variable, value) if variable in self.known:
                return np.full((1,) * len(self.axis), self.known[variable] == value)
            case Is(variable, value):
                shape = [1] * len(self.axis)
                shape[self.axis[variable]] = len(variable.values)
                return np.array([v == value for v in variable.values]).reshape(shape)
            case Not(operand):
                return ~self.evaluate(operand)
            case And(operands):
                return self._fold(np.logical_and, operands)
            case Or(operands):
                return self._fold(np.logical_or, operands)
            case Xor(operands):
                return self._fold(np.logical_xor, operands)
            case Implies(premise, conclusion):
                return ~self.evaluate(premise) | self.evaluate(conclusion)
            case Iff(left, right):
                return ~(self.evaluate(left) ^ self.evaluate(right))
            case _:
                assert_never(formula)

    def _fold(self, operation: np.ufunc, operands: tuple[Formula, ...]) -> NDArray[np.bool_]:
        return reduce(operation, map(self.evaluate, operands))
