"""Products of bounds in the program of a certificate: which rows there may be, each with its reason.

Input: a `ReasonedProgram`. Output: `ReasonedProducts`. Two variables, neither of which is a parent or a
descendant of the other, are independent given the rest of a table (docs/proofs.md, proof 22); the verifier
asks its own Markov condition when it rebuilds the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import prod
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from credalog.network.graph import Markov
from credalog.network.meaning import Event, Key, key
from credalog.program.products import SIGNS, Products
from credalog.questions.certificates.program import Reason, ReasonedProgram, pairs

__all__ = ["ReasonedProducts", "products_in"]

LARGEST = 1 << 14
"""Where there are more pairs of states in context than this, no more are listed."""


class _Pair(NamedTuple):
    """Two values with their conditions, in a context that a table shows."""

    left: Event
    given: Event
    right: Event
    under: Event
    context: Event
    table: int


@dataclass(frozen=True, slots=True)
class ReasonedProducts:
    """Pairs of conditional probabilities that may be multiplied."""

    products: Products
    pairs: tuple[_Pair, ...]

    def reason(self, number: int) -> Reason:
        """Return the reason of a row, by its number among `products`."""
        kind, place = divmod(number, len(self.pairs))
        one = self.pairs[place]
        ends = ["lower" if sign > 0 else "upper" for sign in SIGNS[kind]]
        events = (one.left, one.given, one.right, one.under, one.context)
        return ["product", ends, *map(pairs, events), one.table]


def products_in(found: ReasonedProgram) -> ReasonedProducts | None:
    """Return the pairs that are independent in some context; None where there are none."""
    if found.meaning.markov is Markov.NONE:
        return None
    everything = Fraction(0), Fraction(1)
    bounded = [found.meaning.range(*one, {}) != everything for one in found.keys]
    ratio: dict[Key, int] = {name: n for n, name in enumerate(found.contexts) if bounded[n]}
    kept: list[_Pair] = []
    for one in _pairs(found):
        if key(one.left, one.given) in ratio and key(one.right, one.under) in ratio:
            kept.append(one)
        if len(kept) >= LARGEST:
            break
    if not kept:
        return None
    first = np.array([ratio[key(one.left, one.given)] for one in kept], dtype=np.intp)
    second = np.array([ratio[key(one.right, one.under)] for one in kept], dtype=np.intp)
    cells = [_cells(found, one) for one in kept]
    matrices = (_matrix([four[n] for four in cells], len(found.column_of)) for n in range(4))
    return ReasonedProducts(Products(first, second, *matrices), tuple(kept))


def _pairs(found: ReasonedProgram) -> Iterator[_Pair]:
    meaning = found.meaning
    for t, (shown, fixed) in enumerate(found.tables):
        scope, known = frozenset(shown) | {x for x, _ in fixed}, meaning.event(fixed)
        near = {x: meaning.parents[x] | meaning.ndnp(x) for x in shown}
        for x, y in combinations(shown, 2):
            context = near[x] & near[y] & scope
            is_apart = y in near[x] - meaning.parents[x] and x in near[y] - meaning.parents[y]
            if not is_apart or not meaning.parents[x] | meaning.parents[y] <= context:
                continue
            if not known.keys() <= context:
                continue
            for z in meaning.worlds(sorted(context), known):
                given, under = ({p: z[p] for p in meaning.parents[v]} for v in (x, y))
                for s, other in product(_values(meaning.sizes[x]), _values(meaning.sizes[y])):
                    yield _Pair({x: s}, given, {y: other}, under, z, t)


def _values(size: int) -> range:
    """Return the values that have a ratio: of a two-valued variable one says all."""
    return range(1, 2) if size == 2 else range(size)


def _cells(found: ReasonedProgram, one: _Pair) -> list[list[int]]:
    """Return the columns in which both values are met, the first alone, the second alone, and neither."""
    (x, s), (y, other) = *one.left.items(), *one.right.items()
    four: list[list[int]] = [[], [], [], []]
    for a, b in product(range(found.meaning.sizes[x]), range(found.meaning.sizes[y])):
        columns = found.proof.cells(one.table, {**one.context, x: a, y: b})
        four[2 * (a != s) + (b != other)] += (found.column_of[c] for c in columns)
    return four


def _matrix(rows: list[list[int]], width: int) -> sp.csr_array:
    """Return sums over columns as rows of a matrix."""
    starts = np.cumsum([0, *map(len, rows)])
    columns = np.array([c for row in rows for c in row], dtype=np.intp)
    return sp.csr_array((np.ones(prod(columns.shape)), columns, starts), shape=(len(rows), width))
