"""The directed graph on numbered variables: how its cycles are read, and what of it matters for a query.

Input: the parents of each variable; for what matters, the numbers of the query's variables and of the
observed ones. Output: `Structure`, on which a factorization rests; and of an acyclic graph `Relevance`: the
families that take part once barren and d-separated ones are gone, with what is left of their parents.

Three facts are used (Shachter, "Bayes-Ball", 1998; Baker and Boult, "Pruning Bayesian networks", 1991). A
variable without query or evidence among its descendants sums to one. An observed variable is a constant
for its children, so its outgoing arcs may go. The families that then share no unobserved variable, directly
or through others, with the query's only multiply P(evidence) by a factor.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TypeVar

__all__ = [
    "Condition",
    "Indices",
    "Reading",
    "Relevance",
    "Structure",
    "ancestors",
    "d_connected",
    "is_polytree",
    "relevance",
]

Indices = tuple[int, ...]

T = TypeVar("T", bound=Hashable)


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


def ancestors(parents: Sequence[Sequence[int]], start: Iterable[int]) -> frozenset[int]:
    """Return some variables with all their ancestors."""
    found = set(start)
    stack = list(found)
    while stack:
        fresh = set(parents[stack.pop()]) - found
        found |= fresh
        stack.extend(fresh)
    return frozenset(found)


# ---- what matters in an acyclic graph --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Relevance:
    """The families that matter and the unobserved parents of each.

    `families` lists variables whose conditional table takes part, ascending; `parents[x]` keeps of each
    one's parents those that are not observed. `separated` lists the other ancestors of query and evidence:
    they only scale P(evidence), which is zero if theirs is.
    """

    families: tuple[int, ...]
    parents: dict[int, tuple[int, ...]]
    separated: tuple[int, ...]


def d_connected(
    parents: Mapping[T, Iterable[T]], children: Mapping[T, Iterable[T]], x: T, given: Container[T]
) -> set[T]:
    """Return what a directed acyclic graph does not make independent of x given some variables; x is in it.

    A ball from x goes to parents and children; one that comes from a parent goes on to the children alone,
    and what is given sends it back to its parents where it came from one, or stops it (Shachter, 1998).
    """
    seen: set[tuple[T, bool]] = set()
    frontier = [(x, True)]
    while frontier:
        visit = y, is_from_child = frontier.pop()
        if visit in seen:
            continue
        seen.add(visit)
        if y not in given:
            frontier += [(child, False) for child in children.get(y, ())]
        if is_from_child != (y in given):
            frontier += [(parent, True) for parent in parents[y]]
    return {y for y, _ in seen if y not in given}


def relevance(
    parents: Sequence[Sequence[int]], query: Iterable[int], observed: Iterable[int] = ()
) -> Relevance:
    """Find the families that P(query | observed) depends on, whatever the conditional tables."""
    known = set(observed)
    asked = set(query)
    ancestral = ancestors(parents, asked | known)
    open_parents = {x: tuple(p for p in parents[x] if p not in known) for x in ancestral}
    reached = _connected(open_parents, known, asked)
    return Relevance(
        families=tuple(sorted(reached)),
        parents={x: open_parents[x] for x in sorted(reached)},
        separated=tuple(sorted(ancestral - reached)),
    )


def _connected(open_parents: dict[int, tuple[int, ...]], known: set[int], asked: set[int]) -> set[int]:
    """Return the families that hang together with the query's through unobserved variables."""
    users: dict[int, list[int]] = {}
    for x, mine in open_parents.items():
        for member in mine if x in known else (x, *mine):
            users.setdefault(member, []).append(x)
    reached: set[int] = set()
    frontier = [family for x in asked for family in (x, *users.get(x, ()))]
    while frontier:
        x = frontier.pop()
        if x not in reached:
            reached.add(x)
            members = open_parents[x] if x in known else (x, *open_parents[x])
            frontier.extend(family for member in members for family in users[member])
    return reached


def is_polytree(relevant: Relevance) -> bool:
    """Tell whether the relevant families, joined by their arcs, have no undirected cycle."""
    leader = {x: x for x in relevant.families}

    def find(x: int) -> int:
        while leader[x] != x:
            leader[x] = leader[leader[x]]
            x = leader[x]
        return x

    for child, mine in relevant.parents.items():
        for parent in mine:
            first, second = find(child), find(parent)
            if first == second:
                return False
            leader[first] = second
    return True
