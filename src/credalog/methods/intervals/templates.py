"""The factor graph of a large network, from its templates.

Input: a network in columns. Output: the `FactorGraph` that its sentences give one by one. Where every
sentence of a factor bounds one proposition in one configuration of the others, coefficients are computed for
all factors at once. Of the others, those whose sentences have the same forms and bounds have the same
coefficients: one of them is encoded for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.methods.intervals.factors import (
    MOST_WORLDS,
    Arrays,
    Encoded,
    Factor,
    FactorGraph,
    Floats,
    Indices,
    Kind,
    check_constant,
    down,
    encode,
    factor_graph,
    is_late,
    read,
    starts,
    up,
)
from credalog.network.columns import Lazy, Variables, columns_of
from credalog.network.sentences import Network
from credalog.network.shapes import Shape, packed, shapes
from credalog.numbers.budget import Budget

__all__ = ["factors_of"]

Flags: TypeAlias = NDArray[np.bool_]


class _Factors(Lazy[Factor]):
    """The factors, made from the arrays of their graph when someone looks at them."""

    def __init__(self, arrays: Arrays, members: Indices, member_start: Indices, separate: Flags) -> None:
        super().__init__(len(arrays.kind))
        self._arrays, self._members, self._member_start = arrays, members, member_start
        self._separate = separate

    def item(self, i: int) -> Factor:
        a, first = self._arrays, self._member_start
        scope = tuple(a.edge_variable[a.edge_start[i] : a.edge_start[i + 1]].tolist())
        said = tuple(self._members[first[i] : first[i + 1]].tolist())
        return Factor(scope, said, Kind(int(a.kind[i])), bool(self._separate[i]))


def factors_of(network: Network, *, families: bool, silent: bool, budget: Budget) -> FactorGraph:
    """Write the factor graph of a network as arrays, in bulk where the network is large."""
    columns = columns_of(network)
    if columns is None:
        return factor_graph(network, families=families, silent=silent, budget=budget)
    by_width: dict[int, list[_Read]] = {}
    for number, shape in enumerate(shapes(columns)):
        width = len(shape.template.scope)
        if width:
            by_width.setdefault(width, []).append(_Read.of(number, shape))
        else:
            for i in shape.where.tolist():
                check_constant(network.sentences[i])
    layers = [
        _Groups(network, width, said, silent=silent, budget=budget).layer(families=families or width < 3)
        for width, said in by_width.items()
    ]
    return _assembled(network, layers)


class _Read(NamedTuple):
    """The sentences of a shape as members of factors, row by row."""

    where: Indices
    key: Indices
    """The variables, ascending."""
    form: Indices
    """The shape, the order of its slots and the bounds, as numbers."""
    head: Indices
    """The variable that is bounded in one configuration of the others, or -1."""
    world: Indices
    """The number of that configuration."""
    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, number: int, shape: Shape) -> _Read:
        columns = shape.columns.astype(np.int64)
        order = np.argsort(columns, axis=1, kind="stable")
        key = np.take_along_axis(columns, order, axis=1)
        bounds = np.stack((shape.bounds.lower, shape.bounds.upper), axis=1)
        form = np.hstack((np.full((len(key), 1), number), order, bounds))
        return cls(shape.where, key, form, *_configurations(shape, order, columns))


def _configurations(
    shape: Shape, order: Indices, columns: Indices
) -> tuple[Indices, Indices, Floats, Floats]:
    """Return head, configuration and bounds of each row."""
    count, template = len(columns), shape.template
    reading = read(template)
    none, zero = np.full(count, -1), np.zeros(count)
    if reading is None or reading.condition is None:
        return none, none, zero, zero
    slots = list(template.scope)
    head = slots.index(reading.head)
    world = np.zeros(count, dtype=np.int64)
    values = np.array([reading.condition.get(v, 0) for v in slots])
    # Parents count in the order of their numbers, the last one fastest.
    for place in range(len(slots)):
        own = order[:, place]
        world = np.where(own == head, world, 2 * world + values[own])
    least = np.array([down(number) for number in shape.bounds.numbers])
    most = np.array([up(number) for number in shape.bounds.numbers])
    if not reading.second:
        least, most = (
            np.array([down(1 - number) for number in shape.bounds.numbers]),
            np.array([up(1 - number) for number in shape.bounds.numbers]),
        )
        return columns[:, head], world, least[shape.bounds.upper], most[shape.bounds.lower]
    return columns[:, head], world, least[shape.bounds.lower], most[shape.bounds.upper]


@dataclass(frozen=True, slots=True)
class _Layer:
    """Factors over equally many variables, with equally many coefficients."""

    first: Indices
    """The number of the first sentence of each factor: factors stand in the order of these."""
    scope: Indices
    kind: NDArray[np.int8]
    separate: Flags
    counts: Indices
    """How many sentences each factor has."""
    members: Indices
    rows: Floats
    """The coefficients of all kinds of factors, a row for each."""
    like: Indices
    """Which of the rows are those of each factor."""


class _Groups:
    """The sentences over equally many variables, sorted by these, then by their numbers."""

    def __init__(
        self, network: Network, width: int, said: list[_Read], *, silent: bool, budget: Budget
    ) -> None:
        self.network, self.width = network, width
        self.silent, self.budget = silent, budget
        where = np.concatenate([one.where for one in said])
        key = np.concatenate([one.key for one in said])
        codes = packed(key)
        if codes.dtype != np.int64:
            codes = np.unique(codes, return_inverse=True)[1].ravel()
        order = np.lexsort((where, codes))
        codes = codes[order]
        is_first = np.ones(len(order), dtype=np.bool_)
        is_first[1:] = codes[1:] != codes[:-1]
        self.start = np.flatnonzero(is_first)
        self.group = np.cumsum(is_first) - 1
        self.where, self.key = where[order], key[order[self.start]]
        self.counts = np.diff(np.append(self.start, len(order)))
        self.form = np.concatenate([one.form for one in said])[order]
        self.head = np.concatenate([one.head for one in said])[order]
        self.world = np.concatenate([one.world for one in said])[order]
        self.lower = np.concatenate([one.lower for one in said])[order]
        self.upper = np.concatenate([one.upper for one in said])[order]

    def layer(self, *, families: bool) -> list[_Layer]:
        """Return the factors, those with plain configurations apart from the others."""
        plain = (
            self._plain() if families and 2**self.width <= MOST_WORLDS else np.zeros(len(self.key), np.bool_)
        )
        found: list[_Layer] = []
        if plain.any():
            rows = self._coefficients(plain)
            agrees = (rows[:, 0] <= rows[:, 1]).all(axis=1)
            numbers = np.flatnonzero(plain)[agrees]
            plain[:] = False
            plain[numbers] = True
            found.append(self._families(numbers, rows[agrees]))
        if not plain.all():
            found += self._encoded(np.flatnonzero(~plain), families=families)
        return found

    def _plain(self) -> Flags:
        """Flag the groups whose sentences all bound one head in a configuration of the others."""
        least = np.minimum.reduceat(self.head, self.start)
        return np.asarray((least >= 0) & (least == np.maximum.reduceat(self.head, self.start)))

    def _coefficients(self, plain: Flags) -> Floats:
        """Return the bounds of each plain group in each configuration."""
        number = np.cumsum(plain) - 1
        kept = plain[self.group]
        group, world = number[self.group[kept]], self.world[kept]
        rows = np.zeros((int(plain.sum()), 2, 2 ** (self.width - 1)))
        rows[:, 1] = 1.0
        np.maximum.at(rows, (group, 0, world), self.lower[kept])
        np.minimum.at(rows, (group, 1, world), self.upper[kept])
        return rows

    def _families(self, numbers: Indices, rows: Floats) -> _Layer:
        keys, heads = self.key[numbers], self.head[self.start[numbers]]
        parents = keys[keys != heads[:, None]].reshape(len(keys), self.width - 1)
        scope = np.hstack((parents, heads[:, None]))
        kind = np.full(len(numbers), Kind.FAMILY, dtype=np.int8)
        flat = rows.reshape(len(rows), -1)
        return self._of(numbers, scope, kind, np.ones(len(numbers), np.bool_), flat, np.arange(len(rows)))

    def _encoded(self, numbers: Indices, *, families: bool) -> list[_Layer]:
        """Encode one group of each form for all groups of that form."""
        found: list[_Layer] = []
        for count in np.unique(self.counts[numbers]):
            some = numbers[self.counts[numbers] == count]
            members = self.start[some][:, None] + np.arange(count)
            forms = packed(self.form[members].reshape(len(some), -1))
            _, first, like = np.unique(forms, return_index=True, return_inverse=True)
            encoded = []
            for i, place in enumerate(first):
                if self.silent and is_late(i, self.budget):
                    break
                encoded.append(self._encode(some[place], families=families))
            # What nobody has read when the time is up says nothing.
            known = like.ravel() < len(encoded)
            keys = self.key[some[first[: len(encoded)]]]
            found += self._alike(some[known], keys, like.ravel()[known], encoded)
        return found

    def _encode(self, group: int, *, families: bool) -> Encoded:
        key = tuple(self.key[group].tolist())
        index = {self.network.variables[v]: v for v in key}
        first = self.start[group]
        said = self.where[first : first + self.counts[group]].tolist()
        read_ = [(i, read(self.network.sentences[i])) for i in said]
        return encode(self.network, index, key, read_, families=families, silent=self.silent)

    def _alike(self, some: Indices, keys: Indices, like: Indices, encoded: list[Encoded]) -> list[_Layer]:
        """Carry over what was encoded to all groups of the same form."""
        places = np.array(
            [[key.tolist().index(v) for v in e.factor.scope] for key, e in zip(keys, encoded, strict=True)]
        ).reshape(len(encoded), self.width)
        kinds = np.array([e.factor.kind for e in encoded], dtype=np.int8)
        separate = np.array([e.factor.separate for e in encoded], dtype=np.bool_)
        scope = np.take_along_axis(self.key[some], places[like], axis=1)
        rows = [e.rows.ravel() for e in encoded]
        layers = []
        lengths = np.array([len(row) for row in rows])
        for length in np.unique(lengths):
            mine = np.flatnonzero(lengths[like] == length)
            new = np.cumsum(lengths == length) - 1
            kept = np.stack([row for row in rows if len(row) == length])
            layers.append(
                self._of(
                    some[mine], scope[mine], kinds[like[mine]], separate[like[mine]], kept, new[like[mine]]
                )
            )
        return layers

    def _of(
        self,
        numbers: Indices,
        scope: Indices,
        kind: NDArray[np.int8],
        separate: Flags,
        rows: Floats,
        like: Indices,
    ) -> _Layer:
        counts = self.counts[numbers]
        places = np.repeat(self.start[numbers], counts) + _within(counts)
        return _Layer(
            self.where[self.start[numbers]], scope, kind, separate, counts, self.where[places], rows, like
        )


def _within(counts: Indices) -> Indices:
    """Return 0, 1, ... within each of consecutive blocks of these lengths."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def _assembled(network: Network, by_width: list[list[_Layer]]) -> FactorGraph:
    """Put factors of all widths into the order of their first sentences."""
    layers = [layer for found in by_width for layer in found]
    first = np.concatenate([layer.first for layer in layers]) if layers else np.empty(0, dtype=np.int64)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    places = np.split(place, np.cumsum([len(layer.first) for layer in layers])[:-1]) if layers else []
    degree, length, count = (np.zeros(len(first), dtype=np.int64) for _ in range(3))
    kind, separate = np.zeros(len(first), dtype=np.int8), np.zeros(len(first), dtype=np.bool_)
    for layer, at in zip(layers, places, strict=True):
        degree[at], length[at], count[at] = layer.scope.shape[1], layer.rows.shape[1], layer.counts
        kind[at], separate[at] = layer.kind, layer.separate
    edge_start, table_start, member_start = starts(degree), starts(length), starts(count)
    edge_variable = np.empty(edge_start[-1], dtype=np.int64)
    coefficient = np.empty(table_start[-1])
    members = np.empty(member_start[-1], dtype=np.int64)
    for layer, at in zip(layers, places, strict=True):
        edge_variable[edge_start[at][:, None] + np.arange(layer.scope.shape[1])] = layer.scope
        coefficient[table_start[at][:, None] + np.arange(layer.rows.shape[1])] = layer.rows[layer.like]
        members[np.repeat(member_start[at], layer.counts) + _within(layer.counts)] = layer.members
    known = network.variables
    sizes = known.sizes if isinstance(known, Variables) else [len(v.values) for v in known]
    size = np.array(sizes, dtype=np.int64)
    arrays = Arrays.of(kind, edge_start, edge_variable, size, table_start, coefficient)
    return FactorGraph(network, _Factors(arrays, members, member_start, separate), arrays)
