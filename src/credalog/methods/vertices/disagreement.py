"""Which block loses most if its contexts must agree: where a search without vertices splits.

Input: what one pass over some nodes computed (`upward`). Output: for each block how much the upper bound on G
falls if all contexts of the block take the one distribution that is best for them together, all else staying.

The relaxed optimum is followed back from the end to every block, as in `mini_buckets`, with continuous
knapsacks in the place of vertices. Nothing here is a proof: whatever is split, both parts are searched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from credalog.methods.vertices.interval_slopes import Boxes, Ends, Layout, Step, Upward
from credalog.tables.cones import Array
from credalog.tables.interval_sets import filled, greatest_sum

__all__ = ["losses"]


def losses(layout: Layout, boxes: Boxes, passed: Upward) -> dict[int, Array]:
    """Return for each family what its blocks lose: axes are nodes, then parents."""
    found: dict[int, Array] = {}
    weights: dict[int, Ends] = {layout.steps[-1].variable: (np.zeros(1), np.ones(1))}
    for step in reversed(layout.steps):
        way = _Back(layout, step, layout.box(step.variable, boxes[step.variable]), passed)
        weight = weights.pop(step.variable)
        found[step.variable] = way.loss(weight)
        weights.update(way.entering(weight))
    for x, (least, most) in weights.items():
        low, high = layout.leaf(x, boxes[x])
        loss = most * high + least * low - np.maximum((most + least) * high, (most + least) * low)
        found[x] = layout.own_order(x, loss)
    return found


@dataclass(frozen=True, slots=True)
class _Back:
    """One step, seen from its end.

    A weight is a pair: how the end depends on the least value of each cell, which is not positive, and on the
    greatest, which is not negative. Of what involves the query only the greatest value counts.
    """

    layout: Layout
    step: Step
    box: Ends
    passed: Upward

    @property
    def met(self) -> Ends:
        """Return what meets at the step."""
        return self.passed.products[self.step.variable]

    def loss(self, weight: Ends) -> Array:
        """Return what is lost where each block has one distribution for all its contexts."""
        (low, high), x = self.box, self.step.variable
        context = self.layout.context(self.step)
        weighed = [w[..., None] * met for w, met in zip(weight, self.met, strict=True)]
        apart = sum((greatest_sum(low, high, score) for score in weighed), np.zeros(1))
        together = reduce(np.add, (np.broadcast_to(s, (len(s), *self.step.shape)) for s in weighed))
        # The intervals have length one along the context.
        best = greatest_sum(low.sum(axis=context), high.sum(axis=context), together.sum(axis=context))
        return self.layout.own_order(x, apart.sum(axis=context) - best)

    def entering(self, weight: Ends) -> dict[int, Ends]:
        """Return the weights of the messages that enter."""
        step, asking = self.step, self.passed.asking
        inner = [
            w[..., None] * filled(*self.box, np.broadcast_to(score, (len(score), *step.shape)))
            for w, score in zip(weight, (-self.met[0], self.met[1]), strict=True)
        ]
        if step.variable in asking:
            return dict(self._from_signed(inner[1]))
        return {
            m: self._gathered(m, (inner[0] * self._others(m, 0), inner[1] * self._others(m, 1)))
            for m in step.entering
        }

    def _others(self, m: int, end: int) -> Array:
        """Multiply the ends of all messages that enter beside one."""
        others = (self._message(o)[end] for o in self.step.entering if o != m)
        return reduce(np.multiply, others, np.ones(1))

    def _from_signed(self, inner: Array) -> Iterable[tuple[int, Ends]]:
        """Yield the weights of the messages that enter where the query is involved."""
        step, asking = self.step, self.passed.asking
        signed = next((m for m in step.entering if m in asking), None)
        factor = self.passed.score[1] if signed is None else self._message(signed)[1]
        chosen = {}
        for m in step.entering:
            if m != signed:
                least, most = self._message(m)
                chosen[m] = np.where(factor >= 0.0, most, least)
        for m in step.entering:
            others = reduce(np.multiply, (c for o, c in chosen.items() if o != m), inner)
            if m == signed:
                yield m, self._gathered(m, (np.zeros_like(others), others))
            else:
                slope = others * factor
                yield m, self._gathered(m, (np.minimum(slope, 0.0), np.maximum(slope, 0.0)))

    def _message(self, m: int) -> Ends:
        return self.layout.entering(m, self.passed.messages)

    def _gathered(self, m: int, values: Ends) -> Ends:
        """Sum over what a message does not mention."""
        missing, shape = self.layout.missing(self.step, m), self.step.shape
        least, most = (np.broadcast_to(v, (len(v), *shape)).sum(axis=missing) for v in values)
        return least, most
