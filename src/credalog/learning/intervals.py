"""Intervals for a probability from counts.

Input: how many of how many rows, between two counts each where values are missing. Output: exact bounds
of the interval, rounded outwards where the method is irrational.

Where values are missing, the interval covers those of all completions. Each method's lower end falls with
every failure that is added and rises with every success, so that it is least where as many rows as
possible are failures, and of the others as few as possible are rows of the condition at all; likewise the
upper end.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Literal, TypeAlias, get_args

from credalog.errors import CredalogError, Option, UnknownName
from credalog.network.sentences import Estimate, Number, exact

MethodName: TypeAlias = Literal["dirichlet", "clopper_pearson", "wilson"]
CorrectionName: TypeAlias = Literal["bonferroni", "holm"]

METHODS: tuple[str, ...] = get_args(MethodName)
CORRECTIONS: tuple[str, ...] = get_args(CorrectionName)

DIGITS = 9
"""Ends that are irrational are rounded outwards to so many decimals."""

SLACK = Fraction(1, 10**10)
"""The error of a quantile is far less than this."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Rows in which the condition holds, with the claim and without, and what the others may be.

    A row with missing values may be a success, a failure or neither, in any of four combinations.
    """

    successes: int
    failures: int
    either: int = 0
    """Rows of the condition that may be a success or a failure."""
    perhaps_success: int = 0
    """Rows that are a success or outside the condition."""
    perhaps_failure: int = 0
    """Rows that are a failure or outside the condition."""
    anything: int = 0
    """Rows that may be any of the three."""

    @property
    def least(self) -> tuple[int, int]:
        """Return successes and rows of the completion with the lowest interval."""
        failures = self.failures + self.either + self.perhaps_failure + self.anything
        return self.successes, self.successes + failures

    @property
    def most(self) -> tuple[int, int]:
        """Return successes and rows of the completion with the highest interval."""
        successes = self.successes + self.either + self.perhaps_success + self.anything
        return successes, successes + self.failures

    @property
    def possible_successes(self) -> tuple[int, int]:
        """Return the least and the greatest number of successes."""
        return self.successes, self.most[0]

    @property
    def possible_rows(self) -> tuple[int, int]:
        """Return the least and the greatest number of rows in which the condition holds."""
        certain = self.successes + self.failures + self.either
        return certain, certain + self.perhaps_success + self.perhaps_failure + self.anything


@dataclass(frozen=True, slots=True)
class Recipe:
    """How intervals are found: a method with its parameter, and whether they are to hold all together."""

    method: str = "dirichlet"
    parameter: Fraction = Fraction(2)
    correction: str = ""

    @classmethod
    def of(
        cls,
        method: str = "dirichlet",
        *,
        s: Number | None = None,
        confidence: Number | None = None,
        simultaneous: str | None = None,
    ) -> Recipe:
        """Check what a user asks for."""
        name = method.replace("-", "_").lower()
        if name not in METHODS:
            raise UnknownName(f"there is no method {method}", advice=f"Choose one of {', '.join(METHODS)}.")
        if simultaneous is not None and simultaneous not in CORRECTIONS:
            raise UnknownName(
                f"there is no correction {simultaneous}", advice=f"Choose one of {', '.join(CORRECTIONS)}."
            )
        if name == "dirichlet":
            return cls(name, _strength(s, confidence, simultaneous))
        if s is not None:
            raise CredalogError("s has no effect here", advice="It counts with the method dirichlet.")
        level = exact(Fraction(19, 20) if confidence is None else confidence)
        if not 0 < level < 1:
            raise CredalogError(f"{confidence} is no confidence", advice="Give one such as 0.95 or 95%.")
        return cls(name, level, simultaneous or "")

    def interval(self, tally: Tally, intervals: int = 1) -> tuple[Fraction, Fraction]:
        """Return the interval that holds whatever the missing values are."""
        miss = (1 - self.parameter) / (intervals if self.correction else 1)
        (few, rows), (many, others) = tally.least, tally.most
        if self.method == "dirichlet":
            s = self.parameter
            return Fraction(few) / (rows + s), (many + s) / (others + s)
        ends = clopper_pearson if self.method == "clopper_pearson" else wilson
        return ends(few, rows, float(miss))[0], ends(many, others, float(miss))[1]

    def estimate(self, tally: Tally, intervals: int = 1) -> Estimate:
        """Return what is remembered of an interval."""
        successes, rows = tally.possible_successes, tally.possible_rows
        together = intervals if self.correction else 1
        return Estimate(successes, rows, self.method, self.parameter, self.correction, together)


def _strength(s: Number | None, confidence: Number | None, simultaneous: str | None) -> Fraction:
    if confidence is not None or simultaneous is not None:
        raise CredalogError(
            "the Dirichlet model has no confidence",
            advice="Leave it out; or choose a method that has one, {} or {}.",
            remedies=(Option("method", "clopper_pearson"), Option("method", "wilson")),
        )
    strength = exact(Fraction(2) if s is None else s)
    if strength <= 0:
        raise CredalogError(f"s = {s} is not positive", advice="Usual are 1 and 2.")
    return strength


def clopper_pearson(successes: int, rows: int, miss: float) -> tuple[Fraction, Fraction]:
    """Return the exact interval of a binomial proportion, missed with at most this probability."""
    from scipy.stats import beta

    failures = rows - successes
    lower = float(beta.ppf(miss / 2, successes, failures + 1)) if successes else 0.0
    upper = float(beta.isf(miss / 2, successes + 1, failures)) if failures else 1.0
    return _outwards(lower, upper)


def wilson(successes: int, rows: int, miss: float) -> tuple[Fraction, Fraction]:
    """Return the proportions that the score test does not reject."""
    from scipy.stats import norm

    if not rows:
        return Fraction(0), Fraction(1)
    z = float(norm.isf(miss / 2))
    share, weight = successes / rows, z * z / rows
    centre = (share + weight / 2) / (1 + weight)
    reach = z / (1 + weight) * sqrt(share * (1 - share) / rows + weight / (4 * rows))
    lower = 0.0 if successes == 0 else centre - reach
    return _outwards(lower, 1.0 if successes == rows else centre + reach)


def _outwards(lower: float, upper: float) -> tuple[Fraction, Fraction]:
    unit = 10**DIGITS
    low, high = (Fraction(lower) - SLACK) * unit, (Fraction(upper) + SLACK) * unit
    return max(Fraction(0), Fraction(low.__floor__(), unit)), min(
        Fraction(1), Fraction(high.__ceil__(), unit)
    )
