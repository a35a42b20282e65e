"""Differences, expectations and quotients, and sentences across conditions."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import inf
from pathlib import Path

import numpy as np
import pytest

import credalog
from combined_oracle import FLOOR, extremes
from credalog import LCN, E, P, Variable, propositions
from credalog.errors import ImpossibleEvidence, InconsistentNetwork, LanguageError
from credalog.lcn import Asked
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.methods.gates import gated
from credalog.methods.reduction import plain, reduced
from credalog.network.expressions import Combined, Linear, Quotient, Summand
from credalog.network.formulas import Formula, Is, Not
from credalog.network.graph import Markov, dependency_graph
from credalog.network.sentences import Network
from credalog.numbers.interval import Endpoint, Interval, Status, Warrant
from credalog.questions.combined import answer, value_in
from credalog.questions.comparing import decided
from credalog.questions.decide import Verdict
from credalog.questions.diagnose import conflict
from credalog.text.unparse import said
from question_judging import against, against_decision, attained, drawn_question, drawn_statement
from random_networks import random_case

EXAMPLES = Path(__file__).parent.parent / "examples"

CREDAL = """
0.2 <= P(c) <= 0.7
0.3 <= P(a | c) <= 0.6
0.1 <= P(a | !c) <= 0.5
"""
"""Each number is free of the others: ends of sums and quotients are sums and quotients of ends."""

a, b, c = propositions("a b c")


def assert_exact(found: Answer, lower: float, upper: float, within: float = 2e-4) -> None:
    assert found.status is Status.EXACT
    # Published numbers have six decimals at most.
    assert lower - within <= found.lower <= lower + 1e-6
    assert upper - 1e-6 <= found.upper <= upper + within
    assert found.lower_witnessed == pytest.approx(lower, abs=within)
    assert found.upper_witnessed == pytest.approx(upper, abs=within)


# ---- known answers ----------------------------------------------------------------------------------------


def test_the_lipid_data_bound_the_effect_as_balke_and_pearl_say() -> None:
    model = credalog.load(EXAMPLES / "instrument" / "lipid.lcn")
    (asked,) = model.queries
    assert_exact(model.query(asked), 0.392, 0.780)


def test_the_effect_is_read_off_a_table_of_joint_probabilities(shared_data: Path) -> None:
    script = runpy.run_path(str(EXAMPLES / "instrument" / "effect.py"))
    assert_exact(script["effect"](shared_data / "autobounds" / "iv.csv"), -0.550239, -0.145971)


@pytest.mark.parametrize(
    ("asked", "lower", "upper"),
    [
        ("P(a | c) - P(a | !c)", 0.3 - 0.5, 0.6 - 0.1),
        ("P(a | c) / P(a | !c)", 0.3 / 0.5, 0.6 / 0.1),
        ("P(a | c) / P(a | !c) - 1", 0.3 / 0.5 - 1, 0.6 / 0.1 - 1),
        ("2 P(a | c) - P(!a | c) + 0.1", 3 * 0.3 - 1 + 0.1, 3 * 0.6 - 1 + 0.1),
        ("-P(a | c)", -0.6, -0.3),
        ("P(a | c) + P(a | !c) - 2 P(c)", 0.3 + 0.1 - 1.4, 0.6 + 0.5 - 0.4),
        ("(P(a | c) + P(a | !c)) / (2 P(c))", (0.3 + 0.1) / 1.4, (0.6 + 0.5) / 0.4),
        ("P(!a | c) / P(a | !c)", 0.4 / 0.5, 0.7 / 0.1),
    ],
)
def test_where_numbers_are_free_ends_are_sums_and_quotients_of_ends(
    asked: str, lower: float, upper: float
) -> None:
    found = credalog.parse(CREDAL).query(asked)
    assert_exact(found, lower, upper, 1e-3 * max(1.0, upper))


def test_a_difference_of_one_distribution_is_not_a_difference_of_intervals() -> None:
    # P(a) = 0.3 x + 0.1 (1 - x) and P(b) = 1 - P(a) move together: P(a) - P(b) = 2 P(a) - 1.
    model = credalog.parse("0.2 <= P(c) <= 0.7\nP(a | c) = 0.3\nP(a | !c) = 0.1\nP(b | a) = 0\nP(b | !a) = 1")
    assert_exact(model.query("P(a) - P(b)"), 2 * 0.14 - 1, 2 * 0.24 - 1)


def test_an_expectation_weighs_the_values() -> None:
    text = "variable Speed in 1..4\nproposition wet\nP(Speed >= 3 | wet) <= 0.5\nP(Speed = 1 | wet) >= 0.2"
    # Lowest with all on 1; highest with 0.2 on 1, 0.5 on 4 and the rest, 0.3, on 2.
    assert_exact(credalog.parse(text).query("E(Speed | wet)"), 1.0, 0.2 + 2.0 + 0.6, 5e-4)


def test_a_bayesian_network_has_one_risk_difference() -> None:
    model = credalog.parse("P(c) = 0.25\nP(a | c) = 0.6\nP(a | !c) = 0.1\nP(b | a) = 0.5\nP(b | !a) = 0.25")
    difference = (0.6 * 0.5 + 0.4 * 0.25) - (0.1 * 0.5 + 0.9 * 0.25)
    assert_exact(model.query("P(b | c) - P(b | !c)"), difference, difference, 1e-9)


def test_a_risk_ratio_may_be_infinite() -> None:
    found = credalog.parse("0.1 <= P(a | c) <= 0.2\nP(a | !c) <= 0.4\n0.3 <= P(c) <= 0.6").query(
        "P(a | c) / P(a | !c)"
    )
    assert found.upper == inf
    assert found.lower == pytest.approx(0.25, abs=1e-3)
    assert "inf" in str(found.interval)


def test_a_condition_that_is_impossible_is_named_so() -> None:
    model = credalog.parse("P(c) = 0\n0.1 <= P(a | c) <= 0.2\nP(a | !c) <= 0.4")
    with pytest.raises(ImpossibleEvidence):
        model.query("P(a | c) - P(a | !c)")


def test_evidence_joins_every_condition() -> None:
    model = credalog.parse(f"{CREDAL}P(b | a) = 0.9\nP(b | !a) = 0.2\nevidence b")
    assert str(model.asked("P(a | c) - P(a | !c)")) == "P(a | c and b) - P(a | !c and b)"


@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("P(a | c) - P(a | !c) >= -0.2", Verdict.CERTAIN),
        ("P(a | c) - P(a | !c) <= 0.5", Verdict.CERTAIN),
        ("P(a | c) - P(a | !c) >= 0.5", Verdict.UNDETERMINED),
        ("P(a | c) - P(a | !c) <= -0.2", Verdict.UNDETERMINED),
        ("P(a | c) / P(a | !c) >= 0.6", Verdict.CERTAIN),
        ("P(a | c) / P(a | !c) <= 6", Verdict.CERTAIN),
        ("2 P(a | c) - P(a | !c) + 0.1 >= 0.2", Verdict.CERTAIN),
        ("P(a | c) - P(a | !c) <= -0.2001", Verdict.EXCLUDED),
        ("P(a | c) / P(a | !c) >= 6.001", Verdict.EXCLUDED),
    ],
)
def test_a_threshold_at_an_end_is_decided_across_conditions(statement: str, verdict: Verdict) -> None:
    assert credalog.parse(CREDAL).decide(statement, timeout=10.0).verdict is verdict


@pytest.mark.slow
def test_a_threshold_next_to_an_end_is_not_taken_for_it() -> None:
    for statement in ("P(a | c) - P(a | !c) >= -0.1999999", "P(a | c) / P(a | !c) <= 5.9999999"):
        assert credalog.parse(CREDAL).decide(statement, timeout=1.0).verdict is not Verdict.CERTAIN


# ---- against brute force ----------------------------------------------------------------------------------


def _asked(rng: np.random.Generator, network: Network) -> Combined:
    """Draw a question across conditions."""

    def literal() -> Formula:
        variable = network.variables[int(rng.integers(len(network.variables)))]
        atom = Is(variable, variable.values[rng.integers(len(variable.values))])
        return atom if rng.random() < 0.6 else Not(atom)

    claim, other, given = literal(), literal() & literal(), literal()
    difference = (Summand(Fraction(1), claim, given), Summand(Fraction(-1), claim, Not(given)))
    mixed = (Summand(Fraction(1), claim, given), Summand(Fraction(-3, 2), other))
    under = (Summand(Fraction(2), claim, given), Summand(Fraction(-1), other, given))
    quotient = Quotient(Linear(difference[:1]), Linear((Summand(Fraction(1), claim, Not(given)),)))
    choices = (Linear(difference), Linear(mixed), Linear(under, Fraction(1, 10)), quotient)
    return choices[rng.integers(len(choices))]


def _complaints(found: Answer, network: Network, asked: Combined) -> list[str]:
    lower, upper = extremes(network, asked, network.contrasts, seconds=1.0)
    slack = 2e-5 * max(1.0, min(abs(found.upper), 1.0 / FLOOR))
    wrong = []
    if lower.attained is not None and found.lower > lower.attained + slack:
        wrong.append(f"{asked}: {found.lower} is above {lower.attained}, which a model attains")
    if upper.attained is not None and found.upper < upper.attained - slack:
        wrong.append(f"{asked}: {found.upper} is below {upper.attained}, which a model attains")
    for end in (found.interval.lower, found.interval.upper):
        if end.model is not None and end.witnessed is not None and abs(end.witnessed) < inf:
            value = value_in(end.model, asked)
            if value is None or abs(value - end.witnessed) > 1e-6 * max(1.0, abs(end.witnessed)):
                wrong.append(f"{asked}: the witness has {value}, not {end.witnessed}")
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["credal", "free", "cyclic", "linear", "multivalued"])
def test_no_model_passes_a_bound(kind: str) -> None:
    for seed in range(100, 102):
        network = random_case(kind, seed, smallest=2, largest=3).network
        asked = _asked(np.random.default_rng(seed), network)
        try:
            found = answer(Engine(network), asked, Options(timeout=0.5))
        except (ImpossibleEvidence, InconsistentNetwork):
            lower, upper = extremes(network, asked, seconds=1.0)
            assert lower.attained is upper.attained is None
            continue
        assert not _complaints(found, network, asked)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["credal", "declared", "rare", "deterministic", "tight", "cores+declared+linear"]
)
@pytest.mark.parametrize("markov", [Markov.LOCAL, Markov.NONE])
def test_models_found_elsewhere_are_allowed_for(kind: str, markov: Markov) -> None:
    rng = np.random.default_rng([*kind.encode(), markov is Markov.NONE])
    case = random_case(kind, int(rng.integers(10**6)), smallest=2, largest=3)
    network = replace(case.network, independences=()) if markov is Markov.NONE else case.network
    case, asked = replace(case, network=network), drawn_question(rng, network)
    truth = attained(case, asked, markov.value, rng)
    options = Options(timeout=2.0, markov=markov)
    try:
        found = answer(Engine(network, markov), asked, options)
    except (ImpossibleEvidence, InconsistentNetwork):
        assert truth is None
        return
    assert not against(found, case, asked, truth, markov.value)
    if truth is not None:
        statement = drawn_statement(rng, asked, truth)
        assert not against_decision(decided(Engine(network, markov), statement, options), truth)


@pytest.mark.slow
def test_the_judge_of_questions_sees_a_bound_inside_the_truth() -> None:
    case = random_case("credal", 3, smallest=2, largest=2)
    rng = np.random.default_rng(0)
    a, b = (Is(v, v.values[0]) for v in case.network.variables)
    asked = Linear((Summand(Fraction(1), a, b), Summand(Fraction(-1), a, Not(b))))
    truth = attained(case, asked, "local", rng)
    assert truth is not None and truth[0] < truth[1]
    found = answer(Engine(case.network), asked, Options(timeout=2.0))
    assert not against(found, case, asked, truth, "local")
    middle = sum(truth) / 2
    for low, high in ((middle, found.upper), (found.lower, middle)):
        inside = Interval(Endpoint(low, None, Warrant.CHECKED), Endpoint(high, None, Warrant.CHECKED))
        assert against(replace(found, interval=inside, status=Status.BOUNDED), case, asked, truth, "local")


@pytest.mark.parametrize("markov", ["local", "global", "none"])
def test_a_sum_under_one_condition_is_a_linear_program_without_independences(markov: str) -> None:
    # Given c, a and b are claimed together, so that every reading has the same models of them.
    text = "P(a & b | c) >= 0.2\nP(a | c) <= 0.5\nP(b | c) <= 0.4\nP(a or b | c) >= 0.6\nP(c) >= 0.5"
    found = credalog.parse(text).query("2 P(a | c) - P(b | c)", markov=markov)  # type: ignore[arg-type]
    # a + b - ab >= 0.6 and ab >= 0.2: a from 0.4 (b = 0.4) to 0.5, b down to 0.3.
    assert_exact(found, 2 * 0.4 - 0.4, 2 * 0.5 - 0.3)


def test_a_lottery_is_independent_of_what_a_claim_it_is_about_depends_on() -> None:
    # The claim a & b has a node with the parent c; the lottery over a and b must not share it.
    network = credalog.parse("P(a & b | c) >= 0.3\nP(a) <= 0.8\nP(c) = 0.5").ground()
    asked = credalog.LCN(network).asked("P(a | c) + P(b | c)")
    assert isinstance(asked, Linear)
    found = reduced(network, asked, Markov.LOCAL)
    assert found is not None
    graph = dependency_graph(found.network)
    (lottery,) = found.added
    assert {v.name for v in graph.parents(lottery)} == {"a", "b"}


@pytest.mark.slow
def test_a_sum_over_many_worlds_is_bounded_and_not_refused() -> None:
    people = propositions(" ".join(f"p{i}" for i in range(11)))
    model = LCN.of(*(P(p).between(0.1, 0.3) for p in people))
    found = model.query(sum((P(p) for p in people[1:]), start=P(people[0])), timeout=1.0)
    assert 1.1 - 1e-3 <= found.lower <= 1.1 + 1e-9
    assert 3.3 - 1e-9 <= found.upper <= 3.3 + 1e-3


# ---- sentences across conditions --------------------------------------------------------------------------


def test_a_qualitative_influence_bounds_what_is_asked() -> None:
    model = credalog.parse("P(c) = 0.5\nP(a) = 0.4\ninfluence: P(a | c) >= P(a | !c)")
    # The mean of the two is 0.4, and the first is not below the second.
    assert_exact(model.query("P(a | c)"), 0.4, 0.8)
    assert_exact(model.query("P(a | !c)"), 0.0, 0.4)


@pytest.mark.slow
def test_a_family_of_influences_is_monotone() -> None:
    text = """
    domain Dose = 1..3
    variable Taken in Dose
    proposition well
    up: forall d in Dose, d < 3: P(well | Taken = d) <= P(well | Taken = d + 1)
    P(well | Taken = 1) >= 0.5
    P(well | Taken = 3) <= 0.7
    forall d in Dose: P(Taken = d) >= 0.2
    """
    model = credalog.parse(text)
    assert [contrast.label for contrast in model.ground().contrasts] == ["up[1]", "up[2]"]
    assert_exact(model.query("P(well | Taken = 2)"), 0.5, 0.7, 1e-3)


def test_a_comparison_draws_the_arrows_of_both_conditions() -> None:
    model = credalog.parse("P(c) = 0.5\nP(a | c) >= P(a | !c)\nP(b | a) >= P(b | !a)")
    parents = {v.name: {p.name for p in model.graph.parents(v)} for v in model.variables}
    assert parents == {"c": set(), "a": {"c"}, "b": {"a"}}


def test_a_comparison_says_nothing_where_a_condition_is_impossible() -> None:
    model = credalog.parse("P(c) = 1\nP(a) = 0.2\nP(a | c) - P(a | !c) >= 0.5")
    assert_exact(model.query("P(a)"), 0.2, 0.2)


@pytest.mark.slow
def test_comparisons_may_contradict_each_other() -> None:
    text = "P(c) = 0.5\nup: P(a | c) >= P(a | !c) + 0.2\ndown: P(a | c) <= P(a | !c)"
    with pytest.raises(InconsistentNetwork):
        credalog.parse(text).query("P(a)")
    # Where c is certain, or impossible, neither says anything: P(c) = 0.5 takes part.
    found = conflict(plain(credalog.parse(text).ground(), Markov.LOCAL).network, Options(timeout=10))
    assert found is not None
    assert [said(culprit.bound) for culprit in found.culprits] == [
        "P(c) = 0.5",
        "0.2 <= P(a | c) - P(a | !c) <= 1",
        "-1 <= P(a | c) - P(a | !c) <= 0",
    ]


def test_comparisons_are_written_as_they_are_read() -> None:
    text = "k: 0 <= P(a | c) - 2 P(a | !c) <= 1\nquery P(a | c) / P(a | !c)\nquery 2 P(a) - P(c | a) + 0.5\n"
    model = credalog.parse(text)
    assert str(model) == text
    assert credalog.parse(str(model)) == model
    assert LCN.of((P(a, given=c) - 2 * P(a, given=~c)).between(0, 1).named("k")).ground() == model.ground()


def test_no_witness_violates_a_comparison() -> None:
    model = credalog.parse("P(c) = 0.5\nP(a) = 0.4\nP(a | c) >= P(a | !c) + 0.1")
    found = model.query("P(a | c)")
    for witness in (found.lower_witness, found.upper_witness):
        assert witness is not None
        assert {v.name for factor in witness.factors for v in factor.block} == {"a", "c"}
        assert witness.probability(a, c) - witness.probability(a, ~c) >= 0.1 - 1e-6


def test_the_larger_network_has_no_comparison_left() -> None:
    network = credalog.parse("P(c) = 0.5\nP(a | c) >= P(a | !c)").ground()
    found = plain(network, Markov.LOCAL)
    assert not found.network.contrasts
    larger, smaller = dependency_graph(found.network), dependency_graph(network)
    for variable in network.variables:
        assert larger.parents(variable) == smaller.parents(variable)


# ---- Python, text and the command line --------------------------------------------------------------------


def test_python_asks_as_text_does() -> None:
    model = credalog.parse(f"{CREDAL}variable Speed in 1..3\nP(Speed = 1 | c) >= 0.5")
    speed = Variable("Speed", ("1", "2", "3"))
    pairs: dict[str, Asked] = {
        "P(a | c) - P(a | !c)": P(a, given=c) - P(a, given=~c),
        "2 P(a | c) - P(a) + 0.1": 2 * P(a, given=c) - P(a) + "0.1",
        "P(a | c) / P(a | !c)": P(a, given=c) / P(a, given=~c),
        "E(Speed | c)": E(speed, given=c),
    }
    for text, expression in pairs.items():
        assert model.asked(expression) == model.asked(text)


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ("E(a)", "true or false"),
        ("E(Color)", "no integer"),
        ("E(Nothing)", "no Nothing"),
        ("P(a) / P(c) + P(a)", "added to a quotient"),
        ("0.3", "nothing random"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked: str, complaint: str) -> None:
    model = credalog.parse("variable Color in {red, blue}\nP(Color = red) >= 0.2\nP(a | c) >= 0.1")
    with pytest.raises(credalog.CredalogError, match=complaint):
        model.query(asked)


def test_a_predicate_may_still_be_called_e() -> None:
    text = "domain Thing = {x}\npredicate E(Thing)\nrelation R(Thing) = {x}\nP(E(x)) >= 0.25\nquery P(E(x))"
    assert_exact(credalog.parse(text).query("P(E(x))"), 0.25, 1.0)


def test_statements_about_sums_are_decided() -> None:
    model = credalog.parse(CREDAL)
    verdicts = {
        "P(a | c) - P(a | !c) >= -0.21": "CERTAIN",
        "P(a | c) >= P(a | !c)": "UNDETERMINED",
        "P(a | c) / P(a | !c) >= 6.5": "EXCLUDED",
        "P(a | c) / P(a | !c) <= 7": "CERTAIN",
        "2 P(a | c) - P(c) <= 1.5": "CERTAIN",
        "P(a | c) + P(!a | c) >= 1": "CERTAIN",
    }
    assert {text: model.decide(text).verdict.name for text in verdicts} == verdicts
    assert model.decide(P(a, given=c) >= P(a, given=~c)).verdict.name == "UNDETERMINED"


@pytest.mark.slow
def test_statements_that_each_may_hold_need_not_hold_together() -> None:
    model = credalog.parse(CREDAL)
    apart = model.decide_together("P(a | c) - P(a | !c) >= 0.3", "P(a | !c) >= 0.4")
    assert [one.verdict.name for one in apart] == ["UNDETERMINED", "UNDETERMINED"]
    assert apart.together.name == "EXCLUDED"
    both = model.decide_together("P(a | c) - P(a | !c) >= 0.1", "P(a | !c) >= 0.4")
    assert both.together.name == "UNDETERMINED"
    assert model.decide_together("P(a | c) >= 0.2", "P(c) <= 0.8").together.name == "CERTAIN"


def test_the_command_line_asks_runs_and_decides(
    ask: Callable[..., tuple[int, str, str]], written: Callable[..., str]
) -> None:
    file = written(f"{CREDAL}query P(a | c) - P(a | !c)\nquery P(a | c) / P(a | !c)\n")
    code, out, _ = ask("run", file)
    assert code == 0
    assert "-0.200000  0.500000" in out and "-1 … 1" in out and "0 … inf" in out
    code, out, _ = ask("query", file, "P(a | c) / P(a | !c)", "--json")
    (found,) = json.loads(out)
    assert found["lower"] == pytest.approx(0.6, abs=1e-3)
    assert (found["least"], found["greatest"]) == (0.0, None)
    code, out, _ = ask("decide", file, "P(a | c) >= P(a | !c)", "P(a | !c) >= 0.45", "--together")
    assert code == 0
    assert "They hold together in some models" in out


def test_an_explanation_names_the_sentences_that_hold_a_difference() -> None:
    found = credalog.parse("s1: P(c) = 0.5\ns2: P(a | c) >= 0.3\ns3: P(a | !c) <= 0.5").explain(
        "P(a | c) - P(a | !c)"
    )
    assert [one.sentence.label for one in found.holding_lower] == ["s3", "s2"]
    assert not found.holding_upper


def test_the_most_useful_measurement_stands_first() -> None:
    found = credalog.parse("0.1 <= P(a) <= 0.9\n0.4 <= P(b) <= 0.5\nquery P(a)").rank("P(a) + P(b)")
    assert [str(one.known.query) for one in found] == ["P(a)", "P(b)"]
    assert found[0].worst == pytest.approx(0.1 + 0.02, abs=1e-3)
    assert found[1].worst == pytest.approx(0.8 + 0.02, abs=1e-3)


# ---- repairs ----------------------------------------------------------------------------------------------

DOCTORS = """# three doctors
first:  P(flu) >= 0.6     # she saw the patient
second: P(flu) <= 0.3
query P(flu)
"""


def test_repairs_are_offered_in_the_order_of_their_price() -> None:
    found = credalog.parse(DOCTORS).repairs(timeout=20, weights={"first": 2.0})
    changed = [[change.before.label for change in one.changes] for one in found]
    assert changed == [["second"], ["first"]]
    assert [one.price for one in found] == pytest.approx([0.3, 0.6], abs=1e-3)


def test_a_mended_file_keeps_its_other_lines(
    ask: Callable[..., tuple[int, str, str]], written: Callable[..., str], tmp_path: Path
) -> None:
    file, mended = written(DOCTORS), tmp_path / "mended.lcn"
    code, out, _ = ask("repair", file, "-o", str(mended), "--take", "2")
    assert code == 0 and "Repair 2." in out
    lines, old = mended.read_text().splitlines(), DOCTORS.splitlines()
    assert [one for one in lines if one not in old] == [line for line in lines if "# was: " in line]
    assert len([line for line in lines if "# was: " in line]) == 1
    assert credalog.load(mended).diagnose().verdict.name == "CONSISTENT"


def test_a_mended_theory_of_instances_is_written_out() -> None:
    text = "domain D = {x, y}\npredicate A(D)\nall: forall d in D: P(A(d)) >= 0.6\nno: P(A(x)) <= 0.3"
    model = credalog.parse(text)
    found = model.repairs(timeout=20, weights={"no": float("inf")})
    mended = credalog.parse(model.mended_text(found[0]))
    assert mended.diagnose().verdict.name == "CONSISTENT"
    assert_exact(mended.query("P(A(y))"), 0.6, 1.0)


def test_a_sum_of_nothing_is_refused_in_text() -> None:
    with pytest.raises(LanguageError):
        credalog.parse("P(a) >= 0.1").query("0.5 + 0.1")


def test_a_gate_does_not_tie_what_a_claim_is_about() -> None:
    names = [f"x{i}" for i in range(12)]
    said_of_each = "\n".join(f"0.2 <= P({name}) <= 0.6" for name in names)
    model = credalog.parse(f"P(x0 & x1 & x2 | c) >= 0.1 ; tau=False\nP(c) = 0.5\n{said_of_each}")
    wide = gated(model.ground(), model.question(f"P({' & '.join(names)})"))
    assert wide is not None
    larger = dependency_graph(wide.network)
    assert all(larger.parents(v) == model.graph.parents(v) for v in model.variables)


def test_the_model_of_sentences_across_conditions_has_no_variables_but_the_users() -> None:
    lcn = credalog.parse("0.1 <= P(a) <= 0.4\n0.2 <= P(b) <= 0.9\nP(c | a) - P(c | b) >= 0.1")
    model = lcn.diagnose().model
    assert model is not None
    assert {v.name for factor in model.factors for v in factor.block} == {"a", "b", "c"}
