"""Elements that nothing tells apart.

Input: a theory read backwards. Output: `Profiles`: of each element the unary relations that hold of it, the
domains it belongs to, and itself where a rule names it; and of each profile a few elements that stand for all
of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, combinations, islice
from typing import NamedTuple

from credalog.grounding.guards import names_in
from credalog.grounding.neighbourhood import Around
from credalog.theory import Assessment, Prefix, Relation

__all__ = ["Profile", "Profiles"]


class Profile(NamedTuple):
    """What is known of an element apart from its place in relations of several elements."""

    relations: frozenset[str]
    domains: frozenset[str]
    name: str = ""


class Profiles:
    """The profiles of the elements of a theory."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._unary = {
            d.name: frozenset(fact[0] for fact in d.facts)
            for d in around.theory.declarations
            if isinstance(d, Relation) and len(d.sorts) == 1
        }
        named = (n for rule in around.theory.rules for n in _names_of_rule(rule.plain, rule.prefix))
        self._named = frozenset(n for n in named if around.is_constant(n))

    def of(self, element: str) -> Profile:
        """Return the profile of an element."""
        relations = frozenset(name for name, members in self._unary.items() if element in members)
        domains = frozenset(d for d in self._around.domains if self._around.has(d, element))
        return Profile(relations, domains, element if element in self._named else "")

    def holds(self, relation: str, profile: Profile) -> bool | None:
        """Tell whether a unary relation holds of the elements of a profile; None if it is not unary."""
        return relation in profile.relations if relation in self._unary else None

    @cached_property
    def by_domain(self) -> dict[str, tuple[Profile, ...]]:
        """Return the profiles that occur in each domain."""
        found: dict[str, dict[Profile, None]] = {d: {} for d in self._around.domains}
        plain = (self.of(elements[0]) for elements in self._plain.values() if elements)
        for profile in (*self._groups, *plain):
            for domain in profile.domains:
                found[domain][profile] = None
        return {domain: tuple(profiles) for domain, profiles in found.items()}

    @cached_property
    def _told_apart(self) -> frozenset[str]:
        """Return the elements of unary relations, of several domains, and those that rules name."""
        shared = (
            frozenset(self._around.elements(one)).intersection(self._around.elements(other))
            for one, other in combinations(self._around.domains, 2)
        )
        return self._named.union(*self._unary.values(), *shared)

    @cached_property
    def _groups(self) -> dict[Profile, tuple[str, ...]]:
        """Return the elements that are told apart by their profiles: sets are split, not elements sorted."""
        groups = [self._told_apart - self._named, *(frozenset((e,)) for e in sorted(self._named))]
        domains = (self._around.elements(domain) for domain in self._around.domains)
        for members in (*self._unary.values(), *map(frozenset, domains)):
            groups = [part for group in groups for part in (group & members, group - members) if part]
        ordered = (tuple(sorted(group)) for group in groups)
        return {self.of(elements[0]): elements for elements in ordered if elements}

    @cached_property
    def _plain(self) -> dict[str, tuple[str, ...]]:
        """Return the elements of each domain that nothing tells apart."""
        return {
            domain: tuple(e for e in self._around.elements(domain) if e not in self._told_apart)
            for domain in self._around.domains
        }

    def plain(self, domain: str) -> tuple[str, ...]:
        """Return the elements of a domain that nothing tells apart."""
        return self._plain[domain]

    def pool(self, named: Iterable[str], each: int) -> dict[str, list[str]]:
        """Return some elements, and so many others of each profile, by domain."""
        chosen = dict.fromkeys(named)
        others = [
            islice((e for e in group if e not in chosen), each)
            for group in (*self._groups.values(), *self._plain.values())
        ]
        chosen |= dict.fromkeys(chain.from_iterable(map(tuple, others)))
        return {d: [e for e in chosen if self._around.has(d, e)] for d in self._around.domains}


def _names_of_rule(assessment: Assessment, prefix: Prefix) -> Iterator[str]:
    claims = (claim for _, claim in assessment.claims)
    for pattern in (*claims, assessment.given, prefix.guard):
        yield from names_in(pattern)
