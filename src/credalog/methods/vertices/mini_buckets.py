"""A bound on a posterior when each local credal set may still choose among some of its vertices.

Input: a `Plan` and, for many nodes of a search at once, the vertices still allowed. Output: for each node a
bound on P(event | evidence) over all its choices, and what each vertex would contribute: which blocks are in
conflict, and which single vertex their contexts would agree on.

The relaxation. Variables are summed out children first. The message of x, the sum over x of
theta(x | parents) times the messages into x, is a table over the parents and over the other variables that
those messages mention, the context. One theta serves all contexts; here each context chooses its own vertex.
Messages that do not involve the query are kept as intervals; the one that does is a pair, inside and outside
the event, for the choices that maximise (1 - t) * inside - t * outside. Repeating with
t = inside / (inside + outside) converges to the greatest quotient of the relaxation (Dinkelbach). Once every
block has one vertex left, nothing is relaxed and the quotient is the posterior itself.

All arrays carry the nodes of the search on their first axis: a step costs little more for a hundred nodes
than for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.methods.vertices.elimination import Bools, Entry, Leaf, Plan, Step
from credalog.numbers.budget import Budget
from credalog.program.dinkelbach import greatest_quotient
from credalog.tables.cones import Array
from credalog.trusted.rounding import relative_error

__all__ = [
    "Contributions",
    "Passage",
    "bounds",
    "contributions",
    "evidence",
    "forward",
    "ranges",
]

Picks: TypeAlias = NDArray[np.intp]

ADVANCE = 1e-12
"""How far beyond the best quotient found the next trial value is set; roundings are far smaller."""


@dataclass(frozen=True, slots=True)
class _Range:
    """A message that does not involve the query: the least and the greatest value of each cell."""

    least: Array
    most: Array


@dataclass(frozen=True, slots=True)
class _Pair:
    """The message that involves the query: P(event, ...) and P(complement, ...) for the best choices."""

    inside: Array
    outside: Array


@dataclass(frozen=True, slots=True)
class _RangeStep:
    """What summing a variable out of ranges computed: values by vertex, least and most."""

    factors: tuple[_Range, ...]
    least: Array
    most: Array
    least_picks: Picks
    most_picks: Picks


@dataclass(frozen=True, slots=True)
class _PairStep:
    """What summing a variable out of the pair computed: scores by vertex, and the sign of each cell's own."""

    factors: tuple[_Range | None, ...]
    """The ranges that entered, None in the place of the pair."""
    score: Array
    picks: Picks
    cells: Array


@dataclass(frozen=True, slots=True)
class Ranges:
    """All messages that do not involve the query, and how they were computed: the same for every trial."""

    messages: dict[int, _Range]
    steps: dict[int, _RangeStep]


@dataclass(frozen=True, slots=True)
class Passage:
    """One pass from the leaves to the end: what each step computed, and the pair that came out."""

    ranges: Ranges
    steps: dict[int, _PairStep]
    inside: Array
    outside: Array


def ranges(plan: Plan, masks: Bools, budget: Budget) -> Ranges:
    """Sum out the variables that do not meet the query."""
    messages = {leaf.message: _leaf_range(leaf, masks) for leaf in plan.leaves}
    steps: dict[int, _RangeStep] = {}
    for step in plan.steps:
        budget.require_time()
        if not step.asks:
            messages[step.message], steps[step.message] = _sum_range(step, messages, masks)
    return Ranges(messages, steps)


def forward(
    plan: Plan, masks: Bools, event: Array, trial: Array, budget: Budget, *, known: Ranges | None = None
) -> Passage:
    """Sum out all variables, for a trial value per node."""
    known = known or ranges(plan, masks, budget)
    steps: dict[int, _PairStep] = {}
    pair = _Pair(event, 1 - event)
    for step in plan.steps:
        budget.require_time()
        if step.asks:
            pair, steps[step.message] = _sum_pair(step, known.messages, pair, masks, trial)
    return Passage(known, steps, pair.inside.reshape(-1), pair.outside.reshape(-1))


def evidence(plan: Plan, masks: Bools, budget: Budget) -> tuple[Array, Array]:
    """Return the least and the greatest P(evidence), up to one common factor, that the ranges allow."""
    messages = {leaf.message: _leaf_range(leaf, masks) for leaf in plan.leaves}
    for step in plan.steps:
        budget.require_time()
        messages[step.message], _ = _sum_range(step, messages, masks)
    end = messages[plan.steps[-1].message]
    return end.least.reshape(-1), end.most.reshape(-1)


def _leaf_range(leaf: Leaf, masks: Bools) -> _Range:
    allowed = masks[:, leaf.family.slots].reshape(len(masks), *leaf.family.shape)
    return _Range(
        np.where(allowed, leaf.values, np.inf).min(axis=-1),
        np.where(allowed, leaf.values, -np.inf).max(axis=-1),
    )


def _stretched(step: Step, messages: dict[int, _Range]) -> tuple[_Range | None, ...]:
    """Give entering ranges the axes of the cluster, length one where they lack one; None for the pair."""
    found: list[_Range | None] = []
    for entry in step.entries:
        message, shape = messages.get(entry.message), (-1, *entry.stretched)
        found.append(message and _Range(message.least.reshape(shape), message.most.reshape(shape)))
    return tuple(found)


def _allowed(step: Step, masks: Bools) -> Bools:
    return masks[:, step.family.slots].reshape(len(masks), *step.allowed_shape)


def _full(step: Step, values: Array, nodes: int) -> Array:
    return np.broadcast_to(values, (nodes, *step.cells, step.theta.shape[-1]))


def _by_vertex(step: Step, values: Array) -> Array:
    """Sum over the variable, for every vertex of every cell."""
    return np.asarray(np.einsum("...vk,...k->...v", step.theta, values))


def _taken(values: Array, picks: Picks) -> Array:
    return np.take_along_axis(values, picks[..., None], axis=-1)[..., 0]


def _product(arrays: Iterator[Array]) -> Array:
    result = np.ones(1)
    for array in arrays:
        result = result * array
    return result


def _sum_range(step: Step, messages: dict[int, _Range], masks: Bools) -> tuple[_Range, _RangeStep]:
    factors = tuple(m for m in _stretched(step, messages) if m is not None)
    least = _by_vertex(step, _full(step, _product(m.least for m in factors), len(masks)))
    most = _by_vertex(step, _full(step, _product(m.most for m in factors), len(masks)))
    allowed = _allowed(step, masks)
    least_picks = np.where(allowed, least, np.inf).argmin(axis=-1)
    most_picks = np.where(allowed, most, -np.inf).argmax(axis=-1)
    message = _Range(_taken(least, least_picks), _taken(most, most_picks))
    return message, _RangeStep(factors, least, most, least_picks, most_picks)


def _sum_pair(
    step: Step, messages: dict[int, _Range], pair: _Pair, masks: Bools, trial: Array
) -> tuple[_Pair, _PairStep]:
    """Sum out a variable where the query is involved.

    A cell with a positive score wants the greatest values of the ranges, any other the least.
    """
    factors = _stretched(step, messages)
    shape = next(((-1, *e.stretched) for e, m in zip(step.entries, factors, strict=True) if m is None), (-1,))
    inside, outside = pair.inside.reshape(shape), pair.outside.reshape(shape)
    t = trial.reshape(-1, *[1] * (len(step.cells) + 1))
    cells = _full(step, (1 - t) * inside - t * outside, len(masks))
    wanted = _product(np.where(cells >= 0, m.most, m.least) for m in factors if m is not None)
    inside, outside = (_by_vertex(step, _full(step, a * wanted, len(masks))) for a in (inside, outside))
    score = (1 - t) * inside - t * outside
    picks = np.where(_allowed(step, masks), score, -np.inf).argmax(axis=-1)
    return _Pair(_taken(inside, picks), _taken(outside, picks)), _PairStep(factors, score, picks, cells)


def bounds(plan: Plan, masks: Bools, event: Array, start: Array, budget: Budget) -> tuple[Array, Passage]:
    """Bound the posterior at every node, or by `start` where that is higher; return the last pass too.

    A node's bound is a trial value at which inside - trial * total, the rounding of the best choice added, is
    not positive. Any other choice has a computed score no greater, and a true one greater by its own
    rounding at most: so its quotient exceeds the trial by the share `rounding` at most.
    """
    rounding, known = relative_error(2 * plan.terms), ranges(plan, masks, budget)
    passages: list[Passage] = []

    def at(trial: Array) -> tuple[Array, Bools]:
        passages[:] = [forward(plan, masks, event, trial, budget, known=known)]
        inside, total = passages[0].inside, passages[0].inside + passages[0].outside
        moving = inside - trial * total + rounding * total > 0
        return inside / np.where(total > 0, total, 1.0), moving

    trial, at_rest = greatest_quotient(at, start, advance=ADVANCE + 2 * rounding)
    return np.where(at_rest, np.minimum(trial + rounding, 1.0), 1.0), passages[0]


@dataclass(frozen=True, slots=True)
class Contributions:
    """What each vertex of each block adds to the relaxed optimum if all contexts of the block take it.

    `totals` has a column per slot. `losses` has one per block: by how much the relaxed optimum exceeds what
    the best allowed single vertex attains, all else staying.
    """

    totals: Array
    losses: Array


@dataclass(frozen=True, slots=True)
class _Weights:
    """How the end depends on a range's cells: not negative for the greatest, not positive for the least."""

    least: Array
    most: Array


def contributions(plan: Plan, masks: Bools, passage: Passage) -> Contributions:
    """Follow the relaxed optimum back from the end to every block."""
    nodes = len(masks)
    totals = np.zeros(masks.shape)
    relaxed: dict[int, Array] = {}
    weights: dict[int, Array | _Weights] = {plan.steps[-1].message: np.ones((nodes, *plan.steps[-1].cells))}
    for step in plan.steps[::-1]:
        weight = weights.pop(step.message)
        if isinstance(weight, _Weights):
            by_vertex, best, back = _back_through_range(step, passage.ranges.steps[step.message], weight)
        else:
            by_vertex, best, back = _back_through_pair(step, passage.steps[step.message], weight)
        context = tuple(axis + 1 for axis in step.context)
        totals[:, step.family.slots] = by_vertex.sum(axis=context).reshape(nodes, -1)
        relaxed[step.family.start] = best.sum(axis=context).reshape(nodes, -1)
        weights.update(back)
    for leaf in plan.leaves:
        weight, message = weights[leaf.message], passage.ranges.messages[leaf.message]
        assert isinstance(weight, _Weights), "the message of an observed family is a range"
        totals[:, leaf.family.slots] = ((weight.least + weight.most)[..., None] * leaf.values).reshape(
            nodes, -1
        )
        best = weight.least * message.least + weight.most * message.most
        relaxed[leaf.family.start] = best.reshape(nodes, -1)
    single = np.maximum.reduceat(np.where(masks, totals, -np.inf), plan.firsts, axis=1)
    return Contributions(
        totals, np.concatenate([relaxed[start] for start in sorted(relaxed)], axis=1) - single
    )


_Back: TypeAlias = dict[int, "Array | _Weights"]


def _gathered(entry: Entry, values: Array) -> Array:
    """Sum over the axes that a message lacks and give it back its own shape."""
    return np.asarray(values.sum(axis=entry.missing).reshape(-1, *entry.cells))


def _theta_at(step: Step, picks: Picks) -> Array:
    """Return the vertex picked in every cell."""
    spread = np.broadcast_to(step.theta, (*picks.shape, *step.theta.shape[-2:]))
    return np.take_along_axis(spread, picks[..., None, None], axis=-2)[..., 0, :]


def _back_through_pair(step: Step, passed: _PairStep, weight: Array) -> tuple[Array, Array, _Back]:
    weight = weight.reshape(-1, *step.cells)
    inner = weight[..., None] * _theta_at(step, passed.picks)
    high = passed.cells >= 0
    chosen = [None if m is None else np.where(high, m.most, m.least) for m in passed.factors]
    back: _Back = {}
    for number, entry in enumerate(step.entries):
        others = _product(c for i, c in enumerate(chosen) if i != number and c is not None)
        if chosen[number] is None:
            back[entry.message] = _gathered(entry, inner * others)
        else:
            slope = inner * passed.cells * others
            most, least = np.where(high, slope, 0.0), np.where(high, 0.0, slope)
            back[entry.message] = _Weights(_gathered(entry, least), _gathered(entry, most))
    return weight[..., None] * passed.score, weight * _taken(passed.score, passed.picks), back


def _back_through_range(step: Step, passed: _RangeStep, weight: _Weights) -> tuple[Array, Array, _Back]:
    least, most = weight.least.reshape(-1, *step.cells), weight.most.reshape(-1, *step.cells)
    inner_least = least[..., None] * _theta_at(step, passed.least_picks)
    inner_most = most[..., None] * _theta_at(step, passed.most_picks)
    back: _Back = {}
    for number, entry in enumerate(step.entries):
        others = [m for i, m in enumerate(passed.factors) if i != number]
        back[entry.message] = _Weights(
            _gathered(entry, inner_least * _product(m.least for m in others)),
            _gathered(entry, inner_most * _product(m.most for m in others)),
        )
    by_vertex = least[..., None] * passed.least + most[..., None] * passed.most
    best = least * _taken(passed.least, passed.least_picks) + most * _taken(passed.most, passed.most_picks)
    return by_vertex, best, back
