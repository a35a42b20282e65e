"""Time is an input: every question under limits that run out, and Ctrl-C that comes, at any moment.

`benchmarks/attack.py --limits` goes on for as long as one likes; here are some seeds, and what it found.
"""

from __future__ import annotations

import numpy as np
import pytest

from copied_networks import copied_case
from counted_clock import Clock, ticking
from credalog.lcn import LCN
from credalog.numbers.budget import Budget
from known_models import drawn_models
from limit_judging import attacked, attacked_theory, limited_case
from random_networks import COMBINED, KINDS


@pytest.mark.parametrize("kind", [*KINDS, *COMBINED, "copies"])
def test_no_moment_at_which_a_limit_runs_out_makes_a_bound_false(kind: str) -> None:
    assert [str(fault) for fault in attacked(limited_case(kind, 20_000), trials=3)] == []


@pytest.mark.parametrize("seed", [0, 1])
def test_a_theory_is_bounded_whenever_its_time_is_up(seed: int) -> None:
    assert list(attacked_theory(seed, trials=2, patient=0.5)) == []


@pytest.mark.parametrize("reads", range(230, 250, 4))
def test_a_lower_end_that_lost_its_share_of_the_time_is_no_narrower(reads: int) -> None:
    """The share of the lower end is over between the search of the chain graph and the next one."""
    case, joint = copied_case(6)
    known = drawn_models(case, seconds=0.0, rng=np.random.default_rng(0))
    known.add(joint, "local")
    with ticking(Clock("stumble", reads, 1.0, 1)):
        found = LCN.from_network(case.network).query(case.query, timeout=1.0)
    assert known.against(case.query, "local", found.lower, found.upper) == []


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
