"""Colours for blocks that name no language: networks, and what is typed at a prompt.

Input: the Markdown of a page. Output: the same, each bare block named `console` where it begins with a prompt
and `lcn` where it reads as a network. On GitHub and in the tests the pages stay as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import credalog
from credalog.show.lexer import LcnLexer

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FENCE = re.compile(r"^```(?P<language>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def language(body: str) -> str:
    """Return the language of a block: console, lcn, or plain text."""
    if body.startswith("$ "):
        return "console"
    try:
        return "lcn" if credalog.parse(body).theory else "text"
    except (credalog.CredalogError, OSError):
        return "text"


def name_languages(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Name the language of each bare block of a page, in place."""
    source[0] = FENCE.sub(_named, source[0])


def _named(block: re.Match[str]) -> str:
    return block[0] if block["language"] else f"```{language(block['body'])}\n{block['body']}```"


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx about the lexer and the blocks."""
    app.add_lexer("lcn", LcnLexer)
    app.connect("source-read", name_languages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
