"""Exact inference on known answers: Bayesian networks, published networks, and what an engine promises."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import pytest

import credalog
from credalog import ImpossibleEvidence, InconsistentNetwork, Markov, Status, Warrant
from credalog.choices import MethodName
from credalog.errors import CredalogError, UnknownName
from credalog.methods.answer import Answer, Options, marginal_atoms
from credalog.methods.automatic import Engine, query
from credalog.network.formulas import TRUE, Formula, Is, Variable, conjunction, propositions
from credalog.network.sentences import Network, Query, Sentence
from credalog.text.readers import read

pytestmark = pytest.mark.slow

A, B, C = propositions("a b c")
says = Sentence.of
FINE = Options(tolerance=1e-6)


# --- A Bayesian network has exactly its own answer ---------------------------------------------------------

Tables = dict[str, tuple[tuple[str, ...], tuple[float, ...]]]
"""For each proposition its parents and its chance in every configuration: true first, last parent fastest."""

SPRINKLER: Tables = {
    "cloudy": ((), (0.5,)),
    "sprinkler": (("cloudy",), (0.1, 0.5)),
    "rain": (("cloudy",), (0.8, 0.2)),
    "wet": (("sprinkler", "rain"), (0.99, 0.9, 0.9, 0.0)),
}
BURGLARY: Tables = {
    "burglary": ((), (0.001,)),
    "earthquake": ((), (0.002,)),
    "alarm": (("burglary", "earthquake"), (0.95, 0.94, 0.29, 0.001)),
    "john": (("alarm",), (0.9, 0.05)),
    "mary": (("alarm",), (0.7, 0.01)),
}
ASIA: Tables = {
    "visit": ((), (0.01,)),
    "smoke": ((), (0.5,)),
    "tuberculosis": (("visit",), (0.05, 0.01)),
    "lung": (("smoke",), (0.1, 0.01)),
    "bronchitis": (("smoke",), (0.6, 0.3)),
    "either": (("tuberculosis", "lung"), (1.0, 1.0, 1.0, 0.0)),
    "xray": (("either",), (0.98, 0.05)),
    "dyspnoea": (("bronchitis", "either"), (0.9, 0.8, 0.7, 0.1)),
}

QUESTIONS = [
    pytest.param(SPRINKLER, "wet", (), id="sprinkler: wet"),
    pytest.param(SPRINKLER, "rain", ("wet",), id="sprinkler: rain, wet"),
    pytest.param(SPRINKLER, "sprinkler", ("wet", "rain"), id="sprinkler: explained away"),
    pytest.param(BURGLARY, "alarm", (), id="burglary: alarm"),
    pytest.param(BURGLARY, "burglary", ("john", "mary"), id="burglary: both call"),
    pytest.param(BURGLARY, "burglary", ("john", "!mary"), id="burglary: one calls"),
    pytest.param(BURGLARY, "earthquake", ("alarm", "burglary"), id="burglary: explained away"),
    pytest.param(ASIA, "dyspnoea", (), id="asia: dyspnoea"),
    pytest.param(ASIA, "tuberculosis", ("xray", "dyspnoea"), id="asia: two symptoms"),
    pytest.param(ASIA, "lung", ("visit", "xray", "!bronchitis"), id="asia: three findings"),
    pytest.param(ASIA, "visit", ("either", "!smoke"), id="asia: upstream"),
]


def literal(name: str) -> Formula:
    return ~Is(Variable(name[1:])) if name.startswith("!") else Is(Variable(name))


def as_network(tables: Tables) -> Network:
    """Write a Bayesian network as sentences, one for each parent configuration."""
    sentences = []
    for name, (parents, chances) in tables.items():
        for signs, chance in zip(product(("", "!"), repeat=len(parents)), chances, strict=True):
            given = conjunction(literal(sign + p) for sign, p in zip(signs, parents, strict=True))
            sentences.append(says(Is(Variable(name)), chance, chance, given=given))
    return Network(tuple(Variable(name) for name in tables), tuple(sentences))


def by_pyagrum(tables: Tables, target: str, evidence: tuple[str, ...]) -> float:
    pyagrum = pytest.importorskip("pyagrum", reason="pyAgrum, the independent library, is not installed")
    net = pyagrum.BayesNet()
    for name in tables:
        net.add(pyagrum.LabelizedVariable(name, "", ["false", "true"]))
    for name, (parents, chances) in tables.items():
        for parent in parents:
            net.addArc(parent, name)
        for states, chance in zip(product((1, 0), repeat=len(parents)), chances, strict=True):
            net.cpt(name)[dict(zip(parents, states, strict=True))] = [1 - chance, chance]
    engine = pyagrum.LazyPropagation(net)
    engine.setEvidence({name.lstrip("!"): int(not name.startswith("!")) for name in evidence})
    engine.makeInference()
    return float(engine.posterior(target)[1])


@pytest.mark.parametrize("method", ["auto", "factorized", "joint"])
@pytest.mark.parametrize(("tables", "target", "evidence"), QUESTIONS)
def test_a_bayesian_network_has_its_own_answer(
    tables: Tables, target: str, evidence: tuple[str, ...], method: str
) -> None:
    expected = by_pyagrum(tables, target, evidence)
    asked = Query(literal(target), conjunction(map(literal, evidence)))
    answer = query(as_network(tables), asked, Options(tolerance=1e-6, method=method))
    assert answer.status is Status.EXACT
    assert answer.lower - 1e-9 <= expected <= answer.upper + 1e-9
    assert (answer.lower, answer.upper) == pytest.approx((expected, expected), abs=1e-5)


# --- Published answers -----------------------------------------------------------------------------------

PUBLISHED = [
    ("examples/ktree_fr_k2_n4_example.lcn", "x1", 0.084382, 0.684382, 1e-6),
    ("examples/ktree_fr_k2_n4_example.lcn", "x2", 0.134877, 0.996844, 1e-6),
    ("benchmarks/ktree_small_fr/ktree_fr_k3_n5_1.lcn", "x3", 0.141404, 0.247704, 1e-6),
    ("benchmarks/ktree_small_fr/ktree_fr_k3_n5_1.lcn", "x4", 0.001414, 0.921219, 1e-6),
    ("examples/d4_biting.lcn", "A", 0.40, 0.60, 0.0),
    ("examples/d4_biting.lcn", "B", 0.04, 0.72, 0.0),
    ("examples/d4_biting.lcn", "C", 0.08, 0.80, 0.0),
    ("examples/chain.lcn", "x2", 0.3280, 0.6400, 1e-4),
    ("examples/polytree.lcn", "x5", 0.2644, 0.6528, 1e-4),
    ("examples/polytree.lcn", "x6", 0.3389, 0.6942, 1e-4),
    ("examples/alarm.lcn", "A", 0.087, 0.100, 1e-3),
    ("examples/alarm.lcn", "B", 0.100, 0.123, 1e-3),
    ("examples/alarm.lcn", "E", 0.050, 0.074, 1e-3),
]
"""File, atom, certified interval, and the last digit that was printed."""


@pytest.mark.parametrize(("file", "atom", "lower", "upper", "digit"), PUBLISHED)
def test_published_certified_intervals_are_reproduced(
    shared_data: Path, file: str, atom: str, lower: float, upper: float, digit: float
) -> None:
    answer = credalog.load(shared_data / "lcn" / file).query(f"P({atom})", tolerance=1e-6)
    assert answer.status is Status.EXACT
    assert answer.interval.lower.warrant is answer.interval.upper.warrant is Warrant.CHECKED
    assert (answer.lower, answer.upper) == pytest.approx((lower, upper), abs=digit / 2 + 1.1e-6)


@pytest.mark.parametrize("file", ["benchmarks/real/credit.lcn", "benchmarks/chain/chain_n50_1.lcn"])
def test_contradictions_in_published_files_are_found(shared_data: Path, file: str) -> None:
    lcn = credalog.load(shared_data / "lcn" / file)
    asked = "P(x31)" if "chain" in file else "P(x3)"
    with pytest.raises(InconsistentNetwork):
        lcn.query(asked)


def test_the_contradiction_of_the_chain_takes_two_sentences(shared_data: Path) -> None:
    """P(x31) >= 0.419579 leaves at most 0.580421 for x37 and !x31, which must have 0.634033."""
    network = credalog.load(shared_data / "lcn/benchmarks/chain/chain_n50_1.lcn").ground()
    named = {s.label: s for s in network.sentences}
    assert float(named["s1"].lower + named["s49"].lower) > 1.0
    pair = replace(network, sentences=(named["s1"], named["s49"]))
    assert Engine(pair, frame=network).is_consistent(Options()) is False
    for alone in pair.sentences:
        assert Engine(replace(network, sentences=(alone,)), frame=network).is_consistent(Options()) is True


def crepo_rows(folder: Path) -> list[dict[str, str]]:
    """Take some small networks on which the published exact solver finished."""
    with (folder / "exact_results.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == "sing" and row["interval_result"]]
    return rows[::30]


def test_published_credal_networks_are_reproduced_on_cliques_too(shared_data: Path) -> None:
    """Set propagation has its own tests; here the general engine answers the same questions."""
    for row in crepo_rows(shared_data / "crepo"):
        network = read(shared_data / "crepo" / "vmodel" / Path(row["filename"]).name)
        target = network.variables[int(row["target"])]
        seen = [network.variables[int(x)] for x in row["observed"].split()]
        given = conjunction(Is(v, v.values[0]) for v in seen)
        published = [float(value) for value in row["interval_result"].split()]
        asked = Query(Is(target, target.values[0]), given)
        # What is not closed is only bounded, which a short while shows as well as a long one.
        for method, seconds in (("auto", 4.0), ("factorized", 1.0)):
            answer = query(network, asked, Options(method=method, timeout=seconds))
            assert answer.lower <= published[0] + 1e-6 and answer.upper >= published[1] - 1e-6
            if method == "auto" or answer.status is Status.EXACT:
                assert (answer.lower, answer.upper) == pytest.approx(published[:2], abs=1.1e-4)


# --- What an engine promises -----------------------------------------------------------------------------


def test_marginals_cover_every_value_of_every_variable() -> None:
    color = Variable("color", ("red", "green", "blue"))
    network = Network(
        (A.variable, color),
        (says(A, 0.1, 0.2), says(Is(color, "red"), 0.2, 0.3), says(Is(color, "blue"), 0, 0.5)),
    )
    assert marginal_atoms(network) == (A, Is(color, "red"), Is(color, "green"), Is(color, "blue"))


def test_one_engine_answers_many_questions_alike() -> None:
    network = as_network(ASIA)
    engine = Engine(network)
    questions = [Query(atom) for atom in marginal_atoms(network)]
    for asked in questions:
        once, again = engine.query(asked), query(network, asked)
        assert (once.lower, once.upper) == (again.lower, again.upper)


def test_a_frame_keeps_independences_when_their_sentences_go() -> None:
    """The disjunction ties a to b, on its own and when it is dropped from the network."""
    tie = says(A | B, 0.9, 1)
    halves = (says(A, 0.5, 0.5), says(B, 0.5, 0.5))
    frame = Network((A.variable, B.variable), (*halves, tie))
    loose = Network(frame.variables, halves)
    tied = Engine(loose, frame=frame).query(Query(A & B))
    free = Engine(loose).query(Query(A & B))
    assert (tied.lower, tied.upper) == pytest.approx((0.0, 0.5), abs=1e-4)
    assert (free.lower, free.upper) == pytest.approx((0.25, 0.25), abs=1e-4)


def test_consistency_is_decided_both_ways() -> None:
    halves = (says(A, 0.5, 0.5), says(B, 0.5, 0.5))
    for bound, verdict in ((0.25, True), (0.26, False)):
        network = Network((A.variable, B.variable), (*halves, says(A & B, bound, bound, tau=False)))
        assert Engine(network).is_consistent(Options()) is verdict
    assert Engine(Network((A.variable,), halves[:1])).is_consistent(Options()) is True


def test_every_answer_to_an_inconsistent_network_is_refused_wherever_it_is_asked() -> None:
    network = Network(
        (A.variable, B.variable, C.variable),
        (says(A, 0.5, 0.5), says(B, 0.5, 0.5), says(A & B, 0.3, 0.4, tau=False), says(C, 0.1, 0.2)),
    )
    for asked in (Query(A), Query(C), Query(C, A), Query(A & C)):
        with pytest.raises(InconsistentNetwork):
            query(network, asked)


def test_impossible_evidence_is_not_an_inconsistent_network() -> None:
    network = Network((A.variable, B.variable), (says(A, 0, 0), says(B, 0.1, 0.2)))
    with pytest.raises(ImpossibleEvidence):
        query(network, Query(B, A))
    assert query(network, Query(B)).status is Status.EXACT


def test_a_verdict_of_consistency_stands_on_a_checked_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the second pair of eyes accepts no model, a network is not called consistent."""
    network = Network((A.variable, B.variable), (says(A | B, 0.5, 0.6), says(A, 0.2, 0.3)))
    options = Options(timeout=1.0)
    assert Engine(network).is_consistent(options) is True
    for eyes in ("engine", "models.finding"):
        monkeypatch.setattr(f"credalog.methods.cliques.{eyes}.violation", lambda *_, **__: 1.0)
    assert Engine(network).is_consistent(options) is None


def test_a_model_of_one_part_is_inside_what_another_reading_bounds() -> None:
    """In a cycle of conditions with a cause outside, the chain-graph reading finds the model at the end."""
    text = """
    0.1 <= P(x) <= 0.2
    0.2 <= P(y) <= 0.3
    0.6 <= P(a | x) <= 0.9
    0.5 <= P(b | y) <= 0.7
    0.2 <= P(b | a) <= 0.3
    0.4 <= P(c | b) <= 0.6
    0.5 <= P(d | c) <= 0.7
    0.3 <= P(b | d) <= 0.5
    """
    answer = credalog.parse(text).query("P(x)", timeout=10.0)
    assert answer.status is Status.EXACT
    assert answer.upper_witnessed == pytest.approx(0.2, abs=1e-6)


def test_an_unknown_variable_is_an_error_and_never_zero() -> None:
    network = Network((A.variable,), (says(A, 0.1, 0.2),))
    with pytest.raises(UnknownName, match="zebra"):
        query(network, Query(Is(Variable("zebra"))))


def test_an_unknown_method_is_named_with_those_that_exist() -> None:
    with pytest.raises(CredalogError, match="magic"):
        query(Network((A.variable,), (says(A, 0.1, 0.2),)), Query(A), Options(method="magic"))


@pytest.mark.parametrize(("method", "markov"), [("nilsson", Markov.LOCAL), ("sets", Markov.LOCAL)])
def test_a_method_refuses_what_it_cannot_do(method: str, markov: Markov) -> None:
    network = Network((A.variable, B.variable), (says(A | B, 0.1, 0.2),))
    with pytest.raises(CredalogError):
        query(network, Query(A), Options(method=method, markov=markov))


@pytest.mark.parametrize(("asked", "value"), [(TRUE, 1.0), (~TRUE, 0.0), (A | ~A, 1.0), (A & ~A, 0.0)])
def test_what_logic_settles_needs_no_search(asked: Formula, value: float) -> None:
    network = Network((A.variable, B.variable), (says(A, 0.3, 0.4), says(B, 0.1, 0.9, given=A)))
    answer = query(network, Query(asked))
    assert (answer.lower, answer.upper) == pytest.approx((value, value), abs=1e-9)


def test_a_long_chain_is_answered_at_both_ends() -> None:
    """Sixty links; the bounds follow from the recursion p -> 0.3 (1 - p) + 0.6 p and its other end."""
    xs = propositions(" ".join(f"x{i}" for i in range(60)))
    sentences = [says(xs[0], 0.2, 0.4)]
    for x, y in pairwise(xs):
        sentences += [says(y, 0.6, 0.7, given=x), says(y, 0.2, 0.3, given=~x)]
    low, high = 0.2, 0.4
    for _ in xs[1:]:
        low, high = 0.6 * low + 0.2 * (1 - low), 0.7 * high + 0.3 * (1 - high)
    answer: Answer = query(Network(tuple(x.variable for x in xs), tuple(sentences)), Query(xs[-1]), FINE)
    assert answer.status is Status.EXACT
    assert (answer.lower, answer.upper) == pytest.approx((low, high), abs=2e-6)


def test_other_solvers_claim_or_attain_but_prove_nothing() -> None:
    lcn = credalog.parse(
        "0.6 <= P(a & b)\nP(a | c) <= 0.2\nP(a | !c) <= 0.8\nP(b | d) <= 0.7\nP(b | !d) <= 0.3"
    )
    claimed = lcn.query("P(a | b)", method="scip").interval
    assert (claimed.lower.bound, claimed.upper.bound) == pytest.approx((6 / 7, 1.0), abs=1e-4)
    assert claimed.lower.warrant is Warrant.CLAIMED
    local = lcn.query("P(c)", method="ipopt").interval.upper
    assert local.bound == 1.0
    assert local.witnessed is None or local.witnessed == pytest.approx(1 / 3, abs=1e-6)


TIED = "P(a xor b) <= 1\nP(!b <-> a) <= 0.438\nP(a | b) <= 0.624\nP(m | a) = 0.643\nP(m | !a) = 0.375\n"
RARE = {
    "one minus a ratio": ("P(k | a) = 0.999999999\nP(k | !a) = 0.5\n", "P(m | !b & !k)"),
    "two ratios together": (
        "P(h | a) = 0.00001\n0.5 <= P(h | !a) <= 0.6\n0.4 <= P(j | h & a) <= 0.5\nP(j | !h & a) = 0\n"
        "0.4 <= P(j | h & !a) <= 0.5\nP(j | !h & !a) = 0\nP(k | j & a) = 0.00001\nP(k | !j & a) = 0\n"
        "P(k | j & !a) = 0.5\nP(k | !j & !a) = 0.1\n",
        "P(m | !b & k)",
    ),
}


@pytest.mark.parametrize(("likelihoods", "asked"), RARE.values(), ids=RARE)
def test_models_in_which_the_evidence_is_rare_are_not_drowned(likelihoods: str, asked: str) -> None:
    # P(a, b) = 0.562, P(!a, b) = 0.3387, P(a, !b) = 0.0993 is a model of the ties: !b leaves a alone, and m
    # has 0.643. In models in which !b leaves !a as well, that is far more likely, and m has nearly 0.375.
    answer = credalog.parse(TIED + likelihoods).query(asked, timeout=5.0)
    assert answer.lower <= 0.375 + 1e-7
    assert answer.upper >= 0.643 - 1e-9


@pytest.mark.parametrize("method", ["auto", "nilsson"])
def test_rare_evidence_is_not_drowned_without_independences(method: MethodName) -> None:
    text = "P(k | a & !b) = 0.999999999\nP(k | !a & !b) = 0.5\n"
    text += "P(m | a & !b & !k) = 0.643\nP(m | !a & !b & !k) = 0.375\n"
    ties = "".join(line + "\n" for line in TIED.splitlines()[:3])
    answer = credalog.parse(ties + text).query("P(m | !b & !k)", method=method, markov="none", timeout=5.0)
    assert answer.lower <= 0.375
    assert answer.upper >= 0.643
