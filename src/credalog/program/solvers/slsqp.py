"""Local search by scipy's sequential quadratic programming (SLSQP), where IPOPT is not installed.

Input: a nonlinear program as functions of one vector, and where to start. Output: the vector at which the
search stopped. It proves nothing, and its dense matrices are for small programs only.
"""

from __future__ import annotations

from time import monotonic
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from credalog.program.program import Floats

__all__ = ["LARGEST", "Functions", "climb"]

LARGEST = 400
"""The most unknowns: a step takes time cubic in them, and cannot be stopped."""


DEPENDENT = 1e-10
"""Derivatives that add less than this to what others span, relative to the largest, add nothing."""


class Functions(Protocol):
    """A nonlinear program; functions write to `out`, and the pattern names the entries of the Jacobian."""

    count: int

    def value(self, x: Floats) -> float:
        """Return what is to be least."""

    def gradient(self, x: Floats, out: Floats) -> None:
        """Write the derivatives of the value."""

    def rows(self, x: Floats, out: Floats) -> None:
        """Write the value of every row."""

    def row_bounds(self) -> tuple[Floats, Floats]:
        """Return the least and greatest value of every row."""

    def jacobian(self, x: Floats, out: Floats) -> None:
        """Write the derivatives of every row."""

    def jacobian_pattern(self) -> tuple[list[int], list[int]]:
        """Name the entries that `jacobian` writes, in its order."""


def climb(
    functions: Functions, start: Floats, bounds: tuple[Floats, Floats], *, timeout: float, iterations: int
) -> Floats:
    """Search from a vector within bounds until it is near a stationary point, or time or iterations end."""
    # Small commands end before this is imported.
    from scipy.optimize import minimize

    deadline, last = monotonic() + timeout, start
    rows = _Rows(functions, len(start))

    def value(x: Floats) -> float:
        nonlocal last
        if monotonic() >= deadline:
            raise TimeoutError
        last = x.copy()
        return functions.value(x)

    try:
        return np.asarray(
            minimize(
                value,
                start,
                method="SLSQP",
                jac=rows.gradient,
                bounds=list(zip(*bounds, strict=True)),
                constraints=rows.constraints(start),
                options={"maxiter": iterations, "ftol": 1e-15},
            ).x
        )
    except TimeoutError:
        return last


class _Rows:
    """The rows as scipy wants them: those that equal a number, and those above zero."""

    def __init__(self, functions: Functions, size: int) -> None:
        self.functions = functions
        self.shape = (functions.count, size)
        self.pattern = functions.jacobian_pattern()
        self.lower, self.upper = functions.row_bounds()

    def constraints(self, start: Floats) -> list[Any]:
        """Return equations and inequalities; a row within a narrow range is two inequalities."""
        is_fixed = self.lower == self.upper
        kinds = (
            ("eq", self._independent(is_fixed, start), 1.0, self.lower),
            ("ineq", ~is_fixed & np.isfinite(self.lower), 1.0, self.lower),
            ("ineq", ~is_fixed & np.isfinite(self.upper), -1.0, self.upper),
        )
        return [
            {
                "type": kind,
                "fun": lambda x, which=which, sign=sign, end=end: (sign * (self.values(x) - end))[which],
                "jac": lambda x, which=which, sign=sign: sign * self.jacobian(x)[which],
            }
            for kind, which, sign, end in kinds
            if which.any()
        ]

    def _independent(self, is_fixed: NDArray[np.bool_], start: Floats) -> NDArray[np.bool_]:
        """Choose equations no more than unknowns, those whose derivatives at the start are independent.

        With more, scipy writes beyond its memory where there are inequalities, too (scipy issue 25665). A
        point that misses the others is no worse than none: whoever climbs looks at all rows afterwards.
        """
        if np.count_nonzero(is_fixed) <= self.shape[1]:
            return is_fixed
        from scipy.linalg import qr

        _, triangle, order = qr(self.jacobian(start)[is_fixed].T, mode="economic", pivoting=True)
        sizes = np.abs(np.diag(triangle))
        chosen = np.zeros_like(is_fixed)
        chosen[np.flatnonzero(is_fixed)[order[: len(sizes)][sizes > DEPENDENT * sizes[0]]]] = True
        return chosen

    def values(self, x: Floats) -> Floats:
        """Return the value of every row."""
        out = np.empty(self.shape[0])
        self.functions.rows(x, out)
        return out

    def gradient(self, x: Floats) -> Floats:
        """Return the derivatives of the value."""
        out = np.empty(self.shape[1])
        self.functions.gradient(x, out)
        return out

    def jacobian(self, x: Floats) -> Floats:
        """Return the derivatives of every row."""
        out = np.empty(len(self.pattern[0]))
        self.functions.jacobian(x, out)
        return sp.coo_array((out, self.pattern), shape=self.shape).toarray()
