"""From a parser's complaint to a sentence that helps.

Enters: a statement that the grammar refused, and where. Leaves: a `LanguageError` with the place, what
was found there, and advice where the mistake is one that people make.
"""

from __future__ import annotations

from lark.exceptions import UnexpectedInput

from credalog.errors import LanguageError
from credalog.language.statements import Statement

__all__ = ["explained"]


def explained(error: UnexpectedInput, statement: Statement, start: str) -> LanguageError:
    """Turn the parser's error into one for people."""
    return LanguageError(
        "The statement is not understood here.", place=statement.place(max(error.pos_in_stream or 0, 0))
    )
