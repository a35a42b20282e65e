from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from credalog import parse
from credalog.cli import main
from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork, LanguageError
from credalog.methods.answer import Options, Progress
from credalog.methods.automatic import Engine
from credalog.numbers.interval import Endpoint, Interval, Warrant
from credalog.questions.decide import Relation, Verdict, decide
from credalog.show.html import Bar, as_html
from credalog.text.parse import read_query, read_threshold
from credalog.theory import Order
from judging import truth_of
from oracle import Verdict as Known
from random_networks import random_case
from vertex_oracle import strong_extension

MARGIN = 1e-3
"""Verdicts are compared with brute force where the threshold is no closer than this to an end."""

KINDS = ("credal", "overlapping", "free", "cyclic", "deterministic", "multivalued")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [3, 4])
def test_the_verdict_is_that_of_brute_force(kind: str, seed: int) -> None:
    case = random_case(kind, seed, smallest=3, largest=3)
    truth = truth_of(case, 10.0)
    engine = Engine(case.network)
    if truth.verdict is not Known.ANSWERED:
        return
    lower, upper = truth.lower.proved, truth.upper.proved
    for threshold in (0.05, 0.3, 0.5, 0.7, 0.95):
        if min(abs(threshold - lower), abs(threshold - upper)) < MARGIN:
            continue
        expected = Verdict.CERTAIN if lower > threshold else Verdict.UNDETERMINED
        expected = Verdict.EXCLUDED if upper < threshold else expected
        found = decide(engine, case.query, threshold, Options(timeout=20.0))
        assert found.verdict in (expected, Verdict.UNDECIDED), (str(case), threshold)
        if upper - lower > MARGIN and kind != "free":
            assert found.verdict is expected
        assert found.interval.lower.bound <= lower + 1e-6
        assert found.interval.upper.bound >= upper - 1e-6


TIED = "0.1 <= P(a) <= 0.3\n0.2 <= P(b) <= 0.6\n0.2 <= P(a or b) <= 0.7 ; tau=False"
THIRDS = "1/3 <= P(a) <= 2/3\n1/3 <= P(b | a) <= 2/3\n0 <= P(b | !a) <= 1/3"


@pytest.mark.parametrize(
    ("network", "statement", "verdict"),
    [
        (TIED, "P(a) >= 0.1", Verdict.CERTAIN),
        (TIED, "P(a) <= 0.3", Verdict.CERTAIN),
        (TIED, "P(!a) >= 0.7", Verdict.CERTAIN),
        (TIED, "P(a) <= 0.1", Verdict.UNDETERMINED),
        (TIED, "P(a) >= 0.3", Verdict.UNDETERMINED),
        (TIED, "P(a) <= 0.0999999999999", Verdict.EXCLUDED),
        (TIED, "P(a) >= 0.1000001", Verdict.UNDETERMINED),
        (TIED, "P(a or b) >= 0", Verdict.CERTAIN),
        ("P(a) = 1e-12\n0.1 <= P(b) <= 0.2", "P(a) >= 1e-12", Verdict.CERTAIN),
        ("1e-12 <= P(a) <= 3e-12\n0.1 <= P(b) <= 0.2", "P(a) >= 2e-12", Verdict.UNDETERMINED),
        # P(b) is at least 0.5 * 0.2 + 0.1 * 0.8 and at most 0.7 * 0.4 + 0.2 * 0.6.
        (
            "0.2 <= P(a) <= 0.4\n0.5 <= P(b | a) <= 0.7\n0.1 <= P(b | !a) <= 0.2",
            "P(b) >= 0.18",
            Verdict.CERTAIN,
        ),
        (
            "0.2 <= P(a) <= 0.4\n0.5 <= P(b | a) <= 0.7\n0.1 <= P(b | !a) <= 0.2",
            "P(b) <= 0.4",
            Verdict.CERTAIN,
        ),
    ],
)
def test_a_threshold_on_an_end_is_compared_in_rational_arithmetic(
    network: str, statement: str, verdict: Verdict
) -> None:
    assert parse(network).decide(statement).verdict is verdict


@pytest.mark.slow
def test_a_witness_counts_only_where_the_rest_of_the_network_has_a_model() -> None:
    # P(a) P(b) = 0.1225001 and P(a) + P(b) = 0.7: no real solution, by 2e-7.
    network = parse(
        "0.1 <= P(a) <= 0.9\n0.1 <= P(b) <= 0.9\nP(a xor b) = 0.4549998 ; tau=False\n"
        "P(a and b) = 0.1225001 ; tau=False\n0.1 <= P(z) <= 0.2"
    )
    try:
        found = network.decide("P(z) >= 0.15", timeout=2.0)
    except InconsistentNetwork:
        return
    assert found.verdict is Verdict.UNDECIDED
    assert found.interval.lower.witnessed is found.interval.upper.witnessed is None
    assert found.stage == "no model of the rest of the network was found"


@pytest.mark.parametrize(
    ("asked", "relation", "threshold"),
    [
        ("P(a)", Relation.AT_LEAST, "1/3"),
        ("P(a)", Relation.AT_MOST, "2/3"),
        ("P(b | a)", Relation.AT_MOST, "2/3"),
    ],
)
def test_a_threshold_that_is_no_decimal_is_compared_exactly(
    asked: str, relation: Relation, threshold: str
) -> None:
    network = parse(THIRDS)
    query = network.question(asked)
    found = decide(Engine(network.ground()), query, Fraction(threshold), relation=relation)
    assert found.verdict is Verdict.CERTAIN and found.threshold == Fraction(threshold)
    assert found.statement == f"{asked} {relation.value} {threshold}"


def test_thresholds_are_kept_as_they_were_written() -> None:
    assert CHAIN.decide("P(a) >= 1e-3").threshold == Fraction(1, 1000)
    assert CHAIN.decide("P(a) >= 0.123456789").statement == "P(a) >= 0.123456789"


ALMOST = Fraction(1, 10**12)


@pytest.mark.parametrize("kind", ["credal", "bayesian", "rare"])
@pytest.mark.parametrize("seed", [1, 2])
def test_no_verdict_on_an_end_or_beside_it_is_false(kind: str, seed: int) -> None:
    case = random_case(kind, seed, smallest=3, largest=3)
    exact = strong_extension(case.network, case.query)
    if exact.verdict is not Known.ANSWERED:
        return
    low, high = exact.lower, exact.upper
    for threshold in (low, high, low - ALMOST, low + ALMOST, high - ALMOST, high + ALMOST):
        if not 0 <= threshold <= 1:
            continue
        expected = Verdict.CERTAIN if low >= threshold else Verdict.UNDETERMINED
        expected = Verdict.EXCLUDED if high < threshold else expected
        found = decide(Engine(case.network), case.query, threshold, Options(timeout=5.0)).verdict
        assert found in (expected, Verdict.UNDECIDED), (str(case), threshold)


@pytest.mark.parametrize(
    ("network", "statement", "verdict"),
    [
        # P(a and c) is at least 4/7 * 5.5e-14 = 3.1428...e-14, since a and c are independent.
        (
            "4/7 <= P(a) <= 24/35\n5.5e-14 <= P(c) <= 8.25e-14\n0 <= P(a or c) <= 1 ; tau=False",
            "P(a and c) <= 3.142e-14",
            Verdict.EXCLUDED,
        ),
        # At least 0.55 * 4.2e-14.
        (
            "0.55 <= P(a) <= 1\n0.95 <= P(b | !a) <= 1\n4.2e-14 <= P(b | a) <= 6.3e-14",
            "P(a and b) >= 2.31e-14",
            Verdict.CERTAIN,
        ),
        # A mixture of 5.6e-14 and 0.4; d is independent of both.
        (
            "0.99913 <= P(a) <= 1\nP(b | !a) = 0.4\nP(b | a) = 5.6e-14\nP(d) = 1/7",
            "P(b | d) >= 5.6e-14",
            Verdict.CERTAIN,
        ),
    ],
)
def test_a_witness_that_misses_a_rare_threshold_by_its_own_violation_settles_nothing(
    network: str, statement: str, verdict: Verdict
) -> None:
    assert parse(network).decide(statement).verdict in (verdict, Verdict.UNDECIDED)


CHAIN = parse("0.6 <= P(a) <= 0.7\n0.8 <= P(b | a) <= 0.9\n0.1 <= P(b | not a) <= 0.3")


@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("P(a) >= 0.5", Verdict.CERTAIN),
        ("P(a) >= 0.65", Verdict.UNDETERMINED),
        ("P(a) >= 0.75", Verdict.EXCLUDED),
        ("P(a) <= 3/4", Verdict.CERTAIN),
        ("P(a) <= 0.65", Verdict.UNDETERMINED),
        ("P(a) <= 0.5", Verdict.EXCLUDED),
        ("P(a | b) >= .75", Verdict.CERTAIN),
        ("P(not a | b) <= 0.01", Verdict.EXCLUDED),
    ],
)
def test_statements_are_settled(statement: str, verdict: Verdict) -> None:
    assert CHAIN.decide(statement).verdict is verdict


def test_a_threshold_far_from_the_ends_needs_no_search() -> None:
    assert CHAIN.decide("P(b) >= 0.2").stage == "relaxation"


def test_at_most_shows_the_interval_of_what_was_asked() -> None:
    found = CHAIN.decide("P(a) <= 0.75")
    assert found.interval.upper.bound == pytest.approx(0.7)
    assert found.statement == "P(a) <= 0.75"


@pytest.mark.parametrize(
    ("statement", "column"),
    [
        ("P(a) > 0.5", 6),
        ("P(a) = 0.5", 6),
        ("P(a -> b)", 10),
        ("P(a) / P(b) >= P(c)", 13),
        ("0.1 <= P(a) <= 0.2", 13),
        ("", 1),
    ],
)
def test_what_is_no_threshold_is_pointed_at(statement: str, column: int) -> None:
    with pytest.raises(LanguageError, match=r"no comparison|nothing is compared") as caught:
        CHAIN.decide(statement)
    assert caught.value.place is not None
    assert (caught.value.place.inside, caught.value.place.column) == ("the statement", column)
    assert "P(a | b) >= 0.5" in caught.value.advice


@pytest.mark.parametrize(("statement", "column"), [("P(a) >= 1.2.3", 12), ("1.2.3 <= P(a)", 4)])
def test_what_is_no_number_is_pointed_at(statement: str, column: int) -> None:
    with pytest.raises(LanguageError, match="digits and one point") as caught:
        CHAIN.decide(statement)
    assert caught.value.place is not None
    assert (caught.value.place.inside, caught.value.place.column) == ("the statement", column)


def test_statements_are_read_alike_however_they_are_written() -> None:
    alike = ("P(a) ≥ 20%", "0.2 <= P(a)", "1/5 ≤ P(a)", "P(a) => .2", "P(a)>=2/010", "1 - P(a) <= 80%")
    for statement in (*alike, "2 P(a) >= 0.4", "P(a) >= 2e-1"):
        read = read_threshold(statement)
        assert (read.asked, read.order, read.number) == (read_query("P(a)"), Order(">="), Fraction(1, 5))
    read = read_threshold(" 12.5% ≥ P(a | b) ")
    assert (read.asked, read.order, read.number) == (read_query("P(a | b)"), Order("<="), Fraction(1, 8))


def test_a_threshold_that_is_no_probability_is_refused() -> None:
    with pytest.raises(CredalogError, match="no probability"):
        CHAIN.decide("P(a) >= 1.5")


def test_contradictions_and_impossible_evidence_are_named() -> None:
    with pytest.raises(ImpossibleEvidence):
        parse("P(a) = 0\n0.1 <= P(b) <= 0.2").decide("P(b | a) >= 0.5")
    with pytest.raises(InconsistentNetwork):
        parse("P(a) >= 0.8\nP(b) >= 0.5\nP(a or b) <= 0.7").decide("P(a) >= 0.5")


def test_an_interrupted_decision_is_undecided() -> None:
    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    case = random_case("overlapping", 4, smallest=3, largest=3)
    found = decide(Engine(case.network), case.query, 0.5, Options(report=stop))
    assert found.verdict is Verdict.UNDECIDED or found.stage != "interrupted"


def test_answers_and_decisions_show_themselves_as_bars_in_notebooks() -> None:
    answer = CHAIN.query("P(a | b)")._repr_html_()
    assert "P(a | b)" in answer and answer.count("<svg") == 1 and "exact" in answer
    decision = CHAIN.decide("P(a | b) >= 0.5")._repr_html_()
    assert "P(a | b) &gt;= 0.5" in decision and "it holds in every model" in decision


def test_bars_round_outwards_and_escape_their_labels() -> None:
    ends = (Endpoint(0.12345, 0.2, Warrant.CHECKED), Endpoint(0.98765, None, Warrant.CLAIMED))
    html = as_html([Bar("P(a & b)", Interval(*ends), "<remark>", 0.5)], heading="x < y", note="done")
    assert "0.1234<" in html and "0.9877<" in html
    assert "P(a &amp; b)" in html and "&lt;remark&gt;" in html and "x &lt; y" in html
    assert "no model was found" in html and html.count("<rect") == 2 and html.count("<line") == 1


@pytest.fixture
def chain_file(tmp_path: Path) -> str:
    path = tmp_path / "chain.lcn"
    path.write_text(CHAIN.unparse())
    return str(path)


def test_the_command_decide_writes_verdicts(chain_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decide", chain_file, "P(a) >= 0.5", "P(a) <= 0.65"]) == 0
    first, second = capsys.readouterr().out.splitlines()[1:]
    assert first.startswith("P(a) >= 0.5") and "certainly " in first
    assert second.startswith("P(a) <= 0.65") and "undetermined" in second


def test_the_command_decide_writes_json(chain_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decide", chain_file, "P(a) >= 0.75", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "EXCLUDED" and found["upper"] == pytest.approx(0.7)


def test_the_command_map_writes_the_best_assignments(
    chain_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", chain_file, "--evidence", "b", "--criterion", "maximin"]) == 0
    written = capsys.readouterr().out
    assert written.splitlines()[1].startswith("a  ") and "proved to be the best by maximin" in written


def test_the_command_map_writes_json(chain_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["map", chain_file, "--top", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["is_proved"] and [one["assignment"] for one in found["assignments"]] == [
        {"a": "true", "b": "true"},
        {"a": "false", "b": "false"},
    ]


def test_the_command_map_refuses_what_it_cannot_read(
    chain_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["map", chain_file, "--variables", "c"]) == 2
    assert "there is no variable c" in capsys.readouterr().err
    assert main(["decide", chain_file, "P(a)"]) == 2
    assert ">= 0.5" in capsys.readouterr().err
