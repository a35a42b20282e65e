"""Cut a text into statements.

Input: the text of a file. Output: `Statement`s, one per line, a line with an open bracket continuing on
the next; comments and empty lines are gone, and every character keeps its line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from credalog.errors import Place
from credalog.theory import place_of

__all__ = ["Statement", "statements"]

_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|#.*')
_BRACKET = re.compile(r'"(?:\\.|[^"\\\n])*"|[(){}]')


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its text, and the file and line where it begins."""

    text: str
    line: int
    file: str = ""

    def place(self, offset: int = 0) -> Place:
        """Point at the character with this offset in the statement's text."""
        return Place.within(self.text, offset, line=self.line, file=self.file)

    def place_of(self, lexeme: str) -> Place:
        """Point at the first occurrence of a word, or else at the beginning."""
        return place_of(lexeme, self.text, line=self.line, file=self.file)


def statements(text: str, file: str = "") -> Iterator[Statement]:
    """Yield the statements of a text in order."""
    lines = enumerate(text.split("\n"), start=1)
    for number, line in lines:
        written = _without_comment(line)
        if not written.strip():
            continue
        depth = _depth(written)
        parts = [written]
        while depth > 0 and (following := next(lines, None)) is not None:
            parts.append(_without_comment(following[1]))
            depth += _depth(parts[-1])
        yield Statement("\n".join(parts).rstrip(), number, file)


def _without_comment(line: str) -> str:
    # Most lines have no comment, and a quoted name may contain the mark.
    return _COMMENT.sub(lambda found: found[1] or "", line) if "#" in line else line


def _depth(line: str) -> int:
    if line.count("(") == line.count(")") and "{" not in line and "}" not in line:
        return 0
    brackets = [found for found in _BRACKET.findall(line) if len(found) == 1]
    return sum(1 if bracket in "({" else -1 for bracket in brackets)
