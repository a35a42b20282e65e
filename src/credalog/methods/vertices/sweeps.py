"""Expectations of sums of local functions, swept through by compiled loops: node by node, all in the cache.

Input: the steps of an elimination as flat arrays, and for every node which vertices are still allowed.
Output: the same numbers as `Sums.passage` and `Sums.contributions` compute for many nodes side by side, up to
the order of additions (docs/proofs.md, proof 27), several times sooner where numba is installed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.methods.vertices.elimination import Bools
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.jit import can_compile, compiled, is_ready
from credalog.program.program import Floats
from credalog.tables.cones import Array

__all__ = ["Pace", "Program", "Swept"]

LONG = 48
"""After so many batches a search is a long one, and compiled loops are worth being loaded."""

LOADING, COMPILING = 1.5, 10.0
"""The seconds that must be left for loops to be loaded, or to be compiled that never were on this machine."""

AT_ONCE = 1 << 22
"""How many numbers are multiplied between two looks at the clock."""

SELDOM = 16
"""In one of so many nodes the choice that contexts agree on is tried."""

PROVED, FOUND, STUCK, OPEN = range(4)
"""What a search ends with: no positive score, one, a score too near to zero; or there is more to do."""

Ints = NDArray[np.intp]

_Work: TypeAlias = tuple[Floats, Floats, Floats, Ints, Floats, Ints]
"""Room for what is read, its weights, means by vertex, choices, a sum by value; and where all steps begin."""


class Swept(NamedTuple):
    """By node: the bound; what each slot adds if all contexts take it; what blocks lose if they must agree.

    The last two are left at zero where the bound is not above what was asked for.
    """

    total: Floats
    totals: Array
    losses: Array


@dataclass(slots=True)
class Pace:
    """Whether to compile: not what is done before, nor in less time than that takes."""

    budget: Budget
    batches: int = 0
    _compiles: bool | None = field(default=None)

    @property
    def compiles(self) -> bool:
        """Tell whether loops are compiled by now; count one more batch."""
        self.batches += 1
        if self._compiles is None and self.batches > LONG:
            left = self.budget.remaining
            is_there = left >= LOADING and can_compile()
            self._compiles = is_there and (left >= COMPILING or (is_ready(_sweep) and is_ready(_search)))
        return bool(self._compiles)


class Program(NamedTuple):
    """The steps of an elimination, one after the other; what they read are functions, then messages."""

    functions: Floats
    shapes: Ints
    """For each step: its cells, vertices, values, and how many functions or messages enter."""
    reads: Ints
    """For each step, what enters, cell and value: which number is read."""
    theta: Floats
    """For each step, cell, vertex and value."""
    slots: Ints
    """For each step, cell and vertex."""
    ends: Ints
    firsts: Ints
    lengths: Ints

    def sweep(self, rows: Bools, above: float = -inf) -> Swept:
        """Bound all nodes, and look closer at those with a bound above a number."""
        found = Swept(np.zeros(len(rows)), np.zeros(rows.shape), np.zeros((len(rows), len(self.firsts))))
        _sweep(rows, above, *found, self)
        return found

    def search(self, start: Bools, rounding: float, budget: Budget) -> Bools | None:
        """Return a choice of vertices with a positive score; None where it is proved that there is none."""
        stack = np.zeros((len(start) + 2, len(start)), dtype=np.bool_)
        stack[0], depth, state = start, 1, OPEN
        at_once = max(1, AT_ONCE // len(self.theta))
        while state == OPEN:
            budget.require_time()
            depth, state = _search(stack, depth, at_once, rounding, self)
        if state == STUCK:
            raise OutOfTime
        return stack[depth] if state == FOUND else None


@compiled
def _sweep(
    rows: Bools, above: float, total: Floats, totals: Floats, losses: Floats, program: Program
) -> None:
    """Go up and down through all steps, for one node after the other."""
    work = _work(program)
    for i in range(len(rows)):
        total[i] = _go_up(rows[i], 0, work, program)
        if total[i] > above:
            _go_down(rows[i], work, totals[i], losses[i], program)


@compiled
def _search(stack: Bools, depth: int, at_once: int, rounding: float, program: Program) -> tuple[int, int]:
    """Go on with a search, deepest nodes first; return how many are left, and what was found."""
    work = _work(program)
    first_step = _first_steps(stack.shape[1], program)
    totals, losses = np.zeros(stack.shape[1]), np.zeros(len(program.firsts))
    row, agreed, last = stack[0].copy(), stack[0].copy(), stack[0].copy()
    step = 0
    for node in range(at_once):
        if depth == 0:
            return depth, PROVED
        depth -= 1
        row[:] = stack[depth]
        if node > 0:
            step = _first_change(row, last, first_step, len(program.shapes))
        last[:] = row
        if _go_up(row, step, work, program) + rounding <= 0.0:
            continue
        totals[:], losses[:] = 0.0, 0.0
        _go_down(row, work, totals, losses, program)
        block = _loses_most(row, losses, program)
        if block < 0 or node % SELDOM == 0:
            _agree(row, totals, agreed, program)
            last[:] = agreed
            if _go_up(agreed, 0, work, program) - rounding > 0.0:
                stack[depth] = agreed
                return depth, FOUND
            if block < 0:
                return depth, STUCK
        depth = _push_halves(stack, depth, row, totals, program.firsts[block], program.lengths[block])
    return depth, (PROVED if depth == 0 else OPEN)


@compiled
def _work(program: Program) -> _Work:
    """Make room for one node after the other."""
    steps, cells = len(program.shapes), program.shapes[:, 0].sum()
    begins = np.zeros((steps + 1, 4), dtype=np.intp)
    begins[0, 0] = len(program.functions)
    for s in range(steps):
        n, vertices, values, entries = program.shapes[s]
        begins[s + 1, 0] = begins[s, 0] + n
        begins[s + 1, 1] = begins[s, 1] + entries * n * values
        begins[s + 1, 2] = begins[s, 2] + n * vertices * values
        begins[s + 1, 3] = begins[s, 3] + n * vertices
    held = np.concatenate((program.functions, np.zeros(cells)))
    met = np.empty(program.shapes[:, 2].max())
    return (
        held,
        np.zeros(len(held)),
        np.empty(len(program.slots)),
        np.empty(len(held), dtype=np.intp),
        met,
        begins,
    )


@compiled
def _first_steps(count: int, program: Program) -> Ints:
    """Return for each slot the step that asks for it."""
    found, place = np.full(count, len(program.shapes)), 0
    for s in range(len(program.shapes)):
        for _ in range(program.shapes[s, 0] * program.shapes[s, 1]):
            found[program.slots[place]] = s
            place += 1
    return found


@compiled
def _first_change(row: Bools, last: Bools, first_step: Ints, none: int) -> int:
    """Return the first step that asks for a slot in which two rows differ: what is before is as it was."""
    found = none
    for slot in range(len(row)):
        if row[slot] != last[slot] and first_step[slot] < found:
            found = first_step[slot]
    return found


@compiled
def _go_up(row: Bools, first: int, work: _Work, program: Program) -> float:
    """Sum out all variables from a step on; each cell takes the best vertex that is allowed."""
    held, _, means, picks, met, begins = work
    for s in range(first, len(program.shapes)):
        cells, vertices, values, entries = program.shapes[s]
        message, read, at, place = begins[s]
        for cell in range(cells):
            for k in range(values):
                met[k] = 0.0
                for e in range(entries):
                    met[k] += held[program.reads[read + (e * cells + cell) * values + k]]
            best = -np.inf
            for v in range(vertices):
                mean = 0.0
                for k in range(values):
                    mean += program.theta[at + k] * met[k]
                means[place] = mean
                if row[program.slots[place]] and mean > best:
                    best, picks[message + cell] = mean, v
                at, place = at + values, place + 1
            held[message + cell] = best
    total = 0.0
    for end in program.ends:
        total += held[end]
    return total


@compiled
def _go_down(row: Bools, work: _Work, totals: Floats, losses: Floats, program: Program) -> None:
    """Share the weight of each message out among what it was made of, and add up what vertices contribute."""
    held, weights, means, picks, _, begins = work
    weights[:] = 0.0
    weights[program.ends] = 1.0
    relaxed = np.zeros(len(row))
    for s in range(len(program.shapes) - 1, -1, -1):
        cells, vertices, values, entries = program.shapes[s]
        message, read, at, place = begins[s]
        for cell in range(cells):
            weight, start = weights[message + cell], place + cell * vertices
            for v in range(vertices):
                totals[program.slots[start + v]] += weight * means[start + v]
            relaxed[program.slots[start]] += weight * held[message + cell]
            chosen = at + (cell * vertices + picks[message + cell]) * values
            for e in range(entries):
                for k in range(values):
                    weights[program.reads[read + (e * cells + cell) * values + k]] += (
                        weight * program.theta[chosen + k]
                    )
    for b in range(len(program.firsts)):
        best = -np.inf
        for slot in range(program.firsts[b], program.firsts[b] + program.lengths[b]):
            if row[slot]:
                best = max(best, totals[slot])
        losses[b] = relaxed[program.firsts[b]] - best


@compiled
def _loses_most(row: Bools, losses: Floats, program: Program) -> int:
    """Return the block with a choice that loses most if its contexts must agree; -1 where none has one."""
    found, most = -1, -np.inf
    for b in range(len(program.firsts)):
        if losses[b] > most and row[program.firsts[b] : program.firsts[b] + program.lengths[b]].sum() > 1:
            found, most = b, losses[b]
    return found


@compiled
def _agree(row: Bools, totals: Floats, agreed: Bools, program: Program) -> None:
    """Choose in every block the allowed vertex that adds most."""
    agreed[:] = False
    for b in range(len(program.firsts)):
        best = -1
        for slot in range(program.firsts[b], program.firsts[b] + program.lengths[b]):
            if row[slot] and (best < 0 or totals[slot] > totals[best]):
                best = slot
        agreed[best] = True


@compiled
def _push_halves(stack: Bools, depth: int, row: Bools, totals: Floats, first: int, length: int) -> int:
    """Share the allowed vertices of a block between two nodes; what adds more comes last and is next."""
    half = (row[first : first + length].sum() + 1) // 2
    seen, best = 0, -1
    is_late = False
    stack[depth], stack[depth + 1] = row, row
    for slot in range(first, first + length):
        if row[slot]:
            stack[depth + (1 if seen < half else 0), slot] = False
            if best < 0 or totals[slot] > totals[best]:
                best, is_late = slot, seen >= half
            seen += 1
    if not is_late:
        swapped = stack[depth].copy()
        stack[depth] = stack[depth + 1]
        stack[depth + 1] = swapped
    return depth + 2
