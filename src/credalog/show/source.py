"""The text of a model as HTML: coloured, and cut where it is long.

Input: text of the language. Output: HTML with its colours inline, so that it survives being mailed.
"""

from __future__ import annotations

LINES = 60
"""So many lines of a text are shown."""


def as_source(text: str, *, most: int = LINES) -> str:
    """Return a text in colours; a long one without its end."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter

    from credalog.show.lexer import LcnLexer

    lines = text.rstrip("\n").split("\n")
    more = len(lines) - most
    formatter = HtmlFormatter(noclasses=True, nobackground=True)
    shown = highlight("\n".join(lines[:most]), LcnLexer(), formatter)
    return f"{shown}<p>… and {more:,} more lines.</p>" if more > 0 else shown
