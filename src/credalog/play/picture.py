"""The dependency graph for people: variables with their parents, or with the formulas between them.

Input: a network's graph. Output: places of nodes and curves of edges, for the page to draw. Of a large graph
only the part around some variables is placed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from credalog.network.formulas import Variable
from credalog.network.graph import DependencyGraph
from credalog.play.limits import DRAWN
from credalog.show.canvas import text_width
from credalog.show.drawing import placed
from credalog.show.layout import Size
from credalog.show.sketch import Drawn, Kind, Sketch, sketch_of

__all__ = ["picture"]

Edge: TypeAlias = tuple[int, int]

LETTERS, SMALL, ROOM, LEAST, HEIGHT = 15.5, 12.5, 22.0, 104.0, 52.0
"""The sizes of letters, what a node needs beside its name, and the room for an interval below it.

The page writes names at 13.5, but bold, which is wider.
"""

LONGEST = 32
"""A longer name loses its middle."""

DOT = 7.0
"""The size of the dot that joins variables which are all tied to each other."""


def picture(graph: DependencyGraph, around: Sequence[Variable] = (), *, formulas: str = "") -> dict[str, Any]:
    """Place the variables of a graph; `formulas="shown"` places the nodes of formulas between them."""
    if len(graph.variables) > DRAWN:
        sketch = _part(graph, _nearest(graph, around))
    else:
        is_whole = bool(formulas) and len(graph.nodes) <= DRAWN
        sketch = sketch_of(graph, view="formulas" if is_whole else "variables")
    names = [node.title.partition("\n")[0] or node.label for node in sketch.nodes]
    shown = [_shortened(name) for name in names]
    values = {x.name: x.values[0] for x in graph.variables if not x.is_proposition}
    sizes = [_size(sketch.nodes[i], name, values.get(names[i], "")) for i, name in enumerate(shown)]
    whole, ties = placed(sketch, sizes), set(sketch.ties)
    nodes = [
        {"name": names[i], "shown": shown[i], "x": x, "y": y, "width": sizes[i][0], "kind": node.kind.value}
        for i, (node, (x, y)) in enumerate((node, whole.nodes[i]) for i, node in enumerate(sketch.nodes))
    ]
    edges = [{"points": curve, "tie": edge in ties} for edge, curve in whole.edges.items()]
    size = {"width": whole.width, "height": whole.height}
    return {"nodes": nodes, "edges": edges, **size, "variables": len(graph.variables)}


def _size(node: Drawn, name: str, value: str) -> Size:
    """Return the room for a name, and below it for a value with its interval."""
    if node.kind is Kind.BRACE:
        return DOT, DOT
    return max(text_width(name, LETTERS) + ROOM, LEAST + text_width(value, SMALL)), HEIGHT


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 2]}…{name[-LONGEST // 3 :]}"


def _nearest(graph: DependencyGraph, around: Sequence[Variable]) -> list[int]:
    """Return the numbers of the variables nearest to some."""
    found = dict.fromkeys(graph.index(x) for x in around) or {0: None}
    queue = list(found)
    for v in queue:
        near = (*graph.parent_indices[v], *graph.child_indices[v])
        fresh = [n for n in near if n not in found][: max(0, DRAWN - len(found))]
        found.update(dict.fromkeys(fresh))
        queue += fresh
    return sorted(found)


def _part(graph: DependencyGraph, chosen: Sequence[int]) -> Sketch:
    """Show some of the variables, each tie as a line."""
    number = {v: i for i, v in enumerate(chosen)}
    edges = {(number[p], number[v]) for v in chosen for p in graph.parent_indices[v] if p in number}
    nodes = tuple(Drawn(graph.variables[v].name, Kind.VARIABLE) for v in chosen)
    arrows = sorted((s, t) for s, t in edges if (t, s) not in edges)
    ties = sorted((s, t) for s, t in edges if s < t and (t, s) in edges)
    return Sketch(nodes, tuple(arrows), tuple(ties))
