"""Bounds without vertices hold whatever is split, and are exact where one family alone is imprecise."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

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


def _split_to(monkeypatch: pytest.MonkeyPatch, *widths: int) -> None:
    """Split products that are wider than each width in turn, and leave none in one piece that is."""
    monkeypatch.setattr(greedy, "SPLITS", widths)
    monkeypatch.setattr(greedy, "MAX_CELLS", widths[0])
    monkeypatch.setattr(greedy, "LARGEST_CELLS", widths[0])


@pytest.mark.slow
@pytest.mark.parametrize("most", [4, 16, 1 << 18])
@pytest.mark.parametrize("seed", range(30))
def test_no_vertex_of_the_strong_extension_passes_the_bounds(
    seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _split_to(monkeypatch, most)
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


def test_where_there_is_time_products_may_be_wider_and_bounds_are_closer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network, query = _observed_pairs(6)
    least, most = (_posterior_of_pairs(6, Fraction(prior, 10)) for prior in (3, 4))
    found = []
    for widths in ((4,), (4, 16), (4, 16, 64)):
        _split_to(monkeypatch, *widths)
        found.append(_bounds(network, query))
    assert found[0][0] < found[1][0] < found[2][0] <= least
    assert most <= found[2][1] < found[1][1] < found[0][1]


def _effect(i: int, j: int, k: int) -> Fraction:
    """Return how probable an effect is in the k-th case of its two causes."""
    return Fraction((3 * i + 5 * j + 2 * k) % 8 + 1, 10)


def _posterior_of_pairs(count: int, prior: Fraction) -> Fraction:
    """Compute P(x0 | all effects) by summing over the causes; it grows with P(x0)."""
    seen = [Fraction(0), Fraction(0)]
    for causes in product((True, False), repeat=count):
        weight = prior if causes[0] else 1 - prior
        for i in range(1, count):
            weight *= Fraction(i + 2, 10) if causes[i] else 1 - Fraction(i + 2, 10)
        for i, j in combinations(range(count), 2):
            weight *= _effect(i, j, 2 * (not causes[i]) + (not causes[j]))
        seen[causes[0]] += weight
    return seen[True] / sum(seen)


def _observed_pairs(count: int) -> tuple[Network, Query]:
    """Return causes of which every two have an effect that is observed, and one of them in question."""
    text = "0.3 <= P(x0) <= 0.4\n" + "".join(f"P(x{i}) = 0.{i + 2}\n" for i in range(1, count))
    pairs = list(combinations(range(count), 2))
    for i, j in pairs:
        for k, (a, b) in enumerate(product(("", "!"), repeat=2)):
            text += f"P(e{i}{j} | {a}x{i} and {b}x{j}) = {_effect(i, j, k)}\n"
    given = conjunction(Is(Variable(f"e{i}{j}")) for i, j in pairs)
    return parse(text).ground(), Query(Is(Variable("x0")), given)


@pytest.mark.parametrize(("seconds", "widths"), [(0.0, [4, 8, 32]), (3.0, [4])])
def test_a_wider_product_is_begun_only_if_there_seems_to_be_time_for_it(
    seconds: float, widths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried, clock = list[int](), [0.0]
    sides = greedy._Network.sides

    def slow(network: greedy._Network, event: Any, budget: Budget, cells: int) -> Any:
        tried.append(cells)
        clock[0] += seconds
        return sides(network, event, budget, cells)

    _split_to(monkeypatch, 4, 8, 32)
    monkeypatch.setattr("credalog.numbers.budget.monotonic", lambda: clock[0])
    monkeypatch.setattr(greedy._Network, "sides", slow)
    # Of 20 s 17 are left, and eight times three are more.
    _bounds(*_observed_pairs(6))
    assert tried == widths


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
    _split_to(monkeypatch, most)
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
