"""One search tree, several workers: the same bounds as alone, whatever the workers do."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from credalog.errors import CredalogError
from credalog.lcn import parse
from credalog.methods.answer import Answer, Options, Progress
from credalog.methods.automatic import Engine
from credalog.methods.cliques import parallel_search
from credalog.methods.cliques import search as searching
from credalog.network.sentences import Network, Query
from credalog.numbers.interval import End, Status
from credalog.numbers.tolerances import FEASIBILITY
from credalog.program.branch import BranchAndBound, Explored
from credalog.program.workers import Workers, of_processes
from random_networks import KINDS, random_case

HARD = """
0.2 <= P(a) <= 0.4
0.6 <= P(b | a) <= 0.9
0.1 <= P(b | !a) <= 0.3
0.6 <= P(c | b) <= 0.9
0.1 <= P(c | !b) <= 0.3
0.3 <= P(d | b & c) <= 0.5
0.1 <= P(d | b & !c) <= 0.2
0.6 <= P(d | !b & c) <= 0.8
0.2 <= P(d | !b & !c) <= 0.4
0.3 <= P(c) <= 0.45
"""


HARDER = "\n".join(
    [
        "0.2 <= P(a0) <= 0.4",
        *(f"0.6 <= P(a{i} | a{i - 1}) <= 0.9\n0.1 <= P(a{i} | !a{i - 1}) <= 0.3" for i in range(1, 5)),
        "0.3 <= P(b | a1 & a4) <= 0.5\n0.1 <= P(b | a1 & !a4) <= 0.2",
        "0.6 <= P(b | !a1 & a4) <= 0.8\n0.2 <= P(b | !a1 & !a4) <= 0.4",
        "0.3 <= P(a4) <= 0.5",
    ]
)


class Inline(Executor):
    """Do every piece of work at once, after what a test does to it."""

    def __init__(self, made: Callable[[Any], Any] = lambda done: done) -> None:
        self.made, self.calls = made, 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        self.calls += 1
        future: Future[Any] = Future()
        try:
            future.set_result(self.made(fn(*args)))
        except RuntimeError as error:
            future.set_exception(error)
        return future


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share every search from its first leaf on, in short pieces."""
    monkeypatch.setattr(searching, "FIRST_ALONE", 0.0)
    monkeypatch.setattr(parallel_search, "SLICE_SECONDS", 0.05)
    monkeypatch.setattr(parallel_search, "MOST_NODES", 5)


def asked(network: Network, query: Query, workers: Workers | None, seconds: float = 1.0) -> Answer | None:
    options = Options(timeout=seconds, method="factorized", tolerance=1e-5, workers=workers)
    try:
        return Engine(network).query(query, options)
    except CredalogError:
        return None


def assert_agree(alone: Answer, together: Answer, within: float = 1e-4) -> None:
    """Check that neither answer excludes what the other attains."""
    for end in End:
        one, other = alone.interval[end], together.interval[end]
        for bounding, attaining in ((one, other), (other, one)):
            if attaining.witnessed is not None:
                assert end.sign * (bounding.bound - attaining.witnessed) <= FEASIBILITY
    if Status.EXACT is alone.status is together.status:
        assert abs(alone.lower - together.lower) <= 2 * within
        assert abs(alone.upper - together.upper) <= 2 * within


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_workers_find_what_one_process_finds(kind: str) -> None:
    for seed in range(20, 23):
        case = random_case(kind, seed)
        alone = asked(case.network, case.query, None, 0.5)
        together = asked(case.network, case.query, Workers(2, Inline), 0.7)
        assert (alone is None) == (together is None)
        if alone is not None and together is not None:
            assert_agree(alone, together)


@pytest.mark.slow
def test_a_hard_search_is_shared_and_closed() -> None:
    executor = Inline()
    model = parse(HARD)
    engine, query = model._engine(Options().markov), model.question("P(a | d)")
    options = Options(timeout=20.0, method="factorized", tolerance=1e-4)
    alone = engine.query(query, options)
    together = engine.query(query, replace(options, workers=Workers(2, lambda: executor)))
    assert executor.calls > 2
    assert alone.status is together.status is Status.EXACT
    assert_agree(alone, together)
    assert together.interval.lower.is_checked and together.interval.upper.is_checked


# ---- workers that lie, fail and die --------------------------------------------------------------------


def misled(hint: Any, rng: np.random.Generator) -> Any:
    """Change where the next one is to begin: the ratios to cut and where, the basis, the point."""
    cuts = [(ratio, float(rng.normal())) for ratio, _ in hint.open]
    rng.shuffle(cuts)
    rows = bytes(rng.permutation(list(hint.basis.rows)).tolist())
    point = None if hint.point is None else hint.point * rng.normal(size=len(hint.point))
    return hint._replace(open=tuple(cuts), basis=hint.basis._replace(rows=rows), point=point)


def changed(part: Any, rng: np.random.Generator) -> Any:
    """Change what a worker tells at random: cuts, their order, proofs and their multipliers."""
    if isinstance(part, parallel_search._Cut):
        parts = tuple(changed(one, rng) for one in part.parts)
        draw = rng.random()
        if draw < 0.2:
            parts = parts[:-1]
        elif draw < 0.4:
            parts = parts[::-1]
        value = part.value if rng.random() < 0.7 else float(rng.random())
        return part._replace(parts=parts, value=value)
    if part.hint is not None:
        part = part._replace(hint=misled(part.hint, rng))
    if part.proof is None:
        return part
    proof = part.proof._replace(value=part.proof.value + float(rng.normal()))
    if rng.random() < 0.7:
        wrong = proof.multipliers * rng.choice([-1.0, 0.5, 1.0, 3.0, 1e6, inf], len(proof.multipliers))
        proof = proof._replace(multipliers=wrong)
    return part._replace(proof=proof)


@pytest.mark.slow
def test_no_lie_of_a_worker_makes_a_wrong_bound() -> None:
    model = parse(HARD)
    engine, query = model._engine(Options().markov), model.question("P(a | d)")
    options = Options(timeout=20.0, method="factorized", tolerance=1e-4)
    truth = engine.query(query, options)
    for seed in range(4):
        rng = np.random.default_rng(seed)

        def lying(done: Any, rng: np.random.Generator = rng) -> Any:
            if done is None:
                # It was asked to import what it needs.
                return done
            witness = done.witness
            if witness is not None:
                witness = replace(witness, value=witness.value + float(rng.normal()))
            parts = tuple(changed(part, rng) for part in done.parts)
            return done._replace(parts=parts, witness=witness)

        workers = Workers(2, lambda lying=lying: Inline(lying))  # type: ignore[misc]
        found = engine.query(query, replace(options, timeout=1.0, workers=workers))
        assert_agree(truth, found)


@pytest.mark.slow
def test_lost_work_is_done_by_the_asking_process() -> None:
    def lost(_: Any) -> Any:
        raise RuntimeError("the worker is gone")

    model = parse(HARD)
    engine, query = model._engine(Options().markov), model.question("P(a | d)")
    options = Options(timeout=20.0, method="factorized", tolerance=1e-4)
    found = engine.query(query, replace(options, workers=Workers(2, lambda: Inline(lost))))
    assert found.status is Status.EXACT


def test_a_leaf_that_is_given_away_counts_until_it_is_settled() -> None:
    tree = BranchAndBound("root", 0.1)
    number, bound, leaf = tree.take()
    assert (bound, leaf, tree.bound, tree.is_exhausted, len(tree)) == (0.1, "root", 0.1, False, 0)
    tree.give_back(number)
    number, *_ = tree.take()
    tree.settle(number, Explored(((0.2, "left"), (0.5, "right")), 0.3), lambda: 0.4)
    assert (tree.bound, list(tree.leaves), tree.closed) == (0.2, ["left"], 0.3)


def test_who_has_had_enough_gets_what_was_found() -> None:
    heard: list[object] = []

    def stop(progress: object) -> None:
        heard.append(progress)
        if len(heard) > 10:
            raise KeyboardInterrupt

    model = parse(HARD)
    engine, query = model._engine(Options().markov), model.question("P(a | d)")
    options = Options(timeout=20.0, method="factorized", tolerance=1e-9, report=stop)
    found = engine.query(query, replace(options, workers=Workers(2, Inline)))
    assert found.interrupted


@pytest.mark.slow
def test_a_killed_process_changes_nothing_but_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_search, "MOST_NODES", 40)
    model, workers = parse(HARDER), of_processes(2)
    heard: list[Progress] = []
    killed: dict[int, int] = {}

    def kill_one(progress: Progress) -> None:
        heard.append(progress)
        processes = list(getattr(workers._executor, "_processes", None) or ())
        if progress.leaves > 10 and processes and not killed:
            killed[processes[0]] = progress.leaves
            os.kill(processes[0], signal.SIGKILL)

    engine, query = model._engine(Options().markov), model.question("P(a0 | b)")
    options = Options(timeout=60.0, method="factorized", tolerance=1e-2)
    alone = engine.query(query, options)
    together = engine.query(query, replace(options, report=kill_one, workers=workers))
    assert_agree(alone, together, 1e-2)
    (before,) = killed.values()
    assert heard[-1].leaves > before
    assert alone.status is together.status is Status.EXACT
