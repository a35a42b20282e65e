"""Rules, queries and evidence, and the theory that they make.

Input: bodies of rules, and the prefixes that bind their logical variables. Output: `Theory`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from credalog.errors import Place
from credalog.network.columns import Lazy
from credalog.network.sentences import Estimate, Source
from credalog.theory.bodies import Assessment, Body, FamilyTable, Gap, Row, Sum
from credalog.theory.declarations import Declaration, Domain
from credalog.theory.origins import Origin
from credalog.theory.patterns import NOTHING_BOUND, YES, Compound, Name, Pattern, Prefix, Term
from credalog.theory.words import Misstatement, place_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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


# ---- rules by the million ---------------------------------------------------------------------------------
# Rules without quantifiers by the million.
# Input: forms of lines, each a rule over placeholders with columns of the words that stand in their places.
# Output: `Lines`, and `Rules`, a sequence that compares and indexes like a tuple of rules, each made on
# demand.

Places: TypeAlias = "NDArray[np.int32]"

NONE = -1
"""Stands where a form has its own bound, or no label."""


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of a text, and the numbers that some of them are."""

    spelt: Sequence[str]
    numbers: Sequence[Fraction | None]


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """Lines of one form: a rule over placeholders, and for each line the words in their places."""

    rule: Rule
    names: tuple[str, ...]
    """The placeholders, in the order of the columns."""
    columns: Places
    lower: Places
    upper: Places
    labels: Places
    where: NDArray[np.int64]
    """The places of the lines among all lines."""

    @property
    def said(self) -> Assessment:
        """Return what a line of this form says, over placeholders."""
        said = self.rule.assessment
        assert isinstance(said, Assessment), "a plain sentence has its numbers"
        return said

    def within(self, first: int, last: int) -> Form:
        """Keep the lines between two places."""
        start, stop = self.where.searchsorted((first, last))
        found = self.taken(slice(start, stop))
        return replace(found, where=found.where - first)

    def taken(self, rows: slice | NDArray[np.int64] | NDArray[np.bool_]) -> Form:
        """Keep some of the lines."""
        return Form(
            self.rule,
            self.names,
            self.columns[rows],
            self.lower[rows],
            self.upper[rows],
            self.labels[rows],
            self.where[rows],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Consecutive lines of a file, each a rule."""

    file: str
    numbers: NDArray[np.int64]
    """The line numbers."""
    words: Words
    forms: tuple[Form, ...]
    form_of: Places
    row_of: Places

    @classmethod
    def of(cls, file: str, numbers: NDArray[np.int64], words: Words, forms: Iterable[Form]) -> Lines:
        """Sort out which line is of which form."""
        # Lines are only made of long texts; whoever reads a short one needs no arrays.
        import numpy as np

        kept = tuple(form for form in forms if len(form.where))
        form_of, row_of = (np.zeros(len(numbers), dtype=np.int32) for _ in range(2))
        for i, form in enumerate(kept):
            form_of[form.where] = i
            row_of[form.where] = np.arange(len(form.where))
        return cls(file, numbers, words, kept, form_of, row_of)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def names(self) -> Iterable[str]:
        """Yield every name that occurs, once."""
        numbers = {number for form in self.forms for number in form.columns.ravel().tolist()}
        return (self.words.spelt[i] for i in sorted(numbers))

    @property
    def has_labels(self) -> bool:
        """Tell whether some line has a label."""
        return any((form.labels != NONE).any() for form in self.forms)

    def labels(self) -> Iterable[str]:
        """Yield the labels of the lines that have one, form by form."""
        for form in self.forms:
            yield from (self.words.spelt[i] for i in form.labels.tolist() if i != NONE)

    def naming(self, i: int) -> tuple[str, Source]:
        """Return the label and the place of a line."""
        label = int(self.forms[self.form_of[i]].labels[self.row_of[i]])
        source = Source(self.file, int(self.numbers[i]))
        return "" if label == NONE else self.words.spelt[label], source

    def rule(self, i: int) -> Rule:
        """Make the rule of a line."""
        form, row = self.forms[self.form_of[i]], int(self.row_of[i])
        spelt = self.words.spelt
        standing = dict(zip(form.names, (spelt[w] for w in form.columns[row].tolist()), strict=True))
        said = form.said
        ((weight, claim),) = said.claims
        assessment = replace(
            said,
            claims=((weight, _renamed(claim, standing)),),
            given=_renamed(said.given, standing),
            lower=self._bound(said.lower, int(form.lower[row])),
            upper=self._bound(said.upper, int(form.upper[row])),
        )
        label, source = self.naming(i)
        rule: Rule = replace(form.rule, assessment=assessment, label=label, source=source)
        return rule

    def _bound(self, own: Fraction, word: int) -> Fraction:
        found = own if word == NONE else self.words.numbers[word]
        assert found is not None
        return found


def _renamed(pattern: Pattern, standing: dict[str, str]) -> Pattern:
    """Put names into the places of a pattern of propositions."""
    match pattern:
        case Name(name):
            return Name(standing[name])
        case Compound(connective, operands):
            return Compound(connective, tuple(_renamed(part, standing) for part in operands))
        case _:
            return pattern


class Rules(Lazy[Rule]):
    """The rules of a theory: lines, and between them rules that are kept as they are."""

    def __init__(self, parts: Iterable[Lines | tuple[Rule, ...]]) -> None:
        self.parts = tuple(part for part in parts if len(part))
        self._starts = [0, *accumulate(map(len, self.parts))]
        super().__init__(self._starts[-1])

    def item(self, i: int) -> Rule:
        """Make the rule of a number."""
        p = bisect_right(self._starts, i) - 1
        part = self.parts[p]
        here = i - self._starts[p]
        return part.rule(here) if isinstance(part, Lines) else part[here]


def kinds(rules: Sequence[Rule]) -> Iterator[Rule]:
    """Yield a rule of each kind: of lines of one form, which differ in names and numbers only, the first."""
    for part in rules.parts if isinstance(rules, Rules) else (rules,):
        if isinstance(part, Lines):
            yield from (part.rule(int(form.where[0])) for form in part.forms)
        else:
            yield from part


def joined(first: Sequence[Rule], second: Sequence[Rule]) -> Sequence[Rule]:
    """Return rules followed by more rules."""
    if not isinstance(first, Rules) and not isinstance(second, Rules):
        return (*first, *second)
    parts = [part.parts if isinstance(part, Rules) else (tuple(part),) for part in (first, second)]
    return Rules((*parts[0], *parts[1]))
