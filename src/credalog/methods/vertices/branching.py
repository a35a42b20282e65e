"""Branch and bound over the vertices of a credal network: posteriors where loops rule set propagation out.

Enters: a credal network and a query about one variable given literals. Leaves: an interval whose bounds hold
for every model, at any time limit, and whose witnesses are choices of vertices, re-evaluated by variable
elimination.

P(event | evidence) is linear-fractional in each theta(x | configuration), so it is extreme at vertices. A
node of the search allows some vertices in each block; `relaxation` bounds it by letting contexts choose
apart. The block that loses most when its contexts must agree is split. Nodes are taken best first, many at a
time. Witnesses come from the choice that the contexts would agree on, improved family by family: with all
else fixed the quotient is linear-fractional in all blocks of one family together, so each step is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import inf
from time import monotonic

import numpy as np

from credalog.methods.vertices.elimination import Bools, Plan, plan
from credalog.methods.vertices.hanging_trees import Trimmed, trim
from credalog.methods.vertices.mini_buckets import bounds, contributions, evidence, forward
from credalog.network.relevance import relevance
from credalog.numbers.interval import Endpoint, Interval, Warrant
from credalog.tables.cones import Array
from credalog.tables.credal import Choice, CredalNetwork, Extremes, Question, Table, chosen_tables, eliminate

__all__ = ["branch_and_bound", "extremes"]

CLOSE = 0.95
"""The share of the tolerance to which a search is driven; the rest is for roundings."""

TRIMMING = 0.2
"""The share of the time that may go into replacing trees."""

BATCH = 128
"""How many nodes are bounded at once."""

MAX_NODES = 200_000
"""How many open nodes are kept; beyond, the search stops and reports its bounds."""

STARTS = 6
"""From how many random choices of vertices the first witness is sought."""

GAIN = 1e-12
"""The least improvement, as a share of P(evidence), for which a witness is changed."""

SMALLEST = 1e-150
"""Below this probability of the evidence underflow is not excluded."""


def branch_and_bound(
    credal: CredalNetwork, asked: Question, *, tolerance: float, deadline: float = inf
) -> Interval:
    """Bound the posterior of an event by search over vertices until the gaps close or the deadline passes."""
    return extremes(credal, asked, tolerance=tolerance, deadline=deadline).interval


def extremes(credal: CredalNetwork, asked: Question, *, tolerance: float, deadline: float = inf) -> Extremes:
    """Search as `branch_and_bound` does; name the vertices of both witnesses as well."""
    relevant = relevance(credal.parents, [asked.target], asked.observed)
    tables = {x: credal.table(x, asked.observed) for x in relevant.families}
    trimmed = trim(tables, asked, credal.sizes, deadline=_until(TRIMMING, deadline))
    layout = plan(trimmed.tables, trimmed.asked, trimmed.sizes)
    event = np.array(asked.event, dtype=np.float64)
    upper = _Search(layout, event, CLOSE * tolerance, _until(0.5, deadline)).run()
    lower = _Search(layout, 1 - event, CLOSE * tolerance, deadline).run()
    picks = [_original(trimmed, found.choices(layout)) for found in (lower, upper)]
    values = [_witnessed(tables, asked, pick) for pick in picks]
    margin, warrant = 4 * trimmed.error, _warrant(layout)
    interval = Interval(
        Endpoint(max(0.0, 1 - lower.bound - margin), values[0], warrant),
        Endpoint(min(1.0, upper.bound + margin), values[1], warrant),
    )
    return Extremes(interval, *picks)


def _original(trimmed: Trimmed, choices: Sequence[Choice] | None) -> tuple[Choice, ...] | None:
    """Translate a choice of vertices back to the tables from which trees were trimmed."""
    return None if choices is None else tuple(trimmed.choices(choices))


def _until(share: float, deadline: float) -> float:
    """Return when a share of the time that is left will have passed."""
    return deadline if deadline == inf else monotonic() + share * (deadline - monotonic())


def _warrant(layout: Plan) -> Warrant:
    """Vouch for the bounds unless the evidence is so unlikely that numbers may have vanished."""
    _, most = evidence(layout, layout.start[None])
    return Warrant.CHECKED if most[0] > SMALLEST else Warrant.CLAIMED


def _witnessed(
    tables: Mapping[int, Table], asked: Question, choices: Sequence[Choice] | None
) -> float | None:
    """Evaluate the query under one choice of vertices of the original tables, independently of the search."""
    if choices is None:
        return None
    factors = chosen_tables(tables.values(), choices)
    posterior = eliminate(factors, asked.observed, keep=asked.target)
    return float(posterior[list(asked.event)].sum() / posterior.sum())


@dataclass(frozen=True, slots=True)
class _Found:
    """The bound that a search proved, and the vertices of the best witness, if any gives evidence."""

    bound: float
    value: float
    row: Bools

    def choices(self, layout: Plan) -> list[Choice] | None:
        """Name the vertices of the witness."""
        return layout.choices(self.row) if self.value >= 0 else None


class _Search:
    """Maximise the posterior of one event."""

    def __init__(self, layout: Plan, event: Array, tolerance: float, deadline: float) -> None:
        self._plan, self._event = layout, event
        self._tolerance, self._deadline = tolerance, deadline
        self._value, self._row = -1.0, layout.start
        self._settled = 0.0
        self._open: list[tuple[float, int, Bools, int]] = []
        self._numbers = count()
        # Families are the units of improvement; blocks are contiguous within them.
        starts = [family.start for family in layout.families]
        self._family_firsts = np.searchsorted(layout.firsts, starts)
        self._family_of_block = (
            np.searchsorted(self._family_firsts, np.arange(len(layout.firsts)), "right") - 1
        )

    def run(self) -> _Found:
        """Search until no open node can beat the witness by more than the tolerance."""
        self._try(self._bound(self._plan.start[None]))
        if self._open and -self._open[0][0] > self._target:
            self._improve(self._random_rows())
        while self._open and -self._open[0][0] > self._target and monotonic() < self._deadline:
            if len(self._open) > MAX_NODES:
                break
            self._try(self._bound(self._children()))
        bound = max(self._value, self._settled, -self._open[0][0] if self._open else 0.0)
        return _Found(bound, self._value, self._row)

    @property
    def _target(self) -> float:
        return max(self._value, 0.0) + self._tolerance

    def _random_rows(self) -> Bools:
        """Choose a vertex at random in every block, several times."""
        luck = np.random.default_rng(0).random((STARTS, len(self._plan.start)))
        return self._best_in_block(np.where(self._plan.start, luck, -1.0))

    def _best_in_block(self, values: Array) -> Bools:
        """Mark in every block the first slot of greatest value."""
        layout = self._plan
        best = np.maximum.reduceat(values, layout.firsts, axis=1).repeat(layout.lengths, axis=1)
        marked = values == best
        before = marked.cumsum(axis=1) - marked
        return np.asarray(marked & (before == before[:, layout.firsts].repeat(layout.lengths, axis=1)))

    def _children(self) -> Bools:
        """Take the best open nodes and split each at its block of greatest conflict."""
        rows: list[Bools] = []
        while self._open and len(rows) < BATCH and -self._open[0][0] > self._target:
            _, _, row, block = heappop(self._open)
            first = self._plan.firsts[block]
            allowed = first + np.flatnonzero(row[first : first + self._plan.lengths[block]])
            for part in np.array_split(allowed, 2):
                child = row.copy()
                child[allowed] = False
                child[part] = True
                rows.append(child)
        return np.array(rows)

    def _bound(self, rows: Bools) -> Bools:
        """Bound nodes, keep those worth opening, and return the choice each one's contexts agree on."""
        start = np.full(len(rows), max(self._value, 0.0))
        values, passage = bounds(self._plan, rows, self._event, start)
        found = contributions(self._plan, rows, passage)
        counts = np.add.reduceat(rows, self._plan.firsts, axis=1, dtype=np.intp)
        conflicts = np.where(counts > 1, found.losses, -inf)
        block = conflicts.argmax(axis=1)
        for i, value in enumerate(values.tolist()):
            if value > self._target and counts[i, block[i]] > 1:
                heappush(self._open, (-value, next(self._numbers), rows[i], int(block[i])))
            else:
                self._settled = max(self._settled, value)
        return self._best_in_block(np.where(rows, found.totals, -inf))

    def _try(self, rows: Bools) -> None:
        """Evaluate choices of vertices; improve the best one if it beats the witness."""
        values = self._posteriors(rows)
        best = int(values.argmax())
        if values[best] > self._value + GAIN:
            self._improve(rows[best : best + 1])

    def _posteriors(self, rows: Bools) -> Array:
        """Evaluate the posterior of rows with one vertex in each block; -1 where P(evidence) is zero."""
        passage = forward(self._plan, rows, self._event, np.zeros(len(rows)))
        total = passage.inside + passage.outside
        return np.where(total > 0, passage.inside / np.where(total > 0, total, 1.0), -1.0)

    def _improve(self, rows: Bools) -> None:
        """Change one family at a time, the one that gains most, until none gains; keep the best row."""
        values = self._posteriors(rows)
        moving = np.arange(len(rows))
        while len(moving) and monotonic() < self._deadline:
            changed = self._changed(rows[moving], np.maximum(values[moving], 0.0))
            better = self._posteriors(changed)
            gained = better > values[moving] + GAIN
            moving, changed, better = moving[gained], changed[gained], better[gained]
            rows[moving], values[moving] = changed, better
        best = int(values.argmax())
        if values[best] > self._value:
            self._value, self._row = float(values[best]), rows[best].copy()

    def _changed(self, rows: Bools, values: Array) -> Bools:
        """Return the rows with their most profitable family at its best vertices."""
        layout = self._plan
        totals = contributions(layout, rows, forward(layout, rows, self._event, values)).totals
        best = self._best_in_block(np.where(layout.start, totals, -inf))
        gains = np.add.reduceat(
            np.where(best, totals, 0.0) - np.where(rows, totals, 0.0), layout.firsts, axis=1
        )
        family = np.add.reduceat(gains, self._family_firsts, axis=1).argmax(axis=1)
        touched = (self._family_of_block[None] == family[:, None]).repeat(layout.lengths, axis=1)
        return np.where(touched, best, rows)
