"""Certificates altered on purpose: leaves, cuts, models, readings, files. Nothing false is accepted."""

from __future__ import annotations

import json
from copy import deepcopy
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
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


# ---- signed again for a neighbour -------------------------------------------------------------------------

CHAIN = "0.2 <= P(a) <= 0.3\n0.5 <= P(b | a) <= 0.6\n0.1 <= P(b | !a) <= 0.2\n"
COLOURS = "variable C in {red, green, blue}\nP(C = red) = 0.1\nP(C = green) = 0.2\nP(a | C = red) >= 0.9\n"
LOOSE = "P(a) = 0.5\nP(b) = 0.5\n0.1 <= P(a and b) <= 0.9 ; tau=False\n"
APART = "P(a) = 0.5\nP(b) = 0.5\nP(c | a and b) = 0.5\n0 <= P(a or b) <= 1\n"

NEIGHBOURS = [
    # What is asked of the first network, and something false of the second.
    (CHAIN, CHAIN.replace("0.6", "0.6001"), "P(b)"),
    (CHAIN, CHAIN.replace("0.3", "0.3001"), "P(b)"),
    (CHAIN, CHAIN.replace("P(b | !a) <= 0.2", "P(b | !a) <= 0.2001"), "P(b)"),
    (COLOURS, COLOURS.replace("red, green, blue", "green, red, blue"), "P(C = red)"),
    (COLOURS, COLOURS.replace("P(C = red) = 0.1", "P(C = red) = 0.3"), "P(C = red)"),
    (LOOSE, LOOSE.replace(" ; tau=False", ""), "P(a and b)"),
    (APART + "independent a, b\n", APART, "P(a and b)"),
]


@pytest.mark.parametrize(("text", "other", "question"), NEIGHBOURS)
def test_a_certificate_signed_again_for_a_neighbour_proves_nothing_false(text, other, question):
    """The digest is for convenience: every row is rebuilt from the network at hand."""
    lcn, neighbour = credalog.parse(text), credalog.parse(other)
    start, *rest = lcn.query(question).certificate().lines
    true = neighbour.query(question, method="joint")
    assert list(verify(lcn.ground(), map(json.dumps, [start, *rest])))
    signed = {**start, "network": neighbour.ground().digest}
    for line in rest:
        try:
            (claim,) = verify(neighbour.ground(), map(json.dumps, [signed, line]))
        except Refused:
            continue
        value = float(Fraction(line.get("bound") or line["value"]))
        match line["claim"]:
            case "lower":
                assert true.lower_witnessed is not None
                assert value <= true.lower_witnessed + 1e-9, claim
            case "upper":
                assert true.upper_witnessed is not None
                assert value >= true.upper_witnessed - 1e-9, claim
            case "model":
                assert true.lower - 1e-9 <= value <= true.upper + 1e-9, claim


def test_proofs_that_change_places_prove_nothing_false():
    """Of a chain every proof is offered for every other question and end."""
    lcn = credalog.parse(CHAIN)
    questions = ["P(a)", "P(b)", "P(a | b)", "P(a and b)"]
    answers = {str(lcn.question(q)): lcn.query(q) for q in questions}
    start, *lines = lcn.certificate(*answers.values()).lines
    bounds = [line for line in lines if line["claim"] != "model"]
    for line, other in product(bounds, bounds):
        if line["query"] not in answers:
            continue
        proof = {k: v for k, v in other.items() if k not in ("claim", "query", "bound")}
        answer, sign = answers[line["query"]], 1 if line["claim"] == "lower" else -1
        truth = answer.lower_witnessed if sign > 0 else answer.upper_witnessed
        assert truth is not None
        false = Fraction(truth) + sign * Fraction(1, 1000)
        forged = {"claim": line["claim"], "query": line["query"], "bound": str(false), **proof}
        with pytest.raises(Refused):
            list(verify(lcn.ground(), map(json.dumps, [start, forged])))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "question", "end"), WITH_CUTS)
def test_reasons_with_another_table_sentence_or_event_prove_no_better_bound(name, question, end):
    before, line = bounded(name, question, end)
    sign = 1 if end == "lower" else -1
    better = {**line, "bound": str(Fraction(line["bound"]) + sign * Fraction(1, 10**3))}
    for n, row in enumerate(line["rows"]):
        for place, part in enumerate(row):
            others = [part + 1, part - 1] if isinstance(part, int) else [[], [[0, 1]], [[1, 1]], "upper"]
            for changed in others:
                forged = deepcopy(better)
                forged["rows"][n][place] = changed
                with pytest.raises(Refused):
                    accepted(name, [*before, forged])


def test_names_that_look_alike_are_told_apart():
    """An e with an accent, and an e followed by one."""
    text = '"\u00e9" : 0.9 <= P("\u00e9")\nP("e\u0301") <= 0.1\n'.replace('"\u00e9" : ', "")
    lcn = credalog.parse(text)
    assert len(lcn.variables) == 2
    start, *lines = lcn.query('P("\u00e9")').certificate().lines
    (low,) = (line for line in lines if line["claim"] == "lower")
    assert list(verify(lcn.ground(), map(json.dumps, [start, low])))
    forged = {**low, "query": low["query"].replace("\u00e9", "e\u0301")}
    assert forged != low
    with pytest.raises(Refused):
        list(verify(lcn.ground(), map(json.dumps, [start, forged])))


@pytest.mark.parametrize(
    "bound", ["-0", "1e400", "1e-400", "Infinity", "0x1", " 1", "1_0", "1/-1", "1/0", "+1"]
)
def test_odd_numbers_prove_nothing(bound):
    """Minus nothing is nothing; all else is no number."""
    lcn = credalog.parse(CHAIN)
    start, *lines = lcn.query("P(b)").certificate().lines
    (low,) = (line for line in lines if line["claim"] == "lower")
    try:
        claims = list(verify(lcn.ground(), map(json.dumps, [start, {**low, "bound": bound}])))
    except Refused:
        return
    assert bound == "-0" and claims == ["every model has P(b) >= 0.000000000"]
