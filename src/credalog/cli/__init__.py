"""The command line: a command per question.

Input: words. Output: answers on standard output, troubles on standard error, and an exit code.
"""

from __future__ import annotations

import gc
import os
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
            _leave_solvers(code)
        return code
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130


def _leave_solvers(code: int) -> None:
    """End the process at once where a solver still works for which nobody waits: Python would wait for it."""
    interruption = sys.modules.get("credalog.program.solvers.interruption")
    if interruption is not None and interruption.is_anything_left():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
