"""What an audit found wrong, as facts: each test is one finding, with its network and the true answer.

The true answers were derived by hand or by brute force over all worlds, never by the engine. Group A is about
wrong answers, group G about the questions other than `query`.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import credalog
from conftest import PROJECT
from credalog import LCN, InconsistentNetwork, P, Status, propositions
from credalog.errors import CredalogError
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.network.formulas import Is, Variable
from credalog.network.graph import Markov
from credalog.network.sentences import Network, Query
from credalog.numbers import interval as numbers
from credalog.numbers.interval import Endpoint, Warrant
from credalog.numbers.tolerances import TOLERANCE
from credalog.questions.decide import Verdict
from oracle import violations
from random_networks import some_of, tables
from rare_networks import LEAST, rare_core


def assert_true(answer: Answer, lower: float, upper: float) -> None:
    """Demand that nothing the answer says contradicts the true interval, and that no claim is stronger."""
    assert answer.lower <= lower + 1e-9 and upper - 1e-9 <= answer.upper
    if answer.lower_witnessed is not None:
        assert answer.lower_witnessed >= lower - 1e-7
    if answer.upper_witnessed is not None:
        assert answer.upper_witnessed <= upper + 1e-7
    if answer.status is Status.EXACT:
        assert (answer.lower, answer.upper) == pytest.approx((lower, upper), abs=TOLERANCE)


# --- A1: rare conditions ----------------------------------------------------------------------------------

RARE_AND_DECLARED = """
P(g) = 1e-10
0.3 <= P(x | g) <= 0.4
0.3 <= P(x | !g) <= 0.4
0.5 <= P(y | g) <= 0.6
0.5 <= P(y | !g) <= 0.6
0.1 <= P(x & y | g) <= 1
independent x, y | g
"""


def test_an_independence_given_something_rare_is_checked() -> None:
    # Given g the two are independent: 0.3 * 0.5 and 0.4 * 0.6.
    assert_true(credalog.parse(RARE_AND_DECLARED).query("P(x & y | g)", timeout=5.0), 0.15, 0.24)


@pytest.mark.slow
def test_an_implied_independence_in_a_rare_context_is_checked() -> None:
    assert_true(credalog.parse(rare_core("1e-12")).query("P(a | b & c)", timeout=2.0), LEAST, 1.0)


# --- A2: declared independences and consistency ----------------------------------------------------------

COPY_DECLARED_INDEPENDENT = """
P(x) = 0.5
P(y | x) = 1
P(y | !x) = 0
0.2 <= P(z) <= 0.4
independent x, y
"""


def test_a_declared_independence_can_be_a_contradiction_far_from_the_query() -> None:
    # y is a copy of a fair coin x: P(x, y) = 1/2, not 1/4.
    with pytest.raises(InconsistentNetwork):
        credalog.parse(COPY_DECLARED_INDEPENDENT).query("P(z)")


@pytest.mark.slow
def test_check_counts_declared_independences() -> None:
    found = credalog.parse(COPY_DECLARED_INDEPENDENT).diagnose(timeout=2.0)
    assert found.verdict.name == "INCONSISTENT"
    assert found.model is None


# --- A3: evidence that is rare, and contradictions that are slight ---------------------------------------

RARER_THAN_A_FLOOR = "P(a) = 0.3\nP(e | a) = 1e-15\nP(e | !a) = 2e-15\n0.1 <= P(a or c) <= 0.9\n"

LINKS = "".join(
    f"0.001 <= P(x{i} | x{i - 1}) <= 0.002\n0 <= P(x{i} | !x{i - 1}) <= 0.0001\n" for i in range(1, 6)
)
RARE_CHAIN = (
    f"P(x0) = 0.001\n{LINKS}0.1 <= P(x0 or w) <= 0.9\n0.3 <= P(y | x5) <= 0.4\n0.1 <= P(y | !x5) <= 0.2\n"
)
WHOLE_CHAIN = " and ".join(f"x{i}" for i in range(6))


def test_evidence_rarer_than_any_floor_is_not_impossible() -> None:
    # Bayes: 0.3e-15 / (0.3e-15 + 1.4e-15).
    assert_true(credalog.parse(RARER_THAN_A_FLOOR).query("P(a | e)", timeout=5.0), 3 / 17, 3 / 17)


def test_a_chain_of_ordinary_numbers_is_not_impossible_evidence() -> None:
    # Given x5 the rest of the chain says nothing more of y.
    assert_true(credalog.parse(RARE_CHAIN).query(f"P(y | {WHOLE_CHAIN})", timeout=5.0), 0.3, 0.4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "statement"),
    [
        pytest.param(RARER_THAN_A_FLOOR, "P(a | e) >= 0.1", id="one observation"),
        pytest.param(RARE_CHAIN, f"P(y | {WHOLE_CHAIN}) >= 0.2", id="a chain"),
    ],
)
def test_decide_does_not_call_rare_evidence_impossible(text: str, statement: str) -> None:
    assert credalog.parse(text).decide(statement, timeout=5.0).verdict in (
        Verdict.CERTAIN,
        Verdict.UNDECIDED,
    )


@pytest.mark.parametrize("gap", ["1e-7", "1e-9", "1e-11"])
def test_a_contradiction_is_a_contradiction_however_slight(gap: str) -> None:
    below = Fraction("0.1") - Fraction(gap)
    lcn = credalog.parse(f"P(a) >= 0.1\nP(a) <= {below.numerator}/{below.denominator}\n")
    assert lcn.diagnose().verdict.name != "CONSISTENT"
    try:
        answer = lcn.query("P(a)")
    except InconsistentNetwork:
        return
    assert answer.status is not Status.EXACT
    assert answer.lower_witnessed is None and answer.upper_witnessed is None
    assert answer.lower <= answer.upper


ONE_SIDE_FREE = {
    "given a": "P(a) = 0.3\nP(e | a) = 1e-15\n0 <= P(e | !a) <= 1\n0.1 <= P(a or c) <= 0.9\n",
    "given not a": "P(a) = 0.3\n0 <= P(e | a) <= 1\nP(e | !a) = 1e-15\n0.1 <= P(a or c) <= 0.9\n",
}


@pytest.mark.parametrize("rare", sorted(ONE_SIDE_FREE))
def test_no_solvers_word_is_taken_on_evidence_beyond_its_tolerances(rare: str) -> None:
    """The evidence may be impossible on the free side, or certain: P(a | e) is (nearly) 0 to 1."""
    lcn = credalog.parse(ONE_SIDE_FREE[rare])
    answer = lcn.query("P(a | e)", timeout=3.0)
    assert answer.lower <= 1e-14 and answer.upper >= 1.0 - 1e-14
    verdict = lcn.decide("P(a | e) >= 0.5", timeout=3.0).verdict
    assert verdict in (Verdict.UNDETERMINED, Verdict.UNDECIDED)


# --- A4: Python's own connectives -----------------------------------------------------------------------


@pytest.mark.parametrize("connective", ["and", "or", "not", "if", "bool"])
def test_a_formula_refuses_pythons_connectives(connective: str) -> None:
    a, b = propositions("a b")
    slips: dict[str, Callable[[], object]] = {
        "and": lambda: P(a and b) >= 0.9,
        "or": lambda: P(a or b) >= 0.9,
        "not": lambda: P(cast(Any, not a)) >= 0.9,
        "if": lambda: P(a if b else ~a) >= 0.9,
        "bool": lambda: bool(a & b),
    }
    with pytest.raises((TypeError, CredalogError), match=r"[&|~]"):
        slips[connective]()


# --- A5, A6: two findings about one end ------------------------------------------------------------------


def joined(first: Endpoint, second: Endpoint, end: str) -> Endpoint:
    return first.joined(second, numbers.End[end])


@pytest.mark.parametrize("end", ["LOWER", "UPPER"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_joined_end_keeps_each_bounds_own_warrant(end: str, swapped: bool) -> None:
    claimed, checked = Endpoint(0.4, None, Warrant.CLAIMED), Endpoint(0.3, None, Warrant.CHECKED)
    found = joined(checked, claimed, end) if swapped else joined(claimed, checked, end)
    assert found == (claimed if end == "LOWER" else checked)


@pytest.mark.parametrize(("end", "value"), [("LOWER", 0.5), ("UPPER", 0.6)])
def test_a_joined_end_keeps_the_value_farther_out(end: str, value: float) -> None:
    some, other = Endpoint(0.4, 0.6, Warrant.CHECKED), Endpoint(0.4, 0.5, Warrant.CHECKED)
    none = Endpoint(0.4, None, Warrant.CHECKED)
    for first, second in ((some, other), (other, some)):
        assert joined(first, second, end).witnessed == value
        assert joined(joined(none, first, end), joined(second, none, end), end).witnessed == value


@pytest.mark.parametrize("swapped", [False, True])
def test_of_equal_bounds_the_better_warranted_counts(swapped: bool) -> None:
    claimed, checked = Endpoint(0.4, None, Warrant.CLAIMED), Endpoint(0.4, None, Warrant.CHECKED)
    found = joined(checked, claimed, "UPPER") if swapped else joined(claimed, checked, "UPPER")
    assert found.warrant is Warrant.CHECKED


def credal_network_with_loops(seed: int, size: int) -> Network:
    """Return a credal network in which set propagation and the cliques both run out of time."""
    rng = np.random.default_rng(seed)
    variables = tuple(Variable(f"v{i}") for i in range(size))
    arcs = {v: some_of(rng, variables[max(0, i - 5) : i], min(i, 2), 3) for i, v in enumerate(variables)}
    return Network(variables, tuple(tables(rng, arcs, 0.3)))


def test_a_witness_attains_the_value_that_is_said_of_it() -> None:
    """Ask in so little time that what two methods found is put together."""
    network = credal_network_with_loops(4, 12)
    *_, v2, x, y, z = (Is(network.variables[i]) for i in (2, 9, 10, 11))
    asked = Query(v2, x & y & z)
    answer = Engine(network).query(asked, Options(tolerance=1e-6, timeout=0.1))
    assert answer.status is Status.BOUNDED, "two methods must be cut short, or this tests nothing"
    ends = (
        (answer.lower_witness, answer.lower_witnessed),
        (answer.upper_witness, answer.upper_witnessed),
    )
    for model, value in ends:
        assert (model is None) == (value is None)
        if model is not None:
            assert model.probability(asked.claim, asked.given) == pytest.approx(value, abs=1e-9)


# --- A7: what was asked before -----------------------------------------------------------------------------

TIED_ELSEWHERE = """
0.1 <= P(z) <= 0.2
0.6 <= P(a & b) <= 1
0 <= P(a | c) <= 0.2
0 <= P(a | !c) <= 0.8
0 <= P(b | d) <= 0.7
0 <= P(b | !d) <= 0.3
"""


def test_an_answer_does_not_depend_on_a_hurried_one_before() -> None:
    lcn = credalog.parse(TIED_ELSEWHERE)
    hurried, patient = lcn.query("P(z)", timeout=1e-6), lcn.query("P(z)", timeout=20.0)
    assert hurried.status is Status.BOUNDED, "the first question must be cut short, or this tests nothing"
    assert patient.status is Status.EXACT
    assert (patient.lower, patient.upper) == pytest.approx((0.1, 0.2), abs=TOLERANCE)


def test_a_hurried_map_leaves_nothing_behind() -> None:
    lcn = credalog.parse(TIED_ELSEWHERE)
    lcn.map(["z"], timeout=1e-6)
    assert lcn.query("P(z)", timeout=20.0).status is Status.EXACT


# --- A8, A9: bounds and witnesses --------------------------------------------------------------------------


def test_no_witness_passes_its_bound() -> None:
    for answer in credalog.load(PROJECT / "examples" / "appendix.lcn").marginals():
        assert answer.lower_witnessed is not None and answer.upper_witnessed is not None
        assert answer.lower <= answer.lower_witnessed <= answer.upper_witnessed <= answer.upper


def test_a_rare_event_is_exact_only_to_its_own_digits() -> None:
    # P(a) = P(b) with a and b independent and P(a and b) = 1/2: P(a and r) is 0.001 times the root of 1/2.
    lcn = credalog.parse("P(a) - P(b) = 0; False\nP(a & b) = 0.5; False\nP(r) = 0.001\n")
    answer, truth = lcn.query("P(a & r)"), 0.001 * math.sqrt(0.5)
    assert answer.lower <= truth <= answer.upper
    if answer.status is Status.EXACT:
        assert (answer.lower, answer.upper) == pytest.approx((truth, truth), rel=1e-3)


# --- A10: without independences -------------------------------------------------------------------------


def test_without_independences_no_ratio_is_said_to_sit_at_an_end() -> None:
    """That some optimum sits at ends needs the factorization, of which Nilsson's logic knows nothing.

    P(x xor y) = 0 demands P(x) = P(y): two of the four ends are 0.1 apart, and no two are equal.
    """
    lcn = credalog.parse("0.3 <= P(x) <= 0.7\n0.2 <= P(y) <= 0.6\n")
    query, engine = lcn.question("P(x xor y)"), Engine(lcn.ground(), Markov.NONE)
    part = engine.part(query)
    encoding, _ = part.encode(query, part.problem.reading)
    assert encoding.program.ratios.at_vertex.size
    assert not encoding.program.ratios.at_vertex.any()
    assert_true(engine.query(query), 0.0, 1.0)


# --- G1: explanations compare like with like ---------------------------------------------------------------


def polytree() -> LCN:
    """Return a polytree of three-valued variables, easy for set propagation and hard for anything else."""
    rng, size = np.random.default_rng(3), 3
    parents = {0: [2], 1: [0, 6], 2: [], 3: [0], 4: [0], 5: [0], 6: [], 7: [1], 8: [3]}
    lines = [f"variable v{i} in {{c0, c1, c2}}" for i in parents]
    for child, above in parents.items():
        for values in product(range(size), repeat=len(above)):
            given = " & ".join(f"v{p} = c{value}" for p, value in zip(above, values, strict=True))
            for value, chance in enumerate(rng.dirichlet(np.ones(size))):
                below, beyond = rng.random(2) * 0.15
                bounds = f"{max(0.0, chance - below):.3f} <= P({{}}) <= {min(1.0, chance + beyond):.3f}"
                lines.append(bounds.format(f"v{child} = c{value}" + (f" | {given}" if given else "")))
    return credalog.parse("\n".join(lines))


ALL_LEAVES = "P(v0 = c0 | v4 = c0 & v5 = c0 & v7 = c0 & v3 = c0 & v8 = c0)"


@pytest.mark.slow
def test_measuring_what_is_separated_from_the_question_changes_nothing() -> None:
    """Given v3, all that is said of v8 is separated from v0: no measurement of it can widen the answer."""
    found = polytree().measure(ALL_LEAVES, "P(v8 = c0 | v3 = c0)", within=0.01, timeout=20.0)
    now = found.before.upper - found.before.lower
    assert found.before.status is Status.EXACT
    assert max(found.widths) <= now + TOLERANCE


@pytest.mark.slow
def test_explain_compares_an_interval_with_one_of_its_own_kind() -> None:
    """A sentence with its bounds dropped says nothing; set propagation says how far that moves each end."""
    lcn = polytree()
    network, query = lcn.ground(), lcn.question(ALL_LEAVES)
    found = lcn.explain(ALL_LEAVES, timeout=20.0, most=6)
    assert found.answer.status is Status.EXACT and found.influences
    for one in found.influences:
        vacuous = replace(one.sentence, lower=Fraction(0), upper=Fraction(1))
        sentences = tuple(vacuous if s == one.sentence else s for s in network.sentences)
        without = Engine(replace(network, sentences=sentences)).query(query)
        assert without.status is Status.EXACT
        assert one.lower_move <= found.answer.lower - without.lower + 2 * TOLERANCE
        assert one.upper_move <= without.upper - found.answer.upper + 2 * TOLERANCE


# --- G2, G3: decisions --------------------------------------------------------------------------------------

SENTENCES_AS_THRESHOLDS = "0.1 <= P(a) <= 0.3\n0.2 <= P(b) <= 0.6\n0.2 <= P(a or b) <= 0.7 ; tau=False\n"


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("P(a) >= 0.1", {Verdict.CERTAIN, Verdict.UNDECIDED}),
        ("P(a) <= 0.3", {Verdict.CERTAIN, Verdict.UNDECIDED}),
        ("P(b) >= 0.2", {Verdict.CERTAIN, Verdict.UNDECIDED}),
        ("P(a or b) >= 0.2", {Verdict.CERTAIN, Verdict.UNDECIDED}),
        ("P(a) >= 0.3", {Verdict.UNDETERMINED, Verdict.UNDECIDED}),
        ("P(a) <= 0.1", {Verdict.UNDETERMINED, Verdict.UNDECIDED}),
        ("P(a) >= 0.2", {Verdict.UNDETERMINED}),
        ("P(a) >= 0.0999", {Verdict.CERTAIN}),
        ("P(a) >= 0.3001", {Verdict.EXCLUDED}),
    ],
)
def test_a_threshold_on_an_end_is_not_refuted_by_rounding(statement: str, allowed: set[Verdict]) -> None:
    assert credalog.parse(SENTENCES_AS_THRESHOLDS).decide(statement, timeout=2.0).verdict in allowed


@pytest.mark.slow
def test_decide_counts_no_witness_where_the_rest_may_have_no_model() -> None:
    # a and b are independent: P(a) + P(b) = 0.7, so P(a) P(b) <= 0.1225 < 0.1225001.
    lcn = credalog.parse(
        "0.1 <= P(a) <= 0.9\n0.1 <= P(b) <= 0.9\nP(a xor b) = 0.4549998 ; tau=False\n"
        "P(a and b) = 0.1225001 ; tau=False\n0.1 <= P(z) <= 0.2\n"
    )
    try:
        found = lcn.decide("P(z) >= 0.15", timeout=2.0)
    except InconsistentNetwork:
        return
    assert found.verdict is Verdict.UNDECIDED
    assert found.interval.lower.witnessed is None and found.interval.upper.witnessed is None


# --- G4: threads --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_eight_threads_may_ask_one_network() -> None:
    """Let threads take turns as often as they can: what one iterates over another must not change."""
    asked = ["P(a)", "P(b)", "P(c)", "P(d)", "P(a | b)", "P(b | a)", "P(a or c)", "P(b & d)"]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(3):
            lcn = credalog.parse(TIED_ELSEWHERE)
            with ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(lcn.query, asked * 2))
            assert all(answer.lower <= answer.upper for answer in answers)
            assert (answers[2].lower, answers[2].upper) == pytest.approx((0.0, 1 / 3), abs=TOLERANCE)
    finally:
        sys.setswitchinterval(usual)


# --- G5: what is printed ----------------------------------------------------------------------------------


def strict(text: str) -> Any:
    """Read JSON, which knows no NaN."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


IMPOSSIBLE_E = "P(e) = 0\n0.2 <= P(a) <= 0.4\n"


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_maxent_does_not_answer_impossible_evidence_with_nan(ask, written, words: tuple[str, ...]) -> None:
    code, out, _ = ask("maxent", written(IMPOSSIBLE_E), "P(a | e)", *words)
    assert "nan" not in out.lower()
    assert code != 0 or "null" in out or "undefined" in out


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_measurement_that_no_model_allows_is_not_nan(ask, written, words: tuple[str, ...]) -> None:
    # P(a) is the root of 1/2, which no place tried is.
    path = written("P(a) - P(b) = 0; False\nP(a & b) = 0.5; False\n")
    _, out, _ = ask("explain", path, "P(b)", "--measure", "P(a)", "--within", "1e-15", *words)
    assert "nan" not in out.lower()


def test_a_threshold_is_printed_in_full(ask, written) -> None:
    path = written("0.1 <= P(a) <= 0.9\n")
    _, out, _ = ask("decide", path, "P(a) >= 0.123456789", "--json")
    (found,) = strict(out)
    assert found["threshold"] == 0.123456789
    assert "0.123456789" in found["statement"]
    assert "0.123456789" in ask("decide", path, "P(a) >= 0.123456789")[1]


@pytest.mark.parametrize("later", ["P(b | e) >= 0.5", "P(unheard) >= 0.5"])
def test_earlier_verdicts_are_not_lost_when_a_later_statement_fails(ask, written, later: str) -> None:
    """A statement that cannot be read is refused before any work; one without an answer keeps the others."""
    path = written("P(e) = 0\n0.1 <= P(a) <= 0.9\n0.2 <= P(b) <= 0.3\n")
    code, out, err = ask("decide", path, "P(a) >= 0.05", later)
    assert code != 0 and err
    assert "certainly" in out or "unheard" in err
    if "unheard" not in later:
        assert "P(a) >= 0.05" in out


@pytest.mark.slow
def test_with_several_jobs_a_failed_question_is_named(ask, written) -> None:
    path = written("P(e) = 0\n0.1 <= P(a) <= 0.9\n")
    code, out, _ = ask("query", path, "P(a)", "P(a | e)", "--jobs", "2", "--json")
    found = strict(out)
    assert code != 0
    assert isinstance(found, list)
    assert [one["query"] for one in found] == ["P(a)", "P(a | e)"]


# --- G6: atoms and sentences that are easily lost ------------------------------------------------------

UNMENTIONED = "domain D = {Tim, Tom}\npredicate Quiet(D), Loud(D)\n0.2 <= P(Loud(Tim)) <= 0.4\n"


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--jobs", "2"), ("--method", "sound")])
def test_evidence_on_an_atom_that_no_sentence_mentions_is_evidence(ask, written, words) -> None:
    code, out, _ = ask("marginals", written(UNMENTIONED), "--evidence", "Quiet(Tim)", "--json", *words)
    assert code == 0
    (loud,) = [one for one in json.loads(out) if one["query"].startswith("P(Loud(Tim)")]
    assert (loud["lower"], loud["upper"]) == pytest.approx((0.2, 0.4), abs=1e-6)


@pytest.mark.parametrize("asked", ["marginals", "sound"])
def test_python_takes_evidence_on_an_atom_that_no_sentence_mentions(asked: str) -> None:
    lcn = credalog.parse(UNMENTIONED)
    if asked == "sound":
        answers = lcn.propagate(variant="sound", given="Quiet(Tim)").answers()
    else:
        answers = tuple(lcn.marginals(given="Quiet(Tim)"))
    (loud,) = [one for one in answers if one.query.claim == lcn.formula("Loud(Tim)")]
    assert (loud.lower, loud.upper) == pytest.approx((0.2, 0.4), abs=1e-6)


def test_identical_sentences_of_two_files_stay_two(written) -> None:
    """Two experts say the same: the cheapest repair may blame neither file in the other's name."""
    _, second = (written("P(a) >= 0.6\n", name) for name in ("first.lcn", "second.lcn"))
    lcn = credalog.load(written('include "first.lcn"\ninclude "second.lcn"\nP(a) <= 0.4\n', "main.lcn"))
    repair = lcn.diagnose(weights={second: math.inf}).repair
    # What second.lcn says must stay, so that first.lcn gains nothing by giving way.
    assert repair is not None
    sources = [change.before.source for change in repair.changes]
    assert [source and Path(source.file).name for source in sources] == ["main.lcn"]


# --- G7: limits of the questions ---------------------------------------------------------------------------

TWO = "0.2 <= P(a) <= 0.4\n0.3 <= P(b) <= 0.5\n"


@pytest.mark.parametrize("top", [4, 5, 100])
def test_a_map_that_lists_every_assignment_is_complete(top: int) -> None:
    found = credalog.parse(TWO).map(top=top)
    assert len(found.ranked) == 4
    assert found.is_complete and found.is_proved


@pytest.mark.parametrize("options", [{"top": 0}, {"top": -1}, {"alpha": 2.0}, {"alpha": -0.1}])
def test_a_map_refuses_what_makes_no_sense(options: dict[str, float]) -> None:
    with pytest.raises(CredalogError):
        credalog.parse(TWO).map(criterion="hurwicz", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", ["1e-3", "1E-3", "1.0e-3", "0.1%"])
def test_decide_reads_every_number_of_the_language(number: str) -> None:
    found = credalog.parse(TWO).decide(f"P(a) >= {number}")
    assert (found.threshold, found.verdict) == (Fraction("0.001"), Verdict.CERTAIN)


def test_check_takes_a_markov_condition(ask, written) -> None:
    # Without independences P(a or b) >= 0.9 is no contradiction to two fair coins; with them it is.
    path = written("P(a) = 0.5\nP(b) = 0.5\n0.9 <= P(a or b) <= 1; False\n")
    assert ask("check", path, "--markov", "none")[0] == 0
    assert ask("check", path)[0] == 3


def test_an_answer_by_columns_has_witnesses() -> None:
    lcn = credalog.parse(TWO)
    answer = lcn.query("P(a & b)", method="nilsson", markov="none")
    free = replace(lcn.ground(), independences=())
    for model, truth in ((answer.lower_witness, 0.0), (answer.upper_witness, 0.4)):
        assert model is not None
        assert model.probability(answer.query.claim) == pytest.approx(truth, abs=1e-6)
        joint = model.marginal(free.variables)
        assert violations(joint, free).sentence <= 1e-9


# --- Tables of a witness that bear on neither the question nor any statement --------------------------------


def test_every_table_of_a_witness_is_a_distribution() -> None:
    """A row of c that no program shows was once the middle of its bounds, which need not add up to one."""
    lcn = credalog.parse(
        """
        variable c in {v0, v1, v2}
        0.447 <= P(a) <= 0.625
        P(b | !a) = 0
        0.607 <= P(b | a) <= 0.863
        0.027 <= P(c = v0 | !b and !a) <= 0.552
        1e-15 <= P(c = v1 | !b and a) <= 2e-15
        0.74 <= P(c = v1 | b and !a) <= 0.862
        0.209 <= P(c = v1 | b and a) <= 0.6
        0.37 <= P(b) <= 0.68
        0.1 <= P(a and !b) <= 0.98 ; tau=False
        """
    )
    answer = lcn.query("P(c = v2 and !b | a)")
    assert answer.status is Status.EXACT
    for model in (answer.lower_witness, answer.upper_witness):
        assert model is not None
        assert model.marginal([*lcn.variables]).sum() == pytest.approx(1.0, abs=1e-12)
