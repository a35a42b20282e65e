"""Questions to a theory that is not grounded whole.

Input: a theory made ready for questions about a few of its atoms. Output: answers, decisions and
explanations, as of a ground network. What bounds comes from slices, which every model satisfies; what attains
comes from models of the whole, in which all but the atoms of a slice are certain or free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial

from credalog.errors import ImpossibleEvidence, InconsistentNetwork, ProblemTooLarge
from credalog.methods.answer import Answer, Options, last_of
from credalog.methods.automatic import Engine
from credalog.methods.lifted.answering import Lifted, Stage
from credalog.methods.progress import Telling, bounds_alone, values_alone
from credalog.methods.reduction import scale_of
from credalog.network.expressions import Question
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import VACUOUS, End, Status
from credalog.questions import decide as decisions
from credalog.questions.combined import ask
from credalog.questions.decide import Decision, Relation, Verdict
from credalog.questions.explain import MOST, Explanation, Influence, finished, moved
from credalog.questions.repair_program import silenced

__all__ = ["decide", "explain", "query"]

FIRST_SHARE = 0.4
"""The share of the time for the slices where the whole network may be asked after them."""


def query(
    lifted: Lifted, asked: Question, options: Options, whole: Callable[[], Engine] | None = None
) -> Answer:
    """Ask slices; on what they leave open ask the whole network, where it may be grounded."""
    telling = options.telling(asked, scale_of(asked))
    return _asked(lifted, asked, replace(options, report=telling), whole).told(telling)


def _asked(lifted: Lifted, asked: Question, options: Options, whole: Callable[[], Engine] | None) -> Answer:
    if whole is None:
        return lifted.query(asked, options, ask)
    budget = Budget.of(options.timeout)
    first = lifted.query(asked, replace(options, timeout=budget.share(FIRST_SHARE).remaining), ask)
    if first.status is Status.EXACT or first.interrupted or options.method == "lifted":
        return first
    found = ask(whole(), asked, replace(options, timeout=budget.for_solver))
    interval = first.interval.joined(found.interval)
    status = interval.status(options.tolerance)
    tried = (*first.tried[:-1], *found.tried)
    return replace(found, interval=interval, status=status, seconds=budget.elapsed, tried=tried)


# ---- decisions ------------------------------------------------------------------------------------------


def decide(
    lifted: Lifted,
    asked: Query,
    threshold: Fraction,
    options: Options,
    *,
    relation: Relation,
    whole: Callable[[], Engine] | None = None,
) -> Decision:
    """Decide by a slice what holds in every model or in none, and by models what holds in some only.

    What is left open is decided on the whole network, where it may be grounded.
    """
    budget, options = Budget.of(options.timeout), replace(options, report=options.telling(asked))
    settle = partial(decisions.decide, asked=asked, threshold=threshold, relation=relation)
    share = budget if whole is None else budget.share(FIRST_SHARE)
    interval, verdict, name = VACUOUS, Verdict.UNDECIDED, "slices"
    for found, is_slice in _decisions(lifted, settle, asked, options, share):
        interval = interval.joined(bounds_alone(found.interval) if is_slice else values_alone(found.interval))
        if is_slice and found.verdict in (Verdict.CERTAIN, Verdict.EXCLUDED):
            verdict = found.verdict
        elif not is_slice and found.verdict is Verdict.UNDETERMINED:
            verdict, name = found.verdict, "models in which the rest is certain"
        if verdict is Verdict.UNDECIDED and found.stage == decisions.INTERRUPTED:
            name, whole = decisions.INTERRUPTED, None
            break
        if verdict is not Verdict.UNDECIDED or share.is_spent:
            break
    if verdict is Verdict.UNDECIDED and whole is not None:
        return settle(whole(), options=_within(options, budget))
    return Decision(asked, relation, threshold, verdict, interval, name, budget.elapsed)


def _decisions(
    lifted: Lifted, settle: Callable[..., Decision], asked: Query, options: Options, budget: Budget
) -> Iterator[tuple[Decision, bool]]:
    """Yield what slices decide, and what the models of each do; the flag tells a slice."""
    telling = options.telling(asked)
    for stage in lifted.stages(asked, budget):
        slice_options = _heard(options, telling.through(bounds_alone), budget)
        yield settle(lifted.engine(stage.slice), options=slice_options), True
        for residue in lifted.residues(stage, asked, budget.share(0.3)):
            with suppress(InconsistentNetwork, ImpossibleEvidence, ProblemTooLarge):
                engine = Engine(residue.network, lifted.markov, residue.frame)
                yield settle(engine, options=_heard(options, telling.through(values_alone), budget)), False


def _heard(options: Options, telling: Telling, budget: Budget) -> Options:
    """Return the options of one step, for a part of the time, and who is told of it."""
    return replace(_within(options, budget.share(0.3)), report=telling)


def _within(options: Options, budget: Budget) -> Options:
    return replace(options, method="auto", timeout=budget.for_solver)


# ---- explanations ---------------------------------------------------------------------------------------


def explain(lifted: Lifted, asked: Query, options: Options, *, most: int = MOST) -> Explanation:
    """Find the sentences of a slice that hold the ends: without them some model of the rest passes."""
    budget = Budget.of(options.timeout)
    answer = lifted.query(asked, _within(options, budget.share(FIRST_SHARE)))
    stages = () if answer.interrupted else tuple(_until(lifted, asked, answer, budget))
    if not stages:
        return Explanation(answer, (), (), (), answer.interrupted)
    sentences = stages[-1].slice.network.sentences
    left = replace(options, timeout=budget.remaining)
    influences, is_interrupted = last_of(_influences(lifted, stages[-1], answer, left, most), ())
    return Explanation(answer, influences, (), tuple(sentences[len(influences) :]), is_interrupted)


def _influences(
    lifted: Lifted, stage: Stage, answer: Answer, options: Options, most: int
) -> Iterator[tuple[Influence, ...]]:
    """Yield what becomes of an answer without sentences of a slice, ever more of them."""
    budget, sentences = Budget.of(options.timeout), stage.slice.network.sentences
    found = tuple[Influence, ...]()
    for tried, sentence in enumerate(sentences[:most]):
        if budget.is_spent:
            return
        share = budget.share(1.0 / (min(most, len(sentences)) - tried))
        without = _without(lifted, stage, sentence, answer, _within(options, share))
        moves = (moved(answer, without, end, options.tolerance) for end in End)
        found += (Influence(sentence, without, *moves),)
        yield found


def _until(lifted: Lifted, query: Query, answer: Answer, budget: Budget) -> Iterator[Stage]:
    """Yield the stages that an answer took."""
    taken = sum(step.startswith("a slice of") for step in answer.tried)
    for number, stage in enumerate(lifted.stages(query, budget), 1):
        yield stage
        if number >= taken:
            return


def _without(lifted: Lifted, stage: Stage, sentence: Sentence, answer: Answer, options: Options) -> Answer:
    """Bound the query without a sentence: by the slice from outside, by models of the rest from inside."""
    budget, asked = Budget.of(options.timeout), answer.query
    assert isinstance(asked, Query)
    spared = replace(stage.slice, network=_silent(stage.slice.network, sentence))
    frame = stage.slice.frame or stage.slice.network
    bounding = Engine(spared.network, lifted.engine(stage.slice).markov, frame)
    interval = bounds_alone(finished(bounding.query(asked, _within(options, budget.share(0.5)))).interval)
    for residue in lifted.residues(stage, asked, budget):
        with suppress(InconsistentNetwork, ImpossibleEvidence, ProblemTooLarge):
            engine = Engine(_silent(residue.network, sentence), lifted.markov, residue.frame)
            found = finished(engine.query(asked, _within(options, budget.share(0.5))))
            interval = interval.joined(values_alone(found.interval))
        if interval.status(options.tolerance) is Status.EXACT:
            break
    return replace(answer, interval=interval, status=interval.status(options.tolerance))


def _silent(network: Network, sentence: Sentence) -> Network:
    """Drop the bounds of a sentence."""
    kept = tuple(silenced(s) if s == sentence else s for s in network.sentences)
    return replace(network, sentences=kept)
