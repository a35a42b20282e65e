"""Sound posteriors: outer bounds on P(x | e) from a window that holds x and what was observed around it.

Input: a factor graph with the marginal bounds that sound propagation reached, and observed values. Output:
bounds on P(x | e) for every variable and value, valid in every model with P(e) > 0.

Only observations that bear on x count: the others are d-separated from x by them, and may be forgotten.
This is used where x and all that is observed have acyclic ancestors, which make up a Bayesian network. If
nothing is left, P(x | e) is P(x). If what is left is a polytree of a credal network, set propagation is
exact. Otherwise a bound t on P(x | e) is proved by max [P(x, e) - t·P(e)] <= δ over the window, with P(e) >=
m there: then P(x | e) <= t + δ/m (docs/proofs.md, proof 13). Dinkelbach's iteration finds the least such t.
Where no m > 0 can be proved, the bounds are [0, 1], and so they are, with a note, where the observations do
not fit into a window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from credalog.errors import InconsistentNetwork, ProblemTooLarge
from credalog.methods.intervals.factors import Floats
from credalog.methods.intervals.kernels import EPSILON, all_rows, table
from credalog.methods.intervals.polytrees import require_possible, set_bounds, slot_values
from credalog.methods.intervals.wide import LinearProgram
from credalog.methods.intervals.windows import Surroundings
from credalog.network.formulas import Variable, World
from credalog.network.relevance import Relevance, ancestors, is_polytree, relevance
from credalog.numbers.budget import Budget, OutOfTime
from credalog.program.dinkelbach import greatest_quotient
from credalog.tables.credal import CredalNetwork, credal_network

__all__ = ["MOST_OBSERVED_WORLDS", "Posteriors", "sound_posterior"]

MOST_OBSERVED_WORLDS = 256
"""The largest table that a window around evidence may have."""
MOST_RELATIVES = 1000
"""How many ancestors of the evidence, and of a variable, are searched for what separates them."""
DINKELBACH_ROUNDS = 12


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
    implied: bool,
    budget: Budget,
) -> Posteriors:
    """Bound P(x | e) for every variable; `implied` says whether the Markov condition may be used."""
    variables = surroundings.graph.network.variables
    index = {v: i for i, v in enumerate(variables)}
    observed = {index[v]: v.values.index(value) for v, value in evidence.items()}
    task = _Conditioning(surroundings, lower, upper, observed, implied, budget)
    task.require_possible()
    low, high = lower.copy(), upper.copy()
    undecided = []
    for v, variable in enumerate(variables):
        slots = task.slots(v)
        try:
            low[slots], high[slots] = task.bounds(v)
        except (OutOfTime, ProblemTooLarge):
            low[slots], high[slots] = 0.0, 1.0
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

    def bounds(self, v: int) -> tuple[Floats, Floats]:
        """Bound the posterior of each value of a variable, by the best means that apply."""
        if v in self.observed:
            certain = np.array([float(self.observed[v] == k) for k in self.values(v)])
            return certain, certain
        relevant = self._relevance(v)
        seen = dict(self.observed) if relevant is None else self._requisite(relevant)
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
        parents = self.surroundings.dependencies.parent_indices
        if not self.implied or len(self._ancestral) > MOST_RELATIVES or not _few_ancestors(parents, v):
            return None
        found = relevance(parents, [v], self.observed)
        return found if self._cyclic.isdisjoint((*found.families, *found.separated)) else None

    def _requisite(self, relevant: Relevance) -> dict[int, int]:
        """Return the observations that the relevant families mention."""
        parents = self.surroundings.dependencies.parent_indices
        mentioned = {y for x in relevant.families for y in (x, *parents[x])}
        return {y: value for y, value in self.observed.items() if y in mentioned}

    @cached_property
    def _cyclic(self) -> set[int]:
        """Return the variables that depend on themselves through others."""
        components = self.surroundings.dependencies.components()
        return {v for members in components if len(members) > 1 for v in members}

    @cached_property
    def _ancestral(self) -> set[int]:
        return ancestors(self.surroundings.dependencies.parent_indices, self.observed)

    @cached_property
    def _credal(self) -> CredalNetwork | None:
        return credal_network(self.surroundings.graph.network, self.surroundings.dependencies)

    def _by_window(self, v: int, seen: dict[int, int]) -> tuple[Floats, Floats]:
        """Bound each value in a window grown around a variable and its evidence."""
        if self.surroundings.worlds({v, *seen}) > MOST_OBSERVED_WORLDS:
            raise ProblemTooLarge("The evidence does not fit into one window.")
        scope = self.surroundings.grow({v, *seen}, len(self.surroundings.graph.arrays.size))
        window = self._window(scope)
        found = [window.ratio((v, value), seen) for value in self.values(v)]
        return np.array([low for low, _ in found]), np.array([high for _, high in found])

    def _window(self, scope: tuple[int, ...]) -> _Window:
        size = self.surroundings.graph.arrays.size[list(scope)]
        slots = np.concatenate([np.arange(s.start, s.stop) for s in map(self.slots, scope)])
        program = table(size, np.zeros(len(scope), dtype=np.bool_), self.surroundings.encode(scope).rows)
        worlds = int(size.prod())
        rows = all_rows(program, self.lower[slots], self.upper[slots], worlds)
        values = np.indices(tuple(size)).reshape(len(scope), worlds)
        return _Window(LinearProgram(rows), dict(zip(scope, values, strict=True)), self.budget)


def _few_ancestors(parents: Sequence[Sequence[int]], v: int) -> bool:
    """Tell whether a variable has few enough ancestors to be searched."""
    found, frontier = {v}, [v]
    while frontier and len(found) <= MOST_RELATIVES:
        fresh = set(parents[frontier.pop()]) - found
        found |= fresh
        frontier.extend(fresh)
    return len(found) <= MOST_RELATIVES


@dataclass(frozen=True, slots=True)
class _Window:
    """The rows over the worlds of a window, and the value each of its variables takes in each world."""

    program: LinearProgram
    values: dict[int, Floats]
    budget: Budget

    def ratio(self, claim: tuple[int, int], seen: Mapping[int, int]) -> tuple[float, float]:
        """Bound P(claim | seen) over all distributions of the window with P(seen) > 0."""
        event = np.all([self.values[w] == x for w, x in seen.items()], axis=0)
        mass = event.astype(np.float64)
        claimed = (event & (self.values[claim[0]] == claim[1])).astype(np.float64)
        least = -self._greatest(-mass)[0]
        if least <= 0.0:
            return 0.0, 1.0
        highest = self._most(claimed, mass, least)
        lowest = 1.0 - self._most(mass - claimed, mass, least) - EPSILON
        return max(0.0, lowest), min(1.0, highest)

    def _greatest(self, c: Floats) -> tuple[float, Floats]:
        found = self.program.maximize(c)
        if found is None:
            raise InconsistentNetwork(
                "No distribution satisfies the network: the bounds around the evidence contradict each other."
            )
        return found

    def _most(self, claimed: Floats, mass: Floats, least: float) -> float:
        """Bound the ratio of two masses, the second of which is at least `least`."""
        proved = 1.0

        def at(trial: Floats) -> tuple[Floats, NDArray[np.bool_]]:
            nonlocal proved
            self.budget.require_time()
            ratio = float(trial[0])
            gain, p = self._greatest(claimed - ratio * mass)
            # The objective's own coefficients are rounded, by less than one epsilon each.
            above = (max(gain, 0.0) + EPSILON) / least * (1.0 + 4.0 * EPSILON) + EPSILON
            proved = min(proved, ratio + above)
            total = float(p @ mass)
            attained = min(float(p @ claimed) / total, 1.0) if total > 0.0 else 0.0
            return np.array([attained]), np.array([attained > ratio])

        greatest_quotient(at, np.zeros(1), rounds=DINKELBACH_ROUNDS)
        return proved
