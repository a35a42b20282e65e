"""Exact polytopes of conditional distributions: the credal set of one variable, one parent configuration.

Input: rows `lower <= coefficients . theta <= upper` on a probability vector, or its vertices; or a network
with its dependency graph. Output: the other representation, in rationals, and for a network the
`LocalAssessment`: which sentences restrict nothing but theta(x | one parent configuration).

Both directions are one algorithm, the double description method (Motzkin, Raiffa, Thompson and Thrall,
1953; Fukuda and Prodon, 1996): the extreme rays of a pointed cone {y : a . y >= 0 for every row a} are
found by adding the rows one at a time. Rays are integer vectors without common divisor, so nothing is
rounded and equal rays are equal tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import product
from math import gcd, lcm, prod
from typing import NamedTuple, Protocol, TypeAlias

from credalog.network.families import Configuration, Family, FamilyPlaces, Place, families_of
from credalog.network.formulas import Formula, Is, Variable, literals_of, truth_table
from credalog.network.sentences import Network, Sentence
from credalog.numbers.budget import require_time

__all__ = [
    "Configuration",
    "FamilyPolytopes",
    "LocalAssessment",
    "LocalPolytope",
    "Parents",
    "Place",
    "Row",
    "Vertex",
    "facets",
    "has_empty",
    "interval_centre",
    "local_polytopes",
    "local_row",
    "point",
    "ranges",
    "single_value_bounds",
    "vacuous",
    "vertices",
]

Vertex: TypeAlias = tuple[Fraction, ...]
_Ray: TypeAlias = tuple[int, ...]

_ZERO, _ONE = Fraction(0), Fraction(1)

NEAR = 1e-9
"""Sums of floats that are so far from one are on the same side of it as sums of fractions."""

MAX_CONDITION_WORLDS = 1 << 16
"""The largest table of parent configurations on which a condition is evaluated to see if it is local."""


class Row(NamedTuple):
    """The restriction `lower <= coefficients . theta <= upper`."""

    coefficients: Vertex
    lower: Fraction
    upper: Fraction


@dataclass(frozen=True, slots=True)
class LocalPolytope:
    """The probability vectors theta(x | one parent configuration) of `size` values that satisfy all rows."""

    size: int
    rows: tuple[Row, ...] = ()

    def __hash__(self) -> int:
        # The bounds tell polytopes apart; coefficients are as many as values, and mostly the same.
        return hash((self.size, tuple([row[1:] for row in self.rows])))

    @property
    def is_empty(self) -> bool:
        """Tell whether no probability vector satisfies all rows."""
        bounds = single_value_bounds(self)
        return not vertices(self) if bounds is None else _is_contradiction(*bounds)

    def contains(self, theta: Sequence[Fraction]) -> bool:
        """Tell whether a vector is a distribution that satisfies every row, exactly."""
        if min(theta) < 0 or sum(theta) != 1:
            return False
        return all(row.lower <= _dot(row.coefficients, theta) <= row.upper for row in self.rows)


class Parents(Protocol):
    """What is needed of a dependency graph: for each variable, the indices of its parents."""

    @property
    def parent_indices(self) -> Sequence[Sequence[int]]:
        """Return the parents of each variable, by index."""


@dataclass(frozen=True, slots=True)
class LocalAssessment:
    """The local polytopes of a network and the sentences that are not local.

    `polytopes[x]` maps a parent configuration (state indices, in the order of the graph's
    `parent_indices[x]`) to what is said about theta(x | configuration); where nothing is said the
    configuration is missing. `places[i]` are the variable and the configurations that sentence i is local
    to, none for the sentences that say anything else, which `rest` lists, or nothing at all.
    """

    polytopes: tuple[Mapping[Configuration, LocalPolytope], ...]
    places: Sequence[tuple[Place, ...]]
    rest: tuple[int, ...]


def vacuous(size: int) -> LocalPolytope:
    """Return the polytope of all probability vectors."""
    return LocalPolytope(size)


def point(theta: Vertex) -> LocalPolytope:
    """Return the polytope of one vector: an equality for each value but the last, which follows."""
    told = zip(_units(len(theta)), theta[:-1], strict=False)
    return LocalPolytope(len(theta), tuple(Row(unit, value, value) for unit, value in told))


@lru_cache(maxsize=65536)
def ranges(polytope: LocalPolytope) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return the least and the greatest probability of each value; none if the polytope is empty.

    Where every row bounds one value, max {theta_k : l <= theta <= u, sum theta = 1} has a closed form, while
    the vertices of a dozen values number thousands.
    """
    bounds = single_value_bounds(polytope)
    if bounds is None:
        return tuple((min(values), max(values)) for values in zip(*vertices(polytope), strict=True))
    return _interval_ranges(*bounds)


def _interval_ranges(
    lows: Sequence[Fraction], highs: Sequence[Fraction]
) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return the least and the greatest probability of each value that has an interval of its own."""
    # In whole numbers over a common scale, since sums of fractions take ten times as long.
    scale = lcm(*(bound.denominator for bound in (*lows, *highs)))
    low, high = ([b.numerator * (scale // b.denominator) for b in bounds] for bounds in (lows, highs))
    least, most = sum(low), sum(high)
    if not least <= scale <= most or any(l > h for l, h in zip(low, high, strict=True)):
        return ()
    ends = ((max(l, scale - (most - h)), min(h, scale - (least - l))) for l, h in zip(low, high, strict=True))
    return tuple((Fraction(l, scale), Fraction(h, scale)) for l, h in ends)


def _is_contradiction(lows: Sequence[Fraction], highs: Sequence[Fraction]) -> bool:
    """Tell whether no distribution lies between the bounds: floats decide what is not near, at less cost."""
    if any(low > high for low, high in zip(lows, highs, strict=True)):
        return True
    least, most = sum(map(float, lows)), sum(map(float, highs))
    if least < 1.0 - NEAR and most > 1.0 + NEAR:
        return False
    return not sum(lows) <= 1 <= sum(highs)


def single_value_bounds(polytope: LocalPolytope) -> tuple[list[Fraction], list[Fraction]] | None:
    """Return bounds on each value by itself, if that is all the rows say: a + b theta_k in [lower, upper]."""
    lows, highs = [_ZERO] * polytope.size, [_ONE] * polytope.size
    places = _unit_places(polytope.size)
    for row in polytope.rows:
        place = places.get(id(row.coefficients))
        if place is not None:
            lows[place], highs[place] = max(lows[place], row.lower), min(highs[place], row.upper)
            continue
        usual = (
            row.coefficients[0] if row.coefficients.count(row.coefficients[0]) > 1 else row.coefficients[-1]
        )
        odd = [k for k, c in enumerate(row.coefficients) if c != usual]
        if len(odd) != 1:
            return None
        low, high = row.lower, row.upper
        if usual != 0 or row.coefficients[odd[0]] != 1:
            slope = row.coefficients[odd[0]] - usual
            low, high = sorted(((low - usual) / slope, (high - usual) / slope))
        lows[odd[0]], highs[odd[0]] = max(lows[odd[0]], low), min(highs[odd[0]], high)
    return lows, highs


def interval_centre(lower: Sequence[Fraction], upper: Sequence[Fraction]) -> Vertex:
    """Return the distribution equally far between all bounds: zero only where no other is possible."""
    least = sum(lower, Fraction(0))
    spread = sum(upper, Fraction(0)) - least
    share = (1 - least) / spread if spread else Fraction(0)
    return tuple(l + share * (u - l) for l, u in zip(lower, upper, strict=True))


@cache
def _units(size: int) -> tuple[Vertex, ...]:
    """Return the rows of the identity: what names one value has one of these, and few are kept."""
    return tuple(tuple(_ONE if i == j else _ZERO for j in range(size)) for i in range(size))


@cache
def _unit_places(size: int) -> Mapping[int, int]:
    """Return the place of the one in each of these very tuples, which are never given up."""
    return {id(unit): place for place, unit in enumerate(_units(size))}


def rays(size: int, rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return vectors, in whole numbers, of which every m >= 0 with row . m >= 0 is a mixture of multiples."""
    exact = (Row(tuple(map(Fraction, row)), Fraction(0), Fraction(max(map(abs, row)))) for row in rows)
    found = vertices(LocalPolytope(size, tuple(exact)))
    return [[int(p * lcm(*(q.denominator for q in ray))) for p in ray] for ray in found]


@lru_cache(maxsize=65536)
def vertices(polytope: LocalPolytope) -> tuple[Vertex, ...]:
    """Enumerate the extreme points of a local polytope in lexicographic order; none if it is empty."""
    if polytope.size == 2:
        return _interval_vertices(polytope.rows)
    rays = _extreme_rays(_identity(polytope.size), _homogeneous(polytope.rows))
    return tuple(sorted(tuple(Fraction(v, sum(ray)) for v in ray) for ray in rays))


def _interval_vertices(rows: tuple[Row, ...]) -> tuple[Vertex, ...]:
    """Intersect the rows of a two-valued variable as intervals of theta[0]."""
    lower, upper = Fraction(0), Fraction(1)
    for (first, second), low, high in rows:
        slope = first - second
        if slope == 0 and not low <= second <= high:
            return ()
        if slope != 0:
            ends = sorted(((low - second) / slope, (high - second) / slope))
            lower, upper = max(lower, ends[0]), min(upper, ends[1])
    if lower > upper:
        return ()
    return tuple((value, 1 - value) for value in sorted({lower, upper}))


def _homogeneous(rows: tuple[Row, ...]) -> list[_Ray]:
    """Write each row as two inequalities a . theta >= 0, valid where theta sums to one."""
    below = [_primitive(c - row.lower for c in row.coefficients) for row in rows]
    above = [_primitive(row.upper - c for c in row.coefficients) for row in rows]
    return [row for pair in zip(below, above, strict=True) for row in pair]


def facets(points: Sequence[Vertex]) -> tuple[Row, ...]:
    """Return rows whose polytope is the convex hull of the given probability vectors.

    Every facet and every equality of the affine hull gives a row; its ends are the least and the greatest
    value on the points, so parallel facets share one. What holds for every distribution is left out.
    """
    if len(points[0]) == 1:
        return ()
    rays = sorted({_primitive(point) for point in points})
    equalities, coordinates = _span(rays)
    projected = [tuple(ray[i] for i in coordinates) for ray in rays]
    normals = [_lift(normal, coordinates, len(points[0])) for normal in _dual_rays(projected)]
    directions = {_direction(normal): None for normal in (*equalities, *normals)}
    rows = (_row_through(direction, points) for direction in directions)
    return tuple(row for row in rows if not _is_trivial(row))


def _row_through(direction: Vertex, points: Sequence[Vertex]) -> Row:
    values = [_dot(direction, point) for point in points]
    return Row(direction, min(values), max(values))


def _is_trivial(row: Row) -> bool:
    """Tell whether a row holds for every distribution."""
    return row.lower <= min(row.coefficients) and max(row.coefficients) <= row.upper


def _direction(normal: _Ray) -> Vertex:
    """Choose among the equivalent forms of a row the one with coefficients from 0 to 1 and most zeros.

    Adding a constant to all coefficients adds it to the row's value, and so does a factor; the row read
    from above instead of below is the complement 1 - c. Ties go to the lexicographically greater form.
    """
    least, greatest = min(normal), max(normal)
    scaled = tuple(Fraction(c - least, greatest - least) for c in normal)
    mirrored = tuple(1 - c for c in scaled)
    return max(scaled, mirrored, key=lambda form: (form.count(Fraction(0)), form))


def _span(rays: Sequence[_Ray]) -> tuple[list[_Ray], list[int]]:
    """Return the equalities that all rays satisfy, and coordinates that determine the others."""
    reduced = _row_echelon(rays)
    pivots = [next(i for i, value in enumerate(row) if value) for row in reduced]
    free = [i for i in range(len(rays[0])) if i not in pivots]
    equalities = []
    for column in free:
        normal = [Fraction(int(i == column)) for i in range(len(rays[0]))]
        for pivot, row in zip(pivots, reduced, strict=True):
            normal[pivot] = -row[column]
        equalities.append(_primitive(normal))
    return equalities, pivots


def _row_echelon(rows: Iterable[Sequence[int]]) -> list[list[Fraction]]:
    """Reduce rows to echelon form with leading ones, in rationals."""
    reduced: list[list[Fraction]] = []
    for row in rows:
        rest = [Fraction(value) for value in row]
        for done in reduced:
            pivot = next(i for i, value in enumerate(done) if value)
            rest = _minus(rest, done, rest[pivot])
        pivot = next((i for i, value in enumerate(rest) if value), -1)
        if pivot >= 0:
            rest = [value / rest[pivot] for value in rest]
            reduced = [_minus(done, rest, done[pivot]) for done in reduced] + [rest]
    return reduced


def _minus(left: Sequence[Fraction], right: Sequence[Fraction], factor: Fraction) -> list[Fraction]:
    return [a - factor * b for a, b in zip(left, right, strict=True)]


def _lift(normal: _Ray, coordinates: Sequence[int], size: int) -> _Ray:
    lifted = [0] * size
    for coordinate, value in zip(coordinates, normal, strict=True):
        lifted[coordinate] = value
    return tuple(lifted)


def _dual_rays(rays: Sequence[_Ray]) -> list[_Ray]:
    """Return the extreme rays of the cone {c : c . ray >= 0 for all}, for rays that span the space."""
    basis: list[_Ray] = []
    for ray in rays:
        if len(_row_echelon([*basis, ray])) > len(basis):
            basis.append(ray)
    others = [ray for ray in rays if ray not in basis]
    return _extreme_rays(_inverse_columns(basis), others)


def _inverse_columns(basis: Sequence[_Ray]) -> list[_Ray]:
    """Return, up to scale, the columns of the inverse of the matrix with these rows."""
    size = len(basis)
    extended = [(*row, *(int(i == j) for j in range(size))) for i, row in enumerate(basis)]
    reduced = sorted(_row_echelon(extended), reverse=True)
    return [_primitive(row[size + j] for row in reduced) for j in range(size)]


def _extreme_rays(start: Sequence[_Ray], rows: Sequence[_Ray]) -> list[_Ray]:
    """Cut a simplicial cone, given by its rays, with the half-spaces row . ray >= 0.

    Ray i of the start is tight on all of the cone's own facets but the i-th. Each ray carries the set of
    facets it lies on, as bits.
    """
    everywhere = (1 << len(start)) - 1
    tight = {ray: everywhere & ~(1 << i) for i, ray in enumerate(start)}
    for bit, row in enumerate(rows, start=len(start)):
        tight = _cut(tight, row, 1 << bit)
    return list(tight)


def _cut(tight: Mapping[_Ray, int], row: _Ray, bit: int) -> dict[_Ray, int]:
    side = {ray: sum(a * b for a, b in zip(row, ray, strict=True)) for ray in tight}
    kept = {ray: facets | (bit if side[ray] == 0 else 0) for ray, facets in tight.items() if side[ray] >= 0}
    above = [ray for ray in tight if side[ray] > 0]
    below = [ray for ray in tight if side[ray] < 0]
    for high, low in product(above, below):
        common = tight[high] & tight[low]
        if _adjacent(common, high, low, tight):
            ray = _primitive(side[high] * b - side[low] * a for a, b in zip(high, low, strict=True))
            kept[ray] = common | bit
    return kept


def _adjacent(common: int, high: _Ray, low: _Ray, tight: Mapping[_Ray, int]) -> bool:
    """Tell whether two rays span an edge: no third one lies on all the facets that they share."""
    return not any(common & ~facets == 0 for ray, facets in tight.items() if ray not in (high, low))


def _identity(size: int) -> list[_Ray]:
    return [tuple(int(i == j) for j in range(size)) for i in range(size)]


def _primitive(values: Iterable[Fraction | int]) -> _Ray:
    """Scale a rational vector by a positive factor to coprime integers."""
    exact = [Fraction(value) for value in values]
    scale = lcm(*(value.denominator for value in exact))
    integers = [int(value * scale) for value in exact]
    divisor = gcd(*integers) or 1
    return tuple(value // divisor for value in integers)


def _dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def local_polytopes(network: Network, graph: Parents) -> LocalAssessment:
    """Sort the sentences of a network into local polytopes and the rest.

    A sentence is local to (x, configuration) when its claims speak about x only and its condition holds
    in exactly one configuration of the parents of x: then it restricts theta(x | configuration) and
    nothing else. One that makes its claim certain, or impossible, does so in every configuration in which
    its condition holds, since no part of a zero is positive: it is local to all of them.
    """
    tabled = None if network.is_listed else _tabled(network, graph)
    if tabled is not None:
        return tabled
    index = {variable: i for i, variable in enumerate(network.variables)}
    rows: list[dict[Configuration, list[Row]]] = [{} for _ in network.variables]
    # Of a variable with many parents as many sentences speak: its parents are looked up once.
    families = cache(partial(_family, network.variables, graph))
    places = tuple(_places(sentence, families, index) for sentence in network.sentences)
    for sentence, found in zip(network.sentences, places, strict=True):
        for child, configuration in found:
            rows[child].setdefault(configuration, []).append(local_row(sentence, network.variables[child]))
    polytopes = tuple(
        {key: LocalPolytope(len(x.values), tuple(found)) for key, found in by_parents.items()}
        for x, by_parents in zip(network.variables, rows, strict=True)
    )
    said = (i for i, found in enumerate(places) if not found)
    return LocalAssessment(polytopes, places, tuple(i for i in said if not network.sentences[i].is_vacuous))


def _tabled(network: Network, graph: Parents) -> LocalAssessment | None:
    """Read the polytopes off the families of a network; None where it has none, or the graph has others."""
    sentences = families_of(network)
    if sentences is None:
        return None
    found: list[Mapping[Configuration, LocalPolytope]] = [{} for _ in network.variables]
    parents: list[tuple[int, ...]] = [() for _ in network.variables]
    for family in sentences.families:
        found[family.child] = FamilyPolytopes(family)
        parents[family.child] = tuple(sorted(family.parents))
    if parents != [tuple(above) for above in graph.parent_indices]:
        return None
    return LocalAssessment(tuple(found), FamilyPlaces(sentences), ())


class FamilyPolytopes(Mapping[Configuration, LocalPolytope]):
    """The local polytopes of a family, made when asked for; parents are in the order of their numbers."""

    def __init__(self, family: Family) -> None:
        self.family = family
        strides = [prod(family.sizes[k + 1 :]) for k in range(len(family.sizes))]
        self._axes = [(family.sizes[k], strides[k]) for k in family.order]
        self._made: dict[Configuration, LocalPolytope] = {}

    def __getitem__(self, configuration: Configuration) -> LocalPolytope:
        if configuration not in self._made:
            self._made[configuration] = self._polytope(self._row(configuration))
        return self._made[configuration]

    def _row(self, configuration: Configuration) -> int:
        """Return the number of the row that a configuration has in the family."""
        states = tuple(zip(configuration, self._axes, strict=True))
        if not all(0 <= state < size for state, (size, _) in states):
            raise KeyError(configuration)
        return sum(state * stride for state, (_, stride) in states)

    def _polytope(self, row: int) -> LocalPolytope:
        units = _units(self.family.size)
        rows = (Row(units[k], *self.family.bounds(row, k)) for k in range(self.family.told))
        return LocalPolytope(self.family.size, tuple(rows))

    def __iter__(self) -> Iterator[Configuration]:
        return product(*(range(size) for size, _ in self._axes))

    def __len__(self) -> int:
        return len(self.family.scale)


def has_empty(polytopes: Mapping[Configuration, LocalPolytope]) -> bool:
    """Tell whether some polytope of a variable has no point."""
    require_time()
    if isinstance(polytopes, FamilyPolytopes):
        return polytopes.family.has_empty
    return any(_is_empty(polytope) for polytope in polytopes.values())


def _is_empty(polytope: LocalPolytope) -> bool:
    require_time()
    return polytope.is_empty


def _family(
    variables: Sequence[Variable], graph: Parents, child: int
) -> tuple[tuple[Variable, ...], frozenset[Variable]]:
    """Return the parents of a variable, in their order and as a set."""
    parents = tuple(variables[i] for i in graph.parent_indices[child])
    return parents, frozenset(parents)


def _places(
    sentence: Sentence,
    families: Callable[[int], tuple[tuple[Variable, ...], frozenset[Variable]]],
    index: Mapping[Variable, int],
) -> tuple[Place, ...]:
    """Return the variable and the parent configurations that a sentence is local to."""
    require_time()
    claimed = sentence.claim_scope
    if len(claimed) != 1:
        return ()
    child = index[claimed[0]]
    parents, known = families(child)
    literals = literals_of(sentence.given)
    if not known.issuperset(sentence.given_scope if literals is None else literals):
        return ()
    decides = not sentence.is_linear and (sentence.lower >= 1 or sentence.upper <= 0)
    most = MAX_CONDITION_WORLDS if decides else 1
    return tuple((child, found) for found in _configurations(sentence.given, parents, literals, most))


def _configurations(
    given: Formula, parents: Sequence[Variable], literals: Mapping[Variable, str] | None, most: int
) -> Sequence[Configuration]:
    """Return the parent configurations in which a condition holds; none where they are too many."""
    if literals is not None and all(p in literals for p in parents):
        return (tuple(p.values.index(literals[p]) for p in parents),)
    if most == 1 and literals is not None and any(len(p.values) > 1 for p in parents if p not in literals):
        return ()
    if prod(len(p.values) for p in parents) > MAX_CONDITION_WORLDS:
        return ()
    # Reading a network needs no arrays, so they are imported here.
    import numpy as np

    holds = truth_table(given, parents)
    return [tuple(map(int, states)) for states in np.argwhere(holds)] if holds.sum() <= most else ()


def local_row(sentence: Sentence, x: Variable) -> Row:
    """Write the claims of a sentence about x alone as a row on the values of x."""
    require_time()
    if len(sentence.claims) == 1 and sentence.claims[0][0] == 1 and isinstance(sentence.claims[0][1], Is):
        place = x.values.index(sentence.claims[0][1].value)
        return Row(_units(len(x.values))[place], sentence.lower, sentence.upper)
    coefficients = [Fraction(0)] * len(x.values)
    for weight, claim in sentence.claims:
        if isinstance(claim, Is):
            coefficients[x.values.index(claim.value)] += weight
            continue
        for state in truth_table(claim, (x,)).nonzero()[0]:
            coefficients[state] += weight
    return Row(tuple(coefficients), sentence.lower, sentence.upper)
