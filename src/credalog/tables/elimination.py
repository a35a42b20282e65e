"""Variable elimination: variables leave a product of tables one after the other.

Input: potentials, tables over a few variables each. Output: the order in which variables go, with what meets
at each step; or the table that is left when all but some variables are summed, or maximized, out.

The next variable is the one whose step needs the smallest table. Tables are multiplied in pairs, so that any
number of them may meet, and each product is scaled by a power of two, so that unlikely things do not vanish.

Two eliminations have orders of their own: that of `methods.vertices` goes from children to parents, as its
relaxation demands, and mini-buckets (`products`) split what would be too wide.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from heapq import heapify, heappop, heappush
from math import frexp, prod
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from credalog.errors import ProblemTooLarge
from credalog.numbers.budget import Budget

__all__ = [
    "MAX_CELLS",
    "Potential",
    "Step",
    "combined",
    "eliminate",
    "elimination_steps",
    "planned",
    "restricted",
]

V = TypeVar("V", bound=Hashable)

Operation: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]

MAX_CELLS = 1 << 22
"""The largest table that is built for one step, unless told otherwise."""


AXES_KEPT = 1 << 14
"""So many ways in which axes fit together are remembered: many questions are about the same tables."""


PLANS_KEPT = 1 << 12
"""So many plans are remembered: both ends of a question have the same, and so may many questions."""


class Potential(NamedTuple, Generic[V]):
    """A table, with one axis per variable of its scope."""

    scope: tuple[V, ...]
    values: NDArray[Any]


class Step(NamedTuple, Generic[V]):
    """The variable that goes, the scope of all that meets there, and the numbers of the tables that meet.

    The result of step i has, after n tables given, the number n + i.
    """

    variable: V
    scope: tuple[V, ...]
    entering: tuple[int, ...]

    @property
    def rest(self) -> tuple[V, ...]:
        """Return the scope of the result."""
        return self.scope[: self.axis] + self.scope[self.axis + 1 :]

    @property
    def axis(self) -> int:
        """Return the place of the variable that goes."""
        return self.scope.index(self.variable)


def restricted(potential: Potential[V], observed: Mapping[V, int]) -> Potential[V]:
    """Fix the observed variables of a potential, which lose their axes."""
    scope, values = potential
    index = tuple(observed.get(x, slice(None)) for x in scope)
    return Potential(tuple(x for x in scope if x not in observed), values[index])


def combined(
    potentials: Iterable[Potential[V]], scope: tuple[V, ...], operation: Operation = np.multiply
) -> NDArray[Any]:
    """Multiply potentials, or add them up, into one table over a scope that holds theirs."""
    stretched = [_stretched(potential, scope) for potential in potentials]
    return reduce(operation, stretched) if stretched else np.ones([1] * len(scope))


def _stretched(potential: Potential[V], scope: tuple[V, ...]) -> NDArray[Any]:
    """Give a table the axes of a scope that holds its own, of length one where it lacks one."""
    own, values = potential
    if own == scope:
        return values
    order, index = _axes(own, scope)
    return values[index] if order is None else values.transpose(order)[index]


Index: TypeAlias = tuple[slice | None, ...]


@lru_cache(maxsize=AXES_KEPT)
def _axes(own: tuple[Hashable, ...], scope: tuple[Hashable, ...]) -> tuple[tuple[int, ...] | None, Index]:
    """Return the order of a table's axes in a scope, None where it is theirs, and where axes are missing."""
    place = {x: axis for axis, x in enumerate(scope)}
    order = tuple(sorted(range(len(own)), key=[place[x] for x in own].__getitem__))
    index = tuple(slice(None) if x in own else None for x in scope)
    return None if order == tuple(range(len(own))) else order, index


def _scaled_product(
    potentials: Iterable[Potential[V]], scope: tuple[V, ...]
) -> tuple[int, NDArray[np.float64]]:
    """Multiply potentials; return n and the table, divided by 2**n."""
    stretched = [_stretched(potential, scope) for potential in potentials]
    exponent, result = _scaled(stretched[0] if stretched else np.ones([1] * len(scope)))
    for values in stretched[1:]:
        shift, result = _scaled(result * values)
        exponent += shift
    return exponent, result


def eliminate(
    potentials: Iterable[Potential[V]],
    keep: Sequence[V] = (),
    *,
    marginalize: np.ufunc = np.add,
    most: int = MAX_CELLS,
    budget: Budget | None = None,
) -> tuple[NDArray[np.float64], int]:
    """Sum or maximize all variables but some out of a product; return their table, divided by 2**n, and n."""
    tables = list(potentials)
    sizes = {x: size for scope, values in tables for x, size in zip(scope, values.shape, strict=True)}
    if (states := prod(sizes.get(x, 1) for x in keep)) > most:
        # No step makes this table, but the last product does.
        raise ProblemTooLarge(f"elimination needs a table of {states} numbers")
    steps = planned([scope for scope, _ in tables], sizes, keep=keep, most=most)
    exponent, left = 0, dict(enumerate(tables))
    for number, step in enumerate(steps, start=len(tables)):
        if budget is not None:
            budget.require_time()
        shift, product = _scaled_product([left.pop(i) for i in step.entering], step.scope)
        exponent += shift
        left[number] = Potential(step.rest, marginalize.reduce(product, axis=step.axis))
    shift, result = _scaled_product(left.values(), tuple(keep))
    return result, exponent + shift


def _scaled(values: NDArray[np.float64]) -> tuple[int, NDArray[np.float64]]:
    """Divide a table by the power of two that brings its greatest entry near one: nothing is rounded."""
    exponent = frexp(float(np.maximum.reduce(values, axis=None, initial=0.0)))[1]
    return exponent, np.ldexp(values, -exponent) if exponent else values


def planned(
    scopes: Iterable[tuple[V, ...]], sizes: Mapping[V, int], *, keep: Iterable[V] = (), most: int = MAX_CELLS
) -> Sequence[Step[V]]:
    """Plan an elimination as `elimination_steps` does, or remember one of the same scopes and sizes."""
    wanted = tuple(scopes)
    known = tuple((x, sizes[x]) for x in dict.fromkeys(x for scope in wanted for x in scope))
    return _planned(wanted, known, tuple(keep), most)


@lru_cache(maxsize=PLANS_KEPT)
def _planned(
    scopes: tuple[tuple[Any, ...], ...], sizes: tuple[tuple[Any, int], ...], keep: tuple[Any, ...], most: int
) -> tuple[Step[Any], ...]:
    return tuple(elimination_steps(scopes, dict(sizes), keep=keep, most=most))


def elimination_steps(
    scopes: Sequence[tuple[V, ...]],
    sizes: Mapping[V, int],
    *,
    keep: Iterable[V] = (),
    most: int = MAX_CELLS,
    priority: Callable[[V, int], Any] = lambda _, states: states,
) -> list[Step[V]]:
    """Plan an elimination of all variables but some; first goes the one of least priority: fewest states."""
    meeting = _Meeting(scopes, sizes)
    for x in keep:
        meeting.members.pop(x, None)
    number = {x: i for i, x in enumerate(meeting.members)}
    waiting = [(priority(x, meeting.states(x)), i, x) for x, i in number.items()]
    heapify(waiting)
    steps = []
    while waiting:
        before, _, x = heappop(waiting)
        # An entry that is out of date has been replaced by a newer one.
        if x not in number or before != priority(x, meeting.states(x)):
            continue
        if meeting.states(x) > most:
            raise ProblemTooLarge(f"elimination needs a table of {meeting.states(x)} numbers")
        del number[x]
        steps.append(meeting.remove(x))
        for y in steps[-1].rest:
            if y in number:
                heappush(waiting, (priority(y, meeting.states(y)), number[y], y))
    return steps


class _Meeting(Generic[V]):
    """Which tables mention which variable, while variables are removed."""

    def __init__(self, scopes: Sequence[tuple[V, ...]], sizes: Mapping[V, int]) -> None:
        self._sizes = sizes
        self._scopes: list[tuple[V, ...]] = []
        self.members: dict[V, dict[int, None]] = {}
        for scope in scopes:
            for x in scope:
                self.members.setdefault(x, {})
            self._add(scope)

    def _add(self, scope: tuple[V, ...]) -> None:
        for x in scope:
            if x in self.members:
                self.members[x][len(self._scopes)] = None
        self._scopes.append(scope)

    def _union(self, x: V) -> tuple[V, ...]:
        return tuple(dict.fromkeys(y for number in self.members[x] for y in self._scopes[number]))

    def states(self, x: V) -> int:
        """Return the size of the table that removing a variable needs."""
        return prod(self._sizes[y] for y in self._union(x))

    def remove(self, x: V) -> Step[V]:
        """Remove a variable: what mentions it becomes one table over the others."""
        step = Step(x, self._union(x), tuple(self.members[x]))
        del self.members[x]
        for y in step.rest:
            for number in step.entering:
                self.members.get(y, {}).pop(number, None)
        self._add(step.rest)
        return step
