"""The directed graph on numbered variables, and how its cycles are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

__all__ = ["Condition", "Indices", "Reading", "Structure", "ancestors"]

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
