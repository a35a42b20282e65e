"""Everything the commands write: text, JSON, files, and the table of answers.

Input: results. Output: characters on standard output, or a file that is either complete
or untouched.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from io import TextIOWrapper
from itertools import chain, islice
from math import ceil, isfinite
from pathlib import Path
from stat import S_IMODE
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from credalog.cli.command import Argument, effort, note
from credalog.errors import CredalogError
from credalog.numbers.printed import decimal
from credalog.numbers.tolerances import PROBABILITY, Scale

if TYPE_CHECKING:
    from credalog.cli.progress import Watch
    from credalog.lcn import LCN
    from credalog.methods.answer import Answer, Marginals
    from credalog.show.canvas import Picture

Json: TypeAlias = Mapping[str, Any] | Sequence[Any]

NOISE = 1e-8
"""An end this near to the border of a cell does not touch the next one."""

ESSENTIAL = 9
"""The rank of a column that is shown even where a terminal has no room for it."""

NARROWEST = 12
"""The first column of a table is broken into lines no shorter than this."""

GAP = 2
"""The spaces between two columns of a table."""

SAMPLE = 1000
"""So many rows of a long table decide how wide its columns are."""

REMEMBERED = 10_000
"""So many bars are remembered: in a long table many answers are alike."""

CELLS = 24
"""The length of the bar that stands for the interval from 0 to 1."""


_written = 0
"""How often something was written."""


def times_written() -> int:
    """Return how often something was written so far."""
    return _written


def write(content: str | bytes, path: str | None = None) -> None:
    """Write to a file, whole or not at all, or to standard output where no path (or `-`) is given."""
    global _written  # noqa: PLW0603 -- what was written cannot be called back
    _written += 1
    if path is not None and path != "-":
        _replace(Path(path), content if isinstance(content, bytes) else content.encode())
    elif isinstance(content, bytes):
        sys.stdout.buffer.write(content)
    else:
        sys.stdout.write(content)


def speak_unicode() -> None:
    """Let standard output take any name.

    Pipes and files are UTF-8, as all our files are. A terminal keeps its encoding, and is shown codes for
    what it lacks.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        if sys.stdout.isatty():
            sys.stdout.reconfigure(errors="backslashreplace")
        else:
            sys.stdout.reconfigure(encoding="utf-8")


def _replace(target: Path, content: bytes) -> None:
    """Write to a file that is afterwards whole or as it was; a pipe or a device is written to as it is."""
    check_target(str(target))
    try:
        if target.exists() and not target.is_file():
            # A file in the place of a device would break it for everybody on this machine.
            target.write_bytes(content)
        else:
            # A link goes on leading to what it led to.
            _exchange(target.resolve(), content)
    except OSError as error:
        # The system would name the temporary file.
        raise CredalogError(
            f"{target} cannot be written: {(error.strerror or str(error)).lower()}",
            advice="Name a place where you may write.",
        ) from None


def _exchange(target: Path, content: bytes) -> None:
    """Write beside the target first, so that a full disk or an interruption cannot leave half a file."""
    mode = S_IMODE(target.stat().st_mode) if target.exists() else _usual_mode()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.chmod(mode)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def check_target(path: str | None, *, model: str = "-", read: Sequence[str] = ()) -> None:
    """Complain about a path that cannot be written to; better before a long computation than after it.

    What is made of a model does not take its place, nor that of another file that is read: what they said
    would be lost.
    """
    if path is None or path == "-":
        return
    target = Path(path)
    if _is_same(target, model):
        raise CredalogError(f"{path} is the model itself", advice="Name another file to write to.")
    if any(_is_same(target, one) for one in read):
        raise CredalogError(f"{path} is what is read", advice="Name another file to write to.")
    if target.is_dir():
        raise CredalogError(f"{path} is a folder", advice=f"Name a file in it: {target / 'FILE'}")
    if not target.parent.is_dir():
        raise CredalogError(
            f"there is no folder {target.parent} to write {target.name} to", advice="Name one that there is."
        )


def _is_same(target: Path, other: str) -> bool:
    return target.is_file() and Path(other).is_file() and target.samefile(other)


def check_text_target(arguments: Namespace, *read: str) -> None:
    """Complain as `check_target` does, and about a name that promises another form than that of a text."""
    path: str | None = arguments.output
    check_target(path, model=arguments.file, read=[*(arguments.data or ()), *read])
    if path is not None and Path(path).suffix.lower() in (".bif", ".uai") and not arguments.json:
        raise CredalogError(
            f"{path} would hold a model in the language of .lcn files, whatever its name says",
            advice=f"Name it {Path(path).with_suffix('.lcn')}; `credalog convert` makes .bif and .uai of it.",
        )


def _usual_mode() -> int:
    # mkstemp makes files private; the mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_json(value: Json, path: str | None = None) -> None:
    """Write a value as indented JSON; a number that is none, or infinite, is null there."""
    write(as_json(value), path)


def as_json(value: Json) -> str:
    """Return a value as indented JSON; a number that is none, or infinite, is null there."""
    return json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if isfinite(value) else None
        case dict():
            return {key: _finite(one) for key, one in value.items()}
        case list() | tuple():
            return [_finite(one) for one in value]
        case _:
            return value


def shown_lower(value: float) -> str:
    """Write a lower bound, rounded down."""
    return decimal(value, down=True)


def shown_upper(value: float) -> str:
    """Write an upper bound, rounded up."""
    return decimal(value, down=False)


@lru_cache(maxsize=REMEMBERED)
def bar(lower: float, upper: float, attained: tuple[float, float] | None, scale: Scale = PROBABILITY) -> str:
    """Draw an interval: solid where it is attained, lighter where it is only not excluded.

    Where it is not one of probabilities, the ends of the bar are written beside it.
    """
    cells = ["·"] * CELLS
    _fill(cells, scale.position(lower), scale.position(upper), "▒")
    if attained is not None:
        _fill(cells, scale.position(attained[0]), scale.position(attained[1]), "█")
    return "".join(cells) + ("" if scale == PROBABILITY else f"  {scale}")


def _fill(cells: list[str], lower: float, upper: float, mark: str) -> None:
    """Mark every cell that the interval touches, and at least one."""
    first = min(max(int(lower * CELLS + NOISE), 0), CELLS - 1)
    end = min(max(first + 1, ceil(upper * CELLS - NOISE)), CELLS)
    cells[first:end] = mark * (end - first)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table and what it shows of a row, which is an object as `--json` writes it.

    Where the terminal is narrow, the columns of the lowest rank go first.
    """

    heading: str
    cell: Callable[[Mapping[str, Any]], str]
    justify: Literal["left", "right"] = "left"
    rank: int = ESSENTIAL


def attained(one: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return between which values models were found, if at both ends."""
    low, high = one["lower_witnessed"], one["upper_witnessed"]
    return None if low is None or high is None else (low, high)


def _drawn(one: Mapping[str, Any]) -> str:
    scale = Scale(one["least"], one["greatest"], 1.0) if "least" in one else PROBABILITY
    return bar(one["lower"], one["upper"], attained(one), scale)


LOWER = Column("lower", lambda one: shown_lower(one["lower"]), "right")
UPPER = Column("upper", lambda one: shown_upper(one["upper"]), "right")
BAR = Column(f"0{'1':>{CELLS - 1}}", _drawn, rank=5)
SECONDS = Column("seconds", lambda one: f"{one['seconds']:.2f}", "right", 4)


def write_table(columns: Sequence[Column], objects: Iterable[Mapping[str, Any]]) -> None:
    """Write a table as wide as the terminal allows, and as it needs where nobody looks.

    Where there is no room for the first column, it is broken into lines.
    """
    from rich.console import Console

    rows = [[column.cell(one) for column in columns] for one in objects]
    console = Console(width=None if sys.stdout.isatty() else 1000, highlight=False, markup=False, emoji=False)
    needed = _widths(columns, rows)
    shown = _fitting(columns, needed, console.width)
    room = console.width - sum(needed[i] + GAP for i in shown[1:])
    needed[0] = min(needed[0], max(room, NARROWEST))
    line = _template([columns[i] for i in shown], [needed[i] for i in shown])
    console.print(line.format(*(columns[i].heading for i in shown)).rstrip(), style="bold", soft_wrap=True)
    # A hundred thousand rows are no layout problem: written one by one, they take a second.
    sys.stdout.writelines(
        f"{line.format(*cells).rstrip()}\n"
        for row in rows
        for cells in _folded([row[i] for i in shown], needed[0])
    )


def _template(columns: Sequence[Column], widths: Sequence[int]) -> str:
    """Return the format of a row."""
    cells = zip(columns, widths, strict=True)
    return (" " * GAP).join(f"{{:{'<' if one.justify == 'left' else '>'}{width}}}" for one, width in cells)


def _folded(row: Sequence[str], width: int) -> Iterator[Sequence[str]]:
    """Break the first cell of a row at blanks; what follows its first line stands alone."""
    text, rest, start = row[0], row[1:], 0
    while len(text) - start > width:
        blank = text.rfind(" ", start + 1, start + width + 1)
        cut = start + width if blank < 0 else blank
        yield text[start:cut], *rest
        start, rest = cut + (blank >= 0), [""] * len(rest)
    yield text[start:], *rest


def write_rows(columns: Sequence[Column], objects: Iterable[Mapping[str, Any]], widest: int) -> None:
    """Write a table row by row as the rows come, none of which is kept; `widest` is for the first column."""
    rest = iter(objects)
    first = list(islice(rest, SAMPLE))
    rows = [[column.cell(one) for column in columns] for one in first]
    needed = _widths(columns, rows)
    needed[0] = max(needed[0], widest)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 1000
    shown = _fitting(columns, needed, width)
    chosen = [columns[i] for i in shown]
    line = _template(chosen, [needed[i] for i in shown])
    write(f"{line.format(*(column.heading for column in chosen)).rstrip()}\n")
    sys.stdout.writelines(
        f"{line.format(*(column.cell(one) for column in chosen)).rstrip()}\n" for one in chain(first, rest)
    )


def write_json_rows(objects: Iterable[Mapping[str, Any]]) -> None:
    """Write objects as one indented list of JSON, as they come."""
    separator = "[\n"
    for one in objects:
        whole = json.dumps(_finite(one), indent=2, ensure_ascii=False, allow_nan=False)
        write(separator + "\n".join(f"  {line}" for line in whole.split("\n")))
        separator = ",\n"
    write("\n]\n" if separator == ",\n" else "[]\n")


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return how wide each column has to be."""
    headings = [column.heading for column in columns]
    return [max(map(len, texts)) for texts in zip(headings, *rows, strict=True)]


def _fitting(columns: Sequence[Column], needed: Sequence[int], width: int) -> list[int]:
    """Return the columns to show: all but the least important ones for which there is no room."""
    shown = list(range(len(columns)))
    for i in sorted(shown, key=lambda i: columns[i].rank):
        if sum(needed[j] + GAP for j in shown) - GAP <= width or columns[i].rank == ESSENTIAL:
            break
        shown.remove(i)
    return shown


# ---- plots beside the answers -----------------------------------------------------------------------------
# Plots beside the answers: `--plot FILE`.
# Input: answers, and what was reported while the last of them was sought. Output: a picture in a file,
# whose ending says in which form.

PLOT = Argument("--plot", "draw the result, too: .svg, or .png and .pdf with matplotlib", "FILE")


def check_plot(arguments: Namespace) -> None:
    """Complain about a file that a plot cannot be written to, before any work."""
    path = arguments.plot
    if path is None:
        return
    from credalog.show.canvas import FORMS, require_painter

    if Path(path).suffix.lower().removeprefix(".") not in FORMS:
        raise CredalogError(
            f"{path} does not say what kind of picture it is to be",
            advice=f"Name it {Path(path).stem or 'plot'}.svg; .png and .pdf need matplotlib.",
        )
    check_target(path, model=arguments.file, read=arguments.data or ())
    if not path.lower().endswith(".svg"):
        require_painter()


def write_plot(picture: Picture, arguments: Namespace) -> None:
    """Write a picture in the form that its file's name asks for."""
    write(picture.in_form(Path(arguments.plot).suffix.lower().removeprefix(".")), arguments.plot)


def plot_answers(model: LCN, answers: Sequence[Answer], watch: Watch, arguments: Namespace) -> None:
    """Draw intervals one below the other, and how a single one closed."""
    if arguments.plot is None:
        return
    if not answers:
        note(f"{arguments.plot} was not written: there is no answer to draw.")
        return
    if arguments.command == "marginals":
        picture = _marginals(model, answers, arguments)
    else:
        picture = _intervals(answers, watch)
    with arguments.clock.silenced():
        write_plot(picture, arguments)


def _marginals(model: LCN, answers: Sequence[Answer], arguments: Namespace) -> Picture:
    """Draw the marginals, beside those without the evidence of the command line if there is any."""
    from credalog.methods.answer import Marginals

    before: Marginals | None = None
    if arguments.evidence:
        with arguments.clock.giving_up():
            said = model.theory.evidence[: -len(arguments.evidence)]
            unaware = type(model)(replace(model.theory, evidence=said))
            limits = effort(arguments, "method", left=max(len(answers), 1))
            before = unaware.marginals(**limits)
    return Marginals(tuple(answers)).plot(before=before)


def _intervals(answers: Sequence[Answer], watch: Watch) -> Picture:
    from credalog.show.plots import Line, Recording, interval_plot, stacked

    picture = interval_plot([Line(str(answer.query), answer.interval) for answer in answers])
    recording = Recording()
    for report in watch.reports:
        recording(report)
    if len(answers) > 1 or not recording.moments:
        return picture
    return stacked([picture, recording.plot(answers[0], title="how it closed")])


def plot_result(found: Any, arguments: Namespace) -> None:
    """Draw a result that knows how."""
    if arguments.plot is not None:
        write_plot(found.plot(), arguments)
