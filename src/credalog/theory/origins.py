"""Where data come from.

Input: the text of a data file, and what it extends. Output: the rows of a table, however its cells are
separated and quoted, and the place of any row, so that a complaint about a row can point at it however late
the mistake is found.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, NamedTuple

from credalog.errors import LanguageError, Place

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 50
"""So many lines tell how the cells of a file are separated."""

_TOLD = re.compile(r"sep=(.)\n")
"""The first line of a table in which a spreadsheet says how cells are separated."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The entry of a data file that extends a name: the line where it begins, and the columns taken.

    With an empty tuple they are all taken. With None the file is JSON, whose rows are found by what stands
    in them.
    """

    name: str
    file: str
    text: str
    line: int = 1
    columns: tuple[int, ...] | None = None

    def place(self, row: Sequence[str] = (), cell: int = 0) -> Place:
        """Point at a cell of a row, the first row that has these cells, or else at the beginning."""
        found = self.find(row, cell) if row else None
        return found or Place.within(self.text, offset_of_line(self.text, self.line), file=self.file)

    def find(self, row: Sequence[str], cell: int = 0) -> Place | None:
        """Point at a cell of the first row that has these cells, if there is one."""
        find = self._offset_in_json if self.columns is None else self._offset_in_table
        offset = find(row, cell)
        return None if offset is None else Place.within(self.text, offset, file=self.file)

    def _offset_in_table(self, row: Sequence[str], cell: int) -> int | None:
        columns = self.columns or tuple(range(len(row)))
        for line, cells in records(self.text, self.file):
            taken = [cells[i] for i in columns if i < len(cells)] if self.columns else cells
            if taken == list(row):
                return offset_of_cell(self.text, line, columns[cell] if cell < len(columns) else 0)
        return None

    def _offset_in_json(self, row: Sequence[str], cell: int) -> int | None:
        cells = [re.escape(each) for each in row]
        if cell < len(cells):
            cells[cell] = f"(?P<here>{cells[cell]})"
        start = offset_of_line(self.text, self.line)
        # A whole row is looked for first; one cell may also stand for a row.
        for before, after in ((r"^|\[", r"\]|$"), (r"^|[\[,{]", r"[\],}]|$")):
            joined = r'"?\s*[,:]\s*"?'.join(cells)
            form = re.compile(rf'(?:{before})\s*"?{joined}"?\s*(?:{after})', re.MULTILINE)
            if found := form.search(self.text, start):
                return found.start("here")
        return None


def offset_of_line(text: str, line: int) -> int:
    """Return where a line begins."""
    return sum(len(whole) + 1 for whole in text.split("\n")[: line - 1])


# ---- rows and cells ---------------------------------------------------------------------------------------


class Dialect(NamedTuple):
    """How cells are separated and quoted."""

    delimiter: str
    quote: str

    def reader(self, lines: Any, *, strict: bool = True) -> Any:
        """Return Python's reader of these lines."""
        return csv.reader(
            lines, delimiter=self.delimiter, quotechar=self.quote, skipinitialspace=True, strict=strict
        )


def dialect_of(text: str) -> Dialect:
    """Choose the separator and the quote that cut the first rows into the most cells, as many in each."""
    if told := _TOLD.match(text):
        return Dialect(told[1], '"')
    sample = text.split("\n", SAMPLE)
    lines = [f"{line}\n" for line in sample[:SAMPLE] if line.strip()]
    is_quoted = any(line.lstrip().startswith("'") for line in lines[:2])
    choices = [Dialect(delimiter, "'" if is_quoted else '"') for delimiter in DELIMITERS]
    counts = {choice: _counts(choice, lines, is_cut=len(sample) > SAMPLE) for choice in choices}
    even = [choice for choice in choices if len(set(counts[choice])) == 1 and counts[choice][0] > 1]
    return max(even or choices, key=lambda choice: counts[choice][:1])


def _counts(dialect: Dialect, lines: Sequence[str], *, is_cut: bool) -> list[int]:
    """Return how many cells each of the first rows has."""
    try:
        counts = [len(row) for row in dialect.reader(lines, strict=False) if row]
    except csv.Error:
        return []
    # The last row of a sample may be cut inside quotes, and tells nothing.
    return counts[:-1] if is_cut and len(counts) > 1 else counts


def reader_of(text: str) -> Any:
    """Return Python's reader of a table, at the first row that belongs to it."""
    reader = dialect_of(text).reader(StringIO(text, newline=""))
    if _TOLD.match(text):
        next(reader)
    return reader


def not_csv(text: str, file: str, error: csv.Error) -> LanguageError:
    """Complain about a row that cannot be cut into cells, at the line where it begins."""
    line, reader = 1, reader_of(text)
    try:
        for _ in reader:
            line = reader.line_num + 1
    except csv.Error:
        pass
    return LanguageError(
        f"{file} is not CSV: {error}",
        place=Place.within(text, offset_of_line(text, line), file=file),
        advice="Close each quote that is opened; a quote inside quotes is doubled.",
    )


def records(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file that are not blank, each with the line where it begins."""
    reader = reader_of(text)
    line = reader.line_num + 1
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise not_csv(text, file, error) from None


def offset_of_cell(text: str, line: int, column: int) -> int:
    """Return where a cell of the row that begins on this line begins, past its blanks and its quote."""
    dialect = dialect_of(text)
    start, is_inside = offset_of_line(text, line), False
    for i in range(start, len(text)):
        if column == 0 or (text[i] == "\n" and not is_inside):
            break
        # A quote inside quotes is doubled: it closes them and opens them again.
        is_inside ^= text[i] == dialect.quote
        if text[i] == dialect.delimiter and not is_inside:
            column, start = column - 1, i + 1
    found = re.compile(rf"[^\S\n\t]*{re.escape(dialect.quote)}?").match(text, start)
    return found.end() if found else start
