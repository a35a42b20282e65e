"""What matters: which sentences hold an interval, and what another measurement would be worth.

Enters: a network and a query. Leaves: `Explanation`, with the interval that dropping each sentence's bounds
would give; or `Measurement`, with the intervals that a promised measurement would leave.

As in the diagnosis of contradictions only bounds are dropped or added; the dependency graph stays that of
the network. So dropping a sentence can only widen an interval, and a measurement can only narrow it.

Not every sentence is tried. One that shares nothing with the query cannot matter. Neither can one that the
proof of an end does not use, for the same multipliers prove the same bound without it. Where the first linear
relaxation is exact this leaves few; they are tried in the order of their multipliers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import nan
from typing import Any

from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.network.formulas import Variable
from credalog.network.sentences import Network, Query, Sentence
from credalog.network.structure import Reading
from credalog.numbers.printed import Printed
from credalog.program.program import Outcome
from credalog.program.solvers.highs import Relaxation
from credalog.questions.attribution import Attribution

__all__ = ["Explanation", "Influence", "Measurement", "Scenario", "explain", "measure"]

MOST = 20
"""How many sentences are tried, unless told otherwise."""

POSITIONS = 9
"""At how many places, spread evenly over its range, a measurement is imagined to fall."""


@dataclass(frozen=True, slots=True, repr=False)
class Influence(Printed):
    """A sentence, the answer once its bounds are dropped, and how far that moves each end outwards.

    A move within the tolerance of the answers counts as none.
    """

    sentence: Sentence
    answer: Answer
    lower_move: float
    upper_move: float

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
    Where the user stopped the work, `is_interrupted` says so, and all that was left to try is untried.
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

    def __str__(self) -> str:
        ends = {"lower": self.holding_lower, "upper": self.holding_upper}
        names = {end: ", ".join(one.sentence.name for one in holding) for end, holding in ends.items()}
        held = (f"the {end} end is held by {names[end] or 'no single sentence'}" for end in ends)
        return f"{self.answer}; {'; '.join(held)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes."""
        return {
            "answer": self.answer.to_dict(),
            "influences": [one.to_dict() for one in self.influences],
            "silent": [sentence.to_dict() for sentence in self.silent],
            "untried": [sentence.to_dict() for sentence in self.untried],
            "is_interrupted": self.is_interrupted,
        }

    def _repr_html_(self) -> str:
        from credalog.show.html import Bar, as_html
        from credalog.text import unparse_query

        bars = [Bar(unparse_query(self.answer.query), self.answer.interval, "as it stands")]
        moving = [one for one in self.influences if max(one.lower_move, one.upper_move) > 0.0]
        moving.sort(key=lambda one: -max(one.lower_move, one.upper_move))
        bars += [Bar(f"without {one.sentence.name}", one.answer.interval) for one in moving]
        return as_html(bars, note=f"{len(self.silent)} other sentences cannot matter.")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A place where a measurement may fall, and the answer then; None where no model allows both."""

    value: float
    answer: Answer | None


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
        """Return the least width met; not a number where no scenario is possible."""
        return min(self.widths, default=nan)

    @property
    def worst(self) -> float:
        """Return the greatest width met; not a number where no scenario is possible."""
        return max(self.widths, default=nan)

    def __str__(self) -> str:
        now, known = self.before.upper - self.before.lower, self.known
        outlook = (
            f"would be {self.best:.6f} to {self.worst:.6f} at the places tried, and never more than "
            f"{self.at_most:.6f}"
            if self.widths
            else "cannot be foretold: no model was found with the measurement at any of the places tried"
        )
        return (
            f"if {known.query}, now in {known.interval}, were measured to within {float(self.within):g}, "
            f"the width of {self.before.query}, now {now:.6f}, {outlook}"
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
            "scenarios": [
                {"value": s.value, "answer": None if s.answer is None else s.answer.to_dict()}
                for s in self.scenarios
            ],
        }

    def _repr_html_(self) -> str:
        from credalog.show.html import Bar, as_html

        bars = [Bar(str(self.before.query), self.before.interval, "as it stands")]
        bars += [
            Bar(f"{self.known.query} = {s.value:.4g}", s.answer.interval)
            for s in self.scenarios
            if s.answer is not None
        ]
        return as_html(bars, note=f"{self}.")


def explain(network: Network, asked: Query, options: Options = Options(), *, most: int = MOST) -> Explanation:
    """Find the sentences that hold the ends of a query's interval; the timeout is for each interval."""
    engine = Engine(network, options.markov)
    answer = engine.query(asked, options)
    if answer.interrupted:
        return Explanation(answer, (), (), network.sentences, is_interrupted=True)
    weights = _promise(engine, answer, options)
    order = sorted(weights, key=lambda number: (-weights[number], number))
    chosen = sorted(order[:most])
    influences = tuple(_influences(network, chosen, answer, options))
    silent = tuple(s for n, s in enumerate(network.sentences) if n not in weights)
    left = sorted((*order[most:], *chosen[len(influences) :]))
    untried = tuple(network.sentences[n] for n in left)
    return Explanation(answer, influences, silent, untried, len(influences) < len(chosen))


def _promise(engine: Engine, answer: Answer, options: Options) -> Mapping[int, float]:
    """Return the sentences that may hold an end, by number, and how promising each is.

    Where the relaxation falls short of an end, all that bears on the query may matter.
    """
    asked = answer.query
    part = engine.part(asked)
    reading = part.problem.reading
    if reading is Reading.LITERAL and part.problem.structure.core:
        reading = Reading.OUTER
    encoding, objective = part.encode(asked, reading)
    relaxation, attribution = Relaxation(encoding.program), Attribution(engine)
    box = encoding.program.ratios.box
    found: dict[int, float] = defaultdict(float)
    bearing = _bearing(engine.network.sentences, part.problem.variables)
    for solve, end in ((relaxation.minimize, answer.lower), (relaxation.maximize, answer.upper)):
        claim, _ = solve(objective, box, timeout=options.timeout)
        for number, weight in attribution.weights(encoding, claim.multipliers).items():
            found[number] += weight
        is_exact = claim.outcome is Outcome.OPTIMAL and abs(claim.value - end) <= options.tolerance
        for number in () if is_exact else bearing:
            found[number] += 0.0
    return found


def _bearing(sentences: Sequence[Sentence], variables: Iterable[Variable]) -> list[int]:
    """Return the numbers of the sentences about some variables."""
    near = frozenset(variables)
    return [n for n, sentence in enumerate(sentences) if near.issuperset(sentence.scope)]


def _influences(
    network: Network, numbers: Iterable[int], answer: Answer, options: Options
) -> Iterator[Influence]:
    """Drop one sentence after the other until the user has had enough."""
    try:
        for number in numbers:
            yield _influence(network, number, answer, options)
    except KeyboardInterrupt:
        return


def _influence(network: Network, number: int, answer: Answer, options: Options) -> Influence:
    sentences = network.sentences
    rest = replace(network, sentences=sentences[:number] + sentences[number + 1 :])
    without = _finished(Engine(rest, options.markov, frame=network).query(answer.query, options))
    moves = answer.lower - without.lower, without.upper - answer.upper
    lower, upper = (move if move > options.tolerance else 0.0 for move in moves)
    return Influence(sentences[number], without, lower, upper)


def _finished(answer: Answer) -> Answer:
    """Return an answer, unless the user stopped the search for it: then its ends say nothing of others."""
    if answer.interrupted:
        raise KeyboardInterrupt
    return answer


def measure(
    network: Network,
    asked: Query,
    measured: Query,
    within: Fraction,
    options: Options = Options(),
    *,
    positions: int = POSITIONS,
) -> Measurement:
    """Imagine that P(measured) is found up to a precision, and bound the query in each case."""
    if within < 0 or positions < 2:
        raise CredalogError("a measurement needs a precision of at least 0 and at least two positions")
    engine = Engine(network, options.markov)
    before, known = (_finished(engine.query(query, options)) for query in (asked, measured))
    promise = _Promise(network, before, known, within, options)
    places = [promise.place(i, positions) for i in range(positions)]
    scenarios = tuple(Scenario(float(p), promise.answer(p, p)) for p in places)
    # A window around two neighbouring places holds every window between them.
    hulls = [promise.answer(p, q) for p, q in pairwise(places)]
    widths = (answer.upper - answer.lower for answer in hulls if answer is not None)
    now = before.upper - before.lower
    return Measurement(before, known, within, scenarios, min(now, max(widths, default=now)))


@dataclass(frozen=True, slots=True)
class _Promise:
    """A measurement that has not been made yet."""

    network: Network
    before: Answer
    known: Answer
    within: Fraction
    options: Options

    def place(self, i: int, positions: int) -> Fraction:
        """Return the i-th of some places spread over what is known of the measured probability."""
        low, high = Fraction(self.known.lower), Fraction(self.known.upper)
        return low + (high - low) * i / (positions - 1)

    def answer(self, least: Fraction, most: Fraction) -> Answer | None:
        """Bound the query if the measurement falls between two places; None where no model allows that."""
        measured = self.known.query
        lower, upper = max(Fraction(0), least - self.within), min(Fraction(1), most + self.within)
        found = Sentence(((Fraction(1), measured.claim),), measured.given, lower, upper, label="measured")
        network = replace(self.network, sentences=(*self.network.sentences, found))
        engine = Engine(network, self.options.markov, frame=self.network)
        try:
            return _finished(engine.query(self.before.query, self.options))
        except (InconsistentNetwork, ImpossibleEvidence):
            return None
