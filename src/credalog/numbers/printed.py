"""How results show themselves at a prompt.

Input: a result that prints in words. Output: the same words, with its type.
"""

from __future__ import annotations

__all__ = ["Printed"]


class Printed:
    """Show what a result says rather than what it is made of."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"
