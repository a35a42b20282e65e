"""What has known tables below all else is summed out, and posteriors stay what they were."""

from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest

from credalog import load, parse
from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.summing_out import Summed, sum_out
from credalog.network.formulas import Formula, Is, Not, Variable, conjunction, holds_in
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.interval import Status

PUZZLE = Path(__file__).parents[1] / "experiments" / "mastermind" / "puzzle.lcn"
Laws = dict[Variable, tuple[tuple[Variable, ...], dict[tuple[str, ...], tuple[Fraction, ...]]]]

LIES = """
0.3 <= P(a) <= 0.7
0.2 <= P(b) <= 0.6
0.2 <= P(a and b) <= 0.3 ; tau=False
"""
BELOW = """
P(c) = 0.4
P(d | c & a) = 0.9
P(d | c & !a) = 0.2
P(d | !c & a) = 0.5
P(d | !c & !a) = 0.6
P(f | c & b) = 0.1
P(f | c & !b) = 0.7
P(f | !c & b) = 0.8
P(f | !c & !b) = 0.3
"""


def summed_of(network: Network, asked: Query) -> Summed | None:
    return sum_out(network, Engine(network).problem, asked)


def asked_of(text: str, question: str) -> tuple[Network, Query]:
    model = parse(text)
    return model.ground(), model.question(question)


def random_laws(rng: np.random.Generator) -> Laws:
    """Draw known tables of four variables below a and b, one of them with three values, some numbers zero."""
    above = [Variable("a"), Variable("b")]
    laws: Laws = {}
    for name, values in (("c", ("u", "v", "w")), ("d", None), ("f", None), ("g", None)):
        v = Variable(name) if values is None else Variable(name, values)
        count = int(rng.integers(1, 3))
        parents = tuple(above[i] for i in sorted(rng.choice(len(above), size=count, replace=False)))
        table = {}
        for configuration in product(*(p.values for p in parents)):
            drawn = rng.integers(0, 4, len(v.values))
            drawn[int(rng.integers(len(drawn)))] += 1
            table[configuration] = tuple(Fraction(int(n), int(drawn.sum())) for n in drawn)
        laws[v] = parents, table
        above.append(v)
    return laws


def sentences_of(laws: Laws) -> list[Sentence]:
    return [
        Sentence.of(Is(v, value), p, p, given=conjunction(Is(w, x) for w, x in zip(parents, c, strict=True)))
        for v, (parents, table) in laws.items()
        for c, theta in table.items()
        for value, p in zip(v.values, theta, strict=True)
    ]


def likelihood(laws: Laws, world: dict[Variable, str], event: Formula) -> Fraction:
    """Add up, over all states of the variables with laws, what satisfies an event beside a given world."""
    total = Fraction(0)
    for states in product(*(v.values for v in laws)):
        whole = {**world, **dict(zip(laws, states, strict=True))}
        if holds_in(event, whole):
            total += prod(
                (
                    table[tuple(whole[p] for p in parents)][v.values.index(whole[v])]
                    for v, (parents, table) in laws.items()
                ),
                start=Fraction(1),
            )
    return total


def smaller_laws(found: Summed, laws: Laws) -> Laws:
    """Read the tables of what stands for parts from the smaller network; what it keeps has its own."""
    kept = {v: laws[v] for v in found.network.variables if v in laws}
    for sign, outside in found.outside.items():
        parents = tuple(sorted(outside, key=lambda v: v.name))
        table = {}
        for states in product(*(p.values for p in parents)):
            world = dict(zip(parents, states, strict=True))
            said = [s for s in found.network.sentences if s.claim_scope == (sign,)]
            here = {s.claim: s.lower for s in said if holds_in(s.given, world)}
            yes = here[Is(sign, sign.values[-1])]
            table[states] = tuple(here.get(Is(sign, value), 1 - yes) for value in sign.values)
        kept[sign] = parents, table
    return kept


@pytest.mark.parametrize("seed", range(40))
def test_what_stands_for_parts_is_as_likely_as_they_are(seed: int) -> None:
    laws = random_laws(np.random.default_rng(seed))
    above = [Variable("a"), Variable("b")]
    free = [Sentence.of(Is(v), "0.3", "0.7") for v in above]
    network = Network((*above, *laws), (*free, *sentences_of(laws)))
    c, _, f, g = laws
    asked = Query(Is(c, "u"), Is(f) & Not(Is(g)))
    worlds = [dict(zip(above, s, strict=True)) for s in product(*(v.values for v in above))]
    before = _likelihoods(laws, asked, worlds)
    found = summed_of(network, asked)
    if found is None:
        # All variables in one part are left alone only where their evidence is impossible.
        assert not any(before) or len({v for v, (ps, _) in laws.items() if set(ps) & laws.keys()}) < 3
        return
    after = _likelihoods(smaller_laws(found, laws), found.query, worlds)
    scale = max(after) / max(before) if any(before) else Fraction(1)
    assert after == [scale * value for value in before]


def _likelihoods(laws: Laws, asked: Query, worlds: list[dict[Variable, str]]) -> list[Fraction]:
    """Return P(claim, evidence | world) and P(not claim, evidence | world) for each world."""
    events = [conjunction((claim, asked.given)) for claim in (asked.claim, Not(asked.claim))]
    return [likelihood(laws, world, event) for world in worlds for event in events]


@pytest.mark.slow
@pytest.mark.parametrize("question", ["P(c | d & f)", "P(!c | d & f & a)", "P(b | d & !f)", "P(d | f)"])
def test_the_answer_is_that_of_the_whole_network(question: str) -> None:
    network, asked = asked_of(LIES + BELOW, question)
    assert summed_of(network, asked) is not None
    answer = Engine(network).query(asked, Options(timeout=20.0))
    whole = Engine(network).query(asked, Options(timeout=20.0, method="joint", tolerance=1e-4))
    assert answer.status is Status.EXACT
    assert (answer.lower, answer.upper) == pytest.approx((whole.lower, whole.upper), abs=3e-4)
    assert answer.upper_witness is not None
    assert Engine(network).admits(answer.upper_witness, network)
    value = answer.upper_witness.probability(asked.claim, asked.given)
    assert value == pytest.approx(answer.upper_witnessed, abs=1e-9)


@pytest.mark.parametrize(
    "more",
    [
        "0.1 <= P(c | a) <= 0.9\n",
        "0.3 <= P(d or f) <= 0.9\n",
        "0.2 <= P(h | c) <= 0.4\n0.1 <= P(h & a) <= 0.3\n",
        "independent c, b\n",
    ],
)
def test_what_is_said_of_more_than_tables_keeps_them(more: str) -> None:
    network, asked = asked_of(LIES + BELOW + more, "P(c | d & f)")
    found = summed_of(network, asked)
    assert found is None or Variable("c") in found.network.variables


def test_a_claim_that_is_partly_outside_keeps_its_part() -> None:
    network, asked = asked_of(LIES + BELOW, "P(c & a | d & f)")
    assert summed_of(network, asked) is None


def test_a_condition_that_is_a_claim_elsewhere_inherits_no_parents() -> None:
    more = "0.1 <= P(a and b | x) <= 0.5 ; tau=False\n"
    network, asked = asked_of(LIES + more + BELOW, "P(c | d & f)")
    found = summed_of(network, asked)
    assert found is not None
    after = Engine(found.network).graph
    (sign,) = found.parts
    assert {v.name for v in after.parents(sign)} == {"a", "b"}
    assert found.keeps(Engine(network).graph, after)


@pytest.mark.slow
def test_the_puzzle_of_six_rounds_is_closed() -> None:
    """The interval is that of the experiment's own search, which knows codes and lies alone."""
    seen = " & ".join(f"seen{i}" for i in range(1, 7))
    answer = load(PUZZLE).query(f"P(Code = g1 | {seen})", timeout=60.0, tolerance=1e-3)
    assert answer.status is Status.EXACT
    assert answer.lower <= 0.158396 + 1e-4
    assert answer.upper >= 0.688506 - 1e-4
    assert (answer.lower, answer.upper) == pytest.approx((0.158396, 0.688506), abs=2e-3)


def test_evidence_that_is_impossible_in_the_part_is_left_to_others() -> None:
    network, asked = asked_of(LIES + BELOW, "P(c | d & f)")
    assert summed_of(network, asked) is not None
    text = LIES + "P(c) = 0.4\nP(d | c & a) = 0\nP(d | c & !a) = 0\nP(d | !c) = 0\n"
    assert summed_of(*asked_of(text, "P(c | d)")) is None
