"""Rules, queries and evidence, and the theory that they make.

Input: claims, conditions and numbers, and the prefixes that bind their logical variables. Output: `Body`,
which is what a rule states (bounds on weighted probabilities, rows, tables, comparisons across conditions);
`normal_form`, which gives text and Python the same one; `Theory`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from credalog.errors import Place
from credalog.network.columns import Lazy
from credalog.network.sentences import Estimate, Source
from credalog.theory.declarations import Amount, Declaration, Domain
from credalog.theory.origins import Origin
from credalog.theory.patterns import (
    NOTHING_BOUND,
    YES,
    Compound,
    Misstatement,
    Name,
    Pattern,
    Prefix,
    Term,
    place_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Assessment:
    """The body `lower <= sum of weight * P(claim | given) <= upper` of a rule."""

    claims: tuple[tuple[Fraction, Pattern], ...]
    given: Pattern
    lower: Fraction
    upper: Fraction


@dataclass(frozen=True, slots=True)
class Spread:
    """From where to where a number lies; one that `is_about` a middle is cut off at what is possible."""

    lower: Amount
    upper: Amount
    is_about: bool = False


class Gap(Enum):
    """What may stand for a number: what the others leave, or what data are to tell."""

    REST = "rest"
    WANTED = "?"


Entry: TypeAlias = Spread | Gap
Entries: TypeAlias = tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    """The body of a rule whose numbers depend on constants or tables; a bound may be missing.

    Across conditions, `givens` has one for each claim.
    """

    claims: tuple[tuple[Amount, Pattern], ...]
    given: Pattern
    lower: Amount | None
    upper: Amount | None
    is_about: bool = False
    givens: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """The body `P(variable | given) = (...)` of a rule: an entry for each value, in their order."""

    claim: Term
    given: Pattern
    entries: Entries


@dataclass(frozen=True, slots=True)
class FamilyTable:
    """The body of a rule that tells a variable's distribution for each configuration of its parents.

    A line has the parents' values and an entry for each value of the variable, or one that is wanted for all.
    `otherwise` is said of the configurations without a line; `rows` tells where lines were read.
    """

    claim: Term
    parents: tuple[Term, ...]
    lines: tuple[tuple[tuple[str, ...], Entries], ...]
    otherwise: Entries = ()
    rows: tuple[Source, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected value of a random term whose values are integers."""

    term: Term


@dataclass(frozen=True, slots=True)
class Weighed:
    """One weighted probability, or expected value, under a condition of its own."""

    weight: Fraction
    claim: Pattern | Expected
    given: Pattern = YES


@dataclass(frozen=True, slots=True)
class Sum:
    """Weighted probabilities, each under its condition, and a constant."""

    terms: tuple[Weighed, ...]
    constant: Fraction = _ZERO


@dataclass(frozen=True, slots=True)
class ContrastAssessment:
    """The body of a rule that compares across conditions: `lower <= sum <= upper`."""

    terms: tuple[Weighed, ...]
    lower: Fraction
    upper: Fraction


Body: TypeAlias = Assessment | ContrastAssessment | Computed | Row | FamilyTable


Claim = TypeVar("Claim", bound=Hashable)
Claims: TypeAlias = tuple[tuple[Fraction, Claim], ...]
"""Weighted claims, patterns in a theory and formulas in Python."""


def span(claims: Claims[Claim]) -> tuple[Fraction, Fraction]:
    """Return the least and the greatest value that a sum of weighted probabilities can have."""
    weights = [weight for weight, _ in claims]
    return sum((w for w in weights if w < 0), _ZERO), sum((w for w in weights if w > 0), _ZERO)


def normal_form(
    terms: Claims[Claim], lower: Fraction | None, upper: Fraction | None, *, is_about: bool = False
) -> tuple[Claims[Claim], Fraction, Fraction]:
    """Return claims without repetition, a single one with weight 1, and both bounds on their sum.

    A bound that is missing is the widest possible; one that is give or take may lie beyond it. Text and
    Python build sentences through here.
    """
    claims = terms if len(terms) == 1 and terms[0][0] else _added(terms)
    if len(claims) > 1:
        least, greatest = span(claims)
    else:
        ((weight, claim),) = claims
        if weight is not _ONE and weight != 1:
            bounds = (None if bound is None else bound / weight for bound in (lower, upper))
            lower, upper = bounds if weight > 0 else reversed(tuple(bounds))
        claims, least, greatest = ((_ONE, claim),), _ZERO, _ONE
    low = least if lower is None else lower
    high = greatest if upper is None else upper
    if is_about and low <= greatest and high >= least:
        low, high = max(low, least), min(high, greatest)
    if len(claims) == 1 and (wrong := next((bound for bound in (low, high) if not 0 <= bound <= 1), None)):
        advice = "A probability lies between 0 and 1." + _as_per_cent(wrong)
        raise Misstatement(f"{_shown(wrong)} is not a probability", lexeme=_shown(wrong), advice=advice)
    if low > greatest or high < least:
        raise Misstatement(
            f"the sum lies between {_shown(least)} and {_shown(greatest)}, whatever the distribution",
            advice="Correct the bounds.",
        )
    if low > high:
        raise Misstatement(
            f"the lower bound {_shown(low)} exceeds the upper bound {_shown(high)}",
            lexeme=_shown(low),
            advice="Exchange the two bounds, or correct one of them.",
        )
    return claims, low, high


def settled_body(
    claims: Claims[Pattern],
    givens: tuple[Pattern, ...],
    lower: Fraction | None,
    upper: Fraction | None,
    *,
    is_about: bool = False,
) -> Assessment | ContrastAssessment:
    """Return the body of a rule with known numbers, under one condition or across several."""
    if len(givens) == 1 or len(set(givens)) == 1:
        terms, low, high = normal_form(claims, lower, upper, is_about=is_about)
        return Assessment(terms, givens[0], low, high)
    across = tuple((weight, (claim, own)) for (weight, claim), own in zip(claims, givens, strict=True))
    weighed, low, high = normal_form(across, lower, upper, is_about=is_about)
    return ContrastAssessment(tuple(Weighed(weight, *one) for weight, one in weighed), low, high)


def _added(terms: Claims[Claim]) -> Claims[Claim]:
    weights: dict[Claim, Fraction] = {}
    for weight, claim in terms:
        weights[claim] = weights.get(claim, _ZERO) + weight
    claims = tuple((weight, claim) for claim, weight in weights.items() if weight)
    if not claims:
        raise Misstatement(
            "the probabilities cancel, so the sentence says nothing",
            advice="Take it out, or compare two different probabilities.",
        )
    return claims


def _as_per_cent(number: Fraction) -> str:
    """Say how to write what was probably meant as per cent; 1.5 may as well have been 150%."""
    shown = _shown(number)
    return f' For per cent, write {shown}%, in Python "{shown}%".' if 2 <= number <= 100 else ""


def _shown(number: Fraction) -> str:
    """Write a number shortly, however large it is."""
    if abs(number) < 10**15:
        return f"{float(number):g}"
    return f"{'-' if number < 0 else ''}1e+{len(str(abs(int(number)))) - 1}"


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
