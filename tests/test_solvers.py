"""SCIP, IPOPT and HiGHS behind their adapters: known answers, agreement with brute force, good manners."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import inf
from pathlib import Path
from threading import Timer

import highspy
import numpy as np
import pytest
import scipy.sparse as sp

from credalog import parse
from credalog.errors import MissingLibrary
from credalog.network.formulas import propositions
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.interval import End
from credalog.program.program import Box, Floats, Objective, Outcome, Program, Ratios
from credalog.program.solvers import highs, ipopt, scip
from oracle import Verdict, assignments, event, independences, interval, rows_of, violations
from random_networks import KINDS, random_case

pytestmark = pytest.mark.slow

A, B, C = propositions("a b c")
INTERVALS = Network((A.variable, B.variable), (Sentence.of(A, 0.3, 0.7), Sentence.of(B, 0.3, 0.7)))


def joint_program(network: Network) -> Program:
    """Write a network as one table over all worlds, the independences as ratios."""
    part, whole, of, ratios = [], [], [], 0
    for left, right, given in independences(network):
        for z, x in product(assignments(network, given), assignments(network, left)[1:]):
            for s in assignments(network, right):
                part.append(x & s & z)
                whole.append(s & z)
                of.append(ratios)
            ratios += 1
    rows = sp.csr_array(rows_of(network))
    count = rows.shape[1]
    numerator, denominator = (
        sp.csr_array(np.array(events, dtype=float).reshape(-1, count)) for events in (part, whole)
    )
    unknowns = Ratios(
        np.zeros(ratios),
        np.ones(ratios),
        np.zeros(ratios, bool),
        np.array(of, np.intp),
        numerator,
        denominator,
    )
    equalities = sp.csr_array((0, count))
    return Program(count, ((0, count),), rows, equalities, unknowns, tuple(range(rows.shape[0])), ())


def asked(network: Network, query: Query) -> Objective:
    given = event(network, query.given)
    claimed = event(network, query.claim) & given
    mass = 1.0 if given.all() else inf
    return Objective(claimed.astype(float), given.astype(float), np.array([mass]))


# --- SCIP --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("end", "truth"), [(End.LOWER, 0.42), (End.UPPER, 0.58)])
def test_scip_finds_the_papers_interval(end: End, truth: float) -> None:
    claim = scip.solve(joint_program(INTERVALS), asked(INTERVALS, Query(A ^ B)), end=end)
    assert claim.outcome is Outcome.OPTIMAL
    assert claim.bound == pytest.approx(truth, abs=1e-5)
    assert claim.value == pytest.approx(truth, abs=1e-6)
    assert claim.bound > truth if end is End.UPPER else claim.bound < truth
    assert claim.point is not None and violations(claim.point, INTERVALS).worst < 1e-7


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"rare"}))
@pytest.mark.parametrize("seed", [100, 101])
def test_scip_agrees_with_brute_force(kind: str, seed: int) -> None:
    case = random_case(kind, seed, largest=3)
    truth = interval(case.network, case.query, seconds=1.0)
    program, objective = joint_program(case.network), asked(case.network, case.query)
    low = scip.solve(program, objective, end=End.LOWER, timeout=1.0)
    high = scip.solve(program, objective, end=End.UPPER, timeout=1.0)
    if truth.verdict in (Verdict.INCONSISTENT, Verdict.IMPOSSIBLE):
        assert low.outcome is high.outcome is Outcome.INFEASIBLE
    if truth.verdict is Verdict.ANSWERED:
        assert truth.lower.attained is None or low.bound <= truth.lower.attained
        assert truth.upper.attained is None or high.bound >= truth.upper.attained
        assert low.value is None or low.value >= truth.lower.proved - 1e-6
        assert high.value is None or high.value <= truth.upper.proved + 1e-6


def test_scip_is_not_believed_where_products_of_numbers_drown_in_its_tolerance() -> None:
    model = parse(
        "999991/1000000 <= P(x0) <= 1\nP(x1 | !x0) = 1\nP(x1 | x0) = 1/5\n"
        "0 <= P(x2 | !x1) <= 1/2\n0 <= P(x2 | x1) <= 3/1000000"
    )
    # A model: P(!x0) = 9e-6 and P(x2 | x1) = 3e-6 at most, P(x2 | !x1) = 0.
    rare = Fraction(9, 10**6) * Fraction(3, 10**6)
    usual = Fraction(999991, 10**6) * Fraction(1, 5) * Fraction(3, 10**6)
    assert Fraction(model.query("P(!x0 | x2)", method="scip").upper) >= rare / (rare + usual)


def test_scip_keeps_to_a_box() -> None:
    program = joint_program(INTERVALS)
    box = Box(np.full(2, 0.5), np.full(2, 0.6))
    claim = scip.solve(program, asked(INTERVALS, Query(A & B)), end=End.UPPER, box=box)
    assert claim.value == pytest.approx(0.36, abs=1e-6)
    assert claim.ratios == pytest.approx([0.6, 0.6], abs=1e-6)


def test_scip_chooses_between_the_ends_where_told() -> None:
    program = joint_program(INTERVALS)
    ratios = replace(program.ratios, lower=np.full(2, 0.3), upper=np.full(2, 0.7), at_vertex=np.ones(2, bool))
    choice = replace(program, ratios=ratios)
    claim = scip.solve(choice, asked(INTERVALS, Query(A & ~B)), end=End.LOWER)
    assert claim.value == pytest.approx(0.09, abs=1e-6)
    assert claim.ratios == pytest.approx([0.3, 0.7], abs=1e-6)


def test_a_box_without_ends_is_searched_all_the_same() -> None:
    program = joint_program(INTERVALS)
    ratios = replace(program.ratios, lower=np.full(2, 0.3), upper=np.full(2, 0.7), at_vertex=np.ones(2, bool))
    inside = Box(np.full(2, 0.4), np.full(2, 0.5))
    claim = scip.solve(
        replace(program, ratios=ratios), asked(INTERVALS, Query(A & B)), end=End.UPPER, box=inside
    )
    assert claim.value == pytest.approx(0.25, abs=1e-6)


def test_scip_calls_an_empty_program_infeasible() -> None:
    network = Network(INTERVALS.variables, (*INTERVALS.sentences, Sentence.of(A, 0.8, 0.9)))
    claim = scip.solve(joint_program(network), asked(network, Query(A)), end=End.UPPER)
    assert (claim.outcome, claim.bound, claim.point) == (Outcome.INFEASIBLE, -inf, None)


def test_scip_calls_a_denominator_of_nothing_infeasible() -> None:
    claim = scip.solve(joint_program(INTERVALS), asked(INTERVALS, Query(A, B & ~B)), end=End.LOWER)
    assert (claim.outcome, claim.bound) == (Outcome.INFEASIBLE, inf)


def test_scip_accepts_a_start() -> None:
    start = np.outer([0.7, 0.3], [0.7, 0.3]).ravel()
    program, objective = joint_program(INTERVALS), asked(INTERVALS, Query(A & B))
    claim = scip.solve(program, objective, end=End.LOWER, start=start)
    assert claim.value == pytest.approx(0.09, abs=1e-6)


HARD = """
import sys
sys.path.insert(0, {tests!r})
from random_networks import random_case
from test_solvers import asked, joint_program
from credalog.program.solvers import scip
from credalog.numbers.interval import End
case = random_case("free", 2, largest=4)
program, objective = joint_program(case.network), asked(case.network, case.query)
claim = scip.solve(program, objective, end=End.UPPER, timeout=60.0,
                   report=lambda bound, value: print("searching", flush=True))
print(claim.outcome.name, claim.interrupted, 0.7 < claim.bound <= 1.0 + 1e-6)
"""


def test_ctrl_c_ends_the_search_and_nothing_else() -> None:
    script = HARD.format(tests=str(Path(__file__).parent))
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "searching\n"
        child.send_signal(signal.SIGINT)
        said, complained = child.communicate(timeout=30.0)
    assert said.splitlines()[-1] == "STOPPED True True"
    assert "Traceback" not in complained
    assert child.returncode == 0


# --- IPOPT -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("end", "truth"), [(End.LOWER, 0.42), (End.UPPER, 0.58)])
def test_ipopt_climbs_to_the_papers_interval(end: End, truth: float) -> None:
    pytest.importorskip("ipyopt", reason="the optional extra credalog[ipopt] is not installed")
    objective = asked(INTERVALS, Query(A ^ B))
    start = np.outer([0.6, 0.4], [0.6, 0.4] if end is End.LOWER else [0.4, 0.6]).ravel()
    point = ipopt.improve(joint_program(INTERVALS), objective, start, end=end)
    assert point is not None
    assert objective.numerator @ point == pytest.approx(truth, abs=1e-6)
    assert violations(point, INTERVALS).worst < 1e-6


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_ipopt_returns_is_nearly_a_model(kind: str) -> None:
    pytest.importorskip("ipyopt", reason="the optional extra credalog[ipopt] is not installed")
    case = random_case(kind, 100, largest=3)
    program, objective = joint_program(case.network), asked(case.network, case.query)
    start = np.full(program.columns, 1.0 / program.columns)
    for end in End:
        point = ipopt.improve(program, objective, start, end=end, timeout=1.0)
        if point is not None:
            assert violations(point / point.sum(), case.network).worst < 1e-5


def test_ipopt_takes_a_program_with_a_single_context() -> None:
    pytest.importorskip("ipyopt", reason="the optional extra credalog[ipopt] is not installed")
    program, objective = joint_program(INTERVALS), asked(INTERVALS, Query(A & B))
    ratios = program.ratios
    single = Ratios(
        ratios.lower[:1],
        ratios.upper[:1],
        ratios.at_vertex[:1],
        ratios.of[:1],
        sp.csr_array(ratios.numerator[:1]),
        sp.csr_array(ratios.denominator[:1]),
    )
    start = np.full(4, 0.25)
    point = ipopt.improve(replace(program, ratios=single), objective, start, end=End.UPPER)
    assert point is not None
    assert objective.numerator @ point == pytest.approx(0.7, abs=1e-6)


def test_ctrl_c_inside_ipopt_is_raised_once_ipopt_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ipyopt", reason="the optional extra credalog[ipopt] is not installed")
    gradient, calls = ipopt._Nonlinear.gradient, []

    def interrupted(self: ipopt._Nonlinear, x: np.ndarray, out: np.ndarray) -> None:
        signal.raise_signal(signal.SIGINT)
        calls.append(x)
        gradient(self, x, out)

    monkeypatch.setattr(ipopt._Nonlinear, "gradient", interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        ipopt.improve(joint_program(INTERVALS), asked(INTERVALS, Query(A)), np.full(4, 0.25), end=End.UPPER)
    assert 1 <= len(calls) < 5
    assert signal.getsignal(signal.SIGINT) is before


def test_without_ipopt_there_is_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipyopt", None)
    with pytest.raises(MissingLibrary, match="pip install"):
        ipopt.improve(joint_program(INTERVALS), asked(INTERVALS, Query(A)), np.full(4, 0.25), end=End.UPPER)


# --- HiGHS -------------------------------------------------------------------------------------------------


def test_ctrl_c_stops_a_simplex_that_is_under_way() -> None:
    """The program takes many seconds; what is left of it is not waited for."""
    rng = np.random.default_rng(0)
    count, rows = 2000, 1500
    dense = rng.normal(size=(rows, count)) * (rng.random((rows, count)) < 0.008)
    matrix = sp.csr_array(dense)
    middle: Floats = dense @ rng.random(count)
    solver = highs.quiet_highs()
    solver.setOptionValue("presolve", "off")
    ends = (np.zeros(count), np.ones(count)), (middle - 0.1, middle + 0.1)
    solver.passModel(highs.linear_model(np.sin(np.arange(count)), ends[0], matrix, ends[1]))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            highs.run_for(solver, 60.0)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert solver.getModelStatus() == highspy.HighsModelStatus.kInterrupt
