"""Numbers with a warranty: what an interval may call itself."""

from fractions import Fraction
from math import inf

import pytest

from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork, LanguageError, Place
from credalog.numbers.interval import VACUOUS, Endpoint, Interval, Status, Warrant
from credalog.trusted.rounding import above, below, round_down, round_up


def interval(
    lower_gap: float | None, upper_gap: float | None, warrant: Warrant = Warrant.CLAIMED
) -> Interval:
    low = Endpoint(0.25, None if lower_gap is None else 0.25 + lower_gap, warrant)
    high = Endpoint(0.75, None if upper_gap is None else 0.75 - upper_gap, warrant)
    return Interval(low, high)


def test_exact_means_that_both_ends_are_attained_within_the_tolerance():
    assert interval(1e-5, 0.0).status() is Status.EXACT
    assert interval(1e-5, 0.0).status(tolerance=1e-6) is Status.BOUNDED


@pytest.mark.parametrize("gaps", [(None, 0.0), (0.0, None), (0.1, 0.0), (0.0, 0.1)])
def test_one_open_end_is_enough_to_be_only_bounded(gaps: tuple[float | None, float | None]):
    assert interval(*gaps).status() is Status.BOUNDED


def test_a_heuristic_answer_is_never_called_exact():
    assert interval(0.0, 0.0, Warrant.HEURISTIC).status() is Status.APPROXIMATE


def test_an_end_without_a_witness_has_an_infinite_gap():
    assert Endpoint(0.3, None, Warrant.CHECKED).gap == inf
    assert Endpoint(0.3, 0.5, Warrant.CHECKED).gap == pytest.approx(0.2)


def test_nothing_is_known_before_any_work():
    assert (VACUOUS.lower.bound, VACUOUS.upper.bound) == (0.0, 1.0)
    assert VACUOUS.status() is Status.BOUNDED


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0, -3.5])
def test_rounding_goes_strictly_outwards_by_one_float(value: float):
    assert round_down(value) < value < round_up(value)
    assert round_up(round_down(value)) == value


def test_an_error_says_what_where_and_what_to_do():
    place = Place(3, 5, "\tP(a) <= 2", "rules.lcn")
    error = LanguageError("a probability over 1", place=place, advice="Write 0.2, or 20%.")
    assert str(error).splitlines() == [
        "a probability over 1",
        "  at rules.lcn, line 3, column 5",
        "    \tP(a) <= 2",
        "    \t   ^",
        "  Write 0.2, or 20%.",
    ]


def test_the_outcomes_have_the_exit_codes_that_were_promised():
    codes = (
        CredalogError("x").exit_code,
        InconsistentNetwork("x").exit_code,
        ImpossibleEvidence("x").exit_code,
    )
    assert codes == (2, 3, 4)


THIRDS = [Fraction(n, 3 * 10**e) for n in (1, 2, 4) for e in (0, 3, 200)]


@pytest.mark.parametrize("value", THIRDS)
def test_the_float_beside_a_rational_is_the_nearest_on_its_side(value: Fraction):
    assert Fraction(below(value)) < value < Fraction(above(value))
    assert round_up(below(value)) == above(value)


@pytest.mark.parametrize("value", [Fraction(0), Fraction(1), Fraction(3, 8), Fraction(0.1)])
def test_a_rational_that_is_a_float_is_its_own_bound_on_both_sides(value: Fraction):
    assert below(value) == above(value) == float(value)
