"""The pricing problem of column generation: which world is worth most.

Input: events in tables, a worth for each, worlds to start from. Output: worlds of great worth, best first,
and a bound that no world passes where bucket elimination or a 0/1 program proves one.

Climbing goes from given worlds to worlds of locally greatest worth, one variable at a time. It proves
nothing, and spares the 0/1 solver most of its work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.errors import ProblemTooLarge
from credalog.methods.columns.events import WIDEST, Events, Priced, Worlds
from credalog.methods.truth_rows import TruthRows
from credalog.network.formulas import truth_table
from credalog.numbers.budget import Budget
from credalog.numbers.jit import compiled
from credalog.program.program import Floats
from credalog.tables.elimination import Potential, Step, combined, elimination_steps
from credalog.trusted.rounding import relative_error

__all__ = ["Elimination", "IntegerProgram", "Landscape", "Tables"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Landscape:
    """The tables of some events, and where each variable enters them.

    Occurrence k of variable v, k from `first[v]` to `first[v + 1]`, says that it enters table `table[k]` with
    stride `stride[k]`.
    """

    tables: Tables
    first: Integers
    table: Integers
    stride: Integers

    @classmethod
    def of(cls, events: Events) -> Landscape:
        """Find out where each variable enters the tables of some events."""
        tables = Tables.of(events)
        found = sorted(
            (v, g, prod(tables.shape(g)[axis + 1 :]))
            for g, over in enumerate(tables.scopes)
            for axis, v in enumerate(over)
        )
        variable, table, stride = np.array(found, dtype=np.int64).reshape(-1, 3).T
        first = np.searchsorted(variable, np.arange(len(events.variables) + 1))
        return cls(tables, first, table.copy(), stride.copy())

    def climb(self, worth: Floats, worlds: Worlds) -> Worlds:
        """Improve each world until no change of a single variable helps; return them, best first."""
        entries = self.tables.worth(worth, penalty=1.0 + float(np.abs(worth).sum()))
        sizes = np.array(self.tables.events.sizes)
        found = worlds.copy()
        values = np.empty(len(found))
        starts = self.tables.starts[:-1]
        _climb(entries, found, values, sizes, starts, self.first, self.table, self.stride)
        _, distinct = np.unique(found, axis=0, return_index=True)
        return found[distinct[np.argsort(-values[distinct], kind="stable")]]


@compiled
def _climb(
    entries: Floats,
    worlds: Worlds,
    values: Floats,
    sizes: Integers,
    starts: Integers,
    first: Integers,
    table: Integers,
    stride: Integers,
) -> None:
    """Climb from every world, in place; where[g] is the entry of table g that the world selects."""
    for w in range(len(worlds)):
        where = starts.copy()
        for v in range(len(sizes)):
            for k in range(first[v], first[v + 1]):
                where[table[k]] += stride[k] * worlds[w, v]
        improved = True
        while improved:
            improved = False
            for v in range(len(sizes)):
                gain, move = _best_move(entries, where, worlds[w, v], sizes[v], v, first, table, stride)
                if gain > MINUTE:
                    improved = True
                    worlds[w, v] += move
                    for k in range(first[v], first[v + 1]):
                        where[table[k]] += stride[k] * move
        values[w] = entries[where].sum()


MINUTE = 1e-12
"""A gain that is no more than rounding."""


@compiled
def _best_move(
    entries: Floats,
    where: Integers,
    value: int,
    size: int,
    v: int,
    first: Integers,
    table: Integers,
    stride: Integers,
) -> tuple[float, int]:
    """Return the best change of one variable's value, and what it gains."""
    best, best_move = 0.0, 0
    for other in range(size):
        gain = 0.0
        for k in range(first[v], first[v + 1]):
            here = where[table[k]]
            gain += entries[here + stride[k] * (other - value)] - entries[here]
        if gain > best:
            best, best_move = gain, other - value
    return best, best_move


# ---- integer programs -------------------------------------------------------------------------------------
# Pricing by integer programming, for formulas too entangled for elimination.
# Input: events, and a worth for each. Output: worlds of great worth, found by climbing where possible, and
# the 0/1 solver's bound where climbing finds nothing.

STARTS = 32
"""Random worlds to climb from; as many of the last worlds found are tried again."""

COLUMNS = 16
"""Worlds handed back at a time."""


class IntegerProgram:
    """Find the world of greatest worth by climbing, and by a 0/1 program where that finds nothing."""

    proves = False

    def __init__(self, events: Events) -> None:
        self._events = events
        self._landscape = Landscape.of(events) if events.widest <= WIDEST else None
        self._rows = TruthRows(events.variables)
        self._truths = [self._rows.truth(formula) for formula in events.formulas]
        for formula in events.certain:
            self._rows.demand(formula)
        self._program = self._rows.program()
        self._rng = np.random.default_rng(0)
        self._recent = self._random_worlds()

    def best(self, worth: Floats, *, enough: float, budget: Budget) -> Priced:
        """Return worlds worth more than `enough` if climbing finds some, else the solver's best and bound."""
        if self._landscape is not None:
            self._recent = self._landscape.climb(worth, np.concatenate([self._recent, self._random_worlds()]))
            self._recent = self._recent[:STARTS]
            good = self._events.admit(self._recent)
            good = good[worth @ self._events.truth(good) > enough]
            if len(good):
                return Priced(good[:COLUMNS], inf)
        return self._solve(worth, enough, budget)

    def _random_worlds(self) -> Worlds:
        return self._rng.integers(0, self._events.sizes, size=(STARTS, len(self._events.variables)))

    def _solve(self, worth: Floats, enough: float, budget: Budget) -> Priced:
        terms = [truth.times(value) for value, truth in zip(worth, self._truths, strict=True)]
        gains, constant = self._rows.gains(terms), sum(term.constant for term in terms)
        claim = self._program.maximize(gains, gap=enough, timeout=budget.for_solver)
        worlds = self._recent[:0] if claim.point is None else self._rows.world(claim.point)[None, :]
        return Priced(worlds, claim.bound + constant)


# ---- bucket elimination -----------------------------------------------------------------------------------
# Pricing by dynamic programming: exact, wherever the formulas leave narrow tables.
# Input: events, and a worth for each. Output: the world of greatest worth, and a bound that allows for
# every rounding error. Variables are eliminated one after the other, each at its best value given those
# that are left; where the formulas form a chain, no table has more than two variables.


@dataclass(frozen=True)
class Elimination:
    """Maximize by eliminating the variables one after the other, each at its best value."""

    tables: Tables
    steps: tuple[Step[int], ...]
    proves: bool = True

    @classmethod
    def of(cls, events: Events) -> Elimination | None:
        """Plan an elimination; None where some table would grow too large."""
        if events.widest > WIDEST:
            return None
        tables, sizes = Tables.of(events), dict(enumerate(events.sizes))
        try:
            steps = elimination_steps(tables.scopes, sizes, most=WIDEST)
        except ProblemTooLarge:
            return None
        return cls(tables, tuple(steps))

    def best(self, worth: Floats, *, enough: float, budget: Budget) -> Priced:
        """Return the best world; the bound allows for the rounding of every sum."""
        value, sums = self._sweep(self.tables.worth(worth, inf), budget)
        error = relative_error(len(worth) + 2 * len(self.tables.events.sizes) + 8) * float(
            np.abs(worth).sum()
        )
        return Priced(self._trace(sums)[: 1 if value > -inf else 0], float(value) + error)

    def greatest(self, worth: Sequence[int], budget: Budget) -> int:
        """Return the greatest worth of a world in whole numbers, exactly."""
        # No world that is not excluded is worth as little as one that is.
        penalty = 1 + 2 * sum(abs(value) for value in worth)
        value, _ = self._sweep(self.tables.exact_worth(worth, penalty), budget)
        return int(value)

    def _sweep(self, entries: NDArray[Any], budget: Budget) -> tuple[Any, list[NDArray[Any]]]:
        """Eliminate all variables; return the greatest worth, and the sums from which to trace a world."""
        pairs = zip(self.tables.scopes, self.tables.split(entries), strict=True)
        left = dict(enumerate(Potential(scope, values) for scope, values in pairs))
        sums = []
        for number, step in enumerate(self.steps, start=len(left)):
            budget.require_time()
            total = combined([left.pop(i) for i in step.entering], step.scope, np.add)
            sums.append(total)
            left[number] = Potential(step.rest, np.asarray(total.max(axis=step.scope.index(step.variable))))
        return sum(potential.values.item() for potential in left.values()), sums

    def _trace(self, sums: list[Floats]) -> Worlds:
        """Walk back from the last variable, each taking its best value given those already chosen."""
        world = np.zeros(len(self.tables.events.sizes), dtype=np.int64)
        for step, total in zip(reversed(self.steps), reversed(sums), strict=True):
            index = tuple(slice(None) if v == step.variable else world[v] for v in step.scope)
            world[step.variable] = int(total[index].argmax())
        return world[None, :]


# ---- tables -----------------------------------------------------------------------------------------------
# Events as tables: what each joint value of a few variables is worth.
# Input: events with narrow scopes. Output: `Tables`: for a worth of each event, one table per scope, all of
# them laid out in one array.


@dataclass(frozen=True)
class Tables:
    """The scopes of some events, each with the numbers of its events; the certain ones come last.

    Table g has an entry for each joint value of `scopes[g]`, in the order of numpy, from `starts[g]` on.
    """

    events: Events
    scopes: tuple[tuple[int, ...], ...]
    members: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, events: Events) -> Tables:
        """Gather the events by scope."""
        members: dict[tuple[int, ...], list[int]] = {}
        for j, over in enumerate(events.scopes):
            members.setdefault(over, []).append(j)
        return cls(events, tuple(members), tuple(tuple(found) for found in members.values()))

    def shape(self, table: int) -> tuple[int, ...]:
        """Return the shape of a table."""
        return tuple(self.events.sizes[v] for v in self.scopes[table])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Return where each table starts, and where the last one ends."""
        lengths = [prod(self.shape(g)) for g in range(len(self.scopes))]
        return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])

    @cached_property
    def _truth(self) -> sp.csr_array:
        """Return which event (column) is true at which entry (row)."""
        found = [(j, self._places(g, j)) for g, members in enumerate(self.members) for j in members]
        valued = [(j, places) for j, places in found if j < len(self.events.formulas)]
        rows = np.concatenate([places for _, places in valued])
        columns = np.repeat([j for j, _ in valued], [len(places) for _, places in valued])
        shape = int(self.starts[-1]), len(self.events.formulas)
        return sp.csr_array(sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape))

    @cached_property
    def _excluded(self) -> NDArray[np.bool_]:
        """Tell at which entries something fails that is certain."""
        excluded = np.zeros(int(self.starts[-1]), dtype=np.bool_)
        for g, members in enumerate(self.members):
            for j in members:
                if j >= len(self.events.formulas):
                    excluded[self._places(g, j)] = True
        return excluded

    def _places(self, table: int, event: int) -> NDArray[np.int64]:
        """Return the entries where an event is true; where a certain one is false."""
        variables = [self.events.variables[v] for v in self.scopes[table]]
        every = (*self.events.formulas, *self.events.certain)
        certain = event >= len(self.events.formulas)
        return np.asarray(
            np.flatnonzero(truth_table(every[event], variables) != certain) + self.starts[table]
        )

    def worth(self, worth: Floats, penalty: float) -> Floats:
        """Return the worth of every entry, less the penalty where it is excluded."""
        value = self._truth @ worth
        return np.where(self._excluded, value - penalty, value)

    def exact_worth(self, worth: Sequence[int], penalty: int) -> NDArray[np.object_]:
        """Return the same in whole numbers."""
        value = np.where(self._excluded, -penalty, 0).astype(object)
        by_event = sp.csc_array(self._truth)
        for j, amount in enumerate(worth):
            value[by_event.indices[by_event.indptr[j] : by_event.indptr[j + 1]]] += amount
        return value

    def split(self, entries: NDArray[Any]) -> list[NDArray[Any]]:
        """Return each table in its own shape."""
        parts = zip(self.starts, self.starts[1:], strict=False)
        return [entries[start:stop].reshape(self.shape(g)) for g, (start, stop) in enumerate(parts)]
