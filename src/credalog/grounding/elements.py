"""The elements of domains, and the facts of relations, as numbers.

Input: a signature. Output: the number of each element in its domain and in others, and relations as arrays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.grounding.terms import Signature
from credalog.theory import Relation

__all__ = ["MOST_KEYS", "Column", "Elements", "coded", "product"]

Column: TypeAlias = NDArray[np.int32]

MOST_KEYS = 2**62
"""Rows of facts with fewer possible values are compared as one number."""

_INTEGER = re.compile(r"-?\d{1,18}")


class Elements:
    """The elements of a signature's domains as numbers."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.names = signature.elements
        self.moved = cache(self._moved)
        self.facts = signature.facts
        self.codes = cache(self._codes)
        self.integers = cache(self._integers)

    def _moved(self, source: str, target: str) -> Column:
        """Return the number in one domain of each element of another, -1 where it is none."""
        ranks = self.signature.ranks(target)
        return np.array([ranks.get(element, -1) for element in self.names(source)], dtype=np.int32)

    def most_related(self, name: str, position: int, bound: Sequence[int]) -> int:
        """Return how many elements, at most, stand at a position beside the same bound ones."""
        relation = self.signature[name]
        assert isinstance(relation, Relation)
        facts, places = self.facts(name), [*bound, position]
        sizes = [len(self.names(relation.sorts[i])) for i in places]
        if product(sizes) >= MOST_KEYS:
            return len(facts)
        pairs = _ascending(coded([facts[:, i] for i in places], sizes, len(facts)))
        keys = pairs // max(1, sizes[-1])
        ends = np.flatnonzero(np.diff(keys, append=-1))
        return int(np.diff(ends, prepend=-1).max(initial=0))

    def _codes(self, name: str) -> NDArray[np.int64]:
        """Return the facts of a relation as numbers, ascending."""
        relation = self.signature[name]
        assert isinstance(relation, Relation)
        facts, sizes = self.facts(name), [len(self.names(sort)) for sort in relation.sorts]
        return _ascending(coded(list(facts.T), sizes, len(facts)))

    def _integers(self, sort: str) -> NDArray[np.int64] | None:
        """Return the elements as integers, if all are, or an empty array if none is."""
        found = [bool(_INTEGER.fullmatch(element)) for element in self.names(sort)]
        if all(found):
            return np.array(list(map(int, self.names(sort))), dtype=np.int64)
        return None if any(found) else np.empty(0, dtype=np.int64)


def _ascending(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different codes, ascending."""
    ordered = np.sort(codes)
    return np.asarray(ordered[np.diff(ordered, prepend=-1) != 0])


def product(sizes: Sequence[int]) -> int:
    """Return how many rows columns of these sizes can have."""
    total = 1
    for size in sizes:
        total *= max(1, size)
    return total


def coded(columns: Sequence[NDArray[np.int64]], sizes: Sequence[int], count: int) -> NDArray[np.int64]:
    """Write rows as numbers, the last column counting fastest."""
    codes = np.zeros(count, dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        codes = codes * size + column
    return codes
