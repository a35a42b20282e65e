"""The commands that diagnose: what they write, as text and as JSON, and how they exit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import credalog
from credalog.cli import main

Ask: TypeAlias = Callable[..., tuple[int, str, str]]
Write: TypeAlias = Callable[[str], str]

CONTRADICTION = "s1: 0.1 <= P(a) <= 0.4\ns2: 0.6 <= P(a) <= 0.9\ns3: P(b | a) >= 0.5\n"
CHAIN = "s1: 0.2 <= P(a) <= 0.4\ns2: 0.5 <= P(b | a) <= 0.7\ns3: 0.1 <= P(b | !a) <= 0.2\ns4: P(c) >= 0.3\n"


def as_json(ask: Ask, *words: str) -> tuple[int, Any]:
    code, out, _ = ask(*words, "--json")
    return code, json.loads(out)


def test_check_names_label_file_and_line_of_a_contradiction(ask: Ask, written: Write):
    code, out, err = ask("check", written(CONTRADICTION))
    assert (code, err) == (3, "")
    assert "no: it is proved that there is no model" in out
    named = re.findall(r"^  (s\d)  \S*model\.lcn:(\d)  (.*)$", out, re.MULTILINE)
    assert named[:2] == [("s1", "1", "0 <= P(a) <= 0.4"), ("s2", "2", "0.6 <= P(a) <= 1")]
    assert "Widening bounds by 0.2 in all settles it" in out


def test_check_as_json_holds_the_whole_diagnosis(ask: Ask, written: Write):
    code, found = as_json(ask, "check", written(CONTRADICTION))
    diagnosis = found["diagnosis"]
    assert (code, diagnosis["verdict"], diagnosis["model"]) == (3, "INCONSISTENT", None)
    assert [s["label"] for s in diagnosis["conflict"]["sentences"]] == ["s1", "s2"]
    assert diagnosis["conflict"]["is_minimal"]
    assert diagnosis["repair"]["price"] == pytest.approx(0.2, abs=1e-3)
    assert diagnosis["repair"]["at_least"] == pytest.approx(0.2, abs=1e-3)


def test_check_of_a_consistent_network_shows_a_model(ask: Ask, written: Write):
    code, found = as_json(ask, "check", written(CHAIN))
    assert (code, found["diagnosis"]["verdict"]) == (0, "CONSISTENT")
    assert {table["variable"] for table in found["diagnosis"]["model"]} == {"a", "b", "c"}


def test_weights_decide_which_bound_gives_way(ask: Ask, written: Write):
    path = written(CONTRADICTION)
    for trusted, changed in (("s1", "s2"), ("s2", "s1")):
        _, found = as_json(ask, "check", path, "--weight", f"{trusted}=5")
        assert [c["label"] for c in found["diagnosis"]["repair"]["changes"]] == [changed]


@pytest.mark.parametrize("weight", ["s1", "s1=-1", "s1=x"])
def test_a_bad_weight_is_bad_input(weight: str, written: Write):
    with pytest.raises(SystemExit) as stop:
        main(("check", written(CONTRADICTION), "--weight", weight))
    assert stop.value.code == 2


def test_a_weight_of_nothing_is_bad_input(ask: Ask, written: Write):
    code, _, err = ask("check", written(CONTRADICTION), "--weight", "s9=2")
    assert code == 2
    assert "s9" in err


def test_a_large_network_is_diagnosed_only_on_demand(
    ask: Ask, written: Write, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("credalog.cli.check.LARGE", 1)
    path = written(CONTRADICTION)
    code, out, _ = ask("check", path)
    assert code == 0
    assert "not looked into" in out
    assert ask("check", path, "--timeout", "10")[0] == 3


def test_explain_ranks_what_holds_each_end(ask: Ask, written: Write):
    code, out, _ = ask("explain", written(CHAIN), "P(b)")
    assert code == 0
    lower, upper = out.split("The upper end")
    assert re.findall(r"^(s\d)", lower, re.MULTILINE)[0] == "s2"
    assert re.findall(r"^(s\d)", upper, re.MULTILINE) == ["s3", "s1", "s2"]
    assert "3 sentences were dropped in turn; 1 cannot matter." in out


def test_explain_as_json_gives_the_interval_of_each_change(ask: Ask, written: Write):
    words = ("explain", written(CHAIN), "P(b)", "--measure", "P(a)", "--within", "0.02")
    code, found = as_json(ask, *words)
    without = {one["label"]: one["without"] for one in found["influences"]}
    assert code == 0
    assert (without["s1"]["lower"], without["s1"]["upper"]) == pytest.approx((0.1, 0.7), abs=1e-3)
    assert [s["label"] for s in found["silent"]] == ["s4"]
    (measured,) = found["measurements"]
    assert measured["within"] == 0.02
    assert measured["width_best"] <= measured["width_worst"] <= measured["width_at_most"]
    assert measured["width_at_most"] < measured["width_before"]


def test_a_measurement_is_told_in_a_sentence(ask: Ask, written: Write):
    _, out, _ = ask("explain", written(CHAIN), "P(b)", "--most", "1", "--measure", "P(a)")
    assert "2 others were not tried" in out
    assert "If P(a), now in [0.2, 0.4], were measured to within 0.01" in out


def test_maxent_prints_its_tables(ask: Ask, written: Write):
    code, out, _ = ask("maxent", written("P(a) = 0.3\nP(b | a) = 0.2\nP(b | !a) = 0.7\n"))
    assert code == 0
    assert "The greatest entropy is" in out
    assert "P(b | a) = 0.200000" in out


def test_maxent_answers_queries(ask: Ask, written: Write):
    code, out, _ = ask("maxent", written("P(a or b) = 0.6\n"), "P(a and b)", "P(a | b)")
    assert code == 0
    assert re.search(r"P\(a and b\) +0\.20000", out)
    assert re.search(r"P\(a \| b\) +0\.50000", out)
    _, found = as_json(ask, "maxent", written("P(a or b) = 0.6\n"), "P(a)")
    assert found["status"] == "EXACT"
    assert found["queries"][0]["probability"] == pytest.approx(0.4, abs=1e-4)


@pytest.mark.parametrize("name", ["model.json", "model.lcn"])
def test_maxent_exports_what_can_be_read_back(ask: Ask, written: Write, tmp_path: Path, name: str):
    path = written("P(a) = 0.3\nP(b | a) = 0.2\nP(b | !a) = 0.7\n")
    target = tmp_path / f"maximum-{name}"
    assert ask("maxent", path, "-o", str(target))[0] == 0
    if target.suffix == ".json":
        tables = {table["variable"]: table for table in json.loads(target.read_text())}
        assert tables["a"]["table"] == pytest.approx([0.7, 0.3])
        assert tables["b"]["parents"] == ["a"]
    else:
        answer = credalog.load(target).query("P(b)")
        assert (answer.lower, answer.upper) == pytest.approx((0.55, 0.55), abs=1e-3)


def test_an_inconsistent_network_has_nothing_to_explain(ask: Ask, written: Write):
    path = written(CONTRADICTION)
    for words in (("explain", path, "P(a)"), ("maxent", path)):
        code, _, err = ask(*words)
        assert code == 3
        assert "credalog check" in err
