"""Posteriors of credal networks with statements, from multipliers: both ends, proved and attained.

Input: the credal part of a network, its statements, a query, and what is known already. Output: an `Interval`
whose bounds hold for every model (docs/proofs.md, proof 27) and whose models are checked like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from credalog.errors import ProblemTooLarge
from credalog.methods.answer import Answer, last_of
from credalog.methods.vertices.constraints import scores_of
from credalog.methods.vertices.lagrange import Proving
from credalog.network.formulas import Not
from credalog.network.sentences import Query, Sentence
from credalog.network.structure import ancestors
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Endpoint, Interval, Status
from credalog.numbers.tolerances import FEASIBILITY
from credalog.tables.cones import Array
from credalog.tables.credal import CredalNetwork
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted.check import violation
from credalog.trusted.rounding import enclosed, relative_error

__all__ = ["MOST_FAMILIES", "improved", "intervals"]

MOST_FAMILIES = 24
"""In larger networks programs on cliques come to more."""

GRACE = 0.4
"""How many seconds beyond the limit the last model may take to be checked."""

TURNS = ((End.LOWER, 0.4), (End.UPPER, 0.8), (End.LOWER, 1.0))
"""The ends in turn, and the share of the time left for each; the last takes up what the first left."""


def improved(
    found: Answer,
    credal: CredalNetwork,
    statements: tuple[Sentence, ...],
    *,
    tolerance: float,
    budget: Budget,
) -> Answer:
    """Return an answer with what multipliers prove and attain beyond it."""
    assert isinstance(found.query, Query)
    stages = intervals(credal, statements, found.query, found.interval, tolerance=tolerance, budget=budget)
    interval, is_interrupted = last_of(stages, found.interval)
    if interval.is_empty:
        # That there is no model is for others to say.
        interval = found.interval
    return replace(
        found,
        interval=interval,
        status=interval.status(tolerance),
        seconds=budget.elapsed,
        interrupted=is_interrupted,
        tried=(*found.tried, "multipliers of statements"),
    )


def intervals(
    credal: CredalNetwork,
    statements: tuple[Sentence, ...],
    asked: Query,
    known: Interval,
    *,
    tolerance: float,
    budget: Budget,
) -> Iterator[Interval]:
    """Yield ever narrower intervals, until one is exact or the time is up."""
    provings = {end: _proving(credal, statements, asked, known, end, budget) for end in End}
    for end, share in TURNS:
        if known[end].is_closed(tolerance):
            continue
        other = End.UPPER if end is End.LOWER else End.LOWER
        proving = provings[end]
        proving.pace.budget = budget if known[other].is_closed(tolerance) else budget.share(share)
        proving.run(tolerance)
        known = known.learning(known[end].joined(_endpoint(credal, asked, proving, end), end), end)
        yield known
        if known.status(tolerance) is Status.EXACT or budget.is_spent:
            return


def _proving(
    credal: CredalNetwork,
    statements: tuple[Sentence, ...],
    asked: Query,
    known: Interval,
    end: End,
    budget: Budget,
) -> Proving:
    """Set up the search for one end: the least of an event is one minus the greatest of its complement."""
    sided = asked if end is End.UPPER else Query(Not(asked.claim), asked.given)
    scores = scores_of(credal, sided, statements)
    if scores is None:
        raise ProblemTooLarge("the question is about too many worlds")
    index = {variable: i for i, variable in enumerate(credal.network.variables)}
    # A model has to answer for every statement, too wide or not.
    mentioned = {index[v] for scope in (asked.scope, *(s.scope for s in statements)) for v in scope}
    needed = ancestors(credal.parents, mentioned)
    if len(needed) > MOST_FAMILIES:
        raise ProblemTooLarge(f"{len(needed)} families bear on the question")
    vertices: dict[int, Array] = {x: credal.table(x, {}).vertices for x in sorted(needed)}
    value, bound = known[end].witnessed, known[end].bound
    if end is End.LOWER:
        value, bound = None if value is None else 1.0 - value, 1.0 - bound
    return Proving(credal, scores, vertices, value=value, bound=bound, budget=budget)


def _endpoint(credal: CredalNetwork, asked: Query, proving: Proving, end: End) -> Endpoint:
    """Turn what was proved and attained into an end, if the model passes the check."""
    bound = proving.bound if end is End.UPPER else 1.0 - proving.bound
    endpoint = enclosed(bound, error=relative_error(4), end=end)
    if proving.best is None:
        return endpoint
    model = _distribution(credal, proving.best.tables)
    said = credal.network.about(x for factor in model.factors for x in factor.block)
    value = model.probability(asked.claim, asked.given)
    checking = Budget.of(proving.budget.remaining + GRACE)
    if violation(model, said, credal.graph, budget=checking) > FEASIBILITY or not 0.0 <= value <= 1.0:
        return endpoint
    return replace(endpoint, witnessed=value, model=model)


def _distribution(credal: CredalNetwork, tables: Mapping[int, Array]) -> Distribution:
    variables = credal.network.variables
    return Distribution(
        tuple(
            Factor((variables[x],), tuple(variables[p] for p in credal.parents[x]), tables[x])
            for x in credal.order
            if x in tables
        )
    )
