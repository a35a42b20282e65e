"""Brute force for sums and quotients of probabilities: all worlds, and SCIP for the conditionals.

Input: a small ground network and a question across conditions. Output: the least and the greatest value that
SCIP claims, and those it attains, over the models that give every condition at least `FLOOR`. Each
conditional probability is a variable r of its own with r * P(condition) = P(claim and condition), each
independence a product of masses: nothing of the engine's reduction is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pyscipopt

from credalog.network.expressions import Combined, Linear, Quotient
from credalog.network.formulas import Formula
from credalog.network.sentences import Contrast, Network
from oracle import Events, Floats, Sense, assignments, event, independences, rows_of

FLOOR = 1e-2
"""The least probability of a condition, and the least divisor: SCIP cannot divide by much less."""

MOST = 1e3
"""The largest quotient looked for."""


@dataclass(frozen=True, slots=True)
class Found:
    """What SCIP says of one end: the bound that it claims, and the value that it attains."""

    proved: float
    attained: float | None


def extremes(
    network: Network, asked: Combined, contrasts: tuple[Contrast, ...] = (), *, seconds: float = 10.0
) -> tuple[Found, Found]:
    """Find the least and the greatest value of a question."""
    senses: tuple[Sense, Sense] = ("minimize", "maximize")
    lower, upper = (_extreme(network, asked, contrasts, sense, seconds) for sense in senses)
    return lower, upper


def _extreme(
    network: Network, asked: Combined, contrasts: tuple[Contrast, ...], sense: Sense, seconds: float
) -> Found:
    program = _Program(network, seconds)
    for contrast in contrasts:
        total = sum(float(t.weight) * program.conditional(t.claim, t.given) for t in contrast.terms)
        program.model.addCons(total >= float(contrast.lower))
        program.model.addCons(total <= float(contrast.upper))
    model = program.model
    value = model.addVar(lb=-MOST, ub=MOST)
    if isinstance(asked, Linear):
        model.addCons(value == program.total(asked))
    else:
        assert isinstance(asked, Quotient)
        model.addCons(program.total(asked.under) >= FLOOR)
        model.addCons(value * program.total(asked.under) == program.total(asked.over))
    model.setObjective(value, sense)
    nothing = Found(-inf if sense == "minimize" else inf, None)
    try:
        model.optimize()
    except Exception as error:
        # SCIP raises nothing more special.
        if "error in LP solver" not in str(error):
            raise
        return nothing
    bound = float(model.getDualbound())
    proved = nothing.proved if model.isInfinity(abs(bound)) else bound
    return Found(proved, program.value(asked) if model.getNSols() else None)


class _Program:
    """The masses of all worlds, which satisfy the network, and conditionals as variables."""

    def __init__(self, network: Network, seconds: float) -> None:
        self.network = network
        self.model = pyscipopt.Model()
        self.model.hideOutput()
        self.model.setParam("limits/time", seconds)
        self.model.setParam("limits/absgap", 1e-6)
        self.model.setParam("numerics/feastol", 1e-8)
        count = len(event(network, network.sentences[0].given))
        self.masses = [self.model.addVar(lb=0.0, ub=1.0) for _ in range(count)]
        self.model.addCons(sum(self.masses) == 1.0)
        for row in rows_of(network):
            if row.any():
                terms = (float(x) * p for x, p in zip(row, self.masses, strict=True) if x)
                self.model.addCons(sum(terms) >= 0.0)
        self._impose_independences()

    def _impose_independences(self) -> None:
        for left, right, given in independences(self.network):
            for z in assignments(self.network, given):
                for x in assignments(self.network, left)[1:]:
                    chance = self.model.addVar(lb=0.0, ub=1.0)
                    for s in assignments(self.network, right):
                        self.model.addCons(self._mass(x & s & z) == chance * self._mass(s & z))

    def _mass(self, where: Events) -> Any:
        return pyscipopt.quicksum(p for p, inside in zip(self.masses, where, strict=True) if inside)

    def conditional(self, claim: Formula, given: Formula) -> Any:
        """Return P(claim | given) as a variable."""
        where = event(self.network, given)
        chance = self.model.addVar(lb=0.0, ub=1.0)
        self.model.addCons(self._mass(where) >= FLOOR)
        self.model.addCons(chance * self._mass(where) == self._mass(where & event(self.network, claim)))
        return chance

    def value(self, asked: Combined) -> float:
        """Return what the masses found say of the question, conditionals computed from them."""
        found = np.array([self.model.getVal(p) for p in self.masses])
        sums = (asked,) if isinstance(asked, Linear) else (asked.over, asked.under)
        totals = [self._sum_in(found, one) for one in sums]
        return totals[0] if len(totals) == 1 else totals[0] / totals[1]

    def _sum_in(self, found: Floats, asked: Linear) -> float:
        total = float(asked.constant)
        for term in asked.terms:
            where = event(self.network, term.given)
            for weight, claim in term.claims:
                both = where & event(self.network, claim)
                total += float(weight) * float(found[both].sum() / found[where].sum())
        return total

    def total(self, asked: Linear) -> Any:
        """Return a sum of conditionals."""
        terms = [
            float(weight) * self.conditional(claim, term.given)
            for term in asked.terms
            for weight, claim in term.claims
        ]
        return sum(terms, float(asked.constant))
