"""Certificates of best assignments: against all vertices of all laws, and changed so that they are false."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest

from certificate_mutations import judged, mutated
from credalog import LCN, parse
from credalog.errors import Refused
from credalog.questions.map import Criterion
from credalog.verify import verify

ALPHA = {"maximax": Fraction(1), "maximin": Fraction(0), "hurwicz": Fraction(1, 2)}

World = tuple[int, ...]


class Drawn:
    """A credal network of two-valued variables x0, x1, … with all its intervals."""

    def __init__(self, rng: Random, size: int) -> None:
        self.parents = [sorted(rng.sample(range(i), min(i, rng.randint(0, 2)))) for i in range(size)]
        self.ranges: dict[tuple[int, World], tuple[Fraction, Fraction]] = {}
        for i, above in enumerate(self.parents):
            for states in product((0, 1), repeat=len(above)):
                low = Fraction(rng.choice((0, 10, 35, 60, 75)), 100)
                high = min(Fraction(1), low + Fraction(rng.choice((0, 10, 25)), 100))
                self.ranges[i, states] = low, high

    @property
    def lcn(self) -> LCN:
        lines = []
        for (i, states), (low, high) in self.ranges.items():
            literals = (f"{'' if s else '!'}x{p}" for p, s in zip(self.parents[i], states, strict=True))
            given = " and ".join(literals)
            lines.append(f"{float(low)} <= P(x{i}{given and ' | ' + given}) <= {float(high)}")
        return parse("\n".join(lines))

    def joint(self, laws: dict[Any, Fraction]) -> dict[World, Fraction]:
        found = {}
        for world in product((0, 1), repeat=len(self.parents)):
            p = Fraction(1)
            for i, above in enumerate(self.parents):
                theta = laws[i, tuple(world[a] for a in above)]
                p *= theta if world[i] else 1 - theta
            found[world] = p
        return found

    def ends(self, known: dict[int, int]) -> dict[World, tuple[Fraction, Fraction]]:
        """Go through all vertices of all laws: the ends of P(world | known) of all worlds."""
        found: dict[World, tuple[Fraction, Fraction]] = {}
        rows = list(self.ranges)
        for values in product(*(sorted(set(self.ranges[row])) for row in rows)):
            joint = self.joint(dict(zip(rows, values, strict=True)))
            joint = {w: p for w, p in joint.items() if all(w[x] == s for x, s in known.items())}
            mass = sum(joint.values())
            for world, p in joint.items() if mass else ():
                low, high = found.get(world, (Fraction(1), Fraction(0)))
                found[world] = min(low, p / mass), max(high, p / mass)
        return found


def drawn(seed: int) -> tuple[Drawn, dict[int, int]]:
    """Draw a network with few vertices, and evidence or none."""
    rng = Random(seed)
    while True:
        network = Drawn(rng, rng.randint(3, 5))
        if sum(low < high for low, high in network.ranges.values()) <= 8:
            seen = rng.sample(range(len(network.parents)), rng.choice((0, 1, 1, 2)))
            known = {x: rng.randint(0, 1) for x in seen}
            if network.ends(known):
                return network, known


def given(known: dict[int, int]) -> str:
    return " and ".join(f"{'' if s else '!'}x{x}" for x, s in known.items())


def certified(lcn: LCN, criterion: str, evidence: str) -> tuple[list[str], tuple[str, ...]]:
    found = lcn.map(given=evidence or None, criterion=Criterion(criterion), alpha=0.5)
    certificate = lcn.certificate(found)
    return certificate.text.splitlines(), certificate.missing


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(n, marks=pytest.mark.slow) for n in range(4, 40))]
)
@pytest.mark.parametrize("criterion", sorted(ALPHA))
def test_the_score_is_the_greatest_over_all_vertices(seed, criterion):
    network, known = drawn(seed)
    lcn, alpha = network.lcn, ALPHA[criterion]
    lines, missing = certified(lcn, criterion, given(known))
    assert not missing
    claims = list(verify(lcn.ground(), lines))
    line = json.loads(lines[-1])
    assert claims[-1].startswith("no assignment but that of ")
    scores = [alpha * high + (1 - alpha) * low for low, high in network.ends(known).values()]
    # Where evidence has no probability in some models, ends are proved up to roundings only.
    assert abs(Fraction(line["score"]) - max(scores)) <= Fraction(1, 10**8)
    less = json.dumps({**line, "score": str(sorted(scores)[-2] - Fraction(1, 10**12))})
    with pytest.raises(Refused):
        list(verify(lcn.ground(), [*lines[:-1], less]))


@pytest.mark.slow
def test_nothing_false_is_accepted_of_a_changed_certificate():
    rng, accepted = Random(3), 0
    for seed in (1, 2):
        network, known = drawn(seed)
        lcn = network.lcn
        for criterion in ALPHA:
            lines, _ = certified(lcn, criterion, given(known))
            for _ in range(30):
                is_accepted, false = judged(lcn, mutated(lines, rng))
                assert not false
                accepted += is_accepted
    assert accepted


def chain(length: int) -> tuple[LCN, list[list[Fraction]]]:
    """Return a chain, and the greatest values of P(x0 | false), P(x0 | true), and of each step."""
    rng, lines, tables = Random(5), list[str](), list[list[Fraction]]()
    for i in range(length):
        table = []
        for above in ("", "!")[: 1 if i == 0 else 2]:
            low = Fraction(rng.randint(2, 80), 100)
            high = low + Fraction(rng.randint(0, 15), 100)
            condition = f" | {above}x{i - 1}" if i else ""
            lines.append(f"{float(low)} <= P(x{i}{condition}) <= {float(high)}")
            table += [high, 1 - low]
        tables.append(table)
    return parse("\n".join(lines)), tables


def viterbi(tables: list[list[Fraction]]) -> Fraction:
    yes, no = tables[0]
    for yes_yes, no_yes, yes_no, no_no in tables[1:]:
        yes, no = max(yes * yes_yes, no * yes_no), max(yes * no_yes, no * no_no)
    return max(yes, no)


@pytest.mark.slow
def test_sixty_variables_are_proved_by_going_through_a_chain():
    lcn, tables = chain(60)
    lines, missing = certified(lcn, "maximax", "")
    assert not missing
    list(verify(lcn.ground(), lines))
    score = Fraction(json.loads(lines[-1])["score"])
    assert 0 <= score / viterbi(tables) - 1 <= Fraction(1, 10**25)


@pytest.mark.parametrize("criterion", ["maximax", "maximin"])
def test_thirty_variables_with_evidence_are_proved(criterion):
    lcn, _ = chain(30)
    lines, missing = certified(lcn, criterion, "x3 and !x12")
    assert not missing
    assert list(verify(lcn.ground(), lines))[-1].startswith("no assignment but")


CHAIN = """
0.2 <= P(a) <= 0.7
0.1 <= P(b | a) <= 0.8
0.3 <= P(b | !a) <= 0.4
0.6 <= P(c | b) <= 0.9
0.2 <= P(c | !b) <= 0.5
"""


def best_lines(text: str, **changes: Any) -> list[str]:
    """Return a header and a claim by hand that a and b, given c, are the best."""
    head = json.loads(parse(text).certificate().text.splitlines()[0])
    line = {"claim": "best", "query": "P(a and b | c)", "alpha": "1", "score": "1", "nodes": [["bound"]]}
    return [json.dumps(head), json.dumps({**line, "orders": [[0, 1], [2, 1, 0]], **changes})]


def values() -> list[Any]:
    return [["value", 0, 1, 2], ["value", 1, 3, 4], ["value", 1, 5, 6], *[["bound"]] * 4]


def changes_that_leave_something_out() -> Iterator[tuple[str, dict[str, Any]]]:
    nodes = values()
    yield "a value", {"nodes": [["value", 0, 1], *nodes[1:]]}
    yield "a value twice", {"nodes": [["value", 0, 1, 1], *nodes[1:]]}
    yield "a variable that is given", {"nodes": [["value", 2, 1, 2], *nodes[1:]]}
    yield "a variable of the maximum", {"orders": [[0], [2, 1, 0]]}
    yield "a variable of the sum", {"orders": [[0, 1], [2, 1]]}
    yield "children after parents", {"orders": [[0, 1], [0, 1, 2]]}
    yield "an ancestor", {"query": "P(b | c)", "orders": [[1], [2, 1, 0]]}
    yield "alpha", {"alpha": "2"}
    yield "no evidence", {"query": "P(a and b)", "nodes": [["bound"]]}


@pytest.mark.parametrize(("what", "changes"), [*changes_that_leave_something_out()])
def test_what_leaves_something_out_is_refused(what, changes):
    lcn = parse(CHAIN)
    assert len(list(verify(lcn.ground(), best_lines(CHAIN, nodes=values())))) == 1
    with pytest.raises(Refused):
        list(verify(lcn.ground(), best_lines(CHAIN, **{"nodes": values(), **changes})))


def test_lower_ends_need_that_every_choice_of_laws_is_a_model():
    """With P(b) >= 0.5 the least P(a and b) is more than the product of the least laws."""
    text = "0.4 <= P(a) <= 0.6\n0.1 <= P(b | a) <= 0.9\n0.1 <= P(b | !a) <= 0.3\n"
    without, with_more = parse(text), parse(text + "P(b) >= 0.5\n")
    assert with_more.query("P(a and b)").lower > 0.3 > without.query("P(a and b)").lower
    # The greatest product of least laws is that of !a and !b, 0.4 * 0.7.
    forged = {"query": "P(!a and !b)", "alpha": "0", "orders": [[1, 0], []], "score": "28/100"}
    assert list(verify(without.ground(), best_lines(text, **forged)))
    with pytest.raises(Refused, match="no other assignment"):
        list(verify(with_more.ground(), best_lines(text + "P(b) >= 0.5\n", **forged)))


def test_lower_ends_need_that_every_choice_of_laws_has_the_declared_independences():
    """Where a and b are independent P(b | a) is at least 0.5, as P(b | !a) is."""
    text = "0.5 <= P(a) <= 0.6\n0.1 <= P(b | a) <= 0.9\n0.5 <= P(b | !a) <= 0.9\n"
    without, declared = parse(text), parse(text + "independent a, b\n")
    assert declared.query("P(a and b)").lower == pytest.approx(0.25, abs=1e-3)
    forged = {"query": "P(!a and b)", "alpha": "0", "orders": [[1, 0], []], "score": "1/5"}
    assert list(verify(without.ground(), best_lines(text, **forged)))
    with pytest.raises(Refused, match="no other assignment"):
        list(verify(declared.ground(), best_lines(text + "independent a, b\n", **forged)))


def test_a_lower_end_is_not_zero_where_the_evidence_would_be_impossible():
    """P(a | b) is 1 in every model in which b has a probability, though P(a) may be 0."""
    text = "0 <= P(a) <= 0.5\n0.4 <= P(b | a) <= 0.5\nP(b | !a) = 0"
    line = {"query": "P(!a | b)", "alpha": "0", "score": "0", "orders": [[0], [1, 0]], "nodes": [["bound"]]}
    with pytest.raises(Refused, match="no other assignment"):
        list(verify(parse(text).ground(), best_lines(text, **line)))


def test_tied_variables_are_no_product_of_laws():
    text = "0.2 <= P(a) <= 0.7\n0.1 <= P(b | a) <= 0.8\n0.1 <= P(a | b) <= 0.8\n0.6 <= P(c | b) <= 0.9"
    with pytest.raises(Refused, match="product of laws"):
        list(verify(parse(text).ground(), best_lines(text)))


def test_a_law_of_which_more_is_said_than_bounds_of_values_is_refused():
    text = "variable C in 1..4\n0.3 <= P(C = 1 or C = 2) <= 0.6\n0.2 <= P(c | C = 1) <= 0.5"
    number = {v.name: n for n, v in enumerate(parse(text).ground().variables)}
    order = [number["C"]], [number["c"], number["C"]]
    with pytest.raises(Refused, match="single values"):
        list(verify(parse(text).ground(), best_lines(text, query="P(C = 1 | c)", orders=order)))


def test_claims_about_parts_bound_what_is_no_product():
    lcn = parse("0.2 <= P(a) <= 0.3\n0.1 <= P(b) <= 0.4\nP(a and b) <= 0.05\n0.6 <= P(c | b) <= 0.7")
    lines, missing = certified(lcn, "maximax", "")
    assert not missing
    assert list(verify(lcn.ground(), lines))[-1].startswith("no assignment but")
    line = json.loads(lines[-1])
    assert ["claims"] in line["nodes"]
    rivals = [n for n, text in enumerate(lines[1:-1], 1) if json.loads(text)["query"] != line["query"]]
    with pytest.raises(Refused, match="no other assignment"):
        list(verify(lcn.ground(), [text for n, text in enumerate(lines) if n not in rivals]))
