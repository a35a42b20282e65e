"""Everything a user can do wrong, said in words: what was found, where, and what to do.

Input: a message, and where known its place in the source text and what would help. Output: one exception
family whose members carry the exit code of the command line. What would help is a `Remedy`, a value: Python
prints it as an argument (`markov="none"`), the command line as a flag (`--markov none`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias
from unicodedata import category

WIDEST = 160
"""So many characters of a line are shown: a caret beyond the edge of the screen points at nothing."""


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
    def within(cls, text: str, offset: int, *, line: int = 1, file: str = "", inside: str = "") -> Place:
        """Point at the character with this offset in a text that begins on this line."""
        start = text.rfind("\n", 0, offset) + 1
        whole = text[start:].partition("\n")[0]
        return cls(line + text.count("\n", 0, start), offset - start + 1, whole, file, inside)

    def __str__(self) -> str:
        where = f"at {self.file or 'text'}, line {self.line}, column {self.column}"
        if self.inside:
            where = f"in {self.inside}, column {self.column}"
        if not self.text:
            return where
        shown, column = _around(self.text, self.column)
        # Tabs stay tabs in the caret line, so that the caret stands under its character.
        margin = "".join("\t" if c == "\t" else " " for c in shown[: column - 1])
        return f"{where}\n    {_visible(shown)}\n    {margin}^"


def _around(text: str, column: int) -> tuple[str, int]:
    """Return what a reader needs to see of a long line, and the column there."""
    if len(text) <= WIDEST:
        return text, column
    begin = max(0, min(column - WIDEST // 2, len(text) - WIDEST))
    end = begin + WIDEST
    before, after = "…" if begin else "", "…" if end < len(text) else ""
    return f"{before}{text[begin:end]}{after}", column - begin + len(before)


def _visible(text: str) -> str:
    """Show a sign for each character that cannot be seen; some would be commands to the terminal."""
    if text.isprintable():
        return text
    return "".join("\N{REPLACEMENT CHARACTER}" if category(c)[0] == "C" and c != "\t" else c for c in text)


@dataclass(frozen=True, slots=True)
class Option:
    """The remedy of asking the same with another option."""

    name: str
    value: str | float

    @property
    def in_python(self) -> str:
        """Write it as an argument."""
        value = f'"{self.value}"' if isinstance(self.value, str) else self.value
        return f"{self.name}={value}"

    @property
    def on_the_command_line(self) -> str:
        """Write it as a flag."""
        return f"--{self.name} {self.value}"


@dataclass(frozen=True, slots=True)
class Ask:
    """The remedy of asking something else first: a command, and the same as a call."""

    command: str
    call: str

    @property
    def in_python(self) -> str:
        """Write it as a call."""
        return f"`{self.call}`"

    @property
    def on_the_command_line(self) -> str:
        """Write it as a command."""
        return f"`credalog {self.command}`"


Remedy: TypeAlias = Option | Ask


class CredalogError(Exception):
    """Report something a user can put right; the root of all errors raised on purpose.

    Where there are remedies, the advice has a place for each: `{}`, or `{0}` and `{1}`.
    """

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        place: Place | None = None,
        advice: str = "",
        remedies: tuple[Remedy, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.advice = advice
        self.remedies = remedies

    def __str__(self) -> str:
        return self._told([remedy.in_python for remedy in self.remedies])

    @property
    def on_the_command_line(self) -> str:
        """Say the same to someone who types commands."""
        return self._told([remedy.on_the_command_line for remedy in self.remedies])

    def _told(self, remedies: list[str]) -> str:
        # Advice without remedies may contain braces of its own, such as those of a domain.
        advice = self.advice.format(*remedies) if remedies else self.advice
        parts = [self.message, *(f"  {part}" for part in (self.place, advice) if part)]
        return "\n".join(parts)

    def __reduce__(self) -> tuple[object, ...]:
        # An error from another process keeps its place and its advice.
        return (type(self), (self.message,), self.__dict__)


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
        advice="Ask {} which sentences contradict each other.",
        remedies=(Ask("check FILE", "lcn.diagnose()"),),
    )


class ImpossibleEvidence(CredalogError):
    """Every model gives the evidence probability zero."""

    exit_code = 4


def impossible_evidence() -> ImpossibleEvidence:
    """Return the error of a question that is conditioned on what no model allows."""
    return ImpossibleEvidence(
        "every model gives the evidence probability zero",
        advice="Weaken the evidence, or the sentences that exclude it.",
    )


class Refused(CredalogError):
    """A step of a certificate does not follow."""

    exit_code = 5


def require(holds: bool, step: str) -> None:
    """Refuse a step that does not hold."""
    if not holds:
        raise Refused(f"it is not so that {step}")
