"""Read credal and Bayesian networks in UAI form: V-CREDAL, H-CREDAL and BAYES.

Input: the text of a file. Output: a `Network` over variables X0, X1, ... with values s0, s1, ...

All three start alike: the type, the number of variables, their numbers of values, the number of factors,
and for each factor its size and its variables, the parents first and the child last. Then, factor by
factor, parent configurations in order with the last parent fastest:

- V-CREDAL: for each configuration a count of numbers and that many numbers, one vertex after another.
- BAYES: one count for the whole factor, then one distribution per configuration.
- H-CREDAL: a count and that many coefficients, the matrix A row by row with one column per configuration
  and value of the child (child fastest); a count and that many numbers b; together A . theta <= b. Each row
  of A speaks about one configuration. Older files write the child first in H-CREDAL factors; this is
  recognised where only the first variables of the factors, and not the last, name each variable once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from credalog.errors import LanguageError, Place, ProblemTooLarge
from credalog.network.formulas import Variable
from credalog.network.polytopes import LocalPolytope, Row
from credalog.network.sentences import Network
from credalog.text.families import (
    MOST_VALUES,
    CredalSet,
    Family,
    Point,
    configurations_count,
    hull,
    network_of,
    normalized,
)
from credalog.text.tokens import Tokens

KINDS = ("V-CREDAL", "H-CREDAL", "BAYES")

_WORD = re.compile(r"(?P<word>\S+)")


@dataclass(frozen=True, slots=True)
class _Scope:
    """The variables of one factor, and where the file lists them."""

    parents: tuple[Variable, ...]
    child: Variable
    place: Place

    @property
    def configurations(self) -> int:
        """Return the number of parent configurations."""
        return configurations_count(self.parents, self.place)


def read_uai(text: str, *, file: str = "") -> Network:
    """Read a network in any of the three UAI forms."""
    tokens = Tokens(text, _WORD, file)
    kind = tokens.word("the type of the network")
    if kind not in KINDS:
        raise LanguageError(
            f"unknown type of network {kind!r}", place=tokens.last, advice=f"Known: {', '.join(KINDS)}."
        )
    variables = _variables(tokens)
    scopes = _scopes(tokens, variables, either_order=kind == "H-CREDAL")
    read_sets = {"V-CREDAL": _vertex_sets, "H-CREDAL": _row_sets, "BAYES": _point_sets}[kind]
    families = [Family(s.child, s.parents, tuple(read_sets(tokens, s)), s.place) for s in scopes]
    tokens.end("the last factor")
    return network_of(variables, families, file=file)


def _variables(tokens: Tokens) -> tuple[Variable, ...]:
    count = tokens.count("the number of variables", least=1)
    sizes, total = list[int](), 0
    for i in range(count):
        sizes.append(tokens.count(f"the number of values of variable {i}", least=1))
        if (total := total + sizes[-1]) > MOST_VALUES:
            raise ProblemTooLarge(
                f"with variable {i} there are {total:,} values",
                place=tokens.last,
                advice=f"At most {MOST_VALUES:,} can be read, those of all variables together.",
            )
    return tuple(Variable(f"X{i}", tuple(f"s{k}" for k in range(n))) for i, n in enumerate(sizes))


_Listing: TypeAlias = tuple[list[int], Place]


def _scopes(tokens: Tokens, variables: Sequence[Variable], *, either_order: bool) -> list[_Scope]:
    count = tokens.count("the number of factors", least=1)
    listings = [_listing(tokens, len(variables)) for _ in range(count)]
    if either_order and _child_first(listings):
        listings = [([*members[1:], members[0]], place) for members, place in listings]
    return [
        _Scope(tuple(variables[i] for i in members[:-1]), variables[members[-1]], place)
        for members, place in listings
    ]


def _listing(tokens: Tokens, variables: int) -> _Listing:
    size = tokens.count("the size of a factor", least=1)
    place = tokens.last
    members = [tokens.count("the number of a variable") for _ in range(size)]
    unknown = [i for i in members if i >= variables]
    if unknown or len(set(members)) < size:
        problem = f"there is no variable {unknown[0]}" if unknown else "a factor lists a variable twice"
        raise LanguageError(problem, place=place, advice="Variables are numbered from 0.")
    return members, place


def _child_first(listings: Sequence[_Listing]) -> bool:
    firsts, lasts = ({members[end] for members, _ in listings} for end in (0, -1))
    return len(lasts) < len(listings) == len(firsts)


def _vertex_sets(tokens: Tokens, scope: _Scope) -> Iterator[CredalSet | Point]:
    size = len(scope.child.values)
    for _ in range(scope.configurations):
        count = tokens.count("a count of numbers", least=size)
        place = tokens.last
        if count % size:
            raise LanguageError(
                f"{count} numbers are no whole number of vertices: {scope.child} has {size} values",
                place=place,
            )
        points = [_distribution(tokens, size) for _ in range(count // size)]
        yield hull(points, place.line)


def _distribution(tokens: Tokens, size: int) -> Point:
    return normalized(tokens.ratios(size, "a probability"), tokens.last)


def _point_sets(tokens: Tokens, scope: _Scope) -> Iterator[Point]:
    size = len(scope.child.values)
    _count(tokens, scope.configurations * size, scope)
    for _ in range(scope.configurations):
        yield _distribution(tokens, size)


def _count(tokens: Tokens, expected: int, scope: _Scope) -> None:
    found = tokens.count("a count of numbers")
    if found != expected:
        raise LanguageError(
            f"the factor of {scope.child} has {found} numbers, {expected} are needed", place=tokens.last
        )


def _row_sets(tokens: Tokens, scope: _Scope) -> list[CredalSet]:
    """Read A and b; give each configuration the rows of A that speak about it."""
    size = len(scope.child.values)
    columns = size * scope.configurations
    count = tokens.count("a count of coefficients")
    place = tokens.last
    if count % columns:
        raise LanguageError(f"{count} coefficients are no whole number of rows of {columns}", place=place)
    matrix = [tokens.numbers(columns, "a coefficient") for _ in range(count // columns)]
    _count(tokens, len(matrix), scope)
    rows: list[list[Row]] = [[] for _ in range(scope.configurations)]
    for coefficients, bound in zip(matrix, tokens.numbers(len(matrix), "a bound"), strict=True):
        configuration = _spoken_of(coefficients, size, place)
        own = tuple(coefficients[configuration * size : (configuration + 1) * size])
        # A bound that nothing reaches says nothing; as a sentence it would be none.
        rows[configuration].append(Row(own, min(*own, bound), min(max(own), bound)))
    return [CredalSet(LocalPolytope(size, tuple(found)), place.line) for found in rows]


def _spoken_of(coefficients: Sequence[Fraction], size: int, place: Place) -> int:
    """Return the configuration that a row of A restricts."""
    blocks = {column // size for column, value in enumerate(coefficients) if value}
    if len(blocks) != 1:
        raise LanguageError(
            f"a row of the matrix speaks about {len(blocks)} parent configurations",
            place=place,
            advice="Only separately specified credal sets can be read: one configuration per row.",
        )
    return blocks.pop()
