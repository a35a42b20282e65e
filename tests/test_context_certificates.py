"""Certificates of answers that rest on sentences in context: whole where that is so, refused elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from credalog import CredalogError, parse
from credalog.cli import main
from credalog.errors import Refused
from credalog.network.graph import Markov
from credalog.network.markov import MarkovCondition
from credalog.verify import verify
from test_contexts import SEEN

Line = dict[str, Any]

QUESTION = "P(b | x and y)"


def accepted(text: str, lines: Iterable[Line]) -> list[str]:
    return list(verify(parse(text).ground(), map(json.dumps, lines)))


# ---- what is exact is proved ------------------------------------------------------------------------------


@cache
def whole(text: str, question: str) -> tuple[Line, ...]:
    """Return the certificate of an exact answer, which lacks nothing."""
    answer = parse(text).query(question)
    assert answer.status.name == "EXACT"
    found = answer.certificate()
    assert found.missing == ()
    return tuple(found.lines)


def contexts_in(lines: Iterable[Line]) -> list[Any]:
    """Return the reasons that state a sentence in a context."""
    rows = (row for line in lines for row in line.get("rows", ()))
    return [row for row in rows if row[0] == "sentence" and row[4]]


@pytest.mark.slow
def test_a_posterior_that_contexts_close_is_proved_at_both_ends() -> None:
    """The least value is the one found by hand in `test_two_symptoms_seen_from_several_causes`."""
    least = 0.01 * 0.08 / (0.01 * 0.08 + 0.3 * (0.3325 - 0.001))
    lines = whole(SEEN, QUESTION)
    (lower,) = (line for line in lines[1:] if (line["claim"], line["query"]) == ("lower", QUESTION))
    assert least - 2e-5 <= Fraction(lower["bound"]) <= least + 1e-12
    assert contexts_in(lines)
    assert [said.split()[0] for said in accepted(SEEN, lines)].count("every") >= 2


def causes(seed: int) -> str:
    """Draw bounds for two causes of one symptom, of which single ones are named, and of another symptom."""
    rng = np.random.default_rng(seed)
    given = "b", "d", "x | b", "x | !b", "x | d", "y | b", "y | !b"
    lows = rng.integers(5, 60, len(given))
    bounds = zip(given, lows, lows + rng.integers(1, 30, len(given)), strict=True)
    return "".join(f"{low / 100} <= P({claim}) <= {high / 100}\n" for claim, low, high in bounds)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("question", [QUESTION, "P(d | x and !y)"])
def test_posteriors_of_causes_named_one_by_one_have_whole_certificates(seed: int, question: str) -> None:
    lines = whole(causes(seed), question)
    assert len(accepted(causes(seed), lines)) == len(lines) - 1


@pytest.mark.slow
def test_the_family_of_causes_is_proved_in_contexts() -> None:
    assert sum(bool(contexts_in(whole(causes(seed), QUESTION))) for seed in range(8)) > 4


# ---- contexts that are none -------------------------------------------------------------------------------

FORK = "0.1 <= P(x | b) <= 0.2\n0.1 <= P(y | b) <= 0.3\n0.2 <= P(x | d) <= 0.4\n0.3 <= P(b) <= 0.6\n"
JOINED = f"{FORK}0.1 <= P(y | d) <= 0.9\n"


def stated(
    text: str, question: str, context: Iterable[tuple[str, int]], *, sentence: int = 0, markov: str = "local"
) -> list[Line]:
    """Return the claim that a question is at most 1/5, because a sentence says so in a context."""
    network = parse(text).ground()
    number = {v.name: n for n, v in enumerate(network.variables)}
    head = {
        "format": "credalog certificate",
        "version": 1,
        "network": network.digest,
        "markov": markov,
    }
    table = [[number[v.name] for v in parse(text).question(question).scope], []]
    rows = [["sentence", sentence, "upper", 0, [[number[x], state] for x, state in context]]]
    claim = {"claim": "upper", "query": question, "bound": "0.2", "table": 0, "tables": [table]}
    return [head, {**claim, "rows": rows, "nodes": [["leaf", "1", "0", [[0, "1"]]]]}]


UNDER_Y = ("b", 1), ("y", 1)


def test_a_symptom_says_nothing_of_another_once_their_only_cause_is_known() -> None:
    assert accepted(FORK, stated(FORK, "P(x | b and y)", UNDER_Y))


@pytest.mark.parametrize(
    ("text", "question", "context"),
    [
        pytest.param(JOINED, "P(x | b and y)", UNDER_Y, id="another common cause"),
        pytest.param(FORK, "P(x | b and d)", (("b", 1), ("d", 1)), id="a parent that is not named"),
        pytest.param(f"{FORK}0 <= P(z | x) <= 1\n", "P(x | b and z)", (("b", 1), ("z", 1)), id="a child"),
        pytest.param(
            f"{FORK}0 <= P(z | x and y) <= 1\n",
            "P(x | b and y and z)",
            (*UNDER_Y, ("z", 1)),
            id="a common child",
        ),
        pytest.param(f"{FORK}0 <= P(x xor y) <= 1\n", "P(x | b and y)", UNDER_Y, id="a tie"),
        pytest.param(
            f"{FORK}0 <= P(y | x) <= 1\n0 <= P(x | y) <= 1\n", "P(x | b and y)", UNDER_Y, id="a cycle"
        ),
        pytest.param(FORK, "P(x | !b and y)", (("b", 0), ("y", 1)), id="another state than the condition's"),
        pytest.param(FORK, "P(x | y)", (("y", 1),), id="no condition"),
        pytest.param(FORK, "P(x | b and y)", (*UNDER_Y, ("x", 1)), id="what is claimed"),
        pytest.param(FORK, "P(x | b and y)", (*UNDER_Y, ("y", 0)), id="two states of one variable"),
    ],
)
def test_a_context_that_separation_does_not_allow_is_refused(
    text: str, question: str, context: tuple[tuple[str, int], ...]
) -> None:
    with pytest.raises(Refused, match=r"holds in a context|names states"):
        accepted(text, stated(text, question, context))


def test_a_condition_of_several_states_has_no_contexts() -> None:
    """Of b or d, y tells which (`test_a_context_does_not_enter_a_condition_of_several_states`)."""
    text = "P(x | b or d) <= 0.2\nP(b) = 0.5\nP(d) = 0.5\nP(y | b) = 1\nP(y | !b) = 0\n"
    with pytest.raises(Refused, match="holds in a context"):
        accepted(text, stated(text, "P(x | (b or d) and y)", UNDER_Y))


def test_nothing_is_separated_without_a_markov_condition() -> None:
    with pytest.raises(Refused, match="holds in a context"):
        accepted(FORK, stated(FORK, "P(x | b and y)", UNDER_Y, markov="none"))


UNTIED = """
P(x and y | b) <= 0.2 ; tau=False
0.1 <= P(x | d) <= 0.5
0.1 <= P(z | b) <= 0.5
0.1 <= P(w | d) <= 0.5
"""


@pytest.mark.parametrize(("seen", "is_apart"), [("z", True), ("w", False), ("d", False)])
def test_a_claim_of_several_atoms_needs_all_of_them_apart(seen: str, is_apart: bool) -> None:
    """With tau=False no tie makes a cycle of x and y; w is a child of d, which x has for a parent, too."""
    lines = stated(UNTIED, f"P(x and y | b and {seen})", (("b", 1), (seen, 1)))
    if is_apart:
        assert accepted(UNTIED, lines)
        return
    with pytest.raises(Refused, match="holds in a context"):
        accepted(UNTIED, lines)


def test_what_a_claim_repeats_of_its_condition_is_no_hindrance() -> None:
    text = FORK.replace("P(x | b)", "P(x and b | b)", 1) + "0 <= P(x | b) <= 1\n"
    assert accepted(text, stated(text, "P(x | b and y)", UNDER_Y))
    joined = text + "0.1 <= P(y | d) <= 0.9\n"
    with pytest.raises(Refused, match="holds in a context"):
        accepted(joined, stated(joined, "P(x | b and y)", UNDER_Y))


def test_a_state_of_many_is_a_context_and_several_are_not_a_condition() -> None:
    text = "variable b in {r, g, u}\n{}0.1 <= P(y | b = r) <= 0.3\n0.1 <= P(x | d) <= 0.4\n"
    one = text.replace("{}", "P(x | b = r) <= 0.2\n")
    assert accepted(one, stated(one, "P(x | b = r and y)", (("b", 0), ("y", 1))))
    some = text.replace("{}", "P(x | b != r) <= 0.2\n")
    with pytest.raises(Refused, match="holds in a context"):
        accepted(some, stated(some, "P(x | b != r and y)", (("b", 1), ("y", 1))))


def test_an_observed_variable_is_bounded_in_separated_contexts_alone() -> None:
    """The row P(x, b, y) <= 1/5 P(b, y) by the range of P(x | b)."""
    for text, is_apart in ((FORK, True), (JOINED, False)):
        head, claim = stated(text, "P(x | b and y)", UNDER_Y)
        context = dict(claim["rows"][0][4])
        number = {v.name: n for n, v in enumerate(parse(text).ground().variables)}
        events = ([[number[name], 1]] for name in ("x", "b", "y"))
        assert set(context) == {number["b"], number["y"]}
        changed = {**claim, "rows": [["ratio", "upper", *events, 0, 0]]}
        if is_apart:
            assert accepted(text, [head, changed])
        else:
            with pytest.raises(Refused, match="independent"):
                accepted(text, [head, changed])


# ---- certificates that change places ----------------------------------------------------------------------


def neighbours() -> Mapping[str, str]:
    """Return networks with an arrow or a tie more, of which the certificate of SEEN proves too much."""
    return {
        "a parent more": f"{SEEN}0.1 <= P(y | d) <= 0.9\n",
        "an arrow between symptoms": f"{SEEN}0.1 <= P(y | x) <= 0.9\n",
        "a tie": f"{SEEN}0 <= P(x xor y) <= 1\n",
    }


@pytest.mark.slow
@pytest.mark.parametrize("which", list(neighbours()))
def test_a_certificate_moved_to_a_neighbour_is_refused(which: str, tmp_path: Path) -> None:
    """As it is it is about another network; signed for the neighbour, its contexts are none there."""
    text = neighbours()[which]
    head, *claims = whole(SEEN, QUESTION)
    with pytest.raises(CredalogError, match="another network"):
        accepted(text, [head, *claims])
    signed = [{**head, "network": parse(text).ground().digest}, *claims]
    with pytest.raises(Refused, match=r"holds in a context|independent"):
        accepted(text, signed)
    model, certificate = tmp_path / "m.lcn", tmp_path / "m.cert"
    model.write_text(text)
    for lines, code in (([head, *claims], 2), (signed, 5)):
        certificate.write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert main(["verify", str(model), str(certificate)]) == code


# ---- cycles below -----------------------------------------------------------------------------------------


def test_a_cycle_below_what_is_asked_about_hides_no_independence() -> None:
    """x and y have causes of their own; a member of the cycle that hangs from both joins them."""
    text = "0 <= P(x | c) <= 1\n0 <= P(y | d) <= 1\n0 <= P(u and w | x and y) <= 1\n"
    network = parse(text).ground()
    condition = MarkovCondition(network, Markov.LOCAL)
    number = {v.name: frozenset((n,)) for n, v in enumerate(network.variables)}
    assert condition.independent(number["x"], number["y"], frozenset())
    assert not condition.independent(number["x"], number["y"], number["u"])
    assert not condition.independent(number["x"], number["y"] | number["u"], frozenset())


def test_a_network_with_a_tie_that_says_nothing_has_a_whole_certificate() -> None:
    """The tie makes a core of the whole network, though the question sees nothing of it."""
    text = f"{causes(0)}0 <= P(u and w | x and y) <= 1\n"
    lines = whole(text, QUESTION)
    assert len(accepted(text, lines)) == len(lines) - 1
