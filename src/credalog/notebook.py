"""Notebooks: a cell of the language, questions beside it, and a bar while they are worked on.

Input: the cells of IPython and Jupyter. Output: `%%lcn`, which reads a model, draws it and answers its
queries; `%lcn P(a | b)`, which asks the model that was read last; `Meter`, a report that shows how far
something has come.

    %load_ext credalog
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from html import escape
from keyword import iskeyword
from shlex import split
from time import monotonic
from types import MethodType
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.getipython import get_ipython
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.display import HTML, DisplayHandle, display

from credalog.errors import CredalogError, UnknownName
from credalog.lcn import LCN, parse
from credalog.methods.answer import Marginals
from credalog.methods.progress import Progress
from credalog.numbers.interval import VACUOUS, Endpoint, Interval, Warrant
from credalog.show.html import picture
from credalog.show.sketch import short

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from credalog.methods.intervals import Round

__all__ = ["LcnMagics", "Meter", "load_ipython_extension"]

PAUSE = 0.1
"""Seconds between two drawings: more often is flicker."""


class Meter:
    """A report that shows an interval closing, or the rounds of a propagation, while work is under way.

    Pass it as `report=`; when all is done, `close()` takes it away, or leave a `with` block.
    """

    def __init__(self, question: str = "") -> None:
        self.question = question
        self.interval = VACUOUS
        self._drawn = 0.0
        self._handle: DisplayHandle | None = None

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, report: Progress | Round) -> None:
        """Show what is known; not more often than eyes can follow."""
        if isinstance(report, Progress) and report.end is not None:
            learned = Endpoint(report.bound, report.witnessed, Warrant.CLAIMED)
            self.interval = self.interval.learning(learned, report.end)
        if monotonic() - self._drawn >= PAUSE and _draws_html():
            self._drawn = monotonic()
            self._show(self._html(report))

    def _html(self, report: Progress | Round) -> str:
        if not isinstance(report, Progress):
            return f"<code>round {report.number}, largest change {report.largest_change:.1e}</code>"
        stage = f" {report.stage}" if report.stage else ""
        words = f"{self.question} {short(self.interval)}, {report.seconds:.1f} s{stage}"
        return f"{picture(Interval(self.interval.lower, self.interval.upper))} <code>{escape(words)}</code>"

    def _show(self, html: str) -> None:
        if self._handle is None:
            self._handle = display(HTML(html), display_id=True)
        else:
            self._handle.update(HTML(html))

    def close(self) -> None:
        """Take the bar away."""
        if self._handle is not None:
            self._handle.update(HTML(""))
            self._handle = None


def _draws_html() -> bool:
    """Tell whether there is somebody who sees more than text."""
    shell = get_ipython()
    formatter = None if shell is None else shell.display_formatter
    return formatter is not None and "text/html" in formatter.active_types


class _Words(ArgumentParser):
    """Arguments of a magic; a mistake in them is one of the user's, not the end of the kernel."""

    def error(self, message: str) -> NoReturn:
        """Complain about a word."""
        raise CredalogError(message, advice=self.format_usage().strip())


def _cell_words() -> _Words:
    words = _Words(prog="%%lcn", add_help=False)
    words.add_argument("name", nargs="?", default="lcn")
    words.add_argument("--data", action="append")
    words.add_argument("--timeout", type=float, default=30.0)
    words.add_argument("--markov", default="local")
    return words


@magics_class
class LcnMagics(Magics):
    """The magic `lcn`: of a cell it reads a model, of a line it asks one."""

    model: LCN | None = None

    @line_cell_magic
    def lcn(self, line: str, cell: str | None = None) -> Any:
        """Read the model of a cell and answer its queries; or ask a question of the model read last."""
        try:
            return self._asked(line) if cell is None else self._read(line, cell)
        except CredalogError as error:
            raise _quiet(error) from None

    def _read(self, line: str, cell: str) -> None:
        chosen = _cell_words().parse_args(split(line))
        if not chosen.name.isidentifier() or iskeyword(chosen.name):
            advice = "Write a name of Python: %%lcn model"
            raise UnknownName(f"{chosen.name} cannot name a model", advice=advice)
        self.model = model = parse(cell, data=chosen.data)
        assert self.shell is not None
        self.shell.user_ns[chosen.name] = model
        shown = model.drawn()
        if shown is not None:
            display(shown)
        answers = [self._answer(model, query, chosen) for query in model.queries]
        if answers:
            display(Marginals(tuple(answers)))

    def _answer(self, model: LCN, query: Any, chosen: Namespace) -> Any:
        with Meter(str(query)) as meter:
            return model.query(query, timeout=chosen.timeout, markov=chosen.markov, report=meter)

    def _asked(self, line: str) -> Any:
        if self.model is None:
            raise CredalogError("there is no model yet", advice="Begin a cell with %%lcn and write one.")
        with Meter(line) as meter:
            return self.model.query(line, report=meter)


def _quiet(error: CredalogError) -> CredalogError:
    """Let an error speak for itself: where it was raised in our code is of no interest in a cell."""

    def lines(self: CredalogError) -> list[str]:
        return [f"\x1b[31m{type(self).__name__}\x1b[0m: {self}"]

    error._render_traceback_ = MethodType(lines, error)  # type: ignore[attr-defined]
    return error


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magic `lcn`."""
    shell.register_magics(LcnMagics)
