"""The program of a worker process: chunks on its standard input, outcomes on its standard output.

Input: pickled values: what to prepare, then chunks. Output: after "ready", each outcome when it is known,
then `Done`. The process ends with its input, so that none outlives the one that asks.
"""

from __future__ import annotations

import os
import pickle
import sys
from contextlib import suppress
from typing import Any, BinaryIO

from credalog.batches.answering import Done, answer_chunk, prepare

__all__ = ["READY"]

READY = "ready"


def _channels() -> tuple[BinaryIO, BinaryIO]:
    """Return both channels; what others print goes to standard error, not between the outcomes."""
    into = os.fdopen(os.dup(0), "rb")
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return into, out


def serve() -> None:
    """Answer chunks until there are no more."""
    into, out = _channels()

    def send(value: Any) -> None:
        pickle.dump(value, out, protocol=pickle.HIGHEST_PROTOCOL)
        out.flush()

    memory, sources = pickle.load(into)
    prepare(memory, *sources)
    send(READY)
    while True:
        chunk = pickle.load(into)
        done = answer_chunk(chunk, send)
        send(Done((), done.seconds, done.missing))


if __name__ == "__main__":
    # The one that asks is gone, or has had enough.
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        serve()
    sys.stdout = sys.stderr
