"""The random atoms of rules, and ground atoms taken apart.

Input: a rule; a ground variable. Output: `RuleAtoms`, the atoms that a rule claims and conditions on;
`GroundAtom`, a predicate and elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from credalog.network.formulas import Variable
from credalog.theory import (
    YES,
    Application,
    Comparison,
    Compound,
    Connective,
    Name,
    Order,
    Pattern,
    Quantified,
    Rule,
    Term,
    term_of,
)

__all__ = ["GroundAtom", "Occurrence", "RuleAtoms", "atom_of", "is_literal"]


class GroundAtom(NamedTuple):
    """A predicate or random function, and the elements that it is applied to."""

    name: str
    elements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An atom of a rule: what it is applied to, and whether it stands in a claim."""

    name: str
    arguments: tuple[Term, ...]
    is_claimed: bool


@dataclass(frozen=True, slots=True)
class RuleAtoms:
    """A rule, its logical variables with their domains, and the random atoms in it."""

    number: int
    rule: Rule
    sorts: dict[str, str]
    occurrences: tuple[Occurrence, ...]
    has_facts: bool
    """Whether something that is not random stands in a formula: ground, it may leave the formula."""

    @property
    def claimed(self) -> frozenset[str]:
        """Return the predicates that are claimed.

        Where facts decide a claim that cannot be, its condition is claimed to be impossible.
        """
        return frozenset(o.name for o in self.occurrences if o.is_claimed or self.has_facts)

    @property
    def conditions(self) -> frozenset[str]:
        """Return the predicates of the condition."""
        return frozenset(o.name for o in self.occurrences if not o.is_claimed)

    @property
    def is_atomic(self) -> bool:
        """Tell whether every instance claims one atom or its negation."""
        claims = self.rule.plain.claims
        claimed = [o for o in self.occurrences if o.is_claimed]
        is_single = len(claims) == len(claimed) == 1
        return is_single and not self.has_facts and is_literal(claims[0][1])

    @property
    def draws(self) -> bool:
        """Tell whether instances draw arrows: without a condition only a claim that ties its atoms does."""
        return self.rule.plain.given != YES or (self.rule.tau and not self.is_atomic)

    @property
    def is_opaque(self) -> bool:
        """Tell whether a formula has a quantifier."""
        claims = [claim for _, claim in self.rule.plain.claims]
        return any(_has_quantifier(pattern) for pattern in (*claims, self.rule.plain.given))


def atom_of(variable: Variable) -> GroundAtom:
    """Return the predicate of a ground variable and the elements that it is applied to."""
    term = term_of(variable.name)
    if not isinstance(term, Application):
        return GroundAtom(variable.name, ())
    return GroundAtom(term.name, tuple(a.name for a in term.arguments if isinstance(a, Name)))


def is_literal(pattern: Pattern) -> bool:
    """Tell an atom or its negation from other formulas."""
    match pattern:
        case Name() | Application():
            return True
        case Comparison(Order.EQUAL):
            return True
        case Compound(Connective.NOT, (operand,)):
            return is_literal(operand)
        case _:
            return False


def _has_quantifier(pattern: Pattern) -> bool:
    match pattern:
        case Quantified():
            return True
        case Compound(_, operands):
            return any(map(_has_quantifier, operands))
        case _:
            return False
