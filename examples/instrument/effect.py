"""Bound an average treatment effect from a table of joint probabilities.

Input: a CSV file with the columns Z, X, Y and prob, such as `../shared/data/autobounds/iv.csv`. Output: the
bounds on P(Y = 1 | do X = 1) - P(Y = 1 | do X = 0), printed.

    python examples/instrument/effect.py TABLE.csv
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import credalog
from credalog.methods.answer import Answer

MODEL = Path(__file__).with_name("responses.lcn")


def sentences(table: Path) -> list[str]:
    """Return what the table says of the response types: P(x, y | z) for each of its rows."""
    with table.open(newline="") as file:
        rows = [(row["Z"], row["X"], row["Y"], Fraction(row["prob"])) for row in csv.DictReader(file)]
    totals: Counter[str] = Counter()
    for z, _, _, chance in rows:
        totals[z] += chance  # type: ignore[assignment]
    seen = "exists t, f in Way where answer(t, {z}) = {x} and answer(f, {x}) = {y}: Takes = t and Fares = f"
    return [f"P({seen.format(z=z, x=x, y=y)}) = {chance / totals[z]}" for z, x, y, chance in rows]


def effect(table: Path) -> Answer:
    """Bound the effect over all models that agree with the table."""
    model = credalog.load(MODEL).with_sentences("\n".join(sentences(table)))
    (asked,) = model.queries
    return model.query(asked)


if __name__ == "__main__":
    sys.stdout.write(f"{effect(Path(sys.argv[1]))}\n")
