"""A better order of elimination is an order, bounds no worse, and holds."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from math import prod
from typing import Any

import numpy as np
import pytest

from credal_drawing import draw_intervals
from credalog.methods.progress import Telling
from credalog.methods.vertices import greedy, sets
from credalog.methods.vertices.elimination import clusters
from credalog.methods.vertices.greedy import bounded
from credalog.methods.vertices.orders import Interior, better_order, end_scores
from credalog.network.formulas import Is, conjunction
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, Query
from credalog.network.structure import relevance
from credalog.numbers.budget import Budget
from credalog.tables.credal import CredalNetwork, Question, ask, credal_network
from oracle import Verdict
from vertex_oracle import strong_extension


def _asked(seed: int, count: int = 9) -> tuple[Network, Query, CredalNetwork, Question]:
    """Draw a network of two-valued variables and a query with some of them observed."""
    rng = np.random.default_rng(seed)
    network = draw_intervals(rng, count, 5)
    target, *observed = rng.permutation(count)[: rng.integers(2, 5)]
    given = conjunction(Is(network.variables[i]) for i in observed)
    query = Query(Is(network.variables[target]), given)
    credal = credal_network(network, dependency_graph(network))
    assert credal is not None
    put = ask(credal, query)
    assert put is not None
    return network, query, *put


def _interior(credal: CredalNetwork, asked: Question) -> Interior:
    relevant = relevance(credal.parents, [asked.target], asked.observed)
    return Interior(
        relevant.parents,
        {x: credal.ranges(x, asked.observed) for x in relevant.families},
        asked.observed,
        credal.sizes,
        asked.target,
        end_scores(np.array(asked.event, dtype=np.float64), (0.3, 0.7)),
    )


def _cells(order: dict[int, set[int]], sizes: tuple[int, ...]) -> int:
    return sum(prod(sizes[y] for y in (x, *met)) for x, met in order.items())


@pytest.mark.parametrize("seed", range(10))
def test_every_child_goes_before_its_parents_and_meets_what_its_messages_mention(seed: int) -> None:
    *_, credal, asked = _asked(seed)
    interior = _interior(credal, asked)
    order = better_order(interior, budget=Budget.of(20.0))
    hidden = [x for x in interior.parents if x not in asked.observed]
    assert sorted(order) == sorted(hidden)
    place = {x: i for i, x in enumerate(order)}
    assert all(place[x] < place[p] for x in hidden for p in interior.parents[x])
    scopes = [set(interior.parents[x]) for x in interior.parents if x in asked.observed]
    for x, met in order.items():
        assert met == set(interior.parents[x]).union(*(s for s in scopes if x in s)) - {x}
        scopes = [s for s in scopes if x not in s] + [met]


@pytest.mark.parametrize("seed", range(10))
def test_no_vertex_of_the_strong_extension_passes_bounds_in_a_better_order(seed: int) -> None:
    network, query, credal, asked = _asked(200 + seed, 7)
    truth = strong_extension(network, query)
    if truth.verdict is not Verdict.ANSWERED:
        return
    order = better_order(_interior(credal, asked), budget=Budget.of(20.0))
    lower, upper = bounded(credal, asked, budget=Budget.of(20.0), order=order)
    assert Fraction(lower.bound) <= truth.lower
    assert truth.upper <= Fraction(upper.bound)


def test_a_better_order_narrows_the_bounds() -> None:
    *_, credal, asked = _asked(432, 12)
    order = better_order(_interior(credal, asked), budget=Budget.of(20.0))
    first, second = (bounded(credal, asked, budget=Budget.of(20.0), order=o) for o in (None, order))
    assert second[1].bound - second[0].bound < first[1].bound - first[0].bound - 1e-4


@pytest.mark.slow
def test_where_cells_are_too_many_an_order_with_fewer_is_found() -> None:
    *_, credal, asked = _asked(417, 12)
    interior = _interior(credal, asked)
    start = clusters(interior.parents, asked.observed, credal.sizes)
    small = better_order(interior, most=1, budget=Budget.of(1.0))
    assert _cells(small, credal.sizes) < _cells(start, credal.sizes)


def test_without_time_the_first_order_is_kept() -> None:
    *_, credal, asked = _asked(1)
    interior = _interior(credal, asked)
    first = clusters(interior.parents, asked.observed, credal.sizes)
    assert better_order(interior, budget=Budget.of(0.0)) == first


@pytest.mark.parametrize("splits", [(1 << 14,), (4,)])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_too_wide_as_it_comes_is_bounded_in_a_better_order_before_models_are_sought(
    seed: int, splits: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wide(*layout: Any) -> dict[int, set[int]]:
        return {x: {*range(len(credal.sizes))} - {x} for x in clusters(*layout)}

    def not_yet(*_: Any, **__: Any) -> None:
        pytest.fail("a model is sought while nothing is known")

    network, query, credal, asked = _asked(seed)
    truth = strong_extension(network, query)
    if truth.verdict is not Verdict.ANSWERED:
        pytest.skip("no vertex allows the evidence")
    with monkeypatch.context() as patched:
        patched.setattr(greedy, "clusters", wide)
        patched.setattr(greedy, "MAX_CELLS", 64)
        patched.setattr(greedy, "LARGEST_CELLS", 64)
        patched.setattr(greedy, "SPLITS", splits)
        patched.setattr(sets, "climb", not_yet)
        stages = sets._by_search(credal, asked, 1e-3, Budget.of(20.0), Telling(None))
        first, second = islice(stages, 2)
    least, most = (one.endpoint.bound for one in first)
    # In small products something is known even so.
    assert ((least, most) == (0.0, 1.0)) == (splits != (4,))
    lower, upper = (one.endpoint.bound for one in second)
    assert least <= lower <= upper <= most
    assert upper - lower < most - least or splits == (4,)
    assert lower <= truth.lower <= truth.upper <= upper
