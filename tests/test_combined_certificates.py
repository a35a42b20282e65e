"""Certificates of sums, expectations and quotients, and of networks that compare across conditions.

The values are worked out by hand from the sentences; the verifier reads nothing but the text and the lines.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import credalog
from credalog import CredalogError
from credalog.errors import Refused
from credalog.questions.certificates.writing import parts_across
from credalog.verify import verify

PAIR = """0.2 <= P(a) <= 0.3
0.5 <= P(b | a) <= 0.6
0.1 <= P(b | !a) <= 0.2
"""
DIE = "variable X in 1..4\nP(X = 4) >= 0.1\nP(X = 1) >= 0.4\n"
FLOORS = """0.2 <= P(a) <= 0.3
P(b | a) = 0.5
P(b | a) >= P(b | !a)
"""


def lines_for(text: str, question: str, markov: Any = "local") -> list[dict[str, Any]]:
    answer = credalog.parse(text).query(question, markov=markov, tolerance=1e-5, timeout=10)
    certificate = answer.certificate(timeout=20)
    assert certificate.missing == ()
    return list(certificate.lines)


def verified(text: str, lines: list[dict[str, Any]]) -> list[str]:
    return list(verify(credalog.parse(text).ground(), map(json.dumps, lines)))


@pytest.mark.slow
@pytest.mark.parametrize("markov", ["local", "none"])
@pytest.mark.parametrize(
    ("text", "question", "lower", "upper"),
    [
        # P(b) is P(a) P(b | a) + (1 - P(a)) P(b | !a): 0.18 to 0.32, and grows with P(a).
        (PAIR, "P(a) + P(b)", Fraction("0.38"), Fraction("0.62")),
        (PAIR, "P(b) + P(b) - 1", Fraction("-0.64"), Fraction("-0.36")),
        (PAIR, "P(b | a) - P(b | !a)", Fraction("0.3"), Fraction("0.5")),
        # P(a) / P(b) is x / (0.6 x + 0.2 (1 - x)) at least and x / (0.5 x + 0.1 (1 - x)) at most.
        (PAIR, "P(a) / P(b)", Fraction(2, 10) / Fraction("0.28"), Fraction(3, 10) / Fraction("0.22")),
        # A tenth is four and the rest one; two fifths are one and the rest four.
        (DIE, "E(X)", Fraction("1.3"), Fraction("2.8")),
        # P(b | !a) is at most 0.5.
        (FLOORS, "P(b | !a)", Fraction(0), Fraction(1, 2)),
    ],
)
def test_a_sum_has_a_certificate_of_the_value_worked_out_by_hand(text, question, lower, upper, markov):
    lines = lines_for(text, question, markov)
    claims = [claim.removeprefix("under --markov none, ") for claim in verified(text, lines)]
    asked = str(credalog.parse(text).asked(question))
    bounds = {
        line["claim"]: Fraction(line["bound"])
        for line in lines
        if line.get("query") == asked and "bound" in line
    }
    # As close as answers are by default.
    assert lower - Fraction(1, 10**4) <= bounds.get("lower", lower) <= lower
    assert upper <= bounds.get("upper", upper) <= upper + Fraction(1, 10**4)
    values = [
        Fraction(line["value"]) for line in lines[1:] if line["claim"] == "model" and line["query"] == asked
    ]
    assert values == pytest.approx([float(lower), float(upper)], abs=1e-5)
    assert sum(" attains " in claim for claim in claims) == 2


def test_a_bound_of_a_sum_that_is_a_little_too_good_is_refused():
    lines = lines_for(PAIR, "P(a) + P(b)")
    for n, line in enumerate(lines):
        if line.get("claim") in ("lower", "upper") and line["query"] == "P(a) + P(b)":
            sign = 1 if line["claim"] == "lower" else -1
            better = {**line, "bound": str(Fraction(line["bound"]) + sign * Fraction(1, 10**4))}
            with pytest.raises(Refused):
                verified(PAIR, [*lines[:n], better])


def test_a_bound_across_conditions_that_is_a_little_too_good_is_refused():
    lines = lines_for(PAIR, "P(b | a) - P(b | !a)")
    last = max(n for n, line in enumerate(lines) if line.get("claim") == "lower")
    assert lines[last]["query"] == "P(b | a) - P(b | !a)"
    better = {**lines[last], "bound": "0.3001"}
    with pytest.raises(Refused):
        verified(PAIR, [*lines[:last], better])


def test_a_bound_of_one_sum_is_none_of_another():
    lines = lines_for(PAIR, "P(a) + P(b)")
    for other in ("P(a) - P(b)", "P(a) + P(b) - 1", "P(b) + P(b)", "P(b)"):
        changed = [{**line, "query": other} if line.get("claim") == "lower" else line for line in lines]
        with pytest.raises(Refused):
            verified(PAIR, changed)


def test_what_is_said_across_conditions_is_not_proved_of_a_network_without_it():
    lines = lines_for(FLOORS, "P(b | !a)")
    without = FLOORS.replace("P(b | a) >= P(b | !a)\n", "0 <= P(b | !a) <= 1\n")
    with pytest.raises(CredalogError, match="another network"):
        verified(without, lines)
    digest = credalog.parse(without).ground().digest
    with pytest.raises(Refused):
        verified(without, [{**lines[0], "network": digest}, *lines[1:]])


def test_a_quotient_whose_divisor_may_be_negative_is_refused():
    line = {"claim": "lower", "query": "P(a) / (P(b) - P(a))", "bound": "0"}
    proof = {"table": 0, "tables": [[[0, 1], []]], "rows": [], "nodes": [["leaf", "1", "0", []]]}
    head = lines_for(PAIR, "P(a)")[0]
    with pytest.raises(Refused, match="divisor may be negative"):
        verified(PAIR, [head, {**line, **proof}])


def test_a_model_gives_a_quotient_no_value_where_its_divisor_is_zero():
    text = "0 <= P(a) <= 0.5\n0 <= P(b) <= 0.5\n"
    head = lines_for(text, "P(a)")[0]
    line = {"claim": "model", "query": "P(a) / P(b)", "value": "0", "within": "1", "residual": "0"}
    tables = [[[0], [], 2, [1, 1]], [[1], [], 2, [2, 0]]]
    with pytest.raises(Refused, match="divisor is not zero"):
        verified(text, [head, {**line, "factors": tables}])


def test_a_decision_about_a_difference_has_a_certificate():
    model = credalog.parse(PAIR)
    decision = model.decide("P(b | a) - P(b | !a) >= 0.3")
    certificate = model.certificate(decision)
    assert certificate.missing == ()
    assert "every model has P(b | a) - P(b | !a) >= 0.300000000" in verified(PAIR, list(certificate.lines))


def test_a_network_that_compares_across_conditions_is_shown_to_have_a_model_or_none():
    model = credalog.parse(FLOORS)
    assert len(verified(FLOORS, list(model.certificate().lines))) == 1
    text = FLOORS + "P(b | !a) >= 0.6\n"
    none = credalog.parse(text).certificate()
    assert verified(text, list(none.lines)) == ["there is no model"]


def test_the_parts_of_a_question_are_proved_first():
    model = credalog.parse(DIE + PAIR)
    asked = model.asked("2 * P(b | a) - E(X | b)")
    assert [str(part) for part in parts_across(asked)] == ["P(b | a)", "E(X | b)"] or len(
        parts_across(asked)
    ) == 2
    assert parts_across(model.asked("P(a) + P(b)")) == []
