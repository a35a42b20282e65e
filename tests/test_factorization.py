"""Cliques: they show what must be seen, rest on each other, and lose nothing of the joint distribution."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from credalog.errors import CredalogError, ProblemTooLarge
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import query
from credalog.methods.cliques.factorization import (
    Agreement,
    Clique,
    Demand,
    Demands,
    Factorization,
    _mutually_independent,
    factorize,
    in_one_clique,
)
from credalog.network.formulas import propositions
from credalog.network.graph import dependency_graph, strong_components
from credalog.network.sentences import Network, Query, Sentence
from credalog.network.structure import Condition, Reading, Structure, ancestors
from credalog.numbers.budget import Budget, OutOfTime, spending
from credalog.numbers.interval import Status
from credalog.numbers.tolerances import TOLERANCE
from random_networks import KINDS, random_case
from strategies import networks

pytestmark = pytest.mark.slow

CYCLES = [Reading.LITERAL, Reading.OUTER, Reading.CHAIN, Reading.TIED, Reading.GLOBAL]
READINGS = [*CYCLES, Reading.FREE]
A, B, C, D, E, F = propositions("a b c d e f")
says = Sentence.of


def structure_of(parents: list[list[int]]) -> Structure:
    found = tuple(tuple(sorted(p)) for p in parents)
    return Structure(found, (2,) * len(found), tuple(strong_components(found)))


@st.composite
def structures(draw: st.DrawFn) -> Structure:
    """Draw any directed graph on a few variables, cycles included."""
    count = draw(st.integers(1, 7))
    others = [[p for p in range(count) if p != x] for x in range(count)]
    return structure_of(
        [draw(st.lists(st.sampled_from(o), max_size=2, unique=True)) if o else [] for o in others]
    )


@st.composite
def acyclic_structures(draw: st.DrawFn) -> Structure:
    """Draw a directed acyclic graph on a few variables."""
    count = draw(st.integers(1, 8))
    parents = [
        draw(st.lists(st.sampled_from(range(x)), max_size=3, unique=True)) if x else [] for x in range(count)
    ]
    return structure_of(parents)


def scopes_of(structure: Structure) -> st.SearchStrategy[list[list[int]]]:
    one = st.lists(st.sampled_from(range(len(structure.parents))), min_size=1, max_size=3, unique=True)
    return st.lists(one, max_size=4)


# --- Structure ---------------------------------------------------------------------------------------


@given(networks(most_variables=5))
def test_a_structure_has_the_ndnp_of_the_dependency_graph(network: Network) -> None:
    graph = dependency_graph(network)
    sizes = tuple(len(v.values) for v in network.variables)
    structure = Structure(tuple(graph.parent_indices), sizes, graph.components())
    everyone = range(len(sizes))
    assert [structure.ndnp(x, everyone) for x in everyone] == [graph.ndnp_indices(x) for x in everyone]


@given(structures())
def test_the_core_is_what_lies_on_a_cycle_and_above(structure: Structure) -> None:
    graph = nx.DiGraph([(p, x) for x, found in enumerate(structure.parents) for p in found])
    cyclic = {x for cycle in nx.simple_cycles(graph) for x in cycle}
    above = {y for x in cyclic for y in nx.ancestors(graph, x)}
    assert structure.core == cyclic | above


# --- What cliques show ---------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", READINGS)
@settings(max_examples=60)
@given(data=st.data(), structure=structures())
def test_every_scope_is_shown_by_some_clique(
    data: st.DataObject, structure: Structure, reading: Reading
) -> None:
    scopes = data.draw(scopes_of(structure))
    asked = data.draw(st.sets(st.sampled_from(range(len(structure.parents))), min_size=1, max_size=2))
    found = factorize(structure, scopes, query=asked, reading=reading)
    for scope in [*scopes, sorted(asked)]:
        shown = found.cliques[found.smallest_covering(scope)]
        assert set(scope) <= set(shown.scope) and not shown.fixed


@given(st.data(), acyclic_structures())
def test_the_query_is_shown_together_with_what_is_observed(data: st.DataObject, structure: Structure) -> None:
    everyone = st.sampled_from(range(len(structure.parents)))
    asked, observed = (
        data.draw(st.sets(everyone, min_size=1, max_size=2)),
        data.draw(st.sets(everyone, max_size=2)),
    )
    found = factorize(structure, [], query=asked, observed=frozenset(observed))
    clique = found.cliques[found.query_clique]
    assert asked | observed <= set(clique.scope)
    assert clique.fixed == observed


@given(st.data(), acyclic_structures())
def test_a_clique_shows_its_block_with_all_parents(data: st.DataObject, structure: Structure) -> None:
    found = factorize(structure, data.draw(scopes_of(structure)), query=[0])
    for clique in found.cliques[:-1]:
        (x,) = clique.block
        assert {x, *structure.parents[x]} <= set(clique.scope)
        assert {y for part in clique.rest for y in part} == set(clique.scope) - {x}
        precede = ancestors(structure.parents, clique.scope)
        assert all(x not in structure.parents[y] for y in precede & set(clique.scope))


# --- How cliques rest on each other -----------------------------------------------------------------------


@pytest.mark.parametrize("reading", READINGS)
@settings(max_examples=60)
@given(data=st.data(), structure=structures())
def test_every_part_that_a_clique_leaves_is_read_off_a_later_one(
    data: st.DataObject, structure: Structure, reading: Reading
) -> None:
    found = factorize(structure, data.draw(scopes_of(structure)), query=[0], reading=reading)
    assert found.cliques[-1].scope == ()
    for number, clique in enumerate(found.cliques[:-1]):
        leans = {s.scope: s for s in found.separators if s.first == number and s.agreement is Agreement.EQUAL}
        for part in clique.rest:
            assert leans[part].second > number
            assert set(part) <= set(found.cliques[leans[part].second].scope)


@given(st.data(), acyclic_structures())
def test_parts_of_a_rest_share_no_ancestor(data: st.DataObject, structure: Structure) -> None:
    found = factorize(structure, data.draw(scopes_of(structure)), query=[0])
    for clique in found.cliques:
        lines = [ancestors(structure.parents, part) for part in clique.rest]
        assert sum(map(len, lines)) == len(frozenset().union(*lines))


@given(st.data(), structures())
def test_separators_lie_in_both_of_their_cliques(data: st.DataObject, structure: Structure) -> None:
    found = factorize(structure, data.draw(scopes_of(structure)), query=[0])
    for s in found.separators:
        assert set(s.scope) <= set(found.cliques[s.first].scope) & set(found.cliques[s.second].scope)


@given(st.data(), acyclic_structures())
def test_a_condition_follows_from_the_graph(data: st.DataObject, structure: Structure) -> None:
    """Judge each stated independence by d-separation, as networkx knows it."""
    found = factorize(structure, data.draw(scopes_of(structure)), query=[0])
    graph = nx.DiGraph([(p, x) for x, mine in enumerate(structure.parents) for p in mine])
    graph.add_nodes_from(range(len(structure.parents)))
    for clique in found.cliques:
        for c in clique.conditions:
            assert nx.is_d_separator(graph, set(c.left), set(c.right), set(c.given))


@given(st.data(), acyclic_structures())
def test_a_clique_states_that_its_variable_leans_on_its_parents_alone(
    data: st.DataObject, structure: Structure
) -> None:
    found = factorize(structure, data.draw(scopes_of(structure)), query=[0])
    for clique in found.cliques[:-1]:
        (x,), parents = clique.block, structure.parents[clique.block[0]]
        others = tuple(sorted(set(clique.scope) - {x, *parents}))
        assert not others or Condition((x,), others, parents) in clique.conditions


@given(st.data(), acyclic_structures())
def test_without_cycles_all_readings_of_cycles_are_one(data: st.DataObject, structure: Structure) -> None:
    scopes = data.draw(scopes_of(structure))
    observed = data.draw(st.frozensets(st.sampled_from(range(len(structure.parents))), max_size=1))
    found = [factorize(structure, scopes, query=[0], observed=observed, reading=r) for r in CYCLES]
    assert len({(one.cliques, one.separators, one.is_closed) for one in found}) == 1
    assert found[0].is_closed


def ties(*pairs: tuple[int, int]) -> Structure:
    """Tie the two of each pair to each other."""
    size = 1 + max(x for pair in pairs for x in pair)
    return structure_of([[y for pair in pairs for y in pair if x in pair and y != x] for x in range(size)])


ONE_WAY = structure_of([[2, 3], [0], [1, 3], [0]])
"""0 leads to 1, 1 to 2, 2 to 0 and 3 to 2; 0 and 3 are tied. Along its edges only 0 and 2 part 1 from 3."""


@pytest.mark.parametrize(
    ("structure", "query", "closed"),
    [
        (ONE_WAY, [1, 3], set()),
        (ties((0, 1), (1, 2), (2, 3)), [0, 1], {Reading.TIED, Reading.GLOBAL}),
        (ties((0, 1), (1, 2), (2, 3)), [0, 2], {Reading.GLOBAL}),
        (ties((0, 1), (1, 2), (2, 3), (0, 3)), [0, 1], {Reading.TIED, Reading.GLOBAL}),
        (ties((0, 1), (1, 2), (2, 3), (0, 3)), [0, 2], set()),
    ],
)
def test_a_reading_along_ties_is_exact_where_what_is_asked_is_closed_or_no_tie_is_added(
    structure: Structure, query: list[int], closed: set[Reading]
) -> None:
    for reading in (Reading.TIED, Reading.GLOBAL):
        scopes = [(x, y) for x, near in enumerate(structure.parents) for y in near]
        found = factorize(structure, scopes, query=query, reading=reading)
        assert found.is_closed == (reading in closed)


def test_across_a_chain_of_ties_a_condition_is_stated() -> None:
    """0 is independent of 2 given 1: the table that shows all three must say so."""
    chain = ties((0, 1), (1, 2))
    for reading in (Reading.TIED, Reading.GLOBAL):
        found = factorize(chain, [(0, 1), (1, 2)], query=[0, 2], reading=reading)
        assert {Condition((0,), (2,), (1,)), Condition((2,), (0,), (1,))}.intersection(
            c for clique in found.cliques for c in clique.conditions
        )


def test_where_ties_are_one_way_the_local_condition_is_stated_beside_that_along_the_ties() -> None:
    """The parents of 1 are 0 alone, and 3 does not descend from it but through 0."""
    found = factorize(ONE_WAY, [(0, 1, 2, 3)], query=[1], reading=Reading.GLOBAL)
    stated = {c for clique in found.cliques for c in clique.conditions}
    assert stated >= {Condition((1,), (3,), (0, 2)), Condition((1,), (3,), (0,))}


def test_in_a_ring_of_ties_both_pairs_that_face_each_other_are_independent_given_the_rest() -> None:
    ring = ties((0, 1), (1, 2), (2, 3), (0, 3))
    found = factorize(ring, [(0, 1, 2, 3)], query=[0], reading=Reading.GLOBAL)
    stated = {
        (frozenset((*c.left, *c.right)), c.given) for clique in found.cliques for c in clique.conditions
    }
    assert stated >= {(frozenset((0, 2)), (1, 3)), (frozenset((1, 3)), (0, 2))}


@pytest.mark.parametrize("reading", [Reading.TIED, Reading.GLOBAL])
def test_tied_variables_are_eliminated_when_no_evidence_is_left(reading: Reading) -> None:
    """0 and 2 have a child, 1; 2 and 3 are tied. What is observed of 0 and 1 has been read off by then."""
    structure = structure_of([[], [0, 2], [3], [2]])
    observed = frozenset((0, 1))
    found = factorize(structure, [(2, 3), (0, 1, 2)], query=[3], observed=observed, reading=reading)
    tied = [clique for clique in found.cliques if not structure.core.isdisjoint(clique.block)]
    assert tied and all(observed.isdisjoint(clique.scope) for clique in tied)
    assert found.cliques[found.query_clique].fixed == observed


@given(acyclic_structures())
def test_what_nothing_asks_for_gets_no_clique(structure: Structure) -> None:
    found = factorize(structure, [], query=[0])
    asked = ancestors(structure.parents, [0])
    assert {x for clique in found.cliques for x in clique.scope} == asked


def test_a_chain_needs_tables_of_two() -> None:
    chain = structure_of([[], *([x] for x in range(99))])
    found = factorize(chain, [], query=[99])
    assert max(len(clique.scope) for clique in found.cliques) == 2
    assert not any(clique.conditions for clique in found.cliques)


def test_evidence_keeps_tables_as_small_as_without_it() -> None:
    """Thirty observed children of one cause would be a table of thirty variables."""
    fan = structure_of([[], *([0] for _ in range(30))])
    found = factorize(fan, [], query=[0], observed=frozenset(range(1, 31)))
    free = [len(set(clique.scope) - clique.fixed) for clique in found.cliques]
    assert max(free) <= 1


def test_a_table_too_large_is_refused_with_advice() -> None:
    wide = structure_of([[]] * 40)
    with pytest.raises(ProblemTooLarge, match="40 variables"):
        factorize(wide, [list(range(40))], query=[0])


@pytest.mark.parametrize("reading", [Reading.TIED, Reading.GLOBAL])
def test_a_table_of_tied_variables_too_large_is_refused(reading: Reading) -> None:
    chain = ties(*((x, x + 1) for x in range(39)))
    with pytest.raises(ProblemTooLarge, match="40 variables"):
        factorize(chain, [range(40)], query=[0], reading=reading)


def test_one_table_of_everything_too_large_is_refused() -> None:
    with pytest.raises(ProblemTooLarge, match="40 variables"):
        in_one_clique(structure_of([[]] * 40), query=[0], reading=Reading.LITERAL)


def test_no_table_is_asked_for_when_the_time_is_up() -> None:
    with spending(Budget.of(0.0)), pytest.raises(OutOfTime):
        Demands().add(Demand(frozenset((0,))))


TWO_PAIRS = structure_of([[1], [0], [3], [2], [0, 2]])
"""0 and 1 are tied, so are 2 and 3, and 4 is a child of 0 and 2."""


def test_the_literal_reading_of_two_tied_pairs_calls_them_independent_nowhere() -> None:
    """All four may copy one coin: given its parent each is certain, so that every local condition holds."""
    found = factorize(TWO_PAIRS, [(0, 1), (2, 3)], query=[4], reading=Reading.LITERAL)
    assert found.blocks == ((0, 1, 2, 3), (4,))
    for clique in found.cliques:
        assert len(clique.rest) < 2
        assert all(one.given for one in clique.conditions)


def test_of_three_independent_parts_any_two_are_independent() -> None:
    parts = [frozenset((4, 5)), frozenset((2,)), frozenset((7,))]
    assert list(_mutually_independent(parts)) == [
        Condition((2,), (4, 5, 7), ()),
        Condition((7,), (4, 5), ()),
    ]


def test_conditions_hold_by_construction_where_one_says_what_the_whole_block_leans_on() -> None:
    own, other = Condition((0,), (2,), (1,)), Condition((2,), (0,), (1,))
    part = Condition((0,), (1,), ())
    for conditions, holds in (((), True), ((own,), True), ((own, other), False), ((part,), False)):
        clique = Clique((0, 1, 2), frozenset(), (0,), ((1, 2),), conditions)
        assert clique.conditions_hold_by_construction == holds
    assert Clique((0, 1, 2), frozenset(), (0,), ((1, 2),), (other, own)).own_condition == own
    assert Clique((0, 1, 2), frozenset(), (0,), ((1, 2),), (part,)).own_condition is None


@pytest.mark.parametrize(("asked", "observed"), [(5, 1), (0, 5), (4, 2), (5, 3), (1, 4)])
def test_evidence_tables_are_laid_against_a_table_without_evidence(
    six: Structure, asked: int, observed: int
) -> None:
    """On as many variables as any of these shows: what is observed is part of what there is."""
    scopes = [(0, 1), (1, 2), (3, 4)]
    found = factorize(six, scopes, query=[asked], observed=frozenset((observed,)))
    prior = [i for i, clique in enumerate(found.cliques) if not clique.fixed and clique.scope]
    for i, clique in enumerate(found.cliques):
        if clique.fixed:
            most = max(len(set(clique.scope) & set(found.cliques[j].scope)) for j in prior)
            laid = [s for s in found.separators if s.first == i and s.second in prior]
            laid = [s for s in laid if s.agreement is not Agreement.DENOMINATOR]
            assert most == 0 or any(len(s.scope) == most for s in laid)


def test_the_joint_program_has_one_table(six: Structure) -> None:
    found = in_one_clique(six, query=[5], reading=Reading.LITERAL)
    assert [clique.scope for clique in found.cliques] == [(0, 1, 2, 3, 4, 5), ()]


@pytest.fixture
def six() -> Structure:
    """A diamond with a tail: 0 -> 1, 2 -> 3 -> 4 -> 5."""
    return structure_of([[], [0], [0], [1, 2], [3], [4]])


# --- Nothing is lost -----------------------------------------------------------------------------------


def outcome(network: Network, asked: Query, method: str) -> Answer | type[CredalogError]:
    try:
        return query(network, asked, Options(method=method, timeout=6.0))
    except CredalogError as error:
        return type(error)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", range(700, 704))
def test_factorized_and_joint_agree(kind: str, seed: int) -> None:
    case = random_case(kind, seed)
    one, other = (outcome(case.network, case.query, method) for method in ("factorized", "joint"))
    if isinstance(one, type) or isinstance(other, type):
        # What one proves to be impossible, the other may leave open, but never refute.
        assert one == other or Status.EXACT not in {getattr(o, "status", None) for o in (one, other)}
        return
    overlap = 1e-9 + 2 * TOLERANCE
    if one.status is other.status is Status.EXACT:
        assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper), abs=overlap)
    for bounds, attains in ((one, other), (other, one)):
        assert attains.lower_witnessed is None or attains.lower_witnessed >= bounds.lower - 1e-7
        assert attains.upper_witnessed is None or attains.upper_witnessed <= bounds.upper + 1e-7


@pytest.mark.parametrize("seed", range(720, 726))
def test_barren_children_change_nothing(seed: int) -> None:
    """Hang children, whatever they are, on variables of a network: nothing else moves."""
    case = random_case("credal", seed)
    first, last = case.network.variables[0], case.network.variables[-1]
    added = (
        says(E, 0.2, 0.3, given=first.is_(first.values[0])),
        says(F, 0.6, 0.9, given=E & last.is_(last.values[-1])),
    )
    variables = (*case.network.variables, E.variable, F.variable)
    larger = replace(case.network, variables=variables, sentences=(*case.network.sentences, *added))
    before, after = query(case.network, case.query), query(larger, case.query)
    assert before.status is after.status is Status.EXACT
    assert (before.lower, before.upper) == pytest.approx((after.lower, after.upper), abs=2 * TOLERANCE)


def test_a_factorization_is_the_same_every_time(six: Structure) -> None:
    scopes = [[1, 2], [0, 5]]
    first: Factorization = factorize(six, scopes, query=[4])
    assert first == factorize(six, scopes, query=[4])


@settings(max_examples=30)
@given(structures())
def test_the_literal_core_is_one_block(structure: Structure) -> None:
    assume(structure.core)
    found = factorize(structure, [], query=range(len(structure.parents)))
    assert found.blocks[0] == tuple(sorted(structure.core))
    assert all(len(block) == 1 for block in found.blocks[1:])
