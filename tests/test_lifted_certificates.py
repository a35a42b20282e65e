"""Certificates of theories that were not grounded whole: about a slice that the verifier cuts out itself."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from itertools import starmap
from random import Random
from typing import Any

import numpy as np
import pytest

import credalog
from credalog import CredalogError
from credalog.cli import main
from credalog.errors import ImpossibleEvidence, InconsistentNetwork, Refused
from credalog.grounding.network import Grounder, ground
from credalog.grounding.representatives import cell_of, fewer
from credalog.grounding.slices import sliced
from credalog.methods.answer import Options
from credalog.methods.lifted.answering import Lifted
from credalog.network.graph import Markov
from credalog.network.meaning import Meaning
from credalog.network.models import Model
from credalog.network.sentences import Network, Query
from credalog.questions.certificates.lifted import NO_MODEL, certify_around
from credalog.theory import Theory
from credalog.verify import verify
from random_theories import random_theory

SMOKERS = """domain Person = {names}
predicate Fr(Person, Person) symmetric
predicate Sm(Person), Ca(Person)
forall x, y, z in Person distinct: 0.5 <= P(Fr(x,z) | Fr(x,y) & Fr(y,z)) <= 1
forall x, y in Person distinct: 0 <= P(Sm(x) xor Sm(y) | Fr(x,y)) <= 0.2
forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
forall x in Person: 0 <= P(Ca(x) | !Sm(x)) <= 0.01
"""
CAUSE = """domain Day = {d1, d2, d3}
predicate Rain(Day), Storm
P(Storm) = 0.5
forall x in Day: P(Rain(x) | Storm) = 0.9
forall x in Day: P(Rain(x) | !Storm) = 0.1
"""


def people(count: int) -> str:
    return SMOKERS.replace("{names}", "{" + ", ".join(f"p{n}" for n in range(count)) + "}")


def checked(text: str, lines: list[dict[str, Any]]) -> list[str]:
    return list(verify(credalog.parse(text).theory, map(json.dumps, lines)))


def head(text: str, *atoms: str) -> dict[str, Any]:
    names = Grounder(credalog.parse(text).theory)
    queries = [credalog.parse(text).question(f"P({atom})") for atom in atoms]
    found = sliced(names, (v for query in queries for v in query.scope))
    start = {"format": "credalog certificate", "version": 1, "markov": "local"}
    return {**start, "network": found.network.digest, "slice": list(atoms)}


@pytest.mark.slow
def test_bounds_of_a_theory_of_many_people_are_proved_on_a_slice(tmp_path, capsys):
    model, out = tmp_path / "m.lcn", tmp_path / "c"
    model.write_text(people(60), encoding="utf-8")
    assert main(["query", str(model), "P(Ca(p0) | Ca(p1) & Fr(p0,p1))", "--certificate", str(out)]) == 0
    assert NO_MODEL not in capsys.readouterr().err
    assert main(["verify", str(model), str(out)]) == 0
    # The paper's Example 1: no more than the greater of the two causes' chances, and as much as that.
    shown = capsys.readouterr().out
    assert "<= 0.040000000" in shown and "= 0.000000000 within" in shown and "= 0.040000000 within" in shown
    model.write_text(people(60).replace("0.04", "0.05"), encoding="utf-8")
    assert main(["verify", str(model), str(out)]) == 2
    assert "another network" in capsys.readouterr().err


SPREAD = """domain Host = 1..{count}
predicate Bad(Host), Alert(Host)
relation Link(Host, Host) = {{{links}}}
forall h in Host: 0.01 <= P(Bad(h)) <= 0.05
forall h in Host: 0.8 <= P(Alert(h) | Bad(h)) <= 0.95
forall h in Host: P(Alert(h) | !Bad(h)) <= 0.3
forall h, g in Host, Link(h, g): 0.1 <= P(Bad(g) | Bad(h)) <= 0.6
"""


def test_an_answer_around_its_question_is_proved_there_long_before_a_theory_is_too_large(tmp_path):
    """P(Bad | Alert) is least at 0.01 * 0.8 / (0.01 * 0.8 + 0.99 * 0.3), whatever host 18 does."""
    text = SPREAD.format(count=400, links=", ".join(f"({i}, {i + 1})" for i in range(1, 400, 2)))
    lcn = credalog.parse(text)
    answer = lcn.query("P(Bad(17) | Alert(17))")
    assert not lcn.is_large
    found = lcn.certificate(answer)
    assert set(found.missing) <= {NO_MODEL}
    found.write(tmp_path / "bad.cert")
    least, *_ = lcn.verify(tmp_path / "bad.cert")
    expected = 0.01 * 0.8 / (0.01 * 0.8 + 0.99 * 0.3)
    assert float(least.rsplit(" ", 1)[1]) == pytest.approx(expected, abs=1e-6)


def test_a_slice_says_the_same_whatever_else_there_is():
    lcn = credalog.parse(people(60))
    lines = list(lcn.query("P(Ca(p0))").certificate().lines)
    bound, *models = checked(people(61), lines)
    assert bound == "every model has P(Ca(p0)) <= 0.040000000" and len(models) == 2
    better = [lines[0], *({**line, "bound": "0.0399"} for line in lines[1:])]
    with pytest.raises(Refused):
        checked(people(60), better)


def test_a_model_of_a_slice_is_none_of_the_theory():
    line = {"claim": "model", "query": "P(Storm)", "value": "1/2", "within": "0", "residual": "0"}
    tables = [[[0], [], 2, [1, 1]]]
    with pytest.raises(Refused, match="whole theory"):
        checked(CAUSE, [head(CAUSE, "Storm"), {**line, "factors": tables}])


@pytest.mark.parametrize("atoms", [("Rain(d1)", "Rain(d2)"), ("Rain(d1)", "Rain(d2)", "Storm")])
def test_atoms_whose_cause_is_left_out_are_not_independent(atoms):
    """P(Rain(d1) & Rain(d2)) is 0.41: under independence it would be 0.25."""
    line = {"claim": "upper", "query": "P(Rain(d1) & Rain(d2))", "bound": "0.26", "table": 0}
    row = ["ratio", "upper", [[0, 1]], [], [[1, 1]], 0, 0]
    proof = {"tables": [[[0, 1], []]], "rows": [row], "nodes": [["leaf", "1", "0", [[0, "1"]]]]}
    with pytest.raises(Refused, match="independent"):
        checked(CAUSE, [head(CAUSE, *atoms), {**line, **proof}])


@pytest.mark.parametrize("atoms", [5, "Storm", [["Storm"]], ["Storm("], ["Nobody(d1)"], [""], {}, [None]])
def test_atoms_that_there_are_not_are_refused(atoms):
    with pytest.raises(CredalogError):
        checked(CAUSE, [{**head(CAUSE, "Storm"), "slice": atoms}, {"claim": "lower", "query": "P(Storm)"}])


def test_a_theory_with_rules_across_conditions_has_no_slices():
    text = CAUSE + "P(Rain(d1) | Storm) >= P(Rain(d1) | !Storm)\n"
    with pytest.raises(CredalogError, match="no slices"):
        checked(text, [head(CAUSE, "Storm"), {"claim": "lower", "query": "P(Storm)"}])


def test_a_slice_of_a_network_is_refused():
    with pytest.raises(CredalogError, match="slice of a theory"):
        list(verify(credalog.parse(CAUSE).ground(), [json.dumps(head(CAUSE, "Storm"))]))


@pytest.mark.slow
def test_what_is_proved_on_slices_of_random_theories_holds_in_their_models():
    """The whole grounding is asked by another method; its models keep to what slices prove."""
    proved = 0
    for seed in (1001, 1003, 1014, 1017, 1023, 1024, 1030, 1037):
        drawn = random_theory(np.random.default_rng(seed))
        lcn = credalog.parse(drawn.text)
        for question in drawn.questions:
            try:
                whole = lcn.query(question, method="factorized", timeout=0.5)
                lifted = Lifted(Grounder(lcn.theory))
                answer = lifted.query(lcn.question(question), Options(timeout=0.5))
            except (InconsistentNetwork, ImpossibleEvidence):
                continue
            lines = certify_around(lifted, [answer], Options(timeout=0.5)).lines
            if len(lines) > 1:
                proved += len(list(verify(lcn.theory, map(json.dumps, lines))))
            for line in lines[1:]:
                asked = whole if line["query"] == str(answer.query) else lcn.query(line["query"], timeout=0.5)
                values = [v for v in (asked.lower_witnessed, asked.upper_witnessed) if v is not None]
                if line["claim"] == "model":
                    value = Fraction(line["value"])
                    assert whole.lower - 1e-6 <= value <= whole.upper + 1e-6
                    continue
                bound, sign = Fraction(line["bound"]), 1 if line["claim"] == "lower" else -1
                assert all(sign * (Fraction(v) - bound) >= -Fraction(1, 10**6) for v in values)
    assert proved >= 5


# ---- models of a few elements -----------------------------------------------------------------------------

ATOMS = ("A({x})", "B({x})", "R({x},{y})", "S({x},{y})")
BEGUN = """domain Person = {{{names}}}
predicate A(Person), B(Person)
predicate R(Person, Person) symmetric, S(Person, Person)
"""


def random_rules(rng: Random) -> list[str]:
    """Draw rules of one and two people, without their numbers."""
    found = []
    for _ in range(rng.randint(1, 4)):
        binder = rng.choice(["x in Person", "x, y in Person distinct", "x, y in Person"])
        names = {"x": "x", "y": "y" if "y" in binder else "x"}

        def formula(most: int, names: dict[str, str] = names) -> str:
            atoms = [rng.choice(ATOMS).format(**names) for _ in range(rng.randint(1, most))]
            signed = (rng.choice(["", "!"]) + atom for atom in atoms)
            return rng.choice([" & ", " | ", " xor "]).join(signed).replace(" | ", " or ")

        given = rng.choice(["", f" | {formula(2)}"])
        found.append(f"forall {binder}: {{low}} <= P({formula(2)}{given}) <= {{high}}")
    return found


def theory_of(rules: list[str], people: int, bounds: dict[int, tuple[Fraction, Fraction]]) -> Theory:
    text = BEGUN.format(names=", ".join(f"p{n}" for n in range(people)))
    for n, rule in enumerate(rules):
        low, high = bounds.get(n, (Fraction(0), Fraction(1)))
        text += f"r{n}: " + rule.format(low=low, high=high) + "\n"
    return credalog.parse(text).theory


FEW = {"Person": (["p0"], ["p1", "p2"])}


def random_factors(rng: Random, theory: Theory, network: Network) -> tuple[list[Any], dict[Any, list[int]]]:
    """Draw a coin for each kind of atom about those who stand for others, and any law of the others."""
    coins, factors, mine = dict[Any, list[int]](), list[Any](), list[int]()
    for x, variable in enumerate(network.variables):
        cell = cell_of(theory, variable, frozenset(("p1", "p2")))
        if cell is not None:
            p = rng.choice([0, 1, 2, 4])
            factors.append([[x], [], 4, coins.setdefault(cell, [4 - p, p])])
            continue
        parents = rng.sample(mine, rng.randint(0, min(len(mine), 1)))
        rows = [rng.choice([0, 1, 3, 4]) for _ in range(2 ** len(parents))]
        factors.append([[x], parents, 4, [q for p in rows for q in (4 - p, p)]])
        mine.append(x)
    return factors, coins


@pytest.mark.slow
def test_a_model_of_a_few_elements_is_one_of_all_of_them():
    """Written out for all five people it satisfies every sentence and every independence there is."""
    rng, accepted = Random(8), 0
    for _ in range(60):
        rules = random_rules(rng)
        wide = theory_of(rules, 5, {})
        small = ground(fewer(wide, FEW))
        factors, coins = random_factors(rng, wide, small)
        found = Model(Meaning(small, Markov.NONE), factors)
        values: dict[int, list[Fraction]] = {}
        for sentence in small.sentences:
            with suppress(CredalogError):
                value = found.value(Query(sentence.claim, sentence.given))
                values.setdefault(int(sentence.label[1:].split("[")[0].split(" ")[0]), []).append(value)
        theory = theory_of(rules, 5, {n: (min(v), max(v)) for n, v in values.items()})
        network = ground(fewer(theory, FEW))
        asked = str(network.variables[0])
        line = {"claim": "model", "query": f"P({asked})", "within": "1", "value": "0", "residual": "0"}
        begun = {"format": "credalog certificate", "version": 1, "markov": "local", "slice": [asked]}
        atom = credalog.parse(BEGUN.format(names="p0, p1, p2, p3, p4")).question(f"P({asked})").scope
        begun["network"] = sliced(Grounder(theory), atom).network.digest
        try:
            written = map(json.dumps, [begun, {**line, "few": FEW, "factors": factors}])
            list(verify(theory, written))
        except Refused:
            continue
        accepted += 1
        whole = ground(theory)
        place = {v: n for n, v in enumerate(network.variables)}
        number = {v: n for n, v in enumerate(whole.variables)}
        back = {n: number[v] for v, n in place.items()}
        others = [
            [[n], [], 4, coins[cell_of(theory, v, frozenset(f"p{i}" for i in range(1, 5)))]]
            for v, n in number.items()
            if v not in place
        ]
        mine = [[[back[x] for x in b], [back[x] for x in p], w, e] for b, p, w, e in factors]
        meaning = Meaning(whole, Markov.LOCAL)
        model = Model(meaning, [*mine, *others])
        conditions = meaning.left_open(model.arrows, [frozenset(range(len(number)))])
        assert conditions is not None and not any(starmap(model._dependence, conditions))
        assert model.residual(Query(whole.variables[0].is_("true"))) == 0
    assert accepted > 15


TWO = """domain Person = {p0, p1, p2, p3, p4}
predicate A(Person), R(Person, Person)
forall x, y in Person distinct: 0.2 <= P(R(x,y) | A(x)) <= 0.7
forall x in Person: P(A(x)) >= 0.1
"""


def few_claim(text: str, few: Any, law: Any, markov: str = "local") -> list[str]:
    """Claim a model of few elements in which atoms have the laws that `law` gives them."""
    lcn = credalog.parse(text)
    network = ground(fewer(lcn.theory, FEW))
    factors = [law(x, v.name, [w.name for w in network.variables]) for x, v in enumerate(network.variables)]
    factors.sort(key=lambda factor: len(factor[1]))
    line = {"claim": "model", "query": "P(A(p0))", "value": "1/2", "within": "0", "residual": "0"}
    begun = {**head(text, "A(p0)"), "markov": markov}
    return checked(text, [begun, {**line, "few": few, "factors": factors}])


def coin(x: int, name: str, names: list[str]) -> list[Any]:
    return [[x], [], 2, [1, 1]]


def test_coins_of_few_elements_are_a_model_of_all():
    assert few_claim(TWO, FEW, coin) == ["a model attains P(A(p0)) = 0.500000000 within 0e+0"]


@pytest.mark.parametrize(
    ("few", "why"),
    [
        ({"Person": (["p0"], ["p1"])}, "enough elements"),
        ({"Person": (["p0"], ["p1", "p1"])}, "enough elements"),
        ({"Person": (["p0", "p1"], ["p1", "p2"])}, "told apart"),
        ({"Person": (["p0"], ["p1", "p9"])}, "elements are those"),
        ({"Person": (["p0"], [])}, "enough elements"),
        ({"Nobody": (["p0"], ["p1", "p2"])}, "KeyError"),
        ({}, "every variable has a table"),
        (7, "AttributeError"),
    ],
)
def test_too_few_or_other_elements_stand_for_nobody(few, why):
    with pytest.raises(Refused, match=why):
        few_claim(TWO, few, coin)


def unlike(x: int, name: str, names: list[str]) -> list[Any]:
    return [[x], [], 4, [1, 3] if name == "A(p2)" else [2, 2]]


def leaning(x: int, name: str, names: list[str]) -> list[Any]:
    is_next = name == "R(p1,p2)"
    return [[x], [names.index("A(p1)")] if is_next else [], 2, [1, 1] * (2 if is_next else 1)]


def held(x: int, name: str, names: list[str]) -> list[Any]:
    is_next = name in ("R(p1,p2)", "R(p2,p1)")
    return [[x], [names.index("A(p0)")] if is_next else [], 2, [1, 1] * (2 if is_next else 1)]


def holding(x: int, name: str, names: list[str]) -> list[Any]:
    is_next = name == "A(p0)"
    return [[x], [names.index("A(p1)")] if is_next else [], 2, [1, 1] * (2 if is_next else 1)]


def missed(x: int, name: str, names: list[str]) -> list[Any]:
    return [[x], [], 10, [1, 9] if name.startswith("R") else [5, 5]]


@pytest.mark.parametrize(
    ("law", "why"), [(unlike, "coin like others"), (leaning, "coin like others"), (missed, "satisfied")]
)
def test_what_stands_for_others_is_a_coin_like_all(law, why):
    with pytest.raises(Refused, match=why):
        few_claim(TWO, FEW, law)


@pytest.mark.parametrize("law", [held, holding])
def test_under_no_condition_too_what_stands_for_others_has_no_arrow_to_it_or_from_it(law):
    assert few_claim(TWO, FEW, coin, markov="none")
    with pytest.raises(Refused, match="coin like others"):
        few_claim(TWO, FEW, law, markov="none")


def test_independences_hold_by_the_arrows_and_not_by_the_numbers_alone():
    def drawn(x: int, name: str, names: list[str]) -> list[Any]:
        is_next = name == "Storm"
        return [[x], [names.index("A(p0)")] if is_next else [], 2, [1, 1] * (2 if is_next else 1)]

    text = TWO + "predicate Storm\nP(Storm) >= 0.1\n"
    assert few_claim(text, FEW, coin)
    with pytest.raises(Refused, match="by the arrows"):
        few_claim(text, FEW, drawn)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("P(A(p3)) >= 0.9\n", "told apart"),
        ("relation Old(Person) = {p4}\nforall x in Person where Old(x): P(A(x)) >= 0.9\n", "told apart"),
        ("forall x, y in Person where x < y: P(A(x) and A(y)) >= 0.3\n", "order or number"),
        ("forall x in Person: P(A(x) | forall y in Person: A(y)) <= 0.1\n", "order or number"),
        ("forall x, y, z in Person distinct: P(A(x) | A(y) & A(z)) <= 0.9\n", "enough elements"),
        ("forall x, y in Person distinct: independent A(x), A(y)\n", "independence is declared"),
        ("domain City = {p3, c1}\npredicate C(City)\n", "told apart"),
        ("forall x in Person: P(A(x)) - 2 P(A(x) | R(x,x)) <= 0.5\n", "one condition"),
    ],
)
def test_theories_that_tell_elements_apart_have_no_model_of_few(more, why):
    with pytest.raises(CredalogError, match=why):
        few_claim(TWO + more, FEW, coin)


def test_a_model_of_few_is_none_under_the_global_condition():
    with pytest.raises(Refused, match="global"):
        few_claim(TWO, FEW, coin, markov="global")


def test_joint_claims_that_are_conditions_elsewhere_are_refused():
    """Ties that reach over several sentences may have more elements in them than a rule speaks of."""
    text = TWO + "forall x, y in Person distinct: P(A(x) & A(y)) >= 0.1\n"
    text += "forall x, y in Person distinct: P(R(x,y) | A(x) & A(y)) >= 0.1\n"
    with pytest.raises(Refused, match="no joint claim"):
        few_claim(text, FEW, coin)
