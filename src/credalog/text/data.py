"""Extend a theory's domains, relations and functions by data.

Input: a mapping from names to elements, facts or tables; or the path of a JSON file that holds such a
mapping, or of a CSV file named after what it extends. Output: the extended `Theory`.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

from credalog.errors import LanguageError, Place, UnknownName
from credalog.network.sentences import Source
from credalog.text.statements import text_of
from credalog.theory import (
    Declaration,
    Domain,
    Function,
    Predicate,
    RandomFunction,
    Relation,
    Theory,
)

Element: TypeAlias = str | int
Row: TypeAlias = Element | Sequence[Element]
Rows: TypeAlias = Iterable[Row] | Mapping[Element, Element]
Data: TypeAlias = Mapping[str, Rows] | str | Path | Sequence[str | Path]
"""A mapping, or the paths of JSON and CSV files."""


@dataclass(frozen=True, slots=True)
class _Addition:
    """What one name is extended by, and the file and line where that begins, if it was read from a file."""

    name: str
    rows: Rows
    text: str = ""
    source: Source | None = None
    has_heading: bool = False
    """Whether a first row that only repeats the sorts is none of the data."""

    def place(self, row: Sequence[str] = ()) -> Place | None:
        """Point at a row, a row of JSON or a line of CSV, or else at the beginning."""
        if self.source is None:
            return None
        start = _offset(self.text, self.source.line)
        cells = r'"?\s*[,:]\s*"?'.join(map(re.escape, row))
        # A whole row is looked for first; in JSON one cell may stand for a row.
        for before, after in ((r"^|\[", r"\]|$"), (r"^|[\[,{]", r"[\],}]|$")):
            form = re.compile(rf'(?:{before})\s*"?(?P<here>{cells})"?\s*(?:{after})', re.MULTILINE)
            if row and (found := form.search(self.text, start)):
                return Place.within(self.text, found.start("here"), file=self.source.file)
        return Place.within(self.text, start, file=self.source.file)


def _offset(text: str, line: int) -> int:
    """Return where a line begins."""
    return sum(len(whole) + 1 for whole in text.split("\n")[: line - 1])


def extended(theory: Theory, data: Data) -> Theory:
    """Return the theory with the data added to its domains, relations and functions."""
    if isinstance(data, Mapping):
        additions = [_Addition(name, rows) for name, rows in data.items()]
    else:
        paths = [data] if isinstance(data, str | Path) else data
        additions = [addition for path in paths for addition in _file(Path(path))]
    declarations = {declaration.name: declaration for declaration in theory.declarations}
    for addition in additions:
        if addition.name not in declarations:
            near = get_close_matches(addition.name, list(declarations), n=1, cutoff=0.5)
            raise UnknownName(
                f"the data speak of {addition.name}, which is not declared",
                place=addition.place(),
                advice=f"Did you mean {near[0]}?" if near else f"Known are {', '.join(declarations)}.",
            )
        declarations[addition.name] = _extended(declarations[addition.name], addition)
    read = [(one.name, one.source, one.text) for one in additions if one.source is not None]
    return replace(
        theory,
        declarations=tuple(declarations.values()),
        texts=theory.texts + tuple({source.file: text for _, source, text in read}.items()),
        data=theory.data + tuple((name, source) for name, source, _ in read),
    )


def _extended(declaration: Declaration, addition: _Addition) -> Declaration:
    match declaration:
        case Domain(name, elements):
            added = [row[0] for row in _rows(addition, (name,))]
            return Domain(name, tuple(dict.fromkeys((*elements, *added))))
        case Relation(name, sorts, facts):
            new = _rows(addition, sorts)
            return replace(declaration, facts=tuple(dict.fromkeys((*facts, *new))))
        case Function(name, sorts, result, known):
            entries = [(row[:-1], row[-1]) for row in _rows(addition, (*sorts, result))]
            return replace(declaration, table=tuple(dict.fromkeys((*known, *entries))))
        case Predicate(name) | RandomFunction(name):
            raise LanguageError(
                f"the data speak of {name}, which is random",
                place=addition.place(),
                advice="Data extend domains, relations and functions; observations are evidence.",
            )


def _rows(addition: _Addition, sorts: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the rows, a cell for each sort; in CSV, a first row that only repeats the sorts is a heading."""
    name, rows = addition.name, addition.rows
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise LanguageError(
            f"the data for {name} are not a list",
            place=addition.place(),
            advice="Give a list of elements or of rows.",
        )
    table = [_cells(row, addition) for row in (rows.items() if isinstance(rows, Mapping) else rows)]
    if addition.has_heading and table and table[0] == sorts:
        table = table[1:]
    for row in table:
        if len(row) != len(sorts):
            raise LanguageError(
                f"the data for {name} have a row of {len(row)}, not {len(sorts)}: {', '.join(row)}",
                place=addition.place(row),
                advice=f"A row holds {', '.join(sorts)}.",
            )
    return table


def _cells(row: Row, addition: _Addition) -> tuple[str, ...]:
    cells = (row,) if isinstance(row, str | int) or not isinstance(row, Sequence) else tuple(row)
    strangers = [cell for cell in cells if not isinstance(cell, str | int) or isinstance(cell, bool)]
    if strangers or "" in cells:
        found = repr(strangers[0]) if strangers else "an empty element"
        raise LanguageError(
            f"the data for {addition.name} contain {found}",
            place=addition.place([str(cell) for cell in strangers[:1] or cells]),
            advice="Elements are words or integers.",
        )
    return tuple(map(str, cells))


def _file(path: Path) -> list[_Addition]:
    text = text_of(path)
    source = Source(str(path), 1)
    if path.suffix.lower() == ".csv":
        return [_Addition(path.stem, _csv(text, source), text, source, has_heading=True)]
    loaded = _json(text, path)
    return [
        _Addition(name, rows, text, Source(str(path), _line(name, text))) for name, rows in loaded.items()
    ]


def _csv(text: str, source: Source) -> list[tuple[str, ...]]:
    """Return the rows of a CSV file without blank ones."""
    if found := re.search(r'^(?:[^"\n;]|"(?:[^"]|"")*")*(?P<here>;)', text, re.MULTILINE):
        raise LanguageError(
            "a semicolon stands between the cells of a row",
            place=Place.within(text, found.start("here"), file=source.file),
            advice='Separate cells by commas; a cell that contains a semicolon stands in quotes: "a;b".',
        )
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        rows = [tuple(cell.strip() for cell in row) for row in reader]
    except csv.Error as error:
        place = Place.within(text, _offset(text, reader.line_num), file=source.file)
        raise LanguageError(
            f"{source.file} is not CSV: {error}", place=place, advice="Close each quote that is opened."
        ) from None
    return [row for row in rows if any(row)]


def _json(text: str, path: Path) -> Mapping[str, Rows]:
    def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        counts = Counter(key for key, _ in pairs)
        if repeated := next((key for key, count in counts.items() if count > 1), None):
            raise LanguageError(
                f"{path} says {repeated} twice in one object",
                place=Place.within(text, text.rfind(f'"{repeated}"'), file=str(path)),
                advice="Join the two entries.",
            )
        return dict(pairs)

    try:
        loaded = json.loads(text, object_pairs_hook=without_repetition)
    except json.JSONDecodeError as error:
        place = Place.within(text, error.pos, file=str(path))
        raise LanguageError(f"{path} is not JSON: {error.msg.lower()}", place=place) from None
    except RecursionError:
        raise LanguageError(f"{path} is nested too deeply") from None
    if not isinstance(loaded, dict):
        raise LanguageError(
            f"{path} is not a JSON object",
            advice='Write {"Person": ["Tim", "Tom"], "Before": [["d1", "d2"]]}.',
        )
    return loaded


def _line(name: str, text: str) -> int:
    """Return the line in which the entry of a name begins."""
    found = re.search(rf'"{re.escape(name)}"\s*:', text)
    return text.count("\n", 0, found.start()) + 1 if found else 1
