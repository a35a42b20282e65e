"""Commands to begin with: play opens a page to try models on, examples writes a folder of models.

Input: perhaps a file, the address of a shared model, or the name of a folder. Output: an address, and a
server until Ctrl-C; or files.
"""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from credalog.cli.command import ANSWERED, JSON, TIMEOUT, Argument, Command, count
from credalog.cli.output import write, write_json

_SHARED = re.compile(r"https?://[^#\s]+(?P<model>#\S+)")
_NAMED = re.compile(r'^\s*include\s+"([^"\n]+)"|\bfrom\s+"([^"\n]+)"', re.MULTILINE)


def play(arguments: Namespace) -> int:
    """Serve the page on this machine alone, and open it."""
    from credalog.play.server import HOST, listening, open_browser, require_libraries, serve

    require_libraries()
    from credalog.play.server import Playground, application

    shared = _SHARED.fullmatch(arguments.file or "")
    opened = _opened(arguments.file) if arguments.file and shared is None else None
    playground = Playground(opened=opened)
    socket = listening(arguments.port)
    port = socket.getsockname()[1]
    address = f"http://{HOST}:{port}/{playground.token}/{shared['model'] if shared else ''}"

    def announce() -> None:
        if arguments.json:
            write_json({"address": address})
        else:
            write(f"{address}\nThe page is served to this machine alone. Ctrl-C ends it.\n")
        sys.stdout.flush()
        if not arguments.no_browser:
            open_browser(address)

    serve(application(playground), socket, announce=announce)
    return ANSWERED


def _opened(file: str) -> dict[str, Any]:
    """Return a model for the page: its text, and those of the files below its folder that it names."""
    from credalog.lcn import load
    from credalog.lcn.lcn import OTHER_FORMATS
    from credalog.text.statements import text_of

    path = Path(file)
    if path.suffix.lower() in OTHER_FORMATS:
        return {"name": path.name, "text": load(path).unparse(), "files": {}}
    text = text_of(path)
    return {"name": path.name, "text": text, "files": _named(text, path.parent)}


def _named(text: str, folder: Path) -> dict[str, str]:
    """Return the texts of the files that a text names, and that these name; the page is given no others."""
    from credalog.text.sheets import table_text

    found: dict[str, str] = {}
    waiting = [text]
    for each in waiting:
        for name in (one or other for one, other in _NAMED.findall(each)):
            inside = not Path(name).is_absolute() and ".." not in Path(name).parts
            if inside and name not in found and (folder / name).is_file():
                found[name] = table_text(folder / name)
                waiting.append(found[name])
    return found


def examples(arguments: Namespace) -> int:
    """Write the examples that come with Credalog to a folder, and list them."""
    from credalog.play.server import copy_examples, gallery

    folder = Path(arguments.folder)
    copy_examples(folder)
    told = [{"file": str(folder / one["file"]), "shows": one["shows"]} for one in gallery()]
    if arguments.json:
        write_json({"folder": str(folder), "examples": told})
    else:
        width = max(len(one["file"]) for one in told)
        lines = (f"{one['file']:<{width}}  {one['shows']}" for one in told)
        write("\n".join([*lines, "", f"Ask one: credalog run {told[0]['file']}"]) + "\n")
    return ANSWERED


PLAYING = (
    Command(
        "play",
        "open a page to try models on: an editor, the graph, answers as they are found",
        (
            Argument("file", "a network, or the address of a shared one", "FILE", nargs="?"),
            Argument("--port", "the port to serve on (default: any that is free)", "N", count, 0),
            Argument("--no-browser", "print the address, and open no browser", action="store_true"),
            replace(TIMEOUT, help="end after so many seconds (default: with Ctrl-C)"),
            replace(JSON, help="print the address as JSON"),
        ),
        play,
    ),
    Command(
        "examples",
        "write the examples that come with Credalog to a folder",
        (
            Argument("folder", "where to (default: examples)", "FOLDER", nargs="?", default="examples"),
            TIMEOUT,
            replace(JSON, help="list them as JSON"),
        ),
        examples,
    ),
)
