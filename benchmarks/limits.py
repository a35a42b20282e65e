"""Time limits: every command on wide networks, with the clock beside it.

Input: networks drawn here, and public files where they are at hand. Output: `benchmarks/results/limits.md`.
Run from the project root: python benchmarks/limits.py

Each command runs in a process of its own. What is measured is the whole command, the start of Python
included; a limit of T seconds is kept where the command ends within 1.1 T + 1 s. One that is still there
after 3 T + 10 s is ended. Where a limit is not kept, a dump of the stack says what was under way then.
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from time import monotonic, sleep

import numpy as np
from pages import add_data, command, finish, options_of

from credalog import load

SEED = 5
WIDENING = Fraction(2, 100)
INTERRUPTED_AFTER = 3.0
PROMPTLY = 2.0
"""How long a command may go on after Ctrl-C."""

HEADER = """# Time limits

Command: `{command}`. One process at a time, {machine}, Python {python}. The cores
were shared with other work. Seconds from the start of the command to its end, Python's own start included. A
limit of T is kept within 1.1 T + 1 s. `Ctrl-C` is a limit of a minute with an interrupt after {after:g} s:
the seconds from there to the end, of which {promptly:g} are allowed. What is not kept is **bold**.
Where it is the machine that was slow, the seconds of the processor, in brackets, are within the limit.
"Refused" is an error that is neither a contradiction nor impossible evidence.

"""


@dataclass(frozen=True)
class Case:
    """A network as text, and what is asked of it."""

    name: str
    text: str
    query: str
    chosen: tuple[str, ...]


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


def ties(atoms: int, *, is_ring: bool) -> Case:
    """Return a chain or a ring of atoms, each tied to the next."""
    pairs = [(i, (i + 1) % atoms) for i in range(atoms if is_ring else atoms - 1)]
    lines = [f"0.7 <= P(s{i} iff s{j}) <= 0.9" for i, j in pairs]
    text = "\n".join(["0.3 <= P(s0) <= 0.4", *lines]) + "\n"
    return Case(f"{'ring' if is_ring else 'chain'} of {atoms} ties", text, "P(s0 and s2)", ("s0", "s5"))


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


def widened(path: Path) -> Case:
    """Return a Bayesian network with every probability an interval; zeros and ones are kept."""
    model = load(path)
    lines = []
    for line in model.unparse().splitlines():
        equal = re.match(r"(.*)\bP\((.*)\) = (\S+)$", line)
        number = None if equal is None else Fraction(equal[3])
        if equal is None or number is None or number in (0, 1):
            lines.append(line)
        else:
            low, high = max(Fraction(0), number - WIDENING), min(Fraction(1), number + WIDENING)
            lines.append(f"{equal[1]}{float(low)!r} <= P({equal[2]}) <= {float(high)!r}")
    first, second = model.variables[0], model.variables[-1]
    asked = f"P({first.name} = {first.values[0]} | {second.name} = {second.values[0]})"
    return Case(f"{path.name} ± 0.02", "\n".join(lines) + "\n", asked, (first.name, model.variables[1].name))


def published(path: Path) -> Case:
    """Return a public file as it is."""
    model = load(path)
    first, second = model.variables[0].name, model.variables[1].name
    return Case(path.stem[:24], model.unparse(), f"P({first} | {second})", (first, second))


def cases(data: Path) -> Iterator[Case]:
    """Yield the networks of the page."""
    yield from (smokers(people) for people in (3, 6, 10, 20))
    yield ties(20, is_ring=True)
    yield ties(100, is_ring=False)
    yield from (fact_graph(atoms) for atoms in (20, 50))
    yield from (naive(features) for features in (28, 40))
    yield many_values(12)
    for name in ("child", "hailfinder"):
        if (path := data / "bif" / f"{name}.bif").exists():
            yield widened(path)
    court = "supreme_court_judicial_power_source_variants_n10_2.lcn"
    if (path := data / "lcn" / "benchmarks" / "junkyu" / court).exists():
        yield published(path)


# ---- commands -----------------------------------------------------------------------------------------


def words_of(case: Case, file: Path) -> dict[str, list[str]]:
    """Return the arguments of every command, the time limit left out."""
    target = case.query
    claim = target.removeprefix("P(").removesuffix(")")
    chosen = case.chosen
    return {
        "query": ["query", str(file), target],
        "marginals": ["marginals", str(file)],
        "run": ["run", str(file)],
        "check": ["check", str(file)],
        "decide": ["decide", str(file), f"P({claim}) >= 0.35"],
        "map": ["map", str(file)],
        "map of two": ["map", str(file), "--variables", *chosen],
        "explain": ["explain", str(file), target],
        "measure": ["explain", str(file), target, "--most", "1", "--measure", f"P({_atom(case)})"],
        "maxent": ["maxent", str(file)],
    }


def _atom(case: Case) -> str:
    return next(str(atom) for atom in _marginal_atoms(case.text) if str(atom).startswith(case.chosen[-1]))


def _marginal_atoms(text: str) -> Sequence[object]:
    from credalog import parse
    from credalog.methods.answer import marginal_atoms

    return marginal_atoms(parse(text).ground())


STARTER = """
import faulthandler, sys
faulthandler.dump_traceback_later({late})
from credalog.cli.app import main
sys.exit(main({words!r}))
"""


@dataclass(frozen=True)
class Run:
    """How one command ended: its seconds, those of its processor, its exit code, what it said, if in time."""

    seconds: float
    processor: float
    code: int | None
    out: str
    error: str
    is_kept: bool

    @property
    def cell(self) -> str:
        """Return what the table says of it."""
        ending = "ended by force" if self.code is None else "refused" if self.code in (1, 2) else ""
        processor = "" if self.is_kept else f"({self.processor:.1f})"
        shown = " ".join(filter(None, (f"{self.seconds:.1f}", processor, ending)))
        return shown if self.is_kept and not ending else f"**{shown}**"

    @property
    def where(self) -> str:
        """Return the innermost frames of the dump, this project's own."""
        frames = re.findall(r'File ".*?credalog/(\S+?)", line (\d+) in (\S+)', self.error)
        return " < ".join(f"{file}:{line} {name}" for file, line, name in frames[:4])


def timed(words: Sequence[str], limit: float) -> Run:
    """Run a command under a limit, and end it by force where it takes far too long."""
    allowed = 1.1 * limit + 1.0
    child = _start([*words, "--timeout", str(limit)], allowed)
    return _ended(child, within=allowed, patience=3.0 * limit + 10.0)


def interrupted(words: Sequence[str]) -> Run:
    """Interrupt a command as Ctrl-C does, and measure from there."""
    child = _start([*words, "--timeout", "60"], INTERRUPTED_AFTER + PROMPTLY)
    sleep(INTERRUPTED_AFTER)
    child.send_signal(signal.SIGINT)
    return _ended(child, within=PROMPTLY, patience=20.0)


def _start(words: Sequence[str], late: float) -> subprocess.Popen[str]:
    starter = STARTER.format(words=list(words), late=late)
    return subprocess.Popen(
        [sys.executable, "-c", starter],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )


def _ended(child: subprocess.Popen[str], *, within: float, patience: float) -> Run:
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
    return Run(seconds, _processor() - before, code, out, error, seconds <= within)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# ---- the page -----------------------------------------------------------------------------------------


def main() -> None:
    parser = options_of(__doc__)
    add_data(parser, "")
    parser.add_argument("--limits", type=float, nargs="*", default=[1.0, 5.0], help="in seconds")
    parser.add_argument("--no-interrupt", action="store_true", help="leave Ctrl-C out")
    parser.add_argument("--only", default="", help="networks whose name has this in it")
    parser.add_argument("--commands", nargs="*", default=[], help="these commands (default: all)")
    parser.add_argument("--show", action="store_true", help="print what each command wrote")
    options = parser.parse_args()
    columns = [*(f"{limit:g} s" for limit in options.limits), *([] if options.no_interrupt else ["Ctrl-C"])]
    rows, late = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases(options.data)):
            if options.only and options.only not in case.name:
                continue
            file = Path(folder) / f"case{number}.lcn"
            file.write_text(f"{case.text}\nquery {case.query}\n", encoding="utf-8")
            for name, words in words_of(case, file).items():
                if options.commands and name not in options.commands:
                    continue
                runs = [timed(words, limit) for limit in options.limits]
                runs += [] if options.no_interrupt else [interrupted(words)]
                rows.append(f"| {case.name} | {name} | {' | '.join(run.cell for run in runs)} |")
                print(rows[-1], file=sys.stderr, flush=True)
                late += [
                    f"- {case.name}, {name}, {column}: {run.where or ' '.join(run.error[-300:].split())}"
                    for run, column in zip(runs, columns, strict=True)
                    if not run.is_kept or run.code in (1, 2)
                ]
                if options.show:
                    print("\n".join(f"{run.out}{run.error[:1500]}" for run in runs), file=sys.stderr)
    header = HEADER.format(
        command=command(),
        machine=platform.machine(),
        python=platform.python_version(),
        after=INTERRUPTED_AFTER,
        promptly=PROMPTLY,
    )
    table = [f"| network | command | {' | '.join(columns)} |", f"|---|---|{'---:|' * len(columns)}", *rows]
    overruns = ["", "## Not kept", "", *(late or ["Nothing."]), ""]
    finish("limits", header + "\n".join([*table, *overruns]), parser, options)


if __name__ == "__main__":
    main()
