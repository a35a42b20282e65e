"""Why an answer says nothing.

Input: an answer that lies between 0 and 1. Output: reasons in words, where any can be found: an atom that no
sentence bounds, or only under a condition, evidence that may have probability zero, a claim that nothing
keeps away from 0 or from 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from credalog.errors import CredalogError
from credalog.network.formulas import TRUE, Formula, Variable, scope
from credalog.network.sentences import Query

if TYPE_CHECKING:
    from credalog.methods.answer import Answer, Options
    from credalog.methods.automatic import Engine
    from credalog.network.sentences import Network


def reasons(engine: Engine, answer: Answer, options: Options) -> Iterator[str]:
    """Yield what explains that an answer says nothing."""
    asked = answer.query
    assert isinstance(asked, Query), "only a probability has reasons"
    unbounded = list(
        filter(None, (_unbounded(engine.network, x, given=asked.given) for x in scope(asked.claim)))
    )
    yield from unbounded
    if asked.is_conditional:
        yield from _of_evidence(engine, asked.given, options)
    if asked.is_conditional and not unbounded:
        yield from _of_claim(engine, asked.claim, options)


def _unbounded(network: Network, variable: Variable, *, given: Formula) -> str:
    """Say of a variable that no claim has it, or all claims that do stand under one other condition."""
    conditions = {sentence.given for sentence in network.sentences if variable in sentence.claim_scope}
    if conditions:
        only = conditions.pop()
        return "" if conditions or only in (TRUE, given) else f"{variable.name} is bounded only given {only}"
    if any(variable in sentence.given_scope for sentence in network.sentences):
        return f"{variable.name} stands in conditions only, and no sentence bounds its own probability"
    return f"no sentence mentions {variable.name}"


def _of_evidence(engine: Engine, given: Formula, options: Options) -> Iterator[str]:
    least = _least(engine, given, options)
    if least is not None and least <= options.tolerance:
        rare = "have probability 0" if least <= 0.0 else f"be as improbable as {least:.3g}"
        yield f"{given} may {rare}, and then sentences that are given it say little"


def _of_claim(engine: Engine, claim: Formula, options: Options) -> Iterator[str]:
    least = _least(engine, claim, options)
    if least is not None and least <= options.tolerance:
        yield f"nothing bounds P({claim}) from below"


def _least(engine: Engine, formula: Formula, options: Options) -> float | None:
    """Return how improbable a formula is in some model, if one was found in time."""
    try:
        return engine.query(Query(formula), options).lower_witnessed
    except CredalogError:
        return None
