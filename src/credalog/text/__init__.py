"""Text <-> theory: the `.lcn` language.

Input: text, and data for a theory's open domains. Output: a `Theory` (`read`, `read_file`, `extended`),
a query or a formula on its own, and text again (`unparse`).
"""

from credalog.text.data import Data, extended
from credalog.text.lifting import declarations_of, rule_of, theory_of, with_rules
from credalog.text.parse import read, read_file, read_formula, read_query, read_threshold
from credalog.text.unparse import (
    said,
    unparse,
    unparse_formula,
    unparse_network,
    unparse_query,
    unparse_sentence,
)

__all__ = [
    "Data",
    "declarations_of",
    "extended",
    "read",
    "read_file",
    "read_formula",
    "read_query",
    "read_threshold",
    "rule_of",
    "said",
    "theory_of",
    "unparse",
    "unparse_formula",
    "unparse_network",
    "unparse_query",
    "unparse_sentence",
    "with_rules",
]
