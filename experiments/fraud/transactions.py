"""Credit card transactions of the UCSD-FICO contest of 2009.

Input: the folder with the two zip files (Task 2, training inputs and targets). Output: `Transactions`, every
feature as integer categories, in the order of the file, which is chronological.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["FEATURES", "Transactions", "encode", "load"]

FEATURES = (
    "amount", "hour1", "state1", "zip1", "field1", "field2", "field3", "field4",
    "flag1", "flag2", "flag3", "flag4", "flag5", "indicator1", "indicator2",
)  # fmt: skip
"""The columns that the naive Bayes classifier reads."""

ACCOUNT = "custAttr2"
"""The hashed e-mail address: the account."""

INPUTS = "DataminingContest2009.Task2.Train.Inputs"
TARGETS = "DataminingContest2009.Task2.Train.Targets"

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Transactions:
    """One row per transaction: categories of the features, account, fraud; and what the categories mean."""

    categories: Integers
    values: tuple[tuple[str, ...], ...]
    account: Integers
    fraud: Flags

    def __len__(self) -> int:
        return len(self.fraud)

    def column(self, feature: str) -> Integers:
        """Return the categories of one feature."""
        return self.categories[:, FEATURES.index(feature)]

    def numbers(self, feature: str) -> NDArray[np.float64]:
        """Return one feature as numbers."""
        values = np.array([float(value) for value in self.values[FEATURES.index(feature)]])
        return np.asarray(values[self.column(feature)])


def load(folder: Path) -> Transactions:
    """Read the two zip files."""
    header, *rows = csv.reader(io.StringIO(_text(folder, INPUTS)))
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    fraud = np.array([int(line) for line in _text(folder, TARGETS).split()], dtype=np.bool_)
    return encode([columns[name] for name in FEATURES], columns[ACCOUNT], fraud)


def _text(folder: Path, name: str) -> str:
    with zipfile.ZipFile(folder / f"{name}.zip") as archive:
        return archive.read(name).decode("latin-1")


def encode(columns: Sequence[Sequence[str]], account: Sequence[str], fraud: Flags) -> Transactions:
    """Replace the values of every column by their numbers in sorted order."""
    pairs = [np.unique(np.array(column), return_inverse=True) for column in columns]
    values = tuple(tuple(str(value) for value in distinct) for distinct, _ in pairs)
    _, accounts = np.unique(np.array(account), return_inverse=True)
    return Transactions(np.column_stack([codes for _, codes in pairs]), values, accounts, fraud)
