"""Models of a credal network with statements that attain much, by sequential linear programming.

Input: functions (`Scores`), the vertices of all blocks, and a start. Output: tables that satisfy all
statements, and the posterior that they attain, in floats: a witness to be checked.

P(event, evidence), P(evidence) and what statements demand are linear in each block, so that one pass over
the network tells how each would change if a block moved towards one of its vertices. A linear
program chooses moves that keep all demands and raise P(event, evidence) - t P(evidence) most, t being what
is attained (Dinkelbach, 1967), within a radius that shrinks where moves do not keep what they promise.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from credalog.methods.vertices.constraints import Scores
from credalog.methods.vertices.expectations import Slots, Sums
from credalog.network.structure import ancestors
from credalog.numbers.budget import Budget, OutOfTime
from credalog.program.descent import Radii, descent
from credalog.program.program import Floats
from credalog.program.solvers.highs import elastic_step
from credalog.tables.cones import Array
from credalog.tables.credal import CredalNetwork

__all__ = ["Model", "walk"]

STEPS = 30
"""How many linear programs one walk may solve."""

PRICE = 20.0
"""What a demand that is missed costs, beside the posterior."""

LEAST_GAIN = 1e-9
"""A step that promises less, for its radius, is not taken."""

RADII = Radii(1.0, smallest=1e-6)
"""How far each block moves towards its vertices; a walk of smaller steps has converged."""

FEASIBLE = -1e-12
"""A demand that is missed by less is met."""

SAFETY = 1e-11
"""Demands are asked for with so much to spare, for the solver's tolerances."""


@dataclass(frozen=True, slots=True)
class Model:
    """Tables, the posterior that they attain, and by how much all demands together are missed."""

    tables: Mapping[int, Array]
    value: float
    missed: float


@dataclass(frozen=True, slots=True)
class _Point:
    """A model, P(evidence), its demands, and how all change if a block goes to a vertex: a row each."""

    model: Model
    demands: Floats
    score: Floats
    slopes: Floats
    blocks: sp.csr_array


def walk(
    credal: CredalNetwork,
    scores: Scores,
    vertices: Mapping[int, Array],
    start: Mapping[int, Array],
    budget: Budget,
) -> Model | None:
    """Return the best model met on the way from some tables; None where none meets all demands."""
    best: Model | None = None
    with suppress(OutOfTime):
        first = _point(credal, scores, vertices, start, budget)
        if first is None:
            return None
        step = partial(_stepped, credal, scores, vertices, budget)
        for here in descent(first, step, _merit, steps=STEPS, radii=RADII, gain=LEAST_GAIN):
            model = here.model
            if model.missed <= 0.0 and (best is None or model.value > best.value):
                best = model
    return best


def _merit(point: _Point) -> float:
    return PRICE * point.model.missed - point.model.value


def _point(
    credal: CredalNetwork,
    scores: Scores,
    vertices: Mapping[int, Array],
    tables: Mapping[int, Array],
    budget: Budget,
) -> _Point | None:
    """Evaluate tables; None where the evidence has no probability."""
    wider = {x: np.concatenate([tables[x][..., None, :], mine], axis=-2) for x, mine in vertices.items()}
    slots = Slots.of(wider)
    row = np.zeros((1, int(slots.lengths.sum())), dtype=np.bool_)
    row[0, slots.firsts] = True
    functions = (scores.inside, scores.mass, *scores.demands)
    needed = sorted(ancestors(credal.parents, {x for f in functions for x in f.scope}))
    parents = {x: credal.parents[x] for x in needed}
    # One pass for all of them: each is alone in a node of its own.
    sums = Sums(slots, parents, credal.sizes, functions, np.eye(len(functions)))
    rows = np.repeat(row, len(functions), axis=0)
    passage = sums.passage(rows, budget)
    totals = sums.contributions(rows, passage)[0]
    values = [float(total) for total in passage.total]
    rates = totals - totals[:, slots.firsts].repeat(slots.lengths, axis=1)
    inside, mass, *demands = values
    if mass <= 0.0:
        return None
    value = inside / mass
    missed = sum(max(-d, 0.0) for d in demands if d < FEASIBLE)
    moves = np.ones(row.shape[1], dtype=np.bool_)
    moves[slots.firsts] = False
    of_block = np.repeat(np.arange(len(slots.firsts)), slots.lengths)[moves]
    ones = np.ones(len(of_block))
    blocks = sp.csr_array((ones, (of_block, np.arange(len(of_block)))))
    score = (rates[0] - value * rates[1])[moves] / mass
    slopes = rates[2:, moves]
    return _Point(Model(dict(tables), value, missed), np.array(demands), score, slopes, blocks)


def _stepped(
    credal: CredalNetwork,
    scores: Scores,
    vertices: Mapping[int, Array],
    budget: Budget,
    here: _Point,
    radius: float,
) -> _Point | None:
    """Move every block towards its vertices as the linear program says; None where that gains nothing."""
    count, blocks = len(here.demands), here.blocks.shape[0]
    rows = sp.csr_array(sp.vstack([sp.csr_array(here.slopes), here.blocks], format="csr"))
    lower = np.concatenate([SAFETY - here.demands, np.full(blocks, -np.inf)])
    upper = np.concatenate([np.full(count, np.inf), np.full(blocks, radius)])
    columns = len(here.score)
    price = np.concatenate([np.full(count, PRICE), np.full(blocks, 1e4)])
    step = elastic_step(
        -here.score,
        rows,
        (lower, upper),
        (np.zeros(columns), np.full(columns, radius)),
        price=price,
        timeout=budget.for_solver,
    )
    if step is None or (here.model.missed <= 0.0 and float(here.score @ step) < LEAST_GAIN * radius):
        return None
    return _point(credal, scores, vertices, _moved(here.model.tables, vertices, step), budget)


def _moved(tables: Mapping[int, Array], vertices: Mapping[int, Array], step: Floats) -> dict[int, Array]:
    """Mix every distribution with the vertices of its block."""
    moved, first = {}, 0
    for x, mine in vertices.items():
        shares = np.maximum(step[first : first + mine[..., 0].size].reshape(mine.shape[:-1]), 0.0)
        shares = shares / np.maximum(shares.sum(axis=-1, keepdims=True), 1.0)
        stay = 1.0 - shares.sum(axis=-1, keepdims=True)
        moved[x] = stay * tables[x] + (shares[..., None] * mine).sum(axis=-2)
        first += mine[..., 0].size
    return moved
