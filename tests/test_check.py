"""The check of witnesses, piece by piece: every number here is worked out by hand."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from credalog import parse
from credalog.network.formulas import Is, Variable, propositions
from credalog.network.graph import Markov, dependency_graph
from credalog.network.sentences import Independence, Network, Sentence
from credalog.numbers.budget import Budget, OutOfTime
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted.check import (
    _Components,
    _distance,
    _distance_from_laws,
    _fitted,
    _scale,
    _without_interactions,
    violation,
)

says = Sentence.of
V, W, X, Y = propositions("v w x y")
v, w, x, y = (atom.variable for atom in (V, W, X, Y))
EVEN = np.array([0.5, 0.5])
COPY = np.eye(2)


@pytest.mark.parametrize(
    ("bound", "scale"), [(0.25, 0.25), (0.75, 0.25), (0.0, 1.0), (1.0, 1.0), (1.5, 1.0), (-0.5, 1.0)]
)
def test_a_bound_is_kept_on_the_scale_of_its_distance_from_certainty(bound: float, scale: float) -> None:
    assert _scale(bound) == scale


@pytest.mark.parametrize(
    ("table", "parents", "distance"),
    [
        ([0.25, 0.75], (), 0.0),
        ([0.25, 0.5], (), 0.25),
        ([0.75, 0.5], (), 0.25),
        ([-0.125, 1.125], (), 0.125),
        ([[0.5, 0.5], [0.5, 1.0]], (w,), 0.5),
        ([[0.5, 0.5], [1.25, -0.25]], (w,), 0.25),
    ],
)
def test_a_law_has_no_negative_entry_and_sums_of_one(
    table: list[float], parents: tuple[Variable, ...], distance: float
) -> None:
    assert _distance_from_laws(Factor((x,), parents, np.array(table))) == distance


def test_tables_are_compared_relative_to_each_probability_as_well() -> None:
    rare, near = np.array([1e-6, 1.0 - 1e-6]), np.array([2e-6, 1.0 - 2e-6])
    assert _distance(near, rare) == pytest.approx(1e-3)
    assert _distance(np.array([0.0, 1.0]), rare) == pytest.approx(1e-3)
    assert _distance(EVEN, np.array([0.0, 1.0])) == 0.5
    assert _distance(EVEN, EVEN) == 0.0


def test_a_table_without_interactions_is_the_product_of_geometric_means() -> None:
    table = np.array([[0.4, 0.1], [0.1, 0.4]]) * [[1.0, 1.0], [0.5, 0.5]]
    rows = [sqrt(0.4 * 0.1), sqrt(0.05 * 0.2)]
    columns = [sqrt(0.4 * 0.05), sqrt(0.1 * 0.2)]
    expected = np.outer(rows, columns) / np.outer(rows, columns).sum()
    assert _without_interactions(table, [(0, 1)]) == pytest.approx(expected, abs=1e-15)


def test_what_is_fitted_along_a_chain_is_the_product_of_its_conditionals() -> None:
    table = np.array([[[0.3, 0.0], [0.1, 0.1]], [[0.1, 0.2], [0.0, 0.2]]])
    first, second, middle = table.sum(axis=2), table.sum(axis=0), table.sum(axis=(0, 2))
    expected = first[:, :, None] * second[None, :, :] / middle[None, :, None]
    assert _fitted(table, [(0, 1), (1, 2)]) == pytest.approx(expected, abs=1e-15)


RING = [(0, 1), (1, 2), (2, 3), (0, 3)]


def test_what_is_fitted_along_a_ring_has_the_sums_of_every_tie() -> None:
    """No formula gives it: many rounds are needed, though an entry that is zero no longer moves."""
    table = np.random.default_rng(1).dirichlet(np.ones(16)).reshape(2, 2, 2, 2)
    table[0, 0, :, :] = 0.0
    table /= table.sum()
    found = _fitted(table, RING)
    assert found[0, 0].max() == 0.0
    for tie in RING:
        rest = tuple(axis for axis in range(4) if axis not in tie)
        assert found.sum(axis=rest) == pytest.approx(table.sum(axis=rest), abs=1e-9)


def test_a_component_depends_on_its_parents_alone_though_each_member_hides_the_other() -> None:
    """y copies x, and x leans on w, a parent of their parent v: given y, x is known, and no local condition
    says more. P(v, x, y, w) is 0.2, where independence of w given v would make it 0.125.
    """
    stated = (says(W, 0, 1), says(V, 0, 1, given=W), says(Y, 0, 1, given=V), says(X ^ Y, 0, 1))
    network = Network((w, v, x, y), stated)
    law = np.array([[0.8, 0.2], [0.2, 0.8]])
    coins = Factor((w,), (), EVEN), Factor((v,), (), EVEN)
    model = Distribution((*coins, Factor((x,), (w,), law), Factor((y,), (x,), COPY)))
    graph = dependency_graph(network)
    assert (graph.parents(x), set(graph.parents(y))) == ((y,), {x, v})
    assert violation(model, network, graph) <= 1e-12
    assert violation(model, network, graph, markov=Markov.GLOBAL) == pytest.approx(0.075)


S = propositions("s0 s1 s2 s3")
s0, s1, s2, s3 = (atom.variable for atom in S)


def test_nothing_is_excused_where_a_factor_leans_on_others_than_its_component() -> None:
    """A ring whose scopes are closed, and beside it w, which leans on s0 in form alone.

    P(s0, s1, s2, !s3) is 0.081 / 2; if s0 and s2 were independent given the others, 0.126^2 / 0.18 / 2.
    Beside w, which is then looked at as well, half of that is left of each.
    """
    same = np.array([[0.9, 0.1], [0.1, 0.9]])
    both = np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]])
    ring = (
        Factor((s0,), (), EVEN),
        Factor((s1,), (s0,), same),
        Factor((s2,), (s1,), same),
        Factor((s3,), (s2, s0), both),
    )
    ties = tuple(says(S[i] ^ S[(i + 1) % 4], 0, 0.5) for i in range(4))
    network = Network((s0, s1, s2, s3, w), (*ties, says(W, 0, 1)))
    graph = dependency_graph(network)
    alone, leaning = Factor((w,), (), EVEN), Factor((w,), (s0,), np.array([EVEN, EVEN]))
    for markov in (Markov.LOCAL, Markov.GLOBAL):
        assert violation(Distribution((*ring, alone)), network, graph, markov=markov) <= 1e-12
    assert violation(Distribution((*ring, leaning)), network, graph) == pytest.approx(0.0018)


def test_a_variable_of_which_nothing_is_said_need_not_be_known() -> None:
    network = Network((w, x), (says(W, 0, 1),))
    model = Distribution((Factor((w,), (), EVEN),))
    assert violation(model, network, dependency_graph(network), markov=Markov.GLOBAL) == 0.0
    assert violation(model, network, None, markov=Markov.GLOBAL) == 0.0


def test_a_dependence_counts_where_a_world_is_less_likely_as_well() -> None:
    """Two dice of three sides: one world has 0.04 less than independence says, and no world 0.04 more."""
    m, n = (Variable(name, ("1", "2", "3")) for name in "mn")
    gap = np.array([[-0.04, 0.02, 0.02], [0.02, -0.01, -0.01], [0.02, -0.01, -0.01]])
    model = Distribution((Factor((m, n), (), 1.0 / 9.0 + gap),))
    network = Network((m, n), (), (Independence((m,), (n,)),))
    assert violation(model, network, None) == pytest.approx(0.04)


def test_factors_are_equal_in_all_they_hold() -> None:
    factor = Factor((x,), (w,), COPY)
    again = Factor((x,), (w,), COPY.copy())
    assert factor == again and hash(factor) == hash(again)
    assert factor != Factor((y,), (w,), COPY)
    assert factor != Factor((x,), (y,), COPY)
    assert factor != Factor((x,), (w,), 1.0 - COPY)
    assert factor != "a factor"


def test_many_tables_are_not_summed_up_after_the_end_of_time() -> None:
    model = Distribution((Factor((w,), (), EVEN),))
    (table,) = model.marginals([(w,)], Budget.of())
    assert table.tolist() == [0.5, 0.5] and model.probability(Is(w)) == 0.5
    with pytest.raises(OutOfTime):
        model.marginals([(w,)], Budget.of(0.0))


TWO_TIED = "0 <= P(a xor b) <= 1\n0 <= P(y) <= 1"


def tied_pair(*of_y: str) -> tuple[Distribution, Network]:
    """Return coins a, b and y, of which y leans on others in tables that say nothing."""
    network = parse(TWO_TIED).ground()
    of = {v.name: v for v in network.variables}
    names = ((), "a"), ("a", "b"), (of_y, "y")
    factors = [
        Factor((of[x],), tuple(of[p] for p in parents), np.full((2,) * (len(parents) + 1), 0.5))
        for parents, x in names
    ]
    return Distribution(tuple(factors)), network


@pytest.mark.parametrize(("of_y", "excused"), [((), 2), (("a",), 0)])
def test_ties_are_excused_only_where_every_factor_leans_on_its_own(
    of_y: tuple[str, ...], excused: int
) -> None:
    distribution, network = tied_pair(*of_y)
    found = _Components(distribution, network, dependency_graph(network), ())
    assert len(found.excused) == excused


def test_a_parent_that_leans_on_ties_breaks_what_their_factors_say() -> None:
    """b and p are no neighbours, but p copies b: given a they are not independent."""
    network = parse("0 <= P(a xor b) <= 1\n0 <= P(a | p) <= 1").ground()
    of = {v.name: v for v in network.variables}
    half = np.full((2, 2), 0.5)
    factors = [Factor((of["a"],), (), half[0]), Factor((of["b"],), (of["a"],), half)]
    copied = Distribution((*factors, Factor((of["p"],), (of["b"],), np.eye(2))))
    assert max(_Components(copied, network, dependency_graph(network), ()).violations()) > 0.1
