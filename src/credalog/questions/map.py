"""Best explanations: the assignments whose posterior intervals are the best, by a chosen criterion.

Input: an engine, variables Y and evidence e. Output: `BestAssignments`: the best assignments y with the
intervals of P(y | e), and whether it is proved that no other is better.

Best-first search on partial assignments. The score of y is alpha * upper + (1 - alpha) * lower: maximax is
alpha = 1, maximin alpha = 0, and Hurwicz lies between. A partial assignment is bounded by what no completion
can pass (`assignments`): products of upper thetas first, the linear relaxation when it comes to the top,
every model found so far for lower ends. Exact work is done on complete assignments at the top only, and ends
as soon as they cannot be the best. With the heap empty or below the best score, the best is proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf
from typing import Any, NamedTuple, TypeAlias

from credalog.errors import CredalogError, UnknownName, no_model
from credalog.methods.answer import Options, Progress
from credalog.methods.automatic import Engine
from credalog.methods.cliques.search import Limits
from credalog.network.formulas import TRUE, Formula, Is, Variable, literals_of, scope
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.numbers.interval import End, Endpoint, Interval
from credalog.numbers.printed import Printed
from credalog.numbers.tolerances import absolute_gap
from credalog.program.branch import BranchAndBound, Explored
from credalog.questions.assignments import Assigned, Assignments
from credalog.show.html import Bar, as_html

States: TypeAlias = tuple[int, ...]
"""The states of the first variables to be assigned."""

MOST_TIES = 16
"""How many assignments are listed at most beyond those asked for, where they tie or are undominated."""

NEGLIGIBLE = 1e-12
"""Scores closer than this are equal, however small they are."""

FIRST_SECONDS = 0.5
"""How long a complete assignment is worked on at first; four times longer whenever it comes up again."""

GREEDY_SHARE, GUESS_SHARE = 0.2, 0.3
"""The shares of the time for a first assignment: completed greedily, and read off a model."""

OPENING_SHARE = 0.2
"""The share of the time that may go into asking whether there is a model at all."""

LISTING_SECONDS = 0.2
"""How long the intervals of what is listed may be completed after the time is up."""


class Criterion(Enum):
    """Say which of two posterior intervals is better."""

    MAXIMAX = "maximax"
    """The one with the greater upper end."""

    MAXIMIN = "maximin"
    """The one with the greater lower end."""

    HURWICZ = "hurwicz"
    """The one with the greater alpha * upper + (1 - alpha) * lower."""

    DOMINANCE = "dominance"
    """Whichever lies wholly above the other; what no other lies above is undominated, and all are listed."""


@dataclass(frozen=True, slots=True, repr=False)
class RankedAssignment(Printed):
    """One assignment, the interval of its posterior probability, and between which values its score lies."""

    assignment: tuple[Is, ...]
    interval: Interval
    score_lower: float
    score_upper: float

    @property
    def values(self) -> dict[Variable, str]:
        """Return the value of each variable."""
        return {atom.variable: atom.value for atom in self.assignment}

    def __str__(self) -> str:
        return ", ".join(_literal(atom) for atom in self.assignment)

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name, the score and the interval."""
        return {
            "assignment": {v.name: value for v, value in self.values.items()},
            "score": [self.score_lower, self.score_upper],
            **self.interval.to_dict(),
        }


@dataclass(frozen=True, slots=True, repr=False)
class BestAssignments(Printed):
    """The best assignments, best first; `bound` is the score that no assignment passes.

    `is_proved` says that what is listed first is the best within the tolerance (with dominance: that nothing
    undominated is missing). `is_complete` says that no further assignment ties with the last one listed.
    """

    variables: tuple[Variable, ...]
    given: Formula
    criterion: Criterion
    alpha: float
    ranked: tuple[RankedAssignment, ...]
    bound: float
    is_proved: bool
    is_complete: bool
    is_interrupted: bool
    nodes: int = field(compare=False)
    seconds: float = field(compare=False)

    @property
    def best(self) -> RankedAssignment | None:
        """Return the first assignment listed; None where the time ran out before any was complete."""
        return self.ranked[0] if self.ranked else None

    @property
    def gap(self) -> float:
        """Return how much better than the first another assignment may still be."""
        return max(0.0, self.bound - (self.ranked[0].score_lower if self.ranked else 0.0))

    @property
    def summary(self) -> str:
        """Say in one sentence what is proved of the list."""
        if not self.ranked:
            return "no assignment was completed in time"
        if self.criterion is Criterion.DOMINANCE:
            missing = "some undominated assignments are missing"
            return "all undominated assignments" if self.is_proved else missing
        if not self.is_proved:
            return f"the first is not proved to be the best: another may score {self.gap:.2g} more"
        more = "" if self.is_complete else ", and more assignments may tie with the last one listed"
        return f"the first is proved to be the best by {self.criterion.value}{more}"

    def __str__(self) -> str:
        first = f"{self.best}, in {self.best.interval}: " if self.best is not None else ""
        return f"{first}{self.summary} ({self.seconds:.2f} s)"

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes."""
        return {
            "criterion": self.criterion.value,
            "alpha": self.alpha,
            "variables": [v.name for v in self.variables],
            "evidence": str(self.given),
            "assignments": [one.to_dict() for one in self.ranked],
            "bound": self.bound,
            "gap": self.gap,
            "is_proved": self.is_proved,
            "is_complete": self.is_complete,
            "is_interrupted": self.is_interrupted,
            "nodes": self.nodes,
            "seconds": self.seconds,
        }

    def _repr_html_(self) -> str:
        bars = [Bar(str(one), one.interval, f"score {one.score_lower:.6g}") for one in self.ranked]
        return as_html(bars, heading=f"Best assignments by {self.criterion.value}", note=f"{self.summary}.")

    def ties(self, tolerance: float = NEGLIGIBLE) -> tuple[RankedAssignment, ...]:
        """Return the assignments listed that may be as good as the first."""
        if not self.ranked:
            return ()
        least = self.ranked[0].score_lower * (1.0 - tolerance) - NEGLIGIBLE
        return tuple(e for e in self.ranked if e.score_upper >= least)


def _literal(atom: Is) -> str:
    if not atom.variable.is_proposition:
        return f"{atom.variable.name} = {atom.value}"
    return atom.variable.name if atom.value == "true" else f"not {atom.variable.name}"


def best_assignments(
    engine: Engine,
    variables: Iterable[Variable] | None = None,
    given: Formula = TRUE,
    options: Options = Options(),
    *,
    criterion: Criterion = Criterion.MAXIMAX,
    alpha: float = 0.5,
    top: int = 1,
) -> BestAssignments:
    """Find the best assignments of some variables, by default of all that are not observed.

    Scores within `options.tolerance` of each other, relative to the best, count as tied. `alpha` is the
    optimism of the Hurwicz criterion.
    """
    if top < 1:
        raise CredalogError(f"{top} assignments are to be listed", advice="Ask for at least one.")
    if not (isinstance(alpha, (int, float)) and 0.0 <= alpha <= 1.0):
        raise CredalogError(f"alpha={alpha!r} is not between 0 and 1", advice="0 is maximin, 1 is maximax.")
    budget = Budget.of(options.timeout)
    chosen = _chosen(engine, variables, given)
    found, is_interrupted = None, False
    try:
        with spending(budget):
            found = _searched(engine, chosen, given, options, budget, criterion, alpha, top)
    except KeyboardInterrupt:
        is_interrupted = True
    except OutOfTime:
        # Not even the search could be set up.
        pass
    if found is None:
        nothing = (), 1.0, False, False, is_interrupted, 0, budget.elapsed
        return BestAssignments(chosen, given, criterion, alpha, *nothing)
    return replace(found, seconds=budget.elapsed)


def _searched(
    engine: Engine,
    chosen: tuple[Variable, ...],
    given: Formula,
    options: Options,
    budget: Budget,
    criterion: Criterion,
    alpha: float,
    top: int,
) -> BestAssignments:
    """Set up the search for the best assignments, and return what it found."""
    _open(engine, chosen, given, replace(options, timeout=OPENING_SHARE * options.timeout))
    consistent = engine.is_consistent(options, budget.share(OPENING_SHARE))
    if consistent is False:
        raise no_model()
    index = {v: number for number, v in enumerate(engine.network.variables)}
    numbers = [index[v] for v in chosen]
    assignments = Assignments(engine, numbers, given, budget, is_consistent=bool(consistent))
    if criterion is Criterion.DOMINANCE:
        search = _undominated(assignments, options, budget, top)
    else:
        weight = {Criterion.MAXIMAX: 1.0, Criterion.MAXIMIN: 0.0}.get(criterion, alpha)
        search = _BestFirst(assignments, options, budget, alpha=weight, top=top)
        search.run()
    is_whole = search.is_complete and not search.is_interrupted
    return BestAssignments(
        variables=chosen,
        given=given,
        criterion=criterion,
        alpha=search.alpha,
        ranked=tuple(search.listed()),
        bound=search.bound,
        is_proved=is_whole if criterion is Criterion.DOMINANCE else search.is_proved,
        is_complete=search.is_complete,
        is_interrupted=search.is_interrupted,
        nodes=search.nodes,
        seconds=budget.elapsed,
    )


def _chosen(engine: Engine, variables: Iterable[Variable] | None, given: Formula) -> tuple[Variable, ...]:
    observed = literals_of(given) or {}
    if variables is None:
        return tuple(v for v in engine.network.variables if v not in observed)
    chosen = tuple(dict.fromkeys(variables))
    known = frozenset(engine.network.variables)
    for v in chosen:
        if v not in known:
            raise UnknownName(f"the network has no variable {v.name}")
        if v in observed:
            raise CredalogError(
                f"{v.name} is observed, so there is nothing to choose",
                advice="Leave it out of the variables, or out of the evidence.",
            )
    if not chosen:
        raise CredalogError("no variable is to be explained", advice="Name at least one.")
    return chosen


def _open(engine: Engine, chosen: tuple[Variable, ...], given: Formula, options: Options) -> None:
    """Ask a first posterior: where no model allows the evidence, this says so."""
    if given != TRUE:
        first = chosen[0] if chosen else scope(given)[0]
        quick = replace(options, tolerance=1.0, report=None)
        answer = engine.query(Query(Is(first, first.values[-1]), given), quick)
        if answer.interrupted:
            raise KeyboardInterrupt


class _Node(NamedTuple):
    """A partial assignment: the states of the first variables, and how often it was judged."""

    states: States
    visits: int = 0


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A complete assignment and between which values its score lies."""

    states: States
    low: float
    high: float


def _undominated(assignments: Assignments, options: Options, budget: Budget, top: int) -> _BestFirst:
    """Look for the assignments whose upper end reaches the greatest lower end of all."""
    cautious = _BestFirst(assignments, options, budget, alpha=0.0, top=1)
    cautious.run()
    floor = max((c.low for c in cautious.candidates.values()), default=0.0)
    search = _BestFirst(assignments, options, budget, alpha=1.0, top=top, floor=floor)
    search.nodes, search.is_interrupted = cautious.nodes, cautious.is_interrupted
    search.run()
    return search


class _BestFirst:
    """Best-first search for the assignments of greatest score; with a floor, for all that reach it."""

    def __init__(
        self,
        assignments: Assignments,
        options: Options,
        budget: Budget,
        *,
        alpha: float,
        top: int,
        floor: float | None = None,
    ) -> None:
        self.assignments = assignments
        self.options = options
        self.budget = budget
        self.alpha = alpha
        self.top = top
        self.floor = floor
        self.nodes = 0
        self.is_interrupted = False
        self.candidates: dict[States, _Candidate] = {}
        self.tree = BranchAndBound(_Node(()), -1.0)

    # ---- how far it has come --------------------------------------------------------------------------

    def ranked(self) -> list[_Candidate]:
        """Return the candidates that count: best first, with those that may tie with the last asked for."""
        order = sorted(self.candidates.values(), key=lambda c: (-c.low, -c.high, c.states))
        if self.floor is not None:
            return [c for c in order if c.high >= self.floor]
        least = self._last() - self._slack()
        tied = [c for c in order[self.top :] if c.high >= least]
        return order[: self.top] + tied[:MOST_TIES]

    @property
    def bound(self) -> float:
        """Return the score that no assignment passes."""
        found = [c.high for c in self.candidates.values()]
        return max([0.0, *found, -self.tree.bound])

    @property
    def is_proved(self) -> bool:
        """Tell whether the best is known within the tolerance."""
        return bool(self.candidates) and self.bound - self._highest() <= self._slack()

    @property
    def is_complete(self) -> bool:
        """Tell whether no assignment that is not listed may tie with the last one listed."""
        listed = {c.states for c in self.ranked()}
        others = [c.high for c in self.candidates.values() if c.states not in listed]
        return max([-self.tree.bound, *others]) < self._threshold()

    def _highest(self) -> float:
        return max((c.low for c in self.candidates.values()), default=0.0)

    def _last(self) -> float:
        """Return the score of the last assignment asked for; zero while there are too few."""
        lows = sorted((c.low for c in self.candidates.values()), reverse=True)
        return lows[self.top - 1] if len(lows) >= self.top else 0.0

    def _slack(self) -> float:
        return max(NEGLIGIBLE, self.options.tolerance * self._highest())

    def _threshold(self) -> float:
        """Return the score below which an assignment is of no interest."""
        if self.floor is not None:
            return self.floor
        return self._last() - self._slack() if len(self.candidates) >= self.top else -1.0

    def _is_finished(self, bound: float) -> bool:
        if bound < self._threshold():
            return True
        worth = [c for c in self.candidates.values() if c.high >= self._threshold()]
        enough = len(worth) >= self.top + MOST_TIES
        return enough and (self.floor is not None or bound <= self._last() + self._slack())

    # ---- the search -----------------------------------------------------------------------------------

    def run(self) -> None:
        """Take the most promising assignment until none can be better than what is known."""
        if self.is_interrupted:
            return
        try:
            with suppress(OutOfTime):
                self._complete_greedily()
            if self.assignments.is_too_large and self._highest() <= 0.0:
                self._guess()
            # Where something cannot be set up in time, what is known by then is listed.
            with suppress(OutOfTime):
                self.tree.run(self._explore, until=self._is_over, enough=lambda: inf)
        except KeyboardInterrupt:
            self.is_interrupted = True

    def _complete_greedily(self) -> None:
        """Complete one assignment greedily, so that something is known early."""
        states: States = ()
        budget = self.budget.share(GREEDY_SHARE)
        while len(states) < len(self.assignments.order):
            if budget.is_spent:
                self.assignments.is_too_large = True
                return
            states = min(self._children(-1.0, states))[1].states
        self._offer(states)

    def _guess(self) -> None:
        """Take an assignment from a model of a simple form: where all is wide, little else is known early."""
        found = self.assignments.guess(self.budget.share(GUESS_SHARE))
        if found is not None:
            self._offer(tuple(found[x] for x in self.assignments.order))

    def _offer(self, states: States) -> None:
        for bound, node in self._judge(-1.0, _Node(states)):
            self.tree.push(bound, node)

    def _is_over(self) -> bool:
        if self.options.report is not None:
            best = self._highest() if self.candidates else None
            self.options.report(Progress("map", self.bound, best, self.budget.elapsed))
        return self.budget.is_spent or self._is_finished(-self.tree.bound)

    def _explore(self, bound: float, node: _Node) -> Explored[_Node]:
        """Sharpen the bound of a node and complete it by one variable, and go on with a child as good as it.

        To plunge like this leaves the deepest of equals on top: the first complete one comes soon.
        """
        others: list[tuple[float, _Node]] = []
        while True:
            if self.budget.is_spent:
                return Explored(((bound, node), *others))
            children = self._treat(bound, node)
            if not children or children[0][0] > bound or len(children[0][1].states) == len(node.states):
                return Explored((*children, *others))
            (bound, node), *rest = children
            others = [*rest, *others]

    def _treat(self, bound: float, node: _Node) -> list[tuple[float, _Node]]:
        """Return what takes the place of a node, the best first: itself, if its bound is sharper now."""
        self.nodes += 1
        if node.states in self.candidates and node.visits == 0:
            return []
        self.assignments.relax(self._assigned(node.states))
        sharper = max(bound, -self._score_bound(node.states))
        if (known := self.candidates.get(node.states)) is not None:
            self.candidates[node.states] = replace(known, high=max(known.low, min(known.high, -sharper)))
        if sharper > bound:
            return [(sharper, node)]
        if len(node.states) == len(self.assignments.order):
            return self._judge(bound, node)
        return sorted(self._children(bound, node.states))

    def _children(self, bound: float, states: States) -> list[tuple[float, _Node]]:
        sizes, x = self.assignments.problem.structure.sizes, self.assignments.order[len(states)]
        below = [(*states, state) for state in range(sizes[x])]
        return [(max(bound, -self._score_bound(child)), _Node(child)) for child in below]

    def _score_bound(self, states: States) -> float:
        assigned = self._assigned(states)
        upper = self.assignments.upper(assigned)
        lower = self.assignments.lower(assigned) if self.alpha < 1.0 else 0.0
        return self.alpha * upper + (1.0 - self.alpha) * lower

    # ---- complete assignments -------------------------------------------------------------------------

    def _judge(self, bound: float, node: _Node) -> list[tuple[float, _Node]]:
        """Find the score of a complete assignment; come back to it later if the time was too short."""
        budget = self.budget.at_most(FIRST_SECONDS * 4.0**node.visits)
        cap = min(-bound, self._score_bound(node.states))
        low, high = self._score(self._assigned(node.states), budget)
        high = max(low, min(high, cap))
        self.candidates[node.states] = _Candidate(node.states, low, high)
        was_short = budget.is_spent and not self.budget.is_spent
        is_worth_more = was_short and high - low > self._slack() and high >= self._threshold()
        return [(-high, _Node(node.states, node.visits + 1))] if is_worth_more else []

    def _score(self, assigned: Assigned, budget: Budget) -> tuple[float, float]:
        """Return between which values the score of a complete assignment lies."""
        low = high = 0.0
        for end, weight in ((End.UPPER, self.alpha), (End.LOWER, 1.0 - self.alpha)):
            if weight > 0.0:
                least, most = _range(self._end(assigned, budget, end=end), end)
                low, high = low + weight * least, high + weight * most
        return low, high

    def _end(self, assigned: Assigned, budget: Budget, *, end: End) -> Endpoint:
        """Find one end, if it is worth it; a model found for a lower end bounds all other lower ends."""
        tolerance = max(NEGLIGIBLE, 0.25 * self._slack())
        alone = self.alpha in (0.0, 1.0)
        cutoff = self._threshold()

        def decided(bound: float, witnessed: float | None) -> bool:
            most = bound if end is End.UPPER else witnessed
            return alone and most is not None and most < cutoff

        limits = Limits(tolerance, budget, decided=decided, gap=absolute_gap)
        found = self.assignments.end(assigned, limits, end=end)
        if end is End.LOWER:
            self.assignments.learn(assigned)
        return found

    def _assigned(self, states: States) -> dict[int, int]:
        """Return the states of the first variables, by number."""
        return dict(zip(self.assignments.order, states, strict=False))

    # ---- the list -------------------------------------------------------------------------------------

    def listed(self) -> Iterator[RankedAssignment]:
        """Yield the candidates that count, their intervals completed as exactly as the time left allows."""
        budget = Budget.of(max(LISTING_SECONDS, self.budget.remaining))
        variables = self.assignments.problem.variables
        for candidate in self.ranked():
            assigned = self._assigned(candidate.states)
            tolerance = max(NEGLIGIBLE, self.options.tolerance * candidate.high)
            ends = [self._completed(assigned, tolerance, budget, end=end) for end in End]
            atoms = tuple(Is(variables[x], variables[x].values[s]) for x, s in sorted(assigned.items()))
            yield RankedAssignment(atoms, Interval(*ends), candidate.low, candidate.high)

    def _completed(self, assigned: Assigned, tolerance: float, budget: Budget, *, end: End) -> Endpoint:
        if not self.is_interrupted and not budget.is_spent:
            try:
                limits = Limits(tolerance, budget.share(0.5), gap=absolute_gap)
                return self.assignments.end(assigned, limits, end=end)
            except KeyboardInterrupt:
                self.is_interrupted = True
        return self.assignments.known_end(assigned, end=end)


def _range(found: Endpoint, end: End) -> tuple[float, float]:
    """Return between which values the true end lies."""
    attained = end.opposite.trivial if found.witnessed is None else found.witnessed
    return (found.bound, attained) if end is End.LOWER else (attained, found.bound)
