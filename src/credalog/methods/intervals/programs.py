"""The local program of each factor, compiled: from the intervals around it to all its messages.

Input: the arrays of a factor graph, one factor, and the box of its incoming messages. Output: the box of its
outgoing messages, by closed form or by `greatest` over its table.
"""

from __future__ import annotations

import numpy as np

from credalog.methods.intervals.factors import Arrays, Floats, Kind
from credalog.methods.intervals.kernels import (
    EPSILON,
    Table,
    copy_box,
    family_to_head,
    family_to_parent,
    greatest,
    table,
)
from credalog.numbers.jit import compiled

__all__ = ["closed_form_messages", "program_messages"]

SOUND_NODES = 24
"""How many boxes sound propagation may branch into, where a local program has independent variables."""
SOUND_GAP = 1e-5
"""When sound propagation stops branching."""
BRANCHED_WORLDS = 16
"""The largest table on which sound propagation branches; beyond it the linear program has to do."""
EXACT_NODES = 600
"""How many boxes bp and printed may branch into to solve a local program to optimality."""
EXACT_GAP = 1e-9
"""What counts as optimal."""


@compiled
def closed_form_messages(a: Arrays, f: int, box: Floats, out: Floats) -> bool:
    """Compute the messages of a family with independent parents."""
    k = box.shape[1] - 1
    below = a.coefficient[a.table_start[f] : a.table_start[f] + 2**k]
    above = a.coefficient[a.table_start[f] + 2**k : a.table_start[f + 1]]
    lower, upper = box[0, :k], box[1, :k]
    out[0, k], out[1, k] = family_to_head(below, above, lower, upper)
    feasible = True
    for i in range(k):
        head = (box[0, k], box[1, k])
        out[0, i], out[1, i], possible = family_to_parent(below, above, lower, upper, i, head)
        feasible = feasible and possible
    return feasible


@compiled
def _program_of(a: Arrays, f: int, count: int) -> Table:
    """Read the table of a factor over its first neighbours, with those that the network makes independent."""
    first = a.edge_start[f]
    size = np.empty(count, dtype=np.int64)
    product = np.empty(count, dtype=np.bool_)
    worlds = 1
    for i in range(count):
        size[i], product[i] = a.size[a.edge_variable[first + i]], a.product[first + i]
        worlds *= size[i]
    block = a.coefficient[a.table_start[f] : a.table_start[f + 1]].copy()
    return table(size, product, block.reshape((len(block) // worlds, worlds)))


@compiled
def _aim_at_head(below: Floats, above: Floats, objective: Floats) -> None:
    """Set up the message of a family to its head: P(x) ranges between two linear functions of the parents."""
    for w in range(len(below)):
        objective[0, w], objective[1, w] = -below[w], above[w]


@compiled
def _aim_at(t: Table, i: int, value: int, objective: Floats) -> None:
    """Set up the message to a variable of the table, about one of its values."""
    for w in range(objective.shape[1]):
        holds = (w // t.stride[i]) % t.size[i] == value
        objective[0, w], objective[1, w] = -1.0 * holds, 1.0 * holds


@compiled
def _restrict_head(t: Table, below: Floats, above: Floats, lower: float, upper: float) -> None:
    """Turn the interval of a family's head into two rows over its parents."""
    for w in range(len(below)):
        # Two operations on numbers up to 1: pulling the row down by their error only weakens it.
        t.fixed[0, w] = below[w] - upper - 4.0 * EPSILON
        t.fixed[1, w] = lower - above[w] - 4.0 * EPSILON


@compiled
def program_messages(a: Arrays, f: int, box: Floats, sound: bool, out: Floats) -> bool:
    """Compute the messages of a factor that has no closed form, target by target.

    A family is a table over its parents, any other factor a table over all its neighbours. The paper takes
    the neighbours but the target as independent, unless parents are marked, and leaves out what the target
    itself has received.
    """
    family = a.kind[f] == Kind.FAMILY
    t = _program_of(a, f, a.edge_start[f + 1] - a.edge_start[f] - family)
    objective = np.empty((2, t.fixed.shape[1]))
    # A table may have no row at all; only a family has these two.
    below, above = (t.fixed[0].copy(), t.fixed[1].copy()) if family else (objective[0], objective[1])
    if family:
        _restrict_head(t, below, above, box[0, -1], box[1, -1])
    inner, marked = box.copy(), t.product.any()
    i, feasible = 0, True
    for target in range(box.shape[1]):
        if target == t.slot[-1]:
            _aim_at_head(below, above, objective)
        else:
            i += target == t.slot[i + 1]
            _aim_at(t, i, 1 if t.size[i] == 2 else target - t.slot[i], objective)
            if not sound:
                copy_box(box, inner)
                inner[0, t.slot[i] : t.slot[i + 1]] = 0.0
                inner[1, t.slot[i] : t.slot[i + 1]] = 1.0
                if not marked:
                    t.product[:] = True
                    t.product[i] = False
        possible = _solve_target(t, inner, objective, sound, out[:, target])
        feasible = feasible and possible
    return feasible


@compiled
def _solve_target(t: Table, box: Floats, objective: Floats, sound: bool, out: Floats) -> bool:
    """Bound a range over a table: minus the greatest of one objective, and the greatest of the other."""
    nodes, gap = EXACT_NODES, EXACT_GAP
    independent = 0
    for member in t.product:
        independent += member
    if independent < 2 or (sound and objective.shape[1] > BRANCHED_WORLDS):
        nodes = 1
    elif sound:
        nodes, gap = SOUND_NODES, SOUND_GAP
    feasible = True
    for side in range(2):
        value, possible = greatest(t, box, objective[side], nodes, gap)
        out[side] = max(-value, 0.0) if side == 0 else min(value, 1.0)
        feasible = feasible and possible
    return feasible
