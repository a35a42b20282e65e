"""Sound bounds on any query: what they contain, how tight they are, and how long they take."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from itertools import pairwise, product
from time import monotonic

import numpy as np
import pytest

import credalog
from awkward_networks import network
from conftest import SHARED_DATA
from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork
from credalog.methods.answer import Answer
from credalog.methods.intervals import bounds, propagate, slices
from credalog.methods.intervals.frechet import Range, both, complement, independent, parity, share
from credalog.network.formulas import (
    Formula,
    Iff,
    Is,
    Variable,
    Xor,
    conjunction,
    disjunction,
    proposition,
    propositions,
)
from credalog.network.graph import Markov
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import Interval, Status, Warrant
from judging import against_products, complaints, truth_of, truth_without_independence
from oracle import Verdict
from random_networks import COMBINED, KINDS, LINEAR, Case, random_case

S = Sentence.of
A, B, C, D, E = propositions("a b c d e")


def bounded(net: Network, claim: Formula, given: Formula | None = None, **how: object) -> tuple[float, float]:
    asked = Query(claim) if given is None else Query(claim, given)
    found: Interval = bounds(net, asked, **how)  # type: ignore[arg-type]
    assert (found.lower.warrant, found.upper.warrant) == (Warrant.CHECKED, Warrant.CHECKED)
    assert (found.lower.witnessed, found.upper.witnessed) == (None, None)
    return found.lower.bound, found.upper.bound


# --- Against brute force ----------------------------------------------------------------------------------

SETTINGS = ((slices.SIZES, slices.GROUP), (((3, 4),), 2), (((1, 4), (9, 16)), 4))
"""Sizes of slices and windows: the tiny ones send small networks the ways of large ones."""


def answered(case: Case, markov: Markov = Markov.LOCAL, seconds: float = 10.0) -> Answer | CredalogError:
    try:
        found = bounds(case.network, case.query, markov=markov, budget=Budget.of(seconds))
    except CredalogError as error:
        return error
    return Answer(case.query, found, Status.BOUNDED, "sound", 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, *COMBINED])
def test_bounds_contain_what_brute_force_attains(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in (1000, 1001) if kind in KINDS else (1000,):
        case = random_case(kind, seed)
        truth = truth_of(case, 0.5)
        for sizes, group in SETTINGS:
            monkeypatch.setattr(slices, "SIZES", sizes)
            monkeypatch.setattr(slices, "GROUP", group)
            for seconds in (10.0, 0.0):
                outcome = answered(case, seconds=seconds)
                # Where there is no model at all, none gives the evidence any probability.
                if isinstance(outcome, ImpossibleEvidence) and truth.verdict is Verdict.INCONSISTENT:
                    continue
                assert complaints(outcome, truth, 1e-4) == []
                assert case.hidden is None or against_products(case, outcome) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(LINEAR))
def test_without_a_markov_condition_bounds_contain_nilssons(kind: str) -> None:
    for seed in range(1000, 1004):
        case = random_case(kind, seed)
        truth = truth_without_independence(case)
        outcome = answered(case, Markov.NONE)
        if not (isinstance(outcome, ImpossibleEvidence) and truth.verdict is Verdict.INCONSISTENT):
            assert complaints(outcome, truth, 1e-4) == []


# --- By hand ----------------------------------------------------------------------------------------------

EQUAL = network(S(A, 0, 0.3), S(C, 0.7, 1), S(C, 0, 0.5, given=Iff(A, B)))
"""P(a iff b) <= 0.3 / 0.5, so P(a) + P(b) - 2 P(a) P(b) >= 0.4, and P(b) >= (0.4 - 0.3) / (1 - 0.6)."""


def test_the_independence_of_two_causes_is_used_to_the_full() -> None:
    """The root relaxation of exact inference proves 1/7 only."""
    assert bounded(EQUAL, B) == pytest.approx((0.25, 1.0), abs=1e-4)


def test_a_published_chain_is_bounded_better_than_by_the_root_relaxation() -> None:
    """P(x7) >= 0.665632, P(x7 | x1 iff x4) <= 0.495983: P(x1 xor x4) >= 0.336594; and P(x1) <= 0.326244."""
    path = SHARED_DATA / "lcn" / "benchmarks" / "chain" / "chain_n10_1.lcn"
    if not path.exists():
        pytest.skip("the public data folder ../shared/data is not there")
    lcn = credalog.load(path)
    lower, _ = bounded(lcn.ground(), lcn.question("P(x4)").claim)
    assert lower == pytest.approx((0.336594 - 0.326244) / (1 - 2 * 0.326244), abs=2e-5)


def test_what_is_said_of_a_condition_holds_however_rare_it_is() -> None:
    """Nothing bounds P(b): only the sentence itself, and what implies it."""
    net = network(S(A, 0.2, 0.3, given=B), S(A, 0.1, 0.6, given=~B), S(C, 0.5, 0.5, given=A))
    assert bounded(net, A, B) == pytest.approx((0.2, 0.3), abs=1e-9)
    assert bounded(net, A | C, B)[0] == pytest.approx(0.2, abs=1e-9)


def test_a_posterior_of_a_formula_given_a_formula() -> None:
    """P(a xor b | a or b) with independent coins is (1/2) / (3/4)."""
    net = network(S(A, 0.5, 0.5), S(B, 0.5, 0.5))
    assert bounded(net, Xor((A, B)), A | B) == pytest.approx((2 / 3, 2 / 3), abs=1e-9)
    assert bounded(net, Xor((A, B)), A | B, markov=Markov.NONE) == pytest.approx((0.0, 1.0), abs=1e-9)


def test_an_observation_that_others_make_irrelevant_costs_nothing() -> None:
    """Forty effects of b are observed; given b they say nothing of a."""
    effects = [proposition(f"e{i}") for i in range(40)]
    said = [S(e, 0.2, 0.3, given=g) for e in effects for g in (B, ~B)]
    net = network(S(A, 0.4, 0.6), S(B, 0.7, 0.8, given=A), S(B, 0.1, 0.2, given=~A), *said)
    less, more = 0.4 * 0.7 / (0.4 * 0.7 + 0.6 * 0.2), 0.6 * 0.8 / (0.6 * 0.8 + 0.4 * 0.1)
    found = bounded(net, A, conjunction((B, *effects)))
    assert found == pytest.approx((less, more), abs=1e-6)


def coins(count: int) -> tuple[list[Is], Network]:
    atoms = [proposition(f"x{i}") for i in range(count)]
    return atoms, network(*(S(x, 0.5, 0.5) for x in atoms))


def test_tied_variables_may_carry_what_their_parents_do_not() -> None:
    """One model has q = c = d and a fair coin o, another c = d != q: given o and c, q is sure, or not so.

    Each of the two tied variables is independent of q given the other, and both together need not be.
    """
    lcn = credalog.parse(
        """
        P(q) = 0.5
        P(o | q) = 0.5
        P(o | !q) = 0.5
        0.1 <= P(c | o) <= 0.9
        0.2 <= P(c & d) <= 0.8
        """
    )
    for method in ("sound", "auto"):
        answer = lcn.query("P(q | o & c)", method=method, timeout=10.0)
        assert (answer.lower, answer.upper) == (0.0, 1.0)


@pytest.mark.slow
def test_a_wide_formula_of_independent_parts_is_a_product() -> None:
    atoms, net = coins(40)
    assert bounded(net, conjunction(atoms)) == pytest.approx((2.0**-40, 2.0**-40), rel=1e-6)
    assert bounded(net, disjunction(atoms)) == pytest.approx((1.0, 1.0), abs=1e-9)


@pytest.mark.slow
def test_a_wide_formula_without_independence_keeps_frechets_bounds() -> None:
    atoms, net = coins(40)
    assert bounded(net, conjunction(atoms), markov=Markov.NONE) == pytest.approx((0.0, 0.5), abs=1e-9)
    assert bounded(net, disjunction(atoms), markov=Markov.NONE) == pytest.approx((0.5, 1.0), abs=1e-9)
    sure = network(*(S(x, 0.99, 1) for x in atoms))
    assert bounded(sure, conjunction(atoms), markov=Markov.NONE) == pytest.approx((0.6, 1.0), abs=1e-6)
    assert bounded(sure, atoms[0], conjunction(atoms[1:]), markov=Markov.NONE)[0] > 0.98


def test_a_value_among_more_than_fit_into_a_window() -> None:
    many = Variable("v", tuple(str(k) for k in range(3000)))
    net = Network((many,), (S(many.is_("7"), 0.2, 0.3),))
    assert bounded(net, many.is_("7")) == pytest.approx((0.2, 0.3), abs=1e-9)


def test_a_sentence_that_is_all_there_is_answers_its_own_question() -> None:
    wide = disjunction(proposition(f"x{i}") for i in range(9))
    assert bounded(network(S(wide, 0.2, 0.3)), wide) == pytest.approx((0.2, 0.3), abs=1e-9)


@pytest.mark.slow
def test_a_window_holds_what_lies_between_the_variables_of_a_query() -> None:
    """2 P(a and b) = P(a) + P(b) - P(a xor b), and nine ties of 0.02 leave P(a xor b) <= 0.18."""
    atoms = [proposition(f"s{i}") for i in range(60)]
    ties = [S(Xor(pair), 0, 0.02) for pair in pairwise(atoms)]
    net = network(*(S(x, 0.3, 0.6) for x in atoms), *ties)
    assert bounded(net, atoms[20] & atoms[29])[0] == pytest.approx((0.3 + 0.3 - 9 * 0.02) / 2, abs=1e-6)


# --- Contradictions ---------------------------------------------------------------------------------------


def test_a_contradiction_of_a_billionth_is_found_and_none_is_made_up() -> None:
    with pytest.raises(InconsistentNetwork):
        bounds(network(S(A, 0.1, 1), S(A, 0, "0.099999999"), S(B, 0, 1)), Query(A & B))
    for thirds in range(1, 30):
        value = Fraction(thirds, 31)
        net = network(S(A, value, value), S(B, value, value, given=A), S(A & B, value**2, value**2))
        lower, upper = bounded(net, A & B)
        assert Fraction(lower) <= value**2 <= Fraction(upper)


def test_a_contradiction_that_only_a_window_sees_names_its_variables() -> None:
    """Of three atoms that differ pairwise two must agree; no single probability shows it."""
    pairs = ((A, B), (B, C), (A, C))
    net = network(*(S(Xor(pair), 0.7, 1, tau=False) for pair in pairs))
    assert propagate(net, variant="sound").converged
    with pytest.raises(InconsistentNetwork, match="a, b, c"):
        bounds(net, Query(A), markov=Markov.NONE)


def test_evidence_that_every_model_excludes_is_impossible() -> None:
    net = network(S(A, 0.5, 0.6), S(B, 0, 0, given=A), S(C, 0.1, 0.2))
    with pytest.raises(ImpossibleEvidence):
        bounds(net, Query(C, A & B), markov=Markov.NONE)
    # Where what is asked does not depend on it, it is bounded all the same.
    assert bounded(net, C, A & B) == pytest.approx((0.1, 0.2), abs=1e-9)


# --- Fréchet ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_parts_bound_a_formula_as_fractions_say(seed: int) -> None:
    """Distributions over two events are tried with marginals at corners and in between, and Fréchet's."""
    rng = np.random.default_rng(seed)
    one, other = (tuple(sorted(rng.uniform(size=2).tolist())) for _ in range(2))
    for p, q in product(_through(one), _through(other)):
        for joint in _through((max(Fraction(0), p + q - 1), min(p, q))):
            assert _contains(both(one, other), joint)
            assert _contains(parity(one, other), p + q - 2 * joint)
        assert _contains(independent(one, other), p * q)
        assert _contains(complement(one), 1 - p)
        if p + q <= 1:
            assert _contains(share(one, other), p / (p + q))


def _through(ends: tuple[float, float] | tuple[Fraction, Fraction] | Range) -> list[Fraction]:
    low, high = map(Fraction, ends)
    return [low, (low + high) / 2, high]


def _contains(found: Range, value: Fraction) -> bool:
    return Fraction(found[0]) <= value <= Fraction(found[1])


# --- Time -------------------------------------------------------------------------------------------------


def tied_chain(count: int) -> tuple[list[Is], Network]:
    atoms = [proposition(f"s{i}") for i in range(count)]
    ties = [S(Xor((x, y)), 0, 0.2) for x, y in pairwise(atoms)]
    return atoms, network(*(S(x, 0.3, 0.6) for x in atoms), *ties)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.2, 1.0])
def test_a_limit_is_kept_on_a_chain_of_two_thousand_ties(seconds: float) -> None:
    atoms, net = tied_chain(2000)
    graph = credalog.LCN(net).graph
    asked = (Query(atoms[0] & atoms[1999]), Query(atoms[7], atoms[9] | atoms[11]), Query(conjunction(atoms)))
    for query in asked:
        began = monotonic()
        found = bounds(net, query, budget=Budget.of(seconds), graph=graph)
        assert monotonic() - began <= 1.1 * seconds + 1.0
        assert found.upper.bound <= 0.6 + 1e-9 or query.is_conditional
    began = monotonic()
    propagate(net, variant="sound", window=None, timeout=seconds, dependencies=graph)
    assert monotonic() - began <= 1.1 * seconds + 1.0


@pytest.mark.slow
def test_no_bound_waits_for_a_compiler() -> None:
    code = (
        "import sys, credalog; from credalog.methods.intervals import bounds;"
        "lcn = credalog.parse('P(a) <= 0.3\\nP(c) >= 0.7\\nP(c | a iff b) <= 0.5\\n');"
        "print(bounds(lcn.ground(), lcn.question('P(b)'))); lcn.propagate(variant='sound');"
        "assert 'numba' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[0.2")


def test_windows_grow_by_themselves_while_they_help() -> None:
    """b and c copy the coin a, and d is their conjunction: only a window sees that P(d) is 1/2."""
    net = network(
        S(A, 0.5, 0.5),
        *(S(x, value, value, given=g) for x in (B, C) for g, value in ((A, 1), (~A, 0))),
        S(D, 1, 1, given=B & C),
        *(S(D, 0, 0, given=g) for g in (B & ~C, ~B & C, ~B & ~C)),
    )
    assert propagate(net, variant="sound").interval(D.variable) == pytest.approx((0.0, 0.5), abs=1e-6)
    grown = propagate(net, variant="sound", window=None, timeout=20.0)
    assert grown.interval(D.variable) == pytest.approx((0.5, 0.5), abs=1e-6)
