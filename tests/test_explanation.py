from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from credalog import parse
from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork, UnknownName
from credalog.methods.answer import Options, Progress
from credalog.methods.automatic import Engine
from credalog.network.formulas import TRUE, Formula, Is, Variable, conjunction
from credalog.network.sentences import Query
from credalog.questions.map import MOST_TIES, BestAssignments, Criterion, RankedAssignment, best_assignments
from credalog.questions.products import Products
from judging import truth_of
from oracle import Verdict
from random_networks import Case, random_case

pytestmark = pytest.mark.slow

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
        """Ask brute force for every assignment; None where there is no model, or none of the evidence."""
        found = {}
        for values in product(*(v.values for v in self.chosen)):
            claim = conjunction(Is(v, value) for v, value in zip(self.chosen, values, strict=True))
            truth = truth_of(replace(self.case, query=Query(claim, self.given)), 10.0)
            if truth.verdict is not Verdict.ANSWERED:
                return None
            for end in (truth.lower, truth.upper):
                if end.attained is None or abs(end.attained - end.proved) > INSIDE:
                    raise ValueError("brute force did not finish")
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
OTHERS += [("free", 1), ("free", 2), ("cyclic", 0), ("cyclic", 2), ("multivalued", 1), ("linear", 1)]
OTHERS += [("declared", 0), ("declared", 3)]


@pytest.mark.parametrize(("kind", "seed"), CREDAL + OTHERS)
def test_the_best_assignment_is_that_of_brute_force(kind: str, seed: int) -> None:
    task = random_task(kind, seed, 4 if kind in ("credal", "deterministic", "bayesian") else 3)
    try:
        truth = task.truth()
    except ValueError as reason:
        pytest.skip(str(reason))
    if truth is None:
        with pytest.raises((InconsistentNetwork, ImpossibleEvidence)):
            task.explain(Criterion.MAXIMAX)
        return
    for criterion, alpha in ((Criterion.MAXIMAX, 1.0), (Criterion.MAXIMIN, 0.0), (Criterion.HURWICZ, 0.3)):
        found = task.explain(criterion, alpha=alpha)
        check_intervals(task, found, truth)
        check_best(task, found, truth, alpha)


@pytest.mark.parametrize(("kind", "seed"), [("credal", 1), ("credal", 2), ("deterministic", 3), ("free", 1)])
def test_the_undominated_assignments_are_those_of_brute_force(kind: str, seed: int) -> None:
    task = random_task(kind, seed, 3)
    truth = task.truth()
    assert truth is not None
    found = task.explain(Criterion.DOMINANCE)
    assert found.is_proved
    floor = max(lower for lower, _ in truth.intervals.values())
    certain = {values for values, (_, upper) in truth.intervals.items() if upper >= floor + 1e-3}
    possible = {values for values, (_, upper) in truth.intervals.items() if upper >= floor - 1e-3}
    listed = {values_of(one, task.chosen) for one in found.ranked}
    assert certain <= listed <= possible


@pytest.mark.parametrize("criterion", [Criterion.MAXIMAX, Criterion.MAXIMIN])
def test_the_best_three_are_those_of_brute_force(criterion: Criterion) -> None:
    task = random_task("credal", 7, 4)
    truth = task.truth()
    assert truth is not None
    alpha = float(criterion is Criterion.MAXIMAX)
    found = task.explain(criterion, top=3)
    check_intervals(task, found, truth)
    expected = sorted((truth.score(values, alpha) for values in truth.intervals), reverse=True)[:3]
    scores = [truth.score(values_of(one, task.chosen), alpha) for one in found.ranked[:3]]
    assert scores == pytest.approx(expected, abs=2e-4)


CHAIN = """
0.6 <= P(a) <= 0.7
0.8 <= P(b | a) <= 0.9
0.1 <= P(b | not a) <= 0.3
"""


def test_a_full_assignment_of_a_credal_network_is_a_product_of_ends() -> None:
    found = parse(CHAIN).map()
    assert found.best is not None and found.is_proved and found.is_complete
    assert str(found.best) == "a, b"
    assert found.best.interval.lower.bound == pytest.approx(0.6 * 0.8)
    assert found.best.interval.upper.bound == pytest.approx(0.7 * 0.9)


def test_every_assignment_of_a_symmetric_network_ties() -> None:
    found = parse("P(a) = 0.5\nP(b) = 0.5").map()
    assert found.is_proved and found.is_complete
    assert {str(one) for one in found.ties()} == {"a, b", "a, not b", "not a, b", "not a, not b"}


def test_more_ties_than_are_listed_are_admitted() -> None:
    found = parse("\n".join(f"P(x{i}) = 0.5" for i in range(8))).map()
    assert found.is_proved and not found.is_complete
    assert len(found.ranked) == 1 + MOST_TIES


def test_a_list_longer_than_the_assignments_is_complete() -> None:
    found = parse(CHAIN).map(top=7)
    assert len(found.ranked) == 4 and found.is_proved and found.is_complete


@pytest.mark.parametrize("asked", [{"top": 0}, {"alpha": 2.0}, {"alpha": -0.5}])
def test_a_list_of_nothing_and_an_optimism_beyond_one_are_refused(asked: dict[str, float]) -> None:
    with pytest.raises(CredalogError, match=r"at least one|between 0 and 1"):
        best_assignments(Engine(parse(CHAIN).ground()), criterion=Criterion.HURWICZ, **asked)  # type: ignore[arg-type]


def test_a_short_opening_leaves_nothing_behind() -> None:
    # Asked with hardly any time first, the same model answers as exactly as a fresh one.
    lines = (
        "0.1 <= P(a) <= 0.3\n0.2 <= P(b) <= 0.6\n0.2 <= P(a or b) <= 0.7 ; tau=False\n0.3 <= P(c | b) <= 0.4"
    )
    asked, fresh = parse(lines), parse(lines)
    asked.map(timeout=1e-3)
    found, expected = asked.map(), fresh.map()
    assert found.is_proved and str(found.best) == str(expected.best)
    assert found.best is not None and expected.best is not None
    assert found.best.score_lower == pytest.approx(expected.best.score_lower, rel=1e-3)


def test_criteria_disagree_where_caution_matters() -> None:
    gamble = parse(
        "variable bet in {sure, risky, none}\n"
        "0.3 <= P(bet = sure) <= 0.4\n0.1 <= P(bet = risky) <= 0.6\nP(bet = none) <= 0.5"
    )
    assert str(gamble.map(criterion="maximax").best) == "bet = risky"
    assert str(gamble.map(criterion="maximin").best) == "bet = sure"
    assert str(gamble.map(criterion="hurwicz", alpha=0.1).best) == "bet = sure"
    assert str(gamble.map(criterion="hurwicz", alpha=0.9).best) == "bet = risky"


def test_twenty_five_variables_in_a_chain_are_explained_by_dynamic_programming() -> None:
    lines = ["0.5 <= P(x0) <= 0.6"]
    for i in range(24):
        lines += [f"0.8 <= P(x{i + 1} | x{i}) <= 0.9", f"0.1 <= P(x{i + 1} | not x{i}) <= 0.3"]
    found = parse("\n".join(lines)).map()
    assert found.best is not None and found.is_proved
    assert all(value == "true" for value in found.best.values.values())
    assert found.best.interval.upper.bound == pytest.approx(0.6 * 0.9**24)


def test_evidence_that_no_model_allows_is_named() -> None:
    with pytest.raises(ImpossibleEvidence):
        parse("P(a) = 0\n0.1 <= P(b) <= 0.2").map(["b"], given="a")


def test_a_network_without_models_is_named() -> None:
    with pytest.raises(InconsistentNetwork):
        parse("P(a) >= 0.8\nP(b) >= 0.5\nP(a or b) <= 0.7").map()


def test_an_unknown_or_observed_variable_is_refused() -> None:
    chain = parse(CHAIN)
    with pytest.raises(UnknownName):
        chain.map(["c"])
    with pytest.raises(CredalogError, match="observed"):
        chain.map(["a"], given="a")
    with pytest.raises(CredalogError, match="criterion"):
        chain.map(criterion="minimin")  # type: ignore[arg-type]


def test_an_interrupted_comparison_searches_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def stop(search: object) -> None:
        begun.append(search)
        raise KeyboardInterrupt

    monkeypatch.setattr("credalog.questions.map._BestFirst._complete_greedily", stop)
    found = parse(CHAIN).map(criterion="dominance")
    assert len(begun) == 1
    assert found.is_interrupted and not found.is_proved


def test_an_interrupted_search_returns_what_it_knows() -> None:
    calls = 0

    def stop(_: Progress) -> None:
        nonlocal calls
        calls += 1
        raise KeyboardInterrupt

    found = parse(CHAIN).map(report=stop)
    assert calls == 1 and found.is_interrupted
    assert found.bound >= 0.7 * 0.9
    assert found.best is not None and found.best.interval.upper.bound >= found.best.score_upper - INSIDE


def test_without_time_the_bound_still_holds() -> None:
    task = random_task("overlapping", 1, 3)
    truth = task.truth()
    assert truth is not None
    short = Options(timeout=1e-3)
    found = best_assignments(Engine(task.case.network), task.chosen, task.given, short)
    assert found.bound >= truth.best(1.0) - INSIDE
    check_intervals(task, found, truth)


def test_the_product_of_tables_is_bounded_even_where_it_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    tables = tuple((scope, rng.random((2,) * len(scope))) for scope in ((0, 1), (1, 2, 3), (0, 3), (2, 4)))
    joint = np.einsum("ab,bcd,ad,ce->abcde", *(values for _, values in tables))
    best = joint.sum(axis=(2, 4)).max()
    wide = Products(tables, frozenset({0, 1, 3}))
    assert wide.bound({}) >= best * (1 - 1e-12)
    assert Products(tables, frozenset(range(5))).bound({}) == pytest.approx(joint.max())
    assert wide.bound({0: 1, 1: 0, 3: 1}) == pytest.approx(joint[1, 0, :, 1, :].sum())
    monkeypatch.setattr("credalog.questions.products.WIDEST", 4)
    assert Products(tables, frozenset({0, 1, 3})).bound({}) >= best * (1 - 1e-12)
    assert Products(tables, frozenset(range(5))).bound({}) >= joint.max() * (1 - 1e-12)


def test_notebooks_show_bars() -> None:
    html = parse(CHAIN).map()._repr_html_()
    assert html.count("<svg") == 1 and "a, b" in html and "proved to be the best" in html
