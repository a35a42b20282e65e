"""What message passing for credal networks makes of `two_sources.lcn`: the paper's section 3.3, run.

2U and L2U multiply what they are told. A second source about b, 0.3 <= P(b) <= 0.4, can only enter as an
observed child c of b whose likelihoods are these numbers: P(c | b) in [0.3, 0.4], P(c | not b) in [0.6, 0.7].
The posterior of b is then [0.097, 0.264], the paper's "[0.1, 0.26]". Every model of the two sources has
P(b) between 0.3 and 0.35: the answer contradicts the second source, which it was given.

    python examples/two_sources_l2u.py        (needs pyagrum)
"""

from __future__ import annotations

from pathlib import Path

import pyagrum as gum
from rich.console import Console

import credalog

PRIOR = (0.2, 0.3)
GIVEN_A, GIVEN_NOT_A = (0.6, 0.7), (0.1, 0.2)
SECOND, NOT_SECOND = (0.3, 0.4), (0.6, 0.7)

Bounds = tuple[float, float]


def two_u() -> Bounds:
    """Multiply the messages into b by hand: from its parent, and from the second source."""
    parent = tuple(a * yes + (1 - a) * no for a, yes, no in zip(PRIOR, GIVEN_A, GIVEN_NOT_A, strict=True))
    ends = zip(parent, SECOND, reversed(NOT_SECOND), strict=True)
    lower, upper = (p * yes / (p * yes + (1 - p) * no) for p, yes, no in ends)
    return lower, upper


def l2u() -> Bounds:
    """Let pyAgrum's L2U propagate in the credal network a -> b -> c with c observed."""
    networks = [gum.fastBN("a->b->c") for _ in range(2)]
    for end, network in enumerate(networks):
        network.cpt("a").fillWith(_row(PRIOR, end))
        for child, parent, (yes, no) in (
            ("b", "a", (GIVEN_A, GIVEN_NOT_A)),
            ("c", "b", (SECOND, NOT_SECOND)),
        ):
            network.cpt(child)[{parent: 1}] = _row(yes, end)
            network.cpt(child)[{parent: 0}] = _row(no, end)
    credal = gum.CredalNet(*networks)
    credal.intervalToCredal()
    credal.computeBinaryCPTMinMax()
    propagation = gum.CNLoopyPropagation(credal)
    propagation.addEvidence("c", 1)
    propagation.makeInference()
    return float(propagation.marginalMin("b")[1]), float(propagation.marginalMax("b")[1])


def _row(interval: Bounds, end: int) -> list[float]:
    """Return the least (end 0) or greatest (end 1) probabilities of false and true."""
    return [1 - interval[1 - end], interval[end]]


def main() -> None:
    """Print the three answers for P(b)."""
    answer = credalog.load(Path(__file__).parent / "two_sources.lcn").query("P(b)")
    console = Console()
    for name, (lower, upper) in {
        "2U, by its formulas": two_u(),
        # From an observed child pyAgrum takes one number where 2U takes an interval: a higher lower end.
        "L2U, by pyAgrum": l2u(),
        "every model (credalog)": (answer.lower, answer.upper),
    }.items():
        console.print(f"{name:24} P(b) in {lower:.4f} .. {upper:.4f}")


if __name__ == "__main__":
    main()
