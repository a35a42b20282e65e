"""Sums of slopes times factors around a centre, by compiled loops: every number is read where it lies.

Input: at many nodes of a search an interval for every slope, for what it is multiplied by, and for sums of
slopes; which terms are added up. Output: the same intervals as `interval_slopes` finds with arrays, up to the
order of additions (proof 33), many times sooner where numba is installed: arrays whose axes are short and
many are read slowly, and a sum around a centre takes some thirty of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credalog.methods.vertices.greedy import VANISHING
from credalog.numbers.budget import Budget
from credalog.numbers.jit import can_compile, compiled, is_loaded, is_ready
from credalog.tables.cones import Array

__all__ = ["Pace", "Terms", "cells", "weigh"]

LONG = 1 << 19
"""After so many pairs of values were compared a search is a long one, and worth loading compiled loops."""

LOADING, COMPILING = 1.5, 8.0
"""The seconds that must be left for loops to be loaded, or to be compiled that never were on this machine."""

CELLS_KEPT = 1 << 12
"""So many arrays of places are remembered."""

Ints = NDArray[np.intp]


@dataclass(slots=True)
class Pace:
    """Whether to compile: not what is done before, nor in less time than that takes."""

    compared: int = 0
    is_compiled: bool = False

    def compiles(self, compared: int, budget: Budget) -> bool:
        """Tell whether loops are compiled by now; count what is compared next."""
        self.compared += compared
        if not self.is_compiled and (self.compared > LONG or is_loaded(weigh)):
            left = budget.remaining
            self.is_compiled = left >= LOADING and can_compile() and (left >= COMPILING or is_ready(weigh))
        return self.is_compiled


@lru_cache(maxsize=CELLS_KEPT)
def cells(own: tuple[int, ...], shape: tuple[int, ...]) -> Ints:
    """Return for each cell of a table the cell of one in which some of its axes have length one."""
    places = np.arange(prod(own), dtype=np.intp).reshape(own)
    found = np.ascontiguousarray(np.broadcast_to(places, shape)).reshape(-1)
    found.setflags(write=False)
    return found


class Terms(NamedTuple):
    """Slopes, by node and cell, and what they are multiplied by: by node or the same for all, cell, value."""

    least: Array
    most: Array
    low: Array
    high: Array
    reads: Ints
    """For each slope the cell of its factor,"""
    groups: Ints
    """and the sum to which it belongs."""


@compiled
def weigh(
    terms: Terms, sums: tuple[Array, Array], error: float, is_closer: bool, found: tuple[Array, Array]
) -> None:
    """Add up slopes times factors: around a centre, and where that may be closer also term by term.

    `sums` are those of the slopes by themselves, and `error` is the share that roundings may amount to.
    """
    shape = found[0].shape[1:]
    weight, centre = np.empty(shape[0]), np.empty(shape)
    added, plain = np.empty((*shape, 3)), np.empty((*shape, 3))
    for n in range(len(terms.least)):
        _find_centre(terms, n, weight, centre)
        _add_up(terms, n, centre, added)
        if is_closer:
            _add_up(terms, n, np.zeros(shape), plain)
        for g, k in np.ndindex(shape):
            under, over, size = added[g, k]
            less, more = sums[0][n, g] * centre[g, k], sums[1][n, g] * centre[g, k]
            size += max(abs(less), abs(more)) + max(abs(under), abs(over))
            under, over = min(less, more) + under, max(less, more) + over
            slack = error * size + 2.0 * VANISHING
            found[0][n, g, k], found[1][n, g, k] = under - slack, over + slack
            if is_closer:
                slack = error * plain[g, k, 2] + VANISHING
                found[0][n, g, k] = max(found[0][n, g, k], plain[g, k, 0] - slack)
                found[1][n, g, k] = min(found[1][n, g, k], plain[g, k, 1] + slack)


@compiled
def _find_centre(terms: Terms, node: int, weight: Array, centre: Array) -> None:
    """Find the means of factors, more where slopes are wider."""
    weight[:], centre[:] = 0.0, 0.0
    least, most, table = terms.least[node], terms.most[node], min(node, len(terms.low) - 1)
    low, high = terms.low[table], terms.high[table]
    for c in range(len(least)):
        spread, read, g = most[c] - least[c], terms.reads[c], terms.groups[c]
        weight[g] += spread
        for k in range(centre.shape[1]):
            centre[g, k] += spread * ((low[read, k] + high[read, k]) / 2.0)
    for g in range(len(centre)):
        for k in range(centre.shape[1]):
            centre[g, k] = centre[g, k] / weight[g] if weight[g] > 0.0 else 0.0


@compiled
def _add_up(terms: Terms, node: int, centre: Array, added: Array) -> None:
    """Add up slopes times what factors are away from a centre: the least, the greatest, and magnitudes."""
    added[:] = 0.0
    least, most, table = terms.least[node], terms.most[node], min(node, len(terms.low) - 1)
    low, high = terms.low[table], terms.high[table]
    for c in range(len(least)):
        a, b, read, g = least[c], most[c], terms.reads[c], terms.groups[c]
        size = max(abs(a), abs(b))
        for k in range(centre.shape[1]):
            bottom, top, middle = low[read, k], high[read, k], centre[g, k]
            ends = a * (bottom - middle), a * (top - middle), b * (bottom - middle), b * (top - middle)
            added[g, k, 0] += min(ends[0], ends[1], ends[2], ends[3])
            added[g, k, 1] += max(ends[0], ends[1], ends[2], ends[3])
            added[g, k, 2] += size * (max(abs(bottom), abs(top)) + abs(middle))
