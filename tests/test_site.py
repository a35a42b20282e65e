"""The documentation site: commands and networks of its pages work, its pictures are drawn, and it builds."""

from __future__ import annotations

import importlib.util
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from tools.transcripts import FILE, blocks, replay, steps, timeless

import credalog
from conftest import PROJECT
from credalog.cli import main

DOCS = PROJECT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
SHOWING = [page for page in PAGES if steps(page.read_text(encoding="utf-8"))]
LOADED = re.compile(rb"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["'](?:https?:)?//""")
"""What a browser would fetch from somewhere else."""


def _name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


@pytest.mark.slow
@pytest.mark.parametrize("page", SHOWING, ids=_name)
def test_a_page_shows_what_its_commands_write(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    asked = {one.start for one, after in pairwise(steps(text)) if after.words == "echo $?"}
    for outcome in replay(text, tmp_path):
        assert timeless(outcome.step.shown) == timeless(outcome.written), outcome.step.words
        assert outcome.code == 0 or outcome.step.start in asked, outcome.step.words
    for drawn in tmp_path.glob("*.svg"):
        assert drawn.read_bytes() == (DOCS / "images" / drawn.name).read_bytes()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_the_networks_of_a_page_are_networks(page: Path, tmp_path: Path) -> None:
    shown = blocks(page.read_text(encoding="utf-8"), "lcn")
    copytree(PROJECT / "examples", tmp_path / "examples", ignore=ignore_patterns("__pycache__", "notebooks"))
    for block in shown:
        if name := FILE.match(block):
            (tmp_path / name["name"]).write_text(block, encoding="utf-8")
    for i, block in enumerate(shown):
        (tmp_path / f"{i}.lcn").write_text(block, encoding="utf-8")
        credalog.load(tmp_path / f"{i}.lcn").check()


def test_the_drawn_pictures_are_the_script_s(tmp_path: Path) -> None:
    script = runpy.run_path(str(DOCS / "figures.py"))
    script["main"](tmp_path)
    for drawn in tmp_path.iterdir():
        assert drawn.read_bytes() == (DOCS / "images" / drawn.name).read_bytes()


def test_the_picture_of_the_front_page_is_drawn_by_the_engine(tmp_path: Path) -> None:
    network = str(PROJECT / "examples" / "well.lcn")
    drawn = tmp_path / "well.svg"
    assert main(["graph", network, "--marginals", "--evidence", "strip", "-o", str(drawn)]) == 0
    assert drawn.read_bytes() == (DOCS / "images" / "well.svg").read_bytes()


README = (PROJECT / "README.md").read_text(encoding="utf-8")
DESCRIBED = runpy.run_path(str(PROJECT / "hatch_build.py"))["described"]
RELATIVE = re.compile(r"\]\((?!https?:|#)")


def test_a_package_index_is_shown_no_link_that_leads_nowhere() -> None:
    shown = DESCRIBED(README, None)
    assert RELATIVE.search(README)
    assert not RELATIVE.search(shown)
    assert "](" not in shown
    assert "the tutorial takes twenty minutes" in shown


def test_a_source_with_an_address_makes_links_absolute() -> None:
    shown = DESCRIBED(README, "https://example.org/credalog")
    assert not RELATIVE.search(shown)
    assert "[tutorial](https://example.org/credalog/blob/HEAD/docs/start/tutorial.md)" in shown
    assert "](https://example.org/credalog/raw/HEAD/docs/images/well.svg)" in shown


def test_the_reference_of_python_has_every_exported_name() -> None:
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\.\. auto(?:class|function|exception):: (\w+)$", page, re.MULTILINE))
    assert documented == set(credalog.__all__) - {"__version__"}


def test_the_site_s_pages_are_all_in_its_contents() -> None:
    listed = set()
    for page in PAGES:
        for block in re.findall(
            r"^```\{toctree\}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
        ):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            names = [re.sub(r".*<(.*)>", r"\1", entry) for entry in entries]
            listed |= {(page.parent / f"{name}.md").resolve() for name in names}
    assert {page for page in PAGES if page.name != "index.md" or page.parent != DOCS} <= listed


def _broken_links(pages: list[Path]) -> Iterator[str]:
    """Yield what leads to no file of the site, or to no place in it."""
    texts = {page.resolve(): page.read_text(encoding="utf-8") for page in pages}
    places = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    for page, text in texts.items():
        for link in set(re.findall(r'(?:href|src)="(?!\w+:)([^"?]*)', text)):
            name, _, place = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (place and place not in places.get(target, ())):
                yield f"{page.name}: {link}"


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("myst_nb") is None, reason="needs the extra credalog[docs]")
def test_the_site_builds_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    """Notebooks are not run here: they have tests of their own."""
    words = ["-m", "sphinx", "-W", "--keep-going", "-q", "-D", "nb_execution_mode=off", "-c", "docs"]
    built = [sys.executable, *words, "-d", str(tmp_path / "trees"), ".", str(tmp_path / "site")]
    result = subprocess.run(built, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        assert not LOADED.search(page.read_bytes()), page
    assert not list(_broken_links(pages))
    for style in (tmp_path / "site").rglob("*.css"):
        assert not re.search(rb"(?:@import|url\()\s*[\"']?(?:https?:)?//", style.read_bytes()), style
    commands = (tmp_path / "site" / "docs" / "reference" / "command-line.html").read_text(encoding="utf-8")
    assert "credalog verify" in commands
    assert "--certificate" in commands


NOTEBOOKS = sorted((PROJECT / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 6


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_kept_without_outputs(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("nbclient") is None, reason="needs the extra credalog[docs]")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    execute = "from nbclient.cli import NbClientApp; NbClientApp.launch_instance()"
    words = ["-c", execute, "--output", str(tmp_path / notebook.name), str(notebook)]
    result = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    cells = json.loads((tmp_path / notebook.name).read_text(encoding="utf-8"))["cells"]
    assert any(cell.get("outputs") for cell in cells)
