"""Branch and bound: the least or greatest value of a query, proved from both sides.

Enters: an encoding and an objective. Leaves: `Finding`: a bound that our own checker proved on every leaf
of the search tree, and the best witness met. A leaf is a box of ratios; its linear relaxation gets exact
as the box shrinks, so the tree closes every gap given time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from heapq import heappop, heappush
from itertools import count
from math import inf
from time import monotonic

import numpy as np

from credalog import certify
from credalog.encoding import Encoding
from credalog.inference.witness import Candidate, WitnessSearch, ratio_values
from credalog.numerics import Warrant
from credalog.program import Box, Claim, Floats, Objective, Outcome
from credalog.solvers.highs import Basis, Relaxation

__all__ = ["Ending", "Finding", "Limits", "search"]

NARROW = 1e-10
"""A ratio's range below this width is not cut further."""

AGREED = 1e-12
"""Contexts whose masses deviate less than this from a common ratio are taken to agree."""

CLAIM_MARGIN = 1e-8
"""How far a bound that only the solver claims is moved outwards."""


class Ending(Enum):
    """Say why a search ended."""

    CLOSED = "bound and witness meet within the tolerance"
    EMPTY = "it is proved that no point exists"
    STOPPED = "the time ran out, or no leaf could be cut further"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a search found: the proved bound, the best witness, how it ended and its first relaxation."""

    bound: float
    witness: Candidate | None
    ending: Ending
    warrant: Warrant
    nodes: int
    root: Claim | None


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: the gap that is good enough, the clock, and who is told on the way."""

    tolerance: float
    deadline: float
    report: Callable[[float, float | None], None] | None = None


@dataclass(order=True, slots=True)
class _Node:
    bound: float
    number: int
    box: Box = field(compare=False)
    basis: Basis = field(compare=False)


def search(encoding: Encoding, objective: Objective, limits: Limits, *, maximize: bool) -> Finding:
    """Find the least (or greatest) value of the objective's ratio."""
    return _Search(encoding, objective, limits, maximize).run()


class _Search:
    """One search; inside it every value is multiplied by `sign`, so that less is better."""

    def __init__(self, encoding: Encoding, objective: Objective, limits: Limits, maximize: bool) -> None:
        self.encoding = encoding
        self.program = encoding.program
        self.objective = objective
        self.limits = limits
        self.maximize = maximize
        self.sign = -1.0 if maximize else 1.0
        self.relaxation = Relaxation(encoding.program)
        self.witnesses = WitnessSearch(encoding, objective)
        self.best: Candidate | None = None
        self.closed = inf
        self.warrant = Warrant.CHECKED
        self.root: Claim | None = None
        self.numbers = count()
        self.open: list[_Node] = []

    def run(self) -> Finding:
        """Take the leaf with the weakest bound until the gap is closed or the time is up."""
        floor = -1.0 if self.maximize else 0.0
        heappush(self.open, _Node(floor, next(self.numbers), self.program.ratios.box, None))
        while self.open and not self._is_closed() and monotonic() < self.limits.deadline:
            self._explore(heappop(self.open))
            if self.limits.report is not None:
                found = None if self.best is None else self.best.value
                self.limits.report(self.sign * self._bound(), found)
        return self._finding()

    def _bound(self) -> float:
        """Return the weakest bound of any leaf, closed or open."""
        return min(self.closed, self.open[0].bound if self.open else inf)

    def _incumbent(self) -> float:
        return inf if self.best is None else self.sign * self.best.value

    def _is_closed(self) -> bool:
        return self._incumbent() - self._bound() <= self.limits.tolerance

    def _finding(self) -> Finding:
        bound = self._bound()
        nodes = next(self.numbers)
        if bound == inf:
            return Finding(self.sign * inf, None, Ending.EMPTY, self.warrant, nodes, self.root)
        ending = Ending.CLOSED if self._is_closed() else Ending.STOPPED
        return Finding(self.sign * bound, self.best, ending, self.warrant, nodes, self.root)

    def _explore(self, node: _Node) -> None:
        solve = self.relaxation.maximize if self.maximize else self.relaxation.minimize
        remaining = self.limits.deadline - monotonic()
        claim, basis = solve(self.objective, node.box, basis=node.basis, timeout=remaining)
        if self.root is None:
            self.root = claim
        if claim.outcome is Outcome.INFEASIBLE:
            if not certify.proves_empty(self.program, self.objective, node.box, claim.multipliers):
                self.closed = min(self.closed, node.bound)
            return
        if claim.outcome is Outcome.STOPPED:
            self.closed = min(self.closed, node.bound)
            return
        bound = max(node.bound, self._checked(claim, node.box))
        if node.number == 0 or (node.number & (node.number - 1)) == 0 or self.best is None:
            self._look_for_witness(claim.point)
        if bound >= self._incumbent() - self.limits.tolerance:
            self.closed = min(self.closed, bound)
            return
        self._branch(_Node(bound, node.number, node.box, basis), claim.point)

    def _checked(self, claim: Claim, box: Box) -> float:
        """Return the bound our checker proves; the solver's own, with a margin, where it proves nothing."""
        prove = certify.upper_bound if self.maximize else certify.lower_bound
        proved = self.sign * prove(self.program, self.objective, box, claim.multipliers)
        claimed = self.sign * claim.value - CLAIM_MARGIN
        if proved >= claimed or np.isfinite(self.objective.mass_bounds[0]):
            return proved
        self.warrant = Warrant.CLAIMED
        return claimed

    def _look_for_witness(self, point: Floats) -> None:
        found = self.witnesses.from_point(point, maximize=self.maximize)
        if found is not None and self.sign * found.value < self._incumbent():
            self.best = found

    def _branch(self, node: _Node, point: Floats) -> None:
        """Cut the range of the ratio on which the contexts disagree most."""
        ratios = self.program.ratios
        values = ratio_values(self.encoding, point)
        apart = np.abs(ratios.numerator @ point - values[ratios.of] * (ratios.denominator @ point))
        disagreement = np.bincount(ratios.of, apart, len(values))
        disagreement[node.box.upper - node.box.lower <= NARROW] = 0.0
        ratio = int(disagreement.argmax()) if len(values) else 0
        if not len(values) or disagreement[ratio] <= AGREED:
            self.closed = min(self.closed, node.bound)
            return
        for box in self._cut(node.box, ratio, float(values[ratio])):
            heappush(self.open, _Node(node.bound, next(self.numbers), box, node.basis))

    def _cut(self, box: Box, ratio: int, value: float) -> tuple[Box, Box]:
        low, high = float(box.lower[ratio]), float(box.upper[ratio])
        if self.program.ratios.at_vertex[ratio]:
            return box.restrict(ratio, low, low), box.restrict(ratio, high, high)
        margin = 0.15 * (high - low)
        return box.split(ratio, min(max(value, low + margin), high - margin))
