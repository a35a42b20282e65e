"""Windows: local programs that see the neighbourhood of a factor or a query, for tighter sound bounds.

Input: a factor graph, its dependency graph and a radius. Output: the factor graph with one more factor per
window, a table over several factors' variables that obeys all their sentences and the independences that
fit inside it.

Inside a window W the Markov condition is used through linear rows that every model satisfies. Let x have
all its parents in W and let R be variables of W that are neither parents nor descendants of x. Then P(x |
z, r) = P(x | z) for values z of the parents and r of R, so what a sentence says of P(x | z) holds in every
context r. What comes earlier in an order of the components, parents first, is no descendant
(docs/proofs.md, proof 11).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import inf, prod

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.errors import InconsistentNetwork, impossible_evidence
from credalog.methods.intervals.factors import (
    Encoded,
    Factor,
    FactorGraph,
    Floats,
    Indices,
    Kind,
    assemble,
    sentence_rows,
    slot_values,
)
from credalog.network.formulas import literals_of
from credalog.network.graph import DependencyGraph
from credalog.network.sentences import Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program.program import Objective, Outcome, Program, Ratios
from credalog.program.solvers.highs import Basis, Relaxation
from credalog.trusted.certify import Checker
from credalog.trusted.rounding import all_rounded_down, round_up

__all__ = ["Event", "LinearProgram", "Surroundings", "box_rows", "local_sentences", "widen"]


def widen(
    graph: FactorGraph, dependencies: DependencyGraph, radius: int, *, implied: bool, budget: Budget
) -> FactorGraph:
    """Add the window of every factor while there is time; a window inside an earlier one is left out."""
    surroundings = Surroundings.of(graph, dependencies, 32 * 2**radius, implied=implied)
    seen: dict[int, list[set[int]]] = {}
    windows = []
    for factor in graph.factors:
        if budget.is_spent:
            break
        scope = surroundings.grow(set(factor.scope), radius)
        known = any(set(scope) <= other for other in seen.get(scope[0], ()))
        if len(scope) > len(factor.scope) and not known:
            windows.append(surroundings.encode(scope))
            for v in scope:
                seen.setdefault(v, []).append(set(scope))
    return assemble(graph.network, [*graph.encoded(), *windows])


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a window is built from."""

    graph: FactorGraph
    dependencies: DependencyGraph
    most_worlds: int
    order: Indices
    """The position of each variable's component, parents first."""
    local: dict[int, list[Sentence]]
    """The sentences about P(x | z), z being values of all parents of x, by x."""

    @classmethod
    def of(
        cls, graph: FactorGraph, dependencies: DependencyGraph, most_worlds: int, *, implied: bool
    ) -> Surroundings:
        """Collect what windows are built from; `implied` says whether the Markov condition may be used."""
        order = np.empty(len(graph.arrays.size), dtype=np.int64)
        for number, members in enumerate(dependencies.components()):
            order[list(members)] = number
        return cls(
            graph, dependencies, most_worlds, order, local_sentences(graph, dependencies) if implied else {}
        )

    def grow(self, scope: set[int], radius: int) -> tuple[int, ...]:
        """Grow a set of variables through neighbouring factors, by those that complete most factors first."""
        for _ in range(radius):
            reach = {w for v in scope for f in self.touching(v) for w in self.graph.factors[f].scope} - scope
            fits = [w for w in reach if self.worlds((*scope, w)) <= self.most_worlds]
            if not fits:
                break
            while fits:
                best = min(fits, key=lambda w: (-self._completed(scope, w), self.order[w], w))
                scope = scope | {best}
                fits = [w for w in fits if w != best and self.worlds((*scope, w)) <= self.most_worlds]
        return tuple(sorted(scope))

    def connect(self, scope: set[int], most_worlds: int) -> set[int]:
        """Add the variables of shortest ways between those of a scope, as far as they fit."""
        joined: set[int] = set()
        for v in sorted(scope):
            way = self._way(v, joined) if joined and v not in joined else [v]
            joined |= {v, *way} if self.worlds(scope | joined | {*way}) <= most_worlds else {v}
        return joined

    def _way(self, start: int, ends: set[int]) -> list[int]:
        """Return the variables on a shortest way through factors to any of some others, if there is one."""
        found, frontier = {start: start}, [start]
        # The list grows while it is walked: a breadth-first search.
        for v in frontier:
            for w in sorted({w for f in self.touching(v) for w in self.graph.factors[f].scope}):
                if w not in found:
                    found[w] = v
                    frontier.append(w)
                if w in ends:
                    return self._traced(found, w)
        return [start]

    @staticmethod
    def _traced(found: dict[int, int], end: int) -> list[int]:
        way = [end]
        while found[way[-1]] != way[-1]:
            way.append(found[way[-1]])
        return way

    def _completed(self, scope: set[int], extra: int) -> int:
        """Count the factors that would come to lie inside the window."""
        return sum(scope.issuperset(set(self.graph.factors[f].scope) - {extra}) for f in self.touching(extra))

    def touching(self, v: int) -> list[int]:
        """Return the factors of a variable."""
        a = self.graph.arrays
        found: list[int] = a.edge_factor[
            a.variable_edge[a.variable_start[v] : a.variable_start[v + 1]]
        ].tolist()
        return found

    def worlds(self, scope: Collection[int]) -> int:
        """Count the worlds of a set of variables."""
        return prod(int(self.graph.arrays.size[v]) for v in scope)

    def encode(self, scope: tuple[int, ...]) -> Encoded:
        """Write a window as a factor."""
        sentences = tuple(sorted(i for f in self._inside(scope) for i in self.graph.factors[f].sentences))
        return Encoded(Factor(scope, sentences, Kind.TABLE), self.rows(scope).toarray())

    def _inside(self, scope: tuple[int, ...]) -> list[int]:
        near = sorted({f for v in scope for f in self.touching(v)})
        return [f for f in near if set(self.graph.factors[f].scope) <= set(scope)]

    def rows(self, scope: tuple[int, ...]) -> sp.csr_array:
        """Write what holds in a window as rows G p <= 0 over its worlds: the sentences, and in context."""
        network = self.graph.network
        variables = tuple(network.variables[v] for v in scope)
        values = np.indices(tuple(len(v.values) for v in variables)).reshape(len(scope), -1)
        said = {i: None for f in self._inside(scope) for i in self.graph.factors[f].sentences}
        stated = sentence_rows([network.sentences[i] for i in said], variables)
        blocks = [
            sp.csr_array(stated),
            *(self._in_context(x, scope, values) for x in scope if x in self.local),
        ]
        return sp.csr_array(sp.vstack(blocks, format="csr"))

    def _in_context(self, x: int, scope: tuple[int, ...], values: Indices) -> sp.csr_array:
        """Write what is said of P(x | z) once for each context."""
        parents = self.dependencies.parent_indices[x]
        rest = [w for w in scope if self.order[w] < self.order[x] and w not in parents]
        if not rest or not set(parents) <= set(scope):
            return sp.csr_array((0, values.shape[1]))
        variables = tuple(self.graph.network.variables[v] for v in scope)
        sizes = [int(self.graph.arrays.size[v]) for v in rest]
        context = _number(values[[scope.index(v) for v in rest]], sizes)
        return _apart(sentence_rows(self.local[x], variables), context)


def local_sentences(graph: FactorGraph, dependencies: DependencyGraph) -> dict[int, list[Sentence]]:
    """Collect the sentences about one variable given one value of each of its parents."""
    local: dict[int, list[Sentence]] = {}
    for i in (i for factor in graph.factors for i in factor.sentences):
        sentence = graph.network.sentences[i]
        if (x := _head(sentence, dependencies)) is not None:
            local.setdefault(x, []).append(sentence)
    return local


def _head(sentence: Sentence, dependencies: DependencyGraph) -> int | None:
    """Return the variable of which a sentence speaks given one value of each of its parents, or None."""
    if len(sentence.claim_scope) != 1:
        return None
    x = dependencies.index(sentence.claim_scope[0])
    given = literals_of(sentence.given)
    is_local = given is not None and {dependencies.index(v) for v in given} == {
        *dependencies.parent_indices[x]
    }
    return x if is_local else None


def _apart(rows: Floats, context: Indices) -> sp.csr_array:
    """Write each row once for each context, with the coefficients of the worlds in it alone."""
    row, world = np.nonzero(rows)
    count = int(context.max(initial=0)) + 1
    shape = (len(rows) * count, rows.shape[1])
    return sp.csr_array((rows[row, world], (row * count + context[world], world)), shape=shape)


def box_rows(size: Indices, product: NDArray[np.bool_], lower: Floats, upper: Floats) -> sp.csr_array:
    """Write bounds on the values of each variable as rows G p <= 0 over a table.

    Bounds on one of several independent variables hold in every context of the others: l·p(N) <= p(w, N)
    <= u·p(N) for all their values N.
    """
    values = np.indices(tuple(size)).reshape(len(size), -1)
    slot, blocks = 0, [sp.csr_array((0, values.shape[1]))]
    for i, count in enumerate(size):
        others = [k for k in np.flatnonzero(product) if k != i] if product[i] else []
        context = _number(values[others], [int(size[k]) for k in others])
        for value in slot_values(int(count)):
            holds = values[i] == value
            rows = [all_rounded_down(holds - upper[slot])] if upper[slot] < 1.0 else []
            rows += [all_rounded_down(lower[slot] - holds)] if lower[slot] > 0.0 else []
            blocks.append(_apart(np.array(rows).reshape(len(rows), len(holds)), context))
            slot += 1
    return sp.csr_array(sp.vstack(blocks, format="csr"))


def _number(values: Indices, sizes: list[int]) -> Indices:
    """Return the numbers of the joint values of several variables, the last fastest."""
    number = np.zeros(values.shape[1], dtype=np.int64)
    for row, size in zip(values, sizes, strict=True):
        number = number * size + row
    return number


# ---- linear programs over the worlds of a few variables ---------------------------------------------------
# Linear programs over the worlds of a few variables: solved by HiGHS, proved by the trusted base.
# Input: rows G p <= 0 that the distribution of every model satisfies. Output: proved bounds on the
# probability of an event, given another or not. That there is no such distribution, or none with P(e) > 0,
# is an error, raised with proof.
#
# A probability given e is a ratio, and the program a cone that is cut at P(e) = 1 (Charnes and Cooper,
# 1962): its mass is then 1 / P(e), and the proof needs a lower bound on P(e). Where there is none, the
# distribution p(· | e) is bounded by itself: a row whose coefficients outside e are not negative holds for
# it as well.

Event = NDArray[np.bool_]


class LinearProgram:
    """The distributions p with G p <= 0, ready for one objective after another."""

    def __init__(self, rows: sp.csr_array, budget: Budget) -> None:
        self._rows, self._budget = rows, budget
        self._worlds = rows.shape[1]
        program = _program(rows)
        self._box = program.ratios.box
        self._relaxation, self._checker = Relaxation(program), Checker(program)
        self._basis: Basis = None

    def greatest(self, worth: Floats) -> float:
        """Bound the greatest value of worth @ p."""
        return self._end(Objective(worth, np.ones(self._worlds), np.ones(1)), End.UPPER)

    def range(self, event: Event, given: Event | None = None) -> tuple[float, float]:
        """Bound the probability of an event; where a condition is given, over the p that make it possible."""
        if given is None or given.all():
            return self._range(event, np.ones(self._worlds, dtype=np.bool_), 1.0)
        least = -self.greatest(-given.astype(np.float64))
        mass = round_up(1.0 / least) if least > 0.0 else inf
        low, high = self._range(event & given, given, mass)
        if least > 0.0:
            return low, high
        try:
            inner = LinearProgram(self._within(given), self._budget).range(event[given])
        except InconsistentNetwork:
            raise impossible_evidence() from None
        return max(low, inner[0]), min(high, inner[1])

    def _range(self, event: Event, given: Event, mass: float) -> tuple[float, float]:
        objective = Objective(event.astype(np.float64), given.astype(np.float64), np.array([mass]))
        low, high = (self._end(objective, end) for end in End)
        return max(low, 0.0), min(high, 1.0)

    def _within(self, given: Event) -> sp.csr_array:
        """Return the rows that hold of p(· | given) alone, over the worlds of the condition."""
        outside = self._rows[:, ~given]
        kept = outside.minimum(0.0).sum(axis=1) >= 0.0
        return sp.csr_array(self._rows[kept][:, given])

    def _end(self, objective: Objective, end: End) -> float:
        """Prove one end; infinity where nothing is proved, or the time is up."""
        if self._budget.is_spent:
            return -end.sign * inf
        solve = self._relaxation.minimize if end is End.LOWER else self._relaxation.maximize
        claim, self._basis = solve(objective, self._box, basis=self._basis, timeout=self._budget.for_solver)
        if claim.outcome is Outcome.INFEASIBLE:
            if self._checker.proves_empty(objective, self._box, claim.multipliers):
                raise impossible_evidence() if (objective.denominator == 0.0).any() else _inconsistent()
            return -end.sign * inf
        if claim.outcome is Outcome.STOPPED:
            return -end.sign * inf
        return self._checker.bound(objective, self._box, claim.multipliers, end)


def _inconsistent() -> InconsistentNetwork:
    return InconsistentNetwork("No distribution satisfies the network: bounds near each other contradict.")


def _program(rows: sp.csr_array) -> Program:
    """Write G p <= 0 as a program of one table."""
    count, worlds = rows.shape
    nothing = np.zeros(0)
    no_rows = sp.csr_array((0, worlds))
    ratios = Ratios(nothing, nothing, nothing.astype(bool), nothing.astype(np.intp), no_rows, no_rows)
    return Program(worlds, ((0, worlds),), -rows, no_rows, ratios, (-1,) * count, ())
