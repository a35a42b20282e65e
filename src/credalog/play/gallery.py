"""The examples that the page offers.

Input: `gallery.toml`, and the examples that are shipped beside it. Output: for each its title, what it shows,
its text and the files that come with it.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["gallery"]

HERE = Path(__file__).parent
SHIPPED = HERE / "examples"
IN_THE_PROJECT = HERE.parents[2] / "examples"
"""Where the examples are before they are shipped."""


@cache
def gallery() -> tuple[dict[str, Any], ...]:
    """Return the examples in the order in which they are told."""
    folder = SHIPPED if SHIPPED.is_dir() else IN_THE_PROJECT
    listed = tomllib.loads((HERE / "gallery.toml").read_text(encoding="utf-8"))["example"]
    return tuple(_shown(one, folder) for one in listed)


def _shown(one: dict[str, Any], folder: Path) -> dict[str, Any]:
    path = folder / one["file"]
    beside = {name: (path.parent / name).read_text(encoding="utf-8") for name in one.get("with", [])}
    name = Path(one["file"]).with_suffix("").as_posix()
    return {
        "name": name,
        "title": one["title"],
        "shows": one["shows"],
        "text": path.read_text(encoding="utf-8"),
        "files": beside,
        "asked": one.get("asks", []),
    }
