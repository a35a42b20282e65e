"""Posteriors by propagation: P(x | e) in credal networks of two-valued variables.

Input: a factor graph in which each variable is assessed once, by intervals given every configuration of its
parents, and observed values. Output: an interval of P(x | e) for every variable.

The messages are those of the 2U algorithm (Fagiuoli and Zaffalon 1998), iterated where the network has
loops (L2U, Ide and Cozman 2004). Upwards, what lies below a variable x matters only through the likelihood
ratio of x, kept here as the *support* α = P(e|x) / (P(e|x) + P(e|¬x)), so that no evidence is α = 1/2,
certainty is 0 or 1, and independent pieces of evidence combine by α⊕β = αβ / (αβ + (1-α)(1-β)), which also
takes a prior to its posterior. Downwards, a parent sends the interval of its probability given all evidence
but that below the child. Each quantity is a ratio of linear functions in any one probability, so its
extremes lie at corners.

On a polytree the intervals are exact. With loops they are an estimate, neither inside nor outside. Polytrees
whose variables have more than two values, or are assessed in other words, are left to set propagation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credalog.errors import CredalogError, Option, impossible_evidence
from credalog.methods.intervals.conditioning import polytree_posterior
from credalog.methods.intervals.factors import Arrays, FactorGraph, Floats, Indices
from credalog.methods.intervals.kernels import corner_range, corner_weight
from credalog.network.formulas import World
from credalog.network.graph import DependencyGraph
from credalog.numbers.budget import Budget
from credalog.numbers.jit import compiled

__all__ = ["Posterior", "posterior"]


class Posterior(NamedTuple):
    """The intervals reached, in how many rounds, and the largest change of the last one."""

    lower: Floats
    upper: Floats
    iterations: int
    largest_change: float


class _State(NamedTuple):
    """All messages of 2U: what each family says of its head, and the support it gives each parent."""

    prior: Floats
    support: Floats
    observed: Floats
    own_factor: Indices


def posterior(
    graph: FactorGraph,
    dependencies: DependencyGraph,
    evidence: World,
    *,
    tolerance: float,
    max_iterations: int,
    budget: Budget,
) -> Posterior:
    """Propagate evidence through a credal network, sweeping parents first and back until nothing changes."""
    if obstacle := _obstacle(graph, dependencies):
        return _exact(graph, dependencies, evidence, obstacle, budget)
    state = _initial(graph, evidence)
    order = np.array([x for members in dependencies.components() for x in members], dtype=np.int64)
    changes, rounds = [1.0, 1.0], 0
    # One direction may stand still while the other still has news.
    while (
        max(changes[-2:]) > tolerance
        and min(changes) >= 0.0
        and rounds < max_iterations
        and not budget.is_spent
    ):
        rounds += 1
        changes.append(_sweep(graph.arrays, state, order if rounds % 2 else order[::-1].copy()))
    lower, upper = np.empty(len(order)), np.empty(len(order))
    if min(changes) < 0.0 or not _posteriors(graph.arrays, state, lower, upper):
        raise impossible_evidence()
    return Posterior(lower, upper, rounds, max(changes[-2:]))


def _obstacle(graph: FactorGraph, dependencies: DependencyGraph) -> str:
    """Say why P(x | e) has no meaning for the messages of 2U; nothing where it has."""
    heads = [factor.scope[-1] for factor in graph.factors]
    if any(not factor.separate for factor in graph.factors) or any(n != 2 for n in graph.arrays.size):
        return "Evidence is propagated only where every sentence bounds a proposition given all its parents."
    if len(set(heads)) < len(heads):
        name = graph.network.variables[next(v for v in heads if heads.count(v) > 1)].name
        return f"{name} is assessed twice, so its evidence cannot be propagated."
    return "Evidence is not propagated through cyclic networks." if dependencies.is_cyclic else ""


def _exact(
    graph: FactorGraph, dependencies: DependencyGraph, evidence: World, obstacle: str, budget: Budget
) -> Posterior:
    """Propagate sets instead of intervals, where that is exact; refuse anything else."""
    found = polytree_posterior(graph.network, dependencies, evidence, budget)
    if found is None:
        raise CredalogError(
            obstacle,
            advice="With {0} the answer is exact, and {1} bounds the posterior in any network.",
            remedies=(Option("method", "auto"), Option("method", "sound")),
        )
    return Posterior(*found, 1, 0.0)


def _initial(graph: FactorGraph, evidence: World) -> _State:
    """Start with vacuous priors, no support, and the observed values."""
    n, variables = len(graph.arrays.size), graph.network.variables
    observed = np.full(n, 0.5)
    for variable, value in evidence.items():
        observed[variables.index(variable)] = float(variable.values.index(value))
    own = np.full(n, -1)
    for f, factor in enumerate(graph.factors):
        own[factor.scope[-1]] = f
    prior = np.empty((2, n))
    prior[0], prior[1] = 0.0, 1.0
    return _State(prior, np.full((2, len(graph.arrays.edge_variable)), 0.5), observed, own)


@compiled
def _weigh(a: float, b: float) -> float:
    """Combine two independent supports; -1 where one says certain and the other impossible."""
    both = a * b
    neither = (1.0 - a) * (1.0 - b)
    return both / (both + neither) if both + neither > 0.0 else -1.0


@compiled
def _combine(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """Combine two intervals of support end by end; an empty result, (1, 0), means contradictory certainty.

    Where the ends contradict each other but the intervals do not, what is certain in one of them wins: the
    other has values that allow it.
    """
    lower, upper = _weigh(a[0], b[0]), _weigh(a[1], b[1])
    if (lower < 0.0 and (a[1] == 0.0 or b[1] == 0.0)) or (upper < 0.0 and (a[0] == 1.0 or b[0] == 1.0)):
        return 1.0, 0.0
    lower = 1.0 if lower < 0.0 else lower
    upper = 0.0 if upper < 0.0 else upper
    # The ends of a point may come out in the wrong order by a rounding error.
    return min(lower, upper), max(lower, upper)


@compiled
def _gathered(a: Arrays, s: _State, v: int, omitted: int) -> tuple[float, float]:
    """Combine the evidence at a variable and the support of all families below it but one."""
    support = (s.observed[v], s.observed[v])
    for k in range(a.variable_start[v], a.variable_start[v + 1]):
        e = a.variable_edge[k]
        if e != omitted and a.edge_factor[e] != s.own_factor[v] and support[0] <= support[1]:
            support = _combine(support, (s.support[0, e], s.support[1, e]))
    return support


@compiled
def _belief(a: Arrays, s: _State, v: int, omitted: int) -> tuple[float, float]:
    """Return the probability of a variable given all evidence but that below one family."""
    support = _gathered(a, s, v, omitted)
    if support[0] > support[1]:
        return support
    return _combine((s.prior[0, v], s.prior[1, v]), support)


@compiled
def _support(
    below: Floats,
    above: Floats,
    lower: Floats,
    upper: Floats,
    parent: int,
    head: tuple[float, float],
    most: bool,
) -> float:
    """Return the least or greatest support that a family gives one parent.

    N = Σ_u P(u)·(θ(1u)·α + (1-θ(1u))·(1-α)) for the parent true, D likewise for it false, and the support is
    N/(N+D): each θ sits at the end that helps, all others at a corner. Where this makes N = D = 0, the other
    end may still make the evidence possible: then the support is 0 or 1, whichever is the worse. A corner
    where it cannot is left out, since the support is constant on the way there; -1 if all corners are.
    """
    worlds, k = len(below), len(lower)
    bit = 1 << (k - 1 - parent)
    best = -1.0
    for corner in range(worlds):
        alpha = head[1] if corner & bit else head[0]
        mass, spare = np.zeros(2), 0.0
        for world in range(worlds):
            true = 1 if world & bit else 0
            raised = (alpha >= 0.5) == (most == (true == 1))
            theta, other = (above[world], below[world]) if raised else (below[world], above[world])
            weight = corner_weight(world, corner, lower, upper, parent)
            mass[true] += weight * (theta * alpha + (1.0 - theta) * (1.0 - alpha))
            spare += weight * (other * alpha + (1.0 - other) * (1.0 - alpha))
        if mass[0] + mass[1] > 0.0:
            value = mass[1] / (mass[0] + mass[1])
        elif spare > 0.0:
            value = 0.0 if most else 1.0
        else:
            continue
        if best < 0.0 or (value > best) == most:
            best = value
    return best


@compiled
def _update(a: Arrays, s: _State, f: int) -> float:
    """Renew a head's prior and its parents' support; -1 where the evidence is contradictory."""
    first, head_edge = a.edge_start[f], a.edge_start[f + 1] - 1
    k, x = head_edge - first, a.edge_variable[head_edge]
    below = a.coefficient[a.table_start[f] : a.table_start[f] + 2**k]
    above = a.coefficient[a.table_start[f] + 2**k : a.table_start[f + 1]]
    lower, upper = np.empty(k), np.empty(k)
    for i in range(k):
        lower[i], upper[i] = _belief(a, s, a.edge_variable[first + i], first + i)
        if lower[i] > upper[i]:
            return -1.0
    prior = corner_range(below, above, lower, upper)
    change = max(abs(prior[0] - float(s.prior[0, x])), abs(prior[1] - float(s.prior[1, x])))
    s.prior[0, x], s.prior[1, x] = prior
    alpha = _gathered(a, s, x, -1)
    if alpha[0] > alpha[1]:
        return -1.0
    for i in range(k):
        for side in range(2):
            value = 0.5
            if alpha[0] != 0.5 or alpha[1] != 0.5:
                value = _support(below, above, lower, upper, i, alpha, side == 1)
                if value < 0.0:
                    return -1.0
            change = max(change, abs(value - float(s.support[side, first + i])))
            s.support[side, first + i] = value
    return change


@compiled
def _sweep(a: Arrays, s: _State, order: Indices) -> float:
    """Update the families of all variables in order; return the largest change."""
    largest = 0.0
    for v in order:
        if s.own_factor[v] >= 0:
            change = _update(a, s, s.own_factor[v])
            if change < 0.0:
                return -1.0
            largest = max(largest, change)
    return largest


@compiled
def _posteriors(a: Arrays, s: _State, lower: Floats, upper: Floats) -> bool:
    """Combine prior and support at every variable; False where the evidence is impossible."""
    for v in range(len(lower)):
        lower[v], upper[v] = _belief(a, s, v, -1)
        if lower[v] > upper[v]:
            return False
    return True
