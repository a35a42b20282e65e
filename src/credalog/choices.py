"""The names by which methods, conditions and criteria are chosen.

Input: a name, as it was typed. Output: the same, or an error that lists the names that exist. The types are
for editors and type checkers; the command line offers the same names.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal, TypeAlias, get_args

from credalog.errors import UnknownName

MarkovName: TypeAlias = Literal["local", "global", "none"]
CriterionName: TypeAlias = Literal["maximax", "maximin", "hurwicz", "dominance"]
VariantName: TypeAlias = Literal["bp", "printed", "sound"]
ScheduleName: TypeAlias = Literal["residual", "synchronous"]
MethodName: TypeAlias = Literal[
    "auto", "points", "factorized", "sets", "joint", "nilsson", "scip", "ipopt", "sound", "bp", "printed"
]

METHODS: tuple[str, ...] = get_args(MethodName)
PROPAGATIONS: tuple[str, ...] = get_args(VariantName)
"""The methods that propagate intervals, for all variables at once."""


def named(chosen: object, known: tuple[str, ...], *, what: str) -> str:
    """Return a name that is known, or that of a member of an enumeration, and complain of any other."""
    name = chosen.value if isinstance(chosen, Enum) else chosen
    if name not in known:
        raise UnknownName(f"there is no {what} {name}", advice=f"Choose one of {', '.join(known)}.")
    return str(name)
