"""Contradictions: conflicts and repairs judged by brute force over all worlds."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

import credalog
from contradictory_networks import has_model, least_price, random_network, silenced
from credalog.errors import CredalogError, UnknownName
from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.search import Search
from credalog.network.formulas import TRUE
from credalog.network.graph import Markov
from credalog.network.sentences import Network
from credalog.numbers.budget import Budget
from credalog.program.solvers.highs import Relaxation
from credalog.questions.diagnose import Attribution, Conflict, Consistency, Repair, conflict, diagnose, repair
from credalog.questions.models import encode_tables, find_model
from credalog.questions.repair_program import widenings_of
from credalog.theory import span
from oracle import violations

pytestmark = pytest.mark.slow

OPTIONS = Options(timeout=10.0)
CONTRADICTORY = [0, 3, 4, 8, 10, 12, 15, 17, 21, 24]
ROUNDED = 2e-4
"""Each bound is widened in whole steps of 1e-4, and searched for up to a tolerance of 1e-4."""


def network_of(text: str) -> Network:
    return credalog.parse(text).ground()


def contradictory(seed: int) -> Network:
    return random_network(seed, variables=3 if seed % 2 else 2, sentences=4 + seed % 3)


def found_in(network: Network) -> Conflict:
    found = conflict(network, OPTIONS)
    assert found is not None
    return found


def labels(found: Conflict) -> list[str]:
    return [sentence.label for sentence in found.sentences]


# --- Conflicts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", CONTRADICTORY)
def test_brute_force_finds_a_model_of_every_smaller_set_and_of_no_conflict(seed: int):
    network = contradictory(seed)
    found = found_in(network)
    numbers = [culprit.number for culprit in found.culprits]
    assert found.is_minimal
    assert [network.sentences[n] for n in numbers] == list(found.sentences)
    assert has_model(silenced(network, numbers)) is False
    for left_out in numbers:
        assert has_model(silenced(network, [n for n in numbers if n != left_out])) is True


def test_the_bounds_that_take_part_are_named():
    found = found_in(network_of("s1: 0.1 <= P(a) <= 0.4\ns2: 0.6 <= P(a) <= 0.9\ns3: P(b) >= 0.5"))
    assert labels(found) == ["s1", "s2"]
    assert [(c.by_lower, c.by_upper) for c in found.culprits] == [(False, True), (True, False)]


def test_a_consistent_network_has_no_conflict():
    assert conflict(network_of("P(a) >= 0.3\nP(b | a) <= 0.2"), OPTIONS) is None


def test_dropping_a_bound_keeps_the_arrows():
    # With c a parent of a and b, the two are independent only given c, and P(a and b) <= 0.1 can hold.
    # Without the arrows a and b would be independent, and s1, s2, s5, s7 would conflict.
    text = """
    s1: P(a) = 0.5
    s2: P(b) = 0.5
    s3: 0 <= P(a | c) <= 1
    s4: 0 <= P(b | c) <= 1
    s5: P(d | a and b) = 1
    s6: P(d | !a or !b) = 0
    s7: P(d) = 0.1
    s8: P(c) = 0.5
    """
    assert conflict(network_of(text), OPTIONS) is None
    without = "\n".join(line for line in text.splitlines() if "s3" not in line and "s4" not in line)
    assert labels(found_in(network_of(without))) == ["s1", "s2", "s5", "s7"]


def test_conditionals_around_a_cycle_may_exclude_each_other():
    # The odds ratio of a and b is 81 by s1 and s2, and 1/81 by s3 and s4.
    network = network_of(
        "s1: P(a | b) = 0.9\ns2: P(a | !b) = 0.1\ns3: P(b | a) = 0.1\ns4: P(b | !a) = 0.9\ns5: P(c) = 0.5"
    )
    found = found_in(network)
    numbers = [culprit.number for culprit in found.culprits]
    assert has_model(silenced(network, numbers)) is False
    for left_out in numbers:
        assert has_model(silenced(network, [n for n in numbers if n != left_out])) is True


def test_equal_sentences_are_told_apart():
    found = found_in(network_of("P(a) >= 0.6\nP(b) >= 0.5\nP(a) <= 0.5\nP(a) >= 0.6"))
    assert len(found.culprits) == 2
    assert {c.number for c in found.culprits} in ({0, 2}, {2, 3})


def test_a_sentence_may_contradict_itself_alone():
    found = found_in(network_of("s1: P(a and !a) >= 0.5\ns2: P(b) >= 0.5"))
    assert labels(found) == ["s1"]


def test_linear_sentences_conflict_too():
    found = found_in(network_of("s1: P(a) + P(b) >= 1.5\ns2: P(a) <= 0.4\ns3: P(b) <= 0.9"))
    assert labels(found) == ["s1", "s2"]
    low, high = span(found.sentences[0].claims)
    assert (low, high) == (0, 2)


def test_in_nilssons_logic_fewer_things_conflict():
    network = network_of("s1: P(a) = 0.5\ns2: P(b) = 0.5\ns3: P(c | a and b) = 1\ns4: P(c) <= 0.1")
    assert conflict(network, Options(timeout=10.0, markov=Markov.NONE)) is None
    assert labels(found_in(network)) == ["s1", "s2", "s3", "s4"]


def test_the_proof_at_the_root_names_its_sentences():
    engine = Engine(network_of("s1: P(a or b) <= 0.2\ns2: P(a) >= 0.5\ns3: P(b or c) >= 0.1"))
    encoding = encode_tables(engine.problem)
    objective = encoding.objective(TRUE, TRUE)
    claim, _ = Relaxation(encoding.program).minimize(objective, encoding.program.ratios.box)
    assert set(Attribution(engine).weights(encoding, claim.multipliers)) == {0, 1}


# --- Repairs ----------------------------------------------------------------------------------------------


def repair_of(network: Network, weights: dict[str, float] | None = None) -> Repair:
    found = repair(network, OPTIONS, weights=weights)
    assert found is not None
    return found


def repaired(network: Network, found: Repair) -> Network:
    after = {id(change.before): change.after for change in found.changes}
    sentences = tuple(after.get(id(s), s) for s in network.sentences)
    return Network(network.variables, sentences, network.independences)


@pytest.mark.parametrize("seed", CONTRADICTORY)
def test_no_repair_is_cheaper_by_brute_force(seed: int):
    network = contradictory(seed)
    found = repair_of(network)
    truth = least_price(network, [1.0] * len(network.sentences))
    assert found.is_checked
    assert found.at_least <= truth.attained + 1e-5
    assert truth.proved - 1e-5 <= found.price <= truth.attained + ROUNDED * len(found.changes)
    assert has_model(repaired(network, found)) is True


@pytest.mark.parametrize("seed", [3, 8, 15])
def test_weights_are_prices(seed: int):
    network = contradictory(seed)
    prices = [1.0 + 3.0 * (n % 2) for n in range(len(network.sentences))]
    found = repair_of(network, {s.label: p for s, p in zip(network.sentences, prices, strict=True)})
    truth = least_price(network, prices)
    assert found.at_least <= truth.attained + 1e-5
    assert truth.proved - 1e-5 <= found.price <= truth.attained + 4.0 * ROUNDED * len(found.changes)


def test_two_bounds_meet_at_the_cheaper_one():
    network = network_of("s1: P(a) <= 0.4\ns2: P(a) >= 0.6")
    found = repair_of(network, {"s1": 2.0})
    (change,) = found.changes
    assert (change.before.label, change.after.lower, change.after.upper) == ("s2", Fraction(4, 10), 1)
    assert found.price == pytest.approx(0.2)
    assert found.gap <= ROUNDED


def test_a_conditional_sentence_pays_in_its_own_units():
    # P(b) >= 0.8 * 0.9 = 0.72 > 0.5. By s3 alone: 0.22. By s1: 0.8 - 0.5 / 0.9. By s2: 0.9 - 0.5 / 0.8.
    text = "s1: P(a) >= 0.8\ns2: P(b | a) >= 0.9\ns3: P(b) <= 0.5"
    assert repair_of(network_of(text)).price == pytest.approx(0.22, abs=ROUNDED)
    assert repair_of(network_of(text), {"s3": 10.0}).price == pytest.approx(0.8 - 0.5 / 0.9, abs=ROUNDED)
    trusted = repair_of(network_of(text), {"s3": inf, "s1": inf})
    assert [change.before.label for change in trusted.changes] == ["s2"]
    assert trusted.price == pytest.approx(0.9 - 0.5 / 0.8, abs=ROUNDED)


MI = "prior: P(mi) >= 0.1\ndrA: P(st | mi) >= 0.8\ndrB: P(st | mi) <= 0.3\nfree: P(st | !mi) <= 0.2"


def test_no_conflict_is_settled_by_an_impossible_condition():
    # To allow P(mi) = 0 would cost 0.1; that the two meet costs 0.5.
    found = repair_of(network_of(MI))
    assert {change.before.label for change in found.changes} <= {"drA", "drB"}
    assert found.price == pytest.approx(0.5, abs=2 * ROUNDED)
    assert found.at_least == pytest.approx(0.5, abs=2 * ROUNDED)
    assert found.proviso == "Only repairs count that leave a probability of 0.01 to mi."


def test_a_condition_may_become_rarer():
    # P(b) >= 0.8 P(a) and P(b) <= 0.04: with the others dear, P(a) falls to 0.05.
    network = network_of("s1: P(a) >= 0.1\ns2: P(b | a) >= 0.8\ns3: P(b) <= 0.04")
    found = repair_of(network, {"s2": 10.0, "s3": 10.0})
    (change,) = found.changes
    assert change.before.label == "s1"
    assert float(change.after.lower) == pytest.approx(0.05, abs=ROUNDED)


def test_a_condition_that_a_fact_excludes_need_not_be_possible():
    network = network_of("s1: P(a) = 0\ns2: P(b | a) >= 0.8\ns3: P(b) <= 0.1\ns4: P(b) >= 0.3")
    found = repair_of(network)
    assert found.price == pytest.approx(0.2, abs=2 * ROUNDED)
    assert found.proviso == ""


def test_what_may_not_be_widened_may_have_no_repair():
    network = network_of("s1: P(a) <= 0.4\ns2: P(a) >= 0.6")
    assert repair(network, OPTIONS, weights={"s1": inf, "s2": inf}) is None


def test_several_conflicts_are_all_settled():
    network = network_of(
        "s1: P(a) <= 0.4\ns2: P(a) >= 0.6\ns3: P(b) >= 0.9\ns4: P(b) <= 0.8\ns5: P(c) >= 0.5"
    )
    found = repair_of(network)
    assert found.price == pytest.approx(0.3, abs=4 * ROUNDED)
    assert found.is_checked
    assert has_model(repaired(network, found)) is True


def test_a_weight_can_go_to_a_file(tmp_path: Path):
    (tmp_path / "expert.lcn").write_text("P(a) >= 0.6\n")
    (tmp_path / "data.lcn").write_text('include "expert.lcn"\nP(a) <= 0.4\n')
    model = credalog.load(tmp_path / "data.lcn")
    found = model.diagnose(weights={"data.lcn": 5.0}).repair
    assert found is not None
    sources = [change.before.source for change in found.changes]
    assert [Path(source.file).name for source in sources if source] == ["expert.lcn"]


@pytest.mark.parametrize("name", ["drA.lcn:2", "drA.lcn", "{folder}/drA.lcn:2", "mine"])
def test_a_weight_can_go_to_any_name_that_a_report_prints(tmp_path: Path, name: str):
    (tmp_path / "drA.lcn").write_text("# first\nmine: P(a) >= 0.6\n")
    (tmp_path / "drB.lcn").write_text('include "drA.lcn"\nP(a) <= 0.4\n')
    model = credalog.load(tmp_path / "drB.lcn")
    found = model.diagnose(weights={name.format(folder=tmp_path): 5.0}).repair
    assert found is not None
    assert [change.before.name.split("/")[-1] for change in found.changes] == ["drB.lcn:2"]


def test_a_diagnosis_keeps_its_time(monkeypatch: pytest.MonkeyPatch):
    finished = Engine.is_consistent

    def slow(self: Engine, options: Options, budget: Budget) -> bool | None:
        sleep(budget.remaining)
        return finished(self, options, Budget.of(5.0))

    monkeypatch.setattr(Engine, "is_consistent", slow)
    start = monotonic()
    found = diagnose(network_of(MI), Options(timeout=1.5))
    assert monotonic() - start <= 1.1 * 1.5 + 1.0
    assert found.verdict is Consistency.INCONSISTENT and found.conflict is not None


def test_a_weight_without_a_sentence_is_refused():
    network = network_of("s1: P(a) <= 0.4\ns2: P(a) >= 0.6")
    with pytest.raises(UnknownName, match="s9"):
        repair(network, OPTIONS, weights={"s9": 2.0})
    with pytest.raises(CredalogError, match="not positive"):
        repair(network, OPTIONS, weights={"s1": 0.0})


def test_a_condition_without_mass_costs_nothing():
    model = find_model(Engine(network_of("P(a) = 0\nP(b) = 0.5")), Budget.of(10.0))
    assert model is not None
    (sentence,) = network_of("P(b | a) >= 0.9").sentences
    assert widenings_of(model, sentence) == (0.0, 0.0)


# --- Verdicts ---------------------------------------------------------------------------------------------


def test_a_consistent_network_shows_a_model():
    network = network_of("0.3 <= P(a or b) <= 0.4\nP(c | a) >= 0.9\nP(c | !a) <= 0.2\nP(d and c) <= 0.1")
    found = diagnose(network, OPTIONS)
    assert found.verdict is Consistency.CONSISTENT
    assert (found.conflict, found.repair) == (None, None)
    assert found.model is not None
    assert violations(found.model.marginal(network.variables), network).worst <= 1e-8


def test_a_model_covers_parts_that_share_nothing():
    network = network_of("P(a or b) >= 0.3\nP(c or d) >= 0.9\nP(e) = 0.1")
    model = find_model(Engine(network), Budget.of(10.0))
    assert model is not None
    assert violations(model.marginal(network.variables), network).worst <= 1e-8


def test_too_little_time_is_no_verdict():
    network = random_network(1, variables=4, sentences=9)
    found = diagnose(network, Options(timeout=1e-3))
    assert found.verdict in (Consistency.UNDECIDED, Consistency.INCONSISTENT, Consistency.CONSISTENT)
    if found.verdict is Consistency.UNDECIDED:
        assert (found.model, found.conflict, found.repair) == (None, None, None)


# --- Other people's networks ------------------------------------------------------------------------------


def test_credit_contradicts_itself_through_independence(shared_data: Path):
    """Seven bounds: the three causes are independent, so P(x3) cannot be as small as s4 says.

    P(not x3) is at most P(no cause) plus a tenth of each cause's probability: 0.35 * 0.69 * 0.56 + 0.1 *
    (0.65 + 0.31 + 0.44) = 0.27524 at the worst corner of s1 to s3, and s4 wants 0.3.
    """
    model = credalog.load(shared_data / "lcn/benchmarks/real/credit.lcn")
    found = model.diagnose(timeout=8.0)
    assert found.verdict is Consistency.INCONSISTENT
    assert found.conflict is not None and found.repair is not None
    assert labels(found.conflict) == ["s1", "s2", "s3", "s4", "s5", "s6", "s7"]
    assert found.conflict.is_minimal
    assert found.repair.price == pytest.approx(0.3 - 0.27524, abs=ROUNDED)
    assert found.repair.is_checked
    assert model.diagnose(markov="none").verdict is Consistency.CONSISTENT


def test_a_random_chain_contradicts_itself_in_two_lines(shared_data: Path):
    network = credalog.load(shared_data / "lcn/benchmarks/chain/chain_n50_1.lcn").ground()
    found = conflict(network, Options(timeout=20.0))
    assert found is not None
    assert labels(found) == ["s1", "s49"]
    assert found.is_minimal


def test_the_data_behind_a_model_is_a_distribution():
    model = find_model(Engine(network_of("P(a xor b) = 0.5\nP(c | a and b) >= 0.5")), Budget.of(10.0))
    assert model is not None
    for factor in model.factors:
        rows = factor.table.sum(axis=tuple(range(len(factor.parents), factor.table.ndim)))
        assert np.allclose(rows, 1.0)


# --- Interruption ------------------------------------------------------------------------------------------

ENGINE, DIAGNOSE = "credalog.methods.automatic.Engine", "credalog.questions.diagnose"


@pytest.mark.parametrize(
    ("text", "stage", "verdict"),
    [
        ("P(a) >= 0.3\nP(a or b) <= 0.7", f"{ENGINE}.is_consistent", Consistency.UNDECIDED),
        ("P(a) >= 0.3\nP(a or b) <= 0.7", f"{DIAGNOSE}.find_model", Consistency.CONSISTENT),
        ("P(a) <= 0.3\nP(a and b) >= 0.7", f"{DIAGNOSE}._minimal_conflict", Consistency.INCONSISTENT),
        ("P(a) <= 0.3\nP(a and b) >= 0.7", f"{DIAGNOSE}.cheapest", Consistency.INCONSISTENT),
    ],
)
def test_an_interrupted_diagnosis_keeps_what_was_found(
    monkeypatch: pytest.MonkeyPatch, text: str, stage: str, verdict: Consistency
):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stage, stop)
    found = diagnose(network_of(text), OPTIONS)
    assert (found.is_interrupted, found.verdict) == (True, verdict)
    assert (found.conflict is not None) == stage.endswith("cheapest")
    assert found.model is found.repair is None


def test_an_interrupted_search_for_a_model_is_not_taken_for_a_failed_one(monkeypatch: pytest.MonkeyPatch):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "_explore", stop)
    with pytest.raises(KeyboardInterrupt):
        find_model(Engine(network_of("P(a) >= 0.3\nP(a or b) <= 0.7")), Budget.of(10.0))
