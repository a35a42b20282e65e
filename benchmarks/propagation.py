"""Measure interval propagation: how it scales, how close it comes, and how it compares with pyAgrum's L2U.

Input: random networks written as text, and the public benchmark files in `../shared/data/lcn/benchmarks`.
Output: `benchmarks/results/propagation.md`, or `propagation_million.md`. Every size runs in its own process,
so that its peak memory is its own, and up to 100,000 atoms a second time as the command a user types; the
time to compile the kernels, paid once per machine, is measured apart.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import TypeAlias

import numpy as np
from pages import add_data, command, finish, options_of, require

import credalog
from credalog.errors import CredalogError, InconsistentNetwork
from credalog.methods.answer import Options
from credalog.methods.automatic import marginals
from credalog.methods.intervals import Propagation, Round, propagate
from credalog.network.sentences import Network
from credalog.numbers.interval import Status

MACHINE = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}."
EXACT_SECONDS = 10.0
OUTSIDE = 1e-6
LARGEST_COMMAND = 100_000
"""Up to so many atoms the command itself is run too, and the rounds are measured once more alone."""


# --- Random networks as text --------------------------------------------------------------------------------


def polytree_parents(rng: np.random.Generator, n: int) -> list[list[int]]:
    """Draw a random polytree of in-degree at most three."""
    parents: list[list[int]] = [[] for _ in range(n)]
    for i in range(1, n):
        j = int(rng.integers(i))
        child, parent = (i, j) if rng.random() < 0.5 else (j, i)
        if len(parents[child]) < 3:
            parents[child].append(parent)
    return parents


def loopy_parents(rng: np.random.Generator, n: int) -> list[list[int]]:
    """Draw two or three parents for each variable among the fifty before it."""
    return [
        sorted({int(p) for p in rng.integers(max(0, i - 50), i, size=rng.integers(2, 4))}) if i > 3 else []
        for i in range(n)
    ]


SHAPES = {"polytree": polytree_parents, "loopy": loopy_parents}


def write_network(path: Path, shape: str, n: int, seed: int = 0) -> None:
    """Write a credal network of a shape, with an interval for every configuration of the parents."""
    rng = np.random.default_rng(seed)
    parents = SHAPES[shape](rng, n)
    with path.open("w") as out:
        for i, above in enumerate(parents):
            for values in itertools.product((0, 1), repeat=len(above)):
                low, width = int(rng.integers(0, 900)), int(rng.integers(20, 100))
                literals = (f"{'' if b else '!'}x{p}" for p, b in zip(above, values, strict=True))
                given = " | " + " and ".join(literals) if above else ""
                out.write(f"{low / 1000} <= P(x{i}{given}) <= {(low + width) / 1000}\n")


# --- Scale --------------------------------------------------------------------------------------------------


def run_case(shape: str, n: int, variant: str) -> None:
    """Read one network from text, propagate, print all marginals; report phases and memory as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.lcn"
        write_network(path, shape, n)
        start, busy = perf_counter(), process_time()
        network = credalog.load(path).ground(limit=10 * n)
        read = perf_counter()
        command = command_seconds(path, variant) if n <= LARGEST_COMMAND else None
    rounds: list[Round] = []
    resumed = perf_counter()
    found = propagate(network, variant=variant, report=rounds.append)
    reached = perf_counter()
    with Path(os.devnull).open("w") as nowhere:
        for answer in found.answers():
            nowhere.write(f"{answer.query.claim} {answer.lower:.6f} {answer.upper:.6f}\n")
    printed, spent = perf_counter(), process_time() - busy
    asked = sum(r.factors for r in rounds)
    case = {
        "sentences": len(network.sentences),
        "read": read - start,
        "propagate": reached - resumed,
        "print": printed - reached,
        "command": command,
        "processor": spent,
        "rounds": found.iterations,
        "asked": asked,
        "microseconds": 1e6 * (rounds_only(network, variant) if command else rounds[-1].seconds) / asked,
        "width": float((found.upper - found.lower).mean()),
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    print(json.dumps(case))


def command_seconds(path: Path, variant: str) -> float:
    """Measure the command that reads a file and prints its marginals, start of the interpreter included."""
    start = perf_counter()
    command = [sys.executable, "-m", "credalog", "marginals", str(path), "--method", variant]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return perf_counter() - start


def rounds_only(network: Network, variant: str) -> float:
    """Measure the rounds alone, once more, with all kernels loaded."""
    rounds: list[Round] = []
    propagate(network, variant=variant, report=rounds.append)
    return rounds[-1].seconds


def scale(sizes: list[int]) -> list[str]:
    """Run all shapes, variants and sizes, each in its own process."""
    lines = [
        "| network | variant | atoms | sentences | read s | propagate s | print s | processor s |"
        " whole command s | rounds |"
        " factors asked | µs a factor | peak GB | mean width |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for shape, variant, n in itertools.product(SHAPES, ("bp", "sound"), sizes):
        arguments = [sys.executable, str(Path(__file__)), "--case", shape, str(n), variant]
        done = subprocess.run(arguments, check=True, capture_output=True, text=True)
        case = json.loads(done.stdout)
        command = "–" if case["command"] is None else f"{case['command']:.1f}"
        lines.append(
            f"| {shape} | {variant} | {n:,} | {case['sentences']:,} | {case['read']:.1f} |"
            f" {case['propagate']:.1f} | {case['print']:.1f} | {case['processor']:.1f} |"
            f" {command} | {case['rounds']} |"
            f" {case['asked']:,} | {case['microseconds']:.1f} | {case['gigabytes']:.2f} |"
            f" {case['width']:.3f} |"
        )
        print(lines[-1], flush=True)
    return lines


def first_use() -> float:
    """Measure the first propagation worth compiling kernels for, with an empty cache of these."""
    with tempfile.TemporaryDirectory() as folder:
        script = (
            "from credalog import parse; from credalog.methods.intervals import propagate;"
            "from credalog.methods.intervals import rounds; from credalog.numbers.jit import is_loaded;"
            "each = '0.1 <= P(x{0} | x{1}) <= 0.2\\n0.1 <= P(x{0} or x{1}) <= 0.9\\n';"
            "n = parse(''.join(each.format(i, i - 1) for i in range(1, 3000))).ground();"
            "propagate(n); propagate(n, variant='sound');"
            "assert is_loaded(rounds.take), 'nothing was compiled'"
        )
        start = perf_counter()
        subprocess.run(
            [sys.executable, "-c", script], check=True, env={**os.environ, "NUMBA_CACHE_DIR": folder}
        )
        return perf_counter() - start


# --- Accuracy on the public files ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Distance:
    """How far the ends of one method lie from exact ones; negative errors pass a model."""

    errors: tuple[float, ...]
    seconds: float

    @property
    def row(self) -> str:
        if not self.errors:
            return "– | – | – | –"
        e = np.array(self.errors)
        inside, outside = (e < -OUTSIDE).mean(), (e > OUTSIDE).mean()
        return f"{np.abs(e).mean():.4f} | {np.abs(e).max():.4f} | {inside:.0%} | {outside:.0%}"


def accuracy(folder: Path, limit: int | None) -> list[str]:
    """Compare both variants with exact inference on every public file."""
    lines = [
        "| file | atoms | ends exact | method | seconds | mean error | worst | passed by a model | outside |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    totals: dict[str, list[float]] = {}
    slowest: dict[str, float] = {}
    warm_up()
    for path in sorted(folder.rglob("*.lcn"))[:limit]:
        network = credalog.load(path).ground()
        truth = exact_ends(network)
        for method, options in METHODS.items():
            distance = measured(network, truth, options)
            if isinstance(distance, str):
                cells = f"{distance} |  |  |  | "
            else:
                cells = f"{distance.seconds:.3f} | {distance.row}"
                totals.setdefault(method, []).extend(distance.errors)
                if len(network.variables) == 100:
                    slowest[method] = max(slowest.get(method, 0.0), distance.seconds)
            known = sum(end is not None for end in truth.values())
            lines.append(
                f"| {path.stem} | {len(network.variables)} | {known}/{2 * len(network.variables)} |"
                f" {method} | {cells} |"
            )
            print(lines[-1], flush=True)
    lines += [f"| **all** | | | {m} | | {Distance(tuple(e), 0.0).row} |" for m, e in totals.items()]
    lines += [
        "",
        "The slowest of the files with 100 atoms; the rounds alone, in a process that has loaded the compiled"
        " kernels and read the network (the table above has whole commands):",
        "",
        *(f"- {m}: {s:.3f} s" for m, s in slowest.items()),
    ]
    return lines


def warm_up() -> None:
    """Load the compiled kernels, which is the start of a process and no part of a network's time."""
    network = credalog.parse("P(a) = 0.5\nP(b | a) = 0.5\nP(a or b) >= 0.1\nP(c | a and b) = 0.2").ground()
    for options in METHODS.values():
        propagate(network, **options)  # type: ignore[arg-type]


Ends: TypeAlias = dict[tuple[int, bool], tuple[float, float] | None]
"""For a variable's lower and upper end (True) the exact bound and the value that a model attains."""

METHODS: dict[str, dict[str, object]] = {
    "bp": {"variant": "bp"},
    "sound": {"variant": "sound"},
    "sound, window 1": {"variant": "sound", "window": 1},
    "sound, window 2": {"variant": "sound", "window": 2},
}


def exact_ends(network: Network) -> Ends:
    """Return bound and witnessed value of all ends, None where exact inference did not close in time."""
    try:
        answers = marginals(network, Options(timeout=EXACT_SECONDS))
    except InconsistentNetwork:
        return {}
    ends: Ends = {}
    for i, answer in enumerate(answers):
        for upper, end in enumerate((answer.interval.lower, answer.interval.upper)):
            is_known = answer.status is Status.EXACT and end.witnessed is not None
            ends[i, bool(upper)] = (end.bound, end.witnessed or 0.0) if is_known else None
    return ends


def measured(network: Network, truth: Ends, options: dict[str, object]) -> Distance | str:
    """Propagate and compare; a contradiction is its own outcome."""
    start = perf_counter()
    try:
        found = propagate(network, **options)  # type: ignore[arg-type]
    except InconsistentNetwork:
        return "proved inconsistent"
    except CredalogError as error:
        return type(error).__name__
    seconds = perf_counter() - start
    if found.crossed is not None:
        return "no fixed point"
    return Distance(tuple(errors(ends_of(found), truth)), seconds)


def errors(ends: Sequence[tuple[float, float]], truth: Ends) -> list[float]:
    """Return, end by end, by how much it lies outside the exact bound, or (negative) is passed by a model.

    The truth lies between bound and witnessed value; an end between the two is right as far as is known.
    """
    signed = []
    for (i, upper), end in truth.items():
        if end is not None:
            outward = 1.0 if upper else -1.0
            beyond, short = (outward * (ends[i][upper] - value) for value in end)
            signed.append(max(beyond, 0.0) + min(short, 0.0))
    return signed


def ends_of(found: Propagation) -> list[tuple[float, float]]:
    """Return the interval of every answer."""
    return [(answer.lower, answer.upper) for answer in found.answers()]


# --- Against L2U --------------------------------------------------------------------------------------------


def against_l2u(networks: int, n: int) -> list[str]:
    """Run our messages and pyAgrum's loopy propagation on the same random binary credal networks."""
    import pyagrum

    gaps: dict[str, list[float]] = {"credalog bp": [], "pyAgrum L2U": []}
    seconds = dict.fromkeys(gaps, 0.0)
    for seed in range(networks):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "network.lcn"
            write_network(path, "loopy", n, seed)
            network = credalog.load(path).ground()
        truth = exact_ends(network)
        start = perf_counter()
        ours = propagate(network)
        seconds["credalog bp"] += perf_counter() - start
        gaps["credalog bp"] += errors(ends_of(ours), truth)
        theirs, spent = l2u(pyagrum, seed, n)
        seconds["pyAgrum L2U"] += spent
        gaps["pyAgrum L2U"] += errors(theirs, truth)
    lines = [
        f"{networks} random loopy networks of {n} propositions, two or three parents each, no evidence.",
        "",
        "| method | seconds, all networks | mean error | worst | passed by a model | outside |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| {m} | {seconds[m]:.3f} | {Distance(tuple(gaps[m]), 0.0).row} |" for m in gaps]
    lines += ["", f"Time ratio, L2U to ours: {seconds['pyAgrum L2U'] / seconds['credalog bp']:.1f}."]
    print("\n".join(lines), flush=True)
    return lines


def l2u(pyagrum: object, seed: int, n: int) -> tuple[list[tuple[float, float]], float]:
    """Run pyAgrum on the network that `write_network` writes for this seed."""
    rng = np.random.default_rng(seed)
    parents = loopy_parents(rng, n)
    low, high = pyagrum.BayesNet(), pyagrum.BayesNet()  # type: ignore[attr-defined]
    for net in (low, high):
        for i in range(n):
            net.add(pyagrum.LabelizedVariable(f"x{i}", "", 2))  # type: ignore[attr-defined]
        for i, above in enumerate(parents):
            for p in above:
                net.addArc(f"x{p}", f"x{i}")
    for i, above in enumerate(parents):
        for values in itertools.product((0, 1), repeat=len(above)):
            at, width = int(rng.integers(0, 900)) / 1000, int(rng.integers(20, 100)) / 1000
            where = {f"x{p}": b for p, b in zip(above, values, strict=True)}
            low.cpt(f"x{i}")[where] = [1.0 - at - width, at]
            high.cpt(f"x{i}")[where] = [1.0 - at, at + width]
    start = perf_counter()
    credal = pyagrum.CredalNet(low, high)  # type: ignore[attr-defined]
    credal.intervalToCredal()
    credal.computeBinaryCPTMinMax()
    engine = pyagrum.CNLoopyPropagation(credal)  # type: ignore[attr-defined]
    engine.makeInference()
    ends = [(float(engine.marginalMin(f"x{i}")[1]), float(engine.marginalMax(f"x{i}")[1])) for i in range(n)]
    return ends, perf_counter() - start


# --- The page -----------------------------------------------------------------------------------------------


def main() -> None:
    parser = options_of(__doc__)
    add_data(parser, "lcn/benchmarks")
    parser.add_argument(
        "--case", nargs=3, metavar=("SHAPE", "ATOMS", "VARIANT"), help="run one size and print JSON"
    )
    parser.add_argument("--million", action="store_true", help="run 1,000,000 atoms instead")
    parser.add_argument("--small", action="store_true", help="small sizes and few files")
    arguments = parser.parse_args()
    if arguments.case:
        shape, n, variant = arguments.case
        run_case(shape, int(n), variant)
        return
    if arguments.million:
        page = ["# A million atoms", "", f"Command: `{command()}`. {MACHINE}", "", *scale([1_000_000]), ""]
        finish("propagation_million", "\n".join(page), parser, arguments)
        return
    folder = require(arguments.data)
    sizes = [1_000, 3_000, 10_000] if arguments.small else [1_000, 10_000, 30_000, 100_000]
    compile_seconds = first_use()
    page = [
        "# Interval propagation, measured",
        "",
        f"Command: `{command()}`. {MACHINE}",
        f"Compiling the kernels, once per machine: {compile_seconds:.0f} s.",
        "",
        "## Scale: from text to printed marginals",
        "",
        *scale(sizes),
        "",
        "## Accuracy on the public LCN files",
        "",
        f"Exact ends are those that exact inference closed, at {EXACT_SECONDS:.0f} s a query.",
        "",
        *accuracy(folder, 12 if arguments.small else None),
        "",
        "## Against pyAgrum's L2U",
        "",
        *against_l2u(*((5, 12) if arguments.small else (20, 20))),
        "",
    ]
    finish("propagation", "\n".join(page), parser, arguments)


if __name__ == "__main__":
    main()
