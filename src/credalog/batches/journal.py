"""The file of a batch: one line for each question, written when it is answered.

Input: outcomes. Output: lines of JSON, each with the fingerprint of what was asked. The file is all there is
to know: a batch that was interrupted or killed goes on from it. A line that was being written at that moment
is taken away and asked again. A Parquet file is made of the lines when the batch ends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from credalog.batches.items import FAILED, Outcome
from credalog.errors import CredalogError, MissingLibrary

__all__ = ["Fingerprint", "Journal", "journal"]

FIELD = "batch"
"""The field of a line that holds the fingerprint."""

PARTS = ("model", "questions", "options")

DIGITS = 12

BEGINNING = b'{"id": '
"""How every line begins."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Digests of the model, of the questions, and of the options that answers depend on."""

    model: str
    questions: str
    options: str

    @classmethod
    def of(cls, model: bytes, questions: bytes, options: Mapping[str, Any]) -> Fingerprint:
        """Digest what a batch asks."""
        told = json.dumps(options, sort_keys=True, default=str).encode()
        return cls(*(sha256(part).hexdigest()[:DIGITS] for part in (model, questions, told)))

    def __str__(self) -> str:
        return "-".join((self.model, self.questions, self.options))

    def difference(self, other: str) -> str:
        """Say what is not as it was."""
        changed = [
            name
            for name, mine, its in zip(PARTS, str(self).split("-"), other.split("-"), strict=False)
            if mine != its
        ]
        return " and the ".join(changed) or PARTS[0]


@dataclass(slots=True)
class Journal:
    """A file of answers that is open: what stands in it, and where to write more."""

    path: Path
    fingerprint: Fingerprint
    file: BinaryIO
    done: set[str]
    exact: int = 0
    failed: int = 0
    is_complete: bool = False
    """Whether every question has its line; a table then needs its lines no more."""

    def write(self, outcome: Outcome) -> None:
        """Add a line, in one piece."""
        fields = outcome.to_dict()
        line = json.dumps({**fields, FIELD: str(self.fingerprint)}, ensure_ascii=False, allow_nan=False)
        with _told_of_trouble(self.path):
            self._append(line.encode() + b"\n")
        # After it: should Ctrl-C come between the two, the file has more than is counted, never less.
        self._count(fields)

    def _append(self, line: bytes) -> None:
        """Write a line whole, or not at all: a disk that gets full takes a part of it without a word.

        Unbuffered: what was answered is in the file, even if this process is killed now.
        """
        begin, written = self.file.tell(), 0
        try:
            while written < len(line):
                written += self.file.write(line[written:])
        except OSError:
            with suppress(OSError):
                self.file.truncate(begin)
                self.file.seek(begin)
            raise

    def _count(self, fields: Mapping[str, Any]) -> None:
        self.done.add(str(fields["id"]))
        self.exact += fields["status"] == "EXACT"
        self.failed += fields["status"] == FAILED

    def recover(self) -> None:
        """Read what stands in the file, and take an unfinished line away."""
        end = 0
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                fields = _fields(line)
                if fields is None:
                    # Half a line of ours begins as a whole one does; anything else is somebody's text.
                    if lines.read(1) or not BEGINNING.startswith(line[: len(BEGINNING)]):
                        raise CredalogError(
                            f"line {number} of {self.path} is no answer",
                            advice="Name another file to write to, or remove it.",
                        )
                    break
                self._check(fields)
                self._count(fields)
                end += len(line)
        self.file.truncate(end)
        self.file.seek(end)

    def _check(self, fields: Mapping[str, Any]) -> None:
        found = fields.get(FIELD)
        if found is None or "id" not in fields or "status" not in fields:
            raise CredalogError(
                f"{self.path} is there and holds no answers of a batch",
                advice="Name another file to write to, or remove it.",
            )
        if found != str(self.fingerprint):
            changed = self.fingerprint.difference(found)
            raise CredalogError(
                f"{self.path} holds answers of another batch: the {changed} changed",
                advice="Name another file to write to, or remove it to ask everything again.",
            )
        if str(fields["id"]) in self.done:
            raise CredalogError(
                f"{self.path} answers the question {fields['id']} twice",
                advice="Name another file to write to, or remove one of the lines.",
            )


@contextmanager
def _told_of_trouble(path: Path) -> Iterator[None]:
    """Say why a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise CredalogError(
            f"{path} cannot be written: {(error.strerror or str(error)).lower()}",
            advice="Make room, and ask again: what was answered is not asked again.",
        ) from None


def _fields(line: bytes) -> dict[str, Any] | None:
    """Return what a line holds; None where it is not whole."""
    if not line.endswith(b"\n"):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


@contextmanager
def journal(path: Path, fingerprint: Fingerprint) -> Iterator[Journal]:
    """Open the file of a batch, new or to go on with; nobody else may write to it meanwhile."""
    is_table = path.suffix.lower() == ".parquet"
    if is_table:
        _require_arrow()
        _check_table(path, fingerprint)
    lines = path.with_name(path.name + ".jsonl") if is_table else path
    with _opened(lines) as file:
        if is_table and path.exists() and not lines.stat().st_size:
            _restore_lines(path, file)
        opened = Journal(lines, fingerprint, file, set())
        opened.recover()
        try:
            yield opened
        finally:
            with _told_of_trouble(lines):
                os.fsync(file.fileno())
            if is_table:
                with _told_of_trouble(path):
                    _write_table(lines, path, fingerprint)
        if is_table and opened.is_complete:
            lines.unlink()


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file without a buffer, for this process alone."""
    try:
        # Reading goes through a buffer of its own, so that lines are found quickly.
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise CredalogError(
            f"{path} cannot be written: {(error.strerror or str(error)).lower()}",
            advice="Name a place where you may write.",
        ) from None
    with os.fdopen(handle, "r+b", buffering=0) as file:
        _lock(file, path)
        yield file


def _lock(file: Any, path: Path) -> None:
    """Refuse a file that another batch writes to; the lock goes with its process."""
    try:
        import fcntl
    except ImportError:  # where there are no such locks
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise CredalogError(
            f"another batch writes to {path}", advice="Wait for it, or name another file."
        ) from None


# ---- Parquet ----------------------------------------------------------------------------------------------


def _require_arrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingLibrary.of("PyArrow", "data", otherwise="write to a .jsonl file") from None


def _check_table(path: Path, fingerprint: Fingerprint) -> None:
    """Refuse a table that is not of this batch."""
    if not path.exists():
        return
    from pyarrow import ArrowInvalid, parquet

    try:
        held = (parquet.read_schema(path).metadata or {}).get(FIELD.encode())
    except (ArrowInvalid, OSError):
        held = None
    if held is None:
        raise CredalogError(
            f"{path} is there and holds no answers of a batch",
            advice="Name another file to write to, or remove it.",
        )
    if held.decode() != str(fingerprint):
        raise CredalogError(
            f"{path} holds answers of another batch: the {fingerprint.difference(held.decode())} changed",
            advice="Name another file to write to, or remove it to ask everything again.",
        )


def _write_table(lines: Path, path: Path, fingerprint: Fingerprint) -> None:
    """Write all lines as a table, whole or not at all."""
    import pyarrow
    from pyarrow import parquet

    with lines.open("rb") as file:
        rows = [_row(json.loads(line)) for line in file]
    schema = pyarrow.schema(_columns(pyarrow), metadata={FIELD: str(fingerprint)})
    beside = path.with_name(f".{path.name}.new")
    try:
        parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), beside)
        beside.replace(path)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _restore_lines(path: Path, file: BinaryIO) -> None:
    """Write a table as lines again, of which it was made."""
    from pyarrow import parquet

    table = parquet.read_table(path)
    held = table.schema.metadata[FIELD.encode()].decode()
    for row in table.to_pylist():
        witnesses = json.loads(row.pop("witnesses") or "null")
        file.write(json.dumps({**row, "witnesses": witnesses, FIELD: held}).encode() + b"\n")


def _row(fields: dict[str, Any]) -> dict[str, Any]:
    witnesses = fields.get("witnesses")
    texts = {"id": str(fields["id"]), "witnesses": json.dumps(witnesses) if witnesses else None}
    return {**fields, **texts, "model": fields.get("model") or None}


def _columns(pyarrow: Any) -> list[tuple[str, Any]]:
    """Return the columns of a table of outcomes with their types."""
    numbers = ("lower", "upper", "lower_witnessed", "upper_witnessed", "seconds")
    names = tuple(Outcome.__dataclass_fields__)
    return [(name, pyarrow.float64() if name in numbers else pyarrow.string()) for name in names]
