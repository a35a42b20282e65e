"""What two findings say together of one end, when an answer is exact, and how close is close enough."""

from __future__ import annotations

from math import inf

import pytest

from credalog.methods.cliques.reports import Ending, Finding, Glance, Glances, Witness, farther_witness
from credalog.methods.progress import Telling
from credalog.numbers.interval import End, Endpoint, Interval, Status, Warrant
from credalog.numbers.tolerances import FEASIBILITY, Scale, allowed_gap
from credalog.tables.distribution import Distribution

CHECKED, CLAIMED, HEURISTIC = Warrant.CHECKED, Warrant.CLAIMED, Warrant.HEURISTIC


def test_a_bound_that_rests_on_several_stands_on_the_weakest_word() -> None:
    assert Warrant.weakest([CHECKED, HEURISTIC, CLAIMED]) is HEURISTIC
    assert Warrant.weakest([CLAIMED, CHECKED]) is CLAIMED
    assert Warrant.weakest([]) is CHECKED


@pytest.mark.parametrize(("end", "loose", "tight"), [(End.LOWER, 0.1, 0.2), (End.UPPER, 0.9, 0.8)])
def test_the_tighter_bound_keeps_its_own_word_and_the_farther_value_its_own_model(
    end: End, loose: float, tight: float
) -> None:
    outer = 0.3 if end is End.LOWER else 0.7
    one = Endpoint(loose, outer, CHECKED, "outer")
    other = Endpoint(tight, 0.5, CLAIMED, "inner")
    for joined in (one.joined(other, end), other.joined(one, end)):
        assert (joined.bound, joined.warrant) == (tight, CLAIMED)
        assert (joined.witnessed, joined.model) == (outer, "outer")


@pytest.mark.parametrize("end", End)
def test_of_two_equal_bounds_the_better_word_counts(end: End) -> None:
    sure, said = Endpoint(0.5, None, CHECKED), Endpoint(0.5, None, CLAIMED)
    assert sure.joined(said, end).warrant is said.joined(sure, end).warrant is CHECKED


def test_a_value_beyond_a_proved_bound_is_drawn_back_to_it() -> None:
    found = Interval(Endpoint(0.2, 0.2 - 1e-12, CHECKED), Endpoint(0.7, 0.7 + 1e-12, CHECKED))
    assert (found.lower.witnessed, found.upper.witnessed) == (0.2, 0.7)


def test_a_value_beyond_the_other_end_is_drawn_back_to_it() -> None:
    """Where bounds are nearly one number, the model of one end may pass the other by the last digits."""
    found = Interval(Endpoint(0.2, 0.2 + 1e-12, CHECKED), Endpoint(0.2, 0.2 - 1e-12, CHECKED))
    assert (found.lower.witnessed, found.upper.witnessed) == (0.2, 0.2)
    crossed = Interval(Endpoint(0.6, 0.6, CHECKED), Endpoint(0.5, 0.5, CHECKED))
    assert (crossed.lower.witnessed, crossed.upper.witnessed) == (0.6, 0.5)


def test_only_what_every_probability_satisfies_needs_nobodys_word() -> None:
    said = Interval(Endpoint(0.0, None, CLAIMED), Endpoint(0.9, None, CLAIMED))
    assert (said.lower.warrant, said.upper.warrant) == (CHECKED, CLAIMED)
    guessed = Interval(Endpoint(0.0, None, HEURISTIC), Endpoint(1.0, None, CHECKED))
    assert guessed.lower.warrant is HEURISTIC
    assert guessed.status() is Status.APPROXIMATE


def test_bounds_that_meet_have_not_crossed() -> None:
    point = Endpoint(0.5, None, CHECKED)
    assert not Interval(point, point).is_empty
    assert Interval(Endpoint(0.6, None, CHECKED), point).is_empty


def test_one_attained_end_does_not_make_an_answer_exact() -> None:
    closed, open_ = Endpoint(0.2, 0.2, CHECKED), Endpoint(0.7, 0.5, CHECKED)
    assert Interval(closed, open_).status() is Status.BOUNDED
    assert Interval(closed, Endpoint(0.2, None, CHECKED)).status() is Status.BOUNDED
    assert not Endpoint(0.3, 0.7, CHECKED).is_closed(1e-4), "a gap has no sign"
    assert Endpoint(inf, inf, CHECKED).gap == 0.0


TOLERANCE = 1e-4


@pytest.mark.parametrize(
    ("value", "gap"),
    [(0.5, 1e-4), (0.1, 1e-4), (0.01, 1e-5), (0.99, 1e-5), (1e-3, 1e-6), (0.0, FEASIBILITY), (1.0, 1e-9)],
)
def test_the_gap_that_may_be_left_is_relative_where_an_event_is_rare(value: float, gap: float) -> None:
    """Ten tolerances times p, or times 1 - p; never more than one tolerance, nor finer than a check."""
    assert allowed_gap(TOLERANCE, value) == pytest.approx(gap, rel=1e-9)
    assert Scale().allowed_gap(TOLERANCE, value) == allowed_gap(TOLERANCE, value)


def test_a_tolerance_finer_than_a_check_is_not_widened() -> None:
    assert allowed_gap(1e-12, 0.5) == 1e-12


def test_the_gap_of_a_sum_is_in_its_unit_and_that_of_a_quotient_relative_beyond_one() -> None:
    assert Scale(-3.0, 5.0, 2.0).allowed_gap(TOLERANCE, 4.0) == 2.0 * TOLERANCE
    quotient = Scale(0.0, inf, 1.0)
    assert quotient.allowed_gap(TOLERANCE, 50.0) == 50.0 * TOLERANCE
    assert quotient.allowed_gap(TOLERANCE, 0.1) == TOLERANCE
    wide = Interval(Endpoint(100.0, 100.001, CHECKED), Endpoint(200.0, 200.0, CHECKED), scale=quotient)
    assert wide.status(TOLERANCE) is Status.EXACT
    narrow = Interval(Endpoint(0.5, 0.5005, CHECKED), Endpoint(0.9, 0.9, CHECKED), scale=Scale(0, 9, 9.0))
    assert narrow.status(TOLERANCE) is Status.EXACT
    assert narrow.joined(narrow).scale == narrow.scale


# --- Findings of searches on cliques ---------------------------------------------------------------------

NOTHING = Distribution(())


def finding(
    bound: float, value: float | None, warrant: Warrant = CHECKED, why: Ending = Ending.STOPPED
) -> Finding:
    return Finding(bound, None if value is None else Witness(NOTHING, value), why, warrant, 1, None)


def test_findings_are_joined_like_endpoints() -> None:
    joined = finding(0.2, 0.5).joined(finding(0.3, 0.4, CLAIMED), End.LOWER)
    assert (joined.bound, joined.warrant, joined.nodes) == (0.3, CLAIMED, 2)
    assert joined.witness is not None and joined.witness.value == 0.4
    kept = finding(0.3, 0.4, CLAIMED).joined(finding(0.2, 0.5), End.LOWER)
    assert (kept.bound, kept.warrant) == (0.3, CLAIMED)
    assert kept.witness is not None and kept.witness.value == 0.4


@pytest.mark.parametrize(("end", "farther"), [(End.LOWER, 0.2), (End.UPPER, 0.6)])
def test_the_witness_farther_out_counts(end: End, farther: float) -> None:
    one, other = Witness(NOTHING, 0.2), Witness(NOTHING, 0.6)
    for found in (farther_witness(one, other, end), farther_witness(other, one, end)):
        assert found is not None and found.value == farther
    assert farther_witness(None, one, end) is farther_witness(one, None, end) is one


def test_only_a_search_that_stopped_is_closed_by_its_numbers() -> None:
    """What is empty has no value, and what was interrupted says so."""
    assert finding(0.4, 0.4).closed_within(1e-4).ending is Ending.CLOSED
    assert finding(0.4, 0.4, why=Ending.INTERRUPTED).closed_within(1e-4).ending is Ending.INTERRUPTED
    assert finding(0.4, 0.5).closed_within(1e-4).ending is Ending.STOPPED


def test_what_does_not_bound_every_model_bounds_nothing() -> None:
    assert finding(0.4, 0.5, CLAIMED).without_bound(End.LOWER).bound == 0.0
    assert finding(0.4, 0.5, CLAIMED).without_bound(End.UPPER).bound == 1.0


@pytest.mark.parametrize("counts", [False, True])
def test_a_narrower_reading_and_a_witness_that_does_not_count_are_not_told(counts: bool) -> None:
    told = Glances(Telling(None), lambda _: counts)
    report = told.of(End.LOWER, "a narrower reading", is_outer=False)
    report(Glance(0.45, CHECKED, Witness(NOTHING, 0.5), 1))
    found = told.joined(finding(0.1, None), End.LOWER)
    assert found.bound == 0.1
    assert (found.witness is not None) == counts


def test_a_bound_that_is_told_is_not_lost_and_an_empty_search_stays_empty() -> None:
    told = Glances(Telling(None), lambda _: True)
    report = told.of(End.LOWER, "search")
    report(Glance(0.45, CHECKED, Witness(NOTHING, 0.5), 1))
    report(Glance(inf, CHECKED, None, 2))
    assert told.joined(finding(0.1, None), End.LOWER).bound == 0.45
    empty = finding(inf, None, why=Ending.EMPTY)
    assert told.joined(empty, End.LOWER) is empty
