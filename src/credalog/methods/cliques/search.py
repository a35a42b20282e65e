"""The least or greatest value of a query on one encoding, proved and attained, by branch and bound.

Input: an encoding and an objective. Output: `Finding`: a bound that our own checker proved on every leaf of
the search tree, and the best witness met. A leaf is a box of ratios; its linear relaxation gets exact as the
box shrinks, so the tree closes every gap given time (docs/proofs.md, proof 6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import inf, nextafter
from typing import NamedTuple

import numpy as np

from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.products import LeafRows, Sharpening, products_of
from credalog.methods.cliques.proofs import Prover
from credalog.methods.cliques.reports import (
    Accepts,
    Ending,
    Finding,
    Glance,
    Limits,
    Witness,
    farther_witness,
)
from credalog.methods.cliques.witness import STEPS, Candidate, WitnessSearch
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Warrant
from credalog.program.branch import BranchAndBound, Explored
from credalog.program.program import (
    Box,
    Claim,
    Floats,
    Objective,
    Outcome,
    Program,
    Surroundings,
    without_sums,
)
from credalog.program.solvers.highs import Basis, PackedBasis
from credalog.program.workers import Workers
from credalog.trusted.certify import Checker

__all__ = [
    "Accepts",
    "Ending",
    "Finding",
    "Glance",
    "Hint",
    "Leaf",
    "Limits",
    "Search",
    "Witness",
    "farther_witness",
    "halves",
    "search",
]

NARROW = 1e-10
"""A ratio's range below this width is not cut further."""

AGREED = 1e-12
"""Contexts whose masses deviate less than this from a common ratio are taken to agree."""

MARGIN = 0.15
"""The least share of a range that either half of a cut gets."""

CANDIDATES = 16
"""How many ratios are tried at most before one is cut."""

PATIENCE = 4
"""How many tries without a better cut end the trying."""

STALLED, LITTLE = 50, 0.01
"""Where so many leaves more closed a smaller share of the gap than a larger one, the widest range is cut."""

RELIABLE = 6
"""After so many trials experience decides whether a ratio is tried once more."""

NARROWING_SHARE = 0.2
"""The share of the time that may go into narrowing ratios before the first cut."""

PRODUCTS_SHARE, PRODUCT_ROUNDS, PRODUCT_ROWS = 0.3, 6, 300
"""The share of the time for products of bounds, in so many rounds at most, of so many rows at most."""

PRODUCT_GAIN = 0.05
"""Rounds that close a smaller share of the gap to what is attained are the last."""

LEAF_ROWS = 100
"""So many products of its own bounds are added to a leaf at most, before it is cut."""

CLOSE = 0.1
"""How much of the gap that may be left a part of the program may cost."""

WHOLE_EVERY = 8
"""Where a part of the program is searched, one in so many leaves is looked at in the whole."""

FIRST_ALONE = 0.5
"""So many seconds a search works alone before others help: what is done by then needs no help."""

WITNESS_SECONDS, WITNESS_SHARE = 1.0, 0.5
"""How long, and which share of the time, the search may look for a better witness than it has."""

WALK_SHARE = 0.15
"""Which share of the time one walk may take: of that left for a first witness, else of that gone by."""


class Leaf(NamedTuple):
    """A box, and which ratios lie strictly inside their ranges in it.

    `open` are the ratios on which contexts disagree, each with its mean; None while that is not known.
    Where leaves have rows of their own, `rows` are those that the basis is of, and `point` what they led to.
    `hint` is what another process found out about the box: whoever explores it may begin there.
    """

    box: Box
    basis: Basis
    inside: frozenset[int] = frozenset()
    open: tuple[tuple[int, float], ...] | None = None
    rows: LeafRows | None = None
    point: Floats | None = None
    hint: Hint | None = None


class Hint(NamedTuple):
    """Where the relaxation of a box came to rest: its basis, the ratios left open, and the point.

    Nothing is proved by it; it only saves the work of solving the box once more.
    """

    basis: PackedBasis
    open: tuple[tuple[int, float], ...]
    point: Floats | None


class _Child(NamedTuple):
    """A part of a leaf with its bound, and a point of its relaxation if that was solved."""

    bound: float
    leaf: Leaf
    point: Floats | None


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
    """One search, which can be taken up again where it stopped; `floor` is a bound that is proved already.

    Inside it every value is multiplied by the end's sign, so that less is better.
    """

    def __init__(
        self,
        encoding: Encoding,
        objective: Objective,
        limits: Limits,
        end: End,
        known: Witness | None,
        accepts: Accepts | None,
        *,
        floor: float | None = None,
    ) -> None:
        self.encoding = encoding
        self.program = encoding.program
        self.objective = objective
        self.limits = limits
        self.end = end
        program = without_sums(encoding.program)
        self.whole = self.prover = self.here = Prover(program, objective, end, limits.budget)
        self.sharpening: Sharpening | None = None
        self.witnesses = WitnessSearch(encoding, objective, end, limits.budget)
        self.best = self.known = known
        self.accepts = accepts
        self.seconds_on_witnesses, self.began = 0.0, limits.budget.elapsed
        self.root: Claim | None = None
        self.explored = self.next_whole = 0
        self.progress = -inf, STALLED
        self.whole_basis: Basis = None
        self.gains = np.full(len(encoding.program.ratios.lower), 1.0)
        self.trials = np.zeros(len(encoding.program.ratios.lower), dtype=np.intp)
        known_bound = end.trivial if floor is None else floor
        self.tree = BranchAndBound(Leaf(self.program.ratios.box, None), end.sign * known_bound)

    def go_on(self, budget: Budget) -> Finding:
        """Take up a search that stopped, or that saw its first leaf only, with another budget."""
        self.limits = replace(self.limits, budget=budget, root_only=False)
        self.whole.budget = self.prover.budget = self.here.budget = self.witnesses.budget = budget
        return self.run()

    def run(self) -> Finding:
        """Take the leaf with the weakest bound until the gap is closed or the time is up."""
        try:
            if self.root is None:
                self.tree.step(self._explore, self._enough)
            if self.limits.workers is not None:
                self._run_shared(self.limits.workers)
            self.tree.run(self._explore, until=self._is_over, enough=self._enough)
        except KeyboardInterrupt:
            return self._finding(Ending.INTERRUPTED)
        return self._finding(Ending.STOPPED)

    def _run_shared(self, workers: Workers) -> None:
        """Let several processes explore, once a search takes long and has leaves for all of them."""
        from credalog.methods.cliques.parallel_search import run_shared

        first = self.limits.budget.at_most(FIRST_ALONE)
        if not self._is_over() and not self._suffices(self.tree.bound):
            # They take longer to start than this process works alone.
            workers.start()

        def is_ready() -> bool:
            return self._is_over() or (first.is_spent and len(self.tree) >= workers.count)

        self.tree.run(self._explore, until=is_ready, enough=self._enough)
        # Where nothing bounds the mass, a bound may be a solver's word, which is not taken from elsewhere.
        is_checked = self.prover.is_mass_bounded and self.whole.is_mass_bounded
        if is_checked and not self._is_over() and not self._suffices(self.tree.bound):
            run_shared(self, workers)

    def _is_over(self) -> bool:
        self._tell()
        return self.limits.root_only or self.limits.budget.is_spent or self._is_decided()

    def _is_decided(self) -> bool:
        """Tell whether whoever asks knows enough from the bound proved and the value attained."""
        decided = self.limits.decided
        return decided is not None and decided(self.end.sign * self.tree.bound, self._value)

    def _tell(self) -> None:
        if self.limits.report is not None:
            bound = self.end.sign * self.tree.bound
            self.limits.report(Glance(bound, self._warrant, self.best, self.explored))

    @property
    def _value(self) -> float | None:
        return None if self.best is None else self.best.value

    def _incumbent(self) -> float:
        return inf if self.best is None else self.end.sign * self.best.value

    def _enough(self) -> float:
        """Return the bound at which a leaf is within the tolerance of what is attained."""
        if self.best is None:
            return inf
        return self._incumbent() - self.limits.gap(self.limits.tolerance, self.best.value)

    def _suffices(self, bound: float) -> bool:
        return bound >= self._enough()

    def found(self, ending: Ending) -> Finding:
        """Return what was found when the work was stopped from outside."""
        return self._finding(ending)

    def _finding(self, otherwise: Ending) -> Finding:
        bound, warrant, sign = self.tree.bound, self._warrant, self.end.sign
        if bound == inf:
            return Finding(sign * inf, None, Ending.EMPTY, warrant, self.explored, self.root)
        ending = Ending.CLOSED if self._suffices(bound) else otherwise
        return Finding(sign * bound, self.best, ending, warrant, self.explored, self.root)

    @property
    def _warrant(self) -> Warrant:
        """Return on whose word the bounds of all leaves stand."""
        return self.prover.warrant if self.whole.warrant is Checker.warrant else self.whole.warrant

    def _explore(self, known: float, leaf: Leaf) -> Explored[Leaf]:
        """Cut the weakest leaf, once its relaxation is solved."""
        self.explored += 1
        return self._solved(known, leaf) if leaf.open is None else self._branched(known, leaf)

    def _solved(self, known: float, leaf: Leaf) -> Explored[Leaf]:
        """Bound a leaf and look for a witness in it."""
        is_root, prover = self.root is None, self._prover_of(leaf)
        claim, basis = prover.relax(leaf.box, leaf.basis)
        self.root = self.root or claim
        bound = self._proved(prover, claim, leaf.box, known)
        if claim.outcome is Outcome.STOPPED:
            return self._bisected(bound, leaf)
        solved = leaf._replace(basis=basis, hint=None)
        if claim.outcome is Outcome.OPTIMAL and not self._suffices(bound):
            self._look_into(_Child(bound, solved, claim.point))
        if claim.outcome is Outcome.INFEASIBLE or self._suffices(bound):
            return Explored(closed=bound)
        solved = solved._replace(open=self._candidates(leaf.box, claim.point))
        if leaf.rows is not None:
            solved = solved._replace(point=claim.point)
        return Explored((self._begun(bound, solved) if is_root else (bound, solved),))

    def _prover_of(self, leaf: Leaf) -> Prover:
        """Return who solves a leaf: one that comes from elsewhere may have rows of its own, and no basis."""
        if leaf.rows is None or self.sharpening is None:
            return self.prover
        return self.sharpening.prover_of(leaf.box, leaf.rows)

    def _proved(self, prover: Prover, claim: Claim, box: Box, known: float) -> float:
        """Return what a claim proves of a box, and no less than was known."""
        return prover.bound(claim, box, known)

    def _begun(self, bound: float, leaf: Leaf) -> tuple[float, Leaf]:
        """Prepare the root for the first cut: narrow its ratios, multiply them, leave out what is far."""
        leaf = leaf._replace(box=self._prepared(leaf.box, bound))
        if self.limits.root_only or self._suffices(bound):
            return bound, leaf
        bound, leaf = self._multiplied(bound, leaf)
        return bound, leaf if self._suffices(bound) else self._surrounded(bound, leaf)

    def _multiplied(self, bound: float, leaf: Leaf) -> tuple[float, Leaf]:
        """Add products of bounds that the relaxation violates, as long as these close enough of the gap."""
        products, budget = products_of(self.encoding), self.limits.budget.share(PRODUCTS_SHARE)
        claim, basis = self.prover.relax(leaf.box, leaf.basis)
        if products is None or claim.outcome is not Outcome.OPTIMAL:
            return bound, leaf
        self.sharpening, first, plain = Sharpening(self.prover, products), bound, leaf
        leaf = leaf._replace(basis=basis, point=claim.point, rows=self.sharpening.all_rows)
        for _ in range(PRODUCT_ROUNDS):
            before, (bound, leaf) = bound, self._sharpened(bound, leaf, PRODUCT_ROWS)
            if leaf.point is None or budget.is_spent:
                break
            self._look_for_witness(leaf.point, bound)
            if self._suffices(bound) or bound - before < PRODUCT_GAIN * self._gap_from(before):
                break
        if self._suffices(bound) or bound - first > PRODUCT_GAIN * self._gap_from(first):
            return bound, leaf
        self.sharpening, self.here = None, self.prover
        return bound, plain

    def _gap_from(self, bound: float) -> float:
        """Return how far a bound is from what would be enough; nothing where that is not known."""
        return 0.0 if self.best is None else self._enough() - bound

    def _sharpened(self, bound: float, leaf: Leaf, most: int) -> tuple[float, Leaf]:
        """Solve a leaf with products of its own bounds; what is solved in it next has the same rows."""
        assert self.sharpening is not None and leaf.rows is not None and leaf.point is not None
        needed = (ratio for ratio, _ in leaf.open or ())
        found = self.sharpening.sharpen(leaf.box, leaf.basis, leaf.point, leaf.rows, needed, most)
        self.here, claim = found.prover, found.claim
        bound = self._proved(self.here, claim, leaf.box, bound)
        leaf = leaf._replace(basis=found.basis, rows=found.rows)
        if claim.outcome is not Outcome.OPTIMAL:
            return bound, leaf._replace(point=None)
        return bound, leaf._replace(open=self._candidates(leaf.box, claim.point), point=claim.point)

    def _surrounded(self, bound: float, leaf: Leaf) -> Leaf:
        """Go on with the part of the program that bears on the query, if it is as good."""
        near = bound - CLOSE * self.limits.gap(self.limits.tolerance, self.end.sign * bound)
        for program, objective in Surroundings(self.here.program, self.objective, leaf.box).parts():
            prover = Prover(program, objective, self.end, self.limits.budget)
            claim, basis = prover.relax(leaf.box, None)
            if claim.outcome is Outcome.OPTIMAL and prover.bound(claim, leaf.box, -inf) >= near:
                self.whole = self.here
                self.prover = self.here = prover
                self.sharpening, self.whole_basis = None, leaf.basis
                is_open = self._candidates(leaf.box, claim.point)
                return leaf._replace(basis=basis, open=is_open, rows=None, point=None)
        return leaf

    def _look_for_witness(self, point: Floats, bound: float) -> None:
        """Take a point as a witness itself; search from it only where that is not enough, and seldom."""
        if self._may_look():
            self._spend(lambda: self.witnesses.from_point(point, steps=1))
        is_time = (self.explored & (self.explored - 1)) == 0
        if is_time and not self._suffices(bound) and self._may_look():
            self._spend(lambda: self.witnesses.from_point(point, steps=STEPS))
        if is_time and self.explored > 1 and not self._suffices(bound) and self._may_look():
            self._spend(lambda: self.witnesses.from_afar(point))

    def _may_look(self) -> bool:
        """Tell whether to look for a better witness: where one is known, most of the time is for bounding."""
        if not self.limits.attains:
            return False
        return self.best is None or self.seconds_on_witnesses <= self._witness_seconds()

    def _witness_seconds(self) -> float:
        return max(WITNESS_SECONDS, WITNESS_SHARE * self._elapsed)

    @property
    def _elapsed(self) -> float:
        """Return the seconds since this search began; the query's other end may have had many before."""
        return self.limits.budget.elapsed - self.began

    def _spend(self, walk: Callable[[], Candidate | None]) -> None:
        """Walk to a witness, within the time for witnesses where one is known."""
        budget = self.limits.budget
        began = budget.elapsed
        longest = WALK_SHARE * (budget.remaining if self.best is None else self._elapsed)
        self.witnesses.budget = budget.at_most(max(WITNESS_SECONDS, longest))
        self._offer(walk())
        self.witnesses.budget = budget
        self.seconds_on_witnesses += budget.elapsed - began

    def _prepared(self, box: Box, bound: float) -> Box:
        """Before the first cut look for a witness from elsewhere, and narrow the ratios.

        From a model that was known before, if it is still the best; from the middle, if there is none.
        """
        if self.known is not None and self.best is self.known and self._may_look():
            model = self.known.distribution
            self._spend(lambda: self.witnesses.from_model(model))
        elif self.best is None and self.limits.attains:
            seconds = self.limits.budget.for_solver
            center = self.prover.relaxation.center(self.objective, box, seconds)
            if center is not None:
                self._spend(lambda: self.witnesses.from_afar(center))
        if self.limits.root_only or self._suffices(bound):
            return box
        return self.prover.narrowed(box, self.limits.budget.share(NARROWING_SHARE))

    def _offer(self, found: Candidate | None) -> None:
        if found is None or not self._is_better(found):
            return
        if self.accepts is not None and not self.accepts(found.distribution):
            found = self.witnesses.without_traces(found)
            if found is None or not self._is_better(found) or not self.accepts(found.distribution):
                return
        self.best = Witness(found.distribution, found.value)

    def offer_from_elsewhere(self, found: Witness) -> None:
        """Take a witness that another process says is better: its value, too, is computed here."""
        if self.end.sign * found.value < self._incumbent():
            self._offer(self.witnesses.from_model(found.distribution, steps=1))

    def _is_better(self, found: Candidate) -> bool:
        return found.is_feasible and self.end.sign * found.value < self._incumbent()

    # ---- cutting --------------------------------------------------------------------------------------

    def _branched(self, bound: float, leaf: Leaf) -> Explored[Leaf]:
        """Cut the ratio whose parts promise the best bounds, judged by solving or by experience."""
        self.here = self.prover
        if leaf.point is not None:
            bound, leaf = self._sharpened(bound, leaf, LEAF_ROWS)
            if self._suffices(bound):
                return Explored(closed=bound)
            if not leaf.open or leaf.point is None:
                # What its own rows leave open, or cannot be solved with, is up to all of them.
                return Explored(((bound, Leaf(leaf.box, None, leaf.inside)),))
        best: tuple[_Child, ...] | None = None
        best_score, patience = -inf, PATIENCE
        for ratio, value in leaf.open or ():
            if best and self.trials[ratio] >= RELIABLE and self.gains[ratio] <= best_score:
                continue
            children = self._children(bound, leaf, ratio, value)
            score = self._score(children, bound)
            if score > best_score:
                best, best_score, patience = children, score, PATIENCE
            patience -= 1
            if patience == 0 or self.limits.budget.is_spent:
                break
        if best is None:
            return self._uncut(bound, leaf)
        if leaf.open and self._is_stalled(bound):
            best = self._children(bound, leaf, *self._widest(leaf.box, leaf.open))
        weakest = min((c for c in best if c.point is not None), key=lambda c: c.bound, default=None)
        if weakest is not None and not self._suffices(weakest.bound):
            self._look_into(weakest)
        return Explored(tuple((child.bound, self._ready(child)) for child in best))

    def _ready(self, child: _Child) -> Leaf:
        """Return a new leaf with what may be cut in it: of all parts that were tried, few come so far."""
        if child.point is None or self._suffices(child.bound):
            return child.leaf
        return child.leaf._replace(open=self._candidates(child.leaf.box, child.point))

    def _look_into(self, child: _Child) -> None:
        """Look for a witness in a new leaf; a part of the program has no point of the whole."""
        if self.prover is self.whole:
            assert child.point is not None
            self._look_for_witness(child.point, child.bound)
        elif self.explored >= self.next_whole and self._may_look():
            self.next_whole = self.explored + WHOLE_EVERY
            self._spend(lambda: self._attained_in(child.leaf.box))

    def _attained_in(self, box: Box) -> Candidate | None:
        """Solve the whole program in a leaf of a part, and take its point as a witness."""
        claim, basis = self.whole.relax(box, self.whole_basis)
        if claim.outcome is not Outcome.OPTIMAL:
            return None
        self.whole_basis = basis
        return self.witnesses.from_point(claim.point, steps=1 if self.best is not None else STEPS)

    def _uncut(self, bound: float, leaf: Leaf) -> Explored[Leaf]:
        """Close a leaf in which all contexts agree, after a last look for the witness that must be in it."""
        if self.limits.attains:
            claim, _ = self.whole.relax(leaf.box, None)
            bound = self._proved(self.whole, claim, leaf.box, bound)
            if claim.outcome is Outcome.OPTIMAL:
                self._offer(self.witnesses.from_point(claim.point, steps=STEPS))
        return Explored(closed=bound)

    def _bisected(self, bound: float, leaf: Leaf) -> Explored[Leaf]:
        """Halve the widest ratio of a leaf about which the solver says nothing."""
        box = leaf.box
        widths = box.upper - box.lower
        ratio = int(np.argmax(widths)) if len(widths) else 0
        if not len(widths) or widths[ratio] <= NARROW:
            return Explored(closed=bound)
        halves = box.split(ratio, float(box.lower[ratio] + widths[ratio] / 2.0))
        return Explored(tuple((bound, Leaf(half, None, leaf.inside)) for half in halves))

    def _candidates(self, box: Box, point: Floats) -> tuple[tuple[int, float], ...]:
        """Return the ratios on which contexts disagree, with the value to cut at, most promising first."""
        values, apart = disagreement(self.prover.program, point)
        apart[box.upper - box.lower <= NARROW] = 0.0
        order = np.argsort(-apart * (self.gains + 1e-3), kind="stable")[:CANDIDATES]
        return tuple((int(r), float(values[r])) for r in order if apart[r] > AGREED)

    def _children(self, known: float, leaf: Leaf, ratio: int, value: float) -> tuple[_Child, ...]:
        """Cut one ratio, and bound the parts that are smaller boxes."""
        boxes, inside = self.parts(leaf.box, leaf.inside, ratio, value)
        children = self._bounded(known, leaf, ratio, boxes)
        return children if inside is None else (*children, _Child(known, leaf._replace(inside=inside), None))

    def parts(
        self, box: Box, inside: frozenset[int], ratio: int, value: float
    ) -> tuple[tuple[Box, ...], frozenset[int] | None]:
        """Cut a ratio into its two ends and what is inside, where that may be, or in two halves.

        What is inside is the same box, with the ratios that lie inside their ranges; None where nothing is.
        """
        interior = self.program.ratios.interior
        if interior is None or interior.table[ratio] < 0 or ratio in inside:
            return cut_inside(box, ratio, value), None
        ends = self._ends(box, ratio)
        return ends, inside | {ratio} if interior.admits(inside, ratio) else None

    def _ends(self, box: Box, ratio: int) -> tuple[Box, ...]:
        """Return the box with a ratio at either end of its own range, if that is still in the box."""
        own = self.program.ratios
        low, high = float(own.lower[ratio]), float(own.upper[ratio])
        ends = ((low, low),) if low == high else ((low, low), (high, high))
        # Where bounds were narrowed, an end may be a rounding away from one of them.
        least, most = nextafter(float(box.lower[ratio]), -inf), nextafter(float(box.upper[ratio]), inf)
        return tuple(box.restrict(ratio, *end) for end in ends if least <= end[0] <= most)

    def _bounded(self, known: float, leaf: Leaf, ratio: int, boxes: Iterable[Box]) -> tuple[_Child, ...]:
        children = [self._child(known, leaf, box) for box in boxes]
        gain = min((child.bound for child in children), default=inf) - known
        self.gains[ratio] = 0.5 * self.gains[ratio] + 0.5 * min(gain, 1.0)
        self.trials[ratio] += 1
        return tuple(children)

    def _child(self, known: float, leaf: Leaf, box: Box) -> _Child:
        claim, basis = self.here.relax(box, leaf.basis)
        bound = self._proved(self.here, claim, box, known)
        if claim.outcome is not Outcome.OPTIMAL:
            return _Child(bound, Leaf(box, None if leaf.rows else leaf.basis, leaf.inside), None)
        point = None if leaf.rows is None else claim.point
        return _Child(bound, Leaf(box, basis, leaf.inside, (), leaf.rows, point), claim.point)

    def _is_stalled(self, bound: float) -> bool:
        """Tell whether the leaves of late closed hardly any of the gap.

        Where no cut gains, the best of them may be that of a range which is a point almost, again and again,
        while wide ranges are left, which gain only if several of them are cut.
        """
        reached, patience = self.progress
        if bound - reached > LITTLE * self._gap_from(bound):
            self.progress = bound, min(patience + 1, STALLED)
            return False
        self.progress = reached, max(patience - 1, 0)
        return patience == 0

    def _widest(self, box: Box, candidates: Iterable[tuple[int, float]]) -> tuple[int, float]:
        """Return of all ratios that may be cut the one that is left most of the range it had."""
        own = self.program.ratios
        left = (box.upper - box.lower) / np.maximum(own.upper - own.lower, NARROW)
        return max(candidates, key=lambda candidate: float(left[candidate[0]]))

    def _score(self, children: tuple[_Child, ...], bound: float) -> float:
        """Weigh the worse part most: it decides the bound. What is inside has not been bounded yet."""
        ceiling = self._incumbent() if self.best is not None else bound + 1.0
        gains = sorted(min(child.bound, ceiling) - bound for child in children if child.point is not None)
        return 0.8 * gains[0] + 0.2 * gains[-1] if gains else inf


def disagreement(program: Program, point: Floats) -> tuple[Floats, Floats]:
    """Return each ratio on average over its contexts, and how far apart these are."""
    ratios = program.ratios
    part, whole = ratios.numerator @ point, ratios.denominator @ point
    values = ratios.averages(part, whole)
    apart = np.abs(part - values[ratios.of] * whole)
    return values, np.bincount(ratios.of, apart, len(values)).astype(np.float64)


def cut_inside(box: Box, ratio: int, value: float) -> tuple[Box, Box]:
    """Cut one ratio's range at a value, but not too near an end."""
    low, high = float(box.lower[ratio]), float(box.upper[ratio])
    margin = MARGIN * (high - low)
    return box.split(ratio, min(max(value, low + margin), high - margin))


# ---- where a box is cut -----------------------------------------------------------------------------------
# Where to cut a box of ratios.
# Input: a box and a point of its relaxation. Output: the two halves into which the ratio falls on which the
# point's contexts disagree most; none where they agree, for then nothing is relaxed any more.

UNDIVIDED = 1e-9
"""A ratio's range below this width is not cut further."""


def halves(encoding: Encoding, box: Box, point: Floats) -> tuple[Box, ...]:
    """Cut the ratio on which contexts disagree most, at its mean but not too near an end."""
    values, apart = disagreement(encoding.program, point)
    apart[box.upper - box.lower <= UNDIVIDED] = 0.0
    if apart.max(initial=0.0) <= AGREED:
        return ()
    ratio = int(np.argmax(apart))
    return cut_inside(box, ratio, float(values[ratio]))
