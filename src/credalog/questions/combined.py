"""Answers to differences, expectations and quotients.

Input: an engine and a `Linear` or `Quotient` question. Output: an `Answer` on the scale of the question.

A sum under one condition is one probability of a slightly larger network, and is asked for as such. Across
conditions each part is bounded first, and the bounds are added or divided: that holds, though different
models may attain them. Where a gap is left, the whole is one probability of a larger network too, whose
copies are what the search branches on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import inf, isnan, prod

from credalog.errors import ProblemTooLarge
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.methods.reduction import Reduced, reduced, rounded, scale_of
from credalog.network.expressions import WIDE, Combined, Linear, Part, Question, Quotient, Summand
from credalog.network.formulas import Formula
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.numbers.interval import End, Endpoint, Interval, Status, Warrant, vacuous
from credalog.numbers.tolerances import Scale
from credalog.tables.distribution import Distribution

__all__ = ["alone", "answer", "ask", "bounded_by_parts", "reduced_engine", "value_in"]

PARTS_SHARE = 0.4
"""The share of the time for the parts under single conditions."""

POSSIBLE_SHARE = 0.1
"""The share of the time left in which to prove that conditions are possible."""

POSSIBLE = 1e-6
"""A condition with at least this probability in every model needs no care."""

BY_PARTS = ("bp", "printed", "sound", "points", "sets", "nilsson")
"""The methods that do not search for models of several conditions at once."""


def answer(engine: Engine, asked: Combined, options: Options = Options()) -> Answer:
    """Bound a sum or a quotient over all models in which its conditions are possible."""
    return _Combination(engine.near(asked.scope), asked, options).answer()


def ask(engine: Engine, asked: Question, options: Options = Options()) -> Answer:
    """Bound whatever is asked for."""
    return engine.query(asked, options) if isinstance(asked, Query) else answer(engine, asked, options)


def bounded_by_parts(engine: Engine, asked: Combined, options: Options = Options()) -> Interval | None:
    """Bound a question across conditions by its parts; None for one under a single condition."""
    return _Combination(engine, asked, options).by_parts()


def reduced_engine(engine: Engine, found: Reduced) -> Engine:
    """Return the engine of the larger network; what frames the smaller one grows alike."""
    if engine.frame is None:
        return Engine(found.network, engine.markov)
    added = found.network.sentences[len(engine.network.sentences) :]
    framed = (*engine.frame.sentences, *added)
    return Engine(found.network, engine.markov, replace(found.network, sentences=framed))


def value_in(model: Distribution, asked: Combined) -> float | None:
    """Return what a model says of a question; None where it lacks variables, or gives no number."""
    known = {v for factor in model.factors for v in factor.block}
    if not known.issuperset(asked.scope):
        return None
    if isinstance(asked, Linear):
        return _sum_in(model, asked)
    over, under = _sum_in(model, asked.over), _sum_in(model, asked.under)
    if over is None or under is None or (under == 0.0 and over == 0.0):
        return None
    return over / under if under != 0.0 else inf if over > 0.0 else -inf


def _sum_in(model: Distribution, asked: Linear) -> float | None:
    parts, constant = asked.parts()
    total = float(constant)
    for part in parts:
        for weight, claim in part.claims:
            total += float(weight) * model.probability(claim, part.given)
    return None if isnan(total) else total


class _Combination:
    """One question under way."""

    def __init__(self, engine: Engine, asked: Combined, options: Options) -> None:
        self.engine = engine
        self.asked = asked
        self.options = options
        self.budget = Budget.of(options.timeout)
        self.interval = vacuous(scale_of(asked))
        self.telling = options.telling(asked, self.interval.scale)
        self.tried: dict[str, None] = {}
        self.method = options.method
        self.is_interrupted = False

    def answer(self) -> Answer:
        """Bound the parts, then the whole where that is more than its parts."""
        try:
            with spending(self.budget), suppress(OutOfTime):
                if isinstance(self.asked, Linear) and len(self.asked.parts()[0]) <= 1:
                    if self._is_wide:
                        self._ask_claims(self.budget.share(PARTS_SHARE))
                    self._ask_whole(self.budget, {}, ())
                else:
                    self._across()
        except KeyboardInterrupt:
            self.is_interrupted = True
        status = self.interval.status(self.options.tolerance)
        seconds, tried = self.budget.elapsed, tuple(self.tried)
        found = Answer(self.asked, self.interval, status, self.method, seconds, self.is_interrupted, tried)
        # Where somebody else tells of a larger question, the last word is theirs.
        return found if self.telling is self.options.report else found.told(self.telling)

    def by_parts(self) -> Interval | None:
        """Return what follows from the parts alone."""
        if isinstance(self.asked, Linear) and len(self.asked.parts()[0]) <= 1:
            return None
        self._join_parts()
        return self.interval

    def _join_parts(self) -> dict[Part, Interval]:
        """Bound the parts, and the whole from them; what attains a part may attain the whole."""
        sums = (self.asked,) if isinstance(self.asked, Linear) else (self.asked.over, self.asked.under)
        parts = tuple(dict.fromkeys(part for one in sums for part in one.parts()[0]))
        found = self._ask_parts(parts)
        self._learn(_joined(self.asked, found))
        models = (one[end].model for one in found.values() for end in End)
        self._attain(model for model in models if model is not None)
        self.tried["parts"] = None
        return found

    def _across(self) -> None:
        found = self._join_parts()
        if self._is_open and self.options.method not in BY_PARTS:
            ranges = {part: (one.lower.bound, one.upper.bound) for part, one in found.items()}
            checked = all(one[end].is_checked for one in found.values() for end in End)
            self._ask_whole(self.budget, ranges if checked else {}, self._possible())

    @property
    def _is_open(self) -> bool:
        is_exact = self.interval.status(self.options.tolerance) is Status.EXACT
        return not (is_exact or self.is_interrupted or self.budget.is_spent)

    # ---- parts ----------------------------------------------------------------------------------------

    def _ask_parts(self, parts: tuple[Part, ...]) -> dict[Part, Interval]:
        """Bound what is said under each condition by itself."""
        budget, found = self.budget.share(PARTS_SHARE), dict[Part, Interval]()
        for done, part in enumerate(parts):
            share = budget.share(1.0 / (len(parts) - done))
            got = answer(
                self.engine, alone(part), replace(self.options, timeout=share.for_solver, report=None)
            )
            self.is_interrupted |= got.interrupted
            found[part] = got.interval
            if self.is_interrupted:
                break
        return found | {part: vacuous(scale_of(alone(part))) for part in parts if part not in found}

    def _possible(self) -> tuple[Formula, ...]:
        """Return the conditions that are proved to be possible in every model."""
        found, budget = [], self.budget.share(POSSIBLE_SHARE)
        conditions = self.asked.conditions
        for done, condition in enumerate(conditions):
            share = budget.share(1.0 / (len(conditions) - done))
            options = replace(self.options, timeout=share.for_solver, method="auto", report=None)
            got = self.engine.query(Query(condition), options)
            if got.lower >= POSSIBLE and got.interval.lower.is_checked:
                found.append(condition)
        return tuple(found)

    # ---- the whole ------------------------------------------------------------------------------------

    def _ask_whole(
        self, budget: Budget, ranges: dict[Part, tuple[float, float]], possible: Iterable[Formula]
    ) -> None:
        """Ask for the probability that stands for the question, and translate the answer."""
        network, markov = self.engine.network, self.engine.markov
        try:
            found = reduced(network, self.asked, markov, possible=possible, ranges=ranges)
        except ProblemTooLarge:
            self._ask_claims(self.budget)
            return
        if found is None:
            return
        options = replace(
            self.options,
            timeout=budget.for_solver,
            tolerance=self._finer(found),
            report=self.telling.through(meaning_of(found, self.interval.scale)),
        )
        got = reduced_engine(self.engine, found).query(found.query, options)
        self.tried |= dict.fromkeys(got.tried)
        self.is_interrupted |= got.interrupted
        self.method = got.method
        self._learn(Interval(*(self._translated(found, got, end) for end in End), scale=self.interval.scale))

    def _finer(self, found: Reduced) -> float:
        """Return the tolerance on the probability that is asked for instead."""
        if isinstance(self.asked, Quotient):
            greatest = max((v for e in End if (v := self.interval[e].witnessed) is not None), default=1.0)
            steep = 1.0 + min(abs(greatest), 1e3)
            return self.options.tolerance / steep**2
        low, high = (found.way.value(p, down=True) for p in (0.0, 1.0))
        return min(1.0, self.options.tolerance * self.asked.unit / max(high - low, 1e-9))

    def _translated(self, found: Reduced, got: Answer, end: End) -> Endpoint:
        """Return one end on the scale of the question; its value is read off the model itself."""
        one = got.interval[end]
        bound = found.way.value(one.bound, down=end is End.LOWER)
        proved = Endpoint(bound, None, one.warrant)
        model = None if one.model is None else found.without_added(one.model)
        value = None if model is None else value_in(model, self.asked)
        if model is None and one.witnessed is not None:
            value = found.way.value(one.witnessed, down=end is End.UPPER)
        return proved if value is None else replace(proved, witnessed=value, model=model)

    @property
    def _is_wide(self) -> bool:
        return prod(len(v.values) for v in self.asked.scope) > WIDE

    def _ask_claims(self, budget: Budget) -> None:
        """Bound a sum over too many worlds by its single claims."""
        if not isinstance(self.asked, Linear):
            return
        (part, *_), constant = self.asked.parts()
        found = []
        for done, (weight, claim) in enumerate(part.claims):
            share = budget.share(1.0 / (len(part.claims) - done))
            options = replace(self.options, timeout=share.for_solver, report=None)
            found.append(answer(self.engine, Linear((Summand(weight, claim, part.given),)), options).interval)
        self.tried["parts"] = None
        self._learn(_total(found, constant, self.interval.scale))

    # ---- what is known --------------------------------------------------------------------------------

    def _learn(self, found: Interval) -> None:
        self.interval = self.interval.joined(found)
        self.telling.tell_both(self.interval, stage=next(reversed(self.tried), ""))

    def _attain(self, models: Iterable[Distribution]) -> None:
        """Read the question off models that attain its parts, where the checker accepts them for it."""
        for model in models:
            value = value_in(model, self.asked)
            if value is None or not self._is_model(model):
                continue
            for end in End:
                attained = replace(Endpoint.trivial(end, self.interval.scale), witnessed=value, model=model)
                self.interval = self.interval.learning(attained, end)

    def _is_model(self, model: Distribution) -> bool:
        known = (v for factor in model.factors for v in factor.block)
        said = self.engine.network.about(known)
        return self.engine.cliques.admits(model, said, self.asked.scope, self.budget)


def meaning_of(found: Reduced, scale: Scale) -> Callable[[Interval], Interval]:
    """Return what an interval of the probability that stands for a question means for the question."""

    def end_of(one: Endpoint, end: End) -> Endpoint:
        is_lower, seen = end is End.LOWER, one.witnessed
        value = None if seen is None else found.way.value(seen, down=not is_lower)
        return Endpoint(found.way.value(one.bound, down=is_lower), value, one.warrant)

    return lambda known: Interval(*(end_of(known[end], end) for end in End), scale=scale)


def alone(part: Part) -> Linear:
    """Return what a sum says under one condition as a sum of its own."""
    return Linear(tuple(Summand(weight, claim, part.given) for weight, claim in part.claims))


# ---- bounds of a whole from bounds of its parts -----------------------------------------------------------


def _total(found: Iterable[Interval], constant: Fraction, scale: Scale) -> Interval:
    """Return the sum of intervals, rounded outwards, on the weakest word of any."""
    parts = list(found)
    ends = []
    for end in End:
        exact = constant + sum((Fraction(one[end].bound) for one in parts), Fraction(0))
        ends.append(
            Endpoint(
                rounded(exact, down=end is End.LOWER),
                None,
                Warrant.weakest(one[end].warrant for one in parts),
            )
        )
    return Interval(*ends, scale=scale)


def _added(asked: Linear, found: Mapping[Part, Interval]) -> Interval:
    parts, constant = asked.parts()
    return _total([found[part] for part in parts], constant, scale_of(asked))


def _joined(asked: Combined, found: Mapping[Part, Interval]) -> Interval:
    return _added(asked, found) if isinstance(asked, Linear) else _divided(asked, found)


def _divided(asked: Quotient, found: Mapping[Part, Interval]) -> Interval:
    """Return the quotient of two sums of intervals; without limit where the divisor may vanish."""
    over, under = _added(asked.over, found), _added(asked.under, found)
    warrant = Warrant.weakest(side[end].warrant for side in (over, under) for end in End)
    low, high = _quotients(over, under)
    ends = (Endpoint(low, None, warrant), Endpoint(high, None, warrant))
    return Interval(*ends, scale=scale_of(asked))


def _quotients(over: Interval, under: Interval) -> tuple[float, float]:
    least, most = Fraction(under.lower.bound), Fraction(under.upper.bound)
    low, high = Fraction(over.lower.bound), Fraction(over.upper.bound)
    if least < 0 or most <= 0:
        return -inf, inf
    below = low / (most if low >= 0 else least) if low >= 0 or least > 0 else None
    above = high / (least if high >= 0 else most) if high < 0 or least > 0 else None
    return (
        -inf if below is None else rounded(below, down=True),
        inf if above is None else rounded(above, down=False),
    )
