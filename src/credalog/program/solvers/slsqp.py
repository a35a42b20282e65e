"""Local search by scipy's sequential quadratic programming (SLSQP), where IPOPT is not installed.

Input: a nonlinear program as functions of one vector, and where to start. Output: the vector at which the
search stopped. It proves nothing, and its dense matrices are for small programs only.
"""

from __future__ import annotations

from time import monotonic
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from credalog.program.program import Floats

__all__ = ["LARGEST", "Functions", "climb"]

LARGEST = 400
"""The most unknowns: a step takes time cubic in them, and cannot be stopped."""


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
                constraints=rows.constraints(),
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

    def constraints(self) -> list[Any]:
        """Return equations and inequalities; a row within a narrow range is two inequalities."""
        is_fixed = self.lower == self.upper
        kinds = (
            ("eq", is_fixed, 1.0, self.lower),
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
