"""The closed algebra of ground formulas over finite-valued variables.

Input: variables and connectives. Output: formulas as immutable values, their scope, a canonical form
for structural comparison, and their truth on all worlds of a scope at once as one boolean array.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Never, TypeAlias, assert_never, cast

from credalog.errors import LanguageError, UnknownName

if TYPE_CHECKING:
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
    "holds_in",
    "is_deeper",
    "literals_of",
    "proposition",
    "propositions",
    "scope",
    "truth_table",
]

BOOLEAN = ("false", "true")

_NAMES = re.compile(r"(?:\([^()]*\)|[^\s,])+")
"""A name in a list of names; commas inside parentheses belong to it, as in Fr(Tim,Tom)."""


@dataclass(frozen=True, slots=True, repr=False)
class Variable:
    """A ground variable with a finite domain; a proposition is the two-valued case false, true."""

    name: str
    values: tuple[str, ...] = BOOLEAN

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise LanguageError(f"{self.name!r} is no name", advice='Write Variable("rain").')
        if self.values is not BOOLEAN:
            object.__setattr__(self, "values", _listed(self.name, self.values))

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

    def _is_no_formula(self, other: object = None) -> Never:
        raise LanguageError(
            f"{self} is no formula, and no number",
            advice=f'Say which value it takes: {self}.is_("{self.values[-1]}"), and ~ in front of it.',
        )

    __invert__ = __lt__ = __le__ = __gt__ = __ge__ = __add__ = __sub__ = _is_no_formula

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


def _listed(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return the values of a variable, which must be texts, and all different."""
    # A set has no order, and the values of a variable have one.
    is_list = isinstance(values, Iterable) and not isinstance(values, str | Set)
    listed = tuple(values) if is_list else ()
    if not listed or len(set(listed)) < len(listed) or not all(isinstance(v, str) for v in listed):
        raise LanguageError(
            f"the values of {name} are not a list of different texts: {values!r}",
            advice=f'Write Variable("{name}", ("low", "high")).',
        )
    return listed


class _Connectives:
    """Python's operators on formulas: `&`, `|`, `^`, `~`, and `>>` for implication."""

    __slots__ = ()

    def __and__(self, other: Formula) -> Formula:
        return conjunction((self._formula, _joined(other)))

    def __rand__(self, other: Formula) -> Formula:
        return conjunction((_joined(other), self._formula))

    def __or__(self, other: Formula) -> Formula:
        return disjunction((self._formula, _joined(other)))

    def __ror__(self, other: Formula) -> Formula:
        return disjunction((_joined(other), self._formula))

    def __xor__(self, other: Formula) -> Formula:
        return Xor((self._formula, _joined(other)))

    def __rxor__(self, other: Formula) -> Formula:
        return Xor((_joined(other), self._formula))

    def __invert__(self) -> Formula:
        return Not(self._formula)

    def __rshift__(self, other: Formula) -> Formula:
        return Implies(self._formula, _joined(other))

    def __rrshift__(self, other: Formula) -> Formula:
        return Implies(_joined(other), self._formula)

    def _is_no_number(self, other: object = None) -> Never:
        raise LanguageError(
            f"the formula {self} is no number",
            advice="Write P(a) >= 0.3 for a bound, and join formulas by &, | and ~.",
        )

    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __sub__ = __mul__ = __neg__ = _is_no_number
    __radd__ = __rsub__ = __rmul__ = __truediv__ = __pow__ = __abs__ = _is_no_number
    # Otherwise an array would join or compare the formula with each of its members.
    __array_ufunc__ = None

    def __bool__(self) -> Never:
        # Python reads `a and b` as b, and `not a` as False: a formula would be lost without a word.
        raise LanguageError(
            f"the formula {self} is neither true nor false in Python",
            advice="Write a & b, a | b and ~a instead of a and b, a or b and not a.",
        )

    def __str__(self) -> str:
        from credalog.text.unparse import unparse_formula

        return unparse_formula(self._formula)

    __repr__ = __str__

    @property
    def _formula(self) -> Formula:
        # Every class that inherits from this one is a case of Formula.
        return cast("Formula", self)


def _joined(other: object) -> Formula:
    """Return what a connective joins a formula to; only a formula, or Python's True or False, will do."""
    if isinstance(other, _Connectives):
        return other._formula
    if isinstance(other, bool) or type(other).__name__ in ("bool", "bool_"):
        # numpy's truth values are no subclass of Python's.
        return Truth(bool(other))
    raise LanguageError(
        f"{_described(other)} is no formula, and cannot be joined to one",
        advice='Join formulas: proposition("a") & ~proposition("b"), or variable.is_("value").',
    )


def _described(other: object) -> str:
    return f'the text "{other}"' if isinstance(other, str) else str(other)


@dataclass(frozen=True, slots=True, repr=False)
class Truth(_Connectives):
    """The formula that is true, or false, in every world."""

    value: bool

    # `python -OO` has dataclasses write defaults of fields down, before the module of texts can be imported.
    def __str__(self) -> str:
        return "true" if self.value else "false"

    __repr__ = __str__


@dataclass(frozen=True, slots=True, repr=False)
class Is(_Connectives):
    """The atom `variable = value`; for a proposition, the proposition itself."""

    variable: Variable
    value: str = "true"

    def __post_init__(self) -> None:
        if self.value not in self.variable.values:
            known = ", ".join(self.variable.values)
            advice = f"It has {known}."
            if not isinstance(self.value, str) and str(self.value) in self.variable.values:
                advice = f'It has {known}, which are texts: write "{self.value}".'
            if self.value in ("0", "1") and self.variable.values == ("false", "true"):
                advice = f"It has {known}: write {('false', 'true')[int(self.value)]}."
            raise UnknownName(f"{self.variable.name} has no value {self.value}", advice=advice)


@dataclass(frozen=True, slots=True, repr=False)
class Not(_Connectives):
    """Negation."""

    operand: Formula


@dataclass(frozen=True, slots=True, repr=False)
class And(_Connectives):
    """Conjunction of two or more formulas."""

    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Or(_Connectives):
    """Disjunction of two or more formulas."""

    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Xor(_Connectives):
    """Parity: true where an odd number of operands is true."""

    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Implies(_Connectives):
    """Material implication."""

    premise: Formula
    conclusion: Formula


@dataclass(frozen=True, slots=True, repr=False)
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
    if not isinstance(name, str) or not name.strip():
        raise LanguageError(f"{name!r} is no name", advice='Write proposition("rain").')
    return Is(Variable(name))


def propositions(names: str | Iterable[str]) -> tuple[Is, ...]:
    """Return one proposition per name; in a text, the names are separated by blanks or commas."""
    if not isinstance(names, Iterable):
        raise LanguageError(f"{names!r} are no names", advice='Write propositions("rain wet").')
    return tuple(proposition(name) for name in (_NAMES.findall(names) if isinstance(names, str) else names))


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
        case Truth(value):
            return f"3 {value}"
        case _:
            return f"4 {type(formula).__name__}({', '.join(map(_rank, _operands(formula)))})"


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


def holds_in(formula: Formula, world: Mapping[Variable, str]) -> bool:
    """Tell whether a formula is true in a world."""
    match formula:
        case Truth(value):
            return value
        case Is(variable, value):
            return world[variable] == value
        case Not(operand):
            return not holds_in(operand, world)
        case And(operands):
            return all(holds_in(part, world) for part in operands)
        case Or(operands):
            return any(holds_in(part, world) for part in operands)
        case Implies(premise, conclusion):
            return not holds_in(premise, world) or holds_in(conclusion, world)
        case Iff(left, right):
            return holds_in(left, world) == holds_in(right, world)
        case Xor(operands):
            return sum(holds_in(part, world) for part in operands) % 2 == 1
        case _:
            assert_never(formula)


def truth_table(
    formula: Formula, over: Sequence[Variable], known: Mapping[Variable, str] = MappingProxyType({})
) -> NDArray[np.bool_]:
    """Evaluate a formula on all worlds of a scope at once, in which other variables have known values.

    Axis i of the result runs over the values of `over[i]`, in their order.
    """
    # Arrays are imported where they are needed: the verifier of certificates reads formulas without them.
    import numpy as np

    from credalog.network.grids import Grid

    shape = tuple(len(v.values) for v in over)
    grid = Grid({v: i for i, v in enumerate(over)}, known)
    return np.broadcast_to(grid.evaluate(formula), shape)
