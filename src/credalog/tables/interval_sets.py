"""Credal sets given by an interval for each value: {theta : lower <= theta <= upper, sum theta = 1}.

Input: the bounds. Output: the best distribution for some scores; or all vertices, in closed
form: all values but one are at an end of their interval (de Campos, Huete and Moral, 1994).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, combinations, islice
from math import lcm
from typing import NamedTuple, TypeAlias

import numpy as np

from credalog.network.polytopes import Vertex
from credalog.tables.cones import Array

__all__ = ["filled", "greatest_sum", "interval_vertices"]


FEW = 8
"""So many values are compared with each other faster than they are sorted."""

SMALL, ENDS_KEPT = 64, 1 << 12
"""Of tables with so few cells so many are remembered with their ends: many questions are about the same."""

Ends: TypeAlias = Callable[[Array, Array], tuple[Array, Array]]
"""What the bounds of two values leave to either of them."""


def filled(least: Array, most: Array, score: Array) -> Array:
    """Return the distributions of greatest score: a continuous knapsack, values of greatest score first.

    The last axis runs over the values; the others are stretched where one array lacks them.
    """
    if least.shape[-1] == most.shape[-1] == score.shape[-1] == 2:
        return _filled_pair(least, most, score)
    shape = np.broadcast_shapes(least.shape, most.shape, score.shape)
    # A score that is the same for all values still has to give an order of all of them.
    whole = np.broadcast_to(score, (*score.shape[:-1], shape[-1]))
    if 2 < shape[-1] <= FEW:
        found = [np.broadcast_to(theta, shape[:-1]) for _, theta in _few(least, most, whole)]
        return np.stack(found, axis=-1)
    order = np.broadcast_to(np.argsort(-whole, axis=-1), shape)
    room = np.take_along_axis(np.broadcast_to(most - least, shape), order, axis=-1)
    free = np.maximum(1.0 - least.sum(axis=-1, keepdims=True), 0.0)
    given = np.clip(free - (np.cumsum(room, axis=-1) - room), 0.0, room)
    theta = np.zeros(shape)
    np.put_along_axis(theta, order, given, axis=-1)
    return theta + least


def _filled_pair(least: Array, most: Array, score: Array) -> Array:
    """Return the distributions of greatest score over two values: the better one has what it can."""
    first, second = _small(_either_first, least, most)
    return np.where((score[..., 1] > score[..., 0])[..., None], second, first)


def _either_first(least: Array, most: Array) -> tuple[Array, Array]:
    """Return the distributions in which the first of two values has what it can, and the second.

    The numbers are those of the general case, operation by operation.
    """
    room = most - least
    free = np.maximum(1.0 - (least[..., 0] + least[..., 1]), 0.0)
    # The general case subtracts what was given before, as a sum of two minus the second.
    both, found = room[..., 0] + room[..., 1], (np.empty_like(room), np.empty_like(room))
    for better, theta in enumerate(found):
        worse = 1 - better
        theta[..., better] = np.clip(free, 0.0, room[..., better])
        theta[..., worse] = np.clip(free - (both - room[..., worse]), 0.0, room[..., worse])
    return found[0] + least, found[1] + least


def greatest_sum(least: Array, most: Array, score: Array) -> Array:
    """Return the greatest sum of score times theta over the last axis.

    No theta is off by more than the distance of its ends, as in `filled`.
    """
    values = max(least.shape[-1], most.shape[-1], score.shape[-1])
    if score.shape[-1] != values:
        score = np.broadcast_to(score, (*score.shape[:-1], values))
    if values > FEW or values == 1:
        return np.asarray((filled(least, most, score) * score).sum(axis=-1))
    if values > 2:
        return np.asarray(sum(value * theta for value, theta in _few(least, most, score)))
    first, second = _small(_either_end, least, most)
    parts = np.where((score[..., 1] > score[..., 0])[..., None], second, first) * score
    return np.asarray(parts[..., 0] + parts[..., 1])


def _either_end(least: Array, most: Array) -> tuple[Array, Array]:
    """Return the distributions in which the first of two values is greatest, and the second."""
    found = np.empty_like(least), np.empty_like(least)
    for better, theta in enumerate(found):
        worse = 1 - better
        theta[..., better] = np.minimum(most[..., better], 1.0 - least[..., worse])
        theta[..., worse] = np.maximum(least[..., worse], 1.0 - most[..., better])
    return found


def _small(ends: Ends, least: Array, most: Array) -> tuple[Array, Array]:
    """Find both distributions, or remember those of a small table with the same numbers."""
    if least.size > SMALL or least.shape != most.shape:
        return ends(*np.broadcast_arrays(least, most))
    return _remembered(ends, least.shape, least.tobytes(), most.tobytes())


@lru_cache(maxsize=ENDS_KEPT)
def _remembered(ends: Ends, shape: tuple[int, ...], least: bytes, most: bytes) -> tuple[Array, Array]:
    found = ends(*(np.frombuffer(values).reshape(shape) for values in (least, most)))
    for theta in found:
        theta.setflags(write=False)
    return found


def _few(least: Array, most: Array, score: Array) -> Iterator[tuple[Array, Array]]:
    """Yield each value's score and best probability: few values are compared with each other, not sorted.

    What a value is given is found from the same numbers as in the general case, up to the order of a sum.
    """
    low, high, scores = (
        [values[..., i].copy() for i in range(values.shape[-1])] for values in (least, most, score)
    )
    rooms = [b - a for a, b in zip(low, high, strict=True)]
    free = np.maximum(1.0 - least.sum(axis=-1), 0.0)
    ahead: list[Array] = [np.zeros(()) for _ in low]
    for i, j in combinations(range(len(low)), 2):
        first = scores[i] >= scores[j]
        ahead[j] = ahead[j] + first * rooms[i]
        ahead[i] = ahead[i] + ~first * rooms[j]
    for value, before, room, start in zip(scores, ahead, rooms, low, strict=True):
        yield value, np.clip(free - before, 0.0, room) + start


def interval_vertices(
    lower: Sequence[Fraction], upper: Sequence[Fraction], *, most: int
) -> tuple[Vertex, ...] | None:
    """Enumerate the extreme points in lexicographic order; None where there are more than `most`."""
    scale = lcm(*(end.denominator for end in (*lower, *upper)))
    low, high = (tuple(int(end * scale) for end in ends) for ends in (lower, upper))
    found = list(islice(_vertices(_Whole(low, high, _tails(low, high)), (), scale), most + 1))
    if len(found) > most:
        return None
    return tuple(tuple(Fraction(value, scale) for value in point) for point in sorted(found))


class _Whole(NamedTuple):
    """The bounds times their common denominator, and the range of the sum of all values but the first i."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    tails: tuple[tuple[int, int], ...]


def _tails(lower: tuple[int, ...], upper: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    least, most = (list(accumulate(reversed(ends), initial=0)) for ends in (lower, upper))
    return tuple(zip(reversed(least), reversed(most), strict=True))


def _vertices(bounds: _Whole, head: tuple[int, ...], left: int, inner: int = -1) -> Iterator[tuple[int, ...]]:
    """Extend the first values of a vertex, of which at most one, `inner`, is to be found from the sum.

    That value stands at its lower end meanwhile; `left` is what the sum still lacks.
    """
    least, most = bounds.tails[len(head)]
    room = bounds.upper[inner] - bounds.lower[inner] if inner >= 0 else 0
    if not (least <= left and left - room <= most):
        return
    if len(head) == len(bounds.lower):
        if inner < 0:
            yield head
        elif 0 < left < room:
            yield (*head[:inner], head[inner] + left, *head[inner + 1 :])
        return
    low, high = bounds.lower[len(head)], bounds.upper[len(head)]
    yield from _vertices(bounds, (*head, low), left - low, inner)
    if low < high:
        yield from _vertices(bounds, (*head, high), left - high, inner)
        if inner < 0:
            yield from _vertices(bounds, (*head, low), left - low, len(head))
