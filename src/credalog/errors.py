"""Everything a user can do wrong, said in words: what was found, where, and what to do.

Enters: a message, and where known its place in the source text. Leaves: one exception family whose
members carry the exit code of the command line.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

__all__ = [
    "CredalogError",
    "GroundingTooLarge",
    "ImpossibleEvidence",
    "InconsistentNetwork",
    "LanguageError",
    "MissingLibrary",
    "Place",
    "ProblemTooLarge",
    "UnknownName",
    "inside",
    "no_model",
    "unreadable",
]


@dataclass(frozen=True, slots=True)
class Place:
    """Point at one column of one line of a source text (lines and columns count from 1).

    `inside` names a text that has no lines and no file because it was just typed, such as "the question".
    """

    line: int
    column: int = 1
    text: str = ""
    file: str = ""
    inside: str = ""

    @classmethod
    def within(cls, text: str, offset: int, *, line: int = 1, file: str = "") -> Place:
        """Point at the character with this offset in a text that begins on this line."""
        start = text.rfind("\n", 0, offset) + 1
        whole = text[start:].partition("\n")[0]
        return cls(line + text.count("\n", 0, start), offset - start + 1, whole, file)

    def __str__(self) -> str:
        where = f"at {self.file or 'text'}, line {self.line}, column {self.column}"
        if self.inside:
            where = f"in {self.inside}, column {self.column}"
        if not self.text:
            return where
        # Tabs stay tabs in the caret line, so that the caret stands under its character.
        margin = "".join("\t" if c == "\t" else " " for c in self.text[: self.column - 1])
        return f"{where}\n    {self.text}\n    {margin}^"


class CredalogError(Exception):
    """Report something a user can put right; the root of all errors raised on purpose."""

    exit_code = 2

    def __init__(self, message: str, *, place: Place | None = None, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.advice = advice

    def __str__(self) -> str:
        parts = [self.message]
        if self.place is not None:
            parts.append(f"  {self.place}")
        if self.advice:
            parts.append(f"  {self.advice}")
        return "\n".join(parts)


@contextmanager
def inside(typed: str) -> Iterator[None]:
    """Say of errors raised here that their place is in a text that was just typed, not in a file."""
    try:
        yield
    except CredalogError as error:
        if error.place is not None:
            error.place = replace(error.place, inside=typed)
        raise


def unreadable(path: object, error: OSError | UnicodeDecodeError) -> str:
    """Say why a file cannot be read, without the operating system's numbers."""
    if isinstance(error, UnicodeDecodeError):
        return f"{path} is not a text file in UTF-8"
    return f"{path} cannot be read: {(error.strerror or str(error)).lower()}"


class LanguageError(CredalogError):
    """A text is not in the language, or says something that has no meaning in it."""


class UnknownName(CredalogError):
    """A name is used that was never introduced."""


class GroundingTooLarge(CredalogError):
    """A first-order theory would ground to more sentences than the limit allows."""


class ProblemTooLarge(CredalogError):
    """A method would need more memory than it may take; another method is advised."""


class MissingLibrary(CredalogError):
    """An optional library is asked for and not installed."""

    @classmethod
    def of(cls, library: str, extra: str, *, otherwise: str = "") -> MissingLibrary:
        """Name the extra that brings a library along, and what can be done without it."""
        advice = f"Install it with `pip install 'credalog[{extra}]'`{otherwise and ', or ' + otherwise}."
        return cls(f"{library} is not installed", advice=advice)


class InconsistentNetwork(CredalogError):
    """No distribution satisfies every sentence and every independence."""

    exit_code = 3


def no_model() -> InconsistentNetwork:
    """Return the error of a network that has no model, where no sentence is to blame more than others."""
    return InconsistentNetwork(
        "no distribution satisfies every sentence and every independence",
        advice="Ask `credalog check` which sentences contradict each other.",
    )


class ImpossibleEvidence(CredalogError):
    """Every model gives the evidence probability zero."""

    exit_code = 4
