"""Best distributions over two values do not depend on how large a table is, or what was asked before."""

from __future__ import annotations

import numpy as np
import pytest

from credalog.tables.interval_sets import SMALL, filled, greatest_sum


@pytest.mark.parametrize("seed", range(20))
def test_a_large_table_has_the_best_distributions_of_its_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    middle = rng.random((SMALL, 1)) * [1.0, -1.0] + [0.0, 1.0]
    least = np.maximum(middle - rng.random((SMALL, 2)) / 2, 0.0)
    most = np.minimum(middle + rng.random((SMALL, 2)) / 2, 1.0)
    score = rng.integers(-2, 3, size=(3, SMALL, 2)).astype(float)
    theta, greatest = filled(least, most, score), greatest_sum(least, most, score)
    for row in range(SMALL):
        ends = least[row], most[row]
        assert np.array_equal(theta[:, row], filled(*ends, score[:, row]))
        assert np.array_equal(greatest[:, row], greatest_sum(*ends, score[:, row]))


def test_what_is_remembered_of_a_table_is_not_that_of_one_with_other_axes() -> None:
    least, most, score = np.zeros((2, 2)), np.array([[0.75, 1.0], [0.5, 1.0]]), np.array([1.0, 0.0])
    assert filled(least, most, score).tolist() == [[0.75, 0.25], [0.5, 0.5]]
    row = filled(least.reshape(1, 2, 2), most.reshape(1, 2, 2), score)
    assert row.shape == (1, 2, 2)
    # The same cells, but with the ends of the second row exchanged.
    most[1] = most[1, ::-1]
    assert filled(least, most, score).tolist() == [[0.75, 0.25], [1.0, 0.0]]


def test_nobody_changes_what_is_remembered() -> None:
    least, most = np.array([0.25, 0.25]), np.array([0.5, 0.75])
    theta = filled(least, most, np.array([1.0, 0.0]))
    theta[:] = 0.0
    assert filled(least, most, np.array([1.0, 0.0])).tolist() == [0.5, 0.5]
