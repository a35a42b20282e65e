"""What a command is, and the options that several commands share.

Enters: nothing. Leaves: `Command`, of which each group of commands gives a tuple; the application knows no
more of them than this.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from credalog.lcn import LCN
    from credalog.model import Network

__all__ = [
    "ANSWERED",
    "Command",
    "INTERRUPTED",
    "add_json",
    "add_model",
    "add_output",
    "ground_model",
    "load_model",
    "positive",
]

Number = TypeVar("Number", int, float)

ANSWERED = 0
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Command:
    """One word of the command line: its help, its arguments, and what it does.

    `run` returns the exit code. It imports what it needs, so that help and errors come at once.
    """

    name: str
    summary: str
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


def add_model(parser: ArgumentParser) -> None:
    """Add the file to read and how to ground it."""
    parser.add_argument("file", metavar="FILE", help="a network in the .lcn language")
    parser.add_argument(
        "--data",
        action="append",
        metavar="FILE",
        help="elements of domains, relations and functions, as JSON or CSV; may be repeated",
    )
    parser.add_argument(
        "--limit",
        type=positive(int),
        metavar="N",
        help="refuse to ground to more than N sentences (default 2,000,000)",
    )


def positive(kind: type[Number]) -> Callable[[str], Number]:
    """Return a reader of positive numbers, for argparse."""

    def read(text: str) -> Number:
        try:
            value = kind(text)
        except ValueError:
            raise ArgumentTypeError(f"{text} is not a number") from None
        if not value > 0:
            raise ArgumentTypeError(f"{text} is not positive")
        return value

    return read


def add_json(parser: ArgumentParser) -> None:
    """Add the choice of JSON."""
    parser.add_argument("--json", action="store_true", help="write JSON instead of text")


def add_output(parser: ArgumentParser) -> None:
    """Add the file to write."""
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of the terminal")


def load_model(arguments: Namespace) -> LCN:
    """Read the model that the arguments name."""
    from credalog.lcn import load

    return load(arguments.file, data=arguments.data)


def ground_model(model: LCN, arguments: Namespace) -> Network:
    """Ground a model within the limit that the arguments set."""
    return model.ground() if arguments.limit is None else model.ground(limit=arguments.limit)
