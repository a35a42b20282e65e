"""One round of messages over the whole factor graph, compiled.

Input: the arrays of a factor graph and the messages so far. Output, in place: the messages after the round,
and how much each factor's inputs have changed since it was last asked.

Variables keep, per probability, the best and the second best bound that factors have sent them: the message
to the factor that sent the best is the second best, and none needs to be stored.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credalog.methods.intervals.factors import FAMILY, Arrays, Floats, Indices, Kind
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

__all__ = [
    "Messages",
    "ask_families",
    "ask_programs",
    "closed_form_messages",
    "closed_forms",
    "empty",
    "first_crossed",
    "incoming_box",
    "program_messages",
    "take",
    "update_all",
]


class Messages(NamedTuple):
    """All messages of factors to variables, by edge; the best two bounds of each probability; what changed.

    `cause` flags the edges whose message has ever tightened a variable. `change` is the largest change of a
    factor's inputs since its last update. `refuted` holds the first factor proved to have no solution, or -1.
    """

    lower: Floats
    upper: Floats
    best_lower: Floats
    best_upper: Floats
    second_lower: Floats
    second_upper: Floats
    lower_edge: Indices
    upper_edge: Indices
    cause: NDArray[np.bool_]
    change: Floats
    refuted: Indices


def empty(arrays: Arrays) -> Messages:
    """Return the initial messages, all [0, 1], with every factor to be asked."""
    slots, values = arrays.edge_slot[-1], arrays.variable_slot[-1]
    return Messages(
        lower=np.zeros(slots),
        upper=np.ones(slots),
        best_lower=np.zeros(values),
        best_upper=np.ones(values),
        second_lower=np.zeros(values),
        second_upper=np.ones(values),
        lower_edge=np.full(values, -1),
        upper_edge=np.full(values, -1),
        cause=np.zeros(len(arrays.edge_variable), dtype=np.bool_),
        change=np.ones(len(arrays.kind)),
        refuted=np.full(1, -1),
    )


@compiled
def _incoming(a: Arrays, m: Messages, edge: int, slot: int, sound: bool) -> tuple[float, float]:
    """Return the message from a variable to a factor: the best bounds of the other factors.

    Sound propagation may use all that is known. The paper's messages may cross by a rounding error where
    probabilities are points; they are then put in order.
    """
    v = a.variable_slot[a.edge_variable[edge]] + slot
    lower, upper = m.best_lower[v], m.best_upper[v]
    if sound:
        return lower, upper
    if m.lower_edge[v] == edge:
        lower = m.second_lower[v]
    if m.upper_edge[v] == edge:
        upper = m.second_upper[v]
    return min(lower, upper), max(lower, upper)


@compiled
def incoming_box(a: Arrays, m: Messages, f: int, sound: bool) -> Floats:
    """Gather the incoming messages of a factor, edge after edge: a row of lower and a row of upper ends."""
    first, last = a.edge_start[f], a.edge_start[f + 1]
    base = a.edge_slot[first]
    box = np.empty((2, a.edge_slot[last] - base))
    for e in range(first, last):
        for slot in range(a.edge_slot[e], a.edge_slot[e + 1]):
            box[0, slot - base], box[1, slot - base] = _incoming(a, m, e, slot - a.edge_slot[e], sound)
    return box


@compiled
def _store(a: Arrays, m: Messages, f: int, out: Floats) -> None:
    """Intersect the messages of a factor with what it has sent before: bounds only ever tighten."""
    base = a.edge_slot[a.edge_start[f]]
    for slot in range(base, a.edge_slot[a.edge_start[f + 1]]):
        m.lower[slot] = max(m.lower[slot], out[0, slot - base])
        m.upper[slot] = min(m.upper[slot], out[1, slot - base])


@compiled
def _best_two(a: Arrays, m: Messages, v: int, slot: int) -> None:
    """Find the best and second best bounds that a variable has been sent."""
    here = a.variable_slot[v] + slot
    best, second, edge = 0.0, 0.0, -1
    high, next_high, high_edge = 1.0, 1.0, -1
    for k in range(a.variable_start[v], a.variable_start[v + 1]):
        e = a.variable_edge[k]
        lower, upper = m.lower[a.edge_slot[e] + slot], m.upper[a.edge_slot[e] + slot]
        if lower > best:
            best, second, edge = lower, best, e
        elif lower > second:
            second = lower
        if upper < high:
            high, next_high, high_edge = upper, high, e
        elif upper < next_high:
            next_high = upper
    m.best_lower[here], m.second_lower[here], m.lower_edge[here] = best, second, edge
    m.best_upper[here], m.second_upper[here], m.upper_edge[here] = high, next_high, high_edge


@compiled
def update(a: Arrays, m: Messages, v: int, sound: bool) -> float:
    """Update the bounds of a variable; record how much that changes the inputs of its factors."""
    largest = 0.0
    for slot in range(a.variable_slot[v + 1] - a.variable_slot[v]):
        here = a.variable_slot[v] + slot
        old = (m.best_lower[here], m.best_upper[here], m.second_lower[here], m.second_upper[here])
        old_edges = (m.lower_edge[here], m.upper_edge[here])
        _best_two(a, m, v, slot)
        largest = max(largest, m.best_lower[here] - old[0], old[1] - m.best_upper[here])
        if m.best_lower[here] > old[0]:
            m.cause[m.lower_edge[here]] = True
        if m.best_upper[here] < old[1]:
            m.cause[m.upper_edge[here]] = True
        for k in range(a.variable_start[v], a.variable_start[v + 1]):
            e = a.variable_edge[k]
            now = _incoming(a, m, e, slot, sound)
            lower, upper = old[0], old[1]
            if not sound:
                lower = old[2] if old_edges[0] == e else lower
                upper = old[3] if old_edges[1] == e else upper
            # A factor's own message is no news to it, even where sound propagation hands it back.
            below = 0.0 if sound and m.lower_edge[here] == e else abs(now[0] - lower)
            above = 0.0 if sound and m.upper_edge[here] == e else abs(now[1] - upper)
            news = max(below, above)
            m.change[a.edge_factor[e]] = max(m.change[a.edge_factor[e]], news)
    return largest


@compiled
def _crossed(a: Arrays, m: Messages, v: int, tolerance: float) -> bool:
    """Tell whether the bounds of a variable contradict each other."""
    least, most, slack = 0.0, 0.0, tolerance + 1e-12
    for here in range(a.variable_slot[v], a.variable_slot[v + 1]):
        least += m.best_lower[here]
        most += m.best_upper[here]
        if m.best_lower[here] > m.best_upper[here] + tolerance:
            return True
    return a.size[v] != 2 and (least > 1.0 + slack or most < 1.0 - slack)


@compiled
def take(
    a: Arrays, m: Messages, f: int, out: Floats, sound: bool, at_once: bool, dirty: NDArray[np.bool_]
) -> float:
    """Store the messages of a factor; update its neighbours now, or mark them for the end of the round."""
    _store(a, m, f, out)
    m.change[f] = 0.0
    largest = 0.0
    for e in range(a.edge_start[f], a.edge_start[f + 1]):
        if at_once:
            largest = max(largest, update(a, m, a.edge_variable[e], sound))
        else:
            dirty[a.edge_variable[e]] = True
    return largest


@compiled
def ask_families(
    a: Arrays, m: Messages, order: Indices, sound: bool, at_once: bool, dirty: NDArray[np.bool_]
) -> float:
    """Ask families with closed forms, in order; return the largest change of a variable.

    With `at_once` variables are updated before the next factor is asked; otherwise when the round ends.
    Asking stops at a factor that is refuted.
    """
    largest = 0.0
    for f in order:
        box = incoming_box(a, m, f, sound)
        out = np.empty_like(box)
        if not closed_form_messages(a, f, box, out):
            m.refuted[0] = f
            break
        largest = max(largest, take(a, m, f, out, sound, at_once, dirty))
    return largest


@compiled
def ask_programs(
    a: Arrays, m: Messages, order: Indices, sound: bool, at_once: bool, dirty: NDArray[np.bool_]
) -> float:
    """Ask all other factors, likewise; a function of its own, so that it is compiled only where needed."""
    largest = 0.0
    for f in order:
        box = incoming_box(a, m, f, sound)
        out = np.empty_like(box)
        if not program_messages(a, f, box, sound, out):
            m.refuted[0] = f
            break
        largest = max(largest, take(a, m, f, out, sound, at_once, dirty))
    return largest


@compiled
def update_all(a: Arrays, m: Messages, dirty: NDArray[np.bool_], sound: bool) -> float:
    """Update all marked variables; return the largest change."""
    largest = 0.0
    for v in np.flatnonzero(dirty):
        largest = max(largest, update(a, m, int(v), sound))
    return largest


@compiled
def first_crossed(a: Arrays, m: Messages, variables: Indices, tolerance: float) -> int:
    """Return the first of some variables whose bounds contradict each other, or -1."""
    for v in variables:
        if _crossed(a, m, v, tolerance):
            return int(v)
    return -1


def closed_forms(a: Arrays, *, sound: bool) -> NDArray[np.bool_]:
    """Flag the families whose parents count as mutually independent."""
    families = np.asarray(a.kind == Kind.FAMILY)
    if not sound or not len(families):
        return families
    dependent = ~a.product
    dependent[a.edge_start[1:] - 1] = False
    return families & ~np.logical_or.reduceat(dependent, a.edge_start[:-1])


# ---- local programs ---------------------------------------------------------------------------------------
# The local program of each factor, compiled: from the intervals around it to all its messages.
# Input: the arrays of a factor graph, one factor, and the box of its incoming messages. Output: the box of
# its outgoing messages, by closed form or by `greatest` over its table.

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
    family = a.kind[f] == FAMILY
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
