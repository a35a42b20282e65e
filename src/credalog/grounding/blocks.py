"""Ground a rule at once, as a block of columns.

Input: a compiled rule. Output: the template of its sentences, and a code for the variable in each slot, row
by row; nothing where an instance decides the form of a sentence, as facts inside P(...) do: such a rule is
grounded sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.grounding.codes import Coded, CodedLines, Codes
from credalog.grounding.elements import Column
from credalog.grounding.instances import InstanceTables, Table
from credalog.grounding.patterns import BUILDERS, Patterns, compare
from credalog.grounding.terms import Scope, Value
from credalog.network.columns import Block, Bounds, Kept, Naming, Sentences, Variables, slot
from credalog.network.formulas import BOOLEAN, FALSE, Formula, Is, Truth, Variable
from credalog.network.sentences import Sentence, Source
from credalog.network.shapes import distinct_rows, formula_key
from credalog.theory import (
    Application,
    Assessment,
    Boolean,
    Comparison,
    Compound,
    Name,
    Pattern,
    Predicate,
    RandomFunction,
    Rule,
    written,
)

__all__ = ["CodedBlock", "CodedPart", "CodedSentences", "Templates", "assembled"]

DENSE = 8
"""Codes that are at most so many times as many as atoms are counted in a table, others sorted."""


class Irregular(Exception):
    """The form of a sentence depends on the instance."""


# ---- templates --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CodedBlock:
    """A block before its variables are numbered."""

    template: Sentence
    codes: Coded
    naming: Naming | None
    bounds: Bounds | None = None

    def occurring(self, _codes: Codes) -> Coded:
        """Return the codes of all variables, in the order in which they occur."""
        return self.codes.ravel()

    def numbered(self, numbers: NDArray[np.int32], variables: Variables) -> Block:
        """Return the block with the numbers of its variables, which are given in one row."""
        columns = numbers.reshape(self.codes.shape)
        return Block(self.template, columns, variables, self.bounds, self.naming)


@dataclass(frozen=True, slots=True, eq=False)
class Instantiated:
    """The labels of a rule's instances."""

    label: str
    source: Source | None
    elements: tuple[tuple[str, ...], ...]
    columns: NDArray[np.int32]

    def of(self, row: int) -> tuple[str, Source | None]:
        """Return the label and the source of a row."""
        named = zip(self.elements, self.columns[row].tolist(), strict=True)
        return f"{self.label}[{','.join(written(names[place]) for names, place in named)}]", self.source


@dataclass(frozen=True, slots=True)
class CodedSentences:
    """Sentences that are kept as they are."""

    sentences: tuple[Sentence, ...]

    def occurring(self, codes: Codes) -> Coded:
        """Return the codes of all variables, in the order in which they occur."""
        return np.array([codes.of(v) for sentence in self.sentences for v in sentence.scope], dtype=np.int64)

    def numbered(self, numbers: NDArray[np.int32], _variables: Variables) -> Kept:
        """Return the sentences with the numbers of their variables."""
        return Kept(self.sentences, numbers)


CodedPart: TypeAlias = "CodedBlock | CodedSentences | CodedLines"

_Argument: TypeAlias = tuple[Predicate | RandomFunction, tuple[Value, ...]]


class Templates:
    """Makes blocks of rules over one signature."""

    def __init__(self, patterns: Patterns) -> None:
        self._patterns = patterns
        self._signature = patterns.signature
        self.elements = patterns.guards.elements
        self.codes = Codes(patterns.signature)

    def block(self, rule: Rule, tables: InstanceTables, scope: Scope) -> CodedBlock | None:
        """Ground a rule, unless its sentences have different forms."""
        slots = _Slots(self._patterns, scope)
        try:
            said = rule.assessment
            assert isinstance(said, Assessment)
            claims = tuple((w, slots.formula(claim)) for w, claim in said.claims)
            given = slots.formula(said.given)
            if len(claims) != 1 or isinstance(claims[0][1], Truth) or given == FALSE:
                return None
            bounds = (said.lower, said.upper)
            template = Sentence(claims, given, *bounds, rule.tau, rule.label, rule.source, rule.learned)
            found = list(tables.tables())
            atoms = [slots.arguments[variable] for variable in template.scope]
            codes = [self._codes(atoms, scope, tables, table) for table in found]
        except Irregular:
            return None
        if not codes:
            return CodedBlock(template, np.empty((0, len(atoms)), dtype=np.int64), None)
        return self._distinct(rule, scope, template, np.concatenate(codes), found)

    def _codes(self, atoms: Sequence[_Argument], scope: Scope, tables: InstanceTables, table: Table) -> Coded:
        """Return the code of the variable in each slot, row by row."""
        kind = np.int32 if self.codes.count < 2**31 else np.int64
        found = np.empty((table.count, len(atoms)), dtype=kind)
        for i, (declaration, arguments) in enumerate(atoms):
            sorted_by = zip(arguments, declaration.sorts, strict=True)
            columns = [self._column(value, sort, scope, tables, table) for value, sort in sorted_by]
            found[:, i] = self.codes.of_elements(declaration, columns, table.count)
        return found

    def _column(self, value: Value, sort: str, scope: Scope, tables: InstanceTables, table: Table) -> Column:
        """Return the numbers of an argument's elements."""
        ranks = self._signature.ranks(sort)
        if callable(value):
            elements = [value(environment) for environment in tables.strings(table)]
            column = np.array([-1 if e is None else ranks.get(e, -1) for e in elements], dtype=np.int32)
        elif isinstance(value, int):
            own = next(bound.sort for bound in scope.values() if bound.slot == value)
            column = table.columns[value]
            column = column if own == sort else self.elements.moved(own, sort)[column]
        else:
            column = np.full(table.count, ranks.get(value or "", -1), dtype=np.int32)
        if len(column) and column.min() < 0:
            # What is not defined matters only where the rest does not decide.
            raise Irregular
        return column

    def _distinct(
        self, rule: Rule, scope: Scope, template: Sentence, codes: Coded, tables: list[Table]
    ) -> CodedBlock:
        """Keep the first of the instances that say the same."""
        columns = dict(zip(template.scope, codes.T, strict=True))
        keys = [formula_key(f, columns, len(codes))[1] for f in (template.claim, template.given)]
        kept = distinct_rows(np.hstack(keys))
        named = None
        if rule.label and scope:
            bound = range(len(scope))
            elements = np.stack([np.concatenate([t.columns[i] for t in tables]) for i in bound], axis=1)
            names = tuple(self._signature.elements(b.sort) for b in sorted(scope.values()))
            named = Instantiated(rule.label, rule.source, names, elements[kept])
        return CodedBlock(template, codes[kept], named)


class _Slots:
    """From patterns to formulas over slots, one for each atom that is written."""

    def __init__(self, patterns: Patterns, scope: Scope) -> None:
        self._patterns, self._scope = patterns, scope
        self._found: dict[object, Variable] = {}
        self.arguments: dict[Variable, _Argument] = {}

    def formula(self, pattern: Pattern) -> Formula:
        match pattern:
            case Boolean(value):
                return Truth(value)
            case Name() | Application():
                variable = self._variable(pattern)
                if variable.values != BOOLEAN:
                    raise Irregular
                return Is(variable)
            case Compound(connective, operands):
                return BUILDERS[connective](*map(self.formula, operands))
            case Comparison(order, Name() | Application() as left, Name(value)) if value not in self._scope:
                variable = self._variable(left)
                if value not in variable.values or variable.values == BOOLEAN:
                    raise Irregular
                return compare(order, variable, value)
            case _:
                raise Irregular

    def _variable(self, term: Name | Application) -> Variable:
        """Return the slot of an atom."""
        declaration = self._patterns.signature[self._patterns.signature.resolved(term).name]
        if not isinstance(declaration, Predicate | RandomFunction):
            raise Irregular
        values = tuple(
            self._patterns.arguments(declaration, self._patterns.signature.resolved(term), self._scope)
        )
        # Functions of the instance are compiled anew each time, and are no two alike.
        key = (declaration.name, *(id(v) if callable(v) else (type(v), v) for v in values))
        if key not in self._found:
            values_of = self._patterns.signature.values
            of = values_of(declaration) if isinstance(declaration, RandomFunction) else BOOLEAN
            self._found[key] = slot(len(self._found), of)
            self.arguments[self._found[key]] = (declaration, values)
        return self._found[key]


# ---- one network ------------------------------------------------------------------------------------------


def assembled(
    first: Iterable[Variable],
    parts: Sequence[CodedPart],
    last: Iterable[Variable],
    codes: Codes,
) -> tuple[Variables, Sentences]:
    """Give the variables numbers in the order in which they occur, and put them into the blocks."""
    rows = [np.array([codes.of(v) for v in first], dtype=np.int64)]
    rows += [part.occurring(codes) for part in parts]
    rows.append(np.array([codes.of(v) for v in last], dtype=np.int64))
    order, numbers = _numbered(np.concatenate(rows), codes.count)
    variables = Variables(order, codes.sizes(order), codes)
    ends = np.cumsum([len(row) for row in rows])
    cut = np.split(numbers, ends[:-1])[1:-1]
    found = [part.numbered(own, variables) for part, own in zip(parts, cut, strict=True)]
    return variables, Sentences(found, variables)


def _numbered(occurring: Coded, count: int) -> tuple[Coded, NDArray[np.int32]]:
    """Return the codes that occur, in order of first occurrence, and the place of each in that order."""
    if count > DENSE * len(occurring) + 1000:
        known, first, places = np.unique(occurring, return_index=True, return_inverse=True)
        order = np.argsort(first)
        number = np.empty(len(known), dtype=np.int32)
        number[order] = np.arange(len(known), dtype=np.int32)
        return known[order], number[places.ravel()]
    earliest = np.full(count, -1, dtype=np.int64)
    # Of several assignments to one place the last one counts: that of the first occurrence.
    earliest[occurring[::-1]] = np.arange(len(occurring) - 1, -1, -1)
    known = np.flatnonzero(earliest >= 0)
    order = known[np.argsort(earliest[known])]
    number = np.empty(count, dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return order, number[occurring]
