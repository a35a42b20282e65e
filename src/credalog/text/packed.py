"""Files of lines that may be compressed, and lines that are JSON objects.

Input: the path of a file. Output: its lines, up to a limit; what a line says.
"""

from __future__ import annotations

import json
import zlib
from gzip import BadGzipFile, GzipFile
from pathlib import Path
from typing import Any

from credalog.errors import CredalogError, Refused

__all__ = ["MOST_BYTES", "lines_of", "object_of"]

MOST_BYTES = 1 << 28
"""Files that are larger, once they are unpacked, are not read."""

ANOTHER = (
    "Name a file that `--certificate` wrote, as it was written; if it is lost, ask again and write another."
)


def object_of(n: int, line: str) -> dict[str, Any]:
    """Read a line that is a JSON object, no key of it twice."""
    try:
        return dict(json.loads(line, object_pairs_hook=_distinct))
    except (ValueError, TypeError, RecursionError):
        raise Refused(f"refused: line {n} is no JSON object", advice=ANOTHER) from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return found


def lines_of(path: str) -> list[str]:
    """Read the lines of a file, compressed or not, up to a limit."""
    try:
        with Path(path).open("rb") as file:
            is_packed = file.peek(2)[:2] == b"\x1f\x8b"
            data = (GzipFile(fileobj=file) if is_packed else file).read(MOST_BYTES + 1)
    except (BadGzipFile, EOFError, zlib.error) as error:
        raise Refused(f"refused: {path} is damaged: {error}", advice=ANOTHER) from None
    if len(data) > MOST_BYTES:
        raise CredalogError(f"{path} has over {MOST_BYTES >> 20} MB", advice="Certify less at a time.")
    return data.decode(errors="replace").splitlines()
