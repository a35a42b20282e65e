"""Where data come from.

Input: the text of a data file, and what it extends. Output: the rows of a table, and the place of any row, so
that a complaint about a row can point at it however late the mistake is found.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO

from credalog.errors import LanguageError, Place

_CELL = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^,\n]*))')


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
                return self._offset_of_cell(line, columns[cell] if cell < len(columns) else 0)
        return None

    def _offset_of_cell(self, line: int, column: int) -> int:
        start = offset_of_line(self.text, line)
        for _ in range(column):
            found = _CELL.match(self.text, start)
            start = self.text.find(",", found.end() if found else start) + 1
        found = _CELL.match(self.text, start)
        return max(found.start("quoted"), found.start("plain")) if found else start

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


def records(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file that are not blank, each with the line where it begins."""
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise LanguageError(
            f"{file} is not CSV: {error}",
            place=Place.within(text, offset_of_line(text, line), file=file),
            advice="Close each quote that is opened.",
        ) from None
