"""Put questions that share work next to each other.

Input: questions, and the model they are put to. Output: the same, ordered by the part of the network that
bears on them: the variables they mention, with all ancestors of these; then by these variables, and by what
is observed. What a worker keeps of one question, its answer, relevance, plans and tables, serves the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from credalog.batches.items import Item
from credalog.lcn import LCN

__all__ = ["grouped", "grouped_by_model"]

NAME = re.compile(r"\b(?=([^\W\d]\w*(?:\([^()|]*\))?))")
"""A word that may be the name of a variable, with the elements it is about; others may begin inside: P(a)."""


def grouped(items: Iterable[Item], model: LCN) -> list[Item]:
    """Return questions about one model, those about the same part of it together."""
    if model.is_large:
        return list(items)
    parts = _Parts(model)
    return sorted(items, key=parts.key)


def grouped_by_model(items: Iterable[Item]) -> list[Item]:
    """Return questions about many models, those about the same one together, in the order of appearance."""
    first: dict[str, int] = {}
    return sorted(items, key=lambda item: first.setdefault(item.model, len(first)))


class _Parts:
    """The part of a network that bears on each question, as the bits of a number."""

    def __init__(self, model: LCN) -> None:
        graph = model.graph
        self._parts: dict[int, int] = {}
        self._mentioned: dict[int, int] = {}
        self._conditions: dict[str, int] = {}
        self._number = {v.name.replace(" ", ""): i for i, v in enumerate(graph.variables)}
        self._above = _ancestors(graph.parent_indices)

    def key(self, item: Item) -> tuple[int, int, int]:
        """Return what questions that share work have alike: a part, variables, and what is observed."""
        part = mentioned = 0
        for word in _words(item):
            number = self._number.get(word)
            if number is not None:
                part |= self._above[number]
                mentioned |= 1 << number
        observed = f"{item.query.partition('|')[2]} {item.given}"
        return (
            self._parts.setdefault(part, len(self._parts)),
            self._mentioned.setdefault(mentioned, len(self._mentioned)),
            self._conditions.setdefault(observed, len(self._conditions)),
        )


def _words(item: Item) -> Iterable[str]:
    text = item.query if not isinstance(item.given, str) else f"{item.query} {item.given}"
    yield from (word.replace(" ", "") for word in NAME.findall(text))
    if not isinstance(item.given, str):
        yield from (name.replace(" ", "") for name, _ in item.given)


def _ancestors(parents: Sequence[Sequence[int]]) -> list[int]:
    """Return each variable with its ancestors, as bits; a cycle of parents is followed until it closes."""
    above = [1 << i for i in range(len(parents))]
    changed = True
    while changed:
        changed = False
        for child, its in enumerate(parents):
            found = above[child]
            for parent in its:
                found |= above[parent]
            if found != above[child]:
                above[child], changed = found, True
    return above
