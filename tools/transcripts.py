"""Replay what the pages of the documentation show at a prompt.

Input: a page in Markdown. Its blocks that begin with `# name.lcn` or `# name.txt` are files; the lines
after `$ ` in its `console` blocks are commands, which run in order, in one folder with these files and the
examples.
Output: what each command writes, beside what the page shows. `python -m tools.transcripts --write PAGE …`
puts what they write into the pages, and the pictures that they draw into docs/images.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
from subprocess import PIPE, STDOUT
from tempfile import TemporaryDirectory

PROJECT = Path(__file__).parent.parent
IMAGES = PROJECT / "docs" / "images"
FENCE = re.compile(r"^```(?P<language>[\w-]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^\$ (?P<words>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
FILE = re.compile(r"\A# (?P<name>[\w-]+\.(?:lcn|txt))\n")
ELSEWHERE = ("pip", "make", "git", "source")
"""Commands that set up an environment: shown, not run."""


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a page: its words, what the page shows below it, and where that stands in the page."""

    words: str
    shown: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command wrote, and the exit code it ended with, unless the page goes on to ask for the code."""

    step: Step
    written: str
    code: int


def blocks(text: str, language: str) -> list[str]:
    """Return the blocks of a page in one language."""
    return [fence["body"] for fence in FENCE.finditer(text) if fence["language"] == language]


def steps(text: str) -> list[Step]:
    """Return the commands of a page, in order."""
    found = []
    for fence in FENCE.finditer(text):
        if fence["language"] == "console":
            offset = fence.start("body")
            for one in PROMPT.finditer(fence["body"]):
                start, end = offset + one.start("output"), offset + one.end("output")
                found.append(Step(one["words"], one["output"], start, end))
    return found


def timeless(text: str) -> list[str]:
    """Return the lines of an output without what differs from run to run.

    That is seconds, gaps near 0, and how much was proved of the price of a repair in the time there was.
    """
    text = re.sub(r"(No repair costs less than) [\d.]+\d", r"\1 PRICE", text)
    text = re.sub(r" +\d+\.\d\d$| \d+\.\d\d s\.", " SECONDS", text, flags=re.MULTILINE)
    return [re.sub(r" +\d+e[-+]\d+ ", " GAP ", line).rstrip() for line in text.strip().splitlines()]


def replay(text: str, folder: Path) -> Iterator[Outcome]:
    """Run the commands of a page in a folder, one after the other."""
    copytree(PROJECT / "examples", folder / "examples", ignore=ignore_patterns("__pycache__", "notebooks"))
    for block in blocks(text, "lcn") + blocks(text, "text"):
        if name := FILE.match(block):
            (folder / name["name"]).write_text(block, encoding="utf-8")
    code = 0
    for step in steps(text):
        if step.words == "echo $?":
            yield Outcome(step, f"{code}\n", 0)
        elif is_possible(step.words):
            written, code = _run(step.words, folder)
            yield Outcome(step, written, code)


def is_possible(words: str) -> bool:
    """Tell whether a command can be run here: not if it needs a library that nobody installed."""
    wanted = re.search(r"/with_(\w+)\.py", words)
    is_missing = wanted is not None and find_spec(wanted[1]) is None
    return words.partition(" ")[0] not in ELSEWHERE and not is_missing


def _run(words: str, folder: Path) -> tuple[str, int]:
    """Run one command as at a terminal, where output and complaints appear together."""
    from credalog.cli import main

    program, *arguments = shlex.split(words)
    if program == "python":
        ended = subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            stdout=PIPE,
            stderr=STDOUT,
            encoding="utf-8",
            check=False,
        )
        return ended.stdout, ended.returncode
    if program != "credalog":
        raise ValueError(f"{program} is no command that a page may show")
    screen = StringIO()
    with chdir(folder), redirect_stdout(screen), redirect_stderr(screen):
        try:
            code = main(arguments)
        except SystemExit as end:  # what argparse refuses, and --help
            code = int(end.code or 0)
    return screen.getvalue(), code


def refreshed(text: str, images: Path | None = None) -> str:
    """Return a page with what its commands write now, where that differs by more than seconds.

    The pictures that they draw are put into a folder, if one is named.
    """
    with TemporaryDirectory() as folder:
        outcomes = list(replay(text, Path(folder)))
        if images:
            for picture in Path(folder).glob("*.svg"):
                copy(picture, images / picture.name)
    for outcome in reversed(outcomes):
        step = outcome.step
        if timeless(outcome.written) != timeless(step.shown):
            written = "".join(f"{line.rstrip()}\n" for line in outcome.written.strip("\n").splitlines())
            text = text[: step.start] + written + text[step.end :]
    return text


def main(arguments: list[str]) -> None:
    """Show, or with --write put into the pages, what their commands write."""
    for name in arguments:
        if name != "--write":
            page = Path(name)
            is_kept = "--write" in arguments
            text = refreshed(page.read_text(encoding="utf-8"), IMAGES if is_kept else None)
            if is_kept:
                page.write_text(text, encoding="utf-8")
            else:
                print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
