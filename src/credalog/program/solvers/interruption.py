"""Ctrl-C while a solver's own code runs.

Input: SIGINT. Output: a flag that the solver's callbacks can look at. An exception raised inside a callback
would have to pass through foreign code, which prints it, loses it or crashes.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interruption", "deferred", "held_back"]


class Interruption:
    """Whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.is_asked = False

    def ask(self, _number: int, _frame: FrameType | None) -> None:
        """Remember a Ctrl-C until the solver can be told."""
        self.is_asked = True


@contextmanager
def held_back() -> Iterator[Interruption]:
    """Turn Ctrl-C into a flag; only the main thread may, elsewhere the flag is never set."""
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
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
