"""Guards of repairs: what the program of a widening says holds of every distribution, at its own price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any, cast

import numpy as np
import pytest

import credalog
from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.search import Ending, Finding
from credalog.methods.cliques.witness import marginals_of
from credalog.methods.reduction import plain
from credalog.network.formulas import TRUE, Formula
from credalog.network.graph import Markov
from credalog.network.problem import problem_of
from credalog.network.sentences import Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import Warrant
from credalog.program.program import Floats
from credalog.questions import diagnose as diagnose_module
from credalog.questions import repair_options
from credalog.questions.diagnose import (
    Change,
    Consistency,
    Diagnosis,
    Repair,
    _Checks,
    _culprits,
    _is_empty,
    _prices,
    _Repairs,
    _sides,
    conflict,
    repair,
)
from credalog.questions.models import encode_tables
from credalog.questions.repair import (
    Cheapest,
    _affordable,
    _PricedProgram,
    _RepairSearch,
    cheapest,
    conditions_of,
)
from credalog.questions.repair_options import mended, repairs, with_changes_in
from credalog.questions.repair_program import POSSIBLE, Priced, Widening, silenced, widenings_of
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted.certify import Checker

WEIGHTS = (1.0, 3.0, 0.5, 2.0, 5.0)

OPPOSED = "s1: P(b | a) >= 0.9\ns2: P(b | a) <= 0.2\n"
"""Whatever distribution gives `a` some probability, both bounds together are 0.7 apart."""

OPPOSED_TEXTS = {
    "one condition": OPPOSED,
    "two conditions": "s1: P(b | a) >= 0.9\ns2: P(b | !a) <= 0.1\n",
    "unequal claims": "s1: P(b & c | a) >= 0.9\ns2: P(b | a) <= 0.1\n",
    "a claim of its own range": "s1: 2 P(b | a) + P(c | a) >= 2.7\ns2: P(b | a) <= 0.3\ns3: P(c | a) <= 0.2",
    "conditional and not": "s1: P(b) >= 0.8\ns2: P(b) <= 0.3\ns3: P(c | a) >= 0.9\ns4: P(c | a) <= 0.2\n",
}


def widening_of(text: str, possible: Sequence[Formula], most: float) -> Widening:
    """Return the program in which all sentences of a text give way, without any independence."""
    network = credalog.parse(text).ground()
    engine = Engine(network, Markov.NONE)
    priced = [Priced(s, w) for s, w in zip(network.sentences, WEIGHTS, strict=False)]
    nothing = replace(network, sentences=tuple(map(silenced, network.sentences)))
    problem = problem_of(nothing, engine.graph, engine.markov)
    scopes = [[problem.variables.index(v) for v in s.scope] for s in network.sentences]
    return Widening(encode_tables(problem, scopes), priced, possible, most)


def distributions(widening: Widening) -> list[Distribution]:
    """Return distributions with and without mass in each world, the corners among them."""
    variables = widening.encoding.problem.variables
    shape = (2,) * len(variables)
    rng = np.random.default_rng(7)
    worlds = [np.eye(2 ** len(variables))[i] for i in range(2 ** len(variables))]
    mixed = [
        rng.dirichlet(np.full(2 ** len(variables), share)) for share in (0.1, 0.5, 2.0) for _ in range(8)
    ]
    return [Distribution((Factor(variables, (), p.reshape(shape)),)) for p in (*worlds, *mixed)]


def completed(widening: Widening, distribution: Distribution) -> Floats:
    tables = marginals_of(widening.encoding, distribution)
    assert tables is not None
    return widening.complete(tables, distribution)


@pytest.mark.parametrize("kind", OPPOSED_TEXTS)
@pytest.mark.parametrize("demands", [False, True])
@pytest.mark.parametrize("is_priced", [False, True])
def test_the_program_of_a_widening_holds_every_distribution_at_its_price(
    kind: str, demands: bool, is_priced: bool
) -> None:
    given = dict.fromkeys(s.given for s in credalog.parse(OPPOSED_TEXTS[kind]).ground().sentences)
    possible = [one for one in given if one != TRUE] if demands else []
    widening = widening_of(OPPOSED_TEXTS[kind], possible, inf)
    for distribution in distributions(widening):
        if any(distribution.probability(given) < POSSIBLE for given in possible):
            continue
        price = widening.cost(distribution)
        most = price * (1.0 + 1e-9) + 1e-12 if is_priced else inf
        if is_priced and price > 0.0:
            widening = widening_of(OPPOSED_TEXTS[kind], possible, most)
        program, point = widening.encoding.program, completed(widening, distribution)
        ratios = program.ratios
        values = ratios.values(point)
        objective = widening.objective(most)
        assert objective.numerator @ point == pytest.approx(price)
        assert np.min(program.inequalities @ point, initial=0.0) >= -1e-11
        assert np.abs(program.equalities @ point).max(initial=0.0) <= 1e-11
        apart = ratios.numerator @ point - values[ratios.of] * (ratios.denominator @ point)
        assert np.abs(apart).max(initial=0.0) <= 1e-11
        assert (values >= ratios.lower - 1e-11).all() and (values <= ratios.upper + 1e-11).all()
        for (first, last), mass in zip(program.tables, objective.mass_bounds, strict=True):
            assert point[first:last].sum() <= mass * (1.0 + 1e-11)


def test_bounds_that_exclude_each_other_under_one_condition_cost_their_gap() -> None:
    # P(b & c | a) is at most P(b | a): to meet, the two bounds give way by 0.8 together.
    network = credalog.parse("s0: P(a) >= 0.1\ns1: P(b & c | a) >= 0.9\ns2: P(b | a) <= 0.1").ground()
    found = repair(network, Options(timeout=10.0))
    assert found is not None
    assert found.at_least == pytest.approx(0.8, abs=1e-6)
    assert found.price == pytest.approx(0.8, abs=1e-3)


def test_bounds_under_a_condition_that_may_be_impossible_cost_nothing() -> None:
    network = credalog.parse(OPPOSED).ground()
    priced = [Priced(sentence, 1.0) for sentence in network.sentences]
    budget = Budget.of(5.0)
    found = cheapest(Engine(network), priced, (), (), tolerance=1e-4, budget=budget)
    assert found.bound <= 1e-9


def test_a_proof_that_a_repair_is_cheap_leaves_conditions_possible() -> None:
    # P(a) falls to 0.01, where P(b) has to rise to 0.009; P(a) = 0 would cost 0.001 alone.
    network = credalog.parse("s0: P(a) >= 0.1\ns1: P(b | a) >= 0.9\ns2: P(b) <= 0").ground()
    found = repair(network, Options(timeout=10.0), weights={"s0": 0.01, "s1": 100.0, "s2": 10.0})
    assert found is not None
    assert found.at_least == pytest.approx(0.0909, abs=2e-4)
    assert found.price == pytest.approx(0.0909, abs=2e-3)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("s1: P(a) >= 0.00005\ns2: P(a) <= 0", (0, 1)),
        ("s1: P(a) <= 0.99995\ns2: P(a) >= 1", (0, 1)),
        ("s1: P(a) - P(b) >= -0.99995\ns2: P(a) = 0\ns3: P(b) = 1", (-1, 1)),
    ],
)
def test_no_bound_gives_way_further_than_probabilities_reach(text: str, bounds: tuple[int, int]) -> None:
    fixed = {label: inf for label in ("s2", "s3") if label in text}
    found = repair(credalog.parse(text).ground(), Options(timeout=10.0), weights=fixed)
    assert found is not None
    (change,) = found.changes
    assert (change.after.lower, change.after.upper) == bounds


@pytest.mark.parametrize(
    ("said", "is_possible"),
    [
        ("P(a & b) = 0", False),
        ("P(a) = 0", False),
        ("P(!a) >= 1", False),
        ("P(a) = 1\nP(a) = 0", False),
        ("P(a & b) <= 0.001", True),
        ("P(b | a) = 0", True),
        ("2 P(!a) + 2 P(!b) >= 3", True),
    ],
)
def test_only_facts_exclude_a_condition(said: str, is_possible: bool) -> None:
    network = credalog.parse(f"P(c | a & b) >= 0.5\n{said}").ground()
    found = conditions_of(network, network.sentences[:1], Budget.of(10.0))
    assert (found == (network.sentences[0].given,)) == is_possible
    assert len(found) == is_possible


@pytest.mark.parametrize("text", ["P(a) <= 0.4", "P(a) >= 0.7", "P(a | b) <= 0.2", "P(a) + 2 P(b) <= 0.5"])
def test_what_a_price_pays_for_may_go_to_one_sentence(text: str) -> None:
    network = credalog.parse(f"{text}\nP(b) >= 0").ground()
    one = Priced(network.sentences[0], 3.0)
    rng = np.random.default_rng(3)
    for p in rng.dirichlet(np.ones(4), 20):
        distribution = Distribution((Factor(tuple(network.variables), (), p.reshape(2, 2)),))
        most = one.weight * sum(widenings_of(distribution, one.sentence)) * (1.0 + 1e-9) + 1e-12
        assert sum(widenings_of(distribution, _affordable(one, most))) == 0.0


class Offered:
    """A program that reads one distribution off every point."""

    def __init__(self, widening: Widening, distribution: Distribution) -> None:
        self.widening = widening
        self.found = distribution

    def distribution(self, point: Floats) -> tuple[Distribution, Floats]:
        return self.found, point


@pytest.mark.parametrize(
    ("worlds", "is_kept", "is_repair"),
    [
        # By a and b, which are independent of each other as nothing ties them, and P(a) >= 0.2 is kept.
        ([[0.25, 0.25], [0.25, 0.25]], True, True),
        ([[0.5, 0.5], [0.0, 0.0]], False, False),
        ([[0.45, 0.45], [0.05, 0.05]], True, False),
        ([[0.45, 0.45], [0.05, 0.05]], False, True),
        ([[0.5, 0.0], [0.0, 0.5]], True, False),
    ],
    ids=["a repair", "an impossible condition", "what is kept", "what is not kept", "what is independent"],
)
def test_only_what_is_admitted_and_leaves_conditions_possible_is_a_repair(
    worlds: list[list[float]], is_kept: bool, is_repair: bool
) -> None:
    text = "P(a) >= 0.2\nP(b) >= 0.8\nP(c | a) >= 0.9"
    network = credalog.parse(text).ground()
    stated, given = network.sentences, network.sentences[2].given
    a, b, c = network.variables
    table = np.array(worlds)[..., None] * np.array([0.5, 0.5])
    distribution = Distribution((Factor((a, b, c), (), table),))
    kept, loose = (stated[:1], stated[1:]) if is_kept else ((), stated)
    priced = [Priced(sentence, 1.0) for sentence in loose]
    search = _RepairSearch(Engine(network), priced, kept, [given], 1e-4, Budget.of(10.0))
    program = Offered(widening_of(text, [given], inf), distribution)
    search._offer(cast("Any", program), np.zeros(1))
    assert (search.best is distribution) == is_repair


# ---- which repairs are offered, and what is mended --------------------------------------------------------

FORALL = """domain D = {x, y}
predicate A(D)
predicate B(D)
predicate C(D)
all: forall d in D: P(A(d) | B(d)) - P(A(d) | C(d)) >= 0.5
P(A(x) | B(x)) <= 0.3
"""


def change_of(sentence: Sentence, *, lower: Fraction | None = None, upper: Fraction | None = None) -> Change:
    after = replace(
        sentence,
        lower=sentence.lower if lower is None else lower,
        upper=sentence.upper if upper is None else upper,
    )
    return Change(sentence, after)


def repair_by(*changes: Change, price: float = 1.0) -> Repair:
    return Repair(changes, price, 0.0, is_checked=True)


def test_only_the_instance_that_a_repair_changes_gives_way_across_conditions() -> None:
    network = credalog.parse(FORALL).ground()
    stated = [s for s in plain(network, Markov.LOCAL).network.sentences if s.across is not None]
    (chosen,) = (s for s in stated if "A(x)" in str(s))
    change = change_of(chosen, lower=chosen.lower - Fraction(1, 5), upper=chosen.upper + Fraction(1, 7))
    found = mended(network, repair_by(change))
    bounds = {str(c.terms[0].claim): (c.lower, c.upper) for c in found.contrasts}
    assert bounds == {"A(x)": (Fraction(3, 10), Fraction(8, 7)), "A(y)": (Fraction(1, 2), 1)}
    assert found.sentences == network.sentences


def test_all_combinations_of_ways_out_of_two_conflicts_are_offered_once_the_cheapest_first() -> None:
    text = "a1: P(a) >= 0.6\na2: P(a) <= 0.3\nb1: P(b) >= 0.7\nb2: P(b) <= 0.5\n"
    found = credalog.parse(text).repairs(timeout=30, most=6, weights={"a2": 4.0, "b2": 3.0})
    labels = [tuple(change.before.label for change in one.changes) for one in found]
    assert labels == [("a1", "b1"), ("a1", "b2"), ("a2", "b1"), ("a2", "b2")]
    assert [one.price for one in found] == pytest.approx([0.5, 0.9, 1.4, 1.8], abs=1e-3)


def test_a_repair_that_is_found_twice_is_offered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network = credalog.parse("P(a) >= 0.6\nP(b) >= 0.6\nP(a & b) <= 0.1").ground()
    first, second, third = (change_of(s, lower=s.lower - 1, upper=s.upper + 1) for s in network.sentences)
    both, other = repair_by(first, second), repair_by(third, price=2.0)
    diagnosis = Diagnosis(Consistency.INCONSISTENT, repair=both)
    monkeypatch.setattr(repair_options, "diagnose", lambda *_, **__: diagnosis)
    asked: list[frozenset[int]] = []

    def cheapest_without(*_: object, forbidden: frozenset[int], **__: object) -> Repair | None:
        asked.append(forbidden)
        return None if 2 in forbidden else other

    monkeypatch.setattr(repair_options, "repair", cheapest_without)
    assert list(repairs(network, Options(timeout=20.0))) == [both, other]
    assert asked == [{0}, {1}, {0, 2}, {1, 2}]


MANY_LINES = """first: P(a
  | b) >= 0.6
middle: P(c) = 0.5   # stays
last: P(b | c
  & a) <= 0.3
"""


def test_statements_of_several_lines_are_changed_where_they_stand() -> None:
    first, _, last = credalog.parse(MANY_LINES).ground().sentences
    assert first.source is not None
    changes = (change_of(first, lower=Fraction(2, 5)), change_of(last, upper=Fraction(1, 2)))
    for order in (changes, changes[::-1]):
        text = with_changes_in(MANY_LINES, order, first.source.file)
        assert text is not None
        lines = text.split("\n")
        assert lines[1] == "middle: P(c) = 0.5   # stays" and len(lines) == 4, lines
        assert lines[0].startswith("first: 0.4 <= P(a | b)") and lines[0].endswith(
            "# was: first: P(a | b) >= 0.6"
        )
        assert lines[2].endswith("# was: last: P(b | c & a) <= 0.3")
        changed = credalog.parse(text).ground().sentences
        assert [(s.lower, s.upper) for s in changed] == [
            (Fraction(2, 5), 1),
            (Fraction(1, 2), Fraction(1, 2)),
            (0, Fraction(1, 2)),
        ]


def test_what_stands_elsewhere_is_not_changed_in_a_text() -> None:
    (sentence,) = credalog.parse("P(a) >= 0.6").ground().sentences
    change = change_of(sentence, lower=Fraction(1, 2))
    assert sentence.source is not None
    file = sentence.source.file
    assert with_changes_in("P(a) >= 0.6", (change,), file) is not None
    assert with_changes_in("P(a) >= 0.6", (change,), f"other-{file}") is None
    assert with_changes_in("# nothing\n", (change,), file) is None
    nowhere = replace(sentence, source=None)
    assert with_changes_in("P(a) >= 0.6", (change_of(nowhere, lower=Fraction(1, 2)),), file) is None


# ---- what is said of a conflict ---------------------------------------------------------------------------


def test_dropping_a_sentence_adds_no_independence() -> None:
    # P(a & b) is at most P(b) - 0.4 * 0.5; without s4, as if a and b were independent, it would be 0.25.
    text = "s1: P(a) = 0.5\ns2: P(b) = 0.5\ns3: P(a & b) >= 0.35 ; tau=False\ns4: P(b | !a) >= 0.4"
    network = credalog.parse(text).ground()
    found = conflict(network, Options(timeout=10.0))
    assert found is not None and found.is_minimal
    bounds = [(c.sentence.label, c.by_lower, c.by_upper) for c in found.culprits]
    assert bounds == [("s1", False, True), ("s2", False, True), ("s3", True, False), ("s4", True, False)]
    checks = _Checks(network, Options(timeout=10.0), Budget.of(10.0))
    assert checks.verdict(checks.whole[:3]) is True


def test_a_bound_that_says_nothing_takes_no_part_in_a_conflict() -> None:
    found = conflict(credalog.parse("P(a) <= 0.4\nP(a) >= 0.6").ground(), Options(timeout=10.0))
    assert found is not None
    assert [(c.by_lower, c.by_upper) for c in found.culprits] == [(False, True), (True, False)]


def test_a_conflict_that_was_not_looked_through_is_not_said_to_be_minimal() -> None:
    network = credalog.parse("P(a) <= 0.4\nP(a) >= 0.6\nP(b) >= 0.1").ground()
    checks = _Checks(network, Options(), Budget.of(0.0))
    assert checks.filter(checks.whole) == checks.whole
    assert not checks.is_minimal


def test_a_solvers_word_alone_does_not_empty_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    network = credalog.parse("P(a) <= 0.4\nP(b | a) >= 0.6").ground()
    encoding = encode_tables(Engine(network).problem)
    for warrant in Warrant:
        empty = Finding(-inf, None, Ending.EMPTY, warrant, 1, None)
        monkeypatch.setattr(diagnose_module, "search", lambda *_, found=empty, **__: found)
        assert _is_empty(encoding, Budget.of(1.0)) == (warrant is Checker.warrant)


def test_what_the_engine_adds_is_neither_blamed_nor_changed() -> None:
    network = plain(credalog.parse(FORALL).ground(), Markov.LOCAL).network
    added = {n for n, s in enumerate(network.sentences) if s.source is None}
    assert added
    blamed = {c.number for c in _culprits(network, list(_sides(list(enumerate(network.sentences)))))}
    assert blamed and blamed.isdisjoint(added)
    assert {n for n, price in enumerate(_prices(network, {})) if price == inf} == added


# ---- proofs -----------------------------------------------------------------------------------------------


def repairing(text: str, budget: Budget) -> _RepairSearch:
    network = credalog.parse(text).ground()
    priced = [Priced(s, w) for s, w in zip(network.sentences, WEIGHTS, strict=False)]
    return _RepairSearch(Engine(network), priced, (), (), 1e-4, budget)


def test_a_proof_without_time_proves_nothing() -> None:
    text = "P(a) >= 0.5\nP(b) >= 0.5\nP(a & b) <= 0.1"
    program = _PricedProgram(widening_of(text, (), 2.0), 2.0, Budget.of(10.0))
    search = repairing(text, Budget.of(0.0))
    search.price = 5.0
    assert search._prove(program) <= 0.0


def test_a_gap_of_the_relaxation_is_closed_by_cutting() -> None:
    # With a and b independent, 0.3 * 0.3 = 0.09 is allowed; nothing but a bound on one of three may move.
    text = "s1: P(a) >= 0.5\ns2: P(b) >= 0.5\ns3: P(a & b) <= 0.1 ; tau=False"
    found = repair(credalog.parse(text).ground(), Options(timeout=10.0), weights={"s3": 3.0})
    assert found is not None
    # s1 and s2 give way by x and y with (0.5 - x)(0.5 - y) = 0.1: for 0.3 one of them does it alone.
    assert found.price == pytest.approx(0.3, abs=3e-4)
    assert found.at_least == pytest.approx(0.3, abs=3e-4)


@pytest.mark.parametrize("kind", OPPOSED_TEXTS)
def test_no_distribution_costs_less_than_is_proved(kind: str) -> None:
    for distribution in distributions(widening_of(OPPOSED_TEXTS[kind], (), inf))[::5]:
        price = widening_of(OPPOSED_TEXTS[kind], (), inf).cost(distribution)
        most = price * (1.0 + 1e-9) + 1e-12
        widening = widening_of(OPPOSED_TEXTS[kind], (), most)
        program = _PricedProgram(widening, most, Budget.of(10.0))
        values = widening.encoding.program.ratios.values(completed(widening, distribution))
        assert (values >= program.box.lower - 1e-9).all() and (values <= program.box.upper + 1e-9).all()
        assert program.relax(program.box)[0] <= price + 1e-9


def test_the_cheapest_repair_is_kept_and_said_to_be_checked_where_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = credalog.parse("P(a) <= 0.4\nP(a) >= 0.6").ground()
    work = _Repairs(network, Options(), (1.0, 1.0), Budget.of(10.0))
    over = tuple(network.variables)
    laws = {p: Distribution((Factor(over, (), np.array([1.0 - p, p])),)) for p in (0.5, 1.0)}
    for p, verdict in ((0.5, None), (1.0, True), (0.5, True)):
        monkeypatch.setattr(_Checks, "verdict", lambda *_, found=verdict, **__: found)
        assert work._conflict(frozenset({0, 1}), Cheapest(laws[p], 0.2, 0.0)) == frozenset()
        assert work.best is not None and work.best.price == pytest.approx(0.2)
        assert work.best.is_checked is False
    fresh = _Repairs(network, Options(), (1.0, 1.0), Budget.of(10.0))
    fresh._conflict(frozenset({0, 1}), Cheapest(laws[0.5], 0.2, 0.0))
    assert fresh.best is not None and fresh.best.is_checked
