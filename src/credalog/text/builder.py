"""Sentences written in Python as they are on paper.

Input: formulas. Output: sentences and queries. `P(a & b, given=c) >= 0.3` and `P(a) + 2 * P(b) <= 0.7`
are sentences; `P(a, given=b)` alone is a question. What has no meaning is refused, and the error says what to
write instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Never, TypeAlias, cast, get_args, overload

from credalog.errors import LanguageError
from credalog.network.expressions import Linear, Question, Quotient, Summand, mean_of, simplified
from credalog.network.formulas import TRUE, Formula, Is, Variable, conjunction, is_deeper, proposition
from credalog.network.sentences import Contrast, Number, Query, Sentence, Weighted, exact
from credalog.theory import DEPTH, normal_form

Observed: TypeAlias = Mapping[str, str | bool] | Mapping[Variable, str | bool]
"""What was observed, variable by variable: {"a": True, "Color": "red"}."""

Given: TypeAlias = Formula | Observed | None
"""A condition; None is no condition."""

_ZERO, _ONE = Fraction(0), Fraction(1)


def P(  # noqa: N802 -- the paper's letter
    claim: Formula | Variable, *others: Never, given: Given = None
) -> Expression:
    """Return the probability of a claim, as an expression to compare or to ask for."""
    if others:
        # P(a, b) is a joint probability in most books, and in none of them P(a | b).
        advice = "Write P(a & b) for both together, and P(a, given=b) for a conditional probability."
        raise LanguageError("P takes one formula, and what is given by name", advice=advice)
    return Expression((Summand(_ONE, _formula(claim), condition(given)),))


def E(variable: Variable, given: Given = None) -> Expression:  # noqa: N802 -- the usual letter
    """Return the expected value of a variable whose values are integers, as an expression to ask for."""
    if not isinstance(variable, Variable):
        raise LanguageError(f"{variable!r} is no variable", advice='Write E(Variable("Speed", ("1", "2"))).')
    return Expression((Summand(_ONE, mean_of(variable), condition(given)),))


def condition(given: Given) -> Formula:
    """Return what is given as one formula."""
    if given is None:
        return TRUE
    if not isinstance(given, (*get_args(Formula), Mapping, Variable, str, bool)):
        by_name = " A row of a frame is row.to_dict()." if hasattr(given, "to_dict") else ""
        raise LanguageError(
            f"{given!r} is no condition",
            advice=f'Give one formula, a & ~b, or values by name: {{"a": True}}.{by_name}',
        )
    if isinstance(given, Mapping):
        return conjunction(literal(_variable(name), value) for name, value in observations(given))
    return _formula(given)


def observations(given: Mapping[Any, str | bool]) -> Iterable[tuple[str | Variable, str | bool]]:
    """Return what was observed by name, and complain of a name that is none."""
    for name in given:
        if not isinstance(name, str | Variable | Is):
            raise LanguageError(
                f"{name!r} is no name of a variable",
                advice='Give values by name: {"a": True, "Color": "red"}.',
            )
    return given.items()


def _formula(claim: object) -> Formula:
    """Return a formula as it is, and a proposition's variable as the proposition."""
    if isinstance(claim, get_args(Formula)):
        return cast("Formula", claim)
    if isinstance(claim, Variable) and claim.is_proposition:
        return Is(claim)
    if isinstance(claim, Variable):
        value = claim.values[0]
        advice = f'Say which value it takes: P({claim.name}.is_("{value}")).'
    elif isinstance(claim, bool):
        advice = 'Python has compared already. Write variable.is_("red") instead of variable == "red".'
    elif isinstance(claim, str):
        asked = claim if claim.lstrip().startswith("P(") else f"P({claim})"
        advice = (
            f'Text is read by parse("{asked} >= 0.1") and lcn.query("{asked}"); '
            'in Python write P(a & b) with a, b = propositions("a b").'
        )
    else:
        advice = 'Write P(a), with a = proposition("a").'
    raise LanguageError(f"{claim!r} is no formula", advice=advice)


def check_depth(*formulas: Formula) -> None:
    """Complain about formulas that are nested more deeply than a text may be."""
    if any(is_deeper(formula, DEPTH) for formula in formulas):
        raise LanguageError(
            f"a formula is nested more than {DEPTH} levels deep", advice="Split it, or name its parts."
        )


def _variable(named: str | Variable) -> Variable:
    return named if isinstance(named, Variable) else proposition(named).variable


def plain(value: str | bool) -> str | bool:
    """Return a value of numpy, as columns of data have them, as one of Python."""
    item = getattr(value, "item", None)
    return item() if callable(item) else value


def literal(variable: Variable, value: str | bool) -> Formula:
    """Return the observation that a variable has a value."""
    value = plain(value)
    if not isinstance(value, bool):
        return Is(variable, str(value))
    if not variable.is_proposition:
        raise LanguageError(
            f"{variable.name} is neither true nor false", advice=f"It is {' or '.join(variable.values)}."
        )
    return Is(variable) if value else ~Is(variable)


def query_of(asked: object) -> Question:
    """Return the question that is asked in Python; a formula alone asks for its probability."""
    if isinstance(asked, Query):
        return Query(_formula(asked.claim), _formula(asked.given))
    if isinstance(asked, Linear | Quotient):
        return asked
    if isinstance(asked, Ratio):
        return asked.quotient
    if isinstance(asked, Expression):
        return asked.question()
    if isinstance(asked, (Variable, *get_args(Formula))):
        return Query(_formula(asked))
    if isinstance(asked, Stated):
        advice = "Ask for P(a) alone, or decide(...) whether it passes a threshold."
    else:
        advice = 'Ask "P(a | b)", P(a, given=b), or a formula.'
    raise LanguageError(f"{asked!r} is no question", advice=advice)


def sentence_of(stated: object) -> Sentence | Contrast:
    """Return a sentence that was stated in Python."""
    if isinstance(stated, Contrast):
        return stated
    if isinstance(stated, Sentence):
        claims = tuple((weight, _formula(claim)) for weight, claim in stated.claims)
        return replace(stated, claims=claims, given=_formula(stated.given))
    if isinstance(stated, Stated):
        return stated.sentence
    if isinstance(stated, Expression):
        advice = "A probability alone is a question. Compare it with a number: P(a) >= 0.3."
    elif isinstance(stated, get_args(Formula)):
        advice = f"A formula alone says nothing: state P({stated}) >= 0.3."
    elif isinstance(stated, Iterable):
        advice = "Give them one by one, or with a star before them, as in LCN.of(*sentences)."
    else:
        advice = "A sentence is P(a) >= 0.3, P(a, given=b).between(0.1, 0.2), or text."
    raise LanguageError(f"{type(stated).__name__} {stated!r} is no sentence", advice=advice)


def _not_linear() -> LanguageError:
    advice = "State an independence in text: independent a, b."
    return LanguageError("a product of probabilities is not linear", advice=advice)


class _Compared:
    """What becomes a sentence when it is compared with a number, and is no value of its own."""

    __slots__ = ()

    # Otherwise an array would compare each of its numbers, and ask whether the sentence is true.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: object) -> Never:
        raise LanguageError("bounds are never strict", advice="Write <= instead of <.")

    def __gt__(self, other: object) -> Never:
        raise LanguageError("bounds are never strict", advice="Write >= instead of >.")

    def __ne__(self, other: object) -> Never:
        raise LanguageError("a probability cannot be stated to differ", advice="Use <=, >= or ==.")

    def __bool__(self) -> Never:
        raise LanguageError(
            "a probability is neither true nor false",
            advice="Join formulas inside: P(a & b), not P(a) and P(b).",
        )

    def __abs__(self) -> Never:
        raise LanguageError(
            f"the absolute value of {self} is not linear",
            advice="State both bounds, (P(a) - P(b)).between(-0.1, 0.1); ask for the difference itself.",
        )

    def _is_no_formula(self, other: object = None) -> Never:
        raise LanguageError(
            f"the probability {self} is no formula",
            advice="Join formulas inside: P(a & b), P(~a), P(a, given=b).",
        )

    __and__ = __or__ = __xor__ = __rshift__ = __invert__ = _is_no_formula

    def __rtruediv__(self, number: object) -> Never:
        raise LanguageError(
            "a number is divided by a probability", advice="Ask for the probability; divide its bounds."
        )

    def __pow__(self, power: object) -> Never:
        raise _not_linear()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Expression(_Compared):
    """Weighted probabilities and a constant: a question, which `lcn.query` answers.

    Compared with a number or with another expression, it becomes a sentence.
    """

    terms: tuple[Summand, ...]
    constant: Fraction = _ZERO

    def between(self, lower: Number, upper: Number) -> Stated:
        """State that the expression lies between two bounds."""
        return _stated(self, exact(lower), exact(upper))

    def __ge__(self, other: Expression | Number) -> Stated:
        return _stated(self - other, _ZERO, None)

    def __le__(self, other: Expression | Number) -> Stated:
        return _stated(self - other, None, _ZERO)

    def __eq__(self, other: Expression | Number) -> Stated:  # type: ignore[override]
        return _stated(self - other, _ZERO, _ZERO)

    __hash__ = None

    def __add__(self, other: Expression | Number) -> Expression:
        if not isinstance(other, Expression):
            return replace(self, constant=self.constant + exact(other))
        return Expression(self.terms + other.terms, self.constant + other.constant)

    def __mul__(self, factor: Number) -> Expression:
        if isinstance(factor, Expression):
            raise _not_linear()
        by = exact(factor)
        terms = tuple(replace(term, weight=term.weight * by) for term in self.terms)
        return Expression(terms, self.constant * by)

    @overload
    def __truediv__(self, divisor: Expression) -> Ratio: ...
    @overload
    def __truediv__(self, divisor: Number) -> Expression: ...
    def __truediv__(self, divisor: Expression | Number) -> Expression | Ratio:
        if isinstance(divisor, Expression):
            return Ratio(Quotient(self.linear, divisor.linear))
        if not exact(divisor):
            raise LanguageError("a probability cannot be divided by 0")
        return self * (1 / exact(divisor))

    def __neg__(self) -> Expression:
        return self * -1

    def __sub__(self, other: Expression | Number) -> Expression:
        return self + (-other if isinstance(other, Expression) else -exact(other))

    def __rsub__(self, other: Number) -> Expression:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    @property
    def linear(self) -> Linear:
        """Return the sum as such."""
        return Linear(self.terms, self.constant)

    def question(self) -> Question:
        """Return what the expression asks for."""
        return simplified(self.linear)

    def __repr__(self) -> str:
        return str(self.linear) if self.terms else str(self.constant)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ratio(_Compared):
    """One expression divided by another: a question, and compared with a number a sentence."""

    quotient: Quotient

    def between(self, lower: Number, upper: Number) -> Never:
        """Refuse two bounds at once, which would be two sentences."""
        raise LanguageError(
            "two bounds on a quotient are two sentences",
            advice=f"State them one by one: {self} >= {lower} and {self} <= {upper}.",
        )

    def __eq__(self, other: Number) -> Stated:  # type: ignore[override]
        return _stated(self._minus(other), _ZERO, _ZERO)

    __hash__ = None

    def __ge__(self, other: Number) -> Stated:
        return _stated(self._minus(other), _ZERO, None)

    def __le__(self, other: Number) -> Stated:
        return _stated(self._minus(other), None, _ZERO)

    def _minus(self, bound: Number) -> Expression:
        # over / under >= t is over - t under >= 0: no divisor is negative.
        less = self.quotient.over.plus(self.quotient.under, -exact(bound))
        return Expression(less.terms, less.constant)

    def __sub__(self, other: Number) -> Ratio:
        return self + -exact(other)

    def __add__(self, other: Number) -> Ratio:
        # over / under + k is (over + k under) / under.
        over, under = self.quotient.over, self.quotient.under
        return Ratio(Quotient(over.plus(under, exact(other)), under))

    def __repr__(self) -> str:
        return str(self.quotient)


@dataclass(frozen=True, slots=True, repr=False)
class Stated:
    """A sentence as it was stated in Python."""

    sentence: Sentence | Contrast

    def named(self, label: str) -> Stated:
        """Return the same with a label."""
        if not isinstance(label, str):
            raise LanguageError(f"the label {label!r} is no text", advice='Write .named("expert 1").')
        return Stated(replace(self.sentence, label=label))

    def without_dependence(self) -> Stated:
        """Return the same with tau False: it does not tie the atoms of its claim to each other."""
        return Stated(replace(self.sentence, tau=False))

    def __bool__(self) -> Never:
        # Python reads l <= P(a) <= u as (l <= P(a)) and (P(a) <= u), and would keep the second only.
        raise LanguageError(
            "a sentence is neither true nor false in Python",
            advice="Write P(a).between(0.1, 0.3) for two bounds at once, and other sentences one by one.",
        )

    def _is_no_value(self, other: object = None) -> Never:
        raise LanguageError(
            f"the sentence {self} is no formula, and no number",
            advice="State them one by one, LCN.of(P(a) >= 0.3, P(b) <= 0.2); bounds by between(0.1, 0.3).",
        )

    __and__ = __or__ = __xor__ = __rshift__ = __invert__ = __add__ = __sub__ = __mul__ = _is_no_value
    __lt__ = __le__ = __gt__ = __ge__ = _is_no_value

    def __repr__(self) -> str:
        return str(self.sentence)


def _stated(expression: Expression, lower: Fraction | None, upper: Fraction | None) -> Stated:
    low = None if lower is None else lower - expression.constant
    high = None if upper is None else upper - expression.constant
    conditions = expression.linear.conditions
    if len(conditions) > 1:
        terms = tuple((w, (claim, term.given)) for term in expression.terms for w, claim in term.claims)
        weighted, least, greatest = normal_form(terms, low, high)
        return Stated(Contrast(tuple(Weighted(w, *claim) for w, claim in weighted), least, greatest))
    single = tuple((weight, claim) for term in expression.terms for weight, claim in term.claims)
    claims, least, greatest = normal_form(single, low, high)
    return Stated(Sentence(claims, conditions[0], least, greatest))
