"""Read Bayesian networks in the Interchange Format (BIF).

Input: the text of a file. Output: a `Network` that says P(x = value | parent values) = p for every entry.

A `table` counts in the order of the variables listed, the last changing fastest, so that the child, listed
first, changes slowest; an entry `(values) numbers` gives the child's distribution for one parent
configuration; `default` gives it for the configurations not listed. Properties are skipped.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from credalog.errors import LanguageError, Place, UnknownName
from credalog.network.formulas import Variable
from credalog.network.polytopes import Vertex
from credalog.network.sentences import Network
from credalog.text.families import (
    CredalSet,
    Family,
    configurations,
    configurations_count,
    hull,
    network_of,
    normalized,
    printed,
)

__all__ = ["read_bif"]

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
      | "(?P<quoted>[^"]*)"
      | (?P<mark>[{}()\[\],;|])
      | (?P<word>[^\s{}()\[\],;|"]+)
      | (?P<stray>.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    is_mark: bool = False


class _Tokens:
    """Look at the next word, take it, and say where it stands."""

    def __init__(self, text: str, file: str) -> None:
        self._text, self._file = text, file
        # Where each line begins, and where one after the last would.
        breaks = (match.end() for match in re.finditer("\n", text))
        self._lines = [0, *breaks, len(text) + 1]
        self._tokens = list(self._read())
        self._next = 0

    def _read(self) -> Iterator[_Token]:
        for match in _TOKEN.finditer(self._text):
            kind = match.lastgroup or ""
            if kind == "stray":
                raise LanguageError(f"unexpected {match.group()!r}", place=self.place(match.start()))
            if kind != "skip":
                yield _Token(match.group(kind), match.start(), kind == "mark")

    def place(self, start: int) -> Place:
        """Return the line and column of a position in the text."""
        number = bisect_right(self._lines, start)
        begin, end = self._lines[number - 1], self._lines[number]
        return Place(number, start - begin + 1, self._text[begin:end].rstrip(), self._file)

    @property
    def here(self) -> Place:
        """Return the place of the next token."""
        return self.place(self._tokens[self._next].start if not self.done else len(self._text))

    @property
    def done(self) -> bool:
        """Tell whether all tokens are taken."""
        return self._next >= len(self._tokens)

    def sees(self, text: str) -> bool:
        """Tell whether the next token is this one."""
        return not self.done and self._tokens[self._next].text == text

    def take(self, what: str) -> str:
        """Take the next word, which should be `what`."""
        if self.done or self._tokens[self._next].is_mark:
            raise self._expected(what)
        self._next += 1
        return self._tokens[self._next - 1].text

    def expect(self, text: str) -> None:
        """Take exactly this token."""
        if not self.sees(text):
            raise self._expected(repr(text))
        self._next += 1

    def accept(self, text: str) -> bool:
        """Take this token if it is next."""
        seen = self.sees(text)
        self._next += seen
        return seen

    def words(self, what: str) -> list[str]:
        """Take words, with or without commas between them, up to the next other mark."""
        found = [self.take(what)]
        while self.accept(",") or not (self.done or self._tokens[self._next].is_mark):
            found.append(self.take(what))
        return found

    def skip_statement(self) -> None:
        """Take everything up to a semicolon, as for a property."""
        while not self.accept(";"):
            if self.done:
                raise self._expected("';'")
            self._next += 1

    def _expected(self, what: str) -> LanguageError:
        found = "the end of the file" if self.done else repr(self._tokens[self._next].text)
        return LanguageError(f"expected {what}, found {found}", place=self.here)


def read_bif(text: str, *, file: str = "") -> Network:
    """Read a Bayesian network in the Interchange Format."""
    tokens = _Tokens(text, file)
    tokens.expect("network")
    tokens.take("the name of the network")
    _properties(tokens)
    variables: dict[str, Variable] = {}
    families = []
    while not tokens.done:
        if tokens.accept("variable"):
            _declare(tokens, variables)
        elif tokens.accept("probability"):
            families.append(_family(tokens, variables))
        else:
            raise LanguageError("expected 'variable' or 'probability'", place=tokens.here)
    return network_of(tuple(variables.values()), families, file=file)


def _properties(tokens: _Tokens) -> None:
    tokens.expect("{")
    while not tokens.accept("}"):
        tokens.skip_statement()


def _declare(tokens: _Tokens, variables: dict[str, Variable]) -> None:
    place = tokens.here
    name = tokens.take("the name of a variable")
    if name in variables:
        raise LanguageError(f"variable {name} is declared twice", place=place)
    tokens.expect("{")
    while not tokens.accept("}"):
        if tokens.accept("type"):
            variables[name] = Variable(name, _values(tokens, name))
        else:
            tokens.skip_statement()
    if name not in variables:
        raise LanguageError(
            f"variable {name} has no type", place=place, advice="Write: type discrete [2] {a, b};"
        )


def _values(tokens: _Tokens, name: str) -> tuple[str, ...]:
    tokens.expect("discrete")
    tokens.expect("[")
    place = tokens.here
    count = tokens.take("the number of values")
    tokens.expect("]")
    tokens.expect("{")
    values = tuple(tokens.words("a value"))
    tokens.expect("}")
    tokens.expect(";")
    if count != str(len(values)) or len(set(values)) < len(values):
        raise LanguageError(
            f"{name} should have {count} different values, it lists {len(values)}", place=place
        )
    return values


def _family(tokens: _Tokens, variables: Mapping[str, Variable]) -> Family:
    tokens.expect("(")
    place = tokens.here
    child = _known(tokens, variables)
    parents: list[Variable] = []
    while not tokens.accept(")"):
        tokens.expect("," if parents else "|")
        parents.append(_known(tokens, variables))
    sets = _sets(tokens, child, tuple(parents))
    return Family(child, tuple(parents), sets, place)


def _known(tokens: _Tokens, variables: Mapping[str, Variable]) -> Variable:
    place = tokens.here
    name = tokens.take("the name of a variable")
    if name not in variables:
        raise UnknownName(f"variable {name} is not declared", place=place)
    return variables[name]


def _sets(tokens: _Tokens, child: Variable, parents: tuple[Variable, ...]) -> tuple[CredalSet, ...]:
    """Read the body of a probability block into one point per parent configuration."""
    points: dict[tuple[str, ...], CredalSet] = {}
    default: CredalSet | None = None
    place = tokens.here
    configurations_count(parents, place)
    tokens.expect("{")
    while not tokens.accept("}"):
        if tokens.accept("table"):
            points = dict(zip(configurations(parents), _table(tokens, child, parents), strict=True))
        elif tokens.accept("default"):
            default = _point(tokens, child)
        elif tokens.sees("("):
            key = _configuration(tokens, parents)
            points[key] = _point(tokens, child)
        else:
            tokens.skip_statement()
    found = [points.get(key, default) for key in configurations(parents)]
    if None in found:
        raise LanguageError(f"the table of {child} does not cover every parent configuration", place=place)
    return tuple(credal for credal in found if credal is not None)


def _configuration(tokens: _Tokens, parents: tuple[Variable, ...]) -> tuple[str, ...]:
    place = tokens.here
    tokens.expect("(")
    key = tuple(tokens.words("a value of a parent"))
    tokens.expect(")")
    if len(key) != len(parents) or any(v not in p.values for v, p in zip(key, parents, strict=True)):
        expected = ", ".join(f"{p.name} in {{{', '.join(p.values)}}}" for p in parents)
        raise LanguageError(f"({', '.join(key)}) is no configuration of the parents {expected}", place=place)
    return key


def _point(tokens: _Tokens, child: Variable) -> CredalSet:
    place = tokens.here
    numbers = _numbers(tokens, len(child.values))
    return CredalSet(hull([normalized(numbers, place)]), place.line)


def _table(tokens: _Tokens, child: Variable, parents: tuple[Variable, ...]) -> list[CredalSet]:
    place = tokens.here
    count = configurations_count(parents, place)
    numbers = _numbers(tokens, count * len(child.values))
    points: list[Vertex] = [normalized(numbers[i::count], place) for i in range(count)]
    return [CredalSet(hull([point]), place.line) for point in points]


def _numbers(tokens: _Tokens, count: int) -> list[Fraction]:
    place = tokens.here
    words = tokens.words("a number")
    tokens.expect(";")
    if len(words) != count:
        raise LanguageError(f"expected {count} numbers, found {len(words)}", place=place)
    return [printed(word, place) for word in words]
