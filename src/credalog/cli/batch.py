"""The command that asks many questions: batch.

Input: a model or many, and a file of questions. Output: a line of JSON for each question, or a Parquet file,
as the answers come; and on a terminal how far the batch has come. The same command again goes on where it
was interrupted.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from credalog.choices import METHODS
from credalog.cli.command import (
    ANSWERED,
    EVIDENCE,
    INTERRUPTED,
    MARKOV,
    MODEL,
    NONE_ANSWERED,
    OUTPUT,
    SECONDS,
    STANDARD_INPUT,
    TIMEOUT,
    UNDECIDED,
    Argument,
    Command,
    load_model,
    note,
    positive,
    precision,
    refuse_unless,
    time_left,
)
from credalog.cli.output import check_target
from credalog.cli.progress import CLEAR, PAUSE
from credalog.errors import CredalogError, LanguageError

if TYPE_CHECKING:
    from credalog.batches.asking import Batch
    from credalog.batches.catalogue import Catalogue
    from credalog.batches.items import Item
    from credalog.batches.journal import Fingerprint, Journal
    from credalog.batches.pools import Pool
    from credalog.lcn import LCN

GIGABYTE = 2.0**30

OTHER_FORMS = (".csv", ".tsv", ".xlsx", ".lcn", ".bif", ".uai")
"""What a file of answers is not, though its name may say so."""

REPORTING = 5.0
"""Seconds between two reports to the scheduler of a cluster."""


def batch(arguments: Namespace) -> int:
    """Ask all questions that are not answered in the output yet."""
    from credalog.batches.journal import journal

    _check(arguments)
    asked, fingerprint = _asked(arguments)
    if not asked.items:
        where = STANDARD_INPUT if arguments.questions == "-" else arguments.questions
        note(f"{where} asks nothing. A first line could be: P(a | b)")
    if arguments.output in (None, "-"):
        return _to_terminal(asked, arguments)
    with journal(Path(arguments.output), fingerprint) as opened:
        code = _answer(asked, opened, arguments)
        opened.is_complete = len(opened.done) == len(asked.items)
    return code


def _check(arguments: Namespace) -> None:
    """Complain of what cannot be, before anything is read."""
    if (arguments.file is None) == (arguments.models is None):
        raise LanguageError(
            "one model or a folder of models is needed",
            advice="Write `credalog batch MODEL QUESTIONS`, or `credalog batch --models FOLDER QUESTIONS`.",
        )
    if arguments.file == arguments.questions == "-":
        raise LanguageError(
            "standard input cannot be both the model and the questions", advice="Name a file for one of them."
        )
    _check_output(arguments)
    refuse_unless(arguments.cluster is None or arguments.jobs is None, "--jobs", "no --cluster")
    refuse_unless(arguments.cluster is None or arguments.memory is None, "--memory", "--jobs")
    if arguments.models is not None:
        refuse_unless(not (arguments.evidence or arguments.data), "--evidence or --data", "one model")
        refuse_unless(not arguments.template, "--template", "one model")


def _check_output(arguments: Namespace) -> None:
    """Complain of a file to write to that would not hold what its name says, or that is read."""
    read = [arguments.questions, *(arguments.data or ())]
    check_target(arguments.output, model=arguments.file or "-", read=read)
    if (
        arguments.output is not None
        and Path(arguments.output).exists()
        and not Path(arguments.output).is_file()
    ):
        raise CredalogError(
            f"{arguments.output} is no file that a batch could be continued in",
            advice="Name one, or leave -o out and send standard output there: > or |.",
        )
    if Path(arguments.output or "").suffix.lower() in OTHER_FORMS:
        raise CredalogError(
            f"answers are not written in the form of {arguments.output}",
            advice=f"Name it {Path(arguments.output).stem}.jsonl for lines of JSON, .parquet for a table.",
        )


# ---- what is asked ----------------------------------------------------------------------------------------


def _asked(arguments: Namespace) -> tuple[Batch, Fingerprint]:
    """Read the models and the questions."""
    from credalog.batches.answering import Settings
    from credalog.batches.asking import Batch
    from credalog.batches.journal import Fingerprint
    from credalog.batches.reading import content_of

    catalogue, content = _catalogue(arguments), content_of(arguments.questions)
    items = _items(arguments, catalogue, content)
    options = {
        "tolerance": arguments.tolerance,
        "method": arguments.method,
        "markov": arguments.markov,
        "query": arguments.query,
        "ignored": arguments.ignore,
        "witnesses": arguments.witnesses,
    }
    settings = Settings(
        arguments.each, arguments.tolerance, arguments.method, arguments.markov, arguments.witnesses
    )
    return Batch.of(catalogue, items, settings), Fingerprint.of(catalogue.content, content, options)


def _catalogue(arguments: Namespace) -> Catalogue:
    from credalog.batches.catalogue import Folder, OneModel, Template
    from credalog.text.statements import text_of

    if arguments.models is not None:
        return Folder(arguments.models)
    if arguments.template:
        return Template(text_of(Path(arguments.file)))
    return OneModel(load_model(arguments))


def _items(arguments: Namespace, catalogue: Catalogue, content: bytes) -> Iterable[Item]:
    """Return the questions of a file, or of the rows of a table."""
    from credalog.batches.catalogue import OneModel, Template
    from credalog.batches.reading import LINES_OF_JSON, is_table, read_items, read_table, slots, table_items

    query = arguments.query or ""
    if Path(arguments.questions).suffix.lower() not in LINES_OF_JSON:
        is_counted = arguments.query is None or is_table(arguments.questions)
        refuse_unless(is_counted, "--query", "a table of questions, or lines of JSON")
    if not is_table(arguments.questions):
        refuse_unless(not arguments.template, "--template", "a table of questions")
        refuse_unless(not arguments.ignore, "--ignore", "a table of questions")
        return read_items(arguments.questions, query=query, content=content)
    return table_items(
        read_table(arguments.questions, content),
        query=query,
        model_slots=slots(catalogue.text) if isinstance(catalogue, Template) else (),
        ignored=arguments.ignore,
        check=partial(_variable, catalogue.model) if isinstance(catalogue, OneModel) else None,
    )


def _variable(model: LCN, name: str) -> object:
    """Complain of what is no variable; of a large network not all are known by name."""
    return model.formula(name) if model.is_large else model.variable(name)


# ---- asking -----------------------------------------------------------------------------------------------


@contextmanager
def _workers(asked: Batch, arguments: Namespace) -> Iterator[Pool]:
    """Start workers, or connect to those of a cluster."""
    from credalog.batches.asking import pool_for

    memory = None if arguments.memory is None else arguments.memory * GIGABYTE
    if arguments.cluster is None:
        with closing(pool_for(asked.catalogue, jobs=arguments.jobs or 1, memory=memory)) as pool:
            yield pool
        return
    from credalog.batches.cluster import client_of

    with (
        client_of(arguments.cluster) as client,
        closing(pool_for(asked.catalogue, client=client)) as pool,
    ):
        yield pool


def _answer(asked: Batch, opened: Journal, arguments: Namespace) -> int:
    """Ask what is left, write each answer down, and say how it ended."""
    from credalog.numbers.budget import Budget

    left = len(asked.items) - len(opened.done)
    if opened.done:
        note(f"{len(opened.done):,} of {len(asked.items):,} questions have their lines in {arguments.output}")
    watch = _Watch(len(asked.items), opened)
    is_interrupted = False
    if left:
        try:
            with _workers(asked, arguments) as pool, watch:
                budget = Budget.of(time_left(arguments))
                for outcome in asked.outcomes(pool, done=opened.done, budget=budget):
                    opened.write(outcome)
                    watch.show(pool)
        except KeyboardInterrupt:
            is_interrupted = not arguments.clock.is_over
    return _ended(asked, opened, arguments, is_interrupted=is_interrupted)


def _ended(asked: Batch, opened: Journal, arguments: Namespace, *, is_interrupted: bool) -> int:
    """Say what was answered, and what to do about the rest."""
    done, count = len(opened.done), len(asked.items)
    failed = f", {opened.failed:,} failed" if opened.failed else ""
    share = 100.0 * opened.exact / done if done else 0.0
    note(f"{done - opened.failed:,} of {count:,} questions answered{failed}; {share:.1f} % exact")
    if done == count:
        return _code(done, opened.failed, arguments.output)
    note(f"the same command again goes on with the {count - done:,} that are left")
    return INTERRUPTED if is_interrupted else UNDECIDED


def _code(done: int, failed: int, place: str) -> int:
    """Return the exit code of a batch that came to its end; if all of it failed, tell where it says why."""
    if not done or failed < done:
        return ANSWERED
    note(f"every question failed; `error` in each line of {place} says why")
    return NONE_ANSWERED


def _to_terminal(asked: Batch, arguments: Namespace) -> int:
    """Write lines to standard output."""
    from credalog.batches.items import FAILED
    from credalog.numbers.budget import Budget

    done = failed = 0
    with _workers(asked, arguments) as pool:
        for outcome in asked.outcomes(pool, budget=Budget.of(time_left(arguments))):
            done += 1
            failed += outcome.status == FAILED
            print(json.dumps(outcome.to_dict(), ensure_ascii=False), flush=True)
    return _code(done, failed, "the output") if done == len(asked.items) else UNDECIDED


class _Watch:
    """A line on a terminal: what is done, how fast, what is left, and how much of it is exact."""

    def __init__(self, count: int, opened: Journal) -> None:
        self._count, self._opened = count, opened
        self._before = len(opened.done)
        self._began = self._drawn = self._told = monotonic()
        self._is_seen = sys.stderr.isatty()

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_seen:
            print(CLEAR, end="", file=sys.stderr, flush=True)

    def show(self, pool: Pool) -> None:
        """Draw the line, if it was not drawn just now; tell a cluster from time to time."""
        now = monotonic()
        if self._is_seen and now - self._drawn >= PAUSE:
            self._drawn = now
            print(f"{CLEAR}{self.line}", end="", file=sys.stderr, flush=True)
        if now - self._told >= REPORTING:
            self._told = now
            report = getattr(pool, "report", None)
            if report is not None:
                report(self.state)

    @property
    def state(self) -> Mapping[str, Any]:
        """Return how far the batch has come, in numbers."""
        done, opened = len(self._opened.done), self._opened
        rate = (done - self._before) / max(monotonic() - self._began, 1e-9)
        return {
            "done": done,
            "count": self._count,
            "per_second": rate,
            "seconds_left": (self._count - done) / rate if rate else inf,
            "exact": opened.exact / done if done else 0.0,
            "failed": opened.failed,
        }

    @property
    def line(self) -> str:
        """Return the same in words."""
        state = self.state
        failed = f"  {state['failed']:,} failed" if state["failed"] else ""
        return (
            f"{state['done']:,} of {state['count']:,}  {state['per_second']:.1f}/s"
            f"  {_duration(state['seconds_left'])} left  {100 * state['exact']:.1f} % exact{failed}"
        )


def _duration(seconds: float) -> str:
    """Say how long something takes, roughly."""
    if seconds == inf:
        return "?"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{hours:.1f} h" if hours >= 2 else f"{minutes:.0f} min" if minutes >= 2 else f"{seconds:.0f} s"


QUESTIONS = Argument(
    "questions",
    "questions: lines of text, lines of JSON (.jsonl), or a table of observations (.csv, .parquet)",
    "QUESTIONS",
)

BATCHING = (
    Command(
        "batch",
        "answer a file of questions, in any number of processes or on a cluster",
        (
            replace(MODEL[0], nargs="?"),
            QUESTIONS,
            *MODEL[1:],
            Argument("--models", "put the questions to each model in a folder", "FOLDER"),
            Argument(
                "--template",
                "each row of the table fills the {{column}}s of the model's text",
                action="store_true",
            ),
            Argument("--query", "what is asked in every row of a table; {{column}} is filled in", "QUERY"),
            Argument(
                "--ignore",
                "a column of the table that was not observed; may be repeated",
                "COLUMN",
                default=[],
                action="append",
            ),
            replace(OUTPUT, help="a .jsonl or .parquet file; what it answers already is not asked again"),
            Argument("--jobs", "work in N processes (default 1)", "N", positive(int)),
            Argument("--cluster", "the address of a Dask scheduler, or local:N", "ADDRESS"),
            Argument("--each", "seconds for each question (default 30)", "S", positive(float), SECONDS),
            replace(TIMEOUT, help="seconds for the whole batch (default: any)"),
            Argument("--memory", "gigabytes for each process (default: its share)", "GB", positive(float)),
            Argument("--tolerance", "the gap that counts as exact (default 1e-4)", "T", precision, 1e-4),
            MARKOV,
            EVIDENCE,
            Argument("--method", "how to compute (default auto)", default="auto", choices=METHODS),
            Argument("--witnesses", "add the models that attain the ends", action="store_true"),
        ),
        batch,
    ),
)
