"""Rows of a program that its boxes imply.

Input: a program. Output: the same program without rows that are sums of box rows. In a core a sentence about
one variable given its parents is stated by itself, and as the bounds of a ratio in every context. The first
is the sum of the second over the contexts: it says nothing more, and doubles the work of a solver.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.program.program import Floats, Program

__all__ = ["without_sums"]

ALIKE = 1e-12
"""Rows that differ by less at a random point are taken to be the same. To leave one out too many is safe."""


def without_sums(program: Program) -> Program:
    """Leave out the statements that are a ratio's bounds, summed over its contexts in one table."""
    probe = np.random.default_rng(0).random(program.columns)
    sums = _sums(program, probe)
    unequal = _kept(program.inequalities, program.inequality_origin, sums, probe)
    equal = _kept(program.equalities, program.equality_origin, sums, probe)
    return replace(
        program,
        inequalities=sp.csr_array(program.inequalities[unequal]),
        inequality_origin=tuple(program.inequality_origin[row] for row in unequal),
        equalities=sp.csr_array(program.equalities[equal]),
        equality_origin=tuple(program.equality_origin[row] for row in equal),
    )


def _sums(program: Program, probe: Floats) -> Floats:
    """Evaluate, for each ratio and table, the sums of its lower and of its upper box rows; in order."""
    ratios = program.ratios
    if not len(ratios.of):
        return np.zeros(0)
    starts = np.array([start for start, _ in program.tables])
    first = sp.csr_array(ratios.denominator).argmax(axis=1)
    table = np.searchsorted(np.sort(starts), np.asarray(first).ravel(), side="right")
    # A ratio may be stated in coarser and in finer contexts: those of one size add up to the whole.
    size = np.diff(sp.csr_array(ratios.denominator).indptr)
    _, group = np.unique(np.stack([ratios.of, table, size]), axis=1, return_inverse=True)
    part, whole = ratios.numerator @ probe, ratios.denominator @ probe
    low = np.bincount(group.ravel(), part - ratios.lower[ratios.of] * whole)
    high = np.bincount(group.ravel(), ratios.upper[ratios.of] * whole - part)
    return np.sort(np.concatenate([low, high]))


def _kept(rows: sp.csr_array, origin: tuple[int, ...], sums: Floats, probe: Floats) -> NDArray[np.intp]:
    """Return the rows that have no origin, or are none of the sums."""
    values = rows @ probe
    if not len(sums) or not len(values):
        return np.arange(len(values))
    above = np.minimum(np.searchsorted(sums, values), len(sums) - 1)
    nearest = np.minimum(np.abs(sums[above] - values), np.abs(sums[np.maximum(above - 1, 0)] - values))
    return np.flatnonzero((np.array(origin, dtype=int) < 0) | (nearest > ALIKE))
