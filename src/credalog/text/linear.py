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
    AskedRule,
    Assessment,
    Body,
    CombinedRule,
    Computed,
    ContrastAssessment,
    Entries,
    Expected,
    Gap,
    Misstatement,
    Name,
    Order,
    Pattern,
    QueryRule,
    Row,
    Rule,
    Spread,
    Sum,
    Term,
    Weighed,
    arithmetic,
    settled_body,
)

NO_THRESHOLD = "this is no comparison with a number by <= or >="
THRESHOLD_ADVICE = (
    "Write it like `P(a | b) >= 0.5`, `20% <= P(a)` or `P(a | b) - P(a | !b) >= 0`, with no other sign than "
    "<= and >=. Two bounds are decided one by one: `P(a) >= 0.1`, then `P(a) <= 0.5`."
)

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
    """The probability of a claim, or in a question an expected value, given a condition."""

    claim: Pattern | Expected
    given: Pattern


class Linear(NamedTuple):
    """Weighted probabilities and an amount; `written` is a number or name that stands alone."""

    terms: tuple[tuple[Amount, Probability], ...]
    constant: Amount
    written: str = ""


Side: TypeAlias = Probability | Linear | Spread | Entries | Gap
"""What may stand on one side of a comparison; a spread holds amounts, entries are a row."""


class Quotient(NamedTuple):
    """One sum divided by another, which only a question may have."""

    over: Linear
    under: Linear


Asked: TypeAlias = Probability | Linear | Quotient
MINUS = Linear((), -ONE)


class Threshold(NamedTuple):
    """The statement that what is asked for is at least, or at most, a number."""

    asked: AskedRule
    order: Order
    number: Fraction


# ---- amounts ----------------------------------------------------------------------------------------------


def joined(operation: str, left: Amount, right: Amount, *, lexeme: str = "") -> Amount:
    """Compute two amounts, or remember what is to be computed."""
    is_neutral = (operation in "+-" and right == 0) or (operation in "*/" and right == 1)
    if isinstance(right, Fraction) and is_neutral:
        return left
    if isinstance(left, Fraction) and (operation, left) in (("+", ZERO), ("*", ONE)):
        return right
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return arithmetic(operation, left, right, lexeme=lexeme)
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
            return Rule(Assessment(((ONE, _claimed(asked)),), asked.given, ZERO, ONE), wanted=True)
        case Spread():
            return _spread(as_linear(left), order, right)
        case _:
            asked = _alone(left, order, "a row of numbers")
            return Row(_variable(_claimed(asked)), asked.given, right)


def _is_row(side: Side) -> bool:
    return isinstance(side, tuple) and not isinstance(side, Probability | Linear)


def _compared(left: Linear, order: str, right: Linear) -> Assessment | ContrastAssessment | Computed:
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


def _spread(side: Linear, order: str, spread: Spread) -> Assessment | ContrastAssessment | Computed:
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


def two_comparisons(
    first: Side, orders: tuple[str, str], middle: Side, third: Side
) -> Assessment | ContrastAssessment | Computed:
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


def _no_interval(orders: tuple[str, str]) -> Misstatement:
    if "=" in orders:
        return Misstatement(
            "an equality stands where an interval was begun",
            lexeme="=",
            advice="Write `l <= P(...) <= u` for an interval, or `P(...) = p` alone for a point; "
            "a second sentence has a line of its own.",
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
) -> Assessment | ContrastAssessment | Computed:
    givens = tuple(probability.given for _, probability in side.terms)
    if not givens:
        raise _without_probability([bound for bound in (lower, upper) if bound is not None])
    known = tuple([(w, _claimed(p)) for w, p in side.terms if isinstance(w, Fraction)])
    is_known = len(known) == len(givens)
    if is_known and isinstance(lower, Fraction | None) and isinstance(upper, Fraction | None):
        return settled_body(known, givens, lower, upper, is_about=is_about)
    claims = tuple((weight, _claimed(probability)) for weight, probability in side.terms)
    is_across = len(set(givens)) > 1
    own = givens if is_across else ()
    return Computed(claims, YES if is_across else givens[0], lower, upper, is_about, own)


def _claimed(probability: Probability) -> Pattern:
    claim = probability.claim
    assert not isinstance(claim, Expected), "the grammar has expected values in questions only"
    return claim


def _without_probability(bounds: list[Amount]) -> Misstatement:
    name = next((name for bound in bounds for name in names_in(bound)), "")
    if name:
        return NoProbability(name)
    return Misstatement("the sentence contains no probability", advice="Write P(...) around the formula.")


def unconditional(claim: Pattern, given: Pattern | None) -> Probability:
    """Return a probability whose condition may be missing."""
    return Probability(claim, YES if given is None else given)


# ---- questions --------------------------------------------------------------------------------------------


def asked_plus(left: Asked, right: Asked) -> Asked:
    """Add what is asked for; to a quotient only a number can be added."""
    if isinstance(right, Quotient):
        left, right = right, left
    if not isinstance(left, Quotient):
        assert not isinstance(right, Quotient), "it would stand on the left by now"
        return plus(as_linear(left), as_linear(right))
    if isinstance(right, Quotient) or as_linear(right).terms:
        raise Misstatement(
            "a probability is added to a quotient", advice="Ask for a quotient of two sums: (...) / (...)."
        )
    # over / under + k is (over + k under) / under.
    return Quotient(plus(left.over, times(as_linear(right), left.under)), left.under)


def asked_times(left: Asked, right: Asked) -> Asked:
    """Multiply what is asked for by a number."""
    if isinstance(right, Quotient):
        left, right = right, left
    if not isinstance(left, Quotient):
        assert not isinstance(right, Quotient), "it would stand on the left by now"
        return times(as_linear(left), as_linear(right))
    if isinstance(right, Quotient) or as_linear(right).terms:
        raise Misstatement("two probabilities are multiplied", lexeme="*", advice="Questions are linear.")
    return Quotient(times(left.over, as_linear(right)), left.under)


def asked_over(left: Asked, right: Asked) -> Asked:
    """Divide what is asked for by a number, or one sum by another."""
    if isinstance(right, Quotient) or (isinstance(left, Quotient) and as_linear(right).terms):
        raise Misstatement(
            "a quotient is divided again", lexeme="/", advice="Ask for a quotient of two sums: (...) / (...)."
        )
    by = as_linear(right)
    if isinstance(left, Quotient):
        return Quotient(over(left.over, by), left.under)
    return Quotient(as_linear(left), by) if by.terms else over(as_linear(left), by)


def asked_rule(asked: Asked) -> AskedRule:
    """Return a question: of one probability, where it is asked for by itself."""
    if isinstance(asked, Quotient):
        return CombinedRule(_weighed(asked.over), _weighed(asked.under))
    total = as_linear(asked)
    if len(total.terms) == 1 and total.terms[0][0] == 1 and not total.constant:
        ((_, (claim, given)),) = total.terms
        if not isinstance(claim, Expected):
            return QueryRule(claim, given)
    return CombinedRule(_weighed(total))


def _weighed(side: Linear) -> Sum:
    if not side.terms:
        raise Misstatement("nothing random is asked for", advice="Write P(...) around the formula.")
    terms = tuple(Weighed(_known(weight), *probability) for weight, probability in side.terms)
    return Sum(terms, _known(side.constant))


def _known(amount: Amount) -> Fraction:
    assert isinstance(amount, Fraction), "the grammar has only numbers in questions"
    return amount


def threshold_of(left: Asked, order: str, right: Asked) -> Threshold:
    """Return what is to be decided."""
    if order not in FLIPS:
        raise Misstatement(NO_THRESHOLD, lexeme=order, advice=THRESHOLD_ADVICE)
    if isinstance(right, Quotient):
        left, order, right = right, FLIPS[order], left
    if isinstance(left, Quotient):
        if isinstance(right, Quotient) or as_linear(right).terms:
            raise Misstatement(NO_THRESHOLD, lexeme=order, advice=THRESHOLD_ADVICE)
        return Threshold(asked_rule(left), Order(order), _known(as_linear(right).constant))
    assert not isinstance(right, Quotient), "it would stand on the left by now"
    return _linear_threshold(minus(as_linear(left), as_linear(right)), order)


def _linear_threshold(difference: Linear, order: str) -> Threshold:
    """Bring all that is random to one side; a single probability gets the weight 1."""
    if not difference.terms:
        raise Misstatement(NO_THRESHOLD, lexeme=order, advice=THRESHOLD_ADVICE)
    weight = _known(difference.terms[0][0]) if len(difference.terms) == 1 else ONE
    if not weight:
        raise Misstatement("the probability is multiplied by zero")
    relation = Order(order if weight > 0 else FLIPS[order])
    asked = times(Linear(difference.terms, ZERO), Linear((), 1 / weight))
    return Threshold(asked_rule(asked), relation, -_known(difference.constant) / weight)
