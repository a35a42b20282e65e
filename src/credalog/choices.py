"""The names by which methods, conditions and criteria are chosen.

Input: nothing. Output: types for editors and type checkers; the command line offers the same names.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

MarkovName: TypeAlias = Literal["local", "global", "none"]
CriterionName: TypeAlias = Literal["maximax", "maximin", "hurwicz", "dominance"]
VariantName: TypeAlias = Literal["bp", "printed", "sound"]
EndName: TypeAlias = Literal["lower", "upper"]
ScheduleName: TypeAlias = Literal["residual", "synchronous"]
View: TypeAlias = Literal["variables", "formulas"]
MethodName: TypeAlias = Literal[
    "auto",
    "points",
    "factorized",
    "sets",
    "joint",
    "lifted",
    "nilsson",
    "scip",
    "ipopt",
    "sound",
    "bp",
    "printed",
]

METHODS: tuple[str, ...] = get_args(MethodName)
PROPAGATIONS: tuple[str, ...] = get_args(VariantName)
"""The methods that propagate intervals, for all variables at once."""
