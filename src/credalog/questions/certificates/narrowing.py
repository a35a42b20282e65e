"""Bounds on conditional probabilities of which nothing is said, proved before the bound that needs them.

Input: a certificate under way, and cliques. Output: claims about single conditional probabilities, each
proved on the relaxation of the cliques with all that was proved before it. The engine's search narrows its
ratios in the same way before the first cut.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from credalog.network.formulas import Formula, conjunction
from credalog.network.meaning import Event, Meaning
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.program.program import Outcome
from credalog.program.solvers.highs import Relaxation
from credalog.questions.certificates.program import ReasonedProgram

__all__ = ["narrowed"]

LEAST = 1e-4
"""A probability under a condition that may be less likely than this is not narrowed."""

TELLING = 1e-3
"""Bounds nearer to 0 and 1 than this are not worth a claim."""

Write: TypeAlias = Callable[[ReasonedProgram, End, float], bool]
"""Write down a proof of a bound on what a program is about; tell whether that was done."""


def narrowed(build: Callable[[], ReasonedProgram], write: Write, budget: Budget) -> bool:
    """Prove bounds on the conditional probabilities that have none; tell whether there were any.

    `build` makes a program with all that is known; it is called anew when more is.
    """
    found, is_narrower = build(), False
    for left, given in _unbounded(found):
        for end in End:
            if budget.is_spent:
                return is_narrower
            about = _about(found, left, given)
            value = None if about is None else _relaxed(about, end, budget)
            if about is not None and value is not None and write(about, end, value):
                found, is_narrower = build(), True
    return is_narrower


def _unbounded(found: ReasonedProgram) -> list[tuple[Event, Event]]:
    """Return the conditional probabilities that may have any value so far."""
    everything = Fraction(0), Fraction(1)
    return [one for one in found.keys if found.meaning.range(*one, {}) == everything]


def _about(found: ReasonedProgram, left: Event, given: Event) -> ReasonedProgram | None:
    """Return the same program, asked for P(left | given); None where no table shows it by itself."""
    showing = (
        t for t, (shown, fixed) in enumerate(found.tables) if not fixed and {*left, *given} <= {*shown}
    )
    t = next(showing, None)
    if t is None:
        return None
    claim, condition = (_formula(found.meaning, event) for event in (left, given))
    return found.about(Query(claim, condition), t)


def _formula(meaning: Meaning, event: Event) -> Formula:
    variables = meaning.variables
    return conjunction(variables[x].is_(variables[x].values[s]) for x, s in sorted(event.items()))


def _relaxed(about: ReasonedProgram, end: End, budget: Budget) -> float | None:
    """Return what the relaxation says of one end; None where that is nothing, or its condition too rare."""
    relaxation, box = Relaxation(about.program), about.program.ratios.box
    mass = 1.0
    if about.asked.is_conditional:
        condition = about.about(Query(about.asked.given), about.question)
        least, _ = relaxation.minimize(condition.objective(1.0), box, timeout=budget.for_solver)
        if least.outcome is not Outcome.OPTIMAL or least.value < LEAST:
            return None
        mass = 1.0 / least.value
    solve = relaxation.minimize if end is End.LOWER else relaxation.maximize
    claim, _ = solve(about.objective(mass), box, timeout=budget.for_solver)
    is_telling = claim.outcome is Outcome.OPTIMAL and end.sign * (claim.value - end.trivial) > TELLING
    return float(claim.value) if is_telling else None
