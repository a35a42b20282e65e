"""Certify every EXACT answer of published networks, CREPO, the golden suite and the paper, and verify it.

Input: public LCN and credal network files, the project's own. Output: `benchmarks/results/certificates.md`:
how many answers have a certificate that the verifier accepts, how long solving and verifying take, how large
the certificates are. Run from the project root: python benchmarks/certificates.py --write
"""

from __future__ import annotations

import csv
import gzip
import json
import platform
import re
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from pages import ROOT, SHARED, command, finish, options_of, require

import credalog
from credalog import LCN, CredalogError, Markov
from credalog.methods.answer import marginal_atoms
from credalog.network.formulas import conjunction
from credalog.network.sentences import Query
from credalog.numbers.interval import Status
from credalog.text.readers import read
from credalog.verify import verify

EXPECTED = re.compile(r"# expect (?:markov (\w+) )?(P\(.*\)) = ")

HEAD = """# Certificates

Command: `{command}`.
{machine}, Python {python}; seconds of the clock, one thread. Every answer that is EXACT at {tolerance:g}
within {timeout:g} s is certified, bounds and models, within {timeout:g} s for each bound; every certificate
is then verified by `credalog.verify`. *Complete*: both bounds and both models are there; a trivial
bound (0 or 1) needs no proof. Sizes are compressed; the ratio is that of verifying to solving.

| answers | EXACT | complete | accepted | solving | writing | verifying | ratio | median size | largest |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""


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


Asked = tuple[LCN, Query, Markov]


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


SOURCES = {"the paper": paper, "golden suite": golden, "published LCNs": published, "CREPO": crepo}


def tried(asked: Asked, options: Namespace) -> Result | None:
    """Answer, certify and verify one question; None where it is not EXACT."""
    lcn, query, markov = asked
    start = perf_counter()
    try:
        answer = lcn.query(query, markov=markov, timeout=options.timeout, tolerance=options.tolerance)
    except CredalogError:
        return None
    if answer.status is not Status.EXACT:
        return None
    solved = perf_counter()
    certificate = answer.certificate(timeout=options.timeout)
    written = perf_counter()
    lines = [json.dumps(line, separators=(",", ":")) for line in certificate.lines]
    size = len(gzip.compress("\n".join(lines).encode()))
    checked = perf_counter()
    try:
        list(verify(lcn.ground(), lines))
        accepted = True
    except CredalogError as error:
        print(f"  REFUSED {query}: {error}", flush=True)
        accepted = False
    now = perf_counter()
    name = f"{query} ({answer.method})"
    return Result(name, solved - start, written - solved, now - checked, size, certificate.missing, accepted)


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
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for an answer, and for a proof")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="the gap that counts as EXACT")
    parser.add_argument("--every", type=int, default=1, help="take every n-th file and question")
    parser.add_argument("--only", choices=list(SOURCES), help="one source of questions")
    options = parser.parse_args()
    page = HEAD.format(
        command=command(),
        machine=platform.machine(),
        python=platform.python_version(),
        tolerance=options.tolerance,
        timeout=options.timeout,
    )
    everything, missing = list[Result](), list[str]()
    total = 0
    for name, source in SOURCES.items():
        if options.only not in (None, name):
            continue
        questions = list(source(options))
        results = [result for asked in questions if (result := tried(asked, options)) is not None]
        page += row(name, results, len(questions))
        print(page.splitlines()[-1], flush=True)
        everything += results
        total += len(questions)
        missing += [f"- {name}, {r.name}: {'; '.join(r.missing)}\n" for r in results if r.missing]
    page += row("**all**", everything, total)
    if missing:
        page += "\n## Not complete\n\n" + "".join(missing)
    finish("certificates", page, parser, options)


if __name__ == "__main__":
    main()
