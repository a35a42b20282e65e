"""Wide formulas as single variables.

Input: a query about more variables than a table shows. Output: an equivalent query about a few, on a network
with gates: new variables, each the truth of a small formula over its parents. A gate is a child of what it is
about, and its value follows from them, so every model of the network extends to one model of the other, and
back: forget the gates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod

from credalog.methods.answer import Answer
from credalog.network.formulas import (
    And,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Or,
    Variable,
    Xor,
    canonical,
    conjunction,
    literals_of,
    scope,
    truth_table,
)
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.interval import Interval
from credalog.tables.distribution import Distribution

__all__ = ["WIDE", "Gated", "gated"]

WIDE = 1 << 10
"""A formula with more worlds than this is made of gates."""

INPUTS = 3
"""How many formulas one gate is about."""


@dataclass(frozen=True, slots=True)
class Gated:
    """A network with gates, and the query about them."""

    network: Network
    query: Query
    gates: frozenset[Variable]

    def restored(self, answer: Answer, asked: Query) -> Answer:
        """Return the answer as one to the query that was asked, its models without gates."""
        ends = (answer.interval.lower, answer.interval.upper)
        lower, upper = (replace(end, model=self._without_gates(end.model)) for end in ends)
        return replace(answer, query=asked, interval=Interval(lower, upper))

    def _without_gates(self, model: Distribution | None) -> Distribution | None:
        if model is None:
            return None
        return Distribution(tuple(f for f in model.factors if self.gates.isdisjoint(f.block)))


def gated(network: Network, asked: Query) -> Gated | None:
    """Put gates in the place of wide formulas; None where there are none."""
    is_observation = literals_of(asked.given) is not None
    if not _is_wide(asked.claim) and (is_observation or not _is_wide(asked.given)):
        return None
    claimed = frozenset(canonical(claim) for s in network.sentences for _, claim in s.claims)
    gates = _Gates(claimed)
    claim = gates.small(asked.claim)
    given = asked.given if is_observation else gates.small(asked.given)
    variables = (*network.variables, *gates.variables)
    sentences = (*network.sentences, *gates.sentences)
    with_gates = Network(variables, sentences, network.independences)
    return Gated(with_gates, Query(claim, given), frozenset(gates.variables))


def _is_wide(formula: Formula) -> bool:
    return prod(len(v.values) for v in scope(formula)) > WIDE


@dataclass(slots=True)
class _Gates:
    """The gates made so far, parents first; `claimed` are the formulas that sentences claim."""

    claimed: frozenset[Formula]
    variables: list[Variable] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)

    def small(self, formula: Formula) -> Formula:
        """Return an equivalent formula about few variables."""
        match formula:
            case Not(operand):
                return Not(self.small(operand))
            case And(operands) | Or(operands) | Xor(operands):
                return type(formula)(self._few([self._atom(operand) for operand in operands], type(formula)))
            case Implies(premise, conclusion):
                return Implies(self._atom(premise), self._atom(conclusion))
            case Iff(left, right):
                return Iff(self._atom(left), self._atom(right))
            case _:
                return formula

    def _atom(self, formula: Formula) -> Formula:
        """Return a formula about one variable."""
        small = self.small(formula)
        return small if len(scope(small)) <= 1 else self._gate(small)

    def _few(self, operands: list[Formula], connective: type[And | Or | Xor]) -> tuple[Formula, ...]:
        """Gather operands of an associative connective into gates until few are left."""
        while len(operands) > INPUTS:
            gathered = self._gate(connective(tuple(operands[:INPUTS])))
            operands = [gathered, *operands[INPUTS:]]
        return tuple(operands)

    def _gate(self, formula: Formula) -> Is:
        """Add a variable that is true where a small formula is; no such name can be written."""
        gate = Is(Variable(f"<gate {len(self.variables)}>"))
        self.variables.append(gate.variable)
        self.sentences += _truth_of(gate, formula, scope(formula), self.claimed)
        return gate


def _truth_of(
    gate: Is, formula: Formula, over: Sequence[Variable], claimed: frozenset[Formula]
) -> Iterator[Sentence]:
    """Yield the table of a gate; a condition shares no node with a claim, whose parents it would inherit."""
    for values, truth in zip(
        product(*(v.values for v in over)), truth_table(formula, over).ravel(), strict=True
    ):
        given = conjunction(Is(v, value) for v, value in zip(over, values, strict=True))
        while canonical(given) in claimed and not isinstance(given, Is):
            given = Not(Not(given))
        yield Sentence.of(gate, int(truth), int(truth), given=given)
