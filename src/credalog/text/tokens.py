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

SHORT = 20
"""A number with so few characters is none that is refused for its size."""

LONGEST_COUNT = 12
"""A longer number counts nothing that a file could hold."""


_PLAIN = re.compile(r"[\w.+-]+(?:\s*,\s*[\w.+-]+|\s+[\w.+-]+)*\s*")
"""Words and numbers with commas or blanks between them, and nothing else."""


def number(word: str, place: Place) -> Fraction:
    """Return the exact number that a file prints."""
    try:
        return exact(word)
    except LanguageError as error:
        raise LanguageError(error.message, place=place, advice=error.advice) from None


def ratio(word: str, place: Place) -> tuple[int, int]:
    """Return the exact number that a file prints, as two whole numbers."""
    try:
        return _ratio(word)
    except LanguageError as error:
        raise LanguageError(error.message, place=place, advice=error.advice) from None


@lru_cache(maxsize=100_000)
def _ratio(word: str) -> tuple[int, int]:
    """Read a number; tables repeat few of them many times, and most are plain decimals."""
    whole, _, part = word.partition(".")
    if len(word) <= SHORT and part.isascii() and part.isdecimal() and whole.isascii() and whole.isdecimal():
        return int(whole + part), 10 ** len(part)
    return exact(word).as_integer_ratio()


class Tokens:
    """Look at the next token, take it, and say where it stands.

    The groups of the form name the kinds of tokens: a `word`, a `mark`, what to `skip`, and
    what is `stray`.
    """

    def __init__(self, text: str, form: re.Pattern[str], file: str = "") -> None:
        self._text, self._form, self._file = text, form, file
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._taken = 0
        self._next: re.Match[str] | None = None
        self._line = (0, "")
        """The line of the last place and its text, not copied again for each word of a long table."""
        self._look(0)

    def _look(self, start: int) -> None:
        """Find the next token at a place or behind it."""
        found = self._form.search(self._text, start)
        while found is not None and found.lastgroup == "skip":
            found = self._form.search(self._text, found.end())
        if found is not None and found.lastgroup == "stray":
            raise LanguageError(f"unexpected {found[0]!r}", place=self._place(found.start()))
        self._next = found

    def _take(self) -> str:
        """Take the next token, which there is."""
        assert self._next is not None
        taken, self._taken = self._next[0], self._next.start()
        self._look(self._next.end())
        return taken

    def _place(self, start: int) -> Place:
        line = bisect_right(self._starts, start)
        begin = self._starts[line - 1]
        if line != self._line[0]:
            end = self._starts[line] if line < len(self._starts) else len(self._text)
            self._line = (line, self._text[begin:end].rstrip())
        return Place(line, start - begin + 1, self._line[1], self._file)

    @property
    def here(self) -> Place:
        """Return the place of the next token."""
        return self._place(len(self._text.rstrip()) if self._next is None else self._next.start())

    @property
    def last(self) -> Place:
        """Return the place of the token taken last."""
        return self._place(self._taken)

    @property
    def done(self) -> bool:
        """Tell whether all tokens are taken."""
        return self._next is None

    @property
    def _sees_word(self) -> bool:
        return self._next is not None and self._next.lastgroup == "word"

    def sees(self, text: str) -> bool:
        """Tell whether the next token is this one."""
        return self._next is not None and self._next[0] == text

    def accept(self, text: str) -> bool:
        """Take this token if it is next."""
        seen = self.sees(text)
        if seen:
            self._take()
        return seen

    def expect(self, text: str) -> None:
        """Take exactly this token."""
        if not self.accept(text):
            raise self.expected(repr(text))

    def word(self, what: str) -> str:
        """Take the next word, which should be `what`; quotes around it are none of it."""
        if not self._sees_word:
            raise self.expected(what)
        return self._take().strip('"')

    def words(self, what: str) -> list[str]:
        """Take words, with or without commas between them, up to the next other mark."""
        found = [self.word(what)]
        while self.accept(",") or self._sees_word:
            found.append(self.word(what))
        return found

    def listed(self, what: str, *, end: str) -> list[str]:
        """Take words up to a mark, and the mark: plain ones all at once, whatever else one by one."""
        start = len(self._text) if self._next is None else self._next.start()
        plain = _PLAIN.match(self._text, start)
        if plain is None or not self._text.startswith(end, plain.end()):
            found = self.words(what)
            self.expect(end)
            return found
        self._taken = plain.end()
        self._look(plain.end() + len(end))
        return plain[0].replace(",", " ").split()

    def count(self, what: str, *, least: int = 0) -> int:
        """Take the next word as a whole number."""
        word = self.word(what)
        if not word.isdecimal() or len(word) > LONGEST_COUNT or int(word) < least:
            raise LanguageError(f"expected {what}, found {word!r}", place=self.last)
        return int(word)

    def numbers(self, count: int, what: str) -> list[Fraction]:
        """Take so many words as exact decimals."""
        return [number(self.word(what), self.last) for _ in range(count)]

    def ratios(self, count: int, what: str) -> list[tuple[int, int]]:
        """Take so many words as exact decimals, each as two whole numbers."""
        return [ratio(self.word(what), self.last) for _ in range(count)]

    def skip_through(self, mark: str) -> None:
        """Take everything up to a mark, and the mark."""
        while not self.accept(mark):
            if self.done:
                raise self.expected(repr(mark))
            self._take()

    def end(self, after: str) -> None:
        """Check that nothing is left."""
        if not self.done:
            raise LanguageError(f"unexpected {self._take()!r} after {after}", place=self.last)

    def expected(self, what: str) -> LanguageError:
        """Return the complaint that something else stands where `what` should be."""
        if self._next is None:
            return LanguageError(
                f"the file ends where {what} should be",
                place=self.here,
                advice="It may be cut off; compare its counts with what follows them.",
            )
        return LanguageError(f"expected {what}, found {self._next[0]!r}", place=self.here)
