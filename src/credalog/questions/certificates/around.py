"""Certificates of questions to a theory that was not grounded whole.

Input: a theory made ready for questions about a few of its atoms, and results. Output: a `Certificate` about
a slice: the verifier cuts it out of the theory anew, and what is proved of it holds for every model of the
whole (docs/proofs.md, proof 17). A model of a slice need not be one of the theory; those written down are of
the theory with fewer elements (proof 21).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from credalog.errors import CredalogError, ProblemTooLarge
from credalog.grounding.slices import Slice, said_among, slice_of
from credalog.methods.answer import Answer, Options
from credalog.methods.lifted.answering import Lifted
from credalog.network.expressions import Question
from credalog.network.formulas import Is, conjunction
from credalog.network.meaning import Meaning
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.questions.certificates.few import few_for, models_of_few
from credalog.questions.certificates.writing import Certificate, Wanted, Writing, model_line, wanted
from credalog.questions.decide import Decision
from credalog.verify import verify

__all__ = ["certify_around"]

NO_MODEL = "the models of this theory, which was not grounded whole, were not found for a few elements"

NEAR = 1e-6
"""By how much a model may miss the value that the engine's own attains."""


def certify_around(
    lifted: Lifted, results: Sequence[Answer | Decision], options: Options = Options()
) -> Certificate:
    """Prove the bounds that results rest on, on the first slice that is enough for all of them."""
    ends = [one for result in results for one in wanted(result, [])]
    bounds = [one for one in ends if one.bound is not None]
    best: Certificate | None = None
    for found in _slices(lifted, ends, Budget.of(options.timeout * max(len(bounds), 1))):
        certificate = _written(lifted, found, bounds, options)
        if best is None or len(certificate.missing) < len(best.missing):
            best = certificate
        if not certificate.missing:
            break
    if best is None:
        raise ProblemTooLarge("no slice of the theory shows everything that is asked")
    attained = [one for one in ends if one.model is not None]
    lines = list(_attained(lifted, best.lines[0], attained, options))
    unattained = (NO_MODEL,) if len(lines) < len(attained) else ()
    return replace(best, lines=(*best.lines, *lines), missing=(*best.missing, *unattained))


def _attained(
    lifted: Lifted, head: dict[str, Any], ends: Iterable[Wanted], options: Options
) -> Iterator[dict[str, Any]]:
    """Yield models of a few elements, if the verifier takes them for models of all, one for each end."""
    known = dict[Question, list[tuple[float, dict[str, Any]]]]()
    for one in ends:
        if one.query not in known:
            known[one.query] = list(_of_few(lifted, head, one.query, options))
        if known[one.query] and one.model is not None and isinstance(one.query, Query):
            value, line = min(known[one.query], key=lambda found: one.end.sign * found[0])
            attained = one.model.probability(one.query.claim, one.query.given)
            if one.end.sign * (value - attained) <= NEAR:
                yield line


def _of_few(
    lifted: Lifted, head: dict[str, Any], asked: Question, options: Options
) -> Iterator[tuple[float, dict[str, Any]]]:
    theory = lifted.around.theory
    with suppress(CredalogError, OutOfTime):
        with spending(Budget.of(options.timeout)):
            few = few_for(theory, asked)
        for network, model in models_of_few(lifted, few, asked, options):
            line = model_line(Meaning(network, lifted.markov), asked, model)
            if line is not None:
                written = {**line, "few": few}
                with suppress(CredalogError):
                    list(verify(theory, map(json.dumps, (head, written))))
                    yield float(Fraction(line["value"])), written


def _slices(lifted: Lifted, ends: Iterable[Wanted], budget: Budget) -> Iterator[Slice]:
    """Yield slices around all atoms of some questions, as the verifier will cut them out."""
    atoms = dict.fromkeys(variable for one in ends for variable in one.query.scope)
    everything = Query(conjunction(Is(v, v.values[-1]) for v in atoms))
    for stage in lifted.stages(everything, budget):
        variables = dict.fromkeys(stage.slice.network.variables)
        yield slice_of(lifted.around, lifted.schema, list(variables), said_among(lifted.around, variables))
        if budget.is_spent:
            return


def _written(lifted: Lifted, found: Slice, bounds: Iterable[Wanted], options: Options) -> Certificate:
    """Write down proofs of some bounds about one slice."""
    writing = Writing(lifted.engine(found), found.network, options.timeout)
    literals = [str(Is(v, v.values[-1])) for v in found.network.variables]
    writing.lines[0] |= {"markov": lifted.markov.value, "slice": literals}
    for one in bounds:
        writing.certify_end(one.query, one.end, one.bound, None)
    return writing.certificate
