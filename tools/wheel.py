"""Check what is about to be released: what the wheel holds, and that it works where nothing else is.

Input: a folder with one wheel. Output: a line for each thing that was checked, or an error.

    python -m build && python -m tools.wheel dist
    python -m tools.wheel dist --install       # also into a fresh environment, and ask it something
    python -m tools.wheel dist --tag v0.2.0    # also that the tag is the version
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "credalog"
GENERATED = ("__pycache__", ".pyc", ".nbi", ".nbc", ".so", ".map")
"""What no wheel of pure Python holds."""

MODEL = "0.2 <= P(a) <= 0.4\n0.5 <= P(b | a) <= 0.6\nP(b | !a) <= 0.1\n"
"""0.2 * 0.5 <= P(b) <= 0.4 * 0.6 + 0.6 * 0.1."""


def main(words: list[str] | None = None) -> None:
    """Check the wheel of a folder."""
    parser = ArgumentParser(description="Check a wheel.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tag", help="the tag that is released")
    parser.add_argument("--install", action="store_true", help="install it into a fresh environment")
    chosen = parser.parse_args(words)
    wheels = sorted(chosen.folder.glob("*.whl"))
    if len(wheels) != 1:
        sys.exit(f"there are {len(wheels)} wheels in {chosen.folder}: build one")
    for line in checked(wheels[0], chosen.tag):
        print(line)
    if chosen.install:
        print(tried(wheels[0]))


def checked(wheel: Path, tag: str | None = None) -> Iterator[str]:
    """Check the names in a wheel, and its version against a tag."""
    version = wheel.name.split("-")[1]
    if tag is not None and tag.removeprefix("v") != version:
        sys.exit(f"the tag is {tag}, the version {version}")
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
        entries = archive.read(f"credalog-{version}.dist-info/entry_points.txt").decode()
    if missing := sorted(data_files() - names):
        sys.exit(f"the wheel lacks {', '.join(missing)}")
    if stray := sorted(name for name in names if any(mark in name for mark in GENERATED)):
        sys.exit(f"the wheel holds what is generated: {', '.join(stray[:5])}")
    for needed in ("credalog = credalog.cli:main", "credalog = credalog.show.lexer:LcnLexer"):
        if needed not in entries:
            sys.exit(f"the wheel does not register {needed}")
    yield f"{wheel.name}: {len(names):,} files, all {len(data_files())} files of data among them"


def data_files() -> set[str]:
    """Return the files of the package that are no Python, as a wheel names them."""
    found = (path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".py")
    kept = (path for path in found if not any(mark in str(path) for mark in GENERATED))
    return {f"credalog/{path.relative_to(PACKAGE).as_posix()}" for path in kept}


def tried(wheel: Path) -> str:
    """Install a wheel where nothing else is, far from the sources, and ask it a question."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "env", with_pip=True)
        scripts = home / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        install = [str(scripts / "python"), "-m", "pip", "install", "--quiet", str(wheel.resolve())]
        subprocess.run(install, check=True, cwd=home)
        (home / "model.lcn").write_text(MODEL, encoding="utf-8")
        ask = [str(scripts / "credalog"), "query", "model.lcn", "P(b)", "--json"]
        found = subprocess.run(ask, check=True, cwd=home, capture_output=True, text=True)
        (answer,) = json.loads(found.stdout)
        for command in (["graph", "model.lcn", "-o", "graph.svg"], ["schema", "query"]):
            subprocess.run([str(scripts / "credalog"), *command], check=True, cwd=home, capture_output=True)
    if abs(answer["lower"] - 0.1) > 1e-4 or abs(answer["upper"] - 0.3) > 1e-4:
        sys.exit(f"P(b) should be [0.1, 0.3] and was [{answer['lower']}, {answer['upper']}]")
    return f"installed by itself it answers P(b) in [{answer['lower']:.6f}, {answer['upper']:.6f}]"


if __name__ == "__main__":
    main()
