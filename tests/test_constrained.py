"""Posteriors of credal networks with statements, by multipliers: against the joint program and arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import count, product

import numpy as np
import pytest

from credalog.errors import ImpossibleEvidence, InconsistentNetwork
from credalog.methods.answer import Options, last_of
from credalog.methods.automatic import Engine
from credalog.methods.compiled import Compiled
from credalog.methods.vertices.constrained import _proving, intervals
from credalog.methods.vertices.constraints import scores_of
from credalog.methods.vertices.expectations import Function, Slots, Sums
from credalog.methods.vertices.lagrange import Proving, _Box
from credalog.network.formulas import TRUE, Is, Variable, conjunction
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import VACUOUS, End, Interval, Status
from credalog.tables.credal import credal_part

A, B, C = (Is(Variable(name)) for name in "abc")


def by_multipliers(network: Network, asked: Query, seconds: float = 10.0) -> Interval:
    part = Compiled(network).credal_part
    assert part is not None
    stages = intervals(*part, asked, VACUOUS, tolerance=1e-3, budget=Budget.of(seconds))
    return last_of(stages, VACUOUS)[0]


def chain(*sentences: Sentence) -> Network:
    """Return a network in which P(a) is in [0.2, 0.8] and b follows a with 0.9 and 0.3."""
    own = (
        Sentence.of(A, Fraction(1, 5), Fraction(4, 5)),
        Sentence.of(B, Fraction(9, 10), Fraction(9, 10), given=A),
        Sentence.of(B, Fraction(3, 10), Fraction(3, 10), given=~A),
    )
    return Network((A.variable, B.variable), (*own, *sentences))


def test_a_marginal_sentence_bounds_a_posterior() -> None:
    # P(b) = 0.3 + 0.6 P(a) <= 0.6 means P(a) <= 0.5, and P(a | b) = 0.9 p / (0.3 + 0.6 p) grows with p.
    network = chain(Sentence.of(B, Fraction(0), Fraction(3, 5)))
    found = by_multipliers(network, Query(A, B))
    assert found.status(1e-3) is Status.EXACT
    assert found.lower.bound <= 3 / 7 <= found.lower.bound + 1e-3
    assert found.upper.bound - 1e-3 <= 3 / 4 <= found.upper.bound
    assert found.lower.is_checked and found.upper.is_checked


def test_the_automatic_choice_tries_multipliers_where_cliques_leave_a_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("credalog.methods.automatic.BRIEF_LOOK", 0.0)
    network = chain(Sentence.of(B, Fraction(0), Fraction(3, 5)))
    found = Engine(network).query(Query(A, B), Options(1e-3, 10.0))
    assert "multipliers of statements" in found.tried
    assert found.upper - 1e-3 <= 3 / 4 <= found.upper


def test_cyclic_graphs_and_local_networks_have_no_statements() -> None:
    tied = Network((A.variable, B.variable), (Sentence.of(A | B, Fraction(1, 2), Fraction(1)),))
    assert Compiled(tied).credal_part is None
    part = Compiled(chain()).credal_part
    assert part is not None and not part[1]


def test_a_statement_under_an_impossible_condition_says_nothing() -> None:
    # c is impossible, so that P(a | c) >= 0.9 leaves P(a) free; a demand about it would not.
    sentences = (
        Sentence.of(A, Fraction(1, 5), Fraction(4, 5)),
        Sentence.of(C, Fraction(0), Fraction(0)),
        Sentence.of(A, Fraction(9, 10), Fraction(1), given=C, tau=False),
    )
    network = Network((A.variable, C.variable), sentences)
    part = Compiled(network).credal_part
    assert part is not None and part[1], "the sentence is not local"
    found = by_multipliers(network, Query(A))
    assert found.lower.bound <= 0.2 and found.upper.bound >= 0.8


def drawn(rng: np.random.Generator) -> tuple[Network, Query]:
    """Draw tables around a model, sentences on its marginals, and a question."""
    count = int(rng.integers(4, 6))
    sizes = [3 if rng.random() < 0.2 else 2 for _ in range(count)]
    values = [("u", "v", "w")[:n] for n in sizes]
    variables = [Variable(f"x{i}", values[i]) for i in range(count)]
    joint, sentences = np.ones(sizes), list[Sentence]()
    for i, variable in enumerate(variables):
        parents = sorted(rng.choice(i, size=min(i, int(rng.integers(1, 3))), replace=False).tolist())
        for states in product(*(range(sizes[p]) for p in parents)):
            law = rng.dirichlet(np.full(sizes[i], 2.0))
            here = [slice(None)] * count
            for p, state in zip(parents, states, strict=True):
                here[p] = slice(state, state + 1)
            joint[tuple(here)] *= law.reshape([-1 if j == i else 1 for j in range(count)])
            given = conjunction(Is(variables[p], values[p][s]) for p, s in zip(parents, states, strict=True))
            sentences += [
                Sentence.of(Is(variable, v), *around(q, 0.2), given=given)
                for v, q in zip(values[i], law, strict=True)
            ]
    for i in rng.choice(range(1, count), size=2, replace=False).tolist():
        chance = joint.sum(axis=tuple(j for j in range(count) if j != i))[0]
        sentences.append(Sentence.of(Is(variables[i], values[i][0]), *around(chance, 0.04)))
    target, *seen = rng.permutation(count)[: int(rng.integers(2, 4))].tolist()
    given = conjunction(Is(variables[i], values[i][0]) for i in seen)
    return Network(tuple(variables), tuple(sentences)), Query(Is(variables[target], values[target][0]), given)


def around(chance: float, width: float) -> tuple[Fraction, Fraction]:
    """Return an interval around a probability, in thousandths."""
    low, high = int(1000 * max(chance - width / 2, 0.0)), int(1000 * min(chance + width / 2, 1.0)) + 1
    return Fraction(low, 1000), Fraction(min(high, 1000), 1000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold_and_models_attain_what_the_joint_program_says(seed: int) -> None:
    network, asked = drawn(np.random.default_rng(seed))
    try:
        exact = Engine(network).query(asked, Options(1e-4, 1.0, "joint"))
    except (InconsistentNetwork, ImpossibleEvidence):
        pytest.fail("a network drawn around a model has one")
    found = by_multipliers(network, asked, 6.0)
    low, high = exact.lower_witnessed, exact.upper_witnessed
    assert low is None or found.lower.bound <= low + 1e-7
    assert high is None or found.upper.bound >= high - 1e-7
    for end in (found.lower, found.upper):
        assert end.witnessed is not None
        assert exact.lower - 1e-6 <= end.witnessed <= exact.upper + 1e-6


def test_a_sum_of_functions_is_its_expectation_where_every_block_is_one_vertex() -> None:
    rng = np.random.default_rng(3)
    parents, sizes = {0: (), 1: (0,), 2: (0, 1)}, (2, 3, 2)
    shapes = {x: (*(sizes[p] for p in mine), 1, sizes[x]) for x, mine in parents.items()}
    vertices = {x: rng.dirichlet(np.ones(shape[-1]), shape[:-1]) for x, shape in shapes.items()}
    functions = [Function((0, 2), rng.normal(size=(2, 2))), Function((1,), rng.normal(size=3))]
    sums = Sums(Slots.of(vertices), parents, sizes, functions, [1.0, 0.5])
    law = np.einsum("a,ab,abc->abc", vertices[0][0], vertices[1][:, 0], vertices[2][:, :, 0])
    expected = np.einsum("abc,ac->", law, functions[0].values) + 0.5 * np.einsum(
        "abc,b->", law, functions[1].values
    )
    rows = np.ones((1, 1 + 2 + 6), dtype=np.bool_)
    assert sums.passage(rows, Budget.of(5.0)).total[0] == pytest.approx(expected, abs=1e-14)


def test_a_relaxed_sum_is_passed_by_no_choice_of_vertices() -> None:
    # Whether the last equals the first: the table between them cannot know which of the two it is.
    parents, sizes = {0: (), 1: (0,), 2: (1,)}, (2, 2, 2)
    ends = np.array([[0.9, 0.1], [0.1, 0.9]])
    vertices = {0: ends, 1: np.array([ends, ends]), 2: np.array([ends, ends])}
    slots = Slots.of(vertices)
    functions = [
        Function((0, 2), np.array([[1.0, -1.0], [-1.0, 1.0]])),
        Function((1,), np.array([0.3, -0.1])),
    ]
    sums = Sums(slots, parents, sizes, functions, [1.0, 2.0])
    choices = np.array([[k == c for c in choice for k in (0, 1)] for choice in product((0, 1), repeat=5)])
    scores = sums.passage(choices, Budget.of(5.0)).total
    everything = sums.passage(slots.start[None], Budget.of(5.0)).total[0]
    assert everything > scores.max() + 0.01


def test_demands_are_not_negative_in_a_model() -> None:
    network = chain(Sentence.of(B, Fraction(1, 2), Fraction(3, 5)))
    part = credal_part(network, Compiled(network).graph)
    assert part is not None
    scores = scores_of(part[0], Query(A, TRUE), part[1])
    assert scores is not None
    for chance, is_model in ((0.4, True), (0.1, False), (0.6, False)):
        law = np.array([1.0 - (0.3 + 0.6 * chance), 0.3 + 0.6 * chance])
        least = min(float(law @ demand.values) for demand in scores.demands)
        assert (least >= 0.0) is is_model


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "end"), [(2, End.LOWER), (23, End.UPPER)])
def test_a_proof_that_is_stopped_at_every_third_part_ends_and_is_true(
    monkeypatch: pytest.MonkeyPatch, seed: int, end: End
) -> None:
    network, asked = drawn(np.random.default_rng([5, seed]))
    part = Compiled(network).credal_part
    assert part is not None
    proving, refuted, looks = _proving(*part, asked, VACUOUS, end, Budget.of()), Proving._refuted, count(1)

    def stopped(self: Proving, box: _Box) -> object:
        if next(looks) % 3 == 0:
            raise OutOfTime
        return refuted(self, box)

    monkeypatch.setattr(Proving, "_refuted", stopped)
    runs = 0
    while proving.value is None or proving.bound > proving.value + 1e-3:
        proving.run(1e-3)
        runs += 1
        assert runs < 30, "what was proved is proved again and again"
    assert runs > 1
    exact = Engine(network).query(asked, Options(1e-4, 2.0, "joint"))
    # The search for a lower end is for the upper one of the complement.
    low, high = exact.upper_witnessed, exact.upper
    if end is End.LOWER:
        assert exact.lower_witnessed is not None
        low, high = 1.0 - exact.lower_witnessed, 1.0 - exact.lower
    assert low is not None
    assert low - 1e-7 <= proving.bound and proving.value <= high + 1e-6


def test_a_slot_contributes_what_the_score_changes_by_if_its_block_takes_it() -> None:
    rng = np.random.default_rng(11)
    parents, sizes = {0: (), 1: (0,), 2: (0, 1)}, (2, 3, 2)
    shapes = {x: (*(sizes[p] for p in mine), 2, sizes[x]) for x, mine in parents.items()}
    vertices = {x: rng.dirichlet(np.ones(shape[-1]), shape[:-1]) for x, shape in shapes.items()}
    functions = [Function((0, 2), rng.normal(size=(2, 2))), Function((1,), rng.normal(size=3))]
    slots = Slots.of(vertices)
    sums = Sums(slots, parents, sizes, functions, [1.0, 0.5])

    def score(row: np.ndarray) -> float:
        a, b, c = slots.tables(row).values()
        law = np.einsum("a,ab,abc->abc", a, b, c)
        first, second = (f.values for f in functions)
        return float(np.einsum("abc,ac->", law, first) + 0.5 * np.einsum("abc,b->", law, second))

    rows = slots.best_in_block(rng.random((7, len(slots.start))))
    passage = sums.passage(rows, Budget.of(5.0))
    kept = np.arange(7) % 3 != 1
    totals, losses = sums.contributions(rows[kept], passage.at(kept))
    assert np.abs(losses).max() < 1e-14
    for row, total in zip(rows[kept], totals, strict=True):
        for block, first in enumerate(slots.firsts):
            other = row.copy()
            other[[first, first + 1]] = row[[first + 1, first]]
            chosen = first + int(row[first + 1])
            change = total[2 * first + 1 - chosen] - total[chosen]
            assert score(other) - score(row) == pytest.approx(change, abs=1e-13), block


def proving_of(seed: int, end: End) -> Proving:
    network, asked = drawn(np.random.default_rng([5, seed]))
    part = Compiled(network).credal_part
    assert part is not None
    return _proving(*part, asked, VACUOUS, end, Budget.of())


def test_the_terms_of_a_cut_are_those_of_its_halves() -> None:
    proving, budget, rng = proving_of(2, End.LOWER), Budget.of(), np.random.default_rng(1)
    box = _Box(proving._credal, proving._scores, 0.6, proving._vertices, None)
    columns = box.columns(box.random_rows(9, rng), budget)
    terms = box.terms(box.nearest_rows(columns), budget)
    blocks = np.flatnonzero(box._may_cut)
    assert len(blocks) > 3
    for block in blocks:
        for half, moved in zip(box.halves(int(block), 0.3), terms.cut(int(block), 0.3), strict=True):
            there = _Box(proving._credal, proving._scores, 0.6, half, None)
            found = there.columns(there.nearest_rows(columns), budget)
            assert moved[0] == pytest.approx([c.score(0.6) for c in found], abs=1e-12)
            assert np.abs(moved[1:].T - [c.demands for c in found]).max() < 1e-12


@pytest.mark.slow
def test_parts_that_are_left_and_done_cover_all_tables() -> None:
    proving, rng = proving_of(2, End.LOWER), np.random.default_rng(4)
    proving.run(1e-3)
    assert proving._left is not None and len(proving._left.done) > 1, "nothing was cut"
    boxes = [*proving._left.done, *proving._left.parts]
    for _ in range(200):
        tables = {x: proving._drawn(mine) for x, mine in proving._vertices.items()}
        picked = {
            x: np.where(rng.random((*t.shape[:-1], 1)) < 0.5, t, mine[..., 0, :])
            for (x, t), mine in zip(tables.items(), proving._vertices.values(), strict=True)
        }
        assert any(
            all(
                (picked[x] >= m.min(axis=-2) - 1e-12).all() and (picked[x] <= m.max(axis=-2) + 1e-12).all()
                for x, m in box.items()
            )
            for box in boxes
        )


def test_a_small_margin_is_searched_where_nothing_can_be_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credalog.methods.vertices.lagrange.LEAST_SHARE", 1e6)
    monkeypatch.setattr(_Box, "candidates", lambda *_: iter(()))
    found = by_multipliers(chain(Sentence.of(B, Fraction(0), Fraction(3, 5))), Query(A, B))
    assert found.upper.bound - 1e-3 <= 3 / 4 <= found.upper.bound
