"""Sort the sentences of a large network by their form.

Input: `Sentences`. Output: `Shape`s, a template with its rows each, in which no two slots of a row hold the
same variable; together they hold every sentence once. What is computed for a template holds for all its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, groupby
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.network.columns import Block, Bounds, Kept, Mixed, Numbers, Sentences, filled, slot
from credalog.network.formulas import And, Formula, Iff, Implies, Is, Not, Or, Truth, Variable, Xor, canonical
from credalog.network.sentences import Sentence

__all__ = ["Key", "Shape", "distinct_rows", "formula_key", "packed", "shapes"]


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


# ---- keys -------------------------------------------------------------------------------------------------
# Compare formulas of a template row by row, without making them.
# Input: a formula over slots, and the numbers of the variables in them, row by row. Output: a shape and a
# matrix; the canonical forms of two formulas are equal exactly if their shapes are, and their rows.

Matrix: TypeAlias = NDArray[Any]
Key: TypeAlias = tuple[str, Matrix]
"""The shape of a formula, and what stands in it, row by row."""


def formula_key(formula: Formula, columns: dict[Variable, NDArray[Any]], count: int) -> Key:
    """Return the shape of a formula's canonical form, and a row of numbers for each row of the columns."""
    # Whatever stands in the slots, nested operands are flattened alike.
    return _key(canonical(formula), columns, count)


def _key(formula: Formula, columns: dict[Variable, NDArray[Any]], count: int) -> Key:
    match formula:
        case Truth(value):
            return str(value), np.empty((count, 0), dtype=np.int32)
        case Is(variable, value):
            return f"is {value!r}", columns[variable][:, None]
        case Not(operand):
            shape, rows = _key(operand, columns, count)
            return f"not({shape})", rows
        case And(operands) | Or(operands) | Xor(operands):
            return _commutative(type(formula).__name__, [_key(o, columns, count) for o in operands])
        case Iff(left, right):
            return _commutative("Iff", [_key(o, columns, count) for o in (left, right)])
        case Implies(premise, conclusion):
            one, other = _key(premise, columns, count), _key(conclusion, columns, count)
            return f"Implies({one[0]}; {other[0]})", np.hstack((one[1], other[1]))


def _commutative(name: str, keys: list[Key]) -> Key:
    """Sort operands, which can be equal only if their shapes are."""
    keys.sort(key=lambda key: key[0])
    rows = [_sorted([rows for _, rows in alike]) for _, alike in groupby(keys, key=lambda key: key[0])]
    return f"{name}({'; '.join(shape for shape, _ in keys)})", np.hstack(rows)


def _sorted(operands: list[Matrix]) -> Matrix:
    """Put operands of one shape into one order in every row."""
    if len(operands) == 1:
        return operands[0]
    if operands[0].shape[1] == 1:
        return np.sort(np.hstack(operands), axis=1)
    stacked = np.stack(operands)
    places = _places(stacked.reshape(-1, stacked.shape[2])).reshape(len(operands), -1)
    order = np.argsort(places, axis=0, kind="stable")
    return np.hstack(list(np.take_along_axis(stacked, order[:, :, None], axis=0)))


def _places(rows: Matrix) -> NDArray[np.int64]:
    """Give rows numbers, equal ones for equal rows."""
    return np.unique(packed(rows), return_inverse=True)[1].ravel()


def packed(rows: Matrix) -> NDArray[np.int64] | NDArray[np.void]:
    """Write every row as one value that is equal for equal rows only, a number where one is large enough."""
    if rows.shape[1] == 0:
        return np.zeros(len(rows), dtype=np.int64)
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    least = rows.min(axis=0)
    sizes = [int(size) for size in rows.max(axis=0).astype(np.int64) - least + 1]
    total, weights = 1, []
    for size in reversed(sizes):
        weights.append(total)
        total *= size
    if total < 2**62:
        number = np.zeros(len(rows), dtype=np.int64)
        for column, low, weight in zip(rows.T, least, reversed(weights), strict=True):
            number += (column - low).astype(np.int64) * weight
        return number
    whole = np.ascontiguousarray(rows)
    return whole.view([("", whole.dtype)] * whole.shape[1]).ravel()


def distinct_rows(rows: Matrix) -> NDArray[np.int64]:
    """Return the places at which a row stands for the first time, ascending."""
    return np.sort(np.unique(packed(rows), return_index=True)[1])


def same_rows(matrices: Sequence[Matrix]) -> Iterable[NDArray[np.int64]]:
    """Give the rows of several matrices of one width numbers, equal ones for equal rows."""
    ends = np.cumsum([len(rows) for rows in matrices])
    return np.split(_places(np.concatenate(matrices)), ends[:-1])
