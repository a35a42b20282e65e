"""The command line: from words to one command, and from whatever happens to an exit code.

Input: the arguments. Output: an exit code: 0 answered, 2 bad input, 3 inconsistent network, 4 impossible
evidence, 5 not decided in time or a proof refused, 6 every question of a batch failed, 130 interrupted. A
user never meets a traceback.
"""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from time import monotonic
from typing import NoReturn

from credalog.cli.ask import ASKING
from credalog.cli.batch import BATCHING
from credalog.cli.certificates import CERTIFYING
from credalog.cli.check import CHECKING
from credalog.cli.clock import Clock, never_lost
from credalog.cli.command import INTERRUPTED, UNDECIDED, Command, complain, say
from credalog.cli.convert import CONVERTING
from credalog.cli.describe import DESCRIBING
from credalog.cli.explain import EXPLAINING
from credalog.cli.output import speak_unicode, times_written, write_json
from credalog.cli.play import PLAYING
from credalog.errors import CredalogError

COMMANDS: tuple[Command, ...] = (
    *CHECKING,
    *DESCRIBING,
    *ASKING,
    *BATCHING,
    *EXPLAINING,
    *CERTIFYING,
    *CONVERTING,
    *PLAYING,
)

BAD_INPUT = CredalogError.exit_code
READER_LEFT = 141
"""What a shell reports of a program whose reader has closed the pipe."""

CODES = (
    "exit codes: 0 answered, 2 bad input, 3 inconsistent network, 4 impossible evidence, "
    "5 not decided in time, or a proof refused (verify), 6 every question of a batch failed, 130 interrupted"
)


OTHER_WORDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("ask", "infer", "solve", "bound", "posterior"), ("query",)),
    **dict.fromkeys(("draw", "show", "plot", "dot"), ("graph",)),
    **dict.fromkeys(("validate", "lint", "parse", "consistency", "diagnose"), ("check",)),
    **dict.fromkeys(("mpe", "mmap", "mode"), ("map",)),
    **dict.fromkeys(("prove", "certify"), ("verify",)),
    **dict.fromkeys(("serve", "web", "gui"), ("play",)),
    **dict.fromkeys(("--given", "--observe", "--observed", "--condition", "-e", "-g"), ("--evidence",)),
    "-t": ("--timeout",),
    "-j": ("--jobs",),
    "-m": ("--method",),
    **dict.fromkeys(("--seconds", "--time", "--limit-time"), ("--timeout",)),
    **dict.fromkeys(("--epsilon", "--eps", "--gap", "--precision"), ("--tolerance",)),
    **dict.fromkeys(("--proof", "--cert"), ("--certificate",)),
    "--format": ("--form", "--json"),
    **dict.fromkeys(("--threads", "--workers", "--processes"), ("--jobs", "--workers")),
}
"""What other programs call a command or an option, and what it is called here."""


ALONE = ("--file", "--input", "--model", "--network", "--query", "--question")
"""What other programs name by an option, and what stands alone here."""

NEGATIVE = re.compile(r"-[\d./%\s*]*[PE]\(")
"""The beginning of a question with a minus before it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if sys.stderr is None:
        # Nobody listens: what would be said is kept from the answers.
        sys.stderr = StringIO()
    if sys.stdout is None:
        return _failed("standard output is closed\n  Send it to a file: > answers.txt", BAD_INPUT)
    speak_unicode()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    # A question that begins with a minus would be taken for an option; one that begins with a blank is not.
    words = [f" {word}" if NEGATIVE.match(word) else word for word in words]
    clock = Clock() if arguments is None else Clock(monotonic())
    chosen, unknown = _parser().parse_known_args(words)
    chosen.clock = clock
    if unknown:
        chosen.parser.refuse(unknown)
    before = times_written()
    try:
        with never_lost():
            return _carried_out(chosen)
    except (KeyboardInterrupt, RuntimeError) as error:
        # Before 3.12 Python wraps what is raised while a class names its members: in the middle of an import.
        if not isinstance(error, KeyboardInterrupt) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        return _stopped(chosen, has_written=times_written() > before)
    finally:
        clock.silence()


def _carried_out(chosen: Namespace) -> int:
    """Run a command within its limit, and say what went wrong with it."""
    try:
        chosen.clock.limit(chosen.timeout)
        code: int = chosen.run(chosen)
        chosen.clock.silence()
        sys.stdout.flush()
    except CredalogError as error:
        return complain(error, chosen)
    except BrokenPipeError:
        # Python flushes standard output once more on its way out: give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_LEFT
    except OSError as error:
        what = f"{error.filename or 'what is written'}: {(error.strerror or str(error)).lower()}"
        return _failed(f"{what}\n  Name a file, or a place, that can be read or written.", BAD_INPUT)
    except MemoryError:
        return _failed("out of memory\n  Try a smaller domain, or another --method.", BAD_INPUT)
    except RecursionError:
        return _failed("a formula is nested too deeply\n  Give its parts names of their own.", BAD_INPUT)
    return code


def _stopped(chosen: Namespace, *, has_written: bool) -> int:
    """End a command that has nothing to show, because of Ctrl-C or because its time is up."""
    is_late = chosen.clock.is_over
    # A command that was stopped before it wrote anything still owes its reader JSON.
    if getattr(chosen, "json", False) and not has_written:
        write_json({"status": "UNDECIDED" if is_late else "INTERRUPTED", "is_interrupted": not is_late})
    if not is_late:
        return _failed("interrupted", INTERRUPTED)
    what = f"{chosen.command} was not done within {chosen.timeout:g} s"
    return _failed(f"{what}\n  Give it more time: --timeout {max(1.0, 10 * chosen.timeout):g}", UNDECIDED)


def _failed(message: str, code: int) -> int:
    say(f"error: {message}")
    return code


_EXAMPLES = {
    "FILE": "model.lcn",
    "QUERY": "'P(a | b)'",
    "STATEMENT": "'P(a | b) >= 0.5'",
    "QUESTIONS": "questions.txt",
    "DATA": "cases.csv",
    "CERTIFICATE": "model.cert",
    "OUT": "model.bif",
}
_EXPECTED = {
    "QUERY": "Name a file, then a question in quotes",
    "STATEMENT": "Name a file, then a comparison in quotes",
    "QUESTIONS": "Name a file, then one with a question on each line",
    "DATA": "Name a file, then a table with a row for each case",
    "CERTIFICATE": "Name a file, then what --certificate wrote",
    "OUT": "Name a file, then the one to write",
}
"""What stands in the place of a word that is missing, and what to say of it."""


_NUMBERS = {
    "--timeout": "Give seconds: --timeout 60",
    "--each": "Give seconds: --each 60",
    "--tolerance": "Give a number above 0 and at most 1: --tolerance 0.001",
    "--jobs": "Give a count of processes: --jobs 2",
    "--top": "Give a count: --top 3",
    "--most": "Give a count: --most 10",
    "--limit": "Give a count of sentences: --limit 2000000",
    "--port": "Give a number: --port 8000",
    "--weight": "Give a name and a number: --weight expert.lcn=2",
    "--window": "Give a count: --window 3",
    "--take": "Give a count: --take 1",
    "--memory": "Give gigabytes: --memory 4",
    "--alpha": "Give a number between 0 and 1: --alpha 0.5",
    "--within": "Give a number between 0 and 1: --within 0.05",
}
"""What an option takes that was given something else."""


class _Parser(ArgumentParser):
    """A parser of arguments that recognises what was meant."""

    def error(self, message: str) -> NoReturn:
        """Complain about a word, and name the nearest that would have been understood."""
        choice = re.search(
            r"(?P<what>\w+): invalid choice: '?(?P<word>[^']*?)'? \(choose from (?P<known>.*)\)", message
        )
        if choice:
            known = re.findall(r"[\w-]+", choice["known"])
            advice = _advice(choice["word"], known) or f"\n  Choose one of {', '.join(known)}."
            message = f"there is no {choice['what'].lower()} {choice['word']}{advice}"
        if message.endswith("required: COMMAND"):
            message += "\n  `credalog --help` lists the commands."
        elif " required: " in message:
            message += f"\n  {_EXPECTED.get(message.split()[-1], 'Name a file')}: {self.prog} {self._example}"
        elif option := re.match(r"argument (?:-\w/)?(--\w+): ", message):
            message += self._value_of(option[1]) if option[1] in _NUMBERS or "expected" in message else ""
            message += "\n  Choose one of the two." if "not allowed with" in message else ""
        super().error(message)

    def _value_of(self, option: str) -> str:
        """Say what an option takes."""
        takes = next(one for one in self._actions if option in one.option_strings)
        shown = f"one of {', '.join(takes.choices)}" if takes.choices else takes.metavar
        return f"\n  {_NUMBERS.get(option) or f'After {option} follows {shown}.'}"

    @property
    def _example(self) -> str:
        """Write what must follow the command, with something in the place of each word."""
        needed = [one for one in self._get_positional_actions() if one.required or one.metavar == "FILE"]
        return " ".join(_EXAMPLES.get(str(one.metavar), str(one.metavar)) for one in needed)

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Complain about arguments that the command does not have."""
        wrong = next((word for word in unknown if word.startswith("-")), unknown[0])
        known = dict.fromkeys(re.findall(r"--[\w-]+", self.format_help()))
        if not wrong.startswith("-"):
            names = [str(one.metavar) for one in self._get_positional_actions()]
            advice = _of_a_question(wrong, names) or _of_a_file(wrong) or _of_a_word(known)
            self.error(f"{wrong} is a word too many\n  {advice}")
        name = wrong.partition("=")[0]
        if name in known:
            self.error(
                f"{wrong} stands before the command\n  Options follow it: {self.prog} {self._example} {wrong}"
            )
        advice = (
            _advice(name, list(known))
            or _elsewhere(name)
            or f"\n  `{self.prog} --help` lists those there are."
        )
        self.error(f"there is no option {wrong} here{advice}")


def _advice(word: str, known: Sequence[str]) -> str:
    if word == "version":
        return "\n  Did you mean --version?"
    # What options begin with makes no two of them alike.
    spelt = {name.lstrip("-"): name for name in known}
    near = [name for name in OTHER_WORDS.get(word, ()) if name in known]
    near = near or [spelt[one] for one in get_close_matches(word.lstrip("-"), spelt, n=1)]
    if near:
        return f"\n  Did you mean {near[0]}?"
    if word in ALONE:
        return "\n  It stands without an option: credalog query model.lcn 'P(a | b)'"
    if word in ("-o", "--output"):
        return "\n  What is written has a place of its own: see --help."
    if "check" not in known:
        return ""
    if word.lower() in known:
        return f"\n  Did you mean {word.lower()}?"
    if not word.strip():
        return "\n  The word is empty: `credalog --help` lists the commands."
    if re.fullmatch(r"[\d.]+", word):
        return "\n  The command comes first, then its options: credalog query FILE 'P(a)' --timeout 5"
    if word.endswith(")"):
        return f"\n  A command comes first, then the file: credalog query model.lcn '{word}'"
    return f"\n  A command comes first: credalog check {word}" if Path(word).suffix else ""


def _elsewhere(option: str) -> str:
    """Say which commands have an option that this one has not."""
    having = [one.name for one in COMMANDS if any(option in each.name.split() for each in one.arguments)]
    return f"\n  It is an option of {', '.join(having)}." if having else ""


def _of_a_question(word: str, places: Sequence[str]) -> str:
    """Say where a question belongs that was asked where there is no place for it."""
    if not re.match(r"[\s\d.*-]*[PE]\s*\(.*\)", word):
        return ""
    if "QUERY" in places:
        return "Ask one question at a time."
    return f"`credalog query FILE '{word.strip()}'` answers a question."


def _of_a_file(word: str) -> str:
    """Say how a second file is read."""
    if not Path(word).is_file():
        return ""
    return f'One file at a time. A line in it has another one read, too: include "{word}"'


def _of_a_word(known: Iterable[str]) -> str:
    """Say what to do with a word that stands alone and has no place."""
    quotes = "What has blanks or parentheses stands in quotes: 'P(a | b)'"
    if "--variables" in known:
        return f"Variables follow --variables, what was observed --evidence. {quotes}."
    return f"{quotes}; --evidence 'a and b' takes one formula." if "--evidence" in known else f"{quotes}."


def _parser() -> ArgumentParser:
    parser = _Parser(
        prog="credalog",
        description="Probability bounds on logic formulas: read, explain and answer Logical Credal Networks.",
        epilog=CODES,
    )
    parser.add_argument("--version", action="version", version=f"credalog {version('credalog')}")
    words = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        own = words.add_parser(
            command.name,
            help=command.summary,
            description=command.summary,
            epilog=CODES,
            formatter_class=RawDescriptionHelpFormatter,
        )
        command.add_to(own)
    return parser
