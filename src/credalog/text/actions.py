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
from credalog.network.sentences import Estimate, Source, exact
from credalog.text.linear import (
    MINUS,
    Asked,
    Linear,
    NoProbability,
    Probability,
    Side,
    Threshold,
    amount_of,
    as_linear,
    asked_over,
    asked_plus,
    asked_rule,
    asked_times,
    joined,
    minus,
    one_comparison,
    over,
    plus,
    threshold_of,
    times,
    turned,
    two_comparisons,
    unconditional,
)
from credalog.theory import (
    YES,
    Amount,
    Application,
    AskedRule,
    Binder,
    Body,
    Boolean,
    Comparison,
    Compound,
    Connective,
    Constant,
    Domain,
    Entries,
    Entry,
    Evidence,
    Expected,
    FamilyTable,
    Function,
    Gap,
    IndependenceRule,
    Misstatement,
    Name,
    NumberFunction,
    Order,
    Pattern,
    Predicate,
    Prefix,
    Quantified,
    Quantifier,
    RandomFunction,
    Relation,
    Rule,
    Shifted,
    Spread,
    Term,
    conjoined,
    unquoted,
)

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
    """One more tuple of a relation, or, with a value, one more line of a function's table.

    A function of numbers takes the number and not the word.
    """

    name: str
    arguments: tuple[str, ...]
    value: str | None = None
    number: Fraction | None = None


@dataclass(frozen=True, slots=True)
class From:
    """Where a statement has its rows: a table or a query of SQL, and the columns if they are named."""

    name: str
    columns: tuple[str, ...] = ()
    is_query: bool = False


Awaiting: TypeAlias = Domain | Relation | Function | NumberFunction | Rule


@dataclass(frozen=True, slots=True)
class Tabled:
    """Declarations, or a rule about a table, whose rows are read from somewhere."""

    awaiting: tuple[Awaiting, ...]
    origin: From


_T = TypeVar("_T")
_ORDERS = {"≤": "<=", "≥": ">=", "⩽": "<=", "⩾": ">=", "≠": "!=", "==": "=", "=<": "<=", "=>": ">="}


@lru_cache(maxsize=100_000)
def _number(numeral: str) -> Linear:
    return Linear((), _exact(numeral), numeral)


def _exact(numeral: str) -> Fraction:
    try:
        return exact(numeral)
    except LanguageError as error:
        # In Python some of them would stand in quotes.
        raise Misstatement(error.message, lexeme=numeral, advice="Write 0.3, 1/3 or 30%.") from None


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
        self,
        label: str | None,
        prefix: Prefix | None,
        said: Body | Rule | Fact,
        tau: bool | None,
        learned: Estimate | None,
    ) -> Rule | Fact:
        if isinstance(said, Fact):
            if label or prefix or tau is not None or learned:
                raise NoProbability(said.name)
            return said
        body, wanted = (said.assessment, said.wanted) if isinstance(said, Rule) else (said, False)
        is_tied = tau is not False
        return Rule(body, prefix or _NO_PREFIX, is_tied, label or "", self.source, wanted, learned)

    def learned(
        self, successes: _Tally, rows: _Tally, method: str, parameter: Linear, *correction: str | None
    ) -> Estimate:
        name, intervals = correction
        number = amount_of(parameter, what="what was learned")
        if not isinstance(number, Fraction):
            raise Misstatement("a name stands in what was learned", advice="Write a number.")
        return Estimate(successes, rows, method, number, name or "", int(intervals or 1))

    def tally(self, least: str, most: str | None) -> _Tally:
        return _whole(least), _whole(most or least)

    def constant(self, name: str, value: Side) -> Constant:
        return Constant(name, amount_of(value, what="a constant"))

    def table(
        self,
        label: str | None,
        prefix: Prefix | None,
        claim: Term,
        parents: _Terms | None,
        body: Entries | Gap | _Lines,
    ) -> Rule:
        if isinstance(body, _Lines):
            said = FamilyTable(claim, parents or (), body.lines)
        elif parents and body != Gap.WANTED:
            raise Misstatement(
                "one row stands for all values of the parents",
                lexeme="(",
                advice="Give a row for each: table W | S = {winter: (0.2, rest), summer: (0.7, rest)}.",
            )
        else:
            entries = (body,) if isinstance(body, Gap) else body
            said = FamilyTable(claim, parents or (), (), entries)
        return Rule(said, prefix or _NO_PREFIX, label=label or "", source=self.source)

    def lines(self, *lines: _Line) -> _Lines:
        return _Lines(lines)

    def line(self, values: tuple[str, ...], entries: Entries | Gap) -> _Line:
        return values, (entries,) if isinstance(entries, Gap) else entries

    def table_from(
        self, label: str | None, prefix: Prefix | None, claim: Term, parents: _Terms | None, origin: From
    ) -> Tabled:
        said = FamilyTable(claim, parents or (), ())
        return Tabled((Rule(said, prefix or _NO_PREFIX, label=label or "", source=self.source),), origin)

    def independence(
        self, prefix: Prefix | None, left: _Terms, right: _Terms, given: _Terms | None
    ) -> IndependenceRule:
        return IndependenceRule(left, right, given or (), prefix or _NO_PREFIX, self.source)

    def query(self, prefix: Prefix | None, asked: Asked) -> AskedRule:
        return replace(asked_rule(asked), prefix=prefix or _NO_PREFIX, source=self.source)

    def question(self, asked: Asked) -> AskedRule:
        return replace(asked_rule(asked), source=self.source)

    def threshold(self, left: Asked, order: str, right: Asked) -> Threshold:
        return threshold_of(left, _plain(order), right)

    asked_divided = staticmethod(asked_over)
    asked_multiplied = staticmethod(asked_times)

    def asked_added(self, left: Asked, sign: str, right: Asked) -> Asked:
        return asked_plus(left, right if sign == "+" else asked_times(right, MINUS))

    def asked_signed(self, sign: str, asked: Asked) -> Asked:
        return asked if sign == "+" else asked_times(asked, MINUS)

    def expectation(self, _mark: str, term: Term, given: Pattern | None) -> Probability:
        return Probability(Expected(term), YES if given is None else given)

    def evidence(self, *formulas: Pattern) -> tuple[Evidence, ...]:
        return tuple(Evidence(formula, self.source) for formula in formulas)

    def include(self, path: str) -> Include:
        return Include(unquoted(path))

    def tau(self, truth: str) -> bool:
        return truth in ("true", "True")

    block = givens = staticmethod(_all)

    # ---- assessments --------------------------------------------------------------------------------

    def comparison(
        self, first: Side, order: str, second: Side, other_order: str | None, third: Side | None
    ) -> Body | Rule | Fact:
        if other_order is None or third is None:
            return _line_of_table(first, order, second) or one_comparison(first, _plain(order), second)
        return two_comparisons(first, (_plain(order), _plain(other_order)), second, third)

    def added(self, left: Side, sign: str, right: Side) -> Linear:
        add = plus if sign == "+" else minus
        return add(as_linear(left), as_linear(right))

    def signed(self, sign: str, side: Side) -> Linear:
        return as_linear(side) if sign == "+" else turned(as_linear(side))

    def multiplied(self, left: Side, right: Side) -> Linear:
        return times(as_linear(left), as_linear(right))

    def divided(self, left: Side, right: Side) -> Linear:
        return over(as_linear(left), as_linear(right))

    number = staticmethod(_number)

    def figure_name(self, name: str) -> Linear:
        return Linear((), _name(name), name)

    def figures(self, name: str, *arguments: Term) -> Linear:
        return Linear((), Application(name, arguments))

    def give_or_take(self, middle: Side, distance: Side) -> Spread:
        centre, by = (amount_of(side, what="an interval") for side in (middle, distance))
        return Spread(joined("-", centre, by), joined("+", centre, by), is_about=True)

    def between(self, lower: Side, upper: Side) -> Spread:
        least, most = (amount_of(side, what="an interval") for side in (lower, upper))
        return Spread(least, most)

    def wanted(self) -> Gap:
        return Gap.WANTED

    def rest(self) -> Gap:
        return Gap.REST

    def row(self, *entries: Side) -> Entries:
        return tuple(map(_entry, entries))

    def probability(self, _mark: str, claim: Pattern, given: Pattern | None) -> Probability:
        return unconditional(claim, given)

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

    predicates = sorts = fact = pair = staticmethod(_all)

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

    def domain_from(self, name: str, origin: From) -> Tabled:
        return Tabled((Domain(name),), origin)

    def relation_from(self, name: str, sorts: tuple[str, ...], origin: From) -> Tabled:
        return Tabled((Relation(name, sorts),), origin)

    def function_from(self, name: str, sorts: tuple[str, ...], result: str, origin: From) -> Tabled:
        return Tabled((Function(name, sorts, result),), origin)

    def numbers(self, declared: Predicate, *scores: _Score | None) -> NumberFunction:
        return NumberFunction(declared.name, _sorted(declared), _given(scores))

    def numbers_from(
        self, declared: tuple[Predicate, ...], origin: From | None
    ) -> Tabled | tuple[NumberFunction, ...]:
        functions = tuple(NumberFunction(each.name, _sorted(each)) for each in declared)
        return functions if origin is None else Tabled(functions, origin)

    def score(self, arguments: tuple[str, ...], value: Side) -> _Score:
        number = amount_of(value, what="a table of numbers")
        if not isinstance(number, Fraction):
            raise Misstatement("a name stands in a table of numbers", advice="Write the number itself.")
        return arguments, number

    def origin(self, sql: str | None, name: str, *columns: str | None) -> From:
        return From(unquoted(name), _given(columns), sql is not None)

    def relation_fact(self, fact: Linear) -> Fact:
        return Fact(*_applied(fact.constant))

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
            raise Misstatement(f"{repeated} is bound twice", lexeme=repeated, advice="Choose another name.")
        return Prefix(binders, conjoined(guards))

    def binder(self, *parts: str | None) -> Binder:
        *names, sort, distinct = parts
        return Binder(tuple(_given(names)), sort or "", distinct is not None)

    quoted = staticmethod(unquoted)


_Terms: TypeAlias = tuple[Term, ...]
_Tally: TypeAlias = tuple[int, int]
_Line: TypeAlias = tuple[tuple[str, ...], Entries]
_Score: TypeAlias = tuple[tuple[str, ...], Fraction]
_Entry: TypeAlias = tuple[tuple[str, ...], str]
_Variables: TypeAlias = tuple[RandomFunction, ...]
_NO_PREFIX = Prefix()


def _given(parts: Iterable[_T | None]) -> tuple[_T, ...]:
    return tuple(part for part in parts if part is not None)


def _distinct(elements: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(elements)) < len(elements):
        repeated = next(e for i, e in enumerate(elements) if e in elements[:i])
        advice = "List it once, or correct the one that should be another."
        raise Misstatement(f"{repeated} is listed twice", lexeme=repeated, advice=advice)
    return elements


def _plain(order: str) -> str:
    return _ORDERS.get(order, order)


class _Lines(NamedTuple):
    """The lines of a conditional table."""

    lines: tuple[_Line, ...]


def _sorted(declared: Predicate) -> tuple[str, ...]:
    if not declared.sorts:
        raise Misstatement(
            f"the domains of {declared.name} are missing",
            lexeme=declared.name,
            advice="Write number score(Doc, Claim); a single number is a constant: let eps = 0.05.",
        )
    return declared.sorts


def _entry(side: Side) -> Entry:
    match side:
        case Spread() | Gap():
            return side
        case _:
            number = amount_of(side, what="a row of numbers")
            return Spread(number, number)


def _applied(amount: Amount) -> tuple[str, tuple[str, ...]]:
    """Return a name and the elements it is applied to."""
    assert isinstance(amount, Application)
    elements = [term.name for term in amount.arguments if isinstance(term, Name)]
    if len(elements) < len(amount.arguments):
        raise Misstatement("a fact is about elements", lexeme=amount.name, advice="Write their names.")
    return amount.name, tuple(elements)


def _line_of_table(left: Side, order: str, right: Side) -> Fact | None:
    """Read `f(a, b) = c` as a line of a function's table."""
    if _plain(order) != "=" or not isinstance(left, Linear) or not isinstance(right, Linear):
        return None
    if left.terms or right.terms or not isinstance(left.constant, Application):
        return None
    number = right.constant if isinstance(right.constant, Fraction) else None
    if number is None and not right.written:
        return None
    return Fact(*_applied(left.constant), right.written or str(number), number)
