"""Questions of one form are parsed once, and read as if each were the first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import credalog
from credalog.errors import CredalogError
from credalog.network.formulas import And, Is, Not
from credalog.network.sentences import Query
from credalog.text import parse

MODEL = "\n".join(f"0.2 <= P({name}) <= 0.4" for name in ("a", "b", "c", "E1", "P1"))


def test_questions_of_one_form_ask_about_their_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "FORMS_FORGOTTEN", 3)
    model = credalog.parse(MODEL)
    for first in ("a", "b", "c", "E1", "P1"):
        for second in ("c", "P1", "a"):
            x, y = Is(model.variable(first)), Is(model.variable(second))
            assert model.posed(f"P({first} | {second})") == Query(x, y)
            assert model.posed(f"P({first} and !{second})") == Query(And((x, Not(y))))
            assert model.posed(f"P({first}&not {second})") == Query(And((x, Not(y))))


def test_a_question_that_cannot_be_read_leaves_the_next_one_alone() -> None:
    model = credalog.parse(MODEL)
    for _ in range(2):
        with pytest.raises(CredalogError, match="d"):
            model.posed("P(d | a)")
        with pytest.raises(CredalogError):
            model.posed("P(a | ")
        assert model.posed("P(b | a)") == Query(Is(model.variable("b")), Is(model.variable("a")))


def test_threads_read_questions_side_by_side() -> None:
    model = credalog.parse(MODEL)
    asked = [f"P({x} | {y})" for x in "abc" for y in ("E1", "P1")] * 20
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(model.posed, asked)) == [model.posed(text) for text in asked]
