"""What is released: the check of a wheel finds what is wrong with it; the workflow stores no secret."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest
from tools.wheel import checked, data_files

from conftest import PROJECT

ENTRIES = "credalog = credalog.cli:main\ncredalog = credalog.show.lexer:LcnLexer\n"


def wheel(folder: Path, names: set[str], entries: str = ENTRIES) -> Path:
    path = folder / "credalog-0.2.0-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
        archive.writestr("credalog-0.2.0.dist-info/entry_points.txt", entries)
    return path


def test_a_whole_wheel_passes(tmp_path: Path):
    (line,) = checked(wheel(tmp_path, data_files()), "v0.2.0")
    assert f"all {len(data_files())} files of data" in line


def test_the_files_of_data_are_known():
    assert {"credalog/text/grammar.lark", "credalog/text/mistakes.toml", "credalog/py.typed"} <= data_files()
    assert not [name for name in data_files() if "__pycache__" in name]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(data_files()))
def test_a_wheel_without_a_file_of_data_is_refused(name: str, tmp_path: Path):
    with pytest.raises(SystemExit, match="lacks"):
        list(checked(wheel(tmp_path, data_files() - {name})))


def test_a_wheel_with_what_is_generated_is_refused(tmp_path: Path):
    with pytest.raises(SystemExit, match="generated"):
        list(checked(wheel(tmp_path, {*data_files(), "credalog/__pycache__/a.pyc"})))


def test_a_wheel_without_its_command_is_refused(tmp_path: Path):
    with pytest.raises(SystemExit, match="LcnLexer"):
        list(checked(wheel(tmp_path, data_files(), "credalog = credalog.cli:main\n")))


def test_another_tag_is_refused(tmp_path: Path):
    with pytest.raises(SystemExit, match="the tag is"):
        list(checked(wheel(tmp_path, data_files()), "v9.9.9"))


def test_the_workflow_publishes_only_what_was_tried_and_only_if_it_is_switched_on():
    text = (PROJECT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    publish = text[text.index("\n  publish:") :]
    assert "needs: [build, install]" in publish
    assert "vars.PUBLISH == 'yes'" in publish
    assert "id-token: write" in publish
    assert "id-token" not in text[: text.index("\n  publish:")]
    assert "secrets." not in text
    assert "password" not in text
