"""Place the nodes of a graph whose edges have no common direction.

Input: the sizes of nodes, and edges between them. Output: points whose distances are as near as can be to the
lengths of shortest paths: stress majorization (Gansner, Koren and North 2004) from classical scaling. Then
the whole is turned so that edges are level or upright where they can be, and nodes that overlap are moved
apart. So a ring is a ring, and a grid a grid.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from credalog.show.layout import GAP, Edge, Size

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
