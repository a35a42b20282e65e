"""Read Bayesian networks in the Interchange Format (BIF).

Input: the text of a file. Output: a `Network` that says P(x = value | parent values) = p for every entry.

A `table` counts in the order of the variables listed, the last changing fastest, so that the child, listed
first, changes slowest; an entry `(values) numbers` gives the child's distribution for one parent
configuration; `default` gives it for the configurations not listed. Properties are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from credalog.errors import LanguageError, UnknownName
from credalog.network.formulas import Variable
from credalog.network.polytopes import vacuous
from credalog.network.sentences import Network
from credalog.text.families import (
    CredalSet,
    Family,
    Point,
    configurations,
    configurations_count,
    network_of,
    normalized,
)
from credalog.text.tokens import Tokens, ratio

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<mark>[{}()\[\],;|])
      | (?P<word>"[^"]*"|[^\s{}()\[\],;|"]+)
      | (?P<stray>.)""",
    re.VERBOSE | re.DOTALL,
)


def read_bif(text: str, *, file: str = "", is_structure: bool = False) -> Network:
    """Read a Bayesian network in the Interchange Format; of a structure the numbers do not count."""
    tokens = Tokens(text, _TOKEN, file)
    tokens.expect("network")
    tokens.word("the name of the network")
    _properties(tokens)
    variables: dict[str, Variable] = {}
    families = []
    while not tokens.done:
        if tokens.accept("variable"):
            _declare(tokens, variables)
        elif tokens.accept("probability"):
            families.append(_family(tokens, variables, is_structure=is_structure))
        else:
            raise tokens.expected("'variable' or 'probability'")
    return network_of(tuple(variables.values()), families, file=file)


def _properties(tokens: Tokens) -> None:
    tokens.expect("{")
    while not tokens.accept("}"):
        tokens.skip_through(";")


def _declare(tokens: Tokens, variables: dict[str, Variable]) -> None:
    place = tokens.here
    name = tokens.word("the name of a variable")
    if name in variables:
        raise LanguageError(f"variable {name} is declared twice", place=place)
    tokens.expect("{")
    while not tokens.accept("}"):
        if tokens.accept("type"):
            variables[name] = Variable(name, _values(tokens, name))
        else:
            tokens.skip_through(";")
    if name not in variables:
        raise LanguageError(
            f"variable {name} has no type", place=place, advice="Write: type discrete [2] {a, b};"
        )


def _values(tokens: Tokens, name: str) -> tuple[str, ...]:
    tokens.expect("discrete")
    tokens.expect("[")
    place = tokens.here
    count = tokens.word("the number of values")
    tokens.expect("]")
    tokens.expect("{")
    values = tuple(tokens.words("a value"))
    tokens.expect("}")
    tokens.expect(";")
    if count != str(len(values)) or len(set(values)) < len(values):
        raise LanguageError(
            f"{name} should have {count} different values, it lists {len(values)}", place=place
        )
    return values


def _family(tokens: Tokens, variables: Mapping[str, Variable], *, is_structure: bool) -> Family:
    tokens.expect("(")
    place = tokens.here
    child = _known(tokens, variables)
    parents: list[Variable] = []
    while not tokens.accept(")"):
        tokens.expect("," if parents else "|")
        parents.append(_known(tokens, variables))
    sets = _silent(tokens, child, parents) if is_structure else _points(tokens, child, tuple(parents))
    return Family(child, tuple(parents), sets, place)


def _silent(tokens: Tokens, child: Variable, parents: list[Variable]) -> tuple[CredalSet, ...]:
    """Skip the body of a probability block; a structure may have none."""
    place = tokens.here
    if not tokens.accept(";"):
        tokens.expect("{")
        tokens.skip_through("}")
    anything = CredalSet(vacuous(len(child.values)), place.line)
    return (anything,) * configurations_count(parents, place)


def _known(tokens: Tokens, variables: Mapping[str, Variable]) -> Variable:
    place = tokens.here
    name = tokens.word("the name of a variable")
    if name not in variables:
        raise UnknownName(f"variable {name} is not declared", place=place)
    return variables[name]


def _points(tokens: Tokens, child: Variable, parents: tuple[Variable, ...]) -> tuple[Point, ...]:
    """Read the body of a probability block into one point per parent configuration."""
    points: dict[tuple[str, ...], Point] = {}
    default: Point | None = None
    place = tokens.here
    configurations_count(parents, place)
    tokens.expect("{")
    while not tokens.accept("}"):
        if tokens.accept("table"):
            points = dict(zip(configurations(parents), _table(tokens, child, parents), strict=True))
        elif tokens.accept("default"):
            default = _point(tokens, child)
        elif tokens.sees("("):
            key = _configuration(tokens, parents)
            points[key] = _point(tokens, child)
        else:
            tokens.skip_through(";")
    found = [points.get(key, default) for key in configurations(parents)]
    if None in found:
        raise LanguageError(f"the table of {child} does not cover every parent configuration", place=place)
    return tuple(point for point in found if point is not None)


def _configuration(tokens: Tokens, parents: tuple[Variable, ...]) -> tuple[str, ...]:
    place = tokens.here
    tokens.expect("(")
    key = tuple(tokens.listed("a value of a parent", end=")"))
    if len(key) != len(parents) or any(v not in p.values for v, p in zip(key, parents, strict=True)):
        expected = ", ".join(f"{p.name} in {{{', '.join(p.values)}}}" for p in parents)
        raise LanguageError(f"({', '.join(key)}) is no configuration of the parents {expected}", place=place)
    return key


def _point(tokens: Tokens, child: Variable) -> Point:
    place = tokens.here
    return normalized(_numbers(tokens, len(child.values)), place)


def _table(tokens: Tokens, child: Variable, parents: tuple[Variable, ...]) -> list[Point]:
    place = tokens.here
    count = configurations_count(parents, place)
    numbers = _numbers(tokens, count * len(child.values))
    return [normalized(numbers[i::count], place) for i in range(count)]


def _numbers(tokens: Tokens, count: int) -> list[tuple[int, int]]:
    place = tokens.here
    words = tokens.listed("a number", end=";")
    if len(words) != count:
        raise LanguageError(f"expected {count} numbers, found {len(words)}", place=place)
    return [ratio(word, place) for word in words]
