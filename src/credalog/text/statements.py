"""From a file to statements, and from a statement to its value.

Input: a file or a text, and an action for each rule of the grammar. Output: `Statement`s, one per line, a
line with an open bracket continuing on the next, without comments; and the value of each.

Large files repeat few sentence forms thousands of times. The parse depends on a token only through its
kind: a name, an integer, another number, a label, a quoted name, or a word or symbol of the language
itself. So statements whose tokens are of the same kinds in the same order share one plan, the actions in
the order in which the parse tree calls for them; the LALR parser runs for the first of them only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from lark import Lark, Token, Tree

from credalog.errors import LanguageError, Place, UnknownName
from credalog.theory import DEPTH, RESERVED, Misstatement, place_of

STATEMENT, QUESTION, THRESHOLD, FORMULA = STARTS = ("start", "question", "threshold", "condition")
"""What a text may be: a statement of a theory, a query P(...), P(...) >= 0.5 to decide, or a formula."""

# ---- cutting a text -------------------------------------------------------------------------------------

_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|#.*')
BRACKET = re.compile(r'"(?:\\.|[^"\\\n])*"|[(){}]')


_COMPRESSED = "It is compressed: unpack it; a certificate is named after its model."


def text_of(path: Path) -> str:
    """Return the text of a file."""
    return decoded(bytes_of(path), str(path))


def decoded(written: bytes, name: str) -> str:
    """Return the text that the bytes of a file stand for."""
    try:
        return with_plain_lines(written.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line, begin = written.count(b"\n", 0, error.start), written.rfind(b"\n", 0, error.start) + 1
        shown = written[begin:].split(b"\n", 1)[0].rstrip(b"\r").decode("latin-1")
        column = len(written[begin : error.start].decode("latin-1")) + 1
        raise LanguageError(
            f"{name} is not a text file in UTF-8",
            place=Place(line + 1, column, shown, name),
            advice=_COMPRESSED if written.startswith(b"\x1f\x8b") else "Save it as UTF-8.",
        ) from None


def bytes_of(path: Path) -> bytes:
    """Return what a file holds."""
    with readable(path):
        return path.read_bytes()


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say what is wrong where a file cannot be read."""
    if "\0" in str(path):
        raise LanguageError("the name of a file cannot contain a NUL character")
    try:
        yield
    except FileNotFoundError:
        raise UnknownName(f"there is no file {path}", advice=_instead_of(path)) from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        advice = "Name a file in it." if path.is_dir() else "Name a file that you may read."
        if path == Path():
            advice += " An empty name stands for this folder, too."
        raise LanguageError(f"{path} cannot be read: {why}", advice=advice) from None


@contextmanager
def writable(path: object) -> Iterator[Path]:
    """Yield a path to write to, and say what is wrong where it cannot be written to."""
    if not isinstance(path, str | os.PathLike):
        raise LanguageError(f"{path!r} is no path", advice='Name a file: "answer.svg".')
    target = Path(path)
    try:
        yield target
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        advice = (
            f"Name a file in it: {target / 'FILE'}"
            if target.is_dir()
            else "Name a place where you may write."
        )
        if target.parent != Path() and not target.parent.is_dir():
            advice = f"There is no folder {target.parent}."
        raise LanguageError(f"{target} cannot be written: {why}", advice=advice) from None


def with_plain_lines(text: str) -> str:
    """Return a text whose lines end as they do here, wherever it was written."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _instead_of(path: Path) -> str:
    """Say what to write for the name of a file that is not there."""
    if path.name.endswith(")"):
        return "The file is named first, then what is asked of it."
    if re.search(r"\bP\s*\(", path.name):
        return "This is a sentence, not a file: save it in one; in Python, parse it."
    if re.match(r"(?:https?|s3|ftp|file):", path.parts[0] if path.parts else ""):
        return "Addresses are not read: fetch it first, then name the file."
    if path == Path("-"):
        return "Standard input stands only for the model or for questions: save it in a file."
    if path.parts[:1] == ("~",):
        return f"Write the name of your folder: {path.expanduser()}"
    beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    with_suffix = [
        name for name in beside if name in (f"{path.name}.lcn", f"{path.name}.bif", f"{path.name}.uai")
    ]
    same = [name for name in beside if name.lower() == path.name.lower()]
    cut = [name for name in beside if name.startswith(f"{path.name} ")]
    if cut:
        return f'A name with blanks stands in quotes: "{path.with_name(cut[0])}".'
    close = with_suffix or same or get_close_matches(path.name, beside, n=1)
    return f"Did you mean {path.with_name(close[0])}?" if close else "Check the name and the folder."


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its text, and the file and line where it begins, or `inside` what it was typed."""

    text: str
    line: int = 1
    file: str = ""
    inside: str = ""

    def place(self, offset: int = 0) -> Place:
        """Point at the character with this offset in the statement's text."""
        return Place.within(self.text, offset, line=self.line, file=self.file, inside=self.inside)

    def place_of(self, lexeme: str) -> Place:
        """Point at the first occurrence of a word, or else at the beginning."""
        return place_of(lexeme, self.text, line=self.line, file=self.file, inside=self.inside)


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
    brackets = [found for found in BRACKET.findall(line) if len(found) == 1]
    return sum(1 if bracket in "({" else -1 for bracket in brackets)


# ---- parsing once per shape -----------------------------------------------------------------------------

_NUMBER = r"(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?%?"
_NAME = r"\w+'*"
_LABEL_END = r"(?:\.\w+)*\[[^\]\n]*\]|(?:\.\w+)+"
_STRING = r'"(?:\\.|[^"\\\n])*"'
_SYMBOL = r"<->|[<>=!]=|=[<>]|->|\.\.|\+/?-|\S"
# What begins with a digit is a number, so that a name need not look at its first letter.
TOKEN = rf"{_NUMBER}|{_NAME}(?:{_LABEL_END})?|{_STRING}|{_SYMBOL}"
_TOKEN = re.compile(TOKEN)

_KINDS = (
    ("1", re.compile(r"\d+")),
    ("0.5", re.compile(_NUMBER)),
    ("a", re.compile(_NAME)),
    ("a.b", re.compile(rf"{_NAME}(?:{_LABEL_END})")),
    ('"a"', re.compile(_STRING)),
)


class Kinds(dict[str, str]):
    """The kind of each token met so far; a word or symbol of the language is a kind of its own."""

    def __missing__(self, token: str) -> str:
        kind = token
        # E(...) is an expected value where something is asked for, and a name elsewhere.
        if token not in RESERVED and token != "E":
            kind = next((name for name, form in _KINDS if form.fullmatch(token)), token)
        self[token] = kind
        return kind


Call: TypeAlias = tuple[Callable[..., Any], int]
"""The action of a grammar rule, and how many of the last values it takes."""

Plan: TypeAlias = tuple[int | Call | None, ...]
"""Steps in postfix order: the number of a token, the action of a rule, or an option left out."""


class _Bars:
    """Tell the conditioning bar from the connective, by the parenthesis that encloses it."""

    always_accept = ("PIPE",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        enclosing: list[bool] = []
        previous = ""
        for token in stream:
            match token.type:
                case "LPAR":
                    enclosing.append(previous in ("PROB", "EXPECT"))
                case "RPAR" if enclosing:
                    enclosing.pop()
                case "PIPE":
                    token.type = "_BAR" if not enclosing or enclosing[-1] else "_OR"
            previous = token.type
            yield token


@cache
def grammar() -> Lark:
    """Return the parser of one statement."""
    return Lark.open("grammar.lark", rel_to=__file__, start=list(STARTS), parser="lalr", postlex=_Bars())


class Shapes:
    """The plans found so far, by the kinds of the tokens; `actions` has a method for each grammar rule."""

    def __init__(self, actions: object) -> None:
        self._actions = actions
        self._plans: dict[str, Plan] = {}
        self._kinds = Kinds()

    def value(self, statement: Statement, *, start: str = STATEMENT) -> Any:
        """Return what a statement says."""
        tokens: list[str] = _TOKEN.findall(statement.text)
        kinds = self._kinds
        shape = " ".join([kinds[token] for token in tokens])
        plan = self._plans.get(shape)
        if plan is None:
            plan = self._plans[shape] = self._parse(statement, start)
        return _carried_out(plan, tokens)

    def _parse(self, statement: Statement, start: str) -> Plan:
        starts = {found.start(): i for i, found in enumerate(_TOKEN.finditer(statement.text))}
        return tuple(self._steps(grammar().parse(statement.text, start=start), starts, DEPTH))

    def _steps(self, tree: Tree[Token], starts: dict[int, int], depth: int) -> Iterator[int | Call | None]:
        if depth == 0:
            raise Misstatement("the formula is nested too deeply", advice="Split it, or name its parts.")
        for child in tree.children:
            if isinstance(child, Tree):
                yield from self._steps(child, starts, depth - 1)
            else:
                yield None if child is None else starts[child.start_pos or 0]
        yield getattr(self._actions, tree.data), len(tree.children)


def _carried_out(plan: Plan, tokens: list[str]) -> Any:
    values: list[Any] = []
    for step in plan:
        if isinstance(step, int):
            values.append(tokens[step])
        elif step is None:
            values.append(None)
        else:
            action, arity = step
            first = len(values) - arity
            values[first:] = [action(*values[first:])]
    return values[-1]
