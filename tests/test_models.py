"""Models of a sparse form: the table of all worlds confirms each, and they are found at any width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod
from time import process_time
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import credalog
from credalog import LCN
from credalog.methods.cliques.models import explicit_model, find_models
from credalog.methods.cliques.models.arcs import network_in, sparse_parents
from credalog.methods.cliques.search import Witness
from credalog.network.formulas import Variable, truth_table
from credalog.network.graph import Markov, dependency_graph
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End
from credalog.tables.distribution import Distribution, Factor
from credalog.trusted.check import violation
from oracle import violations
from random_networks import KINDS, random_case
from rare_networks import LEAST, rare_core

ENDS = (End.LOWER, End.UPPER)


def joint_table(model: Distribution, over: tuple[Variable, ...]) -> NDArray[np.float64]:
    """Multiply the factors out, world by world."""
    joint = np.ones([len(v.values) for v in over])
    for world in np.ndindex(*joint.shape):
        state = dict(zip(over, world, strict=True))
        for factor in model.factors:
            joint[world] *= factor.table[tuple(state[v] for v in (*factor.parents, *factor.block))]
    return joint


def models(
    lcn: LCN, asked: str | None, end: End, *, enough: float | None = None, seconds: float = 20.0
) -> Iterator[Witness]:
    network = lcn.ground()
    graph = dependency_graph(network)
    query = None if asked is None else lcn.question(asked)
    budget = Budget.of(seconds)
    return find_models(network, graph, Markov.LOCAL, query, end=end, budget=budget, enough=enough)


def best(lcn: LCN, asked: str, end: End, *, enough: float) -> float:
    """Return the last value found, and have its model checked."""
    *_, last = models(lcn, asked, end, enough=enough)
    network = lcn.ground()
    assert violation(last.distribution, network, dependency_graph(network)) <= 1e-9
    return last.value


@pytest.mark.parametrize("rarity", ["0.001", "1e-6", "1e-9", "1e-12"])
def test_a_walk_goes_on_in_contexts_that_are_rarer_than_what_a_solver_tells_from_zero(rarity: str) -> None:
    lcn = credalog.parse(rare_core(rarity))
    assert best(lcn, "P(a | b & c)", End.LOWER, enough=0.0) == pytest.approx(LEAST, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_every_model_is_confirmed_by_the_table_of_all_worlds(kind: str, seed: int) -> None:
    case = random_case(kind, seed, largest=5)
    graph = dependency_graph(case.network)
    for end in ENDS:
        values = []
        for found in find_models(
            case.network, graph, Markov.LOCAL, case.query, end=end, budget=Budget.of(0.25)
        ):
            joint = joint_table(found.distribution, tuple(case.network.variables))
            assert violations(joint, case.network).worst <= 1e-7
            given = truth_table(case.query.given, case.network.variables)
            claim = truth_table(case.query.claim, case.network.variables)
            assert found.value == pytest.approx(joint[claim & given].sum() / joint[given].sum(), abs=1e-9)
            values.append(end.sign * found.value)
        assert values == sorted(values, reverse=True)


# --- Large networks -----------------------------------------------------------------------------------------


def smokers(count: int) -> LCN:
    """Example 1 of the paper with so many people."""
    people = ", ".join(f"p{i}" for i in range(count))
    return credalog.parse(f"""
        domain Person = {{{people}}}
        predicate Fr(Person, Person) symmetric
        predicate Sm(Person), Ca(Person)
        forall x, y, z in Person distinct: 0.5 <= P(Fr(x,z) | Fr(x,y) & Fr(y,z)) <= 1
        forall x, y in Person distinct:    0 <= P(Sm(x) xor Sm(y) | Fr(x,y)) <= 0.2
        forall x in Person: 0.03 <= P(Ca(x) | Sm(x)) <= 0.04
        forall x in Person: 0 <= P(Ca(x) | !Sm(x)) <= 0.01
    """)


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 8, 20])
def test_among_any_number_of_smokers_cancer_is_as_rare_and_as_common_as_its_causes_allow(count: int) -> None:
    """Nobody smokes and nobody is ill; or all smoke, and each is ill with probability 0.04, independently."""
    lcn = smokers(count)
    assert best(lcn, "P(Ca(p0))", End.LOWER, enough=0.0) == pytest.approx(0.0, abs=1e-9)
    assert best(lcn, "P(Ca(p0))", End.UPPER, enough=0.04) == pytest.approx(0.04, abs=1e-6)
    either = 1 - (1 - 0.04) ** 2
    assert best(lcn, "P(Ca(p0) or Ca(p1))", End.UPPER, enough=either) == pytest.approx(either, abs=1e-6)


def chain(size: int) -> Iterator[tuple[int, int]]:
    return ((i, i + 1) for i in range(size - 1))


def ring(size: int) -> Iterator[tuple[int, int]]:
    return ((i, (i + 1) % size) for i in range(size))


def grid(size: int) -> Iterator[tuple[int, int]]:
    """Three rows; atoms are numbered column by column."""
    return ((i, j) for i in range(size) for j in (i + 1, i + 3) if j < size and (j == i + 3 or i % 3 != 2))


def ties(pairs: Iterator[tuple[int, int]], size: int) -> LCN:
    lines = [f"0.2 <= P(s{i}) <= 0.6" for i in range(size)]
    return credalog.parse("\n".join(lines + [f"P(s{i} xor s{j}) <= 0.2" for i, j in pairs]))


@pytest.mark.slow
@pytest.mark.parametrize("size", [12, 150])
@pytest.mark.parametrize("pairs", [chain, ring, grid])
def test_a_pair_of_ties_attains_its_ends_whatever_it_is_tied_to(
    pairs: Callable[[int], Iterator[tuple[int, int]]], size: int
) -> None:
    """P(s0 and s1) >= (0.2 + 0.2 - 0.2) / 2: let all on the side of s0 copy it, and the others s1."""
    lcn = ties(pairs(size), size)
    assert best(lcn, "P(s0 and s1)", End.LOWER, enough=0.1) == pytest.approx(0.1, abs=1e-4)
    assert best(lcn, "P(s0 and s1)", End.UPPER, enough=0.6) == pytest.approx(0.6, abs=1e-4)
    assert best(lcn, "P(s0 and s9)", End.UPPER, enough=0.6) == pytest.approx(0.6, abs=1e-4)


@pytest.mark.slow
def test_a_network_wider_than_any_table_is_known_to_be_consistent() -> None:
    """Forty atoms, each tied to each: all may copy one."""
    size = 40
    lcn = ties(((i, j) for i in range(size) for j in range(i)), size)
    found = next(models(lcn, None, End.UPPER))
    assert len(found.distribution.factors) == size
    assert max(factor.table.size for factor in found.distribution.factors) <= 1 << 12


def test_no_model_is_found_where_there_is_none() -> None:
    """Of three atoms with P = 0.5 no two can differ always."""
    lcn = credalog.parse("\n".join(f"P({a}) = 0.5\nP({a} xor {b}) >= 0.9" for a, b in ("ab", "bc", "ca")))
    assert list(models(lcn, "P(a)", End.UPPER, seconds=2.0)) == []


# --- The check of such forms -------------------------------------------------------------------------------


def copies(lcn: LCN, order: str, parents: dict[str, str]) -> Distribution:
    """Return a coin and noisy copies: each letter has the letters given as parents."""
    factors = []
    for name in order:
        above = tuple(lcn.variable(p) for p in parents.get(name, ""))
        table = np.empty([2] * (len(above) + 1))
        for state in np.ndindex(*table.shape[:-1]):
            chance = 0.1 + 0.8 * np.mean(state) if state else 0.5
            table[state] = 1.0 - chance, chance
        factors.append(Factor((lcn.variable(name),), above, table))
    return Distribution(tuple(factors))


RING = "\n".join(f"P({a} xor {b}) <= 0.9" for a, b in ("ab", "bc", "cd", "da"))


@pytest.mark.parametrize(
    ("order", "parents", "holds"),
    [
        ("abdc", {}, True),
        ("abcd", {"b": "a", "c": "b", "d": "c"}, True),
        ("abdc", {"b": "a", "d": "a", "c": "b"}, True),
        # Given a and c, its parents, d depends on b: a path a, b, c that is closed at both ends is one; but
        # where c has the parents b and d, what is known of c opens the way between them.
        ("abdc", {"b": "a", "d": "a", "c": "bd"}, False),
        # c is to be independent of a given b and d.
        ("abdc", {"c": "a"}, False),
    ],
)
def test_a_sparse_form_is_refused_where_its_arcs_contradict_a_condition(
    order: str, parents: dict[str, str], holds: bool
) -> None:
    lcn = credalog.parse(RING + "\nP(a and c) <= 0.99 ; tau=False\n")
    model = copies(lcn, order, parents)
    network = lcn.ground()
    joint = joint_table(model, tuple(network.variables))
    assert (violations(joint, network).worst <= 1e-9) is holds
    asked = (lcn.variable("a"), lcn.variable("c"))
    assert (violation(model, network, lcn.graph, asked=asked) <= 1e-9) is holds


@pytest.mark.slow
def test_the_check_of_a_product_is_linear_in_the_network() -> None:
    """Eight times the atoms take about eight times as long; pairs of atoms would take sixty-four times."""

    def seconds(size: int) -> float:
        lcn = ties(grid(size), size)
        network, graph = lcn.ground(), lcn.graph
        product = Distribution(tuple(Factor((v,), (), np.array([0.5, 0.5])) for v in network.variables))
        began = process_time()
        # Two atoms of an even chance that know nothing of each other differ half of the time.
        assert violation(product, network, graph) == pytest.approx(0.3)
        return process_time() - began

    assert min(seconds(1200) for _ in range(2)) <= 24 * min(seconds(150) for _ in range(3))


@pytest.mark.parametrize("seed", range(40))
def test_sparse_arcs_imply_every_condition_whatever_the_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind = list(KINDS)[seed % len(KINDS)]
    network = replace(random_case(kind, seed, smallest=4, largest=5).network, independences=())
    graph = dependency_graph(network)
    for width in (0, 1, 2, 3):
        arcs = sparse_parents(graph, range(len(network.variables)), (), width=width)
        factors = []
        for x, parents in arcs.items():
            shape = [len(network.variables[y].values) for y in (*parents, x)]
            table = rng.dirichlet(np.ones(shape[-1]), size=prod(shape[:-1])).reshape(shape)
            factors.append(
                Factor((network.variables[x],), tuple(network.variables[p] for p in parents), table)
            )
        joint = joint_table(Distribution(tuple(factors)), tuple(network.variables))
        assert violations(joint, network).independence <= 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_of_a_network_is_true_where_the_network_is(seed: int) -> None:
    """Fix a variable: the rest is satisfied by a distribution exactly if the whole is by the two together."""
    rng = np.random.default_rng(seed)
    network = random_case("linear" if seed % 2 else "wild", seed, smallest=3, largest=3).network
    x, *others = network.variables
    value = int(rng.integers(len(x.values)))
    certain = Factor((x,), (), np.eye(len(x.values))[value])
    rest = network_in(network, {x: x.values[value]})
    for _ in range(20):
        free = tuple(Factor((v,), (), rng.dirichlet(np.full(len(v.values), 0.3))) for v in others)
        whole = violation(Distribution((certain, *free)), network, None)
        left = float("inf") if rest is None else violation(Distribution(free), rest, None)
        assert (whole <= 1e-9) == (left <= 1e-9)


# --- The explicit model of an answer about ties ------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("end", ["lower", "upper"])
@pytest.mark.parametrize(
    "outside",
    ["", "0.3 <= P(b) <= 0.6\n0.3 <= P(s0 | b) <= 0.5\nP(s2 | b) <= 0.5", "0.1 <= P(t | s0) <= 0.2\n"],
)
def test_an_explicit_model_satisfies_every_condition_in_the_table_of_all_worlds(
    outside: str, end: Literal["lower", "upper"]
) -> None:
    """In a ring each is independent of those across given its neighbours: tables on ties do not show that."""
    lines = [f"{0.2 + 0.02 * i:.2f} <= P(s{i}) <= 0.6" for i in range(5)]
    lines += [f"0.05 <= P(s{i} xor s{(i + 1) % 5}) <= 0.2" for i in range(5)]
    lcn = credalog.parse("\n".join([*lines, outside]))
    answer = lcn.query("P(s0 and s1)", timeout=20.0)
    model, residual = lcn.explicit_model(answer, end=end)
    value = answer.lower_witnessed if end == "lower" else answer.upper_witnessed
    over = tuple(v for factor in model.factors for v in factor.block)
    assert violations(joint_table(model, over), lcn.ground(), over).worst <= 1e-7
    assert residual <= 1e-7
    assert model.probability(answer.query.claim) == pytest.approx(value, abs=1e-7)


def test_the_explicit_model_of_a_global_answer_satisfies_the_global_condition() -> None:
    """Copies s0 = s1 and s3 = s4 hide from every local condition that s1 and s3 lean on each other."""
    lines = [f"0.2 <= P(s{i}) <= 0.8" for i in range(5)]
    lines += [f"0 <= P(s{i} xor s{i + 1}) <= 0.7" for i in range(4)]
    network = credalog.parse("\n".join(lines)).ground()
    graph = dependency_graph(network)
    joint = np.zeros((2, 2, 2, 2, 2))
    for first, middle, last in np.ndindex(2, 2, 2):
        joint[first, first, middle, last, last] = (0.4 if first == last else 0.1) / 2
    copies = Distribution((Factor(tuple(network.variables), (), joint),))
    assert explicit_model(copies, network, graph).distribution is copies
    assert explicit_model(copies, network, graph, markov=Markov.NONE).distribution is copies
    model, residual = explicit_model(copies, network, graph, markov=Markov.GLOBAL)
    found = joint_table(model, tuple(network.variables))
    assert residual <= 1e-7
    across = found.sum(axis=(0, 4))
    assert across / across.sum() == pytest.approx(
        np.einsum("ij,jk->ijk", across.sum(axis=2), across.sum(axis=0)) / across.sum(axis=(0, 2))[:, None],
        abs=1e-7,
    )
    for i in range(4):
        others = tuple(j for j in range(5) if j not in (i, i + 1))
        assert found.sum(axis=others) == pytest.approx(joint.sum(axis=others), abs=1e-7)


def test_an_explicit_model_is_asked_for_under_a_markov_condition_that_there_is() -> None:
    lcn = credalog.parse("0.2 <= P(a) <= 0.4\n0.1 <= P(a xor b) <= 0.2")
    answer = lcn.query("P(b)", markov="global")
    assert lcn.explicit_model(answer, markov="global").residual <= 1e-9
    with pytest.raises(credalog.CredalogError, match="local, global, none"):
        lcn.explicit_model(answer, markov="all")  # type: ignore[arg-type]
