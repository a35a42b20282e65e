"""Text <-> theory: the `.lcn` language.

Enters: text. Leaves: a `Theory` (`read`, `read_file`), and text again (`unparse`).
"""

from credalog.language.parse import read, read_file

__all__ = ["read", "read_file"]
