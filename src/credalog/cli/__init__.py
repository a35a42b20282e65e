"""The command line: a command per question.

Enters: words. Leaves: answers on standard output, troubles on standard error, and an exit code.
"""

from credalog.cli.app import main

__all__ = ["main"]
