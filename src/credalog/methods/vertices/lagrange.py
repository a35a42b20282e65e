"""Posteriors of credal networks with statements: multipliers make one score of all that is said.

Input: the credal part of a network, statements that are not local, and a query. Output: a bound on the
query's posterior that holds for every model of all of it.

To prove P(event | evidence) <= t is to prove G = P(event, evidence) - t P(evidence) <= 0 in every model, and
H >= 0 holds in models for each bound H of a statement. So it suffices that F = G + sum of weight * H <= 0 in
the whole credal network, for some weights that are not negative (Lagrange). F is linear in each block, hence
greatest at vertices, and branch and bound over these decides. Models in which F is positive are columns of a
linear program whose multipliers are better weights (Kelley, 1960; Dantzig and Wolfe, 1960). Where no weights
will do, the interval that matters most among those on which the columns differ is cut in two, and each half
has weights of its own (docs/proofs.md, proof 27).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from random import Random

import numpy as np

from credalog.errors import ProblemTooLarge
from credalog.methods.vertices.constraints import Scores
from credalog.methods.vertices.elimination import Bools
from credalog.methods.vertices.expectations import Function, Slots, Sums
from credalog.methods.vertices.sequential_programs import Model, walk
from credalog.methods.vertices.sweeps import Pace, Swept
from credalog.network.structure import ancestors
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.tolerances import allowed_gap
from credalog.program.branch import BranchAndBound, Explored
from credalog.program.program import Floats
from credalog.program.solvers.columns import ColumnProgram
from credalog.tables.cones import Array
from credalog.tables.credal import CredalNetwork

__all__ = ["Column", "Proving"]

CLOSE = 0.95
"""The share of the tolerance to which a search is driven; the rest is for roundings."""

STAGES = (32.0, 8.0, 1.0)
"""How many times the tolerance lie between the values proved one after the other and what is attained."""

PRICE = 0.005
"""What each unit of a weight must gain, where there is a choice: light sums are searched sooner."""

HEAVIEST = 16.0
"""No statement weighs more than so many times the question."""

LEAST_MARGIN, LEAST_SHARE = 1e-9, 0.03
"""Weights whose columns leave a smaller margin, or a smaller share of what a model of the value attained
leaves, are not tried: an interval is cut instead, as two searches with wide margins are shorter than one."""

ORDERING = 0.08
"""The share of the time for a better order of elimination."""

ORDER_CELLS, PATIENCE = 1 << 13, 300
"""The most cells of such an order, and how many moves without a gain end the trying."""

LIGHT = 1e-3
"""Every statement has at least this weight where an order is chosen, which has to serve all."""

STARTS = 24
"""How many models, drawn at random, are columns from the beginning."""

CLIMBS = 6
"""From how many models a positive score is sought before it is searched for."""

COUNTED, CANDIDATES = 40, 8
"""How many columns are moved along to judge a cut, and how many cuts are judged."""

WORSE = 0.8
"""How much the half with the smaller margin counts where a cut is judged."""

BATCH = 512
"""How many nodes are bounded at once."""

TRIED, SELDOM = 4, 8
"""In so many of these the choice that contexts agree on is tried, and in later batches how seldom."""

MOST_CELLS = 1 << 24
"""How many numbers are computed in one pass over all these."""

MARGIN = 0.2
"""The least share of an interval that either half of a cut gets."""

WALKS, WALKING = 2, 0.08
"""How many walks begin at models drawn at random, and the share of the time left for each walk."""

SHORTEST_WALK = 0.3
"""The least number of seconds that a walk is given."""

TINY = 1e-300
"""Less than any weight that counts."""

NARROW = 1e-9
"""An interval that is not wider is not cut."""

Tables = Mapping[int, Array]


@dataclass(frozen=True, slots=True)
class Column:
    """A model of the credal part: its tables, P(event, evidence), P(evidence), and the statements' terms.

    `entries` are those of all tables, one after the other: boxes are many, and each looks at all columns.
    """

    tables: Tables
    entries: Floats
    inside: float
    mass: float
    demands: Floats

    def score(self, trial: float) -> float:
        """Return what the question scores."""
        return self.inside - trial * self.mass


@dataclass(frozen=True, slots=True)
class _Weights:
    """Weights of the statements, and those of the columns that they are best against."""

    of_statements: Floats
    of_columns: Floats
    margin: float


@dataclass(slots=True)
class _Left:
    """What is left to prove of a value: the parts on which it is not, and how many tolerances away it is.

    On the parts that are done the trial value, or a smaller one, is proved; both kinds cover all models.
    """

    far: float
    parts: list[Tables]
    done: list[Tables] = field(default_factory=list)
    trial: float = -inf


class Proving:
    """Prove that no model passes what is attained by much; `bound` is proved, `best` attains its value.

    Columns found for one trial value are used for the next, and a search that stopped can be taken up again.
    """

    def __init__(
        self,
        credal: CredalNetwork,
        scores: Scores,
        vertices: Tables,
        *,
        value: float | None,
        bound: float,
        budget: Budget,
    ) -> None:
        self._credal, self._scores, self._vertices = credal, scores, vertices
        self._luck = np.random.default_rng(0)
        self._order: Sequence[int] | None = None
        self._columns: list[Column] = []
        self._cuts = 0
        self._has_walked = False
        self._left: _Left | None = None
        self.pace = Pace(budget)
        self.value, self.bound = value, bound
        self.best: Model | None = None

    @property
    def budget(self) -> Budget:
        """Return the time that is left."""
        return self.pace.budget

    def run(self, tolerance: float) -> None:
        """Prove bounds closer and closer to what is attained, while the time lasts."""
        if not self._has_walked:
            self._has_walked = True
            self._meet({x: mine.mean(axis=-2) for x, mine in self._vertices.items()})
            for _ in range(WALKS):
                self._meet({x: self._drawn(mine) for x, mine in self._vertices.items()})
        with suppress(OutOfTime):
            for far in STAGES:
                if self.value is None:
                    return
                gap = far * CLOSE * allowed_gap(tolerance, self.value)
                if self.value + gap < self.bound:
                    if self._left is None or self._left.far < far:
                        self._left = _Left(far, [self._vertices])
                    elif self._left.far > far:
                        # Where no weights proved the value farther away, none prove this one.
                        self._left = _Left(far, [*self._left.parts, *self._left.done])
                    self.bound = min(self.bound, self._proved(self._left, gap))

    def _proved(self, left: _Left, gap: float) -> float:
        """Return a value that is proved, so much above the best one that is met on the way.

        What was proved of a smaller trial value holds for a greater one. Where nothing is left to cut, one.
        A part stays on the list until it is proved or cut, so that nothing is lost when the time is up.
        """
        while left.parts:
            assert self.value is not None
            left.trial = max(left.trial, self.value + gap)
            box = _Box(self._credal, self._scores, left.trial, left.parts[-1], self._order)
            halved = self._refuted(box)
            if halved is None:
                # First here, then no longer there: what Ctrl-C comes between is not lost.
                left.done.append(left.parts[-1])
                del left.parts[-1]
            elif halved:
                left.parts[-1:] = halved
            else:
                return 1.0
        return left.trial

    def _walk_from(self, weights: _Weights, columns: Sequence[Column]) -> None:
        """Look for a better model where no weights prove that there is none; seldom, as that takes time."""
        self._cuts += 1
        if (self._cuts & (self._cuts - 1)) == 0:
            shares = weights.of_columns / max(float(weights.of_columns.sum()), TINY)
            counted = [(s, c.tables) for s, c in zip(shares, columns, strict=True) if s > NARROW]
            if counted:
                self._meet({x: sum(s * tables[x] for s, tables in counted) for x in self._vertices})

    def _drawn(self, vertices: Array) -> Array:
        """Draw a distribution for each block."""
        shares = self._luck.dirichlet(np.ones(vertices.shape[-2]), vertices.shape[:-2])
        return np.asarray((shares[..., None] * vertices).sum(axis=-2))

    def _meet(self, start: Tables) -> None:
        """Walk to a model, and keep it if it attains more."""
        budget = self.budget.share(WALKING, least=SHORTEST_WALK)
        with suppress(OutOfTime):
            found = walk(self._credal, self._scores, self._vertices, start, budget)
            if found is not None and (self.value is None or found.value > self.value):
                self.best, self.value = found, found.value

    def _refuted(self, box: _Box) -> list[Tables] | None:
        """Try weights until some prove the trial value in a box, then None; or return its halves, if any."""
        columns = box.held(self._columns)
        if len(columns) < STARTS:
            columns += self._kept(box.columns(box.random_rows(STARTS, self._luck), self.budget))
        while True:
            self.budget.require_time()
            weights = self._weighed(columns, box.trial, PRICE)
            if weights.margin < LEAST_MARGIN:
                weights = self._weighed(columns, box.trial, 0.0)
            if weights.margin < self._least_margin(weights, columns, box.trial):
                halved = list(self._cut(box, weights, columns))
                if halved or weights.margin < LEAST_MARGIN:
                    self._walk_from(weights, columns)
                    return halved
            if (rows := self._positive(box, weights)) is None:
                return None
            columns += self._kept(box.columns(rows, self.budget))

    def _positive(self, box: _Box, weights: _Weights) -> Bools | None:
        """Find rows with a positive score: by climbing, or else by search; None where there are none."""
        if self._order is None:
            self._order = box.better_order(weights.of_statements, self.budget.share(ORDERING))
        search = _Search(box.sums(weights.of_statements), box.start, self.pace)
        rows = search.climbed(box.random_rows(CLIMBS, self._luck))
        if len(rows):
            return rows
        counter = search.run()
        return None if counter is None else counter[None]

    def _least_margin(self, weights: _Weights, columns: Sequence[Column], trial: float) -> float:
        """Return the margin that is worth a search: models of the value attained leave no more than all."""
        assert self.value is not None
        shares = weights.of_columns / max(float(weights.of_columns.sum()), TINY)
        mass = float(shares @ [column.mass for column in columns])
        return max(LEAST_MARGIN, LEAST_SHARE * (trial - self.value) * mass)

    def _cut(self, box: _Box, weights: _Weights, columns: Sequence[Column]) -> Iterator[Tables]:
        """Cut the interval of a two-valued block whose halves promise the greatest margins.

        A half is judged by the columns that score most, each moved into it: its margin is not greater.
        """
        demands = np.array([column.demands for column in columns])
        scores = np.array([column.score(box.trial) for column in columns]) + demands @ weights.of_statements
        kept = np.argsort(-scores, kind="stable")[:COUNTED]
        rows = box.nearest_rows([columns[i] for i in kept])
        terms = box.terms(rows, self.budget)
        weighed = self._best_weights(terms.values[1:], terms.values[0], 0.0)
        best, place = -inf, None
        for block, share in box.candidates(terms, weighed):
            margins = sorted(self._best_weights(v[1:], v[0], 0.0).margin for v in terms.cut(block, share))
            promise = (1.0 - WORSE) * margins[1] + WORSE * margins[0]
            if promise > best:
                best, place = promise, (block, share)
        if place is not None:
            yield from box.halves(*place)

    def _kept(self, columns: list[Column]) -> list[Column]:
        self._columns += columns
        return columns

    def _weighed(self, columns: Sequence[Column], trial: float, price: float) -> _Weights:
        """Choose the weights whose score is least in the columns' best one."""
        demands = np.array([column.demands for column in columns]).T
        return self._best_weights(demands, np.array([column.score(trial) for column in columns]), price)

    def _best_weights(self, demands: Floats, scores: Floats, price: float) -> _Weights:
        """Choose weights for columns of which the terms are given."""
        count = len(demands)
        program = ColumnProgram(np.zeros(count), np.full(count, HEAVIEST), np.full(count, price))
        program.add(np.vstack([demands, np.ones(len(scores))]), -scores)
        claim = program.solve(self.budget.for_solver)
        if claim is None:
            raise OutOfTime
        return _Weights(np.maximum(claim.multipliers[:-1], 0.0), claim.weights, claim.value)


@dataclass(frozen=True, slots=True)
class _Terms:
    """What columns score and demand: a row for each term, the question's first, and a column for each.

    `rates` are by how much that changes in each block from its first vertex to its second.
    """

    values: Floats
    rates: Array
    is_second: Bools

    def cut(self, block: int, share: float) -> tuple[Floats, Floats]:
        """Return the values if a block is cut at a share of its range, for the first part and the second.

        Terms are linear in each block, so that a column outside of a part is moved to its end.
        """
        is_second, rates = self.is_second[:, block], self.rates[:, :, block]
        first = self.values - np.where(is_second, (1.0 - share) * rates, 0.0)
        second = self.values + np.where(is_second, 0.0, share * rates)
        return first, second


def _flat(tables: Iterable[Array]) -> Floats:
    """Return the entries of all tables, one after the other."""
    return np.concatenate([table.reshape(-1) for table in tables])


class _Box:
    """Vertices of all blocks, and all terms laid out over them."""

    def __init__(
        self,
        credal: CredalNetwork,
        scores: Scores,
        trial: float,
        vertices: Tables,
        order: Sequence[int] | None,
    ) -> None:
        self.trial, self.vertices, self.order = trial, vertices, order
        self.slots = Slots.of(vertices)
        self.start = self.slots.start
        self._credal, self._scores = credal, scores

    def sums(self, weights: Floats) -> Sums:
        """Return the question's score with the weighted demands."""
        kept = [(f, float(w)) for f, w in zip(self._scores.demands, weights, strict=True) if w > 0.0]
        functions = [self._scores.at(self.trial), *(f for f, _ in kept)]
        return self._laid_out(functions, [1.0, *(w for _, w in kept)])

    def better_order(self, weights: Floats, budget: Budget) -> Sequence[int]:
        """Move variables to other places, between children and parents, while the bound narrows."""
        weights = np.maximum(weights, LIGHT)
        start = self.start[None]
        best = self.sums(weights)
        most, luck, idle = float(best.passage(start, budget).total[0]), Random(0), 0
        with suppress(OutOfTime):
            while idle < PATIENCE and not budget.is_spent:
                self.order, idle = self._moved(best.order, luck), idle + 1
                with suppress(ProblemTooLarge):
                    there = self.sums(weights)
                    reached = float(there.passage(start, budget).total[0])
                    if there.cells <= ORDER_CELLS and reached <= most:
                        idle = 0 if reached < most else idle
                        best, most = there, reached
        self.order = best.order
        return best.order

    def _moved(self, order: Sequence[int], luck: Random) -> list[int]:
        moved = list(order)
        for _ in range(luck.choice((1, 1, 2, 4))):
            x = moved.pop(luck.randrange(len(moved)))
            parents = self._credal.parents
            first = max((i + 1 for i, y in enumerate(moved) if x in parents[y]), default=0)
            last = min((i for i, y in enumerate(moved) if y in parents[x]), default=len(moved))
            moved.insert(luck.randint(first, last), x)
        return moved

    def _laid_out(self, functions: Sequence[Function], weights: Sequence[float] | Array) -> Sums:
        parents = self._credal.parents
        needed = sorted(ancestors(parents, {x for f in functions for x in f.scope}))
        return Sums(
            self.slots, {x: parents[x] for x in needed}, self._credal.sizes, functions, weights, self.order
        )

    def held(self, columns: Sequence[Column]) -> list[Column]:
        """Return the models that are in the box."""
        if not columns:
            return []
        entries = np.array([column.entries for column in columns])
        least, most = (_flat(f(mine, axis=-2) for mine in self.vertices.values()) for f in (np.min, np.max))
        is_held = ((entries >= least - NARROW) & (entries <= most + NARROW)).all(axis=1)
        return [columns[i] for i in np.flatnonzero(is_held).tolist()]

    def nearest_rows(self, columns: Sequence[Column]) -> Bools:
        """Return the vertices that are nearest to models."""
        off = []
        for x, mine in self.vertices.items():
            tables = np.array([column.tables[x] for column in columns])
            off.append(np.abs(mine - tables[..., None, :]).sum(axis=-1).reshape(len(columns), -1))
        return self.slots.best_in_block(-np.concatenate(off, axis=1))

    def candidates(self, terms: _Terms, weights: _Weights) -> Iterator[tuple[int, float]]:
        """Yield two-valued blocks on which columns differ, and where to cut them, by what they matter."""
        shares = weights.of_columns / max(float(weights.of_columns.sum()), TINY)
        mean = shares @ terms.is_second
        effects = np.tensordot(np.append(1.0, weights.of_statements), np.abs(terms.rates), axes=1)
        matter = np.where(self._may_cut, (shares @ effects) * mean * (1.0 - mean), 0.0)
        for block in np.argsort(-matter, kind="stable")[:CANDIDATES]:
            if matter[block] > 0.0:
                yield int(block), float(min(max(mean[block], MARGIN), 1.0 - MARGIN))

    @property
    def _may_cut(self) -> Bools:
        """Mark the two-valued blocks that are wide enough."""
        widths = (np.ptp(v[..., 0], axis=-1).reshape(-1) * (v.shape[-1] == 2) for v in self.vertices.values())
        return np.concatenate(list(widths)) > NARROW

    def _place(self, block: int) -> tuple[int, tuple[int, ...]]:
        """Return the family of a block, and the configuration of its parents."""
        family = int(np.searchsorted(self.slots.family_firsts, block, "right")) - 1
        x = list(self.vertices)[family]
        inside = block - int(self.slots.family_firsts[family])
        return x, tuple(int(i) for i in np.unravel_index(inside, self.vertices[x].shape[:-2]))

    def halves(self, block: int, share: float) -> Iterator[Tables]:
        """Cut the interval of a two-valued block at a share of its range."""
        x, place = self._place(block)
        first, last = self.vertices[x][place][[0, -1], 0]
        cut = float(first + share * (last - first))
        for one, other in ((float(first), cut), (cut, float(last))):
            mine = self.vertices[x].copy()
            mine[place] = [one, 1.0 - one]
            mine[place][1] = [other, 1.0 - other]
            yield {**self.vertices, x: mine}

    def random_rows(self, count: int, luck: np.random.Generator) -> Bools:
        """Choose a vertex at random in every block."""
        return self.slots.best_in_block(np.where(self.start, luck.random((count, len(self.start))), -1.0))

    def columns(self, rows: Bools, budget: Budget) -> list[Column]:
        """Evaluate models."""
        count = len(rows)
        functions = (self._scores.inside, self._scores.mass, *self._scores.demands)
        each = self._laid_out(functions, np.repeat(np.eye(len(functions)), count, axis=1))
        found = each.passage(np.tile(rows, (len(functions), 1)), budget).total.reshape(-1, count)
        tables = [self.slots.tables(row) for row in rows]
        return [
            Column(mine, self._entries(mine), float(found[0, i]), float(found[1, i]), found[2:, i])
            for i, mine in enumerate(tables)
        ]

    def _entries(self, tables: Tables) -> Floats:
        return _flat(tables[x] for x in self.vertices)

    def terms(self, rows: Bools, budget: Budget) -> _Terms:
        """Return what rows score and demand, and how that changes in each block."""
        functions, count = (self._scores.at(self.trial), *self._scores.demands), len(rows)
        each = self._laid_out(functions, np.repeat(np.eye(len(functions)), count, axis=1))
        tiled = np.tile(rows, (len(functions), 1))
        passage = each.passage(tiled, budget)
        totals, _ = each.contributions(tiled, passage)
        first, last = self.slots.firsts, self.slots.firsts + self.slots.lengths - 1
        rates = (totals[:, last] - totals[:, first]).reshape(len(functions), count, -1)
        return _Terms(passage.total.reshape(-1, count), rates, rows[:, last])


class _Search:
    """Look for a choice of vertices with a positive score, or prove that there is none."""

    def __init__(self, score: Sums, start: Bools, pace: Pace) -> None:
        self._score, self._start, self._pace = score, start, pace
        self._found: Bools | None = None
        slots = score.slots
        self._looks = 0
        self._block_of_slot = np.repeat(np.arange(len(slots.firsts)), slots.lengths)

    def run(self) -> Bools | None:
        """Return a row with a positive score; None where it is proved that there is none."""
        if self._pace.compiles:
            return self._score.searched(self._start, self._pace.budget)
        tree = BranchAndBound[tuple[Bools, int | None]]((self._start, None), -inf)
        at_once = max(1, min(BATCH, MOST_CELLS // self._score.cells) // 2)
        tree.run_together(
            self._explore, until=lambda: self._found is not None, enough=lambda: 0.0, at_most=at_once
        )
        if self._found is None and tree.bound < 0.0:
            raise OutOfTime
        return self._found

    def _explore(
        self, nodes: list[tuple[float, tuple[Bools, int | None]]]
    ) -> Explored[tuple[Bools, int | None]]:
        """Split nodes and bound what they become; try the choice that each one's contexts agree on."""
        slots = self._score.slots
        rows = self._split([node for _, node in nodes])
        swept = self._swept(rows, above=-self._score.rounding)
        most = swept.total + self._score.rounding
        is_open = most > 0.0
        if not is_open.any():
            return Explored(closed=0.0)
        rows, most = rows[is_open], most[is_open]
        totals, losses = swept.totals[is_open], swept.losses[is_open]
        counts = np.add.reduceat(rows, slots.firsts, axis=1, dtype=np.intp)
        blocks = np.where(counts > 1, losses, -inf).argmax(axis=1)
        if self._looks & (self._looks - 1) == 0 or self._looks % SELDOM == 0:
            promising = np.argsort(-most)[:TRIED]
            agreed = slots.best_in_block(np.where(rows, totals, -inf)[promising])
            better = self.climbed(agreed, steps=0)
            if len(better):
                self._found = better[0]
        self._looks += 1
        may_split = counts[np.arange(len(rows)), blocks] > 1
        if (whole := self.climbed(rows[~may_split], steps=0)).size:
            self._found = whole[0]
        children = ((-float(most[i]), (rows[i], int(blocks[i]))) for i in np.flatnonzero(may_split))
        # What cannot be split has a positive bound, but perhaps no positive score: then nothing is proved.
        return Explored(tuple(children), -float(most[~may_split].max(initial=0.0)))

    def _split(self, nodes: list[tuple[Bools, int | None]]) -> Bools:
        """Share the allowed vertices of one block of each node between two rows; the root is not split."""
        if nodes[0][1] is None:
            return nodes[0][0][None]
        rows, blocks = np.array([row for row, _ in nodes]), np.array([block for _, block in nodes])
        allowed = rows & (self._block_of_slot == blocks[:, None])
        rank = allowed.cumsum(axis=1, dtype=np.int32)
        is_first = rank <= (rank[:, -1:] + 1) // 2
        return np.concatenate([rows & ~(allowed & ~is_first), rows & ~(allowed & is_first)])

    def climbed(self, rows: Bools, steps: int = 20) -> Bools:
        """Change families, all at once or the one that gains most; return the best row if it is positive."""
        if not len(rows):
            return rows
        values = self._values(rows)
        for _ in range(steps):
            changed = np.stack(self._changed(rows))
            better = self._values(changed.reshape(-1, rows.shape[1])).reshape(2, -1)
            way, every = better.argmax(axis=0), np.arange(len(rows))
            gained = better[way, every] > values + LEAST_MARGIN * LEAST_MARGIN
            rows = np.where(gained[:, None], changed[way, every], rows)
            values = np.where(gained, better[way, every], values)
            if not gained.any():
                break
        return rows[values > 0.0][np.argsort(-values[values > 0.0])][:1]

    def _values(self, rows: Bools) -> Array:
        """Return the scores of rows with one vertex in each block, all roundings subtracted."""
        return self._swept(rows, above=inf).total - self._score.rounding

    def _swept(self, rows: Bools, above: float = -inf) -> Swept:
        return self._score.swept(rows, self._pace.budget, above=above, compiles=self._pace.compiles)

    def _changed(self, rows: Bools) -> tuple[Bools, Bools]:
        """Return the rows with all families, and with the most profitable one, at their best vertices."""
        slots = self._score.slots
        totals = self._swept(rows).totals
        best = slots.best_in_block(np.where(self._start, totals, -inf))
        gains = np.add.reduceat(
            np.where(best, totals, 0.0) - np.where(rows, totals, 0.0), slots.firsts, axis=1
        )
        family = np.add.reduceat(gains, slots.family_firsts, axis=1).argmax(axis=1)
        of_block = np.searchsorted(slots.family_firsts, np.arange(len(slots.firsts)), "right") - 1
        touched = (of_block[None] == family[:, None]).repeat(slots.lengths, axis=1)
        return best, np.where(touched, best, rows)
