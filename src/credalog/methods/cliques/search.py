"""Branch and bound: the least or greatest value of a query, proved from both sides.

Enters: an encoding and an objective. Leaves: `Finding`: a bound that our own checker proved on every leaf
of the search tree, and the best witness met. A leaf is a box of ratios; its linear relaxation gets exact
as the box shrinks, so the tree closes every gap given time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count
from math import inf
from time import monotonic
from typing import TypeAlias

import numpy as np

from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.rational import exact_bound
from credalog.methods.cliques.witness import STEPS, Candidate, WitnessSearch, ratio_values
from credalog.numbers.interval import End, Endpoint, Warrant
from credalog.program.program import Box, Claim, Floats, Objective, Outcome
from credalog.program.solvers.highs import Basis, Relaxation
from credalog.tables.distribution import Distribution
from credalog.trusted.certify import Checker
from credalog.trusted.rounding import round_down, round_up

__all__ = ["Accepts", "Ending", "Finding", "Limits", "Search", "Witness", "search"]

NARROW = 1e-10
"""A ratio's range below this width is not cut further."""

AGREED = 1e-12
"""Contexts whose masses deviate less than this from a common ratio are taken to agree."""

CANDIDATES = 16
"""How many ratios are tried at most before one is cut."""

PATIENCE = 4
"""How many tries without a better cut end the trying."""

TIGHTENING_SHARE = 0.2
"""The share of the time that may go into narrowing ratios before the first cut."""

LOOKING_SECONDS, LOOKING_SHARE = 1.0, 0.5
"""How long, and which share of the time, the search may look for a better witness than it has."""

EXACT_SECONDS, EXACT_SHARE = 0.5, 0.25
"""How long, and which share of the time, may go into proofs in rational arithmetic."""

SMALLEST_MASS = 1e-6
"""A ratio whose denominator may be smaller than this is not narrowed."""

LARGEST_MASS = 1e4
"""Where the evidence is less probable than one over this, a solver's bare word is not taken."""

CLAIM_MARGIN = 1e-8
"""How far a bound that only the solver claims is moved outwards."""


Accepts: TypeAlias = Callable[[Distribution], bool]
"""Whoever decides whether a distribution is a model."""


class Ending(Enum):
    """Say why a search ended."""

    CLOSED = "bound and witness meet within the tolerance"
    EMPTY = "it is proved that no point exists"
    STOPPED = "the time ran out, or no leaf could be cut further"
    INTERRUPTED = "the user stopped it"


@dataclass(frozen=True, slots=True)
class Witness:
    """A distribution of the factorization and the value it gives the query."""

    distribution: Distribution
    value: float


@dataclass(frozen=True, slots=True)
class Finding:
    """What a search found: the proved bound, the best witness, how it ended and its first relaxation."""

    bound: float
    witness: Witness | None
    ending: Ending
    warrant: Warrant
    nodes: int
    root: Claim | None

    @property
    def endpoint(self) -> Endpoint:
        """Return what was found as one end of an interval."""
        bound = min(max(self.bound, 0.0), 1.0)
        if self.witness is None:
            return Endpoint(bound, None, self.warrant)
        value = min(max(self.witness.value, 0.0), 1.0)
        return Endpoint(bound, value, self.warrant, self.witness.distribution)

    def joined(self, earlier: Finding, end: End) -> Finding:
        """Return this finding with what an earlier one of the same end proved or attained better."""
        bounding = earlier if end.is_tighter(earlier.bound, self.bound) else self
        witness = end_witness(self.witness, earlier.witness, end)
        nodes = self.nodes + earlier.nodes
        return replace(self, bound=bounding.bound, warrant=bounding.warrant, witness=witness, nodes=nodes)

    def without_bound(self, end: End) -> Finding:
        """Return the finding with nothing proved: its program does not hold every model."""
        return replace(self, bound=end.trivial, warrant=Warrant.CHECKED)


def end_witness(first: Witness | None, second: Witness | None, end: End) -> Witness | None:
    """Return the witness that lies farther out at an end."""
    if first is None or second is None:
        return first or second
    return second if end.is_farther(second.value, first.value) else first


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: the gap that is good enough, the clock, the first leaf; and who is told on the way.

    `decided` ends a search as soon as the bound and the witnessed value settle what they are needed for.
    """

    tolerance: float
    deadline: float
    root_only: bool = False
    report: Callable[[float, float | None], None] | None = None
    decided: Callable[[float, float | None], bool] | None = None


@dataclass(order=True, slots=True)
class _Node:
    bound: float
    number: int
    box: Box = field(compare=False)
    basis: Basis = field(compare=False)


def search(
    encoding: Encoding,
    objective: Objective,
    limits: Limits,
    *,
    end: End,
    known: Witness | None = None,
    accepts: Accepts | None = None,
) -> Finding:
    """Find the least (or greatest) value of the objective's ratio, given a witness known already.

    `accepts` is the last word on a witness; without it those that satisfy the program count.
    """
    return Search(encoding, objective, limits, end, known, accepts).run()


class Search:
    """One search, which can be taken up again where it stopped.

    Inside it every value is multiplied by `sign`, so that less is better.
    """

    def __init__(
        self,
        encoding: Encoding,
        objective: Objective,
        limits: Limits,
        end: End,
        known: Witness | None,
        accepts: Accepts | None,
    ) -> None:
        self.encoding = encoding
        self.program = encoding.program
        self.objective = objective
        self.limits = limits
        self.end = end
        self.sign = end.sign
        self.relaxation = Relaxation(encoding.program)
        self.checker = Checker(encoding.program)
        self.witnesses = WitnessSearch(encoding, objective, limits.deadline)
        self.best = self.known = known
        self.accepts = accepts
        self.start, self.seconds_looking, self.seconds_exact = monotonic(), 0.0, 0.0
        self.closed = inf
        self.warrant = Warrant.CHECKED
        self.root: Claim | None = None
        self.gains = np.full(len(encoding.program.ratios.lower), 1.0)
        self.numbers = count()
        floor = -1.0 if end is End.UPPER else 0.0
        self.open = [_Node(floor, next(self.numbers), self.program.ratios.box, None)]

    def go_on(self, deadline: float) -> Finding:
        """Take up a search that stopped, until another deadline."""
        self.limits = replace(self.limits, deadline=deadline)
        self.witnesses.deadline = deadline
        return self.run()

    def run(self) -> Finding:
        """Take the leaf with the weakest bound until the gap is closed or the time is up."""
        try:
            if self.root is None:
                self._explore(self.open[0])
            while self.open and not self._is_closed() and not self._is_over():
                self._explore(self.open[0])
                self._tell()
        except KeyboardInterrupt:
            return self._finding(Ending.INTERRUPTED)
        return self._finding(Ending.STOPPED)

    def _is_over(self) -> bool:
        return self.limits.root_only or monotonic() >= self.limits.deadline or self._is_decided()

    def _is_decided(self) -> bool:
        """Tell whether whoever asks has heard enough of the bound proved and the value attained."""
        decided, witnessed = self.limits.decided, None if self.best is None else self.best.value
        return decided is not None and decided(self.sign * self._bound(), witnessed)

    def _tell(self) -> None:
        if self.limits.report is not None:
            self.limits.report(self.sign * self._bound(), None if self.best is None else self.best.value)

    def _bound(self) -> float:
        """Return the weakest bound of any leaf, closed or open."""
        return min(self.closed, self.open[0].bound if self.open else inf)

    def _incumbent(self) -> float:
        return inf if self.best is None else self.sign * self.best.value

    def _is_closed(self) -> bool:
        return self._incumbent() - self._bound() <= self.limits.tolerance

    def _finding(self, otherwise: Ending) -> Finding:
        bound = self._bound()
        nodes = next(self.numbers)
        if bound == inf:
            return Finding(self.sign * inf, None, Ending.EMPTY, self.warrant, nodes, self.root)
        ending = Ending.CLOSED if self._is_closed() else otherwise
        return Finding(self.sign * bound, self.best, ending, self.warrant, nodes, self.root)

    def _tighten(self, box: Box) -> Box:
        """Narrow the ratios that nothing bounds yet, each by the relaxation itself.

        What is proved of a ratio holds in every model, so it may be used for the next one.
        """
        deadline = monotonic() + TIGHTENING_SHARE * (self.limits.deadline - monotonic())
        for ratio in np.flatnonzero((box.lower <= 0.0) & (box.upper >= 1.0)):
            if monotonic() > deadline:
                break
            objective = self._ratio_objective(int(ratio), box)
            if objective is not None:
                low, high = self._range(objective, box)
                box = box.restrict(int(ratio), low, max(low, high))
        return box

    def _ratio_objective(self, ratio: int, box: Box) -> Objective | None:
        """Return a ratio as an objective, if its denominator is provably not too small."""
        ratios = self.program.ratios
        chosen = (ratios.of == ratio).astype(float)
        part, whole = ratios.numerator.T @ chosen, ratios.denominator.T @ chosen
        tables = np.ones(len(self.program.tables))
        mass = Objective(whole, self.program.mass, tables)
        claim, _ = self.relaxation.minimize(mass, box)
        least = self.checker.lower_bound(mass, box, claim.multipliers)
        if claim.outcome is not Outcome.OPTIMAL or least < SMALLEST_MASS:
            return None
        return Objective(part, whole, tables * round_up(1.0 / least))

    def _range(self, objective: Objective, box: Box) -> tuple[float, float]:
        low, high = 0.0, 1.0
        claim, _ = self.relaxation.minimize(objective, box)
        if claim.outcome is Outcome.OPTIMAL:
            low = max(low, self.checker.lower_bound(objective, box, claim.multipliers))
        claim, _ = self.relaxation.maximize(objective, box)
        if claim.outcome is Outcome.OPTIMAL:
            high = min(high, self.checker.upper_bound(objective, box, claim.multipliers))
        return low, high

    def _explore(self, node: _Node) -> None:
        """Bound the weakest leaf, look for a witness in it, and cut it; it stays open until that is done."""
        claim, basis = self._relax(node.box, node.basis)
        if self.root is None:
            self.root = claim
        bound = self._proved(claim, node.box, node.bound)
        if claim.outcome is Outcome.STOPPED:
            self._bisect(node)
            return
        if claim.outcome is Outcome.OPTIMAL and not self._suffices(bound):
            self._look(node, claim.point, bound)
        if claim.outcome is Outcome.INFEASIBLE or self._suffices(bound):
            self._replace(node, bound)
            return
        if node.number == 0:
            self._prepare(_Node(bound, 0, node.box, basis))
        else:
            self._branch(_Node(bound, node.number, node.box, basis), claim.point)

    def _suffices(self, bound: float) -> bool:
        """Tell whether a leaf with this bound is within the tolerance of what is attained."""
        return bound >= self._incumbent() - self.limits.tolerance

    def _look(self, node: _Node, point: Floats, bound: float) -> None:
        """Take a point as a witness itself; search from it only where that is not enough, and seldom."""
        if self._may_look():
            self._walk(point, steps=1)
        is_time = (node.number & (node.number - 1)) == 0
        if is_time and not self._suffices(bound) and self._may_look():
            self._walk(point, steps=STEPS)
        if is_time and node.number > 0 and not self._suffices(bound) and self._may_look():
            self._spend(lambda: self.witnesses.from_afar(point, end=self.end))

    def _may_look(self) -> bool:
        """Tell whether to look for a better witness: where one is known, most of the time is for bounding."""
        return self.best is None or self.seconds_looking <= self._allowance()

    def _allowance(self) -> float:
        return max(LOOKING_SECONDS, LOOKING_SHARE * (monotonic() - self.start))

    def _walk(self, point: Floats, *, steps: int) -> None:
        self._spend(lambda: self.witnesses.from_point(point, end=self.end, steps=steps))

    def _spend(self, walk: Callable[[], Candidate | None]) -> None:
        """Walk to a witness, within the allowance where one is known."""
        start = monotonic()
        allowed = inf if self.best is None else self._allowance()
        self.witnesses.deadline = min(self.limits.deadline, start + allowed)
        self._offer(walk())
        self.witnesses.deadline = self.limits.deadline
        self.seconds_looking += monotonic() - start

    def _prepare(self, root: _Node) -> None:
        """Before the first cut look for a witness from elsewhere, and narrow the ratios.

        From a model that was known before, if it is still the best; from the middle, if there is none.
        """
        if self.known is not None and self.best is self.known and self._may_look():
            model = self.known.distribution
            self._spend(lambda: self.witnesses.from_model(model, end=self.end))
        elif self.best is None:
            remaining = max(self.limits.deadline - monotonic(), 0.1)
            center = self.relaxation.center(self.objective, root.box, remaining)
            if center is not None:
                self._offer(self.witnesses.from_afar(center, end=self.end))
        done = self.limits.root_only or self._suffices(root.bound)
        box = root.box if done else self._tighten(root.box)
        self._replace(root, inf, _Node(root.bound, next(self.numbers), box, root.basis))

    def _relax(self, box: Box, basis: Basis) -> tuple[Claim, Basis]:
        solve = self.relaxation.maximize if self.end is End.UPPER else self.relaxation.minimize
        remaining = max(self.limits.deadline - monotonic(), 0.1)
        return solve(self.objective, box, basis=basis, timeout=remaining)

    def _proved(self, claim: Claim, box: Box, known: float) -> float:
        """Return what is proved of a box: infinity if it is empty, never less than was known before."""
        if claim.outcome is Outcome.INFEASIBLE:
            if self.checker.proves_empty(self.objective, box, claim.multipliers):
                return inf
            if np.isfinite(self.objective.mass_bounds[0]):
                return known
            if not self._is_exactly_empty(claim, box):
                self.warrant = Warrant.CLAIMED
            return inf
        if claim.outcome is Outcome.STOPPED:
            return known
        return max(known, self._checked(claim, box))

    def _checked(self, claim: Claim, box: Box) -> float:
        """Return the bound our checker proves; the solver's own, with a margin, where it proves nothing."""
        prove = self.checker.upper_bound if self.end is End.UPPER else self.checker.lower_bound
        proved = self.sign * prove(self.objective, box, claim.multipliers)
        claimed = self.sign * claim.value - CLAIM_MARGIN
        if proved >= claimed or np.isfinite(self.objective.mass_bounds[0]):
            return proved
        exact = self._exactly(self.sign * self.objective.numerator, box, claim.multipliers)
        if exact is not None and exact >= claimed:
            return round_down(float(exact))
        if self._is_ill_scaled(claim):
            return proved
        self.warrant = Warrant.CLAIMED
        return claimed

    def _is_exactly_empty(self, claim: Claim, box: Box) -> bool:
        """Tell whether rational multipliers prove that a box has no point."""
        ray = claim.multipliers
        if not ray[-1] > 0.0:
            return False
        nothing = np.zeros(self.program.columns)
        exact = self._exactly(nothing, box, ray / ray[-1], shift=Fraction(1))
        return exact is not None and exact > 0

    def _exactly(
        self, cost: Floats, box: Box, multipliers: Floats, shift: Fraction | None = None
    ) -> Fraction | None:
        """Prove a bound in rational arithmetic; after one failure all is a claim anyway."""
        start = monotonic()
        if self.program.ratios.exact is None or self.warrant is Warrant.CLAIMED:
            return None
        until = start + EXACT_SECONDS + EXACT_SHARE * (start - self.start) - self.seconds_exact
        found = exact_bound(self.program, self.objective, box, cost, multipliers, deadline=until, shift=shift)
        self.seconds_exact += monotonic() - start
        return found

    def _is_ill_scaled(self, claim: Claim) -> bool:
        """Tell whether the evidence is so improbable at a point that the solver's tolerances drown it."""
        return bool(claim.point[0] > LARGEST_MASS)

    def _offer(self, found: Candidate | None) -> None:
        if found is None or not self._is_better(found):
            return
        if self.accepts is not None and not self.accepts(found.distribution):
            found = self.witnesses.without_traces(found, end=self.end)
            if found is None or not self._is_better(found) or not self.accepts(found.distribution):
                return
        self.best = Witness(found.distribution, found.value)

    def _is_better(self, found: Candidate) -> bool:
        return found.is_feasible and self.sign * found.value < self._incumbent()

    def _branch(self, node: _Node, point: Floats) -> None:
        """Cut the ratio whose two halves promise the better bounds, judged by solving or by experience."""
        best: tuple[_Node, ...] = ()
        best_score, patience = -inf, PATIENCE
        for ratio, value in self._candidates(node.box, point):
            children = self._children(node, ratio, value)
            score = self._score(children, node.bound)
            if score > best_score:
                best, best_score, patience = children, score, PATIENCE
            patience -= 1
            if patience == 0 or monotonic() > self.limits.deadline:
                break
        if not best:
            self._offer(self.witnesses.from_point(point, end=self.end, steps=STEPS))
        self._replace(node, inf if best else node.bound, *best)

    def _bisect(self, node: _Node) -> None:
        """Halve the widest ratio of a leaf about which the solver says nothing."""
        widths = node.box.upper - node.box.lower
        ratio = int(np.argmax(widths)) if len(widths) else 0
        if not len(widths) or widths[ratio] <= NARROW:
            self._replace(node, node.bound)
            return
        boxes = self._cut(node.box, ratio, float(node.box.lower[ratio] + widths[ratio] / 2.0))
        halves = (_Node(node.bound, next(self.numbers), box, None) for box in boxes)
        self._replace(node, inf, *halves)

    def _replace(self, node: _Node, closed: float, *children: _Node) -> None:
        """Take a leaf off the open ones: it is closed with a bound, or its children take its place."""
        popped = heappop(self.open)
        assert popped.number == node.number
        self.closed = min(self.closed, closed)
        for child in children:
            if self._suffices(child.bound):
                self.closed = min(self.closed, child.bound)
            else:
                heappush(self.open, child)

    def _candidates(self, box: Box, point: Floats) -> list[tuple[int, float]]:
        """Return the ratios on which contexts disagree, with the value to cut at, most promising first."""
        ratios = self.program.ratios
        values = ratio_values(self.encoding, point)
        apart = np.abs(ratios.numerator @ point - values[ratios.of] * (ratios.denominator @ point))
        disagreement = np.bincount(ratios.of, apart, len(values))
        disagreement[box.upper - box.lower <= NARROW] = 0.0
        promise = disagreement * (self.gains + 1e-3)
        order = np.argsort(-promise, kind="stable")[:CANDIDATES]
        return [(int(r), float(values[r])) for r in order if disagreement[r] > AGREED]

    def _children(self, node: _Node, ratio: int, value: float) -> tuple[_Node, ...]:
        children = []
        for box in self._cut(node.box, ratio, value):
            claim, basis = self._relax(box, node.basis)
            bound = self._proved(claim, box, node.bound)
            children.append(_Node(bound, next(self.numbers), box, basis or node.basis))
        gain = min(child.bound for child in children) - node.bound
        self.gains[ratio] = 0.5 * self.gains[ratio] + 0.5 * min(gain, 1.0)
        return tuple(children)

    def _score(self, children: tuple[_Node, ...], bound: float) -> float:
        """Weigh the worse half most: it decides the bound."""
        ceiling = self._incumbent() if self.best is not None else bound + 1.0
        gains = sorted(min(child.bound, ceiling) - bound for child in children)
        return 0.8 * gains[0] + 0.2 * gains[1]

    def _cut(self, box: Box, ratio: int, value: float) -> tuple[Box, Box]:
        low, high = float(box.lower[ratio]), float(box.upper[ratio])
        if self.program.ratios.at_vertex[ratio]:
            return box.restrict(ratio, low, low), box.restrict(ratio, high, high)
        margin = 0.15 * (high - low)
        return box.split(ratio, min(max(value, low + margin), high - margin))
