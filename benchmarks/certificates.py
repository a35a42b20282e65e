"""Certify every EXACT answer of published networks, CREPO, the golden suite and the paper, and verify it.

Input: public LCN and credal network files, the project's own. Output: `benchmarks/results/certificates.md`:
how many answers have a certificate that the verifier accepts, how long solving and verifying take, how large
the certificates are. Run from the project root: python benchmarks/certificates.py --write

With `--notes FILE` each answer is noted down as soon as it is there, and a run that was cut off goes on where
it stopped; `--only` and `--every` run parts.
"""

from __future__ import annotations

import csv
import json
import platform
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from map import tasks
from pages import ROOT, SHARED, command, finish, options_of, require

import credalog
from certificate_mutations import judged, mutated
from credalog import LCN, CredalogError, Markov
from credalog.methods.answer import marginal_atoms
from credalog.network.expressions import Question
from credalog.network.formulas import conjunction
from credalog.network.sentences import Query
from credalog.numbers.interval import Status
from credalog.questions.certificates import Certificate
from credalog.questions.map import Criterion
from credalog.text.readers import read
from credalog.verify import verify

EXPECTED = re.compile(r"# expect (?:markov (\w+) )?(P\(.*\)) = ")

HEAD = """# Certificates

Command: `{command}`.
{machine}, Python {python}; seconds of the processor, one thread. Every answer that is EXACT at {tolerance:g}
within {timeout:g} s is certified, bounds and models, within {proving:g} s for each bound; every certificate
is then verified by `credalog.verify`. *Complete*: both bounds and both models are there; a trivial
bound (0 or 1) needs no proof. Sizes are compressed; the ratio is that of verifying to solving.

| answers | EXACT | complete | accepted | solving | writing | verifying | ratio | median size | largest |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""


MUTATIONS = """
## Changed certificates

{count:,} random changes (numbers, signs, rows, reasons, cuts, digests, tables) to certificates of the
paper's examples and the golden suite: {accepted:,} were accepted and are true (a changed digit that does not
matter, a weaker bound), the rest refused; **{false} accepted and false**.
"""


BEST = """
## Best assignments

Full MAPs of `benchmarks/map.py` (published networks and random polytrees), by maximax and maximin, within
{timeout:g} s, those that are proved; each is certified: the ends of the best, models that attain them, and
that no other scores more. *Slowest*: of verifying one.

| variables | proved | complete | accepted | solving | writing | verifying | slowest | median size | largest |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""

GROUPS = ("up to 10", 0, 10), ("11 to 30", 11, 30), ("31 to 50", 31, 50), ("51 to 100", 51, 100)


@dataclass(frozen=True, slots=True)
class Result:
    """One answer: what it and its certificate took, and what is missing."""

    name: str
    solving: float
    writing: float
    verifying: float
    size: int
    missing: tuple[str, ...]
    is_accepted: bool
    lines: list[str]


Asked = tuple[LCN, Question, Markov]


def published(options: Namespace) -> Iterator[Asked]:
    for path in sorted(require(SHARED / "lcn").rglob("*.lcn"))[:: options.every]:
        try:
            lcn = credalog.load(path)
        except CredalogError:
            continue
        yield from (
            (lcn, Query(atom), Markov.LOCAL) for atom in marginal_atoms(lcn.ground())[:: options.every]
        )


def crepo(options: Namespace) -> Iterator[Asked]:
    folder = require(SHARED / "crepo")
    with (folder / "exact_results.csv").open() as table:
        rows = list(csv.DictReader(table))[:: options.every]
    for row in rows:
        lcn = LCN.from_network(read(folder / "vmodel" / Path(row["filename"]).name))
        variables = lcn.variables
        seen = (variables[int(x)] for x in row["observed"].split())
        given = conjunction(v.is_(v.values[0]) for v in seen)
        target = variables[int(row["target"])]
        yield lcn, Query(target.is_(target.values[0]), given), Markov.LOCAL


def golden(options: Namespace) -> Iterator[Asked]:
    for path in sorted((ROOT / "tests" / "conformance").glob("*.lcn")):
        lcn = credalog.load(path)
        for markov, text in EXPECTED.findall(path.read_text(encoding="utf-8")):
            yield lcn, lcn.question(text), Markov(markov or "local")


def paper(options: Namespace) -> Iterator[Asked]:
    for name in ("smokers", "parity", "two_sources", "appendix"):
        lcn = credalog.load(ROOT / "examples" / f"{name}.lcn")
        yield from ((lcn, lcn.question(asked), Markov.LOCAL) for asked in lcn.queries)


SUMS = (
    "P(a) + P(b)",
    "P(b | a) - P(b | !a)",
    "P(a) / P(b)",
    "P(a | b) - P(a)",
    "E(X)",
    "E(X | b)",
    "2 * P(a) - E(X) / 4",
)
WEIGHED = """0.2 <= P(a) <= 0.3
0.5 <= P(b | a) <= 0.6
0.1 <= P(b | !a) <= 0.2
variable X in 1..4
P(X = 1 | a) >= 0.4
P(X = 2 | !a) <= 0.3
P(X = 4) >= 0.1
"""
COMPARED = """0.2 <= P(a) <= 0.3
P(b | a) = 0.5
P(b | a) >= P(b | !a)
0.1 <= P(c | b) <= 0.9
"""


def sums(options: Namespace) -> Iterator[Asked]:
    for text, questions in ((WEIGHED, SUMS), (COMPARED, ("P(b)", "P(b | !a)", "P(c)"))):
        lcn = credalog.parse(text)
        for markov in (Markov.LOCAL, Markov.NONE):
            yield from ((lcn, lcn.asked(question), markov) for question in questions)


def theories(options: Namespace) -> Iterator[Asked]:
    """Yield Example 1 with more people than are grounded: bounds by slices, models by a few people."""
    text = (ROOT / "examples" / "smokers.lcn").read_text(encoding="utf-8")
    for count in (60, 1000):
        more = "".join(f", p{n}" for n in range(count - 3))
        lcn = credalog.parse(text.replace("Tam}", f"Tam{more}}}"))
        yield from ((lcn, lcn.asked(asked), Markov.LOCAL) for asked in lcn.queries)


PROOFS = 10
"""Certificates of best assignments may have many proofs, each of which gets this part of the time of one."""

BEST_ONES, SMALLEST = "best assignments", 5
"""Best assignments of so few variables are changed: whether a change is false takes all their rivals."""

SMALL = ("the paper", "golden suite", "sums and comparisons")
SOURCES = {
    "the paper": paper,
    "golden suite": golden,
    "sums and comparisons": sums,
    "theories not grounded": theories,
    "published LCNs": published,
    "CREPO": crepo,
}


def tried(asked: Asked, options: Namespace) -> Result | None:
    """Answer, certify and verify one question; None where it is not EXACT."""
    lcn, query, markov = asked
    start = process_time()
    try:
        answer = lcn.query(query, markov=markov, timeout=options.timeout, tolerance=options.tolerance)
    except CredalogError:
        return None
    if answer.status is not Status.EXACT:
        return None
    solving, name = process_time() - start, f"{query} ({answer.method})"
    return checked(name, lcn, solving, lambda: answer.certificate(timeout=options.proving))


def best_assignments(options: Namespace) -> Iterator[tuple[LCN, Result]]:
    """Certify and verify that assignments of all variables are the best."""
    for task in tasks(require(SHARED / "lcn" / "benchmarks")):
        lcn = LCN.from_network(task.network)
        for criterion in (Criterion.MAXIMAX, Criterion.MAXIMIN) if task.chosen is None else ():
            start = process_time()
            found = task.run(criterion, options.timeout)
            if found.is_proved:
                name = f"{task.name}, {task.kind}, {criterion.value}"
                solved = process_time() - start
                proof = partial(lcn.certificate, found, timeout=options.proving / PROOFS)
                result = checked(name, lcn, solved, proof)
                print(f"{name}: {result.size} bytes, {result.verifying:.2f} s, {result.missing}", flush=True)
                yield lcn, result


def checked(name: str, lcn: LCN, solving: float, certified: Callable[[], Certificate]) -> Result:
    """Write a certificate, and verify it."""
    start = process_time()
    certificate = certified()
    written = process_time()
    lines = certificate.text.splitlines()
    try:
        list(verify(lcn.verified, lines))
        accepted = True
    except CredalogError as error:
        print(f"  REFUSED {name}: {error}", flush=True)
        accepted = False
    now, size = process_time(), len(certificate.to_bytes())
    return Result(name, solving, written - start, now - written, size, certificate.missing, accepted, lines)


def best_rows(found: list[tuple[LCN, Result]]) -> Iterator[str]:
    for name, least, most in GROUPS:
        results = [r for lcn, r in found if least <= len(lcn.variables) <= most]
        sizes = [r.size / 1000 for r in results] or [0.0]
        parts = ([getattr(r, part) for r in results] or [0.0] for part in ("solving", "writing", "verifying"))
        solving, writing, verifying = parts
        yield (
            f"| {name} | {len(results)} | {sum(not r.missing for r in results)} "
            f"| {sum(r.is_accepted for r in results)} | {sum(solving):.1f} s | {sum(writing):.1f} s "
            f"| {sum(verifying):.1f} s | {max(verifying):.2f} s | {median(sizes):.1f} kB "
            f"| {max(sizes):.0f} kB |\n"
        )
    missing = [f"- {r.name}: {'; '.join(r.missing)[:300]}\n" for _, r in found if r.missing]
    yield from ["\nNot complete:\n\n", *missing] if missing else []


def attacked(certificates: list[tuple[LCN, list[str]]], count: int) -> str:
    """Change certificates at random, and tell whether anything false is accepted."""
    rng, accepted, false, start = Random(1), 0, list[str](), perf_counter()
    for n in range(count if certificates else 0):
        lcn, lines = certificates[n % len(certificates)]
        is_accepted, found = judged(lcn, mutated(lines, rng))
        false += found
        accepted += is_accepted and not found
    print(f"{count:,} changes: {perf_counter() - start:.0f} s of the clock", flush=True)
    return MUTATIONS.format(count=count, accepted=accepted, false=len(false)) + "".join(
        f"- {f}\n" for f in false
    )


class Notes:
    """What earlier runs found, by source and number of the question; new findings are written at once."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.found = path, dict[tuple[str, int, int], Any]()
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                *place, result = json.loads(line)
                self.found[tuple(place)] = result

    def result(self, place: tuple[str, int, int], asked: Asked, options: Namespace) -> Result | None:
        """Return what is noted down of a question, or find it."""
        if place not in self.found:
            result = tried(asked, options)
            self.found[place] = asdict(result) if result is not None else None
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([*place, self.found[place]]) + "\n")
        noted = self.found[place]
        return Result(**{**noted, "missing": tuple(noted["missing"])}) if noted is not None else None


def row(name: str, results: list[Result], asked: int) -> str:
    solving, writing, verifying = (
        sum(getattr(r, part) for r in results) for part in ("solving", "writing", "verifying")
    )
    sizes = [r.size / 1000 for r in results] or [0.0]
    return (
        f"| {name} | {len(results)} of {asked} | {sum(not r.missing for r in results)} "
        f"| {sum(r.is_accepted for r in results)} | {solving:.1f} s | {writing:.1f} s | {verifying:.1f} s "
        f"| {verifying / max(solving, 1e-9):.2f} | {median(sizes):.1f} kB | {max(sizes):.0f} kB |\n"
    )


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for an answer")
    parser.add_argument("--proving", type=float, default=30.0, help="seconds for the proof of a bound")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="the gap that counts as EXACT")
    parser.add_argument("--every", type=int, default=1, help="take every n-th file and question")
    parser.add_argument("--mutations", type=int, default=10_000, help="random changes to certificates")
    parser.add_argument("--only", choices=[*SOURCES, BEST_ONES], nargs="+", help="some sources of questions")
    parser.add_argument("--notes", type=Path, help="a file to note down answers in, and to go on from")
    options = parser.parse_args()
    page = HEAD.format(
        command=command(),
        machine=platform.machine(),
        python=platform.python_version(),
        tolerance=options.tolerance,
        timeout=options.timeout,
        proving=options.proving,
    )
    everything, missing, changeable = list[Result](), list[str](), list[tuple[LCN, list[str]]]()
    total, notes = 0, Notes(options.notes)
    for name, source in SOURCES.items():
        if options.only is not None and name not in options.only:
            continue
        start, questions = perf_counter(), list(source(options))
        tries = (
            (asked, notes.result((name, options.every, n), asked, options))
            for n, asked in enumerate(questions)
        )
        found = [(asked, result) for asked, result in tries if result is not None]
        results = [result for _, result in found]
        page += row(name, results, len(questions))
        print(page.splitlines()[-1], flush=True)
        print(f"{name}: {perf_counter() - start:.0f} s of the clock", flush=True)
        everything += results
        changeable += [
            (asked[0], r.lines) for asked, r in found if asked[2] is Markov.LOCAL and name in SMALL
        ]
        total += len(questions)
        missing += [f"- {name}, {r.name}: {'; '.join(r.missing)}\n" for r in results if r.missing]
    page += row("**all**", everything, total)
    if missing:
        page += "\n## Not complete\n\n" + "".join(missing)
    if options.only is None or BEST_ONES in options.only:
        best = list(best_assignments(options))
        page += BEST.format(timeout=options.timeout) + "".join(best_rows(best))
        print("".join(best_rows(best)), flush=True)
        changeable += [(lcn, r.lines) for lcn, r in best if len(lcn.variables) <= SMALLEST]
    page += attacked(changeable, options.mutations) if options.mutations else ""
    finish("certificates", page, parser, options)


if __name__ == "__main__":
    main()
