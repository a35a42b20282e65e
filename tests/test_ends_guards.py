"""What becomes of the findings of one query: what bounds not all models, what is none, what is a claim."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf

import pytest

import credalog
from conftest import PROJECT
from credalog.errors import InconsistentNetwork
from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.ends import Ends, Models
from credalog.methods.cliques.engine import Cliques
from credalog.methods.cliques.reports import Ending, Finding, Witness
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Status, Warrant
from rare_networks import rare_core

CHECKED, CLAIMED = Warrant.CHECKED, Warrant.CLAIMED
STATED = "0.2 <= P(a) <= 0.8\nP(b | a) <= 0.9\nP(b | !a) <= 0.9\nP(b) >= 0.26\n"


def ends_of(lcn: credalog.LCN, query: str) -> Ends:
    """Set up one query on cliques."""
    asked, cliques = lcn.question(query), Engine(lcn.ground()).cliques
    return Ends(cliques, asked, Options(timeout=5.0), Budget.of(5.0), cliques.fragment(asked), Models())


@pytest.fixture
def stated() -> Ends:
    return ends_of(credalog.parse(STATED), "P(a | b)")


@pytest.fixture
def copied() -> Ends:
    """P(c | b), where c and d may copy b or its opposite: 0 to 1, but one half in the chain graph."""
    return ends_of(credalog.load(PROJECT / "tests" / "conformance" / "positivity.lcn"), "P(c | b)")


def finding(bound: float, *, why: Ending = Ending.STOPPED, warrant: Warrant = CHECKED) -> Finding:
    return Finding(bound, None, why, warrant, 0, None)


@pytest.mark.slow
def test_a_search_among_some_models_is_neither_told_nor_taken_up_again(copied: Ends) -> None:
    copied._searched(Reading.CHAIN, Budget.of(0.3), End.LOWER, None)
    assert copied.lower_search is None
    assert copied.glances.joined(finding(0.0), End.LOWER).bound == 0.0
    copied._searched(Reading.OUTER, Budget.of(0.3), End.LOWER, None)
    assert copied.lower_search is not None


def test_only_a_search_for_the_lower_end_is_taken_up_again_for_it(stated: Ends) -> None:
    reading = stated.fragment.problem.reading
    stated._searched(reading, Budget.of(1.0), End.UPPER, None)
    assert stated.lower_search is None
    stated._searched(reading, Budget.of(1.0), End.LOWER, None)
    assert stated.lower_search is not None and stated.lower_search.end is End.LOWER


@pytest.mark.parametrize("end", End)
def test_an_interrupted_search_among_some_models_bounds_nothing(
    copied: Ends, end: End, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("credalog.methods.cliques.ends.CORE_LIMIT", 0)
    asked = list[Reading]()

    def stopped(reading: Reading, *_: object, **__: object) -> Finding:
        asked.append(reading)
        return finding(0.5, why=Ending.INTERRUPTED)

    monkeypatch.setattr(copied, "_searched", stopped)
    found = copied._sandwiched(Budget.of(1.0), end, None)
    assert asked == [Reading.CHAIN]
    assert found.bound == end.trivial and found.ending is Ending.INTERRUPTED


def attained(ends: Ends, end: End) -> Finding:
    """Return what a search finds of an end, with a model."""
    found = ends._searched(ends.fragment.problem.reading, Budget.of(5.0), end, None)
    assert found.witness is not None
    return found


@pytest.mark.parametrize("end", End)
def test_a_model_stays_where_it_extends_and_passes_the_check(stated: Ends, end: End) -> None:
    assert stated._rechecked(attained(stated, end), end).witness is not None


@pytest.mark.parametrize("end", End)
def test_a_model_that_may_not_extend_to_the_rest_is_none(
    stated: Ends, end: End, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = attained(stated, end)
    monkeypatch.setattr(Cliques, "extends", lambda *_: None)
    assert stated._rechecked(found, end).witness is None
    monkeypatch.setattr(Cliques, "extends", lambda *_: False)
    with pytest.raises(InconsistentNetwork):
        stated._rechecked(found, end)


@pytest.mark.parametrize("end", End)
def test_what_fails_the_check_or_lies_beyond_a_bound_is_no_model(
    stated: Ends, end: End, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = attained(stated, end)
    assert found.witness is not None
    beyond = Finding(found.witness.value + 0.1 * end.sign, found.witness, Ending.STOPPED, CHECKED, 0, None)
    assert stated._rechecked(beyond, end).witness is None
    stated.accepted.clear()
    monkeypatch.setattr(Cliques, "admits", lambda *_: False)
    assert stated._rechecked(found, end).witness is None


def test_a_witness_counts_only_as_a_model_of_what_is_known_to_extend(
    stated: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = attained(stated, End.LOWER).witness
    assert found is not None
    for known, counts in ((True, True), (None, False), (False, False)):
        monkeypatch.setattr(Cliques, "known_to_extend", lambda *_, known=known: known)
        assert stated._counts(found) == counts
    monkeypatch.setattr(Cliques, "known_to_extend", lambda *_: True)
    stated.accepted.clear()
    assert not stated._counts(Witness(found.distribution, found.value))


def test_that_there_is_no_model_is_said_only_where_it_is_proved(stated: Ends) -> None:
    claimed = stated._settled(finding(inf, why=Ending.EMPTY, warrant=CLAIMED), End.LOWER)
    assert (claimed.ending, claimed.bound) == (Ending.STOPPED, 0.0)
    with pytest.raises(credalog.CredalogError):
        stated._settled(finding(inf, why=Ending.EMPTY), End.LOWER)


def crossing(warrant: Warrant) -> Callable[[Budget, End], Finding]:
    return lambda _, end: finding(0.7 if end is End.LOWER else 0.3, warrant=warrant)


def test_bounds_that_cross_are_a_contradiction_only_where_both_are_proved(stated: Ends) -> None:
    assert stated.answer("a solver", crossing(CLAIMED)).interval.is_empty
    with pytest.raises(credalog.CredalogError):
        stated.answer("a solver", crossing(CHECKED))


def test_one_table_and_several_are_different_programs(copied: Ends) -> None:
    several, one = (copied._encoded(Reading.OUTER, jointly=jointly)[0] for jointly in (False, True))
    assert several is not one
    assert copied._encoded(Reading.OUTER, jointly=False)[0] is several


def test_the_mass_is_bounded_by_the_least_probability_of_the_evidence(stated: Ends) -> None:
    """P(b) may be 0.26, and no less: under b the mass of all worlds may be 1 / 0.26."""
    _, objective = stated._encoded(stated.fragment.problem.reading, jointly=False)
    most = 1 / Fraction("0.26")
    assert most <= Fraction(float(objective.mass_bounds[0])) <= most + Fraction(1, 1000)


# --- Parts of larger networks ----------------------------------------------------------------------------


def beside(verdict: bool | None) -> Engine:
    """Return an engine of a part; of what was cut off it is known whether that has a model, or not."""
    return Engine(credalog.parse(STATED).ground(), beside=lambda *_: verdict)


def test_models_of_a_part_count_only_where_the_rest_has_one() -> None:
    asked = credalog.parse(STATED).question("P(a)")
    extended = beside(True).query(asked)
    assert extended.status is Status.EXACT and extended.interval.lower.witnessed is not None
    alone = beside(None).query(asked)
    assert alone.interval.lower.witnessed is alone.interval.upper.witnessed is None
    assert alone.status is Status.BOUNDED
    with pytest.raises(InconsistentNetwork):
        beside(False).query(asked)


@pytest.mark.parametrize(
    ("here", "there", "both"),
    [
        (True, True, True),
        (True, None, None),
        (None, True, None),
        (None, None, None),
        (False, True, False),
        (False, None, False),
        (True, False, False),
        (None, False, False),
    ],
)
def test_a_whole_has_a_model_where_all_its_parts_have(
    here: bool | None, there: bool | None, both: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cliques, "extends", lambda *_: here)
    assert beside(there).extends((), Options()) is both


@pytest.mark.slow
def test_the_mass_is_bounded_by_a_search_where_the_relaxation_says_nothing_of_the_evidence() -> None:
    lcn = credalog.parse(rare_core("0.1"))
    ends, literal = ends_of(lcn, "P(a | b & c)"), Reading.LITERAL
    _, objective = ends._encoded(literal, jointly=True)
    assert objective.mass_bounds[0] == inf
    objective = ends._with_evidence_searched(literal, Budget.of(20.0), jointly=True)
    answer = lcn.query("P(b & c)")
    assert answer.lower_witnessed is not None
    # No model's mass is above the bound; a factor of two is all that is asked for.
    assert 1 / answer.lower_witnessed <= objective.mass_bounds[0] <= 2.1 / answer.lower
    # It is found once.
    assert ends._with_evidence_searched(literal, Budget.of(0.0), jointly=True) is objective


def test_evidence_that_some_model_excludes_bounds_no_mass() -> None:
    ends = ends_of(credalog.parse("P(a) <= 0.5\nP(a or b) >= 0.2\nP(b) <= 0.9"), "P(a | b)")
    reading = ends.fragment.problem.reading
    ends._encoded(reading, jointly=False)
    objective = ends._with_evidence_searched(reading, Budget.of(20.0), jointly=False)
    assert objective.mass_bounds[0] == inf


def test_a_small_core_is_looked_at_in_one_table_too() -> None:
    # Kept out of the tables, the evidence may be impossible. By hand: c is independent of b given d.
    lcn = credalog.parse(
        "0.6 <= P(b | d) <= 0.7\n0.01 <= P(d & !b)\nP(!c | d) >= 0.9\n0.2 <= P(a) <= 1\nindependent c, a"
    )
    answer = lcn.query("P(!b | d & c)", timeout=3)
    assert answer.status is Status.EXACT
    assert answer.lower == pytest.approx(0.3, abs=1e-6)
    assert answer.upper == pytest.approx(0.4, abs=1e-6)


def test_models_of_simple_forms_are_looked_for_once_at_an_end_unless_time_was_short(
    stated: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[End] = []

    def none(*_: object, end: End, **__: object) -> tuple[Witness, ...]:
        looked.append(end)
        return ()

    monkeypatch.setattr("credalog.methods.cliques.ends.find_models", none)
    for seconds in (0.0, 5.0, 5.0):
        for end in (End.LOWER, End.UPPER):
            stated._simply_attained(finding(0.5), Budget.of(seconds), end)
    assert looked == [End.LOWER, End.UPPER] * 2
