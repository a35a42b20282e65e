"""Why an assignment of many variables is the best, where each law is free for itself (proofs 29 and 35).

Input: a certificate under way and best assignments whose ancestors are all assigned or observed. Output:
lines about the ends of the first, models that attain them, and a tree of partial assignments each of which
bounds all that agree with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, log10, prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from credalog.errors import ProblemTooLarge, Refused
from credalog.methods.answer import Answer, Options
from credalog.methods.cliques.search import Limits
from credalog.network.best_assignments import Explanations
from credalog.network.formulas import Is, Variable, conjunction
from credalog.network.meaning import Event
from credalog.network.models import Model
from credalog.network.sentences import Query
from credalog.network.tables import Column
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End
from credalog.questions.evidence import Evidence
from credalog.questions.map import BestAssignments, Criterion
from credalog.questions.products import Floats

if TYPE_CHECKING:
    from credalog.questions.certificates.writing import Writing

__all__ = ["Explaining", "Tree", "explaining", "rounded", "write_best"]

MOST_NODES = 5_000
"""More partial assignments than this are not bounded."""

WIDEST = 1 << 14
"""Nothing is written down that takes the verifier through a larger table."""

DIGITS = 30
"""So many digits of a score are kept."""

Row: TypeAlias = tuple[int, Column]
Choices: TypeAlias = dict[Row, int]
"""The numbers of the laws that are chosen, by variable and states of its unknown parents."""


class Tree(NamedTuple):
    """What no other assignment scores more than, and the nodes that prove it."""

    score: Fraction
    nodes: list[Any]


def explaining(writing: Writing, found: BestAssignments) -> Explaining | None:
    """Set up proofs about assignments; None where not all ancestors are among them, or there are ties."""
    with suppress(Refused, ValueError, ProblemTooLarge, OutOfTime):
        return Explaining(writing, found)
    return None


class Explaining:
    """The assignments of some variables under evidence, and proofs about them."""

    def __init__(self, writing: Writing, found: BestAssignments) -> None:
        assert found.best is not None, "an assignment is the best of some"
        meaning = writing.meaning
        self.writing, self.meaning, self.alpha = writing, meaning, Fraction(repr(found.alpha))
        self.query = Query(conjunction(found.best.assignment), found.given)
        self.best = meaning.only_state(self.query.claim) or {}
        known = meaning.only_state(found.given)
        if known is None:
            raise Refused("evidence is not one state")
        self.known, self.inner = known, meaning.ancestors(known)
        everything = meaning.ancestors((*self.best, *known))
        scopes = {x: frozenset((x, *meaning.parents[x])).difference(known) for x in everything}
        self.orders = self._in_order(_narrow(scopes)), self._in_order(_children_first(self.inner, scopes))
        self.free = Explanations(meaning, self.best, known, self.orders)
        self.are_models = self.free.are_models and writing.said is meaning
        self.vertices = {x: meaning.laws(x, known) for x in everything}

    def _in_order(self, steps: Iterable[tuple[int, frozenset[int]]]) -> list[int]:
        """Return the variables in the order of some steps, if none has too large a table."""
        order = list[int]()
        for x, scope in steps:
            if prod(self.meaning.sizes[y] for y in scope) > WIDEST:
                raise ProblemTooLarge(f"a table of {len(scope)} variables would be gone through")
            order.append(x)
        return order

    @cached_property
    def evidence(self) -> Evidence | None:
        """Return what chooses laws that make the evidence more or less probable."""
        return Evidence.of(self.writing.engine.problem, self.known, self.inner)

    # ---- the ends of the best -------------------------------------------------------------------------

    def write_ends(self, budget: Budget) -> Fraction:
        """Write down bounds of the best assignment and models that attain them; return its score.

        Refused where an end is approached only, by models in which the evidence is ever rarer.
        """
        found = {end: self._write_end(end, budget) for end in End}
        return self.alpha * found[End.UPPER] + (1 - self.alpha) * found[End.LOWER]

    def _write_end(self, end: End, budget: Budget) -> Fraction:
        """Write down one end; return what it is at most."""
        attained = self._write_model(end, budget)
        is_upper = end is End.UPPER
        found = self.free.most(self.best, {}, "upper") if is_upper else self.free.least(self.best)
        bound = rounded(found, end)
        if bound != end.trivial:
            line = {"claim": end.value, "query": str(self.query), "bound": str(bound), "orders": self.orders}
            self.writing.lines.append(line)
        return bound if is_upper else Fraction(1) if attained is None else attained

    def _write_model(self, end: End, budget: Budget) -> Fraction | None:
        """Write down a model that attains one end; return what it gives, None where there is none."""
        if not self.are_models or (self.known and self.evidence is None):
            self.writing.missing.append(f"the model at the {end.value} end of {self.query} was not confirmed")
            return None
        choices = Choices()
        if self.evidence is not None:
            limits = Limits(tolerance=0.0, budget=budget.share(0.1))
            assigned = {x: s for x, s in self.best.items() if x in self.inner}
            choices = self._choices(self.evidence.end(assigned, limits, end=end).tables)
        factors = [self._factor(x, choices, end) for x in self._parents_first()]
        value = Model(self.writing.said, factors).value(self.query)
        line = {
            "claim": "model",
            "query": str(self.query),
            "value": str(value),
            "within": "0",
            "residual": "0",
        }
        self.writing.lines.append({**line, "residual": "0", "factors": factors})
        return value

    def _parents_first(self) -> list[int]:
        return [x for component in self.meaning.graph.components() for x in component]

    def _factor(self, x: int, choices: Choices, end: End) -> list[Any]:
        """Write the table of a variable: what is chosen, then what has what is named at one end."""
        parents, world = sorted(self.meaning.parents[x]), {**self.best, **self.known}
        rows, entries = self.meaning.whole_laws(x, {}), list[int]()
        for states, laws in rows.items():
            here = dict(zip(parents, states, strict=True))
            place = tuple(s for p, s in here.items() if p not in self.known)
            is_known = all(s == self.known.get(p, s) for p, s in here.items())
            number = choices.get((x, place), 0) if is_known else 0
            if x in world and x not in self.inner and here.items() <= world.items():
                values = [law[world[x]] for law in laws]
                number = values.index(min(values) if end is End.LOWER else max(values))
            entries += laws[number]
        return [[x], parents, sum(next(iter(rows.values()))[0]), entries]

    def _choices(self, tables: Mapping[int, Floats]) -> Choices:
        """Return the numbers of the laws that tables are made of."""
        found, parents = Choices(), self.writing.engine.problem.structure.parents
        for x, table in tables.items():
            unknown = self.free.parents[x]
            for states, laws in self.vertices[x].items():
                world = {**self.known, **dict(zip(unknown, states, strict=True))}
                theta = table[tuple(world[p] for p in parents[x])]
                far = np.abs(np.array(laws, dtype=float) - theta).sum(axis=1)
                if len(laws) > 1:
                    found[x, states] = int(far.argmin())
        return found

    # ---- all others -----------------------------------------------------------------------------------

    def tree(self, score: Fraction, budget: Budget) -> Tree | None:
        """Return a tree of partial assignments that bounds all others, and what none of them passes."""
        growing = _Growing(self, score, budget)
        return Tree(growing.score, growing.nodes) if growing.grow({}, Choices()) else None


class _Growing:
    """A tree under way."""

    def __init__(self, free: Explaining, score: Fraction, budget: Budget) -> None:
        self.about, self.score, self.budget = free, score, budget
        self.nodes: list[Any] = []
        # What bears on the evidence comes first: to know it narrows P(e).
        asked = [x for x in free._parents_first() if x in free.best]
        self.order = sorted(asked, key=lambda x: x not in free.inner)
        self.needs_lower = free.alpha < 1 and free.are_models

    def grow(self, part: Event, chosen: Choices) -> bool:
        """Bound all assignments that agree with a part: at once, or by the values of one more variable."""
        if self.budget.is_spent or len(self.nodes) > MOST_NODES:
            return False
        value, choices = self._bound(part)
        is_whole = len(part) == len(self.order)
        if is_whole and self.score < value <= self.score * (1 + Fraction(1, 10**6)):
            self.score = rounded(value, End.UPPER)
        if value <= self.score:
            self._choose(chosen, choices)
            self.nodes.append(["bound"])
            return True
        if is_whole:
            return False
        if not part:
            # Most of what is chosen at first is chosen in all parts.
            self._choose(chosen, choices)
            chosen = choices
        return self._split(part, chosen, self.order[len(part)])

    def _choose(self, before: Choices, now: Choices) -> None:
        """Write down what is chosen anew."""
        rows = sorted({*before, *now})
        changed = [[row, now.get(row)] for row in rows if now.get(row) != before.get(row)]
        self.nodes += [["choose", changed, len(self.nodes) + 1]] if changed else []

    def _split(self, part: Event, chosen: Choices, x: int) -> bool:
        here, children = len(self.nodes), list[int]()
        self.nodes.append(None)
        for state in range(self.about.meaning.sizes[x]):
            children.append(len(self.nodes))
            if not self.grow({**part, x: state}, chosen):
                return False
        self.nodes[here] = ["value", x, *children]
        return True

    def _bound(self, part: Event) -> tuple[Fraction, Choices]:
        """Return what no assignment that agrees with a part scores more than, and what is chosen for that."""
        about, free, most = self.about, self.about.free, Fraction(1)
        if about.alpha or not self.needs_lower:
            most = free.most(part, {}, "upper")
        if not self.needs_lower:
            return most, Choices()
        found = [(self._least(part, choices), choices) for choices in self._choices(part)]
        least, choices = min(found, key=lambda one: one[0])
        return about.alpha * most + (1 - about.alpha) * min(least, most), choices

    def _least(self, part: Event, choices: Choices) -> Fraction:
        free = self.about.free
        return free.most(part, free.chosen({}, (((x, s), n) for (x, s), n in choices.items())), "lower")

    def _choices(self, part: Event) -> Iterator[Choices]:
        """Yield laws to choose: of all rows that no completion names, and of all that none must name."""
        about = self.about
        if about.evidence is None:
            yield Choices()
            return
        inner = {x: state for x, state in part.items() if x in about.inner}
        everything = about._choices(about.evidence.choice(inner, End.LOWER))
        for is_named in (_may_name, _must_name):
            yield {
                row: number
                for row, number in everything.items()
                if not is_named(part, row, about.free.parents[row[0]])
            }


def _may_name(part: Event, row: Row, parents: Sequence[int]) -> bool:
    return all(part.get(p, s) == s for p, s in zip(parents, row[1], strict=True))


def _must_name(part: Event, row: Row, parents: Sequence[int]) -> bool:
    return row[0] in part and all(part.get(p) == s for p, s in zip(parents, row[1], strict=True))


def rounded(value: Fraction, end: End) -> Fraction:
    """Round a positive number outwards to some digits, where it has many."""
    if value.denominator < 10 ** (2 * DIGITS):
        return value
    scale = Fraction(10) ** (DIGITS - floor(log10(value.numerator) - log10(value.denominator)))
    return (ceil if end is End.UPPER else floor)(value * scale) / scale


Steps: TypeAlias = Iterator[tuple[int, frozenset[int]]]
"""Variables, each with all that stand in one table with it when its turn comes."""


def _narrow(scopes: Mapping[int, frozenset[int]]) -> Steps:
    """Yield an order of elimination: next what meets fewest others."""
    left = [scope for scope in scopes.values() if scope]
    while left:
        around = {x: frozenset[int]().union(*(s for s in left if x in s)) for s in left for x in s}
        x = min(around, key=lambda y: (len(around[y]), y))
        yield x, around[x]
        left = [s for s in left if x not in s]
        left += [around[x] - {x}] if len(around[x]) > 1 else []


def _children_first(members: Iterable[int], scopes: Mapping[int, frozenset[int]]) -> Steps:
    """Yield an order in which to sum out some variables: next, of those without children, the narrowest."""
    left, tables = {x: scopes[x] - {x} for x in members}, list[frozenset[int]]()
    while left:
        above = frozenset[int]().union(*left.values())
        found = {x: left[x].union({x}, *(t for t in tables if x in t)) for x in left if x not in above}
        x = min(found, key=lambda y: (len(found[y]), y))
        yield x, found[x]
        del left[x]
        tables = [t for t in tables if x not in t] + [found[x] - {x}]


# ---- rivals -----------------------------------------------------------------------------------------------
# Why an assignment is the best: what bounds every other one.
# Input: a certificate under way and best assignments. Output: lines about the first that is listed, about
# partial assignments that bound all others, and the line that puts these together.

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
