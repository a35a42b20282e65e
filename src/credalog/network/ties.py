"""The ties of one component, and what is left of them as its members are eliminated.

Input: the parents of every variable and a component K. Output: `Ties`: the undirected graph on K and its
parents B outside, in which x and y are tied if one is a parent of the other and one of them is in K; B is
complete. Under the global Markov condition the law of K and B is a limit of products of functions of
cliques of this graph (docs/proofs.md, proof 14).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from credalog.network.structure import Indices

__all__ = ["Ties"]


class Ties:
    """Who is tied to whom; eliminating a member ties all its neighbours to each other.

    `is_chordal` says whether that has added no tie so far, `is_mutual` whether within the component all
    parents are parents of each other.
    """

    def __init__(self, parents: Sequence[Indices], component: Iterable[int]) -> None:
        self.near: dict[int, set[int]] = {x: set(parents[x]) for x in component}
        self.is_chordal = True
        inner = [(p, x) for x in self.near for p in parents[x] if p in self.near]
        self.is_mutual = all(x in self.near[p] for p, x in inner)
        for p, x in inner:
            self.near[p].add(x)

    @property
    def over(self) -> Indices:
        """Return the component and its parents."""
        return tuple(sorted(self.near.keys() | set().union(*self.near.values())))

    def are_tied(self, x: int, y: int) -> bool:
        """Tell whether two variables are tied; two parents outside always are."""
        return y in self.near[x] if x in self.near else y not in self.near or x in self.near[y]

    def is_complete(self, scope: Iterable[int]) -> bool:
        """Tell whether the variables of a scope are all tied to each other."""
        return all(self.are_tied(x, y) for x, y in combinations(scope, 2))

    def untied(self, scope: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield the pairs of a scope that are not tied."""
        return (pair for pair in combinations(scope, 2) if not self.are_tied(*pair))

    def cliques(self) -> Iterator[Indices]:
        """Yield the largest sets of variables that are all tied to each other (Bron and Kerbosch, 1973)."""
        frontier: list[tuple[Indices, Indices, Indices]] = [((), self.over, ())]
        while frontier:
            chosen, open_, done = frontier.pop()
            if not open_ and not done:
                yield chosen
            for place, x in enumerate(open_):
                after = tuple(y for y in open_[place + 1 :] if self.are_tied(x, y))
                before = tuple(y for y in (*done, *open_[:place]) if self.are_tied(x, y))
                frontier.append(((*chosen, x), after, before))

    def added_without(self, x: int) -> int:
        """Count the ties that the elimination of x would add."""
        return sum(1 for _ in self.untied(self.near[x]))

    def eliminate(self, x: int) -> frozenset[int]:
        """Take x away and tie its neighbours to each other; return these."""
        for y, z in list(self.untied(self.near[x])):
            self.is_chordal = False
            self._tie(y, z)
        near = frozenset(self.near.pop(x))
        for y in near & self.near.keys():
            self.near[y].discard(x)
        return near

    def _tie(self, x: int, y: int) -> None:
        for one, other in ((x, y), (y, x)):
            if one in self.near:
                self.near[one].add(other)

    def elimination(self) -> Iterator[tuple[int, frozenset[int]]]:
        """Eliminate all members, those first that add fewest ties; yield each with its neighbours then.

        A chordal graph is eliminated without adding any (Dirac, 1961).
        """
        while self.near:
            x = min(self.near, key=lambda y: (self.added_without(y), y))
            yield x, self.eliminate(x)
