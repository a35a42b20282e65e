"""Sound posteriors: outer bounds on P(x | e) from a window that holds x and all that was observed.

Enters: a factor graph with the marginal bounds that sound propagation reached, and observed values. Leaves:
bounds on P(x | e) for every variable and value, valid in every model with P(e) > 0.

A bound t on P(x | e) is proved by max [P(x, e) - t·P(e)] <= δ over the window, with P(e) >= m there: then
P(x | e) <= t + δ/m. Dinkelbach's iteration finds the least such t. Where no m > 0 can be proved, the bounds
are [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credalog.errors import ImpossibleEvidence, ProblemTooLarge
from credalog.inference.propagation.factors import Floats
from credalog.inference.propagation.kernels import EPSILON, all_rows, compiled, maximize, table
from credalog.inference.propagation.windows import Surroundings
from credalog.logic import World

__all__ = ["MOST_OBSERVED_WORLDS", "sound_posterior"]

MOST_OBSERVED_WORLDS = 256
"""The largest table that a window around evidence may have."""
DINKELBACH_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class _Box:
    """The marginal bounds that hold before anything is observed."""

    lower: Floats
    upper: Floats


def sound_posterior(
    surroundings: Surroundings, lower: Floats, upper: Floats, evidence: World
) -> tuple[Floats, Floats]:
    """Bound P(x | e) for every variable, from marginal bounds and a window each."""
    graph, a = surroundings.graph, surroundings.graph.arrays
    index = {v: i for i, v in enumerate(graph.network.variables)}
    observed = {index[v]: v.values.index(value) for v, value in evidence.items()}
    _check_room(surroundings, observed)
    low, high = np.zeros_like(lower), np.ones_like(upper)
    for v in range(len(a.size)):
        for slot in range(a.variable_slot[v], a.variable_slot[v + 1]):
            value = 1 if a.size[v] == 2 else int(slot - a.variable_slot[v])
            if v in observed:
                low[slot] = high[slot] = float(observed[v] == value)
            else:
                low[slot], high[slot] = _bounds(surroundings, _Box(lower, upper), v, value, observed)
    return low, high


def _check_room(surroundings: Surroundings, observed: dict[int, int]) -> None:
    sizes = surroundings.graph.arrays.size
    if surroundings.worlds(observed) * max(sizes, default=2) > MOST_OBSERVED_WORLDS:
        raise ProblemTooLarge(
            f"{len(observed)} observed variables do not fit into one window of sound propagation.",
            advice="Observe fewer variables, or ask exact inference.",
        )


def _bounds(
    surroundings: Surroundings, box: _Box, v: int, value: int, observed: dict[int, int]
) -> tuple[float, float]:
    """Bound P(v = value | e) in a window grown around v and the observed variables."""
    a = surroundings.graph.arrays
    scope = surroundings.grow({v, *observed}, len(a.size))
    size = a.size[list(scope)]
    values = np.indices(tuple(size)).reshape(len(scope), -1)
    seen = np.all([values[scope.index(w)] == x for w, x in observed.items()], axis=0)
    claimed = (seen & (values[scope.index(v)] == value)).astype(np.float64)
    slots = np.concatenate([np.arange(a.variable_slot[w], a.variable_slot[w + 1]) for w in scope])
    program = table(size, np.zeros(len(scope), dtype=np.bool_), surroundings.encode(scope).rows)
    G = all_rows(program, box.lower[slots], box.upper[slots], len(claimed))
    mass, p = seen.astype(np.float64), np.empty(len(claimed))
    if maximize(G, len(G), mass, p)[0] <= 0.0:
        raise ImpossibleEvidence("Every model gives the evidence probability zero.")
    least = -maximize(G, len(G), -mass, p)[0]
    if least <= 0.0:
        return 0.0, 1.0
    most = _most(G, claimed, mass, least)
    return max(0.0, 1.0 - _most(G, mass - claimed, mass, least) - EPSILON), min(1.0, most)


@compiled
def _most(G: Floats, claimed: Floats, mass: Floats, least: float) -> float:
    """Bound the ratio of two masses, the second of which is at least `least`."""
    p = np.empty(len(mass))
    proved, ratio = 1.0, 0.0
    for _ in range(DINKELBACH_ROUNDS):
        gain, feasible = maximize(G, len(G), claimed - ratio * mass, p)
        # The objective's own coefficients are rounded, by less than one epsilon each.
        proved = min(proved, ratio + (max(gain, 0.0) + EPSILON) / least * (1.0 + 4.0 * EPSILON) + EPSILON)
        attained = (p * claimed).sum() / max((p * mass).sum(), 1e-300)
        if not feasible or attained <= ratio:
            break
        ratio = min(attained, 1.0)
    return proved
