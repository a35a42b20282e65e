"""The words of a file that others wrote, one at a time, each with its place.

Input: a text, and a regular expression for its tokens. Output: words, counts and exact numbers, or an error
that says what was expected where.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache

from credalog.errors import LanguageError, Place
from credalog.network.sentences import exact

LONGEST_COUNT = 12
"""A longer number counts nothing that a file could hold."""

_exact = lru_cache(maxsize=100_000)(exact)
"""Tables repeat few numbers many times."""


def number(word: str, place: Place) -> Fraction:
    """Return the exact number that a file prints."""
    try:
        return _exact(word)
    except LanguageError as error:
        raise LanguageError(error.message, place=place, advice=error.advice) from None


class Tokens:
    """Look at the next token, take it, and say where it stands.

    The groups of the form name the kinds of tokens: a `word`, a `mark`, what to `skip`, and
    what is `stray`.
    """

    def __init__(self, text: str, form: re.Pattern[str], file: str = "") -> None:
        self._text, self._file = text, file
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._found = [found for found in form.finditer(text) if found.lastgroup != "skip"]
        self._next = 0
        if stray := next((found for found in self._found if found.lastgroup == "stray"), None):
            raise LanguageError(f"unexpected {stray[0]!r}", place=self._place(stray.start()))

    def _place(self, start: int) -> Place:
        line = bisect_right(self._starts, start)
        begin = self._starts[line - 1]
        end = self._starts[line] if line < len(self._starts) else len(self._text)
        return Place(line, start - begin + 1, self._text[begin:end].rstrip(), self._file)

    @property
    def here(self) -> Place:
        """Return the place of the next token."""
        return self._place(len(self._text.rstrip()) if self.done else self._found[self._next].start())

    @property
    def last(self) -> Place:
        """Return the place of the token taken last."""
        return self._place(self._found[self._next - 1].start() if self._next else 0)

    @property
    def done(self) -> bool:
        """Tell whether all tokens are taken."""
        return self._next >= len(self._found)

    @property
    def _sees_word(self) -> bool:
        return not self.done and self._found[self._next].lastgroup == "word"

    def sees(self, text: str) -> bool:
        """Tell whether the next token is this one."""
        return not self.done and self._found[self._next][0] == text

    def accept(self, text: str) -> bool:
        """Take this token if it is next."""
        seen = self.sees(text)
        self._next += seen
        return seen

    def expect(self, text: str) -> None:
        """Take exactly this token."""
        if not self.accept(text):
            raise self.expected(repr(text))

    def word(self, what: str) -> str:
        """Take the next word, which should be `what`; quotes around it are none of it."""
        if not self._sees_word:
            raise self.expected(what)
        self._next += 1
        return self._found[self._next - 1][0].strip('"')

    def words(self, what: str) -> list[str]:
        """Take words, with or without commas between them, up to the next other mark."""
        found = [self.word(what)]
        while self.accept(",") or self._sees_word:
            found.append(self.word(what))
        return found

    def count(self, what: str, *, least: int = 0) -> int:
        """Take the next word as a whole number."""
        word = self.word(what)
        if not word.isdecimal() or len(word) > LONGEST_COUNT or int(word) < least:
            raise LanguageError(f"expected {what}, found {word!r}", place=self.last)
        return int(word)

    def numbers(self, count: int, what: str) -> list[Fraction]:
        """Take so many words as exact decimals."""
        return [number(self.word(what), self.last) for _ in range(count)]

    def skip_through(self, mark: str) -> None:
        """Take everything up to a mark, and the mark."""
        while not self.accept(mark):
            if self.done:
                raise self.expected(repr(mark))
            self._next += 1

    def end(self, after: str) -> None:
        """Check that nothing is left."""
        if not self.done:
            found = self._found[self._next][0]
            raise LanguageError(f"unexpected {found!r} after {after}", place=self.here)

    def expected(self, what: str) -> LanguageError:
        """Return the complaint that something else stands where `what` should be."""
        if self.done:
            return LanguageError(
                f"the file ends where {what} should be",
                place=self.here,
                advice="Compare the counts in the file with the numbers that follow them.",
            )
        return LanguageError(f"expected {what}, found {self._found[self._next][0]!r}", place=self.here)
