"""The branch-and-bound kernel behind the certified posterior bounds; numbers in, numbers out.

Input: R as arrays (which rounds each group differs in, and its ratio), the chain of knowledge, a direction
(-1 for the minimum of R, +1 for its maximum). Output: an attained extreme, the model that attains it, and
whether the search proved it within the tolerance.

See `bounds` for the mathematics. A box is a pair of arrays low <= p <= high.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from experiments.mastermind.board import Probabilities

__all__ = ["MARGIN", "SLACK", "corner", "extreme", "fit_to_knowledge", "partner", "walk"]

MARGIN = 1e-12
"""Relative widening of computed limits: above the rounding of a dozen floating-point operations."""

SLACK = 1e-9
"""How far a model may be from satisfying a sentence."""

ROUNDS_OF_SHRINKING = 3
"""How often a box is shrunk before it is split."""

WORTHWHILE = 0.1
"""The relative narrowing of some side that makes another round of shrinking pay."""

Flags = NDArray[np.bool_]
Chain = tuple[Flags, Probabilities, Probabilities]
"""The knowledge: which formulas are OR, and their lower and upper bounds."""


@njit(cache=True)
def partner(low: float, high: float, is_or: bool, lower: float, upper: float) -> tuple[float, float]:
    """Return the range of p_j for which some p_i in [low, high] satisfies their sentence.

    AND bounds the product p_i p_j; OR bounds the product (1-p_i)(1-p_j), turned round.
    """
    if is_or:
        return 1 - (1 - lower) / (1 - high), 1 - (1 - upper) / (1 - low)
    return lower / high, upper / low


@njit(cache=True)
def _narrow(low: Probabilities, high: Probabilities, i: int, j: int, chain: Any) -> bool:
    """Narrow p_j to what p_i allows; return whether anything is left."""
    is_or, lower, upper = chain
    k = min(i, j)
    least, most = partner(low[i], high[i], is_or[k], lower[k], upper[k])
    low[j] = max(low[j], least * (1 - MARGIN) if least > 0 else least - MARGIN)
    high[j] = min(high[j], most * (1 + MARGIN) if most > 0 else most + MARGIN)
    return bool(low[j] <= high[j])


@njit(cache=True)
def fit_to_knowledge(low: Probabilities, high: Probabilities, chain: Any) -> bool:
    """Shrink a box, in place, to its exact projections; return False where no model is left.

    Sentences tie neighbours only and the partners of an interval form an interval, so one pass from the
    right and one from the left make every remaining value extendable to a model.
    """
    for i in range(low.size - 1, 0, -1):
        if not _narrow(low, high, i, i - 1, chain):
            return False
    for i in range(low.size - 1):  # noqa: SIM110 - numba compiles no all() of a generator
        if not _narrow(low, high, i, i + 1, chain):
            return False
    return True


@njit(cache=True)
def _odds_against(p: Probabilities, lies: Flags) -> Probabilities:
    return np.where(lies, (1 - p) / p, p / (1 - p))


@njit(cache=True)
def _terms(differs: Flags, ratio: Probabilities, y: Probabilities) -> Probabilities:
    """Return the terms of R, one per group."""
    terms = ratio.copy()
    for h in range(ratio.size):
        for i in range(y.size):
            if differs[h, i]:
                terms[h] *= y[i]
    return terms


@njit(cache=True)
def corner(low: Probabilities, high: Probabilities, lies: Flags, direction: int) -> Probabilities:
    """Return the corner of a box where R is least (direction -1) or greatest (+1)."""
    return np.where(lies == (direction < 0), high, low)


@njit(cache=True)
def _shares(differs: Flags, terms: Probabilities) -> Probabilities:
    """Return for each round the part of R that is proportional to y_i."""
    shares = np.zeros(differs.shape[1])
    for h in range(terms.size):
        for i in range(shares.size):
            if differs[h, i]:
                shares[i] += terms[h]
    return shares


@njit(cache=True)
def _fit_to_goal(
    low: Probabilities, high: Probabilities, lies: Flags, y: Probabilities,
    shares: Probabilities, total: float, goal: float, direction: int,
) -> float:  # fmt: skip
    """Cut from a box, in place, what cannot beat the goal even with all else at the best corner.

    With the others at the corner R = (total - share_i) + share_i * y_i / y_i(corner), so that R must pass the
    goal bounds y_i. Return the largest relative narrowing of a side.
    """
    narrowing = 0.0
    for i in range(low.size):
        limit = y[i] * (goal - total + shares[i]) / shares[i] if shares[i] > 0 else 0.0
        width = high[i] - low[i]
        if limit <= 0 or width <= 0:
            continue
        limit *= 1 - direction * MARGIN
        cut = 1 / (1 + limit) if lies[i] else limit / (1 + limit)
        if lies[i] == (direction < 0):
            low[i] = min(max(low[i], cut), high[i])
        else:
            high[i] = max(min(high[i], cut), low[i])
        narrowing = max(narrowing, 1 - (high[i] - low[i]) / width)
    return narrowing


@njit(cache=True)
def walk(wish: Probabilities, chain: Any, first: int) -> Probabilities:
    """Grant one round its wish, then walk both ways, each p_i as near its wish as its neighbour allows."""
    is_or, lower, upper = chain
    p = wish.copy()
    for i in range(first + 1, p.size):
        least, most = partner(p[i - 1], p[i - 1], is_or[i - 1], lower[i - 1], upper[i - 1])
        p[i] = min(max(p[i], least), most)
    for i in range(first - 1, -1, -1):
        least, most = partner(p[i + 1], p[i + 1], is_or[i], lower[i], upper[i])
        p[i] = min(max(p[i], least), most)
    return p


@njit(cache=True)
def _is_model(p: Probabilities, box: Any, chain: Any) -> bool:
    """Check a model against every sentence."""
    (low, high), (is_or, lower, upper) = box, chain
    both = p[:-1] * p[1:]
    value = np.where(is_or, p[:-1] + p[1:] - both, both)
    inside = np.all(p >= low - SLACK) and np.all(p <= high + SLACK)
    return bool(inside and np.all(value >= lower - SLACK) and np.all(value <= upper + SLACK))


@njit(cache=True)
def _widest(low: Probabilities, high: Probabilities, shares: Probabilities) -> int:
    """Return the round whose remaining doubt moves R most."""
    return int(np.argmax(shares * (np.log(high / (1 - high)) - np.log(low / (1 - low)))))


@njit(cache=True)
def _split(low: Probabilities, high: Probabilities, i: int, upper_last: bool) -> list[Any]:
    """Halve a box along one side; the half to be searched first comes last."""
    middle = (low[i] + high[i]) / 2
    top, bottom = low.copy(), high.copy()
    top[i], bottom[i] = middle, middle
    halves = [(low, bottom), (top, high)]
    return halves if upper_last else halves[::-1]


@njit(cache=True)
def _at_corner(differs: Flags, ratio: Probabilities, lies: Flags, box: Any, direction: int) -> Probabilities:
    """Return the terms of R at a box's corner."""
    return _terms(differs, ratio, _odds_against(corner(box[0], box[1], lies, direction), lies))


@njit(cache=True)
def _first_model(
    differs: Flags, ratio: Probabilities, lies: Flags, box: Any, chain: Any, direction: int
) -> tuple[float, Probabilities]:
    """Return the best of the greedy models, one per starting round."""
    wish = corner(box[0], box[1], lies, direction)
    model = walk(wish, chain, 0)
    attained = _terms(differs, ratio, _odds_against(model, lies)).sum()
    for first in range(1, lies.size):
        candidate = walk(wish, chain, first)
        value = _terms(differs, ratio, _odds_against(candidate, lies)).sum()
        if direction * value > direction * attained:
            attained, model = value, candidate
    return attained, model


@njit(cache=True)
def extreme(
    differs: Flags, ratio: Probabilities, lies: Flags, box: Any, chain: Any,
    direction: int, cutoff: float, tolerance: float, nodes: int,
) -> tuple[float, Probabilities, bool]:  # fmt: skip
    """Bound the extreme R over all models in a box that was fitted to the knowledge.

    Return a bound that no model passes, a model, and True if the search was completed: then the bound is
    `cutoff`, or what the model attains, widened by the tolerance, where that is beyond the cutoff.
    """
    attained, model = _first_model(differs, ratio, lies, box, chain, direction)
    goal = cutoff
    stack = [(box[0].copy(), box[1].copy())]
    while len(stack) > 0 and nodes > 0:
        low, high = stack.pop()
        nodes -= 1
        shares = np.zeros(lies.size)
        alive = True
        for _ in range(ROUNDS_OF_SHRINKING):
            goal = direction * max(direction * cutoff, direction * attained * (1 + direction * tolerance))
            alive = fit_to_knowledge(low, high, chain)
            y = _odds_against(corner(low, high, lies, direction), lies)
            terms = _terms(differs, ratio, y)
            total, shares = terms.sum() * (1 + direction * MARGIN), _shares(differs, terms)
            alive = alive and direction * total > direction * goal
            if not alive or _fit_to_goal(low, high, lies, y, shares, total, goal, direction) < WORTHWHILE:
                break
        if not alive:
            continue
        i = _widest(low, high, shares)
        candidate = walk(corner(low, high, lies, direction), chain, i)
        value = _terms(differs, ratio, _odds_against(candidate, lies)).sum()
        if direction * value > direction * attained and _is_model(candidate, box, chain):
            attained, model = value, candidate
        stack.extend(_split(low, high, i, lies[i] == (direction < 0)))
    for rest in stack:
        total = _at_corner(differs, ratio, lies, rest, direction).sum() * (1 + direction * MARGIN)
        goal = direction * max(direction * goal, direction * total)
    return goal, model, len(stack) == 0
