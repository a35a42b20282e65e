"""Messages of wide factors: local programs with too many worlds for the compiled simplex method.

Input: the arrays of a factor graph, one factor, and the intervals around it. Output: its sound messages, or
the proof that it has none.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from credalog.errors import InconsistentNetwork
from credalog.methods.intervals.factors import Arrays, Floats, Indices, Kind, slot_values
from credalog.methods.intervals.linear import LinearProgram
from credalog.methods.intervals.windows import box_rows
from credalog.numbers.budget import Budget
from credalog.trusted.rounding import all_rounded_down

__all__ = ["wide_messages"]


def wide_messages(a: Arrays, f: int, box: Floats, budget: Budget) -> Floats | None:
    """Bound every neighbour of a factor over one linear program; None where it is proved empty.

    A family is a table over its parents, whose head ranges between two linear functions of theirs.
    """
    is_family = bool(a.kind[f] == Kind.FAMILY)
    edges = slice(a.edge_start[f], a.edge_start[f + 1] - is_family)
    size = a.size[a.edge_variable[edges]]
    fixed = a.coefficient[a.table_start[f] : a.table_start[f + 1]].reshape(-1, int(size.prod()))
    stated = fixed
    if is_family:
        # Below what the parents say of the head, its own interval is; a smaller coefficient weakens a row.
        stated = all_rounded_down(np.array([fixed[0] - box[1, -1], box[0, -1] - fixed[1]]))
    rows = [sp.csr_array(stated), box_rows(size, a.product[edges], box[0], box[1])]
    program = LinearProgram(sp.csr_array(sp.vstack(rows, format="csr")), budget)
    worths = [(-holds, holds) for holds in _indicators(size)]
    if is_family:
        worths.append((-fixed[0], fixed[1]))
    try:
        ends = [[program.greatest(worth) for worth in pair] for pair in worths]
    except InconsistentNetwork:
        return None
    low, high = np.array(ends).reshape(len(worths), 2).T
    return np.array([np.maximum(-low, 0.0), np.minimum(high, 1.0)])


def _indicators(size: Indices) -> list[Floats]:
    """List where each bounded value of each variable holds."""
    values = np.indices(tuple(size)).reshape(len(size), -1)
    return [
        (values[i] == value).astype(np.float64)
        for i, count in enumerate(size)
        for value in slot_values(int(count))
    ]
