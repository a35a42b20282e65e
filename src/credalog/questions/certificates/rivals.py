"""Why an assignment is the best: what bounds every other one.

Input: a certificate under way and best assignments. Output: lines about the first that is listed, about
partial assignments that bound all others, and the line that puts these together.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from credalog.methods.answer import Answer, Options
from credalog.network.formulas import Is, Variable, conjunction
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.questions.map import BestAssignments, Criterion

if TYPE_CHECKING:
    from credalog.questions.certificates.writing import Writing

__all__ = ["write_best"]

MOST_RIVALS = 500
"""More partial assignments than this are not bounded."""

ROUNDING = 1e-5
"""A rival is bounded by so much less than would be enough, since bounds are rounded outwards."""

TOTAL = 20
"""So many times the seconds of one proof may be spent on all rivals."""


def write_best(writing: Writing, found: BestAssignments) -> None:
    """Write down the ends of the first assignment, bounds of all others, and that none scores more."""
    if found.best is None or found.criterion is Criterion.DOMINANCE:
        writing.missing.append("only a best assignment by a score has a certificate")
        return
    query = Query(conjunction(found.best.assignment), found.given)
    writing.certify(writing.engine.query(query, Options(timeout=writing.seconds)))
    score = _Rivals(writing, found).score()
    if score is None:
        writing.missing.append(f"not every assignment but that of {query} was bounded in time")
        return
    line = {"claim": "best", "query": str(query), "alpha": str(_exact(found.alpha)), "score": str(score)}
    writing.lines.append(line)


def _exact(alpha: float) -> Fraction:
    return Fraction(repr(alpha))


class _Rivals:
    """Partial assignments, in the order of the variables, that bound all assignments but one."""

    def __init__(self, writing: Writing, found: BestAssignments) -> None:
        assert found.best is not None, "rivals are rivals of something"
        self.writing, self.given, self.variables = writing, found.given, found.variables
        self.best, self.alpha = found.best.values, _exact(found.alpha)
        self.enough = Fraction(found.best.score_upper)
        self.budget = Budget.of(TOTAL * writing.seconds)

    def score(self) -> Fraction | None:
        """Return what no other assignment passes, once this is written down; None where it is not."""
        score, waiting, count = self.enough, [dict[Variable, str]()], 0
        while waiting:
            partial = waiting.pop()
            count += 1
            if self.budget.is_spent or count > MOST_RIVALS:
                return None
            if partial.items() <= self.best.items():
                waiting += self._longer(partial)
                continue
            answer = self._answer(partial)
            if len(partial) < len(self.variables) and self._bound(answer) > self.enough:
                waiting += self._longer(partial)
                continue
            written = self._written(answer)
            if written is None:
                return None
            score = max(score, written)
        return score

    def _longer(self, partial: dict[Variable, str]) -> Iterator[dict[Variable, str]]:
        for v in self.variables[len(partial) : len(partial) + 1]:
            yield from ({**partial, v: value} for value in v.values)

    def _answer(self, partial: dict[Variable, str]) -> Answer:
        query = Query(conjunction(Is(v, value) for v, value in partial.items()), self.given)
        return self.writing.engine.query(query, Options(timeout=self.writing.seconds))

    def _bound(self, answer: Answer) -> Fraction:
        """Return what no completion of a partial assignment scores more than."""
        least = 1.0 if answer.lower_witnessed is None else answer.lower_witnessed
        return self.alpha * Fraction(answer.upper) + (1 - self.alpha) * Fraction(least)

    def _target(self, answer: Answer) -> float:
        """Return an upper bound that is enough: one far above the upper end is proved sooner."""
        if not self.alpha:
            return 1.0
        least = 1.0 if answer.lower_witnessed is None else answer.lower_witnessed
        room = (self.enough - (1 - self.alpha) * Fraction(least)) / self.alpha
        return max(answer.upper, float(room) - ROUNDING)

    def _written(self, answer: Answer) -> Fraction | None:
        """Write down what bounds the score of a rival; return it, None where that fails."""
        assert isinstance(answer.query, Query), "a rival is one probability"
        most = least = Fraction(1)
        target = self._target(answer)
        if target < 1.0:
            if not self.writing.write_bound(answer.query, End.UPPER, target):
                return None
            most = Fraction(self._last["bound"])
        if self.alpha < 1:
            model = answer.lower_witness
            if model is None or not self.writing.write_model(answer.query, model):
                return None
            if Fraction(self._last["residual"]):
                return None
            least = Fraction(self._last["value"]) + Fraction(self._last["within"])
        return self.alpha * most + (1 - self.alpha) * least

    @property
    def _last(self) -> dict[str, Any]:
        return self.writing.lines[-1]
