"""The trusted kernel: whatever multipliers it is handed, no bound passes a point of the program.

Programs are drawn around a point that satisfies them exactly, in rationals; the kernel sees only their
coefficients rounded to floats. A bound that the point passes would be a false theorem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from credalog.program.program import Box, Floats, Objective, Outcome, Program, Ratios
from credalog.program.solvers import highs
from credalog.program.solvers.highs import Relaxation
from credalog.trusted.certify import Checker
from credalog.trusted.rounding import above, below

Vector = tuple[Fraction, ...]
Rows = list[Vector]


@dataclass(frozen=True, slots=True)
class Instance:
    """A program, a goal, and a point of the program at which the objective's denominator is one."""

    program: Program
    objective: Objective
    point: Vector
    goal: Vector

    @property
    def value(self) -> Fraction:
        return dot(self.goal, self.point)

    @property
    def box(self) -> Box:
        return self.program.ratios.box

    @property
    def multipliers(self) -> int:
        contexts = len(self.program.ratios.of)
        return self.program.inequalities.shape[0] + 2 * contexts + self.program.equalities.shape[0] + 1


def dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), start=Fraction(0))


def matrix(rows: Rows, width: int) -> sp.csr_array:
    found = np.array([[float(c) for c in row] for row in rows]).reshape(len(rows), width)
    return sp.csr_array(found)


COEFFICIENTS = st.integers(-60, 60).map(lambda n: Fraction(n, 30))
few = settings(max_examples=50)


@st.composite
def points(draw: st.DrawFn) -> tuple[Vector, tuple[tuple[int, int], ...]]:
    """Draw tables of mass one, and the ranges of their columns; the mass itself comes first."""
    point, ranges = [Fraction(1)], [(0, 1)]
    for weights in draw(
        st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=4), min_size=1, max_size=3)
    ):
        start = len(point)
        total = sum(weights)
        assume(total > 0)
        point.extend(Fraction(w, total) for w in weights)
        ranges.append((start, len(point)))
    return tuple(point), tuple(ranges)


def structural_rows(ranges: Sequence[tuple[int, int]], width: int) -> Rows:
    """Say that every table holds the whole mass."""
    return [
        tuple(Fraction(-1 if j == 0 else int(start <= j < stop)) for j in range(width))
        for start, stop in ranges[1:]
    ]


@st.composite
def inequalities(draw: st.DrawFn, point: Vector) -> Rows:
    rows = draw(st.lists(st.tuples(*(COEFFICIENTS for _ in point)), max_size=3))
    return [row if dot(row, point) >= 0 else tuple(-c for c in row) for row in rows]


@st.composite
def equalities(draw: st.DrawFn, point: Vector) -> Rows:
    rows = draw(st.lists(st.tuples(*(COEFFICIENTS for _ in point[1:])), max_size=2))
    return [(-dot(row, point[1:]), *row) for row in rows]


@st.composite
def ratios(draw: st.DrawFn, point: Vector, ranges: Sequence[tuple[int, int]]) -> Ratios:
    """Draw ratios of parts of tables, with bounds that hold at the point."""
    numerators: Rows = []
    denominators: Rows = []
    bounds: list[tuple[float, float]] = []
    for start, stop in draw(st.lists(st.sampled_from(ranges[1:]), max_size=3)):
        whole = draw(st.sets(st.integers(start, stop - 1), min_size=1))
        part = draw(st.sets(st.sampled_from(sorted(whole))))
        numerators.append(tuple(Fraction(int(j in part)) for j in range(len(point))))
        denominators.append(tuple(Fraction(int(j in whole)) for j in range(len(point))))
        bounds.append(draw(ranges_around(dot(numerators[-1], point), dot(denominators[-1], point))))
    return Ratios(
        np.array([low for low, _ in bounds], dtype=float),
        np.array([high for _, high in bounds], dtype=float),
        np.zeros(len(bounds), dtype=bool),
        np.arange(len(bounds), dtype=np.intp),
        matrix(numerators, len(point)),
        matrix(denominators, len(point)),
    )


@st.composite
def ranges_around(draw: st.DrawFn, part: Fraction, whole: Fraction) -> tuple[float, float]:
    value = part / whole if whole else Fraction(1, 2)
    down, up = (Fraction(draw(st.integers(0, 5)), 17) for _ in range(2))
    return below(max(value - down, Fraction(0))), above(min(value + up, Fraction(1)))


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """Draw a program around a point, and a goal over the whole mass or over that of some evidence."""
    point, ranges = draw(points())
    rows, equal = draw(inequalities(point)), structural_rows(ranges, len(point)) + draw(equalities(point))
    program = Program(
        len(point),
        ranges,
        matrix(rows, len(point)),
        matrix(equal, len(point)),
        draw(ratios(point, ranges)),
        (-1,) * len(rows),
        (-1,) * len(equal),
    )
    evidence = draw(st.sets(st.sampled_from(range(*ranges[-1])))) or {0}
    mass = sum((point[j] for j in evidence), start=Fraction(0))
    assume(mass > 0)
    goal = draw(st.tuples(*(COEFFICIENTS for _ in point)))
    objective = Objective(
        np.array([float(c) for c in goal]),
        np.array([float(j in evidence) for j in range(len(point))]),
        np.full(len(ranges), above(1 / mass)),
    )
    return Instance(program, objective, tuple(x / mass for x in point), goal)


def any_multipliers(count: int) -> st.SearchStrategy[Floats]:
    """Draw multipliers of any sign and of very different sizes."""
    plain = st.floats(-10, 10)
    large = st.floats(-1e12, 1e12)
    return arrays(float, count, elements=st.one_of(plain, plain, large))


# --- Bounds ------------------------------------------------------------------------------------------


@pytest.mark.slow
@few
@given(st.data(), instances())
def test_no_multipliers_prove_a_bound_that_a_point_passes(data: st.DataObject, case: Instance) -> None:
    multipliers = data.draw(any_multipliers(case.multipliers))
    checker = Checker(case.program)
    assert checker.lower_bound(case.objective, case.box, multipliers) <= case.value
    assert checker.upper_bound(case.objective, case.box, multipliers) >= case.value


@pytest.mark.slow
@few
@given(st.data(), instances())
def test_no_perturbation_of_good_multipliers_does(data: st.DataObject, case: Instance) -> None:
    claim, _ = Relaxation(case.program).minimize(case.objective, case.box)
    assume(claim.outcome is Outcome.OPTIMAL)
    size = data.draw(st.sampled_from([0.0, 1e-15, 1e-9, 1e-3, 1.0]))
    noise = data.draw(arrays(float, case.multipliers, elements=st.floats(-1, 1)))
    swapped = data.draw(st.sampled_from([1.0, -1.0]))
    multipliers = swapped * claim.multipliers + size * noise
    assert Checker(case.program).lower_bound(case.objective, case.box, multipliers) <= case.value


@pytest.mark.slow
@few
@given(instances())
def test_a_solvers_own_multipliers_prove_nearly_all_it_claims(case: Instance) -> None:
    relaxation, checker = Relaxation(case.program), Checker(case.program)
    least, _ = relaxation.minimize(case.objective, case.box)
    most, _ = relaxation.maximize(case.objective, case.box)
    assume(least.outcome is most.outcome is Outcome.OPTIMAL)
    # Per unit of mass the solver's tolerance is 1e-9; a point may hold many.
    slack = 1e-7 * float(case.objective.mass_bounds[0])
    lower = checker.lower_bound(case.objective, case.box, least.multipliers)
    upper = checker.upper_bound(case.objective, case.box, most.multipliers)
    assert least.value - slack <= lower <= case.value <= upper <= most.value + slack


@pytest.mark.slow
@few
@given(instances())
def test_interior_points_end_where_the_simplex_method_does(case: Instance) -> None:
    by_simplex, _ = Relaxation(case.program).minimize(case.objective, case.box)
    assume(by_simplex.outcome is Outcome.OPTIMAL)
    with patch.object(highs, "INTERIOR", 0):
        inside, _ = Relaxation(case.program).minimize(case.objective, case.box)
    assert inside.outcome is Outcome.OPTIMAL
    slack = 1e-7 * float(case.objective.mass_bounds[0])
    lower = Checker(case.program).lower_bound(case.objective, case.box, inside.multipliers)
    assert by_simplex.value - slack <= lower <= case.value


@pytest.mark.slow
@few
@given(st.data(), instances())
def test_without_mass_bounds_a_bound_holds_or_is_infinite(data: st.DataObject, case: Instance) -> None:
    unbounded = replace(case.objective, mass_bounds=np.full(len(case.program.tables), np.inf))
    multipliers = data.draw(any_multipliers(case.multipliers))
    found = Checker(case.program).lower_bound(unbounded, case.box, multipliers)
    assert found <= case.value if isfinite(found) else found == -np.inf


@pytest.mark.slow
@few
@given(instances())
def test_a_wider_box_proves_no_more(case: Instance) -> None:
    assume(len(case.box.lower) > 0)
    claim, _ = Relaxation(case.program).minimize(case.objective, case.box)
    assume(claim.outcome is Outcome.OPTIMAL)
    wider = Box(np.zeros_like(case.box.lower), np.ones_like(case.box.upper))
    checker = Checker(case.program)
    inner = checker.lower_bound(case.objective, case.box, claim.multipliers)
    outer = checker.lower_bound(case.objective, wider, claim.multipliers)
    assert outer <= inner + 1e-9


@pytest.mark.parametrize("worst", [np.nan, np.inf, -np.inf, 1e308, 5e-324])
def test_multipliers_that_are_no_numbers_prove_nothing_false(thirds: Program, worst: float) -> None:
    objective = Objective(np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.ones(2))
    box, checker = thirds.ratios.box, Checker(thirds)
    with np.errstate(all="ignore"):
        for place in range(3):
            multipliers = np.full(3, 2.0)
            multipliers[place] = worst
            assert checker.lower_bound(objective, box, multipliers) <= 0.0
            assert checker.upper_bound(objective, box, multipliers) >= 1 / 3
            assert not checker.proves_empty(objective, box, multipliers)


# --- Emptiness ---------------------------------------------------------------------------------------


@pytest.mark.slow
@few
@given(st.data(), instances())
def test_no_ray_proves_a_program_with_a_point_empty(data: st.DataObject, case: Instance) -> None:
    ray = data.draw(any_multipliers(case.multipliers))
    assert not Checker(case.program).proves_empty(case.objective, case.box, ray)
    ray[-1] = abs(ray[-1]) + 1.0
    assert not Checker(case.program).proves_empty(case.objective, case.box, ray)


@pytest.mark.slow
@few
@given(instances(), st.integers(1, 10))
def test_a_contradiction_is_proved_from_the_solvers_ray(case: Instance, margin: int) -> None:
    """Demand goal >= value + margin / 10 and goal <= value, both times the evidence's mass."""
    unit = case.objective.denominator
    goal, value = case.objective.numerator, float(case.value)
    added = np.vstack([goal - (value + margin / 10) * unit, value * unit - goal])
    inequalities = sp.csr_array(sp.vstack([case.program.inequalities, sp.csr_array(added)]))
    program = replace(case.program, inequalities=inequalities)
    claim, _ = Relaxation(program).minimize(case.objective, case.box)
    assert claim.outcome is Outcome.INFEASIBLE
    assert Checker(program).proves_empty(case.objective, case.box, claim.multipliers)
    with patch.object(highs, "INTERIOR", 0):
        inside, _ = Relaxation(program).minimize(case.objective, case.box)
    assert Checker(program).proves_empty(case.objective, case.box, inside.multipliers)


# --- One program by hand -----------------------------------------------------------------------------


@pytest.fixture
def thirds() -> Program:
    """Two columns that share the mass, the first at most half of the second."""
    return Program(
        3,
        ((0, 1), (1, 3)),
        sp.csr_array(np.array([[0.0, -1.0, 0.5]])),
        sp.csr_array(np.array([[-1.0, 1.0, 1.0]])),
        Ratios(
            np.zeros(0),
            np.zeros(0),
            np.zeros(0, bool),
            np.zeros(0, np.intp),
            sp.csr_array((0, 3)),
            sp.csr_array((0, 3)),
        ),
        (-1,),
        (-1,),
    )


def test_the_greatest_share_is_a_third_rounded_outwards(thirds: Program) -> None:
    objective = Objective(np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.ones(2))
    # By hand: the multipliers of minimizing minus the share are 2/3, -1/3 and -1/3.
    multipliers = np.array([2 / 3, -1 / 3, -1 / 3])
    bound = Checker(thirds).upper_bound(objective, thirds.ratios.box, multipliers)
    assert Fraction(bound) >= Fraction(1, 3)
    assert bound == pytest.approx(1 / 3, abs=1e-12)


def test_zero_multipliers_prove_what_the_mass_alone_does(thirds: Program) -> None:
    objective = Objective(np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.ones(2))
    checker = Checker(thirds)
    assert checker.lower_bound(objective, thirds.ratios.box, np.zeros(3)) == pytest.approx(0.0, abs=1e-12)
    assert checker.upper_bound(objective, thirds.ratios.box, np.zeros(3)) == pytest.approx(1.0, abs=1e-12)
