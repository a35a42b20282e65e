"""The factor graph: sentences over the same variables become one factor, written as flat arrays.

Input: a ground network. Output: `FactorGraph`, whose arrays the compiled kernels read, and which remembers
which sentences each factor stands for.

A factor is a *family* when every sentence bounds P(x | r) for one two-valued x, with conditions r over the
other variables that are pairwise equal or disjoint: then P(x) lies between two sums over the configurations
of the others, and their coefficients (`below`, `above`) are all that a message needs. Any other factor
keeps its sentences as rows over its own worlds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.errors import InconsistentNetwork, ProblemTooLarge
from credalog.network.formulas import Formula, Is, Not, Variable, literals_of, truth_table
from credalog.network.sentences import Network, Sentence
from credalog.numbers.budget import Budget
from credalog.trusted.rounding import round_down, round_up

__all__ = [
    "FAMILY",
    "Arrays",
    "Encoded",
    "Factor",
    "FactorGraph",
    "Kind",
    "assemble",
    "factor_graph",
    "sentence_rows",
    "slot_values",
]

Indices: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

MOST_WORLDS = 1024
"""The largest table of a factor; beyond it no local program is solved."""


class Kind(IntEnum):
    """Say how the local program of a factor is written."""

    FAMILY = 0
    """Coefficients over the configurations of the parents; the head is the last neighbour."""

    TABLE = 1
    """Rows over the worlds of all neighbours."""

    SILENT = 2
    """Too large to solve: its messages say nothing."""


FAMILY = int(Kind.FAMILY)
"""The same for kernels: numpy asks whatever it compares with a number how it wants to be compared, and an
interrupt that comes while a member of an enumeration answers is forgotten."""


class Arrays(NamedTuple):
    """The factor graph as numbers, all neighbours of all factors in one row of edges."""

    kind: NDArray[np.int8]
    edge_start: Indices
    edge_variable: Indices
    edge_slot: Indices
    edge_factor: Indices
    size: Indices
    variable_slot: Indices
    variable_start: Indices
    variable_edge: Indices
    table_start: Indices
    coefficient: Floats
    product: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        kind: NDArray[np.int8],
        edge_start: Indices,
        edge_variable: Indices,
        size: Indices,
        table_start: Indices,
        coefficient: Floats,
    ) -> Arrays:
        """Derive the rest from the factors' neighbours and numbers; nobody is taken to be independent."""
        slots = np.where(size == 2, 1, size)
        return cls(
            kind=kind,
            edge_start=edge_start,
            edge_variable=edge_variable,
            edge_slot=starts(slots[edge_variable]),
            edge_factor=np.repeat(np.arange(len(kind)), np.diff(edge_start)),
            size=size,
            variable_slot=starts(slots),
            variable_start=starts(np.bincount(edge_variable, minlength=len(size))),
            variable_edge=np.argsort(edge_variable, kind="stable"),
            table_start=table_start,
            coefficient=coefficient,
            product=np.zeros(len(edge_variable), dtype=np.bool_),
        )


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: its neighbours (of a family the head comes last) and its sentences, by index."""

    scope: tuple[int, ...]
    sentences: tuple[int, ...]
    kind: Kind
    separate: bool = False
    """Each sentence of a family conditions on one configuration: the form of a credal network."""


@dataclass(frozen=True)
class FactorGraph:
    """The factors of a network, and their arrays."""

    network: Network
    factors: Sequence[Factor]
    arrays: Arrays = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        for array in self.arrays:
            array.setflags(write=False)

    @cached_property
    def index(self) -> dict[Variable, int]:
        """The number of each variable."""
        return {v: i for i, v in enumerate(self.network.variables)}

    def names(self, factor: int) -> tuple[str, ...]:
        """Return the names of the sentences of a factor."""
        return tuple(self.network.sentences[i].name for i in self.factors[factor].sentences)

    def coefficients(self, factor: int) -> Floats:
        """Return the coefficients of a factor: two rows for a family, any number for a table."""
        start = self.arrays.table_start
        worlds = prod(int(self.arrays.size[v]) for v in self.factors[factor].scope)
        if self.factors[factor].kind is Kind.FAMILY:
            worlds //= 2
        return self.arrays.coefficient[start[factor] : start[factor + 1]].reshape(-1, worlds)

    def edges(self, factor: int) -> slice:
        """Return where the edges of a factor are kept."""
        return slice(self.arrays.edge_start[factor], self.arrays.edge_start[factor + 1])

    def message_slots(self, factor: int) -> slice:
        """Return where the messages of a factor are kept."""
        a = self.arrays
        return slice(a.edge_slot[a.edge_start[factor]], a.edge_slot[a.edge_start[factor + 1]])

    def encoded(self) -> list[Encoded]:
        """Return the factors with their numbers, to be laid out anew."""
        return [Encoded(factor, self.coefficients(f)) for f, factor in enumerate(self.factors)]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A factor and its numbers."""

    factor: Factor
    rows: Floats


class _Reading(NamedTuple):
    """A sentence as a member of a family: its head, where its condition holds, and the bounds on the head.

    `condition` gives the parents' value numbers where it is a conjunction of literals, and is None for any
    other formula. The bounds are those of the head's second value.
    """

    head: Variable
    condition: dict[Variable, int] | None
    given: Formula
    lower: float
    upper: float
    second: bool
    """Whether the sentence itself bounds the second value; otherwise the bounds are exchanged."""


FEW = 256
"""So many sentences are read before anybody looks at the clock."""


def factor_graph(
    network: Network, *, families: bool = True, silent: bool = False, budget: Budget | None = None
) -> FactorGraph:
    """Group the sentences over the same variables and write the factor graph as arrays.

    Without `families`, every factor over three or more variables keeps all its worlds, as the printed
    algorithm needs. Where a factor is too large, it falls silent if that is allowed, and is an error
    otherwise; if it is allowed, so do the sentences that nobody has read when the time is up.
    """
    index = {v: i for i, v in enumerate(network.variables)}
    groups: dict[tuple[int, ...], list[tuple[int, _Reading | None]]] = {}
    for i, sentence in enumerate(network.sentences):
        if silent and is_late(i, budget):
            break
        reading = read(sentence)
        key = tuple(sorted(index[v] for v in _scope(sentence, reading)))
        if key:
            groups.setdefault(key, []).append((i, reading))
        else:
            check_constant(sentence)
    encoded, done = [], 0
    for key, group in groups.items():
        # A slice of a few variables has its moment, whatever the time.
        if silent and done >= FEW and budget is not None and budget.is_spent:
            break
        done += len(group)
        encoded.append(encode(network, index, key, group, families=families or len(key) < 3, silent=silent))
    return assemble(network, encoded)


def is_late(number: int, budget: Budget | None) -> bool:
    """Look at the clock now and then."""
    return budget is not None and number % FEW == FEW - 1 and budget.is_spent


def assemble(network: Network, encoded: list[Encoded]) -> FactorGraph:
    """Lay encoded factors out as one factor graph."""
    return FactorGraph(network, tuple(e.factor for e in encoded), _arrays(network, encoded))


def _scope(sentence: Sentence, reading: _Reading | None) -> tuple[Variable, ...]:
    """Return the variables of a sentence; what was read already need not be searched again."""
    if reading is None or reading.condition is None:
        return sentence.scope
    return (reading.head, *reading.condition)


def read(sentence: Sentence) -> _Reading | None:
    """Read a sentence that bounds a two-valued variable, given two-valued others."""
    if sentence.is_linear:
        return None
    match sentence.claim:
        case Is(head, value) | Not(Is(head, value)) if len(head.values) == 2:
            second = (value == head.values[1]) is isinstance(sentence.claim, Is)
        case _:
            return None
    literals = literals_of(sentence.given)
    others = sentence.given_scope if literals is None else literals
    if head in others or any(len(v.values) != 2 for v in others):
        return None
    condition = None if literals is None else {v: v.values.index(value) for v, value in literals.items()}
    lower, upper = (sentence.lower, sentence.upper) if second else (1 - sentence.upper, 1 - sentence.lower)
    return _Reading(head, condition, sentence.given, down(lower), up(upper), second)


def check_constant(sentence: Sentence) -> None:
    """Refuse a sentence over no variable at all, unless it is true."""
    given = bool(truth_table(sentence.given, ()))
    total = sum((w for w, claim in sentence.claims if truth_table(claim, ())), Fraction(0))
    if given and not sentence.lower <= total <= sentence.upper:
        raise InconsistentNetwork(
            f"{sentence.name} bounds a constant by [{sentence.lower}, {sentence.upper}], and it is {total}."
        )


def encode(
    network: Network,
    index: dict[Variable, int],
    key: tuple[int, ...],
    group: list[tuple[int, _Reading | None]],
    *,
    families: bool,
    silent: bool,
) -> Encoded:
    """Encode the factor of the sentences over some variables, given by number."""
    members = tuple(i for i, _ in group)
    if prod(len(network.variables[v].values) for v in key) > MOST_WORLDS:
        return _too_large(network, key, members, silent=silent)
    readings = [reading for _, reading in group if reading is not None]
    if families and len(readings) == len(group) and len({reading.head for reading in readings}) == 1:
        head = index[readings[0].head]
        parents = tuple(v for v in key if v != head)
        rows, separate = _family(readings, tuple(network.variables[v] for v in parents))
        if rows is not None:
            return Encoded(Factor((*parents, head), members, Kind.FAMILY, separate), rows)
    scope = tuple(network.variables[v] for v in key)
    return Encoded(
        Factor(key, members, Kind.TABLE), sentence_rows([network.sentences[i] for i in members], scope)
    )


def _too_large(network: Network, key: tuple[int, ...], group: tuple[int, ...], *, silent: bool) -> Encoded:
    if not silent:
        name = network.sentences[group[0]].name
        raise ProblemTooLarge(
            f"{name} speaks of {len(key)} variables at once, too many for a local program.",
            advice="Sound propagation passes over such sentences; exact inference may still answer.",
        )
    return Encoded(Factor(key, group, Kind.SILENT), np.empty((0, 0)))


def _family(readings: list[_Reading], parents: tuple[Variable, ...]) -> tuple[Floats | None, bool]:
    """Write the coefficients of a family, or None where its conditions overlap or contradict each other."""
    below, above = [0.0] * 2 ** len(parents), [1.0] * 2 ** len(parents)
    owner: dict[int, tuple[int, ...]] = {}
    separate = True
    for reading in readings:
        worlds = _worlds(reading, parents)
        separate = separate and len(worlds) == 1
        if any(owner.setdefault(w, worlds) != worlds for w in worlds):
            return None, False
        for w in worlds:
            below[w] = max(below[w], reading.lower)
            above[w] = min(above[w], reading.upper)
            if below[w] > above[w]:
                # No refutation: a contradiction makes its condition impossible, which rows can say.
                return None, False
    return np.array((below, above)), separate


def _worlds(reading: _Reading, parents: tuple[Variable, ...]) -> tuple[int, ...]:
    """Return the numbers of the configurations of the parents in which the condition holds."""
    if reading.condition is None:
        return tuple(np.flatnonzero(truth_table(reading.given, parents)).tolist())
    number = 0
    for parent in parents:
        number = 2 * number + reading.condition[parent]
    return (number,)


def down(value: Fraction) -> float:
    """Return a float that is not above a fraction."""
    nearest = value.numerator / value.denominator
    return nearest if _is_exactly(value, nearest) else round_down(nearest)


def up(value: Fraction) -> float:
    """Return a float that is not below a fraction."""
    nearest = value.numerator / value.denominator
    return nearest if _is_exactly(value, nearest) else round_up(nearest)


def _is_exactly(value: Fraction, nearest: float) -> bool:
    """Tell whether a fraction is a whole number that a float can be: large ones are rounded like others."""
    return value.denominator == 1 and nearest == value


def slot_values(size: int) -> range:
    """Return the values that the slots of a variable bound."""
    return range(1, 2) if size == 2 else range(size)


def sentence_rows(sentences: Iterable[Sentence], scope: tuple[Variable, ...]) -> Floats:
    """Write each sentence as rows G p <= 0 over the worlds of the scope, every coefficient rounded down.

    Probabilities are not negative, so a smaller coefficient only weakens the row.
    """
    rows = [row for sentence in sentences for row in _rows(sentence, scope)]
    return np.array(rows, dtype=np.float64).reshape(len(rows), prod(len(v.values) for v in scope))


def _rows(sentence: Sentence, scope: tuple[Variable, ...]) -> Iterator[Floats]:
    """Yield the upper and the lower row of a sentence, each only if it can be violated."""
    given = truth_table(sentence.given, scope).ravel()
    held = np.array([truth_table(claim, scope).ravel()[given] for _, claim in sentence.claims])
    # Worlds in which the same claims hold have the same coefficient.
    patterns, kind = np.unique(held, axis=1, return_inverse=True)
    totals = [
        sum((w for (w, _), holds in zip(sentence.claims, pattern, strict=True) if holds), Fraction(0))
        for pattern in patterns.T
    ]
    for sign, bound in ((1, sentence.upper), (-1, sentence.lower)):
        row = np.zeros(len(given))
        row[given] = np.array([down(sign * (total - bound)) for total in totals])[kind.ravel()]
        if (row > 0.0).any():
            yield row


def _arrays(network: Network, encoded: list[Encoded]) -> Arrays:
    blocks = [e.rows.ravel() for e in encoded]
    return Arrays.of(
        np.array([e.factor.kind for e in encoded], dtype=np.int8),
        starts(np.array([len(e.factor.scope) for e in encoded], dtype=np.int64)),
        np.array([v for e in encoded for v in e.factor.scope], dtype=np.int64),
        np.array([len(v.values) for v in network.variables], dtype=np.int64),
        starts(np.array([e.rows.size for e in encoded], dtype=np.int64)),
        np.concatenate(blocks) if blocks else np.empty(0),
    )


def starts(lengths: NDArray[np.int64]) -> Indices:
    """Return where consecutive blocks of these lengths start, and where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])
