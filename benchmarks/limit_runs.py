"""One command in a process of its own, with a clock beside it.

Input: the words of a command, and a limit or the moment of Ctrl-C. Output: `Run`: how it ended and how long
it took, by the clock or, on a busy machine, by the seconds of the processor.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep

from limit_networks import Case

import credalog

__all__ = ["BYTECODE", "PROMPTLY", "Run", "interrupted", "prepare", "timed", "words_of"]

BYTECODE = "bytecode"
"""The folder, beside those of the commands, for what Python has compiled."""

POLL = 0.01
"""How often a command is asked whether it has ended."""

PROMPTLY = 1.0
"""How long a command may go on after Ctrl-C."""

AT_ITS_END = 0.2
"""A command that ends so soon after Ctrl-C, and not by it, had done its work."""

STARTED = 0.1
"""After so many seconds of the processor a command can be asked where it is."""

STARVED = 60.0
"""A command that counts seconds of the processor is ended after so many times its patience by the clock."""


def words_of(case: Case, file: Path) -> dict[str, list[str]]:
    """Return the arguments of every command, the time limit left out."""
    target, out = case.query, "OUT.lcn"
    claim, measured = target.removeprefix("P(").removesuffix(")"), f"P({case.measured or case.chosen[-1]})"
    words = {
        "query": ["query", str(file), target],
        "marginals": ["marginals", str(file)],
        "run": ["run", str(file)],
        "check": ["check", str(file)],
        "decide": ["decide", str(file), f"P({claim}) >= 0.35"],
        "map": ["map", str(file)],
        "map of two": ["map", str(file), "--variables", *case.chosen],
        "explain": ["explain", str(file), target],
        "explain --measure": ["explain", str(file), target, "--most", "1", "--measure", measured],
        "measure": ["measure", str(file), target],
        "repair": ["repair", str(file), "-o", out],
        "ground": ["ground", str(file), "-o", out],
        "convert": ["convert", str(file), out],
        "maxent": ["maxent", str(file)],
        "widen": ["widen", str(file), "--by", "0.02", "-o", out],
        "graph": ["graph", str(file), "-o", "OUT.svg"],
        "independences": ["independences", str(file)],
        "certificate": ["query", str(file), target, "--certificate", "OUT.cert"],
    }
    if case.suffix != ".lcn":
        # Only our own language has a line for questions.
        del words["run"]
    return words


STARTER = """
import faulthandler, signal, sys
faulthandler.register(signal.SIGUSR1)
signal.signal(signal.SIGINT, signal.default_int_handler)
from credalog.cli import main
sys.argv[1:] = {words!r}
sys.exit(main())
"""

BY_PROCESSOR = """
import signal, time
time.monotonic = time.process_time
from credalog.cli import clock
clock.process_began = lambda: 0.0

class Alarm:
    def __init__(self, seconds, ring):
        self.seconds, self.ring = seconds, ring

    def start(self):
        signal.signal(signal.SIGPROF, lambda *_: self.ring())
        signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def cancel(self):
        signal.setitimer(signal.ITIMER_PROF, 0.0)

clock.Timer = Alarm
"""
"""Budgets and the alarm count seconds of the processor."""

EXPLAINED = (
    "--limit",
    "No such file",
    "cannot be written as",
    "evidence",
    "is larger than",
    "not a credal network",
    "a picture of",
)
"""Of which words one is in an error that is right: a theory that explodes, a graph too large to draw."""


@dataclass(frozen=True)
class Run:
    """How one command ended: its seconds, those of its processor, its exit code, what it said, if in time."""

    seconds: float
    processor: float
    code: int | None
    out: str
    error: str
    within: float
    is_by_processor: bool = False
    codes: tuple[int, ...] = ()
    """The exit codes that it may have; any but those of errors where none is named."""
    left: str = ""
    """What is wrong with the files that it left."""
    moment: float | None = None
    """When it was interrupted."""

    @property
    def counted(self) -> float:
        """Return the seconds that count."""
        return self.processor if self.is_by_processor else self.seconds

    @property
    def is_kept(self) -> bool:
        """Tell whether the command ended in time, and as it should."""
        return self.counted <= self.within and not self.trouble

    @property
    def trouble(self) -> str:
        """Say what is wrong with the way in which the command ended."""
        if self.code is None:
            return "ended by force"
        if "Traceback (most recent call last)" in self.error:
            return "traceback"
        if self.left:
            return self.left
        if self.codes:
            return "" if self.code in self.codes else f"exit code {self.code}"
        return "refused" if self.code in (1, 130) or (self.code == 2 and not self._is_explained) else ""

    @property
    def _is_explained(self) -> bool:
        """Tell whether bad input is what the command must say here: it is for other networks."""
        return any(words in self.error for words in EXPLAINED)

    @property
    def cell(self) -> str:
        """Return what the table says of it."""
        processor = f"({self.processor:.1f})" if self.seconds > self.within or self.is_by_processor else ""
        moment = "" if self.moment is None else f"@{self.moment:.1f}"
        shown = " ".join(filter(None, (f"{self.seconds:.1f}", processor, moment, self.trouble)))
        return shown if self.is_kept else f"**{shown}**"

    @property
    def about(self) -> str:
        """Say what is known of a run that is not as it should be: what it said last, or where it was."""
        frames = re.findall(r'File ".*?credalog/(\S+?)", line (\d+) in (\S+)', self.error)
        where = " < ".join(f"{file}:{line} {name}" for file, line, name in frames[:6])
        last = " ".join(self.error[-600:].replace(f"{Path(__file__).resolve().parents[1]}/", "").split())
        return last if self.trouble not in ("", "ended by force") else where or last


def timed(words: Sequence[str], limit: float, folder: Path, *, by_processor: bool) -> Run:
    """Run a command under a limit, and end it by force where it takes far too long."""
    with _started([*words, "--timeout", str(limit)], folder, by_processor) as child:
        return child.ended(within=1.1 * limit + 1.0, patience=3.0 * limit + 10.0)


def interrupted(words: Sequence[str], after: float, folder: Path, *, by_processor: bool) -> Run | None:
    """Interrupt a command as Ctrl-C does, and measure from there; None where it has ended before."""
    with _started([*words, "--timeout", "60"], folder, by_processor) as child:
        while child.counted < after and not child.has_ended():
            sleep(POLL)
        if not child.interrupt():
            return None
        found = child.ended(within=PROMPTLY, patience=20.0, codes=(130,))
    is_done = found.code is not None and found.code not in found.codes and found.counted <= AT_ITS_END
    return None if is_done else replace(found, moment=after)


class _Child:
    """A command under way, in a folder for what it writes."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, by_processor: bool) -> None:
        self.process, self.folder, self.by_processor = process, folder, by_processor
        self.began, self.used_before = monotonic(), 0.0
        self.used_at_end: float | None = None

    @property
    def seconds(self) -> float:
        """Return the seconds by the clock."""
        return monotonic() - self.began

    @property
    def processor(self) -> float:
        """Return the seconds of the processor."""
        used = self._used() if self.used_at_end is None else self.used_at_end
        return used - self.used_before

    @property
    def counted(self) -> float:
        """Return the seconds that count."""
        return self.processor if self.by_processor else self.seconds

    def _used(self) -> float:
        """Return what the command used of the processor so far: proc(5), utime and stime."""
        found = Path(f"/proc/{self.process.pid}/stat")
        if not found.exists():
            return self.used_before
        words = found.read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def interrupt(self) -> bool:
        """Press Ctrl-C, unless the command has ended, and count from here."""
        if self.has_ended():
            return False
        self.used_before, self.began = self._used(), monotonic()
        self.process.send_signal(signal.SIGINT)
        return True

    def ended(self, *, within: float, patience: float, codes: tuple[int, ...] = ()) -> Run:
        """Wait for the end, by force after so many seconds; one that is late is asked where it is."""
        is_asked = False
        while not self.has_ended() and self.counted < patience and self.seconds < STARVED * patience:
            if not is_asked and self.counted > within and self._used() > STARTED:
                self.process.send_signal(signal.SIGUSR1)
                is_asked = True
            sleep(POLL)
        seconds, is_forced = self.seconds, not self.has_ended()
        if is_forced:
            self.process.kill()
        while not self.has_ended():
            sleep(POLL)
        code = None if is_forced else self.process.returncode
        out, error = (_said(self.folder, n).read_text(errors="replace") for n in (1, 2))
        return Run(seconds, self.processor, code, out, error, within, self.by_processor, codes, self._left())

    def has_ended(self) -> bool:
        """Tell whether the command has ended; its own seconds are known then."""
        if self.process.returncode is not None:
            return True
        number, status, used = os.wait4(self.process.pid, os.WNOHANG)
        if number:
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.used_at_end = used.ru_utime + used.ru_stime
        return bool(number)

    def _left(self) -> str:
        """Say what is wrong with what was written: temporary files, or a network that cannot be read."""
        found = list(self.folder.iterdir())
        if any(file.name.startswith(".") for file in found):
            return "a temporary file is left"
        networks = [file for file in found if file.suffix == ".lcn"]
        wrong = [file.name for file in networks if not file.read_bytes().endswith(b"\n")]
        return f"half of {wrong[0]}" if wrong else ""


def _said(folder: Path, number: int) -> Path:
    """Return where standard output (1) or error (2) of a command goes."""
    return folder.parent / f"{folder.name}-said.{number}"


def prepare(bytecode: Path) -> None:
    """Compile the package as an installation does, whatever this environment keeps, and start it once."""
    package = Path(credalog.__file__).parent
    starter = f"import compileall; compileall.compile_dir({str(package)!r}, quiet=1)"
    small = bytecode / "small.lcn"
    bytecode.mkdir()
    small.write_text("0.2 <= P(a | b) <= 0.3\n0.1 <= P(a or b) <= 0.9\n", encoding="utf-8")
    asked = ("query", "P(a)"), ("map",), ("maxent",), ("explain", "P(a)"), ("check",)
    commands = [["-m", "credalog", word, str(small), *words] for word, *words in asked]
    for words in (["-c", starter], *commands):
        subprocess.run([sys.executable, *words], env=_environment(bytecode), capture_output=True, check=True)


def _environment(bytecode: Path) -> dict[str, str]:
    """Return the environment of a command: its bytecode is kept, and one processor is its share."""
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    own = {"PYTHONPYCACHEPREFIX": str(bytecode), "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
    return usual | own


@contextmanager
def _started(words: Sequence[str], folder: Path, by_processor: bool) -> Iterator[_Child]:
    starter = (BY_PROCESSOR if by_processor else "") + STARTER.format(words=list(words))
    environment = _environment(folder.parent / BYTECODE)
    with open(_said(folder, 1), "wb") as out, open(_said(folder, 2), "wb") as error:
        process = subprocess.Popen([sys.executable, "-c", starter], stdout=out, stderr=error, env=environment)
        child = _Child(process, folder, by_processor)
        try:
            yield child
        finally:
            if not child.has_ended():
                process.kill()
                process.wait()
