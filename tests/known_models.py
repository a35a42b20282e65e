"""Models that speak against answers, whatever was asked and under whatever reading of the Markov condition.

Input: a small network. Output: `Known`, distributions over all its worlds that are models: products and
vertices of strong extensions in fractions, ends that SCIP finds, and whatever the engine's own witnesses turn
out to be when they are measured here. A probability that one of them has must lie within any bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice, product
from typing import Any, Literal, TypeAlias

import numpy as np

from credalog.network.formulas import Formula, Variable
from credalog.network.sentences import Contrast, Network, Query, Sentence
from credalog.tables.distribution import Distribution
from oracle import (
    Events,
    Floats,
    Verdict,
    event,
    interval,
    nilsson,
    parents,
    violation_in_context,
    violations,
    worlds,
)
from product_oracle import Product
from random_networks import UNIQUE, Case
from vertex_oracle import _families, _product

__all__ = ["Known", "Reading", "drawn_models", "measured"]

Reading: TypeAlias = Literal["local", "global", "none"]

MODEL = 1e-10
"""The largest violation of a distribution in floating point that counts as a model."""

HEAVY = 1e-4
"""The least probability of a condition under which a model in floating point is asked anything."""

INSIDE = 1e-6
"""How far a bound may lie inside what such a model attains."""

VERTICES = 200
"""So many vertices of a strong extension are looked at."""


@dataclass(frozen=True, slots=True)
class Model:
    """A distribution over all worlds: in fractions and beyond doubt, or in floating point and measured."""

    masses: Sequence[Fraction] | Floats
    readings: frozenset[str]

    @property
    def is_exact(self) -> bool:
        return not isinstance(self.masses, np.ndarray)

    def mass(self, of: Events) -> Fraction:
        """Return the probability of an event."""
        if isinstance(self.masses, np.ndarray):
            return Fraction(float(self.masses[of].sum()))
        return sum((p for p, is_in in zip(self.masses, of, strict=True) if is_in), Fraction(0))

    @property
    def slack(self) -> Fraction:
        """Return how far a bound may lie inside what this model attains."""
        return Fraction(0) if self.is_exact else Fraction(INSIDE)

    def value(self, claim: Events, given: Events) -> Fraction | None:
        """Return P(claim | given); None where the condition is too rare to say."""
        condition = self.mass(given)
        if condition <= (0 if self.is_exact else Fraction(HEAVY)):
            return None
        return self.mass(claim & given) / condition


@dataclass
class Known:
    """The models of a network that are known so far."""

    network: Network
    models: list[Model] = field(default_factory=list)

    def under(self, reading: Reading) -> list[Model]:
        """Return the models under a reading of the Markov condition."""
        return [model for model in self.models if reading in model.readings]

    def values(self, query: Query, reading: Reading) -> list[tuple[Fraction, Fraction]]:
        """Return what the models say of a query, each with its slack."""
        claim, given = event(self.network, query.claim), event(self.network, query.given)
        found = ((model.value(claim, given), model.slack) for model in self.under(reading))
        return [(value, slack) for value, slack in found if value is not None]

    def against(self, query: Query, reading: Reading, lower: float, upper: float) -> list[str]:
        """List the models that lie outside bounds on a query."""
        return [
            f"{query} in [{lower}, {upper}], but a {reading} model has {float(value)}"
            for value, slack in self.values(query, reading)
            if not Fraction(lower) - slack <= value <= Fraction(upper) + slack
        ][:1]

    def allows(self, given: Formula, reading: Reading) -> bool:
        """Tell whether some model gives a condition a probability."""
        chosen = event(self.network, given)
        return any(m.mass(chosen) > (0 if m.is_exact else Fraction(HEAVY)) for m in self.under(reading))

    def add(self, masses: Sequence[Fraction] | Floats, *readings: str) -> None:
        """Keep one more model."""
        self.models.append(Model(masses, frozenset(readings)))

    def learn(self, witness: Distribution, reading: Reading) -> None:
        """Keep a witness of the engine's, if measuring it here shows that it is a model of everything."""
        over = tuple(v for factor in witness.factors for v in factor.block)
        if set(over) != set(self.network.variables) or self.network.contrasts:
            return
        joint = np.asarray(witness.marginal(tuple(self.network.variables)), float).ravel()
        if violations(joint, self.network).worst <= MODEL:
            self.add(joint, *_readings(self.network))
        elif reading == "none" and violations(joint, _without(self.network)).sentence <= MODEL:
            self.add(joint, "none")


def _without(network: Network) -> Network:
    """Leave the variables and the sentences; what they draw is not asked."""
    return Network(network.variables, network.sentences)


def _readings(network: Network) -> tuple[str, ...]:
    """Return the readings under which a literal model is one: without a cycle the global one is the same."""
    without = () if network.independences else ("none",)
    return ("local", "global", *without) if _is_acyclic(network) else ("local", *without)


def _is_acyclic(network: Network) -> bool:
    left = {v: parents(network, v) for v in network.variables}
    while left:
        free = [v for v, above in left.items() if not above & left.keys()]
        if not free:
            return False
        for v in free:
            del left[v]
    return True


# ---- drawing ----------------------------------------------------------------------------------------------


def drawn_models(case: Case, *, seconds: float, rng: np.random.Generator) -> Known:
    """Find models of a case without the engine."""
    known = Known(case.network)
    if case.hidden is not None:
        for found in _products(case, rng):
            known.add(found, "local", "global", "none")
    if case.kind in UNIQUE:
        for found in islice(_vertices(case.network, rng), VERTICES):
            known.add(found, "local", "global", "none")
    elif not case.network.contrasts:
        _solve(known, case, seconds)
    return known


def _solve(known: Known, case: Case, seconds: float) -> None:
    """Ask SCIP for the ends of the case's own question, and a linear program without independences."""
    if seconds > 0.0:
        truth = interval(case.network, case.query, seconds=seconds)
        for end in (truth.lower, truth.upper):
            if end.joint is not None and violations(end.joint, case.network).worst <= MODEL:
                known.add(end.joint, *_readings(case.network))
    if not case.network.independences:
        free = nilsson(case.network, case.query)
        for end in (free.lower, free.upper):
            if free.verdict is Verdict.ANSWERED and end.joint is not None:
                known.add(np.maximum(end.joint, 0.0), "none")


def _products(case: Case, rng: np.random.Generator) -> Iterator[list[Fraction]]:
    """Yield the product that is known, and one that random steps lead to from there."""
    assert case.hidden is not None
    start = Product(case.hidden)
    yield _joint(case.network, start)
    here = start
    for variable in case.network.variables:
        state = int(rng.integers(len(variable.values)))
        here = here.towards(variable, state, _longest(case.network, here, variable, state))
    yield _joint(case.network, here)


def _longest(network: Network, here: Product, variable: Variable, state: int) -> Fraction:
    """Return how far a marginal may move: to the end, or a part of what keeps every sentence."""
    for step in (Fraction(1), Fraction(1, 4), Fraction(1, 64)):
        moved = here.towards(variable, state, step)
        if min(moved.excesses(network), default=Fraction(0)) >= 0 and _keeps(
            network.contrasts, network, moved
        ):
            return step
    return Fraction(0)


def _keeps(contrasts: Sequence[Contrast], network: Network, found: Product) -> bool:
    for contrast in contrasts:
        total = Fraction(0)
        for term in contrast.terms:
            value = found.value(network, Query(term.claim, term.given))
            if value is None:
                return False
            total += term.weight * value
        if not contrast.lower <= total <= contrast.upper:
            return False
    return True


def _joint(network: Network, found: Product) -> list[Fraction]:
    return [found._mass(world) for world in worlds(network)]


def _vertices(network: Network, rng: np.random.Generator) -> Iterator[list[Fraction]]:
    """Yield vertices of a strong extension in random order, perhaps some of them twice."""
    families = list(_families(network))
    cells = [cell for cell, _ in families]
    choices = [vertices for _, vertices in families]
    if np.prod([float(len(one)) for one in choices]) <= VERTICES:
        chosen: Iterator[Any] = product(*choices)
    else:
        chosen = (tuple(one[int(rng.integers(len(one)))] for one in choices) for _ in range(VERTICES))
    return (_product(cells, vertices) for vertices in chosen)


# ---- measuring --------------------------------------------------------------------------------------------

IN_CONTEXT = 1e-5
"""How far a witness may be from what is said, in any context that weighs anything beside the question's."""

NEGLIGIBLE = 1e-6
"""A context that weighs this much less than the question's own cannot change the answer."""


def measured(witness: Distribution, network: Network, given: Formula, reading: Reading) -> list[str]:
    """Measure a witness by its own contexts; what is said across conditions is drawn into the graph alone."""
    over = tuple(v for factor in witness.factors for v in factor.block)
    joint = np.asarray(witness.marginal(over), float)
    least = NEGLIGIBLE * float(witness.probability(given))
    drawn = Network(
        network.variables, (*network.sentences, *_arrows(network.contrasts)), network.independences
    )
    if reading == "none":
        worst = _worst_sentence(joint.ravel(), network, over, least)
    else:
        worst = violation_in_context(joint, drawn, over, least)
    return [f"a witness is no model: {worst} in some context"] if worst > IN_CONTEXT else []


def _arrows(contrasts: Sequence[Contrast]) -> list[Sentence]:
    """Say nothing of all claims of a contrast, under each of its conditions."""
    found = []
    for contrast in contrasts:
        claims = tuple((Fraction(1), claim) for claim in dict.fromkeys(t.claim for t in contrast.terms))
        for given in dict.fromkeys(t.given for t in contrast.terms):
            found.append(Sentence(claims, given, Fraction(0), Fraction(len(claims)), contrast.tau))
    return found


def _worst_sentence(p: Floats, network: Network, over: tuple[Variable, ...], least: float) -> float:
    inside = Network(over, ())
    worst = 0.0
    for sentence in network.sentences:
        if set(sentence.scope) <= set(over):
            given = event(inside, sentence.given)
            mass = float(p[given].sum())
            if mass > least:
                said = sum(float(w) * float(p[event(inside, c) & given].sum()) for w, c in sentence.claims)
                worst = max(worst, float(sentence.lower) - said / mass, said / mass - float(sentence.upper))
    return worst
