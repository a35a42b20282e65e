"""A number for every ground variable.

Input: a signature, and columns of elements. Output: codes, from which names are made on demand.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.grounding.elements import Column
from credalog.grounding.patterns import Patterns
from credalog.grounding.terms import Signature
from credalog.network.columns import Block, Bounds, Mixed, Numbers, Variables, filled, slot
from credalog.network.formulas import BOOLEAN, FALSE, Formula, Truth, Variable
from credalog.network.sentences import Sentence, Source
from credalog.theory import (
    Application,
    Assessment,
    Name,
    Predicate,
    RandomFunction,
    Rule,
    Theory,
    term_of,
    written,
)
from credalog.theory.rules import NONE, Form, Lines

__all__ = ["Coded", "CodedLines", "Codes", "are_propositions", "template_of"]

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


# ---- lines ------------------------------------------------------------------------------------------------
# Ground lines of plain sentences.
# Input: `Lines`. Output: a block for each of their forms, before variables are numbered.


@dataclass(frozen=True, slots=True, eq=False)
class _LineNames:
    lines: Lines
    where: NDArray[np.int64]

    def of(self, row: int) -> tuple[str, Source | None]:
        return self.lines.naming(int(self.where[row]))


@dataclass(frozen=True, slots=True, eq=False)
class CodedLines:
    """The blocks of lines, and the codes of their variables."""

    lines: Lines
    templates: tuple[Sentence, ...]

    def occurring(self, codes: Codes) -> Coded:
        """Return the codes of all variables, in the order in which they occur."""
        code_of = self._code_of(codes)
        starts = self._starts()
        flat = np.empty(starts[-1], dtype=np.int64)
        for template, form in zip(self.templates, self.lines.forms, strict=True):
            found = code_of[form.columns[:, _order(template)]]
            flat[starts[form.where][:, None] + np.arange(found.shape[1])] = found
        return flat

    def _starts(self) -> NDArray[np.int64]:
        widths = np.array([len(template.scope) for template in self.templates], dtype=np.int64)
        return np.concatenate([[0], np.cumsum(widths[self.lines.form_of])])

    def _code_of(self, codes: Codes) -> Coded:
        """Return the code of each word that is a name."""
        code_of = np.full(len(self.lines.words.spelt), -1, dtype=np.int64)
        is_name = np.zeros(len(code_of), dtype=np.bool_)
        for form in self.lines.forms:
            is_name[form.columns] = True
        for word in np.flatnonzero(is_name).tolist():
            code_of[word] = codes.of_proposition(self.lines.words.spelt[word])
        return code_of

    def numbered(self, numbers: NDArray[np.int32], variables: Variables) -> Mixed:
        """Return the blocks with the numbers of their variables, which are given in one row."""
        starts, lines = self._starts(), self.lines
        blocks = []
        for template, form in zip(self.templates, lines.forms, strict=True):
            columns: Numbers = numbers[starts[form.where][:, None] + np.arange(len(template.scope))]
            naming = _LineNames(lines, form.where)
            blocks.append(Block(template, columns, variables, _bounds(lines, form), naming))
        return Mixed(tuple(blocks), tuple(form.where for form in lines.forms), lines.form_of, lines.row_of)


def _order(template: Sentence) -> list[int]:
    """Return which column stands in each slot; slots are numbered like columns."""
    return [int(variable.name[1:]) for variable in template.scope]


def _bounds(lines: Lines, form: Form) -> Bounds:
    """Return the bounds of each line, as places in a list of the numbers that occur."""
    said = form.said
    words = np.unique(np.concatenate([form.lower, form.upper]))
    words = words[words != NONE]
    numbers: list[Fraction] = [found for i in words if (found := lines.words.numbers[i]) is not None]
    ends = []
    for own, bound in ((form.lower, said.lower), (form.upper, said.upper)):
        numbers.append(bound)
        places = np.searchsorted(words, own)
        ends.append(np.where(own == NONE, len(numbers) - 1, places).astype(np.int32))
    return Bounds(tuple(numbers), ends[0], ends[1])


def template_of(rule: Rule, names: tuple[str, ...]) -> Sentence | None:
    """Return the sentence of a rule over placeholders, with slots for them; None if it is decided."""
    patterns = Patterns(Signature(Theory()))
    slots = {Variable(name): slot(i, Variable(name).values) for i, name in enumerate(names)}

    def formula(compiled: object) -> Formula:
        assert isinstance(compiled, Formula)
        return filled(compiled, slots)

    said = rule.assessment
    assert isinstance(said, Assessment)
    claims = tuple((weight, formula(patterns.formula(claim, {}))) for weight, claim in said.claims)
    given = formula(patterns.formula(said.given, {}))
    if isinstance(claims[0][1], Truth) or given == FALSE:
        return None
    return Sentence(claims, given, said.lower, said.upper, rule.tau)


def are_propositions(lines: Lines, signature: Signature) -> bool:
    """Tell whether all names of lines are propositions, declared or, where that is allowed, not."""
    if signature.is_empty:
        return True
    return all(_is_proposition(name, signature) for name in lines.names)


def _is_proposition(name: str, signature: Signature) -> bool:
    declared = signature[name]
    if declared is None:
        return not signature.is_strict and not signature.is_listed(name)
    return isinstance(declared, Predicate) and not declared.sorts
