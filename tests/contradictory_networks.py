"""Small networks that contradict themselves, and what brute force says about them.

Input: a seed. Output: a network of random sentences with narrow bounds, most of which cannot hold together;
for any set of its sentences whether brute force finds a model; and the least price of a repair, by a global
solver over all worlds. The graph is always that of the whole network: a sentence is silenced by bounds that
say nothing, never taken away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyscipopt

from credalog.network.formulas import TRUE, And, Formula, Is, Not, Or, Variable, Xor
from credalog.network.sentences import Network, Query, Sentence
from oracle import Verdict, assignments, event, independences, interval

__all__ = ["LeastPrice", "has_model", "least_price", "random_network", "silenced"]


def random_network(seed: int, *, variables: int = 3, sentences: int = 5) -> Network:
    """Return a network whose sentences were not made to fit together."""
    rng = np.random.default_rng(seed)
    over = tuple(Variable(name) for name in "abcd"[:variables])
    said = tuple(_sentence(rng, over, f"s{i}") for i in range(sentences))
    return Network(over, said)


def _sentence(rng: np.random.Generator, over: Sequence[Variable], label: str) -> Sentence:
    chosen = [over[i] for i in rng.permutation(len(over))]
    claim = _formula(rng, chosen[:1] if rng.random() < 0.6 else chosen[:2])
    given = _formula(rng, chosen[2:3]) if rng.random() < 0.5 and len(chosen) > 2 else TRUE
    low = Fraction(int(rng.integers(0, 90)), 100)
    high = min(Fraction(1), low + Fraction(int(rng.integers(0, 20)), 100))
    return Sentence.of(claim, low, high, given=given, label=label)


def _formula(rng: np.random.Generator, over: Sequence[Variable]) -> Formula:
    literals: list[Formula] = [Is(v) if rng.random() < 0.7 else Not(Is(v)) for v in over]
    if len(literals) == 1:
        return literals[0]
    kind = (And, Or, Xor)[int(rng.integers(3))]
    return kind(tuple(literals))


def silenced(network: Network, kept: Iterable[int]) -> Network:
    """Let only some sentences speak."""
    speaking = frozenset(kept)
    return replace(
        network,
        sentences=tuple(
            s if n in speaking else replace(s, lower=Fraction(0), upper=Fraction(1))
            for n, s in enumerate(network.sentences)
        ),
    )


def has_model(network: Network, seconds: float = 20.0) -> bool | None:
    """Ask brute force whether there is a model."""
    verdict = interval(network, Query(Is(network.variables[0])), seconds=seconds).verdict
    known = {Verdict.ANSWERED: True, Verdict.INCONSISTENT: False}
    return known.get(verdict)


@dataclass(frozen=True, slots=True)
class LeastPrice:
    """What the solver says no repair costs less than, and what one costs."""

    proved: float
    attained: float


def _allowed(network: Network) -> np.ndarray:
    """Return the worlds that are not excluded by a sentence at 0 or 1 without a condition."""
    worlds = event(network, TRUE)
    for sentence in network.sentences:
        if sentence.given == TRUE and (sentence.lower == 1 or sentence.upper == 0):
            worlds = worlds & (event(network, sentence.claim) == (sentence.lower == 1))
    return worlds


def least_price(network: Network, prices: Sequence[float], seconds: float = 20.0) -> LeastPrice:
    """Minimize the price of all widenings over all distributions with the network's independences.

    A condition that holds in some world which no fact excludes keeps a probability of a hundredth.
    """
    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/time", seconds)
    model.setParam("numerics/feastol", 1e-8)
    chance = [model.addVar(lb=0.0, ub=1.0) for _ in product(*(v.values for v in network.variables))]
    model.addCons(pyscipopt.quicksum(chance) == 1.0)

    def mass(chosen: np.ndarray) -> Any:
        return pyscipopt.quicksum(p for p, is_in in zip(chance, chosen, strict=True) if is_in)

    total = pyscipopt.Expr()
    for sentence, price in zip(network.sentences, prices, strict=True):
        below, above = model.addVar(lb=0.0, ub=1.0), model.addVar(lb=0.0, ub=1.0)
        given = event(network, sentence.given)
        both = given & event(network, sentence.claim)
        model.addCons(mass(both) >= (float(sentence.lower) - below) * mass(given))
        model.addCons(mass(both) <= (float(sentence.upper) + above) * mass(given))
        total += price * below + price * above
        if sentence.given != TRUE and (given & _allowed(network)).any():
            model.addCons(mass(given) >= 0.01)
    for left, right, given_block in independences(network):
        for z, x in product(assignments(network, given_block), assignments(network, left)[1:]):
            ratio = model.addVar(lb=0.0, ub=1.0)
            for s in assignments(network, right):
                model.addCons(mass(x & s & z) == ratio * mass(s & z))
    model.setObjective(total, "minimize")
    model.optimize()
    return LeastPrice(float(model.getDualbound()), float(model.getPrimalbound()))
