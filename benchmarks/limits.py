"""Time limits: every command on wide networks, with the clock beside it.

Input: networks drawn here, and public files where they are at hand. Output: `benchmarks/results/limits.md`.
Run from the project root: python benchmarks/limits.py

Each command runs in a process of its own. What is measured is the whole command, the start of Python
included; a limit of T seconds is kept where the command ends within 1.1 T + 1 s. One that is still there
after 3 T + 10 s is ended. Where a limit is not kept, a dump of the stack says what was under way then.
A subset: --only NAME --commands query map --limits 1 --interrupts.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import signal
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from random import Random
from time import monotonic, sleep

import numpy as np
from pages import add_data, command, finish, options_of

from credalog import LCN, load
from credalog.methods.answer import marginal_atoms

SEED = 5
WIDENING = Fraction(2, 100)
SLOWEST = 3.0
"""How many seconds one of the processor may take on a busy machine."""

PROMPTLY = 1.0
"""How long a command may go on after Ctrl-C."""

HEADER = """# Time limits

Command: `{command}`. One process at a time, {machine}, Python {python}. The cores
were shared with other work. Seconds from the start of the command to its end, Python's own start included. A
limit of T is kept within 1.1 T + 1 s. `Ctrl-C at t` is a limit of a minute with an interrupt after t seconds:
the seconds from there to the end, of which {promptly:g} is allowed; "-" where the command had ended before.
What is not kept is **bold**; where it was the machine that was slow, so that the seconds of the processor, in
brackets, are within the limit, it is not.
"Refused" is an error that is neither a contradiction nor impossible evidence.

"""


@dataclass(frozen=True)
class Case:
    """A network as text, or as a file as it is, and what is asked of it."""

    name: str
    text: str
    query: str
    chosen: tuple[str, ...]
    suffix: str = ".lcn"


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


def naive(features: int) -> Case:
    """Return a class with observed features, and a tie beside it."""
    lines = ["0.3 <= P(c) <= 0.6", "0.2 <= P(c xor d) <= 0.7"]
    for i in range(features):
        lines += [f"0.1 <= P(f{i} | c) <= 0.3", f"0.2 <= P(f{i} | !c) <= 0.25", f"evidence f{i}"]
    return Case(f"naive Bayes, {features} observed", "\n".join(lines) + "\n", "P(c)", ("c", "d"))


def many_values(values: int) -> Case:
    """Return one variable with an interval for each of its values."""
    names = [f"v{i}" for i in range(values)]
    lines = [f"variable x in {{{', '.join(names)}}}"]
    lines += [f"{0.3 / values:.4f} <= P(x = {name}) <= {2.0 / values:.4f}" for name in names]
    return Case(f"one variable of {values} values", "\n".join(lines) + "\n", "P(x = v0 or x = v1)", ("x",))


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
    asked = f"P({first.name} = {first.values[0]} | {second.name} = {second.values[0]})"
    chosen = (first.name, model.variables[1].name)
    if not is_wide:
        return Case(path.name, path.read_text(encoding="utf-8"), asked, chosen, ".bif")
    return Case(f"{path.name} ± 0.02", model.widen(by=WIDENING).unparse(), asked, chosen)


def published(path: Path) -> Case:
    """Return a public file as it is."""
    model = load(path)
    first, second = (v.is_(v.values[0]) if not v.is_proposition else v for v in model.variables[:2])
    names = tuple(v.name for v in model.variables[:2])
    return Case(path.stem[:24], model.unparse(), f"P({first} | {second})", names)


def cases(data: Path) -> Iterator[Callable[[], Case]]:
    """Yield the networks of the page, each to be made when its turn comes."""
    yield from (lambda n=n: smokers(n) for n in (3, 6, 20, 40))
    yield from (lambda s=s, n=n: ties(s, n) for s in ("chain", "ring", "grid") for n in (100, 1_000))
    yield from (lambda n=n: fact_graph(n) for n in (20, 100))
    yield from (lambda n=n: naive(n) for n in (28, 100))
    yield lambda: many_values(12)
    yield lambda: nested(300)
    yield from (lambda n=n: many_rules(n) for n in (180, 300))
    yield lambda: many_sentences(8_000)
    yield from (lambda n=n: many_facts(n) for n in (30_000, 1_000_000))
    for name in ("alarm", "child", "hailfinder", "hepar2", "andes", "munin1", "link", "pigs"):
        if (path := data / "bif" / f"{name}.bif").exists():
            yield from (lambda p=path, w=w: bayesian(p, is_wide=w) for w in (False, True))
    court = "supreme_court_judicial_power_source_variants_n10_2.lcn"
    files = [
        data / "lcn" / "benchmarks" / "junkyu" / court,
        *sorted((data / "lcn" / "examples").glob("*.lcn")),
    ]
    yield from (lambda p=path: published(p) for path in files if path.exists())


# ---- commands -----------------------------------------------------------------------------------------


def words_of(case: Case, file: Path) -> dict[str, list[str]]:
    """Return the arguments of every command, the time limit left out."""
    target, out = case.query, str(file.with_suffix(".out"))
    claim = target.removeprefix("P(").removesuffix(")")
    return {
        "query": ["query", str(file), target],
        "marginals": ["marginals", str(file)],
        "run": ["run", str(file)],
        "check": ["check", str(file)],
        "decide": ["decide", str(file), f"P({claim}) >= 0.35"],
        "map": ["map", str(file)],
        "map of two": ["map", str(file), "--variables", *case.chosen],
        "explain": ["explain", str(file), target],
        "explain --measure": ["explain", str(file), target, "--most", "1", "--measure", f"P({_atom(case)})"],
        "measure": ["measure", str(file), target],
        "repair": ["repair", str(file), "-o", out],
        "maxent": ["maxent", str(file)],
        "widen": ["widen", str(file), "--by", "0.02", "-o", out],
        "graph": ["graph", str(file), "-o", out],
        "independences": ["independences", str(file)],
        "--certificate": ["query", str(file), target, "--certificate", f"{out}.cert"],
        "verify": ["verify", str(file), f"{out}.cert"],
    }


def _atom(case: Case) -> str:
    model = load_text(case)
    return next(str(a) for a in marginal_atoms(model.ground()) if str(a).startswith(case.chosen[-1]))


def load_text(case: Case) -> LCN:
    """Read a case."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"case{case.suffix}"
        file.write_text(case.text, encoding="utf-8")
        return load(file)


STARTER = """
import faulthandler, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
faulthandler.dump_traceback_later({late})
from credalog.cli import main
sys.argv[1:] = {words!r}
sys.exit(main())
"""

BY_PROCESSOR = """
import time
time.monotonic = time.process_time
from credalog.cli import clock
clock.LATE, clock.process_began = 1e6, lambda: 0.0
"""
"""Budgets count seconds of the processor, and there is no alarm: what asks no budget is seen."""


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
        if self.codes:
            return "" if self.code in self.codes else f"exit code {self.code}"
        return "refused" if self.code in (1, 2, 130) else ""

    @property
    def cell(self) -> str:
        """Return what the table says of it."""
        processor = "" if self.seconds <= self.within else f"({self.processor:.1f})"
        shown = " ".join(filter(None, (f"{self.seconds:.1f}", processor, self.trouble)))
        return shown if self.is_kept and not self.trouble else f"**{shown}**"

    @property
    def where(self) -> str:
        """Return the innermost frames of the dump, this project's own."""
        frames = re.findall(r'File ".*?credalog/(\S+?)", line (\d+) in (\S+)', self.error)
        return " < ".join(f"{file}:{line} {name}" for file, line, name in frames[:6])


def timed(words: Sequence[str], limit: float, *, by_processor: bool) -> Run:
    """Run a command under a limit, and end it by force where it takes far too long."""
    allowed = 1.1 * limit + 1.0
    slow = SLOWEST if by_processor else 1.0
    child = _start([*words, "--timeout", str(limit)], slow * allowed, BY_PROCESSOR if by_processor else "")
    return _ended(child, within=allowed, patience=slow * (3.0 * limit + 10.0))


def interrupted(words: Sequence[str], after: float) -> Run | None:
    """Interrupt a command as Ctrl-C does, and measure from there; None where it has ended before."""
    child = _start([*words, "--timeout", "60"], after + PROMPTLY)
    sleep(after)
    if child.poll() is not None:
        child.communicate()
        return None
    child.send_signal(signal.SIGINT)
    return _ended(child, within=PROMPTLY, patience=20.0, codes=(130,))


def _start(words: Sequence[str], late: float, first: str = "") -> subprocess.Popen[str]:
    starter = first + STARTER.format(words=list(words), late=late)
    return subprocess.Popen(
        [sys.executable, "-c", starter],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )


def _ended(
    child: subprocess.Popen[str], *, within: float, patience: float, codes: tuple[int, ...] = ()
) -> Run:
    began, before = monotonic(), _processor()
    code: int | None
    try:
        out, error = child.communicate(timeout=patience)
        code = child.returncode
    except subprocess.TimeoutExpired:
        child.kill()
        out, error = child.communicate()
        code = None
    seconds = monotonic() - began
    # Of a command that was interrupted, the processor's seconds are not known from the interrupt on.
    processor = seconds if codes else _processor() - before
    return Run(seconds, processor, code, out, error, within, codes)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# ---- the page -----------------------------------------------------------------------------------------


class Page:
    """The rows of the table, and what was not kept."""

    def __init__(self, options: Namespace) -> None:
        self.options = options
        self.columns = [
            *(f"{limit:g} s" for limit in options.limits),
            *(f"Ctrl-C at {after:g} s" for after in options.interrupts),
        ]
        self.rows, self.missed = list[str](), list[str]()

    def add(self, case: Case, file: Path) -> None:
        """Put every command to a network."""
        file.write_text(case.text, encoding="utf-8")
        if case.suffix == ".lcn":
            file.write_text(f"{case.text}\nquery {case.query}\n", encoding="utf-8")
        for name, words in words_of(case, file).items():
            is_asked = not self.options.commands or name in self.options.commands
            if is_asked and (name != "run" or case.suffix == ".lcn"):
                runs = [timed(words, t, by_processor=self.options.processor) for t in self.options.limits]
                self._tell(case, name, [*runs, *(interrupted(words, t) for t in self.options.interrupts)])

    def _tell(self, case: Case, name: str, runs: Sequence[Run | None]) -> None:
        cells = " | ".join("-" if run is None else run.cell for run in runs)
        self.rows.append(f"| {case.name} | {name} | {cells} |")
        print(self.rows[-1], file=sys.stderr, flush=True)
        for run, column in zip(runs, self.columns, strict=True):
            if run is not None and (run.trouble or not run.is_kept):
                about = run.where or " ".join(run.error[-300:].split())
                self.missed.append(f"- {case.name}, {name}, {column}: {about}")
                print(self.missed[-1], file=sys.stderr, flush=True)
            if run is not None and self.options.show:
                print(f"{run.out[:3000]}{run.error[:3000]}", file=sys.stderr)

    def text(self) -> str:
        """Return the page."""
        header = HEADER.format(
            command=command(),
            machine=platform.machine(),
            python=platform.python_version(),
            promptly=PROMPTLY,
        )
        ruler = f"|---|---|{'---:|' * len(self.columns)}"
        table = [f"| network | command | {' | '.join(self.columns)} |", ruler, *self.rows]
        return header + "\n".join([*table, "", "## Not kept", "", *(self.missed or ["Nothing."]), ""])


def main() -> None:
    parser = options_of(__doc__)
    add_data(parser, "")
    parser.add_argument("--limits", type=float, nargs="*", default=[1.0, 5.0], help="in seconds")
    parser.add_argument(
        "--interrupts", type=float, nargs="*", default=[0.5, 2.0], help="when to press Ctrl-C"
    )
    parser.add_argument("--only", nargs="*", default=[], help="networks whose name has one of these in it")
    parser.add_argument("--commands", nargs="*", default=[], help="these commands (default: all)")
    parser.add_argument(
        "--processor", action="store_true", help="count seconds of the processor: a busy machine"
    )
    parser.add_argument("--show", action="store_true", help="print what each command wrote")
    options = parser.parse_args()
    page = Page(options)
    with tempfile.TemporaryDirectory() as folder:
        for number, make in enumerate(cases(options.data)):
            case = make()
            if not options.only or any(word in case.name for word in options.only):
                page.add(case, Path(folder) / f"case{number}{case.suffix}")
    finish("limits", page.text(), parser, options)


if __name__ == "__main__":
    main()
