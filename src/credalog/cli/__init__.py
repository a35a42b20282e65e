"""The command line: a command per question.

Input: words. Output: answers on standard output, troubles on standard error, and an exit code.
"""

from credalog.cli.app import main

__all__ = ["main"]
