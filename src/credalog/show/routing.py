"""Lead edges round the boxes in their way.

Input: boxes that are in their places, and edges between them. Output: a curve for each edge, from border to
border. One that is free is straight; any other follows the shortest way round the corners of the boxes
(a visibility graph, searched by A*), its corners rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from math import hypot

import numpy as np
from numpy.typing import NDArray

from credalog.show.canvas import Curve, Point, straight
from credalog.show.layout import Edge, Size

MARGIN = 5.0
"""How near to a box an edge may come."""

CORNER, WIDE_CORNER = 9.0, 14.0
"""How far from the corner of a box an edge turns; those of another kind farther, so that both are seen."""

ROUND = 12.0
"""The size of a rounded corner."""


class Router:
    """The boxes, and what can be seen from their corners, found when it is needed."""

    def __init__(self, centres: Sequence[Point], sizes: Sequence[Size], *, corner: float = CORNER) -> None:
        self.centres = np.array(centres, dtype=float).reshape(-1, 2)
        self.sizes = np.array(sizes, dtype=float).reshape(-1, 2)
        self.low = self.centres - self.sizes / 2 - MARGIN
        self.high = self.centres + self.sizes / 2 + MARGIN
        signs = np.array([(-1, -1), (-1, 1), (1, -1), (1, 1)])
        around = self.centres[:, None, :] + signs[None, :, :] * (self.sizes / 2 + corner)[:, None, :]
        corners = around.reshape(-1, 2)
        between = (corners[:, None] > self.low) & (corners[:, None] < self.high)
        inside = np.any(np.all(between, axis=2), axis=1)
        self.corners: NDArray[np.float64] = corners[~inside]
        self._seen: dict[int, NDArray[np.intp]] = {}

    def routes(self, edges: Iterable[Edge]) -> dict[Edge, Curve]:
        """Return the curve of every edge."""
        return {edge: self._route(edge) for edge in edges}

    def _route(self, edge: Edge) -> Curve:
        source, target = edge
        own = np.ones(len(self.centres), dtype=bool)
        own[[source, target]] = False
        ends = self.centres[[source, target]]
        if not self._blocked(ends[:1], ends[1:], own)[0]:
            points = [tuple(ends[0]), tuple(ends[1])]
        else:
            points = self._round(ends, own)
        return self._finished(points, edge)

    def _blocked(
        self, starts: NDArray[np.float64], ends: NDArray[np.float64], boxes: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Tell which segments pass through a box, by its slabs."""
        low, high = self.low[boxes][None], self.high[boxes][None]
        start, way = starts[:, None, :], (ends - starts)[:, None, :]
        way = np.where(np.abs(way) < 1e-9, 1e-9, way)
        first, second = (low - start) / way, (high - start) / way
        enter = np.minimum(first, second).max(axis=2)
        leave = np.maximum(first, second).min(axis=2)
        blocked: NDArray[np.bool_] = ((enter < leave) & (enter < 1.0) & (leave > 0.0)).any(axis=1)
        return blocked

    def _visible(self, corner: int) -> NDArray[np.intp]:
        """Return the corners that are seen from a corner."""
        if corner not in self._seen:
            start = np.broadcast_to(self.corners[corner], self.corners.shape)
            free = ~self._blocked(start, self.corners, np.ones(len(self.centres), dtype=bool))
            self._seen[corner] = np.flatnonzero(free)
        return self._seen[corner]

    def _round(self, ends: NDArray[np.float64], own: NDArray[np.bool_]) -> list[Point]:
        """Find the shortest way round the corners; where there is none, the straight one."""
        begin, goal = ends
        onto = ~self._blocked(np.broadcast_to(goal, self.corners.shape), self.corners, own)
        from_ = ~self._blocked(np.broadcast_to(begin, self.corners.shape), self.corners, own)
        rest = np.hypot(*(self.corners - goal).T)
        lengths = np.where(from_, np.hypot(*(self.corners - begin).T), np.inf)
        came = np.full(len(self.corners), -1)
        queue = [(float(lengths[i] + rest[i]), i, False) for i in map(int, np.flatnonzero(from_))]
        heapify(queue)
        done = np.zeros(len(self.corners), dtype=bool)
        while queue:
            total, corner, is_goal = heappop(queue)
            if is_goal:
                return self._traced(begin, goal, corner, came)
            if done[corner]:
                continue
            done[corner] = True
            if onto[corner]:
                heappush(queue, (total, corner, True))
            seen = self._visible(corner)
            farther = lengths[corner] + np.hypot(*(self.corners[seen] - self.corners[corner]).T)
            better = farther < lengths[seen] - 1e-9
            lengths[seen[better]] = farther[better]
            came[seen[better]] = corner
            for other in map(int, seen[better]):
                heappush(queue, (float(lengths[other] + rest[other]), other, False))
        return [tuple(begin), tuple(goal)]

    def _traced(
        self, begin: NDArray[np.float64], goal: NDArray[np.float64], last: int, came: NDArray[np.intp]
    ) -> list[Point]:
        path: list[Point] = [(float(goal[0]), float(goal[1]))]
        while last >= 0:
            x, y = self.corners[last]
            path.append((float(x), float(y)))
            last = int(came[last])
        return [*path, (float(begin[0]), float(begin[1]))][::-1]

    def _finished(self, points: list[Point], edge: Edge) -> Curve:
        start = self._border(edge[0], points[1])
        end = self._border(edge[1], points[-2])
        return rounded([start, *points[1:-1], end])

    def _border(self, node: int, towards: Point) -> Point:
        """Return where a line from the middle of a box leaves it."""
        x, y = map(float, self.centres[node])
        width, height = map(float, self.sizes[node])
        dx, dy = towards[0] - x, towards[1] - y
        reach = max(2 * abs(dx) / width, 2 * abs(dy) / height, 1e-9)
        return x + dx / reach, y + dy / reach


def rounded(points: Sequence[Point]) -> Curve:
    """Return a polyline with its corners rounded."""
    if len(points) == 2:
        return straight(*points)
    curve: list[Point] = [points[0]]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        entering, leaving = _towards(corner, before), _towards(corner, after)
        curve += [
            *straight(curve[-1], entering)[1:],
            _towards(corner, before, 0.4),
            _towards(corner, after, 0.4),
        ]
        curve.append(leaving)
    return (*curve, *straight(curve[-1], points[-1])[1:])


def _towards(corner: Point, other: Point, share: float = 1.0) -> Point:
    """Return a point on the way from a corner, no farther than half of it."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    step = share * min(ROUND, hypot(dx, dy) / 2) / max(hypot(dx, dy), 1e-9)
    return corner[0] + step * dx, corner[1] + step * dy


def sampled(curve: Curve, pieces: int = 8) -> list[Point]:
    """Return points along a curve."""
    found = [curve[0]]
    for i in range(0, len(curve) - 1, 3):
        a, b, c, d = curve[i : i + 4]
        for k in range(1, pieces + 1):
            t = k / pieces
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            x = sum(w * p[0] for w, p in zip(weights, (a, b, c, d), strict=True))
            found.append((x, sum(w * p[1] for w, p in zip(weights, (a, b, c, d), strict=True))))
    return found
