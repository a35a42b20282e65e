"""What the page sends, and the model that it stands for.

Input: a text with the files that came with it, and observations. Output: `Page`, and its `LCN`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from credalog.errors import CredalogError, Place, UnknownName
from credalog.lcn import LCN
from credalog.play.limits import MOST_FILES
from credalog.text.parse import read
from credalog.text.sheets import Shelf

__all__ = ["Page"]


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
