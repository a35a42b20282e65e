"""Time limits: every command on wide networks, with the clock beside it.

Input: networks drawn here, and public files where they are at hand. Output: `benchmarks/results/limits.md`.
Run from the project root: python benchmarks/limits.py

Each command runs in a process of its own, two at a time. What is measured is the whole command, the start
of Python included; a limit of T seconds is kept where the command ends within 1.1 T + 1 s. One that is still
there after 3 T + 10 s is ended. Where a limit is not kept, a dump of the stack says what was under way then.
The usual run takes the networks that are hardest; --every takes the others, too.
A subset: --only NAME --commands query map --limits 1 --interrupts 0.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random
from time import monotonic, sleep

import numpy as np
from pages import add_data, command, finish, options_of

from credalog import load

SEED = 5
WIDENING = Fraction(2, 100)
SLOWEST = 3.0
"""How many seconds one of the processor may take on a busy machine."""
MIDDLE = 5.0
"""Limits above this are the longest ones."""
SUFFICES = 0.8
"""A command that takes less of its limit needs no more."""

SOON, LATE = 0.3, 4.0
"""Between these seconds Ctrl-C is pressed."""
POLL = 0.01
"""How often a command is asked whether it has ended."""
PROMPTLY = 1.0
"""How long a command may go on after Ctrl-C."""

HEADER = """# Time limits

Command: `{command}`. {jobs} at a time, {cores} cores, {machine}, Python {python}.
Seconds from the start of the command to its end, Python's own start included. A limit of T is kept
within 1.1 T + 1 s. A longer limit is tried only where the shorter one did not suffice ("." elsewhere), and
the longest only for {longest}.
`Ctrl-C` is a limit of a minute with an interrupt after some seconds, drawn at random between {soon:g} and
{late:g}: the seconds from there to the end, of which {promptly:g} is allowed, with the moment behind
@; "-" where the command had ended before. What is not kept is **bold**; where it was the machine that was
slow, so that the seconds of the processor, in brackets, are within the limit, it is not. "Refused" is an
error that is neither a contradiction nor impossible evidence. A file that a command was to write must be
there whole or not at all.

Left out: smaller networks of the same kinds, and other public files
(--every takes them); `batch`, `play`; `learn`, which needs data, and `verify`, which needs a proof.

"""


@dataclass(frozen=True)
class Case:
    """A network as text, or as a file as it is, and what is asked of it."""

    name: str
    text: str
    query: str
    chosen: tuple[str, ...]
    suffix: str = ".lcn"
    measured: str = ""
    """What is imagined to be measured; a chosen proposition where nothing is named."""


# ---- networks -----------------------------------------------------------------------------------------


def smokers(people: int) -> Case:
    """Return example 1 of the paper with so many people."""
    text = f"""domain Person = {{{", ".join(f"p{i}" for i in range(people))}}}
predicate Fr(Person, Person) symmetric
predicate Sm(Person), Ca(Person)
friends: forall x, y, z in Person distinct: 0.5 <= P(Fr(x,z) | Fr(x,y) & Fr(y,z)) <= 1
alike:   forall x, y in Person distinct:    0 <= P(Sm(x) xor Sm(y) | Fr(x,y)) <= 0.2
smoke:   forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
clean:   forall x in Person: 0 <= P(Ca(x) | !Sm(x)) <= 0.01
"""
    return Case(f"Example 1, {people} people", text, "P(Ca(p0) or Ca(p1))", ("Ca(p0)", "Sm(p0)"))


def ties(shape: str, atoms: int) -> Case:
    """Return a chain, a ring or a grid of three columns, of atoms that are tied to their neighbours."""
    pairs = [(i, i + 1) for i in range(atoms - 1) if shape != "grid" or i % 3 < 2]
    pairs += [(atoms - 1, 0)] if shape == "ring" else []
    pairs += [(i, i + 3) for i in range(atoms - 3)] if shape == "grid" else []
    lines = [f"0.7 <= P(s{i} iff s{j}) <= 0.9" for i, j in pairs]
    text = "\n".join(["0.3 <= P(s0) <= 0.4", *lines]) + "\n"
    return Case(f"{shape} of {atoms} ties", text, "P(s0 and s2)", ("s0", "s5"))


def fact_graph(atoms: int) -> Case:
    """Return claims with contexts that entail or contradict them, and claims that bear on each other."""
    rng = np.random.default_rng(SEED)
    claims = atoms // 3
    # Independent atoms with these chances are a model.
    chances = rng.uniform(0.2, 0.8, size=claims)
    lines = [f"{p - 0.1:.3f} <= P(a{i}) <= {p + 0.1:.3f}" for i, p in enumerate(chances)]
    for i in range(claims, atoms):
        lines.append(f"0.9 <= P(c{i}) <= 0.99")
        for j in rng.choice(claims, size=2, replace=False):
            is_entailed = rng.random() < 0.7
            broken = 0.95 * (1.0 - chances[j] if is_entailed else chances[j])
            relation = f"!c{i} or {'' if is_entailed else '!'}a{j}"
            lines.append(f"{0.95 - broken:.3f} <= P({relation}) <= 1")
    for i, j in rng.choice(claims, size=(claims // 2, 2)):
        lines += [f"{0.95 - chances[i] * (1.0 - chances[j]):.3f} <= P(!a{i} or a{j}) <= 1"] if i != j else []
    return Case(f"fact graph of {atoms} atoms", "\n".join(lines) + "\n", "P(a0 and a1)", ("a0", "a1"))


def nested(elements: int) -> Case:
    """Return a condition that some pair is related, with so many squared atoms."""
    text = f"""domain D = 1..{elements}
predicate r(D, D), q
0.1 <= P(q | exists x in D: exists y in D: r(x,y)) <= 0.2
0.3 <= P(q | !(exists x in D: exists y in D: r(x,y))) <= 0.4
"""
    return Case(f"exists in exists, {elements} x {elements}", text, "P(q)", ("q",))


def many_rules(people: int) -> Case:
    """Return a theory with a sentence for each pair of people."""
    text = f"""domain Person = 1..{people}
predicate Sm(Person), Ca(Person)
forall x, y in Person distinct: 0 <= P(Sm(x) xor Sm(y)) <= 0.4
forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
forall x in Person: 0 <= P(Ca(x) | !Sm(x)) <= 0.01
"""
    return Case(f"{people} people in pairs", text, "P(Ca(1) or Ca(2))", ("Ca(1)", "Sm(1)"))


def many_facts(facts: int) -> Case:
    """Return rules that follow the facts of a sparse relation."""
    rng, people = Random(SEED), facts // 5
    met = {(rng.randint(1, people), rng.randint(1, people)) for _ in range(facts)}
    listed = ", ".join(f"({x}, {y})" for x, y in sorted(met))
    text = f"""domain Person = 1..{people}
predicate Ill(Person), Cough(Person)
relation Met(Person, Person) = {{{listed}}}
forall x in Person: 0.01 <= P(Ill(x)) <= 0.05
forall x, y in Person, Met(x, y), x != y: P(Ill(y) | Ill(x)) >= 0.04
forall x in Person: 0.5 <= P(Cough(x) | Ill(x)) <= 0.6
"""
    return Case(f"{facts:,} facts", text, "P(Cough(1) or Cough(2))", ("Cough(1)", "Ill(1)"))


def many_sentences(atoms: int) -> Case:
    """Return plain sentences: a random acyclic network of two parents each, with some ties."""
    rng, lines = Random(SEED), ["0.2 <= P(x0) <= 0.4", "0.2 <= P(x1) <= 0.4"]
    for i in range(2, atoms):
        left, right = rng.sample(range(max(0, i - 30), i), 2)
        for signs in (("", ""), ("", "!"), ("!", ""), ("!", "!")):
            low = rng.uniform(0.1, 0.7)
            given = f"{signs[0]}x{left} & {signs[1]}x{right}"
            lines.append(f"{low:.3f} <= P(x{i} | {given}) <= {low + 0.1:.3f}")
        lines += [f"0.1 <= P(x{i} or x{left}) <= 1"] if i % 50 == 0 else []
    text = "\n".join(lines) + "\n"
    return Case(f"{len(lines):,} plain sentences", text, f"P(x{atoms // 2} | x0)", ("x1", "x5"))


def bayesian(path: Path, *, is_wide: bool) -> Case:
    """Return a Bayesian network as it is, or with every probability an interval."""
    model = load(path)
    first, second = model.variables[0], model.variables[-1]
    measured = str(second.is_(second.values[0]))
    asked = f"P({first.is_(first.values[0])} | {measured})"
    chosen = (first.name, model.variables[1].name)
    if not is_wide:
        return Case(path.name, path.read_text(encoding="utf-8"), asked, chosen, ".bif", measured)
    return Case(f"{path.name} ± 0.02", model.widen(by=WIDENING).unparse(), asked, chosen, measured=measured)


def published(path: Path) -> Case:
    """Return a public file as it is."""
    model = load(path)
    first, second = (v.is_(v.values[0]) if not v.is_proposition else v for v in model.variables[:2])
    names = tuple(v.name for v in model.variables[:2])
    return Case(path.stem[:24], model.unparse(), f"P({first} | {second})", names, measured=str(second))


def long_text(lines: int) -> Case:
    """Return a text whose reading takes longer than short limits: formulas that differ from line to line."""
    rng, found = Random(SEED), list[str]()
    for i in range(lines):
        words = " and ".join(f"({rng.choice(('', '!'))}y{rng.randrange(i + 1)} or z{i})" for _ in range(5))
        found.append(f"0.1 <= P(y{i} | {words}) <= 0.9")
    return Case(f"a text of {lines:,} lines", "\n".join(found) + "\n", "P(y0)", ("y0", "y1"))


def explosion(elements: int) -> Case:
    """Return a theory whose grounding is larger than any limit allows."""
    text = f"""domain D = 1..{elements}
predicate r(D, D), q(D)
forall x, y, z in D distinct: 0.1 <= P(r(x,z) | r(x,y) & r(y,z) & (exists w in D: r(w,x) & q(w))) <= 1
"""
    return Case(f"a theory that explodes, {elements} elements", text, "P(q(1) or q(2))", ("q(1)", "q(2)"))


USUAL_FILES = (("munin1", False), ("munin1", True), ("link", True), ("pigs", True), ("andes", True))
FILES = ("alarm", "child", "hailfinder", "hepar2", "andes", "munin1", "link", "pigs")
COURT = "supreme_court_judicial_power_source_variants_n10_2.lcn"


def cases(data: Path) -> Iterator[Callable[[], Case]]:
    """Yield the networks of the usual page, each to be made when its turn comes."""
    yield lambda: smokers(20)
    yield lambda: ties("grid", 1_000)
    yield lambda: fact_graph(100)
    yield lambda: nested(300)
    yield lambda: many_rules(300)
    yield lambda: many_sentences(8_000)
    yield lambda: many_facts(30_000)
    yield lambda: long_text(30_000)
    yield lambda: explosion(150)
    files = [(data / "bif" / f"{name}.bif", is_wide) for name, is_wide in USUAL_FILES]
    yield from (lambda p=path, w=is_wide: bayesian(p, is_wide=w) for path, is_wide in files if path.exists())
    court = data / "lcn" / "benchmarks" / "junkyu" / COURT
    if court.exists():
        yield lambda: published(court)


def other_cases(data: Path) -> Iterator[Callable[[], Case]]:
    """Yield the networks that are left out of the usual page."""
    yield from (lambda n=n: smokers(n) for n in (3, 6, 40))
    yield from (lambda s=s, n=n: ties(s, n) for s in ("chain", "ring") for n in (100, 1_000))
    yield lambda: ties("grid", 100)
    yield lambda: fact_graph(20)
    yield lambda: many_rules(180)
    yield lambda: many_facts(1_000_000)
    others = [(name, w) for name in FILES for w in (False, True) if (name, w) not in USUAL_FILES]
    for name, is_wide in others:
        if (path := data / "bif" / f"{name}.bif").exists():
            yield partial(bayesian, path, is_wide=is_wide)
    yield from (lambda p=path: published(p) for path in sorted((data / "lcn" / "examples").glob("*.lcn")))


# ---- commands -----------------------------------------------------------------------------------------


LONGEST = ("query", "marginals", "check", "map", "explain", "maxent")
"""The commands that are given the longest limit, too."""


def words_of(case: Case, file: Path) -> dict[str, list[str]]:
    """Return the arguments of every command, the time limit left out."""
    target, out = case.query, "OUT.lcn"
    claim, measured = target.removeprefix("P(").removesuffix(")"), f"P({case.measured or case.chosen[-1]})"
    return {
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


STARTER = """
import faulthandler, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
faulthandler.dump_traceback_later({late})
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


@dataclass(frozen=True)
class Run:
    """How one command ended: its seconds, those of its processor, its exit code, what it said, if in time."""

    seconds: float
    processor: float
    code: int | None
    out: str
    error: str
    within: float
    codes: tuple[int, ...] = ()
    """The exit codes that it may have; any but those of errors where none is named."""
    left: str = ""
    """What is wrong with the files that it left."""
    moment: float | None = None
    """When it was interrupted."""

    @property
    def is_kept(self) -> bool:
        """Tell whether the command ended in time, by the clock or by the seconds of the processor."""
        return min(self.seconds, self.processor) <= self.within

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
        processor = "" if self.seconds <= self.within else f"({self.processor:.1f})"
        moment = "" if self.moment is None else f"@{self.moment:.1f}"
        shown = " ".join(filter(None, (f"{self.seconds:.1f}", processor, moment, self.trouble)))
        return shown if self.is_kept and not self.trouble else f"**{shown}**"

    @property
    def where(self) -> str:
        """Return the innermost frames of the dump, this project's own."""
        frames = re.findall(r'File ".*?credalog/(\S+?)", line (\d+) in (\S+)', self.error)
        return " < ".join(f"{file}:{line} {name}" for file, line, name in frames[:6])


EXPLAINED = (
    "--limit",
    "No such file",
    "cannot be written as",
    "evidence",
    "is larger than",
    "not a credal network",
)
"""Of which words one is in an error that is right: a theory that explodes, a proof that was not written."""


def timed(words: Sequence[str], limit: float, folder: Path, *, by_processor: bool) -> Run:
    """Run a command under a limit, and end it by force where it takes far too long."""
    allowed = 1.1 * limit + 1.0
    slow = SLOWEST if by_processor else 1.0
    late, first = slow * allowed, BY_PROCESSOR if by_processor else ""
    with _started([*words, "--timeout", str(limit)], folder, late, first) as child:
        return child.ended(within=allowed, patience=slow * (3.0 * limit + 10.0))


def interrupted(words: Sequence[str], after: float, folder: Path) -> Run | None:
    """Interrupt a command as Ctrl-C does, and measure from there; None where it has ended before."""
    with _started([*words, "--timeout", "60"], folder, after + PROMPTLY) as child:
        sleep(after)
        if not child.interrupt():
            return None
        found = child.ended(within=PROMPTLY, patience=20.0, codes=(130,))
    # Of a command that was interrupted, the processor's seconds are not known from the interrupt on.
    return replace(found, processor=found.seconds, moment=after)


class _Child:
    """A command under way, in a folder for what it writes."""

    def __init__(self, process: subprocess.Popen[bytes], said: Path, folder: Path) -> None:
        self.process, self.said, self.folder = process, said, folder
        self.began = monotonic()
        self.processor = 0.0

    def interrupt(self) -> bool:
        """Press Ctrl-C, unless the command has ended."""
        if self._has_ended():
            return False
        self.process.send_signal(signal.SIGINT)
        self.began = monotonic()
        return True

    def ended(self, *, within: float, patience: float, codes: tuple[int, ...] = ()) -> Run:
        """Wait for the end, by force after so many seconds."""
        while not self._has_ended() and monotonic() < self.began + patience:
            sleep(POLL)
        seconds, is_forced = monotonic() - self.began, not self._has_ended()
        if is_forced:
            self.process.kill()
        while not self._has_ended():
            sleep(POLL)
        code = None if is_forced else self.process.returncode
        out, error = (self.said.with_suffix(f".{n}").read_text(errors="replace") for n in (1, 2))
        return Run(seconds, self.processor, code, out, error, within, codes, self._left())

    def _has_ended(self) -> bool:
        """Tell whether the command has ended; its own seconds are known then."""
        if self.process.returncode is not None:
            return True
        number, status, used = os.wait4(self.process.pid, os.WNOHANG)
        if number:
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.processor = used.ru_utime + used.ru_stime
        return bool(number)

    def _left(self) -> str:
        """Say what is wrong with what was written: temporary files, or a network that cannot be read."""
        found = list(self.folder.iterdir())
        if any(file.name.startswith(".") for file in found):
            return "a temporary file is left"
        wrong = [
            file.name for file in found if file.suffix == ".lcn" and not file.read_bytes().endswith(b"\n")
        ]
        return f"half of {wrong[0]}" if wrong else ""


@contextmanager
def _started(words: Sequence[str], folder: Path, late: float, first: str = "") -> Iterator[_Child]:
    said = folder.parent / f"{folder.name}-said"
    starter = first + STARTER.format(words=list(words), late=late)
    environment = {**os.environ, "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
    with open(said.with_suffix(".1"), "wb") as out, open(said.with_suffix(".2"), "wb") as error:
        process = subprocess.Popen([sys.executable, "-c", starter], stdout=out, stderr=error, env=environment)
        child = _Child(process, said, folder)
        try:
            yield child
        finally:
            if not child._has_ended():
                process.kill()
                process.wait()


# ---- the page -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One command on one network, under each limit, and interrupted."""

    case: str
    name: str
    runs: tuple[Run | str | None, ...]

    @property
    def text(self) -> str:
        """Return the line of the table."""
        cells = (run if isinstance(run, str) else "-" if run is None else run.cell for run in self.runs)
        return f"| {self.case} | {self.name} | {' | '.join(cells)} |"

    def missed(self, columns: Sequence[str]) -> Iterator[str]:
        """Yield what was not kept, and what was under way then."""
        for run, column in zip(self.runs, columns, strict=True):
            if isinstance(run, Run) and (run.trouble or not run.is_kept):
                last = " ".join(run.error[-600:].split())
                about = last if run.trouble else run.where or last
                yield f"- {self.case}, {self.name}, {column}: {about}"


class Page:
    """The rows of the table, and what was not kept."""

    def __init__(self, options: Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.columns = [f"{limit:g} s" for limit in options.limits] + ["Ctrl-C"] * options.interrupts
        self.rows = list[Row]()

    def add(self, case: Case, number: int) -> None:
        """Put every command to a network, a few at a time; what verifies goes after what proves."""
        file = self.folder / f"case{number}{case.suffix}"
        asks = f"\nquery {case.query}\n" if case.suffix == ".lcn" else ""
        file.write_text(case.text + asks, encoding="utf-8")
        chosen = [
            name
            for name in words_of(case, file)
            if (not self.options.commands or name in self.options.commands)
            and (name != "run" or case.suffix == ".lcn")
        ]
        with ThreadPoolExecutor(self.options.jobs) as workers:
            for row in workers.map(lambda name: self._row(case, file, name), chosen):
                self.rows.append(row)
                print(row.text, *row.missed(self.columns), sep="\n", file=sys.stderr, flush=True)
        file.unlink()

    def _row(self, case: Case, file: Path, name: str) -> Row:
        """Try one command under limits that grow until one suffices, and interrupt it."""
        folder = self.folder / f"{file.stem}-{name.replace(' ', '_')}"
        folder.mkdir()
        words = [word.replace("OUT", str(folder / "written")) for word in words_of(case, file)[name]]
        runs = list[Run | str | None]()
        suffices = False
        for limit in self.options.limits:
            is_left_out = limit == max(self.options.limits) > MIDDLE and name not in LONGEST
            if suffices or is_left_out:
                runs.append(".")
                continue
            run = timed(words, limit, folder, by_processor=self.options.processor)
            suffices = run.is_kept and not run.trouble and run.processor < SUFFICES * limit
            runs.append(run)
            if self.options.show:
                print(f"{run.out[:3000]}{run.error[:3000]}", file=sys.stderr)
        rng = Random(f"{case.name} {name}")
        moments = [rng.uniform(SOON, LATE) for _ in range(self.options.interrupts)]
        runs += [interrupted(words, moment, folder) for moment in moments]
        shutil.rmtree(folder)
        return Row(case.name, name, tuple(runs))

    def text(self) -> str:
        """Return the page."""
        header = HEADER.format(
            command=command(),
            jobs=self.options.jobs,
            cores=os.cpu_count(),
            machine=platform.machine(),
            python=platform.python_version(),
            promptly=PROMPTLY,
            longest=", ".join(LONGEST),
            soon=SOON,
            late=LATE,
        )
        ruler = f"|---|---|{'---:|' * len(self.columns)}"
        table = [
            f"| network | command | {' | '.join(self.columns)} |",
            ruler,
            *(row.text for row in self.rows),
        ]
        missed = [line for row in self.rows for line in row.missed(self.columns)]
        runs = [run for row in self.rows for run in row.runs if isinstance(run, Run)]
        kept = sum(run.is_kept and not run.trouble for run in runs)
        total = f"{len(self.rows)} rows; of {len(runs)} runs {kept} are as they should be."
        return header + "\n".join([total, "", *table, "", "## Not kept", "", *(missed or ["Nothing."]), ""])


def main() -> None:
    parser = options_of(__doc__)
    add_data(parser, "")
    parser.add_argument("--limits", type=float, nargs="*", default=[1.0, 5.0, 20.0], help="in seconds")
    parser.add_argument("--interrupts", type=int, default=1, help="how often to press Ctrl-C")
    parser.add_argument("--jobs", type=int, default=2, help="how many commands at a time")
    parser.add_argument("--every", action="store_true", help="take the networks that are left out, too")
    parser.add_argument("--only", nargs="*", default=[], help="networks whose name has one of these in it")
    parser.add_argument("--commands", nargs="*", default=[], help="these commands (default: all)")
    parser.add_argument(
        "--processor", action="store_true", help="count seconds of the processor: a busy machine"
    )
    parser.add_argument("--show", action="store_true", help="print what each command wrote")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = Page(options, Path(folder))
        makers = [*cases(options.data), *(other_cases(options.data) if options.every else ())]
        for number, make in enumerate(makers):
            case = make()
            if not options.only or any(word in case.name for word in options.only):
                page.add(case, number)
    finish("limits", page.text(), parser, options)


if __name__ == "__main__":
    main()
