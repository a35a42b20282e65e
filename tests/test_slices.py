"""Slices, and models of simple forms: what is said when nothing larger may be built."""

from __future__ import annotations

from fractions import Fraction

import pytest

import credalog
from credalog.errors import CredalogError
from credalog.methods import automatic
from credalog.methods.answer import Answer, Options
from credalog.methods.cliques import ends
from credalog.methods.cliques.slices import RUNGS, Rung, Slices
from credalog.network.graph import Markov
from credalog.network.structure import Reading
from credalog.numbers.interval import Status
from credalog.numbers.tolerances import TOLERANCE
from judging import (
    against_products,
    complaints,
    faults_of_witnesses,
    truth_of,
    truth_without_independence,
)
from random_networks import COMBINED, KINDS, Case, random_case

SMALL = (Rung(2, 4), Rung(3, 8), Rung(4, 24))
SMOKERS = """
domain Person = {%s}
predicate Fr(Person, Person) symmetric
predicate Sm(Person), Ca(Person)
forall x, y, z in Person distinct: 0.5 <= P(Fr(x,z) | Fr(x,y) & Fr(y,z)) <= 1
forall x, y in Person distinct: 0 <= P(Sm(x) xor Sm(y) | Fr(x,y)) <= 0.2
forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
forall x in Person: 0 <= P(Ca(x) | !Sm(x)) <= 0.01
"""


@pytest.fixture
def only_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the engine build nothing but slices of a few variables."""
    monkeypatch.setattr(ends, "WIDE", 0)
    monkeypatch.setattr(ends, "PER_SECOND", 0)
    monkeypatch.setattr(ends, "RUNGS", SMALL)


def outcome_of(case: Case, markov: Markov = Markov.LOCAL) -> Answer | CredalogError:
    options = Options(timeout=0.6, method="factorized", markov=markov)
    try:
        return automatic.query(case.network, case.query, options)
    except CredalogError as error:
        return error


def smokers(people: int) -> credalog.LCN:
    return credalog.parse(SMOKERS % ", ".join(f"p{i}" for i in range(people)))


@pytest.mark.slow
@pytest.mark.usefixtures("only_slices")
@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", range(800, 802))
def test_brute_force_finds_no_fault_in_slices(kind: str, seed: int) -> None:
    case = random_case(kind, seed, largest=4)
    outcome = outcome_of(case)
    assert complaints(outcome, truth_of(case, seconds=0.3), TOLERANCE) == []
    assert faults_of_witnesses(case, outcome) == []


@pytest.mark.slow
@pytest.mark.usefixtures("only_slices")
@pytest.mark.parametrize("kind", COMBINED)
@pytest.mark.parametrize("seed", range(810, 811))
def test_networks_of_several_kinds_find_no_fault_in_slices(kind: str, seed: int) -> None:
    case = random_case(kind, seed)
    outcome = outcome_of(case)
    assert against_products(case, outcome) == []
    assert faults_of_witnesses(case, outcome) == []


@pytest.mark.slow
@pytest.mark.usefixtures("only_slices")
@pytest.mark.parametrize("kind", ["free", "cyclic", "overlapping", "linear"])
@pytest.mark.parametrize("seed", range(820, 823))
def test_without_independence_slices_state_none(kind: str, seed: int) -> None:
    case = random_case(kind, seed)
    outcome = outcome_of(case, Markov.NONE)
    assert complaints(outcome, truth_without_independence(case), TOLERANCE) == []


def test_no_clique_of_a_slice_is_larger_than_its_limit() -> None:
    model = smokers(7)
    engine, asked = automatic.Engine(model.ground()), model.question("P(Ca(p0) or Ca(p1))")
    problem = engine.part(asked).problem
    number = {v: i for i, v in enumerate(problem.variables)}
    slices = Slices(problem, tuple(sorted(number[v] for v in asked.scope)))
    for rung in RUNGS[:3]:
        found = slices.factorization(rung)
        assert found.reading is Reading.SLICED
        assert max(2 ** len(clique.scope) for clique in found.cliques) <= rung.states
        assert len({x for clique in found.cliques for x in clique.scope}) <= rung.variables


@pytest.mark.slow
@pytest.mark.parametrize("people", [5, 6, 9])
def test_smokers_are_answered_however_many_they_are(people: int) -> None:
    """At most 4 in 100 are ill: all of them where everybody smokes, 0.04 + 0.04 - 0.0016 for one of two."""
    model = smokers(people)
    for text, upper in (("P(Ca(p0))", Fraction(4, 100)), ("P(Ca(p0) or Ca(p1))", Fraction(784, 10000))):
        answer = model.query(text, timeout=30.0)
        assert answer.status is Status.EXACT
        assert (answer.lower, answer.upper) == pytest.approx((0.0, float(upper)), abs=1e-6)
        assert Fraction(answer.lower) <= 0
        assert Fraction(answer.upper) >= upper


@pytest.mark.slow
def test_a_contradiction_in_a_wide_network_is_proved() -> None:
    model = smokers(9).with_sentences("P(Ca(p3)) >= 0.05")
    with pytest.raises(credalog.InconsistentNetwork):
        model.query("P(Ca(p0))", timeout=20.0)


FORTY = [f"s{i}" for i in range(40)]
ONE, TWO, FEW = 0.9**40, 0.8**40, 0.8**39


@pytest.mark.parametrize(
    ("asked", "lower", "upper"),
    [
        (f"P({' or '.join(FORTY)})", 1 - ONE, 1 - TWO),
        (f"P({' xor '.join(FORTY)})", (1 - TWO) / 2, (1 - 0.6**40) / 2),
        (f"P(s0 | {' or '.join(FORTY)})", 0.1 / (1 - 0.9 * FEW), 0.2 / (1 - 0.8 * 0.9**39)),
        (f"P(!({' and '.join(FORTY[:20])}) and !({' or '.join(FORTY[20:])}))", None, None),
    ],
    ids=["or", "xor", "given or", "mixed"],
)
def test_a_formula_wider_than_any_table_is_answered(
    asked: str, lower: float | None, upper: float | None
) -> None:
    """Forty independent atoms between 0.1 and 0.2: all their formulas have closed forms."""
    model = credalog.parse("\n".join(f"0.1 <= P({name}) <= 0.2" for name in FORTY))
    answer = model.query(asked, timeout=20.0)
    if lower is None or upper is None:
        lower, upper = (1 - 0.2**20) * 0.8**20, (1 - 0.1**20) * 0.9**20
    assert answer.status is Status.EXACT
    assert (answer.lower, answer.upper) == pytest.approx((lower, upper), abs=1e-6)
    assert answer.upper_witness is not None
    known = {name.name for factor in answer.upper_witness.factors for name in factor.block}
    assert known <= set(FORTY)
