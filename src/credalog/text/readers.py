"""Readers for networks that others wrote: UAI (V-CREDAL, H-CREDAL, BAYES) and BIF.

Input: the path of a file. Output: a `Network`, its form told by the suffix or by the first word.
"""

from __future__ import annotations

import re
from pathlib import Path

from credalog.errors import LanguageError
from credalog.network.sentences import Network
from credalog.text.bif import read_bif
from credalog.text.statements import text_of
from credalog.text.uai import KINDS, read_uai

__all__ = ["read", "read_bif", "read_structure", "read_uai"]


SAMPLE = 10_000
"""So many characters tell a text of ours from a file of others."""

_SENTENCE = re.compile(r"^[^{}]*\bP\s*\([^()]*\)\s*[<>=≤≥]|[<>=≤≥]\s*P\s*\(")


def read(path: str | Path) -> Network:
    """Read a credal or Bayesian network from a .uai or .bif file."""
    path = Path(path)
    text = text_of(path)
    first = next(iter(text.split(maxsplit=1)), "")
    suffix = path.suffix.lower()
    if _SENTENCE.search(text[:SAMPLE]):
        raise LanguageError(
            f"{path.name} is a text in the language of .lcn files, whatever its name says",
            advice=f"Name it {path.with_suffix('.lcn')}.",
        )
    if suffix == ".uai" or first in KINDS:
        return read_uai(text, file=str(path))
    if suffix == ".bif" or first == "network":
        return read_bif(text, file=str(path))
    raise LanguageError(
        f"{path.name} is neither a UAI nor a BIF file",
        advice=f"A UAI file starts with {', '.join(KINDS)}; a BIF file starts with 'network'.",
    )


def read_structure(path: str | Path) -> Network:
    """Read who depends on whom in a .bif file, whose tables may be empty."""
    return read_bif(text_of(Path(path)), file=str(path), is_structure=True)
