"""Set propagation: exact posterior bounds on credal networks, fast where the relevant part is a polytree.

Input: a network in which every sentence is local (`credal_network`) and a query. Output: an `Answer` whose
bounds hold for every model and whose witnesses are choices of vertices, checked as models like any other.

The mathematics. In a polytree every arc splits the network in two, and P(query, evidence) is linear in the
vector that passes along the arc (Pearl's messages: P(evidence beyond | value), or P(value, evidence above)).
The posterior is a quotient of two such functionals, both with non-negative coefficients, so over a set of
possible messages its extremes are attained at extreme rays of the cone they span. Hence sets of vectors
are propagated towards the query (`messages`) and pruned to extreme rays after every step (`cones`).

At the query, inside / (inside + outside), P(event, evidence) over P(evidence), is maximised by Dinkelbach's
iteration: for a trial value t the functional (1 - t) * inside - t * outside is linear in each message, and
linear functionals need no sets where nothing else enters: they are carried upwards from child to parent,
along a line of ancestors with a single relevant child, choosing the best vertex in each configuration.

With two-valued variables all sets have at most two elements and this is the 2U algorithm (Fagiuoli and
Zaffalon, 1998). Where the relevant part has loops, or sets outgrow the limits, `branching` takes over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.errors import ProblemTooLarge, impossible_evidence
from credalog.methods.answer import Answer, Options, last_of
from credalog.methods.progress import Telling
from credalog.methods.vertices.ascent import Climber, climb
from credalog.methods.vertices.boxes import MOST_COMPARED, Closing
from credalog.methods.vertices.branching import extremes
from credalog.methods.vertices.greedy import Choices, bounded
from credalog.methods.vertices.interval_slopes import Layout
from credalog.methods.vertices.messages import (
    MAX_COMBINATIONS,
    Messages,
    constant,
    may_vanish,
    multiplied,
    weighted,
)
from credalog.methods.vertices.orders import Interior, better_order, end_scores
from credalog.methods.vertices.tree import Tree
from credalog.methods.vertices.vicinity import sufficient
from credalog.network.graph import DependencyGraph, dependency_graph
from credalog.network.sentences import Network, Query
from credalog.network.structure import ancestors, is_polytree, relevance
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import VACUOUS, End, Endpoint, Interval, Status
from credalog.numbers.tolerances import FEASIBILITY
from credalog.program.dinkelbach import greatest_quotient
from credalog.tables.cones import Array
from credalog.tables.credal import (
    Choice,
    CredalNetwork,
    Extreme,
    Question,
    Table,
    ask,
    credal_network,
    distribution,
)
from credalog.tables.elimination import MAX_CELLS, Potential, eliminate, restricted
from credalog.trusted.check import violation
from credalog.trusted.rounding import enclosed, relative_error

__all__ = ["Beliefs", "answer", "applies", "beliefs", "query", "witnessed"]

METHOD = "sets"

ADVANCE = 1e-12
"""How far beyond the best quotient found the next trial value is set; roundings are far smaller."""

LONG_LINE = 1 << 12
"""How many functionals may be carried upwards before the next message is computed as a set instead."""

GRACE = 0.4
"""How many seconds beyond the limit the last model may take to be checked."""

PROPAGATING = 0.2
"""The share of the time for sets of messages: where they stay small they need far less."""

GREEDY = 0.4
"""The share of the time for bounds without vertices: they may be the only ones."""

SURVEYING = 0.1
"""The share of the time for finding out how much of a network around a question is enough."""

NEARBY = 0.6
"""The share of the time for a search there."""

WIDE = 0.4
"""The same in a better order, where the first one that comes to mind is too wide to say anything."""

ORDERING = 0.2
"""The share of the time left for bounds without vertices in a better order."""

LAYING_OUT = 0.06
"""The share of the time left for the order of a search."""

LAYOUT_CELLS = 1 << 16
"""A search without vertices bounds hundreds of nodes, and closer where tables may be large."""

COMPARING = 0.4
"""The share of the time left for what cells differ by."""

TURNS = (0.3, 0.6, 0.6, 1.0)
"""The shares of the time left for the upper end, the lower one, and both once more."""

SEARCHING = (0.06, 0.6, 0.8, 1.0)
"""The shares of the time left for a search over vertices and one without them, then for both once more."""

MOST_ORDERS = 20
"""How many orders are tried where a network is too wide to be searched."""

LEAST_SECONDS = 0.5
"""The least that one of these is given."""

CLIMBING = 0.3
"""The share of the time left that one end may take for a model without vertices."""

Picks: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _Step:
    """One family on the line upwards: the parent that the functionals pass to, and the others' messages."""

    table: Table
    heir: int | None
    others: tuple[Messages, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the sizes of the others' sets."""
        return tuple(len(messages.vectors) for messages in self.others)

    @property
    def terms(self) -> int:
        """Return how many numbers are added up in one value of this step."""
        shape: tuple[int, ...] = self.table.vertices.shape
        return prod(shape[:-2]) + shape[-1] + 4


@dataclass(frozen=True, slots=True)
class _Functionals:
    """Rows of linear functionals of one variable's message, for the vertices chosen so far.

    `inside` and `outside` give P(event, evidence) and P(complement, evidence).
    """

    inside: Array
    outside: Array


@dataclass(frozen=True, slots=True)
class Beliefs:
    """All that reaches one variable from the evidence: any event of it can be asked."""

    tree: Tree
    target: int
    below: Messages
    line: tuple[_Step, ...]

    def interval(self, event: Sequence[bool]) -> Interval:
        """Bound the posterior probability of an event."""
        lower, upper = self.extremes(event)
        return Interval(lower.endpoint, upper.endpoint)

    def extremes(self, event: Sequence[bool]) -> tuple[Extreme, Extreme]:
        """Bound the posterior probability of an event, and name the vertices that attain each end."""
        inside = np.array(event, dtype=np.float64)
        return self._extreme(1 - inside, End.LOWER), self._extreme(inside, End.UPPER)

    def _extreme(self, event: Array, end: End) -> Extreme:
        """Bound the posterior of an event, or of the complement, from above.

        The bound is a trial value at which inside - trial * total, the rounding of the best choice added, is
        not positive for any combination of messages. Any other choice has a computed score no greater, and
        a true one greater by its own rounding at most: so its quotient exceeds the trial by the share
        `rounding` at most.
        """
        rounding = relative_error(2 * sum(step.terms for step in self.line))
        messages = [self.below, *(m for step in self.line for m in step.others)]
        best = (-1.0, 0, 0.0)

        def at(trial: Array) -> tuple[Array, NDArray[np.bool_]]:
            nonlocal best
            reached = self._climb(event, float(trial[0]))
            total = reached.inside + reached.outside
            ratios = np.where(total > 0, reached.inside / np.where(total > 0, total, 1.0), -1.0)
            row = int(ratios.argmax())
            best = max(best, (float(ratios[row]), row, float(trial[0])), key=lambda found: found[0])
            passed = (reached.inside - trial * total + rounding * total > 0).any()
            return np.array([best[0]]), passed & (trial < 1)

        (found,), (at_rest,) = greatest_quotient(at, np.zeros(1), advance=ADVANCE + 2 * rounding)
        bound = float(found) if at_rest else 1.0
        error = rounding + 4 * sum(m.error for m in messages) + relative_error(2)
        endpoint = enclosed(bound if end is End.UPPER else 1 - bound, error=error, end=end)
        return Extreme(endpoint, tuple(self._choices(event, *best[1:])))

    def _climb(self, event: Array, trial: float) -> _Functionals:
        """Carry the functionals up the whole line, for all combinations of messages on the way."""
        functionals = self._start(event)
        for step in self.line:
            self.tree.budget.require_time()
            functionals, _ = _pass(step, functionals, trial)
        return _Functionals(functionals.inside[:, 0], functionals.outside[:, 0])

    def _start(self, event: Array) -> _Functionals:
        return _Functionals(self.below.vectors * event, self.below.vectors * (1 - event))

    def _choices(self, event: Array, row: int, trial: float) -> Iterator[Choice]:
        """Yield the vertices behind one combination of messages, for the trial value that chose it."""
        counts = [(len(self.below.vectors), *self.line[0].counts), *(step.counts for step in self.line[1:])]
        numbers = [int(i) for i in np.unravel_index(row, [n for group in counts for n in group])]
        start = self._start(event)
        functionals = _Functionals(start.inside[numbers[:1]], start.outside[numbers[:1]])
        yield from self.below.choices(numbers.pop(0))
        for step in self.line:
            mine, numbers = numbers[: len(step.others)], numbers[len(step.others) :]
            for messages, number in zip(step.others, mine, strict=True):
                yield from messages.choices(number)
            single = tuple(constant(m.vectors[n]) for m, n in zip(step.others, mine, strict=True))
            functionals, picks = _pass(_Step(step.table, step.heir, single), functionals, trial)
            yield from step.table.choices(picks[0])


def _pass(step: _Step, functionals: _Functionals, trial: float) -> tuple[_Functionals, Picks]:
    """Carry functionals of a child over to its heir, for every combination of the others' messages.

    In each parent configuration the best vertex is chosen, the likelier one where two tie.
    """
    if len(functionals.inside) * prod(step.table.vertices.shape[:-1]) > MAX_CELLS:
        raise ProblemTooLarge(f"{len(functionals.inside)} combinations of messages at one family")
    both = np.concatenate([functionals.inside, functionals.outside])
    if may_vanish(both, step.table.vertices, *(m.vectors for m in step.others)):
        raise ProblemTooLarge("probabilities too small for a float")
    inside = np.tensordot(functionals.inside, step.table.vertices, axes=(1, -1))
    outside = np.tensordot(functionals.outside, step.table.vertices, axes=(1, -1))
    score = (1 - trial) * inside - trial * outside
    best = score == score.max(axis=-1, keepdims=True)
    picks = np.where(best, inside + outside, -1.0).argmax(axis=-1)
    chosen = (np.take_along_axis(values, picks[..., None], axis=-1)[..., 0] for values in (inside, outside))
    return _scaled(*(_contract(step, values) for values in chosen)), picks


def _scaled(inside: Array, outside: Array) -> _Functionals:
    """Scale each row by a power of two, which changes no quotient and rounds nothing."""
    _, exponent = np.frexp((inside + outside).max(axis=1, keepdims=True))
    return _Functionals(np.ldexp(inside, -exponent), np.ldexp(outside, -exponent))


def _contract(step: _Step, values: Array) -> Array:
    """Weigh values of parent configurations with the others' messages, leaving the heir's values.

    With no heir the one column left holds numbers.
    """
    if step.heir is None:
        return weighted(values[:, None], step.others)
    return weighted(np.moveaxis(values, 1 + step.table.parents.index(step.heir), 1), step.others)


def _line(tree: Tree, target: int, rows: int) -> Iterator[_Step]:
    """Yield the families along which functionals are carried upwards, from the query's own."""
    x: int | None = target
    while x is not None:
        table = tree.tables[x]
        heir = _heir(tree, x) if rows <= LONG_LINE else None
        step = _Step(table, heir, tuple(tree.message(p, x) for p in table.parents if p != heir))
        rows *= prod(step.counts)
        if rows > MAX_COMBINATIONS:
            raise ProblemTooLarge(f"{rows} combinations of messages at the query")
        yield step
        x = heir


def _heir(tree: Tree, x: int) -> int | None:
    """Choose, among the parents with no other relevant child, the one with most beyond it."""
    only = [p for p in tree.tables[x].parents if tree.children[p] == (x,)]
    return max(only, key=lambda p: len(tree.schedule(p, x)), default=None)


def beliefs(credal: CredalNetwork, target: int, observed: Mapping[int, int], *, budget: Budget) -> Beliefs:
    """Send messages from all the evidence to one variable; its relevant surroundings must be a polytree."""
    relevant = relevance(credal.parents, [target], observed)
    tables = {x: credal.table(x, observed) for x in relevant.families}
    tree = Tree.of(tables, credal.sizes, observed, budget)
    messages = {(child, target): tree.message(child, target) for child in tree.children[target]}
    below = multiplied(tree.below(target, messages), tree.sizes[target], budget)
    return Beliefs(tree, target, below, tuple(_line(tree, target, len(below.vectors))))


def applies(network: Network, query: Query, graph: DependencyGraph) -> bool:
    """Tell whether all sentences are local, the graph is acyclic, and the query mentions a variable."""
    credal = credal_network(network, graph)
    return credal is not None and ask(credal, query) is not None


def query(network: Network, query: Query, options: Options) -> Answer:
    """Bound P(claim | given) in a credal network."""
    credal = credal_network(network, dependency_graph(network))
    if credal is None:
        raise ValueError("set propagation needs sentences that are all local, on an acyclic graph")
    return answer(credal, query, options)


def answer(credal: CredalNetwork, query: Query, options: Options) -> Answer:
    """Answer a query about a network that is already read as a credal network."""
    budget = Budget.of(options.timeout)
    put = ask(credal, query)
    if put is None:
        raise ValueError("set propagation needs a claim that mentions variables, and not too many")
    credal, asked = put
    with suppress(OutOfTime, ProblemTooLarge):
        check_possible(credal, asked, budget.share(0.25))
    interval, is_interrupted = last_of(_intervals(credal, asked, query, options, budget), VACUOUS)
    status = interval.status(options.tolerance)
    return Answer(query, interval, status, METHOD, budget.elapsed, is_interrupted)


def _intervals(
    credal: CredalNetwork, asked: Question, query: Query, options: Options, budget: Budget
) -> Iterator[Interval]:
    """Yield ever narrower intervals, until one is exact or the time is up."""
    interval, telling = VACUOUS, options.telling(query)
    for found in _stages(credal, asked, options.tolerance, budget, telling):
        # The bounds are there before the models that may attain them are checked.
        yield interval.joined(Interval(*(one.endpoint for one in found)))
        part = Budget.of(budget.remaining + GRACE)
        ends = (witnessed(credal, asked, query, one, part) for one in found)
        interval = interval.joined(Interval(*ends))
        yield interval
        telling.tell_both(interval)
        if interval.status(options.tolerance) is Status.EXACT or budget.is_spent:
            return


def witnessed(
    credal: CredalNetwork, asked: Question, query: Query, extreme: Extreme, budget: Budget | None = None
) -> Endpoint:
    """Add to a proved end the model that its vertices select, and what it attains, if it passes the check."""
    if extreme.choices is None and extreme.tables is None:
        return extreme.endpoint
    model = distribution(credal, asked, extreme.choices or (), extreme.tables or {})
    said = credal.said_of(tuple(x for factor in model.factors for x in factor.block))
    try:
        value = model.probability(query.claim, query.given)
    except ProblemTooLarge:
        # The bound holds without a model whose probabilities no table could tell.
        return extreme.endpoint
    if violation(model, said, credal.graph, budget=budget) > FEASIBILITY or not 0.0 <= value <= 1.0:
        return extreme.endpoint
    return replace(extreme.endpoint, witnessed=value, model=model)


def _stages(
    credal: CredalNetwork, asked: Question, tolerance: float, budget: Budget, telling: Telling
) -> Iterator[tuple[Extreme, Extreme]]:
    """Propagate sets in a polytree; where there are loops, search near the question, then in the whole."""
    if (certain := _certain(asked)) is not None:
        yield certain
        return
    telling.stage = "set propagation"
    if is_polytree(credal.relevant(asked)):
        with suppress(OutOfTime, ProblemTooLarge):
            reached = beliefs(credal, asked.target, asked.observed, budget=budget.share(PROPAGATING))
            yield reached.extremes(asked.event)
    near = sufficient(credal, asked, tolerance=tolerance, budget=budget.share(SURVEYING))
    if near is not None:
        for found in _by_search(near.credal, asked, tolerance, budget.share(NEARBY), telling):
            lower, upper = (near.extended(one) for one in found)
            yield lower, upper
    yield from _by_search(credal, asked, tolerance, budget, telling)


def _by_search(
    credal: CredalNetwork, asked: Question, tolerance: float, budget: Budget, telling: Telling
) -> Iterator[tuple[Extreme, Extreme]]:
    """Bound without vertices, then search over them and without."""
    telling.stage = "bounds without vertices"
    chosen: dict[End, Choices] = {}
    loose = _without_models(bounded(credal, asked, budget=budget.share(GREEDY), chosen=chosen))
    yield loose
    if not chosen:
        # It is too wide in the order that comes first: no model is sought before a better one was tried.
        loose = _tighter(loose, _ordered(credal, asked, _near(loose), budget.share(WIDE)))
        yield loose
    first = _with_models(credal, asked, loose, chosen, budget)
    yield first
    ordered = _ordered(credal, asked, _near(first), budget.share(ORDERING))
    yield ordered
    near = _near(first, ordered)
    for found in _searches(credal, asked, first, near, tolerance, budget, telling):
        yield found
        near = _near(first, ordered, found)
    telling.stage = "bounds in other orders"
    # What is too wide to search is split, and where depends on the order: the best of several is kept.
    for seed in range(1, MOST_ORDERS):
        if budget.is_spent:
            break
        share = WIDE if _is_vacuous(near) else ORDERING
        found = _ordered(credal, asked, near, budget.share(share, least=LEAST_SECONDS), seed)
        yield found
        near = max(near[0], _near(found)[0]), min(near[1], _near(found)[1])


def _searches(
    credal: CredalNetwork,
    asked: Question,
    models: tuple[Extreme, Extreme],
    near: tuple[float, float],
    tolerance: float,
    budget: Budget,
    telling: Telling,
) -> Iterator[tuple[Extreme, Extreme]]:
    """Search over vertices and without them for a while each, then longest where more was found."""
    layout = _layout(credal, asked, near, budget.share(LAYING_OUT))
    closings = _closings(credal, asked, layout, models, near, tolerance)
    telling.stage = "differences of cells"
    comparing = budget.share(COMPARING)
    for end, share in zip((End.UPPER, End.LOWER), (0.5, 1.0), strict=True):
        if end in closings:
            closings[end].compare(comparing.share(share))
    yield _closed(models, closings)
    without = [False, True, False, True]
    for turn, share in enumerate(SEARCHING):
        part = budget.share(share)
        with suppress(OutOfTime, ProblemTooLarge):
            if without[turn]:
                telling.stage = "search without vertices"
                found = _decided(models, closings, part, telling)
            else:
                telling.stage = "search over vertices"
                found = extremes(credal, asked, tolerance=tolerance, budget=part, near=near, telling=telling)
            yield found
            lower, upper = _near(found)
            if without[turn] and (lower > near[0] or upper < near[1]):
                without[2:] = [True, False]
            near = max(near[0], lower), min(near[1], upper)


def _without_models(ends: tuple[Endpoint, Endpoint]) -> tuple[Extreme, Extreme]:
    lower, upper = (Extreme(proved, None) for proved in ends)
    return lower, upper


def _with_models(
    credal: CredalNetwork,
    asked: Question,
    proved: tuple[Extreme, Extreme],
    chosen: Mapping[End, Choices],
    budget: Budget,
) -> tuple[Extreme, Extreme]:
    """Look for models close to the ends."""
    try:
        climber = Climber.of(credal, asked)
    except (OutOfTime, ProblemTooLarge):
        return proved
    lower, upper = (
        _climbed(climber.towards(end), one.endpoint, end, budget, chosen.get(end))
        for end, one in zip(End, proved, strict=True)
    )
    return lower, upper


def _ordered(
    credal: CredalNetwork, asked: Question, near: tuple[float, float], budget: Budget, seed: int = 0
) -> tuple[Extreme, Extreme]:
    """Bound without vertices in a better order."""
    order = better_order(_interior(credal, asked, near), seed=seed, budget=budget.share(0.5))
    return _without_models(bounded(credal, asked, budget=budget, order=order))


def _tighter(first: tuple[Extreme, Extreme], second: tuple[Extreme, Extreme]) -> tuple[Extreme, Extreme]:
    """Return the better of two bounds for each end, which have no models."""
    pairs = zip(End, first, second, strict=True)
    lower, upper = (Extreme(one.endpoint.joined(other.endpoint, end), None) for end, one, other in pairs)
    return lower, upper


def _near(*found: tuple[Extreme, Extreme]) -> tuple[float, float]:
    """Return the best bounds so far."""
    return max(lower.endpoint.bound for lower, _ in found), min(upper.endpoint.bound for _, upper in found)


def _is_vacuous(near: tuple[float, float]) -> bool:
    return near[0] <= 0.0 and near[1] >= 1.0


def _closings(
    credal: CredalNetwork,
    asked: Question,
    layout: Layout,
    models: tuple[Extreme, Extreme],
    near: tuple[float, float],
    tolerance: float,
) -> dict[End, Closing]:
    """Set up a search without vertices for each end of which a model comes close; none in a wide network."""
    found = dict[End, Closing]()
    if layout.cells > MOST_COMPARED:
        return found
    with suppress(ProblemTooLarge):
        climber = Climber.of(credal, asked)
        for end, extreme, bound in zip(End, models, near, strict=True):
            if extreme.tables is not None:
                # The least of an event is one minus the greatest of its complement.
                most = bound if end is End.UPPER else 1.0 - bound
                found[end] = Closing(climber.towards(end), layout, extreme.tables, most, tolerance)
    return found


def _decided(
    first: tuple[Extreme, Extreme], closings: Mapping[End, Closing], budget: Budget, telling: Telling
) -> tuple[Extreme, Extreme]:
    """Search without vertices for both ends in turn."""
    if not closings:
        raise ProblemTooLarge("no model comes close, or one step of the search compares too many values")

    def report(end: End, bound: float, leaves: int) -> None:
        telling.tell(end, _proved(end, bound), explored=leaves)

    for end, share in zip((End.UPPER, End.LOWER) * 2, TURNS, strict=True):
        if end in closings:
            closings[end].run(budget.share(share), partial(report, end))
    return _closed(first, closings)


def _closed(first: tuple[Extreme, Extreme], closings: Mapping[End, Closing]) -> tuple[Extreme, Extreme]:
    """Return what searches without vertices have found so far."""
    lower, upper = (
        Extreme(_proved(end, closings[end].bound), None, closings[end].tables) if end in closings else known
        for end, known in zip(End, first, strict=True)
    )
    return lower, upper


def _proved(end: End, bound: float) -> Endpoint:
    """Return an end from what the event, or for the lower end its complement, does not pass."""
    return enclosed(bound if end is End.UPPER else 1.0 - bound, error=relative_error(4), end=end)


def _layout(credal: CredalNetwork, asked: Question, near: tuple[float, float], budget: Budget) -> Layout:
    """Lay out an order of elimination for a search."""
    order = better_order(_interior(credal, asked, near), most=LAYOUT_CELLS, budget=budget)
    relevant = credal.relevant(asked)
    return Layout.of(asked.target, relevant.parents, asked.observed, credal.sizes, order)


def _interior(credal: CredalNetwork, asked: Question, near: tuple[float, float]) -> Interior:
    """Return what a search for an order looks at."""
    relevant = credal.relevant(asked)
    ranges = {x: credal.ranges(x, asked.observed) for x in relevant.families}
    scores = end_scores(np.array(asked.event, dtype=np.float64), near)
    return Interior(relevant.parents, ranges, asked.observed, credal.sizes, asked.target, scores)


def _climbed(climber: Climber, proved: Endpoint, end: End, budget: Budget, chosen: Choices | None) -> Extreme:
    """Look for a model that comes close to an end, from what its bound chose."""
    most = proved.bound if end is End.UPPER else 1.0 - proved.bound
    return Extreme(proved, None, climb(climber, budget=budget.share(CLIMBING), most=most, near=chosen))


def check_possible(credal: CredalNetwork, asked: Question, budget: Budget) -> None:
    """Refuse evidence that has probability zero in every model."""
    families = sorted(ancestors(credal.parents, asked.observed))
    tables = [restricted(credal.central_table(x, asked.observed), asked.observed) for x in families]
    # Ones where something is possible: their products cannot be too small for a float.
    support = [Potential(table.scope, np.sign(table.values)) for table in tables]
    if not eliminate(support, marginalize=np.maximum, budget=budget)[0] > 0:
        raise impossible_evidence()


def _certain(asked: Question) -> tuple[Extreme, Extreme] | None:
    """Answer at once where the query's variable is observed."""
    state = asked.observed.get(asked.target)
    if state is None:
        return None
    value = float(asked.event[state])
    lower, upper = (Extreme(enclosed(value, error=0.0, end=end), ()) for end in End)
    return lower, upper
