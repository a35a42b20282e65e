"""The reference pages, from the code: a directive for the command line, and docstrings as Sphinx wants them.

Input: the commands of `credalog.cli` and the docstrings of the package. Output: Markdown for
`{command-line}`, and reStructuredText for autodoc.
"""

from __future__ import annotations

import re
from argparse import Action, ArgumentParser
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from credalog.cli.app import CODES, COMMANDS
from credalog.cli.command import Command

if TYPE_CHECKING:
    from sphinx.application import Sphinx

CODE = re.compile(r"(``?)(.+?)\1", re.DOTALL)


class CommandLine(SphinxDirective):
    """Write a section for each command: what it answers, how it is called, its arguments."""

    def run(self) -> list[nodes.Node]:
        """Return the sections as nodes of the page."""
        text = "\n".join(line for command in COMMANDS for line in section(command))
        return self.parse_text_to_nodes(f"{text}\n\n{CODES.capitalize()}.\n", allow_section_headings=True)


def section(command: Command) -> Iterator[str]:
    """Yield the lines of one command's section, in Markdown."""
    parser = ArgumentParser(prog=f"credalog {command.name}", add_help=False)
    command.add_to(parser)
    yield f"## credalog {command.name}\n"
    yield f"{sentence(command.summary)}\n"
    yield f"```text\n{parser.format_usage().removeprefix('usage: ').strip()}\n```\n"
    yield "| argument | meaning |\n|---|---|"
    for action in parser._actions:
        yield f"| {_written(action)} | {_cell(action.help or '')} |"
    yield ""


def sentence(text: str) -> str:
    """Return a summary of argparse as a sentence."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")


def _written(action: Action) -> str:
    """Return an argument as it is typed, choices spelled out."""
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
    value = "" if action.nargs == 0 else str(action.metavar or choices or action.dest.upper())
    words = [f"{flag} {value}".strip() for flag in action.option_strings] or [value]
    return "<br>".join(f"`{_cell(word)}`" for word in words)


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("%%", "%")


def restructured(text: str) -> str:
    """Return a docstring, which is plain text with `code`, as reStructuredText."""
    parts = CODE.split(text)
    plain = [re.sub(r"([*|\\]|_\b)", r"\\\1", part) for part in parts[::3]]
    code = [f"``{part}``" for part in parts[2::3]]
    return "".join(one for pair in zip(plain, [*code, ""], strict=True) for one in pair)


def rewrite_docstring(
    _app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """Rewrite the lines of a docstring in place, for autodoc."""
    lines[:] = restructured("\n".join(lines)).split("\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx about both."""
    app.add_directive("command-line", CommandLine)
    app.connect("autodoc-process-docstring", rewrite_docstring)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
