"""Proofs that sum variables out: complete where set propagation is, and nothing false is accepted."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import prod
from random import Random
from typing import Any

import pytest

from credalog import LCN, parse
from credalog.errors import Refused
from credalog.network.graph import Markov
from credalog.network.meaning import Meaning
from credalog.network.sentences import Query
from credalog.network.sums import Group, Sums
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.questions.certificates.sums import proved_by_sums
from credalog.verify import verify
from test_verifier import written
from vertex_oracle import strong_extension

CHAIN = "\n".join(
    ["0.2 <= P(a) <= 0.7"]
    + [f"0.6 <= P({y} | {x}) <= 0.9\n0.1 <= P({y} | !{x}) <= 0.3" for x, y in ("ab", "bc", "cd", "de")]
)
SHARED_PARENT = """
0.1 <= P(r) <= 0.4
0.3 <= P(s) <= 0.5
0.7 <= P(x | r & s) <= 0.9
0.4 <= P(x | r & !s) <= 0.6
0.5 <= P(x | !r & s) <= 0.8
0.1 <= P(x | !r & !s) <= 0.2
0.6 <= P(y | x) <= 0.7
0.2 <= P(y | !x) <= 0.3
"""
LOOP = """
0.2 <= P(a) <= 0.6
0.6 <= P(b | a) <= 0.9
0.1 <= P(b | !a) <= 0.3
0.5 <= P(c | a) <= 0.8
0.2 <= P(c | !a) <= 0.4
0.7 <= P(d | b & c) <= 0.95
0.4 <= P(d | b & !c) <= 0.5
0.3 <= P(d | !b & c) <= 0.6
0.05 <= P(d | !b & !c) <= 0.1
"""
COLOURS = """
variable C in {red, green, blue}
variable D in {one, two, three}
0.1 <= P(C = red) <= 0.3
0.2 <= P(C = green) <= 0.5
0.3 <= P(D = one | C = red) <= 0.6
0.1 <= P(D = one | C = green) <= 0.2
0.1 <= P(D = two | C = blue) <= 0.8
0.3 <= P(e | D = one) <= 0.4
0.5 <= P(e | D = two) <= 0.7
0.1 <= P(e | D = three) <= 0.2
"""
CASES = [
    (CHAIN, "P(a | e)"),
    (CHAIN, "P(c | a and !e)"),
    (CHAIN, "P(a or c)"),
    (SHARED_PARENT, "P(r | y)"),
    (SHARED_PARENT, "P(s | !y and r)"),
    (LOOP, "P(a | d)"),
    (LOOP, "P(b | !d)"),
    (LOOP, "P(a and !b and c | d)"),
    (LOOP, "P(b xor c | !d)"),
    (LOOP + "0.2 <= P(e | d) <= 0.3\n0.4 <= P(e | !d) <= 0.6", "P(a and !b and c | d and e)"),
    (COLOURS, "P(C = red | e)"),
    (COLOURS, "P(D = two | !e)"),
]
ABC = "0.2 <= P(a) <= 0.4\n0.6 <= P(b | a) <= 0.9\n0.1 <= P(b | !a) <= 0.3"


def proof_of(lcn: LCN, query: Query, end: End, bound: float | Fraction) -> dict[str, Any]:
    meaning = Meaning(lcn.ground(), Markov.LOCAL)
    found = proved_by_sums(meaning, query, end, bound, Budget.of(60))
    assert found is not None
    return {"claim": end.value, "query": str(query), "bound": str(found.bound), **found.line}


@pytest.mark.parametrize(("text", "asked"), CASES)
def test_what_every_vertex_of_the_strong_extension_says_is_proved_and_nothing_more(text, asked):
    lcn = parse(text)
    query = lcn.question(asked)
    truth = strong_extension(lcn.ground(), query, most=10**6)
    for end, exact in ((End.LOWER, truth.lower), (End.UPPER, truth.upper)):
        claim = proof_of(lcn, query, end, float(exact))
        assert abs(Fraction(claim["bound"]) - exact) <= Fraction(2, 10**6)
        assert list(verify(lcn.ground(), written(text, claim)))
        tighter = exact + (1 if end is End.LOWER else -1) * Fraction(1, 10**4)
        with pytest.raises(Refused, match="passes the bound"):
            list(verify(lcn.ground(), written(text, {**claim, "bound": str(tighter)})))


def damaged(claim: dict[str, Any], rng: Random) -> dict[str, Any]:
    """Change the groups of a proof: who is summed out where, with which laws, messages and rows."""
    found = json.loads(json.dumps(claim))
    for _ in range(rng.randrange(1, 4)):
        group = rng.choice(found["groups"])
        place = rng.randrange(5)
        part = group[place]
        match rng.randrange(6):
            case 0 if isinstance(part, list) and part:
                part.pop(rng.randrange(len(part)))
            case 1 if isinstance(part, list):
                rng.shuffle(part)
            case 2 if isinstance(part, list) and place != 1:
                part.append(rng.randrange(-3, 6))
            case 3:
                group[0] = rng.choice([None, -1, 0, 1, 2, 3])
            case 4 if group[1]:
                row = rng.choice(group[1])
                row[rng.randrange(len(row))] += rng.choice([1, -1, 10**14, -(10**14)])
            case 5:
                other = rng.choice(found["groups"])
                group[place], other[place] = other[place], group[place]
    if rng.random() < 0.2:
        found["groups"].pop(rng.randrange(len(found["groups"])))
    if rng.random() < 0.2:
        found["nodes"] = [["split", 0, [], rng.randrange(-2, 3), 1, 2], ["sum"], ["sum"]]
    return dict(found)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "asked"), CASES)
def test_no_damaged_proof_proves_what_is_false(text, asked):
    """The bound claimed is false by 1e-4, whatever is summed out in whichever way."""
    lcn, rng = parse(text), Random(asked)
    query = lcn.question(asked)
    truth = strong_extension(lcn.ground(), query, most=10**6)
    for end, exact in ((End.LOWER, truth.lower), (End.UPPER, truth.upper)):
        claim = proof_of(lcn, query, end, float(exact))
        false = exact + (1 if end is End.LOWER else -1) * Fraction(1, 10**4)
        for _ in range(20):
            forged = damaged({**claim, "bound": str(false)}, rng)
            with pytest.raises(Refused):
                list(verify(lcn.ground(), written(text, forged)))


@pytest.mark.parametrize(
    ("groups", "why"),
    [
        ([[None, [], [0], [1, 0], []]], "one law and one sum"),
        ([[None, [], [0, 1], [0, 1], []]], "sums everything out"),
        ([[None, [], [0, 1], [1], []]], "where its variable"),
        ([[None, [], [1], [1], []]], "one law and one sum"),
        ([[None, [], [0, 1], [0, 1], [0]]], "IndexError"),
        ([[0, [], [0], [0], []], [None, [], [1], [1, 0], []]], "each message is used once"),
        ([[0, [], [0], [0], []], [None, [], [1], [1, 0], [0, 0]]], "each message is used once"),
        ([[0, [[-1, 1]], [0], [0], []], [None, [], [1], [1, 0], [0]]], "nothing passes"),
        ([[0, [[1]], [0], [0], []], [None, [], [1], [1, 0], [0]]], "has rows"),
        ([[0, [[0.5, 1]], [0], [0], []], [None, [], [1], [1, 0], [0]]], "has rows"),
        ([[-1, [], [0], [0], []], [None, [], [1], [1, 0], [0]]], "no variable"),
        ([], "one law and one sum"),
    ],
)
def test_laws_and_sums_are_accounted_for(groups, why):
    claim = {"claim": "lower", "query": "P(b)", "bound": "0.1", "groups": groups, "nodes": [["sum"]]}
    with pytest.raises(Refused, match=why):
        list(verify(parse(ABC).ground(), written(ABC, claim)))


def test_every_vertex_is_in_one_of_the_cases():
    groups = [[None, [], [0, 1], [1, 0], []]]
    for count in (-5, -1, 1, 7):
        nodes = [["split", 0, [], count, 1, 2], ["sum"], ["sum"]]
        claim = {"claim": "lower", "query": "P(b)", "bound": "0.3", "groups": groups, "nodes": nodes}
        with pytest.raises(Refused):
            list(verify(parse(ABC).ground(), written(ABC, claim)))


def test_one_tied_variable_is_taken_by_itself():
    """By Bayes' rule: 0.3e-15 / (0.3e-15 + 1.4e-15), whatever a and c are to each other."""
    text = "P(a) = 0.3\nP(e | a) = 1e-15\nP(e | !a) = 2e-15\n0.1 <= P(a or c) <= 0.9"
    lcn = parse(text)
    query = lcn.question("P(a | e)")
    for end in End:
        claim = proof_of(lcn, query, end, 3 / 17)
        assert abs(Fraction(claim["bound"]) - Fraction(3, 17)) <= Fraction(1, 10**11)
        assert list(verify(lcn.ground(), written(text, claim)))


def test_laws_of_tied_variables_and_without_a_markov_condition_are_not_multiplied():
    tied = "0.2 <= P(a) <= 0.4\n0.3 <= P(b) <= 0.5\n0.4 <= P(a or b) <= 0.6"
    claim = {"claim": "upper", "query": "P(a)", "bound": "0.9", "nodes": [["sum"]]}
    groups = [[None, [], [0, 1], [1, 0], []]]
    with pytest.raises(Refused, match="product of laws"):
        list(verify(parse(tied).ground(), written(tied, {**claim, "groups": groups})))
    free = {**claim, "groups": [[None, [], [0], [0], []]]}
    with pytest.raises(Refused, match="product of laws"):
        list(verify(parse(ABC).ground(), written(ABC, free, markov="none")))


def test_a_total_is_the_greatest_over_all_laws():
    """Every choice of vertices, multiplied out by hand, against the sum of the verifier."""
    lcn = parse(CHAIN)
    query, meaning = lcn.question("P(a and c)"), Meaning(lcn.ground(), Markov.LOCAL)
    sums = Sums(meaning, query)
    score = sums.score(meaning.goal(query, 1, Fraction(1, 3)))
    order = [2, 1, 0]
    total = sums.total(Group(None, (), order, order, ()), score, {}).table[()][1]
    laws = [(x, states, sums.law(x)[states]) for x in order for states in sums.law(x)]
    found = []
    for chosen in product(*(options for _, _, options in laws)):
        law = {(x, states): one for (x, states, _), one in zip(laws, chosen, strict=True)}
        worlds = product(range(2), repeat=3)
        found.append(
            sum(
                score.table[a, c][1] * prod((law[0, ()][a], law[1, (a,)][b], law[2, (b,)][c]))
                for a, b, c in worlds
            )
        )
    assert total >= max(found)


TWO_BRANCHES = """
P(r) = 0.5
P(s) = 0.5
P(e | r) = 0.4
P(e | !r) = 0.2
P(g | s) = 0.4
P(g | !s) = 0.1
0.5 <= P(h | r & s) <= 0.6
"""


@pytest.mark.parametrize("order", [["e", "g", "s", "r"], ["g", "e", "s", "r"], ["e", "g", "r", "s"]])
def test_what_waits_in_a_sum_is_used_once_and_where_its_variable_is(order):
    """P(r | e, g) = 0.4 / (0.4 + 0.2) = 2/3, whatever is said of s and g; with e counted twice, 4/5."""
    lcn = parse(TWO_BRANCHES)
    number = {v.name: i for i, v in enumerate(lcn.ground().variables)}
    places = [number[name] for name in order]
    claim = {"query": "P(r | e & g)", "groups": [[None, [], places, places, []]], "nodes": [["sum"]]}
    for end, true, false in (("lower", "2/3", "0.67"), ("upper", "2/3", "0.66")):
        assert list(verify(lcn.ground(), written(TWO_BRANCHES, {**claim, "claim": end, "bound": true})))
        with pytest.raises(Refused, match="nothing passes"):
            list(verify(lcn.ground(), written(TWO_BRANCHES, {**claim, "claim": end, "bound": false})))


@pytest.mark.parametrize("rows", [[[1, 1], [1]], [[1, 1], [1, 0.5]], [[1, True]]])
def test_every_row_of_a_message_has_a_whole_number_for_each_state(rows):
    sums = Sums(Meaning(parse(ABC).ground(), Markov.LOCAL), parse(ABC).question("P(b)"))
    with pytest.raises(Refused, match="has rows"):
        sums.add(Group(0, rows, [0], [0], []))


@pytest.mark.parametrize("criterion", ["maximax", "maximin"])
def test_an_explanation_of_what_was_seen_is_proved_to_be_the_best(criterion):
    """All that is not observed is assigned, so no claim of a proof is about one variable alone."""
    lcn = parse(LOOP)
    certificate = lcn.certificate(lcn.map(["a", "b", "c"], given="d", criterion=criterion))
    assert certificate.missing == ()
    *_, last = verify(lcn.ground(), certificate.text.splitlines())
    assert last.startswith("no assignment but that of P(a and b and c | d) scores over")
