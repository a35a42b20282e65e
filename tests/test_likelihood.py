"""Observations gathered into one give the same answers as observations one by one."""

from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
import pytest

from credalog import parse
from credalog.methods.answer import Options
from credalog.methods.automatic import query
from credalog.methods.cliques.likelihood import fold
from credalog.network.formulas import Is, Not, Variable, conjunction, propositions
from credalog.network.sentences import Independence, Network, Query, Sentence
from credalog.numbers.interval import Status

X, A, WORKS, F, G = propositions("x a works f g")
THIRD = Fraction(1, 3)


def network_of(*sentences: Sentence) -> Network:
    return Network(tuple(dict.fromkeys(v for s in sentences for v in s.scope)), sentences)


def fraud(chances: list[tuple[Fraction, Fraction]]) -> tuple[Network, Query]:
    """Return the paper's fraud network with one rule, and features of given P(f | x) and P(f | not x)."""
    features = [Is(Variable(f"f{i}")) for i in range(len(chances))]
    rule = [
        Sentence.of(X, "0.01", "0.01"),
        Sentence.of(WORKS, "0.6", "0.7"),
        Sentence.of(X, 1, 1, given=A & WORKS),
    ]
    stated = [
        sentence
        for f, (yes, no) in zip(features, chances, strict=True)
        for sentence in (Sentence.of(f, yes, yes, given=X), Sentence.of(Not(f), 1 - no, 1 - no, given=~X))
    ]
    return network_of(*rule, *stated), Query(X, conjunction((*features, A)))


def random_chances(count: int) -> list[tuple[Fraction, Fraction]]:
    drawn = np.random.default_rng(count).integers(1, 999, (count, 2))
    return [(Fraction(int(yes), 1000), Fraction(int(no), 1000)) for yes, no in drawn]


@pytest.mark.parametrize("count", [2, 6, 12])
def test_many_features_leave_the_answer_of_the_closed_form(count: int) -> None:
    chances = random_chances(count)
    network, asked = fraud(chances)
    ratio = float(prod(yes / no for yes, no in chances))
    lower = 0.6 * ratio / (0.6 * ratio + 0.4)
    answer = query(network, asked, Options(timeout=60.0))
    assert (answer.lower, answer.upper) == pytest.approx((lower, 1.0), abs=1e-6)
    assert answer.status is Status.EXACT
    assert answer.query == asked
    assert answer.lower_witness is not None
    assert answer.lower_witness.probability(asked.claim, asked.given) == pytest.approx(lower, abs=1e-4)


def test_the_gathered_likelihood_is_the_product_divided_by_its_greatest_value() -> None:
    network, asked = fraud([(Fraction(1, 2), Fraction(1, 4)), (Fraction(1, 5), Fraction(3, 5))])
    folded = fold(network, asked)
    assert folded is not None
    (sign,) = folded.gathered
    stated = {s.given: s.lower for s in folded.network.sentences if s.claim == Is(sign)}
    assert stated == {Is(X.variable): Fraction(2, 3), Is(X.variable, "false"): Fraction(1)}
    assert {v.name for v in folded.network.variables} == {"x", "a", "works", sign.name}


def pair(first: list[Sentence], second: list[Sentence]) -> Network:
    return network_of(Sentence.of(X, "0.2", "0.4"), *first, *second)


def certain(atom: Is) -> list[Sentence]:
    return [Sentence.of(atom, THIRD, THIRD, given=X), Sentence.of(atom, "0.5", "0.5", given=~X)]


def test_only_what_is_stated_of_each_configuration_is_gathered() -> None:
    asked = Query(X, F & G)
    assert fold(pair(certain(F), certain(G)), asked) is not None
    average = [Sentence.of(G, "0.5", "0.5", given=X | ~X)]
    assert fold(pair(certain(F), average), asked) is None
    contradictory = [*certain(G), Sentence.of(G, "0.9", "0.9", given=X)]
    assert fold(pair(certain(F), contradictory), asked) is None


def test_the_products_of_ranges_fill_a_range() -> None:
    ranges = [Sentence.of(G, "0.1", "0.2", given=X), Sentence.of(G, "0.25", "0.5", given=~X)]
    folded = fold(pair(certain(F), ranges), Query(X, F & G))
    assert folded is not None
    (sign,) = folded.gathered
    stated = {s.given: (s.lower, s.upper) for s in folded.network.sentences if s.claim == Is(sign)}
    # 1/3 of 0.1 to 0.2, and 1/2 of 0.25 to 0.5, both divided by 1/4.
    assert stated == {
        Is(X.variable): (Fraction(2, 15), Fraction(4, 15)),
        Is(X.variable, "false"): (Fraction(1, 2), Fraction(1)),
    }


@pytest.mark.parametrize("count", [2, 5, 12])
@pytest.mark.parametrize("tied", [True, False])
def test_features_with_ranges_leave_the_answer_of_the_closed_form(count: int, tied: bool) -> None:
    network, asked = tied_features(count) if tied else tied_features(count, tie="")
    answer = query(network, asked, Options(timeout=60.0))
    lower, upper = (3 / 7) * 0.4**count, 1.5 * 1.5**count
    assert (answer.lower, answer.upper) == pytest.approx((lower / (1 + lower), upper / (1 + upper)), abs=1e-6)
    assert answer.status is Status.EXACT
    for model, value in ((answer.lower_witness, answer.lower), (answer.upper_witness, answer.upper)):
        assert model is not None
        assert model.probability(asked.claim, asked.given) == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("count", [28, 40, 100])
def test_a_hundred_features_are_answered_in_time_and_memory(count: int) -> None:
    network, asked = tied_features(count)
    answer = query(network, asked, Options(timeout=5.0))
    lower, upper = (3 / 7) * 0.4**count, 1.5 * 1.5**count
    assert answer.lower <= lower / (1 + lower)
    assert answer.upper >= upper / (1 + upper)
    assert answer.seconds <= 6.5


def tied_features(count: int, tie: str = "0.2 <= P(c xor d) <= 0.7") -> tuple[Network, Query]:
    """Return naive Bayes with all its features observed, the class tied to another atom."""
    features = "\n".join(f"0.1 <= P(f{i} | c) <= 0.3\n0.2 <= P(f{i} | !c) <= 0.25" for i in range(count))
    network = parse(f"0.3 <= P(c) <= 0.6\n{features}\n{tie}").ground()
    number = {v.name: Is(v) for v in network.variables}
    return network, Query(number["c"], conjunction(number[f"f{i}"] for i in range(count)))


def test_what_else_is_asked_or_said_of_an_observation_keeps_it() -> None:
    network = pair(certain(F), certain(G))
    assert fold(network, Query(G, F & X)) is None
    assert fold(network, Query(X, F | G)) is None
    assert fold(network, Query(X, F)) is None
    child = network_of(*network.sentences, Sentence.of(A, "0.5", "0.5", given=F & G))
    assert fold(child, Query(X, F & G)) is None
    declared = replace(network, independences=(Independence((F.variable,), (G.variable,)),))
    assert fold(declared, Query(X, F & G)) is None


def test_impossible_observations_are_left_to_the_engine() -> None:
    never = [Sentence.of(G, 0, 0, given=X), Sentence.of(G, 0, 0, given=~X)]
    assert fold(pair(certain(F), never), Query(X, F & G)) is None


def test_nothing_is_gathered_where_a_condition_is_another_sentences_claim() -> None:
    # The claim a & b leads on to x and y: d is a parent of both, and P(x | a & b) is an average over d.
    lcn = parse(
        """
        P(d) = 0.5
        P(a & b | d) = 0.8
        P(a & b | !d) = 0.3
        P(x | a & b) = 0.9
        P(x | !(a & b)) = 0.1
        P(y | a & b) = 0.7
        P(y | !(a & b)) = 0.4
        """
    )
    found, joint = (lcn.query("P(d | x & y)", method=method) for method in ("auto", "joint"))
    assert (found.lower, found.upper) == pytest.approx((joint.lower, joint.upper), abs=2e-4)
    assert found.upper == pytest.approx(1.0, abs=1e-4)
