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

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Relevance", "ancestors", "d_connected", "is_polytree", "relevance"]

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
