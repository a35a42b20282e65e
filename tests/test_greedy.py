"""Bounds without vertices hold whatever is split, and are exact where one family alone is imprecise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from credal_drawing import draw_intervals
from credalog import parse
from credalog.methods.vertices import greedy
from credalog.network.formulas import Is, Variable, conjunction
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, Query
from credalog.numbers.budget import Budget
from credalog.tables.credal import ask, credal_network
from credalog.tables.interval_sets import filled
from oracle import Verdict
from vertex_oracle import strong_extension


def _bounds(network: Network, query: Query) -> tuple[float, float]:
    credal = credal_network(network, dependency_graph(network))
    assert credal is not None
    put = ask(credal, query)
    assert put is not None
    lower, upper = greedy.bounded(*put, budget=Budget.of(20.0))
    return lower.bound, upper.bound


@pytest.mark.slow
@pytest.mark.parametrize("most", [4, 16, 1 << 18])
@pytest.mark.parametrize("seed", range(30))
def test_no_vertex_of_the_strong_extension_passes_the_bounds(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(greedy, "MAX_CELLS", most)
    monkeypatch.setattr(greedy, "SPLIT_CELLS", most)
    rng = np.random.default_rng(seed)
    network = draw_intervals(rng, 7, 5)
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
    network = draw_intervals(rng, 2, 1)
    query = Query(Is(network.variables[1]))
    truth = strong_extension(network, query)
    lower, upper = _bounds(network, query)
    assert lower == pytest.approx(float(truth.lower), abs=1e-12)
    assert upper == pytest.approx(float(truth.upper), abs=1e-12)


def test_what_a_knapsack_is_off_by_is_no_share_of_a_small_probability() -> None:
    # 1e-12 of X may go to v5, the difference of numbers near one; beside it only a cause as rare explains e.
    shares = (Fraction(201890, 10**6), Fraction(349227, 10**6), Fraction(426117, 10**6))
    rest, rare = (Fraction(15893, 10**6), Fraction(6873, 10**6)), Fraction(1, 10**12)
    text = "variable X in {v0, v1, v2, v3, v4, v5}\n"
    for k, share in enumerate((*shares, *rest)):
        text += f"{share - (rare if k == 0 else 0)} <= P(X = v{k}) <= {share}\n"
    text += f"0 <= P(X = v5) <= 1\nP(z) = {rare}\n"
    for k in range(6):
        text += f"P(e | X = v{k} and z) = 1\nP(e | X = v{k} and !z) = {int(k == 5)}\n"
    network = parse(text).ground()
    target = next(x for x in network.variables if x.name == "X")
    _, upper = _bounds(network, Query(Is(target, "v5"), Is(Variable("e"))))
    assert Fraction(upper) >= rare / (rare + (1 - rare) * rare)


@pytest.mark.parametrize("most", [1, 1 << 14])
def test_a_probability_that_is_one_but_for_what_a_float_can_tell_is_not_one(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(greedy, "MAX_CELLS", most)
    monkeypatch.setattr(greedy, "SPLIT_CELLS", most)
    text = f"P(x) = {1 - Fraction(10, 17 * 10**201)}\nP(e | x) = {Fraction(1, 13 * 10**200)}\nP(e | !x) = 1\n"
    network = parse(text).ground()
    query = Query(Is(Variable("x")), Is(Variable("e")))
    truth = strong_extension(network, query)
    lower, upper = _bounds(network, query)
    assert Fraction(lower) <= truth.lower
    assert truth.upper <= Fraction(upper)


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
