"""Which neighbours of a factor are called independent: held against a library's graph searches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import networkx as nx
import numpy as np
import pytest

from credalog.methods.intervals import separation
from credalog.methods.intervals.factors import FactorGraph, Kind, factor_graph
from credalog.methods.intervals.separation import Ancestry, mark_declared, mark_independent, mark_parents
from credalog.network.formulas import conjunction, proposition, propositions
from credalog.network.graph import DependencyGraph, dependency_graph
from credalog.network.parents import Parents
from credalog.network.sentences import Independence, Network, Sentence

S = Sentence.of
SEEDS = range(40)


def random_network(seed: int, count: int = 10) -> Network:
    """Draw conditionals among atoms, most of them downwards, and a few claims about two atoms."""
    rng = np.random.default_rng(seed)
    atoms = [proposition(f"x{i}") for i in range(count)]
    sentences = []
    for i in range(count):
        above = [int(p) for p in rng.permutation([j for j in range(count) if j != i])[: rng.integers(0, 4)]]
        if rng.random() < 0.7:
            above = [p for p in above if p < i]
        given = conjunction(atoms[p] for p in above)
        sentences.append(S(atoms[i], 0.2, 0.8, given=given))
    if rng.random() < 0.5:
        one, other = rng.permutation(count)[:2]
        sentences.append(S(atoms[one] | atoms[other], 0.1, 0.9, tau=bool(rng.random() < 0.5)))
    return Network(tuple(a.variable for a in atoms), tuple(sentences))


def digraph(dependencies: DependencyGraph) -> nx.DiGraph[int]:
    arcs = ((p, x) for x, above in enumerate(dependencies.parent_indices) for p in above)
    graph: nx.DiGraph[int] = nx.DiGraph(arcs)
    graph.add_nodes_from(range(len(dependencies.variables)))
    return graph


def are_independent(graph: nx.DiGraph[int], one: int, other: int) -> bool:
    """Tell whether two variables share no ancestor, and at most one has a cycle among its own."""
    origins = [nx.ancestors(graph, v) | {v} for v in (one, other)]
    acyclic = [nx.is_directed_acyclic_graph(graph.subgraph(o)) for o in origins]
    return origins[0].isdisjoint(origins[1]) and any(acyclic)


def greedy(graph: nx.DiGraph[int], candidates: Iterable[int]) -> list[int]:
    chosen: list[int] = []
    for v in candidates:
        if all(are_independent(graph, v, w) for w in chosen):
            chosen.append(v)
    return chosen


def marked(graph: FactorGraph) -> list[list[int]]:
    """Return the variables that are marked in each factor."""
    return [
        [v for v, mark in zip(factor.scope, graph.arrays.product[graph.edges(f)], strict=True) if mark]
        for f, factor in enumerate(graph.factors)
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbours_are_called_independent_only_without_common_ancestors_or_two_cycles(seed: int) -> None:
    network = random_network(seed)
    dependencies = dependency_graph(network)
    graph, ancestry = factor_graph(network), Ancestry(dependencies)
    arcs = digraph(dependencies)
    expected = [
        greedy(arcs, factor.scope[:-1] if factor.kind is Kind.FAMILY else factor.scope)
        for factor in graph.factors
    ]
    assert marked(mark_independent(graph, dependencies)) == expected
    assert marked(ancestry.mark(graph)) == expected
    for v in arcs:
        assert ancestry.of(v) == nx.ancestors(arcs, v) | {v}


@pytest.mark.parametrize("seed", SEEDS)
def test_sets_are_disjoint_where_no_member_of_one_depends_on_the_others(seed: int) -> None:
    rng, dependencies = np.random.default_rng(seed), dependency_graph(random_network(seed))
    ancestry, arcs = Ancestry(dependencies), digraph(dependencies)
    for _ in range(10):
        members = [int(v) for v in rng.permutation(10)[:4]]
        left, right = members[:2], members[2:]
        origins = [set(side).union(*(nx.ancestors(arcs, v) for v in side)) for side in (left, right)]
        cyclic = [not nx.is_directed_acyclic_graph(arcs.subgraph(o)) for o in origins]
        expected = origins[0].isdisjoint(origins[1]) and not all(cyclic)
        assert ancestry.disjoint(left, right) == expected


@pytest.mark.parametrize("seed", range(20))
def test_a_search_that_gives_up_proves_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = random_network(seed)
    dependencies = dependency_graph(network)
    arcs = digraph(dependencies)
    for most in (1, 2, 3):
        monkeypatch.setattr(separation, "MOST_ANCESTORS", most)
        ancestry = Ancestry(dependencies)
        for graph in (
            mark_independent(factor_graph(network), dependencies),
            ancestry.mark(factor_graph(network)),
        ):
            for variables in marked(graph):
                assert greedy(arcs, variables) == variables
        assert all(
            ancestry.of(v) == nx.ancestors(arcs, v) | {v} for v in arcs if len(nx.ancestors(arcs, v)) < most
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_bridges_and_disjoint_ancestors_are_those_of_the_library(seed: int) -> None:
    dependencies = dependency_graph(random_network(seed))
    rows = Parents.of_rows(dependencies.parent_indices)
    start, parents = rows.start, rows.flat
    arcs = digraph(dependencies)
    # The library's types call an edge a node.
    found = cast(Iterable[tuple[int, int]], nx.bridges(nx.Graph(arcs)))
    bridges = {frozenset(edge) for edge in found}
    flags = separation._bridges(start, parents)
    pairs = [(x, p) for x, above in enumerate(dependencies.parent_indices) for p in above]
    assert [bool(flag) for flag in flags] == [frozenset(pair) in bridges for pair in pairs]
    for x in arcs:
        for a in arcs:
            expected = a in dependencies.parent_indices[x] and frozenset((a, x)) in bridges
            assert separation._is_bridge(start, parents, flags, a, x) == expected
    visited = np.full(10, -1)
    origins = {v: nx.ancestors(arcs, v) | {v} for v in arcs}
    for a in arcs:
        for b in arcs:
            expected = origins[a].isdisjoint(origins[b])
            assert separation._disjoint_ancestry(start, parents, a, b, visited) == expected
            assert (visited == -1).all()


def test_a_graph_without_variables_has_no_bridges() -> None:
    nothing = Parents.of_rows(())
    assert len(separation._bridges(nothing.start, nothing.flat)) == 0


def test_a_declared_pair_is_marked_where_nothing_else_is() -> None:
    a, b, c, d = propositions("a b c d")
    sentences = (S(a | b | c, 0.2, 0.8), S(d, 0.2, 0.8, given=a & b), S(d, 0.1, 0.9, given=a & ~b))

    def marks(*declared: Independence) -> list[list[int]]:
        network = Network((a.variable, b.variable, c.variable, d.variable), sentences, declared)
        return [sorted(found) for found in marked(mark_declared(factor_graph(network)))]

    nothing = marks()
    assert not any(nothing)
    kinds = [
        factor.kind
        for factor in factor_graph(Network(tuple(x.variable for x in (a, b, c, d)), sentences)).factors
    ]
    assert Kind.FAMILY in kinds and Kind.TABLE in kinds
    for one, other in ((a, b), (b, a)):
        assert marks(Independence((one.variable,), (other.variable,))) == [[0, 1], [0, 1]]
    assert marks(Independence((a.variable,), (b.variable,), (c.variable,))) == nothing
    # The head of a family is no candidate, and of two pairs one is taken.
    assert marks(Independence((a.variable,), (d.variable,))) == nothing
    pairs = marks(Independence((a.variable,), (b.variable, c.variable)))
    assert sorted(map(len, pairs)) == [2, 2]


def test_a_declared_pair_leaves_what_is_marked() -> None:
    a, b, c = propositions("a b c")
    network = Network(
        (a.variable, b.variable, c.variable),
        (S(a, 0.2, 0.8), S(b, 0.2, 0.8), S(c, 0.2, 0.8), S(a | b | c, 0.2, 0.8, tau=False)),
        (Independence((a.variable,), (c.variable,)),),
    )
    graph = mark_independent(factor_graph(network), dependency_graph(network))
    assert marked(mark_declared(graph)) == marked(graph)


def test_the_parents_in_a_table_about_one_variable_are_marked() -> None:
    a, b, c = propositions("a b c")
    overlapping = (S(c, 0.2, 0.8, given=a & b), S(c, 0.1, 0.9, given=a | b))
    for sentences, expected in (
        (overlapping, [[0, 1]]),
        ((S(a & c, 0.1, 0.9, given=b),), [[]]),
        ((S(c, 0.1, 0.9, given=c | b),), [[]]),
        # One sentence in whose condition the variable stands is enough.
        ((S(c, 0.1, 0.9, given=a & b), S(c, 0.2, 0.8, given=a & b & c)), [[]]),
    ):
        network = Network((a.variable, b.variable, c.variable), sentences)
        graph = factor_graph(network)
        tables = [f for f, factor in enumerate(graph.factors) if factor.kind is Kind.TABLE]
        found = marked(mark_parents(graph))
        assert [found[f] for f in tables] == expected


def test_what_descends_from_two_cycles_is_not_independent() -> None:
    """a and b are tied, so are c and d: x is a child of a, y of c, and z of both. All may copy one coin."""
    a, b, c, d, x, y, z = propositions("a b c d x y z")
    tied = [S(a & b, 0.1, 0.9), S(c & d, 0.1, 0.9)]
    below = [S(x, 0.2, 0.8, given=a), S(y, 0.2, 0.8, given=c), S(z, 0.2, 0.8, given=x & y)]
    network = Network(tuple(v.variable for v in (a, b, c, d, x, y, z)), (*tied, *below))
    ancestry = Ancestry(dependency_graph(network))
    assert ancestry.cyclic.all()
    assert not ancestry.disjoint((4,), (5,))
    graph = factor_graph(network)
    for found in (mark_independent(graph, dependency_graph(network)), ancestry.mark(graph)):
        assert all(len(together) < 2 for together in marked(found))


def test_a_bridge_to_the_first_variable_says_nothing_of_a_factor_without_a_head() -> None:
    """a leads to z by a bridge, but a and b share the parent c; the claim about both draws no arrow."""
    z, c, a, b = propositions("z c a b")
    stated = [Sentence.of(x, "0.1", "0.9", given=y) for x, p in ((z, a), (a, c), (b, c)) for y in (p, ~p)]
    stated += [Sentence.of(c, "0.1", "0.9"), Sentence.of(a ^ b, "0.1", "0.9", tau=False)]
    network = Network(tuple(x.variable for x in (z, c, a, b)), tuple(stated))
    graph = mark_independent(factor_graph(network), dependency_graph(network))
    places = [f for f, factor in enumerate(graph.factors) if set(factor.scope) == {2, 3}]
    assert len(places) == 1 and graph.factors[places[0]].kind is Kind.TABLE
    assert len(marked(graph)[places[0]]) < 2


@pytest.mark.parametrize("names", ["abx", "xab"])
@pytest.mark.parametrize("second", ["", "ax", "bx"])
def test_one_bridge_to_their_child_makes_parents_with_many_ancestors_independent(
    names: str, second: str
) -> None:
    """Both have more ancestors than are searched; a second child leaves one of them without a bridge."""
    a, b, x = (names.index(name) for name in "abx")
    atoms = propositions(" ".join(names))
    network = Network(
        tuple(atom.variable for atom in atoms), (S(atoms[x], 0.2, 0.8, given=atoms[a] & atoms[b]),)
    )
    count = separation.MOST_ANCESTORS + 10
    rows: list[tuple[int, ...]] = [()] * 3 + [(3 + i + 1,) for i in range(2 * count)]
    rows[a], rows[b], rows[x] = (3,), (3 + count,), (a, b)
    rows[3 + count - 1] = rows[3 + 2 * count - 1] = ()
    dependencies = Parents.of_rows([*rows, tuple(names.index(name) for name in second)])
    assert marked(mark_independent(factor_graph(network), dependencies)) == [sorted((a, b))]


def test_a_bridge_to_the_second_variable_says_nothing_of_a_factor_without_a_head() -> None:
    """b leads to a, and a by a bridge to z."""
    a, z, b = propositions("a z b")
    network = Network(tuple(x.variable for x in (a, z, b)), (S(a | b, 0.1, 0.9, tau=False),))
    found = marked(mark_independent(factor_graph(network), Parents.of_rows([(2,), (0,), ()])))
    assert [len(together) for together in found] == [1]
