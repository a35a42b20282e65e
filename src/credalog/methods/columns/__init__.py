"""Nilsson's logic: bounds on probabilities when nothing is said to be independent.

Input: a network and a query. Output: an `Answer`; or whether the network has a model at all. The linear
program over all worlds is solved by column generation, so that hundreds of atoms are no obstacle where the
pricing problem is manageable.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf, prod

import numpy as np

from credalog.errors import CredalogError, InconsistentNetwork, impossible_evidence
from credalog.methods.answer import Answer, Options
from credalog.methods.columns.events import WIDEST, system_of
from credalog.methods.columns.generation import Generation, Least, Model
from credalog.methods.progress import Telling
from credalog.network.formulas import TRUE, conjunction
from credalog.network.sentences import Network, Query
from credalog.numbers.budget import Budget
from credalog.numbers.interval import VACUOUS, End, Endpoint, Interval, Warrant
from credalog.numbers.tolerances import FEASIBILITY
from credalog.trusted.check import violation
from credalog.trusted.rounding import enclosed, round_up

__all__ = ["consistent", "query"]

METHOD = "nilsson"
DEFAULT = Options()

PROBABLE = 1e-3
"""A model that gives the evidence this much is good enough to start from."""


def consistent(network: Network, options: Options = DEFAULT) -> bool | None:
    """Tell whether some distribution satisfies every sentence; None where neither is proved in time."""
    _refuse_independences(network)
    return _verdict(Generation(system_of(network), Budget.of(options.timeout)))


def query(network: Network, asked: Query, options: Options = DEFAULT) -> Answer:
    """Bound a probability over all distributions that satisfy the sentences."""
    budget = Budget.of(options.timeout)
    _refuse_independences(network)
    both = conjunction((asked.claim, asked.given))
    generation = Generation(system_of(network, both, asked.given), budget)
    interval = _Question(network, asked, generation, options.telling(asked)).interval()
    return Answer(asked, interval, interval.status(options.tolerance), METHOD, budget.elapsed)


def _refuse_independences(network: Network) -> None:
    if network.independences:
        raise CredalogError(
            "Nilsson's logic knows no independence, but the network declares some, "
            "or compares probabilities under several conditions, which takes some",
            advice="Use the factorized method, which honours declared independences.",
        )


def _verdict(generation: Generation) -> bool | None:
    """Tell whether there is a model: a contradiction counts where it is proved, not on a solver's word."""
    verdict = generation.feasible()
    return verdict if verdict or generation.pricer.proves else None


class _Question:
    """One query under way."""

    def __init__(self, network: Network, asked: Query, generation: Generation, telling: Telling) -> None:
        self._telling = telling
        self._network, self._asked, self._generation = network, asked, generation
        self._claim = generation.system.indicator(conjunction((asked.claim, asked.given)))
        self._given = generation.system.indicator(asked.given)
        self._certain = generation.system.indicator(TRUE)

    def interval(self) -> Interval:
        """Minimize and maximize, after making sure that there is something to measure."""
        verdict = _verdict(self._generation)
        if verdict is False:
            raise InconsistentNetwork(
                "no distribution satisfies every sentence", advice="Widen some bounds, or drop a sentence."
            )
        if verdict is None:
            return VACUOUS
        mass = self._greatest_mass()
        lower = self._found(End.LOWER, mass, share=0.5)
        return Interval(lower, self._found(End.UPPER, mass))

    def _found(self, end: End, mass: float, share: float = 1.0) -> Endpoint:
        """Minimize or maximize; bounds are told on the way, and models once they are checked."""

        def told(least: Least) -> bool:
            self._telling.tell(end, self._proved(least, end), stage="column generation")
            return False

        cost = self._claim if end is End.LOWER else -self._claim
        least = self._generation.minimize(cost, self._given, mass=mass, enough=told, share=share)
        found = self._end(least, end)
        self._telling.tell(end, found)
        return found

    def _greatest_mass(self) -> float:
        """Return the most total mass a model can have when the evidence has mass 1; infinity if unbounded."""
        if np.array_equal(self._given, self._certain):
            return 1.0
        probable = self._generation.minimize(-self._given, self._certain, enough=self._is_probable)
        if not self._is_probable(probable) and self._generation.excludes(self._given):
            raise impossible_evidence()
        least = self._generation.minimize(self._given, self._certain).bound
        return round_up(1.0 / least) if least > 0.0 else inf

    def _is_probable(self, found: Least) -> bool:
        return found.model is not None and float(self._given @ found.model.probability) >= PROBABLE

    def _end(self, least: Least, end: End) -> Endpoint:
        """Turn the least cost into an end of the probability, with the model that attains it."""
        known = self._proved(least, end)
        return known if least.model is None else self._attained(known, least.model)

    def _proved(self, least: Least, end: End) -> Endpoint:
        """Turn what is proved of the least cost into an end of the probability."""
        bound = end.sign * least.bound
        if not 0.0 < bound < 1.0:
            return Endpoint.trivial(end)
        if least.proved:
            return enclosed(bound, error=0.0, end=end)
        return Endpoint(bound, None, Warrant.CLAIMED)

    def _attained(self, known: Endpoint, model: Model) -> Endpoint:
        """Add what a model attains, if it passes the check; the model itself where it is small."""
        mixture, mass = self._generation.mixture(model), float(self._given @ model.probability)
        # Where formulas are too wide for truth tables, only the rows that stand for them can be checked.
        narrow = all(prod(len(x.values) for x in s.scope) <= WIDEST for s in self._network.sentences)
        missed = violation(mixture, self._network, None) if narrow else model.violation
        if missed > FEASIBILITY or mass <= 0.0:
            return known
        value = min(max(float(self._claim @ model.probability) / mass, 0.0), 1.0)
        return replace(known, witnessed=value, model=mixture.written_out())
