"""What is told of the searches for one query on cliques.

Input: glances at searches, and findings of their steps. Output: reports of the query (`Telling`), with the
bounds that hold for every model and the witnesses that are known to count in the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from math import isfinite
from typing import NamedTuple, TypeAlias

from credalog.methods.progress import Telling
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Endpoint, Warrant
from credalog.numbers.tolerances import allowed_gap
from credalog.program.program import Claim
from credalog.program.workers import Workers
from credalog.tables.distribution import Distribution
from credalog.trusted.certify import Checker

__all__ = ["Accepts", "Ending", "Finding", "Glance", "Glances", "Limits", "Witness", "farther_witness"]

# ---- what a search is told, and what it finds -------------------------------------------------------------
# What a search on cliques is told, and what it finds.
# Input: nothing. Output: `Limits` of a search, `Glance`s at it, and its `Finding`: a bound, a witness and
# how it ended.

Accepts: TypeAlias = Callable[[Distribution], bool]
"""Whoever decides whether a distribution is a model."""


class Ending(Enum):
    """Say why a search ended."""

    CLOSED = "bound and witness meet within the tolerance"
    EMPTY = "it is proved that no point exists"
    STOPPED = "the time ran out, or no leaf could be cut further"
    INTERRUPTED = "the user stopped it"


@dataclass(frozen=True, slots=True)
class Witness:
    """A distribution of the factorization and the value it gives the query."""

    distribution: Distribution
    value: float


@dataclass(frozen=True, slots=True)
class Finding:
    """What a search found: the proved bound, the best witness, how it ended and its first relaxation."""

    bound: float
    witness: Witness | None
    ending: Ending
    warrant: Warrant
    nodes: int
    root: Claim | None

    @property
    def endpoint(self) -> Endpoint:
        """Return what was found as one end of an interval."""
        bound = min(max(self.bound, 0.0), 1.0)
        if self.witness is None:
            return Endpoint(bound, None, self.warrant)
        value = min(max(self.witness.value, 0.0), 1.0)
        return Endpoint(bound, value, self.warrant, self.witness.distribution)

    def joined(self, earlier: Finding, end: End) -> Finding:
        """Return this finding with what an earlier one of the same end proved or attained better."""
        bounding = earlier if end.is_tighter(earlier.bound, self.bound) else self
        witness = farther_witness(self.witness, earlier.witness, end)
        nodes = self.nodes + earlier.nodes
        return replace(self, bound=bounding.bound, warrant=bounding.warrant, witness=witness, nodes=nodes)

    def closed_within(self, tolerance: float) -> Finding:
        """Return the finding, said to be closed where bound and witness meet within a tolerance."""
        is_closed = self.ending is Ending.STOPPED and self.endpoint.is_closed(tolerance)
        return replace(self, ending=Ending.CLOSED) if is_closed else self

    def without_bound(self, end: End) -> Finding:
        """Return the finding with nothing proved, where its program does not hold every model."""
        return replace(self, bound=end.trivial, warrant=Endpoint.trivial(end).warrant)


def farther_witness(first: Witness | None, second: Witness | None, end: End) -> Witness | None:
    """Return the witness that lies farther out at an end."""
    if first is None or second is None:
        return first or second
    return second if end.is_farther(second.value, first.value) else first


class Glance(NamedTuple):
    """What a search has reached: the bound and on whose word it stands, the best witness, its leaves."""

    bound: float
    warrant: Warrant
    witness: Witness | None
    leaves: int

    @property
    def value(self) -> float | None:
        """Return the value attained, if one is."""
        return None if self.witness is None else self.witness.value


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: the gap that is good enough, the time, the first leaf; and who is told on the way.

    `gap` gives the gap that may be left at a value, from the tolerance. `decided` ends a search as soon as
    the bound and the witnessed value settle what they are needed for. Where `attains` is off no point of the
    program is looked at as a model: it lacks variables, say.
    """

    tolerance: float
    budget: Budget
    root_only: bool = False
    attains: bool = True
    report: Callable[[Glance], None] | None = None
    decided: Callable[[float, float | None], bool] | None = None
    gap: Callable[[float, float], float] = allowed_gap
    workers: Workers | None = None


# ---- what is told of a query ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Glances:
    """Who is told of a query, and who knows whether a witness counts: a model, of what extends to more."""

    telling: Telling
    counts: Callable[[Witness], bool]
    _best: dict[End, Finding] = field(default_factory=dict)

    def joined(self, found: Finding, end: End) -> Finding:
        """Return a finding with what was told of its end and a step since has lost, unless it is empty."""
        is_lost = end in self._best and found.ending is not Ending.EMPTY
        return found.joined(self._best[end], end) if is_lost else found

    def of(self, end: End, stage: str, *, is_outer: bool = True) -> Callable[[Glance], None]:
        """Return who is told of one search; what bounds a narrower reading does not bound all models."""
        explored = 0

        def report(glance: Glance) -> None:
            nonlocal explored
            more, explored = glance.leaves - explored, glance.leaves
            is_proved = is_outer and isfinite(glance.bound)
            bound, warrant = (glance.bound, glance.warrant) if is_proved else (end.trivial, Checker.warrant)
            found = Finding(bound, glance.witness, Ending.STOPPED, warrant, 0, None)
            self.tell(end, found, stage, explored=more)

        return report

    def tell(self, end: End, found: Finding, stage: str, *, explored: int = 0) -> None:
        """Tell what was found of an end."""
        is_counted = found.witness is not None and self.counts(found.witness)
        told = found if is_counted else replace(found, witness=None)
        self._best[end] = self.joined(told, end)
        self.telling.tell(end, told.endpoint, explored=explored, stage=stage)
