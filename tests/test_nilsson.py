"""Nilsson's logic by column generation, against the linear program over all worlds."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credalog import parse
from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork
from credalog.methods import columns
from credalog.methods.answer import Options
from credalog.methods.columns import consistent, query
from credalog.methods.columns.events import Events, system_of
from credalog.methods.columns.generation import Generation
from credalog.methods.columns.pricing import Elimination, IntegerProgram
from credalog.network.formulas import (
    TRUE,
    Formula,
    Iff,
    Implies,
    Is,
    Variable,
    Xor,
    canonical,
    conjunction,
    disjunction,
    proposition,
    propositions,
    scope,
)
from credalog.network.sentences import Independence, Network, Query, Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import Status, Warrant
from credalog.numbers.tolerances import FEASIBILITY
from credalog.trusted.check import violation
from oracle import Verdict, nilsson
from random_networks import KINDS, random_case

pytestmark = pytest.mark.slow

A, B, C, D = propositions("a b c d")


def network_of(*sentences: Sentence) -> Network:
    return Network(tuple(dict.fromkeys(v for s in sentences for v in s.scope)), sentences)


def implication_chain(length: int) -> tuple[Network, tuple[Is, ...]]:
    """Return x_0 with probability 1/2, and each x_i implying the next with probability at least 0.999."""
    atoms = tuple(proposition(f"x{i}") for i in range(length))
    links = [Sentence.of(b, "0.999", 1, given=a) for a, b in pairwise(atoms)]
    return network_of(Sentence.of(atoms[0], "0.5", "0.5"), *links), atoms


# ---- the paper's answers --------------------------------------------------------------------------------


def test_parity_of_two_atoms_is_unknown_without_independence() -> None:
    network = network_of(Sentence.of(A, "0.3", "0.7"), Sentence.of(B, "0.3", "0.7"))
    answer = query(network, Query(A ^ B))
    assert (answer.lower, answer.upper) == (0.0, 1.0)
    assert (answer.lower_witnessed, answer.upper_witnessed) == pytest.approx((0.0, 1.0))


def test_a_conjunction_obeys_the_frechet_bounds() -> None:
    network = network_of(Sentence.of(A, "0.8", "0.8"), Sentence.of(B, "0.7", "0.7"))
    answer = query(network, Query(A & B))
    assert (answer.lower, answer.upper) == pytest.approx((0.5, 0.7), abs=1e-9)
    assert answer.status is Status.EXACT
    assert answer.interval.lower.warrant is answer.interval.upper.warrant is Warrant.CHECKED


def test_modus_ponens_gives_nilssons_interval() -> None:
    network = network_of(Sentence.of(A, "0.7", "0.7"), Sentence.of(Implies(A, B), "0.9", "0.9"))
    answer = query(network, Query(B))
    assert (answer.lower, answer.upper) == pytest.approx((0.6, 0.9), abs=1e-9)


def test_two_sources_about_one_atom_intersect() -> None:
    network = network_of(
        Sentence.of(A, "0.2", "0.3"),
        Sentence.of(B, "0.6", "0.7", given=A),
        Sentence.of(B, "0.1", "0.2", given=~A),
        Sentence.of(B, "0.3", "0.4"),
    )
    answer = query(network, Query(B))
    assert (answer.lower, answer.upper) == pytest.approx((0.3, 0.35), abs=1e-9)


# ---- against brute force --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_column_generation_equals_the_program_over_all_worlds(kind: str, seed: int) -> None:
    case = random_case(kind, seed, largest=5)
    network = replace(case.network, independences=())
    truth = nilsson(network, case.query)
    if truth.verdict is Verdict.INCONSISTENT:
        assert consistent(network) is False
        with pytest.raises(InconsistentNetwork):
            query(network, case.query)
        return
    assert consistent(network) is True
    if truth.verdict is Verdict.IMPOSSIBLE:
        with pytest.raises(ImpossibleEvidence):
            query(network, case.query)
        return
    answer = query(network, case.query)
    assert answer.status is Status.EXACT
    assert answer.lower <= truth.lower.proved + 1e-7
    assert answer.upper >= truth.upper.proved - 1e-7
    assert (answer.lower, answer.upper) == pytest.approx((truth.lower.proved, truth.upper.proved), abs=1e-6)


VARIABLES = (Variable("p"), Variable("q"), Variable("v", ("red", "green", "blue")), Variable("r"))


def atoms() -> st.SearchStrategy[Formula]:
    return st.sampled_from([Is(variable, value) for variable in VARIABLES for value in variable.values])


def formulas() -> st.SearchStrategy[Formula]:
    def compound(part: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        pair = st.tuples(part, part)
        return st.one_of(
            pair.map(conjunction),
            pair.map(disjunction),
            pair.map(Xor),
            pair.map(lambda two: Implies(*two)),
            pair.map(lambda two: Iff(*two)),
            part.map(lambda one: ~one),
        )

    return st.recursive(atoms(), compound, max_leaves=6)


def whole_worths(count: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(-20, 20), min_size=count, max_size=count)


@st.composite
def priced_events(draw: st.DrawFn) -> tuple[Events, list[int]]:
    valued = tuple(draw(st.lists(formulas(), min_size=1, max_size=5)))
    certain = tuple(draw(st.lists(formulas(), max_size=2)))
    return Events(VARIABLES, valued, certain), draw(whole_worths(len(valued)))


def greatest_by_enumeration(events: Events, worth: list[int]) -> float:
    every = np.array(list(product(*(range(size) for size in events.sizes))))
    admitted = events.admit(every)
    return float((np.array(worth, dtype=float) @ events.truth(admitted)).max(initial=-np.inf))


@given(priced_events())
def test_elimination_finds_the_best_world(case: tuple[Events, list[int]]) -> None:
    events, worth = case
    elimination = Elimination.of(events)
    assert elimination is not None
    truth = greatest_by_enumeration(events, worth)
    priced = elimination.best(np.array(worth, dtype=float), enough=0.0, budget=Budget.of(10.0))
    assert priced.bound >= truth
    if truth > -np.inf:
        assert priced.bound == pytest.approx(truth, abs=1e-9)
        assert np.array(worth) @ events.truth(events.admit(priced.worlds))[:, 0] == truth
        assert elimination.greatest(worth, Budget.of(10.0)) == truth
    else:
        assert not len(priced.worlds)


@given(priced_events())
def test_the_integer_program_finds_the_best_world(case: tuple[Events, list[int]]) -> None:
    events, worth = case
    truth = greatest_by_enumeration(events, worth)
    # Nothing is worth more than 1000, so that climbing never suffices and the solver is always asked.
    priced = IntegerProgram(events).best(np.array(worth, dtype=float), enough=1000.0, budget=Budget.of(10.0))
    assert priced.bound >= truth - 1e-6
    if truth == -np.inf:
        assert not len(events.admit(priced.worlds))


def test_climbing_finds_worlds_that_are_admitted_and_worth_what_is_said() -> None:
    events = Events(VARIABLES, (VARIABLES[0].is_("true") | VARIABLES[2].is_("red"),), (~Is(VARIABLES[0]),))
    priced = IntegerProgram(events).best(np.array([1.0]), enough=0.5, budget=Budget.of(10.0))
    assert len(priced.worlds)
    assert events.truth(events.admit(priced.worlds)).all()


@pytest.mark.parametrize("seed", range(4))
def test_both_ways_of_pricing_give_the_same_verdict(seed: int) -> None:
    case = random_case("tight", seed, largest=5)
    system = system_of(replace(case.network, independences=()))
    by_elimination, by_integers = (Generation(system, Budget.of(20.0)) for _ in range(2))
    by_integers.pricer = IntegerProgram(system.events)
    assert isinstance(by_elimination.pricer, Elimination)
    assert by_elimination.feasible() == by_integers.feasible()


# ---- the edges ------------------------------------------------------------------------------------------


def test_contradiction_and_impossible_evidence_are_told_apart() -> None:
    contradiction = network_of(
        Sentence.of(A, "0.6", 1), Sentence.of(A & B, "0.7", 1), Sentence.of(B, 0, "0.5")
    )
    assert consistent(contradiction) is False
    with pytest.raises(InconsistentNetwork):
        query(contradiction, Query(A))
    impossible = network_of(Sentence.of(A, 0, 0), Sentence.of(B, "0.1", "0.4"))
    assert consistent(impossible) is True
    with pytest.raises(ImpossibleEvidence):
        query(impossible, Query(B, A))


def test_certainties_that_contradict_each_other_leave_no_world() -> None:
    clauses = [disjunction(signs) for signs in product((A, ~A), (B, ~B), (C, ~C))]
    assert consistent(network_of(*(Sentence.of(clause, 1, 1) for clause in clauses))) is False
    assert consistent(network_of(*(Sentence.of(clause, 1, 1) for clause in clauses[1:]))) is True


def test_evidence_of_tiny_probability_is_no_obstacle() -> None:
    network = network_of(Sentence.of(A, "1e-9", "1e-9"), Sentence.of(B, "0.3", "0.3", given=A))
    answer = query(network, Query(B, A))
    assert (answer.lower, answer.upper) == pytest.approx((0.3, 0.3), abs=1e-9)
    assert answer.status is Status.EXACT


def test_a_posterior_given_evidence_that_may_be_impossible_is_proved_in_whole_numbers() -> None:
    network = network_of(Sentence.of(A, 0, "0.2", given=C), Sentence.of(A & B, "0.6", 1))
    answer = query(network, Query(A, C))
    assert (answer.lower, answer.upper) == pytest.approx((0.0, 0.2), abs=1e-9)
    assert answer.interval.upper.warrant is Warrant.CHECKED


def test_comparisons_of_probabilities_are_rows_like_others() -> None:
    twice = Sentence(((Fraction(1), A), (Fraction(-2), B)), TRUE, Fraction(0), Fraction(1))
    network = network_of(twice, Sentence.of(A, 0, "0.6"))
    answer = query(network, Query(B))
    assert (answer.lower, answer.upper) == pytest.approx((0.0, 0.3), abs=1e-9)


def test_declared_independences_are_refused() -> None:
    sentences = (Sentence.of(A, "0.5", "0.5"), Sentence.of(B, "0.5", "0.5"))
    network = replace(network_of(*sentences), independences=(Independence((A.variable,), (B.variable,)),))
    with pytest.raises(CredalogError, match="independence"):
        query(network, Query(A & B))


def test_a_comparison_across_conditions_is_refused_as_one() -> None:
    """It declares nothing, so a message about declared independences alone would lead astray."""
    compared = parse("P(a | c) >= P(a | !c)\n")
    with pytest.raises(CredalogError, match="under several conditions"):
        compared.query("P(a)", method="nilsson", markov="none")


def test_a_long_chain_is_proved_by_dynamic_programming() -> None:
    network, atoms = implication_chain(40)
    answer = query(network, Query(atoms[-1]), Options(timeout=60.0))
    # Each link loses at most 0.001 of the probability of its premise.
    assert answer.lower == pytest.approx(0.5 * 0.999**39, abs=1e-6)
    assert answer.upper == 1.0
    assert answer.interval.lower.warrant is Warrant.CHECKED


def test_many_entangled_clauses_are_satisfied_on_the_solvers_word() -> None:
    rng = np.random.default_rng(7)
    atoms = [proposition(f"x{i}") for i in range(60)]
    hidden = rng.random((10, 60)) < 0.5
    sentences = []
    for _ in range(120):
        chosen, signs = rng.choice(60, 3, replace=False), rng.random(3) < 0.5
        clause = disjunction([atoms[i] if s else ~atoms[i] for i, s in zip(chosen, signs, strict=True)])
        share = int(10 * (hidden[:, chosen] == signs).any(axis=1).mean())
        sentences.append(
            Sentence.of(clause, Fraction(max(share - 1, 0), 10), Fraction(min(share + 1, 10), 10))
        )
    network = Network(scope(*atoms), tuple(sentences))
    assert Elimination.of(system_of(network).events) is None
    assert consistent(network, Options(timeout=60.0)) is True


def test_nothing_is_claimed_when_there_is_no_time() -> None:
    network, atoms = implication_chain(30)
    answer = query(network, Query(atoms[-1]), Options(timeout=0.0))
    assert (answer.lower, answer.upper) == (0.0, 1.0)
    assert answer.status is Status.BOUNDED
    assert consistent(network, Options(timeout=0.0)) is None


# ---- witnesses ------------------------------------------------------------------------------------------


def test_answers_carry_models_that_pass_the_check() -> None:
    network = network_of(
        Sentence.of(A, "0.3", "0.6"), Sentence.of(B, "0.5", "0.7", given=A), Sentence.of(C, "0.2", 1)
    )
    asked = Query(B, A | C)
    answer = query(network, asked)
    assert answer.status is Status.EXACT
    for end in (answer.interval.lower, answer.interval.upper):
        assert violation(end.model, network, None) <= FEASIBILITY
        assert end.model.probability(asked.claim, asked.given) == pytest.approx(end.witnessed, abs=1e-12)


def test_models_of_many_variables_are_checked_but_not_written_out() -> None:
    network, atoms = implication_chain(40)
    answer = query(network, Query(atoms[-1]), Options(timeout=60.0))
    assert answer.status is Status.EXACT
    assert answer.interval.lower.witnessed is not None and answer.interval.lower.model is None


def test_a_rare_condition_is_checked_on_its_own_scale() -> None:
    system = system_of(network_of(Sentence.of(B, "0.3", "0.4", given=A)), A, A & B)
    probability = np.zeros(len(system.events.formulas))
    probability[system.place[TRUE]] = 1.0
    probability[system.place[canonical(A)]], probability[system.place[canonical(A & B)]] = 1e-10, 5e-11
    # The sentence is missed by 1e-11 in absolute terms, but P(B | A) is 0.5.
    assert system.violation(probability) == pytest.approx(1e-4)


def test_evidence_is_called_impossible_only_where_that_is_proved() -> None:
    network = network_of(
        Sentence.of(A, "0.3", "0.3"),
        Sentence.of(B, "1e-15", "1e-15", given=A),
        Sentence.of(B, "2e-15", "2e-15", given=~A),
    )
    answer = query(network, Query(A, B))
    assert answer.lower <= 3 / 17 <= answer.upper


def test_a_contradiction_on_the_solvers_word_alone_is_not_said() -> None:
    contradiction = network_of(Sentence.of(A & B, "0.7", 1), Sentence.of(B, 0, "0.5"))
    generation = Generation(system_of(contradiction), Budget.of(20.0))
    generation.pricer = IntegerProgram(generation.system.events)
    assert generation.feasible() is False and columns._verdict(generation) is None
