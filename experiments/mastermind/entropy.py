"""The model of greatest entropy under the Logical Credal Network of a board.

Input: the knowledge. Output: `MostEntropic`, the lying probabilities of the model with the greatest entropy
and how far, provably, its entropy may be from the greatest one.

The lies are independent, so the entropy is a sum over rounds; the sentences tie neighbours only. A local
solver improves a model; dynamic programming over ever finer cells bounds the entropy of all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.optimize import NonlinearConstraint, minimize

from experiments.mastermind.board import Knowledge, Probabilities
from experiments.mastermind.game import LYING
from experiments.mastermind.search import MARGIN, SLACK, fit_to_knowledge, partner, walk

__all__ = ["MostEntropic", "entropy", "most_entropic"]

TOLERANCE = 1e-3
"""The entropy, in nats, that the proof may leave open."""

LEVELS = range(5, 12)
"""Each level cuts [0.3, 0.7] into 2^level cells per round."""


@dataclass(frozen=True, slots=True, eq=False)
class MostEntropic:
    """The lying probabilities found, and how much more entropy a model could have."""

    lying: Probabilities
    gap: float


def most_entropic(knowledge: Knowledge) -> MostEntropic:
    """Maximise the entropy over all models: improve one locally, then rule out every other region."""
    rounds = knowledge.is_or.size + 1
    low, high = np.full(rounds, LYING[0]), np.full(rounds, LYING[1])
    chain = knowledge.is_or, knowledge.lower, knowledge.upper
    if not fit_to_knowledge(low, high, chain):
        raise ValueError("the knowledge contradicts itself: no P(l_i) in [0.3, 0.7] satisfies it")
    model = _polish(walk(np.clip(0.5, low, high), chain, 0), knowledge)
    alive, bound = np.ones((rounds, 2 ** LEVELS[0]), dtype=np.bool_), np.inf
    for _ in LEVELS:
        marginal = _max_marginals(alive, chain)
        bound = marginal.max()
        wish = np.clip(_middle(marginal.argmax(axis=1), alive.shape[1]), low, high)
        model = _better(model, walk(wish, chain, 0), knowledge)
        if bound - entropy(model) <= TOLERANCE:
            break
        alive = np.repeat(marginal >= entropy(model), 2, axis=1)
    return MostEntropic(model, gap=max(bound - entropy(model), 0.0))


@njit(cache=True)
def entropy(p: Probabilities) -> float:
    """Return the entropy, in nats, of independent lies."""
    return float(-(p * np.log(p) + (1 - p) * np.log(1 - p)).sum())


def _middle(cell: NDArray[np.intp], cells: int) -> Probabilities:
    return np.asarray(LYING[0] + (cell + 0.5) * (LYING[1] - LYING[0]) / cells)


@njit(cache=True)
def _max_marginals(alive: NDArray[np.bool_], chain: Any) -> Probabilities:
    """Bound, for every cell of every round, the entropy of the models that pass through it.

    Dynamic programming over the chain: a cell counts with the greatest entropy inside it, and two
    neighbouring cells are compatible when some two points of theirs satisfy the sentence between them.
    """
    rounds, cells = alive.shape
    edge = LYING[0] + (LYING[1] - LYING[0]) * np.arange(cells + 1) / cells
    gain = np.empty(cells)
    for c in range(cells):
        gain[c] = entropy(np.array([min(max(0.5, edge[c]), edge[c + 1])]))
    ahead = np.full((rounds, cells), -np.inf)
    behind = np.full((rounds, cells), -np.inf)
    ahead[-1], behind[0] = np.where(alive[-1], gain, -np.inf), np.where(alive[0], gain, -np.inf)
    for i in range(1, rounds):
        _pass_on(behind[i - 1], behind[i], alive[i], gain, edge, chain, i - 1)
        j = rounds - 1 - i
        _pass_on(ahead[j + 1], ahead[j], alive[j], gain, edge, chain, j)
    return np.asarray(ahead + behind - gain)


@njit(cache=True)
def _pass_on(
    source: Probabilities, target: Probabilities, alive: NDArray[np.bool_],
    gain: Probabilities, edge: Probabilities, chain: Any, k: int,
) -> None:  # fmt: skip
    """Give every cell of a round its gain and the best of the compatible cells next door."""
    is_or, lower, upper = chain
    reachable = np.flatnonzero(source > -np.inf)
    for c in np.flatnonzero(alive):
        least, most = partner(edge[c], edge[c + 1], is_or[k], lower[k], upper[k])
        best = -np.inf
        for d in reachable:
            if edge[d + 1] >= least - MARGIN and edge[d] <= most + MARGIN and source[d] > best:
                best = source[d]
        target[c] = gain[c] + best


def _better(model: Probabilities, candidate: Probabilities, knowledge: Knowledge) -> Probabilities:
    """Keep the model unless the candidate, polished, has more entropy."""
    if entropy(candidate) <= entropy(model):
        return model
    return max(candidate, _polish(candidate, knowledge), key=entropy)


def _polish(model: Probabilities, knowledge: Knowledge) -> Probabilities:
    """Improve a model with a local solver; keep it where the solver fails."""
    sentences = NonlinearConstraint(
        knowledge.probability, knowledge.lower, knowledge.upper, jac=lambda p: _slopes(p, knowledge)
    )
    found = minimize(  # type: ignore[call-overload] # its stubs refuse lambdas
        lambda p: -entropy(p),
        model,
        jac=lambda p: np.log(p / (1 - p)),
        bounds=[LYING] * model.size,
        constraints=sentences,
        method="SLSQP",
        tol=1e-12,
    )
    polished = np.clip(found.x, *LYING)
    improved = knowledge.violation(polished) <= SLACK and entropy(polished) > entropy(model)
    return polished if improved else model


def _slopes(p: Probabilities, knowledge: Knowledge) -> NDArray[np.float64]:
    """Return the derivative of every formula's probability by every P(l_i)."""
    slopes = np.zeros((p.size - 1, p.size))
    k = np.arange(p.size - 1)
    slopes[k, k] = np.where(knowledge.is_or, 1 - p[1:], p[1:])
    slopes[k, k + 1] = np.where(knowledge.is_or, 1 - p[:-1], p[:-1])
    return slopes
