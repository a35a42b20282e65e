"""What is told of the searches for one query on cliques.

Input: glances at searches, and findings of their steps. Output: reports of the query (`Telling`), with the
bounds that hold for every model and the witnesses that are known to count in the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import isfinite

from credalog.methods.cliques.search import Ending, Finding, Glance, Witness
from credalog.methods.progress import Telling
from credalog.numbers.interval import End
from credalog.trusted.certify import Checker

__all__ = ["Glances"]


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
