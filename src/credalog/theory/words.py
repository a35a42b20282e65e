"""Names as the language writes them, and mistakes that point at a word.

Input: the names of elements and of what is declared. Output: their spelling, in quotes where they need it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from credalog.errors import CredalogError, LanguageError, Place

WORDS: dict[str, tuple[str, ...]] = {
    "declaration": (
        "domain", "predicate", "proposition", "variable", "relation", "function", "number", "let", "table",
    ),
    "statement": ("query", "evidence", "independent", "include"),
    "quantifier": ("forall", "exists", "in", "where", "distinct"),
    "connective": ("and", "or", "xor", "nand", "not", "implies", "iff"),
    "modifier": ("symmetric", "from", "sql", "column", "columns", "tau", "learned", "of", "rest"),
    "truth": ("true", "false", "True", "False"),
    "probability": ("P",),
}  # fmt: skip
"""The words of the language by what they do; editors colour them so."""

RESERVED = frozenset(word for words in WORDS.values() for word in words)
"""The words of the language; as names they are written in quotes."""

PLAIN = re.compile(r"[^\W\d]\w*'*")
_INTEGER = re.compile(r"-?\d+")


@lru_cache(maxsize=100_000)
def written(element: str) -> str:
    """Write a constant as the language does: in quotes unless it is an identifier or an integer."""
    return element if _INTEGER.fullmatch(element) else named(element)


def named(name: str) -> str:
    """Write what is declared or random as the language does: in quotes unless it is an identifier."""
    return name if PLAIN.fullmatch(name) and name not in RESERVED else quoted(name)


def quoted(name: str) -> str:
    """Write a name in quotes."""
    return '"' + re.sub(r'(["\\])', r"\\\1", name).replace("\n", "\\n") + '"'


def unquoted(word: str) -> str:
    """Return the name that was written so."""
    if not word.startswith('"'):
        return word
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], word[1:-1])


class Misstatement(LanguageError):
    """Something wrong in a statement, before it is known where the statement stands.

    `lexeme` is the word to point at, and `kind` the error that the user will see.
    """

    def __init__(
        self,
        message: str,
        *,
        lexeme: str = "",
        advice: str = "",
        kind: type[CredalogError] = LanguageError,
        row: tuple[str, ...] = (),
        cell: int = 0,
    ) -> None:
        super().__init__(message, advice=advice)
        self.lexeme = lexeme
        self.kind = kind
        self.row = row
        """The fact or entry at fault, and which of its cells."""
        self.cell = cell

    def at(self, place: Place | None) -> CredalogError:
        """Return the error that the user sees."""
        return self.kind(self.message, place=place, advice=self.advice)


def place_of(lexeme: str, text: str, *, line: int = 1, file: str = "", inside: str = "") -> Place:
    """Point at the first occurrence of a word in a text that begins on this line, or at its beginning."""
    edge = r"\w" if lexeme[:1].isalnum() else r"[<>=!]"
    found = re.search(rf"(?<!{edge}){re.escape(lexeme)}(?!{edge})", text) if lexeme else None
    offset = found.start() if found else len(text) - len(text.lstrip())
    return Place.within(text, offset, line=line, file=file, inside=inside)
