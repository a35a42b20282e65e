"""The factor graph: sentences over the same variables become one factor, written as flat arrays.

Enters: a ground network. Leaves: `FactorGraph`, whose arrays the compiled kernels read, and which remembers
which sentences each factor stands for.

A factor is a *family* when every sentence bounds P(x | r) for one two-valued x, with conditions r over the
other variables that are pairwise equal or disjoint: then P(x) lies between two sums over the configurations
of the others, and their coefficients (`below`, `above`) are all that a message needs. Any other factor keeps its
sentences as rows over its own worlds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from math import inf, nextafter, prod
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.errors import InconsistentNetwork, ProblemTooLarge
from credalog.logic import Is, Not, Variable, literals_of, truth_table
from credalog.model import Network, Sentence

__all__ = ["Arrays", "Factor", "FactorGraph", "Kind", "factor_graph"]

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


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: its neighbours (of a family the head comes last) and its sentences, by index."""

    scope: tuple[int, ...]
    sentences: tuple[int, ...]
    kind: Kind
    separate: bool = False
    """Each sentence of a family conditions on one configuration: the form of a credal network."""


@dataclass(frozen=True, slots=True)
class FactorGraph:
    """The factors of a network, and their arrays."""

    network: Network
    factors: tuple[Factor, ...]
    arrays: Arrays

    def names(self, factor: int) -> tuple[str, ...]:
        """Return the names of the sentences of a factor."""
        return tuple(self.network.sentences[i].name for i in self.factors[factor].sentences)


@dataclass(frozen=True, slots=True)
class _Encoded:
    """A factor and its numbers."""

    factor: Factor
    rows: Floats


def factor_graph(network: Network, *, families: bool = True, silent: bool = False) -> FactorGraph:
    """Group the sentences over the same variables and write the factor graph as arrays.

    Without `families`, every factor over three or more variables keeps all its worlds, as the printed algorithm
    needs. Where a factor is too large, it falls silent if that is allowed, and is an error otherwise.
    """
    index = {v: i for i, v in enumerate(network.variables)}
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, sentence in enumerate(network.sentences):
        key = tuple(sorted(index[v] for v in sentence.scope))
        if key:
            groups.setdefault(key, []).append(i)
        else:
            _check_constant(sentence)
    encoded = [
        _encode(network, index, key, tuple(group), families=families or len(key) < 3, silent=silent)
        for key, group in groups.items()
    ]
    return FactorGraph(network, tuple(e.factor for e in encoded), _arrays(network, encoded))


def _check_constant(sentence: Sentence) -> None:
    """Refuse a sentence over no variable at all, unless it is true."""
    given = bool(truth_table(sentence.given, ()))
    total = sum((w for w, claim in sentence.claims if truth_table(claim, ())), Fraction(0))
    if given and not sentence.lower <= total <= sentence.upper:
        raise InconsistentNetwork(
            f"{sentence.name} bounds a constant by [{sentence.lower}, {sentence.upper}], and it is {total}."
        )


def _encode(
    network: Network,
    index: dict[Variable, int],
    key: tuple[int, ...],
    group: tuple[int, ...],
    *,
    families: bool,
    silent: bool,
) -> _Encoded:
    sentences = [network.sentences[i] for i in group]
    if prod(len(network.variables[v].values) for v in key) > MOST_WORLDS:
        return _too_large(network, key, group, silent=silent)
    if families and (head := _head(sentences)) is not None:
        parents = tuple(v for v in key if v != index[head])
        rows, separate = _family(sentences, tuple(network.variables[v] for v in parents))
        if rows is not None:
            return _Encoded(Factor((*parents, index[head]), group, Kind.FAMILY, separate), rows)
    scope = tuple(network.variables[v] for v in key)
    return _Encoded(Factor(key, group, Kind.TABLE), _rows(sentences, scope))


def _too_large(network: Network, key: tuple[int, ...], group: tuple[int, ...], *, silent: bool) -> _Encoded:
    if not silent:
        name = network.sentences[group[0]].name
        raise ProblemTooLarge(
            f"{name} speaks of {len(key)} variables at once, too many for a local program.",
            advice="Sound propagation passes over such sentences; exact inference may still answer.",
        )
    return _Encoded(Factor(key, group, Kind.SILENT), np.empty((0, 0)))


def _head(sentences: list[Sentence]) -> Variable | None:
    """Return the two-valued variable that all sentences claim and none has in its condition."""
    heads = set()
    for sentence in sentences:
        if sentence.is_linear:
            return None
        match sentence.claim:
            case Is(variable, _) | Not(Is(variable, _)) if len(variable.values) == 2:
                heads.add(variable)
            case _:
                return None
        if variable in sentence.given_scope or any(len(v.values) != 2 for v in sentence.given_scope):
            return None
    return heads.pop() if len(heads) == 1 else None


def _family(sentences: list[Sentence], parents: tuple[Variable, ...]) -> tuple[Floats | None, bool]:
    """Write the coefficients of a family, or None where its conditions overlap or contradict each other."""
    rows = np.zeros((2, 2 ** len(parents)))
    rows[1] = 1.0
    conditions = np.full(2 ** len(parents), -1)
    separate = True
    for number, sentence in enumerate(sentences):
        worlds = _worlds(sentence, parents)
        separate = separate and len(worlds) == 1
        first = conditions[worlds].max(initial=-1)
        repeats = first >= 0 and np.array_equal(np.flatnonzero(conditions == first), worlds)
        if first >= 0 and not repeats:
            return None, False
        conditions[worlds] = first if repeats else number
        lower, upper = _head_bounds(sentence)
        rows[0, worlds] = np.maximum(rows[0, worlds], lower)
        rows[1, worlds] = np.minimum(rows[1, worlds], upper)
    # A contradiction does not refute the network: it makes its condition impossible, which rows can say.
    return (rows, separate) if np.all(rows[0] <= rows[1]) else (None, False)


def _worlds(sentence: Sentence, parents: tuple[Variable, ...]) -> Indices:
    """Return the numbers of the configurations of the parents in which the condition holds."""
    world = literals_of(sentence.given)
    if world is None:
        return np.flatnonzero(truth_table(sentence.given, parents))
    number = 0
    for parent in parents:
        number = 2 * number + parent.values.index(world[parent])
    return np.array([number])


def _head_bounds(sentence: Sentence) -> tuple[float, float]:
    """Return the bounds on the second value of the head, rounded outwards."""
    positive = isinstance(sentence.claim, Is)
    atom = sentence.claim if isinstance(sentence.claim, Is) else sentence.claim.operand  # type: ignore[union-attr]
    if positive == (atom.value == atom.variable.values[1]):
        return _down(sentence.lower), _up(sentence.upper)
    return _down(1 - sentence.upper), _up(1 - sentence.lower)


def _down(value: Fraction) -> float:
    nearest = float(value)
    return nearest if value.denominator == 1 else nextafter(nearest, -inf)


def _up(value: Fraction) -> float:
    nearest = float(value)
    return nearest if value.denominator == 1 else nextafter(nearest, inf)


def _rows(sentences: list[Sentence], scope: tuple[Variable, ...]) -> Floats:
    """Write each sentence as rows G p <= 0 over the worlds of the scope, every coefficient rounded down.

    Probabilities are not negative, so a smaller coefficient only weakens the row.
    """
    rows = []
    for sentence in sentences:
        given = truth_table(sentence.given, scope).ravel()
        claims = [(w, truth_table(claim, scope).ravel()) for w, claim in sentence.claims]
        for sign, bound in ((1, sentence.upper), (-1, sentence.lower)):
            row = [
                _down(sign * (sum((w for w, t in claims if t[j]), Fraction(0)) - bound)) if given[j] else 0.0
                for j in range(len(given))
            ]
            if any(value > 0.0 for value in row):
                rows.append(row)
    return np.array(rows, dtype=np.float64).reshape(len(rows), prod(len(v.values) for v in scope))


def _arrays(network: Network, encoded: list[_Encoded]) -> Arrays:
    size = np.array([len(v.values) for v in network.variables], dtype=np.int64)
    slots = np.where(size == 2, 1, size)
    degree = np.array([len(e.factor.scope) for e in encoded], dtype=np.int64)
    edge_variable = np.array([v for e in encoded for v in e.factor.scope], dtype=np.int64)
    lengths = np.array([e.rows.size for e in encoded], dtype=np.int64)
    blocks = [e.rows.ravel() for e in encoded]
    return Arrays(
        kind=np.array([e.factor.kind for e in encoded], dtype=np.int8),
        edge_start=_starts(degree),
        edge_variable=edge_variable,
        edge_slot=_starts(slots[edge_variable]),
        edge_factor=np.repeat(np.arange(len(encoded)), degree),
        size=size,
        variable_slot=_starts(slots),
        variable_start=_starts(np.bincount(edge_variable, minlength=len(size))),
        variable_edge=np.argsort(edge_variable, kind="stable"),
        table_start=_starts(lengths),
        coefficient=np.concatenate(blocks) if blocks else np.empty(0),
        product=np.zeros(len(edge_variable), dtype=np.bool_),
    )


def _starts(lengths: NDArray[np.int64]) -> Indices:
    """Return where consecutive blocks of these lengths start, and where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])
