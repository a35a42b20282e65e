"""Slices stay valid where some of their atoms depend on themselves, and under evidence far away."""

from __future__ import annotations

import numpy as np
import pytest

from credalog import parse
from credalog.errors import ImpossibleEvidence, InconsistentNetwork
from credalog.grounding.slices import Size
from credalog.methods.lifted import answering
from credalog.questions.decide import Verdict
from random_theories import random_theory

CYCLIC = """
domain Person = {p, q}
domain Place = {u, v, w}
predicate A(Person), C(Person), D(Person), E(Place)
forall x in Person: P(A(x)) = 0.5
forall x in Person: P(C(x) | A(x)) >= 0.9
forall x in Person: P(C(x) | !A(x)) <= 0.1
forall x, y in Person distinct: P(C(x) xor C(y)) <= 1
forall x in Person, z in Place: P(D(x) | E(z)) >= 0.5
"""

SMOKERS = """
domain Person = 1..{people}
predicate Sm(Person), Ca(Person)
relation Friend(Person, Person)
forall x, y in Person, Friend(x, y): P(Sm(x) xor Sm(y)) <= 0.2
forall x in Person: 0.2 <= P(Sm(x)) <= 0.4
forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
forall x in Person: 0 <= P(Ca(x) | !Sm(x)) <= 0.01
"""


@pytest.mark.parametrize("atoms", [0, 2, 3])
def test_causes_of_atoms_that_depend_on_themselves_are_no_strangers_to_them(
    atoms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "SIZES", (Size(atoms, 0),))
    lifted = parse(CYCLIC).query("P(A(p) & C(p) & C(q) & D(p))", method="lifted")
    # A model: A(p) and A(q) are fair coins, C is A, D is always true and E never. Another: D is never true.
    assert lifted.lower <= 1e-6
    assert lifted.upper >= 0.25 - 1e-6


@pytest.mark.slow
def test_thousands_of_observations_leave_what_they_cannot_change() -> None:
    friends = [(str(i), str(i + 1)) for i in range(1, 20000)]
    lcn = parse(SMOKERS.format(people=20000), data={"Friend": friends})
    observed_elsewhere = " & ".join(f"{'!' * (i % 2)}Ca({i})" for i in range(5, 9000, 3))
    answer = lcn.query(f"P(Ca(1) | {observed_elsewhere})", timeout=30.0)
    # Whatever is known of Sm(1), P(Ca(1) | Sm(1)) and P(Ca(1) | !Sm(1)) are what the rules say.
    assert answer.lower == pytest.approx(0.0, abs=1e-9)
    assert answer.upper == pytest.approx(0.04, abs=1e-9)
    decision = lcn.decide(f"P(Ca(1) | {observed_elsewhere}) <= 0.5", timeout=5.0)
    assert decision.verdict in (Verdict.CERTAIN, Verdict.UNDECIDED)
    assert lcn.explain(f"P(Ca(1) | {observed_elsewhere})", timeout=5.0).answer.upper <= 0.041


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_bounds_without_far_evidence_contain_every_model(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "SIZES", ())
    compared = 0
    for seed in range(1700 + 60 * block, 1760 + 60 * block):
        generator = np.random.default_rng(seed)
        theory = random_theory(generator, people=int(generator.integers(2, 4)))
        size = Size(int(generator.integers(0, 4)), 0, is_ancestral=bool(generator.integers(2)))
        monkeypatch.setattr(answering, "NEAR", size)
        lcn = parse(theory.text)
        names = [v.name for v in lcn.variables]
        if not 4 <= len(names) <= 12:
            continue
        claim, *others = generator.choice(names, size=4, replace=False)
        literals = ["!" * int(generator.integers(2)) + str(other) for other in others]
        question = f"P({claim} | {' & '.join(literals)})"
        try:
            lifted = lcn.query(question, method="lifted", timeout=3.0)
            if lifted.upper - lifted.lower > 1 - 1e-9:
                continue
            whole = lcn.query(question, method="factorized", timeout=3.0)
        except (InconsistentNetwork, ImpossibleEvidence):
            continue
        for value in (whole.lower_witnessed, whole.upper_witnessed):
            assert value is None or lifted.lower - 1e-7 <= value <= lifted.upper + 1e-7
        compared += 1
    assert compared > 0
