"""Place the nodes of a directed graph in layers, so that most edges point down and all fit a page.

Input: the sizes of the nodes and the edges between them, as numbers. Output: `Layout`: a point for every
node and a curve for every edge. The method is Sugiyama's (1981): turn back edges round, layer by longest
path and shorten edges, split long edges, order each layer by the mean of its neighbours, choose coordinates.
A layer that is wider than the page is wrapped: its nodes are dealt out to several layers like bricks.

Between two layers there is a channel without nodes. A curve changes its abscissa in channels only, and
crosses a layer upright, where the layer keeps a place free for it; so no edge runs behind a node.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from credalog.show.canvas import Curve, Point, straight

Edge: TypeAlias = tuple[int, int]
Size: TypeAlias = tuple[float, float]

SWEEPS = 24
"""How often the layers are reordered, up and down in turn."""

GAP, JOINT_GAP = 26.0, 12.0
"""The free space between two nodes of a layer, and between an edge that passes and what is beside it."""

CHANNEL, WIDEST_CHANNEL = 38.0, 110.0
"""The height of the space between two layers, and how far long edges may stretch it."""

SLOPE = 0.09
"""A channel is at least so many times as high as its longest edge is wide."""

PORT = 9.0
"""The distance between two edges where they meet a node."""

PAGE: Size = (1200.0, 850.0)
"""What can be seen at once; a larger picture is shown smaller, and the layout avoids that."""

TINY = 0.05
"""A shorter piece of a curve is left out."""

NARROWEST = 260.0
"""Layers narrower than this are not wrapped."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything goes; `width` and `height` hold all nodes, with no margin."""

    nodes: tuple[Point, ...]
    edges: Mapping[Edge, Curve]
    width: float
    height: float


def lay_out(
    sizes: Sequence[Size], edges: Iterable[Edge], *, upwards: AbstractSet[Edge] = frozenset()
) -> Layout:
    """Place nodes of the given sizes; edges are pairs of node numbers, those in `upwards` point up.

    There is at most one edge between two nodes, and none from a node to itself.
    """
    if not sizes:
        return Layout((), {}, 0.0, 0.0)
    down = _downwards(len(sizes), list(edges), upwards)
    steps = list(down.values())
    layer = _shortened(_layers(len(sizes), steps), steps)
    board = _Board(sizes, layer, range(len(sizes)), steps)
    board.order()
    wrapped = _wrapped(board, steps)
    if wrapped != layer:
        board = _Board(sizes, wrapped, board.positions(), steps)
        board.order()
    board.place()
    curves = board.curves()
    turned = {edge: curves[way] if way == edge else curves[way][::-1] for edge, way in down.items()}
    return board.layout(turned)


# ---- layers -------------------------------------------------------------------------------------------


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
    sources, targets = _neighbours(count, edges)
    layer = [0] * count
    missing = [len(row) for row in sources]
    ready = [node for node in range(count) if not missing[node]]
    for node in ready:
        for target in targets[node]:
            layer[target] = max(layer[target], layer[node] + 1)
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    return layer


def _neighbours(count: int, edges: Iterable[Edge]) -> tuple[list[list[int]], list[list[int]]]:
    sources: list[list[int]] = [[] for _ in range(count)]
    targets: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        sources[target].append(source)
        targets[source].append(target)
    return sources, targets


def _shortened(layer: Sequence[int], edges: Sequence[Edge]) -> list[int]:
    """Move nodes to where their edges are short: down to their children if most of these wait for them."""
    moved = list(layer)
    sources, targets = _neighbours(len(moved), edges)
    for _ in range(SWEEPS):
        before = list(moved)
        for node in sorted(range(len(moved)), key=lambda v: -moved[v]):
            if len(targets[node]) > len(sources[node]):
                moved[node] = min(moved[t] for t in targets[node]) - 1
            elif sources[node] and len(sources[node]) > len(targets[node]):
                moved[node] = max(moved[s] for s in sources[node]) + 1
        if moved == before:
            break
    used = {row: i for i, row in enumerate(sorted(set(moved)))}
    return [used[row] for row in moved]


def _wrapped(board: _Board, edges: Sequence[Edge]) -> list[int]:
    """Deal the nodes of wide layers out to several, so that the whole is seen as large as can be.

    Neighbours go to different layers, like bricks: so edges of one pass between those of the next.
    """
    sizes = board.sizes[: board.count]
    rows = [[node for node in row if node < board.count] for row in board.rows]
    widest = max(_row_width(sizes, row) for row in rows)
    widths, width = [widest], widest
    while (width := width / 1.15) > NARROWEST:
        widths.append(width)
    layerings = [_dealt(sizes, rows, width) for width in widths]
    return max(layerings, key=lambda layer: round(_scale(sizes, layer, edges), 3))


def _row_width(sizes: Sequence[Size], row: Sequence[int]) -> float:
    return sum(sizes[node][0] + GAP for node in row)


def _dealt(sizes: Sequence[Size], rows: Sequence[Sequence[int]], width: float) -> list[int]:
    layer = [0] * len(sizes)
    first = 0
    for row in rows:
        parts = max(1, min(ceil(_row_width(sizes, row) / width), len(row)))
        for i, node in enumerate(row):
            layer[node] = first + i % parts
        first += parts
    return layer


def _scale(sizes: Sequence[Size], layer: Sequence[int], edges: Sequence[Edge]) -> float:
    """Estimate how large a layering is shown on a page, 1 being its full size."""
    count = 1 + max(layer)
    widths, heights = [0.0] * count, [0.0] * count
    for (width, height), row in zip(sizes, layer, strict=True):
        widths[row] += width + GAP
        heights[row] = max(heights[row], height)
    for source, target in edges:
        for row in range(layer[source] + 1, layer[target]):
            widths[row] += JOINT_GAP
    across = max(widths)
    channel = min(max(CHANNEL, 0.4 * SLOPE * across), WIDEST_CHANNEL)
    return min(1.0, PAGE[0] / across, PAGE[1] / (sum(heights) + channel * (count - 1)))


# ---- the board ----------------------------------------------------------------------------------------


class _Board:
    """The layers being filled: real nodes first, then the joints of long edges."""

    def __init__(
        self, sizes: Sequence[Size], layer: Sequence[int], order: Sequence[float], edges: Iterable[Edge]
    ) -> None:
        self.count = len(sizes)
        self.sizes = list(sizes)
        self.layer = list(layer)
        self.x: list[float] = []
        self.rows: list[list[int]] = [[] for _ in range(1 + max(layer))]
        for node in range(self.count):
            self.rows[layer[node]].append(node)
        self._wanted = [float(order[node]) for node in range(self.count)]
        self.above: list[list[int]] = [[] for _ in sizes]
        self.below: list[list[int]] = [[] for _ in sizes]
        self.routes = {edge: self._route(edge) for edge in edges}
        for row in self.rows:
            row.sort(key=self._wanted.__getitem__)

    def _route(self, edge: Edge) -> list[int]:
        """Split a downward edge into steps of one layer, and return the nodes and joints it visits."""
        source, target = edge
        first, last = self.layer[source], self.layer[target]
        begin, way = self._wanted[source], self._wanted[target] - self._wanted[source]
        # A long edge begins where a straight one would be.
        joints = [
            self._joint(row, begin + way * (row - first) / (last - first)) for row in range(first + 1, last)
        ]
        path = [source, *joints, target]
        for upper, lower in pairwise(path):
            self.below[upper].append(lower)
            self.above[lower].append(upper)
        return path

    def _joint(self, row: int, wanted: float) -> int:
        joint = len(self.sizes)
        self._wanted.append(wanted)
        self.sizes.append((0.0, 0.0))
        self.layer.append(row)
        self.rows[row].append(joint)
        self.above.append([])
        self.below.append([])
        return joint

    def positions(self) -> list[float]:
        """Return where each node stands in its layer, as a share of the layer."""
        shares = [0.0] * len(self.sizes)
        for row in self.rows:
            for i, node in enumerate(row):
                shares[node] = (i + 0.5) / len(row)
        return shares[: self.count]

    # ---- the order within layers ----

    def order(self) -> None:
        """Sort each layer by the mean position of its neighbours; keep the order with fewest crossings."""
        best = [list(row) for row in self.rows]
        fewest = self._crossings()
        for sweep in range(SWEEPS):
            if not fewest:
                break
            self._sweep(self.below if sweep % 2 else self.above)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(row) for row in self.rows], crossings
        self.rows = best

    def _sweep(self, neighbours: list[list[int]]) -> None:
        rows = self.rows if neighbours is self.above else self.rows[::-1]
        place = self._shares()
        for row in rows:
            row.sort(key=lambda node: _mean([place[n] for n in neighbours[node]], place[node]))
            place.update((node, (i + 0.5) / len(row)) for i, node in enumerate(row))

    def _shares(self) -> dict[int, float]:
        return {node: (i + 0.5) / len(row) for row in self.rows for i, node in enumerate(row)}

    def _crossings(self) -> int:
        place = {node: i for row in self.rows for i, node in enumerate(row)}
        total = 0
        for row in self.rows:
            before: list[int] = []
            for node in row:
                ends = [place[t] for t in self.below[node]]
                total += sum(len(before) - bisect_right(before, end) for end in ends)
                for end in ends:
                    insort(before, end)
        return total

    # ---- coordinates ----

    def place(self) -> None:
        """Choose abscissae: each node as near to the mean of its neighbours as it can be without overlap."""
        self.x = [0.0] * len(self.sizes)
        for row in self.rows:
            self._place_row(row, [0.0] * len(row), [1.0] * len(row))
        both = [[*up, *down] for up, down in zip(self.above, self.below, strict=True)]
        for sweep in range(2 * SWEEPS):
            neighbours = both if sweep >= SWEEPS else self.below if sweep % 2 else self.above
            for row in self.rows if sweep % 2 == 0 else self.rows[::-1]:
                pulls = [self._pull(node, neighbours[node]) for node in row]
                self._place_row(row, [at for at, _ in pulls], [weight for _, weight in pulls])

    def _pull(self, node: int, neighbours: Sequence[int]) -> tuple[float, float]:
        """Return where a node is drawn to, and how strongly: a long edge wants to be straight."""
        if not neighbours:
            return self.x[node], 0.1
        weights = [self._weight(node, other) for other in neighbours]
        total = sum(weights)
        return sum(w * self.x[other] for w, other in zip(weights, neighbours, strict=True)) / total, total

    def _weight(self, node: int, other: int) -> float:
        joints = (node >= self.count) + (other >= self.count)
        return (1.0, 3.0, 40.0)[joints]

    def _place_row(self, row: list[int], wanted: Sequence[float], weights: Sequence[float]) -> None:
        offsets = [0.0]
        for left, right in pairwise(row):
            offsets.append(offsets[-1] + self._distance(left, right))
        shifts = ascending([w - o for w, o in zip(wanted, offsets, strict=False)], weights)
        for node, shift, offset in zip(row, shifts, offsets, strict=False):
            self.x[node] = shift + offset

    def _distance(self, left: int, right: int) -> float:
        has_joint = left >= self.count or right >= self.count
        return (self.sizes[left][0] + self.sizes[right][0]) / 2 + (JOINT_GAP if has_joint else GAP)

    def _tops(self) -> list[tuple[float, float]]:
        """Return where each layer begins and ends; a channel with long edges is higher."""
        found: list[tuple[float, float]] = []
        top = 0.0
        for row in self.rows:
            bottom = top + max(self.sizes[node][1] for node in row)
            found.append((top, bottom))
            runs = [abs(self.x[node] - self.x[child]) for node in row for child in self.below[node]]
            top = bottom + min(max(CHANNEL, SLOPE * max(runs, default=0.0)), WIDEST_CHANNEL)
        return found

    # ---- curves ----

    def curves(self) -> dict[Edge, Curve]:
        """Return the curve of every downward edge, ports spread over the nodes that it joins."""
        layers = self._tops()
        leaving, entering = self._ports(self.below), self._ports(self.above)
        found: dict[Edge, Curve] = {}
        for edge, path in self.routes.items():
            crossings = [self.x[node] for node in path]
            crossings[0] = leaving[path[0], path[1]]
            crossings[-1] = entering[path[-1], path[-2]]
            spans = [layers[self.layer[node]] for node in path]
            middles = [
                (sum(span) / 2, self.sizes[node][1] / 2) for span, node in zip(spans, path, strict=True)
            ]
            start = middles[0][0] + middles[0][1]
            end = middles[-1][0] - middles[-1][1]
            found[edge] = _curve(crossings, spans, start, end)
        return found

    def _ports(self, neighbours: list[list[int]]) -> dict[tuple[int, int], float]:
        """Return at which abscissa each edge meets its node."""
        ports: dict[tuple[int, int], float] = {}
        for node in range(self.count):
            others = sorted(neighbours[node], key=self.x.__getitem__)
            room = max(self.sizes[node][0] - 16.0, 0.0)
            step = min(PORT, room / max(len(others) - 1, 1))
            for i, other in enumerate(others):
                ports[node, other] = self.x[node] + (i - (len(others) - 1) / 2) * step
        return ports

    def layout(self, curves: Mapping[Edge, Curve]) -> Layout:
        """Shift everything to the left border, and read off the points."""
        layers = self._tops()
        lefts = [x - size[0] / 2 for x, size in zip(self.x, self.sizes, strict=True)]
        rights = [x + size[0] / 2 for x, size in zip(self.x, self.sizes, strict=True)]
        left = min(lefts)
        nodes = tuple((self.x[node] - left, sum(layers[self.layer[node]]) / 2) for node in range(self.count))
        moved = {edge: tuple((x - left, y) for x, y in curve) for edge, curve in curves.items()}
        return Layout(nodes, moved, max(rights) - left, layers[-1][1])


def _curve(
    crossings: Sequence[float], spans: Sequence[tuple[float, float]], start: float, end: float
) -> Curve:
    """Join points of layers: upright through each layer, and from upright to upright in the channels."""
    curve: list[Point] = [(crossings[0], start), *_upright(crossings[0], start, spans[0][1])]
    for (x, other), (upper, lower) in zip(pairwise(crossings), pairwise(spans), strict=True):
        middle = (upper[1] + lower[0]) / 2
        curve += [(x, middle), (other, middle), (other, lower[0])]
        if lower is not spans[-1]:
            curve += _upright(other, *lower)
    return (*curve, *_upright(crossings[-1], spans[-1][0], end))


def _upright(x: float, start: float, end: float) -> Curve:
    """Return the rest of an upright line, if it has any length: one that has none has no direction."""
    return straight((x, start), (x, end))[1:] if end - start > TINY else ()


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def ascending(wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the ascending numbers nearest to those wanted, in least squares (pool adjacent violators)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(wanted, weights, strict=True):
        total, heavy, count = value * weight, weight, 1
        while pools and pools[-1][0] / pools[-1][1] > total / heavy:
            other = pools.pop()
            total, heavy, count = total + other[0], heavy + other[1], count + other[2]
        pools.append((total, heavy, count))
    return [total / heavy for total, heavy, count in pools for _ in range(count)]


# ---- stress majorization ----------------------------------------------------------------------------------
# Place the nodes of a graph whose edges have no common direction.
# Input: the sizes of nodes, and edges between them. Output: points whose distances are as near as can be to
# the lengths of shortest paths: stress majorization (Gansner, Koren and North 2004) from classical scaling.
# Then the whole is turned so that edges are level or upright where they can be, and nodes that overlap are
# moved apart. So a ring is a ring, and a grid a grid.

Matrix = NDArray[np.float64]

STEPS = 200
"""How often all points are moved to where their distances want them."""

ANGLES = 90
"""How many ways to turn the whole are tried."""

REACH: Size = (60.0, 64.0)
"""How much farther apart two neighbours are than the mean size of nodes."""

PUSHES = 400
"""How often nodes that overlap are moved apart."""


def spread_out(sizes: Sequence[Size], edges: Iterable[Edge]) -> list[tuple[float, float]]:
    """Place the nodes of a connected graph; the least coordinates of their boxes are 0."""
    pairs = [edge for edge in edges if edge[0] != edge[1]]
    points = _turned(_stressed(_distances(len(sizes), pairs)), pairs)
    wide = np.array(sizes, dtype=float)
    shown = wide[wide[:, 0] > 20.0] if (wide[:, 0] > 20.0).any() else wide
    points = points * (shown.mean(axis=0) + REACH)
    points = _apart(points, wide)
    points -= (points - wide / 2).min(axis=0)
    return [(float(x), float(y)) for x, y in points]


def _distances(count: int, pairs: Sequence[Edge]) -> Matrix:
    """Return the lengths of shortest paths, by a search from each node."""
    near: list[list[int]] = [[] for _ in range(count)]
    for one, other in pairs:
        near[one].append(other)
        near[other].append(one)
    found = np.full((count, count), float(count))
    for start in range(count):
        length = {start: 0}
        waiting = deque([start])
        while waiting:
            node = waiting.popleft()
            for other in near[node]:
                if other not in length:
                    length[other] = length[node] + 1
                    waiting.append(other)
        found[start, list(length)] = list(length.values())
    return found


def _stressed(distances: Matrix) -> Matrix:
    """Return points in the plane with about these distances."""
    count = len(distances)
    points = _scaled(distances)
    if count < 3:
        return points
    weights = 1.0 / np.maximum(distances, 1.0) ** 2
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    # The first point stays where it is: distances do not say where the whole is.
    inverse = np.linalg.inv(laplacian[1:, 1:])
    for _ in range(STEPS):
        apart = points[:, None, :] - points[None, :, :]
        lengths = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-9)
        pull = weights * distances / lengths
        target = points * pull.sum(axis=1)[:, None] - pull @ points
        moved = np.vstack([np.zeros(2), inverse @ target[1:]])
        if np.abs(moved - points + points[0]).max() < 1e-4:
            break
        points = moved
    centred: Matrix = points - points.mean(axis=0)
    return centred


def _scaled(distances: Matrix) -> Matrix:
    """Return the points of classical multidimensional scaling, a little off, so that none coincide."""
    count = len(distances)
    centred = distances**2 - (distances**2).mean(axis=0)
    centred -= centred.mean(axis=1)[:, None]
    values, vectors = np.linalg.eigh(-0.5 * centred)
    points = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    if points.shape[1] < 2:
        points = np.hstack([points, np.zeros((count, 1))])
    signs = np.where(points[np.abs(points).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    angles = 2.399963 * np.arange(count)
    off: Matrix = (
        0.01 * np.sqrt(np.arange(count))[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    )
    found: Matrix = points * signs + off
    return found


def _turned(points: Matrix, pairs: Sequence[Edge]) -> Matrix:
    """Turn the whole so that most edges are level or upright, and so that it is wider than high."""
    if not pairs:
        return points
    along = points[[a for a, _ in pairs]] - points[[b for _, b in pairs]]
    best, least = points, np.inf
    for angle in np.linspace(0.0, np.pi / 2, ANGLES, endpoint=False):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        slant = np.abs(along @ turn).min(axis=1).sum()
        if slant < least - 1e-6:
            best, least = points @ turn, slant
    across = best.max(axis=0) - best.min(axis=0)
    wide = best if across[0] >= across[1] else best[:, ::-1]
    # The first nodes stand on the left and above.
    numbers = np.arange(len(wide)) - (len(wide) - 1) / 2
    upright: Matrix = wide * np.where(numbers @ wide < 0.0, -1.0, 1.0)
    return upright


def _apart(points: Matrix, sizes: Matrix) -> Matrix:
    """Push nodes that overlap apart, along the way on which they overlap less."""
    moved = points.copy()
    room = (sizes[:, None, :] + sizes[None, :, :]) / 2 + np.array([GAP, GAP]) * 0.9
    for _ in range(PUSHES):
        apart = moved[:, None, :] - moved[None, :, :]
        missing = room - np.abs(apart)
        hits = np.triu((missing > 1e-6).all(axis=2), 1)
        if not hits.any():
            break
        for i, j in zip(*np.nonzero(hits), strict=True):
            lack = room[i, j] - np.abs(moved[i] - moved[j])
            if (lack <= 0).any():
                continue
            axis = int(lack.argmin())
            sign = 1.0 if moved[i, axis] >= moved[j, axis] else -1.0
            moved[i, axis] += sign * lack[axis] / 2
            moved[j, axis] -= sign * lack[axis] / 2
    return moved
