"""A number for every ground variable.

Input: a signature, and columns of elements. Output: codes, from which names are made on demand.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.grounding.elements import Column
from credalog.grounding.terms import Signature
from credalog.network.formulas import BOOLEAN, Variable
from credalog.theory import Application, Name, Predicate, RandomFunction, term_of, written

__all__ = ["Coded", "Codes"]

Coded: TypeAlias = NDArray[np.int64]
"""Codes of variables; where they are few, the numbers are shorter ones."""


class Codes:
    """A number for every ground variable that a signature allows, and the way back to its name."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        found = (signature[name] for name in signature.names((Predicate, RandomFunction)))
        self._declared = [d for d in found if isinstance(d, Predicate | RandomFunction)]
        self._number = {d.name: i for i, d in enumerate(self._declared)}
        counts = (self._count(declaration) for declaration in self._declared)
        self._bases = [0, *accumulate(counts)]
        self._others: dict[str, int] = {}
        self._names: list[str] = []

    def _count(self, declaration: Predicate | RandomFunction) -> int:
        total = 1
        for size in self._sizes(declaration):
            total *= size
        return total

    def _sizes(self, declaration: Predicate | RandomFunction) -> list[int]:
        return [len(self._signature.ranks(sort)) for sort in declaration.sorts]

    @property
    def count(self) -> int:
        """Return a number that no code reaches."""
        return self._bases[-1] + len(self._names)

    def of_elements(
        self, declaration: Predicate | RandomFunction, columns: Sequence[Column], count: int
    ) -> Coded:
        """Return the codes of a declaration's variables for columns of arguments."""
        if isinstance(declaration, Predicate) and declaration.symmetric and len(columns) > 1:
            columns = list(np.sort(np.stack(columns), axis=0))
        codes = np.zeros(count, dtype=np.int64)
        for column, size in zip(columns, self._sizes(declaration), strict=True):
            codes = codes * size + column
        return codes + self._bases[self._number[declaration.name]]

    def of(self, variable: Variable) -> int:
        """Return the code of a ground variable."""
        found = self.find(variable.name)
        return self.of_name(variable.name) if found is None else found

    def find(self, name: str) -> int | None:
        """Return the code that a name has; None where no variable of the signature has it."""
        if name in self._others:
            return self._others[name] + self._bases[-1]
        term = Name(name) if self._signature[name] else term_of(name)
        number = self._number.get(term.name) if isinstance(term, Name | Application) else None
        if number is None:
            return None
        arguments = term.arguments if isinstance(term, Application) else ()
        declaration, code = self._declared[number], 0
        if len(arguments) != len(declaration.sorts):
            return None
        for argument, sort in zip(arguments, declaration.sorts, strict=True):
            ranks = self._signature.ranks(sort)
            if not isinstance(argument, Name) or argument.name not in ranks:
                return None
            code = code * len(ranks) + ranks[argument.name]
        return code + self._bases[number]

    def of_proposition(self, name: str) -> int:
        """Return the code of a proposition, declared or not."""
        number = self._number.get(name)
        return self.of_name(name) if number is None else self._bases[number]

    def of_name(self, name: str) -> int:
        """Return the code of a proposition that is not declared."""
        found = self._others.setdefault(name, len(self._names))
        if found == len(self._names):
            self._names.append(name)
        return found + self._bases[-1]

    def __call__(self, code: int) -> Variable:
        """Return the variable of a code."""
        if code >= self._bases[-1]:
            return Variable(self._names[code - self._bases[-1]])
        number = bisect_right(self._bases, code) - 1
        declaration, rest = self._declared[number], code - self._bases[number]
        elements: list[str] = []
        for sort in reversed(declaration.sorts):
            names = self._signature.elements(sort)
            rest, place = divmod(rest, len(names))
            elements.append(written(names[place]))
        name = f"{declaration.name}({','.join(reversed(elements))})" if elements else declaration.name
        return Variable(name, self._values(declaration))

    def _values(self, declaration: Predicate | RandomFunction) -> tuple[str, ...]:
        return self._signature.values(declaration) if isinstance(declaration, RandomFunction) else BOOLEAN

    def sizes(self, codes: Coded) -> Coded:
        """Return how many values each variable has."""
        by_declaration = np.array([len(self._values(d)) for d in self._declared] + [2], dtype=np.int64)
        return by_declaration[np.searchsorted(np.array(self._bases), codes, side="right") - 1]
