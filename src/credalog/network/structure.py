"""The directed graph on numbered variables, and how its cycles are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import combinations

__all__ = ["Condition", "Indices", "Reading", "Structure", "Ties", "ancestors"]

Indices = tuple[int, ...]


class Reading(Enum):
    """Say how the strongly connected components of several variables are treated."""

    LITERAL = "the core is one block, and each of its variables satisfies its own local condition"
    OUTER = "one block per component, with only the local conditions that fit inside its clique"
    CHAIN = "one block per component, independent of what precedes it given its parents"
    SLICED = "some variables only, with the conditions that fit into a clique: bounds, no models"
    TIED = "the scopes demanded of a component are a junction tree, with no condition inside"
    GLOBAL = "the members of a component are a junction tree, each independent of the rest given its ties"
    FREE = "nothing is independent of anything: Nilsson's logic on a junction tree"

    @property
    def follows_ties(self) -> bool:
        """Tell whether the members of a component are eliminated one by one."""
        return self in (Reading.TIED, Reading.GLOBAL)


@dataclass(frozen=True, slots=True)
class Condition:
    """The independence of `left` from `right` given `given`, inside one clique."""

    left: Indices
    right: Indices
    given: Indices


@dataclass(frozen=True)
class Structure:
    """The directed graph on variables that a factorization respects."""

    parents: tuple[Indices, ...]
    sizes: Indices
    components: tuple[Indices, ...]

    @cached_property
    def children(self) -> tuple[Indices, ...]:
        """Return the children of every variable."""
        found: list[list[int]] = [[] for _ in self.parents]
        for child, parents in enumerate(self.parents):
            for parent in parents:
                found[parent].append(child)
        return tuple(map(tuple, found))

    @cached_property
    def core(self) -> frozenset[int]:
        """Return the components of several variables with all their ancestors."""
        cyclic = (x for component in self.components if len(component) > 1 for x in component)
        return ancestors(self.parents, cyclic)

    def ndnp(self, x: int, within: Iterable[int]) -> Indices:
        """Return the non-descendant non-parents of x among some variables, as the paper defines them."""
        shown = tuple(within)
        last = max((self._rank[y] for y in shown), default=0)
        excluded = {x, *self.parents[x], *self._descendants(x, last)}
        return tuple(y for y in shown if y not in excluded)

    def not_ndnp(self, x: int) -> frozenset[int]:
        """Return what the condition of x does not name: x itself, its parents and its descendants."""
        return frozenset(self._descendants(x)) | {x, *self.parents[x]}

    def is_closed(self, scope: Iterable[int], component: Iterable[int]) -> bool:
        """Tell whether each member of a component that a scope shows has all the rest of it as parents.

        What is said of closed scopes alone needs no condition inside the component (docs/proofs.md, proof 9).
        """
        shown = frozenset(scope)
        return all(shown - {x} <= frozenset(self.parents[x]) for x in shown.intersection(component))

    @cached_property
    def _rank(self) -> dict[int, int]:
        """Return the place of each variable's component: no arrow leads to an earlier one."""
        return {x: place for place, component in enumerate(self.components) for x in component}

    def _descendants(self, x: int, last: int | None = None) -> set[int]:
        """Return the descendants of x; if `last` is given, those in components up to that place only."""
        reached, frontier = set[int](), [x]
        while frontier:
            children = self.children[frontier.pop()]
            fresh = {y for y in children if last is None or self._rank[y] <= last} - reached
            reached |= fresh
            frontier.extend(fresh - set(self.parents[x]))
        return reached


def ancestors(parents: Sequence[Indices], start: Iterable[int]) -> frozenset[int]:
    """Return a set of variables with all their ancestors."""
    found = set(start)
    stack = list(found)
    while stack:
        fresh = set(parents[stack.pop()]) - found
        found |= fresh
        stack.extend(fresh)
    return frozenset(found)


# ---- ties -------------------------------------------------------------------------------------------------


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
