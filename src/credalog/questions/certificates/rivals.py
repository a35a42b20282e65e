"""Why an assignment is the best: what bounds every other one.

Input: a certificate under way and best assignments. Output: lines about the first that is listed, about
partial assignments that bound all others, and the line that puts these together.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from credalog.errors import Refused
from credalog.methods.answer import Answer, Options
from credalog.network.formulas import Is, Variable, conjunction
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.questions.certificates.explaining import Explaining, Tree, explaining, rounded
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
    query, budget = Query(conjunction(found.best.assignment), found.given), Budget.of(TOTAL * writing.seconds)
    about = explaining(writing, found)
    tree = _tree_of_laws(about, budget)
    if tree is None:
        writing.certify(writing.engine.query(query, Options(timeout=writing.seconds)))
        tree = _Rivals(writing, found, about, budget).tree()
    if tree is None:
        writing.missing.append(f"not every assignment but that of {query} was bounded in time")
        return
    line = {"claim": "best", "query": str(query), "alpha": str(_exact(found.alpha)), "score": str(tree.score)}
    orders = {"orders": None if about is None else about.orders}
    writing.lines.append({**line, **orders, "nodes": tree.nodes})


def _tree_of_laws(about: Explaining | None, budget: Budget) -> Tree | None:
    """Return a tree where every choice of laws is a model, once the ends of the best are written down."""
    if about is not None and about.are_models:
        with suppress(Refused):
            return about.tree(about.write_ends(budget), budget)
    return None


def _exact(alpha: float) -> Fraction:
    return Fraction(repr(alpha))


class _Rivals:
    """Partial assignments, in the order of the variables, that bound all assignments but one."""

    def __init__(
        self, writing: Writing, found: BestAssignments, about: Explaining | None, budget: Budget
    ) -> None:
        assert found.best is not None, "rivals are rivals of something"
        self.writing, self.given, self.variables = writing, found.given, found.variables
        self.best, self.alpha, self.about = found.best.values, _exact(found.alpha), about
        self.score = Fraction(found.best.score_upper)
        self.enough, self.budget = self.score, budget
        self.nodes: list[Any] = []

    def tree(self) -> Tree | None:
        """Return a tree that bounds all other assignments, once what it rests on is written down."""
        return Tree(rounded(self.score, End.UPPER), self.nodes) if self._grow({}) else None

    def _grow(self, partial: dict[Variable, str]) -> bool:
        """Bound all assignments that agree with a part: at once, or by the values of one more variable."""
        if self.budget.is_spent or len(self.nodes) > MOST_RIVALS:
            return False
        if self._is_bounded(partial):
            self.nodes.append(["bound"])
            return True
        is_whole = len(partial) == len(self.variables)
        if not partial.items() <= self.best.items():
            answer = self._answer(partial)
            if is_whole or self._bound(answer) <= self.enough:
                return self._claim(answer)
        if is_whole:
            self.nodes.append(["claims"])
            return True
        return self._split(partial)

    def _is_bounded(self, partial: dict[Variable, str]) -> bool:
        """Tell whether the laws of all ancestors bound what agrees with a part, whatever else is said."""
        if self.about is None:
            return False
        part = {self.writing.meaning.number[v]: v.values.index(value) for v, value in partial.items()}
        return self.about.free.most(part, {}, "upper") <= self.enough

    def _claim(self, answer: Answer) -> bool:
        """Write down what bounds a part, and a leaf that rests on it."""
        written = self._written(answer)
        self.score = max(self.score, written or self.score)
        self.nodes.append(["claims"])
        return written is not None

    def _split(self, partial: dict[Variable, str]) -> bool:
        here, children, v = len(self.nodes), list[int](), self.variables[len(partial)]
        self.nodes.append(None)
        for value in v.values:
            children.append(len(self.nodes))
            if not self._grow({**partial, v: value}):
                return False
        self.nodes[here] = ["value", self.writing.meaning.number[v], *children]
        return True

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
