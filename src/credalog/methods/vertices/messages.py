"""Sets of messages: the vectors that may pass along an arc of a credal polytree.

Input: the tables of vertices of a family, and the sets that its neighbours sent. Output: the set that the
family sends on, pruned to extreme rays, and for each of its vectors the vertices that make it.

- Messages that meet at a variable are multiplied, each with each.
- Towards a parent, for fixed messages into the child the entries of different parent values depend on
  different theta(child | configuration), so each is at its minimum or maximum independently.
- Towards a child, for fixed messages from the parents the set is a sum of scaled local polytopes, one for
  each parent configuration: a Minkowski sum, pruned summand by summand.

All sums and products are of non-negative numbers, so each entry carries a relative error; `Messages.error`
bounds it, what pruning adds included (see `cones`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import inf, prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.errors import ProblemTooLarge
from credalog.numbers.budget import Budget
from credalog.tables.cones import Array, extreme_rays
from credalog.tables.credal import Choice, Table
from credalog.trusted.rounding import relative_error

__all__ = [
    "MAX_COMBINATIONS",
    "Messages",
    "constant",
    "from_above",
    "may_vanish",
    "multiplied",
    "to_parent",
    "weighted",
]

PRUNING = 1e-11
"""The relative error that pruning may add to a message."""

MAX_COMBINATIONS = 1 << 20
"""How many combinations of incoming messages are tried in one step before giving up."""

SMALLEST = 1e-290
"""Below this a product may have lost digits to underflow; no relative error is vouched for."""

Picks: TypeAlias = NDArray[np.intp]
Origin: TypeAlias = tuple[list[Choice], list[tuple["Messages", int]]]


@dataclass(frozen=True, slots=True)
class Messages:
    """A set of vectors over the values of one variable; only their directions matter.

    `origin(i)` tells how vector i came about: the vertices chosen in this step and the vectors of other
    sets that entered it.
    """

    vectors: Array
    error: float
    origin: Callable[[int], Origin]

    def choices(self, index: int) -> Iterator[Choice]:
        """Yield the vertices behind one vector, through all the steps that led to it."""
        pending: list[tuple[Messages, int]] = [(self, index)]
        while pending:
            messages, i = pending.pop()
            choices, sources = messages.origin(i)
            yield from choices
            pending.extend(sources)


def constant(vector: Array) -> Messages:
    """Return the set of one message that involves no choice."""
    return Messages(vector[None], 0.0, lambda _: ([], []))


def multiplied(sets: Sequence[Messages], size: int, budget: Budget) -> Messages:
    """Multiply messages that meet at a variable, each vector with each; ones where there is none."""
    return reduce(lambda a, b: _multiply(a, b, budget), sets) if sets else constant(np.ones(size))


def _multiply(left: Messages, right: Messages, budget: Budget) -> Messages:
    count = len(right.vectors)
    _limit(len(left.vectors) * count)

    def origin(i: int) -> Origin:
        return [], [(left, i // count), (right, i % count)]

    if count == 1 and (right.vectors == 1).all():
        # The choices behind it count even so: others may have made the evidence impossible.
        return Messages(left.vectors, left.error + right.error, origin)
    products = (left.vectors[:, None] * right.vectors[None]).reshape(-1, left.vectors.shape[1])
    error = left.error + right.error + relative_error(2) + _vanishing(left.vectors, right.vectors)
    return _pruned(products, error, origin, budget)


def _limit(combinations: int) -> None:
    if combinations > MAX_COMBINATIONS:
        raise ProblemTooLarge(f"{combinations} combinations of messages in one step")


def may_vanish(*factors: Array) -> bool:
    """Tell whether a product of positive entries, one of each factor, may be too small for a float."""
    return prod(float(values[values > 0].min(initial=1.0)) for values in factors) < SMALLEST


def _vanishing(*factors: Array) -> float:
    """Return infinity, as an error, where a product of entries may lose digits to underflow."""
    return inf if may_vanish(*factors) else 0.0


def _pruned(vectors: Array, error: float, origin: Callable[[int], Origin], budget: Budget) -> Messages:
    """Drop zero and superfluous vectors; scale the others to greatest entry one."""
    (nonzero,) = np.nonzero(vectors.max(axis=1) > 0)
    if not len(nonzero):
        # Where the evidence is known to be possible, the numbers were too small for floats.
        raise ProblemTooLarge("every message vanishes")
    kept = nonzero[extreme_rays(vectors[nonzero], tolerance=PRUNING, budget=budget)]
    scaled = vectors[kept] / vectors[kept].max(axis=1, keepdims=True)
    error += _vanishing(vectors) + PRUNING + relative_error(2)
    return Messages(scaled, error, lambda i: origin(int(kept[i])))


def to_parent(
    table: Table, parent: int, others: Sequence[Messages], below: Messages, budget: Budget
) -> Messages:
    """Send a family's message to one of its parents.

    `others` come from the other parents in the table's order, `below` from the child's own side.
    """
    axis = table.parents.index(parent)
    counts = (len(below.vectors), *(len(m.vectors) for m in others))
    _limit(prod(counts) << table.vertices.shape[axis])
    values = np.moveaxis(table.vertices, axis, 0) @ below.vectors.T
    least, greatest = (
        weighted(np.moveaxis(extreme, -1, 0), others)
        for extreme in (values.min(axis=-2), values.max(axis=-2))
    )
    size = least.shape[-1]
    corners = np.array(list(product((False, True), repeat=size)))
    boxes = np.where(corners[None], greatest[:, None], least[:, None])

    def origin(i: int) -> Origin:
        *sources, corner = (int(j) for j in np.unravel_index(i, (*counts, len(corners))))
        choices = _choose(table, axis, below.vectors[sources[0]], corners[corner])
        return choices, [(m, j) for m, j in zip((below, *others), sources, strict=True)]

    terms = prod(table.vertices.shape[:-2]) + table.vertices.shape[-1] + 4
    error = below.error + sum(m.error for m in others) + relative_error(2 * terms)
    error += _vanishing(table.vertices, below.vectors, *(m.vectors for m in others))
    return _pruned(boxes.reshape(-1, size), error, origin, budget)


def weighted(values: Array, others: Sequence[Messages]) -> Array:
    """Contract the axes after the second with one vector of each set, each with each, in rows."""
    rows = values
    for messages in others:
        contracted = np.tensordot(messages.vectors, rows, axes=(1, 2))
        rows = np.moveaxis(contracted, 0, 1).reshape(-1, rows.shape[1], *rows.shape[3:])
    return rows


def _choose(table: Table, axis: int, below: Array, at_most: NDArray[np.bool_]) -> list[Choice]:
    """Return the vertices that maximise or minimise the message, as each parent value demands."""
    values = table.vertices @ below
    shape = [len(at_most) if i == axis else 1 for i in range(values.ndim - 1)]
    picks = np.where(at_most.reshape(shape), values.argmax(axis=-1), values.argmin(axis=-1))
    return table.choices(picks)


def from_above(table: Table, parents: Sequence[Messages], budget: Budget) -> Messages:
    """Combine the messages of all parents into the set of P(value, evidence above)."""
    counts = tuple(len(m.vectors) for m in parents)
    _limit(prod(counts))
    polytopes = [_distinct(corners) for corners in table.vertices.reshape(-1, *table.vertices.shape[-2:])]
    rows, picks, combination = [], [], []
    for number, indices in enumerate(np.ndindex(*counts)):
        budget.require_time()
        weights = _outer([m.vectors[i] for m, i in zip(parents, indices, strict=True)])
        sums, chosen = _minkowski(polytopes, weights, budget)
        rows.append(sums)
        picks.append(chosen)
        combination.append(np.full(len(sums), number))
        _limit(sum(map(len, combination)))
    chosen, numbers = np.concatenate(picks), np.concatenate(combination)

    def origin(i: int) -> Origin:
        sources = np.unravel_index(int(numbers[i]), counts) if counts else ()
        return table.choices(chosen[i]), [(m, int(j)) for m, j in zip(parents, sources, strict=True)]

    steps = prod(table.vertices.shape[:-2])
    error = sum(m.error for m in parents) + steps * PRUNING + relative_error(4 * steps + 8)
    error += _vanishing(table.vertices, *(m.vectors for m in parents))
    return _pruned(np.concatenate(rows), error, origin, budget)


def _outer(vectors: Sequence[Array]) -> Array:
    """Return the product of one vector per parent as a flat table over their configurations."""
    return reduce(lambda a, b: np.multiply.outer(a, b).reshape(-1), vectors, np.ones(1))


def _distinct(corners: Array) -> tuple[Array, Picks]:
    """Return the different vertices of one credal set, and their numbers."""
    different, numbers = np.unique(corners, axis=0, return_index=True)
    return different, numbers


def _minkowski(
    polytopes: Sequence[tuple[Array, Picks]], weights: Array, budget: Budget
) -> tuple[Array, Picks]:
    """Sum polytopes with these weights; return vertices of the sum, and of the summands behind each."""
    sums = np.zeros((1, polytopes[0][0].shape[1]))
    chosen = np.zeros((1, len(polytopes)), dtype=np.intp)
    for number in (int(i) for i in np.flatnonzero(weights)):
        corners, numbers = polytopes[number]
        _limit(len(sums) * len(corners))
        candidates = (sums[:, None] + weights[number] * corners).reshape(-1, sums.shape[1])
        kept = extreme_rays(candidates, tolerance=PRUNING, budget=budget)
        sums, chosen = candidates[kept], chosen[kept // len(corners)]
        chosen[:, number] = numbers[kept % len(corners)]
    return sums, chosen
