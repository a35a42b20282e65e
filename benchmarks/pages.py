"""What all benchmarks share: where other people's files lie, and when a results page is written.

Input: the options of a command. Output: a folder that is there; a page, printed, and written if asked for.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
RESULTS = ROOT / "benchmarks" / "results"


def options_of(description: str | None) -> argparse.ArgumentParser:
    """Begin a parser whose page is only written when asked for."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="write the results page")
    return parser


def add_data(parser: argparse.ArgumentParser, folder: str) -> None:
    """Let the user say where other people's files are."""
    parser.add_argument(
        "--data",
        type=Path,
        default=SHARED / folder,
        help="the folder of the public files (default %(default)s)",
    )


def require(folder: Path) -> Path:
    """Return a folder that is there; otherwise end, and say what is missing and what to pass."""
    if not folder.is_dir():
        where = "benchmarks/README.md says where the files come from"
        raise SystemExit(f"{folder} is not there: pass --data FOLDER ({where}).")
    return folder


def command() -> str:
    """Return the command that is running, as a user would type it."""
    return shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])


def finish(name: str, text: str, parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Print a page; write it too where that was asked for. Options that are not the usual are named on it."""
    changed = [
        f"{key} {value}"
        for key, value in vars(options).items()
        if key not in {"write", "data", "million"} and value != parser.get_default(key)
    ]
    if changed:
        title, _, rest = text.partition("\n")
        text = f"{title}\n\n**Not the usual run: {', '.join(changed)}.**\n{rest}"
    print(text)
    if options.write:
        (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
