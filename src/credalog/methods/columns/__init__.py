"""Nilsson's logic: bounds on probabilities when nothing is said to be independent.

Enters: a network and a query. Leaves: an `Answer`; or whether the network has a model at all. The linear
program over all worlds is solved by column generation, so that hundreds of atoms are no obstacle where the
pricing problem is manageable.
"""

from __future__ import annotations

from math import inf
from time import monotonic

import numpy as np

from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork
from credalog.methods.answer import Answer, Options
from credalog.methods.columns.generation import Generation, Least, Model
from credalog.methods.columns.system import system_of
from credalog.network.formulas import TRUE, conjunction
from credalog.network.sentences import Network, Query
from credalog.numbers.interval import VACUOUS, Endpoint, Interval, Warrant
from credalog.numbers.tolerances import FEASIBILITY
from credalog.program.program import Floats
from credalog.trusted.rounding import round_up

__all__ = ["consistent", "query"]

METHOD = "nilsson"
DEFAULT = Options()

PROBABLE = 1e-3
"""A model that gives the evidence this much is good enough to start from."""

IMPOSSIBLE = 1e-13
"""A proved upper bound this small is zero but for rounding."""


def consistent(network: Network, options: Options = DEFAULT) -> bool | None:
    """Tell whether some distribution satisfies every sentence; None where the time runs out first."""
    _refuse_independences(network)
    return Generation(system_of(network), monotonic() + options.timeout).feasible()


def query(network: Network, asked: Query, options: Options = DEFAULT) -> Answer:
    """Bound a probability over all distributions that satisfy the sentences."""
    start = monotonic()
    _refuse_independences(network)
    both = conjunction((asked.claim, asked.given))
    system = system_of(network, both, asked.given)
    generation = Generation(system, start + options.timeout)
    interval = _interval(generation, system.indicator(both), system.indicator(asked.given))
    return Answer(asked, interval, interval.status(options.tolerance), METHOD, monotonic() - start)


def _refuse_independences(network: Network) -> None:
    if network.independences:
        raise CredalogError(
            "Nilsson's logic knows no independence, but the network declares some",
            advice="Use the factorized method, which honours declared independences.",
        )


def _interval(generation: Generation, claim: Floats, given: Floats) -> Interval:
    """Minimize and maximize, after making sure that there is something to measure."""
    verdict = generation.feasible()
    if verdict is False:
        raise InconsistentNetwork(
            "no distribution satisfies every sentence", advice="Widen some bounds, or drop a sentence."
        )
    if verdict is None:
        return VACUOUS
    mass = _greatest_mass(generation, given)
    with generation.half_of_the_time():
        lower = generation.minimize(claim, given, mass=mass)
    upper = generation.minimize(-claim, given, mass=mass)
    return Interval(_end(lower, claim, given, sign=1.0), _end(upper, claim, given, sign=-1.0))


def _greatest_mass(generation: Generation, given: Floats) -> float:
    """Return the most total mass a model can have when the evidence has mass 1; infinity if unbounded."""
    certain = generation.system.indicator(TRUE)
    if np.array_equal(given, certain):
        return 1.0
    probable = generation.minimize(-given, certain, enough=lambda found: _is_probable(found, given))
    if probable.model is not None and -probable.bound <= IMPOSSIBLE:
        raise ImpossibleEvidence(
            "every model gives the evidence probability zero",
            advice="Weaken the evidence, or the sentences that exclude it.",
        )
    least = generation.minimize(given, certain).bound
    return round_up(1.0 / least) if least > 0.0 else inf


def _is_probable(found: Least, given: Floats) -> bool:
    return found.model is not None and _probability(found.model, given) >= PROBABLE


def _probability(model: Model, event: Floats) -> float:
    return float(event @ model.probability)


def _end(least: Least, claim: Floats, given: Floats, *, sign: float) -> Endpoint:
    """Turn the least cost into the lower end of a probability (sign 1) or the upper one (sign -1)."""
    trivial = 0.0 if sign > 0 else 1.0
    bound = sign * least.bound
    witnessed = _witnessed(least.model, claim, given)
    if not 0.0 < bound < 1.0:
        return Endpoint(trivial, witnessed, Warrant.CHECKED)
    return Endpoint(bound, witnessed, least.warrant)


def _witnessed(model: Model | None, claim: Floats, given: Floats) -> float | None:
    """Return what a model attains, if it is one."""
    if model is None or model.violation > FEASIBILITY or _probability(model, given) <= 0.0:
        return None
    return min(max(_probability(model, claim) / _probability(model, given), 0.0), 1.0)
