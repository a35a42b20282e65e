"""The names of a theory, looked up.

Input: the declarations of a theory. Output: `Signature`, which knows what each name stands for, and
answers a wrong name with the nearest right one.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from credalog.errors import UnknownName
from credalog.theory import (
    Application,
    Declaration,
    Domain,
    Function,
    Misstatement,
    Name,
    Predicate,
    RandomFunction,
    Relation,
    Theory,
    written,
)

__all__ = ["Signature", "nearest"]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return advice that names the known names nearest to a wrong one."""
    spellings: dict[str, list[str]] = {}
    for each in known:
        spellings.setdefault(each.lower(), []).append(each)
    near = get_close_matches(name.lower(), list(spellings), n=3, cutoff=0.5)
    matches = [spelt for each in near for spelt in spellings[each]]
    return f"Did you mean {' or '.join(matches)}?" if matches else ""


class Signature:
    """What each name of a theory stands for."""

    def __init__(self, theory: Theory) -> None:
        self._declared: dict[str, Declaration] = {d.name: d for d in theory.declarations}
        self._ranks = {
            d.name: {element: i for i, element in enumerate(d.elements)}
            for d in theory.declarations
            if isinstance(d, Domain)
        }
        self.is_strict = any(isinstance(d, Predicate) for d in theory.declarations)
        """With declared predicates, an undeclared name is a mistake; otherwise it is a proposition."""

    def __getitem__(self, name: str) -> Declaration | None:
        return self._declared.get(name)

    def resolved(self, term: Name | Application) -> Name | Application:
        """Return the plain name of a ground variable for the term that spells it, as in Shade(p1)."""
        if not isinstance(term, Application) or term.name in self._declared:
            return term
        spelt = [written(argument.name) for argument in term.arguments if isinstance(argument, Name)]
        whole = f"{term.name}({','.join(spelt)})"
        return Name(whole) if whole in self._declared and len(spelt) == len(term.arguments) else term

    def check(self, declaration: Declaration) -> None:
        """Complain about a declaration whose sorts, facts or values do not fit."""
        if isinstance(declaration, Domain):
            return
        for sort in declaration.sorts:
            self.ranks(sort)
        match declaration:
            case Predicate(name, sorts, True) if len(set(sorts)) != 1:
                raise Misstatement(f"{name} cannot be symmetric: its sorts differ", lexeme=name)
            case RandomFunction():
                self._check_values(declaration)
            case Relation(name, sorts, facts):
                for fact in facts:
                    self._check_elements(name, sorts, fact)
            case Function(name, sorts, result, table):
                self._check_table(name, (*sorts, result), table)
            case _:
                pass

    def ranks(self, sort: str) -> dict[str, int]:
        """Return the elements of a domain with their places in its order."""
        if sort not in self._ranks:
            known = self._declared.get(sort)
            found = f"{sort} is not a domain" if known else f"there is no domain {sort}"
            advice = nearest(sort, self._ranks) or f"Declare it: domain {sort} = {{...}}."
            raise Misstatement(found, lexeme=sort, advice=advice, kind=UnknownName)
        return self._ranks[sort]

    def elements(self, sort: str) -> tuple[str, ...]:
        """Return the elements of a domain in order."""
        return tuple(self.ranks(sort))

    def is_element(self, name: str) -> bool:
        """Tell whether a name is an element of some domain; an integer always may be."""
        return name.lstrip("-").isdigit() or self.is_listed(name)

    def is_listed(self, name: str) -> bool:
        """Tell whether some domain lists a name as its element."""
        return any(name in ranks for ranks in self._ranks.values())

    def values(self, variable: RandomFunction) -> tuple[str, ...]:
        """Return the values of a multi-valued variable."""
        return self.elements(variable.values) if isinstance(variable.values, str) else variable.values

    def names(self, kinds: tuple[type[Declaration], ...]) -> list[str]:
        """Return the declared names of some kinds."""
        return [name for name, declaration in self._declared.items() if isinstance(declaration, kinds)]

    def unknown(
        self, name: str, what: str, kinds: tuple[type[Declaration], ...], *, advice: str
    ) -> Misstatement:
        """Return the complaint that a name was never introduced, with the nearest of the right kinds."""
        found = f"there is no {what} {name}"
        near = nearest(name, self.names(kinds))
        return Misstatement(found, lexeme=name, advice=near or advice, kind=UnknownName)

    def arity(self, name: str, sorts: tuple[str, ...], found: int) -> None:
        """Complain unless a name is applied to as many terms as it was declared with."""
        if len(sorts) != found:
            takes = f"{name}({', '.join(sorts)})" if sorts else f"{name}, without arguments"
            plural = "" if found == 1 else "s"
            raise Misstatement(
                f"{name} is used with {found} argument{plural} and declared with {len(sorts)}",
                lexeme=name,
                advice=f"It was declared as {takes}.",
            )

    def _check_values(self, variable: RandomFunction) -> None:
        if len(set(self.values(variable))) < 2:
            raise Misstatement(
                f"{variable.name} needs at least two values",
                lexeme=variable.name,
                advice="List them: variable Color in {red, green}.",
            )

    def _check_table(
        self, name: str, sorts: tuple[str, ...], table: tuple[tuple[tuple[str, ...], str], ...]
    ) -> None:
        known: dict[tuple[str, ...], str] = {}
        for arguments, value in table:
            self.arity(name, sorts[:-1], len(arguments))
            self._check_elements(name, sorts, (*arguments, value))
            if known.setdefault(arguments, value) != value:
                raise Misstatement(f"{name}({', '.join(arguments)}) is given two values", lexeme=name)

    def _check_elements(self, name: str, sorts: tuple[str, ...], elements: tuple[str, ...]) -> None:
        self.arity(name, sorts, len(elements))
        for element, sort in zip(elements, sorts, strict=True):
            if element not in self.ranks(sort):
                raise self.stranger(element, sort)

    def stranger(self, element: str, sort: str) -> Misstatement:
        """Return the complaint that a name is no element of a domain."""
        return Misstatement(
            f"{element} is not in {sort}",
            lexeme=element,
            advice=nearest(element, self.ranks(sort)),
            kind=UnknownName,
        )
