"""The lines of a certificate.

Input: an engine and answers. Output: `Certificate`: what the verifier accepts, and what could not be certified.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10
from pathlib import Path
from typing import Any, TypeAlias

from credalog.errors import ProblemTooLarge
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.factorization import Factorization
from credalog.methods.cliques.slices import RUNGS, Slices
from credalog.network.formulas import TRUE, Formula
from credalog.network.meaning import Meaning
from credalog.network.sentences import Query, Sentence
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End, Warrant
from credalog.questions.certificates.models import completed, in_whole_numbers
from credalog.questions.certificates.program import reasoned
from credalog.questions.certificates.proving import Least, Proved, prove
from credalog.verify import FORMAT, VERSION, Model

Cliques: TypeAlias = tuple[Factorization, dict[int, int]]

SMALLEST = 1e-5
"""A condition that may be less probable than this is proved about without rounding."""

PLACES = 12
"""How many decimals of a bound are claimed."""


@dataclass(frozen=True)
class Certificate:
    """The lines that were proved, and in words what was not."""

    lines: tuple[dict[str, Any], ...]
    missing: tuple[str, ...]

    def write(self, path: str | Path) -> None:
        """Write the lines to a file, compressed unless it is called .jsonl."""
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self.lines)
        data = text.encode()
        Path(path).write_bytes(data if str(path).endswith(".jsonl") else gzip.compress(data, mtime=0))


def certify(engine: Engine, answers: Iterable[Answer], options: Options = Options()) -> Certificate:
    """Write down proofs of both bounds of each answer, and the models that attain them."""
    return _Writing(engine, options.timeout).run(answers)


class _Writing:
    def __init__(self, engine: Engine, seconds: float) -> None:
        self.engine, self.seconds = engine, seconds
        self.meaning = Meaning(engine.network, engine.markov)
        head = {
            "format": FORMAT,
            "version": VERSION,
            "network": engine.network.digest,
            "markov": engine.markov.value,
        }
        self.lines: list[dict[str, Any]] = [head]
        self.missing: list[str] = []
        self.leasts: dict[Formula, Least | None] = {}

    def run(self, answers: Iterable[Answer]) -> Certificate:
        for answer in answers:
            for end in End:
                self._certify_end(answer, end)
                self._certify_model(answer, end)
        return Certificate(tuple(self.lines), tuple(self.missing))

    def _certify_model(self, answer: Answer, end: End) -> None:
        """Write down the model that attains an end, with what rounding leaves of a violation."""
        endpoint, budget = answer.interval[end], Budget.of(self.seconds)
        if endpoint.model is None:
            self.missing.append(f"no model attains the {end.value} end of {answer.query}")
            return
        whole = completed(self.engine, endpoint.model, Options(timeout=self.seconds), budget)
        if whole is None:
            self.missing.append(f"no model of the whole network was found for {answer.query}")
            return
        factors = in_whole_numbers(whole, self.meaning.number)
        model = Model(self.meaning, factors)
        residual, value = model.residual(answer.query), model.value(answer.query)
        self.lines.append(
            {
                "claim": "model",
                "query": str(answer.query),
                "value": str(round(value, PLACES)),
                "within": str(Fraction(1, 10**PLACES)),
                "residual": str(_upwards(residual)),
                "factors": factors,
            }
        )

    def _certify_end(self, answer: Answer, end: End) -> None:
        endpoint = answer.interval[end]
        if endpoint.warrant is not Warrant.CHECKED:
            self.missing.append(f"the {end.value} bound of {answer.query} is only claimed")
        elif not end.is_tighter(endpoint.bound, end.trivial):
            pass
        elif not self._certify_bound(answer.query, end, endpoint.bound):
            self.missing.append(f"no proof of the {end.value} bound of {answer.query} was found")

    def _certify_bound(self, asked: Query, end: End, target: float) -> bool:
        budget = Budget.of(self.seconds)
        for cliques in self._factorizations(asked):
            with suppress(ProblemTooLarge, OutOfTime):
                if self._proved_on(asked, end, target, cliques, budget):
                    return True
            if budget.is_spent:
                break
        return False

    def _factorizations(self, asked: Query) -> Iterator[Cliques]:
        """Yield cliques on which to prove, those that follow ties first."""
        fragment = self.engine.part(asked)
        problem = fragment.problem
        has_core = bool(problem.structure.core) and problem.reading is not Reading.FREE
        readings = [Reading.TIED] if has_core else []
        if problem.reading is Reading.GLOBAL:
            readings.append(Reading.GLOBAL)
        elif has_core:
            readings.append(Reading.LITERAL)
        for reading in readings or [problem.reading]:
            with suppress(ProblemTooLarge):
                yield fragment.factorize(asked, reading)
        number = {v: i for i, v in enumerate(problem.variables)}
        slices = Slices(problem, tuple(sorted(number[v] for v in asked.scope)))
        for rung in RUNGS:
            with suppress(ProblemTooLarge):
                yield slices.factorization(rung), {}

    def _proved_on(
        self, asked: Query, end: End, target: float, cliques: Cliques, budget: Budget
    ) -> bool:
        program = reasoned(self.meaning, asked, self.engine.part(asked), cliques, budget)
        proved = prove(program, end, target, budget, least=self._least(asked.given))
        if proved is not None:
            self._write(asked, end, program.tables, program.question, proved)
        return proved is not None

    def _least(self, given: Formula) -> Least | None:
        """Return a proved bound on the probability of a condition from below, written down once."""
        if given == TRUE:
            return None
        if given not in self.leasts:
            self.leasts[given] = None
            known = len(self.meaning.sentences)
            if self._certify_bound(Query(given), End.LOWER, SMALLEST):
                self.leasts[given] = Least(known, self.meaning.sentences[known].lower)
        return self.leasts[given]

    def _write(self, asked: Query, end: End, tables: list[Any], question: int, proved: Proved) -> None:
        """Write a claim, its bound rounded outwards to a decimal number."""
        scaled = proved.bound * 10**PLACES
        bound = Fraction(floor(scaled) if end is End.LOWER else -floor(-scaled), 10**PLACES)
        line = {
            "claim": end.value,
            "query": str(asked),
            "bound": str(bound),
            "table": question,
            "tables": tables,
            "rows": proved.rows,
            "nodes": proved.nodes,
        }
        self.lines.append(line)
        if 0 <= bound <= 1:
            low, high = (bound, Fraction(1)) if end is End.LOWER else (Fraction(0), bound)
            self.meaning.learn(Sentence.of(asked.claim, low, high, given=asked.given))


def _upwards(value: Fraction) -> Fraction:
    """Round a violation up to two digits."""
    if not value:
        return value
    scale = 10 ** (2 - floor(log10(value)))
    return Fraction(ceil(value * scale), scale)
