"""Local programs of propagation, compiled: from the intervals around a factor to the message it sends.

Input: the sentences of one factor as rows or tables of numbers, and a box of intervals for the marginals
of its variables. Output: outer bounds on one marginal, or the proof that the box holds no distribution.

Two engines serve every factor. A *family* (all sentences bound P(x | r), with disjoint conditions r over
the other variables) with independent conditions has closed forms: every end is attained at a corner of the
box. Everything else is a linear program over the table of the factor, refined by branching on the box where
some variables are taken as mutually independent.

All bounds are rounded outwards. A linear program's bound is recomputed from its multipliers by weak duality,
so that no error of the pivoting can make it too narrow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credalog.numbers.jit import compiled
from credalog.trusted.rounding import UNIT

__all__ = [
    "Table",
    "copy_box",
    "corner_range",
    "corner_weight",
    "dual_bound",
    "family_to_head",
    "family_to_parent",
    "greatest",
    "maximize",
    "proves_empty",
    "table",
]

Floats = NDArray[np.float64]

EPSILON = 2.0 * UNIT
"""Twice the relative error of one rounding."""
UNDERFLOW = 1e-290
"""More than what products too small for a float can add up to."""
REDUCED_COST = 1e-11
"""How far a row may be violated before the simplex method pivots on it."""
PIVOT = 1e-10
"""The least pivot that is divided by."""


@compiled
def _pivot(T: Floats, row: int, column: int) -> None:
    """Exchange the basic variable of a row with the nonbasic variable of a column of the dictionary."""
    inverse = 1.0 / T[row, column]
    for k in range(T.shape[1]):
        T[row, k] *= -inverse
    T[row, column] = inverse
    for r in range(T.shape[0]):
        factor = T[r, column]
        if r != row and factor != 0.0:
            T[r, column] = 0.0
            for k in range(T.shape[1]):
                T[r, k] += factor * T[row, k]


@compiled
def _entering(T: Floats, labels: NDArray[np.int64], by_index: bool) -> int:
    """Choose the most violated row, or the violated row of least index (Bland) to leave a cycle."""
    last = T.shape[0] - 1
    best, chosen = -REDUCED_COST, -1
    for k in range(T.shape[1] - 1):
        if by_index:
            if T[last, k] < -REDUCED_COST and (chosen < 0 or labels[k] < labels[chosen]):
                chosen = k
        elif T[last, k] < best:
            best, chosen = T[last, k], k
    return chosen


@compiled
def _leaving(T: Floats, column: int, labels: NDArray[np.int64]) -> int:
    """Choose the basic variable that first reaches zero; -1 if none does."""
    constant = T.shape[1] - 1
    best, chosen = np.inf, -1
    for r in range(T.shape[0] - 1):
        if T[r, column] < -PIVOT:
            ratio = T[r, constant] / -T[r, column]
            if ratio < best - 1e-14 or (ratio <= best and labels[r] < labels[chosen]):
                best, chosen = ratio, r
    return chosen


@compiled
def proves_empty(G: Floats, rows: int, ray: Floats) -> bool:
    """Check Farkas' proof: a nonnegative combination of the rows is positive on every world."""
    for j in range(G.shape[1]):
        total, size = 0.0, 0.0
        for i in range(rows):
            if ray[i] > 0.0:
                total += ray[i] * G[i, j]
                size += abs(ray[i] * G[i, j])
        # Written so that a multiplier that is no number proves nothing; products may underflow.
        if not total > 2.0 * (rows + 4) * EPSILON * size + UNDERFLOW:
            return False
    return True


@compiled
def dual_bound(G: Floats, rows: int, c: Floats, y: Floats) -> float:
    """Return max_j c_j - (yG)_j, rounded up: by weak duality no distribution exceeds it, whatever y >= 0."""
    bound = -np.inf
    for j in range(len(c)):
        total, size = c[j], abs(c[j])
        for i in range(rows):
            if y[i] > 0.0:
                total -= y[i] * G[i, j]
                size += y[i] * abs(G[i, j])
        bound = max(bound, total + 2.0 * (rows + 4) * EPSILON * size + UNDERFLOW)
        if not size < np.inf:
            return np.inf
    return bound


@compiled
def _dictionary(G: Floats, rows: int, c: Floats, top: int) -> Floats:
    """Write the dual at y = 0: one row per slack but that of the best world, and the objective below."""
    n = len(c)
    T = np.empty((n, rows + 2))
    for j in range(n):
        r = j if j < top else j - 1
        if j != top:
            for i in range(rows):
                T[r, i] = G[i, j] - G[i, top]
            T[r, rows + 1] = c[top] - c[j]
    for i in range(rows):
        T[n - 1, i] = -G[i, top]
    T[n - 1, rows + 1] = c[top]
    T[:, rows] = 1.0
    return T


@compiled
def _multipliers(T: Floats, column: int, rows: int, basic: NDArray[np.int64]) -> Floats:
    """Read the multipliers of the rows off one column of the dictionary."""
    y = np.zeros(rows)
    for r in range(len(basic)):
        if basic[r] < rows:
            y[basic[r]] = max(T[r, column], 0.0)
    return y


@compiled
def maximize(G: Floats, rows: int, c: Floats, p: Floats) -> tuple[float, bool]:
    """Bound max c·p over distributions p with G p <= 0 (its first rows); leave the maximiser in p.

    The second result is False where the rows are proved to admit no distribution. The dual, min μ with μ >=
    c_j - (yG)_j and y >= 0, is feasible at y = 0. In its dictionary the basic variables are slacks s_j at
    first; the reduced cost of s_j is p_j and that of y_i is -(Gp)_i, so the simplex method brings in
    violated rows until none is left.
    """
    n = len(c)
    top = int(np.argmax(c))
    T = _dictionary(G, rows, c, top)
    nonbasic = np.arange(rows + 1)
    nonbasic[rows] = rows + top
    basic = np.arange(rows, rows + n - 1)
    for r in range(top, n - 1):
        basic[r] += 1
    for step in range(20 * (n + rows)):
        column = _entering(T, nonbasic, step > 5 * (n + rows))
        if column < 0:
            break
        row = _leaving(T, column, basic)
        if row < 0:
            ray = _multipliers(T, column, rows, basic)
            if nonbasic[column] < rows:
                ray[nonbasic[column]] = 1.0
            if proves_empty(G, rows, ray):
                return -np.inf, False
            break
        _pivot(T, row, column)
        basic[row], nonbasic[column] = nonbasic[column], basic[row]
    p[:] = 0.0
    for k in range(rows + 1):
        if nonbasic[k] >= rows:
            p[nonbasic[k] - rows] = max(T[n - 1, k], 0.0)
    return dual_bound(G, rows, c, _multipliers(T, rows + 1, rows, basic)), True


class Table(NamedTuple):
    """The joint table of a few variables, the rows its worlds obey, and who is taken as independent.

    `slot` numbers the bounded probabilities: a two-valued variable has one, of its second value; any other
    variable has one per value. `product` marks the variables that are mutually independent.
    """

    size: NDArray[np.int64]
    stride: NDArray[np.int64]
    slot: NDArray[np.int64]
    product: NDArray[np.bool_]
    fixed: Floats


@compiled
def table(size: NDArray[np.int64], product: NDArray[np.bool_], fixed: Floats) -> Table:
    """Lay out a table: worlds are numbered with the last variable fastest."""
    stride = np.ones(len(size), dtype=np.int64)
    slot = np.zeros(len(size) + 1, dtype=np.int64)
    for i in range(len(size) - 2, -1, -1):
        stride[i] = stride[i + 1] * size[i + 1]
    for i in range(len(size)):
        slot[i + 1] = slot[i] + (1 if size[i] == 2 else size[i])
    return Table(size, stride, slot, product, fixed)


@compiled
def _context(t: Table, world: int, position: int) -> int:
    """Return the number of the values that the other independent variables take in a world."""
    number = 0
    if t.product[position]:
        for i in range(len(t.size)):
            if t.product[i] and i != position:
                number = number * t.size[i] + (world // t.stride[i]) % t.size[i]
    return number


@compiled
def _contexts(t: Table, position: int) -> int:
    """Count the contexts of a variable; one that is not independent has a single context."""
    count = 1
    if t.product[position]:
        for i in range(len(t.size)):
            if t.product[i] and i != position:
                count *= t.size[i]
    return count


@compiled
def _value(t: Table, position: int, slot: int) -> int:
    """Return the value whose probability a slot bounds."""
    return 1 if t.size[position] == 2 else slot - t.slot[position]


@compiled
def _most_rows(t: Table) -> int:
    """Bound the number of rows that `_rows` writes."""
    count = len(t.fixed)
    for i in range(len(t.size)):
        count += 2 * (t.slot[i + 1] - t.slot[i]) * _contexts(t, i)
    return count


@compiled
def _rows(t: Table, lower: Floats, upper: Floats, G: Floats) -> int:
    """Write all rows under a box: the fixed ones, then the box in every context of each variable.

    Independence lets the bounds hold in context: l·p(N) <= p(w, N) <= u·p(N) for all values N of the
    independent variables other than w. Without independence the one context is the whole table.
    """
    G[:] = 0.0
    count = len(t.fixed)
    for r in range(count):
        for w in range(G.shape[1]):
            G[r, w] = t.fixed[r, w]
    for i in range(len(t.size)):
        contexts = _contexts(t, i)
        for slot in range(t.slot[i], t.slot[i + 1]):
            value = _value(t, i, slot)
            below, above = lower[slot] > 0.0, upper[slot] < 1.0
            for w in range(G.shape[1]):
                holds = 1.0 if (w // t.stride[i]) % t.size[i] == value else 0.0
                row = count + _context(t, w, i)
                if above:
                    G[row, w] = holds - upper[slot]
                if below:
                    G[row + contexts * above, w] = lower[slot] - holds
            # Not `above + below`: uncompiled, the sum of two of numpy's truth values is a truth value.
            count += contexts * above + contexts * below
    return count


@compiled
def _marginals(t: Table, p: Floats, lower: Floats, upper: Floats) -> None:
    """Shrink the box of the independent variables to their marginals in p."""
    total = max(p.sum(), 1e-300)
    for i in range(len(t.size)):
        if t.product[i]:
            for slot in range(t.slot[i], t.slot[i + 1]):
                value, mass = _value(t, i, slot), 0.0
                for w in range(len(p)):
                    if (w // t.stride[i]) % t.size[i] == value:
                        mass += p[w]
                point = min(max(mass / total, lower[slot]), upper[slot])
                lower[slot] = upper[slot] = point


@compiled
def _widest(t: Table, lower: Floats, upper: Floats) -> int:
    """Choose the slot of an independent variable whose interval is widest."""
    best, chosen = 0.0, -1
    for i in range(len(t.size)):
        if t.product[i]:
            for slot in range(t.slot[i], t.slot[i + 1]):
                if upper[slot] - lower[slot] > best:
                    best, chosen = upper[slot] - lower[slot], slot
    return chosen


@compiled
def _solve(t: Table, box: Floats, c: Floats, G: Floats, p: Floats) -> tuple[float, bool]:
    """Bound max c·p over a table under a box, whose two rows are the lower and the upper ends."""
    return maximize(G, _rows(t, box[0], box[1], G), c, p)


@compiled
def copy_box(source: Floats, target: Floats) -> None:
    """Copy a box; loops compile much faster than assignments between slices."""
    for side in range(2):
        for k in range(source.shape[1]):
            target[side, k] = source[side, k]


@compiled
def _split(t: Table, boxes: Floats, node: int, fresh: int, point: Floats) -> bool:
    """Cut the box of a node at the point of its solution, the upper part becoming a fresh node."""
    slot = _widest(t, boxes[node, 0], boxes[node, 1])
    if slot < 0:
        return False
    copy_box(boxes[node], boxes[fresh])
    low, high = boxes[node, 0, slot], boxes[node, 1, slot]
    cut = min(max(point[slot], 0.8 * low + 0.2 * high), 0.2 * low + 0.8 * high)
    boxes[node, 1, slot] = boxes[fresh, 0, slot] = cut
    return True


@compiled
def greatest(t: Table, box: Floats, c: Floats, most_nodes: int, gap: float) -> tuple[float, bool]:
    """Bound max c·p over the distributions of a table whose marginals lie in a box.

    Best-first branch and bound on the marginals of the independent variables. The bound of a node is the
    linear relaxation with in-context rows, exact where the box is a point; fixing the marginals of its
    solution gives a value that is attained. Ends when the two meet within `gap`, or at the limit of nodes:
    either way the result is an outer bound. The second result is False where the box is proved empty.
    """
    G = np.empty((_most_rows(t), len(c)))
    p = np.empty((most_nodes + 1, len(c)))
    boxes = np.empty((most_nodes + 1, 2, box.shape[1]))
    bounds = np.full(most_nodes + 1, -np.inf)
    trial = np.empty((2, box.shape[1]))
    copy_box(box, boxes[0])
    attained, nodes, solved = -np.inf, 1, 0
    while True:
        # Nodes from `solved` on are new; a node that was cut is solved again.
        bounds[solved], _ = _solve(t, boxes[solved], c, G, p[solved])
        if nodes > 1:
            bounds[nodes - 1], _ = _solve(t, boxes[nodes - 1], c, G, p[nodes - 1])
        solved = int(np.argmax(bounds[:nodes]))
        if nodes == most_nodes or bounds[solved] == -np.inf:
            break
        copy_box(boxes[solved], trial)
        _marginals(t, p[solved], trial[0], trial[1])
        value, feasible = _solve(t, trial, c, G, p[nodes])
        if feasible:
            attained = max(attained, value)
        if bounds[solved] - attained <= gap or not _split(t, boxes, solved, nodes, trial[0]):
            break
        nodes += 1
    return bounds[solved], bounds[solved] > -np.inf


@compiled
def corner_weight(world: int, corner: int, lower: Floats, upper: Floats, skipped: int) -> float:
    """Return the probability of a configuration of independent parents at one corner of their box.

    Parent i owns the same bit, counted from the last parent, in `world` and in `corner`; the skipped parent
    counts as certain.
    """
    weight, last = 1.0, len(lower) - 1
    for i in range(len(lower)):
        if i != skipped:
            mass = upper[i] if (corner >> (last - i)) & 1 else lower[i]
            weight *= mass if (world >> (last - i)) & 1 else 1.0 - mass
    return weight


@compiled
def _slack(worlds: int, parents: int) -> float:
    """Bound the rounding error of a sum of weighted table entries."""
    return 4.0 * EPSILON * worlds * (parents + 3)


@compiled
def corner_range(below: Floats, above: Floats, lower: Floats, upper: Floats) -> tuple[float, float]:
    """Return the least Σ below(r)·P(r) and the greatest Σ above(r)·P(r) over independent parents in a box.

    Both sums are linear in each parent's marginal, so both ends are attained at corners.
    """
    worlds = len(below)
    least, most = 1.0, 0.0
    for corner in range(worlds):
        low, high = 0.0, 0.0
        for world in range(worlds):
            weight = corner_weight(world, corner, lower, upper, -1)
            low += weight * below[world]
            high += weight * above[world]
        least, most = min(least, low), max(most, high)
    return least, most


@compiled
def family_to_head(below: Floats, above: Floats, lower: Floats, upper: Floats) -> tuple[float, float]:
    """Bound P(x) when its parents are independent, rounding outwards."""
    least, most = corner_range(below, above, lower, upper)
    slack = _slack(len(below), len(lower))
    return max(least - slack, 0.0), min(most + slack, 1.0)


@compiled
def _above(level: float, start: float, end: float) -> tuple[float, float]:
    """Return where the line from `start` (at 0) to `end` (at 1) exceeds a level, as an open interval."""
    slope = end - start
    if slope == 0.0:
        return (-1.0, 2.0) if start > level else (2.0, -1.0)
    root = min(max((level - start) / slope, -1.0), 2.0)
    return (root + 8.0 * EPSILON, 2.0) if slope > 0.0 else (-1.0, root - 8.0 * EPSILON)


@compiled
def _excluded(
    below: Floats, above: Floats, lower: Floats, upper: Floats, parent: int, head: tuple[float, float]
) -> tuple[float, float, float, float]:
    """Return the two open intervals of P(parent) in which P(x) must exceed, or stay under, its interval.

    The least P(x) is a minimum of lines in P(parent), one per corner of the other parents, hence concave: it
    exceeds the upper end of `head` on an interval. Likewise the greatest P(x) is convex.
    """
    worlds, k = len(below), len(lower)
    bit = 1 << (k - 1 - parent)
    slack = _slack(worlds, k)
    too_high, too_low = (-1.0, 2.0), (-1.0, 2.0)
    for corner in range(worlds):
        if corner & bit:
            continue
        low0, low1, high0, high1 = 0.0, 0.0, 0.0, 0.0
        for world in range(worlds):
            weight = corner_weight(world, corner, lower, upper, parent)
            if world & bit:
                low1 += weight * below[world]
                high1 += weight * above[world]
            else:
                low0 += weight * below[world]
                high0 += weight * above[world]
        left, right = _above(head[1] + slack, low0, low1)
        too_high = (max(too_high[0], left), min(too_high[1], right))
        left, right = _above(-(head[0] - slack), -high0, -high1)
        too_low = (max(too_low[0], left), min(too_low[1], right))
    return too_high[0], too_high[1], too_low[0], too_low[1]


@compiled
def family_to_parent(
    below: Floats, above: Floats, lower: Floats, upper: Floats, parent: int, head: tuple[float, float]
) -> tuple[float, float, bool]:
    """Bound P(parent) when the parents are independent and P(x) lies in the interval `head`.

    Outside the two excluded intervals every value is possible. The result spans those components of what
    remains in [0, 1] that meet the parent's own interval; a component that misses it cannot hold the truth.
    """
    a, b, c, d = _excluded(below, above, lower, upper, parent, head)
    first, last = lower[parent], upper[parent]
    for _ in range(2):
        first = b if a < first < b else d if c < first < d else first
        last = a if a < last < b else c if c < last < d else last
    if first > last:
        return 1.0, 0.0, False
    left, right = 0.0, 1.0
    for start, end in ((a, b), (c, d)):
        if start < end <= first:
            left = max(left, end)
        if end > start >= last:
            right = min(right, start)
    return left, right, True
