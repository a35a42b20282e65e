"""Compare formulas of a template row by row, without making them.

Input: a formula over slots, and the numbers of the variables in them, row by row. Output: a shape and a
matrix; the canonical forms of two formulas are equal exactly if their shapes are, and their rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.network.formulas import (
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
)

__all__ = ["Key", "distinct_rows", "formula_key", "packed"]

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
