"""What matters for a query: held against graph searches of a library, on random directed acyclic graphs."""

from __future__ import annotations

from itertools import product
from math import prod

import networkx as nx
import numpy as np
import pytest

from credalog.network.structure import ancestors, d_connected, is_polytree, relevance

SEEDS = range(60)


def random_parents(rng: np.random.Generator, count: int = 7) -> list[tuple[int, ...]]:
    """Draw a directed acyclic graph whose order is not that of the numbers."""
    order = rng.permutation(count)
    parents: list[tuple[int, ...]] = [()] * count
    for place, x in enumerate(order):
        above = rng.permutation(order[:place])[: rng.integers(0, 3)]
        parents[int(x)] = tuple(int(y) for y in above)
    return parents


def digraph(parents: list[tuple[int, ...]]) -> nx.DiGraph[int]:
    graph: nx.DiGraph[int] = nx.DiGraph((p, x) for x, above in enumerate(parents) for p in above)
    graph.add_nodes_from(range(len(parents)))
    return graph


@pytest.mark.parametrize("seed", SEEDS)
def test_ancestors_and_separation_are_those_of_the_library(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents = random_parents(rng)
    graph, mapping = digraph(parents), dict(enumerate(parents))
    children = {x: list(graph.successors(x)) for x in graph if graph.out_degree(x)}
    assert ancestors(parents, [0, 3]) == {0, 3} | nx.ancestors(graph, 0) | nx.ancestors(graph, 3)
    for _ in range(5):
        x, *rest = (int(y) for y in rng.permutation(len(parents)))
        given = set(rest[: rng.integers(0, 4)])
        others = set(rest) - given
        expected = {y for y in others if not nx.is_d_separator(graph, {x}, {y}, given)}
        assert d_connected(mapping, children, x, given) == expected | {x}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_relevant_families_hang_together_through_what_is_not_observed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents = random_parents(rng)
    query, *rest = (int(y) for y in rng.permutation(len(parents)))
    observed = rest[: rng.integers(0, 4)]
    found = relevance(parents, [query], observed)
    ancestral = ancestors(parents, [query, *observed])
    open_parents = {x: tuple(p for p in parents[x] if p not in observed) for x in ancestral}
    shared: nx.Graph[tuple[str, int]] = nx.Graph()
    for x, mine in open_parents.items():
        shared.add_node(("family", x))
        members = mine if x in observed else (x, *mine)
        shared.add_edges_from((("family", x), ("variable", member)) for member in members)
    together = nx.node_connected_component(shared, ("family", query))
    families = tuple(sorted(x for kind, x in together if kind == "family"))
    assert found.families == families
    assert found.parents == {x: open_parents[x] for x in families}
    assert found.separated == tuple(sorted(ancestral - set(families)))
    arcs = nx.Graph((x, p) for x in families for p in open_parents[x])
    arcs.add_nodes_from(families)
    assert is_polytree(found) == nx.is_forest(arcs)


@pytest.mark.parametrize("seed", range(10))
def test_the_relevant_families_alone_give_the_posterior(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents = random_parents(rng)
    tables = {
        (x, values): rng.random()
        for x, above in enumerate(parents)
        for values in product((0, 1), repeat=len(above))
    }
    query, *rest = (int(y) for y in rng.permutation(len(parents)))
    observed = {y: int(rng.integers(2)) for y in rest[: rng.integers(0, 4)]}

    def posterior(families: tuple[int, ...]) -> float:
        mass = [0.0, 0.0]
        for world in product((0, 1), repeat=len(parents)):
            if all(world[y] == value for y, value in observed.items()):
                chances = [(tables[x, tuple(world[p] for p in parents[x])], world[x]) for x in families]
                mass[world[query]] += prod(p if value else 1.0 - p for p, value in chances)
        return mass[1] / sum(mass)

    relevant = relevance(parents, [query], observed)
    assert posterior(relevant.families) == pytest.approx(posterior(tuple(range(len(parents)))))


def test_ancestors_on_a_cycle_are_found_once() -> None:
    assert ancestors(((1,), (2,), (0, 3), ()), [0]) == {0, 1, 2, 3}
