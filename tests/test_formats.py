"""Writers: what is written reads back as the same network, in every form that can say it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credalog
from conftest import PROJECT
from credalog.cli import main
from credalog.errors import CredalogError
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network
from credalog.show.formats import formatted
from credalog.tables.credal import credal_network
from credalog.text.readers import read, read_bif, read_uai

CREPO = PROJECT / ".." / "shared" / "data" / "crepo" / "vmodel"
LAWN = PROJECT / "examples" / "robust" / "lawn.bif"


def meaning(network: Network) -> Any:
    """Return parents, sizes and the vertices of every credal set."""
    credal = credal_network(network, dependency_graph(network))
    assert credal is not None
    sizes = credal.sizes
    sets = [
        {c: set(credal.vertices(x, c)) for c in product(*(range(sizes[p]) for p in parents))}
        for x, parents in enumerate(credal.parents)
    ]
    return credal.parents, sizes, sets


@st.composite
def credal_texts(draw: st.DrawFn) -> str:
    """Draw a small credal network, with thirds and sevenths among its bounds."""
    text = "variable A in {x, y, z}\nvariable B in {u, v}\npredicate c\n"
    share = st.fractions(min_value=0, max_value=Fraction(1, 3), max_denominator=7)
    for claim, conditions in {
        "A": [""],
        "B": [f" | A = {v}" for v in "xyz"],
        "c": [" | B = u", " | B = v"],
    }.items():
        values = {"A": "xyz", "B": "u", "c": ""}[claim]
        for given_ in conditions:
            for value in values or " ":
                low, more = draw(share), draw(share)
                atom = f"{claim} = {value}" if value.strip() else claim
                text += f"{low} <= P({atom}{given_}) <= {low + more}\n"
    return text


@pytest.mark.slow
@settings(max_examples=25)
@given(credal_texts())
def test_vertices_and_inequalities_read_back_exactly(text: str) -> None:
    try:
        network = credalog.parse(text).ground()
        told = meaning(network)
    except AssertionError:
        return  # an empty credal set is no credal network
    for form in ("v-credal", "h-credal"):
        assert meaning(read_uai(formatted(network, form))) == told


def test_a_bayesian_network_reads_back_from_bif_and_uai() -> None:
    network = read(LAWN)
    assert read_bif(formatted(network, "bif")).variables == network.variables
    assert meaning(read_bif(formatted(network, "bif"))) == meaning(network)
    assert meaning(read_uai(formatted(network, "bayes"))) == meaning(network)
    thirds = credalog.parse('variable "odd name" in {"a b", c, d}\nP("odd name") = (1/3, 1/7, rest)').ground()
    assert meaning(read_bif(formatted(thirds, "bif"))) == meaning(thirds)
    assert read_bif(formatted(thirds, "bif")).variables == thirds.variables


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(CREPO.glob("*mult_n4*1.uai"))[:6], ids=lambda file: file.stem)
def test_public_networks_read_back(file: Path) -> None:
    network = read(file)
    for form in ("v-credal", "h-credal"):
        assert meaning(read_uai(formatted(network, form))) == meaning(network)


def test_a_form_that_cannot_say_it_is_refused() -> None:
    with pytest.raises(CredalogError, match="intervals, which this form cannot say"):
        credalog.parse("0.1 <= P(a) <= 0.2").written("bif")
    with pytest.raises(CredalogError, match="no credal network"):
        credalog.parse("P(a xor b) <= 0.2").written("v-credal")
    with pytest.raises(CredalogError, match="there is no form xml"):
        credalog.parse("P(a) = 0.2").written("xml")


def test_the_command_converts_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [LAWN, tmp_path / "a.lcn", tmp_path / "b.bif", tmp_path / "c.uai", tmp_path / "d.uai"]
    for before, after in pairwise(steps):
        form = ["--form", "h-credal"] if after.name == "d.uai" else []
        assert main(["convert", str(before), str(after), *form]) == 0
    assert "has no names" in capsys.readouterr().err
    assert (tmp_path / "c.uai").read_text().startswith("BAYES")
    assert (tmp_path / "d.uai").read_text().startswith("H-CREDAL")
    found = [meaning(credalog.load(step).ground()) for step in steps]
    assert all(each == found[0] for each in found)
    assert main(["convert", str(LAWN), str(tmp_path / "x.doc")]) == 2
