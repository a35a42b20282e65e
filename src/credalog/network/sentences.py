"""The ground network: what was said, over which variables, and what is asked.

Input: formulas and exact bounds. Output: `Network`, the immutable value on which the dependency
graph, the factorization and every inference stand; and `Query`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any, TypeAlias

from credalog.errors import LanguageError
from credalog.network.formulas import TRUE, Formula, Is, Not, Truth, Variable, canonical, scope

__all__ = [
    "Contrast",
    "Estimate",
    "Independence",
    "Network",
    "Number",
    "Query",
    "Sentence",
    "Source",
    "Weighted",
    "exact",
]

Number: TypeAlias = Fraction | float | str

LONGEST = 400
"""A number has no more characters than this, and no power of ten beyond it."""

LARGEST = Fraction(10**300)
"""Beyond it, and below its inverse, a number would soon be infinite or 0 in floating point."""

_DECIMAL = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE](?P<power>[+-]?\d+))?"
_NUMBER = re.compile(rf"(?P<decimal>{_DECIMAL})(?:\s*(?P<percent>%)|/(?P<under>\d+))?")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a sentence was written."""

    file: str
    line: int
    rows: tuple[Source, ...] = ()
    """The rows of tables from which its numbers come."""

    def __str__(self) -> str:
        written = f"{self.file}:{self.line}" if self.file else f"line {self.line}"
        return f"{written} with {', '.join(map(str, self.rows))}" if self.rows else written


@dataclass(frozen=True, slots=True)
class Estimate:
    """How an interval was learned: so many of so many rows, between two counts each where values are missing.

    `parameter` is the confidence of the method, or the s of the Dirichlet model; `correction` says over how
    many intervals together the confidence holds.
    """

    successes: tuple[int, int]
    rows: tuple[int, int]
    method: str
    parameter: Fraction
    correction: str = ""
    intervals: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, the method and its parameter."""
        parameter = "s" if self.method == "dirichlet" else "confidence"
        told: dict[str, Any] = {
            "n": list(self.rows),
            "successes": list(self.successes),
            "method": self.method,
        }
        told[parameter] = float(self.parameter)
        return told | (
            {"simultaneous": self.correction, "intervals": self.intervals} if self.correction else {}
        )


@dataclass(frozen=True, slots=True, repr=False)
class Sentence:
    """The sentence `lower <= sum of weight * P(claim | given) <= upper`.

    The paper's sentences have one claim of weight 1. With several, it is a linear sentence under one
    common condition. It means lower * P(given) <= sum of weight * P(claim and given) <= upper * P(given),
    so it says nothing where P(given) = 0.
    """

    claims: tuple[tuple[Fraction, Formula], ...]
    given: Formula
    lower: Fraction
    upper: Fraction
    tau: bool = True
    label: str = ""
    source: Source | None = field(default=None, compare=False)
    learned: Estimate | None = field(default=None, compare=False)
    draws: bool = True
    """Whether it draws arrows in the dependency graph; what the engine adds may be a bound and no more."""
    across: tuple[Contrast, Fraction] | None = field(default=None, compare=False)
    """The sentence across conditions that it stands for, and by how much that one's bounds are greater."""
    _scope: tuple[Variable, ...] | None = field(default=None, init=False, compare=False)

    @classmethod
    def of(
        cls,
        claim: Formula,
        lower: Number,
        upper: Number,
        *,
        given: Formula = TRUE,
        tau: bool = True,
        label: str = "",
    ) -> Sentence:
        """Build the paper's sentence lower <= P(claim | given) <= upper."""
        least, most = exact(lower), exact(upper)
        if not 0 <= least <= most <= 1:
            raise LanguageError(
                f"{lower} and {upper} do not bound a probability", advice="Give 0 <= lower <= upper <= 1."
            )
        return cls(((Fraction(1), claim),), given, least, most, tau, label)

    @property
    def claim(self) -> Formula:
        """Return the only claim of one of the paper's sentences."""
        ((_, claim),) = self.claims
        return claim

    @property
    def is_linear(self) -> bool:
        """Tell a linear sentence from the paper's two forms."""
        return len(self.claims) != 1 or self.claims[0][0] != 1

    @property
    def claim_scope(self) -> tuple[Variable, ...]:
        """Return the variables of all claims."""
        return scope(*(formula for _, formula in self.claims))

    @property
    def given_scope(self) -> tuple[Variable, ...]:
        """Return the variables of the condition."""
        return scope(self.given)

    @property
    def scope(self) -> tuple[Variable, ...]:
        """Return all variables of the sentence, which are looked for once."""
        if self._scope is None:
            found = scope(*(formula for _, formula in self.claims), self.given)
            object.__setattr__(self, "_scope", found)
            return found
        return self._scope

    @property
    def is_vacuous(self) -> bool:
        """Tell whether every distribution satisfies the bounds; such a sentence only shapes the graph."""
        weights = [weight for weight, _ in self.claims]
        least = sum((w for w in weights if w < 0), start=Fraction(0))
        greatest = sum((w for w in weights if w > 0), start=Fraction(0))
        return self.lower <= least and self.upper >= greatest

    @property
    def is_atomic(self) -> bool:
        """Tell whether the claim is an atom; a negated literal counts, being 1 minus an atom's."""
        if len(self.claims) != 1:
            return False
        match self.claims[0][1]:
            case Is() | Not(Is()):
                return True
            case _:
                return False

    @property
    def name(self) -> str:
        """Return the label, or the place of an unlabelled sentence."""
        return self.label or (str(self.source) if self.source else "a sentence")

    def __str__(self) -> str:
        from credalog.text.unparse import unparse_sentence

        return unparse_sentence(self)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the label, the place and the words."""
        from credalog.text.unparse import said

        source = None if self.source is None else str(self.source)
        told = {"label": self.label, "source": source, "text": said(self)}
        return told if self.learned is None else told | {"learned": self.learned.to_dict()}


@dataclass(frozen=True, slots=True)
class Weighted:
    """One weighted probability under a condition of its own."""

    weight: Fraction
    claim: Formula
    given: Formula = TRUE


@dataclass(frozen=True, slots=True, repr=False)
class Contrast:
    """The sentence `lower <= sum of weight * P(claim | given) <= upper` across several conditions.

    It says nothing where one of its conditions has probability 0.
    """

    terms: tuple[Weighted, ...]
    lower: Fraction
    upper: Fraction
    tau: bool = True
    label: str = ""
    source: Source | None = field(default=None, compare=False)

    @property
    def claim_scope(self) -> tuple[Variable, ...]:
        """Return the variables of all claims."""
        return scope(*(term.claim for term in self.terms))

    @property
    def scope(self) -> tuple[Variable, ...]:
        """Return all variables of the sentence."""
        return scope(*(formula for term in self.terms for formula in (term.claim, term.given)))

    @property
    def conditions(self) -> tuple[Formula, ...]:
        """Return the different conditions."""
        return tuple(dict.fromkeys(term.given for term in self.terms))

    def arrows(self) -> tuple[Sentence, ...]:
        """Return sentences that bound nothing and draw its arrows: all its claims, under each condition."""
        claims = dict.fromkeys(canonical(term.claim) for term in self.terms)
        weighed = tuple((Fraction(1), claim) for claim in claims)
        most = Fraction(len(weighed))
        return tuple(
            Sentence(weighed, given, Fraction(0), most, self.tau, source=self.source)
            for given in self.conditions
        )

    @property
    def name(self) -> str:
        """Return the label, or the place of an unlabelled sentence."""
        return self.label or (str(self.source) if self.source else "a sentence")

    def __str__(self) -> str:
        from credalog.text.unparse import unparse_contrast

        return unparse_contrast(self)

    __repr__ = __str__


def _written(number: object) -> str:
    """Return how a number is written, without the digits of one that is too long to compute with."""
    if isinstance(number, int) and number.bit_length() > 8 * LONGEST:
        return f"a number of {number.bit_length()} bits"
    return str(number).strip()


def exact(number: Number) -> Fraction:
    """Return a number as a fraction; a float means the decimal its user typed, not its binary expansion."""
    if isinstance(number, Fraction):
        return number
    text = _written(number)
    if "\n" in text:
        text = f"a {type(number).__name__}"
    written = _NUMBER.fullmatch(text) if len(text) <= LONGEST else None
    if written is not None and abs(int(written["power"] or 0)) <= LONGEST and int(written["under"] or 1):
        value = Fraction(written["decimal"]) / (100 if written["percent"] else int(written["under"] or 1))
        if not value or 1 / LARGEST <= abs(value) <= LARGEST:
            return value
    raise LanguageError(f"{text[:40]} is no number to compute with", advice='Write 0.3, "1/3" or "30%".')


@dataclass(frozen=True, slots=True, repr=False)
class Independence:
    """The statement that `left` and `right` are independent, as blocks, given `given`."""

    left: tuple[Variable, ...]
    right: tuple[Variable, ...]
    given: tuple[Variable, ...] = ()

    def __str__(self) -> str:
        left, right, given = (", ".join(v.name for v in side) for side in (self.left, self.right, self.given))
        return f"{left} ⊥ {right}{f' | {given}' if given else ''}"

    __repr__ = __str__

    def to_dict(self) -> dict[str, list[str]]:
        """Return the names on each side and in the condition."""
        sides = {"left": self.left, "right": self.right, "given": self.given}
        return {side: [v.name for v in variables] for side, variables in sides.items()}


@dataclass(frozen=True, slots=True, repr=False)
class Query:
    """The question P(claim | given)."""

    claim: Formula
    given: Formula = TRUE

    @property
    def claims(self) -> tuple[tuple[Fraction, Formula], ...]:
        """Return the claim as a sum of one."""
        return ((Fraction(1), self.claim),)

    @property
    def is_conditional(self) -> bool:
        """Tell a posterior from a marginal."""
        return self.given != Truth(True)

    @property
    def scope(self) -> tuple[Variable, ...]:
        """Return the variables of claim and condition."""
        return scope(self.claim, self.given)

    def __str__(self) -> str:
        from credalog.text.unparse import unparse_query

        return unparse_query(self)

    __repr__ = __str__


@dataclass(frozen=True, slots=True, repr=False)
class Network:
    """A ground Logical Credal Network: variables, sentences, declared independences."""

    variables: Sequence[Variable]
    sentences: Sequence[Sentence]
    """Tuples, or in a large network sequences of columns, which make their items on demand."""
    independences: tuple[Independence, ...] = ()
    contrasts: tuple[Contrast, ...] = ()
    """The sentences that compare across conditions."""

    def __str__(self) -> str:
        from credalog.text.unparse import unparse_network

        return unparse_network(self)

    def __repr__(self) -> str:
        return f"<network of {len(self.variables):,} variables and {len(self.sentences):,} sentences>"

    @property
    def digest(self) -> str:
        """Return a fingerprint of variables, sentences and declared independences; labels do not count."""
        lines = [f"{v.name} {v.values}" for v in self.variables]
        for s in self.sentences:
            claims = [(str(weight), str(claim)) for weight, claim in s.claims]
            lines.append(f"{s.lower} {claims} {s.given} {s.upper} {s.tau}")
        lines += [str(replace(contrast, label="")) for contrast in self.contrasts]
        return sha256("\n".join((*lines, *map(str, self.independences))).encode()).hexdigest()

    @property
    def is_listed(self) -> bool:
        """Tell a network of single sentences from the columns or tables of a large one."""
        return isinstance(self.sentences, tuple)

    def numbering(self) -> Mapping[Variable, int]:
        """Return the number of each variable; those of a large network are looked up one by one."""
        if isinstance(self.variables, tuple):
            return {variable: i for i, variable in enumerate(self.variables)}
        from credalog.network.columns import numbering

        return numbering(self.variables)

    def about(self, variables: Iterable[Variable]) -> Network:
        """Return what is said of some variables, and of these alone."""
        kept = tuple(variables)
        if not self.is_listed:
            from credalog.network.families import families_of

            if (tabled := families_of(self)) is not None:
                return Network(kept, tabled.among(kept))
        seen = frozenset(kept)
        sentences = tuple(s for s in self.sentences if seen.issuperset(s.scope))
        declared = (i for i in self.independences if seen.issuperset((*i.left, *i.right, *i.given)))
        contrasts = (c for c in self.contrasts if seen.issuperset(c.scope))
        return Network(kept, sentences, tuple(declared), tuple(contrasts))
