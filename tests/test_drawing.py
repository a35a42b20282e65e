"""Drawings of the dependency graph: what is in them, not how they look."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import credalog
from credalog.cli import main
from credalog.errors import CredalogError, MissingLibrary, ProblemTooLarge, UnknownName
from credalog.network.formulas import Is, Variable, propositions
from credalog.network.graph import Combination, DependencyGraph
from credalog.numbers.interval import Endpoint, Interval, Warrant
from credalog.show.canvas import Group, Picture, Rectangle, Stroke, Words, head, straight
from credalog.show.drawing import DRAWABLE
from credalog.show.routing import sampled
from credalog.show.sketch import Kind, label, short, sketch_of
from test_markov import graph_of, says, smokers

SVG = "{http://www.w3.org/2000/svg}"
EXAMPLES = Path(__file__).parent.parent / "examples"
BIF = Path(__file__).parent.parent.parent / "shared" / "data" / "bif"


def xor_given_a() -> DependencyGraph:
    x, y, a = propositions("x y a")
    return graph_of(says(x ^ y, a))


def ring(count: int) -> credalog.LCN:
    return credalog.parse("\n".join(f"P(x{i} xor x{(i + 1) % count}) <= 0.2" for i in range(count)))


def boxes(picture: Picture) -> list[tuple[str, Rectangle]]:
    """Return the boxes of nodes, by their names."""
    nodes = [shape for shape in picture.shapes if isinstance(shape, Group)]
    return [(node.name, node.shapes[0]) for node in nodes if isinstance(node.shapes[0], Rectangle)]


def behind(picture: Picture) -> list[str]:
    """Return the nodes behind which an edge runs: inside them, and not just at their border."""
    strokes = [shape for shape in picture.shapes if isinstance(shape, Stroke)]
    points = [point for stroke in strokes for point in sampled(stroke.curve, 12)]
    return [
        name
        for name, box in boxes(picture)
        for x, y in points
        if box.x + 1 < x < box.x + box.width - 1 and box.y + 1 < y < box.y + box.height - 1
    ]


# ---- what is shown ------------------------------------------------------------------------------------


def test_text_lists_edges_ties_and_parents():
    x, y, _ = propositions("x y a")
    lines = str(xor_given_a()).splitlines()
    assert lines[0] == "3 variables, 1 formula, 5 edges"
    assert lines[lines.index("a") + 1] == f"    -> {label(x ^ y)}"
    assert lines[lines.index("x") + 1] == f"    <-> {label(x ^ y)}"
    assert lines[-3:] == ["    x: y, a", "    y: x, a", "    a: none"]


def test_variables_are_joined_by_arrows_from_their_parents_and_by_braces():
    sketch = sketch_of(xor_given_a())
    assert [node.label for node in sketch.nodes] == ["x", "y", "a", ""]
    assert sketch.arrows == ((2, 0), (2, 1))
    assert sketch.ties == ((0, 3), (1, 3))
    assert sketch.nodes[3].kind is Kind.BRACE
    assert sketch.nodes[3].title == "x, y: each is a parent of the others"


def test_formulas_are_shown_on_demand():
    sketch = sketch_of(xor_given_a(), view="formulas")
    assert [node.kind for node in sketch.nodes] == [Kind.VARIABLE] * 3 + [Kind.FORMULA]
    assert len(sketch.arrows) == 1
    assert len(sketch.ties) == 2
    with pytest.raises(UnknownName, match="variables, formulas"):
        sketch_of(xor_given_a(), view="everything")  # type: ignore[arg-type]


def test_the_edges_of_a_sketch_are_the_parents_of_the_graph():
    for graph in (smokers(), xor_given_a(), ring(7).graph, credalog.load(EXAMPLES / "cough.lcn").graph):
        sketch = sketch_of(graph)
        count = len(graph.variables)
        parents = {(a, b) for a, b in sketch.arrows}
        members: dict[int, list[int]] = {}
        for x, other in sketch.ties:
            if other < count:
                parents |= {(x, other), (other, x)}
            else:
                members.setdefault(other, []).append(x)
        parents |= {(a, b) for group in members.values() for a in group for b in group if a != b}
        assert parents == {(p, x) for x, row in enumerate(graph.parent_indices) for p in row}


def test_a_clique_takes_as_many_lines_as_it_has_members():
    many = credalog.parse("\n".join(f"P(x{i} xor x{j}) <= 0.5" for i in range(9) for j in range(i)))
    sketch = sketch_of(many.graph)
    assert len(sketch.ties) == 9


def test_the_friends_of_six_people_take_one_brace_for_each():
    text = (EXAMPLES / "smokers.lcn").read_text().partition("query")[0]
    six = credalog.parse(text.replace("Tim, Tom, Tam", "Tim, Tom, Tam, Ann, Eve, Joe"))
    sketch = sketch_of(six.graph)
    # Friendships that share a person depend on each other, and so do all who smoke.
    braces = [node for node in sketch.nodes if node.kind is Kind.BRACE]
    assert len(braces) == 7
    assert len(sketch.ties) == 6 * 5 + 6


def test_svg_is_well_formed_and_shows_every_node_and_edge_once():
    graph = smokers()
    root = ElementTree.fromstring(graph.picture(view="formulas").svg())
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert sorted(map(str, texts)) == sorted(label(node) for node in graph.nodes)
    lines = root.findall(f"{SVG}path")
    ties = [line for line in lines if "marker-end" not in line.attrib]
    assert len(lines) + len(ties) == len(graph.edges)


def test_a_node_says_its_name_to_the_page_and_its_parents_to_who_points_at_it():
    root = ElementTree.fromstring(xor_given_a().picture().svg())
    titles = {g.get("data-name"): g.findtext(f"{SVG}title") for g in root.iter(f"{SVG}g")}
    assert titles["x"] == "x\nparents: y, a"


def test_svg_escapes_what_xml_reserves():
    root = ElementTree.fromstring(graph_of(says(Is(Variable('a<b&"c')))).picture().svg())
    assert [text.text for text in root.iter(f"{SVG}text")] == ['a<b&"c']


def test_a_drawing_is_the_same_every_time():
    assert smokers().picture().svg() == smokers().picture().svg()


def test_intervals_stand_on_the_nodes():
    lcn = credalog.parse("variable C in {red, green}\nP(a) = 0.25\n0.1 <= P(C = red | a) <= 0.3")
    picture = lcn.graph.picture(marginals=lcn.marginals())
    words = {s.text for g in picture.shapes if isinstance(g, Group) for s in g.shapes if isinstance(s, Words)}
    # 0.25 * 0.1 <= P(red) <= 0.25 * 0.3 + 0.75
    assert {"a", "C", "red", "green", "0.25", "0.025 – 0.825", "0.175 – 0.975"} <= words
    bars = [s for g in picture.shapes if isinstance(g, Group) for s in g.shapes if s.kind == "attained"]
    assert len(bars) == 3


def test_what_was_observed_looks_different():
    lcn = credalog.parse("P(b | a) >= 0.5\nP(c | b) >= 0.5\nevidence a and not c")
    sketch = sketch_of(lcn.graph, evidence=lcn.evidence)
    shown = {node.label: node.kind for node in sketch.nodes}
    assert shown == {"b": Kind.VARIABLE, "a": Kind.OBSERVED, "not c": Kind.OBSERVED}


# ---- other programs -----------------------------------------------------------------------------------


def test_dot_has_every_node_and_ties_without_heads():
    dot = xor_given_a().dot(view="formulas")
    assert dot.startswith("digraph")
    assert dot.count("filled") == 3
    assert dot.count("dir=none") == 2
    assert dot.count("->") == 3
    assert xor_given_a().dot().count("shape=point") == 1


def test_dot_survives_quotes_in_names():
    graph = graph_of(says(Is(Variable('say "hi" \\'))))
    assert '[label="say \\"hi\\" \\\\"' in graph.dot()


def test_mermaid_has_every_node_and_edge_and_no_mark_of_its_own_in_names():
    text = graph_of(says(Is(Variable('"]; end')), Is(Variable("b(c)")))).mermaid()
    assert text.splitlines()[0] == "flowchart TD"
    names = {words: number for number, words in re.findall(r'(n\d+)\("(.*?)"\)', text)}
    assert set(names) == {"#34;#93;#59; end", "b#40;c#41;"}
    assert f"{names['b#40;c#41;']} --> {names['#34;#93;#59; end']}" in text
    assert xor_given_a().mermaid().count(" --- ") == 2


def test_networkx_has_an_edge_from_each_parent():
    found = xor_given_a().networkx()
    assert set(found.edges) == {("a", "x"), ("a", "y"), ("x", "y"), ("y", "x")}
    assert set(found.nodes["a"]["values"]) == {"false", "true"}


@pytest.mark.slow
def test_png_and_pdf_are_what_they_say():
    picture = smokers().picture()
    assert picture.png().startswith(b"\x89PNG\r\n")
    assert picture.in_form("pdf").startswith(b"%PDF")
    with pytest.raises(CredalogError, match=r"\.svg, \.png, \.pdf"):
        picture.in_form("gif")


def test_the_head_of_an_arrow_points_along_it():
    tip, *back = head(straight((0.0, 0.0), (10.0, 0.0)))
    assert tip == (10.0, 0.0)
    assert [x for x, _ in back] == pytest.approx([3.0, 3.0])
    assert sorted(y for _, y in back) == pytest.approx([-2.8, 2.8])


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.0, 1.0, "0 – 1"),
        (0.25, 0.25, "0.25"),
        (0.33333333, 0.33333334, "≈ 0.333"),
        (0.12345, 0.6789, "0.123 – 0.679"),
    ],
)
def test_intervals_are_written_shortly_and_rounded_outwards(low: float, high: float, text: str):
    ends = (Endpoint(end, None, Warrant.CHECKED) for end in (low, high))
    assert short(Interval(*ends)) == text


def test_a_picture_is_saved_as_its_name_says(tmp_path: Path):
    smokers().picture().save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_a_missing_library_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingLibrary, match=r"matplotlib(.|\n)*pip install"):
        smokers().picture().png()
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingLibrary, match="networkx"):
        smokers().networkx()


# ---- readable -----------------------------------------------------------------------------------------


def test_a_picture_nobody_could_read_is_refused_with_advice():
    many = graph_of(*(says(Is(Variable(f"x{i}"))) for i in range(DRAWABLE + 1)))
    with pytest.raises(ProblemTooLarge, match=r"graph\.dot") as caught:
        many.picture()
    assert "--dot" in caught.value.on_the_command_line
    assert many._repr_svg_() is None
    assert many.dot().count("label=") == DRAWABLE + 1


def test_the_claim_of_a_linear_sentence_shows_all_its_formulas():
    a, b = propositions("a b")
    assert label(Combination((a, b))) == "a; b"


@pytest.mark.parametrize("view", ["variables", "formulas"])
@pytest.mark.parametrize("name", ["smokers", "cough", "appendix", "parity", "two_sources", "chain"])
def test_no_edge_of_an_example_runs_behind_a_node(name: str, view):
    assert not behind(credalog.load(EXAMPLES / f"{name}.lcn").graph.picture(view=view))


def test_no_tie_of_a_ring_runs_behind_a_node():
    assert not behind(ring(20).graph.picture())


@pytest.mark.skipif(not BIF.is_dir(), reason="the networks of ../shared/data/bif are not here")
@pytest.mark.parametrize("name", ["alarm", "hailfinder", "hepar2", "insurance"])
def test_a_published_network_fits_a_page_and_hides_no_edge(name: str):
    picture = credalog.load(BIF / f"{name}.bif").graph.picture()
    assert not behind(picture)
    # At no less than half its size it is seen whole on a page of 1200 by 850.
    assert picture.width < 2 * 1200
    assert picture.height < 2 * 850
    assert 0.5 < picture.width / picture.height < 2.5


# ---- before grounding ---------------------------------------------------------------------------------


def test_a_theory_is_drawn_in_plates_whose_size_does_not_depend_on_the_domain():
    text = (EXAMPLES / "smokers.lcn").read_text()
    picture = credalog.parse(text).plates()
    words = [shape.text for shape in picture.shapes if isinstance(shape, Words)]
    assert words[:2] == ["x in Person (3)", "y in Person (3)"]
    assert [name for name, _ in boxes(picture)] == ["Fr", "Sm", "Ca"]
    people = ", ".join(f"p{i}" for i in range(2000))
    large = credalog.parse(text.partition("query")[0].replace("Tim, Tom, Tam", people)).plates()
    assert (large.width, large.height) == (picture.width, picture.height)
    assert not behind(picture)


def test_plates_show_arrows_between_predicates_and_ties_of_claims():
    picture = credalog.load(EXAMPLES / "smokers.lcn").plates()
    strokes = [shape for shape in picture.shapes if isinstance(shape, Stroke)]
    # Fr -> Fr (friends of friends), Fr -> Sm, Sm -> Ca; Sm is tied to Sm.
    assert sum(stroke.has_head for stroke in strokes) == 3
    assert sum(not stroke.has_head for stroke in strokes) == 1


def test_a_plate_holds_what_it_repeats():
    picture = credalog.load(EXAMPLES / "smokers.lcn").plates()
    plates = [s for s in picture.shapes if isinstance(s, Rectangle) and s.kind == "plate"]
    outer, inner = sorted(plates, key=lambda plate: -plate.width)
    where = dict(boxes(picture))

    def holds(plate: Rectangle, box: Rectangle) -> bool:
        across = plate.x < box.x and box.x + box.width < plate.x + plate.width
        return across and plate.y < box.y and box.y + box.height < plate.y + plate.height

    assert holds(outer, inner)
    assert [name for name, box in where.items() if holds(inner, box)] == ["Fr"]
    assert [name for name, box in where.items() if holds(outer, box)] == ["Fr", "Sm", "Ca"]


# ---- the command line ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "beginning"),
    [
        (["--svg"], "<svg"),
        (["--svg", "--formulas"], "<svg"),
        (["--svg", "--plates"], "<svg"),
        (["--mermaid"], "flowchart TD"),
        (["--dot", "--formulas"], "digraph"),
        (["--json"], "{"),
    ],
)
def test_the_command_line_draws(words: list[str], beginning: str, capsys: pytest.CaptureFixture[str]):
    assert main(["graph", str(EXAMPLES / "smokers.lcn"), *words]) == 0
    assert capsys.readouterr().out.startswith(beginning)


@pytest.mark.slow
def test_the_command_line_writes_intervals_on_nodes(tmp_path: Path):
    target = tmp_path / "g.svg"
    words = [
        "graph",
        str(EXAMPLES / "smokers.lcn"),
        "--marginals",
        "--evidence",
        "Sm(Tim)",
        "-o",
        str(target),
    ]
    assert main(words) == 0
    drawn = target.read_text()
    assert "0.03 – 0.04" in drawn
    assert "lcn-observed" in drawn


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--marginals"], "--marginals has no effect"),
        (["--plates"], "--plates has no effect"),
        (["--svg", "--evidence", "Sm(Tim)"], "--evidence has no effect"),
        (["--svg", "--marginals", "--formulas"], "--marginals has no effect"),
        (["--svg", "--marginals", "--plates"], "--marginals has no effect"),
        (["-o", "graph.bmp"], "no graph is written in the form of .bmp"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["graph", str(EXAMPLES / "smokers.lcn"), *words]) == 2
    assert complaint in capsys.readouterr().err


def test_a_chain_of_ties_is_drawn_from_its_top():
    lcn = credalog.parse("\n".join(f"P(x{i} xor x{i + 1}) <= 0.2" for i in range(20)))
    sketch = sketch_of(lcn.graph)
    assert not sketch.is_tangled
    assert len(sketch.ties) == 20
    picture = lcn.graph.picture()
    assert picture.height < 850
    assert not behind(picture)
