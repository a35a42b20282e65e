"""What stands beside some elements in the facts of a large relation.

Input: a relation's facts as numbers, and some places of them. Output: `Rows`, sorted by what stands there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from credalog.grounding.elements import Elements, coded
from credalog.theory import Relation

__all__ = ["Rows"]


class Rows:
    """The facts of a large relation, sorted by what stands in some places of them."""

    def __init__(self, elements: Elements, relation: Relation, places: Sequence[int]) -> None:
        self._elements, self._relation = elements, relation
        self._facts = elements.facts(relation.name)
        self._ranks = [elements.signature.ranks(relation.sorts[i]) for i in places]
        self._sizes = [len(ranks) for ranks in self._ranks]
        codes = coded([self._facts[:, i] for i in places], self._sizes, len(self._facts))
        self._order = np.argsort(codes, kind="stable")
        self._sorted = codes[self._order]
        # Every slice of a theory asks again for what stands beside the same elements.
        self.related = cache(self._related)

    def _related(self, key: tuple[str, ...], position: int, sort: str) -> list[str]:
        """Return what stands in another place beside some elements, in the order of its domain."""
        code = 0
        for element, ranks, size in zip(key, self._ranks, self._sizes, strict=True):
            if element not in ranks:
                return []
            code = code * size + ranks[element]
        start, end = np.searchsorted(self._sorted, (code, code + 1))
        found = np.unique(self._facts[self._order[start:end], position])
        source = self._relation.sorts[position]
        if sort != source:
            moved = self._elements.moved(source, sort)[found]
            found = np.sort(moved[moved >= 0])
        names = self._elements.names(sort)
        return [names[number] for number in found.tolist()]
