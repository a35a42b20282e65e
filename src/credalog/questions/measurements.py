"""What to find out next: what sentences bound, ranked by what measuring it would be worth.

Input: a network, a question and the precision of a measurement. Output: `Ranking`: for each probability how
wide the interval of the question could still be, the most useful first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from credalog.errors import CredalogError
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.network.expressions import Question
from credalog.network.formulas import TRUE, Formula, Variable, canonical, scope
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.budget import Budget, OutOfTime, require_time, spending
from credalog.numbers.printed import Printed
from credalog.questions.combined import ask
from credalog.questions.explain import FIRST_SHARE, MOST, Measurement, candidates, measure

if TYPE_CHECKING:
    from credalog.show.canvas import Picture

__all__ = ["POSITIONS", "Ranking", "rank", "reasons"]

POSITIONS = 3
"""At how many places each measurement is imagined to fall."""


@dataclass(frozen=True, slots=True, repr=False)
class Ranking(Printed):
    """The answer as it stands, the measurements imagined, the best first, and what was not looked at.

    They stand in the order of the width that is proved never to be exceeded, then of the widest that was met.
    `is_interrupted` says that the user stopped the work.
    """

    before: Answer
    measurements: tuple[Measurement, ...]
    untried: tuple[Query, ...]
    seconds: float = field(default=0.0, compare=False)
    is_interrupted: bool = False

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.measurements)

    def __len__(self) -> int:
        return len(self.measurements)

    def __getitem__(self, number: int) -> Measurement:
        return self.measurements[number]

    def __str__(self) -> str:
        if not self.measurements:
            return f"{self.before}: no measurement was looked at"
        best = self.measurements[0]
        return f"{self.before}: find out {best.known.query} first; {best}"

    def plot(self, *, title: str = "") -> Picture:
        """Draw how wide the interval would be after each measurement."""
        from credalog.show.plots import Worth, worth_plot

        now = self.before.upper - self.before.lower
        rows = [
            Worth(str(one.known.query), one.at_most, (one.best, one.worst) if one.widths else None)
            for one in self
        ]
        return worth_plot(now, rows, title=title or f"width of {self.before.query}")

    def _repr_html_(self) -> str:
        return self.plot().svg() if self.measurements else f"<p>{escape(str(self))}</p>"

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` writes."""
        return {
            "answer": self.before.to_dict(),
            "measurements": [one.to_dict() for one in self.measurements],
            "untried": [str(query) for query in self.untried],
            "is_interrupted": self.is_interrupted,
            "seconds": self.seconds,
        }


def rank(
    network: Network,
    asked: Question,
    within: Fraction,
    options: Options = Options(),
    *,
    most: int = MOST,
) -> Ranking:
    """Imagine each probability measured that a sentence bounds and that may matter, within one timeout."""
    budget = Budget.of(options.timeout)
    engine = Engine(network, options.markov)
    before = ask(engine, asked, replace(options, timeout=budget.share(FIRST_SHARE / 2).for_solver))
    queries, found, is_interrupted = list[Query](), list[Measurement](), before.interrupted
    try:
        with suppress(OutOfTime), spending(budget):
            if not is_interrupted:
                queries = _measurable(network, candidates(engine, before, options.tolerance, budget))
        for query, share in _within(budget, queries[:most]):
            limits = replace(options, timeout=share.for_solver)
            # A probability that no model leaves at any place tried is nothing to measure.
            with suppress(CredalogError):
                found.append(measure(network, asked, query, within, limits, positions=POSITIONS))
    except KeyboardInterrupt:
        is_interrupted = True
    tried = {one.known.query for one in found}
    left = tuple(query for query in queries if query not in tried)
    return Ranking(before, tuple(sorted(found, key=_worth)), left, budget.elapsed, is_interrupted)


def _within(budget: Budget, queries: list[Query]) -> Iterator[tuple[Query, Budget]]:
    """Yield queries, each with its share of the time, while there is any."""
    for left, query in zip(range(len(queries), 0, -1), queries, strict=True):
        if budget.is_spent:
            return
        yield query, budget.share(1.0 / left)


def _worth(one: Measurement) -> tuple[float, float]:
    return one.at_most, one.worst if one.widths else one.at_most


def _measurable(network: Network, numbers: list[int]) -> list[Query]:
    """Return the probabilities that sentences leave open, each once, in the order of the numbers."""
    found: dict[tuple[Formula, Formula], Query] = {}
    for sentence in (network.sentences[number] for number in numbers):
        if _is_open(sentence):
            key = canonical(sentence.claim), canonical(sentence.given)
            found.setdefault(key, Query(sentence.claim, sentence.given))
    return list(found.values())


def _is_open(sentence: Sentence) -> bool:
    require_time()
    return not sentence.is_linear and sentence.draws and sentence.lower < sentence.upper


# ---- why an answer says nothing ---------------------------------------------------------------------------
# Why an answer says nothing.
# Input: an answer that lies between 0 and 1. Output: reasons in words, where any can be found: an atom that
# no sentence bounds, or only under a condition, evidence that may have probability zero, a claim that
# nothing keeps away from 0 or from 1.


def reasons(engine: Engine, answer: Answer, options: Options) -> Iterator[str]:
    """Yield what explains that an answer says nothing."""
    asked = answer.query
    assert isinstance(asked, Query), "only a probability has reasons"
    unbounded = list(
        filter(None, (_unbounded(engine.network, x, given=asked.given) for x in scope(asked.claim)))
    )
    yield from unbounded
    if asked.is_conditional:
        yield from _of_evidence(engine, asked.given, options)
    if asked.is_conditional and not unbounded:
        yield from _of_claim(engine, asked.claim, options)


def _unbounded(network: Network, variable: Variable, *, given: Formula) -> str:
    """Say of a variable that no claim has it, or all claims that do stand under one other condition."""
    conditions = {sentence.given for sentence in network.sentences if variable in sentence.claim_scope}
    if conditions:
        only = conditions.pop()
        return "" if conditions or only in (TRUE, given) else f"{variable.name} is bounded only given {only}"
    if any(variable in sentence.given_scope for sentence in network.sentences):
        return f"{variable.name} stands in conditions only, and no sentence bounds its own probability"
    return f"no sentence mentions {variable.name}"


def _of_evidence(engine: Engine, given: Formula, options: Options) -> Iterator[str]:
    least = _least(engine, given, options)
    if least is not None and least <= options.tolerance:
        rare = "have probability 0" if least <= 0.0 else f"be as improbable as {least:.3g}"
        yield f"{given} may {rare}, and then sentences that are given it say little"


def _of_claim(engine: Engine, claim: Formula, options: Options) -> Iterator[str]:
    least = _least(engine, claim, options)
    if least is not None and least <= options.tolerance:
        yield f"nothing bounds P({claim}) from below"


def _least(engine: Engine, formula: Formula, options: Options) -> float | None:
    """Return how improbable a formula is in some model, if one was found in time."""
    try:
        return engine.query(Query(formula), options).lower_witnessed
    except CredalogError:
        return None
