"""The last digits of a witness.

Input: a distribution that all but satisfies the statements of an encoding, as an interior-point method
leaves it. Output: one near by that satisfies them, if a few steps of Newton's method lead there.

A step changes tables and ratios together, by as little as possible relative to their size, so that rows which
are missed are met to first order: sentences, agreement on separators, and every context of a ratio.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.witness import distribution_at, ratio_values, tables_of
from credalog.program.program import Floats
from credalog.tables.distribution import Distribution

__all__ = ["polished"]

STEPS = 4

ENOUGH = 1e-12
"""Rows that are missed by less than this are met."""


def polished(encoding: Encoding, distribution: Distribution) -> Distribution:
    """Move a distribution onto the rows that it barely misses."""
    for _ in range(STEPS):
        point = tables_of(encoding, distribution)
        short = encoding.program.inequalities @ point
        if max(_worst(-short), _worst(np.abs(encoding.program.equalities @ point))) <= ENOUGH:
            break
        distribution = distribution_at(encoding, np.maximum(0.0, point + _step(encoding, point, short)))
    return distribution


def _worst(missed: Floats) -> float:
    return float(missed.max(initial=0.0))


def _step(encoding: Encoding, point: Floats, short: Floats) -> Floats:
    """Return the least relative change of the tables that meets all rows to first order."""
    # Small commands end before this is imported.
    from scipy.sparse.linalg import lsqr

    program, ratios = encoding.program, encoding.program.ratios
    values = ratio_values(encoding, point)
    missed = np.flatnonzero(short < 0.0)
    contexts = ratios.numerator - sp.diags_array(values[ratios.of]) @ ratios.denominator
    mass = ratios.denominator @ point
    turn = sp.csr_array((-mass, (np.arange(len(ratios.of)), ratios.of)), shape=(len(mass), len(values)))
    linear = sp.vstack(
        [program.equalities, program.inequalities[missed], sp.csr_array(program.mass[None, :])]
    )
    rows = sp.block_array([[sp.csr_array(linear), None], [contexts, turn]], format="csr")
    sizes = np.concatenate([point, np.ones(len(values))])
    wanted = np.concatenate(
        [-(program.equalities @ point), -short[missed], [1.0 - point[0]], -(contexts @ point)]
    )
    change: Floats = lsqr(rows @ sp.diags_array(sizes), wanted, atol=1e-15, btol=1e-15)[0]
    return (sizes * change)[: program.columns]
