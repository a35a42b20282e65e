"""Formulas that may contain logical variables, and names as the language writes them.

Input: terms, comparisons, connectives and quantifiers. Output: `Pattern`. Its terms are `Name` and
`Application`; whether `Fr(x, Tim)` is a predicate on a logical variable and a constant, or a function
value, is settled by the declarations when the theory is grounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TypeAlias, assert_never

from credalog.errors import CredalogError, LanguageError, Place
from credalog.network.formulas import And, Formula, Iff, Implies, Is, Not, Or, Truth, Xor

WORDS: dict[str, tuple[str, ...]] = {
    "declaration": (
        "domain", "predicate", "proposition", "variable", "relation", "function", "number", "let", "table",
    ),
    "statement": ("query", "evidence", "independent", "include"),
    "quantifier": ("forall", "exists", "in", "where", "distinct"),
    "connective": ("and", "or", "xor", "nand", "not", "implies", "iff"),
    "modifier": ("symmetric", "from", "sql", "column", "columns", "tau", "learned", "of", "rest"),
    "truth": ("true", "false", "True", "False"),
    "probability": ("P",),
}  # fmt: skip
"""The words of the language by what they do; editors colour them so."""

RESERVED = frozenset(word for words in WORDS.values() for word in words)
"""The words of the language; as names they are written in quotes."""

PLAIN = re.compile(r"[^\W\d]\w*'*")
_INTEGER = re.compile(r"-?\d+")


@lru_cache(maxsize=100_000)
def written(element: str) -> str:
    """Write a constant as the language does: in quotes unless it is an identifier or an integer."""
    return element if _INTEGER.fullmatch(element) else named(element)


def named(name: str) -> str:
    """Write what is declared or random as the language does: in quotes unless it is an identifier."""
    return name if PLAIN.fullmatch(name) and name not in RESERVED else quoted(name)


def quoted(name: str) -> str:
    """Write a name in quotes."""
    return '"' + re.sub(r'(["\\])', r"\\\1", name).replace("\n", "\\n") + '"'


def unquoted(word: str) -> str:
    """Return the name that was written so."""
    if not word.startswith('"'):
        return word
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], word[1:-1])


class Misstatement(LanguageError):
    """Something wrong in a statement, before it is known where the statement stands.

    `lexeme` is the word to point at, and `kind` the error that the user will see.
    """

    def __init__(
        self,
        message: str,
        *,
        lexeme: str = "",
        advice: str = "",
        kind: type[CredalogError] = LanguageError,
        row: tuple[str, ...] = (),
        cell: int = 0,
    ) -> None:
        super().__init__(message, advice=advice)
        self.lexeme = lexeme
        self.kind = kind
        self.row = row
        """The fact or entry at fault, and which of its cells."""
        self.cell = cell

    def at(self, place: Place | None) -> CredalogError:
        """Return the error that the user sees."""
        return self.kind(self.message, place=place, advice=self.advice)


def place_of(lexeme: str, text: str, *, line: int = 1, file: str = "", inside: str = "") -> Place:
    """Point at the first occurrence of a word in a text that begins on this line, or at its beginning."""
    edge = r"\w" if lexeme[:1].isalnum() else r"[<>=!]"
    found = re.search(rf"(?<!{edge}){re.escape(lexeme)}(?!{edge})", text) if lexeme else None
    offset = found.start() if found else len(text) - len(text.lstrip())
    return Place.within(text, offset, line=line, file=file, inside=inside)


_ARGUMENT = re.compile(r'"(?:\\.|[^"\\])*"|[^,"]+')

DEPTH = 150
"""How deeply formulas may be nested."""


class Connective(Enum):
    """Name the connectives of the language; NOT takes one operand, the others two or more."""

    NOT = "not"
    AND = "and"
    NAND = "nand"
    XOR = "xor"
    OR = "or"
    IMPLIES = "implies"
    IFF = "iff"


class Order(Enum):
    """Name the comparisons between two terms."""

    EQUAL = "="
    UNEQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="


class Quantifier(Enum):
    """Name the two quantifiers."""

    FORALL = "forall"
    EXISTS = "exists"


@dataclass(frozen=True, slots=True)
class Name:
    """A logical variable, a constant (integers included), a proposition or a plain random variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Application:
    """A predicate, relation, function or indexed random variable applied to terms."""

    name: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Shifted:
    """The integer `by` steps after a term, as in `day + 1`."""

    term: Term
    by: int


Term: TypeAlias = Name | Application | Shifted


@dataclass(frozen=True, slots=True)
class Boolean:
    """The pattern that is always true, or always false."""

    value: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two terms compared, as in `Color = red`, `x != y` or `day < 5`."""

    order: Order
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Compound:
    """Patterns joined by a connective."""

    connective: Connective
    operands: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Binder:
    """Logical variables that range over one domain, all different where `distinct`."""

    names: tuple[str, ...]
    sort: str
    distinct: bool = False


YES = Boolean(True)


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stands between a quantifier and its colon: binders, and a guard that instances must pass."""

    binders: tuple[Binder, ...] = ()
    guard: Pattern = YES


NOTHING_BOUND = Prefix()


@dataclass(frozen=True, slots=True)
class Quantified:
    """A quantifier inside a formula."""

    quantifier: Quantifier
    prefix: Prefix
    body: Pattern


Pattern: TypeAlias = Boolean | Name | Application | Shifted | Comparison | Compound | Quantified


def conjoined(patterns: Iterable[Pattern]) -> Pattern:
    """Return the conjunction of any number of patterns."""
    parts = tuple(pattern for pattern in patterns if pattern != YES)
    return YES if not parts else parts[0] if len(parts) == 1 else Compound(Connective.AND, parts)


@lru_cache(maxsize=100_000)
def term_of(name: str) -> Term:
    """Return the term that denotes the ground variable of this name."""
    predicate, _, rest = name.partition("(")
    arguments = tuple(Name(unquoted(found)) for found in _ARGUMENT.findall(rest[:-1]))
    applied = f"{predicate}({','.join(written(argument.name) for argument in arguments)})"
    is_application = bool(arguments) and PLAIN.fullmatch(predicate) and applied == name
    return Application(predicate, arguments) if is_application else Name(name)


def lifted(formula: Formula) -> Pattern:
    """Return a ground formula as a pattern."""
    match formula:
        case Truth(value):
            return Boolean(value)
        case Is(variable, value) if variable.is_proposition:
            atom = term_of(variable.name)
            return atom if value == "true" else Compound(Connective.NOT, (atom,))
        case Is(variable, value):
            return Comparison(Order.EQUAL, term_of(variable.name), Name(value))
        case Not(operand):
            return Compound(Connective.NOT, (lifted(operand),))
        case And(operands) | Or(operands) | Xor(operands):
            connective = {And: Connective.AND, Or: Connective.OR, Xor: Connective.XOR}[type(formula)]
            return Compound(connective, tuple(map(lifted, operands)))
        case Implies(premise, conclusion):
            return Compound(Connective.IMPLIES, (lifted(premise), lifted(conclusion)))
        case Iff(left, right):
            return Compound(Connective.IFF, (lifted(left), lifted(right)))
        case _:
            assert_never(formula)
