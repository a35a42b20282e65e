"""How far tables are from what an encoding says of them."""

from __future__ import annotations

from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.witness import ratio_values
from credalog.program.program import Floats

__all__ = ["worst_miss"]


def worst_miss(encoding: Encoding, tables: Floats) -> float:
    """Return the largest violation of any row, ratio or bound on a ratio."""
    program, ratios = encoding.program, encoding.program.ratios
    part, whole = ratios.numerator @ tables, ratios.denominator @ tables
    misses = [
        -(program.inequalities @ tables),
        abs(program.equalities @ tables),
        abs(part - ratio_values(encoding, tables)[ratios.of] * whole),
        ratios.lower[ratios.of] * whole - part,
        part - ratios.upper[ratios.of] * whole,
    ]
    return max(float(miss.max(initial=0.0)) for miss in misses)
