"""The experiment: random tasks, all methods on each.

Input: transactions. Output: `Draw`s of ten tasks with the rules' intervals measured on them, and the F1
score of every method on every task.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from experiments.fraud.bayes import NaiveBayes, Reals, train
from experiments.fraud.history import antecedents
from experiments.fraud.methods import Evidence, predictions
from experiments.fraud.transactions import FEATURES, Flags, Integers, Transactions

__all__ = ["READINGS", "Draw", "Problem", "Task", "draw_tasks", "evidence_of", "prepare", "scores"]

TASKS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The data with what does not depend on the task: antecedents, and which rows may train."""

    transactions: Transactions
    holds: Flags
    single: Flags


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A random half of the training accounts and one of the test accounts, as flags on rows."""

    training: Flags
    test: Flags


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """Ten tasks, and each rule's least and greatest P(fraud | antecedent) over their test sets."""

    tasks: tuple[Task, ...]
    lower: Reals
    upper: Reals


def prepare(transactions: Transactions) -> Problem:
    """Split by account: those with one transaction train, the others test."""
    single = np.bincount(transactions.account)[transactions.account] == 1
    return Problem(transactions, antecedents(transactions), np.asarray(single))


def draw_tasks(problem: Problem, rng: np.random.Generator) -> Draw:
    """Draw ten tasks and measure the rules on their test sets, as the paper does."""
    tasks = tuple(_task(problem, rng) for _ in range(TASKS))
    measured = np.array([_rule_probabilities(problem, task.test) for task in tasks])
    return Draw(tasks, measured.min(axis=0), measured.max(axis=0))


def _task(problem: Problem, rng: np.random.Generator) -> Task:
    return Task(_half(problem, problem.single, rng), _half(problem, ~problem.single, rng))


def _half(problem: Problem, rows: Flags, rng: np.random.Generator) -> Flags:
    """Choose half of the accounts of some rows, and all rows of the chosen."""
    accounts = np.unique(problem.transactions.account[rows])
    chosen = np.zeros(int(problem.transactions.account.max()) + 1, dtype=np.bool_)
    chosen[rng.choice(accounts, len(accounts) // 2, replace=False)] = True
    return np.asarray(chosen[problem.transactions.account])


def _rule_probabilities(problem: Problem, rows: Flags) -> Reals:
    """Return P(fraud | antecedent) for each rule."""
    holds, fraud = problem.holds[rows], problem.transactions.fraud[rows]
    return np.asarray((fraud[:, None] & holds).sum(axis=0) / holds.sum(axis=0))


Reading = Callable[[Problem, Task], tuple[Integers, tuple[int, ...]]]
"""A reading of "the features": their categories for all rows, and how many categories each has."""


def _raw(problem: Problem, _: Task) -> tuple[Integers, tuple[int, ...]]:
    return problem.transactions.categories, tuple(len(values) for values in problem.transactions.values)


def _with_deciles(problem: Problem, task: Task) -> tuple[Integers, tuple[int, ...]]:
    categories, sizes = problem.transactions.categories.copy(), list(_raw(problem, task)[1])
    for feature in ("amount", "field3"):
        i, numbers = FEATURES.index(feature), problem.transactions.numbers(feature)
        cuts = np.quantile(numbers[task.training], np.arange(1, 10) / 10)
        categories[:, i], sizes[i] = np.searchsorted(cuts, numbers), 10
    return categories, tuple(sizes)


def _without_wide(problem: Problem, task: Task) -> tuple[Integers, tuple[int, ...]]:
    kept = [i for i, feature in enumerate(FEATURES) if feature not in ("zip1", "field3")]
    categories, sizes = _raw(problem, task)
    return categories[:, kept], tuple(sizes[i] for i in kept)


READINGS: dict[str, tuple[str, Reading]] = {
    "C1": ("all 15 features as raw categories", _raw),
    "C2": ("amount and field3 in training deciles", _with_deciles),
    "C3": ("without zip1 and field3", _without_wide),
}
"""What "the features" may mean; the paper does not say."""


def evidence_of(problem: Problem, draw: Draw, task: Task, reading: str = "C1") -> tuple[Evidence, NaiveBayes]:
    """Train naive Bayes on a task and collect what the methods know of its test rows."""
    categories, sizes = READINGS[reading][1](problem, task)
    bayes = train(categories[task.training], problem.transactions.fraud[task.training], sizes)
    ratio = bayes.log_ratio(categories[task.test])
    evidence = Evidence(ratio, problem.holds[task.test], bayes.prior, draw.lower, draw.upper)
    return evidence, bayes


def scores(problem: Problem, draw: Draw, reading: str = "C1") -> dict[str, Reals]:
    """Return every method's F1 score on each of the ten tasks."""
    per_task = [_scores(problem, draw, task, reading) for task in draw.tasks]
    return {name: np.array([task[name] for task in per_task]) for name in per_task[0]}


def _scores(problem: Problem, draw: Draw, task: Task, reading: str) -> dict[str, float]:
    evidence, _ = evidence_of(problem, draw, task, reading)
    fraud = problem.transactions.fraud[task.test]
    return {name: _f1(called, fraud) for name, called in predictions(evidence).items()}


def _f1(called: Flags, fraud: Flags) -> float:
    return float(2 * (called & fraud).sum() / (called.sum() + fraud.sum()))
