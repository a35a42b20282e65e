"""A large network as columns: one template per rule, and the numbers of its variables as arrays.

Input: blocks, each a sentence over slots and, row by row, the variables that fill them. Output: `Variables`
and `Sentences`, sequences that compare and index like tuples, whose items are made when someone looks at
them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, overload

from credalog.network.formulas import (
    And,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Or,
    Truth,
    Variable,
    Xor,
)
from credalog.network.sentences import Network, Sentence, Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Block",
    "Bounds",
    "Coding",
    "Kept",
    "Lazy",
    "Mixed",
    "Naming",
    "Numbering",
    "Numbers",
    "Sentences",
    "Variables",
    "columns_of",
    "filled",
    "numbering",
    "slot",
]

T = TypeVar("T")

Numbers: TypeAlias = "NDArray[np.int32]"

KEPT = 300_000
"""A sequence of at most so many items keeps those it has made; a longer one makes them anew."""

FEW = 500
"""So many variables are looked up one by one."""

SHOWN = 5
"""So many items are printed."""


class Lazy(Sequence[T]):
    """A sequence that is equal to the tuple of its items, which are made on demand."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._made: list[T | None] | None = [None] * count if count <= KEPT else None

    def item(self, i: int) -> T:
        """Make the item at a place."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, i: int) -> T: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[T, ...]: ...
    def __getitem__(self, i: int | slice) -> T | tuple[T, ...]:
        if isinstance(i, slice):
            return tuple(self[j] for j in range(*i.indices(self._count)))
        place = i + self._count if i < 0 else i
        if not 0 <= place < self._count:
            raise IndexError(i)
        if self._made is None:
            return self.item(place)
        found = self._made[place]
        if found is None:
            found = self._made[place] = self.item(place)
        return found

    def __iter__(self) -> Iterator[T]:
        return map(self.__getitem__, range(self._count))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, tuple | Lazy) or len(other) != self._count:
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        more = ", …" if self._count > SHOWN else ""
        return f"({', '.join(map(repr, self[:SHOWN]))}{more})"

    def __getstate__(self) -> dict[str, Any]:
        # What was made can be made again.
        return {**self.__dict__, "_made": None if self._made is None else [None] * self._count}


class Coding(Protocol):
    """Codes of variables: from a code to the variable, and from a name to the code."""

    def __call__(self, code: int, /) -> Variable:
        """Make the variable of a code."""

    def find(self, name: str) -> int | None:
        """Return the code that a name would have; None where no variable can have it."""


class Variables(Lazy[Variable]):
    """The variables of a network, each known by a code from which its name is made."""

    def __init__(self, codes: NDArray[np.int64], sizes: NDArray[np.int64], make: Coding) -> None:
        super().__init__(len(codes))
        self.codes = codes
        self.sizes = sizes
        """How many values each variable has."""
        self._make = make

    def item(self, i: int) -> Variable:
        """Make the variable of a number."""
        return self._make(int(self.codes[i]))

    def find(self, name: str) -> int | None:
        """Return the number of the variable of a name, and make no other; None where there is none."""
        code = self._make.find(name)
        if code is None:
            return None
        places = (self.codes == code).nonzero()[0]
        return int(places[0]) if len(places) else None


class Numbering(Mapping[Variable, int]):
    """The number of each variable of a large network, looked up when someone asks."""

    def __init__(self, variables: Variables) -> None:
        self._variables = variables
        self._found: dict[Variable, int] = {}

    def __getitem__(self, variable: Variable) -> int:
        if variable not in self._found and len(self._found) < len(self._variables):
            self._look_up(variable)
        return self._found[variable]

    def _look_up(self, variable: Variable) -> None:
        if len(self._found) >= FEW:
            # Whoever asks for many asks for all.
            self._found = {v: i for i, v in enumerate(self._variables)}
            return
        number = self._variables.find(variable.name)
        if number is None or self._variables[number] != variable:
            raise KeyError(variable)
        self._found[variable] = number

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)


def numbering(variables: Sequence[Variable]) -> Mapping[Variable, int]:
    """Return the number of each variable."""
    if isinstance(variables, Variables):
        return Numbering(variables)
    return {variable: i for i, variable in enumerate(variables)}


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Bounds that differ from row to row: a list of numbers, and the places of each row's in it."""

    numbers: Sequence[Fraction]
    lower: Numbers
    upper: Numbers

    def __getitem__(self, rows: Any) -> Bounds:
        return Bounds(self.numbers, self.lower[rows], self.upper[rows])


class Naming(Protocol):
    """What tells the sentences of a block apart for a reader."""

    def of(self, row: int) -> tuple[str, Source | None]:
        """Return the label and the source of a row."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Sentences that differ in their variables, and perhaps in bounds and names.

    The scope of the template are its slots; column i of a row holds the number of the variable that stands in
    slot i. Two slots may hold the same variable.
    """

    template: Sentence
    columns: Numbers
    variables: Sequence[Variable]
    bounds: Bounds | None = None
    naming: Naming | None = None

    def __len__(self) -> int:
        return len(self.columns)

    def sentence(self, row: int) -> Sentence:
        """Make the sentence of a row."""
        template, numbers = self.template, self.columns[row].tolist()
        standing = dict(zip(template.scope, map(self.variables.__getitem__, numbers), strict=True))
        lower, upper = template.lower, template.upper
        if self.bounds is not None:
            lower = self.bounds.numbers[self.bounds.lower[row]]
            upper = self.bounds.numbers[self.bounds.upper[row]]
        label, source = template.label, template.source
        if self.naming is not None:
            label, source = self.naming.of(row)
        claims = tuple([(weight, filled(claim, standing)) for weight, claim in template.claims])
        given, learned = filled(template.given, standing), template.learned
        return Sentence(claims, given, lower, upper, template.tau, label, source, learned)


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Sentences kept as they are, and the numbers of the variables of all their scopes in one row."""

    sentences: tuple[Sentence, ...]
    numbers: Numbers

    def __len__(self) -> int:
        return len(self.sentences)

    def sentence(self, row: int) -> Sentence:
        """Return the sentence of a row."""
        return self.sentences[row]


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """Blocks whose sentences stand between each other: the place of each row, and the row at each place."""

    blocks: tuple[Block, ...]
    where: tuple[NDArray[np.int64], ...]
    block_of: Numbers
    row_of: Numbers

    def __len__(self) -> int:
        return len(self.block_of)

    def sentence(self, row: int) -> Sentence:
        """Make the sentence at a place."""
        return self.blocks[int(self.block_of[row])].sentence(int(self.row_of[row]))


Part: TypeAlias = Block | Kept | Mixed


class Sentences(Lazy[Sentence]):
    """The sentences of a network: blocks, and between them sentences that are kept as they are."""

    def __init__(self, parts: Iterable[Part], variables: Sequence[Variable]) -> None:
        self.variables = variables
        """The variables that the numbers in the parts stand for."""
        self.parts = tuple(part for part in parts if len(part))
        self.starts = [0, *accumulate(map(len, self.parts))]
        """The number of the first sentence of each part, and how many there are."""
        super().__init__(self.starts[-1])

    def item(self, i: int) -> Sentence:
        """Make the sentence of a number."""
        p = bisect_right(self.starts, i) - 1
        return self.parts[p].sentence(i - self.starts[p])

    def numbered(self) -> Iterator[tuple[int, Part]]:
        """Yield the parts, each with the number of its first sentence."""
        return zip(self.starts, self.parts, strict=False)


def columns_of(network: Network) -> Sentences | None:
    """Return the columns of a large network, if their numbers are those of its variables; more may follow."""
    found = network.sentences
    if not isinstance(found, Sentences):
        return None
    known, all_of_them = found.variables, network.variables
    if all_of_them is known or (
        len(all_of_them) >= len(known)
        and all(mine == theirs for mine, theirs in zip(known, all_of_them, strict=False))
    ):
        return found
    return None


def slot(number: int, values: tuple[str, ...]) -> Variable:
    """Return the variable that stands for a slot of a template."""
    return Variable(f"#{number}", values)


def filled(formula: Formula, standing: dict[Variable, Variable]) -> Formula:
    """Put variables into the slots of a formula."""
    match formula:
        case Truth():
            return formula
        case Is(variable, value):
            return Is(standing[variable], value)
        case Not(operand):
            return Not(filled(operand, standing))
        case And(operands) | Or(operands) | Xor(operands):
            return type(formula)(tuple([filled(operand, standing) for operand in operands]))
        case Implies(premise, conclusion):
            return Implies(filled(premise, standing), filled(conclusion, standing))
        case Iff(left, right):
            return Iff(filled(left, standing), filled(right, standing))
