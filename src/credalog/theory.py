"""The first-order theory: what a text says before it is grounded.

Input: declarations, rules, queries and evidence, as read from a text or built in Python. Output:
`Theory`, an immutable value compared by content, which grounding turns into a network.

A `Pattern` is a formula that may contain logical variables, quantifiers, functions and comparisons. Its
terms are `Name` and `Application`; whether `Fr(x, Tim)` is a predicate on a logical variable and a
constant, or a function value, is settled by the declarations when the theory is grounded.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias, TypeVar, assert_never

from credalog.errors import CredalogError, LanguageError, Place
from credalog.network.formulas import And, Formula, Iff, Implies, Is, Not, Or, Truth, Xor
from credalog.network.sentences import Estimate, Source
from credalog.origins import Origin

# fmt: off
RESERVED = frozenset((
    "P", "and", "column", "columns", "distinct", "domain", "evidence", "exists", "false", "False", "forall",
    "from", "function", "iff", "implies", "in", "include", "independent", "learned", "let", "nand", "not",
    "number", "of", "or", "predicate", "proposition", "query", "relation", "rest", "sql", "symmetric",
    "table", "tau", "true", "True", "variable", "where", "xor",
))
# fmt: on
"""The words of the language; as names they are written in quotes."""

_ZERO, _ONE = Fraction(0), Fraction(1)
_PLAIN = re.compile(r"[^\W\d]\w*'*")
_INTEGER = re.compile(r"-?\d+")
_ARGUMENT = re.compile(r'"(?:\\.|[^"\\])*"|[^,"]+')


DEPTH = 150
"""How deeply formulas may be nested."""


@lru_cache(maxsize=100_000)
def written(element: str) -> str:
    """Write a constant as the language does: in quotes unless it is an identifier or an integer."""
    return element if _INTEGER.fullmatch(element) else named(element)


def named(name: str) -> str:
    """Write what is declared or random as the language does: in quotes unless it is an identifier."""
    return name if _PLAIN.fullmatch(name) and name not in RESERVED else quoted(name)


def quoted(name: str) -> str:
    """Write a name in quotes."""
    return '"' + re.sub(r'(["\\])', r"\\\1", name).replace("\n", "\\n") + '"'


def unquoted(word: str) -> str:
    """Return the name that was written so."""
    if not word.startswith('"'):
        return word
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], word[1:-1])


class Misstatement(LanguageError):
    """Something wrong in a statement, before it is known where the statement stands.

    `lexeme` is the word to point at, and `kind` the error that the user will see.
    """

    def __init__(
        self,
        message: str,
        *,
        lexeme: str = "",
        advice: str = "",
        kind: type[CredalogError] = LanguageError,
        row: tuple[str, ...] = (),
        cell: int = 0,
    ) -> None:
        super().__init__(message, advice=advice)
        self.lexeme = lexeme
        self.kind = kind
        self.row = row
        """The fact or entry at fault, and which of its cells."""
        self.cell = cell

    def at(self, place: Place | None) -> CredalogError:
        """Return the error that the user sees."""
        return self.kind(self.message, place=place, advice=self.advice)


def place_of(lexeme: str, text: str, *, line: int = 1, file: str = "", inside: str = "") -> Place:
    """Point at the first occurrence of a word in a text that begins on this line, or at its beginning."""
    edge = r"\w" if lexeme[:1].isalnum() else r"[<>=!]"
    found = re.search(rf"(?<!{edge}){re.escape(lexeme)}(?!{edge})", text) if lexeme else None
    offset = found.start() if found else len(text) - len(text.lstrip())
    return Place.within(text, offset, line=line, file=file, inside=inside)


class Connective(Enum):
    """Name the connectives of the language; NOT takes one operand, the others two or more."""

    NOT = "not"
    AND = "and"
    NAND = "nand"
    XOR = "xor"
    OR = "or"
    IMPLIES = "implies"
    IFF = "iff"


class Order(Enum):
    """Name the comparisons between two terms."""

    EQUAL = "="
    UNEQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="


class Quantifier(Enum):
    """Name the two quantifiers."""

    FORALL = "forall"
    EXISTS = "exists"


@dataclass(frozen=True, slots=True)
class Name:
    """A logical variable, a constant (integers included), a proposition or a plain random variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Application:
    """A predicate, relation, function or indexed random variable applied to terms."""

    name: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Shifted:
    """The integer `by` steps after a term, as in `day + 1`."""

    term: Term
    by: int


Term: TypeAlias = Name | Application | Shifted


@dataclass(frozen=True, slots=True)
class Boolean:
    """The pattern that is always true, or always false."""

    value: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two terms compared, as in `Color = red`, `x != y` or `day < 5`."""

    order: Order
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Compound:
    """Patterns joined by a connective."""

    connective: Connective
    operands: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Binder:
    """Logical variables that range over one domain, all different where `distinct`."""

    names: tuple[str, ...]
    sort: str
    distinct: bool = False


YES = Boolean(True)


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stands between a quantifier and its colon: binders, and a guard that instances must pass."""

    binders: tuple[Binder, ...] = ()
    guard: Pattern = YES


@dataclass(frozen=True, slots=True)
class Quantified:
    """A quantifier inside a formula."""

    quantifier: Quantifier
    prefix: Prefix
    body: Pattern


Pattern: TypeAlias = Boolean | Name | Application | Shifted | Comparison | Compound | Quantified


def conjoined(patterns: Iterable[Pattern]) -> Pattern:
    """Return the conjunction of any number of patterns."""
    parts = tuple(pattern for pattern in patterns if pattern != YES)
    return YES if not parts else parts[0] if len(parts) == 1 else Compound(Connective.AND, parts)


@lru_cache(maxsize=100_000)
def term_of(name: str) -> Term:
    """Return the term that denotes the ground variable of this name."""
    predicate, _, rest = name.partition("(")
    arguments = tuple(Name(unquoted(found)) for found in _ARGUMENT.findall(rest[:-1]))
    applied = f"{predicate}({','.join(written(argument.name) for argument in arguments)})"
    is_application = bool(arguments) and _PLAIN.fullmatch(predicate) and applied == name
    return Application(predicate, arguments) if is_application else Name(name)


def lifted(formula: Formula) -> Pattern:
    """Return a ground formula as a pattern."""
    match formula:
        case Truth(value):
            return Boolean(value)
        case Is(variable, value) if variable.is_proposition:
            atom = term_of(variable.name)
            return atom if value == "true" else Compound(Connective.NOT, (atom,))
        case Is(variable, value):
            return Comparison(Order.EQUAL, term_of(variable.name), Name(value))
        case Not(operand):
            return Compound(Connective.NOT, (lifted(operand),))
        case And(operands) | Or(operands) | Xor(operands):
            connective = {And: Connective.AND, Or: Connective.OR, Xor: Connective.XOR}[type(formula)]
            return Compound(connective, tuple(map(lifted, operands)))
        case Implies(premise, conclusion):
            return Compound(Connective.IMPLIES, (lifted(premise), lifted(conclusion)))
        case Iff(left, right):
            return Compound(Connective.IFF, (lifted(left), lifted(right)))
        case _:
            assert_never(formula)


@dataclass(frozen=True, slots=True)
class Domain:
    """A finite sort of elements, in the order that comparisons between them follow."""

    name: str
    elements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Predicate:
    """A random relation: one proposition for each tuple of elements; without sorts, a proposition."""

    name: str
    sorts: tuple[str, ...] = ()
    symmetric: bool = False


@dataclass(frozen=True, slots=True)
class RandomFunction:
    """A multi-valued variable for each tuple of elements; `values` lists them or names a domain."""

    name: str
    values: tuple[str, ...] | str
    sorts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation given as facts, for use in guards and formulas."""

    name: str
    sorts: tuple[str, ...]
    facts: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A function given by a table of (arguments, value), possibly partial."""

    name: str
    sorts: tuple[str, ...]
    result: str
    table: tuple[tuple[tuple[str, ...], str], ...] = ()


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two amounts joined by one of the operations + - * /."""

    operation: str
    left: Amount
    right: Amount


Amount: TypeAlias = Fraction | Name | Application | Arithmetic
"""A number, a named constant, a number that a table gives to elements, or what is computed from these."""


def arithmetic(operation: str, left: Fraction, right: Fraction, *, lexeme: str = "") -> Fraction:
    """Join two numbers by an operation; `lexeme` is how the second was written."""
    match operation:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case _ if right:
            return left / right
        case _:
            raise Misstatement(
                "a number is divided by zero",
                lexeme=lexeme or "/",
                advice="Correct what stands below the line.",
            )


@dataclass(frozen=True, slots=True)
class Constant:
    """A number with a name."""

    name: str
    value: Amount


@dataclass(frozen=True, slots=True)
class NumberFunction:
    """A number for each tuple of elements in a table; `rows` says where each line of it was read."""

    name: str
    sorts: tuple[str, ...]
    table: tuple[tuple[tuple[str, ...], Fraction], ...] = ()
    rows: tuple[Source, ...] = field(default=(), compare=False)


Declaration: TypeAlias = Domain | Predicate | RandomFunction | Relation | Function | Constant | NumberFunction


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
        per_cent = f" For per cent, write {_shown(wrong)}%." if 1 < wrong <= 100 else ""
        advice = f"A probability lies between 0 and 1.{per_cent}"
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
        raise Misstatement("the probabilities cancel, so the sentence says nothing")
    return claims


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
    prefix: Prefix = Prefix()
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
    prefix: Prefix = Prefix()
    source: Source | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class QueryRule:
    """The question P(claim | given), for every instance of the prefix."""

    claim: Pattern
    given: Pattern = YES
    prefix: Prefix = Prefix()
    source: Source | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CombinedRule:
    """The question for a sum of probabilities, or one sum divided by another, for every instance."""

    over: Sum
    under: Sum | None = None
    prefix: Prefix = Prefix()
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
