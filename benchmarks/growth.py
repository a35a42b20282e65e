"""Measure how inference grows with the number of atoms, and write the results page.

Input: nothing but a seed. Output: a table on the terminal and, with --write, `benchmarks/results/growth.md`.
Run from the project root:

    python benchmarks/growth.py --write

The networks are ladders: each atom has the two before it as parents, with intervals for its four conditional
chances, and every fifth atom has bounds on its own probability too, so that assessments are not unique. All
intervals hold a hidden Bayesian network, which makes the whole consistent.
"""

from __future__ import annotations

import platform
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import log
from time import monotonic

import numpy as np
from pages import command, finish, options_of

from credalog.errors import ProblemTooLarge
from credalog.methods.answer import Options
from credalog.methods.automatic import query
from credalog.network.formulas import Formula, Is, Variable, conjunction
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.interval import Status

TOLERANCE = 1e-3
SEED = 7
SMALL = (4, 5, 6, 7, 8, 9, 10, 11, 12)
LARGE = (10, 20, 50, 100, 200, 500, 1000)
SLACK, MARGINAL_SLACK = 0.1, 0.05


# ---- ladders ------------------------------------------------------------------------------------------


def ladder(atoms: int, *, every: int = 5, seed: int = SEED) -> Network:
    """Draw a ladder around a hidden Bayesian network; one atom in so many has a sentence on its marginal."""
    rng = np.random.default_rng(seed)
    x = [Is(Variable(f"x{i}")) for i in range(atoms)]
    sentences: list[Sentence] = []
    pair = np.ones((1, 1))
    for i in range(atoms):
        parents = x[max(0, i - 2) : i]
        chances = rng.uniform(0.15, 0.85, size=(2,) * len(parents))
        for signs in product((0, 1), repeat=len(parents)):
            sentences.append(_around(x[i], _literals(parents, signs), float(chances[signs]), SLACK))
        pair = _next_pair(pair, chances)
        if i % every == every - 1:
            sentences.append(_around(x[i], conjunction(()), float(pair[:, 1].sum()), MARGINAL_SLACK))
    return Network(tuple(atom.variable for atom in x), tuple(sentences))


def _literals(atoms: Sequence[Is], signs: Sequence[int]) -> Formula:
    return conjunction(atom if sign else ~atom for atom, sign in zip(atoms, signs, strict=True))


def _around(claim: Is, given: Formula, chance: float, slack: float) -> Sentence:
    low, high = round(max(0.01, chance - slack), 4), round(min(0.99, chance + slack), 4)
    return Sentence.of(claim, low, high, given=given)


def _next_pair(pair: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """Return the hidden joint distribution of the last two atoms once one more is added."""
    shaped = chances.reshape(chances.shape if chances.ndim == 2 else (1, -1))
    both = np.stack([pair * (1 - shaped), pair * shaped], axis=-1)
    return np.asarray(both.sum(axis=0))


def marginal(network: Network) -> Query:
    """Ask for the last atom."""
    return Query(Is(network.variables[-1]))


def posterior(network: Network) -> Query:
    """Ask for the fourth last atom when the last is seen."""
    return Query(Is(network.variables[-4]), Is(network.variables[-1]))


# ---- measuring ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """One query by one method."""

    atoms: int
    seconds: float
    gap: float
    status: Status | None

    @property
    def shown(self) -> str:
        if self.status is None:
            return "too large"
        ended = "" if self.status is Status.EXACT else f", gap {self.gap:.3f}"
        return f"{self.seconds:.2f} s{ended}"


def run(network: Network, asked: Query, method: str, timeout: float) -> Run:
    start = monotonic()
    try:
        answer = query(network, asked, Options(tolerance=TOLERANCE, timeout=timeout, method=method))
    except ProblemTooLarge:
        return Run(len(network.variables), monotonic() - start, 1.0, None)
    ends = (answer.interval.lower, answer.interval.upper)
    gap = max(min(end.gap, 1.0) for end in ends)
    return Run(len(network.variables), monotonic() - start, gap, answer.status)


def exponent(runs: Sequence[Run]) -> float:
    """Fit seconds = constant * atoms ** exponent."""
    xs, ys = np.log([r.atoms for r in runs]), np.log([r.seconds for r in runs])
    return float(np.polyfit(xs, ys, 1)[0])


def bar(seconds: float, least: float = 0.01) -> str:
    """Draw a duration on a logarithmic scale: four cells for a factor of ten."""
    return "█" * max(1, round(4 * log(max(seconds, least) / least, 10)))


# ---- the page -----------------------------------------------------------------------------------------

HEAD = """# Growth

Command: `{command}`. One process, one thread, {machine}, Python {python}; EXACT at
1e-3; at most {timeout:g} s for a query; peak memory {memory:.0f} MB; wall-clock seconds, compiling included.

The networks are ladders: each atom has the two before it as parents, with intervals on all conditional
chances, and every fifth atom has bounds on its own probability too.

## Factorized against joint

The last atom's marginal. The joint program has a column for each of the 2^n worlds.

| atoms | worlds | factorized | joint | ratio |
|---:|---:|---:|---:|---:|
"""

WIDTH = """
## Factorized at fixed width

The marginal of the last atom, and the posterior of the fourth last given the last: of the ladder without the
sentences on marginals, which is a credal network, and of the whole. Bars are logarithmic, four cells for a
factor of ten, starting at 0.01 s. A gap is what is left between bound and witness when the time is up.

| atoms | marginal | | posterior, credal | posterior |
|---:|---:|---|---:|---:|
"""


def against_joint(sizes: Sequence[int], timeout: float) -> list[str]:
    lines = []
    for atoms in sizes:
        network = ladder(atoms)
        ours, joint = (run(network, marginal(network), method, timeout) for method in ("factorized", "joint"))
        more = "" if joint.status is Status.EXACT else "more than "
        ratio = "" if joint.status is None else f"{more}{joint.seconds / ours.seconds:.1f}"
        lines.append(f"| {atoms} | {2**atoms} | {ours.shown} | {joint.shown} | {ratio} |")
        print(lines[-1], flush=True)
    return lines


def at_fixed_width(sizes: Sequence[int], timeout: float) -> list[str]:
    lines: list[str] = []
    priors: list[Run] = []
    for atoms in sizes:
        stated, credal = ladder(atoms), ladder(atoms, every=atoms + 1)
        priors.append(run(stated, marginal(stated), "factorized", timeout))
        others = [run(network, posterior(network), "auto", timeout) for network in (credal, stated)]
        shown = " | ".join(r.shown for r in others)
        lines.append(f"| {atoms} | {priors[-1].shown} | {bar(priors[-1].seconds)} | {shown} |")
        print(lines[-1], flush=True)
    law = f"Fitted: a marginal takes time like n^{exponent(priors):.2f}."
    return [*lines, "", law, ""]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--timeout", type=float, default=15.0, help="seconds for one query")
    parser.add_argument("--most", type=int, default=max(LARGE), help="the largest number of atoms")
    options = parser.parse_args()
    small = against_joint([n for n in SMALL if n <= options.most], options.timeout)
    large = at_fixed_width([n for n in LARGE if n <= options.most], options.timeout)
    head = HEAD.format(
        command=command(),
        machine=platform.machine(),
        python=platform.python_version(),
        timeout=options.timeout,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )
    text = head + "\n".join(small) + "\n" + WIDTH + "\n".join(large)
    finish("growth", text, parser, options)


if __name__ == "__main__":
    main()
