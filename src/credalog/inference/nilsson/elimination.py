"""Pricing by dynamic programming: exact, wherever the formulas leave narrow tables.

Enters: events, and a worth for each. Leaves: the world of greatest worth, and a bound that allows for every
rounding error. Variables are eliminated one after the other, each at its best value given those that are
left; where the formulas form a chain, no table has more than two variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalog.inference.nilsson.events import WIDEST, Events, Priced, Worlds
from credalog.numerics import Warrant
from credalog.program import Floats

__all__ = ["Elimination"]

UNIT = 2.0**-53


@dataclass(frozen=True, slots=True)
class _Input:
    """A table that enters a step: move the eliminated variable's axis to the front, then broadcast."""

    number: int
    axis: int
    shape: tuple[int, ...]

    def laid_out(self, tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the table in the layout of the step."""
        return np.moveaxis(tables[self.number], self.axis, 0).reshape(self.shape)


@dataclass(frozen=True, slots=True)
class _Step:
    """Eliminate one variable: the tables that hold it, and the variables that are left in its message."""

    variable: int
    rest: tuple[int, ...]
    groups: tuple[_Input, ...]
    messages: tuple[_Input, ...]


def _order(events: Events) -> list[int] | None:
    """Return an elimination order that keeps tables small, greedily; None where one grows too large."""
    near: dict[int, set[int]] = {v: set() for v in range(len(events.variables))}
    for over in events.scopes:
        for v in over:
            near[v].update(over)
    order = []
    while near:
        size = {v: prod(events.sizes[u] for u in around | {v}) for v, around in near.items()}
        v = min(near, key=lambda u: (size[u], u))
        if size[v] > WIDEST:
            return None
        around = near.pop(v) - {v}
        for u in around:
            near[u] = (near[u] | around) - {v}
        order.append(v)
    return order


def _plan(events: Events, order: list[int]) -> tuple[_Step, ...]:
    """Put every table into the step of the first of its variables that is eliminated."""
    place = {v: i for i, v in enumerate(order)}
    groups: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in order]
    messages: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in order]
    for g, group in enumerate(events.groups):
        if group.scope:
            groups[min(place[v] for v in group.scope)].append((g, group.scope))
    steps = []
    for i, v in enumerate(order):
        rest = tuple(sorted({u for _, over in groups[i] + messages[i] for u in over} - {v}))
        layout = events.sizes, (v, *rest)
        inputs = (tuple(_input(n, over, *layout) for n, over in found[i]) for found in (groups, messages))
        steps.append(_Step(v, rest, *inputs))
        if rest:
            messages[min(place[u] for u in rest)].append((i, rest))
    return tuple(steps)


def _input(number: int, over: tuple[int, ...], sizes: tuple[int, ...], layout: tuple[int, ...]) -> _Input:
    shape = tuple(sizes[u] if u in over else 1 for u in layout)
    return _Input(number, over.index(layout[0]), shape)


@dataclass(frozen=True)
class Elimination:
    """Maximize by eliminating the variables one after the other, each at its best value."""

    events: Events
    steps: tuple[_Step, ...]
    warrant: Warrant = Warrant.CHECKED

    @classmethod
    def of(cls, events: Events) -> Elimination | None:
        """Plan an elimination; None where some table would grow too large."""
        order = _order(events) if events.widest <= WIDEST else None
        return None if order is None else cls(events, _plan(events, order))

    def best(self, worth: Floats, *, enough: float, timeout: float) -> Priced:
        """Return the best world; the bound allows for the rounding of every sum."""
        value, sums = self._sweep([group.worth(worth, inf) for group in self.events.groups])
        terms = len(worth) + 2 * len(self.steps) + 8
        worlds = self._trace(sums)[: 1 if value > -inf else 0]
        return Priced(worlds, float(value) + terms * UNIT * float(np.abs(worth).sum()))

    def greatest(self, worth: Sequence[int]) -> int:
        """Return the greatest worth of a world in whole numbers, exactly."""
        whole = np.array(worth, dtype=object)
        # No world that is not excluded is worth as little as one that is.
        penalty = 1 + 2 * sum(abs(value) for value in worth)
        value, _ = self._sweep([group.exact_worth(whole, penalty) for group in self.events.groups])
        return int(value)

    def _sweep(self, tables: list[NDArray[Any]]) -> tuple[Any, list[NDArray[Any]]]:
        """Eliminate all variables; return the greatest worth, and the sums from which to trace a world."""
        value = sum(t.item() for group, t in zip(self.events.groups, tables, strict=True) if not group.scope)
        messages: list[NDArray[Any]] = []
        sums: list[NDArray[Any]] = []
        for step in self.steps:
            shape = (self.events.sizes[step.variable], *(self.events.sizes[v] for v in step.rest))
            total = np.zeros(shape, dtype=tables[0].dtype)
            for entering in step.groups:
                total += entering.laid_out(tables)
            for entering in step.messages:
                total += entering.laid_out(messages)
            sums.append(total)
            messages.append(np.asarray(total.max(axis=0)))
        value += sum(m.item() for step, m in zip(self.steps, messages, strict=True) if not step.rest)
        return value, sums

    def _trace(self, sums: list[Floats]) -> Worlds:
        """Walk back from the last variable, each taking its best value given those already chosen."""
        world = np.zeros(len(self.steps), dtype=np.int64)
        for step, total in zip(reversed(self.steps), reversed(sums), strict=True):
            world[step.variable] = int(total[(slice(None), *world[list(step.rest)])].argmax())
        return world[None, :]
