"""Sort the sentences of a large network by their form.

Input: `Sentences`. Output: `Shape`s, a template with its rows each, in which no two slots of a row hold the
same variable; together they hold every sentence once. What is computed for a template holds for all its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from credalog.network.columns import Block, Bounds, Kept, Mixed, Numbers, Sentences, filled, slot
from credalog.network.sentences import Sentence

__all__ = ["Shape", "shapes"]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Sentences of one form: their numbers in the network, their variables and their bounds."""

    template: Sentence
    where: NDArray[np.int64]
    columns: Numbers
    bounds: Bounds


def shapes(sentences: Sentences) -> list[Shape]:
    """Sort sentences by form."""
    found: list[Shape] = []
    loose = _Loose()
    for start, part in sentences.numbered():
        if isinstance(part, Kept):
            loose.add_kept(start, part)
            continue
        blocks = zip(part.blocks, part.where, strict=True) if isinstance(part, Mixed) else _whole(part)
        for block, where in blocks:
            ordered = np.sort(block.columns, axis=1)
            repeats = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
            if repeats.any():
                loose.add(block, where + start, np.flatnonzero(repeats))
            regular = np.flatnonzero(~repeats)
            if len(regular):
                found.append(_shape(block, where + start, regular))
    return [*found, *loose.shapes()]


def _whole(block: Block) -> list[tuple[Block, NDArray[np.int64]]]:
    return [(block, np.arange(len(block)))]


def _shape(part: Block, where: NDArray[np.int64], rows: NDArray[np.int64]) -> Shape:
    template, bounds = part.template, part.bounds
    if bounds is None:
        none = np.zeros(len(rows), dtype=np.int32)
        bounds = Bounds((template.lower, template.upper), none, none + 1)
    else:
        bounds = bounds[rows]
    return Shape(template, where[rows], part.columns[rows], bounds)


class _Loose:
    """Sentences that are sorted one by one."""

    def __init__(self) -> None:
        self._rows: dict[Sentence, list[tuple[int, Sequence[int], Fraction, Fraction]]] = {}

    def add_kept(self, start: int, part: Kept) -> None:
        """Add sentences that are kept as they are."""
        counts = [len(sentence.scope) for sentence in part.sentences]
        numbers = part.numbers.tolist()
        for i, (sentence, end) in enumerate(zip(part.sentences, accumulate(counts), strict=True)):
            self._add(start + i, sentence, numbers[end - counts[i] : end])

    def add(self, part: Block, where: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Add rows of a block in which a variable stands in several slots."""
        for row in rows.tolist():
            numbers = list(dict.fromkeys(part.columns[row].tolist()))
            self._add(int(where[row]), part.sentence(row), numbers)

    def _add(self, number: int, sentence: Sentence, numbers: Sequence[int]) -> None:
        slots = {v: slot(i, v.values) for i, v in enumerate(sentence.scope)}
        claims = tuple((weight, filled(claim, slots)) for weight, claim in sentence.claims)
        given = filled(sentence.given, slots)
        template = Sentence(claims, given, Fraction(0), Fraction(1), sentence.tau, draws=sentence.draws)
        row = (number, numbers, sentence.lower, sentence.upper)
        self._rows.setdefault(template, []).append(row)

    def shapes(self) -> Iterator[Shape]:
        """Yield what was added, by form."""
        for template, rows in self._rows.items():
            bounds = {bound: i for i, bound in enumerate(dict.fromkeys(b for row in rows for b in row[2:]))}
            yield Shape(
                template,
                np.array([row[0] for row in rows], dtype=np.int64),
                np.array([row[1] for row in rows], dtype=np.int32).reshape(len(rows), len(template.scope)),
                Bounds(
                    tuple(bounds),
                    np.array([bounds[row[2]] for row in rows], dtype=np.int32),
                    np.array([bounds[row[3]] for row in rows], dtype=np.int32),
                ),
            )
