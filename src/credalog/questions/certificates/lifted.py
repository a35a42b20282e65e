"""Certificates of questions to a theory that was not grounded whole.

Input: a theory made ready for questions about a few of its atoms, and results. Output: a `Certificate` about
a slice: the verifier cuts it out of the theory anew, and what is proved of it holds for every model of the
whole (docs/proofs.md, proof 17). A model of a slice need not be one of the theory; those written down are of
the theory with fewer elements (proof 21).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from credalog.errors import CredalogError, ProblemTooLarge
from credalog.grounding.network import ground
from credalog.grounding.representatives import fewer, named_in, needed
from credalog.grounding.rule_atoms import atom_of
from credalog.grounding.slices import Slice, said_among, slice_of
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.models.arcs import network_in
from credalog.methods.lifted.answering import Lifted
from credalog.network.expressions import Question
from credalog.network.formulas import Is, Variable, conjunction
from credalog.network.meaning import Meaning
from credalog.network.sentences import Network, Query
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.questions.certificates.models import completed
from credalog.questions.certificates.writing import Certificate, Wanted, Writing, model_line, wanted
from credalog.questions.combined import ask
from credalog.questions.decide import Decision
from credalog.tables.distribution import Distribution, Factor
from credalog.theory import Domain, Theory
from credalog.verify import verify

__all__ = ["Few", "certify_around", "few_for", "models_of_few"]

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


# ---- models of few elements -------------------------------------------------------------------------------
# Models of a theory that is not grounded whole, written down for a few elements.
# Input: a theory made ready for questions, and the end of an answer. Output: the line of a certificate: a
# model of the theory with fewer elements, in which everything about those that stand for others is a coin
# (docs/proofs.md, proof 21). Whatever the engine found, the model is looked for anew in the smaller theory.

Few: TypeAlias = Mapping[str, tuple[list[str], list[str]]]
"""Of each domain that is cut short its special elements, and those that stand for the others."""

MOST_ELEMENTS, MOST_SENTENCES = 40, 5_000
"""Smaller theories with more elements, or that say more than this, are not looked at."""


def few_for(theory: Theory, asked: Question) -> Few:
    """Keep the elements that are named somewhere, and as many others as a rule speaks of."""
    named = named_in(theory).union(*(atom_of(v).elements for v in asked.scope))
    domains = [d for d in theory.declarations if isinstance(d, Domain)]
    found = dict[str, tuple[list[str], list[str]]]()
    for domain in domains:
        shared = {e for d in domains if d is not domain for e in d.elements}
        special = [e for e in domain.elements if e in named or e in shared]
        others = [e for e in domain.elements if e not in named and e not in shared]
        count = needed(theory, domain.name)
        if len(others) > count:
            found[domain.name] = special, others[:count]
    return found


def models_of_few(
    lifted: Lifted, few: Few, asked: Question, options: Options
) -> Iterator[tuple[Network, Distribution]]:
    """Yield models of the theory with few elements, near both ends of a question."""
    if sum(len(special) + len(alike) for special, alike in few.values()) > MOST_ELEMENTS:
        return
    with spending(Budget.of(options.timeout)):
        theory = fewer(lifted.around.theory, few)
        network = ground(theory)
    if len(network.sentences) > MOST_SENTENCES:
        return
    alike = frozenset(e for _, others in few.values() for e in others)
    outside = [v for v in network.variables if not alike.isdisjoint(atom_of(v).elements)]
    rests = lifted.rests()
    for cells in rests.worlds:
        certain = [v for v in outside if atom_of(v).name not in rests.rest.free]
        world = {v: rests.rest.value(cells, atom_of(v)) for v in certain}
        inner = network_in(network, world)
        if inner is not None:
            for model in _models(Engine(inner, lifted.markov), asked, options):
                yield network, Distribution((*model.factors, *map(_certain, world, world.values())))


def _models(engine: Engine, asked: Question, options: Options) -> Iterator[Distribution]:
    """Yield models of all variables at both ends of a question."""
    with suppress(CredalogError):
        interval = ask(engine, asked, options).interval
        for end in (interval.lower, interval.upper):
            budget = Budget.of(options.timeout)
            whole = None if end.model is None else completed(engine, end.model, options, budget)
            if whole is not None:
                yield whole


def _certain(variable: Variable, value: str) -> Factor:
    """Return the law of a variable that has one value."""
    return Factor((variable,), (), np.array([float(value == v) for v in variable.values]))
