"""Compiled loops over an elimination: against the same numbers side by side, and all choices of vertices."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from credalog.methods.vertices import sweeps
from credalog.methods.vertices.expectations import Function, Slots, Sums
from credalog.methods.vertices.sweeps import Pace
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.jit import can_compile, interpreted

PARENTS, SIZES = {0: (), 1: (0,), 2: (1,), 3: (0, 2)}, (2, 3, 2, 2)


def drawn(seed: int, shift: float = 0.0) -> tuple[Sums, list[np.ndarray]]:
    """Draw a loop of four tables with two vertices for most blocks, and functions that are not local."""
    rng = np.random.default_rng(seed)
    shapes = {x: (*(SIZES[p] for p in mine), 2, SIZES[x]) for x, mine in PARENTS.items()}
    vertices = {x: rng.dirichlet(np.ones(shape[-1]), shape[:-1]) for x, shape in shapes.items()}
    vertices[2][1, 1] = vertices[2][1, 0]
    values = [rng.normal(size=2) + shift, rng.normal(size=(2, 2)), rng.normal(size=(3, 2))]
    functions = [Function(scope, f) for scope, f in zip(((3,), (0, 2), (1, 3)), values, strict=True)]
    return Sums(Slots.of(vertices), PARENTS, SIZES, functions, [1.0, 0.5, 0.7]), values


def scores(seed: int, shift: float = 0.0) -> dict[bytes, float]:
    """Return the expectation under every choice of vertices, by plain sums over all worlds."""
    sums, (first, second, third) = drawn(seed, shift)
    found, slots = {}, sums.slots
    allowed = [range(f, f + n) for f, n in zip(slots.firsts, slots.lengths, strict=True)]
    for picks in product(*([s for s in block if slots.start[s]] for block in allowed)):
        row = np.zeros(len(slots.start), dtype=np.bool_)
        row[list(picks)] = True
        law = np.einsum("a,ab,bc,acd->abcd", *slots.tables(row).values())
        score = np.einsum("abcd,d->", law, first) + 0.5 * np.einsum("abcd,ac->", law, second)
        found[row.tobytes()] = float(score + 0.7 * np.einsum("abcd,bd->", law, third))
    return found


def nodes(sums: Sums, seed: int) -> np.ndarray:
    """Draw nodes: in each block some of its vertices."""
    rng, slots = np.random.default_rng(seed), sums.slots
    rows = slots.best_in_block(rng.random((9, len(slots.start)))) | (rng.random((9, len(slots.start))) < 0.5)
    return np.asarray((rows & slots.start) | slots.best_in_block(np.where(slots.start, 1.0, 0.0) + 0 * rows))


@pytest.mark.parametrize("seed", range(6))
def test_a_sweep_finds_what_is_found_side_by_side(seed: int) -> None:
    sums, _ = drawn(seed)
    rows = nodes(sums, seed)
    above = float(np.median(sums.passage(rows, Budget.of()).total))
    expected = sums.swept(rows, Budget.of(), above=above)
    with interpreted():
        found = sums.swept(rows, Budget.of(), above=above, compiles=True)
    assert (expected.totals == 0.0).all(axis=1).any(), "some node is not looked at closely"
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-13)


@pytest.mark.parametrize("seed", range(8))
def test_a_search_finds_a_positive_choice_just_where_there_is_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A look at the clock after every node: what is left is taken up again.
    monkeypatch.setattr(sweeps, "AT_ONCE", 1 if seed % 2 else 1 << 20)
    greatest = max(scores(seed).values())
    for shift, is_positive in ((-greatest + 1e-6, True), (-greatest - 1e-6, False)):
        (sums, _), of = drawn(seed, shift), scores(seed, shift)
        assert (max(of.values()) > 0.0) is is_positive
        with interpreted():
            found = sums.searched(sums.slots.start, Budget.of())
        assert (found is not None) is is_positive
        assert found is None or of[found.tobytes()] > 0.0


def test_a_score_within_the_roundings_of_zero_proves_nothing() -> None:
    sums, _ = drawn(0)
    sums.rounding = 10.0
    with interpreted(), pytest.raises(OutOfTime):
        sums.searched(sums.slots.start, Budget.of())


def test_a_search_keeps_its_time() -> None:
    sums, _ = drawn(1)
    with interpreted(), pytest.raises(OutOfTime):
        sums.searched(sums.slots.start, Budget.of(0.0))


@pytest.mark.skipif(not can_compile(), reason="numba is not installed")
def test_compiled_loops_do_as_they_do_as_they_stand() -> None:
    sums, _ = drawn(2)
    rows = nodes(sums, 2)
    with interpreted():
        expected = sums.swept(rows, Budget.of(), compiles=True)
        searched = sums.searched(sums.slots.start, Budget.of())
    found = sums.swept(rows, Budget.of(), compiles=True)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-13)
    again = sums.searched(sums.slots.start, Budget.of())
    assert (again is None) is (searched is None)


def test_loops_are_compiled_for_long_searches_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "can_compile", lambda: True)
    monkeypatch.setattr(sweeps, "is_ready", lambda _: False)
    assert not any(Pace(Budget.of()).compiles for _ in range(3))
    long, short = Pace(Budget.of(1000.0)), Pace(Budget.of(sweeps.COMPILING / 2))
    assert [[pace.compiles for _ in range(sweeps.LONG + 1)][-1] for pace in (long, short)] == [True, False]


def test_nothing_is_compiled_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "can_compile", lambda: False)
    pace = Pace(Budget.of(1000.0))
    assert not any(pace.compiles for _ in range(sweeps.LONG + 9))
