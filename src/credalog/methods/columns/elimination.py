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

from credalog.methods.columns.events import WIDEST, Events, Priced, Worlds
from credalog.methods.columns.tables import Tables
from credalog.numbers.interval import Warrant
from credalog.program.program import Floats

__all__ = ["Elimination"]

UNIT = 2.0**-53


@dataclass(frozen=True, slots=True)
class _Input:
    """A table that enters a step: put the eliminated variable's axis first, then broadcast."""

    number: int
    axes: tuple[int, ...]
    shape: tuple[int, ...]

    def laid_out(self, tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the table in the layout of the step."""
        return tables[self.number].transpose(self.axes).reshape(self.shape)


@dataclass(frozen=True, slots=True)
class _Step:
    """Eliminate one variable: the tables and messages that hold it, and what is left in its own message."""

    variable: int
    rest: tuple[int, ...]
    given: tuple[_Input, ...]
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


def _plan(tables: Tables, order: list[int]) -> tuple[_Step, ...]:
    """Put every table into the step of the first of its variables that is eliminated."""
    place = {v: i for i, v in enumerate(order)}
    given: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in order]
    messages: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in order]
    for g, over in enumerate(tables.scopes):
        if over:
            given[min(place[v] for v in over)].append((g, over))
    steps = []
    for i, v in enumerate(order):
        rest = tuple(sorted({u for _, over in given[i] + messages[i] for u in over} - {v}))
        layout = tables.events.sizes, (v, *rest)
        inputs = (tuple(_input(n, over, *layout) for n, over in found[i]) for found in (given, messages))
        steps.append(_Step(v, rest, *inputs))
        if rest:
            messages[min(place[u] for u in rest)].append((i, rest))
    return tuple(steps)


def _input(number: int, over: tuple[int, ...], sizes: tuple[int, ...], layout: tuple[int, ...]) -> _Input:
    shape = tuple(sizes[u] if u in over else 1 for u in layout)
    first = over.index(layout[0])
    return _Input(number, (first, *(axis for axis in range(len(over)) if axis != first)), shape)


@dataclass(frozen=True)
class Elimination:
    """Maximize by eliminating the variables one after the other, each at its best value."""

    tables: Tables
    steps: tuple[_Step, ...]
    warrant: Warrant = Warrant.CHECKED

    @classmethod
    def of(cls, events: Events) -> Elimination | None:
        """Plan an elimination; None where some table would grow too large."""
        order = _order(events) if events.widest <= WIDEST else None
        if order is None:
            return None
        tables = Tables.of(events)
        return cls(tables, _plan(tables, order))

    def best(self, worth: Floats, *, enough: float, timeout: float) -> Priced:
        """Return the best world; the bound allows for the rounding of every sum."""
        value, sums = self._sweep(self.tables.worth(worth, inf))
        terms = len(worth) + 2 * len(self.steps) + 8
        worlds = self._trace(sums)[: 1 if value > -inf else 0]
        return Priced(worlds, float(value) + terms * UNIT * float(np.abs(worth).sum()))

    def greatest(self, worth: Sequence[int]) -> int:
        """Return the greatest worth of a world in whole numbers, exactly."""
        # No world that is not excluded is worth as little as one that is.
        penalty = 1 + 2 * sum(abs(value) for value in worth)
        value, _ = self._sweep(self.tables.exact_worth(worth, penalty))
        return int(value)

    def _sweep(self, entries: NDArray[Any]) -> tuple[Any, list[NDArray[Any]]]:
        """Eliminate all variables; return the greatest worth, and the sums from which to trace a world."""
        tables, sizes = self.tables.split(entries), self.tables.events.sizes
        value = sum(table.item() for over, table in zip(self.tables.scopes, tables, strict=True) if not over)
        messages: list[NDArray[Any]] = []
        sums: list[NDArray[Any]] = []
        for step in self.steps:
            shape = (sizes[step.variable], *(sizes[v] for v in step.rest))
            total = np.zeros(shape, dtype=entries.dtype)
            for entering in step.given:
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
