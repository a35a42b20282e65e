"""What a theory declares: domains, random predicates and functions, relations, tables and numbers.

Input: names, elements, facts and amounts. Output: one `Declaration` for each name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from credalog.network.sentences import Source
from credalog.theory.patterns import Application, Misstatement, Name


@dataclass(frozen=True, slots=True)
class Domain:
    """A finite sort of elements, in the order that comparisons between them follow."""

    name: str
    elements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Predicate:
    """A random relation: one proposition for each tuple of elements; without sorts, a proposition."""

    name: str
    sorts: tuple[str, ...] = ()
    symmetric: bool = False


@dataclass(frozen=True, slots=True)
class RandomFunction:
    """A multi-valued variable for each tuple of elements; `values` lists them or names a domain."""

    name: str
    values: tuple[str, ...] | str
    sorts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation given as facts, for use in guards and formulas."""

    name: str
    sorts: tuple[str, ...]
    facts: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A function given by a table of (arguments, value), possibly partial."""

    name: str
    sorts: tuple[str, ...]
    result: str
    table: tuple[tuple[tuple[str, ...], str], ...] = ()


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two amounts joined by one of the operations + - * /."""

    operation: str
    left: Amount
    right: Amount


Amount: TypeAlias = Fraction | Name | Application | Arithmetic
"""A number, a named constant, a number that a table gives to elements, or what is computed from these."""


def arithmetic(operation: str, left: Fraction, right: Fraction, *, lexeme: str = "") -> Fraction:
    """Join two numbers by an operation; `lexeme` is how the second was written."""
    match operation:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case _ if right:
            return left / right
        case _:
            raise Misstatement(
                "a number is divided by zero",
                lexeme=lexeme or "/",
                advice="Correct what stands below the line.",
            )


@dataclass(frozen=True, slots=True)
class Constant:
    """A number with a name."""

    name: str
    value: Amount


@dataclass(frozen=True, slots=True)
class NumberFunction:
    """A number for each tuple of elements in a table; `rows` says where each line of it was read."""

    name: str
    sorts: tuple[str, ...]
    table: tuple[tuple[tuple[str, ...], Fraction], ...] = ()
    rows: tuple[Source, ...] = field(default=(), compare=False)


Declaration: TypeAlias = Domain | Predicate | RandomFunction | Relation | Function | Constant | NumberFunction
