"""Change the trusted code, one small mutation at a time, and see whether a test notices.

    python -m tools.mutants                         all modules
    python -m tools.mutants --module certify        one of them
    python -m tools.mutants --sample 0.2            a fifth of the mutations, the same fifth every time

First every test is run once, to learn what it costs and which lines it reaches. Then each mutation is tried
on tests that reach its lines until one fails, first on cheap ones that have noticed others of its function or
reach little else. What ran is kept in `.mutants/`, so that a run can be stopped
and taken up again; `--fresh` forgets it. `--write` writes the page of survivors.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from hashlib import sha256
from importlib import import_module
from itertools import islice, takewhile
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ |= {"NUMBA_DISABLE_JIT": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
for library in ("OMP", "OPENBLAS"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

from tools.mutants.mutations import Mutation, mutations  # noqa: E402  (numba reads its settings when imported)
from tools.mutants.trial import Changed, Suite, fork, survey, trial  # noqa: E402

PROJECT = Path(__file__).resolve().parents[2]
SOURCE = PROJECT / "src"
KEPT = PROJECT / ".mutants"
PAGE = PROJECT / "benchmarks" / "results" / "mutants.md"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")

MODULES = {
    "trusted/rounding": ("rounding", "numerics", "kernel", "guards"),
    "trusted/certify": ("kernel", "certify", "guards", "rational"),
    "trusted/check": ("check", "distribution", "families", "global", "copies", "guards"),
    "tables/distribution": ("distribution", "guards"),
    "verify": (
        "verifier",
        "best_certificates",
        "context_certificates",
        "sum_certificates",
        "combined_certificates",
        "lifted_certificates",
        "certificate_attacks",
        "certificate_files",
        "certificates",
    ),
    "network/markov": ("markov_condition", "verifier", "markov"),
    "network/graph": ("markov", "guards"),
    "network/structure": ("structure", "guards", "guards_apart"),
    "methods/cliques/encoding": ("rows", "encoding", "contexts", "rational", "exact", "guards"),
    "methods/cliques/factorization": ("cliques_built", "factorization", "rows", "exact", "guards"),
    "methods/cliques/likelihood": ("likelihood", "guards"),
    "methods/intervals/separation": ("separation", "guards"),
    "methods/intervals/kernels": ("local_programs", "guards"),
}
"""The trusted code, and the files of tests that are about each module. These take part, and no others."""

SURVEY_SECONDS = 300.0
"""The processor time of one file of tests in the survey; what has not run by then does not take part."""

TRIAL_SECONDS = 12.0
"""The processor time of the tests that one mutation is tried on."""

REVIEWED_SECONDS = 1.0
"""The same of a mutation with a reviewed reason."""

START_SECONDS = 10.0
"""The processor time that importing the package and collecting tests anew may take."""

UNTRIED = 0.05
"""How likely a test that is about one module alone is taken to notice a mutation of it."""

CALL_SECONDS = 0.005
"""What calling a test costs beside its own time."""

Task = tuple[str, Callable[[], str], float]
"""A name, what a child is to do, and the processor time it has for that."""


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
    seconds: float
    version: str


def main() -> None:
    """Read the command line, collect the tests, and run in the process that has them."""
    options = _options()
    os.chdir(PROJECT)
    sys.path.insert(0, str(SOURCE))
    KEPT.mkdir(exist_ok=True)
    for module in MODULES:
        import_module(_name(module))  # what is imported later would be imported as it is
    # Whoever parses first pays for the grammar: once here, and not in every child.
    import_module("credalog").parse("P(warm) = 0.5\nP(warmer | warm) = 0.5").query(
        "P(warmer)", method="sound"
    )
    files = [str(path.relative_to(PROJECT)) for path in _files(options.tests)]
    with TemporaryDirectory() as temporary:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = temporary
        Suite(files, partial(_work, options))


def _work(options: argparse.Namespace, suite: Suite) -> None:
    """Learn what the tests reach, try the mutations, and print or write the page."""
    tests = _survey(suite, options)
    print(f"{len(tests)} tests, {sum(t.seconds for t in tests):.0f} s", flush=True)
    chosen = [m for m in MODULES if any(m.endswith(name) for name in options.module or MODULES)]
    possible = {module: list(mutations(_path(module).read_text())) for module in chosen}
    for line in _outdated(possible):
        print(f"a reason for what there is no longer: {line}", flush=True)
    outcomes = _run(suite, possible, tests, options)
    page = _page(outcomes, sum(map(len, possible.values())))
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
    parser.add_argument("--new", action="store_true", help="only mutations without a reviewed reason")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=TRIAL_SECONDS, help="of tests, for one mutation")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no trial after so long")
    parser.add_argument("--fresh", action="store_true", help="forget earlier runs")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(PROJECT)}")
    return parser.parse_args()


def _path(module: str) -> Path:
    return SOURCE / "credalog" / f"{module}.py"


def _name(module: str) -> str:
    return f"credalog.{module.replace('/', '.')}"


def _hash(*paths: Path) -> str:
    return sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()[:16]


def _files(names: Sequence[str] | None) -> list[Path]:
    """Return the files of tests that take part."""
    own = {name for files in MODULES.values() for name in files}
    return [PROJECT / "tests" / f"test_{name}.py" for name in sorted(names or own)]


def _survey(suite: Suite, options: argparse.Namespace) -> list[Test]:
    """Learn what each test costs and reaches; files that have not changed are not run again."""
    sources = [_path(module) for module in MODULES]
    helpers = [path for path in (PROJECT / "tests").glob("*.py") if not path.name.startswith("test_")]
    common = _hash(*SOURCE.glob("**/*.py"), *helpers)
    kept: list[Path] = []
    tasks: list[Task] = []
    for path in _files(options.tests):
        found = KEPT / f"{path.stem}-{common}-{_hash(path)}.jsonl"
        kept.append(found)
        if not found.exists():
            task = partial(survey, suite, f"tests/{path.name}", sources, _unfinished(found))
            tasks.append((found.name, task, SURVEY_SECONDS))
    for name, failed, seconds in _each(iter(tasks), options.jobs):
        _unfinished(KEPT / name).rename(KEPT / name)
        print(f"{name}: {seconds:.0f} s {failed}", flush=True)
    return [test for found in kept for test in _tests(found)]


def _unfinished(found: Path) -> Path:
    return found.with_suffix(".unfinished")


def _tests(found: Path) -> Iterator[Test]:
    for line in found.read_text().splitlines():
        entry = json.loads(line)
        reached = {name: frozenset(lines) for name, lines in entry["reached"].items()}
        yield Test(entry["test"], entry["seconds"], reached)


def _each(tasks: Iterator[Task], jobs: int) -> Iterator[tuple[str, str | None, float]]:
    """Run tasks in children, some at a time; yield each one's name, result (None if it died) and cost."""
    running: dict[int, tuple[str, int]] = {}
    while True:
        for name, task, seconds in islice(tasks, jobs - len(running)):
            child, reader = fork(task, seconds=seconds)
            running[child] = name, reader
        if not running:
            return
        child, _, usage = os.wait4(-1, 0)
        name, reader = running.pop(child)
        with os.fdopen(reader) as stream:
            text = stream.read()
        if text.startswith("error:"):
            raise RuntimeError(f"{name}\n{text}")
        yield name, text.removeprefix("result:") if text else None, usage.ru_utime + usage.ru_stime


def _run(
    suite: Suite,
    possible: Mapping[str, Sequence[Mutation]],
    tests: Sequence[Test],
    options: argparse.Namespace,
) -> list[Outcome]:
    """Try the mutations that no earlier run has tried; return what is known of all of them."""
    version = f"{_hash(*(PROJECT / 'tests').glob('*.py'))} {' '.join(options.tests or ())}"
    if options.fresh:
        (KEPT / "outcomes.jsonl").unlink(missing_ok=True)
    known = _known(version)
    asked = {
        m.fingerprint: (module, m)
        for module, found in possible.items()
        for m in _sampled(module, found, options)
    }
    pending = {key: found for key, found in asked.items() if key not in known}
    end = time.monotonic() + 60.0 * options.minutes
    noticing = Counter((o.module, o.function, o.noticed) for o in known.values())
    tasks = _trials(suite, pending, tests, noticing, options.seconds)
    trials = takewhile(lambda _: time.monotonic() < end, tasks)
    with (KEPT / "outcomes.jsonl").open("a", buffering=1) as output:
        for key, noticed, seconds in _each(trials, options.jobs):
            module, mutation = pending[key]
            where = module, mutation.function
            found = "time" if noticed is None else noticed
            outcome = Outcome(*where, mutation.before, mutation.after, key, found, seconds, version)
            noticing[*where, found] += 1
            known[key] = outcome
            output.write(json.dumps(asdict(outcome)) + "\n")
            print(f"{seconds:5.1f} s  {module} {mutation.function}: {found or _shown(outcome)}", flush=True)
    return [known[key] for key in asked if key in known]


def _known(version: str) -> dict[str, Outcome]:
    """Return earlier outcomes; one that nothing explains is tried again when the tests have changed."""
    path = KEPT / "outcomes.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    outcomes = [Outcome(**json.loads(line)) for line in lines]
    return {o.fingerprint: o for o in outcomes if o.noticed or o.version == version or _reason(o)}


def _sampled(module: str, found: Sequence[Mutation], options: argparse.Namespace) -> Iterator[Mutation]:
    draws = random.Random(f"{options.seed} {module}")
    for mutation in found:
        is_drawn = draws.random() < options.sample and options.function in mutation.function
        if is_drawn and not (options.new and _why(module, mutation)):
            yield mutation


def _trials(
    suite: Suite,
    pending: Mapping[str, tuple[str, Mutation]],
    tests: Sequence[Test],
    noticing: Counter[tuple[str, str, str]],
    trial_seconds: float,
) -> Iterator[Task]:
    # In an order that is random, and always the same: what a run has no time for is missing everywhere alike.
    for key, (module, mutation) in sorted(pending.items()):
        is_within, path, here = mutation.is_within_function, str(_path(module)), [module, mutation.function]
        changed = Changed(_name(module), _path(module), mutation.source, is_within)
        lines = range(mutation.lines[0], mutation.lines[1] + 1) if is_within else None
        noticed = {name: count for (*where, name), count in noticing.items() if where == here}
        seconds = REVIEWED_SECONDS if _why(module, mutation) else trial_seconds
        chosen = _within(seconds, _promising(_reaching(path, lines, tests), path, noticed))
        limit = START_SECONDS + 2.0 * sum(t.seconds for t in chosen)
        yield key, partial(trial, suite, changed, [(t.name, t.seconds) for t in chosen]), limit


def _reaching(path: str, lines: Iterable[int] | None, tests: Sequence[Test]) -> list[Test]:
    """Return tests that reach some lines of a module, or any."""
    return [t for t in tests if (here := t.reached.get(path)) and not here.isdisjoint(lines or here)]


def _promising(tests: Sequence[Test], path: str, noticed: Mapping[str, int]) -> list[Test]:
    """Sort tests by how likely each is to notice for what it costs.

    Likely are those that have noticed other mutations of the function, and those that reach little else;
    later cases of one test are less so than its first.
    """
    cases, all_noticed = Counter[str](), sum(noticed.values()) or 1
    worth = dict[str, float]()
    for test in sorted(tests, key=lambda t: t.seconds):
        function = test.name.partition("[")[0]
        cases[function] += 1
        about = len(test.reached[path]) / sum(map(len, test.reached.values()))
        likely = noticed.get(test.name, 0) / all_noticed + UNTRIED * about / sqrt(cases[function])
        worth[test.name] = likely / (test.seconds + CALL_SECONDS)
    return sorted(tests, key=lambda t: -worth[t.name])


def _within(seconds: float, tests: Sequence[Test]) -> list[Test]:
    """Choose tests in their order, passing over those that are too long for the time that is left."""
    chosen = list[Test]()
    for test in tests:
        if test.seconds <= seconds:
            chosen.append(test)
            seconds -= test.seconds
    return chosen or [*tests[:1]]


def _shown(outcome: Outcome) -> str:
    verdict = "equivalent" if _reason(outcome) else "SURVIVES"
    return f"{verdict}\n         - {outcome.before}\n         + {outcome.after}"


@cache
def _reviewed() -> tuple[dict[str, Any], ...]:
    return tuple(tomllib.loads(EQUIVALENT.read_text())["equivalent"])


def _reason(outcome: Outcome) -> str:
    return _why(outcome.module, outcome)


def _why(module: str, found: Outcome | Mutation) -> str:
    """Return why a mutation changes no answer: the reviewed list names a function, or lines of it."""
    return next((str(e["reason"]) for e in _reviewed() if _speaks_of(e, module, found)), "")


def _speaks_of(entry: Mapping[str, Any], module: str, found: Outcome | Mutation) -> bool:
    return (
        (entry["module"], entry["function"]) == (module, found.function)
        and found.before in entry.get("before", [found.before])
        and found.after in entry.get("after", [found.after])
    )


def _outdated(possible: Mapping[str, Sequence[Mutation]]) -> Iterator[str]:
    """Yield the lines of the reviewed list that speak of no mutation that there is."""
    for entry in _reviewed():
        module = entry["module"]
        if module not in possible:
            continue
        found = [m for m in possible[module] if _speaks_of(entry, module, m)]
        befores, afters = {m.before for m in found}, {m.after for m in found}
        missing = [*({*entry.get("before", ())} - befores), *({*entry.get("after", ())} - afters)]
        for line in missing or ([] if found else ["(any line)"]):
            yield f"{module} {entry['function']}: {line}"


def _page(outcomes: Sequence[Outcome], total: int) -> str:
    """Write the page: counts, survivors that nothing explains, and the others with their reasons."""
    survivors = [o for o in outcomes if not o.noticed]
    lines = [
        "# Mutations of the trusted code",
        "",
        f"Written by `make mutants`, which tried {len(outcomes)} of {total} mutations, by a fixed seed.",
        "Each mutation is one small change to a trusted module; it is noticed if a test fails, or if tests",
        f"run for far too long. It is tried for {TRIAL_SECONDS:.0f} s on tests that reach its lines, or for "
        f"{REVIEWED_SECONDS:.0f} s if it was reviewed",
        "before. A survivor is equivalent, as the reason beside it says, or a gap in the tests.",
        "",
        "| module | mutations | noticed | equivalent | unexplained |",
        "|---|---:|---:|---:|---:|",
    ]
    for module in MODULES:
        of = Counter(_verdict(o) for o in outcomes if o.module == module)
        if of:
            counts = (of.total(), of["noticed"], of["equivalent"], of["unexplained"])
            lines.append(f"| `{module}` | " + " | ".join(map(str, counts)) + " |")
    lines += ["", "## Unexplained", ""]
    lines += [_entry(o) for o in survivors if not _reason(o)] or ["None."]
    lines += ["", "## Equivalent", ""]
    lines += [_entry(o) for o in survivors if _reason(o)] or ["None."]
    return "\n".join(lines) + "\n"


def _verdict(outcome: Outcome) -> str:
    return "noticed" if outcome.noticed else "equivalent" if _reason(outcome) else "unexplained"


def _entry(outcome: Outcome) -> str:
    where = f"- `{outcome.module}`, `{outcome.function}`: {_reason(outcome)}".rstrip()
    return f"{where}\n  ```diff\n  - {outcome.before}\n  + {outcome.after}\n  ```"


if __name__ == "__main__":
    main()
