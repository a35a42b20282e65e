"""The two sides of a comparison: weighted probabilities, and amounts computed from numbers and names.

Input: numbers, names and probabilities, as the grammar joins them. Output: the body of a rule, with exact
numbers where all are known and with what is to be computed where constants or tables have to tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from credalog.theory import (
    YES,
    Amount,
    Application,
    Arithmetic,
    Assessment,
    Body,
    Computed,
    Entries,
    Gap,
    Misstatement,
    Name,
    Order,
    Pattern,
    QueryRule,
    Row,
    Rule,
    Spread,
    Term,
    arithmetic,
    normal_form,
)

NO_THRESHOLD = "this is no comparison of one probability with a number by <= or >="
THRESHOLD_ADVICE = "Write it like `P(a | b) >= 0.5`, `P(a) <= 1/3` or `20% <= P(a)`."

ZERO, ONE = Fraction(0), Fraction(1)
FLIPS = {"<=": ">=", ">=": "<="}


class NoProbability(Misstatement):
    """A formula stands where its probability is meant; how it is written may say more."""

    def __init__(self, name: str) -> None:
        super().__init__(
            "a formula stands there without P(...)",
            lexeme=name,
            advice="Write P(...) around it, and bounds: P(a -> b) >= 0.3.",
        )


class Probability(NamedTuple):
    """The probability of a claim, given a condition."""

    claim: Pattern
    given: Pattern


class Linear(NamedTuple):
    """Weighted probabilities and an amount; `written` is a number or name that stands alone."""

    terms: tuple[tuple[Amount, Probability], ...]
    constant: Amount
    written: str = ""


Side: TypeAlias = Probability | Linear | Spread | Entries | Gap
"""What may stand on one side of a comparison; a spread holds amounts, entries are a row."""


class Threshold(NamedTuple):
    """The statement that a probability is at least, or at most, a number."""

    asked: QueryRule
    order: Order
    number: Fraction


# ---- amounts ----------------------------------------------------------------------------------------------


def joined(operation: str, left: Amount, right: Amount, *, lexeme: str = "") -> Amount:
    """Compute two amounts, or remember what is to be computed."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return arithmetic(operation, left, right, lexeme=lexeme)
    is_neutral = (operation in "+-" and right == 0) or (operation in "*/" and right == 1)
    if isinstance(right, Fraction) and is_neutral:
        return left
    if isinstance(left, Fraction) and (operation, left) in (("+", ZERO), ("*", ONE)):
        return right
    return Arithmetic(operation, left, right)


def names_in(amount: Amount) -> Iterator[str]:
    """Yield the constants and functions that an amount depends on."""
    match amount:
        case Name(name) | Application(name):
            yield name
        case Arithmetic(_, left, right):
            yield from names_in(left)
            yield from names_in(right)
        case _:
            return


def as_linear(side: Side) -> Linear:
    """Return one side as weighted probabilities and an amount."""
    match side:
        case Linear():
            return side
        case Probability():
            return Linear(((ONE, side),), ZERO)
        case Spread() | Gap():
            raise _misplaced("?" if isinstance(side, Gap) else "an interval")
        case _:
            raise _misplaced("a row of numbers")


def _misplaced(what: str) -> Misstatement:
    return Misstatement(
        f"{what} stands where one number is expected",
        advice="Write P(a) = 0.3 ± 0.05, P(Color) = (0.2, 0.3, rest) or P(a) = ?, with nothing else.",
    )


def amount_of(side: Side, *, what: str) -> Amount:
    """Return an amount without probabilities."""
    found = as_linear(side)
    if found.terms:
        raise Misstatement(
            f"a probability stands in {what}", lexeme="P", advice="Write numbers and constants."
        )
    return found.constant


def turned(side: Linear) -> Linear:
    """Return one side with the opposite sign."""
    written = f"-{side.written}" if side.written[:1].isdigit() else ""
    return Linear(tuple((joined("-", ZERO, w), p) for w, p in side.terms), _minus(side.constant), written)


def _minus(amount: Amount) -> Amount:
    return -amount if isinstance(amount, Fraction) else Arithmetic("-", ZERO, amount)


def plus(left: Linear, right: Linear) -> Linear:
    """Add two sides."""
    return Linear(left.terms + right.terms, joined("+", left.constant, right.constant))


def minus(left: Linear, right: Linear) -> Linear:
    """Subtract one side from the other."""
    return Linear(left.terms + turned(right).terms, joined("-", left.constant, right.constant))


def times(left: Linear, right: Linear) -> Linear:
    """Multiply two sides, of which one has no probabilities."""
    if left.terms and right.terms:
        raise Misstatement(
            "two probabilities are multiplied",
            lexeme="*",
            advice="Sentences are linear: multiply a probability by numbers only.",
        )
    factor, other = (right.constant, left) if left.terms else (left.constant, right)
    terms = tuple((joined("*", factor, weight), p) for weight, p in other.terms)
    return Linear(terms, joined("*", left.constant, right.constant) if not terms else _scaled(factor, other))


def _scaled(factor: Amount, other: Linear) -> Amount:
    return ZERO if other.constant == 0 else joined("*", factor, other.constant)


def over(left: Linear, right: Linear) -> Linear:
    """Divide one side by another without probabilities."""
    if right.terms:
        raise Misstatement(
            "something is divided by a probability",
            lexeme="/",
            advice="Sentences are linear: bring the probability to the other side.",
        )
    by, lexeme = right.constant, right.written
    terms = tuple((joined("/", weight, by, lexeme=lexeme), p) for weight, p in left.terms)
    return Linear(terms, joined("/", left.constant, by, lexeme=lexeme))


# ---- comparisons ------------------------------------------------------------------------------------------


def one_comparison(left: Side, order: str, right: Side) -> Body | Rule:
    """Return what a comparison of two sides says; a rule where it is wanted from data."""
    if isinstance(left, Spread | Gap) or _is_row(left):
        left, right = right, left
    match right:
        case Linear() | Probability():
            return _compared(as_linear(left), order, as_linear(right))
        case Gap():
            asked = _alone(left, order, "?")
            return Rule(Assessment(((ONE, asked.claim),), asked.given, ZERO, ONE), wanted=True)
        case Spread():
            return _spread(as_linear(left), order, right)
        case _:
            asked = _alone(left, order, "a row of numbers")
            return Row(_variable(asked.claim), asked.given, right)


def _is_row(side: Side) -> bool:
    return isinstance(side, tuple) and not isinstance(side, Probability | Linear)


def _compared(left: Linear, order: str, right: Linear) -> Assessment | Computed:
    """Bring the probabilities to the left, and the amounts to the right."""
    if right.terms and not left.terms:
        left, right, order = right, left, FLIPS.get(order, order)
    side = Linear(left.terms + turned(right).terms, ZERO)
    bound = joined("-", right.constant, left.constant)
    match order:
        case "<=":
            return _assessment(side, None, bound)
        case ">=":
            return _assessment(side, bound, None)
        case "=":
            return _assessment(side, bound, bound)
        case _:
            raise open_bound(order)


def _spread(side: Linear, order: str, spread: Spread) -> Assessment | Computed:
    if order != "=":
        raise Misstatement(
            f"an interval follows {order}", lexeme=order, advice="Write an equals sign: P(a) = 0.3 ± 0.05."
        )
    lower, upper = (joined("-", end, side.constant) for end in (spread.lower, spread.upper))
    return _assessment(side, lower, upper, is_about=spread.is_about)


def _alone(side: Side, order: str, what: str) -> Probability:
    match side:
        case Probability() if order == "=":
            return side
        case _:
            raise Misstatement(
                f"{what} needs one probability and an equals sign on the other side",
                lexeme=order,
                advice="Write P(a | b) = ?, or P(Color | b) = (0.2, 0.3, rest).",
            )


def _variable(claim: Pattern) -> Term:
    if isinstance(claim, Name | Application):
        return claim
    raise Misstatement(
        "a row of numbers is the distribution of one variable",
        advice="Write P(Color | ...) = (0.2, 0.3, rest), with the variable and no value.",
    )


def two_comparisons(first: Side, orders: tuple[str, str], middle: Side, third: Side) -> Assessment | Computed:
    """Return what `lower <= sum <= upper` says."""
    if orders not in (("<=", "<="), (">=", ">=")):
        raise _no_interval(orders)
    ends, between = (as_linear(first), as_linear(third)), as_linear(middle)
    if any(end.terms for end in ends):
        raise Misstatement(
            "between two comparisons, only the middle may contain P(...)",
            advice="Write two sentences, or bring all probabilities to the middle.",
        )
    low, high = ends if orders[0] == "<=" else reversed(ends)
    lower, upper = (joined("-", end.constant, between.constant) for end in (low, high))
    return _assessment(between, lower, upper)


def threshold_of(left: Side, order: str, right: Side) -> Threshold:
    """Return what is to be decided."""
    difference = minus(as_linear(left), as_linear(right))
    number = difference.constant
    if order not in ("<=", ">=") or len(difference.terms) != 1:
        raise Misstatement(NO_THRESHOLD, lexeme=order, advice=THRESHOLD_ADVICE)
    ((weight, asked),) = difference.terms
    if not isinstance(number, Fraction) or not isinstance(weight, Fraction):
        raise Misstatement(NO_THRESHOLD, lexeme=next(names_in(number), ""), advice=THRESHOLD_ADVICE)
    if not weight:
        raise Misstatement("the probability is multiplied by zero")
    relation = Order(order if weight > 0 else FLIPS[order])
    return Threshold(QueryRule(asked.claim, asked.given), relation, -number / weight)


def _no_interval(orders: tuple[str, str]) -> Misstatement:
    if "=" in orders:
        return Misstatement(
            "an equality stands where an interval was begun",
            lexeme="=",
            advice="Write `l <= P(...) <= u` for an interval, or `P(...) = p` alone for a point.",
        )
    if unusable := next((order for order in orders if order not in ("<=", ">=")), None):
        return open_bound(unusable)
    return Misstatement(
        "the two comparisons point in different directions",
        lexeme=orders[1],
        advice="Write both as `<=`: lower <= P(...) <= upper.",
    )


def open_bound(order: str) -> Misstatement:
    """Return the complaint about a bound that is not closed."""
    return Misstatement(
        f"a sentence cannot be stated with {order}",
        lexeme=order,
        advice="Bounds are closed: write <= or >=, or = for a point.",
    )


def _assessment(
    side: Linear, lower: Amount | None, upper: Amount | None, *, is_about: bool = False
) -> Assessment | Computed:
    given = _common_condition(side, lower, upper)
    exact = [(w, p.claim) for w, p in side.terms if isinstance(w, Fraction)]
    is_exact = len(exact) == len(side.terms)
    if is_exact and isinstance(lower, Fraction | None) and isinstance(upper, Fraction | None):
        claims, low, high = normal_form(tuple(exact), lower, upper, is_about=is_about)
        return Assessment(claims, given, low, high)
    terms = tuple((weight, probability.claim) for weight, probability in side.terms)
    return Computed(terms, given, lower, upper, is_about)


def _common_condition(side: Linear, *bounds: Amount | None) -> Pattern:
    if len(side.terms) == 1:
        return side.terms[0][1].given
    conditions = {probability.given for _, probability in side.terms}
    if len(conditions) > 1:
        raise Misstatement(
            "the probabilities of one sentence have different conditions",
            advice="All terms need the same condition, as in P(a | c) >= 2 P(b | c).",
        )
    if not conditions:
        raise _without_probability([bound for bound in bounds if bound is not None])
    return conditions.pop()


def _without_probability(bounds: list[Amount]) -> Misstatement:
    name = next((name for bound in bounds for name in names_in(bound)), "")
    if name:
        return NoProbability(name)
    return Misstatement("the sentence contains no probability", advice="Write P(...) around the formula.")


def unconditional(claim: Pattern, given: Pattern | None) -> Probability:
    """Return a probability whose condition may be missing."""
    return Probability(claim, YES if given is None else given)
