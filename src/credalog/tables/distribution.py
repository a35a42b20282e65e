"""A distribution held as a product of conditional tables.

Input: tables P(block | parents), parents first. Output: probabilities of formulas, joint tables of scopes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.network.formulas import TRUE, Formula, Variable, scope, truth_table

__all__ = ["Distribution", "Factor", "Floats"]

Floats = NDArray[np.float64]

FRONTIER_LIMIT = 1 << 10
"""How many states may be carried along when many probabilities are read off in one pass."""


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """The table P(block | parents); its axes are the parents, then the block."""

    block: tuple[Variable, ...]
    parents: tuple[Variable, ...]
    table: Floats

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Factor)
            and (self.block, self.parents) == (other.block, other.parents)
            and np.array_equal(self.table, other.table)
        )

    def __hash__(self) -> int:
        # Equal tables may differ in the sign of a zero: their bytes are no hash.
        return hash((self.block, self.parents, self.table.shape))


@dataclass(frozen=True, slots=True, repr=False)
class Distribution:
    """The product of its factors, each after the factors of its parents."""

    factors: tuple[Factor, ...]

    def __repr__(self) -> str:
        return f"<distribution over {sum(len(factor.block) for factor in self.factors):,} variables>"

    def probability(self, claim: Formula, given: Formula = TRUE) -> float:
        """Return P(claim | given); not a number where P(given) = 0."""
        over = scope(claim, given)
        joint = self.marginal(over)
        event = truth_table(given, over)
        mass = float(joint[event].sum())
        return float(joint[event & truth_table(claim, over)].sum()) / mass if mass > 0.0 else float("nan")

    def marginal(self, over: Sequence[Variable]) -> Floats:
        """Return the joint table of some variables, by variable elimination among their ancestors."""
        pool = _Pool((f.parents + f.block, f.table) for f in self._ancestral(over))
        for x in _elimination_order(pool, over):
            merged, table = _product(pool.take(x))
            axis = merged.index(x)
            pool.add(merged[:axis] + merged[axis + 1 :], table.sum(axis=axis))
        merged, table = _product(pool.rest())
        return table.transpose([merged.index(x) for x in over])

    def marginals(self, scopes: Sequence[tuple[Variable, ...]]) -> list[Floats]:
        """Return the joint tables of many scopes, most of them found in one pass where that is cheap."""
        found = _sweep(self.factors, scopes)
        return [found[n] if n in found else self.marginal(over) for n, over in enumerate(scopes)]

    def _ancestral(self, over: Iterable[Variable]) -> list[Factor]:
        wanted = set(over)
        found = []
        for factor in reversed(self.factors):
            if not wanted.isdisjoint(factor.block):
                found.append(factor)
                wanted.update(factor.parents, factor.block)
        return found


Table: TypeAlias = tuple[tuple[Variable, ...], Floats]


def _sweep(factors: Sequence[Factor], scopes: Sequence[tuple[Variable, ...]]) -> dict[int, Floats]:
    """Pass over the factors once, parents first, and read scopes off the joint table of the frontier.

    The frontier holds the variables that later factors or scopes still need. Where it grows too large the
    pass ends, and the scopes not yet met are missing.
    """
    number = {v: i for i, factor in enumerate(factors) for v in factor.block}
    needed = {v: i for i, factor in enumerate(factors) for v in factor.parents}
    due: dict[int, list[int]] = {}
    for n, seen in enumerate(scopes):
        latest = max((number[v] for v in seen), default=0)
        due.setdefault(latest, []).append(n)
        needed.update({v: max(needed.get(v, latest), latest) for v in seen})
    found: dict[int, Floats] = {}
    frontier: Table = ((), np.ones(()))
    for i, factor in enumerate(factors):
        own = factor.parents + factor.block
        if _states({*frontier[0], *own}) > FRONTIER_LIMIT:
            break
        over, table = _product([frontier, (own, factor.table)])
        found |= {n: _summed(over, table, scopes[n]) for n in due.get(i, ())}
        kept = tuple(v for v in over if needed.get(v, i) > i)
        frontier = kept, _summed(over, table, kept)
    return found


def _summed(over: tuple[Variable, ...], table: Floats, kept: tuple[Variable, ...]) -> Floats:
    """Sum out all but some variables, and bring those into their order."""
    axes = tuple(axis for axis, v in enumerate(over) if v not in kept)
    left = [v for v in over if v in kept]
    summed: Floats = table.sum(axis=axes)
    return summed.transpose([left.index(v) for v in kept])


class _Pool:
    """Tables under elimination, found by the variables they mention."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self._tables: dict[int, Table] = {}
        self._mentions: dict[Variable, dict[int, None]] = {}
        self._numbers = count()
        for over, table in tables:
            self.add(over, table)

    def add(self, over: tuple[Variable, ...], table: Floats) -> None:
        """Put a table in."""
        number = next(self._numbers)
        self._tables[number] = over, table
        for x in over:
            self._mentions.setdefault(x, {})[number] = None

    def take(self, x: Variable) -> list[Table]:
        """Take out the tables that mention a variable."""
        taken = []
        for number in list(self._mentions[x]):
            taken.append(self._tables.pop(number))
            for y in taken[-1][0]:
                del self._mentions[y][number]
        return taken

    def rest(self) -> list[Table]:
        """Return the tables that are left."""
        return list(self._tables.values())

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Return all variables that were ever mentioned."""
        return tuple(self._mentions)

    def neighbours(self, x: Variable) -> dict[Variable, None]:
        """Return the variables of the table that eliminating x would make, x included."""
        return dict.fromkeys(y for number in self._mentions[x] for y in self._tables[number][0])


def _elimination_order(pool: _Pool, over: Sequence[Variable]) -> Iterator[Variable]:
    """Yield the variable whose elimination makes the smallest table; whoever asks eliminates it at once."""
    asked = set(over)
    number = {x: i for i, x in enumerate(x for x in pool.variables if x not in asked)}
    waiting = [(_states(pool.neighbours(x)), i, x) for x, i in number.items()]
    heapify(waiting)
    while waiting:
        states, _, x = heappop(waiting)
        # An entry that is out of date has been replaced by a newer one.
        if x in number and states == _states(near := pool.neighbours(x)):
            del number[x]
            yield x
            for y in near:
                if y in number:
                    heappush(waiting, (_states(pool.neighbours(y)), number[y], y))


def _states(variables: Iterable[Variable]) -> int:
    return prod(len(v.values) for v in variables)


def _product(tables: list[Table]) -> Table:
    over = tuple(dict.fromkeys(x for found, _ in tables for x in found))
    result = np.ones((1,) * len(over))
    for found, table in tables:
        order = sorted(range(len(found)), key=lambda i: over.index(found[i]))
        shape = [len(x.values) if x in found else 1 for x in over]
        result = result * table.transpose(order).reshape(shape)
    return over, result
