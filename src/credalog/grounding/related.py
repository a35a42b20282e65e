"""What stands beside an element in the facts of a large relation.

Input: a relation and one place of its facts. Output: `Rows`, sorted by that place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter

import numpy as np

from credalog.theory import Relation

__all__ = ["Rows"]


class Rows:
    """The facts of a large relation, sorted by what stands in one place of them."""

    def __init__(self, relation: Relation, place: int, ranks: Callable[[str], Mapping[str, int]]) -> None:
        self._facts, self._ranks, self._place = relation.facts, ranks, place
        self._first = ranks(relation.sorts[place])
        column = map(self._first.__getitem__, map(itemgetter(place), relation.facts))
        numbers = np.fromiter(column, dtype=np.int64, count=len(relation.facts))
        self._order = np.argsort(numbers, kind="stable")
        self._sorted = numbers[self._order]

    def related(self, element: str, position: int, sort: str) -> list[str]:
        """Return what stands in another place beside an element, in the order of its domain."""
        number = self._first.get(element)
        if number is None:
            return []
        start, end = np.searchsorted(self._sorted, (number, number + 1))
        ranks = self._ranks(sort)
        found = {self._facts[row][position] for row in self._order[start:end]}
        return sorted(found & ranks.keys(), key=ranks.__getitem__)
