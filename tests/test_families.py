"""Tables in whole numbers say what their sentences say, in every use that is made of them."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import inf
from pathlib import Path

import numpy as np
import pytest

from credalog import LCN, load, parse
from credalog.errors import CredalogError, ImpossibleEvidence
from credalog.network.families import FamilySentences, families_of, is_precise, scopes_of
from credalog.network.formulas import Variable, canonical, disjunction
from credalog.network.graph import Markov, dependency_graph
from credalog.network.polytopes import local_polytopes
from credalog.network.problem import problem_of
from credalog.network.sentences import Network
from credalog.network.summary import summarize
from credalog.network.widening import Imprecision, widened
from credalog.numbers.budget import Budget
from credalog.numbers.interval import Status
from credalog.tables.credal import CredalNetwork, credal_network
from credalog.tables.distribution import Distribution, Factor
from credalog.text.bif import read_bif
from credalog.trusted.check import _local_excesses, violation
from credalog.verify import verify

SEEDS = range(12)

TWO = """network two { }
variable a { type discrete [ 2 ] { f, t }; }
variable b { type discrete [ 2 ] { f, t }; }
probability ( a ) { table 0.5, 0.5; }
probability ( b | a ) { (f) 0.2, 0.8; (t) 0.2, 0.8; }
"""


def text_of(rng: np.random.Generator, *, least: int = 1) -> str:
    """Write a random network: parents in any order, some values alone, some impossible, odd numbers."""
    sizes = rng.integers(least, 4, size=5)
    lines = ["network n { }"]
    for x, size in enumerate(sizes):
        values = ", ".join(f"v{k}" for k in range(size))
        lines.append(f"variable x{x} {{ type discrete [ {size} ] {{ {values} }}; }}")
    for place, x in enumerate(order := rng.permutation(5).tolist()):
        parents = [p for p in order[:place] if rng.random() < 0.6]
        above = f" | {', '.join(f'x{p}' for p in parents)}" if parents else ""
        lines.append(f"probability ( x{x}{above} ) {{")
        for states in product(*(range(sizes[p]) for p in parents)):
            head = f"({', '.join(f'v{s}' for s in states)})" if parents else "table"
            lines.append(f"  {head} {', '.join(distribution_of(rng, int(sizes[x])))};")
        lines.append("}")
    return "\n".join(lines)


def distribution_of(rng: np.random.Generator, size: int) -> list[str]:
    """Write a distribution: certain, in thirds that are rounded, with an exponent, or with many digits."""
    kind = rng.integers(4)
    if kind == 0 or size == 1:
        sure = rng.integers(size)
        return ["1.0" if k == sure else "0.0" for k in range(size)]
    if kind == 1:
        return [f"{1 / size:.4f}"] * size
    weights = rng.dirichlet(np.ones(size))
    return [f"{w:.3e}" if kind == 2 else f"{w:.17f}" for w in weights]


def spelled(network: Network) -> Network:
    """Return the same network, its sentences one by one."""
    return Network(network.variables, tuple(network.sentences))


@pytest.fixture(params=SEEDS)
def tabled(request: pytest.FixtureRequest) -> Network:
    """Return a network of tables, or one with intervals."""
    rng = np.random.default_rng(request.param)
    network = read_bif(text_of(rng))
    if request.param % 3 == 0:
        return network
    amount = {1: Imprecision.of(by="0.03"), 2: Imprecision.of(contaminate="1/7", zeros=True)}
    return widened(network, dependency_graph(network), amount[request.param % 3])


def credal_of(network: Network) -> CredalNetwork:
    found = credal_network(network, dependency_graph(network))
    assert found is not None
    return found


def test_a_file_of_points_is_kept_in_tables(tabled: Network) -> None:
    assert isinstance(tabled.sentences, FamilySentences)
    assert families_of(tabled) is tabled.sentences
    assert families_of(spelled(tabled)) is None
    assert pickle.loads(pickle.dumps(tabled)) == tabled == spelled(tabled)


@pytest.mark.slow
def test_what_is_observed_leaves_tables_as_they_are(tabled: Network) -> None:
    variable = next(v for v in tabled.variables if len(v.values) > 1)
    plain = LCN.from_network(tabled)
    observed = plain.with_evidence(f"{variable} = {variable.values[0]} or {variable} = {variable.values[1]}")
    assert observed.ground() is tabled
    assert observed.evidence == disjunction(map(variable.is_, variable.values[:2]))
    assert observed != plain
    assert observed == LCN(observed.theory) == pickle.loads(pickle.dumps(observed))
    assert observed.with_evidence(variable.is_(variable.values[0])).evidence != observed.evidence
    assert observed.widen(by="0.01").evidence == observed.evidence


def test_a_file_with_a_variable_of_one_value_is_asked_and_proved(tmp_path: Path) -> None:
    file = tmp_path / "single.uai"
    file.write_text("BAYES 3 1 2 2 3 1 0 2 0 1 3 0 1 2 1 1.0 2 0.2 0.8 4 0.5 0.5 0.1 0.9", encoding="utf-8")
    model = load(file)
    answer = model.query("P(X1 = s0 | X2 = s1)")
    assert answer.status is Status.EXACT
    assert answer.lower <= 5 / 41 <= answer.upper
    assert model.with_evidence("X0 = s0").query("P(X1 = s0)").lower == pytest.approx(0.2, abs=1e-9)
    assert len(model.marginals()) == 5
    assert list(verify(model.ground(), model.certificate(answer).text.splitlines()))


def test_evidence_about_tables_is_checked_where_it_is_given() -> None:
    model = LCN.from_network(read_bif(TWO))
    with pytest.raises(CredalogError, match="c is neither bound"):
        model.with_evidence("c = t")
    with pytest.raises(ImpossibleEvidence, match="contradicts itself about b"):
        model.with_evidence("b = t").with_evidence("b = f")
    answer = model.with_evidence("b = t").query("P(a = t)")
    assert answer.lower == pytest.approx(0.5, abs=1e-9) and answer.upper == pytest.approx(0.5, abs=1e-9)


def test_a_bound_stands_whose_model_is_too_wide_for_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    model = LCN.from_network(read_bif(TWO))
    monkeypatch.setattr("credalog.tables.distribution.MOST_STATES", 0)
    answer = model.query("P(b = t)", method="sets")
    assert answer.lower <= 0.8 <= answer.upper and answer.upper - answer.lower < 1e-6
    assert answer.lower_witnessed is None and answer.upper_witnessed is None


def test_the_graph_of_tables_is_that_of_their_sentences(tabled: Network) -> None:
    mine, theirs = dependency_graph(tabled), dependency_graph(spelled(tabled))
    assert mine.parent_indices == theirs.parent_indices
    assert mine.child_indices == theirs.child_indices
    assert len(mine.formulas) == len(theirs.formulas)
    assert (mine.formulas, mine.edges) == (theirs.formulas, theirs.edges)


def test_tables_are_summed_up_as_their_sentences_are(tabled: Network) -> None:
    mine, theirs = (summarize(n, dependency_graph(n)) for n in (tabled, spelled(tabled)))
    assert mine == theirs
    assert {*map(frozenset, scopes_of(tabled))} == {*map(frozenset, scopes_of(spelled(tabled)))}


def test_the_polytopes_of_tables_are_those_of_their_sentences(tabled: Network) -> None:
    graph = dependency_graph(tabled)
    mine, theirs = local_polytopes(tabled, graph), local_polytopes(spelled(tabled), graph)
    assert mine.places == theirs.places
    assert mine.rest == theirs.rest == ()
    for x, ours, listed in zip(graph.variables, mine.polytopes, theirs.polytopes, strict=True):
        told = {key: polytope for key, polytope in ours.items() if polytope.rows}
        # Of a single value without parents nothing is said.
        assert told == dict(listed)
        assert len(told) == len(ours) or len(x.values) == 1


def test_there_is_no_polytope_of_a_state_that_a_parent_has_not(tabled: Network) -> None:
    graph = dependency_graph(tabled)
    for parents, found in zip(graph.parent_indices, local_polytopes(tabled, graph).polytopes, strict=True):
        assert found.get((0,) * len(parents)) is not None
        if parents:
            assert found.get((*(0,) * (len(parents) - 1), 9)) is None


def test_polytopes_in_the_order_of_another_graph_are_sorted_one_by_one(tabled: Network) -> None:
    class NoParents:
        parent_indices = ((),) * len(tabled.variables)

    mine, theirs = (local_polytopes(n, NoParents()) for n in (tabled, spelled(tabled)))
    assert mine.places == theirs.places
    assert mine.rest == theirs.rest


def test_problems_of_tables_are_those_of_their_sentences(tabled: Network) -> None:
    graph = dependency_graph(tabled)
    for markov in Markov:
        mine, theirs = (problem_of(n, graph, markov) for n in (tabled, spelled(tabled)))
        assert (mine.statements, mine.owned, mine.structure) == (
            theirs.statements,
            theirs.owned,
            theirs.structure,
        )


def test_points_and_ranges_are_those_of_the_polytopes(tabled: Network) -> None:
    mine, theirs = credal_of(tabled), credal_of(spelled(tabled))
    for x in range(len(mine.sizes)):
        if mine.sizes[x] == 1:
            continue
        ours, listed = mine.points[x], theirs.points[x]
        assert (ours is None) == (listed is None)
        if ours is not None and listed is not None:
            assert np.array_equal(ours, listed)
        for end, other in zip(mine.ranges(x, {}), theirs.ranges(x, {}), strict=True):
            assert np.array_equal(end, other)


def test_a_centre_lies_in_its_credal_set_and_is_zero_only_where_it_must(tabled: Network) -> None:
    credal = credal_of(tabled)
    for x in range(len(credal.sizes)):
        centre = credal.central_table(x, {}).values
        least, most = credal.ranges(x, {})
        assert np.all((least - 1e-15 <= centre) & (centre <= most + 1e-15))
        assert np.all((centre > 0.0) == (most > 0.0))
        assert np.allclose(centre.sum(axis=-1), 1.0, rtol=0.0, atol=1e-15)


def test_what_is_said_of_some_variables_is_what_sentences_say_of_them(tabled: Network) -> None:
    kept = tuple(reversed(tabled.variables[1:]))
    assert tabled.about(kept) == spelled(tabled).about(kept)
    assert isinstance(tabled.about(kept).sentences, FamilySentences)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("by", [{"by": "0.02"}, {"contaminate": "1/3"}, {"by": "1"}])
@pytest.mark.parametrize("seed", SEEDS)
def test_tables_are_widened_as_sentences_are(seed: int, by: dict[str, str], zeros: bool) -> None:
    network = read_bif(text_of(np.random.default_rng(seed)))
    graph, amount = dependency_graph(network), Imprecision.of(**by, zeros=zeros)
    mine, theirs = (widened(n, graph, amount) for n in (network, spelled(network)))
    assert said_by(mine) == said_by(theirs)
    again, twice = (widened(n, graph, amount) for n in (mine, spelled(mine)))
    assert said_by(again) == said_by(twice)


def said_by(network: Network) -> list[str]:
    """Return all sentences, their conditions in one order."""
    return sorted(f"{s.lower} {s.claim} {s.upper} | {canonical(s.given)}" for s in network.sentences)


def nearly_a_model(network: Network, rng: np.random.Generator, *, off: float) -> Distribution:
    """Return the centre of a network, some numbers of which are moved; parents are in any order."""
    credal = credal_of(network)
    factors = []
    for x in credal.order:
        table = credal.central_table(x, {}).values
        table = np.where(rng.random(table.shape) < 0.2, table + off, table)
        turned = rng.permutation(table.ndim - 1)
        parents = tuple(network.variables[credal.parents[x][k]] for k in turned)
        factors.append(Factor((network.variables[x],), parents, table.transpose(*turned, table.ndim - 1)))
    return Distribution(tuple(factors))


@pytest.mark.parametrize("off", [0.0, 1e-13, 1e-6, 0.2, -0.2])
def test_a_model_is_held_against_tables_as_against_sentences(tabled: Network, off: float) -> None:
    rng = np.random.default_rng(5)
    model, graph = nearly_a_model(tabled, rng, off=off), dependency_graph(tabled)
    mine, theirs = (violation(model, n, graph) for n in (tabled, spelled(tabled)))
    assert mine == theirs
    assert (mine > 1e-9) == (abs(off) > 1e-9)


def test_each_violation_of_a_table_is_that_of_its_sentence(tabled: Network) -> None:
    rng, credal = np.random.default_rng(7), credal_of(tabled)
    factors: dict[tuple[Variable, ...], Factor] = {}
    for x, parents in enumerate(credal.parents):
        turned = rng.permutation(len(parents))
        shape = [credal.sizes[parents[k]] for k in turned]
        above = tuple(tabled.variables[parents[k]] for k in turned)
        table = rng.dirichlet(np.ones(credal.sizes[x]), size=shape or None)
        factors[(tabled.variables[x],)] = Factor((tabled.variables[x],), above, table)
    for missing in ((), tabled.variables[:1]):
        known = {block: factor for block, factor in factors.items() if block != missing}
        mine, theirs = (
            list(_local_excesses(n.sentences, known, Budget.of())) for n in (tabled, spelled(tabled))
        )
        assert mine == theirs
        assert (inf in mine) == any(missing == s.claim_scope for s in tabled.sentences)


def test_a_law_with_other_parents_is_held_against_joint_probabilities() -> None:
    network = read_bif(TWO)
    a, b = network.variables
    apart = Distribution((Factor((a,), (), np.array([0.5, 0.5])), Factor((b,), (), np.array([0.2, 0.8]))))
    assert violation(apart, network, dependency_graph(network)) < 1e-12
    wrong = Distribution((Factor((a,), (), np.array([0.5, 0.5])), Factor((b,), (), np.array([0.4, 0.6]))))
    assert violation(wrong, network, dependency_graph(network)) == pytest.approx(0.1)


def test_bounds_that_exclude_each_other_leave_no_table() -> None:
    network = read_bif(
        "network n { } variable a { type discrete [ 3 ] { u, v, w }; }"
        "probability ( a ) { table 0.5, 0.3, 0.2; }"
    )
    (family,) = network.sentences.families  # type: ignore[attr-defined]
    assert not family.has_empty
    for lower, upper in (((5, 3, 3), (5, 3, 3)), ((5, 3, 1), (5, 3, 1)), ((6, 0, 0), (5, 5, 5))):
        assert replace(family, lower=(lower,), upper=(upper,), scale=(10,)).has_empty


def test_an_interval_is_not_precise_and_a_point_is() -> None:
    network = read_bif(TWO)
    assert is_precise(network)
    assert is_precise(spelled(network))
    wide = widened(network, dependency_graph(network), Imprecision.of(by="0.1"))
    assert not is_precise(wide)
    assert not is_precise(spelled(wide))


def test_a_number_too_small_for_floats_is_no_table_of_floats() -> None:
    tiny, rest = "1e-300", "1.01"
    network = read_bif(
        "network n { } variable a { type discrete [ 2 ] { f, t }; }"
        f"probability ( a ) {{ table {tiny}, {rest}; }}"
    )
    assert credal_of(network).points == credal_of(spelled(network)).points == (None,)


def test_bounds_of_tables_are_exact() -> None:
    network = read_bif(
        "network n { } variable a { type discrete [ 3 ] { u, v, w }; }"
        "probability ( a ) { table 0.3333, 3.333e-1, 0.3333; }"
    )
    assert [(s.lower, s.upper) for s in network.sentences] == [(Fraction(1, 3), Fraction(1, 3))] * 2


@pytest.mark.slow
def test_an_answer_about_tables_is_that_about_the_text_of_its_sentences(tmp_path: Path) -> None:
    path = tmp_path / "net.bif"
    path.write_text(text_of(np.random.default_rng(3), least=2))
    for lcn in (load(path), load(path).widen(by="0.05")):
        again = parse(str(lcn))
        for ours, theirs in zip(lcn.marginals(), again.marginals(), strict=True):
            assert ours.lower == pytest.approx(theirs.lower, abs=1e-9)
            assert ours.upper == pytest.approx(theirs.upper, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_assignment_of_tables_is_that_of_the_text_of_their_sentences(
    tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "net.bif"
    path.write_text(text_of(np.random.default_rng(seed), least=2))
    lcn = load(path) if seed % 2 else load(path).widen(by="0.05")
    ours, theirs = lcn.map(), parse(str(lcn)).map()
    assert ours.is_proved
    assert ours.best is not None
    assert theirs.best is not None
    assert ours.best.score_upper == pytest.approx(theirs.best.score_upper, abs=1e-9)
