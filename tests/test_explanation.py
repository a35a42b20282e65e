from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from credalog.errors import ImpossibleEvidence, InconsistentNetwork
from credalog.inference.answer import Options
from credalog.inference.exact import Engine
from credalog.inference.explanation import (
    MOST_TIES,
    BestAssignments,
    Criterion,
    RankedAssignment,
    best_assignments,
)
from credalog.logic import TRUE, Formula, Is, Variable, conjunction
from credalog.model import Query
from judging import truth_of
from oracle import Verdict
from random_networks import Case, random_case

INSIDE = 1e-6
"""How far brute force itself may be from the truth."""

OPTIONS = Options(timeout=60.0)


@dataclass(frozen=True)
class Truth:
    """The posterior interval of every assignment, by brute force."""

    intervals: dict[tuple[str, ...], tuple[float, float]]

    def score(self, values: tuple[str, ...], alpha: float) -> float:
        lower, upper = self.intervals[values]
        return alpha * upper + (1.0 - alpha) * lower

    def best(self, alpha: float) -> float:
        return max(self.score(values, alpha) for values in self.intervals)


@dataclass(frozen=True)
class Task:
    """A random network, the variables to explain, and what was observed."""

    case: Case
    chosen: tuple[Variable, ...]
    given: Formula

    def explain(self, criterion: Criterion, **how: float) -> BestAssignments:
        engine = Engine(self.case.network)
        return best_assignments(engine, self.chosen, self.given, OPTIONS, criterion=criterion, **how)  # type: ignore[arg-type]

    def truth(self) -> Truth | None:
        """Ask brute force for every assignment; None where some answer is missing."""
        found = {}
        for values in product(*(v.values for v in self.chosen)):
            claim = conjunction(Is(v, value) for v, value in zip(self.chosen, values, strict=True))
            truth = truth_of(replace(self.case, query=Query(claim, self.given)), 10.0)
            if truth.verdict is not Verdict.ANSWERED or truth.upper.attained is None:
                return None
            found[values] = (truth.lower.proved, truth.upper.proved)
        return Truth(found)


def random_task(kind: str, seed: int, largest: int) -> Task:
    """Draw some variables to explain and, in two of three tasks, something observed."""
    case = random_case(kind, seed, smallest=3, largest=largest)
    rng = np.random.default_rng(seed)
    shuffled = [case.network.variables[i] for i in rng.permutation(len(case.network.variables))]
    given: Formula = TRUE
    if seed % 3:
        observed = shuffled.pop()
        given = Is(observed, observed.values[-1])
    chosen = shuffled if seed % 2 else shuffled[:2]
    return Task(case, tuple(chosen), given)


def values_of(found: RankedAssignment, chosen: tuple[Variable, ...]) -> tuple[str, ...]:
    return tuple(found.values[v] for v in chosen)


def check_intervals(task: Task, found: BestAssignments, truth: Truth) -> None:
    for one in found.ranked:
        lower, upper = truth.intervals[values_of(one, task.chosen)]
        assert one.interval.lower.bound <= lower + INSIDE
        assert one.interval.upper.bound >= upper - INSIDE
        if one.interval.upper.witnessed is not None:
            assert one.interval.upper.witnessed <= upper + INSIDE
        if one.interval.lower.witnessed is not None:
            assert one.interval.lower.witnessed >= lower - INSIDE


def check_best(task: Task, found: BestAssignments, truth: Truth, alpha: float) -> None:
    best = truth.best(alpha)
    assert found.best is not None
    assert found.is_proved, (found.gap, str(task.case))
    slack = 2 * OPTIONS.tolerance * best + INSIDE
    assert truth.score(values_of(found.best, task.chosen), alpha) >= best - slack
    assert found.bound >= best - INSIDE
    listed = {values_of(one, task.chosen) for one in found.ranked}
    tied = {values for values in truth.intervals if truth.score(values, alpha) >= best - INSIDE / 100}
    assert tied <= listed or len(listed) > MOST_TIES


CREDAL = [("credal", seed) for seed in range(8)]
CREDAL += [("deterministic", seed) for seed in range(4)]
CREDAL += [("bayesian", seed) for seed in range(4)]
OTHERS = [("overlapping", seed) for seed in range(4)]
OTHERS += [("free", 0), ("free", 1), ("cyclic", 1), ("multivalued", 1), ("linear", 1), ("declared", 1)]


@pytest.mark.parametrize(("kind", "seed"), CREDAL + OTHERS)
def test_the_best_assignment_is_that_of_brute_force(kind: str, seed: int) -> None:
    task = random_task(kind, seed, 4 if kind in ("credal", "deterministic", "bayesian") else 3)
    try:
        truth = task.truth()
    except ValueError:
        pytest.skip("too many vertices for brute force")
    if truth is None:
        with pytest.raises((InconsistentNetwork, ImpossibleEvidence)):
            task.explain(Criterion.MAXIMAX)
        return
    for criterion, alpha in ((Criterion.MAXIMAX, 1.0), (Criterion.MAXIMIN, 0.0), (Criterion.HURWICZ, 0.3)):
        found = task.explain(criterion, alpha=alpha)
        check_intervals(task, found, truth)
        check_best(task, found, truth, alpha)
