"""A network in which the values of some variables are known.

Input: a network and a partial world. Output: what it says of the other variables, or None where it excludes
that world.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from credalog.network.formulas import (
    FALSE,
    TRUE,
    And,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Or,
    Truth,
    Variable,
    Xor,
    conjunction,
    disjunction,
)
from credalog.network.sentences import Independence, Network, Sentence

__all__ = ["formula_in", "network_in"]


def network_in(network: Network, world: Mapping[Variable, str]) -> Network | None:
    """Return a network with some variables replaced by their values; None where a sentence is violated."""
    sentences: list[Sentence] = []
    for sentence in network.sentences:
        if world.keys().isdisjoint(sentence.scope):
            sentences.append(sentence)
            continue
        rest = _sentence_in(sentence, world)
        if rest is None:
            return None
        sentences.extend(rest)
    variables = tuple(v for v in network.variables if v not in world)
    declared = (_independence_in(i, world) for i in network.independences)
    return Network(variables, tuple(sentences), tuple(i for i in declared if i.left and i.right))


def _sentence_in(sentence: Sentence, world: Mapping[Variable, str]) -> list[Sentence] | None:
    """Return what is left of a sentence: itself with fewer variables, nothing, or None if it is violated."""
    given = formula_in(sentence.given, world)
    if given == FALSE:
        return []
    claims = [(weight, formula_in(claim, world)) for weight, claim in sentence.claims]
    known = sum((weight for weight, claim in claims if claim == TRUE), start=Fraction(0))
    open_ = tuple((weight, claim) for weight, claim in claims if not isinstance(claim, Truth))
    lower, upper = sentence.lower - known, sentence.upper - known
    if open_:
        return [replace(sentence, claims=open_, given=given, lower=lower, upper=upper)]
    if lower <= 0 <= upper:
        return []
    impossible = Sentence.of(given, Fraction(0), Fraction(0))
    return None if given == TRUE else [replace(impossible, label=sentence.label, source=sentence.source)]


def _independence_in(independence: Independence, world: Mapping[Variable, str]) -> Independence:
    left, right, given = (
        tuple(v for v in side if v not in world)
        for side in (independence.left, independence.right, independence.given)
    )
    return Independence(left, right, given)


def formula_in(formula: Formula, world: Mapping[Variable, str]) -> Formula:
    """Replace variables of a formula by their values, and simplify."""
    match formula:
        case Truth():
            return formula
        case Is(variable, value):
            return Truth(world[variable] == value) if variable in world else formula
        case Not(operand):
            return _negated(formula_in(operand, world))
        case And(operands):
            parts = [formula_in(o, world) for o in operands]
            return FALSE if FALSE in parts else conjunction(parts)
        case Or(operands):
            parts = [formula_in(o, world) for o in operands]
            return TRUE if TRUE in parts else disjunction(parts)
        case Xor(operands):
            return _parity(formula_in(o, world) for o in operands)
        case Implies(premise, conclusion):
            return formula_in(Or((Not(premise), conclusion)), world)
        case Iff(left, right):
            return _negated(_parity((formula_in(left, world), formula_in(right, world))))
        case _:
            assert_never(formula)


def _negated(formula: Formula) -> Formula:
    match formula:
        case Truth(value):
            return Truth(not value)
        case Not(operand):
            return operand
        case _:
            return Not(formula)


def _parity(parts: Iterable[Formula]) -> Formula:
    odd, open_ = False, []
    for part in parts:
        if isinstance(part, Truth):
            odd ^= part.value
        else:
            open_.append(part)
    rest: Formula = FALSE if not open_ else open_[0] if len(open_) == 1 else Xor(tuple(open_))
    return _negated(rest) if odd else rest
