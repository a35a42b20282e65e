"""Which variables of a directed acyclic graph matter for P(query | evidence).

Input: the parents of each variable, the numbers of the query's variables and of the observed ones. Output:
`Relevance`, the families that take part once barren and d-separated ones are gone, and what is left of
their parents; and whether what is left is a polytree.

Three facts are used (Shachter, "Bayes-Ball", 1998; Baker and Boult, "Pruning Bayesian networks", 1991). A
variable without query or evidence among its descendants sums to one. An observed variable is a constant
for its children, so its outgoing arcs may go. The families that then share no unobserved variable, directly
or through others, with the query's only multiply P(evidence) by a factor.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Relevance", "ancestors", "d_separated", "is_polytree", "relevance"]

T = TypeVar("T", bound=Hashable)


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


def ancestors(parents: Sequence[Sequence[int]], variables: Iterable[int]) -> set[int]:
    """Return the variables and all their ancestors."""
    found: set[int] = set()
    frontier = list(variables)
    while frontier:
        x = frontier.pop()
        if x not in found:
            found.add(x)
            frontier.extend(parents[x])
    return found


def d_separated(parents: Mapping[T, Iterable[T]], x: T, others: Iterable[T], given: Iterable[T]) -> bool:
    """Tell whether a directed acyclic graph makes x independent of others given some variables.

    It does where every path between them in the moral graph of their ancestors meets what is given
    (Lauritzen, Dawid, Larsen and Leimer, 1990).
    """
    known, asked = set(given), set(others)
    near: dict[T, set[T]] = {}
    frontier = [x, *asked, *known]
    while frontier:
        child = frontier.pop()
        if child not in near:
            near[child] = set()
            frontier.extend(parents[child])
    for child in tuple(near):
        family = {child, *parents[child]}
        for member in family:
            near[member] |= family
    reached, frontier = {x}, [x]
    while frontier:
        fresh = near[frontier.pop()] - known - reached
        reached |= fresh
        frontier.extend(fresh)
    return reached.isdisjoint(asked)


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
