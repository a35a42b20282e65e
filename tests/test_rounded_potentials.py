"""Tables that know how far they are off: what they say of it holds in fractions, step by step."""

from __future__ import annotations

from fractions import Fraction
from itertools import product as every
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from credalog import parse
from credalog.methods.answer import Options
from credalog.methods.points import answers, potentials
from credalog.methods.points.beliefs import Model, beliefs
from credalog.methods.points.potentials import Rounded, product, quotient, stacked
from credalog.network.formulas import TRUE, Formula, Variable
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget
from credalog.tables.credal import credal_network
from credalog.tables.elimination import Potential
from credalog.trusted.rounding import relative_error

LENGTH = 400


def drawn(rng: np.random.Generator, *shape: int) -> tuple[Rounded, np.ndarray]:
    """Draw a table of fractions, and return it rounded once, and as it is."""
    exact = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        exact[place] = Fraction(int(rng.integers(400_000, 999_983)), 999_983)
    values = exact.astype(np.float64)
    return potentials.rounded(Potential(tuple(range(len(shape))), values), {}), exact


def require_near(found: Rounded, truth: np.ndarray) -> None:
    """Require that no entry is further from the truth than the table says."""
    share, lost = Fraction(relative_error(found.roundings)), Fraction(found.lost)
    for place in np.ndindex(*found.values.shape):
        value = Fraction(float(found.values[place]))
        exact = truth[place] / Fraction(2) ** found.exponent
        assert abs(value - exact) <= share * value + lost


def long_product(rng: np.random.Generator) -> tuple[Rounded, np.ndarray]:
    """Multiply many numbers."""
    factors = [drawn(rng) for _ in range(LENGTH)]
    truth = np.array(Fraction(1), dtype=object)
    for _, exact in factors:
        truth = np.array(truth * exact[()], dtype=object)
    return product(one for one, _ in factors), truth


@pytest.mark.parametrize("seed", range(10))
def test_the_roundings_of_a_long_product_are_counted(seed: int) -> None:
    require_near(*long_product(np.random.default_rng(seed)))


@pytest.mark.parametrize("seed", range(10))
def test_the_roundings_of_a_long_sum_are_counted(seed: int) -> None:
    table, exact = drawn(np.random.default_rng(seed), LENGTH, 3)
    require_near(table.summed((1,)), exact.sum(axis=0))


@pytest.mark.parametrize("seed", range(10))
def test_the_roundings_of_a_divisor_are_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    (one, exact), (divisor, truth) = drawn(rng), long_product(rng)
    require_near(one.over(divisor), np.array(exact[()] / truth[()], dtype=object))


@pytest.mark.parametrize("seed", range(10))
def test_tables_side_by_side_have_the_roundings_of_the_worst(seed: int) -> None:
    rng = np.random.default_rng(seed)
    (one, exact), (other, truth) = drawn(rng), long_product(rng)
    found = stacked([one, other], 0)
    # On one scale the second is too small for a float, and is lost as a whole.
    require_near(found, np.array([exact[()], truth[()]], dtype=object))
    near = Rounded((), other.values, 0, other.roundings, 0.0, other.least)
    scaled = truth[()] / Fraction(2) ** other.exponent
    require_near(stacked([one, near], 0), np.array([exact[()], scaled], dtype=object))


@pytest.mark.parametrize("seed", range(10))
def test_the_roundings_of_both_sides_of_a_quotient_are_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    (one, exact), (whole, truth) = drawn(rng), long_product(rng)
    near = Rounded((), whole.values, 0, whole.roundings)
    scaled = truth[()] / Fraction(2) ** whole.exponent
    # Small enough to be a part of the other, which is at least two to the power of -64.
    part = Rounded((), one.values, -65, one.roundings)
    value, error = quotient(part, near)
    assert abs(Fraction(value) - exact[()] / Fraction(2) ** 65 / scaled) <= Fraction(error)


def test_what_underflow_took_grows_with_a_sum_and_with_a_scale() -> None:
    lost = 1e-12
    table = Rounded((0,), np.full(10, 0.05), lost=lost, least=0.05)
    assert Fraction(table.summed(()).lost) >= 10 * Fraction(lost)
    small = Rounded((), np.array(1e-25), lost=1e-30, least=1e-25)
    found = potentials._scaled(small)
    require_near(found, np.array(Fraction(1e-25) + Fraction(1e-30), dtype=object))
    one, other = (Rounded((), np.array(0.5), lost=e, least=0.5) for e in (1e-3, 1e-5))
    for a, b in every((-1, 1), repeat=2):
        truth = (Fraction(1, 2) + a * Fraction(1e-3)) * (Fraction(1, 2) + b * Fraction(1e-5))
        require_near(product([one, other]), np.array(truth, dtype=object))


def test_what_is_scaled_away_is_lost() -> None:
    least = 5e-324
    values = np.array([4.0, least])
    require_near(
        potentials._scaled(Rounded((0,), values, least=least)), np.array([Fraction(4), Fraction(least)])
    )
    near, far = Rounded((), np.array(0.5), least=0.5), Rounded((), np.array(0.5), -1100, least=0.5)
    found = stacked([near, far], 0)
    require_near(found, np.array([Fraction(1, 2), Fraction(1, 2) / Fraction(2) ** 1100]))
    tiny = Rounded((), np.array(1e-200), least=1e-200)
    for one in (tiny, Rounded((), np.array(1e-200))):
        require_near(potentials._times(one, tiny), np.array(Fraction(1e-200) ** 2, dtype=object))


@pytest.mark.parametrize(("mine", "all_"), [(1e-3, 0.0), (0.0, 1e-3), (1e-3, 1e-3)])
def test_what_underflow_took_from_either_side_of_a_quotient_counts(mine: float, all_: float) -> None:
    part, whole = (Rounded((), np.array(v), lost=e, least=v) for v, e in ((0.25, mine), (0.5, all_)))
    value, error = quotient(part, whole)
    for a, b in every((-1, 1), repeat=2):
        truth = (Fraction(1, 4) + a * Fraction(mine)) / (Fraction(1, 2) + b * Fraction(all_))
        assert abs(truth - Fraction(value)) <= Fraction(error)


def test_the_complement_of_an_estimate_is_rounded_once_more() -> None:
    for value in np.random.default_rng(1).random(200) / 3.0:
        found = answers._Estimate(float(value), 0.0).complement
        assert abs(1 - Fraction(float(value)) - Fraction(found.value)) <= Fraction(found.error)


def points(text: str) -> tuple[answers._Points, Formula]:
    """Read a network; return its tables and a claim that b is true."""
    lcn = parse(text)
    network = lcn.ground()
    credal = credal_network(network, dependency_graph(network))
    assert credal is not None
    return answers._Points(credal, TRUE, Budget.of()), lcn.variable("b").is_("true")


@pytest.mark.parametrize(("a", "b"), [("1/3", "1/7"), ("0.3", "0.7"), ("1e-200", "1e-200")])
def test_a_fraction_is_rounded_once_and_that_is_counted(a: str, b: str) -> None:
    tables, claim = points(f"P(a) = {a}\nP(b | a) = {b}\nP(b | !a) = 0")
    found = tables.exactly(claim)
    assert found is not None
    assert abs(Fraction(a) * Fraction(b) - Fraction(found.value)) <= Fraction(found.error)


def test_where_an_interval_bears_on_it_no_fraction_is_the_answer() -> None:
    tables, claim = points("0.2 <= P(a) <= 0.4\nP(b | a) = 0.5\nP(b | !a) = 0.1")
    assert tables.exactly(claim) is None


def faint_chain(rng: np.random.Generator, length: int) -> list[Potential[int]]:
    """Draw tables of a chain, in which much is so small that products of two are no floats."""
    sizes = (1e-200, 1e-110, 0.3, 1.0)
    return [Potential((x, x + 1), rng.choice(sizes, size=(2, 2))) for x in range(length)]


def mass_of(tables: list[Potential[int]], observed: dict[int, int]) -> Fraction:
    """Add up the products of all tables over all worlds, in fractions."""
    total = Fraction(0)
    for world in every((0, 1), repeat=len(tables) + 1):
        if all(world[x] == state for x, state in observed.items()):
            weight = Fraction(1)
            for (x, y), values in tables:
                weight *= Fraction(float(values[world[x], world[y]]))
            total += weight
    return total


@pytest.mark.parametrize("most", [1 << 20, 3])
@pytest.mark.parametrize("seed", range(20))
def test_beliefs_say_how_much_of_them_underflow_took(seed: int, most: int) -> None:
    """Every belief, on the way to the root of the tree and back, or with variables fixed in turn."""
    rng, length = np.random.default_rng(seed), 5
    tables, observed = faint_chain(rng, length), {0: 1, 3: 0}
    model = Model(tables, (2,) * (length + 1))
    asked = [x for x in range(length + 1) if x not in observed]
    found = beliefs(model, asked, observed=observed, budget=Budget.of(), most=most)
    require_near(found.mass, np.array(mass_of(tables, observed), dtype=object))
    assert sorted(found.of) == asked
    for x in asked:
        truth = np.array([mass_of(tables, {**observed, x: k}) for k in (0, 1)], dtype=object)
        require_near(found.of[x], truth)


def test_only_what_is_asked_for_is_believed_where_a_variable_is_fixed() -> None:
    tables = faint_chain(np.random.default_rng(0), 3)
    found = beliefs(Model(tables, (2,) * 4), [1], observed={}, budget=Budget.of(), most=3)
    assert list(found.of) == [1]


def test_a_product_has_the_roundings_and_the_losses_of_both_factors() -> None:
    left = Rounded((0,), np.array([1.0, 0.5]), 0, 3, 1e-3, 0.5)
    right = Rounded((0,), np.array([0.5, 1.0]), 0, 5, 2e-3, 0.5)
    found = product([left, right])
    assert found.roundings >= 9
    # (1 + 1e-3) (1 + 2e-3) is that much above one.
    assert found.lost >= 3.002e-3


def test_what_has_been_lost_may_not_have_been_nothing() -> None:
    nothing = Rounded((0,), np.zeros(2))
    assert nothing.is_zero
    assert not Rounded((0,), np.zeros(2), lost=1e-300).is_zero
    assert not Rounded((0,), np.array([0.0, 1e-300])).is_zero


def test_a_quotient_that_is_too_small_for_a_float_is_not_known_to_be_nothing() -> None:
    whole = Rounded((), np.array(1.0))
    for exponent in (-1060, -2000, -9000):
        value, error = quotient(Rounded((), np.array(0.75), exponent), whole)
        assert Fraction(value) + Fraction(error) >= Fraction(3, 4) / 2**-exponent


def test_what_an_estimate_may_be_off_by_is_part_of_the_bounds() -> None:
    atom = Variable("a", ("false", "true")).is_("true")
    points: Any = SimpleNamespace(_witness=lambda _: None, budget=Budget.of())
    found = answers._Points.answer(points, Query(atom), answers._Estimate(0.5, 0.125), Options())
    assert found.interval.lower.bound <= 0.375 and found.interval.upper.bound >= 0.625
