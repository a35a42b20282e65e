"""Certificates of questions to a theory that was not grounded whole.

Input: a theory made ready for questions about a few of its atoms, and results. Output: a `Certificate` about
a slice: the verifier cuts it out of the theory anew, and what is proved of it holds for every model of the
whole (docs/proofs.md, proof 17). A model of a slice need not be one of the theory, so none is written down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from credalog.errors import ProblemTooLarge
from credalog.grounding.slices import Slice, said_among, slice_of
from credalog.methods.answer import Answer, Options
from credalog.methods.lifted.answering import Lifted
from credalog.network.formulas import Is, conjunction
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget
from credalog.questions.certificates.writing import Certificate, Wanted, Writing, wanted
from credalog.questions.decide import Decision

__all__ = ["certify_around"]

NO_MODEL = "models of a theory that was not grounded whole have no certificate"


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
    unattained = (NO_MODEL,) if any(one.model is not None for one in ends) else ()
    return replace(best, missing=(*best.missing, *unattained))


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
