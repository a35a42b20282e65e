"""What is known of a question while it is worked on.

Input: `Progress` reports from an inference, and Ctrl-C. Output: a line on standard error, if somebody looks,
and the bounds reached so far, if somebody interrupts.
"""

from __future__ import annotations

import signal
import sys
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from credalog.methods.answer import Progress
    from credalog.methods.intervals import Round


PAUSE = 0.1
"""Seconds between two drawings of the line: more often is flicker."""

CLEAR = "\r\x1b[K"


class Watch:
    """Follow one question after the other, and remember whether the user has had enough."""

    def __init__(self) -> None:
        self.question = ""
        self.is_interrupted = False
        self._latest: dict[str, Progress] = {}
        self._began = monotonic()
        self._drawn = 0.0
        self._is_seen = sys.stderr.isatty()

    def __enter__(self) -> Watch:
        self._usual = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._usual)
        if self._is_seen:
            print(CLEAR, end="", file=sys.stderr, flush=True)

    def begin(self, question: str) -> None:
        """Turn to another question and forget what was known of the last."""
        self.question = question
        self._began = monotonic()
        self._latest.clear()

    def say(self, line: str) -> None:
        """Show a line of words until there is something to report."""
        if self._is_seen:
            print(f"{CLEAR}{line}", end="", file=sys.stderr, flush=True)

    @property
    def seconds(self) -> float:
        """Return how long the question has been worked on."""
        return monotonic() - self._began

    def __call__(self, progress: Progress) -> None:
        """Take note of a report, and show it."""
        self._latest[progress.task] = progress
        self._show(_line(self.question, progress))

    def round(self, done: Round) -> None:
        """Show a round of propagation."""
        self._show(f"round {done.number}  largest change {done.largest_change:.1e}  {done.seconds:.1f} s")

    def _show(self, line: str) -> None:
        # A search that is interrupted ends with the bounds it has; the next one must not begin.
        if self.is_interrupted:
            raise KeyboardInterrupt
        if self._is_seen and monotonic() - self._drawn >= PAUSE:
            self._drawn = monotonic()
            self.say(line)

    def reached(self, end: str) -> tuple[float | None, float | None]:
        """Return the bound and the witnessed value of one end so far, None where unknown."""
        latest = self._latest.get(end)
        return (None, None) if latest is None else (latest.bound, latest.witnessed)

    def _interrupt(self, *_: object) -> None:
        self.is_interrupted = True
        raise KeyboardInterrupt


def _line(question: str, progress: Progress) -> str:
    witness = "none yet" if progress.witnessed is None else f"{progress.witnessed:.6f}"
    gap = "" if progress.witnessed is None else f"  gap {abs(progress.bound - progress.witnessed):.1e}"
    about = " ".join(filter(None, (question, progress.task)))
    return f"{about}  bound {progress.bound:.6f}  witness {witness}{gap}  {progress.seconds:.1f} s"
