"""What is known of a question while it is worked on.

Enters: `Progress` reports from an inference. Leaves: a line on standard error, if somebody looks, and the
bounds reached so far, if somebody interrupts.
"""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from credalog.inference.answer import Progress

__all__ = ["Watch"]

PAUSE = 0.1
"""Seconds between two drawings of the line: more often is flicker."""

CLEAR = "\r\x1b[K"


class Watch:
    """Follow one question after the other."""

    def __init__(self) -> None:
        self.question = ""
        self._latest: dict[str, Progress] = {}
        self._began = monotonic()
        self._drawn = 0.0
        self._is_seen = sys.stderr.isatty()

    def begin(self, question: str) -> None:
        """Turn to another question and forget what was known of the last."""
        self.question = question
        self._began = monotonic()
        self._latest.clear()

    @property
    def seconds(self) -> float:
        """Return how long the question has been worked on."""
        return monotonic() - self._began

    def __call__(self, progress: Progress) -> None:
        """Take note of a report, and show it."""
        self._latest[progress.task] = progress
        if self._is_seen and monotonic() - self._drawn >= PAUSE:
            self._drawn = monotonic()
            print(f"{CLEAR}{_line(self.question, progress)}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Wipe the line away."""
        if self._is_seen:
            print(CLEAR, end="", file=sys.stderr, flush=True)

    def reached(self, end: str) -> tuple[float | None, float | None]:
        """Return the bound and the witnessed value of the task that names this end, None where unknown."""
        tasks = [progress for task, progress in self._latest.items() if task.startswith(end)]
        return (tasks[-1].bound, tasks[-1].witnessed) if tasks else (None, None)


def _line(question: str, progress: Progress) -> str:
    witness = "none yet" if progress.witnessed is None else f"{progress.witnessed:.6f}"
    gap = "" if progress.witnessed is None else f"  gap {abs(progress.bound - progress.witnessed):.1e}"
    about = " ".join(filter(None, (question, progress.task)))
    return f"{about}  bound {progress.bound:.6f}  witness {witness}{gap}  {progress.seconds:.1f} s"
