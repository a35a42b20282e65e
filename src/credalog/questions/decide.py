"""Decisions on intervals: whether P(q | e) certainly reaches a threshold.

Enters: an engine, a query and a threshold. Leaves: `Decision`: a verdict and the bounds it rests on.

Two questions settle it: can P(q | e) be less than the threshold, and can it reach it? A witness says yes and
a bound says no. First come the two linear relaxations, then set propagation where it is exact, then a search
for each end that stops at its first answer, and last, where nothing settled it, exact bounds. Unless the
threshold lies close to an end of the interval, this takes far less than the interval itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from time import monotonic
from typing import Any

from credalog.errors import CredalogError, LanguageError, ProblemTooLarge, no_model
from credalog.methods.answer import Options, Progress
from credalog.methods.automatic import Engine
from credalog.methods.cliques.search import Ending, Limits, Witness
from credalog.methods.vertices import sets
from credalog.network.formulas import Not
from credalog.network.graph import Markov
from credalog.network.sentences import Query, Sentence
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget
from credalog.numbers.interval import VACUOUS, End, Endpoint, Interval, Warrant
from credalog.numbers.printed import Printed
from credalog.numbers.tolerances import absolute_gap
from credalog.questions.bounding import Bounding, Solver, bounding_reading, readings_of, search_in_turn
from credalog.text import said
from credalog.trusted.rounding import round_down, round_up

__all__ = ["Decision", "Relation", "Verdict", "decide", "statement_of"]

FINER = 1e-3
"""A threshold is resolved this much closer than an interval would be, since nothing else is asked."""

SEARCH_SHARE = 0.5
"""The share of the time for the searches; the rest is for exact bounds, should they not settle it."""


class Relation(Enum):
    """Say on which side of the threshold the probability is asked to lie."""

    AT_LEAST = ">="
    AT_MOST = "<="


class Verdict(Enum):
    """Say what is known of a statement such as P(q | e) >= 0.5."""

    CERTAIN = "it holds in every model"
    EXCLUDED = "it holds in no model"
    UNDETERMINED = "it holds in some models and not in others"
    UNDECIDED = "it was not settled: the time ran out, or the threshold lies too close to an end"


@dataclass(frozen=True, slots=True, repr=False)
class Decision(Printed):
    """A verdict, and what was known of the interval when it was reached; `stage` says what settled it."""

    query: Query
    relation: Relation
    threshold: float
    verdict: Verdict
    interval: Interval
    stage: str
    seconds: float = field(compare=False)

    @property
    def statement(self) -> str:
        """Return what was to be decided, in words."""
        return f"{self.query} {self.relation.value} {self.threshold!r}"

    def __str__(self) -> str:
        return f"{self.statement}: {self.verdict.value} ({self.stage}, {self.seconds:.2f} s)"

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes."""
        return {
            "statement": self.statement,
            "query": str(self.query),
            "relation": self.relation.value,
            "threshold": self.threshold,
            "verdict": self.verdict.name,
            **self.interval.to_dict(),
            "stage": self.stage,
            "seconds": self.seconds,
        }

    def _repr_html_(self) -> str:
        from credalog.show.html import Bar, as_html

        bar = Bar(self.statement, self.interval, self.verdict.value, self.threshold)
        return as_html([bar], note=f"Settled by {self.stage} in {self.seconds:.2f} s.")


def statement_of(stated: Sentence) -> tuple[Query, Relation, float]:
    """Take a sentence with one bound apart, as a statement to be decided."""
    is_at_least = stated.upper >= 1
    if stated.is_linear or not (is_at_least or stated.lower <= 0):
        raise LanguageError(
            f"{said(stated)} is no comparison of one probability with one number",
            advice="Decide P(a) >= 0.1 and P(a) <= 0.3 one by one.",
        )
    relation, bound = (Relation.AT_LEAST, stated.lower) if is_at_least else (Relation.AT_MOST, stated.upper)
    return Query(stated.claim, stated.given), relation, float(bound)


def decide(
    engine: Engine,
    asked: Query,
    threshold: float,
    options: Options = Options(),
    *,
    relation: Relation = Relation.AT_LEAST,
) -> Decision:
    """Tell whether P(claim | given) certainly reaches a threshold, or certainly stays within it."""
    if not 0.0 <= threshold <= 1.0:
        raise CredalogError(f"{threshold} is no probability", advice="Compare with a number between 0 and 1.")
    if relation is Relation.AT_LEAST:
        return _Task(engine, asked, threshold, options).decide()
    # P(q | e) <= t says that P(not q | e) >= 1 - t.
    mirrored = Query(Not(asked.claim), asked.given)
    found = _Task(engine, mirrored, 1.0 - threshold, options).decide()
    return replace(
        found, query=asked, relation=relation, threshold=threshold, interval=_mirrored(found.interval)
    )


def _mirrored(interval: Interval) -> Interval:
    lower = _complement(interval.upper, lambda value: max(0.0, round_down(value)))
    upper = _complement(interval.lower, lambda value: min(1.0, round_up(value)))
    return Interval(lower, upper)


def _complement(end: Endpoint, outwards: Callable[[float], float]) -> Endpoint:
    witnessed = None if end.witnessed is None else 1.0 - end.witnessed
    return Endpoint(outwards(1.0 - end.bound), witnessed, end.warrant)


class _Task:
    """One threshold under test."""

    def __init__(self, engine: Engine, asked: Query, threshold: float, options: Options) -> None:
        self.engine = engine
        self.asked = asked
        self.threshold = threshold
        self.options = options
        self.start = monotonic()
        self.part = engine.part(asked)
        self.interval = VACUOUS
        self.witness: Witness | None = None
        self.programs: dict[Reading, Bounding] = {}

    def decide(self) -> Decision:
        """Try one stage after the other until one settles it."""
        stages = (
            ("relaxation", self._relax),
            ("set propagation", self._propagate),
            ("search", self._search),
            ("exact bounds", self._exact),
        )
        reached = ""
        try:
            for name, stage in stages:
                reached = name
                stage()
                if self._verdict is not Verdict.UNDECIDED:
                    break
        except KeyboardInterrupt:
            reached = "interrupted"
        seconds = monotonic() - self.start
        return Decision(
            self.asked, Relation.AT_LEAST, self.threshold, self._verdict, self.interval, reached, seconds
        )

    @property
    def _verdict(self) -> Verdict:
        lower, upper = self.interval.lower, self.interval.upper
        if lower.bound >= self.threshold:
            return Verdict.CERTAIN
        if upper.bound < self.threshold:
            return Verdict.EXCLUDED
        falls_short = lower.witnessed is not None and lower.witnessed < self.threshold
        reaches = upper.witnessed is not None and upper.witnessed >= self.threshold
        return Verdict.UNDETERMINED if falls_short and reaches else Verdict.UNDECIDED

    # ---- the stages -----------------------------------------------------------------------------------

    def _relax(self) -> None:
        """Glance at both ends: a linear program each, whose point may be a model already."""
        try:
            program = self._program(bounding_reading(self.part.problem))
        except ProblemTooLarge:
            return
        for end in End:
            if self._verdict is Verdict.UNDECIDED:
                bound, witness = program.glance(self.options.timeout, end=end)
                self.interval = self.interval.learning(Endpoint(bound, None, Warrant.CHECKED), end)
                self._attain(witness)

    def _propagate(self) -> None:
        """Ask for the interval where set propagation gives it exactly, which is quick."""
        engine = self.engine
        may_be_credal = engine.frame is None and engine.markov is not Markov.NONE
        if may_be_credal and sets.applies(engine.network, self.asked, engine.graph):
            self._ask(replace(self.options, method="sets"))

    def _search(self) -> None:
        """Search each end until a bound or a witness answers what is asked of it."""
        until = self.start + SEARCH_SHARE * self.options.timeout
        first = self._nearer_end
        try:
            self._search_end((monotonic() + until) / 2.0, end=first)
            if self._verdict is Verdict.UNDECIDED and monotonic() < until:
                self._search_end(until, end=first.opposite)
        except ProblemTooLarge:
            return

    @property
    def _nearer_end(self) -> End:
        """Return the end that the threshold is nearer to: the likelier to exclude something."""
        lower, upper = self.interval.lower.bound, self.interval.upper.bound
        return End.UPPER if upper - self.threshold < self.threshold - lower else End.LOWER

    def _search_end(self, deadline: float, *, end: End) -> None:
        tolerance = FINER * self.options.tolerance
        limits = Limits(
            tolerance,
            Budget.of(deadline - monotonic()),
            report=self._report,
            decided=self._answers(end),
            gap=absolute_gap,
        )
        readings = readings_of(self.part.problem)
        finding = search_in_turn(readings, self._program, limits, end=end, known=self.witness)
        if finding.ending is Ending.EMPTY:
            # Exact bounds will say why there is no model, or none that allows the evidence.
            return
        self._attain(finding.witness)
        self.interval = self.interval.learning(replace(finding.endpoint, witnessed=None), end)
        if finding.ending is Ending.INTERRUPTED:
            raise KeyboardInterrupt

    def _answers(self, end: End) -> Callable[[float, float | None], bool]:
        """Return what tells a search that it has answered: no by its bound, or yes by a witness."""
        threshold = self.threshold

        def decided(bound: float, witnessed: float | None) -> bool:
            if end is End.UPPER:
                return bound < threshold or (witnessed is not None and witnessed >= threshold)
            return bound >= threshold or (witnessed is not None and witnessed < threshold)

        return decided

    def _exact(self) -> None:
        """Ask for the interval itself, by whatever method suits it."""
        self._ask(self.options)

    def _ask(self, options: Options) -> None:
        remaining = max(self.start + options.timeout - monotonic(), 1.0)
        answer = self.engine.query(self.asked, replace(options, timeout=remaining))
        self.interval = self.interval.joined(answer.interval)
        if answer.interrupted:
            raise KeyboardInterrupt

    # ---- what is known --------------------------------------------------------------------------------

    def _attain(self, witness: Witness | None) -> None:
        """Learn from a model about both ends: the lower is at most its value, the upper at least."""
        if witness is None or witness is self.witness:
            return
        if self.engine.extends(self.part.kept, self.options) is False:
            raise no_model()
        self.witness = witness
        for end in End:
            attained = replace(Endpoint.trivial(end), witnessed=witness.value, model=witness.distribution)
            self.interval = self.interval.learning(attained, end)

    def _report(self, bound: float, witnessed: float | None) -> None:
        if self.options.report is not None:
            self.options.report(Progress("threshold", bound, witnessed, monotonic() - self.start))

    # ---- the programs ---------------------------------------------------------------------------------

    def _program(self, reading: Reading) -> Bounding:
        """Encode the query in one reading, once."""
        if reading not in self.programs:
            encoding, objective = self.part.encode(self.asked, reading)
            program = Bounding(self.engine, self.part.problem, encoding, objective, Solver(encoding.program))
            self.programs[reading] = program.with_mass_bounded(self.asked.given)
        return self.programs[reading]
