"""Tables of whole numbers: products, sums, and the most that free laws make of them.

Input: tables over the states of variables, by their numbers. Output: tables without some of the variables.
The verifier of certificates stands on it, so it needs no arrays and rounds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import prod
from operator import add
from typing import NamedTuple, TypeAlias

from credalog.errors import ProblemTooLarge

__all__ = ["Axes", "Bounds", "Column", "Laws", "States", "eliminated", "extreme_sum", "summed_out"]

Column: TypeAlias = tuple[int, ...]
Axes: TypeAlias = Mapping[int, Sequence[int]]
"""The states that each variable may have."""

States: TypeAlias = tuple[tuple[int, ...], dict[Column, int]]
"""Variables, and a number for all their states."""

Laws: TypeAlias = Mapping[Column, Sequence[Sequence[int]]]
"""For all states of the parents the laws of a variable that may be chosen, each a number for every state."""

MOST_CELLS = 1 << 20
"""Larger tables are not gone through."""


class Bounds(NamedTuple):
    """The least and the greatest value of a function of some variables, none of them negative.

    Of a score, which may have either sign, the greatest counts.
    """

    over: tuple[int, ...]
    table: dict[Column, tuple[int, int]]

    @classmethod
    def of(cls, first: int, second: int, rows: Sequence[Sequence[tuple[int, int]]]) -> Bounds:
        """Return a table of two variables, a row for each state of the first."""
        return cls((first, second), {(r, s): p for r, row in enumerate(rows) for s, p in enumerate(row)})


def _cells(over: Iterable[int], axes: Axes) -> Iterable[Column]:
    """Return all states of some variables."""
    states = [axes[x] for x in over]
    if prod(map(len, states)) > MOST_CELLS:
        raise ProblemTooLarge(f"a table of {len(states)} variables is too large to be gone through")
    return product(*states)


def summed_out(parts: Iterable[States], hidden: Iterable[int], axes: Axes) -> list[States]:
    """Sum variables out of a product of tables, first those that meet fewest others."""
    left, waiting = set(hidden), list(parts)
    while left:
        around = {x: {y for own, _ in waiting if x in own for y in own} for x in left}
        x = min(left, key=lambda y: (len(around[y]), y))
        left.remove(x)
        waiting = eliminated(x, waiting, axes, join=add)
    return waiting


def eliminated(
    x: int, parts: Sequence[States], axes: Axes, *, join: Callable[[int, int], int]
) -> list[States]:
    """Join the states of one variable in a product of tables: add them up, or take the greatest."""
    near = [part for part in parts if x in part[0]]
    over = tuple({y for own, _ in near for y in own} - {x})
    table: dict[Column, int] = {}
    for states in _cells((*over, x), axes):
        world = dict(zip((*over, x), states, strict=True))
        value = prod(t[tuple(world[y] for y in own)] for own, t in near)
        table[states[:-1]] = join(table.get(states[:-1], 0), value)
    return [*(part for part in parts if x not in part[0]), (over, table)]


def extreme_sum(
    y: int, parents: Sequence[int], laws: Laws, near: Sequence[Bounds], score: Bounds | None, axes: Axes
) -> Bounds:
    """Sum y out, with the law that makes least and most of it in each state of all others by itself.

    Where the score is positive the greatest values of the other tables make most of it, else the least.
    """
    met = near if score is None else [*near, score]
    over = tuple(sorted({*parents, *(x for f in met for x in f.over)} - {y}))
    table: dict[Column, tuple[int, int]] = {}
    for states in _cells(over, axes):
        world, terms = dict(zip(over, states, strict=True)), list[tuple[int, int, int]]()
        for s in axes[y]:
            world[y] = s
            values = [f.table[tuple(world[x] for x in f.over)] for f in near]
            low, high = prod(least for least, _ in values), prod(most for _, most in values)
            if score is not None:
                _, worth = score.table[tuple(world[x] for x in score.over)]
                low = high = worth * (high if worth > 0 else low)
            terms.append((s, low, high))
        chosen = laws[tuple(world[x] for x in parents)]
        least = min(sum(law[s] * low for s, low, _ in terms) for law in chosen)
        table[states] = least, max(sum(law[s] * high for s, _, high in terms) for law in chosen)
    return Bounds(over, table)
