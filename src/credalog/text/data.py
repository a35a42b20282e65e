"""Extend a theory's domains, relations and functions by data.

Input: a mapping from names to elements, facts or tables; or the path of a JSON file that holds such a
mapping, or of a CSV file named after what it extends. Output: the extended `Theory`.

The first row of a CSV file may be a heading. One that names the columns after what they hold, in any
order, says which columns are taken; any other is recognised where none of its cells is an element, nor
nearly one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from itertools import compress
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

from credalog.errors import LanguageError, Place, UnknownName
from credalog.network.sentences import Number, Source, exact
from credalog.text.actions import From, Tabled
from credalog.text.row_statements import filled_from
from credalog.text.sheets import (
    NOWHERE,
    TABLES,
    Frame,
    Library,
    Sheet,
    is_frame,
    read_sheet,
    sheet_of,
    table_text,
)
from credalog.text.statements import text_of
from credalog.theory import (
    Constant,
    Declaration,
    Domain,
    Function,
    NumberFunction,
    Predicate,
    RandomFunction,
    Relation,
    Theory,
)
from credalog.theory.origins import Origin, records

Element: TypeAlias = str | int
Row: TypeAlias = Element | Sequence[Element]
Rows: TypeAlias = Iterable[Row] | Mapping[Element, Element]
Data: TypeAlias = Mapping[str, Rows | Frame] | str | Path | Sequence[str | Path]
"""A mapping to rows or frames, or the paths of files (JSON, CSV, Parquet) and of folders of them."""

Cells: TypeAlias = tuple[str, ...]

_is_integer = re.compile(r"-?\d+").fullmatch

LIKE = 0.7
"""A cell this similar to an element is a misspelt element and not a heading."""

MANY_ROWS = 100_000
"""So many facts are told apart by their hashes first."""

MOST_COMPARED = 20_000
"""With so many elements a cell is compared, to see whether it is one of them misspelt."""


@dataclass(frozen=True, slots=True)
class _Addition:
    """What one name is extended by, and where that was read, if from a file."""

    name: str
    rows: Rows
    origin: Origin | None = None
    sheet: Sheet | None = None
    """A table whose columns have names."""

    def place(self, row: Sequence[str] = (), cell: int = 0) -> Place | None:
        return None if self.origin is None else self.origin.place(row, cell)


def library_of(data: Data) -> Library:
    """Return the tables that a text may name: the frames and folders among the data."""
    if isinstance(data, Mapping):
        for name in data:
            if not isinstance(name, str):
                advice = 'Name what each extends: {"People": ["Tim"]}.'
                raise LanguageError(f"{name!r} is no name of a domain, relation or function", advice=advice)
        return Library({name: rows for name, rows in data.items() if is_frame(rows)})
    if is_frame(data):
        advice = 'Say what it extends: data={"Near": frame}.'
        raise LanguageError("a frame alone does not say what its rows are", advice=advice)
    files = [data] if isinstance(data, str | Path) or not isinstance(data, Iterable) else list(data)
    for file in files:
        if not isinstance(file, str | Path):
            raise LanguageError(
                f"{file!r} is no data", advice='Give a mapping, {"People": ["Tim"]}, or paths of files.'
            )
    paths = [Path(file) for file in files]
    return Library({}, tuple(path for path in paths if path.is_dir()))


def extended(theory: Theory, data: Data, *, library: Library = NOWHERE) -> Theory:
    """Return the theory with the data added to its domains, relations and functions.

    Frames that the text itself has asked the library for, and files of a folder that are named after
    nothing, extend nothing.
    """
    declarations = {declaration.name: declaration for declaration in theory.declarations}
    additions = [
        one for one in _additions(data, declarations) if not (one.sheet and one.name in library.used)
    ]
    for addition in additions:
        _check_declared(addition, declarations)
    # Domains come first: a heading is told from a fact by the elements there are.
    additions.sort(key=lambda addition: not isinstance(declarations[addition.name], Domain))
    origins: list[Origin] = []
    for addition in additions:
        declaration, origin = _added(declarations[addition.name], addition, declarations)
        declarations[addition.name] = declaration
        origins += [] if origin is None else [origin]
    return replace(
        theory,
        declarations=tuple(declarations.values()),
        texts=theory.texts + tuple({origin.file: origin.text for origin in origins}.items()),
        data=theory.data + tuple(origins),
    )


def _added(
    declaration: Declaration, addition: _Addition, declarations: Mapping[str, Declaration]
) -> tuple[Declaration, Origin | None]:
    if addition.sheet is not None and isinstance(declaration, Domain | Relation | Function | NumberFunction):
        (filled,) = filled_from(addition.sheet, Tabled((declaration,), From(addition.name)), declarations)
        return _joined(declaration, cast("Declaration", filled.value)), filled.origin
    if isinstance(declaration, NumberFunction):
        return _joined(declaration, _scores(declaration, addition)), addition.origin
    taken = _Table.of(addition, declaration, declarations).taken()
    return _with_rows(declaration, taken.rows), taken.origin


def _joined(known: Declaration, more: Declaration) -> Declaration:
    match known, more:
        case Domain(name, elements), Domain(_, added):
            return Domain(name, tuple(dict.fromkeys((*elements, *added))))
        case Relation(facts=facts), Relation(facts=new):
            return replace(known, facts=tuple(dict.fromkeys((*facts, *new))))
        case Function(table=table), Function(table=lines):
            return replace(known, table=tuple(dict.fromkeys((*table, *lines))))
        case NumberFunction(table=scores, rows=rows), NumberFunction(table=numbers, rows=places):
            # Each line with its place: those of before may have none.
            padded = rows + (Source("", 0),) * (len(scores) - len(rows)) if places else rows
            return replace(known, table=scores + numbers, rows=padded + places)
        case _:
            raise AssertionError("a declaration is filled with its own kind")


def _scores(function: NumberFunction, addition: _Addition) -> NumberFunction:
    """Read numbers that JSON or Python gives: rows with the number last, or a mapping."""
    rows = addition.rows.items() if isinstance(addition.rows, Mapping) else addition.rows
    table: list[tuple[Cells, Fraction]] = []
    for row in rows:
        *elements, number = row if isinstance(row, Sequence) and not isinstance(row, str) else (row,)
        flat = elements[0] if len(elements) == 1 and isinstance(elements[0], tuple | list) else elements
        arguments = tuple(map(str, flat))
        try:
            table.append((arguments, exact(cast("Number", number))))
        except LanguageError as error:
            place = addition.place([*arguments, str(number)])
            message = f"the data for {function.name} contain {number!r}: {error.message}"
            raise LanguageError(message, place=place, advice=error.advice) from None
    return NumberFunction(function.name, function.sorts, tuple(table))


def _additions(data: Data, declared: Mapping[str, Declaration]) -> Iterator[_Addition]:
    if isinstance(data, Mapping):
        for name, rows in data.items():
            sheet = sheet_of(rows, name) if is_frame(rows) else None
            yield _Addition(name, () if sheet else rows, sheet=sheet)
        return
    for path in map(Path, [data] if isinstance(data, str | Path) else data):
        if path.is_dir():
            files = sorted(path.iterdir())
            _require_data(path, files)
            for file in files:
                if file.stem in declared:
                    yield from _file(file, declared)
        else:
            yield from _file(path, declared)


def _require_data(folder: Path, files: Iterable[Path]) -> None:
    """Complain of a folder without data: it was hardly meant."""
    if not any(file.suffix.lower() in (".json", *TABLES) for file in files):
        raise LanguageError(
            f"there are no data in the folder {folder}",
            advice=f"Its files should end in .json, {', '.join(TABLES)}.",
        )


def _declared(names: Iterable[str]) -> str:
    known = ", ".join(names)
    return f"Known are {known}." if known else "Declare a domain, relation or function for it first."


def _check_declared(addition: _Addition, declarations: Mapping[str, Declaration]) -> None:
    name = addition.name
    if name not in declarations:
        near = get_close_matches(name, list(declarations), n=1, cutoff=0.5)
        raise UnknownName(
            f"the data speak of {name}, which is not declared",
            place=addition.place(),
            advice=f"Did you mean {near[0]}?" if near else _declared(declarations),
        )
    if isinstance(declarations[name], Constant):
        raise LanguageError(
            f"the data speak of {name}, which is a constant",
            place=addition.place(),
            advice="Data extend domains, relations, functions and tables of numbers.",
        )
    if isinstance(declarations[name], Predicate | RandomFunction):
        raise LanguageError(
            f"the data speak of {name}, which is random",
            place=addition.place(),
            advice="Data extend domains, relations and functions; observations are evidence.",
        )


def _with_rows(declaration: Declaration, rows: list[Cells]) -> Declaration:
    match declaration:
        case Domain(name, elements):
            return Domain(name, tuple(dict.fromkeys((*elements, *map(itemgetter(0), rows)))))
        case Relation(facts=facts):
            return replace(declaration, facts=_distinct([*facts, *rows] if facts else rows))
        case Function(table=known):
            entries = ((row[:-1], row[-1]) for row in rows)
            return replace(declaration, table=tuple(dict.fromkeys((*known, *entries))))
        case NumberFunction() | Constant() | Predicate() | RandomFunction():
            raise AssertionError("data about what is random are refused")


def _distinct(rows: list[Cells]) -> tuple[Cells, ...]:
    """Return the rows in their order, each once."""
    if len(rows) < MANY_ROWS:
        return tuple(dict.fromkeys(rows))
    import numpy as np

    # Rows with different hashes differ: only the others are put into a table, which would be a large one.
    hashes = np.fromiter(map(hash, rows), dtype=np.int64, count=len(rows))
    ordered = np.sort(hashes)
    is_doubtful = np.isin(hashes, ordered[1:][ordered[1:] == ordered[:-1]])
    places = np.flatnonzero(is_doubtful).tolist()
    first = {rows[place]: place for place in reversed(places)}
    is_doubtful[list(first.values())] = False
    return tuple(compress(rows, ~is_doubtful))


# ---- rows and their heading -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Column:
    """What a column holds, the names that a heading may give it, and the elements there are."""

    sort: str
    names: tuple[str, ...]
    elements: Container[str]
    examples: tuple[str, ...]

    @classmethod
    def of(cls, sort: str, declarations: Mapping[str, Declaration], *also: str) -> _Column:
        domain = declarations.get(sort)
        elements = domain.elements if isinstance(domain, Domain) else ()
        names = tuple(name.casefold() for name in (*also, sort))
        return cls(sort, names, frozenset(elements), elements[:MOST_COMPARED])

    def has_like(self, cell: str) -> bool:
        """Tell whether a cell is an element, or may be one misspelt; any may be before there are elements."""
        if not self.examples or cell in self.elements:
            return True
        near = [e for e in self.examples if abs(len(e) - len(cell)) <= 2]
        return bool(get_close_matches(cell, near, n=1, cutoff=LIKE))


@dataclass(frozen=True, slots=True)
class _Table:
    """The rows that extend a declaration, and what its columns hold."""

    addition: _Addition
    columns: tuple[_Column, ...]
    rows: list[Cells]
    is_domain: bool

    @classmethod
    def of(cls, addition: _Addition, declaration: Declaration, known: Mapping[str, Declaration]) -> _Table:
        sorts, also = _sorts(declaration), () if isinstance(declaration, Domain) else (declaration.name,)
        # A function's value, and the only column of a relation, may be named after what is declared.
        *before, last = sorts
        is_own = isinstance(declaration, Function) or not before
        columns = [_Column.of(sort, known) for sort in before]
        columns.append(_Column.of(last, known, *(also if is_own else ())))
        return cls(addition, tuple(columns), _rows(addition), isinstance(declaration, Domain))

    @property
    def sorts(self) -> Cells:
        return tuple(column.sort for column in self.columns)

    def taken(self) -> _Taken:
        """Return the rows without a heading, a cell for each sort."""
        name, origin, rows = self.addition.name, self.addition.origin, self.rows
        if origin is None or origin.columns is None:
            return _Taken(name, self._even(rows, self.sorts), origin).filled()
        columns = self._columns()
        if columns is None:
            kept = rows[1:] if self._is_heading() else rows
            return _Taken(name, self._even(kept, self.sorts), origin).filled()
        pick = itemgetter(*columns) if len(columns) > 1 else itemgetter(slice(columns[0], columns[0] + 1))
        picked = list(map(pick, self._even(rows[1:], rows[0])))
        return _Taken(name, picked, replace(origin, columns=columns)).filled()

    def _columns(self) -> tuple[int, ...] | None:
        """Return which columns hold what is wanted, if the first row names them."""
        first = [cell.casefold() for cell in self.rows[0]] if self.rows else []
        # The name of what is declared, where it stands there, says more than that of a domain.
        names = [next((name for name in column.names if name in first), "") for column in self.columns]
        if all(names) and all(first.count(name) == names.count(name) for name in names):
            if len(set(names)) == len(names):
                return tuple(map(first.index, names))
            return tuple(range(len(first))) if first == names else None
        return None

    def _is_heading(self) -> bool:
        """Tell a first row that names no element from the facts below it."""
        first, *rest = self.rows[:2] or [()]
        if not rest or len(first) != len(self.columns) or len(set(first)) < len(first):
            return False
        if self.is_domain:
            below = self.rows[1:]
            return len(below) > 1 and not _is_integer(first[0]) and all(_is_integer(row[0]) for row in below)
        return not any(column.has_like(cell) for column, cell in zip(self.columns, first, strict=True))

    def _even(self, rows: list[Cells], columns: Cells) -> list[Cells]:
        """Return the rows, each of which must have a cell for each column."""
        if row := next((row for row in rows if len(row) != len(columns)), None):
            found = f"a row of {len(row)}, not {len(columns)}: {', '.join(row)}"
            raise LanguageError(
                f"the data for {self.addition.name} have {found}",
                place=self.addition.place(row),
                advice=f"A row holds {', '.join(columns)}.",
            )
        return rows


class _Taken(NamedTuple):
    """The rows of a declaration, and where they come from."""

    name: str
    rows: list[Cells]
    origin: Origin | None

    def filled(self) -> _Taken:
        """Complain about a cell without anything in it."""
        if row := next((row for row in self.rows if "" in row), None):
            raise LanguageError(
                f"the data for {self.name} contain an empty element",
                place=self.origin.place(row, row.index("")) if self.origin else None,
                advice="Elements are words or integers.",
            )
        return self


def _sorts(declaration: Declaration) -> Cells:
    match declaration:
        case Domain(name):
            return (name,)
        case Function(_, sorts, result):
            return (*sorts, result)
        case Constant():
            return ()
        case _:
            return declaration.sorts


def _rows(addition: _Addition) -> list[Cells]:
    """Return the rows as they are, every cell as text."""
    rows = addition.rows
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise LanguageError(
            f"the data for {addition.name} are not a list",
            place=addition.place(),
            advice="Give a list of elements or of rows.",
        )
    if addition.origin is not None and addition.origin.columns is not None:
        return cast("list[Cells]", rows)
    # A million rows name the same elements again and again: each is kept once.
    kept: dict[str, str] = {}
    listed = rows.items() if isinstance(rows, Mapping) else rows
    return [tuple([kept.setdefault(cell, cell) for cell in _cells(row, addition)]) for row in listed]


def _cells(row: Row, addition: _Addition) -> Cells:
    cells = (row,) if isinstance(row, str | int) or not isinstance(row, Sequence) else tuple(row)
    for cell in cells:
        if not isinstance(cell, str | int) or isinstance(cell, bool):
            raise LanguageError(
                f"the data for {addition.name} contain {cell!r}",
                place=addition.place([str(cell)]),
                advice="Elements are words or integers.",
            )
    return tuple(map(str, cells))


# ---- files ------------------------------------------------------------------------------------------------


def _file(path: Path, declared: Mapping[str, Declaration]) -> Iterator[_Addition]:
    suffix, is_score = path.suffix.lower(), isinstance(declared.get(path.stem), NumberFunction)
    if suffix in (".parquet", ".tsv") or (suffix == ".csv" and is_score):
        sheet = read_sheet(path)
        yield _Addition(path.stem, (), Origin(path.stem, str(path), sheet.text, columns=()), sheet)
        return
    if suffix == ".csv":
        text = table_text(path)
        yield _Addition(path.stem, _csv(text, str(path)), Origin(path.stem, str(path), text, columns=()))
        return
    text = text_of(path)
    for name, rows in _json(text, path).items():
        yield _Addition(name, rows, Origin(name, str(path), text, _line(name, text)))


def _csv(text: str, file: str) -> list[Cells]:
    """Return the rows of a CSV file without blank ones."""
    # Each element is kept once here, too.
    kept: dict[str, str] = {}
    return [tuple([kept.setdefault(cell, cell) for cell in cells]) for _, cells in records(text, file)]


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
        advice = 'Data are a JSON object, {"Person": ["Tim"]}, or tables: .csv, .tsv, .parquet.'
        message = f"{path} is not JSON: {error.msg.lower()}"
        raise LanguageError(message, place=place, advice=advice) from None
    except RecursionError:
        advice = 'Write {"Person": ["Tim", "Tom"], "Before": [["d1", "d2"]]}.'
        raise LanguageError(f"{path} is nested too deeply", advice=advice) from None
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
