"""Models of a theory that is not grounded whole, written down for a few elements.

Input: a theory made ready for questions, and the end of an answer. Output: the line of a certificate: a model
of the theory with fewer elements, in which everything about those that stand for others is a coin
(docs/proofs.md, proof 21). Whatever the engine found, the model is looked for anew in the smaller theory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TypeAlias

import numpy as np

from credalog.errors import CredalogError
from credalog.grounding.network import ground
from credalog.grounding.rule_atoms import atom_of
from credalog.grounding.slices import fewer, named_in, needed
from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.models.fixing import network_in
from credalog.methods.lifted.answering import Lifted
from credalog.network.expressions import Question
from credalog.network.formulas import Variable
from credalog.network.sentences import Network
from credalog.numbers.budget import Budget, spending
from credalog.questions.certificates.models import completed
from credalog.questions.combined import ask
from credalog.tables.distribution import Distribution, Factor
from credalog.theory import Domain, Theory

__all__ = ["Few", "few_for", "models_of_few"]

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
