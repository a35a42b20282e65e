"""Interval propagation: from a network to an interval for every variable, round by round.

Input: a ground network, the variant of the algorithm, a schedule, observed values. Output: `Propagation`,
the intervals and messages reached; or the proof that the network is inconsistent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from math import inf
from typing import TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.errors import CredalogError, InconsistentNetwork, UnknownName
from credalog.methods.intervals.conditioning import MOST_OBSERVED_WORLDS, sound_posterior
from credalog.methods.intervals.evidence import posterior
from credalog.methods.intervals.factors import Arrays, FactorGraph, Floats, Indices, Kind, slot_values
from credalog.methods.intervals.result import Propagation, Round, Variant
from credalog.methods.intervals.rounds import (
    Messages,
    ask_families,
    ask_programs,
    closed_forms,
    empty,
    first_crossed,
    incoming_box,
    take,
    update_all,
)
from credalog.methods.intervals.separation import mark_declared, mark_independent, mark_parents
from credalog.methods.intervals.templates import factors_of
from credalog.methods.intervals.windows import LinearProgram, Surroundings, box_rows, widen
from credalog.network.columns import columns_of
from credalog.network.formulas import TRUE, Formula, Is, Not, Variable, World, conjunction, literals_of
from credalog.network.graph import DependencyGraph, Markov, dependency_graph
from credalog.network.parents import Parents, parents_of
from credalog.network.sentences import Network
from credalog.numbers.budget import Budget, uncollected
from credalog.numbers.jit import interpreted, is_ready
from credalog.trusted.rounding import all_rounded_down

__all__ = ["Schedule", "propagate", "slice_intervals", "wide_messages"]

Report: TypeAlias = Callable[[Round], None]
Choice = TypeVar("Choice", bound=Enum)

TOLERANCE = 1e-9
"""The change of a message below which its factor is not asked again."""
MOST_ITERATIONS = 10_000
"""When propagation gives up on convergence."""
CROSSING = 1e-7
"""How far the paper's messages may cross before they count as contradictory: they carry solver tolerances."""
WIDE, WIDE_UNCOMPILED = 32, 8
"""The number of worlds beyond which a sound program is left to HiGHS: where ours is compiled, or not."""
SMALL = 20_000
"""The work, in cubes of worlds, that is done sooner than the compiled functions are loaded."""
LOADING = 1.0
"""In less time what was compiled before is not even loaded."""

COMPILING = 60.0
"""The seconds that must be left for functions to be compiled that never were on this machine."""
MOST_RADIUS, MOST_WINDOWED = 3, 2000
"""How far windows grow by themselves, and how many factors a network may have for that."""
GAIN = 1e-6
"""By how much wider windows have to narrow some interval for still wider ones to be tried."""
AT_ONCE, AT_ONCE_UNCOMPILED = 4096, 8
"""How many factors are asked between two looks at the clock."""
WIDE_NEWS = 1e-6
"""The change below which a wide factor is not asked again: its programs are the costly ones."""
MOST_NAMED = 20
"""How many sentences of a contradiction are named."""


class Schedule(Enum):
    """Choose in which order factors are asked."""

    RESIDUAL = "residual"
    """Where inputs changed most, first; each answer updates the variables at once."""

    SYNCHRONOUS = "synchronous"
    """All factors whose inputs changed, together."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to propagate, and until when."""

    variant: Variant
    schedule: Schedule
    tolerance: float
    max_iterations: int
    budget: Budget
    report: Report | None
    markov: Markov
    dependencies: DependencyGraph | Parents
    wide: int = WIDE
    at_once: int = AT_ONCE
    compiles: bool = True

    @property
    def whole(self) -> DependencyGraph:
        """The dependency graph, where windows or evidence need it."""
        assert isinstance(self.dependencies, DependencyGraph)
        return self.dependencies

    @property
    def sound(self) -> bool:
        return self.variant is Variant.SOUND


@dataclass(frozen=True, slots=True)
class _Run:
    """How the rounds ended; `crossed` is the number of a variable, or -1."""

    iterations: int
    converged: bool
    largest_change: float
    crossed: int


@uncollected()
def propagate(
    network: Network,
    *,
    variant: Variant | str = Variant.BP,
    window: int | None = 0,
    evidence: Formula | World = TRUE,
    asked: Collection[Variable] | None = None,
    schedule: Schedule | str = Schedule.RESIDUAL,
    markov: Markov = Markov.LOCAL,
    tolerance: float = TOLERANCE,
    max_iterations: int = MOST_ITERATIONS,
    timeout: float = inf,
    start: Propagation | None = None,
    report: Report | None = None,
    dependencies: DependencyGraph | None = None,
) -> Propagation:
    """Propagate intervals through a network until no message changes by more than the tolerance.

    `window` widens the local programs of the sound variant; with None they grow while there is time and
    something to gain. With `evidence`, a conjunction of literals, the intervals are those of P(x | evidence),
    where some variables are `asked` of these alone. `start` resumes from an earlier result, whose network
    this one may only tighten. When `timeout` seconds have passed, the intervals are those reached so far; the
    sound variant's hold even so. `report` is called after every round. `dependencies` is the graph whose
    independences count, by default the network's own.
    """
    if window is not None and window < 0:
        raise CredalogError(f"a window cannot reach {window} steps", advice="Give 0, 1, 2 or a little more.")
    which, order = _chosen(Variant, variant), _chosen(Schedule, schedule)
    budget = Budget.of(timeout)
    observed = _observed(network, evidence)
    is_printed = which is Variant.PRINTED
    families = not is_printed or bool(observed)
    graph = factors_of(network, families=families, silent=which is Variant.SOUND, budget=budget)
    grows = bool(window) or (window is None and len(graph.factors) <= MOST_WINDOWED)
    around = _around(network, is_whole=grows or bool(observed)) if dependencies is None else dependencies
    plan = _Plan(which, order, tolerance, max_iterations, budget, report, markov, around)
    plan = _paced(graph, plan, window or 0)
    with nullcontext() if plan.compiles else interpreted():
        if plan.sound:
            return _sound(graph, plan, window, start, (observed, asked))
        if observed:
            return _belief_posterior(graph, plan, observed)
        graph = graph if is_printed else mark_parents(graph)
        return _propagation(graph, plan, _resumed(graph, plan, start))


def _around(network: Network, *, is_whole: bool) -> DependencyGraph | Parents:
    """Return the dependency graph; of a large network only the parents, unless the whole is needed."""
    is_large = columns_of(network) is not None
    return parents_of(network) if is_large and not is_whole else dependency_graph(network)


def _paced(graph: FactorGraph, plan: _Plan, window: int) -> _Plan:
    """Decide whether to compile: not what is done before, nor in less time than that takes."""
    a = graph.arrays
    worlds = np.multiply.reduceat(a.size[a.edge_variable], a.edge_start[:-1]) if len(a.kind) else a.kind
    work = (worlds[a.kind != Kind.SILENT].astype(np.float64) ** 3).sum()
    # The paper's local programs are solved to optimality, by many times as many boxes.
    if not window and work <= (SMALL if plan.sound else SMALL / 25.0):
        return replace(plan, compiles=False, at_once=AT_ONCE_UNCOMPILED)
    needed = (ask_families, ask_programs) if (worlds > 4).any() else (ask_families,)
    left = plan.budget.remaining
    if left >= COMPILING or (left >= LOADING and all(is_ready(function) for function in needed)):
        return plan
    return replace(plan, compiles=False, at_once=AT_ONCE_UNCOMPILED, wide=WIDE_UNCOMPILED)


def _sound(
    plain: FactorGraph,
    plan: _Plan,
    window: int | None,
    start: Propagation | None,
    question: tuple[World, Collection[Variable] | None],
) -> Propagation:
    """Propagate soundly, then take in what was observed."""
    found, before = None, start
    for radius in range(MOST_RADIUS + 1) if window is None else (window,):
        graph = _marked(plain, radius, plan)
        found = _propagation(graph, plan, _resumed(graph, plan, before))
        gained = before is None or _gained(before, found)
        if plan.budget.is_spent or len(plain.factors) > MOST_WINDOWED or not gained:
            break
        before = found
        # Uncompiled, windows are HiGHS's.
        plan = plan if plan.compiles else replace(plan, wide=WIDE_UNCOMPILED)
    assert found is not None
    observed, asked = question
    if not observed:
        return found
    implied = plan.markov is not Markov.NONE
    around = Surroundings.of(found.graph, plan.whole, MOST_OBSERVED_WORLDS, implied=implied)
    given = sound_posterior(
        around, found.lower, found.upper, observed, asked=asked, implied=implied, budget=plan.budget
    )
    return replace(
        found,
        evidence=_formula(observed),
        lower=given.lower,
        upper=given.upper,
        undecided=given.undecided,
        seconds=plan.budget.elapsed,
        messages=None,
    )


def _gained(before: Propagation, after: Propagation) -> bool:
    """Tell whether some interval is narrower than it was."""
    moved = max((after.lower - before.lower).max(initial=0.0), (before.upper - after.upper).max(initial=0.0))
    return bool(moved > GAIN)


def slice_intervals(
    graph: FactorGraph, dependencies: DependencyGraph, budget: Budget
) -> tuple[Floats, Floats]:
    """Propagate soundly through a few factors, before anything is compiled; return the bounds by slot."""
    plan = _Plan(
        Variant.SOUND,
        Schedule.RESIDUAL,
        TOLERANCE,
        MOST_ITERATIONS,
        budget,
        None,
        Markov.LOCAL,
        dependencies,
        wide=WIDE_UNCOMPILED,
        at_once=AT_ONCE_UNCOMPILED,
        compiles=False,
    )
    with interpreted():
        found = _propagation(graph, plan, empty(graph.arrays))
    return found.lower, found.upper


def _chosen(kind: type[Choice], value: Choice | str) -> Choice:
    """Read a choice that may be given by its name."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(str(member.value) for member in kind)
        raise CredalogError(
            f"there is no {kind.__name__.lower()} {value}", advice=f"Choose one of {known}."
        ) from None


def _observed(network: Network, evidence: Formula | World) -> World:
    """Read evidence as observed values."""
    world = evidence if isinstance(evidence, dict) else literals_of(evidence)
    if world is None:
        raise CredalogError(
            "Propagation takes a conjunction of literals as evidence, one for each observed variable.",
            advice="Exact inference takes any formula.",
        )
    for variable in world:
        if variable not in network.variables:
            raise UnknownName(f"The evidence observes {variable.name}, which the network does not have.")
    return world


def _formula(observed: World) -> Formula:
    return conjunction(
        Not(Is(v)) if v.is_proposition and value == "false" else Is(v, value) for v, value in observed.items()
    )


def _marked(graph: FactorGraph, window: int, plan: _Plan) -> FactorGraph:
    """Add windows, and mark the independences that are implied or declared."""
    # To mark nothing is sound as well.
    implied = plan.markov is not Markov.NONE and not plan.budget.is_spent
    if window:
        graph = widen(graph, plan.whole, window, implied=implied, budget=plan.budget)
    if implied:
        graph = mark_independent(graph, plan.dependencies)
    return mark_declared(graph)


def _belief_posterior(graph: FactorGraph, plan: _Plan, observed: World) -> Propagation:
    """Propagate evidence by the messages of 2U."""
    found = posterior(
        graph,
        plan.whole,
        observed,
        tolerance=plan.tolerance,
        max_iterations=plan.max_iterations,
        budget=plan.budget,
    )
    return Propagation(
        graph=graph,
        variant=plan.variant,
        evidence=_formula(observed),
        lower=found.lower,
        upper=found.upper,
        iterations=found.iterations,
        converged=found.largest_change <= plan.tolerance,
        largest_change=found.largest_change,
        crossed=None,
        seconds=plan.budget.elapsed,
    )


def _propagation(graph: FactorGraph, plan: _Plan, messages: Messages) -> Propagation:
    """Run the rounds and report what they reached."""
    run = _rounds(graph, plan, messages)
    if run.crossed >= 0 and plan.sound:
        raise _inconsistent(graph, messages, run.crossed)
    return Propagation(
        graph=graph,
        variant=plan.variant,
        evidence=TRUE,
        lower=messages.best_lower,
        upper=messages.best_upper,
        iterations=run.iterations,
        converged=run.converged,
        largest_change=run.largest_change,
        crossed=graph.network.variables[run.crossed] if run.crossed >= 0 else None,
        seconds=plan.budget.elapsed,
        messages=messages,
        markov=plan.markov,
    )


def _rounds(graph: FactorGraph, plan: _Plan, messages: Messages) -> _Run:
    """Ask factors whose inputs changed, round after round, until there are none left."""
    change, crossed, number = 0.0, -1, 0
    variables = np.unique(graph.arrays.edge_variable)
    groups = _groups(graph, plan)
    active = _active(messages, plan.tolerance)
    while len(active) and crossed < 0 and number < plan.max_iterations and not plan.budget.is_spent:
        number += 1
        change = _round(graph.arrays, plan, messages, groups[active], active)
        crossed = _contradiction(graph.arrays, plan, messages, variables)
        if plan.report is not None:
            plan.report(Round(number, change, len(active), plan.budget.elapsed))
        active = _active(messages, plan.tolerance)
    # A factor that was asked when the time was up may have said less than it could.
    ended = not len(active) and crossed < 0 and not plan.budget.is_spent
    return _Run(number, ended, change, crossed)


class _Group(IntEnum):
    """Say who answers for a factor."""

    CLOSED = 0
    """Closed forms, compiled."""

    PROGRAM = 1
    """The compiled simplex method."""

    WIDE = 2
    """HiGHS."""

    NOBODY = 3
    """The factor is silent."""


def _groups(graph: FactorGraph, plan: _Plan) -> NDArray[np.int8]:
    """Assign every factor to those who answer for it."""
    a = graph.arrays
    groups = np.where(closed_forms(a, sound=plan.sound), _Group.CLOSED, _Group.PROGRAM)
    if plan.sound:
        worlds = np.multiply.reduceat(a.size[a.edge_variable], a.edge_start[:-1]) if len(groups) else groups
        wide = worlds // np.where(a.kind == Kind.FAMILY, 2, 1) > plan.wide
        groups[wide & (groups == _Group.PROGRAM)] = _Group.WIDE
    groups[a.kind == Kind.SILENT] = _Group.NOBODY
    return groups.astype(np.int8)


def _round(a: Arrays, plan: _Plan, messages: Messages, groups: NDArray[np.int8], active: Indices) -> float:
    """Ask the factors of a round, the cheap ones first; return the largest change of a variable."""
    at_once = plan.schedule is Schedule.RESIDUAL
    dirty = np.zeros(len(a.size), dtype=np.bool_)
    messages.change[active[groups == _Group.NOBODY]] = 0.0
    change = 0.0
    for ask, group in ((ask_families, _Group.CLOSED), (ask_programs, _Group.PROGRAM)):
        asked = active[groups == group]
        for start in range(0, len(asked), plan.at_once):
            if messages.refuted[0] < 0 and not plan.budget.is_spent:
                some = asked[start : start + plan.at_once]
                change = max(change, ask(a, messages, some, plan.sound, at_once, dirty))
    for f in active[groups == _Group.WIDE]:
        if messages.refuted[0] < 0 and not plan.budget.is_spent:
            change = max(change, _ask_wide(a, messages, int(f), at_once, dirty, plan.budget))
    return max(change, update_all(a, messages, dirty, plan.sound))


def _ask_wide(
    a: Arrays, messages: Messages, f: int, at_once: bool, dirty: NDArray[np.bool_], budget: Budget
) -> float:
    """Ask one wide factor, if there is enough news for it."""
    if messages.change[f] <= WIDE_NEWS:
        messages.change[f] = 0.0
        return 0.0
    out = wide_messages(a, f, incoming_box(a, messages, f, True), budget)
    if out is None:
        messages.refuted[0] = f
        return 0.0
    return take(a, messages, f, out, True, at_once, dirty)


def _contradiction(a: Arrays, plan: _Plan, messages: Messages, variables: Indices) -> int:
    """Return a variable whose messages contradict each other, or -1."""
    crossed = first_crossed(a, messages, variables, 0.0 if plan.sound else CROSSING)
    refuted = int(messages.refuted[0])
    return int(a.edge_variable[a.edge_start[refuted + 1] - 1]) if crossed < 0 <= refuted else crossed


def _active(messages: Messages, tolerance: float) -> Indices:
    """List the factors whose inputs changed, the largest change first."""
    active = np.flatnonzero(messages.change > tolerance)
    return active[np.argsort(-messages.change[active], kind="stable")]


def _resumed(graph: FactorGraph, plan: _Plan, start: Propagation | None) -> Messages:
    """Return the messages to begin with: those of an earlier result, or none.

    Every message of a network holds in one that only tightens it. A factor is asked again if its own
    sentences or, through other messages, its inputs have changed.
    """
    messages = empty(graph.arrays)
    if start is None:
        return messages
    _require_tightened(graph.network, start)
    _require_same_assumptions(plan, start)
    earlier, old = start.graph, start.messages
    if old is None:
        return messages
    known = {factor.scope: f for f, factor in enumerate(earlier.factors)}
    pending = np.ones(len(graph.factors))
    for f, factor in enumerate(graph.factors):
        g = known.get(factor.scope, -1)
        if g >= 0 and earlier.factors[g].kind == factor.kind:
            here, there = graph.message_slots(f), earlier.message_slots(g)
            messages.lower[here], messages.upper[here] = old.lower[there], old.upper[there]
            messages.cause[graph.edges(f)] = old.cause[earlier.edges(g)]
            if np.array_equal(graph.coefficients(f), earlier.coefficients(g)):
                pending[f] = old.change[g]
    update_all(graph.arrays, messages, np.ones(len(graph.arrays.size), dtype=np.bool_), True)
    messages.change[:] = pending
    return messages


def _require_tightened(network: Network, start: Propagation) -> None:
    """Refuse to resume from a network that this one does not merely tighten."""
    earlier = start.graph.network
    kept = network.variables == earlier.variables and set(earlier.independences) <= set(network.independences)
    kept = kept and all(
        new.claims == old.claims
        and new.given == old.given
        and new.tau == old.tau
        and old.lower <= new.lower
        and new.upper <= old.upper
        for new, old in zip(network.sentences, earlier.sentences, strict=False)
    )
    longer = len(network.sentences) - len(earlier.sentences)
    if kept and longer > 0:
        kept = dependency_graph(network).parent_indices == dependency_graph(earlier).parent_indices
    if not kept or longer < 0 or start.evidence != TRUE:
        raise CredalogError(
            "Propagation can resume only from the same network, or from one with looser bounds.",
            advice="Start afresh: sentences were changed, removed, or tie variables anew.",
        )


def _require_same_assumptions(plan: _Plan, start: Propagation) -> None:
    """Refuse to resume from messages that assumed more than this run may: they are no bounds for it."""
    if start.variant is not plan.variant or start.markov not in (plan.markov, Markov.NONE):
        raise CredalogError(
            f"Messages of {start.variant.value} under the {start.markov.value} Markov condition are not valid"
            f" for {plan.variant.value} under the {plan.markov.value} one.",
            advice="Start afresh, or resume from a result of the same variant and condition.",
        )


def _inconsistent(graph: FactorGraph, messages: Messages, crossed: int) -> InconsistentNetwork:
    """Name the sentences whose messages led to the contradiction, the nearest first."""
    names = list(dict.fromkeys(_path(graph, messages, crossed)))
    shown = ", ".join(names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    variable = graph.network.variables[crossed].name
    return InconsistentNetwork(
        f"No distribution satisfies the network: the bounds on {variable} contradict each other.",
        advice=f"They follow from {shown}{more}.",
    )


def _path(graph: FactorGraph, messages: Messages, crossed: int) -> Iterator[str]:
    """Yield the sentences of all factors that tightened the crossed variable, or what they depend on."""
    a, refuted = graph.arrays, int(messages.refuted[0])
    variables = [crossed]
    factors: dict[int, None] = {}
    if refuted >= 0:
        factors[refuted] = None
        variables = list(graph.factors[refuted].scope)
    reached = set(variables)
    # The list grows while it is walked: a breadth-first search.
    for v in variables:
        for e in a.variable_edge[a.variable_start[v] : a.variable_start[v + 1]]:
            f = int(a.edge_factor[e])
            if messages.cause[e] and f not in factors:
                factors[f] = None
                fresh = [w for w in graph.factors[f].scope if w not in reached]
                reached.update(fresh)
                variables.extend(fresh)
    for f in factors:
        yield from graph.names(f)


# ---- wide formulas ----------------------------------------------------------------------------------------
# Messages of wide factors: local programs with too many worlds for the compiled simplex method.
# Input: the arrays of a factor graph, one factor, and the intervals around it. Output: its sound messages,
# or the proof that it has none.


def wide_messages(a: Arrays, f: int, box: Floats, budget: Budget) -> Floats | None:
    """Bound every neighbour of a factor over one linear program; None where it is proved empty.

    A family is a table over its parents, whose head ranges between two linear functions of theirs.
    """
    is_family = bool(a.kind[f] == Kind.FAMILY)
    edges = slice(a.edge_start[f], a.edge_start[f + 1] - is_family)
    size = a.size[a.edge_variable[edges]]
    fixed = a.coefficient[a.table_start[f] : a.table_start[f + 1]].reshape(-1, int(size.prod()))
    stated = fixed
    if is_family:
        # Below what the parents say of the head, its own interval is; a smaller coefficient weakens a row.
        stated = all_rounded_down(np.array([fixed[0] - box[1, -1], box[0, -1] - fixed[1]]))
    rows = [sp.csr_array(stated), box_rows(size, a.product[edges], box[0], box[1])]
    program = LinearProgram(sp.csr_array(sp.vstack(rows, format="csr")), budget)
    worths = [(-holds, holds) for holds in _indicators(size)]
    if is_family:
        worths.append((-fixed[0], fixed[1]))
    try:
        ends = [[program.greatest(worth) for worth in pair] for pair in worths]
    except InconsistentNetwork:
        return None
    low, high = np.array(ends).reshape(len(worths), 2).T
    return np.array([np.maximum(-low, 0.0), np.minimum(high, 1.0)])


def _indicators(size: Indices) -> list[Floats]:
    """List where each bounded value of each variable holds."""
    values = np.indices(tuple(size)).reshape(len(size), -1)
    return [
        (values[i] == value).astype(np.float64)
        for i, count in enumerate(size)
        for value in slot_values(int(count))
    ]
