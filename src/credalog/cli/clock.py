"""The time of a whole command: when it began, what is left of its limit, and an alarm at the end of it.

Input: the seconds that the user allows. Output: `Clock`. Every loop asks a `Budget` made from it. The alarm
is for what asks too late, such as reading a long text: it ends what is under way as Ctrl-C does, so that
what was found by then is written. `never_lost` is for both: an exception that comes while Python tidies up,
in a finalizer or the callback of a weak reference, is printed and forgotten, and the command would go on.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from math import inf
from pathlib import Path
from threading import RLock, Timer
from time import monotonic, process_time
from typing import Any, TypeVar

__all__ = ["Clock", "never_lost"]

Result = TypeVar("Result")

LONGEST_START = 5.0
"""A process that was there for longer has done something else before."""

STARTING = 0.4
"""The seconds beside its limit in which a command may start: the rest of what is promised is for its end."""

LATE, LATER = 0.2, 0.05
"""After so many seconds more, and such a share of the limit, the alarm rings."""

ENDING = 0.3
"""So many seconds, and the same share of the limit, a command may take after its alarm."""

SOONEST = 0.01
"""The seconds after which an alarm rings that is late already."""

IMPORTING = 0.3
"""So many seconds longer the alarm waits for an import to end."""


def process_began() -> float:
    """Return when the process began: Python's own start counts, and on a busy machine it takes a while."""
    age = process_time()
    if Path("/proc/self/stat").exists():
        # The 20th word after the name, which may have blanks in it: proc(5), starttime.
        ticks = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
        age = max(age, time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / os.sysconf("SC_CLK_TCK"))
    return monotonic() - min(age, LONGEST_START)


class Clock:
    """The limit of one command, from its beginning on."""

    def __init__(self, began: float | None = None) -> None:
        self.began = process_began() if began is None else began
        self.seconds: float | None = None
        self.reserved = 0.0
        self._telling = 0.0
        self.is_over = False
        self._timer: Timer | None = None
        self._lock = RLock()

    @property
    def left(self) -> float:
        """Return the seconds that are left of the limit, if there is one, but for those that are reserved."""
        if self.seconds is None:
            return inf
        return self.seconds + STARTING - self.reserved - (monotonic() - self.began)

    def limit(self, seconds: float | None) -> None:
        """Set the limit, and an alarm that rings a little after it."""
        self.seconds = seconds
        if seconds is not None:
            self._ring_after(self._until_alarm)

    def keep_for_telling(self, seconds: float) -> None:
        """Keep time for writing down what is found: neither the work nor the alarm may take it.

        Where there is too little for the writing alone, it is the end.
        """
        if self.seconds is None or self.is_over:
            return
        if seconds > self._until_alarm + ENDING + LATER * self.seconds:
            self.silence()
            self.is_over = True
            raise KeyboardInterrupt
        self._telling = min(seconds, self.seconds / 2)
        self.reserved += self._telling
        self.silence()
        self.limit(self.seconds)

    @contextmanager
    def giving_up(self) -> Iterator[None]:
        """Leave what is under way when the alarm rings, and go on behind it."""
        try:
            yield
        except KeyboardInterrupt:
            if not self.is_over:
                raise

    def timely(self, found: Result) -> Result:
        """Return a result as one whose time was up, if the alarm ended the work on it and not the user."""
        if not self.is_over:
            return found
        result: Any = found
        stopped = {"interrupted", "is_interrupted"}.intersection(one.name for one in fields(result))
        timely: Result = replace(result, **dict.fromkeys(stopped, False))
        return timely

    @contextmanager
    def silenced(self) -> Iterator[None]:
        """Write something without being disturbed by the alarm; where that took too long, it is the end."""
        self.silence()
        yield
        if self.seconds is not None and self._until_alarm <= 0.0:
            self.is_over = True
        if not self.is_over:
            self.limit(self.seconds)

    def silence(self) -> None:
        """Take the alarm away."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None

    @property
    def _until_alarm(self) -> float:
        """Return after how many seconds the alarm rings; what is reserved for more work is no part of it."""
        seconds = self.seconds or 0.0
        return seconds + STARTING + LATE + LATER * seconds - self._telling - (monotonic() - self.began)

    def _ring_after(self, seconds: float) -> None:
        # No system waits for longer than that, which is for ever.
        self._timer = Timer(min(max(seconds, SOONEST), threading.TIMEOUT_MAX), self._ring)
        self._timer.daemon = True
        self._timer.start()

    def _ring(self) -> None:
        with self._lock:
            if self._timer is None:
                return
            # A library whose import is broken off cannot be imported again: it has registered its types.
            if self._until_alarm > -IMPORTING and _is_importing():
                self._ring_after(IMPORTING / 10)
                return
            self.is_over = True
            interrupt_main()


def _is_importing() -> bool:
    """Tell whether the main thread is importing something."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


@contextmanager
def never_lost() -> Iterator[None]:
    """Raise an interrupt once more that came where exceptions are not raised, but printed and forgotten."""
    usual = sys.unraisablehook

    def unraisable(met: sys.UnraisableHookArgs) -> None:
        if met.exc_type is not KeyboardInterrupt:
            usual(met)
            return
        # Raised here it would be lost again.
        again = Timer(SOONEST, interrupt_main)
        again.daemon = True
        again.start()

    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        sys.unraisablehook = usual
