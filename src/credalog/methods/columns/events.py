"""Formulas whose truth matters, and the question which world is worth most.

Input: formulas over finite variables. Output: their truth in given worlds, and the contract of a `Pricer`:
when every formula that is true in a world has a worth, positive or negative, it finds worlds of great worth
and a bound that no world passes.

Worlds are rows of value numbers, one per variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from math import prod
from typing import Protocol, assert_never

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.network.formulas import (
    TRUE,
    And,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Or,
    Truth,
    Variable,
    Xor,
    canonical,
    conjunction,
    disjunction,
    scope,
)
from credalog.network.sentences import Network, Sentence
from credalog.numbers.budget import Budget
from credalog.program.program import Floats

__all__ = ["WIDEST", "Events", "Priced", "Pricer", "Row", "System", "Worlds", "system_of"]

Worlds = NDArray[np.int64]
"""Worlds, one per row: the number of each variable's value."""

WIDEST = 1 << 16
"""The largest table that is ever formed."""


@dataclass(frozen=True)
class Events:
    """The formulas whose truth matters, over the variables of a network.

    Where a formula in `certain` fails, the world is excluded.
    """

    variables: tuple[Variable, ...]
    formulas: tuple[Formula, ...]
    certain: tuple[Formula, ...] = ()

    @cached_property
    def number(self) -> dict[Variable, int]:
        """Return the place of each variable."""
        return {v: i for i, v in enumerate(self.variables)}

    @cached_property
    def scopes(self) -> tuple[tuple[int, ...], ...]:
        """Return for each formula, the certain ones last, the sorted numbers of its variables."""
        every = (*self.formulas, *self.certain)
        return tuple(tuple(sorted(self.number[v] for v in scope(f))) for f in every)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of values of each variable."""
        return tuple(len(v.values) for v in self.variables)

    def admit(self, worlds: Worlds) -> Worlds:
        """Return the worlds that are not excluded."""
        kept = np.ones(len(worlds), dtype=np.bool_)
        for formula in self.certain:
            kept &= self._truth(formula, worlds)
        return worlds[kept]

    def truth(self, worlds: Worlds) -> NDArray[np.bool_]:
        """Tell which formula (row) holds in which world (column)."""
        return np.array([np.broadcast_to(self._truth(f, worlds), len(worlds)) for f in self.formulas])

    def _truth(self, formula: Formula, worlds: Worlds) -> NDArray[np.bool_]:
        match formula:
            case Truth(value):
                return np.array(value)
            case Is(variable, value):
                return np.asarray(worlds[:, self.number[variable]] == variable.values.index(value))
            case Not(operand):
                return ~self._truth(operand, worlds)
            case And(operands):
                return np.asarray(reduce(np.logical_and, (self._truth(o, worlds) for o in operands)))
            case Or(operands):
                return np.asarray(reduce(np.logical_or, (self._truth(o, worlds) for o in operands)))
            case Xor(operands):
                return np.asarray(reduce(np.logical_xor, (self._truth(o, worlds) for o in operands)))
            case Implies(premise, conclusion):
                return ~self._truth(premise, worlds) | self._truth(conclusion, worlds)
            case Iff(left, right):
                return np.asarray(self._truth(left, worlds) == self._truth(right, worlds))
            case _:
                assert_never(formula)

    @property
    def widest(self) -> int:
        """Return the size of the largest truth table of a formula."""
        return max((prod(self.sizes[i] for i in over) for over in self.scopes), default=1)


@dataclass(frozen=True, slots=True)
class Priced:
    """Worlds of high worth, best first, and a bound on the worth of every world."""

    worlds: Worlds
    bound: float


class Pricer(Protocol):
    """A way of finding the world of greatest worth."""

    @property
    def proves(self) -> bool:
        """Tell whether the bounds are proved, or a solver's word."""
        ...

    def best(self, worth: Floats, *, enough: float, budget: Budget) -> Priced:
        """Return worlds and a bound.

        Worlds worth more than `enough` may come without a bound (infinity). Where every world is
        excluded there is none, and the bound is minus infinity.
        """
        ...


# ---- the master program -----------------------------------------------------------------------------------
# A network's sentences as rows over events.
# Input: a network, and formulas of interest. Output: a `System`: the events whose truth in a world decides
# every sentence, and the sentences as homogeneous rows over them.

EMPTY = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Row:
    """The demand that the events, each with its factor, add up to at least 0, or to exactly 0.

    `given` is the event that conditions the sentence behind it.
    """

    factors: tuple[tuple[int, Fraction], ...]
    is_equality: bool
    given: int


@dataclass(frozen=True)
class System:
    """Events and rows; in `matrix`, rows are demands and columns are events."""

    events: Events
    rows: tuple[Row, ...]
    matrix: sp.csr_array
    is_equality: NDArray[np.bool_]
    place: dict[Formula, int]

    def indicator(self, formula: Formula) -> Floats:
        """Return the cost that is 1 where a formula of interest holds."""
        cost = np.zeros(len(self.events.formulas))
        cost[self.place[canonical(formula)]] = 1.0
        return cost

    def violation(self, probability: Floats) -> float:
        """Return by how much probabilities of the events miss a row; of a rare condition, relative to it.

        Relative to the condition a thousand times more may pass, as in `trusted.check`.
        """
        value = self.matrix @ probability
        missed = np.maximum(np.where(self.is_equality, np.abs(value), -value), 0.0)
        mass = probability[[row.given for row in self.rows]] if self.rows else missed
        share = np.divide(missed, mass, out=np.zeros(len(missed)), where=mass > 0.0)
        return float(np.maximum(missed, 1e-3 * share).max(initial=0.0))


def system_of(network: Network, *interesting: Formula) -> System:
    """Write every sentence of a network as rows, or as a certainty."""
    place: dict[Formula, int] = {}
    certain = tuple(formula for sentence in network.sentences for formula in _certainties(sentence))
    rows = tuple(row for sentence in network.sentences for row in _rows(sentence, place))
    for formula in (TRUE, *interesting):
        _place(formula, place)
    entries = [(k, j, float(factor)) for k, row in enumerate(rows) for j, factor in row.factors]
    k, j, factors = (np.array(part) for part in zip(*entries, strict=True)) if entries else (EMPTY,) * 3
    matrix = sp.csr_array(sp.coo_array((factors, (k, j)), shape=(len(rows), len(place)), dtype=np.float64))
    is_equality = np.array([row.is_equality for row in rows], dtype=np.bool_)
    return System(Events(tuple(network.variables), tuple(place), certain), rows, matrix, is_equality, place)


def _place(formula: Formula, place: dict[Formula, int]) -> int:
    return place.setdefault(canonical(formula), len(place))


def _is_certain(sentence: Sentence) -> bool:
    """Tell whether a sentence gives its claim probability 0 or 1."""
    return not sentence.is_linear and (sentence.lower >= 1 or sentence.upper <= 0)


def _certainties(sentence: Sentence) -> Iterator[Formula]:
    """Yield what a sentence makes certain: where the condition holds, so does the claim, or it does not."""
    if _is_certain(sentence):
        claim = sentence.claim if sentence.lower >= 1 else Not(sentence.claim)
        yield claim if sentence.given == TRUE else disjunction((Not(sentence.given), claim))


def _rows(sentence: Sentence, place: dict[Formula, int]) -> Iterator[Row]:
    """Yield the rows of a sentence; a certainty, or a bound that no distribution can miss, needs none."""
    if _is_certain(sentence):
        return
    given = _place(sentence.given, place)
    claims = [(_place(conjunction((c, sentence.given)), place), weight) for weight, c in sentence.claims]
    if sentence.lower == sentence.upper:
        yield _row(claims, given, sentence.lower, Fraction(1), is_equality=True)
        return
    if sentence.lower > sum(min(weight, Fraction(0)) for _, weight in claims):
        yield _row(claims, given, sentence.lower, Fraction(1), is_equality=False)
    if sentence.upper < sum(max(weight, Fraction(0)) for _, weight in claims):
        yield _row(claims, given, sentence.upper, Fraction(-1), is_equality=False)


def _row(
    claims: list[tuple[int, Fraction]], given: int, bound: Fraction, sign: Fraction, *, is_equality: bool
) -> Row:
    """Return sign * (sum of weight * claim - bound * given) as a row."""
    factors: dict[int, Fraction] = {given: -sign * bound}
    for event, weight in claims:
        factors[event] = factors.get(event, Fraction(0)) + sign * weight
    return Row(tuple((event, factor) for event, factor in factors.items() if factor), is_equality, given)
