"""Set propagation against brute force over all vertices, and against published exact intervals."""

from __future__ import annotations

import csv
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import credalog
from credal_drawing import Drawn, brute_force, draw_polytree, query_of
from credalog.choices import MethodName
from credalog.errors import ImpossibleEvidence
from credalog.methods.answer import Options
from credalog.methods.vertices import sets
from credalog.network.formulas import TRUE, Formula, Is, Variable, conjunction, proposition, propositions
from credalog.network.graph import dependency_graph
from credalog.network.polytopes import LocalPolytope, facets
from credalog.network.sentences import Network, Query, Sentence
from credalog.network.structure import is_polytree, relevance
from credalog.numbers.budget import Budget
from credalog.numbers.interval import Status, Warrant
from credalog.numbers.tolerances import FEASIBILITY
from credalog.tables.cones import extreme_rays
from credalog.tables.credal import credal_network
from credalog.text.readers import read
from credalog.trusted.check import violation

pytestmark = pytest.mark.slow

CREPO = Path(__file__).parents[1] / ".." / "shared" / "data" / "crepo"
TINY = 1e-7
MAX_JOINTS = 6000


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), observed=st.integers(0, 2), zeros=st.sampled_from([0.0, 0.3]))
def test_bounds_are_the_extremes_over_all_vertices(seed: int, observed: int, zeros: float) -> None:
    rng = np.random.default_rng(seed)
    drawn = draw_polytree(rng, count=int(rng.integers(2, 5)), zeros=zeros)
    assume(drawn.joints <= MAX_JOINTS // 4)
    target, *others = (int(x) for x in rng.permutation(len(drawn.sizes)))
    evidence = {x: int(rng.integers(drawn.sizes[x])) for x in others[:observed]}
    event = set(range(int(rng.integers(1, drawn.sizes[target]))))
    query = query_of(drawn, target, event, evidence)
    least, greatest = brute_force(drawn, target, event, evidence)
    assert sets.applies(drawn.network, query, dependency_graph(drawn.network))
    if np.isnan(least):
        with pytest.raises(ImpossibleEvidence):
            sets.query(drawn.network, query, Options())
        return
    answer = sets.query(drawn.network, query, Options())
    assert answer.status is Status.EXACT
    assert answer.lower <= least + 1e-15
    assert answer.upper >= greatest - 1e-15
    assert answer.lower_witnessed == pytest.approx(least, abs=1e-12)
    assert answer.upper_witnessed == pytest.approx(greatest, abs=1e-12)


def chain() -> Network:
    a, b, c = (proposition(name) for name in "abc")
    return Network(
        (a.variable, b.variable, c.variable),
        (
            Sentence.of(a, "0.2", "0.4"),
            Sentence.of(b, "0.7", "0.8", given=a),
            Sentence.of(b, "0.1", "0.3", given=~a),
            Sentence.of(c, "0.5", "0.9", given=b),
            Sentence.of(c, "0", "0.2", given=~b),
        ),
    )


def test_a_marginal_of_a_chain_is_worked_out_by_hand() -> None:
    answer = sets.query(chain(), Query(proposition("b")), Options())
    assert answer.lower == pytest.approx(0.2 * 0.7 + 0.8 * 0.1, abs=1e-9)
    assert answer.upper == pytest.approx(0.4 * 0.8 + 0.6 * 0.3, abs=1e-9)


def test_a_posterior_of_a_chain_is_worked_out_by_hand() -> None:
    answer = sets.query(chain(), Query(proposition("a"), proposition("b")), Options())
    assert answer.lower == pytest.approx(0.2 * 0.7 / (0.2 * 0.7 + 0.8 * 0.3), abs=1e-9)
    assert answer.upper == pytest.approx(0.4 * 0.8 / (0.4 * 0.8 + 0.6 * 0.1), abs=1e-9)
    assert answer.status is Status.EXACT
    assert answer.interval.upper.warrant is Warrant.CHECKED


def test_an_observed_variable_is_certain() -> None:
    a = proposition("a")
    assert sets.query(chain(), Query(~a, a), Options()).upper == 0.0
    assert sets.query(chain(), Query(a, a), Options()).lower == 1.0


def test_impossible_evidence_is_named() -> None:
    a, b = proposition("a"), proposition("b")
    network = Network((a.variable, b.variable), (Sentence.of(a, 0, 0), Sentence.of(b, 0.1, 0.9, given=a)))
    with pytest.raises(ImpossibleEvidence):
        sets.query(network, Query(b, a), Options())


def test_impossible_evidence_is_noticed_beside_the_query() -> None:
    a, b = proposition("a"), proposition("b")
    network = Network((a.variable, b.variable), (Sentence.of(a, 0, 0), Sentence.of(b, 0.1, 0.9)))
    with pytest.raises(ImpossibleEvidence):
        sets.query(network, Query(b, a), Options())


def test_evidence_of_tiny_probability_is_answered_exactly() -> None:
    a, b = proposition("a"), proposition("b")
    network = Network(
        (a.variable, b.variable),
        (
            Sentence.of(a, "1e-9", "2e-9"),
            Sentence.of(b, "1e-9", "3e-9", given=a),
            Sentence.of(b, "1e-18", "1e-18", given=~a),
        ),
    )
    answer = sets.query(network, Query(a, b), Options())
    least = Fraction(1, 10**18) / (Fraction(1, 10**18) + Fraction(10**9 - 1, 10**27))
    most = Fraction(6, 10**18) / (Fraction(6, 10**18) + (1 - Fraction(2, 10**9)) / 10**18)
    assert answer.lower == pytest.approx(float(least), abs=1e-8)
    assert answer.upper == pytest.approx(float(most), abs=1e-8)


def test_a_long_chain_is_answered() -> None:
    atoms = [proposition(f"x{i}") for i in range(300)]
    sentences = [Sentence.of(atoms[0], "0.4", "0.6")]
    for before, after in pairwise(atoms):
        sentences.append(Sentence.of(after, "0.8", "0.9", given=before))
        sentences.append(Sentence.of(after, "0.1", "0.3", given=~before))
    network = Network(tuple(a.variable for a in atoms), tuple(sentences))
    answer = sets.query(network, Query(atoms[0], atoms[-1]), Options())
    assert answer.status is Status.EXACT
    assert answer.lower <= 0.4 and answer.upper >= 0.6


def test_it_applies_to_local_sentences_only() -> None:
    a, b, c = (proposition(name) for name in "abc")
    variables = (a.variable, b.variable, c.variable)
    shared = Network(variables, (Sentence.of(a & b, "0.1", "0.2"),))
    assert not sets.applies(shared, Query(a), dependency_graph(shared))
    loop = Network(
        variables,
        (
            Sentence.of(b, "0.1", "0.2", given=a),
            Sentence.of(b, "0.3", "0.5", given=~a),
            *(Sentence.of(c, "0.1", "0.6", given=f & g) for f in (a, ~a) for g in (b, ~b)),
        ),
    )
    assert sets.applies(loop, Query(a, c), dependency_graph(loop))
    assert sets.applies(loop, Query(a & b, a | c), dependency_graph(loop))
    assert not sets.applies(loop, Query(TRUE), dependency_graph(loop))


def test_an_empty_credal_set_is_left_to_other_methods() -> None:
    a = proposition("a")
    network = Network((a.variable,), (Sentence.of(a, 0, "0.2"), Sentence.of(a, "0.5", 1)))
    assert credal_network(network, dependency_graph(network)) is None


def test_out_of_time_means_valid_bounds_and_not_an_error() -> None:
    exact = sets.query(chain(), Query(proposition("a"), proposition("c")), Options())
    hasty = sets.query(chain(), Query(proposition("a"), proposition("c")), Options(timeout=-1.0))
    assert hasty.lower <= exact.lower + 1e-12 and exact.upper <= hasty.upper + 1e-12


def test_formulas_of_several_variables_are_asked_and_observed() -> None:
    # Two fair independent coins, one of them loaded by up to a tenth.
    a, b = proposition("a"), proposition("b")
    network = Network((a.variable, b.variable), (Sentence.of(a, "0.5", "0.5"), Sentence.of(b, "0.4", "0.6")))

    def asked(query: Query) -> tuple[float, float]:
        answer = sets.query(network, query, Options())
        return answer.lower, answer.upper

    assert asked(Query(a & b)) == pytest.approx((0.2, 0.3), abs=1e-6)
    assert asked(Query(a ^ b)) == pytest.approx((0.5, 0.5), abs=1e-6)
    assert asked(Query(b, a | b)) == pytest.approx((0.4 / 0.7, 0.6 / 0.8), abs=1e-6)
    assert asked(Query(a & b, a | b)) == pytest.approx((0.2 / 0.7, 0.3 / 0.8), abs=1e-6)
    with pytest.raises(ImpossibleEvidence):
        asked(Query(b, a & ~a))


@pytest.mark.parametrize(
    ("query", "observed", "families", "separated"),
    [
        ([0], [], (0,), ()),
        ([3], [], (0, 1, 3), ()),
        ([0], [3], (0, 1, 3), ()),
        ([3], [1], (3,), (0, 1)),
        ([0], [2], (0,), (2,)),
        ([0], [4], (0, 1, 2, 3, 4), ()),
        ([0], [1, 4], (0, 1), (2, 3, 4)),
    ],
)
def test_relevance_drops_barren_and_separated_families(
    query: list[int], observed: list[int], families: tuple[int, ...], separated: tuple[int, ...]
) -> None:
    # 0 -> 1 -> 3 -> 4 <- 2
    found = relevance([(), (0,), (), (1,), (3, 2)], query, observed)
    assert (found.families, found.separated) == (families, separated)


def test_a_diamond_is_no_polytree_until_its_root_is_observed() -> None:
    diamond = [(), (0,), (0,), (1, 2)]
    assert not is_polytree(relevance(diamond, [1], [3]))
    assert is_polytree(relevance(diamond, [1], [0, 3]))


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 5), flat=st.booleans())
def test_pruning_loses_no_direction(seed: int, size: int, flat: bool) -> None:
    rng = np.random.default_rng(seed)
    rays = rng.random((200, size)) * 10.0 ** rng.integers(-6, 1, size=size)
    if flat:
        rays = rng.random((200, 2)) @ rng.random((2, size))
    kept = extreme_rays(rays, tolerance=1e-10, budget=Budget.of())
    numerators, denominators = rng.random((50, size)), rng.random((50, size))
    ratios = (rays @ numerators.T) / (rays @ denominators.T)
    assert np.allclose(ratios.max(axis=0), ratios[kept].max(axis=0), rtol=1e-9)
    assert np.allclose(ratios.min(axis=0), ratios[kept].min(axis=0), rtol=1e-9)
    assert len(kept) < 200


def published(kind: str) -> list[dict[str, str]]:
    if not CREPO.exists():
        pytest.skip("the CREPO data is not beside the project")
    with (CREPO / "exact_results.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["kind"] == kind and row["interval_result"]]


@pytest.mark.parametrize("query_type", ["marg", "cond"])
def test_published_intervals_of_tree_shaped_networks_are_reproduced(query_type: str) -> None:
    rows = [row for row in published("sing") if row["query_type"] == query_type][::6]
    for row in rows:
        network = read(CREPO / "vmodel" / Path(row["filename"]).name)
        x = network.variables
        target = x[int(row["target"])]
        evidence = (
            conjunction(x[int(o)].is_("s0") for o in row["observed"].split()) if row["observed"] else TRUE
        )
        ends: list[float] = []
        for value in target.values:
            answer = sets.query(network, Query(Is(target, value), evidence), Options())
            ends += [answer.lower, answer.upper]
            assert answer.status is Status.EXACT
        assert ends == pytest.approx([float(v) for v in row["interval_result"].split()], abs=TINY)


@pytest.mark.parametrize(
    ("name", "target", "observed"),
    [("mult_n4_mID2_mD6_mV4_nV2-2", 2, {0: 0}), ("mult_n4_mID4_mD6_mV4_nV2-2", 3, {1: 0, 0: 0})],
)
def test_crepo_networks_whose_published_intervals_differ_agree_with_brute_force(
    name: str, target: int, observed: dict[int, int]
) -> None:
    if not CREPO.exists():
        pytest.skip("the CREPO data is not beside the project")
    network = read(CREPO / "vmodel" / f"vmodel-{name}.uai")
    credal = credal_network(network, dependency_graph(network))
    assert credal is not None
    tables = tuple(
        {
            s: list(credal.vertices(x, s))
            for s in product(*(range(credal.sizes[p]) for p in credal.parents[x]))
        }
        for x in range(len(credal.sizes))
    )
    drawn = Drawn(network, credal.parents, tables)
    assert drawn.joints <= MAX_JOINTS
    answer = sets.query(network, query_of(drawn, target, {0}, observed), Options())
    expected = brute_force(drawn, target, {0}, observed)
    assert (answer.lower, answer.upper) == pytest.approx(expected, abs=TINY)


def test_local_polytopes_of_a_drawn_network_are_its_own() -> None:
    drawn = draw_polytree(np.random.default_rng(3), count=4)
    credal = credal_network(drawn.network, dependency_graph(drawn.network))
    assert credal is not None
    for x, table in enumerate(drawn.corners):
        for states, corners in table.items():
            assert set(credal.vertices(x, states)) <= set(corners)
            assert all(LocalPolytope(credal.sizes[x], facets(corners)).contains(c) for c in corners)


# ---- size and time --------------------------------------------------------------------------------------


def many_valued(name: str, count: int) -> Variable:
    return Variable(name, tuple(f"v{i}" for i in range(count)))


def assessed(x: Variable, lower: str, upper: str, given: Formula = TRUE) -> list[Sentence]:
    return [Sentence.of(x.is_(value), lower, upper, given=given) for value in x.values]


def test_a_variable_with_a_dozen_intervals_is_answered_at_once() -> None:
    x = many_valued("X", 12)
    network = Network((x,), tuple(assessed(x, "0.05", "0.12")))
    answer = sets.query(network, Query(x.is_("v0") | x.is_("v1")), Options(timeout=20.0))
    # The ten others hold at least 0.5 and at most 1.2: neither binds, and both values are free.
    assert (answer.lower, answer.upper) == pytest.approx((0.1, 0.24), abs=1e-9)
    assert answer.status is Status.EXACT


def test_credal_sets_with_too_many_vertices_need_none() -> None:
    x, y = many_valued("X", 20), many_valued("Y", 20)
    sentences = assessed(x, "0.03", "0.08")
    for value in x.values:
        sentences += assessed(y, "0.03", "0.08", given=x.is_(value))
    start = monotonic()
    answer = sets.query(
        Network((x, y), tuple(sentences)), Query(y.is_("v0"), x.is_("v0")), Options(timeout=20.0)
    )
    # The nineteen others hold at least 0.57 and at most 1.52: neither binds.
    assert (answer.lower, answer.upper) == pytest.approx((0.03, 0.08), abs=1e-9)
    assert answer.status is Status.EXACT and monotonic() - start < 10.0


@pytest.mark.parametrize("count", [70, 400])
def test_many_observations_are_no_obstacle(count: int) -> None:
    c, *features = propositions(" ".join(["c", *(f"f{i}" for i in range(count))]))
    sentences = [Sentence.of(c, "0.3", "0.6")]
    for f in features:
        sentences += [Sentence.of(f, "0.20", "0.21", given=c), Sentence.of(f, "0.205", "0.215", given=~c)]
    network = Network(tuple(a.variable for a in (c, *features)), tuple(sentences))
    answer = sets.query(network, Query(c, conjunction(features)), Options(timeout=20.0))
    odds = [
        Fraction(3, 7) * Fraction(200, 215) ** count,
        Fraction(6, 4) * Fraction(210, 205) ** count,
    ]
    least, greatest = (float(o / (1 + o)) for o in odds)
    assert answer.lower <= least <= greatest <= answer.upper
    assert (answer.lower, answer.upper) == pytest.approx((least, greatest), abs=1e-6)
    assert (answer.lower_witnessed, answer.upper_witnessed) == pytest.approx((least, greatest), abs=1e-9)


@pytest.mark.parametrize("seconds", [0.5, 2.0])
def test_time_limits_are_kept_where_sets_grow(seconds: float) -> None:
    top = many_valued("T", 6)
    middle = [many_valued(f"M{i}", 6) for i in range(3)]
    below = many_valued("B", 6)
    sentences = assessed(top, "0.15", "0.19")
    for m in middle:
        for value in top.values:
            sentences += assessed(m, "0.12", "0.2", given=top.is_(value))
    for states in product(middle[0].values[:6], middle[1].values[:6]):
        both = conjunction((middle[0].is_(states[0]), middle[1].is_(states[1])))
        sentences += assessed(below, "0.12", "0.2", given=both)
    network = Network((top, *middle, below), tuple(sentences))
    start = monotonic()
    answer = sets.query(
        network, Query(top.is_("v0"), below.is_("v1") & middle[2].is_("v2")), Options(timeout=seconds)
    )
    assert monotonic() - start <= 1.1 * seconds + 1.0
    assert answer.lower <= 0.15 and answer.upper >= 0.15


def test_witnesses_are_models_by_the_common_check() -> None:
    drawn = draw_polytree(np.random.default_rng(4), count=5)
    answer = sets.query(drawn.network, query_of(drawn, 0, {0}, {3: 0}), Options())
    for end in (answer.interval.lower, answer.interval.upper):
        assert end.model is not None and end.witnessed is not None
        said = drawn.network.about(x for factor in end.model.factors for x in factor.block)
        assert violation(end.model, said, dependency_graph(drawn.network)) <= FEASIBILITY
        assert end.model.probability(answer.query.claim, answer.query.given) == end.witnessed


def test_where_numbers_vanish_no_bound_is_said() -> None:
    """The evidence has probability 1e-580 / 4, and given it c and d are certain."""
    lcn = credalog.parse(
        "P(c) = 1e-290\nP(d) = 1e-290\nP(e | c & d) = 1\nP(e | !(c & d)) = 0\nP(f | e) = 0.25\nP(f | !e) = 0"
    )
    methods: tuple[MethodName, ...] = ("sets", "factorized", "auto")
    for method in methods:
        answer = lcn.query("P(c & d | f)", method=method, timeout=5.0)
        assert answer.lower <= 1.0 <= answer.upper
