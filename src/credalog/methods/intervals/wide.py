"""Messages of wide factors: local programs with too many worlds for the compiled simplex method.

Input: the arrays of a factor graph, one factor, and the intervals around it. Output: its sound messages, or
the proof that it has none. HiGHS proposes multipliers; the bounds are recomputed from them by weak duality,
rounding outwards, so that its word is never taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from credalog.methods.intervals.factors import Arrays, Floats, Kind
from credalog.methods.intervals.kernels import all_rows, dual_bound, maximize, proves_empty
from credalog.methods.intervals.programs import aim_at, aim_at_head, program_of, restrict_head
from credalog.program.solvers.highs import linear_model, quiet_highs

__all__ = ["LinearProgram", "wide_messages"]

COMPILED = 32
"""The largest number of worlds for which the compiled simplex method is the quicker one."""


def wide_messages(a: Arrays, f: int, box: Floats) -> Floats | None:
    """Bound every neighbour of a factor over one linear program; None where it is proved empty."""
    family = bool(a.kind[f] == Kind.FAMILY)
    t = program_of(a, f, int(a.edge_start[f + 1] - a.edge_start[f]) - family)
    objective = np.empty((2, t.fixed.shape[1]))
    # A table may have no row at all; only a family has these two.
    below, above = (t.fixed[0].copy(), t.fixed[1].copy()) if family else (objective[0], objective[1])
    if family:
        restrict_head(t, below, above, box[0, -1], box[1, -1])
    program = LinearProgram(all_rows(t, box[0], box[1], t.fixed.shape[1]))
    out = np.empty_like(box)
    for target in range(box.shape[1]):
        if target == t.slot[-1]:
            aim_at_head(below, above, objective)
        else:
            i = int(np.searchsorted(t.slot, target, side="right")) - 1
            aim_at(t, i, 1 if t.size[i] == 2 else target - t.slot[i], objective)
        least, most = program.greatest(objective[0]), program.greatest(objective[1])
        if least is None or most is None:
            return None
        out[0, target], out[1, target] = max(-least, 0.0), min(most, 1.0)
    return out


class LinearProgram:
    """Distributions p with G p <= 0, ready for one objective after another.

    Small programs are left to the compiled simplex method, others to HiGHS.
    """

    def __init__(self, G: Floats) -> None:
        self._rows = G
        rows, worlds = G.shape
        # HiGHS's own annotations omit the dual ray.
        self._highs: Any = None
        if worlds > COMPILED:
            matrix = sp.csr_array(np.vstack([G, np.ones(worlds)]))
            sides = np.append(np.full(rows, -np.inf), 1.0), np.append(np.zeros(rows), 1.0)
            self._highs = quiet_highs()
            self._highs.passModel(
                linear_model(np.zeros(worlds), (np.zeros(worlds), np.full(worlds, np.inf)), matrix, sides)
            )

    def greatest(self, c: Floats) -> float | None:
        """Bound max c·p; None where no distribution is left, proved by Farkas' lemma."""
        found = self.maximize(c)
        return None if found is None else found[0]

    def maximize(self, c: Floats) -> tuple[float, Floats] | None:
        """Bound max c·p, with a distribution that comes near; None where there is none, as is proved."""
        rows, worlds = self._rows.shape
        if self._highs is None:
            p = np.empty(worlds)
            bound, feasible = maximize(self._rows, rows, c, p)
            return (bound, p) if feasible else None
        self._highs.changeColsCost(worlds, np.arange(worlds, dtype=np.int32), -c)
        self._highs.run()
        _, infeasible, ray = self._highs.getDualRay()
        if infeasible and any(
            proves_empty(self._rows, rows, np.maximum(sign * np.array(ray)[:rows], 0.0))
            for sign in (-1.0, 1.0)
        ):
            return None
        found = self._highs.getSolution()
        duals, point = np.array(found.row_dual), np.array(found.col_value)
        y = np.maximum(-duals[:rows], 0.0) if len(duals) else np.zeros(rows)
        return float(dual_bound(self._rows, rows, c, y)), point if len(point) else np.zeros(worlds)
