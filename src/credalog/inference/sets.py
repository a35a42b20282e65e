"""Set propagation: exact posterior bounds on credal networks whose relevant part is a polytree.

Enters: a network in which every sentence is local (`credal_network`) and a query P(event of one variable |
literals). Leaves: an `Answer` whose bounds hold for every model and whose witnesses are choices of vertices,
re-evaluated by variable elimination.

The mathematics. In a polytree every arc splits the network in two, and P(query, evidence) is linear in the
vector that passes along the arc (Pearl's messages: P(evidence beyond | value), or P(value, evidence above)).
The posterior is a quotient of two such functionals, both with non-negative coefficients, so over a set of
possible messages its extremes are attained at extreme rays of the cone they span. Hence sets of vectors are
propagated towards the query and pruned to extreme rays after every step:

- messages that meet at a variable are multiplied, each with each;
- towards a parent, for fixed messages into the child the entries of different parent values depend on
  different theta(child | configuration), so each is at its minimum or maximum independently;
- towards a child, for fixed messages from the parents the set is a sum of scaled local polytopes, one for
  each parent configuration: a Minkowski sum, pruned summand by summand;
- at the query the quotient is maximised over theta(query | configuration) by Dinkelbach's iteration.

With two-valued variables all sets have at most two elements and this is the 2U algorithm (Fagiuoli and
Zaffalon, 1998).

Rounding. All sums and products are of non-negative numbers, so each entry carries a relative error, bounded
by `Messages.error`; pruning adds its own tolerance (see `cones`). The bounds reported are widened by what
these errors can do to the quotient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import inf, prod
from time import monotonic
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.errors import ImpossibleEvidence, ProblemTooLarge
from credalog.inference.answer import Answer, Options
from credalog.inference.cones import Array, extreme_rays
from credalog.inference.credal import (
    Choice,
    CredalNetwork,
    Question,
    Table,
    central_tables,
    chosen_tables,
    credal_network,
    eliminate,
    question,
)
from credalog.markov import DependencyGraph, dependency_graph
from credalog.model import Network, Query
from credalog.numerics import Endpoint, Interval, Warrant
from credalog.relevance import Relevance, is_polytree, relevance

__all__ = ["Messages", "answer", "applies", "query"]

PRUNING = 1e-11
"""The relative error that pruning may add to a message."""

ROUNDING = 2.0**-52
"""Twice the relative error of one floating-point operation."""

MAX_COMBINATIONS = 1 << 20
"""How many combinations of incoming messages are tried in one step before giving up."""

CHUNK = 1 << 14
"""How many vectors are pruned at once."""

Picks: TypeAlias = NDArray[np.intp]
Origin: TypeAlias = tuple[list[Choice], list[tuple["Messages", int]]]


@dataclass(frozen=True, slots=True)
class Messages:
    """A set of vectors over the values of one variable; only their directions matter.

    `origin(i)` tells how vector i came about: the vertices chosen in this step and the vectors of other
    sets that entered it.
    """

    vectors: Array
    error: float
    origin: Callable[[int], Origin]

    def choices(self, index: int) -> Iterator[Choice]:
        """Yield the vertices behind one vector, through all the steps that led to it."""
        pending: list[tuple[Messages, int]] = [(self, index)]
        while pending:
            messages, i = pending.pop()
            choices, sources = messages.origin(i)
            yield from choices
            pending.extend(sources)


class _OutOfTimeError(Exception):
    """The deadline has passed."""


@dataclass(frozen=True, slots=True)
class _Propagation:
    """The relevant part of a credal network, rooted at the query's variable."""

    tables: Mapping[int, Table]
    question: Question
    sizes: Sequence[int]
    children: Mapping[int, tuple[int, ...]]
    deadline: float

    def schedule(self) -> list[tuple[int, int]]:
        """Return the arcs (from, to) in an order in which each variable hears before it speaks."""
        root = self.question.target
        order = [(x, root) for x in self._neighbours(root)]
        for source, towards in order:
            order.extend((x, source) for x in self._neighbours(source) if x != towards)
        return order[::-1]

    def _neighbours(self, x: int) -> tuple[int, ...]:
        return self.tables[x].parents + self.children[x]

    def run(self) -> tuple[list[Messages], Messages]:
        """Return the sets that reach the query from each of its parents, and from below."""
        heard: dict[tuple[int, int], Messages] = {}
        for source, towards in self.schedule():
            if monotonic() > self.deadline:
                raise _OutOfTimeError
            if towards in self.tables[source].parents:
                heard[source, towards] = self._to_parent(source, towards, heard)
            else:
                heard[source, towards] = self._to_child(source, towards, heard)
        root = self.question.target
        return [heard[p, root] for p in self.tables[root].parents], self._from_below(root, heard)

    def _to_parent(self, source: int, parent: int, heard: Mapping[tuple[int, int], Messages]) -> Messages:
        table = self.tables[source]
        others = [heard[p, source] for p in table.parents if p != parent]
        return to_parent(table, parent, others, self._from_below(source, heard), deadline=self.deadline)

    def _to_child(self, source: int, child: int, heard: Mapping[tuple[int, int], Messages]) -> Messages:
        table = self.tables[source]
        above = from_above(table, [heard[p, source] for p in table.parents], deadline=self.deadline)
        return multiplied([above, *self._below(source, heard, but=child)], self.sizes[source])

    def _from_below(self, x: int, heard: Mapping[tuple[int, int], Messages]) -> Messages:
        return multiplied(self._below(x, heard), self.sizes[x])

    def _below(
        self, x: int, heard: Mapping[tuple[int, int], Messages], but: int | None = None
    ) -> list[Messages]:
        state = self.question.observed.get(x)
        if state is not None:
            return [_constant(np.eye(self.sizes[x])[state])]
        return [heard[child, x] for child in self.children[x] if child != but]


def _constant(vector: Array) -> Messages:
    return Messages(vector[None], 0.0, lambda _: ([], []))


def multiplied(sets: Sequence[Messages], size: int) -> Messages:
    """Multiply messages that meet at a variable, each vector with each; ones where there is none."""
    return reduce(_multiply, sets) if sets else _constant(np.ones(size))


def _multiply(left: Messages, right: Messages) -> Messages:
    count = len(right.vectors)
    if count == 1 and (right.vectors == 1).all():
        return left
    products = (left.vectors[:, None] * right.vectors[None]).reshape(-1, left.vectors.shape[1])

    def origin(i: int) -> Origin:
        return [], [(left, i // count), (right, i % count)]

    return _pruned(products, left.error + right.error + ROUNDING, origin)


def _pruned(vectors: Array, error: float, origin: Callable[[int], Origin]) -> Messages:
    """Drop zero and superfluous vectors; scale the others to greatest entry one."""
    kept = _useful(vectors)
    scaled = vectors[kept] / vectors[kept].max(axis=1, keepdims=True)
    return Messages(scaled, error + PRUNING + ROUNDING, lambda i: origin(int(kept[i])))


def _useful(vectors: Array) -> Picks:
    nonzero = np.flatnonzero(vectors.max(axis=1) > 0)
    parts = [nonzero[start : start + CHUNK] for start in range(0, len(nonzero), CHUNK)]
    kept = [part[extreme_rays(vectors[part], tolerance=PRUNING / 2)] for part in parts]
    if not kept:
        raise ImpossibleEvidence("every model gives the evidence probability zero")
    joined = np.concatenate(kept)
    return joined[extreme_rays(vectors[joined], tolerance=PRUNING / 2)] if len(kept) > 1 else joined


def to_parent(
    table: Table, parent: int, others: Sequence[Messages], below: Messages, *, deadline: float = inf
) -> Messages:
    """Send a family's message to one of its parents.

    `others` come from the other parents in the table's order, `below` from the child's own side.
    """
    axis = table.parents.index(parent)
    counts = (len(below.vectors), *(len(m.vectors) for m in others))
    if prod(counts) > MAX_COMBINATIONS:
        raise ProblemTooLarge(f"{prod(counts)} combinations of messages in one step")
    values = np.moveaxis(table.vertices, axis, 0) @ below.vectors.T
    least, greatest = (
        _weighted(np.moveaxis(extreme, -1, 0), others)
        for extreme in (values.min(axis=-2), values.max(axis=-2))
    )
    size = least.shape[-1]
    corners = np.array(list(product((False, True), repeat=size)))
    boxes = np.where(corners[None], greatest[:, None], least[:, None])

    def origin(i: int) -> Origin:
        *sources, corner = (int(j) for j in np.unravel_index(i, (*counts, len(corners))))
        choices = _choose(table, axis, below.vectors[sources[0]], corners[corner])
        return choices, [(m, j) for m, j in zip((below, *others), sources, strict=True)]

    terms = prod(table.vertices.shape[:-2]) + table.vertices.shape[-1] + 4
    error = below.error + sum(m.error for m in others) + terms * ROUNDING
    return _pruned(boxes.reshape(-1, size), error, origin)


def _weighted(values: Array, others: Sequence[Messages]) -> Array:
    """Contract the axes after the second with one vector of each set, each with each, in rows."""
    rows = values
    for messages in others:
        contracted = np.tensordot(messages.vectors, rows, axes=(1, 2))
        rows = np.moveaxis(contracted, 0, 1).reshape(-1, rows.shape[1], *rows.shape[3:])
    return rows


def _choose(table: Table, axis: int, below: Array, at_most: NDArray[np.bool_]) -> list[Choice]:
    """Return the vertices that maximise or minimise the message, as each parent value demands."""
    values = table.vertices @ below
    best, worst = values.argmax(axis=-1), values.argmin(axis=-1)
    return [
        Choice(
            table.child, table.configuration(states), int((best if at_most[states[axis]] else worst)[states])
        )
        for states in np.ndindex(*best.shape)
    ]


def from_above(table: Table, parents: Sequence[Messages], *, deadline: float = inf) -> Messages:
    """Combine the messages of all parents into the set of P(value, evidence above)."""
    counts = tuple(len(m.vectors) for m in parents)
    if prod(counts) > MAX_COMBINATIONS:
        raise ProblemTooLarge(f"{prod(counts)} combinations of messages in one step")
    polytopes = [_distinct(corners) for corners in table.vertices.reshape(-1, *table.vertices.shape[-2:])]
    rows, picks, combination = [], [], []
    for number, indices in enumerate(np.ndindex(*counts)):
        if monotonic() > deadline:
            raise _OutOfTimeError
        weights = _outer([m.vectors[i] for m, i in zip(parents, indices, strict=True)])
        sums, chosen = _minkowski(polytopes, weights)
        rows.append(sums)
        picks.append(chosen)
        combination.append(np.full(len(sums), number))
    chosen, numbers = np.concatenate(picks), np.concatenate(combination)

    def origin(i: int) -> Origin:
        sources = np.unravel_index(int(numbers[i]), counts) if counts else ()
        choices = [
            Choice(table.child, table.configuration(states), int(vertex))
            for states, vertex in zip(np.ndindex(*table.vertices.shape[:-2]), chosen[i], strict=True)
        ]
        return choices, [(m, int(j)) for m, j in zip(parents, sources, strict=True)]

    steps = prod(table.vertices.shape[:-2])
    error = sum(m.error for m in parents) + steps * (PRUNING + 2 * ROUNDING) + 4 * ROUNDING
    return _pruned(np.concatenate(rows), error, origin)


def _outer(vectors: Sequence[Array]) -> Array:
    """Return the product of one vector per parent as a flat table over their configurations."""
    return reduce(lambda a, b: np.multiply.outer(a, b).reshape(-1), vectors, np.ones(1))


def _distinct(corners: Array) -> tuple[Array, Picks]:
    """Return the different vertices of one credal set, and their numbers."""
    different, numbers = np.unique(corners, axis=0, return_index=True)
    return different, numbers


def _minkowski(polytopes: Sequence[tuple[Array, Picks]], weights: Array) -> tuple[Array, Picks]:
    """Sum polytopes with these weights; return vertices of the sum, and of the summands behind each."""
    sums = np.zeros((1, polytopes[0][0].shape[1]))
    chosen = np.zeros((1, len(polytopes)), dtype=np.intp)
    for number in np.flatnonzero(weights):
        corners, numbers = polytopes[number]
        candidates = (sums[:, None] + weights[number] * corners).reshape(-1, sums.shape[1])
        kept = extreme_rays(candidates, tolerance=PRUNING)
        sums, chosen = candidates[kept], chosen[kept // len(corners)]
        chosen[:, number] = numbers[kept % len(corners)]
    return sums, chosen


@dataclass(frozen=True, slots=True)
class _Maximum:
    """The greatest posterior found, a bound on it, and the choice of vertices that attains it."""

    value: float
    bound: float
    choices: list[Choice]


@dataclass(frozen=True, slots=True)
class _Meeting:
    """All that meets at the query: messages of the parents combined, messages from below, own vertices."""

    table: Table
    parents: Sequence[Messages]
    below: Messages
    weights: Array
    inside: Array
    outside: Array

    @classmethod
    def of(cls, table: Table, parents: Sequence[Messages], below: Messages, event: Array) -> _Meeting:
        """Weigh the vertices of the query's family with every message from below, by event and complement."""
        counts = tuple(len(m.vectors) for m in parents)
        if prod(counts) * len(below.vectors) > MAX_COMBINATIONS:
            raise ProblemTooLarge(
                f"{prod(counts) * len(below.vectors)} combinations of messages at the query"
            )
        rows = [
            _outer([m.vectors[i] for m, i in zip(parents, ix, strict=True)]) for ix in np.ndindex(*counts)
        ]
        flat = table.vertices.reshape(-1, *table.vertices.shape[-2:])
        inside = np.einsum("cvk,mk->mcv", flat, below.vectors * event)
        outside = np.einsum("cvk,mk->mcv", flat, below.vectors * (1 - event))
        return cls(table, parents, below, np.array(rows), inside, outside)

    def maximum(self) -> _Maximum:
        """Maximise inside / (inside + outside) over all messages and vertices, by Dinkelbach's iteration."""
        value, place = -1.0, (0, 0)
        picked = (self.inside + self.outside).argmax(axis=-1)
        while True:
            numerator, total = self._totals(picked)
            ratios = np.divide(numerator, total, out=np.zeros_like(total), where=total > 0)
            best = int(np.where(total > 0, ratios, -1.0).argmax())
            if ratios.flat[best] <= value:
                break
            value, place, best_picks = float(ratios.flat[best]), divmod(best, total.shape[1]), picked
            picked = self._best_vertices(value)
        return _Maximum(value, min(1.0, value + self._slack(value)), self._choices(place, best_picks))

    def _totals(self, picked: Picks) -> tuple[Array, Array]:
        chosen = picked[..., None]
        inside = np.take_along_axis(self.inside, chosen, axis=-1)[..., 0]
        outside = np.take_along_axis(self.outside, chosen, axis=-1)[..., 0]
        return self.weights @ inside.T, self.weights @ (inside + outside).T

    def _best_vertices(self, value: float) -> Picks:
        """Choose the vertices that maximise inside - value * (inside + outside); likelier ones where tied."""
        score = (1 - value) * self.inside - value * self.outside
        best = score == score.max(axis=-1, keepdims=True)
        return np.where(best, self.inside + self.outside, -1.0).argmax(axis=-1)

    def _slack(self, value: float) -> float:
        """Bound how far the truth may be above the value found, from all roundings.

        For every choice, inside - value * total <= excess, so inside / total <= value + excess / total.
        """
        both = self.inside + self.outside
        score = ((1 - value) * self.inside - value * self.outside).max(axis=-1)
        terms = self.weights.shape[1] + self.table.vertices.shape[-1] + 8
        excess = np.maximum(self.weights @ score.T, 0) + terms * ROUNDING * (
            self.weights @ both.max(axis=-1).T
        )
        least = self.weights @ both.min(axis=-1).T
        possible = self.weights @ both.max(axis=-1).T > 0
        slack = np.divide(excess, least, out=np.full_like(excess, inf), where=least > 0)
        error = self.below.error + sum(m.error for m in self.parents) + terms * ROUNDING
        return float(slack[possible].max()) + 4 * error

    def _choices(self, place: tuple[int, int], picked: Picks) -> list[Choice]:
        above, below = place
        counts = tuple(len(m.vectors) for m in self.parents)
        sources = np.unravel_index(above, counts) if counts else ()
        shape = self.table.vertices.shape[:-2]
        own = [
            Choice(self.table.child, self.table.configuration(states), int(vertex))
            for states, vertex in zip(np.ndindex(*shape), picked[below], strict=True)
        ]
        reached = [(m, int(i)) for m, i in zip(self.parents, sources, strict=True)] + [(self.below, below)]
        return own + [choice for m, i in reached for choice in m.choices(i)]


def applies(network: Network, query: Query, graph: DependencyGraph) -> bool:
    """Tell whether set propagation answers this query exactly, time permitting."""
    asked = question(network, query)
    credal = credal_network(network, graph) if asked is not None else None
    if asked is None or credal is None:
        return False
    return is_polytree(relevance(credal.parents, [asked.target], asked.observed))


def query(network: Network, query: Query, options: Options) -> Answer:
    """Bound P(event of one variable | literals) in a credal network whose relevant part is a polytree."""
    credal, asked = credal_network(network, dependency_graph(network)), question(network, query)
    if credal is None or asked is None:
        raise ValueError(
            "set propagation needs local sentences, and a query about one variable given literals"
        )
    return answer(credal, asked, query, options)


def answer(credal: CredalNetwork, asked: Question, query: Query, options: Options) -> Answer:
    """Answer one query about a network that is already read as a credal network."""
    start = monotonic()
    relevant = relevance(credal.parents, [asked.target], asked.observed)
    _check_possible(credal, asked, relevant)
    interval = _certain(asked) or _propagated(credal, asked, relevant, start + options.timeout)
    status = interval.status(options.tolerance)
    return Answer(query, interval, status, "set propagation", monotonic() - start)


def _check_possible(credal: CredalNetwork, asked: Question, relevant: Relevance) -> None:
    """Refuse evidence that has probability zero in every model."""
    families = (*relevant.families, *relevant.separated)
    tables = [credal.table(x, asked.observed) for x in families] if asked.observed else []
    if tables and not eliminate(central_tables(tables), asked.observed) > 0:
        raise ImpossibleEvidence("every model gives the evidence probability zero")


def _certain(asked: Question) -> Interval | None:
    """Answer at once where the query's variable is observed."""
    state = asked.observed.get(asked.target)
    if state is None:
        return None
    value = float(asked.event[state])
    end = Endpoint(value, value, Warrant.CHECKED)
    return Interval(end, end)


def _propagated(credal: CredalNetwork, asked: Question, relevant: Relevance, deadline: float) -> Interval:
    tables = {x: credal.table(x, asked.observed) for x in relevant.families}
    children: dict[int, list[int]] = {x: [] for x in relevant.families}
    for x, table in tables.items():
        for parent in table.parents:
            children[parent].append(x)
    arcs = {x: tuple(found) for x, found in children.items()}
    above, below = _Propagation(tables, asked, credal.sizes, arcs, deadline).run()
    event = np.array(asked.event, dtype=np.float64)
    table = tables[asked.target]
    upper = _Meeting.of(table, above, below, event).maximum()
    lower = _Meeting.of(table, above, below, 1 - event).maximum()
    return Interval(
        lower=_endpoint(1 - lower.bound, _witnessed(tables, asked, lower.choices)),
        upper=_endpoint(upper.bound, _witnessed(tables, asked, upper.choices)),
    )


def _endpoint(bound: float, witnessed: float) -> Endpoint:
    return Endpoint(bound, witnessed, Warrant.CHECKED)


def _witnessed(tables: Mapping[int, Table], asked: Question, choices: Sequence[Choice]) -> float:
    """Evaluate the query under one choice of vertices, independently of the propagation."""
    factors = chosen_tables(tables.values(), choices)
    posterior = eliminate(factors, asked.observed, keep=asked.target)
    return float(posterior[list(asked.event)].sum() / posterior.sum())
