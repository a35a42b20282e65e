"""Single cliques, conditions and parts of a factorization, each worked out by hand on a small graph."""

from __future__ import annotations

import pytest

from credalog.methods.cliques.factorization import (
    Agreement,
    Cheapest,
    Clique,
    Demand,
    Demands,
    Factorization,
    Separator,
    factorize,
    in_one_clique,
)
from credalog.network.graph import strong_components
from credalog.network.structure import Condition, Indices, Reading, Structure


def structure_of(*parents: Indices) -> Structure:
    return Structure(parents, (2,) * len(parents), tuple(strong_components(parents)))


def clique_of(found: Factorization, *block: int) -> Clique:
    (clique,) = (c for c in found.cliques if c.block == block)
    return clique


def test_parts_without_a_common_ancestor_are_stated_to_be_independent() -> None:
    found = factorize(structure_of((), (), (0, 1)), [(2,)], query=(2,))
    child = clique_of(found, 2)
    assert child.rest == ((0,), (1,))
    assert child.conditions == (Condition((0,), (1,), ()),)


def test_the_parts_of_what_a_clique_leaves_share_no_ancestor_with_any_member_of_another() -> None:
    """2 shares an ancestor with 3, and 4 with 2: what is said of 2 is said of the part that 3 joins."""
    parents: tuple[Indices, ...] = ((), (), (0, 1), (1,), (0,), (2, 3, 4))
    found = factorize(structure_of(*parents), [(5,)], query=(5,))
    assert clique_of(found, 5).rest == ((2, 3, 4),)


def test_parts_of_a_core_that_is_not_one_block_stay_together() -> None:
    """0 and 1, and 2 and 3, are tied to each other: without positivity nothing makes them independent."""
    structure = structure_of((1,), (0,), (3,), (2,), (0, 2))
    assert clique_of(factorize(structure, [(4,)], query=(4,), reading=Reading.OUTER), 4).rest == ((0, 2),)
    assert clique_of(factorize(structure, [(4,)], query=(4,), reading=Reading.CHAIN), 4).rest == ((0,), (2,))


LOCAL = (Condition((1,), (0,), (2,)), Condition((2,), (0,), (1,)))


@pytest.mark.parametrize(
    ("reading", "expected"),
    [(Reading.OUTER, LOCAL), (Reading.CHAIN, (Condition((1, 2), (0,), ()), *LOCAL))],
)
def test_only_the_chain_makes_a_component_independent_of_what_is_before_it(
    reading: Reading, expected: tuple[Condition, ...]
) -> None:
    found = factorize(structure_of((), (2,), (1,)), [(0, 1)], query=(0,), reading=reading)
    assert clique_of(found, 1, 2).conditions == expected


def test_a_scope_of_a_pair_that_is_not_closed_needs_a_condition_that_is_not_stated() -> None:
    """0 is a parent of 2, and no parent of 1."""
    structure = structure_of((), (2,), (0, 1))
    assert not factorize(structure, [(0, 1)], query=(0,), reading=Reading.TIED).is_closed
    assert factorize(structure, [(1, 2)], query=(1,), reading=Reading.TIED).is_closed


def test_one_clique_of_all_is_exact_and_not_free() -> None:
    found = in_one_clique(structure_of((), (0,)), query=(1,), reading=Reading.LITERAL)
    assert found.is_closed and not found.is_slice
    assert not any(clique.is_free for clique in found.cliques)


def test_a_ring_of_mutual_ties_has_its_local_conditions_and_no_more() -> None:
    ring = structure_of((1, 3), (0, 2), (1, 3), (0, 2))
    found = in_one_clique(ring, query=(0,), reading=Reading.GLOBAL)
    assert found.cliques[0].conditions == (Condition((0,), (2,), (1, 3)), Condition((1,), (3,), (0, 2)))


def test_a_ring_of_arrows_has_one_condition_along_its_ties() -> None:
    """Each descends from each, so that no local condition speaks: opposite corners are apart by the ties."""
    ring = structure_of((3,), (0,), (1,), (2,))
    (condition,) = in_one_clique(ring, query=(0,), reading=Reading.GLOBAL).cliques[0].conditions
    sides = {frozenset((*condition.left, *condition.right)), frozenset(condition.given)}
    assert sides == {frozenset((0, 2)), frozenset((1, 3))}
    assert in_one_clique(ring, query=(0,), reading=Reading.CHAIN).cliques[0].conditions == ()


@pytest.mark.parametrize("reading", [Reading.TIED, Reading.GLOBAL])
@pytest.mark.parametrize("child", [False, True])
def test_no_member_of_a_component_is_eliminated_while_there_is_evidence(
    reading: Reading, child: bool
) -> None:
    """What is observed has three parents, so that it costs more than the pair: it is still taken first."""
    parents: tuple[Indices, ...] = ((1,), (0,), (), (), (), (2, 3, 4))
    structure = structure_of(*parents, *(((0,),) if child else ()))
    asked = (0, 6) if child else (0,)
    found = factorize(structure, [(0, 1)], query=asked, observed=frozenset((5,)), reading=reading)
    of_the_pair = [c for c in found.cliques if {0, 1}.intersection(c.block)]
    assert of_the_pair and not any(5 in c.scope for c in of_the_pair)
    assert any(c.fixed for c in found.cliques)


@pytest.mark.parametrize("reading", [Reading.TIED, Reading.GLOBAL])
def test_conditions_speak_of_what_their_clique_shows(reading: Reading) -> None:
    """A chain of mutual ties, and a scope of both its ends: not all parents of all members are shown."""
    structure = structure_of((1,), (0, 2), (1, 3), (2,))
    found = factorize(structure, [(0, 1), (2, 3), (0, 3)], query=(0,), reading=reading)
    stated = [(clique, condition) for clique in found.cliques for condition in clique.conditions]
    assert stated or reading is Reading.TIED
    for clique, condition in stated:
        assert {*condition.left, *condition.right, *condition.given} <= set(clique.scope)


def test_three_that_are_apart_given_one_have_a_condition_each() -> None:
    """Only of two variables one condition is the mirror image of the other."""
    star = structure_of((3,), (3,), (3,), (0, 1, 2))
    found = in_one_clique(star, query=(0,), reading=Reading.LITERAL)
    expected = [Condition((x,), tuple(y for y in range(3) if y != x), (3,)) for x in range(3)]
    assert found.cliques[0].conditions == tuple(expected)


@pytest.mark.parametrize("reading", [Reading.LITERAL, Reading.OUTER])
def test_without_cycles_each_variable_is_a_block(reading: Reading) -> None:
    found = factorize(structure_of((), (0,)), [(1,)], query=(1,), reading=reading)
    assert found.blocks == ((0,), (1,))


def test_tables_of_one_variable_that_are_too_large_to_be_merged_agree_on_what_both_show() -> None:
    """13 is the child of 12, the child of all others: it is asked for with six of them, and with six more."""
    structure = structure_of(*((),) * 12, tuple(range(12)), (12,))
    found = factorize(structure, [(*range(6), 13), (*range(6, 12), 13)], query=(13,))
    first, second = (n for n, clique in enumerate(found.cliques) if clique.block == (13,))
    assert Separator(first, second, (12, 13), Agreement.EQUAL) in found.separators


def test_what_costs_least_is_taken_once() -> None:
    cheapest = Cheapest(range(3), lambda n: (n, 0))
    cheapest.changed([0, 1])
    assert [cheapest.take() for _ in range(3)] == [0, 1, 2]
    assert not cheapest


def test_a_larger_table_under_the_same_evidence_takes_the_place_of_smaller_ones() -> None:
    demands, all_of_them = Demands(), Demand(frozenset((0, 1, 2)))
    for scope in ((0, 1), (1, 2)):
        demands.add(Demand(frozenset(scope)))
    demands.add(all_of_them)
    assert demands.of(range(3)) == [all_of_them]


def test_the_condition_of_a_variable_is_stated_once() -> None:
    """0 -> 1 -> 2 in one table: 2 is independent of 0 given 1, and nothing else."""
    found = factorize(structure_of((), (0,), (1,)), [], query=(0, 1, 2))
    assert [c for clique in found.cliques for c in clique.conditions] == [Condition((2,), (0,), (1,))]


def test_the_global_condition_of_a_chain_of_ties_says_more_than_the_local_ones() -> None:
    """Of 0 - 1 - 2 - 3: without its end, the next one is independent of the other end given one neighbour."""
    path = structure_of((1,), (0, 2), (1, 3), (2,))
    (clique, _) = in_one_clique(path, query=(0,), reading=Reading.GLOBAL).cliques
    shorter = {Condition((1,), (3,), (2,)), Condition((2,), (0,), (1,))}
    assert not shorter.isdisjoint(clique.conditions)
    local = {Condition((0,), (2, 3), (1,)), Condition((1,), (3,), (0, 2)), Condition((2,), (0,), (1, 3))}
    assert local <= {*clique.conditions}
