"""Time limits: every command on wide networks, with the clock beside it.

Input: networks drawn here, and public files where they are at hand. Output: `benchmarks/results/limits.md`.
Run from the project root: python benchmarks/limits.py

Each command runs in a process of its own, two at a time. What is measured is the whole command, the start
of Python included; a limit of T seconds is kept where the command ends within 1.1 T + 1 s. One that is still
there after 3 T + 10 s is ended. Where a limit is not kept, a dump of the stack says what was under way then.
Every row has the shortest limit and Ctrl-C, some in turn the longer ones (--whole: all of them); --every
takes more networks. A subset: --only NAME --commands query map --limits 1 --interrupts 0.
After --minutes nothing more is begun. Ctrl-C and SIGTERM end with the page of what was run by then; what each
run gave is kept in --journal, too, and --resume goes on from there.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from random import Random
from threading import Lock
from time import monotonic
from types import FrameType
from typing import NoReturn

from limit_networks import Case, cases, other_cases
from limit_runs import BYTECODE, PROMPTLY, Run, interrupted, prepare, timed, words_of
from pages import add_data, command, finish, options_of

import credalog

SUFFICES = 0.8
"""A command that takes less of its limit needs no more."""

TURNS = ((1.0, 1), (5.0, 3), (inf, 6))
"""Of limits up to so many seconds one row in so many is tried."""

SOON, LATE = 0.3, 2.0
"""Between these seconds Ctrl-C is pressed."""

NEEDLESS, LEFT_OUT, NOT_RUN, ENDED = ".", "o", "?", "-"
"""In the place of a run: the shorter limit sufficed; not this row's turn; no time; over before Ctrl-C."""

HEADER = """# Time limits

Command: `{command}`. {jobs} at a time, {cores} cores, {machine}, Python {python}.
Seconds from the start of the command to its end, Python's own start included{unit}; the package is compiled
to bytecode before, as an installation does. A limit of T is kept within 1.1 T + 1 s;
what is not kept is **bold**, the seconds of the processor in brackets beside it.
`Ctrl-C` is a limit of a minute with an interrupt after some seconds, drawn at random between {soon:g} and
{late:g}: the seconds from there to the end, of which {promptly:g} is allowed, with the moment behind @.

In the place of a time: "{ENDED}" the command had ended before Ctrl-C; "{NEEDLESS}" the shorter limit
sufficed; "{LEFT_OUT}" left out: the longer limits are tried in turn, one row in {turns} (--whole tries all);
"{NOT_RUN}" not run: the run was ended before.
Besides being late a run can be wrong: "refused", an error that is neither a contradiction nor impossible
evidence nor what must be said of this network (a theory that explodes, a picture of thousands of nodes);
"traceback", an exception that nobody caught, or one that Python printed and forgot; "ended by force", still
there after 3 T + 10 s; "exit code N", not the 130 of Ctrl-C; "half of" a file, or a temporary file, left
behind. What it says is under "Not kept".

Left out altogether: smaller networks of the same kinds, and other public files (--every takes them); `batch`,
`play`; `learn`, which needs data, and `verify`, which needs a proof.

"""


@dataclass
class Row:
    """One command on one network: what was found so far, by column."""

    number: int
    case: Case
    name: str
    file: Path
    cells: dict[str, Run | str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.case.name} | {self.name}"

    def text(self, columns: Sequence[str]) -> str:
        """Return the line of the table."""
        cells = (self.cells.get(column, NOT_RUN) for column in columns)
        shown = (cell if isinstance(cell, str) else cell.cell for cell in cells)
        return f"| {self.key} | {' | '.join(shown)} |"

    @property
    def suffices(self) -> bool:
        """Tell whether a limit that was tried was more than enough."""
        timed = (run for run in self.cells.values() if isinstance(run, Run) and run.moment is None)
        limits = ((run, (run.within - 1.0) / 1.1) for run in timed)
        return any(run.is_kept and run.processor < SUFFICES * limit for run, limit in limits)


class Table:
    """All rows, and the stages in which they are filled: the shortest limit, Ctrl-C, the longer limits."""

    def __init__(self, rows: Sequence[Row], options: Namespace, folder: Path) -> None:
        self.rows, self.options, self.folder = rows, options, folder
        self.limits = {f"{limit:g} s": limit for limit in sorted(options.limits)}
        presses = [f"Ctrl-C{'' if i == 0 else f' {i + 1}'}" for i in range(options.interrupts)]
        self.columns = [*self.limits, *presses]
        self.stages = [*list(self.limits)[:1], *presses, *list(self.limits)[1:]]
        self.ends = monotonic() + 60.0 * options.minutes
        self._lock = Lock()

    def fill(self) -> None:
        """Run stage after stage, a few commands at a time, until all is done or the time is up."""
        for column in self.stages:
            workers = ThreadPoolExecutor(self.options.jobs)
            try:
                left = [row for row in self.rows if column not in row.cells]
                for _ in workers.map(lambda row, column=column: self._filled(row, column), left):
                    pass
            finally:
                workers.shutdown(cancel_futures=True)

    def _filled(self, row: Row, column: str) -> None:
        """Fill one cell, tell what it is and keep it."""
        found = self._found(row, column)
        if found == NOT_RUN:
            return
        with self._lock:
            row.cells[column] = found
            if isinstance(found, Run) or found == ENDED:
                shown = found if isinstance(found, str) else found.cell
                done = sum(column in one.cells for one in self.rows)
                print(f"{column} {done}/{len(self.rows)}: {row.key}: {shown}", file=sys.stderr, flush=True)
            kept = found if isinstance(found, str) else asdict(found) | {"out": ""}
            with self.options.journal.open("a", encoding="utf-8") as journal:
                journal.write(json.dumps([row.key, column, kept]) + "\n")

    def _found(self, row: Row, column: str) -> Run | str:
        limit = self.limits.get(column)
        if limit is not None and not self._is_in_turn(row, limit):
            return LEFT_OUT
        if limit is not None and row.suffices:
            return NEEDLESS
        if monotonic() > self.ends:
            return NOT_RUN
        folder = self.folder / f"{row.number}-{column.replace(' ', '_')}"
        folder.mkdir()
        words = [
            word.replace("OUT", str(folder / "written")) for word in words_of(row.case, row.file)[row.name]
        ]
        if limit is not None:
            found: Run | None = timed(words, limit, folder, by_processor=self.options.processor)
        else:
            moment = Random(f"{row.key} {column}").uniform(SOON, LATE)
            found = interrupted(words, moment, folder, by_processor=self.options.processor)
        shutil.rmtree(folder)
        if found is not None and self.options.show:
            print(f"{found.out[:3000]}{found.error[:3000]}", file=sys.stderr)
        return ENDED if found is None else found

    def _is_in_turn(self, row: Row, limit: float) -> bool:
        if self.options.whole or limit == min(self.limits.values()):
            return True
        return row.number % next(every for most, every in TURNS if limit <= most) == 0

    def resume(self) -> None:
        """Take over what an earlier run has kept."""
        rows = {row.key: row for row in self.rows}
        for line in self.options.journal.read_text(encoding="utf-8").splitlines():
            with suppress(json.JSONDecodeError):
                key, column, kept = json.loads(line)
                if key in rows:
                    known = kept if isinstance(kept, str) else Run(**kept | {"codes": tuple(kept["codes"])})
                    rows[key].cells[column] = known

    # ---- the page ---------------------------------------------------------------------------------------

    def text(self) -> str:
        """Return the page of what was run so far."""
        table = [
            f"| network | command | {' | '.join(self.columns)} |",
            f"|---|---|{'---:|' * len(self.columns)}",
            *(row.text(self.columns) for row in self.rows),
        ]
        missed = list(self._missed()) or ["Nothing that was run."]
        return self._header() + "\n".join([self._counts(), "", *table, "", "## Not kept", "", *missed, ""])

    def _counts(self) -> str:
        """Say what was run, what was not, and how it went."""
        cells = [row.cells.get(column, NOT_RUN) for row in self.rows for column in self.columns]
        runs = [cell for cell in cells if isinstance(cell, Run)]
        kept, wrong = sum(run.is_kept for run in runs), sum(bool(run.trouble) for run in runs)
        networks = len({row.case.name for row in self.rows})
        late = len(runs) - kept - wrong
        marks = {mark: cells.count(mark) for mark in (ENDED, NEEDLESS, LEFT_OUT, NOT_RUN)}
        is_whole = "All that was planned was run." if not marks[NOT_RUN] else "**Not all was run.**"
        return (
            f"{networks} networks, {len(self.rows)} rows. {is_whole} Of {len(runs)} runs {kept} are as they"
            f" should be, {late} are late, {wrong} are wrong. Besides: {marks[ENDED]} ended before Ctrl-C,"
            f" {marks[NEEDLESS]} needed no more, {marks[LEFT_OUT]} left out in turn,"
            f" {marks[NOT_RUN]} not run."
        )

    def _missed(self) -> Iterator[str]:
        for row in self.rows:
            for column in self.columns:
                run = row.cells.get(column)
                if isinstance(run, Run) and not run.is_kept:
                    yield f"- {row.key.replace(' |', ',')}, {column}: {run.about}"

    def _header(self) -> str:
        return HEADER.format(
            command=command(),
            jobs=self.options.jobs,
            cores=os.cpu_count(),
            machine=platform.machine(),
            python=platform.python_version(),
            unit=", counted in seconds of the processor, in brackets" if self.options.processor else "",
            turns=", then in ".join(str(every) for most, every in TURNS if most > min(self.options.limits)),
            promptly=PROMPTLY,
            soon=SOON,
            late=LATE,
            ENDED=ENDED,
            NEEDLESS=NEEDLESS,
            LEFT_OUT=LEFT_OUT,
            NOT_RUN=NOT_RUN,
        )


def rows_of(options: Namespace, folder: Path) -> Iterator[Row]:
    """Write the networks down, and yield a row for every command on each.

    They are numbered so that every command, and every network, has its turn.
    """
    makers = [*cases(options.data), *(other_cases(options.data) if options.every else ())]
    for number, make in enumerate(makers):
        case = make()
        if options.only and not any(word in case.name for word in options.only):
            continue
        file = folder / f"case{number}{case.suffix}"
        asks = f"\nquery {case.query}\n" if case.suffix == ".lcn" else ""
        file.write_text(case.text + asks, encoding="utf-8")
        print(f"made: {case.name}", file=sys.stderr, flush=True)
        names = list(words_of(case, file))
        for place, name in enumerate(names):
            if not options.commands or name in options.commands:
                yield Row(1_001 * number + place, case, name, file)


def newest_source() -> float:
    """Return when a file of the package was last changed."""
    return max(path.stat().st_mtime for path in Path(credalog.__file__).parent.rglob("*.py"))


def _ended(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def main() -> None:
    parser = options_of(__doc__)
    add_data(parser, "")
    parser.add_argument("--limits", type=float, nargs="*", default=[1.0, 5.0, 20.0], help="in seconds")
    parser.add_argument("--interrupts", type=int, default=1, help="how often to press Ctrl-C")
    parser.add_argument("--jobs", type=int, default=2, help="how many commands at a time")
    parser.add_argument("--minutes", type=float, default=20.0, help="after these nothing more is begun")
    parser.add_argument("--whole", action="store_true", help="try the longer limits on every row")
    parser.add_argument("--every", action="store_true", help="take the networks that are left out, too")
    parser.add_argument("--only", nargs="*", default=[], help="networks whose name has one of these in it")
    parser.add_argument("--commands", nargs="*", default=[], help="these commands (default: all)")
    parser.add_argument(
        "--processor", action="store_true", help="count seconds of the processor: a busy machine"
    )
    parser.add_argument("--show", action="store_true", help="print what each command wrote")
    journal = Path(tempfile.gettempdir()) / "credalog-limits.jsonl"
    parser.add_argument("--journal", type=Path, default=journal, help="where each run is kept as it ends")
    parser.add_argument(
        "--resume", action="store_true", help="go on from the journal of a run that was ended"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _ended)
    before = newest_source()
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder) / BYTECODE)
        table = Table(list(rows_of(options, Path(folder))), options, Path(folder))
        if options.resume:
            table.resume()
        else:
            options.journal.unlink(missing_ok=True)
        with suppress(KeyboardInterrupt):
            table.fill()
    text = table.text()
    if newest_source() != before:
        changed = "**The sources were changed while this ran: a traceback may be of a half-changed file.**"
        title, _, rest = text.partition("\n")
        text = f"{title}\n\n{changed}\n{rest}"
    finish("limits", text, parser, options)


if __name__ == "__main__":
    main()
