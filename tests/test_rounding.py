"""Products of probabilities too small for floats: each stays on its side of the truth."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest

from credalog.numbers.interval import End
from credalog.trusted.rounding import NORMAL, UNIT, outward_product, outward_products


def test_what_is_normal_has_roundings_that_are_no_smaller_than_any_float() -> None:
    """The least float with all its digits is 2^-1022: half a last digit of a normal result is above it."""
    assert sys.float_info.min <= NORMAL * UNIT < 1e-300


@pytest.mark.parametrize("end", End)
@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ((), 1.0),
        ((0.5, 0.25), 0.125),
        ((0.5, 0.0), 0.0),
        ((1e-200, 1e-200, 0.0), 0.0),
        ((NORMAL,), NORMAL),
        ((2.0 * NORMAL, 0.5), NORMAL),
    ],
)
def test_an_ordinary_product_and_a_true_zero_are_themselves(
    factors: tuple[float, ...], expected: float, end: End
) -> None:
    assert outward_product(factors, end) == expected


@pytest.mark.parametrize("factors", [(1e-200, 1e-200), (1e-200, 1e-200, 0.5), (1e-150, 0.5, 1e-150)])
def test_a_product_that_is_too_small_moves_outwards(factors: tuple[float, ...]) -> None:
    assert outward_product(factors, End.LOWER) == 0.0
    assert outward_product(factors, End.UPPER) == NORMAL


def test_a_small_product_on_the_way_is_still_above_the_truth() -> None:
    """A factor above one may follow: what was lifted is multiplied on."""
    factors = (1e-200, 1e-200, 4.0)
    truth = Fraction(1)
    for factor in factors:
        truth *= Fraction(factor)
    assert outward_product(factors, End.LOWER) == 0.0
    assert truth <= Fraction(outward_product(factors, End.UPPER)) <= 4 * Fraction(NORMAL)


def test_tables_are_multiplied_entry_by_entry_like_numbers() -> None:
    a = np.array([1e-200, 0.0, 1e-200, 0.5, 0.0, NORMAL, 1e-300])
    b = np.array([1e-200, 1e-200, 0.0, 0.5, 0.0, 1.0, 1.0])
    expected = [NORMAL, 0.0, 0.0, 0.25, 0.0, NORMAL, NORMAL]
    assert outward_products(a, b).tolist() == expected
    assert [outward_product(pair, End.UPPER) for pair in zip(a, b, strict=True)] == expected
    assert outward_products(np.array([0.5]), np.array([0.5])).tolist() == [0.25]
