"""Rests of independent coins: every atom of a predicate true with one probability, whatever the others are.

Input: a theory read backwards, and the predicates that are not free. Output: probabilities that satisfy every
instance of every rule, checked in fractions on instances that stand for all of them. Where all atoms are
independent, every condition holds (docs/proofs.md, proof 18).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice, product

from credalog.grounding.around import Around, TooMany, Unfaithful
from credalog.grounding.rule_atoms import atom_of
from credalog.methods.lifted.rest import Rest
from credalog.network.formulas import BOOLEAN, Variable, truth_table
from credalog.network.sentences import Sentence

__all__ = ["Coins", "coins_of", "sentence_of"]

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
