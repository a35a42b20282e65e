"""Tables with named columns, from files, frames and queries.

Input: a CSV or Parquet file, a frame of pandas, Polars or Arrow, a relation of DuckDB, a mapping of
columns, or a query of SQL. Output: `Sheet`: each column as codes of its distinct values, so that a
million rows are counted without looking at each, and the place of every cell.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from credalog.errors import LanguageError, MissingLibrary, Place, UnknownName
from credalog.garbage import uncollected
from credalog.network.sentences import Source, exact
from credalog.text.statements import text_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Frame: TypeAlias = Any
"""A frame of pandas, Polars or Arrow, a relation of DuckDB, or a mapping from names to columns."""

Codes: TypeAlias = "NDArray[np.int32]"

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 50
"""So many rows tell how the cells of a file are separated."""
CHUNK = 50_000
"""So many rows are encoded at a time."""
TABLES = (".csv", ".tsv", ".txt", ".parquet")
"""The suffixes of files that hold one table."""
SHOWN = 12


@dataclass(frozen=True, slots=True)
class Column:
    """The distinct values of a column, and for each row the number of its value, -1 for none."""

    name: str
    values: tuple[str, ...]
    codes: Codes

    def texts(self) -> list[str]:
        """Return the cells, an empty one as the empty string."""
        known = (*self.values, "")
        return [known[code] for code in self.codes.tolist()]


@dataclass(frozen=True)
class Sheet:
    """A table: its name, its columns by their headings, and its number of rows."""

    name: str
    columns: Mapping[str, Column]
    count: int
    text: str = ""
    """The text of a file that has one."""
    has_decimal_comma: bool = False
    """Whether 0,5 is a number: where cells are separated by something else."""

    def column(self, wanted: str, *others: str, what: str = "") -> Column:
        """Return the column with one of these headings, or complain with the headings there are."""
        found = self.find(wanted, *others)
        if found is None:
            near = get_close_matches(wanted, list(self.columns), n=1, cutoff=0.6)
            meant = f"Did you mean {near[0]!r}? " if near else ""
            listed = ", ".join(map(repr, list(self.columns)[:SHOWN]))
            raise UnknownName(
                f"{self.name} has no column {wanted}{what and f' for {what}'}",
                place=self.place_of_heading(),
                advice=f"{meant}Its columns are {listed}{', …' if len(self.columns) > SHOWN else ''}.",
            )
        return found

    def find(self, *wanted: str) -> Column | None:
        """Return the column with one of these headings, as written or else but for blanks, case and marks."""
        for name in wanted:
            if name in self.columns:
                return self.columns[name]
        for name in wanted:
            alike = self._alike.get(_plain(name), [])
            if len(alike) == 1:
                return self.columns[alike[0]]
        return None

    @cached_property
    def _alike(self) -> dict[str, list[str]]:
        alike: dict[str, list[str]] = {}
        for name in self.columns:
            alike.setdefault(_plain(name), []).append(name)
        return alike

    @cached_property
    def _lines(self) -> Sequence[int]:
        """The line of a file, or else the number from 1, of every row."""
        if not self.text:
            return range(1, self.count + 1)
        return list(_lines_of(self.text))[1:]

    def source(self, row: int) -> Source:
        """Return where a row was read."""
        return Source(self.name, self._lines[row])

    def place(self, row: int, column: str) -> Place:
        """Point at a cell."""
        cells = [
            each.values[each.codes[row]] if each.codes[row] >= 0 else "" for each in self.columns.values()
        ]
        before = cells[: list(self.columns).index(column)]
        return Place(self._lines[row], len(",".join([*before, ""])) + 1, ",".join(cells), self.name)

    def numbers(self, column: Column) -> list[Fraction | None]:
        """Read a column of numbers exactly; an empty cell is none."""
        known: list[Fraction | None] = [self._number(column, code) for code in range(len(column.values))]
        known.append(None)
        return [known[code] for code in column.codes.tolist()]

    def _number(self, column: Column, code: int) -> Fraction:
        import numpy as np

        text = column.values[code]
        try:
            return exact(text.replace(",", ".", 1) if self.has_decimal_comma else text)
        except LanguageError as error:
            raise LanguageError(
                f"{text!r} in the column {column.name} of {self.name} is no number",
                place=self.place(int(np.argmax(column.codes == code)), column.name),
                advice=error.advice,
            ) from None

    def place_of_heading(self) -> Place:
        """Point at the headings."""
        return Place(1, 1, ",".join(self.columns), self.name)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


# ---- where tables are -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Library:
    """Where a text finds the tables it names: frames by name, and folders."""

    frames: Mapping[str, Frame]
    folders: tuple[Path, ...] = ()
    used: set[str] = field(default_factory=set, compare=False)
    """The names of the frames that were asked for."""

    def sheet(self, name: str, folder: Path) -> Sheet:
        """Return the table of a name: a frame, a file beside the text, or one in a folder of data."""
        for known in (name, Path(name).stem):
            if known in self.frames:
                self.used.add(known)
                return sheet_of(self.frames[known], known)
        places = [folder / name, *(each / name for each in self.folders)]
        path = next((path for path in places if "\0" not in name and path.is_file()), None)
        if path is None:
            frames = f" Tables given: {', '.join(self.frames)}." if self.frames else ""
            raise UnknownName(
                f"there is no table {name}", advice=f"Looked for {', '.join(map(str, places))}.{frames}"
            )
        return read_sheet(path)

    def answer(self, query: str, folder: Path) -> Sheet:
        """Return the answer of DuckDB to a query, in which frames and files of the folder are tables."""
        self.used.update(name for name in self.frames if name in query)
        return query_sheet(query, folder=folder, frames=self.frames)


NOWHERE = Library({})


def read_sheet(path: str | Path) -> Sheet:
    """Read a file that holds one table."""
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        return _parquet(path)
    return csv_sheet(text_of(path), str(path))


def query_sheet(query: str, *, folder: Path = Path(), frames: Mapping[str, Frame] | None = None) -> Sheet:
    """Ask DuckDB."""
    try:
        import duckdb
    except ImportError:
        raise MissingLibrary.of("DuckDB", "data") from None
    with duckdb.connect() as database:
        database.execute("SET file_search_path = ?", [str(folder.resolve())])
        for name, frame in (frames or {}).items():
            database.register(name, _arrow(frame) if isinstance(frame, Mapping) else frame)
        try:
            return sheet_of(database.sql(query), "the query")
        except duckdb.Error as error:
            raise LanguageError(f"the query failed: {str(error).splitlines()[0]}", advice=query) from None


# ---- CSV --------------------------------------------------------------------------------------------------


def csv_sheet(text: str, name: str) -> Sheet:
    """Read a text of cells; the first row holds the headings."""
    import numpy as np

    reader = _reader(text)
    rows = filter(None, reader)
    headings = [cell.strip() for cell in _taken(rows, 1, reader, text, name)[0]] if text.strip() else []
    _check_headings(headings, name)
    known: list[dict[str, int]] = [{} for _ in headings]
    chunks: list[list[Codes]] = [[] for _ in headings]
    count = 0
    with uncollected():
        while chunk := _taken(rows, CHUNK, reader, text, name):
            _check_lengths(chunk, headings, Sheet(name, {}, count + len(chunk), text), count)
            count += len(chunk)
            for cells, codes, each in zip(zip(*chunk, strict=True), chunks, known, strict=True):
                codes.append(_encoded(cells, each))
    joined = [np.concatenate(codes) if codes else np.empty(0, np.int32) for codes in chunks]
    columns = {h: _column(h, tuple(v), c) for h, v, c in zip(headings, known, joined, strict=True)}
    return Sheet(name, columns, count, text, reader.dialect.delimiter != ",")


def _encoded(cells: Iterable[str], known: dict[str, int]) -> Codes:
    import numpy as np

    for cell in set(cells) - known.keys():
        known[cell] = len(known)
    return np.fromiter(map(known.__getitem__, cells), np.int32)


def _column(name: str, values: tuple[str, ...], codes: Codes) -> Column:
    """Return a column with its values in the order of appearance, free of blanks; an empty one is none."""
    import numpy as np

    first = _first_rows(codes, len(values))
    numbers: dict[str, int] = {}
    renumbered = np.empty(len(values) + 1, np.int32)
    renumbered[-1] = -1
    for old in np.argsort(first, kind="stable").tolist():
        value = values[old].strip()
        renumbered[old] = numbers.setdefault(value, len(numbers)) if value else -1
    return Column(name, tuple(numbers), renumbered[codes])


def _first_rows(codes: Codes, count: int) -> NDArray[np.intp]:
    import numpy as np

    first = np.full(count, len(codes), np.intp)
    present, where = np.unique(codes, return_index=True)
    first[present[present >= 0]] = where[present >= 0]
    return first


def _check_headings(headings: Sequence[str], name: str) -> None:
    place = Place(1, 1, ",".join(headings), name)
    if not headings:
        raise LanguageError(f"{name} is empty", advice="Its first row should name the columns.")
    for i, heading in enumerate(headings):
        if heading and heading in headings[:i]:
            raise LanguageError(
                f"{name} has two columns {heading}", place=place, advice="Give each column its own heading."
            )


def _check_lengths(chunk: list[list[str]], headings: Sequence[str], sheet: Sheet, before: int) -> None:
    if set(map(len, chunk)) == {len(headings)}:
        return
    row, cells = next((i, row) for i, row in enumerate(chunk) if len(row) != len(headings))
    line = sheet.source(before + row).line
    raise LanguageError(
        f"a row of {sheet.name} has {len(cells)} cells and not {len(headings)}",
        place=Place(line, 1, ",".join(cells), sheet.name),
        advice=f"A row holds {', '.join(headings[:SHOWN])}; a cell with a separator in it stands in quotes.",
    )


def _reader(text: str) -> Any:
    delimiter, quote = _dialect(text)
    lines = StringIO(text, newline="")
    return csv.reader(lines, delimiter=delimiter, quotechar=quote, skipinitialspace=True, strict=True)


def _taken(rows: Iterator[list[str]], count: int, reader: Any, text: str, name: str) -> list[list[str]]:
    """Return the next rows that are not blank."""
    try:
        return list(islice(rows, count))
    except csv.Error as error:
        line = max(1, reader.line_num)
        raise LanguageError(
            f"{name} is not CSV: {error}",
            place=Place(line, 1, text.split("\n")[line - 1], name),
            advice="Close each quote that is opened; a quote inside quotes is doubled.",
        ) from None


def _lines_of(text: str) -> Iterator[int]:
    """Yield the line where each row begins that is not blank."""
    reader = _reader(text)
    line = 1
    for row in reader:
        if row:
            yield line
        line = reader.line_num + 1


def _dialect(text: str) -> tuple[str, str]:
    """Choose the separator and the quote that cut the first rows into the most cells, as many in each."""
    lines = text.split("\n", SAMPLE)[:SAMPLE]
    # A last line that may be cut inside quotes tells nothing.
    sample = [line for line in lines if line.strip()]

    def cells(delimiter: str, quote: str) -> tuple[bool, int]:
        counts = [len(row) for row in csv.reader(sample, delimiter=delimiter, quotechar=quote) if row]
        return len(set(counts)) == 1 and counts[0] > 1, counts[0] if counts else 0

    is_quoted = any(line.lstrip().startswith("'") for line in sample[:2])
    choices = [(delimiter, "'" if is_quoted else '"') for delimiter in DELIMITERS]
    even = [choice for choice in choices if cells(*choice)[0]]
    return max(even or choices, key=lambda choice: cells(*choice)[1])


# ---- frames -----------------------------------------------------------------------------------------------


def is_frame(value: object) -> bool:
    """Tell a frame of one of the known libraries from a list or mapping of rows."""
    return isinstance(value, Sheet) or hasattr(value, "__arrow_c_stream__") or hasattr(value, "columns")


def sheet_of(frame: Frame, name: str = "the frame") -> Sheet:
    """Return a frame of any of the known libraries, or a mapping of columns, as a sheet."""
    if isinstance(frame, Sheet):
        return frame
    if isinstance(frame, str | Path):
        return read_sheet(frame)
    if isinstance(frame, Mapping):
        columns = {str(heading): _of_values(str(heading), cells) for heading, cells in frame.items()}
    elif type(frame).__module__.partition(".")[0] == "pandas":
        columns = {str(heading): _of_pandas(str(heading), frame[heading]) for heading in frame.columns}
    elif hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "column_names"):
        columns = _of_arrow(_arrow(frame))
    else:
        raise LanguageError(
            f"a {type(frame).__name__} is no table",
            advice="Give a path, a frame of pandas, Polars or Arrow, or a mapping: {'a': [True, False]}.",
        )
    counts = {len(column.codes) for column in columns.values()}
    if len(counts) > 1:
        raise LanguageError(f"the columns of {name} have different lengths")
    return Sheet(name, columns, counts.pop() if counts else 0)


def _arrow(frame: Frame) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingLibrary.of("PyArrow", "data", otherwise="give a frame of pandas") from None
    return pyarrow.table(dict(frame) if isinstance(frame, Mapping) else frame)


def _of_arrow(table: Any) -> dict[str, Column]:
    import numpy as np
    from pyarrow import compute

    columns = {}
    for heading in table.column_names:
        cells = compute.dictionary_encode(table[heading].combine_chunks())
        cells = cells.combine_chunks() if hasattr(cells, "combine_chunks") else cells
        codes = cells.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        columns[heading] = _column(heading, tuple(map(text_of_cell, cells.dictionary.to_pylist())), codes)
    return columns


def _of_pandas(heading: str, cells: Any) -> Column:
    import numpy as np
    import pandas

    codes, values = pandas.factorize(cells, use_na_sentinel=True)
    return _column(heading, tuple(map(text_of_cell, values)), np.asarray(codes, np.int32))


def _of_values(heading: str, cells: Iterable[Any]) -> Column:
    import numpy as np

    texts = [text_of_cell(cell) for cell in cells]
    known: dict[str, int] = {}
    codes = _encoded(texts, known) if texts else np.empty(0, np.int32)
    return _column(heading, tuple(known), codes)


def text_of_cell(cell: Any) -> str:
    """Write the value of a cell as a file would: true and false small, whole numbers without a point."""
    import numpy as np

    if cell is None or cell != cell:  # noqa: PLR0124 -- what differs from itself is no number
        return ""
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, float | np.floating):
        return str(int(cell)) if float(cell).is_integer() else repr(float(cell))
    return str(cell)


def _parquet(path: Path) -> Sheet:
    if not path.is_file():
        raise UnknownName(f"there is no file {path}")
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingLibrary.of("PyArrow", "data") from None
    try:
        return Sheet(str(path), columns := _of_arrow(parquet.read_table(path)), _rows_of(columns))
    except pyarrow.ArrowInvalid as error:
        raise LanguageError(f"{path} is not Parquet: {error}") from None


def _rows_of(columns: Mapping[str, Column]) -> int:
    return next((len(column.codes) for column in columns.values()), 0)
