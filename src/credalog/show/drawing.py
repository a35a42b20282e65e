"""Draw a dependency graph: as text, in the DOT language, as SVG, as PNG.

Input: a `DependencyGraph`. Output: text, or the bytes of a picture. As in the paper's figures atomic nodes
are shaded, and the two edges between a claim and its atoms are drawn as one line with two heads. No system
tool is called: the layout is our own, and only PNG needs a library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from io import BytesIO
from itertools import pairwise
from math import hypot
from typing import TYPE_CHECKING, TypeAlias

from credalog.errors import Ask, MissingLibrary, ProblemTooLarge
from credalog.network.formulas import Variable
from credalog.network.graph import Combination, DependencyGraph, Node, strong_components
from credalog.show.layout import Layout, Point, lay_out
from credalog.text.unparse import unparse_formula

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Edge: TypeAlias = tuple[int, int]

LONGEST = 48
"""A longer label loses its middle in a picture."""
DRAWABLE = 400
"""A picture of more nodes than this cannot be read, and its layout takes long."""

SHADE, PAPER, INK = "#d3dcea", "#ffffff", "#2b3442"
FONT_SIZE, LETTER, NODE_HEIGHT = 13, 7.4, 34.0


def label(node: Node) -> str:
    """Write a node as a person would."""
    if isinstance(node, Variable):
        return node.name
    if isinstance(node, Combination):
        return "; ".join(map(unparse_formula, node.formulas))
    return unparse_formula(node)


@dataclass(frozen=True, slots=True)
class _Sketch:
    """A graph made ready for drawing: labels, and edges split into one-way arrows and two-way ties."""

    labels: tuple[str, ...]
    atomic: int
    arrows: tuple[Edge, ...]
    ties: tuple[Edge, ...]


def _sketch(graph: DependencyGraph) -> _Sketch:
    edges = set(graph.edges)
    mutual = [(s, t) for s, t in graph.edges if (t, s) in edges]
    return _Sketch(
        labels=tuple(map(label, graph.nodes)),
        atomic=len(graph.variables),
        arrows=tuple((s, t) for s, t in graph.edges if (t, s) not in edges),
        # A tie is kept once, from the claim (whose number is higher) to its atom.
        ties=tuple((s, t) for s, t in mutual if s > t),
    )


def as_text(graph: DependencyGraph) -> str:
    """List every node with the edges that leave it, ties as `<->`, then the parents of every variable."""
    sketch = _sketch(graph)
    lines = [counts(graph), ""]
    arrows, ties = _by_source(sketch.arrows), _by_source((*sketch.ties, *((t, s) for s, t in sketch.ties)))
    for node, name in enumerate(sketch.labels):
        shown = name if node < sketch.atomic else f"[{name}]"
        lines.append(shown)
        lines.extend(f"    -> {sketch.labels[target]}" for target in arrows.get(node, ()))
        lines.extend(f"    <-> {sketch.labels[target]}" for target in ties.get(node, ()))
    lines += ["", "parents"]
    lines.extend(f"    {x}: {', '.join(map(str, graph.parents(x))) or 'none'}" for x in graph.variables)
    return "\n".join(lines) + "\n"


def counts(graph: DependencyGraph) -> str:
    """Say how many variables, formulas and edges a graph has."""
    counted = (("variable", graph.variables), ("formula", graph.formulas), ("edge", graph.edges))
    return ", ".join(f"{len(found):,} {word}{'' if len(found) == 1 else 's'}" for word, found in counted)


def _by_source(edges: Iterable[Edge]) -> dict[int, list[int]]:
    targets: dict[int, list[int]] = {}
    for source, target in edges:
        targets.setdefault(source, []).append(target)
    return targets


def as_dot(graph: DependencyGraph) -> str:
    """Write the graph in the DOT language, for Graphviz and its many readers."""
    sketch = _sketch(graph)
    lines = ["digraph dependencies {", '  node [fontname="Helvetica"];']
    for node, name in enumerate(sketch.labels):
        look = f'shape=ellipse style=filled fillcolor="{SHADE}"' if node < sketch.atomic else "shape=box"
        lines.append(f'  n{node} [label="{_quoted(name)}" {look}];')
    lines.extend(f"  n{source} -> n{target};" for source, target in sketch.arrows)
    lines.extend(f"  n{source} -> n{target} [dir=both];" for source, target in sketch.ties)
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


@dataclass(frozen=True, slots=True)
class _Line:
    """An edge on paper: from `start` through quadratic bends, each a control point and an end."""

    start: Point
    bends: tuple[tuple[Point, Point], ...]
    has_two_heads: bool


@dataclass(frozen=True, slots=True)
class _Picture:
    """A sketch with every node in its place."""

    sketch: _Sketch
    widths: tuple[float, ...]
    layout: Layout

    def lines(self) -> Iterator[_Line]:
        """Yield the edges, cut at the borders of their nodes and bent smoothly round the others."""
        for edges, has_two_heads in ((self.sketch.arrows, False), (self.sketch.ties, True)):
            for source, target in edges:
                points = list(self.layout.edges[source, target])
                start = self._border(source, towards=points[1])
                end = self._border(target, towards=points[-2])
                yield _Line(start, _bends([start, *points[1:-1], end]), has_two_heads)

    def _border(self, node: int, *, towards: Point) -> Point:
        """Return where a line from the middle of a node leaves it."""
        x, y = self.layout.nodes[node]
        dx, dy = (towards[0] - x) / (self.widths[node] / 2), (towards[1] - y) / (NODE_HEIGHT / 2)
        reach = hypot(dx, dy) if node < self.sketch.atomic else max(abs(dx), abs(dy))
        return x + (towards[0] - x) / reach, y + (towards[1] - y) / reach


def _bends(points: Sequence[Point]) -> tuple[tuple[Point, Point], ...]:
    """Bend a polyline at its joints: a curve from middle to middle has no corner."""
    joints = points[1:-1] or [_middle(points[0], points[1])]
    ends = [_middle(one, other) for one, other in pairwise(joints)]
    return tuple(zip(joints, [*ends, points[-1]], strict=True))


def _middle(one: Point, other: Point) -> Point:
    return (one[0] + other[0]) / 2, (one[1] + other[1]) / 2


def _picture(graph: DependencyGraph) -> _Picture:
    if len(graph.nodes) > DRAWABLE:
        raise ProblemTooLarge(
            f"a picture of {len(graph.nodes):,} nodes could not be read (the limit is {DRAWABLE})",
            advice="Write it with {} for a program made for large graphs, or draw a smaller domain.",
            remedies=(Ask("graph FILE --dot", "credalog.show.drawing.as_dot(graph)"),),
        )
    sketch = _sketch(graph)
    sketch = replace(sketch, labels=tuple(map(_shortened, sketch.labels)))
    # An ellipse needs more room round its text than a box.
    room = (34 if node < sketch.atomic else 20 for node in range(len(sketch.labels)))
    widths = tuple(LETTER * len(name) + extra for name, extra in zip(sketch.labels, room, strict=True))
    layout = lay_out(widths, (*sketch.arrows, *sketch.ties), upwards=_upwards(sketch))
    return _Picture(sketch, widths, layout)


def _shortened(name: str) -> str:
    """Return a label that does not push all others off the page."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2]} … {name[-LONGEST // 3 :]}"


def _upwards(sketch: _Sketch) -> set[Edge]:
    """Return the edges from variables to formulas of their own cycle.

    Drawn upwards, they leave the variables of the cycle side by side, their formulas above them.
    """
    sources: list[list[int]] = [[] for _ in sketch.labels]
    for source, target in (*sketch.arrows, *sketch.ties):
        sources[target].append(source)
    home = {node: i for i, component in enumerate(strong_components(sources)) for node in component}
    return {(s, t) for s, t in sketch.arrows if s < sketch.atomic <= t and home[s] == home[t]}


def as_svg(graph: DependencyGraph) -> str:
    """Draw the graph as a stand-alone SVG picture."""
    picture = _picture(graph)
    width, height = round(picture.layout.width), round(picture.layout.height)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" font-size="{FONT_SIZE}">'
    )
    arrow = (
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path d="M0 1 L10 5 L0 9 z" fill="{INK}"/></marker></defs>'
    )
    background = f'<rect width="100%" height="100%" fill="{PAPER}"/>'
    nodes = (_svg_node(picture, node) for node in range(len(picture.widths)))
    return "\n".join([head, arrow, background, *map(_svg_line, picture.lines()), *nodes, "</svg>"]) + "\n"


def _svg_line(line: _Line) -> str:
    path = f"M{line.start[0]:.1f} {line.start[1]:.1f}"
    path += "".join(f" Q{c[0]:.1f} {c[1]:.1f} {e[0]:.1f} {e[1]:.1f}" for c, e in line.bends)
    start = ' marker-start="url(#head)"' if line.has_two_heads else ""
    return f'<path d="{path}" fill="none" stroke="{INK}" marker-end="url(#head)"{start}/>'


def _svg_node(picture: _Picture, node: int) -> str:
    (x, y), width = picture.layout.nodes[node], picture.widths[node]
    if node < picture.sketch.atomic:
        place = (
            f'ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{width / 2:.1f}" ry="{NODE_HEIGHT / 2}" fill="{SHADE}"'
        )
    else:
        corner = f'x="{x - width / 2:.1f}" y="{y - NODE_HEIGHT / 2:.1f}"'
        place = f'rect {corner} width="{width:.1f}" height="{NODE_HEIGHT}" rx="4" fill="{PAPER}"'
    text = f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" dominant-baseline="central" fill="{INK}">'
    return f'<{place} stroke="{INK}"/>{text}{escape(picture.sketch.labels[node])}</text>'


def as_png(graph: DependencyGraph) -> bytes:
    """Draw the graph as a PNG picture; needs matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        otherwise = "draw an SVG, which needs nothing"
        raise MissingLibrary.of("matplotlib", "figures", otherwise=otherwise) from missing
    picture = _picture(graph)
    # One unit of the layout is a point at 72 dots per inch; twice as many dots look sharp.
    figure = Figure(figsize=(picture.layout.width / 72, picture.layout.height / 72), dpi=144)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, picture.layout.width), ylim=(picture.layout.height, 0))
    axes.set_axis_off()
    _paint_lines(picture, axes)
    _paint_nodes(picture, axes)
    image = BytesIO()
    figure.savefig(image, format="png", metadata={"Software": None})
    return image.getvalue()


def _paint_lines(picture: _Picture, axes: Axes) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    for line in picture.lines():
        points = [line.start, *(point for bend in line.bends for point in bend)]
        path = Path(points, [Path.MOVETO] + [Path.CURVE3] * (len(points) - 1))
        style = "<|-|>" if line.has_two_heads else "-|>"
        axes.add_patch(
            FancyArrowPatch(path=path, arrowstyle=style, color=INK, mutation_scale=9, linewidth=0.9)
        )


def _paint_nodes(picture: _Picture, axes: Axes) -> None:
    from matplotlib.patches import Ellipse, FancyBboxPatch

    for node, name in enumerate(picture.sketch.labels):
        (x, y), width = picture.layout.nodes[node], picture.widths[node]
        if node < picture.sketch.atomic:
            axes.add_patch(Ellipse((x, y), width, NODE_HEIGHT, facecolor=SHADE, edgecolor=INK))
        else:
            corner = (x - width / 2, y - NODE_HEIGHT / 2)
            look = "round,pad=0,rounding_size=4"
            axes.add_patch(FancyBboxPatch(corner, width, NODE_HEIGHT, look, facecolor=PAPER, edgecolor=INK))
        axes.text(x, y, name, ha="center", va="center", color=INK, fontsize=FONT_SIZE)
