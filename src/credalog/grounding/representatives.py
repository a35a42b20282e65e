"""A theory with fewer elements, some of which stand for all that are left out (docs/proofs.md, proof 21).

Input: a theory, and of some domains the elements that are kept: `special` ones and `alike` ones. Output: the
smaller theory, or `Refused` where the elements left out might be told apart from those that are alike. The
verifier of certificates stands on it, so it needs no arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from credalog.errors import require
from credalog.grounding.rule_atoms import atom_of
from credalog.network.formulas import Variable, literals_of
from credalog.network.sentences import Network
from credalog.numbers.budget import require_time
from credalog.theory import (
    Comparison,
    Constant,
    Domain,
    Order,
    Predicate,
    Quantified,
    RandomFunction,
    Relation,
    Shifted,
    Theory,
)

__all__ = ["cell_of", "fewer", "named_in", "needed", "require_short_paths"]


def fewer(theory: Theory, kept: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> Theory:
    """Return the theory with fewer elements of some domains: the special ones and those that are alike."""
    _require_plain(theory)
    domains = {d.name: d for d in theory.declarations if isinstance(d, Domain)}
    named, smaller = named_in(theory), dict[str, Domain]()
    for name, (special, alike) in kept.items():
        domain = domains[name]
        rest, chosen = frozenset(domain.elements).difference(special), frozenset((*special, *alike))
        others = frozenset(e for d in domains.values() if d is not domain for e in d.elements)
        require(chosen <= frozenset(domain.elements), f"the elements are those of {name}")
        require(rest.isdisjoint(named | others) and rest.issuperset(alike), "elements are not told apart")
        require(len(set(alike)) >= needed(theory, name), "enough elements stand for the others")
        smaller[name] = Domain(name, tuple(e for e in domain.elements if e in chosen))
    declarations = tuple(smaller.get(d.name, d) for d in theory.declarations)
    return replace(theory, declarations=declarations, queries=(), evidence=())


def needed(theory: Theory, domain: str) -> int:
    """Return how many elements of a domain a rule speaks of at most, one at least."""
    counts = (sum(len(b.names) for b in rule.prefix.binders if b.sort == domain) for rule in theory.rules)
    return max(1, *counts)


def named_in(theory: Theory) -> frozenset[str]:
    """Return the elements that are mentioned anywhere but in the lists of their domains."""
    others = [d for d in theory.declarations if not isinstance(d, Domain)]
    words = frozenset(part for part in _parts((others, tuple(theory.rules))) if isinstance(part, str))
    odd = [word for word in words if not word.isidentifier()]
    elements = (e for d in theory.declarations if isinstance(d, Domain) for e in d.elements)
    return frozenset(e for e in elements if e in words or any(e in word for word in odd))


def _require_plain(theory: Theory) -> None:
    """Require that nothing but names tells elements apart: no order, no steps, no quantifiers, no tables."""
    require(not theory.independences, "no independence is declared")
    require(all(rule.is_plain for rule in theory.rules), "all rules have one condition and plain numbers")
    plain = Domain | Predicate | RandomFunction | Relation | Constant
    listed = (not isinstance(d, RandomFunction) or isinstance(d.values, tuple) for d in theory.declarations)
    require(all(isinstance(d, plain) for d in theory.declarations) and all(listed), "nothing is tabulated")
    for part in _parts(tuple(theory.rules)):
        is_equal = not isinstance(part, Comparison) or part.order in (Order.EQUAL, Order.UNEQUAL)
        require(is_equal and not isinstance(part, Shifted | Quantified), "elements have no order or number")


def _parts(value: Any) -> Iterator[Any]:
    """Yield all that a statement is made of; where it was written is no part of it."""
    waiting = [value]
    while waiting:
        require_time()
        part = waiting.pop()
        yield part
        if isinstance(part, Mapping):
            waiting.extend(part.items())
        elif isinstance(part, tuple | list | frozenset | set):
            waiting.extend(part)
        elif is_dataclass(part) and not isinstance(part, type):
            waiting.extend(getattr(part, f.name) for f in fields(part) if f.compare)


def cell_of(theory: Theory, variable: Variable, alike: frozenset[str]) -> tuple[object, ...] | None:
    """Return what atoms have in common that differ in elements that are alike; None where there are none."""
    name, elements = atom_of(variable)
    if alike.isdisjoint(elements):
        return None
    if any(isinstance(d, Predicate) and d.name == name and d.symmetric for d in theory.declarations):
        elements = tuple(sorted(elements, key=lambda e: (e in alike, e)))
    order = list(dict.fromkeys(e for e in elements if e in alike))
    return name, *(order.index(e) if e in alike else e for e in elements)


def require_short_paths(network: Network) -> None:
    """Require that parents come from single sentences: no claim of several atoms is a condition elsewhere."""
    require(not network.contrasts, "nothing is said across conditions")
    conditions = {frozenset(s.given_scope) for s in network.sentences}
    joint = (s for s in network.sentences if s.is_linear or len(literals_of(s.claim) or ()) != 1)
    claims: Iterable[frozenset[Variable]] = (frozenset(s.claim_scope) for s in joint)
    require(conditions.isdisjoint(claims), "no joint claim is a condition")
