"""Count in a table how often a formula holds, given another.

Input: a sheet, and a claim and a condition over variables that are columns of it. Output: a `Tally`.

Rows that agree in the columns of a formula are counted together, so that a million rows cost one pass over
arrays for each set of columns. A row with missing values counts for all that it may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import prod

import numpy as np
from numpy.typing import NDArray

from credalog.errors import LanguageError, ProblemTooLarge, UnknownName
from credalog.learning.intervals import Tally
from credalog.network.formulas import Formula, Variable, scope, truth_table
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, exact
from credalog.text.lifting import declarations_of
from credalog.text.sheets import Codes, Column, Sheet
from credalog.theory import Declaration, FamilyTable, Gap, Predicate, RandomFunction, Rule, Theory, term_of

MISSING = ("NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", "?", ".", "-")
"""How tables write that a value is missing, unless the variable has a value of that name."""

YES, NO = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")

MOST_CELLS = 1 << 22
"""The largest truth table of a formula that is counted."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Observations:
    """A table of observations: rows are cases, and columns are variables."""

    sheet: Sheet
    headings: Mapping[str, str] = field(default_factory=dict)
    """The heading of a variable's column, where it is not the variable's name."""
    missing: tuple[str, ...] = ()
    """More words for a value that is missing."""
    used: set[str] = field(default_factory=set)
    """The names for which a column was looked for."""

    @cached_property
    def _states(self) -> dict[Variable, Codes]:
        return {}

    @cached_property
    def _grouped(self) -> dict[tuple[Variable, ...], tuple[NDArray[np.int64], NDArray[np.int64]]]:
        return {}

    def states(self, variable: Variable, *others: str) -> Codes:
        """Return the number of the variable's value in every row, -1 where it is missing."""
        if variable not in self._states:
            column = self.column(variable.name, *others)
            self._states[variable] = self._coded(column, variable)
        return self._states[variable]

    def column(self, name: str, *others: str, what: str = "") -> Column:
        """Return the column of a variable or an element, by the heading given for it or by its name."""
        self.used.update((name, *others))
        renamed = next((self.headings[each] for each in (name, *others) if each in self.headings), None)
        if renamed is not None:
            return self.sheet.column(renamed, what=name)
        naming = f"Name it: --column {name}=HEADING, or columns={{{name!r}: HEADING}} in Python."
        return self.sheet.column(name, *others, what=what, otherwise=naming)

    def _coded(self, column: Column, variable: Variable) -> Codes:
        known = [self._state(column, code, variable) for code in range(len(column.values))]
        return np.array([*known, -1], np.int32)[column.codes]

    def _state(self, column: Column, code: int, variable: Variable) -> int:
        text = column.values[code]
        state = _match(text, variable)
        if state is not None:
            return state
        if text in MISSING or text in self.missing:
            return -1
        row = int(np.argmax(column.codes == code))
        near = get_close_matches(text, variable.values, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        values = "true and false" if variable.is_proposition else ", ".join(variable.values)
        raise LanguageError(
            f"{text!r} in the column {column.name} of {self.sheet.name} is no value of {variable.name}",
            place=self.sheet.place(row, column.name),
            advice=f"{meant}Its values are {values}; an empty cell, NA or ? is a missing value. "
            f"So is {text} with --missing {text}, or missing={text!r} in Python.",
        )

    def tally(self, claim: Formula, given: Formula, names: Callable[[Variable], tuple[str, ...]]) -> Tally:
        """Count the rows in which the condition holds, with the claim and without."""
        variables = scope(claim, given)
        sizes = [len(variable.values) for variable in variables]
        if prod(sizes) > MOST_CELLS:
            raise ProblemTooLarge(
                f"a formula over {len(variables)} columns is too large to be counted",
                advice="Name a part of it in a column of its own.",
            )
        holds, known = truth_table(given, variables), truth_table(claim, variables)
        outcomes = (holds & known, holds & ~known, ~holds)
        configurations, counts = self._groups(variables, names)
        found = dict.fromkeys(range(8), 0)
        for configuration, count in zip(configurations.tolist(), counts.tolist(), strict=True):
            where = tuple(slice(None) if state < 0 else state for state in configuration)
            kind = sum(bool(np.any(mask[where])) << bit for bit, mask in enumerate(outcomes))
            found[kind] += count
        return Tally(found[1], found[2], found[3], found[5], found[6], found[7])

    def _groups(
        self, variables: tuple[Variable, ...], names: Callable[[Variable], tuple[str, ...]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the configurations that occur, a row each, and how often each does."""
        if variables not in self._grouped:
            keys = np.zeros(self.sheet.count, np.int64)
            sizes = [len(variable.values) + 1 for variable in variables]
            for variable, size in zip(variables, sizes, strict=True):
                keys = keys * size + self.states(variable, *names(variable)) + 1
            found, counts = np.unique(keys, return_counts=True)
            axes = np.unravel_index(found, sizes) if variables else ()
            configurations = np.stack(axes, axis=1) - 1 if variables else np.empty((len(found), 0), np.int64)
            self._grouped[variables] = configurations, counts
        return self._grouped[variables]

    def only(self, rows: Mask) -> Observations:
        """Return the observations in some of the rows."""
        return replace(self, sheet=self.sheet.only(rows))

    def check_headings(self) -> None:
        """Complain about a heading that is given for what nobody looked for."""
        for name in self.headings.keys() - self.used:
            near = get_close_matches(name, self.used, n=1)
            raise UnknownName(
                f"the column {self.headings[name]!r} is given for {name}, of which nothing is learned",
                advice=f"Did you mean {near[0]}?" if near else f"Learned is {', '.join(sorted(self.used))}.",
            )


def _match(text: str, variable: Variable) -> int | None:
    """Return the number of the value that a cell names, in any case, and as any number or truth value."""
    values = variable.values
    if text in values:
        return values.index(text)
    folded = [value.casefold() for value in values]
    if folded.count(text.casefold()) == 1:
        return folded.index(text.casefold())
    if set(folded) == {"true", "false"}:
        # Columns of ones and zeros with a gap come out of other tools as 1.0 and 0.0.
        word = text.casefold() if (number := _number(text)) is None else str(number)
        truth = "true" if word in YES else "false" if word in NO else None
        return None if truth is None else folded.index(truth)
    number = _number(text)
    return next(
        (i for i, value in enumerate(values) if number is not None and _number(value) == number), None
    )


def _number(text: str) -> Fraction | None:
    try:
        return exact(text)
    except LanguageError:
        return None


# ---- structure --------------------------------------------------------------------------------------------
# A structure alone, as a theory that wants its numbers.
# Input: the parents of each variable, by names with the values found in a table, or as the dependency graph
# of a network. Output: a `Theory` with a conditional table `?` for each variable.

Parents = Mapping[str, Sequence[str]]


def structure_of_network(network: Network) -> Theory:
    """Return the structure of a network: who depends on whom, and no numbers."""
    parents = dependency_graph(network).parent_indices
    variables = network.variables
    rules = [_wanted(variable, [variables[p] for p in parents[i]]) for i, variable in enumerate(variables)]
    return Theory(declarations=tuple(declarations_of(variables)), rules=tuple(rules))


def _wanted(variable: Variable, parents: Iterable[Variable]) -> Rule:
    terms = tuple(term_of(parent.name) for parent in parents)
    return Rule(FamilyTable(term_of(variable.name), terms, (), (Gap.WANTED,)))


def structure_of_parents(parents: Parents, sheet: Sheet) -> Theory:
    """Return a structure given by the parents of each variable; a table tells the values of all."""
    named = dict.fromkeys(parents)
    for variable, several in parents.items():
        if isinstance(several, str) or not all(isinstance(parent, str) for parent in several):
            raise LanguageError(
                f"the parents of {variable} are no list of names", advice='Write {"a": [], "b": ["a"]}.'
            )
        named |= dict.fromkeys(several)
    _check_acyclic(parents)
    variables = {name: Variable(name, _values(name, sheet)) for name in named}
    rules = [_wanted(variables[name], [variables[p] for p in parents.get(name, ())]) for name in named]
    return Theory(declarations=tuple(map(_declared, variables.values())), rules=tuple(rules))


def _declared(variable: Variable) -> Declaration:
    if variable.is_proposition:
        return Predicate(variable.name)
    return RandomFunction(variable.name, variable.values)


def _check_acyclic(parents: Parents) -> None:
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        raise LanguageError(
            f"the parents form a cycle: {' -> '.join(error.args[1])}",
            advice="A structure is acyclic; write sentences with `= ?` for a cyclic one.",
        ) from None


def _values(name: str, sheet: Sheet) -> tuple[str, ...]:
    """Return the values that a column has, in order; those of a truth value are false and true."""
    found = [value for value in sheet.column(name).values if value not in MISSING]
    folded = {value.casefold() for value in found}
    if folded and (folded <= {*YES, *NO}):
        return "false", "true"
    if len(found) < 2:
        raise UnknownName(
            f"the column {name} of {sheet.name} has fewer than two values",
            place=sheet.place_of_heading(),
            advice="Declare the variable with its values in a .lcn file: variable Color in {red, green}.",
        )
    return tuple(sorted(found, key=_order))


def _order(value: str) -> tuple[int, float, str]:
    try:
        return 0, float(value), value
    except ValueError:
        return 1, 0.0, value
