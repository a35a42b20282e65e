"""Threshold decisions against exact intervals: how much sooner a verdict is reached.

Input: the public .lcn benchmarks, where they are at hand. Output: `benchmarks/results/decide.md`. Run from
the project root: python benchmarks/decide.py
"""

from __future__ import annotations

import platform
from collections import Counter
from pathlib import Path

from pages import add_data, command, finish, options_of, require

from credalog import load
from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.questions.decide import Verdict, decide

TIMEOUT = 10.0
THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)
QUERIES = (
    ("real/asia_consistent", "P(x3 | x6 and x7)"),
    ("real/cancer", "P(x0 | x3 and x4)"),
    ("real/credit_consistent", "P(x3 | x5 and not x6)"),
    ("real/credit_consistent", "P(x0 | x5 and x6 and x7)"),
    ("polytree_large_fr/polytree_fr_n30_1", "P(x12 | x0 and x4)"),
    ("dag_large_fr/dag_fr_tw3_n30_1", "P(x12 | x0 and x4)"),
    ("chain/chain_n10_1", "P(x3 | x5)"),
    ("chain/chain_n20_1", "P(x3 | x5)"),
)

HEADER = """# Decisions

Command: `{command}`. One process, one thread, {machine}, Python {python}. The cores were
shared with other work. For each query the exact interval (limit {timeout:g} s), and the statement
P(q | e) >= t for t = {thresholds}: how many were settled, by which stage, and how long one took on average.

| network | query | interval | its status | its seconds | settled | by | seconds per statement |
|---|---|---|---|---:|---:|---|---:|
"""


def row(folder: Path, name: str, asked: str) -> str:
    """Measure one query."""
    model = load(folder / f"{name}.lcn")
    query, options = model.question(asked), Options(timeout=TIMEOUT)
    exact = Engine(model.ground()).query(query, options)
    found = [decide(Engine(model.ground()), query, t, options) for t in THRESHOLDS]
    settled = sum(one.verdict is not Verdict.UNDECIDED for one in found)
    stages = ", ".join(f"{stage} {n}" for stage, n in Counter(one.stage for one in found).items())
    mean = sum(one.seconds for one in found) / len(found)
    interval = f"[{exact.lower:.4f}, {exact.upper:.4f}]"
    status = exact.status.name.lower()
    cells = [Path(name).name, f"`{asked}`".replace("|", "\\|"), interval, status, f"{exact.seconds:.2f}"]
    return f"| {' | '.join([*cells, f'{settled} of {len(found)}', stages, f'{mean:.2f}'])} |"


def main() -> None:
    parser = options_of(__doc__)
    add_data(parser, "lcn/benchmarks")
    options = parser.parse_args()
    folder = require(options.data)
    rows = []
    for name, asked in QUERIES:
        rows.append(row(folder, name, asked))
        print(rows[-1], flush=True)
    header = HEADER.format(
        command=command(),
        machine=platform.machine(),
        python=platform.python_version(),
        timeout=TIMEOUT,
        thresholds=", ".join(map(str, THRESHOLDS)),
    )
    finish("decide", header + "\n".join(rows) + "\n", parser, options)


if __name__ == "__main__":
    main()
