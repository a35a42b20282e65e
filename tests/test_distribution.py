"""The second pair of eyes: probabilities by brute force, violations by arithmetic on paper."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credalog.errors import UnknownName
from credalog.network.formulas import TRUE, Formula, Is, Variable, conjunction, propositions
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Contrast, Independence, Network, Sentence, Weighted
from credalog.numbers.budget import Budget
from credalog.tables import distribution as distribution_module
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted import check
from credalog.trusted.check import violation
from oracle import holds, violations
from strategies import formulas

A, B, C, D = propositions("a b c d")
a, b, c, d = (x.variable for x in (A, B, C, D))
COLOR = Variable("color", ("red", "green", "blue"))
says = Sentence.of


def chances(*values: float) -> np.ndarray:
    """Return the table of a proposition from the chances of true in every configuration."""
    return np.array([[1.0 - v, v] for v in values])


@st.composite
def distributions(draw: st.DrawFn) -> Distribution:
    """Draw a directed acyclic network with tables over two- and three-valued variables."""
    variables = (a, b, COLOR, d)
    seed = draw(st.integers(0, 10_000))
    rng, factors = np.random.default_rng(seed), []
    for i, v in enumerate(variables):
        parents = tuple(p for p in variables[:i] if draw(st.booleans()))
        shape = tuple(len(p.values) for p in parents)
        factors.append(Factor((v,), parents, rng.dirichlet(np.ones(len(v.values)), size=shape)))
    return Distribution(tuple(factors))


def brute_force(distribution: Distribution, formula: Formula) -> float:
    """Add up the worlds in which a formula holds."""
    variables = [v for factor in distribution.factors for v in factor.block]
    total = 0.0
    for values in product(*(v.values for v in variables)):
        world = dict(zip(variables, values, strict=True))
        if holds(formula, world):
            total += world_chance(distribution, world)
    return total


def world_chance(distribution: Distribution, world: dict[Variable, str]) -> float:
    chance = 1.0
    for f in distribution.factors:
        chance *= float(f.table[tuple(v.values.index(world[v]) for v in (*f.parents, *f.block))])
    return chance


# --- Probabilities -----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(distributions(), formulas((a, b, COLOR, d)), formulas((a, b, COLOR, d)))
def test_probabilities_are_those_of_brute_force(found: Distribution, claim: Formula, given: Formula) -> None:
    mass = brute_force(found, given)
    if mass == 0.0:
        assert np.isnan(found.probability(claim, given))
    else:
        expected = brute_force(found, claim & given) / mass
        assert found.probability(claim, given) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=20)
@given(distributions())
def test_a_marginal_has_its_axes_in_the_order_asked_for(found: Distribution) -> None:
    table, turned = found.marginal((d, COLOR)), found.marginal((COLOR, d))
    assert table.shape == (2, 3)
    assert table == pytest.approx(turned.T)
    assert table.sum() == pytest.approx(1.0)


@settings(max_examples=40)
@given(distributions(), st.data())
def test_many_marginals_at_once_are_those_one_by_one(found: Distribution, data: st.DataObject) -> None:
    scope = st.lists(st.sampled_from((a, b, COLOR, d)), max_size=4, unique=True).map(tuple)
    scopes = data.draw(st.lists(scope, max_size=5))
    for over, table in zip(scopes, found.marginals(scopes), strict=True):
        assert table == pytest.approx(found.marginal(over), abs=1e-14)


def test_a_frontier_that_grows_too_large_is_given_up() -> None:
    """Forty fair coins that are all asked for at the end, and one pair of them before."""
    coins = [Variable(f"x{i}") for i in range(40)]
    tosses = tuple(Factor((v,), (), np.array([0.5, 0.5])) for v in coins)
    odd = Factor((a,), (coins[0], coins[1]), np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], dtype=float))
    pairs = [(v, a) for v in coins]
    tables = Distribution((*tosses, odd)).marginals(pairs)
    assert all(table == pytest.approx(np.full((2, 2), 0.25)) for table in tables)


def test_the_tables_of_a_tree_are_read_off_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of forty copies of a coin has a noisy child; no table holds more than a family."""
    monkeypatch.setattr(distribution_module, "FRONTIER_LIMIT", 4)
    leaves = [Variable(f"x{i}") for i in range(40)]
    copies = tuple(Factor((v,), (a,), np.eye(2)) for v in leaves)
    noisy = tuple(Factor((Variable(f"y{i}"),), (v,), chances(0.2, 0.7)) for i, v in enumerate(leaves))
    tree = Distribution((Factor((a,), (), np.array([0.6, 0.4])), *copies, *noisy))
    monkeypatch.setattr(Distribution, "marginal", None)
    tables = tree.marginals([(Variable("y7"), leaves[7]), (leaves[3],), (a, leaves[3]), ()])
    assert tables[0] == pytest.approx(np.array([[0.48, 0.12], [0.12, 0.28]]))
    assert tables[1] == pytest.approx(np.array([0.6, 0.4]))
    assert tables[2] == pytest.approx(np.diag([0.6, 0.4]))
    assert tables[3] == pytest.approx(1.0)


def test_impossible_conditions_have_no_probability() -> None:
    never = Distribution((Factor((a,), (), np.array([1.0, 0.0])),))
    assert np.isnan(never.probability(A, A))


def test_blocks_of_several_variables_are_joint_tables() -> None:
    pair = Distribution((Factor((a, b), (), np.array([[0.1, 0.2], [0.3, 0.4]])),))
    assert pair.probability(A & ~B) == pytest.approx(0.3)
    assert pair.probability(A, B) == pytest.approx(0.4 / 0.6)


def test_a_chain_of_a_thousand_is_eliminated_one_by_one() -> None:
    variables = [Variable(f"x{i}") for i in range(1000)]
    factors = [Factor((variables[0],), (), np.array([0.5, 0.5]))]
    factors += [Factor((y,), (x,), chances(0.2, 0.7)) for x, y in pairwise(variables)]
    chain = Distribution(tuple(factors))
    # The stationary chance solves p = 0.2 (1 - p) + 0.7 p.
    assert chain.probability(Is(variables[-1])) == pytest.approx(0.4)
    every = chain.marginals([(v,) for v in variables])
    assert every[0][1] == pytest.approx(0.5) and every[1][1] == pytest.approx(0.45)
    assert every[-1][1] == pytest.approx(0.4)


COINS = tuple(Variable(f"x{i}") for i in range(14))


def test_a_claim_about_many_variables_has_its_probability() -> None:
    """More than a table of the frontier holds: all of them, or some of them and one of two."""
    chance = [0.5 + 0.03 * i for i in range(14)]
    model = Distribution(
        tuple(Factor((v,), (), np.array([1.0 - p, p])) for v, p in zip(COINS, chance, strict=True))
    )
    heads = [Is(v) for v in COINS]
    everything = conjunction(heads)
    assert model.probability(everything) == pytest.approx(np.prod(chance), rel=1e-12)
    # Given x0 and (x0 or x13) only x0 is known; of x12 and x13 one is enough.
    claim = conjunction((*heads[:12], heads[12] | heads[13]))
    either = 1.0 - (1.0 - chance[12]) * (1.0 - chance[13])
    found = model.probability(claim, heads[0] & (heads[0] | heads[13]))
    assert found == pytest.approx(np.prod(chance[1:12]) * either, rel=1e-12)
    assert np.isnan(model.probability(everything, heads[0] & ~heads[0]))


def test_evidence_too_rare_for_a_number_is_no_obstacle_to_a_claim_about_many() -> None:
    """Twelve observations of probability 1e-40 each, and eleven coins that have nothing to do with them."""
    rare = [Variable(f"r{i}") for i in range(12)]
    factors = [Factor((v,), (), np.array([1.0, 1e-40])) for v in rare]
    factors += [Factor((v,), (), np.array([0.5, 0.5])) for v in COINS[:11]]
    claim, given = (conjunction(Is(v) for v in some) for some in (COINS[:11], rare))
    assert Distribution(tuple(factors)).probability(claim, given) == pytest.approx(2.0**-11, rel=1e-12)


# --- Violations ----------------------------------------------------------------------------------------


def model_of(pa: float, pb: float) -> Distribution:
    return Distribution((Factor((a,), (), np.array([1 - pa, pa])), Factor((b,), (), np.array([1 - pb, pb]))))


def test_a_model_violates_nothing() -> None:
    network = Network((a, b), (says(A, 0.3, 0.7), says(B, 0.3, 0.7)))
    assert violation(model_of(0.3, 0.7), network, dependency_graph(network)) == 0.0


@pytest.mark.parametrize("row", [(0.5, 0.6), (0.5, 0.5 - 1e-6), (1.2, -0.2), (np.nan, np.nan), (0.0, 0.0)])
def test_what_is_no_conditional_distribution_is_no_model(row: tuple[float, float]) -> None:
    """Whether the row is that of a or, in a configuration that nothing is said of, that of b."""
    network = Network((a, b), (says(A, 0, 1), says(B, 0, 1, given=A)))
    fair = np.array([0.5, 0.5])
    for factors in (
        (Factor((a,), (), np.array(row)), Factor((b,), (), fair)),
        (Factor((a,), (), fair), Factor((b,), (a,), np.array([row, fair]))),
    ):
        missed = violation(Distribution(factors), network, dependency_graph(network))
        assert not missed <= 1e-9


def test_tables_that_lean_on_each_other_are_no_distribution() -> None:
    network = Network((a, b), (says(A, 0, 1), says(B, 0, 1, given=A)))
    first, second = Factor((a,), (b,), chances(0.2, 0.3)), Factor((b,), (a,), chances(0.2, 0.3))
    assert violation(Distribution((first, second)), network, None) == inf
    again = Factor((a,), (), np.array([0.5, 0.5]))
    assert violation(Distribution((again, again)), network, None) == inf


def test_a_variable_with_two_tables_has_no_distribution() -> None:
    coins = [Factor((a,), (), np.array([0.5, 0.5])) for _ in range(2)]
    assert violation(Distribution(tuple(coins)), Network((a,), (says(A, 0, 1),)), None) == inf


def test_a_sentence_is_missed_by_the_distance_to_its_bound() -> None:
    network = Network((a, b), (says(A, 0.3, 0.7), says(B, 0.3, 0.7)))
    assert violation(model_of(0.25, 0.5), network, None) == pytest.approx(0.05)


def test_a_conditional_sentence_is_missed_in_joint_probability() -> None:
    """P(b | a) = 0.5 misses 0.9 by 0.4, which times P(a) = 0.1 is 0.04."""
    network = Network((a, b), (says(B, 0.9, 1, given=A),))
    assert violation(model_of(0.1, 0.5), network, None) == pytest.approx(0.04)


def test_where_a_condition_never_holds_its_sentence_says_nothing() -> None:
    network = Network((a, b), (says(B, 0.9, 1, given=A),))
    assert violation(model_of(0.0, 0.5), network, None) == 0.0


def test_a_linear_sentence_is_weighed() -> None:
    comparison = Sentence(((Fraction(1), A), (Fraction(-2), B)), TRUE, Fraction(0), Fraction(1))
    network = Network((a, b), (comparison,))
    assert violation(model_of(0.5, 0.25), network, None) == pytest.approx(0.0, abs=1e-15)
    assert violation(model_of(0.5, 0.35), network, None) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("lower", "upper", "relative"),
    [
        ("0.9", 1, 4),  # 0.5 misses 0.9 by 0.4, four times its distance from certainty
        ("0.8", 1, "1.5"),
        ("0.6", 1, "0.25"),
        (1, 1, "0.5"),
        ("0.55", "0.95", "1/9"),
        (0, "0.1", 4),
        (0, "0.2", "1.5"),
        (0, "0.4", "0.25"),
        (0, 0, "0.5"),
        ("0.05", "0.45", "1/9"),
    ],
)
def test_under_a_rare_condition_a_sentence_is_graded_by_it(
    lower: str | int, upper: str | int, relative: str | int
) -> None:
    """P(b | a) is 0.5: a thousandth of how far it is off, relative to how far its bound is from certainty."""
    network = Network((a, b), (Sentence.of(B, lower, upper, given=A),))
    expected = 1e-3 * float(Fraction(relative))
    assert violation(model_of(1e-9, 0.5), network, None) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("excess", "expected"), [(5e-13, 5e-13), (5e-12, 5e-6)])
def test_the_last_digits_of_every_configuration_are_not_graded(excess: float, expected: float) -> None:
    """P(b | a) = 1e-9 is missed by an excess; what is more than rounding is graded by the bound."""
    rare = 1e-9 + excess
    model = Distribution((Factor((a,), (), np.array([0.5, 0.5])), Factor((b,), (a,), chances(1e-9, rare))))
    for claim, lower, upper in ((B, 0, "1e-9"), (~B, "0.999999999", 1)):
        network = Network((a, b), tuple(Sentence.of(claim, lower, upper, given=given) for given in (A, ~A)))
        assert violation(model, network, None) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("given", [A, ~A])
def test_a_local_sentence_is_missed_where_its_condition_holds(given: Formula) -> None:
    """P(b | a) = 0.9 and P(b | !a) = 0.1; both ends of a range that only the other one keeps."""
    model = Distribution((Factor((a,), (), np.array([0.5, 0.5])), Factor((b,), (a,), chances(0.1, 0.9))))
    assert violation(model, Network((a, b), (says(B, 0.6, 1, given=given),)), None) == pytest.approx(
        0.0 if given == A else 0.25
    )
    assert violation(model, Network((a, b), (says(B, 0, 0.4, given=given),)), None) == pytest.approx(
        0.25 if given == A else 0.0
    )


@pytest.mark.parametrize("declared", [Independence((a,), (b,)), Independence((b,), (a,))])
def test_a_rare_side_of_an_independence_grades_it(declared: Independence) -> None:
    """P(a) = 1e-9 and always with b, whose probability is 1/2: off by half of what is rare."""
    rare = 1e-9
    tied = Distribution((Factor((a, b), (), np.array([[0.5, 0.5 - rare], [0.0, rare]])),))
    assert violation(tied, Network((a, b), (), (declared,)), None) == pytest.approx(5e-4, rel=1e-6)


def test_a_rare_context_of_an_independence_grades_it() -> None:
    """Given c, of probability 1e-9, b copies a: P(a, b, c) is off by half of P(a, c)."""
    rare, apart, alike = 1e-9, np.full((2, 2), 0.25), np.diag([0.5, 0.5])
    tied = Distribution((Factor((c, a, b), (), np.stack([(1 - rare) * apart, rare * alike])),))
    network = Network((a, b, c), (), (Independence((a,), (b,), (c,)),))
    assert violation(tied, network, None) == pytest.approx(5e-4, rel=1e-6)


def test_what_never_happens_does_not_hide_a_dependence() -> None:
    """P(a, b) is off by 0.15, beside a context and a value that have probability zero."""
    tied, nothing = np.array([[0.4, 0.1], [0.1, 0.4]]), np.zeros((2, 2))
    never = Distribution((Factor((c, a, b), (), np.stack([tied, nothing])),))
    assert violation(never, Network((a, b, c), (), (Independence((a,), (b,), (c,)),)), None) == pytest.approx(
        0.15
    )
    colors = Distribution((Factor((COLOR, b), (), np.vstack([tied, nothing[:1]])),))
    for declared in (Independence((COLOR,), (b,)), Independence((b,), (COLOR,))):
        assert violation(colors, Network((COLOR, b), (), (declared,)), None) == pytest.approx(0.15)


def test_an_independence_on_too_many_states_counts_as_violated(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network((a, b), (), (Independence((a,), (b,)),))
    monkeypatch.setattr(check, "LARGEST_TABLE", 4)
    assert violation(model_of(0.3, 0.7), network, None) == pytest.approx(0.0, abs=1e-15)
    monkeypatch.setattr(check, "LARGEST_TABLE", 3)
    assert violation(model_of(0.3, 0.7), network, None) == inf


def test_a_declared_independence_counts_without_any_graph() -> None:
    """P(a) = P(b) = 0.5 and P(a, b) = 0.4: off by 0.15."""
    tied = Distribution((Factor((a, b), (), np.array([[0.4, 0.1], [0.1, 0.4]])),))
    network = Network((a, b), (), (Independence((a,), (b,)),))
    assert violation(tied, network, None) == pytest.approx(0.15)


def test_the_markov_condition_is_checked_in_joint_tables() -> None:
    tied = Distribution((Factor((a, b), (), np.array([[0.4, 0.1], [0.1, 0.4]])),))
    network = Network((a, b), (says(A, 0, 1), says(B, 0, 1)))
    assert violation(tied, network, dependency_graph(network)) == pytest.approx(0.15)
    assert violation(tied, network, None) == 0.0


def test_pairwise_independence_is_not_enough() -> None:
    """With c = a xor b any two are independent, but c is a function of the other two."""
    table = np.zeros((2, 2, 2))
    for i, j in product(range(2), repeat=2):
        table[i, j, i ^ j] = 0.25
    parity = Distribution((Factor((a, b, c), (), table),))
    network = Network((a, b, c), (says(A, 0, 1), says(B, 0, 1), says(C, 0, 1)))
    assert violation(parity, network, dependency_graph(network)) == pytest.approx(0.125)


def test_a_missing_parent_is_no_excuse() -> None:
    """A factor whose parents are not those of the graph is checked like any joint table."""
    hidden = Distribution((Factor((a,), (), np.array([0.5, 0.5])), Factor((b,), (a,), chances(0.1, 0.9))))
    network = Network((a, b), (says(A, 0, 1), says(B, 0, 1)))
    assert violation(hidden, network, dependency_graph(network)) == pytest.approx(0.2)


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_violations_are_those_of_the_oracle(seed: int) -> None:
    """Any joint table over a cyclic network, judged by an independent reading of the paper."""
    rng = np.random.default_rng(seed)
    network = Network(
        (a, b, c, d),
        (says(A & B, 0.6, 1), says(A, 0, 0.2, given=C), says(B, 0, 0.7, given=D), says(D, 0.4, 0.6)),
    )
    joint = rng.dirichlet(np.full(16, 0.5)).reshape(2, 2, 2, 2)
    ours = violation(Distribution((Factor((a, b, c, d), (), joint),)), network, dependency_graph(network))
    theirs = violations(joint, network)
    # Ours may also grade a violation relative to its condition, a thousandth of it at most.
    assert theirs.worst - 1e-12 <= ours <= max(theirs.worst, 1e-3) + 1e-12


# --- Ties: what a distribution may stand for (proof 9) ---------------------------------------------------


def contrasted(lower: float, upper: float, *, pc: float = 0.5, weight: int = -1) -> float:
    """Violate bounds on P(a | c) + weight P(a | !c), which is 0.9 + weight 0.3."""
    model = Distribution((Factor((c,), (), np.array([1.0 - pc, pc])), Factor((a,), (c,), chances(0.3, 0.9))))
    terms = (Weighted(Fraction(1), A, C), Weighted(Fraction(weight), A, ~C))
    contrast = Contrast(terms, Fraction(str(lower)), Fraction(str(upper)))
    return violation(model, Network((a, c), (), contrasts=(contrast,)), None)


def test_a_sentence_across_conditions_is_missed_in_joint_probability() -> None:
    """The difference is 0.6, and the conditions together weigh 0.25."""
    assert contrasted(0.5, 0.7) == 0.0
    assert contrasted(0.6, 0.6) == pytest.approx(0.0, abs=1e-12)
    assert contrasted(0.7, 0.9) == pytest.approx(0.1 * 0.25)
    assert contrasted(0.1, 0.2) == pytest.approx(0.4 * 0.25)
    assert contrasted(0.0, 1.0, weight=1) == pytest.approx(0.2 * 0.25)


def test_across_conditions_a_rare_one_grades_the_sentence() -> None:
    rare = 1e-8
    assert contrasted(0.7, 0.9, pc=rare) == pytest.approx(check.LENIENCE * 0.1)
    # Products of rare probabilities vanish; what is missed does not.
    two = [Variable(f"e{i}") for i in range(2)]
    coins = [Factor((e,), (), np.array([1.0, 1e-170])) for e in two]
    laws = [
        Factor((x,), (e,), chances(0.5, value)) for x, e, value in zip((a, b), two, (0.9, 0.3), strict=True)
    ]
    terms = tuple(Weighted(Fraction(w), x, Is(e)) for w, x, e in zip((1, -1), (A, B), two, strict=True))
    contrast = Contrast(terms, Fraction(-1), Fraction(0))
    network = Network((*two, a, b), (), contrasts=(contrast,))
    assert violation(Distribution((*coins, *laws)), network, None) == pytest.approx(check.LENIENCE * 0.6)


def test_where_one_of_several_conditions_never_holds_nothing_is_said() -> None:
    for pc in (0.0, 1.0):
        assert contrasted(-1.0, -0.9, pc=pc) == 0.0


@pytest.mark.parametrize(
    "network",
    [
        Network((a, b, c), (says(C, 0, 1),)),
        Network((a, b, c), (says(A, 0, 1, given=C),)),
        Network((a, b, c), (), (Independence((a,), (c,)),)),
        Network((a, b, c), (), (Independence((c,), (a,)),)),
        Network((a, b, c), (), (Independence((a,), (b,), (c,)),)),
        Network((a, b, c), (), (), (Contrast((Weighted(Fraction(1), A, C),), Fraction(0), Fraction(1)),)),
    ],
    ids=["claim", "condition", "right", "left", "given", "contrast"],
)
def test_a_distribution_without_a_variable_is_no_model_of_what_is_said_of_it(network: Network) -> None:
    assert violation(model_of(0.3, 0.7), network, None) == inf


@pytest.mark.parametrize(
    "network",
    [
        Network((a, b), (says(A & B, 0, 1),)),
        Network((a, b), (), (Independence((a,), (b,)),)),
    ],
    ids=["sentence", "independence"],
)
def test_what_cannot_be_checked_in_time_counts_as_violated(network: Network) -> None:
    assert violation(model_of(0.3, 0.7), network, None) <= 1e-12
    assert violation(model_of(0.3, 0.7), network, None, budget=Budget.of(0.0)) == inf


def test_a_copy_is_one_of_a_variable_that_leans_on_it_in_turn() -> None:
    """x is always equal to y; t follows y and w, though the graph parts it from w by y (or by x).

    With x and y tied each to the other this stands for a model; where only one leads to the other it does
    not, for what is said of the two is not closed.
    """
    x, y, w, t, u = (Variable(name) for name in "xywtu")
    same = np.array([[0.9, 0.1], [0.1, 0.9]])
    either = np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]])
    model = Distribution(
        (
            Factor((y,), (), np.array([0.5, 0.5])),
            Factor((x,), (y,), np.eye(2)),
            Factor((w,), (y,), same),
            Factor((t,), (y, w), either),
            Factor((u,), (x, w), np.full((2, 2, 2), 0.5)),
        )
    )

    def missed(hub: Variable, end: Variable, *between: Sentence) -> float:
        tied = [(hub, w), (w, u), (hub, t)]
        ties = [says(Is(one) ^ Is(other), 0, 1) for one, other in tied]
        network = Network((x, y, w, t, u), (*between, *ties, says(Is(u), 0, 1, given=Is(end))))
        return violation(model, network, dependency_graph(network))

    # P(t, w | y) is 0.81 and P(t | y) P(w | y) is 0.774; the half of y, and of u, a coin of its own.
    apart = pytest.approx((0.81 - 0.774) / 4)
    assert missed(y, x, says(Is(x) ^ Is(y), 0, 1)) <= 1e-12
    assert missed(y, x, says(Is(x), 0, 1, given=Is(y))) == apart
    assert missed(x, y, says(Is(x) ^ Is(y), 0, 1)) <= 1e-12
    assert missed(x, y, says(Is(y), 0, 1, given=Is(x))) == apart


RING = tuple(Variable(f"s{i}") for i in range(4))
S = [Is(s) for s in RING]
CHILD = Is(Variable("child"))
TIES = tuple(says(S[i] ^ S[(i + 1) % 4], 0, 0.5) for i in range(4))


HIDDEN = pytest.approx(0.0036)
"""P(s0, s1, s2, !s3) is 0.081 / 2; if s0 and s2 were independent given the others, 0.126^2 / 0.18 / 2."""


def copied() -> list[Factor]:
    """Return a ring in which each copies its neighbour, and the last one both of its own if they agree.

    Given s1 and s3, s0 and s2 are then dependent, though the graph says otherwise.
    """
    s0, s1, s2, s3 = RING
    start = Factor((s0,), (), np.array([0.5, 0.5]))
    same = np.array([[0.9, 0.1], [0.1, 0.9]])
    both = np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]])
    return [start, Factor((s1,), (s0,), same), Factor((s2,), (s1,), same), Factor((s3,), (s2, s0), both)]


def ring_violation(
    *more: Sentence,
    factors: list[Factor] | None = None,
    declared: tuple[Independence, ...] = (),
    asked: tuple[Variable, ...] = (),
) -> float:
    variables = dict.fromkeys((*RING, *(v for s in more for v in s.scope)))
    network = Network(tuple(variables), (*TIES, *more), declared)
    model = Distribution(tuple(factors or copied()))
    return violation(model, network, dependency_graph(network), asked=asked)


def test_conditions_inside_a_component_are_excused_where_every_scope_is_closed() -> None:
    assert ring_violation() <= 1e-12
    assert ring_violation(asked=RING[:2]) <= 1e-12
    assert ring_violation(says(S[1] & S[2], 0, 1)) <= 1e-12


def test_a_scope_that_is_asked_or_said_and_not_closed_excuses_nothing() -> None:
    """Neither s0 and s2 nor s1 and s3 have each other as parents."""
    assert ring_violation(asked=(RING[0], RING[2])) == HIDDEN
    assert ring_violation(asked=(RING[1], RING[3])) == HIDDEN
    assert ring_violation(Sentence.of(S[0] & S[2], 0, 1, tau=False)) == HIDDEN
    child = Factor((CHILD.variable,), (RING[0],), chances(0.5, 0.5))
    assert ring_violation(says(CHILD, 0, 1, given=S[0]), factors=[*copied(), child]) == HIDDEN


def test_a_declared_independence_of_a_component_excuses_nothing() -> None:
    """They all hold: it is the dependence of s0 and s2 that is seen."""
    apart = [Factor((v,), (), np.array([0.5, 0.5])) for v in (a, b)]
    for held in (
        Independence((RING[1],), (RING[3],), (RING[0], RING[2])),
        Independence((RING[1],), (a,)),
        Independence((a,), (RING[1],)),
        Independence((a,), (b,), (RING[1],)),
    ):
        assert (
            ring_violation(says(A & B, 0, 1, tau=False), factors=[*copied(), *apart], declared=(held,))
            == HIDDEN
        )


def test_members_without_laws_of_their_own_are_not_excused() -> None:
    first, second, *rest = copied()
    together = Factor((RING[0], RING[1]), (), first.table[:, None] * second.table)
    assert ring_violation(factors=[together, *rest]) == HIDDEN


def test_a_member_that_shares_its_law_with_a_parent_outside_is_not_excused() -> None:
    """The parent is a coin of its own, so that what is hidden is halved."""
    _, *rest = copied()
    together = Factor((a, RING[0]), (), np.full((2, 2), 0.25))
    assert ring_violation(says(S[0], 0, 1, given=A), factors=[together, *rest]) == pytest.approx(0.0036 / 2)


def test_two_that_share_a_factor_with_the_parents_of_the_first_are_checked() -> None:
    """Given s1 and s3, the parents of both, s2 copies s0: P(s0, s2, s1, s3) is 1/8 and should be 1/16."""
    coins = [Factor((v,), (), np.array([0.5, 0.5])) for v in (RING[1], RING[3])]
    copies = Factor(
        (RING[0], RING[2]), (RING[1], RING[3]), np.broadcast_to(np.diag([0.5, 0.5]), (2, 2, 2, 2))
    )
    assert ring_violation(factors=[*coins, copies]) == pytest.approx(1 / 16)


def test_of_two_tied_variables_one_may_lean_on_the_parents_of_the_other() -> None:
    """b is a parent of x alone, and so is what c is of d elsewhere; y follows both x and b."""
    x, y = RING[:2]
    either = np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]])
    coins = [Factor((v,), (), np.array([0.5, 0.5])) for v in (b, c)]
    laws = [Factor((v,), (p,), chances(0.3, 0.6)) for v, p in ((x, b), (d, c))]
    model = Distribution((*coins, *laws, Factor((y,), (x, b), either)))
    local = (says(Is(x), 0, 1, given=B), says(D, 0, 1, given=C))
    network = Network((b, c, d, x, y), (*local, says(Is(x) ^ Is(y), 0, 1)))
    graph = dependency_graph(network)
    assert graph.parents(y) == (x,)
    assert violation(model, network, graph) <= 1e-12
    assert violation(model, network, graph, asked=(b, y)) > 0.01


def test_of_two_tied_variables_a_root_is_no_family() -> None:
    """y has no parent and x has y and b: given x, which the graph calls the parent of y, y depends on b."""
    x, y = RING[:2]
    either = np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]])
    model = Distribution(
        (*(Factor((v,), (), np.array([0.5, 0.5])) for v in (b, y)), Factor((x,), (y, b), either))
    )
    network = Network((b, x, y), (says(Is(x), 0, 1, given=B), says(Is(x) ^ Is(y), 0, 1)))
    graph = dependency_graph(network)
    # P(x, y, b) is 0.225; P(x, y) P(x, b) / P(x) is 0.35^2 / 0.5.
    assert violation(model, network, graph, asked=(b, y)) == pytest.approx(0.245 - 0.225)


def test_a_dependence_inside_a_component_is_found_although_more_depends_beyond_it() -> None:
    """a - b - c are tied, c leads to d and a to e: a may depend on neither c nor d, c on neither a nor e."""
    (e,) = propositions("e")
    network = Network(
        (a, b, c, d, e.variable),
        (says(A ^ B, 0, 1), says(B ^ C, 0, 1), says(D, 0, 1, given=C), says(e, 0, 1, given=A)),
    )
    together = np.zeros((2, 2, 2))
    together[0, :, 0] = together[1, :, 1] = 0.25
    leaves = (Factor((d,), (c,), chances(0.2, 0.8)), Factor((e.variable,), (a,), chances(0.2, 0.8)))
    found = Distribution((Factor((a, b, c), (), together), *leaves))
    # P(a, b, c) = 1/4, where P(a | b) P(b, c) is 1/2 times 1/4.
    assert violation(found, network, dependency_graph(network)) == pytest.approx(0.125)


@pytest.mark.parametrize("others", [(~A, D), (D, ~A), (~(A | ~D),)])
def test_observations_that_contradict_each_other_leave_nothing(others: tuple[Formula, ...]) -> None:
    """Of several literals in one conjunct one is enough to contradict what was observed before."""
    found = Distribution((Factor((a,), (), np.array([0.5, 0.5])), Factor((d,), (), np.array([0.5, 0.5]))))
    assert np.isnan(found.probability(D, conjunction((A, *others))))


def test_a_model_says_which_variable_it_does_not_know() -> None:
    model = Distribution((Factor((a,), (), np.array([0.7, 0.3])),))
    with pytest.raises(UnknownName, match="the model says nothing of b"):
        model.probability(B)
