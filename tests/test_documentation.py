"""The documentation: every command shown runs and writes what is shown, and every piece of Python runs."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from tools.transcripts import timeless

import credalog
from conftest import PROJECT
from credalog.cli import main

EXAMPLES = sorted((PROJECT / "examples").rglob("README.md"))
PAGES = (PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md")), *EXAMPLES)
BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?(?P<words>credalog .*)\n(?P<output>(?:(?!\$ |credalog ).*\n)*)", re.MULTILINE)
INLINE = re.compile(r"(?<!`)`(?P<words>credalog [^`]* examples/[^`]*)`")
MISTAKEN = "misspelt.lcn"
"""A file that only shows a mistake; a test of the language shows the same mistake."""


def blocks(page: Path, language: str) -> list[str]:
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [block["body"] for block in found if block["language"] == language]


def _named(page: Path) -> str:
    return page.parent.name if page in EXAMPLES else page.stem


def commands(page: Path) -> list[tuple[str, str]]:
    """Return the commands of a page with what they write, in the order of the page."""
    shown = [(one["words"], one["output"]) for b in blocks(page, "") for one in COMMAND.finditer(b)]
    inline = [(one["words"], "") for one in INLINE.finditer(page.read_text(encoding="utf-8"))]
    return [(words, output) for words, output in shown + inline if MISTAKEN not in words]


@pytest.fixture
def beside_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with a copy of the examples, so that what a page writes is not left in the project."""
    copytree(PROJECT / "examples", tmp_path / "examples", ignore=ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)


# One test for a page, not one for a command: some commands read what those before them have written.
@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=_named)
@pytest.mark.usefixtures("beside_the_examples")
def test_the_commands_of_a_page_write_what_is_shown(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, output in commands(page):
        assert main(shlex.split(words)[1:]) == 0, words
        written = capsys.readouterr().out
        assert written, words
        assert not output.strip() or timeless(written) == timeless(output), words


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=_named)
@pytest.mark.usefixtures("beside_the_examples")
def test_the_python_of_a_page_runs(page: Path) -> None:
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


def test_there_is_something_to_try() -> None:
    assert sum(len(commands(page)) for page in PAGES) >= 8


def test_the_network_of_the_front_page_is_the_example() -> None:
    (shown,) = [block for block in blocks(PROJECT / "README.md", "") if block.startswith("0.05 <=")]
    shipped = credalog.load(PROJECT / "examples" / "well.lcn")
    assert credalog.parse(shown).sentences == shipped.sentences


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("section", ["Name a number", "Rows and tables of distributions"])
def test_the_guide_to_data_shows_the_language(section: str) -> None:
    guide = (PROJECT / "docs" / "data.md").read_text(encoding="utf-8")
    (text, *_) = BLOCK.findall(guide.partition(f"## {section}")[2])
    assert credalog.parse(text[1]).sentences


def test_the_guide_to_data_shows_the_examples() -> None:
    guide = (PROJECT / "docs" / "data.md").read_text(encoding="utf-8")
    assert (PROJECT / "examples" / "links" / "model.lcn").read_text(encoding="utf-8") in guide


@pytest.mark.slow
def test_the_examples_are_what_their_pages_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT / "examples")
    sensors = credalog.load("sensors/fusion.lcn").learn(
        "sensors/labelled.csv", method="clopper_pearson", columns={"State": "True state"}
    )
    assert sensors.sentences == credalog.load("sensors/learned.lcn").sentences
    rules = Path("fact_checking/rules.lcn").read_text(encoding="utf-8")
    trusting = credalog.parse(rules.replace("trust = 0.3", "trust = 0.8"), data="fact_checking")
    assert "contradiction.csv:" in str(trusting.diagnose(timeout=2.0).to_dict())
    alerts = Path("alerts/rules.lcn").read_text(encoding="utf-8")
    with pytest.raises(credalog.CredalogError, match="least has no number for ftp"):
        text = alerts.replace('domain Service from "services.csv"', "domain Service = {http, smb, sql, ftp}")
        credalog.parse(f"{text}\nUses(mail, db, ftp)", data="alerts").ground()


@pytest.mark.parametrize(
    "picture", sorted((PROJECT / "examples").rglob("graph.svg")), ids=lambda p: p.parent.name
)
def test_a_picture_is_what_its_page_says(
    picture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    (words,) = re.findall(r"`credalog (graph .* --svg)`", (picture.parent / "README.md").read_text("utf-8"))
    # The form may be left to the name of the file.
    assert main([*shlex.split(words)[:-1], "-o", str(tmp_path / "graph.svg")]) == 0
    assert (tmp_path / "graph.svg").read_bytes() == picture.read_bytes()


def test_graphs_of_facts_are_read_in_the_form_of_their_collection(tmp_path: Path) -> None:
    folder = PROJECT / "examples" / "fact_checking"
    tables = runpy.run_path(str(folder / "tables.py"))
    rules = (folder / "rules.lcn").read_text(encoding="utf-8")
    shipped = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
    public = PROJECT / ".." / "shared" / "data" / "factreasoner" / "fact_graph.json"
    graphs = [shipped, tables["generated"](200)]
    graphs += [json.loads(public.read_text(encoding="utf-8"))] if public.exists() else []
    for i, graph in enumerate(graphs):
        (here := tmp_path / str(i)).mkdir()
        tables["write_tables"](graph, here)
        lcn = credalog.parse(rules, data=here)
        assert len(lcn.variables) == len(graph["nodes"])
