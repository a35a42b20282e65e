"""The mistakes of a text, each under the words that it is about.

Input: an error with its place. Output: the file, line and columns to underline, the message and the advice.
One mistake hides those behind it, so a statement that cannot be read is left out and the rest read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from credalog.errors import CredalogError
from credalog.play.limits import LINES
from credalog.play.pages import Page
from credalog.text.statements import TOKEN, statements

__all__ = ["mistakes", "told"]

_TOKEN = re.compile(TOKEN)
_DECLARATION = re.compile(
    r"\s*(domain|predicate|proposition|variable|relation|function|number|let|include|table)\b"
)


def told(error: CredalogError, page: Page) -> dict[str, Any]:
    """Return an error as the page shows it."""
    said = {"message": error.message, "advice": _advice(error), "kind": type(error).__name__}
    place = error.place
    if place is None or place.inside:
        return said | ({} if place is None else {"inside": place.inside, "column": place.column})
    line = page.line(place)
    word = _TOKEN.match(line, place.column - 1)
    end = place.column + (len(word[0]) if word else 1)
    return said | {"file": place.file, "line": place.line, "column": place.column, "end": end}


def _advice(error: CredalogError) -> str:
    """Return the advice in the words of the page, which has buttons for what commands do."""
    remedies = [remedy.on_the_command_line for remedy in error.remedies]
    return error.advice.format(*remedies) if remedies else error.advice


def mistakes(page: Page, first: CredalogError) -> list[dict[str, Any]]:
    """Return a mistake and those behind it, as far as each stands in a statement of its own."""
    return [told(error, page) for error in _behind(page, first)]


def _behind(page: Page, first: CredalogError) -> Iterator[CredalogError]:
    error: CredalogError | None = first
    left = page
    for _ in range(LINES):
        if error is None:
            return
        yield error
        shorter = _without(left, error)
        if shorter is None:
            return
        left, error = shorter, _next(shorter)


def _next(page: Page) -> CredalogError | None:
    try:
        page.stated()
    except CredalogError as error:
        return error
    return None


def _without(page: Page, error: CredalogError) -> Page | None:
    """Return the page with blanks for the statement at fault; None where others may need it."""
    place = error.place
    if place is None or place.file or place.inside:
        return None
    for statement in statements(page.text):
        last = statement.line + statement.text.count("\n")
        if statement.line <= place.line <= last:
            if _DECLARATION.match(statement.text):
                return None
            lines = page.text.split("\n")
            lines[statement.line - 1 : last] = [""] * (last - statement.line + 1)
            return replace(page, text="\n".join(lines))
    return None
