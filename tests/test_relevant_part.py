"""What bears on a question is the same on the arrays of a large network and sentence by sentence.

Random networks of all kinds, alone and side by side, are written as columns; the graph, the parts and the
answers are held against those of the same sentences as objects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from credalog import parse
from credalog.errors import ImpossibleEvidence, InconsistentNetwork
from credalog.methods.answer import Answer, Options
from credalog.methods.automatic import Engine
from credalog.network.columns import Kept, Numbering, Sentences, Variables
from credalog.network.formulas import Formula, Is, Variable
from credalog.network.graph import Markov, dependency_graph
from credalog.network.parents import parents_on_arrays
from credalog.network.problem import problem_of, relevant_part
from credalog.network.relevant_part import Bearing, bearing_of
from credalog.network.sentences import Independence, Network, Query, Sentence
from credalog.numbers.interval import Status
from credalog.numbers.tolerances import TOLERANCE
from random_networks import KINDS, random_case

SEEDS = range(6)


@dataclass(frozen=True)
class ByPlace:
    """Codes that are the places of variables in a tuple."""

    variables: tuple[Variable, ...]

    def __call__(self, code: int, /) -> Variable:
        return self.variables[code]

    def find(self, name: str) -> int | None:
        return next((i for i, v in enumerate(self.variables) if v.name == name), None)


def columnar(network: Network) -> Network:
    """Write a network as columns, every sentence kept as it is."""
    named = tuple(network.variables)
    sizes = np.array([len(v.values) for v in named], dtype=np.int64)
    variables = Variables(np.arange(len(named)), sizes, ByPlace(named))
    numbers = [named.index(v) for s in network.sentences for v in s.scope]
    kept = Kept(tuple(network.sentences), np.array(numbers, dtype=np.int32))
    return replace(network, variables=variables, sentences=Sentences([kept], variables))


def renamed(network: Network, mark: str) -> Network:
    """Return the same network about other variables."""
    new = {v: Variable(f"{v.name}{mark}", v.values) for v in network.variables}

    def formula(old: Formula) -> Formula:
        from credalog.network.columns import filled

        return filled(old, new)

    def sentence(old: Sentence) -> Sentence:
        claims = tuple((weight, formula(claim)) for weight, claim in old.claims)
        return replace(old, claims=claims, given=formula(old.given))

    def side(old: tuple[Variable, ...]) -> tuple[Variable, ...]:
        return tuple(new[v] for v in old)

    return Network(
        tuple(new.values()),
        tuple(map(sentence, network.sentences)),
        tuple(Independence(side(i.left), side(i.right), side(i.given)) for i in network.independences),
    )


def side_by_side(kinds: tuple[str, ...], seed: int) -> Network:
    """Return several random networks that share no variable, as one."""
    parts = [renamed(random_case(kind, seed + i).network, f"_{i}") for i, kind in enumerate(kinds)]
    return Network(
        tuple(v for part in parts for v in part.variables),
        tuple(s for part in parts for s in part.sentences),
        tuple(i for part in parts for i in part.independences),
    )


def drawn(kind: str, seed: int) -> Network:
    other = sorted(KINDS)[seed % len(KINDS)]
    return side_by_side((kind, other), seed)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_graph_on_arrays_is_the_graph_of_the_sentences(kind: str) -> None:
    for seed in SEEDS:
        plain = drawn(kind, seed)
        large = columnar(plain)
        one, other = dependency_graph(large), dependency_graph(plain)
        assert one.parent_indices == other.parent_indices
        assert one.child_indices == other.child_indices
        assert (one.edges, one.formulas, one.nodes) == (other.edges, other.formulas, other.nodes)
        assert sorted(one.components()) == sorted(other.components())
        assert one.is_cyclic == other.is_cyclic
        for x in plain.variables:
            assert one.index(x) == other.index(x)
            assert (one.ndnp(x), one.descendants(x)) == (other.ndnp(x), other.descendants(x))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_components_and_ancestors_on_arrays_are_those_of_the_graph(kind: str) -> None:
    for seed in SEEDS:
        plain = drawn(kind, seed)
        parents, graph = parents_on_arrays(columnar(plain)), dependency_graph(plain)
        if parents is None:
            continue
        labels = parents.components()[1]
        for component in graph.components():
            assert len(set(labels[list(component)])) == 1
        assert len(set(labels)) == len(graph.components())
        above = set(np.flatnonzero(parents.ancestors(np.array([0]))).tolist())
        assert above == _ancestors(plain, 0)


def _ancestors(network: Network, x: int) -> set[int]:
    rows, found = dependency_graph(network).parent_indices, {x}
    for _ in rows:
        found |= {p for y in found for p in rows[y]}
    return found


@pytest.mark.parametrize("markov", [Markov.LOCAL, Markov.NONE])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_part_has_all_that_bears_on_a_question_and_its_own_graph(kind: str, markov: Markov) -> None:
    for seed in SEEDS:
        plain = drawn(kind, seed)
        bearing = bearing_of(columnar(plain), follows_arrows=markov is not Markov.NONE)
        if bearing is None:
            continue
        problem = problem_of(plain, dependency_graph(plain), markov)
        for x in range(len(plain.variables)):
            part = bearing.part([x]).tolist()
            assert set(relevant_part(problem, [x])[1]) <= set(part)
            if markov is Markov.LOCAL:
                assert_keeps_its_parents(bearing, plain, part)


def assert_keeps_its_parents(bearing: Bearing, plain: Network, part: list[int]) -> None:
    """Assert that a part, cut out, has the parents that its variables have in the whole."""
    cut, whole = dependency_graph(bearing.cut(part)), dependency_graph(plain)
    for place, x in enumerate(part):
        assert [part[p] for p in cut.parent_indices[place]] == list(whole.parent_indices[x])


def outcome(network: Network, asked: Query, markov: Markov) -> Answer | str:
    try:
        return Engine(network, markov).query(asked, Options(timeout=5.0, markov=markov))
    except (InconsistentNetwork, ImpossibleEvidence) as error:
        return type(error).__name__


def assert_compatible(one: Answer, other: Answer) -> None:
    """Assert that neither excludes what the other attains, and that exact ones are the same."""
    for bounds, attained in ((one, other), (other, one)):
        for value in (attained.lower_witnessed, attained.upper_witnessed):
            assert value is None or bounds.lower - 1e-6 <= value <= bounds.upper + 1e-6
    if one.status is other.status is Status.EXACT:
        # Each is within the tolerance of what it attains.
        assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper), abs=2 * TOLERANCE)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_answer_on_arrays_is_that_of_the_sentences(kind: str) -> None:
    for seed in SEEDS[:2]:
        plain = drawn(kind, seed)
        first, *_, last = plain.variables
        for asked in (Query(Is(first, first.values[0])), Query(Is(last, last.values[0]))):
            one, other = (outcome(n, asked, Markov.LOCAL) for n in (columnar(plain), plain))
            if isinstance(one, str) or isinstance(other, str):
                assert one == other
            else:
                assert_compatible(one, other)


def test_a_variable_is_found_by_its_name_alone() -> None:
    plain = drawn("free", 1)
    large = columnar(plain)
    assert isinstance(large.variables, Variables)
    numbers = Numbering(large.variables)
    assert [numbers[v] for v in plain.variables] == list(range(len(plain.variables)))
    assert Variable("nobody") not in numbers
    assert Variable(plain.variables[0].name, ("one", "two", "three", "four")) not in numbers


def in_copies(text: str, count: int) -> Network:
    """Return a network so many times over, about other variables each time."""
    one = parse(text).ground()
    parts = [renamed(one, f"_{i}") for i in range(count)]
    return Network(
        tuple(v for part in parts for v in part.variables),
        tuple(s for part in parts for s in part.sentences),
    )


def test_of_parts_that_differ_in_names_one_is_an_example() -> None:
    bearing = bearing_of(columnar(in_copies("P(a or b) >= 0.3\nP(a) <= 0.2\n", 5)), follows_arrows=True)
    assert bearing is not None
    found = bearing.examples_beside(())
    assert found is not None
    covered, examples = found
    assert (covered.tolist(), examples.tolist()) == ([], [0, 1])
    # Four of five are left beside one of them, and none beside all.
    assert bearing.examples_beside((0, 1)) is not None
    assert bearing.examples_beside(range(10)) is None


@pytest.mark.parametrize("last", ["P(a) <= 0.2", "P(a) <= 0.05"])
def test_a_part_of_another_kind_is_looked_at_too(last: str) -> None:
    alike = in_copies("P(a or b) >= 0.3\nP(a and b) >= 0.1\nP(a) <= 0.2\n", 4)
    odd = renamed(parse(f"P(a or b) >= 0.3\nP(a and b) >= 0.1\n{last}\n").ground(), "_odd")
    whole = Network((*alike.variables, *odd.variables), (*alike.sentences, *odd.sentences))
    verdict = Engine(columnar(whole)).is_consistent(Options(timeout=5.0))
    # P(a and b) >= 0.1 leaves no room for P(a) <= 0.05.
    assert verdict is (last == "P(a) <= 0.2")
