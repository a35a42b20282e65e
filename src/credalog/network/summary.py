"""What can be said of a network before any inference.

Input: a `Network` and its `DependencyGraph`. Output: `Summary`: how many variables, sentences and
independences, what is cyclic, and how wide a clique exact inference should expect. Everything here takes
time about linear in the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from credalog.network.families import families_of, scopes_of
from credalog.network.graph import DependencyGraph
from credalog.network.sentences import Network, Sentence

__all__ = ["WIDEST", "Summary", "summarize", "ties"]

WIDEST = 64
"""Beyond this many variables a clique is hopeless, and its exact width is not worth knowing."""

EFFORT = 4_000_000
"""How many variables may be visited in all while independences are counted."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The size and the shape of a network.

    `independences` counts the variables with a non-empty ndnp; `uncounted` are those whose ndnp would
    take too long to settle, so that the true number lies between the two. `cycles` are the sizes of the
    strongly connected components of several variables, largest first; `core` counts them with all their
    ancestors. `widest_clique` is None where it passes `WIDEST`.
    """

    variables: int
    sentences: int
    formulas: int
    independences: int
    uncounted: int
    declared: int
    cycles: tuple[int, ...]
    core: int
    widest_clique: int | None


def ties(network: Network) -> Iterator[Sentence]:
    """Yield the sentences that make the atoms of their claim depend on each other."""
    for sentence in network.sentences if families_of(network) is None else ():
        if sentence.tau and not sentence.is_atomic and len(sentence.claim_scope) > 1:
            yield sentence


def summarize(network: Network, graph: DependencyGraph) -> Summary:
    """Take stock of a network."""
    components = graph.components()
    cyclic = [component for component in components if len(component) > 1]
    verdicts = list(_has_independence(graph, components))
    return Summary(
        variables=len(network.variables),
        sentences=len(network.sentences) + len(network.contrasts),
        formulas=len(graph.formulas),
        independences=verdicts.count(True),
        uncounted=verdicts.count(None),
        declared=len(network.independences),
        cycles=tuple(sorted(map(len, cyclic), reverse=True)),
        core=_core_size(graph, cyclic),
        widest_clique=_widest_clique(network, graph, components),
    )


def _has_independence(
    graph: DependencyGraph, components: tuple[tuple[int, ...], ...]
) -> Iterator[bool | None]:
    """Tell of each variable whether its ndnp has a member, or None where that takes too long.

    Variables of earlier components are never descendants. So where they outnumber the parents found
    among them one is in ndnp(x); a search is needed only where every one of them is a parent.
    """
    searches = EFFORT // max(1, len(graph.variables))
    before = 0
    for component in components:
        inside = set(component)
        for x in component:
            if before > len(set(graph.parent_indices[x]) - inside):
                yield True
            elif searches:
                searches -= 1
                yield bool(graph.ndnp_indices(x))
            else:
                yield None
        before += len(component)


def _core_size(graph: DependencyGraph, cyclic: list[tuple[int, ...]]) -> int:
    found = {x for component in cyclic for x in component}
    frontier = list(found)
    while frontier:
        fresh = set(graph.parent_indices[frontier.pop()]) - found
        found |= fresh
        frontier.extend(fresh)
    return len(found)


def _widest_clique(
    network: Network, graph: DependencyGraph, components: tuple[tuple[int, ...], ...]
) -> int | None:
    """Eliminate component by component, children first, and return the size of the largest clique met."""
    position = {x: i for i, component in enumerate(components) for x in component}
    waiting: list[set[int]] = [set(component) for component in components]
    for scope in scopes_of(network):
        numbers = [graph.index(x) for x in scope]
        if numbers:
            waiting[max(position[x] for x in numbers)].update(numbers)
    widest = 0
    for i in reversed(range(len(components))):
        clique = waiting.pop().union(*(graph.parent_indices[x] for x in components[i]))
        widest = max(widest, len(clique))
        if widest > WIDEST:
            return None
        if rest := clique.difference(components[i]):
            waiting[max(position[x] for x in rest)] |= rest
    return widest
