"""The parts that methods share: elimination, cones, interval sets, mixtures, quotients, branch and bound."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credalog.errors import ProblemTooLarge
from credalog.network.formulas import Variable, conjunction, propositions
from credalog.network.polytopes import LocalPolytope, Row, interval_centre, vertices
from credalog.numbers.budget import Budget, OutOfTime
from credalog.program.branch import BranchAndBound, Explored
from credalog.program.dinkelbach import greatest_quotient
from credalog.tables.cones import extreme_rays
from credalog.tables.distribution import Distribution, Factor
from credalog.tables.elimination import Potential, eliminate, elimination_steps, restricted
from credalog.tables.interval_sets import interval_vertices
from credalog.tables.mixture import Mixture


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), kept=st.integers(0, 2))
def test_elimination_agrees_with_the_whole_product(seed: int, kept: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, size=6)
    scopes = [tuple(int(x) for x in rng.permutation(6)[: rng.integers(1, 4)]) for _ in range(7)]
    tables = [Potential(scope, rng.random([int(sizes[x]) for x in scope])) for scope in scopes]
    mentioned = sorted({x for scope in scopes for x in scope})
    keep = tuple(int(x) for x in rng.permutation(mentioned)[:kept])
    letters = [part for scope, values in tables for part in (values, list(scope))]
    for name, reduce in (("add", np.add), ("maximum", np.maximum)):
        joint = np.einsum(*letters, mentioned)
        axes = tuple(i for i, x in enumerate(mentioned) if x not in keep)
        left = [x for x in mentioned if x in keep]
        expected = reduce.reduce(joint, axis=axes).transpose([left.index(x) for x in keep])
        found, exponent = eliminate(tables, keep, marginalize=reduce)
        assert np.ldexp(found, exponent) == pytest.approx(expected, rel=1e-12), name


def test_thousands_of_tables_may_meet_at_one_variable() -> None:
    tables = [Potential(("x",), np.array([0.5, 1e-3])) for _ in range(3000)]
    found, exponent = eliminate(tables, ("x",))
    assert (np.log2(found[0]) + exponent, found[1]) == (-3000.0, 0.0)


def test_a_table_too_large_is_refused_before_it_is_built() -> None:
    ring = [(i, (i + k) % 30) for i in range(30) for k in range(1, 15)]
    with pytest.raises(ProblemTooLarge):
        elimination_steps(ring, dict.fromkeys(range(30), 2), most=1 << 10)


def test_elimination_leaves_when_the_time_is_up() -> None:
    with pytest.raises(OutOfTime):
        eliminate([Potential(("x", "y"), np.ones((2, 2)))], budget=Budget.of(0.0))


def test_observed_variables_lose_their_axes() -> None:
    table = np.arange(6.0).reshape(2, 3)
    assert restricted(Potential(("x", "y"), table), {"x": 1}).values.tolist() == [3.0, 4.0, 5.0]


def test_a_hundred_observations_are_no_obstacle_to_a_probability() -> None:
    c, *features = propositions(" ".join(["c", *(f"f{i}" for i in range(100))]))
    prior = Factor((c.variable,), (), np.array([0.6, 0.4]))
    given_c = [Factor((f.variable,), (c.variable,), np.array([[0.8, 0.2], [0.75, 0.25]])) for f in features]
    found = Distribution((prior, *given_c)).probability(c, conjunction(features))
    odds = Fraction(4, 6) * Fraction(25, 20) ** 100
    assert found == pytest.approx(float(odds / (1 + odds)), rel=1e-12)


def interval_polytope(lower: list[Fraction], upper: list[Fraction]) -> LocalPolytope:
    unit = [tuple(Fraction(int(i == k)) for i in range(len(lower))) for k in range(len(lower))]
    return LocalPolytope(len(lower), tuple(Row(e, l, u) for e, l, u in zip(unit, lower, upper, strict=True)))


@settings(max_examples=80, deadline=None)
@given(
    ends=st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=2, max_size=5),
)
def test_vertices_of_interval_sets_are_those_of_the_double_description(ends: list[tuple[int, int]]) -> None:
    lower = [Fraction(min(pair), 20) for pair in ends]
    upper = [Fraction(max(pair), 12) for pair in ends]
    expected = vertices(interval_polytope(lower, upper))
    assert interval_vertices(lower, upper, most=1000) == expected
    if expected:
        assert interval_polytope(lower, upper).contains(interval_centre(lower, upper))


def test_too_many_vertices_are_not_enumerated() -> None:
    bounds = [Fraction(1, 40)] * 20, [Fraction(1, 10)] * 20
    assert interval_vertices(*bounds, most=100) is None


def test_a_mixture_is_the_distribution_that_it_writes_out() -> None:
    variables = (Variable("p"), Variable("q"), Variable("v", ("r", "g", "b")))
    worlds = np.array([[0, 1, 2], [1, 1, 0], [0, 0, 2]])
    mixture = Mixture((), variables, worlds, np.array([0.5, 0.3, 0.2]))
    written = mixture.written_out()
    assert written is not None
    p, q, v = variables[0].is_("true"), variables[1].is_("true"), variables[2].is_("b")
    for claim, event in ((p, q), (v, ~p), (p | v, q)):
        assert mixture.probability(claim, event) == pytest.approx(
            written.probability(claim, event), abs=1e-15
        )
    assert mixture.probability(p, q) == pytest.approx(0.375, abs=1e-15)


@pytest.mark.parametrize("states", [3, 5, 9])
def test_pruning_leaves_when_the_time_is_up(states: int) -> None:
    rays = np.random.default_rng(0).random((200, states))
    if states < 9:
        with pytest.raises(OutOfTime):
            extreme_rays(rays, tolerance=1e-11, budget=Budget.of(0.0))
    else:
        # Beyond seven dimensions no hull is built: everything is kept.
        assert len(extreme_rays(rays, tolerance=1e-11, budget=Budget.of())) == len(rays)


def test_nearly_parallel_rays_are_pruned_to_the_corners_of_a_square() -> None:
    rng = np.random.default_rng(1)
    corners = 1.0 + 1e-4 * np.array([[0.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]])
    inside = rng.dirichlet(np.ones(4), size=300) @ corners
    kept = extreme_rays(np.concatenate([corners, inside]), tolerance=1e-11, budget=Budget.of())
    assert kept.tolist() == [0, 1, 2, 3]


def test_two_rays_span_every_cone_of_the_plane_however_unlikely() -> None:
    exponents = np.random.default_rng(2).permutation(60)
    rays = np.stack([np.ones(60), 10.0**-exponents], axis=1)
    kept = extreme_rays(rays, tolerance=1e-11, budget=Budget.of())
    assert sorted(exponents[kept].tolist()) == [0, 59]


def test_the_greatest_quotient_is_found_side_by_side() -> None:
    numerators = np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 4.0]])
    denominators = np.array([[4.0, 5.0, 9.0], [2.0, 8.0, 9.0]])

    def at(trial: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        score = numerators - trial[:, None] * denominators
        best = score.argmax(axis=1)
        rows = np.arange(2)
        return numerators[rows, best] / denominators[rows, best], score[rows, best] > 1e-12

    found, at_rest = greatest_quotient(at, np.zeros(2))
    assert found == pytest.approx([0.4, 0.5]) and at_rest.all()
    _, hurried = greatest_quotient(at, np.zeros(2), rounds=1)
    assert not hurried.any()


@pytest.mark.parametrize("at_most", [1, 3, 50])
def test_leaves_explored_together_find_the_same_minimum(at_most: int) -> None:
    values = np.random.default_rng(3).random(64)

    def explore(leaves: list[tuple[float, tuple[int, int]]]) -> Explored[tuple[int, int]]:
        halves = [
            half
            for _, (start, stop) in leaves
            for half in ((start, (start + stop) // 2), ((start + stop) // 2, stop))
        ]
        single = [values[a:b].min() for a, b in halves if b - a == 1]
        several = tuple((float(values[a:b].min()) - (b - a) / 64, (a, b)) for a, b in halves if b - a > 1)
        return Explored(several, min(single, default=np.inf))

    tree = BranchAndBound[tuple[int, int]]((0, 64), -1.0)
    tree.run_together(explore, until=lambda: False, enough=lambda: tree.closed, at_most=at_most)
    assert tree.bound == values.min()


def test_an_interrupted_exploration_leaves_its_leaves_open() -> None:
    tree = BranchAndBound[int](0, -1.0)
    tree.push(-0.5, 1)

    def explore(leaves: list[tuple[float, int]]) -> Explored[int]:
        raise OutOfTime

    with pytest.raises(OutOfTime):
        tree.run_together(explore, until=lambda: False, enough=lambda: 0.0, at_most=2)
    assert len(tree) == 2 and tree.bound == -1.0 and prod(tree.leaves) == 0
