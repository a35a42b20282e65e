"""Layouts: no overlap, edges down where they can be, cycles allowed, and no edge behind a node."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from credalog.show.drawing import by_distance, folded
from credalog.show.layout import GAP, PAGE, Edge, Layout, Size, lay_out
from credalog.show.routing import sampled

SMALL: Size = (20.0, 20.0)


def random_graph(seed: int) -> tuple[list[Size], list[Edge]]:
    rng = random.Random(seed)
    count = rng.randint(2, 14)
    pairs = [(i, j) if rng.random() < 0.5 else (j, i) for i in range(count) for j in range(i)]
    sizes = [(rng.uniform(10, 90), rng.uniform(10, 60)) for _ in range(count)]
    return sizes, [pair for pair in pairs if rng.random() < 0.25]


def connected(seed: int) -> tuple[list[Size], list[Edge]]:
    sizes, edges = random_graph(seed)
    rng = random.Random(seed)
    chain = [(i, rng.randrange(i)) for i in range(1, len(sizes))]
    return sizes, [*edges, *(edge for edge in chain if edge not in edges and edge[::-1] not in edges)]


def rows(layout: Layout) -> list[list[int]]:
    heights = sorted({y for _, y in layout.nodes})
    return [[i for i, (_, y) in enumerate(layout.nodes) if y == height] for height in heights]


def behind(layout: Layout, sizes: Sequence[Size]) -> list[tuple[Edge, int]]:
    """Return the edges that pass behind nodes at which they do not end."""
    found = []
    for edge, curve in layout.edges.items():
        for x, y in sampled(curve, 16):
            for node, ((cx, cy), (width, height)) in enumerate(zip(layout.nodes, sizes, strict=True)):
                if node not in edge and abs(x - cx) < width / 2 and abs(y - cy) < height / 2:
                    found.append((edge, node))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_nodes_of_a_layer_keep_their_distance(seed: int):
    sizes, edges = random_graph(seed)
    layout = lay_out(sizes, edges)
    for row in rows(layout):
        for left, right in pairwise(sorted(row, key=lambda i: layout.nodes[i])):
            distance = layout.nodes[right][0] - layout.nodes[left][0]
            # Between two nodes an edge may pass: it keeps the smaller distance on both sides.
            assert distance >= (sizes[left][0] + sizes[right][0]) / 2 + GAP * 0.9


@pytest.mark.parametrize("seed", range(60))
def test_every_edge_joins_its_nodes_and_never_turns_back(seed: int):
    sizes, edges = random_graph(seed)
    layout = lay_out(sizes, edges)
    assert set(layout.edges) == set(edges)
    for (source, target), curve in layout.edges.items():
        for node, (x, y) in ((source, curve[0]), (target, curve[-1])):
            (cx, cy), (width, height) = layout.nodes[node], sizes[node]
            assert abs(x - cx) <= width / 2
            assert abs(abs(y - cy) - height / 2) < 1e-6
        steps = [b[1] - a[1] for a, b in pairwise(sampled(curve)) if abs(b[1] - a[1]) > 1e-9]
        assert min(steps) > 0 or max(steps) < 0


@pytest.mark.parametrize("place", [lay_out, by_distance])
@pytest.mark.parametrize("seed", range(60))
def test_no_edge_runs_behind_a_node(seed: int, place):
    sizes, edges = connected(seed)
    assert not behind(place(sizes, edges), sizes)


@pytest.mark.parametrize("seed", range(60))
def test_nodes_placed_by_distance_do_not_overlap(seed: int):
    sizes, edges = connected(seed)
    places = by_distance(sizes, edges).nodes
    for i, (x, y) in enumerate(places):
        for j in range(i):
            dx, dy = abs(x - places[j][0]), abs(y - places[j][1])
            width, height = ((a + b) / 2 for a, b in zip(sizes[i], sizes[j], strict=True))
            assert dx >= width - 1e-6 or dy >= height - 1e-6


@pytest.mark.parametrize("place", [lay_out, by_distance])
@pytest.mark.parametrize("seed", range(30))
def test_everything_lies_inside_the_picture(seed: int, place):
    sizes, edges = connected(seed)
    layout = place(sizes, edges)
    for (x, y), (width, height) in zip(layout.nodes, sizes, strict=True):
        assert width / 2 - 1e-6 <= x <= layout.width - width / 2 + 1e-6
        assert height / 2 - 1e-6 <= y <= layout.height - height / 2 + 1e-6


def test_a_graph_without_cycles_points_down():
    layout = lay_out([SMALL] * 4, [(0, 1), (1, 2), (0, 2), (0, 3)])
    height = [y for _, y in layout.nodes]
    assert height[0] < height[1] == height[3] < height[2]


def test_a_source_stands_just_above_its_child():
    chain = [(0, 1), (1, 2), (2, 3), (4, 3)]
    height = [y for _, y in lay_out([SMALL] * 5, chain).nodes]
    assert height[4] == height[2]


def test_a_layer_that_is_wider_than_the_page_is_wrapped():
    sizes: list[Size] = [(100.0, 28.0)] * 61
    edges = [(0, i) for i in range(1, 61)]
    layout = lay_out(sizes, edges)
    # In one row they would be 60 * 126 wide: shown on a page, a sixth of their size.
    assert layout.width < 1.7 * PAGE[0]
    assert layout.height < 1.7 * PAGE[1]
    assert len(rows(layout)) > 4
    assert not behind(layout, sizes)


def test_what_fits_a_page_is_not_wrapped():
    layout = lay_out([SMALL] * 11, [(0, i) for i in range(1, 11)])
    assert len(rows(layout)) == 2


def test_an_edge_meant_to_point_up_does():
    layout = lay_out([SMALL] * 2, [(0, 1)], upwards={(0, 1)})
    assert layout.nodes[0][1] > layout.nodes[1][1]


def test_crossings_are_taken_out_where_they_can_be():
    layout = lay_out([SMALL] * 6, [(0, 5), (1, 4), (2, 3)])
    tops = sorted(range(3), key=lambda i: layout.nodes[i][0])
    bottoms = sorted(range(3, 6), key=lambda i: layout.nodes[i][0])
    assert [5 - i for i in tops] == bottoms


def test_a_ring_is_drawn_as_a_ring():
    count = 12
    places = by_distance([SMALL] * count, [(i, (i + 1) % count) for i in range(count)]).nodes
    x, y = (sum(p[i] for p in places) / count for i in (0, 1))
    radii = [((p[0] - x) ** 2 + (p[1] - y) ** 2) ** 0.5 for p in places]
    assert max(radii) < 1.1 * min(radii)


def test_a_grid_is_drawn_as_a_grid():
    side = 5
    number = {(i, j): i * side + j for i in range(side) for j in range(side)}
    edges = [(n, number[i + 1, j]) for (i, j), n in number.items() if i + 1 < side]
    edges += [(n, number[i, j + 1]) for (i, j), n in number.items() if j + 1 < side]
    places = by_distance([SMALL] * side**2, edges).nodes
    # Every edge is nearly level or nearly upright.
    slants = [sorted(abs(places[a][k] - places[b][k]) for k in (0, 1)) for a, b in edges]
    assert all(small < 0.25 * large for small, large in slants)


@pytest.mark.parametrize("place", [lay_out, by_distance])
def test_the_same_graph_always_looks_the_same(place):
    sizes, edges = connected(5)
    assert place(sizes, edges) == place(sizes, edges)


def test_no_nodes_make_an_empty_picture():
    assert lay_out([], []).nodes == ()


@pytest.mark.slow
def test_a_long_chain_is_folded_into_columns_and_hides_no_edge():
    count = 60
    sizes: list[Size] = [(40.0, 28.0)] * count
    chain = [(i, i + 1) for i in range(count - 1)]
    straight_ = lay_out(sizes, chain)
    layout = folded(sizes, straight_)
    assert layout.height < straight_.height / 3
    assert set(layout.edges) == set(chain)
    assert not behind(layout, sizes)
    for (x, y), (width, height) in zip(layout.nodes, sizes, strict=True):
        assert width / 2 - 1e-6 <= x <= layout.width - width / 2 + 1e-6
        assert height / 2 - 1e-6 <= y <= layout.height - height / 2 + 1e-6


def test_what_fits_a_page_is_not_folded():
    layout = lay_out([SMALL] * 4, [(0, 1), (1, 2), (2, 3)])
    assert folded([SMALL] * 4, layout) is layout


def test_a_fan_is_wrapped_evenly():
    sizes: list[Size] = [(70.0, 28.0)] * 101
    layout = lay_out(sizes, [(0, i) for i in range(1, 101)])
    middle = layout.width / 2
    # Its first layers stand on both sides of what leads to the others.
    for row in rows(layout)[1:]:
        centre = sum(layout.nodes[node][0] for node in row) / len(row)
        assert abs(centre - middle) < layout.width / 4
