"""Rules, queries and evidence, and the theory that they make.

Input: bodies of rules, and the prefixes that bind their logical variables. Output: `Theory`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from credalog.errors import Place
from credalog.network.sentences import Estimate, Source
from credalog.origins import Origin
from credalog.theory.bodies import Assessment, Body, FamilyTable, Gap, Row, Sum
from credalog.theory.declarations import Declaration, Domain
from credalog.theory.patterns import NOTHING_BOUND, YES, Pattern, Prefix, Term
from credalog.theory.words import Misstatement, place_of


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence stated for every instance of its prefix.

    One that is wanted says nothing until it is learned from data; `learned` tells how it was.
    """

    assessment: Body
    prefix: Prefix = NOTHING_BOUND
    tau: bool = True
    label: str = ""
    source: Source | None = field(default=None, compare=False)
    wanted: bool = False
    learned: Estimate | None = None

    @property
    def is_plain(self) -> bool:
        """Tell whether the rule bounds probabilities under one condition by numbers of its own."""
        return isinstance(self.assessment, Assessment)

    @property
    def plain(self) -> Assessment:
        """Return what a plain rule says."""
        assert isinstance(self.assessment, Assessment)
        return self.assessment


def is_wanted(rule: Rule) -> bool:
    """Tell whether a rule still wants a number from data."""
    match rule.assessment:
        case Row(entries=entries):
            return Gap.WANTED in entries
        case FamilyTable(lines=lines, otherwise=otherwise):
            return Gap.WANTED in otherwise or any(Gap.WANTED in entries for _, entries in lines)
        case _:
            return rule.wanted


@dataclass(frozen=True, slots=True)
class IndependenceRule:
    """Two blocks of random terms declared independent given a third, for every instance of the prefix."""

    left: tuple[Term, ...]
    right: tuple[Term, ...]
    given: tuple[Term, ...] = ()
    prefix: Prefix = NOTHING_BOUND
    source: Source | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class QueryRule:
    """The question P(claim | given), for every instance of the prefix."""

    claim: Pattern
    given: Pattern = YES
    prefix: Prefix = NOTHING_BOUND
    source: Source | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CombinedRule:
    """The question for a sum of probabilities, or one sum divided by another, for every instance."""

    over: Sum
    under: Sum | None = None
    prefix: Prefix = NOTHING_BOUND
    source: Source | None = field(default=None, compare=False)


AskedRule: TypeAlias = QueryRule | CombinedRule


@dataclass(frozen=True, slots=True)
class Evidence:
    """A formula observed to be true."""

    formula: Pattern
    source: Source | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Theory:
    """Everything a text says: declarations and statements, each kind in the order written.

    `texts` maps each file to its text, so that an error found late can still point at its place; `data`
    says of each name that data files extend where they do.
    """

    declarations: tuple[Declaration, ...] = ()
    rules: Sequence[Rule] = ()
    independences: tuple[IndependenceRule, ...] = ()
    queries: tuple[AskedRule, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    texts: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    data: tuple[Origin, ...] = field(default=(), compare=False)

    @property
    def is_open(self) -> bool:
        """Tell whether a domain still waits for data."""
        return any(isinstance(d, Domain) and not d.elements for d in self.declarations)

    def labels(self) -> Iterator[str]:
        """Yield the labels of all sentences, repetitions included."""
        return (rule.label for rule in self.rules if rule.label)

    def place(self, source: Source | None, lexeme: str = "") -> Place | None:
        """Point at a word of the statement that was written there."""
        text = dict(self.texts).get(source.file) if source else None
        if source is None or text is None:
            return None
        # The statement may continue on later lines; what precedes it cannot be meant.
        rest = "\n".join(text.split("\n")[source.line - 1 :])
        return place_of(lexeme, rest, line=source.line, file=source.file)

    def place_of_declaration(self, name: str, error: Misstatement) -> Place | None:
        """Point at the row of data that is at fault, or else at a word of the statement that declares it."""
        for origin in self.data:
            if origin.name == name and error.row and (place := origin.find(error.row, error.cell)):
                return place
        words = "domain|predicate|proposition|variable|relation|function|number|let"
        declares = re.compile(rf"^[ \t]*(?:{words})\b.*?(?<!\w){re.escape(name)}(?!\w)", re.MULTILINE)
        for file, text in self.texts:
            if found := declares.search(text):
                return self.place(Source(file, text.count("\n", 0, found.start()) + 1), error.lexeme)
        return None
