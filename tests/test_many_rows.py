"""One bad row among very many is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from credalog import load
from credalog.errors import CredalogError

THEORY = """domain Person = 1..100000
predicate Sm(Person)
relation Friend(Person, Person) from "friends.csv"
forall x, y in Person, Friend(x, y): P(Sm(x) xor Sm(y)) <= 0.2
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("17,100001", "100001 is not in Person"),
        ("17", "has 1 cells and not 2"),
        ("17,", "is empty"),
        ('"17,18', "is not CSV"),
    ],
)
def test_one_bad_row_of_a_hundred_thousand_is_named(tmp_path: Path, row: str, complaint: str) -> None:
    rows = [f"{i},{i % 99_999 + 1}" for i in range(1, 100_001)]
    rows[70_000] = row
    (tmp_path / "friends.csv").write_text("\n".join(["one,other", *rows]) + "\n")
    (tmp_path / "theory.lcn").write_text(THEORY)
    with pytest.raises(CredalogError, match=complaint) as refused:
        load(tmp_path / "theory.lcn").query("P(Sm(17))", timeout=5.0)
    assert "friends.csv, line 70002" in str(refused.value)
