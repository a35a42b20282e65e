"""Where to cut a box of ratios.

Enters: a box and a point of its relaxation. Leaves: the two halves into which the ratio falls on which the
point's contexts disagree most; none where they agree, for then nothing is relaxed any more.
"""

from __future__ import annotations

import numpy as np

from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.witness import ratio_values
from credalog.program.program import Box, Floats

__all__ = ["halves"]

NARROW = 1e-9
"""A ratio's range below this width is not cut further."""

AGREED = 1e-12
"""Contexts whose masses deviate less than this from a common ratio are taken to agree."""

MARGIN = 0.15
"""The least share of a range that either half gets."""


def halves(encoding: Encoding, box: Box, point: Floats) -> tuple[Box, ...]:
    """Cut the ratio on which contexts disagree most, at its mean but not too near an end."""
    ratios = encoding.program.ratios
    values = ratio_values(encoding, point)
    apart = np.abs(ratios.numerator @ point - values[ratios.of] * (ratios.denominator @ point))
    disagreement = np.bincount(ratios.of, apart, len(values))
    disagreement[box.upper - box.lower <= NARROW] = 0.0
    if disagreement.max(initial=0.0) <= AGREED:
        return ()
    ratio = int(np.argmax(disagreement))
    low, high = float(box.lower[ratio]), float(box.upper[ratio])
    margin = MARGIN * (high - low)
    return box.split(ratio, min(max(float(values[ratio]), low + margin), high - margin))
