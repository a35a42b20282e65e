"""Ctrl-C while a solver's own code runs.

Input: SIGINT, and the call of a solver. Output: a flag that the solver's callbacks can look at, and the end
of the wait for a solver that does not look in time. An exception raised inside a callback would have to pass
through foreign code, which prints it, loses it or crashes. Therefore a solver that lets other threads run
has a thread of its own (`attended`), and one that does not has a process of its own (`apart`): the main
thread only waits, and can leave.
"""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from select import select
from time import monotonic
from types import FrameType
from typing import TypeVar
from weakref import WeakKeyDictionary

__all__ = ["Interruption", "apart", "attended", "deferred", "held_back", "is_anything_left", "settle"]

Solver = TypeVar("Solver")

PATIENCE = 0.3
"""The seconds after Ctrl-C in which a solver may end by itself."""

GLANCE = 0.05
"""How often the one who waits looks for Ctrl-C: the alarm of a command wakes nobody."""

PIECE = 1 << 16
"""How much is read from a process at a time."""


class Interruption:
    """Whether Ctrl-C was pressed, and whether the solver had its time to see it."""

    def __init__(self) -> None:
        self.is_asked = False
        self._since = 0.0

    def ask(self, _number: int, _frame: FrameType | None) -> None:
        """Remember a Ctrl-C until the solver can be told."""
        if not self.is_asked:
            self._since = monotonic()
        self.is_asked = True

    @property
    def is_overdue(self) -> bool:
        """Tell whether it is time to leave the solver alone."""
        return self.is_asked and monotonic() - self._since > PATIENCE


@contextmanager
def held_back() -> Iterator[Interruption]:
    """Turn Ctrl-C into a flag; only the main thread may, elsewhere the flag is never set."""
    interruption = Interruption()
    if not _is_main():
        yield interruption
        return
    before = signal.signal(signal.SIGINT, interruption.ask)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def deferred() -> Iterator[Interruption]:
    """Hold Ctrl-C back, and deliver it afterwards to whoever handles it outside."""
    with held_back() as interruption:
        yield interruption
    if interruption.is_asked:
        signal.raise_signal(signal.SIGINT)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


# ---- solvers that let other threads run -------------------------------------------------------------------


@dataclass
class _Thread:
    """The thread in which solvers work, and the work under way of each; a new process has none."""

    process: int = field(default_factory=os.getpid)
    worker: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "solver"))
    under_way: WeakKeyDictionary[object, Future[None]] = field(default_factory=WeakKeyDictionary)


_thread = _Thread()


def attended(solver: Solver, work: Callable[[Solver, Interruption], None]) -> None:
    """Let a solver work while this thread waits for it, and for Ctrl-C.

    Where the solver does not end soon after Ctrl-C, it is left to itself: whoever wants it again must
    `settle` it first.
    """
    global _thread  # noqa: PLW0603 -- a thread that is left to a solver serves no other
    if not _is_main():
        work(solver, Interruption())
        return
    if _thread.process != os.getpid():
        _thread = _Thread()
    with deferred() as interruption:
        future = _thread.under_way[solver] = _thread.worker.submit(work, solver, interruption)
        while wait([future], GLANCE).not_done and not interruption.is_overdue:
            pass
        if not future.done():
            _thread.worker.shutdown(wait=False)
            _thread.worker = ThreadPoolExecutor(1, "solver")
    # Whoever handles Ctrl-C outside may have decided to go on.
    settle(solver)


def settle(solver: object) -> None:
    """Wait until a solver that was left to itself has ended: it was asked to."""
    future = _thread.under_way.get(solver)
    if future is None or _thread.process != os.getpid():
        return
    while wait([future], GLANCE).not_done:
        pass
    del _thread.under_way[solver]
    future.result()


def is_anything_left() -> bool:
    """Tell whether a solver still works that nobody waits for."""
    return any(not future.done() for future in _thread.under_way.values())


# ---- solvers that let no other thread run -----------------------------------------------------------------


def apart(work: Callable[[], bytes], seconds: float) -> bytes:
    """Return what is found by a copy of this process, which Ctrl-C ends, or the end of its time.

    Where it fails or is ended, what it returns is empty.
    """
    child, (reading, writing) = 0, os.pipe()
    try:
        with warnings.catch_warnings():
            # Later Pythons warn of threads, whose locks a copy would wait for: this one takes none of ours.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
            if child == 0:
                _deliver(work, writing)
        os.close(writing)
        return b"".join(_read(reading, monotonic() + seconds + PATIENCE))
    finally:
        os.close(reading)
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _deliver(work: Callable[[], bytes], writing: int) -> None:
    """Work in the copy of a process, write down what was found, and end without any tidying up."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        found = work()
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(found)
    finally:
        os._exit(0)


def _read(reading: int, deadline: float) -> Iterator[bytes]:
    """Yield what comes, piece by piece, until there is no more; nothing counts that is not whole."""
    pieces = []
    while monotonic() < deadline:
        if select([reading], [], [], GLANCE)[0]:
            pieces.append(os.read(reading, PIECE))
            if not pieces[-1]:
                yield from pieces
                return
