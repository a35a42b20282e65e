"""Ends of P(y | e), y assigning all ancestors of evidence, against all choices of vertices."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import inf, prod

import numpy as np
import pytest

from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques.search import Limits
from credalog.network.formulas import Formula, Is, Variable, conjunction
from credalog.network.sentences import Network, Sentence
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.numbers.tolerances import absolute_gap
from credalog.questions.evidence import Evidence
from credalog.questions.map import Criterion, best_assignments

Range = tuple[Fraction, Fraction]
Rows = dict[tuple[int, tuple[int, ...]], tuple[Range, ...]]
"""The range of every state, by variable and configuration of its parents."""


class Drawn:
    """A random credal network of few variables, some of them with three values, some rows vacuous."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.sizes = [int(rng.choice([2, 2, 2, 3])) for _ in range(4)]
        values = [("false", "true") if n == 2 else ("u", "v", "w") for n in self.sizes]
        self.variables = [Variable(f"x{i}", v) for i, v in enumerate(values)]
        self.parents = [
            tuple(sorted(rng.choice(i, size=min(i, int(rng.integers(0, 3))), replace=False).tolist()))
            for i in range(4)
        ]
        self.rows: Rows = {}
        for i, parents in enumerate(self.parents):
            for row in product(*(range(self.sizes[p]) for p in parents)):
                self.rows[i, row] = self._row(rng, self.sizes[i], is_last=i == 3)

    def _row(self, rng: np.random.Generator, size: int, *, is_last: bool) -> tuple[Range, ...]:
        if rng.random() < 0.3 and not is_last:
            return ((Fraction(0), Fraction(1)),) * size
        cuts = rng.integers(1, 9, size)
        point = [Fraction(int(c), int(cuts.sum())) for c in cuts]
        # Some tables are points: then all choices can still be gone through.
        width = Fraction(int(rng.integers(0, 2)), 12)
        return tuple((max(Fraction(0), p - width), min(Fraction(1), p + width)) for p in point)

    @property
    def network(self) -> Network:
        sentences = [
            Sentence.of(Is(self.variables[i], value), *bounds, given=self._given(i, row))
            for (i, row), ranges in self.rows.items()
            for value, bounds in zip(self.variables[i].values, ranges, strict=True)
        ]
        return Network(tuple(self.variables), tuple(sentences))

    def _given(self, i: int, row: tuple[int, ...]) -> Formula:
        pairs = zip(self.parents[i], row, strict=True)
        return conjunction(Is(self.variables[p], self.variables[p].values[s]) for p, s in pairs)

    def _named(self, world: tuple[int, ...]) -> list[tuple[tuple[int, tuple[int, ...]], int]]:
        return [((i, tuple(world[p] for p in ps)), world[i]) for i, ps in enumerate(self.parents)]

    def posteriors(self, observed: dict[int, int]) -> dict[tuple[int, ...], tuple[float, float]]:
        """Go through all vertices of all rows; return both ends of P(whole world | observed)."""
        corners = {key: _corners(ranges) for key, ranges in self.rows.items()}
        worlds = [w for w in product(*map(range, self.sizes)) if all(w[x] == s for x, s in observed.items())]
        places = {
            w: [((i, tuple(w[p] for p in ps)), w[i]) for i, ps in enumerate(self.parents)] for w in worlds
        }
        used = sorted({key for named in places.values() for key, _ in named})
        ends = dict.fromkeys(worlds, (inf, -inf))
        for choice in product(*(corners[key] for key in used)):
            theta = dict(zip(used, choice, strict=True))
            masses = {w: prod(theta[key][s] for key, s in named) for w, named in places.items()}
            if total := sum(masses.values()):
                for w, mass in masses.items():
                    low, high = ends[w]
                    ends[w] = min(low, mass / total), max(high, mass / total)
        return ends


def _corners(ranges: tuple[Range, ...]) -> list[tuple[float, ...]]:
    """Return the vertices of a box cut by the sum one: all states but one are at an end."""
    found = set()
    for free in range(len(ranges)):
        others = [r for i, r in enumerate(ranges) if i != free]
        for ends in product(*others):
            rest = 1 - sum(ends)
            if ranges[free][0] <= rest <= ranges[free][1]:
                found.add((*ends[:free], rest, *ends[free:]))
    return [tuple(map(float, vertex)) for vertex in sorted(found)]


@cache
def few_choices() -> tuple[int, ...]:
    """Return seeds of networks whose choices can all be gone through in a moment."""
    drawn = ((seed, Drawn(seed)) for seed in range(60))
    return tuple(s for s, d in drawn if 8 < prod(len(_corners(r)) for r in d.rows.values()) <= 1500)


@pytest.mark.parametrize("seed", few_choices())
def test_both_ends_are_those_of_all_choices(seed: int) -> None:
    drawn = Drawn(seed)
    observed = {3: 0} if seed % 2 else {3: 0, 1: 1}
    problem = Engine(drawn.network).problem
    evidence = Evidence.of(problem, observed, frozenset(range(4)))
    assert evidence is not None
    limits = Limits(1e-9, Budget.of(20.0), gap=absolute_gap)
    for world, (low, high) in drawn.posteriors(observed).items():
        assigned = {x: s for x, s in enumerate(world) if x not in observed}
        upper = evidence.end(assigned, limits, end=End.UPPER)
        lower = evidence.end(assigned, limits, end=End.LOWER)
        assert upper.endpoint.bound >= high - 1e-12
        assert lower.endpoint.bound <= low + 1e-12
        assert (lower.endpoint.bound, upper.endpoint.bound) == pytest.approx((low, high), abs=1e-7)
        given = conjunction(Is(drawn.variables[x], drawn.variables[x].values[s]) for x, s in observed.items())
        claim = conjunction(Is(v, v.values[s]) for v, s in zip(drawn.variables, world, strict=True))
        for found in (upper, lower):
            value = evidence.model(found.tables).probability(claim, given)
            assert value == pytest.approx(found.endpoint.witnessed, abs=1e-9)


@pytest.mark.parametrize("seed", few_choices()[:12])
@pytest.mark.parametrize("criterion", [Criterion.MAXIMAX, Criterion.MAXIMIN])
def test_the_best_explanation_is_the_best_of_all(seed: int, criterion: Criterion) -> None:
    drawn = Drawn(seed)
    given = Is(drawn.variables[3], drawn.variables[3].values[0])
    ends = drawn.posteriors({3: 0}).values()
    best = max(high for _, high in ends) if criterion is Criterion.MAXIMAX else max(low for low, _ in ends)
    found = best_assignments(Engine(drawn.network), None, given, Options(timeout=20.0), criterion=criterion)
    assert found.is_proved
    assert found.best is not None
    assert found.best.score_lower == pytest.approx(best, rel=2e-4, abs=1e-9)
    assert found.bound >= best - 1e-9


@pytest.mark.parametrize("seed", few_choices())
def test_what_is_least_for_a_part_of_an_assignment_bounds_all_completions(seed: int) -> None:
    drawn = Drawn(seed)
    evidence = Evidence.of(Engine(drawn.network).problem, {3: 0}, frozenset(range(4)))
    assert evidence is not None
    for first in range(drawn.sizes[0]):
        least = evidence.least({0: first})
        for world, (_, high) in drawn.posteriors({3: 0}).items():
            if world[0] == first:
                whole = evidence.named(dict(enumerate(world[:3])), End.UPPER)
                assert high * least <= whole + 1e-12
