"""The examples that the page offers, and that `credalog examples` writes.

Input: `gallery.toml`, and the examples that are shipped beside it. Output: for each its title, what it shows,
its text and the files that come with it; or a folder of all.
"""

from __future__ import annotations

import shutil
import tomllib
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from credalog.errors import CredalogError

__all__ = ["copy_examples", "gallery"]

HERE = Path(__file__).parent
SHIPPED = HERE / "examples"
IN_THE_PROJECT = HERE.parents[2] / "examples"
"""Where the examples are before they are shipped."""


def copy_examples(folder: Path) -> None:
    """Write all examples with their data and pages to a folder, which must not be there yet."""
    if folder.exists():
        raise CredalogError(
            f"{folder} is there already", advice="Name another folder: credalog examples FOLDER"
        )
    try:
        with ExitStack() as undo:
            undo.callback(shutil.rmtree, folder, ignore_errors=True)
            shutil.copytree(_folder(), folder, ignore=shutil.ignore_patterns("__pycache__"))
            undo.pop_all()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CredalogError(f"{folder} cannot be written: {why}", advice="Name another folder.") from None


def _folder() -> Path:
    return SHIPPED if SHIPPED.is_dir() else IN_THE_PROJECT


@cache
def gallery() -> tuple[dict[str, Any], ...]:
    """Return the examples in the order in which they are told."""
    listed = tomllib.loads((HERE / "gallery.toml").read_text(encoding="utf-8"))["example"]
    return tuple(_shown(one, _folder()) for one in listed)


def _shown(one: dict[str, Any], folder: Path) -> dict[str, Any]:
    path = folder / one["file"]
    beside = {name: (path.parent / name).read_text(encoding="utf-8") for name in one.get("with", [])}
    name = Path(one["file"]).with_suffix("").as_posix()
    return {
        "name": name,
        "file": one["file"],
        "title": one["title"],
        "shows": one["shows"],
        "text": path.read_text(encoding="utf-8"),
        "files": beside,
        "asked": one.get("asks", []),
    }
