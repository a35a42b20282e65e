"""Odd theories, asked around the question and whole: bounds never exclude what the whole grounding attains.

Several sorts, guards with inequalities, functions, quantifiers inside P(...), evidence on some elements,
relations that are symmetric or not, chains, loops that guards exclude, domains that are empty or have one
element.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from credalog import parse
from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork
from credalog.methods.answer import Answer
from unusual_theories import UNUSUAL, Unusual

SLACK = 2e-6

ODD: dict[str, tuple[str, tuple[str, ...]]] = {
    "two sorts, and a guard that tells elements apart": (
        """domain Ship = {argo, beagle}
domain Port = 1..3
predicate Docked(Ship, Port), Late(Ship)
forall s in Ship, p in Port: 0.1 <= P(Docked(s, p)) <= 0.4
forall s in Ship, p, q in Port, p < q: P(Docked(s, p) and Docked(s, q)) <= 0.05
forall s in Ship, p in Port, p != 2: 0.3 <= P(Late(s) | Docked(s, p)) <= 0.8""",
        ("P(Late(argo))", "P(Docked(argo, 1) or Docked(argo, 2))", "P(Docked(argo, 1) | Late(argo))"),
    ),
    "a function and its fixed point": (
        """domain Node = 1..4
predicate On(Node)
function next(Node) in Node = {1: 2, 2: 3, 3: 4, 4: 4}
forall x in Node: 0.2 <= P(On(x)) <= 0.7
forall x in Node, next(x) != x: 0.6 <= P(On(next(x)) | On(x)) <= 0.9""",
        ("P(On(4))", "P(On(1) | On(4))", "P(On(1) and On(2))"),
    ),
    "some neighbour inside P(...)": (
        """domain Dot = 1..4
predicate Lit(Dot), Warm(Dot)
relation Near(Dot, Dot) = {(1, 2), (2, 3), (3, 1)}
forall d in Dot: 0.1 <= P(Lit(d)) <= 0.3
forall d in Dot: P(Warm(d) | exists e in Dot, Near(d, e): Lit(e)) >= 0.5
forall d in Dot, d != 4: P(exists e in Dot, Near(d, e): Warm(e)) <= 0.6""",
        ("P(Warm(1))", "P(Lit(1) | Warm(3))", "P(Lit(1) and Lit(2))"),
    ),
    "everybody inside P(...)": (
        """domain Judge = 1..3
predicate Votes(Judge), Passed
forall j in Judge: 0.4 <= P(Votes(j)) <= 0.6
P(Passed | forall j in Judge: Votes(j)) >= 0.9
P(Passed | !(exists j in Judge: Votes(j))) <= 0.05""",
        ("P(Passed)", "P(Votes(1) | Passed)", "P(Votes(1) and Votes(2))"),
    ),
    "evidence on some elements, and a far one": (
        """domain Well = 1..5
predicate Foul(Well), Smell(Well)
forall w in Well: 0.1 <= P(Foul(w)) <= 0.3
forall w, v in Well, w + 1 = v: P(Foul(w) xor Foul(v)) <= 0.2
forall w in Well: 0.7 <= P(Smell(w) | Foul(w)) <= 0.9
forall w in Well: P(Smell(w) | !Foul(w)) <= 0.1
evidence Smell(1), !Smell(2)""",
        ("P(Foul(1))", "P(Foul(2))", "P(Foul(3))"),
    ),
    "a symmetric relation beside one that is not": (
        """domain Cat = 1..3
predicate Likes(Cat, Cat)
predicate Fights(Cat, Cat) symmetric
forall x, y in Cat distinct: 0.2 <= P(Likes(x, y)) <= 0.5
forall x, y in Cat distinct: P(Fights(x, y) | Likes(x, y) & Likes(y, x)) <= 0.1
forall x, y in Cat, x < y: 0.3 <= P(Fights(x, y)) <= 0.6""",
        ("P(Fights(2, 1))", "P(Likes(1, 2) | Fights(1, 2))", "P(Likes(1, 2) and Likes(2, 1))"),
    ),
    "a chain that ends, and one that does not reach it": (
        """domain Day = 1..5
predicate Wet(Day), Mud(Day)
P(Wet(1)) = 0.3
forall d in Day, d < 5: 0.5 <= P(Wet(d+1) | Wet(d)) <= 0.6
forall d in Day, d < 5: 0.1 <= P(Wet(d+1) | !Wet(d)) <= 0.2
forall d in Day, d > 3: 0.8 <= P(Mud(d) | Wet(d)) <= 1""",
        ("P(Wet(3))", "P(Mud(5))", "P(Wet(1) | Wet(4))"),
    ),
    "loops that a guard excludes": (
        """domain Cell = 1..3
predicate Full(Cell)
relation Joins(Cell, Cell) = {(1, 1), (1, 2), (2, 2), (2, 3)}
forall x, y in Cell, Joins(x, y), x != y: 0.4 <= P(Full(y) | Full(x)) <= 0.7
forall x in Cell, not Joins(x, x): 0.1 <= P(Full(x)) <= 0.5
forall x in Cell, Joins(x, x): P(Full(x)) >= 0.2""",
        ("P(Full(3))", "P(Full(1) and Full(3))", "P(Full(2) | Full(3))"),
    ),
    "a sort of nobody and a sort of one": (
        """domain Ghost = {}
domain King = {arthur}
domain Knight = 1..3
predicate Haunts(Ghost, Knight), Rules(King), Brave(Knight)
forall g in Ghost, k in Knight: P(Brave(k) | Haunts(g, k)) <= 0.01
forall k in King: 0.5 <= P(Rules(k)) <= 0.9
forall k in King, x in Knight: 0.6 <= P(Brave(x) | Rules(k)) <= 0.8
forall x, y in Knight distinct: P(Brave(x) xor Brave(y)) <= 0.5""",
        ("P(Brave(1))", "P(Rules(arthur) | Brave(1) & Brave(2))", "P(Brave(1) and Brave(2))"),
    ),
    "many values and a number for some": (
        """domain Lamp = 1..3
variable Hue(Lamp) in {red, green, blue}
number hot(Lamp) = {1: 0.2, 2: 0.5}
forall x in Lamp: P(Hue(x) = red) <= 0.5
forall x in Lamp where x < 3: P(Hue(x) = blue) >= hot(x)
forall x, y in Lamp, x < y: P(Hue(x) = Hue(y)) >= 0.4""",
        ("P(Hue(1) = blue)", "P(Hue(3) = red)", "P(Hue(1) = green | Hue(2) = green)"),
    ),
}


def answered(text: str, question: str, method: str, *, seconds: float = 1.5) -> Answer | str:
    try:
        return parse(text).query(question, method=method, timeout=seconds)  # type: ignore[arg-type]
    except (InconsistentNetwork, ImpossibleEvidence) as error:
        return type(error).__name__


@pytest.mark.parametrize("name", sorted(ODD))
def test_around_the_question_nothing_is_excluded_that_the_whole_attains(name: str) -> None:
    text, questions = ODD[name]
    for question in questions:
        whole = answered(text, question, "factorized")
        # Numbers that stand in tables are read by whole groundings alone.
        around = answered(text, question, "auto" if "number" in text else "lifted")
        if isinstance(whole, str) or isinstance(around, str):
            assert whole == around
            continue
        assert_agree(around, whole)


@pytest.mark.slow
@pytest.mark.parametrize("theory", UNUSUAL, ids=lambda theory: theory.name)
def test_an_unusual_theory_is_the_same_around_the_question_and_whole(theory: Unusual) -> None:
    for question in theory.questions:
        text = theory.text(theory.least)
        whole, around = (answered(text, question, method) for method in ("factorized", "lifted"))
        assert isinstance(whole, Answer)
        assert isinstance(around, Answer)
        assert_agree(around, whole)


@pytest.mark.slow
@pytest.mark.parametrize("theory", UNUSUAL, ids=lambda theory: theory.name)
def test_an_unusual_theory_says_the_same_among_very_many_elements(theory: Unusual) -> None:
    for question in theory.questions:
        few = answered(theory.text(theory.least), question, "factorized", seconds=20)
        many = answered(theory.text(30_000), question, "auto", seconds=20 if theory.is_decided else 1)
        assert isinstance(few, Answer)
        assert isinstance(many, Answer)
        assert_agree(few, many)
        assert many.status.name == "EXACT" or not theory.is_decided


def assert_agree(one: Answer, other: Answer) -> None:
    """Assert that the bounds of each contain what the other attains, and both ends where both are exact."""
    for bounds, attained in ((one, other), (other, one)):
        for value in (attained.lower_witnessed, attained.upper_witnessed):
            assert value is None or bounds.lower - SLACK <= value <= bounds.upper + SLACK
    if one.status.name == other.status.name == "EXACT":
        assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper), abs=1e-4)


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ("lower,upper\n1,2\n2,9\n", "line 3"),
        ("1,2\n2,3,1\n", "line 2"),
        ("1,2\n2,\n", "line 2"),
        ("1,2\nx y,3\n", "line 2"),
    ],
)
def test_a_bad_row_of_a_relation_is_named(tmp_path: Path, rows: str, named: str) -> None:
    (tmp_path / "Joins.csv").write_text(rows, encoding="utf-8")
    text = ODD["loops that a guard excludes"][0].replace(" = {(1, 1), (1, 2), (2, 2), (2, 3)}", "")
    with pytest.raises(CredalogError) as refused:
        parse(text, data=tmp_path / "Joins.csv").ground()
    assert named in str(refused.value)
    assert "Joins.csv" in str(refused.value)
