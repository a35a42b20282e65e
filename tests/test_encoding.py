"""Rows and ratios: every model satisfies all of them, and the query is read off rightly.

A model is made up first: a product of marginals, which satisfies every independence there is, or a
Bayesian network inside the local polytopes. Its tables must satisfy whatever the encoding says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credalog.methods.answer import Options
from credalog.methods.automatic import Engine, query
from credalog.methods.cliques.factorization import in_one_clique
from credalog.methods.cliques.witness import distribution_at, tables_of
from credalog.network.formulas import Is, Variable, conjunction, propositions
from credalog.network.graph import Markov
from credalog.network.polytopes import LocalPolytope, vertices
from credalog.network.problem import Problem
from credalog.network.sentences import Network, Query, Sentence
from credalog.network.structure import Condition, Reading
from credalog.program.program import Floats, Objective
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted.rounding import above, below
from encoded import worst_miss
from random_networks import KINDS, UNIQUE, random_case

A, B, C, D = propositions("a b c d")
says = Sentence.of

APPENDIX = Network(
    tuple(atom.variable for atom in (A, B, C, D)),
    (
        says(A & B, 0.6, 1),
        says(A, 0, 0.2, given=C),
        says(A, 0, 0.8, given=~C),
        says(B, 0, 0.7, given=D),
        says(B, 0, 0.3, given=~D),
    ),
)

Rng = np.random.Generator


# --- Made-up models ----------------------------------------------------------------------------------


def product_model(variables: Sequence[Variable], rng: Rng) -> dict[Variable, Floats]:
    return {v: rng.dirichlet(np.ones(len(v.values))) for v in variables}


def as_distribution(marginals: dict[Variable, Floats], blocks: Sequence[Sequence[Variable]]) -> Distribution:
    """Write a product of marginals as factors without parents, one for each block."""
    factors = []
    for block in blocks:
        table = np.ones(())
        for v in block:
            table = np.multiply.outer(table, marginals[v])
        factors.append(Factor(tuple(block), (), table))
    return Distribution(tuple(factors))


def around(sentence: Sentence, model: Distribution, slack: Fraction) -> Sentence:
    """Move the bounds of a sentence to where the model satisfies it."""
    value = sum(float(w) * model.probability(claim, sentence.given) for w, claim in sentence.claims)
    if not np.isfinite(value):
        return sentence
    exact = Fraction(value)
    lower, upper = exact - slack, exact + slack
    return Sentence(sentence.claims, sentence.given, lower, upper, sentence.tau, sentence.label)


def bayesian_model(problem: Problem, rng: Rng) -> Distribution:
    """Draw every theta(x | configuration) from its local polytope."""
    factors = []
    for x in parents_first(problem):
        parents = problem.structure.parents[x]
        table = np.empty([problem.structure.sizes[y] for y in (*parents, x)])
        for configuration in np.ndindex(*table.shape[:-1]):
            polytope = problem.polytopes[x].get(configuration, LocalPolytope(table.shape[-1]))
            corners = np.array([[float(c) for c in vertex] for vertex in vertices(polytope)])
            table[configuration] = rng.dirichlet(np.ones(len(corners))) @ corners
        named = [problem.variables[y] for y in (*parents, x)]
        factors.append(Factor((named[-1],), tuple(named[:-1]), table))
    return Distribution(tuple(factors))


def parents_first(problem: Problem) -> Iterator[int]:
    return (x for component in problem.structure.components for x in component)


def assert_read_rightly(tables: Floats, objective: Objective, model: Distribution, asked: Query) -> None:
    mass = objective.denominator @ tables
    if mass <= 0.0:
        return
    expected = model.probability(asked.claim, asked.given)
    assert objective.numerator @ tables / mass == pytest.approx(expected, abs=1e-9)


# --- Every model satisfies every row -------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", range(800, 806))
@pytest.mark.parametrize("reading", [Reading.LITERAL, Reading.OUTER, Reading.CHAIN])
def test_a_product_model_satisfies_every_row(kind: str, seed: int, reading: Reading) -> None:
    case, rng = random_case(kind, seed), np.random.default_rng(seed)
    marginals = product_model(case.network.variables, rng)
    plain = as_distribution(marginals, [[v] for v in case.network.variables])
    sentences = tuple(around(s, plain, Fraction(int(rng.integers(0, 3)), 10)) for s in case.network.sentences)
    network = Network(case.network.variables, sentences, case.network.independences)
    part = Engine(network).part(case.query)
    encoding, objective = part.encode(case.query, reading)
    names = encoding.problem.variables
    blocks = dict.fromkeys(c.block for c in reversed(encoding.factorization.cliques[:-1]))
    model = as_distribution(marginals, [[names[x] for x in block] for block in blocks])
    tables = tables_of(encoding, model)
    assert worst_miss(encoding, tables) <= 1e-12
    assert_read_rightly(tables, objective, plain, case.query)


@pytest.mark.parametrize("kind", sorted(UNIQUE))
@pytest.mark.parametrize("seed", range(820, 832))
def test_a_bayesian_network_in_the_local_polytopes_satisfies_every_row(kind: str, seed: int) -> None:
    case = random_case(kind, seed, smallest=3, largest=5)
    part = Engine(case.network).part(case.query)
    model = bayesian_model(part.problem, np.random.default_rng(seed))
    encoding, objective = part.encode(case.query, Reading.LITERAL)
    tables = tables_of(encoding, model)
    assert worst_miss(encoding, tables) <= 1e-12
    assert_read_rightly(tables, objective, model, case.query)


@pytest.mark.parametrize("seed", range(840, 852))
def test_no_table_holds_more_than_its_mass_bound(seed: int) -> None:
    """Bounds on masses where the evidence has mass one are what makes a bound on a posterior provable."""
    case = random_case("credal", seed, smallest=3, largest=5)
    part = Engine(case.network).part(case.query)
    encoding, objective = part.encode(case.query, Reading.LITERAL)
    for draw in range(5):
        tables = tables_of(encoding, bayesian_model(part.problem, np.random.default_rng([seed, draw])))
        scaled = tables / (objective.denominator @ tables)
        held = [scaled[start:stop].sum() for start, stop in encoding.program.tables]
        assert np.all(held <= objective.mass_bounds * (1 + 1e-12))


@pytest.mark.parametrize("seed", range(860, 866))
def test_the_way_back_from_tables_gives_the_distribution(seed: int) -> None:
    case = random_case("credal", seed, smallest=3, largest=5)
    asked = Query(case.query.claim)
    part = Engine(case.network).part(asked)
    encoding, _ = part.encode(asked, Reading.LITERAL)
    model = bayesian_model(part.problem, np.random.default_rng(seed))
    back = distribution_at(encoding, tables_of(encoding, model))
    for factor in back.factors:
        family = (*factor.parents, *factor.block)
        assert back.marginal(family) == pytest.approx(model.marginal(family), abs=1e-12)


# --- No redundant condition -----------------------------------------------------------------------------


def quadratic_rows(conditions: Sequence[Condition], sizes: Sequence[int]) -> int:
    """Count the equations P(x,s,z) P(z) = P(x,z) P(s,z) that are left when sums over x or s are dropped."""

    def states(group: Sequence[int]) -> int:
        return prod(sizes[x] for x in group)

    return sum((states(c.left) - 1) * (states(c.right) - 1) * states(c.given) for c in conditions)


def test_the_appendix_has_nine_quadratic_conditions() -> None:
    engine = Engine(APPENDIX)
    structure = engine.problem.structure
    joint = in_one_clique(structure, query=[2], reading=Reading.LITERAL)
    assert quadratic_rows(joint.cliques[0].conditions, structure.sizes) == 9
    core, _ = engine.part(Query(C)).encode(Query(C), Reading.LITERAL)
    conditions = [c for clique in core.factorization.cliques for c in clique.conditions]
    assert quadratic_rows(conditions, structure.sizes) == 9


def test_independent_variables_need_no_condition_at_all() -> None:
    """A clique per variable: the joint distribution of no two is ever asked for."""
    network = Network(tuple(x.variable for x in (A, B, C)), (says(A, 0, 1), says(B, 0, 1), says(C, 0, 1)))
    encoding, _ = Engine(network).part(Query(A)).encode(Query(A), Reading.LITERAL)
    assert not any(clique.conditions for clique in encoding.factorization.cliques)


def test_nilssons_logic_has_no_ratio() -> None:
    encoding, _ = Engine(APPENDIX, Markov.NONE).part(Query(A, B)).encode(Query(A, B), Reading.FREE)
    assert len(encoding.program.ratios.of) == 0


def test_a_sentence_is_written_once_with_its_origin() -> None:
    encoding, _ = Engine(APPENDIX).part(Query(C)).encode(Query(C), Reading.LITERAL)
    origins = [n for n in (*encoding.program.inequality_origin, *encoding.program.equality_origin) if n >= 0]
    # An end at 0 or 1 says nothing, so each sentence of the appendix is one row.
    assert sorted(origins) == [0, 1, 2, 3, 4]


def test_only_free_ratios_of_two_valued_variables_sit_at_ends() -> None:
    network = Network(
        tuple(x.variable for x in (A, B, C)),
        (
            says(A, 0.2, 0.4),
            says(B, 0.1, 0.3, given=A),
            says(C, 0.5, 0.6, given=B),
            says(B & C, 0, 0.4, tau=False),
        ),
    )
    encoding, _ = Engine(network).part(Query(C, B)).encode(Query(C, B), Reading.LITERAL)
    assert not encoding.program.ratios.at_vertex.any()


# --- Rounding ------------------------------------------------------------------------------------------


@given(st.fractions())
def test_rounding_encloses_a_rational_between_neighbouring_floats(value: Fraction) -> None:
    low, high = below(value), above(value)
    assert Fraction(low) <= value <= Fraction(high)
    assert high == low or high == np.nextafter(low, np.inf)
    assert below(Fraction(low)) == low == above(Fraction(low))


def test_independent_variables_are_bounded_in_every_context_of_all_the_others() -> None:
    network = Network(
        tuple(atom.variable for atom in (A, B, C, D)),
        (*(says(x, 0.3, 0.7) for x in (A, B, C, D)), says(A & B & C & D, 0.01, 0.2, tau=False)),
    )
    encoding, _ = Engine(network).part(Query(A)).encode(Query(A), Reading.LITERAL)
    ratios = encoding.program.ratios
    contexts = np.bincount(ratios.of[np.diff(ratios.denominator.indptr) == 2])
    assert len(contexts) == 4
    assert contexts.min() >= 8


# --- Bounds on columns, to the last digit ----------------------------------------------------------------


def joint_of(chances: Sequence[Sequence[Fraction]], world: Sequence[int]) -> Fraction:
    """Return the probability of a world of a chain, from P(x | x before) of each state before."""
    found, before = Fraction(1), 0
    for row, value in zip(chances, world, strict=True):
        p = row[before % len(row)]
        found, before = found * (p if value else 1 - p), value
    return found


def test_the_only_model_of_a_chain_passes_no_bound_on_columns() -> None:
    """All probabilities are floats with twenty digits; those of the third table have more than a float."""
    rng, atoms = np.random.default_rng(1), propositions("x0 x1 x2 x3")
    for _ in range(20):
        rows = [[Fraction(int(k), 2**20) for k in rng.integers(1, 2**20, 1 + (i > 0))] for i in range(4)]
        sentences = [says(atoms[0], rows[0][0], rows[0][0])]
        for before, atom, (no, yes) in zip(atoms, atoms[1:], rows[1:], strict=False):
            sentences += [says(atom, yes, yes, given=before), says(atom, no, no, given=~before)]
        network = Network(tuple(atom.variable for atom in atoms), tuple(sentences))
        part = Engine(network).part(Query(atoms[3]))
        encoding, objective = part.encode(Query(atoms[3]), Reading.OUTER)
        bounds = encoding.with_column_bounds(objective).column_bounds
        assert bounds is not None
        for clique, columns in zip(encoding.factorization.cliques, encoding.columns, strict=True):
            for state in np.ndindex(*columns.shape):
                worlds = [w for w in product((0, 1), repeat=4) if tuple(w[x] for x in clique.scope) == state]
                exact = sum((joint_of(rows, world) for world in worlds), Fraction(0))
                found = Fraction(float(bounds[columns[state]]))
                assert exact <= found <= exact * (1 + Fraction(1, 10**12))


def test_the_range_of_a_ratio_is_rounded_outwards() -> None:
    rng = np.random.default_rng(2)
    for _ in range(30):
        low, high = sorted(Fraction(int(k), 997) for k in rng.integers(1, 997, 2))
        network = Network((A.variable, B.variable), (says(A, low, high), says(B, low, high, given=A)))
        encoding, _ = Engine(network).part(Query(B)).encode(Query(B), Reading.OUTER)
        ratios, hair = encoding.program.ratios, Fraction(1, 10**15)
        stated = [i for i, upper in enumerate(ratios.upper) if upper < 1.0]
        assert len(stated) >= 2
        for i in stated:
            assert low - hair <= Fraction(float(ratios.lower[i])) <= low
            assert high <= Fraction(float(ratios.upper[i])) <= high + hair


@pytest.mark.parametrize("state", range(3))
def test_an_observation_of_three_values_is_bounded_as_the_value_observed(state: int) -> None:
    """P(a) = 1/2 and P(color | a), P(color | !a) are given: P(a | color) follows by Bayes' theorem."""
    color = Variable("color", ("red", "green", "blue"))
    yes, no = ("0.1", "0.2", "0.7"), ("0.5", "0.4", "0.1")
    sentences = [says(A, "0.5", "0.5")]
    for value, first, second in zip(color.values, yes, no, strict=True):
        sentences += [
            says(Is(color, value), first, first, given=A),
            says(Is(color, value), second, second, given=~A),
        ]
    network, query = Network((A.variable, color), tuple(sentences)), Query(A, Is(color, color.values[state]))
    exact = Fraction(yes[state]) / (Fraction(yes[state]) + Fraction(no[state]))
    answer = Engine(network).query(query, Options(method="factorized"))
    assert Fraction(answer.lower) <= exact <= Fraction(answer.upper)
    assert (answer.lower, answer.upper) == pytest.approx((float(exact), float(exact)), abs=1e-4)


def test_without_a_markov_condition_no_table_states_one() -> None:
    """b may copy a, or its opposite, whatever c and d say of both: P(a and b) is 0 to 1/2."""
    half = [says(atom, "0.5", "0.5") for atom in (A, B)]
    more = [says(C, "0.1", "0.9", given=A & B), says(D, "0.1", "0.9", given=B & C)]
    network = Network(tuple(atom.variable for atom in (A, B, C, D)), (*half, *more))
    options = Options(method="factorized", markov=Markov.NONE)
    for asked in (A & B, (A & B) | (C & D & A)):
        found = query(network, Query(asked), options)
        assert found.lower <= 0.0 and found.upper >= 0.5


@pytest.mark.parametrize("least", [*(Fraction(n, 997) for n in (65, 127, 257, 500, 812)), Fraction(3, 4)])
def test_an_observation_divides_the_mass_by_its_least_likelihood(least: Fraction) -> None:
    """Without that bound on the mass no bound on the posterior is provable; a hair less, and it is false."""
    a, b, e = propositions("a b e")
    sentences = (
        says(a, Fraction(1, 5), Fraction(2, 5)),
        says(e, least, Fraction(1), given=a),
        says(e, least + Fraction(1, 997), Fraction(1), given=~a),
        says(a | b, Fraction(1, 10), Fraction(9, 10)),
    )
    query = Query(a, e)
    network = Network((a.variable, b.variable, e.variable), sentences)
    _, objective = Engine(network).part(query).encode(query, Reading.OUTER)
    total = Fraction(float(objective.mass_bounds[0]))
    assert 1 / least <= total <= (1 + Fraction(1, 10**12)) / least


@pytest.mark.parametrize("seed", range(870, 876))
def test_a_probability_without_a_condition_is_read_off_the_table_of_the_query(seed: int) -> None:
    case = random_case("credal", seed, smallest=3, largest=5)
    part = Engine(case.network).part(case.query)
    model = bayesian_model(part.problem, np.random.default_rng(seed))
    encoding, _ = part.encode(case.query, Reading.LITERAL)
    tables = tables_of(encoding, model)
    objective = encoding.unconditional(case.query.claim)
    observed = conjunction(
        part.problem.variables[x].is_(part.problem.variables[x].values[k])
        for x, k in encoding.evidence.items()
    )
    both = model.probability(conjunction((case.query.claim, observed)))
    assert objective.numerator @ tables == pytest.approx(both)
    assert objective.denominator @ tables == pytest.approx(1.0)


@pytest.mark.parametrize("reading", [Reading.LITERAL, Reading.FREE])
def test_only_the_law_of_a_variable_given_its_parents_sits_at_an_end(reading: Reading) -> None:
    """On a -> b -> c, P(a | b) lies between ends where all laws are at theirs; without arrows none is."""
    chain = [says(A, 0.2, 0.4), says(B, 0.1, 0.3, given=A), says(B, 0.4, 0.5, given=~A)]
    more = [says(C, 0.5, 0.6, given=B), says(C, 0.2, 0.3, given=~B)]
    network = Network(tuple(x.variable for x in (A, B, C)), (*chain, *more))
    encoding, _ = Engine(network).part(Query(A & B & C)).encode(Query(A & B & C), reading)
    at_ends = encoding.program.ratios.at_vertex.tolist()
    parents = encoding.problem.structure.parents
    assert any(at_ends) == (reading is Reading.LITERAL)
    for key, is_at_end in zip(encoding.keys, at_ends, strict=True):
        assert not is_at_end or key.given == parents[key.left[0]]
