"""Colour the language: a lexer for Pygments, and with it for Sphinx, Jupyter and many others.

Input: text of the .lcn language. Output: its tokens. The words are those of `theory.patterns`, from which the
grammar for editors is made, too; `SYMBOLS` says what the others look like.
"""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
    _TokenType,
)

from credalog.theory.patterns import WORDS

__all__ = ["LABEL", "LINES", "SYMBOLS", "LcnLexer", "as_source", "words_of"]

NAME = r"[^\W\d]\w*'*"

LABEL = rf"^([ \t]*)({NAME}(?:\.\w+)*(?:\[[^\]\n]*\])?|\"(?:\\.|[^\"\\\n])*\")([ \t]*)(:)"
"""The label of a sentence, at the beginning of a line."""

SYMBOLS: dict[str, str] = {
    "comment": r"#[^\n]*",
    "string": r"\"(?:\\.|[^\"\\\n])*\"",
    "random": r"\b[PE](?=\s*\()",
    "number": r"(?:\d+\.(?!\.)\d*|\.\d+)(?:[eE][+-]?\d+)?%?|\d+(?:[eE][+-]?\d+)?%?",
    "logic": r"<->|->|[↔⇔→⇒∨⊕∧¬∀∃∈⊥&^~|]|!(?!=)",
    "comparison": r"<=|>=|!=|==|=<|=>|[≤≥⩽⩾≠<>=]",
    "arithmetic": r"±|\+-|\+/-|[-+*/−]",
    "punctuation": r"\.\.|[()\[\]{},;:?]",
    "predicate": rf"{NAME}(?=\()",
    "name": NAME,
}
"""What tokens look like that are no words of the language, in the order in which they are tried."""


def words_of(group: str) -> str:
    """Return a regular expression for the words of a group."""
    return rf"\b(?:{'|'.join(WORDS[group])})\b(?!')"


_KINDS: dict[str, _TokenType] = {
    "declaration": Keyword.Declaration,
    "statement": Keyword,
    "quantifier": Keyword,
    "connective": Operator.Word,
    "modifier": Keyword.Pseudo,
    "truth": Keyword.Constant,
    "comment": Comment.Single,
    "string": String,
    "random": Name.Builtin,
    "number": Number,
    "logic": Operator,
    "comparison": Operator,
    "arithmetic": Operator,
    "punctuation": Punctuation,
    "predicate": Name.Function,
    "name": Name,
}


class LcnLexer(RegexLexer):
    """Logical Credal Networks."""

    name = "LCN"
    aliases: ClassVar[list[str]] = ["lcn", "credalog"]
    filenames: ClassVar[list[str]] = ["*.lcn"]
    mimetypes: ClassVar[list[str]] = ["text/x-lcn"]

    tokens: ClassVar[dict[str, list[tuple[str, object]]]] = {
        "root": [
            (r"\s+", Whitespace),
            (SYMBOLS["comment"], Comment.Single),
            (LABEL, bygroups(Whitespace, Name.Label, Whitespace, Punctuation)),  # type: ignore[no-untyped-call]
            (SYMBOLS["random"], Name.Builtin),
            *((words_of(group), _KINDS[group]) for group in WORDS if group in _KINDS),
            *((pattern, _KINDS[kind]) for kind, pattern in SYMBOLS.items()),
        ]
    }


# ---- HTML -------------------------------------------------------------------------------------------------
# The text of a model as HTML: coloured, and cut where it is long.
# Input: text of the language. Output: HTML with its colours inline, so that it survives being mailed.

LINES = 60
"""So many lines of a text are shown."""


def as_source(text: str, *, most: int = LINES) -> str:
    """Return a text in colours; a long one without its end."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter

    lines = text.rstrip("\n").split("\n")
    more = len(lines) - most
    formatter = HtmlFormatter(noclasses=True, nobackground=True)
    shown = highlight("\n".join(lines[:most]), LcnLexer(), formatter)
    return f"{shown}<p>… and {more:,} more lines.</p>" if more > 0 else shown
