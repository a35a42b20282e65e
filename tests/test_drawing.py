"""Drawings of the dependency graph: what is in them, not how they look."""

import sys
from xml.etree import ElementTree

import pytest

from credalog.errors import MissingLibrary, ProblemTooLarge
from credalog.network.formulas import Is, Variable, propositions
from credalog.network.graph import Combination
from credalog.show.drawing import DRAWABLE, as_dot, as_png, as_svg, as_text, label
from test_markov import graph_of, says, smokers

SVG = "{http://www.w3.org/2000/svg}"


def test_text_lists_edges_ties_and_parents():
    x, y, a = propositions("x y a")
    lines = as_text(graph_of(says(x ^ y, a))).splitlines()
    assert lines[0] == "3 variables, 1 formula, 5 edges"
    assert lines[lines.index("a") + 1] == f"    -> {label(x ^ y)}"
    assert lines[lines.index("x") + 1] == f"    <-> {label(x ^ y)}"
    assert lines[-3:] == ["    x: y, a", "    y: x, a", "    a: none"]


def test_dot_shades_atoms_and_gives_ties_two_heads():
    x, y, a = propositions("x y a")
    dot = as_dot(graph_of(says(x ^ y, a)))
    assert dot.startswith("digraph")
    assert dot.count("style=filled") == 3
    assert dot.count("dir=both") == 2
    assert dot.count("->") == 3


def test_dot_survives_quotes_in_names():
    graph = graph_of(says(Is(Variable('say "hi" \\'))))
    assert '[label="say \\"hi\\" \\\\"' in as_dot(graph)


def test_svg_is_well_formed_and_shows_every_node_and_edge_once():
    graph = smokers()
    root = ElementTree.fromstring(as_svg(graph))
    assert len(root.findall(f"{SVG}ellipse")) == len(graph.variables)
    texts = [text.text for text in root.findall(f"{SVG}text")]
    assert texts == [label(node) for node in graph.nodes]
    lines = root.findall(f"{SVG}path")
    ties = [line for line in lines if "marker-start" in line.attrib]
    assert len(lines) + len(ties) == len(graph.edges)


def test_svg_escapes_what_xml_reserves():
    root = ElementTree.fromstring(as_svg(graph_of(says(Is(Variable("a<b&c"))))))
    assert root.findtext(f"{SVG}text") == "a<b&c"


def test_a_drawing_is_the_same_every_time():
    assert as_svg(smokers()) == as_svg(smokers())


def test_png_is_a_png():
    assert as_png(smokers()).startswith(b"\x89PNG\r\n")


def test_a_missing_library_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingLibrary, match=r"matplotlib(.|\n)*pip install"):
        as_png(smokers())


def test_a_picture_nobody_could_read_is_refused_with_advice():
    many = graph_of(*(says(Is(Variable(f"x{i}"))) for i in range(DRAWABLE + 1)))
    with pytest.raises(ProblemTooLarge, match="as_dot") as caught:
        as_svg(many)
    assert "--dot" in caught.value.on_the_command_line
    assert as_dot(many).count("label=") == DRAWABLE + 1


def test_the_claim_of_a_linear_sentence_shows_all_its_formulas():
    a, b = propositions("a b")
    assert label(Combination((a, b))) == "a; b"
