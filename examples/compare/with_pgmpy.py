"""The Bayesian network `lawn.bif` in pgmpy, and the same with every number off by up to 0.05.

python examples/compare/with_pgmpy.py        (needs pgmpy)
"""

from __future__ import annotations

from pathlib import Path

from pgmpy.inference import VariableElimination
from pgmpy.readwrite import BIFReader

import credalog

LAWN = Path(__file__).parent.parent / "robust" / "lawn.bif"


def main() -> None:
    """Print P(Rain = yes | Slippery = yes) three times."""
    model = BIFReader(str(LAWN)).get_model()
    found = VariableElimination(model).query(["Rain"], evidence={"Slippery": "yes"}, show_progress=False)
    print(f"pgmpy                 {found.get_value(Rain='yes'):.6f}")
    lawn = credalog.load(LAWN)
    for name, network in {"here": lawn, "here, ± 0.05": lawn.widen(by=0.05)}.items():
        answer = network.query("P(Rain = yes | Slippery = yes)")
        print(f"{name:20}  {answer.lower:.6f} … {answer.upper:.6f}")


if __name__ == "__main__":
    main()
