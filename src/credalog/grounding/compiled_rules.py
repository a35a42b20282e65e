"""Rules ready to be instantiated.

Input: a rule whose formulas and numbers are compiled, and the instances of its prefix. Output: its sentences
and comparisons across conditions, one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

from credalog.grounding.amounts import Body, at_rows, traced
from credalog.grounding.guards import Instances
from credalog.grounding.patterns import Compiled
from credalog.grounding.terms import Environment, Maker, Scope
from credalog.network.formulas import FALSE, Formula, Variable
from credalog.network.sentences import Contrast, Sentence, Source, Weighted
from credalog.theory import Assessment, ContrastAssessment, Misstatement, Rule, normal_form, written

_ZERO = Fraction(0)


@overload
def made(compiled: Compiled, environment: Environment) -> Formula: ...
@overload
def made(compiled: Variable | Maker[Variable], environment: Environment) -> Variable: ...
def made(compiled: Any, environment: Environment) -> Any:
    """Return what was compiled, for one binding of the logical variables."""
    return compiled(environment) if callable(compiled) else compiled


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule ready to be instantiated."""

    rule: Rule
    instances: Instances
    claims: tuple[Compiled, ...]
    given: Compiled
    numbers: Body | Assessment | ContrastAssessment
    width: int
    expansion: int
    """At most how many instances of quantifiers the formulas of one sentence have."""
    searched: int
    """At most how many instances of quantifiers a guard looks through."""
    scope: Scope
    """The logical variables that the rule binds."""
    givens: tuple[Compiled, ...] = ()
    """The conditions of a rule across conditions, one for each claim."""

    @property
    def most(self) -> int:
        """Return a number that the sentences and the instances of their quantifiers do not exceed."""
        return self.instances.most * max(1, self.expansion)

    @property
    def search(self) -> int:
        """Return at most how many instances the quantifiers of all its guards look through."""
        return self.instances.most * self.searched

    def contrasts(self) -> Iterator[Contrast]:
        """Yield the instances of a rule across conditions; where a condition is false it says nothing."""
        rule, environment = self.rule, [""] * self.width
        for _ in self.instances.of(environment):
            givens = [made(given, environment) for given in self.givens]
            if FALSE in givens:
                continue
            claims = [made(claim, environment) for claim in self.claims]
            weights, lower, upper, rows = self._numbers_across(environment)
            terms = tuple(map(Weighted, weights, claims, givens))
            source = traced(rule.source, rows)
            yield Contrast(terms, lower, upper, rule.tau, self._label(environment), source)

    def _numbers_across(
        self, environment: Environment
    ) -> tuple[list[Fraction], Fraction, Fraction, tuple[Source, ...]]:
        numbers = self.numbers
        if isinstance(numbers, ContrastAssessment):
            return [term.weight for term in numbers.terms], numbers.lower, numbers.upper, ()
        assert isinstance(numbers, Body)
        weights, (low, high), rows = numbers.of(environment)
        try:
            # Claims under different conditions are never joined.
            terms, lower, upper = normal_form(
                tuple((weight, i) for i, weight in enumerate(weights)), low, high
            )
        except Misstatement as error:
            raise at_rows(error, rows) from None
        kept = dict.fromkeys(range(len(weights)), _ZERO) | {i: weight for weight, i in terms}
        return list(kept.values()), lower, upper, rows

    def _label(self, environment: Environment) -> str:
        label, bound = self.rule.label, len(self.instances.levels)
        return f"{label}[{','.join(map(written, environment[:bound]))}]" if bound and label else label

    def sentences(self) -> Iterator[Sentence]:
        """Yield the instances of a rule under one condition."""
        environment = [""] * self.width
        for _ in self.instances.of(environment):
            if (sentence := self.sentence(environment, self._label(environment))) is not None:
                yield sentence

    def sentence(self, environment: Environment, label: str) -> Sentence | None:
        """Return the sentence of one instance; None where its condition is false."""
        # The condition comes first: where it is false, the claims need not even be defined.
        given = made(self.given, environment)
        if given == FALSE:
            return None
        claims = [made(claim, environment) for claim in self.claims]
        rule, numbers = self.rule, self.numbers
        assert not isinstance(numbers, ContrastAssessment)
        if isinstance(numbers, Assessment):
            terms = tuple([(weight, made) for (weight, _), made in zip(numbers.claims, claims, strict=True)])
            lower, upper, source = numbers.lower, numbers.upper, rule.source
        else:
            weights, (low, high), rows = numbers.of(environment)
            weighted = tuple(zip(weights, claims, strict=True))
            try:
                terms, lower, upper = normal_form(weighted, low, high, is_about=numbers.is_about)
            except Misstatement as error:
                raise at_rows(error, rows) from None
            source = traced(rule.source, rows)
        return Sentence(terms, given, lower, upper, rule.tau, label, source, rule.learned)
