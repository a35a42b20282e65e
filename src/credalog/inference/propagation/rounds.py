"""One round of messages over the whole factor graph, compiled.

Enters: the arrays of a factor graph and the messages so far. Leaves, in place: the messages after the round,
and how much each factor's inputs have changed since it was last asked.

Variables keep, per probability, the best and the second best bound that factors have sent them: the message to
the factor that sent the best is the second best, and none needs to be stored.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credalog.inference.propagation.factors import Arrays, Floats, Indices, Kind
from credalog.inference.propagation.kernels import (
    Table,
    compiled,
    family_to_head,
    family_to_parent,
    greatest,
    table,
)

__all__ = ["Messages", "apply", "empty", "round_of_messages"]

SOUND_NODES = 24
"""How many boxes sound propagation may branch into, where a local program has independent variables."""
SOUND_GAP = 1e-5
"""When sound propagation stops branching."""
EXACT_NODES = 600
"""How many boxes the paper's algorithm may branch into to solve a local program to optimality."""
EXACT_GAP = 1e-9
"""What counts as optimal."""


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
def _neighbourhood(a: Arrays, m: Messages, f: int, sound: bool) -> tuple[Floats, Floats]:
    """Gather the incoming messages of a factor, edge after edge."""
    first, last = a.edge_start[f], a.edge_start[f + 1]
    base = a.edge_slot[first]
    lower = np.empty(a.edge_slot[last] - base)
    upper = np.empty(a.edge_slot[last] - base)
    for e in range(first, last):
        for slot in range(a.edge_slot[e], a.edge_slot[e + 1]):
            lower[slot - base], upper[slot - base] = _incoming(a, m, e, slot - a.edge_slot[e], sound)
    return lower, upper


@compiled
def _family_messages(a: Arrays, f: int, lower: Floats, upper: Floats, out: Floats) -> bool:
    """Compute the messages of a family with independent parents by closed forms."""
    k = len(lower) - 1
    below = a.coefficient[a.table_start[f] : a.table_start[f] + 2**k]
    above = a.coefficient[a.table_start[f] + 2**k : a.table_start[f] + 2 * 2**k]
    out[0, k], out[1, k] = family_to_head(below, above, lower[:k], upper[:k])
    feasible = True
    for i in range(k):
        head = (lower[k], upper[k])
        out[0, i], out[1, i], possible = family_to_parent(below, above, lower[:k], upper[:k], i, head)
        feasible = feasible and possible
    return feasible


@compiled
def _bounds_of(
    t: Table, lower: Floats, upper: Floats, c: Floats, d: Floats, nodes: int, gap: float
) -> tuple[float, float, bool]:
    """Bound min c·p and max d·p."""
    least, feasible = greatest(t, lower, upper, -c, nodes, gap)
    most, possible = greatest(t, lower, upper, d, nodes, gap)
    return max(-least, 0.0), min(most, 1.0), feasible and possible


@compiled
def _dependent_family_messages(a: Arrays, f: int, lower: Floats, upper: Floats, out: Floats) -> bool:
    """Compute sound messages of a family whose parents may depend on each other.

    Over the table of the parents, P(x) takes every value between two linear functions, so the interval of
    P(x) becomes two rows.
    """
    k = len(lower) - 1
    below = a.coefficient[a.table_start[f] : a.table_start[f] + 2**k]
    above = a.coefficient[a.table_start[f] + 2**k : a.table_start[f] + 2 * 2**k]
    fixed = np.empty((2, 2**k))
    # Two float operations per coefficient: their error is absorbed by pulling the row outwards.
    fixed[0] = below - upper[k] - 4.0 * 2.0**-53
    fixed[1] = lower[k] - above - 4.0 * 2.0**-53
    first = a.edge_start[f]
    t = table(np.full(k, 2), a.product[first : first + k], fixed)
    out[0, k], out[1, k], feasible = _bounds_of(
        t, lower[:k], upper[:k], below, above, SOUND_NODES, SOUND_GAP
    )
    for i in range(k):
        c = ((np.arange(2**k) >> (k - 1 - i)) & 1).astype(np.float64)
        out[0, i], out[1, i], possible = _bounds_of(
            t, lower[:k], upper[:k], c, c, SOUND_NODES, SOUND_GAP
        )
        feasible = feasible and possible
    return feasible


@compiled
def _table_messages(a: Arrays, f: int, lower: Floats, upper: Floats, sound: bool, out: Floats) -> bool:
    """Compute the messages of any other factor over its own worlds.

    The paper takes the other neighbours as mutually independent and leaves out what the target itself
    has heard; sound propagation takes what the Markov condition implies, and all that is known.
    """
    first, last = a.edge_start[f], a.edge_start[f + 1]
    size = a.size[a.edge_variable[first:last]]
    worlds = np.prod(size)
    block = a.coefficient[a.table_start[f] : a.table_start[f + 1]]
    fixed = block.reshape((len(block) // worlds, worlds))
    feasible = True
    for i in range(last - first):
        product = a.product[first:last].copy()
        low, high = lower.copy(), upper.copy()
        start, end = a.edge_slot[first + i] - a.edge_slot[first], a.edge_slot[first + i + 1] - a.edge_slot[first]
        if not sound:
            product[:] = True
            product[i] = False
            low[start:end], high[start:end] = 0.0, 1.0
        t = table(size, product, fixed)
        nodes, gap = (SOUND_NODES, SOUND_GAP) if sound else (EXACT_NODES, EXACT_GAP)
        for slot in range(start, end):
            value = 1 if size[i] == 2 else slot - start
            c = ((np.arange(worlds) // t.stride[i]) % size[i] == value).astype(np.float64)
            out[0, slot], out[1, slot], possible = _bounds_of(t, low, high, c, c, nodes, gap)
            feasible = feasible and possible
    return feasible


@compiled
def _factor_messages(a: Arrays, m: Messages, f: int, sound: bool, out: Floats) -> bool:
    """Compute all messages of one factor; False where its local program is proved to have no solution."""
    lower, upper = _neighbourhood(a, m, f, sound)
    if a.kind[f] == Kind.TABLE:
        return _table_messages(a, f, lower, upper, sound, out)
    first, head = a.edge_start[f], a.edge_start[f + 1] - 1
    if sound and not a.product[first:head].all():
        return _dependent_family_messages(a, f, lower, upper, out)
    return _family_messages(a, f, lower, upper, out)


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
def apply(a: Arrays, m: Messages, v: int, sound: bool) -> float:
    """Let a variable hear its messages; record how much that changes the inputs of its factors."""
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
            # A factor's own message is no news to it.
            lower = old[0] if old_edges[0] != e else m.best_lower[here] if sound else old[2]
            upper = old[1] if old_edges[1] != e else m.best_upper[here] if sound else old[3]
            now = _incoming(a, m, e, slot, sound)
            news = max(abs(now[0] - lower), abs(now[1] - upper))
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
    return a.size[v] > 2 and (least > 1.0 + slack or most < 1.0 - slack)


@compiled
def round_of_messages(
    a: Arrays, m: Messages, order: Indices, sound: bool, at_once: bool, crossing: float
) -> tuple[float, int]:
    """Ask the factors in this order; return the largest change of a variable, and a crossed variable or -1.

    With `at_once` each answer is heard before the next factor is asked; otherwise all are heard at
    the end of the round. The round stops at the first contradiction.
    """
    largest = 0.0
    dirty = np.zeros(len(a.size), dtype=np.bool_)
    out = np.empty((2, 1))
    for f in order:
        if a.kind[f] == Kind.SILENT:
            m.change[f] = 0.0
            continue
        first, last = a.edge_start[f], a.edge_start[f + 1]
        slots = a.edge_slot[last] - a.edge_slot[first]
        if out.shape[1] < slots:
            out = np.empty((2, slots))
        m.change[f] = 0.0
        if not _factor_messages(a, m, f, sound, out):
            m.refuted[0] = f
            return largest, a.edge_variable[first]
        _store(a, m, f, out)
        for v in a.edge_variable[first:last]:
            if at_once:
                largest = max(largest, apply(a, m, v, sound))
                if _crossed(a, m, v, crossing):
                    return largest, v
            else:
                dirty[v] = True
    for v in np.flatnonzero(dirty):
        largest = max(largest, apply(a, m, v, sound))
        if _crossed(a, m, v, crossing):
            return largest, v
    return largest, -1
