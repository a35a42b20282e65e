"""Local polytopes: exact vertices and facets, and which sentences are local."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credalog.network.formulas import TRUE, And, Formula, Is, Not, Or, Variable
from credalog.network.polytopes import LocalPolytope, Row, facets, local_polytopes, vacuous, vertices
from credalog.network.sentences import Network, Sentence

pytestmark = pytest.mark.slow

F = Fraction


@dataclass(frozen=True)
class GivenParents:
    parent_indices: tuple[tuple[int, ...], ...]


def rational(denominator: int = 12) -> st.SearchStrategy[Fraction]:
    return st.integers(0, denominator).map(lambda n: Fraction(n, denominator))


def distributions(size: int) -> st.SearchStrategy[tuple[Fraction, ...]]:
    weights = st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any)
    return weights.map(lambda w: tuple(Fraction(v, sum(w)) for v in w))


@st.composite
def polytopes(draw: st.DrawFn, size: int) -> LocalPolytope:
    rows = []
    for _ in range(draw(st.integers(0, 4))):
        coefficients = tuple(draw(rational(3)) for _ in range(size))
        lower, upper = sorted((draw(rational()), draw(rational())))
        rows.append(Row(coefficients, lower, upper))
    return LocalPolytope(size, tuple(rows))


def brute_force_vertices(polytope: LocalPolytope) -> set[tuple[Fraction, ...]]:
    """Try every choice of size - 1 tight constraints; keep the feasible unique solutions."""
    size = polytope.size
    planes = [(tuple(F(i == j) for j in range(size)), F(0)) for i in range(size)]
    planes += [(row.coefficients, end) for row in polytope.rows for end in (row.lower, row.upper)]
    total = (tuple(F(1) for _ in range(size)), F(1))
    found = set()
    for chosen in combinations(planes, size - 1):
        point = solve([total, *chosen])
        if point is not None and polytope.contains(point):
            found.add(point)
    return found


def solve(system: list[tuple[tuple[Fraction, ...], Fraction]]) -> tuple[Fraction, ...] | None:
    rows = [[*coefficients, right] for coefficients, right in system]
    size = len(rows)
    for column in range(size):
        pivot = next((i for i in range(column, size) if rows[i][column] != 0), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [v / rows[column][column] for v in rows[column]]
        for i in range(size):
            if i != column:
                rows[i] = [a - rows[i][column] * b for a, b in zip(rows[i], rows[column], strict=True)]
    return tuple(row[-1] for row in rows)


def test_an_interval_has_its_two_ends_as_vertices() -> None:
    polytope = LocalPolytope(2, (Row((F(1), F(0)), F(1, 5), F(1, 2)),))
    assert vertices(polytope) == ((F(1, 5), F(4, 5)), (F(1, 2), F(1, 2)))


def test_a_point_has_one_vertex() -> None:
    assert vertices(LocalPolytope(2, (Row((F(0), F(1)), F(1, 3), F(1, 3)),))) == ((F(2, 3), F(1, 3)),)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_vacuous_set_has_the_certain_distributions_as_vertices(size: int) -> None:
    units = {tuple(F(i == j) for j in range(size)) for i in range(size)}
    assert set(vertices(vacuous(size))) == units


@pytest.mark.parametrize("size", [2, 3, 4])
def test_contradicting_rows_leave_nothing(size: int) -> None:
    first = tuple(F(i == 0) for i in range(size))
    rows = (Row(first, F(0), F(1, 4)), Row(first, F(1, 2), F(1)))
    assert LocalPolytope(size, rows).is_empty


def test_an_impossible_constant_row_leaves_nothing() -> None:
    assert LocalPolytope(2, (Row((F(1), F(1)), F(0), F(1, 2)),)).is_empty


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 4).flatmap(polytopes))
def test_vertices_agree_with_brute_force(polytope: LocalPolytope) -> None:
    assert set(vertices(polytope)) == brute_force_vertices(polytope)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 4).flatmap(lambda k: st.lists(distributions(k), min_size=1, max_size=6)))
def test_the_hull_of_points_has_no_other_vertices(points: list[tuple[Fraction, ...]]) -> None:
    polytope = LocalPolytope(len(points[0]), facets(points))
    assert all(polytope.contains(point) for point in points)
    assert set(vertices(polytope)) <= set(points)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 4).flatmap(polytopes))
def test_facets_undo_vertices(polytope: LocalPolytope) -> None:
    corners = vertices(polytope)
    if corners:
        assert vertices(LocalPolytope(polytope.size, facets(corners))) == corners


def test_facets_of_a_two_valued_hull_are_one_interval() -> None:
    points = [(F(1, 4), F(3, 4)), (F(1, 2), F(1, 2)), (F(1, 3), F(2, 3))]
    assert facets(points) == (Row((F(1), F(0)), F(1, 4), F(1, 2)),)


def test_facets_of_the_whole_simplex_say_nothing() -> None:
    assert facets(vertices(vacuous(3))) == ()


A, B = Variable("A"), Variable("B", ("red", "green", "blue"))
X = Variable("X", ("low", "mid", "high"))
GRAPH = GivenParents(((), (), (0, 1)))


def local(claim: Formula, condition: Formula) -> tuple[object, ...]:
    network = Network((A, B, X), (Sentence.of(claim, "0.2", "0.4", given=condition),))
    assessment = local_polytopes(network, GRAPH)
    return tuple((x, key) for x in range(3) for key in assessment.polytopes[x]) + assessment.rest


def test_a_sentence_that_fixes_every_parent_is_local() -> None:
    assert local(X.is_("mid"), And((Is(A), B.is_("blue")))) == ((2, (1, 2)),)


def test_a_condition_on_some_parents_only_is_not_local() -> None:
    assert local(X.is_("mid"), Is(A)) == (0,)


def test_a_condition_that_singles_out_a_configuration_by_exclusion_is_local() -> None:
    excluded = And((Not(Is(A)), Not(Or((B.is_("red"), B.is_("blue"))))))
    assert local(X.is_("mid"), excluded) == ((2, (0, 1)),)


def test_a_condition_true_in_two_configurations_is_not_local() -> None:
    assert local(X.is_("mid"), And((Is(A), Not(B.is_("red"))))) == (0,)


def test_a_marginal_is_local_to_a_root_and_not_to_a_child() -> None:
    assert local(Is(A), TRUE) == ((0, ()),)
    assert local(X.is_("mid"), TRUE) == (0,)


def test_a_claim_about_two_variables_is_not_local() -> None:
    assert local(And((Is(A), B.is_("red"))), TRUE) == (0,)


def test_a_condition_that_mentions_the_variable_itself_is_not_local() -> None:
    assert local(B.is_("red"), Not(B.is_("blue"))) == (0,)


def test_claims_become_coefficients_of_values() -> None:
    claims = ((F(2), X.is_("low")), (F(-1), Or((X.is_("low"), X.is_("high")))))
    sentence = Sentence(claims, And((Is(A), B.is_("red"))), F(0), F(1, 2))
    polytope = local_polytopes(Network((A, B, X), (sentence,)), GRAPH).polytopes[2][(1, 0)]
    assert polytope.rows == (Row((F(1), F(0), F(-1)), F(0), F(1, 2)),)


def test_local_vertices_attain_the_extremes_of_random_directions() -> None:
    rng = np.random.default_rng(7)
    polytope = LocalPolytope(
        4, (Row((F(1), F(1), F(0), F(0)), F(1, 4), F(1, 2)), Row((F(1), F(0), F(1), F(0)), F(1, 3), F(2, 3)))
    )
    corners = np.array([[float(v) for v in vertex] for vertex in vertices(polytope)])
    grid = [p for p in product(range(13), repeat=4) if sum(p) == 12]
    inside = np.array([p for p in grid if polytope.contains([F(v, 12) for v in p])]) / 12
    for _ in range(20):
        direction = rng.normal(size=4)
        assert (inside @ direction).max() <= (corners @ direction).max() + 1e-12
