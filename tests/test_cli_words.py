"""Words that a command does not take, or not in this place: each is told where it belongs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from credalog.cli import main

CHAIN = "0.2 <= P(a) <= 0.3\nP(b | a) = 0.9\n0.1 <= P(b | !a) <= 0.2\n"

Told = Callable[..., str]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """Return a function that runs a command which is refused, and returns the complaint."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.lcn").write_text(CHAIN)

    def run(*words: str) -> str:
        try:
            code: object = main(words)
        except SystemExit as stop:
            code = stop.code
        assert code == 2
        return capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["batch"], "credalog batch model.lcn questions.txt"),
        (["maxent"], "required: FILE\n"),
        (["independences"], "required: FILE\n"),
        (["run", "model.lcn", "P(a)"], "`credalog query FILE 'P(a)'` answers a question."),
        (["marginals", "model.lcn", "P(a)"], "`credalog query FILE 'P(a)'` answers a question."),
        (["explain", "model.lcn", "P(a)", "P(b)"], "Ask one question at a time."),
        (["query", "model.lcn", "P(a)", "-e", "b"], "Did you mean --evidence?"),
        (["query", "model.lcn", "P(a)", "--timeout", "1m"], "Give seconds: --timeout 60"),
        (["query", "model.lcn", "P(a)", "--tolerance", "1%"], "--tolerance 0.001"),
        (["query", "model.lcn", "P(a)", "--jobs", "1.5"], "--jobs 2"),
        (["query", "model.LCN", "P(a)"], "Did you mean model.lcn?"),
        (["query", "P(a) = 0.3", "P(a)"], "This is a sentence, not a file"),
        (["query", "~/nothing.lcn", "P(a)"], "Write the name of your folder: /"),
        (["query", "model.lcn", "P(a) | b"], "Write P(a | b)."),
        (["query", "model.lcn", "P(a); P(b)"], "Ask each by itself"),
        (["query", "model.lcn", "P(a) >= 0.5 and P(b) <= 1"], "decide model.lcn 'P(a) <= 1'"),
        (["decide", "model.lcn", "P(a) = 0.3"], "no other sign than <= and >="),
        (["schema", "qery"], "Did you mean query?"),
        (["graph", "model.lcn", "--png", "-o", "graph.svg"], "name the file graph.png"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_word_in_the_wrong_place_is_told_where_it_belongs(told: Told, words: list[str], advice: str):
    assert advice in told(*words)


def test_a_picture_that_is_refused_for_its_name_is_not_written(told: Told, tmp_path: Path):
    told("graph", "model.lcn", "--png", "-o", "graph.svg")
    assert not (tmp_path / "graph.svg").exists()


def test_a_network_without_independences_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "model.lcn").write_text(CHAIN)
    assert main(["independences", str(tmp_path / "model.lcn")]) == 0
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "implies no independence" in seen.err


def test_a_theory_whose_domain_is_empty_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "rules.lcn"
    path.write_text("domain D\npredicate Q(D)\nforall x in D: P(Q(x)) = 0.3\n")
    assert main(["check", str(path)]) == 0
    assert "nothing is in the domain D" in capsys.readouterr().err
    (tmp_path / "D.csv").write_text("u\n")
    assert main(["check", str(path), "--data", str(tmp_path / "D.csv")]) == 0
    assert "nothing is in the domain" not in capsys.readouterr().err


def test_confidence_without_a_method_that_has_one_is_told_the_flags(told: Told, tmp_path: Path):
    (tmp_path / "open.lcn").write_text("P(a) = ?\n")
    (tmp_path / "cases.csv").write_text("a\n1\n0\n")
    complaint = told("learn", "open.lcn", "cases.csv", "--confidence", "95%")
    assert "--method clopper_pearson or --method wilson" in complaint
