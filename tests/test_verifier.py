"""The verifier's own theorems against distributions that were not found by the engine, and forged claims."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from itertools import combinations, product
from random import Random
from typing import Any

import numpy as np
import pytest

from credalog import CredalogError, parse
from credalog.cli import main
from credalog.errors import Refused
from credalog.network.formulas import TRUE, conjunction
from credalog.network.graph import Markov
from credalog.network.markov import MarkovCondition
from credalog.network.meaning import Box, Meaning, key
from credalog.network.models import Model
from credalog.network.sentences import Network, Query
from credalog.questions.certificates.writing import Writing
from credalog.text.packed import lines_of
from credalog.verify import Proof, verify
from credalog.verify import main as verify_alone

NAMES = "abcd"
SIZE = len(NAMES)
MODEL = {"claim": "model", "query": "P(a)", "value": "0.4", "within": "0", "residual": "0"}
SIXTHS: dict[int, list[tuple[int, ...]]] = {
    2: [(0, 6), (6, 0), (3, 3), (1, 5)],
    3: [(6, 0, 0), (0, 3, 3), (2, 1, 3), (0, 0, 6), (1, 4, 1)],
}
"""Rows of tables, in sixths, by the number of values."""

BOUND = {"claim": "lower", "table": 0, "tables": [[[0], []]], "rows": [], "nodes": [["leaf", "1", "0", []]]}


def claimed(text: str, *claims: dict[str, Any], markov: str = "local") -> list[str]:
    """Return what the verifier says of claims that no engine made."""
    return list(verify(parse(text).ground(), written(text, *claims, markov=markov)))


def written(text: str, *claims: dict[str, Any], markov: Any = "local") -> list[str]:
    head = {"format": "credalog certificate", "version": 1, "network": parse(text).ground().digest}
    return [json.dumps(line) for line in ({**head, "markov": markov}, *claims)]


# ---- forged claims ----------------------------------------------------------------------------------------


def test_a_condition_about_the_claimed_variable_is_not_read_off_its_table():
    """P(red) = 0.4 is no more than 0.5, but P(red | red or green) = 0.8 is."""
    text = "variable C in {red, green, blue}\nP(C = red | C = red or C = green) <= 0.5"
    forged = {**MODEL, "query": "P(C = red)", "factors": [[[0], [], 10, [4, 1, 5]]]}
    with pytest.raises(Refused, match="satisfied"):
        claimed(text, forged)
    assert claimed(text, {**forged, "factors": [[[0], [], 10, [4, 4, 2]]]})


def test_what_is_printed_of_a_model_is_no_nearer_than_what_was_checked():
    """The model has P(a) = 0.4: not 0.26 within 0.1, nor 0.399999999 within 1e-12."""
    table = [[[0], [], 10, [6, 4]]]
    (far,) = claimed("P(a) <= 0.5", {**MODEL, "value": "0.26", "within": "0.14", "factors": table})
    assert far.endswith("= 0.260000000 within 2e-1")
    near = {**MODEL, "value": "0.3999999994", "within": "0.0000000006", "factors": table}
    (claim,) = claimed("P(a) <= 0.5", near)
    shown, within = Fraction(claim.split()[-3]), Fraction(claim.split()[-1])
    assert abs(Fraction(4, 10) - shown) <= within < Fraction(1, 10**8)


def test_a_distribution_far_from_every_model_attains_nothing():
    forged = {**MODEL, "value": "0.9", "residual": "0.5", "factors": [[[0], [], 10, [1, 9]]]}
    with pytest.raises(Refused, match="within 1e-5"):
        claimed("P(a) = 0.4", forged)


def test_a_claim_under_another_markov_condition_says_so():
    """Two atoms are independent under `local`: P(a and b) = 0.16, and 0.4 is attained under `none` alone."""
    text = "P(a) = 0.4\nP(b) = 0.4"
    copied = {"query": "P(a and b)", "factors": [[[0], [], 10, [6, 4]], [[1], [0], 1, [1, 0, 0, 1]]]}
    (claim,) = claimed(text, {**MODEL, **copied}, markov="none")
    assert claim.startswith("under --markov none, a model attains P(a and b) = 0.4")
    with pytest.raises(Refused):
        claimed(text, {**MODEL, **copied})


@pytest.mark.parametrize("markov", [None, "strange", ["local"], {}, 3])
def test_a_certificate_names_a_known_markov_condition(markov):
    with pytest.raises(CredalogError, match="no credalog certificate"):
        list(verify(parse("P(a) = 0.4").ground(), written("P(a) = 0.4", markov=markov)))


def test_a_bound_under_a_condition_that_cannot_hold_says_nothing_of_other_conditions():
    impossible = {**BOUND, "query": "P(a | a and !a)", "bound": "1"}
    assert claimed("P(a) = 0.4", impossible, {**impossible, "bound": "2"})[1].startswith("no model has")
    with pytest.raises(Refused, match=r"line 3, P\(a\): .*leaf 0"):
        claimed("P(a) = 0.4", impossible, {**BOUND, "query": "P(a)", "bound": "1"})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"bound": 0.5}, "is a number"),
        ({"bound": "1/0"}, "ZeroDivisionError"),
        ({"bound": "nan"}, "is a number"),
        ({"query": "P(z)"}, "no proposition z"),
        ({"query": 7}, "TypeError"),
        ({"tables": [[[0], [[0, 1]]]]}, "names each variable once"),
        ({"tables": [[[True], []]]}, "there is no variable True"),
        ({"tables": [[[-1], []]]}, "there is no variable -1"),
        ({"nodes": [["leaf", "0", "0", []]]}, "proves something"),
        ({"nodes": [["leaf", "-1", "2", []]]}, "proves something"),
        ({"nodes": [["cut", [[0, 1]], [], "1/2", 0, 0]]}, "stands in one place"),
        ({"nodes": [["ends", 0, []]]}, "ValueError"),
        (
            {"rows": [["sentence", -1, "lower", 0, []]], "nodes": [["leaf", "1", "0", [[0, "1"]]]]},
            "sentence -1",
        ),
    ],
)
def test_a_forged_bound_is_refused_with_its_line_and_its_reason(change, why):
    with pytest.raises(Refused, match=rf"line 2, .*{why}"):
        claimed("P(a) <= 0.4", {**BOUND, "query": "P(a)", "bound": "1/2", **change})


WIDE = "0.2 <= P(a) <= 0.8"
HALF = {**BOUND, "query": "P(a)", "bound": "1/2"}
CUT = ["cut", [[0, 1]], [], "1/2", 1, 2]
WITHIN = {end: [["ratio", end, [[0, 1]], [], [], 0, 0]] for end in ("lower", "upper")}


def leaf(*multipliers: str) -> list[Any]:
    """Return a leaf that adds up the first rows, so many times each."""
    return ["leaf", "1", "0", [[r, times] for r, times in enumerate(multipliers)]]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        # P(a) >= P(!a) would prove it.
        ({"rows": [["part", 0, [[0, 0]], 0, [[0, 1]]]], "nodes": [leaf("1/2")]}, "part of the other"),
        # P(true) >= P(a), taken the wrong way round.
        ({"rows": [["part", 0, [[0, 1]], 0, []]], "nodes": [leaf("-1/2")]}, "right way round"),
        ({"rows": WITHIN["lower"], "nodes": [leaf("1")]}, "leaf 0 leaves nothing negative"),
        ({"rows": WITHIN["lower"], "nodes": [CUT, leaf("1"), leaf("1")]}, "leaf 1 leaves nothing negative"),
        ({"rows": WITHIN["lower"], "nodes": [[*CUT[:-2], 2, 2], leaf("1"), leaf("1")]}, "one place"),
        ({"rows": WITHIN["lower"], "nodes": [[*CUT[:-2], 2, 0], leaf("1"), leaf("1")]}, "one place"),
        ({"rows": [["sentence", 0, "lower", 0, []]], "nodes": [leaf("1")]}, "leaf 0 leaves nothing negative"),
        ({"rows": [["sentence", True, "lower", 0, []]], "nodes": [leaf("1")]}, "there is a sentence True"),
        ({"rows": [["sentence", 1, "lower", 0, []]], "nodes": [leaf("1")]}, "there is a sentence 1"),
        ({"rows": [["part", 0, [[0, 1]], 1, [[0, 1]]]], "nodes": [leaf("1")]}, "IndexError"),
        ({"nodes": [["leaf", "0", "1", []]]}, "leaf 0 leaves nothing negative"),
        ({"nodes": [["leaf", "1", "-1/2", []]]}, "proves something"),
        ({"rows": WITHIN["lower"], "nodes": [["leaf", "1", "0", [[-1, "1"]]]]}, "rows have numbers"),
        ({"rows": WITHIN["lower"], "nodes": [["leaf", "1", "0", [[False, "1"]]]]}, "rows have numbers"),
        ({"rows": WITHIN["lower"], "nodes": [["leaf", "1", "0", [["0", "1"]]]]}, "rows have numbers"),
        ({"tables": [[[0], []], [[0], [[0, 1]]]]}, "names each variable once"),
        ({"tables": [[[0], [[0, 1]]], [[0], []]]}, "names each variable once"),
        ({"tables": [[[0, 0], []]]}, "names each variable once"),
        ({"tables": [[[], [[0, 2]]]]}, "names states that do not exist"),
        ({"tables": [[[], [[0, -1]]]]}, "names states that do not exist"),
        ({"tables": [[[], [[0, True]]]]}, "names states that do not exist"),
        ({"tables": [[[], [[0, 1], [0, 1]]]]}, "names states that do not exist"),
        ({"tables": [[[1], []]]}, "there is no variable 1"),
        # A table of what is fixed does not show the rest, nor one of the rest what is fixed.
        ({"tables": [[[], [[0, 1]]]]}, "table 0 shows an event"),
        ({"tables": [[[], []]]}, "table 0 shows an event"),
        (
            {"rows": [["ratio", "lower", [[0, 1]], [[0, 1]], [], 0, 0]], "nodes": [leaf("1")]},
            "different variables",
        ),
    ],
)
def test_a_bound_that_is_not_so_is_not_proved(change, why):
    with pytest.raises(Refused, match=rf"line 2, .*{why}"):
        claimed(WIDE, {**HALF, **change})


def test_an_upper_bound_is_proved_in_every_part_of_a_cut():
    upper = {**HALF, "claim": "upper", "rows": WITHIN["upper"]}
    with pytest.raises(Refused, match="leaf 2 leaves nothing negative"):
        claimed(WIDE, {**upper, "nodes": [CUT, leaf("1"), leaf("1")]})
    with pytest.raises(Refused, match="leaf 0 leaves nothing negative"):
        claimed(WIDE, {**upper, "bound": "0.79", "nodes": [leaf("1")]})
    assert claimed(WIDE, {**upper, "bound": "0.8", "nodes": [CUT, leaf("1"), leaf("1")]})


@pytest.mark.parametrize(
    ("claim", "bound", "shown"),
    [("lower", "1/3", ">= 0.333333333"), ("upper", "2/3", "<= 0.666666667")],
)
def test_a_bound_is_printed_no_tighter_than_it_is(claim, bound, shown):
    text = "1/3 <= P(a) <= 2/3"
    rows = [["sentence", 0, claim, 0, []]]
    (said,) = claimed(text, {**HALF, "claim": claim, "bound": bound, "rows": rows, "nodes": [leaf("1")]})
    assert said == f"every model has P(a) {shown}"


def test_a_leaf_without_weight_proves_that_there_is_no_model():
    """0.2 - P(a) and P(a) - 0.4 cannot both be at least zero: their sum is -0.2 in every world."""
    text, rows = (
        "P(a) <= 0.2\nP(a) >= 0.4",
        [["sentence", 0, "upper", 0, []], ["sentence", 1, "lower", 0, []]],
    )
    nothing = {**HALF, "bound": "2", "rows": rows}

    def said(weight: str, less: str, times: str) -> list[str]:
        return claimed(text, {**nothing, "nodes": [["leaf", weight, less, [[0, times], [1, times]]]]})

    assert said("0", "1", "5") == said("0", "1/5", "1") == said("1/10", "1", "6") == ["there is no model"]
    assert said("0", "1/10", "1/2") == ["there is no model"]
    below = {**nothing, "claim": "upper", "bound": "-1/2"}
    assert claimed(text, {**below, "nodes": [["leaf", "0", "1", [[0, "5"], [1, "5"]]]]}) == said(
        "0", "1", "5"
    )
    with pytest.raises(Refused, match="nothing negative"):
        said("0", "1", "4.9")
    with pytest.raises(Refused, match="nothing negative"):
        said("1/10", "1", "5.1")
    with pytest.raises(Refused, match="nothing negative"):
        claimed(WIDE, {**nothing, "rows": rows[:1], "nodes": [["leaf", "0", "1", [[0, "9"]]]]})


def test_an_equation_may_be_used_either_way_round():
    """What is said on one table is carried to another, where P(!a) counts -0.2 times."""
    same = [["part", 1, [[0, state]], 0, [[0, state]]] for state in (1, 0)]
    rows = [["sentence", 0, "lower", 1, []], *same]
    twice = {**HALF, "bound": "0.2", "tables": [[[0], []], [[0], []]], "rows": rows}
    assert claimed(WIDE, {**twice, "nodes": [leaf("1", "0.8", "-0.2")]})
    with pytest.raises(Refused, match="nothing negative"):
        claimed(WIDE, {**twice, "nodes": [leaf("1", "0.8", "0.2")]})


def test_in_a_context_a_sentence_holds_only_if_what_it_claims_is_independent_of_it():
    """P(b) >= 0.6 says nothing of the worlds in which a child of b is true."""
    text = "P(b) >= 0.6\n0 <= P(c | b) <= 1\n0 <= P(d) <= 1"
    tables = {"query": "P(b | c)", "bound": "0.6", "tables": [[[0, 1], []]], "nodes": [leaf("1")]}
    with pytest.raises(Refused, match="holds in a context"):
        claimed(text, {**BOUND, **tables, "rows": [["sentence", 0, "lower", 0, [[1, 1]]]]})
    apart = {**tables, "query": "P(b | d)", "tables": [[[0, 2], []]]}
    assert claimed(text, {**BOUND, **apart, "rows": [["sentence", 0, "lower", 0, [[2, 1]]]]})
    with pytest.raises(Refused, match="holds in a context"):
        claimed(text, {**BOUND, **tables, "rows": [["sentence", 0, "lower", 0, [[0, 1]]]]})


@pytest.mark.parametrize("x", [True, 1.0, "1", None, -1, 2])
def test_a_variable_has_a_number(x):
    meaning = Meaning(parse("P(a) = 0.4\nP(b) = 0.4").ground(), Markov.LOCAL)
    assert meaning.variable(1) == 1
    with pytest.raises(ValueError, match="there is no variable"):
        meaning.variable(x)


def test_a_family_on_which_no_other_sentence_bears_is_taken_at_its_ends():
    network = parse("0 <= P(a) <= 0.5\n0.1 <= P(c or d) <= 0.2 ; tau=False").ground()
    assert Meaning(network, Markov.LOCAL).ends(0, {}) == ((Fraction(1, 2), Fraction(1, 2)), (1, 0))


def test_a_range_is_that_of_the_complement_of_one_two_valued_variable_alone():
    """If P(!a, !b) is at most 1/5, P(a, b) may be anything up to 1; so may P(green) if P(red) is."""
    network = parse("variable C in {red, green, blue}\n0 <= P(C = red) <= 1\n0 <= P(a and b) <= 1").ground()
    proof = Proof(Meaning(network, Markov.LOCAL), {"tables": [], "rows": [], "nodes": []})
    colour, one, two = (i for name in "Cab" for i, v in enumerate(network.variables) if v.name == name)
    fifth, box = Fraction(1, 5), dict[Any, Any]()
    box[key({one: 0}, {})] = (fifth, 2 * fifth)
    box[key({one: 0, two: 0}, {})] = (Fraction(0), fifth)
    box[key({colour: 0}, {})] = (Fraction(0), fifth)
    assert proof.meaning.range({one: 1}, {}, box) == (3 * fifth, 4 * fifth)
    assert proof.meaning.range({one: 1, two: 1}, {}, box) == (0, 1)
    assert proof.meaning.range({colour: 1}, {}, box) == (0, 1)
    box[key({one: 1}, {})] = (Fraction(7, 10), Fraction(1))
    assert proof.meaning.range({one: 1}, {}, box) == (Fraction(7, 10), 4 * fifth)


@pytest.mark.parametrize(
    ("factors", "why"),
    [
        ([[[0], [], 10, [-2, 12]], [[1], [], 1, [1, 0]]], "no probability is negative"),
        ([[[0], [], -10, [-6, -4]], [[1], [], 1, [1, 0]]], "no probability is negative"),
        ([[[0], [], 10, [-1, 11]], [[1], [], 1, [1, 0]]], "no probability is negative"),
        ([[[0], [], 0, [0, 0]], [[1], [], 1, [1, 0]]], "adds up to one"),
        ([[[0], [], 1, [True, 0]], [[1], [], 1, [1, 0]]], "no probability is negative"),
        ([[[0], [], 10, [5, 4]], [[1], [], 1, [1, 0]]], "adds up to one"),
        ([[[0], [], 10, [6, 4]], [[1], [0], 10, [5, 5, 6, 5]]], "adds up to one"),
        ([[[0], [], 10, [6, 4]]], "every variable has a table"),
        ([[[0], [], 10, [6, 4]], [[0], [], 1, [1, 0]], [[1], [], 1, [1, 0]]], "each variable has one table"),
        ([[[0], [1], 1, [1, 0, 0, 1]], [[1], [], 10, [6, 4]]], "each variable has one table"),
        ([[[0, 0], [], 1, [1, 0, 0, 0]], [[1], [], 1, [1, 0]]], "each variable has one table"),
        ([[[0], [0], 1, [1, 0, 0, 1]], [[1], [], 10, [6, 4]]], "each variable has one table"),
        ([[[], [], 1, [1]], [[0], [], 10, [6, 4]], [[1], [], 10, [6, 4]]], "each variable has one table"),
        ([[[0], [], 10, [6, 4, 0]], [[1], [], 1, [1, 0]]], "ValueError"),
    ],
)
def test_what_is_no_distribution_is_no_model(factors, why):
    with pytest.raises(Refused, match=rf"line 2, .*{why}"):
        claimed("0 <= P(a) <= 1\n0 <= P(b) <= 1", {**MODEL, "factors": factors})


# ---- files ------------------------------------------------------------------------------------------------


def test_half_a_file_two_files_and_none_are_refused(tmp_path, capsys):
    """Claims that were cut off, or that follow another certificate, would be passed over in silence."""
    whole = gzip.compress("\n".join(written("P(a) = 0.4", {**BOUND, "query": "P(a)", "bound": "0"})).encode())
    (tmp_path / "m.lcn").write_text("P(a) = 0.4\n", encoding="utf-8")
    for data, code in ((whole, 0), (whole[:-4], 5), (whole + b"more", 5), (whole + whole, 5), (b"", 5)):
        (tmp_path / "c").write_bytes(data)
        assert main(["verify", str(tmp_path / "m.lcn"), str(tmp_path / "c")]) == code
        capsys.readouterr()
        assert verify_alone([str(tmp_path / "m.lcn"), str(tmp_path / "c")]) == code
        assert capsys.readouterr().out == ("" if code else "every model has P(a) >= 0.000000000\n")


def test_a_certificate_without_a_claim_proves_nothing(tmp_path, capsys):
    (tmp_path / "m.lcn").write_text("P(a) = 0.4\n", encoding="utf-8")
    (tmp_path / "c").write_text("\n".join(written("P(a) = 0.4")), encoding="utf-8")
    assert main(["verify", str(tmp_path / "m.lcn"), str(tmp_path / "c")]) == 5
    assert "claims something" in capsys.readouterr().err


def test_an_interruption_leaves_what_was_proved(tmp_path, monkeypatch):
    model, out = tmp_path / "m.lcn", tmp_path / "c"
    model.write_text("0.2 <= P(a) <= 0.4\n0.3 <= P(b) <= 0.6\n", encoding="utf-8")
    proved = Writing.certify_end

    def interrupted(writing: Writing, *wanted: Any) -> None:
        if str(wanted[0]) == "P(b)":
            raise KeyboardInterrupt
        proved(writing, *wanted)

    monkeypatch.setattr(Writing, "certify_end", interrupted)
    assert main(["query", str(model), "P(a)", "P(b)", "--certificate", str(out)]) == 130
    assert main(["verify", str(model), str(out), "P(a)"]) == 0
    assert main(["verify", str(model), str(out), "P(b)"]) == 2


def test_a_model_must_satisfy_what_is_said_across_conditions():
    """P(b | a) >= P(b | !a) is missed by 3/10 where b is likelier without a."""
    text = "0.2 <= P(a) <= 0.4\nP(b | a) >= P(b | !a)"
    a = [[0], [], 10, [7, 3]]
    line = {"claim": "model", "query": "P(a)", "value": "3/10", "within": "0", "residual": "0"}
    claimed(text, {**line, "factors": [a, [[1], [0], 10, [5, 5, 4, 6]]]})
    with pytest.raises(Refused, match="everything is satisfied"):
        claimed(text, {**line, "factors": [a, [[1], [0], 10, [4, 6, 7, 3]]]})


TIED = """P(u or v) >= 0.1
P(v or w) >= 0.1
P(x | u) = 1
P(x | !u) = 0
P(y | w) = 1
P(y | !w) = 0
"""


def test_what_follows_ties_by_its_tables_is_spared_unless_it_is_asked_for():
    """Here u = w and v is a coin apart: u ⊥ w | v fails, but no scope that is demanded shows u and w."""
    joint = [1 if u == w else 0 for u in (0, 1) for _ in (0, 1) for w in (0, 1)]
    tables = [[[0, 1, 2], [], 4, joint], [[3], [0], 1, [1, 0, 0, 1]], [[4], [2], 1, [1, 0, 0, 1]]]
    line = {"claim": "model", "value": "1/2", "within": "0", "residual": "0", "factors": tables}
    assert claimed(TIED, {**line, "query": "P(u)"}) == ["a model attains P(u) = 0.500000000 within 0e+0"]
    # In every model u and w are independent given v; P(x and y) = 1/2 = P(x) asks for more than that.
    for query in ("P(x and y)", "P(x)"):
        with pytest.raises(Refused, match="everything is satisfied"):
            claimed(TIED, {**line, "query": query})
    with pytest.raises(Refused, match="everything is satisfied"):
        claimed(TIED + "P(x and y) >= 0.4\n", {**line, "query": "P(u)"})
    with pytest.raises(Refused, match=r"everything is satisfied|told to be a model"):
        claimed(
            TIED + "0 <= P(z | x and y) <= 1\n",
            {**line, "query": "P(u)", "factors": [*tables, [[5], [], 1, [1, 0]]]},
        )


def test_the_verifier_alone_says_what_it_needs(tmp_path, capsys):
    assert verify_alone([]) == 2
    assert "MODEL CERTIFICATE" in capsys.readouterr().err
    assert verify_alone([str(tmp_path / "m"), str(tmp_path / "c")]) == 2
    with pytest.raises(OSError, match="c"):
        lines_of(str(tmp_path / "c"))


# ---- theorems ---------------------------------------------------------------------------------------------


def random_network(rng: Random) -> Network:
    """Draw arrows and ties by sentences that say nothing else, and sometimes an independence."""
    lines = [f"0 <= P({x}) <= 1" for x in NAMES]
    for x, y in combinations(NAMES, 2):
        word = rng.choice(["", "", "", "{x} | {y}", "{y} | {x}", "{x} and {y}", "{x} xor {y}"])
        lines += [f"0 <= P({word.format(x=x, y=y)}) <= 1"] if word else []
    x, y, *others = rng.sample(NAMES, SIZE)
    declared = (f"independent {x}, {y}", f"independent {x}, {y} {others[0]} | {others[1]}")
    lines += rng.choice([[], [rng.choice(declared)]])
    return parse("\n".join(lines)).ground()


def linear_spaces() -> list[frozenset[int]]:
    """Return all linear spaces of worlds; a world is a number, its bits are the states."""
    found, waiting = set[frozenset[int]](), [frozenset((0,))]
    while waiting:
        space = waiting.pop()
        found.add(space)
        larger = (space | {a ^ v for a in space} for v in range(1 << SIZE) if v not in space)
        waiting += [s for s in larger if s not in found]
    return sorted(found, key=sorted)


def dependence(joint: np.ndarray, left: Any, right: Any, given: Any) -> float:
    def over(kept: set[int]) -> np.ndarray:
        return np.asarray(joint.sum(axis=tuple(x for x in range(SIZE) if x not in kept), keepdims=True))

    g, l, r = set(given), {*left, *given}, {*right, *given}
    return float(np.abs(over(l | r) * over(g) - over(l) * over(r)).max())


def is_literal_model(condition: MarkovCondition, joint: np.ndarray) -> bool:
    said = [({x}, condition.ndnp(x), condition.parents[x]) for x in range(SIZE)]
    local = said if condition.markov is not Markov.NONE else []
    return all(dependence(joint, *sides) < 1e-12 for sides in (*local, *condition.declared))


def uniform_on(space: frozenset[int]) -> np.ndarray:
    worlds = product((0, 1), repeat=SIZE)
    inside = [sum(bit << x for x, bit in enumerate(world)) in space for world in worlds]
    return np.array(inside, dtype=float).reshape((2,) * SIZE) / len(space)


@pytest.mark.slow
def test_independences_that_are_claimed_hold_in_every_linear_law_that_is_a_literal_model():
    """Copies and parities are where the literal local condition says less than a graph seems to."""
    rng, laws, checked = Random(3), [uniform_on(space) for space in linear_spaces()], 0
    for _ in range(60):
        condition = MarkovCondition(random_network(rng), rng.choice([Markov.LOCAL, Markov.NONE]))
        models = [law for law in laws if is_literal_model(condition, law)]
        for roles in product(range(4), repeat=SIZE):
            sides = [frozenset(x for x in range(SIZE) if roles[x] == role) for role in range(3)]
            if sides[0] and sides[1] and condition.independent(*sides):
                checked += 1
                assert all(dependence(law, *sides) < 1e-12 for law in models)
    assert checked > 100


def seen(condition: MarkovCondition, sides: str) -> bool:
    """Tell whether an independence such as "a, b c | d" is seen."""
    names = [v.name for v in condition.number]
    left, _, rest = sides.partition(",")
    right, _, given = rest.partition("|")
    return condition.independent(
        *(frozenset(map(names.index, side.split())) for side in (left, right, given))
    )


DECLARED = "\n".join([*(f"0 <= P({x}) <= 1" for x in "abcde"), "independent a, b c | d"])
TIED_CHAIN = "\n".join(f"0 <= P({x} xor {y}) <= 1" for x, y in ("ab", "bc", "cd"))


@pytest.mark.parametrize(
    "sides", ["a, b c | d", "b c, a | d", "a, b | d", "c, a | d", "a, b | c d", "b, a | c d", "a, | d"]
)
def test_what_is_declared_is_seen_and_what_follows_by_symmetry_decomposition_and_weak_union(sides: str):
    for text in (DECLARED, DECLARED.replace("a, b c", "b c, a")):
        assert seen(MarkovCondition(parse(text).ground(), Markov.NONE), sides)


def test_given_a_common_child_two_parents_are_not_seen_to_be_independent():
    text = "0 <= P(a) <= 1\n0 <= P(b) <= 1\n0 <= P(c | a and b) <= 1"
    condition = MarkovCondition(parse(text).ground(), Markov.LOCAL)
    assert seen(condition, "a, b") and not seen(condition, "a, b | c") and not seen(condition, "b, a | c")


@pytest.mark.parametrize(
    "sides", ["a, b", "a, b | c", "b, c | d", "a, b | d e", "a, b e | d", "a e, b | d", "d, a"]
)
def test_what_is_not_declared_is_not_seen(sides: str):
    assert not seen(MarkovCondition(parse(DECLARED).ground(), Markov.NONE), sides)


@pytest.mark.parametrize(
    "sides", ["a, c d | b", "a, c | b", "a, d | c", "a, d | b c", "a, c | b d", "a b, d | c", "d, a b | c"]
)
def test_what_the_local_condition_says_of_tied_variables_is_seen(sides: str):
    network = parse(TIED_CHAIN).ground()
    assert seen(MarkovCondition(network, Markov.LOCAL), sides)
    assert not seen(MarkovCondition(network, Markov.NONE), sides)


@pytest.mark.parametrize("sides", ["a, c", "a, b | c", "a b, c d", "a, c | d"])
def test_what_the_local_condition_does_not_say_of_tied_variables_is_not_seen(sides: str):
    assert not seen(MarkovCondition(parse(TIED_CHAIN).ground(), Markov.LOCAL), sides)


def test_two_pairs_that_share_nothing_are_independent_under_the_global_condition_alone():
    """Four copies of one coin satisfy every local condition (proof 10)."""
    network = parse("0 <= P(a and b) <= 1\n0 <= P(c and d) <= 1").ground()
    sides = frozenset((0, 1)), frozenset((2, 3)), frozenset[int]()
    copies = uniform_on(frozenset((0, 15)))
    assert is_literal_model(MarkovCondition(network, Markov.LOCAL), copies)
    assert not MarkovCondition(network, Markov.LOCAL).independent(*sides)
    assert MarkovCondition(network, Markov.GLOBAL).independent(*sides)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0 <= P(a) <= 1\n0.4 <= P(a and b) <= 0.6 ; tau=False", "sentence 1 is not about one family"),
        ("0 <= P(a) <= 1\nP(b | a) = 0.9\nP(b | !a) = 0.1\nP(b) = 0.3", "sentence 3 is not about one family"),
        ("0 <= P(a) <= 1\nP(b | a) = 0.9\nP(c | a) = 0.9\nindependent b, c", "something declared"),
        ("0 <= P(a) <= 1\nP(a and b) <= 0.6", "outside the core"),
        ("P(a) <= 0.2\nP(a) >= 0.4", "is empty"),
    ],
)
def test_a_family_that_something_else_restricts_is_not_taken_at_its_ends(text, why):
    with pytest.raises(ValueError, match=why):
        Meaning(parse(text).ground(), Markov.LOCAL).ends(0, {})


def test_what_is_no_law_of_its_own_is_not_taken_at_its_ends():
    """P(b) is a mixture of what a makes of it; what is tied, or under no Markov condition, has no law."""
    family = parse("0 <= P(a) <= 1\n0.1 <= P(b | a) <= 0.9\n0.1 <= P(b | !a) <= 0.3").ground()
    tied = parse("0 <= P(a) <= 1\nP(a and b) <= 0.6").ground()
    assert Meaning(family, Markov.LOCAL).ends(1, {0: 1})
    for network, markov, x, given in (
        (family, Markov.LOCAL, 1, {}),
        (family, Markov.LOCAL, 0, {1: 1}),
        (family, Markov.NONE, 1, {0: 1}),
        (family, Markov.NONE, 0, {}),
        (tied, Markov.LOCAL, 0, {1: 1}),
    ):
        with pytest.raises(ValueError, match="a law of its own"):
            Meaning(network, markov).ends(x, given)


def test_a_family_above_an_impossible_one_is_taken_at_its_ends():
    """P(a) = 0 in every model, since nothing satisfies what is said of b given a: an end of [0, 0.5]."""
    network = parse("0 <= P(a) <= 0.5\nP(b | a) <= 0.2\nP(b | a) >= 0.3\nP(b | !a) = 0.7").ground()
    assert Meaning(network, Markov.LOCAL).ends(0, {}) == ((Fraction(1, 2), Fraction(1, 2)), (1, 0))


def random_factors(rng: Random) -> tuple[list[Any], np.ndarray]:
    """Draw a product of tables in an order of its own, and its joint table."""
    factors, joint, order = [], np.ones((2,) * SIZE), rng.sample(range(SIZE), SIZE)
    for place, x in enumerate(order):
        parents = sorted(rng.sample(order[:place], min(place, rng.choice([0, 1, 1, 2]))))
        rows = [rng.choice([(0, 4), (4, 0), (2, 2), (3, 1)]) for _ in range(2 ** len(parents))]
        factors.append([[x], parents, 4, [p for row in rows for p in row]])
        table = np.array(rows).reshape((2,) * len(parents) + (2,)) / 4
        axes = [2 if y in (*parents, x) else 1 for y in range(SIZE)]
        joint = joint * table.transpose(np.argsort([*parents, x])).reshape(axes)
    return factors, joint


@pytest.mark.slow
def test_a_distribution_is_called_a_model_if_and_only_if_it_satisfies_the_literal_condition():
    """A question about all variables leaves no component to proof 9."""
    rng, told = Random(5), {True: 0, False: 0}
    for _ in range(80):
        network = random_network(rng)
        meaning, asked = Meaning(network, Markov.LOCAL), about_all(network)
        for factors, joint in (random_factors(rng) for _ in range(4)):
            is_model = is_literal_model(meaning, joint)
            told[is_model] += 1
            assert (Model(meaning, factors).residual(asked) == 0) == is_model
    assert min(told.values()) > 10


def about_all(network: Network) -> Query:
    return Query(conjunction(v.is_("true") for v in network.variables))


def random_formula(rng: Random) -> str:
    atoms = [rng.choice(["", "!"]) + rng.choice([*NAMES[1:], "C = red", "C = green"]) for _ in range(2)]
    word = rng.choice(["", " and ", " or ", " xor "])
    return word.join(atoms) if word else atoms[0]


@pytest.mark.slow
def test_sentences_are_measured_as_in_the_table_of_all_worlds():
    """Conditions may be about the claimed variable, several states, or nothing that can be."""
    rng, missed = Random(2), 0
    for _ in range(150):
        claim, given = random_formula(rng), random_formula(rng)
        lines = ["variable C in {red, green, blue}", *(f"0 <= P({x}) <= 1" for x in ("C = red", *NAMES[1:]))]
        network = parse("\n".join((*lines, f"0.3 <= P({claim} | {given}) <= 0.6"))).ground()
        meaning = Meaning(network, Markov.NONE)
        factors, worlds = random_laws(meaning, rng)
        found, sentence = Model(meaning, factors).residual(Query(TRUE)), network.sentences[-1]
        under = [(e, p) for e, p in worlds if meaning.holds(sentence.given, e)]
        mass = sum(p for _, p in under)
        part = sum(p for e, p in under if meaning.holds(sentence.claim, e))
        low, high = Fraction(3, 10), Fraction(6, 10)
        assert found == (max(0, low - part / mass, part / mass - high) if mass else 0)
        missed += found > 0
    assert missed > 30


def random_laws(meaning: Meaning, rng: Random) -> tuple[list[Any], list[tuple[dict[int, int], Fraction]]]:
    """Draw a table of each variable given those before it, and list all worlds with their probabilities."""
    factors, worlds = list[Any](), [(dict[int, int](), Fraction(1))]
    for x, size in enumerate(meaning.sizes):
        rows = [rng.choice(SIXTHS[size]) for _ in worlds]
        factors.append([[x], list(range(x)), 6, [p for row in rows for p in row]])
        worlds = [
            ({**world, x: state}, weight * Fraction(p, 6))
            for (world, weight), row in zip(worlds, rows, strict=True)
            for state, p in enumerate(row)
        ]
    return factors, worlds


def test_a_condition_on_many_values_costs_no_other_claim_its_certificate():
    """Nine of ten values in eight variables are more states than anybody goes through."""
    names = [f"X{i}" for i in range(8)]
    values = "{" + ", ".join(f"v{k}" for k in range(10)) + "}"
    text = "\n".join(f"variable {x} in {values}" for x in names)
    text += f"\nP(a | {' or '.join(f'{x} = v1' for x in names)}) <= 0.5\n0.2 <= P(b) <= 0.3"
    query = {**BOUND, "query": "P(b)", "bound": "0"}
    network = parse(text).ground()
    b = [v.name for v in network.variables].index("b")
    assert claimed(text, {**query, "tables": [[[b], []]]}) == ["every model has P(b) >= 0.000000000"]


def random_model(rng: Random) -> tuple[Network, dict[tuple[int, ...], Fraction]]:
    """Draw a product of tables on a chain, and sentences that hold in it: each row, more or less exactly."""
    lines, joint = list[str](), dict[tuple[int, ...], Fraction]({(): Fraction(1)})
    for place, x in enumerate(NAMES):
        before = NAMES[place - 1 : place] if place else ""
        truth = {state: Fraction(rng.choice([0, 1, 2, 5, 10]), 10) for state in (0, 1)}
        for state in (0, 1) if before else (1,):
            condition = f" | {'' if state else '!'}{before}" if before else ""
            low = max(truth[state] - Fraction(rng.choice([0, 0, 1, 3]), 10), Fraction(0))
            lines.append(f"{float(low)} <= P({x}{condition}) <= {float(truth[state])}")
        joint = {
            (*world, value): p * (q if value else 1 - q)
            for world, p in joint.items()
            for q in (truth[world[-1] if world else 1],)
            for value in (0, 1)
        }
    return parse("\n".join(lines)).ground(), joint


def probability(joint: dict[tuple[int, ...], Fraction], event: dict[int, int]) -> Fraction:
    inside = (p for world, p in joint.items() if all(world[x] == state for x, state in event.items()))
    return sum(inside, start=Fraction(0))


def random_reason(rng: Random, sentences: int) -> list[Any]:
    """Draw a reason for a row, right or wrong."""
    variables = rng.sample(range(SIZE), rng.randint(1, SIZE))
    event = [[x, rng.choice([0, 1])] for x in variables]
    first, second = sorted(rng.randint(0, len(event)) for _ in range(2))
    end, t, u = rng.choice(["lower", "upper"]), rng.randrange(3), rng.randrange(3)
    return rng.choice(
        [
            ["part", t, event, u, event[:second]],
            ["sentence", rng.randrange(sentences), end, t, rng.choice([event[:first], []])],
            ["ratio", end, event[: max(first, 1)], event[max(first, 1) : second], event[second:], t, u],
        ]
    )


@pytest.mark.slow
def test_rows_that_are_rebuilt_hold_in_a_model_and_in_its_boxes():
    rng, held = Random(11), {True: 0, False: 0}
    for _ in range(60):
        network, joint = random_model(rng)
        meaning = Meaning(network, Markov.LOCAL)
        tables = [[[0, 1, 2, 3], []], [[1, 2], []], [[0, 2], [[3, 1]]]]
        proof = Proof(meaning, {"tables": tables, "rows": [], "nodes": []})
        for reason in (random_reason(rng, len(network.sentences)) for _ in range(40)):
            try:
                form, is_equation = proof.row(reason, box_around(reason, joint, rng))
            except (Refused, ValueError):
                continue
            held[is_equation] += 1
            value = sum(c * probability(joint, shown(proof, column)) for column, c in form)
            assert value == 0 if is_equation else value >= 0
    assert min(held.values()) > 100


def random_product(rng: Random) -> list[Any]:
    """Draw a reason for a product of bounds, right or wrong; few events are independent in a context."""
    values = [[x, rng.choice([0, 1])] for x in range(SIZE)]
    rng.shuffle(values)
    first, second, *rest = values
    context = rest[: rng.randint(0, len(rest))]
    conditions = [sorted(rng.sample(context, rng.randint(0, min(len(context), 1)))) for _ in range(2)]
    ends = [rng.choice(["lower", "upper"]) for _ in range(2)]
    return ["product", ends, [first], conditions[0], [second], conditions[1], context, 0]


@pytest.mark.slow
def test_products_of_bounds_hold_in_a_model_and_in_its_boxes():
    """Each refused or true, whatever two events are multiplied in whatever context."""
    rng, held, negative = Random(5), 0, 0
    for _ in range(150):
        network, joint = random_model(rng)
        meaning = Meaning(network, Markov.LOCAL)
        proof = Proof(meaning, {"tables": [[[0, 1, 2, 3], []]], "rows": [], "nodes": []})
        for reason in (random_product(rng) for _ in range(40)):
            box = {
                **box_around(["ratio", "", *reason[2:4]], joint, rng),
                **box_around(["ratio", "", *reason[4:6]], joint, rng),
            }
            try:
                form, _ = proof.row(reason, box)
            except (Refused, ValueError):
                continue
            held += 1
            assert sum(c * probability(joint, shown(proof, column)) for column, c in form) >= 0
            negative += any(c < 0 for _, c in form)
    assert held > 150 and negative > 50


@pytest.mark.parametrize(
    "changed",
    [
        ["product", ["lower", "lower"], [[0, 1]], [], [[1, 1]], [], [], 0],
        ["product", ["lower", "lower"], [[0, 1]], [[1, 1]], [[2, 1]], [[1, 0]], [[1, 1]], 0],
        ["product", ["lower", "lower"], [[0, 1]], [[1, 1]], [[0, 1]], [[1, 1]], [[1, 1]], 0],
        ["product", ["lower", "lower"], [[0, 1]], [[1, 1]], [[2, 1]], [[1, 1]], [], 0],
        ["product", ["lower", "lower"], [[0, 1]], [[1, 1]], [[2, 1]], [], [], 0],
        ["product", ["lower", "upward"], [[0, 1]], [[1, 1]], [[2, 1]], [[1, 1]], [[1, 1]], 0],
        ["product", ["lower", "lower"], [[0, 1]], [[1, 1]], [[2, 1]], [[1, 1]], [[1, 1]], 1],
    ],
)
def test_a_product_of_events_that_depend_on_each_other_is_refused(changed):
    """On the chain a -> b -> c the first and the last are independent given the middle, and not without."""
    network = parse("P(a) = 0.5\n0.1 <= P(b | a) <= 0.2\n0.3 <= P(c | b) <= 0.4").ground()
    proof = Proof(
        Meaning(network, Markov.LOCAL), {"tables": [[[0, 1, 2], []], [[0, 1], []]], "rows": [], "nodes": []}
    )
    fair = ["product", ["lower", "lower"], [[0, 1]], [[1, 1]], [[2, 1]], [[1, 1]], [[1, 1]], 0]
    assert proof.row(fair, {})[0]
    with pytest.raises(Refused):
        proof.row(changed, {})


@pytest.mark.parametrize("markov", [Markov.LOCAL, Markov.NONE])
@pytest.mark.parametrize(
    ("ends", "sign", "l", "m"),
    [
        (["lower", "lower"], 1, Fraction(1, 10), Fraction(1, 5)),
        (["lower", "upper"], -1, Fraction(1, 10), Fraction(3, 5)),
        (["upper", "upper"], 1, Fraction(3, 10), Fraction(3, 5)),
    ],
)
def test_a_product_of_bounds_is_worth_the_product_of_what_each_is_worth(markov, ends, sign, l, m):
    """Also of an event of two variables, and where it is declared that two events are independent."""
    text = "0 <= P(c) <= 1\n0 <= P(a | c) <= 1\n0 <= P(d | c) <= 1\n0.2 <= P(b | c) <= 0.6\n"
    network = parse(text + "independent a d, b | c").ground()
    a, b, c, d = (i for name in NAMES for i, v in enumerate(network.variables) if v.name == name)
    proof = Proof(Meaning(network, markov), {"tables": [[[a, b, c, d], []]], "rows": [], "nodes": []})
    box = {key({a: 1, d: 1}, {c: 1}): (Fraction(1, 10), Fraction(3, 10))}
    form, is_equation = proof.row(
        ["product", ends, [[a, 1], [d, 1]], [[c, 1]], [[b, 1]], [[c, 1]], [[c, 1]], 0], box
    )
    worth = dict.fromkeys(product((0, 1), repeat=4), Fraction(0))
    for (_, *states), coefficient in form:
        worth[tuple(states)] += coefficient
    assert not is_equation
    assert worth == {(x, y, z, w): sign * ((x * w) - l) * (y - m) * z for x, y, z, w in worth}


def box_around(reason: list[Any], joint: dict[tuple[int, ...], Fraction], rng: Random) -> Box:
    """Return a range of the ratio of a reason, or of its complement, that contains its value."""
    if reason[0] != "ratio" or rng.random() < 0.3:
        return {}
    left, given = (dict(map(tuple, event)) for event in reason[2:4])
    mass = probability(joint, given)
    ratio = probability(joint, {**left, **given}) / mass if mass else Fraction(1, 3)
    near = Fraction(rng.choice([0, 0, 1, 2]), 10)
    if len(left) == 1 and rng.random() < 0.5:
        left, ratio = {x: 1 - state for x, state in left.items()}, 1 - ratio
    return {key(left, given): (ratio - near, ratio + near)}


def shown(proof: Proof, column: tuple[int, ...]) -> dict[int, int]:
    over, fixed = proof.tables[column[0]]
    return {**fixed, **dict(zip(over, column[1:], strict=True))}


# ---- best assignments -------------------------------------------------------------------------------------

THIRD = "0.6 <= P(a) <= 0.9\nP(not a) <= 1/3"
NODES = [["value", 0, 1, 2], ["claims"], ["claims"]]
BEST = {"claim": "best", "query": "P(a)", "alpha": "1", "score": "1/3", "nodes": NODES}


def test_what_no_other_assignment_passes_is_rounded_up():
    assert claimed(THIRD, BEST) == ["no assignment but that of P(a) scores over 0.333333334 (alpha = 1)"]
    with pytest.raises(Refused, match="no other assignment"):
        claimed(THIRD, {**BEST, "score": "0.333333333"})
    # Nothing is known of the lower end but that it is no more than the upper one, and the least bound counts.
    assert claimed(THIRD, {**BEST, "alpha": "0"})
    assert claimed(THIRD + "\nP(not a) <= 0.9", BEST)


@pytest.mark.parametrize("alpha", ["2", "-1", "3/2"])
def test_a_score_that_is_no_mixture_of_two_ends_is_refused(alpha):
    """Twice the upper end of 1/3, less a lower end of which nothing is known, would be below any score."""
    with pytest.raises(Refused, match="alpha is between 0 and 1"):
        claimed(THIRD, {**BEST, "alpha": alpha})


COPIED = "P(b) = 0.5\nP(not a | b) = 0\nP(a | not b) = 0"
NEVER = {
    **MODEL,
    "query": "P(not a | b)",
    "value": "0",
    "factors": [[[0], [], 2, [1, 1]], [[1], [0], 1, [1, 0, 0, 1]]],
}


@pytest.mark.parametrize("alpha", ["0", "1"])
def test_what_is_known_under_another_condition_says_nothing_of_a_best_assignment(alpha):
    """P(not a | b) is stated and attained to be 0, but P(not a) is 0.5."""
    best = {**BEST, "alpha": alpha, "score": "0", "nodes": [["value", 1, 1, 2], ["claims"], ["claims"]]}
    assert claimed(COPIED, NEVER, {**best, "query": "P(a | b)"})
    with pytest.raises(Refused, match="no other assignment"):
        claimed(COPIED, NEVER, {**best, "query": "P(a)"})


FREE = "0 <= P(a) <= 1\n0 <= P(b) <= 1"
NEAR = {**MODEL, "query": "P(not a)", "value": "0.1", "within": "0.02"}
EIGHTH = [[[0], [], 25, [3, 22]], [[1], [], 2, [1, 1]]]
"""Tables with P(not a) = 0.12."""


def test_a_lower_end_is_no_more_than_a_model_may_attain():
    """P(not a) = 0.12 was shown to be 0.1 within 0.02; to be 0.1 of nothing that is almost a model."""
    best = {**BEST, "alpha": "0", "score": "0.12"}
    _, said = claimed(FREE, {**NEAR, "factors": EIGHTH}, best)
    assert said == "no assignment but that of P(a) scores over 0.12 (alpha = 0)"
    with pytest.raises(Refused, match="no other assignment"):
        claimed(FREE, {**NEAR, "factors": EIGHTH}, {**best, "score": "0.119"})
    almost = {**NEAR, "residual": "0.000001", "factors": EIGHTH}
    (shown,) = claimed(FREE, almost)
    assert shown.startswith("a distribution that satisfies everything within 1e-6 attains P(!a) = 0.1")
    with pytest.raises(Refused, match="no other assignment"):
        claimed(FREE, almost, best)


def test_sums_say_nothing_of_a_best_assignment_and_do_not_stand_in_its_way():
    difference = {**MODEL, "query": "P(a) - P(b)", "value": "0.38", "factors": EIGHTH}
    text = FREE + "\n0.1 <= P(a) + 2 P(b)"
    assert claimed(text, difference, {**BEST, "score": "1"})[1].startswith("no assignment but")
    with pytest.raises(Refused, match="an assignment is one event"):
        claimed(text, {**BEST, "query": "P(a) - P(b)", "score": "1"})


@pytest.mark.parametrize("query", ["P(!a | a)", "P(a or b)", "P(a | b or c)"])
def test_laws_that_an_assignment_names_are_asked_of_one_state_given_others(query):
    """The laws that a names, divided by those that a names, are 1: but P(!a | a) is 0."""
    line = {"claim": "lower", "query": query, "bound": "1", "orders": [[], [0]]}
    with pytest.raises(Refused, match="one state of some variables given one of others"):
        claimed("0.2 <= P(a) <= 0.8\n0 <= P(b) <= 1\n0 <= P(c) <= 1", line)


@pytest.mark.parametrize(("left", "given"), [([[0, 1]], [[0, 0]]), ([[0, 1]], [[0, 1]])])
def test_a_product_is_of_events_that_its_context_leaves_open(left, given):
    """Of a, which is independent of all else, nothing is left open where it is settled."""
    proof = Proof(
        Meaning(parse(FREE).ground(), Markov.LOCAL), {"tables": [[[0, 1], []]], "rows": [], "nodes": []}
    )
    with pytest.raises(Refused, match="about other variables"):
        proof.row(["product", ["lower", "upper"], left, given, [[1, 1]], [], given, 0], {})


def test_a_sum_of_more_than_one_does_not_say_that_there_is_no_model():
    text = "P(a) >= 0.8\nP(b) >= 0.8"
    rows: list[Any] = [["sentence", k, "lower", 0, []] for k in (0, 1)]
    line = {**BOUND, "query": "P(a) + P(b)", "bound": "1.6", "tables": [[[0, 1], []]], "rows": rows}
    (said,) = claimed(text, {**line, "nodes": [leaf("1", "1")]})
    assert said == "every model has P(a) + P(b) >= 1.600000000"


def test_a_bound_of_a_quotient_is_no_sentence():
    """Of P(a) / (1 + P(b)) >= 0 nothing is kept; of P(a) >= 0 it is, as a third sentence."""
    tables = {"tables": [[[0, 1], []]], "bound": "0"}
    quotient = {**BOUND, **tables, "query": "P(a) / (1 + P(b))"}
    third = {
        **BOUND,
        **tables,
        "query": "P(a)",
        "rows": [["sentence", 2, "lower", 0, []]],
        "nodes": [leaf("1")],
    }
    assert claimed(FREE, quotient, {**BOUND, **tables, "query": "P(a)"}, third)
    with pytest.raises(Refused, match="there is a sentence 2"):
        claimed(FREE, quotient, third)


def test_a_network_has_no_models_of_few_elements():
    with pytest.raises(Refused, match="only models of a theory"):
        claimed(FREE, {**NEAR, "factors": EIGHTH, "few": {}})


@pytest.mark.parametrize(("bound", "end"), [("0", "upper"), ("1", "lower")])
def test_a_bound_of_zero_or_one_does_not_say_that_there_is_no_model(bound, end):
    line = {
        **BOUND,
        "claim": end,
        "query": "P(a)",
        "bound": bound,
        "rows": [["sentence", 0, end, 0, []]],
        "nodes": [["leaf", "1", "0", [[0, "1"]]]],
    }
    (said,) = claimed(f"P(a) = {bound}", line)
    assert said.startswith("every model has P(a)")


@pytest.mark.parametrize("row", [["ratio", "lower", [[0, 1]], [], [], 0, 0], ["sentence", 0, "lower", 0, []]])
def test_an_inequality_is_not_used_the_wrong_way_round(row):
    """P(a) >= 0.2, taken minus once, would say that P(a) <= 0.2."""
    line = {**BOUND, "query": "P(a)", "bound": "0.2", "rows": [row]}
    assert claimed("0.2 <= P(a) <= 0.4", {**line, "nodes": [["leaf", "1", "0", [[0, "1"]]]]})
    with pytest.raises(Refused, match="the right way round"):
        claimed("0.2 <= P(a) <= 0.4", {**line, "claim": "upper", "nodes": [["leaf", "1", "0", [[0, "-1"]]]]})


def test_a_model_of_the_local_condition_is_none_of_the_global_one():
    """y copies x, which leans on w: given y, x is known, but both depend on w given their parent v."""
    text = "".join(f"0 <= P({of}) <= 1\n" for of in ("w", "v | w", "x xor y", "y | v"))
    coins = [[0], [], 2, [1, 1]], [[1], [], 2, [1, 1]]
    laws = [[2], [0], 10, [8, 2, 2, 8]], [[3], [2], 1, [1, 0, 0, 1]]
    line = {**MODEL, "query": "P(x)", "value": "0.5", "factors": [*coins, *laws]}
    assert claimed(text, line, markov="local")
    with pytest.raises(Refused):
        claimed(text, line, markov="global")


def test_a_certificate_that_is_not_there_is_no_wrong_one(tmp_path):
    (tmp_path / "m.lcn").write_text("P(a) = 0.5\n")
    assert verify_alone([str(tmp_path / "m.lcn"), str(tmp_path / "none")]) == 2


def test_only_an_assignment_can_be_the_best():
    with pytest.raises(Refused, match="an assignment is one event"):
        claimed("P(a) = 0.5\nP(b) = 0.5", {**BEST, "query": "P(a or b)", "score": "0", "nodes": [["claims"]]})


def test_a_value_is_shown_within_no_less_than_it_was_rounded_by():
    line = {**MODEL, "value": "2/3", "factors": [[[0], [], 3, [1, 2]]]}
    assert claimed("0 <= P(a) <= 1", line) == ["a model attains P(a) = 0.666666667 within 4e-10"]


def test_a_column_that_only_a_row_brings_in_begins_at_zero():
    """Half of P(true) >= P(a), read off a second table, would say that P(a) <= 0.5."""
    line = {**BOUND, "claim": "upper", "query": "P(a)", "bound": "0.5", "tables": [[[0], []], [[0], []]]}
    forged = {**line, "rows": [["part", 0, [[0, 1]], 1, []]], "nodes": [["leaf", "1", "0", [[0, "0.5"]]]]}
    with pytest.raises(Refused, match="leaves nothing negative"):
        claimed("0 <= P(a) <= 1", forged)
