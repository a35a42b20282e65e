"""Exact answers of one model, for questions that mean the same.

Input: questions with their answers. Output: the answer of a question of the same meaning. In every model
P(a | b) depends on the worlds of `a & b` and those of `b` alone, whatever words they are described by, and
P(!a | b) is one minus it: so `P(x | y)` and `P(!x | y)`, `P(x and y)` and `P(y and x)`, `P(x or y)` and
`P(!x and !y)` are one question each. Only what is EXACT is kept: nothing better can be found.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import NamedTuple

from credalog.methods.answer import Answer
from credalog.network.expressions import Question
from credalog.network.formulas import scope, truth_table
from credalog.network.sentences import Query
from credalog.numbers.interval import End, Endpoint, Interval, Status
from credalog.trusted.rounding import round_down, round_up

__all__ = ["Meaning", "Remembered", "meaning"]

MOST_ANSWERS, MOST_WITNESSED = 4096, 64
"""So many answers are kept, and so many with the models that attain their ends."""

MEANINGS_KEPT = 4
"""A question is looked for before it is answered, and kept thereafter: its meaning is found once."""

MOST_WORLDS = 1 << 10
"""Questions about more worlds than these are compared with no others."""


class Meaning(NamedTuple):
    """The variables of a question, and the worlds of its claim, or of the opposite, and of its condition."""

    variables: tuple[str, ...]
    inside: bytes
    given: bytes


class Remembered:
    """The exact answers that are kept, each under the meaning of its question; the last used goes last.

    `within` tells questions of one model, by one method and tolerance, from all others.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[Hashable, Meaning], _Kept] = OrderedDict()

    def clear(self) -> None:
        """Let go of all answers."""
        self._answers.clear()

    def find(self, asked: Question, within: Hashable, *, tolerance: float) -> Answer | None:
        """Return the answer that a question of this meaning had."""
        named = meaning(asked)
        kept = None if named is None else self._answers.get((within, named[0]))
        if named is None or kept is None:
            return None
        self._answers.move_to_end((within, named[0]))
        found = kept.answer if kept.is_opposite == named[1] else _opposite(kept.answer, tolerance)
        # Near 0 an answer is held to finer digits than near 1.
        return replace(found, query=asked) if found.status is Status.EXACT else None

    def keep(self, answer: Answer, within: Hashable, *, with_witnesses: bool) -> None:
        """Keep an answer, if nothing better can be found."""
        named = meaning(answer.query)
        if named is None or answer.status is not Status.EXACT or answer.interrupted:
            return
        # Models may be large, and nobody may want them.
        kept = answer if with_witnesses else _bare(answer)
        self._answers[within, named[0]] = _Kept(replace(kept, origin=None), named[1])
        while len(self._answers) > (MOST_WITNESSED if with_witnesses else MOST_ANSWERS):
            self._answers.popitem(last=False)


class _Kept(NamedTuple):
    """An answer, and whether its claim is the opposite of the one that its meaning names."""

    answer: Answer
    is_opposite: bool


@lru_cache(maxsize=MEANINGS_KEPT)
def meaning(asked: Question) -> tuple[Meaning, bool] | None:
    """Return what a question means, and whether its claim is the opposite of the one that is named."""
    if not isinstance(asked, Query):
        return None
    over = tuple(sorted(scope(asked.claim, asked.given), key=lambda variable: variable.name))
    if prod(len(variable.values) for variable in over) > MOST_WORLDS:
        return None
    claim, given = (truth_table(formula, over) for formula in (asked.claim, asked.given))
    inside, outside = (claim & given).tobytes(), (~claim & given).tobytes()
    names = tuple(variable.name for variable in over)
    return Meaning(names, max(inside, outside), given.tobytes()), inside < outside


def _opposite(answer: Answer, tolerance: float) -> Answer:
    """Return the answer about the opposite claim under the same condition."""
    lower, upper = answer.interval.lower, answer.interval.upper
    least, most = round_down(1.0 - upper.bound), round_up(1.0 - lower.bound)
    interval = Interval(_flipped(upper, max(least, 0.0)), _flipped(lower, min(most, 1.0)))
    return replace(answer, interval=interval, status=interval.status(tolerance))


def _bare(answer: Answer) -> Answer:
    """Return an answer without the models that attain its ends."""
    interval = answer.interval
    ends = (replace(interval[end], model=None) for end in End)
    return replace(answer, interval=Interval(*ends, scale=interval.scale))


def _flipped(end: Endpoint, bound: float) -> Endpoint:
    attained = None if end.witnessed is None else 1.0 - end.witnessed
    return Endpoint(bound, attained, end.warrant, end.model)
