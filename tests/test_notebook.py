"""Notebooks: the magic `lcn`, rich views, and a bar while something is worked on."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.testing.globalipapp import start_ipython
from IPython.utils.capture import capture_output

import credalog
from credalog.errors import LanguageError
from credalog.methods.intervals import Round
from credalog.methods.progress import Progress
from credalog.notebook import Meter

MODEL = "0.2 <= P(a) <= 0.4\n0.5 <= P(b | a) <= 0.6\nP(b | !a) <= 0.1\nquery P(b)\n"


@pytest.fixture(scope="module")
def whole_shell() -> InteractiveShell:
    shell = start_ipython() or InteractiveShell.instance()
    shell.run_line_magic("load_ext", "credalog")
    # As a notebook, which shows more than text.
    assert shell.display_formatter is not None
    shell.display_formatter.active_types = shell.display_formatter.format_types
    return shell


@pytest.fixture
def shell(whole_shell: InteractiveShell) -> Iterator[InteractiveShell]:
    yield whole_shell
    for name in ("lcn", "model"):
        whole_shell.user_ns.pop(name, None)


def test_a_cell_is_read_drawn_and_answered(shell: InteractiveShell):
    with capture_output() as captured:
        shell.run_cell_magic("lcn", "", MODEL)
    assert shell.user_ns["lcn"] == credalog.parse(MODEL)
    forms = [set(output.data) for output in captured.outputs]
    assert any("image/svg+xml" in form for form in forms)
    tables = [output.data["text/html"] for output in captured.outputs if "text/html" in output.data]
    # 0.2 * 0.5 <= P(b) <= 0.4 * 0.6 + 0.6 * 0.1
    assert any("P(b)" in table and "0.1000" in table and "0.3000" in table for table in tables)


def test_a_cell_may_name_its_model(shell: InteractiveShell):
    with capture_output():
        shell.run_cell_magic("lcn", "model --timeout 5", MODEL)
    assert shell.user_ns["model"].query("P(a)").upper == pytest.approx(0.4)


def test_a_line_asks_the_model_that_was_read_last(shell: InteractiveShell):
    with capture_output():
        shell.run_cell_magic("lcn", "", MODEL)
        found = shell.run_line_magic("lcn", "P(a | b)")
    assert isinstance(found, credalog.Answer)
    assert found == shell.user_ns["lcn"].query("P(a | b)")


def test_a_mistake_is_shown_with_its_place_and_without_our_code(shell: InteractiveShell):
    with pytest.raises(LanguageError) as caught:
        shell.run_cell_magic("lcn", "", "P(a) >= 0.3\nP(b | a >= 0.3\n")
    (shown,) = caught.value._render_traceback_()  # type: ignore[attr-defined]
    assert "line 2" in shown
    assert "^" in shown
    assert "Traceback" not in shown
    with capture_output() as captured:
        shell.run_cell("%%lcn\nP(b | a >= 0.3\n")
    assert "line 1" in captured.stdout
    assert "notebook.py" not in captured.stdout


def test_a_mistake_leaves_the_model_that_was_there(shell: InteractiveShell):
    with capture_output():
        shell.run_cell_magic("lcn", "", MODEL)
    before = shell.user_ns["lcn"]
    with pytest.raises(LanguageError):
        shell.run_cell_magic("lcn", "", "nonsense nonsense")
    assert shell.user_ns["lcn"] is before


@pytest.mark.parametrize("line", ["1name", "a --nothing", "a b"])
def test_wrong_words_beside_the_magic_are_refused(line: str, shell: InteractiveShell):
    with pytest.raises(credalog.CredalogError):
        shell.run_cell_magic("lcn", line, MODEL)


def test_a_first_order_model_is_drawn_in_plates():
    people = ", ".join(f"p{i}" for i in range(500))
    lcn = credalog.parse(
        f"domain Person = {{{people}}}\npredicate Sm(Person)\nforall x, y in Person: P(Sm(x) | Sm(y)) <= 0.5"
    )
    html = lcn._repr_html_()
    assert "x in Person (500)" in html
    # Nothing was grounded to show it.
    assert "_network" not in lcn.__dict__


def test_a_model_shows_its_text_in_colours_and_its_graph():
    html = credalog.parse("s1: P(a | b) <= 0.5 # <i>\n")._repr_html_()
    assert "# &lt;i&gt;" in html
    assert "<svg" in html
    ElementTree.fromstring(f"<div>{html}</div>")


def test_a_long_model_shows_its_beginning():
    lcn = credalog.parse("\n".join(f"P(x{i}) <= 0.5" for i in range(100)))
    assert "… and 40 more lines." in lcn._repr_html_()


def test_results_have_views():
    lcn = credalog.parse(MODEL)
    for view in (lcn.marginals(), lcn.propagate(), lcn.explain("P(b)"), lcn.rank("P(b)"), lcn.query("P(b)")):
        assert "<svg" in view._repr_html_()
    assert "<svg" in (lcn.graph._repr_svg_() or "")


def test_a_meter_shows_an_interval_closing_and_goes_away(
    monkeypatch: pytest.MonkeyPatch, shell: InteractiveShell
):
    monkeypatch.setattr("credalog.notebook.PAUSE", 0.0)
    with capture_output() as captured, Meter("P(a < b)") as meter:
        meter(Progress("lower", 0.25, None, 0.5))
        meter(Progress("upper", 0.75, 0.5, 1.5))
        assert tuple(meter.interval) == (0.25, 0.75)
        meter(Round(3, 0.01, 10, 0.2))
    shown = [output.data["text/html"] for output in captured.outputs]
    assert "0.25 – 1" in shown[0]
    assert "P(a &lt; b)" in shown[0]


def test_a_meter_is_silent_where_nobody_sees_it(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shell.display_formatter, "active_types", ["text/plain"])
    with capture_output() as captured, Meter() as meter:
        meter(Progress("lower", 0.25, None, 0.5))
    assert not captured.outputs
    assert not captured.stdout


def test_a_meter_follows_questions_and_propagation():
    lcn = credalog.parse(MODEL)
    with capture_output():
        meter = Meter()
        assert lcn.query("P(b)", report=meter) == lcn.query("P(b)")
        assert lcn.propagate(report=meter) == lcn.propagate()
        meter.close()


def test_a_word_of_python_names_no_model(shell: InteractiveShell) -> None:
    with pytest.raises(credalog.CredalogError, match="class cannot name a model"):
        shell.run_cell_magic("lcn", "class", "P(a) = 0.3")
