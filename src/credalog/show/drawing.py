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
from credalog.show.canvas import Curve, Group, Picture, Point, Rectangle, Stroke, Words, text_width
from credalog.show.layout import GAP, PAGE, Edge, Layout, Size, lay_out, spread_out
from credalog.show.routing import WIDE_CORNER, Router
from credalog.show.sketch import Bounded, Drawn, Kind, Row, Sketch, groups, sketch_of

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


# ---- folding ----------------------------------------------------------------------------------------------
# Fold a picture that is far higher than wide into columns, as a newspaper does with a text.
# Input: a layered layout. Output: the same layers, cut into a few columns where that lets the whole be seen
# larger and few edges lead from one column to another; these are led round the nodes.

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
        columns = _cut_into(sizes, layout, count)
        width = sum(c.right - c.left for c in columns) + BETWEEN * (len(columns) - 1)
        seen = _scale(width, max(c.bottom - c.top for c in columns))
        if seen > WORTH * scale and len(_crossing(layout.edges, columns)) <= FEW_CROSSING * (
            len(columns) - 1
        ):
            best, scale = columns, seen
    return _moved(sizes, layout, best) if best else layout


def _scale(width: float, height: float) -> float:
    return min(1.0, PAGE[0] / max(width, 1.0), PAGE[1] / max(height, 1.0))


def _cut_into(sizes: Sequence[Size], layout: Layout, count: int) -> list[_Column]:
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
