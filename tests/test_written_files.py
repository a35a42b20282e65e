"""Where commands write: files, links, pipes, and streams that know few characters."""

import io
import json
import os
from pathlib import Path
from threading import Thread

import pytest

from credalog.cli import main

TEXT = "0.2 <= P(é) <= 0.3\nP(雨 | é) = 0.9\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a file with names that few encodings know."""
    path = tmp_path / "model.lcn"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_pipe_is_written_to_and_stays_a_pipe(model: Path, tmp_path: Path):
    pipe, heard = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: heard.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    assert main(["ground", str(model), "-o", str(pipe)]) == 0
    assert pipe.is_fifo()
    reader.join(10)
    assert heard == [TEXT]


def test_what_a_link_leads_to_is_written_and_the_link_stays(model: Path, tmp_path: Path):
    kept = tmp_path / "kept.lcn"
    kept.write_text("old")
    (tmp_path / "link.lcn").symlink_to(kept)
    assert main(["ground", str(model), "-o", str(tmp_path / "link.lcn")]) == 0
    assert (tmp_path / "link.lcn").is_symlink()
    assert kept.read_text(encoding="utf-8") == TEXT


def test_a_file_that_is_written_anew_stays_as_private_as_it_was(model: Path, tmp_path: Path):
    private = tmp_path / "private.lcn"
    private.touch(mode=0o600)
    assert main(["ground", str(model), "-o", str(private)]) == 0
    assert private.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("words", [["ground"], ["marginals", "--json"], ["marginals"], ["graph", "--svg"]])
def test_what_is_sent_to_a_file_is_utf_8_whatever_the_machine_speaks(
    model: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, words: list[str]
):
    command, *options = words
    sent = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(sent, encoding=encoding))
    assert main([command, str(model), *options]) == 0
    written = sent.getvalue().decode("utf-8")
    assert "雨" in written
    if "--json" in options:
        assert {one["query"] for one in json.loads(written)} == {"P(é)", "P(雨)"}


def test_a_terminal_is_shown_codes_for_the_characters_it_lacks(model: Path, monkeypatch: pytest.MonkeyPatch):
    shown = io.BytesIO()
    terminal = io.TextIOWrapper(shown, encoding="ascii")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", terminal)
    assert main(["ground", str(model)]) == 0
    assert r"P(\u96e8 | \xe9) = 0.9" in shown.getvalue().decode("ascii")


def test_a_batch_does_not_wait_for_a_pipe_to_hold_what_it_could_continue(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "questions.txt").write_text("P(é)\n", encoding="utf-8")
    assert main(["batch", str(model), str(tmp_path / "questions.txt"), "-o", str(tmp_path / "pipe")]) == 2
    assert "leave -o out" in capsys.readouterr().err
