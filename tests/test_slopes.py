"""Slopes of a sum of products are what the sum of everything else is, entry by entry."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest

from credalog.errors import ProblemTooLarge
from credalog.numbers.budget import Budget
from credalog.tables.cones import Array
from credalog.tables.slopes import Product

SIZES = (2, 3, 2, 4, 2)


def _scopes(rng: np.random.Generator) -> list[tuple[int, ...]]:
    found = [tuple(int(x) for x in rng.permutation(5)[: rng.integers(0, 4)]) for _ in range(5)]
    return [*found, *((x,) for x in range(5))]


def _by_hand(
    scopes: list[tuple[int, ...]], tables: list[Array], kept: tuple[int, ...], weights: Array
) -> tuple[Array, list[Array]]:
    """Add up all worlds: what is left, and for each entry the products of what it is multiplied by."""
    left, slopes = np.zeros_like(weights), [np.zeros_like(table) for table in tables]
    for world in product(*map(range, SIZES)):
        cells = [tuple(world[x] for x in scope) for scope in scopes]
        entries = [float(table[cell]) for table, cell in zip(tables, cells, strict=True)]
        place = tuple(world[x] for x in kept)
        left[place] += prod(entries)
        for i, cell in enumerate(cells):
            slopes[i][cell] += float(weights[place]) * prod(entries[:i] + entries[i + 1 :])
    return left, slopes


@pytest.mark.parametrize("kept", [(), (2,), (3, 1)])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_left_and_all_slopes_are_those_of_all_worlds(seed: int, kept: tuple[int, ...]) -> None:
    rng = np.random.default_rng(seed)
    scopes = _scopes(rng)
    tables = [rng.normal(size=[SIZES[x] for x in scope]) for scope in scopes]
    weights = rng.normal(size=[SIZES[x] for x in kept])
    planned = Product.of(scopes, SIZES, keep=kept)
    left, slopes = _by_hand(scopes, tables, kept, weights)
    found, exponent = planned.left(tables, Budget.of())
    assert np.ldexp(found, exponent) == pytest.approx(left, abs=1e-10)
    derived = planned.slopes(tables, weights, Budget.of())
    # All are divided by one power of two.
    greatest = max(range(len(tables)), key=lambda i: float(np.abs(slopes[i]).max()))
    scale = float(np.abs(slopes[greatest]).max() / np.abs(derived[greatest]).max())
    assert np.log2(scale) == pytest.approx(round(np.log2(scale)), abs=1e-9)
    for slope, expected in zip(derived, slopes, strict=True):
        assert slope * scale == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_tables_that_move_one_after_the_other_send_what_they_send_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scopes, kept = _scopes(rng), (2,)
    tables, weights = [rng.normal(size=[SIZES[x] for x in scope]) for scope in scopes], rng.normal(size=2)
    moving = Product.of(scopes, SIZES, keep=kept)
    for _ in range(8):
        for i in rng.permutation(len(tables))[: rng.integers(0, 3)]:
            tables[i] = rng.normal(size=tables[i].shape)
        if rng.random() < 0.3:
            # The same array with other numbers is another table.
            tables[-1][0] += 1.0
        at_once = Product.of(scopes, SIZES, keep=kept)
        assert np.array_equal(moving.left(tables, Budget.of())[0], at_once.left(tables, Budget.of())[0])
        fresh = Product.of(scopes, SIZES, keep=kept).slopes(tables, weights, Budget.of())
        for slope, expected in zip(moving.slopes(tables, weights, Budget.of()), fresh, strict=True):
            assert np.array_equal(slope, expected)


def test_rare_products_do_not_vanish() -> None:
    # A chain of forty tables of 1e-20: the product is some 1e-820.
    scopes = [(0,), *((x, x + 1) for x in range(40))]
    tables = [np.full([2] * len(scope), 1e-20) for scope in scopes]
    found, exponent = Product.of(scopes, (2,) * 41).left(tables, Budget.of())
    assert np.log10(float(found)) + exponent * np.log10(2.0) == pytest.approx(-820 + 41 * np.log10(2.0))


def test_a_table_too_large_is_refused_before_it_is_built() -> None:
    with pytest.raises(ProblemTooLarge):
        Product.of([tuple(range(5))], SIZES, most=90)
