"""Predicates whose atoms follow any model of what they depend on, because little bears on each.

Input: a theory read backwards. Output: `Carried`, which tells whether every atom of a predicate has a table
with which all that is said of it holds, whatever law its parents have, as long as each parent keeps the
bounds on its own probability (docs/proofs.md, proof 30). Such atoms need no interval that suits all of their
conditions, as free ones do: one of `P(Bad(g)) <= 0.05` and `P(Bad(g) | Bad(h)) >= 0.1` may be carried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from credalog.grounding.guards import conjuncts
from credalog.grounding.neighbourhood import Around
from credalog.grounding.rule_atoms import RuleAtoms
from credalog.grounding.schema import Schema, descends
from credalog.methods.lifted.outside import interval_of, is_plain
from credalog.network.formulas import BOOLEAN
from credalog.theory import YES, Application, Comparison, Compound, Connective, Name, Order, Pattern, Relation

__all__ = ["Carried", "Cycles", "Table", "cycles_of"]

EVERYTHING = Fraction(0), Fraction(1)

Elements = NDArray[np.int64]
"""Numbers of elements of one domain."""

Edges = NDArray[np.int64]
"""Rows of two such numbers: the atom of the second depends on that of the first."""


@dataclass(frozen=True)
class Carried:
    """Tells which predicates of a theory are carried."""

    around: Around
    schema: Schema

    def holds(self, name: str) -> bool:
        """Tell whether the atoms of a predicate follow any model of what they depend on."""
        table = self._table(name)
        if table is None or not table.bears(self._bearing(name)):
            return False
        return not self.schema.is_cyclic(name) or self._is_ordered(name, table)

    # ---- one table for all atoms ----------------------------------------------------------------------

    def _claiming(self, name: str) -> list[RuleAtoms]:
        return [atoms for atoms in self.around.rules if name in atoms.claimed]

    def _table(self, name: str) -> Table | None:
        """Return the table of a predicate: one probability under any condition, and one under none."""
        claiming = self._claiming(name)
        if self.around.values(name) != BOOLEAN or self.around.is_symmetric(name):
            return None
        if not all(atoms.is_atomic and is_plain(atoms.rule.plain.claims[0][1]) for atoms in claiming):
            return None
        low, high = _common(atoms for atoms in claiming if atoms.rule.plain.given == YES)
        least, most = _common(atoms for atoms in claiming if atoms.rule.plain.given != YES)
        if low > high or least > most or max(low, least) <= min(high, most):
            return None
        return Table(low, high, least, most)

    def _bearing(self, name: str, among: Elements | None = None) -> Fraction:
        """Return what the conditions on one atom come to at most, added up; perhaps of some elements only."""
        rules = [atoms for atoms in self._claiming(name) if atoms.rule.plain.given != YES]
        return sum((self._instances(a, among) * self._most(a.rule.plain.given) for a in rules), Fraction(0))

    def _most(self, given: Pattern) -> Fraction:
        """Return a bound on the probability of a condition."""
        match given:
            case Compound(Connective.AND, operands):
                return min(map(self._most, operands))
            case Compound(Connective.OR, operands):
                return min(Fraction(1), sum(map(self._most, operands), Fraction(0)))
            case Compound(Connective.NOT, (Name() | Application() as atom,)):
                return 1 - self._own_bounds(atom)[0]
            case Name() | Application():
                return self._own_bounds(given)[1]
            case _:
                return Fraction(1)

    def _own_bounds(self, atom: Name | Application) -> tuple[Fraction, Fraction]:
        """Return what rules say of all atoms of a predicate, under no condition."""
        name = self.around.spelt(atom)[0]
        found = _common(atoms for atoms in self._claiming(name) if self._covers(atoms, name))
        return found if found[0] <= found[1] else EVERYTHING

    def _covers(self, atoms: RuleAtoms, name: str) -> bool:
        """Tell whether a rule bounds the probability of every atom of a predicate."""
        prefix, assessment = atoms.rule.prefix, atoms.rule.plain
        if not atoms.is_atomic or not is_plain(assessment.claims[0][1]) or assessment.given != YES:
            return False
        arguments = next(o for o in atoms.occurrences if o.is_claimed).arguments
        sorts = tuple(atoms.sorts.get(a.name, "") if isinstance(a, Name) else "" for a in arguments)
        is_plain_prefix = prefix.guard == YES and not any(binder.distinct for binder in prefix.binders)
        return is_plain_prefix and sorts == self.around.sorts(name) and len(set(arguments)) == len(arguments)

    # ---- how many conditions --------------------------------------------------------------------------

    def _instances(self, atoms: RuleAtoms, among: Elements | None) -> int:
        """Return at most how many instances of a rule claim one atom."""
        claimed = next(o for o in atoms.occurrences if o.is_claimed)
        known = frozenset(a.name for a in claimed.arguments if isinstance(a, Name) and a.name in atoms.sorts)
        return prod(self._values(atoms, name, known, among) for name in atoms.sorts if name not in known)

    def _values(self, atoms: RuleAtoms, name: str, known: frozenset[str], among: Elements | None) -> int:
        """Return at most how many values a variable has where others are known."""
        counts = [
            self._most_alike(guard, [i for i, a in enumerate(guard.arguments) if _is_one_of(a, known)], among)
            for guard in self._relations(atoms)
            if Name(name) in guard.arguments
        ]
        return min(counts, default=self.around.size(atoms.sorts[name]))

    def _relations(self, atoms: RuleAtoms) -> Iterator[Application]:
        """Yield the relations that must hold in every instance of a rule."""
        for guard in conjuncts(atoms.rule.prefix.guard):
            if isinstance(guard, Application) and self._sorts_of_relation(guard):
                yield guard

    def _sorts_of_relation(self, guard: Application) -> tuple[str, ...]:
        declared = next((d for d in self.around.theory.declarations if d.name == guard.name), None)
        return declared.sorts if isinstance(declared, Relation) else ()

    def _most_alike(self, guard: Application, columns: list[int], among: Elements | None) -> int:
        """Return how many facts of a relation are alike in some columns, at most."""
        facts = self.around.grounder.signature.facts(guard.name)
        if among is not None and len(columns) == 1:
            facts = facts[np.isin(facts[:, columns[0]], among)]
        if not columns or not len(facts):
            return len(facts)
        if len(columns) == 1:
            return int(np.bincount(facts[:, columns[0]]).max())
        _, counts = np.unique(facts[:, columns], axis=0, return_counts=True)
        return int(counts.max())

    # ---- what depends on its like ---------------------------------------------------------------------

    def _is_ordered(self, name: str, table: Table) -> bool:
        """Tell whether atoms depend on their like in no cycle, or only in cycles that have a law."""
        others = self.schema.reached[name] - {name}
        if any(name in self.schema.reached.get(other, ()) for other in others):
            return False
        if descends(self.around, self.schema, name):
            return True
        edges = self._edges(name)
        cycles = None if edges is None else cycles_of(edges)
        if cycles is None or not cycles.lengths:
            return cycles is not None
        is_steady = table.bears_steadily(self._bearing(name, cycles.members))
        return is_steady and self._has_plain_conditions(name) and all(map(table.has_law, cycles.lengths))

    def _has_plain_conditions(self, name: str) -> bool:
        """Tell whether whatever conditions an atom on its like says that one of them is true."""
        rules = [atoms for atoms in self._claiming(name) if name in atoms.conditions]
        return all(isinstance(atoms.rule.plain.given, Application) for atoms in rules)

    def _edges(self, name: str) -> Edges | None:
        """Return which elements depend on which, at least; None where no relation says so."""
        found = [np.empty((0, 2), dtype=np.int64)]
        for atoms in self._claiming(name):
            later = next(o for o in atoms.occurrences if o.is_claimed).arguments
            for occurrence in atoms.occurrences:
                if occurrence.name == name and not occurrence.is_claimed:
                    edges = self._along(atoms, occurrence.arguments, later, self.around.sorts(name))
                    if edges is None:
                        return None
                    found.append(edges)
        return np.unique(np.concatenate(found), axis=0)

    def _along(
        self,
        atoms: RuleAtoms,
        earlier: tuple[object, ...],
        later: tuple[object, ...],
        sorts: tuple[str, ...],
    ) -> Edges | None:
        """Return the facts that lead from one argument to another; None where there is no such relation."""
        match earlier, later:
            case (Name(before),), (Name(after),) if before != after and {before, after} <= atoms.sorts.keys():
                pass
            case _:
                return None
        for guard in self._relations(atoms):
            if Name(before) in guard.arguments and Name(after) in guard.arguments:
                places = guard.arguments.index(Name(before)), guard.arguments.index(Name(after))
                if all(self._sorts_of_relation(guard)[place] == sorts[0] for place in places):
                    edges = self.around.grounder.signature.facts(guard.name)[:, places]
                    return edges[edges[:, 0] != edges[:, 1]] if _differ(atoms, before, after) else edges
        return None


def _common(rules: Iterable[RuleAtoms]) -> tuple[Fraction, Fraction]:
    """Return the interval that rules have in common; they may have none."""
    intervals = [EVERYTHING, *map(interval_of, rules)]
    return max(low for low, _ in intervals), min(high for _, high in intervals)


def _is_one_of(term: object, names: frozenset[str]) -> bool:
    return isinstance(term, Name) and term.name in names


def _differ(atoms: RuleAtoms, one: str, other: str) -> bool:
    """Tell whether a guard says that two variables are different."""
    unequal = (
        Comparison(Order.UNEQUAL, Name(one), Name(other)),
        Comparison(Order.UNEQUAL, Name(other), Name(one)),
    )
    return any(guard in unequal for guard in conjuncts(atoms.rule.prefix.guard))


# ---- cycles -----------------------------------------------------------------------------------------------
# Laws of atoms that depend on each other in a cycle.
# Input: which elements depend on which; what is said of an atom under no condition, and under any. Output:
# the cycles, and whether atoms along a cycle of some length have a law, whatever else they depend on
# (docs/proofs.md, proof 30).

LONGEST = 10
"""Longer cycles are not looked at: all sets of atoms with a condition outside are."""


@dataclass(frozen=True, slots=True)
class Table:
    """What is said of an atom under no condition, from low to high, and under any, from least to most."""

    low: Fraction
    high: Fraction
    least: Fraction
    most: Fraction

    @property
    def under_any(self) -> Fraction:
        """Return the probability of an atom where some condition holds: the nearest to what it is overall."""
        return self.least if self.least > self.high else self.most

    @property
    def under_none(self) -> Fraction:
        """Return the probability of an atom where no condition holds."""
        return self.low if self.least > self.high else self.high

    def bears(self, conditions: Fraction) -> bool:
        """Tell whether some table does what is said, conditions having so much probability at most."""
        some = min(Fraction(1), conditions)
        if self.least > self.high:
            return self.least * some <= self.high
        return (1 - self.most) * some <= 1 - self.low

    def bears_steadily(self, conditions: Fraction) -> bool:
        """Tell whether one table does what is said however little probability the conditions have."""
        slope = abs(self.under_any - self.under_none)
        return slope * min(Fraction(1), conditions) <= self.high - self.low

    def has_law(self, length: int) -> bool:
        """Tell whether atoms on a cycle, each conditioned on the one before it, have a law."""
        if self.least <= self.high or length > LONGEST:
            return False
        if length == 2:
            return 2 * self.least <= 1 and self.least * self.high <= self.most * self.low
        return all(self._closes(outside) for outside in product((False, True), repeat=length))

    def _closes(self, outside: Sequence[bool]) -> bool:
        """Tell whether pairs of neighbours have a common law, given who has a condition outside that holds.

        The laws of the pairs on a cycle are those of a joint law iff no pair differs more often than all the
        others together, and the like for each odd number of pairs, which holds if none differs too often.
        """
        differing = [
            before * (1 - self.under_any) + (1 - before) * (self.under_any if is_held else self.under_none)
            for before, is_held in zip(self._chances(outside), outside, strict=True)
        ]
        return max(differing) <= Fraction(2, 3) and 2 * max(differing) <= sum(differing)

    def _chances(self, outside: Sequence[bool]) -> list[Fraction]:
        """Return the probability of the atom before each, on a cycle."""
        chance = self.under_none / (1 - self.under_any + self.under_none)
        start = outside.index(True) if True in outside else 0
        before: list[Fraction] = [chance] * len(outside)
        for i in range(start, start + len(outside)):
            here = i % len(outside)
            chance = self.under_none + (self.under_any - self.under_none) * chance
            if outside[here]:
                chance = self.under_any
            before[(here + 1) % len(outside)] = chance
        return before


@dataclass(frozen=True, slots=True)
class Cycles:
    """How long the cycles of a directed graph are, and what lies on them."""

    lengths: frozenset[int]
    members: NDArray[np.int64]


def cycles_of(edges: NDArray[np.int64]) -> Cycles | None:
    """Return the cycles of a directed graph; None where two of them meet, or one is a loop."""
    if (edges[:, 0] == edges[:, 1]).any():
        return None
    size = int(edges.max(initial=-1)) + 1
    graph = csr_array((np.ones(len(edges), dtype=np.int8), (edges[:, 0], edges[:, 1])), shape=(size, size))
    _, labels = connected_components(graph, directed=True, connection="strong")
    sizes = np.bincount(labels)
    inside = labels[edges[:, 0]] == labels[edges[:, 1]]
    within = np.bincount(labels[edges[inside, 0]], minlength=len(sizes))
    # As many arrows as members, and each reached from each: a single cycle.
    if (within[sizes > 1] != sizes[sizes > 1]).any():
        return None
    lengths = frozenset(int(length) for length in np.unique(sizes[sizes > 1]))
    return Cycles(lengths, np.flatnonzero(sizes[labels] > 1))
