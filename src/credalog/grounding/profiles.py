"""Elements that nothing tells apart.

Input: a theory read backwards. Output: `Profiles`: of each element the unary relations that hold of it, the
domains it belongs to, and itself where a rule names it; and of each profile a few elements that stand for all
of them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import cached_property
from itertools import combinations, islice
from typing import NamedTuple

from credalog.grounding.around import Around
from credalog.grounding.guards import names_in
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
        for profile in dict.fromkeys(map(self.of, self._one_of_each())):
            for domain in profile.domains:
                found[domain][profile] = None
        return {domain: tuple(profiles) for domain, profiles in found.items()}

    def _one_of_each(self) -> Iterator[str]:
        """Yield elements among which every profile occurs."""
        yield from self._told_apart
        for domain in self._around.domains:
            yield from islice(self._plain(domain), 1)

    def _plain(self, domain: str) -> Iterator[str]:
        return (e for e in self._around.elements(domain) if e not in self._told_apart)

    @cached_property
    def _told_apart(self) -> frozenset[str]:
        """Return the elements of unary relations, of several domains, and those that rules name."""
        shared = (
            frozenset(self._around.elements(one)).intersection(self._around.elements(other))
            for one, other in combinations(self._around.domains, 2)
        )
        return self._named.union(*self._unary.values(), *shared)

    def pool(self, named: Iterable[str], each: int) -> dict[str, list[str]]:
        """Return some elements, and so many others of each profile, by domain."""
        chosen = dict.fromkeys(named)
        counts: dict[Profile, int] = {}
        for element in self._others(chosen.copy(), each):
            profile = self.of(element)
            counts[profile] = counts.get(profile, 0) + 1
            if counts[profile] <= each:
                chosen[element] = None
        return {d: [e for e in chosen if self._around.has(d, e)] for d in self._around.domains}

    def _others(self, named: Container[str], each: int) -> Iterator[str]:
        yield from (e for e in sorted(self._told_apart) if e not in named)
        for domain in self._around.domains:
            yield from islice((e for e in self._plain(domain) if e not in named), each)


def _names_of_rule(assessment: Assessment, prefix: Prefix) -> Iterator[str]:
    claims = (claim for _, claim in assessment.claims)
    for pattern in (*claims, assessment.given, prefix.guard):
        yield from names_in(pattern)
