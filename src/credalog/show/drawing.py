"""Draw a sketch of a graph: each part by the layout that suits it, the parts side by side.

Input: a `Sketch`. Output: a `Picture`. What is connected is laid out by itself: in layers where edges have a
direction, by distances where most are ties. No system tool is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from credalog.choices import View
from credalog.errors import Ask, ProblemTooLarge
from credalog.network.formulas import TRUE, Formula
from credalog.network.graph import DependencyGraph
from credalog.show.canvas import (
    Curve,
    Group,
    Picture,
    Point,
    Rectangle,
    Stroke,
    Words,
    text_width,
)
from credalog.show.folding import folded
from credalog.show.layout import GAP, PAGE, Edge, Layout, Size, lay_out
from credalog.show.routing import WIDE_CORNER, Router
from credalog.show.sketch import (
    Bounded,
    Drawn,
    Kind,
    Row,
    Sketch,
    groups,
    sketch_of,
)
from credalog.show.stress import spread_out

DRAWABLE = 400
"""A picture of more nodes than this cannot be read, and its layout takes long."""

MARGIN = 16.0
NAME_HEIGHT, ROW_HEIGHT, PADDING = 28.0, 17.0, 10.0
BAR: Size = (46.0, 7.0)
DOT = 7.0


def drawing_of(
    graph: DependencyGraph,
    *,
    view: View = "variables",
    marginals: Iterable[Bounded] = (),
    evidence: Formula = TRUE,
) -> Picture:
    """Draw a view of a graph, with the intervals of variables on them, and what was observed shaded."""
    nodes: Sequence[object] = graph.variables if view == "variables" else graph.nodes
    _require_drawable(len(nodes))
    sketch = sketch_of(graph, view=view, marginals=marginals, evidence=evidence)
    return drawn(sketch, title=_title(graph))


def _title(graph: DependencyGraph) -> str:
    count = len(graph.variables)
    return f"dependency graph of {count:,} variable{'' if count == 1 else 's'}"


def _require_drawable(count: int) -> None:
    if count > DRAWABLE:
        raise ProblemTooLarge(
            f"a picture of {count:,} nodes could not be read (the limit is {DRAWABLE})",
            advice="Write it with {} for a program made for large graphs, draw a smaller domain, or draw "
            "the rules before grounding.",
            remedies=(Ask("graph FILE --dot", "graph.dot()"),),
        )


# ---- the whole ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """A connected part, laid out: which nodes it has, and where."""

    nodes: tuple[int, ...]
    layout: Layout


@dataclass(frozen=True, slots=True)
class Placed:
    """A sketch laid out: a point for each node and a curve for each edge, part by part."""

    nodes: Mapping[int, Point]
    edges: Mapping[Edge, Curve]
    width: float
    height: float


def placed(sketch: Sketch, sizes: Sequence[Size]) -> Placed:
    """Lay out the parts of a sketch, whose nodes have these sizes, side by side."""
    parts = [_laid_out(sketch, sizes, nodes) for nodes in _parts(sketch)]
    places, (width, height) = packed([(part.layout.width, part.layout.height) for part in parts])
    edges: dict[Edge, Curve] = {}
    nodes: dict[int, Point] = {}
    for part, (dx, dy) in zip(parts, places, strict=True):
        number = dict(enumerate(part.nodes))
        for (source, target), curve in part.layout.edges.items():
            edges[number[source], number[target]] = tuple((x + dx, y + dy) for x, y in curve)
        for node, (x, y) in zip(part.nodes, part.layout.nodes, strict=True):
            nodes[node] = (x + dx, y + dy)
    return Placed(nodes, edges, width, height)


def drawn(sketch: Sketch, *, title: str = "") -> Picture:
    """Lay a sketch out and draw it."""
    sizes = [size_of(node) for node in sketch.nodes]
    whole, ties = placed(sketch, sizes), set(sketch.ties)
    edges = (stroke(curve, is_tie=edge in ties) for edge, curve in whole.edges.items())
    nodes = (node_shape(sketch.nodes[node], at, sizes[node]) for node, at in whole.nodes.items())
    return Picture(whole.width, whole.height, (*edges, *nodes), title)


def stroke(curve: Curve, *, is_tie: bool) -> Stroke:
    """Return the line of an edge: a tie has no head."""
    return Stroke("tie", curve) if is_tie else Stroke("arrow", curve, has_head=True)


def _parts(sketch: Sketch) -> list[list[int]]:
    """Return what is connected, the largest first; nodes without edges come last."""
    connected = [sorted(group) for group in groups((*sketch.arrows, *sketch.ties))]
    alone = set(range(len(sketch.nodes))).difference(*connected)
    return [*sorted(connected, key=lambda nodes: (-len(nodes), nodes)), *([node] for node in sorted(alone))]


def _laid_out(sketch: Sketch, sizes: Sequence[Size], nodes: Sequence[int]) -> _Part:
    number = {node: i for i, node in enumerate(nodes)}
    edges = [(number[s], number[t]) for s, t in (*sketch.arrows, *sketch.ties) if s in number]
    own = [sizes[node] for node in nodes]
    if sketch.is_tangled.isdisjoint(nodes):
        upwards = {(number[s], number[t]) for s, t in sketch.upwards if s in number}
        layout = folded(own, lay_out(own, edges, upwards=upwards))
    else:
        ties = {(number[s], number[t]) for s, t in sketch.ties if s in number}
        layout = by_distance(own, edges, ties=ties)
    return _Part(tuple(nodes), layout)


def by_distance(
    sizes: Sequence[Size], edges: Sequence[Edge], *, ties: AbstractSet[Edge] = frozenset()
) -> Layout:
    """Place nodes by their distances, and lead the edges round them, ties in a wider bend than arrows."""
    places = spread_out(sizes, edges)
    curves = Router(places, sizes).routes(edge for edge in edges if edge not in ties)
    curves |= Router(places, sizes, corner=WIDE_CORNER).routes(edge for edge in edges if edge in ties)
    points = [point for curve in curves.values() for point in curve]
    boxes = list(zip(places, sizes, strict=True))
    points += [(x + side * w / 2, y + side * h / 2) for (x, y), (w, h) in boxes for side in (-1, 1)]
    left, top = min(x for x, _ in points), min(y for _, y in points)
    moved = {edge: tuple((x - left, y - top) for x, y in curve) for edge, curve in curves.items()}
    width, height = max(x for x, _ in points) - left, max(y for _, y in points) - top
    return Layout(tuple((x - left, y - top) for x, y in places), moved, width, height)


def packed(sizes: Sequence[Size]) -> tuple[list[Point], Size]:
    """Put rectangles side by side on shelves; return where each goes, and the size of the whole."""
    area = sum((w + GAP) * (h + GAP) for w, h in sizes)
    target = max([w for w, _ in sizes] + [(area * PAGE[0] / PAGE[1]) ** 0.5], default=0.0)
    places: list[Point] = []
    x = y = MARGIN
    shelf = right = 0.0
    for width, height in sizes:
        if x > MARGIN and x + width > MARGIN + target:
            x, y, shelf = MARGIN, y + shelf + GAP, 0.0
        places.append((x, y))
        x += width + GAP
        shelf = max(shelf, height)
        right = max(right, x - GAP)
    return places, (right + MARGIN, y + shelf + MARGIN)


# ---- nodes --------------------------------------------------------------------------------------------


def size_of(node: Drawn) -> Size:
    """Return how much room a node takes."""
    if node.kind is Kind.BRACE:
        return DOT, DOT
    width = text_width(node.label)
    if not node.rows:
        return max(width + 2 * PADDING, 34.0), NAME_HEIGHT
    columns = _columns(node.rows)
    return max(width, sum(columns)) + 2 * PADDING, NAME_HEIGHT + ROW_HEIGHT * len(node.rows) + 2.0


def _columns(rows: Sequence[Row]) -> tuple[float, float, float]:
    """Return the widths of values, of numbers and of bars."""
    labels = max(text_width(row.label, 11.0) for row in rows)
    numbers = max(text_width(row.text, 11.0) for row in rows)
    return labels + (8.0 if labels else 0.0), numbers + 8.0, BAR[0]


def node_shape(node: Drawn, at: Point, size: Size) -> Group:
    """Draw a node: its box, its name, and a bar for each interval."""
    (x, y), (width, height) = at, size
    left, top = x - width / 2, y - height / 2
    if node.kind is Kind.BRACE:
        return Group("", node.title, (Rectangle("brace", left, top, width, height, DOT / 2),))
    radius = 3.0 if node.kind is Kind.FORMULA else 11.0
    shapes: list[Rectangle | Stroke | Words] = [Rectangle(node.kind.value, left, top, width, height, radius)]
    shapes.append(Words("name", x, top + NAME_HEIGHT / 2, node.label))
    for i, row in enumerate(node.rows):
        shapes += _row_shapes(row, _columns(node.rows), (x, top + NAME_HEIGHT + ROW_HEIGHT * (i + 0.4)))
    return Group(node.title.partition("\n")[0] or node.label, node.title, tuple(shapes))


def _row_shapes(row: Row, columns: tuple[float, float, float], at: Point) -> list[Rectangle | Words]:
    """Write the value and its numbers, and draw the bar from 0 to 1."""
    x, y = at
    left = x - sum(columns) / 2
    bar = left + columns[0] + columns[1]
    lower, upper = row.interval
    position = row.interval.scale.position
    start, end = max(0.0, position(lower)), min(1.0, position(upper))
    width = max((end - start) * BAR[0], 1.5)
    begin = min(bar + start * BAR[0], bar + BAR[0] - width)
    found: list[Rectangle | Words] = [
        Words("small", left + columns[0], y, row.text, "start"),
        Rectangle("frame", bar, y - BAR[1] / 2, *BAR),
        Rectangle("attained", begin, y - BAR[1] / 2, width, BAR[1]),
    ]
    return [Words("small", left, y, row.label, "start"), *found] if row.label else found
