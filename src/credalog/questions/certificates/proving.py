"""From a reasoned program to a proof: leaves with rational multipliers, joined by cuts.

Input: a `ReasonedProgram`, the end of an interval and the bound to be proved. Output: `Proved`: the rows and
nodes of a certificate, and the bound that they prove to the last digit.

HiGHS proposes multipliers. They are rounded to decimal numbers, and what the rounding leaves negative is made
up for: a table holds no more than the whole mass, which the bound absorbs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import inf, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from credalog.methods.cliques.products import LeafRows, Sharpening
from credalog.methods.cliques.proofs import Prover, exact_multipliers
from credalog.methods.cliques.search import disagreement
from credalog.network.graph import Markov
from credalog.network.meaning import Box as Ranges
from credalog.network.meaning import Event, Key, key
from credalog.network.polytopes import Vertex
from credalog.network.tables import Column
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program.products import SIGNS, Products
from credalog.program.program import Box, Claim, Floats, Outcome
from credalog.program.solvers.highs import Basis, Relaxation
from credalog.questions.certificates.program import Reason, ReasonedProgram, pairs

__all__ = [
    "PLAIN",
    "QUICK",
    "THOROUGH",
    "Effort",
    "Least",
    "Proved",
    "ReasonedProducts",
    "products_in",
    "prove",
]

DIGITS = 13
"""How many digits of a multiplier are kept."""

NOTHING = 1e-14
"""A multiplier below this is left out."""

LOOSE = 1e-7
"""The tolerance of a solver that is asked where another has no verdict."""

SLACK = Fraction(1, 10**6)
"""By how much a bound in floats may be missed."""

NARROW, AGREED = 1e-7, 1e-10
"""Ranges below the first are not cut, nor conditional probabilities whose contexts differ by no more."""

MARGIN = 0.1
"""No cut is nearer to an end of its range than this share of it."""

MOST_CORNERS = 12
"""A local polytope with more vertices than this is cut in two instead."""

GAIN = 0.05
"""Rounds of products of bounds that close a smaller share of what is missing are the last."""

PRODUCT_ROWS = 200
"""So many products of bounds are added in a round at most."""

FINENESS = 1 << 30
"""Cuts are at multiples of one over this."""

Used: TypeAlias = list[tuple[Reason, Fraction]]
"""Rows by their reasons, with their multipliers."""


class Effort(NamedTuple):
    """How hard a proof is tried for.

    With more nodes it is given up; so many rounds of products of bounds are added to a leaf, and so many
    conditional probabilities are tried before one is cut.
    """

    nodes: int
    rounds: int
    tries: int


QUICK, PLAIN, THOROUGH = Effort(60, 0, 1), Effort(20_000, 0, 1), Effort(20_000, 6, 5)


class Least(NamedTuple):
    """A proved lower bound on the probability of the condition, and the sentence that says so."""

    number: int
    bound: Fraction


@dataclass(frozen=True, slots=True)
class Proved:
    """A bound with the rows and nodes that prove it."""

    bound: Fraction
    rows: list[Reason]
    nodes: list[Any]


@dataclass(slots=True)
class _Leaf:
    node: int
    box: Box
    ranges: Ranges
    basis: Basis = None
    rows: LeafRows | None = None


def prove(
    found: ReasonedProgram,
    end: End,
    target: float | Fraction,
    budget: Budget,
    *,
    least: Least | None = None,
    effort: Effort = THOROUGH,
) -> Proved | None:
    """Prove that no model passes a target; None where that is not done in time.

    A fraction is to be reached, a float may be missed by a little. `least` is a proved lower bound on the
    probability of the condition.
    """
    return _Proving(found, end, target, budget, least, effort).run()


class _Proving:
    """One proof under way; values are multiplied by the end's sign, so that a lower bound is proved."""

    def __init__(
        self,
        found: ReasonedProgram,
        end: End,
        target: float | Fraction,
        budget: Budget,
        least: Least | None,
        effort: Effort,
    ) -> None:
        self.found, self.end, self.budget, self.least = found, end, budget, least
        self.effort = effort
        slack = Fraction(0) if isinstance(target, Fraction) else SLACK
        self.enough = Fraction(end.sign) * Fraction(target) - slack
        self.relaxation = Relaxation(found.program)
        mass = 1.0 if not found.asked.is_conditional else inf if least is None else float(1 / least.bound)
        self.objective = found.objective(mass)
        self.row_number: dict[str, int] = {}
        self.rows: list[Reason] = []
        self.nodes: list[Any] = []
        self.bound: Fraction | None = None
        self.corners: dict[Key, tuple[Vertex, ...]] = {}

    def run(self) -> Proved | None:
        """Close one leaf after the other, cutting those that are not proved as they are."""
        waiting = [_Leaf(self._new_node(), self.found.program.ratios.box, {})]
        while waiting:
            leaf = waiting.pop()
            if self.budget.is_spent or len(self.nodes) > self.effort.nodes:
                return None
            claim, leaf.basis = self._solved(leaf)
            if self._closes(leaf, claim):
                continue
            sharper = self._sharpened(leaf, claim)
            if sharper is None:
                continue
            children = self._cut(leaf, sharper)
            if children is None:
                return None
            waiting += children
        # A proof that every leaf is empty proves any bound.
        bound = Fraction(2) if self.bound is None else self.bound
        return Proved(Fraction(self.end.sign) * bound, self.rows, self.nodes)

    def _new_node(self) -> int:
        self.nodes.append(None)
        return len(self.nodes) - 1

    def _solved(self, leaf: _Leaf) -> tuple[Claim, Basis]:
        if leaf.rows is not None:
            return self._sharpening.prover_of(leaf.box, leaf.rows).relax(leaf.box, leaf.basis)
        claim, basis = self._claimed(self.relaxation, leaf)
        if claim.outcome is Outcome.STOPPED and not self.budget.is_spent:
            # On narrow boxes a solver with tight tolerances may end with no verdict.
            return self._claimed(self._loose, leaf)
        return claim, basis

    def _claimed(self, relaxation: Relaxation, leaf: _Leaf) -> tuple[Claim, Basis]:
        solve = relaxation.minimize if self.end is End.LOWER else relaxation.maximize
        basis = leaf.basis if relaxation is self.relaxation else None
        return solve(self.objective, leaf.box, basis=basis, timeout=self.budget.for_solver)

    @cached_property
    def _loose(self) -> Relaxation:
        return Relaxation(self.found.program, tolerance=LOOSE)

    # ---- products of bounds ---------------------------------------------------------------------------
    #
    # Products of bounds in the program of a certificate: which rows there may be, each with its reason.
    # Input: a `ReasonedProgram`. Output: `ReasonedProducts`. Two variables, neither of which is a parent or a
    # descendant of the other, are independent given the rest of a table (docs/proofs.md, proof 22); the
    # verifier asks its own Markov condition when it rebuilds the row.

    @cached_property
    def _multiplied(self) -> ReasonedProducts | None:
        return products_in(self.found) if self.effort.rounds else None

    @cached_property
    def _sharpening(self) -> Sharpening:
        """Return the program with rows of each leaf's own."""
        assert self._multiplied is not None
        prover = Prover(self.found.program, self.objective, self.end, self.budget)
        return Sharpening(prover, self._multiplied.products)

    def _sharpened(self, leaf: _Leaf, claim: Claim) -> Claim | None:
        """Add products of bounds to a leaf as long as these gain enough; None once it is closed."""
        for _ in range(self.effort.rounds):
            if claim.outcome is not Outcome.OPTIMAL or self._multiplied is None or self.budget.is_spent:
                break
            missing = float(self.enough) - self.end.sign * claim.value
            rows = self._sharpening.all_rows if leaf.rows is None else leaf.rows
            ratios = [ratio for ratio, _ in self._candidates(leaf.box, claim.point)]
            found = self._sharpening.sharpen(leaf.box, leaf.basis, claim.point, rows, ratios, PRODUCT_ROWS)
            gained = self.end.sign * (found.claim.value - claim.value)
            claim, leaf.basis, leaf.rows = found.claim, found.basis, found.rows
            if self._closes(leaf, claim):
                return None
            if claim.outcome is Outcome.OPTIMAL and gained < GAIN * missing:
                break
        return claim

    # ---- leaves ---------------------------------------------------------------------------------------

    def _closes(self, leaf: _Leaf, claim: Claim) -> bool:
        """Write a leaf down if its multipliers prove enough."""
        if claim.outcome is Outcome.INFEASIBLE and claim.multipliers[-1] > 0.0:
            return self._closes_empty(leaf, claim.multipliers / claim.multipliers[-1])
        if claim.outcome is not Outcome.OPTIMAL or self.end.sign * claim.value < float(self.enough) - NARROW:
            return False
        for used, shift in self._ways(leaf, claim.multipliers, None):
            loss = self._loss(used, leaf.ranges, (Fraction(1), shift))
            if loss is not None and shift - loss >= self.enough:
                self.bound = shift - loss if self.bound is None else min(self.bound, shift - loss)
                self.nodes[leaf.node] = ["leaf", "1", "0", self._written(used)]
                return True
        return False

    def _closes_empty(self, leaf: _Leaf, ray: Floats) -> bool:
        for used, shift in self._ways(leaf, ray, Fraction(1)):
            loss = self._loss(used, leaf.ranges, (Fraction(0), shift))
            if loss is not None and loss < shift:
                self.nodes[leaf.node] = ["leaf", "0", str(shift - loss), self._written(used)]
                return True
        return False

    def _ways(
        self, leaf: _Leaf, multipliers: Floats, shift: Fraction | None
    ) -> Iterator[tuple[Used, Fraction]]:
        """Yield rational multipliers near a solver's: rounded ones, then some that need no rounding."""
        yield self._rounded(leaf, multipliers), _rounded(multipliers[-1]) if shift is None else shift
        if leaf.rows is not None:
            return
        cost = (
            self.end.sign * self.objective.numerator if shift is None else np.zeros(len(self.found.column_of))
        )
        found = exact_multipliers(
            self.found.program, self.objective, leaf.box, cost, multipliers, budget=self.budget, shift=shift
        )
        if found is not None:
            yield [(self._reasons(None)[n], value) for n, value in found[0].items() if value], found[1]

    def _reasons(self, rows: LeafRows | None) -> list[Reason]:
        """Return the reasons of all rows of a leaf in the order of a solver's multipliers."""
        unequal, equal = self.found.row_reasons
        lows, highs = self._context_reasons
        if rows is None or self._multiplied is None:
            return [*unequal, *lows, *highs, *equal]
        products = [self._multiplied.reason(n) for n in rows.products.tolist()]
        kept = rows.contexts.tolist()
        return [*unequal, *products, *(lows[n] for n in kept), *(highs[n] for n in kept), *equal]

    @cached_property
    def _context_reasons(self) -> tuple[list[Reason], list[Reason]]:
        contexts = list(zip(self.found.ratio_reasons, self.found.is_swapped, strict=True))
        # Of a swapped context the lower row of one value is the upper row of the other: the same form.
        lows = [["ratio", "upper" if swaps else "lower", *reason[2:]] for reason, swaps in contexts]
        highs = [["ratio", "lower" if swaps else "upper", *reason[2:]] for reason, swaps in contexts]
        return lows, highs

    def _rounded(self, leaf: _Leaf, multipliers: Floats) -> Used:
        """Return the multipliers that are not zero, rounded to decimal numbers."""
        sizes, count, of = (
            multipliers[:-1].copy(),
            len(self.found.row_reasons[0]),
            self.found.program.ratios.of,
        )
        if leaf.rows is not None:
            count, of = count + len(leaf.rows.products), of[leaf.rows.contexts]
        low, high = sizes[count : count + len(of)], sizes[count + len(of) : count + 2 * len(of)]
        sizes[: count + 2 * len(of)] = np.maximum(sizes[: count + 2 * len(of)], 0.0)
        # Where a ratio is one number its two rows are one equation.
        is_point = (leaf.box.lower == leaf.box.upper)[of]
        low[is_point] -= high[is_point]
        high[is_point] = 0.0
        reasons = self._reasons(leaf.rows)
        return [(reasons[n], _rounded(sizes[n])) for n in np.flatnonzero(np.abs(sizes) > NOTHING).tolist()]

    def _loss(self, used: Used, ranges: Ranges, scales: tuple[Fraction, Fraction]) -> Fraction | None:
        """Move what is negative to the columns of the condition; return by how much it is negative there.

        The rows that this takes are added to those used.
        """
        reduced = self._reduced(used, ranges, scales)
        for t in range(1, len(self.found.tables)):
            if t != self.found.question or self.found.asked.is_conditional:
                self._move(used, reduced, ranges, self._to_mass(reduced, t))
        self._move(used, reduced, ranges, self._through_mass(reduced))
        given = self.found.goal
        if any(value < 0 for column, value in reduced.items() if column not in given):
            return None
        return -min([Fraction(0), *(reduced[column] for column in given)])

    def _move(self, used: Used, reduced: dict[Column, Fraction], ranges: Ranges, rows: Used) -> None:
        for reason, value in rows:
            self._subtract(reduced, reason, value, ranges)
        used += rows

    def _reduced(
        self, used: Used, ranges: Ranges, scales: tuple[Fraction, Fraction]
    ) -> dict[Column, Fraction]:
        weight, shift = scales
        sign = Fraction(self.end.sign)
        reduced = {column: weight * sign * worth - shift for column, worth in self.found.goal.items()}
        for reason, value in used:
            self._subtract(reduced, reason, value, ranges)
        return reduced

    def _subtract(
        self, reduced: dict[Column, Fraction], reason: Reason, value: Fraction, ranges: Ranges
    ) -> None:
        for column, coefficient in self.found.proof.row(reason, ranges)[0]:
            reduced[column] = reduced.get(column, Fraction(0)) - value * coefficient

    def _to_mass(self, reduced: dict[Column, Fraction], t: int) -> Used:
        """Move what is negative in a table to the whole mass, or to the condition if it shows just that."""
        short = -min((value for column, value in reduced.items() if column[0] == t), default=Fraction(0))
        fixed, question = self.found.tables[t][1], self.found.question
        if short <= 0 or (t == question and fixed):
            return []
        to_question = bool(fixed) and fixed == self.found.tables[question][1]
        return [(["part", t, fixed, question if to_question else 0, fixed if to_question else []], short)]

    def _through_mass(self, reduced: dict[Column, Fraction]) -> Used:
        """Move what is negative of the whole mass to the condition, which has a least share of it."""
        short, question = -reduced.get((0,), Fraction(0)), self.found.question
        if short <= 0:
            return []
        to_question = (["part", 0, [], question, []], short)
        if not self.found.asked.is_conditional:
            return [to_question]
        if self.least is None:
            return []
        if self.found.tables[question][1]:
            condition = self.found.meaning.only_state(self.found.asked.given)
            return [
                (["ratio", "lower", pairs(condition or {}), [], [], question, 0], short / self.least.bound)
            ]
        return [
            to_question,
            (["sentence", self.least.number, "lower", question, []], short / self.least.bound),
        ]

    def _written(self, used: Used) -> list[list[Any]]:
        """Give numbers to the rows that a leaf uses."""
        total: dict[int, Fraction] = {}
        for reason, value in used:
            name = str(reason)
            if name not in self.row_number:
                self.row_number[name] = len(self.rows)
                self.rows.append(reason)
            total[self.row_number[name]] = total.get(self.row_number[name], Fraction(0)) + value
        return [[n, str(value)] for n, value in total.items() if value]

    # ---- cuts -----------------------------------------------------------------------------------------

    def _cut(self, leaf: _Leaf, claim: Claim) -> list[_Leaf] | None:
        """Cut a conditional probability on which the contexts of a point disagree; None where all agree."""
        is_silent = claim.outcome is Outcome.STOPPED or not np.isfinite(claim.point).all()
        found = self._broadest(leaf.box) if is_silent else self._candidates(leaf.box, claim.point)
        if not found:
            return None
        cuts = [self._parts(leaf, ratio, value) for ratio, value in found[: self.effort.tries]]
        head, parts = cuts[0] if len(cuts) < 2 else max(cuts, key=lambda cut: self._promise(leaf, cut[1]))
        children = [self._child(leaf, part) for part in parts]
        for child in children:
            child.node = self._new_node()
        self.nodes[leaf.node] = [*head, *(child.node for child in children)]
        return children

    def _child(self, leaf: _Leaf, part: Ranges) -> _Leaf:
        box = self._restricted(leaf.box, part)
        return _Leaf(-1, box, {**leaf.ranges, **part}, leaf.basis, leaf.rows)

    def _promise(self, leaf: _Leaf, parts: list[Ranges]) -> float:
        """Return what a cut makes of the bound: of its worst part mostly, no more than is needed counts."""
        values = sorted(self._value(self._child(leaf, part)) for part in parts)
        return 0.8 * values[0] + 0.2 * values[-1]

    def _value(self, leaf: _Leaf) -> float:
        claim, _ = self._solved(leaf)
        is_known = claim.outcome is Outcome.OPTIMAL
        return min(self.end.sign * claim.value, float(self.enough)) if is_known else float(self.enough)

    def _parts(self, leaf: _Leaf, ratio: int, value: float) -> tuple[list[Any], list[Ranges]]:
        """Return a node without its children, and the ranges that these have: corners, or two halves."""
        left, given = self.found.keys[ratio]
        corners = self._corners(left, given)
        if corners:
            (x,) = left
            parts = [{key({x: n}, given): (p, p) for n, p in enumerate(corner)} for corner in corners]
            return ["ends", x, pairs(given)], parts
        low, high = float(leaf.box.lower[ratio]), float(leaf.box.upper[ratio])
        margin = MARGIN * (high - low)
        # A float that is a short fraction: what the solver sees is what is written.
        at = Fraction(round(min(max(value, low + margin), high - margin) * FINENESS), FINENESS)
        least, most = self.found.meaning.range(left, given, leaf.ranges)
        halves = [{key(left, given): half} for half in ((least, at), (at, most))]
        return ["cut", pairs(left), pairs(given), str(at)], halves

    def _restricted(self, box: Box, part: Ranges) -> Box:
        """Return a box with other ranges of those probabilities that the program has."""
        for name, (low, high) in part.items():
            if name in self._ratio_of:
                box = box.restrict(self._ratio_of[name], float(low), float(high))
        return box

    @cached_property
    def _ratio_of(self) -> dict[Key, int]:
        return {name: n for n, name in enumerate(self.found.contexts)}

    def _candidates(self, box: Box, point: Floats) -> list[tuple[int, float]]:
        """Return the conditional probabilities on which contexts disagree most, each with its mean."""
        ratios = self.found.program.ratios
        if not len(point) or not len(ratios.lower):
            return self._broadest(box)
        values, apart = disagreement(self.found.program, point)
        apart[box.upper - box.lower <= NARROW] = 0.0
        order = np.argsort(-apart, kind="stable")[: self.effort.tries]
        return [(int(ratio), float(values[ratio])) for ratio in order if apart[ratio] > AGREED]

    def _broadest(self, box: Box) -> list[tuple[int, float]]:
        """Return the widest range of a leaf about which the solver says nothing."""
        widths = box.upper - box.lower
        if not len(widths) or widths.max() <= NARROW:
            return []
        ratio = int(np.argmax(widths))
        return [(ratio, float(box.lower[ratio] + widths[ratio] / 2.0))]

    def _corners(self, left: Event, given: Event) -> tuple[Vertex, ...]:
        """Return the vertices at one of which some optimum has P(x | given), in the eyes of the verifier."""
        if len(left) != 1:
            return ()
        (x,) = left
        place = key({x: 0}, given)
        if place not in self.corners:
            try:
                found = self.found.meaning.ends(x, given)
            except ValueError:
                found = ()
            self.corners[place] = found if len(found) <= MOST_CORNERS else ()
        return self.corners[place]


def _rounded(value: float) -> Fraction:
    return Fraction(f"{value:.{DIGITS}g}")


# ---- products of bounds -----------------------------------------------------------------------------------

LARGEST = 1 << 14
"""Where there are more pairs of states in context than this, no more are listed."""


class _Pair(NamedTuple):
    """Two values with their conditions, in a context that a table shows."""

    left: Event
    given: Event
    right: Event
    under: Event
    context: Event
    table: int


@dataclass(frozen=True, slots=True)
class ReasonedProducts:
    """Pairs of conditional probabilities that may be multiplied."""

    products: Products
    pairs: tuple[_Pair, ...]

    def reason(self, number: int) -> Reason:
        """Return the reason of a row, by its number among `products`."""
        kind, place = divmod(number, len(self.pairs))
        one = self.pairs[place]
        ends = ["lower" if sign > 0 else "upper" for sign in SIGNS[kind]]
        events = (one.left, one.given, one.right, one.under, one.context)
        return ["product", ends, *map(pairs, events), one.table]


def products_in(found: ReasonedProgram) -> ReasonedProducts | None:
    """Return the pairs that are independent in some context; None where there are none."""
    if found.meaning.markov is Markov.NONE:
        return None
    everything = Fraction(0), Fraction(1)
    bounded = [found.meaning.range(*one, {}) != everything for one in found.keys]
    ratio: dict[Key, int] = {name: n for n, name in enumerate(found.contexts) if bounded[n]}
    kept: list[_Pair] = []
    for one in _pairs(found):
        if key(one.left, one.given) in ratio and key(one.right, one.under) in ratio:
            kept.append(one)
        if len(kept) >= LARGEST:
            break
    if not kept:
        return None
    first = np.array([ratio[key(one.left, one.given)] for one in kept], dtype=np.intp)
    second = np.array([ratio[key(one.right, one.under)] for one in kept], dtype=np.intp)
    cells = [_cells(found, one) for one in kept]
    matrices = (_matrix([four[n] for four in cells], len(found.column_of)) for n in range(4))
    return ReasonedProducts(Products(first, second, *matrices), tuple(kept))


def _pairs(found: ReasonedProgram) -> Iterator[_Pair]:
    meaning = found.meaning
    for t, (shown, fixed) in enumerate(found.tables):
        scope, known = frozenset(shown) | {x for x, _ in fixed}, meaning.event(fixed)
        near = {x: meaning.parents[x] | meaning.ndnp(x) for x in shown}
        for x, y in combinations(shown, 2):
            context = near[x] & near[y] & scope
            is_apart = y in near[x] - meaning.parents[x] and x in near[y] - meaning.parents[y]
            if not is_apart or not meaning.parents[x] | meaning.parents[y] <= context:
                continue
            if not known.keys() <= context:
                continue
            for z in meaning.worlds(sorted(context), known):
                given, under = ({p: z[p] for p in meaning.parents[v]} for v in (x, y))
                for s, other in product(_values(meaning.sizes[x]), _values(meaning.sizes[y])):
                    yield _Pair({x: s}, given, {y: other}, under, z, t)


def _values(size: int) -> range:
    """Return the values that have a ratio: of a two-valued variable one says all."""
    return range(1, 2) if size == 2 else range(size)


def _cells(found: ReasonedProgram, one: _Pair) -> list[list[int]]:
    """Return the columns in which both values are met, the first alone, the second alone, and neither."""
    (x, s), (y, other) = *one.left.items(), *one.right.items()
    four: list[list[int]] = [[], [], [], []]
    for a, b in product(range(found.meaning.sizes[x]), range(found.meaning.sizes[y])):
        columns = found.proof.cells(one.table, {**one.context, x: a, y: b})
        four[2 * (a != s) + (b != other)] += (found.column_of[c] for c in columns)
    return four


def _matrix(rows: list[list[int]], width: int) -> sp.csr_array:
    """Return sums over columns as rows of a matrix."""
    starts = np.cumsum([0, *map(len, rows)])
    columns = np.array([c for row in rows for c in row], dtype=np.intp)
    return sp.csr_array((np.ones(prod(columns.shape)), columns, starts), shape=(len(rows), width))
