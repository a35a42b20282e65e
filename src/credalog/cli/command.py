"""What a command is, and the options that several commands share.

Input: nothing. Output: `Command`, of which each group of commands gives a tuple; the application knows no
more of them than this.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from credalog.choices import MarkovName
from credalog.errors import CredalogError, Option

if TYPE_CHECKING:
    from credalog.lcn import LCN

__all__ = [
    "ANSWERED",
    "Command",
    "INTERRUPTED",
    "add_effort",
    "add_evidence",
    "add_json",
    "add_markov",
    "add_model",
    "add_output",
    "complain",
    "effort",
    "load_model",
    "note",
    "positive",
    "precision",
    "refuse_unless",
    "share",
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
    parser.add_argument("file", metavar="FILE", help="a network: .lcn, .bif or .uai; - reads .lcn text")
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


def share(text: str) -> float:
    """Read a number from 0 to 1, for argparse."""
    try:
        value = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text} is not a number") from None
    if not 0.0 <= value <= 1.0:
        raise ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def precision(text: str) -> float:
    """Read a number above 0 and at most 1, for argparse."""
    return positive(float)(text) and share(text)


def add_effort(
    parser: ArgumentParser,
    *,
    closely: str = "the gap that counts as exact (default 1e-4)",
    long: str = "seconds for each query (default 30)",
) -> None:
    """Add the model, how closely to look at it and for how long, and which independences it implies."""
    add_model(parser)
    parser.add_argument("--tolerance", type=precision, default=1e-4, metavar="T", help=closely)
    parser.add_argument("--timeout", type=positive(float), default=30.0, metavar="S", help=long)
    add_markov(parser)
    add_json(parser)


def add_markov(parser: ArgumentParser) -> None:
    """Add which independences the network implies."""
    parser.add_argument(
        "--markov",
        choices=get_args(MarkovName),
        default="local",
        help="the independences implied (default local)",
    )


def effort(arguments: Namespace, *more: str) -> dict[str, Any]:
    """Return the arguments of `add_effort`, and more of them by name, as those of a question."""
    return {name: getattr(arguments, name) for name in ("timeout", "tolerance", "markov", *more)}


def add_evidence(parser: ArgumentParser) -> None:
    """Add what was observed."""
    parser.add_argument(
        "--evidence",
        action="append",
        default=[],
        metavar="FORMULA",
        help="what was observed; may be repeated",
    )


def add_json(parser: ArgumentParser) -> None:
    """Add the choice of JSON."""
    parser.add_argument("--json", action="store_true", help="write JSON instead of text")


def add_output(parser: ArgumentParser) -> None:
    """Add the file to write."""
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of the terminal")


def load_model(arguments: Namespace) -> LCN:
    """Read the model that the arguments name, observe what they say, and ground it within their limit."""
    from credalog.lcn import load, parse
    from credalog.theory import Theory

    if arguments.file == "-":
        arguments.file = "standard input"
        model = parse(sys.stdin.read(), data=arguments.data)
    else:
        model = load(arguments.file, data=arguments.data)
    if model.theory == Theory():
        note(f"{arguments.file} says nothing. A first sentence could be: 0.2 <= P(a | b) <= 0.3")
    if evidence := getattr(arguments, "evidence", []):
        for text in evidence:
            # What is wrong with it is said of the text that was typed.
            model.formula(text)
        model = model.with_evidence(*evidence)
    if arguments.limit is not None:
        model.ground(limit=arguments.limit)
    return model


def refuse_unless(holds: bool, given: str, needed: Option | str) -> None:
    """Refuse an option that would be ignored, and say with which it counts."""
    if not holds:
        other = needed if isinstance(needed, str) else needed.on_the_command_line
        raise CredalogError(f"{given} has no effect here", advice=f"It counts with {other}; or leave it out.")


def note(message: str) -> None:
    """Tell the user something that is no error and no answer."""
    print(f"note: {message}", file=sys.stderr)


def complain(error: CredalogError) -> int:
    """Tell the user what went wrong, and return the exit code that it deserves."""
    print(f"error: {error.on_the_command_line}", file=sys.stderr)
    return error.exit_code
