"""Laws of atoms that depend on each other in a cycle.

Input: which elements depend on which; what is said of an atom under no condition, and under any. Output: the
cycles, and whether atoms along a cycle of some length have a law, whatever else they depend on
(docs/proofs.md, proof 30).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

__all__ = ["Cycles", "Table", "cycles_of"]

LONGEST = 10
"""Longer cycles are not looked at: all sets of atoms with a condition outside are."""


@dataclass(frozen=True, slots=True)
class Table:
    """What is said of an atom under no condition, from low to high, and under any, from least to most."""

    low: Fraction
    high: Fraction
    least: Fraction
    most: Fraction

    @property
    def under_any(self) -> Fraction:
        """Return the probability of an atom where some condition holds: the nearest to what it is overall."""
        return self.least if self.least > self.high else self.most

    @property
    def under_none(self) -> Fraction:
        """Return the probability of an atom where no condition holds."""
        return self.low if self.least > self.high else self.high

    def bears(self, conditions: Fraction) -> bool:
        """Tell whether some table does what is said, conditions having so much probability at most."""
        some = min(Fraction(1), conditions)
        if self.least > self.high:
            return self.least * some <= self.high
        return (1 - self.most) * some <= 1 - self.low

    def bears_steadily(self, conditions: Fraction) -> bool:
        """Tell whether one table does what is said however little probability the conditions have."""
        slope = abs(self.under_any - self.under_none)
        return slope * min(Fraction(1), conditions) <= self.high - self.low

    def has_law(self, length: int) -> bool:
        """Tell whether atoms on a cycle, each conditioned on the one before it, have a law."""
        if self.least <= self.high or length > LONGEST:
            return False
        if length == 2:
            return 2 * self.least <= 1 and self.least * self.high <= self.most * self.low
        return all(self._closes(outside) for outside in product((False, True), repeat=length))

    def _closes(self, outside: Sequence[bool]) -> bool:
        """Tell whether pairs of neighbours have a common law, given who has a condition outside that holds.

        The laws of the pairs on a cycle are those of a joint law iff no pair differs more often than all the
        others together, and the like for each odd number of pairs, which holds if none differs too often.
        """
        differing = [
            before * (1 - self.under_any) + (1 - before) * (self.under_any if is_held else self.under_none)
            for before, is_held in zip(self._chances(outside), outside, strict=True)
        ]
        return max(differing) <= Fraction(2, 3) and 2 * max(differing) <= sum(differing)

    def _chances(self, outside: Sequence[bool]) -> list[Fraction]:
        """Return the probability of the atom before each, on a cycle."""
        chance = self.under_none / (1 - self.under_any + self.under_none)
        start = outside.index(True) if True in outside else 0
        before: list[Fraction] = [chance] * len(outside)
        for i in range(start, start + len(outside)):
            here = i % len(outside)
            chance = self.under_none + (self.under_any - self.under_none) * chance
            if outside[here]:
                chance = self.under_any
            before[(here + 1) % len(outside)] = chance
        return before


@dataclass(frozen=True, slots=True)
class Cycles:
    """How long the cycles of a directed graph are, and what lies on them."""

    lengths: frozenset[int]
    members: NDArray[np.int64]


def cycles_of(edges: NDArray[np.int64]) -> Cycles | None:
    """Return the cycles of a directed graph; None where two of them meet, or one is a loop."""
    if (edges[:, 0] == edges[:, 1]).any():
        return None
    size = int(edges.max(initial=-1)) + 1
    graph = csr_array((np.ones(len(edges), dtype=np.int8), (edges[:, 0], edges[:, 1])), shape=(size, size))
    _, labels = connected_components(graph, directed=True, connection="strong")
    sizes = np.bincount(labels)
    inside = labels[edges[:, 0]] == labels[edges[:, 1]]
    within = np.bincount(labels[edges[inside, 0]], minlength=len(sizes))
    # As many arrows as members, and each reached from each: a single cycle.
    if (within[sizes > 1] != sizes[sizes > 1]).any():
        return None
    lengths = frozenset(int(length) for length in np.unique(sizes[sizes > 1]))
    return Cycles(lengths, np.flatnonzero(sizes[labels] > 1))
