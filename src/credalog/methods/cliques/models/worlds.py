"""Worlds that a network allows, some variables left uncertain: the start of a model.

Input: a network, a query, the variables that may stay uncertain. Output: `allowed_world`: values for all
other variables such that, by a 0/1 program, no sentence is violated as far as Frechet's inequalities tell.

One world alone is a model if it satisfies l <= P(q | r) <= u wherever r is true: every independence holds in
it. With p a number between 0 and 1 for each uncertain atom, and P(q and r), P(r) within Frechet's bounds, the
sentence l P(r) <= P(q and r) <= u P(r) is linear, and exact where at most one atom of it is uncertain.
"""

from __future__ import annotations

from collections.abc import Collection

from credalog.methods.truth_rows import TruthRows, TruthSum
from credalog.network.formulas import And, Not, Or, Variable, World, conjunction
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End

__all__ = ["allowed_world", "never_certain"]

ROUNDS = 3
"""How often the worth of the evidence is corrected by the value found (Dinkelbach)."""

LEAST_EVIDENCE = 1e-3
"""The least probability that the evidence is given."""

GAP = 1e-4
"""How far from the best a world may be."""


def allowed_world(
    network: Network, asked: Query, *, end: End, uncertain: Collection[Variable], budget: Budget
) -> World | None:
    """Return values of all variables but the uncertain ones, with a good value of the query; or None."""
    rows, world = TruthRows(network.variables), None
    for sentence in network.sentences:
        if budget.is_spent:
            return None
        _state(rows, sentence, uncertain)
    evidence, both = rows.truth(asked.given), rows.truth(conjunction((asked.claim, asked.given)))
    rows.at_most((TruthSum(LEAST_EVIDENCE),), (evidence,))
    program = rows.program(continuous=uncertain)
    worth = 0.5 if asked.is_conditional else 0.0
    for _ in range(ROUNDS if asked.is_conditional else 1):
        gains = rows.gains((both.times(-end.sign), evidence.times(end.sign * worth)))
        claim = program.maximize(gains, gap=GAP, timeout=budget.for_solver)
        if claim.point is None:
            break
        world = rows.world(claim.point)
        found = both.at(claim.point) / max(evidence.at(claim.point), LEAST_EVIDENCE)
        if budget.is_spent or abs(found - worth) <= GAP:
            break
        worth = found
    if world is None:
        return None
    values = zip(network.variables, world, strict=True)
    return {v: v.values[int(value)] for v, value in values if v not in uncertain}


def _state(rows: TruthRows, sentence: Sentence, uncertain: Collection[Variable]) -> None:
    """Demand lower P(given) <= sum of weight P(claim and given) <= upper P(given).

    Where all is certain, a claim with a bound above 0 is true wherever the condition is, one with a bound
    below 1 is false: clauses, which need no columns of their own.
    """
    if sentence.is_linear or any(v in uncertain for v in sentence.scope):
        _state_means(rows, sentence)
        return
    given = sentence.given.operands if isinstance(sentence.given, And) else (sentence.given,)
    missing = [Not(part) for part in given]
    if sentence.lower > 0:
        rows.demand(Or((*missing, sentence.claim)))
    if sentence.upper < 1:
        rows.demand(Or((*missing, Not(sentence.claim))))


def _state_means(rows: TruthRows, sentence: Sentence) -> None:
    if sentence.is_vacuous:
        return
    given = rows.truth(sentence.given)
    together = [
        rows.truth(conjunction((claim, sentence.given))).times(float(weight))
        for weight, claim in sentence.claims
    ]
    rows.at_most((given.times(float(sentence.lower)),), together)
    rows.at_most(together, (given.times(float(sentence.upper)),))


def never_certain(network: Network) -> frozenset[Variable]:
    """Return the variables of claims that no world satisfies: those with bounds away from both 0 and 1."""
    return frozenset(
        v
        for s in network.sentences
        if s.lower > 0 and s.upper < 1 and not s.is_vacuous
        for v in s.claim_scope
    )
