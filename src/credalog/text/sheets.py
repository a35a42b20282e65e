"""Tables with named columns, from files, frames and queries.

Input: a CSV or Parquet file, a frame of pandas, Polars or Arrow, a relation of DuckDB, a mapping of
columns, or a query of SQL. Output: `Sheet`: each column as codes of its distinct values, so that a
million rows are counted without looking at each, and the place of every cell.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from itertools import islice, takewhile
from math import isfinite, isnan
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from credalog.errors import LanguageError, MissingLibrary, Place, UnknownName
from credalog.network.sentences import Source, exact
from credalog.numbers.budget import uncollected
from credalog.text.statements import bytes_of, text_of, with_plain_lines
from credalog.theory.origins import not_csv, offset_of_cell, offset_of_line, reader_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Frame: TypeAlias = Any
"""A frame of pandas, Polars or Arrow, a relation of DuckDB, or a mapping from names to columns."""

Codes: TypeAlias = "NDArray[np.int32]"

SAMPLE = 4096
"""So many bytes tell a text from what is none, such as the file of a spreadsheet."""
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
    chosen: tuple[int, ...] | None = None
    """The numbers of the rows, from 0, where they are some of those of a larger table."""

    def column(self, wanted: str, *others: str, what: str = "", otherwise: str = "") -> Column:
        """Return the column with one of these headings, or complain with the headings there are."""
        found = self.find(wanted, *others)
        if found is None:
            near = self._near(wanted)
            meant = f"Did you mean {near!r}? " if near else ""
            listed = ", ".join(map(repr, list(self.columns)[:SHOWN]))
            more = ", …" if len(self.columns) > SHOWN else ""
            raise UnknownName(
                f"{self.name} has no column {wanted}{what and f' for {what}'}",
                place=self.place_of_heading(),
                advice=f"{meant}Its columns are {listed}{more}.{otherwise and f' {otherwise}'}",
            )
        return found

    def _near(self, wanted: str) -> str | None:
        """Return a heading that may be meant: one alike, or the only one that has the word in it."""
        plain = {_plain(name): name for name in self.columns}
        near = get_close_matches(_plain(wanted), list(plain), n=1, cutoff=0.6)
        near = near or [name for name in plain if _plain(wanted) and _plain(wanted) in name]
        return plain[near[0]] if len(near) == 1 else None

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
            chosen = range(self.count) if self.chosen is None else self.chosen
            return [row + 1 for row in chosen]
        lines = list(_lines_of(self.text))[1:]
        return lines if self.chosen is None else [lines[row] for row in self.chosen]

    def only(self, rows: NDArray[np.bool_]) -> Sheet:
        """Return some of the rows, each with its place."""
        columns = {
            heading: Column(heading, column.values, column.codes[rows])
            for heading, column in self.columns.items()
        }
        numbers = tuple(rows.nonzero()[0].tolist())
        chosen = numbers if self.chosen is None else tuple(self.chosen[row] for row in numbers)
        return replace(self, columns=columns, count=len(numbers), chosen=chosen)

    def source(self, row: int) -> Source:
        """Return where a row was read."""
        return Source(self.name, self._lines[row])

    def place(self, row: int, column: str) -> Place:
        """Point at a cell."""
        line, number = self._lines[row], list(self.columns).index(column)
        if not self.text:
            return Place(line, number + 1, file=self.name, inside=f"row {line} of {self.name}")
        return Place.within(self.text, offset_of_cell(self.text, line, number), file=self.name)

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
                advice=f"{error.advice} Where there is none, leave the cell empty.",
            ) from None

    def place_of_heading(self) -> Place:
        """Point at the headings."""
        if not self.text:
            return Place(0, 1, ", ".join(self.columns), self.name, inside=f"the headings of {self.name}")
        line = next(_lines_of(self.text))
        return Place.within(self.text, offset_of_line(self.text, line), file=self.name)


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

    def text(self, path: Path) -> str:
        """Return the text of a file that another includes."""
        return text_of(path)

    def whole(self, path: Path) -> Path:
        """Return the one name of a file that may be named in several ways."""
        return path.resolve()


NOWHERE = Library({})


@dataclass(frozen=True, slots=True)
class Shelf(Library):
    """The files that came with a text: what it names is found among them, and never on the disk."""

    texts: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    def sheet(self, name: str, folder: Path) -> Sheet:
        """Return a table among the files."""
        return csv_sheet(self.text(folder / name), name)

    def answer(self, query: str, folder: Path) -> Sheet:
        """Refuse a query: the database would read any file that it names."""
        raise LanguageError("queries of SQL are not asked here", advice="Give the rows as a CSV file.")

    def text(self, path: Path) -> str:
        """Return the text of one of the files."""
        name = self.whole(path).as_posix()
        if name not in self.texts:
            known = f"Given are {', '.join(self.texts)}." if self.texts else "Add it first."
            advice = f"Files on the disk are not read. {known}"
            raise UnknownName(f"there is no file {path} here", advice=advice)
        return with_plain_lines(self.texts[name])

    def whole(self, path: Path) -> Path:
        """Return the name without detours, and without a look at the disk."""
        return Path(normpath(path))


def read_sheet(path: str | Path) -> Sheet:
    """Read a file that holds one table."""
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        return _parquet(path)
    return csv_sheet(table_text(path), str(path))


def table_text(path: Path) -> str:
    """Return the text of a table: UTF-8 or UTF-16 as its first bytes say, or else Western European letters.

    Spreadsheets write either. Letters read wrongly are still told apart, and none of them is a digit.
    """
    written = bytes_of(path)
    if written.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return with_plain_lines(written.decode("utf-16", errors="replace"))
    if b"\0" in written[:SAMPLE]:
        raise LanguageError(f"{path} is no text", advice="Save the sheet as CSV, in UTF-8.")
    try:
        return with_plain_lines(written.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return with_plain_lines(written.decode("cp1252", errors="replace"))


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
            why = " ".join(takewhile(str.strip, str(error).splitlines()))
            raise LanguageError(f"the query failed: {why}", advice=query) from None


# ---- CSV --------------------------------------------------------------------------------------------------


def csv_sheet(text: str, name: str) -> Sheet:
    """Read a text of cells; the first row holds the headings."""
    import numpy as np

    reader = reader_of(text)
    rows = filter(None, reader)
    headings = [cell.strip() for row in _taken(rows, 1, text, name) for cell in row]
    _check_headings(headings, name)
    known: list[dict[str, int]] = [{} for _ in headings]
    chunks: list[list[Codes]] = [[] for _ in headings]
    count = 0
    with uncollected():
        while chunk := _taken(rows, CHUNK, text, name):
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


def _taken(rows: Iterator[list[str]], count: int, text: str, name: str) -> list[list[str]]:
    """Return the next rows that are not blank."""
    try:
        return list(islice(rows, count))
    except csv.Error as error:
        raise not_csv(text, name, error) from None


def _lines_of(text: str) -> Iterator[int]:
    """Yield the line where each row begins that is not blank."""
    reader = reader_of(text)
    line = reader.line_num + 1
    for row in reader:
        if row:
            yield line
        line = reader.line_num + 1


# ---- frames -----------------------------------------------------------------------------------------------


def is_frame(value: object) -> bool:
    """Tell a table with named columns from a list or mapping of rows."""
    if isinstance(value, Mapping):
        return bool(value) and all(map(_is_column, value.values()))
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(row, Mapping) for row in value)
    return isinstance(value, Sheet) or hasattr(value, "__arrow_c_stream__") or hasattr(value, "columns")


def _is_column(cells: object) -> bool:
    return isinstance(cells, Iterable) and not isinstance(cells, str | Mapping | tuple)


def sheet_of(frame: Frame, name: str = "the frame") -> Sheet:
    """Return a frame of any of the known libraries, or a mapping of columns, as a sheet."""
    if isinstance(frame, Sheet):
        return frame
    if isinstance(frame, str | Path):
        return read_sheet(frame)
    if type(frame).__name__ == "LazyFrame":
        frame = frame.collect()
    if isinstance(frame, list | tuple) and is_frame(frame):
        headings = dict.fromkeys(heading for row in frame for heading in row)
        frame = {heading: [row.get(heading) for row in frame] for heading in headings}
    if isinstance(frame, Mapping):
        columns = {str(heading): _of_values(str(heading), cells) for heading, cells in frame.items()}
    elif type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns"):
        _check_headings([str(heading) for heading in frame.columns], name)
        columns = {str(heading): _of_pandas(str(heading), frame[heading]) for heading in frame.columns}
    elif hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "column_names"):
        columns = _of_arrow(_arrow(frame), name)
    else:
        raise _no_table(frame)
    counts = {len(column.codes) for column in columns.values()}
    if len(counts) > 1:
        lengths = ", ".join(f"{heading} {len(column.codes)}" for heading, column in columns.items())
        raise LanguageError(
            f"the columns of {name} have different lengths",
            advice=f"Cells in each: {lengths}.",
        )
    return Sheet(name, columns, counts.pop() if counts else 0)


def _arrow(frame: Frame) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingLibrary.of("PyArrow", "data", otherwise="give a frame of pandas") from None
    try:
        return pyarrow.table(dict(frame) if isinstance(frame, Mapping) else frame)
    except pyarrow.ArrowInvalid:
        raise _no_table(frame) from None


def _no_table(frame: object) -> LanguageError:
    return LanguageError(
        f"a {type(frame).__name__} is no table",
        advice="Give a path, a frame of pandas, Polars or Arrow, or columns: {'a': [True, False]}.",
    )


def _of_arrow(table: Any, name: str) -> dict[str, Column]:
    from pyarrow import compute

    _check_headings(table.column_names, name)
    columns = {}
    for heading in table.column_names:
        cells = compute.dictionary_encode(table[heading].combine_chunks())
        cells = cells.combine_chunks() if hasattr(cells, "combine_chunks") else cells
        codes = cells.indices.cast("int32").fill_null(-1).to_numpy(zero_copy_only=False)
        columns[heading] = _column(heading, tuple(map(text_of_cell, cells.dictionary.to_pylist())), codes)
    return columns


def _of_pandas(heading: str, cells: Any) -> Column:
    import numpy as np
    import pandas

    try:
        codes, values = pandas.factorize(cells, use_na_sentinel=True)
    except TypeError:  # lists and other cells that cannot be told apart by a hash
        return _of_values(heading, cells)
    return _column(heading, tuple(map(text_of_cell, values)), np.asarray(codes, np.int32))


def _of_values(heading: str, cells: Iterable[Any]) -> Column:
    import numpy as np

    if not _is_column(cells) and not isinstance(cells, tuple):
        raise LanguageError(
            f"{cells!r} is no column {heading}", advice=f"Give a list of its cells: {{{heading!r}: [...]}}."
        )
    texts = [text_of_cell(cell) for cell in cells]
    known: dict[str, int] = {}
    codes = _encoded(texts, known) if texts else np.empty(0, np.int32)
    return _column(heading, tuple(known), codes)


def text_of_cell(cell: Any) -> str:
    """Write the value of a cell as a file would: true and false small, whole numbers without a point."""
    import numpy as np

    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, float | np.floating | Decimal):
        if isnan(cell):
            return ""
        if isfinite(cell) and cell == int(cell):
            return str(int(cell))
        return f"{cell:f}" if isinstance(cell, Decimal) else repr(float(cell))
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
        return Sheet(str(path), columns := _of_arrow(parquet.read_table(path), str(path)), _rows_of(columns))
    except pyarrow.ArrowInvalid as error:
        raise LanguageError(f"{path} is not Parquet: {error}") from None


def _rows_of(columns: Mapping[str, Column]) -> int:
    return next((len(column.codes) for column in columns.values()), 0)
