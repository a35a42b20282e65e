"""Read the text of a file.

Input: a path. Output: the file's text, without a byte order mark; or an error that says what is wrong with
the file, for whoever knows which statement named it.
"""

from __future__ import annotations

from pathlib import Path

from credalog.errors import LanguageError, UnknownName
from credalog.theory import Misstatement

__all__ = ["text_of"]


def text_of(path: Path) -> str:
    """Return the text of a file."""
    if "\0" in str(path):
        raise _unusable(path, "the name of a file cannot contain a NUL character")
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise Misstatement(f"there is no file {path}", lexeme=path.name, kind=UnknownName) from None
    except UnicodeDecodeError:
        raise _unusable(path, f"{path} is not a text file in UTF-8") from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise _unusable(path, f"{path} cannot be read: {why}") from None


def _unusable(path: Path, message: str) -> Misstatement:
    return Misstatement(message, lexeme=path.name, kind=LanguageError)
