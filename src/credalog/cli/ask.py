"""Commands that ask: query, marginals, run.

Enters: the arguments of one command. Leaves: a table of intervals, or JSON; while a long question is worked
on, a line on standard error that shows how far it has come.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from credalog.cli.command import (
    ANSWERED,
    INTERRUPTED,
    Command,
    add_effort,
    add_evidence,
    effort,
    load_model,
    note,
    observed,
    positive,
)
from credalog.cli.output import (
    CELLS,
    Column,
    bar,
    interval_json,
    shown_lower,
    shown_upper,
    write_json,
    write_table,
)
from credalog.cli.progress import Watch
from credalog.errors import CredalogError, ImpossibleEvidence

if TYPE_CHECKING:
    from credalog.lcn import LCN
    from credalog.methods.answer import Answer
    from credalog.network.formulas import Variable
    from credalog.network.sentences import Query

    Asking: TypeAlias = Callable[[Watch], Iterator[Answer]]

__all__ = ["ASKING", "answer_json", "write_answers"]

METHODS = ("auto", "factorized", "sets", "joint", "nilsson", "scip", "ipopt")
PROPAGATIONS = ("bp", "sound")
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
    """Answer the queries given on the command line."""
    model = load_model(arguments)
    return _answer(arguments, lambda watch: _asked(model, arguments.query, arguments, watch))


def run(arguments: Namespace) -> int:
    """Answer the queries that stand in the file."""
    model = load_model(arguments)
    if not model.queries:
        raise CredalogError(
            f"{arguments.file} asks nothing",
            advice="Add a line such as `query P(a | b)`, or use `credalog query FILE 'P(a | b)'`.",
        )
    return _answer(arguments, lambda watch: _asked(model, model.queries, arguments, watch))


def marginals(arguments: Namespace) -> int:
    """Answer P(x) for every variable x, or P(x = value) for every value."""
    model = load_model(arguments)
    if arguments.method in PROPAGATIONS:
        return _answer(arguments, lambda watch: _propagated(model, arguments, watch))
    return _answer(arguments, lambda watch: _all_marginals(model, arguments, watch))


def _all_marginals(model: LCN, arguments: Namespace, watch: Watch) -> Iterator[Answer]:
    """Ask for one marginal after the other, or share them out among processes."""
    from credalog.methods.automatic import marginal_atoms
    from credalog.network.sentences import Query

    given = observed(arguments)
    if arguments.jobs > 1:
        watch.begin("all marginals")
        return iter(model.marginals(given=given, **_effort(arguments)))
    evidence = model.formula(given)
    queries = [Query(atom, evidence) for atom in marginal_atoms(model.ground())]
    return _asked(model, queries, arguments, watch)


def _propagated(model: LCN, arguments: Namespace, watch: Watch) -> Iterator[Answer]:
    found = model.propagate(
        variant=arguments.method,
        window=arguments.window,
        given=observed(arguments),
        markov=arguments.markov,
        report=watch.round,
    )
    if found.crossed is not None:
        _tell_of_crossing(model, found.crossed, arguments)
    return iter(found.answers())


def _tell_of_crossing(model: LCN, crossed: Variable, arguments: Namespace) -> None:
    """Say that the paper's propagation has no fixed point; complain if that is because there is no model."""
    note(
        f"the messages to {crossed.name} cross: bp has no fixed point here, and its intervals say nothing.\n"
        "  Crossing proves nothing by itself; try --method sound, or `credalog check`."
    )
    # The sound variant raises an error where its messages cross, because that does prove something.
    without_evidence = type(model)(replace(model.theory, evidence=()))
    without_evidence.propagate(variant="sound", markov=arguments.markov)


def _effort(arguments: Namespace) -> dict[str, Any]:
    return effort(arguments, "method", "jobs")


def _asked(
    model: LCN, queries: Sequence[str | Query], arguments: Namespace, watch: Watch
) -> Iterator[Answer]:
    """Answer one question after the other, or several at once if there are processes to do it."""
    limits = _effort(arguments)
    if arguments.jobs == 1:
        for asked in queries:
            watch.begin(_written(asked))
            yield model.query(asked, **limits, report=watch)
    else:
        from joblib import Parallel, delayed

        # Reports do not cross from one process to another, so there is no progress to watch.
        watch.begin("all queries")
        parallel = Parallel(n_jobs=arguments.jobs, return_as="generator")
        yield from parallel(delayed(model.query)(asked, **limits) for asked in queries)


def _written(asked: str | Query) -> str:
    from credalog.text import unparse_query

    return asked if isinstance(asked, str) else unparse_query(asked)


def _answer(arguments: Namespace, asking: Asking) -> int:
    """Collect the answers; write those found even where a later question fails or is interrupted."""
    found: list[dict[str, Any]] = []
    with Watch() as watch:
        try:
            for answer in asking(watch):
                found.append(answer_json(answer))
                if arguments.witnesses:
                    found[-1].update(_witnesses(answer))
                if answer.interrupted or watch.is_interrupted:
                    return INTERRUPTED
        except KeyboardInterrupt:
            found.append(_interrupted(watch))
            return INTERRUPTED
        except CredalogError as error:
            if arguments.json:
                found.append(_unanswered(watch.question, error))
            if isinstance(error, ImpossibleEvidence) and watch.question:
                error.message = f"{watch.question}: {error.message}"
            raise
        finally:
            write_answers(found, arguments)
    return ANSWERED


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as the object that `--json` writes."""
    from credalog.text import unparse_query

    return {
        "query": unparse_query(answer.query),
        **interval_json(answer.interval),
        "status": "INTERRUPTED" if answer.interrupted else answer.status.name,
        "method": answer.method,
        "seconds": answer.seconds,
    }


def _witnesses(answer: Answer) -> dict[str, Any]:
    """Return the models that attain the ends, as conditional tables."""
    from credalog.cli.diagnose import tables_json

    ends = {"lower_witness": answer.lower_witness, "upper_witness": answer.upper_witness}
    return {name: None if model is None else tables_json(model) for name, model in ends.items()}


def _unanswered(question: str, error: CredalogError) -> dict[str, Any]:
    """Return what `--json` writes in the place of an answer that cannot be given."""
    return {"query": question, "status": "FAILED", "error": error.message, "exit_code": error.exit_code}


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


def _row(found: dict[str, Any]) -> Sequence[str]:
    lower, upper = found["lower"], found["upper"]
    low_witness, high_witness = found["lower_witnessed"], found["upper_witnessed"]
    attained = None if None in (low_witness, high_witness) else (low_witness, high_witness)
    gap = "?" if attained is None else f"{max(low_witness - lower, upper - high_witness, 0.0):.0e}"
    warrants = dict.fromkeys((found["lower_warrant"], found["upper_warrant"]))
    return (
        found["query"],
        shown_lower(lower),
        shown_upper(upper),
        bar(lower, upper, attained),
        gap,
        found["status"].lower(),
        "/".join(warrants).lower(),
        found["method"],
        f"{found['seconds']:.2f}",
    )


def _run_arguments(parser: ArgumentParser, methods: Sequence[str] = METHODS) -> None:
    add_effort(parser)
    parser.add_argument("--method", choices=methods, default="auto", help="how to compute (default auto)")
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
    _run_arguments(parser, (*METHODS, *PROPAGATIONS))
    add_evidence(parser)
    parser.add_argument(
        "--window",
        type=int,
        default=0,
        metavar="K",
        help="how far a factor sees in sound propagation (default 0)",
    )


ASKING = (
    Command("query", "bound the probability of formulas", _query_arguments, query),
    Command("marginals", "bound the probability of every variable", _marginals_arguments, marginals),
    Command("run", "answer the query lines of a file", _run_arguments, run),
)
