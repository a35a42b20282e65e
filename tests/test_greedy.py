"""Bounds without vertices hold whatever is split, and are exact where one family alone is imprecise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from credalog import parse
from credalog.methods.vertices import greedy
from credalog.network.formulas import Is, Variable, conjunction
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.budget import Budget
from credalog.tables.credal import ask, credal_network
from credalog.tables.interval_sets import filled
from oracle import Verdict
from vertex_oracle import strong_extension


def _interval(rng: np.random.Generator, point: bool) -> tuple[Fraction, Fraction]:
    low, high = sorted(Fraction(int(n), 20) for n in rng.integers(0, 21, size=2))
    return (low, low) if point else (low, high)


def _loopy(rng: np.random.Generator, count: int, imprecise: int) -> Network:
    """Draw a two-valued network of which a few blocks are intervals and all others points."""
    x = [Variable(f"x{i}") for i in range(count)]
    blocks = [
        (i, parents, states)
        for i in range(count)
        for parents in [sorted(int(p) for p in rng.permutation(i)[: rng.integers(min(i, 1), min(i, 3) + 1)])]
        for states in np.ndindex(*(2,) * len(parents))
    ]
    chosen = {int(b) for b in rng.permutation(len(blocks))[:imprecise]}
    sentences = [
        Sentence.of(
            Is(x[i]),
            *_interval(rng, b not in chosen),
            given=conjunction(
                Is(x[p]) if state else ~Is(x[p]) for p, state in zip(parents, states, strict=True)
            ),
        )
        for b, (i, parents, states) in enumerate(blocks)
    ]
    return Network(tuple(x), tuple(sentences))


def _bounds(network: Network, query: Query) -> tuple[float, float]:
    credal = credal_network(network, dependency_graph(network))
    assert credal is not None
    put = ask(credal, query)
    assert put is not None
    lower, upper = greedy.bounded(*put, budget=Budget.of(20.0))
    return lower.bound, upper.bound


@pytest.mark.parametrize("most", [4, 16, 1 << 18])
@pytest.mark.parametrize("seed", range(80))
def test_no_vertex_of_the_strong_extension_passes_the_bounds(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(greedy, "MAX_CELLS", most)
    monkeypatch.setattr(greedy, "SPLIT_CELLS", most)
    rng = np.random.default_rng(seed)
    network = _loopy(rng, 7, 5)
    target, *observed = rng.permutation(7)[: rng.integers(2, 4)]
    given = conjunction(Is(network.variables[i]) for i in observed)
    query = Query(Is(network.variables[target]), given)
    truth = strong_extension(network, query)
    if truth.verdict is not Verdict.ANSWERED:
        return
    lower, upper = _bounds(network, query)
    assert Fraction(lower) <= truth.lower
    assert truth.upper <= Fraction(upper)


@pytest.mark.parametrize("seed", range(30))
def test_where_one_block_is_imprecise_and_nothing_is_observed_the_bounds_are_exact(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    network = _loopy(rng, 2, 1)
    query = Query(Is(network.variables[1]))
    truth = strong_extension(network, query)
    lower, upper = _bounds(network, query)
    assert lower == pytest.approx(float(truth.lower), abs=1e-12)
    assert upper == pytest.approx(float(truth.upper), abs=1e-12)


def test_a_score_that_is_the_same_for_all_values_is_filled_like_any_other() -> None:
    least, most = np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.5, 0.6])
    theta = filled(least, most, np.zeros(1))
    assert theta.sum() == pytest.approx(1.0)
    assert (least <= theta).all() and (theta <= most).all()


def test_a_knapsack_of_twelve_values_is_filled_from_the_best() -> None:
    text = f"variable Color in {{{', '.join(f'c{i}' for i in range(12))}}}\n"
    text += "\n".join(f"{i / 100} <= P(Color = c{i}) <= {(i + 12) / 100}" for i in range(12))
    text += "\n" + "\n".join(f"P(seen | Color = c{i}) = {(i % 5) / 5}" for i in range(12))
    network = parse(text).ground()
    lower, upper = _bounds(network, Query(Is(Variable("seen"))))
    # By hand: 0.34 is left to give away, at most 0.12 to each value, the best first.
    weights = [Fraction(i % 5, 5) for i in range(12)]
    base = sum(Fraction(i, 100) * weights[i] for i in range(12))
    free = Fraction(34, 100)
    assert upper == pytest.approx(float(base + _filled(free, sorted(weights, reverse=True))), abs=1e-12)
    assert lower == pytest.approx(float(base + _filled(free, sorted(weights))), abs=1e-12)


def _filled(free: Fraction, weights: list[Fraction]) -> Fraction:
    total = Fraction(0)
    for weight in weights:
        given = min(free, Fraction(12, 100))
        total += given * weight
        free -= given
    return total
