"""What matters: which sentences hold an interval, and what another measurement would be worth.

Input: a network and a query. Output: `Explanation`, with the interval that dropping each sentence's bounds
would give; or `Measurement`, with the intervals that a promised measurement would leave.

As in the diagnosis of contradictions only bounds are dropped or added; the dependency graph stays that of
the network: a dropped sentence keeps its stamp. So dropping a sentence can only widen an interval, and a
measurement can only narrow it. Where an interval is not exact, only what is proved counts: a sentence holds
an end if some model without it passes the bound of the whole network.

Not every sentence is tried. One that shares nothing with the query cannot matter, nor can one that
d-separation shuts out. Neither can one that the proof of an attained end does not use, for the same
multipliers prove the same bound without it. The others are tried in the order of their multipliers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, pairwise
from math import inf
from typing import TYPE_CHECKING, Any

from credalog.errors import (
    CredalogError,
    ImpossibleEvidence,
    InconsistentNetwork,
    ProblemTooLarge,
    impossible_evidence,
    no_model,
)
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.fragment import Fragment
from credalog.methods.cliques.slices import RUNGS
from credalog.network.expressions import Question
from credalog.network.graph import Markov, dependency_graph
from credalog.network.sentences import Network, Query, Sentence
from credalog.network.structure import relevance
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.numbers.interval import End, Endpoint, Interval, Status, vacuous
from credalog.numbers.printed import Printed
from credalog.program.program import Objective, Outcome
from credalog.program.solvers.highs import Relaxation
from credalog.questions.bounding import bounding_reading
from credalog.questions.combined import ask
from credalog.questions.diagnose import Attribution
from credalog.questions.models import encode_in_time
from credalog.questions.repair_program import silenced
from credalog.show.html import Bar, as_html
from credalog.tables import credal as credal_networks

if TYPE_CHECKING:
    from credalog.show.canvas import Picture

MOST = 20
"""How many sentences are tried, unless told otherwise."""

POSITIONS = 9
"""At how many places, spread evenly over its range, a measurement is imagined to fall."""

FIRST_SHARE = 0.4
"""The share of the time for the interval of the whole network; the others share what is left evenly."""

PROMISE_SHARE = 0.3
"""The share of the time left for a program that tells which sentences are worth a trial, and for each end."""

PLAIN = 9
"""How many digits the denominator of a place where a measurement is imagined has, if that is close enough."""

CLOSE = Fraction(1, 10**12)
"""How far from what is attained such a place may be, as a share of it."""


@dataclass(frozen=True, slots=True, repr=False)
class Influence(Printed):
    """A sentence, the answer once its bounds are dropped, and how far that moves each end outwards.

    The moves are proved by models; one within the tolerance of the answers counts as none.
    """

    sentence: Sentence
    answer: Answer
    lower_move: float
    upper_move: float

    @property
    def is_bounded(self) -> bool:
        """Tell whether the interval without the sentence is not exact: it may move the ends farther."""
        return self.answer.status is not Status.EXACT

    def __str__(self) -> str:
        return f"without {self.sentence.name} {self.answer}"

    def to_dict(self) -> dict[str, Any]:
        """Return the sentence, how far it moves each end, and the answer without it."""
        return {
            **self.sentence.to_dict(),
            "lower_move": self.lower_move,
            "upper_move": self.upper_move,
            "without": self.answer.to_dict(),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Printed):
    """An answer, what each sentence tried does for it, and the sentences that were not tried.

    `influences` stand in the order of the network. `silent` sentences cannot matter: they share nothing with
    the query, or the proofs of both ends do without them. `untried` might matter, most likely little.
    Where the user stopped the work, `is_interrupted` says so, and all that was left to try is untried, as
    where the time was up.
    """

    answer: Answer
    influences: tuple[Influence, ...]
    silent: tuple[Sentence, ...]
    untried: tuple[Sentence, ...]
    is_interrupted: bool = False

    @property
    def holding_lower(self) -> tuple[Influence, ...]:
        """Return the sentences that hold the lower end, the strongest first."""
        moving = (one for one in self.influences if one.lower_move > 0.0)
        return tuple(sorted(moving, key=lambda one: -one.lower_move))

    @property
    def holding_upper(self) -> tuple[Influence, ...]:
        """Return the sentences that hold the upper end, the strongest first."""
        moving = (one for one in self.influences if one.upper_move > 0.0)
        return tuple(sorted(moving, key=lambda one: -one.upper_move))

    @property
    def doubt(self) -> str:
        """Say what was not found exactly in time; nothing where everything was."""
        inexact = ", ".join(one.sentence.name for one in self.influences if one.is_bounded)
        whole = "" if self.answer.status is Status.EXACT else "The interval itself is not exact. "
        without = f"Without {inexact} the interval is only bounded: more may be held than is shown."
        return (whole + without if inexact else whole).strip()

    def __str__(self) -> str:
        ends = {"lower": self.holding_lower, "upper": self.holding_upper}
        names = {end: ", ".join(one.sentence.name for one in holding) for end, holding in ends.items()}
        held = (f"the {end} end is held by {names[end] or 'no single sentence'}" for end in ends)
        return f"{self.answer}; {'; '.join(held)}{f'. {self.doubt}' if self.doubt else ''}"

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes."""
        return {
            "answer": self.answer.to_dict(),
            "influences": [one.to_dict() for one in self.influences],
            "silent": [sentence.to_dict() for sentence in self.silent],
            "untried": [sentence.to_dict() for sentence in self.untried],
            "is_interrupted": self.is_interrupted,
            "doubt": self.doubt,
        }

    @property
    def _moving(self) -> list[Influence]:
        """Return the sentences that hold an end, the strongest first."""
        moving = [one for one in self.influences if max(one.lower_move, one.upper_move) > 0.0]
        return sorted(moving, key=lambda one: -max(one.lower_move, one.upper_move))

    def plot(self, *, title: str = "") -> Picture:
        """Draw a tornado: how far the interval widens without each sentence that holds it."""
        from credalog.show.plots import Line, tornado

        without = [
            Line(one.sentence.name, one.answer.interval, remark="only bounded" if one.is_bounded else "")
            for one in self._moving
        ]
        whole = Line("as it stands", self.answer.interval)
        return tornado(whole, without, title=title or str(self.answer.query))

    def _repr_html_(self) -> str:
        bars = [Bar(str(self.answer.query), self.answer.interval, "as it stands")]
        moving = self._moving
        remarks = ("only bounded" if one.is_bounded else "" for one in moving)
        bars += [
            Bar(f"without {one.sentence.name}", one.answer.interval, remark)
            for one, remark in zip(moving, remarks, strict=True)
        ]
        return as_html(bars, note=f"{len(self.silent)} other sentences cannot matter. {self.doubt}".strip())


@dataclass(frozen=True, slots=True)
class Scenario:
    """A place where a measurement may fall, and the answer then; None where no model allows both."""

    value: float
    answer: Answer | None

    @property
    def is_bounded(self) -> bool:
        """Tell whether the interval is not exact: the measurement may narrow it farther."""
        return self.answer is not None and self.answer.status is not Status.EXACT


@dataclass(frozen=True, slots=True, repr=False)
class Measurement(Printed):
    """What is known of a query now, and what would be if a probability were measured to a precision.

    `known` is what is known of the measured probability. `at_most` is a proved bound on the width of the
    query's interval wherever the measurement falls, not only at the places of the scenarios.
    """

    before: Answer
    known: Answer
    within: Fraction
    scenarios: tuple[Scenario, ...]
    at_most: float

    @property
    def widths(self) -> tuple[float, ...]:
        """Return the widths of the query's interval in the scenarios that some model allows."""
        return tuple(s.answer.upper - s.answer.lower for s in self.scenarios if s.answer is not None)

    @property
    def best(self) -> float:
        """Return the least width met."""
        return min(self.widths)

    @property
    def worst(self) -> float:
        """Return the greatest width met."""
        return max(self.widths)

    @property
    def doubt(self) -> str:
        """Say how many intervals were not found exactly in time; nothing where all were."""
        inexact = sum(scenario.is_bounded for scenario in self.scenarios)
        places = (
            f"At {inexact} of {len(self.scenarios)} places the interval is only bounded: it may be narrower."
        )
        return places if inexact else ""

    def __str__(self) -> str:
        now, known = self.before.upper - self.before.lower, self.known
        outlook = (
            f"would be {self.best:.6f} to {self.worst:.6f} at the places tried, and never more than "
            f"{self.at_most:.6f}"
            if self.widths
            else "cannot be foretold: no model was found with the measurement at any of the places tried"
        )
        doubt = f". {self.doubt}".removesuffix(".") if self.doubt else ""
        return (
            f"if {known.query}, now in {known.interval}, were measured to within {float(self.within):g}, "
            f"the width of {self.before.query}, now {now:.6f}, {outlook}{doubt}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes; a width is None where no scenario is possible."""
        return {
            "measured": self.known.to_dict(),
            "within": float(self.within),
            "width_before": self.before.upper - self.before.lower,
            "width_best": self.best if self.widths else None,
            "width_worst": self.worst if self.widths else None,
            "width_at_most": self.at_most,
            "doubt": self.doubt,
            "scenarios": [
                {"value": s.value, "answer": None if s.answer is None else s.answer.to_dict()}
                for s in self.scenarios
            ],
        }

    def _repr_html_(self) -> str:
        bars = [Bar(str(self.before.query), self.before.interval, "as it stands")]
        bars += [
            Bar(f"{self.known.query} = {s.value:.4g}", s.answer.interval)
            for s in self.scenarios
            if s.answer is not None
        ]
        return as_html(bars, note=f"{self}.")


def explain(
    network: Network,
    asked: Question,
    options: Options = Options(),
    *,
    most: int = MOST,
    stated: int | None = None,
) -> Explanation:
    """Find the sentences that hold the ends of a question's interval; the timeout is for all of it.

    Somebody wrote the first `stated` sentences, and those that stand for one across conditions.
    """
    budget = Budget.of(options.timeout)
    engine = _near_engine(network, asked, options, budget)
    network, own = engine.network, _own(engine.network, stated)
    answer = ask(engine, asked, _within(options, budget.share(FIRST_SHARE)))
    if answer.interrupted:
        return Explanation(answer, (), (), tuple(own.values()), is_interrupted=True)
    weights: dict[int, float] = dict.fromkeys(own, 0.0)
    without: dict[int, Answer] = {}
    is_interrupted = False
    try:
        promise = _promised(engine, answer, options.tolerance, budget)
        weights = {number: weight for number, weight in promise.items() if number in own}
        order = _by_promise(weights)
        for number, other in _without_each(engine, asked, order[:most], options, budget):
            without[number] = other
    except KeyboardInterrupt:
        is_interrupted = True
    answer = _narrowed(answer, without.values(), options.tolerance)
    silent = tuple(s for n, s in own.items() if n not in weights)
    untried = tuple(s for n, s in own.items() if n in weights and n not in without)
    influences = tuple(
        Influence(
            network.sentences[number],
            other,
            *(moved(answer, other, end, options.tolerance) for end in End),
        )
        for number, other in sorted(without.items())
    )
    return Explanation(answer, influences, silent, untried, is_interrupted)


def _near_engine(network: Network, asked: Question, options: Options, budget: Budget) -> Engine:
    """Return the engine of a network, of a large one that of what bears on the question."""
    whole = Engine(network, options.markov)
    with suppress(OutOfTime), spending(budget):
        return whole.near(asked.scope)
    return whole


def _own(network: Network, stated: int | None) -> dict[int, Sentence]:
    """Return the sentences that somebody wrote, by number."""
    most = len(network.sentences) if stated is None else stated
    return {n: s for n, s in enumerate(network.sentences) if n < most or s.across is not None}


def candidates(engine: Engine, answer: Answer, tolerance: float, budget: Budget) -> list[int]:
    """Return the numbers of the sentences that may hold an end of an answer, the most promising first."""
    return _by_promise(_promised(engine, answer, tolerance, budget))


def _promised(engine: Engine, answer: Answer, tolerance: float, budget: Budget) -> Mapping[int, float]:
    """Return how promising sentences are; where there is no time to tell, all of them are alike."""
    try:
        with spending(budget):
            return _promise(engine, answer, tolerance, budget)
    except OutOfTime:
        return dict.fromkeys(range(len(engine.network.sentences)), 0.0)


def _by_promise(weights: Mapping[int, float]) -> list[int]:
    return sorted(weights, key=lambda number: (-weights[number], number))


def _within(options: Options, budget: Budget) -> Options:
    return replace(options, timeout=budget.for_solver)


def _promise(engine: Engine, answer: Answer, tolerance: float, budget: Budget) -> Mapping[int, float]:
    """Return the sentences that may hold an end, by number, and how promising each is.

    Where the relaxation falls short of an end, or that is not attained, all that bears on it may matter. So
    it may for a sum or a quotient, of which no single program is looked at.
    """
    asked = answer.query
    if not isinstance(asked, Query):
        return dict.fromkeys(_near(engine, asked), 0.0)
    bearing = dict.fromkeys(_bearing(engine, asked), 0.0)
    encoded = _outer_program(engine.part(asked), asked, budget.share(PROMISE_SHARE))
    if encoded is None:
        return bearing
    encoding, objective = encoded
    relaxation, attribution = Relaxation(encoding.program), Attribution(engine)
    box = encoding.program.ratios.box
    found: dict[int, float] = defaultdict(float)
    for end in End:
        solve = relaxation.minimize if end is End.LOWER else relaxation.maximize
        claim, _ = solve(objective, box, timeout=budget.share(PROMISE_SHARE).for_solver)
        used = attribution.weights(encoding, claim.multipliers).items()
        attained = answer.interval[end].witnessed
        value = claim.value if claim.outcome is Outcome.OPTIMAL else inf
        is_exact = attained is not None and abs(value - attained) <= tolerance
        for number, weight in (*used, *(() if is_exact else bearing.items())):
            if number in bearing:
                found[number] += weight
    return found


def _outer_program(part: Fragment, asked: Query, budget: Budget) -> tuple[Encoding, Objective] | None:
    """Encode what bears on a query, or else a slice of it, in a program that holds every model."""
    with suppress(ProblemTooLarge):
        cliques, evidence = part.factorize(asked, bounding_reading(part.problem))
        encoding = encode_in_time(part.problem, cliques, evidence, budget.share(0.5))
        return encoding, encoding.objective(asked.claim, asked.given)
    for rung in (RUNGS[1], RUNGS[0]):
        with suppress(ProblemTooLarge, OutOfTime):
            return part.encode_slice(asked, rung, budget.share(0.7))
    return None


def _bearing(engine: Engine, asked: Query) -> list[int]:
    """Return the numbers of the sentences that are about what bears on a query.

    In a credal network these are the ones on families that are not d-separated from it.
    """
    network, is_free = engine.network, engine.markov is Markov.NONE
    credal = None if is_free else credal_networks.credal_network(network, engine.graph)
    put = None if credal is None else credal_networks.ask(credal, asked)
    if credal is None or put is None:
        return _near(engine, asked)
    whole, question = put
    relevant = frozenset(relevance(whole.parents, [question.target], question.observed).families)
    near = frozenset(network.variables[x] for x in relevant if x < len(network.variables))
    return [n for n, sentence in enumerate(network.sentences) if not near.isdisjoint(sentence.claim_scope)]


def _near(engine: Engine, asked: Question) -> list[int]:
    """Return the numbers of the sentences about variables that share a part with the question."""
    near = frozenset(engine.part(asked).problem.variables)
    return [n for n, sentence in enumerate(engine.network.sentences) if near.issuperset(sentence.scope)]


def _without_each(
    engine: Engine, asked: Question, numbers: Sequence[int], options: Options, budget: Budget
) -> Iterator[tuple[int, Answer]]:
    """Yield the answers to a query without each of some sentences, as far as the time allows."""
    for tried, number in enumerate(numbers):
        if budget.is_spent:
            return
        sentences = list(engine.network.sentences)
        sentences[number] = silenced(sentences[number])
        without = Engine(replace(engine.network, sentences=tuple(sentences)), engine.markov)
        share = budget.share(1.0 / (len(numbers) - tried))
        yield number, finished(ask(without, asked, _within(options, share)))


def moved(answer: Answer, without: Answer, end: End, tolerance: float) -> float:
    """Return how far a model without a sentence passes a bound; none within the tolerance."""
    attained = without.interval[end].witnessed
    move = 0.0 if attained is None else end.sign * (answer.interval[end].bound - attained)
    return move if move > tolerance else 0.0


def _narrowed(answer: Answer, wider: Iterable[Answer], tolerance: float) -> Answer:
    """Return an answer within what is proved of all models of others, which it cannot pass."""
    interval = answer.interval
    for other in wider:
        proved = (replace(other.interval[end], witnessed=None, model=None) for end in End)
        interval = interval.joined(Interval(*proved, scale=interval.scale))
    return replace(answer, interval=interval, status=interval.status(tolerance))


def finished(answer: Answer) -> Answer:
    """Return an answer, unless the user stopped the search for it: then its ends say nothing of others."""
    if answer.interrupted:
        raise KeyboardInterrupt
    return answer


def measure(
    network: Network,
    asked: Question,
    measured: Query,
    within: Fraction,
    options: Options = Options(),
    *,
    positions: int = POSITIONS,
) -> Measurement:
    """Imagine that P(measured) is found up to a precision, and bound the query in each case."""
    if within < 0 or positions < 2:
        raise CredalogError("a measurement needs a precision of at least 0 and at least two positions")
    budget = Budget.of(options.timeout)
    engine = Engine(network, options.markov)
    before = finished(ask(engine, asked, _within(options, budget.share(FIRST_SHARE))))
    known = finished(engine.query(measured, _within(options, budget.share(FIRST_SHARE))))
    imagined = _Imagined(network, before, known, within, options)
    places = [imagined.place(i, positions) for i in range(positions)]
    # A window around two neighbouring places holds every window between them; beyond the first and the last
    # place a measurement may fall as far as the bounds, whether these are attained or not.
    least, most = (Fraction(known.interval[end].bound) for end in End)
    edges = [min(least, places[0]), *places[1:-1], max(most, places[-1])]
    windows = [*((p, p) for p in places), *pairwise(edges)]
    shares = (budget.share(1.0 / left) for left in range(len(windows), 0, -1))
    answers = [imagined.answer(*window, share) for window, share in zip(windows, shares, strict=True)]
    hulls = [answer.upper - answer.lower for answer in answers[positions:] if answer is not None]
    scenarios = tuple(Scenario(float(p), answer) for p, answer in zip(places, answers, strict=False))
    _require_model(asked, scenarios, hulls)
    return Measurement(before, known, within, scenarios, min(before.upper - before.lower, max(hulls)))


def _require_model(asked: Question, scenarios: Iterable[Scenario], hulls: list[float]) -> None:
    """Refuse a measurement that no model allows wherever it falls, or at none of the places tried."""
    if not hulls and not (isinstance(asked, Query) and not asked.is_conditional):
        raise impossible_evidence()
    if not hulls:
        raise no_model()
    if all(scenario.answer is None for scenario in scenarios):
        raise CredalogError(
            "no model allows the measurement to fall at any of the places tried",
            advice="Allow for a coarser measurement, or try more positions.",
        )


@dataclass(frozen=True, slots=True)
class _Imagined:
    """A measurement that has not been made yet."""

    network: Network
    before: Answer
    known: Answer
    within: Fraction
    options: Options

    def place(self, i: int, positions: int) -> Fraction:
        """Return the i-th of some places spread over what is attained, or else known, by the measured."""
        low, high = (_reached(self.known.interval[end]) for end in End)
        return low + (high - low) * i / (positions - 1)

    def answer(self, least: Fraction, most: Fraction, budget: Budget) -> Answer | None:
        """Bound the query if the measurement falls between two places; None where no model allows that."""
        if budget.is_spent:
            return self._narrowed(replace(self.before, interval=vacuous(self.before.interval.scale)))
        try:
            answer = ask(self._engine(least, most), self.before.query, _within(self.options, budget))
        except (InconsistentNetwork, ImpossibleEvidence):
            return None
        return self._narrowed(finished(answer))

    def _narrowed(self, answer: Answer) -> Answer | None:
        joined = _narrowed(answer, [self.before], self.options.tolerance)
        return None if joined.interval.is_empty else joined

    def _engine(self, least: Fraction, most: Fraction) -> Engine:
        """Return the engine of the network with the measurement; the graph stays that of the network."""
        measured = self.known.query
        assert isinstance(measured, Query), "one probability is measured"
        lower, upper = max(Fraction(0), least - self.within), min(Fraction(1), most + self.within)
        claims = ((Fraction(1), measured.claim),)
        found = Sentence(claims, measured.given, lower, upper, measured.is_conditional, "measured")
        network = replace(self.network, sentences=(*self.network.sentences, found))
        stays = _parents(network) == _parents(self.network)
        return Engine(network, self.options.markov, frame=None if stays else self.network)


def _parents(network: Network) -> tuple[tuple[int, ...], ...]:
    return tuple(dependency_graph(network).parent_indices)


def _reached(found: Endpoint) -> Fraction:
    """Return a plain fraction for what is attained, or else known, however rare."""
    value = Fraction(found.bound if found.witnessed is None else found.witnessed)
    plain = (value.limit_denominator(10**digits) for digits in count(PLAIN))
    return next(place for place in plain if abs(place - value) <= CLOSE * value)
