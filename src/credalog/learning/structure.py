"""A structure alone, as a theory that wants its numbers.

Input: the parents of each variable, by names with the values found in a table, or as the dependency graph
of a network. Output: a `Theory` with a conditional table `?` for each variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from credalog.errors import LanguageError, UnknownName
from credalog.learning.counting import MISSING, NO, YES
from credalog.network.formulas import Variable
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network
from credalog.text.lifting import declarations_of
from credalog.text.sheets import Sheet
from credalog.theory import Declaration, FamilyTable, Gap, Predicate, RandomFunction, Rule, Theory, term_of

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
