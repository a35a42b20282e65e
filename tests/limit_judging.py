"""All questions, by all methods, under all readings, with limits that run out at any moment.

Input: a case and a seed. Output: complaints. One object is asked several questions under clocks that count
(`counted_clock`), Ctrl-C among them; each answer is held against models that are known (`known_models`), and
each witness is measured. At last the case's own question is asked once more, of that object and of a new one.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import inf, log
from typing import Any

import numpy as np

import credalog
from combined_theories import combined_theory
from copied_networks import KIND as COPIES
from copied_networks import copied_case
from counted_clock import Clock, ticking
from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork
from credalog.lcn import LCN
from credalog.methods.answer import Answer
from credalog.methods.registry import METHODS
from credalog.network.expressions import Combined
from credalog.network.formulas import TRUE, Formula, Is, conjunction
from credalog.network.sentences import Contrast, Network, Query, Sentence, Weighted
from credalog.numbers.interval import Interval, Status, Warrant
from credalog.questions.decide import Decision, Verdict
from credalog.questions.diagnose import Consistency, Diagnosis
from credalog.questions.explain import Explanation, Measurement
from credalog.questions.map import BestAssignments, Criterion
from credalog.questions.maxent import MaximumEntropy
from credalog.questions.repair_options import Repairs
from credalog.text.unparse import unparse_network, unparse_query
from known_models import INSIDE, Known, Reading, drawn_models, measured
from oracle import event
from product_oracle import Product
from question_judging import Worlds, drawn_question
from random_networks import COMBINED, KINDS, Case, _formula, _query, random_case, some_of
from random_theories import random_theory

__all__ = ["Fault", "attacked", "attacked_theory", "limited_case", "limited_cases"]

Rng = np.random.Generator

LATE = 1.5
"""How many seconds of the processor an answer may take after its limit is over."""

VALUE = 1e-7
"""How far a witness may be from the value that it stands for."""

PARTIAL = ("points", "sets", "nilsson", "bp", "printed", "lifted")
"""Methods that may refuse a question."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is held against an answer, and how to ask for it again."""

    case: Case
    asked: str
    clock: str
    complaint: str

    def __str__(self) -> str:
        network = f"{unparse_network(self.case.network)}\n{unparse_query(self.case.query)}"
        return f"{self.case}, {self.asked}, {self.clock}: {self.complaint}\n{network}"


@dataclass(frozen=True, slots=True)
class _Trial:
    """A question that can be asked, and what is wrong with its outcome."""

    name: str
    reading: Reading
    ask: Callable[[LCN, float], Any]
    judge: Callable[[Any], list[str]]
    given: Formula = TRUE
    may_refuse: bool = False
    limits: int = 1
    """How many limits it may use up: of marginals each has one of its own."""


# ---- cases ------------------------------------------------------------------------------------------------


def limited_cases(first: int, kinds: tuple[str, ...] = (*KINDS, *COMBINED, COPIES, COPIES)) -> Iterator[Case]:
    """Draw cases of all kinds, for ever."""
    seed = first
    while True:
        yield from (limited_case(kind, seed + 10**6 * kinds[:k].count(kind)) for k, kind in enumerate(kinds))
        seed += 1


def limited_case(kind: str, seed: int) -> Case:
    """Draw a case; now and then it compares across conditions too."""
    if kind == COPIES:
        return copied_case(seed)[0]
    case = random_case(kind, seed)
    rng = np.random.default_rng([7, seed, *kind.encode()])
    if case.hidden is None or rng.random() > 0.2:
        return case
    contrast = _contrast(rng, case)
    if contrast is None:
        return case
    return replace(case, network=replace(case.network, contrasts=(contrast,)))


def _contrast(rng: Rng, case: Case) -> Contrast | None:
    """Compare one probability under two conditions, as the hidden product does or more loosely."""
    assert case.hidden is not None
    claimed, other = some_of(rng, case.network.variables, 2, 2)
    hidden = Product(case.hidden)
    terms, total = [], Fraction(0)
    for weight, value in zip((1, -int(rng.integers(1, 3))), other.values, strict=False):
        term = Weighted(Fraction(weight), Is(claimed, claimed.values[-1]), Is(other, value))
        told = hidden.value(case.network, Query(term.claim, term.given))
        if told is None or other.values == ("false", "true"):
            term = replace(term, given=Is(other) if value == "true" else ~Is(other))
            told = hidden.value(case.network, Query(term.claim, term.given))
        if told is None:
            return None
        terms.append(term)
        total += term.weight * told
    below, above = (Fraction(int(k), 20) for k in rng.integers(0, 4, 2))
    return Contrast(tuple(terms), total - below, total + above)


# ---- the attack on one case -------------------------------------------------------------------------------


def attacked(case: Case, *, trials: int = 3, seconds: float = 0.3, patient: float = 1.0) -> Iterator[Fault]:
    """Ask one object several questions under short limits, and yield what is wrong with the answers.

    The case's own question is asked first with patience: the models that attain its ends then speak against
    hasty answers. One case in ten is given to SCIP too, and asked once more at last.
    """
    rng = np.random.default_rng([11, case.seed, *case.kind.encode()])
    is_thorough = rng.random() < 0.1
    known = drawn_models(case, seconds=seconds if is_thorough else 0.0, rng=rng)
    if case.kind == COPIES:
        known.add(copied_case(case.seed)[1], "local", "none")
    for complaint in _beforehand(case, known, patient):
        yield Fault(case, "before all trials", "no clock", complaint)
    lcn = LCN.from_network(case.network)
    for number in range(trials):
        trial = _drawn_trial(rng, case, known)
        clock = _drawn_clock(rng)
        for complaint in _tried(lcn, trial, clock):
            yield Fault(case, f"trial {number}: {trial.name}", str(clock), complaint)
        if rng.random() < 0.15:
            lcn = (
                credalog.parse(unparse_network(case.network))
                if rng.random() < 0.5
                else LCN.from_network(case.network)
            )
    for complaint in _afterwards(lcn, case, known, patient) if is_thorough else ():
        yield Fault(case, "after all trials", "no clock", complaint)


def _drawn_clock(rng: Rng) -> Clock:
    pace = str(rng.choice(["jump", "even", "pauses", "stumble", "stumble", "interrupt"]))
    reads = int(np.exp(rng.uniform(0.0, log(600.0))))
    return Clock(pace, reads, float(rng.choice([0.05, 1.0])), int(rng.integers(1 << 30)))


def _tried(lcn: LCN, trial: _Trial, clock: Clock) -> list[str]:
    """Ask under a clock; whatever is no answer and no error of ours is a fault."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ticking(clock):
            outcome = trial.ask(lcn, clock.timeout)
    except KeyboardInterrupt:
        return [] if clock.pace == "interrupt" else ["interrupted by nobody"]
    except Exception as error:  # noqa: BLE001 - whatever it is, it goes into the report
        outcome = error
    finally:
        signal.signal(signal.SIGINT, usual)
    late = [f"{clock.late:.1f} s too late"] if clock.late > LATE * trial.limits else []
    return late + (_against_error(outcome, trial) if isinstance(outcome, Exception) else trial.judge(outcome))


def _against_error(error: Exception, trial: _Trial) -> list[str]:
    match error:
        case InconsistentNetwork() | ImpossibleEvidence():
            return trial.judge(error)
        case CredalogError():
            return [] if trial.may_refuse else [f"refused: {error}"]
    return ["".join(traceback.format_exception(error))]


def _beforehand(case: Case, known: Known, patient: float) -> list[str]:
    """Ask the case's own question with time enough, which makes models known."""
    try:
        outcome: Any = LCN.from_network(case.network).query(case.query, timeout=patient / 2)
    except CredalogError as error:
        outcome = error
    return _judged_query(known, case.query, "local", outcome)


def _afterwards(lcn: LCN, case: Case, known: Known, patient: float) -> list[str]:
    """Ask the case's own question with time enough, of an object with a history and of one without."""
    found = list[Any]()
    for one in (lcn, LCN.from_network(case.network)):
        try:
            found.append(one.query(case.query, timeout=patient))
        except CredalogError as error:
            found.append(error)
    faults = [fault for one in found for fault in _judged_query(known, case.query, "local", one)]
    used, new = found
    if isinstance(used, Answer) and isinstance(new, Answer):
        is_exact = used.status is new.status is Status.EXACT
        moved = max(abs(used.lower - new.lower), abs(used.upper - new.upper))
        if is_exact and moved > 2e-4:
            faults.append(f"history matters: {used} and {new}")
    elif type(used) is not type(new) and not _is_open(used) and not _is_open(new):
        faults.append(f"history matters: {used!r} and {new!r}")
    return faults


def _is_open(outcome: Any) -> bool:
    return isinstance(outcome, Answer) and outcome.status is not Status.EXACT


# ---- questions --------------------------------------------------------------------------------------------


def _drawn_trial(rng: Rng, case: Case, known: Known) -> _Trial:
    reading: Reading = str(rng.choice(["local", "local", "local", "global", "none"]))  # type: ignore[assignment]
    if case.network.independences and reading == "none":
        reading = "local"
    draw = {
        "query": (_query_trial, 8),
        "marginals": (_marginals_trial, 3),
        "decide": (_decide_trial, 4),
        "diagnose": (_diagnose_trial, 2),
        "map": (_map_trial, 3),
        "maxent": (_maxent_trial, 2),
        "explain": (_explain_trial, 2),
        "measure": (_measure_trial, 1),
        "repairs": (_repairs_trial, 1),
        "combined": (_combined_trial, 3),
    }
    weights = np.array([weight for _, weight in draw.values()], float)
    chosen = list(draw.values())[int(rng.choice(len(draw), p=weights / weights.sum()))][0]
    return chosen(rng, case, known, reading)


def _some_query(rng: Rng, case: Case) -> Query:
    return case.query if rng.random() < 0.6 else _query(rng, case.network.variables)


def _query_trial(rng: Rng, case: Case, known: Known, reading: Reading) -> _Trial:
    asked = _some_query(rng, case)
    names = [m.name for m in METHODS if any(one.value == reading for one in m.markov)]
    weights = np.array([{"auto": 8.0, "scip": 0.2, "ipopt": 0.3}.get(name, 1.0) for name in names])
    method: Any = str(rng.choice(names, p=weights / weights.sum()))

    def ask(lcn: LCN, timeout: float) -> Answer:
        return lcn.query(asked, timeout=timeout, method=method, markov=reading)

    def judge(outcome: Any) -> list[str]:
        return _judged_query(known, asked, reading, outcome)

    name = f"{asked} by {method}, {reading}"
    return _Trial(name, reading, ask, judge, asked.given, method in PARTIAL)


def _judged_query(known: Known, asked: Query, reading: Reading, outcome: Any) -> list[str]:
    match outcome:
        case InconsistentNetwork():
            return ["called inconsistent, but there is a model"] if known.under(reading) else []
        case ImpossibleEvidence():
            return ["evidence called impossible"] if known.allows(asked.given, reading) else []
        case CredalogError():
            return [f"refused: {outcome}"]
    return _judged_interval(known, asked, reading, outcome.interval, outcome.status)


def _judged_interval(
    known: Known, asked: Query, reading: Reading, found: Interval, status: Status
) -> list[str]:
    if Warrant.HEURISTIC in (found.lower.warrant, found.upper.warrant):
        return [] if status is not Status.EXACT else ["a heuristic bound is called exact"]
    faults = known.against(asked, reading, found.lower.bound, found.upper.bound)
    if not 0.0 <= found.lower.bound <= found.upper.bound <= 1.0:
        faults.append(f"{found} is no interval of probabilities")
    for end in (found.lower, found.upper):
        if end.model is not None and end.witnessed is not None:
            told = end.model.probability(asked.claim, asked.given)
            if abs(told - end.witnessed) > VALUE:
                faults.append(f"the witness attains {told}, not {end.witnessed}")
            faults += measured(end.model, known.network, asked.given, reading)
            known.learn(end.model, reading)
        if status is Status.EXACT and (end.witnessed is None or abs(end.bound - end.witnessed) > 1.01e-4):
            faults.append(f"called exact with {end}")
    return faults


def _marginals_trial(rng: Rng, case: Case, known: Known, reading: Reading) -> _Trial:
    given = case.query.given if rng.random() < 0.5 else TRUE
    jobs = 2 if rng.random() < 0.01 else 1
    method: Any = str(rng.choice(["auto", "auto", "auto", "factorized", "sound", "joint"]))

    def ask(lcn: LCN, timeout: float) -> Any:
        return lcn.marginals(given=given, timeout=timeout, markov=reading, method=method, jobs=jobs)

    def judge(outcome: Any) -> list[str]:
        if isinstance(outcome, Exception):
            return _judged_query(known, Query(TRUE, given), reading, outcome)
        return [fault for one in outcome for fault in _judged_query(known, one.query, reading, one)]

    name = f"marginals given {given} by {method}, {reading}, {jobs} jobs"
    limits = sum(len(v.values) for v in case.network.variables)
    return _Trial(name, reading, ask, judge, given, may_refuse=method == "sound", limits=limits)


def _decide_trial(rng: Rng, case: Case, known: Known, reading: Reading) -> _Trial:
    asked = _some_query(rng, case)
    values = [value for value, _ in known.values(asked, reading)] or [Fraction(int(rng.integers(11)), 10)]
    place = values[int(rng.integers(len(values)))] + Fraction(int(rng.integers(-2, 3)), 100)
    threshold = Fraction(min(max(round(float(place), 6), 0.0), 1.0)).limit_denominator(10**6)
    lower, upper = (threshold, Fraction(1)) if rng.random() < 0.5 else (Fraction(0), threshold)
    if (lower, upper) == (0, 1):
        lower, upper = Fraction(1, 2), Fraction(1)
    said = Sentence.of(asked.claim, lower, upper, given=asked.given)

    def ask(lcn: LCN, timeout: float) -> Decision:
        return lcn.decide(said, timeout=timeout, markov=reading)

    def judge(outcome: Any) -> list[str]:
        if isinstance(outcome, Exception):
            return _judged_query(known, asked, reading, outcome)
        values, faults = known.values(asked, reading), list[str]()
        for value, slack in values:
            holds = lower - slack <= value <= upper + slack
            fails = value < lower + slack or value > upper - slack
            if outcome.verdict is Verdict.CERTAIN and not holds:
                faults.append(f"{outcome} is called certain, but a model has {float(value)}")
            if outcome.verdict is Verdict.EXCLUDED and not (fails or not holds):
                faults.append(f"{outcome} is called excluded, but a model has {float(value)}")
        return faults[:1] + _judged_interval(known, asked, reading, outcome.interval, Status.BOUNDED)

    return _Trial(f"decide {said}, {reading}", reading, ask, judge, asked.given)


def _diagnose_trial(rng: Rng, case: Case, known: Known, reading: Reading) -> _Trial:
    def ask(lcn: LCN, timeout: float) -> Diagnosis:
        return lcn.diagnose(timeout=timeout, markov=reading)

    def judge(outcome: Any) -> list[str]:
        if isinstance(outcome, Exception):
            return [repr(outcome)]
        return _judged_diagnosis(known, reading, outcome)

    return _Trial(f"check, {reading}", reading, ask, judge)


def _judged_diagnosis(known: Known, reading: Reading, found: Diagnosis) -> list[str]:
    if found.verdict is Consistency.INCONSISTENT and known.under(reading):
        return ["called inconsistent, but there is a model"]
    if found.model is None:
        return []
    known.learn(found.model, reading)
    return measured(found.model, known.network, TRUE, reading)


def _repairs_trial(rng: Rng, case: Case, known: Known, reading: Reading) -> _Trial:
    def ask(lcn: LCN, timeout: float) -> Repairs:
        return lcn.repairs(timeout=timeout, markov=reading)

    def judge(outcome: Any) -> list[str]:
        if isinstance(outcome, Exception):
            return [repr(outcome)]
        return _judged_diagnosis(known, reading, outcome.diagnosis)

    return _Trial(f"repairs, {reading}", reading, ask, judge)


def _map_trial(rng: Rng, case: Case, known: Known, reading: Reading) -> _Trial:
    given = case.query.given if rng.random() < 0.5 else TRUE
    free = [v for v in case.network.variables if v not in Query(TRUE, given).scope]
    chosen = some_of(rng, free, 1, 2) if free else list(case.network.variables[:1])
    rule: Any = str(rng.choice(["maximax", "maximin", "hurwicz", "dominance"]))

    def ask(lcn: LCN, timeout: float) -> BestAssignments:
        return lcn.map(chosen, given=given, criterion=rule, timeout=timeout, markov=reading)

    def judge(outcome: Any) -> list[str]:
        if isinstance(outcome, Exception):
            return _judged_query(known, Query(TRUE, given), reading, outcome)
        return _judged_map(known, reading, outcome)

    names = ", ".join(v.name for v in chosen)
    return _Trial(f"map {names} given {given} by {rule}, {reading}", reading, ask, judge, given)


def _judged_map(known: Known, reading: Reading, found: BestAssignments) -> list[str]:
    faults = list[str]()
    for one in found.ranked:
        asked = Query(conjunction(one.assignment), found.given)
        faults += _judged_interval(known, asked, reading, one.interval, Status.BOUNDED)
    if found.criterion is not Criterion.MAXIMAX:
        return faults
    for values in product(*(v.values for v in found.variables)):
        atoms = conjunction(Is(v, value) for v, value in zip(found.variables, values, strict=True))
        seen = known.values(Query(atoms, found.given), reading)
        passed = [float(v) for v, slack in seen if v > Fraction(found.bound) + slack]
        if passed:
            faults.append(f"no assignment passes {found.bound}, but {atoms} has {max(passed)}")
    return faults


def _maxent_trial(rng: Rng, case: Case, known: Known, reading: Reading) -> _Trial:
    def ask(lcn: LCN, timeout: float) -> MaximumEntropy:
        return lcn.maxent(timeout=timeout, markov=reading)

    def judge(outcome: Any) -> list[str]:
        if isinstance(outcome, Exception):
            return _judged_query(known, Query(TRUE), reading, outcome)
        faults = [
            f"no entropy passes {outcome.at_most}, but a model has {entropy}"
            for entropy in map(_entropy, known.under(reading))
            if entropy > outcome.at_most + 1e-6
        ][:1]
        if outcome.distribution is not None:
            faults += measured(outcome.distribution, known.network, TRUE, reading)
        return faults

    return _Trial(f"maxent, {reading}", reading, ask, judge, may_refuse=bool(case.network.contrasts))


def _entropy(model: Any) -> float:
    masses = np.array([float(p) for p in model.masses])
    masses = masses[masses > 0.0]
    return float(-(masses * np.log(masses)).sum())


def _explain_trial(rng: Rng, case: Case, known: Known, reading: Reading) -> _Trial:
    asked = _some_query(rng, case)

    def ask(lcn: LCN, timeout: float) -> Explanation:
        return lcn.explain(asked, timeout=timeout, markov=reading)

    def judge(outcome: Any) -> list[str]:
        if isinstance(outcome, Exception):
            return _judged_query(known, asked, reading, outcome)
        faults = _judged_query(known, asked, reading, outcome.answer)
        for one in outcome.influences:
            faults += known.against(asked, reading, one.answer.lower, one.answer.upper)
        return faults

    return _Trial(f"explain {asked}, {reading}", reading, ask, judge, asked.given)


def _measure_trial(rng: Rng, case: Case, known: Known, reading: Reading) -> _Trial:
    asked, other = _some_query(rng, case), Query(_formula(rng, some_of(rng, case.network.variables, 1, 2)))
    within = Fraction(int(rng.integers(1, 20)), 100)

    def ask(lcn: LCN, timeout: float) -> Measurement:
        return lcn.measure(asked, other, within=within, timeout=timeout, markov=reading)

    def judge(outcome: Any) -> list[str]:
        if isinstance(outcome, Exception):
            return _judged_query(known, asked, reading, outcome)
        return _judged_measurement(known, asked, other, reading, outcome)

    return _Trial(f"measure {asked} by {other} within {within}, {reading}", reading, ask, judge, asked.given)


def _judged_measurement(
    known: Known, asked: Query, other: Query, reading: Reading, found: Measurement
) -> list[str]:
    """Hold models against what is known before, and at every place where they have the measured value."""
    faults = _judged_query(known, asked, reading, found.before)
    faults += _judged_query(known, other, reading, found.known)
    claim, given = event(known.network, asked.claim), event(known.network, asked.given)
    at, sure = event(known.network, other.claim), event(known.network, other.given)
    for model in known.under(reading):
        value, place = model.value(claim, given), model.value(at, sure)
        if value is None or place is None:
            continue
        for scenario in found.scenarios:
            if scenario.answer is None or abs(place - Fraction(scenario.value)) > found.within - Fraction(
                1, 10**8
            ):
                continue
            low, high = Fraction(scenario.answer.lower), Fraction(scenario.answer.upper)
            if not low - model.slack <= value <= high + model.slack:
                faults.append(
                    f"{asked} measured at {scenario.value}: {scenario.answer}, a model has {float(value)}"
                )
    return faults


def _combined_trial(rng: Rng, case: Case, known: Known, reading: Reading) -> _Trial:
    asked: Combined = drawn_question(rng, case.network)
    over = Worlds(case.network, asked)

    def ask(lcn: LCN, timeout: float) -> Answer:
        return lcn.query(asked, timeout=timeout, markov=reading)

    def judge(outcome: Any) -> list[str]:
        values = [
            value
            for model in known.under(reading)
            if over.mass(p := np.array([float(x) for x in model.masses])) > 1e-3
            and (value := over.value(p)) is not None
        ]
        if isinstance(outcome, InconsistentNetwork):
            return ["called inconsistent, but there is a model"] if known.under(reading) else []
        if isinstance(outcome, CredalogError):
            return [f"{outcome}, but a model has {values[0]}"] if values else []
        wrong = [v for v in values if not outcome.lower - _slack(v) <= v <= outcome.upper + _slack(v)]
        return [f"{asked} in [{outcome.lower}, {outcome.upper}], but a model has {wrong[0]}"] if wrong else []

    return _Trial(f"{asked}, {reading}", reading, ask, judge, may_refuse=True)


def _slack(value: float) -> float:
    return 1e-5 * max(1.0, abs(value)) if abs(value) < inf else 0.0


# ---- theories ---------------------------------------------------------------------------------------------

WIDEST = 10
"""Over so many variables a witness is measured."""


def attacked_theory(seed: int, *, trials: int = 4, patient: float = 1.0) -> Iterator[str]:
    """Ask a theory, under short limits, what its whole grounding was asked with patience.

    Against the answers speak the models that attain the ends there, each measured by its own contexts.
    """
    rng = np.random.default_rng([13, seed])
    drawn = (combined_theory if seed % 2 else random_theory)(rng)
    for text in drawn.questions[:2]:
        lcn = credalog.parse(drawn.text)
        try:
            whole = LCN.from_network(lcn.ground()).query(lcn.question(text), timeout=patient)
        except CredalogError:
            continue
        attained = _attained(whole, lcn.ground())
        for _ in range(trials):
            clock = _drawn_clock(rng)
            method: Any = str(rng.choice(["auto", "auto", "lifted"]))
            for complaint in _tried(lcn, _theory_trial(text, method, attained), clock):
                yield f"theory {seed}, {text} by {method}, {clock}: {complaint}\n{drawn.text}"


def _attained(answer: Answer, network: Network) -> list[float]:
    """Return the values whose witnesses are models of what they are about."""
    assert isinstance(answer.query, Query)
    found = list[float]()
    for end in (answer.interval.lower, answer.interval.upper):
        if end.model is None or sum(len(factor.block) for factor in end.model.factors) > WIDEST:
            continue
        if not measured(end.model, network, answer.query.given, "local"):
            found.append(end.model.probability(answer.query.claim, answer.query.given))
    return found


def _theory_trial(text: str, method: Any, attained: list[float]) -> _Trial:
    def ask(lcn: LCN, timeout: float) -> Answer:
        return lcn.query(text, timeout=timeout, method=method)

    def judge(outcome: Any) -> list[str]:
        if isinstance(outcome, Exception):
            return [f"{outcome}, but a model has {attained}"] if attained else []
        low, high = outcome.lower - INSIDE, outcome.upper + INSIDE
        return [f"{outcome}, but a model has {value}" for value in attained if not low <= value <= high]

    return _Trial(text, "local", ask, judge, may_refuse=method == "lifted")
