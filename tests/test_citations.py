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
    named = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.(?:py|toml|lark))?)`", page))
    assert {"questions/map.py", "methods/vertices/mini_buckets.py", "trusted/"} <= named
    places = PROJECT, PROJECT / "src" / "credalog"
    assert [name for name in named if not any((place / name).exists() for place in places)] == []
