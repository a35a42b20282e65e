"""All instances of a prefix at once, as columns.

Input: the compiled levels of a prefix. Output: tables with the number of the element that each logical
variable is bound to, in the order in which the search of `guards` meets the instances. Comparisons, facts
and what joins them are decided on whole columns; any other guard is asked row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.grounding.elements import MOST_KEYS, Column, Elements, coded, product
from credalog.grounding.guards import ORDERS, Instances, Level
from credalog.grounding.terms import Environment, Maker, Scope
from credalog.theory import (
    Application,
    Boolean,
    Comparison,
    Compound,
    Connective,
    Name,
    Order,
    Pattern,
    Relation,
    Term,
)

__all__ = ["InstanceTables", "Table"]

Flags: TypeAlias = NDArray[np.bool_]

CHUNK = 1 << 18
"""About so many bindings are tried at once."""


@dataclass(frozen=True, slots=True)
class Table:
    """Partial instances: how many, and for each slot bound so far a column of element numbers."""

    count: int
    columns: tuple[Column, ...] = ()

    def taken(self, rows: NDArray[np.int64] | Flags | slice) -> Table:
        """Keep some of the rows."""
        columns = tuple(column[rows] for column in self.columns)
        count = len(columns[0]) if columns else len(np.empty(self.count)[rows])
        return Table(count, columns)


class InstanceTables:
    """The instances of one prefix."""

    def __init__(
        self, instances: Instances, scope: Scope, width: int, elements: Elements, chunk: int = CHUNK
    ) -> None:
        self._chunk = chunk
        self._levels, self._width, self._elements = instances.levels, width, elements
        self._scope = scope
        self._sorts = [bound.sort for bound in sorted(scope.values())]
        self._indexes: dict[int, _Index | None] = {}
        self.tried = 0
        """How many bindings were tried so far."""
        self._most_tried = inf

    def tables(self) -> Iterator[Table]:
        """Yield the instances in order, some at a time."""
        return self._from(0, Table(1))

    def count(self, *, limit: int, tries: int) -> tuple[int, int]:
        """Return the numbers of instances and of tries, until one of them exceeds its limit."""
        found, self._most_tried = 0, tries
        for table in self.tables():
            found += table.count
            if found > limit:
                break
        return found, self.tried

    def strings(self, table: Table) -> Iterator[Environment]:
        """Yield each row as an environment of elements, the same list again and again."""
        environment = [""] * self._width
        named = [self._elements.names(sort) for sort in self._sorts]
        for numbers in zip(*(column.tolist() for column in table.columns), strict=True):
            for i, number in enumerate(numbers):
                environment[i] = named[i][number]
            yield environment
        if not table.columns:
            yield environment

    def _from(self, depth: int, table: Table) -> Iterator[Table]:
        if depth == len(self._levels):
            yield table
            return
        for extended in self._extended(self._levels[depth], table):
            self.tried += extended.count
            if self.tried > self._most_tried:
                return
            kept = self._admitted(self._levels[depth], extended)
            if kept.count:
                yield from self._from(depth + 1, kept)

    # ---- candidates -----------------------------------------------------------------------------------

    def _extended(self, level: Level, table: Table) -> Iterator[Table]:
        """Bind one more variable to all its candidates."""
        match level.proposer:
            case None:
                yield from self._with_domain(level, table)
            case Application() as guard:
                yield from self._with_facts(level, guard, table)
            case _:
                yield self._with_candidates(level, table)

    def _with_domain(self, level: Level, table: Table) -> Iterator[Table]:
        count = len(self._elements.names(self._sorts[level.slot]))
        step = max(1, self._chunk // max(1, count))
        for start in range(0, table.count, step):
            rows = np.arange(start, min(start + step, table.count))
            for first in range(0, count, self._chunk):
                some = np.arange(first, min(first + self._chunk, count), dtype=np.int32)
                yield _joined(table, np.repeat(rows, len(some)), np.tile(some, len(rows)))

    def _with_candidates(self, level: Level, table: Table) -> Table:
        """Ask for the candidates row by row."""
        ranks = self._elements.signature.ranks(self._sorts[level.slot])
        found = [
            [ranks[e] for e in level.candidates(environment) if e in ranks]
            for environment in self.strings(table)
        ]
        numbers = np.repeat(np.arange(table.count), list(map(len, found)))
        return _joined(table, numbers, np.array([e for each in found for e in each], dtype=np.int32))

    def _with_facts(self, level: Level, guard: Application, table: Table) -> Iterator[Table]:
        """Follow the facts of a relation from what is bound already."""
        if level.slot not in self._indexes:
            self._indexes[level.slot] = self._index(level, guard)
        index = self._indexes[level.slot]
        if index is None:
            yield self._with_candidates(level, table)
            return
        codes = index.codes(self, guard, table)
        first = np.searchsorted(index.keys, codes, side="left")
        counts = np.searchsorted(index.keys, codes, side="right") - first
        ends = np.cumsum(counts)
        for start, stop in _cut(ends, self._chunk):
            rows = np.repeat(np.arange(start, stop), counts[start:stop])
            before = ends[start:stop] - counts[start:stop] - (ends[start - 1] if start else 0)
            places = np.arange(len(rows)) - np.repeat(before, counts[start:stop])
            places += np.repeat(first[start:stop], counts[start:stop])
            yield _joined(table, rows, index.candidates[places])

    def _index(self, level: Level, guard: Application) -> _Index | None:
        relation = self._elements.signature[guard.name]
        assert isinstance(relation, Relation)
        name = next(name for name, bound in self._scope.items() if bound.slot == level.slot)
        position = guard.arguments.index(Name(name))
        simple = [isinstance(term, Name) for term in guard.arguments]
        slots = [
            self._scope[t.name].slot if isinstance(t, Name) and t.name in self._scope else -1
            for t in guard.arguments
        ]
        bound = tuple(i for i, slot in enumerate(slots) if simple[i] and slot < level.slot and i != position)
        sizes = [len(self._elements.names(relation.sorts[i])) for i in bound]
        if product(sizes) >= MOST_KEYS:
            return None
        facts = self._elements.facts(guard.name)
        moved = self._elements.moved(relation.sorts[position], self._sorts[level.slot])
        candidates = moved[facts[:, position]] if len(facts) else np.empty(0, dtype=np.int32)
        keys = coded([facts[:, i] for i in bound], sizes, len(facts))
        order = np.lexsort((candidates, keys))
        order = order[candidates[order] >= 0]
        keys, candidates = keys[order], candidates[order]
        is_new = np.ones(len(keys), dtype=np.bool_)
        is_new[1:] = (keys[1:] != keys[:-1]) | (candidates[1:] != candidates[:-1])
        return _Index(bound, tuple(sizes), tuple(relation.sorts), keys[is_new], candidates[is_new])

    # ---- guards ---------------------------------------------------------------------------------------

    def _admitted(self, level: Level, table: Table) -> Table:
        """Keep the rows that pass the guards of a level."""
        for other in level.others:
            table = table.taken(table.columns[level.slot] != table.columns[other])
        for guard, test in zip(level.guards, level.tests, strict=True):
            if table.count and not self._is_followed(level, guard):
                passed = self._decided(guard, table)
                table = table.taken(self._asked(test, table) if passed is None else passed)
        return table

    def _is_followed(self, level: Level, guard: Pattern) -> bool:
        """Tell whether a guard proposed the candidates, so that it holds of all of them."""
        index = self._indexes.get(level.slot)
        return guard is level.proposer and index is not None and len(index.bound) + 1 == len(index.sorts)

    def _asked(self, test: Maker[bool], table: Table) -> Flags:
        return np.array([bool(test(environment)) for environment in self.strings(table)], dtype=np.bool_)

    def _decided(self, guard: Pattern, table: Table) -> Flags | None:
        """Decide a guard on whole columns; None where it must be asked row by row."""
        match guard:
            case Boolean(value):
                return np.full(table.count, value)
            case Comparison(order, left, right):
                return self._compared(order, (left, right), table)
            case Application(name, arguments):
                return self._holds(name, arguments, table)
            case Compound(connective, operands):
                parts = [self._decided(part, table) for part in operands]
                return _joined_truths(connective, parts)
            case _:
                return None

    def column(self, term: Term, sort: str, table: Table) -> Column | None:
        """Return the numbers of a variable's or a constant's elements in a domain, -1 where it has none."""
        if not isinstance(term, Name):
            return None
        if term.name not in self._scope:
            return np.full(table.count, self._elements.signature.ranks(sort).get(term.name, -1), np.int32)
        slot, own = self._scope[term.name]
        column = table.columns[slot]
        return column if own == sort else self._elements.moved(own, sort)[column]

    def _compared(self, order: Order, sides: tuple[Term, Term], table: Table) -> Flags | None:
        sorts = [self._scope[t.name].sort for t in sides if isinstance(t, Name) and t.name in self._scope]
        if not sorts or not all(isinstance(term, Name) for term in sides):
            return None
        left, right = (self.column(term, sorts[0], table) for term in sides)
        if left is None or right is None:
            return None
        if order in (Order.EQUAL, Order.UNEQUAL):
            return _compare(order, left, right)
        integers = self._elements.integers(sorts[0])
        if len(set(sorts)) > 1 or integers is None or (left < 0).any() or (right < 0).any():
            return None
        values = (integers[left], integers[right]) if len(integers) else (left, right)
        return _compare(order, *values)

    def _holds(self, name: str, arguments: tuple[Term, ...], table: Table) -> Flags | None:
        relation = self._elements.signature[name]
        if not isinstance(relation, Relation):
            return None
        sizes = [len(self._elements.names(sort)) for sort in relation.sorts]
        columns = [self.column(t, s, table) for t, s in zip(arguments, relation.sorts, strict=True)]
        if product(sizes) >= MOST_KEYS or any(column is None for column in columns):
            return None
        known = [column for column in columns if column is not None]
        facts = self._elements.codes(name)
        codes = coded([column.astype(np.int64) for column in known], sizes, table.count)
        places = np.minimum(np.searchsorted(facts, codes), max(len(facts) - 1, 0))
        is_fact = facts[places] == codes if len(facts) else np.zeros(table.count, dtype=np.bool_)
        return np.asarray(is_fact & np.logical_and.reduce([column >= 0 for column in known]))


@dataclass(frozen=True, slots=True)
class _Index:
    """The candidates of a relation, sorted by what is bound before and then in the order of their domain."""

    bound: tuple[int, ...]
    sizes: tuple[int, ...]
    sorts: tuple[str, ...]
    keys: NDArray[np.int64]
    candidates: Column

    def codes(self, tables: InstanceTables, guard: Application, table: Table) -> NDArray[np.int64]:
        """Return the key of each row, -1 where it has none."""
        columns = [tables.column(guard.arguments[i], self.sorts[i], table) for i in self.bound]
        known = [column.astype(np.int64) for column in columns if column is not None]
        codes = coded(known, self.sizes, table.count)
        for column in known:
            codes[column < 0] = -1
        return codes


def _joined(table: Table, rows: NDArray[np.int64], column: Column) -> Table:
    return Table(len(column), (*(known[rows] for known in table.columns), column))


def _cut(ends: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Cut rows into runs that have about as many candidates as are tried at once."""
    start = 0
    while start < len(ends):
        reached = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, reached + most, side="right")))
        yield start, stop
        start = stop


def _compare(order: Order, left: NDArray[np.int64] | Column, right: NDArray[np.int64] | Column) -> Flags:
    return np.asarray(ORDERS[order](left, right), dtype=np.bool_)


def _joined_truths(connective: Connective, parts: Sequence[Flags | None]) -> Flags | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    match connective:
        case Connective.NOT:
            return ~known[0]
        case Connective.AND:
            return np.asarray(np.logical_and.reduce(known))
        case Connective.NAND:
            return ~np.asarray(np.logical_and.reduce(known))
        case Connective.OR:
            return np.asarray(np.logical_or.reduce(known))
        case Connective.XOR:
            return np.asarray(np.logical_xor.reduce(known))
        case Connective.IMPLIES:
            return ~known[0] | known[1]
        case Connective.IFF:
            return ~(known[0] ^ known[1])
