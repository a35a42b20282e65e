"""Rules that have instances, with short quantifiers written out.

Input: a rule, the domains, and which relations have facts. Output: the rule, in its condition quantifiers
over nothing replaced by their values, and everywhere those over a few elements by conjunctions and
disjunctions, which is what they are when ground; None where no instance can exist, so that the rule says
nothing. What is left may still have no instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from credalog.grounding.guards import conjuncts
from credalog.theory import (
    YES,
    Application,
    Assessment,
    Binder,
    Boolean,
    Comparison,
    Compound,
    Connective,
    Name,
    Order,
    Pattern,
    Prefix,
    Quantified,
    Quantifier,
    Rule,
    Term,
)

__all__ = ["bound_names", "instanced"]

NO = Boolean(False)

MOST_WRITTEN_OUT = 4
"""Quantifiers over more elements stay as they are."""


class Domains(Protocol):
    """The domains of a theory."""

    def size(self, sort: str) -> int:
        """Return how many elements a domain has."""

    def elements(self, sort: str) -> Iterable[str]:
        """Return the elements of a domain in order."""


def instanced(rule: Rule, domains: Domains, has_facts: Callable[[str], bool]) -> Rule | None:
    """Return a rule as its instances see it, or None where it has none."""
    if not _may_hold(rule.prefix, domains, has_facts):
        return None
    if not isinstance(rule.assessment, Assessment):
        return rule
    assessment, bound = rule.assessment, frozenset(bound_names(rule))
    given = written_out(folded(assessment.given, domains), domains, bound)
    claims = tuple((weight, written_out(claim, domains, bound)) for weight, claim in assessment.claims)
    if (given, claims) == (assessment.given, assessment.claims):
        return rule
    return replace(rule, assessment=replace(assessment, given=given, claims=claims))


def _may_hold(prefix: Prefix, domains: Domains, has_facts: Callable[[str], bool]) -> bool:
    """Tell whether variables may have values that pass a guard."""
    if any(domains.size(b.sort) < (len(b.names) if b.distinct else 1) for b in prefix.binders if b.names):
        return False
    guards = tuple(conjuncts(prefix.guard))
    if any(guard == NO or (isinstance(guard, Application) and not has_facts(guard.name)) for guard in guards):
        return False
    below = {_rising(guard) for guard in guards if isinstance(guard, Comparison)} - {None}
    return not any((right, left) in below for left, right in filter(None, below))


def _rising(comparison: Comparison) -> tuple[Term, Term] | None:
    """Return the lesser and the greater term, where one must be less."""
    match comparison.order:
        case Order.LESS:
            return comparison.left, comparison.right
        case Order.GREATER:
            return comparison.right, comparison.left
        case _:
            return None


def folded(pattern: Pattern, domains: Domains) -> Pattern:
    """Replace quantifiers over nothing by their values, and what these decide."""
    match pattern:
        case Quantified(quantifier, prefix) if any(domains.size(b.sort) == 0 for b in prefix.binders):
            return Boolean(quantifier is Quantifier.FORALL)
        case Compound(Connective.NOT, (operand,)):
            inner = folded(operand, domains)
            return (
                Boolean(not inner.value)
                if isinstance(inner, Boolean)
                else replace(pattern, operands=(inner,))
            )
        case Compound(Connective.AND | Connective.OR as connective, operands):
            return _joined(pattern, connective, tuple(folded(o, domains) for o in operands))
        case _:
            return pattern


def _joined(pattern: Compound, connective: Connective, operands: tuple[Pattern, ...]) -> Pattern:
    """Leave out of a conjunction what is true, of a disjunction what is false."""
    neutral, deciding = (YES, NO) if connective is Connective.AND else (NO, YES)
    if deciding in operands:
        return deciding
    kept = tuple(operand for operand in operands if operand != neutral)
    if len(kept) == len(pattern.operands):
        return replace(pattern, operands=kept)
    return neutral if not kept else kept[0] if len(kept) == 1 else replace(pattern, operands=kept)


def written_out(pattern: Pattern, domains: Domains, bound: frozenset[str]) -> Pattern:
    """Replace quantifiers over a few elements by what they stand for; `bound` are names of variables."""
    match pattern:
        case Compound(connective, operands):
            return Compound(connective, tuple(written_out(o, domains, bound) for o in operands))
        case Quantified(quantifier, Prefix((Binder((name,), sort),), Boolean(True)), body):
            elements = tuple(domains.elements(sort)) if domains.size(sort) <= MOST_WRITTEN_OUT else ()
            if not elements or not bound.isdisjoint(elements) or not _is_simple(body):
                return pattern
            instances = tuple(substituted(body, {name: element}) for element in elements)
            connective = Connective.AND if quantifier is Quantifier.FORALL else Connective.OR
            return instances[0] if len(instances) == 1 else Compound(connective, instances)
        case _:
            return pattern


def _is_simple(body: Pattern) -> bool:
    """Tell whether a formula is made of applied names alone."""
    match body:
        case Compound(_, operands):
            return all(map(_is_simple, operands))
        case Application(_, arguments):
            return all(isinstance(argument, Name) for argument in arguments)
        case _:
            return False


def substituted(body: Pattern, values: Mapping[str, str]) -> Pattern:
    """Replace variables of a simple formula by elements."""
    match body:
        case Compound(connective, operands):
            return Compound(connective, tuple(substituted(o, values) for o in operands))
        case Application(name, arguments):
            return Application(name, tuple(_valued(argument, values) for argument in arguments))
        case _:
            return body


def _valued(term: Term, values: Mapping[str, str]) -> Term:
    return Name(values[term.name]) if isinstance(term, Name) and term.name in values else term


def bound_names(rule: Rule) -> Iterator[str]:
    """Yield the logical variables of a rule, those of its inner quantifiers included."""
    patterns: list[Pattern] = [claim for _, claim in rule.plain.claims]
    patterns += [rule.plain.given, rule.prefix.guard]
    prefixes = [rule.prefix]
    while patterns:
        match patterns.pop():
            case Compound(_, operands):
                patterns += operands
            case Quantified(_, prefix, body):
                prefixes.append(prefix)
                patterns += [prefix.guard, body]
            case _:
                pass
    return (name for prefix in prefixes for binder in prefix.binders for name in binder.names)
