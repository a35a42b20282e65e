"""Branch and bound over the vertices of a credal network: posteriors where loops rule set propagation out.

Input: a credal network and a query about one variable given literals. Output: for each end a bound that holds
for every model, at any time limit, and a choice of vertices that comes close to it.

P(event | evidence) is linear-fractional in each theta(x | configuration), so it is extreme at vertices. A
node of the search allows some vertices in each block; `mini_buckets` bounds it by letting contexts choose
apart. The block that loses most when its contexts must agree is split. Nodes are taken best first, many at a
time. Witnesses come from the choice that the contexts would agree on, improved family by family: with all
else fixed the quotient is linear-fractional in all blocks of one family together, so each step is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf
from typing import TypeAlias

import numpy as np

from credalog.errors import ProblemTooLarge
from credalog.methods.progress import Telling
from credalog.methods.vertices.elimination import Bools, Clusters, Plan, plan
from credalog.methods.vertices.hanging_trees import Trimmed, trim
from credalog.methods.vertices.mini_buckets import bounds, contributions, evidence, forward
from credalog.methods.vertices.orders import Interior, better_order, end_scores
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End, Endpoint
from credalog.numbers.tolerances import allowed_gap
from credalog.program.branch import BranchAndBound, Explored
from credalog.tables.cones import Array
from credalog.tables.credal import CredalNetwork, Extreme, Question
from credalog.trusted.rounding import enclosed, relative_error

__all__ = ["ORDER_CELLS", "extremes"]

CLOSE = 0.95
"""The share of the tolerance to which a search is driven; the rest is for roundings."""

ORDERING = 0.1
"""The share of the time left that may go into a better order of elimination."""

ORDER_CELLS = 1 << 13
"""A search bounds thousands of nodes: its order has fewer cells than that, if one can be found."""

TRIMMING = 0.2
"""The share of the time that may go into replacing trees."""

BATCH = 128
"""How many nodes are bounded at once."""

MAX_CELLS = 1 << 25
"""How many numbers are computed in one pass, over all the nodes that are bounded at once: a second's work."""

MAX_NODES = 200_000
"""How many open nodes are kept; beyond, the search stops and reports its bounds."""

STARTS = 6
"""From how many random choices of vertices the first witness is sought."""

GAIN = 1e-12
"""The least improvement, as a share of P(evidence), for which a witness is changed."""

SMALLEST = 1e-150
"""Below this probability of the evidence underflow is not excluded."""

Node: TypeAlias = tuple[Bools, int | None]
"""The vertices that are allowed, and the block to split; None for the root, which is not bounded yet."""


def extremes(
    credal: CredalNetwork,
    asked: Question,
    *,
    tolerance: float,
    budget: Budget,
    near: tuple[float, float] = (0.0, 1.0),
    telling: Telling | None = None,
) -> tuple[Extreme, Extreme]:
    """Bound the posterior of an event by search over vertices until the gaps close or the time is up.

    `near` is about where its ends are expected.
    """
    told = telling or Telling(None)
    relevant = credal.relevant(asked)
    tables = {x: credal.table(x, asked.observed) for x in relevant.families}
    trimmed = trim(tables, asked, credal.sizes, budget=budget.share(TRIMMING))
    layout = plan(trimmed.tables, trimmed.asked, trimmed.sizes, _order(trimmed, near, budget.share(ORDERING)))
    if layout.cells > MAX_CELLS:
        raise ProblemTooLarge(f"one pass over the network needs {layout.cells} numbers")
    event = np.array(asked.event, dtype=np.float64)
    is_rare = _is_rare(layout, budget)

    def report(search: _Search, end: End, explored: int) -> None:
        endpoint = Endpoint.trivial(end) if is_rare else _endpoint(trimmed, search, end)
        told.tell(end, endpoint, explored=explored)

    upper = _Search(layout, event, tolerance, budget.share(0.5))
    upper.run(partial(report, upper, End.UPPER))
    lower = _Search(layout, 1 - event, tolerance, budget)
    lower.run(partial(report, lower, End.LOWER))
    found = (_extreme(trimmed, search, end) for search, end in ((lower, End.LOWER), (upper, End.UPPER)))
    first, second = (_unproved(one, end) if is_rare else one for one, end in zip(found, End, strict=True))
    return first, second


def _order(trimmed: Trimmed, near: tuple[float, float], budget: Budget) -> Clusters:
    """Choose the order in which variables are summed out."""
    tables, event = trimmed.tables, np.array(trimmed.asked.event, dtype=np.float64)
    interior = Interior(
        {x: table.parents for x, table in tables.items()},
        {x: (table.vertices.min(axis=-2), table.vertices.max(axis=-2)) for x, table in tables.items()},
        trimmed.asked.observed,
        trimmed.sizes,
        trimmed.asked.target,
        end_scores(event, near),
    )
    return better_order(interior, most=ORDER_CELLS, budget=budget)


def _is_rare(layout: Plan, budget: Budget) -> bool:
    """Tell whether the evidence may be so unlikely that numbers vanish, or nothing is known of it in time."""
    with suppress(OutOfTime):
        _, most = evidence(layout, layout.start[None], budget)
        return not most[0] > SMALLEST
    return True


def _unproved(extreme: Extreme, end: End) -> Extreme:
    """Keep the choice of an end, not its bound: the evidence is so rare that numbers may have vanished."""
    return replace(extreme, endpoint=replace(extreme.endpoint, bound=end.trivial))


def _extreme(trimmed: Trimmed, search: _Search, end: End) -> Extreme:
    """Turn what a search found into a proved end and a choice of vertices of the original tables."""
    endpoint = _endpoint(trimmed, search, end)
    if search.value < 0:
        return Extreme(endpoint, None)
    return Extreme(endpoint, tuple(trimmed.choices(search.plan.choices(search.row))))


def _endpoint(trimmed: Trimmed, search: _Search, end: End) -> Endpoint:
    """Return what a search has proved of its end."""
    bound = search.bound if end is End.UPPER else 1 - search.bound
    return enclosed(bound, error=4 * trimmed.error + relative_error(2), end=end)


class _Search:
    """Maximise the posterior of one event; `value` is the best found, `row` the vertices that attain it."""

    def __init__(self, layout: Plan, event: Array, tolerance: float, budget: Budget) -> None:
        self.plan, self._event = layout, event
        self._tolerance, self._budget = tolerance, budget
        self.value, self.row = -1.0, layout.start
        self._explored = 0
        self._tree = BranchAndBound[Node]((layout.start, None), -1.0)
        # Families are the units of improvement; blocks are contiguous within them.
        starts = [family.start for family in layout.families]
        self._family_firsts = np.searchsorted(layout.firsts, starts)
        self._family_of_block = (
            np.searchsorted(self._family_firsts, np.arange(len(layout.firsts)), "right") - 1
        )

    @property
    def bound(self) -> float:
        """Return what no choice of vertices passes."""
        return max(self.value, -self._tree.bound, 0.0)

    def run(self, report: Callable[[int], None]) -> None:
        """Search until no open node can beat the witness by more than the tolerance.

        How many nodes were bounded is reported after each pass.
        """
        at_once = max(1, min(BATCH, MAX_CELLS // self.plan.cells) // 2)

        def is_over() -> bool:
            explored, self._explored = self._explored, 0
            report(explored)
            return self._budget.is_spent or len(self._tree) > MAX_NODES

        try:
            self._tree.step_together(self._explore, self._enough, at_most=1)
            if not self._tree.is_exhausted or self.value < 0:
                self._improve(self._random_rows())
            self._tree.run_together(self._explore, until=is_over, enough=self._enough, at_most=at_once)
        except OutOfTime:
            # What was open still is, with its bound.
            return

    def _enough(self) -> float:
        return -max(self.value, 0.0) - self._gap

    @property
    def _gap(self) -> float:
        """Return the distance of bound and witness at which the search ends."""
        return CLOSE * allowed_gap(self._tolerance, max(self.value, 0.0))

    def _random_rows(self) -> Bools:
        """Choose a vertex at random in every block, several times."""
        luck = np.random.default_rng(0).random((STARTS, len(self.plan.start)))
        return self._best_in_block(np.where(self.plan.start, luck, -1.0))

    def _best_in_block(self, values: Array) -> Bools:
        """Mark in every block the first slot of greatest value."""
        layout = self.plan
        best = np.maximum.reduceat(values, layout.firsts, axis=1).repeat(layout.lengths, axis=1)
        marked = values == best
        before = marked.cumsum(axis=1) - marked
        return np.asarray(marked & (before == before[:, layout.firsts].repeat(layout.lengths, axis=1)))

    def _explore(self, nodes: list[tuple[float, Node]]) -> Explored[Node]:
        """Split nodes and bound what they become; try the choice that each one's contexts agree on."""
        rows = np.array([row for _, node in nodes for row in self._split(*node)])
        self._explored += len(rows)
        start = np.full(len(rows), max(self.value, 0.0))
        values, passage = bounds(self.plan, rows, self._event, start, self._budget)
        found = contributions(self.plan, rows, passage)
        counts = np.add.reduceat(rows, self.plan.firsts, axis=1, dtype=np.intp)
        blocks = np.where(counts > 1, found.losses, -inf).argmax(axis=1)
        self._try(self._best_in_block(np.where(rows, found.totals, -inf)))
        open_ = counts[np.arange(len(rows)), blocks] > 1
        children = ((-float(values[i]), (rows[i], int(blocks[i]))) for i in np.flatnonzero(open_))
        return Explored(tuple(children), -float(values[~open_].max(initial=-inf)))

    def _split(self, row: Bools, block: int | None) -> list[Bools]:
        """Share the allowed vertices of a block between two rows."""
        if block is None:
            return [row]
        first = self.plan.firsts[block]
        allowed = first + np.flatnonzero(row[first : first + self.plan.lengths[block]])
        children = []
        for part in np.array_split(allowed, 2):
            child = row.copy()
            child[allowed] = False
            child[part] = True
            children.append(child)
        return children

    def _try(self, rows: Bools) -> None:
        """Evaluate choices of vertices; improve the best one if it beats the witness."""
        values = self._posteriors(rows)
        best = int(values.argmax())
        if values[best] > self.value + GAIN:
            self._improve(rows[best : best + 1])

    def _posteriors(self, rows: Bools) -> Array:
        """Evaluate the posterior of rows with one vertex in each block; -1 where P(evidence) is zero."""
        passage = forward(self.plan, rows, self._event, np.zeros(len(rows)), self._budget)
        total = passage.inside + passage.outside
        return np.where(total > 0, passage.inside / np.where(total > 0, total, 1.0), -1.0)

    def _improve(self, rows: Bools) -> None:
        """Change families, all at once or the one that gains most, until nothing gains; keep the best row."""
        values = self._posteriors(rows)
        moving = np.arange(len(rows))
        with suppress(OutOfTime):
            while len(moving):
                # Where the evidence is still impossible, the trial value -1 makes it likelier.
                changed = np.stack(self._changed(rows[moving], values[moving]))
                better = self._posteriors(changed.reshape(-1, rows.shape[1])).reshape(2, -1)
                way, every = better.argmax(axis=0), np.arange(len(moving))
                gained = better[way, every] > values[moving] + GAIN
                rows[moving[gained]] = changed[way, every][gained]
                values[moving[gained]] = better[way, every][gained]
                moving = moving[gained]
        best = int(values.argmax())
        if values[best] > self.value:
            self.value, self.row = float(values[best]), rows[best].copy()

    def _changed(self, rows: Bools, values: Array) -> tuple[Bools, Bools]:
        """Return the rows with all families, and with the most profitable one, at their best vertices."""
        layout = self.plan
        totals = contributions(layout, rows, forward(layout, rows, self._event, values, self._budget)).totals
        best = self._best_in_block(np.where(layout.start, totals, -inf))
        gains = np.add.reduceat(
            np.where(best, totals, 0.0) - np.where(rows, totals, 0.0), layout.firsts, axis=1
        )
        family = np.add.reduceat(gains, self._family_firsts, axis=1).argmax(axis=1)
        touched = (self._family_of_block[None] == family[:, None]).repeat(layout.lengths, axis=1)
        return best, np.where(touched, best, rows)
