"""The lines of a certificate.

Input: an engine and results: answers, decisions, best assignments. Output: `Certificate`: what the verifier
accepts, and in words what could not be certified.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, isfinite, log10, prod
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from credalog.errors import CredalogError, ProblemTooLarge, Refused
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.factorization import Factorization, in_one_clique
from credalog.methods.cliques.fragment import Fragment
from credalog.methods.cliques.slices import RUNGS, Slices
from credalog.methods.reduction import without
from credalog.network.copies import without_contrasts
from credalog.network.expressions import Linear, Part, Question, Quotient, Summand, simplified
from credalog.network.formulas import TRUE, Formula
from credalog.network.meaning import Asked, Meaning
from credalog.network.models import Model
from credalog.network.problem import Problem
from credalog.network.sentences import Network, Query
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End, Endpoint, Warrant
from credalog.questions.certificates.best_assignments import write_best
from credalog.questions.certificates.models import completed, in_whole_numbers
from credalog.questions.certificates.narrowing import Mixing, in_case, mixed, mixing, narrowed
from credalog.questions.certificates.program import ReasonedProgram, reasoned
from credalog.questions.certificates.proving import PLAIN, QUICK, THOROUGH, Effort, Least, Proved, prove
from credalog.questions.certificates.sums import proved_by_sums
from credalog.questions.combined import ask
from credalog.questions.decide import Decision, Relation, Verdict
from credalog.questions.map import BestAssignments
from credalog.tables.distribution import Distribution
from credalog.text.packed import MOST_BYTES
from credalog.text.statements import writable
from credalog.verify import FORMAT, MOST_RESIDUAL, VERSION

__all__ = [
    "Certificate",
    "Posed",
    "Wanted",
    "Writing",
    "certify",
    "certify_consistency",
    "model_line",
    "parts_across",
    "poses",
    "wanted",
]

Cliques: TypeAlias = tuple[Factorization, dict[int, int]]

SMALLEST = 1e-5
"""A condition that may be less probable than this is proved about without rounding."""

SHARE = 0.5
"""The share of the time left for cliques of one kind."""

ONE_LEAF = QUICK._replace(nodes=1)
"""What is proved before a bound to help it must follow without a cut."""

EFFORTS = (QUICK, 0.2), (THOROUGH, 0.3), (PLAIN, 1.0)
"""How hard a proof is tried for, one after the other, each for a share of the time that is left."""

NARROWING = 0.2
"""The share of the time left for bounds on conditional probabilities of which nothing is said."""

MOST_STATES = 1 << 10
"""Where there are ties, all variables are put into one table up to this size."""

PLACES = 12
"""How many decimals of a bound are claimed."""


@dataclass(frozen=True)
class Certificate:
    """The lines that were proved, and in words what was not; Ctrl-C leaves what was proved before it."""

    lines: tuple[dict[str, Any], ...]
    missing: tuple[str, ...]
    is_interrupted: bool = False

    @property
    def text(self) -> str:
        """Return the lines as JSON, an object each."""
        return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self.lines)

    def to_bytes(self) -> bytes:
        """Return what a file holds: the lines, compressed."""
        text = self.text.encode()
        if len(text) > MOST_BYTES:
            raise CredalogError(
                f"the certificate has {len(text) >> 20:,} MB; the verifier reads {MOST_BYTES >> 20}",
                advice="Certify fewer questions at a time.",
            )
        return gzip.compress(text, mtime=0)

    def write(self, path: str | Path) -> None:
        """Write the certificate to a file."""
        with writable(path) as target:
            target.write_bytes(self.to_bytes())


class Wanted(NamedTuple):
    """One end of a result: what is to be proved of it, and what attains it."""

    query: Question
    end: End
    bound: float | Fraction | None
    model: Distribution | None


def certify(
    engine: Engine,
    network: Network,
    results: Iterable[Answer | Decision | BestAssignments],
    options: Options = Options(),
) -> Certificate:
    """Write down proofs of the bounds that results rest on, and the models that attain them.

    The engine is that of the network, with copies where this compares across conditions.
    """
    writing = Writing(engine, network, options.timeout)
    try:
        for result in results:
            if isinstance(result, BestAssignments):
                write_best(writing, result)
            else:
                writing.certify(result)
    except KeyboardInterrupt:
        writing.missing.append("it was interrupted")
        return replace(writing.certificate, is_interrupted=True)
    return writing.certificate


def certify_consistency(engine: Engine, network: Network, options: Options = Options()) -> Certificate:
    """Write down a model of a network, or a proof that there is none."""
    writing = Writing(engine, network, options.timeout)
    if not writing.write_model(Query(TRUE), None) and not writing.refute():
        writing.missing.append("neither a model nor a contradiction could be certified")
    return writing.certificate


def wanted(result: Answer | Decision, missing: list[str]) -> Iterator[Wanted]:
    """Return the ends of a result."""
    return _of_decision(result) if isinstance(result, Decision) else _of_answer(result, missing)


def _of_answer(answer: Answer, missing: list[str]) -> Iterator[Wanted]:
    """Yield both ends of an answer; a bound that is only claimed has no proof."""
    for end in End:
        endpoint: Endpoint = answer.interval[end]
        bound = None if _is_trivial(answer, end) else endpoint.bound
        if endpoint.warrant in (Warrant.CLAIMED, Warrant.HEURISTIC):
            missing.append(f"the {end.value} bound of {answer.query} is only claimed: it has no certificate")
            bound = None
        if endpoint.model is None:
            missing.append(f"no model is known to attain the {end.value} end of {answer.query}")
        yield Wanted(answer.query, end, bound, endpoint.model)


def _is_trivial(answer: Answer, end: End) -> bool:
    """Tell whether every distribution satisfies the bound at an end."""
    bound, scale = answer.interval[end].bound, answer.interval.scale
    trivial = scale.least if end is End.LOWER else scale.greatest
    return not isfinite(bound) or not end.is_tighter(bound, trivial)


def _of_decision(decision: Decision) -> Iterator[Wanted]:
    """Yield what a verdict rests on: a bound at the threshold, or models on both sides of it."""
    towards = End.LOWER if decision.relation is Relation.AT_LEAST else End.UPPER
    if decision.verdict is Verdict.CERTAIN:
        yield Wanted(decision.query, towards, decision.threshold, None)
    elif decision.verdict is Verdict.EXCLUDED:
        yield Wanted(decision.query, towards.opposite, decision.interval[towards.opposite].bound, None)
    else:
        for end in End:
            yield Wanted(decision.query, end, None, decision.interval[end].model)


class Writing:
    """A certificate under way; `seconds` are for each proof."""

    def __init__(self, engine: Engine, network: Network, seconds: float) -> None:
        self.network, self.seconds = network, seconds
        self.said = Meaning(network, engine.markov, engine.frame)
        self.meaning = self.said.grown(without_contrasts(network, engine.markov))
        self.engine = Engine(self.meaning.network, engine.markov) if network.contrasts else engine
        digest, markov = network.digest, engine.markov.value
        self.lines: list[dict[str, Any]] = [
            {"format": FORMAT, "version": VERSION, "network": digest, "markov": markov}
        ]
        self.missing: list[str] = []
        self.leasts: dict[Formula, Least | None] = {}
        self.parted = set[Question]()

    @property
    def certificate(self) -> Certificate:
        """Return what was written so far."""
        return Certificate(tuple(self.lines), tuple(dict.fromkeys(self.missing)))

    def certify(self, result: Answer | Decision) -> None:
        """Write down the ends of a result."""
        for one in wanted(result, self.missing):
            self.certify_end(*one)

    def certify_end(
        self, asked: Question, end: End, bound: float | Fraction | None, model: Distribution | None
    ) -> None:
        """Write down one end of a result."""
        if bound is not None and not (
            self._write_mixed(asked, end, bound, model) or self.write_bound(asked, end, bound)
        ):
            self.missing.append(f"the {end.value} bound of {asked} was not proved again in time")
        if model is not None and not self.write_model(asked, model):
            self.missing.append(f"the model at the {end.value} end of {asked} was not confirmed")

    # ---- bounds ---------------------------------------------------------------------------------------

    def write_bound(self, asked: Question, end: End, bound: float | Fraction) -> bool:
        """Write down a proof that no model passes a bound; first of the parts, if it is about several."""
        for part in parts_across(asked) if asked not in self.parted else ():
            answer = ask(self.engine, part, Options(timeout=self.seconds))
            for one in (end for end in End if not _is_trivial(answer, end)):
                self.write_bound(part, one, answer.interval[one].bound)
        self.parted.add(asked)
        for posed in poses(self.engine, self.meaning, asked, end, bound):
            found = self._proved(posed, end)
            if found is not None:
                proved, line = found
                self._write(asked, end, posed.worth(proved), posed.body(line))
                if posed.meaning is self.meaning and not isinstance(asked, Quotient):
                    self.meaning.learn_bound(posed.original, int(end.sign), posed.worth(proved))
                return True
        return False

    def _write_mixed(
        self, asked: Question, end: End, bound: float | Fraction, model: Distribution | None
    ) -> bool:
        """Write down a bound by cases, if there are any: that of each, and what follows of the whole."""
        one = mixing(self.engine, asked, end, bound, model)
        if one is None:
            return False
        first, second = one.order
        proved = self._write_case(one, first, one.first_target)
        if proved is None or self._write_case(one, second, one.second_target(proved)) is None:
            return False
        budget = Budget.of(self.seconds)
        return self._write_on(mixed(self.meaning, one), end, bound, None, ONE_LEAF, budget) is not None

    def _write_case(self, one: Mixing, case: int, target: float) -> float | None:
        """Write down a bound in one case; return it, or None where it is not proved."""
        if not one.end.is_tighter(target, one.end.trivial):
            return one.end.trivial
        asked, budget = one.question(case), Budget.of(self.seconds)
        fragment, least = self.engine.part(asked), self._least(asked.given)
        known = fragment.problem.variables.index(one.cases.root)
        with suppress(ProblemTooLarge, OutOfTime):
            cliques = in_case(fragment.problem, asked, known), {known: case}
            program = reasoned(self.meaning, asked, fragment, cliques, budget)
            return self._write_on(program, one.end, target, least, THOROUGH, budget)
        return None

    def _write_on(
        self,
        program: ReasonedProgram,
        end: End,
        target: float | Fraction,
        least: Least | None,
        effort: Effort,
        budget: Budget,
    ) -> float | None:
        """Write down what is proved on a program of a probability, and learn it."""
        asked = program.asked
        proved = prove(program, end, target, budget, least=least, effort=effort)
        if proved is None or not isinstance(asked, Query):
            return None
        claimed, line = _by_rows(end, program, proved, target)
        self._write(asked, end, claimed, line)
        self.meaning.learn_bound(asked, int(end.sign), claimed)
        return float(claimed)

    def _proved(self, posed: Posed, end: End) -> tuple[Fraction, dict[str, Any]] | None:
        """Prove that no model passes a bound: by sums, or on cliques of one kind or another."""
        meaning, asked, bound = posed.meaning, posed.asked, posed.bound
        summed = proved_by_sums(meaning, asked, end, bound, Budget.of(self.seconds))
        if summed is not None:
            return summed.bound, summed.line
        budget, fragment = Budget.of(self.seconds), posed.engine.part(asked)
        least = self._least(asked.given) if meaning is self.meaning else None
        for effort, part in EFFORTS:
            limit = budget.share(part)
            kinds = list(self._factorizations(asked, fragment))
            # What ties alone do not prove soon they seldom prove at all.
            for cliques in kinds[1:] + kinds[:1] if effort is PLAIN else kinds:
                if limit.is_spent:
                    break
                with suppress(ProblemTooLarge, OutOfTime):
                    share = limit.share(SHARE)
                    program = reasoned(meaning, asked, fragment, cliques, share)
                    proved = prove(program, end, bound, share, least=least, effort=effort)
                    if proved is not None:
                        return _by_rows(end, program, proved, bound)
            if meaning is self.meaning and effort is QUICK:
                self.narrow(asked, fragment, budget.share(NARROWING))
        return None

    def narrow(self, asked: Asked, fragment: Fragment, budget: Budget) -> None:
        """Write down bounds on conditional probabilities of which nothing is said, on one table."""
        cliques = self._in_one_table(asked, fragment)
        if cliques is None:
            return

        def build() -> ReasonedProgram:
            return reasoned(self.meaning, asked, fragment, cliques, budget)

        def write(about: ReasonedProgram, end: End, value: float) -> bool:
            least = self._least(about.asked.given)
            return self._write_on(about, end, value, least, ONE_LEAF, budget) is not None

        with suppress(ProblemTooLarge, OutOfTime):
            narrowed(build, write, budget)

    def refute(self) -> bool:
        """Write down a proof that there is no model: that the probability of what is true is at least 2."""
        for fragment in self.engine.cliques.anchored_fragments():
            budget = Budget.of(self.seconds)
            for cliques in self._factorizations(Query(TRUE), fragment):
                with suppress(ProblemTooLarge, OutOfTime):
                    program = reasoned(self.meaning, Query(TRUE), fragment, cliques, budget)
                    proved = prove(program, End.LOWER, Fraction(2), budget)
                    if proved is not None:
                        self._write(Query(TRUE), End.LOWER, *_by_rows(End.LOWER, program, proved, 2.0))
                        return True
        return False

    def _least(self, given: Formula) -> Least | None:
        """Return a proved bound on the probability of a condition from below, written down once."""
        if given == TRUE:
            return None
        if given not in self.leasts:
            self.leasts[given] = None
            known = len(self.meaning.sentences)
            if self.write_bound(Query(given), End.LOWER, SMALLEST):
                self.leasts[given] = Least(known, self.meaning.sentences[known].lower)
        return self.leasts[given]

    def _factorizations(self, asked: Asked, fragment: Fragment) -> Iterator[Cliques]:
        """Yield cliques on which to prove: along ties, then with all conditions, then slices."""
        problem = fragment.problem
        has_core = bool(problem.structure.core) and problem.reading is not Reading.FREE
        for reading in (Reading.TIED, problem.reading) if has_core else (problem.reading,):
            with suppress(ProblemTooLarge):
                yield fragment.factorize(asked, reading)
        if (whole := self._in_one_table(asked, fragment)) is not None:
            yield whole
        query = _numbers(problem, asked)
        slices = Slices(problem, tuple(query))
        for rung in RUNGS:
            with suppress(ProblemTooLarge):
                yield slices.factorization(rung), {}

    def _in_one_table(self, asked: Asked, fragment: Fragment) -> Cliques | None:
        """Return all variables as one clique, where there are ties and its table is not too large."""
        problem = fragment.problem
        has_core = bool(problem.structure.core) and problem.reading is not Reading.FREE
        if not has_core or prod(problem.structure.sizes) > MOST_STATES:
            return None
        query = _numbers(problem, asked)
        return in_one_clique(problem.structure, query=query, reading=problem.reading), {}

    def _write(self, asked: Question, end: End, claimed: Fraction, body: Mapping[str, Any]) -> None:
        """Write a claim that is proved."""
        self.lines.append({"claim": end.value, "query": str(asked), "bound": str(claimed), **body})

    # ---- models ---------------------------------------------------------------------------------------

    def write_model(self, asked: Question, model: Distribution | None) -> bool:
        """Write down a model of the whole network, with what rounding leaves of a violation."""
        return any(self._write_whole(asked, whole) for whole in self._wholes(model))

    def _wholes(self, model: Distribution | None) -> Iterator[Distribution]:
        """Yield distributions over all variables that restrict to a given one.

        Where the network compares across conditions, the copies that stand for it are forgotten.
        """
        options, added = Options(timeout=self.seconds), frozenset(self.engine.network.variables)
        added -= frozenset(self.network.variables)
        if not added or model is not None:
            inner = model if model is None else without(model, added)
            engine = Engine(_drawn(self.network), self.engine.markov) if added else self.engine
            found = completed(engine, inner, options, Budget.of(self.seconds))
        else:
            found = completed(self.engine, None, options, Budget.of(self.seconds))
            found = None if found is None else without(found, added)
        if found is not None:
            yield found

    def _write_whole(self, asked: Question, whole: Distribution) -> bool:
        line = model_line(self.said, asked, whole)
        self.lines += [] if line is None else [line]
        return line is not None


def model_line(meaning: Meaning, asked: Question, whole: Distribution) -> dict[str, Any] | None:
    """Return the claim that a distribution over all variables is a model; None where that is not seen."""
    try:
        residual, value, factors = _nearest(meaning, asked, whole)
    except (ValueError, ProblemTooLarge, Refused):
        return None
    if residual > MOST_RESIDUAL:
        return None
    line = {"claim": "model", "query": str(asked), "value": str(round(value, PLACES))}
    within = {"within": str(Fraction(1, 10**PLACES)), "residual": str(_upwards(residual))}
    return {**line, **within, "factors": factors}


def _nearest(
    meaning: Meaning, asked: Question, model: Distribution
) -> tuple[Fraction, Fraction, list[list[Any]]]:
    """Return what a model misses, what it gives, and its factors, in the numbers that miss least."""
    found: list[tuple[Fraction, Fraction, list[list[Any]]]] = []
    for factors in in_whole_numbers(model, meaning.number):
        checked = Model(meaning, factors)
        found.append((checked.residual(asked), checked.value(asked), factors))
        if not found[-1][0]:
            break
    return min(found, key=lambda one: one[0])


def _numbers(problem: Problem, asked: Asked) -> list[int]:
    """Return the numbers of the variables that a question is about."""
    number = {v: i for i, v in enumerate(problem.variables)}
    return sorted(number[v] for v in asked.scope)


def _drawn(network: Network) -> Network:
    """Return a network without what it says across conditions, but with the arrows of that."""
    arrows = tuple(sentence for contrast in network.contrasts for sentence in contrast.arrows())
    return replace(network, sentences=(*network.sentences, *arrows), contrasts=())


def _by_rows(
    end: End, program: ReasonedProgram, proved: Proved, bound: float | Fraction
) -> tuple[Fraction, dict[str, Any]]:
    """Return a bound and its proof: the one asked for if it is a fraction, else rounded outwards."""
    scaled = proved.bound * 10**PLACES
    claimed = Fraction(floor(scaled) if end is End.LOWER else ceil(scaled), 10**PLACES)
    tables = {"table": program.question, "tables": program.tables}
    body = {**tables, "rows": proved.rows, "nodes": proved.nodes}
    return (bound if isinstance(bound, Fraction) else claimed), body


def _upwards(value: Fraction) -> Fraction:
    """Round a violation up to two digits."""
    if not value:
        return value
    scale = Fraction(10) ** (2 - floor(log10(value)))
    return ceil(value * scale) / scale


# ---- questions as the verifier proves them ----------------------------------------------------------------
# Questions as the verifier proves them: under one condition, and from 0 to 1.
# Input: a probability, a sum or a quotient, and a bound. Output: `Posed`: what is to be proved of which
# network, and the way back to the bound of the question.

GIVEN_AWAY = (Fraction(1, 10**9), Fraction(1, 10**6))
"""By how much a bound of a quotient may be missed, relative to it if it is large."""


@dataclass(frozen=True, slots=True)
class Posed:
    """A question between 0 and 1 and its bound; a proof of it is one of `claimed`, or of what it is worth."""

    meaning: Meaning
    engine: Engine
    asked: Asked
    bound: float | Fraction
    marks: Mapping[str, Any]
    original: Asked
    """The question in its own units."""
    least: Fraction = Fraction(0)
    span: Fraction = Fraction(1)
    claimed: Fraction | None = None

    def worth(self, proved: Fraction) -> Fraction:
        """Return the bound of the question that is proved with one from 0 to 1."""
        return self.least + self.span * proved if self.claimed is None else self.claimed

    def body(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """Return a proof in the units of the question: only leaves have any."""
        nodes = [self._in_units(node) for node in line["nodes"]]
        return {**self.marks, **line, "nodes": nodes}

    def _in_units(self, node: Any) -> Any:
        match node:
            case ["leaf", weight, *rest]:
                return ["leaf", str(Fraction(weight) / self.span), *rest]
        return node


def poses(
    engine: Engine, meaning: Meaning, asked: Question, end: End, bound: float | Fraction
) -> Iterator[Posed]:
    """Yield the ways in which a bound may be proved."""
    if isinstance(asked, Query):
        yield Posed(meaning, engine, asked, bound, {}, asked)
        return
    is_across = len(asked.conditions) > 1
    for less in GIVEN_AWAY if isinstance(asked, Quotient) and isinstance(bound, float) else (Fraction(0),):
        large = max(Fraction(1), abs(Fraction(bound)))
        claimed = Fraction(bound) - Fraction(end.sign) * less * large
        for is_strict in (False, True) if is_across else (False,):
            found, part, at = meaning.posed(asked, claimed, is_strict=is_strict)
            own = engine if found is meaning else Engine(found.network, found.markov, found.frame)
            marks = {"strict": True} if is_strict else {}
            is_open = isinstance(asked, Linear) and isinstance(bound, float)
            yield _scaled(Posed(found, own, part, at, marks, part, claimed=None if is_open else claimed))


def _scaled(one: Posed) -> Posed:
    """Bring a sum to the range from 0 to 1; a bound in floats stays one."""
    assert isinstance(one.asked, Part), "a sum is posed under one condition"
    least, greatest = one.asked.span
    span = greatest - least or Fraction(1)
    claims = (*((weight / span, claim) for weight, claim in one.asked.claims), (-least / span, TRUE))
    bound = (Fraction(one.bound) - least) / span
    asked = Part(one.asked.given, claims)
    at = float(bound) if one.claimed is None else bound
    return replace(one, asked=asked, bound=at, least=least, span=span)


def parts_across(asked: Question) -> list[Question]:
    """Return the sums whose bounds help to prove one of a question across conditions."""
    if isinstance(asked, Query) or len(asked.conditions) < 2:
        return []
    sums = (asked,) if isinstance(asked, Linear) else (asked.over, asked.under)
    parts = (part for one in sums for part in one.parts()[0])
    return list(dict.fromkeys(simplified(_alone(part)) for part in parts))


def _alone(part: Part) -> Linear:
    """Return a part as a question, a single claim without its weight."""
    if len(part.claims) == 1:
        return Linear((Summand(Fraction(1), part.claims[0][1], part.given),))
    return Linear(tuple(Summand(weight, claim, part.given) for weight, claim in part.claims))
