"""A network in numbers: what is local, what is stated, who owns it, and what bears on a query."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from credalog.network.formulas import TRUE, Is, Variable, propositions, scope
from credalog.network.graph import Markov, dependency_graph
from credalog.network.polytopes import vertices
from credalog.network.problem import Problem, problem_of, relevant_part, restrict, separate_parts
from credalog.network.sentences import Independence, Network, Sentence
from credalog.network.structure import Reading, ancestors
from oracle import rows_of
from strategies import networks

pytestmark = pytest.mark.slow

A, B, C, D, E = propositions("a b c d e")
COLOR = Variable("color", ("red", "green", "blue"))
RED, GREEN, BLUE = (Is(COLOR, value) for value in COLOR.values)
says = Sentence.of


def network_of(*sentences: Sentence, independences: tuple[Independence, ...] = ()) -> Network:
    formulas = [f for s in sentences for f in (*(claim for _, claim in s.claims), s.given)]
    return Network(scope(*formulas), sentences, independences)


def problem(*sentences: Sentence, markov: Markov = Markov.LOCAL) -> Problem:
    network = network_of(*sentences)
    return problem_of(network, dependency_graph(network), markov)


def names(found: Problem) -> set[str]:
    return {v.name for v in found.variables}


# --- Sorting sentences -------------------------------------------------------------------------------


def test_a_sentence_about_one_configuration_is_a_local_polytope() -> None:
    found = problem(says(A, 0.2, 0.3), says(B, 0.4, 0.5, given=A), says(B, 0.6, 0.7, given=~A))
    assert not list(found.all_statements)
    assert [dict(p).keys() for p in found.polytopes] == [{()}, {(0,), (1,)}]
    low, high = sorted(v[1] for v in vertices(found.polytopes[1][1,]))
    assert (low, high) == (Fraction(2, 5), Fraction(1, 2))


def test_bounds_on_the_same_configuration_meet_in_one_polytope() -> None:
    found = problem(says(A, 0.2, 0.6), says(A, 0.4, 0.9), says(~A, 0.5, 1))
    assert sorted(v[1] for v in vertices(found.polytopes[0][()])) == [Fraction(2, 5), Fraction(1, 2)]


def test_a_marginal_beside_conditionals_is_owned_by_its_variable() -> None:
    """Section 3.3 of the paper: P(b) can be met whatever a does, since theta(b | a) is free to follow."""
    found = problem(says(A, 0.2, 0.3), says(B, 0, 1, given=A), says(B, 0.3, 0.4))
    assert not found.statements
    assert [s.number for s in found.owned[1]] == [2]


def test_a_marginal_that_its_conditionals_cannot_meet_alone_bears_on_all() -> None:
    found = problem(
        says(A, 0.2, 0.3), says(B, 0.6, 0.7, given=A), says(B, 0.1, 0.2, given=~A), says(B, 0.3, 0.4)
    )
    assert [s.number for s in found.statements] == [3]


def test_a_claim_on_several_variables_is_a_statement() -> None:
    found = problem(says(A, 0, 1), says(B, 0, 1), says(A & B, 0.1, 0.2, tau=False))
    assert [(s.number, s.scope) for s in found.statements] == [(2, (0, 1))]


def test_an_empty_local_polytope_is_stated_since_it_forbids_its_configuration() -> None:
    found = problem(says(A, 0, 1), says(B, 0.8, 1, given=A), says(B, 0, 0.2, given=A))
    assert [s.number for s in found.statements] == [1, 2, 1]
    assert (1,) not in found.polytopes[1]
    forbidden = found.statements[-1].sentence
    assert (forbidden.claim, forbidden.given, forbidden.upper) == (A, TRUE, 0)


def test_a_linear_sentence_on_one_variable_is_local() -> None:
    twice = Sentence(((Fraction(1), RED), (Fraction(-2), GREEN)), TRUE, Fraction(0), Fraction(1))
    found = problem(twice)
    assert not list(found.all_statements)
    assert all(red >= 2 * green for red, green, _ in vertices(found.polytopes[0][()]))


def test_declared_independences_are_conditions() -> None:
    network = network_of(says(A | B, 0.2, 0.9), independences=(Independence((A.variable,), (B.variable,)),))
    (condition,) = problem_of(network, dependency_graph(network), Markov.LOCAL).declared
    assert (condition.left, condition.right, condition.given) == ((0,), (1,), ())


@pytest.mark.parametrize(
    ("markov", "reading"),
    [(Markov.LOCAL, Reading.LITERAL), (Markov.GLOBAL, Reading.GLOBAL), (Markov.NONE, Reading.FREE)],
)
def test_each_markov_condition_has_its_reading(markov: Markov, reading: Reading) -> None:
    assert problem(says(A, 0.1, 0.2, given=B), markov=markov).reading is reading


@settings(max_examples=60)
@given(networks())
def test_every_sentence_is_stated_once_or_local_or_says_nothing(network: Network) -> None:
    found = problem_of(network, dependency_graph(network), Markov.LOCAL)
    numbers = [s.number for s in found.all_statements if s.sentence in network.sentences]
    assert len(numbers) == len(set(numbers))
    for n in set(range(len(network.sentences))) - set(numbers):
        sentence = network.sentences[n]
        claimed = [network.variables.index(v) for v in sentence.claim_scope]
        is_local = len(claimed) == 1 and bool(found.polytopes[claimed[0]])
        assert is_local or says_nothing(sentence, network)


def says_nothing(sentence: Sentence, network: Network) -> bool:
    """Tell whether a sentence holds in every single world, and therefore in every mixture of them."""
    return bool((rows_of(Network(network.variables, (sentence,))) >= 0.0).all())


# --- Free variables --------------------------------------------------------------------------------------


def test_a_theta_is_free_unless_a_statement_lies_at_or_below_it() -> None:
    found = problem(
        says(A, 0.2, 0.3),
        says(B, 0.4, 0.5, given=A),
        says(C, 0.4, 0.5, given=A),
        says(D, 0.1, 0.9, given=C),
        says(B & E, 0, 0.3, tau=False),
    )
    assert {found.variables[x].name for x in found.free_variables()} == {"c", "d"}


def test_no_theta_of_a_core_is_free() -> None:
    found = problem(says(A, 0.2, 0.3, given=B), says(B, 0.4, 0.5, given=A), says(C, 0.4, 0.5, given=A))
    assert {found.variables[x].name for x in found.free_variables()} == {"c"}


# --- What bears on a query ---------------------------------------------------------------------------------


def test_barren_children_are_dropped() -> None:
    found = problem(says(A, 0.2, 0.3), says(B, 0.4, 0.5, given=A), says(C, 0.1, 0.2, given=B))
    part, kept = relevant_part(found, [0])
    assert (names(part), kept) == ({"a"}, (0,))


def test_a_child_with_a_statement_that_presses_upwards_is_kept() -> None:
    found = problem(
        says(A, 0.2, 0.3), says(B, 0.6, 0.7, given=A), says(B, 0.1, 0.2, given=~A), says(B, 0.3, 0.4)
    )
    assert names(relevant_part(found, [0])[0]) == {"a", "b"}


def test_what_shares_nothing_with_the_query_is_dropped() -> None:
    found = problem(says(A, 0.2, 0.3), says(B, 0.1, 0.9), says(B & C, 0.2, 0.3, tau=False))
    assert names(relevant_part(found, [0])[0]) == {"a"}
    assert names(relevant_part(found, [1])[0]) == {"b", "c"}


def test_what_evidence_connects_is_kept_together() -> None:
    found = problem(says(A, 0.2, 0.3), says(B, 0.1, 0.9), says(C, 0.4, 0.5, given=A & B))
    assert names(relevant_part(found, [0, 2])[0]) == {"a", "b", "c"}
    assert names(relevant_part(found, [0])[0]) == {"a"}


@settings(max_examples=60)
@given(networks(most_variables=5))
def test_parts_keep_all_ancestors_and_split_no_sentence(network: Network) -> None:
    found = problem_of(network, dependency_graph(network), Markov.LOCAL)
    everyone = range(len(network.variables))
    parts = separate_parts(found, everyone)
    assert sorted(x for part in parts for x in part) == list(everyone)
    for part in parts:
        assert ancestors(found.structure.parents, part) == part
        assert all(part.isdisjoint(s.scope) or part >= set(s.scope) for s in found.all_statements)


@settings(max_examples=60)
@given(networks(most_variables=5))
def test_a_restricted_problem_says_the_same_of_the_variables_it_keeps(network: Network) -> None:
    found = problem_of(network, dependency_graph(network), Markov.LOCAL)
    for part in separate_parts(found, range(len(network.variables))):
        kept = sorted(part)
        small = restrict(found, kept)
        assert small.variables == tuple(network.variables[x] for x in kept)
        assert [[kept[p] for p in parents] for parents in small.structure.parents] == [
            list(found.structure.parents[x]) for x in kept
        ]
        inside = {s.number for s in found.all_statements if part >= set(s.scope)}
        assert {s.number for s in small.all_statements} == inside
