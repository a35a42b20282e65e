"""The truth of formulas as rows and columns of a 0/1 program.

Input: variables and formulas over them. Output: `TruthRows`: for each formula a linear expression that is 1
where it is true and 0 where it is false, and the rows that make it so; and worlds read off points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.network.formulas import And, Formula, Iff, Implies, Is, Not, Or, Truth, Variable, Xor
from credalog.program.program import Floats
from credalog.program.solvers.columns import BinaryProgram

__all__ = ["TruthRows", "TruthSum"]


@dataclass(frozen=True, slots=True)
class TruthSum:
    """A constant and multiples of columns: the truth of a formula, 0 or 1, as a linear expression."""

    constant: float
    factors: tuple[tuple[int, float], ...] = ()

    def at(self, point: Floats) -> float:
        """Return its value at a point."""
        return self.constant + sum(float(point[column]) * factor for column, factor in self.factors)

    def negated(self) -> TruthSum:
        """Return 1 minus this."""
        return TruthSum(1.0 - self.constant, self.times(-1.0).factors)

    def times(self, weight: float) -> TruthSum:
        """Return a multiple of this."""
        return TruthSum(weight * self.constant, tuple((c, weight * factor) for c, factor in self.factors))


class TruthRows:
    """The rows and columns that tie the truth of formulas to the values of variables.

    One 0/1 column per two-valued variable, and per value of any other; one column between 0 and 1 per
    connective, which its rows determine: z = x and y means z <= x, z <= y and x + y <= z + 1.
    """

    def __init__(self, variables: Sequence[Variable]) -> None:
        self._number = {v: i for i, v in enumerate(variables)}
        self._known: dict[Formula, TruthSum] = {}
        self._entries: list[tuple[int, int, float]] = []
        self._upper: list[float] = []
        self.columns = 0
        self._values = [self._columns_of(variable) for variable in variables]
        self._whole = self.columns

    def truth(self, formula: Formula) -> TruthSum:
        """Return the truth of a formula, and add the rows that determine it."""
        found = self._known.get(formula)
        if found is None:
            found = self._known[formula] = self._express(formula)
        return found

    def demand(self, formula: Formula) -> None:
        """Exclude the worlds where a formula fails."""
        if isinstance(formula, Or):
            self.at_most((TruthSum(1.0),), [self.truth(o) for o in formula.operands])
        else:
            self.at_most((TruthSum(1.0),), (self.truth(formula),))

    def program(self, *, continuous: Iterable[Variable] = ()) -> BinaryProgram:
        """Return all rows as a 0/1 program, in which some variables may be left continuous.

        Of these the rows say no more than Frechet's inequalities between probabilities.
        """
        rows, columns, factors = zip(*self._entries, strict=True) if self._entries else ((), (), ())
        matrix = sp.csr_array((factors, (rows, columns)), shape=(len(self._upper), self.columns))
        upper = np.array(self._upper)
        integer = np.arange(self.columns) < self._whole
        for variable in continuous:
            integer[[c for value in self._values[self._number[variable]] for c, _ in value.factors]] = False
        return BinaryProgram(matrix, (np.full(len(upper), -np.inf), upper), integer)

    def gains(self, terms: Iterable[TruthSum]) -> Floats:
        """Return what each column adds to a sum of expressions."""
        gains = np.zeros(self.columns)
        for term in terms:
            for column, factor in term.factors:
                gains[column] += factor
        return gains

    def world(self, point: Floats) -> NDArray[np.int64]:
        """Read a world from a point of the program: the number of each variable's most nearly true value."""
        truths = [[value.at(point) for value in values] for values in self._values]
        return np.array([int(np.argmax(truth)) for truth in truths], dtype=np.int64)

    def _column(self) -> TruthSum:
        self.columns += 1
        return TruthSum(0.0, ((self.columns - 1, 1.0),))

    def _columns_of(self, variable: Variable) -> tuple[TruthSum, ...]:
        """Return the truth of each of a variable's values."""
        if len(variable.values) == 2:
            second = self._column()
            return (second.negated(), second)
        values = tuple(self._column() for _ in variable.values)
        self.at_most(values, (TruthSum(1.0),))
        self.at_most((TruthSum(1.0),), values)
        return values

    def at_most(self, left: Sequence[TruthSum], right: Sequence[TruthSum]) -> None:
        """Demand that the terms on the left add up to at most those on the right."""
        row = len(self._upper)
        for sign, terms in ((1.0, left), (-1.0, right)):
            self._entries += [(row, column, sign * f) for term in terms for column, f in term.factors]
        self._upper.append(sum(t.constant for t in right) - sum(t.constant for t in left))

    def _express(self, formula: Formula) -> TruthSum:
        match formula:
            case Truth(value):
                return TruthSum(float(value))
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

    def _all(self, terms: Sequence[TruthSum]) -> TruthSum:
        every = self._column()
        for term in terms:
            self.at_most((every,), (term,))
        self.at_most(terms, (every, TruthSum(len(terms) - 1.0)))
        return every

    def _odd(self, terms: Sequence[TruthSum]) -> TruthSum:
        parity = terms[0]
        for term in terms[1:]:
            odd = self._column()
            self.at_most((odd,), (parity, term))
            self.at_most((odd,), (parity.negated(), term.negated()))
            self.at_most((parity,), (odd, term))
            self.at_most((term,), (odd, parity))
            parity = odd
        return parity
