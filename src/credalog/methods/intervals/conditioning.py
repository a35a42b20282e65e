"""Sound posteriors: outer bounds on P(x | e) from a window that holds x and what was observed around it.

Input: a factor graph with the marginal bounds that sound propagation reached, and observed values. Output:
bounds on P(x | e) for every variable and value, valid in every model with P(e) > 0.

Only observations that bear on x count: the others are d-separated from x by them, and may be forgotten.
This is used where x and all that is observed have acyclic ancestors, which make up a Bayesian network. If
nothing is left, P(x | e) is P(x). If what is left is a polytree of a credal network, set propagation is
exact. Otherwise it is bounded by a linear program over a window; where the observations do not fit into one,
the bounds are [0, 1], with a note.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from credalog.errors import ProblemTooLarge
from credalog.methods.intervals.factors import Floats, slot_values
from credalog.methods.intervals.windows import LinearProgram, Surroundings, box_rows
from credalog.methods.vertices.sets import beliefs, check_possible
from credalog.network.formulas import Variable, World
from credalog.network.graph import DependencyGraph
from credalog.network.sentences import Network
from credalog.network.structure import Relevance, ancestors, is_polytree, relevance
from credalog.numbers.budget import Budget, OutOfTime
from credalog.tables.credal import CredalNetwork, Question, credal_network

__all__ = [
    "MOST_OBSERVED_WORLDS",
    "Posteriors",
    "polytree_posterior",
    "require_possible",
    "requisite",
    "set_bounds",
    "sound_posterior",
]

T = TypeVar("T")

MOST_OBSERVED_WORLDS = 256
"""The largest table that a window around evidence may have."""
MOST_RELATIVES = 1000
"""How many ancestors of the evidence, and of a variable, are searched for what separates them."""


class Posteriors(NamedTuple):
    """Bounds by slot, and the variables whose evidence did not fit into a window."""

    lower: Floats
    upper: Floats
    undecided: tuple[Variable, ...]


def sound_posterior(
    surroundings: Surroundings,
    lower: Floats,
    upper: Floats,
    evidence: World,
    *,
    asked: Collection[Variable] | None,
    implied: bool,
    budget: Budget,
) -> Posteriors:
    """Bound P(x | e) for every variable, or for those asked: the others are undecided.

    `implied` says whether the Markov condition may be used.
    """
    variables = surroundings.graph.network.variables
    index = {v: i for i, v in enumerate(variables)}
    observed = {index[v]: v.values.index(value) for v, value in evidence.items()}
    task = _Conditioning(surroundings, lower, upper, observed, implied, budget)
    task.require_possible()
    low, high = lower.copy(), upper.copy()
    undecided = []
    for v, variable in enumerate(variables):
        found = task.attempt(v) if asked is None or variable in asked else None
        low[task.slots(v)], high[task.slots(v)] = (0.0, 1.0) if found is None else found
        if found is None:
            undecided.append(variable)
    return Posteriors(low, high, tuple(undecided))


@dataclass(frozen=True)
class _Conditioning:
    """The marginal bounds that hold before anything is observed, and what is observed."""

    surroundings: Surroundings
    lower: Floats
    upper: Floats
    observed: Mapping[int, int]
    implied: bool
    budget: Budget

    def require_possible(self) -> None:
        """Refuse evidence of probability zero, where a credal network tells."""
        if self.implied and self._credal is not None and len(self._ancestral) <= MOST_RELATIVES:
            # Where its tables grow too large, impossible evidence has bounds as true as any.
            with suppress(OutOfTime, ProblemTooLarge):
                require_possible(self._credal, self.observed, self.budget)

    def slots(self, v: int) -> slice:
        """Return where the bounds of a variable are kept."""
        starts = self.surroundings.graph.arrays.variable_slot
        return slice(int(starts[v]), int(starts[v + 1]))

    def values(self, v: int) -> range:
        """Return the values that the slots of a variable bound."""
        return slot_values(int(self.surroundings.graph.arrays.size[v]))

    def attempt(self, v: int) -> tuple[Floats, Floats] | None:
        """Bound the posterior of each value of a variable; None where size or time do not allow it."""
        try:
            return self.bounds(v)
        except (OutOfTime, ProblemTooLarge):
            return None

    def bounds(self, v: int) -> tuple[Floats, Floats]:
        """Bound the posterior of each value of a variable, by the best means that apply."""
        if v in self.observed:
            certain = np.array([float(self.observed[v] == k) for k in self.values(v)])
            return certain, certain
        relevant = self._relevance(v)
        seen = (
            dict(self.observed)
            if relevant is None
            else _mentioned(self.surroundings.dependencies, relevant, self.observed)
        )
        unseen = self.lower[self.slots(v)], self.upper[self.slots(v)]
        self.budget.require_time()
        if not seen and not self._is_many_valued(relevant):
            return unseen
        if relevant is not None and self._credal is not None and is_polytree(relevant):
            # What outgrows its limits may still fit into a window.
            with suppress(ProblemTooLarge):
                return set_bounds(self._credal, v, seen, self.budget)
        return self._by_window(v, seen) if seen else unseen

    def _is_many_valued(self, relevant: Relevance | None) -> bool:
        """Tell whether sets may say more than intervals even where no observation matters."""
        return relevant is not None and any(len(self.values(x)) > 1 for x in relevant.families)

    def _relevance(self, v: int) -> Relevance | None:
        """Find what bears on a variable given the evidence; None where independences are not known."""
        if not self.implied or len(self._ancestral) > MOST_RELATIVES:
            return None
        return _relevance(self.surroundings.dependencies, self._cyclic, [v], self.observed)

    @cached_property
    def _cyclic(self) -> set[int]:
        """Return the variables that depend on themselves through others."""
        components = self.surroundings.dependencies.components()
        return {v for members in components if len(members) > 1 for v in members}

    @cached_property
    def _ancestral(self) -> frozenset[int]:
        return ancestors(self.surroundings.dependencies.parent_indices, self.observed)

    @cached_property
    def _credal(self) -> CredalNetwork | None:
        return credal_network(self.surroundings.graph.network, self.surroundings.dependencies)

    def _by_window(self, v: int, seen: dict[int, int]) -> tuple[Floats, Floats]:
        """Bound each value in a window grown around a variable and its evidence."""
        if self.surroundings.worlds({v, *seen}) > MOST_OBSERVED_WORLDS:
            raise ProblemTooLarge("The evidence does not fit into one window.")
        near = self.surroundings.connect({v, *seen}, MOST_OBSERVED_WORLDS)
        scope = self.surroundings.grow(near, len(self.surroundings.graph.arrays.size))
        size = self.surroundings.graph.arrays.size[list(scope)]
        slots = np.concatenate([np.arange(s.start, s.stop) for s in map(self.slots, scope)])
        box = box_rows(size, np.zeros(len(scope), dtype=np.bool_), self.lower[slots], self.upper[slots])
        program = LinearProgram(sp.vstack([self.surroundings.rows(scope), box], format="csr"), self.budget)
        values = dict(zip(scope, np.indices(tuple(size)).reshape(len(scope), -1), strict=True))
        event = np.all([values[w] == x for w, x in seen.items()], axis=0)
        found = [program.range(values[v] == value, event) for value in self.values(v)]
        return np.array([low for low, _ in found]), np.array([high for _, high in found])


def requisite(
    dependencies: DependencyGraph, cyclic: set[int], asked: Sequence[int], observed: Mapping[int, T]
) -> dict[int, T] | None:
    """Return the observations that bear on some variables given all of them; None where that is not known.

    `cyclic` are the variables that depend on themselves through others: only acyclic ancestors make up a
    Bayesian network.
    """
    relevant = _relevance(dependencies, cyclic, asked, observed)
    return None if relevant is None else _mentioned(dependencies, relevant, observed)


def _relevance(
    dependencies: DependencyGraph, cyclic: set[int], asked: Sequence[int], observed: Iterable[int]
) -> Relevance | None:
    if not _few_ancestors(dependencies.parent_indices, (*asked, *observed)):
        return None
    found = relevance(dependencies.parent_indices, asked, observed)
    return found if cyclic.isdisjoint((*found.families, *found.separated)) else None


def _mentioned(dependencies: DependencyGraph, relevant: Relevance, observed: Mapping[int, T]) -> dict[int, T]:
    """Return the observations that the relevant families mention."""
    mentioned = {y for x in relevant.families for y in (x, *dependencies.parent_indices[x])}
    return {y: value for y, value in observed.items() if y in mentioned}


def _few_ancestors(parents: Sequence[Sequence[int]], variables: Iterable[int]) -> bool:
    """Tell whether variables have few enough ancestors to be searched."""
    frontier = list(variables)
    found = set(frontier)
    most = MOST_RELATIVES + len(found)
    while frontier and len(found) <= most:
        fresh = set(parents[frontier.pop()]) - found
        found |= fresh
        frontier.extend(fresh)
    return len(found) <= most


# ---- polytrees --------------------------------------------------------------------------------------------
# Exact posteriors where what bears on a variable is a polytree of a credal network, of any number of
# values.
# Input: a credal network, or any network to be read as one, and observed values. Output: bounds on P(x |
# e), one per slot of x: a two-valued variable has one, for its second value; any other has one per value.


def require_possible(credal: CredalNetwork, observed: Mapping[int, int], budget: Budget) -> None:
    """Refuse evidence of probability zero."""
    target = next(iter(observed))
    check_possible(credal, Question(target, (True,) * credal.sizes[target], observed), budget)


def set_bounds(
    credal: CredalNetwork, v: int, observed: Mapping[int, int], budget: Budget
) -> tuple[Floats, Floats]:
    """Bound the posterior of a variable by set propagation, which is exact on polytrees."""
    size = credal.sizes[v]
    reached = beliefs(credal, v, observed, budget=budget)
    found = [reached.interval([k == value for k in range(size)]) for value in slot_values(size)]
    low = np.array([interval.lower.bound for interval in found])
    return low, np.array([interval.upper.bound for interval in found])


def polytree_posterior(
    network: Network, dependencies: DependencyGraph, evidence: World, budget: Budget
) -> tuple[Floats, Floats] | None:
    """Bound P(x | e) for every variable; None where that cannot be done.

    The network must be a credal network without loops, its sets small and the time enough.
    """
    credal = credal_network(network, dependencies)
    if credal is None:
        return None
    index = {v: i for i, v in enumerate(network.variables)}
    observed = {index[v]: v.values.index(value) for v, value in evidence.items()}
    asked = [v for v in range(len(index)) if v not in observed]
    if not all(is_polytree(relevance(credal.parents, [v], observed)) for v in asked):
        return None
    found: dict[int, tuple[Floats, Floats]] = {}
    for v, value in observed.items():
        certain = np.array([float(value == k) for k in slot_values(credal.sizes[v])])
        found[v] = certain, certain
    try:
        require_possible(credal, observed, budget)
        found |= {v: set_bounds(credal, v, observed, budget) for v in asked}
    except (OutOfTime, ProblemTooLarge):
        return None
    ends = [found[v] for v in range(len(index))]
    return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])
