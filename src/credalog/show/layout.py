"""Place the nodes of a directed graph in layers, so that most edges point down.

Input: the widths of the nodes and the edges between them, as numbers. Output: `Layout`: a point for every
node and a polyline for every edge. The method is Sugiyama's (1981): turn back edges round, layer by longest
path, split long edges, order each layer by the mean of its neighbours, then choose coordinates; knows
nothing of logic and needs no library.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]
Edge: TypeAlias = tuple[int, int]

SWEEPS = 24
"""How often the layers are reordered, up and down in turn."""

GAP = 26.0
"""The free space between neighbours in a layer."""

JOINT_WIDTH = 12.0
"""What a long edge takes up in the layers it passes."""

LAYER_HEIGHT = 92.0
"""The distance between two layers."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything goes; `width` and `height` hold all nodes with their margins."""

    nodes: tuple[Point, ...]
    edges: dict[Edge, tuple[Point, ...]]
    width: float
    height: float


def lay_out(
    widths: Sequence[float], edges: Iterable[Edge], *, upwards: AbstractSet[Edge] = frozenset()
) -> Layout:
    """Place nodes of the given widths; edges are pairs of node numbers, those in `upwards` point up.

    There is at most one edge between two nodes, and none from a node to itself.
    """
    down = _downwards(len(widths), list(edges), upwards)
    layer = _layers(len(widths), down.values())
    board = _Board(list(widths), layer)
    routes = {edge: board.route(turned) for edge, turned in down.items()}
    board.order()
    board.place()
    return board.layout(len(widths), down, routes)


def _downwards(count: int, edges: list[Edge], upwards: AbstractSet[Edge]) -> dict[Edge, Edge]:
    """Turn round the edges meant to point up, and those that close a cycle, found by depth-first search."""
    turned = {edge: edge[::-1] if edge in upwards else edge for edge in edges}
    back = _closing(count, turned.values())
    return {edge: down[::-1] if down in back else down for edge, down in turned.items()}


def _closing(count: int, edges: Iterable[Edge]) -> set[Edge]:
    """Return edges without which the graph has no cycle."""
    targets: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        targets[source].append(target)
    back: set[Edge] = set()
    finished: set[int] = set()
    entered: set[int] = set()
    for root in range(count):
        path = [] if root in entered else [(root, iter(targets[root]))]
        while path:
            node, rest = path[-1]
            entered.add(node)
            child = next(rest, None)
            if child is None:
                finished.add(node)
                path.pop()
            elif child not in entered:
                path.append((child, iter(targets[child])))
            elif child not in finished:
                back.add((node, child))
    return back


def _layers(count: int, edges: Iterable[Edge]) -> list[int]:
    """Return the length of the longest path to each node of an acyclic graph."""
    sources: list[set[int]] = [set() for _ in range(count)]
    targets: list[set[int]] = [set() for _ in range(count)]
    for source, target in edges:
        sources[target].add(source)
        targets[source].add(target)
    layer = [0] * count
    missing = [len(row) for row in sources]
    ready = [node for node in range(count) if not missing[node]]
    for node in ready:
        for target in sorted(targets[node]):
            layer[target] = max(layer[target], layer[node] + 1)
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    return layer


class _Board:
    """The layers being filled: real nodes first, then the joints of long edges."""

    def __init__(self, widths: list[float], layer: list[int]) -> None:
        self.widths = widths
        self.layer = layer
        self.rows: list[list[int]] = [[] for _ in range(1 + max(layer, default=0))]
        for node, row in enumerate(layer):
            self.rows[row].append(node)
        self.above: dict[int, list[int]] = {node: [] for node in range(len(widths))}
        self.below: dict[int, list[int]] = {node: [] for node in range(len(widths))}
        self.x: list[float] = []

    def route(self, edge: Edge) -> list[int]:
        """Split a downward edge into steps of one layer, and return the nodes and joints it visits."""
        source, target = edge
        joints = [self._joint(row) for row in range(self.layer[source] + 1, self.layer[target])]
        path = [source, *joints, target]
        for upper, lower in pairwise(path):
            self.below[upper].append(lower)
            self.above[lower].append(upper)
        return path

    def _joint(self, row: int) -> int:
        joint = len(self.widths)
        self.widths.append(JOINT_WIDTH)
        self.layer.append(row)
        self.rows[row].append(joint)
        self.above[joint], self.below[joint] = [], []
        return joint

    def order(self) -> None:
        """Sort each layer by the mean position of its neighbours; keep the order with fewest crossings."""
        best = [list(row) for row in self.rows]
        fewest = self._crossings()
        for sweep in range(SWEEPS):
            self._sweep(self.below if sweep % 2 else self.above)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(row) for row in self.rows], crossings
        self.rows = best

    def _sweep(self, neighbours: dict[int, list[int]]) -> None:
        rows = self.rows if neighbours is self.above else self.rows[::-1]
        position = {node: float(i) for row in self.rows for i, node in enumerate(row)}
        for row in rows:
            row.sort(key=lambda node: _mean([position[n] for n in neighbours[node]], position[node]))
            position.update((node, float(i)) for i, node in enumerate(row))

    def _crossings(self) -> int:
        position = {node: i for row in self.rows for i, node in enumerate(row)}
        total = 0
        for row in self.rows:
            ends = [position[t] for node in row for t in sorted(self.below[node], key=position.__getitem__)]
            total += sum(a > b for i, a in enumerate(ends) for b in ends[i + 1 :])
        return total

    def place(self) -> None:
        """Choose abscissae: each node as near to the mean of its neighbours as it can be without overlap."""
        self.x = [0.0] * len(self.widths)
        for row in self.rows:
            self._place_row(row, [0.0] * len(row))
        for sweep in range(SWEEPS):
            neighbours = self.below if sweep % 2 else self.above
            for row in self.rows if neighbours is self.above else self.rows[::-1]:
                self._place_row(row, [_mean([self.x[n] for n in neighbours[v]], self.x[v]) for v in row])

    def _place_row(self, row: list[int], wanted: list[float]) -> None:
        offsets = [0.0]
        for left, right in pairwise(row):
            offsets.append(offsets[-1] + (self.widths[left] + self.widths[right]) / 2 + GAP)
        shifts = _ascending([w - o for w, o in zip(wanted, offsets, strict=False)])
        for node, shift, offset in zip(row, shifts, offsets, strict=False):
            self.x[node] = shift + offset

    def layout(self, count: int, down: dict[Edge, Edge], routes: dict[Edge, list[int]]) -> Layout:
        """Shift everything into the positive quadrant and read off points and polylines."""
        lefts = [x - w / 2 for x, w in zip(self.x, self.widths, strict=True)]
        rights = [x + w / 2 for x, w in zip(self.x, self.widths, strict=True)]
        left = min(lefts, default=0.0) - GAP
        points = [(x - left, LAYER_HEIGHT * (row + 0.5)) for x, row in zip(self.x, self.layer, strict=True)]
        lines = {
            edge: tuple(points[n] for n in (path if down[edge] == edge else path[::-1]))
            for edge, path in routes.items()
        }
        width = max(rights, default=0.0) + GAP - left
        return Layout(tuple(points[:count]), lines, width, LAYER_HEIGHT * len(self.rows))


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _ascending(wanted: Sequence[float]) -> list[float]:
    """Return the ascending numbers nearest to those wanted, in least squares (pool adjacent violators)."""
    pools: list[tuple[float, int]] = []
    for value in wanted:
        total, count = value, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            total, count = total + pools[-1][0], count + pools[-1][1]
            pools.pop()
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]
