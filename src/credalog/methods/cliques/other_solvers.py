"""A program in another solver's hands: SCIP for a claim, IPOPT for witnesses alone.

Input: an encoding and an objective. Output: a `Finding` whose bound is a solver's word at best, and whose
witness is a candidate until somebody checks it.
"""

from __future__ import annotations

import numpy as np

from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.search import Ending, Finding, Limits, Witness
from credalog.methods.cliques.witness import STEPS, WitnessSearch
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Endpoint, Warrant
from credalog.program.program import Floats, Objective
from credalog.program.solvers.highs import Relaxation

__all__ = ["find"]


def find(name: str, encoding: Encoding, objective: Objective, limits: Limits, *, end: End) -> Finding:
    """Find one end of an interval by SCIP or by IPOPT; its point is polished into a candidate."""
    bound, point, ending = end.trivial, None, Ending.STOPPED
    if name == "scip":
        bound, point, ending = _by_scip(encoding, objective, limits, end)
    else:
        point = _by_ipopt(encoding, objective, limits, end)
    # That a probability is at least 0 and at most 1 needs nobody's word.
    warrant = Endpoint.trivial(end).warrant if bound == end.trivial else Warrant.CLAIMED
    witness = None if point is None else _polished(encoding, objective, limits, point, end)
    return Finding(bound, witness, ending, warrant, 0, None)


def _by_scip(
    encoding: Encoding, objective: Objective, limits: Limits, end: End
) -> tuple[float, Floats | None, Ending]:
    from credalog.program.solvers import scip

    seconds = limits.budget.for_solver
    claim = scip.solve(encoding.program, objective, end=end, timeout=seconds, tolerance=limits.tolerance)
    ending = Ending.INTERRUPTED if claim.interrupted else Ending.STOPPED
    is_worth_something = np.isfinite(claim.bound) and not encoding.program.is_ill_scaled
    return claim.bound if is_worth_something else end.trivial, claim.point, ending


def _by_ipopt(encoding: Encoding, objective: Objective, limits: Limits, end: End) -> Floats | None:
    from credalog.program.solvers import ipopt

    program = encoding.program
    center = Relaxation(program).center(objective, program.ratios.box, limits.budget.for_solver)
    if center is None:
        return None
    seconds = limits.budget.for_solver
    return ipopt.improve(program, objective, center, end=end, timeout=seconds)


def _polished(
    encoding: Encoding, objective: Objective, limits: Limits, point: Floats, end: End
) -> Witness | None:
    # A solver that used up its time has left none for this; a second is little beside it.
    walk = WitnessSearch(encoding, objective, end, Budget.of(max(limits.budget.remaining, 1.0)))
    found = walk.from_point(point, steps=STEPS)
    return None if found is None else Witness(found.distribution, found.value)
