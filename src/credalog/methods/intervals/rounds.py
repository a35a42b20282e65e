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

from credalog.methods.intervals.factors import Arrays, Floats, Indices, Kind
from credalog.methods.intervals.programs import closed_form_messages, program_messages
from credalog.numbers.jit import compiled

__all__ = [
    "Messages",
    "ask_families",
    "ask_programs",
    "closed_forms",
    "empty",
    "first_crossed",
    "incoming_box",
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
    return a.size[v] > 2 and (least > 1.0 + slack or most < 1.0 - slack)


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
