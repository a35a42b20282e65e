"""Time is an input: every question under limits that run out, and Ctrl-C that comes, at any moment.

`benchmarks/attack.py --limits` goes on for as long as one likes; here are some seeds, and what it found.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import sleep

import numpy as np
import pytest

import credalog
from counted_clock import Clock, ticking
from credalog.choices import CriterionName
from credalog.methods.cliques.ends import Ends
from credalog.methods.cliques.search import Finding, Search
from credalog.network.sentences import Network
from credalog.network.structure import Reading
from credalog.numbers.budget import Budget
from credalog.program.program import Objective
from credalog.questions import assignments, models
from limit_judging import attacked, attacked_theory, limited_case
from oracle import violations, worlds
from random_networks import COMBINED, KINDS


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, *COMBINED, "copies"])
def test_no_moment_at_which_a_limit_runs_out_makes_a_bound_false(kind: str) -> None:
    assert [str(fault) for fault in attacked(limited_case(kind, 20_000), trials=2, patient=0.4)] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_theory_is_bounded_whenever_its_time_is_up(seed: int) -> None:
    assert list(attacked_theory(seed, trials=2, patient=0.5)) == []


COPIES = """
0.8 <= P(a | b) <= 1
0.8 <= P(b | a) <= 1
0.925 <= P(!b or a) <= 1
17/56 <= P(a) <= 127/280
0.9 <= P(c | d) <= 1
0.4 <= P(d | c) <= 1
0 <= P(c xor d) <= 0.15
29/140 <= P(c) <= 149/280
0 <= P(e | a and c) <= 0.2
P(e | a and !c) = 1
0.1 <= P(e | !a and c) <= 0.8
0 <= P(e | !a and !c) <= 1
"""


@pytest.mark.parametrize("reads", range(160, 210, 10))
def test_a_lower_end_that_lost_its_share_of_the_time_is_no_narrower(reads: int) -> None:
    """The share of the lower end is over after the search of the chain graph, before the next one.

    Let b be a copy of a, and d one of c, which is true where a is not: then P(!e | c) = 0.2. In the chain
    graph a and c are independent, and P(!e | c) is at least 0.38.
    """
    lcn = credalog.parse(COPIES)
    network = lcn.ground()
    assert violations(_copied(network), network).worst < 1e-12
    with ticking(Clock("stumble", reads, 1.0, 2)):
        found = lcn.query("P(!e | c)", timeout=1.0)
    assert "cliques of the chain graph" in found.tried and found.lower <= 0.2


def _copied(network: Network) -> np.ndarray:
    """Return a model of the copies, world by world: c and d where a and b are false, and e mostly there."""
    masses = {"abe": 0.35, "cde": 0.3 * 0.8, "cd": 0.3 * 0.2, "": 0.35}
    names = ("".join(sorted(v.name for v, value in w.items() if value == "true")) for w in worlds(network))
    return np.array([masses.get(name, 0.0) for name in names])


@pytest.mark.parametrize("pace", ["jump", "even", "pauses", "stumble"])
def test_a_clock_that_counts_ends_a_budget(pace: str) -> None:
    """The budget is spent, and at the same look whenever this is done again."""
    looks = []
    for _ in range(2):
        with ticking(Clock(pace, 20, 1.0, 3)) as clock:
            budget = Budget.of(1.0)
            while not budget.is_spent:
                assert clock.looks < 10_000
        looks.append(clock.looks)
    assert looks[0] == looks[1] > 1


def test_a_clock_that_counts_presses_ctrl_c() -> None:
    clock = Clock("interrupt", 20, 1.0)
    with ticking(clock), pytest.raises(KeyboardInterrupt):
        while not Budget.of(1.0).is_spent:
            pass
    assert clock.looks == 20


@pytest.mark.parametrize("criterion", ["maximin", "hurwicz"])
def test_a_program_that_there_is_no_time_for_does_not_end_the_search_for_the_best(
    monkeypatch: pytest.MonkeyPatch, criterion: CriterionName
) -> None:
    """What was found of an assignment until then is listed, with bounds that hold."""
    usual = assignments.Assignments.learn

    def late(self: assignments.Assignments, assigned: Mapping[int, int]) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(models, "PER_SECOND", 0.0)
            self._tables.clear()
            self._witnesses.clear()
            usual(self, assigned)

    monkeypatch.setattr(assignments.Assignments, "learn", late)
    found = credalog.parse("0.2 <= P(a) <= 0.4\n0.1 <= P(c | a) <= 0.5").map("c", criterion=criterion)
    assert found.best is not None
    # P(c) is at least 0.2 0.1, and at most 0.2 0.5 + 0.8.
    low, high = {"true": (0.02, 0.9), "false": (0.1, 0.98)}[found.best.assignment[0].value]
    assert found.best.interval.lower.bound <= low + 1e-9 and found.best.interval.upper.bound >= high - 1e-9


RARELY_OBSERVED = """
domain D = 1..7
predicate A(D), B(D)
forall x in D: 0.2 <= P(A(x)) <= 0.47
forall x, y in D distinct: P(B(x) and B(y)) = 121/900
forall x in D: P(A(x) and B(x)) >= 0.04
"""


def test_the_evidence_is_not_searched_once_the_time_for_a_reading_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its program and another one for the question took ten times a short limit in a core of 14 atoms."""
    run, evidence = Search.run, Ends._with_evidence_searched
    late: list[bool] = []

    def slowly(self: Search) -> Finding:
        found = run(self)
        sleep(max(0.0, self.limits.budget.remaining))
        return found

    def watched(self: Ends, reading: Reading, budget: Budget, *, jointly: bool) -> Objective:
        late.append(budget.is_spent)
        return evidence(self, reading, budget, jointly=jointly)

    monkeypatch.setattr(Search, "run", slowly)
    monkeypatch.setattr(Ends, "_with_evidence_searched", watched)
    answer = credalog.parse(RARELY_OBSERVED).query("P(A(2) | A(1))", timeout=0.5)
    assert not any(late)
    # All A(x), independent of each other, may have any probability from 0.2 to 0.47.
    assert answer.lower <= 0.2 and answer.upper >= 0.47
