"""A search that slopes decide: no vertex passes what it proves, and its slopes hold at every model."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import prod

import numpy as np
import pytest

from credal_drawing import draw_intervals
from credalog import parse
from credalog.methods.progress import Telling
from credalog.methods.vertices import sets, weighing
from credalog.methods.vertices.ascent import Climber, climb
from credalog.methods.vertices.boxes import Closing, _parts, _Search
from credalog.methods.vertices.elimination import clusters
from credalog.methods.vertices.first_order import greatest
from credalog.methods.vertices.interval_slopes import Layout, slopes, slopes_on_the_way, upward
from credalog.network.formulas import Is, Variable, conjunction
from credalog.network.graph import dependency_graph
from credalog.network.sentences import Network, Query, Sentence
from credalog.network.structure import relevance
from credalog.numbers.budget import Budget
from credalog.numbers.interval import End, Endpoint
from credalog.tables.credal import CredalNetwork, Extreme, Question, ask, credal_network
from credalog.tables.interval_sets import filled, greatest_sum, interval_vertices
from oracle import Verdict
from vertex_oracle import strong_extension


def _asked(network: Network, query: Query) -> tuple[CredalNetwork, Question]:
    credal = credal_network(network, dependency_graph(network))
    assert credal is not None
    put = ask(credal, query)
    assert put is not None
    return put


def _proved(network: Network, query: Query, tolerance: float) -> tuple[float, float]:
    """Return what the search proves from nothing but a model."""
    credal, asked = _asked(network, query)
    trivial = Extreme(Endpoint.trivial(End.LOWER), None), Extreme(Endpoint.trivial(End.UPPER), None)
    first = sets._with_models(credal, asked, trivial, {}, Budget.of(20.0))
    layout = sets._layout(credal, asked, (0.0, 1.0), Budget.of(0.2))
    closings = sets._closings(credal, asked, layout, first, (0.0, 1.0), tolerance)
    lower, upper = sets._decided(first, closings, Budget.of(4.0), Telling(None))
    return lower.endpoint.bound, upper.endpoint.bound


def _extreme_row(rng: np.random.Generator, size: int) -> list[Fraction]:
    """Draw a distribution in which much is impossible, certain or rare."""
    rare = [Fraction(0), Fraction(1, 10**12), Fraction(1, 10**18), Fraction(1, 10**200)]
    weights = [
        rare[rng.integers(len(rare))] if rng.random() < 0.4 else Fraction(int(rng.integers(1, 9)))
        for _ in range(size)
    ]
    weights[rng.integers(size)] += 1
    return [w / sum(weights) for w in weights]


def _draw_extreme(rng: np.random.Generator) -> Network:
    """Draw four variables of two to four values with extreme tables, of which a few blocks are widened."""
    sizes = [int(n) for n in rng.integers(2, 5, size=4)]
    variables = tuple(Variable(f"X{i}", tuple(f"s{k}" for k in range(n))) for i, n in enumerate(sizes))
    parents = [sorted(int(p) for p in rng.permutation(i)[: rng.integers(0, 3)]) for i in range(4)]
    places = [(x, s) for x in range(4) for s in np.ndindex(*(sizes[p] for p in parents[x]))]
    wide = {int(i) for i in rng.permutation(len(places))[:3]}
    sentences = []
    for number, (x, states) in enumerate(places):
        given = conjunction(variables[p].is_(f"s{s}") for p, s in zip(parents[x], states, strict=True))
        by = Fraction(1, int(rng.choice([4, 50, 10**9]))) if number in wide else Fraction(0)
        for k, p in enumerate(_extreme_row(rng, sizes[x])):
            low, high = max(p - by, Fraction(0)), min(p + by, Fraction(1))
            sentences.append(Sentence.of(variables[x].is_(f"s{k}"), low, high, given=given))
    return Network(variables, tuple(sentences))


def _random_query(rng: np.random.Generator, network: Network, most: int) -> Query:
    chosen = rng.permutation(len(network.variables))[: rng.integers(1, most + 1)]
    atoms = [network.variables[i].is_(rng.choice(network.variables[i].values)) for i in chosen]
    return Query(atoms[0], conjunction(atoms[1:]))


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
@pytest.mark.parametrize("seed", range(30))
def test_no_vertex_passes_what_is_proved_and_it_is_close(seed: int, tolerance: float) -> None:
    rng = np.random.default_rng(seed)
    network = draw_intervals(rng, 7, 5)
    query = _random_query(rng, network, 3)
    truth = strong_extension(network, query)
    if truth.verdict is not Verdict.ANSWERED:
        return
    lower, upper = _proved(network, query, tolerance)
    assert Fraction(lower) <= truth.lower and truth.upper <= Fraction(upper)
    assert truth.lower - Fraction(lower) <= tolerance and Fraction(upper) - truth.upper <= tolerance


@pytest.mark.parametrize("seed", range(60))
def test_impossible_certain_and_rare_causes_do_not_lead_it_astray(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = _draw_extreme(rng)
    query = _random_query(rng, network, 4)
    try:
        truth = strong_extension(network, query, most=400)
    except ValueError:
        return
    if truth.verdict is not Verdict.ANSWERED:
        return
    lower, upper = _proved(network, query, 1e-3)
    assert Fraction(lower) <= truth.lower and truth.upper <= Fraction(upper)


@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_slopes_at_every_model_lie_above_what_is_said_of_them(seed: int, *, compiles: bool) -> None:
    rng = np.random.default_rng(seed)
    network = _draw_extreme(rng)
    query = _random_query(rng, network, 4)
    credal, asked = _asked(network, query)
    if asked.target not in asked.observed:
        _require_slopes(rng, credal, asked, compiles=compiles)


@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_slopes_that_nearly_cancel_lie_above_what_is_said_of_them(seed: int, *, compiles: bool) -> None:
    """In a widened network with loops, contexts of either sign are added up around a centre (proof 33)."""
    rng = np.random.default_rng(seed)
    network = _draw_widened(rng)
    variables = network.variables
    first, *others = (variables[i] for i in rng.permutation(len(variables))[:3])
    query = Query(first.is_("s0"), conjunction(x.is_("s1") for x in others))
    _require_slopes(rng, *_asked(network, query), compiles=compiles)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_compiled_loops_find_the_same_slopes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = _draw_widened(rng)
    first, *others = (network.variables[i] for i in rng.permutation(6)[:3])
    credal, asked = _asked(network, Query(first.is_("s0"), conjunction(x.is_("s1") for x in others)))
    layout = sets._layout(credal, asked, (0.0, 1.0), Budget.of(0.05))
    boxes, event = _one_node(credal, asked, layout), np.array(asked.event, dtype=np.float64)
    passed = upward(layout, boxes, event, 0.3, Budget.of())
    plain, looped = (
        slopes(layout, boxes, passed, Budget.of(), compiles=compiles) for compiles in (False, True)
    )
    for x in boxes:
        assert looped.advantage[x] == pytest.approx(plain.advantage[x], rel=1e-9, abs=1e-13)
        assert looped.loss[x] == pytest.approx(plain.loss[x], rel=1e-9, abs=1e-13)


def test_loops_are_compiled_in_long_searches_only_and_with_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighing, "is_loaded", lambda _: False)
    monkeypatch.setattr(weighing, "is_ready", lambda _: False)
    monkeypatch.setattr(weighing, "can_compile", lambda: True)
    assert not weighing.Pace().compiles(weighing.LONG, Budget.of(1000.0))
    assert weighing.Pace().compiles(weighing.LONG + 1, Budget.of(1000.0))
    assert not weighing.Pace().compiles(weighing.LONG + 1, Budget.of(weighing.COMPILING / 2))
    monkeypatch.setattr(weighing, "is_ready", lambda _: True)
    assert weighing.Pace().compiles(weighing.LONG + 1, Budget.of(weighing.COMPILING / 2))
    monkeypatch.setattr(weighing, "can_compile", lambda: False)
    assert not weighing.Pace().compiles(weighing.LONG + 1, Budget.of(1000.0))


def _draw_widened(rng: np.random.Generator) -> Network:
    """Draw six variables of two or three values with up to three parents, every probability widened."""
    sizes = [int(n) for n in rng.integers(2, 4, size=6)]
    variables = tuple(Variable(f"X{i}", tuple(f"s{k}" for k in range(n))) for i, n in enumerate(sizes))
    parents = [sorted(int(p) for p in rng.permutation(i)[: rng.integers(1, 4)]) for i in range(6)]
    by = Fraction(1, int(rng.choice([10, 50, 1000])))
    sentences = []
    for x, size in enumerate(sizes):
        for states in np.ndindex(*(sizes[p] for p in parents[x])):
            given = conjunction(variables[p].is_(f"s{s}") for p, s in zip(parents[x], states, strict=True))
            weights = [Fraction(int(n)) for n in rng.integers(1, 9, size=size)]
            for k, weight in enumerate(weights):
                p = weight / sum(weights)
                low, high = max(p - by, Fraction(0)), min(p + by, Fraction(1))
                sentences.append(Sentence.of(variables[x].is_(f"s{k}"), low, high, given=given))
    return Network(variables, tuple(sentences))


def _require_slopes(
    rng: np.random.Generator, credal: CredalNetwork, asked: Question, *, compiles: bool
) -> None:
    """Compare what is said of slopes with the differences of G at models, world by world."""
    relevant = relevance(credal.parents, [asked.target], asked.observed)
    order = clusters(relevant.parents, asked.observed, credal.sizes)
    layout = Layout.of(asked.target, relevant.parents, asked.observed, credal.sizes, order)
    whole = {x: credal.ranges(x, asked.observed) for x in relevant.families}
    # Two nodes at once: all models, and one alone.
    points = {x: _inside(rng, *box) for x, box in whole.items()}
    boxes = {x: (np.stack([low, points[x]]), np.stack([high, points[x]])) for x, (low, high) in whole.items()}
    event = np.array(asked.event, dtype=np.float64)
    # At the posterior of a model what speaks for the event and against it is as much.
    mass = _score(layout, points, np.ones_like(event), 0.0)
    trial = _score(layout, points, event, 0.0) / mass if mass > 0.0 else float(rng.random())
    passed = upward(layout, boxes, event, trial, Budget.of())
    least = slopes(layout, boxes, passed, Budget.of(), compiles=compiles).advantage
    for node, theta in [
        *((0, {x: _inside(rng, *box) for x, box in whole.items()}) for _ in range(5)),
        (1, points),
    ]:
        low, high = (ends[node] for ends in passed.total(layout))
        assert low <= _score(layout, theta, event, trial) <= high
        for x, table in theta.items():
            true = np.empty(table.shape)
            for place in np.ndindex(table.shape):
                unit = np.zeros(table.shape)
                unit[place] = 1.0
                true[place] = _score(layout, {**theta, x: unit}, event, trial)
            differences = true[..., :, None] - true[..., None, :]
            assert (differences >= least[x][node] - 1e-12 * np.abs(true).max(initial=0.0)).all()


def _inside(rng: np.random.Generator, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Draw distributions between bounds: from the least, each value in turn gets a share of what is left."""
    theta = low.copy()
    for value in rng.permutation(low.shape[-1]):
        free = 1.0 - theta.sum(axis=-1)
        theta[..., value] += np.clip(free, 0.0, (high - theta)[..., value])
    return theta


def _score(layout: Layout, theta: dict[int, np.ndarray], event: np.ndarray, trial: float) -> float:
    """Add up over all worlds what P(event, evidence) - trial * P(evidence) is."""
    hidden = [x for x in layout.parents if x not in layout.observed]
    total = 0.0
    for states in np.ndindex(*(layout.sizes[x] for x in hidden)):
        world = {**layout.observed, **dict(zip(hidden, states, strict=True))}
        factors = (t[(*(world[p] for p in layout.parents[x]), world[x])] for x, t in theta.items())
        total += prod(factors) * (event[world[layout.target]] - trial)
    return total


@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_slopes_of_families_that_move_one_after_the_other_hold_on_the_way(
    seed: int, *, compiles: bool
) -> None:
    rng = np.random.default_rng(seed)
    network = _draw_widened(rng)
    first, *others = (network.variables[i] for i in rng.permutation(6)[:3])
    credal, asked = _asked(network, Query(first.is_("s0"), conjunction(x.is_("s1") for x in others)))
    layout = sets._layout(credal, asked, (0.0, 1.0), Budget.of(0.05))
    event, trial = np.array(asked.event, dtype=np.float64), float(rng.random())
    boxes = _one_node(credal, asked, layout)
    model = {x: filled(low, high, rng.normal(size=low.shape)) for x, (low, high) in boxes.items()}
    stays = {x: rng.random(low.shape[:-1])[..., None] < 0.8 for x, (low, _) in boxes.items()}
    tables = {
        x: (np.where(stays[x], model[x], low), np.where(stays[x], model[x], high))
        for x, (low, high) in boxes.items()
    }
    passed, staying = (upward(layout, b, event, trial, Budget.of()) for b in (boxes, tables))
    least = slopes_on_the_way(layout, tables, staying, passed, Budget.of(), compiles=compiles)
    for _ in range(6):
        theta = {
            x: filled(low[0], high[0], rng.normal(size=low[0].shape)) for x, (low, high) in boxes.items()
        }
        now = {x: np.where(stays[x][0], model[x][0], theta[x]) for x in theta}
        for x in _moving(layout, layout.steps[-1].variable):
            differences = _differences(layout, now, x, event=event, trial=trial)
            assert (differences >= least[x][0] - 1e-12).all()
            now[x] = theta[x]


@pytest.mark.parametrize("seed", range(40))
def test_no_vertex_passes_a_bound_to_the_first_order(seed: int) -> None:
    """The posterior's score in fractions, at the best of vertices drawn at random and improved (proof 34)."""
    rng = np.random.default_rng(seed)
    network = _draw_extreme(rng) if seed % 2 else _draw_widened(rng)
    credal, asked = _asked(network, _random_query(rng, network, 3))
    if asked.target in asked.observed:
        return
    layout = sets._layout(credal, asked, (0.0, 1.0), Budget.of(0.05))
    boxes, event = _one_node(credal, asked, layout), np.array(asked.event, dtype=np.float64)
    trial = float(rng.random())
    passed = upward(layout, boxes, event, trial, Budget.of())
    most = Fraction(greatest(layout, boxes, passed, Budget.of()))
    blocks = _exact_vertices(boxes)
    for _ in range(3):
        theta = {b: choices[rng.integers(len(choices))] for b, choices in blocks.items()}
        for block in rng.permutation(len(blocks))[:8]:
            key = list(blocks)[block]
            reached = {v: _exact_score(layout, {**theta, key: v}, asked, trial) for v in blocks[key]}
            theta[key] = max(reached, key=lambda vertex: reached[vertex])
            assert max(reached.values()) <= most


def test_a_bound_to_the_first_order_is_exact_where_one_block_is_open_and_closer_where_all_are() -> None:
    network = _draw_widened(np.random.default_rng(1))
    first, *others = (network.variables[i] for i in (0, 4, 5))
    credal, asked = _asked(network, Query(first.is_("s0"), conjunction(x.is_("s1") for x in others)))
    layout = sets._layout(credal, asked, (0.0, 1.0), Budget.of(0.05))
    boxes, event = _one_node(credal, asked, layout), np.array(asked.event, dtype=np.float64)
    passed = upward(layout, boxes, event, 0.5, Budget.of())
    assert greatest(layout, boxes, passed, Budget.of()) < passed.total(layout)[1][0]
    fixed = {x: filled(low, high, np.zeros(low.shape)) for x, (low, high) in boxes.items()}
    for x, box in boxes.items():
        low, high = fixed[x].copy(), fixed[x].copy()
        block = (0,) * (low.ndim - 1)
        low[block], high[block] = box[0][block], box[1][block]
        node = {**{y: (table, table) for y, table in fixed.items()}, x: (low, high)}
        above = upward(layout, node, event, 0.5, Budget.of())
        vertices = interval_vertices([*map(Fraction, low[block])], [*map(Fraction, high[block])], most=99)
        tables = {y: table[0] for y, table in fixed.items()}
        scores = []
        for vertex in vertices or ():
            tables[x] = fixed[x][0].copy()
            tables[x][block[1:]] = [float(p) for p in vertex]
            scores.append(_score(layout, tables, event, 0.5))
        assert greatest(layout, node, above, Budget.of()) == pytest.approx(max(scores), abs=1e-12)


_Block = tuple[int, tuple[int, ...]]


def _exact_vertices(
    boxes: dict[int, tuple[np.ndarray, np.ndarray]],
) -> dict[_Block, tuple[tuple[Fraction, ...], ...]]:
    """Return the vertices of all blocks, in fractions."""
    found = {}
    for x, (low, high) in boxes.items():
        for block in np.ndindex(low.shape[1:-1]):
            ends = ([Fraction(p) for p in end[0][block]] for end in (low, high))
            vertices = interval_vertices(*ends, most=1000)
            assert vertices
            found[x, block] = vertices
    return found


def _exact_score(
    layout: Layout, theta: dict[_Block, tuple[Fraction, ...]], asked: Question, trial: float
) -> Fraction:
    """Add up over all worlds, in fractions."""
    hidden = [x for x in layout.parents if x not in layout.observed]
    total = Fraction(0)
    for states in np.ndindex(*(layout.sizes[x] for x in hidden)):
        world = {**layout.observed, **dict(zip(hidden, states, strict=True))}
        score = Fraction(int(asked.event[world[layout.target]])) - Fraction(trial)
        for x, parents in layout.parents.items():
            score *= theta[x, tuple(world[p] for p in parents)][world[x]]
        total += score
    return total


def _moving(layout: Layout, x: int) -> Iterator[int]:
    """Yield the families below a message, in the order in which they move, and its own."""
    for step in layout.steps:
        for m in step.entering if step.variable == x else ():
            yield from _moving(layout, m)
    yield x


def _differences(
    layout: Layout, theta: dict[int, np.ndarray], x: int, *, event: np.ndarray, trial: float
) -> np.ndarray:
    """Return by how much more G grows with one value of a family than with another, world by world."""
    true = np.empty(theta[x].shape)
    for place in np.ndindex(true.shape):
        unit = np.zeros(true.shape)
        unit[place] = 1.0
        true[place] = _score(layout, {**theta, x: unit}, event, trial)
    return np.asarray(true[..., :, None] - true[..., None, :])


def _one_node(
    credal: CredalNetwork, asked: Question, layout: Layout
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return all models as the only node."""
    ranges = {x: credal.ranges(x, asked.observed) for x in layout.parents}
    return {x: (low[None], high[None]) for x, (low, high) in ranges.items()}


def test_a_chain_of_weak_links_decides_what_its_last_one_does() -> None:
    """Each makes the next likelier: P(a | e) grows with P(e | d), falls with P(e | not d) (proof 33)."""
    links = "".join(
        f"0.55 <= P({y} | {x}) <= 0.65\n0.35 <= P({y} | !{x}) <= 0.45\n" for x, y in pairwise("abcde")
    )
    network = parse(f"P(a) = 0.5\n{links}").ground()
    credal, asked = _asked(network, Query(Is(Variable("a")), Is(Variable("e"))))
    layout = sets._layout(credal, asked, (0.0, 1.0), Budget.of(0.05))
    boxes = _one_node(credal, asked, layout)
    event = np.array(asked.event, dtype=np.float64)
    passed = upward(layout, boxes, event, 0.5, Budget.of())
    least = slopes(layout, boxes, passed, Budget.of()).advantage
    (last,) = asked.observed
    state = asked.observed[last]
    grows = least[last][0, :, state, 1 - state] > 0.0
    falls = least[last][0, :, 1 - state, state] > 0.0
    # Of the two values of d one is likelier given a.
    assert sorted(zip(grows, falls, strict=True)) == [(False, True), (True, False)]


def _proved_from_afar(network: Network, query: Query, end: End, tolerance: float) -> float:
    """Return what the search proves where it begins at a model near the other end."""
    credal, asked = _asked(network, query)
    climber = Climber.of(credal, asked)
    start = climb(climber.towards(end.opposite), budget=Budget.of(5.0))
    assert start is not None
    layout = sets._layout(credal, asked, (0.0, 1.0), Budget.of(0.05))
    closing = Closing(climber.towards(end), layout, start, 1.0, tolerance)
    closing.run(Budget.of(4.0), lambda bound, leaves: None)
    return closing.bound if end is End.UPPER else 1.0 - closing.bound


# What was narrowed for one trial value was once kept for the next: bounds of seeds 27 and 69 were false.
@pytest.mark.parametrize("seed", [27, 69, *range(100, 112)])
def test_no_vertex_passes_what_is_proved_from_a_poor_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = draw_intervals(rng, int(rng.integers(4, 8)), 8)
    chosen = rng.permutation(len(network.variables))[: rng.integers(2, 4)]
    atoms = [network.variables[i].is_(rng.choice(network.variables[i].values)) for i in chosen]
    query = Query(atoms[0], conjunction(atoms[1:]))
    truth = strong_extension(network, query)
    if truth.verdict is not Verdict.ANSWERED:
        return
    for tolerance in (1e-2, 1e-3):
        assert Fraction(_proved_from_afar(network, query, End.LOWER, tolerance)) <= truth.lower
        assert truth.upper <= Fraction(_proved_from_afar(network, query, End.UPPER, tolerance))


@pytest.mark.parametrize("seed", range(30))
def test_every_vertex_of_a_block_is_in_one_of_its_parts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    row = _extreme_row(rng, int(rng.integers(2, 6)))
    by = Fraction(1, int(rng.choice([4, 50, 10**6])))
    # Ends that are floats, so that the vertices are those of the search's own numbers.
    low = [Fraction(float(max(p - by, Fraction(0)))) for p in row]
    high = [Fraction(float(min(p + by, Fraction(1)))) for p in row]
    vertices = interval_vertices(low, high, most=1000)
    assert vertices
    least, most = (np.array([float(p) for p in end]) for end in (low, high))
    parts = list(_parts(least, most, 0, None))
    for vertex in vertices:
        assert any(_holds(part, vertex) for part in parts)
    # Of an observed variable both ends of what its state may have are kept.
    state = int(rng.integers(len(row)))
    cuts = [(part[0][state], part[1][state]) for part in _parts(least, most, 0, state)]
    for reached in (min(v[state] for v in vertices), max(v[state] for v in vertices)):
        assert any(Fraction(a) <= reached <= Fraction(b) for a, b in cuts)


def _holds(part: tuple[np.ndarray, np.ndarray], vertex: tuple[Fraction, ...]) -> bool:
    return all(Fraction(a) <= p <= Fraction(b) for a, p, b in zip(part[0], vertex, part[1], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("size", range(2, 10))
def test_the_greatest_sum_is_that_of_the_best_vertex(size: int) -> None:
    rng = np.random.default_rng(size)
    low, high, score = np.empty((6, 1, size)), np.empty((6, 1, size)), rng.integers(-3, 4, size=(6, 5, size))
    vertices = []
    for i in range(6):
        row = _extreme_row(rng, size)
        ends = [max(p - Fraction(1, 20), Fraction(0)) for p in row], [p + Fraction(1, 30) for p in row]
        vertices.append(interval_vertices(*ends, most=10**5) or ())
        low[i, 0], high[i, 0] = ([float(p) for p in end] for end in ends)
    theta, most = filled(low, high, score.astype(float)), greatest_sum(low, high, score.astype(float))
    for i, j in np.ndindex(6, 5):
        best = max(sum(int(s) * p for s, p in zip(score[i, j], v, strict=True)) for v in vertices[i])
        assert most[i, j] == pytest.approx(float(best), abs=1e-12)
        assert float((theta[i, j] * score[i, j]).sum()) == pytest.approx(float(best), abs=1e-12)


def test_a_model_that_is_met_on_the_way_moves_the_goal() -> None:
    # Both ends of c are local maxima of P(a | e): a search that begins at the lower one finds the other.
    text = "0.1 <= P(c) <= 0.9\n0.4 <= P(a | c) <= 0.6\n0.4 <= P(a | !c) <= 0.6\n"
    text += "P(e | a & c) = 0.9\nP(e | a & !c) = 0.8\nP(e | !a & c) = 0.1\nP(e | !a & !c) = 0.05\n"
    network = parse(text).ground()
    query = Query(Is(Variable("a")), Is(Variable("e")))
    truth = strong_extension(network, query)
    lower, upper = _proved(network, query, 1e-4)
    assert truth.lower - Fraction(1, 10**4) <= Fraction(lower) <= truth.lower
    assert truth.upper <= Fraction(upper) <= truth.upper + Fraction(1, 10**4)


def test_a_model_that_is_better_by_a_rounding_costs_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    network = parse(
        "0.1 <= P(c) <= 0.9\nP(a | c) = 0.9\nP(a | !c) = 0.2\nP(e | a) = 0.7\nP(e | !a) = 0.3\n"
    ).ground()
    query = Query(Is(Variable("c")), Is(Variable("e")))
    credal, asked = _asked(network, query)
    climber = Climber.of(credal, asked)
    start = climb(climber.towards(End.LOWER), budget=Budget.of(5.0))
    assert start is not None
    layout = sets._layout(credal, asked, (0.0, 1.0), Budget.of(0.05))
    search = _Search(climber.towards(End.UPPER), layout, start)
    search.value = value = 0.4
    search.set_goal(0.2)
    slightly = float(np.nextafter(value, 1.0))
    assert slightly + 0.2 == value + 0.2

    def met(self: _Search, model: object) -> None:
        monkeypatch.undo()
        self.value = slightly

    monkeypatch.setattr(_Search, "_meet", met)
    assert Fraction(search.run(Budget.of(5.0))) >= strong_extension(network, query).upper
    assert search.value > slightly
