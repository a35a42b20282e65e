"""The dependency graph and the Markov condition: the paper's statements, its definitions by brute force."""

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import networkx as nx
import pytest

from credalog import parse
from credalog.grounding.network import ground
from credalog.network.formulas import (
    FALSE,
    TRUE,
    And,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Or,
    Variable,
    Xor,
    propositions,
)
from credalog.network.graph import DependencyGraph, Markov, _Deferred, dependency_graph, independences
from credalog.network.sentences import Independence, Network, Sentence


def network(*sentences: Sentence) -> Network:
    variables = dict.fromkeys(x for sentence in sentences for x in sentence.scope)
    return Network(tuple(variables), sentences)


def graph_of(*sentences: Sentence) -> DependencyGraph:
    return dependency_graph(network(*sentences))


def says(claim: Formula, given: Formula = TRUE, *, tau: bool = True) -> Sentence:
    return Sentence.of(claim, "0.1", "0.9", given=given, tau=tau)


def named(variables: Sequence[Variable]) -> set[str]:
    return {x.name for x in variables}


def parents(graph: DependencyGraph) -> dict[str, str]:
    """Write each variable's parents as one blank-separated word list."""
    return {x.name: " ".join(sorted(named(graph.parents(x)))) for x in graph.variables}


def conditions(graph: DependencyGraph) -> set[tuple[str, frozenset[str], frozenset[str]]]:
    return {
        (one.left[0].name, frozenset(named(one.right)), frozenset(named(one.given)))
        for one in independences(graph)
    }


# The stamps of Figure 1.


def test_stamp_a_ties_the_atoms_of_a_claim_to_each_other():
    x, y, z = propositions("x y z")
    graph = graph_of(says(x | y | z))
    q = 3
    assert set(graph.edges) == {(i, q) for i in range(3)} | {(q, i) for i in range(3)}
    assert parents(graph) == {"x": "y z", "y": "x z", "z": "x y"}


def test_stamp_b_leads_from_the_condition_to_an_atomic_claim():
    x, a, b = propositions("x a b")
    graph = graph_of(says(x, a & b))
    r = 3
    assert set(graph.edges) == {(1, r), (2, r), (r, 0)}
    assert parents(graph) == {"x": "a b", "a": "", "b": ""}


def test_stamp_c_does_both():
    x, y, a, b = propositions("x y a b")
    graph = graph_of(says(x ^ y, a | b))
    q, r = 4, 5
    assert set(graph.edges) == {(0, q), (q, 0), (1, q), (q, 1), (2, r), (3, r), (r, q)}
    assert parents(graph) == {"x": "a b y", "y": "a b x", "a": "", "b": ""}


def test_formulas_that_are_each_the_condition_of_the_other_have_all_their_atoms_as_parents():
    x, y, a, b = propositions("x y a b")
    graph = graph_of(says(x ^ y, a | b), says(a | b, x ^ y))
    assert parents(graph) == {"x": "a b y", "y": "a b x", "a": "b x y", "b": "a x y"}


def test_stamp_d_leaves_out_the_edges_from_atoms_to_their_claim():
    x, y, a, b = propositions("x y a b")
    graph = graph_of(says(x ^ y, a | b, tau=False))
    q, r = 4, 5
    assert set(graph.edges) == {(q, 0), (q, 1), (2, r), (3, r), (r, q)}
    assert parents(graph) == {"x": "a b", "y": "a b", "a": "", "b": ""}


def test_tau_false_without_a_condition_is_an_empty_stamp():
    x, y = propositions("x y")
    graph = graph_of(says(x | y, tau=False))
    assert graph.edges == ()
    assert conditions(graph) == {("x", frozenset("y"), frozenset()), ("y", frozenset("x"), frozenset())}


def test_tau_makes_the_difference_between_dependence_and_independence():
    x, y = propositions("x y")
    assert conditions(graph_of(says(x | y))) == set()
    assert len(conditions(graph_of(says(x | y, tau=False)))) == 2


# What the paper leaves open, as settled.


def test_an_unconditional_atomic_claim_adds_no_edge():
    (x,) = propositions("x")
    graph = graph_of(says(x))
    assert (graph.nodes, graph.edges) == ((x.variable,), ())


def test_a_negated_literal_is_an_atomic_claim():
    x, r, y = propositions("x r y")
    graph = graph_of(says(~x, r), says(y, ~x))
    # Were the claim a node of its own, it would be the condition of y, and r a parent of y.
    assert parents(graph) == {"x": "r", "r": "", "y": "x"}


def test_an_atomic_condition_is_the_variable_itself_and_a_negated_one_is_a_formula():
    x, r = propositions("x r")
    assert set(graph_of(says(x, r)).edges) == {(1, 0)}
    assert set(graph_of(says(x, ~r)).edges) == {(1, 2), (2, 0)}


def test_a_formula_that_is_claim_here_and_condition_there_is_one_node():
    a, b, c, d = propositions("a b c d")
    graph = graph_of(says(a & b, c), says(d, b & a))
    assert len(graph.formulas) == 1
    assert parents(graph)["d"] == "a b c"


def test_formulas_of_other_structure_are_other_nodes():
    a, b, c, d = propositions("a b c d")
    graph = graph_of(says(a & b, c), says(d, ~(~a | ~b)))
    assert parents(graph)["d"] == "a b"


def test_a_multi_valued_variable_is_one_node():
    colour = Variable("Color", ("red", "green", "blue"))
    (x,) = propositions("x")
    graph = graph_of(says(x, colour.is_("red")), says(x, colour.is_("blue")), says(~colour.is_("green")))
    assert set(graph.edges) == {(1, 0)}


def test_a_linear_sentence_ties_the_atoms_of_all_its_claims():
    a, b, c, d = propositions("a b c d")
    claims = ((Fraction(1), a), (Fraction(-2), b & c))
    graph = graph_of(Sentence(claims, d, Fraction(0), Fraction(1)))
    assert parents(graph) == {"a": "b c d", "b": "a c d", "c": "a b d", "d": ""}


def test_a_weighted_atom_is_still_an_atomic_claim():
    a, b = propositions("a b")
    graph = graph_of(Sentence(((Fraction(2), a),), b, Fraction(0), Fraction(1)))
    assert set(graph.edges) == {(1, 0)}


def test_a_variable_is_neither_its_own_parent_nor_its_own_descendant():
    a, b = propositions("a b")
    graph = graph_of(says(a & ~a, b), says(b, a), says(a, a))
    x = a.variable
    assert x not in graph.parents(x)
    assert x not in graph.descendants(x)


def test_constants_have_no_parents_and_give_none():
    (a,) = propositions("a")
    graph = graph_of(says(a, FALSE), says(FALSE, a))
    assert graph.parents(a.variable) == ()


def test_a_parent_may_be_a_descendant_too():
    a, b, c = propositions("a b c")
    graph = graph_of(says(b, a), says(a, b), says(c, b))
    assert named(graph.descendants(a.variable)) == {"b"}
    assert named(graph.ndnp(a.variable)) == {"c"}


# The paper's examples.


def smokers() -> DependencyGraph:
    people = ("Tim", "Tom", "Tam")
    fr = {frozenset((p, q)): Is(Variable(f"Fr({p},{q})")) for p in people for q in people if p < q}
    sm = {p: Is(Variable(f"Sm({p})")) for p in people}
    ca = {p: Is(Variable(f"Ca({p})")) for p in people}

    def friends(p: str, q: str) -> Is:
        return fr[frozenset((p, q))]

    third = {(p, q): r for p in people for q in people for r in people if len({p, q, r}) == 3}
    return graph_of(
        *(says(friends(p, q), friends(p, r) & friends(r, q)) for (p, q), r in third.items()),
        *(says(sm[p] ^ sm[q], friends(p, q)) for p, q in third),
        *(says(ca[p], sm[p]) for p in people),
        *(says(ca[p], ~sm[p]) for p in people),
    )


def test_example_1_smoking_of_tim():
    graph = smokers()
    sm_tim = Variable("Sm(Tim)")
    assert named(graph.ndnp(sm_tim)) == {"Fr(Tam,Tom)", "Ca(Tom)", "Ca(Tam)"}
    assert named(graph.parents(sm_tim)) == {"Fr(Tim,Tom)", "Fr(Tam,Tim)", "Sm(Tom)", "Sm(Tam)"}


def test_example_1_cancer_of_tim_is_independent_of_all_others_given_smoking():
    graph = smokers()
    ca_tim = Variable("Ca(Tim)")
    assert named(graph.parents(ca_tim)) == {"Sm(Tim)"}
    assert named(graph.ndnp(ca_tim)) == named(graph.variables) - {"Ca(Tim)", "Sm(Tim)"}


def test_the_appendix_example_implies_exactly_its_three_independences():
    a, b, c, d = propositions("a b c d")
    graph = graph_of(says(a & b), says(a, c), says(a, ~c), says(b, d), says(b, ~d))
    assert conditions(graph) == {
        ("c", frozenset("d"), frozenset()),
        ("d", frozenset("c"), frozenset()),
        ("a", frozenset("d"), frozenset("bc")),
        ("b", frozenset("c"), frozenset("ad")),
    }


def test_the_conditions_of_some_variables_are_theirs_alone():
    c, d = propositions("c d")
    graph = graph_of(says(c), says(d))
    assert list(independences(graph, of=[d.variable])) == [Independence((d.variable,), (c.variable,))]
    assert list(independences(graph, of=[])) == []


def test_the_credal_network_of_section_2_has_its_own_condition():
    x, y, z = propositions("x y z")
    graph = graph_of(says(x), says(y, x), says(y, ~x), says(z, y), says(z, ~y))
    assert conditions(graph) == {("z", frozenset("x"), frozenset("y"))}


@pytest.mark.parametrize("seed", range(50))
def test_a_bayesian_network_keeps_its_own_markov_condition(seed: int):
    rng = random.Random(seed)
    atoms = propositions(" ".join(f"x{i}" for i in range(8)))
    dag: nx.DiGraph[Any] = nx.DiGraph()
    dag.add_nodes_from(range(8))
    dag.add_edges_from((i, j) for j in range(8) for i in range(j) if rng.random() < 0.3)
    graph = graph_of(*(s for j in range(8) for s in _table(atoms, j, sorted(dag.predecessors(j)))))
    for j, atom in enumerate(atoms):
        others = set(range(8)) - {j} - set(dag.predecessors(j)) - nx.descendants(dag, j)
        assert named(graph.parents(atom.variable)) == {f"x{i}" for i in dag.predecessors(j)}
        assert named(graph.descendants(atom.variable)) == {f"x{i}" for i in nx.descendants(dag, j)}
        assert named(graph.ndnp(atom.variable)) == {f"x{i}" for i in others}


def _table(atoms: tuple[Is, ...], j: int, its_parents: list[int]) -> list[Sentence]:
    """Write one conditional probability table as sentences, one per parent configuration."""
    contexts: list[Formula] = [TRUE]
    for i in its_parents:
        contexts = [context & part for context in contexts for part in (atoms[i], ~atoms[i])]
    return [says(atoms[j], context) for context in contexts]


# Definitions 1 to 3 once more, by enumerating paths, written from the paper alone.


def structure(formula: Formula) -> object:
    """Write a formula so that two differ only where their structure does."""
    match formula:
        case Is(variable, value):
            return ("atom", variable.name, value)
        case Not(operand):
            return ("not", structure(operand))
        case And(operands) | Or(operands) | Xor(operands):
            return (type(formula).__name__, tuple(sorted(map(repr, map(structure, operands)))))
        case Implies(premise, conclusion):
            return ("implies", structure(premise), structure(conclusion))
        case Iff(left, right):
            return ("iff", tuple(sorted((repr(structure(left)), repr(structure(right))))))
    raise AssertionError(formula)


class ByThePaper:
    """Definitions 1 to 3 read aloud: all simple paths are listed and looked at."""

    def __init__(self, of: Network) -> None:
        self.atomic = {x.name for x in of.variables}
        self.graph: nx.DiGraph[Any] = nx.DiGraph()
        self.graph.add_nodes_from(self.atomic)
        for sentence in of.sentences:
            self.stamp(sentence)

    def node(self, formula: Formula, *, is_claim: bool) -> object:
        match formula:
            case Is(variable, _):
                return variable.name
            case Not(Is(variable, _)) if is_claim:
                return variable.name
        return structure(formula)

    def stamp(self, sentence: Sentence) -> None:
        formulas = [formula for _, formula in sentence.claims]
        if len(formulas) == 1:
            q = self.node(formulas[0], is_claim=True)
        else:
            q = ("linear", tuple(sorted(repr(structure(f)) for f in formulas)))
        if sentence.given != TRUE:
            r = self.node(sentence.given, is_claim=False)
            self.graph.add_edge(r, q)
            self.graph.add_edges_from((a.name, r) for a in sentence.given_scope if a.name != r)
        if sentence.tau or sentence.given != TRUE:
            self.graph.add_edges_from((q, x.name) for x in sentence.claim_scope)
        if sentence.tau:
            self.graph.add_edges_from((x.name, q) for x in sentence.claim_scope)

    def has_path(self, start: str, end: str, forbidden: set[object]) -> bool:
        paths = nx.all_simple_paths(self.graph, start, end)
        return any(forbidden.isdisjoint(path[1:-1]) for path in paths)

    def parents(self, x: str) -> set[str]:
        return {a for a in self.atomic - {x} if self.has_path(a, x, set(self.atomic))}

    def descendants(self, x: str, parents: set[str]) -> set[str]:
        return {y for y in self.atomic - {x} if self.has_path(x, y, set(parents))}


class RandomNetworks:
    """Draw small networks that repeat formulas, as claims and as conditions, with operands shuffled."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.variables = [Variable(f"x{i}") for i in range(self.rng.randint(2, 6))]
        self.variables[0] = Variable("Color", ("red", "green", "blue"))
        self.pool = [self.formula(2) for _ in range(4)]

    def atom(self) -> Is:
        x = self.rng.choice(self.variables)
        return Is(x, self.rng.choice(x.values if not x.is_proposition else ("true",)))

    def formula(self, depth: int) -> Formula:
        kind = self.rng.choice(("atom", "atom", "not", "and", "or", "xor", "implies", "iff"))
        if depth == 0 or kind == "atom":
            return self.atom()
        left, right = self.formula(depth - 1), self.formula(depth - 1)
        match kind:
            case "not":
                return Not(left)
            case "and":
                return left & right
            case "or":
                return left | right
            case "xor":
                return Xor((left, right))
            case "implies":
                return Implies(left, right)
        return Iff(left, right)

    def shuffled(self, formula: Formula) -> Formula:
        match formula:
            case And(operands) | Or(operands) | Xor(operands):
                return type(formula)(tuple(self.rng.sample(operands, len(operands))))
            case Iff(left, right):
                return Iff(right, left)
        return formula

    def draw(self) -> Formula:
        return self.shuffled(self.rng.choice(self.pool)) if self.rng.random() < 0.5 else self.formula(1)

    def sentence(self) -> Sentence:
        given = self.draw() if self.rng.random() < 0.7 else TRUE
        claims = [self.draw() for _ in range(2 if self.rng.random() < 0.15 else 1)]
        weighed = tuple((Fraction(1), claim) for claim in claims)
        return Sentence(weighed, given, Fraction(0), Fraction(1), tau=self.rng.random() < 0.6)

    def network(self) -> Network:
        sentences = tuple(self.sentence() for _ in range(self.rng.randint(1, 6)))
        return Network(tuple(self.variables), sentences)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(30))
def test_the_definitions_read_aloud_agree_on_random_networks(block: int):
    for seed in range(100 * block, 100 * block + 100):
        of = RandomNetworks(seed).network()
        graph, paper = dependency_graph(of), ByThePaper(of)
        for x in of.variables:
            above = paper.parents(x.name)
            below = paper.descendants(x.name, above)
            assert named(graph.parents(x)) == above, (seed, x)
            assert named(graph.descendants(x)) == below, (seed, x)
            assert named(graph.ndnp(x)) == paper.atomic - above - below - {x.name}, (seed, x)


def test_the_random_networks_are_cyclic_and_acyclic_and_imply_something():
    graphs = [dependency_graph(RandomNetworks(seed).network()) for seed in range(300)]
    assert 50 < sum(graph.is_cyclic for graph in graphs) < 250
    assert sum(bool(conditions(graph)) for graph in graphs) > 100


# Components.


@pytest.mark.parametrize("seed", range(200))
def test_components_are_the_strongly_connected_ones_parents_first(seed: int):
    graph = dependency_graph(RandomNetworks(seed).network())
    digraph = nx.DiGraph((p, x) for x, row in enumerate(graph.parent_indices) for p in row)
    digraph.add_nodes_from(range(len(graph.variables)))
    components = graph.components()
    assert set(map(frozenset, components)) == set(map(frozenset, nx.strongly_connected_components(digraph)))
    position = {x: i for i, component in enumerate(components) for x in component}
    assert all(position[p] <= position[x] for p, x in digraph.edges)
    assert graph.is_cyclic == (not nx.is_directed_acyclic_graph(digraph))


def test_children_and_parents_mirror_each_other():
    graph = smokers()
    for x in graph.variables:
        assert all(x in graph.parents(y) for y in graph.children(x))
        assert all(x in graph.children(y) for y in graph.parents(x))


# Size.


@pytest.mark.slow
def test_a_hundred_thousand_variables_take_seconds():
    count = 100_000
    atoms = [Is(Variable(f"x{i}")) for i in range(count)]
    chain = [says(atoms[i], atoms[i - 1]) for i in range(1, count)]
    of = Network(tuple(atom.variable for atom in atoms), tuple(chain))
    start = time.process_time()
    graph = dependency_graph(of)
    assert len(graph.components()) == count
    first = next(independences(graph))
    assert first == Independence((of.variables[2],), (of.variables[0],), (of.variables[1],))
    assert time.process_time() - start < 20


@pytest.mark.slow
def test_a_cycle_through_all_variables_is_one_component_and_needs_no_recursion():
    count = 20_000
    atoms = [Is(Variable(f"x{i}")) for i in range(count)]
    cycle = tuple(says(atoms[i], atoms[i - 1]) for i in range(count))
    graph = dependency_graph(Network(tuple(atom.variable for atom in atoms), cycle))
    assert [len(component) for component in graph.components()] == [count]


def test_the_markov_conditions_are_called_by_plain_words():
    assert [markov.value for markov in Markov] == ["local", "global", "none"]


def test_a_sequence_that_is_made_when_someone_looks_is_made_once():
    made = []

    def make() -> tuple[str, ...]:
        made.append("made")
        return "x", "y"

    deferred = _Deferred(make)
    assert not made
    assert (len(deferred), deferred[1], deferred[:1]) == (2, "y", ("x",))
    assert deferred == ("x", "y") and deferred == _Deferred(make) and deferred != ("x",)
    assert hash(deferred) == hash(("x", "y")) and made == ["made", "made"]


def test_what_draws_nothing_leaves_no_arrow() -> None:
    a, b = propositions("a b")
    both = Sentence.of(a & b, "0.1", "0.9")
    silent = replace(both, draws=False)
    for sentence, tied in ((both, [(1,), (0,)]), (silent, [(), ()])):
        graph = dependency_graph(Network((a.variable, b.variable), (sentence,)))
        assert [*graph.parent_indices] == tied


@pytest.mark.parametrize(
    "more", ["", "P(B(x) | A(x)) >= P(B(x) | !A(x))", "0.1 <= P(A(x)) + P(B(x))", "0.1 <= P(B(x) xor A(x))"]
)
def test_the_graph_of_columns_is_that_of_sentences(more: str) -> None:
    """Also where something is said across conditions, or of a sum, which columns do not hold."""
    text = "domain P = {p1, p2}\npredicate A(P), B(P)\nforall x in P: P(A(x)) <= 0.9\n"
    theory = parse(text + (f"forall x in P: {more}\n" if more else "")).theory
    columns, plain = (dependency_graph(ground(theory, columns_from=n)) for n in (0, 10**9))
    names = {v: i for i, v in enumerate(plain.variables)}
    assert {v: {*columns.parents(v)} for v in columns.variables} == {v: {*plain.parents(v)} for v in names}
    assert {*columns.formulas} == {*plain.formulas}
    assert len(columns.edges) == len(plain.edges)


def test_how_long_a_sequence_is_may_be_known_before_its_items_are_made() -> None:
    def never() -> tuple[int, ...]:
        raise AssertionError("nobody has looked at an item")

    assert len(_Deferred(never, 3)) == 3
    assert len(_Deferred(lambda: (1, 2))) == 2
