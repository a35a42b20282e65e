"""Take rows and tables apart into sentences about one value each.

Input: a rule about the distribution of a variable, in one configuration of its parents or in all. Output:
rules that bound one probability each, or that want it from data. Where nothing is said of a
configuration, a rule without content keeps the parents in the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

from credalog.grounding.terms import Signature, listed
from credalog.network.sentences import Source
from credalog.theory import (
    Application,
    Assessment,
    Comparison,
    Compound,
    Computed,
    Connective,
    Entries,
    FamilyTable,
    Gap,
    Misstatement,
    Name,
    Order,
    Pattern,
    RandomFunction,
    Row,
    Rule,
    Spread,
    Term,
    conjoined,
    normal_form,
)

ROUNDING = Fraction(1, 50)
"""How far the probabilities of a row that was read from a file may be from summing to one."""

TRUTHS = ("true", "false")
_ZERO, _ONE = Fraction(0), Fraction(1)


def taken_apart(rule: Rule, signature: Signature) -> Iterator[Rule]:
    """Yield the rules that bound one probability each."""
    match rule.assessment:
        case Row(claim, given, entries):
            yield from _row(replace(rule, assessment=Row(claim, given, entries)), signature)
        case FamilyTable() as table:
            for row in _lines(rule, table, signature):
                yield from _row(row, signature)
        case Assessment(((_, Name() | Application() as claim),), given) if rule.wanted:
            is_random = isinstance(signature[signature.resolved(claim).name], RandomFunction)
            if is_random and set(_values(claim, signature)) != set(TRUTHS):
                yield from _row(replace(rule, assessment=Row(claim, given, (Gap.WANTED,))), signature)
            else:
                yield rule
        case _:
            yield rule


def _values(term: Term, signature: Signature) -> tuple[str, ...]:
    if not isinstance(term, Name | Application):
        raise Misstatement("a sum of numbers is not a random variable")
    known = signature[signature.resolved(term).name]
    return signature.values(known) if isinstance(known, RandomFunction) else TRUTHS


# ---- tables -----------------------------------------------------------------------------------------------


def _lines(rule: Rule, table: FamilyTable, signature: Signature) -> Iterator[Rule]:
    """Yield a rule for each configuration of the parents."""
    values = [_values(parent, signature) for parent in table.parents]
    known: dict[tuple[str, ...], tuple[Entries, Source | None]] = {}
    for number, (configuration, entries) in enumerate(table.lines):
        source = _with_row(rule.source, table.rows[number] if table.rows else None)
        _check_configuration(configuration, table, values, source)
        if configuration in known:
            shown = ", ".join(configuration)
            raise Misstatement(f"the table has two rows for {shown}", lexeme=configuration[0])
        known[configuration] = entries, source
    for configuration in product(*values):
        entries, source = known.get(configuration, (table.otherwise, rule.source))
        given = [
            equal(parent, value, signature)
            for parent, value in zip(table.parents, configuration, strict=True)
        ]
        label = ".".join((rule.label, *configuration)) if rule.label else ""
        body = Row(table.claim, conjoined(given), entries)
        yield replace(rule, assessment=body, label=label, source=source)


def _with_row(source: Source | None, row: Source | None) -> Source | None:
    if row is None:
        return source
    return row if source is None else replace(source, rows=(row,))


def _check_configuration(
    configuration: tuple[str, ...],
    table: FamilyTable,
    values: list[tuple[str, ...]],
    source: Source | None,
) -> None:
    if len(configuration) != len(values):
        raise Misstatement(
            f"a row is for {len(configuration)} values, and there are {len(values)} parents",
            lexeme=configuration[0] if configuration else "",
            advice=f"Give a value of each of {', '.join(map(_spelt, table.parents))}.",
        )
    for value, parent, possible in zip(configuration, table.parents, values, strict=True):
        if value not in possible:
            error = Misstatement(
                f"{_spelt(parent)} has no value {value}",
                lexeme=value,
                advice=f"Its values are {listed(possible)}.",
            )
            raise _in_row(error, source)


def _spelt(term: Term) -> str:
    return term.name if isinstance(term, Name | Application) else "a term"


def equal(term: Term, value: str, signature: Signature) -> Pattern:
    """Return the atom that a variable has a value; a proposition is true or not."""
    if not isinstance(term, Name | Application):
        raise Misstatement("a sum of numbers is not a random variable")
    if isinstance(signature[signature.resolved(term).name], RandomFunction):
        return Comparison(Order.EQUAL, term, Name(value))
    return term if value == "true" else Compound(Connective.NOT, (term,))


# ---- rows -------------------------------------------------------------------------------------------------


def _row(rule: Rule, signature: Signature) -> Iterator[Rule]:
    """Yield a rule for each value of which something is said or wanted."""
    try:
        yield from _entries(rule, signature)
    except Misstatement as error:
        raise _in_row(error, rule.source) from None


def _in_row(error: Misstatement, source: Source | None) -> Misstatement:
    """Return a complaint that names the row of a table at fault."""
    if source is not None and source.rows:
        error.message += f", in {source.rows[0]}"
        error.args = (error.message,)
    return error


def _entries(rule: Rule, signature: Signature) -> Iterator[Rule]:
    row = rule.assessment
    assert isinstance(row, Row)
    values = _values(row.claim, signature)
    entries = row.entries * len(values) if row.entries in ((Gap.WANTED,), ()) else row.entries
    is_from_file = bool(rule.source and rule.source.rows)
    entries = _checked(entries, values, _spelt(row.claim), is_rounded=is_from_file)
    said = [(value, entry) for value, entry in zip(values, entries, strict=False) if entry is not Gap.REST]
    if _follows(entries):
        said = said[:-1]
    if not said:
        yield _silent(rule, row, values[0], signature)
    for value, entry in said:
        label = f"{rule.label}.{value}" if rule.label else ""
        claim = equal(row.claim, value, signature)
        named = replace(rule, label=label, wanted=entry is Gap.WANTED)
        if isinstance(entry, Spread):
            yield replace(named, assessment=_bounded(claim, row.given, entry))
        else:
            yield replace(named, assessment=Assessment(((_ONE, claim),), row.given, _ZERO, _ONE))


def _silent(rule: Rule, row: Row, value: str, signature: Signature) -> Rule:
    claim = equal(row.claim, value, signature)
    return replace(rule, assessment=Assessment(((_ONE, claim),), row.given, _ZERO, _ONE), wanted=False)


def _follows(entries: Entries) -> bool:
    """Tell whether the last entry follows from the others."""
    if all(entry is Gap.WANTED for entry in entries):
        return len(entries) == 2
    points = [entry for entry in entries if isinstance(entry, Spread) and entry.lower == entry.upper]
    return len(points) == len(entries) and all(isinstance(point.lower, Fraction) for point in points)


def _bounded(claim: Pattern, given: Pattern, entry: Spread) -> Assessment | Computed:
    lower, upper = entry.lower, entry.upper
    if isinstance(lower, Fraction) and isinstance(upper, Fraction):
        claims, low, high = normal_form(((_ONE, claim),), lower, upper, is_about=entry.is_about)
        return Assessment(claims, given, low, high)
    return Computed(((_ONE, claim),), given, lower, upper, entry.is_about)


def _checked(entries: Entries, values: tuple[str, ...], name: str, *, is_rounded: bool) -> Entries:
    """Complain about a row that no distribution fits; divide rounded probabilities by their sum."""
    if not entries:
        return entries
    if len(entries) != len(values):
        raise Misstatement(
            f"the row has {len(entries)} entries, and {name} has {len(values)} values",
            lexeme=name,
            advice=f"Give one for each of {listed(values)}, in this order.",
        )
    if entries.count(Gap.REST) > 1:
        raise Misstatement(
            "two entries of a row are the rest", lexeme="rest", advice="Give an interval to one of them."
        )
    spreads = [entry for entry in entries if isinstance(entry, Spread)]
    ends = [end for spread in spreads for end in (spread.lower, spread.upper)]
    if not all(isinstance(end, Fraction) for end in ends):
        return entries
    least, most = (sum((end for end in ends[i::2] if isinstance(end, Fraction)), _ZERO) for i in (0, 1))
    if is_rounded and least == most != 1 and len(spreads) == len(entries) and abs(least - 1) <= ROUNDING:
        return tuple(Spread(end / least, end / least) for end in ends[::2] if isinstance(end, Fraction))
    if least > 1 or (most < 1 and len(spreads) == len(entries)):
        total = (
            f"{float(least):g}" if least == most else f"something from {float(least):g} to {float(most):g}"
        )
        raise Misstatement(
            f"the probabilities of {name} sum to {total}, not to 1",
            lexeme=name,
            advice="Correct one of them, or write rest for the last.",
        )
    return entries
