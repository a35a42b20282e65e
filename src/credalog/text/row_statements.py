"""Statements with their rows in a table: `domain`, `relation`, `function`, `number`, `table ... from`.

Input: a sheet, and what is declared or said without its rows. Output: the same with its rows, and an
`Origin` from which a mistake found later finds the row at fault.

Columns are those that the statement names, or those with the headings of what they hold: a domain's name
for an argument, the function's own name for its value. Where no heading is one of these names, columns
count from the left, as long as there are neither more nor fewer than needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from credalog.errors import LanguageError
from credalog.network.sentences import Source, exact
from credalog.text.actions import Tabled
from credalog.text.sheets import Column, Sheet
from credalog.theory import (
    Application,
    Declaration,
    Domain,
    Entries,
    Entry,
    FamilyTable,
    Function,
    Gap,
    Misstatement,
    Name,
    NumberFunction,
    Predicate,
    RandomFunction,
    Relation,
    Rule,
    Spread,
    Term,
)
from credalog.theory.origins import Origin

PROBABILITY = ("p", "probability", "prob")
LOWER, UPPER = ("lower", "lo", "min"), ("upper", "hi", "max")
TRUTHS = ("true", "false")
"""The values of a proposition, in the order in which a row tells them."""


@dataclass(frozen=True, slots=True)
class Filled:
    """What a statement says with its rows, and where they come from."""

    value: Declaration | Rule
    origin: Origin | None = None


def filled_from(sheet: Sheet, tabled: Tabled, declared: Mapping[str, Declaration]) -> Iterator[Filled]:
    """Yield each of the statement's declarations with its rows."""
    named = tabled.origin.columns
    for number, awaiting in enumerate(tabled.awaiting):
        match awaiting:
            case Domain(name):
                (column,) = columns = _columns(sheet, (name,), named)
                _check_heading(sheet, columns, (name,), declared)
                yield Filled(Domain(name, column.values))
            case Relation(name, sorts):
                columns = _columns(sheet, sorts, named)
                _check_heading(sheet, columns, sorts, declared)
                facts = tuple(dict.fromkeys(_rows(sheet, columns)))
                yield Filled(replace(awaiting, facts=facts), _origin(sheet, name, columns))
            case Function(name, sorts, result):
                columns = _columns(sheet, (*sorts, result), named, value=name)
                _check_heading(sheet, columns, (*sorts, result), declared)
                table = tuple(dict.fromkeys((row[:-1], row[-1]) for row in _rows(sheet, columns)))
                yield Filled(replace(awaiting, table=table), _origin(sheet, name, columns))
            case NumberFunction(name, sorts):
                own = _own(named, len(sorts), number, len(tabled.awaiting))
                columns = _columns(sheet, (*sorts, name), own, value=name)
                _check_heading(sheet, columns, (*sorts, name), declared)
                yield _numbers(sheet, awaiting, columns)
            case Rule(FamilyTable() as table):
                yield Filled(replace(awaiting, assessment=_family(sheet, table, declared, named)))
            case Rule():
                raise AssertionError("only the rule about a table has rows elsewhere")


def _own(named: tuple[str, ...], arguments: int, number: int, functions: int) -> tuple[str, ...]:
    """Return the columns of one of several functions: all share those of the arguments."""
    if not named:
        return ()
    if len(named) != arguments + functions:
        raise Misstatement(
            f"{len(named)} columns are named, {arguments + functions} are needed",
            lexeme=named[0],
            advice="Name one for each argument, and then one for each function.",
        )
    return (*named[:arguments], named[arguments + number])


def _columns(
    sheet: Sheet, sorts: tuple[str, ...], named: tuple[str, ...], *, value: str = ""
) -> list[Column]:
    """Return the column of each argument and of the value, if there is one."""
    if named:
        if len(named) != len(sorts):
            raise Misstatement(
                f"{len(named)} columns are named, {len(sorts)} are needed",
                lexeme=named[0],
                advice=f"Name one for each of {', '.join(sorts)}.",
            )
        return [sheet.column(name) for name in named]
    arguments = sorts[:-1] if value else sorts
    found = [sheet.find(sort) for sort in arguments]
    if value:
        found.append(sheet.find(value, sorts[-1]))
    if all(found) and len({column.name for column in found if column}) == len(sorts):
        return [column for column in found if column]
    if len(sheet.columns) == len(sorts) and (len(set(arguments)) < len(arguments) or not any(found[:1])):
        return list(sheet.columns.values())
    missing = next((sort for sort, column in zip(sorts, found, strict=True) if column is None), sorts[0])
    column = sheet.column(missing)
    raise LanguageError(
        f"{sheet.name} has one column {column.name}, and {sorts.count(missing)} are needed",
        place=sheet.place_of_heading(),
        advice=f"Name the columns: from ... columns {', '.join(list(sheet.columns)[: len(sorts)])}.",
    )


def _check_heading(
    sheet: Sheet, columns: Sequence[Column], sorts: tuple[str, ...], declared: Mapping[str, Declaration]
) -> None:
    """Complain of a table whose first row holds what the others hold, and would be lost as a heading."""
    is_meant = any(column is sheet.find(sort) for column, sort in zip(columns, sorts, strict=True))
    if is_meant or not sheet.text:
        return
    if any(_is_content(column, declared.get(sort)) for column, sort in zip(columns, sorts, strict=True)):
        raise LanguageError(
            f"the first row of {sheet.name} holds no headings",
            place=sheet.place_of_heading(),
            advice=f"Write a row of headings above it: {','.join(_headings(sorts))}",
        )


def _headings(sorts: tuple[str, ...]) -> Iterator[str]:
    """Yield a heading for each column, numbered where several hold the same."""
    for number, sort in enumerate(sorts, 1):
        yield f"{sort}_{number}" if sorts.count(sort) > 1 else sort


def _is_content(column: Column, held: Declaration | None) -> bool:
    """Tell whether a heading is what a column holds: an element, or a number above numbers."""
    if isinstance(held, Domain) and column.name in held.elements:
        return True
    return bool(_is_number(column.name) and column.values and all(map(_is_number, column.values)))


def _is_number(cell: str) -> bool:
    try:
        exact(cell)
    except LanguageError:
        return False
    return True


def _rows(sheet: Sheet, columns: Sequence[Column]) -> Iterator[tuple[str, ...]]:
    for column in columns:
        if (empty := (column.codes < 0)).any():
            raise LanguageError(
                f"a cell in the column {column.name} of {sheet.name} is empty",
                place=sheet.place(int(empty.argmax()), column.name),
                advice="An element is missing: fill it in, or take the row out.",
            )
    return zip(*(column.texts() for column in columns), strict=True)


def _origin(sheet: Sheet, name: str, columns: Sequence[Column]) -> Origin | None:
    headings = list(sheet.columns)
    indices = tuple(headings.index(column.name) for column in columns)
    return Origin(name, sheet.name, sheet.text, columns=indices) if sheet.text else None


def _numbers(sheet: Sheet, function: NumberFunction, columns: Sequence[Column]) -> Filled:
    """Give a function of numbers a line for each row whose number is not missing."""
    name, sorts = function.name, function.sorts
    *arguments, value = columns
    seen: dict[tuple[str, ...], int] = {}
    numbers = sheet.numbers(value)
    for row, (elements, number) in enumerate(zip(_rows(sheet, arguments), numbers, strict=True)):
        known = seen.setdefault(elements, row) if number is not None else row
        if numbers[known] != number:
            raise LanguageError(
                f"{name}({', '.join(elements)}) is given two numbers, here and in row {sheet.source(known)}",
                place=sheet.place(row, value.name),
                advice="Take one of the rows out.",
            )
    table = tuple(
        (elements, number) for elements, row in seen.items() if (number := numbers[row]) is not None
    )
    rows = tuple(sheet.source(row) for row in seen.values())
    return Filled(NumberFunction(name, sorts, table, rows), _origin(sheet, name, arguments))


# ---- conditional tables -----------------------------------------------------------------------------------


def _family(
    sheet: Sheet, table: FamilyTable, declared: Mapping[str, Declaration], named: tuple[str, ...]
) -> FamilyTable:
    """Read a conditional table: a column for each parent, and one for each value or one for all."""
    child, parents = _name(table.claim), [_name(parent) for parent in table.parents]
    values = _values(child, declared)
    headings = named[: len(parents)] or parents
    columns = [sheet.column(heading, what="a parent") for heading in headings]
    configurations = list(_rows(sheet, columns)) if columns else [()] * sheet.count
    long = sheet.find(named[len(parents)] if len(named) > len(parents) else child)
    if long is not None and sheet.find(*PROBABILITY, *LOWER) is not None:
        lines = _long_lines(sheet, long, configurations, values)
    else:
        lines = _wide_lines(sheet, configurations, values)
    found = tuple((configuration, entries) for configuration, entries, _ in lines)
    return replace(table, lines=found, rows=tuple(source for *_, source in lines))


_Line = tuple[tuple[str, ...], Entries, Source]


def _wide_lines(
    sheet: Sheet, configurations: Sequence[tuple[str, ...]], values: tuple[str, ...]
) -> list[_Line]:
    columns = [sheet.column(value, what="a value") for value in values]
    entries = [[_entry(sheet, column, code) for code in range(len(column.values))] for column in columns]
    lines: list[_Line] = []
    seen: set[tuple[str, ...]] = set()
    for row, configuration in enumerate(configurations):
        cells = ((column.codes[row], known) for column, known in zip(columns, entries, strict=True))
        line = tuple(known[code] if code >= 0 else Gap.REST for code, known in cells)
        _check_new(configuration, seen, sheet, row)
        seen.add(configuration)
        lines.append((configuration, line, sheet.source(row)))
    return lines


def _check_new(configuration: tuple[str, ...], seen: set[tuple[str, ...]], sheet: Sheet, row: int) -> None:
    if configuration in seen:
        heading = next(iter(sheet.columns))
        raise LanguageError(
            f"{sheet.name} has two rows for {', '.join(configuration) or 'the same'}",
            place=sheet.place(row, heading),
            advice="Take one of the rows out.",
        )


def _long_lines(
    sheet: Sheet, child: Column, configurations: Sequence[tuple[str, ...]], values: tuple[str, ...]
) -> list[_Line]:
    """Read a row for each value: its probability, or the two bounds."""
    lower = sheet.find(*PROBABILITY) or sheet.column(*LOWER)
    upper = sheet.find(*PROBABILITY) or sheet.column(*UPPER)
    entries: dict[tuple[str, ...], dict[str, Entry]] = {}
    sources: dict[tuple[str, ...], Source] = {}
    for row, (configuration, value) in enumerate(zip(configurations, child.texts(), strict=True)):
        line = entries.setdefault(configuration, {})
        if value not in values or value in line:
            found = f"{value} is told twice" if value in line else f"{value or 'nothing'} is no value"
            advice = f"Its values are {', '.join(values)}."
            raise LanguageError(found, place=sheet.place(row, child.name), advice=advice)
        line[value] = _joined(_cell(sheet, lower, row), _cell(sheet, upper, row))
        sources.setdefault(configuration, sheet.source(row))
    return [
        (configuration, tuple(line.get(value, Gap.REST) for value in values), sources[configuration])
        for configuration, line in entries.items()
    ]


def _cell(sheet: Sheet, column: Column, row: int) -> Entry:
    code = int(column.codes[row])
    return _entry(sheet, column, code) if code >= 0 else Gap.REST


def _joined(lower: Entry, upper: Entry) -> Entry:
    if isinstance(lower, Spread) and isinstance(upper, Spread):
        return Spread(lower.lower, upper.upper, lower.is_about)
    return lower if isinstance(lower, Gap) else upper


def _entry(sheet: Sheet, column: Column, code: int) -> Entry:
    """Read a cell of a table: 0.3, 30%, 0.3 ± 0.1, 0.2..0.4, [0.2, 0.4], rest or ?."""
    text = column.values[code]
    if text in (gap.value for gap in Gap):
        return Gap(text)
    plain = text.strip("[]() ")
    if sheet.has_decimal_comma and not re.search(r"\d\.\d", plain):
        plain = re.sub(r"(?<=\d),(?=\d)", ".", plain)
    for mark in ("±", "+/-", "+-", "..", ";", ","):
        if mark in plain:
            parts = plain.split(mark)
            break
    else:
        parts, mark = [plain], ""
    try:
        numbers = [exact(part) for part in parts]
    except LanguageError as error:
        raise _no_entry(sheet, column, code) from error
    if len(numbers) > 2:
        raise _no_entry(sheet, column, code)
    first, last = numbers[0], numbers[-1]
    if mark in ("±", "+/-", "+-"):
        return Spread(first - last, first + last, is_about=True)
    return Spread(first, last)


def _no_entry(sheet: Sheet, column: Column, code: int) -> LanguageError:
    row = int((column.codes == code).argmax())
    return LanguageError(
        f"{column.values[code]!r} in the column {column.name} of {sheet.name} is no probability",
        place=sheet.place(row, column.name),
        advice="Write 0.3, 30%, 0.3 ± 0.1, 0.2..0.4, rest or ?.",
    )


def _name(term: Term) -> str:
    if isinstance(term, Name | Application):
        return term.name
    raise Misstatement("a sum of numbers is not a random variable")


def _values(name: str, declared: Mapping[str, Declaration]) -> tuple[str, ...]:
    """Return the values of a variable that is declared above."""
    match declared.get(name):
        case RandomFunction(_, tuple() as values):
            return values
        case RandomFunction(_, str() as sort):
            domain = declared.get(sort)
            if isinstance(domain, Domain) and domain.elements:
                return domain.elements
        case Predicate():
            return TRUTHS
        case _:
            pass
    raise Misstatement(
        f"the values of {name} are not known here",
        lexeme=name,
        advice=f"Declare it above: variable {name} in {{...}}, or predicate {name}.",
    )
