"""Ground a rule at once, as a block of columns.

Input: a compiled rule. Output: the template of its sentences, and a code for the variable in each slot, row
by row; nothing where an instance decides the form of a sentence, as facts inside P(...) do: such a rule is
grounded sentence by sentence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.grounding.elements import Column
from credalog.grounding.instances import InstanceTables, Table
from credalog.grounding.patterns import BUILDERS, Patterns, compare
from credalog.grounding.terms import Scope, Signature, Value
from credalog.network.columns import Block, Kept, Sentences, Variables, slot
from credalog.network.formulas import BOOLEAN, FALSE, Formula, Is, Truth, Variable
from credalog.network.keys import distinct_rows, formula_key
from credalog.network.sentences import Sentence, Source
from credalog.theory import (
    Application,
    Boolean,
    Comparison,
    Compound,
    Name,
    Pattern,
    Predicate,
    RandomFunction,
    Rule,
    term_of,
    written,
)

__all__ = ["Codes", "CodedBlock", "Templates", "assembled"]

Coded: TypeAlias = NDArray[np.int64]
"""Codes of variables; where they are few, the numbers are shorter ones."""

DENSE = 8
"""Codes that are at most so many times as many as atoms are counted in a table, others sorted."""


class Irregular(Exception):
    """The form of a sentence depends on the instance."""


# ---- variables as numbers ---------------------------------------------------------------------------------


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
        term = Name(variable.name) if self._signature[variable.name] else term_of(variable.name)
        number = self._number.get(term.name) if isinstance(term, Name | Application) else None
        if number is None:
            return self.of_name(variable.name)
        arguments = term.arguments if isinstance(term, Application) else ()
        declaration = self._declared[number]
        code = 0
        for argument, sort in zip(arguments, declaration.sorts, strict=True):
            ranks = self._signature.ranks(sort)
            assert isinstance(argument, Name)
            code = code * len(ranks) + ranks[argument.name]
        return code + self._bases[number]

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


# ---- templates --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CodedBlock:
    """A block before its variables are numbered."""

    template: Sentence
    codes: Coded
    naming: Instantiated | None

    def numbered(self, numbers: NDArray[np.int32], variables: Variables) -> Block:
        """Return the block with the numbers of its variables, which are given in one row."""
        return Block(self.template, numbers.reshape(self.codes.shape), variables, naming=self.naming)


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
            claims = tuple((w, slots.formula(claim)) for w, claim in rule.assessment.claims)
            given = slots.formula(rule.assessment.given)
            if len(claims) != 1 or isinstance(claims[0][1], Truth) or given == FALSE:
                return None
            bounds = (rule.assessment.lower, rule.assessment.upper)
            template = Sentence(claims, given, *bounds, rule.tau, rule.label, rule.source)
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
    parts: Sequence[CodedBlock | tuple[Sentence, ...]],
    last: Iterable[Variable],
    codes: Codes,
) -> tuple[Variables, Sentences]:
    """Give the variables numbers in the order in which they occur, and put them into the blocks."""
    rows = [np.array([codes.of(v) for v in first], dtype=np.int64)]
    rows += [_occurring(part, codes) for part in parts]
    rows.append(np.array([codes.of(v) for v in last], dtype=np.int64))
    order, numbers = _numbered(np.concatenate(rows), codes.count)
    variables = Variables(order, codes.sizes(order), codes)
    ends = np.cumsum([len(row) for row in rows])
    cut = np.split(numbers, ends[:-1])[1:-1]
    return variables, Sentences(
        part.numbered(own, variables) if isinstance(part, CodedBlock) else Kept(part, own)
        for part, own in zip(parts, cut, strict=True)
    )


def _occurring(part: CodedBlock | tuple[Sentence, ...], codes: Codes) -> Coded:
    if isinstance(part, CodedBlock):
        return part.codes.ravel()
    return np.array([codes.of(v) for sentence in part for v in sentence.scope], dtype=np.int64)


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
