"""A clock that counts: limits that run out, and Ctrl-C that comes, at a chosen look at the time.

Input: a seed. Output: `Clock`, which stands in for the monotonic clock of every budget while `ticking` lasts.
How long a computation takes is then how often it looks at the time, so that the moment at which a limit runs
out is the same in every run, on every machine, and can be any moment at which the work may stop at all.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import process_time

import numpy as np

from credalog.methods.intervals import slices
from credalog.numbers import budget
from credalog.program.solvers import ipopt

__all__ = ["Clock", "ticking"]

READERS = (budget, slices, ipopt)
"""Whoever of the engine reads the monotonic clock."""

TICK = 1e-6
"""What a look at the time costs before the limit jumps out, in seconds."""

OVERTIME = 300
"""Once a limit is over, a look costs the limit divided by this: nobody who begins anew goes on for ever."""


LASTING = 5
"""After so many times the looks before a stumble, time passes evenly again."""


@dataclass
class Clock:
    """A clock on which a limit of `timeout` seconds runs out at about the look number `reads`.

    `pace` says how: at one jump ("jump"), evenly ("even"), or by pauses that come at random ("pauses"), so
    that shares of the time run out before the whole does; or a jump there leaves some of the time, which then
    lasts ("stumble"). With "interrupt" Ctrl-C is pressed at that look.
    """

    pace: str
    reads: int
    timeout: float
    seed: int = 0
    now: float = 0.0
    looks: int = 0
    ran_out: float | None = None
    """The processor's time at which the limit was over, or Ctrl-C was pressed."""
    _rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    def __call__(self) -> float:
        """Return the time, which this look has made later."""
        self.looks += 1
        self.now += self._step()
        is_over = self.looks >= self.reads if self.pace == "interrupt" else self.now >= self.timeout
        if is_over and self.ran_out is None:
            self.ran_out = process_time()
            if self.pace == "interrupt":
                signal.raise_signal(signal.SIGINT)
        return self.now

    def _step(self) -> float:
        if self.ran_out is not None:
            return self.timeout / OVERTIME
        match self.pace:
            case "even":
                return self.timeout / self.reads
            case "pauses":
                is_long = self._rng.random() < 3.0 / self.reads
                return self.timeout * float(self._rng.random()) * 0.7 if is_long else TICK
            case "stumble" if self.looks == self.reads:
                return self.timeout * float(self._rng.uniform(0.4, 0.95))
            case "stumble" if self.looks > LASTING * self.reads:
                return self.timeout / OVERTIME
            case "jump":
                return self.timeout if self.looks == self.reads else TICK
            case _:
                return TICK

    @property
    def late(self) -> float:
        """Return the processor's seconds that were spent after the limit was over."""
        return 0.0 if self.ran_out is None else process_time() - self.ran_out

    def __str__(self) -> str:
        return f"{self.pace} at {self.reads}"


@contextmanager
def ticking(clock: Clock) -> Iterator[Clock]:
    """Let every budget read this clock."""
    before = [reader.monotonic for reader in READERS]
    for reader in READERS:
        reader.monotonic = clock  # type: ignore[attr-defined]
    try:
        yield clock
    finally:
        for reader, usual in zip(READERS, before, strict=True):
            reader.monotonic = usual  # type: ignore[attr-defined]
