"""The credal network `diamond.lcn` in pyAgrum, by its two methods, beside every model of it.

python examples/compare/with_pyagrum.py        (needs pyagrum)
"""

from __future__ import annotations

from pathlib import Path

import pyagrum as gum

import credalog

Bounds = tuple[float, float]
TABLES: dict[str, list[tuple[dict[str, int], Bounds]]] = {
    "fault": [({}, (0.1, 0.2))],
    "heat": [({"fault": 1}, (0.7, 0.9)), ({"fault": 0}, (0.1, 0.2))],
    "noise": [({"fault": 1}, (0.6, 0.8)), ({"fault": 0}, (0.1, 0.3))],
    "alarm": [
        ({"heat": 1, "noise": 1}, (0.9, 1.0)),
        ({"heat": 1, "noise": 0}, (0.3, 0.5)),
        ({"heat": 0, "noise": 1}, (0.3, 0.5)),
        ({"heat": 0, "noise": 0}, (0.0, 0.1)),
    ],
}
"""The intervals of diamond.lcn: for each variable those of its rows."""


def credal_network() -> gum.CredalNet:
    """Return the network as pyAgrum wants it: two Bayesian networks, of lower and of upper numbers."""
    ends = [gum.fastBN("fault->heat->alarm<-noise<-fault") for _ in range(2)]
    for end, network in enumerate(ends):
        for name, rows in TABLES.items():
            for given, interval in rows:
                row = [1 - interval[1 - end], interval[end]]
                if given:
                    network.cpt(name)[given] = row
                else:
                    network.cpt(name).fillWith(row)
    credal = gum.CredalNet(*ends)
    credal.intervalToCredal()
    credal.computeBinaryCPTMinMax()
    return credal


def asked(method: type, evidence: dict[str, int], name: str) -> Bounds:
    """Return what a method of pyAgrum says of a variable."""
    gum.initRandom(1)
    inference = method(credal_network())
    for observed, value in evidence.items():
        inference.addEvidence(observed, value)
    inference.makeInference()
    return float(inference.marginalMin(name)[1]), float(inference.marginalMax(name)[1])


def main() -> None:
    """Print the intervals of two questions by each method.

    Without evidence sampling stops before it has begun, in pyAgrum 3.3: that line is left out.
    """
    network = credalog.load(Path(__file__).parent / "diamond.lcn")
    l2u, sampling = gum.CNLoopyPropagation, gum.CNMonteCarloSampling
    rows = {
        "P(alarm)": {"L2U": asked(l2u, {}, "alarm")},
        "P(fault | alarm)": {
            "L2U": asked(l2u, {"alarm": 1}, "fault"),
            "Monte Carlo": asked(sampling, {"alarm": 1}, "fault"),
        },
    }
    for question, found in rows.items():
        answer = network.query(question)
        for name, (lower, upper) in (found | {"every model": (answer.lower, answer.upper)}).items():
            print(f"{question:18}{name:13}{lower:.4f} … {upper:.4f}")


if __name__ == "__main__":
    main()
