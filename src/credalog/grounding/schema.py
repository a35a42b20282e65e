"""Which predicates depend on which, whatever the domains.

Input: the atoms of every rule. Output: `Schema`: the predicates that a predicate reaches, those that may
depend on themselves, and those whose parents cannot be read off the sentences that claim them.

An arrow between two ground atoms comes from an instance of a rule, so there is one between their predicates.
What no predicate reaches no atom reaches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from credalog.grounding.guards import conjuncts
from credalog.grounding.neighbourhood import Around
from credalog.grounding.rule_atoms import Occurrence, RuleAtoms, is_literal
from credalog.theory import Comparison, Name, Order, Shifted, Term

__all__ = ["Schema", "descends", "schema_of"]


@dataclass(frozen=True, slots=True)
class Schema:
    """The dependency graph of predicates.

    `entangled` predicates may be claimed by a formula that is also a condition: its node leads on what leads
    into it, so that parents are more than the condition says.
    """

    reached: dict[str, frozenset[str]]
    entangled: frozenset[str]

    def reaches(self, name: str, targets: Iterable[str]) -> bool:
        """Tell whether atoms of one predicate may be ancestors of atoms of others."""
        return not self.reached.get(name, frozenset()).isdisjoint(targets)

    def is_cyclic(self, name: str) -> bool:
        """Tell whether an atom of a predicate may depend on itself through others, or on its like."""
        return name in self.reached.get(name, frozenset())


def schema_of(rules: Iterable[RuleAtoms]) -> Schema:
    """Draw the dependency graph of predicates."""
    listed = tuple(rules)
    edges: dict[str, set[str]] = {}
    for atoms in listed:
        sources = atoms.conditions if atoms.is_atomic else atoms.conditions | atoms.claimed
        for source in sources:
            edges.setdefault(source, set()).update(atoms.claimed)
    reached = {name: _reached(name, edges) for name in edges}
    return Schema(reached, _entangled(listed))


def _reached(name: str, edges: dict[str, set[str]]) -> frozenset[str]:
    found, frontier = set[str](), [name]
    while frontier:
        fresh = edges.get(frontier.pop(), set()) - found
        found |= fresh
        frontier.extend(fresh)
    return frozenset(found)


def _entangled(rules: tuple[RuleAtoms, ...]) -> frozenset[str]:
    """Return the predicates claimed where a formula may be the claim of one rule and another's condition."""
    found: set[str] = set()
    claiming = [atoms for atoms in rules if not atoms.is_atomic]
    conditioned = [atoms for atoms in rules if not _has_literal_condition(atoms)]
    for one in claiming:
        for other in conditioned:
            may_shrink = one.has_facts or other.has_facts
            shared = one.claimed & other.conditions if may_shrink else ()
            if shared or one.claimed == other.conditions:
                found |= one.claimed | other.claimed
    return frozenset(found)


def _has_literal_condition(atoms: RuleAtoms) -> bool:
    conditions = [o for o in atoms.occurrences if not o.is_claimed]
    return len(conditions) <= 1 and is_literal(atoms.rule.plain.given)


# ---- descent ----------------------------------------------------------------------------------------------
# Predicates whose atoms depend on earlier atoms only.
# Input: a theory read backwards and a predicate. Output: whether in every rule that lets its atoms depend
# on each other one argument steps forward: by a sum, as in P(Rain(d+1) | Rain(d)), or by a guard, as in `x
# < y`. Then no ground atom depends on itself, however large the domain is.


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
