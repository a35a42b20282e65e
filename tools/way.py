"""Count the modules that a command visits: those in which some function runs.

    python -m tools.way query examples/smokers.lcn "P(Ca(Tim))"

The command runs twice, and the second run is counted: what is set up once per process is no part of the way.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType

import credalog
from credalog.cli import main

PACKAGE = Path(credalog.__file__).parent


def visited(words: Sequence[str]) -> dict[str, set[str]]:
    """Return the modules of the package that a command visits, each with the functions that run."""
    found = defaultdict[str, set[str]](set)

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        path = Path(code.co_filename)
        if event == "call" and code.co_name != "<module>" and path.is_relative_to(PACKAGE):
            found[path.relative_to(PACKAGE).with_suffix("").as_posix()].add(code.co_name)

    with redirect_stdout(StringIO()):
        main(list(words))
        sys.setprofile(note)
        try:
            main(list(words))
        finally:
            sys.setprofile(None)
    return dict(found)


def report(words: Sequence[str]) -> None:
    """Print how many modules a command visits, and the functions that run in each."""
    found = visited(words)
    for module, functions in sorted(found.items()):
        named = sorted(name for name in functions if not name.startswith("<"))
        print(f"{module:36} {', '.join(named)}"[:150])
    print(f"{len(found)} modules")


if __name__ == "__main__":
    report(sys.argv[1:])
