"""The judge is judged first: brute force must give the paper's own answers and its own independences."""

from fractions import Fraction

import numpy as np
import pytest

from credalog.network.formulas import TRUE, Formula, Variable, proposition, propositions, scope
from credalog.network.sentences import Independence, Network, Query, Sentence
from oracle import (
    Verdict,
    descendants,
    independences,
    interval,
    nilsson,
    parents,
    polish,
    violations,
)
from random_networks import random_case
from vertex_oracle import strong_extension

pytestmark = pytest.mark.slow

A, B, C, D = propositions("a b c d")


def network_of(*sentences: Sentence, more: str = "") -> Network:
    """Collect sentences over their own variables, in order of appearance."""
    formulas = [f for s in sentences for f in (*(c for _, c in s.claims), s.given)]
    return Network(scope(*formulas, *propositions(more)), sentences)


def says(claim: Formula, lower: float, upper: float, given: Formula = TRUE, tau: bool = True) -> Sentence:
    return Sentence.of(claim, lower, upper, given=given, tau=tau)


APPENDIX = network_of(
    says(A & B, 0.6, 1),
    says(A, 0, 0.2, given=C),
    says(A, 0, 0.8, given=~C),
    says(B, 0, 0.7, given=D),
    says(B, 0, 0.3, given=~D),
)
INTERVALS = network_of(says(A, 0.3, 0.7), says(B, 0.3, 0.7))
TWO_SOURCES = network_of(says(A, 0.2, 0.3), says(B, 0.6, 0.7, A), says(B, 0.1, 0.2, ~A), says(B, 0.3, 0.4))
COINS = network_of(says(A, 0.5, 0.5), says(B, 0.5, 0.5), says(C, 0.5, 0.5))
TIED = network_of(says(A, 0.5, 0.5), says(B, 0.5, 0.5), says(A | B, 0.9, 1))
NOISY = network_of(says(A, 0.5, 0.5), says(B, 0.9, 0.9, A), says(B, 0.1, 0.1, ~A))


@pytest.mark.parametrize(
    ("network", "query", "lower", "upper"),
    [
        pytest.param(INTERVALS, Query(A ^ B), 0.42, 0.58, id="section 2"),
        pytest.param(TWO_SOURCES, Query(B), 0.3, 0.35, id="section 3.3"),
        pytest.param(APPENDIX, Query(C), 0, 1 / 3, id="appendix, marginal"),
        pytest.param(APPENDIX, Query(A, B), 6 / 7, 1, id="appendix, posterior"),
        pytest.param(COINS, Query(A & B & C), 0.125, 0.125, id="joint independence"),
        pytest.param(TIED, Query(A & B), 0, 0.1, id="a tie is a dependence"),
        pytest.param(NOISY, Query(A, B), 0.9, 0.9, id="Bayes"),
    ],
)
def test_known_answers_come_out(network: Network, query: Query, lower: float, upper: float) -> None:
    found = interval(network, query)
    assert found.verdict is Verdict.ANSWERED
    for end, truth in ((found.lower, lower), (found.upper, upper)):
        assert end.proved == pytest.approx(truth, abs=1e-6)
        assert end.attained == pytest.approx(truth, abs=1e-6)
        assert end.joint is not None
        assert violations(end.joint, network).worst < 1e-10


def test_without_independence_the_xor_is_free() -> None:
    found = nilsson(INTERVALS, Query(A ^ B))
    assert (found.lower.proved, found.upper.proved) == pytest.approx((0, 1))


def test_the_appendix_has_the_independences_of_the_appendix() -> None:
    said = {(x, frozenset(s), frozenset(z)) for (x,), s, z in independences(APPENDIX)}
    a, b, c, d = (f.variable for f in (A, B, C, D))
    assert said == {
        (c, frozenset({d}), frozenset()),
        (d, frozenset({c}), frozenset()),
        (a, frozenset({d}), frozenset({b, c})),
        (b, frozenset({c}), frozenset({a, d})),
    }


def test_the_smokers_have_the_markov_condition_of_example_1() -> None:
    friends = {frozenset(pair): proposition(f"Fr({pair})") for pair in ("io", "ia", "oa")}
    smokes = {person: proposition(f"Sm({person})") for person in "ioa"}
    cancer = {person: proposition(f"Ca({person})") for person in "ioa"}
    sentences = []
    for x, y, z in ("ioa", "iao", "oia"):
        pair = friends[frozenset((x, y))] & friends[frozenset((y, z))]
        sentences.append(says(friends[frozenset((x, z))], 0.5, 1, pair))
    sentences += [
        says(smokes[x] ^ smokes[y], 0, 0.2, friends[frozenset((x, y))]) for x, y in ("io", "ia", "oa")
    ]
    sentences += [says(cancer[x], 0.03, 0.04, smokes[x]) for x in "ioa"]
    sentences += [says(cancer[x], 0, 0.01, ~smokes[x]) for x in "ioa"]
    said = {x: (set(s), set(z)) for (x,), s, z in independences(network_of(*sentences))}

    def named(*names: str) -> set[Variable]:
        return {Variable(name) for name in names}

    assert said[Variable("Sm(i)")] == (
        named("Fr(oa)", "Ca(o)", "Ca(a)"),
        named("Fr(io)", "Fr(ia)", "Sm(o)", "Sm(a)"),
    )
    assert said[Variable("Ca(i)")] == (
        named("Fr(io)", "Fr(ia)", "Fr(oa)", "Sm(o)", "Sm(a)", "Ca(o)", "Ca(a)"),
        named("Sm(i)"),
    )


def test_tau_false_ties_nothing() -> None:
    untied = network_of(says(A & B, 0.2, 0.3, tau=False))
    tied = network_of(says(A & B, 0.2, 0.3))
    a, b = A.variable, B.variable
    assert parents(untied, a) == set()
    assert parents(tied, a) == {b}


def test_tau_false_keeps_the_arrows_from_the_condition() -> None:
    network = network_of(says(A & B, 0.2, 0.3, given=C, tau=False))
    assert parents(network, A.variable) == {C.variable}
    assert descendants(network, C.variable) == {A.variable, B.variable}


def test_a_descendant_is_not_reached_through_a_parent() -> None:
    # c -> a -> c is closed by the parent c, so d, a child of c, is no descendant of a.
    network = network_of(says(A, 0, 1, given=C), says(C, 0, 1, given=A), says(D, 0, 1, given=C))
    assert descendants(network, A.variable) == {C.variable}


def test_a_contradiction_has_no_model() -> None:
    network = network_of(says(A, 0.5, 0.5), says(B, 0.5, 0.5), says(A & B, 0.3, 1, tau=False))
    assert interval(network, Query(A)).verdict is Verdict.INCONSISTENT
    assert interval(network, Query(A, B)).verdict is Verdict.INCONSISTENT
    assert nilsson(network, Query(A)).verdict is Verdict.ANSWERED


def test_impossible_evidence_is_told_from_a_contradiction() -> None:
    network = network_of(says(A, 0, 0), says(B, 0.2, 0.8))
    assert interval(network, Query(B, A)).verdict is Verdict.IMPOSSIBLE
    assert nilsson(network, Query(B, A)).verdict is Verdict.IMPOSSIBLE
    assert strong_extension(network, Query(B, A)).verdict is Verdict.IMPOSSIBLE


def test_evidence_that_may_vanish_still_has_a_posterior() -> None:
    # P(a) may be 0, but wherever it is not, P(b | a) is bounded by its sentence.
    network = network_of(says(A, 0, 0.5), says(B, 0.2, 0.3, given=A))
    found = interval(network, Query(B, A))
    assert (found.lower.attained, found.upper.attained) == pytest.approx((0.2, 0.3))


def test_a_conditional_sentence_says_nothing_where_its_condition_vanishes() -> None:
    network = network_of(says(A, 0, 0), says(B, 0.2, 0.3, given=A), says(B, 0.9, 1))
    assert interval(network, Query(B)).upper.attained == pytest.approx(1.0)


def test_a_declared_independence_is_imposed() -> None:
    tied = network_of(says(A, 0.5, 0.5), says(B, 0.5, 0.5), says(A | B, 0, 1))
    declared = Independence((A.variable,), (B.variable,))
    untied = Network(tied.variables, tied.sentences, (declared,))
    assert interval(tied, Query(A & B)).upper.attained == pytest.approx(0.5)
    assert interval(untied, Query(A & B)).upper.attained == pytest.approx(0.25)


def test_tiny_evidence_is_exact_in_rationals() -> None:
    tiny = Fraction(1, 10**9)
    network = network_of(
        Sentence.of(A, tiny, 2 * tiny), Sentence.of(B, 1, 1, given=A), Sentence.of(B, 0, tiny, given=~A)
    )
    found = strong_extension(network, Query(A, B))
    assert found.lower == tiny / (tiny + (1 - tiny) * tiny)
    assert found.upper == 1


@pytest.mark.parametrize("kind", ["credal", "bayesian", "deterministic"])
@pytest.mark.parametrize("seed", range(4))
def test_the_two_oracles_agree_on_credal_networks(kind: str, seed: int) -> None:
    case = random_case(kind, seed, largest=3)
    exact = strong_extension(case.network, case.query)
    found = interval(case.network, case.query, seconds=2)
    assert found.verdict is exact.verdict
    if exact.verdict is Verdict.ANSWERED:
        lower, upper = float(exact.lower), float(exact.upper)
        assert found.lower.proved <= lower + 1e-6 and found.upper.proved >= upper - 1e-6
        assert found.lower.attained is None or found.lower.attained >= lower - 1e-6
        assert found.upper.attained is None or found.upper.attained <= upper + 1e-6


def test_violations_measure_each_defect() -> None:
    together = np.array([[0.5, 0.0], [0.0, 0.5]])
    assert violations(together, INTERVALS).independence == pytest.approx(0.25)
    assert violations(together, INTERVALS).sentence == 0.0
    certain = np.array([[0.0, 0.0], [0.0, 1.0]])
    assert violations(certain, INTERVALS).sentence == pytest.approx(0.3)
    assert violations(certain, INTERVALS).independence == 0.0
    assert violations(together / 2, INTERVALS).mass == pytest.approx(0.5)


def test_polish_finds_a_model_near_a_bad_point() -> None:
    near = np.array([0.25, 0.25, 0.25, 0.25]) + 1e-4 * np.array([1, -1, -1, 1])
    model = polish(near, INTERVALS)
    assert model is not None
    assert violations(model, INTERVALS).worst < 1e-14
    assert np.abs(model - near).max() < 1e-3
