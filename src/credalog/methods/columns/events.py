"""Formulas whose truth matters, and the question which world is worth most.

Input: formulas over finite variables. Output: their truth in given worlds, and the contract of a `Pricer`:
when every formula that is true in a world has a worth, positive or negative, it finds worlds of great worth
and a bound that no world passes.

Worlds are rows of value numbers, one per variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import Protocol, assert_never

import numpy as np
from numpy.typing import NDArray

from credalog.network.formulas import And, Formula, Iff, Implies, Is, Not, Or, Truth, Variable, Xor, scope
from credalog.numbers.budget import Budget
from credalog.program.program import Floats

__all__ = ["WIDEST", "Events", "Priced", "Pricer", "Worlds"]

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
