"""What a command is, and what several commands share: arguments, loading a model, notes and complaints.

Input: nothing. Output: `Command`, of which each group of commands gives a tuple; the application knows no
more of them than this.
"""

from __future__ import annotations

import re
import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from io import StringIO
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from credalog.choices import MarkovName
from credalog.errors import CredalogError, Option

if TYPE_CHECKING:
    from credalog.lcn import LCN

Number = TypeVar("Number", int, float)

ANSWERED = 0
UNDECIDED = 5
NONE_ANSWERED = 6
INTERRUPTED = 130

STANDARD_INPUT = "standard input"
"""What the file is called that stands as `-` on the command line."""

SECONDS = 30.0
"""How long a question is worked on unless the user says otherwise."""

SHORTEST = 0.1
"""The least number of seconds that the questions left are given, however late it is."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a command, in the words of argparse.

    Of those with a `const` and the same `dest` at most one is given.
    """

    name: str
    help: str
    metavar: str | None = None
    type: Callable[[str], Any] | None = None
    default: Any = None
    choices: Sequence[str] | None = None
    action: str | None = None
    nargs: str | None = None
    dest: str | None = None
    const: str | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """One word of the command line: its help, its arguments, and what it does.

    `run` returns the exit code. It imports what it needs, so that help and errors come at once.
    """

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    run: Callable[[Namespace], int]

    def add_to(self, parser: ArgumentParser) -> None:
        """Tell a parser of arguments about those of the command."""
        choices = dict.fromkeys(argument.dest for argument in self.arguments if argument.const)
        groups = {dest: parser.add_mutually_exclusive_group() for dest in choices}
        for argument in self.arguments:
            name, *flags = argument.name.split()
            settings = {word: value for word, value in asdict(argument).items() if value is not None}
            del settings["name"]
            (groups[argument.dest] if argument.const else parser).add_argument(name, *flags, **settings)
        parser.set_defaults(run=self.run, parser=parser, command=self.name)


# ---- arguments ----------------------------------------------------------------------------------------


def positive(kind: type[Number]) -> Callable[[str], Number]:
    """Return a reader of positive numbers, for argparse."""

    def read(text: str) -> Number:
        value = _number(text, kind)
        if not value > 0:
            raise ArgumentTypeError(f"{text} is not positive")
        return value

    return read


def share(text: str) -> float:
    """Read a number from 0 to 1, for argparse."""
    value = _number(text, float)
    if not 0.0 <= value <= 1.0:
        raise ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def count(text: str) -> int:
    """Read a whole number, zero included, for argparse."""
    value = _number(text, int)
    if value < 0:
        raise ArgumentTypeError(f"{text} is negative")
    return value


def _number(text: str, kind: type[Number]) -> Number:
    try:
        return kind(text)
    except ValueError:
        raise ArgumentTypeError(f"{text} is not a {'whole ' if kind is int else ''}number") from None


def precision(text: str) -> float:
    """Read a number above 0 and at most 1, for argparse."""
    return positive(float)(text) and share(text)


MODEL = (
    Argument("file", "a network: .lcn, .bif or .uai; - reads .lcn text", "FILE"),
    Argument(
        "--data",
        "elements, facts and numbers: JSON, CSV, Parquet, or a folder of such files; may be repeated",
        "FILE",
        action="append",
    ),
    Argument("--limit", "refuse to ground to more than N sentences (default 2,000,000)", "N", positive(int)),
)
TIMEOUT = Argument("--timeout", "seconds for the whole command (default: any)", "S", positive(float))
MARKOV = Argument(
    "--markov", "the independences implied (default local)", default="local", choices=get_args(MarkovName)
)
JSON = Argument("--json", "write JSON instead of text", action="store_true")
OUTPUT = Argument("-o --output", "write to this file instead of the terminal", "FILE")
EVIDENCE = Argument(
    "--evidence", "what was observed; may be repeated", "FORMULA", default=[], action="append"
)
QUERY = Argument("query", "a question such as 'P(a | b and not c)'", "QUERY")
EFFORT = (
    *MODEL,
    Argument("--tolerance", "the gap that counts as exact (default 1e-4)", "T", precision, 1e-4),
    replace(TIMEOUT, help="seconds for the whole command (default: 30 for each question)"),
    MARKOV,
    JSON,
)


def effort(arguments: Namespace, *more: str, left: int = 1) -> dict[str, Any]:
    """Return the arguments of `EFFORT`, and more of them by name, as those of a question.

    A limit that the user gives is for the whole command: the questions left share what is left of it.
    """
    limits = {name: getattr(arguments, name) for name in ("timeout", "tolerance", "markov", *more)}
    return limits | {"timeout": seconds_left(arguments, SECONDS, left=left)}


def seconds_left(arguments: Namespace, usual: float, *, left: int = 1) -> float:
    """Return the seconds for the next of the questions left, of which each has the usual ones at most."""
    return min(arguments.timeout or usual, max(SHORTEST, time_left(arguments)) / left)


def time_left(arguments: Namespace) -> float:
    """Return the seconds that are left of the command's limit, if it has one."""
    left: float = arguments.clock.left
    return left


def refuse_unless(holds: bool, given: str, needed: Option | str) -> None:
    """Refuse an option that would be ignored, and say with which it counts."""
    if not holds:
        other = needed if isinstance(needed, str) else needed.on_the_command_line
        raise CredalogError(f"{given} has no effect here", advice=f"It counts with {other}; or leave it out.")


# ---- the model, and what is said beside the answers ---------------------------------------------------


def load_model(arguments: Namespace) -> LCN:
    """Read the model that the arguments name, observe what they say, and ground it within their limit."""
    from credalog.lcn import load, parse
    from credalog.theory import Domain, Theory

    if arguments.file == "-":
        arguments.file = STANDARD_INPUT
        model = parse(_standard_input(), data=arguments.data)
    else:
        model = load(arguments.file, data=arguments.data)
    if model.stated == Theory():
        note(f"{arguments.file} says nothing. A first sentence could be: 0.2 <= P(a | b) <= 0.3")
    elif arguments.command != "graph" and isinstance(model.stated, Theory) and model.stated.is_open:
        empty = ", ".join(
            d.name for d in model.stated.declarations if isinstance(d, Domain) and not d.elements
        )
        note(f"nothing is in the domain {empty}, so that rules about it say nothing. Data follow --data")
    if evidence := getattr(arguments, "evidence", []):
        for text in evidence:
            # What is wrong with it is said of the text that was typed.
            model.formula(text)
        model = model.with_evidence(*evidence)
    if arguments.limit is not None:
        model.ground(limit=arguments.limit)
    return model


def _standard_input() -> str:
    """Read all of it."""
    if sys.stdin is None:
        raise CredalogError("standard input is closed", advice="Name a file instead of -.")
    return sys.stdin.read()


def note(message: str) -> None:
    """Tell the user something that is no error and no answer."""
    say(f"note: {message}")


def say(line: str) -> None:
    """Say something beside the answers; where nobody can be told, the exit code still tells."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        # What could not be written would be tried again at the end, and be an error of its own.
        sys.stderr = StringIO()


def complain(error: CredalogError, arguments: Namespace) -> int:
    """Tell the user what went wrong, and return the exit code that it deserves.

    A command that is advised names the file that was asked about.
    """
    named = str(getattr(arguments, "file", "FILE"))
    file = "-" if named == STANDARD_INPUT else shlex.quote(named)
    advised = error.on_the_command_line
    told = re.sub(r"(?<=`credalog )(\w+) FILE\b", lambda found: f"{found[1]} {file}", advised)
    say(f"error: {told}")
    return error.exit_code
