"""Plots: what the bars and lines stand for."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import credalog
from credalog.cli import main
from credalog.errors import CredalogError
from credalog.methods.answer import Progress
from credalog.numbers.interval import Endpoint, Interval, Warrant
from credalog.show.canvas import Picture, Rectangle, Stroke, Words
from credalog.show.plots import (
    Axis,
    Line,
    Worth,
    convergence_plot,
    interval_plot,
    stacked,
    tornado,
    worth_plot,
)

CHAIN = credalog.parse("0.2 <= P(a) <= 0.4\n0.5 <= P(b | a) <= 0.6\nP(b | !a) <= 0.1")


def interval(low: float, high: float, *, attained: bool = True) -> Interval:
    ends = (Endpoint(end, end if attained else None, Warrant.CHECKED) for end in (low, high))
    return Interval(*ends)


def bars(picture: Picture, kind: str) -> list[Rectangle]:
    """Return the bars of a kind, without that of the legend."""
    found = [shape for shape in picture.shapes if isinstance(shape, Rectangle) and shape.kind == kind]
    return found[:-1]


def words(picture: Picture) -> list[str]:
    return [shape.text for shape in picture.shapes if isinstance(shape, Words)]


def test_a_bar_lies_where_its_interval_does():
    picture = interval_plot([Line("x", interval(0.25, 0.75)), Line("y", interval(0.0, 1.0))])
    half, whole = bars(picture, "attained")
    assert half.width == pytest.approx(whole.width / 2)
    assert half.x - whole.x == pytest.approx(whole.width / 4)
    assert {"x", "y", "0.25 – 0.75", "0 – 1"} <= set(words(picture))


def test_what_no_model_attains_is_not_dark():
    picture = interval_plot([Line("x", interval(0.25, 0.75, attained=False))])
    assert len(bars(picture, "possible")) == 1
    assert not bars(picture, "attained")


def test_before_and_after_stand_one_above_the_other():
    before, after = CHAIN.marginals(), CHAIN.marginals(given="b")
    picture = after.plot(before=before)
    assert words(picture)[0] == "given b"
    assert len(bars(picture, "before")) == len(bars(picture, "attained")) == 2
    pairs = list(zip(bars(picture, "before"), bars(picture, "attained"), strict=True))
    assert all(old.y < new.y for old, new in pairs)
    # Without evidence P(a) is [0.2, 0.4]; with it, it is more than that.
    old, new = pairs[0]
    assert new.x > old.x


def test_a_tornado_shows_how_far_each_sentence_holds_the_interval():
    found = CHAIN.explain("P(b)")
    picture = found.plot()
    held = bars(picture, "possible")
    # Without a sentence an interval is wider, never narrower.
    whole = bars(picture, "attained")[0]
    assert held
    assert all(bar.width >= whole.width - 1e-6 for bar in held)
    assert [bar.width for bar in held] == sorted((bar.width for bar in held), reverse=True)
    assert sum(isinstance(s, Stroke) and s.kind == "mark" for s in picture.shapes) == 2


def test_a_tornado_without_sentences_shows_the_interval():
    assert "as it stands" in words(tornado(Line("as it stands", interval(0.1, 0.2)), []))


def test_measurements_are_drawn_beside_the_width_now():
    picture = CHAIN.rank("P(b)", timeout=20.0).plot()
    now, at_most = bars(picture, "before"), bars(picture, "possible")
    assert len(now) == len(at_most) > 0
    assert all(later.width <= before.width for before, later in zip(now, at_most, strict=True))
    assert worth_plot(0.5, [Worth("x", 0.25, None)]).width > 0


def test_a_recording_draws_bounds_as_steps_up_to_the_answer():
    recording = credalog.Recording()
    recording(Progress("lower", 0.0, None, 0.5))
    recording(Progress("lower", 0.1, 0.3, 1.0))
    recording(Progress("upper", 0.9, 0.6, 1.5))
    recording(Progress("something else", 0.5, None, 1.7))
    picture = recording.plot()
    strokes = [shape for shape in picture.shapes if isinstance(shape, Stroke)]
    kinds = [stroke.kind for stroke in strokes if stroke.kind.startswith(("lower", "upper"))]
    # Each of the four lines, and its key.
    assert sorted(kinds) == sorted(["lower", "lower-witness", "upper", "upper-witness"] * 2)
    (lower, *_) = [stroke for stroke in strokes if stroke.kind == "lower"]
    heights = [y for _, y in lower.curve]
    assert heights[0] > heights[-1]
    assert len(set(heights[:4])) == 1


def test_a_recording_ends_with_the_answer_and_hands_reports_on():
    seen: list[object] = []
    recording = credalog.Recording(then=seen.append)
    answer = CHAIN.query("P(b)", report=recording)
    assert len(seen) >= len(recording.moments)
    picture = recording.plot(answer)
    assert words(picture)[0] == "P(b)"


def test_nothing_cannot_be_plotted():
    with pytest.raises(CredalogError, match="nothing to plot"):
        interval_plot([])
    with pytest.raises(CredalogError, match="nothing to plot"):
        convergence_plot([])


def test_a_long_plot_is_cut_and_says_so():
    picture = interval_plot([Line(f"x{i}", interval(0.1, 0.2)) for i in range(70)])
    assert "… and 10 more" in words(picture)


def test_sums_and_quotients_have_an_axis_of_their_own():
    found = CHAIN.query("P(b | a) / P(b | !a)")
    picture = found.plot()
    assert picture.width > 0
    assert ElementTree.fromstring(picture.svg()).tag.endswith("svg")
    difference = CHAIN.query("P(b | a) - P(b | !a)").plot()
    assert "0.4 – 0.6" in words(difference)


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (-3.0, 17.0), (0.0, 0.99), (0.0491, 0.0503), (0.0, 1e-9)]
)
def test_ticks_are_few_and_on_the_axis(low: float, high: float):
    ticks = Axis(low, high, 0.0, 1.0).ticks()
    assert 2 <= len(ticks) <= 8
    assert all(low - 1e-12 <= tick <= high + 1e-12 for tick in ticks)


def test_pictures_are_stacked():
    one = interval_plot([Line("x", interval(0.1, 0.2))], title="one")
    both = stacked([one, one])
    assert both.height == 2 * one.height
    assert words(both).count("one") == 2


# ---- the command line ---------------------------------------------------------------------------------


@pytest.fixture
def chain(tmp_path: Path) -> str:
    path = tmp_path / "chain.lcn"
    path.write_text(f"{CHAIN.unparse()}\nquery P(b)\nquery P(a | b)\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "command",
    [
        ["query", "FILE", "P(b)"],
        ["query", "FILE", "P(b)", "P(a)"],
        ["run", "FILE"],
        ["marginals", "FILE"],
        ["marginals", "FILE", "--evidence", "b"],
        ["marginals", "FILE", "--method", "sound"],
        ["explain", "FILE", "P(b)"],
        ["measure", "FILE", "P(b)"],
    ],
    ids=" ".join,
)
def test_the_command_line_plots_beside_its_answers(
    command: list[str], chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    target = tmp_path / "plot.svg"
    words_ = [chain if word == "FILE" else word for word in command]
    assert main([*words_, "--plot", str(target)]) == 0
    assert capsys.readouterr().out
    root = ElementTree.parse(target).getroot()
    assert root.tag.endswith("svg")
    before = [r for r in root.iter() if r.get("class") == "lcn-before"]
    assert bool(before) == ("--evidence" in command or "measure" in command)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("plot", "what kind of picture"),
        ("plot.gif", "what kind of picture"),
        ("nowhere/plot.svg", "no folder"),
    ],
)
def test_a_plot_that_cannot_be_written_is_refused_before_any_work(
    name: str, complaint: str, chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["query", chain, "P(b)", "--plot", str(tmp_path / name)]) == 2
    shown = capsys.readouterr()
    assert complaint in shown.err
    assert not shown.out


def test_a_missing_library_is_missed_before_any_work(
    chain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["query", chain, "P(b)", "--plot", str(tmp_path / "plot.png")]) == 2
    shown = capsys.readouterr()
    assert "credalog[figures]" in shown.err
    assert not shown.out


def test_a_question_that_fails_leaves_no_plot(chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["query", chain, "P(a | a and !a)", "--plot", str(tmp_path / "plot.svg")]) == 4
    assert "was not written" in capsys.readouterr().err
    assert not (tmp_path / "plot.svg").exists()
