"""Models with copies: what stands for a model across ties is held against tables of all worlds."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from credalog import LCN, parse
from credalog.methods.cliques.models.finding import copying_models
from credalog.network.graph import DependencyGraph, dependency_graph
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.numbers.tolerances import FEASIBILITY
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted.check import violation

RING = 6


def ring(seed: int, atoms: int = RING) -> LCN:
    """Draw bounds that hold where neighbours agree as much as they can."""
    rng = Random(seed)
    hidden = [rng.uniform(0.2, 0.5) for _ in range(atoms)]
    lines = [f"{p - 0.1:.3f} <= P(s{i}) <= {p + 0.2:.3f}" for i, p in enumerate(hidden)]
    for i in range(atoms):
        apart = abs(hidden[i] - hidden[(i + 1) % atoms]) + rng.uniform(0.1, 0.3)
        lines.append(f"P(s{i} xor s{(i + 1) % atoms}) <= {apart:.3f}")
    return parse("\n".join(lines))


def greatest_entropy(table: np.ndarray, scopes: list[tuple[int, ...]]) -> np.ndarray:
    """Fit the uniform table of all worlds to the sums of another over some scopes."""
    found = np.full(table.shape, 1.0 / table.size)
    for _ in range(600):
        for scope in scopes:
            rest = tuple(axis for axis in range(table.ndim) if axis not in scope)
            wanted, sums = table.sum(rest, keepdims=True), found.sum(rest, keepdims=True)
            found = found * np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0.0)
    return found


def dependence(table: np.ndarray, x: int, parents: tuple[int, ...]) -> float:
    """Return how far x is from independence of all else given its parents: |P(x,u,z)P(z) - P(x,z)P(u,z)|."""
    order = (*parents, x, *(i for i in range(table.ndim) if i not in (x, *parents)))
    joint = table.transpose(order).reshape(2 ** len(parents), 2, -1)
    mass = joint.sum((1, 2), keepdims=True)
    return float(np.abs(joint * mass - joint.sum(2, keepdims=True) * joint.sum(1, keepdims=True)).max())


def asked_of(model: LCN, question: str) -> tuple[Query, DependencyGraph]:
    return model.question(question), dependency_graph(model.ground())


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("end", End)
def test_what_copies_attain_has_a_model(seed: int, end: End) -> None:
    model = ring(seed)
    asked, graph = asked_of(model, "P(s0 and s2)")
    network = model.ground()
    names = {v.name: i for i, v in enumerate(network.variables)}
    around = {i: tuple(names[p.name] for p in graph.parents(v)) for i, v in enumerate(network.variables)}
    found = list(copying_models(network, graph, asked, end=end, budget=Budget.of(20.0)))
    assert found
    for distribution in found[:2]:
        assert violation(distribution, network, graph, asked=asked.scope) <= FEASIBILITY
        table = distribution.marginal(network.variables)
        scopes = [tuple(names[v.name] for v in s.scope) for s in network.sentences]
        fitted = greatest_entropy(table, [*scopes, tuple(names[v.name] for v in asked.scope)])
        # The fit keeps what is said and asked, and the local condition holds in it.
        for scope in (*scopes, (names["s0"], names["s2"])):
            rest = tuple(axis for axis in range(table.ndim) if axis not in scope)
            assert np.abs(table.sum(rest) - fitted.sum(rest)).max() < 1e-4
        assert max(dependence(fitted, x, parents) for x, parents in around.items()) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_no_model_with_copies_passes_the_bounds_of_all_worlds(seed: int) -> None:
    model = ring(seed, atoms=5)
    asked, graph = asked_of(model, "P(s0 and s2)")
    truth = model.query("P(s0 and s2)", method="joint", timeout=2.0)
    for end in End:
        for distribution in copying_models(model.ground(), graph, asked, end=end, budget=Budget.of(20.0)):
            value = distribution.probability(asked.claim)
            assert truth.lower - 1e-7 <= value <= truth.upper + 1e-7


def test_only_what_is_copied_may_be_asked_across_ties() -> None:
    model = parse("P(a xor b) <= 0.9\nP(b xor c) <= 0.9\nP(c xor d) <= 0.9\n")
    network = model.ground()
    graph = dependency_graph(network)
    a, b, c, d = network.variables
    root, blur, copy = np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]]), np.eye(2)
    by_both = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.6, 0.4]]])
    crossing = Distribution(
        (
            Factor((a,), (), root),
            Factor((b,), (a,), blur),
            Factor((c,), (b,), copy),
            Factor((d,), (c, a), by_both),
        )
    )
    # Of d and a together nothing is said: the law stands for a model, but not where both are asked about.
    assert violation(crossing, network, graph) <= FEASIBILITY
    assert violation(crossing, network, graph, asked=(a, d)) > 0.01
    # b determines a and a determines b, c and d likewise: any law of the two pairs is a model.
    pairs = Distribution(
        (Factor((a,), (), root), Factor((b,), (a,), copy), Factor((c,), (b,), blur), Factor((d,), (c,), copy))
    )
    assert violation(pairs, network, graph, asked=(a, d)) <= FEASIBILITY


@pytest.mark.parametrize("start", [0, 3])
def test_nearly_a_copy_is_none(start: int) -> None:
    model = ring(start)
    asked, graph = asked_of(model, "P(s0 and s2)")
    network = model.ground()
    (distribution, *_) = copying_models(network, graph, asked, end=End.LOWER, budget=Budget.of(20.0))
    blurred = [
        Factor(f.block, f.parents, 0.999 * f.table + 0.0005)
        if f.block[0].name != "s1" and np.array_equal(f.table, np.eye(2)) and len(f.parents) == 1
        else f
        for f in distribution.factors
    ]
    loose = parse("\n".join(f"P(s{i} xor s{(i + 1) % RING}) <= 1" for i in range(RING)))
    assert violation(Distribution(tuple(blurred)), loose.ground(), graph, asked=asked.scope) > FEASIBILITY


@pytest.mark.slow
def test_a_query_across_a_ring_is_exact_at_an_end_that_copies_attain() -> None:
    lines = [f"0.3 <= P(s{i}) <= 0.5" for i in range(8)]
    lines += [f"P(s{i} xor s{(i + 1) % 8}) <= 0.4" for i in range(8)]
    answer = parse("\n".join(lines)).query("P(s0 and s4)", timeout=10.0, tolerance=1e-3)
    # All of s0, s7 and of s3, s4 alike, and never true together: 0 is attained, and nothing is less.
    assert answer.lower == 0.0
    assert answer.lower_witnessed == pytest.approx(0.0, abs=1e-9)
