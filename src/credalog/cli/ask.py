"""Commands that ask: query, marginals, run, decide.

Input: the arguments of one command. Output: a table of intervals or verdicts, or JSON; while a long question
is worked on, a line on standard error that shows how far it has come.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from credalog.choices import METHODS, PROPAGATIONS
from credalog.cli.certificates import CERTIFICATE, reserve, write_certificate
from credalog.cli.command import (
    ANSWERED,
    EFFORT,
    EVIDENCE,
    INTERRUPTED,
    QUERY,
    SHORTEST,
    Argument,
    Command,
    complain,
    count,
    effort,
    load_model,
    note,
    positive,
    refuse_unless,
    seconds_left,
    time_left,
)
from credalog.cli.output import (
    BAR,
    LOWER,
    PLOT,
    SECONDS,
    UPPER,
    Column,
    attained,
    check_plot,
    plot_answers,
    write,
    write_json,
    write_json_rows,
    write_rows,
    write_table,
)
from credalog.cli.progress import Stream, Watch
from credalog.errors import CredalogError, ImpossibleEvidence, InconsistentNetwork, Option
from credalog.numbers.interval import VACUOUS, Interval, Status, vacuous
from credalog.numbers.tolerances import FEASIBILITY

if TYPE_CHECKING:
    from credalog.lcn import LCN
    from credalog.methods.answer import Answer, Report
    from credalog.methods.intervals import Propagation
    from credalog.network.expressions import Question
    from credalog.network.formulas import Formula, Variable
    from credalog.network.sentences import Query
    from credalog.questions.decide import Decision

    Result: TypeAlias = Answer | Decision | CredalogError
    Asking: TypeAlias = Callable[[Watch], Iterator[tuple[object, Result]]]
    Closing: TypeAlias = Callable[[Sequence[Any]], dict[str, Any] | None]

MOST_REASONS = 3
"""So many answers that say nothing are explained."""

REASON_SECONDS = 4.0
"""How long reasons of one answer are looked for."""

PROPAGATION_PART = 8
"""Under a limit for all marginals, one part in so many of the time goes into bounding all of them first."""

TELLING = 4e-5
"""The seconds that it takes to put one answer down."""

STREAMED = 20_000
"""Answers about more variables are written one by one, and not collected first."""

COMPILING = "compiling, which takes up to a minute the first time"


def _gap(found: Mapping[str, Any]) -> str:
    """Say how far the bounds may be from the truth; an estimate says nothing of it."""
    lower, upper = found["lower"], found["upper"]
    if (values := attained(found)) is not None:
        # Both may be infinite.
        gaps = [a - b for a, b in ((values[0], lower), (upper, values[1])) if a != b]
        return f"{max([0.0, *gaps]):.0e}"
    is_bound = "HEURISTIC" not in (found["lower_warrant"], found["upper_warrant"])
    return f"≤{upper - lower:.0e}" if is_bound else "?"


def _warrants(found: Mapping[str, Any]) -> str:
    return "/".join(dict.fromkeys((found["lower_warrant"], found["upper_warrant"]))).lower()


def _verdict(found: Mapping[str, Any]) -> str:
    verdict: str = found["verdict"]
    return {"CERTAIN": "certainly", "EXCLUDED": "certainly not"}.get(verdict, verdict.lower())


ANSWERS = (
    Column("query", itemgetter("query")),
    LOWER,
    UPPER,
    BAR,
    Column("gap", _gap, "right", rank=3),
    Column("status", lambda found: found["status"].lower()),
    Column("warrant", _warrants, rank=2),
    Column("method", itemgetter("method"), rank=1),
    SECONDS,
)
VERDICTS = (
    Column("statement", itemgetter("statement")),
    Column("verdict", _verdict),
    LOWER,
    UPPER,
    BAR,
    Column("settled by", itemgetter("stage"), rank=3),
    SECONDS,
)


# ---- the commands -------------------------------------------------------------------------------------


def query(arguments: Namespace) -> int:
    """Answer the queries given on the command line, once all of them are understood."""
    model = _model(arguments)
    queries = [model.asked(text) for text in arguments.query]
    return _answer(model, arguments, lambda watch: _asked(model, queries, arguments, watch))


def run(arguments: Namespace) -> int:
    """Answer the queries that stand in the file."""
    model = _model(arguments)
    if not model.queries:
        raise CredalogError(
            f"{arguments.file} asks nothing",
            advice="Add a line such as `query P(a | b)`, or use `credalog query FILE 'P(a | b)'`.",
        )
    queries = [model.asked(one) for one in model.queries]
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
        if len(model.variables) > STREAMED and arguments.certificate is None:
            refuse_unless(arguments.plot is None, "--plot", f"{STREAMED:,} variables or fewer")
            return _streamed(model, arguments)
        return _answer(model, arguments, lambda watch: _propagated(model, arguments, watch))
    queries = [model.question(Query(atom)) for atom in marginal_atoms(model.ground())]
    arguments.clock.keep_for_telling(TELLING * len(queries))
    return _answer(model, arguments, lambda watch: _all_asked(model, queries, arguments, watch))


def decide(arguments: Namespace) -> int:
    """Tell whether statements hold in every model, in none, or in some, once all are understood."""
    model = load_model(arguments)
    for statement in arguments.statement:
        model.statement(statement)
    together = (lambda found: _together(model, found, arguments)) if arguments.together else None
    return _answer(model, arguments, lambda watch: _decided(model, arguments, watch), VERDICTS, together)


def _together(model: LCN, decisions: Sequence[Any], arguments: Namespace) -> dict[str, Any] | None:
    """Judge all statements at once, if each was decided."""
    if len(decisions) < len(arguments.statement):
        return None
    found = model.hold_together(decisions, **effort(arguments))
    return {"statement": "all together", "verdict": found.together.name, "stage": found.stage}


def _closing(found: Mapping[str, Any]) -> str:
    sentences = {
        "CERTAIN": "All together hold in every model",
        "EXCLUDED": "They hold together in no model",
        "UNDETERMINED": "They hold together in some models and not in others",
        "UNDECIDED": "Whether they hold together was not settled",
    }
    return f"\n{sentences[found['verdict']]} ({found['stage']}).\n"


def _model(arguments: Namespace) -> LCN:
    refuse_unless(arguments.json or not arguments.witnesses, "--witnesses", "--json")
    check_plot(arguments)
    return load_model(arguments)


# ---- asking one question after the other ----------------------------------------------------------------


def _asked(
    model: LCN, queries: Sequence[Question], arguments: Namespace, watch: Watch
) -> Iterator[tuple[Question, Answer | CredalogError]]:
    """Answer one question after the other, or several at once if there are processes to do it."""
    # More processes than processors, or than questions, help nobody.
    jobs = min(arguments.jobs, len(queries), os.cpu_count() or 1)
    jobs = 1 if getattr(arguments, "cluster", None) else jobs
    if jobs <= 1:
        for done, asked in enumerate(queries):
            found: Answer | CredalogError | None = None
            is_begun = False
            # The alarm rings once: nothing would end a question that is begun after it.
            if not arguments.clock.is_over and (not done or time_left(arguments) > 0.0):
                is_begun = True
                watch.begin(str(asked), _nothing_known(asked))
                limits = effort(arguments, "method", left=len(queries) - done) | _helpers(arguments)
                with arguments.clock.giving_up():
                    found = _tried(model, asked, limits, watch)
            yield asked, _settled(found, asked, arguments, watch if is_begun else None)
    else:
        limits = effort(arguments, "method", left=-(-len(queries) // jobs))
        from joblib import Parallel, delayed

        # Reports do not cross from one process to another, so there is no progress to watch.
        watch.begin("all questions")
        parallel = Parallel(n_jobs=jobs, return_as="generator")
        answers = parallel(delayed(_tried)(model, asked, limits) for asked in queries)
        left = list(queries)
        with arguments.clock.giving_up():
            for answer in answers:
                yield left[0], answer
                del left[0]
        for asked in left:
            yield asked, _settled(None, asked, arguments, None)


def _helpers(arguments: Namespace) -> dict[str, Any]:
    """Return who helps with one question after the other: the workers of a cluster, or several processes."""
    if getattr(arguments, "cluster", None) is None:
        return {"jobs": arguments.jobs}
    from credalog.program.workers import connected

    return {"client": connected(arguments.cluster)}


def _settled(
    found: Answer | CredalogError | None, asked: Question, arguments: Namespace, watch: Watch | None
) -> Answer | CredalogError:
    """Return an answer that was found, or what was seen of a question for which there was no time."""
    if isinstance(found, CredalogError):
        return found
    if found is not None:
        answer: Answer = arguments.clock.timely(found)
        return answer
    from credalog.methods.answer import Answer

    nothing = _nothing_known(asked)
    interval, seconds = (nothing, 0.0) if watch is None else (watch.bounds, watch.seconds)
    status = Status.UNDECIDED if interval == nothing else Status.BOUNDED
    return Answer(asked, interval, status, "time was up", seconds)


def _nothing_known(asked: Question) -> Interval:
    """Return the interval of a question before any work."""
    from credalog.methods.reduction import scale_of
    from credalog.network.sentences import Query

    return VACUOUS if isinstance(asked, Query) else vacuous(scale_of(asked))


def _all_asked(
    model: LCN, queries: Sequence[Query], arguments: Namespace, watch: Watch
) -> Iterator[tuple[Question, Answer | CredalogError]]:
    """Answer what can be answered at once, and then one question after the other.

    Under a limit for all of them, propagation bounds each first, should there be no time to ask for it.
    """
    watch.begin("all marginals")
    known: Mapping[Query, Answer] = {}
    bounds: Mapping[Query, Answer] = {}
    with arguments.clock.giving_up():
        known = model.marginals_at_once(**effort(arguments, "method", left=max(2 * len(queries), 1)))
    left = [asked for asked in queries if asked not in known]
    if left and arguments.timeout and not arguments.clock.is_over:
        with arguments.clock.giving_up():
            bounds = _bounded_at_once(model, left, arguments)
    others = _asked(model, left, arguments, watch)
    for asked in queries:
        _, answer = (asked, known[asked]) if asked in known else next(others)
        yield asked, _within(answer, bounds.get(asked), arguments)


def _bounded_at_once(model: LCN, queries: Sequence[Query], arguments: Namespace) -> dict[Query, Answer]:
    """Bound all marginals by sound propagation."""
    if arguments.method != "auto":
        return {}
    from credalog.network.formulas import Is

    seconds = effort(arguments, left=PROPAGATION_PART)["timeout"]
    found = model.propagate(variant="sound", timeout=seconds, markov=arguments.markov)
    return {asked: found.answer(asked.claim, asked) for asked in queries if isinstance(asked.claim, Is)}


def _within(
    answer: Answer | CredalogError, bounds: Answer | None, arguments: Namespace
) -> Answer | CredalogError:
    """Return an answer within bounds that were found before."""
    if isinstance(answer, CredalogError) or bounds is None:
        return answer
    interval = answer.interval.joined(bounds.interval)
    status = interval.status(arguments.tolerance)
    method = bounds.method if answer.interval == VACUOUS else answer.method
    return replace(answer, interval=interval, status=status, method=method)


def _tried(
    model: LCN, asked: Question, limits: dict[str, Any], report: Report | None = None
) -> Answer | CredalogError:
    """Return the answer, or why there is none: the other questions are answered all the same."""
    try:
        return model.query(asked, **limits, report=report)
    except CredalogError as error:
        return error


def _decided(
    model: LCN, arguments: Namespace, watch: Watch
) -> Iterator[tuple[str, Decision | CredalogError]]:
    for done, statement in enumerate(arguments.statement):
        watch.begin(statement)
        limits = effort(arguments, left=len(arguments.statement) - done)
        found: Decision | CredalogError | None = None
        with arguments.clock.giving_up():
            try:
                found = model.decide(statement, report=watch, **limits)
            except CredalogError as error:
                found = error
        yield statement, _undecided(model, statement, watch) if found is None else found


def _undecided(model: LCN, statement: str, watch: Watch) -> Decision:
    """Return what is known of a statement for which there was no time."""
    from credalog.questions.decide import Decision, Relation, Verdict

    asked, order, threshold = model.statement(statement)
    relation, verdict, known = Relation(order.value), Verdict.UNDECIDED, _nothing_known(asked)
    return Decision(asked, relation, threshold, verdict, known, "time was up", watch.seconds)


def _propagated(model: LCN, arguments: Namespace, watch: Watch) -> Iterator[tuple[Question, Answer]]:
    found = _propagation(model, arguments, watch)
    known = frozenset(model.variables)
    return ((a.query, a) for a in found.answers() if a.query.scope[0] in known)


def _streamed(model: LCN, arguments: Namespace) -> int:
    """Propagate, and write the answers one by one: of a million none is kept."""
    with Watch(arguments.clock) as watch:
        try:
            found = _propagation(model, arguments, watch)
        except KeyboardInterrupt:
            if arguments.clock.is_over:
                raise
            found = None
    arguments.clock.silence()
    if found is None:
        left = [_interrupted(watch)]
        write_json(left) if arguments.json else write_table(ANSWERS, left)
        return INTERRUPTED
    # Variables that only the evidence mentions come last, and nobody asked for them.
    count = sum(1 if v.is_proposition else len(v.values) for v in model.variables)
    rows = (answer.to_dict() for answer in islice(found.stream(), count))
    if arguments.json:
        write_json_rows(rows)
    else:
        write_rows(ANSWERS, rows, _widest(model, found.evidence))
    return ANSWERED


def _widest(model: LCN, given: Formula) -> int:
    """Return the length of the longest of all questions."""
    from credalog.network.sentences import Query

    def atom(variable: Variable) -> Formula:
        return variable.is_("true" if variable.is_proposition else max(variable.values, key=len))

    plain = max((v for v in model.variables if v.is_proposition), key=lambda v: len(v.name), default=None)
    atoms = [atom(v) for v in model.variables if not v.is_proposition]
    atoms += [] if plain is None else [atom(plain)]
    return max((len(str(Query(one, given))) for one in atoms), default=0)


def _propagation(model: LCN, arguments: Namespace, watch: Watch) -> Propagation:
    watch.say(f"{arguments.method}: {COMPILING}")
    found = model.propagate(
        variant=arguments.method,
        window=None if arguments.window is None and arguments.timeout else arguments.window or 0,
        timeout=seconds_left(arguments, inf),
        markov=arguments.markov,
        report=watch.round,
    )
    if found.crossed is not None:
        _tell_of_crossing(model, found.crossed, arguments)
    elif not found.converged:
        note(f"{arguments.method} has not converged within its limits; its intervals are those reached.")
    return found


def _tell_of_crossing(model: LCN, crossed: Variable, arguments: Namespace) -> None:
    """Say that the propagation has no fixed point; complain if that is because there is no model."""
    note(
        f"the messages to {crossed.name} cross: {arguments.method} has no fixed point here, and its intervals"
        " say nothing.\n  Crossing proves nothing by itself; try --method sound, or `credalog check`."
    )
    # The sound variant raises an error where its messages cross, because that does prove something.
    without_evidence = type(model)(replace(model.theory, evidence=()))
    seconds = seconds_left(arguments, inf)
    without_evidence.propagate(variant="sound", timeout=seconds, markov=arguments.markov)


# ---- writing the answers ------------------------------------------------------------------------------


def _answer(
    model: LCN,
    arguments: Namespace,
    asking: Asking,
    columns: Sequence[Column] = ANSWERS,
    closing: Closing | None = None,
) -> int:
    """Collect the answers and write them, even where a question fails or the user has had enough.

    `closing` says something of all of them.
    """
    from credalog.questions.decide import Decision

    refuse_unless(arguments.json or not arguments.progress, "--progress", "--json")
    if arguments.certificate is not None:
        reserve(arguments)
    collected = _Collected(arguments, columns)
    with Watch(arguments.clock, Stream() if arguments.progress else None) as watch:
        collected.take_all(asking, watch)
    # The line that shows the progress is gone by now.
    answers = collected.answers
    last: dict[str, Any] | None = None
    with arguments.clock.giving_up():
        last = None if closing is None or watch.is_interrupted else closing(answers)
    with arguments.clock.silenced():
        _write_found(collected.found, last, columns, arguments)
    if arguments.command in ("query", "run") and not watch.is_interrupted:
        with arguments.clock.giving_up():
            _explain_vacuous(model, answers, arguments)
            _tell_of_open_ends(answers)
    if arguments.certificate is not None and answers and not watch.is_interrupted:
        write_certificate(model, answers, arguments)
    if arguments.command != "decide":
        plot_answers(model, [one for one in answers if not isinstance(one, Decision)], watch, arguments)
    codes = [complain(error, arguments) for error in collected.failed]
    return INTERRUPTED if watch.is_interrupted else next(iter(codes), ANSWERED)


class _Collected:
    """What became of the questions of one command: rows to write, answers, and failures."""

    def __init__(self, arguments: Namespace, columns: Sequence[Column]) -> None:
        self.found: list[dict[str, Any]] = []
        self.failed: list[CredalogError] = []
        self.answers: list[Answer | Decision] = []
        self._arguments = arguments
        self._columns = columns

    def take_all(self, asking: Asking, watch: Watch) -> None:
        """Ask one question after the other, until the user or the time ends it."""
        try:
            for question, answer in asking(watch):
                self._take(question, answer, watch)
                if watch.is_interrupted or _is_the_end(answer, self._arguments):
                    break
        except KeyboardInterrupt:
            watch.is_interrupted = not self._arguments.clock.is_over
            self.found += [_interrupted(watch)] if self._columns is ANSWERS else []

    def _take(self, question: object, answer: Result, watch: Watch) -> None:
        arguments = self._arguments
        if isinstance(answer, CredalogError):
            text = str(question)
            row = _unanswered(self._columns[0].heading, text, answer)
            self.found += [row] if arguments.json else []
            self.failed.append(answer if _is_the_end(answer, arguments) else _blamed(text, answer))
            return
        self.found.append(answer.to_dict() | _witnesses(answer, arguments))
        self.answers.append(answer)
        watch.is_interrupted |= self.found[-1].get("status") == "INTERRUPTED"


def _write_found(
    found: Sequence[dict[str, Any]],
    last: dict[str, Any] | None,
    columns: Sequence[Column],
    arguments: Namespace,
) -> None:
    """Write what was found as JSON or as a table, and what is said of all of it."""
    if arguments.json:
        write_json(found if last is None else [*found, last])
    elif found:
        write_table(columns, found)
        if last is not None:
            write(_closing(last))


def _unanswered(as_a: str, question: str, error: CredalogError) -> dict[str, Any]:
    """Return what `--json` writes in the place of an answer that cannot be given."""
    return {as_a: question, "status": "FAILED", "error": error.message, "exit_code": error.exit_code}


def _is_the_end(found: Result, arguments: Namespace) -> bool:
    """Tell whether no other question can be answered: all marginals have the same evidence."""
    is_evidence = isinstance(found, ImpossibleEvidence) and arguments.command == "marginals"
    return is_evidence or isinstance(found, InconsistentNetwork)


def _blamed(question: str, error: CredalogError) -> CredalogError:
    """Say which question failed."""
    error.message = f"{question}: {error.message}"
    return error


def _witnesses(answer: Answer | Decision, arguments: Namespace) -> dict[str, Any]:
    """Return the models that attain the ends, as conditional tables, if they are asked for."""
    if not getattr(arguments, "witnesses", False):
        return {}
    from credalog.tables.conditional import as_tables

    models = {f"{end}_witness": getattr(answer.interval, end).model for end in ("lower", "upper")}
    return {name: None if model is None else as_tables(model) for name, model in models.items()}


def _interrupted(watch: Watch) -> dict[str, Any]:
    """Return what was known of the question under way; a bound is a solver's word while it works."""
    return {
        "query": watch.question,
        **watch.interval.to_dict(),
        "status": "INTERRUPTED" if watch.is_interrupted else "UNDECIDED",
        "method": "",
        "seconds": watch.seconds,
    }


def _explain_vacuous(model: LCN, answers: Sequence[Any], arguments: Namespace) -> None:
    """Say why answers are no narrower than [0, 1], if a reason can be found."""
    told = 0
    for answer in answers:
        seconds = min(REASON_SECONDS, 0.5 * time_left(arguments))
        if seconds <= SHORTEST or told == MOST_REASONS:
            return
        why = model.reasons(answer, timeout=0.5 * seconds, markov=arguments.markov)
        if why:
            told += 1
            note(f"{answer.query} is {answer.interval}: {'; '.join(why)}.")


def _tell_of_open_ends(answers: Sequence[Any]) -> None:
    """Say of answers that are not exact what was tried."""
    for answer in [a for a in answers if a.tried and _is_open(a)][:MOST_REASONS]:
        note(
            f"{answer.query} may be narrower than {answer.interval}. Tried: {', '.join(answer.tried)}."
            " More time (--timeout) may narrow it."
        )


def _is_open(answer: Any) -> bool:
    """Tell whether an answer may be narrower: one number is not, even if no model is known to attain it."""
    is_one_number = answer.upper - answer.lower <= FEASIBILITY
    return answer.status is Status.BOUNDED and not is_one_number


PROGRESS = Argument(
    "--progress",
    "with --json, write JSON lines on standard error while it works: bound, witness, leaves, stage",
    action="store_true",
)
RUNNING = (
    *EFFORT,
    EVIDENCE,
    Argument("--method", "how to compute (default auto)", default="auto", choices=METHODS),
    Argument("--jobs", "work in N processes, on many questions or one (default 1)", "N", positive(int), 1),
    Argument("--witnesses", "with --json, add the models that attain the ends", action="store_true"),
    CERTIFICATE,
    PROGRESS,
    PLOT,
)
WINDOW = Argument(
    "--window",
    "how far a factor sees in sound propagation (default 0; with --timeout as far as time allows)",
    "K",
    count,
)
CLUSTER = Argument("--cluster", "share long searches with the Dask workers of this scheduler", "ADDRESS")
STATEMENTS = Argument("statement", "a comparison such as 'P(a | b) >= 0.5'", "STATEMENT", nargs="+")

TOGETHER = Argument("--together", "also tell whether all statements hold in one model", action="store_true")

ASKING = (
    Command(
        "query", "bound the probability of formulas", (*RUNNING, CLUSTER, replace(QUERY, nargs="+")), query
    ),
    Command("marginals", "bound the probability of every variable", (*RUNNING, WINDOW), marginals),
    Command("run", "answer the query lines of a file", RUNNING, run),
    Command(
        "decide",
        "compare probabilities with thresholds",
        (*EFFORT, EVIDENCE, CERTIFICATE, PROGRESS, STATEMENTS, TOGETHER),
        decide,
    ),
)
