"""Propagation is judged by the paper's own numbers and by brute force that shares no code with it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any, Literal

import numpy as np
import pyscipopt
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import oracle
from awkward_networks import COPIES, network
from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork, ProblemTooLarge
from credalog.lcn import LCN
from credalog.methods.intervals import Round, Schedule, Variant, propagate
from credalog.methods.intervals.factors import Kind, factor_graph
from credalog.methods.intervals.kernels import maximize
from credalog.network.formulas import (
    TRUE,
    Formula,
    Is,
    Variable,
    conjunction,
    proposition,
    propositions,
    truth_table,
)
from credalog.network.graph import Markov
from credalog.network.sentences import Network, Query, Sentence
from credalog.numbers.interval import VACUOUS, Status, Warrant
from random_networks import KINDS, random_case

pytestmark = pytest.mark.slow

S = Sentence.of
A, B, C, D, E = propositions("a b c d e")


SECTION_3_3 = network(S(A, 0.2, 0.3), S(B, 0.6, 0.7, given=A), S(B, 0.1, 0.2, given=~A), S(B, 0.3, 0.4))


# --- The paper ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["bp", "printed"])
@pytest.mark.parametrize("schedule", list(Schedule))
def test_the_messages_of_the_appendix_at_convergence(variant: str, schedule: Schedule) -> None:
    found = propagate(SECTION_3_3, variant=variant, schedule=schedule)
    a, b = A.variable, B.variable
    f1, f2, f3 = (a,), (a, b), (b,)
    messages = {
        "f1->a": (found.sent(f1, a), (0.2, 0.3)),
        "a->f1": (found.received(f1, a), (0.2, 0.6)),
        "a->f2": (found.received(f2, a), (0.2, 0.3)),
        "f2->a": (found.sent(f2, a), (0.2, 0.6)),
        "f2->b": (found.sent(f2, b), (0.2, 0.35)),
        "b->f2": (found.received(f2, b), (0.3, 0.4)),
        "b->f3": (found.received(f3, b), (0.2, 0.35)),
        "f3->b": (found.sent(f3, b), (0.3, 0.4)),
    }
    for name, (actual, printed) in messages.items():
        assert actual == pytest.approx(printed, abs=1e-6), name
    assert found.converged


@pytest.mark.parametrize("variant", list(Variant))
def test_the_example_that_defeats_2u_has_its_correct_answer(variant: Variant) -> None:
    assert propagate(SECTION_3_3, variant=variant).interval(B.variable) == pytest.approx(
        (0.3, 0.35), abs=1e-6
    )


def test_a_formula_factor_takes_the_other_neighbours_as_independent() -> None:
    """The appendix's second example, against a grid over P(c), P(e) with a linear program at each point."""
    found = propagate(
        network(S(C & (D | E), 0.3, 0.4), S(C, 0.5, 0.9), S(E, 0.35, 0.8), S(D, 0.1, 1)), variant="printed"
    )
    message = found.sent((C.variable, D.variable, E.variable), D.variable)
    grid = [
        _extremes_of_d(pc, pe)
        for pc, pe in itertools.product(np.linspace(0.5, 0.9, 41), np.linspace(0.35, 0.8, 46))
    ]
    reached = [ends for ends in grid if ends is not None]
    assert message[0] == pytest.approx(min(low for low, _ in reached), abs=2e-2)
    assert message[1] == pytest.approx(max(high for _, high in reached), abs=2e-2)
    assert message[0] <= min(low for low, _ in reached) + 1e-8
    assert message[1] >= max(high for _, high in reached) - 1e-8


def _extremes_of_d(pc: float, pe: float) -> tuple[float, float] | None:
    """Solve the printed program with both marginals fixed, over the eight worlds of c, d, e."""
    over = (C.variable, D.variable, E.variable)
    claim, c, d, e = (truth_table(f, over).ravel().astype(float) for f in (C & (D | E), C, D, E))
    equal = np.array([np.ones(8), c, e, c * e])
    masses = [1.0, pc, pe, pc * pe]
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(sign * d, A_ub=[claim, -claim], b_ub=[0.4, -0.3], A_eq=equal, b_eq=masses)
        if found.status != 0:
            return None
        ends.append(float(d @ found.x))
    return ends[0], ends[1]


# --- Polytrees: equal to exact inference --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Polytree:
    """A random polytree: parents, an interval per configuration, marginal sentences that some model obeys."""

    parents: list[list[int]]
    theta: dict[tuple[int, tuple[int, ...]], tuple[float, float]]
    marginal: dict[int, tuple[float, float]]

    @property
    def network(self) -> Network:
        atoms = [proposition(f"x{i}") for i in range(len(self.parents))]
        sentences = [
            S(atoms[i], *bounds, given=_configuration(atoms, self.parents[i], values))
            for (i, values), bounds in self.theta.items()
            if bounds != (0.0, 1.0) or not self.parents[i]
        ]
        sentences += [S(atoms[i], *bounds) for i, bounds in self.marginal.items()]
        return Network(tuple(a.variable for a in atoms), tuple(sentences))


def _configuration(atoms: list[Is], parents: list[int], values: tuple[int, ...]) -> Formula:
    return conjunction(atoms[p] if b else ~atoms[p] for p, b in zip(parents, values, strict=True))


def random_polytree(seed: int, *, extra: bool, largest: int = 6) -> Polytree:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, largest + 1))
    parents: list[list[int]] = [[] for _ in range(n)]
    for i in range(1, n):
        child, parent = (i, int(rng.integers(i))) if rng.random() < 0.5 else (int(rng.integers(i)), i)
        if len(parents[child]) < 3:
            parents[child].append(parent)
    theta = {}
    for i, above in enumerate(parents):
        for values in itertools.product((0, 1), repeat=len(above)):
            low, high = sorted(float(x) for x in np.round(rng.random(2), 3))
            theta[i, values] = (
                (0.0, 1.0) if rng.random() < 0.15 else (low, low if rng.random() < 0.3 else high)
            )
    point = {key: float(rng.uniform(*bounds)) for key, bounds in theta.items()}
    marginal = {}
    for i in range(n):
        if extra and rng.random() < 0.5:
            below, above_ = rng.random(2) * 0.15
            value = _probability(parents, point, i)
            marginal[i] = (
                max(0.0, float(np.floor((value - below) * 1e3)) / 1e3),
                min(1.0, float(np.ceil((value + above_) * 1e3)) / 1e3),
            )
    return Polytree(parents, theta, marginal)


def _probability(parents: list[list[int]], theta: dict[tuple[int, tuple[int, ...]], float], i: int) -> float:
    chance = {p: _probability(parents, theta, p) for p in parents[i]}
    return sum(
        theta[i, values]
        * prod(chance[p] if b else 1.0 - chance[p] for p, b in zip(parents[i], values, strict=True))
        for values in itertools.product((0, 1), repeat=len(parents[i]))
    )


def _vertices(tree: Polytree) -> Iterator[dict[tuple[int, tuple[int, ...]], float]]:
    keys = list(tree.theta)
    for ends in itertools.product(*(sorted(set(tree.theta[key])) for key in keys)):
        yield dict(zip(keys, ends, strict=True))


@pytest.mark.parametrize("block", range(4))
def test_on_polytree_credal_networks_both_variants_are_exact(block: int) -> None:
    """Marginals of a credal network are attained at vertices; all of them are tried."""
    tried = 0
    for seed in range(100 * block, 100 * block + 100):
        tree = random_polytree(seed, extra=False, largest=4)
        free = sum(low < high for low, high in tree.theta.values())
        if free > 9:
            continue
        tried += 1
        found, sound = propagate(tree.network), propagate(tree.network, variant="sound")
        for i, variable in enumerate(tree.network.variables):
            reached = [_probability(tree.parents, theta, i) for theta in _vertices(tree)]
            exact = (min(reached), max(reached))
            assert found.interval(variable) == pytest.approx(exact, abs=1e-9), (seed, variable.name)
            assert sound.interval(variable) == pytest.approx(exact, abs=1e-9), (seed, variable.name)
    assert tried > 60


@pytest.mark.parametrize("block", range(4))
def test_on_polytrees_with_marginal_sentences_both_variants_are_exact(block: int) -> None:
    """A global solver decides the program over marginals and conditionals, which a polytree allows."""
    decided = 0
    for seed in range(1000 + 30 * block, 1030 + 30 * block):
        tree = random_polytree(seed, extra=True)
        found, sound = propagate(tree.network), propagate(tree.network, variant="sound")
        assert found.crossed is None
        i = seed % len(tree.parents)
        exact = [_optimum(tree, i, sense) for sense in ("minimize", "maximize")]
        if None not in exact:
            decided += 1
            variable = tree.network.variables[i]
            assert found.interval(variable) == pytest.approx(exact, abs=2e-6), (seed, variable.name)
            assert sound.interval(variable) == pytest.approx(exact, abs=2e-6), (seed, variable.name)
    assert decided >= 25


def _optimum(tree: Polytree, i: int, sense: Literal["minimize", "maximize"]) -> float | None:
    """Optimize one marginal globally; None where SCIP does not finish."""
    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/time", 3.0)
    model.setParam("limits/absgap", 1e-8)
    n = len(tree.parents)
    chance = [
        model.addVar(lb=tree.marginal.get(j, (0, 1))[0], ub=tree.marginal.get(j, (0, 1))[1]) for j in range(n)
    ]
    theta = {key: model.addVar(lb=low, ub=high) for key, (low, high) in tree.theta.items()}
    for j, above in enumerate(tree.parents):
        total = pyscipopt.Expr()
        for values in itertools.product((0, 1), repeat=len(above)):
            term: Any = theta[j, values]
            for p, b in zip(above, values, strict=True):
                term = term * (chance[p] if b else 1 - chance[p])
            total = total + term
        model.addCons(chance[j] == total)
    model.setObjective(chance[i], sense)
    model.optimize()
    return float(model.getObjVal()) if model.getStatus() in ("optimal", "gaplimit") else None


def test_the_printed_independences_refute_a_bayesian_network() -> None:
    """Taken to the letter, the message to one cause makes the other cause and the effect independent."""
    collider = network(
        S(A, 0.5, 0.5),
        S(B, 0.5, 0.5),
        S(C, 0.9, 0.9, given=A & B),
        S(C, 0.1, 0.1, given=A & ~B),
        S(C, 0.5, 0.5, given=~A & B),
        S(C, 0.5, 0.5, given=~A & ~B),
    )
    by_letter = propagate(collider, variant="printed")
    assert by_letter.crossed is not None
    assert {answer.status for answer in by_letter.answers()} == {Status.UNDECIDED}
    assert propagate(collider).interval(C.variable) == pytest.approx((0.5, 0.5), abs=1e-9)


# --- Sound propagation --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_sound_bounds_contain_every_model_found_by_brute_force(kind: str) -> None:
    for seed in range(3):
        case = random_case(kind, seed, largest=3)
        for variable in case.network.variables:
            value = variable.values[-1]
            truth = oracle.interval(case.network, Query(variable.is_(value)), seconds=1.0)
            for window in (0, 1):
                _check_contains(case.network, variable, value, truth, window)


def _check_contains(
    net: Network, variable: Variable, value: str, truth: oracle.TrueInterval, window: int
) -> None:
    try:
        lower, upper = propagate(net, variant="sound", window=window).interval(variable, value)
    except InconsistentNetwork:
        assert truth.verdict is not oracle.Verdict.ANSWERED
        return
    for attained in (truth.lower.attained, truth.upper.attained):
        assert attained is None or lower - 1e-9 <= attained <= upper + 1e-9, (variable.name, window)


def loopy(
    seed: int, n: int
) -> tuple[Network, dict[int, list[int]], dict[tuple[int, tuple[int, ...]], tuple[float, float]]]:
    """Draw a credal network on a random acyclic graph with up to three parents."""
    rng = np.random.default_rng(seed)
    atoms = [proposition(f"x{i}") for i in range(n)]
    parents = {i: sorted(int(p) for p in rng.permutation(i)[: rng.integers(0, 4)]) for i in range(n)}
    theta, sentences = {}, []
    for i, above in parents.items():
        for values in itertools.product((0, 1), repeat=len(above)):
            low, high = sorted(float(x) for x in np.round(rng.random(2), 3))
            theta[i, values] = (low, high)
            sentences.append(S(atoms[i], low, high, given=_configuration(atoms, above, values)))
    return Network(tuple(a.variable for a in atoms), tuple(sentences)), parents, theta


@pytest.mark.parametrize(("window", "networks"), [(0, 60), (1, 15), (2, 3)])
def test_sound_bounds_contain_sampled_models_of_networks_with_loops(window: int, networks: int) -> None:
    worlds = np.indices((2,) * 7).reshape(7, -1)
    for seed in range(networks):
        net, parents, theta = loopy(seed, 7)
        found = propagate(net, variant="sound", window=window)
        rng = np.random.default_rng(seed)
        for _ in range(40):
            model = _sampled(rng, parents, theta, worlds)
            for i, variable in enumerate(net.variables):
                lower, upper = found.interval(variable)
                assert lower - 1e-12 <= model[worlds[i] == 1].sum() <= upper + 1e-12, (seed, variable.name)


def _sampled(
    rng: np.random.Generator,
    parents: dict[int, list[int]],
    theta: dict[tuple[int, tuple[int, ...]], tuple[float, float]],
    worlds: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the joint distribution with every conditional probability at a random end of its interval."""
    joint = np.ones(worlds.shape[1])
    for i, above in parents.items():
        for values in itertools.product((0, 1), repeat=len(above)):
            here = np.all([worlds[p] == b for p, b in zip(above, values, strict=True)], axis=0)
            chance = theta[i, values][int(rng.integers(2))]
            joint *= np.where(here, np.where(worlds[i] == 1, chance, 1.0 - chance), 1.0)
    return joint


def test_a_larger_window_never_loosens_a_bound() -> None:
    widths = np.zeros(3)
    for seed in range(6):
        net, _, _ = loopy(seed, 7)
        found = [propagate(net, variant="sound", window=k) for k in (0, 1, 2)]
        widths += [(one.upper - one.lower).sum() for one in found]
        for narrow, wide in itertools.pairwise(found):
            assert np.all(wide.lower >= narrow.lower - 1e-6)
            assert np.all(wide.upper <= narrow.upper + 1e-6)
    assert widths[2] <= widths[1] + 1e-6 < widths[0]


def test_the_papers_variant_can_be_wrong_where_paths_meet() -> None:
    """Both causes copy one coin, so their conjunction has probability 1/2; if independent, it had 1/4."""
    assert propagate(COPIES).interval(D.variable) == pytest.approx((0.25, 0.25), abs=1e-9)
    assert propagate(COPIES, variant="sound").interval(D.variable) == pytest.approx((0.0, 0.5), abs=1e-9)
    windowed = propagate(COPIES, variant="sound", window=1)
    assert windowed.interval(D.variable) == pytest.approx((0.5, 0.5), abs=1e-9)


def test_every_round_of_sound_propagation_is_an_outer_bound() -> None:
    final = propagate(SECTION_3_3, variant="sound")
    for rounds in range(4):
        early = propagate(SECTION_3_3, variant="sound", schedule="synchronous", max_iterations=rounds)
        assert np.all(early.lower <= final.lower + 1e-12)
        assert np.all(early.upper >= final.upper - 1e-12)


def test_crossing_messages_prove_inconsistency_and_name_the_sentences_on_the_path() -> None:
    chain = network(
        S(A, 0.1, 0.2, label="root"),
        S(B, 0.1, 0.2, given=A, label="up"),
        S(B, 0.1, 0.2, given=~A, label="down"),
        S(B, 0.5, 0.6, label="claim"),
        S(C, 0.1, 0.9, given=A, label="aside"),
    )
    with pytest.raises(InconsistentNetwork) as caught:
        propagate(chain, variant="sound")
    message = str(caught.value)
    assert all(name in message for name in ("up", "down", "claim"))
    assert "aside" not in message


def test_crossing_messages_of_the_papers_variant_only_say_that_no_fixed_point_was_found() -> None:
    found = propagate(network(S(A, 0.1, 0.2), S(A, 0.5, 0.6, given=B), S(A, 0.5, 0.6, given=~B)))
    assert found.crossed == A.variable
    assert not found.converged
    assert {answer.status for answer in found.answers()} == {Status.UNDECIDED}
    assert {answer.interval for answer in found.answers()} == {VACUOUS}


def test_messages_that_cross_by_a_rounding_still_give_an_interval() -> None:
    found = propagate(network(S(A, 0.1, 0.2)))
    by_a_trace = replace(found, lower=np.array([0.2 + 1e-12]), upper=np.array([0.2]))
    (answer,) = by_a_trace.answers()
    assert answer.lower == 0.2 < answer.upper == 0.2 + 1e-12


def test_contradictory_conditionals_make_their_condition_impossible() -> None:
    torn = network(S(A, 0.1, 0.2, given=B), S(A, 0.5, 0.6, given=B), S(C, 0.2, 0.3, given=B))
    for variant in Variant:
        assert propagate(torn, variant=variant).interval(B.variable) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_without_a_markov_condition_no_independence_is_used() -> None:
    pair = network(
        S(A, 0.5, 0.5),
        S(B, 0.5, 0.5),
        S(C, 1, 1, given=A & B),
        S(C, 0, 0, given=A & ~B),
        S(C, 0, 0, given=~A & B),
        S(C, 0, 0, given=~A & ~B),
    )
    assert propagate(pair, variant="sound").interval(C.variable) == pytest.approx((0.25, 0.25), abs=1e-9)
    free = propagate(pair, variant="sound", markov=Markov.NONE).interval(C.variable)
    assert free == pytest.approx((0.0, 0.5), abs=1e-9)


# --- Evidence -----------------------------------------------------------------------------------------------


def _posteriors(tree: Polytree, observed: dict[int, int]) -> dict[int, tuple[float, float]]:
    """Enumerate the vertices of a credal network: posteriors are attained there."""
    n = len(tree.parents)
    worlds = np.indices((2,) * n).reshape(n, -1)
    seen = np.all([worlds[i] == value for i, value in observed.items()], axis=0)
    reached: dict[int, list[float]] = {i: [] for i in range(n)}
    for theta in _vertices(tree):
        joint = np.ones(worlds.shape[1])
        for (i, values), chance in theta.items():
            here = np.all([worlds[p] == b for p, b in zip(tree.parents[i], values, strict=True)], axis=0)
            joint *= np.where(here, np.where(worlds[i] == 1, chance, 1.0 - chance), 1.0)
        if joint[seen].sum() > 0.0:
            for i in range(n):
                reached[i].append(float(joint[seen & (worlds[i] == 1)].sum() / joint[seen].sum()))
    return {i: (min(values), max(values)) for i, values in reached.items()}


@pytest.mark.parametrize("block", range(3))
def test_posteriors_on_polytrees_are_exact_and_their_sound_bounds_valid(block: int) -> None:
    tried = 0
    for seed in range(500 + 40 * block, 540 + 40 * block):
        tree = random_polytree(seed, extra=False, largest=5)
        n = len(tree.parents)
        if sum(low < high for low, high in tree.theta.values()) > 8:
            continue
        rng = np.random.default_rng(seed)
        observed = {int(i): int(rng.integers(2)) for i in rng.permutation(n)[: rng.integers(1, n)]}
        net = tree.network
        evidence = {net.variables[i]: ("false", "true")[value] for i, value in observed.items()}
        found = propagate(net, evidence=evidence)
        sound = propagate(net, variant="sound", evidence=evidence)
        tried += 1
        for i, exact in _posteriors(tree, observed).items():
            assert found.interval(net.variables[i]) == pytest.approx(exact, abs=1e-8), (seed, i)
            lower, upper = sound.interval(net.variables[i])
            assert lower <= exact[0] + 1e-9
            assert upper >= exact[1] - 1e-9
    assert tried > 15


def test_answers_with_evidence_ask_the_posterior() -> None:
    credal = network(S(A, 0.5, 0.5), S(B, 0.9, 0.9, given=A), S(B, 0.1, 0.1, given=~A))
    (about_a, about_b) = propagate(credal, evidence=B).answers()
    assert about_a.query == Query(A, B)
    assert (about_a.lower, about_a.upper) == pytest.approx((0.9, 0.9), abs=1e-9)
    assert (about_b.lower, about_b.upper) == (1.0, 1.0)


def test_evidence_that_every_model_excludes_is_named() -> None:
    never = network(S(A, 0, 0), S(B, 0.9, 0.9, given=A), S(B, 0.1, 0.1, given=~A))
    with pytest.raises(ImpossibleEvidence):
        propagate(never, evidence=A)


@pytest.mark.parametrize(
    ("net", "evidence"),
    [
        (SECTION_3_3, A),
        (network(S(A | B, 0.3, 0.4)), A),
        (network(S(A, 0.3, 0.4, given=B), S(B, 0.3, 0.4, given=A)), A),
        (SECTION_3_3, A | B),
        (SECTION_3_3, C),
    ],
)
def test_evidence_is_refused_where_its_meaning_is_undefined(net: Network, evidence: Formula) -> None:
    with pytest.raises(CredalogError):
        propagate(net, evidence=evidence)


# --- The rest of the contract -------------------------------------------------------------------------------


def test_a_variable_of_several_values_carries_an_interval_per_value() -> None:
    color = Variable("color", ("red", "green", "blue"))
    net = network(
        S(color.is_("red"), 0.2, 0.3),
        S(color.is_("green"), 0.5, 0.6),
        S(A, 0.9, 1.0, given=color.is_("red")),
        S(A, 0.0, 0.1, given=~color.is_("red")),
    )
    for variant in Variant:
        found = propagate(net, variant=variant)
        assert found.interval(color, "blue") == pytest.approx((0.1, 0.3), abs=1e-6)
        assert found.interval(A.variable) == pytest.approx((0.18, 0.37), abs=1e-6)
    names = [str(answer.query.claim) for answer in found.answers()]
    assert len(names) == 4


def test_both_schedules_reach_the_same_fixed_point() -> None:
    for seed in range(10):
        net, _, _ = loopy(seed, 8)
        for variant in ("bp", "sound"):
            one, other = (propagate(net, variant=variant, schedule=s) for s in Schedule)
            assert one.lower == pytest.approx(other.lower, abs=1e-7)
            assert one.upper == pytest.approx(other.upper, abs=1e-7)


def test_results_are_the_same_every_time() -> None:
    net, _, _ = loopy(3, 9)
    for variant in Variant:
        one, other = propagate(net, variant=variant), propagate(net, variant=variant)
        assert np.array_equal(one.lower, other.lower)
        assert np.array_equal(one.upper, other.upper)


def test_resuming_from_a_result_asks_only_what_changed() -> None:
    net, _, _ = loopy(4, 9)
    for variant in ("bp", "sound"):
        before = propagate(net, variant=variant)
        assert propagate(net, variant=variant, start=before).iterations == 0
        variable = net.variables[0]
        tightened = Network(
            net.variables, (*net.sentences, S(Is(variable), *_middle(before.interval(variable))))
        )
        asked: list[Round] = []
        resumed = propagate(tightened, variant=variant, start=before, report=asked.append)
        afresh = propagate(tightened, variant=variant)
        assert resumed.lower == pytest.approx(afresh.lower, abs=1e-7)
        assert resumed.upper == pytest.approx(afresh.upper, abs=1e-7)
        assert asked[0].factors <= 1


def _middle(bounds: tuple[float, float]) -> tuple[Fraction, Fraction]:
    low, high = Fraction(bounds[0]), Fraction(bounds[1])
    return low + (high - low) / 4, high - (high - low) / 4


def test_resuming_from_a_network_that_was_not_merely_tightened_is_refused() -> None:
    before = propagate(SECTION_3_3)
    looser = network(S(A, 0.1, 0.3), *SECTION_3_3.sentences[1:])
    with pytest.raises(CredalogError):
        propagate(looser, start=before)


def test_answers_carry_the_warrant_of_their_variant() -> None:
    heuristic = propagate(SECTION_3_3).answers()[1]
    assert (heuristic.status, heuristic.interval.lower.warrant) == (Status.APPROXIMATE, Warrant.HEURISTIC)
    proved = propagate(SECTION_3_3, variant="sound").answers()[1]
    assert (proved.status, proved.interval.upper.warrant) == (Status.BOUNDED, Warrant.CHECKED)
    assert proved.lower_witnessed is None
    assert proved.query == Query(B)


def test_progress_is_reported_every_round() -> None:
    rounds: list[Round] = []
    found = propagate(SECTION_3_3, schedule="synchronous", report=rounds.append)
    assert [r.number for r in rounds] == list(range(1, found.iterations + 1))
    assert rounds[-1].largest_change <= 1e-9


def test_a_sentence_over_too_many_variables_is_refused_by_bp_and_passed_over_by_sound() -> None:
    atoms = [proposition(f"x{i}") for i in range(14)]
    net = network(S(conjunction(atoms[:13]), 0.1, 0.2), S(atoms[13], 0.3, 0.4))
    with pytest.raises(ProblemTooLarge):
        propagate(net)
    found = propagate(net, variant="sound")
    assert found.interval(atoms[0].variable) == (0.0, 1.0)
    assert found.interval(atoms[13].variable) == pytest.approx((0.3, 0.4))


def test_a_false_constant_sentence_is_inconsistent() -> None:
    with pytest.raises(InconsistentNetwork):
        propagate(Network((A.variable,), (S(TRUE, 0.1, 0.2), S(A, 0.1, 0.2))))


def test_a_network_without_sentences_says_nothing() -> None:
    assert propagate(Network((A.variable,), ())).interval(A.variable) == (0.0, 1.0)


def test_families_are_recognised_and_other_factors_keep_their_worlds() -> None:
    kinds = [f.kind for f in factor_graph(network(S(A, 0.1, 0.2, given=B | C), S(A | B, 0.5, 0.6))).factors]
    assert kinds == [Kind.FAMILY, Kind.TABLE]


@pytest.mark.parametrize("seed", range(8))
def test_the_small_simplex_agrees_with_a_library_and_never_undercuts_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(60):
        n, m = int(rng.choice([2, 4, 8, 16])), int(rng.integers(0, 20))
        rows = rng.integers(0, 2, (m, n)) - rng.random((m, 1))
        c = rng.normal(size=n)
        value, feasible = maximize(np.ascontiguousarray(rows), m, c, np.empty(n))
        found = linprog(-c, A_ub=rows, b_ub=np.zeros(m), A_eq=np.ones((1, n)), b_eq=[1.0])
        assert feasible == (found.status == 0)
        if feasible:
            assert found.fun is not None
            assert value == pytest.approx(-found.fun, abs=1e-7)
            assert value >= -found.fun - 1e-9


@pytest.mark.parametrize("wrong", [{"variant": "loopy"}, {"schedule": "random"}, {"window": -1}])
def test_a_choice_that_does_not_exist_is_refused_with_advice(wrong: dict[str, object]) -> None:
    with pytest.raises(CredalogError) as caught:
        propagate(network(S(A, 0.2, 0.3)), **wrong)  # type: ignore[arg-type]
    assert caught.value.advice


def test_when_the_time_is_up_sound_intervals_still_hold() -> None:
    atoms = [proposition(f"x{i}") for i in range(6)]
    links = [Sentence.of(after, "0.4", "0.6", given=before) for before, after in itertools.pairwise(atoms)]
    chain = Network(tuple(a.variable for a in atoms), (Sentence.of(atoms[0], "0.5", "0.5"), *links))
    hurried = propagate(chain, variant="sound", timeout=0.0)
    assert not hurried.converged and hurried.iterations == 0
    given = propagate(chain, variant="sound", timeout=0.0, evidence=Is(chain.variables[-1]))
    assert all((answer.lower, answer.upper) in {(0.0, 1.0), (1.0, 1.0)} for answer in given.answers())
    assert LCN.from_network(chain).propagate(variant="sound", timeout=1e-9).iterations == 0
