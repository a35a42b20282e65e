"""Fold a picture that is far higher than wide into columns, as a newspaper does with a text.

Input: a layered layout. Output: the same layers, cut into a few columns where that lets the whole be seen
larger and few edges lead from one column to another; these are led round the nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from credalog.show.canvas import Curve
from credalog.show.layout import PAGE, Edge, Layout, Size
from credalog.show.routing import Router

MOST_COLUMNS = 8
BETWEEN = 64.0
"""The space between two columns."""

WORTH = 1.4
"""So many times larger the whole has to be seen to be worth it."""

FEW_CROSSING = 3
"""At most so many edges lead on to the next column."""


@dataclass(frozen=True, slots=True)
class _Column:
    """Which nodes a column holds, and between which coordinates they lie."""

    nodes: tuple[int, ...]
    left: float
    right: float
    top: float
    bottom: float


def folded(sizes: Sequence[Size], layout: Layout) -> Layout:
    """Return a layout in as many columns as let it be seen largest; most often that is one."""
    best, scale = list[_Column](), _scale(layout.width, layout.height)
    for count in range(2, MOST_COLUMNS + 1):
        columns = _columns(sizes, layout, count)
        width = sum(c.right - c.left for c in columns) + BETWEEN * (len(columns) - 1)
        seen = _scale(width, max(c.bottom - c.top for c in columns))
        if seen > WORTH * scale and len(_crossing(layout.edges, columns)) <= FEW_CROSSING * (
            len(columns) - 1
        ):
            best, scale = columns, seen
    return _moved(sizes, layout, best) if best else layout


def _scale(width: float, height: float) -> float:
    return min(1.0, PAGE[0] / max(width, 1.0), PAGE[1] / max(height, 1.0))


def _columns(sizes: Sequence[Size], layout: Layout, count: int) -> list[_Column]:
    """Cut the layers into columns of about the same height."""
    heights = sorted({y for _, y in layout.nodes})
    share = layout.height / count
    home = {y: min(int((y - heights[0]) / share), count - 1) for y in heights}
    members: list[list[int]] = [[] for _ in range(count)]
    for node, (_, y) in enumerate(layout.nodes):
        members[home[y]].append(node)
    return [_column(sizes, layout, nodes) for nodes in members if nodes]


def _column(sizes: Sequence[Size], layout: Layout, nodes: Sequence[int]) -> _Column:
    """Measure a column with the edges inside it."""
    inside = set(nodes)
    points = [p for (a, b), curve in layout.edges.items() if {a, b} <= inside for p in curve]
    boxes = [(layout.nodes[node], sizes[node]) for node in nodes]
    xs = [x for x, _ in points] + [x + side * w / 2 for (x, _), (w, _) in boxes for side in (-1, 1)]
    ys = [y + side * h / 2 for (_, y), (_, h) in boxes for side in (-1, 1)]
    return _Column(tuple(nodes), min(xs), max(xs), min(ys), max(ys))


def _crossing(edges: Mapping[Edge, Curve], columns: Sequence[_Column]) -> list[Edge]:
    home = {node: i for i, column in enumerate(columns) for node in column.nodes}
    return [edge for edge in edges if home[edge[0]] != home[edge[1]]]


def _moved(sizes: Sequence[Size], layout: Layout, columns: Sequence[_Column]) -> Layout:
    """Put the columns side by side, and lead the edges between them anew."""
    shift: dict[int, tuple[float, float]] = {}
    x = 0.0
    for column in columns:
        shift.update(dict.fromkeys(column.nodes, (x - column.left, -column.top)))
        x += column.right - column.left + BETWEEN
    nodes = tuple((px + shift[i][0], py + shift[i][1]) for i, (px, py) in enumerate(layout.nodes))
    crossing = set(_crossing(layout.edges, columns))
    led = Router(nodes, sizes).routes(sorted(crossing))
    curves: dict[Edge, Curve] = {}
    for edge, curve in layout.edges.items():
        dx, dy = shift[edge[0]]
        curves[edge] = led[edge] if edge in crossing else tuple((px + dx, py + dy) for px, py in curve)
    height = max(column.bottom - column.top for column in columns)
    return _framed(nodes, curves, (x - BETWEEN, height))


def _framed(nodes: Sequence[tuple[float, float]], curves: Mapping[Edge, Curve], size: Size) -> Layout:
    """Make room for edges that were led round the outside."""
    points = [point for curve in curves.values() for point in curve] or [(0.0, 0.0)]
    left, top = min(0.0, *(x for x, _ in points)), min(0.0, *(y for _, y in points))
    right, bottom = max(size[0], *(x for x, _ in points)), max(size[1], *(y for _, y in points))
    moved = {edge: tuple((x - left, y - top) for x, y in curve) for edge, curve in curves.items()}
    return Layout(tuple((x - left, y - top) for x, y in nodes), moved, right - left, bottom - top)
