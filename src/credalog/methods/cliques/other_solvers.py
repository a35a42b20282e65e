"""A program in another solver's hands: SCIP for a claim, IPOPT for witnesses alone.

Input: an encoding and an objective. Output: a `Finding` whose bound is a solver's word at best, and whose
witness is a candidate until somebody checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.search import Ending, Finding, Glance, Limits, Witness, farther_witness
from credalog.methods.cliques.witness import STEPS, WitnessSearch
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Endpoint, Warrant
from credalog.program.program import Floats, Objective, Outcome
from credalog.program.solvers.highs import Relaxation
from credalog.tables.distribution import Distribution

__all__ = ["find"]


def find(
    name: str,
    encoding: Encoding,
    objective: Objective,
    limits: Limits,
    *,
    end: End,
    accepts: Callable[[Distribution], bool],
) -> Finding:
    """Find one end of an interval by SCIP or by IPOPT; of its points the best that is a model is kept."""
    bound, ending = end.trivial, Ending.STOPPED
    points: Iterable[Floats]
    if name == "scip":
        bound, point, ending = _by_scip(encoding, objective, limits, end)
        points = () if point is None else (point,)
    else:
        points = _by_ipopt(encoding, objective, limits, end)
    # That a probability is at least 0 and at most 1 needs nobody's word.
    warrant = Endpoint.trivial(end).warrant if bound == end.trivial else Warrant.CLAIMED
    best: Witness | None = None
    for point in points:
        found = _polished(encoding, objective, limits, point, end=end, accepts=accepts)
        best = best if found is None else farther_witness(best, found, end)
    return Finding(bound, best, ending, warrant, 0, None)


def _by_scip(
    encoding: Encoding, objective: Objective, limits: Limits, end: End
) -> tuple[float, Floats | None, Ending]:
    from credalog.program.solvers import scip

    def worth(bound: float) -> float:
        is_worth_something = np.isfinite(bound) and not encoding.program.is_ill_scaled
        return bound if is_worth_something else end.trivial

    def report(bound: float, _: float | None) -> None:
        if limits.report is not None:
            limits.report(Glance(worth(bound), Warrant.CLAIMED, None, 0))

    seconds, tolerance = limits.budget.for_solver, limits.tolerance
    claim = scip.solve(
        encoding.program, objective, end=end, timeout=seconds, tolerance=tolerance, report=report
    )
    ending = Ending.INTERRUPTED if claim.interrupted else Ending.STOPPED
    return worth(claim.bound), claim.point, ending


def _by_ipopt(encoding: Encoding, objective: Objective, limits: Limits, end: End) -> Iterator[Floats]:
    """Climb from the middle of the relaxation, and from where its optimum is."""
    from credalog.program.solvers import ipopt

    program, budget = encoding.program, limits.budget
    relaxation, box = Relaxation(program), program.ratios.box
    center = relaxation.center(objective, box, budget.for_solver)
    starts = [] if center is None else [center]
    solve = relaxation.minimize if end is End.LOWER else relaxation.maximize
    claim, _ = solve(objective, box, timeout=budget.for_solver)
    if claim.outcome is Outcome.OPTIMAL:
        starts.append(claim.point)
    for number, start in enumerate(starts):
        if number == 0 or not budget.is_spent:
            seconds = budget.share(0.5 if number + 1 < len(starts) else 1.0).for_solver
            found = ipopt.improve(program, objective, start, end=end, timeout=seconds)
            yield start if found is None else found


def _polished(
    encoding: Encoding,
    objective: Objective,
    limits: Limits,
    point: Floats,
    *,
    end: End,
    accepts: Callable[[Distribution], bool],
) -> Witness | None:
    # A solver that used up its time has left none for this; a second is little beside it.
    walk = WitnessSearch(encoding, objective, end, Budget.of(max(limits.budget.remaining, 1.0)))
    found = walk.from_point(point, steps=STEPS)
    if found is not None and not accepts(found.distribution):
        found = walk.without_traces(found)
    if found is None or not found.is_feasible or not accepts(found.distribution):
        return None
    return Witness(found.distribution, found.value)
