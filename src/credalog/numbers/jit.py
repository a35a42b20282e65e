"""Functions of numbers, compiled by numba where it is installed and worth its while.

Input: a function of arrays and numbers. Output: the same function, which compiles itself when it is first
called, or runs as it stands where numba, the extra `credalog[propagation]`, is missing or the caller says
so: the same results, some hundred times slower. To compile all of propagation takes half a minute, once per
machine, and to load what was compiled a third of a second: small work is done before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

__all__ = ["can_compile", "compiled", "interpreted", "is_loaded", "is_ready", "sources"]

Function = TypeVar("Function", bound=Callable[..., object])

_INTERPRETED: ContextVar[bool] = ContextVar("interpreted", default=False)


@cache
def sources() -> str:
    """Return a fingerprint of all modules with compiled functions."""
    package = Path(__file__).parent.parent
    texts = (path.read_bytes() for path in sorted(package.rglob("*.py")))
    return sha256(b"".join(text for text in texts if b"@compiled" in text)).hexdigest()


@cache
def _compiler() -> Any:
    """Return numba's decorator, or None."""
    try:
        from numba import njit
    except ImportError:
        return None
    return njit(cache=True, nogil=True)


class _Compiled:
    """A function to be compiled; what comes of it is kept on disk until any module with such ones changes.

    By itself numba looks at the function's own file only, not at those of the functions it calls, and would
    go on running their old code after a correction.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def __call__(self, *arguments: object) -> object:
        if _INTERPRETED.get() or _compiler() is None:
            return self._function(*arguments)
        return self._dispatcher(*arguments)

    @cached_property
    def _dispatcher(self) -> Any:
        dispatcher = _compiler()(self._function)
        if (kept := _kept(dispatcher)) is not None:
            kept._source_stamp = (kept._source_stamp, sources())
        return dispatcher

    @property
    def _numba_type_(self) -> Any:
        """Return what numba takes this function for where another one calls it."""
        return self._dispatcher._numba_type_

    @property
    def is_loaded(self) -> bool:
        """Tell whether this process compiled the function, or loaded it."""
        return "_dispatcher" in vars(self) and bool(self._dispatcher.signatures)

    @property
    def is_ready(self) -> bool:
        """Tell whether the function was compiled before, by this process or on this machine."""
        kept = _kept(self._dispatcher)
        return self.is_loaded or (kept is not None and bool(kept._load_index()))


def _kept(dispatcher: Any) -> Any:
    """Return numba's record of what it keeps on disk, if it keeps anything."""
    return getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)


def compiled(function: Function) -> Function:
    """Have a function of positional arguments compiled by numba when it is first called."""
    return cast(Function, _Compiled(function))


def can_compile() -> bool:
    """Tell whether numba is there, and nobody said to run functions as they stand."""
    return not _INTERPRETED.get() and _compiler() is not None


def is_ready(function: Callable[..., object]) -> bool:
    """Tell whether a compiled function starts at once: it was compiled before, or numba is missing."""
    return _compiler() is None or cast(_Compiled, function).is_ready


def is_loaded(function: Callable[..., object]) -> bool:
    """Tell whether a compiled function was called before."""
    return cast(_Compiled, function).is_loaded


@contextmanager
def interpreted() -> Iterator[None]:
    """Run such functions as they stand."""
    token = _INTERPRETED.set(True)
    try:
        yield
    finally:
        _INTERPRETED.reset(token)
