"""Slips in .lcn texts whose form is right: each is told what it was meant to be, and where it stands."""

from pathlib import Path

import pytest

import credalog
from credalog import CredalogError, LanguageError
from credalog.errors import Place


def test_a_number_above_one_that_was_given_in_per_cent_is_not_advised_to_be_per_cent() -> None:
    with pytest.raises(LanguageError) as caught:
        credalog.parse("P(a) = 150%")
    assert "1.5%" not in caught.value.advice


@pytest.mark.parametrize(
    ("text", "message", "advice", "column"),
    [
        ("Pr(a) = 0.3", "a probability is written P(...)", "capital P", 1),
        ("P(a) = nan", "nan is no number", "30%", 8),
        ("P(a) = None", "None is no number", "? for data to tell", 8),
        ("P(a) = 1e400", "1e400 is no number to compute with", "Write 0.3, 1/3 or 30%.", 8),
        ("P(a) = ½", "½ is no number", "1/2", 8),
        ("let e = 0.1\nP(e) = 0.3", "e is not a predicate", "another name", 3),
        ("P(e\N{COMBINING ACUTE ACCENT}) = 0.3", "apart from its letter, U+0301", "normal form C", 4),
        ("P(a) =\n0.3", "ends too early", "a bracket is still open", 7),
        ("P(a) = [0.1, 0.3)", "bounds are closed", "[0.1, 0.2]", 17),
        ("P(a) = (0.1, 0.3]", "bounds are closed", "[0.1, 0.2]", 8),
        ("P(a) = ]0.1, 0.3[", "bounds are closed", "[0.1, 0.2]", 8),
        ("P(a) =\f 0.3;", "of another kind, U+000C", "press Enter", 7),
        ("P(a) = 0.3 P(b) = 0.4", "an equality stands", "a line of its own", 6),
        ("P(a = yes) >= 0.1", "a is neither bound", "variable a in {red, green}", 3),
    ],
)
def test_what_reads_as_something_else_is_told_what_it_was_meant_to_be(
    text: str, message: str, advice: str, column: int
) -> None:
    with pytest.raises(CredalogError) as caught:
        credalog.parse(text).ground()
    assert message in caught.value.message
    assert advice in caught.value.advice
    assert caught.value.place is not None
    assert caught.value.place.column == column


def test_the_place_of_a_byte_that_is_not_utf_8_is_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "old.lcn").write_bytes(b"P(b) = 0.3\nP(caf\xe9) = 0.3\n")
    with pytest.raises(LanguageError) as caught:
        credalog.load(tmp_path / "old.lcn")
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (2, 6)
    assert caught.value.place.text == "P(café) = 0.3"


def test_characters_that_command_a_terminal_are_not_sent_to_it() -> None:
    with pytest.raises(LanguageError) as caught:
        credalog.parse("P(a\x1b[31m) = 0.3")
    assert "\x1b" not in str(caught.value)
    assert "P(a\N{REPLACEMENT CHARACTER}[31m) = 0.3" in str(caught.value)


@pytest.mark.parametrize("name", ["true", "False", '"true"'])
def test_a_variable_is_not_named_like_a_constant(name: str) -> None:
    # `true = a` is the proposition a: a variable of that name would never be meant.
    with pytest.raises(CredalogError) as caught:
        credalog.parse(f"variable {name} in {{a, b}}\nP({name} = a) = 0.3").ground()
    assert "is a constant" in caught.value.message
    assert caught.value.place is not None
    assert caught.value.place.line == 1


@pytest.mark.parametrize("order", [1, -1])
def test_a_value_is_not_taken_for_a_proposition_of_its_name(order: int) -> None:
    lines = ["P(C = red) = 0.2", "P(red) = 0.3"][::order]
    with pytest.raises(LanguageError) as caught:
        credalog.parse("\n".join(["variable C in {red, green}", *lines]))
    assert caught.value.message == "red is a value, not a formula"
    assert "write C = red" in caught.value.advice


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("before", ["", "proposition b\n"])
def test_a_letter_may_name_a_value_and_a_proposition(order: int, before: str) -> None:
    lines = ["P(C = b) = 0.2", "0.3 <= P(b) <= 0.4"][::order]
    lcn = credalog.parse(before + "\n".join(["variable C in {r, g, b}", *lines]))
    assert credalog.parse(str(lcn)) == lcn
    assert lcn.query("P(C = b)").upper == pytest.approx(0.2, abs=1e-6)
    assert lcn.query("P(b)").lower == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize("before", [0, 90, 5_000])
@pytest.mark.parametrize("after", [0, 90, 5_000])
def test_a_caret_in_a_long_line_stands_under_its_character_and_is_seen(before: int, after: int) -> None:
    place = Place(1, before + 1, "a" * before + "!" + "b" * after)
    _, shown, caret = str(place).split("\n")
    assert shown[caret.index("^")] == "!"
    assert len(shown) < 180


@pytest.mark.parametrize("suffix", [".bif", ".uai"])
def test_a_text_of_ours_under_a_name_of_others_is_told_its_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    path.write_text("# what we know\n0.2 <= P(a) <= 0.3\n")
    with pytest.raises(LanguageError) as caught:
        credalog.load(path)
    assert str(path.with_suffix(".lcn")) in caught.value.advice


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ('domain D from "table.csv"', "1\n2\n"),
        ('domain D = {u, v}\nrelation R(D, D) from "table.csv"', "u,v\nv,u\n"),
        ('domain D = {u, v}\nfunction f(D) in D from "table.csv"', "u,v\nv,u\n"),
        ('domain D = {u, v}\nnumber w(D) from "table.csv"', "u,0.3\nv,0.4\n"),
    ],
)
def test_the_first_row_of_a_table_without_headings_is_not_lost(
    tmp_path: Path, statement: str, table: str
) -> None:
    (tmp_path / "model.lcn").write_text(f"{statement}\nP(a) = 0.3\n")
    (tmp_path / "table.csv").write_text(table)
    with pytest.raises(LanguageError) as caught:
        credalog.load(tmp_path / "model.lcn")
    assert "holds no headings" in caught.value.message
    headings = caught.value.advice.split(": ")[1]
    (tmp_path / "table.csv").write_text(f"{headings}\n{table}")
    credalog.load(tmp_path / "model.lcn").ground()


@pytest.mark.parametrize(
    ("lines", "data"),
    [
        ("number w(D) = {u: 0.2, u: 0.5}", {}),
        ("number w(D) = {u: 0.2}\nw(u) = 0.5", {}),
        ("number w(D) = {u: 0.2}", {"w": {"u": 0.5}}),
        ("number w(D)", {"w": [["u", 0.2], ["u", 0.5]]}),
    ],
)
def test_two_numbers_for_one_element_are_refused(lines: str, data: dict[str, object]) -> None:
    text = f"domain D = {{u}}\npredicate Q(D)\n{lines}\nP(Q(u)) = w(u)"
    with pytest.raises(LanguageError) as caught:
        credalog.parse(text, data=data).ground()
    assert "w(u) is given two numbers" in caught.value.message


def test_a_number_said_twice_alike_is_said_once() -> None:
    text = "domain D = {u}\npredicate Q(D)\nnumber w(D) = {u: 0.2}\nw(u) = 1/5\nP(Q(u)) = w(u)"
    assert credalog.parse(text, data={"w": {"u": "20%"}}).query("P(Q(u))").upper == pytest.approx(0.2)


def test_a_cell_that_is_no_number_may_be_empty(tmp_path: Path) -> None:
    (tmp_path / "model.lcn").write_text('domain D = {u}\nnumber w(D) from "w.csv"\n')
    (tmp_path / "w.csv").write_text("D,w\nu,NA\n")
    with pytest.raises(LanguageError) as caught:
        credalog.load(tmp_path / "model.lcn")
    assert "leave the cell empty" in caught.value.advice


def test_an_empty_network_is_told_that_it_may_be_cut_off(tmp_path: Path) -> None:
    (tmp_path / "net.bif").write_text("")
    with pytest.raises(LanguageError) as caught:
        credalog.load(tmp_path / "net.bif")
    assert "cut off" in caught.value.advice
