"""What each rule of the grammar means.

Input: the tokens and values below a rule. Output: the value of the rule, up to whole statements of a
`Theory`. A method's name is the rule's name in grammar.lark.
"""

# ruff: noqa: D102 -- a method says what the grammar's rule of its name means
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

from credalog.errors import LanguageError
from credalog.network.sentences import Source, exact
from credalog.theory import (
    YES,
    Application,
    AskedRule,
    Assessment,
    Binder,
    Boolean,
    CombinedRule,
    Comparison,
    Compound,
    Connective,
    ContrastAssessment,
    Domain,
    Evidence,
    Expected,
    Function,
    IndependenceRule,
    Misstatement,
    Name,
    Order,
    Pattern,
    Predicate,
    Prefix,
    Quantified,
    Quantifier,
    QueryRule,
    RandomFunction,
    Relation,
    Rule,
    Shifted,
    Sum,
    Term,
    Weighed,
    conjoined,
    normal_form,
    unquoted,
)

NO_THRESHOLD = "this is no comparison with a number by <= or >="
THRESHOLD_ADVICE = "Write it like `P(a | b) >= 0.5`, `20% <= P(a)` or `P(a | b) - P(a | !b) >= 0`."

LONGEST_RANGE = 10_000_000
"""No domain written as a range has more elements than this."""

LONGEST_INTEGER = 18
"""No integer with which the language counts has more digits than this."""


@dataclass(frozen=True, slots=True)
class Include:
    """Ask for the statements of another file."""

    path: str


@dataclass(frozen=True, slots=True)
class Fact:
    """One more tuple of a relation, or, with a value, one more line of a function's table."""

    name: str
    arguments: tuple[str, ...]
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Threshold:
    """The statement that what is asked for is at least, or at most, a number."""

    asked: AskedRule
    order: Order
    number: Fraction


class _Probability(NamedTuple):
    claim: Pattern | Expected
    given: Pattern


class _Sum(NamedTuple):
    """A linear expression: weighted probabilities and a constant."""

    terms: tuple[tuple[Fraction, _Probability], ...]
    constant: Fraction


class _Quotient(NamedTuple):
    over: _Sum
    under: _Sum


_Side: TypeAlias = _Probability | _Sum
_Asked: TypeAlias = _Side | _Quotient
_Assessment: TypeAlias = Assessment | ContrastAssessment


_T = TypeVar("_T")
_ORDERS = {"≤": "<=", "≥": ">=", "⩽": "<=", "⩾": ">=", "≠": "!=", "==": "=", "=<": "<=", "=>": ">="}
_ONE, _ZERO = Fraction(1), Fraction(0)


@lru_cache(maxsize=100_000)
def _constant(over: str, under: str | None) -> _Sum:
    if under is None:
        return _Sum((), _exact(over))
    if not _exact(under):
        raise Misstatement("a fraction is divided by zero", lexeme=under)
    return _Sum((), _exact(over) / _exact(under))


def _exact(numeral: str) -> Fraction:
    try:
        return exact(numeral)
    except LanguageError as error:
        raise Misstatement(error.message, lexeme=numeral, advice=error.advice) from None


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_INTEGER:
        raise Misstatement(
            "an integer is too long", lexeme=digits, advice="Name elements by shorter numbers."
        )
    return int(digits)


@lru_cache(maxsize=1_000_000)
def _name(name: str) -> Name:
    # One value for each name keeps a large file's theory small.
    return Name(name)


def _joined_by(connective: Connective) -> Callable[..., Compound]:
    return staticmethod(lambda *operands: Compound(connective, operands))


def _all(*values: _T) -> tuple[_T, ...]:
    return values


class Actions:
    """The meaning of every rule; `source` is where the statement at hand was written."""

    def __init__(self) -> None:
        self.source: Source | None = None

    # ---- statements ---------------------------------------------------------------------------------

    def sentence(
        self, label: str | None, prefix: Prefix | None, assessment: _Assessment, tau: bool | None
    ) -> Rule:
        return Rule(assessment, prefix or _NO_PREFIX, tau is not False, label or "", self.source)

    def independence(
        self, prefix: Prefix | None, left: _Terms, right: _Terms, given: _Terms | None
    ) -> IndependenceRule:
        return IndependenceRule(left, right, given or (), prefix or _NO_PREFIX, self.source)

    def query(self, prefix: Prefix | None, asked: _Asked) -> AskedRule:
        return replace(_asked(asked), prefix=prefix or _NO_PREFIX, source=self.source)

    def question(self, asked: _Asked) -> AskedRule:
        return replace(_asked(asked), source=self.source)

    def threshold(self, left: _Asked, order: str, right: _Asked) -> Threshold:
        return _threshold(left, _plain(order), right)

    def divided(self, over: _Side, under: _Side) -> _Quotient:
        return _Quotient(_as_sum(over), _as_sum(under))

    def quotient(self, divided: _Quotient, *more: _Sum) -> _Quotient:
        added = _added(list(more))
        if added.terms:
            raise Misstatement(
                "a probability is added to a quotient",
                advice="Ask for a quotient of two sums: (...) / (...).",
            )
        # over / under + k is (over + k under) / under.
        return _Quotient(_added([divided.over, _times(divided.under, added.constant)]), divided.under)

    def expectation(self, _mark: str, term: Term, given: Pattern | None) -> _Probability:
        return _Probability(Expected(term), YES if given is None else given)

    def evidence(self, *formulas: Pattern) -> tuple[Evidence, ...]:
        return tuple(Evidence(formula, self.source) for formula in formulas)

    def include(self, path: str) -> Include:
        return Include(unquoted(path))

    def tau(self, truth: str) -> bool:
        return truth in ("true", "True")

    block = givens = staticmethod(_all)

    # ---- assessments --------------------------------------------------------------------------------

    def comparison(
        self, first: _Side, order: str, second: _Side, other_order: str | None, third: _Side | None
    ) -> _Assessment:
        if other_order is None or third is None:
            return _one_comparison(_as_sum(first), _plain(order), _as_sum(second))
        orders = (_plain(order), _plain(other_order))
        return _two_comparisons(_as_sum(first), orders, _as_sum(second), _as_sum(third))

    def total(self, *parts: _Side) -> _Sum:
        return _added([_as_sum(part) for part in parts])

    def addend(self, sign: str, part: _Side) -> _Sum:
        return _as_sum(part) if sign == "+" else _turned(_as_sum(part))

    def weighted(self, number: _Sum, probability: _Probability) -> _Sum:
        return _Sum(((number.constant, probability),), _ZERO)

    number = staticmethod(_constant)

    def probability(self, _mark: str, claim: Pattern, given: Pattern | None) -> _Probability:
        return _Probability(claim, YES if given is None else given)

    # ---- declarations -------------------------------------------------------------------------------

    def domain(self, name: str, elements: tuple[str, ...] | None) -> Domain:
        return Domain(name, elements or ())

    def listed(self, *elements: str | None) -> tuple[str, ...]:
        return _distinct(_given(elements))

    def interval(self, first: str, last: str) -> tuple[str, ...]:
        numbers = range(_whole(first), _whole(last) + 1)
        if not numbers:
            raise Misstatement(
                f"the range {first}..{last} is empty",
                lexeme=first.lstrip("-"),
                advice="Write the smaller number first, as in 1..6.",
            )
        if len(numbers) > LONGEST_RANGE:
            raise Misstatement(
                f"a range of {len(numbers)} elements is too long",
                lexeme=last,
                advice=f"Ranges have at most {LONGEST_RANGE} elements.",
            )
        return tuple(map(str, numbers))

    predicates = sorts = fact = entry = staticmethod(_all)

    def predicate(self, name: str, sorts: tuple[str, ...] | None, symmetric: str | None) -> Predicate:
        return Predicate(name, sorts or (), symmetric is not None)

    def variables(self, declared: tuple[Predicate, ...], values: tuple[str, ...] | str) -> _Variables:
        return tuple(RandomFunction(each.name, values, each.sorts) for each in declared)

    def indexed(self, name: str, sorts: tuple[str, ...] | None) -> Predicate:
        return Predicate(name, sorts or ())

    def relation(self, name: str, sorts: tuple[str, ...], *facts: tuple[str, ...] | None) -> Relation:
        return Relation(name, sorts, _given(facts))

    def function(self, name: str, sorts: tuple[str, ...], result: str, *entries: _Entry | None) -> Function:
        return Function(name, sorts, result, _given(entries))

    def relation_fact(self, name: str, *arguments: str) -> Fact:
        return Fact(name, arguments)

    def function_fact(self, name: str, *parts: str) -> Fact:
        *arguments, value = parts
        return Fact(name, tuple(arguments), value)

    def integer(self, sign: str | None, digits: str) -> str:
        # An element is what was written: 007 is not 7.
        return digits if sign in (None, "+") else f"-{digits}"

    # ---- formulas -----------------------------------------------------------------------------------

    iff = _joined_by(Connective.IFF)
    implies = _joined_by(Connective.IMPLIES)
    either = _joined_by(Connective.OR)
    parity = _joined_by(Connective.XOR)
    both = _joined_by(Connective.AND)
    nand = _joined_by(Connective.NAND)
    negation = _joined_by(Connective.NOT)

    def universal(self, prefix: Prefix, body: Pattern) -> Quantified:
        return Quantified(Quantifier.FORALL, prefix, body)

    def existential(self, prefix: Prefix, body: Pattern) -> Quantified:
        return Quantified(Quantifier.EXISTS, prefix, body)

    def truth(self, word: str) -> Boolean:
        return Boolean(self.tau(word))

    def compared(self, left: Term, order: str, right: Term) -> Comparison:
        if order == "=>":
            raise Misstatement(
                "=> is not a comparison of terms",
                lexeme=order,
                advice="Implication is ->; the comparison is >=.",
            )
        return Comparison(Order(_plain(order)), left, right)

    def shifted(self, term: Term, sign: str, steps: str) -> Shifted:
        return Shifted(term, _whole(steps) if sign == "+" else -_whole(steps))

    symbol = staticmethod(_name)

    def application(self, name: str, *arguments: Term) -> Application:
        if name == "P":
            raise Misstatement(
                "P(...) stands inside a formula",
                lexeme=name,
                advice="Put a formula there, without P.",
            )
        return Application(name, arguments)

    def prefix(self, *parts: Binder | Pattern | None) -> Prefix:
        binders = tuple(part for part in parts if isinstance(part, Binder))
        guards = [part for part in parts if part is not None and not isinstance(part, Binder)]
        names = [name for binder in binders for name in binder.names]
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise Misstatement(f"{repeated} is bound twice", lexeme=repeated)
        return Prefix(binders, conjoined(guards))

    def binder(self, *parts: str | None) -> Binder:
        *names, sort, distinct = parts
        return Binder(tuple(_given(names)), sort or "", distinct is not None)

    quoted = staticmethod(unquoted)


_Terms: TypeAlias = tuple[Term, ...]
_Entry: TypeAlias = tuple[tuple[str, ...], str]
_Variables: TypeAlias = tuple[RandomFunction, ...]
_NO_PREFIX = Prefix()


def _given(parts: Iterable[_T | None]) -> tuple[_T, ...]:
    return tuple(part for part in parts if part is not None)


def _distinct(elements: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(elements)) < len(elements):
        repeated = next(e for i, e in enumerate(elements) if e in elements[:i])
        raise Misstatement(f"{repeated} is listed twice", lexeme=repeated)
    return elements


def _plain(order: str) -> str:
    return _ORDERS.get(order, order)


def _as_sum(side: _Side) -> _Sum:
    return _Sum(((_ONE, side),), _ZERO) if isinstance(side, _Probability) else side


def _turned(side: _Sum) -> _Sum:
    return _Sum(tuple((-weight, p) for weight, p in side.terms), -side.constant)


def _added(sides: list[_Sum]) -> _Sum:
    terms = tuple(term for side in sides for term in side.terms)
    return _Sum(terms, sum((side.constant for side in sides), _ZERO))


def _times(side: _Sum, factor: Fraction) -> _Sum:
    return _Sum(tuple((factor * weight, p) for weight, p in side.terms if factor), factor * side.constant)


def _asked(asked: _Asked) -> AskedRule:
    """Return a question: of one probability, where it is asked for by itself."""
    if isinstance(asked, _Quotient):
        return CombinedRule(_weighed(asked.over), _weighed(asked.under))
    total = _as_sum(asked)
    if len(total.terms) == 1 and total.terms[0][0] == 1 and not total.constant:
        ((_, (claim, given)),) = total.terms
        if not isinstance(claim, Expected):
            return QueryRule(claim, given)
    return CombinedRule(_weighed(total))


def _weighed(side: _Sum) -> Sum:
    if not side.terms:
        raise Misstatement("nothing random is asked for", advice="Write P(...) around the formula.")
    return Sum(tuple(Weighed(weight, *probability) for weight, probability in side.terms), side.constant)


def _one_comparison(left: _Sum, order: str, right: _Sum) -> _Assessment:
    difference = _added([left, _turned(right)])
    bound = -difference.constant
    match order:
        case "<=":
            return _assessment(difference, None, bound)
        case ">=":
            return _assessment(difference, bound, None)
        case "=":
            return _assessment(difference, bound, bound)
        case _:
            raise _open_bound(order)


def _two_comparisons(first: _Sum, orders: tuple[str, str], middle: _Sum, third: _Sum) -> _Assessment:
    if orders not in (("<=", "<="), (">=", ">=")):
        raise _no_interval(orders)
    if first.terms or third.terms:
        raise Misstatement(
            "between two comparisons, only the middle may contain P(...)",
            advice="Write two sentences, or bring all probabilities to the middle.",
        )
    low, high = (first, third) if orders[0] == "<=" else (third, first)
    lower, upper = low.constant, high.constant
    if middle.constant:
        lower, upper = lower - middle.constant, upper - middle.constant
    return _assessment(middle, lower, upper)


_FLIPPED = {"<=": ">=", ">=": "<="}


def _threshold(left: _Asked, order: str, right: _Asked) -> Threshold:
    if order not in _FLIPPED:
        raise Misstatement(NO_THRESHOLD, lexeme=order, advice=THRESHOLD_ADVICE)
    if isinstance(right, _Quotient):
        left, order, right = right, _FLIPPED[order], left
    if isinstance(left, _Quotient):
        if isinstance(right, _Quotient) or _as_sum(right).terms:
            raise Misstatement(NO_THRESHOLD, lexeme=order, advice=THRESHOLD_ADVICE)
        return Threshold(_asked(left), Order(order), _as_sum(right).constant)
    assert not isinstance(right, _Quotient), "it would stand on the left by now"
    return _linear_threshold(_added([_as_sum(left), _turned(_as_sum(right))]), order)


def _linear_threshold(difference: _Sum, order: str) -> Threshold:
    """Bring all that is random to one side; a single probability gets the weight 1."""
    if not difference.terms:
        raise Misstatement(NO_THRESHOLD, lexeme=order, advice=THRESHOLD_ADVICE)
    weight = difference.terms[0][0] if len(difference.terms) == 1 else _ONE
    if not weight:
        raise Misstatement("the probability is multiplied by zero")
    relation = Order(order if weight > 0 else _FLIPPED[order])
    asked = _times(_Sum(difference.terms, _ZERO), 1 / weight)
    return Threshold(_asked(asked), relation, -difference.constant / weight)


def _no_interval(orders: tuple[str, str]) -> Misstatement:
    if "=" in orders:
        return Misstatement(
            "an equality stands where an interval was begun",
            lexeme="=",
            advice="Write `l <= P(...) <= u` for an interval, or `P(...) = p` alone for a point.",
        )
    if unusable := next((order for order in orders if order not in ("<=", ">=")), None):
        return _open_bound(unusable)
    return Misstatement(
        "the two comparisons point in different directions",
        lexeme=orders[1],
        advice="Write both as `<=`: lower <= P(...) <= upper.",
    )


def _open_bound(order: str) -> Misstatement:
    return Misstatement(
        f"a sentence cannot be stated with {order}",
        lexeme=order,
        advice="Bounds are closed: write <= or >=, or = for a point.",
    )


def _assessment(side: _Sum, lower: Fraction | None, upper: Fraction | None) -> _Assessment:
    if len({probability.given for _, probability in side.terms}) > 1:
        across = tuple((weight, (_claimed(p), p.given)) for weight, p in side.terms)
        weighed, lower, upper = normal_form(across, lower, upper)
        return ContrastAssessment(tuple(Weighed(w, *claim) for w, claim in weighed), lower, upper)
    given = _common_condition(side)
    terms = tuple([(weight, _claimed(probability)) for weight, probability in side.terms])
    claims, lower, upper = normal_form(terms, lower, upper)
    return Assessment(claims, given, lower, upper)


def _claimed(probability: _Probability) -> Pattern:
    claim = probability.claim
    assert not isinstance(claim, Expected), "the grammar has expected values in questions only"
    return claim


def _common_condition(side: _Sum) -> Pattern:
    if len(side.terms) == 1:
        return side.terms[0][1].given
    conditions = {probability.given for _, probability in side.terms}
    if not conditions:
        raise Misstatement("the sentence contains no probability", advice="Write P(...) around the formula.")
    return conditions.pop()
