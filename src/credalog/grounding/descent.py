"""Predicates whose atoms depend on earlier atoms only.

Input: a theory read backwards and a predicate. Output: whether in every rule that lets its atoms depend on
each other one argument steps forward: by a sum, as in P(Rain(d+1) | Rain(d)), or by a guard, as in `x < y`.
Then no ground atom depends on itself, however large the domain is.
"""

from __future__ import annotations

from collections.abc import Iterator

from credalog.grounding.around import Around
from credalog.grounding.guards import conjuncts
from credalog.grounding.rule_atoms import Occurrence, RuleAtoms
from credalog.grounding.schema import Schema
from credalog.theory import Comparison, Name, Order, Shifted, Term

__all__ = ["descends"]


def descends(around: Around, schema: Schema, name: str) -> bool:
    """Tell whether all atoms of a predicate depend on earlier ones, along one of its arguments."""
    through_others = any(name in schema.reached.get(other, ()) for other in schema.reached[name] - {name})
    if through_others or around.is_symmetric(name):
        return False
    rules = [atoms for atoms in around.rules if name in atoms.claimed and name in atoms.conditions]
    places = range(len(around.sorts(name)))
    return any(
        all(set(_steps(atoms, name, place)) == {step} for atoms in rules)
        for place in places
        for step in ("up", "down", "before", "after")
    )


def _steps(atoms: RuleAtoms, name: str, place: int) -> Iterator[str]:
    """Yield how an argument of each atom in the condition lies to that of the claim."""
    claimed = [o for o in atoms.occurrences if o.is_claimed]
    for earlier in atoms.occurrences:
        if not earlier.is_claimed and earlier.name == name:
            yield _step(atoms, claimed[0], earlier, place) if len(claimed) == 1 else ""


def _step(atoms: RuleAtoms, later: Occurrence, earlier: Occurrence, place: int) -> str:
    (first, by), (second, further) = _counted(later.arguments[place]), _counted(earlier.arguments[place])
    if first == second and isinstance(first, Name) and first.name in atoms.sorts and by != further:
        return "up" if by > further else "down"
    sorts = {atoms.sorts.get(term.name, term.name) for term in (first, second) if isinstance(term, Name)}
    if by or further or len(sorts) != 1:
        return ""
    guards = tuple(conjuncts(atoms.rule.prefix.guard))
    forward = (Comparison(Order.LESS, second, first), Comparison(Order.GREATER, first, second))
    backward = (Comparison(Order.LESS, first, second), Comparison(Order.GREATER, second, first))
    if any(guard in guards for guard in forward):
        return "after"
    return "before" if any(guard in guards for guard in backward) else ""


def _counted(term: Term) -> tuple[Term, int]:
    """Return a term without its sum, and what is added."""
    return (term.term, term.by) if isinstance(term, Shifted) else (term, 0)
