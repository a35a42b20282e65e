"""Exact posteriors where what bears on a variable is a polytree of a credal network, of any number of values.

Input: a credal network, or any network to be read as one, and observed values. Output: bounds on P(x | e),
one per slot of x: a two-valued variable has one, for its second value; any other has one per value.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from credalog.errors import ProblemTooLarge
from credalog.methods.intervals.factors import Floats, slot_values
from credalog.methods.vertices.sets import beliefs, check_possible
from credalog.network.formulas import World
from credalog.network.graph import DependencyGraph
from credalog.network.relevance import is_polytree, relevance
from credalog.network.sentences import Network
from credalog.numbers.budget import Budget, OutOfTime
from credalog.tables.credal import CredalNetwork, Question, credal_network

__all__ = ["polytree_posterior", "require_possible", "set_bounds"]


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
