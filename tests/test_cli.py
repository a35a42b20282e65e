"""The command line: what people see, and what programs can rely on."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conftest import PROJECT
from credalog.cli import main
from credalog.cli.app import COMMANDS
from credalog.cli.output import CELLS, Column, bar, shown_lower, shown_upper, write, write_table
from credalog.cli.progress import Watch
from credalog.errors import CredalogError
from credalog.lcn import LCN
from credalog.methods.answer import Answer, Progress
from credalog.numbers.interval import Status

EXAMPLES = PROJECT / "examples"
FIELDS = {
    "query",
    "lower",
    "upper",
    "lower_witnessed",
    "upper_witnessed",
    "lower_warrant",
    "upper_warrant",
    "status",
    "method",
    "seconds",
}


@pytest.fixture
def smokers() -> str:
    return str(EXAMPLES / "smokers.lcn")


def in_a_process(*words: str, **options) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen([sys.executable, "-m", "credalog", *words], **pipes)


# Explaining a network.


def test_check_counts_what_example_1_grounds_to(ask, smokers: str):
    code, out, _ = ask("check", smokers)
    assert code == 0
    facts = dict(re.findall(r"^  (\w[\w ]*?)  +(.*)$", out, re.MULTILINE))
    assert facts["atoms"] == "9"
    # Symmetry makes both orders of two friends the same sentence: 3 + 3 + 3 + 3.
    assert facts["sentences"] == "12"
    # Everything but its two parents descends from a friendship, so only Sm and Ca have an ndnp.
    assert facts["independences"] == "6"
    assert facts["cyclic"].startswith("yes: 2 components of 3 variables; with their ancestors 6")


def test_check_writes_the_same_as_json(ask, smokers: str):
    code, out, _ = ask("check", smokers, "--json")
    found = json.loads(out)
    assert (code, found["variables"], found["sentences"], found["cycles"]) == (0, 9, 12, [3, 3])
    assert found["queries"] == 2


def test_ground_writes_a_text_that_grounds_to_the_same_network(ask, smokers: str, tmp_path: Path):
    once = tmp_path / "once.lcn"
    assert ask("ground", smokers, "-o", str(once))[0] == 0
    code, out, _ = ask("ground", str(once))
    assert code == 0
    assert out == once.read_text()
    assert "Fr(Tim,Tom)" in out


def test_ground_as_json_keeps_bounds_labels_and_sources(ask, smokers: str):
    found = json.loads(ask("ground", smokers, "--json")[1])
    assert len(found["variables"]) == 9
    smoke = next(s for s in found["sentences"] if s["label"].startswith("smoke"))
    assert (smoke["lower"], smoke["upper"], smoke["tau"]) == (0.03, 0.04, True)
    assert smoke["source"].endswith("smokers.lcn:9")


def test_a_limit_on_grounding_is_answered_with_the_count(ask, smokers: str):
    code, out, err = ask("check", smokers, "--limit", "3")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert re.search(r"\d+ sentences", err)


def test_independences_of_example_1_are_the_papers(ask, smokers: str):
    code, out, _ = ask("independences", smokers, "Sm(Tim)", "Ca(Tim)")
    assert code == 0
    assert list(map(as_sets, out.splitlines())) == [
        as_sets("Sm(Tim) ⊥ Fr(Tom,Tam), Ca(Tom), Ca(Tam) | Fr(Tim,Tom), Fr(Tim,Tam), Sm(Tom), Sm(Tam)"),
        as_sets(
            "Ca(Tim) ⊥ Fr(Tim,Tom), Fr(Tim,Tam), Fr(Tom,Tam), Sm(Tom), Sm(Tam), Ca(Tom), Ca(Tam) | Sm(Tim)"
        ),
    ]


def as_sets(line: str) -> list[set[str]]:
    return [set(part.split(", ")) for part in re.split(r" [⊥|] ", line)]


def test_independences_as_json(ask):
    code, out, _ = ask("independences", str(EXAMPLES / "appendix.lcn"), "--json")
    found = json.loads(out)["independences"]
    assert code == 0
    assert {"left": ["a"], "right": ["d"], "given": ["b", "c"]} in found
    assert len(found) == 4


def test_declared_independences_are_listed_too(ask, written):
    path = written("P(a | b) >= 0.1\nP(c | a) >= 0.1\nP(b | c) >= 0.1\nindependent a, b | c\n")
    assert ask("independences", path)[1] == "a ⊥ b | c\n"
    assert ask("independences", path, "c")[1] == ""


def test_an_unknown_variable_is_answered_with_the_nearest(ask, smokers: str):
    code, _, err = ask("independences", smokers, "Sm(Tin)")
    assert code == 2
    assert "no variable Sm(Tin)" in err
    assert "Sm(Tim)" in err


@pytest.mark.slow
def test_graph_in_every_form(ask, smokers: str, tmp_path: Path):
    assert ask("graph", smokers)[1].startswith("9 variables")
    assert ask("graph", smokers, "--dot")[1].startswith("digraph")
    ElementTree.fromstring(ask("graph", smokers, "--svg")[1])
    picture = tmp_path / "graph.png"
    assert ask("graph", smokers, "--png", "-o", str(picture))[0] == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_picture_is_not_thrown_at_a_terminal(ask, smokers: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    code, out, err = ask("graph", smokers, "--png")
    assert (code, out) == (2, "")
    assert "-o graph.png" in err


def test_graph_as_json_has_parents_and_components(ask, smokers: str):
    found = json.loads(ask("graph", smokers, "--json")[1])
    assert set(found["parents"]["Sm(Tim)"]) == {"Fr(Tim,Tom)", "Fr(Tim,Tam)", "Sm(Tom)", "Sm(Tam)"}
    assert [len(component) for component in found["components"]] == [3, 3, 1, 1, 1]
    assert len(found["formulas"]) == 9


# Asking.


def test_query_answers_as_the_paper_does(ask):
    code, out, _ = ask("query", str(EXAMPLES / "parity.lcn"), "P(x xor y)", "--json")
    (answer,) = json.loads(out)
    assert code == 0
    assert set(answer) >= FIELDS
    assert answer["lower"] == pytest.approx(0.42, abs=1e-4)
    assert answer["upper"] == pytest.approx(0.58, abs=1e-4)
    assert answer["status"] == "EXACT"


def test_without_the_markov_condition_nothing_is_known_of_a_parity(ask):
    (answer,) = json.loads(ask("run", str(EXAMPLES / "parity.lcn"), "--markov", "none", "--json")[1])
    assert (answer["lower"], answer["upper"]) == (pytest.approx(0), pytest.approx(1))


def test_run_answers_every_query_line_in_order(ask):
    code, out, _ = ask("run", str(EXAMPLES / "appendix.lcn"), "--json")
    found = json.loads(out)
    assert code == 0
    assert [answer["query"] for answer in found] == ["P(c)", "P(a | b)"]
    assert found[0]["upper"] == pytest.approx(1 / 3, abs=1e-3)
    assert found[1]["lower"] == pytest.approx(6 / 7, abs=1e-3)


def test_run_on_a_file_that_asks_nothing_says_how_to_ask(ask, written):
    code, _, err = ask("run", written("P(a) >= 0.5\n"))
    assert code == 2
    assert "query P(" in err


def test_propagation_ends_when_the_time_is_up(ask, smokers: str):
    code, _, err = ask("marginals", smokers, "--method", "sound", "--timeout", "1e-9")
    assert code == 0
    assert "sound has not converged" in err


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "bp", "sound"])
def test_marginals_given_evidence_are_posteriors(ask, written, method):
    path = written("0.2 <= P(a) <= 0.4\nP(b | a) = 0.9\nP(b | !a) = 0.3\n")
    asked = ("marginals", path, "--method", method, "--evidence", "b", "--json")
    first, _ = json.loads(ask(*asked)[1])
    assert first["query"] == "P(a | b)"
    # Bayes' rule at both ends: 0.18 / 0.42 and 0.36 / 0.54.
    assert (first["lower"], first["upper"]) == pytest.approx((3 / 7, 2 / 3), abs=1e-6)


def test_marginals_answer_for_every_proposition_and_every_value(ask, written):
    path = written("variable Color in {red, green}\nP(Color = red) = 0.3\nP(a) = 0.25\n")
    found = {one["query"]: one for one in json.loads(ask("marginals", path, "--json")[1])}
    assert {text: round(one["lower"], 6) for text, one in found.items()} == {
        "P(Color = red)": 0.3,
        "P(Color = green)": 0.7,
        "P(a)": 0.25,
    }


def test_the_table_shows_interval_bar_and_status(ask):
    code, out, err = ask("query", str(EXAMPLES / "two_sources.lcn"), "P(b)")
    assert (code, err) == (0, "")
    heading, row = out.splitlines()
    assert heading.split()[:3] == ["query", "lower", "upper"]
    assert row.split()[0] == "P(b)"
    assert float(row.split()[1]) == pytest.approx(0.3, abs=1e-4)
    assert "█" in row
    assert " exact " in row


def test_a_narrow_terminal_loses_columns_but_no_bound(ask, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for width in (200, 80, 40):
        monkeypatch.setenv("COLUMNS", str(width))
        out = ask("query", str(EXAMPLES / "two_sources.lcn"), "P(b)")[1]
        heading, row = re.sub(r"\x1b\[\d*m", "", out).splitlines()
        assert max(len(heading), len(row)) <= width
        assert row.split()[:3] == ["P(b)", "0.300000", "0.350000"]
        assert ("method" in heading) == (width == 200)


@pytest.mark.slow
def test_several_processes_give_the_same_answers(ask):
    path = str(EXAMPLES / "appendix.lcn")
    questions = ("P(c)", "P(a and b)", "P(d)")
    alone = json.loads(ask("query", path, *questions, "--json")[1])
    together = json.loads(ask("query", path, *questions, "--json", "--jobs", "2")[1])
    for one, other in zip(alone, together, strict=True):
        assert one["query"] == other["query"]
        assert one["lower"] == pytest.approx(other["lower"], abs=1e-4)
        assert one["upper"] == pytest.approx(other["upper"], abs=1e-4)


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("P(x) >= 0.5", "P(x) >= 0.5"),
        ("P(x | y)<=1/4", "P(x | y) <= 0.25"),
        ("P(x) ≥ 20%", "P(x) >= 0.2"),
        ("P(x) ≤ .5", "P(x) <= 0.5"),
        ("0.5 <= P(x)", "P(x) >= 0.5"),
        ("12.5% ≥ P(x)", "P(x) <= 0.125"),
    ],
)
def test_a_statement_to_decide_may_be_written_in_several_ways(ask, statement: str, shown: str):
    code, out, _ = ask("decide", str(EXAMPLES / "parity.lcn"), statement, "--json")
    assert (code, json.loads(out)[0]["statement"]) == (0, shown)


def test_the_ground_file_answers_as_the_file_does(ask, tmp_path: Path):
    # By hand: P(a | b) = 0.45 / 0.5 = 0.9; without the evidence it would be 0.5.
    rules = tmp_path / "rules.lcn"
    rules.write_text(
        "domain D = {u}\npredicate A(D), B(D), C(D)\n"
        "forall x in D: P(A(x)) = 0.5\nforall x in D: P(B(x) | A(x)) = 0.9\n"
        "forall x in D: P(B(x) | !A(x)) = 0.1\n"
        "evidence B(u)\nquery forall x in D: P(A(x))\nquery P(C(u))\n",
        encoding="utf-8",
    )
    ground = tmp_path / "ground.lcn"
    assert ask("ground", str(rules), "-o", str(ground))[0] == 0
    assert "forall" not in ground.read_text(encoding="utf-8")
    found = []
    for file in (rules, ground):
        code, out, _ = ask("run", str(file), "--json")
        assert code == 0
        found.append([(one["query"], one["lower"], one["upper"]) for one in json.loads(out)])
    assert found[0] == found[1]
    assert found[0][0][1:] == (pytest.approx(0.9, abs=1e-4), pytest.approx(0.9, abs=1e-4))
    _, out, _ = ask("ground", str(rules), "--json")
    assert (json.loads(out)["evidence"], json.loads(out)["queries"]) == ("B(u)", ["P(A(u))", "P(C(u))"])


@pytest.mark.parametrize("statement", ["P(x)", "P(x) >", "P(x) > 0.5", "P(x) >= x"])
def test_what_is_no_comparison_with_a_number_is_not_decided(ask, statement: str):
    code, out, err = ask("decide", str(EXAMPLES / "parity.lcn"), statement)
    assert (code, out) == (2, "")
    assert "is no comparison" in err


def test_a_threshold_with_two_points_is_no_number(ask):
    code, out, err = ask("decide", str(EXAMPLES / "parity.lcn"), "P(x) >= 1.2.3")
    assert (code, out) == (2, "")
    assert "digits and one point" in err


# What goes wrong.


def test_an_inconsistent_network_has_its_own_exit_code(ask, written):
    code, _, err = ask("query", written("P(a) >= 0.6\nP(a) <= 0.5\n"), "P(a)")
    assert code == 3
    assert err.startswith("error: ")


def test_a_question_that_fails_leaves_the_others_their_answers(ask, written):
    # By hand: A(x) is independent of R(x); R(v) is impossible, so that P(A(v) | R(v)) has no answer.
    file = written(
        "domain D = {u, v, w}\npredicate A(D), R(D)\nforall x in D: 0.2 <= P(A(x)) <= 0.3\n"
        "P(R(u)) = 0.5\nP(R(v)) = 0\nP(R(w)) = 0.4\nquery forall x in D: P(A(x) | R(x))\n"
    )
    code, out, err = ask("run", file, "--json")
    assert code == 4
    assert "P(A(v) | R(v)): every model gives the evidence probability zero" in err
    found = {one["query"]: one for one in json.loads(out)}
    assert found["P(A(v) | R(v))"]["status"] == "FAILED"
    for x in ("u", "w"):
        one = found[f"P(A({x}) | R({x}))"]
        assert (one["lower"], one["upper"]) == (pytest.approx(0.2, abs=1e-4), pytest.approx(0.3, abs=1e-4))


def test_impossible_evidence_has_its_own_exit_code(ask, written):
    code, _, err = ask("query", written("P(a) = 0\nP(b) = 0.5\n"), "P(b)", "P(b | a)")
    assert code == 4
    assert err.startswith("error: P(b | a): every model gives the evidence probability zero")


def test_answers_found_before_a_failure_are_not_lost(ask, written):
    code, out, _ = ask("query", written("P(a) = 0\nP(b) = 0.5\n"), "P(b)", "P(b | a)", "--json")
    answer, failure = json.loads(out)
    assert code == 4
    assert (answer["query"], answer["status"]) == ("P(b)", "EXACT")
    assert (failure["query"], failure["status"], failure["exit_code"]) == ("P(b | a)", "FAILED", 4)


def test_json_says_why_there_is_no_answer(ask, written):
    code, out, err = ask("query", written("P(a) >= 0.6\nP(a) <= 0.5\n"), "P(a)", "--json")
    (failure,) = json.loads(out)
    assert (code, failure["query"], failure["exit_code"]) == (3, "P(a)", 3)
    assert failure["error"] in err
    assert "lower" not in failure


@pytest.mark.slow
def test_messages_that_cross_for_want_of_a_model_are_a_contradiction(ask, written):
    code, out, err = ask("marginals", written("P(a) >= 0.6\nP(a) <= 0.4\n"), "--method", "bp")
    assert (code, out) == (3, "")
    assert "the messages to a cross: bp has no fixed point" in err
    assert "contradict each other" in err


def test_messages_that_cross_although_there_is_a_model_decide_nothing(ask, written):
    # b and c copy the coin a, d is their conjunction: P(d) = 1/2, but bp takes b and c for independent.
    copies = "P(b | a) = 1\nP(b | !a) = 0\nP(c | a) = 1\nP(c | !a) = 0\n"
    both = "P(d | b and c) = 1\nP(d | b and !c) = 0\nP(d | !b and c) = 0\nP(d | !b and !c) = 0\n"
    path = written(f"P(a) = 0.5\n{copies}{both}P(d) = 0.5\n")
    code, out, err = ask("marginals", path, "--method", "bp", "--json")
    assert code == 0
    assert {one["status"] for one in json.loads(out)} == {"UNDECIDED"}
    assert all(one["lower"] <= 0.5 <= one["upper"] for one in json.loads(out))
    assert "no fixed point" in err


def test_an_empty_file_is_told_how_to_begin(ask, written):
    for text in ("", "# nothing yet\n\n"):
        code, out, err = ask("check", written(text))
        assert code == 0
        assert "atoms          0" in out
        assert re.search(r"^note: .*model\.lcn says nothing\. .* 0\.2 <= P\(a \| b\) <= 0\.3$", err.strip())
    assert ask("check", written("P(a) >= 0.1\n"))[2] == ""


def test_the_limit_on_grounding_holds_for_questions_too(ask, smokers: str):
    code, out, err = ask("query", smokers, "P(Ca(Tim))", "--limit", "3")
    assert (code, out) == (2, "")
    assert re.search(r"\d+ sentences", err)


def test_advice_is_given_in_commands(ask, smokers: str):
    err = ask("query", smokers, "P(Ca(Tim)) >= 0.3")[2]
    assert f"ask `credalog decide {smokers} 'P(Ca(Tim)) >= 0.3'`." in err
    err = ask("ground", smokers, "--limit", "3")[2]
    assert "raise the limit: --limit 30." in err


def test_bad_text_is_shown_with_its_place_and_a_caret(ask, written):
    code, out, err = ask("check", written("P(a) >= 0.5\nP(b >= 0.5\n"))
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert "model.lcn, line 2, column" in err
    assert "^" in err
    assert "Traceback" not in err


def test_an_unknown_atom_in_a_query_is_bad_input(ask):
    code, _, err = ask("query", str(EXAMPLES / "smokers.lcn"), "P(Ca(Tin))")
    assert code == 2
    assert "Tim" in err


def test_a_missing_file_is_bad_input(ask):
    code, _, err = ask("check", "no-such-file.lcn")
    assert code == 2
    assert "no-such-file.lcn" in err


def test_a_folder_that_is_not_there_cannot_be_written_to(ask, smokers: str):
    code, _, err = ask("graph", smokers, "-o", "no-such-folder/graph.txt")
    assert code == 2
    assert "there is no folder no-such-folder" in err


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("fly",),
        ("query", "file.lcn"),
        ("ground", "a", "--markov", "local"),
        ("run", "a", "--timeout", "-1"),
        ("run", "a", "--tolerance", "nan"),
        ("run", "a", "--jobs", "two"),
        ("graph", "a", "--dot", "--svg"),
    ],
    ids=" ".join,
)
def test_wrong_words_are_bad_input(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert "usage: credalog" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("querry", "a.lcn", "P(a)"), "Did you mean query?"),
        (("maxnet", "a.lcn"), "Did you mean maxent?"),
        (("a.lcn",), "A command comes first: credalog check a.lcn"),
        ((), "`credalog --help` lists the commands."),
        (("query", "a.lcn", "P(a)", "--tolerence", "1"), "Did you mean --tolerance?"),
        (("query", "a.lcn", "P(a)", "--timout=1"), "Did you mean --timeout?"),
        (
            ("run", "a.lcn", "--method", "factorised"),
            "there is no method factorised\n  Did you mean factorized?",
        ),
        (("run", "a.lcn", "--method", "xyz"), "there is no method xyz\n  Choose one of auto, points,"),
        (("graph", "a.lcn", "b.lcn"), "b.lcn is a word too many\n  What has blanks"),
        (("P(a)", "a.lcn"), "A command comes first, then the file: credalog query model.lcn 'P(a)'"),
        (("query", "a.lcn"), "Name a file, then a question in quotes: credalog query model.lcn 'P(a | b)'"),
        (("query", "a.lcn", "P(a)", "--given", "b"), "Did you mean --evidence?"),
        (("query", "a.lcn", "P(a)", "--evidence", "b", "c"), "--evidence 'a and b' takes one formula"),
        (("map", "a.lcn", "a"), "Variables follow --variables"),
        (("ask", "a.lcn", "P(a)"), "Did you mean query?"),
        (("draw", "a.lcn"), "Did you mean graph?"),
        (("convert", "a.lcn", "-o", "b.bif"), "What is written has a place of its own"),
        (("query", "a.lcn", "P(a)", "--timeout", "10s"), "10s is not a number"),
        (("query", "a.lcn", "P(a)", "--jobs", "1.5"), "1.5 is not a whole number"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_misspelt_words_are_recognised(
    words: tuple[str, ...], advice: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert advice in capsys.readouterr().err


@pytest.mark.parametrize(
    ("accident", "code", "words"),
    [
        (MemoryError(), 2, "out of memory"),
        (RecursionError(), 2, "nested too deeply"),
        (KeyboardInterrupt(), 130, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_accidents_have_a_message_and_a_code(
    ask, smokers: str, monkeypatch: pytest.MonkeyPatch, accident: BaseException, code: int, words: str
):
    def fail(_: object) -> None:
        raise accident

    monkeypatch.setattr("credalog.cli.check.load_model", fail)
    found, _, err = ask("check", smokers)
    assert found == code
    assert words in err


ALWAYS_JSON = ("batch", "schema")
"""Commands whose output is JSON whatever is said."""


def test_every_command_has_help_and_json(capsys: pytest.CaptureFixture[str]):
    for command in COMMANDS:
        with pytest.raises(SystemExit) as stop:
            main([command.name, "--help"])
        assert stop.value.code == 0
        assert "--json" in capsys.readouterr().out or command.name in ALWAYS_JSON


# Files, pipes, interruptions.


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    target = tmp_path / "out.txt"
    write("old", str(target))

    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(CredalogError, match=r"out\.txt cannot be written: disk full"):
        write("new", str(target))
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_folder_is_not_taken_for_a_file(ask, smokers: str, tmp_path: Path):
    for words in (("maxent", smokers), ("graph", smokers), ("ground", smokers)):
        code, out, err = ask(*words, "-o", str(tmp_path))
        assert (code, out) == (2, "")
        assert err.startswith(f"error: {tmp_path} is a folder\n")
    assert os.listdir(tmp_path) == []


def test_a_written_file_has_the_usual_rights(tmp_path: Path):
    write("text", str(tmp_path / "ours"))
    (tmp_path / "plain").write_text("text")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.slow
def test_a_reader_who_leaves_early_gets_no_traceback(written):
    many = written("".join(f"P(x{i}) >= 0.1\n" for i in range(2000)))
    process = in_a_process("independences", many)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    complaints = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert complaints == ""


def test_an_interrupted_query_shows_the_bounds_reached(ask, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object, report, **__: object) -> Iterator[object]:
        report(Progress("lower", 0.25, 0.375, 1.0))
        report(Progress("lower", 0.3, 0.35, 2.0))
        raise KeyboardInterrupt

    monkeypatch.setattr("credalog.lcn.LCN.query", interrupted)
    code, out, _ = ask("query", str(EXAMPLES / "parity.lcn"), "P(x)", "--json")
    (answer,) = json.loads(out)
    assert code == 130
    assert set(answer) >= FIELDS
    assert (answer["query"], answer["status"]) == ("P(x)", "INTERRUPTED")
    assert (answer["lower"], answer["lower_witnessed"]) == (0.3, 0.35)
    assert (answer["upper"], answer["upper_witnessed"]) == (1.0, None)


def test_an_answer_cut_short_has_the_status_interrupted(ask, monkeypatch: pytest.MonkeyPatch):
    finished = LCN.query

    def cut_short(*words: Any, report, **options: Any) -> Answer:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return replace(finished(*words, **options), status=Status.BOUNDED, interrupted=True)

    monkeypatch.setattr("credalog.lcn.LCN.query", cut_short)
    path = str(EXAMPLES / "parity.lcn")
    code, out, _ = ask("query", path, "P(x)", "P(y)", "--json")
    (answer,) = json.loads(out)
    assert (code, answer["query"], answer["status"]) == (130, "P(x)", "INTERRUPTED")
    assert " interrupted " in ask("query", path, "P(x)")[1]


SLOW = """
import sys, time
from credalog.cli import main
from credalog.methods.answer import Progress
from credalog.lcn import LCN

def slow(*_, report, **__):
    report(Progress("upper", 0.9, 0.8, 1.0))
    print("at work", file=sys.stderr, flush=True)
    time.sleep(60)

LCN.query = slow
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of this kind are POSIX")
def test_control_c_ends_with_130_and_the_bounds_reached():
    words = [sys.executable, "-c", SLOW, "query", str(EXAMPLES / "parity.lcn"), "P(x)", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "at work\n"
        process.send_signal(signal.SIGINT)
        out, complaints = process.communicate(timeout=60)
    (answer,) = json.loads(out)
    assert (process.returncode, complaints) == (130, "")
    assert (answer["upper"], answer["upper_witnessed"], answer["lower"]) == (0.9, 0.8, 0.0)


NEVER_ENDING = """
import sys, time
from credalog.cli import main
from credalog.methods.cliques.search import Search
from credalog.program.solvers.ipopt import _Entropic

def announce(seconds):
    print("at work", file=sys.stderr, flush=True)
    time.sleep(seconds)

climb = _Entropic.value
Search._explore = lambda *_: announce(60)
_Entropic.value = lambda *words: announce(0.2) or climb(*words)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of this kind are POSIX")
@pytest.mark.parametrize(
    ("words", "key"),
    [
        (("marginals", "M", "--method", "factorized"), "query"),
        (("explain", "M", "P(c)"), "is_interrupted"),
        (("explain", "M", "P(c)", "--measure", "P(a)"), "is_interrupted"),
        (("check", "M"), "diagnosis"),
        (("maxent", "L"), "is_interrupted"),
    ],
)
def test_control_c_ends_every_command_at_once(tmp_path: Path, words: tuple[str, ...], key: str):
    pytest.importorskip("ipyopt", reason="the optional extra credalog[ipopt] is not installed")
    local = "0.2 <= P(a) <= 0.4\n0.1 <= P(b) <= 0.3\n0.3 <= P(c | a and b) <= 0.7\n"
    files = {"L": tmp_path / "local.lcn", "M": tmp_path / "mixed.lcn"}
    files["L"].write_text(local)
    files["M"].write_text(f"{local}0.3 <= P(c) <= 0.4\n0.4 <= P(d) <= 0.6\nP(d or e) <= 0.7\n")
    command = [sys.executable, "-c", NEVER_ENDING, *(str(files.get(word, word)) for word in words), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "at work\n"
        process.send_signal(signal.SIGINT)
        out, complaints = process.communicate(timeout=20)
    found = json.loads(out)
    assert process.returncode == 130
    assert set(complaints.splitlines()) <= {"at work"}
    assert key in (found[0] if isinstance(found, list) else found)


def test_interrupted_marginals_show_those_that_were_finished(ask, monkeypatch: pytest.MonkeyPatch):
    finished, asked = LCN.query, []

    def third_is_cut_short(*words: Any, **options: Any) -> Answer:
        asked.append(words)
        return replace(finished(*words, **options), interrupted=len(asked) == 3)

    monkeypatch.setattr("credalog.lcn.LCN.query", third_is_cut_short)
    code, out, _ = ask("marginals", str(EXAMPLES / "appendix.lcn"), "--json")
    statuses = [one["status"] for one in json.loads(out)]
    assert (code, len(statuses), statuses[-1]) == (130, 3, "INTERRUPTED")
    assert "INTERRUPTED" not in statuses[:2]


def test_after_an_interruption_no_other_search_begins():
    usual = signal.getsignal(signal.SIGINT)
    with Watch() as watch:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            watch(Progress("upper", 0.9, None, 1.0))
    assert watch.is_interrupted
    assert signal.getsignal(signal.SIGINT) is usual


@pytest.mark.slow
def test_ctrl_c_after_the_answer_does_not_change_the_exit_code() -> None:
    script = (
        "import os, signal, sys; from credalog.cli import main; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        "sys.argv = ['credalog', 'graph', 'examples/parity.lcn']; code = main(); "
        "os.kill(os.getpid(), signal.SIGINT); sys.exit(code)"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=PROJECT, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr


# Small things.


def test_bounds_are_shown_rounded_outwards():
    assert shown_lower(0.12345678) == "0.123456"
    assert shown_upper(0.12345678) == "0.123457"
    assert shown_lower(0.42 - 1e-10) == "0.420000"
    assert shown_upper(0.58 + 1e-10) == "0.580000"


def test_the_bar_is_solid_where_attained_and_lighter_where_only_possible():
    assert bar(0.0, 1.0, None) == "▒" * CELLS
    assert bar(0.0, 1.0, (0.0, 1.0)) == "█" * CELLS
    drawn = bar(0.25, 0.75, (0.4, 0.6))
    assert len(drawn) == CELLS
    assert re.fullmatch("·+▒+█+▒+·+", drawn)
    assert bar(0.5, 0.5, (0.5, 0.5)).count("█") == 1


def test_progress_is_shown_only_to_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    Watch()(Progress("lower", 0.3, 0.4, 1.0))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Watch() as watch:
        watch.begin("P(x)")
        watch(Progress("lower", 0.3, 0.4, 1.0))
    assert "P(x) lower  bound 0.300000  witness 0.400000  gap 1.0e-01  1.0 s" in capsys.readouterr().err


def test_a_first_column_without_room_is_broken_at_blanks_and_nothing_is_lost(
    capsys: pytest.CaptureFixture[str],
):
    columns = [Column("what", itemgetter("what")), Column("value", itemgetter("value"), "right")]
    words = [f"{'x' * (7 * i % 23)}{i}" for i in range(400)] + ["y" * 2500]
    write_table(columns, [{"what": " ".join(words), "value": "0.5"}, {"what": "short", "value": "1"}])
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split() == ["what", "value"]
    assert max(map(len, lines)) <= 1000
    assert lines[0].endswith("  0.5")
    assert lines[-1].split() == ["short", "1"]
    told = " ".join([lines[0].removesuffix("0.5").rstrip(), *lines[1:-1]])
    assert told.replace(" ", "") == "".join(words)
    assert all(word in told.split() for word in words[:-1]), "only what is longer than a line is broken"
