"""Plots beside the answers: `--plot FILE`.

Input: answers, and what was reported while the last of them was sought. Output: a picture in a file, whose
ending says in which form.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credalog.cli.command import Argument, effort, note
from credalog.cli.output import check_target, write
from credalog.errors import CredalogError

if TYPE_CHECKING:
    from credalog.cli.progress import Watch
    from credalog.lcn import LCN
    from credalog.methods.answer import Answer, Marginals
    from credalog.show.canvas import Picture

PLOT = Argument("--plot", "draw the result, too: .svg, or .png and .pdf with matplotlib", "FILE")


def check_plot(arguments: Namespace) -> None:
    """Complain about a file that a plot cannot be written to, before any work."""
    path = arguments.plot
    if path is None:
        return
    from credalog.show.canvas import FORMS, require_painter

    if Path(path).suffix.lower().removeprefix(".") not in FORMS:
        raise CredalogError(
            f"{path} does not say what kind of picture it is to be",
            advice=f"Name it {Path(path).stem or 'plot'}.svg; .png and .pdf need matplotlib.",
        )
    check_target(path, model=arguments.file, read=arguments.data or ())
    if not path.lower().endswith(".svg"):
        require_painter()


def write_plot(picture: Picture, arguments: Namespace) -> None:
    """Write a picture in the form that its file's name asks for."""
    write(picture.in_form(Path(arguments.plot).suffix.lower().removeprefix(".")), arguments.plot)


def plot_answers(model: LCN, answers: Sequence[Answer], watch: Watch, arguments: Namespace) -> None:
    """Draw intervals one below the other, and how a single one closed."""
    if arguments.plot is None:
        return
    if not answers:
        note(f"{arguments.plot} was not written: there is no answer to draw.")
        return
    if arguments.command == "marginals":
        picture = _marginals(model, answers, arguments)
    else:
        picture = _intervals(answers, watch)
    with arguments.clock.silenced():
        write_plot(picture, arguments)


def _marginals(model: LCN, answers: Sequence[Answer], arguments: Namespace) -> Picture:
    """Draw the marginals, beside those without the evidence of the command line if there is any."""
    from credalog.methods.answer import Marginals

    before: Marginals | None = None
    if arguments.evidence:
        with arguments.clock.giving_up():
            said = model.theory.evidence[: -len(arguments.evidence)]
            unaware = type(model)(replace(model.theory, evidence=said))
            limits = effort(arguments, "method", left=max(len(answers), 1))
            before = unaware.marginals(**limits)
    return Marginals(tuple(answers)).plot(before=before)


def _intervals(answers: Sequence[Answer], watch: Watch) -> Picture:
    from credalog.show.plots import Line, Recording, interval_plot, stacked

    picture = interval_plot([Line(str(answer.query), answer.interval) for answer in answers])
    recording = Recording()
    for report in watch.reports:
        recording(report)
    if len(answers) > 1 or not recording.moments:
        return picture
    return stacked([picture, recording.plot(answers[0], title="how it closed")])


def plot_result(found: Any, arguments: Namespace) -> None:
    """Draw a result that knows how."""
    if arguments.plot is not None:
        write_plot(found.plot(), arguments)
