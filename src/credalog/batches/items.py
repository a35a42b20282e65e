"""One question of a batch, as a value that travels.

Input: text, a mapping such as a line of JSON holds, or a question built in Python. Output: `Item`. What is
wrong with one question is kept with it, so that the others are asked all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias

from credalog.errors import CredalogError, LanguageError

if TYPE_CHECKING:
    from credalog.methods.answer import Answer

__all__ = ["FAILED", "Identity", "Item", "Outcome", "Value", "items_of", "only_once"]

Value: TypeAlias = str | bool
Identity: TypeAlias = str | int

FIELDS = ("id", "query", "evidence", "timeout", "model")
"""What a question may say of itself."""


@dataclass(frozen=True, slots=True)
class Item:
    """A question: its name, its words, what was observed, its limit in seconds, and the model it is about."""

    id: Identity
    query: str
    given: tuple[tuple[str, Value], ...] | str = ()
    timeout: float | None = None
    model: str = ""
    row: tuple[tuple[str, str], ...] = ()
    """What a template of a model is filled with."""
    wrong: str = ""
    """Why it cannot be asked, if that is known before."""

    @property
    def key(self) -> str:
        """Return what tells this question from all others of its batch."""
        return str(self.id)


def items_of(questions: Iterable[object]) -> Iterator[Item]:
    """Yield the questions of a program: text, mappings with the fields of a line of JSON, or formulas."""
    if isinstance(questions, (str, Mapping)):
        raise LanguageError(
            f"{questions!r} is one question", advice="Give a list of questions, or use lcn.query(...)."
        )
    if not isinstance(questions, Iterable):
        raise LanguageError(
            f"{questions!r} is no list of questions", advice='Give one: ["P(a)", "P(b | a)"].'
        )
    if hasattr(questions, "columns"):
        raise LanguageError("a frame is no list of questions", advice='Give its column: frame["query"].')
    for number, asked in enumerate(questions, 1):
        yield item_of(asked, number)


def item_of(asked: object, number: int, *, query: str = "") -> Item:
    """Return one question; `query` is what it asks if it does not say."""
    if isinstance(asked, Item):
        return asked
    if isinstance(asked, Mapping):
        return _from_fields(asked, number, query)
    if isinstance(asked, str):
        return Item(number, asked.strip())
    from credalog.text.builder import query_of

    try:
        return Item(number, str(query_of(asked)))
    except CredalogError as error:
        return Item(number, str(asked), wrong=str(error))


def _from_fields(fields: Mapping[Any, Any], number: int, query: str) -> Item:
    name = fields.get("id", number)
    known = isinstance(name, (str, int)) and not isinstance(name, bool)
    asked = fields.get("query", query)
    try:
        _check(fields, is_named=known, asked=asked)
        return Item(
            name,
            asked,
            _observed(fields.get("evidence") or ()),
            fields.get("timeout"),
            fields.get("model") or "",
        )
    except LanguageError as error:
        return Item(name if known else number, asked if isinstance(asked, str) else "", wrong=str(error))


def _check(fields: Mapping[Any, Any], *, is_named: bool, asked: object) -> None:
    """Complain about what a question says of itself."""
    if unknown := [field for field in fields if field not in FIELDS]:
        raise LanguageError(
            f"a question has no field {unknown[0]!r}", advice=f"Its fields are {', '.join(FIELDS)}."
        )
    if not is_named:
        raise LanguageError(f"{fields['id']!r} is no id", advice="Give a text or a whole number.")
    if not isinstance(asked, str) or not asked.strip():
        raise LanguageError("a question asks nothing", advice='Give it a field "query": "P(a | b)".')
    timeout, model = fields.get("timeout"), fields.get("model")
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and timeout > 0
    if not (timeout is None or is_number):
        raise LanguageError(f"timeout {timeout!r} is no limit", advice="Give a positive number of seconds.")
    if not (model is None or isinstance(model, str)):
        raise LanguageError(f"{model!r} is no name of a model", advice="Give the name of its file.")


def _observed(evidence: Any) -> tuple[tuple[str, Value], ...] | str:
    if isinstance(evidence, str):
        return evidence
    if not isinstance(evidence, Mapping):
        if evidence == ():
            return ()
        raise LanguageError(
            f"{evidence!r} is no evidence", advice='Give {"a": true, "Color": "red"}, or a formula as text.'
        )
    return tuple((str(name), _value(name, value)) for name, value in evidence.items() if value is not None)


def _value(name: object, value: object) -> Value:
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, (int, float)):
        return f"{value:g}"
    raise LanguageError(f"{value!r} is no value of {name}", advice="Give true, false or the name of a value.")


def only_once(items: Iterable[Item]) -> Iterator[Item]:
    """Pass questions on, and complain where two have the same name: their answers could not be told apart."""
    seen: set[str] = set()
    for item in items:
        if item.key in seen:
            raise LanguageError(
                f"two questions have the id {item.id}",
                advice="Give each its own id, or none: then its number counts.",
            )
        seen.add(item.key)
        yield item


# ---- outcomes ---------------------------------------------------------------------------------------------
# What became of one question of a batch.
# Input: an answer, or why there is none. Output: `Outcome`: numbers and words that stand in one line of a
# file.

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
