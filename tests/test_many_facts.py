"""Very many facts are kept once each, in their order."""

from __future__ import annotations

import random

import pytest

from credalog.text import data
from credalog.text.data import extended
from credalog.text.parse import read

TEXT = "domain D\nrelation R(D, D)\npredicate p(D)\nforall x in D: P(p(x)) <= 0.5\n"


@pytest.mark.parametrize("seed", range(5))
def test_repeated_facts_are_kept_once_in_their_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "MANY_ROWS", 10)
    rng = random.Random(seed)
    facts = [(str(rng.randrange(6)), str(rng.randrange(6))) for _ in range(60)]
    found = extended(extended(read(TEXT), {"D": range(6), "R": facts[:20]}), {"R": facts})
    (relation,) = (d for d in found.declarations if d.name == "R")
    assert relation.facts == tuple(dict.fromkeys(facts))  # type: ignore[union-attr]


def test_the_same_element_in_many_rows_is_one_text() -> None:
    found = extended(read(TEXT), {"D": [1000], "R": [(1000, 1000)]})
    (relation,) = (d for d in found.declarations if d.name == "R")
    ((left, right),) = relation.facts  # type: ignore[union-attr]
    assert left is right
