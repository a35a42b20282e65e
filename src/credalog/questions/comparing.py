"""Statements about sums and quotients, and several statements at once.

Input: an engine and statements such as P(a | c) - P(a | !c) >= 0.1. Output: a `Decision` for each, and a
`JointDecision` on all of them together.

A statement about a sum or a quotient is one about the probability that stands for it, with another threshold.
Several statements hold together in some model if the network has one in which each of them is a sentence;
the graph stays that of the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Never

from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork, ProblemTooLarge
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.methods.reduction import Reduced, plain, reduced, scale_of
from credalog.network.expressions import Combined, Linear, Question, Quotient, Summand
from credalog.network.sentences import Contrast, Network, Query, Sentence, Weighted
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Endpoint, Interval
from credalog.numbers.printed import Printed
from credalog.questions.combined import alone, answer, bounded_by_parts, meaning_of, reduced_engine, value_in
from credalog.questions.decide import Decision, Relation, Verdict, decide
from credalog.theory import span

__all__ = ["JointDecision", "Statement", "decide_together", "decided", "decided_by", "joined"]

PARTS_SHARE = 0.3
"""The share of the time for bounds of the parts, which may settle a statement."""

TOGETHER_SHARE = 0.5
"""The share of the time for the question whether several statements hold together."""

PROVED_SHARE = 0.3
"""The share of the time to prove ends of the parts in rational arithmetic, where they meet a threshold."""

SIMPLE = 10**6
"""The largest denominator of a number that an end of a part may be, if it is to meet a threshold."""

CLEAR = 1e-6
"""A model settles a statement about a sum only where it misses the threshold by more than this."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What is asked for, compared with a number."""

    asked: Question
    relation: Relation
    threshold: Fraction


def decided(engine: Engine, statement: Statement, options: Options = Options()) -> Decision:
    """Tell whether a statement holds in every model, in none, or in some."""
    asked, relation, threshold = statement.asked, statement.relation, statement.threshold
    if isinstance(asked, Query):
        return decide(engine, asked, threshold, options, relation=relation)
    telling = options.telling(asked, scale_of(asked))
    heard = replace(options, report=telling)
    return _Combined(engine, asked, relation, threshold, heard).decide().told(telling, options)


class _Combined:
    """One sum or quotient under comparison with a threshold."""

    def __init__(
        self, engine: Engine, asked: Combined, relation: Relation, threshold: Fraction, options: Options
    ) -> None:
        self.engine = engine
        self.asked = asked
        self.relation = relation
        self.threshold = threshold
        self.options = options
        self.budget = Budget.of(options.timeout)

    def decide(self) -> Decision:
        """Look at the parts first, then at the probability that stands for the whole."""
        share = self.budget.share(PARTS_SHARE)
        parts = bounded_by_parts(self.engine, self.asked, replace(self.options, timeout=share.for_solver))
        if parts is not None and self._verdict(parts) is not Verdict.UNDECIDED:
            return self._decision(self._verdict(parts), parts, "bounds of the parts")
        if parts is not None and (verdict := self._at_an_end(parts)) is not None:
            return self._decision(verdict, parts, "parts in rational arithmetic")
        try:
            found = reduced(self.engine.network, self.asked, self.engine.markov)
        except ProblemTooLarge:
            found = None
        options = replace(self.options, timeout=self.budget.for_solver)
        if found is None:
            interval = answer(self.engine, self.asked, options).interval
            return self._decision(self._verdict(interval), interval, "exact bounds")
        whole = self._of_whole(found, options)
        return whole if parts is None else replace(whole, interval=whole.interval.joined(parts))

    def _at_an_end(self, parts: Interval) -> Verdict | None:
        """Settle a statement whose threshold is an end to the last digit (proof 20): None where it is not."""
        holding = End.LOWER if self.relation is Relation.AT_LEAST else End.UPPER
        sign, limit = int(holding.sign), float(self.threshold)
        if abs(parts[holding].bound - limit) <= CLEAR:
            proved = self._proved_excess(holding)
            return Verdict.CERTAIN if proved is not None and sign * proved >= 0 else None
        worst, best = parts[holding].witnessed, parts[holding.opposite].witnessed
        if worst is None or best is None or abs(best - limit) > CLEAR or sign * (worst - limit) >= -CLEAR:
            return None
        # Some models violate it. Another is at the end, which is the threshold, as far as models are known.
        return Verdict.UNDETERMINED if self._proved_excess(holding.opposite) == 0 else None

    def _proved_excess(self, end: End) -> Fraction | None:
        """Return by how much the whole passes the threshold at one end at least, from ends of its parts.

        A part's end is guessed from its bound, and the guess is decided in rational arithmetic.
        """
        linear, threshold = _as_linear(Statement(self.asked, self.relation, self.threshold))
        if isinstance(self.asked, Quotient) and not _is_never_negative(self.asked.under):
            return None
        (parts, total), budget = linear.parts(), self.budget.share(PROVED_SHARE)
        relation = Relation.AT_LEAST if end is End.LOWER else Relation.AT_MOST
        for done, part in enumerate(parts):
            share = budget.share(1.0 / (len(parts) - done))
            options = replace(self.options, timeout=share.for_solver, report=None)
            bound = answer(self.engine, alone(part), options).interval[end].bound
            guess = Fraction(bound).limit_denominator(SIMPLE)
            if (
                decided(self.engine, Statement(alone(part), relation, guess), options).verdict
                is not Verdict.CERTAIN
            ):
                return None
            total += guess
        return total - threshold

    def _of_whole(self, found: Reduced, options: Options) -> Decision:
        """Decide the statement about the probability that stands for the question."""
        scale = scale_of(self.asked)
        telling = options.telling(self.asked, scale).through(meaning_of(found, scale))
        options = replace(options, report=telling)
        threshold = found.way.threshold(self.threshold)
        asked = min(max(threshold, Fraction(0)), Fraction(1))
        settled = decide(
            reduced_engine(self.engine, found), found.query, asked, options, relation=self.relation
        )
        interval = self._translated(found, settled.interval)
        verdict = settled.verdict if asked == threshold else self._verdict(interval)
        return self._decision(verdict, interval, settled.stage)

    def _translated(self, found: Reduced, interval: Interval) -> Interval:
        ends = []
        for end in End:
            one = interval[end]
            model = None if one.model is None else found.without_added(one.model)
            value = None if model is None else value_in(model, self.asked)
            bound = found.way.value(one.bound, down=end is End.LOWER)
            ends.append(Endpoint(bound, value, one.warrant, None if value is None else model))
        return Interval(*ends, scale=scale_of(self.asked))

    def _verdict(self, interval: Interval) -> Verdict:
        return _verdict_of(interval, self.relation, self.threshold)

    def _decision(self, verdict: Verdict, interval: Interval, stage: str) -> Decision:
        seconds = self.budget.elapsed
        return Decision(self.asked, self.relation, self.threshold, verdict, interval, stage, seconds)


def _is_never_negative(asked: Linear) -> bool:
    return asked.span[0] >= 0


def decided_by(statement: Statement, found: Answer) -> Decision:
    """Read a decision off an answer to what the statement is about."""
    asked, relation, threshold = statement.asked, statement.relation, statement.threshold
    verdict = _verdict_of(found.interval, relation, threshold)
    return Decision(asked, relation, threshold, verdict, found.interval, "bounds and models", found.seconds)


def _verdict_of(interval: Interval, relation: Relation, threshold: Fraction) -> Verdict:
    """Read a verdict off bounds and attained values."""
    holding = End.LOWER if relation is Relation.AT_LEAST else End.UPPER
    sign = holding.sign
    limit = sign * float(threshold)
    if _passes(threshold, interval[holding].bound, sign) >= 0:
        return Verdict.CERTAIN
    if _passes(threshold, interval[holding.opposite].bound, sign) < 0:
        return Verdict.EXCLUDED
    worst, best = interval[holding].witnessed, interval[holding.opposite].witnessed
    if worst is None or best is None:
        return Verdict.UNDECIDED
    is_split = sign * worst < limit - CLEAR and sign * best > limit + CLEAR
    return Verdict.UNDETERMINED if is_split else Verdict.UNDECIDED


def _passes(threshold: Fraction, bound: float, sign: float) -> int:
    """Return 1, 0 or -1 as a bound passes a threshold, meets it, or falls short; it may be infinite."""
    if bound in (float("inf"), float("-inf")):
        return 1 if sign * bound > 0 else -1
    excess = int(sign) * (Fraction(bound) - threshold)
    return (excess > 0) - (excess < 0)


# ---- several at once --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class JointDecision(Printed):
    """The decisions on single statements, and the verdict on all of them together.

    `together` says whether all hold in every model, in no model, or in some model at once.
    """

    decisions: tuple[Decision, ...]
    together: Verdict
    stage: str
    seconds: float = field(compare=False)

    def __bool__(self) -> Never:
        raise CredalogError(
            "a decision is neither true nor false",
            advice=f'Look at its verdict: decision.together.name == "{self.together.name}".',
        )

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)

    def __len__(self) -> int:
        return len(self.decisions)

    def __str__(self) -> str:
        single = "; ".join(f"{one.statement}: {one.verdict.value}" for one in self.decisions)
        return f"{single}; together: {self.together.value} ({self.stage})"

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes."""
        return {
            "statements": [one.to_dict() for one in self.decisions],
            "together": self.together.name,
            "stage": self.stage,
            "seconds": self.seconds,
        }


def decide_together(
    engine: Engine, statements: Sequence[Statement], options: Options = Options()
) -> JointDecision:
    """Decide statements one by one, and whether all of them hold at once."""
    budget = Budget.of(options.timeout)
    single = budget.share(1.0 - TOGETHER_SHARE)
    decisions = []
    for done, statement in enumerate(statements):
        share = single.share(1.0 / (len(statements) - done))
        decisions.append(decided(engine, statement, replace(options, timeout=share.for_solver)))
    left = replace(options, timeout=budget.for_solver)
    return replace(joined(engine, statements, decisions, left), seconds=budget.elapsed)


def joined(
    engine: Engine, statements: Sequence[Statement], decisions: Sequence[Decision], options: Options
) -> JointDecision:
    """Judge all statements at once, given what is known of each."""
    budget = Budget.of(options.timeout)
    verdict, stage = _together(engine, statements, decisions, options)
    return JointDecision(tuple(decisions), verdict, stage, budget.elapsed)


def _together(
    engine: Engine, statements: Sequence[Statement], decisions: Sequence[Decision], options: Options
) -> tuple[Verdict, str]:
    verdicts = [one.verdict for one in decisions]
    if all(verdict is Verdict.CERTAIN for verdict in verdicts):
        return Verdict.CERTAIN, "each holds in every model"
    if Verdict.EXCLUDED in verdicts:
        return Verdict.EXCLUDED, "one of them holds in no model"
    is_met = _hold_together(engine, statements, options)
    if is_met is False:
        return Verdict.EXCLUDED, "the network with all of them as sentences has no model"
    if is_met and Verdict.UNDETERMINED in verdicts:
        return Verdict.UNDETERMINED, "a model of the network with all of them as sentences"
    return Verdict.UNDECIDED, "the time was up"


def _hold_together(engine: Engine, statements: Sequence[Statement], options: Options) -> bool | None:
    """Tell whether some model in which all conditions are possible satisfies all statements."""
    stated = [_stated(statement) for statement in statements]
    sentences = tuple(s for s in stated if isinstance(s, Sentence))
    contrasts = tuple(s for s in stated if isinstance(s, Contrast))
    network = replace(engine.network, sentences=(*engine.network.sentences, *sentences))
    grown = plain(replace(network, contrasts=contrasts), engine.markov, draws=False)
    terms = tuple(Summand(t.weight, t.claim, t.given) for s in statements for t in _terms(s.asked))
    try:
        found = answer(_framed(engine, grown.network), Linear(terms), options)
    except (InconsistentNetwork, ImpossibleEvidence):
        return False
    return True if found.lower_witnessed is not None or found.upper_witnessed is not None else None


def _framed(engine: Engine, network: Network) -> Engine:
    if engine.frame is None:
        return Engine(network, engine.markov)
    added = network.sentences[len(engine.network.sentences) :]
    return Engine(network, engine.markov, replace(network, sentences=(*engine.frame.sentences, *added)))


def _terms(asked: Question) -> tuple[Summand, ...]:
    match asked:
        case Query(claim, given):
            return (Summand(Fraction(1), claim, given),)
        case Linear(terms):
            return terms
        case Quotient():
            return asked.terms


def _stated(statement: Statement) -> Sentence | Contrast:
    """Return a statement as a sentence that draws no arrows.

    over / under >= t is over - t under >= 0 where the divisor is positive.
    """
    linear, threshold = _as_linear(statement)
    parts, constant = linear.parts()
    bound = threshold - constant
    claims = tuple(Weighted(weight, claim, part.given) for part in parts for weight, claim in part.claims)
    low, high = span(tuple((term.weight, term) for term in claims))
    is_least = statement.relation is Relation.AT_LEAST
    lower, upper = (bound, max(high, bound)) if is_least else (min(low, bound), bound)
    if len(parts) > 1:
        return Contrast(claims, lower, upper)
    weighted = tuple((term.weight, term.claim) for term in claims)
    return Sentence(weighted, parts[0].given, lower, upper, tau=False, draws=False)


def _as_linear(statement: Statement) -> tuple[Linear, Fraction]:
    asked = statement.asked
    match asked:
        case Quotient(over, under):
            return over.plus(under, -statement.threshold), Fraction(0)
        case Linear():
            return asked, statement.threshold
        case Query():
            return Linear(_terms(asked)), statement.threshold
