"""Prefixes in another order, and what of their guards is left for elements that stand for others.

Input: the prefix of a rule and the variables that are bound before. Output: an order in which facts are
followed, the prefix in that order, and the variables that no fact proposes values for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from credalog.grounding.guards import conjuncts, names_in
from credalog.theory import (
    YES,
    Application,
    Binder,
    Comparison,
    Name,
    Order,
    Pattern,
    Prefix,
    conjoined,
)

__all__ = ["apart", "followed", "free_variables", "reordered"]


def followed(guard: Pattern, sorts: Mapping[str, str], bound: frozenset[str]) -> tuple[str, ...]:
    """Order variables so that facts are followed: bound ones first, then those that a relation connects."""
    order = [name for name in sorts if name in bound]
    links = [set(names_in(g)) & sorts.keys() for g in conjuncts(guard) if _proposes(g)]
    while True:
        near = (n for n in sorts if n not in order and any(n in link and link & {*order} for link in links))
        name = next(near, None)
        if name is None:
            break
        order.append(name)
    related = {name for link in links for name in link}
    rest = sorted((n for n in sorts if n not in order), key=lambda n: n not in related)
    return (*order, *rest)


def apart(guard: Pattern) -> Pattern:
    """Return what is left of a guard that is not looked at: of two elements in order, that they differ."""
    match guard:
        case Comparison(Order.LESS | Order.GREATER, Name() as left, Name() as right):
            return Comparison(Order.UNEQUAL, left, right)
        case _:
            return YES


def _proposes(guard: Pattern) -> bool:
    match guard:
        case Application() | Comparison(Order.EQUAL):
            return True
        case _:
            return False


def free_variables(guards: Iterable[Pattern], order: Sequence[str], bound: frozenset[str]) -> frozenset[str]:
    """Return the variables that no relation of several elements, and no equation, proposes values for."""
    proposed = set(bound)
    for place, name in enumerate(order):
        for guard in guards:
            match guard:
                case Application(_, arguments) if Name(name) in arguments and len(arguments) > 1:
                    proposed.add(name)
                case Comparison(Order.EQUAL, left, right):
                    for side, other in ((left, right), (right, left)):
                        if side == Name(name) and set(names_in(other)) & set(order) <= set(order[:place]):
                            proposed.add(name)
                case _:
                    pass
    return frozenset(order) - proposed


def reordered(prefix: Prefix, order: Sequence[str], sorts: Mapping[str, str]) -> Prefix:
    """Bind the variables one by one in another order; that some are distinct becomes part of the guard."""
    different = [
        Comparison(Order.UNEQUAL, Name(one), Name(other))
        for binder in prefix.binders
        if binder.distinct
        for one, other in combinations(binder.names, 2)
    ]
    binders = tuple(Binder((name,), sorts[name]) for name in order)
    return Prefix(binders, conjoined((*conjuncts(prefix.guard), *different)))
