"""Naive Bayes on categories, with add-one smoothing.

Input: training rows. Output: the prior c_X, and for any rows the log likelihood ratio of fraud.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.fraud.transactions import Flags, Integers

__all__ = ["NaiveBayes", "train"]

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class NaiveBayes:
    """The prior of fraud and one table per feature: P(F_i = category | legitimate or fraud)."""

    prior: float
    tables: tuple[Reals, ...]

    def log_ratio(self, categories: Integers) -> Reals:
        """Return log P(features | fraud) - log P(features | legitimate), row by row."""
        parts = [np.log(t[1] / t[0])[column] for t, column in zip(self.tables, categories.T, strict=True)]
        return np.asarray(np.sum(parts, axis=0))


def train(categories: Integers, fraud: Flags, sizes: tuple[int, ...]) -> NaiveBayes:
    """Count; `sizes` gives the number of categories of every feature, seen in training or not."""
    tables = [_table(column, fraud, size) for column, size in zip(categories.T, sizes, strict=True)]
    return NaiveBayes(float(fraud.mean()), tuple(tables))


def _table(column: Integers, fraud: Flags, size: int) -> Reals:
    counts = np.bincount(column + size * fraud, minlength=2 * size).reshape(2, size) + 1.0
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))
