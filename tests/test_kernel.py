"""The trusted kernel, digit by digit: each bound is held against weak duality in rational arithmetic.

The rational value is computed here from the statement in the kernel's docstring, on coefficients that were
never rounded. The kernel must stay on the safe side of it, without any tolerance, and close to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import inf, nan, nextafter
from random import Random

import numpy as np
import pytest
import scipy.sparse as sp

from credalog.numbers.interval import End, Endpoint, Warrant
from credalog.program.program import Box, Objective, Program, Ratios
from credalog.trusted.certify import Checker, ExactChecker, priced_bound
from credalog.trusted.rounding import (
    UNIT,
    all_rounded_down,
    enclosed,
    outward,
    relative_error,
    round_down,
    round_up,
)

Rows = list[list[Fraction]]

TABLES = ((0, 1), (1, 4), (4, 7))
WIDTH = 7
ZERO = Fraction(0)


def sign(end: End) -> int:
    """Return the sign of an end as an integer: a float would make floats of the rationals it multiplies."""
    return int(end.sign)


# --- Rounding ----------------------------------------------------------------------------------------


def test_the_relative_error_of_one_rounding_is_half_the_distance_of_floats_above_one() -> None:
    assert Fraction(UNIT) == Fraction(1, 2**53)


def test_a_number_is_rounded_to_its_neighbour() -> None:
    assert Fraction(round_down(1.0)) == 1 - Fraction(1, 2**53)
    assert Fraction(round_up(1.0)) == 1 + Fraction(1, 2**52)


@pytest.mark.parametrize("operations", [1, 2, 100, 10**6])
def test_the_error_of_many_roundings_covers_their_product_and_hardly_more(operations: int) -> None:
    # (1 + u)^n - 1 lies between n u and n u + (n u)^2 where n u < 1.
    least = operations * Fraction(1, 2**53)
    assert least + least**2 <= Fraction(relative_error(operations)) <= Fraction(102, 100) * least


def test_an_end_moves_outwards_by_its_error_and_one_float_more() -> None:
    assert outward(0.5, 0.25, End.LOWER) == nextafter(0.25, -inf)
    assert outward(0.5, 0.25, End.UPPER) == nextafter(0.75, inf)


@pytest.mark.parametrize("end", End)
def test_an_end_without_error_stays(end: End) -> None:
    assert outward(0.5, 0.0, end) == 0.5


def test_all_entries_but_zeros_are_rounded_down() -> None:
    rounded = all_rounded_down(np.array([1.0, 0.0, -1.0]))
    assert rounded.tolist() == [1.0 - 2.0**-53, 0.0, -1.0 - 2.0**-52]


# --- A bound from a pricing problem ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("worth", "error"), [("1/7", "0"), ("1/7", "1/3"), ("-1/7", "0"), ("-1/7", "1/3"), ("-1/3", "1/7")]
)
@pytest.mark.parametrize("mass", [1.0, 1.1, 3.7])
def test_a_priced_bound_is_on_the_safe_side_of_its_rational_value(
    worth: str, error: str, mass: float
) -> None:
    shift, gain, off = 0.1, float(Fraction(worth)), float(Fraction(error))
    # The mass is anywhere from 1 to its bound, and costs what the cheapest column does.
    least = -Fraction(gain) - Fraction(off)
    exact = Fraction(shift) + min(least, least * Fraction(mass))
    bound = Fraction(priced_bound(shift, gain, error=off, mass=mass))
    assert 0 < exact - bound < Fraction(1e-14)


# --- Ends that a method computes ---------------------------------------------------------------------


def test_an_enclosed_end_is_checked_and_outside_by_its_error() -> None:
    assert enclosed(0.5, error=0.25, end=End.LOWER) == Endpoint(nextafter(0.25, -inf), None, Warrant.CHECKED)
    assert enclosed(0.5, error=0.25, end=End.UPPER) == Endpoint(nextafter(0.75, inf), None, Warrant.CHECKED)


@pytest.mark.parametrize("end", End)
def test_an_enclosed_end_is_a_probability(end: End) -> None:
    assert enclosed(end.trivial, error=0.25, end=end).bound == end.trivial


@pytest.mark.parametrize(("value", "error"), [(nan, 0.0), (0.5, nan), (inf, 0.0), (-inf, 0.0), (0.5, inf)])
def test_an_end_that_is_no_number_encloses_nothing(value: float, error: float) -> None:
    assert enclosed(value, error=error, end=End.LOWER) == Endpoint(0.0, None, Warrant.CHECKED)
    assert enclosed(value, error=error, end=End.UPPER) == Endpoint(1.0, None, Warrant.CHECKED)


# --- Weak duality in rationals -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """A program in rationals, with a box of floats, and multipliers for it."""

    inequalities: Rows
    equalities: Rows
    numerator: Rows
    denominator: Rows
    lower: list[float]
    upper: list[float]
    cost: list[Fraction]
    masses: list[float]
    multipliers: list[float]
    columns: list[float] | None = None

    @property
    def program(self) -> Program:
        count = len(self.numerator)
        ratios = Ratios(
            np.array(self.lower),
            np.array(self.upper),
            np.zeros(count, bool),
            np.arange(count, dtype=np.intp),
            _floats(self.numerator),
            _floats(self.denominator),
        )
        equal, unequal = len(self.equalities), len(self.inequalities)
        rows = _floats(self.inequalities), _floats(self.equalities)
        return Program(WIDTH, TABLES, *rows, ratios, (-1,) * unequal, (-1,) * equal)

    @property
    def objective(self) -> Objective:
        bounds = None if self.columns is None else np.array(self.columns)
        unit = np.array([1.0, *(WIDTH - 1) * [0.0]])
        return Objective(np.array([float(c) for c in self.cost]), unit, np.array(self.masses), bounds)

    def proved(self, end: End) -> Fraction:
        """Return t + sum of what the tables lose, for sign * cost."""
        reduced = self._reduced(end)
        lost = Fraction(0)
        for (start, stop), mass in zip(TABLES, self.masses, strict=True):
            negative = [min(r, Fraction(0)) for r in reduced[start:stop]]
            losses = [min(negative) * Fraction(mass)]
            if self.columns is not None:
                bounds = map(Fraction, self.columns[start:stop])
                losses.append(sum((r * u for r, u in zip(negative, bounds, strict=True)), start=Fraction(0)))
            lost += max(losses)
        return sign(end) * (Fraction(self.multipliers[-1]) + lost)

    def _reduced(self, end: End) -> list[Fraction]:
        weights = [Fraction(m) for m in self.multipliers]
        first, contexts = len(self.inequalities), len(self.numerator)
        stated, low = weights[:first], weights[first : first + contexts]
        high, equal = weights[first + contexts : first + 2 * contexts], weights[first + 2 * contexts : -1]
        reduced = [sign(end) * c for c in self.cost]
        reduced[0] -= weights[-1]
        for j in range(WIDTH):
            reduced[j] -= sum(max(y, ZERO) * row[j] for y, row in zip(stated, self.inequalities, strict=True))
            reduced[j] -= sum(z * row[j] for z, row in zip(equal, self.equalities, strict=True))
            for c in range(contexts):
                part, whole = self.numerator[c][j], self.denominator[c][j]
                reduced[j] -= max(low[c], ZERO) * (part - Fraction(self.lower[c]) * whole)
                reduced[j] -= max(high[c], ZERO) * (Fraction(self.upper[c]) * whole - part)
        return reduced


def _floats(rows: Rows) -> sp.csr_array:
    return sp.csr_array(np.array([[float(c) for c in row] for row in rows]).reshape(len(rows), WIDTH))


def draw(
    random: Random, sizes: tuple[float, float, float, float, float], *, columns: bool, empty: bool = False
) -> Case:
    """Draw a program of thirds and tenths; sizes are those of the five kinds of multipliers."""

    def rows(count: int) -> Rows:
        most = 0 if empty else 30
        return [[Fraction(random.randint(-most, most), 30) for _ in range(WIDTH)] for _ in range(count)]

    def weights(count: int, size: float) -> list[float]:
        return [size * random.uniform(-0.3, 1.0) for _ in range(count)]

    stated, low, high, equal, shift = sizes
    most = 0 if empty else 1
    numerator = [[Fraction(random.randint(0, most)) for _ in range(WIDTH)] for _ in range(3)]
    denominator = [[max(c, Fraction(random.randint(0, most))) for c in row] for row in numerator]
    return Case(
        rows(4),
        rows(3),
        numerator,
        denominator,
        [random.uniform(0.0, 0.4) for _ in range(3)],
        [random.uniform(0.5, 1.0) for _ in range(3)],
        [Fraction(random.randint(-30, 30), 30) for _ in range(WIDTH)],
        [1.0, *(random.uniform(1.0, 3.0) for _ in range(2))],
        [*weights(4, stated), *weights(3, low), *weights(3, high), *weights(3, equal), *weights(1, shift)],
        [random.uniform(0.0, 1.0) for _ in range(WIDTH)] if columns else None,
    )


ALIKE = (1.0, 1.0, 1.0, 1.0, 1.0)
ONE_LARGE = [tuple(1e9 if i == j else 0.0 for j in range(5)) for i in range(5)]


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("sizes", [ALIKE, *ONE_LARGE])
def test_a_bound_is_on_the_safe_side_of_weak_duality_and_close_to_it(
    sizes: tuple[float, float, float, float, float], columns: bool
) -> None:
    random = Random(1)
    for _ in range(60):
        case = draw(random, sizes, columns=columns)
        checker, box = Checker(case.program), case.program.ratios.box
        for end in End:
            bound = Fraction(checker.bound(case.objective, box, np.array(case.multipliers), end))
            outside = sign(end) * (case.proved(end) - bound)
            assert 0 <= outside <= Fraction(1e-11) * Fraction(max(sizes))


@pytest.mark.slow
def test_the_rounding_of_costs_counts_in_columns_without_rows() -> None:
    random = Random(1)
    for _ in range(500):
        case = draw(random, (0.0, 0.0, 0.0, 0.0, 1.0), columns=False, empty=True)
        for end in End:
            bound = Checker(case.program).bound(
                case.objective, case.program.ratios.box, np.array(case.multipliers), end
            )
            assert sign(end) * Fraction(bound) <= sign(end) * case.proved(end)


PARTS = [
    *product(("inequalities", "equalities"), ("",)),
    *product(("numerator", "denominator"), ("low", "high")),
]


@pytest.mark.parametrize(("part", "end"), PARTS)
def test_what_cancels_in_a_reduced_cost_leaves_its_error(part: str, end: str) -> None:
    """Two rows cancel all but the rounding errors of their coefficients and products: those are left over."""
    random, none, contexts = Random(2), [0.0, 0.0], [WIDTH * [ZERO]] * 2
    for _ in range(100):
        a, b = (Fraction(random.randint(1, 996), 997) for _ in range(2))
        rows: dict[str, Rows] = {
            "inequalities": [],
            "equalities": [],
            "numerator": contexts,
            "denominator": contexts,
        }
        if not end:
            rows |= {"numerator": [], "denominator": []}
        rows[part] = [[ZERO, a, *5 * [ZERO]], [ZERO, -b, *5 * [ZERO]]]
        size, ends = random.uniform(1e5, 1e6), len(rows["numerator"]) * [random.uniform(0.1, 1.0)]
        weights = [size / float(a), size / float(b)]
        before, after = (none, []) if end == "high" else ([], none) if end else ([], [])
        multipliers = [*before, *weights, *after, 0.0]
        stated, equal, numerator, denominator = rows.values()
        # The other end of the range is another number, and takes no part.
        lower, upper = (
            len(ends) * [0.0] if end == "high" else ends,
            len(ends) * [1.0] if end == "low" else ends,
        )
        costs, masses = WIDTH * [ZERO], 3 * [1.0]
        case = Case(stated, equal, numerator, denominator, lower, upper, costs, masses, multipliers)
        bound = Checker(case.program).lower_bound(
            case.objective, case.program.ratios.box, np.array(multipliers)
        )
        assert 0 <= case.proved(End.LOWER) - Fraction(bound) <= Fraction(1e-11) * Fraction(size)


def test_what_a_cost_loses_against_the_shift_is_multiplied_by_the_mass() -> None:
    """Evidence of probability 1e-6, and a cost that the shift cancels to its sixth digit."""
    random = Random(3)
    for _ in range(100):
        cost = Fraction(random.randint(1, 996), 997)
        shift = float(cost) * (1.0 + 1e-6 * random.random())
        case = Case([], [], [], [], [], [], [cost, *6 * [ZERO]], [1e6, 1.0, 1.0], [shift])
        bound = Checker(case.program).lower_bound(case.objective, case.program.ratios.box, np.array([shift]))
        assert 0 <= case.proved(End.LOWER) - Fraction(bound) <= Fraction(1e-8)


def test_terms_that_each_vanish_beside_the_first_count_together() -> None:
    """1 + 400 / 2^54 is 1 in floating point, added up term by term; the cost is short by the rest."""
    rows, tiny = 401, Fraction(1, 2**54)
    inequalities = [[Fraction(0), Fraction(1) if i == 0 else tiny, *5 * [Fraction(0)]] for i in range(rows)]
    cost = [Fraction(0), Fraction(1), *5 * [Fraction(0)]]
    case = Case(inequalities, [], [], [], [], [], cost, [1.0, 1.0, 1.0], [*rows * [1.0], 0.0])
    assert case.proved(End.LOWER) == -400 * tiny
    bound = Checker(case.program).lower_bound(
        case.objective, case.program.ratios.box, np.array(case.multipliers)
    )
    assert Fraction(bound) <= -400 * tiny


@pytest.mark.parametrize(
    ("multipliers", "end", "value"), [((1, 0, 0.2), End.LOWER, 0.2), ((0, 1, -0.6), End.UPPER, 0.6)]
)
def test_the_ends_of_a_ratio_are_proved_by_the_row_of_that_end(
    multipliers: tuple[float, float, float], end: End, value: float
) -> None:
    """One table of two columns, the first one's share in [0.2, 0.6]; the multipliers are those by hand."""
    low, high, mass = multipliers
    first, both = sp.csr_array(np.array([[0.0, 1.0, 0.0]])), sp.csr_array(np.array([[0.0, 1.0, 1.0]]))
    one = np.zeros(1, np.intp)
    ratios = Ratios(np.array([0.2]), np.array([0.6]), np.zeros(1, bool), one, first, both)
    equal = sp.csr_array(np.array([[-1.0, 1.0, 1.0]]))
    program = Program(3, ((0, 1), (1, 3)), sp.csr_array((0, 3)), equal, ratios, (), (-1,))
    objective = Objective(np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.ones(2))
    claimed = np.array([low, high, mass, mass])
    assert Checker(program).bound(objective, ratios.box, claimed, end) == pytest.approx(value, abs=1e-12)


# --- What a checker refuses --------------------------------------------------------------------------


def thirds(tables: tuple[tuple[int, int], ...]) -> Program:
    none = sp.csr_array((0, 3))
    ratios = Ratios(np.zeros(0), np.zeros(0), np.zeros(0, bool), np.zeros(0, np.intp), none, none)
    equal = sp.csr_array(np.array([[-1.0, 1.0, 1.0]]))
    return Program(3, tables, sp.csr_array(np.array([[0.0, -1.0, 0.5]])), equal, ratios, (-1,), (-1,))


@pytest.mark.parametrize("tables", [((1, 3),), ((0, 1), (2, 3)), ((0, 2), (1, 3))])
def test_tables_that_leave_out_or_share_a_column_are_refused(tables: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ValueError, match="one table"):
        Checker(thirds(tables))


def test_tables_may_come_in_any_order() -> None:
    program = thirds(((0, 1), (1, 3)))
    turned = replace(program, tables=((1, 3), (0, 1)))
    masses = np.array([1.0, 5.0])
    objective = Objective(np.array([0.0, -1.0, 0.0]), np.array([1.0, 0.0, 0.0]), masses)
    other = replace(objective, mass_bounds=masses[::-1].copy())
    bounds = [
        Checker(p).lower_bound(o, p.ratios.box, np.zeros(3))
        for p, o in ((program, objective), (turned, other))
    ]
    assert bounds == pytest.approx([-5.0, -5.0], abs=1e-12)


@pytest.mark.parametrize(
    ("shift", "is_proof"), [(1.0, True), (1e-3, True), (1e-17, False), (0.0, False), (-1.0, False)]
)
def test_a_ray_proves_emptiness_only_by_a_multiplier_of_the_mass_that_counts(
    shift: float, is_proof: bool
) -> None:
    """-x1 - x2 >= 0 although x1 + x2 is the mass: the ray (y, z, t) = (1, 1, t) by hand."""
    program = replace(thirds(((0, 1), (1, 3))), inequalities=sp.csr_array(np.array([[0.0, -1.0, -1.0]])))
    objective = Objective(np.zeros(3), np.array([1.0, 0.0, 0.0]), np.ones(2))
    ray = np.array([1.0, 1.0, shift])
    assert Checker(program).proves_empty(objective, program.ratios.box, ray) is is_proof


def test_no_ray_that_only_meets_zero_proves_emptiness() -> None:
    program = thirds(((0, 1), (1, 3)))
    objective = Objective(np.zeros(3), np.array([1.0, 0.0, 0.0]), np.ones(2))
    assert not Checker(program).proves_empty(objective, program.ratios.box, np.array([0.0, 0.0, 1.0]))


# --- Rational multipliers ----------------------------------------------------------------------------


def exactly(cost: list[float], multipliers: dict[int, Fraction], shift: Fraction) -> Fraction | None:
    """Check multipliers of x2 / 2 >= x1 (row 0) and x1 + x2 = x0 (row 1)."""
    program = thirds(((0, 1), (1, 3)))
    program = replace(program, ratios=replace(program.ratios, exact=()))
    objective = Objective(np.zeros(3), np.array([1.0, 0.0, 0.0]), np.ones(2))
    checker = ExactChecker(program)
    return checker.bound(objective, program.ratios.box, np.array(cost), multipliers, shift)


def test_the_greatest_share_is_a_third_exactly() -> None:
    third = Fraction(1, 3)
    assert exactly([0.0, -1.0, 0.0], {0: 2 * third, 1: -third}, -third) == -third


def test_an_inequality_with_a_negative_multiplier_proves_nothing() -> None:
    # Without the guard, x1 >= x2 / 2 and x1 + x2 = 1 would prove that x1 is at least 1/3.
    third = Fraction(1, 3)
    assert exactly([0.0, 1.0, 0.0], {0: -2 * third, 1: third}, third) is None


def test_an_inequality_may_have_no_weight() -> None:
    assert exactly([0.0, 0.0, 0.0], {0: Fraction(0)}, Fraction(0)) == 0


def share() -> Program:
    """One table of two columns, the first one's share in [1/3, 2/3]; both sides of the ratio are doubled."""
    first, both = (sp.csr_array(np.array([row])) for row in ([0.0, 2.0, 0.0], [0.0, 2.0, 2.0]))
    exact = ((Fraction(1, 3), Fraction(2, 3)),)
    one = np.zeros(1, np.intp)
    ratios = Ratios(np.array([1 / 3]), np.array([2 / 3]), np.zeros(1, bool), one, first, both, exact)
    equal = sp.csr_array(np.array([[-1.0, 1.0, 1.0]]))
    return Program(3, ((0, 1), (1, 3)), sp.csr_array((0, 3)), equal, ratios, (), (-1,))


UNIT_MASS = Objective(np.zeros(3), np.array([1.0, 0.0, 0.0]), np.ones(2))
HALF = Fraction(1, 2)


@pytest.mark.parametrize("ends", [(Fraction(1, 3), Fraction(2, 3)), (Fraction(3, 8), Fraction(5, 8))])
def test_the_ends_of_a_share_are_exact_as_stated_or_as_cut(ends: tuple[Fraction, Fraction]) -> None:
    program, (low, high) = share(), ends
    box = Box(np.array([float(low)]), np.array([float(high)]))
    checker = ExactChecker(program)
    least = checker.bound(UNIT_MASS, box, np.array([0.0, 1.0, 0.0]), {0: HALF, 2: low}, low)
    most = checker.bound(UNIT_MASS, box, np.array([0.0, -1.0, 0.0]), {1: HALF, 2: -high}, -high)
    assert (least, most) == (low, -high)


@pytest.mark.parametrize("ends", [(Fraction(1, 3), Fraction(2, 3)), (Fraction(3, 8), Fraction(5, 8))])
def test_no_row_of_a_share_proves_more_than_its_end(ends: tuple[Fraction, Fraction]) -> None:
    program, (low, high) = share(), ends
    box, checker = Box(np.array([float(low)]), np.array([float(high)])), ExactChecker(program)
    more, less = low + Fraction(1, 10**20), high - Fraction(1, 10**20)
    assert checker.bound(UNIT_MASS, box, np.array([0.0, 1.0, 0.0]), {0: HALF, 2: more}, more) is None
    assert checker.bound(UNIT_MASS, box, np.array([0.0, -1.0, 0.0]), {1: HALF, 2: -less}, -less) is None


def test_one_negative_multiplier_among_others_proves_nothing() -> None:
    program = share()
    both = {0: Fraction(-1), 1: Fraction(1)}
    assert ExactChecker(program).bound(UNIT_MASS, program.ratios.box, np.zeros(3), both, ZERO) is None


def test_what_is_missing_is_made_up_by_the_shift_where_the_normalization_counts_it() -> None:
    # By hand: x1 / 2 where x1 + 4 x2 = 1 is at least 0, and a shift of 1 misses 1/2 of x1 and 4 of 4 x2.
    program = share()
    objective = Objective(np.zeros(3), np.array([0.0, 1.0, 4.0]), np.ones(2))
    found = ExactChecker(program).bound(
        objective, program.ratios.box, np.array([0.0, 0.5, 0.0]), {}, Fraction(1)
    )
    assert found == 0


def test_what_tables_lose_column_by_column_is_rounded_down() -> None:
    """Products and sums are rounded towards zero as often as not, and here in every table.

    Each of 255 tables loses 1 + 0.4946 of the last digit, which rounds to 1, and one more loses 0.49 of the
    last digit of 255: rounding their sum down once does not make up for all that.
    """
    random = Random(4)
    for _ in range(400):
        negative, bounds = [-random.random() for _ in range(2)], [random.random() for _ in range(2)]
        assert lost([2], negative, bounds) <= truly_lost(negative, bounds)
    one, other = float.fromhex("0x1.ec1d7db0f6162p+0"), float.fromhex("0x1.0a5819a03e4d4p-1")
    negative, bounds = [*255 * [-one], -1.0], [*255 * [other], 0.49 * 2.0**-45]
    assert one * other == 1.0
    assert lost(256 * [1], negative, bounds) <= truly_lost(negative, bounds)


def truly_lost(negative: list[float], bounds: list[float]) -> Fraction:
    return sum((Fraction(r) * Fraction(u) for r, u in zip(negative, bounds, strict=True)), start=ZERO)


def lost(lengths: list[int], negative: list[float], bounds: list[float]) -> Fraction:
    """Return what a checker says tables lose, where nothing is known of their masses."""
    stops = np.cumsum(lengths).tolist()
    tables = tuple(zip([0, *stops[:-1]], stops, strict=True))
    rows, columns = sp.csr_array((0, len(negative))), np.zeros(len(negative))
    ratios = Ratios(np.zeros(0), np.zeros(0), np.zeros(0, bool), np.zeros(0, dtype=np.intp), rows, rows)
    program = Program(len(negative), tables, rows, rows, ratios, (), ())
    objective = Objective(columns, columns, np.full(len(lengths), np.inf), np.array(bounds))
    return Fraction(Checker(program)._loss(np.array(negative), objective))


def test_a_coefficient_is_the_rational_that_it_was_rounded_from_or_the_decimal_that_it_prints_as() -> None:
    row = sp.csr_array(np.array([[-1 / 3, 1.0, 0.1]]))
    program = replace(share(), equalities=row, rationals={-1 / 3: Fraction(-1, 3)})
    found = ExactChecker(program).row(2, program.ratios.box)
    assert found == [(0, Fraction(-1, 3)), (1, Fraction(1)), (2, Fraction(1, 10))]


@pytest.mark.parametrize("shift", [1, -1])
def test_what_the_shift_loses_against_a_row_leaves_its_error(shift: int) -> None:
    """A row cancels all of the shift but the rounding errors of both, and the mass multiplies these."""
    random = Random(4)
    for _ in range(50):
        a = Fraction(random.randint(1, 996), 997)
        weight = shift * random.uniform(1e5, 1e6)
        multipliers = [weight, -weight * float(a)]
        costs = WIDTH * [ZERO]
        case = Case([], [[a, *6 * [ZERO]]], [], [], [], [], costs, [1e6, 1.0, 1.0], multipliers)
        bound = Checker(case.program).lower_bound(
            case.objective, case.program.ratios.box, np.array(multipliers)
        )
        assert 0 <= case.proved(End.LOWER) - Fraction(bound) <= 1


def test_a_priced_bound_is_rounded_down_where_the_shift_is_large() -> None:
    random = Random(6)
    for _ in range(200):
        shift, worth, mass = random.uniform(1e3, 1e4), random.random(), random.uniform(1.0, 3.0)
        exact = Fraction(shift) - Fraction(worth) * Fraction(mass)
        assert Fraction(priced_bound(shift, worth, error=0.0, mass=mass)) < exact


def test_what_the_tables_lose_together_is_rounded_down() -> None:
    """The first loses a little less than 2, and all together more: the last digit counts twice as much."""
    random, checker = Random(7), Checker(draw(Random(7), ALIKE, columns=False).program)
    for _ in range(200):
        masses = [random.uniform(1.0, 2.0) for _ in TABLES]
        lost = [-random.uniform(1.9995, 1.9998) / masses[0], *(-random.uniform(1e-4, 1e-3) for _ in range(6))]
        objective = Objective(np.zeros(WIDTH), np.zeros(WIDTH), np.array(masses))
        exact = sum(
            min(map(Fraction, lost[start:stop])) * Fraction(mass)
            for (start, stop), mass in zip(TABLES, masses, strict=True)
        )
        assert Fraction(checker._loss(np.array(lost), objective)) <= exact


def test_every_term_of_a_reduced_cost_counts_in_its_error() -> None:
    """A column of n coefficients is a sum of n products, of which those of ratios stand in two rows."""
    for seed in range(5):
        program = draw(Random(seed), ALIKE, columns=False).program
        parts = program.inequalities, program.equalities, program.ratios.numerator, program.ratios.denominator
        terms = sum(np.count_nonzero(part.toarray(), axis=0) for part in parts)
        assert (Checker(program)._terms >= 2 * terms + 4).all()


@pytest.mark.parametrize("size", [1.0, -1.0])
def test_a_priced_bound_is_rounded_down_where_the_shift_cancels_it(size: float) -> None:
    random = Random(7)
    for _ in range(1000):
        worth, error, mass = (
            size * random.uniform(0.5, 1.0),
            random.uniform(0.0, 0.1),
            random.uniform(1.0, 2.0),
        )
        least = -Fraction(worth) - Fraction(error)
        product = min(least, least * Fraction(mass))
        shift = float(-product)
        assert Fraction(priced_bound(shift, worth, error=error, mass=mass)) <= Fraction(shift) + product
