"""Best explanations whose probabilities are too small for floats: no bound is on the wrong side."""

from __future__ import annotations

from fractions import Fraction

import pytest

import credalog
from credalog.numbers.interval import End
from credalog.trusted.rounding import NORMAL, outward_product


def _holds(entry: credalog.RankedAssignment, truth: Fraction) -> None:
    interval = entry.interval
    assert Fraction(interval.lower.bound) <= truth <= Fraction(interval.upper.bound)
    for end in (interval.lower, interval.upper):
        if end.witnessed is not None:
            assert (end.witnessed == 0.0) == (truth == 0)


def _states(entry: credalog.RankedAssignment) -> dict[str, str]:
    return {variable.name: value for variable, value in entry.values.items()}


@pytest.mark.parametrize("small", ["1e-165", "1e-100", "1e-300", "0"])
def test_products_of_small_thetas(small: str) -> None:
    lcn = credalog.parse(f"P(a) = {small}\nP(b) = {small}\n")
    p = Fraction(small)
    for entry in lcn.map(top=4).ranked:
        states = _states(entry)
        _holds(entry, (p if states["a"] == "true" else 1 - p) * (p if states["b"] == "true" else 1 - p))


@pytest.mark.parametrize(("children", "rare"), [(54, "0.000001"), (53, "0.0000011345678")])
def test_products_under_rare_evidence(children: int, rare: str) -> None:
    text = "P(h) = 0.5\n" + "".join(
        f"P(o{i} | h) = 0.00001\nP(o{i} | !h) = {rare}\n" for i in range(children)
    )
    likely, unlikely = Fraction("0.00001") ** children, Fraction(rare) ** children
    found = credalog.parse(text).map(given={f"o{i}": True for i in range(children)}, top=2)
    for entry in found.ranked:
        share = likely if _states(entry)["h"] == "true" else unlikely
        _holds(entry, share / (likely + unlikely))


def test_an_outward_product() -> None:
    factors = [1e-200, 1e-200, 0.5]
    assert outward_product(factors, End.LOWER) == 0.0
    assert Fraction(outward_product(factors, End.UPPER)) >= Fraction(1e-200) ** 2 / 2
    assert outward_product([*factors, 0.0], End.UPPER) == 0.0
    assert outward_product([0.5, 0.25], End.LOWER) == 0.125 == outward_product([0.5, 0.25], End.UPPER)
    assert outward_product([NORMAL, 1e200], End.UPPER) == NORMAL * 1e200
