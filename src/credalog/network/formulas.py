"""The closed algebra of ground formulas over finite-valued variables.

Enters: variables and connectives. Leaves: formulas as immutable values, their scope, a canonical form
for structural comparison, and their truth on all worlds of a scope at once as one boolean array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never, cast

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FALSE",
    "TRUE",
    "And",
    "Formula",
    "Iff",
    "Implies",
    "Is",
    "Not",
    "Or",
    "Truth",
    "Variable",
    "World",
    "Xor",
    "atoms",
    "canonical",
    "conjunction",
    "disjunction",
    "is_deeper",
    "literals_of",
    "proposition",
    "propositions",
    "scope",
    "truth_table",
]

BOOLEAN = ("false", "true")


@dataclass(frozen=True, slots=True)
class Variable:
    """A ground variable with a finite domain; a proposition is the two-valued case false, true."""

    name: str
    values: tuple[str, ...] = BOOLEAN

    def __hash__(self) -> int:
        # Names are unique within a network, and a string remembers its hash.
        return hash(self.name)

    @property
    def is_proposition(self) -> bool:
        """Tell a proposition from a variable whose values were listed."""
        return self.values == BOOLEAN

    def is_(self, value: str) -> Is:
        """Return the atom that says this variable takes the value."""
        return Is(self, value)

    def __str__(self) -> str:
        return self.name


class _Connectives:
    """Python's operators on formulas: `&`, `|`, `^`, `~`, and `>>` for implication."""

    __slots__ = ()

    def __and__(self, other: Formula) -> Formula:
        return conjunction((self._formula, other))

    def __or__(self, other: Formula) -> Formula:
        return disjunction((self._formula, other))

    def __xor__(self, other: Formula) -> Formula:
        return Xor((self._formula, other))

    def __invert__(self) -> Formula:
        return Not(self._formula)

    def __rshift__(self, other: Formula) -> Formula:
        return Implies(self._formula, other)

    @property
    def _formula(self) -> Formula:
        # Every class that inherits from this one is a case of Formula.
        return cast("Formula", self)


@dataclass(frozen=True, slots=True)
class Truth(_Connectives):
    """The formula that is true, or false, in every world."""

    value: bool


@dataclass(frozen=True, slots=True)
class Is(_Connectives):
    """The atom `variable = value`; for a proposition, the proposition itself."""

    variable: Variable
    value: str = "true"

    def __post_init__(self) -> None:
        if self.value not in self.variable.values:
            known = ", ".join(self.variable.values)
            raise ValueError(f"{self.variable.name} has no value {self.value!r}; it has {known}")


@dataclass(frozen=True, slots=True)
class Not(_Connectives):
    """Negation."""

    operand: Formula


@dataclass(frozen=True, slots=True)
class And(_Connectives):
    """Conjunction of two or more formulas."""

    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or(_Connectives):
    """Disjunction of two or more formulas."""

    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Xor(_Connectives):
    """Parity: true where an odd number of operands is true."""

    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Implies(_Connectives):
    """Material implication."""

    premise: Formula
    conclusion: Formula


@dataclass(frozen=True, slots=True)
class Iff(_Connectives):
    """Equivalence."""

    left: Formula
    right: Formula


Formula: TypeAlias = Truth | Is | Not | And | Or | Xor | Implies | Iff
World: TypeAlias = dict[Variable, str]

TRUE = Truth(True)
FALSE = Truth(False)


def proposition(name: str) -> Is:
    """Return the proposition of this name as a formula."""
    return Is(Variable(name))


def propositions(names: str) -> tuple[Is, ...]:
    """Return one proposition per blank-separated name."""
    return tuple(proposition(name) for name in names.split())


def conjunction(parts: Iterable[Formula]) -> Formula:
    """Return the conjunction of any number of formulas, nested conjunctions flattened."""
    flat = tuple(_flatten(And, (p for p in parts if p != TRUE)))
    return TRUE if not flat else flat[0] if len(flat) == 1 else And(flat)


def disjunction(parts: Iterable[Formula]) -> Formula:
    """Return the disjunction of any number of formulas, nested disjunctions flattened."""
    flat = tuple(_flatten(Or, (p for p in parts if p != FALSE)))
    return FALSE if not flat else flat[0] if len(flat) == 1 else Or(flat)


def _flatten(kind: type[And | Or | Xor], parts: Iterable[Formula]) -> Iterator[Formula]:
    for part in parts:
        if isinstance(part, kind):
            yield from part.operands
        else:
            yield part


def _operands(formula: Formula) -> tuple[Formula, ...]:
    match formula:
        case Truth() | Is():
            return ()
        case Not(operand):
            return (operand,)
        case And(operands) | Or(operands) | Xor(operands):
            return operands
        case Implies(left, right) | Iff(left, right):
            return (left, right)
        case _:
            assert_never(formula)


def atoms(formula: Formula) -> Iterator[Is]:
    """Yield the atoms of a formula, left to right, repetitions included."""
    stack = [formula]
    while stack:
        part = stack.pop()
        if isinstance(part, Is):
            yield part
        else:
            stack.extend(reversed(_operands(part)))


def is_deeper(formula: Formula, levels: int) -> bool:
    """Tell whether connectives are nested more deeply than so many levels."""
    parts = [formula]
    for _ in range(levels):
        parts = [operand for part in parts for operand in _operands(part)]
        if not parts:
            return False
    return True


def scope(*formulas: Formula) -> tuple[Variable, ...]:
    """Return the variables that occur in the formulas, in order of first occurrence."""
    return tuple(dict.fromkeys(atom.variable for f in formulas for atom in atoms(f)))


def canonical(formula: Formula) -> Formula:
    """Sort and flatten the operands of commutative connectives, so that equal structure compares equal."""
    match formula:
        case Truth() | Is() | Not(Is()):
            return formula
        case Not(operand):
            return Not(canonical(operand))
        case And(operands) | Or(operands) | Xor(operands):
            kind = type(formula)
            flat = _flatten(kind, map(canonical, operands))
            return kind(tuple(sorted(flat, key=_rank)))
        case Implies(premise, conclusion):
            return Implies(canonical(premise), canonical(conclusion))
        case Iff(left, right):
            first, second = sorted((canonical(left), canonical(right)), key=_rank)
            return Iff(first, second)
        case _:
            assert_never(formula)


def _rank(formula: Formula) -> str:
    """Write a formula so that sorting by it is a total order; literals, by far the most common, briefly."""
    match formula:
        case Is(variable, value):
            return f"1 {variable.name}\n{value}"
        case Not(Is(variable, value)):
            return f"2 {variable.name}\n{value}"
        case _:
            return f"3 {formula!r}"


def literals_of(formula: Formula) -> World | None:
    """Read a conjunction of literals as a partial world; return None for any other formula.

    A negated literal counts only where it leaves one value, and a contradiction is no partial world.
    """
    world: World = {}
    for part in formula.operands if isinstance(formula, And) else (formula,):
        match part:
            case Truth(True):
                continue
            case Is(variable, value):
                pass
            case Not(Is(variable, refused)) if len(variable.values) == 2:
                value = next(v for v in variable.values if v != refused)
            case _:
                return None
        if world.setdefault(variable, value) != value:
            return None
    return world


def truth_table(formula: Formula, over: Sequence[Variable]) -> NDArray[np.bool_]:
    """Evaluate a formula on all worlds of a scope at once.

    Axis i of the result runs over the values of `over[i]`, in their order.
    """
    shape = tuple(len(v.values) for v in over)
    return np.broadcast_to(_evaluate(formula, {v: i for i, v in enumerate(over)}), shape)


def _evaluate(formula: Formula, axis: dict[Variable, int]) -> NDArray[np.bool_]:
    match formula:
        case Truth(value):
            return np.full((1,) * len(axis), value)
        case Is(variable, value):
            shape = [1] * len(axis)
            shape[axis[variable]] = len(variable.values)
            return np.array([v == value for v in variable.values]).reshape(shape)
        case Not(operand):
            return ~_evaluate(operand, axis)
        case And(operands):
            return _fold(np.logical_and, operands, axis)
        case Or(operands):
            return _fold(np.logical_or, operands, axis)
        case Xor(operands):
            return _fold(np.logical_xor, operands, axis)
        case Implies(premise, conclusion):
            return ~_evaluate(premise, axis) | _evaluate(conclusion, axis)
        case Iff(left, right):
            return ~(_evaluate(left, axis) ^ _evaluate(right, axis))
        case _:
            assert_never(formula)


def _fold(operation: np.ufunc, operands: tuple[Formula, ...], axis: dict[Variable, int]) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = _evaluate(operands[0], axis)
    for operand in operands[1:]:
        result = operation(result, _evaluate(operand, axis))
    return result
