"""What may be held against an answer, given the truth by brute force.

Input: what the engine did with a case, and what the oracle knows. Output: a list of complaints, each a
sentence; an empty list is an acquittal. Only what is certain is held against the engine: a joint
distribution that passes its bound, or a claimed bound that its witness passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import inf

from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork
from credalog.methods.answer import Answer
from credalog.numbers.interval import Status
from credalog.tables.distribution import Distribution
from oracle import End, TrueInterval, Verdict, interval, nilsson, violation_in_context, violations
from product_oracle import extreme_products
from random_networks import UNIQUE, Case
from vertex_oracle import strong_extension

__all__ = [
    "INSIDE",
    "against_products",
    "complaints",
    "faults_in_context",
    "faults_of_witnesses",
    "truth_of",
    "truth_without_independence",
]

VIOLATION = 1e-8
"""How far a witness may be from satisfying anything."""

ROUNDING = 1e-7
"""How far a witness may lie outside its own bound: its sentences hold up to VIOLATION only."""

IN_CONTEXT = 1e-5
"""How far P(claim | given) of a witness may be from what is said of it, whatever the condition weighs."""

NEGLIGIBLE = 1e-6
"""A context that weighs this much less than the query's own condition cannot change the answer."""

INSIDE = 1e-6
"""How far a bound may lie inside the truth, and a witness outside it: the limits of floating point."""


def truth_of(case: Case, seconds: float) -> TrueInterval:
    """Ask the oracle that knows best: all vertices where assessments are unique, else all worlds.

    Of what is rare in ways that no vertices show, only made-up models are known: no solver sees that far.
    """
    if case.hidden is not None and "rare" in case.kind:
        return _attained_by_products(case)
    if case.kind not in UNIQUE:
        return interval(case.network, case.query, seconds=seconds)
    exact = strong_extension(case.network, case.query)
    if exact.verdict is not Verdict.ANSWERED:
        return TrueInterval(exact.verdict)
    lower, upper = float(exact.lower), float(exact.upper)
    return TrueInterval(exact.verdict, End(lower, lower), End(upper, upper))


def _attained_by_products(case: Case) -> TrueInterval:
    assert case.hidden is not None
    found = extreme_products(case.network, case.query, case.hidden)
    if found is None:
        return TrueInterval(Verdict.UNKNOWN)
    low, high = map(float, found)
    return TrueInterval(Verdict.ANSWERED, End(0.0, low), End(1.0, high))


def against_products(case: Case, outcome: Answer | CredalogError) -> list[str]:
    """List what models that were made up hold against an answer: in fractions, without tolerance."""
    if case.hidden is None:
        return []
    found = extreme_products(case.network, case.query, case.hidden)
    match outcome:
        case InconsistentNetwork():
            return ["called inconsistent, but a product is a model"]
        case ImpossibleEvidence():
            return [] if found is None else ["evidence called impossible, but a product allows it"]
        case CredalogError():
            return [f"refused: {outcome}"]
    if found is None:
        return []
    low, high = found
    below = [f"lower bound {outcome.lower} is inside: a product attains {float(low)}"]
    above = [f"upper bound {outcome.upper} is inside: a product attains {float(high)}"]
    return (below if Fraction(outcome.lower) > low else []) + (
        above if Fraction(outcome.upper) < high else []
    )


def faults_in_context(case: Case, outcome: Answer | CredalogError) -> list[str]:
    """List the witnesses that violate something in its own context, however rare that is."""
    if isinstance(outcome, CredalogError):
        return []
    faults = []
    for witness in (outcome.lower_witness, outcome.upper_witness):
        if witness is not None:
            over = tuple(v for factor in witness.factors for v in factor.block)
            least = NEGLIGIBLE * witness.probability(case.query.given)
            worst = violation_in_context(witness.marginal(over), case.network, over, least)
            if worst > IN_CONTEXT:
                faults.append(f"a witness is no model: {worst} in some context")
    return faults


def faults_of_witnesses(case: Case, outcome: Answer | CredalogError) -> list[str]:
    """List what the witnesses of an answer violate, and where they miss the value they stand for."""
    if isinstance(outcome, CredalogError):
        return []
    pairs = (
        (outcome.lower_witness, outcome.lower_witnessed),
        (outcome.upper_witness, outcome.upper_witnessed),
    )
    return [fault for witness, value in pairs for fault in _faults(case, witness, value)]


def _faults(case: Case, witness: Distribution | None, value: float | None) -> Iterator[str]:
    if witness is None:
        if value is not None:
            yield f"the value {value} has no witness"
        return
    over = tuple(v for factor in witness.factors for v in factor.block)
    worst = violations(witness.marginal(over), case.network, over)
    if worst.worst > VIOLATION:
        yield f"a witness is no model: {worst}"
    told = witness.probability(case.query.claim, case.query.given)
    if value is None or abs(told - value) > ROUNDING:
        yield f"the witness attains {told}, not {value}"


def truth_without_independence(case: Case) -> TrueInterval:
    """Ask Nilsson."""
    return nilsson(case.network, case.query)


def complaints(outcome: Answer | CredalogError, truth: TrueInterval, tolerance: float) -> list[str]:
    """List what is wrong with what the engine did."""
    match outcome:
        case InconsistentNetwork():
            return list(_against_inconsistent(truth))
        case ImpossibleEvidence():
            return list(_against_impossible(truth))
        case CredalogError():
            return [f"refused: {outcome}"]
    return [*_against_itself(outcome, tolerance), *_against_truth(outcome, truth, tolerance)]


def _has_model(truth: TrueInterval) -> bool:
    return truth.lower.attained is not None or truth.upper.attained is not None


def _against_inconsistent(truth: TrueInterval) -> Iterator[str]:
    if _has_model(truth):
        yield "called inconsistent, but a model was found"
    elif truth.verdict is Verdict.IMPOSSIBLE:
        yield "called inconsistent, but only the evidence is impossible"


def _against_impossible(truth: TrueInterval) -> Iterator[str]:
    if _has_model(truth):
        yield "evidence called impossible, but a model allows it"
    elif truth.verdict is Verdict.INCONSISTENT:
        yield "evidence called impossible, but there is no model at all"


def _against_itself(answer: Answer, tolerance: float) -> Iterator[str]:
    low, high = answer.lower_witnessed, answer.upper_witnessed
    if not 0.0 <= answer.lower <= answer.upper <= 1.0:
        yield f"[{answer.lower}, {answer.upper}] is no interval of probabilities"
    if low is not None and low < answer.lower - ROUNDING:
        yield f"witness {low} is below its own lower bound {answer.lower}"
    if high is not None and high > answer.upper + ROUNDING:
        yield f"witness {high} is above its own upper bound {answer.upper}"
    if answer.status is Status.EXACT:
        gaps = (inf if low is None else low - answer.lower, inf if high is None else answer.upper - high)
        if max(gaps) > tolerance:
            yield f"called exact with gaps {gaps}"


def _against_truth(answer: Answer, truth: TrueInterval, tolerance: float) -> Iterator[str]:
    low, high = answer.lower_witnessed, answer.upper_witnessed
    if truth.verdict in (Verdict.INCONSISTENT, Verdict.IMPOSSIBLE):
        if (low, high) != (None, None) or answer.status is Status.EXACT:
            yield f"answered [{answer.lower}, {answer.upper}], but the truth is {truth.verdict}"
        return
    attained_low, attained_high = truth.lower.attained, truth.upper.attained
    if attained_low is not None and answer.lower > attained_low + INSIDE:
        yield f"lower bound {answer.lower} is inside the truth: a model attains {attained_low}"
    if attained_high is not None and answer.upper < attained_high - INSIDE:
        yield f"upper bound {answer.upper} is inside the truth: a model attains {attained_high}"
    if low is not None and low < truth.lower.proved - INSIDE:
        yield f"lower witness {low} is outside the truth: nothing is below {truth.lower.proved}"
    if high is not None and high > truth.upper.proved + INSIDE:
        yield f"upper witness {high} is outside the truth: nothing is above {truth.upper.proved}"
    if answer.status is Status.EXACT and answer.lower < truth.lower.proved - tolerance - INSIDE:
        yield f"called exact, but the lower bound {answer.lower} is below {truth.lower.proved}"
    if answer.status is Status.EXACT and answer.upper > truth.upper.proved + tolerance + INSIDE:
        yield f"called exact, but the upper bound {answer.upper} is above {truth.upper.proved}"
