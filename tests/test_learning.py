"""Learning from data: tables of every kind, counts with missing values, and three methods."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

import credalog
from credalog.cli import main
from credalog.errors import CredalogError
from credalog.learning.intervals import Recipe, Tally, clopper_pearson, wilson
from credalog.text.sheets import Sheet, csv_sheet, query_sheet, read_sheet, sheet_of

F = Fraction
FRAME = {"smoker": ["yes", "no", "yes", "yes", None, "no", "yes"], "cancer": [1, 0, 0, 1, 1, None, None]}


def learned(text: str, frame: object = None, **options: object) -> list[tuple[Fraction, Fraction]]:
    lcn = credalog.parse(text).learn(FRAME if frame is None else frame, **options)  # type: ignore[arg-type]
    return [(sentence.lower, sentence.upper) for sentence in lcn.sentences]


# ---- tables -----------------------------------------------------------------------------------------------


def cells(sheet: Sheet) -> dict[str, list[str]]:
    return {heading: column.texts() for heading, column in sheet.columns.items()}


@pytest.mark.parametrize(
    "text",
    [
        'a,b c,"d ""e"""\n1,x,"p,q"\n2,,"two\nlines"\n',
        'a;b c;"d ""e"""\n1;x;"p,q"\n\n2;;"two\nlines"',
        'a\tb c\t"d ""e"""\r\n1\tx\t"p,q"\r\n2\t\t"two\nlines"\r\n',
        '"a"|b c|"d ""e"""\n 1 | x |p,q\n2||"two\nlines"\n',
        "'a','b c','d \"e\"'\n'1','x','p,q'\n'2','','two\nlines'\n",
    ],
)
def test_a_file_is_read_whatever_separates_and_quotes_its_cells(text: str) -> None:
    sheet = csv_sheet(text, "t.csv")
    assert cells(sheet) == {"a": ["1", "2"], "b c": ["x", ""], 'd "e"': ["p,q", "two\nlines"]}
    assert sheet.source(1).line in (3, 4)


def test_a_heading_is_found_whatever_its_case_blanks_and_marks() -> None:
    sheet = csv_sheet(" Smoker ? ,Cancer(y/n),smokes,Smokes\n1,2,3,4\n", "t.csv")
    assert sheet.column("smoker").name == "Smoker ?"
    assert sheet.column("cancer_y_n").name == "Cancer(y/n)"
    assert sheet.column("smokes").name == "smokes"
    with pytest.raises(CredalogError, match="has no column smoking"):
        sheet.column("smoking")


@pytest.mark.slow
def test_frames_of_all_libraries_are_the_same_table(tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow, duckdb = pytest.importorskip("pyarrow"), pytest.importorskip("duckdb")
    from pyarrow import parquet

    data = {"n": [1, 2, None], "t": ["x", None, "y"], "b": [True, None, False], "f": [0.5, 2.0, None]}
    wanted = {"n": ["1", "2", ""], "t": ["x", "", "y"], "b": ["true", "", "false"], "f": ["0.5", "2", ""]}
    table = pyarrow.table(data)
    parquet.write_table(table, tmp_path / "t.parquet")
    frames = [data, pandas.DataFrame(data), polars.DataFrame(data), table, duckdb.from_arrow(table)]
    assert all(cells(sheet_of(frame)) == wanted for frame in frames)
    assert cells(read_sheet(tmp_path / "t.parquet")) == wanted
    query = query_sheet("select * from 't.parquet' where n = 1", folder=tmp_path)
    assert cells(query) == {"n": ["1"], "t": ["x"], "b": ["true"], "f": ["0.5"]}


def test_columns_and_rows_of_plain_python_are_a_table() -> None:
    rows = [{"smoker": "yes", "cancer": 1}, {"smoker": None}, {"cancer": False, "smoker": "no"}]
    columns = {"smoker": ["yes", None, "no"], "cancer": [1, None, False]}
    text = "P(cancer | smoker) = ?"
    assert learned(text, rows) == learned(text, columns) == [(F(1, 4), F(1))]
    rules = 'domain Doc from "scores.csv"\npredicate D(Doc)\nnumber lo(Doc) from "scores.csv"\n'
    rules += "forall d in Doc: P(D(d)) >= lo(d)"
    for scores in ({"Doc": ["d1"], "lo": [0.25]}, [{"Doc": "d1", "lo": 0.25}]):
        (sentence,) = credalog.parse(rules, data={"scores": scores}).sentences
        assert sentence.lower == F(1, 4)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"smoker": 1}, "1 is no column smoker"),
        ({"smoker": "yes"}, "'yes' is no column smoker"),
        ({"smoker": [1], "cancer": [1, 0]}, "different lengths"),
        ({"Smoker": [1], "smoking": [0]}, "no column cancer"),
        ({"smoker": [1, 2], "cancer": [1, 0]}, "'2' in the column smoker"),
        ([1, 2], "a list is no table"),
    ],
)
def test_what_is_no_table_is_said(frame: object, message: str) -> None:
    with pytest.raises(CredalogError, match=message):
        learned("P(cancer | smoker) = ?", frame)


def test_columns_of_pandas_and_polars_are_read_whatever_their_type() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    wanted = learned("P(a) = ?", {"a": [1, 0, None]})
    words = ["yes", "no", None]
    frames = [
        pandas.DataFrame({"a": pandas.array([1, 0, None], "Int64")}),
        pandas.DataFrame({"a": pandas.array([True, False, None], "boolean")}),
        pandas.DataFrame({"a": pandas.Categorical(words, categories=["maybe", "no", "yes"])}),
        pandas.DataFrame({"a": [1.0, 0.0, float("nan")]}),
        {"a": [pandas.NA, "1.0", 0]},
        polars.DataFrame({"a": polars.Series(words, dtype=polars.Categorical)}),
        polars.DataFrame({"a": words}).lazy(),
    ]
    assert all(learned("P(a) = ?", frame) == wanted for frame in frames)
    with pytest.raises(CredalogError, match="two columns a"):
        learned("P(a) = ?", pandas.DataFrame([[1, 0]], columns=["a", "a"]))
    with pytest.raises(CredalogError, match=r"'\[1\]' in the column a"):
        learned("P(a) = ?", pandas.DataFrame({"a": [[1], [0]]}))


@pytest.mark.parametrize(
    "written",
    [
        "a;Größe\n1;x\n0;y\n".encode("latin-1"),
        "a,b\r\n1,x\r\n0,y\r\n".encode("utf-16"),
        b"\xef\xbb\xbfa\tb\r1\tx\r0\ty\r",
        b"sep=;\na;b\n1;x\n0;y\n",
        b'a,b\n1.0,"1\n2"\n0.0,"3\n4"\n',
    ],
)
def test_what_spreadsheets_write_is_read(written: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(written)
    assert learned("P(a) = ?", tmp_path / "t.csv") == [(F(1, 4), F(3, 4))]


def test_the_file_of_a_spreadsheet_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"PK\x03\x04\x14\0\x06\0\x08\0\xff\xfe")
    with pytest.raises(CredalogError, match="is no text"):
        learned("P(a) = ?", tmp_path / "t.csv")


def test_a_mistake_is_placed_in_the_text_of_the_file(tmp_path: Path) -> None:
    # Quotes, line breaks inside them and a guard that drops rows do not lead the place astray.
    text = """domain Person = {Ann, Bob}
relation Adult(Person) = {Bob}
predicate Ca(Person)
forall x in Person where Adult(x): P(Ca(x)) = ?
"""
    (tmp_path / "t.csv").write_text('Person;note;Ca\nAnn;"a;\nb";1\nBob;"say ""hi""";maybe\n')
    with pytest.raises(CredalogError) as caught:
        learned(text, tmp_path / "t.csv")
    place = caught.value.place
    assert place is not None
    assert (place.line, place.text[place.column - 1 :]) == (4, "maybe")


def test_a_quote_that_is_not_closed_is_found_where_it_opens() -> None:
    with pytest.raises(CredalogError, match="is not CSV") as caught:
        csv_sheet('a,b\n1,2\n1,"2\n3,4\n5,6\n', "t.csv")
    assert caught.value.place is not None
    assert caught.value.place.line == 3


def test_the_cut_end_of_a_sample_does_not_hide_the_separator() -> None:
    rows = "".join(f"{i};0,5\n" for i in range(46))
    text = f'a;b\n{rows}46;"one\ntwo, three, four,\nfour"\n47;0,5\n'
    assert csv_sheet(text, "t.csv").columns.keys() == {"a", "b"}


def test_a_heading_for_what_is_not_learned_is_a_slip() -> None:
    with pytest.raises(CredalogError, match="given for smokr, of which nothing is learned"):
        learned("P(smoker) = ?", columns={"smokr": "smoker"})


def test_one_word_for_a_missing_value_needs_no_list() -> None:
    frame = {"a": ["unknown", 1]}
    assert learned("P(a) = ?", frame, missing="unknown") == learned("P(a) = ?", {"a": [None, 1]})


def test_a_model_and_a_table_exchanged_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, table = tmp_path / "m.lcn", tmp_path / "t.csv"
    model.write_text("P(a) = ?")
    table.write_text("a\n1\n")
    assert main(["learn", str(table), str(model)]) == 2
    assert "The model comes first" in capsys.readouterr().err


# ---- intervals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("s", [1, 2])
@pytest.mark.parametrize(("n", "rows"), [(0, 0), (0, 5), (3, 7), (9, 9)])
def test_the_dirichlet_model_is_its_formula(n: int, rows: int, s: int) -> None:
    found = Recipe.of("dirichlet", s=s).interval(Tally(n, rows - n))
    assert found == (F(n, rows + s), F(n + s, rows + s))


@pytest.mark.parametrize(("n", "rows"), [(0, 8), (1, 8), (5, 8), (8, 8), (30, 400)])
def test_clopper_and_pearson_s_ends_are_where_the_tails_are(n: int, rows: int) -> None:
    lower, upper = (float(end) for end in clopper_pearson(n, rows, 0.05))
    low = brentq(lambda p: binom.sf(n - 1, rows, p) - 0.025, 0, 1) if n else 0.0
    high = brentq(lambda p: binom.cdf(n, rows, p) - 0.025, 0, 1) if n < rows else 1.0
    assert (lower, upper) == pytest.approx((low, high), abs=1e-8)
    assert lower <= low + 1e-12
    assert upper >= high - 1e-12


@pytest.mark.parametrize(("n", "rows"), [(0, 8), (1, 8), (5, 8), (8, 8), (30, 400)])
def test_wilson_s_ends_are_where_the_score_test_begins_to_reject(n: int, rows: int) -> None:
    z = norm.isf(0.025)
    lower, upper = (float(end) for end in wilson(n, rows, 0.05))
    for end in (lower, upper):
        if 0 < end < 1:
            assert abs(n / rows - end) == pytest.approx(z * np.sqrt(end * (1 - end) / rows), abs=1e-7)
    assert lower <= n / rows <= upper


@pytest.mark.parametrize("interval", [clopper_pearson, wilson])
def test_no_row_gives_a_vacuous_interval(interval: object) -> None:
    assert interval(0, 0, 0.05) == (0, 1)  # type: ignore[operator]


def test_all_intervals_together_share_the_probability_of_a_miss() -> None:
    text = "P(cancer) = ?\nP(smoker) = ?\nP(cancer | smoker and !smoker) = ?"
    frame = {"smoker": ["y"] * 6 + ["n"] * 4, "cancer": [1] * 3 + [0] * 7}
    each = learned(text, frame, method="clopper_pearson", confidence="95%", simultaneous="bonferroni")
    assert each[:2] == [clopper_pearson(3, 10, 0.05 / 3), clopper_pearson(6, 10, 0.05 / 3)]
    # The condition of the third never holds, and its interval is never wrong.
    holm = learned(text, frame, method="clopper_pearson", confidence="95%", simultaneous="holm")
    assert holm == [clopper_pearson(3, 10, 0.05 / 2), clopper_pearson(6, 10, 0.05 / 2), (0, 1)]


# ---- missing values ---------------------------------------------------------------------------------------

METHODS: dict[str, Callable[[int, int], tuple[Fraction, Fraction]]] = {
    "dirichlet": lambda n, rows: (F(n, rows + 2), F(n + 2, rows + 2)),
    "clopper_pearson": lambda n, rows: clopper_pearson(n, rows, 0.05),
    "wilson": lambda n, rows: wilson(n, rows, 0.05),
}
FORMULAS: dict[tuple[str, str], tuple[Callable[..., bool], Callable[..., bool]]] = {
    ("a", "b"): (lambda a, b, c: a, lambda a, b, c: b),
    ("a or !a", "b"): (lambda a, b, c: True, lambda a, b, c: b),
    ("a xor b", "b or c"): (lambda a, b, c: a != b, lambda a, b, c: b or c),
    ("a", "true"): (lambda a, b, c: a, lambda a, b, c: True),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("formulas", FORMULAS)
def test_missing_values_are_all_that_they_could_be(formulas: tuple[str, str], method: str) -> None:
    draw = random.Random(f"{formulas}{method}")
    claim, given = FORMULAS[formulas]
    for _ in range(12):
        rows = [[draw.choice((True, False, None)) for _ in "abc"] for _ in range(draw.randint(0, 3))]
        rows += [[draw.choice((True, False)) for _ in "abc"] for _ in range(draw.randint(0, 4))]
        choices = [product(*([cell] if cell is not None else [True, False] for cell in row)) for row in rows]
        ends = []
        for completion in product(*map(list, choices)):
            held = [row for row in completion if given(*row)]
            ends.append(METHODS[method](sum(claim(*row) for row in held), len(held)))
        frame = {name: [row[i] for row in rows] for i, name in enumerate("abc")}
        text = f"P({formulas[0]} | {formulas[1]}) = ?"
        assert learned(text, frame, method=method) == [(min(e[0] for e in ends), max(e[1] for e in ends))]


def test_words_for_a_missing_value_are_known_unless_they_are_values() -> None:
    frame = {"pain": ["None", "mild", "NA", "unknown", ""]}
    text = "variable pain in {None, mild}\nP(pain = None) = ?"
    assert learned(text, frame, s=1, missing=["unknown"]) == [(F(1, 6), F(5, 6))]
    with pytest.raises(
        CredalogError, match="'unknown' in the column pain of the frame is no value of pain"
    ) as e:
        learned(text, frame)
    assert e.value.place is not None
    assert e.value.place.line == 4


# ---- what is learned --------------------------------------------------------------------------------------


def test_what_is_learned_remembers_how_and_reads_back() -> None:
    lcn = credalog.parse("P(cancer | smoker) = ?").learn(FRAME, method="wilson", confidence=0.9)
    assert credalog.parse(str(lcn)) == lcn
    told = lcn.sentences[0].to_dict()["learned"]
    assert told == {"n": [4, 5], "successes": [2, 4], "method": "wilson", "confidence": 0.9}
    assert "learned 2..4 of 4..5, wilson 90%" in str(lcn.explain("P(cancer | smoker)").to_dict())


def test_a_rule_about_all_elements_counts_the_rows() -> None:
    text = "domain Person\npredicate Ca(Person), Sm(Person)\nforall x in Person: P(Ca(x) | Sm(x)) = ?"
    lcn = credalog.parse(text).learn({"Ca": [1, 0, 1], "Sm": ["y", "y", "n"]})
    assert str(lcn.theory.rules[0].learned) == str(
        credalog.parse("P(Ca | Sm) = ?")
        .learn({"Ca": [1, 0, 1], "Sm": ["y", "y", "n"]})
        .theory.rules[0]
        .learned
    )
    grown = lcn.with_data({"Person": ["Tim", "Tom"]})
    assert {(s.lower, s.upper) for s in grown.sentences} == {(F(1, 4), F(3, 4))}


def test_a_guard_chooses_the_rows() -> None:
    text = """domain Person = {Ann, Bob, Cid}
relation Adult(Person) = {Ann, Bob}
predicate Ca(Person)
forall x in Person where Adult(x): P(Ca(x)) = ?
"""
    frame = {"Person": ["Ann", "Bob", "Cid", "Ann"], "Ca": [1, 0, 1, 1]}
    assert learned(text, frame)[0] == (F(2, 5), F(4, 5))
    with pytest.raises(CredalogError, match="no column x for the guard"):
        learned(text, {"Ca": [1, 0]})


def test_pairs_of_elements_have_columns_of_their_own() -> None:
    text = "domain P\npredicate F(P, P), S(P)\nforall x, y in P: P(S(x) <-> S(y) | F(x,y)) = ?"
    frame = {"S(x)": [1, 1, 0], "S(y)": [1, 0, 0], "F": [1, 1, 0]}
    rule = credalog.parse(text).learn(frame).theory.rules[0]
    assert rule.learned is not None
    assert (rule.learned.successes, rule.learned.rows) == ((1, 1), (2, 2))


def test_a_structure_is_learned_into_a_credal_network(tmp_path: Path) -> None:
    frame = {"Season": ["w", "s", "w", "w"], "rain": ["yes", "no", "no", "yes"]}
    lcn = credalog.LCN.structure({"rain": ["Season"]}, frame).learn(frame)
    assert [str(s).partition(" ;")[0] for s in lcn.sentences] == [
        "0 <= P(rain | Season = s) <= 2/3",
        "0.4 <= P(rain | Season = w) <= 0.8",
        "1/6 <= P(Season = s) <= 0.5",
    ]
    with pytest.raises(CredalogError, match="cycle"):
        credalog.LCN.structure({"rain": ["Season"], "Season": ["rain"]}, frame)
    (tmp_path / "net.bif").write_text(
        "network n { }\nvariable Season { type discrete [2] { s, w }; }\n"
        "variable rain { type discrete [2] { yes, no }; }\n"
        "probability ( Season ) { }\nprobability ( rain | Season ) { }\n"
    )
    (tmp_path / "data.csv").write_text("Season,rain\nw,yes\ns,no\nw,no\nw,yes\n")
    assert main(["learn", f"{tmp_path}/net.bif", f"{tmp_path}/data.csv", "-o", f"{tmp_path}/out.lcn"]) == 0
    written = credalog.load(tmp_path / "out.lcn")
    assert {(s.lower, s.upper) for s in written.sentences} == {(s.lower, s.upper) for s in lcn.sentences}


def test_the_command_tells_where_data_say_little(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.lcn").write_text("P(a | b) = ?\nP(b) = ?\n")
    (tmp_path / "d.csv").write_text("A;'B'\n1;0\n0;0\n")
    assert main(["learn", f"{tmp_path}/m.lcn", f"{tmp_path}/d.csv", "--column", "b='B'", "--json"]) == 0
    captured = capsys.readouterr()
    assert "has no row for P(a | b)" in captured.err
    assert '"n": [\n        0,\n        0\n      ]' in captured.out
    assert main(["check", f"{tmp_path}/m.lcn"]) == 0
    assert "2 statements wait for data" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "bayes"}, "there is no method bayes"),
        ({"s": -1}, "s = -1 is not positive"),
        ({"confidence": 0.9}, "the Dirichlet model has no confidence"),
        ({"method": "wilson", "confidence": 95}, "95 is no confidence"),
        ({"method": "wilson", "s": 1}, "s has no effect here"),
        ({"method": "wilson", "simultaneous": "sidak"}, "there is no correction sidak"),
    ],
)
def test_a_recipe_that_makes_no_sense_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(CredalogError, match=message):
        learned("P(cancer) = ?", **options)


def test_what_cannot_be_learned_is_said() -> None:
    with pytest.raises(CredalogError, match="nothing is to be learned"):
        learned("P(cancer) = 0.3")
    with pytest.raises(CredalogError, match="has no column canser"):
        learned("P(canser) = ?")
    with pytest.raises(CredalogError, match="no column tells it"):
        learned("domain D\nrelation R(D)\npredicate A(D)\nforall x in D: P(A(x) | R(x)) = ?", {"A": [1]})


@pytest.mark.slow
def test_many_rows_are_counted_like_few() -> None:
    draw = np.random.default_rng(1)
    codes = draw.integers(0, 3, (200_000, 2))
    frame = {name: np.array(["yes", "no", ""])[codes[:, i]] for i, name in enumerate(("a", "b"))}
    (found,) = learned("P(a | b) = ?", frame)
    a, b = codes.T
    certain, unknown = np.sum((a == 0) & (b == 0)), np.sum((a == 2) & (b != 1))
    few, failures = certain, np.sum((a == 1) & (b != 1)) + unknown
    assert found[0] == F(int(few), int(few + failures) + 2)


def test_what_is_learned_does_not_take_the_place_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    model, table = tmp_path / "model.lcn", tmp_path / "cases.csv"
    model.write_text("P(a) = ?\n")
    table.write_text("a\ntrue\nfalse\n")
    assert main(["learn", str(model), str(table), "-o", str(model)]) == 2
    assert "is the model itself" in capsys.readouterr().err
    assert model.read_text() == "P(a) = ?\n"
