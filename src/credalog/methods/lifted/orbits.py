"""Many elements that nothing tells apart, counted.

Input: a theory read backwards and a query. Output: proved bounds from a linear program over some named
elements and k others, in which worlds that differ by an exchange of the others are one column: how many of
them have which values (docs/proofs.md, proof 24). So k may be hundreds where each element has one atom of its
own, and dozens where it has two.

No independence is used, nor atoms of several of the others at once: what is said of these is left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations_with_replacement, pairwise, permutations, product
from math import comb, prod

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.grounding.guards import conjuncts
from credalog.grounding.neighbourhood import Around, TooMany
from credalog.grounding.network import key_of
from credalog.grounding.profiles import Profiles
from credalog.grounding.rule_atoms import RuleAtoms, atom_of
from credalog.methods.intervals.windows import LinearProgram
from credalog.methods.lifted.copies import sentence_renamed
from credalog.network.formulas import Formula, Variable, scope, truth_table
from credalog.network.sentences import Query, Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import VACUOUS, End, Interval
from credalog.theory import Comparison, Name, Order, Pattern
from credalog.trusted.rounding import enclosed

__all__ = ["Counted", "counted_around"]

Integers = NDArray[np.int64]

MOST_COLUMNS = 6000
"""The number of columns that k grows to."""

MOST_OTHERS = 1000
"""So many elements are counted at most."""

MOST_TYPES = 8
"""How many combinations of values a counted element may have."""

MOST_WORLDS = 256
"""How many worlds the atoms of the named elements may have."""

MOST_VARIABLES = 3
"""How many elements that stand for others a sentence may speak of."""

EXACT = 1 << 52
"""Whole numbers below this are floats."""

_INTEGER = re.compile(r"-?\d+")


@dataclass(frozen=True)
class Counted:
    """Sentences about some atoms and about elements that stand for all others of their kind.

    `rows[i]` are the atoms of the i-th of these elements, the same predicates for each.
    """

    atoms: tuple[Variable, ...]
    rows: tuple[tuple[Variable, ...], ...]
    sentences: tuple[Sentence, ...]
    available: int

    @cached_property
    def _types(self) -> tuple[tuple[int, ...], ...]:
        return tuple(product(*(range(len(v.values)) for v in self.rows[0])))

    @cached_property
    def _worlds(self) -> tuple[tuple[int, ...], ...]:
        return tuple(product(*(range(len(v.values)) for v in self.atoms)))

    @cached_property
    def others(self) -> int:
        """Return how many elements are counted: as many as there are, and columns for."""
        types, worlds, count = len(self._types), len(self._worlds), len(self.rows)
        while (
            count < min(self.available, MOST_OTHERS)
            and comb(count + types, types - 1) * worlds <= MOST_COLUMNS
        ):
            count += 1
        return count

    @cached_property
    def _counts(self) -> Integers:
        """Return, a row each, how many of the counted elements may have each type."""
        chosen = combinations_with_replacement(range(len(self._types)), self.others)
        return np.array([np.bincount(one, minlength=len(self._types)) for one in chosen], dtype=np.int64)

    def interval(self, asked: Query, budget: Budget) -> Interval:
        """Bound a query about the named atoms."""
        rows = [row for sentence in self.sentences for row in self._bounded(sentence)]
        if not rows or budget.is_spent:
            return VACUOUS
        matrix = sp.csr_array(np.unique(np.array(rows), axis=0).astype(np.float64))
        event, given = (self._event(formula) for formula in (asked.claim, asked.given))
        low, high = LinearProgram(matrix, budget).range(event & given, given)
        ends = (enclosed(value, error=0.0, end=end) for value, end in zip((low, high), End, strict=True))
        return Interval(*ends)

    def _event(self, formula: Formula) -> NDArray[np.bool_]:
        """Tell in which columns a formula about named atoms holds."""
        return np.repeat(self._truth(formula)[:, 0] > 0, len(self._counts))

    def _bounded(self, sentence: Sentence) -> Iterator[Integers]:
        """Yield rows G p <= 0 in whole numbers: a sentence, on average over who its elements are."""
        given = self._truth(sentence.given)
        for bound, sign in ((sentence.upper, 1), (sentence.lower, -1)):
            terms = [(weight, self._truth(claim)) for weight, claim in sentence.claims]
            scale = prod(weight.denominator for weight, _ in terms) * bound.denominator
            size = scale * (sum(abs(weight) for weight, _ in terms) + abs(bound))
            if size * len(self._tuples) * self.others ** len(self.rows) >= EXACT:
                # What cannot be written in whole numbers is left out.
                continue
            value = reduce(np.add, (int(weight * scale) * held for weight, held in terms))
            table = sign * given * (value - int(bound * scale))
            row = table @ self._chances.T
            yield row.reshape(-1) // max(int(np.gcd.reduce(row, axis=None)), 1)

    def _truth(self, formula: Formula) -> Integers:
        """Return the truth of a formula by world of the named atoms and types of the elements that stand."""
        over = scope(formula)
        table = truth_table(formula, over).astype(np.int64)
        names = {v: i for i, v in enumerate(self.atoms)}
        index: list[Integers] = []
        for v in over:
            if v in names:
                index.append(np.array([world[names[v]] for world in self._worlds])[:, None])
            else:
                which, place = next((i, row.index(v)) for i, row in enumerate(self.rows) if v in row)
                index.append(np.array([types[which][place] for types in self._tuples])[None, :])
        shape = len(self._worlds), len(self._tuples)
        return np.broadcast_to(table[tuple(index)] if over else table, shape)

    @cached_property
    def _tuples(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        return tuple(product(self._types, repeat=len(self.rows)))

    @cached_property
    def _chances(self) -> Integers:
        """Return in how many ways different elements have given types, by counts (row) and types (column)."""
        number = {one: i for i, one in enumerate(self._types)}
        ways = np.ones((len(self._counts), len(self._tuples)), dtype=np.int64)
        for column, types in enumerate(self._tuples):
            left = self._counts.copy()
            for one in types:
                ways[:, column] *= np.maximum(left[:, number[one]], 0)
                left[:, number[one]] -= 1
        return ways


def counted_around(around: Around, profiles: Profiles, asked: Query) -> Counted | None:
    """Gather what is said of the elements of a query and of others alike; None where nothing is gained."""
    named = sorted({e for v in asked.scope for e in atom_of(v).elements})
    domain = next((d for d in around.domains if named and around.has(d, named[0])), None)
    if domain is None:
        return None
    even = frozenset(a.number for a in around.rules if _is_even(around, a, domain))
    most = max((len(a.sorts) for a in around.rules if a.number in even), default=0)
    if not 1 < most <= MOST_VARIABLES:
        return None
    alike = _alike(around, profiles, domain, named)
    if len(alike) < most or not _is_sorted(around, domain, (*named, *alike)):
        return None
    stand = alike[:most]
    pool = {d: [e for e in (*named, *stand) if around.has(d, e)] for d in around.domains}
    near = {d: [e for e in named if around.has(d, e)] for d in around.domains}
    try:
        said = [s for a in around.rules for s in around.among(a, pool if a.number in even else near)]
    except TooMany:
        return None
    return _sorted_out(asked, frozenset(named), stand, said, len(alike))


def _alike(around: Around, profiles: Profiles, domain: str, named: Sequence[str]) -> tuple[str, ...]:
    """Return elements that nothing tells apart, all after or all before those that are named."""
    ranks, plain = around.ranks(domain), profiles.plain(domain)
    places = [ranks[e] for e in named if e in ranks]
    start = bisect_right(plain, max(places), key=ranks.__getitem__)
    stop = bisect_left(plain, min(places), key=ranks.__getitem__)
    after, before = plain[start : start + MOST_OTHERS], plain[: min(stop, MOST_OTHERS)]
    return after if len(after) >= len(before) else before


def _is_sorted(around: Around, domain: str, elements: Iterable[str]) -> bool:
    """Tell whether elements compare in the order of their domain: integers compare by size."""
    ranks = around.ranks(domain)
    listed = sorted((e for e in elements if e in ranks), key=ranks.__getitem__)
    numbers = [int(e) for e in listed if _INTEGER.fullmatch(e)]
    is_mixed = 0 < len(numbers) < len(listed)
    return not is_mixed and all(one < other for one, other in pairwise(numbers))


def _is_even(around: Around, atoms: RuleAtoms, domain: str) -> bool:
    """Tell whether profiles, equality and the order of elements alone say which instances a rule has."""
    is_plain = all(isinstance(a, Name) for o in atoms.occurrences for a in o.arguments)
    guards = conjuncts(atoms.rule.prefix.guard)
    return (
        is_plain
        and not atoms.has_facts
        and all(around.is_by_profile(g) or _is_order(g, atoms, domain) for g in guards)
    )


def _is_order(guard: Pattern, atoms: RuleAtoms, domain: str) -> bool:
    """Tell whether a guard compares two variables of the domain that is counted."""
    match guard:
        case Comparison(order, Name(one), Name(other)) if order not in (Order.EQUAL, Order.UNEQUAL):
            return atoms.sorts.get(one) == atoms.sorts.get(other) == domain
        case _:
            return False


def _sorted_out(
    asked: Query, named: frozenset[str], stand: Sequence[str], said: Sequence[Sentence], available: int
) -> Counted | None:
    """Keep what is said of named elements, and of single atoms of those that stand for others."""
    kept = [s for s in said if all(_is_single(v, named, stand) for v in s.scope)]
    scopes = dict.fromkeys(v for s in kept for v in s.scope)
    ours = dict.fromkeys((*asked.scope, *(v for v in scopes if named.issuperset(atom_of(v).elements))))
    names = dict.fromkeys(atom_of(v).name for v in scopes if v not in ours)
    found = {(atom_of(v).name, atom_of(v).elements[0]): v for v in scopes if v not in ours}
    if not names or any((name, e) not in found for name in names for e in stand):
        return None
    rows = tuple(tuple(found[name, e] for name in names) for e in stand)
    sizes = prod(len(v.values) for v in ours), prod(len(v.values) for v in rows[0])
    if sizes[0] > MOST_WORLDS or sizes[1] > MOST_TYPES or not _is_invariant(kept, rows):
        return None
    return Counted(tuple(ours), rows, tuple(kept), available)


def _is_single(variable: Variable, named: frozenset[str], stand: Sequence[str]) -> bool:
    """Tell whether an atom is about named elements only, or about one of the others alone."""
    elements = atom_of(variable).elements
    return named.issuperset(elements) or (len(elements) == 1 and elements[0] in stand)


def _is_invariant(said: Sequence[Sentence], rows: Sequence[tuple[Variable, ...]]) -> bool:
    """Tell whether an exchange of the elements that stand for others leaves what is said as it is."""
    keys = {key_of(s) for s in said}
    return all(
        {key_of(sentence_renamed(s, _exchange(rows, order))) for s in said} == keys
        for order in permutations(range(len(rows)))
    )


def _exchange(rows: Sequence[tuple[Variable, ...]], order: Sequence[int]) -> Mapping[Variable, Variable]:
    return {v: w for i, j in enumerate(order) for v, w in zip(rows[i], rows[j], strict=True)}
