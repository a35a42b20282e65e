"""What is known of a question while it is worked on.

Input: `Progress` reports from an inference, and Ctrl-C. Output: a line on standard error, if somebody looks,
and the bounds reached so far, if somebody interrupts; with `--progress` JSON lines.
"""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from json import dumps
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from credalog.numbers.interval import VACUOUS, End, Endpoint, Interval, Warrant

if TYPE_CHECKING:
    from credalog.cli.clock import Clock
    from credalog.methods.answer import Progress
    from credalog.methods.intervals import Round


PAUSE = 0.1
"""Seconds between two drawings of the line: more often is flicker."""

CLEAR = "\r\x1b[K"


class Watch:
    """Follow one question after the other, and remember whether the user has had enough."""

    def __init__(self, clock: Clock | None = None, stream: Stream | None = None) -> None:
        self.question = ""
        self._stream = stream
        self._clock = clock
        self.is_interrupted = False
        self.interval = VACUOUS
        """What was reported of the two ends of a question so far, by a solver's word."""
        self.reports: list[Progress] = []
        """What was reported of the question, for those who want to see it."""
        self._began = monotonic()
        self._drawn = 0.0
        self._is_seen = sys.stderr.isatty() and stream is None

    def __enter__(self) -> Watch:
        self._usual = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._usual)
        self._flush()
        if self._is_seen:
            print(CLEAR, end="", file=sys.stderr, flush=True)

    def begin(self, question: str, known: Interval = VACUOUS) -> None:
        """Turn to another question, of which no more is known, and forget what was known of the last."""
        self._flush()
        self.question = question
        self._began = monotonic()
        self.interval = known
        self.reports = []

    def say(self, line: str) -> None:
        """Show a line of words until there is something to report."""
        if self._is_seen:
            print(f"{CLEAR}{line}", end="", file=sys.stderr, flush=True)

    @property
    def bounds(self) -> Interval:
        """Return the bounds that were reported; what attains them was checked against a part only."""
        ends = (replace(self.interval[end], witnessed=None) for end in End)
        return Interval(*ends, scale=self.interval.scale)

    @property
    def seconds(self) -> float:
        """Return how long the question has been worked on."""
        return monotonic() - self._began

    def __call__(self, progress: Progress) -> None:
        """Take note of a report, and show it."""
        if progress.end is not None:
            reported = Endpoint(progress.bound, progress.witnessed, Warrant.CLAIMED)
            self.interval = self.interval.learning(reported, progress.end)
            self.reports.append(progress)
        if self._stream is not None:
            self._stream.write(replace(progress, question=self.question or progress.question))
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

    def _flush(self) -> None:
        if self._stream is not None:
            self._stream.flush()

    def _interrupt(self, *_: object) -> None:
        # Where the time is up, what is under way ends in the same way, but nobody has had enough.
        self.is_interrupted = self._clock is None or not self._clock.is_over
        raise KeyboardInterrupt


class Stream:
    """Reports as JSON lines on standard error, of each task one now and then, and always its last."""

    def __init__(self) -> None:
        self._waiting: dict[str, Progress] = {}
        self._written: dict[str, float] = {}

    def write(self, progress: Progress) -> None:
        """Write a report, or keep it until there is a later one or the question is done."""
        self._waiting[progress.task] = progress
        if monotonic() - self._written.get(progress.task, -PAUSE) >= PAUSE:
            self._written[progress.task] = monotonic()
            self._print(self._waiting.pop(progress.task))

    def flush(self) -> None:
        """Write what was kept, before another question begins."""
        for progress in self._waiting.values():
            self._print(progress)
        self._waiting, self._written = {}, {}

    def _print(self, progress: Progress) -> None:
        finite = {key: None if value in (inf, -inf) else value for key, value in progress.to_dict().items()}
        print(dumps({"progress": finite}, ensure_ascii=False), file=sys.stderr, flush=True)


def _line(question: str, progress: Progress) -> str:
    witness = "none yet" if progress.witnessed is None else f"{progress.witnessed:.6f}"
    gap = "" if progress.witnessed is None else f"  gap {abs(progress.bound - progress.witnessed):.1e}"
    about = " ".join(filter(None, (question, progress.task)))
    work = f"  {progress.stage}" if progress.stage else ""
    leaves = f", {progress.leaves:,} leaves" if progress.leaves else ""
    found = f"bound {progress.bound:.6f}  witness {witness}{gap}"
    return f"{about}  {found}{work}{leaves}  {progress.seconds:.1f} s"
