"""What became of one question of a batch.

Input: an answer, or why there is none. Output: `Outcome`: numbers and words that stand in one line of a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from credalog.batches.items import Identity, Item
from credalog.errors import CredalogError

if TYPE_CHECKING:
    from credalog.methods.answer import Answer

__all__ = ["FAILED", "Outcome"]

FAILED = "FAILED"
"""The status of a question that has no answer."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The bounds of one question with their status, or what went wrong with it."""

    id: Identity
    query: str
    status: str
    lower: float | None = None
    upper: float | None = None
    lower_witnessed: float | None = None
    upper_witnessed: float | None = None
    lower_warrant: str | None = None
    upper_warrant: str | None = None
    method: str | None = None
    seconds: float = 0.0
    error: str | None = None
    model: str = ""
    witnesses: Mapping[str, Any] | None = None
    """The models that attain the ends, as conditional tables, if they were asked for."""

    @property
    def is_exact(self) -> bool:
        """Tell whether bounds and witnesses meet."""
        return self.status == "EXACT"

    @property
    def key(self) -> str:
        """Return what tells the question from all others of its batch."""
        return str(self.id)

    @classmethod
    def of(cls, item: Item, answer: Answer, *, seconds: float, with_witnesses: bool) -> Outcome:
        """Write an answer down."""
        found = answer.interval
        return cls(
            item.id,
            item.query,
            answer.ending,
            _finite(found.lower.bound),
            _finite(found.upper.bound),
            _finite(found.lower.witnessed),
            _finite(found.upper.witnessed),
            found.lower.warrant.name,
            found.upper.warrant.name,
            answer.method,
            round(seconds, 6),
            None,
            item.model,
            _witnesses(answer) if with_witnesses else None,
        )

    @classmethod
    def failed(cls, item: Item, error: CredalogError | str, *, seconds: float = 0.0) -> Outcome:
        """Write down why there is no answer."""
        why = error.on_the_command_line if isinstance(error, CredalogError) else error
        return cls(item.id, item.query, FAILED, seconds=round(seconds, 6), error=why, model=item.model)

    def to_dict(self) -> dict[str, Any]:
        """Return the object that a line of JSON holds."""
        found = asdict(self)
        for name in ("model", "witnesses"):
            if not found[name]:
                del found[name]
        return found


def _finite(value: float | None) -> float | None:
    """Return a number that JSON has a word for."""
    return value if value is not None and isfinite(value) else None


def _witnesses(answer: Answer) -> dict[str, Any]:
    from credalog.tables.conditional import as_tables

    models = {"lower": answer.lower_witness, "upper": answer.upper_witness}
    return {end: None if model is None else as_tables(model) for end, model in models.items()}
