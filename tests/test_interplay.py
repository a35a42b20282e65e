"""What was built apart, used together: sums, comparisons across conditions, large theories, tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from credalog import parse
from credalog.errors import CredalogError
from credalog.questions.decide import Verdict

INFLUENCE = """
infl: P(a | c) >= P(a | !c)
rr: P(b | c) >= 2 P(b | !c)
P(c) = 0.4
0.2 <= P(a) <= 0.5
low: P(b | !c) >= 0.1
"""

CONTRADICTION = """
up: P(a | c) >= P(a | !c) + 0.2
P(a | c) <= 0.5
down: P(a | !c) >= 0.6
P(c) = 0.5
"""

LARGE = """domain Person = 1..1000000
predicate A(Person), B(Person)
forall x in Person: 0.2 <= P(A(x)) <= 0.5
forall x in Person: P(B(x) | A(x)) >= 0.6
forall x in Person: 0.05 <= P(B(x) | !A(x)) <= 0.1
"""

# ---- sentences across conditions --------------------------------------------------------------------------


def test_only_variables_of_the_network_are_assigned_beside_a_comparison() -> None:
    best = parse(INFLUENCE).map().best
    assert best is not None
    assert {v.name: value for v, value in best.values.items()} == {"a": "false", "b": "false", "c": "false"}
    # P(!c) = 0.6; a may be impossible without c, and b has at least a chance of 0.1 there.
    assert best.interval.upper.bound == pytest.approx(0.6 * 0.9, abs=1e-6)


def test_what_is_observed_is_not_assigned_beside_a_comparison() -> None:
    best = parse(INFLUENCE).map(given="c").best
    assert best is not None and {v.name for v in best.values} == {"a", "b"}


def test_an_explanation_names_only_what_somebody_wrote() -> None:
    found = parse(INFLUENCE).explain("P(b | c)")
    tried = [one.sentence.label for one in found.influences]
    assert len(found.influences) + len(found.silent) + len(found.untried) == 5
    assert {"rr", "low"} <= set(tried)
    assert [one.sentence.label for one in found.holding_lower if one.sentence.label] == ["low", "rr"]


def test_the_entropy_of_what_stands_for_a_comparison_is_not_counted() -> None:
    with pytest.raises(CredalogError, match="across conditions"):
        parse(INFLUENCE).maxent()


@pytest.mark.slow
def test_the_conditions_of_a_repair_are_those_that_were_written() -> None:
    repair = parse(CONTRADICTION).diagnose(timeout=3.0).repair
    assert repair is not None
    assert len(repair.possible) == 2
    assert "<" not in repair.proviso


# ---- sums in large theories -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_difference_in_a_theory_too_large_to_ground_is_bounded_around_it() -> None:
    lcn = parse(LARGE)
    found = lcn.query("P(B(5)) - P(B(6))", timeout=20.0)
    # Two people are alike and independent: P(B) is at least 0.2 0.6 + 0.8 0.05, at most 0.5 + 0.5 0.1.
    widest = (0.5 + 0.05) - (0.12 + 0.04)
    assert found.lower <= -widest + 1e-9 and found.upper >= widest - 1e-9
    assert found.upper_witnessed == pytest.approx(widest, abs=1e-6)
    assert found.upper <= widest + 1e-5


@pytest.mark.slow
def test_a_ratio_in_a_theory_too_large_to_ground_is_decided_around_it() -> None:
    lcn = parse(LARGE)
    found = lcn.query("P(B(5) | A(5)) / P(B(5) | !A(5))", timeout=20.0)
    assert found.lower == pytest.approx(6.0, abs=1e-5) and found.upper == pytest.approx(20.0, abs=1e-4)
    assert lcn.decide("P(B(5) | A(5)) >= 5 P(B(5) | !A(5))", timeout=20.0).verdict is Verdict.CERTAIN
    assert lcn.decide("P(B(5)) >= P(B(6))", timeout=20.0).verdict is Verdict.UNDETERMINED


# ---- certificates -----------------------------------------------------------------------------------------


def test_a_sum_among_the_answers_is_certified_beside_a_probability(tmp_path: Path) -> None:
    """P(a | c) is at least 0.2 and P(a | !c) at most 0.6: their difference lies in [-0.4, 1]."""
    lcn = parse("P(a | c) >= 0.2\nP(a | !c) <= 0.6\nP(c) = 0.5")
    certificate = lcn.certificate(lcn.query("P(a)"), lcn.query("P(a | c) - P(a | !c)"))
    assert not certificate.missing
    certificate.write(tmp_path / "a.cert")
    claims = list(lcn.verify(tmp_path / "a.cert"))
    assert sum("P(a)" in claim for claim in claims) == 4
    assert any("P(a | c) - P(a | !c) >= -0.400000" in claim for claim in claims)


# ---- words ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["P(a = maybe)", "P(maybe = a)", "P(b | a > 3)"])
def test_a_proposition_that_is_compared_is_called_one(question: str) -> None:
    with pytest.raises(CredalogError, match="a is true or false, and is not compared"):
        parse("P(a) >= 0.1\nP(b | a) >= 0.2").query(question)
