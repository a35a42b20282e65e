"""Functions of numbers, compiled by numba where it is installed.

Input: a function of arrays and numbers. Output: the same function, compiled; or the function itself where
numba, the extra `credalog[propagation]`, is missing: the same results, some hundred times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TypeVar, cast

try:
    from numba import njit as _compile
except ImportError:
    _compile = None  # type: ignore[assignment]

__all__ = ["compiled"]

Function = TypeVar("Function", bound=Callable[..., object])


def _sources() -> str:
    """Return a fingerprint of all modules with compiled functions."""
    package = Path(__file__).parent.parent
    texts = (path.read_bytes() for path in sorted(package.rglob("*.py")))
    return sha256(b"".join(text for text in texts if b"@compiled" in text)).hexdigest()


SOURCES = _sources()


def compiled(function: Function) -> Function:
    """Compile a function with numba, once per machine: the result is kept on disk.

    It is kept until any of these modules changes. By itself numba looks at the function's own file only, not
    at those of the functions it calls, and would go on running their old code after a correction.
    """
    if _compile is None:
        return function
    dispatcher = _compile(cache=True, nogil=True)(function)
    kept = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept._source_stamp = (kept._source_stamp, SOURCES)
    return cast(Function, dispatcher)
