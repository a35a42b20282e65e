"""Branch and bound: bounds and witnesses enclose the truth from both sides, however the search ends."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import pytest

import credalog
from credalog.errors import CredalogError
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine, marginals, query
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.search import Ending, Finding, Glance, Limits, Search, Witness, search
from credalog.network.formulas import (
    TRUE,
    And,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Or,
    Truth,
    Variable,
    Xor,
    propositions,
)
from credalog.network.sentences import Independence, Network, Query, Sentence
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Status, Warrant
from credalog.numbers.tolerances import TOLERANCE
from credalog.program.program import Box, Objective, Outcome
from credalog.program.solvers import scip
from credalog.program.solvers.highs import Relaxation
from credalog.questions.bounding import search_in_turn
from credalog.trusted.check import violation
from random_networks import KINDS, random_case
from rare_networks import LEAST, rare_core

pytestmark = pytest.mark.slow

A, B, C, D = propositions("a b c d")
says = Sentence.of

TWO_ENDS = Network(
    (A.variable, B.variable, C.variable),
    (
        says(A, 0.2, 0.8),
        says(B, 0.3, 0.6),
        says(C, 0.1, 0.9),
        says((A & B) | C, 0.4, 0.5, tau=False),
        says(A & ~C, 0.2, 0.3, tau=False),
    ),
)
"""Three independent propositions and two sentences across them: bilinear, so the relaxation leaves a gap."""

ENDS_OF_C = {End.LOWER: 0.22, End.UPPER: 0.44}
"""With m = P(a & !c), P(c) is P((a & b) | c) - m P(b): at least 0.4 - 0.3 * 0.6, at most 0.5 - 0.2 * 0.3."""


def encoded(network: Network, asked: Query) -> tuple[Encoding, Objective]:
    part = Engine(network).part(asked)
    encoding, objective = part.encode(asked, Reading.LITERAL)
    return encoding, objective


def found_in(
    network: Network,
    asked: Query,
    *,
    end: End = End.UPPER,
    seconds: float = 10.0,
    known: Witness | None = None,
    limits: Limits | None = None,
) -> Finding:
    dated = replace(limits or Limits(TOLERANCE, Budget.of()), budget=Budget.of(seconds))
    return search(*encoded(network, asked), dated, end=end, known=known)


def assert_encloses(finding: Finding, *, end: End, truth: float) -> None:
    """Demand that the bound lie beyond the truth and the witness before it."""
    sign = 1.0 if end is End.UPPER else -1.0
    assert sign * finding.bound >= sign * truth - 1e-9
    assert finding.witness is None or sign * finding.witness.value <= sign * truth + 1e-9


# --- How a search ends ---------------------------------------------------------------------------------


@pytest.mark.parametrize("end", End)
def test_a_closed_search_meets_the_truth(end: End) -> None:
    finding = found_in(TWO_ENDS, Query(C), end=end)
    assert finding.ending is Ending.CLOSED
    assert finding.warrant is Warrant.CHECKED
    assert finding.bound == pytest.approx(ENDS_OF_C[end], abs=TOLERANCE)
    assert_encloses(finding, end=end, truth=ENDS_OF_C[end])


@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("end", End)
def test_a_gap_is_no_larger_than_asked_for(tolerance: float, end: End) -> None:
    finding = found_in(TWO_ENDS, Query(A, C), end=end, limits=Limits(tolerance, Budget.of()))
    assert finding.ending is Ending.CLOSED and finding.witness is not None
    assert abs(finding.bound - finding.witness.value) <= tolerance


@pytest.mark.parametrize("end", End)
def test_a_smaller_tolerance_takes_no_fewer_leaves_and_moves_no_bound_outwards(end: End) -> None:
    findings = [
        found_in(TWO_ENDS, Query(A & B), end=end, limits=Limits(10.0**-n, Budget.of())) for n in range(1, 7)
    ]
    sign = 1.0 if end is End.UPPER else -1.0
    bounds = [sign * finding.bound for finding in findings]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(bounds))
    assert [f.nodes for f in findings] == sorted(f.nodes for f in findings)


@pytest.mark.parametrize("end", End)
def test_the_first_leaf_alone_gives_a_valid_bound(end: End) -> None:
    finding = found_in(TWO_ENDS, Query(C), end=end, limits=Limits(0.0, Budget.of(), root_only=True))
    assert finding.ending in (Ending.STOPPED, Ending.CLOSED)
    assert_encloses(finding, end=end, truth=ENDS_OF_C[end])
    # The root, and the root once more with its ratios narrowed.
    assert finding.nodes <= 2


@pytest.mark.parametrize("end", End)
def test_a_search_without_time_still_ends_with_a_bound(end: End) -> None:
    finding = found_in(TWO_ENDS, Query(A, C), end=end, seconds=-1.0)
    full = found_in(TWO_ENDS, Query(A, C), end=end)
    assert full.witness is not None
    assert_encloses(finding, end=end, truth=full.witness.value)


def test_a_contradiction_leaves_nothing() -> None:
    network = Network(
        (A.variable, B.variable), (says(A, 0.5, 0.5), says(B, 0.5, 0.5), says(A & B, 0.3, 1, tau=False))
    )
    finding = found_in(network, Query(A))
    assert finding.ending is Ending.EMPTY
    assert finding.warrant is Warrant.CHECKED
    assert finding.bound == -inf and finding.witness is None


def test_a_witness_known_already_spares_the_search() -> None:
    first = found_in(TWO_ENDS, Query(C))
    assert first.witness is not None
    again = found_in(TWO_ENDS, Query(C), known=first.witness, limits=Limits(0.5, Budget.of()))
    assert again.ending is Ending.CLOSED
    assert again.witness is not None and again.witness.value >= first.witness.value


def test_a_search_ends_when_its_purpose_is_settled() -> None:
    """Ask only whether P(c) can exceed a tenth."""

    def decided(bound: float, witnessed: float | None) -> bool:
        return bound < 0.1 or (witnessed is not None and witnessed > 0.1)

    finding = found_in(TWO_ENDS, Query(C), limits=Limits(0.0, Budget.of(), decided=decided))
    assert finding.ending is Ending.STOPPED
    assert finding.witness is not None and finding.witness.value > 0.1


def test_the_same_search_gives_the_same_finding() -> None:
    one, other = (found_in(TWO_ENDS, Query(A, C)) for _ in range(2))
    assert (one.bound, one.nodes, one.ending) == (other.bound, other.nodes, other.ending)


# --- Interruption ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("patience", [0, 1, 3, 10])
@pytest.mark.parametrize("end", End)
def test_an_interrupted_search_keeps_what_it_has(patience: int, end: End) -> None:
    calls = 0

    def report(_: Glance) -> None:
        nonlocal calls
        calls += 1
        if calls > patience:
            raise KeyboardInterrupt

    finding = found_in(TWO_ENDS, Query(A, C), end=end, limits=Limits(1e-9, Budget.of(), report=report))
    full = found_in(TWO_ENDS, Query(A, C), end=end)
    assert finding.ending in (Ending.INTERRUPTED, Ending.CLOSED)
    assert full.witness is not None
    assert_encloses(finding, end=end, truth=full.witness.value)


def test_an_interrupted_query_answers_with_valid_bounds() -> None:
    def stop(_: object) -> None:
        raise KeyboardInterrupt

    answer = query(TWO_ENDS, Query(A, C), Options(tolerance=1e-9, report=stop))
    full = query(TWO_ENDS, Query(A, C))
    assert answer.interrupted
    assert full.lower_witnessed is not None and full.upper_witnessed is not None
    assert answer.lower <= full.lower_witnessed and answer.upper >= full.upper_witnessed


def test_after_an_interrupted_marginal_no_other_is_searched() -> None:
    calls = 0

    def stop(_: object) -> None:
        nonlocal calls
        calls += 1
        raise KeyboardInterrupt

    answers = marginals(TWO_ENDS, Options(tolerance=1e-9, report=stop), C)
    assert len(marginals(TWO_ENDS, given=C)) == len(TWO_ENDS.variables)
    assert (len(answers), answers[-1].interrupted, calls) == (1, True, 1)


def test_after_an_interrupted_reading_no_other_is_searched() -> None:
    searched: list[Reading] = []

    class Interrupted:
        is_outer = False

        def __init__(self, reading: Reading) -> None:
            searched.append(reading)

        def search(self, *_: object, **__: object) -> Finding:
            return Finding(0.3, None, Ending.INTERRUPTED, Warrant.CLAIMED, 1, None)

    readings = (Reading.CHAIN, Reading.OUTER)
    found = search_in_turn(readings, Interrupted, Limits(1e-4, Budget.of()), end=End.UPPER)  # type: ignore[arg-type]
    assert searched == [Reading.CHAIN]
    # What is proved of some models only is no bound.
    assert (found.ending, found.bound, found.warrant) == (Ending.INTERRUPTED, 1.0, Warrant.CHECKED)


def test_when_scip_is_interrupted_at_one_end_it_does_not_begin_at_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_for: list[End] = []

    def stopped(*_: object, end: End, **__: object) -> scip.GlobalClaim:
        asked_for.append(end)
        return scip.GlobalClaim(Outcome.STOPPED, 0.0, interrupted=True)

    monkeypatch.setattr(scip, "solve", stopped)
    answer = query(TWO_ENDS, Query(A, C), Options(method="scip"))
    assert answer.interrupted
    assert asked_for == [End.LOWER]


def test_an_interrupted_verdict_is_not_remembered_as_undecided() -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    engine = Engine(TWO_ENDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Search, "_explore", stop)
        with pytest.raises(KeyboardInterrupt):
            engine.is_consistent(Options())
    assert engine.is_consistent(Options()) is True


def test_reports_close_in_from_both_sides() -> None:
    heard: list[tuple[float, float | None]] = []
    limits = Limits(1e-6, Budget.of(), report=lambda glance: heard.append((glance.bound, glance.value)))
    finding = found_in(TWO_ENDS, Query(A, C), limits=limits)
    bounds = [bound for bound, _ in heard] + [finding.bound]
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(bounds))
    values = [value for _, value in heard if value is not None]
    assert values == sorted(values)


# --- What must not matter, and what must ----------------------------------------------------------------


def ask(network: Network, asked: Query, seconds: float = 5.0) -> Answer | None:
    try:
        return query(network, asked, Options(timeout=seconds))
    except CredalogError:
        return None


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", range(900, 903))
def test_a_witness_never_passes_its_bound_and_is_a_model(kind: str, seed: int) -> None:
    case = random_case(kind, seed)
    # Bounds and witnesses of any moment must be right, those of an open search above all.
    answer = ask(case.network, case.query, seconds=1.0)
    if answer is None:
        return
    graph = Engine(case.network).graph
    for witness, value in (
        (answer.lower_witness, answer.lower_witnessed),
        (answer.upper_witness, answer.upper_witnessed),
    ):
        if value is not None:
            assert answer.lower - 1e-9 <= value <= answer.upper + 1e-9
        if witness is not None and value is not None:
            shown = {v for factor in witness.factors for v in factor.block}
            said = tuple(s for s in case.network.sentences if shown.issuperset(s.scope))
            known = tuple(
                i for i in case.network.independences if shown.issuperset((*i.left, *i.right, *i.given))
            )
            assert violation(witness, Network(tuple(shown), said, known), graph) <= 1e-8
            assert witness.probability(case.query.claim, case.query.given) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("kind", ["free", "cyclic", "credal", "linear", "overlapping", "multivalued"])
@pytest.mark.parametrize("seed", range(910, 914))
def test_tightening_a_sentence_never_widens(kind: str, seed: int) -> None:
    case = random_case(kind, seed)
    number = seed % len(case.network.sentences)
    sentence = case.network.sentences[number]
    quarter = (sentence.upper - sentence.lower) / 4
    tight = replace(sentence, lower=sentence.lower + quarter, upper=sentence.upper - quarter)
    sentences = (*case.network.sentences[:number], tight, *case.network.sentences[number + 1 :])
    before, after = ask(case.network, case.query), ask(replace(case.network, sentences=sentences), case.query)
    if before is None or after is None:
        # What was impossible stays so.
        assert after is None
        return
    # A model of the tightened network is a model of the other.
    assert after.lower_witnessed is None or after.lower_witnessed >= before.lower - 1e-9
    assert after.upper_witnessed is None or after.upper_witnessed <= before.upper + 1e-9
    if before.status is after.status is Status.EXACT:
        assert after.lower >= before.lower - TOLERANCE and after.upper <= before.upper + TOLERANCE


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", range(920, 922))
def test_renaming_and_reordering_changes_nothing(kind: str, seed: int) -> None:
    case = random_case(kind, seed)
    new = {v: Variable(f"z{9 - i}_{v.name}", v.values) for i, v in enumerate(case.network.variables)}
    network = Network(
        tuple(new[v] for v in reversed(case.network.variables)),
        tuple(renamed_sentence(s, new) for s in reversed(case.network.sentences)),
        tuple(renamed_independence(i, new) for i in case.network.independences),
    )
    asked = Query(renamed(case.query.claim, new), renamed(case.query.given, new))
    before, after = ask(case.network, case.query), ask(network, asked)
    if before is None or after is None:
        assert before is after is None
        return
    for one, other in ((before, after), (after, before)):
        assert one.lower_witnessed is None or one.lower_witnessed >= other.lower - 1e-9
        assert one.upper_witnessed is None or one.upper_witnessed <= other.upper + 1e-9
    if before.status is after.status is Status.EXACT:
        assert (after.lower, after.upper) == pytest.approx((before.lower, before.upper), abs=2 * TOLERANCE)


def renamed(formula: Formula, new: dict[Variable, Variable]) -> Formula:
    match formula:
        case Truth():
            return formula
        case Is(variable, value):
            return Is(new[variable], value)
        case Not(operand):
            return Not(renamed(operand, new))
        case And(operands) | Or(operands) | Xor(operands):
            return type(formula)(tuple(renamed(part, new) for part in reversed(operands)))
        case Implies(left, right) | Iff(left, right):
            return type(formula)(renamed(left, new), renamed(right, new))


def renamed_sentence(sentence: Sentence, new: dict[Variable, Variable]) -> Sentence:
    claims = tuple((weight, renamed(claim, new)) for weight, claim in sentence.claims)
    return replace(sentence, claims=claims, given=renamed(sentence.given, new))


def renamed_independence(independence: Independence, new: dict[Variable, Variable]) -> Independence:
    sides = (independence.left, independence.right, independence.given)
    return Independence(*(tuple(new[v] for v in side) for side in sides))


@pytest.mark.parametrize("seed", range(930, 934))
def test_a_vacuous_sentence_on_a_variable_of_its_own_changes_nothing(seed: int) -> None:
    case = random_case("free", seed)
    spare = Variable("spare")
    added = Sentence(((Fraction(1), Is(spare)),), TRUE, Fraction(0), Fraction(1))
    network = replace(
        case.network,
        variables=(spare, *case.network.variables),
        sentences=(*case.network.sentences, added),
    )
    before, after = ask(case.network, case.query), ask(network, case.query)
    assert (before is None) == (after is None)
    if before is not None and after is not None and before.status is after.status is Status.EXACT:
        assert (after.lower, after.upper) == pytest.approx((before.lower, before.upper), abs=2 * TOLERANCE)


# --- Who decides on a witness, and what a search does without a verdict -----------------------------------


@pytest.mark.parametrize("end", End)
def test_a_witness_that_nobody_accepts_is_no_witness_and_the_bound_holds(end: End) -> None:
    limits = Limits(TOLERANCE, Budget.of(1.0))
    asked = encoded(TWO_ENDS, Query(C))
    finding = search(*asked, limits, end=end, accepts=lambda _: False)
    assert finding.witness is None
    assert_encloses(finding, end=end, truth=ENDS_OF_C[end])


@pytest.mark.parametrize("end", End)
def test_a_search_that_stopped_is_taken_up_where_it_was(end: End) -> None:
    limits = Limits(1e-6, Budget.of(0.0))
    stopped = Search(*encoded(TWO_ENDS, Query(C)), limits, end, None, None)
    first = stopped.run()
    second = stopped.go_on(Budget.of(20.0))
    assert first.ending is Ending.STOPPED
    assert second.ending is Ending.CLOSED
    assert second.nodes > first.nodes
    assert_encloses(first, end=end, truth=ENDS_OF_C[end])
    assert second.bound == pytest.approx(ENDS_OF_C[end], abs=2e-6)


@pytest.mark.parametrize("end", End)
def test_a_leaf_without_a_verdict_is_cut_and_not_given_up(end: End, monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver is made to say nothing about every box that is still as wide as the first one."""
    widths = encoded(TWO_ENDS, Query(C))[0].program.ratios
    solve = Relaxation._solve

    def silent(self: Relaxation, end: End, objective: Objective, box: Box, *rest: Any) -> Any:
        claim, basis = solve(self, end, objective, box, *rest)
        first = np.array_equal(box.lower, widths.lower) and np.array_equal(box.upper, widths.upper)
        return (replace(claim, outcome=Outcome.STOPPED), None) if first else (claim, basis)

    monkeypatch.setattr(Relaxation, "_solve", silent)
    finding = found_in(TWO_ENDS, Query(C), end=end)
    assert finding.ending is Ending.CLOSED
    assert finding.bound == pytest.approx(ENDS_OF_C[end], abs=2e-4)


def test_wide_ranges_are_cut_where_no_cut_gains() -> None:
    # After a few cuts no other gains anything of P(a | b & c) by itself.
    answer = credalog.parse(rare_core("0.001")).query("P(a | b & c)", timeout=60, tolerance=1e-3)
    assert answer.status is Status.EXACT
    assert answer.lower <= LEAST <= answer.lower + 2e-3
