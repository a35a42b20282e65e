"""Cones of non-negative vectors, kept as small sets of rays that span them.

Enters: rays, the rows of an array. Leaves: the numbers of rays that suffice.

What is dropped is proved superfluous, not believed so. Qhull proposes the extreme rays in floating point;
then each other ray p must be a combination q of those kept, with non-negative coefficients computed here,
such that |q - p| <= tolerance * p in every coordinate. A ray that fails this test stays. So if a quantity
is a quotient of two functionals of the ray, each with non-negative coefficients, its extremes over the kept
rays are those over all rays up to a factor 1 + 2 * tolerance, however small the single coordinates are.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "extreme_rays"]

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]

FLAT = 1e-10
"""Below this share of the largest extent, a direction counts as flat when a hull is proposed."""

TIE = 1e-7
"""Facets met at distances that differ by less than this share count as pieces of one face."""

CHUNK = 4096
"""How many rays are tested against the hull at once; bounds the memory of the test."""


class _Hull(NamedTuple):
    """The vertices of a proposed hull, its facets as simplices of vertices, and their planes."""

    vertices: Indices
    simplices: Indices
    planes: Array


def extreme_rays(rays: Array, *, tolerance: float) -> Indices:
    """Return the numbers of rays, none of them zero, that span the cone of all, ascending."""
    points = _normalized(rays)
    if len(points) <= 1 or points.shape[1] == 1:
        return np.arange(min(1, len(points)))
    if points.shape[1] == 2:
        candidates = np.unique([points[:, 0].argmin(), points[:, 0].argmax()])
        return _with_uncovered(points, candidates, _covered_between(points, candidates, tolerance))
    coordinates = _coordinates(points)
    hull = _propose(coordinates)
    if hull is None:
        return np.arange(len(points))
    covered = np.concatenate(
        [
            _covered(points, coordinates, hull, slice(start, start + CHUNK), tolerance)
            for start in range(0, len(points), CHUNK)
        ]
    )
    return _with_uncovered(points, hull.vertices, covered)


def _with_uncovered(points: Array, kept: Indices, covered: NDArray[np.bool_]) -> Indices:
    needed = ~covered
    needed[kept] = True
    return np.flatnonzero(needed)


def _normalized(rays: Array) -> Array:
    """Scale each coordinate, then each ray: neither changes which rays are extreme."""
    used = rays[:, rays.max(axis=0) > 0]
    used = used / used.max(axis=0)
    return np.asarray(used / used.sum(axis=1, keepdims=True))


def _coordinates(points: Array) -> Array:
    """Express the points in as many coordinates as their affine hull has dimensions."""
    centered = points - points.mean(axis=0)
    _, extents, axes = np.linalg.svd(centered, full_matrices=False)
    return np.asarray(centered @ axes[extents > FLAT * max(extents[0], FLAT)].T)


def _propose(coordinates: Array) -> _Hull | None:
    """Compute a convex hull in floating point; None where Qhull gives up."""
    dimensions = coordinates.shape[1]
    if dimensions == 0:
        return _Hull(np.array([0]), np.zeros((1, 0), dtype=np.intp), np.zeros((1, 1)))
    if dimensions == 1:
        ends = np.array([coordinates[:, 0].argmin(), coordinates[:, 0].argmax()])
        planes = np.array([[-1.0, coordinates[ends[0], 0]], [1.0, -coordinates[ends[1], 0]]])
        return _Hull(ends, ends[:, None], planes)
    if len(coordinates) <= dimensions + 1:
        return None
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(coordinates)
    except QhullError:
        return None
    return _Hull(hull.vertices.astype(np.intp), hull.simplices.astype(np.intp), hull.equations)


def _covered(
    points: Array, coordinates: Array, hull: _Hull, chosen: slice, tolerance: float
) -> NDArray[np.bool_]:
    """Tell which points are combinations of a facet's vertices and the centre of all vertices.

    The facet is the one that the half-line from the centre through the point meets. Where Qhull has cut a
    flat face into several simplices they tie, and are tried in turn.
    """
    middle = coordinates[hull.vertices].mean(axis=0)
    normals, offsets = hull.planes[:, :-1], hull.planes[:, -1]
    depth = np.maximum(-(normals @ middle + offsets), np.finfo(float).tiny)
    nearness = (coordinates[chosen] - middle) @ normals.T / depth
    centre = np.broadcast_to(points[hull.vertices].mean(axis=0), (len(hull.simplices), 1, points.shape[1]))
    bases = np.concatenate([centre, points[hull.simplices]], axis=1)
    inverses = np.linalg.pinv(bases)
    return _in_some_simplex(points[chosen], nearness, _Simplices(bases, inverses), tolerance)


class _Simplices(NamedTuple):
    """Vectors of each simplex, in rows, and their pseudo-inverses."""

    bases: Array
    inverses: Array


def _in_some_simplex(
    points: Array, nearness: Array, simplices: _Simplices, tolerance: float
) -> NDArray[np.bool_]:
    """Try the nearest simplices of each point until one holds it or the next is clearly another face's."""
    covered = np.zeros(len(points), dtype=np.bool_)
    best = nearness.max(axis=1)
    open_ = np.arange(len(points))
    while len(open_):
        facet = nearness[open_].argmax(axis=1)
        tied = nearness[open_, facet] >= best[open_] - TIE * np.abs(best[open_])
        open_, facet = open_[tied], facet[tied]
        inside = _combines(points[open_], facet, simplices, tolerance)
        covered[open_[inside]] = True
        nearness[open_, facet] = -np.inf
        open_ = open_[~inside]
    return covered


def _combines(points: Array, which: Indices, simplices: _Simplices, tolerance: float) -> NDArray[np.bool_]:
    """Test each point against non-negative combinations of the vectors of its own simplex."""
    weights = np.maximum(np.einsum("pi,pij->pj", points, simplices.inverses[which]), 0.0)
    found = np.einsum("pj,pji->pi", weights, simplices.bases[which])
    return np.asarray((np.abs(found - points) <= tolerance * points).all(axis=1))


def _covered_between(points: Array, ends: Indices, tolerance: float) -> NDArray[np.bool_]:
    """Test points on a line against the combinations of its two ends."""
    bases = points[ends][None]
    simplices = _Simplices(bases, np.asarray(np.linalg.pinv(bases)))
    return _combines(points, np.zeros(len(points), dtype=np.intp), simplices, tolerance)
