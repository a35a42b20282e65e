"""What the page sends, and the model that it stands for.

Input: a text with the files that came with it, and observations. Output: `Page`, and its `LCN`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from credalog.errors import CredalogError, Place, UnknownName
from credalog.lcn import LCN
from credalog.play.limits import LINES, MOST_FILES
from credalog.text.parse import read
from credalog.text.sheets import Shelf
from credalog.text.statements import TOKEN, statements

__all__ = ["Page", "mistakes", "told"]


@dataclass(frozen=True, slots=True)
class Page:
    """A text, the files it may include or read tables from, and what was observed beside it."""

    text: str
    files: Mapping[str, str] = field(default_factory=dict)
    given: tuple[str, ...] = ()

    @classmethod
    def of(cls, sent: Mapping[str, Any]) -> Page:
        """Read what the browser sent; anything else than texts is refused."""
        text, files, given = sent.get("text", ""), sent.get("files", {}), sent.get("given", [])
        are_texts = isinstance(files, dict) and isinstance(given, list) and len(files) <= MOST_FILES
        if not are_texts or not all(isinstance(each, str) for each in (text, *files.values(), *given)):
            raise CredalogError("the page sent something else than texts", advice="Load it again.")
        return cls(text, files, tuple(given))

    @property
    def key(self) -> tuple[object, ...]:
        """Return what two pages that mean the same have in common."""
        return (self.text, tuple(sorted(self.files.items())), self.given)

    def stated(self) -> LCN:
        """Return the model of the text alone."""
        model = LCN(read(self.text, library=Shelf({}, texts=self.files)))
        model.check()
        return model

    def model(self) -> LCN:
        """Return the model, given what was observed."""
        model = self.stated()
        for observed in self.given:
            # What is wrong with it is said of the words that were typed, or that the model no longer has.
            try:
                model.formula(observed)
            except UnknownName as error:
                raise UnknownName(
                    f"{observed} was observed, and {error.message}", advice="Forget what was observed."
                ) from None
        return model.with_evidence(*self.given) if self.given else model

    def line(self, place: Place) -> str:
        """Return the whole line of a place, as the page has it."""
        text = self.files.get(place.file, self.text if not place.file else "")
        lines = text.split("\n")
        return lines[place.line - 1] if 0 < place.line <= len(lines) else ""


# ---- mistakes ---------------------------------------------------------------------------------------------
# The mistakes of a text, each under the words that it is about.
# Input: an error with its place. Output: the file, line and columns to underline, the message and the
# advice. One mistake hides those behind it, so a statement that cannot be read is left out and the rest
# read again.

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
