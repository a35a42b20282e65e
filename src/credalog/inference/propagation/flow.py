"""Interval propagation: from a network to an interval for every variable, round by round.

Enters: a ground network, the variant of the algorithm, a schedule. Leaves: `Propagation`, the intervals and
messages reached, with the honest status of the variant: estimates for the paper's algorithm, proved bounds for
the sound one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from time import perf_counter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.errors import CredalogError, InconsistentNetwork
from credalog.inference.answer import Answer
from credalog.inference.propagation.factors import FactorGraph, factor_graph
from credalog.inference.propagation.rounds import Messages, apply, empty, round_of_messages
from credalog.inference.propagation.separation import mark_independent
from credalog.logic import Formula, Variable
from credalog.markov import Markov, dependency_graph
from credalog.model import Network, Query
from credalog.numerics import Endpoint, Interval, Status, Warrant

__all__ = ["Propagation", "Round", "Schedule", "Variant", "propagate"]

Bounds: TypeAlias = tuple[float, float]
Floats: TypeAlias = NDArray[np.float64]

TOLERANCE = 1e-9
"""The change of a message below which its factor is not asked again."""
MOST_ROUNDS = 10_000
"""When propagation gives up on convergence."""
MOST_NAMED = 20
"""How many sentences of a contradiction are named."""
CROSSING = 1e-7
"""How far the paper's messages may cross before they count as contradictory: they carry solver tolerances."""


class Variant(Enum):
    """Choose what a factor assumes of its neighbours."""

    BP = "bp"
    """The paper's algorithm, with the independences of a polytree inside a family: exact on polytrees."""

    PRINTED = "printed"
    """The paper's algorithm to the letter: the neighbours other than the target are mutually independent."""

    SOUND = "sound"
    """Only independences that the Markov condition implies: every message is an outer bound."""


class Schedule(Enum):
    """Choose in which order factors are asked."""

    RESIDUAL = "residual"
    """Where inputs changed most, first; each answer is heard at once."""

    SYNCHRONOUS = "synchronous"
    """All factors whose inputs changed, together."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round did."""

    number: int
    largest_change: float
    factors: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Propagation:
    """The intervals and messages that propagation reached.

    `crossed` names a variable whose messages contradict each other: the paper's algorithm then has no fixed point.
    """

    graph: FactorGraph
    variant: Variant
    lower: Floats
    upper: Floats
    rounds: int
    converged: bool
    largest_change: float
    crossed: Variable | None
    seconds: float
    messages: Messages = field(repr=False, compare=False)

    def interval(self, variable: Variable, value: str = "true") -> Bounds:
        """Return the bounds on the probability that a variable takes a value."""
        v = self.graph.network.variables.index(variable)
        return self._interval(v, variable.values.index(value))

    def _interval(self, v: int, value: int) -> Bounds:
        slot = int(self.graph.arrays.variable_slot[v])
        return _value_bounds(self.lower[slot:], self.upper[slot:], self.graph.network.variables[v], value)

    def sent(self, scope: tuple[Variable, ...], to: Variable, value: str = "true") -> Bounds:
        """Return the message of the factor over these variables to one of them."""
        edge = self._edge(scope, to)
        slot = int(self.graph.arrays.edge_slot[edge])
        m = self.messages
        return _value_bounds(m.lower[slot:], m.upper[slot:], to, to.values.index(value))

    def received(self, scope: tuple[Variable, ...], source: Variable, value: str = "true") -> Bounds:
        """Return the message of a variable to the factor over these variables."""
        edge, a, m = self._edge(scope, source), self.graph.arrays, self.messages
        v = self.graph.network.variables.index(source)
        others = [e for e in a.variable_edge[a.variable_start[v] : a.variable_start[v + 1]] if e != edge]
        slots = np.arange(a.variable_slot[v + 1] - a.variable_slot[v])
        lower = np.array([max((m.lower[a.edge_slot[e] + s] for e in others), default=0.0) for s in slots])
        upper = np.array([min((m.upper[a.edge_slot[e] + s] for e in others), default=1.0) for s in slots])
        return _value_bounds(lower, upper, source, source.values.index(value))

    def _edge(self, scope: tuple[Variable, ...], variable: Variable) -> int:
        variables = self.graph.network.variables
        for f, factor in enumerate(self.graph.factors):
            if {variables[v] for v in factor.scope} == set(scope) and variable in scope:
                return int(self.graph.arrays.edge_start[f]) + factor.scope.index(variables.index(variable))
        raise CredalogError(f"No factor over {', '.join(v.name for v in scope)} has {variable.name}.")

    def answers(self) -> tuple[Answer, ...]:
        """Return one answer per proposition, and one per value of every other variable."""
        return tuple(self._answers())

    def _answers(self) -> Iterator[Answer]:
        sound = self.variant is Variant.SOUND
        warrant = Warrant.CHECKED if sound else Warrant.HEURISTIC
        status = Status.BOUNDED if sound else Status.APPROXIMATE
        for v, variable in enumerate(self.graph.network.variables):
            for i, value in enumerate(variable.values):
                if variable.is_proposition and value == "false":
                    continue
                lower, upper = self._interval(v, i)
                interval = Interval(Endpoint(lower, None, warrant), Endpoint(upper, None, warrant))
                query = Query(variable.is_(value))
                yield Answer(query, interval, status, self.variant.value, self.seconds)


def _value_bounds(lower: Floats, upper: Floats, variable: Variable, value: int) -> Bounds:
    """Read the bounds of one value off the slots of a variable."""
    if len(variable.values) > 2:
        return float(lower[value]), float(upper[value])
    if value == 1:
        return float(lower[0]), float(upper[0])
    return max(0.0, float(np.nextafter(1.0 - upper[0], -1))), min(1.0, float(np.nextafter(1.0 - lower[0], 2)))


def propagate(
    network: Network,
    *,
    variant: Variant | str = Variant.BP,
    schedule: Schedule | str = Schedule.RESIDUAL,
    markov: Markov = Markov.LOCAL,
    tolerance: float = TOLERANCE,
    max_rounds: int = MOST_ROUNDS,
    start: Propagation | None = None,
    report: Callable[[Round], None] | None = None,
) -> Propagation:
    """Propagate intervals through a network until no message changes by more than the tolerance."""
    began = perf_counter()
    variant, schedule = Variant(variant), Schedule(schedule)
    sound = variant is Variant.SOUND
    graph = factor_graph(network, families=variant is not Variant.PRINTED, silent=sound)
    if sound and markov is not Markov.NONE:
        graph = mark_independent(graph, dependency_graph(network))
    messages = empty(graph.arrays)
    change, crossed, number = 0.0, -1, 0
    active = np.arange(len(graph.factors))
    while len(active) and crossed < 0 and number < max_rounds:
        number += 1
        change, crossed = round_of_messages(
            graph.arrays, messages, active, sound, schedule is Schedule.RESIDUAL, 0.0 if sound else CROSSING
        )
        if report is not None:
            report(Round(number, change, len(active), perf_counter() - began))
        active = np.flatnonzero(messages.change > tolerance)
        active = active[np.argsort(-messages.change[active], kind="stable")]
    if crossed >= 0 and sound:
        raise _inconsistent(graph, messages, crossed)
    return Propagation(
        graph=graph,
        variant=variant,
        lower=messages.best_lower,
        upper=messages.best_upper,
        rounds=number,
        converged=not len(active) and crossed < 0,
        largest_change=change,
        crossed=network.variables[crossed] if crossed >= 0 else None,
        seconds=perf_counter() - began,
        messages=messages,
    )


def _inconsistent(graph: FactorGraph, messages: Messages, crossed: int) -> InconsistentNetwork:
    """Name the sentences whose messages led to the contradiction, the nearest first."""
    path = tuple(_path(graph, messages, crossed))
    names = ", ".join(path[:MOST_NAMED]) + (f" and {len(path) - MOST_NAMED} more" if len(path) > MOST_NAMED else "")
    variable = graph.network.variables[crossed].name
    return InconsistentNetwork(
        f"No distribution satisfies the network: the bounds on {variable} contradict each other.",
        advice=f"They follow from {names}.",
    )


def _path(graph: FactorGraph, messages: Messages, crossed: int) -> Iterator[str]:
    """Yield the sentences of all factors that tightened the crossed variable, or what they depend on."""
    a = graph.arrays
    refuted = int(messages.refuted[0])
    seen_factors = dict.fromkeys([refuted] if refuted >= 0 else [])
    variables = list(graph.factors[refuted].scope) if refuted >= 0 else [crossed]
    seen = set(variables)
    for v in variables:
        for e in a.variable_edge[a.variable_start[v] : a.variable_start[v + 1]]:
            if messages.cause[e]:
                f = int(a.edge_factor[e])
                seen_factors.setdefault(f)
                fresh = [w for w in graph.factors[f].scope if w not in seen]
                seen.update(fresh)
                variables.extend(fresh)
    for f in seen_factors:
        yield from graph.names(f)
