"""Readers for UAI and BIF: what files say, what they may get wrong, and who else reads them alike."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from time import perf_counter

import pytest

import credalog
from credalog.errors import CredalogError, LanguageError, UnknownName
from credalog.methods.answer import Options
from credalog.methods.vertices import sets
from credalog.network.formulas import conjunction, scope, truth_table
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, Query
from credalog.tables.credal import CredalNetwork, credal_network
from credalog.text.readers import read, read_bif, read_uai
from credalog.text.tokens import Tokens

F = Fraction
CREPO = Path(__file__).parents[1] / ".." / "shared" / "data" / "crepo" / "vmodel"

VERTICES = """V-CREDAL
2
3 2
2
1 0
2 0 1

6
0.2 0.3 0.5
0.4 0.1 0.5

4
0.1 0.9
0.3 0.7
2
0.5 0.5
4
0 1
1 0
"""

INEQUALITIES = """H-CREDAL
2
2 2
2
1 0
2 0 1
4
1 0 -1 0
2
0.6 -0.2
8
1 0 0 0
0 0 0 -1
2
0.5 -0.25
"""


def credal(network: Network) -> CredalNetwork:
    found = credal_network(network, dependency_graph(network))
    assert found is not None
    return found


def test_vertices_of_a_file_are_the_vertices_of_the_network() -> None:
    network = credal(read_uai(VERTICES))
    assert network.parents == ((), (0,))
    assert set(network.vertices(0, ())) == {(F(1, 5), F(3, 10), F(1, 2)), (F(2, 5), F(1, 10), F(1, 2))}
    assert set(network.vertices(1, (0,))) == {(F(1, 10), F(9, 10)), (F(3, 10), F(7, 10))}
    assert network.vertices(1, (1,)) == ((F(1, 2), F(1, 2)),)


def test_a_vacuous_set_still_depends_on_its_parents() -> None:
    only_vacuous = VERTICES.replace("0.1 0.9\n0.3 0.7", "0 1\n1 0").replace("2\n0.5 0.5", "4\n0 1\n1 0")
    network = credal(read_uai(only_vacuous))
    assert network.parents[1] == (0,)
    assert set(network.vertices(1, (2,))) == {(F(0), F(1)), (F(1), F(0))}


def test_the_last_parent_changes_fastest() -> None:
    rows = "\n".join(f"2\n0.{k} 0.{10 - k}" for k in range(1, 7))
    text = f"V-CREDAL\n3\n2 3 2\n3\n1 0\n1 1\n3 0 1 2\n2\n0.5 0.5\n3\n0.2 0.3 0.5\n{rows}\n"
    network = credal(read_uai(text))
    for number, states in enumerate(product(range(2), range(3)), start=1):
        assert network.vertices(2, states)[0][0] == F(number, 10)


def test_rounded_vertices_are_divided_by_their_sum() -> None:
    network = credal(read_uai("V-CREDAL\n1\n3\n1\n1 0\n3\n0.333 0.333 0.333\n"))
    assert network.vertices(0, ()) == ((F(1, 3), F(1, 3), F(1, 3)),)


def test_inequalities_of_a_file_are_the_rows_of_the_network() -> None:
    network = credal(read_uai(INEQUALITIES))
    assert set(network.vertices(0, ())) == {(F(1, 5), F(4, 5)), (F(3, 5), F(2, 5))}
    assert set(network.vertices(1, (0,))) == {(F(0), F(1)), (F(1, 2), F(1, 2))}
    assert set(network.vertices(1, (1,))) == {(F(0), F(1)), (F(3, 4), F(1, 4))}


def test_older_files_that_list_the_child_first_are_recognised() -> None:
    text = INEQUALITIES.replace("2 0 1\n4", "2 1 0\n4")
    assert credal(read_uai(text)).parents == ((), (0,))


def test_a_point_valued_file_is_read_as_equalities() -> None:
    network = read_uai("BAYES\n2\n2 2\n2\n1 0\n2 0 1\n2\n0.3 0.7\n4\n0.1 0.9\n0.6 0.4\n")
    assert [(s.lower, s.upper) for s in network.sentences] == [(F(k, 10),) * 2 for k in (3, 1, 6)]


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (VERTICES.replace("V-CREDAL", "W-CREDAL"), "unknown type", 1),
        (VERTICES.replace("3 2\n2\n1 0", "3 zwei\n2\n1 0"), "zwei", 3),
        (VERTICES.replace("2 0 1", "2 0 7"), "no variable 7", 6),
        (VERTICES.replace("2 0 1", "2 1 1"), "twice", 6),
        (VERTICES.replace("6\n0.2", "5\n0.2"), "whole number of vertices", 8),
        (VERTICES.replace("0.4 0.1 0.5", "0.4 0.1 0.9"), "sums to 1.4", 10),
        (VERTICES.replace("0.4 0.1 0.5", "1.4 -0.9 0.5"), "not a distribution", 10),
        (VERTICES.replace("0.4 0.1", "0.4 0,1"), "0,1", 10),
        ("V-CREDAL\n2\n2 2\n1\n1 0\n2\n0.5 0.5\n", "no conditional table for X1", None),
        (VERTICES[: VERTICES.index("0.5 0.5")], "file ends", 15),
        (VERTICES + "0.5", "unexpected '0.5'", 20),
        (INEQUALITIES.replace("1 0 0 0", "1 0 1 0"), "2 parent configurations", 11),
        (INEQUALITIES.replace("2\n0.5 -0.25", "3\n0.5 -0.25 1"), "3 numbers, 2 are needed", 14),
        ("V-CREDAL\n2\n2 2\n2\n2 1 0\n2 0 1\n" + "2\n0.5 0.5\n" * 4, "cycle", 5),
        ("V-CREDAL\n2\n2 2\n2\n1 0\n1 0\n" + "2\n0.5 0.5\n" * 2, "two conditional tables", 6),
    ],
)
def test_mistakes_in_a_uai_file_are_explained_where_they_are(
    text: str, message: str, line: int | None
) -> None:
    with pytest.raises(LanguageError, match=message) as caught:
        read_uai(text, file="wrong.uai")
    if line is not None:
        assert caught.value.place is not None
        assert (caught.value.place.line, caught.value.place.file) == (line, "wrong.uai")


def test_a_long_line_is_not_copied_for_each_word_on_it() -> None:
    tokens = Tokens("1 2\n" + "0.5 " * 1000 + "\n3", re.compile(r"(?P<word>\S+)"), "long.uai")
    tokens.ratios(2, "a count")
    places = [(tokens.ratios(1, "a probability"), tokens.last)[1] for _ in range(1000)]
    assert len({id(place.text) for place in places}) == 1
    assert [place.column for place in places] == [1 + 4 * i for i in range(1000)]
    assert tokens.here.text == "3" and tokens.last.text == places[0].text


@pytest.mark.slow
def test_every_network_of_crepo_is_read_as_a_credal_network() -> None:
    if not CREPO.exists():
        pytest.skip("the CREPO data is not beside the project")
    for path in sorted(CREPO.glob("*.uai"))[::12]:
        numbers = path.read_text(encoding="utf-8").split()
        network = credal(read(path))
        assert len(network.sizes) == int(numbers[1])
        assert [str(n) for n in network.sizes] == numbers[2 : 2 + len(network.sizes)]


WEATHER = """
// a comment
network weather { property version 1; }
variable Sky { type discrete [3] { clear, cloudy, "dark grey" }; property position = (1, 2); }
variable Wind { type discrete [2] { calm, strong }; }
variable Rain { type discrete [2] { no, yes }; }
variable Game { type discrete [3] { on, late, off }; }
probability ( Sky ) { table 0.5, 0.3, 0.2; }
probability ( Wind | Sky ) {
  table 0.9, 0.6, 0.3, 0.1, 0.4, 0.7;
}
probability ( Rain | Sky, Wind ) {
  default 0.7, 0.3;
  (clear, calm) 0.99, 0.01;
  (cloudy, strong) 0.4, 0.6;
  ("dark grey", strong) 0.1, 0.9; /* another comment */
}
probability ( Game | Rain, Wind ) {
  (no, calm) 0.9, 0.08, 0.02;
  (no, strong) 0.6, 0.3, 0.1;
  (yes, calm) 0.3, 0.4, 0.3;
  (yes, strong) 0.05, 0.15, 0.8;
}
"""


def test_a_bif_table_counts_with_the_child_slowest() -> None:
    network = credal(read_bif(WEATHER))
    assert network.vertices(1, (2,)) == ((F(3, 10), F(7, 10)),)
    assert network.vertices(2, (1, 0)) == ((F(7, 10), F(3, 10)),)
    assert network.vertices(2, (2, 1)) == ((F(1, 10), F(9, 10)),)


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ("network weather", "net weather", "expected 'network'"),
        ("[3] { clear", "[4] { clear", "4 different values"),
        ("( Wind | Sky )", "( Wind | Skye )", "Skye is not declared"),
        ("(no, calm)", "(none, calm)", "no configuration"),
        ("0.9, 0.08, 0.02", "0.9, 0.08", "expected 3 numbers, found 2"),
        ("0.9, 0.08, 0.02", "0.9, x, 0.02", "x is no number"),
        ("default 0.7, 0.3;", "", "every parent configuration"),
        ("table 0.5, 0.3, 0.2", "table 0.5, 0.3, 0.4", "sums to 1.2"),
        ("variable Rain { type discrete [2] { no, yes }; }", "variable Rain { }", "no type"),
        ("probability ( Sky )", "chance ( Sky )", "expected 'variable' or 'probability'"),
        ("{ no, yes }; }", "{ no, yes }", "expected"),
    ],
)
def test_mistakes_in_a_bif_file_are_explained(wrong: str, right: str, message: str) -> None:
    assert wrong in WEATHER
    with pytest.raises((LanguageError, UnknownName), match=message):
        read_bif(WEATHER.replace(wrong, right))


def bif(name: str, arcs: dict[str, tuple[str, ...]], sizes: dict[str, int]) -> str:
    """Write a Bayesian network with made-up but fixed numbers."""
    lines = [f"network {name} {{ }}"]
    for x, size in sizes.items():
        values = ", ".join(f"v{k}" for k in range(size))
        lines.append(f"variable {x} {{ type discrete [ {size} ] {{ {values} }}; }}")
    for number, (x, parents) in enumerate(arcs.items()):
        given = f" | {', '.join(parents)}" if parents else ""
        lines.append(f"probability ( {x}{given} ) {{")
        for row, states in enumerate(product(*(range(sizes[p]) for p in parents))):
            weights = [1 + (7 * number + 5 * row + 3 * k * k) % 11 for k in range(sizes[x])]
            numbers = ", ".join(repr(w / sum(weights)) for w in weights)
            key = f"({', '.join(f'v{s}' for s in states)}) " if parents else "table "
            lines.append(f"  {key}{numbers};")
        lines.append("}")
    return "\n".join(lines)


TREE = bif(
    "tree",
    {"A": (), "B": ("A",), "C": ("A",), "D": ("C", "E"), "E": (), "G": ("D",)},
    {"A": 3, "B": 2, "C": 4, "D": 3, "E": 2, "G": 2},
)


@pytest.mark.parametrize(
    ("text", "target", "evidence"),
    [
        (WEATHER.replace('"dark grey"', "grey"), "Rain", {"Sky": "grey"}),
        (WEATHER.replace('"dark grey"', "grey"), "Game", {"Wind": "strong", "Sky": "grey"}),
        (WEATHER.replace('"dark grey"', "grey"), "Sky", {"Wind": "strong"}),
        (TREE, "A", {"G": "v1"}),
        (TREE, "C", {"B": "v0", "G": "v0"}),
        (TREE, "E", {"A": "v2", "G": "v1"}),
        (TREE, "G", {}),
    ],
)
def test_a_bayesian_network_has_the_answer_that_pyagrum_gives(
    text: str, target: str, evidence: dict[str, str], tmp_path: Path
) -> None:
    gum = pytest.importorskip("pyagrum", reason="pyagrum is an optional library for comparisons")
    path = tmp_path / "network.bif"
    path.write_text(text, encoding="utf-8")
    inference = gum.LazyPropagation(gum.loadBN(str(path)))
    inference.setEvidence(evidence)
    inference.makeInference()
    expected = inference.posterior(target).tolist()
    network = read(path)
    x = {variable.name: variable for variable in network.variables}
    given = conjunction(x[name].is_(value) for name, value in evidence.items())
    for value, probability in zip(x[target].values, expected, strict=True):
        query = Query(x[target].is_(value), given)
        answer = sets.query(network, query, Options())
        assert (answer.lower, answer.upper) == pytest.approx((probability,) * 2, abs=1e-6)


def test_read_tells_the_form_by_suffix_or_first_word(tmp_path: Path) -> None:
    for name, text in (
        ("a.uai", VERTICES),
        ("b.txt", VERTICES),
        ("c.bif", WEATHER),
        ("d.net", WEATHER.strip()),
    ):
        path = tmp_path / name
        path.write_text(text.replace("// a comment\n", ""), encoding="utf-8")
        assert read(path).sentences
    other = tmp_path / "e.txt"
    other.write_text("hello", encoding="utf-8")
    with pytest.raises(LanguageError, match="neither a UAI nor a BIF"):
        read(other)


# ---- files as people have them ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", [VERTICES, INEQUALITIES, WEATHER], ids=["vertices", "inequalities", "bif"])
def test_what_was_read_from_a_file_is_what_its_text_says(text: str, tmp_path: Path) -> None:
    file = tmp_path / ("net.BIF" if text == WEATHER else "net.uai")
    file.write_text("\ufeff" + text, encoding="utf-8")
    lcn = credalog.load(file)
    again = credalog.parse(str(lcn))
    assert again == lcn
    assert hash(again) == hash(lcn)
    assert again.ground().sentences == lcn.sentences
    assert lcn != credalog.parse("P(a) >= 0.1")


def test_a_file_that_is_no_text_or_not_there_is_named(tmp_path: Path) -> None:
    for name in ("net.uai", "net.bif"):
        with pytest.raises(UnknownName, match="there is no file"):
            credalog.load(tmp_path / name)
        (tmp_path / name).write_bytes(b"\xff\xfe\x00BAYES")
        with pytest.raises(LanguageError, match="not a text file in UTF-8"):
            credalog.load(tmp_path / name)


HUGE = "1" + "0" * 5000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("BAYES\n1\n1000000000\n1\n1 0\n1\n1", "1,000,000,000 values"),
        (f"BAYES\n1\n{HUGE}\n1\n1 0\n1\n1", "expected the number of values"),
        ("BAYES\n1\n2\n1\n1 0\n2\n1e400 0", "1e400 is no number"),
        ("BAYES\n1\n2\n1\n1 0\n2\n1e-99999999 1", "1e-99999999 is no number"),
        (f"BAYES\n1\n2\n1\n1 0\n2\n0.{'3' * 5000} 1", "0.333"),
        (f"H-CREDAL\n41\n{'2 ' * 41}\n1\n41 {' '.join(map(str, range(41)))}\n0\n0", "for each configuration"),
    ],
)
def test_numbers_that_no_machine_can_hold_are_refused_at_once(text: str, message: str) -> None:
    start = perf_counter()
    with pytest.raises(CredalogError, match=message):
        read_uai(text)
    assert perf_counter() - start < 2.0


TRUTH = """network truth { }
variable Try { type discrete [2] { VALUES }; }
probability ( Try ) { table 0.3, 0.7; }
"""


def test_variables_that_a_file_calls_true_and_false_are_compared_with_either() -> None:
    for values in ("true, false", "false, true", "False, True"):
        lcn = credalog.LCN.from_network(read_bif(TRUTH.replace("VALUES", values)))
        for question in ("P(Try = false)", "P(Try = False)", "P(!Try)", "P(Try != true)", "P(!(true = Try))"):
            claim = lcn.question(question).claim
            truths = truth_table(claim, scope(claim)).tolist()
            assert truths == ["false" in value.lower() for value in values.split(",")]
