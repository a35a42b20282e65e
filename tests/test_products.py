"""Products of bounds hold in models, and bind where independence fails; cases of a root mix to the whole."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import credalog
from credalog.methods.answer import Options, marginal_atoms
from credalog.methods.automatic import Engine
from credalog.methods.cliques.cases import Mixture, cases_of
from credalog.methods.cliques.encoding import Encoding
from credalog.methods.cliques.products import products_of
from credalog.methods.cliques.search import Limits, Search
from credalog.network.sentences import Network, Query
from credalog.numbers.budget import Budget, OutOfTime
from credalog.numbers.interval import End, Status
from credalog.numbers.tolerances import absolute_gap
from credalog.program.products import with_rows
from credalog.program.program import Box, without_sums
from credalog.program.solvers.highs import Relaxation
from oracle import interval

NAMES = "abcd"
Floats = NDArray[np.float64]


def ring_law(rng: np.random.Generator) -> Floats:
    """Draw a positive law of four propositions in a ring: each is tied to two others only."""
    law = np.ones((2,) * 4)
    for x in range(4):
        axes = [1] * 4
        axes[x] = axes[(x + 1) % 4] = 2
        law = law * np.exp(rng.normal(size=(2, 2))).reshape(axes)
    return np.asarray(law / law.sum())


def conditional(law: Floats, x: int, left: int, right: int) -> float:
    """Return P(x | its two neighbours)."""
    place: list[int | slice] = [slice(None)] * 4
    place[(x - 1) % 4], place[(x + 1) % 4] = left, right
    row = law[tuple(place)]
    kept = sorted((x, (x + 2) % 4)).index(x)
    shares = row.sum(axis=1 - kept)
    return float(shares[1] / shares.sum())


def sentences_around(law: Floats, width: float, given: str = "") -> list[str]:
    """Bound each proposition given its neighbours, around a law."""
    lines = []
    for x, (left, right) in product(range(4), product((0, 1), repeat=2)):
        chance = conditional(law, x, left, right)
        low, high = max(0.0, chance - width), min(1.0, chance + width)
        before, after = NAMES[(x - 1) % 4], NAMES[(x + 1) % 4]
        condition = f"{given}{'' if left else '!'}{before} and {'' if right else '!'}{after}"
        lines.append(f"{low:.6f} <= P({NAMES[x]} | {condition}) <= {high:.6f}")
    return lines


def network_of(lines: list[str]) -> Network:
    return credalog.parse("\n".join(f"s{n}: {line}" for n, line in enumerate(lines))).ground()


def encoded(network: Network) -> Encoding:
    """Encode a network in one table of all worlds."""
    asked = Query(marginal_atoms(network)[0])
    return Engine(network).part(asked).encode_jointly(asked)[0]


def point_of(encoding: Encoding, law: Floats) -> Floats:
    """Put a law of a, b, c, d into the columns of the one table."""
    point = np.zeros(encoding.program.columns)
    point[0] = 1.0
    shown = encoding.factorization.cliques[0].shown
    order = [NAMES.index(encoding.problem.variables[x].name) for x in shown]
    point[encoding.columns[0]] = law.transpose(order)
    return point


@pytest.mark.parametrize("seed", range(20))
def test_no_model_violates_a_product_of_bounds(seed: int) -> None:
    law = ring_law(np.random.default_rng(seed))
    encoding = encoded(network_of(sentences_around(law, 0.1)))
    products = products_of(encoding)
    assert products is not None
    # a and c, b and d, in the four states of the other two.
    assert len(products.first) == 8
    assert not len(products.violated(encoding.program.ratios.box, point_of(encoding, law), 100))


@pytest.mark.parametrize("seed", range(20))
def test_where_opposite_variables_depend_on_each_other_some_product_is_violated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    law = ring_law(rng)
    encoding = encoded(network_of(sentences_around(law, 0.01)))
    products = products_of(encoding)
    assert products is not None
    # Correlate a and c without a change of either given the rest.
    shift = 0.5 * law.min()
    other = law.copy()
    for a, c in product((0, 1), repeat=2):
        other[a, :, c, :] += shift if a == c else -shift
    point = point_of(encoding, other)
    box = encoding.program.ratios.box
    rows = products.rows(box, products.violated(box, point, 100))
    assert rows.shape[0] > 0
    assert (rows @ point < 0.0).all()
    assert (rows @ point_of(encoding, law) >= 0.0).all()
    assert with_rows(encoding.program, rows).inequalities.shape[0] == (
        encoding.program.inequalities.shape[0] + rows.shape[0]
    )


def rational_ring(rng: np.random.Generator) -> NDArray[np.object_]:
    """Draw a law of four propositions in a ring with rational probabilities."""
    law = np.full((2,) * 4, Fraction(1), dtype=object)
    for x in range(4):
        axes = [1] * 4
        axes[x] = axes[(x + 1) % 4] = 2
        weights = [Fraction(int(n)) for n in rng.integers(1, 1000, size=4)]
        law = law * np.array(weights, dtype=object).reshape(axes)
    return np.asarray(law / law.sum())


@pytest.mark.parametrize("seed", range(20))
def test_products_written_with_the_bounds_of_a_box_hold_in_it_to_the_last_digit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    law = rational_ring(rng)
    encoding = encoded(network_of(sentences_around(law.astype(float), 0.1)))
    products = products_of(encoding)
    assert products is not None
    point = [Fraction(0)] * encoding.program.columns
    order = [NAMES.index(encoding.problem.variables[x].name) for x in encoding.factorization.cliques[0].shown]
    for column, chance in zip(encoding.columns[0].ravel(), law.transpose(order).ravel(), strict=True):
        point[column] = chance
    theta = []
    for number in range(len(encoding.keys)):
        ratios = encoding.program.ratios
        context = int(np.flatnonzero(ratios.of == number)[0])
        part, whole = (
            sum(point[j] for j in matrix[[context]].indices)
            for matrix in (ratios.numerator, ratios.denominator)
        )
        theta.append(part / whole)
    # Either bound is the value itself, rounded to the nearest float, or some way off.
    off = rng.choice([0.0, 0.0, 1e-9, 0.1], size=(2, len(theta)))
    near = np.array([float(t) for t in theta])
    box = Box(np.maximum(near - off[0], 0.0), np.minimum(near + off[1], 1.0))
    rows = products.rows(box, np.arange(4 * len(products.first)))
    for row in range(rows.shape[0]):
        start, stop = rows.indptr[row], rows.indptr[row + 1]
        entries = zip(rows.indices[start:stop], rows.data[start:stop], strict=True)
        assert sum(Fraction(float(value)) * point[j] for j, value in entries) >= 0


def ring_of(rng: np.random.Generator, width: float) -> list[str]:
    return sentences_around(ring_law(rng), width)


@pytest.mark.slow
def test_leaves_with_rows_of_their_own_are_bounded_as_brute_force_bounds_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Products are kept whatever they gain.
    monkeypatch.setattr("credalog.methods.cliques.search.PRODUCT_GAIN", -1.0)
    network = network_of(ring_of(np.random.default_rng(0), 0.1))
    asked = Query(marginal_atoms(network)[0])
    true = interval(network, asked, seconds=30.0)
    encoding, objective = Engine(network).part(asked).encode_jointly(asked)
    for end, expected in zip(End, (true.lower, true.upper), strict=True):
        search = Search(encoding, objective, Limits(1e-5, Budget.of(20.0)), end, None, None)
        found = search.run()
        assert expected.attained is not None
        assert search.sharpening is not None and found.nodes > 1
        assert end.sign * (found.bound - expected.attained) <= 1e-6
        assert found.bound == pytest.approx(expected.attained, abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_statements_that_are_sums_of_box_rows_are_left_out_and_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = network_of([*ring_of(rng, 0.1), "0.1 <= P(a or b) <= 0.9"])
    asked = Query(marginal_atoms(network)[0])
    encoding, objective = Engine(network).part(asked).encode_jointly(asked)
    whole, fewer = encoding.program, without_sums(encoding.program)
    stated = sum(origin >= 0 for origin in fewer.inequality_origin)
    # What is said about a or b is no sum.
    assert 1 <= stated <= 2
    box = whole.ratios.box
    inner = Box(box.lower + 0.3 * (box.upper - box.lower), box.upper)
    for chosen in (box, inner):
        values = [Relaxation(program).minimize(objective, chosen)[0].value for program in (whole, fewer)]
        assert values[0] == pytest.approx(values[1], abs=1e-7)


def test_sums_of_box_rows_are_found_without_visiting_contexts_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A core of 14 variables has 100,000 contexts; a loop over them took longer than the time limit."""
    network = network_of(
        [
            *(f"0.2 <= P(a{i}) <= 0.4" for i in range(4)),
            *(f"0.1 <= P(a{i} and a{(i + 1) % 4}) <= 0.3" for i in range(4)),
        ]
    )
    asked = Query(marginal_atoms(network)[0])
    program = Engine(network).part(asked).encode_jointly(asked)[0].program
    contexts = sp.csr_array(program.ratios.denominator)
    assert contexts.shape[0] > 0
    # Each context lies in one table, so that any of its columns tells which.
    starts = np.sort([start for start, _ in program.tables])
    places = [
        np.searchsorted(starts, contexts[[row]].indices, side="right") for row in range(contexts.shape[0])
    ]
    assert all(len(set(place)) == 1 for place in places)

    def by_rows(*_: object, **__: object) -> None:
        raise AssertionError("rows are visited one by one")

    expected = without_sums(program).inequality_origin
    monkeypatch.setattr(sp.csr_array, "argmax", by_rows)
    assert without_sums(program).inequality_origin == expected


def in_cases(seed: int, root: str = "0.2 <= P(r) <= 0.4") -> list[str]:
    rng = np.random.default_rng(seed)
    return [
        root,
        *sentences_around(ring_law(rng), 0.05, "r and "),
        *sentences_around(ring_law(rng), 0.05, "!r and "),
    ]


def pair_in_cases(seed: int, first: str = "a", second: str = "b") -> list[str]:
    """Tie two propositions to each other, in another way in each case of a root."""
    rng = np.random.default_rng(seed)
    lines = ["0.2 <= P(r) <= 0.4"]
    for root in ("r", "!r"):
        law = rng.dirichlet(np.ones(4)).reshape(2, 2)
        for axis, (x, y) in enumerate(((first, second), (second, first))):
            shares = (law / law.sum(axis=axis, keepdims=True)).take(1, axis=axis)
            for sign, chance in zip(("!", ""), shares, strict=True):
                low, high = max(0.0, chance - 0.1), min(1.0, chance + 0.1)
                lines.append(f"{low:.4f} <= P({x} | {root} and {sign}{y}) <= {high:.4f}")
    return lines


@pytest.mark.parametrize("seed", range(6))
def test_mixed_cases_are_the_whole(seed: int) -> None:
    network = network_of(pair_in_cases(seed))
    engine = Engine(network)
    for atom in (a for a in marginal_atoms(network) if str(a) != "r"):
        found = engine.query(Query(atom), Options(tolerance=1e-4, timeout=20.0))
        joint = engine.query(Query(atom), Options(tolerance=1e-4, timeout=20.0, method="joint"))
        assert "cases" in found.tried
        assert found.status is joint.status is Status.EXACT
        assert found.lower == pytest.approx(joint.lower, abs=2e-4)
        assert found.upper == pytest.approx(joint.upper, abs=2e-4)
        attained = (joint.lower_witnessed, joint.upper_witnessed)
        assert all(v is not None and found.lower - 1e-9 <= v <= found.upper + 1e-9 for v in attained)


@pytest.mark.parametrize("seed", range(3))
def test_a_search_that_ends_at_an_absolute_gap_holds_and_is_called_what_it_is(seed: int) -> None:
    network = network_of(pair_in_cases(seed))
    engine = Engine(network)
    for atom in marginal_atoms(network):
        found = engine.query(Query(atom), Options(tolerance=0.01, timeout=20.0, gap=absolute_gap))
        closer = engine.query(Query(atom), Options(tolerance=1e-4, timeout=20.0))
        ends = (found.interval.lower, found.interval.upper)
        assert max(end.gap for end in ends) <= 0.01
        attained = (closer.lower_witnessed, closer.upper_witnessed)
        assert all(v is not None and found.lower - 1e-9 <= v <= found.upper + 1e-9 for v in attained)
        assert (found.status is Status.EXACT) == all(end.is_closed(0.01) for end in ends)


def test_parts_that_only_the_root_joins_are_answered_too() -> None:
    network = network_of([*pair_in_cases(0), *pair_in_cases(1, "c", "d")[1:]])
    alone = network_of(pair_in_cases(0))
    options = Options(tolerance=1e-4, timeout=20.0)
    for atom in (a for a in marginal_atoms(alone) if str(a) != "r"):
        found, other = (Engine(n).query(Query(atom), options) for n in (network, alone))
        assert found.status is Status.EXACT
        assert found.lower == pytest.approx(other.lower, abs=2e-4)
        assert found.upper == pytest.approx(other.upper, abs=2e-4)


def cases_in(lines: list[str], asked: str = "a") -> bool:
    """Tell whether a network falls into cases whose variables keep their parents."""
    network = network_of(lines)
    graph = Engine(network).graph
    atom = next(a for a in marginal_atoms(network) if str(a) == asked)
    found = cases_of(network, graph)
    return (
        found is not None
        and found.suit(Query(atom))
        and found.keeps(graph, [Engine(n).graph for n in found.networks])
    )


def test_a_root_above_everything_makes_cases() -> None:
    assert cases_in(in_cases(0))


@pytest.mark.parametrize(
    "added",
    [
        "0.1 <= P(a or b) <= 0.9",
        "0.1 <= P(a | b or r) <= 0.9",
        "0.1 <= P(a | r and c and b and d) <= 0.9",
        "0.1 <= P(e | a) <= 0.9",
    ],
)
def test_what_joins_cases_or_changes_parents_is_left_whole(added: str) -> None:
    assert not cases_in([*in_cases(0), added])


@pytest.mark.parametrize("root", ["0 <= P(r) <= 0.4", "0.2 <= P(r) <= 1", "0.2 <= P(r or !r) <= 1"])
def test_a_root_that_may_be_certain_makes_no_cases(root: str) -> None:
    assert not cases_in(in_cases(0, root))


def test_the_root_itself_is_asked_of_the_whole() -> None:
    assert not cases_in(in_cases(0), "r")


def test_what_a_first_look_at_cases_found_survives_a_second_without_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks, look = list[float](), Mixture._ask

    def look_once(self: Mixture, tolerance: float, share: float) -> None:
        looks.append(share)
        if len(looks) > 1:
            raise OutOfTime
        look(self, 0.05, share)

    monkeypatch.setattr(Mixture, "_ask", look_once)
    network = network_of(pair_in_cases(0))
    atom = next(a for a in marginal_atoms(network) if str(a) == "a")
    answer = Engine(network).query(Query(atom), Options(tolerance=1e-15, timeout=20.0))
    assert len(looks) == 2
    assert 0.0 < answer.lower < answer.upper < 1.0
