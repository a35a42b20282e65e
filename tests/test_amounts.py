"""Numbers in the language: constants, arithmetic, rows, tables, and numbers from files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import credalog
from credalog.errors import CredalogError
from credalog.network.sentences import Estimate
from credalog.text.parse import read
from credalog.text.unparse import unparse
from credalog.theory import (
    YES,
    Amount,
    Application,
    Arithmetic,
    Assessment,
    Computed,
    Constant,
    FamilyTable,
    Gap,
    Name,
    NumberFunction,
    RandomFunction,
    Row,
    Rule,
    Spread,
    Theory,
)

F = Fraction

CONSTANTS = "let eps = 0.05\nlet third = 1/3\nlet w = 2 * third - eps\n"


def bounds(text: str, before: str = CONSTANTS) -> tuple[Fraction, Fraction]:
    (sentence,) = credalog.parse(before + text).sentences
    return sentence.lower, sentence.upper


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("P(a) >= 0.3 * w", F("0.3") * (F(2, 3) - F("0.05")), 1),
        ("P(a) = 0.3 ± 0.05", F("0.25"), F("0.35")),
        ("P(a) = 0.3 +- 5%", F("0.25"), F("0.35")),
        ("P(a) = 0.3 +/- eps", F("0.25"), F("0.35")),
        ("P(a) = third", F(1, 3), F(1, 3)),
        (
            "third - eps <= P(a) <= (third + eps) / 2 + third",
            F(1, 3) - F(1, 20),
            F(1, 3) * F(3, 2) + F(1, 40),
        ),
        ("P(a) = 0.02 ± 0.05", 0, F("0.07")),
        ("P(a) = 97% ± eps", F("0.92"), 1),
        ("eps * 4 >= P(a)", 0, F("0.2")),
        ("2 P(a) = 0.3 ± 0.1", F("0.1"), F("0.2")),
        ("third * P(a) <= 0.1", 0, F("0.3")),
        ("P(a) = [eps, 2 * eps]", F("0.05"), F("0.1")),
        ("P(a) <= 1 - (1 - 0.1) * (1 - 0.2)", 0, F("0.28")),
    ],
)
def test_arithmetic_in_bounds_is_exact(text: str, lower: Fraction, upper: Fraction) -> None:
    assert bounds(text) == (lower, upper)


def test_weights_of_a_linear_sentence_may_be_computed() -> None:
    (sentence,) = credalog.parse(f"{CONSTANTS}w * P(a) - third P(b) <= eps").sentences
    assert [weight for weight, _ in sentence.claims] == [F(2, 3) - F(1, 20), -F(1, 3)]
    assert sentence.upper == F(1, 20)


@pytest.mark.parametrize(
    ("text", "message", "advice", "column"),
    [
        ("P(a) >= 0.3 * wW", "there is no constant wW", "Did you mean w", 15),
        ("P(a) >= 0.3 * third2", "there is no constant third2", "third", 15),
        ("P(a) >= 3 * third + eps", "1.05 is not a probability", "between 0 and 1", 1),
        ("P(a) >= eps - third", "-0.283333 is not a probability", "between 0 and 1", 1),
        ("third <= P(a) <= eps", "the lower bound 0.333333 exceeds the upper bound 0.05", "Exchange", 1),
        ("P(a) <= 1 / (third - 1/3)", "divided by zero", "below the line", 11),
        ("P(a) <= ?", "? needs one probability and an equals sign", "P(a | b) = ?", 6),
        ("P(a) <= 0.3 ± 0.1", "an interval follows <=", "equals sign", 6),
        ("P(a) * P(b) <= 0.1", "two probabilities are multiplied", "linear", 6),
        ("0.1 / P(a) <= 0.1", "divided by a probability", "linear", 5),
        ("eps <= 0.1", "a formula stands there without P(...)", "P(...)", 1),
        ("let x = P(a)", "a probability stands in a constant", "numbers", 9),
        ("let x = x + 1\nP(a) <= x", "the constant x is defined by itself", "", 9),
        ("number f = {a: 0.1}", "the domains of f are missing", "let eps", 8),
        ("P(a) <= w(b)", "there is no table of numbers w", "Declare it", 9),
    ],
)
def test_a_mistake_in_arithmetic_is_placed(text: str, message: str, advice: str, column: int) -> None:
    with pytest.raises(CredalogError) as caught:
        credalog.parse(CONSTANTS + text)
    assert message in caught.value.message
    assert advice in caught.value.advice
    assert caught.value.place is not None
    assert caught.value.place.column == column


# ---- rows and tables --------------------------------------------------------------------------------------

WEATHER = "variable Season in {winter, summer}\nvariable Weather in {sun, rain, snow}\npredicate wet\n"


def said(text: str) -> list[str]:
    return [str(sentence) for sentence in credalog.parse(WEATHER + text).sentences]


def test_a_row_is_a_sentence_for_each_value_that_is_not_the_rest() -> None:
    assert said("P(Weather | Season = winter) = (0.2, 0.3 ± 0.1, rest)") == [
        "P(Weather = sun | Season = winter) = 0.2",
        "0.2 <= P(Weather = rain | Season = winter) <= 0.4",
    ]
    assert said("r: P(Weather) = (1/3, 1/3, 1/3)") == [
        "r.sun: P(Weather = sun) = 1/3",
        "r.rain: P(Weather = rain) = 1/3",
    ]
    assert said("P(wet) = (0.2, rest)") == ["P(wet) = 0.2"]


def test_the_row_says_what_its_sentences_say() -> None:
    lcn = credalog.parse(f"{WEATHER}P(Weather) = (0.2, 0.3 ± 0.1, rest)")
    answer = lcn.query("P(Weather = snow)")
    assert (answer.lower, answer.upper) == pytest.approx((0.4, 0.6))


def test_a_table_has_a_row_for_each_configuration_of_the_parents() -> None:
    text = "table Weather | Season, wet = {(winter, true): (0, 0.5, rest), (summer, false): (0.9, 0.1, 0)}"
    assert said(text) == [
        "P(Weather = sun | Season = winter and wet) = 0",
        "P(Weather = rain | Season = winter and wet) = 0.5",
        "0 <= P(Weather = sun | Season = winter and !wet) <= 1",
        "0 <= P(Weather = sun | Season = summer and wet) <= 1",
        "P(Weather = sun | Season = summer and !wet) = 0.9",
        "P(Weather = rain | Season = summer and !wet) = 0.1",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("P(Weather) = (0.2, 0.3)", "the row has 2 entries, and Weather has 3 values"),
        ("P(Weather) = (0.2, 0.3, 0.4)", "sum to 0.9, not to 1"),
        ("P(Weather) = (0.8, 0.3, rest)", "sum to 1.1, not to 1"),
        ("P(Weather) = (0.2, rest, rest)", "two entries of a row are the rest"),
        ("P(Weather = sun) = (0.2, 0.8)", "the distribution of one variable"),
        ("table Weather | Season = {autumn: (0.2, rest, 0)}", "Season has no value autumn"),
        ("table Weather | Season = {(winter, true): (0.2, rest, 0)}", "a row is for 2 values"),
        ("table Weather | Season = (0.2, rest, 0)", "one row stands for all values of the parents"),
        ("table Weather | Season = {winter: (1, 0, 0), winter: (0, 1, 0)}", "two rows for winter"),
    ],
)
def test_a_row_that_no_distribution_fits_is_refused(text: str, message: str) -> None:
    with pytest.raises(CredalogError) as caught:
        credalog.parse(WEATHER + text).ground()
    assert message in caught.value.message
    assert caught.value.place is not None


def test_rows_hold_for_all_instances() -> None:
    text = "domain Day = 1..2\nvariable W(Day) in {sun, rain, snow}\n"
    text += "r: forall d in Day: P(W(d)) = (0.2, 0.5, rest)"
    lcn = credalog.parse(text)
    assert [s.label for s in lcn.sentences] == ["r.sun[1]", "r.sun[2]", "r.rain[1]", "r.rain[2]"]


@pytest.mark.parametrize(
    "table",
    [
        "Season,sun,rain,snow\nwinter,0.2,0.3 ± 0.1,rest\nsummer,70%,[0.1; 0.2],\n",
        "snow;rain;Season;sun\nrest;0.2..0.4;winter;0.2\nrest;[0.1,0.2];summer;0.7\n",
        "Season;sun;rain;snow\nwinter;0,2;0,3 +- 0,1;rest\nsummer;0,7;0,1..0,2;rest\n",
        "Season,Weather,lower,upper\nwinter,sun,0.2,0.2\nwinter,rain,0.2,0.4\nsummer,sun,.7,.7\nsummer,rain,.1,.2\n",
    ],
)
def test_a_table_is_read_from_a_file_in_any_form(table: str, tmp_path: Path) -> None:
    (tmp_path / "weather.csv").write_text(table)
    (tmp_path / "model.lcn").write_text(f'{WEATHER}table Weather | Season from "weather.csv"')
    inside = "table Weather | Season = {winter: (0.2, 0.3 ± 0.1, rest), summer: (0.7, [0.1, 0.2], rest)}"
    assert credalog.load(tmp_path / "model.lcn").sentences == credalog.parse(WEATHER + inside).sentences


@pytest.mark.parametrize(
    ("table", "message", "line"),
    [
        ("Season,sun,rain\nwinter,0.2,0.3\n", "has no column snow for a value", 1),
        ("Season,sun,rain,snow\nwinter,0.2,0.3,0.5\nsummer,much,0.3,0.5\n", "'much' in the column sun", 3),
        ("Season,sun,rain,snow\nwinter,0.2,0.3,0.5\nwinter,0.2,0.3,0.5\n", "two rows for winter", 3),
        ("Season,Weather,p\nwinter,sun,1\nwinter,hail,0\n", "hail is no value", 3),
    ],
)
def test_a_mistake_in_a_table_is_placed_there(table: str, message: str, line: int, tmp_path: Path) -> None:
    (tmp_path / "weather.csv").write_text(table)
    (tmp_path / "model.lcn").write_text(f'{WEATHER}table Weather | Season from "weather.csv"')
    with pytest.raises(CredalogError) as caught:
        credalog.load(tmp_path / "model.lcn")
    assert message in caught.value.message
    assert caught.value.place is not None
    assert (Path(caught.value.place.file).name, caught.value.place.line) == ("weather.csv", line)


@pytest.mark.parametrize("row", ["0.9,0.3,rest", "0.2,0.3,0.4", "0.5,0.4..0.2,rest", "0.5,1.2,rest"])
def test_a_row_that_no_distribution_fits_is_named(row: str, tmp_path: Path) -> None:
    (tmp_path / "weather.csv").write_text(f"Season,sun,rain,snow\nwinter,0.2,0.3,0.5\nsummer,{row}\n")
    (tmp_path / "model.lcn").write_text(f'{WEATHER}table Weather | Season from "weather.csv"')
    with pytest.raises(CredalogError, match=r"in .*weather\.csv:3"):
        credalog.load(tmp_path / "model.lcn").ground()


def test_a_table_may_come_from_a_frame() -> None:
    frame = {"Season": ["winter", "summer"], "sun": [0.2, 0.7], "rain": [0.3, 0.1], "snow": [0.5, 0.2]}
    pandas = pytest.importorskip("pandas")
    text = f'{WEATHER}table Weather | Season from "weather"'
    lcn = credalog.parse(text, data={"weather": pandas.DataFrame(frame)})
    assert lcn.query("P(Weather = sun | Season = summer)").lower == pytest.approx(0.7)


# ---- numbers from tables ----------------------------------------------------------------------------------

SCORES = '"Doc","Claim",lo,hi,note\nd1,c1,0.6,0.8,"fine, thanks"\nd2,c1,30%,1/2,\nd1,c2,0.1,0.3,x\n'
LINKS = """domain Doc from "scores.csv"
domain Claim from "scores.csv"
predicate C(Claim), D(Doc)
relation Link(Doc, Claim) from "scores.csv"
number lo(Doc, Claim), hi(Doc, Claim) from "scores.csv"
link: forall d in Doc, c in Claim where Link(d, c): lo(d,c) <= P(C(c) | D(d)) <= hi(d,c)
"""


def linked(folder: Path, scores: str = SCORES, rules: str = LINKS) -> credalog.LCN:
    (folder / "scores.csv").write_text(scores)
    (folder / "model.lcn").write_text(rules)
    return credalog.load(folder / "model.lcn")


def test_each_row_has_its_own_bound_and_its_place(tmp_path: Path) -> None:
    lcn = linked(tmp_path)
    found = {s.label: (s.lower, s.upper, s.source.rows[0].line if s.source else 0) for s in lcn.sentences}
    assert found == {
        "link[d1,c1]": (F("0.6"), F("0.8"), 2),
        "link[d1,c2]": (F("0.1"), F("0.3"), 4),
        "link[d2,c1]": (F("0.3"), F("0.5"), 3),
    }


def test_a_conflict_and_an_explanation_name_the_row(tmp_path: Path) -> None:
    lcn = linked(tmp_path, rules=f"{LINKS}P(D(d1)) = 1\nP(D(d2)) = 1")
    diagnosis = lcn.diagnose()
    assert "scores.csv:2" in str(diagnosis.to_dict())
    assert "scores.csv:3" in str(diagnosis.to_dict())
    single = linked(tmp_path, scores="Doc,Claim,lo,hi\nd1,c1,0.6,0.8\n", rules=f"{LINKS}P(D(d1)) = 1")
    assert "scores.csv:2" in str(single.explain("P(C(c1))").to_dict())


def test_a_weight_may_name_the_row(tmp_path: Path) -> None:
    lcn = linked(tmp_path, rules=f"{LINKS}P(D(d1)) = 1\nP(D(d2)) = 1")
    repair = lcn.diagnose(weights={"scores.csv:2": 9.0}).repair
    assert repair is not None
    assert "link[d1,c1]" not in {change.before.label for change in repair.changes}


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ("Doc,Claim,lo,hi\nd1,c1,0.9,0.8\n", "exceeds the upper bound 0.8, with the numbers of"),
        ("Doc,Claim,lo,hi\nd1,c1,0.9,1.8\n", "1.8 is not a probability, with the numbers of"),
        ("Doc,Claim,lo,hi\nd2,c1,0.1,1\nd1,c1,0.1,\n", "hi has no number for d1, c1"),
        ("Doc,Claim,lo,hi\nd1,c1,0.1,high\n", "'high' in the column hi of"),
        ("Doc,Claim,low,hi\nd1,c1,0.1,0.2\n", "has no column lo"),
        ("Doc,Claim,lo,hi\nd1,c1,0.1,0.2\nd1,c1,0.2,0.2\n", "lo(d1, c1) is given two numbers"),
        ("Doc,Claim,lo,hi\nd1,,0.1,0.2\n", "a cell in the column Claim of"),
        ("Doc,Claim,lo,hi\nd1,c1,0.1\n", "has 3 cells and not 4"),
        ("Doc,Claim,lo,lo\nd1,c1,0.1,0.1\n", "two columns lo"),
        ('Doc,Claim,lo,hi\n"d1,c1,0.1,0.2\n', "is not CSV"),
    ],
)
def test_what_is_wrong_in_a_table_of_numbers_names_the_file(
    scores: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(CredalogError) as caught:
        linked(tmp_path, scores).ground()
    assert message in caught.value.message
    assert "scores.csv" in str(caught.value)


def test_numbers_may_be_listed_and_added_line_by_line() -> None:
    text = "domain D = {a, b, c}\npredicate Q(D)\nnumber f(D) = {a: 1/3, b: 20%}\nf(c) = 0.5\n"
    lcn = credalog.parse(f"{text}forall x in D: P(Q(x)) <= f(x)")
    assert [s.upper for s in lcn.sentences] == [F(1, 3), F(1, 5), F(1, 2)]
    assert credalog.parse(str(lcn)) == lcn


def test_numbers_come_from_python_and_from_a_folder_too(tmp_path: Path) -> None:
    text = "domain D\npredicate Q(D)\nnumber f(D)\nforall x in D: P(Q(x)) <= f(x)"
    (tmp_path / "D.csv").write_text("D\na\nb\n")
    (tmp_path / "f.csv").write_text("D;f\na;0,25\nb;1\n")
    (tmp_path / "unrelated.csv").write_text("x\n")
    inside = credalog.parse(text, data={"D": ["a", "b"], "f": {"a": "1/4", "b": 1}})
    listed = credalog.parse(text, data={"D": ["a", "b"], "f": [["a", 0.25], ["b", 1]]})
    assert inside.sentences == listed.sentences == credalog.parse(text, data=tmp_path).sentences


def test_a_relation_of_a_sort_to_itself_needs_its_columns_named(tmp_path: Path) -> None:
    rules = 'domain D = {a, b}\nrelation R(D, D) from "scores.csv"{}\npredicate Q(D)\n'
    rules += "forall x, y in D where R(x, y): P(Q(y) | Q(x)) >= 0.5"
    with pytest.raises(CredalogError, match="has no column D"):
        linked(tmp_path, "source,note,target\na,x,b\n", rules.replace("{}", ""))
    lcn = linked(tmp_path, "source,note,target\na,x,b\n", rules.replace("{}", " columns source, target"))
    assert [str(s) for s in lcn.sentences] == ["0.5 <= P(Q(b) | Q(a)) <= 1"]


# ---- reading back -----------------------------------------------------------------------------------------

numbers = st.fractions(min_value=0, max_value=1, max_denominator=30)


def amounts() -> st.SearchStrategy[Amount]:
    names: list[Amount] = [Name("eps"), Name("let"), Application("f", (Name("a"),))]
    leaves: st.SearchStrategy[Amount] = st.one_of(numbers, st.sampled_from(names))
    return st.recursive(leaves, _joined, max_leaves=4)


def _joined(parts: st.SearchStrategy[Amount]) -> st.SearchStrategy[Amount]:
    operations = st.sampled_from("+-*/")
    made = st.builds(Arithmetic, operations, parts, parts)
    # Two numbers are computed when they are read.
    return made.filter(lambda one: not _is_computed(one))


def _is_computed(one: Arithmetic) -> bool:
    neutral = (one.right == 0 and one.operation in "+-") or (one.right == 1 and one.operation in "*/")
    first = (one.left == 0 and one.operation == "+") or (one.left == 1 and one.operation == "*")
    return (isinstance(one.left, Fraction) and isinstance(one.right, Fraction)) or neutral or first


spreads = st.tuples(amounts(), amounts()).map(lambda ends: Spread(*ends))
entries = st.one_of(spreads, st.sampled_from([Gap.REST, Gap.WANTED]))
rows = st.lists(entries, min_size=2, max_size=3).map(tuple)
tallies = st.tuples(st.integers(0, 9), st.integers(10, 20))
estimates = st.builds(
    Estimate,
    tallies,
    tallies,
    st.sampled_from(["wilson", "clopper_pearson"]),
    numbers,
    st.just("bonferroni"),
    st.integers(1, 9),
)
bodies = st.one_of(
    st.builds(Row, st.just(Name("W")), st.just(YES), rows),
    st.builds(
        FamilyTable,
        st.just(Name("W")),
        st.just((Name("S"), Name("T"))),
        st.lists(st.tuples(st.just(("x", "true")), rows), min_size=1, max_size=2).map(tuple),
    ),
    st.builds(FamilyTable, st.just(Name("W")), st.just(()), st.just(()), rows),
    amounts()
    .filter(lambda a: not isinstance(a, Fraction))
    .map(lambda a: Computed(((F(1), Name("q")),), Name("r"), a, None)),
    st.tuples(numbers, amounts())
    .filter(lambda ends: not isinstance(ends[1], Fraction))
    .map(lambda e: Computed(((e[1], Name("q")),), YES, e[0], e[1])),
)


@pytest.mark.slow
@settings(max_examples=60, phases=[Phase.explicit, Phase.generate])
@given(st.lists(st.builds(Rule, bodies, learned=st.one_of(st.none(), estimates)), max_size=3), amounts())
def test_computed_bodies_read_back(rules: list[Rule], value: Amount) -> None:
    kept = [rule for rule in rules if rule.learned is None or isinstance(rule.assessment, Computed | Row)]
    theory = Theory(
        declarations=(
            Constant("eps", value),
            NumberFunction("f", ("D",), ((("a",), F(1, 3)),)),
            RandomFunction("W", ("x", "y")),
        ),
        rules=tuple(kept),
    )
    assert read(unparse(theory)) == theory


def test_what_is_wanted_reads_back_and_says_nothing() -> None:
    lcn = credalog.parse(
        f"{WEATHER}P(wet | Season = winter) = ?\nP(Weather | wet) = ?\ntable Weather | Season = ?"
    )
    assert credalog.parse(str(lcn)) == lcn
    assert lcn.wanted == 3
    assert all(sentence.is_vacuous for sentence in lcn.sentences)
    assert isinstance(lcn.theory.rules[0].assessment, Assessment)


def test_numbers_may_be_computed_across_conditions() -> None:
    lcn = credalog.parse("let eps = 0.05\nP(a | c) >= P(a | !c) + eps\nP(c) = 0.5\nP(a) = 0.4")
    assert credalog.parse(str(lcn)) == lcn
    # Of x and y with mean 0.4, the first is the greater by 0.05.
    answer = lcn.query("P(a | c)")
    assert (answer.lower, answer.upper) == pytest.approx((0.425, 0.8), abs=1e-4)
    text = "domain D = {x, y}\nnumber f(D) = {x: 0.1, y: 0.2}\npredicate A(D), C(D)\n"
    each = credalog.parse(f"{text}forall d in D: P(A(d) | C(d)) - P(A(d) | !C(d)) >= f(d)")
    assert [contrast.lower for contrast in each.ground().contrasts] == [F("0.1"), F("0.2")]
    assert credalog.parse(str(each)) == each
