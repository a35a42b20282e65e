"""Small changes to certificates, and whether what is still accepted is true.

Input: the lines of a certificate and a random generator. Output: changed lines; complaints about claims that
a verifier accepted although they are false.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import inf
from random import Random
from typing import Any

from credalog import LCN, CredalogError
from credalog.methods.answer import Answer
from credalog.network.formulas import conjunction, literals_of
from credalog.network.graph import Markov
from credalog.network.sentences import Query
from credalog.verify import verify

__all__ = ["judged", "mutated"]

UNDER = r"(?:under --markov (?P<markov>\w+), )?"
BOUND = re.compile(UNDER + r"every model has (?P<query>.+) (?P<relation>[<>]=) (?P<bound>\S+)$")
MODEL = re.compile(
    UNDER
    + r"a (?:model|distribution .* within (?P<residual>\S+)) attains (?P<query>.+) = (?P<value>\S+) within "
)

BEST = re.compile(
    UNDER + r"no assignment but that of (?P<query>.+) scores over (?P<score>\S+) \(alpha = (?P<alpha>\S+)\)$"
)

NEAR = 1e-6
"""How far a value may be outside the truth: a distribution may miss a sentence by the residual it states."""


def mutated(lines: list[str], rng: Random) -> list[str]:
    """Change one thing in one line, or swap, repeat or leave out lines."""
    number, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    if rng.random() < 0.05:
        swapped = [*lines]
        swapped[number], swapped[other] = lines[other], lines[number]
        return rng.choice([swapped, [*lines, lines[number]], lines[:number] + lines[number + 1 :]])
    line = json.loads(lines[number])
    changed = json.dumps(_changed(line, rng))
    return [*lines[:number], changed, *lines[number + 1 :]]


def _changed(value: Any, rng: Random) -> Any:
    """Walk to some place in a value, and change what is there."""
    match value:
        case dict() if value:
            name = rng.choice(sorted(value))
            return {**value, name: _changed(value[name], rng)}
        case list() if value and rng.random() < 0.9:
            place = rng.randrange(len(value))
            return [*value[:place], _changed(value[place], rng), *value[place + 1 :]]
        case list():
            return _reordered(value, rng)
        case int():
            return rng.choice([value + 1, value - 1, -value, 0, 1, value * 10] * 3 + [*ODD])
        case str():
            return rng.choice([_reworded(value, rng)] * 20 + [*ODD])
    return value


ODD: tuple[Any, ...] = (
    "NaN",
    "1e999",
    "-0",
    "٣",
    "1/0",
    "",
    None,
    True,
    10**400,
    -1,
    1.5,
    float("nan"),
    [],
    {},
    [[[[]]]],
    "9" * 4001,
)
"""What no number of a certificate should be."""


def _reordered(value: list[Any], rng: Random) -> list[Any]:
    place = rng.randrange(len(value) + 1)
    return rng.choice([value[:place] + value[place + 1 :], value[::-1], value + value[:1], []])


def _reworded(value: str, rng: Random) -> str:
    """Change a number, a word or a letter."""
    words = {"lower": "upper", "upper": "lower", "ratio": "part", "cut": "ends", "local": "none"}
    words |= {"bound": "claims", "claims": "bound", "value": "choose"}
    try:
        number = Fraction(value)
    except (ValueError, ZeroDivisionError):
        place = rng.randrange(len(value) + 1)
        return words.get(value, value[:place] + rng.choice("ab01!|&") + value[place + 1 :])
    change = rng.choice([Fraction(1, 1000), Fraction(-1, 1000), Fraction(1, 10**9), number, -2 * number])
    return str(number + change)


def judged(lcn: LCN, lines: list[str]) -> tuple[bool, list[str]]:
    """Tell whether a certificate is accepted, and which of its claims are false if it is."""
    try:
        accepted = list(verify(lcn.ground(), lines))
    except CredalogError:
        return False, []
    return True, [claim for claim in accepted if not _is_true(lcn, claim)]


def _is_true(lcn: LCN, claim: str) -> bool:
    if (found := BOUND.fullmatch(claim)) is not None:
        lower, upper = _truth(lcn, found["query"], found["markov"] or "local")
        bound = float(found["bound"])
        return bound <= lower + 1e-9 if found["relation"] == ">=" else bound >= upper - 1e-9
    if (found := MODEL.match(claim)) is not None:
        lower, upper = _proved(lcn, found["query"], found["markov"] or "local")
        near = NEAR if found["residual"] is None else max(NEAR, 100.0 * float(found["residual"]))
        return lower - near <= float(found["value"]) <= upper + near
    if (found := BEST.fullmatch(claim)) is not None:
        score, alpha = float(found["score"]), float(found["alpha"])
        return all(
            _least_score(lcn, rival, alpha, found["markov"] or "local") <= score * (1 + 1e-9) + 1e-9
            for rival in _rivals(lcn, found["query"])
        )
    return False


def _rivals(lcn: LCN, text: str) -> Iterator[str]:
    """Yield the questions about all other assignments of the same variables."""
    asked = lcn.question(text)
    assert isinstance(asked, Query), "an assignment is one event"
    best = literals_of(asked.claim) or {}
    for values in product(*(v.values for v in best)):
        world = dict(zip(best, values, strict=True))
        if world != best:
            yield str(Query(conjunction(v.is_(value) for v, value in world.items()), asked.given))


def _least_score(lcn: LCN, query: str, alpha: float, markov: str) -> float:
    """Return a score that an assignment has at least."""
    answer = _answer(lcn, query, markov)
    attained = answer.upper_witnessed
    return alpha * (0.0 if attained is None else attained) + (1.0 - alpha) * answer.lower


def _truth(lcn: LCN, query: str, markov: str) -> tuple[float, float]:
    """Return what is attained of a question; what is not would prove nothing."""
    answer = _answer(lcn, query, markov)
    low, high = answer.lower_witnessed, answer.upper_witnessed
    return (inf if low is None else low), (-inf if high is None else high)


def _proved(lcn: LCN, query: str, markov: str) -> tuple[float, float]:
    """Return what no model passes."""
    answer = _answer(lcn, query, markov)
    return answer.lower, answer.upper


@lru_cache(maxsize=4096)
def _answer(lcn: LCN, query: str, markov: str) -> Answer:
    return LCN.from_network(lcn.ground()).query(query, markov=Markov(markov), timeout=20)
