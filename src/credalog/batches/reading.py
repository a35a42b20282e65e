"""Questions of a batch, from files.

Input: lines of text, lines of JSON, or a table (CSV or Parquet) with a template of the question. Output:
`Item`s. In a table the columns id, query, timeout and model mean what they say; what stands between double
braces in a template is filled in; every other column is a variable that was observed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from credalog.batches.items import FIELDS, Item, item_of
from credalog.errors import CredalogError, LanguageError
from credalog.text.sheets import Sheet, csv_sheet, read_sheet
from credalog.text.statements import bytes_of, decoded, text_of

__all__ = ["STANDARD_INPUT", "Table", "content_of", "filled", "read_items", "read_table", "slots"]

STANDARD_INPUT = "-"

LINES_OF_JSON = (".jsonl", ".ndjson", ".json")
TABLES = (".csv", ".tsv", ".parquet")

SLOT = re.compile(r"\{\{\s*(.*?)\s*\}\}")
"""The place of a cell in a template: {{column}}."""

Table = Sheet


def is_table(path: str) -> bool:
    """Tell a table from lines."""
    return Path(path).suffix.lower() in TABLES


def content_of(path: str) -> bytes:
    """Return the bytes of a file of questions, of which its fingerprint is made."""
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise CredalogError("standard input is closed", advice="Name a file instead of -.")
        return sys.stdin.buffer.read()
    return bytes_of(Path(path))


def read_items(path: str, *, query: str = "", content: bytes | None = None) -> Iterator[Item]:
    """Yield the questions of a file of lines; `query` is what those ask that do not say."""
    text = text_of(Path(path)) if content is None else decoded(content, path)
    of_line = _of_json if Path(path).suffix.lower() in LINES_OF_JSON else _of_text
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            item = of_line(line.strip(), number, query)
            if item is not None:
                yield item


def _of_text(line: str, number: int, query: str) -> Item | None:
    return None if line.startswith("#") else Item(number, line)


def _of_json(line: str, number: int, query: str) -> Item:
    try:
        fields = json.loads(line)
    except ValueError as error:
        return Item(
            number, line, wrong=f"line {number} is no JSON: {error}\n  Write one object on each line."
        )
    if not isinstance(fields, dict | str):
        return Item(number, line, wrong=f'line {number} is no question\n  Write {{"query": "P(a | b)"}}.')
    return item_of(fields, number, query=query)


# ---- tables -----------------------------------------------------------------------------------------------


def read_table(path: str, content: bytes | None = None) -> Table:
    """Read a table of observations."""
    if path == STANDARD_INPUT and content is not None:
        return csv_sheet(decoded(content, "standard input"), "standard input")
    return read_sheet(path)


def slots(template: str) -> tuple[str, ...]:
    """Return the columns that a template wants, each once."""
    return tuple(dict.fromkeys(SLOT.findall(template)))


def filled(template: str, row: dict[str, str]) -> str:
    """Return a template with the cells of a row in their places."""

    def cell(found: re.Match[str]) -> str:
        value = row.get(found[1], "")
        if not value:
            raise LanguageError(
                f"the column {found[1]} is empty here",
                advice=f"{{{{{found[1]}}}}} needs a value in every row.",
            )
        return value

    return SLOT.sub(cell, template)


def table_items(
    table: Table,
    *,
    query: str,
    model_slots: Iterable[str] = (),
    ignored: Iterable[str] = (),
    check: Callable[[str], object] | None = None,
) -> Iterator[Item]:
    """Yield one question for each row; `check` complains of a column that is no variable."""
    wanted = tuple(dict.fromkeys((*slots(query), *model_slots)))
    for name in (*wanted, *ignored):
        table.column(name)
    if not query and table.find("query") is None:
        raise LanguageError(
            f"{table.name} says what was observed, and not what is asked",
            advice="Give a question, --query 'P(a)', or a column with the heading query.",
        )
    skipped = {*FIELDS, *wanted, *ignored}
    observed = [name for name in table.columns if name not in skipped]
    for name in observed if check is not None else ():
        _check_column(table, name, check)
    texts = {name: column.texts() for name, column in table.columns.items() if name not in ignored}
    for row in range(table.count):
        yield _of_row({name: cells[row] for name, cells in texts.items()}, row + 1, query, observed, wanted)


def _check_column(table: Table, name: str, check: Callable[[str], object] | None) -> None:
    assert check is not None
    try:
        check(name)
    except CredalogError as error:
        raise LanguageError(
            f"the column {name} of {table.name} is no variable of the model",
            place=table.place_of_heading(),
            advice=f"{error.advice.format('`credalog graph`')} Leave the column out with --ignore {name}.",
        ) from None


def _of_row(
    cells: dict[str, str], number: int, query: str, observed: list[str], wanted: tuple[str, ...]
) -> Item:
    name = cells.get("id") or number
    asked = cells.get("query") or query
    try:
        fields = {
            "id": name,
            "query": filled(asked, cells),
            "evidence": {column: cells[column] for column in observed if cells[column]},
            "timeout": _seconds(cells.get("timeout", "")),
            "model": cells.get("model", ""),
        }
    except LanguageError as error:
        return Item(name, asked, wrong=str(error))
    item = item_of(fields, number)
    row = tuple((column, cells[column]) for column in wanted)
    return Item(item.id, item.query, item.given, item.timeout, item.model, row, item.wrong)


def _seconds(cell: str) -> float | None:
    if not cell:
        return None
    try:
        return float(cell)
    except ValueError:
        raise LanguageError(f"timeout {cell} is no limit", advice="Give a number of seconds.") from None
