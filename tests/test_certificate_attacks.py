"""Certificates altered on purpose: leaves, cuts, models, readings, files. Nothing false is accepted."""

from __future__ import annotations

import json
from copy import deepcopy
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import credalog
from credalog import LCN, CredalogError
from credalog.cli import main
from credalog.errors import Refused
from credalog.verify import verify

CONFORMANCE = Path(__file__).parent / "conformance"


@cache
def network(name: str) -> LCN:
    return credalog.load(CONFORMANCE / name)


@cache
def certificate(name: str, question: str) -> tuple[str, ...]:
    found = network(name).query(question).certificate()
    assert found.missing == ()
    return tuple(map(json.dumps, found.lines))


def claims(name: str, question: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in certificate(name, question)]


def accepted(name: str, lines: list[dict[str, Any]]) -> list[str]:
    return list(verify(network(name).ground(), map(json.dumps, lines)))


def bounded(name: str, question: str, end: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the lines before the proof of one bound, and that."""
    lines = claims(name, question)
    wanted = {"claim": end, "query": question}
    (n,) = (
        n for n, line in enumerate(lines) if wanted.items() <= {k: str(v) for k, v in line.items()}.items()
    )
    return lines[:n], lines[n]


WITH_CUTS = [("irrational.lcn", "P(a)", "lower"), ("irrational.lcn", "P(a or b)", "upper")]


@pytest.mark.parametrize(("name", "question", "end"), WITH_CUTS)
def test_a_proof_needs_every_leaf_in_its_place(name, question, end):
    before, line = bounded(name, question, end)
    assert accepted(name, [*before, line])
    leaves = [n for n, node in enumerate(line["nodes"]) if node[0] == "leaf"]
    assert len(leaves) > 2
    for n in leaves:
        empty = deepcopy(line)
        empty["nodes"][n] = ["leaf", "1", "0", []]
        dropped = deepcopy(line)
        dropped["nodes"][n] = None
        for changed in (empty, dropped):
            with pytest.raises(Refused):
                accepted(name, [*before, changed])


@pytest.mark.parametrize(("name", "question", "end"), WITH_CUTS)
def test_leaves_that_change_places_prove_no_better_bound(name, question, end):
    """Some leaves may do for each other, but never for a bound that some model passes."""
    before, line = bounded(name, question, end)
    sign = 1 if end == "lower" else -1
    better = {**line, "bound": str(Fraction(line["bound"]) + sign * Fraction(1, 10**3))}
    leaves = [n for n, node in enumerate(line["nodes"]) if node[0] == "leaf"]
    for first, second in pairwise(leaves):
        changed = deepcopy(better)
        nodes = changed["nodes"]
        nodes[first], nodes[second] = nodes[second], nodes[first]
        with pytest.raises(Refused):
            accepted(name, [*before, changed])


@pytest.mark.parametrize(("name", "question", "end"), WITH_CUTS)
def test_a_cut_that_leaves_a_gap_or_hides_a_part_is_refused(name, question, end):
    before, line = bounded(name, question, end)
    for n, node in enumerate(line["nodes"]):
        if node[0] != "cut":
            continue
        *_, below, above = node
        for children in ([below, below], [above, above], [below, 0], [below, -1], [below, 10**6]):
            changed = deepcopy(line)
            changed["nodes"][n][-2:] = children
            with pytest.raises(Refused):
                accepted(name, [*before, changed])
        # A shifted cut still covers the range; what it proves is then checked in each half.
        shifted = deepcopy(line)
        shifted["nodes"][n][3] = str(Fraction(node[3]) + Fraction(1, 10))
        shifted["bound"] = str(Fraction(line["bound"]) + (1 if end == "lower" else -1) * Fraction(1, 10**3))
        with pytest.raises(Refused):
            accepted(name, [*before, shifted])


def test_a_mixture_of_two_models_is_no_model_where_independence_is_said():
    text = "0.2 <= P(a) <= 0.8\n0.2 <= P(b) <= 0.8\n"
    lcn = credalog.parse(text)
    head = json.loads(json.dumps(lcn.query("P(a)").certificate().lines[0]))
    line = {"claim": "model", "query": "P(a)", "value": "1/2", "within": "0", "residual": "0"}
    # Half of (a and b likely), half of (both unlikely): each half is a model, a product.
    mixture = [[[0, 1], [], 50, [17, 8, 8, 17]]]
    product = [[[0], [], 2, [1, 1]], [[1], [], 2, [1, 1]]]
    assert list(verify(lcn.ground(), map(json.dumps, [head, {**line, "factors": product}])))
    with pytest.raises(Refused, match="everything is satisfied"):
        list(verify(lcn.ground(), map(json.dumps, [head, {**line, "factors": mixture}])))


def test_independence_of_one_reading_proves_nothing_under_another():
    """Of two coins P(a and b) is at least 1/4 if they are independent, and may be 0 if they need not be."""
    lcn = credalog.parse("P(a) = 0.5\nP(b) = 0.5\n")
    head, *rest = lcn.query("P(a and b)").certificate().lines
    lines = [line for line in rest if line["claim"] == "lower"]
    assert list(verify(lcn.ground(), map(json.dumps, [head, *lines])))
    with pytest.raises(Refused):
        list(verify(lcn.ground(), map(json.dumps, [{**head, "markov": "none"}, *lines])))
    with pytest.raises(CredalogError, match="another Markov condition"):
        list(verify(lcn.ground(), map(json.dumps, [head, *lines]), markov="none"))


DEEP = "[" * 100_000 + "]" * 100_000
CLAIM = '{"claim": "lower", "query": "P(a)", "bound": "1", "table": 0, "tables": [[[0], []]], "rows": [], '


@pytest.mark.parametrize(
    "line",
    [
        CLAIM + '"nodes": ' + DEEP + "}",
        CLAIM + '"nodes": [["leaf", "1", "0", []]], "bound": "0"}',
        CLAIM + '"nodes": [["leaf", NaN, 0, []]]}',
        CLAIM + '"nodes": [["leaf", "1", "0", [[0, "1e999999999"]]]]}',
        CLAIM + '"nodes": [["leaf", "1", "0", [[' + "9" * 5000 + ', "1"]]]]}',
        CLAIM + '"nodes": [["cut", [[0, 1]], [], "1/2", 0, 0]]}',
        '{"claim": "lower", "query": "P(' + "(" * 5000 + "a" + ")" * 5000 + ')"}',
        '{"claim": "lower", "query": "P(a) ' + "+ P(a) " * 3000 + '", "bound": "1e9"}',
        '{"claim": "lower", "query": "P(a) / 0", "bound": "0"}',
        '{"claim": "model", "query": "P(a) / P(a)", "value": "1", "within": "0", "residual": "NaN"}',
        "\ud800",
    ],
)
def test_odd_lines_are_refused_without_a_traceback(line, tmp_path, capsys):
    model, out = tmp_path / "m.lcn", tmp_path / "c"
    model.write_text("0.2 <= P(a) <= 0.4\n", encoding="utf-8")
    head = {"format": "credalog certificate", "version": 1, "markov": "local"}
    head["network"] = credalog.load(model).ground().digest
    out.write_text(f"{json.dumps(head)}\n{line}\n", encoding="utf-8", errors="surrogatepass")
    assert main(["verify", str(model), str(out)]) in (2, 5)
    assert "every model" not in capsys.readouterr().out
