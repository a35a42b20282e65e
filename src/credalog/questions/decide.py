"""Decisions on intervals: whether P(q | e) certainly reaches a threshold.

Input: an engine, a query and a threshold. Output: `Decision`: a verdict and the bounds it rests on.

Two questions settle it: can P(q | e) be less than the threshold, and can it reach it? A witness says yes and
a bound says no. First come the two linear relaxations, in rational arithmetic where they end at the
threshold; then set propagation where it is exact, then a search for each end that stops at its first answer,
and last, where nothing settled it, exact bounds. Unless the threshold lies close to an end of the interval,
this takes far less than the interval itself.

A witness satisfies its sentences up to the accuracy of its check, so it refutes a statement only where it
misses the threshold by more. It counts only if the whole network is known to have a model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from math import inf
from typing import Any, Never

from credalog.errors import CredalogError, LanguageError, Place, ProblemTooLarge, no_model
from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.reports import Glances
from credalog.methods.cliques.search import Ending, Limits, Witness
from credalog.methods.progress import Telling
from credalog.methods.vertices import sets
from credalog.network.expressions import Linear, Question, Summand, simplified
from credalog.network.formulas import canonical
from credalog.network.graph import Markov
from credalog.network.sentences import Contrast, Query, Sentence
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.numbers.interval import VACUOUS, End, Endpoint, Interval
from credalog.numbers.printed import Printed
from credalog.numbers.tolerances import FEASIBILITY, absolute_gap
from credalog.questions.bounding import (
    NEAR,
    Bounding,
    Solver,
    bounding_reading,
    readings_of,
    search_in_turn,
)
from credalog.questions.models import encode_in_time
from credalog.show.html import Bar, as_html
from credalog.tables.distribution import Distribution
from credalog.text.unparse import unparse_number
from credalog.theory import span
from credalog.trusted.check import LENIENCE
from credalog.trusted.rounding import UNIT, relative_error

FINER = 1e-3
"""A threshold is resolved this much closer than an interval would be, since nothing else is asked."""

SEARCH_SHARE = 0.5
"""The share of the time for the searches; the rest is for exact bounds, should they not settle it."""

EXTENSION_SHARE = 0.5
"""The share of the time in which to find a model of the parts that the query does not see."""

LAST_DIGITS = relative_error(256.0)
"""The share of a witness's value that roundings may amount to."""

INTERRUPTED = "interrupted"


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
    """A verdict, and what was known of the interval when it was reached.

    `stage` says what settled it, or why nothing did.
    """

    query: Question
    relation: Relation
    threshold: Fraction
    verdict: Verdict
    interval: Interval
    stage: str
    seconds: float = field(compare=False)

    @property
    def statement(self) -> str:
        """Return what was to be decided, in words."""
        return f"{self.query} {self.relation.value} {unparse_number(self.threshold)}"

    def told(self, telling: Telling, options: Options) -> Decision:
        """Return the decision, once it is told to whoever followed the work, unless that is up to others."""
        if telling is not options.report and self.stage != INTERRUPTED:
            telling.close(self.interval, self.stage)
        return self

    def __bool__(self) -> Never:
        # Every object is true in Python, also one that says "in no model".
        raise CredalogError(
            "a decision is neither true nor false",
            advice=f'Look at its verdict: decision.verdict.name == "{self.verdict.name}".',
        )

    def __str__(self) -> str:
        return f"{self.statement}: {self.verdict.value} ({self.stage}, {self.seconds:.2f} s)"

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes."""
        return {
            "statement": self.statement,
            "query": str(self.query),
            "relation": self.relation.value,
            "threshold": float(self.threshold),
            "verdict": self.verdict.name,
            **self.interval.to_dict(),
            "stage": self.stage,
            "seconds": self.seconds,
        }

    def _repr_html_(self) -> str:
        bar = Bar(self.statement, self.interval, self.verdict.value, float(self.threshold))
        return as_html([bar], note=f"Settled by {self.stage} in {self.seconds:.2f} s.")


def statement_of(stated: Sentence | Contrast) -> tuple[Question, Relation, Fraction]:
    """Take a sentence with one bound apart, as a statement to be decided."""
    if isinstance(stated, Contrast):
        terms = tuple(Summand(term.weight, term.claim, term.given) for term in stated.terms)
    else:
        terms = tuple(Summand(weight, claim, stated.given) for weight, claim in stated.claims)
    low, high = span(tuple((term.weight, term) for term in terms))
    is_at_least = stated.upper >= high
    if not (is_at_least or stated.lower <= low):
        raise LanguageError(
            f"{stated} is no comparison with one number",
            advice="Decide P(a) >= 0.1 and P(a) <= 0.3 one by one.",
        )
    relation, bound = (Relation.AT_LEAST, stated.lower) if is_at_least else (Relation.AT_MOST, stated.upper)
    return simplified(Linear(terms)), relation, bound


def require_probability(threshold: Fraction | float, place: Place | None = None) -> None:
    """Complain of a threshold that no probability can be compared with."""
    if not 0 <= threshold <= 1:
        raise CredalogError(
            f"{float(threshold):g} is no probability",
            place=place,
            advice="Compare with a number between 0 and 1, or a percentage such as 20%.",
        )


def decide(
    engine: Engine,
    asked: Query,
    threshold: Fraction | float,
    options: Options = Options(),
    *,
    relation: Relation = Relation.AT_LEAST,
) -> Decision:
    """Tell whether P(claim | given) certainly reaches a threshold, or certainly stays within it."""
    require_probability(threshold)
    # A float means the decimal its user typed.
    exact = threshold if isinstance(threshold, Fraction) else Fraction(str(threshold))
    budget = Budget.of(options.timeout)
    telling = options.telling(asked)
    try:
        with spending(budget):
            near, heard = engine.near(asked.scope), replace(options, report=telling)
            return _Comparison(near, asked, exact, relation, heard).decide().told(telling, options)
    except (KeyboardInterrupt, OutOfTime) as stopped:
        # Not even the comparison could be set up.
        is_interrupted = isinstance(stopped, KeyboardInterrupt)
        interval = VACUOUS if is_interrupted else engine.hasty_bounds(asked)
        why = INTERRUPTED if is_interrupted else "time was up"
        verdict = _by_bounds(interval, relation, exact)
        return Decision(asked, relation, exact, verdict, interval, why, budget.elapsed)


def _by_bounds(interval: Interval, relation: Relation, threshold: Fraction) -> Verdict:
    """Return the verdict that bounds alone allow."""
    lower, upper = Fraction(interval.lower.bound), Fraction(interval.upper.bound)
    if relation is Relation.AT_LEAST:
        is_certain, is_excluded = lower >= threshold, upper < threshold
    else:
        is_certain, is_excluded = upper <= threshold, lower > threshold
    return Verdict.CERTAIN if is_certain else Verdict.EXCLUDED if is_excluded else Verdict.UNDECIDED


class _Comparison:
    """One probability under comparison with a threshold.

    `holding` is the end that makes the statement certain: the lower one where it says "at least". `rational`
    are bounds proved without rounding.
    """

    def __init__(
        self, engine: Engine, asked: Query, threshold: Fraction, relation: Relation, options: Options
    ) -> None:
        self.engine = engine
        self.asked = asked
        self.threshold = threshold
        self.relation = relation
        self.telling = options.telling(asked)
        self.options = options
        # A witness of a search is told of once it is checked.
        self.glances = Glances(self.telling, lambda witness: False)
        self.budget = Budget.of(options.timeout)
        self.holding = End.LOWER if relation is Relation.AT_LEAST else End.UPPER
        self.part = engine.part(asked)
        self.interval = VACUOUS
        self.rational: dict[End, Fraction] = {}
        self.witness: Witness | None = None
        self.lacks_extension = False
        self.programs: dict[Reading, Bounding] = {}
        self.misses: dict[int, tuple[Distribution, float]] = {}

    def decide(self) -> Decision:
        """Try one stage after the other until one settles it."""
        stages = (
            ("relaxation", self._relax),
            ("rational arithmetic", self._prove_exactly),
            ("set propagation", self._propagate),
            ("search", self._search),
            ("exact bounds", lambda: self._ask(self.options)),
        )
        reached = ""
        try:
            for name, stage in stages:
                reached = name
                stage()
                if self._verdict is not Verdict.UNDECIDED or self.budget.is_spent:
                    break
        except KeyboardInterrupt:
            reached = INTERRUPTED
        except OutOfTime:
            reached = "time was up"
        if self._verdict is Verdict.UNDECIDED and self.lacks_extension:
            reached = "no model of the rest of the network was found"
        seconds = self.budget.elapsed
        verdict = self._verdict
        return Decision(self.asked, self.relation, self.threshold, verdict, self.interval, reached, seconds)

    # ---- what is known --------------------------------------------------------------------------------

    @property
    def _verdict(self) -> Verdict:
        if self._excess(self._bound(self.holding)) >= 0:
            return Verdict.CERTAIN
        if self._excess(self._bound(self.holding.opposite)) < 0:
            return Verdict.EXCLUDED
        return Verdict.UNDETERMINED if self._is_refuted and self._is_met else Verdict.UNDECIDED

    def _excess(self, value: float | Fraction) -> Fraction:
        """Return by how much a value satisfies the statement; negative where it does not."""
        return int(self.holding.sign) * (Fraction(value) - self.threshold)

    def _bound(self, end: End) -> Fraction:
        """Return the tightest bound proved at an end, by floating point or in rational arithmetic."""
        bounds = Fraction(self.interval[end].bound), self.rational.get(end, Fraction(end.trivial))
        return max(bounds) if end is End.LOWER else min(bounds)

    @property
    def _is_refuted(self) -> bool:
        """Tell whether some model certainly violates the statement."""
        found = self.interval[self.holding]
        return found.witnessed is not None and self._excess(found.witnessed) < -self._accuracy(found)

    @property
    def _is_met(self) -> bool:
        """Tell whether some model satisfies the statement; at an end that is proved, up to its accuracy."""
        end = self.holding.opposite
        found, accuracy = self.interval[end], self._accuracy(self.interval[end])
        if found.witnessed is None:
            return False
        excess = self._excess(found.witnessed)
        return excess > accuracy or (excess >= -accuracy and self._bound(end) == self.threshold)

    def _accuracy(self, found: Endpoint | None = None) -> float:
        """Return how far a witness's value may be from that of a model: its check is graded likewise.

        The check knows conditions that are rare, not claims: where a witness is nearer to the threshold than
        all that the check lets pass, its own violation counts.
        """
        model = None if found is None else found.model
        mass = 0.0 if model is None else model.probability(self.asked.given)
        mass = mass if self.asked.is_conditional else 1.0
        rarity = float(min(self.threshold, 1 - self.threshold)) or 1.0
        passed = FEASIBILITY / mass if mass > 0.0 else inf
        graded = min(passed, FEASIBILITY * rarity / LENIENCE)
        if found is None or found.witnessed is None:
            return graded
        is_near = graded < abs(self._excess(found.witnessed)) <= passed
        return min(passed, max(graded, self._measured_accuracy(found, mass))) if is_near else graded

    def _measured_accuracy(self, found: Endpoint, mass: float) -> float:
        """Return how far a witness's value may be off by its own violation and by roundings.

        A violation moves the probability of the condition, and that of the claim with it. One below the last
        digit of a number near 1 is not seen, unless it is measured relative to a condition.
        """
        if found.model is None or found.witnessed is None or mass == 0.0:
            return inf
        unseen = 0.0 if self.asked.is_conditional else 2.0 * UNIT
        return max(2.0 * self._missed(found.model) / mass, LAST_DIGITS * found.witnessed, unseen)

    def _missed(self, model: Distribution) -> float:
        """Return how far a witness is from being a model, measured once."""
        known = self.misses.get(id(model))
        if known is None or known[0] is not model:
            said = self.engine.network.about(model.known)
            missed = self.engine.cliques.missed(model, said, self.asked.scope, self.budget)
            known = self.misses[id(model)] = (model, missed)
        return known[1]

    def _attain(self, witness: Witness | None) -> None:
        """Learn from a model about both ends: the lower is at most its value, the upper at least."""
        if witness is None or witness is self.witness or self.lacks_extension:
            return
        budget = self.budget.share(EXTENSION_SHARE)
        extends = self.engine.extends(self.part.kept, self.options, budget)
        if extends is False:
            raise no_model()
        self.lacks_extension = extends is None
        if extends:
            self.witness = witness
            for end in End:
                attained = replace(Endpoint.trivial(end), witnessed=witness.value, model=witness.distribution)
                self.interval = self.interval.learning(attained, end)

    # ---- the stages -----------------------------------------------------------------------------------

    def _relax(self) -> None:
        """Glance at both ends: a linear program each, whose point may be a model already."""
        try:
            program = self._program(bounding_reading(self.part.problem))
        except ProblemTooLarge:
            return
        for end in End:
            if self._verdict is Verdict.UNDECIDED:
                bound, witness = program.glance(self.budget.share(SEARCH_SHARE), end=end)
                self.interval = self.interval.learning(bound, end)
                self._attain(witness)
                self.telling.tell_both(self.interval, stage="relaxation")

    def _prove_exactly(self) -> None:
        """Prove in rational arithmetic the bounds of relaxations that end at the threshold."""
        budget = self.budget.share(SEARCH_SHARE)
        for end in End:
            proved = [p.exactly(self.threshold, budget, end=end) for p in self.programs.values()]
            if abs(self.interval[end].bound - self.threshold) <= NEAR:
                proved += self._stated(end)
            found = [bound for bound in proved if bound is not None]
            if found:
                self.rational[end] = max(found) if end is End.LOWER else min(found)

    def _stated(self, end: End) -> list[Fraction]:
        """List what sentences about just this probability state of one end."""
        asked = canonical(self.asked.claim), canonical(self.asked.given)
        stating = (
            s
            for s in self.engine.network.sentences
            if not s.is_linear and (canonical(s.claim), canonical(s.given)) == asked
        )
        return [s.lower if end is End.LOWER else s.upper for s in stating]

    def _propagate(self) -> None:
        """Ask for the interval where set propagation gives it exactly, which is quick."""
        engine = self.engine
        may_be_credal = engine.frame is None and engine.markov is not Markov.NONE
        if may_be_credal and sets.applies(engine.network, self.asked, engine.graph):
            self._ask(replace(self.options, method="sets"))

    def _search(self) -> None:
        """Search each end until a bound or a witness answers what is asked of it."""
        budget, first = self.budget.share(SEARCH_SHARE), self._nearer_end
        self._search_end(budget.share(0.5), end=first)
        if self._verdict is Verdict.UNDECIDED and not budget.is_spent:
            self._search_end(budget, end=first.opposite)

    @property
    def _nearer_end(self) -> End:
        """Return the end that the threshold is nearer to: the likelier to exclude something."""
        return min(End, key=lambda end: abs(self._bound(end) - self.threshold))

    def _search_end(self, budget: Budget, *, end: End) -> None:
        tolerance = FINER * self.options.tolerance
        decided = self._answers(end)
        report = self.glances.of(end, "search")
        limits = Limits(tolerance, budget, report=report, decided=decided, gap=absolute_gap)
        readings = readings_of(self.part.problem)
        finding = search_in_turn(readings, self._program, limits, end=end, known=self.witness)
        if finding.ending is Ending.EMPTY:
            # Exact bounds will say why there is no model, or none that allows the evidence.
            return
        self._attain(finding.witness)
        self.interval = self.interval.learning(replace(finding.endpoint, witnessed=None), end)
        self.telling.tell_both(self.interval, stage="search")
        if finding.ending is Ending.INTERRUPTED:
            raise KeyboardInterrupt

    def _answers(self, end: End) -> Callable[[float, float | None], bool]:
        """Return what tells a search that it has answered: no by its bound, or yes by a witness."""
        accuracy, sign = self._accuracy(), 1 if end is self.holding else -1

        def decided(bound: float, witnessed: float | None) -> bool:
            settled = sign * self._excess(bound)
            is_attained = witnessed is not None and sign * self._excess(witnessed) < -accuracy
            return settled > 0 or (settled == 0 and end is self.holding) or is_attained

        return decided

    def _ask(self, options: Options) -> None:
        """Ask for the interval itself."""
        answer = self.engine.query(self.asked, replace(options, timeout=self.budget.for_solver))
        self.interval = self.interval.joined(answer.interval)
        if answer.interrupted:
            raise KeyboardInterrupt

    def _program(self, reading: Reading) -> Bounding:
        """Encode the query in one reading, once."""
        if reading not in self.programs:
            problem, asked = self.part.problem, self.asked
            cliques, evidence = self.part.factorize(asked, reading)
            encoding = encode_in_time(problem, cliques, evidence, self.budget.share(SEARCH_SHARE))
            objective, solver = encoding.objective(asked.claim, asked.given), Solver(encoding.program)
            program = Bounding(self.engine, asked.scope, problem, encoding, objective, solver)
            self.programs[reading] = program.with_mass_bounded(asked.given, self.budget)
        return self.programs[reading]
