"""Families of a credal network: a variable, its parents, and a credal set per parent configuration.

Input: what a file says about each family, as vertices or as rows. Output: a `Network` whose sentences
restrict exactly those credal sets, and whose dependency graph has exactly those parents.

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
from math import prod

from credalog.errors import LanguageError, Place, ProblemTooLarge
from credalog.network.formulas import Variable, conjunction
from credalog.network.polytopes import LocalPolytope, Row, Vertex, facets
from credalog.network.sentences import Network, Sentence, Source

SUM_TOLERANCE = Fraction(1, 50)
"""How far the printed probabilities of one distribution may be from summing to one."""


MOST_VALUES = 1_000_000
"""How many values all variables of a file may have together."""

MOST_CONFIGURATIONS = 10_000_000
"""How many parent configurations a variable may have."""


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
    sets: tuple[CredalSet, ...]
    place: Place


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


def normalized(numbers: Sequence[Fraction], place: Place) -> Vertex:
    """Divide printed probabilities by their sum; refuse what is not a rounded distribution."""
    total = sum(numbers, Fraction(0))
    if min(numbers) < 0 or abs(total - 1) > SUM_TOLERANCE:
        shown = " ".join(str(float(value)) for value in numbers)
        raise LanguageError(
            f"{shown} is not a distribution: it sums to {float(total):g}",
            place=place,
            advice="Probabilities must be non-negative and sum to 1, up to the rounding of printed digits.",
        )
    return tuple(value / total for value in numbers)


def hull(points: Sequence[Vertex]) -> LocalPolytope:
    """Return the convex hull of distributions, with the plainest rows: values of atoms for a point."""
    if len(set(points)) == 1:
        return LocalPolytope(len(points[0]), tuple(_point_rows(points[0])))
    return LocalPolytope(len(points[0]), facets(points))


def _point_rows(point: Vertex) -> Iterator[Row]:
    """Yield one equality for each value but the last, whose probability follows."""
    for state, value in enumerate(point[:-1]):
        unit = tuple(Fraction(state == i) for i in range(len(point)))
        yield Row(unit, value, value)


def network_of(variables: Sequence[Variable], families: Iterable[Family], *, file: str = "") -> Network:
    """Join families into a network: a sentence per row, under the condition that names its configuration."""
    families = tuple(families)
    _check_families(variables, families)
    sentences = [sentence for family in families for sentence in _sentences(family, file)]
    return Network(tuple(variables), tuple(sentences))


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
