"""Extend a theory's domains, relations and functions by data.

Enters: a mapping from names to elements, facts or tables; or the path of a JSON file that holds such a
mapping, or of a CSV file named after what it extends. Leaves: the extended `Theory`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from credalog.errors import LanguageError, UnknownName, unreadable
from credalog.theory import Declaration, Domain, Function, Predicate, RandomFunction, Relation, Theory

__all__ = ["Data", "extended"]

Element: TypeAlias = str | int
Row: TypeAlias = Element | Sequence[Element]
Rows: TypeAlias = Iterable[Row] | Mapping[Element, Element]
Data: TypeAlias = Mapping[str, Rows] | str | Path | Sequence[str | Path]
"""A mapping, or the paths of JSON and CSV files."""


def extended(theory: Theory, data: Data) -> Theory:
    """Return the theory with the data added to its domains, relations and functions."""
    additions = data if isinstance(data, Mapping) else _files(data)
    declarations = {declaration.name: declaration for declaration in theory.declarations}
    for name, rows in additions.items():
        if name not in declarations:
            known = ", ".join(declarations)
            raise UnknownName(
                f"the data speak of {name}, which is not declared", advice=f"Known are {known}."
            )
        declarations[name] = _extended(declarations[name], rows)
    return replace(theory, declarations=tuple(declarations.values()))


def _extended(declaration: Declaration, rows: Rows) -> Declaration:
    table = _table(rows, declaration.name)
    match declaration:
        case Domain(name, elements):
            added = [_row(row, 1, name)[0] for row in _headless(table, (name,))]
            return Domain(name, tuple(dict.fromkeys((*elements, *added))))
        case Relation(name, sorts, facts):
            new = [_row(row, len(sorts), name) for row in _headless(table, sorts)]
            return replace(declaration, facts=tuple(dict.fromkeys((*facts, *new))))
        case Function(name, sorts, result, known):
            whole = [_row(row, len(sorts) + 1, name) for row in _headless(table, (*sorts, result))]
            entries = [(row[:-1], row[-1]) for row in whole]
            return replace(declaration, table=tuple(dict.fromkeys((*known, *entries))))
        case Predicate(name) | RandomFunction(name):
            raise LanguageError(
                f"the data speak of {name}, which is random",
                advice="Data extend domains, relations and functions; observations are evidence.",
            )


def _table(rows: Rows, name: str) -> list[tuple[str, ...]]:
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise LanguageError(
            f"the data for {name} are not a list", advice="Give a list of elements or of rows."
        )
    listed = rows.items() if isinstance(rows, Mapping) else rows
    return [_cells(row, name) for row in listed]


def _cells(row: Row, name: str) -> tuple[str, ...]:
    cells = (row,) if isinstance(row, str | int) or not isinstance(row, Sequence) else tuple(row)
    strangers = [cell for cell in cells if not isinstance(cell, str | int)]
    if strangers:
        raise LanguageError(
            f"the data for {name} contain {strangers[0]!r}", advice="Elements are words or integers."
        )
    return tuple(map(str, cells))


def _headless(table: list[tuple[str, ...]], sorts: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Take off a first row that only repeats the names of the domains."""
    return table[1:] if table and table[0] == sorts else table


def _row(row: tuple[str, ...], width: int, name: str) -> tuple[str, ...]:
    if len(row) != width:
        raise LanguageError(f"the data for {name} have a row of {len(row)}, not {width}: {', '.join(row)}")
    return row


def _files(paths: str | Path | Sequence[str | Path]) -> Mapping[str, Rows]:
    additions: dict[str, Rows] = {}
    for path in [paths] if isinstance(paths, str | Path) else paths:
        additions |= _file(Path(path))
    return additions


def _file(path: Path) -> Mapping[str, Rows]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LanguageError(unreadable(path, error)) from None
    if path.suffix.lower() == ".csv":
        return {
            path.stem: [tuple(cell.strip() for cell in row) for row in csv.reader(text.splitlines()) if row]
        }
    try:
        loaded = json.loads(text)
    except json.JSONDecodeError as error:
        raise LanguageError(f"{path} is not JSON: {error}") from None
    if not isinstance(loaded, dict):
        raise LanguageError(
            f"{path} is not a JSON object",
            advice='Write {"Person": ["Tim", "Tom"], "Before": [["d1", "d2"]]}.',
        )
    return loaded
