"""Compute the numbers of a rule from constants and tables.

Input: a `Computed` body, and the logical variables in scope. Output: for each instance the exact weights and
bounds, and the rows of tables they come from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple, TypeAlias, assert_never

from credalog.errors import UnknownName
from credalog.grounding.terms import Environment, Maker, Scope, Terms, applied, as_maker, nearest
from credalog.network.sentences import Source
from credalog.theory import (
    Amount,
    Application,
    Arithmetic,
    Assessment,
    Computed,
    Constant,
    ContrastAssessment,
    Misstatement,
    Name,
    NumberFunction,
    arithmetic,
    settled_body,
)


class Figure(NamedTuple):
    """An exact number, and the rows of tables it was computed from."""

    value: Fraction
    rows: tuple[Source, ...] = ()


Figures: TypeAlias = Figure | Maker[Figure]
"""A number, or its maker where it depends on the instance."""

NO_NUMBERS = ("nan", "inf", "infinity", "none", "null", "na", "unknown")
"""What other programs write where they have no number."""


class Body(NamedTuple):
    """The numbers of one rule: a weight for each claim, and the bounds that are given."""

    weights: tuple[Figures, ...]
    lower: Figures | None
    upper: Figures | None
    is_about: bool

    def of(
        self, environment: Environment
    ) -> tuple[list[Fraction], list[Fraction | None], tuple[Source, ...]]:
        """Return the weights, the two bounds and the rows of one instance."""
        weights = [as_maker(weight)(environment) for weight in self.weights]
        ends = [None if end is None else as_maker(end)(environment) for end in (self.lower, self.upper)]
        used = dict.fromkeys(row for figure in (*weights, *ends) if figure is not None for row in figure.rows)
        bounds = [None if end is None else end.value for end in ends]
        return [weight.value for weight in weights], bounds, tuple(used)


def settled(computed: Computed, body: Body) -> Assessment | ContrastAssessment | Body:
    """Return the body of a rule with its numbers where no instance changes them."""
    if not all(isinstance(figure, Figure | None) for figure in (*body.weights, body.lower, body.upper)):
        return body
    weights, (lower, upper), rows = body.of([])
    terms = tuple((weight, claim) for weight, (_, claim) in zip(weights, computed.claims, strict=True))
    givens = computed.givens or (computed.given,) * len(terms)
    try:
        found = settled_body(terms, givens, lower, upper, is_about=body.is_about)
    except Misstatement as error:
        raise at_rows(error, rows) from None
    return body if rows else found


class Amounts:
    """A compiler of amounts over one signature."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._tables: dict[str, dict[tuple[str, ...], Figure]] = {}
        self._constants: dict[str, Figure] = {}
        self._open: list[str] = []

    def body(self, computed: Computed, scope: Scope) -> Body:
        """Compile the numbers of a rule."""
        weights = tuple(self.figures(weight, scope) for weight, _ in computed.claims)
        ends = [None if end is None else self.figures(end, scope) for end in (computed.lower, computed.upper)]
        return Body(weights, ends[0], ends[1], computed.is_about)

    def figures(self, amount: Amount, scope: Scope) -> Figures:
        """Compile an amount."""
        match amount:
            case Fraction():
                return Figure(amount)
            case Name(name):
                return self._constant(name, scope)
            case Application(name):
                return self._looked_up(amount, scope)
            case Arithmetic(operation, left, right):
                parts = [self.figures(part, scope) for part in (left, right)]
                return _joined(operation, parts[0], parts[1])
            case _:
                assert_never(amount)

    def _constant(self, name: str, scope: Scope) -> Figure:
        if name in self._constants:
            return self._constants[name]
        match self._terms.signature[name]:
            case Constant(_, value):
                if name in self._open:
                    raise Misstatement(f"the constant {name} is defined by itself", lexeme=name)
                self._open.append(name)
                found = self.figures(value, {})
                self._open.pop()
                assert isinstance(found, Figure)
                return self._constants.setdefault(name, found)
            case NumberFunction(_, sorts):
                raise Misstatement(
                    f"{name} is a table of numbers", lexeme=name, advice=f"Write {name}({', '.join(sorts)})."
                )
            case _:
                raise self._unknown(name, scope)

    def _unknown(self, name: str, scope: Scope) -> Misstatement:
        signature = self._terms.signature
        if name in scope:
            found, advice = f"{name} is a logical variable, not a number", "Apply a table of numbers to it."
        elif signature[name] is not None:
            found, advice = f"{name} is no number", f"Write P({name}) for its probability."
        else:
            found = f"there is no constant {name}"
            near = nearest(name, signature.names((Constant, NumberFunction)))
            advice = near or f"Define it: let {name} = 0.1"
            if name.lower() in NO_NUMBERS:
                found, advice = f"{name} is no number", "Write 0.3, 1/3 or 30%, or ? for data to tell."
            if not name[:1].isalpha() and name[:1].isnumeric():
                found, advice = f"{name} is no number", "Write it with digits and a slash: 1/2."
            if name[:1].isdigit():
                found, advice = f"the number {name} stands in quotes", f"Write it without: {name}"
        return Misstatement(found, lexeme=name, advice=advice, kind=UnknownName)

    def _looked_up(self, application: Application, scope: Scope) -> Figures:
        name, signature = application.name, self._terms.signature
        declared = signature[name]
        if not isinstance(declared, NumberFunction):
            raise signature.unknown(
                name,
                "table of numbers",
                (NumberFunction,),
                advice=f'Declare it: number {name}(...) from "file.csv".',
            )
        values = self._terms.arguments(name, declared.sorts, application.arguments, scope)
        return applied(self._lookup(declared), values)

    def _lookup(self, declared: NumberFunction) -> Callable[..., Figure]:
        table = self._tables.get(declared.name)
        if table is None:
            rows: list[tuple[Source, ...]] = [(row,) for row in declared.rows]
            rows += [()] * (len(declared.table) - len(rows))
            entries = zip(declared.table, rows, strict=True)
            table = {elements: Figure(number, row) for (elements, number), row in entries}
            self._tables[declared.name] = table

        def look_up(*elements: str | None) -> Figure:
            found = table.get(tuple(map(str, elements)))
            if found is None:
                file = f" to {declared.rows[0].file}" if declared.rows else ""
                raise Misstatement(
                    f"{declared.name} has no number for {', '.join(map(str, elements))}",
                    lexeme=declared.name,
                    advice=f"Add a row{file}, fill in its empty cell, or leave the instance out by a guard.",
                )
            return found

        return look_up


def _joined(operation: str, left: Figures, right: Figures) -> Figures:
    if isinstance(left, Figure) and isinstance(right, Figure):
        return _compute(operation, left, right)
    makers = as_maker(left), as_maker(right)
    return lambda environment: _compute(operation, *(make(environment) for make in makers))


def _compute(operation: str, left: Figure, right: Figure) -> Figure:
    rows = left.rows + right.rows
    try:
        return Figure(arithmetic(operation, left.value, right.value), rows)
    except Misstatement as error:
        raise at_rows(error, rows) from None


def at_rows(error: Misstatement, rows: tuple[Source, ...]) -> Misstatement:
    """Return a complaint that names the rows of tables at fault."""
    if rows and "with the numbers of" not in error.message:
        error.message += f", with the numbers of {', '.join(map(str, rows))}"
        error.args = (error.message,)
        # A number that was computed stands nowhere in the text; one alike elsewhere is not meant.
        error.lexeme = "" if error.lexeme[:1].isdigit() else error.lexeme
    return error


def traced(source: Source | None, rows: tuple[Source, ...]) -> Source | None:
    """Return the place of a sentence, with the rows of tables that tell its numbers."""
    if not rows:
        return source
    return rows[0] if source is None else replace(source, rows=rows)
