"""Best-first branch and bound, for whoever can bound a leaf and cut it.

Input: a root leaf, and `explore`, which turns a leaf into tighter or smaller ones. Output: a bound below
which no leaf has a value. Values are minimized throughout; whoever maximizes turns the sign.

The leaf with the weakest bound is explored first, so the bound of the whole is that of the leaf on top. A
leaf stays open until what became of it is in its place: an interruption loses nothing, whenever it comes,
and the search can be taken up again. Whoever explores many leaves at little more than the cost of one takes
several; and leaves may be given away to be explored elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush, nsmallest
from itertools import count
from math import inf
from typing import Generic, TypeAlias, TypeVar

__all__ = ["BranchAndBound", "Explored"]

L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class Explored(Generic[L]):
    """What became of a leaf: the bounded leaves that replace it, or the bound with which it is closed."""

    children: tuple[tuple[float, L], ...] = ()
    closed: float = inf


Open: TypeAlias = tuple[float, int, L]
"""The bound of a leaf, its number, and the leaf. Numbers in tuples are compared in one go, so that Ctrl-C
does not leave a heap in disorder; no two leaves have the same number."""


class BranchAndBound(Generic[L]):
    """A search tree, held as its open leaves and the weakest bound of those that are closed."""

    def __init__(self, root: L, bound: float = -inf) -> None:
        self._numbers = count()
        self._open: list[Open[L]] = []
        self._taken: dict[int, Open[L]] = {}
        self.closed = inf
        self.push(bound, root)

    @property
    def bound(self) -> float:
        """Return what no leaf's value is below."""
        taken = min((bound for bound, _, _ in self._taken.values()), default=inf)
        return min(self.closed, taken, self._open[0][0] if self._open else inf)

    @property
    def is_exhausted(self) -> bool:
        """Tell whether no leaf is open."""
        return not self._open and not self._taken

    def __len__(self) -> int:
        return len(self._open)

    @property
    def leaves(self) -> Iterable[L]:
        """Yield the open leaves, in no particular order."""
        return (leaf for _, _, leaf in self._open)

    def push(self, bound: float, leaf: L) -> None:
        """Add an open leaf."""
        heappush(self._open, (bound, next(self._numbers), leaf))

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
        first, *others = nsmallest(at_most, self._open)
        taken = [first, *(entry for entry in others if entry[0] < enough())]
        explored = explore([(bound, leaf) for bound, _, leaf in taken])
        numbers = [self.take()[0] for _ in taken]
        self._replace(explored, enough)
        for number in numbers:
            del self._taken[number]

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
        weakest = bound, number, leaf = self._open[0]
        self._taken[number] = weakest
        heappop(self._open)
        return number, bound, leaf

    def settle(self, number: int, explored: Explored[L], enough: Callable[[], float]) -> None:
        """Put what became of a leaf that was given away in its place."""
        self._replace(explored, enough)
        del self._taken[number]

    def give_back(self, number: int) -> None:
        """Open a leaf again of which nothing was heard."""
        heappush(self._open, self._taken[number])
        del self._taken[number]
