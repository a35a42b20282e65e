"""A widened network says the same with every probability an interval; what is certain stays so."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from credalog import LCN, CredalogError, load, parse
from credalog.cli.app import main
from credalog.numbers.tolerances import TOLERANCE

BIF = """network rain { }
variable Sky { type discrete [3] { clear, cloudy, black }; }
variable Wet { type discrete [2] { yes, no }; }
probability ( Sky ) { table 0.7, 0.3, 0.0; }
probability ( Wet | Sky ) { (clear) 0.0, 1.0; (cloudy) 0.3, 0.7; (black) 0.99, 0.01; }
"""


@pytest.fixture
def rain(tmp_path: Path) -> Path:
    path = tmp_path / "rain.bif"
    path.write_text(BIF, encoding="utf-8")
    return path


def _bounds(lcn: LCN) -> dict[str, tuple[Fraction, Fraction]]:
    return {str(s).partition("P(")[2].partition(")")[0]: (s.lower, s.upper) for s in lcn.sentences}


def test_every_value_is_off_by_as_much_and_what_is_impossible_or_certain_stays_so(rain: Path) -> None:
    said = _bounds(load(rain).widen(by="0.02"))
    assert said["Sky = clear"] == (Fraction("0.68"), Fraction("0.72"))
    assert said["Sky = cloudy"] == (Fraction("0.28"), Fraction("0.32"))
    # The last value followed from the others, and is impossible.
    assert said["Sky = black"] == (0, 0)
    assert said["Wet = yes | Sky = clear"] == (0, 0)
    assert said["Wet = yes | Sky = black"] == (Fraction("0.97"), 1)


def test_zeros_are_widened_when_asked(rain: Path) -> None:
    said = _bounds(load(rain).widen(by="0.02", zeros=True))
    assert said["Sky = black"] == said["Wet = yes | Sky = clear"] == (0, Fraction("0.02"))


def test_a_share_of_every_distribution_may_be_anything() -> None:
    said = _bounds(parse("P(a) = 0.5\n0.2 <= P(b | a) <= 0.4").widen(contaminate="0.1"))
    assert said["a"] == (Fraction("0.45"), Fraction("0.55"))
    assert said["b | a"] == (Fraction("0.18"), Fraction("0.46"))


def test_the_weights_of_a_linear_sentence_bound_what_it_may_reach() -> None:
    (sentence,) = parse("0 <= P(a) - 2 P(b) <= 0.9").widen(by="0.1").sentences
    # P(a) may be off by 0.1 and 2 P(b) by 0.2; the sum is at most 1.
    assert (sentence.lower, sentence.upper) == (Fraction("-0.3"), 1)


def test_a_sum_across_conditions_is_off_as_well() -> None:
    said = "P(c) = 0.5\n0.1 <= P(a | c) - P(a | !c) <= 0.3"
    (across,) = parse(said).widen(by="0.02").ground().contrasts
    assert (across.lower, across.upper) == (Fraction("0.06"), Fraction("0.34"))
    (across,) = parse(said).widen(contaminate="0.1").ground().contrasts
    assert (across.lower, across.upper) == (Fraction("-0.01"), Fraction("0.37"))


def test_what_follows_from_a_widened_sum_across_conditions() -> None:
    wide = parse("P(c) = 0.5\nP(a | !c) = 0.4\nP(a | c) - P(a | !c) = 0.1").widen(by="0.02")
    answer = wide.query("P(a | c)")
    # 0.38 + 0.06 and 0.42 + 0.14.
    assert (answer.lower, answer.upper) == pytest.approx((0.44, 0.56), abs=2 * TOLERANCE)
    assert answer.lower <= 0.44 and answer.upper >= 0.56


def test_evidence_and_queries_stay() -> None:
    lcn = parse("P(a) = 0.5\nP(b | a) = 0.9\nP(b | !a) = 0.2\nevidence b\nquery P(a)").widen(by=0.01)
    assert (str(lcn.evidence), len(lcn.queries)) == ("b", 1)


def test_the_network_itself_is_a_model_of_the_widened_one(rain: Path) -> None:
    lcn = load(rain)
    wide = lcn.widen(by="0.05")
    for point, interval in zip(lcn.marginals(), wide.marginals(), strict=True):
        assert interval.lower <= point.lower and point.upper <= interval.upper
        assert interval.upper - interval.lower > 0.01 or point.upper == 0.0


def test_the_command_writes_a_file_that_reads_back(
    rain: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "wide.lcn"
    assert main(["widen", str(rain), "--by", "2%", "-o", str(written)]) == 0
    assert main(["query", str(written), "P(Wet = yes)"]) == 0
    # 0.28 * 0.28 and 0.32 * 0.32: the sky is clear otherwise, and black never.
    assert "0.0784" in capsys.readouterr().out
    assert load(written).ground() == load(rain).widen(by="0.02").ground()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "by how much is not said"),
        (("--by", "0"), "0 is not above 0 and at most 1"),
        (("--contaminate", "1.5"), "1.5 is not above 0 and at most 1"),
        (("--by", "much"), "much is no number"),
        (("--by", "0.1", "--contaminate", "0.1"), "two ways of widening are given"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(
    rain: Path, words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["widen", str(rain), *words]) == 2
    assert complaint in capsys.readouterr().err


def test_python_is_told_in_its_own_words() -> None:
    with pytest.raises(CredalogError, match=r"by=.0\.02. or contaminate="):
        parse("P(a) = 0.5").widen()
