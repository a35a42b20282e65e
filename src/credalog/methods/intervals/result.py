"""What propagation reached: an interval per variable, the messages behind it, and how it ended.

Input: the arrays of a finished run. Output: `Propagation`, with its intervals by name, its messages by
factor and variable, and its `Answer`s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from credalog.errors import CredalogError, UnknownName
from credalog.methods.answer import Answer, Marginals
from credalog.methods.intervals.factors import FactorGraph, Floats
from credalog.methods.intervals.rounds import Messages
from credalog.network.formulas import Formula, Is, Variable
from credalog.network.graph import Markov
from credalog.network.sentences import Query
from credalog.numbers.budget import uncollected
from credalog.numbers.interval import VACUOUS, End, Endpoint, Interval, Status, Warrant
from credalog.numbers.printed import Printed
from credalog.trusted.rounding import enclosed, round_down, round_up

if TYPE_CHECKING:
    from credalog.show.canvas import Picture

__all__ = ["Propagation", "Round", "Variant", "of_value"]

Bounds: TypeAlias = tuple[float, float]


class Variant(Enum):
    """Choose what a factor assumes of its neighbours."""

    BP = "bp"
    """Our variant of the paper's algorithm: a family keeps a polytree's independences. Exact on polytrees."""

    PRINTED = "printed"
    """The paper's algorithm to the letter: the neighbours other than the target are mutually independent."""

    SOUND = "sound"
    """Only independences that the Markov condition implies: every message is an outer bound."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round did, and how long all rounds have taken so far."""

    number: int
    largest_change: float
    factors: int
    seconds: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Propagation(Printed):
    """The intervals and messages that propagation reached.

    `lower` and `upper` hold one number per proposition, and one per value of every other variable.
    `crossed` names a variable whose messages contradict each other: bp and printed then found no fixed
    point, and their intervals mean nothing. `messages` is None for their posteriors.
    """

    graph: FactorGraph
    variant: Variant
    evidence: Formula
    lower: Floats
    upper: Floats
    iterations: int
    converged: bool
    largest_change: float
    crossed: Variable | None
    seconds: float
    messages: Messages | None = None
    markov: Markov = Markov.LOCAL
    undecided: tuple[Variable, ...] = ()
    """The variables whose evidence did not fit into a window: nothing is said of them."""

    def __post_init__(self) -> None:
        for array in (self.lower, self.upper, *(self.messages or ())):
            array.setflags(write=False)

    def _content(self) -> tuple[Any, ...]:
        """Return what two results have in common if they are equal."""
        bounds = (tuple(self.lower.tolist()), tuple(self.upper.tolist()))
        return (self.graph.network, self.variant, self.evidence, self.markov, self.crossed, *bounds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Propagation) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __str__(self) -> str:
        ending = "converged" if self.converged else "not converged"
        if self.crossed is not None:
            ending = f"no fixed point: the messages to {self.crossed.name} cross"
        count = len(self.graph.network.variables)
        return f"{self.variant.value} on {count:,} variables: {ending} after {self.iterations:,} rounds"

    def to_dict(self) -> dict[str, Any]:
        """Return how propagation ended, and its answers."""
        return {
            "variant": self.variant.value,
            "evidence": str(self.evidence),
            "converged": self.converged,
            "iterations": self.iterations,
            "crossed": None if self.crossed is None else self.crossed.name,
            "answers": [answer.to_dict() for answer in self.answers()],
            "seconds": self.seconds,
        }

    def plot(self, *, title: str = "") -> Picture:
        """Draw the intervals of all variables."""
        return Marginals(self.answers()).plot(title=title or str(self))

    def _repr_html_(self) -> str:
        return Marginals(self.answers())._repr_html_()

    def interval(self, variable: Variable | str | Is, value: str = "true") -> Bounds:
        """Return the bounds on the probability that a variable takes a value."""
        atom = variable if isinstance(variable, Is) else Is(self._variable(variable), value)
        return self._interval(self._number(atom.variable), atom.variable.values.index(atom.value))

    def _variable(self, named: Variable | str) -> Variable:
        if isinstance(named, Variable):
            return named
        found = next((v for v in self.graph.network.variables if v.name == named), None)
        if found is None:
            raise UnknownName(f"the network has no variable {named}")
        return found

    def sent(self, scope: tuple[Variable, ...], to: Variable, value: str = "true") -> Bounds:
        """Return the message of the factor over these variables to one of them."""
        edge, messages = self._edge(scope, to), self._messages()
        slot = int(self.graph.arrays.edge_slot[edge])
        return of_value(messages.lower[slot:], messages.upper[slot:], to, to.values.index(value))

    def received(self, scope: tuple[Variable, ...], source: Variable, value: str = "true") -> Bounds:
        """Return the message of a variable to the factor over these variables."""
        edge, a, m = self._edge(scope, source), self.graph.arrays, self._messages()
        v = self._number(source)
        others = [e for e in a.variable_edge[a.variable_start[v] : a.variable_start[v + 1]] if e != edge]
        slots = range(a.variable_slot[v + 1] - a.variable_slot[v])
        lower = np.array([max((m.lower[a.edge_slot[e] + s] for e in others), default=0.0) for s in slots])
        upper = np.array([min((m.upper[a.edge_slot[e] + s] for e in others), default=1.0) for s in slots])
        return of_value(lower, upper, source, source.values.index(value))

    def answers(self) -> tuple[Answer, ...]:
        """Return one answer per proposition, and one per value of every other variable.

        Where messages contradict each other nothing is known: every interval is then that between 0 and 1.
        """
        with uncollected():
            return tuple(self.stream())

    def answer(self, atom: Is, asked: Query) -> Answer:
        """Return the answer to one query, whose claim says the same as an atom."""
        found = self._answer(self._number(atom.variable), atom.variable.values.index(atom.value))
        return replace(found, query=asked)

    def stream(self) -> Iterator[Answer]:
        """Yield the same answers one by one, none of which is kept."""
        for v, variable in enumerate(self.graph.network.variables):
            for i, value in enumerate(variable.values):
                if value != "false" or not variable.is_proposition:
                    yield self._answer(v, i)

    def _answer(self, v: int, value: int) -> Answer:
        """Return the answer about one value of a variable, both by number."""
        variable = self.graph.network.variables[v]
        status = Status.BOUNDED if self.variant is Variant.SOUND else Status.APPROXIMATE
        if self.crossed is not None or variable in self.undecided:
            status = Status.UNDECIDED
        interval = self._known(v, value) if self.crossed is None else VACUOUS
        query = Query(variable.is_(variable.values[value]), self.evidence)
        return Answer(query, interval, status, self.variant.value, self.seconds)

    def _known(self, v: int, value: int) -> Interval:
        """Return the interval of a value; that of the sound variant is proved, its roundings are outwards."""
        # Messages of bp and printed may cross by a solver's tolerance, which is no contradiction.
        lower, upper = sorted(self._interval(v, value))
        if self.variant is Variant.SOUND:
            return Interval(
                enclosed(lower, error=0.0, end=End.LOWER), enclosed(upper, error=0.0, end=End.UPPER)
            )
        return Interval(Endpoint(lower, None, Warrant.HEURISTIC), Endpoint(upper, None, Warrant.HEURISTIC))

    def _interval(self, v: int, value: int) -> Bounds:
        slot = int(self.graph.arrays.variable_slot[v])
        return of_value(self.lower[slot:], self.upper[slot:], self.graph.network.variables[v], value)

    def _messages(self) -> Messages:
        if self.messages is None:
            raise CredalogError("Posteriors by belief propagation carry no interval messages.")
        return self.messages

    def _number(self, variable: Variable) -> int:
        try:
            return self.graph.index[variable]
        except KeyError:
            raise UnknownName(f"The network has no variable {variable.name}.") from None

    def _edge(self, scope: tuple[Variable, ...], variable: Variable) -> int:
        numbers = {self._number(v) for v in scope}
        for f, factor in enumerate(self.graph.factors):
            if set(factor.scope) == numbers and variable in scope:
                return int(self.graph.arrays.edge_start[f]) + factor.scope.index(self._number(variable))
        names = ", ".join(v.name for v in scope)
        raise UnknownName(f"No factor over exactly {names} is a neighbour of {variable.name}.")


def of_value(lower: Floats, upper: Floats, variable: Variable, value: int) -> Bounds:
    """Read the bounds of one value off the slots of a variable."""
    if len(variable.values) != 2:
        return float(lower[value]), float(upper[value])
    if value == 1:
        return float(lower[0]), float(upper[0])
    return max(0.0, round_down(1.0 - float(upper[0]))), min(1.0, round_up(1.0 - float(lower[0])))
