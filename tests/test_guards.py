"""Guards without which a bound would be false: each test fails when its guard is taken away.

First the guards of the mathematics, on networks whose answers are worked out by hand. Then the roundings,
compared in fractions and without any tolerance: a bound that is inside by one last digit is a false theorem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import nextafter, prod
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import credalog
from conftest import PROJECT
from credalog.choices import MethodName
from credalog.errors import ProblemTooLarge
from credalog.methods import automatic
from credalog.methods.answer import Options
from credalog.methods.cliques import ends
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.models import sparse
from credalog.methods.cliques.search import Ending, Finding, Limits
from credalog.methods.intervals import kernels
from credalog.methods.vertices import messages, mini_buckets, sets
from credalog.methods.vertices.elimination import plan
from credalog.network.formulas import TRUE, Is, Variable
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, Query, Sentence
from credalog.network.structure import Reading, relevance
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End, Status, Warrant
from credalog.program.program import Objective, Program, Ratios
from credalog.questions.bounding import Bounding, Solver, search_in_turn
from credalog.questions.decide import Verdict
from credalog.tables.credal import ask, credal_network
from credalog.tables.distribution import Distribution, Factor
from credalog.tables.elimination import Potential, eliminate
from credalog.trusted.certify import Checker
from credalog.trusted.check import violation
from product_oracle import Product
from random_networks import random_case
from vertex_oracle import strong_extension

AMPLE = Budget.of()

# --- The mathematics ---------------------------------------------------------------------------------------


def table_of(child: str, parents: str, *, high: str, low: str) -> str:
    """State P(child | configuration), high where the first parent holds and low where it does not."""
    lines = []
    for signs in product((True, False), repeat=len(parents)):
        given = " & ".join(p if sign else f"!{p}" for p, sign in zip(parents, signs, strict=True))
        lower, upper = (high if signs[0] else low).split()
        lines.append(f"{lower} <= P({child} | {given}) <= {upper}\n")
    return "".join(lines)


COMMON_CAUSE = (
    "0.2 <= P(y) <= 0.3\n"
    + "".join(f"0.4 <= P({name}) <= 0.6\n" for name in "uvw")
    + table_of("e", "yuv", high="0.85 0.95", low="0.05 0.15")
    + table_of("x", "yw", high="0.85 0.95", low="0.05 0.15")
)


@pytest.mark.parametrize("method", ["auto", "sets", "factorized", "joint"])
def test_what_is_observed_below_a_variable_is_no_mere_context_of_it(method: MethodName) -> None:
    """Under evidence e, theta(y) is not the frequency of y.

    P(y | e) lies between 0.17 / 0.29 and 0.285 / 0.32; then P(x | e) is at least
    0.85 P(y | e) + 0.05 P(!y | e) and at most 0.95 P(y | e) + 0.15 P(!y | e).
    """
    answer = credalog.parse(COMMON_CAUSE).query("P(x | e)", method=method)
    lower = Fraction("0.05") + Fraction("0.8") * Fraction(17, 29)
    upper = Fraction("0.15") + Fraction("0.8") * Fraction("0.285") / Fraction("0.32")
    assert Fraction(answer.lower) <= lower and upper <= Fraction(answer.upper)
    assert (answer.lower, answer.upper) == pytest.approx((float(lower), float(upper)), abs=1e-4)


ONE_CONDITION_TWO_ROLES = """
P(d) = 0.5
P(a | d) = 0.8
P(a | !d) = 0.8
P(b | d) = 0.8
P(b | !d) = 0.8
P(c | d) = 0.5
P(c | !d) = 0.5
0.1 <= P(!(!a or !b or !c) | d) <= 0.9 ; tau=False
P(f | !(!a or !b or !c)) = 0.5
P(f | !a or !b or !c) = 1
P(g | !(!a or !b or !c)) = 0.5
P(g | !a or !b or !c) = 1
"""


def test_observations_are_gathered_only_under_the_parents_they_have() -> None:
    """The condition of f and g is a claim about d, which is therefore a parent of both.

    Where P(a, b, c) is the same under d and under !d, f may copy d there and g its opposite: then they never
    hold together. Gathered as if d were no parent, they would with probability 1/4.
    """
    answer = credalog.parse(ONE_CONDITION_TWO_ROLES).query("P(a & b | f & g & c)", timeout=5.0)
    assert answer.lower <= 0.0
    assert answer.lower_witnessed is None or answer.lower_witnessed >= 0.0


def ties(name: str, length: int) -> str:
    return "".join(f"P({name}{i} iff {name}{i + 1}) >= 0.9\n" for i in range(1, length))


def two_tied_blocks(length: int) -> str:
    """Two blocks of tied atoms that share nothing, and one child e = a1 and b1 of both."""
    child = (
        "P(e | a1 & b1) = 1\nP(e | a1 & !b1) = 0\nP(e | !a1 & b1) = 0\nP(e | !a1 & !b1) = 0\n"
        "P(a1) = 0.5\nP(b1) = 0.5\n"
    )
    return ties("a", length) + ties("b", length) + child


@pytest.mark.parametrize("length", [2, 7])
def test_two_tied_blocks_are_not_independent(length: int) -> None:
    """All atoms may copy one coin: each is then determined by its parents. P(e) is 0 to 1/2, not 1/4."""
    answer = credalog.parse(two_tied_blocks(length)).query("P(e)", timeout=3.0)
    assert answer.lower <= 0.0 and answer.upper >= 0.5
    assert answer.lower_witnessed is None or answer.lower_witnessed >= -1e-12


def test_two_tied_blocks_that_are_never_formed_are_not_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "CORE_LIMIT", 0)
    answer = credalog.parse(two_tied_blocks(2)).query("P(e)", timeout=3.0)
    assert answer.lower <= 0.0 and answer.upper >= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("window", [0, 4])
@pytest.mark.parametrize("length", [2, 7])
def test_sound_propagation_does_not_multiply_two_tied_blocks(length: int, window: int) -> None:
    lcn = credalog.parse(two_tied_blocks(length))
    lower, upper = lcn.propagate(variant="sound", window=window).interval(lcn.variable("e"))
    assert lower <= 0.0 and upper >= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("statement", ["P(c | b) >= 0.6", "P(c | b) <= 0.4", "P(c | b) >= 0.4"])
def test_what_holds_in_the_chain_graph_reading_decides_nothing(statement: str) -> None:
    """There c and d may copy b, or its opposite: P(c | b) is 0 to 1, though the chain graph says 1/2."""
    lcn = credalog.load(PROJECT / "tests" / "conformance" / "positivity.lcn")
    assert lcn.decide(statement, timeout=10.0).verdict in (Verdict.UNDETERMINED, Verdict.UNDECIDED)


@pytest.mark.slow
def test_the_best_assignment_is_not_bounded_by_the_chain_graph_reading() -> None:
    """c may be a copy of b: the best assignment of c given b has probability one, not one half."""
    lcn = credalog.load(PROJECT / "tests" / "conformance" / "positivity.lcn")
    found = lcn.map(["c"], given="b", timeout=10.0)
    assert found.bound >= 1.0 - 1e-9
    assert all(one.interval.upper.bound >= 1.0 - 1e-9 for one in found.ranked)


@pytest.mark.parametrize("ending", [Ending.CLOSED, Ending.EMPTY, Ending.STOPPED])
def test_a_search_among_some_models_bounds_nothing(ending: Ending) -> None:
    """The chain-graph reading attains; what it proves, emptiness included, is not proved of every model."""
    searched: list[Reading] = []

    class Program:
        def __init__(self, reading: Reading) -> None:
            searched.append(reading)
            self.is_outer = reading is not Reading.CHAIN

        def search(self, *_: object, **__: object) -> Finding:
            if self.is_outer:
                return Finding(0.9, None, Ending.STOPPED, Warrant.CHECKED, 1, None)
            return Finding(0.5, None, ending, Warrant.CHECKED, 1, None)

    readings = (Reading.CHAIN, Reading.OUTER)
    found = search_in_turn(readings, Program, Limits(1e-4, AMPLE), end=End.UPPER)  # type: ignore[arg-type]
    assert searched == list(readings)
    assert (found.bound, found.ending) == (0.9, Ending.STOPPED)


def test_only_the_chain_graph_reading_leaves_models_out() -> None:
    """Each reading of the network in which c and d may copy b: the chain graph's alone excludes that."""
    lcn = credalog.load(PROJECT / "tests" / "conformance" / "positivity.lcn")
    query, engine = lcn.question("P(c | b)"), automatic.Engine(lcn.ground())
    part = engine.part(query)
    for reading in (Reading.CHAIN, Reading.OUTER, Reading.LITERAL):
        encoding, objective = part.encode(query, reading)
        program = Bounding(engine, query.scope, part.problem, encoding, objective, Solver(encoding.program))
        assert program.is_outer == (reading is not Reading.CHAIN)


# --- Roundings of the trusted kernel ---------------------------------------------------------------------


def program_of(lengths: Sequence[int]) -> Program:
    """Return a program of tables with so many columns, and no rows."""
    starts = np.cumsum([0, *lengths]).tolist()
    columns, nothing = starts[-1], sp.csr_array((0, starts[-1]))
    ratios = Ratios(np.zeros(0), np.zeros(0), np.zeros(0, bool), np.zeros(0, np.intp), nothing, nothing)
    tables = tuple(pairwise(starts))
    return Program(columns, tables, nothing, nothing, ratios, (), ())


def exact_loss(costs: np.ndarray, program: Program, objective: Objective) -> Fraction:
    """Return the least of costs @ x, table by table, over all x within the bounds: in fractions."""
    total = Fraction(0)
    for (start, stop), mass in zip(program.tables, objective.mass_bounds, strict=True):
        exact = [Fraction(float(c)) for c in costs[start:stop]]
        loss = min(exact) * Fraction(float(mass))
        if objective.column_bounds is not None:
            bounds = [Fraction(float(u)) for u in objective.column_bounds[start:stop]]
            loss = max(loss, sum((c * u for c, u in zip(exact, bounds, strict=True)), Fraction(0)))
        total += loss
    return total


def assert_no_loss_is_understated(costs: np.ndarray, masses: np.ndarray, columns: np.ndarray | None) -> None:
    lengths = [len(costs) // len(masses)] * len(masses)
    program, nothing = program_of(lengths), np.zeros(len(costs))
    objective = Objective(nothing, nothing, masses, columns)
    found = Checker(program)._loss(costs, objective)
    assert Fraction(found) <= exact_loss(costs, program, objective)


@pytest.mark.slow
def test_a_loss_over_many_tables_is_rounded_outwards() -> None:
    """Products just above a power of two have the largest relative error; many alike do not cancel it."""
    rng = np.random.default_rng(1)
    for mass in 1.0 + rng.random(2000):
        costs = np.full(15, -(1.0 + rng.random() * 0.1) / mass)
        assert_no_loss_is_understated(costs, np.full(15, mass), None)


@pytest.mark.slow
def test_a_loss_column_by_column_is_rounded_outwards() -> None:
    rng = np.random.default_rng(2)
    for _ in range(2000):
        assert_no_loss_is_understated(-rng.random(24), np.full(1, 1e6), rng.random(24))


@pytest.mark.slow
def test_the_sum_of_losses_is_rounded_outwards() -> None:
    """A sum that just passes a power of two loses twice as much as its terms."""
    rng = np.random.default_rng(3)
    for _ in range(4000):
        mass = 1.0 + rng.random()
        costs = np.array([-(2.0 - 2e-15 * rng.random()) / mass, -2e-15 * rng.random()])
        assert_no_loss_is_understated(costs, np.array([mass, 1.0]), None)


@pytest.mark.parametrize("share", ["1/3", "1/7", "0.1"])
def test_a_bound_on_one_column_is_used_in_full(share: str) -> None:
    """With no multipliers all that bounds a column from above is its own bound: the point attains it."""
    program, top = program_of([1, 2]), nextafter(float(Fraction(share)), 1.0)
    unit = np.array([1.0, 0.0, 0.0])
    bounds = np.array([1.0, top, 1.0])
    objective = Objective(np.array([0.0, 1.0, 0.0]), unit, np.ones(2), bounds)
    found = Checker(program).upper_bound(objective, program.ratios.box, np.zeros(1))
    assert Fraction(share) <= Fraction(found) <= Fraction(share) + Fraction(1, 10**12)


# --- Roundings of sound propagation ----------------------------------------------------------------------


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compiled function as the Python it is written in."""
    return getattr(function, "py_func", function)


def fractions(values: np.ndarray) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


def test_a_bound_by_multipliers_is_rounded_up() -> None:
    rng, bound = np.random.default_rng(4), plain(kernels.dual_bound)
    for _ in range(300):
        rows, costs, weights = rng.normal(size=(3, 4)), rng.random(4), rng.random(3)
        exact = [
            cost - sum(y * g for y, g in zip(fractions(weights), fractions(column), strict=True))
            for cost, column in zip(fractions(costs), rows.T, strict=True)
        ]
        assert Fraction(bound(rows, 3, costs, weights)) >= max(exact)


def test_a_product_too_small_for_a_float_is_not_forgotten() -> None:
    bound = plain(kernels.dual_bound)(np.array([[-1e-200]]), 1, np.zeros(1), np.array([1e-200]))
    assert Fraction(bound) >= Fraction(1e-200) ** 2


def exact_corners(table: np.ndarray, ends: np.ndarray) -> Iterator[Fraction]:
    """Yield P(x) at every corner of the box of independent parents, the first parent slowest."""
    for corner in product(*zip(*(fractions(side) for side in ends), strict=True)):
        total = Fraction(0)
        for entry, world in zip(fractions(table), product((0, 1), repeat=len(corner)), strict=True):
            total += entry * prod(p if holds else 1 - p for p, holds in zip(corner, world, strict=True))
        yield total


def test_a_message_to_the_head_of_a_family_is_rounded_outwards() -> None:
    rng = np.random.default_rng(5)
    for parents in (1, 2, 3):
        for _ in range(100):
            tables = np.sort(rng.random((2, 2**parents)).round(3), axis=0)
            ends = np.sort(rng.random((2, parents)).round(3), axis=0)
            least, most = plain(kernels.family_to_head)(*tables, *ends)
            assert Fraction(least) <= min(exact_corners(tables[0], ends))
            assert Fraction(most) >= max(exact_corners(tables[1], ends))


# --- Roundings of set propagation and of its relaxation --------------------------------------------------


def chain(rng: np.random.Generator, length: int = 3) -> Network:
    """Return a chain of propositions with decimal bounds."""
    atoms = [Is(Variable(f"x{i}")) for i in range(length)]
    sentences = []
    for i, atom in enumerate(atoms):
        for given in (atoms[i - 1], ~atoms[i - 1]) if i else (TRUE,):
            low, high = sorted(Fraction(int(k), 1000) for k in rng.integers(1, 999, 2))
            sentences.append(Sentence.of(atom, low, high, given=given))
    return Network(tuple(atom.variable for atom in atoms), tuple(sentences))


@pytest.mark.slow
@pytest.mark.parametrize("is_posterior", [False, True])
def test_set_propagation_is_inside_by_not_even_the_last_digit(
    is_posterior: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last trial value lies beyond the optimum for convenience; the bound must hold without that."""
    monkeypatch.setattr(sets, "ADVANCE", 0.0)
    rng = np.random.default_rng(6)
    for _ in range(60):
        network = chain(rng)
        first, _, last = (Is(v) for v in network.variables)
        query = Query(first, last) if is_posterior else Query(last)
        answer, truth = sets.query(network, query, Options()), strong_extension(network, query)
        assert Fraction(answer.lower) <= truth.lower
        assert Fraction(answer.upper) >= truth.upper


@pytest.mark.slow
def test_a_long_line_of_functionals_is_inside_by_not_even_the_last_digit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Along a chain each end follows from the ends before it: the marginal is known exactly.

    The chain is long enough for its roundings to add up to more than the last digits that others leave over.
    """
    monkeypatch.setattr(sets, "ADVANCE", 0.0)
    rng = np.random.default_rng(1)
    for _ in range(12):
        atoms = [Is(Variable(f"x{i}")) for i in range(250)]
        sentences, ends = [Sentence.of(atoms[0], "0.4", "0.6")], (Fraction("0.4"), Fraction("0.6"))
        for before, atom in pairwise(atoms):
            tables = []
            for given, middle in ((before, 997_000), (~before, 3_000)):
                low, high = sorted(Fraction(middle + int(k), 10**6) for k in rng.integers(-2999, 3000, 2))
                sentences.append(Sentence.of(atom, low, high, given=given))
                tables.append((low, high))
            (low1, high1), (low0, high0) = tables
            least = min(p * low1 + (1 - p) * low0 for p in ends)
            ends = (least, max(p * high1 + (1 - p) * high0 for p in ends))
        network = Network(tuple(atom.variable for atom in atoms), tuple(sentences))
        answer = sets.query(network, Query(atoms[-1]), Options())
        assert Fraction(answer.lower) <= ends[0] and ends[1] <= Fraction(answer.upper)


def relaxed(network: Network, query: Query, start: float) -> float:
    """Bound a probability by the relaxation in which each context chooses its own vertices."""
    credal = credal_network(network, dependency_graph(network))
    put = None if credal is None else ask(credal, query)
    assert put is not None
    credal, asked = put
    relevant = relevance(credal.parents, [asked.target], asked.observed)
    tables = {x: credal.table(x, asked.observed) for x in relevant.families}
    layout, event = plan(tables, asked, credal.sizes), np.array(asked.event, dtype=float)
    bound, _ = mini_buckets.bounds(layout, layout.start[None], event, np.array([start]), AMPLE)
    return float(bound[0])


@pytest.mark.parametrize("is_posterior", [False, True])
def test_the_relaxation_is_inside_by_not_even_the_last_digit(is_posterior: bool) -> None:
    """Start a hair below the optimum, where the score of the best choice is lost among its roundings."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        network = chain(rng, 2 if is_posterior else 3)
        atoms = [Is(v) for v in network.variables]
        # In neither is there anything to relax: each family has one context.
        query = Query(*atoms) if is_posterior else Query(atoms[-1])
        truth = strong_extension(network, query).upper
        start = float(truth)
        for _ in range(3):
            assert Fraction(relaxed(network, query, start)) >= truth
            start = nextafter(start, 0.0)


@pytest.mark.parametrize("error", [1e-6, 1e-3])
def test_the_errors_of_messages_are_counted_where_they_meet(error: float) -> None:
    """A message known up to an error may be any vector within it: the bounds must hold for all of these."""
    cause = Is(Variable("c"))
    network = Network((cause.variable,), (Sentence.of(cause, "0.4", "0.5"),))
    credal = credal_network(network, dependency_graph(network))
    assert credal is not None
    told = messages.Messages(np.array([[0.5, 1.0]]), error, lambda _: ([], []))
    found = replace(sets.beliefs(credal, 0, {}, budget=AMPLE), below=told).interval((False, True))
    less, more = 1 - Fraction(error), 1 + Fraction(error)
    assert Fraction(found.upper.bound) >= more / (more + less / 2)
    low, rest = Fraction("0.4") * less, Fraction("0.6") * more / 2
    assert Fraction(found.lower.bound) <= low / (low + rest)


def test_the_error_of_scaling_a_message_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "PRUNING", 0.0)
    rng = np.random.default_rng(8)
    for _ in range(200):
        vector = rng.random(3).round(3) + 0.001
        found = messages._pruned(vector[None], 0.0, lambda _: ([], []), AMPLE)
        greatest = Fraction(float(vector.max()))
        for scaled, entry in zip(fractions(found.vectors[0]), fractions(vector), strict=True):
            assert abs(scaled * greatest - entry) <= Fraction(found.error) * entry


def test_the_error_of_pruning_a_message_is_counted() -> None:
    """The middle one of three rays is not quite between the others: dropping it is an error of that size."""
    off = 4e-12
    rays = np.array([[1.0, 0.2, 0.2], [0.6, 0.6, 0.6 * (1.0 + off)], [0.2, 1.0, 1.0]])
    found = messages._pruned(rays, 0.0, lambda _: ([], []), AMPLE)
    # The last two coordinates agree on the other rays: whatever stands for this one errs in one of them.
    assert len(found.vectors) == 3 or found.error >= off / 2.0 - 1e-15


def test_no_relative_error_is_vouched_for_where_digits_may_underflow() -> None:
    found = messages._pruned(np.array([[1.0, messages.SMALLEST / 2.0]]), 0.0, lambda _: ([], []), AMPLE)
    assert found.error == np.inf
    unlikely = messages.Messages(np.array([[1.0, 1e-200]]), 0.0, lambda _: ([], []))
    assert messages.multiplied([unlikely, unlikely], 2, Budget.of()).error == np.inf
    assert (
        messages.multiplied([unlikely, messages.constant(np.array([0.5, 1.0]))], 2, Budget.of()).error < 1e-9
    )


def test_nothing_vanishes_at_the_query_unnoticed() -> None:
    """P(b, e) is the product of two numbers that are each a float, and itself is none."""
    a, b = Is(Variable("a")), Is(Variable("b"))
    sentences = (
        Sentence.of(a, "1e-200", "1e-200"),
        Sentence.of(b, "0.5", "0.5", given=a),
        Sentence.of(b, 0, 0, given=~a),
    )
    network = Network((a.variable, b.variable), sentences)
    credal = credal_network(network, dependency_graph(network))
    assert credal is not None
    unlikely = messages.Messages(np.array([[1.0, 1e-200]]), 0.0, lambda _: ([], []))
    with pytest.raises(ProblemTooLarge):
        replace(sets.beliefs(credal, 1, {}, budget=Budget.of()), below=unlikely).interval((False, True))


RAYS = [[7, 2, 1], [2, 5, 3], [1, 1, 8], [3, 3, 4], [4, 3, 3]]


@pytest.mark.parametrize("weights", [(1, 0, 0), (0, 3, 1), (2, 1, 5)])
def test_pruned_messages_have_the_extremes_of_all(weights: tuple[int, int, int]) -> None:
    """Whatever quotient is asked of the set: nothing beyond twice the error is lost."""
    found = messages._pruned(np.array(RAYS, dtype=float) / 10.0, 0.0, lambda _: ([], []), AMPLE)

    def greatest(rows: Sequence[Sequence[Fraction]]) -> Fraction:
        return max(
            sum((w * r for w, r in zip(weights, row, strict=True)), Fraction(0)) / sum(row, Fraction(0))
            for row in rows
        )

    kept, every = [fractions(row) for row in found.vectors], [[Fraction(r) for r in row] for row in RAYS]
    assert greatest(kept) >= greatest(every) * (1 - 2 * Fraction(found.error))


# --- What is said to bound single columns -------------------------------------------------------------------


def point_of(encoding: Encoding, model: Product, mass: float) -> np.ndarray:
    """Return the point of a program that a product distribution of so much mass is."""
    point = np.zeros(encoding.program.columns)
    problem = encoding.problem
    for clique, columns in zip(encoding.factorization.cliques, encoding.columns, strict=True):
        table = np.ones(())
        for x in clique.scope:
            marginal = np.array([float(p) for p in model.marginals[problem.variables[x]]])
            shown = encoding.evidence[x] if x in clique.fixed else slice(None)
            table = np.multiply.outer(table, marginal[shown])
        point[columns] = table
    return point * mass


@pytest.mark.parametrize("kind", ["rare+declared", "rare+linear", "rare+spellings", "rare+deterministic"])
def test_no_model_passes_the_bounds_on_columns(kind: str) -> None:
    """Where the evidence has mass one, each column of a model is at most what is said to bound it."""
    tried = 0
    for seed in range(30):
        case = random_case(kind, seed)
        assert case.hidden is not None
        model = Product(case.hidden)
        if not case.query.is_conditional or not model.probability(case.network, case.query.given):
            continue
        part = automatic.Engine(case.network).part(case.query)
        encoding, objective = part.encode(case.query, Reading.OUTER)
        mass = 1.0 / float(model.probability(case.network, case.query.given))
        objective = replace(objective, mass_bounds=np.minimum(objective.mass_bounds, mass))
        bounded, point = encoding.with_column_bounds(objective), point_of(encoding, model, mass)
        assert objective.denominator @ point == pytest.approx(1.0)
        assert abs(encoding.program.equalities @ point).max(initial=0.0) <= 1e-9 * mass
        assert bounded.column_bounds is not None
        assert (point <= bounded.column_bounds * (1.0 + 1e-9)).all()
        tried += 1
    assert tried >= 10


# --- The check of a witness --------------------------------------------------------------------------------


def test_a_witness_is_checked_against_what_its_other_factors_say() -> None:
    """Let c copy a, and d copy c: given d nothing is left to be known of c, so that c's own condition holds.

    But a is to be independent of c and d given b, and is their cause. That a has a factor of its own, given
    its own parents, does not make its condition true: c has a for a parent in this distribution.
    """
    lcn = credalog.parse(
        "P(b) = 0.5\nP(a | b) = 0.5\nP(a | !b) = 0.5\nP(c | b) = 0.5\nP(c | !b) = 0.5\nP(c iff d) >= 0.9\n"
    )
    b, a, c, d = (lcn.variable(name) for name in "bacd")
    coin = np.array([0.5, 0.5])
    copy_of_a = np.stack([np.eye(2), np.eye(2)], axis=1)
    factors = (
        Factor((b,), (), coin),
        Factor((a,), (b,), np.array([coin, coin])),
        Factor((c,), (a, b), copy_of_a),
        Factor((d,), (c,), np.eye(2)),
    )
    assert violation(Distribution(factors), lcn.ground(), lcn.graph) >= 0.1


def test_without_the_markov_condition_a_declared_independence_says_no_more_than_it_does():
    """Given c and z, b is free of a, but not of z: P(b | c) does not bound P(b | c and z)."""
    lcn = credalog.parse("""
    P(c) = 0.5
    P(z) = 0.5
    0.3 <= P(b | c) <= 0.4
    0.3 <= P(b | !c) <= 0.4
    0 <= P(a) <= 1
    independent a, b | c, z
    """)
    free = lcn.query("P(a & b | c & z)", markov="none")
    local = lcn.query("P(a & b | c & z)", markov="local")
    assert (free.lower, free.upper, free.status) == (0.0, 1.0, Status.EXACT)
    assert local.upper == pytest.approx(0.4, abs=1e-6)


@pytest.mark.slow
def test_a_search_of_a_narrower_reading_is_not_taken_up_where_the_time_was_short(
    monkeypatch: pytest.MonkeyPatch,
):
    """Copies in two components may be copies of each other: then d1 is false wherever b2 is, and c2 may be.

    All components apart, d1 would be independent of b2, and its probability at least 0.7.
    """
    lcn = credalog.parse("""
    0.7 <= P(d1 and d2) <= 1
    0.7 <= P(d1 and d3) <= 1
    0.7 <= P(d2 and d3) <= 1
    0 <= P(b2 | b1) <= 0.6
    0 <= P(b3 | b2) <= 0.6
    0.7 <= P(b1 or h) <= 1
    0.7 <= P(b2 or h) <= 1
    0.7 <= P(b3 or h) <= 1
    0 <= P(c2) <= 1
    independent c2, b3
    """)
    usual = ends.Ends._log_linear_witness

    def late(self: ends.Ends, known: Any, budget: Budget, end: End) -> Any:
        if end is End.LOWER:
            raise OutOfTime
        return usual(self, known, budget, end)

    monkeypatch.setattr(ends.Ends, "_log_linear_witness", late)
    answer = lcn.query("P(c2 or d1 | !b2)", timeout=4.0)
    assert "cliques of the chain graph" in answer.tried
    assert answer.lower == 0.0


@pytest.mark.parametrize("word", ["or", "xor"])
@pytest.mark.parametrize("atoms", [30, 70])
def test_a_sentence_too_wide_for_a_table_is_no_demand_on_one(word: str, atoms: int) -> None:
    (sentence,) = credalog.parse(f"P({f' {word} '.join(f'x{i}' for i in range(atoms))}) <= 0.9").sentences
    with pytest.raises(ProblemTooLarge, match=f"a sentence is about {atoms} variables"):
        list(sparse._bounds(sentence, tuple(sentence.scope)))


def test_a_product_of_too_many_kept_variables_is_refused_before_it_is_made() -> None:
    coins = [Potential((i,), np.full(2, 0.5)) for i in range(70)]
    with pytest.raises(ProblemTooLarge):
        eliminate(coins, range(70))
    assert eliminate(coins, range(2))[0].shape == (2, 2)
