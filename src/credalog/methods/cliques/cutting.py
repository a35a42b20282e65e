"""Where to cut a box of ratios.

Input: a box and a point of its relaxation. Output: the two halves into which the ratio falls on which the
point's contexts disagree most; none where they agree, for then nothing is relaxed any more.
"""

from __future__ import annotations

import numpy as np

from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.search import AGREED, cut_inside, disagreement
from credalog.program.program import Box, Floats

__all__ = ["halves"]

NARROW = 1e-9
"""A ratio's range below this width is not cut further."""


def halves(encoding: Encoding, box: Box, point: Floats) -> tuple[Box, ...]:
    """Cut the ratio on which contexts disagree most, at its mean but not too near an end."""
    values, apart = disagreement(encoding.program, point)
    apart[box.upper - box.lower <= NARROW] = 0.0
    if apart.max(initial=0.0) <= AGREED:
        return ()
    ratio = int(np.argmax(apart))
    return cut_inside(box, ratio, float(values[ratio]))
