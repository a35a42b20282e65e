"""Text <-> theory: the `.lcn` language.

Enters: text, and data for a theory's open domains. Leaves: a `Theory` (`read`, `read_file`, `extended`),
a query or a formula on its own, and text again (`unparse`).
"""

from credalog.text.data import Data, extended
from credalog.text.parse import read, read_file, read_formula, read_query
from credalog.text.unparse import (
    lifted_independence,
    said,
    unparse,
    unparse_formula,
    unparse_network,
    unparse_query,
    unparse_sentence,
)

__all__ = [
    "Data",
    "extended",
    "lifted_independence",
    "read",
    "read_file",
    "read_formula",
    "read_query",
    "said",
    "unparse",
    "unparse_formula",
    "unparse_network",
    "unparse_query",
    "unparse_sentence",
]
