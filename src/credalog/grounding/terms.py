"""The names of a theory, and the terms that are not random.

Input: the declarations of a theory; then a term, the logical variables in scope, and the domain its value
must lie in. Output: `Signature`, which knows what each name stands for and answers a wrong one with the
nearest right one; and of a term an element, the slot where an instance keeps it, or a function of instances.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, assert_never

from credalog.errors import UnknownName
from credalog.network.formulas import BOOLEAN
from credalog.theory import (
    Application,
    Constant,
    Declaration,
    Domain,
    Function,
    Misstatement,
    Name,
    NumberFunction,
    Predicate,
    RandomFunction,
    Relation,
    Shifted,
    Term,
    Theory,
    written,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


# ---- names ----------------------------------------------------------------------------------------------


# Cyrillic and Greek letters, small, and what the eye takes them or their capitals for.
_TWINS = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u043a\u043c\u0442\u0432\u043d"
    "\u03b1\u03bf\u03c1\u03b9\u03c5\u03bd\u03ba\u03c4\u03c7\u03b3",
    "aeopcyxijsdhkmtbhaopiuvktxy",
)


def looks(name: str) -> str:
    """Return a name in the Latin letters that those of other scripts and widths are mistaken for."""
    return unicodedata.normalize("NFKC", name).lower().translate(_TWINS)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return advice that names the known names nearest to a wrong one."""
    spellings: dict[str, list[str]] = {}
    for each in known:
        spellings.setdefault(each.lower(), []).append(each)
    if twin := next(
        (each for each in spellings if each != name.lower() and looks(each) == looks(name)), None
    ):
        meant = spellings[twin][0]
        strange, where = next(((c, w) for w, one in enumerate((name, meant)) for c in one if not c.isascii()))
        told = unicodedata.name(strange, f"U+{ord(strange):04X}")
        return f"Did you mean {meant}? They look alike, but {strange} {('here', 'there')[where]} is {told}."
    # The same but for capitals is what was meant, whatever else looks like it.
    same = [name.lower()] if name.lower() in spellings else []
    near = same or get_close_matches(name.lower(), list(spellings), n=3, cutoff=0.5)
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
        self._elements: dict[str, tuple[str, ...]] = {}
        self._facts: dict[str, NDArray[np.int64]] = {}
        self.is_strict = any(isinstance(d, Predicate) for d in theory.declarations)
        """With declared predicates, an undeclared name is a mistake; otherwise it is a proposition."""

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing is declared."""
        return not self._declared

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
        if isinstance(declaration, Domain | Constant):
            return
        for sort in declaration.sorts:
            self.ranks(sort)
        match declaration:
            case Predicate(name, sorts, True) if len(set(sorts)) != 1:
                raise Misstatement(f"{name} cannot be symmetric: its sorts differ", lexeme=name)
            case RandomFunction():
                self._check_values(declaration)
            case Relation(name, sorts, facts):
                for count in set(map(len, facts)):
                    self.arity(name, sorts, count)
                self.facts(name)
            case Function(name, sorts, result, table):
                self._check_table(name, (*sorts, result), table)
            case NumberFunction(name, sorts, table):
                arguments = tuple(elements for elements, _ in table)
                for count in set(map(len, arguments)):
                    self.arity(name, sorts, count)
                self._check_rows(sorts, arguments)
                _check_single(name, table, "numbers")
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
        ranks = self.ranks(sort)
        if sort not in self._elements:
            self._elements[sort] = tuple(ranks)
        return self._elements[sort]

    def is_element(self, name: str) -> bool:
        """Tell whether a name is an element of some domain; an integer always may be."""
        return name.lstrip("-").isdigit() or self.is_listed(name)

    def is_listed(self, name: str) -> bool:
        """Tell whether some domain lists a name as its element."""
        return any(name in ranks for ranks in self._ranks.values())

    @cached_property
    def variable_with(self) -> dict[str, str]:
        """Return for each value that a variable lists the name of the first such variable."""
        random = [d for d in self._declared.values() if isinstance(d, RandomFunction)]
        return {v: d.name for d in reversed(random) if not isinstance(d.values, str) for v in d.values}

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
        if variable.name.lower() in BOOLEAN:
            raise Misstatement(
                f"{variable.name} is a constant, and no name of a variable with other values",
                lexeme=variable.name,
                advice=f"Choose another name: {variable.name} = a would be read as a.",
            )
        if not self.values(variable):
            raise Misstatement(
                f"{variable.name} has no value",
                lexeme=variable.name,
                advice="List them: variable Color in {red, green}.",
            )

    def _check_table(
        self, name: str, sorts: tuple[str, ...], table: tuple[tuple[tuple[str, ...], str], ...]
    ) -> None:
        for count in {len(arguments) for arguments, _ in table}:
            self.arity(name, sorts[:-1], count)
        self._numbers(sorts, tuple((*arguments, value) for arguments, value in table))
        _check_single(name, table, "values")

    def facts(self, name: str) -> NDArray[np.int64]:
        """Return the facts of a relation as rows of element numbers; complain about what is no element."""
        if name not in self._facts:
            relation = self._declared[name]
            assert isinstance(relation, Relation)
            self._facts[name] = self._numbers(relation.sorts, relation.facts)
        return self._facts[name]

    def _numbers(self, sorts: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> NDArray[np.int64]:
        # Whoever reads a short text needs no arrays.
        import numpy as np

        numbers = np.empty((len(rows), len(sorts)), dtype=np.int64)
        try:
            for i, sort in enumerate(sorts):
                column = map(self.ranks(sort).__getitem__, map(itemgetter(i), rows))
                numbers[:, i] = np.fromiter(column, dtype=np.int64, count=len(rows))
        except KeyError:
            self._check_rows(sorts, rows)
        return numbers

    def _check_rows(self, sorts: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> None:
        """Complain about the first row with a cell that is no element of its domain."""
        for row in rows:
            for cell, (element, sort) in enumerate(zip(row, sorts, strict=True)):
                if element not in self.ranks(sort):
                    error = self.stranger(element, sort)
                    error.row, error.cell = row, cell
                    raise error

    def stranger(self, element: str, sort: str) -> Misstatement:
        """Return the complaint that a name is no element of a domain."""
        return Misstatement(
            f"{element} is not in {sort}",
            lexeme=element,
            advice=nearest(element, self.ranks(sort)),
            kind=UnknownName,
        )


# ---- terms ----------------------------------------------------------------------------------------------


def applied(function: Callable[..., T], parts: Sequence[Any]) -> T | Maker[T]:
    """Apply a function to compiled parts, now if none depends on the instance, otherwise per instance.

    Parts are slots (integers), makers (callable), or finished values.
    """
    if not any(isinstance(part, int) or callable(part) for part in parts):
        return function(*parts)
    if all(isinstance(part, int) for part in parts):
        return _applied_to_slots(function, parts)
    makers = [itemgetter(part) if isinstance(part, int) else as_maker(part) for part in parts]
    return lambda environment: function(*[make(environment) for make in makers])


def _applied_to_slots(function: Callable[..., T], slots: Sequence[int]) -> Maker[T]:
    if len(slots) == 1:
        (slot,) = slots
        return lambda environment: function(environment[slot])
    elements = itemgetter(*slots)
    return lambda environment: function(*elements(environment))


def as_maker(part: T | Maker[T]) -> Maker[T]:
    """Return what depends on the instance, or what does not, as if it did."""
    return part if callable(part) else lambda _environment: part


def listed(names: Sequence[str]) -> str:
    """Write the first few of some names."""
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


def _of_its_kind(name: str, sort: str, known: Sequence[str]) -> str:
    """Say what there is instead of a name, or how to introduce it."""
    if known:
        return f"{sort or 'Variables'}: {listed(known)}."
    return "" if sort else f"Declare it: variable {name} in {{red, green}}."


class Unbound(Misstatement):
    """A name is neither an element of the domain wanted, if any, nor bound; `known` are like names."""

    def __init__(self, name: str, sort: str, known: Sequence[str]) -> None:
        where = f"an element of {sort}" if sort else "an element of a domain"
        bound = f"Bind it first: forall {name} in {sort or '...'}: ..."
        random = f"Declare it: variable {name} in {{red, green}}. What is true or false alone is P({name})."
        super().__init__(
            f"{name} is neither bound by a quantifier nor {where}",
            lexeme=name,
            advice=nearest(name, known) or (bound if sort else random),
            kind=UnknownName,
        )
        self.element = Misstatement(
            f"there is no {name} in {sort}" if sort else f"there is no variable and no element {name}",
            lexeme=name,
            advice=nearest(name, known) or _of_its_kind(name, sort, known),
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
            f"{value} is not an integer, so nothing can be added to it",
            lexeme=value,
            advice="Declare a domain of integers, domain Day = 1..7, or name the element that is meant.",
        ) from None


def _check_single(name: str, table: Iterable[tuple[tuple[str, ...], object]], what: str) -> None:
    """Complain of arguments that a table gives two different values."""
    known: dict[tuple[str, ...], object] = {}
    for arguments, value in table:
        if known.setdefault(arguments, value) != value:
            raise Misstatement(
                f"{name}({', '.join(arguments)}) is given two {what}, {known[arguments]} and {value}",
                lexeme=name,
                advice="Take one of the two out, of the text or of the data.",
                row=(*arguments, str(value)),
            )
