"""A distribution on a few worlds of many variables.

Input: worlds, one per row, and the weight of each. Output: a `Distribution` like any other, whose
probabilities are read off the worlds; written out as one table where all variables together have few states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from credalog.errors import ProblemTooLarge
from credalog.network.formulas import Variable
from credalog.numbers.budget import Budget
from credalog.tables.distribution import Distribution, Factor, Floats
from credalog.tables.elimination import MAX_CELLS

__all__ = ["Mixture"]

MOST_STATES = 1 << 16
"""The largest table in which a mixture is written out."""


@dataclass(frozen=True, slots=True)
class Mixture(Distribution):
    """The distribution that gives world i, a row of value numbers, the probability weights[i]."""

    variables: tuple[Variable, ...]
    worlds: NDArray[np.int64]
    weights: Floats

    @property
    def known(self) -> frozenset[Variable]:
        """Return all variables that have a probability."""
        return frozenset(self.variables)

    def marginals(self, scopes: Sequence[tuple[Variable, ...]], budget: Budget | None = None) -> list[Floats]:
        """Return the joint tables of many scopes."""
        return [self.marginal(over) for over in scopes]

    def written_out(self) -> Distribution | None:
        """Return the same distribution as one table; None where that would be too large."""
        if prod(len(x.values) for x in self.variables) > MOST_STATES:
            return None
        return Distribution((Factor(self.variables, (), self.marginal(self.variables)),))

    def _joint(self, over: Sequence[Variable], observed: Mapping[Variable, int]) -> tuple[Floats, int]:
        sizes = [len(x.values) for x in over]
        if prod(sizes) > MAX_CELLS:
            raise ProblemTooLarge(f"a table of {prod(sizes)} numbers would be needed")
        table = np.zeros(sizes)
        matching = np.logical_and.reduce([self._values(x) == value for x, value in observed.items()])
        weights = np.where(matching, self.weights, 0.0)
        np.add.at(table, tuple(self._values(x) for x in over), weights if over else weights.sum())
        return table, 0

    def _values(self, x: Variable) -> NDArray[np.int64]:
        return self.worlds[:, self.variables.index(x)]
