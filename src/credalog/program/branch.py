"""Best-first branch and bound, for whoever can bound a leaf and cut it.

Input: a root leaf, and `explore`, which turns a leaf into tighter or smaller ones. Output: a bound below
which no leaf has a value. Values are minimized throughout; whoever maximizes turns the sign.

The leaf with the weakest bound is explored first, so the bound of the whole is that of the leaf on top. A
leaf stays open until its exploration has ended: an interruption loses nothing, and the search can be taken
up again. Whoever explores many leaves at little more than the cost of one takes several; and leaves may be
given away to be explored elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Generic, TypeVar

__all__ = ["BranchAndBound", "Explored"]

L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class Explored(Generic[L]):
    """What became of a leaf: the bounded leaves that replace it, or the bound with which it is closed."""

    children: tuple[tuple[float, L], ...] = ()
    closed: float = inf


@dataclass(order=True, slots=True)
class _Open(Generic[L]):
    bound: float
    number: int
    leaf: L = field(compare=False)


class BranchAndBound(Generic[L]):
    """A search tree, held as its open leaves and the weakest bound of those that are closed."""

    def __init__(self, root: L, bound: float = -inf) -> None:
        self._numbers = count()
        self._open: list[_Open[L]] = []
        self._taken: dict[int, _Open[L]] = {}
        self.closed = inf
        self.push(bound, root)

    @property
    def bound(self) -> float:
        """Return what no leaf's value is below."""
        taken = min((entry.bound for entry in self._taken.values()), default=inf)
        return min(self.closed, taken, self._open[0].bound if self._open else inf)

    @property
    def is_exhausted(self) -> bool:
        """Tell whether no leaf is open."""
        return not self._open and not self._taken

    def __len__(self) -> int:
        return len(self._open)

    @property
    def leaves(self) -> Iterable[L]:
        """Yield the open leaves, in no particular order."""
        return (entry.leaf for entry in self._open)

    def push(self, bound: float, leaf: L) -> None:
        """Add an open leaf."""
        heappush(self._open, _Open(bound, next(self._numbers), leaf))

    def run(
        self,
        explore: Callable[[float, L], Explored[L]],
        *,
        until: Callable[[], bool],
        enough: Callable[[], float],
    ) -> None:
        """Explore the weakest leaf until somebody says stop, or all are at least `enough`."""
        self.run_together(lambda leaves: explore(*leaves[0]), until=until, enough=enough, at_most=1)

    def run_together(
        self,
        explore: Callable[[list[tuple[float, L]]], Explored[L]],
        *,
        until: Callable[[], bool],
        enough: Callable[[], float],
        at_most: int,
    ) -> None:
        """Explore the weakest leaves, several together, until somebody says stop."""
        while self._open and self.bound < enough() and not until():
            self.step_together(explore, enough, at_most=at_most)

    def step(self, explore: Callable[[float, L], Explored[L]], enough: Callable[[], float]) -> None:
        """Explore the weakest leaf once and put what became of it in its place."""
        self.step_together(lambda leaves: explore(*leaves[0]), enough, at_most=1)

    def step_together(
        self,
        explore: Callable[[list[tuple[float, L]]], Explored[L]],
        enough: Callable[[], float],
        *,
        at_most: int,
    ) -> None:
        """Explore the weakest leaves together and put what became of all in their place."""
        taken = self._weakest(enough, at_most)
        try:
            explored = explore([(entry.bound, entry.leaf) for entry in taken])
        except BaseException:
            for entry in taken:
                heappush(self._open, entry)
                del self._taken[entry.number]
            raise
        self._replace(explored, enough)
        for entry in taken:
            del self._taken[entry.number]

    def _weakest(self, enough: Callable[[], float], at_most: int) -> list[_Open[L]]:
        """Take the weakest leaves; each counts as open without a break, whenever Ctrl-C may come."""
        taken: list[_Open[L]] = []
        while self._open and len(taken) < at_most and (not taken or self._open[0].bound < enough()):
            weakest = self._open[0]
            self._taken[weakest.number] = weakest
            taken.append(heappop(self._open))
        return taken

    def _replace(self, explored: Explored[L], enough: Callable[[], float]) -> None:
        self.closed = min(self.closed, explored.closed)
        for bound, leaf in explored.children:
            if bound >= enough():
                self.closed = min(self.closed, bound)
            else:
                self.push(bound, leaf)

    # ---- leaves that others explore ---------------------------------------------------------------------

    def take(self) -> tuple[int, float, L]:
        """Give the weakest leaf away by a number; it counts as open until it is settled or given back."""
        entry = heappop(self._open)
        self._taken[entry.number] = entry
        return entry.number, entry.bound, entry.leaf

    def settle(self, number: int, explored: Explored[L], enough: Callable[[], float]) -> None:
        """Put what became of a leaf that was given away in its place."""
        del self._taken[number]
        self._replace(explored, enough)

    def give_back(self, number: int) -> None:
        """Open a leaf again of which nothing was heard."""
        heappush(self._open, self._taken.pop(number))
