"""Rules without quantifiers by the million.

Input: forms of lines, each a rule over placeholders with columns of the words that stand in their places.
Output: `Lines`, and `Rules`, a sequence that compares and indexes like a tuple of rules, each made on demand.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from credalog.network.columns import Lazy
from credalog.network.sentences import Source
from credalog.theory import Assessment, Compound, Name, Pattern, Rule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Form", "Lines", "Rules", "Words", "joined", "kinds"]

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
