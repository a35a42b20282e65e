"""Pricing by integer programming, for formulas too entangled for elimination.

Input: events, and a worth for each. Output: worlds of great worth, found by climbing where possible, and the
0/1 solver's bound where climbing finds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import assert_never

import numpy as np
import scipy.sparse as sp

from credalog.methods.columns.climbing import Landscape
from credalog.methods.columns.events import WIDEST, Events, Priced, Worlds
from credalog.network.formulas import And, Formula, Iff, Implies, Is, Not, Or, Truth, Variable, Xor
from credalog.numbers.budget import Budget
from credalog.program.program import Floats
from credalog.program.solvers.columns import BinaryProgram

__all__ = ["IntegerProgram"]

STARTS = 32
"""Random worlds to climb from; as many of the last worlds found are tried again."""

COLUMNS = 16
"""Worlds handed back at a time."""


@dataclass(frozen=True, slots=True)
class _Sum:
    """A constant and multiples of columns: the truth of a formula, 0 or 1, as a linear expression."""

    constant: float
    factors: tuple[tuple[int, float], ...] = ()

    def at(self, point: Floats) -> float:
        """Return its value at a point."""
        return self.constant + sum(float(point[column]) * factor for column, factor in self.factors)

    def negated(self) -> _Sum:
        """Return 1 minus this."""
        return _Sum(1.0 - self.constant, tuple((column, -factor) for column, factor in self.factors))


class _Rows:
    """The rows and columns that tie the truth of formulas to the values of variables.

    One 0/1 column per two-valued variable, and per value of any other; one column between 0 and 1 per
    connective, which its rows determine: z = x and y means z <= x, z <= y and x + y <= z + 1.
    """

    def __init__(self, events: Events) -> None:
        self._number = events.number
        self._known: dict[Formula, _Sum] = {}
        self._entries: list[tuple[int, int, float]] = []
        self._upper: list[float] = []
        self.columns = 0
        self._values = [self._columns_of(variable) for variable in events.variables]
        self._integers = self.columns

    def truth(self, formula: Formula) -> _Sum:
        """Return the truth of a formula, and add the rows that determine it."""
        if formula not in self._known:
            self._known[formula] = self._express(formula)
        return self._known[formula]

    def demand(self, formula: Formula) -> None:
        """Exclude the worlds where a formula fails."""
        if isinstance(formula, Or):
            self._row((_Sum(1.0),), [self.truth(o) for o in formula.operands])
        else:
            self._row((_Sum(1.0),), (self.truth(formula),))

    def program(self) -> BinaryProgram:
        """Return all rows as a 0/1 program."""
        rows, columns, factors = zip(*self._entries, strict=True) if self._entries else ((), (), ())
        matrix = sp.csr_array((factors, (rows, columns)), shape=(len(self._upper), self.columns))
        upper = np.array(self._upper)
        integer = np.arange(self.columns) < self._integers
        return BinaryProgram(matrix, (np.full(len(upper), -np.inf), upper), integer)

    def world(self, point: Floats) -> Worlds:
        """Read a world from a point of the program: each variable's most nearly true value."""
        truths = [[value.at(point) for value in values] for values in self._values]
        return np.array([[int(np.argmax(truth)) for truth in truths]])

    def _column(self) -> _Sum:
        self.columns += 1
        return _Sum(0.0, ((self.columns - 1, 1.0),))

    def _columns_of(self, variable: Variable) -> tuple[_Sum, ...]:
        """Return the truth of each of a variable's values."""
        if len(variable.values) == 2:
            second = self._column()
            return (second.negated(), second)
        values = tuple(self._column() for _ in variable.values)
        self._row(values, (_Sum(1.0),))
        self._row((_Sum(1.0),), values)
        return values

    def _row(self, left: Sequence[_Sum], right: Sequence[_Sum]) -> None:
        """Demand that the terms on the left add up to at most those on the right."""
        row = len(self._upper)
        for sign, terms in ((1.0, left), (-1.0, right)):
            self._entries += [(row, column, sign * f) for term in terms for column, f in term.factors]
        self._upper.append(sum(t.constant for t in right) - sum(t.constant for t in left))

    def _express(self, formula: Formula) -> _Sum:
        match formula:
            case Truth(value):
                return _Sum(float(value))
            case Is(variable, value):
                return self._values[self._number[variable]][variable.values.index(value)]
            case Not(operand):
                return self.truth(operand).negated()
            case And(operands):
                return self._all([self.truth(o) for o in operands])
            case Or(operands):
                return self._all([self.truth(o).negated() for o in operands]).negated()
            case Xor(operands):
                return self._odd([self.truth(o) for o in operands])
            case Implies(premise, conclusion):
                return self._all([self.truth(premise), self.truth(conclusion).negated()]).negated()
            case Iff(left, right):
                return self._odd([self.truth(left), self.truth(right)]).negated()
            case _:
                assert_never(formula)

    def _all(self, terms: Sequence[_Sum]) -> _Sum:
        every = self._column()
        for term in terms:
            self._row((every,), (term,))
        self._row(terms, (every, _Sum(len(terms) - 1.0)))
        return every

    def _odd(self, terms: Sequence[_Sum]) -> _Sum:
        parity = terms[0]
        for term in terms[1:]:
            odd = self._column()
            self._row((odd,), (parity, term))
            self._row((odd,), (parity.negated(), term.negated()))
            self._row((parity,), (odd, term))
            self._row((term,), (odd, parity))
            parity = odd
        return parity


class IntegerProgram:
    """Find the world of greatest worth by climbing, and by a 0/1 program where that finds nothing."""

    proves = False

    def __init__(self, events: Events) -> None:
        self._events = events
        self._landscape = Landscape.of(events) if events.widest <= WIDEST else None
        self._rows = _Rows(events)
        self._truths = [self._rows.truth(formula) for formula in events.formulas]
        for formula in events.certain:
            self._rows.demand(formula)
        self._program = self._rows.program()
        self._rng = np.random.default_rng(0)
        self._recent = self._random_worlds()

    def best(self, worth: Floats, *, enough: float, budget: Budget) -> Priced:
        """Return worlds worth more than `enough` if climbing finds some, else the solver's best and bound."""
        if self._landscape is not None:
            self._recent = self._landscape.climb(worth, np.concatenate([self._recent, self._random_worlds()]))
            self._recent = self._recent[:STARTS]
            good = self._events.admit(self._recent)
            good = good[worth @ self._events.truth(good) > enough]
            if len(good):
                return Priced(good[:COLUMNS], inf)
        return self._solve(worth, enough, budget)

    def _random_worlds(self) -> Worlds:
        return self._rng.integers(0, self._events.sizes, size=(STARTS, len(self._events.variables)))

    def _solve(self, worth: Floats, enough: float, budget: Budget) -> Priced:
        gains, constant = np.zeros(self._rows.columns), 0.0
        for value, truth in zip(worth, self._truths, strict=True):
            constant += value * truth.constant
            for column, factor in truth.factors:
                gains[column] += value * factor
        claim = self._program.maximize(gains, gap=enough, timeout=budget.for_solver)
        worlds = self._recent[:0] if claim.point is None else self._rows.world(claim.point)
        return Priced(worlds, claim.bound + constant)
