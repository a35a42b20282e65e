"""Rests that are not certain: all atoms of a cell copies of one variable.

Input: a theory read backwards, and predicates whose atoms are to be copies. Output: whether such a law stands
for a model of the whole grounding, and what is said of the copied variables (docs/proofs.md, proof 19).

Copies satisfy no independence, and need not: where all that is said and asked of tied atoms is closed, there
is a model with the same probabilities (proof 9).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice, product
from typing import assert_never

from credalog.grounding.neighbourhood import Around, Standing, TooMany, Unfaithful
from credalog.grounding.rule_atoms import RuleAtoms, atom_of
from credalog.methods.lifted.outside import Cell, Rest
from credalog.network.formulas import (
    BOOLEAN,
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
    truth_table,
)
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, Sentence

__all__ = ["Coins", "Copies", "coins_of", "copies_of", "sentence_of", "sentence_renamed"]


@dataclass(frozen=True)
class Copies:
    """Predicates whose atoms outside a slice are copies, and instances that stand for all said of them."""

    rest: Rest
    names: frozenset[str]
    said: tuple[Sentence, ...]

    def variable(self, atom: Variable) -> Variable:
        """Return what an atom is a copy of; no such name can be written."""
        name, profiles = self.rest.cell_of(atom_of(atom))
        number = self._numbers.setdefault((name, profiles), len(self._numbers))
        return Variable(f"<copy {number} of {name}>", atom.values)

    @cached_property
    def _numbers(self) -> dict[Cell, int]:
        return {}


def copies_of(rest: Rest, names: frozenset[str]) -> Copies | None:
    """Return the law in which atoms of some predicates are copies, if it may stand for a model."""
    around = rest.around
    claiming = [atoms for atoms in around.rules if not atoms.claimed.isdisjoint(names)]
    is_own = all(atoms.claimed <= names and _is_upstream(rest, atoms, names) for atoms in claiming)
    if not is_own or not _has_single_parents(around, rest, names):
        return None
    most = max((len(rule.sorts) for rule in around.rules), default=0)
    pool = rest.profiles.pool((), most)
    try:
        found = [s for atoms in claiming for s in around.types(atoms, pool)]
    except (Unfaithful, TooMany):
        return None
    if not _are_closed(found, names):
        return None
    return Copies(rest, names, tuple(standing.sentence for standing in found))


def _is_upstream(rest: Rest, atoms: RuleAtoms, names: frozenset[str]) -> bool:
    """Tell whether what a rule conditions copies on is a copy, too, or certain and no descendant of one."""
    others = atoms.conditions - names
    is_apart = not any(rest.schema.reaches(name, others) for name in names)
    has_stamp = atoms.rule.tau or atoms.is_atomic
    return has_stamp and is_apart and others.isdisjoint(rest.free) and not names & rest.schema.entangled


def _has_single_parents(around: Around, rest: Rest, names: frozenset[str]) -> bool:
    """Tell whether each free atom depends on one copied atom at most, so that it needs no two jointly."""
    needs: dict[str, set[tuple[object, ...]]] = {}
    for atoms in around.rules:
        if atoms.claimed.isdisjoint(rest.free):
            continue
        claimed = next(o for o in atoms.occurrences if o.is_claimed)
        place = {argument: i for i, argument in enumerate(claimed.arguments)}
        for occurrence in atoms.occurrences:
            if not occurrence.is_claimed and occurrence.name in names:
                if not all(argument in place for argument in occurrence.arguments):
                    return False
                where = tuple(place[argument] for argument in occurrence.arguments)
                needs.setdefault(claimed.name, set()).add((occurrence.name, where))
    return all(len(needed) == 1 for needed in needs.values())


def _are_closed(found: Iterable[Standing], names: frozenset[str]) -> bool:
    """Tell whether every sentence has each copied atom's other variables among its parents."""
    listed = list(found)
    sentences = tuple(standing.sentence for standing in listed)
    variables = tuple(dict.fromkeys(v for s in sentences for v in s.scope))
    graph = dependency_graph(Network(variables, sentences))
    for sentence, is_loose in listed:
        tied = [v for v in sentence.scope if atom_of(v).name in names]
        claimed = set(sentence.claim_scope)
        if all(v in claimed for v in tied):
            continue
        # A condition among the copies: the arrows back come from other instances, which must exist.
        if is_loose or any(not set(sentence.scope) - {v} <= set(graph.parents(v)) for v in tied):
            return False
    return True


def renamed(formula: Formula, names: Mapping[Variable, Variable]) -> Formula:
    """Replace variables of a formula by others with the same values."""
    match formula:
        case Truth():
            return formula
        case Is(variable, value):
            return Is(names.get(variable, variable), value)
        case Not(operand):
            return Not(renamed(operand, names))
        case And(operands) | Or(operands) | Xor(operands):
            return type(formula)(tuple(renamed(operand, names) for operand in operands))
        case Implies(premise, conclusion):
            return Implies(renamed(premise, names), renamed(conclusion, names))
        case Iff(left, right):
            return Iff(renamed(left, names), renamed(right, names))
        case _:
            assert_never(formula)


def sentence_renamed(sentence: Sentence, names: Mapping[Variable, Variable]) -> Sentence:
    """Replace variables of a sentence by others with the same values."""
    if names.keys().isdisjoint(sentence.scope):
        return sentence
    claims = tuple((weight, renamed(claim, names)) for weight, claim in sentence.claims)
    return replace(sentence, claims=claims, given=renamed(sentence.given, names))


# ---- coins ------------------------------------------------------------------------------------------------
# Rests of independent coins: every atom of a predicate true with one probability, whatever the others are.
# Input: a theory read backwards, and the predicates that are not free. Output: probabilities that satisfy
# every instance of every rule, checked in fractions on instances that stand for all of them. Where all
# atoms are independent, every condition holds (docs/proofs.md, proof 18).

Coins = Mapping[str, Fraction]
"""The probability of the atoms of each predicate."""

MOST_COINS = 3
"""How many predicates may have coins, and how many rests of coins are tried."""

MOST_TRIES = 400
"""So many combinations of probabilities are looked at."""

WIDEST = 8
"""A sentence about more atoms is not looked at."""


def coins_of(rest: Rest) -> tuple[Coins, ...]:
    """Return a few rests of coins that satisfy every rule."""
    names, around = rest.certain, rest.around
    if not 0 < len(names) <= MOST_COINS or any(around.values(name) != BOOLEAN for name in names):
        return ()
    most = max(len(rule.sorts) for rule in around.rules)
    pool = rest.profiles.pool((), most)
    claiming = [atoms for atoms in around.rules if not atoms.claimed <= rest.free]
    try:
        said = [s.sentence for atoms in claiming for s in around.types(atoms, pool)]
    except (Unfaithful, TooMany):
        return ()
    is_plain = all(atom_of(v).name not in rest.free and len(s.scope) <= WIDEST for s in said for v in s.scope)
    return tuple(islice(_passing(around, names, said), MOST_COINS)) if is_plain else ()


def _passing(around: Around, names: tuple[str, ...], said: list[Sentence]) -> Iterator[Coins]:
    options = [sorted(set(_candidates(around, name))) for name in names]
    for chances in islice(product(*options), MOST_TRIES):
        coins = dict(zip(names, chances, strict=True))
        if all(_holds(sentence, coins) for sentence in said):
            yield coins


def _candidates(around: Around, name: str) -> Iterator[Fraction]:
    """Yield probabilities to try: the bounds of rules, their middle, and a few others."""
    for atoms in around.rules:
        if name in atoms.claimed:
            low, high = atoms.rule.plain.lower, atoms.rule.plain.upper
            yield from (p for p in (low, (low + high) / 2, high) if 0 <= p <= 1)
    yield from (Fraction(n, 10) for n in (1, 3, 5, 7, 9))


def _holds(sentence: Sentence, coins: Coins) -> bool:
    """Tell whether a sentence holds of independent coins."""
    over = sentence.scope
    chances = [coins[atom_of(v).name] for v in over]
    given = truth_table(sentence.given, over)
    claims = [(weight, truth_table(claim, over)) for weight, claim in sentence.claims]
    mass = value = Fraction(0)
    for states in product((0, 1), repeat=len(over)):
        if given[states]:
            weight = _weight(states, chances)
            mass += weight
            value += weight * sum((w for w, table in claims if table[states]), Fraction(0))
    return sentence.lower * mass <= value <= sentence.upper * mass


def _weight(states: tuple[int, ...], chances: list[Fraction]) -> Fraction:
    found = Fraction(1)
    for state, chance in zip(states, chances, strict=True):
        found *= chance if state else 1 - chance
    return found


def sentence_of(coin: Variable, coins: Coins) -> Sentence:
    """Return what is said of one coin."""
    chance = coins[atom_of(coin).name]
    return Sentence.of(coin.is_("true"), chance, chance)
