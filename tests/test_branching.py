"""Branch and bound over vertices against brute force, and the relaxation it stands on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from credal_drawing import Drawn, brute_force, draw_loopy, draw_polytree, draw_tables, extremes, query_of
from credalog.errors import ImpossibleEvidence
from credalog.methods.answer import Options
from credalog.methods.vertices import branching, sets
from credalog.methods.vertices.elimination import Plan, plan
from credalog.methods.vertices.hanging_trees import Trimmed, trim
from credalog.methods.vertices.mini_buckets import bounds, contributions, evidence, forward
from credalog.network.formulas import conjunction, disjunction
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Query
from credalog.network.structure import relevance
from credalog.numbers.budget import Budget
from credalog.numbers.interval import Interval, Status
from credalog.tables.credal import CredalNetwork, Question, Table, credal_network, distribution

pytestmark = pytest.mark.slow

MAX_JOINTS = 3000


def read(drawn: Drawn) -> CredalNetwork:
    credal = credal_network(drawn.network, dependency_graph(drawn.network))
    assert credal is not None
    return credal


def draw_question(drawn: Drawn, rng: np.random.Generator, observed: int) -> Question:
    target, *others = (int(x) for x in rng.permutation(len(drawn.sizes)))
    evidence = {x: int(rng.integers(drawn.sizes[x])) for x in others[:observed]}
    states = int(rng.integers(1, drawn.sizes[target]))
    return Question(target, tuple(k < states for k in range(drawn.sizes[target])), evidence)


def truth(drawn: Drawn, asked: Question) -> tuple[float, float]:
    event = {k for k, inside in enumerate(asked.event) if inside}
    return brute_force(drawn, asked.target, event, dict(asked.observed))


def asked_query(credal: CredalNetwork, asked: Question) -> Query:
    variables = credal.network.variables
    event = disjunction(
        variables[asked.target].is_(f"s{k}") for k, inside in enumerate(asked.event) if inside
    )
    return Query(event, conjunction(variables[x].is_(f"s{k}") for x, k in asked.observed.items()))


def search(credal: CredalNetwork, asked: Question, *, tolerance: float, seconds: float = 60.0) -> Interval:
    """Search over vertices, whatever the network, and check both witnesses."""
    found = branching.extremes(credal, asked, tolerance=tolerance, budget=Budget.of(seconds))
    query = asked_query(credal, asked)
    return Interval(*(sets.witnessed(credal, asked, query, extreme) for extreme in found))


def layout_of(credal: CredalNetwork, asked: Question) -> Plan:
    relevant = relevance(credal.parents, [asked.target], asked.observed)
    return plan({x: credal.table(x, asked.observed) for x in relevant.families}, asked, credal.sizes)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    observed=st.integers(0, 2),
    zeros=st.sampled_from([0.0, 0.3]),
    draw=st.sampled_from([draw_loopy, draw_polytree]),
)
def test_bounds_enclose_and_witnesses_attain_the_extremes_over_all_vertices(
    seed: int, observed: int, zeros: float, draw: Callable[..., Drawn]
) -> None:
    rng = np.random.default_rng(seed)
    drawn = draw(rng, count=int(rng.integers(3, 5)), zeros=zeros)
    assume(drawn.joints <= MAX_JOINTS)
    asked = draw_question(drawn, rng, observed)
    least, greatest = truth(drawn, asked)
    assume(not np.isnan(least))
    interval = search(read(drawn), asked, tolerance=1e-6)
    assert interval.lower.bound <= least + 1e-12
    assert interval.upper.bound >= greatest - 1e-12
    assert interval.lower.bound == pytest.approx(least, abs=2e-6)
    assert interval.upper.bound == pytest.approx(greatest, abs=2e-6)
    assert interval.lower.witnessed == pytest.approx(least, abs=1e-6)
    assert interval.upper.witnessed == pytest.approx(greatest, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), observed=st.integers(0, 2))
def test_bounds_hold_even_if_the_time_is_up_at_once(seed: int, observed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = draw_loopy(rng, count=4)
    assume(drawn.joints <= MAX_JOINTS)
    asked = draw_question(drawn, rng, observed)
    least, greatest = truth(drawn, asked)
    interval = search(read(drawn), asked, tolerance=1e-9, seconds=0.0)
    assert interval.lower.bound <= least + 1e-12
    assert interval.upper.bound >= greatest - 1e-12


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), observed=st.integers(0, 2))
def test_with_one_vertex_in_each_block_the_relaxation_is_the_posterior(seed: int, observed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = draw_loopy(rng, count=5)
    asked, credal = draw_question(drawn, rng, observed), read(drawn)
    layout = layout_of(credal, asked)
    row = np.zeros(len(layout.start), dtype=np.bool_)
    for first, length in zip(layout.firsts, layout.lengths, strict=True):
        row[rng.choice(first + np.flatnonzero(layout.start[first : first + length]))] = True
    passage = forward(
        layout, row[None], np.array(asked.event, dtype=np.float64), np.array([0.3]), Budget.of()
    )
    model, query = distribution(credal, asked, layout.choices(row)), asked_query(credal, asked)
    expected = model.probability(query.claim, query.given)
    assert passage.inside[0] / (passage.inside[0] + passage.outside[0]) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), observed=st.integers(0, 2))
def test_no_block_gains_when_its_contexts_must_agree(seed: int, observed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = draw_loopy(rng, count=6)
    asked = draw_question(drawn, rng, observed)
    layout = layout_of(read(drawn), asked)
    event = np.array(asked.event, dtype=np.float64)
    values, passage = bounds(layout, layout.start[None], event, np.zeros(1), Budget.of(60.0))
    found = contributions(layout, layout.start[None], passage)
    least, most = evidence(layout, layout.start[None], Budget.of())
    assert 0 <= values[0] <= 1 and 0 <= least[0] <= most[0]
    assert (found.losses >= -1e-12 * most[0]).all()


def test_fewer_vertices_never_raise_the_bound() -> None:
    rng = np.random.default_rng(11)
    drawn = draw_loopy(rng, count=6)
    asked = Question(0, tuple(k == 0 for k in range(drawn.sizes[0])), {5: 0})
    layout = layout_of(read(drawn), asked)
    event = np.array(asked.event, dtype=np.float64)
    all_, _ = bounds(layout, layout.start[None], event, np.zeros(1), Budget.of(60.0))
    for first, length in zip(layout.firsts, layout.lengths, strict=True):
        if layout.start[first : first + length].sum() > 1:
            row = layout.start.copy()
            row[first] = False
            some, _ = bounds(layout, row[None], event, np.zeros(1), Budget.of(60.0))
            assert some[0] <= all_[0] + 1e-12


TAILS = [[], [0], [0], [1, 2], [3], [4], [0], [6]]
"""A loop 0, 1, 2, 3 with a tail 4, 5 below the loop and a tail 6, 7 below the query's variable."""


def untrimmed(
    tables: dict[int, Table], asked: Question, sizes: tuple[int, ...], *, budget: Budget
) -> Trimmed:
    return Trimmed(tables, asked, sizes, {})


@pytest.mark.parametrize("seed", range(6))
def test_replacing_trees_by_their_messages_changes_no_answer(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = draw_tables(np.random.default_rng(seed), TAILS, 0.0)
    credal = read(drawn)
    asked = Question(0, tuple(k == 0 for k in range(drawn.sizes[0])), {5: 0, 7: 0})
    tables = {x: credal.table(x, asked.observed) for x in range(len(TAILS))}
    trimmed = trim(tables, asked, credal.sizes, budget=Budget.of(60.0))
    assert {4, 5, 6, 7}.isdisjoint(trimmed.tables)
    assert len(trimmed.replaced) == 2
    with_messages = search(credal, asked, tolerance=1e-5)
    monkeypatch.setattr(branching, "trim", untrimmed)
    without = search(credal, asked, tolerance=1e-5)
    for one, other in ((with_messages, without), (without, with_messages)):
        assert one.status(1e-5) is Status.EXACT
        assert one.lower.bound <= (other.lower.witnessed or 0.0) + 1e-12
        assert one.upper.bound >= (other.upper.witnessed or 1.0) - 1e-12


def test_a_loopy_network_is_answered_through_the_same_door() -> None:
    rng = np.random.default_rng(5)
    drawn = draw_loopy(rng, count=4)
    query = query_of(drawn, 0, {0}, {3: 0})
    answer = sets.query(drawn.network, query, Options())
    least, greatest = brute_force(drawn, 0, {0}, {3: 0})
    assert answer.status is Status.EXACT
    assert (answer.lower, answer.upper) == pytest.approx((least, greatest), abs=1e-4)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_formulas_of_several_variables_agree_with_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = draw_loopy(rng, count=4)
    assume(drawn.joints <= MAX_JOINTS // 4)
    a, b, c, d = (x.is_("s0") for x in drawn.network.variables)
    answer = sets.query(drawn.network, Query(a ^ d, (b | c) & ~(a & c)), Options(tolerance=1e-6))
    least, greatest = extremes(
        drawn,
        claim=lambda world: (world[0] == 0) != (world[3] == 0),
        given=lambda world: (world[1] == 0 or world[2] == 0) and not world[0] == world[2] == 0,
    )
    assert answer.lower <= least + 1e-12 and greatest - 1e-12 <= answer.upper
    assert (answer.lower, answer.upper) == pytest.approx((least, greatest), abs=2e-6)


def test_impossible_evidence_is_named_in_a_loopy_network_too() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        drawn = draw_loopy(rng, count=4, zeros=0.6)
        asked = draw_question(drawn, rng, 2)
        if drawn.joints <= MAX_JOINTS and np.isnan(truth(drawn, asked)[0]):
            query = query_of(drawn, asked.target, {0}, dict(asked.observed))
            with pytest.raises(ImpossibleEvidence):
                sets.query(drawn.network, query, Options())
            return
    pytest.fail("no network with impossible evidence was drawn")


def test_an_event_that_is_impossible_with_the_evidence_has_a_witness_too() -> None:
    rng = np.random.default_rng(157)
    drawn = draw_loopy(rng, count=int(rng.integers(3, 5)), zeros=0.3)
    asked = draw_question(drawn, rng, 1)
    assert truth(drawn, asked) == (0.0, 0.0)
    interval = search(read(drawn), asked, tolerance=1e-6)
    assert (interval.lower.witnessed, interval.upper.witnessed) == (0.0, 0.0)


def test_a_choice_of_vertices_that_is_no_model_is_not_reported() -> None:
    drawn = draw_loopy(np.random.default_rng(5), count=4)
    credal, asked = read(drawn), Question(0, tuple(k == 0 for k in range(drawn.sizes[0])), {3: 0})
    _, upper = branching.extremes(credal, asked, tolerance=1e-6, budget=Budget.of(20.0))
    assert sets.witnessed(credal, asked, asked_query(credal, asked), upper).witnessed is not None
    narrowed = tuple(
        replace(s, lower=(s.lower + s.upper) / 2, upper=(s.lower + s.upper) / 2)
        for s in drawn.network.sentences
    )
    other = replace(credal, network=replace(drawn.network, sentences=narrowed))
    assert sets.witnessed(other, asked, asked_query(credal, asked), upper).witnessed is None
