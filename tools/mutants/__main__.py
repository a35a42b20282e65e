"""Change the trusted code, one small mutation at a time, and see whether a test notices.

    python -m tools.mutants                         all modules
    python -m tools.mutants --module certify        one of them
    python -m tools.mutants --sample 0.2            a fifth of the mutations, the same fifth every time

First every test is run once, to learn what it costs and which lines it reaches. Then each mutation is tried
on the tests that reach its lines, the fastest first, until one fails. What ran is kept in `.mutants/`, so
that a run can be stopped and taken up again; `--fresh` forgets it. `--write` writes the page of survivors.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

os.environ |= {"NUMBA_DISABLE_JIT": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
for library in ("OMP", "OPENBLAS"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

from tools.mutants.mutations import Mutation, mutations  # noqa: E402  (numba reads its settings when imported)
from tools.mutants.trial import fork, survey, trial  # noqa: E402

PROJECT = Path(__file__).resolve().parents[2]
SOURCE = PROJECT / "src"
KEPT = PROJECT / ".mutants"
PAGE = PROJECT / "benchmarks" / "results" / "mutants.md"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")

MODULES = (
    "trusted/rounding",
    "trusted/certify",
    "trusted/check",
    "network/graph",
    "network/relevance",
    "methods/cliques/encoding",
    "methods/cliques/factorization",
    "methods/cliques/likelihood",
    "methods/intervals/separation",
    "methods/intervals/kernels",
)

LIBRARIES = (
    *("numpy", "scipy.optimize", "scipy.sparse", "highspy", "pyscipopt", "numba", "lark", "rich", "joblib"),
    *("hypothesis", "networkx", "_pytest.assertion.rewrite"),
)
"""What takes long to import, and is the same for every mutation."""

NOT_RUN = {
    *("cli", "diagnosis_cli", "documentation", "drawing", "experiments", "layout", "public_data", "readers"),
    *("adversarial", "propagation_attack", "rendering", "summary", "language", "grounding", "explanation"),
}
"""Files of tests that start processes, read the source, or take long for what they notice."""

SURVEY_SECONDS = 300.0
"""The processor time of one file of tests in the survey; what has not run by then does not take part."""

TRIAL_SECONDS = 20.0
"""The processor time of all tests that one mutation is tried on."""

START_SECONDS = 10.0
"""The processor time that importing the package and collecting tests may take."""


@dataclass(frozen=True, slots=True)
class Test:
    """A test that passes, its cost and the lines of each module that it reaches."""

    name: str
    seconds: float
    reached: dict[str, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutation; `noticed` names the test that fails, or is empty."""

    module: str
    function: str
    before: str
    after: str
    fingerprint: str
    noticed: str
    tests: int
    seconds: float
    suite: str


def main() -> None:
    """Read the command line, run, and print or write the page."""
    options = _options()
    os.chdir(PROJECT)
    sys.path.insert(0, str(SOURCE))
    for library in LIBRARIES:
        importlib.import_module(library)
    KEPT.mkdir(exist_ok=True)
    tests = _survey(options.tests, options.jobs)
    print(f"{len(tests)} tests, {sum(t.seconds for t in tests):.0f} s")
    chosen = [m for m in MODULES if any(m.endswith(name) for name in options.module or MODULES)]
    outcomes = _run(chosen, tests, options)
    total = sum(1 for module in chosen for _ in mutations(_path(module).read_text()))
    page = _page(outcomes, total)
    if options.write:
        PAGE.write_text(page)
    else:
        print(page)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants")
    parser.add_argument("--module", action="append", help="only this module, by the end of its path")
    parser.add_argument("--tests", action="append", help="only tests/test_NAME.py, for a first look")
    parser.add_argument("--function", default="", help="only functions whose name contains this")
    parser.add_argument("--sample", type=float, default=1.0, help="the share of the mutations to try")
    parser.add_argument("--seed", type=int, default=1, help="which sample")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no trial after so long")
    parser.add_argument("--fresh", action="store_true", help="forget earlier runs")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(PROJECT)}")
    return parser.parse_args()


def _path(module: str) -> Path:
    return SOURCE / "credalog" / f"{module}.py"


def _hash(*paths: Path) -> str:
    return sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()[:16]


def _survey(names: Sequence[str] | None, jobs: int) -> list[Test]:
    """Learn what each test costs and reaches; files that have not changed are not run again."""
    sources = [_path(module) for module in MODULES]
    helpers = [path for path in (PROJECT / "tests").glob("*.py") if not path.name.startswith("test_")]
    common = _hash(*SOURCE.glob("**/*.py"), *helpers)
    kept: list[Path] = []
    unfinished = KEPT / "unfinished"
    unfinished.mkdir(exist_ok=True)
    tasks: list[tuple[str, Callable[[], str], float]] = []
    for path in sorted((PROJECT / "tests").glob("test_*.py")):
        name = path.stem.removeprefix("test_")
        if name not in names if names else name in NOT_RUN:
            continue
        found = KEPT / f"{path.stem}-{common}-{_hash(path)}.jsonl"
        kept.append(found)
        if not found.exists():
            part = unfinished / found.name
            tasks.append((found.name, partial(survey, f"tests/{path.name}", sources, part), SURVEY_SECONDS))
    for name, code, seconds in _each(tasks, jobs):
        (unfinished / name).rename(KEPT / name)
        print(f"{name}: {seconds:.0f} s {code}", flush=True)
    return [test for found in kept for test in _tests(found)]


def _tests(found: Path) -> Iterator[Test]:
    for line in found.read_text().splitlines():
        entry = json.loads(line)
        reached = {name: frozenset(lines) for name, lines in entry["reached"].items()}
        yield Test(entry["test"], entry["seconds"], reached)


def _each(
    tasks: Sequence[tuple[str, Callable[[], str], float]], jobs: int
) -> Iterator[tuple[str, str | None, float]]:
    """Run tasks in children, some at a time; yield each one's name, result (None if it died) and time."""
    waiting = list(reversed(tasks))
    running: dict[int, tuple[str, int, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            name, task, seconds = waiting.pop()
            child, reader = fork(task, seconds=seconds)
            running[child] = name, reader, time.monotonic()
        child, _ = os.wait()
        name, reader, started = running.pop(child)
        with os.fdopen(reader) as stream:
            text = stream.read()
        if text.startswith("error:"):
            raise RuntimeError(f"{name}\n{text}")
        yield name, text.removeprefix("result:") if text else None, time.monotonic() - started


def _run(chosen: Sequence[str], tests: Sequence[Test], options: argparse.Namespace) -> list[Outcome]:
    """Try the mutations that no earlier run has tried; return what is known of all of them."""
    suite = f"{_hash(*(PROJECT / 'tests').glob('*.py'))} {' '.join(options.tests or ())}"
    if options.fresh:
        (KEPT / "outcomes.jsonl").unlink(missing_ok=True)
    known = _known(suite)
    pending: dict[str, tuple[str, Mutation, list[Test]]] = {}
    asked: list[str] = []
    for module in chosen:
        for mutation in _sampled(module, options):
            asked.append(mutation.fingerprint)
            if mutation.fingerprint not in known:
                pending[mutation.fingerprint] = module, mutation, _reaching(module, mutation, tests)
    end = time.monotonic() + 60.0 * options.minutes
    with (KEPT / "outcomes.jsonl").open("a", buffering=1) as output:
        for key, noticed, seconds in _each_before(end, _trials(pending), options.jobs):
            module, mutation, run = pending[key]
            outcome = Outcome(
                module,
                mutation.function,
                mutation.before,
                mutation.after,
                key,
                "time" if noticed is None else noticed,
                len(run),
                seconds,
                suite,
            )
            known[key] = outcome
            output.write(json.dumps(asdict(outcome)) + "\n")
            print(f"{seconds:5.1f} s  {module} {mutation.function}: {outcome.noticed or _shown(outcome)}")
    return [known[key] for key in asked if key in known]


def _each_before(
    end: float, tasks: Iterator[tuple[str, Callable[[], str], float]], jobs: int
) -> Iterator[tuple[str, str | None, float]]:
    """Run tasks until the time is over, a few at a time so that the rest need not be started."""
    batch: list[tuple[str, Callable[[], str], float]] = []
    for task in tasks:
        batch.append(task)
        if len(batch) == 16 * jobs:
            yield from _each(batch, jobs)
            batch = []
        if time.monotonic() > end:
            return
    yield from _each(batch, jobs)


def _known(suite: str) -> dict[str, Outcome]:
    """Return earlier outcomes; a survivor is tried again when the tests have changed."""
    path = KEPT / "outcomes.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    outcomes = [Outcome(**json.loads(line)) for line in lines]
    return {o.fingerprint: o for o in outcomes if o.noticed or o.suite == suite}


def _sampled(module: str, options: argparse.Namespace) -> Iterator[Mutation]:
    draws = random.Random(f"{options.seed} {module}")
    for mutation in mutations(_path(module).read_text()):
        if draws.random() < options.sample and options.function in mutation.function:
            yield mutation


def _reaching(module: str, mutation: Mutation, tests: Sequence[Test]) -> list[Test]:
    """Return the tests that reach a mutation's lines, or the module if it runs on import; fastest first."""
    path = str(_path(module))
    lines = set(range(mutation.lines[0], mutation.lines[1] + 1))
    found = [t for t in tests if not lines.isdisjoint(t.reached.get(path, ()))]
    found = found or [t for t in tests if t.reached.get(path)]
    chosen, seconds = [], 0.0
    for test in sorted(found, key=lambda t: t.seconds):
        seconds += test.seconds
        if seconds <= TRIAL_SECONDS:
            chosen.append(test)
    return chosen


def _trials(
    pending: dict[str, tuple[str, Mutation, list[Test]]],
) -> Iterator[tuple[str, Callable[[], str], float]]:
    for key, (module, mutation, tests) in pending.items():
        name = f"credalog.{module.replace('/', '.')}"
        arguments = name, _path(module), mutation.source, [t.name for t in tests]
        limit = START_SECONDS + 2.0 * sum(t.seconds for t in tests)
        yield key, partial(trial, *arguments), limit


def _shown(outcome: Outcome) -> str:
    return f"SURVIVES\n         - {outcome.before}\n         + {outcome.after}"


def _reasons() -> dict[tuple[str, str, str], str]:
    """Return why a mutation changes no answer, by module, function and changed text."""
    entries = tomllib.loads(EQUIVALENT.read_text())["equivalent"]
    return {
        (entry["module"], entry["function"], after): entry["reason"]
        for entry in entries
        for after in entry["after"]
    }


def _page(outcomes: Sequence[Outcome], total: int) -> str:
    """Write the page: counts, survivors that nothing explains, and the others with their reasons."""
    reasons = _reasons()
    survivors = [o for o in outcomes if not o.noticed]
    explained = [o for o in survivors if (o.module, o.function, o.after) in reasons]
    lines = [
        "# Mutations of the trusted code",
        "",
        f"Written by `make mutants`, which tried {len(outcomes)} of {total} mutations, by a fixed seed.",
        "Each mutation is one small change to a trusted module; it is noticed if a test fails, or if tests",
        "run for far too long. Mutations are tried on the fastest tests that reach their lines. A survivor",
        "is equivalent, as the reason beside it says, or a gap in the tests.",
        "",
        "| module | mutations | noticed | equivalent | unexplained |",
        "|---|---:|---:|---:|---:|",
    ]
    for module in MODULES:
        of = Counter(_verdict(o, o in explained) for o in outcomes if o.module == module)
        if of:
            counts = (of.total(), of["noticed"], of["equivalent"], of["unexplained"])
            lines.append(f"| `{module}` | " + " | ".join(map(str, counts)) + " |")
    lines += ["", "## Unexplained", ""]
    lines += [_entry(o, "") for o in survivors if o not in explained] or ["None."]
    lines += ["", "## Equivalent", ""]
    lines += [_entry(o, reasons[o.module, o.function, o.after]) for o in explained] or ["None."]
    return "\n".join(lines) + "\n"


def _verdict(outcome: Outcome, is_explained: bool) -> str:
    return "noticed" if outcome.noticed else "equivalent" if is_explained else "unexplained"


def _entry(outcome: Outcome, reason: str) -> str:
    where = f"- `{outcome.module}`, `{outcome.function}`: {reason}".rstrip()
    return f"{where}\n  ```diff\n  - {outcome.before}\n  + {outcome.after}\n  ```"


if __name__ == "__main__":
    main()
