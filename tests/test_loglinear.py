"""Log-linear witnesses: what they attain is attained by models, and they are offered only where they suit."""

from __future__ import annotations

from itertools import product
from math import exp
from pathlib import Path

import numpy as np
import pytest

import credalog
from credalog import Status
from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques import loglinear
from credalog.methods.cliques.loglinear import LogLinear, family_of
from credalog.network.formulas import Formula, Is, Variable, conjunction, propositions
from credalog.network.sentences import Independence, Network, Query, Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.numbers.tolerances import FEASIBILITY
from credalog.trusted.check import violation

pytestmark = pytest.mark.slow

SIZE = 8
RING = propositions(" ".join(f"x{i}" for i in range(SIZE)))
FIELD, COUPLING, WIDTH = -0.4, 0.9, 0.02
says = Sentence.of


def neighbours(i: int) -> tuple[int, int]:
    return (i - 1) % SIZE, (i + 1) % SIZE


def weight(world: tuple[int, ...]) -> float:
    """Return the weight of a world in an Ising model on the ring."""
    agreements = sum(world[i] == world[(i + 1) % SIZE] for i in range(SIZE))
    return exp(FIELD * sum(world) + COUPLING * agreements)


def chance_of(i: int, around: tuple[int, int]) -> float:
    """Return P(x_i | its neighbours) in the Ising model."""
    odds = exp(FIELD + COUPLING * (2 * sum(around) - 2))
    return odds / (1.0 + odds)


def literal(atom: Formula, state: int) -> Formula:
    return atom if state else ~atom


def ring() -> Network:
    """Assess each proposition given its two neighbours, in an interval around what the Ising model says."""
    sentences = [
        says(RING[i], p - WIDTH, p + WIDTH, given=conjunction(literal(RING[j], s) for j, s in around))
        for i in range(SIZE)
        for states in product((0, 1), (0, 1))
        for p in [chance_of(i, states)]
        for around in [tuple(zip(neighbours(i), states, strict=True))]
    ]
    return Network(tuple(atom.variable for atom in RING), tuple(sentences))


def family(network: Network, asked: Query) -> LogLinear | None:
    part = Engine(network).part(asked)
    return family_of(part.problem, network.sentences)


def attained(network: Network, asked: Query, *, end: End) -> float:
    """Return the value of a log-linear witness, after a check that it is a model."""
    found = family(network, asked)
    assert found is not None
    model = found.witness(asked, Budget.of(20.0), end=end)
    assert model is not None
    assert violation(model, network, Engine(network).graph) <= FEASIBILITY
    return model.probability(asked.claim, asked.given)


@pytest.mark.parametrize("given", [None, 3])
def test_on_a_ring_the_witnesses_enclose_the_distribution_it_was_drawn_from(given: int | None) -> None:
    worlds = [w for w in product((0, 1), repeat=SIZE) if given is None or w[given]]
    truth = sum(weight(w) for w in worlds if w[0]) / sum(map(weight, worlds))
    asked = Query(RING[0]) if given is None else Query(RING[0], RING[given])
    network = ring()
    lower, upper = (attained(network, asked, end=end) for end in End)
    assert lower < truth - 0.01
    assert upper > truth + 0.01


def test_the_engine_proves_bounds_around_the_witnesses_of_a_ring() -> None:
    network = ring()
    answer = Engine(network).query(Query(RING[0]), Options(timeout=6.0, tolerance=1e-2))
    assert answer.lower_witnessed is not None
    assert answer.upper_witnessed is not None
    assert answer.lower <= attained(network, Query(RING[0]), end=End.LOWER)
    assert answer.upper >= attained(network, Query(RING[0]), end=End.UPPER)


def test_derivatives_are_those_of_the_logarithms() -> None:
    found = family(ring(), Query(RING[0]))
    assert found is not None
    rng = np.random.default_rng(0)
    terms = sum(block.terms.shape[1] for block in found.blocks)
    parameters = rng.normal(size=terms)
    here, small = found.at(parameters), 1e-6
    for i in range(terms):
        step = small * np.eye(terms)[i]
        difference = found.at(parameters + step).logarithms - found.at(parameters - step).logarithms
        np.testing.assert_allclose(difference / (2.0 * small), here.slopes[:, i], atol=1e-6)


def test_many_values_and_a_tail_are_part_of_the_family() -> None:
    color = Variable("color", ("red", "green", "blue"))
    red, blue = Is(color, "red"), Is(color, "blue")
    a, b = propositions("a b")
    network = Network(
        (color, a.variable, b.variable),
        (
            says(red | a, 0.7, 0.8),
            says(blue & a, 0.1, 0.2),
            says(b, 0.2, 0.4, given=red),
            says(b, 0.6, 0.9, given=~red),
            says(a & b, 0.2, 0.3, tau=False),
        ),
    )
    assert attained(network, Query(red), end=End.LOWER) < attained(network, Query(red), end=End.UPPER)


def test_linear_sentences_are_kept() -> None:
    """P(b) = P(a) - d is at most 1 - 0.2; and 0.9 <= P(a) + P(b) = 2 P(b) + d, so it is at least 0.3."""
    text = "0.9 <= P(a or b) <= 1\n0.2 <= P(a) - P(b) <= 0.3\n"
    network = credalog.parse(text).ground()
    b = Is(next(v for v in network.variables if v.name == "b"), "true")
    assert attained(network, Query(b), end=End.UPPER) == pytest.approx(0.8, abs=1e-3)
    assert attained(network, Query(b), end=End.LOWER) == pytest.approx(0.3, abs=1e-3)


def test_where_the_family_does_not_suit_it_is_not_offered() -> None:
    a, b, c = propositions("a b c")
    tie = says(a | b, 0.5, 0.9)
    cycle = (says(b, 0.2, 0.4, given=a), says(c, 0.2, 0.4, given=b), says(a, 0.2, 0.4, given=c))
    variables = (a.variable, b.variable, c.variable)
    declared = Independence((a.variable,), (b.variable,), ())
    assert family(Network(variables, cycle), Query(a)) is None
    assert family(Network(variables, (says(a, 0.2, 0.4),)), Query(a)) is None
    assert family(Network(variables, (tie,), (declared,)), Query(a)) is None
    assert family(Network(variables, (tie,)), Query(a)) is not None


def test_a_sentence_that_demands_a_zero_leaves_no_witness() -> None:
    a, b = propositions("a b")
    network = Network((a.variable, b.variable), (says(a | b, 1, 1), says(a, 0.2, 0.4)))
    found = family(network, Query(a))
    assert found is not None
    assert found.witness(Query(a), Budget.of(5.0), end=End.UPPER) is None


def test_what_walks_start_from_is_found_once_and_changes_no_witness() -> None:
    network = ring()
    engine, asked = Engine(network), [Query(RING[0]), Query(RING[1] & RING[5])]
    kept, other = (engine.cliques.log_linear(engine.part(one)) for one in asked)
    assert kept is not None
    assert kept is other
    for one in asked:
        fresh = family(network, one)
        assert fresh is not None
        found, alone = (f.witness(one, Budget.of(60.0), end=End.UPPER) for f in (kept, fresh))
        assert found is not None
        assert alone is not None
        assert found.probability(one.claim) == alone.probability(one.claim)
    assert len(kept.found) == loglinear.STARTS


def test_the_published_court_has_a_model(shared_data: Path) -> None:
    folder = shared_data / "lcn"
    (file,) = folder.rglob("supreme_court_judicial_power_source_variants_n10_2.lcn")
    lcn = credalog.load(file)
    answer = lcn.query("P(issue_judicial_power)", timeout=20.0)
    assert answer.status is Status.EXACT
    assert answer.lower == pytest.approx(0.149, abs=1e-6)
    assert answer.upper == pytest.approx(0.149, abs=1e-6)


@pytest.mark.parametrize("size", [1.0, 30.0, 400.0])
def test_limits_taken_together_are_those_taken_one_by_one(size: float) -> None:
    """With parameters of size 400 some events are too rare for one sum of floats."""
    rng = np.random.default_rng(0)
    worlds, parameters = 16, 5
    scores = size * rng.normal(size=worlds)
    here = loglinear._Point(scores, rng.normal(size=(worlds, parameters)))
    limits = []
    for number in range(6):
        chosen = rng.permutation(worlds)
        weights = rng.normal(size=6) if number % 3 == 2 else None
        limits.append(loglinear._Limit(chosen[:6], chosen[6:9], weights, 0.0, 1.0))
    values, slopes = loglinear._Limits(limits, worlds).at(here)
    for value, slope, limit in zip(values, slopes, limits, strict=True):
        expected = limit.at(here)
        assert value == pytest.approx(expected[0], rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(slope, expected[1], rtol=1e-7, atol=1e-9)
