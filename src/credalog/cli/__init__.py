"""The command line: a command per question.

Input: words. Output: answers on standard output, troubles on standard error, and an exit code.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; Ctrl-C while Python still starts is no traceback either."""
    try:
        from credalog.cli import app

        code = app.main(arguments)
        if arguments is None:
            # All that is left is Python's own end, which nobody needs to interrupt; to look for garbage in a
            # large network then takes a while and frees what is freed anyway.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            gc.freeze()
        return code
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
