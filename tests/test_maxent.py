"""Maximum entropy: closed forms, and a convex solver of another kind over all worlds."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import product
from math import log
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

import credalog
from credalog.errors import ImpossibleEvidence, InconsistentNetwork
from credalog.methods.answer import Options
from credalog.network.formulas import TRUE, Variable
from credalog.network.graph import Markov
from credalog.network.sentences import Network, Sentence
from credalog.numbers.interval import Status
from credalog.numbers.tolerances import TOLERANCE
from credalog.program.solvers import ipopt
from credalog.questions import maxent
from credalog.questions.maxent import MaximumEntropy, entropy_of, maximum_entropy
from credalog.tables.conditional import conditional_tables, point_network
from credalog.tables.distribution import Distribution, Factor
from credalog.text.unparse import unparse_network
from oracle import rows_of, violations
from random_networks import random_case

pytestmark = pytest.mark.slow

LOCAL = Options(timeout=10.0)
NILSSON = Options(timeout=10.0, markov=Markov.NONE)


def network_of(text: str) -> Network:
    return credalog.parse(text).ground()


def binary(p: float) -> float:
    return -p * log(p) - (1.0 - p) * log(1.0 - p)


def joint_entropy(joint: np.ndarray) -> float:
    p = joint[joint > 0.0]
    return float(-(p * np.log(p)).sum())


# --- Closed forms -----------------------------------------------------------------------------------------


def test_where_nothing_is_said_all_worlds_are_alike():
    network = network_of("0 <= P(a or b) <= 1\n0 <= P(c | a) <= 1\n0 <= P(d) <= 1")
    found = maximum_entropy(network, LOCAL)
    assert found.status is Status.EXACT
    assert found.entropy == pytest.approx(4 * log(2), abs=1e-6)
    assert found.distribution is not None
    assert found.distribution.marginal(network.variables) == pytest.approx(1 / 16, abs=1e-4)


def test_independent_parts_add_up():
    found = maximum_entropy(network_of("P(a) = 0.3\nP(b) <= 0.2\nP(c) >= 0.4"), LOCAL)
    assert found.status is Status.EXACT
    assert found.entropy == pytest.approx(binary(0.3) + binary(0.2) + binary(0.5), abs=1e-6)


def test_a_bayesian_network_is_its_own_answer():
    model = credalog.parse(
        "P(a) = 0.3\nP(b | a) = 0.2\nP(b | !a) = 0.7\nP(c | a and b) = 0.1\nP(c | a and !b) = 0.9\n"
        "P(c | !a and b) = 0.5\nP(c | !a and !b) = 1"
    )
    found = model.maxent()
    assert found.status is Status.EXACT
    of_b = 0.3 * binary(0.2) + 0.7 * binary(0.7)
    of_c = 0.3 * (0.2 * binary(0.1) + 0.8 * binary(0.9)) + 0.7 * 0.7 * binary(0.5)
    assert found.entropy == pytest.approx(binary(0.3) + of_b + of_c, abs=1e-6)
    for claim, value in {"a": 0.3, "b": 0.3 * 0.2 + 0.7 * 0.7, "b and !a": 0.49}.items():
        assert found.probability(model.formula(claim)) == pytest.approx(value, abs=1e-6)


def test_a_known_disjunction_is_shared_evenly():
    # P(a or b) = 0.6: the three worlds inside share 0.6, the one outside has 0.4.
    model = credalog.parse("P(a or b) = 0.6")
    found = model.maxent()
    assert found.status is Status.EXACT
    assert found.probability(model.formula("a and b")) == pytest.approx(0.2, abs=1e-5)
    assert found.entropy == pytest.approx(-0.6 * log(0.2) - 0.4 * log(0.4), abs=1e-6)


def test_jaynes_die_is_weighted_exponentially():
    # A mean of 4.5 (Jaynes, 1957): the chance of i is proportional to x to the power i.
    sides = np.arange(1, 7)
    weights = 1.4492541**sides / (1.4492541**sides).sum()
    assert (weights * sides).sum() == pytest.approx(4.5, abs=1e-5)
    die = Variable("die", tuple(f"s{i}" for i in sides))
    claims = tuple((Fraction(int(i)), die.is_(f"s{i}")) for i in sides)
    mean = Sentence(claims, TRUE, Fraction(9, 2), Fraction(9, 2))
    found = maximum_entropy(Network((die,), (mean,)), LOCAL)
    assert found.status is Status.EXACT
    assert found.distribution is not None
    assert found.distribution.marginal((die,)) == pytest.approx(weights, abs=1e-4)


# --- Another solver ---------------------------------------------------------------------------------------


def by_slsqp(network: Network) -> float:
    """Maximize the entropy over all worlds by sequential quadratic programming."""
    rows = rows_of(network)
    worlds = rows.shape[1]
    total = LinearConstraint(np.ones((1, worlds)), 1.0, 1.0)

    def cost(p: np.ndarray) -> float:
        q = np.maximum(p, 1e-300)
        return float((q * np.log(q)).sum())

    constraints: list[Any] = [{"type": "ineq", "fun": lambda p: rows @ p}, total]
    result = minimize(  # type: ignore[call-overload] # its stubs refuse lambdas
        cost,
        np.full(worlds, 1.0 / worlds),
        jac=lambda p: np.log(np.maximum(p, 1e-300)) + 1.0,
        bounds=[(0.0, 1.0)] * worlds,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert float((rows @ result.x).min()) >= -1e-7
    return -float(result.fun)


@pytest.mark.parametrize("kind", ["free", "tight", "credal", "multivalued", "linear"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_without_independences_another_convex_solver_agrees(kind: str, seed: int):
    network = random_case(kind, seed, largest=3).network
    found = maximum_entropy(network, NILSSON)
    assert found.status is Status.EXACT
    assert found.entropy == pytest.approx(by_slsqp(network), abs=TOLERANCE)


@pytest.mark.parametrize("kind", ["free", "tight", "cyclic", "credal", "multivalued", "declared"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_with_independences_the_model_is_one_and_the_bound_holds(kind: str, seed: int):
    network = random_case(kind, seed, largest=3).network
    found = maximum_entropy(network, Options(timeout=2.0))
    assert found.distribution is not None
    joint = found.distribution.marginal(network.variables)
    assert violations(joint, network).worst <= 1e-7
    assert joint_entropy(joint) == pytest.approx(found.entropy, abs=1e-9)
    assert found.entropy <= found.at_most + 1e-6
    # A model with independences is one without, so the convex optimum bounds it.
    assert found.entropy <= by_slsqp(network) + TOLERANCE


def test_no_point_of_a_fine_grid_beats_the_model():
    # a and b independent, P(c) pinned through an asymmetric table: a nonconvex program with two unknowns.
    text = "P(a) <= 0.9\nP(b) <= 0.9\nP(c | a and b) = 0.9\nP(c | !a or !b) = 0.2\nP(c) = 0.7"
    best = max(
        binary(x) + binary(y) + x * y * binary(0.9) + (1 - x * y) * binary(0.2)
        for x, y in ((x, (0.5 / 0.7) / x) for x in np.linspace(0.8, 0.9, 2001))
        if 0.0 < y <= 0.9
    )
    found = maximum_entropy(network_of(text), Options(timeout=60.0, tolerance=1e-3))
    assert found.status is Status.EXACT
    assert found.entropy == pytest.approx(best, abs=1e-5)
    assert found.at_most >= best - 1e-9


# --- What leaves ------------------------------------------------------------------------------------------


def test_an_inconsistent_network_has_no_such_model():
    with pytest.raises(InconsistentNetwork):
        maximum_entropy(network_of("P(a) >= 0.6\nP(a or b) <= 0.5"), LOCAL)


def test_the_entropy_of_tables_is_that_of_their_product():
    rng = np.random.default_rng(3)
    a, b, c = Variable("a"), Variable("b", ("x", "y", "z")), Variable("c")
    first = rng.dirichlet(np.ones(6)).reshape(2, 3)
    second = rng.dirichlet(np.ones(2), size=3)
    model = Distribution((Factor((a, b), (), first), Factor((c,), (b,), second)))
    assert entropy_of(model) == pytest.approx(joint_entropy(model.marginal((a, b, c))))


def test_a_block_is_taken_apart_by_the_chain_rule():
    rng = np.random.default_rng(4)
    a, b, c = Variable("a"), Variable("b", ("x", "y", "z")), Variable("c")
    table = rng.dirichlet(np.ones(6), size=2).reshape(2, 2, 3)
    model = Distribution((Factor((c,), (), np.array([0.4, 0.6])), Factor((a, b), (c,), table)))
    apart = Distribution(conditional_tables(model))
    assert [len(factor.block) for factor in apart.factors] == [1, 1, 1]
    assert apart.marginal((a, b, c)) == pytest.approx(model.marginal((a, b, c)))


def test_the_exported_sentences_have_the_model_as_their_only_one():
    found = credalog.parse("P(a or b) = 0.6\nP(c | a) >= 0.9\nP(c | !a) <= 0.2").maxent()
    assert found.distribution is not None
    again = credalog.parse(unparse_network(point_network(found.distribution)))
    for claim, given in product(["a", "b and c", "a xor c"], ["true", "b or c"]):
        query = again.question(f"P({claim} | {given})" if given != "true" else f"P({claim})")
        answer = again.query(query)
        expected = found.probability(query.claim, query.given)
        assert (answer.lower, answer.upper) == pytest.approx((expected, expected), abs=2 * TOLERANCE)


def test_evidence_is_answered_under_the_model():
    model = credalog.parse("P(a) = 0.5\nP(b | a) = 0.8\nP(b | !a) = 0.4\nevidence b")
    query = model.question("P(a)")
    assert model.maxent().probability(query.claim, query.given) == pytest.approx(0.4 / 0.6, abs=1e-6)


def test_a_condition_without_probability_is_named_not_answered():
    model = credalog.parse("P(e) = 0\nP(a) = 0.3\nP(b | e) >= 0.5")
    query = model.question("P(a | e)")
    with pytest.raises(ImpossibleEvidence, match="greatest entropy"):
        model.maxent().probability(query.claim, query.given)


def test_the_time_is_kept(monkeypatch: pytest.MonkeyPatch):
    finished, network = ipopt.spread, random_case("declared", 1, largest=3).network

    def slow(*words: Any, timeout: float) -> object:
        sleep(timeout)
        return finished(*words, timeout=1.0)

    monkeypatch.setattr(maxent, "spread", slow)
    start = monotonic()
    found = maximum_entropy(network, Options(timeout=1.0))
    assert monotonic() - start <= 1.1 + 1.0
    assert found.entropy <= found.at_most


def test_public_networks_have_a_model_of_greatest_entropy(shared_data: Path):
    for name in ("cancer", "alarm", "hepatitis"):
        network = credalog.load(shared_data / f"lcn/benchmarks/real/{name}.lcn").ground()
        found = maximum_entropy(network, Options(timeout=20.0))
        assert found.status is Status.EXACT


# --- Interruption ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def declared() -> tuple[Network, MaximumEntropy]:
    network = random_case("declared", 1, largest=3).network
    return network, maximum_entropy(network, LOCAL)


@pytest.mark.parametrize("patience", [0, 1, 8, 30])
def test_an_interrupted_search_keeps_model_and_bound(
    declared: tuple[Network, MaximumEntropy], monkeypatch: pytest.MonkeyPatch, patience: int
):
    network, best = declared
    climb, left = ipopt.spread, [None] * patience

    def spread(*words: Any, **options: Any) -> object:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return climb(*words, **options)

    monkeypatch.setattr(maxent, "spread", spread)
    found = maximum_entropy(network, LOCAL)
    assert found.is_interrupted and not left
    assert found.entropy <= best.entropy + TOLERANCE and found.at_most >= best.entropy - 1e-9
    assert (found.status is Status.UNDECIDED) == (found.distribution is None)
    assert patience < 8 or found.distribution is not None


def test_a_table_that_holds_tied_atoms_and_others_is_taken_apart():
    """Five atoms fit into one table; of these C and D are tied, and A is their parent."""
    found = credalog.parse(
        "0.1 <= P(B) <= 0.2\n0.05 <= P(E) <= 0.1\n0.6 <= P(A | B or E) <= 0.9\n"
        "0.5 <= P(!(C xor D) | A) <= 0.7\n0.05 <= P(A) <= 0.1\n"
    ).maxent(timeout=10)
    assert found.distribution is not None
    assert found.entropy <= found.at_most


def test_without_ipopt_more_equations_than_unknowns_leave_the_greatest_entropy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fifteen equations say that a and b are independent coins; c has 0.4, the most that is allowed."""
    monkeypatch.setitem(sys.modules, "ipyopt", None)
    points = {
        Fraction(1, 2): ("a", "b", "a xor b", "a iff b"),
        Fraction(1, 4): ("a & b", "a & !b", "!a & b", "!a & !b"),
        Fraction(3, 4): ("a or b", "a -> b", "b -> a", "!a or b", "a or !b", "!a or !b", "a nand b"),
    }
    equations = [f"P({claim}) = {value}" for value, claims in points.items() for claim in claims]
    found = credalog.parse("\n".join([*equations, "0.1 <= P(c | a) <= 0.4", "0.2 <= P(c | !a) <= 0.4"]))
    of_c = -0.4 * log(0.4) - 0.6 * log(0.6)
    assert found.maxent(timeout=10).entropy == pytest.approx(2.0 * log(2.0) + of_c, abs=TOLERANCE)
