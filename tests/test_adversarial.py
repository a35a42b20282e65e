"""The attack on our own bounds: small networks of every kind, judged by brute force.

`benchmarks/attack.py` goes on for as long as one likes; here are fixed seeds and known traps.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import query
from credalog.methods.cliques import ends
from credalog.network.formulas import FALSE, TRUE, Formula, Is, Variable, propositions, scope
from credalog.network.graph import Markov
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.interval import Status
from credalog.numbers.tolerances import TOLERANCE
from judging import (
    against_products,
    complaints,
    faults_in_context,
    faults_of_witnesses,
    truth_of,
    truth_without_independence,
)
from random_networks import COMBINED, KINDS, LINEAR, UNIQUE, Case, random_case
from vertex_oracle import strong_extension

pytestmark = pytest.mark.slow

A, B, C = propositions("a b c")
COLOR = Variable("color", ("red", "green", "blue"))
RED, GREEN, BLUE = (Is(COLOR, value) for value in COLOR.values)
TINY = Fraction(1, 10**9)
says = Sentence.of


def network_of(*sentences: Sentence) -> Network:
    formulas = [f for s in sentences for f in (*(c for _, c in s.claims), s.given)]
    return Network(scope(*formulas), sentences)


def outcome_of(case: Case, *, timeout: float = 3.0, markov: Markov = Markov.LOCAL) -> Answer | CredalogError:
    try:
        return query(case.network, case.query, Options(timeout=timeout, markov=markov))
    except CredalogError as error:
        return error


# --- Random networks ---------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", range(200, 209))
def test_brute_force_finds_no_fault(kind: str, seed: int) -> None:
    case = random_case(kind, seed, largest=4 if seed % 3 == 0 else 3)
    outcome = outcome_of(case)
    assert complaints(outcome, truth_of(case, seconds=0.3), TOLERANCE) == []
    assert faults_of_witnesses(case, outcome) == []


@pytest.mark.parametrize("kind", COMBINED)
@pytest.mark.parametrize("seed", [700])
def test_networks_of_several_kinds_at_once_find_no_fault(kind: str, seed: int) -> None:
    case = random_case(kind, seed)
    outcome = outcome_of(case, timeout=1.5)
    assert complaints(outcome, truth_of(case, seconds=0.3), TOLERANCE) == []
    assert against_products(case, outcome) == []
    assert faults_of_witnesses(case, outcome) == []
    assert faults_in_context(case, outcome) == []


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("rare+many+cores", 1001),
        ("rare+linear+declared", 1007),
        ("rare+cores", 1010),
        ("blocks+declared", 1001),
    ],
)
def test_what_the_attack_found_is_mended(kind: str, seed: int) -> None:
    test_networks_of_several_kinds_at_once_find_no_fault(kind, seed)


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("rare+declared", 1008),
        ("rare+cores+declared", 1002),
        ("rare+cores", 1009),
        ("rare+cores+declared", 1009),
        ("rare+blocks", 1017),
        ("rare+cores+declared", 1018),
        ("rare+linear+declared", 1031),
    ],
)
def test_what_the_attack_once_found_stays_mended(kind: str, seed: int) -> None:
    test_networks_of_several_kinds_at_once_find_no_fault(kind, seed)


@pytest.mark.parametrize("kind", ["cyclic", "free", "tight", "declared", "extreme"])
@pytest.mark.parametrize("seed", range(300, 303))
def test_a_core_that_is_never_formed_is_bounded_too(
    kind: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ends, "CORE_LIMIT", 0)
    case = random_case(kind, seed)
    outcome = outcome_of(case, timeout=1.5)
    assert complaints(outcome, truth_of(case, seconds=0.5), TOLERANCE) == []
    assert faults_of_witnesses(case, outcome) == []


@pytest.mark.parametrize("kind", sorted(LINEAR))
@pytest.mark.parametrize("seed", range(400, 404))
def test_without_independence_the_linear_program_agrees(kind: str, seed: int) -> None:
    case = random_case(kind, seed)
    outcome = outcome_of(case, markov=Markov.NONE)
    assert complaints(outcome, truth_without_independence(case), TOLERANCE) == []


@pytest.mark.parametrize("kind", sorted(UNIQUE))
@pytest.mark.parametrize("seed", range(500, 504))
def test_many_vertices_hold_no_surprise(kind: str, seed: int) -> None:
    case = random_case(kind, seed, smallest=4, largest=4)
    assert complaints(outcome_of(case), truth_of(case, seconds=0.0), TOLERANCE) == []


# --- Traps with known answers ---------------------------------------------------------


@pytest.mark.parametrize(
    ("network", "asked", "lower", "upper"),
    [
        pytest.param(
            network_of(says(A, TINY, 2 * TINY), says(B, 1, 1, given=A), says(B, 0, TINY, given=~A)),
            Query(A, B),
            1 / (2 - 1e-9),
            1.0,
            id="evidence of a billionth",
        ),
        pytest.param(
            network_of(says(A, TINY, TINY), says(B, 0.9, 0.9, given=A), says(B, TINY, TINY, given=~A)),
            Query(A, B),
            0.9 / (1.9 - 1e-9),
            0.9 / (1.9 - 1e-9),
            id="a point of a billionth",
        ),
        pytest.param(
            network_of(says(A, 0, 1), says(B, 0.8, 1, given=A), says(B, 0, 0.2, given=A)),
            Query(A),
            0.0,
            0.0,
            id="a contradiction in a condition only forbids the condition",
        ),
        pytest.param(
            network_of(says(A, 0, 1), says(RED, 0.6, 1, given=A), says(GREEN, 0.6, 1, given=A)),
            Query(RED, ~A),
            0.0,
            1.0,
            id="an empty polytope empties its condition",
        ),
        pytest.param(
            network_of(says(A, 0.5, 0.5), says(B, 0.5, 0.5), says(A & B, 0.25, 0.25, tau=False)),
            Query(A | B),
            0.75,
            0.75,
            id="a point that just fits",
        ),
        pytest.param(
            network_of(says(A, "1/3", "1/3"), says(B, "1/3", "1/3"), says(A & B, "1/9", "1/9", tau=False)),
            Query(A, B),
            1 / 3,
            1 / 3,
            id="thirds, which no float is",
        ),
        pytest.param(
            network_of(
                Sentence(((Fraction(1), A), (Fraction(-1), B)), TRUE, Fraction(0), Fraction(0), tau=False),
                says(A & B, 0.5, 0.5, tau=False),
            ),
            Query(A),
            0.5**0.5,
            0.5**0.5,
            id="the only model is irrational",
        ),
        pytest.param(
            network_of(says(A, 0, 1), says(TRUE, 0, 0.5, given=A)),
            Query(A),
            0.0,
            0.0,
            id="a true claim that is only half believed forbids its condition",
        ),
        pytest.param(
            network_of(says(A, 0.3, 0.4, given=FALSE), says(B, 0.1, 0.2)),
            Query(A),
            0.0,
            1.0,
            id="a condition that never holds says nothing",
        ),
        pytest.param(
            network_of(says(RED, "1/3", "1/3"), says(GREEN, "1/3", "1/3")),
            Query(RED, RED | BLUE),
            0.5,
            0.5,
            id="the last value is the rest",
        ),
    ],
)
def test_a_trap_is_not_stepped_into(network: Network, asked: Query, lower: float, upper: float) -> None:
    answer = query(network, asked)
    assert answer.status is Status.EXACT
    assert answer.lower <= lower + 1e-9 and answer.upper >= upper - 1e-9
    assert (answer.lower, answer.upper) == pytest.approx((lower, upper), abs=TOLERANCE)


@pytest.mark.parametrize("excess", ["0.01", "0.0001", "0.0000001"])
@pytest.mark.parametrize("asked", [Query(A), Query(A, B)])
def test_a_contradiction_is_found_however_slight(excess: str, asked: Query) -> None:
    bound = Fraction(1, 4) + Fraction(excess)
    network = network_of(says(A, 0.5, 0.5), says(B, 0.5, 0.5), says(A & B, bound, bound, tau=False))
    with pytest.raises(InconsistentNetwork):
        query(network, asked)


@pytest.mark.parametrize(
    ("sentences", "given"),
    [
        pytest.param((says(A, 0, 0), says(B, 0.2, 0.8)), A, id="forbidden"),
        pytest.param((says(A, 0, 0), says(B, 0, 0, given=~A)), B, id="forbidden by two steps"),
        pytest.param((says(A, 0.1, 0.9), says(B, 0.2, 0.8)), B & ~B, id="never true"),
        pytest.param((says(A, 0, 1), says(B, 0.8, 1, given=A), says(B, 0, 0.2, given=A)), A, id="contested"),
    ],
)
def test_impossible_evidence_has_its_own_name(sentences: tuple[Sentence, ...], given: Formula) -> None:
    with pytest.raises(ImpossibleEvidence):
        query(network_of(*sentences), Query(B | A, given))


# --- Larger networks: models we can make up ---------------------------------------------------------


@pytest.mark.parametrize("seed", range(600, 606))
def test_no_vertex_climbed_to_lies_outside(seed: int) -> None:
    """Climb coordinate by coordinate among the vertices of a credal network too large to try them all."""
    case = random_case("credal", seed, smallest=6, largest=6)
    answer = query(case.network, case.query, Options(timeout=5.0))
    for sign in (-1, 1):
        value = climb(case, sign, np.random.default_rng(seed))
        assert answer.lower - 1e-6 <= value <= answer.upper + 1e-6


def climb(case: Case, sign: int, rng: np.random.Generator) -> float:
    """Return the best value met when each sentence in turn is fixed at its better end."""
    sentences = [fixed(s, s.lower if rng.random() < 0.5 else s.upper) for s in case.network.sentences]
    best = value_at(case, sentences)
    for number, sentence in enumerate(case.network.sentences):
        for end in (sentence.lower, sentence.upper):
            tried = [*sentences[:number], fixed(sentence, end), *sentences[number + 1 :]]
            value = value_at(case, tried)
            if value is not None and (best is None or sign * value > sign * best):
                sentences, best = tried, value
    assert best is not None
    return best


def fixed(sentence: Sentence, value: Fraction) -> Sentence:
    return says(sentence.claim, value, value, given=sentence.given)


def value_at(case: Case, sentences: list[Sentence]) -> float | None:
    point = Network(case.network.variables, tuple(sentences))
    found = strong_extension(point, case.query)
    return float(found.lower) if found.verdict.name == "ANSWERED" else None
