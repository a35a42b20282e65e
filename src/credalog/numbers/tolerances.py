"""Every tolerance that an answer depends on, each with its meaning."""

from __future__ import annotations

__all__ = ["FEASIBILITY", "TOLERANCE"]

TOLERANCE = 1e-4
"""The largest gap between bound and witness at which an answer is called EXACT, unless told otherwise."""

FEASIBILITY = 1e-9
"""How far a re-checked witness may be from satisfying a constraint on probabilities."""
