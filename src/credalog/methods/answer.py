"""What is asked of an inference, and what it answers.

Enters: options. Leaves: `Answer`, an interval with its warranty, its status and its cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from credalog.network.graph import Markov
from credalog.network.sentences import Query
from credalog.numbers.interval import Interval, Status
from credalog.numbers.tolerances import TOLERANCE
from credalog.tables.distribution import Distribution

__all__ = ["Answer", "Options", "Progress", "Report", "last_of"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Progress:
    """A glance at work under way: what is proved so far, what is attained, and since when."""

    task: str
    bound: float
    witnessed: float | None
    seconds: float


Report: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How long to work, how closely, and under which Markov condition."""

    tolerance: float = TOLERANCE
    timeout: float = 30.0
    method: str = "auto"
    markov: Markov = Markov.LOCAL
    report: Report | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The interval of one query, how it was found and how far it can be trusted.

    The witnesses are models that attain the witnessed values, over the variables that bear on the query.
    """

    query: Query
    interval: Interval
    status: Status
    method: str
    seconds: float
    interrupted: bool = False

    @property
    def lower_witness(self) -> Distribution | None:
        """Return the model that attains the least value."""
        model: Distribution | None = self.interval.lower.model
        return model

    @property
    def upper_witness(self) -> Distribution | None:
        """Return the model that attains the greatest value."""
        model: Distribution | None = self.interval.upper.model
        return model

    @property
    def lower(self) -> float:
        """Return the lower bound: no model gives less."""
        return self.interval.lower.bound

    @property
    def upper(self) -> float:
        """Return the upper bound: no model gives more."""
        return self.interval.upper.bound

    @property
    def lower_witnessed(self) -> float | None:
        """Return the least value that a checked model attains."""
        return self.interval.lower.witnessed

    @property
    def upper_witnessed(self) -> float | None:
        """Return the greatest value that a checked model attains."""
        return self.interval.upper.witnessed

    def _repr_html_(self) -> str:
        from credalog.show.html import Bar, as_html
        from credalog.text import unparse_query

        remark = f"{self.status.name.lower()}, {self.method}, {self.seconds:.2f} s"
        return as_html([Bar(unparse_query(self.query), self.interval, remark)])


def last_of(stages: Iterable[T], first: T) -> tuple[T, bool]:
    """Go through ever better results; return the last one, and whether Ctrl-C came before the end."""
    best = first
    try:
        for better in stages:
            best = better
    except KeyboardInterrupt:
        return best, True
    return best, False
