"""What an attack on propagation found, and what it must never find: bounds that a model passes."""

from __future__ import annotations

import numpy as np
import pytest

from awkward_networks import AWKWARD, COPIES, awkward_case, network
from credal_drawing import brute_force, draw_polytree
from credalog.errors import CredalogError, ImpossibleEvidence
from credalog.methods.intervals import Schedule, propagate
from credalog.methods.intervals.kernels import dual_bound, proves_empty
from credalog.methods.intervals.rounds import ask_programs
from credalog.network.formulas import conjunction, disjunction, proposition, propositions
from credalog.network.graph import Markov
from credalog.network.sentences import Independence, Network, Sentence
from credalog.numbers.interval import Status
from credalog.numbers.jit import sources
from propagation_judging import accusations

pytestmark = pytest.mark.slow

S = Sentence.of
A, B, C, D, E = propositions("a b c d e")


SEEDS = {"loopy": 1, "distant": 1, "several": 1}


@pytest.mark.parametrize("kind", AWKWARD)
def test_sound_bounds_contain_the_models_that_awkward_networks_were_drawn_around(kind: str) -> None:
    for seed in range(SEEDS.get(kind, 2)):
        case = awkward_case(kind, seed)
        assert case is None or list(accusations(case)) == [], (kind, seed)


def test_a_wide_sentence_that_says_nothing_is_no_obstacle() -> None:
    atoms = [proposition(f"x{i}") for i in range(6)]
    net = network(S(disjunction(atoms), 0, 1), S(atoms[0], 0.2, 0.3))
    assert propagate(net, variant="sound").interval(atoms[0].variable) == pytest.approx((0.2, 0.3))


def test_multipliers_that_are_no_numbers_prove_nothing() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert proves_empty(rows, 2, np.array([1.0, 1.0]))
    for wrong in (np.inf, np.nan):
        assert not proves_empty(rows, 2, np.array([wrong, 1.0]))
    assert dual_bound(rows, 2, np.array([1.0, 1.0]), np.array([np.inf, 0.0])) == np.inf


def test_compiled_code_is_thrown_away_when_the_code_it_calls_has_changed() -> None:
    """numba knows the file of a function only; `rounds` calls functions of `programs` and `kernels`."""
    stamp = ask_programs._dispatcher._cache._cache_file._source_stamp  # type: ignore[attr-defined]
    assert sources() in stamp


@pytest.mark.parametrize("markov", list(Markov))
def test_two_variables_declared_independent_are_taken_so_where_they_meet(markov: Markov) -> None:
    """The tie makes a and b depend on each other; with P(a) = P(b) = 1/2, P(a and b) is 1/4 if declared."""
    tied = network(
        S(A, 0.5, 0.5),
        S(B, 0.5, 0.5),
        S(A & B, 0, 1),
        S(C, 1, 1, given=A & B),
        *(S(C, 0, 0, given=given) for given in (A & ~B, ~A & B, ~A & ~B)),
    )
    free = propagate(tied, variant="sound", markov=markov).interval(C.variable)
    assert free == pytest.approx((0.0, 0.5), abs=1e-6)
    declared = Network(tied.variables, tied.sentences, (Independence((A.variable,), (B.variable,)),))
    found = propagate(declared, variant="sound", markov=markov).interval(C.variable)
    assert found == pytest.approx((0.25, 0.25), abs=1e-6)


def test_pairwise_declarations_are_not_taken_for_mutual_independence() -> None:
    """Let c say whether coins a and b agree, or whether they differ: P(a and b and c) is 1/4, or 0."""
    net = network(S(A, 0.5, 0.5), S(B, 0.5, 0.5), S(C, 0.5, 0.5), S(D, 1, 1, given=A & B & C))
    pairs = ((A, B), (A, C), (B, C))
    declared = tuple(Independence((x.variable,), (y.variable,)) for x, y in pairs)
    ties = (S(A & B & C, 0, 1), S(D, 0, 0, given=~(A & B & C)))
    found = propagate(Network(net.variables, (*net.sentences, *ties), declared), variant="sound")
    lower, upper = found.interval(D.variable)
    assert lower <= 0.0 + 1e-9
    assert upper >= 0.25 - 1e-9


@pytest.mark.parametrize("schedule", list(Schedule))
def test_a_factor_hears_of_a_bound_that_is_better_than_its_own(schedule: Schedule) -> None:
    """With P(c) = 0.077 (1 - P(b)) + P(b), known of c, b is known; with it a, though b has bounds from a."""
    chain = network(
        S(A, 0, 1),
        S(B, 0.162, 0.162, given=A),
        S(B, 0.633, 0.633, given=~A),
        S(C, 1, 1, given=B),
        S(C, 0.077, 0.077, given=~B),
        S(C, 0.441, 0.476),
    )
    found = propagate(chain, variant="sound", schedule=schedule)
    b = [(c - 0.077) / 0.923 for c in (0.441, 0.476)]
    a = [(0.633 - p) / 0.471 for p in reversed(b)]
    assert found.interval(B.variable) == pytest.approx(b, abs=1e-8)
    assert found.interval(A.variable) == pytest.approx(a, abs=1e-8)


# --- Warm starts --------------------------------------------------------------------------------------------


def test_sound_propagation_does_not_resume_from_messages_that_are_no_bounds() -> None:
    """Both b and c copy a, so P(d) = 1/2; bp's messages say 1/4."""
    with pytest.raises(CredalogError):
        propagate(COPIES, variant="sound", start=propagate(COPIES))
    bounded = propagate(COPIES, variant="sound", window=1)
    with pytest.raises(CredalogError):
        propagate(COPIES, variant="sound", markov=Markov.NONE, start=bounded)
    free = propagate(COPIES, variant="sound", markov=Markov.NONE)
    lower, upper = propagate(COPIES, variant="sound", start=free).interval(D.variable)
    assert lower <= 0.5 <= upper


# --- Evidence -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["bp", "sound"])
def test_a_cause_that_excludes_the_evidence_is_excluded_though_the_evidence_may_be_impossible(
    variant: str,
) -> None:
    """P(b | a) = 0, so b refutes a in every model with P(b) > 0; some give b no probability at all."""
    net = network(S(A, 0, 0.8), S(B, 0, 0, given=A), S(B, 0, 0.6, given=~A))
    lower, upper = propagate(net, variant=variant, evidence=B).interval(A.variable)
    assert (lower, upper) == pytest.approx((0.0, 0.0), abs=1e-8)


@pytest.mark.parametrize("variant", ["bp", "sound"])
def test_evidence_that_no_choice_of_probabilities_allows_is_impossible(variant: str) -> None:
    net = network(S(A, 0.2, 0.8), S(B, 0, 0, given=A), S(B, 0, 0, given=~A), S(C, 0.1, 0.2, given=B))
    with pytest.raises(ImpossibleEvidence):
        propagate(net, variant=variant, evidence=B)


def test_what_makes_the_evidence_possible_is_part_of_a_witness() -> None:
    """The message from below b is a vector of ones, yet P(c | a) = 1 would rule the evidence out."""
    net = network(
        S(B, 0, 0),
        *(S(A, 1, 1, given=given) for given in (B, ~B)),
        *(S(C, low, high, given=given) for low, high, given in ((0.1, 1, A), (0.3, 0.7, ~A))),
        *(S(D, low, high, given=given) for low, high, given in ((0, 0.2, B), (0.5, 0.8, ~B))),
    )
    found = propagate(net, variant="sound", evidence=~C)
    assert found.interval(D.variable) == pytest.approx((0.5, 0.8), abs=1e-8)


@pytest.mark.parametrize("block", range(2))
def test_posteriors_on_polytrees_of_many_values_are_exact(block: int) -> None:
    tried = 0
    for seed in range(30 * block, 30 * block + 30):
        rng = np.random.default_rng(seed)
        drawn = draw_polytree(rng, count=int(rng.integers(2, 5)), zeros=0.2)
        observed = {0: int(rng.integers(drawn.sizes[0]))}
        truth = {v: brute_force(drawn, v, {0}, observed) for v in range(1, len(drawn.sizes))}
        if drawn.joints > 256 or np.isnan(list(truth.values())).any():
            continue
        tried += 1
        variables = drawn.network.variables
        for variant in ("bp", "sound"):
            found = propagate(drawn.network, variant=variant, evidence=variables[0].is_(f"s{observed[0]}"))
            for v, exact in truth.items():
                assert found.interval(variables[v], "s0") == pytest.approx(exact, abs=1e-7), (seed, v)
    assert tried > 10


def test_bp_on_polytrees_of_many_values_contains_the_truth() -> None:
    tried = 0
    for seed in range(40):
        rng = np.random.default_rng(900 + seed)
        drawn = draw_polytree(rng, count=int(rng.integers(2, 5)))
        if drawn.joints > 256:
            continue
        tried += 1
        found = propagate(drawn.network)
        for v, variable in enumerate(drawn.network.variables):
            exact = brute_force(drawn, v, {0}, {})
            lower, upper = found.interval(variable, "s0")
            assert lower <= exact[0] + 1e-8, (seed, v)
            assert upper >= exact[1] - 1e-8, (seed, v)
    assert tried > 15


def test_only_variables_whose_own_evidence_is_too_much_for_a_window_remain_undecided() -> None:
    """A ring of causes over nine observed ones; f hears only of its parent, g of nothing."""
    atoms = [proposition(f"x{i}") for i in range(9)]
    top, f, g = propositions("top f g")
    net = network(
        S(top, 0.3, 0.4),
        *(S(x, 0.2, 0.8, given=top) for x in atoms),
        *(S(x, 0.4, 0.5, given=~top) for x in atoms),
        S(top | atoms[0], 0.3, 0.9, tau=False),
        S(f, 0.1, 0.2, given=atoms[0]),
        S(f, 0.3, 0.4, given=~atoms[0]),
        S(g, 0.6, 0.7),
    )
    found = propagate(net, variant="sound", evidence=conjunction(atoms))
    assert found.undecided == (top.variable,)
    assert found.interval(f.variable) == pytest.approx((0.1, 0.2), abs=1e-6)
    assert found.interval(g.variable) == pytest.approx((0.6, 0.7), abs=1e-6)
    statuses = {answer.query.claim: answer.status for answer in found.answers()}
    assert statuses[top] is Status.UNDECIDED
    assert statuses[f] is Status.BOUNDED


def test_the_refusal_of_evidence_names_the_commands_that_answer() -> None:
    twice = network(S(A, 0.2, 0.3), S(B, 0.6, 0.7, given=A), S(B, 0.1, 0.2, given=~A), S(B, 0.3, 0.4))
    with pytest.raises(CredalogError) as caught:
        propagate(twice, evidence=B)
    assert 'method="auto"' in str(caught.value)
    lower, upper = propagate(twice, variant="sound", evidence=B).interval(A.variable)
    assert 0.0 < lower < upper < 1.0
