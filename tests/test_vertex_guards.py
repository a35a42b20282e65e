"""Guards of bounds on credal networks, each in its own function, with the truth in fractions or by hand."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from credalog import parse
from credalog.methods.vertices import branching, greedy
from credalog.network.graph import dependency_graph
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End
from credalog.tables.credal import CredalNetwork, Question, ask, credal_network


def test_the_product_of_what_is_left_is_rounded_outwards() -> None:
    rng = np.random.default_rng(1)
    for one, other in (rng.random((100, 2)) / 3.0).tolist():
        leaves = tuple(greedy._Range((), np.array(v), np.array(v)) for v in (one, other))
        network = greedy._Network(0, (), leaves, (1,), 1)
        least, most = network._mass(np.array(1.0), Budget.of(), 1)
        assert Fraction(least) < Fraction(one) * Fraction(other) < Fraction(most)


def search_that(**found: float) -> Any:
    return SimpleNamespace(**found)


@pytest.mark.parametrize("end", End)
def test_an_end_is_what_was_proved_and_not_what_is_attained(end: End) -> None:
    found = branching._endpoint(search_that(error=0.0), search_that(bound=0.75, value=0.5), end)
    truth = 0.75 if end is End.UPPER else 0.25
    # Rounded outwards, by what a quotient may be off.
    assert found.bound > truth if end is End.UPPER else found.bound < truth
    assert found.bound == pytest.approx(truth, abs=1e-12)


def test_what_replacing_trees_may_be_off_by_is_part_of_a_bound() -> None:
    found = branching._endpoint(search_that(error=0.01), search_that(bound=0.5, value=0.5), End.UPPER)
    assert found.bound >= 0.5 * 1.04


def in_no_time(*_: object) -> Any:
    raise OutOfTime


@pytest.mark.parametrize(
    ("evidence", "is_rare"),
    [
        (in_no_time, True),
        (lambda *_: (np.zeros(1), np.array([1e-200])), True),
        (lambda *_: (np.zeros(1), np.array([np.nan])), True),
        (lambda *_: (np.zeros(1), np.array([1e-100])), False),
    ],
)
def test_evidence_of_which_nothing_is_known_may_be_rare(
    evidence: Any, is_rare: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branching, "evidence", evidence)
    layout: Any = SimpleNamespace(start=np.ones(2, dtype=np.bool_))
    assert branching._is_rare(layout, Budget.of(5.0)) is is_rare


def observed() -> tuple[CredalNetwork, Question]:
    """Return P(a | e): 0.06 / 0.14 at least, 0.24 / 0.3 at most."""
    model = parse("0.2 <= P(a) <= 0.4\n0.3 <= P(e | a) <= 0.6\nP(e | !a) = 0.1\n")
    network = model.ground()
    credal = credal_network(network, dependency_graph(network))
    assert credal is not None
    put = ask(credal, model.question("P(a | e)"))
    assert put is not None
    return put


def test_the_two_sides_of_an_event_bound_it_in_opposite_ways() -> None:
    put = observed()
    event = np.array(put[1].event, dtype=np.float64)
    found = greedy._Network.of(*put, Budget.of(5.0)).sides(event, Budget.of(5.0), 1)
    assert found.lower.bound <= 3 / 7 and found.upper.bound >= 0.8


def test_where_evidence_is_rare_nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    put = observed()
    lower, upper = branching.extremes(*put, tolerance=1e-6, budget=Budget.of(5.0))
    assert lower.endpoint.bound == pytest.approx(3 / 7, abs=1e-5)
    assert upper.endpoint.bound == pytest.approx(0.8, abs=1e-5)
    monkeypatch.setattr(branching, "_is_rare", lambda *_: True)
    lower, upper = branching.extremes(*put, tolerance=1e-6, budget=Budget.of(5.0))
    assert (lower.endpoint.bound, upper.endpoint.bound) == (0.0, 1.0)


@pytest.mark.parametrize("allowed", [[0, 1], [0, 1, 2], [1, 3], [0, 1, 2, 3]])
def test_two_parts_of_a_block_have_all_of_its_vertices(allowed: list[int]) -> None:
    search: Any = SimpleNamespace(plan=SimpleNamespace(firsts=np.array([0, 4]), lengths=np.array([4, 2])))
    row = np.isin(np.arange(6), [*allowed, 4, 5])
    first, second = branching._Search._split(search, row, 0)
    assert (first | second).tolist() == row.tolist()
    assert not (first & second)[:4].any() and (first & second)[4:].all()


def test_what_is_still_open_is_part_of_a_bound() -> None:
    bound = vars(branching._Search)["bound"].fget
    assert bound(search_that(value=0.5, _tree=search_that(bound=-0.75))) == 0.75
    assert bound(search_that(value=0.5, _tree=search_that(bound=-0.25))) == 0.5
    assert bound(search_that(value=-1.0, _tree=search_that(bound=1.0))) == 0.0


def test_a_node_that_cannot_be_split_keeps_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two nodes one has a single vertex in each block: nothing below 0.7 is proved by closing it."""
    rows = np.array([[1, 0, 1, 0], [1, 1, 1, 0]], dtype=np.bool_)
    search: Any = SimpleNamespace(
        plan=SimpleNamespace(firsts=np.array([0, 2])),
        value=0.2,
        _explored=0,
        _event=None,
        _budget=None,
        _split=lambda row, _: [row],
        _try=lambda _: None,
        _best_in_block=lambda values: values,
    )
    passed = SimpleNamespace(totals=np.zeros((2, 4)), losses=np.zeros((2, 2)))
    monkeypatch.setattr(branching, "bounds", lambda *_: (np.array([0.7, 0.6]), None))
    monkeypatch.setattr(branching, "contributions", lambda *_: passed)
    found = branching._Search._explore(search, [(-1.0, (row, None)) for row in rows])
    ((bound, (row, block)),) = found.children
    assert (found.closed, bound, block) == (-0.7, -0.6, 0)
    assert row.tolist() == rows[1].tolist()


def test_where_the_evidence_is_impossible_no_posterior_is_attained(monkeypatch: pytest.MonkeyPatch) -> None:
    passage = SimpleNamespace(inside=np.array([0.0, 0.25, 0.0]), outside=np.array([0.0, 0.75, 1.0]))
    monkeypatch.setattr(branching, "forward", lambda *_: passage)
    search: Any = SimpleNamespace(plan=None, _event=None, _budget=None)
    assert branching._Search._posteriors(search, np.ones((3, 2), dtype=np.bool_)).tolist() == [
        -1.0,
        0.25,
        0.0,
    ]
    nothing = branching._extreme(search_that(error=0.0), search_that(bound=1.0, value=-1.0), End.UPPER)
    assert nothing == type(nothing)(nothing.endpoint, None)


def half_way(search: Any, report: Any) -> None:
    """Stop a search that would have proved something."""
    search._tree = search_that(bound=-0.75)
    report(1)


def test_where_evidence_is_rare_nothing_is_told_as_proved_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[End, float]] = []
    telling: Any = SimpleNamespace(tell=lambda end, found, explored: told.append((end, found.bound)))
    monkeypatch.setattr(branching, "_is_rare", lambda *_: True)
    monkeypatch.setattr(branching._Search, "run", half_way)
    branching.extremes(*observed(), tolerance=1e-6, budget=Budget.of(5.0), telling=telling)
    assert {*told} == {(End.LOWER, 0.0), (End.UPPER, 1.0)}
