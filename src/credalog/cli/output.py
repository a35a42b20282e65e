"""Everything the commands write: text, JSON, files, and the table of answers.

Enters: values of the other rooms. Leaves: characters on standard output, or a file that is either complete
or untouched.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, floor
from pathlib import Path
from typing import Any, Literal, TypeAlias

__all__ = ["Column", "Json", "Row", "bar", "shown_lower", "shown_upper", "write", "write_json", "write_table"]

Json: TypeAlias = Mapping[str, Any] | Sequence[Any]

DIGITS = 6
"""How many decimals of a probability people are shown; JSON carries all of them."""

NOISE = 1e-8
"""A bound this near to a shown decimal is shown as that decimal; any other is rounded outwards."""

CELLS = 24
"""The length of the bar that stands for the interval from 0 to 1."""


def write(content: str | bytes, path: str | None) -> None:
    """Write to a file, whole or not at all, or to standard output where no path (or `-`) is given."""
    if path is None or path == "-":
        if isinstance(content, bytes):
            sys.stdout.buffer.write(content)
        else:
            sys.stdout.write(content)
        return
    data = content if isinstance(content, bytes) else content.encode()
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(_usual_mode())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _usual_mode() -> int:
    # mkstemp makes files private; the mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_json(value: Json, path: str | None = None) -> None:
    """Write a value as indented JSON."""
    write(json.dumps(value, indent=2, ensure_ascii=False) + "\n", path)


def shown_lower(value: float) -> str:
    """Write a lower bound, rounded down."""
    return _decimal(value, floor)


def shown_upper(value: float) -> str:
    """Write an upper bound, rounded up."""
    return _decimal(value, ceil)


def _decimal(value: float, outwards: Callable[[float], int]) -> str:
    scaled = value * 10**DIGITS
    near = round(scaled)
    steps = near if abs(scaled - near) <= NOISE * 10**DIGITS else outwards(scaled)
    return f"{steps / 10**DIGITS:.{DIGITS}f}"


def bar(lower: float, upper: float, attained: tuple[float, float] | None) -> str:
    """Draw an interval: solid where it is attained, lighter where it is only not excluded."""
    cells = ["·"] * CELLS
    _fill(cells, lower, upper, "▒")
    if attained is not None:
        _fill(cells, *attained, "█")
    return "".join(cells)


def _fill(cells: list[str], lower: float, upper: float, mark: str) -> None:
    """Mark every cell that the interval touches, and at least one."""
    first = min(int(lower * CELLS + NOISE), CELLS - 1)
    end = max(first + 1, ceil(upper * CELLS - NOISE))
    cells[first:end] = mark * (end - first)


Row: TypeAlias = Sequence[str]
Column: TypeAlias = tuple[str, Literal["left", "right"]]


def write_table(columns: Sequence[Column], rows: Iterable[Row]) -> None:
    """Write a table; each column is a heading with its justification."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, justify in columns:
        table.add_column(heading, justify=justify, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    # Where nobody looks, a line may be as long as it must be.
    width = None if sys.stdout.isatty() else 1000
    Console(width=width, highlight=False, markup=False, emoji=False).print(table)
