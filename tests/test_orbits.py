"""Elements that nothing tells apart are counted: bounds as all worlds give, and for many more elements."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from credalog import LCN, parse
from credalog.errors import ImpossibleEvidence, InconsistentNetwork
from credalog.grounding.neighbourhood import Around
from credalog.grounding.network import Grounder
from credalog.grounding.profiles import Profiles
from credalog.methods.lifted.orbits import Counted, counted_around
from credalog.network.formulas import truth_table
from credalog.network.sentences import Query
from credalog.numbers.budget import Budget
from credalog.numbers.interval import Interval


def counted(lcn: LCN, question: str) -> tuple[Counted | None, Query]:
    """Gather what can be counted around a question."""
    asked, around = lcn.question(question), Around(Grounder(lcn.theory))
    assert isinstance(asked, Query)
    return counted_around(around, Profiles(around), asked), asked


def interval_of(lcn: LCN, question: str) -> Interval | None:
    """Bound a question by counting; None where nothing is counted."""
    found, asked = counted(lcn, question)
    return None if found is None else found.interval(asked, Budget.of(30.0))


def over_all_worlds(lcn: LCN, question: str) -> tuple[float, float] | None:
    """Bound a question by the linear program over all worlds; None where it has no solution."""
    network, asked = lcn.ground(), lcn.question(question)
    assert isinstance(asked, Query)
    over = tuple(dict.fromkeys((*network.variables, *asked.scope)))
    rows = []
    for s in network.sentences:
        given = truth_table(s.given, over).astype(float).ravel()
        claim = sum(float(w) * truth_table(c, over).astype(float).ravel() for w, c in s.claims)
        rows += [given * (claim - float(s.upper)), given * (float(s.lower) - claim)]
    held, observed = (truth_table(f, over).astype(float).ravel() for f in (asked.claim, asked.given))
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(sign * held * observed, np.array(rows), np.zeros(len(rows)), observed[None], [1.0])
        if found.status != 0 or found.fun is None:
            return None
        ends.append(sign * found.fun)
    return ends[0], ends[1]


BODIES = (
    "forall x in Person: {low} <= P(A(x)) <= {high}",
    "forall x in Person: {low} <= P(B(x) | A(x)) <= {high}",
    "forall x, y in Person distinct: {low} <= P(A(x) and B(y)) <= {high}",
    "forall x, y in Person, x < y: {low} <= P(A(x) xor A(y)) <= {high}",
    "forall x, y in Person distinct: {low} <= P(B(x) | A(y)) <= {high}",
    "forall x, y, z in Person distinct: {low} <= P(A(x) or A(y) or A(z)) <= {high}",
    "forall x in Person: {low} <= P(A(x) | G) <= {high}",
    "{low} <= P(G) <= {high}",
    "forall x, y in Person distinct: P(A(x)) + P(B(y)) <= {high} + 0.5",
    "forall x, y in Person, x <= y: {low} <= P(G and (A(x) <-> A(y))) <= {high}",
)
QUESTIONS = ("P(A(1))", "P(A(1) and B(1))", "P(A(1) | B(1))", "P(G | A(1))", "P(A(1) xor A(2))")


def random_text(generator: np.random.Generator, people: int) -> str:
    """Draw rules about people whom nothing tells apart."""
    lines = [f"domain Person = 1..{people}", "proposition G", "predicate A(Person), B(Person)"]
    for body in generator.choice(BODIES, int(generator.integers(2, 5)), replace=False):
        low, high = np.sort(generator.integers(0, 11, 2)) / 10
        if generator.random() < 0.5:
            low, high = (0.0, max(high, 0.3)) if generator.random() < 0.5 else (min(low, 0.7), 1.0)
        lines.append(str(body).format(low=low, high=high))
    return "\n".join(lines)


@pytest.mark.slow
def test_all_counted_is_as_good_as_all_worlds() -> None:
    compared = 0
    for seed, question in product(range(12), QUESTIONS[:4]):
        generator = np.random.default_rng(seed)
        lcn = parse(random_text(generator, 4))
        try:
            found = interval_of(lcn, question)
        except (InconsistentNetwork, ImpossibleEvidence):
            assert over_all_worlds(lcn, question) is None
            compared += 1
            continue
        truth = over_all_worlds(lcn, question)
        if found is None or truth is None:
            continue
        assert found.lower.bound == pytest.approx(truth[0], abs=1e-6) or found.lower.bound <= 1e-9
        assert found.upper.bound == pytest.approx(truth[1], abs=1e-6) or found.upper.bound >= 1 - 1e-9
        assert found.lower.bound <= truth[0] + 1e-7 and found.upper.bound >= truth[1] - 1e-7
        compared += 1
    assert compared >= 20


def test_many_who_rarely_agree_leave_little_room_for_one() -> None:
    text = """domain Person = 1..{}
predicate A(Person)
forall x in Person: P(A(x)) >= 0.3
forall x, y in Person, x < y: P(A(x) and A(y)) <= 0.1"""
    few, many = (interval_of(parse(text.format(n)), "P(A(1))") for n in (8, 3000))
    assert few is not None and many is not None
    assert few.upper.bound == pytest.approx(0.64, abs=1e-6)
    # With S k of the others, p = P(A(1)) and a = E(S; A(1)) <= 0.1, Cauchy and Schwarz give at last
    # (0.3 - a)^2 / (1 - p) + a^2 / p <= E(S^2) <= 0.1, so p <= 0.5.
    assert 0.5 <= many.upper.bound <= 0.51


@pytest.mark.parametrize(
    "rule",
    [
        "forall x, y in Person, x < y: P(A(x) and !A(y)) >= 0.2",
        "forall x, y in Person, Near(x, y): P(A(x) and A(y)) <= 0.1",
        "forall x, y in Person, y = x + 1: P(A(x) and A(y)) <= 0.1",
    ],
)
def test_who_is_told_apart_by_order_or_facts_is_not_counted(rule: str) -> None:
    text = f"""domain Person = 1..20
predicate A(Person)
relation Near(Person, Person) = {{(2, 3), (3, 2)}}
{rule}"""
    assert counted(parse(text), "P(A(1))")[0] is None


def test_numbers_that_are_listed_out_of_order_are_not_counted_where_order_matters() -> None:
    text = "predicate A(Person)\nforall x, y in Person, x < y: P(A(x) and A(y)) <= 0.1"
    assert counted(parse(f"domain Person = {{1, 2, 3, 4}}\n{text}"), "P(A(1))")[0] is not None
    assert counted(parse(f"domain Person = {{1, 4, 3, 2}}\n{text}"), "P(A(1))")[0] is None


def test_a_contradiction_among_very_many_is_found() -> None:
    # Of k people at most half of all pairs differ, and a little more: 0.55 of all pairs for no more than 11.
    text = "predicate A(Person)\nforall x, y in Person distinct: P(A(x) xor A(y)) >= 0.51"
    with pytest.raises(InconsistentNetwork):
        parse(f"domain Person = 1..3000\n{text}").query("P(A(1))", timeout=20.0)
    assert parse(f"domain Person = 1..8\n{text}").query("P(A(1))").lower_witnessed is not None
