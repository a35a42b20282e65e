"""Notebooks: what a diagnosis, a repair and the model of greatest entropy look like there."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

import credalog
from credalog.numbers.interval import Status
from credalog.questions.diagnose import Diagnosis
from credalog.questions.maxent import MaximumEntropy
from credalog.show.html import MOST, WIDTH, as_chances, as_words


def cells(html: str) -> list[list[str]]:
    """Return the words of every row; the HTML has to be well formed for that."""
    whole = ElementTree.fromstring(f"<div>{html}</div>")
    return [["".join(cell.itertext()) for cell in row] for row in whole.iter("tr")]


@pytest.fixture(scope="module")
def diagnosis() -> Diagnosis:
    return credalog.parse("s1: 0.1 <= P(a) <= 0.4\ns2: 0.6 <= P(a) <= 0.9\ns3: P(b | a) >= 0.5").diagnose()


@pytest.fixture(scope="module")
def entropy() -> MaximumEntropy:
    return credalog.parse("variable C in {red, green, blue}\nP(C = red) = 0.5\nP(a) = 0.25").maxent()


def test_a_contradiction_shows_its_conflict_and_its_repair(diagnosis: Diagnosis) -> None:
    html = diagnosis._repr_html_()
    assert "Inconsistent: it is proved that there is no model" in html
    assert "These 2 bounds contradict each other" in html
    rows = cells(html)
    assert rows[:3] == [["sentence", "bound"], ["s1", "0 <= P(a) <= 0.4"], ["s2", "0.6 <= P(a) <= 1"]]
    assert rows[3] == ["sentence", "says", "becomes", "wider by"]
    assert sum(float(row[3]) for row in rows[4:]) == pytest.approx(0.2, abs=1e-3)


def test_a_repair_says_what_is_not_confirmed(diagnosis: Diagnosis) -> None:
    assert diagnosis.repair is not None
    assert "not confirmed" not in diagnosis.repair._repr_html_()
    assert "not confirmed" in replace(diagnosis.repair, is_checked=False)._repr_html_()
    assert re.search(r"No repair costs less than 0\.(2|19)", diagnosis.repair._repr_html_())


def test_a_conflict_that_may_not_be_minimal_says_so(diagnosis: Diagnosis) -> None:
    assert diagnosis.conflict is not None
    assert "was not decided" in replace(diagnosis.conflict, is_minimal=False)._repr_html_()
    alone = replace(diagnosis.conflict, culprits=diagnosis.conflict.culprits[:1])
    assert "This sentence alone" in alone._repr_html_()


def test_a_consistent_network_has_only_a_verdict() -> None:
    html = credalog.parse("P(a) >= 0.5").diagnose()._repr_html_()
    assert "Consistent: a model was found and checked" in html
    assert "<table>" not in html


def test_the_model_of_greatest_entropy_shows_its_tables(entropy: MaximumEntropy) -> None:
    # Nothing ties C to a, and nothing tells green from blue.
    html = entropy._repr_html_()
    assert "The greatest entropy is" in html
    assert {row[0]: float(row[1]) for row in cells(html)[1:]} == {
        "P(C = red)": 0.5,
        "P(C = green)": 0.25,
        "P(C = blue)": 0.25,
        "P(a)": 0.25,
    }
    assert html.count("<svg") == 4


def test_what_is_not_proved_of_a_model_is_not_claimed(entropy: MaximumEntropy) -> None:
    bounded = replace(entropy, status=Status.BOUNDED, at_most=entropy.entropy + 1.0)
    assert "no model has more than" in bounded._repr_html_()
    assert "The greatest entropy is" not in bounded._repr_html_()
    assert "No model was found" in replace(entropy, distribution=None)._repr_html_()


def test_a_bar_is_as_long_as_the_chance_is_great() -> None:
    widths = re.findall(r'width="([\d.]+)" height="12" fill="#', as_chances([("x", 0.25), ("y", 1.0)]))
    assert list(map(float, widths)) == [WIDTH / 4, WIDTH]


def test_words_are_escaped_and_long_tables_are_cut() -> None:
    html = as_words(("a < b",), [("x & y",)] * (MOST + 7), note="1 < 2")
    assert len(cells(html)) == 1 + MOST
    assert "… and 7 more." in html
    assert "x &amp; y" in html and "a &lt; b" in html and "1 &lt; 2" in html
