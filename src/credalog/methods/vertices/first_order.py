"""A bound on a posterior's score that is exact to the first order in how wide tables are.

Input: one node of a search without vertices: an interval for every entry of the relevant tables, and the
intervals of all messages. Output: what G = P(event, evidence) - t P(evidence) does not pass there.

An interval forgets what a message depends on: what varies together is taken to vary apart, and each context
chooses its own distribution. Here a message is a centre, a linear function of how far all tables below are
from the middle of their intervals, and an error that holds the products of two distances and more (affine
arithmetic; Comba and Stolfi, 1993). Messages that meet depend on different families (proof 34).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from credalog.methods.vertices.greedy import DRIFT, VANISHING
from credalog.methods.vertices.interval_slopes import OPERATIONS, Boxes, Ends, Layout, Step, Upward
from credalog.numbers.budget import Budget
from credalog.tables.cones import Array
from credalog.tables.elimination import Potential, combined
from credalog.tables.interval_sets import greatest_sum
from credalog.trusted.rounding import relative_error

__all__ = ["coefficients", "greatest"]

OPEN = 1e-9
"""The distances of a block whose intervals are not wider belong to the error."""

HARDLY = 1e-6
"""An interval that is so small a share of a linear part takes its place: distances cancel there."""

ALONG = -1
"""Stands for the axis of distances in a scope."""


def coefficients(layout: Layout) -> int:
    """Return how many coefficients the linear functions of one step have at most."""
    each = [1 if size == 2 else size for size in layout.sizes]
    below = {x: each[x] * prod(layout.sizes[p] for p in parents) for x, parents in layout.parents.items()}
    most = 0
    for step in layout.steps:
        below[step.variable] += sum(below[m] for m in step.entering)
        most = max(most, prod(layout.shape(step)) * below[step.variable])
    return most


def greatest(layout: Layout, boxes: Boxes, passed: Upward, budget: Budget) -> float:
    """Return what G does not pass in a node; arrays have it alone on their first axis."""
    families = {x: _Family.of((*layout.parents[x], x), (low[0], high[0])) for x, (low, high) in boxes.items()}
    return _Pass(layout, families, passed).run(budget)


@dataclass(frozen=True, slots=True)
class _Family:
    """The tables of one family: where they may be, a middle, and the distances from it that count.

    Two values have one distance, that of the first; more values have one each. `missing` is more than what a
    distribution less the middle may be off from adding up to nothing.
    """

    axes: tuple[int, ...]
    box: Ends
    middle: Array
    radius: Array
    missing: Array
    signs: Array
    """How each entry changes with the distances of its family, its last axis."""
    radii: Array
    """The greatest magnitude of each distance."""
    untold: Array
    """The radius of the entries that have no distance."""

    @classmethod
    def of(cls, axes: tuple[int, ...], box: Ends) -> _Family:
        """Find the middle of all blocks, and which of them are open."""
        off = DRIFT * box[0].shape[-1] * (1.0 + box[1].sum(axis=-1, keepdims=True))
        is_wide = (box[1] > box[0]).any(axis=-1, keepdims=True)
        low, high = _reachable(box, off * is_wide)
        middle = np.where(is_wide, _middle(low, high), low)
        missing = np.where(is_wide, off + np.abs(1.0 - middle.sum(axis=-1, keepdims=True)), 0.0)
        radius = np.maximum(high - middle, middle - low) + missing
        is_open = np.asarray((radius > OPEN).any(axis=-1))
        signs, radii = _distances(radius, is_open)
        untold = np.where(is_open[..., None], 0.0, radius)
        return cls(axes, (low, high), middle, radius, missing[..., 0], signs, radii, untold)

    def at(self, scope: tuple[int, ...], values: Array) -> Array:
        """Give values of this family, of its parents alone, or with distances, the axes of a scope."""
        return combined([Potential(self.axes[: values.ndim], values)], scope)


def _reachable(box: Ends, off: Array) -> Ends:
    """Narrow the intervals of wide blocks to what adds up to one; an empty block has no model."""
    low, high = box
    bottom = 1.0 - (high.sum(axis=-1, keepdims=True) - high) - off
    top = 1.0 - (low.sum(axis=-1, keepdims=True) - low) + off
    least = np.where(off > 0.0, np.maximum(low, bottom), low)
    return least, np.maximum(least, np.where(off > 0.0, np.minimum(high, top), high))


def _middle(low: Array, high: Array) -> Array:
    """Return distributions in the middle of their intervals, up to rounding."""
    if low.shape[-1] == 2:
        first = (low[..., 0] + high[..., 0]) / 2.0
        return np.stack([first, 1.0 - first], axis=-1)
    room, free = high - low, 1.0 - low.sum(axis=-1, keepdims=True)
    spread = room.sum(axis=-1, keepdims=True)
    share = np.divide(free, spread, out=np.zeros_like(free), where=spread > 0.0)
    return np.asarray(low + np.clip(share, 0.0, 1.0) * room)


def _distances(radius: Array, is_open: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return how entries change with the distances of open blocks, and the radii of these."""
    blocks, size = np.argwhere(is_open), radius.shape[-1]
    pattern = np.array([[1.0], [-1.0]]) if size == 2 else np.eye(size)
    each = pattern.shape[1]
    signs = np.zeros((*radius.shape, len(blocks), each))
    for number, block in enumerate(blocks):
        signs[(*block, slice(None), number)] = pattern
    radii = radius[is_open].max(axis=-1, keepdims=True) if size == 2 else radius[is_open]
    return signs.reshape(*radius.shape, len(blocks) * each), radii.reshape(-1)


@dataclass(frozen=True, slots=True)
class _Form:
    """Centre, magnitude of what is linear, error; and the coefficients of the distances of some families.

    These lie along the last axis of `part`, one family after the other, and so do the radii.
    """

    scope: tuple[int, ...]
    centre: Array
    linear: Array
    error: Array
    part: Array
    families: tuple[int, ...] = ()
    radii: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def size(self) -> Array:
        """Return more than the magnitude of any value."""
        return np.abs(self.centre) + self.linear + self.error

    def stretched(self, scope: tuple[int, ...]) -> _Form:
        """Give it the axes of a larger scope."""
        centre, linear, error = (
            combined([Potential(self.scope, values)], scope)
            for values in (self.centre, self.linear, self.error)
        )
        part = combined([Potential((*self.scope, ALONG), self.part)], (*scope, ALONG))
        return _Form(scope, centre, linear, error, part, self.families, self.radii)

    def repeated(self, size: int) -> _Form:
        """Give the last axis of the scope its length."""
        if self.centre.shape[-1] == size:
            return self
        centre, linear, error = (
            np.broadcast_to(values, (*values.shape[:-1], size))
            for values in (self.centre, self.linear, self.error)
        )
        part = np.broadcast_to(self.part, (*centre.shape, self.part.shape[-1]))
        return _Form(self.scope, centre, linear, error, part, self.families, self.radii)


def _constant(scope: tuple[int, ...], values: Array) -> _Form:
    zeros = np.zeros_like(values)
    return _Form(scope, values, zeros, zeros, np.zeros((*values.shape, 0)))


class _Pass:
    """One way up, children first."""

    def __init__(self, layout: Layout, families: Mapping[int, _Family], passed: Upward) -> None:
        self._layout, self._families, self._passed = layout, families, passed
        distances = sum(len(family.radii) for family in families.values())
        self._share = relative_error(OPERATIONS * (4 + max(layout.sizes)) + 2 * distances)
        self._messages: dict[int, _Form] = {}

    def run(self, budget: Budget) -> float:
        """Sum all variables out."""
        layout = self._layout
        for x, state in layout.observed.items():
            if x in layout.parents:
                self._messages[x] = self._leaf(self._families[x], state)
        for step in layout.steps:
            budget.require_time()
            met = self._met(step)
            form = self._summed(self._families[step.variable], met)
            self._messages[step.variable] = self._closer(form, step.variable)
        return self._most(form)

    def _leaf(self, family: _Family, state: int) -> _Form:
        """Return the message of an observed variable."""
        signs = family.signs[..., state, :]
        linear, error = np.abs(signs) @ family.radii, family.untold[..., state] + family.missing
        *axes, own = family.axes
        return _Form(tuple(axes), family.middle[..., state], linear, error, signs, (own,), family.radii)

    def _met(self, step: Step) -> _Form:
        """Multiply all that meets a variable but its own table."""
        x, scope = step.variable, step.scope
        forms = [self._messages.pop(m).stretched(scope) for m in step.entering]
        if x == self._layout.target:
            low, high = self._passed.score
            score = replace(_constant((x,), low), error=np.asarray(high - low))
            forms.append(score.stretched(scope))
        found = reduce(self._times, forms) if forms else _constant(scope, np.ones([1] * len(scope)))
        return found.repeated(self._layout.sizes[x])

    def _times(self, one: _Form, other: _Form) -> _Form:
        """Multiply what depends on different families."""
        first, second = np.abs(one.centre), np.abs(other.centre)
        error = one.linear * other.linear + one.error * other.size + (first + one.linear) * other.error
        centre, first_ones = one.centre * other.centre, len(one.radii)
        part = np.empty((*centre.shape, first_ones + len(other.radii)))
        np.multiply(one.part, other.centre[..., None], out=part[..., :first_ones])
        np.multiply(other.part, one.centre[..., None], out=part[..., first_ones:])
        return _Form(
            one.scope,
            centre,
            one.linear * second + first * other.linear,
            error + self._share * one.size * other.size + VANISHING,
            part,
            one.families + other.families,
            np.concatenate([one.radii, other.radii]),
        )

    def _summed(self, family: _Family, met: _Form) -> _Form:
        """Sum a variable out: what is linear in its own table, or in those below, stays so."""
        scope, own = met.scope, family.axes[-1]
        theta, signs = family.at(scope, family.middle), family.signs
        level = (met.centre.max(axis=-1, keepdims=True) + met.centre.min(axis=-1, keepdims=True)) / 2.0
        centre, below = (theta * met.centre).sum(axis=-1), len(met.radii)
        part = np.empty((*centre.shape, below + len(family.radii)))
        _mean(met.part, theta, out=part[..., :below])
        along = combined([Potential((*family.axes, ALONG), signs)], (*scope, ALONG))
        _mean(along, met.centre - level, out=part[..., below:])
        radii = np.concatenate([met.radii, family.radii])
        error = np.broadcast_to(self._error(family, met, level), centre.shape)
        linear = np.abs(part) @ radii
        return _Form(scope[:-1], centre, linear, error, part, (*met.families, own), radii)

    def _error(self, family: _Family, met: _Form, level: Array) -> Array:
        """Bound what is linear in nothing: products of a distance here and one below, and old errors."""
        scope = met.scope
        radius, untold = family.at(scope, family.radius), family.at(scope, family.untold)
        apart = _apart(met.part) @ met.radii
        low, high = (family.at(scope, end) for end in family.box)
        error = (radius * apart + untold * np.abs(met.centre - level)).sum(axis=-1)
        error = error + greatest_sum(low, high, met.error)
        error = error + 8.0 * family.at(scope[:-1], family.missing) * met.size.max(axis=-1)
        theta = family.at(scope, family.middle) + radius
        return np.asarray(error + self._share * (theta * met.size).sum(axis=-1) + VANISHING)

    def _closer(self, form: _Form, x: int) -> _Form:
        """Return a form, with the interval of a message where that is narrower than the error alone."""
        low, high = (ends[0] for ends in self._passed.messages[x])
        middle = (low + high) / 2.0
        half = (high - low) / 2.0 + self._share * (np.abs(low) + np.abs(high))
        kept = form.error + HARDLY * form.linear <= half
        if kept.all():
            return form
        return _Form(
            form.scope,
            np.where(kept, form.centre, middle),
            np.where(kept, form.linear, 0.0),
            np.where(kept, form.error, half),
            form.part * kept[..., None],
            form.families,
            form.radii,
        )

    def _most(self, form: _Form) -> float:
        """Return the greatest value: a knapsack in each block."""
        most = float(form.centre + form.error + self._share * form.size)
        first = 0
        for x in form.families:
            family = self._families[x]
            part = form.part[first : first + len(family.radii)]
            first += len(part)
            if family.radius.shape[-1] == 2:
                most += float(np.abs(part) @ family.radii)
                continue
            weights = family.signs @ part
            low, high = family.box
            gain = greatest_sum(low, high, weights) - (weights * family.middle).sum(axis=-1)
            slack = self._share * np.abs(weights) * (high + family.middle) + family.missing[
                ..., None
            ] * np.abs(weights)
            most += float(gain.sum() + slack.sum())
        return most + self._share * abs(most)


def _mean(values: Array, weights: Array, out: Array) -> None:
    """Add up values times weights over the axis before the last; of weights it is the last."""
    first, *rest = range(weights.shape[-1])
    np.multiply(values[..., first, :], weights[..., first, None], out=out)
    for i in rest:
        out += values[..., i, :] * weights[..., i, None]


def _apart(values: Array) -> Array:
    """Return how far values are from their mean over the axis before the last."""
    if values.shape[-2] == 2:
        return np.asarray(np.abs(values[..., :1, :] - values[..., 1:, :]) / 2.0)
    return np.asarray(np.abs(values - values.mean(axis=-2, keepdims=True)))
