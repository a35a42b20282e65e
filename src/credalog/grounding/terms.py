"""Compile terms that are not random: constants, logical variables, functions given by a table.

Input: a term, the logical variables in scope, and the domain its value must lie in. Output: an element,
the slot where an instance keeps it, or a function from an instance to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar, assert_never

from credalog.errors import UnknownName
from credalog.grounding.signature import Signature, nearest
from credalog.theory import (
    Application,
    Function,
    Misstatement,
    Name,
    Predicate,
    RandomFunction,
    Shifted,
    Term,
)

__all__ = ["Bound", "Environment", "Maker", "Scope", "Terms", "Unbound", "Value", "applied", "listed"]

T = TypeVar("T")

SHOWN = 8
"""So many elements of a domain are listed where a wrong one was named."""

Environment: TypeAlias = list[str]
"""An instance: the element bound to each logical variable, by slot."""

Maker: TypeAlias = Callable[[Environment], T]
"""What depends on the instance."""

Value: TypeAlias = str | int | Maker[str | None] | None
"""An element, the slot of a logical variable, or the maker of a function's value.

A function's value is None where its table has no entry.
"""


class Bound(NamedTuple):
    """A logical variable: the slot of its element, and the domain it ranges over."""

    slot: int
    sort: str


Scope: TypeAlias = dict[str, Bound]


def applied(function: Callable[..., T], parts: Sequence[Any]) -> T | Maker[T]:
    """Apply a function to compiled parts, now if none depends on the instance, otherwise per instance.

    Parts are slots (integers), makers (callable), or finished values.
    """
    if not any(isinstance(part, int) or callable(part) for part in parts):
        return function(*parts)
    if all(isinstance(part, int) for part in parts):
        return _applied_to_slots(function, parts)
    makers = [_maker(part) for part in parts]
    return lambda environment: function(*[make(environment) for make in makers])


def _applied_to_slots(function: Callable[..., T], slots: Sequence[int]) -> Maker[T]:
    if len(slots) == 1:
        (slot,) = slots
        return lambda environment: function(environment[slot])
    elements = itemgetter(*slots)
    return lambda environment: function(*elements(environment))


def _maker(part: Any) -> Maker[Any]:
    if isinstance(part, int):
        return itemgetter(part)
    return part if callable(part) else lambda _environment: part


def listed(names: Sequence[str]) -> str:
    """Write the first few of some names."""
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


class Unbound(Misstatement):
    """A name is neither an element of the domain wanted, if any, nor bound; `known` are like names."""

    def __init__(self, name: str, sort: str, known: Sequence[str]) -> None:
        where = f"an element of {sort}" if sort else "an element of a domain"
        super().__init__(
            f"{name} is neither bound by a quantifier nor {where}",
            lexeme=name,
            advice=nearest(name, known) or f"Bind it first: forall {name} in {sort or '...'}: ...",
            kind=UnknownName,
        )
        self.element = Misstatement(
            f"there is no {name} in {sort}" if sort else f"there is no variable and no element {name}",
            lexeme=name,
            advice=nearest(name, known) or (f"{sort or 'Variables'}: {listed(known)}." if known else ""),
            kind=UnknownName,
        )
        """The same complaint where nothing can be bound."""


class Terms:
    """A compiler of terms over one signature."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature

    def arguments(
        self, name: str, sorts: tuple[str, ...], arguments: tuple[Term, ...], scope: Scope
    ) -> list[Value]:
        """Compile the arguments of a declared name."""
        self.signature.arity(name, sorts, len(arguments))
        return [self.term(a, scope, sort) for a, sort in zip(arguments, sorts, strict=True)]

    def term(self, term: Term, scope: Scope, sort: str) -> Value:
        """Compile a term whose value must lie in a domain; with no domain, any element will do."""
        match term:
            case Name(name) if name in scope:
                self._agree(name, scope[name].sort, sort)
                return scope[name].slot
            case Name(name):
                return self._constant(name, sort)
            case Application(name, arguments):
                return self._function(name, arguments, scope, sort)
            case Shifted(inner, by):
                start = self.term(inner, scope, self.sort_of(inner, scope) or sort)
                shifted: Value = applied(lambda value: _shifted(value, by), [start])
                return shifted
            case _:
                assert_never(term)

    def sort_of(self, term: Term, scope: Scope) -> str:
        """Return the domain of a term; a constant has none of its own."""
        match term:
            case Name(name):
                return scope[name].sort if name in scope else ""
            case Application(name):
                declaration = self.signature[name]
                return declaration.result if isinstance(declaration, Function) else ""
            case Shifted(inner):
                return self.sort_of(inner, scope)
            case _:
                assert_never(term)

    def _constant(self, name: str, sort: str) -> str:
        if name in self.signature.ranks(sort) if sort else self.signature.is_element(name):
            return name
        if self.signature.is_element(name):
            raise Misstatement(
                f"{name} is not in {sort}", lexeme=name, advice="Check the order of the arguments."
            )
        # In a comparison that wants no particular domain, a random variable may be meant.
        known = self.signature.ranks(sort) if sort else self.signature.names((RandomFunction,))
        raise Unbound(name, sort, tuple(known))

    def _function(self, name: str, arguments: tuple[Term, ...], scope: Scope, sort: str) -> Value:
        match self.signature[name]:
            case Function(_, sorts, result, table):
                self._agree(name, result, sort)
                known = dict(table)
                values = self.arguments(name, sorts, arguments, scope)
                value: Value = applied(lambda *found: known.get(found), values)
                return value
            case Predicate() | RandomFunction():
                raise Misstatement(f"{name} is random and cannot be an argument", lexeme=name)
            case _:
                advice = f"Declare it: function {name}(...) in ..."
                raise self.signature.unknown(name, "function", (Function,), advice=advice)

    def _agree(self, name: str, found: str, wanted: str) -> None:
        if not wanted or found == wanted:
            return
        if not self.signature.ranks(found).keys() <= self.signature.ranks(wanted).keys():
            raise Misstatement(
                f"{name} ranges over {found}, but {wanted} is wanted here",
                lexeme=name,
                advice="Check the order of the arguments.",
            )


def _shifted(value: str | None, by: int) -> str | None:
    if value is None:
        return None
    try:
        return str(int(value) + by)
    except ValueError:
        raise Misstatement(
            f"{value} is not an integer, so nothing can be added to it", lexeme=value
        ) from None
