"""What is asked of a credal network and what else is said of it, as functions whose expectations count.

Input: a query, and statements that are not local. Output: `Scores`: P(event, evidence) and P(evidence) as the
expectations of two functions, and for each bound of each statement a function whose expectation is not
negative in any model (docs/proofs.md, proof 27).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, prod

import numpy as np

from credalog.methods.vertices.expectations import Function
from credalog.network.formulas import Variable, scope, truth_table
from credalog.network.sentences import Query, Sentence
from credalog.tables.credal import CredalNetwork

__all__ = ["Scores", "scores_of"]

MOST_STATES = 1 << 10
"""A question or a statement about more worlds of its own variables is left out."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What is asked and what is demanded, as functions: P(event, evidence), P(evidence), and each bound.

    The expectation of each of `demands` is not negative in any model.
    """

    inside: Function
    mass: Function
    demands: tuple[Function, ...]

    def at(self, trial: float) -> Function:
        """Return the question's score at a trial value, rounded up."""
        values = np.nextafter(self.inside.values - trial * self.mass.values, 2.0)
        return Function(self.inside.scope, np.where(self.mass.values > 0.0, values, 0.0))


def scores_of(credal: CredalNetwork, asked: Query, statements: Iterable[Sentence]) -> Scores | None:
    """Write a query, and what else is said, as functions; None where the query is too wide.

    A statement that is too wide is left out, which only widens bounds.
    """
    index = {variable: i for i, variable in enumerate(credal.network.variables)}
    wide = scope(asked.claim, asked.given)
    if _states(wide) > MOST_STATES:
        return None
    places = tuple(index[v] for v in wide)
    mass = truth_table(asked.given, wide).astype(np.float64)
    inside = mass * truth_table(asked.claim, wide)
    demands = [d for s in statements if _states(s.scope) <= MOST_STATES for d in _demands(s, index)]
    return Scores(Function(places, inside), Function(places, mass), tuple(demands))


def _states(variables: Iterable[Variable]) -> int:
    return prod(len(v.values) for v in variables)


def _demands(statement: Sentence, index: Mapping[Variable, int]) -> Iterator[Function]:
    """Yield both bounds of a statement, each rounded up; nothing is said outside of its condition."""
    wide = statement.scope
    given = truth_table(statement.given, wide)
    said = sum(w * truth_table(c, wide).astype(object) for w, c in statement.claims)
    for difference in (said - statement.lower, statement.upper - said):
        values = np.nextafter(np.broadcast_to(difference, given.shape).astype(np.float64), inf)
        if (np.where(given, values, 0.0) < 0.0).any():
            yield Function(tuple(index[v] for v in wide), np.where(given, values, 0.0))
