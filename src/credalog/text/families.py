"""Families of a credal network: a variable, its parents, and a credal set per parent configuration.

Input: what a file says about each family, as points, vertices or rows. Output: a `Network` whose sentences
restrict exactly those credal sets, and whose dependency graph has exactly those parents. Where all sets are
points its sentences are made when someone looks at them.

Rounding. Files print decimals, so a distribution may sum to 0.999 or 1.001. It is divided by its sum, in
rationals; a sum further from 1 than `SUM_TOLERANCE` is a mistake and refused. The credal set is the exact
hull of the vertices after that division: nothing is lost or added by rounding on our side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from itertools import product
from math import lcm, prod
from typing import NamedTuple

from credalog.errors import LanguageError, Place, ProblemTooLarge
from credalog.network.families import Family as Tables
from credalog.network.families import FamilySentences
from credalog.network.formulas import Variable, conjunction
from credalog.network.polytopes import LocalPolytope, Row, Vertex, facets, point
from credalog.network.sentences import Network, Sentence, Source

SUM_TOLERANCE = Fraction(1, 50)
"""How far the printed probabilities of one distribution may be from summing to one."""


MOST_VALUES = 1_000_000
"""How many values all variables of a file may have together."""

MOST_CONFIGURATIONS = 10_000_000
"""How many parent configurations a variable may have."""


class Point(NamedTuple):
    """The only distribution of one parent configuration, as weights, and the line where it stands."""

    weights: tuple[int, ...]
    line: int

    @property
    def vertex(self) -> Vertex:
        """Return the distribution."""
        total = sum(self.weights)
        return tuple(Fraction(weight, total) for weight in self.weights)

    @property
    def polytope(self) -> LocalPolytope:
        """Return the set that holds the distribution alone."""
        return point(self.vertex)


@dataclass(frozen=True, slots=True)
class CredalSet:
    """The polytope of one parent configuration, and the line where the file describes it."""

    polytope: LocalPolytope
    line: int


@dataclass(frozen=True, slots=True)
class Family:
    """A variable, its parents, and its credal sets in the order of `configurations(parents)`."""

    child: Variable
    parents: tuple[Variable, ...]
    sets: tuple[CredalSet | Point, ...]
    place: Place

    @property
    def is_point(self) -> bool:
        """Tell whether each of its sets holds one distribution alone."""
        return all(isinstance(credal, Point) for credal in self.sets)


def configurations(parents: Sequence[Variable]) -> Iterator[tuple[str, ...]]:
    """Yield the joint values of the parents, those of the last parent changing fastest."""
    return product(*(parent.values for parent in parents))


def configurations_count(parents: Sequence[Variable], place: Place) -> int:
    """Return the number of joint values of the parents; refuse what no table could list."""
    count = prod(len(parent.values) for parent in parents)
    if count > MOST_CONFIGURATIONS:
        raise ProblemTooLarge(
            f"the table would have {count:,} rows, one for each configuration of {len(parents)} parents",
            place=place,
            advice=f"At most {MOST_CONFIGURATIONS:,} can be read.",
        )
    return count


def normalized(numbers: Sequence[tuple[int, int]], place: Place) -> Point:
    """Divide printed probabilities by their sum; refuse what is not a rounded distribution."""
    scale = lcm(*[under for _, under in numbers])
    weights = tuple([over * (scale // under) for over, under in numbers])
    total = sum(weights)
    if min(weights) < 0 or abs(total - scale) > scale * SUM_TOLERANCE:
        shown = " ".join(str(over / under) for over, under in numbers)
        raise LanguageError(
            f"{shown} is not a distribution: it sums to {total / scale:g}",
            place=place,
            advice="Probabilities must be non-negative and sum to 1, up to the rounding of printed digits.",
        )
    return Point(weights, place.line)


def hull(points: Sequence[Point], line: int) -> CredalSet | Point:
    """Return the convex hull of distributions, which may be a single one."""
    corners = [point.vertex for point in points]
    if len(set(corners)) == 1:
        return Point(points[0].weights, line)
    return CredalSet(LocalPolytope(len(corners[0]), facets(corners)), line)


def network_of(variables: Sequence[Variable], families: Iterable[Family], *, file: str = "") -> Network:
    """Join families into a network: a sentence per row, under the condition that names its configuration."""
    families, variables = tuple(families), tuple(variables)
    _check_families(variables, families)
    if all(family.is_point for family in families):
        number = {variable: i for i, variable in enumerate(variables)}
        tables = (_tables(family, number) for family in families)
        return Network(variables, FamilySentences(tables, variables, file))
    sentences = [sentence for family in families for sentence in _sentences(family, file)]
    return Network(variables, tuple(sentences))


def _tables(family: Family, number: dict[Variable, int]) -> Tables:
    """Put a family whose sets are points in numbers."""
    parents = tuple(number[parent] for parent in family.parents)
    sizes = tuple(len(parent.values) for parent in family.parents)
    points = [credal for credal in family.sets if isinstance(credal, Point)]
    return Tables.of_points(number[family.child], parents, sizes, points)


def _check_families(variables: Sequence[Variable], families: Sequence[Family]) -> None:
    """Check that each variable has one family and that the parents form no cycle."""
    seen: dict[Variable, Family] = {}
    for family in families:
        if family.child in seen:
            raise LanguageError(f"{family.child} has two conditional tables", place=family.place)
        seen[family.child] = family
    missing = [variable.name for variable in variables if variable not in seen]
    if missing:
        raise LanguageError(f"no conditional table for {', '.join(missing)}")
    _check_acyclic(seen)


def _check_acyclic(families: dict[Variable, Family]) -> None:
    order = TopologicalSorter({child: family.parents for child, family in families.items()})
    try:
        order.prepare()
    except CycleError as error:
        circle = [variable.name for variable in error.args[1]]
        raise LanguageError(
            f"the parents form a cycle: {' -> '.join(circle)}",
            place=families[error.args[1][0]].place,
            advice="A credal network is acyclic; write a cyclic one as an LCN.",
        ) from None


def _sentences(family: Family, file: str) -> Iterator[Sentence]:
    for values, credal in zip(configurations(family.parents), family.sets, strict=True):
        given = conjunction(p.is_(v) for p, v in zip(family.parents, values, strict=True))
        for row in credal.polytope.rows or _silent_rows(family):
            claims = tuple(
                (weight, family.child.is_(value))
                for weight, value in zip(row.coefficients, family.child.values, strict=True)
                if weight
            )
            lower, upper = row.lower, row.upper
            if len(claims) == 1:
                # The paper's form: one claim of weight 1.
                ((weight, claim),) = claims
                claims = ((Fraction(1), claim),)
                lower, upper = sorted((lower / weight, upper / weight))
            yield Sentence(claims, given, lower, upper, source=Source(file, credal.line))


def _silent_rows(family: Family) -> tuple[Row, ...]:
    """Return a row that says nothing but names the parents: a vacuous set still depends on them."""
    if not family.parents:
        return ()
    first = tuple(Fraction(i == 0) for i in range(len(family.child.values)))
    return (Row(first, Fraction(0), Fraction(1)),)
