"""From a parser's complaint to a sentence that helps.

Input: a statement that the grammar refused, and where. Output: a `LanguageError` with the place, what
is wrong, and what to write instead. mistakes.toml is a collection: each entry has the form by which a
mistake is recognised and examples of it, which the tests try one by one.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from credalog.errors import Ask, LanguageError, Remedy
from credalog.text.linear import NO_THRESHOLD, THRESHOLD_ADVICE
from credalog.text.statements import BRACKET, QUESTION, STATEMENT, THRESHOLD, Statement


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake that people make: how it looks, what to say, and examples.

    The caret goes under the group `here` of the form, or under its beginning. Where `start` is set, only a
    text of that kind can be mistaken so.
    """

    form: str
    message: str
    advice: str
    examples: list[str]
    start: str = ""


BEGINNINGS = "domain evidence function include independent predicate proposition query relation variable"
"""The words with which statements other than sentences begin."""


@cache
def known_mistakes() -> tuple[Mistake, ...]:
    """Return the collection: the first whose form fits is recognised."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return tuple(Mistake(**entry) for entry in tomllib.loads(text)["mistake"])


_WORDS = {
    "COMMA": ",",
    "COLON": ":",
    "LPAR": "(",
    "RPAR": ")",
    "LBRACE": "{",
    "RBRACE": "}",
    "EQUAL": "=",
    "COMPARE": "<= or >=",
    "NAME": "a name",
    "INT": "a number",
    "DECIMAL": "a number",
    "PROB": "P(...)",
    "_AND": "and",
    "_OR": "or",
    "_BAR": "|",
    "_IN": "in",
    "LABEL": "a label",
    "TRUTH": "true",
    "__DOT_DOT": "..",
    "$END": "the end of the line",
}


def explained(error: UnexpectedInput, statement: Statement, start: str) -> LanguageError:
    """Turn the parser's error into one for people: what the first of these recognises, or what was found."""
    told = (
        _empty(statement, start)
        or _foreign_break(statement)
        or _half_open(statement)
        or _unbalanced(statement)
        or _unasked(statement, start)
        or _recognised(statement, start)
        or _no_threshold(error, statement, start)
        or _bar(error, statement)
        or _misspelt(statement, start)
        or _neighbours(error, statement)
        or _unexpected(error, statement)
    )
    place = statement.place(told.offset)
    return LanguageError(told.message, place=place, advice=told.advice, remedies=told.remedies)


def without_probability(statement: Statement, start: str) -> LanguageError | None:
    """Recognise what was meant by a comparison without P(...)."""
    told = _recognised(statement, start)
    return told and LanguageError(told.message, place=statement.place(told.offset), advice=told.advice)


class _Told(NamedTuple):
    """What is said of a mistake, and where in the statement the caret goes."""

    offset: int
    message: str
    advice: str = ""
    remedies: tuple[Remedy, ...] = ()


def _empty(statement: Statement, start: str) -> _Told | None:
    if statement.text.strip():
        return None
    empty = {
        QUESTION: ("nothing is asked", "Write P(claim) or P(claim | condition)."),
        THRESHOLD: ("nothing is compared", THRESHOLD_ADVICE),
    }
    return _Told(0, *empty.get(start, ("there is no formula here", "Write one: a and !b.")))


def _foreign_break(statement: Statement) -> _Told | None:
    """Recognise a character that ends a line elsewhere, as texts copied from PDF files have it."""
    if found := re.search("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", statement.text.strip()):
        offset = statement.text.index(found[0])
        return _Told(
            offset,
            f"a line is broken by a character of another kind, U+{ord(found[0]):04X}",
            "Delete it and press Enter there.",
        )
    return None


_HALF_OPEN = re.compile(
    r"""= \s* (?: \[ [^][()]* , [^][()]* (?P<closing> \) ) | (?P<opening> \( ) [^][()]* , [^][()]* \]
    | (?P<turned> \] ) [^][()]* , [^][()]* [][] ) \s* (?: ; .* )? $""",
    re.VERBOSE,
)


def _half_open(statement: Statement) -> _Told | None:
    """Recognise an interval without one of its ends, or without both."""
    found = _HALF_OPEN.search(statement.text)
    if found is None:
        return None
    offset = found.start(str(found.lastgroup))
    return _Told(offset, "bounds are closed", "Write square brackets: P(...) = [0.1, 0.2].")


def _unbalanced(statement: Statement) -> _Told | None:
    pairs = {")": "(", "}": "{"}
    opened: list[tuple[str, int]] = []
    for found in BRACKET.finditer(statement.text):
        if found[0] in "({":
            opened.append((found[0], found.start()))
        elif found[0] in pairs and (not opened or opened.pop()[0] != pairs[found[0]]):
            return _Told(
                found.start(),
                f"{found[0]} closes nothing that was opened",
                "Take it out, or open it before.",
            )
    if not opened:
        return None
    name, closing = ("parenthesis", ")") if opened[0][0] == "(" else ("brace", "}")
    return _Told(opened[0][1], f"a {name} is opened and not closed", f"Add {closing} where it ends.")


def _unasked(statement: Statement, start: str) -> _Told | None:
    if start != QUESTION:
        return None
    if bound := re.match(r"\s*[\d./%]+\s*([<>=≤≥])", statement.text):
        return _bounded(bound.start(1), "P(a) >= 0.5")
    if not re.match(r"[\s(+−-]*[\d./%]*[\s*+−-]*[PE]\s*\(", statement.text):
        return _recognised(statement, start) or _beginning(statement)
    if bounds := re.search(r"\)\s*([<>=≤≥])[^()]*$", statement.text):
        # A threshold is never strict.
        asked = statement.text[: bounds.start(1)].strip()
        threshold = re.sub(r"^([<>])(?!=)", r"\1=", statement.text[bounds.start(1) :].strip())
        is_decided = re.fullmatch(r"([<>]=|[≤≥])\s*[\d./]+%?", threshold)
        if re.search(r"\)\s*[<>=≤≥]", asked):
            asked = "P(a)"
        return _bounded(bounds.start(1), f"{asked} {threshold}" if is_decided else f"{asked} >= 0.5")
    return None


def _beginning(statement: Statement) -> _Told:
    """Say how a question begins."""
    if re.match(r"\s*(forall\b|∀)", statement.text):
        return _Told(
            0,
            "a question on many things at once is a line of the file",
            "Ask of one of them, P(Q(a)); or add the line `query forall x in D: P(Q(x))`, and ask {}.",
            (Ask("run FILE", "lcn.query(q) for q in lcn.queries"),),
        )
    return _Told(0, "a question begins with P(", "Write P(claim) or P(claim | condition).")


def _bounded(offset: int, asked: str) -> _Told:
    return _Told(
        offset,
        "a question has no bounds",
        "Leave them out to ask how low and how high it can be; to test whether one holds, ask {}.",
        (Ask(f"decide FILE '{asked}'", f'lcn.decide("{asked}")'),),
    )


def _recognised(statement: Statement, start: str) -> _Told | None:
    # What stands in quotes is a name, whatever it looks like.
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', lambda quoted: f'"{"_" * (len(quoted[0]) - 2)}"', statement.text)
    for mistake in known_mistakes():
        if mistake.start in ("", start) and (found := re.search(mistake.form, text, re.VERBOSE)):
            offset = next(found.start(name) for name, text in found.groupdict().items() if text is not None)
            return _Told(offset, mistake.message, mistake.advice)
    return None


def _no_threshold(error: UnexpectedInput, statement: Statement, start: str) -> _Told | None:
    return _Told(_offset(error, statement), NO_THRESHOLD, THRESHOLD_ADVICE) if start == THRESHOLD else None


def _offset(error: UnexpectedInput, statement: Statement) -> int:
    """Return where the parser stopped."""
    is_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    return len(statement.text) if is_end else min(error.pos_in_stream or 0, len(statement.text))


def _bar(error: UnexpectedInput, statement: Statement) -> _Told | None:
    if not isinstance(error, UnexpectedToken) or error.token.type != "_BAR":
        return None
    offset = error.token.start_pos or 0
    if re.search(r"P\s*\(", statement.text):
        return _Told(
            offset,
            "a second bar stands in one P(...)",
            "The first bar conditions; write `or`, or a bar in parentheses: P((a | b) | c).",
        )
    return _Told(
        offset,
        "the bar conditions, and there is nothing to condition here",
        "Write `or`, or put the | inside parentheses: (a | b).",
    )


def _misspelt(statement: Statement, start: str) -> _Told | None:
    """Recognise the first word of a statement by its likeness to one of the language."""
    found = re.match(r"\s*(\w+)\s+[\w\"]", statement.text)
    near = (
        get_close_matches(found[1], BEGINNINGS.split(), n=1, cutoff=0.75)
        if found and start == STATEMENT
        else []
    )
    if not found or not near or found[1] == near[0]:
        return None
    return _Told(found.start(1), f"no statement begins with {found[1]}", f"Did you mean {near[0]}?")


def _neighbours(error: UnexpectedInput, statement: Statement) -> _Told | None:
    if not isinstance(error, UnexpectedToken) or error.token.type not in ("NAME", "STRING", "_NOT"):
        return None
    offset = error.token.start_pos or 0
    if not re.search(r"[\w)]\s+$", statement.text[:offset]):
        return None
    advice = "Join them: a and b, a or b."
    if error.token.type == "NAME" and (
        before := re.search(r"(?<!\w)[^\W\d]\w*\s+$", statement.text[:offset])
    ):
        advice += f' If it is one name, it stands in quotes: "{before[0]}{error.token}".'
    return _Told(offset, f"{error.token} follows a formula without a connective", advice)


_CONTINUED = "It goes on in the next line where a bracket is still open."


def _unexpected(error: UnexpectedInput, statement: Statement) -> _Told:
    offset = _offset(error, statement)
    if isinstance(error, UnexpectedCharacters):
        return _stray(offset, statement.text[offset])
    expected = sorted({_WORDS[name] for name in getattr(error, "accepts", None) or () if name in _WORDS})
    advice = f"Expected here: {'  '.join(expected)}." if expected else ""
    if not isinstance(error, UnexpectedToken) or error.token.type == "$END":
        return _Told(offset, "the statement ends too early", f"{advice} {_CONTINUED}".strip())
    return _Told(offset, f"{error.token} is not expected here", advice)


def _stray(offset: int, character: str) -> _Told:
    if not character.isprintable():
        return _Told(
            offset,
            f"a character that cannot be seen, U+{ord(character):04X}, stands here",
            "Delete it; where there are many, save the file as plain text in UTF-8.",
        )
    if unicodedata.category(character).startswith("M"):
        return _Told(
            offset,
            f"a mark stands apart from its letter, U+{ord(character):04X}",
            "Write both as one character (normal form C), or put the name in quotes.",
        )
    advice = "A name has letters, digits and _; any other stands in quotes."
    return _Told(offset, f"the character {character} has no meaning here", advice)
