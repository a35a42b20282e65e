"""Cones of non-negative vectors, kept as small sets of rays that span them.

Input: rays, the rows of an array. Output: the numbers of rays that suffice.

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

from credalog.numbers.budget import Budget

__all__ = ["Array", "extreme_rays"]

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]

FLAT = 1e-10
"""Below this share of the largest extent, a direction counts as flat when a hull is proposed."""

TIE = 1e-7
"""Facets met at distances that differ by less than this share count as pieces of one face."""

LARGEST = {2: 1 << 14, 3: 1 << 14, 4: 1 << 12, 5: 1 << 10, 6: 1 << 8, 7: 1 << 7}
"""How many rays one hull may have, by its dimension: a second's work. Beyond seven none is built."""

COMPARING = 1e-14
"""More than the rounding in the comparison of a ray with a combination of others."""

NOTHING = 1e-12
"""A weight in a convex combination that is no more than rounding."""

TRIES = 64
"""In how many pieces of one face a ray is sought before it is kept instead."""

CELLS = 1 << 22
"""How many pairs of a ray and a facet are compared at once."""


class _Hull(NamedTuple):
    """The vertices of a proposed hull, its facets as simplices of vertices, and their planes."""

    vertices: Indices
    simplices: Indices
    planes: Array


def extreme_rays(rays: Array, *, tolerance: float, budget: Budget) -> Indices:
    """Return the numbers of rays, none of them zero, that span the cone of all, ascending.

    Where there are many, groups are pruned first and then what is left of all, at half the tolerance each.
    """
    points = _normalized(rays)
    if len(points) <= 1 or points.shape[1] == 1:
        return np.arange(min(1, len(points)))
    if points.shape[1] == 2:
        # In the plane the quotient orders all rays; its own rounding is far below any tolerance.
        with np.errstate(divide="ignore"):
            quotient = points[:, 0] / points[:, 1]
        return np.unique([quotient.argmin(), quotient.argmax()])
    most = LARGEST.get(points.shape[1] - 1, 0)
    if not most:
        return np.sort(np.unique(points, axis=0, return_index=True)[1])
    if len(points) <= most:
        return _extreme(points, tolerance, budget)
    groups = np.array_split(np.arange(len(points)), -(-len(points) // most))
    kept = np.concatenate([group[_extreme(points[group], tolerance / 2, budget)] for group in groups])
    return kept[_extreme(points[kept], tolerance / 2, budget)] if len(kept) <= most else kept


def _extreme(points: Array, tolerance: float, budget: Budget) -> Indices:
    """Prune the rays of one group."""
    budget.require_time()
    coordinates = _coordinates(points)
    hull = _propose(coordinates)
    if hull is None:
        return np.arange(len(points))
    return _with_uncovered(points, hull.vertices, _covered(points, coordinates, hull, tolerance, budget))


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
    """Express the points in as many coordinates as their affine hull has dimensions, all of one extent."""
    centered = points - points.mean(axis=0)
    _, extents, axes = np.linalg.svd(centered, full_matrices=False)
    used = extents > FLAT * max(extents[0], FLAT)
    return np.asarray(centered @ axes[used].T / extents[used])


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
    points: Array, coordinates: Array, hull: _Hull, tolerance: float, budget: Budget
) -> NDArray[np.bool_]:
    """Tell which points are combinations of a facet's vertices and the centre of all vertices.

    The facet is the one that the half-line from the centre through the point meets. Where Qhull has cut a
    flat face into several simplices they tie, and are tried in turn.
    """
    middle = coordinates[hull.vertices].mean(axis=0)
    normals, offsets = hull.planes[:, :-1], hull.planes[:, -1]
    depth = np.maximum(-(normals @ middle + offsets), np.finfo(float).tiny)
    centre = np.broadcast_to(points[hull.vertices].mean(axis=0), (len(hull.simplices), 1, points.shape[1]))
    vectors = np.concatenate([centre, points[hull.simplices]], axis=1)
    simplices = _Simplices(vectors, np.linalg.pinv(coordinates[hull.simplices] - middle))
    covered = []
    for rows in np.array_split(np.arange(len(points)), 1 + len(points) * len(normals) // CELLS):
        budget.require_time()
        places = coordinates[rows] - middle
        nearness = places @ normals.T / depth
        covered.append(_in_some_simplex(points[rows], places, nearness, simplices, tolerance))
    return np.concatenate(covered)


class _Simplices(NamedTuple):
    """The vectors of each simplex, the centre first, and what turns a place into weights of the others."""

    vectors: Array
    inverses: Array


def _in_some_simplex(
    points: Array, places: Array, nearness: Array, simplices: _Simplices, tolerance: float
) -> NDArray[np.bool_]:
    """Try the nearest simplices of each point until one holds it or the next is clearly another face's."""
    covered = np.zeros(len(points), dtype=np.bool_)
    best = nearness.max(axis=1)
    open_ = np.arange(len(points))
    for _ in range(TRIES):
        facet = nearness[open_].argmax(axis=1)
        tied = nearness[open_, facet] >= best[open_] - TIE * np.abs(best[open_])
        open_, facet = open_[tied], facet[tied]
        inside = _combines(points[open_], places[open_], facet, simplices, tolerance)
        covered[open_[inside]] = True
        nearness[open_, facet] = -np.inf
        open_ = open_[~inside]
    return covered


def _combines(
    points: Array, places: Array, which: Indices, simplices: _Simplices, tolerance: float
) -> NDArray[np.bool_]:
    """Test each point against a convex combination of the vectors of its own simplex.

    Weights that add up to one make it accurate even where all points nearly coincide; those that are no more
    than rounding are dropped, so that what is zero in all vectors but theirs stays zero.
    """
    weights = np.einsum("pi,pij->pj", places, simplices.inverses[which])
    weights = np.concatenate([1.0 - weights.sum(axis=1, keepdims=True), weights], axis=1)
    weights[weights < NOTHING] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    found = np.einsum("pj,pji->pi", weights, simplices.vectors[which])
    return np.asarray((np.abs(found - points) <= (tolerance - COMPARING) * points).all(axis=1))
