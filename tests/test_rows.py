"""What an encoding says: no more than a model satisfies, nothing that is said left out, and by which ratios.

Distributions are drawn world by world or as chain graphs, and the sentences of a network moved around them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from itertools import product
from math import prod

import numpy as np
import pytest

from credalog.methods.answer import Options
from credalog.methods.automatic import Engine
from credalog.methods.cliques import encoding as encoding_module
from credalog.methods.cliques.encoding import Encoding, RatioKey, _Rows
from credalog.methods.cliques.slices import RUNGS, Rung
from credalog.network.formulas import Is, Variable, conjunction, propositions
from credalog.network.graph import Markov
from credalog.network.sentences import Independence, Network, Query, Sentence
from credalog.network.structure import Condition, Reading
from credalog.numbers.budget import Budget
from credalog.program.program import Floats
from credalog.trusted.rounding import above
from encoded import worst_miss
from oracle import event, violations
from random_networks import KINDS, random_case

A, B, C, D = propositions("a b c d")
says = Sentence.of
Rng = np.random.Generator


# --- None too few: what a distribution violates, it violates in some row ---------------------------------


def some_joint(network: Network, rng: Rng) -> Floats:
    """Draw a probability for every world: no two variables are independent."""
    sizes = [len(v.values) for v in network.variables]
    return rng.dirichlet(np.ones(prod(sizes))).reshape(sizes)


def value_of(sentence: Sentence, network: Network, joint: Floats) -> Fraction:
    given = event(network, sentence.given)
    total = sum(float(w) * joint.ravel()[event(network, c) & given].sum() for w, c in sentence.claims)
    return Fraction(float(total / joint.ravel()[given].sum()))


HAIR = Fraction(1, 50)
AROUND, ABOVE, BELOW, AT = (-HAIR, 5 * HAIR), (HAIR, 5 * HAIR), (-5 * HAIR, -HAIR), (HAIR, HAIR)


def stating(
    network: Network, joint: Floats, *, moved: int | None = None, to: tuple[Fraction, Fraction] = ABOVE
) -> Network:
    """Move the bounds of all sentences around a distribution, but those of one past it."""
    sentences = []
    for i, s in enumerate(network.sentences):
        value = value_of(s, network, joint)
        lower, upper = (value + by for by in (to if i == moved else AROUND))
        sentences.append(Sentence(s.claims, s.given, lower, upper, s.tau, s.label))
    return Network(network.variables, tuple(sentences), network.independences)


def seen_in_cliques(encoding: Encoding, network: Network, joint: Floats) -> Floats:
    """Sum a distribution over the variables that each clique does not show."""
    point = np.zeros(encoding.program.columns)
    axes = [network.variables.index(v) for v in encoding.problem.variables]
    for clique, columns in zip(encoding.factorization.cliques, encoding.columns, strict=True):
        shown = [axes[x] for x in clique.scope]
        table = joint.sum(axis=tuple(a for a in range(joint.ndim) if a not in shown))
        table = table.transpose(np.argsort(np.argsort(shown))) if shown else table
        pick = [encoding.evidence[x] if x in clique.fixed else slice(None) for x in clique.scope]
        point[columns] = table[tuple(pick)]
    return point


def has_mass(sentence: Sentence, network: Network, joint: Floats) -> bool:
    return bool(joint.ravel()[event(network, sentence.given)].sum() > 0.02)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", range(870, 874))
def test_any_distribution_satisfies_every_row_of_nilssons_logic(kind: str, seed: int) -> None:
    case = random_case(kind, seed)
    network = Network(case.network.variables, case.network.sentences)
    joint = some_joint(network, np.random.default_rng(seed))
    network = stating(network, joint)
    part = Engine(network, Markov.NONE).part(case.query)
    for encoding, _ in (part.encode(case.query, Reading.FREE), part.encode_jointly(case.query)):
        assert worst_miss(encoding, seen_in_cliques(encoding, network, joint)) <= 1e-12


def chain_graph_model(network: Network, rng: Rng) -> Floats:
    """Draw the joint table of a chain graph: of a component, a factor for each variable and each parent."""
    structure = Engine(network).problem.structure
    joint = np.ones(structure.sizes)
    for component in structure.components:
        law = np.ones(structure.sizes)
        for x in component:
            for pair in ((x, p) for p in (x, *structure.parents[x])):
                shape = [size if i in pair else 1 for i, size in enumerate(structure.sizes)]
                law = law * rng.uniform(0.2, 2.0, shape)
        joint = joint * law / law.sum(axis=component, keepdims=True)
    return joint


def has_mutual_ties(network: Network) -> bool:
    structure = Engine(network).problem.structure
    inside = ((x, p) for c in structure.components for x in c for p in structure.parents[x] if p in c)
    return all(x in structure.parents[p] for x, p in inside)


@pytest.mark.parametrize("reading", [r for r in Reading if r not in (Reading.FREE, Reading.SLICED)])
@pytest.mark.parametrize(
    "kind", [*sorted(set(KINDS) - {"declared"}), "blocks", "cores+linear", "cores+spellings"]
)
@pytest.mark.parametrize("seed", range(910, 913))
def test_a_chain_graph_satisfies_every_row_and_passes_no_bound_on_columns(
    kind: str, seed: int, reading: Reading
) -> None:
    """Inside a component it has every independence there is, and no others: so has no product."""
    case = random_case(kind, seed, largest=5)
    if not has_mutual_ties(case.network):
        return
    joint = chain_graph_model(case.network, np.random.default_rng(seed))
    network = stating(case.network, joint)
    part = Engine(network, Markov.GLOBAL if reading is Reading.GLOBAL else Markov.LOCAL).part(case.query)
    encoding, objective = part.encode(case.query, reading)
    tables = seen_in_cliques(encoding, network, joint)
    assert worst_miss(encoding, tables) <= 1e-12
    few, _ = part.encode_slice(Query(Is(v := case.query.scope[0], v.values[0])), Rung(3, 8), Budget.of())
    assert worst_miss(few, seen_in_cliques(few, network, joint)) <= 1e-12
    bounded = encoding.with_column_bounds(objective)
    assert bounded.column_bounds is not None
    scaled = tables / (objective.denominator @ tables)
    assert (scaled <= bounded.column_bounds * (1 + 1e-12)).all()
    assert objective.mass_bounds.max() == objective.mass_bounds[0]


@pytest.mark.parametrize("markov", [Markov.NONE, Markov.LOCAL])
@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", range(880, 884))
def test_a_sentence_that_is_violated_is_a_row_that_is(kind: str, seed: int, markov: Markov) -> None:
    """With and without independences, in cliques, in a slice and in one table."""
    case = random_case(kind, seed)
    rng = np.random.default_rng(seed)
    marginals = [rng.dirichlet(np.ones(len(v.values))) for v in case.network.variables]
    joint = reduce(np.multiply.outer, marginals)
    bounded = [i for i, s in enumerate(case.network.sentences) if has_mass(s, case.network, joint)]
    for moved, to in zip(bounded, (ABOVE, AT, BELOW), strict=False):
        network = stating(case.network, joint, moved=moved, to=to)
        asked = Query(conjunction(Is(v, v.values[0]) for v in network.sentences[moved].scope))
        part = Engine(network, markov).part(asked)
        reading = Reading.FREE if markov is Markov.NONE else Reading.LITERAL
        slices = part.encode_slice(asked, RUNGS[0], Budget.of())
        for encoding, _ in (part.encode(asked, reading), part.encode_jointly(asked), slices):
            assert worst_miss(encoding, seen_in_cliques(encoding, network, joint)) > 1e-5


@pytest.mark.parametrize("moved", range(7))
def test_a_family_on_a_cycle_is_stated_where_its_ties_are_more_than_its_parents(moved: int) -> None:
    """b leans on c alone; that given a and c it is independent of d must not hide what is said of it."""
    case = random_case("cyclic", 29)
    sizes = [len(v.values) for v in case.network.variables]
    rng = np.random.default_rng(moved)
    joint = reduce(np.multiply.outer, [rng.dirichlet(np.ones(size)) for size in sizes])
    said = stating(case.network, joint, moved=moved)
    encoding, _ = Engine(said, Markov.GLOBAL).part(case.query).encode(case.query, Reading.GLOBAL)
    assert any(key.left == (1,) and key.given == (2,) for key in encoding.keys)
    assert worst_miss(encoding, seen_in_cliques(encoding, said, joint)) > 1e-4


COLOR = Variable("color", ("red", "green", "blue"))
RED, GREEN, BLUE = (Is(COLOR, value) for value in COLOR.values)


@pytest.mark.parametrize("to", [ABOVE, AT, BELOW])
@pytest.mark.parametrize("moved", range(4))
def test_what_is_said_of_several_values_at_once_is_a_row(moved: int, to: tuple[Fraction, Fraction]) -> None:
    """Of two values together, and of their difference, in either state of a parent and in every context."""
    both = [says(RED | GREEN, 0, 1, given=g) for g in (A, ~A)]
    lead = (Fraction(1), RED), (Fraction(-1), GREEN)
    more = [Sentence(lead, g, Fraction(-1), Fraction(1)) for g in (A, ~A)]
    network = Network((A.variable, COLOR, B.variable), (*both, *more, says(A, 0.3, 0.6), says(B, 0.2, 0.4)))
    joint = chain_graph_model(network, np.random.default_rng(moved))
    said = stating(network, joint, moved=moved, to=to)
    for asked in (Query(GREEN & A), Query(RED & A & B), Query(BLUE & B)):
        part = Engine(said).part(asked)
        programs = (
            part.encode(asked, Reading.LITERAL),
            part.encode_jointly(asked),
            part.encode_slice(asked, RUNGS[0], Budget.of()),
        )
        for encoding, _ in programs:
            assert worst_miss(encoding, seen_in_cliques(encoding, said, joint)) > 1e-4


@pytest.mark.parametrize("markov", [Markov.NONE, Markov.LOCAL])
@pytest.mark.parametrize("seed", range(890, 896))
def test_a_declared_independence_that_is_violated_is_a_row_that_is(seed: int, markov: Markov) -> None:
    case = random_case("declared", seed)
    joint = some_joint(case.network, np.random.default_rng(seed))
    network = stating(case.network, joint)
    part = Engine(network, markov).part(case.query)
    declared = part.problem.declared
    assert declared
    reading = Reading.FREE if markov is Markov.NONE else Reading.LITERAL
    encoding, _ = part.encode(case.query, reading)
    assert worst_miss(encoding, seen_in_cliques(encoding, network, joint)) > 1e-6


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", range(900, 904))
def test_one_table_of_all_worlds_states_every_independence(kind: str, seed: int) -> None:
    case = random_case(kind, seed)
    joint = some_joint(case.network, np.random.default_rng(seed))
    network = stating(case.network, joint)
    asked = Query(conjunction(Is(v, v.values[0]) for v in network.variables))
    encoding, _ = Engine(network).part(asked).encode_jointly(asked)
    missed = worst_miss(encoding, seen_in_cliques(encoding, network, joint))
    assert (missed > 1e-6) == (violations(joint, network).independence > 1e-6)


# --- Which ratios there are ------------------------------------------------------------------------------


def test_either_side_of_an_independence_is_a_ratio_of_its_family() -> None:
    """b is independent of c, f given a, and c of a and b: P(c | a, b) is P(c), bounded in each context."""
    e, f = propositions("e f")
    by_a, by_causes = [says(B, 0.3, 0.5, given=g) for g in (A, ~A)], says(f, 0.1, 0.2, given=C & D & e)
    roots = [says(x, 0.1, 0.3) for x in (C, A, D, e)]
    network = Network(tuple(x.variable for x in (C, A, B, f, D, e)), (*roots, *by_a, by_causes))
    asked = Query(B & C & f)
    encoding, _ = Engine(network).part(asked).encode(asked, Reading.LITERAL)
    assert encoding.factorization.cliques[0].conditions[0] == Condition((2,), (0, 3), (1,))
    of_c = [i for i, key in enumerate(encoding.keys) if key.left == (0,)]
    assert [encoding.keys[i] for i in of_c] == [RatioKey((0,), (), (1,), ())]
    ratios = encoding.program.ratios
    contexts = ratios.denominator[ratios.of == of_c[0]].toarray()
    for a, b in product(range(2), range(2)):
        here = np.zeros(encoding.program.columns)
        here[encoding.columns[0][:, a, b, :]] = 1.0
        assert (contexts == here).all(axis=1).any()


def test_two_tables_of_a_tied_pair_rest_on_one_law_where_it_is_a_block_of_a_chain_graph() -> None:
    """One table shows both states of b, the other the observed one: P(a, c | b) is the same in both."""
    network = Network(
        tuple(x.variable for x in (A, B, C)), (says(A | C, 0, 0.9, given=B), says(B, 0.7, 1), says(C, 0, 0.9))
    )
    part = Engine(network).part(Query(C, B))
    chain, _ = part.encode(Query(C, B), Reading.CHAIN)
    laws = [i for i, key in enumerate(chain.keys) if key.left == (0, 2)]
    assert {chain.keys[i].configuration for i in laws} == {(0,), (1,)}
    both = [i for i in laws if chain.keys[i].configuration == (1,)]
    assert len(both) == 4
    assert all((chain.program.ratios.of == i).sum() == 2 for i in both)
    outer, _ = part.encode(Query(C, B), Reading.OUTER)
    assert not any(len(key.left) > 1 for key in outer.keys)


def test_what_is_said_of_one_of_a_tied_pair_is_a_ratio_beside_the_law_of_both() -> None:
    """a and c are tied, so that c is a parent of a: P(a | b & c) is a family, and bounded as such."""
    tied, of_a = says(A | C, 0, 0.9, given=B), says(A, 0.2, 0.3, given=B & C)
    network = Network(tuple(x.variable for x in (A, B, C)), (tied, of_a, says(B, 0.7, 1), says(C, 0, 0.9)))
    chain, _ = Engine(network).part(Query(C, B)).encode(Query(C, B), Reading.CHAIN)
    assert any(key.left == (0, 2) for key in chain.keys)
    number = chain.keys.index(RatioKey((0,), (1, 2), (1,), (1, 1)))
    assert (chain.program.ratios.of == number).any()
    assert chain.program.ratios.upper[number] == above(Fraction(3, 10))


def test_a_ratio_of_which_nothing_is_said_is_a_probability() -> None:
    network = Network((A.variable, B.variable), (says(A, 0.2, 0.4), says(B, 0.1, 0.6, given=A)))
    encoding, _ = Engine(network).part(Query(A & B)).encode(Query(A & B), Reading.LITERAL)
    unsaid = encoding.keys.index(RatioKey((1,), (0,), (1,), (0,)))
    ratios = encoding.program.ratios
    assert (ratios.lower[unsaid], ratios.upper[unsaid]) == (0, 1)


def test_what_is_said_given_one_variable_bounds_nothing_given_another() -> None:
    """Given c, b is declared to be independent of a; its bounds are those given d."""
    network = Network(
        tuple(x.variable for x in (A, B, C, D)),
        tuple(says(B, 0.3, 0.4, given=d) for d in (D, ~D)),
        (Independence((A.variable,), (B.variable,), (C.variable,)),),
    )
    asked = Query(A & B & C)
    encoding, _ = Engine(network).part(asked).encode(asked, Reading.LITERAL)
    b, c = (encoding.problem.variables.index(x.variable) for x in (B, C))
    given_c = [i for i, key in enumerate(encoding.keys) if key.left == (b,) and key.given == (c,)]
    assert given_c
    assert not encoding.program.ratios.lower[given_c].any()
    assert (encoding.program.ratios.upper[given_c] == 1).all()


def test_of_several_variables_together_no_probability_is_bounded() -> None:
    """P(a) is at least 0.3, and P(a and c) need not be: they are declared to be independent of d together."""
    network = Network(
        tuple(x.variable for x in (A, C, D)),
        tuple(says(x, 0.3, 0.5) for x in (A, C, D)),
        (Independence((A.variable, C.variable), (D.variable,)),),
    )
    asked = Query(A & C & D)
    for markov, reading in ((Markov.NONE, Reading.FREE), (Markov.LOCAL, Reading.LITERAL)):
        encoding, _ = Engine(network, markov).part(asked).encode(asked, reading)
        both = [i for i, key in enumerate(encoding.keys) if len(key.left) == 2]
        assert both
        ratios = encoding.program.ratios
        assert not ratios.lower[both].any() and (ratios.upper[both] == 1).all()
        assert not ratios.at_vertex[both].any()


@pytest.mark.parametrize("reading", [r for r in Reading if r not in (Reading.FREE, Reading.SLICED)])
@pytest.mark.parametrize(
    ("kind", "seed"), [("cyclic", 16), ("extreme", 18), ("multivalued", 1), ("credal", 2)]
)
def test_all_tables_of_a_variable_rest_on_one_law(kind: str, seed: int, reading: Reading) -> None:
    """One shows what is said, in another something is observed: P(x | parents) is the same in both."""
    case = random_case(kind, seed)
    markov = Markov.GLOBAL if reading is Reading.GLOBAL else Markov.LOCAL
    encoding, _ = Engine(case.network, markov).part(case.query).encode(case.query, reading)
    cliques, ratios = encoding.factorization.cliques, encoding.program.ratios
    for x, parents in enumerate(encoding.problem.structure.parents):
        tables = [i for i, c in enumerate(cliques) if c.block == (x,) and not c.is_free and x not in c.fixed]
        law = [i for i, key in enumerate(encoding.keys) if (key.left, key.given) == ((x,), parents)]
        shown = ratios.denominator[np.isin(ratios.of, law)].sum(axis=0)
        assert len(tables) < 2 or all(shown[encoding.columns[i]].sum() > 0 for i in tables)


def test_an_observed_value_is_a_ratio_of_that_value_and_no_sentence() -> None:
    color = Variable("color", ("red", "green", "blue"))
    by_color = [says(Is(color, value), 0.1, 0.6, given=A) for value in color.values]
    last = says(B, 0.2, 0.5, given=Is(color, "blue"))
    network = Network((A.variable, color, B.variable), (says(A, 0.2, 0.4), *by_color, last))
    for state, value in enumerate(color.values):
        asked = Query(A & B, Is(color, value))
        encoding, _ = Engine(network).part(asked).encode(asked, Reading.LITERAL)
        observed = [key for key in encoding.keys if key.left == (1,)]
        assert {key.configuration for key in observed} == {(0,), (1,)}
        assert {key.states for key in observed} == {(state,)}
        assert {*encoding.program.inequality_origin, *encoding.program.equality_origin} == {-1}


def test_of_a_proposition_only_the_ratio_of_true_is_kept() -> None:
    network = Network((A.variable, B.variable), (says(A, 0.2, 0.4), says(B, 0.1, 0.6, given=A)))
    for observed in (B, ~B):
        encoding, _ = Engine(network).part(Query(A, observed)).encode(Query(A, observed), Reading.LITERAL)
        assert {key.states for key in encoding.keys} == {(1,)}


@pytest.mark.parametrize("markov", [Markov.NONE, Markov.LOCAL])
def test_a_sentence_under_a_condition_that_cannot_be_says_nothing(markov: Markov) -> None:
    never = [says(A | B, *ends, given=C & ~C) for ends in ((0.2, 0.4), (0.3, 0.3))]
    network = Network(
        tuple(x.variable for x in (A, B, C)), (says(A, 0.2, 0.4), says(A & B, 0.01, 0.3), *never)
    )
    reading = Reading.FREE if markov is Markov.NONE else Reading.LITERAL
    encoding, _ = Engine(network, markov).part(Query(A)).encode(Query(A), reading)
    assert len(list(encoding.problem.all_statements)) >= 3
    assert not encoding.program.inequalities[np.array(encoding.program.inequality_origin) == 2].nnz
    found = Engine(network, markov).query(Query(A), Options(method="factorized"))
    assert (found.lower, found.upper) == pytest.approx((0.2, 0.4), abs=1e-6)


def contexts_of(encoding: Encoding, x: int) -> int:
    """Count the contexts of P(x = 1), which must be one ratio."""
    (number,) = [i for i, key in enumerate(encoding.keys) if key.left == (x,) and not key.given]
    return int((encoding.program.ratios.of == number).sum())


def test_both_sides_of_a_declared_independence_are_bounded_in_the_context_of_the_other() -> None:
    network = Network(
        (A.variable, B.variable),
        (says(A, 0.2, 0.4), says(B, 0.3, 0.5)),
        (Independence((A.variable,), (B.variable,)),),
    )
    encoding, _ = Engine(network, Markov.NONE).part(Query(A & B)).encode(Query(A & B), Reading.FREE)
    # One for each state of the other, and one for both together.
    assert (contexts_of(encoding, 0), contexts_of(encoding, 1)) == (3, 3)


def test_ratios_at_an_end_are_those_of_intervals_of_their_own() -> None:
    """Of three values none needs to be at an end of its own: their sum is one."""
    by_a = [says(value, 0.1, 0.6, given=g) for g in (A, ~A) for value in (RED, GREEN, BLUE)]
    network = Network((A.variable, COLOR), (says(A, 0.2, 0.4), *by_a))
    encoding, _ = Engine(network).part(Query(A & RED)).encode(Query(A & RED), Reading.LITERAL)
    at_vertex = encoding.program.ratios.at_vertex
    assert [key.left == (0,) for key in encoding.keys] == at_vertex.tolist()
    assert at_vertex.any() and not at_vertex.all()


def test_what_a_float_does_not_print_is_kept_beside_it() -> None:
    for bound in (Fraction(3, 10), Fraction(1, 3)):
        network = Network((A.variable, B.variable), (says(A, bound, 1), says(A | B, bound, 1, tau=False)))
        encoding, _ = Engine(network).part(Query(A & B)).encode(Query(A & B), Reading.LITERAL)
        assert encoding.program.ratios.exact is not None
        assert {-bound, 1 - bound} <= set(encoding.program.rationals.values())


@pytest.mark.parametrize("ends", [(1 - Fraction(1, 10**20), 1), (0, 1 - Fraction(1, 10**20))])
def test_what_no_sentence_says_is_not_taken_for_a_number_that_rounds_to_one(
    ends: tuple[Fraction, int],
) -> None:
    """As a float 1 - 1e-20 is 1, which is what tables agree by: then no rational arithmetic is left."""
    network = Network((A.variable, B.variable), (says(A, Fraction(1, 3), 1), says(A | B, *ends, tau=False)))
    encoding, _ = Engine(network).part(Query(A & B)).encode(Query(A & B), Reading.LITERAL)
    assert encoding.program.ratios.exact is None


def test_the_least_likelihood_is_that_of_configurations_which_agree_with_what_is_observed() -> None:
    by_a = says(B, Fraction(1, 2), 1, given=A), says(B, Fraction(1, 8), 1, given=~A)
    network = Network((A.variable, B.variable, C.variable), (says(A, Fraction(1, 4), 1), *by_a))
    asked = Query(A, A & B)
    encoding, _ = Engine(network).part(asked).encode(asked, Reading.LITERAL)
    assert encoding.least_likelihood({}) == 1 / 8


def test_what_is_observed_above_others_has_no_least_likelihood_beside_them() -> None:
    """Given c, which leans on what is observed, P(b) may be anything; beside a, which does not, it is 1/2."""
    chain = says(A, 1, 1), says(B, Fraction(1, 2), 1, given=A), says(B, Fraction(1, 2), 1, given=~A)
    network = Network(
        (A.variable, B.variable, C.variable), (*chain, says(C, 0, 1, given=B), says(C, 0, 1, given=~B))
    )
    asked = Query(A & C, B)
    encoding, _ = Engine(network).part(asked).encode(asked, Reading.LITERAL)
    a, b, c = (encoding.problem.variables.index(x.variable) for x in (A, B, C))
    assert list(encoding.evidence) == [b]
    assert encoding.least_likelihood({a: 1}) == 1 / 2
    assert encoding.least_likelihood({c: 1}) == encoding.least_likelihood({a: 1, c: 1}) == 0.0


@pytest.mark.parametrize("reading", [Reading.LITERAL, Reading.OUTER, Reading.CHAIN])
def test_what_is_observed_below_a_variable_is_no_context_of_it(reading: Reading) -> None:
    """e is more likely under y, and observed: in a table of P(y, w, e), y is no longer as likely as P(y)."""
    names = y, u, v, w, e, x = propositions("y u v w e x")
    tables = [
        says(head, *((0.8, 1) if cause is y else (0, 0.2)), given=conjunction((cause, *others)))
        for head, causes in ((e, (u, v)), (x, (w,)))
        for cause in (y, ~y)
        for others in product(*((c, ~c) for c in causes))
    ]
    priors = [says(one, 0.4, 0.6) for one in (y, u, v, w)]
    network = Network(tuple(one.variable for one in names), (*priors, *tables))
    joint = np.full((2,) * 6, 1 / 16)
    for state, law in enumerate(([0.9, 0.1], [0.1, 0.9])):
        joint[state] *= np.multiply.outer(law, law)
    encoding, _ = Engine(network).part(Query(x, e)).encode(Query(x, e), reading)
    assert any(
        not {*clique.block} & clique.fixed for clique in encoding.factorization.cliques if clique.fixed
    )
    assert worst_miss(encoding, seen_in_cliques(encoding, network, joint)) <= 1e-12


def test_without_a_markov_condition_no_probability_need_be_at_an_end_of_its_interval() -> None:
    """P(a xor b) is 1 only if P(a) = P(b) = 1/2, though no other sentence speaks of a: it is not counted."""
    network = Network(
        tuple(x.variable for x in (A, B, C)),
        (says(A, 0.1, 0.9), says(B, 0.5, 0.5), says(C, 0.1, 0.9)),
        (Independence((B.variable,), (C.variable,)),),
    )
    asked = Query((A & ~B) | (~A & B))
    encoding, _ = Engine(network, Markov.NONE).part(asked).encode(asked, Reading.FREE)
    assert any(key.left == (0,) for key in encoding.keys)
    assert encoding.program.ratios.interior is None


def test_a_slice_leaves_out_what_is_declared_of_variables_it_does_not_show() -> None:
    network = Network(
        tuple(x.variable for x in (A, B, C, D)),
        (says(A, 0.2, 0.4), says(B, 0.3, 0.5, given=A), says(C, 0.1, 0.9, given=B), says(D, 0.1, 0.9)),
        (Independence((C.variable,), (D.variable,), (A.variable,)),),
    )
    for few in (Rung(2, 4), Rung(4, 16)):
        encoding, _ = Engine(network).part(Query(A)).encode_slice(Query(A), few, Budget.of())
        assert encoding.factorization.is_slice
        shown = {x for clique in encoding.factorization.cliques for x in clique.scope}
        assert len(shown) <= few.variables


def test_two_observations_of_which_nothing_is_said_have_no_least_likelihood() -> None:
    """P(b | !a) and P(c | !a) may be zero."""
    said = [says(atom, Fraction(1, 2), 1, given=A) for atom in (B, C)]
    network = Network((A.variable, B.variable, C.variable), (says(A, Fraction(1, 4), 1), *said))
    asked = Query(A, B & C)
    encoding, _ = Engine(network).part(asked).encode(asked, Reading.LITERAL)
    assert len(encoding.evidence) == 2
    assert encoding.least_likelihood({}) == 0.0


def test_entries_of_one_column_add_up_to_one_entry() -> None:
    rows = _Rows()
    rows.add(np.array([0, 0, 1]), np.array([1.0, 2.0, 4.0]))
    matrix = rows.matrix(2)
    assert (matrix.indices.tolist(), matrix.data.tolist()) == ([0, 1], [3.0, 4.0])


def test_the_error_of_column_bounds_counts_all_columns_and_thrice_all_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What each column is a sum of is another column; then it is multiplied, compared and divided."""
    network = Network(
        (A.variable, B.variable), (says(A, Fraction(1, 3), 1), says(B, 0, Fraction(1, 2), given=A))
    )
    encoding, objective = Engine(network).part(Query(B)).encode(Query(B), Reading.OUTER)
    monkeypatch.setattr(encoding_module, "relative_error", lambda _: 0.0)
    exact = encoding.with_column_bounds(objective).column_bounds
    monkeypatch.setattr(encoding_module, "relative_error", float)
    found = encoding.with_column_bounds(objective).column_bounds
    assert exact is not None and found is not None
    widths = [2 ** len(clique.scope) for clique in encoding.factorization.cliques]
    assert found == pytest.approx(exact * (1 + sum(widths) + 3 * len(widths)))


@pytest.mark.parametrize("state", [0, 1])
def test_the_states_that_a_table_under_evidence_shows_are_those_with_what_is_observed(state: int) -> None:
    """Of a and b the states are numbered 00, 01, 10, 11."""
    network = Network(
        (A.variable, B.variable), (says(A, Fraction(1, 4), 1), says(B, Fraction(1, 2), 1, given=A))
    )
    asked = Query(A, B if state else ~B)
    encoding, _ = Engine(network).part(asked).encode(asked, Reading.LITERAL)
    a, b = (encoding.problem.variables.index(x.variable) for x in (A, B))
    clique = next(c for c in encoding.factorization.cliques if b in c.fixed and a in c.scope)
    assert encoding.state_numbers((a, b), clique).tolist() == [state, 2 + state]


def test_without_a_markov_condition_evidence_says_what_it_will() -> None:
    """a may be b, or its opposite: P(a | b) is anything, whatever P(a) is."""
    halves = [says(atom, Fraction(1, 2), Fraction(1, 2)) for atom in (A, B)]
    network = Network((A.variable, B.variable), (*halves, says(A & B, 0, 1), says(A & ~B, 0, 1)))
    found = Engine(network, markov=Markov.NONE).query(Query(A, B), Options(method="factorized"))
    assert found.lower <= 0.0 and found.upper >= 1.0


def test_the_least_likelihood_is_rounded_down() -> None:
    """As a float, 1/10 is a little more than that."""
    network = Network(
        (A.variable, B.variable),
        (says(A, Fraction(1, 4), 1), *(says(B, Fraction(1, 10), 1, given=given) for given in (A, ~A))),
    )
    encoding, _ = Engine(network).part(Query(A, B)).encode(Query(A, B), Reading.LITERAL)
    assert 0 <= Fraction(1, 10) - Fraction(encoding.least_likelihood({})) < Fraction(1, 10**16)


def test_tables_of_a_slice_share_no_law_of_which_they_do_not_show_the_parents() -> None:
    """a leans on b, and is tied to nothing: of its two tables one shows d instead. All are fair coins."""
    pairs = [says(one | other, 0.1, 0.9, tau=False) for one, other in ((B, C), (C, D), (D, A))]
    network = Network(tuple(x.variable for x in (A, B, C, D)), (says(A, 0.2, 0.8, given=B), *pairs))
    encoding, _ = Engine(network).part(Query(C)).encode_slice(Query(C), Rung(4, 4), Budget.of())
    a, b = (encoding.problem.variables.index(x.variable) for x in (A, B))
    shown = [b in clique.scope for clique in encoding.factorization.cliques if clique.block == (a,)]
    assert sorted(shown) == [False, True]
    assert worst_miss(encoding, seen_in_cliques(encoding, network, np.full((2,) * 4, 1 / 16))) <= 1e-12


def test_what_is_said_of_several_values_is_said_in_every_context() -> None:
    """P(c is 1 or 2 | a) = 1/2, but 9/10 with b and 1/10 without it."""
    c = Variable("c", ("1", "2", "3", "4"))
    either = Is(c, "1") | Is(c, "2")
    stated = [says(either, 0.4, 0.6, given=given) for given in (A, ~A)]
    network = Network((A.variable, B.variable, c), (says(A, 0.2, 0.8), says(B, 0.2, 0.8), *stated))
    asked = Query(A & B & Is(c, "1"))
    encoding, _ = Engine(network).part(asked).encode(asked, Reading.LITERAL)
    with_b, without = np.array([0.9, 0.9, 0.1, 0.1]) / 8, np.array([0.1, 0.1, 0.9, 0.9]) / 8
    joint = np.array([[without, with_b], [without, with_b]])
    missed = encoding.program.inequalities @ seen_in_cliques(encoding, network, joint)
    assert missed.min() < -0.01
