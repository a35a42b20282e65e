"""Proofs are cited by numbers that exist, and modules open with their input and output in plain words."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from conftest import PROJECT

MODULES = sorted((PROJECT / "src").rglob("*.py"))
PROOFS = set(re.findall(r"^## (\d+)\. ", (PROJECT / "docs" / "proofs.md").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize(
    "path", MODULES, ids=lambda path: str(path.relative_to(PROJECT / "src" / "credalog"))
)
def test_a_module_cites_proofs_that_exist_and_speaks_of_input_and_output(path: Path) -> None:
    text = path.read_text("utf-8")
    cited = re.findall(r"\bproofs? (\d+)(?: and (\d+))?", text)
    assert {number for pair in cited for number in pair if number} <= PROOFS
    assert not re.search(r"\b(Enters|Leaves):|this room", ast.get_docstring(ast.parse(text)) or "")


MAY_SAY_CHECKED = ("numbers/interval.py", "trusted/", "methods/registry.py")
"""The endpoints themselves, the trusted base, and the table of what each method may claim."""


@pytest.mark.slow
def test_only_the_trusted_base_says_that_a_bound_is_checked() -> None:
    source = Path(__file__).parents[1] / "src" / "credalog"
    for path in source.rglob("*.py"):
        name = path.relative_to(source).as_posix()
        named = {n.attr for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute)}
        assert "CHECKED" not in named or name.startswith(MAY_SAY_CHECKED), name


def test_every_file_that_the_architecture_names_is_there() -> None:
    page = (PROJECT / "ARCHITECTURE.md").read_text("utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.(?:py|toml|lark|md))?)`", page))
    assert {"questions/map.py", "methods/vertices/mini_buckets.py", "trusted/"} <= named
    places = PROJECT, PROJECT / "src" / "credalog"
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


PACKAGES = {path.name for path in (PROJECT / "src" / "credalog").iterdir() if (path / "__init__.py").exists()}


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "docs/internals.md"])
def test_every_module_that_a_page_names_is_there(page: str) -> None:
    text = (PROJECT / page).read_text("utf-8")
    source = PROJECT / "src" / "credalog"
    paths = set(re.findall(r"`([a-z_]+(?:\.[a-z_]+)+|[a-z_]+(?:/[a-z_]+)+)`", text))
    named = {path.replace(".", "/") for path in paths if re.split(r"[./]", path)[0] in PACKAGES}
    assert len(named) > 5
    missing = {
        name for name in named if not (source / name).is_dir() and not (source / f"{name}.py").exists()
    }
    assert missing <= {"network/variables"}, "these are no modules, but what a network has"


def test_what_the_architecture_lists_of_the_methods_is_all_there_is() -> None:
    text = (PROJECT / "ARCHITECTURE.md").read_text("utf-8")
    table = re.search(r"^\| In `methods/` .*?\n\n", text, re.MULTILINE | re.DOTALL)
    assert table is not None
    first = [row.split("|")[1] for row in table[0].splitlines()[2:] if row]
    listed = {name for cell in first for name in re.findall(r"`([a-z_]+)`", cell)}
    methods = PROJECT / "src" / "credalog" / "methods"
    packages = {path.name for path in methods.iterdir() if (path / "__init__.py").exists()}
    there = packages | {path.stem for path in methods.glob("*.py")}
    assert listed == there - {"__init__"}
