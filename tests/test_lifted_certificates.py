"""Certificates of theories that were not grounded whole: about a slice that the verifier cuts out itself."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import credalog
from credalog import CredalogError
from credalog.cli import main
from credalog.errors import ImpossibleEvidence, InconsistentNetwork
from credalog.grounding.network import Grounder
from credalog.grounding.slices import sliced
from credalog.methods.answer import Options
from credalog.methods.lifted.answering import Lifted
from credalog.questions.certificates.around import NO_MODEL, certify_around
from credalog.verify import Refused, verify
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


def test_bounds_of_a_theory_of_many_people_are_proved_on_a_slice(tmp_path, capsys):
    model, out = tmp_path / "m.lcn", tmp_path / "c"
    model.write_text(people(60), encoding="utf-8")
    assert main(["query", str(model), "P(Ca(p0) | Ca(p1) & Fr(p0,p1))", "--certificate", str(out)]) == 0
    assert NO_MODEL in capsys.readouterr().err
    assert main(["verify", str(model), str(out)]) == 0
    # The paper's Example 1: no more than the greater of the two causes' chances.
    assert "<= 0.040000000" in capsys.readouterr().out
    model.write_text(people(60).replace("0.04", "0.05"), encoding="utf-8")
    assert main(["verify", str(model), str(out)]) == 2
    assert "another network" in capsys.readouterr().err


def test_a_slice_says_the_same_whatever_else_there_is():
    lcn = credalog.parse(people(60))
    lines = list(lcn.query("P(Ca(p0))").certificate().lines)
    assert checked(people(61), lines) == ["every model has P(Ca(p0)) <= 0.040000000"]
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
                bound, sign = Fraction(line["bound"]), 1 if line["claim"] == "lower" else -1
                assert all(sign * (Fraction(v) - bound) >= -Fraction(1, 10**6) for v in values)
    assert proved >= 5
