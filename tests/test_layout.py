"""Layered layouts: no overlap, edges down, cycles allowed."""

import random
from itertools import pairwise

import pytest

from credalog.show.layout import GAP, Layout, lay_out


def random_graph(seed: int) -> tuple[list[float], list[tuple[int, int]]]:
    rng = random.Random(seed)
    count = rng.randint(1, 14)
    pairs = [(i, j) if rng.random() < 0.5 else (j, i) for i in range(count) for j in range(i)]
    return [rng.uniform(10, 90) for _ in range(count)], [pair for pair in pairs if rng.random() < 0.25]


def rows(layout: Layout) -> list[list[int]]:
    heights = sorted({y for _, y in layout.nodes})
    return [[i for i, (_, y) in enumerate(layout.nodes) if y == height] for height in heights]


@pytest.mark.parametrize("seed", range(100))
def test_nodes_of_a_layer_keep_their_distance(seed: int):
    widths, edges = random_graph(seed)
    layout = lay_out(widths, edges)
    for row in rows(layout):
        for left, right in pairwise(sorted(row, key=lambda i: layout.nodes[i])):
            distance = layout.nodes[right][0] - layout.nodes[left][0]
            assert distance >= (widths[left] + widths[right]) / 2 + GAP - 1e-6


@pytest.mark.parametrize("seed", range(100))
def test_every_edge_runs_from_its_source_to_its_target_and_never_sideways(seed: int):
    widths, edges = random_graph(seed)
    layout = lay_out(widths, edges)
    assert set(layout.edges) == set(edges)
    for (source, target), points in layout.edges.items():
        assert (points[0], points[-1]) == (layout.nodes[source], layout.nodes[target])
        steps = {(b[1] > a[1]) - (b[1] < a[1]) for a, b in pairwise(points)}
        assert steps in ({1}, {-1})


@pytest.mark.parametrize("seed", range(100))
def test_everything_lies_inside_the_picture(seed: int):
    widths, edges = random_graph(seed)
    layout = lay_out(widths, edges)
    for (x, y), width in zip(layout.nodes, widths, strict=True):
        assert width / 2 <= x <= layout.width - width / 2
        assert 0 < y < layout.height


def test_a_graph_without_cycles_points_down():
    layout = lay_out([20.0] * 4, [(0, 1), (1, 2), (0, 2), (0, 3)])
    height = [y for _, y in layout.nodes]
    assert height[0] < height[1] == height[3] < height[2]


def test_a_long_edge_bends_round_what_is_in_its_way():
    layout = lay_out([20.0] * 3, [(0, 1), (1, 2), (0, 2)])
    assert len(layout.edges[0, 2]) == 3
    assert abs(layout.edges[0, 2][1][0] - layout.nodes[1][0]) >= 20 / 2


def test_an_edge_meant_to_point_up_does():
    layout = lay_out([20.0] * 2, [(0, 1)], upwards={(0, 1)})
    assert layout.nodes[0][1] > layout.nodes[1][1]


def test_crossings_are_taken_out_where_they_can_be():
    layout = lay_out([20.0] * 6, [(0, 5), (1, 4), (2, 3)])
    tops = sorted(range(3), key=lambda i: layout.nodes[i][0])
    bottoms = sorted(range(3, 6), key=lambda i: layout.nodes[i][0])
    assert [5 - i for i in tops] == bottoms


def test_the_same_graph_always_looks_the_same():
    widths, edges = random_graph(5)
    assert lay_out(widths, edges) == lay_out(widths, edges)


def test_no_nodes_make_an_empty_picture():
    assert lay_out([], []).nodes == ()
