"""What is near a question bounds it, whatever law the rest has, and closes it where the rest is forgotten."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from credal_drawing import draw_intervals
from credalog.methods.answer import Options
from credalog.methods.vertices import sets, vicinity
from credalog.methods.vertices.branching import extremes
from credalog.network.formulas import Is, Variable, conjunction
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import Status
from credalog.tables.credal import ask, credal_network
from oracle import Verdict
from vertex_oracle import strong_extension


def _ladder(rng: np.random.Generator, atoms: int) -> Network:
    """Draw a network in which each atom has the two before it as parents."""
    x = [Is(Variable(f"x{i}")) for i in range(atoms)]
    sentences = []
    for i in range(atoms):
        above = x[max(0, i - 2) : i]
        for signs in np.ndindex(*(2,) * len(above)):
            given = conjunction(a if s else ~a for a, s in zip(above, signs, strict=True))
            low = Fraction(int(rng.integers(10, 80)), 100)
            sentences.append(Sentence.of(x[i], low, low + Fraction(1, 10), given=given))
    return Network(tuple(atom.variable for atom in x), tuple(sentences))


@pytest.mark.parametrize("seed", range(30))
def test_no_vertex_of_the_strong_extension_passes_the_bounds_of_a_vicinity(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vicinity, "FIRST", 1)
    monkeypatch.setattr(vicinity, "GROWTH", 1.0)
    monkeypatch.setattr(vicinity, "SMALL", 1.0)
    rng = np.random.default_rng(seed)
    network = draw_intervals(rng, 7, 5)
    target, *observed = rng.permutation(7)[: rng.integers(2, 4)]
    query = Query(Is(network.variables[target]), conjunction(Is(network.variables[i]) for i in observed))
    truth = strong_extension(network, query)
    credal = credal_network(network, dependency_graph(network))
    assert credal is not None
    put = ask(credal, query)
    assert put is not None
    if truth.verdict is not Verdict.ANSWERED:
        return
    for near in vicinity.vicinities(*put):
        found = extremes(near.credal, put[1], tolerance=1e-6, budget=Budget.of(20.0))
        lower, upper = (one.endpoint.bound for one in found)
        assert Fraction(lower) <= truth.lower
        assert truth.upper <= Fraction(upper)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_vicinity_closes_what_the_whole_ladder_closes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = _ladder(np.random.default_rng(seed), 30)
    query = Query(Is(network.variables[-4]), Is(network.variables[-1]))
    near = sets.query(network, query, Options(tolerance=1e-3, timeout=60.0))
    monkeypatch.setattr(vicinity, "FIRST", 1000)
    whole = sets.query(network, query, Options(tolerance=1e-3, timeout=60.0))
    assert near.status is whole.status is Status.EXACT
    for one, other in ((near, whole), (whole, near)):
        assert other.lower_witnessed is not None
        assert other.upper_witnessed is not None
        assert one.lower <= other.lower_witnessed
        assert other.upper_witnessed <= one.upper
