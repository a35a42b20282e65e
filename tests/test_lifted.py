"""Theories asked around the question: never narrower than the whole grounding, and attained by its models."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from credalog import LCN, parse
from credalog.errors import ImpossibleEvidence, InconsistentNetwork
from credalog.grounding.neighbourhood import Around
from credalog.grounding.network import Grounder, key_of
from credalog.grounding.rule_atoms import atom_of
from credalog.grounding.schema import schema_of
from credalog.grounding.slices import Size, slice_around
from credalog.methods.answer import Answer, Options
from credalog.methods.lifted import answering
from credalog.methods.lifted.answering import DECIDED, UNDECIDED, Lifted
from credalog.methods.lifted.copies import copies_of
from credalog.methods.lifted.models import straddling
from credalog.network.graph import dependency_graph
from credalog.numbers.budget import Budget
from credalog.numbers.interval import Status, Warrant
from credalog.questions.decide import Verdict
from random_theories import random_theory
from theories import FAMILIES, Family

SMOKERS = FAMILIES[0]

SMALL = (Size(3, 0), Size(5, 1), Size(9, 1))
"""Slices that leave most of a small network out."""


def asked_whole(lcn: LCN, question: str, seconds: float = 5.0) -> Answer | None:
    """Ask the whole grounding; None where it has no model."""
    try:
        return lcn.query(question, method="factorized", timeout=seconds)
    except (InconsistentNetwork, ImpossibleEvidence):
        return None


def judge(lifted: Answer, ground: Answer) -> None:
    """Compare with the whole grounding: its models are inside the bounds, and ours inside its own."""
    for value in (ground.lower_witnessed, ground.upper_witnessed):
        assert value is None or lifted.lower - 1e-7 <= value <= lifted.upper + 1e-7
    for value in (lifted.lower_witnessed, lifted.upper_witnessed):
        assert value is None or ground.lower - 1e-6 <= value <= ground.upper + 1e-6


def compare(lcn: LCN, question: str, seconds: float = 5.0) -> Answer | None:
    """Ask in both ways and compare; return what slices and models of the rest say."""
    ground = asked_whole(lcn, question, seconds)
    try:
        found = lcn.query(question, method="lifted", timeout=seconds)
    except (InconsistentNetwork, ImpossibleEvidence):
        assert ground is None or ground.lower_witnessed is ground.upper_witnessed is None
        return None
    if ground is None:
        assert found.lower_witnessed is found.upper_witnessed is None
    else:
        judge(found, ground)
    return found


# ---- the whole and the part -----------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_slices_of_a_theory_hold_its_models_and_their_models_are_its_own(family: Family) -> None:
    lcn = parse(family.text(3))
    compare(lcn, family.questions[0], 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_no_slice_of_a_random_theory_excludes_a_model(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "SIZES", SMALL)
    generator = np.random.default_rng(seed)
    theory = random_theory(generator, people=int(generator.integers(2, 4)))
    lcn = parse(theory.text)
    if len(lcn.variables) <= 12:
        for question in theory.questions:
            compare(lcn, question, 2.0)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_said_of_an_atom_is_found_backwards(seed: int) -> None:
    theory = random_theory(np.random.default_rng(100 + seed))
    lcn = parse(theory.text)
    around = Around(Grounder(lcn.theory))
    whole = {domain: tuple(around.elements(domain)) for domain in around.domains}
    for variable in lcn.variables:
        said = {key_of(s) for s in lcn.sentences if variable in s.scope}
        assert {key_of(s) for s in around.touching(variable, whole)} == said
        claimed = [s for s in lcn.sentences if variable in s.claim_scope]
        drawn = {key_of(s) for s in claimed if s.given_scope or (s.tau and not s.is_atomic)}
        assert drawn <= {key_of(s) for s in around.leading_to(variable)} <= {key_of(s) for s in claimed}


@pytest.mark.parametrize("seed", range(40))
def test_the_conditions_of_a_slice_are_conditions_of_the_whole(seed: int) -> None:
    generator = np.random.default_rng(200 + seed)
    theory = random_theory(generator)
    lcn = parse(theory.text)
    around = Around(Grounder(lcn.theory))
    graph = dependency_graph(lcn.ground())
    asked = next((lcn.question(f"P({v.name})") for v in lcn.variables), None)
    if asked is None:
        return
    for size in (Size(2, 0), Size(4, 1), Size(8, 2), Size(99, 3)):
        found = slice_around(around, schema_of(around.rules), asked, size, Budget.of())
        drawn = dependency_graph(found.frame or found.network)
        tied = {v for v in drawn.variables if drawn.index(v) in _cyclic(drawn.components())}
        for v in drawn.variables:
            # Of what is open, and of what is tied to it, no condition is used.
            if found.is_closed or v not in tied | found.open_atoms:
                assert set(drawn.parents(v)) == set(graph.parents(v))
                assert set(drawn.ndnp(v)) <= set(graph.ndnp(v))


def _cyclic(components: tuple[tuple[int, ...], ...]) -> set[int]:
    return {x for component in components if len(component) > 1 for x in component}


# ---- any size -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", SMOKERS.questions)
def test_example_1_among_a_thousand_people_is_as_among_three(question: str) -> None:
    found = parse(SMOKERS.text(1000)).query(question)
    ground = asked_whole(parse(SMOKERS.text(3)), question)
    assert found.status is Status.EXACT and found.tried[-1] == DECIDED
    assert found.interval.lower.warrant is found.interval.upper.warrant is Warrant.CHECKED
    assert ground is not None and ground.status is Status.EXACT
    assert found.lower == pytest.approx(ground.lower, abs=1e-6)
    assert found.upper == pytest.approx(ground.upper, abs=1e-6)


TIED = """predicate Sm(Person), Ca(Person)
relation Friend(Person, Person)
forall x, y in Person, Friend(x, y): P(Sm(x) xor Sm(y)) <= 0.2
forall x in Person: 0.2 <= P(Sm(x)) <= 0.4
forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
forall x in Person: P(Ca(x) | !Sm(x)) <= 0.01"""


def test_a_local_question_about_many_facts_is_attained_by_a_rest_of_copies() -> None:
    facts = [(str(i), str(i + 1)) for i in range(1, 30_000)]
    lcn = parse(f"domain Person = 1..30000\n{TIED}", data={"Friend": facts})
    found = lcn.query("P(Ca(700))")
    # 0.2 * 0.03 and 0.4 * 0.04 + 0.6 * 0.01.
    assert found.status is Status.EXACT
    assert found.lower == pytest.approx(0.006, abs=1e-6) and found.upper == pytest.approx(0.022, abs=1e-6)


def test_elements_that_differ_in_a_fact_have_cells_of_their_own() -> None:
    text = """domain Person = 1..40000
predicate A(Person)
relation Old(Person) = {1, 7, 9}
forall x in Person, Old(x): P(A(x)) >= 0.9
forall x in Person, not Old(x): P(A(x)) <= 0.1
forall x, y in Person, Old(x) and Old(y): P(A(x) and A(y)) >= 0.8
"""
    lcn = parse(text)
    old, young = lcn.query("P(A(1))", method="lifted"), lcn.query("P(A(2))", method="lifted")
    assert (old.status, young.status) == (Status.EXACT, Status.EXACT)
    assert old.lower == pytest.approx(0.9, abs=1e-6) and young.upper == pytest.approx(0.1, abs=1e-6)


def test_a_contradiction_far_from_the_question_is_not_taken_for_a_model() -> None:
    text = """domain Person = 1..60000
predicate A(Person), B(Person, Person)
forall x in Person: P(A(x)) <= 0.5
forall x, y in Person distinct: P(B(x, y) and B(y, x)) >= 0.6
forall x, y in Person distinct: P(B(x, y)) <= 0.5
"""
    found = parse(text).query("P(A(1))", timeout=5.0)
    assert found.tried[-1] == UNDECIDED and found.status is Status.BOUNDED
    assert found.lower_witnessed is found.upper_witnessed is None


def test_a_contradiction_that_a_slice_sees_is_one_of_the_whole() -> None:
    text = """domain Person = 1..60000
predicate A(Person)
forall x, y in Person distinct: P(A(x) and A(y)) >= 0.6
forall x in Person: P(A(x)) <= 0.5
"""
    with pytest.raises(InconsistentNetwork):
        parse(text).query("P(A(1))", timeout=5.0)


def test_people_cannot_all_differ_and_a_slice_of_enough_of_them_shows_it() -> None:
    # Among k people at most floor(k/2) ceil(k/2) pairs differ: 2/3 of three, 3/5 of five.
    text = "predicate A(Person)\nforall x, y in Person distinct: P(A(x) xor A(y)) >= 0.65"
    assert parse(f"domain Person = 1..3\n{text}").query("P(A(1))").lower_witnessed is not None
    with pytest.raises(InconsistentNetwork):
        parse(f"domain Person = 1..5000\n{text}").query("P(A(1))", timeout=20.0)


# ---- other questions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("P(Ca(1)) <= 0.04", Verdict.CERTAIN),
        ("P(Ca(1)) >= 0.05", Verdict.EXCLUDED),
        ("P(Ca(1)) >= 0.02", Verdict.UNDETERMINED),
    ],
)
def test_statements_about_a_large_theory_are_decided(statement: str, verdict: Verdict) -> None:
    assert parse(SMOKERS.text(1000)).decide(statement).verdict is verdict


def test_sentences_of_a_large_theory_are_found_to_hold_an_end() -> None:
    lcn = parse(SMOKERS.text(1000).replace("forall x in Person: 0.03", "smoke: forall x in Person: 0.03"))
    found = lcn.explain("P(Ca(1))", timeout=10.0)
    assert [one.sentence.label for one in found.holding_upper][:1] == ["smoke[1]"]
    # Without the rule about smokers only 0.01 + 0.99 is left of it.
    assert found.holding_upper[0].upper_move == pytest.approx(0.96, abs=1e-3)


def test_questions_built_in_python_need_no_whole_grounding() -> None:
    lcn = parse(SMOKERS.text(1000))
    asked = lcn.question("P(Ca(1) | Sm(1))")
    found = lcn.query(asked)
    assert found.lower == pytest.approx(0.03, abs=1e-6) and found.upper == pytest.approx(0.04, abs=1e-6)
    assert "_network" not in lcn.__dict__


@pytest.mark.slow
def test_markov_none_and_global_are_asked_around_the_question_too() -> None:
    lcn = parse(SMOKERS.text(1000))
    # Without independence both may fall ill together; the global reading is within the local one.
    assert lcn.query("P(Ca(1) and Ca(2))", markov="none").upper == pytest.approx(0.04, abs=1e-6)
    assert lcn.query("P(Ca(1) and Ca(2))", markov="global").upper == pytest.approx(0.0016, abs=1e-6)


def test_a_rest_of_coins_satisfies_its_rules_in_fractions() -> None:
    text = """domain Person = 1..50
predicate A(Person)
forall x in Person: 0.3 <= P(A(x)) <= 0.6
forall x, y in Person, x < y: P(A(x) and A(y)) <= 0.2 ; tau=False"""
    lifted = Lifted(Grounder(parse(text).theory))
    assert lifted.rests().coins
    for coins in lifted.rests().coins:
        assert Fraction(3, 10) <= coins["A"] <= Fraction(6, 10) and coins["A"] ** 2 <= Fraction(1, 5)


def test_a_ground_network_has_nothing_to_lift() -> None:
    lcn = LCN.from_network(parse("0.2 <= P(a) <= 0.3").ground())
    assert lcn.query("P(a)", method="lifted").status is Status.EXACT


def test_a_time_limit_is_kept_where_slices_grow() -> None:
    lcn = parse(FAMILIES[5].text(3000))
    found = Lifted(Grounder(lcn.theory)).query(lcn.question("P(A(1) | A(2))"), Options(timeout=1.0))
    assert found.seconds <= 1.1 + 1.0


# ---- what stands for the rest ---------------------------------------------------------------------------


def test_coins_stand_for_nobody_where_nothing_keeps_them_apart() -> None:
    # A(1), A(2), ... are independent in pairs, so no event is far from independent of many of them:
    # P(Y and A(x)) >= P(Y) - 0.25 for all x holds P(Y) near 0.5, though two of them alone allow 0.75.
    text = """domain Person = 1..200
predicate A(Person)
proposition Y
forall x in Person: P(A(x)) = 0.5
forall x, y in Person, x < y: P(A(x) and A(y)) = 0.25 ; tau=False
forall x in Person: P(Y or A(x)) <= 0.75 ; tau=False"""
    found = parse(text).query("P(Y)", method="lifted", markov="none", timeout=5.0)
    assert found.upper_witnessed is None or found.upper_witnessed <= 0.6


def test_what_is_certain_of_all_others_is_certain_beside_their_copies() -> None:
    text = """domain Person = 1..50
predicate A(Person), B(Person)
forall x, y in Person distinct: P(A(x) xor A(y)) <= 0.2
forall x in Person: P(A(x) | B(x)) >= 0.9
forall x, y in Person distinct: P(B(x) xor B(y)) <= 0.5"""
    lcn = parse(text)
    lifted, asked = Lifted(Grounder(lcn.theory)), lcn.question("P(A(1))")
    rest = lifted.rests().rest
    names = {v: str(v.name) for v in lcn.variables}
    own = {"A(1)", "A(2)", "B(1)", "B(2)"}
    held = straddling(lifted.around, rest, tuple(v for v, name in names.items() if name in own))
    copies = copies_of(rest, frozenset(("A",)))
    assert held is not None and copies is not None
    for order in ([True, True], [False, False]):
        cells = next(rest.worlds(order, copies.names))
        residue = held.copied(rest, cells, copies, asked)
        value = cells[rest.cell_of(atom_of(next(v for v in names if names[v] == "B(1)")))]
        assert residue is not None
        (alike,) = (v for v in residue.network.variables if v not in names)
        alone = {s.lower for s in residue.network.sentences if s.scope == (alike,)}
        assert (Fraction(9, 10) in alone) == (value == "true")
        assert not any({alike.name, "B(1)"} <= {v.name for v in s.scope} for s in residue.network.sentences)
