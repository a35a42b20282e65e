"""Sentences hold in every state of what their claims are independent of."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import credalog
from credalog.methods.automatic import Engine
from credalog.methods.cliques.encoding import Contexts, Encoding, bounds_of_state
from credalog.methods.cliques.witness import tables_of
from credalog.network.formulas import TRUE, Formula, Variable, conjunction, propositions
from credalog.network.problem import Problem, Statement
from credalog.network.sentences import Network, Query, Sentence
from credalog.network.structure import Reading
from credalog.program.program import Floats
from credalog.tables.distribution import Distribution, Factor
from encoded import worst_miss
from oracle import event
from test_encoding import around, assert_read_rightly
from test_rows import seen_in_cliques, some_joint

Rng = np.random.Generator


def drawn(rng: Rng) -> tuple[Distribution, dict[Variable, tuple[Variable, ...]]]:
    """Draw a Bayesian network of five to seven variables, two of three of them two-valued."""
    count = int(rng.integers(5, 8))
    values = (("true", "false"), ("false", "true"), ("r", "g", "b"))
    variables = [Variable(f"v{i}", values[rng.integers(3)]) for i in range(count)]
    parents = {
        v: tuple(variables[j] for j in sorted(rng.permutation(i)[: rng.integers(0, 4)]))
        for i, v in enumerate(variables)
    }
    factors = []
    for v, above in parents.items():
        sizes = [len(p.values) for p in above]
        table = rng.dirichlet(np.full(len(v.values), 0.7), size=sizes or None)
        factors.append(Factor((v,), above, table))
    return Distribution(tuple(factors)), parents


def atom(variable: Variable, rng: Rng) -> Formula:
    return variable.is_(str(rng.choice(variable.values)))


def some(variables: Iterable[Variable], count: int, rng: Rng) -> list[Variable]:
    listed = list(variables)
    return [listed[i] for i in rng.permutation(len(listed))[:count]]


def partial_network(model: Distribution, parents: dict[Variable, tuple[Variable, ...]], rng: Rng) -> Network:
    """Say of each variable what the model gives it, given one parent or two of several, and of some pairs."""
    sentences = []
    for v, above in parents.items():
        for p in above:
            others = [q for q in above if q is not p and rng.random() < 0.2]
            given = conjunction([atom(p, rng), *(atom(q, rng) for q in others)])
            sentences.append(Sentence.of(atom(v, rng), 0, 1, given=given))
        if not above or rng.random() < 0.3:
            sentences.append(Sentence.of(atom(v, rng), 0, 1))
    one, other = some(parents, 2, rng)
    sentences.append(Sentence.of(atom(one, rng) & atom(other, rng), 0, 1, tau=False))
    slack = Fraction(int(rng.integers(0, 3)), 20)
    return Network(tuple(parents), tuple(around(s, model, slack) for s in sentences))


@pytest.mark.parametrize("seed", range(120))
def test_a_model_satisfies_every_row_where_conditions_are_partial(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, parents = drawn(rng)
    network = partial_network(model, parents, rng)
    claimed, *observed = some(parents, int(rng.integers(2, 5)), rng)
    query = Query(atom(claimed, rng), conjunction(atom(v, rng) for v in observed))
    part = Engine(network).part(query)
    encoding, objective = part.encode(query, Reading.LITERAL)
    bearing = set(encoding.problem.variables)
    model = Distribution(tuple(f for f in model.factors if bearing.issuperset(f.block)))
    tables = tables_of(encoding, model)
    assert worst_miss(encoding, tables) <= 1e-12
    assert_read_rightly(tables, objective, model, query)


SEEN = """
0.01 <= P(b) <= 0.05
0.01 <= P(c) <= 0.05
0.8 <= P(x | b) <= 0.95
P(x | !b) <= 0.3
0.8 <= P(y | c) <= 0.95
P(y | !c) <= 0.3
0.1 <= P(y | b) <= 0.9
0.01 <= P(d) <= 0.05
0.1 <= P(x | d) <= 0.9
"""


@pytest.mark.slow
def test_two_symptoms_seen_from_several_causes() -> None:
    """The least P(b | x & y), by hand, with P(b) = 0.01, P(x, y | b) = 0.8 * 0.1 and P(x | !b) = 0.3.

    P(y) = 0.95 P(y | !c) + 0.05 P(y | c) is at most 0.3325, so P(y, !b) at most 0.3325 - 0.01 * 0.1.
    """
    answer = credalog.parse(SEEN).query("P(b | x & y)", timeout=30)
    least = 0.01 * 0.08 / (0.01 * 0.08 + 0.3 * (0.3325 - 0.001))
    assert answer.status.name == "EXACT"
    assert answer.lower <= least + 1e-12
    assert answer.lower == pytest.approx(least, abs=2e-5)


def test_what_is_written_in_contexts_is_what_separation_allows() -> None:
    """P(x | b) holds whatever y is where b alone joins them, and not where x and y have another cause."""
    apart = "0.1 <= P(x | b) <= 0.2\n0.1 <= P(y | b) <= 0.3\n0.2 <= P(x | d) <= 0.4\n0.3 <= P(b) <= 0.6\n"
    joined = f"{apart}0.1 <= P(y | d) <= 0.9\n"
    for text, is_bounded in ((apart, True), (joined, False)):
        answer = credalog.parse(text).query("P(x | b & y)", timeout=10)
        assert (answer.upper <= 0.2 + 1e-6) == is_bounded
        assert answer.status.name == "EXACT"


def test_a_context_does_not_enter_a_condition_of_several_states() -> None:
    """Of b or d, y tells which: what holds of x on average need not hold given y.

    By hand: b and d exclude each other nearly, x follows b alone, y tells b from d.
    """
    text = "P(x | b or d) = 0.5\nP(b) = 0.5\nP(d) = 0.5\nP(y | b) = 1\nP(y | !b) = 0\n"
    answer = credalog.parse(text).query("P(x | (b or d) & y)", timeout=10)
    # Given y it is b: with P(x | b) = 0, P(x | !b & d) = 1 the average is 1/3, so P(x | b) is at least 1/4.
    assert answer.lower == pytest.approx(0.25, abs=1e-3)
    assert answer.upper == pytest.approx(0.75, abs=1e-3)


@pytest.mark.slow
def test_all_states_of_what_is_independent_are_contexts() -> None:
    """Whatever the others are, the claim keeps its bounds: no linear program passes them."""
    text = "0.2 <= P(x | a) <= 0.3\n0.4 <= P(x | b) <= 0.6\n" + "".join(
        f"0.1 <= P({z}) <= 0.9\n" for z in ("a", "b", "u", "v")
    )
    lcn = credalog.parse(text)
    for u, v in product(("u", "!u"), ("v", "!v")):
        answer = lcn.query(f"P(x | a & {u} & {v})")
        assert (answer.lower, answer.upper) == pytest.approx((0.2, 0.3), abs=1e-6)


# --- What is apart, by hand ----------------------------------------------------------------------------

B, D, E, F, X, Y = propositions("b d e f x y")
COLOR = Variable("color", ("red", "green", "blue"))


def statements_of(*sentences: Sentence) -> tuple[Problem, list[Statement]]:
    variables = dict.fromkeys(v for s in sentences for v in s.scope)
    problem = Engine(Network(tuple(variables), sentences)).problem
    return problem, list(problem.all_statements)


def named(problem: Problem, numbers: Iterable[int]) -> set[str]:
    return {problem.variables[x].name for x in numbers}


PARTIAL = (
    Sentence.of(X, 0.1, 0.2, given=B),
    Sentence.of(X, 0.2, 0.4, given=COLOR.is_("green")),
    Sentence.of(Y, 0.3, 0.5, given=X),
    Sentence.of(F, 0.3, 0.5, given=B),
    Sentence.of(E, 0.1, 0.9),
)
"""x has two causes and a consequence, y; f follows from one of the causes; e is alone."""


def test_what_depends_on_a_claim_given_its_condition_is_no_context() -> None:
    problem, (by_b, by_color) = statements_of(*PARTIAL)
    contexts = Contexts(problem, has_conditions=True)
    everything = range(len(problem.variables))
    names = {"b", "color", "e", "f", "x", "y"}
    for statement, given, connected in (
        (by_b, {"b": "true"}, {"x", "color", "y"}),
        (by_color, {"color": "green"}, {"x", "b", "y", "f"}),
    ):
        apart = contexts.of(statement)
        assert apart is not None
        states = {problem.variables[x]: state for x, state in apart.given.items()}
        assert {v.name: v.values[state] for v, state in states.items()} == given
        assert named(problem, apart.connected) == connected
        assert named(problem, apart.others(everything)) == names - connected - set(given)


def test_nothing_is_apart_without_conditions_on_a_cycle_or_under_several_states() -> None:
    problem, (statement, _) = statements_of(*PARTIAL)
    assert Contexts(problem, has_conditions=False).of(statement) is None
    several, (either, _) = statements_of(
        Sentence.of(X, 0.1, 0.2, given=B | D), Sentence.of(X, 0, 0.9, given=B)
    )
    assert Contexts(several, has_conditions=True).of(either) is None
    cyclic, (first, *_) = statements_of(
        Sentence.of(X, 0.1, 0.2, given=B), Sentence.of(X, 0, 0.9, given=D), Sentence.of(D & E, 0, 0.9)
    )
    assert cyclic.structure.core
    assert Contexts(cyclic, has_conditions=True).of(first) is None


def test_statements_are_found_by_what_they_claim() -> None:
    problem, (by_b, by_color) = statements_of(*PARTIAL)
    claiming = Contexts(problem, has_conditions=True).claiming
    number = {v.name: x for x, v in enumerate(problem.variables)}
    assert claiming[number["x"]] == [by_b, by_color]
    assert all(not claiming[number[name]] for name in ("b", "color", "e", "f", "y"))


def test_what_a_sentence_says_of_one_state() -> None:
    """Of a two-valued variable it says both; of three values, what it says of one bounds no other."""
    fifths = [Fraction(n, 5) for n in range(6)]
    true, false = (B.variable.values.index(value) for value in ("true", "false"))
    said = Sentence.of(B, fifths[1], fifths[3])
    assert bounds_of_state(said, B.variable, true) == (fifths[1], fifths[3])
    assert bounds_of_state(said, B.variable, false) == (fifths[2], fifths[4])
    assert bounds_of_state(said, D.variable, true) is None
    red = Sentence.of(COLOR.is_("red"), fifths[1], fifths[3])
    assert bounds_of_state(red, COLOR, 0) == (fifths[1], fifths[3])
    assert bounds_of_state(red, COLOR, 1) is None
    for claim in (B & D, B | D, ~COLOR.is_("red")):
        assert bounds_of_state(Sentence.of(claim, 0, fifths[3]), B.variable, true) is None
    for claims in (((Fraction(2), B),), ((Fraction(1), B), (Fraction(1), D))):
        several = Sentence(claims, said.given, fifths[0], fifths[3])
        assert bounds_of_state(several, B.variable, true) is None


# --- Which rows are written, by hand -------------------------------------------------------------------


def mass(network: Network, joint: Floats, formula: Formula) -> float:
    return float(joint.ravel()[event(network, formula)].sum())


def rows_of(encoding: Encoding, number: int, tables: Floats) -> set[float]:
    """Return by how much tables satisfy the inequalities of a sentence."""
    is_of = np.array(encoding.program.inequality_origin) == number
    return {round(float(v), 12) for v in (encoding.program.inequalities @ tables)[is_of]}


def satisfied(sentence: Sentence, network: Network, joint: Floats, contexts: Iterable[Formula]) -> set[float]:
    """Return by how much a distribution satisfies either bound of a sentence in some contexts."""
    found: set[float] = set()
    (_, claim), low, high = sentence.claims[0], float(sentence.lower), float(sentence.upper)
    for context in contexts:
        part, whole = (mass(network, joint, conjunction((f, sentence.given, context))) for f in (claim, TRUE))
        found |= {round(part - low * whole, 12), round(high * whole - part, 12)}
    return found


def both(*atoms: Formula) -> list[Formula]:
    return [conjunction(signs) for signs in product(*((a, ~a) for a in atoms))]


def asked_of(network: Network, asked: Query, seed: int = 1) -> tuple[Encoding, Floats, Floats]:
    """Draw a distribution without any independence; return what the cliques see of it, too."""
    joint = some_joint(network, np.random.default_rng(seed))
    encoding, _ = Engine(network).part(asked).encode(asked, Reading.LITERAL)
    return encoding, joint, seen_in_cliques(encoding, network, joint)


CAUSES = Network(
    tuple(f.variable for f in (B, D, E, F, X)),
    (
        Sentence.of(X, 0.1, 0.2, given=B),
        Sentence.of(X, 0.3, 0.4, given=~D),
        Sentence.of(F, 0.3, 0.5, given=B),
        Sentence.of(F, 0.1, 0.7, given=~B),
        *(Sentence.of(root, 0.2, 0.9) for root in (B, D, E)),
    ),
)
"""x follows from b and d, and its sentences name one of them; f follows from b; e is alone."""


def test_a_sentence_is_a_row_in_every_state_of_what_is_apart() -> None:
    """Of P(x | b) these are e and f, of P(x | !d) e alone: f tells of b, which tells of x."""
    encoding, joint, tables = asked_of(CAUSES, Query(conjunction((B, D, E, F, X))))
    shown = [{encoding.problem.variables[x].name for x in c.scope} for c in encoding.factorization.cliques]
    assert {"b", "d", "e", "f", "x"} in shown
    for number, others in ((0, (E, F)), (1, (E,))):
        expected = satisfied(CAUSES.sentences[number], CAUSES, joint, [TRUE])
        for scope in shown:
            if {"x", "b", "d"} <= scope:
                contexts = both(*(o for o in others if o.variable.name in scope))
                expected |= satisfied(CAUSES.sentences[number], CAUSES, joint, contexts)
        assert rows_of(encoding, number, tables) == expected


G = propositions("g")[0]
SEEN_TOGETHER = Network(
    tuple(f.variable for f in (B, D, E, G, F, X)),
    (
        *CAUSES.sentences[:2],
        *(Sentence.of(F, 0.3, 0.5, given=state) for state in both(B, E, G)),
        *(Sentence.of(root, 0.2, 0.9) for root in (B, D, E, G)),
    ),
)
"""x follows from b and d, and f from b, e and g."""


@pytest.mark.parametrize("observed", [X, ~X])
def test_a_sentence_about_what_is_observed_is_a_row_between_two_tables(observed: Formula) -> None:
    """In states of e, where f is observed, too: it is apart from x given b, and not given d."""
    encoding, joint, tables = asked_of(SEEN_TOGETHER, Query(B & E, observed & F))
    assert any(c.block == (5,) and c.fixed == {4, 5} for c in encoding.factorization.cliques)
    for number, contexts in ((0, [TRUE, *(F & e for e in both(E))]), (1, [TRUE])):
        expected = satisfied(SEEN_TOGETHER.sentences[number], SEEN_TOGETHER, joint, contexts)
        assert rows_of(encoding, number, tables) == expected
