"""Write a theory, a formula or a query as text.

Input: a `Theory`, or ground values. Output: text that reads back as the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

from credalog.network.expressions import Linear, Question, Quotient
from credalog.network.formulas import TRUE, Formula
from credalog.network.sentences import Contrast, Estimate, Network, Query, Sentence
from credalog.text.lifting import asked_rule_of, contrast_rule_of, rule_of, theory_of
from credalog.theory import (
    RESERVED,
    YES,
    Amount,
    Application,
    Arithmetic,
    AskedRule,
    Assessment,
    Binder,
    Boolean,
    Comparison,
    Compound,
    Computed,
    Connective,
    Constant,
    ContrastAssessment,
    Declaration,
    Domain,
    Entries,
    Entry,
    Expected,
    FamilyTable,
    Function,
    Gap,
    IndependenceRule,
    Name,
    NumberFunction,
    Pattern,
    Predicate,
    Prefix,
    Quantified,
    QueryRule,
    RandomFunction,
    Relation,
    Row,
    Rule,
    Shifted,
    Sum,
    Term,
    Theory,
    Weighed,
    lifted,
    named,
    quoted,
    written,
)

_CONNECTIVES = {
    Connective.IFF: (1, " <-> "),
    Connective.IMPLIES: (2, " -> "),
    Connective.OR: (3, " or "),
    Connective.XOR: (4, " xor "),
    Connective.AND: (5, " and "),
    Connective.NAND: (6, " nand "),
    Connective.NOT: (7, "!"),
}
"""How tightly each connective binds, and how it is written."""

_ATOM = 8
_ZERO = Fraction(0)
_PLAIN_LABEL = re.compile(r"[^\W\d]\w*'*(\.\w+)*(\[[\w', -]*\])?")


def unparse(theory: Theory) -> str:
    """Write a theory; a file that was included becomes part of the text."""
    parts = [
        *map(_declaration, theory.declarations),
        *map(unparse_rule, theory.rules),
        *map(_independence, theory.independences),
        *(f"evidence {_pattern(e.formula)}" for e in theory.evidence),
        *map(_query, theory.queries),
    ]
    return "".join(f"{part}\n" for part in parts)


def unparse_network(network: Network, *, evidence: Formula = TRUE, queries: Iterable[Question] = ()) -> str:
    """Write a ground network, what was observed, and what is asked."""
    return unparse(theory_of(network, evidence=evidence, queries=queries))


def said(sentence: Sentence) -> str:
    """Write what a ground sentence says, without its label, and the rows of tables that say it."""
    text = unparse_sentence(replace(sentence, label="")).strip()
    rows = sentence.source.rows if sentence.source is not None else ()
    return f"{text}  # {', '.join(map(str, rows))}" if rows else text


def unparse_sentence(sentence: Sentence) -> str:
    """Write a ground sentence."""
    return unparse_rule(rule_of(sentence))


def unparse_formula(formula: Formula) -> str:
    """Write a ground formula."""
    return _pattern(lifted(formula))


def unparse_query(query: Query) -> str:
    """Write a ground query as P(...)."""
    return _probability(lifted(query.claim), lifted(query.given))


def unparse_contrast(contrast: Contrast) -> str:
    """Write a ground sentence across conditions."""
    return unparse_rule(contrast_rule_of(contrast))


def unparse_linear(asked: Linear) -> str:
    """Write a ground sum that is asked for."""
    return _asked(asked_rule_of(asked))


def unparse_quotient(asked: Quotient) -> str:
    """Write a ground quotient that is asked for."""
    return _asked(asked_rule_of(asked))


# ---- declarations -----------------------------------------------------------------------------------------


def _declaration(declaration: Declaration) -> str:
    name = named(declaration.name)
    match declaration:
        case Domain(_, ()):
            return f"domain {name}"
        case Domain(_, elements):
            return f"domain {name} = {_set(elements)}"
        case Predicate(_, sorts, symmetric):
            return f"predicate {name}{_sorts(sorts)}{' symmetric' if symmetric else ''}"
        case RandomFunction(_, values, sorts):
            listed = named(values) if isinstance(values, str) else _set(values)
            return f"variable {name}{_sorts(sorts)} in {listed}"
        case Relation(_, sorts, facts):
            shown = f" = {{{', '.join(map(_fact, facts))}}}" if facts else ""
            return f"relation {name}{_sorts(sorts)}{shown}"
        case Function(_, sorts, result, table):
            entries = (f"{_fact(arguments)}: {written(value)}" for arguments, value in table)
            shown = f" = {{{', '.join(entries)}}}" if table else ""
            return f"function {name}{_sorts(sorts)} in {named(result)}{shown}"
        case NumberFunction(_, sorts, scores):
            numbers = (f"{_fact(arguments)}: {unparse_number(value)}" for arguments, value in scores)
            shown = f" = {{{', '.join(numbers)}}}" if scores else ""
            return f"number {name}{_sorts(sorts)}{shown}"
        case Constant(_, amount):
            return f"let {name} = {_amount(amount)}"
        case _:
            assert_never(declaration)


def _set(elements: Sequence[str]) -> str:
    return f"{{{', '.join(map(written, elements))}}}"


def _sorts(sorts: Sequence[str]) -> str:
    return f"({', '.join(map(named, sorts))})" if sorts else ""


def _fact(elements: Sequence[str]) -> str:
    return written(elements[0]) if len(elements) == 1 else f"({', '.join(map(written, elements))})"


# ---- statements -------------------------------------------------------------------------------------------


def unparse_rule(rule: Rule) -> str:
    """Write a rule."""
    label = f"{_label(rule.label)}: " if rule.label else ""
    tau = "" if rule.tau else " ; tau=False"
    learned = "" if rule.learned is None else f" ; learned {unparse_estimate(rule.learned)}"
    return f"{label}{_forall(rule.prefix)}{_body(rule)}{tau}{learned}"


def unparse_estimate(estimate: Estimate) -> str:
    """Write how an interval was learned."""
    successes, rows = (str(a) if a == b else f"{a}..{b}" for a, b in (estimate.successes, estimate.rows))
    parameter = unparse_number(estimate.parameter)
    if estimate.method != "dirichlet" and "/" not in parameter:
        parameter = f"{unparse_number(100 * estimate.parameter)}%"
    correction = f", {estimate.correction} {estimate.intervals}" if estimate.correction else ""
    return f"{successes} of {rows}, {estimate.method} {parameter}{correction}"


def _body(rule: Rule) -> str:
    match rule.assessment:
        case Assessment(((_, claim),), given) if rule.wanted:
            return f"{_probability(claim, given)} = ?"
        case Assessment() | ContrastAssessment() as assessment:
            return _assessment(assessment)
        case Computed() as computed:
            return _computed(computed)
        case Row(claim, given, entries):
            return f"{_probability(claim, given)} = {_entries(entries)}"
        case FamilyTable(claim, parents, lines, otherwise):
            bar = f" | {', '.join(map(_random, parents))}" if parents else ""
            shown = (f"{_fact(values)}: {_entries(entries)}" for values, entries in lines)
            body = _entries(otherwise) if otherwise else f"{{{', '.join(shown)}}}"
            return f"table {_random(claim)}{bar} = {body}"
        case other:
            assert_never(other)


def _entries(entries: Entries) -> str:
    return entries[0].value if entries == (Gap.WANTED,) else f"({', '.join(map(_entry, entries))})"


def _entry(entry: Entry) -> str:
    if isinstance(entry, Gap):
        return entry.value
    lower, upper = entry.lower, entry.upper
    if lower == upper:
        return _amount(lower)
    return _about(lower, upper) if entry.is_about else f"[{_amount(lower)}, {_amount(upper)}]"


def _about(lower: Amount, upper: Amount) -> str:
    """Write the middle, give or take what is between the ends."""
    match lower, upper:
        case Fraction(), Fraction():
            return f"{unparse_number((lower + upper) / 2)} ± {unparse_number((upper - lower) / 2)}"
        case Arithmetic("-", middle, distance), Arithmetic("+"):
            return f"{_amount(middle)} ± {_amount(distance)}"
        case _:
            raise AssertionError("what is give or take has a middle")


def _computed(computed: Computed) -> str:
    givens = computed.givens or (computed.given,) * len(computed.claims)
    pairs = zip(computed.claims, givens, strict=True)
    total = ""
    for (weight, claim), given in pairs:
        is_negative = bool(total) and isinstance(weight, Fraction) and weight < 0
        size = -weight if isinstance(weight, Fraction) and is_negative else weight
        sign = " - " if is_negative else " + " if total else ""
        total += f"{sign}{_product(size, claim, given)}"
    lower, upper = computed.lower, computed.upper
    if lower is not None and upper is not None:
        if computed.is_about:
            return f"{total} = {_about(lower, upper)}"
        if lower == upper:
            return f"{total} = {_amount(lower)}"
        return f"{_amount(lower)} <= {total} <= {_amount(upper)}"
    return f"{total} <= {_amount(upper)}" if upper is not None else f"{total} >= {_amount(lower or _ZERO)}"


def _product(weight: Amount, claim: Pattern, given: Pattern) -> str:
    factor = "" if weight == 1 else f"{_factor(weight)} * "
    return f"{factor}{_probability(claim, given)}"


def _factor(amount: Amount) -> str:
    written = _amount(amount)
    # A fraction is a division, too: a * 1/3 would be read as (a * 1) / 3.
    is_number = isinstance(amount, Fraction) and amount >= 0 and "/" not in written
    return written if is_number or isinstance(amount, Name | Application) else f"({written})"


def _amount(amount: Amount) -> str:
    match amount:
        case Fraction():
            return unparse_number(amount)
        case Name(name):
            return named(name)
        case Application():
            return _term(amount)
        case Arithmetic(operation, left, right):
            return f"{_factor(left)} {operation} {_factor(right)}"
        case _:
            assert_never(amount)


def _label(label: str) -> str:
    return label if _PLAIN_LABEL.fullmatch(label) and label not in RESERVED else quoted(label)


def _independence(rule: IndependenceRule) -> str:
    left, right, given = (" ".join(map(_random, block)) for block in (rule.left, rule.right, rule.given))
    return f"{_forall(rule.prefix)}independent {left}, {right}{f' | {given}' if given else ''}"


def _query(rule: AskedRule) -> str:
    return f"query {_forall(rule.prefix)}{_asked(rule)}"


def _asked(rule: AskedRule) -> str:
    if isinstance(rule, QueryRule):
        return _probability(rule.claim, rule.given)
    return _total(rule.over) if rule.under is None else f"{_group(rule.over)} / {_group(rule.under)}"


def _group(total: Sum) -> str:
    """Write one side of a quotient, in parentheses unless it is a single probability."""
    is_single = len(total.terms) == 1 and not total.constant and total.terms[0].weight > 0
    return _total(total) if is_single else f"({_total(total)})"


def _total(total: Sum) -> str:
    text = _weighted([(term.weight, _weighed(term)) for term in total.terms])
    if not total.constant:
        return text
    return f"{text} {'-' if total.constant < 0 else '+'} {unparse_number(abs(total.constant))}"


def _weighed(term: Weighed) -> str:
    if isinstance(term.claim, Expected):
        given = "" if term.given == YES else f" | {_pattern(term.given)}"
        return f"E({_random(term.claim.term)}{given})"
    return _probability(term.claim, term.given)


def _forall(prefix: Prefix) -> str:
    return f"forall {_prefix(prefix)}: " if prefix.binders else ""


def _prefix(prefix: Prefix) -> str:
    binders = ", ".join(map(_binder, prefix.binders))
    return binders if prefix.guard == YES else f"{binders} where {_pattern(prefix.guard)}"


def _binder(binder: Binder) -> str:
    names = ", ".join(map(named, binder.names))
    return f"{names} in {named(binder.sort)}{' distinct' if binder.distinct else ''}"


def _assessment(assessment: Assessment | ContrastAssessment) -> str:
    match assessment:
        case Assessment():
            total = _sum(assessment)
        case ContrastAssessment(terms):
            total = _total(Sum(terms))
    if assessment.lower == assessment.upper:
        return f"{total} = {unparse_number(assessment.lower)}"
    return f"{unparse_number(assessment.lower)} <= {total} <= {unparse_number(assessment.upper)}"


def _sum(assessment: Assessment) -> str:
    return _weighted([(w, _probability(claim, assessment.given)) for w, claim in assessment.claims])


def _weighted(terms: Iterable[tuple[Fraction, str]]) -> str:
    total = ""
    for weight, text in terms:
        sign = ("-" if weight < 0 else "") if not total else " - " if weight < 0 else " + "
        factor = "" if abs(weight) == 1 else f"{unparse_number(abs(weight))} "
        total += f"{sign}{factor}{text}"
    return total


@lru_cache(maxsize=10_000)
def unparse_number(value: Fraction) -> str:
    """Write a number exactly: as a decimal where it has one, otherwise as a fraction."""
    places = next((n for n in range(20) if 10**n % value.denominator == 0), None)
    if places is None:
        return f"{value.numerator}/{value.denominator}"
    digits = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}d}"
    decimal = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{decimal}" if value < 0 else decimal


def _probability(claim: Pattern, given: Pattern) -> str:
    return f"P({_pattern(claim)})" if given == YES else f"P({_pattern(claim)} | {_pattern(given)})"


# ---- formulas ---------------------------------------------------------------------------------------------


def _pattern(pattern: Pattern) -> str:
    match pattern:
        case Boolean(value):
            return "true" if value else "false"
        case Name() | Application() | Shifted():
            return _random(pattern)
        case Comparison(order, left, right):
            return f"{_side(left)} {order.value} {_side(right)}"
        case Compound(Connective.NOT, (operand,)):
            return f"!{_inside(operand, Connective.NOT)}"
        case Compound(connective, operands):
            return _CONNECTIVES[connective][1].join(_inside(operand, connective) for operand in operands)
        case Quantified(quantifier, prefix, body):
            return f"{quantifier.value} {_prefix(prefix)}: {_pattern(body)}"
        case _:
            assert_never(pattern)


def _inside(operand: Pattern, connective: Connective) -> str:
    """Write an operand, in parentheses unless it binds tighter than the connective around it."""
    match operand:
        case Compound(Connective.NOT):
            tightness = _ATOM
        case Compound(inner):
            tightness = _CONNECTIVES[inner][0]
        case Quantified():
            tightness = 0
        case Comparison() if connective is Connective.NOT:
            tightness = 0
        case _:
            tightness = _ATOM
    text = _pattern(operand)
    return text if tightness > _CONNECTIVES[connective][0] else f"({text})"


def _random(term: Term) -> str:
    """Write a term that stands for a random variable: a number would not be taken for one."""
    return named(term.name) if isinstance(term, Name) else _term(term)


def _side(term: Term) -> str:
    """Write one side of a comparison, where true and false are values."""
    match term:
        case Name("true" | "false" | "True" | "False" as truth):
            return truth
        case _:
            return _term(term)


def _term(term: Term) -> str:
    match term:
        case Name(name):
            return written(name)
        case Application(name, arguments):
            return f"{named(name)}({','.join(map(_term, arguments))})"
        case Shifted(inner, by):
            return f"{_term(inner)} {'+' if by >= 0 else '-'} {abs(by)}"
        case _:
            assert_never(term)
