"""Commands that ask: query, marginals, run.

Input: the arguments of one command. Output: a table of intervals, or JSON; while a long question is worked
on, a line on standard error that shows how far it has come.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from credalog.choices import METHODS, PROPAGATIONS
from credalog.cli.command import (
    ANSWERED,
    INTERRUPTED,
    Command,
    add_effort,
    add_evidence,
    complain,
    effort,
    load_model,
    note,
    positive,
    refuse_unless,
)
from credalog.cli.output import CELLS, Column, bar, shown_lower, shown_upper, write_json, write_table
from credalog.cli.progress import Watch
from credalog.errors import CredalogError, InconsistentNetwork, Option

if TYPE_CHECKING:
    from credalog.lcn import LCN
    from credalog.methods.answer import Answer, Report
    from credalog.network.formulas import Variable
    from credalog.network.sentences import Query

    Asking: TypeAlias = Callable[[Watch], Iterator[tuple[str, Answer | CredalogError]]]

__all__ = ["ASKING", "blamed", "unanswered", "write_answers"]

MOST_REASONS = 3
"""So many answers that say nothing are explained."""

COMPILING = "compiling, which takes up to a minute the first time"

COLUMNS = (
    Column("query"),
    Column("lower", "right"),
    Column("upper", "right"),
    Column(f"0{'1':>{CELLS - 1}}", rank=5),
    Column("gap", "right", rank=3),
    Column("status"),
    Column("warrant", rank=2),
    Column("method", rank=1),
    Column("seconds", "right", rank=4),
)


def query(arguments: Namespace) -> int:
    """Answer the queries given on the command line, once all of them are understood."""
    model = _model(arguments)
    queries = [model.question(text) for text in arguments.query]
    return _answer(model, arguments, lambda watch: _asked(model, queries, arguments, watch))


def run(arguments: Namespace) -> int:
    """Answer the queries that stand in the file."""
    model = _model(arguments)
    if not model.queries:
        raise CredalogError(
            f"{arguments.file} asks nothing",
            advice="Add a line such as `query P(a | b)`, or use `credalog query FILE 'P(a | b)'`.",
        )
    queries = [model.question(one) for one in model.queries]
    return _answer(model, arguments, lambda watch: _asked(model, queries, arguments, watch))


def marginals(arguments: Namespace) -> int:
    """Answer P(x) for every variable x, or P(x = value) for every value."""
    from credalog.methods.answer import marginal_atoms
    from credalog.network.sentences import Query

    refuse_unless(
        arguments.window is None or arguments.method == "sound", "--window", Option("method", "sound")
    )
    model = _model(arguments)
    if arguments.method in PROPAGATIONS:
        refuse_unless(arguments.jobs == 1, "--jobs", "a method that answers one question at a time")
        return _answer(model, arguments, lambda watch: _propagated(model, arguments, watch))
    at_once = model.point_marginals(**effort(arguments, "method"))
    if at_once is not None:
        return _answer(model, arguments, lambda _: ((str(answer.query), answer) for answer in at_once))
    queries = [model.question(Query(atom)) for atom in marginal_atoms(model.ground())]
    return _answer(model, arguments, lambda watch: _asked(model, queries, arguments, watch))


def _model(arguments: Namespace) -> LCN:
    refuse_unless(arguments.json or not arguments.witnesses, "--witnesses", "--json")
    return load_model(arguments)


def _propagated(model: LCN, arguments: Namespace, watch: Watch) -> Iterator[tuple[str, Answer]]:
    watch.say(f"{arguments.method}: {COMPILING}")
    found = model.propagate(
        variant=arguments.method,
        window=arguments.window or 0,
        markov=arguments.markov,
        report=watch.round,
    )
    if found.crossed is not None:
        _tell_of_crossing(model, found.crossed, arguments)
    known = frozenset(model.variables)
    return ((str(a.query), a) for a in found.answers() if a.query.scope[0] in known)


def _tell_of_crossing(model: LCN, crossed: Variable, arguments: Namespace) -> None:
    """Say that the paper's propagation has no fixed point; complain if that is because there is no model."""
    note(
        f"the messages to {crossed.name} cross: bp has no fixed point here, and its intervals say nothing.\n"
        "  Crossing proves nothing by itself; try --method sound, or `credalog check`."
    )
    # The sound variant raises an error where its messages cross, because that does prove something.
    without_evidence = type(model)(replace(model.theory, evidence=()))
    without_evidence.propagate(variant="sound", markov=arguments.markov)


def _asked(
    model: LCN, queries: Sequence[Query], arguments: Namespace, watch: Watch
) -> Iterator[tuple[str, Answer | CredalogError]]:
    """Answer one question after the other, or several at once if there are processes to do it."""
    limits = effort(arguments, "method")
    # More processes than processors, or than questions, help nobody.
    jobs = min(arguments.jobs, len(queries), os.cpu_count() or 1)
    if jobs <= 1:
        for asked in queries:
            watch.begin(str(asked))
            yield str(asked), _tried(model, asked, limits, watch)
    else:
        from joblib import Parallel, delayed

        # Reports do not cross from one process to another, so there is no progress to watch.
        watch.begin("all questions")
        parallel = Parallel(n_jobs=jobs, return_as="generator")
        answers = parallel(delayed(_tried)(model, asked, limits) for asked in queries)
        yield from zip(map(str, queries), answers, strict=True)


def _tried(
    model: LCN, asked: Query, limits: dict[str, Any], report: Report | None = None
) -> Answer | CredalogError:
    """Return the answer, or why there is none: the other questions are answered all the same."""
    try:
        return model.query(asked, **limits, report=report)
    except CredalogError as error:
        return error


def _answer(model: LCN, arguments: Namespace, asking: Asking) -> int:
    """Collect the answers and write them, even where a question fails or the user has had enough."""
    found: list[dict[str, Any]] = []
    failed: list[CredalogError] = []
    vacuous: list[Answer] = []
    with Watch() as watch:
        try:
            for question, answer in asking(watch):
                if isinstance(answer, CredalogError):
                    found += [unanswered(question, answer)] if arguments.json else []
                    failed.append(blamed(question, answer))
                    if isinstance(answer, InconsistentNetwork):
                        break
                    continue
                found.append({**answer.to_dict(), **(_witnesses(answer) if arguments.witnesses else {})})
                vacuous.append(answer)
                if answer.interrupted or watch.is_interrupted:
                    watch.is_interrupted = True
                    break
        except KeyboardInterrupt:
            watch.is_interrupted = True
            found.append(_interrupted(watch))
    # The line that shows the progress is gone by now.
    write_answers(found, arguments)
    if not watch.is_interrupted and arguments.command != "marginals":
        _explain_vacuous(model, vacuous, arguments)
    codes = [complain(error) for error in failed]
    return INTERRUPTED if watch.is_interrupted else next(iter(codes), ANSWERED)


def blamed(question: str, error: CredalogError) -> CredalogError:
    """Say which question failed, unless the network is to blame and not the question."""
    if not isinstance(error, InconsistentNetwork):
        error.message = f"{question}: {error.message}"
    return error


def _explain_vacuous(model: LCN, answers: Sequence[Answer], arguments: Namespace) -> None:
    """Say why answers are no narrower than [0, 1], if a reason can be found."""
    told = 0
    for answer in answers:
        why = model.reasons(answer, markov=arguments.markov) if told < MOST_REASONS else ()
        if why:
            told += 1
            note(f"{answer.query} is {answer.interval}: {'; '.join(why)}.")


def _witnesses(answer: Answer) -> dict[str, Any]:
    """Return the models that attain the ends, as conditional tables."""
    from credalog.tables.conditional import as_tables

    ends = {"lower_witness": answer.lower_witness, "upper_witness": answer.upper_witness}
    return {name: None if model is None else as_tables(model) for name, model in ends.items()}


def unanswered(question: str, error: CredalogError, *, as_a: str = "query") -> dict[str, Any]:
    """Return what `--json` writes in the place of an answer that cannot be given."""
    return {as_a: question, "status": "FAILED", "error": error.message, "exit_code": error.exit_code}


def _interrupted(watch: Watch) -> dict[str, Any]:
    """Return what was known of the question under way; a bound is a solver's word while it works."""
    (lower, low_witness), (upper, high_witness) = watch.reached("lower"), watch.reached("upper")
    return {
        "query": watch.question,
        "lower": 0.0 if lower is None else lower,
        "upper": 1.0 if upper is None else upper,
        "lower_witnessed": low_witness,
        "upper_witnessed": high_witness,
        "lower_warrant": "CHECKED" if lower is None else "CLAIMED",
        "upper_warrant": "CHECKED" if upper is None else "CLAIMED",
        "status": "INTERRUPTED",
        "method": "",
        "seconds": watch.seconds,
    }


def write_answers(found: Sequence[dict[str, Any]], arguments: Namespace) -> None:
    """Write answers as a table, or as a JSON list of objects."""
    if arguments.json:
        write_json(found)
    elif found:
        write_table(COLUMNS, [_row(one) for one in found])


def _gap(found: dict[str, Any], attained: tuple[float, float] | None) -> str:
    """Say how far the bounds may be from the truth; an estimate says nothing of it."""
    lower, upper = found["lower"], found["upper"]
    if attained is not None:
        return f"{max(attained[0] - lower, upper - attained[1], 0.0):.0e}"
    is_bound = "HEURISTIC" not in (found["lower_warrant"], found["upper_warrant"])
    return f"≤{upper - lower:.0e}" if is_bound else "?"


def _row(found: dict[str, Any]) -> Sequence[str]:
    lower, upper = found["lower"], found["upper"]
    low_witness, high_witness = found["lower_witnessed"], found["upper_witnessed"]
    attained = None if None in (low_witness, high_witness) else (low_witness, high_witness)
    warrants = dict.fromkeys((found["lower_warrant"], found["upper_warrant"]))
    return (
        found["query"],
        shown_lower(lower),
        shown_upper(upper),
        bar(lower, upper, attained),
        _gap(found, attained),
        found["status"].lower(),
        "/".join(warrants).lower(),
        found["method"],
        f"{found['seconds']:.2f}",
    )


def _run_arguments(parser: ArgumentParser) -> None:
    add_effort(parser)
    add_evidence(parser)
    parser.add_argument("--method", choices=METHODS, default="auto", help="how to compute (default auto)")
    parser.add_argument(
        "--jobs", type=positive(int), default=1, metavar="N", help="work in N processes (default 1)"
    )
    parser.add_argument(
        "--witnesses", action="store_true", help="with --json, add the models that attain the ends"
    )


def _query_arguments(parser: ArgumentParser) -> None:
    _run_arguments(parser)
    parser.add_argument("query", metavar="QUERY", nargs="+", help="a question such as 'P(a | b and not c)'")


def _marginals_arguments(parser: ArgumentParser) -> None:
    _run_arguments(parser)
    parser.add_argument(
        "--window",
        type=int,
        metavar="K",
        help="how far a factor sees in sound propagation (default 0)",
    )


ASKING = (
    Command("query", "bound the probability of formulas", _query_arguments, query),
    Command("marginals", "bound the probability of every variable", _marginals_arguments, marginals),
    Command("run", "answer the query lines of a file", _run_arguments, run),
)
