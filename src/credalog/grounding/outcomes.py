"""What the formulas of a rule can come to, where some atoms are known and others are not.

Input: patterns, and what is known of atoms, facts and comparisons. Output: every combination of truth values
that the patterns may have. What is not known may be either; where two unknown atoms are one and the same this
lists too much, and never too little.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar, assert_never

from credalog.grounding.guards import names_in
from credalog.grounding.neighbourhood import Around
from credalog.theory import (
    Application,
    Boolean,
    Comparison,
    Compound,
    Connective,
    Name,
    Order,
    Pattern,
    Quantified,
    Quantifier,
    Shifted,
    Term,
)

__all__ = ["Evaluator", "Knowledge", "TooManyOutcomes", "outcomes"]

T = TypeVar("T")

Guess: TypeAlias = Mapping[Hashable, bool]

MOST = 2048
"""How many combinations are looked through."""


class TooManyOutcomes(Exception):
    """There are more combinations than are looked through."""


class _Unknown(Exception):
    def __init__(self, leaf: Hashable) -> None:
        super().__init__()
        self.leaf = leaf


class Knowledge(Protocol):
    """What is known of the leaves of a formula; None where it is not."""

    def atom(self, name: str, arguments: tuple[Term, ...]) -> str | None:
        """Return the value of a random atom."""

    def fact(self, name: str, arguments: tuple[Term, ...]) -> bool | None:
        """Tell whether a relation holds."""

    def same(self, left: Term, right: Term) -> bool | None:
        """Tell whether two terms are one element."""

    def key(self, term: Term) -> Hashable:
        """Return what two terms share that are certainly one element."""

    def inside(self, quantified: Quantified) -> Iterator[Knowledge]:
        """Yield what may be known inside a quantifier."""


def outcomes(evaluate: Callable[[Guess], T]) -> Iterator[T]:
    """Yield what an evaluation comes to under every guess that it asks for."""
    pending: list[dict[Hashable, bool]] = [{}]
    for _ in range(MOST):
        if not pending:
            return
        guess = pending.pop()
        try:
            found = evaluate(guess)
        except _Unknown as unknown:
            pending += [{**guess, unknown.leaf: value} for value in (True, False)]
            continue
        yield found
    raise TooManyOutcomes


@dataclass(frozen=True, slots=True)
class Evaluator:
    """The truth of patterns under what is known, and guesses about the rest."""

    around: Around
    known: Knowledge

    def truth(self, pattern: Pattern, guess: Guess) -> bool:
        """Evaluate a pattern."""
        match pattern:
            case Boolean(value):
                return value
            case Name() | Application():
                return self._atom(pattern, guess)
            case Compound(connective, operands):
                return self._compound(connective, operands, guess)
            case Comparison():
                return self._comparison(pattern, guess)
            case Quantified():
                return self._quantified(pattern, guess)
            case Shifted():
                raise TooManyOutcomes
            case _:
                assert_never(pattern)

    def _atom(self, pattern: Name | Application, guess: Guess) -> bool:
        if self.around.is_random(pattern.name, pattern):
            return self._value(pattern, "true", guess)
        arguments = pattern.arguments if isinstance(pattern, Application) else ()
        known = self.known.fact(pattern.name, arguments)
        return known if known is not None else self._guessed("fact", pattern.name, arguments, guess)

    def _value(self, pattern: Name | Application, value: str, guess: Guess) -> bool:
        """Tell whether a random atom has a value."""
        name, arguments = self.around.spelt(pattern)
        known = self.known.atom(name, arguments)
        if known is not None:
            return known.lower() == value.lower()
        return self._guessed(value, name, arguments, guess)

    def _known_value(self, term: Term) -> str | None:
        if not isinstance(term, Name | Application) or not self.around.is_random(term.name, term):
            return None
        return self.known.atom(*self.around.spelt(term))

    def _guessed(self, what: str, name: str, arguments: tuple[Term, ...], guess: Guess) -> bool:
        keys = tuple(map(self.known.key, arguments))
        if self.around.is_symmetric(name):
            keys = tuple(sorted(keys, key=repr))
        return _look(guess, (what, name, keys))

    def _compound(self, connective: Connective, operands: tuple[Pattern, ...], guess: Guess) -> bool:
        parts = (self.truth(operand, guess) for operand in operands)
        match connective:
            case Connective.NOT:
                return not next(parts)
            case Connective.AND:
                return all(parts)
            case Connective.NAND:
                return not all(parts)
            case Connective.OR:
                return any(parts)
            case Connective.XOR:
                return sum(parts) % 2 == 1
            case Connective.IMPLIES:
                return next(parts) <= next(parts)
            case Connective.IFF:
                return next(parts) == next(parts)
            case _:
                assert_never(connective)

    def _comparison(self, pattern: Comparison, guess: Guess) -> bool:
        left, right = pattern.left, pattern.right
        is_unequal = pattern.order is Order.UNEQUAL
        if isinstance(left, Name | Application) and self.around.is_random(left.name, left):
            is_plain = isinstance(right, Name) and self.around.is_value(left, right.name)
            if is_plain and pattern.order in (Order.EQUAL, Order.UNEQUAL):
                return self._value(left, right.name, guess) != is_unequal  # type: ignore[union-attr]
            values = [self._known_value(side) for side in (left, right)]
            if None not in values and pattern.order in (Order.EQUAL, Order.UNEQUAL):
                return (values[0] == values[1]) != is_unequal
        else:
            same = self.known.same(left, right)
            if same is not None and pattern.order in (Order.EQUAL, Order.UNEQUAL):
                return same != is_unequal
            if same:
                return pattern.order in (Order.LESS_OR_EQUAL, Order.GREATER_OR_EQUAL)
        return _look(guess, (pattern.order, self.known.key(left), self.known.key(right)))

    def _quantified(self, pattern: Quantified, guess: Guess) -> bool:
        """Evaluate a quantifier where its body is the same for all instances; else it may be either."""
        is_exists = pattern.quantifier is Quantifier.EXISTS
        for known in self.known.inside(pattern):
            inner = Evaluator(self.around, known)
            bodies = outcomes(lambda g, e=inner: e._instance(pattern, g))  # type: ignore[misc]
            if is_exists in bodies:
                return _look(guess, (pattern, *self._free_keys(pattern)))
        return not is_exists

    def _free_keys(self, pattern: Quantified) -> Iterator[Hashable]:
        """Yield what the free variables of a quantifier stand for: another rule's may have the same names."""
        bound = frozenset(_bound_in(pattern))
        return (self.known.key(Name(n)) for n in names_in(pattern) if n not in bound)

    def _instance(self, pattern: Quantified, guess: Guess) -> bool | None:
        return self.truth(pattern.body, guess) if self.truth(pattern.prefix.guard, guess) else None


def _bound_in(pattern: Pattern) -> Iterator[str]:
    """Yield the variables of the quantifiers in a pattern; none of them is free elsewhere in it."""
    match pattern:
        case Compound(_, operands):
            for operand in operands:
                yield from _bound_in(operand)
        case Quantified(_, prefix, body):
            yield from (name for binder in prefix.binders for name in binder.names)
            yield from _bound_in(prefix.guard)
            yield from _bound_in(body)
        case _:
            return


def _look(guess: Guess, leaf: Hashable) -> bool:
    if leaf not in guess:
        raise _Unknown(leaf)
    return guess[leaf]
